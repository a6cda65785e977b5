//! Forgers with this very program, who change what was observed and derive all else again: each check
//! of what must agree bites.

use super::super::{Finding, verify};
use super::forge::smoke;
use crate::parity::Transcript;
use crate::record::archive::Evidence;
use crate::record::fixture;
use crate::record::hlog::{Hlog, Interval, new_histogram};
use crate::record::samples::{COLUMNS, Mark, Sample};
use crate::record::schema::{Cell, Hole, Phase};

/// A cell as it was observed, with its evidence.
struct Observed {
    cell: Cell,
    log: Hlog,
    rows: Vec<Sample>,
    transcript: Transcript,
}

impl Observed {
    fn of(adapter: &str, repetition: u32) -> Self {
        let (cell, log, rows) = fixture::observed(adapter, repetition);
        let transcript = fixture::transcript(&cell);
        Self {
            cell,
            log,
            rows,
            transcript,
        }
    }

    fn phase(&mut self, name: &str) -> &mut Phase {
        let mut phases = self.cell.phases.iter_mut();
        phases.find(|phase| phase.name == name).unwrap()
    }

    /// Sets a column of the row at a phase's edge.
    fn set(&mut self, phase: &str, mark: Mark, column: &str, value: u64) {
        let column = COLUMNS.iter().position(|name| *name == column).unwrap();
        let row = |row: &&mut Sample| row.phase == phase && row.mark == mark;
        self.rows.iter_mut().find(row).unwrap().values[column] = Some(value);
    }

    /// Makes the responses of every second others.
    fn responses(&mut self, of: impl Fn(usize, u64) -> u64) {
        for (second, interval) in self.log.response.iter_mut().enumerate() {
            let mut changed = new_histogram();
            for (index, bucket) in interval.unpack().iter_recorded().enumerate() {
                let value = of(index, bucket.value_iterated_to());
                changed.record_n(value, bucket.count_at_value()).unwrap();
            }
            *interval = Interval::pack(second as f64, 1.0, &changed);
        }
    }
}

/// What is found in an archive of these cells, by their numbers.
fn findings(cells: Vec<(u32, Observed)>, holes: Vec<Hole>) -> Vec<Finding> {
    let dir = tempfile::tempdir().unwrap();
    let archive = fixture::begin_with(dir.path(), fixture::PLAN);
    for (number, observed) in cells {
        let evidence = Evidence {
            hlog: &observed.log,
            samples: &observed.rows,
            parity: &observed.transcript,
            target_log: b"",
        };
        archive.put_cell(number, observed.cell, &evidence).unwrap();
    }
    let generator = fixture::generator();
    archive.finish(generator, holes, vec![]).unwrap();
    verify(dir.path(), &smoke()).findings
}

fn all() -> Vec<(u32, Observed)> {
    [("nginx", 1), ("express", 1), ("nginx", 2), ("express", 2)]
        .iter()
        .zip(1..)
        .map(|((adapter, repetition), number)| (number, Observed::of(adapter, *repetition)))
        .collect()
}

fn hole(adapter: &str, reason: &str) -> Hole {
    Hole {
        adapter: adapter.into(),
        workload: "hello".into(),
        reason: reason.into(),
    }
}

fn planned() -> Hole {
    hole("fastify", "not built: its tool is in no registry")
}

#[track_caller]
fn is_said(what: &str, findings: &[Finding]) {
    let said = findings.iter().any(|finding| finding.what.contains(what));
    assert!(said, "{what}: {findings:?}");
}

#[test]
fn what_cannot_be_of_one_measurement_is_found() {
    type Forge = fn(&mut Observed);
    let table: [(&str, Forge); 38] = [
        ("response is not lag and service", |o| {
            o.responses(|_, ns| ns * 9 / 10)
        }),
        ("response is shorter than service", |o| {
            // As much more elsewhere, so that the sums agree.
            o.responses(|index, ns| if index == 0 { ns / 2 } else { ns + 20 });
        }),
        ("response is not lag and service", |o| {
            o.log.service = faster(&o.log.service)
        }),
        ("lag is not its causes", |o| {
            o.log.generator_late = faster(&o.log.generator_late)
        }),
        ("lag is not its causes", |o| {
            o.cell.load.lag_causes.no_free_connection.sum_us = 100.0
        }),
        ("lag is shorter than generator_late", |o| {
            o.log.lag = faster(&faster(&o.log.lag));
        }),
        ("responses by second 1", |o| {
            let both = o.log.clocks().response;
            o.log.response = vec![Interval::pack(0.0, 1.0, &both)];
        }),
        ("responses by second 1", |o| {
            let both = o.log.clocks().response;
            o.log.response = vec![Interval::pack(1.0, 1.0, &both)];
        }),
        ("service: not one for each", |o| {
            o.log.service.record(90_000).unwrap()
        }),
        ("generator_late: of more slots", |o| {
            o.log.generator_late.record(900).unwrap()
        }),
        ("lag: fewer than completed", |o| o.log.lag = new_histogram()),
        ("errors: fewer timeouts", |o| {
            (o.cell.load.ledger.scheduled, o.cell.load.ledger.timed_out) = (2001, 1);
        }),
        ("errors: of an unknown kind", |o| {
            o.cell.load.errors.insert("gremlins".into(), 1);
        }),
        ("connect_us.count", |o| o.cell.load.connections_opened = 31),
        ("connect_us: its mean", |o| {
            (o.cell.load.connect_us.mean, o.cell.load.connect_us.max) = (Some(2.0), Some(1.0))
        }),
        ("completed_by_block", |o| {
            o.cell.load.completed_by_block = vec![1000, 999]
        }),
        ("spilled", |o| o.cell.load.spilled = 1),
        ("offered_rps", |o| o.cell.load.offered_rps = Some(1001.0)),
        ("duration_s: shorter", |o| o.cell.load.duration_s = 1.9),
        ("duration_s: longer", |o| o.cell.load.duration_s = 2.1),
        ("lag_causes.socket_full", |o| {
            o.cell.load.lag_causes.socket_full.max_us = 5.0
        }),
        ("cpu_us fell", |o| o.set("load", Mark::Tick, "cpu_us", 4000)),
        ("the target's CPU", |o| {
            for (mark, row) in [
                (Mark::Start, "recovery"),
                (Mark::End, "recovery"),
                (Mark::End, "load"),
            ] {
                o.set(row, mark, "cpu_us", 9_000_000);
            }
        }),
        ("its main thread's CPU", |o| {
            o.set("load", Mark::End, "main_thread_us", 900_000)
        }),
        ("generator_cpu_us", |o| {
            o.cell.load.generator_cpu_us = Some(200_000.0)
        }),
        ("is not after the one before it", |o| {
            o.phase("settle").start_s = 1.8
        }),
        ("of an unknown name, or twice", |o| {
            o.phase("ready").name = "steady".into()
        }),
        ("of an unknown name, or twice", |o| {
            o.phase("ready").name = "settle".into()
        }),
        ("load is missing", |o| {
            o.cell.phases.retain(|phase| phase.name != "load")
        }),
        ("of a phase that the cell has not", |o| {
            o.rows[0].phase = "base".into()
        }),
        ("not within its phase", |o| o.rows[3].t_s = 4.5),
        ("not at its phase's start", |o| o.rows[2].t_s = 2.1),
        ("not at its phase's end", |o| {
            o.phase("recovery").end_s = 9.0
        }),
        ("lacks a row at one of its edges", |o| {
            o.rows
                .retain(|row| row.phase != "recovery" || row.mark != Mark::End);
        }),
        ("StartTime is not within", |o| o.log.start_unix_s += 9.0),
        ("its unix_s is not of that time", |o| {
            o.transcript.exchanges[0].unix_s -= 100.0
        }),
        ("start_ms", |o| o.cell.start_ms = Some(5000.0)),
        ("arch", |o| o.cell.arch = "sparc".into()),
    ];
    for (what, forge) in table {
        let mut cells = all();
        forge(&mut cells[0].1);
        is_said(what, &findings(cells, vec![planned()]));
    }
}

/// The same with every value a tenth less.
fn faster(clock: &hdrhistogram::Histogram<u64>) -> hdrhistogram::Histogram<u64> {
    let mut faster = new_histogram();
    for bucket in clock.iter_recorded() {
        let value = bucket.value_iterated_to() * 9 / 10;
        faster.record_n(value, bucket.count_at_value()).unwrap();
    }
    faster
}

#[test]
fn what_the_plan_did_not_make_so_is_found() {
    assert_eq!(findings(all(), vec![planned()]), []);
    type Forge = fn(&mut Vec<(u32, Observed)>, &mut Vec<Hole>);
    let table: [(&str, Forge); 18] = [
        ("limits.memory_mib: planned 512", |cells, _| {
            cells[0].1.cell.limits.memory_mib = 1024
        }),
        ("limits.target_cpus: planned 1", |cells, _| {
            cells[0].1.cell.limits.target_cpus = "0-1".into()
        }),
        ("limits.cpu_quota: planned none", |cells, _| {
            cells[0].1.cell.limits.cpu_quota = Some(2.0)
        }),
        ("the plan's schedule has 2000 slots", |cells, _| {
            let ledger = &mut cells[0].1.cell.load.ledger;
            (ledger.scheduled, ledger.unsent) = (2001, 1);
        }),
        ("phases: baseline took 0.900 s", |cells, _| {
            cells[0].1.phase("baseline").end_s = 1.4;
        }),
        ("phases: settle is missing", |cells, _| {
            cells[0]
                .1
                .cell
                .phases
                .retain(|phase| phase.name != "settle");
        }),
        ("are not those, with the nonces", |cells, _| {
            let exchange = &mut cells[0].1.transcript.exchanges[1];
            exchange.nonce = "00000000000000ff".into();
        }),
        ("is of no slot that the plan's seed keeps", |cells, _| {
            cells[0].1.transcript.exchanges.swap(2, 3);
        }),
        (
            "127 slots of the load are kept; the plan's seed keeps 128",
            |cells, _| {
                cells[0].1.transcript.exchanges.remove(2);
            },
        ),
        (
            "is planned, and is neither measured nor a hole",
            |cells, _| {
                cells.remove(1);
            },
        ),
        ("is of no cell that the plan has", |cells, _| {
            cells.push((5, Observed::of("nginx", 3)));
        }),
        ("is the plan's cell 4 by its key", |cells, _| cells[3].0 = 5),
        ("measured again although attempt 1 was valid", |cells, _| {
            let mut again = Observed::of("express", 2);
            again.cell.key.attempt = 2;
            cells.push((4, again));
        }),
        ("expected 1 to 1, found [2]", |cells, _| {
            cells[3].1.cell.key.attempt = 2
        }),
        (
            "given up after 1 attempts, and the plan makes 2",
            |cells, _| {
                cells[3].1.cell.load.faults.push("a clock stepped".into());
            },
        ),
        ("began before 0001-", |cells, _| {
            cells[1].1.cell.started_unix_s = cells[0].1.cell.started_unix_s + 1.0;
        }),
        ("holes: expected first those", |_, holes| holes.clear()),
        ("was not planned, or has no reason", |_, holes| {
            holes.push(hole("express", ""))
        }),
    ];
    for (what, forge) in table {
        let (mut cells, mut holes) = (all(), vec![planned()]);
        forge(&mut cells, &mut holes);
        is_said(what, &findings(cells, holes));
    }
    let mut cells = all();
    cells[3].1.cell.load.faults.push("a clock stepped".into());
    let holes = vec![planned(), hole("express", "it went away")];
    assert_eq!(
        findings(cells, holes),
        [],
        "a hole excuses what was given up"
    );
}
