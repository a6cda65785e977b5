//! `load`, the engine alone, against a small server within the test.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::Value;

use crate::program::shootout;

#[test]
fn a_load_prints_what_scripts_read_and_a_ledger_that_balances() {
    let port = serve("ok");
    let line = format!("load http://127.0.0.1:{port}/ --rate 200 --duration 1505ms --warmup 100ms");
    let run = shootout().args(&line).args("--expect-body ok --json").run();
    // A machine that is busy with something else makes a run invalid, and it says so.
    let figures = run.json();
    let reasons = figures["invalid_reasons"].as_array().unwrap();
    run.exits(if reasons.is_empty() { 0 } else { 4 });
    assert_eq!(figures["valid"].as_bool().unwrap(), reasons.is_empty());
    assert_eq!(figures["ledger"]["scheduled"], 301, "floor(200 x 1.505)");
    assert_eq!(figures["ledger"]["completed"], 301);
    balances(&figures);
    for clock in ["response_us", "service_us", "lag_us"] {
        has(&figures[clock], "count min mean p50 p90 p99 p999 max");
        assert_eq!(figures[clock]["p999"], Value::Null);
    }
    for cause in ["generator_late", "no_free_connection", "socket_full"] {
        has(&figures["lag_causes"][cause], "count sum_us p99_us max_us");
    }
    let rest = "schema protocol offered_rps achieved_rps coverage bytes_in connections_opened \
        connect_us generator_cpu_us_per_request longest_pause_us nulls errors";
    has(&figures, rest);
    assert_eq!(figures["coverage"], 1.0);
    assert!(figures["response_us"]["p50"].as_f64() > Some(0.0));
}

#[test]
fn wrong_bodies_and_statuses_are_no_completions() {
    let port = serve("ok");
    for (flag, expected) in [
        ("--expect-body ko", "body"),
        ("--expect-status 204", "status"),
    ] {
        let line =
            format!("load http://127.0.0.1:{port}/ --rate 100 --duration 200ms --warmup 0s {flag}");
        let run = shootout().args(&line).arg("--json").run().exits(4);
        let figures = run.json();
        assert_eq!(figures["ledger"]["wrong_response"], 20);
        assert_eq!(figures["ledger"]["completed"], 0);
        assert!(
            figures["errors"].to_string().contains(expected),
            "{}",
            figures["errors"]
        );
        balances(&figures);
    }
}

#[test]
fn a_server_that_is_not_there_completes_nothing_and_its_errors_are_few() {
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let line = format!("load http://127.0.0.1:{free}/ --rate 500 --duration 1s --warmup 0s --json");
    let run = shootout()
        .args(&line)
        .run()
        .exits(4)
        .says(&["nothing completed of 500"]);
    let figures = run.json();
    balances(&figures);
    assert_eq!(figures["ledger"]["completed"], 0);
    let kinds = figures["errors"].as_object().unwrap();
    assert!((1..=4).contains(&kinds.len()), "{kinds:?}");
    assert_eq!(figures["response_us"]["p50"], Value::Null, "censored");
}

#[test]
fn its_histograms_go_to_a_file_that_is_never_written_over() {
    let port = serve("ok");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("latency.hlog");
    let load = || {
        let line =
            format!("load http://127.0.0.1:{port}/ --rate 100 --duration 100ms --warmup 0s --hlog");
        shootout().args(&line).arg(&file).run()
    };
    load();
    let text = std::fs::read_to_string(&file).unwrap();
    for tag in ["response", "service", "lag", "generator_late"] {
        assert!(text.contains(&format!("Tag={tag},")), "{text}");
    }
    load().exits(2).says(&["nothing is ever overwritten"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn flags_and_urls_that_make_no_sense_are_refused() {
    for (line, told) in [
        ("http://127.0.0.1:1/", "--rate"),
        ("http://127.0.0.1:1/ --rate 0", "--rate"),
        ("http://127.0.0.1:1/ --rate 10 --duration soon", "soon"),
        (
            "http://127.0.0.1:1/ --rate 10 --connections 0",
            "--connections",
        ),
        ("http://127.0.0.1:1/ --rate 10 --cpus x", "--cpus"),
        (
            "http://127.0.0.1:1/ --rate 10 -H nothing",
            "expected `Name: value`",
        ),
        ("http://192.0.2.1/ --rate 10", "loopback"),
        ("https://127.0.0.1/ --rate 10", "not an http:// URL"),
        ("127.0.0.1:1 --rate 10", "http://127.0.0.1:PORT/PATH"),
    ] {
        let run = shootout().arg("load").args(line).run();
        run.exits(2).says(&[told]);
    }
}

fn balances(figures: &Value) {
    let ledger = figures["ledger"].as_object().unwrap();
    has(
        &figures["ledger"],
        "scheduled completed wrong_response timed_out failed unsent in_flight",
    );
    let sum: u64 = ledger.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(sum, 2 * ledger["scheduled"].as_u64().unwrap(), "{ledger:?}");
}

#[track_caller]
fn has(object: &Value, keys: &str) {
    for key in keys.split_whitespace() {
        assert!(object.get(key).is_some(), "no {key} in {object}");
    }
}

/// Answers every request on a free port with this body, for as long as the test process lives.
pub fn serve(body: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            std::thread::spawn(move || answer(connection.unwrap(), body));
        }
    });
    port
}

fn answer(mut connection: TcpStream, body: &str) {
    let response = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut text = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(length @ 1..) = connection.read(&mut chunk) {
        text.extend_from_slice(&chunk[..length]);
        while let Some(end) = text.windows(4).position(|four| four == b"\r\n\r\n") {
            text.drain(..end + 4);
            if connection.write_all(response.as_bytes()).is_err() {
                return;
            }
        }
    }
}
