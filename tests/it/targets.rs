//! Targets that misbehave: a clear record or message each, never a number that looks like a result.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::docker::turn;
use crate::kit::{Kit, cells, document, kit, verifies};

#[test]
fn a_target_that_never_answers_is_refused_with_what_was_seen_instead() {
    let _turn = turn();
    let kit = kit();
    for (label, seen) in [
        ("deaf", "nothing listens on port 8080"),
        ("ends", "exit code 7"),
        ("ends", "this target ends at once"),
        ("ipv6", "::1 only: make it listen on 0.0.0.0:8080"),
    ] {
        let line = format!("check liar@{label} -w ok");
        let said = kit.shootout(&line).run().exits(4);
        if label == "ipv6" && said.stdout.contains("no IPv6") {
            eprintln!("skipped {label}: containers have no IPv6 here");
            continue;
        }
        said.says(&["row       ready", seen]);
    }
}

#[test]
fn a_target_that_ends_at_once_stops_the_run_with_its_log() {
    let _turn = turn();
    let kit = kit();
    kit.plan("ends", "liar@ends", "");
    let archive = kit.path("results/ends");
    let run = kit.shootout("run ends --out").arg(&archive).run().exits(4);
    run.says(&["exit code 7", "this target ends at once", "--keep-going"]);
    assert!(cells(&archive).is_empty());
}

#[test]
fn a_target_that_floods_its_log_is_measured_and_its_log_bounded() {
    let _turn = turn();
    let (kit, archive) = measured("floods");
    let cells = cells(&archive);
    let log = cells[0].join("target.log").metadata().unwrap().len();
    assert!((1..=1 << 20).contains(&log), "{log} bytes");
    drop(kit);
}

#[test]
fn a_target_that_is_killed_for_memory_is_recorded_as_such() {
    let _turn = turn();
    let kit = kit();
    let limits = "limits: {target_cpus: 1, memory_mib: 64}\nretries: 2";
    kit.plan("hoards", "liar@hoards", limits);
    let archive = kit.path("results/hoards");
    let run = kit.shootout("run hoards --out").arg(&archive).run();
    run.exits_measured();
    verifies(&archive);
    let cell = last_cell(&archive);
    let ended = cell["target_ended"].as_str().unwrap();
    assert!(ended.contains("killed for memory"), "{ended}");
    assert!(cell["ledger"]["failed"].as_u64() > Some(0));
    assert_eq!(cell["response_us"]["p99"], Value::Null);
    assert_eq!(cell["limits"]["memory_mib"], 64);
    is_unhealthy(&cell, "ended under load");
}

#[test]
fn a_target_that_fails_one_in_a_hundred_requests_is_not_healthy() {
    let _turn = turn();
    let (kit, archive) = measured("errors");
    let cell = last_cell(&archive);
    let ledger = &cell["ledger"];
    assert_eq!(ledger["scheduled"], 1000);
    let wrong = ledger["wrong_response"].as_u64().unwrap();
    assert!((9..=11).contains(&wrong), "{ledger}");
    is_unhealthy(&cell, "wrong responses");
    assert_eq!(cell["response_us"]["max"], Value::Null, "censored");
    drop(kit);
}

/// Runs one cell of a variant to a verified archive.
fn measured(label: &str) -> (Kit, PathBuf) {
    let kit = kit();
    kit.plan("one", &format!("liar@{label}"), "");
    let archive = kit.path("results/one");
    kit.shootout("run one --out")
        .arg(&archive)
        .run()
        .exits_measured();
    verifies(&archive);
    (kit, archive)
}

/// The last attempt, which is the valid one if any is.
fn last_cell(archive: &Path) -> Value {
    let summary = document(archive, "summary.json");
    summary["cells"].as_array().unwrap().last().unwrap().clone()
}

/// Judged unhealthy for this reason, or not judged where a busy machine made its measurement invalid.
#[track_caller]
fn is_unhealthy(cell: &Value, reason: &str) {
    if cell["valid"] == false {
        return assert_eq!(cell["healthy"], Value::Null);
    }
    assert_eq!(cell["healthy"], false);
    let reasons = cell["unhealthy_reasons"].to_string();
    assert!(reasons.contains(reason), "{reasons}");
}
