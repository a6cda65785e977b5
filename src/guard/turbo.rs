//! Turbo: how far the frequency rises depends on heat, and on what the other cores do.

use super::{Guard, Level, Seen, Sight, When};

/// See the module.
pub const GUARD: Guard = Guard {
    id: "turbo",
    reads: "whether the frequency may rise above the nominal one",
    when: When::Before,
    fires: Level::Warn,
    fix: "switch it off while measuring (intel_pstate/no_turbo or cpufreq/boost in \
          /sys/devices/system/cpu), on the host that owns the CPUs; or trust only ratios from \
          interleaved pairs",
    judge,
};

fn judge(seen: &Seen) -> Sight {
    allowed(seen.scenery.start.turbo)
}

/// Judges whether it is on.
pub fn allowed(turbo: Option<bool>) -> Sight {
    Sight::of(turbo.map(|on| on.then(|| "turbo is on: the frequency depends on heat".into())))
}
