//! Compares a response with what the workload expects of its row.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::exchange::Answer;
use crate::plan::workload::Variant;

/// Longer texts are cut in what is shown; the transcript holds them whole.
const SHOWN: usize = 200;

/// One thing that is not as expected, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mismatch {
    /// What the workload asks for.
    pub expected: String,
    /// What came.
    pub got: String,
}

/// Everything in `answer` that is not as `row` expects; the row's nonces are filled in already.
pub fn judge(row: &Variant, answer: &Answer) -> Vec<Mismatch> {
    if !answer.error.is_empty() {
        return vec![mismatch("a response", &answer.error)];
    }
    let mut wrong = Vec::new();
    let expect = &row.expect;
    if !expect.status.contains(answer.status) {
        wrong.push(mismatch(
            &format!("status {}", expect.status),
            &format!("status {}", answer.status),
        ));
    }
    for (name, rule) in &expect.headers {
        let got = answer.header(name);
        if !rule.holds(name, got.as_deref()) {
            let got = got.map_or("no such header".into(), |value| format!("{name}: {value}"));
            wrong.push(mismatch(&format!("{name}: {rule}"), &got));
        }
    }
    let body = &answer.body.0;
    if row.method == "HEAD" && !body.is_empty() {
        wrong.push(mismatch("no body", &text(body)));
    }
    if let Some(expected) = &expect.body
        && body != expected.as_bytes()
    {
        wrong.push(mismatch(
            &format!("body {expected}"),
            &format!("body {}", text(body)),
        ));
    }
    if let Some(expected) = &expect.json {
        match serde_json::from_slice::<Value>(body) {
            Ok(value) if value == *expected => {}
            Ok(value) => wrong.push(mismatch(
                &format!("JSON {expected}"),
                &format!("JSON {value}"),
            )),
            Err(error) => wrong.push(mismatch(
                &format!("JSON {expected}"),
                &format!("no JSON ({error}): {}", text(body)),
            )),
        }
    }
    wrong
}

/// Cut to what can be shown.
pub(super) fn mismatch(expected: &str, got: &str) -> Mismatch {
    let cut = |text: &str| match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    };
    Mismatch {
        expected: cut(expected),
        got: cut(got),
    }
}

fn text(body: &[u8]) -> String {
    if body.is_empty() {
        "(empty)".into()
    } else {
        String::from_utf8_lossy(body).into_owned()
    }
}
