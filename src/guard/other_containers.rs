//! Other containers: they share the engine, the caches, and whatever CPUs they like.

use super::{Guard, Level, Seen, Sight, When};

/// See the module.
pub const GUARD: Guard = Guard {
    id: "other_containers",
    reads: "how many other containers run",
    when: When::Before,
    fires: Level::Warn,
    fix: "stop them while measuring: docker ps",
    judge,
};

fn judge(seen: &Seen) -> Sight {
    let run = |count: u32| (count > 0).then(|| format!("other containers that run: {count}"));
    Sight::of(seen.scenery.other_containers.map(run))
}
