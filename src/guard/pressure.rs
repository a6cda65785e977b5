//! CPU pressure: the time in which some task of the machine was ready and had no CPU.

use super::{Guard, Level, Seen, Sight, When};

/// Of the load's time. A target with more threads than CPUs presses on itself, so it only warns.
const SHARE: f64 = 0.25;

/// See the module.
pub const GUARD: Guard = Guard {
    id: "pressure",
    reads: "how long tasks waited for a CPU",
    when: When::During,
    fires: Level::Warn,
    fix: "a target's own threads do this near saturation: lower the rate; else stop what else is running",
    judge,
};

fn judge(seen: &Seen) -> Sight {
    let waited = seen.grown(|reading| reading.cpu_pressure_us);
    let much = |share: f64| {
        let pct = 100.0 * share;
        (share > SHARE).then(|| format!("tasks waited for a CPU in {pct:.0} % of the load's time"))
    };
    Sight::of(waited.and_then(|us| seen.share(us)).map(much))
}
