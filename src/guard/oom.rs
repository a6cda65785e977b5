//! Memory: a process of the target that was killed for it. The limit is the plan's and the kill a result
//! about the target, so that the cell stays valid; what it then answers is judged as ever.

use super::{Guard, Level, Seen, Sight, When};

/// See the module.
pub const GUARD: Guard = Guard {
    id: "oom",
    reads: "processes killed for memory",
    when: When::During,
    fires: Level::Warn,
    fix: "the target needs more than the plan's `memory_mib`; a worker that was killed may have been \
          replaced",
    judge,
};

fn judge(seen: &Seen) -> Sight {
    let killed = |kills: u64| {
        (kills > 0).then(|| format!("processes of the target that were killed for memory: {kills}"))
    };
    Sight::of(seen.target.oom_kills.map(killed))
}
