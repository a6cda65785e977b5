//! The JSON that scripts read: one type per document, fields in their published order, units in
//! their names. `results/README.md` is the prose of this file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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
    /// What the instrument itself saw go wrong (a clock that stepped, a target that died), a sentence
    /// each; every one makes the load invalid. Observed, where `invalid_reasons` is derived.
    pub faults: Vec<String>,
    /// Failures by kind, bounded in number.
    pub errors: BTreeMap<String, u64>,
    /// Why a field is null.
    pub nulls: BTreeMap<String, String>,
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
    pub verdicts: Vec<serde_json::Value>,
    /// Sustained rates, of sustain plans.
    pub sustained: Vec<serde_json::Value>,
    /// What has no number, and why.
    pub holes: Vec<Hole>,
    /// False where a limit was changed by hand.
    pub comparable: bool,
    /// Whether the plan allows publication and everything it asks for was kept.
    pub publishable: bool,
    /// Why it may not be published, a sentence each.
    pub unpublishable_reasons: Vec<String>,
}
