//! Involuntary context switches of the target: somebody else wanted its CPU, or its own threads did.

use super::{Guard, Level, Seen, Sight, When};

/// A second. From here on there is somebody at every scheduling tick of the slowest kernels (HZ=100).
const PER_SECOND: f64 = 100.0;

/// See the module.
pub const GUARD: Guard = Guard {
    id: "switches",
    reads: "involuntary context switches of the target",
    when: When::During,
    fires: Level::Warn,
    fix: "a target with more threads than CPUs does this to itself; else stop what shares its CPUs",
    judge,
};

fn judge(seen: &Seen) -> Sight {
    let seconds = seen.scenery.seconds();
    let switches = seen.target.involuntary_switches.filter(|_| seconds > 0.0);
    let many = |switches: u64| {
        let rate = switches as f64 / seconds;
        (rate > PER_SECOND).then(|| format!("the target lost its CPU {rate:.0} times a second"))
    };
    Sight::of(switches.map(many))
}
