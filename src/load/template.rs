//! Bytes with holes for a nonce: what is sent, and what must come back.

use serde::{Deserialize, Serialize};

/// The placeholder that people write where a nonce belongs.
pub const NONCE: &str = "{nonce}";
/// A nonce's length: 16 hexadecimal digits.
pub const NONCE_LEN: usize = 16;

/// A text in which each request puts its own nonce. The holes are part of the bytes, so that
/// filling them moves nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    #[serde(with = "base64_bytes")]
    bytes: Vec<u8>,
    holes: Vec<usize>,
}

impl Template {
    /// From a text with [`NONCE`] in it, any number of times.
    pub fn parse(text: &[u8]) -> Self {
        Self::learn(text, NONCE.as_bytes())
    }

    /// From bytes in which `nonce` stood: every place it is found becomes a hole.
    pub fn learn(text: &[u8], nonce: &[u8]) -> Self {
        let (mut bytes, mut holes, mut rest) = (Vec::new(), Vec::new(), text);
        while let Some(at) = rest.windows(nonce.len()).position(|w| w == nonce) {
            bytes.extend_from_slice(&rest[..at]);
            holes.push(bytes.len());
            bytes.extend_from_slice(&[b'0'; NONCE_LEN]);
            rest = &rest[at + nonce.len()..];
        }
        bytes.extend_from_slice(rest);
        Self { bytes, holes }
    }

    /// Length when filled.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// How often the nonce stands in it.
    pub fn holes(&self) -> usize {
        self.holes.len()
    }

    /// Puts a nonce into every hole and gives the whole text; no allocation.
    pub fn fill(&mut self, nonce: &[u8; NONCE_LEN]) -> &[u8] {
        for hole in &self.holes {
            self.bytes[*hole..hole + NONCE_LEN].copy_from_slice(nonce);
        }
        &self.bytes
    }

    /// Whether `part` is what stands at `offset` when filled with `nonce`.
    pub fn matches(&self, offset: usize, part: &[u8], nonce: &[u8; NONCE_LEN]) -> bool {
        let end = offset + part.len();
        let Some(expected) = self.bytes.get(offset..end) else {
            return false;
        };
        if self.holes.is_empty() {
            return part == expected;
        }
        let mut at = offset;
        for &hole in &self.holes {
            let from = hole.clamp(at, end);
            let to = (hole + NONCE_LEN).clamp(from, end);
            if part[at - offset..from - offset] != self.bytes[at..from] {
                return false;
            }
            if from < to && part[from - offset..to - offset] != nonce[from - hole..to - hole] {
                return false;
            }
            at = to;
        }
        part[at - offset..] == self.bytes[at..end]
    }
}

/// Bytes as text in JSON.
pub(super) mod base64_bytes {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: &[u8; 16] = b"0123456789abcdef";

    #[test]
    fn any_part_of_the_filled_text_matches_and_no_other_byte_does() {
        for text in [
            "",
            "ok",
            "{nonce}",
            "a{nonce}b",
            "{nonce}{nonce}",
            "x{nonce}yy{nonce}z",
        ] {
            let mut template = Template::parse(text.as_bytes());
            let filled = template.fill(N).to_vec();
            assert_eq!(filled, text.replace(NONCE, "0123456789abcdef").as_bytes());
            template.fill(&[b'f'; 16]);
            for from in 0..=filled.len() {
                for to in from..=filled.len() {
                    assert!(
                        template.matches(from, &filled[from..to], N),
                        "{text} {from}..{to}"
                    );
                    for wrong in from..to {
                        let mut part = filled[from..to].to_vec();
                        part[wrong - from] ^= 1;
                        assert!(
                            !template.matches(from, &part, N),
                            "{text} {from}..{to} at {wrong}"
                        );
                    }
                }
            }
            assert!(
                !template.matches(filled.len(), b"x", N),
                "longer than announced"
            );
        }
    }

    #[test]
    fn a_template_is_learned_from_a_response_with_its_nonce() {
        let learned = Template::learn(b"{\"hello\":\"0123456789abcdef\"}", N);
        assert_eq!(learned, Template::parse(b"{\"hello\":\"{nonce}\"}"));
    }

    #[test]
    fn a_template_survives_the_agents_protocol() {
        let template = Template::parse(b"\x00\xff{nonce}");
        let json = serde_json::to_string(&template).unwrap();
        assert_eq!(serde_json::from_str::<Template>(&json).unwrap(), template);
    }
}
