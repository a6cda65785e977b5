//! What was asked and what came, as it stands in `parity.json`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::judge::Mismatch;

/// A request of the matrix, ready to be sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The request's own header fields, in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<String>,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The status; 0 where there was no response.
    pub status: u16,
    /// All header fields, names in lower case, in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Body,
    /// Why there was no whole response; empty where there was one.
    pub error: String,
}

impl Answer {
    /// No response at all.
    pub fn none(why: impl Into<String>) -> Self {
        Self {
            status: 0,
            headers: vec![],
            body: Body::default(),
            error: why.into(),
        }
    }

    /// A header field's value, by its name in lower case; several are joined with a comma.
    pub fn header(&self, name: &str) -> Option<String> {
        let values: Vec<&str> = self
            .headers
            .iter()
            .filter(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
            .collect();
        (!values.is_empty()).then(|| values.join(", "))
    }
}

/// A body: text as text, other bytes as `base64:…`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Body(pub Vec<u8>);

const BINARY: &str = "base64:";

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) if !text.starts_with(BINARY) => to.serialize_str(text),
            _ => to.serialize_str(&format!("{BINARY}{}", STANDARD.encode(&self.0))),
        }
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        match text.strip_prefix(BINARY) {
            Some(encoded) => STANDARD
                .decode(encoded)
                .map(Body)
                .map_err(serde::de::Error::custom),
            None => Ok(Body(text.into_bytes())),
        }
    }
}

/// One row of the transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// `before` or `after` the load.
    pub when: String,
    /// The row's name.
    pub row: String,
    /// The nonce that was put into it.
    pub nonce: String,
    /// What was sent.
    pub request: Ask,
    /// What came.
    pub response: Answer,
    /// What was not as expected.
    pub failures: Vec<Mismatch>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_of_any_bytes_survive() {
        for bytes in [&b"text"[..], b"", b"\xff\x00", b"base64:tricky"] {
            let body = Body(bytes.to_vec());
            let json = serde_json::to_string(&body).unwrap();
            assert_eq!(serde_json::from_str::<Body>(&json).unwrap(), body);
        }
        assert_eq!(
            serde_json::to_string(&Body(b"ok".to_vec())).unwrap(),
            "\"ok\""
        );
    }
}
