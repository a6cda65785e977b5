//! Which loads a unit has, and how each is driven: an ordinary one all of the time, a pair's in the
//! slices that its seed gives.

use std::time::Duration;

use super::readings::Readings;
use super::rhythm::{Answering, Rhythm, Rhythms};
use super::{Side, Take};
use crate::error::Result;
use crate::load::turns::{self, Pattern, Turns};
use crate::load::{Arrivals, Pace, Spec};
use crate::parity::kept;
use crate::plan::{cell_seed, mask_seed, spec};
use crate::record::samples::Mark;
use crate::record::schema::{CellKey, MaskSeed};

/// How long the generator spins before a slot and after a send.
const SPIN: Duration = Duration::from_micros(60);
/// A block's CPU time is read so long after its last gap: whoever was late is done by then.
const AFTER_BLOCK_NS: i64 = 300_000;
/// A slice's edge is read so long before it: before its side wakes up, after the last one's gap.
const BEFORE_SLICE_NS: i64 = 700_000;
/// A first warm-up ends by its requests; of a target that serves next to none, by this time.
const LONGEST_FIRST_WARM_UP_S: f64 = 120.0;
/// Responses of a closed loop that time ends are kept out of the first so many a second: it is not known
/// beforehand how many there will be.
const KEPT_OUT_OF_RPS: f64 = 500.0;

/// One load of a unit: every side's cell of it.
#[derive(Clone, Copy)]
pub(super) struct Point<'a> {
    pub(super) cells: &'a [CellKey],
}

impl<'a> Point<'a> {
    /// The loads of a unit's cells.
    pub(super) fn of(cells: &'a [CellKey], sides: usize) -> Vec<Self> {
        cells
            .chunks(sides.max(1))
            .map(|cells| Self { cells })
            .collect()
    }

    /// What all sides have in common.
    fn key(&self) -> &'a CellKey {
        &self.cells[0]
    }
}

/// A load as it is driven: what each side sends, and when CPU time is read.
pub(super) struct PlannedLoad {
    pub(super) specs: Vec<Spec>,
    pub(super) readings: Readings,
    pub(super) mask: Option<MaskSeed>,
}

impl PlannedLoad {
    /// Without any reading in between.
    fn plain(specs: Vec<Spec>) -> Self {
        Self {
            specs,
            readings: Readings::none(),
            mask: None,
        }
    }
}

impl PlannedLoad {
    /// Every side in its own slices.
    fn in_turns(specs: Vec<Spec>, turns: &Turns) -> Self {
        let mut load = Self::plain(specs);
        load.take_turns(turns);
        load
    }
}

impl Take<'_> {
    /// A counted load.
    pub(super) fn plan_load(&self, point: &Point<'_>, rhythms: &Rhythms) -> PlannedLoad {
        let (key, plan) = (point.key(), self.plan);
        let seed = cell_seed(key, plan.seed);
        let length_ns = plan.load_ns(key);
        let specs = self.sides.iter().map(|side| {
            let mut spec = self.spec(side, key, length_ns, seed);
            let slots = match (spec.pace, plan.requests) {
                (Pace::Closed { .. }, None) => (length_ns as f64 / 1e9 * KEPT_OUT_OF_RPS) as u64,
                _ => spec.slots(),
            };
            spec.keep = kept::slots(slots, seed);
            spec
        });
        let mut load = PlannedLoad::plain(specs.collect());
        if let Some(rhythm) = key.pair.and_then(|_| rhythms.of(key)) {
            let mask = rhythm.mask(mask_seed(key, plan.seed));
            let turns = Turns::lay(self.sides.len(), mask, length_ns, Pattern::Alternating);
            load.take_turns(&turns);
            load.mask = Some(mask);
            let blocks_ns = turns.block_ends_ns();
            load.read_after(&blocks_ns);
            // The slots are fewer by then: draw again from those that there are.
            for spec in load
                .specs
                .iter_mut()
                .filter(|spec| matches!(spec.pace, Pace::Open { .. }))
            {
                spec.keep = kept::slots(spec.slots(), seed);
            }
        } else if key.series.is_some() {
            load.read_after(&turns::windows_ns(length_ns));
        }
        load
    }

    /// Load that is not counted. The first pair of a session also finds out how long its slices must be.
    pub(super) async fn warm_up(&mut self, rhythms: &mut Rhythms) -> Result<()> {
        let key = self.points[0].key();
        let warm_up = self.plan.phases.warm_up;
        let rate_rps = key.rate_rps.unwrap_or_default();
        if key.pair.is_none() {
            let own = CellKey {
                rate_rps: key.rate_rps.map(|rate| warm_up.rate_before(rate)),
                ..key.clone()
            };
            let specs = self.same(&own, ns(warm_up.seconds_at(rate_rps)), self.seed ^ 1);
            self.drive("warm-up", &PlannedLoad::plain(specs)).await?;
            return Ok(());
        }
        let sides = self.sides.len();
        let rhythm = rhythms.of(key).unwrap_or(Rhythm::SHORTEST);
        let mask = rhythm.mask(self.seed ^ 1);
        let missing = warm_up.missing(rate_rps, sides);
        if missing > 0 {
            let mut specs = self.same(key, 0, self.seed ^ 6);
            for spec in &mut specs {
                spec.pace = Pace::Closed { requests: missing };
            }
            let turns = Turns::lay(sides, mask, ns(LONGEST_FIRST_WARM_UP_S), Pattern::Plain);
            self.drive("first warm-up", &PlannedLoad::in_turns(specs, &turns))
                .await?;
        }
        let specs = self.same(key, 0, self.seed ^ 1);
        let turns = Turns::lay(sides, mask, ns(warm_up.seconds.get()), Pattern::Plain);
        let loaded = self
            .drive("warm-up", &PlannedLoad::in_turns(specs, &turns))
            .await?;
        let slowest = Answering::slowest(loaded.iter().map(|loaded| &loaded.hlog));
        for point in &self.points {
            let own_ns = self.plan.load_ns(point.key()) / sides as u64;
            rhythms.fix(point.key(), slowest, self.plan.slice_ms, own_ns);
        }
        Ok(())
    }

    /// Load that is not counted, after the counted one: whose CPU time lies in whose slices?
    pub(super) async fn background(&mut self, point: &Point<'_>, rhythms: &Rhythms) -> Result<()> {
        let key = point.key();
        let Some(rhythm) = rhythms.of(key) else {
            return Ok(());
        };
        let mask = rhythm.mask(mask_seed(key, self.plan.seed));
        let turns = Turns::background(self.sides.len(), mask);
        let mut load = PlannedLoad::in_turns(self.same(key, 0, self.seed ^ 5), &turns);
        let starts = turns.turns.iter().map(|turn| turn.slice.start_ns);
        let at_ns = starts.chain([turns.end_ns()]);
        load.readings = Readings {
            at_ns: at_ns.map(|ns| ns as i64 - BEFORE_SLICE_NS).collect(),
            mark: Mark::Slice,
        };
        self.drive("background", &load).await?;
        Ok(())
    }

    /// The same load for every side.
    fn same(&self, key: &CellKey, length_ns: u64, seed: u64) -> Vec<Spec> {
        let spec = |side| self.spec(side, key, length_ns, seed);
        self.sides.iter().map(spec).collect()
    }

    /// A load over the whole of its time; nothing is kept of it.
    fn spec(&self, side: &Side<'_>, key: &CellKey, length_ns: u64, seed: u64) -> Spec {
        let arrivals = match self.plan.arrivals {
            spec::Arrivals::Uniform => Arrivals::Uniform,
            spec::Arrivals::Poisson => Arrivals::Poisson,
        };
        let pace = match key.rate_rps {
            Some(rate_rps) => Pace::Open { rate_rps, arrivals },
            // Where the plan has no number of requests, time alone ends a closed loop.
            None => Pace::Closed {
                requests: self.plan.requests.unwrap_or(u64::MAX),
            },
        };
        Spec {
            target: ([127, 0, 0, 1], side.contest.adapter.port).into(),
            variants: side.variants.clone(),
            pace,
            slices: None,
            blocks_ns: vec![],
            threads: self.plan.threads,
            duration_ns: length_ns,
            connections: key.connections,
            timeout_ns: self.plan.timeout.0.as_nanos() as u64,
            spin_ns: SPIN.as_nanos() as u64,
            keep: vec![],
            seed,
        }
    }
}

impl PlannedLoad {
    /// Every side sends in its own slices only.
    fn take_turns(&mut self, turns: &Turns) {
        for (side, spec) in self.specs.iter_mut().enumerate() {
            let slices = turns.of(side);
            spec.duration_ns = slices.iter().map(|slice| slice.length_ns).sum();
            spec.slices = Some(slices);
        }
    }

    /// Counts by block, and reads CPU time between them.
    fn read_after(&mut self, blocks_ns: &[u64]) {
        for spec in &mut self.specs {
            spec.blocks_ns = blocks_ns.to_vec();
        }
        // The last block ends with the load, which is read anyway.
        let between = &blocks_ns[..blocks_ns.len().saturating_sub(1)];
        self.readings = Readings {
            at_ns: between
                .iter()
                .map(|ns| *ns as i64 + AFTER_BLOCK_NS)
                .collect(),
            mark: Mark::Block,
        };
    }
}

fn ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}
