//! What a response must be.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

/// What a response must be: its status, the headers that are watched, and its body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Those that are right.
    pub status: Statuses,
    /// Lowercase name -> rule; headers without a rule are free.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, HeaderRule>,
    /// The exact bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The value of a JSON body, whatever its spelling and the order of its keys.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "even_null"
    )]
    pub json: Option<serde_json::Value>,
    /// A file below the workload's folder that holds `json`, for what depends on the parameters;
    /// filled in by [`super::Workload::parse`], and gone from a variant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_file: Option<String>,
}

impl Expect {
    /// Nothing but a status.
    pub fn status(status: u16) -> Self {
        Self {
            status: Statuses(vec![status]),
            headers: BTreeMap::new(),
            body: None,
            json: None,
            json_file: None,
        }
    }
}

/// `json: null` expects the body `null`; it is not the same as no expectation.
fn even_null<'de, D: Deserializer<'de>>(from: D) -> Result<Option<serde_json::Value>, D::Error> {
    serde_json::Value::deserialize(from).map(Some)
}

/// One status, or a list of those that are all right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statuses(Vec<u16>);

impl Statuses {
    /// Whether this one is right.
    pub fn contains(&self, status: u16) -> bool {
        self.0.contains(&status)
    }

    /// As written.
    pub fn as_slice(&self) -> &[u16] {
        &self.0
    }
}

impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(u16::to_string).collect();
        f.write_str(&texts.join(" or "))
    }
}

impl Serialize for Statuses {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0[..] {
            [one] => to.serialize_u16(one),
            _ => self.0.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Statuses {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OneOrList;
        impl<'de> Visitor<'de> for OneOrList {
            type Value = Statuses;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a status from 200 to 599, or a list of them")
            }

            fn visit_u64<E: serde::de::Error>(self, status: u64) -> Result<Statuses, E> {
                match u16::try_from(status) {
                    Ok(status @ 200..=599) => Ok(Statuses(vec![status])),
                    _ => Err(E::invalid_value(
                        serde::de::Unexpected::Unsigned(status),
                        &self,
                    )),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Statuses, A::Error> {
                let mut statuses = Vec::new();
                while let Some(Statuses(one)) = list.next_element()? {
                    statuses.extend(one);
                }
                if statuses.is_empty() {
                    return Err(A::Error::invalid_length(0, &self));
                }
                Ok(Statuses(statuses))
            }
        }
        from.deserialize_any(OneOrList)
    }
}

/// What a header must be. In YAML: the words `absent` and `present`, a pattern as
/// `{like: "nonce-*"}` where `*` is any run of characters and `#` a hexadecimal digit, or else the
/// value itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderRule {
    /// It must not be there.
    Absent,
    /// It must be there, whatever its value.
    Present,
    /// It must be this, byte for byte. A `content-type` that is expected without parameters is
    /// compared by its media type alone, in any case: `text/plain` holds for
    /// `text/plain; charset=utf-8`.
    Is(String),
    /// It must match.
    Like {
        /// `*` is any run of characters, `#` a hexadecimal digit (lowercase), everything else itself.
        pattern: String,
        /// Whether no two responses may have the same.
        differs: bool,
    },
}

impl HeaderRule {
    /// Whether the header of this (lowercase) name keeps the rule; `None` is a header that is not there.
    pub fn holds(&self, name: &str, got: Option<&str>) -> bool {
        match (self, got) {
            (Self::Absent, got) => got.is_none(),
            (_, None) => false,
            (Self::Present, Some(_)) => true,
            (Self::Like { pattern, .. }, Some(got)) => like(pattern.as_bytes(), got.as_bytes()),
            (Self::Is(wanted), Some(got)) if name == "content-type" && !wanted.contains(';') => {
                let media_type = got.split(';').next().unwrap_or_default().trim();
                media_type.eq_ignore_ascii_case(wanted.trim())
            }
            (Self::Is(wanted), Some(got)) => got == wanted,
        }
    }

    /// Its text, in which a placeholder may stand.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Absent | Self::Present => "",
            Self::Is(text) | Self::Like { pattern: text, .. } => text,
        }
    }

    /// Whether no two responses may have the same value.
    pub fn differs(&self) -> bool {
        matches!(self, Self::Like { differs: true, .. })
    }

    /// The same rule with another text.
    pub(super) fn map(&self, change: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Is(text) => Self::Is(change(text)),
            Self::Like { pattern, differs } => Self::Like {
                pattern: change(pattern),
                differs: *differs,
            },
            other => other.clone(),
        }
    }
}

/// Whether the text matches; where it does not, the last `*` seen takes one more character.
fn like(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(b'#') if matches!(text[t], b'0'..=b'9' | b'a'..=b'f') => (p, t) = (p + 1, t + 1),
            Some(literal) if *literal != b'#' && *literal == text[t] => (p, t) = (p + 1, t + 1),
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    (p, t) = (at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|rest| *rest == b'*')
}

impl fmt::Display for HeaderRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("absent"),
            Self::Present => f.write_str("present"),
            Self::Is(text) => f.write_str(text),
            Self::Like { pattern, differs } => {
                let unlike = if *differs {
                    ", another in every response"
                } else {
                    ""
                };
                write!(f, "like {pattern}{unlike}")
            }
        }
    }
}

impl Serialize for HeaderRule {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Like { pattern, differs } => {
                let mut map = to.serialize_map(None)?;
                map.serialize_entry("like", pattern)?;
                if *differs {
                    map.serialize_entry("differs", differs)?;
                }
                map.end()
            }
            other => to.collect_str(other),
        }
    }
}

impl<'de> Deserialize<'de> for HeaderRule {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Rule;
        impl<'de> Visitor<'de> for Rule {
            type Value = HeaderRule;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a string: `absent`, `present` or the value, or {like: \"pattern*\"}")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<HeaderRule, E> {
                Ok(match text {
                    "absent" => HeaderRule::Absent,
                    "present" => HeaderRule::Present,
                    _ => HeaderRule::Is(text.to_owned()),
                })
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<HeaderRule, E> {
                Ok(HeaderRule::Is(number.to_string()))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<HeaderRule, A::Error> {
                let (mut like, mut differs) = (None, false);
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "like" => like = Some(map.next_value()?),
                        "differs" => differs = map.next_value()?,
                        other => return Err(A::Error::unknown_field(other, &["like", "differs"])),
                    }
                }
                match like {
                    Some(pattern) => Ok(HeaderRule::Like { pattern, differs }),
                    None => Err(A::Error::missing_field("like")),
                }
            }
        }
        from.deserialize_any(Rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(yaml: &str) -> HeaderRule {
        serde_yaml::from_str(yaml).unwrap()
    }

    #[test]
    fn header_rules_hold_and_bite() {
        // (rule, name, value, holds)
        let table = [
            ("absent", "etag", None, true),
            ("absent", "etag", Some("x"), false),
            ("present", "etag", Some(""), true),
            ("present", "etag", None, false),
            ("no-store", "cache-control", Some("no-store"), true),
            ("no-store", "cache-control", Some("No-Store"), false),
            ("no-store", "cache-control", None, false),
            ("'*'", "access-control-allow-origin", Some("*"), true),
            ("'*'", "access-control-allow-origin", Some("x"), false),
            ("600", "access-control-max-age", Some("600"), true),
            ("text/plain", "content-type", Some("text/plain"), true),
            (
                "text/plain",
                "content-type",
                Some("Text/Plain ; charset=utf-8"),
                true,
            ),
            ("text/plain", "content-type", Some("text/html"), false),
            ("text/plain", "content-type", Some("text/plainer"), false),
            (
                "text/plain;charset=utf-8",
                "content-type",
                Some("text/plain"),
                false,
            ),
            ("{like: 'nonce-*'}", "x", Some("nonce-12"), true),
            ("{like: 'nonce-*'}", "x", Some("once-12"), false),
            ("{like: '*a*b'}", "x", Some("xaxb"), true),
            ("{like: '*a*b'}", "x", Some("xbxa"), false),
            ("{like: 'a*a'}", "x", Some("a"), false),
            ("{like: 'a'}", "x", Some("ab"), false),
            ("{like: '*'}", "x", None, false),
            ("{like: '##-*'}", "x", Some("0f-"), true),
            ("{like: '##-*'}", "x", Some("0F-"), false),
            ("{like: '*-##'}", "x", Some("a-b-0f"), true),
            ("{like: '*-##'}", "x", Some("a-b-0"), false),
            ("{like: '#'}", "x", Some("#"), false),
        ];
        for (yaml, name, got, holds) in table {
            assert_eq!(rule(yaml).holds(name, got), holds, "{yaml} {name} {got:?}");
        }
    }

    #[test]
    fn expectations_survive_yaml_and_json() {
        let yaml = "{status: [404, 405], headers: {a: absent, b: present, c: x, d: {like: 'y*'}, e: {like: '#', differs: true}}, json: null}";
        let expect: Expect = serde_yaml::from_str(yaml).unwrap();
        assert_eq!(expect.json, Some(serde_json::Value::Null));
        assert_eq!(expect.status.to_string(), "404 or 405");
        assert!(expect.status.contains(405) && !expect.status.contains(200));
        let json = serde_json::to_string(&expect).unwrap();
        assert_eq!(serde_json::from_str::<Expect>(&json).unwrap(), expect);
        let bare: Expect = serde_yaml::from_str("status: 200").unwrap();
        assert_eq!(serde_json::to_string(&bare).unwrap(), r#"{"status":200}"#);
    }

    #[test]
    fn what_is_no_expectation_is_refused() {
        for bad in [
            "status: 100",
            "status: 600",
            "status: []",
            "status: [200, 99]",
            "status: ok",
            "{}",
            "{status: 200, headers: {a: true}}",
            "{status: 200, headers: {a: {unlike: x}}}",
            "{status: 200, headers: {a: {}}}",
            "{status: 200, headers: {a: {like: x, b: y}}}",
            "{status: 200, headers: {a: {differs: true}}}",
            "{status: 200, text: ok}",
        ] {
            assert!(serde_yaml::from_str::<Expect>(bad).is_err(), "{bad}");
        }
    }
}
