//! What other people's tools make of the kit's files.

use std::path::Path;
use std::process::Command;

use crate::load::serve;
use crate::program::{program, shootout};

/// The library as its registry has it.
const LIBRARY: &str = "hdrhistogram==0.10.8";

#[test]
fn pythons_hdrhistogram_reads_the_log_and_finds_the_same_figures() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("not tested: this machine has no python3");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let venv = folder.path().join("venv");
    program("python3").args("-m venv").arg(&venv).run().exits(0);
    program(venv.join("bin/pip"))
        .args(&format!("install -q {LIBRARY}"))
        .run()
        .exits(0);

    let port = serve("ok");
    let log = folder.path().join("latency.hlog");
    let line = format!(
        "load http://127.0.0.1:{port}/ --rate 1000 --duration 2s --warmup 0s --json --hlog"
    );
    let figures = shootout().args(&line).arg(&log).run().json();

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hlog.py");
    let theirs = program(venv.join("bin/python"))
        .arg(script)
        .arg(&log)
        .run()
        .exits(0)
        .json();
    for (tag, clock) in [
        ("response", "response_us"),
        ("service", "service_us"),
        ("lag", "lag_us"),
    ] {
        assert_eq!(theirs[tag]["count"], figures[clock]["count"], "{tag}");
        for figure in ["p50", "p99", "max"] {
            let theirs = theirs[tag][figure].as_f64().unwrap();
            let ours = figures[clock][figure].as_f64().unwrap() * 1e3;
            // Ranks are rounded differently; with 2,000 values that is a bucket or a neighbour.
            assert!(
                (theirs - ours).abs() <= ours * 0.02 + 200.0,
                "{tag} {figure}: {theirs} and {ours}"
            );
        }
    }
    assert_eq!(theirs["generator_late"]["count"], 2000);
}
