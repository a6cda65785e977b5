//! Placeholders: `{nonce}` and `{parameter}` in what is sent and in what is expected.

use super::yaml::Step;

/// Where this stands, every request gets 16 hexadecimal digits that were never sent before.
pub const NONCE: &str = "{nonce}";

/// Whether it may stand in braces.
pub(super) fn is_placeholder(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// The names in `{braces}`, in their order. Braces around anything else are braces: JSON is text too.
pub(super) fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|piece| {
        let (name, _) = piece.split_once('}')?;
        is_placeholder(name).then_some(name)
    })
}

/// Replaces the parameters in one pass, so that a value is never looked into; a nonce stays.
pub(super) fn fill(text: &str, chosen: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut pieces = text.split('{');
    filled += pieces.next().unwrap_or_default();
    for piece in pieces {
        let value = piece.split_once('}').and_then(|(name, rest)| {
            let (_, value) = chosen.iter().find(|(parameter, _)| *parameter == name)?;
            Some((value, rest))
        });
        match value {
            Some((value, rest)) => {
                filled += value;
                filled += rest;
            }
            None => {
                filled.push('{');
                filled += piece;
            }
        }
    }
    filled
}

/// The same with every text within a JSON value, keys too.
pub(super) fn fill_json(
    value: &serde_json::Value,
    fill: &dyn Fn(&str) -> String,
) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::String(text) => Value::String(fill(text)),
        Value::Array(items) => items.iter().map(|item| fill_json(item, fill)).collect(),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (fill(key), fill_json(value, fill)))
            .collect(),
        other => other.clone(),
    }
}

/// Every text within a JSON value, keys too, with its place.
pub(super) fn json_texts<'a>(
    value: &'a serde_json::Value,
    path: &[Step],
    texts: &mut Vec<(Vec<Step>, &'a str)>,
) {
    use serde_json::Value;
    let below = |step: Step| path.iter().cloned().chain([step]).collect::<Vec<_>>();
    match value {
        Value::String(text) => texts.push((path.to_vec(), text)),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                json_texts(item, &below(index.into()), texts);
            }
        }
        Value::Object(map) => {
            for (key, value) in map {
                texts.push((below(key.into()), key));
                json_texts(value, &below(key.into()), texts);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_that_are_no_placeholder_are_left_alone() {
        let found = |text| placeholders(text).collect::<Vec<_>>();
        assert_eq!(found(r#"{"a":{b},"c":{}}{d_1}{ e}{F}{"#), ["b", "d_1"]);
        assert_eq!(fill("{a}{b}{a}{", &[("a", "{b}"), ("b", "2")]), "{b}2{b}{");
    }
}
