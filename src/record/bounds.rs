//! How much an archive may make its reader hold: whoever made it may have meant harm.

use std::cell::Cell;
use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess, Visitor,
};

use crate::error::{Error, Result};
use crate::record::source::Source;

/// Most values of a JSON document; an object, whose map takes the memory of many, counts as
/// [`OBJECT`]. The summary of 10,000 cells has fewer.
pub const JSON_VALUES: u32 = 6_000_000;
/// What an object counts as.
pub const OBJECT: u32 = 16;
/// Most values of a YAML document with its aliases written out: nine lines of them can stand for
/// billions.
const YAML_VALUES: u32 = 50_000;
/// The deepest that its flow collections may be nested: the scanner's time grows with the square.
const YAML_DEPTH: usize = 64;
/// Most cells that a plan may come to.
pub const CELLS: u64 = 20_000;

/// The most bytes that a file may have which is read as a whole.
pub fn most_bytes(path: &str) -> u64 {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name {
        "cell.json" => 1 << 20,
        "environment.json" | "images.json" => 8 << 20,
        "samples.csv" => 16 << 20,
        "parity.json" => 32 << 20,
        _ if name.ends_with(".yaml") => 256 << 10,
        _ => 64 << 20,
    }
}

/// The text of a YAML file that stands for no more than it should.
pub fn yaml(source: &Source, path: &str) -> Result<String> {
    let text = source.text(path)?;
    modest_yaml(&text)?;
    Ok(text)
}

/// Refuses YAML that is nested deeper, or grows larger, than what people write.
pub fn modest_yaml(text: &str) -> Result<()> {
    let deepest = text.bytes().scan(0usize, |depth, byte| {
        match byte {
            b'[' | b'{' => *depth += 1,
            b']' | b'}' => *depth = depth.saturating_sub(1),
            _ => {}
        }
        Some(*depth)
    });
    if deepest.max() > Some(YAML_DEPTH) {
        return Err(Error::unverified(format!(
            "nested deeper than {YAML_DEPTH} brackets"
        )));
    }
    let left = Cell::new(YAML_VALUES);
    Count(&left)
        .deserialize(serde_yaml::Deserializer::from_str(text))
        .map_err(|e| Error::unverified(format!("not YAML as an archive holds: {e}")))
}

/// Visits everything and keeps nothing.
struct Count<'a>(&'a Cell<u32>);

impl Count<'_> {
    fn one<E: serde::de::Error>(&self) -> Result<(), E> {
        let left = self.0.get().checked_sub(1);
        let left = left.ok_or_else(|| E::custom(format!("more than {YAML_VALUES} values")))?;
        self.0.set(left);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Count<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

/// A scalar, counted.
macro_rules! count {
    ($($visit:ident: $type:ty),*) => {
        $(fn $visit<E: serde::de::Error>(self, _: $type) -> Result<(), E> { self.one() })*
    };
}

impl<'de> Visitor<'de> for Count<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("plain YAML without tags")
    }

    count!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.one()
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.one()?;
        while map.next_key_seed(Count(self.0))?.is_some() {
            map.next_value_seed(Count(self.0))?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        self.one()?;
        while list.next_element_seed(Count(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_enum<A: EnumAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        Err(A::Error::custom("a YAML tag"))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn yaml_that_explodes_is_refused_before_it_does() {
        let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for n in 1..12 {
            let many = vec![format!("*a{}", n - 1); 10].join(", ");
            laughs += &format!("a{n}: &a{n} [{many}]\n");
        }
        let wide = format!(
            "a: &a [{}]\nb: [{}]\n",
            "x, ".repeat(5000),
            "*a, ".repeat(5000)
        );
        let half = most_bytes("x.yaml") as usize / 2;
        for (what, text) in [
            ("billion laughs", laughs),
            ("quadratic", wide),
            ("brackets", "[".repeat(half)),
            ("braces", "{a: ".repeat(half / 4)),
            ("blocks", "- ".repeat(half / 2)),
            (
                "indents",
                (0..700).map(|n| format!("{}a:\n", " ".repeat(n))).collect(),
            ),
            ("values", "- x\n".repeat(60_000)),
            ("tag", "a: !x 1".into()),
            ("loop", "&a [*a]".into()),
        ] {
            let start = Instant::now();
            assert!(modest_yaml(&text).is_err(), "{what}");
            assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        }
        assert!(modest_yaml("a: &a {b: [1, x, null, true, 1.5]}\nc: *a\n").is_ok());
    }
}
