//! Who takes part: an adapter, or a labelled variant of its environment.

use std::fmt;
use std::str::FromStr;

use serde::de::Deserializer;
use serde::{Deserialize, Serialize, Serializer};

use super::names;
use super::yaml::from_text;

/// An adapter, or a labelled variant of its environment: `express`, `express@slow`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Contender {
    /// The adapter's name.
    pub adapter: String,
    /// One of its `env` labels; empty for none.
    pub label: String,
}

impl FromStr for Contender {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (adapter, label) = match text.split_once('@') {
            Some((_, "")) => return Err(format!("`{text}`: expected a label after @")),
            Some(parts) => parts,
            None => (text, ""),
        };
        names::check(adapter)?;
        if !label.is_empty() {
            names::check(label)?;
        }
        Ok(Self {
            adapter: adapter.to_owned(),
            label: label.to_owned(),
        })
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.adapter)?;
        if !self.label.is_empty() {
            write!(f, "@{}", self.label)?;
        }
        Ok(())
    }
}

impl Serialize for Contender {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Contender {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from_text(from)
    }
}
