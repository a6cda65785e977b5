//! CPU time by whom it went to: arithmetic that several guards share.

use super::Sight;
use crate::record::scenery::{CpuReading, Scenery};

/// A reading counts in hundredths of a second, idle time and waiting for disks apart.
const COUNTED_IN_US: f64 = 20_000.0;

/// How much CPU time there was between two readings of the same CPUs, in microseconds, that was not
/// idle, not in interrupts and not stolen; `None` where not all of them were read.
///
/// Interrupts are left out because whose they are can't be told: kernels that measure them charge them
/// to nobody, others to whatever runs.
fn busy_us(start: &[CpuReading], end: &[CpuReading], cpu: u32, elapsed_us: f64) -> Option<f64> {
    let of = |readings: &[CpuReading]| readings.iter().find(|r| r.cpu == cpu).copied();
    let (start, end) = (of(start)?, of(end)?);
    let rest = |r: CpuReading| {
        r.idle_us
            .saturating_add(r.interrupts_us)
            .saturating_add(r.steal_us)
    };
    let rest = rest(end).checked_sub(rest(start))?;
    Some((elapsed_us - rest as f64).max(0.0))
}

/// The busiest of these CPUs between two readings, and its share of busy time from 0 to 1.
pub fn busiest(
    start: &[CpuReading],
    end: &[CpuReading],
    cpus: &[u32],
    elapsed_us: f64,
) -> Option<(u32, f64)> {
    let share = |cpu: &u32| Some((*cpu, busy_us(start, end, *cpu, elapsed_us)? / elapsed_us));
    let shares: Option<Vec<_>> = cpus.iter().map(share).collect();
    shares?.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))
}

/// How much foreign work is quiet, in CPUs.
pub struct Bound {
    /// For each CPU.
    pub each: f64,
    /// In all, so that a program on any one CPU shows among however many.
    pub most: f64,
}

/// Judges the foreign work on these CPUs, `whose` they are: all that was busy, less what the measurement
/// started there itself.
pub fn foreign(scenery: &Scenery, whose: &str, cpus: &[u32], bound: &Bound) -> Sight {
    let count = cpus.len() as f64;
    let found = |foreign_cpus: f64| {
        let unsure_cpus = count * COUNTED_IN_US / (scenery.seconds() * 1e6);
        let bound = (bound.each * count).min(bound.most) + unsure_cpus;
        (foreign_cpus > bound).then(|| {
            format!(
                "foreign work took {:.1} % of the {whose} CPUs; at most {:.1} % is quiet",
                100.0 * foreign_cpus / count,
                100.0 * bound / count
            )
        })
    };
    Sight::of(foreign_cpus(scenery, cpus).map(found))
}

fn foreign_cpus(scenery: &Scenery, cpus: &[u32]) -> Option<f64> {
    let elapsed_us = scenery.seconds() * 1e6;
    if cpus.is_empty() || elapsed_us <= 0.0 {
        return None;
    }
    let (start, end) = (&scenery.start.cpus, &scenery.end.cpus);
    let busy_us = |cpu: &u32| busy_us(start, end, *cpu, elapsed_us);
    let busy_us: f64 = cpus.iter().map(busy_us).sum::<Option<f64>>()?;
    Some((busy_us - own_us(scenery, cpus)? as f64).max(0.0) / elapsed_us)
}

/// The measurement's own work that may have been on these CPUs.
fn own_us(scenery: &Scenery, cpus: &[u32]) -> Option<u64> {
    let shared = |others: &[u32]| others.iter().any(|cpu| cpus.contains(cpu));
    let own = &scenery.own;
    let mut sum = 0u64;
    if shared(&scenery.target_cpus) {
        sum = sum.checked_add(own.targets_us?)?;
    }
    if shared(&scenery.load_cpus) {
        // The runner keeps off the targets' CPUs and may be on any other.
        for us in [own.agents_us, own.dependencies_us, own.runner_us] {
            sum = sum.checked_add(us?)?;
        }
    }
    Some(sum)
}
