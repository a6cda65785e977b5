//! A search: rates tried one after the other in fresh containers; recorded, verified, resumed as one.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::docker::turn;
use crate::kit::{Kit, cells, document, kit, verifies};

/// So low that any machine holds the lowest rate, and none of the rates is about speed. By the number of
/// its connections the liar knows a load.
const PLAN: &str = "\
name: knees
kind: sustain
adapters: [liar@honest, liar@errors]
workloads: [ok]
rates_rps: [500, 600]
connections: 100
timeout: 1s
criterion: {coverage: 0.95, p99_ms: 500}
trials: 1
phases: {baseline: 0.1, warm_up: {seconds: 0.2, rate_rps: 300}, settle: 0.1, load: 2, recovery: 0.1}
limits: {target_cpus: 1}
retries: 5
publishable: false
";

/// A kit with that plan.
fn seekers() -> Kit {
    let kit = kit();
    kit.write("workloads/plans/knees.yaml", PLAN);
    kit
}

/// The row of one label.
fn row<'a>(summary: &'a Value, label: &str) -> &'a Value {
    let rows = summary["sustained"].as_array().unwrap();
    let row = rows.iter().find(|row| row["label"] == label);
    row.unwrap_or_else(|| panic!("no row of {label}: {rows:?}"))
}

#[test]
fn a_search_says_which_rate_was_held_and_why_no_other() {
    let _turn = turn();
    let kit = seekers();
    let dry = kit.shootout("run knees --dry-run").run().exits(0);
    dry.says(&[
        "plan knees: 2 searches among 2 rates from 500/s to 600/s",
        "at least  2 cells",
        "at most   4 cells",
        "held for 2 s of load after 0.2 s of warm-up",
    ]);
    let archive = kit.path("results/knees");
    let run = kit.shootout("run knees --out").arg(&archive).run();
    let run = run.exits_measured();
    let summary = document(&archive, "summary.json");
    let (honest, errors) = (row(&summary, "honest"), row(&summary, "errors"));
    if !run.left_unmeasured() {
        run.says(&["held for 2 s of load"]);
        assert_eq!(
            (&honest["rate_rps"], &honest["at_least"]),
            (&600.into(), &true.into())
        );
        assert_eq!(honest["mode"], "pinned");
        assert!(honest["idle_rss_mib"].as_f64() > Some(0.0), "{honest}");
        assert!(
            honest["image_own_mib"].as_f64() < honest["image_mib"].as_f64(),
            "{honest}"
        );
        assert!(
            honest["generator_rps_per_cpu_s"].as_f64() > Some(500.0),
            "{honest}"
        );
    }
    assert_eq!(
        errors["rate_rps"],
        Value::Null,
        "one wrong response in a hundred"
    );
    verifies(&archive);
}

#[test]
fn a_search_that_is_killed_goes_on_where_it_was() {
    let _turn = turn();
    let kit = seekers();
    let archive = kit.path("results/knees");
    let mut run = kit.shootout("run knees --out").arg(&archive).start();
    let start = Instant::now();
    while cells(&archive).len() < 2 && !run.has_ended() {
        assert!(start.elapsed() < Duration::from_secs(900));
        std::thread::sleep(Duration::from_millis(20));
    }
    run.signal(Signal::KILL);
    run.wait();
    let before = cells(&archive);
    let resumed = kit.shootout("run --resume").arg(&archive).run();
    resumed.exits_measured();
    assert_eq!(
        cells(&archive)[..before.len()],
        before[..],
        "none is measured twice"
    );
    verifies(&archive);
}

#[test]
fn an_unleashed_search_needs_four_cpus() {
    let kit = seekers();
    let plan = PLAN.replace("trials: 1", "mode: unleashed");
    kit.write(
        "workloads/plans/free.yaml",
        &plan
            .replace("knees", "free")
            .replace("target_cpus: 1", "target_cpus: all"),
    );
    let dry = kit.shootout("run free --dry-run").run();
    match std::thread::available_parallelism().unwrap().get() {
        ..4 => dry
            .exits(3)
            .says(&["needs at least 4 CPUs", "mode: pinned"]),
        _ => dry.exits(0).says(&["mode  unleashed"]),
    };
}
