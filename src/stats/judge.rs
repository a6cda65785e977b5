//! The two separate judgements: valid (the instrument) and healthy (the target).

use serde::{Deserialize, Serialize};

use crate::record::schema::{Cell, Latency, Load};
use crate::stats::quantile::CENSORED;

/// The generator may be late by this much at its 99th percentile, whatever the target's latency.
const LATE_US: f64 = 200.0;
/// Or by this share of the response's own.
const LATE_SHARE: f64 = 0.1;
/// The longest pause between two passes of the generator's loop.
const PAUSE_US: f64 = 100_000.0;

/// The largest share of a masked load's slots that may end after their slice's gap.
pub const SPILL_SHARE: f64 = 0.01;

/// The plan's bounds on a healthy target; errors, timeouts and wrong responses are never healthy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Healthy {
    /// Least completed / scheduled.
    pub coverage: f64,
    /// Most response p99.
    pub p99_ms: f64,
}

/// The 99th percentiles that validity rests on, from however many values there are: a rule of the
/// instrument's own has no need of publishable quantiles.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tails {
    /// Of `generator_late`, in microseconds; `None` where nothing was recorded.
    pub late_us: Option<f64>,
    /// Of the response over all scheduled slots; `None` where it is past all that completed.
    pub response_us: Option<f64>,
}

/// Why the instrument did not keep its own rules; empty for a valid load. Needs the load's derived
/// figures.
pub fn invalid_reasons(load: &Load, tails: &Tails) -> Vec<String> {
    let mut reasons = load.faults.clone();
    let ledger = &load.ledger;
    if !ledger.balances() {
        reasons.push("the ledger does not balance: its outcomes do not add up to scheduled".into());
    }
    if load.response_us.count != ledger.completed {
        reasons.push(format!(
            "the histogram holds {} responses, the ledger {} completed",
            load.response_us.count, ledger.completed
        ));
    }
    reasons.extend(load.blocks_differ());
    if load.spilled as f64 > SPILL_SHARE * ledger.scheduled as f64 {
        reasons.push(format!(
            "{} of {} slots ended after their slice's gap: at most {} % leaves the others their turns",
            load.spilled,
            ledger.scheduled,
            SPILL_SHARE * 100.0
        ));
    }
    if ledger.scheduled == 0 {
        reasons.push("nothing was scheduled".into());
    } else if ledger.completed == 0 {
        reasons.push(format!(
            "nothing completed of {} scheduled slots",
            ledger.scheduled
        ));
    }
    reasons.extend(late(load, tails));
    if load.longest_pause_us > PAUSE_US {
        reasons.push(format!(
            "the generator paused for {:.1} ms; at most {:.0} ms keeps the schedule",
            load.longest_pause_us / 1000.0,
            PAUSE_US / 1000.0
        ));
    }
    reasons
}

/// Whether the generator's own lateness was past its bound. A closed loop has no slots to be late for.
fn late(load: &Load, tails: &Tails) -> Option<String> {
    load.offered_rps?;
    let Some(late) = tails.late_us else {
        return (load.ledger.scheduled > 0).then(|| "the generator's lag was not recorded".into());
    };
    // A response that is not known grants nothing.
    let bound = LATE_US.max(LATE_SHARE * tails.response_us.unwrap_or(0.0));
    (late > bound).then(|| {
        format!("the generator was late by {late:.1} us at p99; at most {bound:.1} us is kept time")
    })
}

/// Whether the target kept the plan's bounds, and why not or why it can't be told. Needs the cell's
/// `valid` and derived figures.
pub fn healthy(cell: &Cell, bounds: &Healthy) -> (Option<bool>, Vec<String>) {
    if !cell.load.valid {
        return (None, vec!["the cell is invalid".into()]);
    }
    let mut reasons = Vec::new();
    if !cell.target_ended.is_empty() {
        reasons.push(format!(
            "the target ended under load: {}",
            cell.target_ended
        ));
    }
    let ledger = &cell.load.ledger;
    for (count, what) in [
        (ledger.wrong_response, "wrong responses"),
        (ledger.timed_out, "timeouts"),
        (ledger.failed, "failures"),
    ] {
        if count > 0 {
            reasons.push(format!("{count} {what}"));
        }
    }
    match cell.load.coverage {
        Some(coverage) if coverage >= bounds.coverage => {}
        Some(coverage) => reasons.push(format!(
            "coverage {coverage:.4} is below {}",
            bounds.coverage
        )),
        None => reasons.push("coverage is not known".into()),
    }
    let p99 = p99(&cell.load.response_us, &cell.load);
    match p99 {
        Ok(Some(p99_us)) if p99_us > bounds.p99_ms * 1000.0 => reasons.push(format!(
            "response p99 {:.3} ms is over {} ms",
            p99_us / 1000.0,
            bounds.p99_ms
        )),
        Ok(None) => {
            reasons.push("response p99 is censored: too many slots without an answer".into())
        }
        _ => {}
    }
    match (reasons.is_empty(), p99) {
        (false, _) => (Some(false), reasons),
        (true, Err(why)) => (None, vec![format!("response p99 {why}")]),
        (true, Ok(_)) => (Some(true), reasons),
    }
}

/// The response p99; `Ok(None)` where it is known to be beyond all that was seen, and `Err` where
/// there are too few samples to tell.
fn p99<'a>(response: &Latency, load: &'a Load) -> Result<Option<f64>, &'a str> {
    match load.nulls.get("response_us.p99") {
        Some(reason) if reason != CENSORED => Err(reason),
        _ => Ok(response.p99),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::schema::Ledger;

    /// A load of 1,000 slots that keeps every rule; each test breaks one.
    fn good() -> Load {
        let mut load = Load {
            valid: true,
            offered_rps: Some(100.0),
            coverage: Some(1.0),
            ledger: Ledger {
                scheduled: 1000,
                completed: 1000,
                ..Ledger::default()
            },
            ..Load::default()
        };
        load.response_us = Latency {
            count: 1000,
            p99: Some(900.0),
            max: Some(3000.0),
            ..Latency::default()
        };
        load
    }

    const ON_TIME: Tails = Tails {
        late_us: Some(200.0),
        response_us: Some(900.0),
    };

    #[test]
    fn each_rule_of_validity_bites_alone() {
        assert_eq!(invalid_reasons(&good(), &ON_TIME), Vec::<String>::new());
        type Break = fn(&mut Load);
        let table: [(&str, Break); 7] = [
            ("paused for 100.1 ms", |l| l.longest_pause_us = 100_100.0),
            ("does not balance", |l| l.ledger.failed = 1),
            ("holds 1000 responses, the ledger 999", |l| {
                l.ledger.completed = 999;
                l.ledger.unsent = 1;
            }),
            ("blocks hold 999 completed slots, the ledger 1000", |l| {
                l.completed_by_block = vec![500, 499];
            }),
            (
                "11 of 1000 slots ended after their slice's gap: at most 1 %",
                |l| l.spilled = 11,
            ),
            ("nothing completed", |l| {
                l.ledger = Ledger {
                    scheduled: 1000,
                    failed: 1000,
                    ..Ledger::default()
                };
                l.response_us = Latency::default();
            }),
            ("the clock stepped", |l| {
                l.faults.push("the clock stepped".into())
            }),
        ];
        for (expected, break_it) in table {
            let mut load = good();
            break_it(&mut load);
            let reasons = invalid_reasons(&load, &ON_TIME);
            assert!(
                reasons.len() == 1 && reasons[0].contains(expected),
                "{expected}: {reasons:?}"
            );
        }
    }

    #[test]
    fn some_slots_may_spill_and_blocks_that_add_up_say_nothing() {
        let mut load = good();
        load.spilled = 10;
        load.completed_by_block = vec![400, 0, 600];
        assert_eq!(invalid_reasons(&load, &ON_TIME), Vec::<String>::new());
    }

    #[test]
    fn lateness_is_bounded_by_the_response_and_an_unknown_one_grants_nothing() {
        let table = [
            (Some(200.0), Some(900.0), true),
            (Some(200.1), Some(900.0), false),
            (Some(500.0), Some(5000.0), true),
            (Some(500.1), Some(5000.0), false),
            (Some(500.0), None, false),
            (None, Some(900.0), false),
        ];
        for (late_us, response_us, valid) in table {
            let tails = Tails {
                late_us,
                response_us,
            };
            assert_eq!(
                invalid_reasons(&good(), &tails).is_empty(),
                valid,
                "{tails:?}"
            );
        }
    }

    #[test]
    fn health_is_true_false_or_not_told() {
        let bounds = Healthy {
            coverage: 0.99,
            p99_ms: 10.0,
        };
        type Break = fn(&mut Load);
        let table: [(Option<bool>, &str, Break); 7] = [
            (Some(true), "", |_| ()),
            (None, "invalid", |l| l.valid = false),
            (Some(false), "3 timeouts", |l| l.ledger.timed_out = 3),
            (Some(false), "coverage 0.9800 is below 0.99", |l| {
                l.coverage = Some(0.98)
            }),
            (Some(false), "10.001 ms is over 10 ms", |l| {
                l.response_us.p99 = Some(10_001.0)
            }),
            (Some(false), "censored", |l| {
                l.response_us.p99 = None;
                l.nulls.insert("response_us.p99".into(), CENSORED.into());
            }),
            (None, "needs 1000", |l| {
                l.response_us.p99 = None;
                l.nulls.insert(
                    "response_us.p99".into(),
                    "needs 1000 scheduled slots, has 9".into(),
                );
            }),
        ];
        for (expected, reason, break_it) in table {
            let mut cell = Cell {
                load: good(),
                ..Cell::default()
            };
            break_it(&mut cell.load);
            let (healthy, reasons) = self::healthy(&cell, &bounds);
            assert_eq!(healthy, expected, "{reason}");
            assert!(reasons.concat().contains(reason), "{reasons:?}");
        }
        // What is surely unhealthy stays so with too few samples.
        let mut cell = Cell {
            load: good(),
            ..Cell::default()
        };
        cell.load.ledger.failed = 1;
        cell.load
            .nulls
            .insert("response_us.p99".into(), "needs".into());
        assert_eq!(self::healthy(&cell, &bounds).0, Some(false));
    }
}
