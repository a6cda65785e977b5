//! One request as it is written in a workload, and everything that can be wrong with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::expect::{Expect, HeaderRule};
use super::names;
use super::template::{NONCE, is_placeholder, json_texts, placeholders};
use super::yaml::{Step, Wrong, at};
use crate::error::Result;

/// The longest body that is sent.
const MOST_BODY: usize = 1 << 20;

/// The greatest weight of a request.
const MOST_WEIGHT: u32 = 1000;

/// A request as it is written: with placeholders and the values they take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Unique in its list.
    pub name: String,
    /// Its share of the load, relative to the other requests'; its variants divide it equally.
    #[serde(default = "one")]
    pub weight: u32,
    /// `GET` by default.
    #[serde(default = "get")]
    pub method: String,
    /// Path and query, percent-encoded.
    pub path: String,
    /// In this order, besides those that every client must send.
    #[serde(default)]
    pub headers: Headers,
    /// The body.
    #[serde(default)]
    pub body: Option<String>,
    /// How often the body is sent over, one after the other: for bodies too long to be written down.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub body_repeat: usize,
    /// Placeholder -> the values that it takes.
    #[serde(default)]
    pub parameters: BTreeMap<String, Vec<String>>,
    /// What the response must be.
    pub expect: Expect,
}

fn one() -> u32 {
    1
}

fn once() -> usize {
    1
}

fn is_once(times: &usize) -> bool {
    *times == 1
}

fn get() -> String {
    "GET".to_owned()
}

/// Headers in the order in which they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(pub Vec<(String, String)>);

impl Serialize for Headers {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de> Deserialize<'de> for Headers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Ordered;
        impl<'de> Visitor<'de> for Ordered {
            type Value = Headers;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a map of header names to values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Headers, A::Error> {
                let mut headers: Vec<(String, String)> = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, String>()? {
                    if headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(&name)) {
                        let what = format!("header `{name}` is written twice");
                        return Err(A::Error::custom(what));
                    }
                    headers.push((name, value));
                }
                Ok(Headers(headers))
            }
        }
        from.deserialize_map(Ordered)
    }
}

impl Request {
    /// How many variants it has; none where that is past counting.
    pub(super) fn count(&self) -> Option<usize> {
        self.parameters
            .values()
            .try_fold(1usize, |count, values| count.checked_mul(values.len()))
    }

    /// Every text that is sent, with its place in the request.
    fn sent(&self) -> Vec<(Vec<Step>, &str)> {
        let mut texts = vec![(at!["path"], self.path.as_str())];
        for (name, value) in &self.headers.0 {
            texts.push((at!["headers", name], value));
        }
        if let Some(body) = &self.body {
            texts.push((at!["body"], body));
        }
        texts
    }

    /// Every text that is expected, with its place in the request.
    fn expected(&self) -> Vec<(Vec<Step>, &str)> {
        let mut texts = Vec::new();
        for (name, rule) in &self.expect.headers {
            texts.push((at!["expect", "headers", name], rule.text()));
        }
        if let Some(body) = &self.expect.body {
            texts.push((at!["expect", "body"], body));
        }
        if let Some(file) = &self.expect.json_file {
            texts.push((at!["expect", "json_file"], file));
        }
        if let Some(json) = &self.expect.json {
            json_texts(json, &at!["expect", "json"], &mut texts);
        }
        texts
    }

    /// Checks it; paths in complaints are relative to the request.
    pub(super) fn check(&self) -> Result<(), Wrong> {
        if self.name.trim().is_empty() {
            return Err(Wrong::new(at!["name"], "`name` is empty"));
        }
        if !(1..=MOST_WEIGHT).contains(&self.weight) {
            let what = format!("weight {}: expected 1 to {MOST_WEIGHT}", self.weight);
            return Err(Wrong::new(at!["weight"], what));
        }
        const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
        if !METHODS.contains(&self.method.as_str()) {
            let what = format!("method `{}` is none of {}", self.method, METHODS.join(", "));
            return Err(Wrong::new(at!["method"], what));
        }
        let long = self.body.as_deref().unwrap_or_default().len();
        if self.body_repeat != 1
            && !(1..=MOST_BODY).contains(&(long.saturating_mul(self.body_repeat)))
        {
            let what = format!(
                "body_repeat {}: expected a body of 1 to {MOST_BODY} bytes in all",
                self.body_repeat
            );
            return Err(Wrong::new(at!["body_repeat"], what));
        }
        self.check_parameters()?;
        self.check_placeholders()?;
        self.check_headers()?;
        self.check_expect()
    }

    fn check_parameters(&self) -> Result<(), Wrong> {
        for (parameter, values) in &self.parameters {
            let path = at!["parameters", parameter];
            if parameter == "nonce" || !is_placeholder(parameter) {
                let what = format!(
                    "`{parameter}` can't name a parameter: expected lowercase letters, digits and _, and not `nonce`"
                );
                return Err(Wrong::new(path, what));
            }
            if values.is_empty() {
                return Err(Wrong::new(
                    path,
                    format!("parameter `{parameter}` has no value"),
                ));
            }
            let mut seen = BTreeSet::new();
            for (index, value) in values.iter().enumerate() {
                let path = at!["parameters", parameter, index];
                if !seen.insert(value) {
                    return Err(Wrong::new(path, format!("value `{value}` is listed twice")));
                }
                if let Some(inner) = placeholders(value).find(|name| *name != "nonce") {
                    let what = format!("a value holds no parameter of its own: `{{{inner}}}`");
                    return Err(Wrong::new(path, what));
                }
            }
            let wanted = |(_, text): &(_, &str)| placeholders(text).any(|name| name == parameter);
            if !self.sent().iter().any(wanted) {
                let what = format!("parameter `{parameter}` is not sent");
                return Err(Wrong::new(path, what)
                    .next(format!("write {{{parameter}}} into path, headers or body")));
            }
        }
        Ok(())
    }

    fn check_placeholders(&self) -> Result<(), Wrong> {
        let sent = self.sent();
        let expected = self.expected();
        for (path, text) in sent.iter().chain(&expected) {
            for name in placeholders(text) {
                if name != "nonce" && !self.parameters.contains_key(name) {
                    let what = format!("unknown placeholder `{{{name}}}`");
                    let mut known: Vec<&str> = vec!["nonce"];
                    known.extend(self.parameters.keys().map(String::as_str));
                    return Err(Wrong::new(path.clone(), what).next(names::advice(name, &known)));
                }
            }
        }
        let values = self.parameters.values().flatten().map(String::as_str);
        let nonce_sent = sent.iter().map(|(_, text)| *text).chain(values);
        if !nonce_sent.into_iter().any(|text| text.contains(NONCE))
            && let Some((path, _)) = expected.iter().find(|(_, text)| text.contains(NONCE))
        {
            let what = "a nonce is expected that is never sent";
            return Err(Wrong::new(path.clone(), what)
                .next(format!("write {NONCE} into path, headers or body")));
        }
        Ok(())
    }

    fn check_headers(&self) -> Result<(), Wrong> {
        const CLIENTS: [&str; 4] = ["host", "connection", "content-length", "transfer-encoding"];
        for (name, value) in &self.headers.0 {
            let path = at!["headers", name];
            let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
            if name.is_empty() || !name.bytes().all(token) {
                return Err(Wrong::new(path, format!("`{name}` is not a header's name")));
            }
            if CLIENTS.contains(&name.to_ascii_lowercase().as_str()) {
                let what = format!("header `{name}` is written by the client itself");
                return Err(Wrong::new(path, what).next("leave it out"));
            }
            // What a client trims or refuses would be sent by one and not by the other.
            let printable = value.bytes().all(|b| (0x20..0x7f).contains(&b));
            if !printable || value.trim() != value {
                let what =
                    format!("header `{name}`: expected printable ASCII without space around");
                return Err(Wrong::new(path, what));
            }
        }
        for (name, rule) in &self.expect.headers {
            let path = at!["expect", "headers", name];
            if name.is_empty() || name.bytes().any(|b| b.is_ascii_uppercase() || b <= b' ') {
                let what = format!("`{name}`: write the header's name in lowercase");
                return Err(Wrong::new(path, what));
            }
            if matches!(rule, HeaderRule::Is(text) if text.is_empty()) {
                let what = format!("header `{name}`: expected a value, `absent` or `present`");
                return Err(Wrong::new(path, what));
            }
        }
        Ok(())
    }

    fn check_expect(&self) -> Result<(), Wrong> {
        let Expect {
            body,
            json,
            json_file,
            ..
        } = &self.expect;
        let expected: Vec<&str> = [
            ("body", body.is_some()),
            ("json", json.is_some()),
            ("json_file", json_file.is_some()),
        ]
        .into_iter()
        .filter_map(|(key, is)| is.then_some(key))
        .collect();
        let path = at!["expect", *expected.first().unwrap_or(&"status")];
        if let [first, second, ..] = expected[..] {
            let what = format!("`{first}` and `{second}` are both expected: keep one of them");
            return Err(Wrong::new(path, what));
        }
        let bodiless = self.method == "HEAD"
            || self.expect.status.contains(204)
            || self.expect.status.contains(304);
        if bodiless && !expected.is_empty() {
            let what = "a response to HEAD, and one with 204 or 304, has no body to expect";
            return Err(Wrong::new(path, what));
        }
        Ok(())
    }
}

/// Whether every client sends this path as it stands: none re-encodes or shortens it.
pub(super) fn check_path(path: &str) -> Result<(), String> {
    let plain = path.replace(NONCE, "0");
    let bad = |why: &str| Err(format!("`{path}` is not a path: {why}"));
    if !plain.starts_with('/') {
        return bad("expected one that begins with /");
    }
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._~!$&()*+,;=:@/?%".contains(&b);
    if let Some(other) = plain.chars().find(|c| !c.is_ascii() || !allowed(*c as u8)) {
        return bad(&format!("{other:?} must not stand in it"));
    }
    let mut encoded = plain.split('%').skip(1).map(str::as_bytes);
    if !encoded.all(|hex| hex.len() >= 2 && hex[..2].iter().all(u8::is_ascii_hexdigit)) {
        return bad("a % without two hexadecimal digits");
    }
    let segments = plain.split('?').next().unwrap_or_default().split('/');
    for segment in segments {
        let dots = segment.to_ascii_lowercase().replace("%2e", ".");
        if dots == "." || dots == ".." {
            return bad("a segment of dots is shortened by some clients");
        }
    }
    Ok(())
}
