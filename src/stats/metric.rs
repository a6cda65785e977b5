//! What a duel judges: each metric's name in a plan and in the archive, and how it is read from a cell.

use crate::record::schema::{Block, Cell};

/// One of [`METRICS`].
#[derive(Debug)]
pub struct Metric {
    /// As the plan names it.
    pub name: &'static str,
    /// `lower` or `higher`.
    pub better: &'static str,
    /// Whether it is measured in the closed loop, for each number of connections there; else in the open
    /// one, at each rate.
    pub closed: bool,
    /// Whether it is of time that passes, which another side's work in the background takes away; CPU
    /// time stays with its owner.
    pub disturbed: bool,
    /// The figure's path in a cell, by which `nulls` says why there is none.
    field: &'static str,
    of: fn(&Cell) -> Option<f64>,
}

/// All that there are.
pub const METRICS: [Metric; 5] = [
    Metric {
        name: "cpu_us_per_request",
        better: "lower",
        closed: false,
        disturbed: false,
        field: "cpu_us_per_request",
        of: |cell| by_short_slices(cell, cell.cpu_us_per_request, |block| block.cpu_us),
    },
    Metric {
        name: "main_thread_us_per_request",
        better: "lower",
        closed: false,
        disturbed: false,
        field: "main_thread_us_per_request",
        of: |cell| {
            let whole = cell.main_thread_us_per_request;
            by_short_slices(cell, whole, |block| block.main_thread_us)
        },
    },
    Metric {
        name: "response_p50_us",
        better: "lower",
        closed: false,
        disturbed: true,
        field: "response_us.p50",
        of: |cell| cell.load.response_us.p50,
    },
    Metric {
        name: "response_p99_us",
        better: "lower",
        closed: false,
        disturbed: true,
        field: "response_us.p99",
        of: |cell| cell.load.response_us.p99,
    },
    Metric {
        name: "capacity_rps",
        better: "higher",
        closed: true,
        disturbed: true,
        field: "achieved_rps",
        of: |cell| cell.load.achieved_rps,
    },
];

/// CPU time per request of a pair's side: over its blocks of short slices, where the machine's speed has
/// the least time to change between the sides; `whole` where a load has no blocks. Blocks begin and end
/// where nobody sends, so that work in the background stays with its owner as it does over the whole.
fn by_short_slices(cell: &Cell, whole: Option<f64>, cpu_us: CpuOf) -> Option<f64> {
    let whole = whole?;
    if cell.paired.is_none() || cell.blocks.is_empty() {
        return Some(whole);
    }
    by_slices(cell, false, cpu_us)
}

/// How a block's CPU time is read.
type CpuOf = fn(&Block) -> Option<f64>;

/// CPU time per request over a side's blocks of long slices, or of short ones.
pub(super) fn by_slices(cell: &Cell, long: bool, cpu_us: CpuOf) -> Option<f64> {
    let short_ns = cell.paired.as_ref()?.mask.slice_ns;
    let is_own = |block: &&Block| (block.slice_ns > short_ns) == long;
    let own = || cell.blocks.iter().filter(is_own);
    let us: Option<f64> = own().map(cpu_us).sum();
    let completed: u64 = own().map(|block| block.completed).sum();
    us.filter(|_| completed > 0).map(|us| us / completed as f64)
}

/// The metric of this name; none where there is no such.
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

impl Metric {
    /// Its value in a cell, above 0, or why there is none: of nothing there is no ratio.
    pub fn value(&self, cell: &Cell) -> Result<f64, String> {
        match (self.of)(cell) {
            Some(value) if value > 0.0 => Ok(value),
            Some(value) => Err(format!("{} is {value}", self.field)),
            None => Err(match cell.load.nulls.get(self.field) {
                Some(reason) => reason.clone(),
                None => "it was not measured".to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture;

    #[test]
    fn a_value_is_above_0_or_says_why_not() {
        let p99 = metric("response_p99_us").unwrap();
        let mut cell = Cell::default();
        assert_eq!(p99.value(&cell).unwrap_err(), "it was not measured");
        let nulls = &mut cell.load.nulls;
        nulls.insert("response_us.p99".into(), "censored".into());
        assert_eq!(p99.value(&cell).unwrap_err(), "censored");
        cell.load.response_us.p99 = Some(0.0);
        assert_eq!(p99.value(&cell).unwrap_err(), "response_us.p99 is 0");
        cell.load.response_us.p99 = Some(250.0);
        assert_eq!(p99.value(&cell), Ok(250.0));
        assert!(metric("response_p98_us").is_none());
    }

    #[test]
    fn a_pairs_cpu_is_that_of_its_short_slices() {
        let cpu = metric("cpu_us_per_request").unwrap();
        let main = metric("main_thread_us_per_request").unwrap();
        let mut cell = fixture::side("measure", 1, &["x", "ref"], 0);
        cell.cpu_us_per_request = Some(500.0);
        for block in cell.blocks.iter_mut() {
            if block.slice_ns > cell.paired.as_ref().unwrap().mask.slice_ns {
                block.cpu_us = block.cpu_us.map(|us| us * 9.0);
            }
        }
        assert_eq!(cpu.value(&cell), Ok(100.0), "long ones count for nothing");
        assert_eq!(main.value(&cell), Ok(90.0));
        cell.blocks[1].cpu_us = None;
        assert_eq!(cpu.value(&cell).unwrap_err(), "it was not measured");
        cell.blocks.clear();
        assert_eq!(cpu.value(&cell), Ok(500.0), "a load without blocks");
    }
}
