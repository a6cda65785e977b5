//! How much of the machine other processes took meanwhile: the usual reason why a case that times
//! fails.

use rustix::time::{ClockId, clock_gettime};

use crate::load::clock::now_ns;

/// The kernel counts CPU time in these.
const TICK_NS: f64 = 1e7;

/// A reading of everybody's CPU time and our own.
pub struct Others {
    at_ns: u64,
    /// Busy time of all CPUs, and how many CPUs that is.
    busy: Option<(f64, f64)>,
    own_ns: f64,
}

impl Others {
    /// Reads now.
    pub fn read() -> Self {
        let own = clock_gettime(ClockId::ProcessCPUTime);
        let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        Self {
            at_ns: now_ns(),
            busy: busy(&stat),
            own_ns: own.tv_sec as f64 * 1e9 + own.tv_nsec as f64,
        }
    }

    /// Which share of all CPUs others had since then; `None` where the kernel does not say.
    pub fn share(&self) -> Option<f64> {
        let now = Self::read();
        let ((then, cpus), (busy, _)) = (self.busy?, now.busy?);
        let all_ns = (now.at_ns - self.at_ns) as f64 * cpus;
        let others_ns = (busy - then) * TICK_NS - (now.own_ns - self.own_ns);
        (all_ns > 0.0).then(|| (others_ns / all_ns).max(0.0))
    }
}

/// From `/proc/stat`: ticks in which any CPU was not idle (stolen ones too), and how many CPUs.
fn busy(stat: &str) -> Option<(f64, f64)> {
    let mut lines = stat.lines();
    let ticks: Vec<f64> = lines
        .next()?
        .strip_prefix("cpu ")?
        .split_whitespace()
        .map_while(|field| field.parse().ok())
        .collect();
    let cpus = lines.take_while(|line| line.starts_with("cpu")).count();
    // user, nice, system; irq, softirq, steal. Guests are in user already.
    let of =
        |fields: std::ops::Range<usize>| ticks.get(fields).map(|ticks| ticks.iter().sum::<f64>());
    Some((of(0..3)? + of(5..8)?, cpus as f64))
}

#[test]
fn busy_is_all_that_is_not_idle() {
    let stat = "cpu  1 2 4 100 200 8 16 32 64 64\ncpu0 1 2 4 8 9 1 1 1 1 1\ncpu1 0\nintr 7\n";
    assert_eq!(busy(stat), Some((63.0, 2.0)));
    assert_eq!(busy("cpu  1 2 3\n"), None);
    assert_eq!(busy(""), None);
}
