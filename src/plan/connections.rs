//! How many connections a load has: a number, or in a closed loop a list.

use std::fmt;

use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// `32`, or a load point for each of `[25, 100, 200]`. One number is written without brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connections(pub Vec<u32>);

impl Connections {
    /// The number where there is but one.
    pub fn first(&self) -> u32 {
        self.0.first().copied().unwrap_or_default()
    }
}

impl fmt::Display for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&texts.join(", "))
    }
}

impl Serialize for Connections {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0[..] {
            [one] => to.serialize_u32(one),
            _ => to.collect_seq(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Connections {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OneOrMore;
        impl<'de> Visitor<'de> for OneOrMore {
            type Value = Connections;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a number of connections, or a list of such")
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Connections, E> {
                let number = u32::try_from(number).map_err(|_| {
                    E::invalid_value(serde::de::Unexpected::Unsigned(number), &self)
                })?;
                Ok(Connections(vec![number]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Connections, A::Error> {
                let mut numbers = Vec::new();
                while let Some(number) = list.next_element()? {
                    numbers.push(number);
                }
                Ok(Connections(numbers))
            }
        }
        from.deserialize_any(OneOrMore)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_a_list_read_and_write_as_they_were() {
        for (yaml, numbers, written) in [
            ("32", vec![32], "32\n"),
            ("[25, 100]", vec![25, 100], "- 25\n- 100\n"),
            ("[7]", vec![7], "7\n"),
            ("[]", vec![], "[]\n"),
        ] {
            let read: Connections = serde_yaml::from_str(yaml).unwrap();
            assert_eq!(read.0, numbers);
            assert_eq!(serde_yaml::to_string(&read).unwrap(), written);
            let again: Connections = serde_yaml::from_str(written).unwrap();
            assert_eq!(again, read);
        }
        for wrong in ["-1", "5000000000", "many", "[1.5]", "{a: 1}"] {
            assert!(
                serde_yaml::from_str::<Connections>(wrong).is_err(),
                "{wrong}"
            );
        }
        assert_eq!(Connections(vec![25, 100]).to_string(), "25, 100");
    }
}
