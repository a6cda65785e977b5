//! Steal: CPU time that the hypervisor gave to other machines.

use super::{Guard, Level, Seen, Sight, When};

/// Of the CPUs' time: with more than this the slowest percent of responses, the p99, may be all its own.
const SHARE: f64 = 0.01;
/// What a reading in hundredths of a second can be off, at both edges.
const COUNTED_IN_US: u64 = 20_000;

/// See the module.
pub const GUARD: Guard = Guard {
    id: "steal",
    reads: "CPU time taken by the hypervisor",
    when: When::During,
    fires: Level::Fail,
    fix: "measure on a machine of your own, or when its neighbours sleep",
    judge,
};

fn judge(seen: &Seen) -> Sight {
    let cpus = seen.scenery.start.cpus.len() as u64;
    let stolen = seen.grown(|reading| {
        let steal = reading.cpus.iter().map(|cpu| cpu.steal_us);
        steal.reduce(u64::saturating_add)
    });
    let sure = stolen.map(|us| us.saturating_sub(COUNTED_IN_US * cpus));
    let share = sure.and_then(|us| Some(seen.share(us)? / cpus as f64));
    let much = |share: f64| {
        let pct = 100.0 * share;
        (share > SHARE).then(|| format!("the hypervisor took {pct:.1} % of the CPUs' time"))
    };
    Sight::of(share.map(much))
}
