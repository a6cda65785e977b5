//! The plans that the tests of `plan` change, and what is read, written and published of them.

use super::*;

/// The least that is a plan.
pub(in crate::plan) const PLAN: &str = "\
name: small
kind: matrix
adapters: [node-http, express@slow]
workloads: [ok, hello]
rates_rps: [100, 1000]
connections: 32
repetitions: 3
limits:
  target_cpus: 1
";

/// A duel with a key of each kind.
pub(in crate::plan) const DUEL: &str = "\
name: fight
kind: duel
adapters: [express, fastify, node-http]
workloads: [ok]
rates_rps: [1000]
connections: 8
metrics: [cpu_us_per_request, response_p99_us, capacity_rps]
pairs: 6
null: 4
together: 3
capacity: {connections: [25, 50], load: 4}
canary: {adapter: node-http, workload: ok}
phases: {baseline: 1, warm_up: {seconds: 5, min_requests: 4000}, settle: 1, load: 10, recovery: 1}
limits: {target_cpus: 1}
";

/// The least that is a closed loop.
pub(in crate::plan) const CLOSED: &str = "\
name: loops
kind: closed
adapters: [express, fastify]
workloads: [ok, hello]
connections: [25, 100, 200]
requests: 1000
limits: {target_cpus: 1}
";

/// A search with a key of each kind.
pub(in crate::plan) const SUSTAIN: &str = "\
name: knees
kind: sustain
adapters: [express, express@slow, node-http]
workloads: [ok]
ladder: {from: 1000, to: 50000, coarse: 1.3, fine: 1.05}
connections: 100
trials: 3
phases: {baseline: 1, warm_up: {seconds: 1}, settle: 1, load: 2, recovery: 1}
limits: {target_cpus: 1}
";

/// A plan of this text.
pub(in crate::plan) fn parse(text: &str) -> Result<Plan> {
    Plan::parse(&Source::new("p.yaml", text))
}

/// A plan for the tests of other modules.
pub(in crate::plan) fn plan() -> Plan {
    parse(PLAN).unwrap()
}

#[test]
fn what_is_left_out_is_forges() {
    let plan = plan();
    assert_eq!(plan.phases, Phases::default());
    assert_eq!(plan.phases.warm_up.seconds.get(), 15.0);
    assert_eq!(plan.phases.load.get(), 60.0);
    assert_eq!(plan.timeout.to_string(), "5s");
    assert_eq!((plan.limits.memory_mib, plan.limits.pids), (2048, 256));
    assert_eq!((plan.healthy.coverage, plan.healthy.p99_ms), (0.95, 250.0));
    assert_eq!(
        (plan.seed, plan.publishable, plan.comparable),
        (1, true, true)
    );
    assert_eq!(plan.adapters[1].label, "slow");
    let partly = parse(&format!(
        "{PLAN}phases: {{load: 12, warm_up: {{min_requests: 9}}}}\n"
    ));
    let phases = partly.unwrap().phases;
    assert_eq!((phases.load.get(), phases.recovery.get()), (12.0, 30.0));
    assert_eq!(phases.warm_up.seconds.get(), 15.0);
}

#[test]
fn an_archived_plan_reads_back_equal() {
    let mut full = parse(&format!(
        "{PLAN}  cpu_quota: 1.5\nload_cpus: 0,2-3\ntimeout: 250ms\nseed: 18446744073709551615\n\
             phases: {{baseline: 0.1}}\norder: shuffled\npublishable: false\n"
    ))
    .unwrap();
    full.overridden = vec!["load: 60 -> 12".into()];
    full.comparable = false;
    let duel = parse(&format!(
        "{DUEL}pairing: both\nslice_ms: 30\nlevels: [ok, hello]\n"
    ));
    for plan in [
        plan(),
        full,
        duel.unwrap(),
        parse(CLOSED).unwrap(),
        parse(SUSTAIN).unwrap(),
    ] {
        let yaml = plan.to_yaml().unwrap();
        assert_eq!(parse(&yaml).unwrap(), plan, "{yaml}");
    }
}

#[test]
fn the_canary_takes_part_too() {
    let mut duel = parse(DUEL).unwrap();
    assert_eq!(duel.adapter_names(), ["express", "fastify", "node-http"]);
    assert_eq!(duel.workload_names(), ["ok"]);
    duel.canary.as_mut().unwrap().adapter = "nginx@slow".parse().unwrap();
    duel.canary.as_mut().unwrap().workload = "hello".into();
    assert_eq!(duel.adapter_names().last(), Some(&"nginx"));
    assert_eq!(duel.workload_names(), ["ok", "hello"]);
}

#[test]
fn what_may_not_be_published_says_why() {
    let mut plan = plan();
    assert!(plan.unpublishable(false).is_empty());
    assert_eq!(plan.unpublishable(true).len(), 1);
    plan.phases.load = Seconds::of(11.9);
    plan.repetitions = 2;
    plan.publishable = false;
    let reasons = plan.unpublishable(true);
    assert_eq!(reasons.len(), 4);
    assert!(reasons[1].contains("11.9 s of load"), "{reasons:?}");

    let mut duel = parse(&DUEL.replace("load: 10,", "load: 12,")).unwrap();
    assert!(duel.unpublishable(false).is_empty());
    duel.pairs = 5;
    assert_eq!(
        duel.unpublishable(false),
        ["pairs: 5, and at least 6 are needed"]
    );
}
