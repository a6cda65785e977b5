//! The smoke plan from end to end, its figures recomputed here by other means, and what `verify`
//! and `report` make of the archive.

use std::fs;
use std::path::Path;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use serde_json::Value;

use crate::docker::turn;
use crate::kit::{cells, document};
use crate::program::{program, shootout};

#[test]
fn the_smoke_plan_ends_with_an_archive_that_says_what_its_files_say() {
    let _turn = turn();
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("smoke");
    let run = shootout()
        .args("run smoke --json --out")
        .arg(&archive)
        .run();
    let printed = run.exits_measured().json();
    let summary = document(&archive, "summary.json");
    assert_eq!(printed["cells"], summary["cells"]);
    assert_eq!(printed["id"].as_str().unwrap().len(), 64);
    for cell in summary["cells"].as_array().unwrap() {
        is_sound(cell);
    }
    for folder in cells(&archive) {
        has_the_percentiles_of_its_log(&folder);
    }
    verify_tells_what_is_wrong(&archive, printed["id"].as_str().unwrap());
    reports_come_in_every_format_and_replace_nothing(&archive);
    is_not_written_over(&archive);
    is_as_large_as_the_dry_run_said(&archive);
}

fn is_sound(cell: &Value) {
    let reasons = cell["invalid_reasons"].as_array().unwrap();
    assert_eq!(
        cell["valid"].as_bool().unwrap(),
        reasons.is_empty(),
        "{reasons:?}"
    );
    let ledger = cell["ledger"].as_object().unwrap();
    let sum: u64 = ledger.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(sum, 2 * ledger["scheduled"].as_u64().unwrap(), "{ledger:?}");
    assert_eq!(ledger["scheduled"], 2000, "floor(rate x duration)");
    let limits = &cell["limits"];
    assert_eq!(
        (&limits["memory_mib"], &limits["pids"]),
        (&2048.into(), &256.into())
    );
    assert_ne!(limits["target_cpus"], limits["load_cpus"]);
    assert!(cell["cpu_us_per_request"].as_f64() > Some(0.0));
    assert!(cell["start_ms"].as_f64() > Some(0.0));
    assert_eq!(
        cell["response_us"]["p999"],
        Value::Null,
        "too few slots for it"
    );
    let why = cell["nulls"]["response_us.p999"].as_str().unwrap();
    assert!(why.contains("10000"), "{why}");
}

/// Computes p50 to p99 from `latency.hlog` by the HdrHistogram crate and the definition alone: the
/// value at rank ceil(q x scheduled).
fn has_the_percentiles_of_its_log(folder: &Path) {
    let cell = document(folder, "cell.json");
    let log = fs::read(folder.join("latency.hlog")).unwrap();
    let mut response: Option<Histogram<u64>> = None;
    for entry in IntervalLogIterator::new(&log) {
        let LogEntry::Interval(interval) = entry.unwrap() else {
            continue;
        };
        if interval.tag().is_some_and(|tag| tag.as_str() == "response") {
            use base64::Engine;
            let encoded = interval.encoded_histogram();
            let bytes = base64::engine::general_purpose::STANDARD
                .decode(encoded)
                .unwrap();
            let histogram = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
            match &mut response {
                Some(sum) => sum.add(histogram).unwrap(),
                None => response = Some(histogram),
            }
        }
    }
    let response = response.unwrap();
    assert_eq!(Some(response.len()), cell["ledger"]["completed"].as_u64());
    let scheduled = cell["ledger"]["scheduled"].as_u64().unwrap();
    for (name, percent) in [("p50", 50), ("p90", 90), ("p99", 99)] {
        let rank = (scheduled * percent).div_ceil(100);
        let mut below = 0;
        let at_rank = response.iter_recorded().find(|bucket| {
            below += bucket.count_since_last_iteration();
            below >= rank
        });
        let ns = at_rank.map(|bucket| response.highest_equivalent(bucket.value_iterated_to()));
        let published = cell["response_us"][name].as_f64();
        match (ns, published) {
            (Some(ns), Some(us)) => assert!(
                (ns as f64 / 1e3 - us).abs() < 1e-6 * us,
                "{name}: {ns} ns, {us} us"
            ),
            (None, None) => {}
            differs => panic!("{name}: {differs:?}"),
        }
    }
}

fn verify_tells_what_is_wrong(archive: &Path, id: &str) {
    let verify = |flags: &str| {
        shootout()
            .args("verify --json")
            .args(flags)
            .arg(archive)
            .run()
    };
    let right = verify("--allow-smoke").exits(0).json();
    assert_eq!((&right["ok"], &right["id"]), (&true.into(), &id.into()));
    assert_eq!(right["findings"], serde_json::json!([]));
    verify(&format!("--allow-smoke --id {id}")).exits(0);
    verify(&format!("--allow-smoke --id {}", "0".repeat(64))).exits(5);
    verify("").exits(4);

    let victim = cells(archive)[0].join("samples.csv");
    let whole = fs::read(&victim).unwrap();
    let mut altered = whole.clone();
    let last_digit = altered.iter().rposition(u8::is_ascii_digit).unwrap();
    altered[last_digit] ^= 1;
    fs::write(&victim, &altered).unwrap();
    let wrong = verify("--allow-smoke").exits(5).json();
    let file = wrong["findings"][0]["file"].as_str().unwrap();
    assert!(file.ends_with("samples.csv"), "{wrong}");
    fs::write(&victim, &whole).unwrap();
    verify("--allow-smoke").exits(0);
    let nothing = archive.join("cells");
    shootout().args("verify").arg(nothing).run().exits(5);
}

fn reports_come_in_every_format_and_replace_nothing(archive: &Path) {
    let report = |flags: &str| shootout().args("report").args(flags).arg(archive);
    let said = report("").run().exits(0);
    said.says(&["ok at 1,000 req/s", "archive", "verify"]);
    let markdown = report("--format md").run().exits(0).stdout;
    assert_eq!(
        markdown,
        fs::read_to_string(archive.join("report.md")).unwrap()
    );
    let csv = report("--format csv").run().exits(0).stdout;
    assert_eq!(
        csv,
        fs::read_to_string(archive.join("summary.csv")).unwrap()
    );
    let json = report("--format json").run().exits(0).json();
    assert!(json["id"].is_string() && json["groups"].is_array());

    let file = archive.with_extension("md");
    let to_file = || {
        shootout()
            .args("report --format md -o")
            .arg(&file)
            .arg(archive)
            .run()
    };
    to_file().exits(0);
    assert_eq!(fs::read_to_string(&file).unwrap(), markdown);
    let nowhere = shootout().args("report nowhere").run();
    nowhere.exits(5).says(&["nowhere: "]);
    fs::write(&file, "mine").unwrap();
    to_file().exits(2).says(&["nothing is ever overwritten"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

/// Within a factor of two: less, and a disk would fill; more, and nobody would believe it.
fn is_as_large_as_the_dry_run_said(archive: &Path) {
    let run = shootout().args("run smoke --dry-run").run().exits(0);
    let (_, said) = run.stdout.split_once("disk  about ").unwrap();
    let mut words = said.split_whitespace();
    let (number, unit) = (words.next().unwrap(), words.next().unwrap());
    let unit_bytes = if unit == "MB" { 1e6 } else { 1e3 };
    let said_bytes = number.parse::<f64>().unwrap() * unit_bytes;
    let bytes = |folder: &Path| -> f64 {
        let listed = program("find").arg(folder).args("-type f -printf %s\\n");
        let sizes = listed.run().exits(0).stdout;
        sizes.lines().map(|line| line.parse::<f64>().unwrap()).sum()
    };
    let cells_bytes = bytes(&archive.join("cells"));
    // Attempts beyond the two planned cells are in no estimate.
    let planned_bytes = cells_bytes * 2.0 / cells(archive).len() as f64;
    let is_bytes = bytes(archive) - cells_bytes + planned_bytes;
    assert!(
        (0.5..2.0).contains(&(said_bytes / is_bytes)),
        "said {number} {unit}, is {is_bytes}"
    );
}

fn is_not_written_over(archive: &Path) {
    let again = shootout().args("run smoke --out").arg(archive).run();
    again.exits(2).says(&["is not empty", "--out DIR"]);
    let again = shootout().args("run --resume").arg(archive).run();
    again.exits(2).says(&["is finished"]);
}
