//! The runner: the pilot is part of the scenery, for it shares the load's CPUs.

use super::{Guard, Level, Seen, Sight, When};

/// Of one CPU.
const SHARE: f64 = 0.05;

/// See the module.
pub const GUARD: Guard = Guard {
    id: "runner",
    reads: "this program's own CPU time",
    when: When::During,
    fires: Level::Warn,
    fix: "give the load more CPUs (--load-cpus), or the machine: the runner samples beside the generator",
    judge,
};

fn judge(seen: &Seen) -> Sight {
    let share = seen.scenery.own.runner_us.and_then(|us| seen.share(us));
    let much = |share: f64| {
        let pct = 100.0 * share;
        (share > SHARE).then(|| format!("this program took {pct:.1} % of a CPU during the load"))
    };
    Sight::of(share.map(much))
}
