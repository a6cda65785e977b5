//! Equal work: whoever answers otherwise than the workload says is stopped before any number.

use std::collections::BTreeSet;

use crate::docker::turn;
use crate::kit::{cells, document, kit, verifies};

/// label, workload, the row that stops it, what was expected, what came.
const LIES: [(&str, &str, &str, &str, &str); 5] = [
    ("status", "ok", "plain ok", "status 200", "status 201"),
    ("body", "ok", "plain ok", "body ok", "body ko"),
    (
        "type",
        "ok",
        "plain ok",
        "content-type: text/plain",
        "content-type: application/octet-stream",
    ),
    (
        "header",
        "ok",
        "plain ok",
        "content-type: text/plain",
        "no such header",
    ),
    (
        "nonce",
        "hello",
        "plain hello",
        "JSON {\"hello\":\"",
        "JSON {\"hello\":\"0123456789abcdef\"}",
    ),
];

#[test]
fn check_names_the_row_and_what_was_expected_and_what_came() {
    let _turn = turn();
    let kit = kit();
    for (label, workload, row, expected, got) in LIES {
        let line = format!("check liar@{label} -w {workload}");
        let said = kit.shootout(&line).run().exits(4);
        let told = ["FAILED", row, expected, got, "1 of 1 checks failed"];
        said.says(&told);
    }
}

#[test]
fn check_sees_what_only_several_responses_show() {
    let _turn = turn();
    let kit = kit();
    // One response of a thousand begins a session; every one has the same date.
    let lies = [
        ("session", "no set-cookie in 1000 responses", "1 of them"),
        ("frozen", "a date that moves", "01 Jan 1970"),
    ];
    for (label, expected, got) in lies {
        let line = format!("check liar@{label} -w ok");
        let said = kit.shootout(&line).run().exits(4);
        said.says(&["FAILED", expected, got]);
    }
}

#[test]
fn who_is_better_towards_parity_than_towards_load_is_stopped() {
    let _turn = turn();
    let kit = kit();
    kit.shootout("check liar@shy -w ok").run().exits(0);
    kit.plan("shy", "liar@shy", "workloads: [ok]");
    let archive = kit.path("results/shy");
    let run = kit.shootout("run shy --out").arg(&archive).run().exits(4);
    run.says(&[
        "parity during the load",
        "content-type: text/plain",
        "no such header",
    ]);
    assert!(cells(&archive).is_empty());
}

#[test]
fn check_prints_an_outcome_per_adapter_and_workload_for_scripts() {
    let _turn = turn();
    let kit = kit();
    let checked = kit.shootout("check --json liar liar@nonce").run().exits(4);
    let checked = checked.json();
    let outcome = |index: usize| {
        let one = &checked[index];
        let keys = ["adapter", "label", "workload"].map(|key| one[key].as_str().unwrap());
        (keys.join(" "), one["ok"].as_bool().unwrap())
    };
    let outcomes: Vec<_> = (0..checked.as_array().unwrap().len())
        .map(outcome)
        .collect();
    let expected = [
        ("liar  ok", true),
        ("liar  hello", true),
        ("liar nonce ok", true),
        ("liar nonce hello", false),
    ];
    assert_eq!(outcomes, expected.map(|(name, ok)| (name.to_owned(), ok)));
    assert!(checked[0]["rows"].as_u64() > Some(3));
    assert_eq!(checked[0]["failures"], serde_json::json!([]));
    let failure = &checked[3]["failures"][0];
    assert_eq!(failure["row"], "plain hello");
    assert!(failure["expected"].as_str().unwrap().starts_with("JSON"));
    assert!(
        failure["got"]
            .as_str()
            .unwrap()
            .contains("0123456789abcdef")
    );
}

#[test]
fn run_stops_at_a_lie_and_leaves_no_number() {
    let _turn = turn();
    let kit = kit();
    for (label, workload, row, expected, got) in LIES {
        let workload = format!("workloads: [{workload}]");
        kit.plan("lie", &format!("liar@{label}"), &workload);
        let archive = kit.path(&format!("results/{label}"));
        let run = kit.shootout("run lie --out").arg(&archive).run().exits(4);
        run.says(&[row, expected, got, "--keep-going"]);
        assert!(cells(&archive).is_empty());
        assert!(!archive.join("summary.json").exists());
    }
}

#[test]
fn a_run_that_keeps_going_makes_holes_of_lies() {
    let _turn = turn();
    let kit = kit();
    kit.plan("mixed", "liar, liar@body", "repetitions: 2");
    let archive = kit.path("results/mixed");
    let run = kit.shootout("run mixed --keep-going --out");
    run.arg(&archive).run().exits(4).says(&["row `plain ok`"]);
    verifies(&archive);
    let summary = document(&archive, "summary.json");
    let holes = summary["holes"].as_array().unwrap();
    assert_eq!(holes.len(), 1, "{holes:?}");
    assert_eq!(holes[0]["adapter"], "liar@body");
    assert_eq!(holes[0]["workload"], "ok");
    assert!(holes[0]["reason"].as_str().unwrap().contains("plain ok"));
    let cells = summary["cells"].as_array().unwrap();
    assert!(
        cells.iter().all(|cell| cell["label"] == ""),
        "a lie has no number"
    );
    let repetitions: BTreeSet<_> = cells
        .iter()
        .map(|cell| cell["repetition"].as_u64())
        .collect();
    assert_eq!(
        repetitions.len(),
        2,
        "who does not lie is measured all the same"
    );
}
