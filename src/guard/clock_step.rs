//! Clock steps: somebody set the time, or the machine slept or was resumed.

use super::{Guard, Level, Seen, Sight, When};

/// Two clocks read in one go agree within microseconds, and slewing moves both alike: whatever exceeds
/// this is a step.
const STEP_NS: u64 = 1_000_000;

/// See the module.
pub const GUARD: Guard = Guard {
    id: "clock_step",
    reads: "steps of the wall clock",
    when: When::During,
    fires: Level::Fail,
    fix: "let the clock settle before measuring (chronyc tracking), and keep the machine from sleeping",
    judge,
};

fn judge(seen: &Seen) -> Sight {
    let (start, end) = (&seen.scenery.start, &seen.scenery.end);
    let step_ns = end.realtime_ahead_ns.abs_diff(start.realtime_ahead_ns);
    let ms = step_ns as f64 / 1e6;
    let stepped = || format!("the wall clock stepped by {ms:.1} ms");
    Sight::of(Some((step_ns > STEP_NS).then(stepped)))
}
