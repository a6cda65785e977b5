//! The frequency regime: a throttled CPU is very stable, and stably slow.

use super::{Guard, Level, Seen, Sight, When};

/// Of the highest frequency that a CPU is made for. Turbo's steps, from one busy core to all of them,
/// are about a fifth.
const SHARE: f64 = 0.8;

/// See the module.
pub const GUARD: Guard = Guard {
    id: "frequency",
    reads: "the CPUs' frequency",
    when: When::After,
    fires: Level::Warn,
    fix: "see what holds it down: the governor, a cap (cpupower frequency-info), heat, or the power supply",
    judge,
};

/// Right after the load a CPU that served it has no reason to be slow yet.
fn judge(seen: &Seen) -> Sight {
    let reading = &seen.scenery.end;
    let known = reading
        .cpus
        .iter()
        .map(|cpu| Some((cpu.cpu, cpu.khz?, cpu.max_khz?)));
    let known: Option<Vec<(u32, u64, u64)>> = known.collect();
    let slowest = |cpus: Vec<(u32, u64, u64)>| {
        let share = |(_, khz, max): &(u32, u64, u64)| *khz as f64 / *max as f64;
        let slow = cpus.iter().min_by(|a, b| share(a).total_cmp(&share(b)))?;
        let (cpu, mhz, max_mhz) = (slow.0, slow.1 / 1000, slow.2 / 1000);
        (share(slow) < SHARE).then(|| format!("CPU {cpu} ran at {mhz} MHz of {max_mhz}"))
    };
    Sight::of(known.filter(|cpus| !cpus.is_empty()).map(slowest))
}
