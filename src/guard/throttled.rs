//! A throttled target: a quota that nobody planned makes a low ceiling that looks very stable.

use super::{Guard, Level, Seen, Sight, When};

/// See the module.
pub const GUARD: Guard = Guard {
    id: "throttled",
    reads: "periods in which the target was throttled",
    when: When::During,
    fires: Level::Fail,
    fix: "take the quota off the cgroups above the container, or plan it: `limits: {cpu_quota: …}`",
    judge,
};

fn judge(seen: &Seen) -> Sight {
    let target = seen.target;
    let unplanned = |periods: u64| {
        (periods > 0 && !target.has_quota).then(|| {
            format!("the target was throttled in {periods} periods without a planned quota")
        })
    };
    Sight::of(target.throttled_periods.map(unplanned))
}
