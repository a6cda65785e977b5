//! From what was observed to what is published: the one place, used when a cell is written and again
//! when it is verified. Applied twice, it changes nothing.

mod parts;

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use crate::guard::{self, Level};
use crate::record::hlog::Clocks;
use crate::record::samples::{Mark, Sample};
use crate::record::schema::{Cell, LagCause, Latency, Load, Memory};
use crate::stats::judge::{self, Healthy, Tails};
use crate::stats::quantile::{self, Over};

/// Figures of a load that are computed here, so that their reasons in `nulls` are too.
const OF_LOAD: [&str; 7] = [
    "response_us.",
    "service_us.",
    "lag_us.",
    "lag_causes.",
    "achieved_rps",
    "coverage",
    "generator_cpu_us_per_request",
];

/// The same for a cell.
const OF_CELL: [&str; 13] = [
    "healthy",
    "cpu_us_per_request",
    "main_thread_us_per_request",
    "cpu_pct",
    "idle_cpu_pct",
    "throttled_periods",
    "involuntary_switches",
    "pss_mib.",
    "rss_mib.",
    "cgroup_mib.",
    "blocks.",
    "windows.",
    "background_pct",
];

type Nulls = BTreeMap<String, String>;

/// A value, or why there is none.
type Known<T = f64> = Result<T, String>;

/// Fills every derived field of a load from its clocks and its observed fields (ledger,
/// `offered_rps`, `duration_s`, `generator_cpu_us`, `faults`, `longest_pause_us`, the other causes).
pub fn load(load: &mut Load, clocks: &Clocks) {
    let nulls = &mut load.nulls;
    forget(nulls, &OF_LOAD);
    let ledger = load.ledger;
    let over = Over::Scheduled(ledger.scheduled);
    load.response_us = clock(nulls, "response_us", &clocks.response, over);
    load.service_us = clock(nulls, "service_us", &clocks.service, Over::Recorded);
    load.lag_us = clock(nulls, "lag_us", &clocks.lag, Over::Recorded);
    load.lag_causes.generator_late = cause(&clocks.generator_late);
    for (name, cause) in [
        ("generator_late", &load.lag_causes.generator_late),
        ("no_free_connection", &load.lag_causes.no_free_connection),
        ("socket_full", &load.lag_causes.socket_full),
    ] {
        if cause.p99_us.is_none() {
            let needed = quantile::needed(990);
            let reason = format!("needs {needed} values, has {}", cause.count);
            nulls.insert(format!("lag_causes.{name}.p99_us"), reason);
        }
    }

    let completed = ledger.completed as f64;
    load.achieved_rps = keep(
        nulls,
        "achieved_rps",
        divide(completed, load.duration_s, "the load had no duration"),
    );
    load.coverage = keep(
        nulls,
        "coverage",
        divide(completed, ledger.scheduled as f64, "nothing was scheduled"),
    );
    let cpu = load
        .generator_cpu_us
        .ok_or_else(|| "the generator's CPU time was not read".to_owned());
    let per_request = cpu.and_then(|cpu| divide(cpu, completed, NOTHING));
    load.generator_cpu_us_per_request = keep(nulls, "generator_cpu_us_per_request", per_request);

    // What was observed as null: whoever observed it may have said why.
    for (field, null, reason) in [
        (
            "offered_rps",
            load.offered_rps.is_none(),
            "a closed loop has no rate",
        ),
        (
            "generator_cpu_us",
            load.generator_cpu_us.is_none(),
            "not read",
        ),
        (
            "connect_us.mean",
            load.connect_us.mean.is_none(),
            "nothing connected",
        ),
        (
            "connect_us.max",
            load.connect_us.max.is_none(),
            "nothing connected",
        ),
    ] {
        observed(nulls, field, null, reason);
    }

    let tail = |hist: &Histogram<u64>, total: u64| {
        let value = quantile::value_at_rank(hist, quantile::rank(990, total));
        value.filter(|_| total > 0).map(quantile::us)
    };
    let tails = Tails {
        late_us: tail(&clocks.generator_late, clocks.generator_late.len()),
        response_us: tail(&clocks.response, ledger.scheduled),
    };
    load.invalid_reasons = judge::invalid_reasons(load, &tails);
    load.valid = load.invalid_reasons.is_empty();
}

const NOTHING: &str = "nothing completed";

/// What plan and adapter say that a cell's figures need.
#[derive(Clone, Copy, Debug)]
pub struct Given {
    /// The plan's bounds on a healthy target.
    pub healthy: Healthy,
    /// Whether the adapter says that one thread serves.
    pub main_thread: bool,
    /// How long the load lasts on the clock; `None` where the plan does not say.
    pub load_ns: Option<u64>,
}

/// Fills every derived field of a cell.
pub fn cell(cell: &mut Cell, clocks: &Clocks, samples: &[Sample], given: &Given) {
    load(&mut cell.load, clocks);
    let mut nulls = std::mem::take(&mut cell.load.nulls);
    forget(&mut nulls, &OF_CELL);
    let completed = cell.load.ledger.completed as f64;
    let under_load = Edges::of(samples, "load");
    let at_rest = Edges::of(samples, "baseline");

    let cpu = under_load
        .growth("cpu_us")
        .and_then(|us| divide(us as f64, completed, NOTHING));
    cell.cpu_us_per_request = keep(&mut nulls, "cpu_us_per_request", cpu);
    let thread = if given.main_thread {
        under_load
            .growth("main_thread_us")
            .and_then(|us| divide(us as f64, completed, NOTHING))
    } else {
        Err("the adapter does not say that one thread serves".to_owned())
    };
    cell.main_thread_us_per_request = keep(&mut nulls, "main_thread_us_per_request", thread);
    cell.cpu_pct = keep(&mut nulls, "cpu_pct", under_load.cpu_pct());
    cell.idle_cpu_pct = keep(&mut nulls, "idle_cpu_pct", at_rest.cpu_pct());
    let throttled = under_load.growth("throttled_periods");
    cell.throttled_periods = keep(&mut nulls, "throttled_periods", throttled);
    let switches = under_load.growth("involuntary_switches");
    cell.involuntary_switches = keep(&mut nulls, "involuntary_switches", switches);

    cell.pss_mib = memory(&mut nulls, "pss_mib", samples, "pss_kib");
    cell.rss_mib = memory(&mut nulls, "rss_mib", samples, "rss_kib");
    cell.cgroup_mib = memory(&mut nulls, "cgroup_mib", samples, "cgroup_kib");
    parts::fill(cell, &mut nulls, samples, given.load_ns);

    observed(
        &mut nulls,
        "rate_rps",
        cell.key.rate_rps.is_none(),
        "a closed loop has no rate",
    );
    observed(
        &mut nulls,
        "start_ms",
        cell.start_ms.is_none(),
        "the target gave no valid response",
    );
    cell.load.nulls = nulls;
    guards(cell, &under_load);
    (cell.healthy, cell.unhealthy_reasons) = judge::healthy(cell, &given.healthy);
    if cell.healthy.is_none() {
        let reason = cell.unhealthy_reasons.join("; ");
        cell.load.nulls.insert("healthy".into(), reason);
    }
}

/// What the guards say, and what of it makes the cell invalid. A cell without a scenery has no guards.
fn guards(cell: &mut Cell, under_load: &Edges) {
    let grown = |column: &str| under_load.growth(column).ok();
    let target = guard::Target {
        throttled_periods: grown("throttled_periods"),
        oom_kills: grown("oom_kills"),
        involuntary_switches: grown("involuntary_switches"),
        has_quota: cell.limits.cpu_quota.is_some(),
    };
    let judged = cell
        .scenery
        .as_ref()
        .map(|scenery| guard::judge(scenery, target));
    cell.guards = judged.unwrap_or_default();
    let failed = cell
        .guards
        .iter()
        .filter(|found| found.level == Level::Fail);
    let reasons = failed.map(|found| found.what.clone());
    cell.load.invalid_reasons.extend(reasons);
    cell.load.valid = cell.load.invalid_reasons.is_empty();
}

fn forget(nulls: &mut Nulls, derived: &[&str]) {
    // A name that ends in a dot stands for all the fields beneath it.
    let is = |field: &str, name: &&str| {
        if name.ends_with('.') {
            field.starts_with(name)
        } else {
            field == *name
        }
    };
    nulls.retain(|field, _| !derived.iter().any(|name| is(field, name)));
}

fn keep<T>(nulls: &mut Nulls, field: &str, value: Known<T>) -> Option<T> {
    value
        .map_err(|reason| nulls.insert(field.to_owned(), reason))
        .ok()
}

fn observed(nulls: &mut Nulls, field: &str, null: bool, reason: &str) {
    if null {
        nulls
            .entry(field.to_owned())
            .or_insert_with(|| reason.to_owned());
    } else {
        nulls.remove(field);
    }
}

fn divide(a: f64, b: f64, otherwise: &str) -> Known {
    if b > 0.0 {
        Ok(a / b)
    } else {
        Err(otherwise.to_owned())
    }
}

fn clock(nulls: &mut Nulls, field: &str, hist: &Histogram<u64>, over: Over) -> Latency {
    let (latency, reasons) = quantile::latency(hist, over);
    for (name, reason) in reasons {
        nulls.insert(format!("{field}.{name}"), reason);
    }
    latency
}

fn cause(hist: &Histogram<u64>) -> LagCause {
    LagCause {
        count: hist.len(),
        sum_us: quantile::sum_ns(hist) as f64 / 1000.0,
        p99_us: quantile::quantile(hist, 990, Over::Recorded)
            .ok()
            .map(quantile::us),
        max_us: quantile::us(hist.max()),
    }
}

/// A phase's first and last row.
struct Edges<'a> {
    phase: &'a str,
    rows: Option<(&'a Sample, &'a Sample)>,
}

impl<'a> Edges<'a> {
    fn of(samples: &'a [Sample], phase: &'a str) -> Self {
        let edge = |mark| move |row: &&Sample| row.phase == phase && row.mark == mark;
        let start = samples.iter().find(edge(Mark::Start));
        let end = samples.iter().rfind(edge(Mark::End));
        Self {
            phase,
            rows: start.zip(end),
        }
    }

    /// How much a counter grew between the edges.
    fn growth(&self, column: &str) -> Known<u64> {
        let Self { phase, rows } = self;
        let missing = || format!("{column} was not read at both edges of {phase}");
        let (start, end) = rows.ok_or_else(missing)?;
        let (start, end) = start.get(column).zip(end.get(column)).ok_or_else(missing)?;
        end.checked_sub(start)
            .ok_or_else(|| format!("{column} fell during {phase}: threads or processes ended"))
    }

    /// CPU over the phase; 100 is one CPU.
    fn cpu_pct(&self) -> Known {
        let grown = self.growth("cpu_us")?;
        let (start, end) = self.rows.ok_or("no edges")?;
        // Rows are of whole microseconds.
        let us = |row: &Sample| (row.t_s * 1e6).round();
        let took = us(end) - us(start);
        divide(
            grown as f64 * 100.0,
            took,
            &format!("{} took no time", self.phase),
        )
    }
}

/// Medians of baseline and recovery, maximum of load, in MiB.
fn memory(nulls: &mut Nulls, field: &str, samples: &[Sample], column: &str) -> Memory {
    let mut figure = |phase: &str, of: fn(&mut [u64]) -> Option<f64>| {
        let rows = samples.iter().filter(|row| row.phase == phase);
        let mut kib: Vec<u64> = rows.filter_map(|row| row.get(column)).collect();
        let value = of(&mut kib).map(|kib| kib / 1024.0);
        let value = value.ok_or_else(|| format!("{column} was not read in {phase}"));
        keep(nulls, &format!("{field}.{phase}"), value)
    };
    Memory {
        baseline: figure("baseline", median),
        load: figure("load", |kib| kib.iter().max().map(|max| *max as f64)),
        recovery: figure("recovery", median),
    }
}

fn median(values: &mut [u64]) -> Option<f64> {
    values.sort_unstable();
    let upper = *values.get(values.len() / 2)?;
    let lower = values[(values.len() - 1) / 2];
    Some(lower as f64 / 2.0 + upper as f64 / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::schema::{Block, Window};
    use crate::record::{compare, fixture, hlog, samples};

    fn given(main_thread: bool) -> Given {
        Given {
            healthy: Healthy {
                coverage: 0.99,
                p99_ms: 10.0,
            },
            main_thread,
            load_ns: Some(2_000_000_000),
        }
    }

    /// A cell as it was observed, and its evidence.
    fn observed() -> (Cell, Clocks, Vec<Sample>) {
        let (cell, log, samples) = fixture::observed("nginx", 1);
        (cell, log.clocks(), samples)
    }

    #[test]
    fn every_figure_comes_from_its_evidence() {
        let (mut cell, clocks, samples) = observed();
        super::cell(&mut cell, &clocks, &samples, &given(true));
        assert!(cell.load.valid, "{:?}", cell.load.invalid_reasons);
        assert_eq!(cell.healthy, Some(true), "{:?}", cell.unhealthy_reasons);
        assert_eq!(cell.load.achieved_rps, Some(1000.0));
        assert_eq!(cell.load.coverage, Some(1.0));
        assert_eq!(cell.load.generator_cpu_us_per_request, Some(20.0));
        // 2,000 requests in 2 s: 100,000 us of CPU, 80,000 of them on the main thread.
        assert_eq!(cell.cpu_us_per_request, Some(50.0));
        assert_eq!(cell.main_thread_us_per_request, Some(40.0));
        assert_eq!(cell.cpu_pct, Some(5.0));
        assert_eq!(cell.idle_cpu_pct, Some(0.1));
        assert_eq!(
            (cell.throttled_periods, cell.involuntary_switches),
            (Some(0), Some(7))
        );
        assert_eq!(
            cell.rss_mib.baseline,
            Some(10.5),
            "the median of two rows is their mean"
        );
        assert_eq!(cell.rss_mib.load, Some(13.0), "the maximum of three");
        assert_eq!(cell.pss_mib.load, None);
        assert_eq!(
            cell.load.nulls["pss_mib.load"],
            "pss_kib was not read in load"
        );
    }

    #[test]
    fn applied_again_to_what_was_written_it_changes_nothing() {
        let (mut cell, log, rows) = fixture::observed("nginx", 1);
        super::cell(&mut cell, &log.clocks(), &rows, &given(false));
        let written = serde_json::to_value(&cell).unwrap();
        let mut again: Cell = serde_json::from_str(&written.to_string()).unwrap();
        let clocks = hlog::read_totals(&hlog::write(&log)).unwrap().clocks;
        let rows = samples::read(&samples::write(&rows)).unwrap();
        super::cell(&mut again, &clocks, &rows, &given(false));
        let again = serde_json::to_value(&again).unwrap();
        compare::compare(&written, &again, &mut |difference| panic!("{difference}"));
    }

    #[test]
    fn what_was_not_measured_is_null_with_a_reason_and_never_zero() {
        let mut cell = Cell::default();
        super::cell(&mut cell, &hlog::Hlog::empty().clocks(), &[], &given(true));
        assert!(!cell.load.valid);
        assert_eq!(cell.healthy, None);
        let json = serde_json::to_value(&cell).unwrap();
        let mut nulls = Vec::new();
        find_nulls("", &json, &mut nulls);
        nulls.retain(|field| field != "limits.cpu_quota");
        assert!(nulls.len() > 40, "{nulls:?}");
        for field in nulls {
            assert!(
                cell.load.nulls.contains_key(&field),
                "{field} has no reason"
            );
        }
    }

    #[test]
    fn a_side_of_a_pair_has_blocks_windows_and_its_background() {
        for (side, background_pct) in [(0, 0.0), (1, 10.0)] {
            let (mut cell, log, rows) = fixture::paired(side);
            super::cell(&mut cell, &log.clocks(), &rows, &given(false));
            assert!(cell.load.valid, "{:?}", cell.load.invalid_reasons);
            let paired = cell.paired.as_ref().unwrap();
            assert_eq!(paired.own_s, 0.92);
            assert_eq!(paired.background_pct, Some(background_pct));
            let blocks = &cell.blocks;
            let long = blocks.iter().filter(|block| block.slice_ns == 100_000_000);
            assert_eq!((blocks.len(), long.count()), (4, 1));
            assert_eq!(blocks[0].start_s, 0.0);
            assert!(blocks.is_sorted_by(|a, b| a.start_s < b.start_s));
            assert_eq!(blocks.iter().map(|b| b.completed).sum::<u64>(), 1840);
            for block in blocks {
                let us = block.completed as f64 * 50.0;
                assert_eq!(block.cpu_us, Some(us), "50 us a slot, by the readings");
                assert_eq!(block.main_thread_us, Some(0.8 * us));
            }
            assert_eq!(cell.windows.len(), 4, "no more than there are blocks");
            let same = |(window, block): (&Window, &Block)| {
                (window.start_s, window.completed, window.cpu_us)
                    == (block.start_s, block.completed, block.cpu_us)
            };
            assert!(cell.windows.iter().zip(&cell.blocks).all(same));
            assert!(!cell.load.nulls.keys().any(|field| field.contains("cpu_us")));

            let written = serde_json::to_value(&cell).unwrap();
            super::cell(&mut cell, &log.clocks(), &rows, &given(false));
            assert_eq!(serde_json::to_value(&cell).unwrap(), written);
        }
    }

    #[test]
    fn parts_of_a_load_that_were_not_read_are_null_with_a_reason() {
        type Lose = fn(&mut Vec<Sample>);
        let cpu = |row: &mut Sample| row.values[0] = None;
        let table: [(&str, &str, Lose); 6] = [
            (
                "blocks.cpu_us",
                "was read 4 times at the edges of 4 parts",
                |rows| {
                    let block = rows.iter().position(|row| row.mark == Mark::Block);
                    rows.remove(block.unwrap());
                },
            ),
            (
                "blocks.cpu_us",
                "was not read at both edges of load",
                |rows| {
                    rows.retain(|row| row.phase != "load" || row.mark == Mark::Block);
                },
            ),
            ("blocks.cpu_us", "was not read at every edge", |rows| {
                let block = rows.iter_mut().find(|row| row.mark == Mark::Block);
                block.unwrap().values[0] = None;
            }),
            ("blocks.cpu_us", "fell from one reading", |rows| {
                let block = rows.iter_mut().find(|row| row.mark == Mark::Block);
                block.unwrap().values[0] = Some(1);
            }),
            (
                "background_pct",
                "the background block was not run",
                |rows| {
                    rows.retain(|row| row.phase != "background");
                },
            ),
            ("background_pct", "no CPU time was spent", |rows| {
                let slices = rows.iter_mut().filter(|row| row.mark == Mark::Slice);
                slices.for_each(|row| row.values[0] = Some(1));
            }),
        ];
        for (field, reason, lose) in table {
            let (mut cell, log, mut rows) = fixture::paired(1);
            lose(&mut rows);
            super::cell(&mut cell, &log.clocks(), &rows, &given(false));
            let background = cell.paired.as_ref().unwrap().background_pct;
            let read = cell.blocks.iter().any(|block| block.cpu_us.is_some());
            let read = if field == "background_pct" {
                background.is_some()
            } else {
                read
            };
            assert!(!read, "{reason}");
            assert!(
                cell.load.nulls[field].contains(reason),
                "{:?}",
                cell.load.nulls
            );
            assert_eq!(cell.blocks.len(), 4);
        }
        let (mut cell, log, mut rows) = fixture::paired(1);
        rows.iter_mut().for_each(cpu);
        super::cell(&mut cell, &log.clocks(), &rows, &given(false));
        let reason = &cell.load.nulls["background_pct"];
        assert!(reason.contains("was not read at every edge"), "{reason}");
    }

    #[test]
    fn what_no_turns_can_be_laid_from_has_no_parts() {
        type Break = fn(&mut Cell);
        let table: [(&str, Break); 4] = [
            ("none of the pair's sides", |cell| {
                cell.key.side = Some("c".into())
            }),
            ("none of the pair's sides", |cell| cell.key.side = None),
            ("no turns can be laid", |cell| {
                cell.paired.as_mut().unwrap().mask.slice_ns = 0;
            }),
            ("no turns can be laid", |cell| {
                cell.paired.as_mut().unwrap().mask.gap_ns = u64::MAX;
            }),
        ];
        for (reason, break_it) in table {
            let (mut cell, log, rows) = fixture::paired(0);
            break_it(&mut cell);
            super::cell(&mut cell, &log.clocks(), &rows, &given(false));
            assert_eq!((cell.blocks.len(), cell.windows.len()), (0, 0));
            assert_eq!(cell.paired.as_ref().unwrap().own_s, 0.0);
            assert!(cell.load.nulls["background_pct"].contains(reason));
        }
        let (mut cell, log, rows) = fixture::paired(0);
        let unplanned = Given {
            load_ns: None,
            ..given(false)
        };
        super::cell(&mut cell, &log.clocks(), &rows, &unplanned);
        let reason = &cell.load.nulls["background_pct"];
        assert!(reason.contains("the plan says no length"), "{reason}");
    }

    #[test]
    fn a_load_of_a_series_has_three_windows() {
        let (mut cell, clocks, mut samples) = observed();
        cell.key.series = Some(2);
        cell.load.completed_by_block = vec![600, 700, 700];
        let load = samples.iter().rposition(|row| row.phase == "load").unwrap();
        for (at, cpu_us) in [(0, 35_000), (1, 70_000)] {
            let mut row = samples[load].clone();
            (row.mark, row.values[0]) = (Mark::Block, Some(cpu_us));
            samples.insert(load + at, row);
        }
        super::cell(&mut cell, &clocks, &samples, &given(true));
        let window = |start_s, completed, us: u64| Window {
            start_s,
            completed,
            cpu_us: Some(us as f64),
        };
        let expected = [
            window(0.0, 600, 30_000),
            window(0.666_666_666, 700, 35_000),
            window(1.333_333_333, 700, 35_000),
        ];
        assert_eq!(cell.windows, expected);
        assert!(cell.blocks.is_empty());
        samples.retain(|row| row.mark != Mark::Block);
        super::cell(&mut cell, &clocks, &samples, &given(true));
        assert!(cell.windows.iter().all(|window| window.cpu_us.is_none()));
        assert!(cell.load.nulls.contains_key("windows.cpu_us"));
        cell.load.completed_by_block.clear();
        super::cell(&mut cell, &clocks, &samples, &given(true));
        assert!(cell.windows.is_empty() && !cell.load.nulls.contains_key("windows.cpu_us"));
    }

    fn find_nulls(at: &str, value: &serde_json::Value, found: &mut Vec<String>) {
        match value {
            serde_json::Value::Null => found.push(at.trim_start_matches('.').to_owned()),
            serde_json::Value::Object(map) => {
                map.iter()
                    .for_each(|(key, v)| find_nulls(&format!("{at}.{key}"), v, found));
            }
            _ => {}
        }
    }

    #[test]
    fn a_guard_that_fails_makes_the_cell_invalid_once_and_one_that_warns_does_not() {
        let (mut cell, clocks, samples) = observed();
        let warned = |cell: &Cell| cell.guards.iter().any(|found| found.level == Level::Warn);
        super::cell(&mut cell, &clocks, &samples, &given(true));
        assert!(cell.load.valid && warned(&cell), "{:?}", cell.guards);
        let scenery = cell.scenery.as_mut().unwrap();
        scenery.end.cpus[1].idle_us -= 1_000_000;
        for _ in 0..2 {
            super::cell(&mut cell, &clocks, &samples, &given(true));
            let reasons = &cell.load.invalid_reasons;
            assert!(!cell.load.valid && reasons.len() == 1, "{reasons:?}");
            assert!(reasons[0].starts_with("foreign work took"), "{reasons:?}");
        }
        // A quota that was planned may throttle; one that nobody planned may not.
        let (mut cell, clocks, mut samples) = observed();
        let mut columns = samples::COLUMNS.iter();
        let column = columns.position(|c| *c == "throttled_periods").unwrap();
        let last = samples.iter_mut().rfind(|row| row.phase == "load").unwrap();
        last.values[column] = Some(7);
        super::cell(&mut cell, &clocks, &samples, &given(true));
        assert!(cell.load.invalid_reasons[0].contains("7 periods without a planned quota"));
        cell.limits.cpu_quota = Some(0.5);
        super::cell(&mut cell, &clocks, &samples, &given(true));
        assert!(cell.load.valid, "{:?}", cell.load.invalid_reasons);
        cell.scenery = None;
        super::cell(&mut cell, &clocks, &samples, &given(true));
        assert!(cell.guards.is_empty());
    }

    #[test]
    fn a_counter_that_fell_or_was_not_read_gives_no_figure() {
        let (mut cell, clocks, mut samples) = observed();
        let switches = samples::COLUMNS
            .iter()
            .position(|c| *c == "involuntary_switches")
            .unwrap();
        for row in samples.iter_mut().filter(|r| r.phase == "load") {
            row.values[switches] = row.values[switches].map(|v| 100 - v);
        }
        samples.retain(|row| row.phase != "baseline");
        super::cell(&mut cell, &clocks, &samples, &given(true));
        assert_eq!(cell.involuntary_switches, None);
        assert!(cell.load.nulls["involuntary_switches"].contains("fell"));
        assert_eq!((cell.idle_cpu_pct, cell.rss_mib.baseline), (None, None));
        // A reason goes when the figure comes back.
        let (_, _, samples) = fixture::observed("nginx", 1);
        super::cell(&mut cell, &clocks, &samples, &given(true));
        assert!(!cell.load.nulls.contains_key("involuntary_switches"));
    }

    #[test]
    fn a_closed_loop_and_a_silent_target_are_said_so() {
        let (mut cell, clocks, samples) = observed();
        cell.load.offered_rps = None;
        cell.key.rate_rps = None;
        cell.load.faults.push("the target died".into());
        super::cell(&mut cell, &clocks, &samples, &given(true));
        assert_eq!(cell.load.nulls["rate_rps"], "a closed loop has no rate");
        assert_eq!(cell.load.invalid_reasons, ["the target died"]);
        assert_eq!(cell.unhealthy_reasons, ["the cell is invalid"]);
    }
}
