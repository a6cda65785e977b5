//! Thermal throttling: a hot CPU holds a low ceiling without effort.

use super::{Guard, Level, Seen, Sight, When};

/// See the module.
pub const GUARD: Guard = Guard {
    id: "thermal",
    reads: "how often CPUs were slowed down for their heat",
    when: When::During,
    fires: Level::Fail,
    fix: "let the machine cool down, and see to its fans; a fixed frequency below turbo keeps it cool",
    judge,
};

fn judge(seen: &Seen) -> Sight {
    let hot = |times: u64| {
        (times > 0).then(|| format!("times that CPUs were slowed down for their heat: {times}"))
    };
    Sight::of(seen.grown(|reading| reading.thermal_throttles).map(hot))
}
