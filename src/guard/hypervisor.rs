//! A hypervisor: it may slow a machine down and report nothing (measured: twofold, from second to
//! second, with no steal).

use super::{Guard, Level, Seen, Sight, When};

/// See the module.
pub const GUARD: Guard = Guard {
    id: "hypervisor",
    reads: "whether this is a virtual machine",
    when: When::Before,
    fires: Level::Warn,
    fix: "compare only within one session, by ratios; absolute numbers are of this machine",
    judge,
};

fn judge(seen: &Seen) -> Sight {
    present(seen.scenery.start.hypervisor)
}

/// Judges whether there is one.
pub fn present(hypervisor: Option<bool>) -> Sight {
    let what = "a virtual machine: its speed is not its own";
    Sight::of(hypervisor.map(|yes| yes.then(|| what.into())))
}
