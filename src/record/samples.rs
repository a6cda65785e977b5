//! `samples.csv`: what was read of the target at the phases' edges and through them, one row each.

use crate::error::{Error, Result};

/// Why a row was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The phase's first edge.
    Start,
    /// In between.
    Tick,
    /// The phase's last edge.
    End,
    /// Between two blocks of the load.
    Block,
    /// Between two slices of the background block, and at its edges.
    Slice,
}

impl Mark {
    const ALL: [(Mark, &str); 5] = [
        (Mark::Start, "start"),
        (Mark::Tick, "tick"),
        (Mark::End, "end"),
        (Mark::Block, "block"),
        (Mark::Slice, "slice"),
    ];

    /// As it stands in the file.
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(mark, _)| *mark == self)
            .expect("every mark is listed")
            .1
    }
}

/// One row. Counters grow from the container's start; a value that was not read is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Seconds since the cell's start.
    pub t_s: f64,
    /// The phase's name.
    pub phase: String,
    /// Edge, tick, or between what takes turns.
    pub mark: Mark,
    /// Counters and sizes, in the order of [`COLUMNS`].
    pub values: [Option<u64>; COLUMNS.len()],
}

/// The columns after `t_s,phase,mark`, in the file's order.
pub const COLUMNS: [&str; 11] = [
    "cpu_us",
    "main_thread_us",
    "throttled_periods",
    "throttled_us",
    "involuntary_switches",
    "oom_kills",
    "rss_kib",
    "pss_kib",
    "cgroup_kib",
    "agent_cpu_us",
    "ksoftirqd_us",
];

impl Sample {
    /// The value in a column, by its name.
    ///
    /// # Panics
    /// If there is no such column: a mistake of the caller's.
    pub fn get(&self, column: &str) -> Option<u64> {
        let index = COLUMNS.iter().position(|name| *name == column);
        self.values[index.unwrap_or_else(|| panic!("no column {column}"))]
    }
}

/// The whole file, header first.
pub fn write(samples: &[Sample]) -> String {
    let mut csv = format!("t_s,phase,mark,{}\n", COLUMNS.join(","));
    for sample in samples {
        csv += &format!("{:.6},{},{}", sample.t_s, sample.phase, sample.mark.name());
        for value in sample.values {
            csv.push(',');
            csv += &value.map(|v| v.to_string()).unwrap_or_default();
        }
        csv.push('\n');
    }
    csv
}

/// Reads what [`write`] wrote; anything else is exit 5 with the line's number.
pub fn read(csv: &str) -> Result<Vec<Sample>> {
    let mut lines = csv.lines();
    let header = format!("t_s,phase,mark,{}", COLUMNS.join(","));
    if lines.next() != Some(&header) {
        return Err(Error::unverified(format!(
            "line 1: expected the header {header}"
        )));
    }
    lines
        .enumerate()
        .map(|(index, line)| {
            row(line).ok_or_else(|| {
                Error::unverified(format!("line {}: not a sample: {line:.80}", index + 2))
            })
        })
        .collect()
}

fn row(line: &str) -> Option<Sample> {
    let mut cells = line.split(',');
    let t_s = cells.next()?.parse().ok().filter(|t: &f64| t.is_finite())?;
    let phase = cells.next()?.to_owned();
    let mark = cells.next()?;
    let mark = Mark::ALL.iter().find(|(_, name)| *name == mark)?.0;
    let mut values = [None; COLUMNS.len()];
    for value in &mut values {
        let cell = cells.next()?;
        *value = if cell.is_empty() {
            None
        } else {
            Some(cell.parse().ok()?)
        };
    }
    cells.next().is_none().then_some(Sample {
        t_s,
        phase,
        mark,
        values,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_and_nothing_else_is_read() {
        let mut sample = Sample {
            t_s: 1.5,
            phase: "load".into(),
            mark: Mark::Start,
            values: [None; COLUMNS.len()],
        };
        sample.values[0] = Some(42);
        let csv = write(std::slice::from_ref(&sample));
        assert_eq!(read(&csv).unwrap(), [sample]);
        for broken in [
            csv.replace("42", "4x"),
            csv.replace("start", "begin"),
            csv.replace("1.5", "NaN"),
            csv + ",1\n",
        ] {
            assert!(read(&broken).is_err(), "{broken}");
        }
    }
}
