//! `summary.json`: what the cells of an archive come to together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::cell::Cell;
use super::contender;

/// The median and range of one figure over the valid runs of a group.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

/// All repetitions of one adapter, label, workload and load point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// The adapter's name.
    pub adapter: String,
    /// The labelled variant of its environment; empty for none.
    pub label: String,
    /// The workload's name.
    pub workload: String,
    /// The workload's level of equity.
    pub level: u32,
    /// `open` or `closed`.
    pub r#loop: String,
    /// The schedule's rate; null in a closed loop.
    pub rate_rps: Option<u64>,
    /// Connections.
    pub connections: u32,
    /// In a duel's pairs: who was alive together, sorted. Runs beside others are never put together with
    /// runs alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sides: Vec<String>,
    /// Repetitions that were measured, valid or not; of several attempts the last one counts.
    pub runs: u32,
    /// Those whose instrument kept its rules.
    pub valid_runs: u32,
    /// Valid ones whose target kept its bounds.
    pub healthy_runs: u32,
    /// Figure -> median and range over the valid runs; null unless each of them has it, so that a run
    /// whose quantile was censored cannot better the median by its absence.
    pub figures: BTreeMap<String, Option<Spread>>,
}

impl Group {
    /// Whose group it is, as `express@slow`.
    pub fn contender(&self) -> String {
        contender(&self.adapter, &self.label)
    }
}

/// One adapter's responses to one workload, held against the others'.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Likeness {
    /// The workload's name.
    pub workload: String,
    /// The adapter's name.
    pub adapter: String,
    /// The labelled variant of its environment; empty for none.
    pub label: String,
    /// Bytes of its smallest and its largest response, over the rows of the load.
    pub bytes: (u64, u64),
    /// The rows whose bytes are further from the median over the adapters than the workload's
    /// `tolerance` allows, as a share of it.
    pub far: BTreeMap<String, f64>,
    /// Header names that it sends and not all others do.
    pub more: Vec<String>,
    /// Header names that all others send.
    pub less: Vec<String>,
}

/// Whether one side is faster than another on one metric, and how sure that is (METHOD, rule 15).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// Who is judged, as `express@slow`.
    pub a: String,
    /// Against whom.
    pub b: String,
    /// The workload's name.
    pub workload: String,
    /// The workload's level of equity.
    pub level: u32,
    /// The schedule's rate; null in a closed loop.
    pub rate_rps: Option<u64>,
    /// Connections of the load that the metric is of.
    pub connections: u32,
    /// As the plan names it: `cpu_us_per_request`, `main_thread_us_per_request`, `response_p50_us`,
    /// `response_p99_us` or `capacity_rps`.
    pub metric: String,
    /// `lower` or `higher`.
    pub better: String,
    /// `interval`: METHOD's rule over interleaved pairs; `published`: the rule of the published
    /// experiments, over alternated series.
    pub rule: String,
    /// `faster`, `slower` or `no verdict`, of `a`.
    pub verdict: String,
    /// Why, in a sentence.
    pub reason: String,
    /// a / b: the geometric mean over pairs; null without any.
    pub ratio: Option<f64>,
    /// Its interval, corrected for all the comparisons that the plan makes.
    pub ci_low: Option<f64>,
    /// Its upper end.
    pub ci_high: Option<f64>,
    /// The interval's confidence, as in 0.9875.
    pub confidence: f64,
    /// Valid pairs that it rests on.
    pub n: u32,
    /// The standard deviation of the pairs' log-ratio; null with fewer than 2.
    pub sd_log: Option<f64>,
    /// Whether every value of one side lies beyond every value of the other: shown, not decisive.
    pub separated: Option<bool>,
    /// A percentile bootstrap over pairs at the same confidence: a cross-check only.
    pub bootstrap_low: Option<f64>,
    /// Its upper end.
    pub bootstrap_high: Option<f64>,
    /// The null test's 99 % interval of b against itself; null where there was none.
    pub null_low: Option<f64>,
    /// Its upper end.
    pub null_high: Option<f64>,
    /// Pairs of the null test.
    pub null_n: u32,
    /// How the ratio changes from short slices to long ones, as a factor; null where that was not seen.
    pub slice_effect: Option<f64>,
    /// How the ratio drifts from the first window of the load to the last, as a factor; null where that
    /// was not seen.
    pub trend: Option<f64>,
}

/// What equal service costs one who takes part in a duel. Workload after workload, not interleaved:
/// indicative.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Whose price it is, as `express@slow`.
    pub who: String,
    /// The rate at both workloads.
    pub rate_rps: u64,
    /// The workload of level 1.
    pub bare: String,
    /// The workload of level 2.
    pub equal: String,
    /// Median CPU per request at the first, over its valid pairs.
    pub bare_us: f64,
    /// The same at the second.
    pub equal_us: f64,
    /// The second over the first.
    pub price: f64,
    /// Valid pairs at the first.
    pub bare_n: u32,
    /// Valid pairs at the second.
    pub equal_n: u32,
}

/// One rate that a search tried, and what its trials came to; the figures are medians over those that
/// count, null unless each has them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rung {
    /// The schedule's rate.
    pub rate_rps: u64,
    /// `held`, `not held`, `invalid` (too many trials were, so that nothing is known) or `open` (the
    /// search broke off).
    pub state: String,
    /// Trials that met the criterion.
    pub held: u32,
    /// Valid trials that did not.
    pub not_held: u32,
    /// Trials that were invalid in every attempt.
    pub invalid: u32,
    /// Response.
    pub p50_us: Option<f64>,
    /// Response.
    pub p99_us: Option<f64>,
    /// The generator's CPU time without spinning, as a share of what its threads could have had.
    pub generator_busy: Option<f64>,
    /// Requests completed per second of that CPU time.
    pub generator_rps_per_cpu_s: Option<f64>,
}

/// The highest rate at which one target kept the plan's criterion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sustained {
    /// The adapter's name.
    pub adapter: String,
    /// The labelled variant of its environment; empty for none.
    pub label: String,
    /// The workload's name.
    pub workload: String,
    /// The workload's level of equity.
    pub level: u32,
    /// `pinned` or `unleashed`; what differs in it is never compared.
    pub mode: String,
    /// Connections at most.
    pub connections: u32,
    /// Threads of the generator.
    pub threads: u32,
    /// How long each trial kept its rate up, in seconds: nothing is claimed beyond.
    pub load_s: f64,
    /// How long it was warmed up before.
    pub warm_up_s: f64,
    /// The highest rate that was held, as was every lower one that was tried; null where there is none.
    pub rate_rps: Option<u64>,
    /// The lowest rate that was not held, or of which nothing is known; null where there is none.
    pub not_held_rps: Option<u64>,
    /// Whether something else than the target may have ended it.
    pub at_least: bool,
    /// What, or why there is no rate; empty where the rate stands.
    pub reason: String,
    /// Whether the search came to its end, and its end is the target's doing.
    pub complete: bool,
    /// Response at that rate, as in [`Rung`].
    pub p50_us: Option<f64>,
    /// Response at that rate.
    pub p99_us: Option<f64>,
    /// How busy the generator was there.
    pub generator_busy: Option<f64>,
    /// Requests per second of its CPU time there.
    pub generator_rps_per_cpu_s: Option<f64>,
    /// The image's size as the engine reports it.
    pub image_mib: Option<f64>,
    /// The same without the layers of the largest other image of the archive that it starts from.
    pub image_own_mib: Option<f64>,
    /// Resident set size at rest, before any load: median over all trials that count.
    pub idle_rss_mib: Option<f64>,
    /// From the target's start to its first valid response: likewise.
    pub start_ms: Option<f64>,
    /// Every rate that was tried, ascending.
    pub rates: Vec<Rung>,
}

impl Sustained {
    /// Whose rate it is, as `express@slow`.
    pub fn contender(&self) -> String {
        contender(&self.adapter, &self.label)
    }
}

/// An image's sizes, in MiB; null where the archive does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ImageSize {
    /// As the engine reports it.
    pub mib: Option<f64>,
    /// Without the layers of the largest other image of the archive that it starts from.
    pub own_mib: Option<f64>,
}

/// A latency that looks like the protocol's and not like the server's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stall {
    /// Whose, sorted, as `express@slow`.
    pub who: Vec<String>,
    /// The workload's name.
    pub workload: String,
    /// The schedule's rate; null in a closed loop.
    pub rate_rps: Option<u64>,
    /// Which quantile of the response.
    pub quantile: String,
    /// Where it lies.
    pub us: f64,
    /// What is suspicious about it, in a sentence.
    pub reason: String,
}

/// Something planned that has no number, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Hole {
    pub adapter: String,
    pub workload: String,
    pub reason: String,
}

/// Who wrote an archive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Generator {
    pub name: String,
    pub version: String,
    /// SHA-256 of the program's file, which is also the agent's.
    pub digest: String,
}

/// `summary.json`: everything derived, recomputable from the cells.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Version of this document.
    pub schema: u32,
    /// Who wrote it.
    pub generator: Generator,
    /// The resolved plan.
    pub plan: serde_json::Value,
    /// The machine.
    pub environment: serde_json::Value,
    /// Every cell.
    pub cells: Vec<Cell>,
    /// Cells by adapter, label, workload and load point.
    pub groups: Vec<Group>,
    /// How far apart the adapters' responses are.
    pub likeness: Vec<Likeness>,
    /// Comparisons that the plan asked for.
    pub verdicts: Vec<Verdict>,
    /// What equal service costs, where a duel measured more than one level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<Price>,
    /// Sustained rates, of sustain plans.
    pub sustained: Vec<Sustained>,
    /// Latencies that look like the protocol's; absent where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<Stall>,
    /// What has no number, and why.
    pub holes: Vec<Hole>,
    /// False where a limit was changed by hand.
    pub comparable: bool,
    /// Whether the plan allows publication and everything it asks for was kept.
    pub publishable: bool,
    /// Why it may not be published, a sentence each.
    pub unpublishable_reasons: Vec<String>,
}
