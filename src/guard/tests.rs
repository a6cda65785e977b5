//! Every guard is seen to fire, to stay quiet just below its bound, and to say that it can't see.

use std::collections::BTreeSet;
use std::process::{Child, Command};
use std::time::Duration;

use super::*;
use crate::record::scenery::{CpuReading, Own};
use crate::sample::{Roots, scenery};

/// Two CPUs, the target's and the load's, 10 s of a load that leaves half of each idle.
fn quiet() -> (Scenery, Target) {
    let cpu = |cpu| CpuReading {
        cpu,
        idle_us: 1_000_000,
        interrupts_us: 50_000,
        steal_us: 10_000,
        khz: Some(3_000_000),
        max_khz: Some(3_600_000),
    };
    let start = Reading {
        monotonic_ns: 1_000_000_000,
        realtime_ahead_ns: 1_700_000_000_000_000_000,
        cpus: vec![cpu(0), cpu(1)],
        cpu_pressure_us: Some(5_000_000),
        load_average_1m: Some(1.9),
        thermal_throttles: Some(3),
        governors: vec!["performance".into()],
        turbo: Some(false),
        idle_exit_us: Some(2),
        on_battery: Some(false),
        hypervisor: Some(false),
        swapped_pages: Some(77),
    };
    let mut end = start.clone();
    end.monotonic_ns += 10_000_000_000;
    end.realtime_ahead_ns += 40_000; // as two readings may differ
    for cpu in &mut end.cpus {
        cpu.idle_us += 5_000_000;
        cpu.interrupts_us += 100_000;
    }
    let scenery = Scenery {
        start,
        end,
        target_cpus: vec![1],
        load_cpus: vec![0],
        own: Own {
            targets_us: Some(4_800_000),
            agents_us: Some(4_000_000),
            dependencies_us: Some(600_000),
            runner_us: Some(100_000),
        },
        generators_waited_us: Some(700_000),
        generators_throttled_periods: Some(0),
        other_containers: Some(0),
    };
    let target = Target {
        throttled_periods: Some(0),
        oom_kills: Some(0),
        involuntary_switches: Some(900),
        has_quota: false,
    };
    (scenery, target)
}

type Change = fn(&mut Scenery, &mut Target);

/// What makes each guard fire.
const FIRES: &[(&str, Change)] = &[
    ("governor", |s, _| {
        s.start.governors = vec!["powersave".into()]
    }),
    ("governor", |s, _| {
        s.start.governors.push("powersave".into())
    }),
    ("turbo", |s, _| s.start.turbo = Some(true)),
    ("idle_states", |s, _| s.start.idle_exit_us = Some(133)),
    ("power", |s, _| s.start.on_battery = Some(true)),
    ("hypervisor", |s, _| s.start.hypervisor = Some(true)),
    ("load_average", |s, _| s.start.load_average_1m = Some(2.5)),
    ("other_containers", |s, _| s.other_containers = Some(3)),
    // 10 s, less 4.9 idle or in interrupts, less 4.4 of its own: 6 %.
    ("foreign_target", |s, _| s.own.targets_us = Some(4_200_000)),
    ("foreign_target", |s, _| s.end.cpus[1].idle_us -= 700_000),
    ("foreign_load", |s, _| s.own.agents_us = Some(1_900_000)),
    ("runner", |s, _| s.own.runner_us = Some(510_000)),
    ("generator_starved", |s, _| {
        s.generators_waited_us = Some(1_300_000)
    }),
    ("generator_starved", |s, _| {
        s.generators_throttled_periods = Some(1)
    }),
    ("steal", |s, _| s.end.cpus[1].steal_us += 300_000),
    ("pressure", |s, _| s.end.cpu_pressure_us = Some(8_000_000)),
    ("swapping", |s, _| s.end.swapped_pages = Some(400)),
    ("throttled", |_, t| t.throttled_periods = Some(1)),
    ("switches", |_, t| t.involuntary_switches = Some(1001)),
    ("oom", |_, t| t.oom_kills = Some(1)),
    ("thermal", |s, _| s.end.thermal_throttles = Some(4)),
    ("clock_step", |s, _| s.end.realtime_ahead_ns += 2_000_000),
    ("clock_step", |s, _| s.end.realtime_ahead_ns -= 2_000_000),
    ("frequency", |s, _| s.end.cpus[1].khz = Some(1_200_000)),
];

/// What is still quiet.
const BELOW: &[Change] = &[
    |s, _| s.start.idle_exit_us = Some(10),
    |s, _| s.end.cpus[1].idle_us -= 400_000,
    |s, _| s.own.agents_us = Some(2_300_000),
    // Other sides' targets are as much the measurement's own.
    |s, _| {
        s.end.cpus[1].idle_us -= 4_000_000;
        s.own.targets_us = Some(8_900_000);
    },
    // What a dependency takes of the generator's time is planned.
    |s, _| s.generators_waited_us = Some(1_190_000),
    |s, _| s.end.cpus[1].steal_us += 200_000,
    |s, _| s.end.swapped_pages = Some(300),
    |_, t| (t.throttled_periods, t.has_quota) = (Some(90), true),
    |s, _| s.end.realtime_ahead_ns -= 500_000,
    // With CPUs in common, all that is the measurement's own may be on them.
    |s, _| {
        s.load_cpus = vec![1];
        s.end.cpus[1].idle_us -= 4_700_000;
    },
];

/// What each guard can't do without; the clock is always there.
const BLINDS: &[(&str, Change)] = &[
    ("governor", |s, _| s.start.governors.clear()),
    ("turbo", |s, _| s.start.turbo = None),
    ("idle_states", |s, _| s.start.idle_exit_us = None),
    ("power", |s, _| s.start.on_battery = None),
    ("hypervisor", |s, _| s.start.hypervisor = None),
    ("load_average", |s, _| s.start.load_average_1m = None),
    ("other_containers", |s, _| s.other_containers = None),
    ("foreign_target", |s, _| s.own.targets_us = None),
    ("foreign_target", |s, _| s.target_cpus = vec![7]),
    ("foreign_load", |s, _| s.own.dependencies_us = None),
    ("foreign_load", |s, _| s.load_cpus.clear()),
    ("runner", |s, _| s.own.runner_us = None),
    ("generator_starved", |s, _| s.generators_waited_us = None),
    ("generator_starved", |s, _| s.own.dependencies_us = None),
    ("steal", |s, _| s.end.cpus.clear()),
    ("pressure", |s, _| s.end.cpu_pressure_us = None),
    ("swapping", |s, _| s.start.swapped_pages = None),
    ("throttled", |_, t| t.throttled_periods = None),
    ("switches", |_, t| t.involuntary_switches = None),
    ("oom", |_, t| t.oom_kills = None),
    ("thermal", |s, _| s.end.thermal_throttles = None),
    // A counter that fell was not the same one.
    ("thermal", |s, _| s.start.thermal_throttles = Some(9)),
    ("frequency", |s, _| s.end.cpus[1].khz = None),
];

fn after(change: Change) -> Vec<Finding> {
    let (mut scenery, mut target) = quiet();
    change(&mut scenery, &mut target);
    judge(&scenery, target)
}

fn level_of(id: &str) -> Level {
    GUARDS.iter().find(|guard| guard.id == id).unwrap().fires
}

#[test]
fn a_quiet_scenery_has_nothing_to_be_told() {
    let (scenery, target) = quiet();
    assert_eq!(judge(&scenery, target), []);
    for change in BELOW {
        assert_eq!(after(*change), []);
    }
}

#[test]
fn every_guard_fires_and_says_what_to_do() {
    for (id, change) in FIRES {
        let found = after(*change);
        let fired: Vec<_> = found.iter().map(|f| (f.id.as_str(), f.level)).collect();
        assert_eq!(fired, [(*id, level_of(id))], "{found:?}");
        assert!(!found[0].what.is_empty() && !found[0].fix.is_empty());
        assert!(!found[0].what.contains("NaN"), "{}", found[0].what);
    }
    let ids: BTreeSet<&str> = GUARDS.iter().map(|guard| guard.id).collect();
    let seen: BTreeSet<&str> = FIRES.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, seen, "a guard that no test has seen to fire is none");
    assert_eq!(ids.len(), GUARDS.len());
}

#[test]
fn what_a_guard_does_not_see_is_never_fine() {
    for (id, change) in BLINDS {
        let found = after(*change);
        let this = found.iter().find(|finding| finding.id == *id);
        assert_eq!(
            this.map(|f| f.level),
            Some(Level::Unseen),
            "{id}: {found:?}"
        );
        assert!(passes(&found), "it makes no cell invalid: {found:?}");
    }
    let blind = judge(&Scenery::default(), Target::default());
    let unseen = blind.iter().filter(|f| f.level == Level::Unseen).count();
    assert_eq!(unseen, GUARDS.len() - 1, "all but the clock: {blind:?}");
    assert_eq!(
        blind[0].what,
        "what sets the CPUs' frequency: not visible here"
    );
}

/// A program that burns one CPU until it is dropped.
struct Burner(Child);

impl Burner {
    fn on(cpu: u32) -> Self {
        // A child stays where its parent was: this thread is given away for it.
        let start = move || {
            crate::affinity::keep_to([cpu]).unwrap();
            Command::new("sh")
                .args(["-c", "while :; do :; done"])
                .spawn()
        };
        Self(std::thread::spawn(start).join().unwrap().unwrap())
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_program_that_burns_the_targets_cpu_is_seen_and_the_gate_stays_shut() {
    let roots = Roots::default();
    let host = crate::sample::host::Host::read(&roots);
    let cpu = host.facts.cpus.last().expect("a CPU").cpu;
    let _burner = Burner::on(cpu);
    let start = scenery::read(&roots, &[cpu]);
    std::thread::sleep(Duration::from_millis(600));
    let scenery = Scenery {
        start,
        end: scenery::read(&roots, &[cpu]),
        target_cpus: vec![cpu],
        own: Own {
            targets_us: Some(0),
            ..Own::default()
        },
        ..Scenery::default()
    };
    let found = judge(&scenery, Target::default());
    let foreign = found.iter().find(|f| f.id == "foreign_target").unwrap();
    assert_eq!(foreign.level, Level::Fail, "{foreign:?}");
    let runtime = crate::runtime().unwrap();
    let gate = runtime.block_on(gate::quiet(&[cpu], Duration::ZERO, |_| {}));
    assert_eq!(gate.level, Level::Warn, "{gate:?}");
}
