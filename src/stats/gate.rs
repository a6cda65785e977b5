//! Gates: what a script asks of a run's figures, as in `p99_ms < 10`.

use std::fmt;
use std::str::FromStr;

use super::groups::FIGURES;
use crate::record::schema::{Group, Summary};

/// Short names of figures in the units that people think in: name, figure, how many of its units are one.
const SHORT: [(&str, &str, f64); 8] = [
    ("p50_us", "response_us.p50", 1.0),
    ("p99_us", "response_us.p99", 1.0),
    ("p999_us", "response_us.p999", 1.0),
    ("p50_ms", "response_us.p50", 1e3),
    ("p99_ms", "response_us.p99", 1e3),
    ("p999_ms", "response_us.p999", 1e3),
    ("rss_mib", "rss_mib.load", 1.0),
    ("rps", "achieved_rps", 1.0),
];

/// How a figure must stand to the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// Longer signs first: `<=` begins as `<` does.
const SIGNS: [(&str, Order); 4] = [
    ("<=", Order::AtMost),
    (">=", Order::AtLeast),
    ("<", Order::Less),
    (">", Order::Greater),
];

/// One condition on the median of every group.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// As it was written.
    text: String,
    figure: &'static str,
    /// The figure's own units in one of the bound's.
    unit: f64,
    order: Order,
    bound: f64,
}

impl FromStr for Gate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = SIGNS.iter().find_map(|(sign, order)| {
            let (figure, bound) = text.split_once(sign)?;
            Some((figure.trim(), *order, bound.trim()))
        });
        let Some((name, order, bound)) = found else {
            return Err(
                "expected a figure, one of < <= > >=, and a number: p99_ms < 10".to_owned(),
            );
        };
        let short = SHORT.iter().find(|(short, ..)| *short == name);
        let full = FIGURES.iter().find(|(figure, _)| *figure == name);
        let (figure, unit) = match (short, full) {
            (Some((_, figure, unit)), _) => (*figure, *unit),
            (None, Some((figure, _))) => (*figure, 1.0),
            (None, None) => return Err(format!("`{name}` is no figure: {}", known())),
        };
        let bound = bound
            .parse()
            .ok()
            .filter(|bound: &f64| bound.is_finite())
            .ok_or_else(|| format!("`{bound}` is not a number"))?;
        Ok(Self {
            text: text.trim().to_owned(),
            figure,
            unit,
            order,
            bound,
        })
    }
}

impl Gate {
    /// Where it does not hold, a sentence each. Where nothing was measured it does not hold either.
    pub fn failures(&self, summary: &Summary) -> Vec<String> {
        if summary.groups.is_empty() {
            return vec![format!("{self}: nothing was measured")];
        }
        let failures = summary
            .groups
            .iter()
            .filter_map(|group| self.failure(group));
        failures.collect()
    }

    fn failure(&self, group: &Group) -> Option<String> {
        let spread = group.figures.get(self.figure).copied().flatten();
        let median = spread.map(|spread| spread.median / self.unit);
        if median.is_some_and(|median| self.holds(median)) {
            return None;
        }
        let at = group
            .rate_rps
            .map_or("in closed loop".to_owned(), |rate| format!("at {rate}/s"));
        let found = median.map_or("there is none".to_owned(), |median| {
            format!("it is {median:.3}")
        });
        let (adapter, workload) = (&group.adapter, &group.workload);
        Some(format!("{self}: {adapter} on {workload} {at}: {found}"))
    }

    fn holds(&self, value: f64) -> bool {
        match self.order {
            Order::Less => value < self.bound,
            Order::AtMost => value <= self.bound,
            Order::Greater => value > self.bound,
            Order::AtLeast => value >= self.bound,
        }
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn known() -> String {
    let short = SHORT.iter().map(|(name, ..)| *name);
    let full = FIGURES.iter().map(|(name, _)| *name);
    let names: Vec<&str> = short.chain(full).collect();
    format!("there are: {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::schema::Spread;

    fn summary(p99_us: Option<f64>) -> Summary {
        let spread = p99_us.map(|median| Spread {
            median,
            min: median,
            max: median,
        });
        Summary {
            groups: vec![Group {
                adapter: "x".into(),
                workload: "w".into(),
                rate_rps: Some(100),
                figures: [("response_us.p99".to_owned(), spread)].into(),
                ..Group::default()
            }],
            ..Summary::default()
        }
    }

    #[test]
    fn a_gate_holds_as_it_is_written() {
        for (gate, p99_us, failure) in [
            ("p99_ms < 10", Some(9_999.0), ""),
            (
                "p99_ms<10",
                Some(10_000.0),
                "p99_ms<10: x on w at 100/s: it is 10.000",
            ),
            (" p99_ms <= 10 ", Some(10_000.0), ""),
            ("p99_us > 10", Some(11.0), ""),
            ("response_us.p99 >= 10", Some(9.0), "it is 9.000"),
            ("p99_ms < 10", None, "there is none"),
            ("coverage >= 0.99", Some(1.0), "there is none"),
        ] {
            let failures = gate.parse::<Gate>().unwrap().failures(&summary(p99_us));
            assert!(failures.concat().contains(failure), "{failures:?}");
            assert_eq!(failures.is_empty(), failure.is_empty(), "{gate}");
        }
        let nothing = "p99_ms < 10".parse::<Gate>().unwrap();
        assert_eq!(nothing.failures(&Summary::default()).len(), 1);
    }

    #[test]
    fn what_is_no_gate_is_refused_with_what_was_expected() {
        for (text, what) in [
            ("p99_ms", "expected a figure"),
            ("p99_ms == 10", "expected a figure"),
            ("p98_ms < 10", "`p98_ms` is no figure: there are: p50_us"),
            ("p99_ms < ten", "`ten` is not a number"),
            ("p99_ms < inf", "is not a number"),
            ("", "expected a figure"),
        ] {
            let refused = text.parse::<Gate>().unwrap_err();
            assert!(refused.contains(what), "{text}: {refused}");
        }
        for (_, figure, _) in SHORT {
            assert!(
                FIGURES.iter().any(|(known, _)| *known == figure),
                "{figure}"
            );
        }
    }
}
