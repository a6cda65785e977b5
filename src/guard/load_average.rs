//! The load average before slot 0: what ran in the minute before may still be there.

use super::{Guard, Level, Seen, Sight, When};

/// See the module.
pub const GUARD: Guard = Guard {
    id: "load_average",
    reads: "the load average",
    when: When::Before,
    fires: Level::Warn,
    fix: "stop what else is running, or wait: what shares the CPUs is in the numbers",
    judge,
};

/// An earlier cell of the same series leaves about one task a CPU behind in it: its target and its
/// generator. More than that was somebody else, or threads in each other's way.
fn judge(seen: &Seen) -> Sight {
    let reading = &seen.scenery.start;
    let cpus = reading.cpus.len();
    let beyond = |load: f64| {
        (load > cpus as f64)
            .then(|| format!("{load:.2} tasks wanted {cpus} CPUs in the minute before the load"))
    };
    Sight::of(reading.load_average_1m.filter(|_| cpus > 0).map(beyond))
}
