//! What flags change, what they record, and what they may not.

use clap::Parser;

use super::super::spec::tests::{CLOSED, DUEL, parse, plan};
use super::*;
use crate::error::Exit;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    overrides: Overrides,
}

fn flags(line: &str) -> Result<Overrides, clap::Error> {
    let words = std::iter::once("run").chain(line.split_whitespace());
    Ok(Command::try_parse_from(words)?.overrides)
}

fn applied(line: &str) -> Result<Plan> {
    applied_to(plan(), line)
}

fn applied_to(mut plan: Plan, line: &str) -> Result<Plan> {
    plan.apply(&flags(line).unwrap()).map(|()| plan)
}

#[test]
fn what_changes_is_recorded_and_what_does_not_is_not() {
    let table: [(&str, &[&str], bool); 14] = [
        ("", &[], true),
        ("--load 12s", &["load: 60 -> 12"], true),
        (
            "--load 500ms --warm-up 2m",
            &["warm_up: 15 -> 120", "load: 60 -> 0.5"],
            true,
        ),
        ("--load 60 --repetitions 3 --seed 1", &[], true),
        (
            "--baseline 1 --settle 1 --recovery 1",
            &["baseline: 1.5 -> 1", "settle: 6 -> 1", "recovery: 30 -> 1"],
            true,
        ),
        (
            "--adapters node-http",
            &["adapters: node-http, express@slow -> node-http"],
            true,
        ),
        ("--adapters express@slow,node-http", &[], true),
        (
            "--workloads hello",
            &["workloads: ok, hello -> hello"],
            true,
        ),
        ("--rates 5,6", &["rates_rps: 100, 1000 -> 5, 6"], true),
        ("--order shuffled", &["order: grouped -> shuffled"], true),
        (
            "--target-cpus 0",
            &["target_cpus: any 1 CPU -> CPUs 0"],
            false,
        ),
        ("--load-cpus 1-2", &["load_cpus: the rest -> 1-2"], true),
        (
            "--connections 8 --timeout 1s",
            &["connections: 32 -> 8", "timeout: 5s -> 1s"],
            true,
        ),
        ("--seed 7", &["seed: 1 -> 7"], true),
    ];
    for (line, overridden, comparable) in table {
        let plan = applied(line).unwrap();
        assert_eq!(plan.overridden, overridden, "{line}");
        assert_eq!(plan.comparable, comparable, "{line}");
    }
}

#[test]
fn a_duels_changes_are_recorded_and_take_with_them_what_they_leave_without_use() {
    let both = DUEL.to_owned() + "pairing: both\nreference: express\n";
    let table: [(&str, &str, &[&str]); 11] = [
        (DUEL, "--pairs 12 --null 4", &["pairs: 6 -> 12"]),
        (
            DUEL,
            "--null 0 --slice-ms 40",
            &["null: 4 -> 0", "slice_ms: by latency -> 40"],
        ),
        (
            DUEL,
            "--metrics response_p99_us,capacity_rps",
            &[
                "metrics: cpu_us_per_request, response_p99_us, capacity_rps -> \
               response_p99_us, capacity_rps",
            ],
        ),
        (
            DUEL,
            "--metrics cpu_us_per_request",
            &[
                "metrics: cpu_us_per_request, response_p99_us, capacity_rps -> \
                 cpu_us_per_request",
                "capacity: 25, 50 -> none",
            ],
        ),
        (
            DUEL,
            "--smallest-effect 0.01",
            &["smallest_effect: 0.005 -> 0.01"],
        ),
        (DUEL, "--smallest-effect 0.005 --pairing interleaved", &[]),
        (
            DUEL,
            "--adapters fastify",
            &["adapters: express, fastify, node-http -> fastify, node-http"],
        ),
        (
            DUEL,
            "--adapters fastify --reference express",
            &[
                "reference: node-http -> express",
                "adapters: express, fastify, node-http -> express, fastify",
            ],
        ),
        (
            DUEL,
            "--pairing series",
            &[
                "pairing: interleaved -> series",
                "pairs: 6 -> 0",
                "null: 4 -> 0",
            ],
        ),
        (
            &both,
            "--pairing interleaved",
            &["pairing: both -> interleaved"],
        ),
        (
            CLOSED,
            "--connections 25,50 --requests 2000",
            &[
                "connections: 25, 100, 200 -> 25, 50",
                "requests: 1000 -> 2000",
            ],
        ),
    ];
    for (before, line, overridden) in table {
        let plan = applied_to(parse(before).unwrap(), line).unwrap();
        assert_eq!(plan.overridden, overridden, "{line}");
        assert!(plan.comparable);
        assert_eq!(parse(&plan.to_yaml().unwrap()).unwrap(), plan);
    }
    let series = applied_to(parse(DUEL).unwrap(), "--pairing both").unwrap();
    assert_eq!(series.series, Some(2), "the default, written out");
}

#[test]
fn a_duels_changes_that_make_no_sense_are_refused() {
    for (before, line, expected) in [
        (
            DUEL,
            "--reference nginx",
            "fight as overridden, reference: `nginx` is none of",
        ),
        (
            DUEL,
            "--adapters node-http",
            "fight as overridden, adapters: a duel of one",
        ),
        (
            DUEL,
            "--repetitions 2",
            "fight as overridden, repetitions: `repetitions` has no",
        ),
        (
            DUEL,
            "--connections 8,9",
            "fight as overridden, connections: a list",
        ),
        (DUEL, "--pairs 0", "fight as overridden, pairs: pairs 0"),
        (
            DUEL,
            "--pairing series --pairs 6",
            "fight as overridden, pairs: `pairs` counts",
        ),
        (
            CLOSED,
            "--rates 5",
            "loops as overridden, rates_rps: `rates_rps` has no",
        ),
        (
            CLOSED,
            "--requests 5",
            "loops as overridden, requests: requests 5",
        ),
        (
            CLOSED,
            "--pairs 6",
            "loops as overridden, pairs: `pairs` has no",
        ),
    ] {
        let error = applied_to(parse(before).unwrap(), line).unwrap_err();
        let expected = format!("plan {expected}");
        assert!(error.what.starts_with(&expected), "{line}: {}", error.what);
    }
    assert!(flags("--metrics speed").is_err());
    assert!(flags("--pairing random").is_err());
}

#[test]
fn overrides_add_to_those_of_an_archived_plan() {
    let mut plan = applied("--target-cpus 0").unwrap();
    plan.apply(&flags("--load 12").unwrap()).unwrap();
    assert_eq!(plan.overridden.len(), 2);
    assert!(!plan.comparable, "once changed, never comparable again");
}

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    for (line, expected) in [
        ("--adapters nginx", "--adapters: the plan names no `nginx`"),
        (
            "--adapters express",
            "--adapters: the plan names no `express`",
        ),
        (
            "--workloads catalog",
            "--workloads: the plan names no `catalog`",
        ),
        (
            "--rates 0",
            "plan small as overridden, rates_rps[0]: a rate of 0",
        ),
        (
            "--load 1ms",
            "plan small as overridden, rates_rps[0]: 100/s for 0.001 s",
        ),
        ("--repetitions 0", "plan small as overridden, repetitions: "),
        ("--connections 0", "plan small as overridden, connections: "),
        ("--timeout 0", "plan small as overridden, timeout: "),
        (
            "--target-cpus 0 --load-cpus 0",
            "plan small as overridden, load_cpus: ",
        ),
    ] {
        let mut changed = plan();
        let error = changed.apply(&flags(line).unwrap()).unwrap_err();
        assert!(error.what.starts_with(expected), "{line}: {}", error.what);
        assert_eq!(error.exit, Exit::Usage);
        assert_eq!(changed, plan());
    }
    for line in [
        "--load soon",
        "--target-cpus a",
        "--rates x",
        "--order up",
        "--adapters a@",
    ] {
        assert!(flags(line).is_err(), "{line}");
    }
}
