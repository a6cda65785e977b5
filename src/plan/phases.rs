//! A cell's phases, a pair's, and how long they take.

use serde::{Deserialize, Serialize};

use super::matrix::Unit;
use super::span::Seconds;
use super::spec::Plan;
use crate::record::schema::CellKey;

/// How long the uncounted block after a pair's load lasts, in which both cgroups are read at every
/// slice's edges (METHOD, rule 16), in seconds on the clock.
pub const BACKGROUND_S: f64 = 2.0;

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
        }
    }
}

impl WarmUp {
    /// How long it lasts at this rate, in seconds. How fast a closed loop sends nobody knows beforehand:
    /// at a rate of 0 it lasts as if its requests took no longer.
    pub fn seconds_at(&self, rate_rps: u64) -> f64 {
        let counted = match rate_rps {
            0 => 0.0,
            rate => self.min_requests as f64 / rate as f64,
        };
        self.seconds.get().max(counted)
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
        // The sides share the clock: each is sent its rate in its own slices only.
        warm_up.min_requests *= unit.sides() as u64;
        let [baseline, warm_up, settle, load, recovery] = self.cell_phases(&warm_up, rate_rps);
        let background = ("background", BACKGROUND_S);
        let capacity = self.capacity.iter().map(|capacity| {
            let loads = capacity.connections.len() as f64;
            ("capacity", loads * capacity.load.get())
        });
        let phases = [baseline, warm_up, settle, load, background];
        phases
            .into_iter()
            .chain(capacity)
            .chain([recovery])
            .collect()
    }

    fn cell_phases(&self, warm_up: &WarmUp, rate_rps: u64) -> [(&'static str, f64); 5] {
        let phases = &self.phases;
        [
            ("baseline", phases.baseline.get()),
            ("warm-up", warm_up.seconds_at(rate_rps)),
            ("settle", phases.settle.get()),
            ("load", phases.load.get()),
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
    fn a_pairs_time_is_shared_by_its_sides_and_holds_every_load() {
        let plan = parse(DUEL).unwrap();
        let adapters = ["express", "fastify", "node-http"].map(|name| adapter(name, "[ok, hello]"));
        let matrix = plan.cells(&adapters).unwrap();
        let [canary, pair] = [0, 1].map(|index| plan.unit_seconds(&matrix.units[index]));
        assert_eq!(canary, 1.0 + 5.0 + 1.0 + 10.0 + 1.0);
        // 4,000 requests of each of three sides at 1,000/s in its own third of the time.
        assert_eq!(pair, 1.0 + 12.0 + 1.0 + 10.0 + 2.0 + 2.0 * 4.0 + 1.0);
    }
}
