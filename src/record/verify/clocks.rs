//! Whether a load's clocks, ledger and counters can all be of the same slots. Whoever makes one of
//! them better has to make all the others fit.

use hdrhistogram::Histogram;

use crate::load::outcome::{Failure, Outcome};
use crate::plan::cpus::CpuList;
use crate::record::hlog::{Second, Totals};
use crate::record::samples::{Mark, Sample};
use crate::record::schema::{Cell, LagCause, Ledger};
use crate::record::verify::design::is_alone;
use crate::stats::quantile::sum_ns;

/// A value is known to half of its bucket, 1 / 2048 of it; sums on both sides may be off by as much.
const BUCKETS: f64 = 1e-3;
/// A second's responses are put away at the loop's next pass that has a moment, at most so late.
const PACKED_S: f64 = 0.25;
/// Two counters of CPU time that are read one after the other agree within this share and time.
const CPU_SHARE: f64 = 0.02;
const CPU_US: f64 = 50_000.0;

/// Calls `find` with a file of the cell and a sentence for each contradiction. `poisson` says that the
/// plan's schedule is not uniform.
pub(super) fn check(
    cell: &Cell,
    rows: &[Sample],
    totals: &Totals,
    poisson: bool,
    find: &mut impl FnMut(&str, String),
) {
    let wrong = counts(cell, totals);
    wrong.into_iter().for_each(|what| find("cell.json", what));
    let wrong = parts(cell, totals);
    wrong
        .into_iter()
        .for_each(|what| find("latency.hlog", what));
    // A masked schedule's slots lie in slices that only their seed knows.
    let uniform = is_alone(&cell.key) && !poisson;
    if let Some(rate_rps) = cell.key.rate_rps.filter(|_| uniform) {
        let pause_s = cell.load.longest_pause_us / 1e6;
        let what = seconds(
            &totals.seconds,
            rate_rps,
            &cell.load.ledger,
            totals,
            pause_s,
        );
        what.into_iter().for_each(|what| find("latency.hlog", what));
    }
    let wrong = counters(cell, rows);
    wrong.into_iter().for_each(|what| find("samples.csv", what));
}

/// Counts that follow from others.
fn counts(cell: &Cell, totals: &Totals) -> Vec<String> {
    let (load, clocks) = (&cell.load, &totals.clocks);
    let ledger = &load.ledger;
    let errors = |outcome: Outcome| -> u64 {
        let of = Failure::ALL.iter().filter(|f| f.outcome() == outcome);
        of.filter_map(|f| load.errors.get(f.name())).sum()
    };
    let open = load.offered_rps.is_some();
    let (late, lag) = (clocks.generator_late.len(), clocks.lag.len());
    let in_blocks: u64 = load
        .completed_by_block
        .iter()
        .fold(0, |sum, n| sum.saturating_add(*n));
    let known = |name: &String| Failure::ALL.iter().any(|f| f.name() == name);
    let table = [
        (
            "service: not one for each completed slot",
            clocks.service.len() == ledger.completed,
        ),
        (
            "lag: fewer than completed slots",
            !open || lag >= ledger.completed,
        ),
        (
            "lag: of more slots than were found due",
            !open || lag <= late,
        ),
        (
            "generator_late: of more slots than were scheduled",
            late <= ledger.scheduled,
        ),
        (
            "errors: fewer wrong responses than the ledger",
            errors(Outcome::WrongResponse) >= ledger.wrong_response,
        ),
        (
            "errors: fewer timeouts than the ledger",
            errors(Outcome::TimedOut) >= ledger.timed_out,
        ),
        (
            "errors: fewer failures than the ledger",
            errors(Outcome::Failed) >= ledger.failed,
        ),
        ("errors: of an unknown kind", load.errors.keys().all(known)),
        (
            "connect_us.count: not connections_opened",
            load.connect_us.count == load.connections_opened,
        ),
        (
            "connect_us: its mean is over its maximum",
            load.connect_us.max.is_none() || load.connect_us.mean <= load.connect_us.max,
        ),
        (
            "completed_by_block: does not add up to completed",
            load.completed_by_block.is_empty() || in_blocks == ledger.completed,
        ),
        (
            "spilled: a load without a mask has no gap to spill into",
            cell.paired.is_some() || load.spilled == 0,
        ),
        (
            "offered_rps: not the cell's rate",
            load.offered_rps == cell.key.rate_rps.map(|rate| rate as f64),
        ),
        ("generator_spin_us: below 0", load.generator_spin_us >= 0.0),
        ("duration_s: shorter than the schedule", duration_fits(cell)),
    ];
    let wrong = table.iter().filter(|(_, holds)| !holds);
    let causes = &load.lag_causes;
    wrong
        .map(|(what, _)| (*what).to_owned())
        .chain(cause("no_free_connection", &causes.no_free_connection, lag))
        .chain(cause("socket_full", &causes.socket_full, lag))
        .collect()
}

fn duration_fits(cell: &Cell) -> bool {
    match cell.load.offered_rps {
        Some(rate) if rate > 0.0 => {
            cell.load.duration_s >= cell.load.ledger.scheduled as f64 / rate * (1.0 - 1e-9)
        }
        _ => cell.load.duration_s >= 0.0,
    }
}

/// The figures of one cause of lag among themselves. Delays under a microsecond are in the sum alone.
fn cause(name: &str, cause: &LagCause, slots: u64) -> Option<String> {
    let longest_sum = cause.count as f64 * cause.max_us + slots as f64;
    let holds = cause.count <= slots
        && cause.p99_us.is_none_or(|p99| p99 <= cause.max_us)
        && cause.p99_us.is_some() == (cause.count >= 1000)
        && (cause.count > 0) == (cause.max_us > 0.0)
        && cause.max_us * (1.0 - BUCKETS) <= cause.sum_us
        && cause.sum_us <= longest_sum;
    (!holds).then(|| {
        format!("lag_causes.{name}: its count, sum, p99 and maximum contradict each other")
    })
}

/// Response = lag + service, and lag = the sum of its causes, slot by slot: so are their sums, and no
/// clock has more values below any bound than a part of it.
fn parts(cell: &Cell, totals: &Totals) -> Vec<String> {
    let clocks = &totals.clocks;
    let sum_us = |clock: &Histogram<u64>| sum_ns(clock) as f64 / 1e3;
    let causes = &cell.load.lag_causes;
    let mut wrong = Vec::new();
    let mut adds_up = |what: &str, whole_us: f64, parts_us: f64, slots: u64| {
        let rounding_us = 1e-3 * slots as f64;
        if (whole_us - parts_us).abs() > BUCKETS * whole_us.max(parts_us) + rounding_us {
            wrong.push(format!(
                "{what}: {whole_us:.0} us, and the parts add up to {parts_us:.0} us"
            ));
        }
    };
    let (response, service, lag) = (&clocks.response, &clocks.service, &clocks.lag);
    let all_answered = response.len() == lag.len() && response.len() == service.len();
    if all_answered {
        let (whole, sum) = (sum_us(response), sum_us(service) + sum_us(lag));
        adds_up(
            "response is not lag and service",
            whole,
            sum,
            response.len(),
        );
    }
    let all_sent = lag.len() == clocks.generator_late.len();
    if all_sent {
        let sum = sum_us(&clocks.generator_late)
            + causes.no_free_connection.sum_us
            + causes.socket_full.sum_us;
        adds_up("lag is not its causes", sum_us(lag), sum, lag.len());
    }
    for (what, same_slots, whole, part) in [
        (
            "response is shorter than service",
            response.len() == service.len(),
            response,
            service,
        ),
        ("response is shorter than lag", all_answered, response, lag),
        (
            "lag is shorter than generator_late",
            all_sent,
            lag,
            &clocks.generator_late,
        ),
    ] {
        if same_slots && !dominates(whole, part) {
            wrong.push(format!("{what}, in some of the slots"));
        }
    }
    wrong
}

/// Whether at every bound `whole` has no more values below it than `part`: so it is where each value of
/// one is at least a value of the other, since equal buckets keep the order.
fn dominates(whole: &Histogram<u64>, part: &Histogram<u64>) -> bool {
    let mut parts = part.iter_recorded().peekable();
    let (mut below_whole, mut below_part) = (0u64, 0u64);
    whole.iter_recorded().all(|bucket| {
        let value = bucket.value_iterated_to();
        below_whole = below_whole.saturating_add(bucket.count_at_value());
        while let Some(next) = parts.next_if(|next| next.value_iterated_to() <= value) {
            below_part = below_part.saturating_add(next.count_at_value());
        }
        below_whole <= below_part
    })
}

/// Responses second by second against the schedule: none before its slot was due, and by the end of
/// each second all those whose slot was due longer ago than the longest response.
fn seconds(
    seconds: &[Second],
    rate_rps: u64,
    ledger: &Ledger,
    totals: &Totals,
    pause_s: f64,
) -> Option<String> {
    let due = |s: f64| ((s.max(0.0) * rate_rps as f64).floor() as u64).min(ledger.scheduled);
    let longest_s = totals.clocks.response.max() as f64 / 1e9;
    let lost = ledger.scheduled.saturating_sub(ledger.completed);
    let mut so_far = 0u64;
    for second in seconds {
        let (start_s, end_s) = (second.start_s, second.start_s + second.duration_s);
        let least = due(start_s - longest_s).saturating_sub(1 + lost);
        if so_far < least {
            return Some(format!(
                "{so_far} responses by second {start_s:.0}, where {least} at least were due longer ago than the longest response"
            ));
        }
        so_far = so_far.saturating_add(second.count);
        let most = due(end_s + PACKED_S + pause_s) + 1;
        if so_far > most {
            return Some(format!(
                "{so_far} responses by second {end_s:.0}, where {most} at most were due"
            ));
        }
    }
    None
}

/// The target's and the generator's CPU time: never falling, and no more than there was.
fn counters(cell: &Cell, rows: &[Sample]) -> Vec<String> {
    let mut wrong = Vec::new();
    for column in [
        "cpu_us",
        "throttled_periods",
        "throttled_us",
        "oom_kills",
        "agent_cpu_us",
    ] {
        let read = || rows.iter().filter_map(|row| row.get(column));
        if read()
            .zip(read().skip(1))
            .any(|(before, after)| after < before)
        {
            wrong.push(format!("{column} fell, and such a counter never does"));
        }
    }
    let edge = |mark| move |row: &&Sample| row.phase == "load" && row.mark == mark;
    let first = rows.iter().find(edge(Mark::Start));
    let last = rows.iter().rfind(edge(Mark::End));
    let (Some(first), Some(last)) = (first, last) else {
        return wrong;
    };
    let growth = |column: &str| {
        let grown = last.get(column)?.checked_sub(first.get(column)?)?;
        Some(grown as f64)
    };
    let mut at_most = |what: &str, part: Option<f64>, whole: Option<f64>| {
        if let (Some(part), Some(whole)) = (part, whole)
            && part > whole * (1.0 + CPU_SHARE) + CPU_US
        {
            wrong.push(format!(
                "{what}: {part:.0} us over the load, of at most {whole:.0} us"
            ));
        }
    };
    let took_us = (last.t_s - first.t_s) * 1e6;
    let cpus = cell.limits.target_cpus.parse::<CpuList>().ok();
    let capacity = cpus.map(|cpus| took_us * cpus.len() as f64);
    at_most("the target's CPU", growth("cpu_us"), capacity);
    at_most(
        "its main thread's CPU",
        growth("main_thread_us"),
        growth("cpu_us"),
    );
    at_most(
        "generator_cpu_us",
        cell.load.generator_cpu_us,
        growth("agent_cpu_us"),
    );
    wrong
}
