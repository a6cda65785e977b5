//! The JSON that scripts read: one type per document, fields in their published order, units in
//! their names. `results/README.md` is the prose of this file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::guard::Finding;
use crate::record::scenery::Scenery;

/// The archive's and every document's version; it grows when a meaning changes.
pub const SCHEMA: u32 = 1;

/// Where every scheduled slot ended: one outcome each, so that the parts add up to `scheduled`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// Slots of the schedule; for a run that was interrupted, those laid until then.
    pub scheduled: u64,
    /// The right status and the right body.
    pub completed: u64,
    /// A whole response, but not the right one.
    pub wrong_response: u64,
    /// No whole response within the timeout.
    pub timed_out: u64,
    /// The connection broke, could not be made, or spoke no HTTP.
    pub failed: u64,
    /// Never sent: no connection came free in time.
    pub unsent: u64,
    /// Sent, and still without an answer when the drain ended.
    pub in_flight: u64,
}

impl Ledger {
    /// Whether every scheduled slot has exactly one outcome.
    pub fn balances(&self) -> bool {
        let parts = [
            self.completed,
            self.wrong_response,
            self.timed_out,
            self.failed,
            self.unsent,
            self.in_flight,
        ];
        parts
            .iter()
            .try_fold(0u64, |sum, part| sum.checked_add(*part))
            == Some(self.scheduled)
    }
}

/// A clock's figures in microseconds; a quantile without enough samples is null, and so are mean and
/// maximum of a response clock that misses slots (`censored`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Latency {
    pub count: u64,
    pub min: Option<f64>,
    pub mean: Option<f64>,
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p99: Option<f64>,
    pub p999: Option<f64>,
    pub max: Option<f64>,
}

/// One cause of send lag. The three sums add up to the lag's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LagCause {
    /// Slots that this cause delayed by a microsecond or more; for `generator_late`, all that were
    /// found due.
    pub count: u64,
    /// The sum of all delays, in microseconds.
    pub sum_us: f64,
    /// The 99th percentile of the delays; null with fewer than 1,000 of them.
    pub p99_us: Option<f64>,
    /// The longest delay.
    pub max_us: f64,
}

/// The send lag, split in the order of time (METHOD, Definitions).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LagCauses {
    /// From the slot to the first pass of the loop that finds it due: the instrument's own.
    pub generator_late: LagCause,
    /// From that pass until a connection takes it.
    pub no_free_connection: LagCause,
    /// From then until the first byte is written.
    pub socket_full: LagCause,
}

/// Times to connect, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Connect {
    pub count: u64,
    pub mean: Option<f64>,
    pub max: Option<f64>,
}

/// One load as it is published: `load --json`, and the first part of every cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Version of this document.
    pub schema: u32,
    /// Always `http/1.1` so far.
    pub protocol: String,
    /// Whether the instrument kept its own rules.
    pub valid: bool,
    /// Why not, a sentence each.
    pub invalid_reasons: Vec<String>,
    /// Where every slot ended.
    pub ledger: Ledger,
    /// Last byte minus slot: what a user waits.
    pub response_us: Latency,
    /// Last byte minus first byte written.
    pub service_us: Latency,
    /// First byte written minus slot.
    pub lag_us: Latency,
    /// That lag by cause.
    pub lag_causes: LagCauses,
    /// The schedule's rate; null in a closed loop.
    pub offered_rps: Option<f64>,
    /// The schedule's length, or the time until the last response where that is longer (open); the time
    /// that was served (closed).
    pub duration_s: f64,
    /// Completed per second of that duration; null where there was none.
    pub achieved_rps: Option<f64>,
    /// Completed / scheduled; null where nothing was scheduled.
    pub coverage: Option<f64>,
    /// Bytes received.
    pub bytes_in: u64,
    /// Connections opened, reconnects included.
    pub connections_opened: u64,
    /// How long opening them took.
    pub connect_us: Connect,
    /// CPU time of the generator's threads over the load.
    pub generator_cpu_us: Option<f64>,
    /// How much of it went into spinning for a slot or a response.
    pub generator_spin_us: f64,
    /// The generator's CPU time / completed.
    pub generator_cpu_us_per_request: Option<f64>,
    /// The longest time between two passes of the generator's loop beyond its own intended wait.
    pub longest_pause_us: f64,
    /// Slots of a masked load that did not end before their slice's gap did; 0 without a mask.
    pub spilled: u64,
    /// Completed slots by the block of the load in which they were due; empty where it has no blocks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completed_by_block: Vec<u64>,
    /// What the instrument itself saw go wrong (a clock that stepped, a target that died), a sentence
    /// each; every one makes the load invalid. Observed, where `invalid_reasons` is derived.
    pub faults: Vec<String>,
    /// Failures by kind, bounded in number.
    pub errors: BTreeMap<String, u64>,
    /// Why a field is null.
    pub nulls: BTreeMap<String, String>,
}

impl Load {
    /// How the counts by block differ from the ledger's; `None` where they add up or there are none.
    pub fn blocks_differ(&self) -> Option<String> {
        let counts = &self.completed_by_block;
        let counted: u128 = counts.iter().map(|count| u128::from(*count)).sum();
        let completed = self.ledger.completed;
        (!counts.is_empty() && counted != completed.into())
            .then(|| format!("the blocks hold {counted} completed slots, the ledger {completed}"))
    }
}

/// A figure of memory by phase, in MiB: medians of baseline and recovery, maximum of load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Memory {
    pub baseline: Option<f64>,
    pub load: Option<f64>,
    pub recovery: Option<f64>,
}

/// How much later than they should a dependency's answers came, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Lateness {
    pub mean: Option<f64>,
    /// Null with fewer than 1,000 answers.
    pub p99: Option<f64>,
    pub max: Option<f64>,
}

/// What ran beside the target on the load's CPUs, over the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dependency {
    /// As the workload names it.
    pub name: String,
    /// What it was asked.
    pub requests: u64,
    /// CPU time of its thread.
    pub cpu_us: f64,
    /// Beyond its fixed delay.
    pub late_us: Lateness,
}

/// How one row of the load was answered, apart from what it said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// The row's name.
    pub row: String,
    /// Of the header fields as HTTP/1.1 writes them, and of the body.
    pub bytes: u64,
    /// The names of the header fields, sorted.
    pub headers: Vec<String>,
}

/// The target's limits as read back from the engine and the cgroup.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// CPU list, as in `0-1,3`.
    pub target_cpus: String,
    /// CPUs of the generator and the dependencies.
    pub load_cpus: String,
    /// CPU quota in CPUs; null without one.
    pub cpu_quota: Option<f64>,
    /// Memory limit in MiB.
    pub memory_mib: u64,
    /// Most processes and threads.
    pub pids: u64,
}

/// What a cell is of, and which: its identity within a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CellKey {
    /// The adapter's name.
    pub adapter: String,
    /// The labelled variant of its environment; empty for none.
    pub label: String,
    /// The workload's name.
    pub workload: String,
    /// `open` or `closed`.
    pub r#loop: String,
    /// The schedule's rate; null in a closed loop.
    pub rate_rps: Option<u64>,
    /// Connections at most (open) or exactly (closed).
    pub connections: u32,
    /// From 1.
    pub repetition: u32,
    /// From 1; more than 1 where an earlier attempt was invalid.
    pub attempt: u32,
    /// `measure`, `null` or `canary`.
    pub role: String,
    /// In a duel: which group of sides, all alive at once, it belongs to; from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<u32>,
    /// In a pair: its letter, in the order of [`Paired::sides`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<String>,
    /// In an alternated series of windows: its place, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<u32>,
}

impl CellKey {
    /// Its place among the sides of its pair, from 0 for `a`; `None` where it has no letter.
    pub fn side_index(&self) -> Option<usize> {
        match self.side.as_deref()?.as_bytes() {
            [letter @ b'a'..=b'z'] => Some(usize::from(letter - b'a')),
            _ => None,
        }
    }

    /// Whose cell it is, as `express@slow`.
    pub fn contender(&self) -> String {
        if self.label.is_empty() {
            self.adapter.clone()
        } else {
            format!("{}@{}", self.adapter, self.label)
        }
    }
}

/// How a duel's masks are drawn: with the number of sides and the load's length they can be laid again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaskSeed {
    /// Of the order of the slices.
    pub seed: u64,
    /// The length of a slice; in some blocks slices are five times as long.
    pub slice_ns: u64,
    /// How long the gap after a slice is.
    pub gap_ns: u64,
}

/// What a side of a pair shares with the others, and what of its work lay where.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Paired {
    /// Who is alive together, as `express@slow`, in the order of their letters.
    pub sides: Vec<String>,
    /// Slot 0 of every side, on CLOCK_MONOTONIC.
    pub epoch_ns: u64,
    /// The masks of the load.
    pub mask: MaskSeed,
    /// This side's slices joined end to end, in seconds.
    pub own_s: f64,
    /// The share of this side's CPU that it spent outside its slices and gaps, in percent, seen in an
    /// uncounted block after the load; null where that block was not run.
    pub background_pct: Option<f64>,
}

/// A stretch of the load between two readings of the target's CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Its start, in seconds since slot 0.
    pub start_s: f64,
    /// Slots due in it that were completed.
    pub completed: u64,
    /// The cgroup's CPU time over it; null where it was not read.
    pub cpu_us: Option<f64>,
}

/// A window of a masked load whose slices are all of one length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Its start, in seconds since slot 0.
    pub start_s: f64,
    /// The length of its slices.
    pub slice_ns: u64,
    /// Slots due in it that were completed.
    pub completed: u64,
    /// The cgroup's CPU time over it; null where it was not read.
    pub cpu_us: Option<f64>,
    /// The main thread's CPU time over it; null where it was not read.
    pub main_thread_us: Option<f64>,
}

/// One cell, `cells/NNNN-…/cell.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Its load, judged: `valid` counts the cell's own reasons too.
    #[serde(flatten)]
    pub load: Load,
    /// Which cell this is.
    #[serde(flatten)]
    pub key: CellKey,
    /// What it shares with the other sides of its pair.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub paired: Option<Paired>,
    /// Ten equal shares of a masked load, or the windows of a series.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<Window>,
    /// The blocks of a masked load, of short slices and of long ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Block>,
    /// The machine's architecture, as in `x86_64`.
    pub arch: String,
    /// How the target ended under load, as in `exit code 137, killed for memory`; empty if it did not.
    pub target_ended: String,
    /// Whether the target kept the plan's bounds; null where the cell is invalid or has too few
    /// samples to tell.
    pub healthy: Option<bool>,
    /// Why not, or why it can't be told.
    pub unhealthy_reasons: Vec<String>,
    /// The cgroup's CPU time between the load's edges / completed.
    pub cpu_us_per_request: Option<f64>,
    /// The main thread's run time / completed, where the adapter says that one thread serves.
    pub main_thread_us_per_request: Option<f64>,
    /// The cgroup's CPU under load; 100 is one CPU.
    pub cpu_pct: Option<f64>,
    /// The same at rest, in the baseline: shown, not subtracted.
    pub idle_cpu_pct: Option<f64>,
    /// Periods in which the cgroup was throttled under load.
    pub throttled_periods: Option<u64>,
    /// Involuntary context switches under load, over all threads seen at both edges.
    pub involuntary_switches: Option<u64>,
    /// Proportional set size (not read under load).
    pub pss_mib: Memory,
    /// Resident set size summed over processes.
    pub rss_mib: Memory,
    /// The cgroup's usage without inactive file cache.
    pub cgroup_mib: Memory,
    /// The machine around the load; null in archives from before the guards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenery: Option<Scenery>,
    /// What the guards found in it that is not as it should be, or could not see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<Finding>,
    /// What the workload needs beside the target.
    pub dependencies: Vec<Dependency>,
    /// The size and the header set of a plain response to each row of the load.
    pub shapes: Vec<Shape>,
    /// From the target's start to its first valid response; null where there was none.
    pub start_ms: Option<f64>,
    /// The image's size as the engine reports it.
    pub image_mib: f64,
    /// In force, read back.
    pub limits: Limits,
    /// When the cell started and each of its phases, seconds since the cell's start.
    pub phases: Vec<Phase>,
    /// Seconds since 1970 at the cell's start.
    pub started_unix_s: f64,
    /// SHA-256 of what this cell was measured under: `plan` (plan.yaml), `environment`
    /// (environment.json), `sources` (their lines in SHA256SUMS), and the `image`'s id.
    pub digests: BTreeMap<String, String>,
}

/// A phase of a cell, in seconds since the cell's start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Phase {
    pub name: String,
    pub start_s: f64,
    pub end_s: f64,
}

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
