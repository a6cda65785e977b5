//! What this machine can and cannot measure, before anything is measured. Pure: it judges a [`Host`].

use std::path::Path;

use super::{Finding, Level, governor, hypervisor, idle_states, power, turbo};
use crate::sample::host::{Cpu, Host};
use crate::sample::scenery::idle_exit_us;

/// What the measurement would use.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// CPUs of the targets; empty where nothing is chosen yet.
    pub target_cpus: &'a [u32],
    /// CPUs of the generators and the dependencies; empty where nothing is chosen yet.
    pub load_cpus: &'a [u32],
    /// Where results go.
    pub results: &'a Path,
    /// What is free there ([`crate::sample::host::free_disk_mib`]).
    pub results_free_mib: Option<u64>,
}

type Check = fn(&Host, &Asked) -> Finding;

/// A new check is a function and a line here.
const CHECKS: &[Check] = &[
    system,
    cpus,
    cores,
    controllers,
    memory,
    disk,
    swap,
    frequency_governor,
    turbo_allowed,
    idle_depth,
    power_source,
    steal,
    load_average,
    virtual_machine,
    clocksource,
    epoll_pwait2,
    nofile,
    huge_pages,
];

/// All findings about the machine, in a fixed order.
pub fn findings(host: &Host, asked: &Asked) -> Vec<Finding> {
    let findings = CHECKS.iter().map(|check| check(host, asked));
    // To whoever prepares a machine, what can't be seen is one more thing to look at.
    let looked_at = |finding: Finding| Finding {
        level: match finding.level {
            Level::Unseen => Level::Warn,
            level => level,
        },
        ..finding
    };
    findings.map(looked_at).collect()
}

fn system(host: &Host, _: &Asked) -> Finding {
    let id = "linux";
    let fix = "measure on a Linux machine, or in a Linux virtual machine with two CPUs of its own";
    match host.facts.system.as_deref() {
        Some("Linux") => Finding::ok(
            id,
            format!(
                "Linux {} on {}, {}",
                host.facts.kernel.as_deref().unwrap_or("of unknown release"),
                host.facts.arch,
                host.facts.os.as_deref().unwrap_or("unknown distribution"),
            ),
        ),
        Some(other) => Finding::fail(id, format!("the kernel is {other}"), fix),
        None => Finding::fail(id, "no Linux kernel is visible in /proc", fix),
    }
}

fn cpus(host: &Host, asked: &Asked) -> Finding {
    let id = "cpus";
    let online = &host.facts.cpus;
    let offline = |cpu: &&u32| !online.iter().any(|c| c.cpu == **cpu);
    let mut all = asked.target_cpus.iter().chain(asked.load_cpus);
    if let Some(cpu) = all.find(offline) {
        let what = format!("CPU {cpu} is asked for, but not online");
        return Finding::fail(id, what, "choose others with --target-cpus and --load-cpus");
    }
    match online.len() {
        0 | 1 => Finding::fail(
            id,
            format!("{} CPU online", online.len()),
            "target and generator need a CPU each: measure on a machine with at least two",
        ),
        count => Finding::ok(
            id,
            format!(
                "{count} CPUs online: {}",
                host.facts
                    .cpu_model
                    .as_deref()
                    .unwrap_or("model not visible")
            ),
        ),
    }
}

fn cores(host: &Host, asked: &Asked) -> Finding {
    let id = "cores";
    let fix = "give target and generator different cores with --target-cpus and --load-cpus, or \
               switch SMT off: two threads of one core slow each other down";
    let cpus = &host.facts.cpus;
    if cpus.iter().any(|cpu| cpu.siblings.is_empty()) {
        return Finding::unseen(id, "which CPUs share a core", fix);
    }
    let shared = shared_core(cpus, asked.target_cpus, asked.load_cpus);
    if let Some((target, load)) = shared {
        let what = format!("CPU {target} (target) and CPU {load} (load) share a core");
        return Finding::warn(id, what, fix);
    }
    // The first sibling stands for the core.
    let cores = cpus.iter().filter(|cpu| cpu.siblings[0] == cpu.cpu).count();
    if asked.target_cpus.is_empty() && cores < 2 {
        return Finding::warn(id, "all CPUs share one core", fix);
    }
    Finding::ok(
        id,
        format!("{cores} cores; target and load need not share one"),
    )
}

/// A CPU of each list that are one core's, or the same CPU.
fn shared_core(cpus: &[Cpu], target: &[u32], load: &[u32]) -> Option<(u32, u32)> {
    let siblings = |cpu| cpus.iter().find(|c| c.cpu == cpu).map(|c| &c.siblings);
    target.iter().find_map(|cpu| {
        let shared = load
            .iter()
            .find(|l| siblings(*cpu).is_some_and(|s| s.contains(l)));
        Some((*cpu, *shared?))
    })
}

fn controllers(host: &Host, _: &Asked) -> Finding {
    let id = "cgroup";
    let version = |name: &str| host.facts.cgroup_controllers.get(name).copied();
    let needed = ["cpu", "cpuset", "memory", "pids"];
    let mut missing: Vec<&str> = needed
        .into_iter()
        .filter(|n| version(n).is_none())
        .collect();
    // v2 counts CPU time without a controller of that name.
    if version("cpu") == Some(1) && version("cpuacct").is_none() {
        missing.push("cpuacct");
    }
    if !missing.is_empty() {
        let fix = "mount the cgroup file systems, and take what disables these controllers (as in \
                   cgroup_disable=memory) off the kernel's command line";
        return Finding::fail(
            id,
            format!("no cgroup controller for {}", missing.join(", ")),
            fix,
        );
    }
    let one = needed
        .iter()
        .filter(|name| version(name) == Some(1))
        .count();
    let version = match one {
        0 => "cgroup v2",
        4 => "cgroup v1",
        _ => "cgroup v1 and v2, some controllers on each",
    };
    Finding::ok(
        id,
        format!("{version}; cpu, cpuset, memory and pids can be limited"),
    )
}

fn memory(host: &Host, _: &Asked) -> Finding {
    let id = "memory";
    let fix = "close other programs, or give the machine more: builds take 1 to 2 GiB, and each \
               container its limit";
    match (host.facts.memory_mib, host.moment.memory_available_mib) {
        (Some(all), Some(free)) => {
            let what = format!("{free} MiB of {all} available");
            match free {
                0..1024 => Finding::fail(id, what, fix),
                1024..3072 => Finding::warn(id, what, fix),
                _ => Finding::ok(id, what),
            }
        }
        _ => Finding::unseen(id, "how much memory there is", fix),
    }
}

fn disk(_: &Host, asked: &Asked) -> Finding {
    let id = "disk";
    let fix = "free some space, or choose another folder with --out DIR";
    let place = asked.results.display();
    match asked.results_free_mib {
        Some(free) => {
            let what = format!("{free} MiB free for results in {place}");
            match free {
                0..64 => Finding::fail(id, what, fix),
                64..1024 => Finding::warn(id, what, fix),
                _ => Finding::ok(id, what),
            }
        }
        None => Finding::unseen(id, &format!("what is free in {place}"), fix),
    }
}

fn swap(host: &Host, _: &Asked) -> Finding {
    let id = "swap";
    match (host.facts.swap_mib, host.facts.swap_accounting) {
        (Some(0), _) => Finding::ok(id, "no swap"),
        (Some(mib), Some(false)) => Finding::warn(
            id,
            format!("{mib} MiB of swap that no container's limit covers"),
            "switch it off while measuring (swapoff -a), or boot with swapaccount=1",
        ),
        (Some(mib), _) => Finding::warn(
            id,
            format!("{mib} MiB of swap: containers get none, but the machine may stall on it"),
            "switch it off while measuring: swapoff -a",
        ),
        (None, _) => Finding::unseen(id, "swap", "see that there is none: swapon --show"),
    }
}

fn frequency_governor(host: &Host, _: &Asked) -> Finding {
    let names = host.facts.governors.iter().flatten();
    let sight = governor::in_use(names.map(String::as_str));
    governor::GUARD.finding(sight, "all CPUs under the governor performance")
}

fn turbo_allowed(host: &Host, _: &Asked) -> Finding {
    turbo::GUARD.finding(turbo::allowed(host.facts.turbo), "turbo is off")
}

fn idle_depth(host: &Host, _: &Asked) -> Finding {
    let limit_us = host.facts.exit_limit_us;
    let states = host.facts.idle_states.as_deref();
    let exit_us = states.and_then(|states| idle_exit_us(states, limit_us));
    idle_states::GUARD.finding(
        idle_states::deepest(exit_us),
        "idle CPUs wake up within microseconds",
    )
}

fn power_source(host: &Host, _: &Asked) -> Finding {
    power::GUARD.finding(power::source(host.moment.on_battery), "plugged in")
}

fn steal(host: &Host, _: &Asked) -> Finding {
    let id = "steal";
    let fix = "measure on a machine of your own, or trust only ratios from interleaved pairs";
    match host.moment.steal_pct {
        None => Finding::unseen(id, "CPU time taken by the hypervisor", fix),
        Some(pct) if pct > 0.0 => Finding::warn(
            id,
            format!("{pct:.2} % of the CPU time since the start went to other machines"),
            fix,
        ),
        // Measured: a machine's speed swung twofold while it reported none.
        Some(_) if host.facts.hypervisor != Some(false) => Finding::ok(
            id,
            "no steal reported, which proves little in a virtual machine",
        ),
        Some(_) => Finding::ok(id, "no steal"),
    }
}

fn load_average(host: &Host, _: &Asked) -> Finding {
    let id = "load_average";
    let fix = "stop what else is running, or wait: what shares the CPUs is in the numbers";
    match host.moment.load_average_1m {
        None => Finding::unseen(id, "the load average", fix),
        Some(load) if load > 0.5 => Finding::warn(
            id,
            format!("{load:.2} tasks wanted a CPU in the last minute"),
            fix,
        ),
        Some(load) => Finding::ok(id, format!("load average {load:.2}")),
    }
}

fn virtual_machine(host: &Host, _: &Asked) -> Finding {
    let sight = hypervisor::present(host.facts.hypervisor);
    hypervisor::GUARD.finding(sight, "not a virtual machine")
}

fn clocksource(host: &Host, _: &Asked) -> Finding {
    let id = "clocksource";
    let fix = "see why the kernel left tsc (dmesg | grep -i clocksource): other clocks may cost a \
               call into the kernel, or into the hypervisor, each time they are read";
    match host.facts.clocksource.as_deref() {
        None => Finding::unseen(id, "the clock's source", fix),
        Some(name @ ("tsc" | "arch_sys_counter")) => Finding::ok(id, name),
        Some(name) => Finding::warn(id, format!("the clock reads {name}"), fix),
    }
}

fn epoll_pwait2(host: &Host, _: &Asked) -> Finding {
    let id = "epoll_pwait2";
    if host.facts.epoll_pwait2 {
        return Finding::ok(id, "waits shorter than a millisecond work");
    }
    Finding::warn(
        id,
        "no epoll_pwait2: the generator can't wait for less than a millisecond",
        "use Linux 5.11 or newer, and a sandbox that allows the call",
    )
}

fn nofile(host: &Host, _: &Asked) -> Finding {
    let id = "nofile";
    let (soft, hard) = (host.moment.nofile_soft, host.moment.nofile_hard);
    let what = format!("{soft} files may be open at once");
    if soft >= 1024 {
        return Finding::ok(id, what);
    }
    let fix = format!(
        "raise it before measuring with more connections than that: ulimit -n {}",
        hard.min(4096)
    );
    Finding::warn(id, what, fix)
}

fn huge_pages(host: &Host, _: &Asked) -> Finding {
    let id = "huge_pages";
    match host.facts.transparent_huge_pages.as_deref() {
        None => Finding::unseen(
            id,
            "transparent huge pages",
            "compare memory figures only within this machine",
        ),
        Some(mode) => Finding::ok(id, format!("transparent huge pages: {mode}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::passes;
    use crate::sample::host::{Facts, IdleState, Moment};

    fn quiet() -> Host {
        let cpu = |cpu, siblings: &[u32]| Cpu {
            cpu,
            core: Some(siblings[0]),
            socket: Some(0),
            siblings: siblings.to_vec(),
        };
        let controllers = ["cpu", "cpuset", "memory", "pids"].map(|name| (name.into(), 2));
        Host {
            facts: Facts {
                arch: "x86_64".into(),
                system: Some("Linux".into()),
                cpus: vec![
                    cpu(0, &[0, 2]),
                    cpu(1, &[1, 3]),
                    cpu(2, &[0, 2]),
                    cpu(3, &[1, 3]),
                ],
                memory_mib: Some(16_000),
                swap_mib: Some(0),
                governors: Some(["performance".to_owned()].into()),
                turbo: Some(false),
                idle_states: Some(vec![IdleState {
                    name: "C1".into(),
                    exit_latency_us: Some(2),
                    enabled: Some(true),
                }]),
                hypervisor: Some(false),
                transparent_huge_pages: Some("madvise".into()),
                cgroup_controllers: controllers.into(),
                clocksource: Some("tsc".into()),
                epoll_pwait2: true,
                ..Facts::default()
            },
            moment: Moment {
                load_average_1m: Some(0.1),
                steal_pct: Some(0.0),
                memory_available_mib: Some(8_000),
                on_battery: Some(false),
                nofile_soft: 1024,
                nofile_hard: 4096,
            },
        }
    }

    fn asked() -> Asked<'static> {
        Asked {
            target_cpus: &[0, 2],
            load_cpus: &[1],
            results: Path::new("results"),
            results_free_mib: Some(50_000),
        }
    }

    #[test]
    fn a_quiet_machine_has_nothing_to_be_told() {
        let all = findings(&quiet(), &asked());
        for finding in &all {
            assert_eq!(finding.level, Level::Ok, "{finding:?}");
            assert!(finding.fix.is_empty());
        }
        assert_eq!(all.len(), CHECKS.len());
    }

    /// Every check bites, and says what to do.
    #[test]
    fn each_check_finds_what_it_looks_for() {
        use Level::{Fail, Warn};
        type Change = fn(&mut Host, &mut Asked);
        let table: &[(&str, Level, Change)] = &[
            ("linux", Fail, |h, _| h.facts.system = None),
            ("linux", Fail, |h, _| h.facts.system = Some("Darwin".into())),
            ("cpus", Fail, |h, a| {
                h.facts.cpus.truncate(1);
                (a.target_cpus, a.load_cpus) = (&[], &[]);
            }),
            ("cpus", Fail, |_, a| a.load_cpus = &[7]),
            ("cores", Warn, |_, a| a.load_cpus = &[1, 2]),
            ("cores", Warn, |_, a| a.load_cpus = &[0]),
            ("cores", Warn, |h, _| h.facts.cpus[3].siblings.clear()),
            ("cores", Warn, |h, a| {
                h.facts.cpus.retain(|cpu| cpu.cpu % 2 == 0);
                (a.target_cpus, a.load_cpus) = (&[], &[]);
            }),
            ("cgroup", Fail, |h, _| h.facts.cgroup_controllers.clear()),
            ("cgroup", Fail, |h, _| {
                h.facts.cgroup_controllers.remove("memory");
            }),
            ("cgroup", Fail, |h, _| {
                h.facts.cgroup_controllers.insert("cpu".into(), 1);
            }),
            ("memory", Fail, |h, _| {
                h.moment.memory_available_mib = Some(500)
            }),
            ("memory", Warn, |h, _| {
                h.moment.memory_available_mib = Some(2000)
            }),
            ("memory", Warn, |h, _| h.moment.memory_available_mib = None),
            ("disk", Fail, |_, a| a.results_free_mib = Some(3)),
            ("disk", Warn, |_, a| a.results_free_mib = Some(500)),
            ("disk", Warn, |_, a| a.results_free_mib = None),
            ("swap", Warn, |h, _| h.facts.swap_mib = Some(2)),
            ("swap", Warn, |h, _| {
                (h.facts.swap_mib, h.facts.swap_accounting) = (Some(2), Some(false));
            }),
            ("swap", Warn, |h, _| h.facts.swap_mib = None),
            ("governor", Warn, |h, _| h.facts.governors = None),
            ("governor", Warn, |h, _| {
                h.facts.governors = Some(["performance", "powersave"].map(String::from).into());
            }),
            ("turbo", Warn, |h, _| h.facts.turbo = Some(true)),
            ("turbo", Warn, |h, _| h.facts.turbo = None),
            ("idle_states", Warn, |h, _| {
                h.facts.idle_states.as_mut().unwrap()[0].exit_latency_us = Some(133);
            }),
            ("idle_states", Warn, |h, _| h.facts.idle_states = None),
            ("power", Warn, |h, _| h.moment.on_battery = Some(true)),
            ("power", Warn, |h, _| h.moment.on_battery = None),
            ("steal", Warn, |h, _| h.moment.steal_pct = Some(0.02)),
            ("steal", Warn, |h, _| h.moment.steal_pct = None),
            ("load_average", Warn, |h, _| {
                h.moment.load_average_1m = Some(2.0)
            }),
            ("load_average", Warn, |h, _| h.moment.load_average_1m = None),
            ("hypervisor", Warn, |h, _| h.facts.hypervisor = Some(true)),
            ("hypervisor", Warn, |h, _| h.facts.hypervisor = None),
            ("clocksource", Warn, |h, _| {
                h.facts.clocksource = Some("hpet".into())
            }),
            ("clocksource", Warn, |h, _| h.facts.clocksource = None),
            ("epoll_pwait2", Warn, |h, _| h.facts.epoll_pwait2 = false),
            ("nofile", Warn, |h, _| h.moment.nofile_soft = 256),
            ("huge_pages", Warn, |h, _| {
                h.facts.transparent_huge_pages = None
            }),
        ];
        for (id, level, change) in table {
            let (mut host, mut asked) = (quiet(), asked());
            change(&mut host, &mut asked);
            let all = findings(&host, &asked);
            let bad: Vec<_> = all.iter().filter(|f| f.level != Level::Ok).collect();
            let found: Vec<_> = bad.iter().map(|f| (f.id.as_str(), f.level)).collect();
            // One CPU is one core, too: a further finding may follow.
            assert_eq!(found.first(), Some(&(*id, *level)), "{found:?}");
            assert!(!bad[0].fix.is_empty(), "{id}");
            assert_eq!(passes(&all), *level != Fail);
        }
    }

    #[test]
    fn what_the_machine_does_not_show_is_said() {
        let all = findings(&Host::default(), &asked());
        let governor = all.iter().find(|finding| finding.id == "governor").unwrap();
        assert!(governor.what.contains("not visible here"));
        let json = serde_json::to_string(governor).unwrap();
        assert!(
            json.starts_with(r#"{"id":"governor","level":"warn","what":"#),
            "{json}"
        );
    }
}
