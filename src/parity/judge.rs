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
            Ok(value) => wrong.push(unlike(expected, &value)),
            Err(error) => wrong.push(mismatch(
                &format!("JSON {expected}"),
                &format!("no JSON ({error}): {}", text(body)),
            )),
        }
    }
    wrong
}

/// Two JSON values that differ: both, or where they are too long to be read, the first place at which
/// they do.
fn unlike(expected: &Value, got: &Value) -> Mismatch {
    let whole = (format!("JSON {expected}"), format!("JSON {got}"));
    if whole.0.len().max(whole.1.len()) <= SHOWN {
        return mismatch(&whole.0, &whole.1);
    }
    let (mut expected, mut got, mut place) = (Some(expected), Some(got), String::new());
    loop {
        let step = match (expected, got) {
            (Some(Value::Object(a)), Some(Value::Object(b))) => {
                let mut keys = a.keys().chain(b.keys());
                let key = keys.find(|key| a.get(*key) != b.get(*key));
                key.map(|key| (a.get(key), b.get(key), format!(".{key}")))
            }
            (Some(Value::Array(a)), Some(Value::Array(b))) => {
                let index = (0..a.len().max(b.len())).find(|index| a.get(*index) != b.get(*index));
                index.map(|index| (a.get(index), b.get(index), format!("[{index}]")))
            }
            _ => None,
        };
        let Some((a, b, step)) = step else { break };
        (expected, got) = (a, b);
        place += &step;
    }
    let side = |value: Option<&Value>| match value {
        Some(value) => format!("JSON{place} = {value}"),
        None => format!("JSON without {place}"),
    };
    mismatch(&side(expected), &side(got))
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn long_values_are_told_apart_at_the_first_place_where_they_differ() {
        let item = |price: u64| json!({"name": "n".repeat(80), "price": price});
        let long = json!({"items": [item(1), item(2), item(3)], "total": 3});
        let table = [
            (
                "/items/1/price",
                json!(7),
                "JSON.items[1].price = 2",
                "JSON.items[1].price = 7",
            ),
            (
                "/items/1",
                item(9),
                "JSON.items[1].price = 2",
                "JSON.items[1].price = 9",
            ),
            ("/total", json!("3"), "JSON.total = 3", "JSON.total = \"3\""),
        ];
        for (place, value, expected, got) in table {
            let mut other = long.clone();
            *other.pointer_mut(place).unwrap() = value;
            assert_eq!(unlike(&long, &other), mismatch(expected, got));
        }
        let mut shorter = long.clone();
        shorter["items"].as_array_mut().unwrap().pop();
        assert_eq!(unlike(&long, &shorter).got, "JSON without .items[2]");
        let short = unlike(&json!({"a": 1}), &json!({"a": 2}));
        assert_eq!(short, mismatch("JSON {\"a\":1}", "JSON {\"a\":2}"));
    }
}
