//! What was read of the machine around a load: the evidence that the guards judge.
//!
//! What the machine does not show is left out: not visible here, never "fine".

use serde::{Deserialize, Serialize};

/// The machine at both edges of a load, and what of its work was the measurement's own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenery {
    /// Right before slot 0.
    pub start: Reading,
    /// Right after the drain.
    pub end: Reading,
    /// The targets' CPUs.
    pub target_cpus: Vec<u32>,
    /// The CPUs of generators and dependencies.
    pub load_cpus: Vec<u32>,
    /// Whose CPU time is not foreign.
    pub own: Own,
    /// How long the generators' threads were ready and did not run, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generators_waited_us: Option<u64>,
    /// Periods in which the generators' cgroups were throttled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generators_throttled_periods: Option<u64>,
    /// Running containers of anybody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_containers: Option<u32>,
}

impl Scenery {
    /// The time between the two readings, in seconds.
    pub fn seconds(&self) -> f64 {
        let ns = self
            .end
            .monotonic_ns
            .saturating_sub(self.start.monotonic_ns);
        ns as f64 / 1e9
    }
}

/// CPU time between the two readings, in microseconds, of what the measurement started itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Own {
    /// The cgroups of all targets that are alive, those of other sides too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targets_us: Option<u64>,
    /// The cgroups of all generators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents_us: Option<u64>,
    /// All dependencies; 0 without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies_us: Option<u64>,
    /// This program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner_us: Option<u64>,
}

/// The machine at a moment. Counters grow from its start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// The moment, on CLOCK_MONOTONIC.
    pub monotonic_ns: u64,
    /// How far CLOCK_REALTIME was ahead of it. Slewing moves both alike: only a step changes this.
    pub realtime_ahead_ns: u64,
    /// The CPUs of targets and load.
    pub cpus: Vec<CpuReading>,
    /// How long at least one task of the machine waited for a CPU, in microseconds (PSI, `some`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_pressure_us: Option<u64>,
    /// Runnable or blocked tasks, averaged over the last minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_average_1m: Option<f64>,
    /// How often cores and packages were slowed down for their heat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thermal_throttles: Option<u64>,
    /// The frequency governors in use, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub governors: Vec<String>,
    /// Whether the frequency may rise above the nominal one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turbo: Option<bool>,
    /// How long waking from the deepest idle state in use takes, in microseconds, as its driver says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_exit_us: Option<u64>,
    /// Whether the machine ran on its battery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_battery: Option<bool>,
    /// Whether it is a virtual machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<bool>,
    /// Pages read from swap and written to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swapped_pages: Option<u64>,
}

/// One CPU at a moment, from `/proc/stat` and `cpufreq`; times in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuReading {
    /// Its number.
    pub cpu: u32,
    /// Idle, waiting for a disk or not.
    pub idle_us: u64,
    /// In interrupts, hard and soft.
    pub interrupts_us: u64,
    /// Taken by the hypervisor for others.
    pub steal_us: u64,
    /// Its frequency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub khz: Option<u64>,
    /// The highest that it is made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_khz: Option<u64>,
}
