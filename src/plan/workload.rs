//! `workloads/NAME/workload.yaml`: the requests of a load, what their responses must be, and the
//! parity rows that prove that every adapter does the same work.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::expected::{self, ReadFile};
use super::names;
use super::request::check_path;
pub use super::request::{Headers, Request};
pub use super::template::NONCE;
pub use super::variant::Variant;
use super::variant::{Files, expand, weights};
use super::yaml::{Source, Wrong, at};
use crate::error::Result;

/// What the name of a parity row begins with that the load sends too.
pub const PLAIN: &str = "plain ";

/// Most variants of a load, and most parity rows that a workload lists.
pub const MOST_VARIANTS: usize = 256;

/// What can run beside the target: verbs of this very program.
pub const DEPENDENCIES: [&str; 1] = ["upstream"];

/// What is asked of every adapter, and what is expected of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// The folder's name.
    #[serde(skip)]
    pub name: String,
    /// As it stands in tables.
    pub title: String,
    /// Level of equity: 1 bare pipeline, 2 equal service, 3 equal service and database.
    pub level: u32,
    /// `http/1.1`, the only one so far.
    pub protocol: String,
    /// What the load sends.
    pub requests: Vec<Request>,
    /// Further rows of the parity matrix; the load's own requests are rows without being listed.
    #[serde(default)]
    pub parity: Vec<Request>,
    /// What else must run beside the target.
    #[serde(default)]
    pub dependencies: Vec<String>,
    /// How far adapters may be apart before the report says so.
    #[serde(default)]
    pub tolerance: Tolerance,
    /// What the files hold that expectations name, by their path below the workload's folder.
    #[serde(skip)]
    files: Files,
}

/// How far apart adapters' responses may be: each does the same work, but in its framework's words.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// Bytes per response, as a share of the median over the adapters.
    pub bytes: f64,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self { bytes: 0.5 }
    }
}

impl Workload {
    /// Reads and checks a workload, and the files that its expectations name.
    pub fn parse(name: &str, source: &Source, read: ReadFile) -> Result<Self> {
        let mut workload: Self = source.parse()?;
        workload.name = name.to_owned();
        workload
            .check(source)
            .map_err(|wrong| source.wrong(wrong))?;
        for (list, requests) in [
            ("requests", &workload.requests),
            ("parity", &workload.parity),
        ] {
            let files = expected::read(list, requests, source, read)?;
            workload.files.extend(files);
        }
        Ok(workload)
    }

    /// What the load draws from: every combination of every request, with its weight.
    pub fn variants(&self) -> Vec<Variant> {
        let mut variants = expand(&self.requests, &self.files);
        // A checked workload has weights.
        for (variant, weight) in variants
            .iter_mut()
            .zip(weights(&self.requests).unwrap_or_default())
        {
            variant.weight = weight;
        }
        variants
    }

    /// The parity matrix: a plain row for every variant of the load, then the rows that are listed.
    pub fn parity_rows(&self) -> Vec<Variant> {
        let plain = self.variants().into_iter().map(|variant| Variant {
            name: format!("{PLAIN}{}", variant.name),
            ..variant
        });
        plain.chain(expand(&self.parity, &self.files)).collect()
    }

    fn check(&self, source: &Source) -> Result<(), Wrong> {
        names::check(&self.name).map_err(|what| {
            Wrong::new(at![], format!("the folder's name: {what}")).next("rename the folder")
        })?;
        if self.title.trim().is_empty() {
            return Err(Wrong::new(at!["title"], "`title` is empty"));
        }
        if !(1..=3).contains(&self.level) {
            let what = format!("level {}: expected 1, 2 or 3", self.level);
            return Err(Wrong::new(at!["level"], what));
        }
        if self.protocol != "http/1.1" {
            let what = format!("protocol `{}` is not built yet", self.protocol);
            return Err(Wrong::new(at!["protocol"], what).next("write `protocol: http/1.1`"));
        }
        for (index, name) in self.dependencies.iter().enumerate() {
            let path = at!["dependencies", index];
            if !DEPENDENCIES.contains(&name.as_str()) {
                let what = format!("there is no dependency `{name}`");
                return Err(Wrong::new(path, what).next(names::advice(name, &DEPENDENCIES)));
            }
            if self.dependencies[..index].contains(name) {
                return Err(Wrong::new(path, format!("`{name}` is listed twice")));
            }
        }
        if !(self.tolerance.bytes >= 0.0 && self.tolerance.bytes.is_finite()) {
            let what = format!("tolerance {}: expected 0 or more", self.tolerance.bytes);
            return Err(Wrong::new(at!["tolerance", "bytes"], what));
        }
        if self.requests.is_empty() {
            return Err(Wrong::new(at!["requests"], "no request: list at least one"));
        }
        check_list("requests", &self.requests)?;
        check_list("parity", &self.parity)?;
        for index in 0..self.parity.len() {
            let path = at!["parity", index, "weight"];
            if source.has(&path) {
                return Err(Wrong::new(path, "a parity row has no weight"));
            }
        }
        match weights(&self.requests) {
            Some(_) => Ok(()),
            None => Err(Wrong::new(
                at!["requests"],
                "the weights have no small common multiple over the variants",
            )
            .next("give the requests weights and numbers of variants that divide each other")),
        }
    }
}

/// Checks a list of requests by itself, and that they are few enough.
fn check_list(list: &str, requests: &[Request]) -> Result<(), Wrong> {
    let mut seen = BTreeSet::new();
    let mut count = 0usize;
    for (index, request) in requests.iter().enumerate() {
        request.check().map_err(|mut wrong| {
            wrong.path.splice(0..0, at![list, index]);
            wrong
        })?;
        if !seen.insert(&request.name) {
            let what = format!("there are two called `{}`", request.name);
            return Err(Wrong::new(at![list, index, "name"], what));
        }
        count = request
            .count()
            .map_or(usize::MAX, |n| count.saturating_add(n));
        if count > MOST_VARIANTS {
            let what = format!("more than {MOST_VARIANTS} variants in all: every one is proven");
            return Err(Wrong::new(at![list, index, "parameters"], what).next("list fewer values"));
        }
    }
    for variant in expand(requests, &Files::new()) {
        check_path(&variant.path).map_err(|what| {
            Wrong::new(at![list, variant.request, "path"], what)
                .next("percent-encode it, so that every client sends the same bytes")
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::expect::HeaderRule;
    use super::*;

    const HELLO: &str = "\
title: Hello
level: 1
protocol: http/1.1
requests:
  - name: hello
    path: /hello/{nonce}
    headers: {accept: application/json}
    expect:
      status: 200
      headers: {content-type: application/json}
      json: {hello: '{nonce}'}
parity:
  - name: HEAD
    method: HEAD
    path: /hello/{nonce}
    expect: {status: 200}
";

    fn parse(text: &str) -> Result<Workload> {
        let none = |path: &str| panic!("{path} is not named");
        Workload::parse("hello", &Source::new("w.yaml", text), &none)
    }

    fn with_request(lines: &str) -> Result<Workload> {
        let mut text = "title: T\nlevel: 1\nprotocol: http/1.1\nrequests:\n".to_owned();
        text += lines;
        parse(&text)
    }

    #[test]
    fn a_good_one_has_its_rows() {
        let workload = parse(HELLO).unwrap();
        let variants = workload.variants();
        assert_eq!(variants.len(), 1);
        let rows = workload.parity_rows();
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["plain hello", "HEAD"]);

        let asked = variants[0].with_nonce("00ff");
        assert_eq!(asked.path, "/hello/00ff");
        assert_eq!(asked.method, "GET");
        assert_eq!(
            asked.expect.json,
            Some(serde_json::json!({"hello": "00ff"}))
        );
        let json = serde_json::to_string(&asked).unwrap();
        assert_eq!(serde_json::from_str::<Variant>(&json).unwrap(), asked);
    }

    #[test]
    fn every_combination_is_a_variant_and_shares_its_requests_weight() {
        let workload = with_request(
            "  - name: find
    weight: 3
    method: POST
    path: /find?c={category}&x={nonce}
    headers: {z-last: '{page}', a-first: x}
    body: '{\"page\":{page},\"c\":\"{category}\",\"n\":{}}'
    parameters: {page: ['1', '2'], category: [a, b, '{nonce}']}
    expect: {status: 200, headers: {x-c: '{category}'}, json: {'{category}': ['{page}', '{nonce}', 1]}}
  - {name: rest, path: /rest, expect: {status: 200}}
",
        )
        .unwrap();
        let variants = workload.variants();
        let names: Vec<&str> = variants.iter().map(|v| v.name.as_str()).collect();
        assert_eq!(names[0], "find category=a page=1");
        assert_eq!(names[1], "find category=a page=2");
        assert_eq!(names[6], "rest");
        // find : rest = 3 : 1, and find's six variants divide its share.
        let weights: Vec<u32> = variants.iter().map(|v| v.weight).collect();
        assert_eq!(weights, [1, 1, 1, 1, 1, 1, 2]);

        let second = &variants[3];
        assert_eq!(second.path, "/find?c=b&x={nonce}");
        assert_eq!(second.body.as_deref(), Some(r#"{"page":2,"c":"b","n":{}}"#));
        assert_eq!(second.headers.0[0], ("z-last".into(), "2".into()));
        assert_eq!(second.headers.0[1].0, "a-first");
        assert_eq!(second.expect.headers["x-c"], HeaderRule::Is("b".into()));
        assert_eq!(
            second.expect.json,
            Some(serde_json::json!({"b": ["2", "{nonce}", 1]}))
        );
        assert_eq!(variants[4].path, "/find?c={nonce}&x={nonce}");
    }

    #[test]
    fn shares_hold_whatever_the_numbers() {
        for (a, b, weight_a, weight_b) in
            [(1, 1, 1, 1), (2, 3, 5, 7), (16, 1, 1, 1), (200, 56, 9, 10)]
        {
            let values = |n: usize| {
                (0..n)
                    .map(|v| format!("'{v}'"))
                    .collect::<Vec<_>>()
                    .join(",")
            };
            let workload = with_request(&format!(
                "  - {{name: a, weight: {weight_a}, path: '/{{p}}', parameters: {{p: [{}]}}, expect: {{status: 200}}}}
  - {{name: b, weight: {weight_b}, path: '/{{p}}', parameters: {{p: [{}]}}, expect: {{status: 200}}}}
",
                values(a),
                values(b)
            ))
            .unwrap();
            let share = |request| -> u64 {
                let variants = workload.variants();
                let mine = variants.iter().filter(|v| v.request == request);
                mine.map(|v| u64::from(v.weight)).sum()
            };
            assert_eq!(workload.variants().len(), a + b);
            assert_eq!(share(0) * weight_b, share(1) * weight_a, "{a} {b}");
        }
    }

    #[test]
    fn every_mistake_is_refused_at_its_place() {
        let table = [
            ("level: 1", "level: 4", "2:8: level 4"),
            (
                "http/1.1",
                "http/2",
                "3:11: protocol `http/2` is not built yet",
            ),
            ("title: Hello", "title: ''", "1:8: `title` is empty"),
            ("title: Hello", "titel: Hello", "1:1: unknown field `titel`"),
            (
                "parity:",
                "dependencies: [upstraem]\nparity:",
                "12:16: there is no dependency `upstraem`",
            ),
            (
                "parity:",
                "tolerance: {bytes: -1}\nparity:",
                "12:20: tolerance -1",
            ),
            (
                "parity:",
                "dependencies: [upstream, upstream]\nparity:",
                "12:26: `upstream` is listed twice",
            ),
            ("name: hello", "name: ''", "5:11: `name` is empty"),
            (
                "    path: /hello/{nonce}\n    headers",
                "    headers",
                "5:5: requests[0]: missing field `path`",
            ),
            (
                "path: /hello",
                "weight: 0\n    path: /hello",
                "6:13: weight 0",
            ),
            (
                "method: HEAD",
                "weight: 1\n    method: HEAD",
                "14:13: a parity row has no weight",
            ),
            ("method: HEAD", "method: TRACE", "14:13: method `TRACE`"),
            ("method: HEAD", "method: get", "14:13: method `get`"),
            (
                "hello: '{nonce}'",
                "hello: '{nounce}'",
                "11:21: unknown placeholder `{nounce}`",
            ),
            (
                "path: /hello/{nonce}",
                "path: /hello/{name}",
                "6:11: unknown placeholder `{name}`",
            ),
            (
                "path: /hello/{nonce}\n    headers",
                "path: /hello\n    headers",
                "11:21: a nonce is expected that is never sent",
            ),
            (
                "path: /hello",
                "path: hello",
                "6:11: `hello/{nonce}` is not a path",
            ),
            (
                "path: /hello",
                "path: /é",
                "6:11: `/é/{nonce}` is not a path",
            ),
            (
                "path: /hello",
                "path: /a/../b",
                "6:11: `/a/../b/{nonce}` is not a path",
            ),
            (
                "path: /hello",
                "path: /%2E",
                "6:11: `/%2E/{nonce}` is not a path",
            ),
            (
                "path: /hello",
                "path: /%4",
                "6:11: `/%4/{nonce}` is not a path",
            ),
            (
                "path: /hello",
                "path: /a b",
                "6:11: `/a b/{nonce}` is not a path",
            ),
            ("accept:", "'a b':", "7:22: `a b` is not a header's name"),
            (
                "accept:",
                "Content-Length:",
                "7:31: header `Content-Length` is written by the client",
            ),
            (
                "accept: application/json",
                "accept: x, Accept: y",
                "7:14: requests[0].headers: header `Accept` is written twice",
            ),
            (
                "accept: application/json",
                "accept: \"a\\nb\"",
                "7:23: header `accept`: expected printable",
            ),
            (
                "content-type:",
                "Content-Type:",
                "10:31: `Content-Type`: write the header's name in lowercase",
            ),
            (
                "content-type: application/json",
                "etag: ''",
                "10:23: header `etag`: expected a value",
            ),
            (
                "      json:",
                "      body: ''\n      json:",
                "11:13: `body` and `json` are both expected",
            ),
            (
                "expect: {status: 200}",
                "expect: {status: 200, body: x}",
                "16:33: a response to HEAD",
            ),
            (
                "expect: {status: 200}",
                "expect: {status: 42}",
                "16:22: parity[0].expect.status: invalid value",
            ),
            (
                "parity:",
                "  - {name: hello, path: /, expect: {status: 200}}\nparity:",
                "12:12: there are two called `hello`",
            ),
        ];
        for (good, bad, expected) in table {
            assert!(HELLO.contains(good), "{good}");
            let error = parse(&HELLO.replacen(good, bad, 1)).unwrap_err();
            let expected = format!("w.yaml:{expected}");
            assert!(error.what.starts_with(&expected), "{bad}: {}", error.what);
        }
        let source = Source::new("w.yaml", HELLO);
        assert!(Workload::parse("Hello", &source, &|_| unreachable!()).is_err());
    }

    #[test]
    fn parameters_are_bounded_used_and_named() {
        let table = [
            ("{nonce: [a]}", "can't name a parameter"),
            ("{P: [a]}", "can't name a parameter"),
            ("{p: []}", "has no value"),
            ("{p: [a, a]}", "listed twice"),
            ("{p: ['{q}']}", "no parameter of its own"),
            ("{p: [a], q: [b]}", "is not sent"),
            ("{p: [[1]]}", "invalid type: sequence"),
            ("{p: ['a b']}", "is not a path"),
        ];
        for (parameters, expected) in table {
            let request = format!(
                "  - {{name: x, path: '/{{p}}', parameters: {parameters}, expect: {{status: 200}}}}\n"
            );
            let error = with_request(&request).unwrap_err();
            assert!(
                error.what.contains(expected),
                "{parameters}: {}",
                error.what
            );
        }
        let many = |values: usize, parameters: usize| {
            let list: Vec<String> = (0..values).map(|v| format!("'{v}'")).collect();
            let list = list.join(",");
            let names: Vec<String> = (0..parameters).map(|p| format!("p{p}")).collect();
            let path: String = names.iter().map(|name| format!("/{{{name}}}")).collect();
            let map: Vec<String> = names
                .iter()
                .map(|name| format!("{name}: [{list}]"))
                .collect();
            with_request(&format!(
                "  - {{name: x, path: '{path}', parameters: {{{}}}, expect: {{status: 200}}}}\n",
                map.join(", ")
            ))
        };
        assert_eq!(many(16, 2).unwrap().variants().len(), 256);
        assert_eq!(many(257, 1).unwrap_err().exit, crate::error::Exit::Usage);
        let past_counting = many(200, 30).unwrap_err();
        assert!(past_counting.what.contains("more than 256 variants"));
    }
}
