//! What sets the CPUs' frequency: any governor but `performance` changes it under a load.

use super::{Guard, Level, Seen, Sight, When};

/// See the module.
pub const GUARD: Guard = Guard {
    id: "governor",
    reads: "what sets the CPUs' frequency",
    when: When::Before,
    fires: Level::Warn,
    fix: "fix the frequency while measuring (cpupower frequency-set -g performance), on the host that \
          owns the CPUs; or trust only ratios from interleaved pairs",
    judge,
};

fn judge(seen: &Seen) -> Sight {
    in_use(seen.scenery.start.governors.iter().map(String::as_str))
}

/// Judges the governors that are in use; none are not visible.
pub fn in_use<'a>(names: impl IntoIterator<Item = &'a str>) -> Sight {
    let names: Vec<&str> = names.into_iter().collect();
    match names[..] {
        [] => Sight::Unseen,
        ["performance"] => Sight::Quiet,
        _ => Sight::Fired(format!("CPUs under the governor {}", names.join(" and "))),
    }
}
