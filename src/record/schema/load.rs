//! What a load came to: the generator's part of `cell.json`, and what `bench` prints.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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
