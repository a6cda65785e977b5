//! `cell.json`: one cell, from its identity to its figures.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::contender;
use super::load::Load;
use crate::guard::Finding;
use crate::record::scenery::Scenery;

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
        contender(&self.adapter, &self.label)
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
