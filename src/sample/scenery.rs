//! The machine around a load: read at its edges, cheap enough for it.

use std::path::Path;

use rustix::time::{ClockId, clock_gettime};

use super::cgroup::Cgroup;
use super::host::{self, IdleState};
use super::sampler::Sampler;
use super::{Roots, number};
use crate::record::scenery::{CpuReading, Own, Reading, Scenery};

/// `/proc/stat` counts in USER_HZ, which is 100 on every architecture that runs this program, whatever
/// the kernel's own tick is.
const TICK_US: u64 = 10_000;
/// Attempts at reading two clocks in one go.
const CLOCK_TRIES: usize = 5;

/// One edge of a load: the machine, and what the measurement itself had used by then.
#[derive(Clone, Debug)]
pub struct Edge {
    reading: Reading,
    own: Own,
    waited_us: Option<u64>,
    throttled_periods: Option<u64>,
}

/// What of a load's scenery is not read at its edges.
#[derive(Clone, Debug, Default)]
pub struct Around {
    /// The targets' CPUs.
    pub target_cpus: Vec<u32>,
    /// The CPUs of generators and dependencies.
    pub load_cpus: Vec<u32>,
    /// CPU time of all dependencies over the load, in microseconds; 0 without any.
    pub dependencies_us: Option<u64>,
    /// Running containers of anybody else.
    pub other_containers: Option<u32>,
}

impl Edge {
    /// Reads an edge: of all targets that are alive and their generators, and of these CPUs.
    pub fn read(samplers: &[&Sampler], cpus: &[u32]) -> Self {
        Self {
            reading: read(&Roots::default(), cpus),
            own: Own {
                targets_us: sum(samplers, |s| s.target().cpu_us()),
                agents_us: sum(samplers, |s| s.agent().and_then(Cgroup::cpu_us)),
                dependencies_us: None,
                runner_us: Some(own_cpu_us()),
            },
            waited_us: sum(samplers, Sampler::agent_waited_us),
            throttled_periods: sum(samplers, |s| s.agent().and_then(Cgroup::throttled_periods)),
        }
    }

    /// The scenery from this edge to the other one.
    pub fn until(self, end: Self, around: Around) -> Scenery {
        let grown = |start: Option<u64>, end: Option<u64>| end?.checked_sub(start?);
        Scenery {
            own: Own {
                targets_us: grown(self.own.targets_us, end.own.targets_us),
                agents_us: grown(self.own.agents_us, end.own.agents_us),
                dependencies_us: around.dependencies_us,
                runner_us: grown(self.own.runner_us, end.own.runner_us),
            },
            generators_waited_us: grown(self.waited_us, end.waited_us),
            generators_throttled_periods: grown(self.throttled_periods, end.throttled_periods),
            start: self.reading,
            end: end.reading,
            target_cpus: around.target_cpus,
            load_cpus: around.load_cpus,
            other_containers: around.other_containers,
        }
    }
}

/// `None` unless each of them has it: a sum without one would call its work foreign.
fn sum(samplers: &[&Sampler], of: impl Fn(&Sampler) -> Option<u64>) -> Option<u64> {
    samplers.iter().map(|sampler| of(sampler)).sum()
}

/// Reads the machine; of its CPUs, these. Nothing here can fail: what can't be read is left out.
pub fn read(roots: &Roots, cpus: &[u32]) -> Reading {
    let (monotonic_ns, realtime_ahead_ns) = clocks();
    let system = &roots.sys.join("devices/system/cpu");
    Reading {
        monotonic_ns,
        realtime_ahead_ns,
        // What is divided by time comes first: the time was read just before.
        cpus: self::cpus(roots, cpus),
        cpu_pressure_us: host::text(&roots.proc.join("pressure/cpu")).and_then(|t| pressure_us(&t)),
        load_average_1m: host::text(&roots.proc.join("loadavg"))
            .and_then(|t| host::load_average(&t)),
        swapped_pages: host::text(&roots.proc.join("vmstat")).and_then(|t| swapped_pages(&t)),
        thermal_throttles: thermal_throttles(system, cpus),
        governors: host::governors(system, cpus)
            .into_iter()
            .flatten()
            .collect(),
        turbo: host::turbo(system),
        idle_exit_us: host::idle_states(&system.join("cpu0/cpuidle"))
            .and_then(|states| idle_exit_us(&states, host::exit_limit_us(roots))),
        on_battery: host::on_battery(roots),
        hypervisor: host::hypervisor(roots),
    }
}

/// These CPUs alone; those that `/proc/stat` does not have are left out.
pub fn cpus(roots: &Roots, cpus: &[u32]) -> Vec<CpuReading> {
    let stat = host::text(&roots.proc.join("stat")).unwrap_or_default();
    let with_frequency = |cpu: CpuReading| {
        let folder = roots
            .sys
            .join(format!("devices/system/cpu/cpu{}/cpufreq", cpu.cpu));
        let khz = |name| host::line(&folder.join(name))?.parse().ok();
        CpuReading {
            khz: khz("scaling_cur_freq"),
            max_khz: khz("cpuinfo_max_freq"),
            ..cpu
        }
    };
    let readings = cpus.iter().filter_map(|cpu| cpu_times(&stat, *cpu));
    readings.map(with_frequency).collect()
}

/// CPU time of this process so far, in microseconds.
pub fn own_cpu_us() -> u64 {
    now_ns(ClockId::ProcessCPUTime) / 1000
}

fn now_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CLOCK_MONOTONIC, and how far CLOCK_REALTIME is ahead of it, in nanoseconds.
///
/// A task that loses its CPU between two readings would see a step that there was none: of several
/// attempts the quickest counts.
fn clocks() -> (u64, u64) {
    let attempt = |_| {
        let before = now_ns(ClockId::Monotonic);
        let realtime = now_ns(ClockId::Realtime);
        let after = now_ns(ClockId::Monotonic);
        let took = after - before;
        (took, after, realtime.saturating_sub(before + took / 2))
    };
    let attempts = (0..CLOCK_TRIES).map(attempt);
    let (_, monotonic_ns, ahead_ns) = attempts.min_by_key(|(took, ..)| *took).unwrap_or_default();
    (monotonic_ns, ahead_ns)
}

/// From `cpuN user nice system idle iowait irq softirq steal …`.
///
/// Idle time, and not the times of work, is what is used: the kernel measures it by the clock, while it
/// counts the others by whatever its tick happens to find. (Measured here: 10 % of a CPU in requests
/// that began between two ticks showed as 1 % of `user`.)
fn cpu_times(stat: &str, cpu: u32) -> Option<CpuReading> {
    let line = super::field(stat, &format!("cpu{cpu}"))?;
    let ticks: Option<Vec<u64>> = line
        .split_whitespace()
        .take(8)
        .map(|t| t.parse().ok())
        .collect();
    let &[_, _, _, idle, iowait, irq, softirq, steal] = ticks?.as_slice() else {
        return None;
    };
    let us = |ticks: u64| ticks.saturating_mul(TICK_US);
    Some(CpuReading {
        cpu,
        idle_us: us(idle.saturating_add(iowait)),
        interrupts_us: us(irq.saturating_add(softirq)),
        steal_us: us(steal),
        khz: None,
        max_khz: None,
    })
}

/// From `some avg10=0.00 avg60=0.00 avg300=0.00 total=266919242`.
fn pressure_us(text: &str) -> Option<u64> {
    let some = super::field(text, "some")?;
    let mut entries = some.split_whitespace();
    entries
        .find_map(|entry| entry.strip_prefix("total="))?
        .parse()
        .ok()
}

fn swapped_pages(vmstat: &str) -> Option<u64> {
    number(vmstat, "pswpin")?.checked_add(number(vmstat, "pswpout")?)
}

/// Summed over these CPUs; a package's count shows at each of its CPUs, and only its growth matters.
fn thermal_throttles(folder: &Path, cpus: &[u32]) -> Option<u64> {
    let count = |cpu: &u32, name| {
        let path = folder.join(format!("cpu{cpu}/thermal_throttle/{name}"));
        host::line(&path)?.parse::<u64>().ok()
    };
    let names = ["core_throttle_count", "package_throttle_count"];
    let counts = cpus
        .iter()
        .flat_map(|cpu| names.map(|name| count(cpu, name)));
    counts.flatten().reduce(u64::saturating_add)
}

/// The longest way out of a state that is in use: one that is enabled, and within the limit if there is one.
pub fn idle_exit_us(states: &[IdleState], limit_us: Option<u32>) -> Option<u64> {
    let enabled = states.iter().filter(|state| state.enabled != Some(false));
    let exits = enabled.filter_map(|state| state.exit_latency_us);
    exits
        .filter(|exit_us| limit_us.is_none_or(|limit_us| *exit_us <= u64::from(limit_us)))
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sampler::{self, tests::Tree};

    /// A bare-metal machine that shows everything.
    fn metal() -> Tree {
        let tree = Tree::new();
        let cpu = "sys/devices/system/cpu";
        let files = [
            (
                "proc/stat".into(),
                "cpu  60 0 20 100 0 0 0 20 9 0\ncpu0 30 0 10 50 5 1 2 10 9 0\ncpu1 30 0 10 40 5 0 0 10 0 0\ncpu10 9 9 9 9 9 9 9 9 9 9\nintr 5\n",
            ),
            (
                "proc/pressure/cpu".into(),
                "some avg10=10.58 avg60=7.19 avg300=17.79 total=266919242\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
            ),
            ("proc/loadavg".into(), "1.21 0.87 0.38 4/125 29022\n"),
            (
                "proc/vmstat".into(),
                "nr_free_pages 7\npswpin 3\npswpout 4\n",
            ),
            ("proc/cpuinfo".into(), "flags\t\t: fpu vme\n"),
            (
                format!("{cpu}/cpu0/cpufreq/scaling_governor"),
                "powersave\n",
            ),
            (
                format!("{cpu}/cpu1/cpufreq/scaling_governor"),
                "performance\n",
            ),
            (format!("{cpu}/cpu0/cpufreq/scaling_cur_freq"), "1200000\n"),
            (format!("{cpu}/cpu0/cpufreq/cpuinfo_max_freq"), "3600000\n"),
            (
                format!("{cpu}/cpu0/thermal_throttle/core_throttle_count"),
                "2\n",
            ),
            (
                format!("{cpu}/cpu0/thermal_throttle/package_throttle_count"),
                "5\n",
            ),
            (format!("{cpu}/intel_pstate/no_turbo"), "0\n"),
            (format!("{cpu}/cpu0/cpuidle/state0/name"), "POLL\n"),
            (format!("{cpu}/cpu0/cpuidle/state0/latency"), "0\n"),
            (format!("{cpu}/cpu0/cpuidle/state1/name"), "C1\n"),
            (format!("{cpu}/cpu0/cpuidle/state1/latency"), "2\n"),
            (format!("{cpu}/cpu0/cpuidle/state2/name"), "C6\n"),
            (format!("{cpu}/cpu0/cpuidle/state2/latency"), "133\n"),
            (format!("{cpu}/cpu0/cpuidle/state2/disable"), "1\n"),
            ("sys/class/power_supply/AC/type".into(), "Mains\n"),
            ("sys/class/power_supply/BAT0/type".into(), "Battery\n"),
            ("sys/class/power_supply/BAT0/status".into(), "Discharging\n"),
            ("sys/class/power_supply/mouse/type".into(), "Battery\n"),
            ("sys/class/power_supply/mouse/scope".into(), "Device\n"),
        ];
        for (path, text) in files {
            tree.write(&path, text);
        }
        tree
    }

    #[test]
    fn an_idle_state_is_in_use_if_it_is_enabled_and_within_the_limit() {
        let tree = metal();
        let exit_us = || read(&tree.roots, &[0]).idle_exit_us;
        tree.write("sys/devices/system/cpu/cpu0/cpuidle/state2/disable", "0\n");
        assert_eq!(exit_us(), Some(133));
        for (limit_us, expected) in [(200, 133), (10, 2), (0, 0)] {
            tree.write("dev/cpu_dma_latency", i32::to_ne_bytes(limit_us));
            assert_eq!(exit_us(), Some(expected), "{limit_us}");
        }
    }

    #[test]
    fn a_machine_that_shows_everything_is_read() {
        let reading = read(&metal().roots, &[0, 1, 7]);
        let first = CpuReading {
            cpu: 0,
            idle_us: 550_000,
            interrupts_us: 30_000,
            steal_us: 100_000,
            khz: Some(1_200_000),
            max_khz: Some(3_600_000),
        };
        let second = CpuReading {
            cpu: 1,
            idle_us: 450_000,
            steal_us: 100_000,
            ..CpuReading::default()
        };
        assert_eq!(reading.cpus, [first, second], "there is no CPU 7");
        assert_eq!(reading.cpu_pressure_us, Some(266_919_242));
        assert_eq!(reading.load_average_1m, Some(1.21));
        assert_eq!(reading.swapped_pages, Some(7));
        assert_eq!(reading.thermal_throttles, Some(7));
        assert_eq!(reading.governors, ["performance", "powersave"]);
        assert_eq!(reading.turbo, Some(true));
        assert_eq!(reading.idle_exit_us, Some(2), "C6 is switched off");
        assert_eq!(reading.on_battery, Some(true));
        assert_eq!(reading.hypervisor, Some(false));
    }

    #[test]
    fn only_the_machines_own_battery_counts() {
        let tree = metal();
        let battery = "sys/class/power_supply/BAT0/status";
        for (status, expected) in [("Discharging\n", true), ("Full\n", false)] {
            tree.write(battery, status);
            tree.write("sys/class/power_supply/mouse/status", "Discharging\n");
            assert_eq!(host::on_battery(&tree.roots), Some(expected), "{status}");
        }
    }

    #[test]
    fn what_a_virtual_machine_does_not_show_is_left_out() {
        let tree = Tree::new();
        tree.write("proc/stat", "cpu0 30 0 10 50 5 1 2\n");
        tree.dir("sys/class/power_supply");
        let reading = read(&tree.roots, &[0]);
        let nothing = Reading {
            monotonic_ns: reading.monotonic_ns,
            realtime_ahead_ns: reading.realtime_ahead_ns,
            ..Reading::default()
        };
        assert_eq!(reading, nothing);
        let json = serde_json::to_string(&reading).unwrap();
        assert!(json.ends_with(r#","cpus":[]}"#), "{json}");
        assert_eq!(pressure_us("some avg10=1\n"), None);
        assert_eq!(swapped_pages("pswpin 3\n"), None);
    }

    #[test]
    fn what_the_measurement_used_itself_is_between_its_edges() {
        let tree = sampler::tests::v1();
        let sampler = Sampler::with_roots(tree.roots.clone(), 42, Some(70), false).unwrap();
        let alone = Sampler::with_roots(tree.roots.clone(), 42, None, false).unwrap();
        let start = Edge::read(&[&sampler, &sampler], &[]);
        tree.write("cgroup/cpuacct/docker/4b89/cpuacct.usage", "2234567000\n");
        tree.write("cgroup/cpu/docker/a9e7/cpu.stat", "nr_throttled 3\n");
        tree.write("proc/70/task/70/schedstat", "555999 9000000 5545\n");
        let end = Edge::read(&[&sampler, &sampler], &[]);
        let around = Around {
            target_cpus: vec![1],
            dependencies_us: Some(5),
            ..Around::default()
        };
        let scenery = start.clone().until(end, around);
        let own = scenery.own;
        assert_eq!((own.targets_us, own.agents_us), (Some(2_000_000), Some(0)));
        assert_eq!(
            (own.dependencies_us, scenery.target_cpus),
            (Some(5), vec![1])
        );
        assert_eq!(scenery.generators_waited_us, Some(14_000));
        assert_eq!(scenery.generators_throttled_periods, Some(2));
        let without = start.until(Edge::read(&[&sampler, &alone], &[]), Around::default());
        assert_eq!(without.own.agents_us, None, "one agent's time is not known");
    }

    #[test]
    fn this_machine_and_this_process_are_read() {
        let host = host::Host::read(&Roots::default());
        let cpus: Vec<u32> = host.facts.cpus.iter().map(|cpu| cpu.cpu).collect();
        let before = read(&Roots::default(), &cpus);
        let own = own_cpu_us();
        let until = std::time::Instant::now() + std::time::Duration::from_millis(30);
        while std::time::Instant::now() < until {
            std::hint::black_box(0);
        }
        let after = read(&Roots::default(), &cpus);
        assert_eq!(before.cpus.len(), cpus.len());
        assert!(after.monotonic_ns > before.monotonic_ns + 30_000_000);
        assert!(own_cpu_us() > own);
    }
}
