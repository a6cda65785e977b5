//! How long a pair's slices and gaps are: fixed once a session, by the warm-up of its first pair (METHOD,
//! rule 16).

use std::collections::BTreeMap;

use crate::load::turns;
use crate::record::hlog::{Hlog, Interval};
use crate::record::schema::{Cell, CellKey, MaskSeed};
use crate::stats::quantile;

/// The shortest slice, and the shortest gap.
const SLICE_NS: u64 = 20_000_000;
const GAP_NS: u64 = 1_000_000;

/// The lengths of slices and gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rhythm {
    slice_ns: u64,
    gap_ns: u64,
}

impl Rhythm {
    /// Before anything is known of the sides.
    pub(super) const SHORTEST: Self = Self {
        slice_ns: SLICE_NS,
        gap_ns: GAP_NS,
    };

    /// With gaps of `gap_ns`, as far as a side's part `own_ns` of the load has room for them; a plan may ask for longer
    /// slices.
    fn new(gap_ns: u64, slice_ms: Option<u64>, own_ns: u64) -> Self {
        let gap_ns = gap_ns.min(turns::longest_gap_ns(own_ns)).max(GAP_NS);
        let asked_ns = slice_ms.map_or(SLICE_NS, |ms| ms * 1_000_000);
        Self {
            slice_ns: turns::shortest_slice_ns(gap_ns, own_ns).max(asked_ns),
            gap_ns,
        }
    }

    pub(super) fn mask(self, seed: u64) -> MaskSeed {
        MaskSeed {
            seed,
            slice_ns: self.slice_ns,
            gap_ns: self.gap_ns,
        }
    }
}

/// The rhythm of each load of a session, by workload, rate (none in a closed loop) and connections.
#[derive(Clone, Debug, Default)]
pub struct Rhythms(BTreeMap<(String, Option<u64>, u32), Rhythm>);

impl Rhythms {
    /// Takes over what an earlier run of the session fixed.
    pub fn keep(&mut self, cell: &Cell) {
        if let Some(paired) = &cell.paired {
            let (slice_ns, gap_ns) = (paired.mask.slice_ns, paired.mask.gap_ns);
            self.0
                .insert(load_of(&cell.key), Rhythm { slice_ns, gap_ns });
        }
    }

    pub(super) fn of(&self, key: &CellKey) -> Option<Rhythm> {
        self.0.get(&load_of(key)).copied()
    }

    /// Fixes a load's rhythm, unless it is. The gap of an open loop is the slower side's p99. A closed
    /// loop leaves all of its connections waiting at a slice's end: the last of them waits for all, of which one may be
    /// among the slowest. `own_ns` is a side's part of the load.
    pub(super) fn fix(
        &mut self,
        key: &CellKey,
        slower: Answering,
        slice_ms: Option<u64>,
        own_ns: u64,
    ) {
        let gap_ns = match key.rate_rps {
            Some(_) => slower.p99_ns,
            None => slower.p99_ns + u64::from(key.connections) * slower.p50_ns,
        };
        self.0
            .entry(load_of(key))
            .or_insert(Rhythm::new(gap_ns, slice_ms, own_ns));
    }
}

fn load_of(key: &CellKey) -> (String, Option<u64>, u32) {
    (key.workload.clone(), key.rate_rps, key.connections)
}

/// How fast a side answers in a warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answering {
    p50_ns: u64,
    p99_ns: u64,
}

impl Answering {
    /// Of all sides the slowest, in both.
    pub(super) fn slowest<'a>(sides: impl Iterator<Item = &'a Hlog>) -> Self {
        sides
            .map(Self::of)
            .fold(Self::default(), |slowest, side| Self {
                p50_ns: slowest.p50_ns.max(side.p50_ns),
                p99_ns: slowest.p99_ns.max(side.p99_ns),
            })
    }

    /// Of each second of the second half, and of these the median, so that neither a cold start nor one
    /// pause of the machine lengthens every slice of the session.
    fn of(hlog: &Hlog) -> Self {
        let seconds = &hlog.response;
        let late = &seconds[seconds.len() / 2..];
        let typical = |permille| {
            let of_second = |second: &Interval| {
                let histogram = second.unpack();
                quantile::value_at_rank(&histogram, quantile::rank(permille, histogram.len()))
            };
            let mut values: Vec<u64> = late.iter().filter_map(of_second).collect();
            values.sort_unstable();
            values.get(values.len() / 2).copied().unwrap_or(0)
        };
        Self {
            p50_ns: typical(500),
            p99_ns: typical(990),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(rate_rps: Option<u64>, connections: u32) -> CellKey {
        CellKey {
            rate_rps,
            connections,
            ..CellKey::default()
        }
    }

    #[test]
    fn a_slice_is_twenty_gaps_and_a_gap_what_the_slower_side_needs() {
        let ms = 1_000_000;
        let us = 1_000;
        let table = [
            (Some(2000), 32, 100 * us, 400 * us, None, 20 * ms, ms),
            (
                Some(2000),
                32,
                100 * us,
                1500 * us,
                None,
                30 * ms,
                1500 * us,
            ),
            (Some(2000), 32, 100 * us, 400 * us, Some(50), 50 * ms, ms),
            (Some(2000), 32, 100 * us, 4 * ms, Some(50), 80 * ms, 4 * ms),
            (None, 25, 100 * us, 400 * us, None, 58 * ms, 2900 * us),
            (None, 100, 100 * us, 400 * us, None, 208 * ms, 10_400 * us),
            (None, 2, 100 * us, 400 * us, None, 20 * ms, ms),
            // A slow server in a closed loop: four slices are left of ten seconds, and the gap stays.
            (None, 50, 4 * ms, 110 * ms, None, 2500 * ms, 310 * ms),
            // Overloaded: no gap is as long as its queue.
            (
                Some(30_000),
                32,
                5000 * ms,
                5500 * ms,
                None,
                2500 * ms,
                625 * ms,
            ),
        ];
        for (rate_rps, connections, p50_ns, p99_ns, slice_ms, slice_ns, gap_ns) in table {
            let (key, mut rhythms) = (key(rate_rps, connections), Rhythms::default());
            rhythms.fix(&key, Answering { p50_ns, p99_ns }, slice_ms, 10_000 * ms);
            assert_eq!(rhythms.of(&key), Some(Rhythm { slice_ns, gap_ns }));
        }
    }

    #[test]
    fn what_the_first_pair_fixed_stays() {
        let (key, mut rhythms) = (key(Some(2000), 32), Rhythms::default());
        for p99_ns in [2_000_000, 3_000_000] {
            let slower = Answering { p50_ns: 1, p99_ns };
            rhythms.fix(&key, slower, None, 10_000_000_000);
        }
        assert_eq!(rhythms.of(&key).unwrap().gap_ns, 2_000_000);
    }
}
