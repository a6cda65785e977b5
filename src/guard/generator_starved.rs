//! A starved generator: one that waits for its CPU sends late and reads late, and blames the target.

use super::{Guard, Level, Seen, Sight, When};

/// Of the load's time. A wait of this share of the slots is past what a p99 forgives five times over;
/// shorter ones show in `generator_late`.
const SHARE: f64 = 0.05;

/// See the module.
pub const GUARD: Guard = Guard {
    id: "generator_starved",
    reads: "how long the generator waited for its CPU",
    when: When::During,
    fires: Level::Fail,
    fix: "give the load CPUs of its own (--load-cpus), or take what shares them away; no quota may be \
          above the generator's cgroup",
    judge,
};

fn judge(seen: &Seen) -> Sight {
    let scenery = seen.scenery;
    if let Some(periods @ 1..) = scenery.generators_throttled_periods {
        return Sight::Fired(format!("the generator was throttled in {periods} periods"));
    }
    // It waits for what the kit put beside it too; that is planned, and recorded with it.
    let share = || {
        let planned_us = scenery
            .own
            .dependencies_us?
            .saturating_add(scenery.own.runner_us?);
        seen.share(scenery.generators_waited_us?.saturating_sub(planned_us))
    };
    let long = |share: f64| {
        (share > SHARE).then(|| {
            format!(
                "the generator waited for its CPU in {:.1} % of the time; at most {:.0} % keeps time",
                100.0 * share,
                100.0 * SHARE
            )
        })
    };
    Sight::of(share().map(long))
}
