//! The rates that were sustained, a row for each target and workload.

use std::collections::BTreeMap;

use super::SustainRules;
use super::climb::{Climb, State};
use crate::record::schema::{Cell, ImageSize, Rung, Sustained};
use crate::stats::groups::spread;

/// From this share of its own CPUs on, the generator may have been what gave way.
const BUSY: f64 = 0.7;

/// The rows of a plan, by workload and in the plan's order of targets; none for a target without cells.
/// `levels` are the workloads', `images` the adapters'.
pub fn rows(
    cells: &[Cell],
    rules: &SustainRules,
    levels: &BTreeMap<String, u32>,
    images: &BTreeMap<String, ImageSize>,
) -> Vec<Sustained> {
    let mut rows = Vec::new();
    for workload in &rules.workloads {
        for who in &rules.contenders {
            let trials = Trials::of(cells, workload, who);
            if let Some(first) = trials.0.first() {
                let image = images.get(&first.key.adapter).copied().unwrap_or_default();
                let level = levels.get(workload).copied().unwrap_or_default();
                rows.push(trials.row(rules, level, image));
            }
        }
    }
    rows
}

/// One target's cells at one workload: of several attempts at a trial the last.
struct Trials<'a>(Vec<&'a Cell>);

impl<'a> Trials<'a> {
    fn of(cells: &'a [Cell], workload: &str, who: &str) -> Self {
        let mut trials: BTreeMap<_, &Cell> = BTreeMap::new();
        let own = |cell: &&Cell| {
            let key = &cell.key;
            key.workload == workload && key.role == "measure" && key.contender() == who
        };
        for cell in cells.iter().filter(own) {
            let key = &cell.key;
            let last = trials.entry((key.rate_rps, key.repetition)).or_insert(cell);
            if last.key.attempt < key.attempt {
                *last = cell;
            }
        }
        Self(trials.into_values().collect())
    }

    fn row(&self, rules: &SustainRules, level: u32, image: ImageSize) -> Sustained {
        let climb = rules.climbed(self.0.iter().copied());
        let rates: Vec<Rung> = climb
            .tried()
            .map(|rung| self.rung(rules, &climb, rung))
            .collect();
        let (low, high) = climb.interval();
        let place = |rung: Option<usize>| {
            let rate = rules.rungs[rung?];
            rates.iter().find(|tried| tried.rate_rps == rate)
        };
        let (held, not_held) = (place(low), place(high));
        let doubts = doubts(&climb, held, not_held);
        let key = &self.0[0].key;
        Sustained {
            adapter: key.adapter.clone(),
            label: key.label.clone(),
            workload: key.workload.clone(),
            level,
            mode: rules.mode.clone(),
            connections: rules.connections,
            threads: rules.threads,
            load_s: rules.load_s,
            warm_up_s: rules.warm_up_s,
            rate_rps: held.map(|rung| rung.rate_rps),
            not_held_rps: not_held.map(|rung| rung.rate_rps),
            at_least: held.is_some() && !doubts.is_empty(),
            reason: match held {
                Some(_) => doubts.join("; "),
                None => nothing(not_held),
            },
            complete: climb.next().is_none() && not_held.is_none_or(|rung| rung.state != "invalid"),
            p50_us: held.and_then(|rung| rung.p50_us),
            p99_us: held.and_then(|rung| rung.p99_us),
            generator_busy: held.and_then(|rung| rung.generator_busy),
            generator_rps_per_cpu_s: held.and_then(|rung| rung.generator_rps_per_cpu_s),
            image_mib: image.mib,
            image_own_mib: image.own_mib,
            idle_rss_mib: self.median(|cell| cell.rss_mib.baseline),
            start_ms: self.median(|cell| cell.start_ms),
            rates,
        }
    }

    fn rung(&self, rules: &SustainRules, climb: &Climb, rung: usize) -> Rung {
        let rate_rps = rules.rungs[rung];
        let tally = climb.tally(rung);
        let here = |cell: &&&Cell| cell.key.rate_rps == Some(rate_rps);
        let here = Trials(self.0.iter().filter(here).copied().collect());
        Rung {
            rate_rps,
            state: match climb.state(rung) {
                State::Held => "held",
                State::NotHeld => "not held",
                State::Lost => "invalid",
                State::Open => "open",
            }
            .to_owned(),
            held: tally.held,
            not_held: tally.not_held,
            invalid: tally.invalid,
            p50_us: here.median(|cell| cell.load.response_us.p50),
            p99_us: here.median(|cell| cell.load.response_us.p99),
            generator_busy: here.median(|cell| busy(cell, rules.threads)),
            generator_rps_per_cpu_s: here.median(rps_per_cpu_s),
        }
    }

    /// Over the trials that count; none unless each of them has the figure.
    fn median(&self, of: impl Fn(&Cell) -> Option<f64>) -> Option<f64> {
        let counted = self.0.iter().filter(|cell| cell.load.valid);
        let values: Option<Vec<f64>> = counted.map(|cell| of(cell)).collect();
        Some(spread(values?)?.median)
    }
}

/// Why more than the highest held rate may be possible; empty where the next one was seen to fail.
fn doubts(climb: &Climb, held: Option<&Rung>, not_held: Option<&Rung>) -> Vec<String> {
    let mut doubts = Vec::new();
    if climb.next().is_some() {
        doubts.push("the search broke off".to_owned());
    }
    match not_held {
        None => doubts.push("no rate that was tried was not held".to_owned()),
        Some(rung) if rung.state == "invalid" => doubts.push(lost(rung)),
        Some(_) => {}
    }
    if let Some(busy) = held.and_then(|rung| rung.generator_busy)
        && busy > BUSY
    {
        doubts.push(format!(
            "the generator used {:.0} % of its own CPUs there, and over {:.0} % it may be what gave way",
            100.0 * busy,
            100.0 * BUSY
        ));
    }
    doubts
}

/// Why no rate is claimed.
fn nothing(not_held: Option<&Rung>) -> String {
    match not_held {
        Some(rung) if rung.state == "invalid" => lost(rung),
        Some(rung) => format!("not even {}/s was held", rung.rate_rps),
        None => "the search broke off before anything was held".to_owned(),
    }
}

fn lost(rung: &Rung) -> String {
    format!(
        "{} trials at {}/s stayed invalid: of this rate nothing is known, and the interval ends below it",
        rung.invalid, rung.rate_rps
    )
}

/// What the generator spent on its work, spinning left out, in seconds of CPU.
fn work_s(cell: &Cell) -> Option<f64> {
    let work_us = cell.load.generator_cpu_us? - cell.load.generator_spin_us;
    (work_us > 0.0).then_some(work_us / 1e6)
}

/// That work as a share of the CPUs that its threads could have had.
fn busy(cell: &Cell, threads: u32) -> Option<f64> {
    let cpus: crate::plan::cpus::CpuList = cell.limits.load_cpus.parse().ok()?;
    let cpus = cpus.len().min(threads as usize) as f64;
    let room_s = cell.load.duration_s * cpus;
    (room_s > 0.0).then_some(work_s(cell)? / room_s)
}

fn rps_per_cpu_s(cell: &Cell) -> Option<f64> {
    Some(cell.load.ledger.completed as f64 / work_s(cell)?)
}

#[cfg(test)]
mod tests {
    use super::super::Told;
    use super::super::tests::rules;
    use super::*;
    use crate::record::schema::CellKey;

    /// A trial as it was told; its p99 is the rate in microseconds.
    fn trial(who: &str, rate_rps: u64, number: u32, told: Told) -> Cell {
        let (adapter, label) = who.split_once('@').unwrap_or((who, ""));
        let mut cell = Cell {
            key: CellKey {
                adapter: adapter.into(),
                label: label.into(),
                workload: "ok".into(),
                rate_rps: Some(rate_rps),
                repetition: number,
                attempt: 1,
                role: "measure".into(),
                ..CellKey::default()
            },
            healthy: match told {
                Told::Held => Some(true),
                Told::NotHeld => Some(false),
                Told::Invalid => None,
            },
            start_ms: Some(30.0),
            ..Cell::default()
        };
        cell.rss_mib.baseline = Some(10.0);
        cell.limits.load_cpus = "0".into();
        cell.load.valid = told != Told::Invalid;
        cell.load.duration_s = 4.0;
        cell.load.ledger.completed = 4 * rate_rps;
        cell.load.generator_cpu_us = Some(3_000_000.0);
        cell.load.generator_spin_us = 1_000_000.0;
        cell.load.response_us.p50 = Some(50.0);
        cell.load.response_us.p99 = Some(rate_rps as f64);
        cell
    }

    /// The cells of a whole search with these answers.
    fn searched(who: &str, answer: impl Fn(u64) -> Told) -> Vec<Cell> {
        let (rules, mut cells) = (rules(), Vec::new());
        let mut climb = rules.climb();
        while let Some(rung) = climb.next() {
            let (rate, number) = (rules.rungs[rung], climb.tally(rung).count() + 1);
            cells.push(trial(who, rate, number, answer(rate)));
            climb.count(rung, answer(rate));
        }
        cells
    }

    fn row(cells: &[Cell]) -> Sustained {
        let (levels, images) = ([("ok".to_owned(), 1)].into(), BTreeMap::new());
        rows(cells, &rules(), &levels, &images).remove(0)
    }

    fn up_to(knee: u64) -> impl Fn(u64) -> Told {
        move |rate| {
            if rate <= knee {
                Told::Held
            } else {
                Told::NotHeld
            }
        }
    }

    #[test]
    fn a_row_is_the_interval_and_what_was_seen_there() {
        let row = row(&searched("b@slow", up_to(3000)));
        assert_eq!(
            (row.adapter.as_str(), row.label.as_str(), row.level),
            ("b", "slow", 1)
        );
        assert_eq!((row.rate_rps, row.not_held_rps), (Some(2925), Some(3072)));
        assert!(
            !row.at_least && row.reason.is_empty() && row.complete,
            "{row:?}"
        );
        assert_eq!((row.p99_us, row.idle_rss_mib), (Some(2925.0), Some(10.0)));
        assert_eq!(row.generator_busy, Some(0.5), "2 of 4 s");
        assert_eq!(row.generator_rps_per_cpu_s, Some(2.0 * 2925.0));
        assert!(row.rates.is_sorted_by_key(|rung| rung.rate_rps));
    }

    #[test]
    fn a_claim_is_at_least_where_something_else_may_have_ended_it() {
        let held = row(&searched("a", up_to(u64::MAX)));
        assert_eq!(
            (held.rate_rps, held.not_held_rps, held.at_least),
            (Some(10_000), None, true)
        );
        let mut busy = searched("a", up_to(3000));
        for cell in &mut busy {
            cell.load.generator_spin_us = 100_000.0;
        }
        let busy = row(&busy);
        assert!(
            busy.at_least && busy.reason.contains("72 % of its own CPUs"),
            "{}",
            busy.reason
        );
        assert!(busy.complete);
        let lost = |rate| {
            if rate < 3000 {
                Told::Held
            } else {
                Told::Invalid
            }
        };
        let lost = row(&searched("a", lost));
        assert_eq!((lost.rate_rps, lost.not_held_rps), (Some(2925), Some(3072)));
        assert!(lost.at_least && !lost.complete);
        assert!(
            lost.reason.contains("3 trials at 3072/s stayed invalid"),
            "{}",
            lost.reason
        );
    }

    #[test]
    fn where_nothing_is_held_nothing_is_claimed() {
        for (told, reason) in [
            (Told::NotHeld, "not even 1000/s was held"),
            (Told::Invalid, "3 trials at 1000/s stayed invalid"),
        ] {
            let row = row(&searched("a", |_| told));
            assert_eq!(
                (row.rate_rps, row.p99_us, row.at_least),
                (None, None, false)
            );
            assert!(row.reason.starts_with(reason), "{}", row.reason);
        }
        let row = row(&[trial("a", 1000, 1, Told::Held)]);
        assert!(!row.complete && row.reason.contains("broke off"), "{row:?}");
        assert!(rows(&[], &rules(), &BTreeMap::new(), &BTreeMap::new()).is_empty());
    }

    #[test]
    fn of_several_attempts_the_last_one_counts() {
        let mut cells = searched("a", up_to(3000));
        let mut earlier = cells[0].clone();
        (earlier.healthy, earlier.load.valid) = (None, false);
        cells[0].key.attempt = 2;
        let whole = row(&cells);
        cells.push(earlier);
        assert_eq!(row(&cells), whole);
    }
}
