//! The power source: on its battery a machine saves where it can.

use super::{Guard, Level, Seen, Sight, When};

/// See the module.
pub const GUARD: Guard = Guard {
    id: "power",
    reads: "whether the machine runs on its battery",
    when: When::Before,
    fires: Level::Warn,
    fix: "plug it in",
    judge,
};

fn judge(seen: &Seen) -> Sight {
    source(seen.scenery.start.on_battery)
}

/// Judges whether it is the battery.
pub fn source(on_battery: Option<bool>) -> Sight {
    Sight::of(on_battery.map(|yes| yes.then(|| "the machine runs on its battery".into())))
}
