//! The report's page in a real browser: nothing is fetched, nothing fails, every figure is there.
//! Its pictures are kept in cargo's folder for tests, to be looked at.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use base64::Engine as _;
use serde_json::{Value, json};
use shootout::parity::Transcript;
use shootout::parity::exchange::{Answer, Ask, Body, Exchange};
use shootout::record::hlog::{self, Hlog, Interval};
use shootout::record::schema::{Cell, Hole, Summary, Verdict};
use shootout::stats::groups::groups;

use crate::browser::{Browser, browser};
use crate::program::shootout;

const HOSTILE: &str = "<script>document.title='x'</script>";
const ADAPTERS: [&str; 3] = ["amber", "birch", HOSTILE];

#[test]
fn the_page_opens_anywhere_fetches_nothing_and_shows_every_figure() {
    let Some(browser) = browser() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let summary = archive(dir.path());
    let page = dir.path().join("report.html");
    let report = shootout()
        .args("report --format html -o")
        .arg(&page)
        .arg(dir.path());
    report.run().exits(0);

    browser.open(&format!("file://{}", page.display()));
    figures(&browser, &summary);
    tables(&browser);
    pictures(&browser);
    let console = browser.log("browser");
    assert!(console.is_empty(), "the console says {console:?}");
    for entry in browser.log("performance") {
        let event: Value = serde_json::from_str(entry["message"].as_str().unwrap()).unwrap();
        let event = &event["message"];
        if event["method"] == "Network.requestWillBeSent" {
            let url = event["params"]["request"]["url"].as_str().unwrap();
            let local = ["file:", "data:", "about:"]
                .iter()
                .any(|own| url.starts_with(own));
            assert!(local, "the page asked for {url}");
        }
    }
}

fn figures(browser: &Browser, summary: &Summary) {
    let marks =
        browser.eval("return [...document.querySelectorAll('.mark')].map((m) => +m.dataset.v)");
    let marks: Vec<f64> = marks
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_f64)
        .collect();
    let mut expected: Vec<f64> = summary.verdicts.iter().filter_map(|v| v.ratio).collect();
    for group in &summary.groups {
        // Drawn once each: CPU, three phases of memory, and p99 over the rate.
        for figure in [
            "cpu_us_per_request",
            "rss_mib.baseline",
            "rss_mib.load",
            "rss_mib.recovery",
            "response_us.p99",
        ] {
            expected.extend(group.figures[figure].map(|spread| spread.median));
        }
    }
    let sorted = |mut figures: Vec<f64>| {
        figures.sort_by(f64::total_cmp);
        figures
    };
    assert_eq!(sorted(marks), sorted(expected));

    let visible = browser.eval("return document.body.innerText");
    let visible = visible.as_str().unwrap();
    for hole in &summary.holes {
        assert!(visible.contains(&hole.reason), "not seen: {}", hole.reason);
    }
    assert!(visible.contains("the clock stepped") && visible.contains("order alone ranks"));
    assert!(visible.contains(HOSTILE), "a hostile name is text");
    assert_eq!(browser.eval("return document.scripts.length"), 1);
    assert_ne!(browser.eval("return document.title"), "x");
    let before = "return document.getElementById('inconclusive').offsetTop < document.getElementById('verdicts').offsetTop";
    assert_eq!(browser.eval(before), true);
}

/// By keyboard alone.
fn tables(browser: &Browser) {
    const COLUMN: &str = "[...document.querySelectorAll('#figures .grid tbody tr')].slice(0, 7)";
    let p50 = format!("return {COLUMN}.map((row) => row.cells[4]?.dataset.v ?? null)");
    let shown = format!("return {COLUMN}.filter((row) => row.checkVisibility()).length");
    let read = |script: &str| -> Vec<Option<f64>> {
        let column = browser.eval(script);
        let column = column.as_array().unwrap().iter();
        column
            .map(|v| v.as_str().map(|v| v.parse().unwrap()))
            .collect()
    };
    for (key, sign) in [("ascending", 1.0), ("descending", -1.0)] {
        browser.keys("#figures .grid th:nth-child(5) button", "\u{e007}");
        let column = read(&p50);
        let figures: Vec<f64> = column.iter().flatten().map(|v| v * sign).collect();
        assert!(
            figures.len() >= 4 && figures.is_sorted(),
            "{key}: {column:?}"
        );
        assert_eq!(
            column.last(),
            Some(&None),
            "{key}: what there is not comes last"
        );
        let sort = "return document.querySelector('#figures .grid th:nth-child(5)').ariaSort";
        assert_eq!(browser.eval(sort), key);
    }
    assert_eq!(browser.eval(&shown), 7);
    browser.keys("#figures .tools input", "birch");
    assert_eq!(browser.eval(&shown), 2, "one for each rate");
    browser.eval(
        "window.copied = ''; navigator.clipboard.writeText = async (text) => { window.copied = text; }",
    );
    browser.keys("#figures .tools button", "\u{e007}");
    let csv = browser.eval("return window.copied");
    let csv = csv.as_str().unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert!(
        lines[0].starts_with(
            "adapter,load,connections,\"healthy / valid / runs\",\"p50 us\",\"p50 us min\","
        ),
        "{csv}"
    );
    assert_eq!(lines.len(), 3, "{csv}");
    assert!(
        lines.iter().skip(1).all(|line| line.starts_with("birch,")),
        "{csv}"
    );
    browser.eval("const f = document.querySelector('#figures .tools input'); f.value = ''; f.dispatchEvent(new Event('input'))");
}

/// Wide and on a phone, in light and in dark: nothing is wider than the window.
fn pictures(browser: &Browser) {
    for width in [1280, 390] {
        for scheme in ["light", "dark"] {
            let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
            browser.devtools("Emulation.setEmulatedMedia", &json!({"features": features}));
            let screen = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500});
            browser.devtools("Emulation.setDeviceMetricsOverride", &screen);
            let wide = browser.eval("return document.documentElement.scrollWidth");
            assert!(wide.as_i64().unwrap() <= width, "{wide} of {width}");
            let picture = json!({"captureBeyondViewport": true, "format": "png"});
            let png = browser.devtools("Page.captureScreenshot", &picture);
            let png = png["data"].as_str().unwrap();
            let png = base64::engine::general_purpose::STANDARD
                .decode(png)
                .unwrap();
            let name = format!("report-{width}-{scheme}.png");
            fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name), png).unwrap();
        }
    }
}

/// What a page is made from, written by hand: three adapters, two rates, a hole, an invalid cell.
fn archive(dir: &Path) -> Summary {
    let mut cells = Vec::new();
    for (index, adapter) in ADAPTERS.into_iter().enumerate() {
        for rate in [100, 1000] {
            let mut cell = cell(adapter, rate, index as f64 + 1.0);
            let seconds = seconds(rate, index as u64 + 1);
            cell.load.ledger.scheduled = rate * 12;
            cell.load.ledger.completed = rate * 12;
            if index == 1 && rate == 1000 {
                cell.load.valid = false;
                cell.load.invalid_reasons = vec!["the clock stepped".into()];
            }
            let folder = dir.join(format!("cells/{:04}-cell", cells.len() + 1));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("cell.json"), "{}").unwrap();
            fs::write(folder.join("latency.hlog"), hlog::write(&seconds)).unwrap();
            let parity = serde_json::to_string(&transcript()).unwrap();
            fs::write(folder.join("parity.json"), parity).unwrap();
            cells.push(cell);
        }
    }
    let hole = Hole {
        adapter: "cedar".into(),
        workload: "hello".into(),
        reason: "its build failed".into(),
    };
    let verdict = |metric: &str, verdict: &str, ratio: f64| Verdict {
        a: HOSTILE.into(),
        b: "amber".into(),
        workload: "hello".into(),
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
    let summary = Summary {
        schema: 1,
        plan: json!({"name": "page", "kind": "duel", "adapters": ADAPTERS}),
        environment: json!({"kernel": HOSTILE}),
        groups: groups(&cells, &BTreeMap::from([("hello".to_owned(), 1)])),
        cells,
        verdicts: vec![
            verdict("cpu_us_per_request", "slower", 1.5),
            verdict("response_p50_us", "faster", 0.8),
            verdict("response_p99_us", "no verdict", 1.01),
        ],
        holes: vec![hole],
        ..Summary::default()
    };
    fs::write(
        dir.join("summary.json"),
        serde_json::to_string(&summary).unwrap(),
    )
    .unwrap();
    summary
}

fn cell(adapter: &str, rate: u64, size: f64) -> Cell {
    let mut cell = Cell::default();
    cell.key.adapter = adapter.into();
    cell.key.workload = "hello".into();
    cell.key.r#loop = "open".into();
    cell.key.rate_rps = Some(rate);
    cell.key.connections = 32;
    (cell.key.repetition, cell.key.attempt) = (1, 1);
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

fn seconds(rate: u64, size: u64) -> Hlog {
    let mut log = Hlog::empty();
    for second in 0..12u64 {
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

fn transcript() -> Transcript {
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
            headers: vec![("server".into(), HOSTILE.into())],
            body: Body(HOSTILE.as_bytes().to_vec()),
            error: String::new(),
        },
        failures: vec![],
    };
    Transcript {
        exchanges: vec![exchange("plain hello"), exchange(HOSTILE)],
        ..Transcript::default()
    }
}
