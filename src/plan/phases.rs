//! A cell's phases, a pair's, and how long they take.

use serde::{Deserialize, Serialize};

use super::matrix::Unit;
use super::span::Seconds;
use super::spec::{Kind, Plan};
use crate::record::schema::CellKey;

/// How long the uncounted block after a pair's load lasts, in which both cgroups are read at every
/// slice's edges (METHOD, rule 16), in seconds on the clock.
pub const BACKGROUND_S: f64 = 2.0;

/// How fast a side is taken to answer in closed loop, for a guess of how long a first warm-up takes.
const SUPPOSED_RPS: f64 = 10_000.0;

/// The lengths of a cell's phases; the defaults are the Forge experiment's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Phases {
    /// At rest, before any load.
    pub baseline: Seconds,
    /// Load that is not counted.
    pub warm_up: WarmUp,
    /// At rest after it.
    pub settle: Seconds,
    /// What is counted; of a closed loop the longest that its requests may take.
    pub load: Seconds,
    /// At rest after the load.
    pub recovery: Seconds,
}

/// A warm-up ends when it has lasted this long and has sent this many requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WarmUp {
    /// At least so long.
    pub seconds: Seconds,
    /// At least so many.
    pub min_requests: u64,
    /// Its own rate where the load's is higher: the target first meets less than it will be asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_rps: Option<u64>,
}

impl Default for Phases {
    fn default() -> Self {
        Self {
            baseline: Seconds::of(1.5),
            warm_up: WarmUp::default(),
            settle: Seconds::of(6.0),
            load: Seconds::of(60.0),
            recovery: Seconds::of(30.0),
        }
    }
}

impl Default for WarmUp {
    fn default() -> Self {
        Self {
            seconds: Seconds::of(15.0),
            min_requests: 0,
            rate_rps: None,
        }
    }
}

impl WarmUp {
    /// How long it lasts at this rate, in seconds. How fast a closed loop sends nobody knows beforehand:
    /// at a rate of 0 it lasts as if its requests took no longer.
    pub fn seconds_at(&self, rate_rps: u64) -> f64 {
        let counted = match self.rate_before(rate_rps) {
            0 => 0.0,
            rate => self.min_requests as f64 / rate as f64,
        };
        self.seconds.get().max(counted)
    }

    /// How fast it sends before a load at this rate.
    pub fn rate_before(&self, rate_rps: u64) -> u64 {
        self.rate_rps.map_or(rate_rps, |own| own.min(rate_rps))
    }
}

impl WarmUp {
    /// Requests that each of a pair's sides is still to be sent, in closed loop, before a warm-up at this
    /// rate, of whose time each side has its share: at the rate alone, a runtime that compiles what it
    /// has run often would take minutes to become what it stays.
    pub fn missing(&self, rate_rps: u64, sides: usize) -> u64 {
        let at_rate = rate_rps as f64 * self.seconds.get() / sides.max(1) as f64;
        self.min_requests.saturating_sub(at_rate as u64)
    }
}

impl Plan {
    /// How long the phases of a cell last at this rate (0 for a closed loop), in seconds.
    pub fn cell_seconds(&self, rate_rps: u64) -> f64 {
        sum(&self.cell_phases(&self.phases.warm_up, rate_rps))
    }

    /// How long the phases of a unit last, in seconds on the clock.
    pub fn unit_seconds(&self, unit: &Unit) -> f64 {
        sum(&self.unit_phases(unit))
    }

    /// How long the load of a cell lasts on the clock, in nanoseconds: that of a pair's closed loop is its
    /// own, any other's the phase's.
    pub fn load_ns(&self, cell: &CellKey) -> u64 {
        let seconds = match &self.capacity {
            Some(capacity) if cell.pair.is_some() && cell.rate_rps.is_none() => capacity.load,
            _ => self.phases.load,
        };
        (seconds.get() * 1e9).round() as u64
    }

    /// The phases of a unit in their order, in seconds on the clock.
    pub(super) fn unit_phases(&self, unit: &Unit) -> Vec<(&'static str, f64)> {
        let rate_rps = unit.cells[0].rate_rps.unwrap_or_default();
        let mut warm_up = self.phases.warm_up;
        if unit.cells[0].pair.is_none() {
            return self.cell_phases(&warm_up, rate_rps).to_vec();
        }
        let missing = warm_up.missing(rate_rps, unit.sides()) * unit.sides() as u64;
        let first = ("first warm-up", missing as f64 / SUPPOSED_RPS);
        warm_up.min_requests = 0;
        let [baseline, warm_up, settle, load, recovery] = self.cell_phases(&warm_up, rate_rps);
        let background = ("background", BACKGROUND_S);
        let capacity = self.capacity.iter().map(|capacity| {
            let loads = capacity.connections.len() as f64;
            ("capacity", loads * capacity.load.get())
        });
        let phases = [baseline, first, warm_up, settle, load, background];
        phases
            .into_iter()
            .chain(capacity)
            .chain([recovery])
            .collect()
    }

    fn cell_phases(&self, warm_up: &WarmUp, rate_rps: u64) -> [(&'static str, f64); 5] {
        let phases = &self.phases;
        // A plan's closed loop ends with its last request.
        let load = match self.kind {
            Kind::Closed => "load at most",
            _ => "load",
        };
        [
            ("baseline", phases.baseline.get()),
            ("warm-up", warm_up.seconds_at(rate_rps)),
            ("settle", phases.settle.get()),
            (load, phases.load.get()),
            ("recovery", phases.recovery.get()),
        ]
    }
}

fn sum(phases: &[(&'static str, f64)]) -> f64 {
    phases.iter().map(|(_, seconds)| seconds).sum()
}

#[cfg(test)]
mod tests {
    use super::super::adapter::tests::adapter;
    use super::super::spec::tests::{DUEL, parse, plan};

    #[test]
    fn a_cells_time_is_its_phases() {
        let mut plan = plan();
        plan.phases.warm_up.min_requests = 3000;
        assert_eq!(plan.cell_seconds(1000), 1.5 + 15.0 + 6.0 + 60.0 + 30.0);
        assert_eq!(plan.cell_seconds(100), 1.5 + 30.0 + 6.0 + 60.0 + 30.0);
        assert_eq!(plan.cell_seconds(0), 1.5 + 15.0 + 6.0 + 60.0 + 30.0);
    }

    #[test]
    fn a_warm_up_of_its_own_rate_is_never_faster_than_the_load() {
        let mut warm_up = plan().phases.warm_up;
        warm_up.rate_rps = Some(500);
        assert_eq!(
            [100, 500, 9000].map(|rate| warm_up.rate_before(rate)),
            [100, 500, 500]
        );
        warm_up.min_requests = 10_000;
        assert_eq!(
            warm_up.seconds_at(9000),
            20.0,
            "its requests at its own rate"
        );
    }

    #[test]
    fn a_pairs_time_is_shared_by_its_sides_and_holds_every_load() {
        let plan = parse(DUEL).unwrap();
        let adapters = ["express", "fastify", "node-http"].map(|name| adapter(name, "[ok, hello]"));
        let matrix = plan.cells(&adapters).unwrap();
        let [canary, pair] = [0, 1].map(|index| plan.unit_seconds(&matrix.units[index]));
        assert_eq!(canary, 1.0 + 5.0 + 1.0 + 10.0 + 1.0);
        // Of 4,000 requests for each of three sides 1,666 come at 1,000/s in its third of 5 s.
        let first = 3.0 * (4000.0 - 1666.0) / 10_000.0;
        assert_eq!(pair, 1.0 + first + 5.0 + 1.0 + 10.0 + 2.0 + 2.0 * 4.0 + 1.0);
    }
}
