//! The forger's tools.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::Options;
pub use crate::record::fixture::sum_again;
use crate::record::source::Source;
use crate::record::tarball;

/// Short archives are fine here.
pub fn smoke() -> Options {
    Options {
        allow_smoke: true,
        id: None,
    }
}

/// Replaces the first occurrence, which there must be.
pub fn edit(dir: &Path, file: &str, from: &str, to: &str) {
    let path = dir.join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file} has no {from}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

/// The folder's canonical tar.
pub fn tar_of(dir: &Path) -> (tempfile::NamedTempFile, PathBuf) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    tarball::write(&Source::open(dir).unwrap(), &mut file).unwrap();
    let path = file.path().to_owned();
    (file, path)
}

/// Paths of all values in a document; an empty list or object is a value too.
pub fn leaves(at: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            map.iter()
                .for_each(|(key, value)| leaves(&format!("{at}/{key}"), value, found));
        }
        Value::Array(list) if !list.is_empty() => {
            list.iter()
                .enumerate()
                .for_each(|(i, value)| leaves(&format!("{at}/{i}"), value, found));
        }
        _ => found.push(at.to_owned()),
    }
}

/// Another value of the same kind.
pub fn another(value: &Value) -> Value {
    match value {
        Value::Bool(b) => (!b).into(),
        Value::Number(n) if n.is_u64() => (n.as_u64().unwrap() + 1).into(),
        Value::Number(n) => (n.as_f64().unwrap() * 1.5 + 1.0).into(),
        Value::String(text) => format!("{text}x").into(),
        Value::Array(_) => serde_json::json!(["x"]),
        Value::Object(_) => serde_json::json!({"x": 1}),
        Value::Null => 7.into(),
    }
}

/// The fields that a section of the specification lists.
pub fn listed(section: &str) -> Vec<String> {
    let specification = include_str!("../../../../results/README.md");
    let (_, section) = specification.split_once(section).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let name = |line: &str| Some(line.strip_prefix("- `")?.split_once('`')?.0.to_owned());
    section.lines().filter_map(name).collect()
}

/// Whether a field, as in `a.b.0`, is a listed one or lies below it.
pub fn under(field: &str, listed: &str) -> bool {
    let rest = field.strip_prefix(listed);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
