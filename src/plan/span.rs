//! Lengths of time: texts like `5s` on the command line, plain seconds in a plan's phases.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::yaml::from_text;

/// The longest span that is accepted: a day.
const LONGEST_S: f64 = 86_400.0;

/// A length of time written as text: `5s`, `500ms`, `2m`; a plain number is seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let scale = match unit {
            "" | "s" => 1.0,
            "us" => 1e-6,
            "ms" => 1e-3,
            "m" => 60.0,
            "h" => 3600.0,
            _ => f64::NAN,
        };
        let seconds = number.parse::<f64>().unwrap_or(f64::NAN) * scale;
        if !(0.0..=LONGEST_S).contains(&seconds) {
            return Err(format!(
                "`{text}` is not a length of time: expected one like 5s, 500ms or 2m, at most a day"
            ));
        }
        Ok(Self(Duration::from_secs_f64(seconds)))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.as_nanos().is_multiple_of(1_000_000) && self.0.subsec_nanos() != 0 {
            write!(f, "{}ms", self.0.as_millis())
        } else {
            write!(f, "{}s", self.0.as_secs_f64())
        }
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from_text(from)
    }
}

/// A phase's length in seconds: finite, not negative, at most a day.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Seconds(f64);

impl Seconds {
    /// Of a number that is known to be in range; others are clamped.
    pub const fn of(seconds: f64) -> Self {
        Self(seconds.clamp(0.0, LONGEST_S))
    }

    /// As a number.
    pub fn get(self) -> f64 {
        self.0
    }

    /// As the standard library's type.
    pub fn duration(self) -> Duration {
        Duration::from_secs_f64(self.0)
    }
}

impl From<Span> for Seconds {
    fn from(span: Span) -> Self {
        Self::of(span.0.as_secs_f64())
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = Seconds;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a number of seconds, from 0 to 86400")
            }

            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Seconds, E> {
                if (0.0..=LONGEST_S).contains(&number) {
                    return Ok(Seconds(number));
                }
                Err(E::invalid_value(
                    serde::de::Unexpected::Float(number),
                    &self,
                ))
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Seconds, E> {
                self.visit_f64(number as f64)
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Seconds, E> {
                self.visit_f64(number as f64)
            }
        }
        from.deserialize_f64(Number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_and_print() {
        let table = [
            ("5s", 5.0, "5s"),
            ("500ms", 0.5, "500ms"),
            ("2m", 120.0, "120s"),
            ("1h", 3600.0, "3600s"),
            ("1.5", 1.5, "1500ms"),
            ("60us", 60e-6, "0.00006s"),
            ("0", 0.0, "0s"),
        ];
        for (text, seconds, printed) in table {
            let span: Span = text.parse().unwrap();
            assert_eq!(span.0, Duration::from_secs_f64(seconds), "{text}");
            assert_eq!(span.to_string(), printed);
            assert_eq!(printed.parse(), Ok(span), "it reads back");
        }
        for bad in [
            "", "s", "5 s", "-1s", "1e3s", "inf", "NaN", "1.2.3", "5d", "25h",
        ] {
            assert!(bad.parse::<Span>().is_err(), "{bad}");
        }
    }

    #[test]
    fn seconds_are_numbers_in_range() {
        for (text, seconds) in [("15", 15.0), ("1.5", 1.5), ("0", 0.0)] {
            let read: Seconds = serde_yaml::from_str(text).unwrap();
            assert_eq!(read.get(), seconds);
        }
        for bad in ["-1", "86401", ".nan", ".inf", "5s", "[]"] {
            assert!(serde_yaml::from_str::<Seconds>(bad).is_err(), "{bad}");
        }
    }
}
