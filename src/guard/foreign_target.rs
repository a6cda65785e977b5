//! Foreign work on the targets' CPUs: what runs there and is no target takes its time and its caches.

use super::share::{self, Bound};
use super::{Guard, Level, Seen, Sight, When};

/// Seen here with nothing else running: 1 to 3 % of a CPU, for what entering and leaving idle costs
/// beyond the cgroup's own account.
const QUIET: Bound = Bound {
    each: 0.05,
    most: 0.5,
};

/// See the module.
pub const GUARD: Guard = Guard {
    id: "foreign_target",
    reads: "what else ran on the targets' CPUs",
    when: When::During,
    fires: Level::Fail,
    fix: "stop it, or keep it off these CPUs (taskset, isolcpus); `top` with the field P shows who runs \
          where",
    judge,
};

fn judge(seen: &Seen) -> Sight {
    let scenery = seen.scenery;
    share::foreign(scenery, "targets'", &scenery.target_cpus, &QUIET)
}
