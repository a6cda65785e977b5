//! What can be wrong with interleaved pairs though every cell of theirs is valid (METHOD, rules 10 and
//! 16). Each check is the same for all metrics of a load, and rests on CPU per request, of which the
//! pairs say most.

use std::collections::BTreeMap;

use super::claim::{CHECK, percent};
use super::interval::{Interval, mean, slope};
use super::metric::by_slices;
use super::pairs::Pair;
use crate::record::schema::Cell;

/// Of a side's CPU outside its slices and gaps, in percent: more takes the others' time away.
const BACKGROUND_PCT: f64 = 5.0;
/// A change of the ratio within the load is of no consequence up to this share.
const CHANGE: f64 = 0.01;

/// How the log-ratio changes within the load, over pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change(Interval);

impl Change {
    fn of(per_pair: impl Iterator<Item = Option<f64>>) -> Option<Self> {
        let seen: Vec<f64> = per_pair.flatten().collect();
        Interval::of(&seen, CHECK).map(Self)
    }

    /// As a factor of the ratio.
    pub fn factor(&self) -> f64 {
        self.0.mean.exp()
    }

    /// Whether it is sure, and large enough to matter.
    fn matters(&self) -> bool {
        self.0.excludes_zero() && self.0.mean.abs() > CHANGE.ln_1p()
    }

    fn size(&self) -> String {
        percent(self.0.mean.abs())
    }
}

/// From short slices to long ones: a ratio that depends on how long a side is left alone is not of the
/// sides alone. None where fewer than 2 pairs show it.
pub fn slice_effect(pairs: &[Pair], a: &str, b: &str) -> Option<Change> {
    Change::of(pairs.iter().map(|pair| {
        let [a, b] = [pair.of(a)?, pair.of(b)?];
        let cost = |side, long| by_slices(side, long, |block| block.cpu_us).filter(|us| *us > 0.0);
        let log_ratio = |long| Some(cost(a, long)?.ln() - cost(b, long)?.ln());
        Some(log_ratio(true)? - log_ratio(false)?)
    }))
}

/// From the first window of the load to the last, along the least-squares line: a side may be warming
/// up still. None where fewer than 2 pairs show it.
pub fn trend(pairs: &[Pair], a: &str, b: &str) -> Option<Change> {
    Change::of(pairs.iter().map(|pair| {
        let [a, b] = [pair.of(a)?, pair.of(b)?].map(by_windows);
        let (a, b) = (a?, b?);
        let log_ratios: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a.ln() - b.ln()).collect();
        let steps = log_ratios.len().checked_sub(1)? as f64;
        (a.len() == b.len()).then_some(slope(&log_ratios)? * steps)
    }))
}

fn by_windows(cell: &Cell) -> Option<Vec<f64>> {
    let windows = cell.windows.iter();
    windows
        .map(|window| per_request(window.cpu_us?, window.completed))
        .collect()
}

/// Above 0, so that it has a logarithm.
fn per_request(cpu_us: f64, completed: u64) -> Option<f64> {
    (cpu_us > 0.0 && completed > 0).then(|| cpu_us / completed as f64)
}

/// Why both changes withhold a verdict, a sentence each.
pub fn changes(slice_effect: Option<Change>, trend: Option<Change>) -> Vec<String> {
    let matters = |change: Option<Change>| change.filter(Change::matters);
    let slices = matters(slice_effect).map(|change| {
        format!(
            "slice effect: the ratio of CPU per request changes by {} between short slices and long ones",
            change.size()
        )
    });
    let trend = matters(trend).map(|change| {
        format!(
            "still warming: the ratio of CPU per request changes by {} over the load",
            change.size()
        )
    });
    slices.into_iter().chain(trend).collect()
}

/// Why verdicts on time that passes are withheld: a side that works in the background takes the others'
/// time, and who did not look does not know. `cells` are of all sides of all pairs. The mean over pairs is
/// judged: a garbage collector works in bursts, of which most blocks, and so a median, see nothing.
pub fn background<'a>(cells: impl Iterator<Item = &'a Cell>) -> Option<String> {
    let mut seen: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for cell in cells {
        if let Some(share) = cell
            .paired
            .as_ref()
            .and_then(|paired| paired.background_pct)
        {
            seen.entry(cell.key.contender()).or_default().push(share);
        }
    }
    if seen.is_empty() {
        return Some("background: nobody looked for work outside the slices".to_owned());
    }
    let restless = seen.into_iter().filter_map(|(who, shares)| {
        let share = mean(&shares)?;
        (share > BACKGROUND_PCT).then(|| format!("{who} {share:.1} %"))
    });
    let restless: Vec<String> = restless.collect();
    (!restless.is_empty()).then(|| {
        format!(
            "background: over {BACKGROUND_PCT} % of a side's CPU outside its own slices is the others' \
             time ({})",
            restless.join(", ")
        )
    })
}
