//! What a page is made from, written by hand.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use shootout::parity::Transcript;
use shootout::parity::exchange::{Answer, Ask, Body, Exchange};
use shootout::record::hlog::{self, Hlog, Interval};
use shootout::record::schema::{Cell, Hole, Summary, Verdict};
use shootout::stats::groups::groups;

/// Every cell that was measured, as its adapter, workload, rate and repetition.
pub struct Measured<'a> {
    pub adapters: &'a [&'a str],
    pub workloads: &'a [&'a str],
    pub rates: &'a [u64],
    pub repetitions: u32,
    pub load_s: u64,
}

/// Writes an archive with three verdicts and a hole, whose second adapter's clock stepped at the highest
/// rate.
pub fn write(dir: &Path, measured: &Measured) -> Summary {
    let mut cells = Vec::new();
    for (index, adapter) in measured.adapters.iter().enumerate() {
        for workload in measured.workloads {
            for rate in measured.rates {
                for repetition in 1..=measured.repetitions {
                    let mut cell = cell(adapter, workload, *rate, index as f64 + 1.0);
                    cell.key.repetition = repetition;
                    cell.load.ledger.scheduled = rate * measured.load_s;
                    cell.load.ledger.completed = rate * measured.load_s;
                    if index == 1 && Some(rate) == measured.rates.last() {
                        cell.load.valid = false;
                        cell.load.invalid_reasons = vec!["the clock stepped".into()];
                    }
                    let folder = dir.join(format!("cells/{:04}-cell", cells.len() + 1));
                    let seconds = seconds(*rate, index as u64 + 1, measured.load_s);
                    put(&folder.join("cell.json"), "{}");
                    put(&folder.join("latency.hlog"), &hlog::write(&seconds));
                    put(&folder.join("parity.json"), &transcript(adapter));
                    cells.push(cell);
                }
            }
        }
        let source = json!({"title": format!("title of {adapter}"), "language": "C"});
        let path = format!("sources/adapters/{index}/adapter.yaml");
        put(&dir.join(path), &source.to_string());
    }
    let workload = measured.workloads[0];
    let verdict = |metric: &str, verdict: &str, ratio: f64| Verdict {
        a: measured.adapters[2].into(),
        b: measured.adapters[0].into(),
        workload: workload.into(),
        level: 1,
        rate_rps: Some(1000),
        metric: metric.into(),
        rule: "interval".into(),
        verdict: verdict.into(),
        reason: "order alone ranks here".into(),
        ratio: Some(ratio),
        ci_low: Some(ratio * 0.95),
        ci_high: Some(ratio * 1.05),
        confidence: 0.99,
        null_low: Some(0.97),
        null_high: Some(1.02),
        ..Verdict::default()
    };
    let levels = measured.workloads.iter().map(|name| (*name).to_owned());
    let levels: BTreeMap<String, u32> = levels.map(|name| (name, 1)).collect();
    let summary = Summary {
        schema: 1,
        plan: json!({"name": "page", "kind": "duel", "adapters": measured.adapters}),
        environment: json!({"kernel": "test"}),
        groups: groups(&cells, &levels),
        cells,
        verdicts: vec![
            verdict("cpu_us_per_request", "slower", 1.5),
            verdict("response_p50_us", "faster", 0.8),
            verdict("response_p99_us", "no verdict", 1.01),
        ],
        holes: vec![Hole {
            adapter: "cedar".into(),
            workload: workload.into(),
            reason: "its build failed".into(),
        }],
        ..Summary::default()
    };
    put(
        &dir.join("summary.json"),
        &serde_json::to_string(&summary).unwrap(),
    );
    summary
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn cell(adapter: &str, workload: &str, rate: u64, size: f64) -> Cell {
    let mut cell = Cell::default();
    cell.key.adapter = adapter.into();
    cell.key.workload = workload.into();
    cell.key.r#loop = "open".into();
    cell.key.rate_rps = Some(rate);
    (cell.key.connections, cell.key.attempt) = (32, 1);
    cell.key.role = "measure".into();
    cell.load.valid = true;
    cell.healthy = Some(true);
    cell.load.response_us.p50 = Some(100.0 * size + 0.125);
    cell.load.response_us.p99 = Some(400.0 * size + rate as f64);
    cell.load.lag_us.p99 = Some(9.0);
    cell.cpu_us_per_request = Some(50.0 * size + rate as f64 / 64.0);
    cell.rss_mib.baseline = Some(30.0 * size);
    cell.rss_mib.load = Some(41.0 * size);
    cell.rss_mib.recovery = Some(37.0 * size);
    cell
}

fn seconds(rate: u64, size: u64, load_s: u64) -> Hlog {
    let mut log = Hlog::empty();
    for second in 0..load_s {
        let mut hist = hlog::new_histogram();
        for slot in 0..rate {
            let ns = 60_000 + (slot * 7919 + second * 31) % 90_000;
            hist.record(ns * size * if slot % 50 == 0 { 4 } else { 1 })
                .unwrap();
            log.service.record(ns * size).unwrap();
        }
        log.response.push(Interval::pack(second as f64, 1.0, &hist));
    }
    log
}

fn transcript(adapter: &str) -> String {
    let exchange = |row: &str| Exchange {
        when: "before".into(),
        row: row.into(),
        unix_s: 0.0,
        nonce: "00ff".into(),
        request: Ask {
            method: "GET".into(),
            path: "/00ff".into(),
            headers: vec![],
            body: None,
        },
        response: Answer {
            status: 200,
            headers: vec![("server".into(), adapter.into())],
            body: Body(b"hello".to_vec()),
            error: String::new(),
        },
        failures: vec![],
    };
    let transcript = Transcript {
        exchanges: vec![exchange("plain"), exchange("HEAD")],
        ..Transcript::default()
    };
    serde_json::to_string(&transcript).unwrap()
}

/// Replaces every text of the archive, and the name of every folder.
pub fn poison(dir: &Path, text: &str) {
    let mut files = vec![dir.join("summary.json")];
    for folder in ["cells", "sources/adapters"] {
        for entry in fs::read_dir(dir.join(folder)).unwrap() {
            let place = entry.unwrap().path();
            let hostile = format!("{} {}", place.display(), text.replace('/', ""));
            fs::rename(place, &hostile).unwrap();
            let own = ["parity.json", "adapter.yaml"].map(|file| Path::new(&hostile).join(file));
            files.extend(own.into_iter().filter(|file| file.exists()));
        }
    }
    for file in files {
        let mut document = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        replace(&mut document, text);
        fs::write(file, document.to_string()).unwrap();
    }
}

fn replace(value: &mut Value, text: &str) {
    // Without these there are no groups, and of an exchange only its error is shown.
    const KEPT: [&str; 4] = ["role", "loop", "nonce", "error"];
    match value {
        Value::String(old) => text.clone_into(old),
        Value::Array(list) => list.iter_mut().for_each(|value| replace(value, text)),
        Value::Object(map) => {
            let texts = map.iter_mut().filter(|(key, _)| !KEPT.contains(&&***key));
            texts.for_each(|(_, value)| replace(value, text));
            // Wherever a name can be chosen freely.
            for free in ["environment", "plan", "nulls"] {
                if let Some(Value::Object(map)) = map.get_mut(free) {
                    map.insert(text.to_owned(), text.into());
                }
            }
        }
        _ => {}
    }
}
