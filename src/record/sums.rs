//! `SHA256SUMS`: what `sha256sum -c` reads, over every file of an archive but itself.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// The file's name.
pub const FILE: &str = "SHA256SUMS";

/// The SHA-256 of some bytes, in lower-case hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes in lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The whole file: a line per path, sorted by the path's bytes.
pub fn write(sums: &BTreeMap<String, String>) -> String {
    sums.iter()
        .map(|(path, sum)| format!("{sum}  {path}\n"))
        .collect()
}

/// Reads what [`write`] wrote, byte for byte; anything else is exit 5 with the line's number.
pub fn read(text: &str) -> Result<BTreeMap<String, String>> {
    let mut sums = BTreeMap::new();
    for (line, number) in text.lines().zip(1..) {
        let is_hex = |sum: &str| sum.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let entry = line
            .split_once("  ")
            .filter(|(sum, _)| sum.len() == 64 && is_hex(sum));
        let (sum, path) =
            entry.ok_or_else(|| Error::unverified(format!("line {number}: not `SUM  PATH`")))?;
        sums.insert(path.to_owned(), sum.to_owned());
    }
    if write(&sums) != text {
        return Err(Error::unverified(
            "not one line per path, sorted, each ended",
        ));
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_text_is_read() {
        let sum = sha256(b"");
        assert_eq!(&sum[..16], "e3b0c44298fc1c14");
        let text = format!("{sum}  a\n{sum}  b/c\n");
        assert_eq!(write(&read(&text).unwrap()), text);
        for broken in [
            text.trim_end().to_owned(),
            format!("{sum}  b\n{sum}  a\n"),
            format!("{sum}  a\n{sum}  a\n"),
            text.replace("  a", " *a"),
            text.to_uppercase(),
            text.replacen('e', "g", 1),
        ] {
            assert!(read(&broken).is_err(), "{broken}");
        }
    }
}
