//! What was asked and what came, as it stands in `parity.json`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::judge::Mismatch;
use crate::plan::workload::NONCE;

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

impl Ask {
    /// The same with every `{nonce}` replaced.
    pub fn with_nonce(&self, digits: &[u8]) -> Self {
        let nonce = String::from_utf8_lossy(digits);
        let fill = |text: &str| text.replace(NONCE, &nonce);
        Self {
            method: self.method.clone(),
            path: fill(&self.path),
            headers: (self.headers.iter())
                .map(|(name, value)| (name.clone(), fill(value)))
                .collect(),
            body: self.body.as_deref().map(fill),
        }
    }
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
    /// `before` or `after` the load; `during` for a slot of the load that was kept whole.
    pub when: String,
    /// The row's name.
    pub row: String,
    /// When it was asked, in seconds since 1970: what must move has had time to.
    pub unix_s: f64,
    /// The nonce that was put into it.
    pub nonce: String,
    /// What was sent.
    pub request: Ask,
    /// What came.
    pub response: Answer,
    /// What was not as expected.
    pub failures: Vec<Mismatch>,
}

/// Responses whose bodies are not kept: of many, only what their heads had in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// How many plain rows were asked.
    pub asked: u64,
    /// Each row's responses by status and header names.
    pub heads: Vec<Heads>,
}

/// So many responses with the same status and header names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heads {
    /// Which variant of the load was asked.
    pub variant: usize,
    /// The status; 0 where there was no response.
    pub status: u16,
    /// Sorted, each once.
    pub names: Vec<String>,
    /// How many.
    pub count: u64,
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
