//! The files that hold what is expected of a variant: `json_file: expected/{page}.json`.

use super::request::Request;
use super::template::{NONCE, json_texts, placeholders};
use super::variant::{Files, expand};
use super::yaml::{Source, Wrong, at};
use crate::error::{Error, Result};

/// Reads a text file by its path below the workload's folder.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<Source>;

/// Every file that the expectations of a list of requests name. A complaint about a name is at its
/// place in the workload, one about a content at its place in the file.
pub(super) fn read(
    list: &str,
    requests: &[Request],
    workload: &Source,
    read: ReadFile,
) -> Result<Files> {
    let mut files = Files::new();
    for variant in expand(requests, &Files::new()) {
        let Some(path) = &variant.expect.json_file else {
            continue;
        };
        let at = || at![list, variant.request, "expect", "json_file"];
        let inside =
            !path.starts_with('/') && path.split('/').all(|part| !["", ".", ".."].contains(&part));
        if !inside {
            let what = format!("`{path}` is no file below the workload's folder");
            return Err(workload.wrong(Wrong::new(at(), what)));
        }
        if files.contains_key(path) {
            continue;
        }
        let source = read(path).map_err(|error| {
            workload.wrong(
                Wrong::new(at(), error.what)
                    .next("write the file, or list only values that have one"),
            )
        })?;
        let value: serde_json::Value =
            serde_json::from_str(&source.text).map_err(|error| not_json(&source, &error))?;
        let mut texts = Vec::new();
        json_texts(&value, &[], &mut texts);
        for (_, text) in texts {
            if let Some(name) = placeholders(text).find(|name| *name != "nonce") {
                let what = format!(
                    "{}: unknown placeholder `{{{name}}}`: such a file holds none but {NONCE}",
                    source.file
                );
                let next = "write the value out, one file for each value of the parameter";
                return Err(Error::usage(what).next(next));
            }
        }
        files.insert(path.clone(), value);
    }
    Ok(files)
}

fn not_json(source: &Source, error: &serde_json::Error) -> Error {
    let (line, column) = (error.line(), error.column());
    let what = error.to_string();
    let suffix = format!(" at line {line} column {column}");
    let what = what.strip_suffix(&suffix).unwrap_or(&what);
    Error::usage(format!("{}:{line}:{column}: {what}", source.file))
        .next("the file must hold one JSON value: the body that is right")
}

#[cfg(test)]
mod tests {
    use super::super::Workload;
    use super::*;

    const PAGES: &str = "\
title: Pages
level: 1
protocol: http/1.1
requests:
  - name: page
    path: /{page}/{nonce}
    parameters: {page: ['1', '2']}
    expect:
      status: 200
      json_file: expected/{page}.json
";

    fn parse(text: &str, second: &str) -> Result<Workload> {
        let read = |path: &str| match path {
            "expected/1.json" => Ok(Source::new(path, r#"{"page": 1, "nonce": "{nonce}"}"#)),
            "expected/2.json" => Ok(Source::new(path, second)),
            _ => Err(Error::usage(format!("there is no {path}"))),
        };
        Workload::parse("pages", &Source::new("w.yaml", text), &read)
    }

    #[test]
    fn a_variant_expects_what_its_file_holds() {
        let workload = parse(PAGES, r#"{"page": 2, "nonce": "{nonce}"}"#).unwrap();
        let second = workload.variants()[1].with_nonce("00ff");
        assert_eq!(second.expect.json_file, None);
        let expected = serde_json::json!({"page": 2, "nonce": "00ff"});
        assert_eq!(second.expect.json, Some(expected));
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said_at_its_place() {
        let json_file = "json_file: expected/{page}.json";
        let table = [
            (
                PAGES.to_owned(),
                "{\n  \"page\": }",
                "expected/2.json:2:11: expected value",
            ),
            (
                PAGES.to_owned(),
                "[\"{page}\"]",
                "expected/2.json: unknown placeholder `{page}`",
            ),
            (
                PAGES.replace("'2'", "'3'"),
                "1",
                "w.yaml:10:18: there is no expected/3.json",
            ),
            (
                PAGES.replace(json_file, "json_file: ../{page}.json"),
                "1",
                "w.yaml:10:18: `../1.json` is no file below",
            ),
            (
                PAGES.replace(json_file, "json_file: e/{pgae}"),
                "1",
                "w.yaml:10:18: unknown placeholder `{pgae}`",
            ),
            (
                PAGES.replace(json_file, &format!("json: 1\n      {json_file}")),
                "1",
                "w.yaml:10:13: `json` and `json_file` are both expected",
            ),
        ];
        for (text, second, expected) in table {
            let error = parse(&text, second).unwrap_err();
            assert!(
                error.what.starts_with(expected),
                "{expected}: {}",
                error.what
            );
        }
    }
}
