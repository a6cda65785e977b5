//! The machine that measures: what must not change between cells, and what it was doing at the time.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Roots, cgroup, field, number};

/// The machine, for `environment.json`. What it does not show is null: not visible here, never "fine".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// What must not change between the cells of a comparison.
    pub facts: Facts,
    /// What changes all the time.
    pub moment: Moment,
}

/// What must not change between the cells of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// The architecture, as in `x86_64`.
    pub arch: String,
    /// The kernel's name: `Linux`.
    pub system: Option<String>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The distribution, as it calls itself.
    pub os: Option<String>,
    /// The CPU, as it calls itself.
    pub cpu_model: Option<String>,
    /// The CPUs that are online.
    pub cpus: Vec<Cpu>,
    /// Memory in all.
    pub memory_mib: Option<u64>,
    /// Swap space in all; 0 is none.
    pub swap_mib: Option<u64>,
    /// On cgroup v1: whether memory and swap can be limited together.
    pub swap_accounting: Option<bool>,
    /// The frequency governors in use.
    pub governors: Option<BTreeSet<String>>,
    /// What sets the frequency.
    pub frequency_driver: Option<String>,
    /// Whether the frequency may rise above the nominal one.
    pub turbo: Option<bool>,
    /// What puts idle CPUs to sleep.
    pub idle_driver: Option<String>,
    /// How deep they may sleep.
    pub idle_states: Option<Vec<IdleState>>,
    /// The longest way out of an idle state that is allowed at this time; without a limit there is no such field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_limit_us: Option<u32>,
    /// Whether this is a virtual machine.
    pub hypervisor: Option<bool>,
    /// When the kernel uses huge pages: `always`, `madvise` or `never`.
    pub transparent_huge_pages: Option<String>,
    /// The cgroup controllers: name -> 1 or 2, by the interface that carries it.
    pub cgroup_controllers: BTreeMap<String, u32>,
    /// What the kernel's clock reads.
    pub clocksource: Option<String>,
    /// Whether a wait on sockets can be shorter than a millisecond.
    pub epoll_pwait2: bool,
}

/// What changes all the time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// Runnable or blocked tasks, averaged over the last minute.
    pub load_average_1m: Option<f64>,
    /// CPU time that the hypervisor gave to others, of all since the machine's start.
    pub steal_pct: Option<f64>,
    /// Memory that could be had without swapping.
    pub memory_available_mib: Option<u64>,
    /// Whether it runs on its battery.
    pub on_battery: Option<bool>,
    /// How many files this process may open; the greatest number where there is no limit.
    pub nofile_soft: u64,
    /// How far it may raise that itself.
    pub nofile_hard: u64,
}

/// One CPU as the kernel numbers it, and where it sits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// Its number.
    pub cpu: u32,
    /// Its core, numbered within the socket.
    pub core: Option<u32>,
    /// Its socket.
    pub socket: Option<u32>,
    /// The CPUs of the same core, itself included; empty where that is not visible.
    pub siblings: Vec<u32>,
}

/// One way in which an idle CPU sleeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleState {
    /// The driver's name for it.
    pub name: String,
    /// How long waking up takes, as the driver states it.
    pub exit_latency_us: Option<u64>,
    /// Whether it is in use.
    pub enabled: Option<bool>,
}

impl Host {
    /// Reads the machine. Nothing here can fail: what can't be read is null.
    pub fn read(roots: &Roots) -> Self {
        Self {
            facts: Facts::read(roots),
            moment: Moment::read(roots),
        }
    }

    /// The SHA-256 of what must not change between cells, in hexadecimal digits.
    pub fn fingerprint(&self) -> String {
        let facts = serde_json::to_vec(&self.facts).expect("plain values become JSON");
        let digest = Sha256::digest(facts);
        crate::record::sums::hex(&digest)
    }
}

impl Facts {
    fn read(roots: &Roots) -> Self {
        let meminfo = text(&roots.proc.join("meminfo")).unwrap_or_default();
        let mib = |key| Some(number(&meminfo, key)? / 1024);
        let cpuinfo = text(&roots.proc.join("cpuinfo")).unwrap_or_default();
        let system = &roots.sys.join("devices/system");
        let cpu = &system.join("cpu");
        let cpus = cpus(roots, cpu);
        Self {
            arch: std::env::consts::ARCH.into(),
            system: line(&roots.proc.join("sys/kernel/ostype")),
            kernel: line(&roots.proc.join("sys/kernel/osrelease")),
            os: text(&roots.etc.join("os-release")).and_then(|text| pretty_name(&text)),
            cpu_model: cpu_model(&cpuinfo),
            memory_mib: mib("MemTotal"),
            swap_mib: mib("SwapTotal"),
            swap_accounting: cgroup::swap_accounting_v1(roots),
            governors: governors(cpu, &cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<_>>()),
            frequency_driver: line(&cpu.join("cpu0/cpufreq/scaling_driver")),
            turbo: turbo(cpu),
            idle_driver: line(&cpu.join("cpuidle/current_driver")).filter(|name| name != "none"),
            idle_states: idle_states(&cpu.join("cpu0/cpuidle")),
            exit_limit_us: exit_limit_us(roots),
            hypervisor: hypervisor(roots),
            transparent_huge_pages: line(&roots.sys.join("kernel/mm/transparent_hugepage/enabled"))
                .and_then(|choices| chosen(&choices)),
            cgroup_controllers: cgroup::controllers(roots),
            clocksource: line(&system.join("clocksource/clocksource0/current_clocksource")),
            epoll_pwait2: epoll_pwait2(),
            cpus,
        }
    }
}

impl Moment {
    fn read(roots: &Roots) -> Self {
        use rustix::process::{Resource, getrlimit};
        let files = getrlimit(Resource::Nofile);
        let meminfo = text(&roots.proc.join("meminfo")).unwrap_or_default();
        Self {
            load_average_1m: text(&roots.proc.join("loadavg")).and_then(|text| load_average(&text)),
            steal_pct: text(&roots.proc.join("stat")).and_then(|text| steal_pct(&text)),
            memory_available_mib: number(&meminfo, "MemAvailable").map(|kib| kib / 1024),
            on_battery: on_battery(roots),
            nofile_soft: files.current.unwrap_or(u64::MAX),
            nofile_hard: files.maximum.unwrap_or(u64::MAX),
        }
    }
}

/// Free space for this user where a path is or will be, in MiB.
pub fn free_disk_mib(path: &Path) -> Option<u64> {
    let path = std::path::absolute(path).ok()?;
    let existing = path.ancestors().find(|path| path.exists())?;
    let disk = rustix::fs::statvfs(existing).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize) / (1 << 20))
}

/// The numbers of a list as the kernel writes it, as in `0-1,3`; `None` for anything else.
pub fn cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = BTreeSet::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        // No kernel numbers that many: a list like 0-4294967295 is no list.
        if first > last || last > 0xffff {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus.into_iter().collect())
}

fn cpus(roots: &Roots, folder: &Path) -> Vec<Cpu> {
    let online = line(&folder.join("online")).and_then(|list| cpu_list(&list));
    let numbers = online
        .or_else(|| Some(listed_cpus(&text(&roots.proc.join("stat"))?)))
        .unwrap_or_default();
    let sits = |cpu| {
        let topology = folder.join(format!("cpu{cpu}/topology"));
        let value = |name| line(&topology.join(name));
        Cpu {
            cpu,
            core: value("core_id").and_then(|id| id.parse().ok()),
            socket: value("physical_package_id").and_then(|id| id.parse().ok()),
            siblings: value("thread_siblings_list")
                .and_then(|list| cpu_list(&list))
                .unwrap_or_default(),
        }
    };
    numbers.into_iter().map(sits).collect()
}

/// The CPUs that `/proc/stat` counts, which are those online.
fn listed_cpus(stat: &str) -> Vec<u32> {
    stat.lines()
        .filter_map(|line| line.strip_prefix("cpu")?.split(' ').next()?.parse().ok())
        .collect()
}

fn pretty_name(os_release: &str) -> Option<String> {
    let line = |key: &str| os_release.lines().find_map(|line| line.strip_prefix(key));
    let name = line("PRETTY_NAME=").or_else(|| line("NAME="))?;
    Some(name.trim_matches(['"', '\'']).to_owned()).filter(|name| !name.is_empty())
}

/// x86 has a name; Arm has numbers for its maker and its design.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    let value = |key: &str| {
        let lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        let mut values = lines.filter(|(name, _)| name.trim_end() == key);
        values.next().map(|(_, value)| value.trim().to_owned())
    };
    let arm = || {
        let (maker, part) = (value("CPU implementer")?, value("CPU part")?);
        Some(format!("implementer {maker} part {part}"))
    };
    value("model name").or_else(arm)
}

pub(super) fn governors(folder: &Path, cpus: &[u32]) -> Option<BTreeSet<String>> {
    let governor = |cpu: &u32| format!("cpu{cpu}/cpufreq/scaling_governor");
    let all: BTreeSet<String> = cpus
        .iter()
        .filter_map(|cpu| line(&folder.join(governor(cpu))))
        .collect();
    (!all.is_empty()).then_some(all)
}

pub(super) fn turbo(folder: &Path) -> Option<bool> {
    let flag = |name: &str| Some(line(&folder.join(name))?.parse::<u32>().ok()? != 0);
    let intel = flag("intel_pstate/no_turbo").map(|off| !off);
    intel.or_else(|| flag("cpufreq/boost"))
}

pub(super) fn idle_states(folder: &Path) -> Option<Vec<IdleState>> {
    let state = |index: u32| {
        let folder = folder.join(format!("state{index}"));
        let value = |name| line(&folder.join(name));
        Some(IdleState {
            name: value("name")?,
            exit_latency_us: value("latency").and_then(|us| us.parse().ok()),
            enabled: value("disable").map(|disabled| disabled == "0"),
        })
    };
    let states: Vec<_> = (0..).map_while(state).collect();
    (!states.is_empty()).then_some(states)
}

/// The file of [`exit_limit_us`].
pub const EXIT_LIMIT: &str = "cpu_dma_latency";

/// What the kernel keeps idle states to, for those who asked for it: a native 32-bit integer.
pub(super) fn exit_limit_us(roots: &Roots) -> Option<u32> {
    /// PM_QOS_CPU_LATENCY_DEFAULT_VALUE: nobody asked.
    const UNLIMITED: i32 = 2_000_000_000;
    let mut bytes = [0; 4];
    let mut file = std::fs::File::open(roots.dev.join(EXIT_LIMIT)).ok()?;
    file.read_exact(&mut bytes).ok()?;
    let limit_us = i32::from_ne_bytes(bytes);
    u32::try_from(limit_us)
        .ok()
        .filter(|_| limit_us != UNLIMITED)
}

/// x86 CPUs say so themselves. Elsewhere only a "yes" can be seen.
pub fn hypervisor(roots: &Roots) -> Option<bool> {
    let cpuinfo = text(&roots.proc.join("cpuinfo")).unwrap_or_default();
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    let flag = flags.map(|line| line.split_whitespace().any(|flag| flag == "hypervisor"));
    let folder = || roots.sys.join("hypervisor/type").exists().then_some(true);
    flag.or_else(folder)
}

/// Whether a battery of the machine's own is being emptied. Where none is listed and no plug either,
/// nothing is known: a virtual machine does not see its host's.
pub(super) fn on_battery(roots: &Roots) -> Option<bool> {
    let supplies = std::fs::read_dir(roots.sys.join("class/power_supply")).ok()?;
    let emptied = supplies.flatten().filter_map(|supply| {
        let value = |name| line(&supply.path().join(name));
        match value("type")?.as_str() {
            // A mouse has one too.
            "Battery" if value("scope").as_deref() == Some("Device") => None,
            "Battery" => Some(value("status")? == "Discharging"),
            "Mains" => Some(false),
            _ => None,
        }
    });
    emptied.reduce(|one, other| one || other)
}

/// The choice in brackets, as in `always [madvise] never`.
fn chosen(choices: &str) -> Option<String> {
    let (_, rest) = choices.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

pub(super) fn load_average(loadavg: &str) -> Option<f64> {
    let average: f64 = loadavg.split_whitespace().next()?.parse().ok()?;
    average.is_finite().then_some(average)
}

/// From `cpu user nice system idle iowait irq softirq steal guest guest_nice`; guests' time is in
/// user's already.
fn steal_pct(stat: &str) -> Option<f64> {
    let ticks: Option<Vec<u64>> = field(stat, "cpu")?
        .split_whitespace()
        .take(8)
        .map(|ticks| ticks.parse().ok())
        .collect();
    let ticks = ticks.filter(|ticks| ticks.len() == 8)?;
    let all = ticks
        .iter()
        .fold(0u64, |sum, part| sum.saturating_add(*part));
    (all > 0).then(|| ticks[7] as f64 * 100.0 / all as f64)
}

/// Asks the kernel for a wait too long for the older call's milliseconds, on an event that is there
/// already: answered at once, or refused where the call does not exist or is forbidden.
fn epoll_pwait2() -> bool {
    use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
    let ask = || {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let ready = eventfd(1, EventfdFlags::CLOEXEC)?;
        epoll::add(
            &epoll,
            &ready,
            epoll::EventData::new_u64(0),
            epoll::EventFlags::IN,
        )?;
        let mut events = [epoll::Event {
            flags: epoll::EventFlags::empty(),
            data: epoll::EventData::new_u64(0),
        }];
        let ten_years = Timespec {
            tv_sec: 315_360_000,
            tv_nsec: 0,
        };
        epoll::wait(&epoll, &mut events[..], Some(&ten_years))
    };
    ask().is_ok_and(|events| events == 1)
}

pub(super) fn text(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

pub(super) fn line(path: &Path) -> Option<String> {
    let text = text(path)?;
    Some(text.trim().to_owned()).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sampler::tests::{Tree, v1};

    /// A bare-metal machine with two threads a core.
    fn machine() -> Tree {
        let tree = v1();
        let cpu = "sys/devices/system/cpu";
        let files = [
            ("proc/sys/kernel/ostype".into(), "Linux\n"),
            ("proc/sys/kernel/osrelease".into(), "6.1.0-18-amd64\n"),
            (
                "etc/os-release".into(),
                "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
            ),
            (
                "proc/cpuinfo".into(),
                "processor\t: 0\nmodel name\t: A CPU @ 3.00GHz\nflags\t\t: fpu vme\n",
            ),
            (
                "proc/meminfo".into(),
                "MemTotal:       8192000 kB\nMemAvailable: 4096000 kB\nSwapTotal:      1024000 kB\n",
            ),
            ("proc/loadavg".into(), "1.21 0.87 0.38 4/125 29022\n"),
            (
                "proc/stat".into(),
                "cpu  60 0 20 100 0 0 0 20 9 0\ncpu0 1 2\n",
            ),
            (format!("{cpu}/online"), "0-1\n"),
            (format!("{cpu}/cpu0/topology/core_id"), "0\n"),
            (format!("{cpu}/cpu0/topology/physical_package_id"), "0\n"),
            (format!("{cpu}/cpu0/topology/thread_siblings_list"), "0-1\n"),
            (format!("{cpu}/cpu1/topology/core_id"), "-1\n"),
            (
                format!("{cpu}/cpu0/cpufreq/scaling_governor"),
                "powersave\n",
            ),
            (
                format!("{cpu}/cpu1/cpufreq/scaling_governor"),
                "performance\n",
            ),
            (
                format!("{cpu}/cpu0/cpufreq/scaling_driver"),
                "intel_pstate\n",
            ),
            (format!("{cpu}/intel_pstate/no_turbo"), "1\n"),
            (format!("{cpu}/cpuidle/current_driver"), "intel_idle\n"),
            (format!("{cpu}/cpu0/cpuidle/state0/name"), "POLL\n"),
            (format!("{cpu}/cpu0/cpuidle/state1/name"), "C6\n"),
            (format!("{cpu}/cpu0/cpuidle/state1/latency"), "133\n"),
            (format!("{cpu}/cpu0/cpuidle/state1/disable"), "1\n"),
            (
                "sys/devices/system/clocksource/clocksource0/current_clocksource".into(),
                "tsc\n",
            ),
            (
                "sys/kernel/mm/transparent_hugepage/enabled".into(),
                "always [madvise] never\n",
            ),
        ];
        for (path, text) in files {
            tree.write(&path, text);
        }
        tree
    }

    #[test]
    fn a_machine_is_described() {
        let Host { facts, moment } = Host::read(&machine().roots);
        assert_eq!(facts.system.as_deref(), Some("Linux"));
        assert_eq!(facts.kernel.as_deref(), Some("6.1.0-18-amd64"));
        assert_eq!(facts.os.as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        assert_eq!(facts.cpu_model.as_deref(), Some("A CPU @ 3.00GHz"));
        assert_eq!((facts.memory_mib, facts.swap_mib), (Some(8000), Some(1000)));
        let first = Cpu {
            cpu: 0,
            core: Some(0),
            socket: Some(0),
            siblings: vec![0, 1],
        };
        let second = Cpu {
            cpu: 1,
            ..Cpu::default()
        };
        assert_eq!(facts.cpus, [first, second]);
        let governors = ["performance", "powersave"].map(String::from);
        assert_eq!(facts.governors, Some(governors.into()));
        assert_eq!(facts.frequency_driver.as_deref(), Some("intel_pstate"));
        assert_eq!(facts.turbo, Some(false));
        let states = facts.idle_states.unwrap();
        assert_eq!((states[0].exit_latency_us, states[0].enabled), (None, None));
        assert_eq!(states[1].exit_latency_us, Some(133));
        assert_eq!(states[1].enabled, Some(false));
        assert_eq!(facts.hypervisor, Some(false));
        assert_eq!(facts.transparent_huge_pages.as_deref(), Some("madvise"));
        assert_eq!(facts.cgroup_controllers["memory"], 1);
        assert_eq!(facts.clocksource.as_deref(), Some("tsc"));
        assert_eq!(moment.load_average_1m, Some(1.21));
        assert_eq!(moment.steal_pct, Some(10.0));
        assert_eq!(moment.memory_available_mib, Some(4000));
    }

    #[test]
    fn what_is_not_visible_is_null() {
        let Host { facts, moment } = Host::read(&Tree::new().roots);
        let epoll_pwait2 = facts.epoll_pwait2;
        let nothing = Facts {
            arch: std::env::consts::ARCH.into(),
            epoll_pwait2,
            ..Facts::default()
        };
        assert_eq!(facts, nothing);
        assert_eq!((moment.load_average_1m, moment.steal_pct), (None, None));
    }

    #[test]
    fn a_limit_of_the_way_out_of_idle_states_is_read_where_somebody_asked_for_one() {
        let tree = Tree::new();
        assert_eq!(exit_limit_us(&tree.roots), None);
        for (asked_us, limit_us) in [
            (0, Some(0)),
            (10, Some(10)),
            (2_000_000_000, None),
            (-1, None),
        ] {
            tree.write("dev/cpu_dma_latency", i32::to_ne_bytes(asked_us));
            assert_eq!(exit_limit_us(&tree.roots), limit_us, "{asked_us}");
        }
        tree.write("dev/cpu_dma_latency", "0");
        assert_eq!(exit_limit_us(&tree.roots), None, "half a number");
    }

    #[test]
    fn the_fingerprint_is_of_the_facts_alone() {
        let tree = machine();
        let before = Host::read(&tree.roots);
        tree.write("dev/cpu_dma_latency", 0_i32.to_ne_bytes());
        let awake = Host::read(&tree.roots);
        assert_ne!(
            before.fingerprint(),
            awake.fingerprint(),
            "no mixture in one archive"
        );
        tree.write("dev/cpu_dma_latency", 2_000_000_000_i32.to_ne_bytes());
        tree.write("proc/loadavg", "9 9 9\n");
        let busy = Host::read(&tree.roots);
        assert_eq!(before.fingerprint(), busy.fingerprint());
        tree.write("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
        assert_ne!(before.fingerprint(), Host::read(&tree.roots).fingerprint());
        let json = serde_json::to_string(&before).unwrap();
        let back: Host = serde_json::from_str(&json).unwrap();
        assert_eq!(back.fingerprint(), before.fingerprint());
    }

    #[test]
    fn texts_are_parsed_or_refused() {
        assert_eq!(cpu_list("0-1,3\n"), Some(vec![0, 1, 3]));
        assert_eq!(cpu_list("2"), Some(vec![2]));
        for list in ["", "-", "1-0", "a", "0,", "0-4294967295", "0-99999999999"] {
            assert_eq!(cpu_list(list), None, "{list}");
        }
        assert_eq!(steal_pct("cpu 1 2 3"), None);
        assert_eq!(steal_pct("cpu 0 0 0 0 0 0 0 0"), None);
        assert_eq!(load_average("NaN"), None);
        assert_eq!(listed_cpus("cpu  1 2\ncpu0 1\ncpu3 1\nintr 5\n"), [0, 3]);
        assert_eq!(pretty_name("NAME=Alpine\n").as_deref(), Some("Alpine"));
        assert_eq!(chosen("always madvise"), None);
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(
            cpu_model(arm).as_deref(),
            Some("implementer 0x41 part 0xd0c")
        );
    }

    #[test]
    fn this_machine_is_described() {
        let host = Host::read(&Roots::default());
        assert_eq!(host.facts.system.as_deref(), Some("Linux"));
        assert!(!host.facts.cpus.is_empty());
        assert!(host.facts.memory_mib.unwrap() > 0);
        assert!(host.moment.nofile_soft <= host.moment.nofile_hard);
        assert!(free_disk_mib(Path::new("no/such/folder/yet")).is_some());
    }
}
