//! A second verifier, in another language, written from the specification alone.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::forge::{edit, sum_again};
use crate::record::fixture;

fn second(archive: &Path) -> Output {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/second_verifier.py");
    Command::new("python3")
        .arg(script)
        .arg(archive)
        .output()
        .unwrap()
}

fn agrees(archive: &Path) -> Result<(), String> {
    let Output { status, stdout, .. } = second(archive);
    match status.code() {
        Some(0) => Ok(()),
        Some(5) => Err(String::from_utf8(stdout).unwrap()),
        _ => panic!("{:?}", second(archive)),
    }
}

/// The rule of the search, and what it draws, by the specification's words.
#[test]
fn a_search_written_from_the_specification_asks_the_same() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/second_search.py");
    let asked = |archive: &Path| {
        let run = Command::new("python3").arg(script).arg(archive).output();
        let Output {
            status,
            stdout,
            stderr,
        } = run.unwrap();
        (
            status.code(),
            String::from_utf8([stdout, stderr].concat()).unwrap(),
        )
    };
    let dir = fixture::sustain();
    assert_eq!(asked(dir.path()), (Some(0), String::new()));
    edit(
        dir.path(),
        "summary.json",
        "\"not_held_rps\": 1100",
        "\"not_held_rps\": 1050",
    );
    let (code, said) = asked(dir.path());
    assert!(
        code == Some(5) && said.contains("interval of nginx"),
        "{said}"
    );
}

/// `SHOOTOUT_ARCHIVE=DIR` names one that was really measured.
#[test]
fn it_agrees_and_finds_what_was_changed() {
    if let Some(real) = std::env::var_os("SHOOTOUT_ARCHIVE") {
        assert_eq!(agrees(Path::new(&real)), Ok(()));
    }
    let dir = fixture::archive();
    assert_eq!(agrees(dir.path()), Ok(()));
    const CELL: &str = "cells/0001-nginx-hello-1000-c32-r1";
    for (file, from, to, finding) in [
        ("plan.yaml", "p99_ms: 10", "p99_ms: 11", "digests.plan"),
        (
            "cell.json",
            "\"coverage\": 1.0",
            "\"coverage\": 0.9",
            "coverage",
        ),
        (
            "cell.json",
            "\"completed\": 2000",
            "\"completed\": 1999",
            "ledger",
        ),
        ("cell.json", "\"p50\": ", "\"p50\": 1", "response_us.p50"),
        (
            "samples.csv",
            "4.000000,load,end,105000",
            "4.000000,load,end,104000",
            "cpu_us_per_request",
        ),
    ] {
        let dir = fixture::archive();
        let file = match file {
            "plan.yaml" => file.to_owned(),
            _ => format!("{CELL}/{file}"),
        };
        edit(dir.path(), &file, from, to);
        assert!(
            agrees(dir.path()).unwrap_err().contains("SHA-256"),
            "{file}"
        );
        sum_again(dir.path());
        let found = agrees(dir.path()).unwrap_err();
        assert!(found.contains(finding), "{file}: {found}");
    }
    fs::write(dir.path().join("more"), "").unwrap();
    assert!(agrees(dir.path()).unwrap_err().contains("more: not listed"));
}
