//! Idle states: waking a sleeping CPU is in every response that finds it asleep, so that p50 falls as
//! the rate rises.

use super::{Guard, Level, Seen, Sight, When};

/// Below this an exit is lost among the system calls of a request.
const EXIT_US: u64 = 10;

/// See the module.
pub const GUARD: Guard = Guard {
    id: "idle_states",
    reads: "how deep idle CPUs sleep",
    when: When::Before,
    fires: Level::Warn,
    fix: "keep CPUs from deep sleep while measuring (cpupower idle-set -D 10), on the host that owns \
          them; or compare latencies only at the same rate",
    judge,
};

fn judge(seen: &Seen) -> Sight {
    deepest(seen.scenery.start.idle_exit_us)
}

/// Judges the longest way out of an idle state that is in use.
pub fn deepest(exit_us: Option<u64>) -> Sight {
    let deep = |us: u64| {
        (us > EXIT_US)
            .then(|| format!("waking an idle CPU takes up to {us} us: that is the machine"))
    };
    Sight::of(exit_us.map(deep))
}
