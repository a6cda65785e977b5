//! Pairs: two sides alive at once, in turns; written, verified, resumed as one.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::docker::turn;
use crate::kit::{Kit, cells, document, kit, verifies};

/// Two of one server, each in its own slices; a pair has an open loop and a closed one.
pub const PLAN: &str = "\
name: pair
kind: duel
adapters: [liar@honest, liar]
workloads: [ok]
rates_rps: [1000]
connections: 16
metrics: [cpu_us_per_request, capacity_rps]
pairs: 1
'null': 1
capacity: {connections: [8], load: 0.5}
phases: {baseline: 0.1, warm_up: {seconds: 0.5, min_requests: 500}, settle: 0.1, load: 2.5, recovery: 0.1}
limits: {target_cpus: 1}
retries: 2
publishable: false
";

/// A kit with that plan.
pub fn duelists() -> Kit {
    let kit = kit();
    kit.write("workloads/plans/pair.yaml", PLAN);
    kit
}

#[test]
fn a_pair_takes_turns_and_is_recorded_and_verified_as_one() {
    let _turn = turn();
    let kit = duelists();
    let archive = kit.path("results/pair");
    let run = kit.shootout("run pair --out").arg(&archive).run();
    run.exits_measured()
        .says(&["prove nothing: at least 6 pairs"]);
    let summary = document(&archive, "summary.json");
    let cells = summary["cells"].as_array().unwrap();
    for pair in pairs(cells) {
        let [a, b] = &pair[..] else {
            panic!("two sides: {pair:?}")
        };
        for key in ["sides", "epoch_ns", "mask", "attempt", "role"] {
            assert_eq!(a[key], b[key], "{key}");
        }
        assert_eq!((&a["side"], &b["side"]), (&"a".into(), &"b".into()));
        for side in [a, b] {
            is_in_its_slices(side);
        }
    }
    let verdicts = summary["verdicts"].as_array().unwrap();
    assert_eq!(verdicts.len(), 2, "{verdicts:?}");
    for verdict in verdicts {
        assert_eq!(verdict["verdict"], "no verdict");
        assert_eq!(
            (&verdict["a"], &verdict["b"]),
            (&"liar@honest".into(), &"liar".into())
        );
        assert!(!verdict["reason"].as_str().unwrap().is_empty());
    }
    verifies(&archive);
}

/// By pair, attempt and load: its sides.
fn pairs(cells: &[Value]) -> Vec<Vec<&Value>> {
    let key = |cell: &&Value| {
        let of = ["role", "pair", "attempt", "loop"].map(|key| cell[key].to_string());
        of.join(" ")
    };
    let mut sorted: Vec<&Value> = cells
        .iter()
        .filter(|cell| !cell["pair"].is_null())
        .collect();
    sorted.sort_by_key(key);
    assert!(sorted.len() >= 8, "two pairs of two sides and two loads");
    sorted
        .chunk_by(|a, b| key(a) == key(b))
        .map(<[_]>::to_vec)
        .collect()
}

/// Its slots are those of its own time, counted by block, and its CPU time lies where it should.
fn is_in_its_slices(side: &Value) {
    let own_s = side["own_s"].as_f64().unwrap();
    let completed = side["ledger"]["completed"].as_u64().unwrap();
    let blocks = side["blocks"].as_array().unwrap();
    let in_blocks = blocks
        .iter()
        .map(|block| block["completed"].as_u64().unwrap());
    assert_eq!(in_blocks.sum::<u64>(), completed);
    assert!(side["target_ended"] == "" && side["scenery"].is_object());
    if side["loop"] == "open" {
        let slots = side["ledger"]["scheduled"].as_u64().unwrap();
        assert_eq!(
            slots,
            (1000.0 * own_s).floor() as u64,
            "floor(rate x own time)"
        );
        assert!(side["background_pct"].as_f64() >= Some(0.0));
    }
}

#[test]
fn a_pair_that_is_killed_is_measured_again_as_a_whole_and_never_twice() {
    let _turn = turn();
    let kit = duelists();
    let archive = kit.path("results/pair");
    let mut run = kit.shootout("run pair --out").arg(&archive).start();
    // The first pair is written, the second under way.
    let start = Instant::now();
    while cells(&archive).len() < 4 && !run.has_ended() {
        assert!(start.elapsed() < Duration::from_secs(900));
        std::thread::sleep(Duration::from_millis(20));
    }
    run.signal(Signal::KILL);
    run.wait();
    let before = cells(&archive);
    // As if it had been killed between the two sides' records: half a pair is none.
    let half = before
        .iter()
        .find(|path| name(path).contains("-closed-") && name(path).contains("-b"));
    let half = half.expect("the first pair has a closed loop").clone();
    let open = before
        .iter()
        .find(|path| !name(path).contains("-closed-") && name(path).ends_with("-b"));
    let open = open.map(|path| name(path));
    if let Some(open) = &open {
        std::fs::remove_dir_all(archive.join("cells").join(open)).unwrap();
    }
    let resumed = kit.shootout("run --resume").arg(&archive).run();
    resumed.exits_measured();
    assert!(archive.join("cells").join(name(&half)).exists() || open.is_some());
    let summary = document(&archive, "summary.json");
    for pair in pairs(summary["cells"].as_array().unwrap()) {
        assert_eq!(pair.len(), 2, "{pair:?}");
    }
    verifies(&archive);
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}
