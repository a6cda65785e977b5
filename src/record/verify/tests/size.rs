//! How long archives take to verify, and how much memory: a measurement, not a check.
//!
//! ```text
//! cargo test --release --lib many_cells -- --ignored --nocapture
//! ```
//!
//! writes archives of 192 cells of 60 s (the size of the Forge experiment's), and of 5 and 25 times as
//! many, and verifies each as a folder and as a tar in a process of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::super::verify;
use super::forge::{smoke, tar_of};
use crate::plan::{Adapter, Plan, yaml};
use crate::record::archive::Evidence;
use crate::record::fixture;
use crate::record::hlog::{Hlog, Interval};
use crate::record::samples::{Mark, Sample};
use crate::record::schema::Cell;

const SECONDS: usize = 60;
/// What the load is longer than the fixture's.
const LONGER_S: f64 = SECONDS as f64 - 2.0;

#[test]
#[ignore = "minutes of writing; a measurement, not a check"]
fn archives_of_many_cells_of_60_s_verify_in_time() {
    for variants in [1, 5, 25] {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), variants);
        let (_tar, tar) = tar_of(dir.path());
        for path in [dir.path(), &tar] {
            let child = Command::new(std::env::current_exe().unwrap())
                .args(["--ignored", "--exact", "--nocapture"])
                .arg("record::verify::tests::size::verify_one_of_many_cells")
                .env("SHOOTOUT_VERIFY", path)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&child.stderr);
            assert!(child.status.success(), "{said}");
            eprintln!("{}", said.trim());
        }
    }
}

#[test]
#[ignore = "a part of the measurement, in a process of its own"]
fn verify_one_of_many_cells() {
    let Some(path) = std::env::var_os("SHOOTOUT_VERIFY").map(PathBuf::from) else {
        return;
    };
    let start = Instant::now();
    let report = verify(&path, &smoke());
    let took = start.elapsed();
    assert_eq!(report.findings, []);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let most = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    let form = if path.is_dir() { "folder" } else { "tar" };
    eprintln!(
        "{} cells, {form}: {took:.2?}, {}",
        report.cells,
        most.replace('\t', " ")
    );
}

/// An archive of 192 cells for each variant.
fn write(dir: &Path, variants: usize) {
    let names: Vec<String> = (0..variants).map(|n| format!("nginx@v{n}")).collect();
    let plan = fixture::PLAN
        .replace("nginx, express, fastify", &names.join(", "))
        .replace("repetitions: 2", "repetitions: 192")
        .replace("load: 2,", &format!("load: {SECONDS},"));
    let archive = fixture::begin_with(dir, &plan);
    let plan = Plan::parse(&yaml::Source::new("plan.yaml", plan)).unwrap();
    let adapter = std::fs::read_to_string(dir.join("sources/adapters/nginx/adapter.yaml")).unwrap();
    let mut adapter: Adapter = yaml::Source::new("adapter.yaml", adapter).parse().unwrap();
    adapter.name = "nginx".into();
    let (cell, log, rows) = observed();
    for (index, key) in plan.cells(&[adapter]).unwrap().cells().enumerate() {
        let started_unix_s = 1_700_000_000.0 + 100.0 * index as f64;
        let cell = Cell {
            key: key.clone(),
            started_unix_s,
            ..cell.clone()
        };
        let log = Hlog {
            start_unix_s: started_unix_s + 2.0,
            ..log.clone()
        };
        let evidence = Evidence {
            hlog: &log,
            samples: &rows,
            parity: &fixture::transcript(&cell),
            target_log: b"",
        };
        archive.put_cell(index as u32 + 1, cell, &evidence).unwrap();
    }
    let generator = fixture::generator();
    archive.finish(generator, vec![], vec![]).unwrap();
}

/// The fixture's cell, drawn out to a minute.
fn observed() -> (Cell, Hlog, Vec<Sample>) {
    let (mut cell, mut log, mut rows) = fixture::observed("nginx", 1);
    let times = SECONDS as u64 / 2;
    cell.load.ledger.scheduled *= times;
    cell.load.ledger.completed *= times;
    cell.load.duration_s += LONGER_S;
    cell.load.lag_causes.socket_full.sum_us *= times as f64;
    for phase in cell.phases.iter_mut().filter(|phase| phase.end_s > 2.0) {
        phase.end_s += LONGER_S;
        phase.start_s += if phase.name == "load" { 0.0 } else { LONGER_S };
    }
    let seconds = log.response.clone();
    log.response = (0..SECONDS)
        .map(|s| Interval::pack(s as f64, 1.0, &seconds[s % 2].unpack()))
        .collect();
    for clock in [&mut log.service, &mut log.lag, &mut log.generator_late] {
        let part = clock.clone();
        (1..times).for_each(|_| clock.add(&part).unwrap());
    }
    let tick = rows.iter().position(|row| row.mark == Mark::Tick).unwrap();
    for row in &mut rows[tick + 1..] {
        row.t_s += LONGER_S;
    }
    let tick = rows.remove(tick);
    let first = rows.iter().position(|row| row.t_s > 3.0).unwrap();
    let ticks = (0..2 * SECONDS - 2).map(|n| Sample {
        t_s: 2.5 + 0.5 * n as f64,
        ..tick.clone()
    });
    rows.splice(first..first, ticks);
    (cell, log, rows)
}
