//! Small, valid archives for tests: two adapters, two repetitions, 2 s of load at 1,000/s each; a pair of
//! the same two, which share 2 s of load at 2,000/s of own time; and a search for the rate that each holds.

use std::fs;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use crate::error::{Error, Result};
use crate::load::mask::Mask;
use crate::load::schedule::{Arrivals, Schedule, nonce, nonce_digits};
use crate::load::turns::{Pattern, Turns};
use crate::parity::exchange::{Answer, Body, Burst, Exchange, Heads};
use crate::parity::{Transcript, drawn, kept, matrix};
use crate::plan::{Workload, cell_seed, mask_seed, yaml};
use crate::record::archive::{Archive, Evidence};
use crate::record::hlog::{Hlog, Interval, new_histogram};
use crate::record::planned::Planned;
use crate::record::samples::{COLUMNS, Mark, Sample};
use crate::record::scenery::{CpuReading, Own, Reading, Scenery};
use crate::record::schema::{
    Cell, CellKey, Connect, Dependency, Generator, Hole, Lateness, Ledger, Limits, MaskSeed,
    Paired, Phase,
};
use crate::record::source::Source;
use crate::record::sums;
use crate::stats::sustain::{Search, Trial, told};

/// Too short to be published. Its seed puts the first adapter first in both repetitions.
pub const PLAN: &str = "\
name: fixture
kind: matrix
adapters: [nginx, express, fastify]
workloads: [hello]
rates_rps: [1000]
connections: 32
healthy: {coverage: 0.99, p99_ms: 10}
repetitions: 2
phases: {baseline: 1, warm_up: {seconds: 0.4}, settle: 0.1, load: 2, recovery: 1}
limits: {target_cpus: '1', memory_mib: 512, pids: 64}
load_cpus: '0'
retries: 1
seed: 1
publishable: false
comparable: true
";

/// The plan's.
pub const SEED: u64 = 1;

/// The same of a duel.
pub const DUEL: &str = "\
name: fixture-duel
kind: duel
adapters: [nginx, express]
reference: express
workloads: [hello]
rates_rps: [2000]
connections: 32
metrics: [cpu_us_per_request]
pairs: 1
healthy: {coverage: 0.99, p99_ms: 10}
phases: {baseline: 1, warm_up: {seconds: 0.4}, settle: 0.1, load: 2, recovery: 1}
limits: {target_cpus: '1', memory_mib: 512, pids: 64}
load_cpus: '0'
seed: 7
publishable: false
comparable: true
";

/// The same of a search: its one trial of a rate is taken at its word.
pub const SUSTAIN: &str = "\
name: fixture-sustain
kind: sustain
adapters: [nginx, express]
workloads: [hello]
rates_rps: [1000, 1050, 1100]
connections: 32
criterion: {coverage: 0.99, p99_ms: 0.4}
trials: 1
healthy: {coverage: 0.99, p99_ms: 0.4}
phases: {baseline: 1, warm_up: {seconds: 0.4}, settle: 0.1, load: 2, recovery: 1}
limits: {target_cpus: '1', memory_mib: 512, pids: 64}
load_cpus: '0'
seed: 1
publishable: false
comparable: true
";

const WORKLOAD: &str = "\
title: Hello
level: 1
protocol: http/1.1
requests:
  - name: hello
    path: /hello/{nonce}
    expect: {status: 200, json: {hello: '{nonce}'}}
";

/// This program.
pub fn generator() -> Generator {
    Generator {
        name: "shootout".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        digest: "0".repeat(64),
    }
}

/// A finished archive in a folder of its own.
pub fn archive() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let archive = begin(dir.path());
    for (number, adapter, repetition) in [(2, "express", 1), (3, "nginx", 2), (4, "express", 2)] {
        put_cell(&archive, number, adapter, repetition).unwrap();
    }
    let hole = Hole {
        adapter: "fastify".into(),
        workload: "hello".into(),
        reason: "not built: its tool is in no registry".into(),
    };
    archive.finish(generator(), vec![hole], vec![]).unwrap();
    dir
}

/// A finished archive of one pair in a folder of its own.
pub fn duel() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let archive = begin_with(dir.path(), DUEL);
    for side in 0..2 {
        let (cell, hlog, samples) = paired(side);
        put(&archive, side as u32 + 1, cell, &hlog, &samples).unwrap();
    }
    archive.finish(generator(), vec![], vec![]).unwrap();
    dir
}

/// Makes the sums right again, as someone who alters an archive would.
pub fn sum_again(dir: &Path) {
    let _ = fs::remove_file(dir.join(sums::FILE));
    let source = Source::open(dir).unwrap();
    let all = source
        .files()
        .map(|(path, _)| (path.to_owned(), source.sha256(path).unwrap()))
        .collect();
    fs::write(dir.join(sums::FILE), sums::write(&all)).unwrap();
}

/// A finished search in a folder of its own: of nginx 1,050/s is held and 1,100/s is not, of express
/// nothing is.
pub fn sustain() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let archive = begin_with(dir.path(), SUSTAIN);
    let rules = Planned::read(SUSTAIN).unwrap().sustain.unwrap();
    let who = rules.contenders.clone();
    let mut search = Search::new(&rules, vec![("hello".into(), who)]);
    let mut number = 0;
    while let Some(trial) = search.ask() {
        number += 1;
        let cell = put_trial(&archive, number, &trial).unwrap();
        search.tell(Some(told(&cell)));
    }
    archive.finish(generator(), vec![], vec![]).unwrap();
    dir
}

/// Writes the cell of a trial.
pub fn put_trial(archive: &Archive, number: u32, trial: &Trial) -> Result<Cell> {
    let (mut cell, _, samples) = observed(&trial.who, trial.number);
    let slots = 2 * trial.rate_rps;
    cell.key.rate_rps = Some(trial.rate_rps);
    cell.load.offered_rps = Some(trial.rate_rps as f64);
    cell.load.ledger.scheduled = slots;
    cell.load.ledger.completed = slots;
    cell.load.lag_causes.socket_full.sum_us = 0.2 * slots as f64;
    cell.started_unix_s = 1_700_000_000.0 + 10.0 * f64::from(number);
    let slower = match (trial.who.as_str(), trial.rate_rps) {
        ("nginx", ..=1050) => 1,
        _ => 3,
    };
    let hlog = hlog(cell.started_unix_s + 2.0, slower, trial.number, slots);
    put(archive, number, cell, &hlog, &samples)
}

/// An archive with one cell, as a killed run leaves it.
pub fn begin(dir: &Path) -> Archive {
    let archive = begin_with(dir, PLAN);
    put_cell(&archive, 1, "nginx", 1).unwrap();
    archive
}

/// An archive of this plan without a cell.
pub fn begin_with(dir: &Path, plan: &str) -> Archive {
    let archive = Archive::create(dir).unwrap();
    archive.put("plan.yaml", plan.as_bytes()).unwrap();
    let environment = json!({
        "cpus": 2,
        "generator": generator(),
        "host": {"arch": "x86_64"},
        "kernel": "test",
    });
    archive.put_json("environment.json", &environment).unwrap();
    archive.put_json("images.json", &json!({})).unwrap();
    let adapter = |name: &str, more: &str| {
        let path = format!("adapters/{name}/adapter.yaml");
        let text = format!(
            "title: {name}\nlanguage: C\nframework: {{name: {name}, version: '1'}}\n\
             runtime: {{name: none, version: '1'}}\nport: 80\nready: /\nworkloads: [hello]\n{more}\n"
        );
        (path, text.into_bytes())
    };
    archive
        .add_sources([
            adapter("nginx", "main_thread: false"),
            adapter("express", "main_thread: true"),
            adapter("fastify", "not_built: its tool is in no registry"),
            (
                "workloads/hello/workload.yaml".to_owned(),
                WORKLOAD.as_bytes().to_vec(),
            ),
        ])
        .unwrap();
    archive
}

/// Writes one cell of it.
pub fn put_cell(archive: &Archive, number: u32, adapter: &str, repetition: u32) -> Result<Cell> {
    let (cell, hlog, samples) = observed(adapter, repetition);
    put(archive, number, cell, &hlog, &samples)
}

fn put(
    archive: &Archive,
    number: u32,
    cell: Cell,
    hlog: &Hlog,
    samples: &[Sample],
) -> Result<Cell> {
    let evidence = Evidence {
        hlog,
        samples,
        parity: &transcript(&cell),
        target_log: b"listening\n",
    };
    archive.put_cell(number, cell, &evidence)
}

/// The proofs of a cell: every row before and after, slots of the load, and a thousand more.
pub fn transcript(cell: &Cell) -> Transcript {
    let source = yaml::Source::new("workload.yaml", WORKLOAD);
    let no_file = |path: &str| Err(Error::usage(format!("there is no {path}")));
    let workload = Workload::parse("hello", &source, &no_file).unwrap();
    let seed = cell_seed(&cell.key, SEED);
    let mut exchanges = Vec::new();
    for (when, date) in [("before", "today"), ("after", "later")] {
        let phase = format!("parity {when}");
        let phase = cell.phases.iter().find(|known| known.name == phase);
        let at_s = phase.map_or(0.0, |phase| phase.start_s);
        let rows = matrix::rows(&workload, &[], drawn::proof_seed(seed, when));
        exchanges.extend(rows.iter().map(|row| Exchange {
            when: when.into(),
            row: row.name.clone(),
            unix_s: cell.started_unix_s + at_s,
            nonce: row.nonce.clone(),
            request: row.ask(),
            response: answer(&row.nonce, date),
            failures: vec![],
        }));
        if when == "before" {
            for slot in kept::slots(cell.load.ledger.scheduled, seed) {
                let nonce = String::from_utf8(nonce_digits(nonce(seed, slot)).into()).unwrap();
                let row = workload.parity_rows()[0].with_nonce(&nonce);
                exchanges.push(Exchange {
                    when: "during".into(),
                    row: row.name.clone(),
                    unix_s: cell.started_unix_s + 2.0,
                    request: matrix::ask(&row),
                    response: answer(&nonce, "today"),
                    nonce,
                    failures: vec![],
                });
            }
        }
    }
    Transcript {
        only_kept: false,
        exchanges,
        burst: Some(Burst {
            asked: 1000,
            heads: vec![Heads {
                variant: 0,
                status: 200,
                names: vec!["date".into()],
                count: 1000,
            }],
        }),
        failures: vec![],
    }
}

fn answer(nonce: &str, date: &str) -> Answer {
    let fields = [("content-type", "application/json"), ("date", date)];
    Answer {
        status: 200,
        headers: fields
            .map(|(name, value)| (name.into(), value.into()))
            .into(),
        body: Body(format!("{{\"hello\":\"{nonce}\"}}").into_bytes()),
        error: String::new(),
    }
}

/// A cell with nothing but what is observed, and its evidence: 2,000 requests in 2 s.
pub fn observed(adapter: &str, repetition: u32) -> (Cell, Hlog, Vec<Sample>) {
    let mut cell = Cell {
        key: CellKey {
            adapter: adapter.into(),
            workload: "hello".into(),
            r#loop: "open".into(),
            rate_rps: Some(1000),
            connections: 32,
            repetition,
            attempt: 1,
            role: "measure".into(),
            ..CellKey::default()
        },
        arch: "x86_64".into(),
        start_ms: Some(12.5),
        image_mib: 20.0,
        limits: Limits {
            target_cpus: "1".into(),
            load_cpus: "0".into(),
            memory_mib: 512,
            pids: 64,
            ..Limits::default()
        },
        started_unix_s: started_unix_s(adapter, repetition),
        ..Cell::default()
    };
    for (name, start_s, end_s) in [
        ("ready", 0.0, 0.3),
        ("parity before", 0.3, 0.5),
        ("baseline", 0.5, 1.5),
        ("warm-up", 1.5, 1.9),
        ("settle", 1.9, 2.0),
        ("load", 2.0, 4.0),
        ("parity after", 4.0, 4.0),
        ("recovery", 4.0, 5.0),
    ] {
        cell.phases.push(Phase {
            name: name.into(),
            start_s,
            end_s,
        });
    }
    cell.load.protocol = "http/1.1".into();
    cell.load.ledger = Ledger {
        scheduled: 2000,
        completed: 2000,
        ..Ledger::default()
    };
    cell.load.offered_rps = Some(1000.0);
    cell.load.duration_s = 2.0;
    cell.load.bytes_in = 300_000;
    cell.load.connections_opened = 32;
    cell.load.connect_us = Connect {
        count: 32,
        mean: Some(100.0),
        max: None, // observed, and not by everyone: its reason is its own,
    };
    // Of each slot the socket took 200 ns.
    cell.load.lag_causes.socket_full.sum_us = 400.0;
    cell.load.generator_cpu_us = Some(40_000.0);
    cell.load.longest_pause_us = 900.0;
    cell.dependencies.push(Dependency {
        name: "upstream".into(),
        requests: 2000,
        cpu_us: 30_000.0,
        late_us: Lateness {
            mean: Some(60.0),
            p99: Some(110.0),
            max: Some(400.0),
        },
    });
    cell.scenery = Some(scenery());
    cell.digests.insert("image".into(), "sha256:0".into());
    let slower = slower(adapter);
    let hlog = hlog(cell.started_unix_s + 2.0, slower, repetition, 2000);
    (cell, hlog, samples())
}

/// One cell after the other, in the plan's order.
fn started_unix_s(adapter: &str, repetition: u32) -> f64 {
    let second = if adapter == "nginx" { 0.0 } else { 10.0 };
    1_700_000_000.0 + 20.0 * f64::from(repetition) + second
}

/// A quiet virtual machine, that shows no frequencies.
fn scenery() -> Scenery {
    let reading = |monotonic_ns, idle_us: [u64; 2], pressure_us| Reading {
        monotonic_ns,
        realtime_ahead_ns: 1_700_000_000_000_000_000,
        cpus: [0, 1]
            .map(|cpu| CpuReading {
                cpu,
                idle_us: idle_us[cpu as usize],
                interrupts_us: 10_000,
                ..CpuReading::default()
            })
            .into(),
        cpu_pressure_us: Some(pressure_us),
        load_average_1m: Some(0.5),
        hypervisor: Some(true),
        swapped_pages: Some(0),
        ..Reading::default()
    };
    Scenery {
        start: reading(50_000_000_000, [9_000_000, 8_000_000], 700_000),
        end: reading(52_000_000_000, [10_900_000, 9_880_000], 800_000),
        target_cpus: vec![1],
        load_cpus: vec![0],
        own: Own {
            targets_us: Some(100_000),
            agents_us: Some(45_000),
            dependencies_us: Some(30_000),
            runner_us: Some(10_000),
        },
        generators_waited_us: Some(20_000),
        generators_throttled_periods: Some(0),
        other_containers: Some(0),
    }
}

/// How the turns of [`paired`] are laid: with the plan's 2 s of load, three blocks of short slices and one of long ones.
pub fn mask(key: &CellKey) -> MaskSeed {
    MaskSeed {
        seed: mask_seed(key, 7),
        slice_ns: 20_000_000,
        gap_ns: 1_000_000,
    }
}

/// One side of a pair as it was observed, and its evidence: every slot of its slices completed. In the
/// block after the load side 0 spends 100 us of CPU in its own turns and none in the other's, side 1
/// spends 90 and 10.
pub fn paired(side: usize) -> (Cell, Hlog, Vec<Sample>) {
    let adapters = ["nginx", "express"];
    let (mut cell, _, mut rows) = observed(adapters[side], 1);
    // The block after the load comes before the rest.
    rows.retain(|row| row.mark != Mark::Tick);
    for row in rows.iter_mut().filter(|row| row.phase == "recovery") {
        row.t_s += 4.0;
    }
    for phase in cell.phases.iter_mut().filter(|phase| phase.start_s >= 4.0) {
        phase.start_s += 4.0;
        phase.end_s += 4.0;
    }
    let background = Phase {
        name: "background".into(),
        start_s: 4.1,
        end_s: 7.9,
    };
    cell.phases.insert(cell.phases.len() - 2, background);
    cell.key.rate_rps = Some(2000);
    cell.load.offered_rps = Some(2000.0);
    cell.key.pair = Some(1);
    cell.key.side = Some(["a", "b"][side].into());
    let mask = mask(&cell.key);
    cell.paired = Some(Paired {
        sides: adapters.map(str::to_owned).into(),
        epoch_ns: 5_000_000_000,
        mask,
        ..Paired::default()
    });
    let turns = Turns::lay(2, mask, 2_000_000_000, Pattern::Alternating);
    let own = Mask::new(turns.of(side)).unwrap();
    let schedule = Schedule::new(2000, Arrivals::Uniform, own, 0);
    let due = turns.blocks.iter().map(|b| schedule.due(b.end_ns - 1));
    let due: Vec<u64> = std::iter::once(0).chain(due).collect();
    cell.load.completed_by_block = due.windows(2).map(|edge| edge[1] - edge[0]).collect();
    let slots = schedule.slots();
    cell.load.ledger = Ledger {
        scheduled: slots,
        completed: slots,
        ..Ledger::default()
    };
    cell.load.duration_s = slots as f64 / 2000.0;
    cell.load.lag_causes.socket_full.sum_us = 0.2 * slots as f64;

    let reading = |t_s: f64, phase: &str, mark, cpu_us: u64| {
        let mut sample = Sample {
            t_s,
            phase: phase.into(),
            mark,
            values: [None; COLUMNS.len()],
        };
        sample.values[0] = Some(cpu_us);
        if mark == Mark::Block {
            sample.values[1] = Some(cpu_us * 4 / 5);
        }
        sample
    };
    // A block's CPU is 50 us for each of its slots, as the load's edges of `samples` would have it.
    let start_us = 5000;
    let end = rows
        .iter()
        .position(|row| row.phase == "load" && row.mark == Mark::End);
    let end = end.unwrap();
    let end_us = start_us + 50 * slots;
    rows[end].values[..2].copy_from_slice(&[Some(end_us), Some(end_us * 4 / 5)]);
    let between = turns.blocks.iter().zip(&due[1..]);
    let between = between.take(turns.blocks.len() - 1).map(|(block, due)| {
        let t_s = 2.0 + block.end_ns as f64 / 1e9;
        reading(t_s, "load", Mark::Block, start_us + 50 * due)
    });
    rows.splice(end..end, between.collect::<Vec<_>>());
    let mut cpu_us = end_us;
    let background = Turns::background(2, mask).turns;
    let mut edges = vec![
        reading(4.1, "background", Mark::Start, cpu_us),
        reading(4.5, "background", Mark::Slice, cpu_us),
    ];
    for turn in background {
        let foreign_us = 10 * side as u64;
        cpu_us += if turn.side == side {
            100 - foreign_us
        } else {
            foreign_us
        };
        let t_s = 4.5 + turn.slice.gap_end_ns() as f64 / 1e9;
        edges.push(reading(t_s, "background", Mark::Slice, cpu_us));
    }
    edges.push(reading(7.9, "background", Mark::End, cpu_us));
    let rest = rows.iter().position(|row| row.phase == "recovery").unwrap();
    rows.splice(rest..rest, edges);
    let hlog = hlog(cell.started_unix_s + 2.0, slower(adapters[side]), 1, slots);
    (cell, hlog, rows)
}

/// How many times as long as the faster one an adapter takes.
fn slower(adapter: &str) -> u64 {
    if adapter == "nginx" { 1 } else { 3 }
}

fn hlog(start_unix_s: f64, slower: u64, repetition: u32, slots: u64) -> Hlog {
    let mut log = Hlog::empty();
    log.start_unix_s = start_unix_s;
    for second in 0..2u64 {
        let mut hist = new_histogram();
        for i in 0..slots / 2 {
            let ns = 60_000 + (i * 7919 + second * 31 + u64::from(repetition)) % 90_000;
            let (late, lag) = (300 + i, 500 + i);
            hist.record(ns * slower).unwrap();
            log.service.record(ns * slower - lag).unwrap();
            log.lag.record(lag).unwrap();
            log.generator_late.record(late).unwrap();
        }
        log.response.push(Interval::pack(second as f64, 1.0, &hist));
    }
    log
}

fn samples() -> Vec<Sample> {
    let row = |t_s: f64, phase: &str, mark, set: &[(&str, u64)]| {
        let mut values = [None; COLUMNS.len()];
        for (column, value) in set {
            values[COLUMNS.iter().position(|c| c == column).unwrap()] = Some(*value);
        }
        Sample {
            t_s,
            phase: phase.into(),
            mark,
            values,
        }
    };
    let edge = |cpu: u64, switches: u64, rss: u64| {
        vec![
            ("cpu_us", cpu),
            ("main_thread_us", cpu * 4 / 5),
            ("throttled_periods", 0),
            ("involuntary_switches", switches),
            ("agent_cpu_us", 10_000 + cpu / 2),
            ("oom_kills", 0),
            ("rss_kib", rss * 1024),
            ("cgroup_kib", rss * 1024 + 512),
        ]
    };
    let with_pss = |mut set: Vec<(&'static str, u64)>| {
        set.push(("pss_kib", 9000));
        set
    };
    vec![
        row(0.5, "baseline", Mark::Start, &with_pss(edge(0, 0, 10))),
        row(1.5, "baseline", Mark::End, &with_pss(edge(1000, 1, 11))),
        row(2.0, "load", Mark::Start, &edge(5000, 3, 11)),
        row(3.0, "load", Mark::Tick, &edge(60_000, 4, 13)),
        row(4.0, "load", Mark::End, &edge(105_000, 10, 12)),
        row(
            4.0,
            "recovery",
            Mark::Start,
            &with_pss(edge(105_000, 10, 12)),
        ),
        row(5.0, "recovery", Mark::End, &with_pss(edge(106_000, 10, 12))),
    ]
}
