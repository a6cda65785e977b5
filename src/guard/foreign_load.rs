//! Foreign work on the load's CPUs: it delays what the generator reads, and the dependencies' answers.

use super::share::{self, Bound};
use super::{Guard, Level, Seen, Sight, When};

/// Wider than for targets, for the engine and this program are there by design; what a generator loses to
/// them shows as its lateness and its starving too.
const QUIET: Bound = Bound {
    each: 0.2,
    most: 0.8,
};

/// See the module.
pub const GUARD: Guard = Guard {
    id: "foreign_load",
    reads: "what else ran on the load's CPUs",
    when: When::During,
    fires: Level::Fail,
    fix: "stop it, or keep it off these CPUs (taskset, isolcpus); `top` with the field P shows who runs \
          where",
    judge,
};

fn judge(seen: &Seen) -> Sight {
    let scenery = seen.scenery;
    share::foreign(scenery, "load's", &scenery.load_cpus, &QUIET)
}
