//! What a duel judges: each metric's name in a plan and in the archive, and how it is read from a cell.

use crate::record::schema::Cell;

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
        of: |cell| cell.cpu_us_per_request,
    },
    Metric {
        name: "main_thread_us_per_request",
        better: "lower",
        closed: false,
        disturbed: false,
        field: "main_thread_us_per_request",
        of: |cell| cell.main_thread_us_per_request,
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
}
