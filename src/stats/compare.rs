//! Two archives side by side: what differs in their machines and plans, then ratio by ratio and verdict
//! by verdict. Absolutes of different sessions are never held against each other.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use crate::record::schema::{Group, Summary, Verdict};

/// The figures whose ratios are shown: one of each kind.
const FIGURES: [&str; 5] = [
    "cpu_us_per_request",
    "response_us.p50",
    "response_us.p99",
    "rss_mib.load",
    "achieved_rps",
];

/// What two archives have and have not in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// What the machines differ in, by its path in `environment.json`.
    pub environment: Vec<Difference>,
    /// What the plans differ in, by its path in `plan.yaml`.
    pub plan: Vec<Difference>,
    /// Ratios of medians within each archive, for what both have.
    pub ratios: Vec<Ratio>,
    /// The same comparison in both.
    pub verdicts: Vec<Pair>,
    /// Groups and comparisons that only the first has.
    pub only_first: Vec<String>,
    /// Those that only the second has.
    pub only_second: Vec<String>,
}

/// A value that is not the same; null where an archive has none.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Difference {
    pub field: String,
    pub first: Value,
    pub second: Value,
}

/// One figure of one contender over that of another, at one load point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// As `hello at 1000/s over 32`.
    pub point: String,
    /// Who.
    pub a: String,
    /// Over whom.
    pub b: String,
    /// The figure's name.
    pub figure: String,
    /// a / b of the medians in the first archive.
    pub first: f64,
    /// In the second.
    pub second: f64,
    /// second / first: 1 where both say the same.
    pub change: f64,
}

/// One comparison's verdicts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// As `express@slow against express: cpu_us_per_request of hello at 1000/s over 32 (interval)`.
    pub comparison: String,
    /// The first archive's.
    pub first: Outcome,
    /// The second's.
    pub second: Outcome,
    /// Whether both say the same word.
    pub agree: bool,
    /// `slower` in the second archive, and not in the first.
    pub newly_slower: bool,
}

/// What a verdict says.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Outcome {
    pub verdict: String,
    pub ratio: Option<f64>,
    pub ci_low: Option<f64>,
    pub ci_high: Option<f64>,
}

impl Comparison {
    /// Of two archives' summaries.
    pub fn of(first: &Summary, second: &Summary) -> Self {
        let mut comparison = Self::default();
        let fields = &mut comparison.environment;
        differences("", &first.environment, &second.environment, fields);
        // How busy a machine happened to be is no difference between machines.
        fields.retain(|difference| !difference.field.starts_with("at_start."));
        differences("", &first.plan, &second.plan, &mut comparison.plan);
        comparison.groups(&first.groups, &second.groups);
        comparison.judged(&first.verdicts, &second.verdicts);
        comparison
    }

    /// Whether any comparison is `slower` in the second archive and not in the first. `None` where there
    /// is no comparison in common, so that nothing can be said.
    pub fn slower(&self) -> Option<bool> {
        let any = self.verdicts.iter().any(|pair| pair.newly_slower);
        (!self.verdicts.is_empty()).then_some(any)
    }

    fn groups(&mut self, first: &[Group], second: &[Group]) {
        let (first, second) = (by_point(first), by_point(second));
        let empty = BTreeMap::new();
        let points: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
        for point in points {
            let (one, two) = (
                first.get(point).unwrap_or(&empty),
                second.get(point).unwrap_or(&empty),
            );
            let lacks = |of: &BTreeMap<String, &Group>, who: &String| !of.contains_key(who);
            let names = |of: &BTreeMap<String, &Group>, other: &BTreeMap<String, &Group>| {
                let only = of.keys().filter(|who| lacks(other, who));
                only.map(|who| format!("{who}: {point}"))
                    .collect::<Vec<_>>()
            };
            self.only_first.extend(names(one, two));
            self.only_second.extend(names(two, one));
            let mut common = one.keys().filter(|who| two.contains_key(*who));
            // By name, never by a figure: whoever comes first is what the others are held against.
            let Some(b) = common.next() else { continue };
            for a in common {
                for figure in FIGURES {
                    let (Some(in_first), Some(in_second)) =
                        (ratio(one[a], one[b], figure), ratio(two[a], two[b], figure))
                    else {
                        continue;
                    };
                    self.ratios.push(Ratio {
                        point: point.clone(),
                        a: a.clone(),
                        b: b.clone(),
                        figure: figure.to_owned(),
                        first: in_first,
                        second: in_second,
                        change: in_second / in_first,
                    });
                }
            }
        }
    }

    fn judged(&mut self, first: &[Verdict], second: &[Verdict]) {
        let by_name = |verdicts: &[Verdict]| -> BTreeMap<String, Verdict> {
            let named = verdicts
                .iter()
                .map(|verdict| (name(verdict), verdict.clone()));
            named.collect()
        };
        let (first, mut second) = (by_name(first), by_name(second));
        for (comparison, one) in first {
            let Some(two) = second.remove(&comparison) else {
                self.only_first.push(comparison);
                continue;
            };
            self.verdicts.push(Pair {
                comparison,
                agree: one.verdict == two.verdict,
                newly_slower: two.verdict == SLOWER && one.verdict != SLOWER,
                first: Outcome::of(&one),
                second: Outcome::of(&two),
            });
        }
        self.only_second.extend(second.into_keys());
    }
}

const SLOWER: &str = "slower";

impl Outcome {
    fn of(verdict: &Verdict) -> Self {
        Self {
            verdict: verdict.verdict.clone(),
            ratio: verdict.ratio,
            ci_low: verdict.ci_low,
            ci_high: verdict.ci_high,
        }
    }
}

/// Load point -> contender -> group.
fn by_point(groups: &[Group]) -> BTreeMap<String, BTreeMap<String, &Group>> {
    let mut points: BTreeMap<String, BTreeMap<String, &Group>> = BTreeMap::new();
    for group in groups {
        let at = point(&group.workload, group.rate_rps, group.connections);
        points
            .entry(at)
            .or_default()
            .insert(group.contender(), group);
    }
    points
}

fn point(workload: &str, rate_rps: Option<u64>, connections: u32) -> String {
    let rate = rate_rps.map_or("in a closed loop".to_owned(), |rate| format!("at {rate}/s"));
    format!("{workload} {rate} over {connections}")
}

fn name(verdict: &Verdict) -> String {
    let at = point(&verdict.workload, verdict.rate_rps, verdict.connections);
    let Verdict {
        a, b, metric, rule, ..
    } = verdict;
    format!("{a} against {b}: {metric} of {at} ({rule})")
}

fn ratio(a: &Group, b: &Group, figure: &str) -> Option<f64> {
    let median = |group: &Group| group.figures.get(figure).copied().flatten();
    let (a, b) = (median(a)?.median, median(b)?.median);
    (a > 0.0 && b > 0.0).then(|| a / b)
}

fn differences(at: &str, first: &Value, second: &Value, found: &mut Vec<Difference>) {
    if let (Value::Object(one), Value::Object(two)) = (first, second) {
        let keys: BTreeSet<&String> = one.keys().chain(two.keys()).collect();
        for key in keys {
            let at = if at.is_empty() {
                key.clone()
            } else {
                format!("{at}.{key}")
            };
            let value =
                |of: &serde_json::Map<String, Value>| of.get(key).cloned().unwrap_or_default();
            differences(&at, &value(one), &value(two), found);
        }
    } else if first != second {
        found.push(Difference {
            field: at.to_owned(),
            first: first.clone(),
            second: second.clone(),
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::record::schema::Spread;

    fn verdict(a: &str, word: &str, ratio: f64) -> Verdict {
        Verdict {
            a: a.into(),
            b: "base".into(),
            workload: "hello".into(),
            rate_rps: Some(1000),
            connections: 32,
            metric: "cpu_us_per_request".into(),
            rule: "interval".into(),
            verdict: word.into(),
            ratio: Some(ratio),
            ..Verdict::default()
        }
    }

    fn group(adapter: &str, median: Option<f64>) -> Group {
        let spread = median.map(|median| Spread {
            median,
            min: median,
            max: median,
        });
        Group {
            adapter: adapter.into(),
            workload: "hello".into(),
            rate_rps: Some(1000),
            connections: 32,
            figures: [("cpu_us_per_request".to_owned(), spread)].into(),
            ..Group::default()
        }
    }

    fn summary(verdicts: Vec<Verdict>, groups: Vec<Group>, environment: Value) -> Summary {
        Summary {
            verdicts,
            groups,
            environment,
            plan: json!({"seed": 1}),
            ..Summary::default()
        }
    }

    #[test]
    fn only_what_is_slower_now_and_was_not_before_is_newly_slower() {
        for (before, after, agree, newly) in [
            ("slower", "slower", true, false),
            ("faster", "slower", false, true),
            ("no verdict", "slower", false, true),
            ("slower", "no verdict", false, false),
            ("no verdict", "no verdict", true, false),
            ("slower", "faster", false, false),
        ] {
            let of = |word| summary(vec![verdict("x", word, 1.1)], vec![], json!({}));
            let comparison = Comparison::of(&of(before), &of(after));
            let pair = &comparison.verdicts[0];
            assert_eq!(
                (pair.agree, pair.newly_slower),
                (agree, newly),
                "{before} {after}"
            );
            assert_eq!(comparison.slower(), Some(newly));
        }
        let one = summary(vec![verdict("x", "slower", 1.1)], vec![], json!({}));
        let two = summary(vec![verdict("y", "slower", 1.1)], vec![], json!({}));
        let comparison = Comparison::of(&one, &two);
        assert_eq!(
            comparison.slower(),
            None,
            "nothing in common, nothing to say"
        );
        assert!(comparison.only_first[0].starts_with("x against base: cpu_us_per_request"));
        assert!(comparison.only_second[0].starts_with("y against base"));
    }

    #[test]
    fn groups_are_compared_by_their_ratios_and_machines_by_what_differs() {
        // A machine that is twice as fast, with the same ratio of 3.
        let one = summary(
            vec![],
            vec![
                group("a", Some(100.0)),
                group("b", Some(300.0)),
                group("gone", Some(1.0)),
            ],
            json!({"host": {"cpu": "old", "os": "same"}, "at_start": {"load": 1}}),
        );
        let two = summary(
            vec![],
            vec![
                group("a", Some(50.0)),
                group("b", Some(150.0)),
                group("new", None),
            ],
            json!({"host": {"cpu": "new", "os": "same"}, "at_start": {"load": 2}}),
        );
        let comparison = Comparison::of(&one, &two);
        let [ratio] = &comparison.ratios[..] else {
            panic!("{:?}", comparison.ratios)
        };
        assert_eq!((ratio.a.as_str(), ratio.b.as_str()), ("b", "a"));
        assert_eq!((ratio.first, ratio.second, ratio.change), (3.0, 3.0, 1.0));
        let fields: Vec<&str> = comparison
            .environment
            .iter()
            .map(|d| d.field.as_str())
            .collect();
        assert_eq!(fields, ["host.cpu"]);
        assert!(comparison.plan.is_empty());
        assert_eq!(comparison.only_first, ["gone: hello at 1000/s over 32"]);
        assert_eq!(comparison.only_second, ["new: hello at 1000/s over 32"]);
    }
}
