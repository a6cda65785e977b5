//! JSON as it stands in an archive: what is in the document's own members has a line each. An exchange, a cell, a
//! block is thus a line: found by `grep`, told apart by `diff`, and half as long as with a line for every number.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use crate::error::{Error, Result};

/// What is nested deeper than this stands on one line.
const DEEPEST: usize = 2;

/// The whole document, with a line's end.
pub fn text(document: &impl Serialize) -> Result<String> {
    let unwritable =
        |e: &dyn std::fmt::Display| Error::unexpected(format!("not writable as JSON: {e}"));
    let mut bytes = Vec::new();
    document
        .serialize(&mut Serializer::with_formatter(
            &mut bytes,
            Lines::default(),
        ))
        .map_err(|e| unwritable(&e))?;
    bytes.push(b'\n');
    String::from_utf8(bytes).map_err(|e| unwritable(&e))
}

/// Lines down to [`DEEPEST`], spaces below.
#[derive(Default)]
struct Lines {
    depth: usize,
    empty: bool,
}

impl Lines {
    fn open(&mut self, to: &mut (impl Write + ?Sized), bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.empty = true;
        to.write_all(bracket)
    }

    fn close(&mut self, to: &mut (impl Write + ?Sized), bracket: &[u8]) -> io::Result<()> {
        let lines = self.depth <= DEEPEST && !self.empty;
        self.depth -= 1;
        self.empty = false;
        if lines {
            self.line(to)?;
        }
        to.write_all(bracket)
    }

    fn item(&mut self, to: &mut (impl Write + ?Sized), first: bool) -> io::Result<()> {
        self.empty = false;
        let lines = self.depth <= DEEPEST;
        match (first, lines) {
            (true, _) => {}
            (false, true) => to.write_all(b",")?,
            (false, false) => to.write_all(b", ")?,
        }
        if lines {
            self.line(to)?;
        }
        Ok(())
    }

    fn line(&self, to: &mut (impl Write + ?Sized)) -> io::Result<()> {
        write!(to, "\n{:1$}", "", 2 * self.depth)
    }
}

impl Formatter for Lines {
    fn begin_array<W: Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        self.open(to, b"[")
    }

    fn end_array<W: Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        self.close(to, b"]")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.item(to, first)
    }

    fn begin_object<W: Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        self.open(to, b"{")
    }

    fn end_object<W: Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        self.close(to, b"}")
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.item(to, first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_documents_members_has_a_line_each() {
        let document = serde_json::json!({
            "exchanges": [{"row": "a", "headers": [["x", "1"]]}, {}],
            "ledger": {"sent": 1, "by": [1, 2]},
            "none": [],
            "schema": 1,
        });
        let expected = r#"{
  "exchanges": [
    {"headers": [["x", "1"]], "row": "a"},
    {}
  ],
  "ledger": {
    "by": [1, 2],
    "sent": 1
  },
  "none": [],
  "schema": 1
}
"#;
        let text = text(&document).unwrap();
        assert_eq!(text, expected);
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            document
        );
    }

    #[test]
    fn what_is_no_json_is_an_error() {
        let keys = std::collections::BTreeMap::from([(vec![1], 2)]);
        assert!(
            text(&keys)
                .unwrap_err()
                .to_string()
                .contains("not writable as JSON")
        );
    }
}
