//! YAML that people write: every complaint carries file, line and column, and duplicate keys are
//! errors wherever they stand (serde keeps the last one of a map silently).

use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, IgnoredAny, MapAccess,
    SeqAccess, Visitor,
};

use super::names;
use crate::error::{Error, Result};

/// A text and the name of the file it came from.
#[derive(Clone, Debug)]
pub struct Source {
    /// As it is shown in messages.
    pub file: String,
    /// All of it.
    pub text: String,
}

/// One step from a document's root to a value in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into a map.
    Key(String),
    /// Into a list, from 0.
    Index(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Self::Key(key.to_owned())
    }
}

impl From<&String> for Step {
    fn from(key: &String) -> Self {
        Self::Key(key.clone())
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// A path into a document: `at!["rates_rps", 0]`.
macro_rules! at {
    ($($step:expr),* $(,)?) => { Vec::from([$($crate::plan::yaml::Step::from($step)),*]) };
}
pub(super) use at;

/// A value that reads well but makes no sense: where it stands in its document, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// From the root to the value.
    pub path: Vec<Step>,
    /// What is wrong with it, and what was expected.
    pub what: String,
    /// What to do; may be empty.
    pub next: String,
}

impl Wrong {
    /// Without advice yet.
    pub fn new(path: Vec<Step>, what: impl Into<String>) -> Self {
        Self {
            path,
            what: what.into(),
            next: String::new(),
        }
    }

    /// Adds what to do.
    #[must_use]
    pub fn next(mut self, advice: impl Into<String>) -> Self {
        self.next = advice.into();
        self
    }

    /// The path as people write it: `rates_rps[0]`.
    pub fn place(&self) -> String {
        let mut place = String::new();
        for step in &self.path {
            match step {
                Step::Key(key) if place.is_empty() => place += key,
                Step::Key(key) => place += &format!(".{key}"),
                Step::Index(index) => place += &format!("[{index}]"),
            }
        }
        place
    }
}

impl Source {
    /// A text under the name of its file.
    pub fn new(file: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            text: text.into(),
        }
    }

    /// Reads the whole text as a `T`; anything unexpected is exit 2 with its place.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        Walk.deserialize(serde_yaml::Deserializer::from_str(&self.text))
            .map_err(|error| self.said(&error))?;
        serde_yaml::from_str(&self.text).map_err(|error| self.said(&error))
    }

    /// The complaint about a value, with its line where it can be found (else its nearest parent's).
    pub fn wrong(&self, wrong: Wrong) -> Error {
        let (line, column) = locate(&self.text, &wrong.path).unwrap_or((1, 1));
        self.refused((line, column), &wrong.what, wrong.next)
    }

    /// Whether the text holds a value at this path.
    pub fn has(&self, path: &[Step]) -> bool {
        let found = Probe { path, exact: true };
        let document = serde_yaml::Deserializer::from_str(&self.text);
        found.deserialize(document).is_err()
    }

    /// serde_yaml's error in this program's form.
    fn said(&self, error: &serde_yaml::Error) -> Error {
        let (line, column) = error
            .location()
            .map_or((1, 1), |at| (at.line(), at.column()));
        let what = error.to_string();
        let suffix = format!(" at line {line} column {column}");
        let what = what.strip_suffix(&suffix).unwrap_or(&what);
        self.refused((line, column), what, advice(what))
    }

    /// Where nothing better is known to do, what to read.
    fn refused(&self, (line, column): (usize, usize), what: &str, next: String) -> Error {
        let next = match self.file.ends_with("adapter.yaml") {
            _ if !next.is_empty() => next,
            true => "adapters/README.md says what each key means".to_owned(),
            false => "workloads/README.md says what each key means".to_owned(),
        };
        Error::usage(format!("{}:{line}:{column}: {what}", self.file)).next(next)
    }
}

/// What to do about serde's most frequent complaint, a mistyped key.
fn advice(what: &str) -> String {
    let Some((_, fields)) = what.split_once("unknown field ") else {
        return String::new();
    };
    let mut quoted = fields.split('`').skip(1).step_by(2);
    let typed = quoted.next().unwrap_or_default();
    names::nearest(typed, quoted)
        .map(|known| format!("did you mean `{known}`?"))
        .unwrap_or_default()
}

/// Line and column (from 1) of the value at a path, or of its nearest parent that exists.
fn locate(text: &str, path: &[Step]) -> Option<(usize, usize)> {
    let probe = Probe { path, exact: false };
    let error = probe
        .deserialize(serde_yaml::Deserializer::from_str(text))
        .err()?;
    error.location().map(|at| (at.line(), at.column()))
}

/// Goes down a path and fails on the value at its end: serde_yaml tells no positions but those of
/// errors. Every kind of value that has no `visit_` function here fails by serde's default.
struct Probe<'a> {
    path: &'a [Step],
    /// Succeed where the path leads nowhere, instead of failing on the nearest parent.
    exact: bool,
}

impl Probe<'_> {
    fn missed<E: serde::de::Error>(&self) -> std::result::Result<(), E> {
        if self.exact {
            Ok(())
        } else {
            Err(E::custom("here"))
        }
    }

    fn rest(&self) -> Probe<'_> {
        Probe {
            path: &self.path[1..],
            exact: self.exact,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Probe<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> std::result::Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Probe<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("nothing")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        let Some(Step::Key(wanted)) = self.path.first() else {
            return Err(A::Error::custom("here"));
        };
        while let Some(key) = map.next_key::<String>()? {
            if key == *wanted {
                map.next_value_seed(self.rest())?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        self.missed()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<(), A::Error> {
        let Some(Step::Index(wanted)) = self.path.first() else {
            return Err(A::Error::custom("here"));
        };
        let mut skipped = 0;
        while skipped < *wanted && list.next_element::<IgnoredAny>()?.is_some() {
            skipped += 1;
        }
        if list.next_element_seed(self.rest())?.is_some() {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        self.missed()
    }
}

/// Visits everything and fails on the first key that its map already has.
struct Walk;

impl<'de> DeserializeSeed<'de> for Walk {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> std::result::Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

/// A scalar that a walk passes by.
macro_rules! pass {
    ($($visit:ident: $type:ty),*) => {
        $(fn $visit<E>(self, _: $type) -> std::result::Result<(), E> { Ok(()) })*
    };
}

impl<'de> Visitor<'de> for Walk {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("plain YAML without tags")
    }

    pass!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn visit_unit<E>(self) -> std::result::Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        let mut seen = BTreeSet::new();
        while map.next_key_seed(NewKey(&mut seen))?.is_some() {
            map.next_value_seed(Walk)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<(), A::Error> {
        while list.next_element_seed(Walk)?.is_some() {}
        Ok(())
    }

    fn visit_enum<A: EnumAccess<'de>>(self, _: A) -> std::result::Result<(), A::Error> {
        Err(A::Error::custom("a YAML tag: write the plain value"))
    }
}

/// A key that its map must not have yet; fails at the key's own position.
struct NewKey<'a>(&'a mut BTreeSet<String>);

impl<'de> DeserializeSeed<'de> for NewKey<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, key: D) -> std::result::Result<(), D::Error> {
        key.deserialize_str(self)
    }
}

impl Visitor<'_> for NewKey<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a string as key")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> std::result::Result<(), E> {
        if self.0.insert(key.to_owned()) {
            Ok(())
        } else {
            Err(E::custom(format!("duplicate key `{key}`")))
        }
    }
}

/// Deserializes a text by its `FromStr`, inside the visitor: only so does an error get the value's
/// own position, and not its parent's.
pub(super) fn from_text<'de, D, T>(value: D) -> std::result::Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err = String>,
{
    struct Text<T>(PhantomData<T>);
    impl<T: FromStr<Err = String>> Visitor<'_> for Text<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<T, E> {
            text.parse().map_err(E::custom)
        }
    }
    value.deserialize_str(Text(PhantomData))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Sheet {
        title: String,
        #[serde(default)]
        numbers: Vec<u32>,
        #[serde(default)]
        map: BTreeMap<String, BTreeMap<String, String>>,
    }

    fn error(text: &str) -> Error {
        Source::new("a.yaml", text).parse::<Sheet>().unwrap_err()
    }

    #[test]
    fn every_complaint_carries_its_place() {
        let table = [
            ("titel: x", "a.yaml:1:1: unknown field `titel`"),
            ("title: x\ntitle: y", "a.yaml:2:1: duplicate key `title`"),
            (
                "title: x\nmap:\n  a: {}\n  a: {}",
                "a.yaml:4:3: map: duplicate key `a`",
            ),
            (
                "title: x\nmap:\n  a: {b: '1', b: '2'}",
                "a.yaml:3:15: map.a: duplicate key `b`",
            ),
            (
                "title: x\nnumbers: [1, two]",
                "a.yaml:2:14: numbers[1]: invalid type: string \"two\"",
            ),
            (
                "title: [x]",
                "a.yaml:1:8: title: invalid type: sequence, expected a string",
            ),
            ("numbers: [1]", "a.yaml:1:1: missing field `title`"),
            ("title: !secret x", "a.yaml:1:8: "),
            ("title: [", "a.yaml:2:1: "),
            ("", "a.yaml:1:1: "),
            ("title: x\n---\ntitle: y", "a.yaml:1:1: "),
            ("title: x\nmap: {[1]: {}}", "a.yaml:2:7: "),
        ];
        for (text, expected) in table {
            let error = error(text);
            assert_eq!(error.exit, crate::error::Exit::Usage);
            assert!(error.what.starts_with(expected), "{text:?}: {}", error.what);
        }
    }

    #[test]
    fn a_mistyped_key_is_answered_with_the_nearest() {
        assert_eq!(error("titel: x").next, "did you mean `title`?");
        let read = "workloads/README.md says what each key means";
        assert_eq!(error("colour: red").next, read);
    }

    #[test]
    fn values_and_their_nearest_parents_are_located() {
        let text = "title: x\nnumbers:\n  - 1\n  - 2\nmap:\n  a:\n    b: c\n";
        let table = [
            (at!["title"], (1, 8)),
            (at!["numbers"], (3, 3)),
            (at!["numbers", 1], (4, 5)),
            (at!["numbers", 7], (3, 3)),
            (at!["map", "a", "b"], (7, 8)),
            (at!["map", "z"], (6, 3)),
            (at!["none"], (1, 1)),
            (at!["title", "deeper"], (1, 8)),
        ];
        for (path, expected) in table {
            assert_eq!(locate(text, &path), Some(expected), "{path:?}");
        }
        let source = Source::new("a.yaml", text);
        assert!(source.has(&at!["numbers", 1]) && source.has(&at!["map", "a"]));
        assert!(!source.has(&at!["numbers", 2]) && !source.has(&at!["map", "b"]));
    }

    #[test]
    fn places_read_as_they_are_written() {
        assert_eq!(
            Wrong::new(at!["phases", "warm_up", "seconds"], "").place(),
            "phases.warm_up.seconds"
        );
        assert_eq!(Wrong::new(at!["rates_rps", 0], "").place(), "rates_rps[0]");
    }
}
