//! The verdicts of a duel over interleaved pairs: each contender against the reference, on each metric,
//! at each load.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::claim::{Bounds, CHECK, LEAST_PAIRS, decide};
use super::interval::{Interval, mean, sd, separated};
use super::metric::{Metric, metric};
use super::pairs::{Pair, Pairs, Point};
use super::{bootstrap, checks, published};
use crate::record::schema::{Cell, Verdict};

/// What a plan fixed before anything was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DuelRules {
    /// Who is judged, as `express@slow`; the reference is not among them.
    pub contenders: Vec<String>,
    /// Against whom.
    pub reference: String,
    /// At what.
    pub workloads: Vec<String>,
    /// The rates of the open loop.
    pub rates: Vec<u64>,
    /// Its connections.
    pub connections: u32,
    /// On what: names of [`super::metric::METRICS`].
    pub metrics: Vec<String>,
    /// The closed loops in which metrics of capacity are measured.
    pub capacity_connections: Vec<u32>,
    /// Pairs for each workload and rate.
    pub pairs: u32,
    /// As many more of the reference against itself.
    pub null: u32,
    /// Alternated series of each side.
    pub series: u32,
    /// The least difference that anybody cares for, as a share.
    pub smallest_effect: f64,
    /// How the sides take turns.
    pub pairing: Pairing,
}

/// How a duel's sides take turns; a plan may ask for both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pairing {
    /// In slices of milliseconds: judged here.
    pub interleaved: bool,
    /// In alternated series: judged by [`published`].
    pub series: bool,
}

impl DuelRules {
    /// How many verdicts there will be over pairs: each of them may be false.
    pub fn comparisons(&self) -> usize {
        let loads = |closed: bool| {
            let metrics = self.metrics().filter(|metric| metric.closed == closed);
            let points = if closed {
                self.capacity_connections.len()
            } else {
                self.rates.len()
            };
            metrics.count() * points
        };
        self.contenders.len() * self.workloads.len() * (loads(false) + loads(true))
    }

    fn metrics(&self) -> impl Iterator<Item = &'static Metric> {
        self.metrics.iter().filter_map(|name| metric(name))
    }

    /// The loads of a workload, open ones first. Pairs at different rates share the closed loops.
    fn points<'a>(&'a self, workload: &'a str) -> impl Iterator<Item = Point<'a>> {
        let open = self
            .rates
            .iter()
            .map(|rate| (Some(*rate), self.connections));
        let closed = self.capacity_connections.iter();
        let closed = closed.map(|connections| (None, *connections));
        open.chain(closed)
            .map(move |(rate_rps, connections)| Point {
                workload,
                rate_rps,
                connections,
            })
    }
}

/// All verdicts that the plan asked for, in its order; `levels` are the workloads'. What was not measured
/// has no verdict, and says so.
pub fn verdicts(cells: &[Cell], rules: &DuelRules, levels: &BTreeMap<String, u32>) -> Vec<Verdict> {
    let mut all = Vec::new();
    for workload in &rules.workloads {
        let level = levels.get(workload).copied().unwrap_or_default();
        if rules.pairing.interleaved {
            for point in rules.points(workload) {
                all.extend(at_point(cells, rules, point, level));
            }
        }
        if rules.pairing.series {
            all.extend(published::verdicts(cells, rules, workload, level));
        }
    }
    all
}

fn at_point(cells: &[Cell], rules: &DuelRules, point: Point, level: u32) -> Vec<Verdict> {
    let measured = Pairs::of(cells, "measure", point);
    let null = Pairs::of(cells, "null", point);
    let mut all = Vec::new();
    for contender in &rules.contenders {
        let comparison = Comparison::new(cells, rules, point, contender, &measured, &null);
        let closed = point.rate_rps.is_none();
        let metrics = rules.metrics().filter(|metric| metric.closed == closed);
        all.extend(metrics.map(|metric| Verdict {
            level,
            ..comparison.verdict(metric)
        }));
    }
    all
}

/// One contender against the reference, at one load.
struct Comparison<'a> {
    rules: &'a DuelRules,
    bounds: Bounds,
    point: Point<'a>,
    a: &'a str,
    b: &'a str,
    pairs: Pairs<'a>,
    null: Pairs<'a>,
    checked: Checked,
}

impl<'a> Comparison<'a> {
    fn new(
        cells: &'a [Cell],
        rules: &'a DuelRules,
        point: Point<'a>,
        contender: &'a str,
        measured: &Pairs<'a>,
        null: &Pairs<'a>,
    ) -> Self {
        let (a, b) = (contender, rules.reference.as_str());
        let pairs = measured.with(&[a, b]);
        // With another number of sides it would be another protocol.
        let sides = pairs.alive.first().map_or(2, Vec::len);
        Self {
            rules,
            bounds: Bounds::of(rules.comparisons(), rules.smallest_effect),
            point,
            a,
            b,
            null: null.with(&[b]).of_sides(sides),
            checked: Checked::of(cells, &pairs, a, b),
            pairs,
        }
    }

    fn verdict(&self, metric: &Metric) -> Verdict {
        let mut verdict = Verdict {
            a: self.a.to_owned(),
            b: self.b.to_owned(),
            workload: self.point.workload.to_owned(),
            rate_rps: self.point.rate_rps,
            connections: self.point.connections,
            metric: metric.name.to_owned(),
            better: metric.better.to_owned(),
            rule: "interval".to_owned(),
            verdict: "no verdict".to_owned(),
            confidence: self.bounds.confidence,
            slice_effect: self.checked.slice_effect.map(|change| change.factor()),
            trend: self.checked.trend.map(|change| change.factor()),
            ..Verdict::default()
        };
        let null = Values::of(&self.null.valid, Pair::outer, metric);
        if let Ok(null) = &null {
            null.fill_null(&mut verdict);
        }
        let both = |pair: &Pair<'a>| Some((pair.of(self.a)?, pair.of(self.b)?));
        let decided = Values::of(&self.pairs.valid, both, metric).and_then(|values| {
            if self.pairs.alive.len() > 1 {
                return Err("pairs with other sides alive are never merged".to_owned());
            }
            values.fill(&mut verdict);
            self.decide(&values, null, metric)
        });
        match decided {
            Ok(order) => {
                verdict.verdict = word(order, metric).to_owned();
                verdict.reason = format!(
                    "over {} pairs the interval excludes 1, and the ratio is further from it than {} %",
                    verdict.n,
                    100.0 * self.rules.smallest_effect
                );
                if verdict.null_n > 0 {
                    verdict.reason += " and than the null test's half-width";
                }
            }
            Err(reason) => verdict.reason = reason,
        }
        verdict
    }

    /// What withholds a verdict is said beside what the rule itself says.
    fn decide(
        &self,
        values: &Values,
        null: Result<Values, String>,
        metric: &Metric,
    ) -> Result<Ordering, String> {
        let decide = |null: Option<&[f64]>| decide(&values.log_ratios(), null, &self.bounds);
        if values.a.len() < LEAST_PAIRS {
            return decide(None).map_err(|why| why + &self.pairs.lost());
        }
        let decided = match null {
            _ if self.rules.null == 0 => decide(None),
            Ok(null) => decide(Some(&null.log_ratios())),
            Err(reason) => Err(format!("null test: {reason}")),
        };
        let mut withheld = self.checked.withhold(metric.disturbed);
        if let Err(why) = &decided {
            withheld.insert(0, why.clone());
        }
        if withheld.is_empty() {
            decided
        } else {
            Err(withheld.join("; "))
        }
    }
}

/// What the pairs' own checks found.
struct Checked {
    slice_effect: Option<checks::Change>,
    trend: Option<checks::Change>,
    background: Option<String>,
}

impl Checked {
    fn of(cells: &[Cell], pairs: &Pairs, a: &str, b: &str) -> Self {
        Self {
            slice_effect: checks::slice_effect(&pairs.valid, a, b),
            trend: checks::trend(&pairs.valid, a, b),
            background: background(cells, pairs),
        }
    }

    /// Why the pairs' ratio is not of the two sides alone; of a metric that others' work disturbs, that too.
    fn withhold(&self, disturbed: bool) -> Vec<String> {
        let mut withheld = checks::changes(self.slice_effect, self.trend);
        withheld.extend(self.background.clone().filter(|_| disturbed));
        withheld
    }
}

/// Whether the interval of a verdict is of its two sides alone, whether or not it claims anything: nothing
/// in the pairs, or in the null test, says that order, warming up, slices or others' work are in it.
pub fn is_defensible(cells: &[Cell], verdict: &Verdict) -> bool {
    let (a, b) = (verdict.a.as_str(), verdict.b.as_str());
    let point = Point {
        workload: &verdict.workload,
        rate_rps: verdict.rate_rps,
        connections: verdict.connections,
    };
    let pairs = Pairs::of(cells, "measure", point).with(&[a, b]);
    let disturbed = metric(&verdict.metric).is_none_or(|metric| metric.disturbed);
    let null = verdict.null_low.zip(verdict.null_high);
    verdict.n as usize >= LEAST_PAIRS
        && Checked::of(cells, &pairs, a, b)
            .withhold(disturbed)
            .is_empty()
        && null.is_none_or(|(low, high)| low <= 1.0 && 1.0 <= high)
}

/// Of the side whose ratio to the other is so to 1.
pub fn word(ratio: Ordering, metric: &Metric) -> &'static str {
    match (ratio, metric.better) {
        (Ordering::Less, "lower") | (Ordering::Greater, "higher") => "faster",
        (Ordering::Equal, _) => "no verdict",
        _ => "slower",
    }
}

/// Whoever is alive in these pairs, as seen after this load; after any other load of theirs where it was
/// not looked for after this one.
fn background(cells: &[Cell], pairs: &Pairs) -> Option<String> {
    let here = || pairs.valid.iter().flat_map(|pair| &pair.0).copied();
    let looked = |cell: &Cell| {
        let paired = cell.paired.as_ref();
        paired.is_some_and(|paired| paired.background_pct.is_some())
    };
    if here().any(looked) {
        return checks::background(here());
    }
    let numbers: BTreeSet<_> = here().map(|cell| cell.key.pair).collect();
    let theirs = |cell: &&Cell| cell.load.valid && numbers.contains(&cell.key.pair);
    checks::background(cells.iter().filter(theirs))
}

/// What both sides of each pair gave.
#[derive(Debug)]
pub struct Values {
    /// Of the one who is judged.
    pub a: Vec<f64>,
    /// Of the other, pair by pair.
    pub b: Vec<f64>,
}

impl Values {
    /// Of all pairs; where one of them lacks it there is none of any, so that a quantile that was censored
    /// can't better a ratio by its absence.
    fn of<'a>(
        pairs: &[Pair<'a>],
        both: impl Fn(&Pair<'a>) -> Option<(&'a Cell, &'a Cell)>,
        metric: &Metric,
    ) -> Result<Self, String> {
        let (mut a, mut b, mut lacking) = (Vec::new(), Vec::new(), Vec::new());
        for (of_a, of_b) in pairs.iter().filter_map(both) {
            let value = |cell: &Cell| {
                let named = |why| format!("{} has none: {why}", cell.key.contender());
                metric.value(cell).map_err(named)
            };
            match (value(of_a), value(of_b)) {
                (Ok(of_a), Ok(of_b)) => {
                    a.push(of_a);
                    b.push(of_b);
                }
                (Err(why), _) | (_, Err(why)) => lacking.push(why),
            }
        }
        match lacking.first() {
            None => Ok(Self { a, b }),
            Some(why) => Err(format!(
                "in {} of {} pairs {why}",
                lacking.len(),
                pairs.len()
            )),
        }
    }

    /// ln(a / b), pair by pair.
    pub fn log_ratios(&self) -> Vec<f64> {
        let pairs = self.a.iter().zip(&self.b);
        pairs.map(|(a, b)| (a / b).ln()).collect()
    }

    /// Writes down what they say.
    pub fn fill(&self, verdict: &mut Verdict) {
        let logs = self.log_ratios();
        verdict.n = logs.len() as u32;
        verdict.ratio = mean(&logs).map(f64::exp);
        verdict.sd_log = sd(&logs);
        verdict.separated = separated(&self.a, &self.b);
        if let Some(interval) = Interval::of(&logs, verdict.confidence) {
            verdict.ci_low = Some(interval.low().exp());
            verdict.ci_high = Some(interval.high().exp());
        }
        if let Some([low, high]) = bootstrap::interval(&logs, verdict.confidence) {
            verdict.bootstrap_low = Some(low.exp());
            verdict.bootstrap_high = Some(high.exp());
        }
    }

    fn fill_null(&self, verdict: &mut Verdict) {
        let logs = self.log_ratios();
        verdict.null_n = logs.len() as u32;
        if let Some(interval) = Interval::of(&logs, CHECK) {
            verdict.null_low = Some(interval.low().exp());
            verdict.null_high = Some(interval.high().exp());
        }
    }
}

#[cfg(test)]
mod tests;
