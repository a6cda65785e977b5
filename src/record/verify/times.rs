//! Whether the times in a cell can be those of one measurement.

use crate::parity::Transcript;
use crate::record::hlog::Totals;
use crate::record::samples::{Mark, Sample};
use crate::record::schema::{Cell, Phase};

/// Phases are timed by a clock that is never set, all else by the wall clock, which may be corrected
/// within a cell by as much.
const CLOCKS_S: f64 = 2.0;
/// What rounding to microseconds, and reading right after the phase began, make of a time.
const ROUNDING_S: f64 = 1e-5;

/// All that there are.
const PHASES: [&str; 10] = [
    "ready",
    "parity before",
    "baseline",
    "first warm-up",
    "warm-up",
    "settle",
    "load",
    "background",
    "parity after",
    "recovery",
];

/// Calls `find` with a file of the cell and a sentence for each contradiction.
pub(super) fn check(
    cell: &Cell,
    rows: &[Sample],
    totals: &Totals,
    transcript: &Transcript,
    find: &mut impl FnMut(&str, String),
) {
    in_order(&cell.phases, find);
    let phase = |name: &str| cell.phases.iter().find(|phase| phase.name == name);
    sampled(&cell.phases, rows, find);
    let Some(load) = phase("load") else {
        return find("cell.json", "phases: load is missing".into());
    };
    let since_start_s = |unix_s: f64| unix_s - cell.started_unix_s;
    let within = |unix_s: f64, from_s: f64, to_s: f64| {
        (from_s - CLOCKS_S..=to_s + CLOCKS_S).contains(&since_start_s(unix_s))
    };
    if !totals.seconds.is_empty() && !within(totals.start_unix_s, load.start_s, load.end_s) {
        find(
            "latency.hlog",
            "StartTime is not within the cell's load".into(),
        );
    }
    if cell.load.duration_s > load.end_s - load.start_s + ROUNDING_S {
        find(
            "cell.json",
            "duration_s: longer than the phase of the load".into(),
        );
    }
    let ready = phase("ready").map_or(load.end_s, |ready| ready.end_s);
    if cell
        .start_ms
        .is_some_and(|ms| !(0.0..=ready * 1e3).contains(&ms))
    {
        find(
            "cell.json",
            "start_ms: longer than the phase in which the target started".into(),
        );
    }
    let end_s = cell.phases.last().map_or(0.0, |phase| phase.end_s);
    for exchange in &transcript.exchanges {
        let (from_s, to_s) = match exchange.when.as_str() {
            "before" => (0.0, load.start_s),
            "during" => (0.0, load.end_s),
            _ => (load.end_s, end_s),
        };
        if !within(exchange.unix_s, from_s, to_s) {
            let (when, row) = (&exchange.when, &exchange.row);
            find(
                "parity.json",
                format!("row `{row}` {when} the load: its unix_s is not of that time"),
            );
            return;
        }
    }
}

/// One phase after the other.
fn in_order(phases: &[Phase], find: &mut impl FnMut(&str, String)) {
    let mut before_s = 0.0;
    for Phase {
        name,
        start_s,
        end_s,
    } in phases
    {
        if *start_s < before_s || end_s < start_s {
            find(
                "cell.json",
                format!("phases: {name} is not after the one before it"),
            );
            return;
        }
        before_s = *end_s;
    }
    let mut names: Vec<&str> = phases.iter().map(|phase| phase.name.as_str()).collect();
    let known = names.iter().all(|name| PHASES.contains(name));
    names.sort_unstable();
    if !known || names.windows(2).any(|two| two[0] == two[1]) {
        find(
            "cell.json",
            "phases: one of an unknown name, or twice".into(),
        );
    }
}

/// Rows in order of time, each within its phase; the edges are the phases' own.
fn sampled(phases: &[Phase], rows: &[Sample], find: &mut impl FnMut(&str, String)) {
    let mut before_s = 0.0;
    for (row, line) in rows.iter().zip(2..) {
        let mut wrong = |what: &str| find("samples.csv", format!("line {line}: {what}"));
        let Some(index) = phases.iter().position(|phase| phase.name == row.phase) else {
            return wrong("of a phase that the cell has not");
        };
        let phase = &phases[index];
        // The last tick of a load may come after its end.
        let next_s = phases
            .get(index + 1)
            .map_or(f64::INFINITY, |next| next.start_s);
        let last_s = if row.mark == Mark::End {
            phase.end_s
        } else {
            next_s
        };
        let fits = (phase.start_s - ROUNDING_S..=last_s + ROUNDING_S).contains(&row.t_s);
        if !fits || row.t_s < before_s {
            return wrong("not within its phase, or not after the row before it");
        }
        if row.mark == Mark::End && row.t_s < phase.end_s - CLOCKS_S {
            return wrong("not at its phase's end");
        }
        if row.mark == Mark::Start && row.t_s > phase.start_s + ROUNDING_S {
            return wrong("not at its phase's start");
        }
        before_s = row.t_s;
    }
    for Phase { name, .. } in phases {
        let of = |mark| {
            rows.iter()
                .any(|row| row.phase == *name && row.mark == mark)
        };
        let ticks = of(Mark::Tick) || of(Mark::Block) || of(Mark::Slice);
        if of(Mark::Start) != of(Mark::End) || (ticks && !of(Mark::Start)) {
            find(
                "samples.csv",
                format!("{name} lacks a row at one of its edges"),
            );
        }
    }
}
