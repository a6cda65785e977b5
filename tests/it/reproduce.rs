//! `reproduce`: a tiny archive, really measured, and its plan run again from what it holds.

use std::path::Path;

use crate::docker::turn;
use crate::kit::{Kit, document, kit, verifies};

/// Nothing listens there: whatever would need an engine exits with 3.
const NO_ENGINE: &str = "unix:///nonexistent.sock";

/// A table that somebody published of the plan `some`: one adapter of it can't be built here.
const TABLE: &str = "\
title: Some
source: nobody
table: some.csv
reference: liar
columns: {contender: who, runs: runs}
workload: ok
contenders: {liar: {adapter: liar}, stone: {adapter: stone}, wood: {adapter: wood}}
figures: [{figure: cpu_us_per_request, median: cpu, min: cpu, max: cpu}]
differs: [everything]
";
const CSV: &str = "who,runs,cpu\nliar,3,10\nstone,3,20\nwood,3,30\n";

/// A kit in which two adapters can't be built, and of which a table was published.
fn published() -> Kit {
    let kit = kit();
    let text = std::fs::read_to_string(kit.path("adapters/liar/adapter.yaml")).unwrap();
    for name in ["stone", "wood"] {
        let text = format!("{text}not_built: it is no program\n");
        kit.write(&format!("adapters/{name}/adapter.yaml"), &text);
    }
    kit.write("workloads/plans/published/some.yaml", TABLE);
    kit.write("workloads/plans/published/some.csv", CSV);
    kit.write(
        "workloads/plans/published/later.yaml",
        &TABLE.replace("some.csv", "later.csv"),
    );
    kit.write("workloads/plans/published/later.csv", CSV);
    kit.plan("some", "liar, liar@honest, stone", "");
    kit
}

#[test]
fn an_archive_is_run_again_from_its_own_sources_and_every_ratio_is_answered() {
    let _turn = turn();
    let kit = published();
    let first = kit.path("results/first");
    let run = kit.shootout("run some --out").arg(&first).run();
    let first_run = run.exits_measured();
    // Whatever the kit holds by now, the archive holds what it was measured with.
    kit.write("adapters/liar/Dockerfile", "FROM nothing/at/all\n");
    std::fs::remove_dir_all(kit.path("workloads/ok")).unwrap();
    let second = kit.path("results/second");
    let line = format!("reproduce {} --json --settle 0.2s --out", first.display());
    let second_run = kit.shootout(&line).arg(&second).run().exits_measured();
    let answers = second_run.json();
    let left_unmeasured = first_run.left_unmeasured() || second_run.left_unmeasured();
    verifies(&second);
    let source = |archive: &Path| document(archive, "images.json");
    assert_eq!(source(&first), source(&second), "the very same images");
    let here = document(&second, "environment.json");
    let there = document(&first, "environment.json");
    assert_eq!(here["modified"], there["modified"], "{here}");

    assert_eq!(answers["there"]["archive"], first.to_str().unwrap());
    assert_eq!(answers["here"]["archive"], second.to_str().unwrap());
    assert_eq!(
        answers["changed"],
        serde_json::json!(["settle: 0.1 -> 0.2"])
    );
    let ratios = answers["ratios"].as_array().unwrap();
    assert_eq!(answers["no_verdict"], ratios.len(), "{answers}");
    for ratio in ratios {
        assert_eq!(
            (&ratio["a"], &ratio["b"]),
            (&"liar@honest".into(), &"liar".into())
        );
        assert_eq!(ratio["answer"], "no_verdict");
        let reason = ratio["reason"].as_str().unwrap();
        let is_unmeasured = reason.contains("in one of its runs") && left_unmeasured;
        let too_few = reason.contains("at least 3 of each side");
        assert!(too_few || is_unmeasured, "{reason}");
    }
    offline(&kit, &first, &second);
}

/// What can be said without measuring anything.
fn offline(kit: &Kit, first: &Path, second: &Path) {
    let reproduce = |what: &str, against: &Path| {
        let program = kit.shootout(&format!("reproduce {what} --against"));
        program.arg(against).env("DOCKER_HOST", NO_ENGINE)
    };
    let archive = first.display().to_string();
    let said = reproduce(&archive, second).run().exits(0);
    said.says(&[
        "0 reproduced, 0 not reproduced",
        "Run with settle: 0.1 -> 0.2",
    ]);
    let failing = reproduce(&archive, second).args("--fail-on not-reproduced");
    failing.run().exits(6).says(&["nothing could be judged"]);
    for table in ["some", "later"] {
        let said = reproduce(table, first).run().exits(0);
        said.says(&[
            "stone was not measured here: not built: it is no program",
            "stone / liar, cpu_us_per_request of ok: 2.000 [2.000, 2.000] there",
            "wood took no part here",
            "0 reproduced, 0 not reproduced, 2 without a verdict",
        ]);
    }
    std::fs::write(second.join("report.md"), "faster").unwrap();
    let refused = reproduce(&archive, second).run().exits(5);
    refused.says(&["report.md: altered"]);
    let refused = kit
        .shootout("reproduce")
        .arg(second)
        .env("DOCKER_HOST", NO_ENGINE);
    refused.run().exits(5).says(&["report.md: altered"]);
}

#[test]
fn what_can_not_be_run_again_is_refused_before_anything_is_begun() {
    let kit = published();
    for (line, code, told) in [
        (
            "reproduce smoe",
            2,
            "no archive smoe, and no published table",
        ),
        ("reproduce smoe", 2, "nodefony, some"),
        ("reproduce later", 2, "there is no plan later here"),
        ("reproduce later", 2, "--against ARCHIVE"),
        ("reproduce some --rates 0", 2, "a rate of 0"),
        (
            "reproduce some --against none --load 5s",
            2,
            "--against runs nothing",
        ),
        ("reproduce some --against none", 5, "none: "),
        ("reproduce some", 3, "/nonexistent.sock"),
    ] {
        let run = kit.shootout(line).env("DOCKER_HOST", NO_ENGINE);
        run.run().exits(code).says(&[told]);
    }
    let left = std::fs::read_dir(kit.path("results"));
    assert!(left.is_err(), "nothing was begun");
    let shown = kit
        .shootout("reproduce some --dry-run")
        .env("DOCKER_HOST", NO_ENGINE);
    shown.run().exits(0).says(&["liar"]);
}

#[test]
fn a_gate_is_refused_before_a_run_and_judged_after_it() {
    let kit = kit();
    kit.plan("one", "liar", "");
    let refused = kit.shootout("run one --gate").arg("p98_ms < 10");
    let refused = refused.env("DOCKER_HOST", NO_ENGINE).run().exits(2);
    refused.says(&["`p98_ms` is no figure", "p99_ms"]);
    let _turn = turn();
    let run = kit.shootout("run one --gate").arg("p99_ms < 0.001").run();
    if !run.left_unmeasured() {
        let what = "a gate does not hold: p99_ms < 0.001: liar on ok at 500/s: it is ";
        run.exits(6).says(&[what]);
    }
}
