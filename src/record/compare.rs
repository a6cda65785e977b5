//! JSON read strictly and compared as numbers, not as text.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::error::{Error, Result};
use crate::record::bounds;

/// Numbers read back are equal within this, relatively.
const TOLERANCE: f64 = 1e-9;

/// Parses JSON, refusing what two readers could read differently (a key that is there twice), and
/// what would take more memory than an archive's documents do.
pub fn parse(bytes: &[u8]) -> Result<Value> {
    let left = Cell::new(bounds::JSON_VALUES);
    let mut text = serde_json::Deserializer::from_slice(bytes);
    Strict(&left)
        .deserialize(&mut text)
        .and_then(|value| text.end().map(|()| value))
        .map_err(|e| Error::unverified(format!("not such JSON as an archive holds: {e}")))
}

/// Holds how many values there may still be.
#[derive(Clone, Copy)]
struct Strict<'a>(&'a Cell<u32>);

impl Strict<'_> {
    fn count<E: serde::de::Error>(self, values: u32) -> Result<(), E> {
        let left = self.0.get().checked_sub(values);
        self.0
            .set(left.ok_or_else(|| E::custom("more values than a document can have"))?);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.count(1)?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(self)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        self.count(bounds::OBJECT)?;
        let mut values = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let value = map.next_value_seed(self)?;
            if values.contains_key(&key) {
                return Err(A::Error::custom(format!("the key {key:?} is there twice")));
            }
            values.insert(key, value);
        }
        Ok(Value::Object(values))
    }
}

/// Calls `differs` with a sentence for each field that is not as expected.
pub fn compare(expected: &Value, found: &Value, differs: &mut impl FnMut(String)) {
    walk("", expected, found, differs);
}

fn walk(at: &str, expected: &Value, found: &Value, differs: &mut impl FnMut(String)) {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            for (key, value) in expected {
                match found.get(key) {
                    Some(found) => walk(&join(at, key), value, found, differs),
                    None => differs(format!("{}: missing", join(at, key))),
                }
            }
            for key in found.keys().filter(|key| !expected.contains_key(*key)) {
                differs(format!("{}: not a field of this document", join(at, key)));
            }
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            for (index, (expected, found)) in expected.iter().zip(found).enumerate() {
                walk(&format!("{at}[{index}]"), expected, found, differs);
            }
        }
        (Value::Number(a), Value::Number(b)) if equal(a, b) => {}
        (expected, found) if expected == found => {}
        (expected, found) => {
            let at = if at.is_empty() { "the document" } else { at };
            differs(format!(
                "{at}: expected {}, found {}",
                short(expected),
                short(found)
            ));
        }
    }
}

fn join(at: &str, key: &str) -> String {
    if at.is_empty() {
        key.to_owned()
    } else {
        format!("{at}.{key}")
    }
}

/// Counts exactly, everything else within the tolerance.
fn equal(a: &Number, b: &Number) -> bool {
    if let (Some(a), Some(b)) = (a.as_i128(), b.as_i128()) {
        return a == b;
    }
    let (a, b) = (
        a.as_f64().unwrap_or(f64::NAN),
        b.as_f64().unwrap_or(f64::NAN),
    );
    a == b || (a - b).abs() <= TOLERANCE * a.abs().max(b.abs())
}

fn short(value: &Value) -> String {
    match value {
        Value::Array(list) => format!("a list of {}", list.len()),
        Value::Object(_) => "an object".to_owned(),
        _ => value.to_string().chars().take(120).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn differences_are_found_and_named() {
        let expected = json!({"a": {"b": [1, 2.5]}, "n": null, "s": "x"});
        for (found, message) in [
            (json!({"a": {"b": [1, 2.5]}, "n": null, "s": "x"}), ""),
            (
                json!({"a": {"b": [1, 2.500_000_001]}, "n": null, "s": "x"}),
                "",
            ),
            (
                json!({"a": {"b": [1, 2.500_000_01]}, "n": null, "s": "x"}),
                "a.b[1]: expected 2.5",
            ),
            (json!({"a": {"b": [1.0, 2.5]}, "n": null, "s": "x"}), ""),
            (
                json!({"a": {"b": [1]}, "n": null, "s": "x"}),
                "a.b: expected a list of 2",
            ),
            (
                json!({"a": {"b": [1, 2.5]}, "n": 0, "s": "x"}),
                "n: expected null, found 0",
            ),
            (json!({"a": {"b": [1, 2.5]}, "s": "x"}), "n: missing"),
            (
                json!({"a": {"b": [1, 2.5]}, "n": null, "s": "x", "t": 1}),
                "t: not a field",
            ),
            (json!(7), "the document: expected an object, found 7"),
        ] {
            let mut messages = Vec::new();
            compare(&expected, &found, &mut |message| messages.push(message));
            assert!(messages.concat().starts_with(message), "{messages:?}");
            assert_eq!(messages.is_empty(), message.is_empty(), "{messages:?}");
        }
        let mut count = 0;
        compare(
            &json!(10_000_000_000u64),
            &json!(10_000_000_001u64),
            &mut |_| count += 1,
        );
        assert_eq!(count, 1, "counts are compared exactly");
    }

    #[test]
    fn hostile_json_is_an_error() {
        for text in [
            r#"{"a":1,"a":2}"#,
            "1e999",
            "{",
            "",
            "[1]x",
            &"[".repeat(100_000),
            &"{\"a\":".repeat(100_000),
            &format!("[{}0]", "{},".repeat(1_000_000)),
            &format!("[{}0]", "0,".repeat(7_000_000)),
            &"9".repeat(1_000_000),
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text:.20}");
        }
        assert_eq!(
            parse(b"[1.5,{\"a\":\"\\u00e9\"}]").unwrap(),
            json!([1.5, {"a": "\u{e9}"}])
        );
    }
}
