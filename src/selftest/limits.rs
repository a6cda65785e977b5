//! Cases about limits: more offered than is served, slices that must be kept, and the generator's own
//! ceiling.

use std::io;

use super::cases::outcomes;
use super::laws::probe_trips;
use super::probe::quantile;
use super::rig::{self, Cpus, OK, Outcome};
use super::server::{Act, Behaviour, Seen, Server};
use super::{Judged, judged};
use crate::load::clock::{SECOND_NS, now_ns};
use crate::load::turns::{Pattern, Turns};
use crate::load::{Pace, Slice, Spec};
use crate::record::schema::MaskSeed;
use crate::stats::quantile::us;

const MS: u64 = 1_000_000;

/// Twice as much is offered as one connection to a server that takes 1 ms can do.
pub fn overload(cpus: Cpus) -> io::Result<Judged> {
    let service = || -> Behaviour {
        Box::new(|_, script| script.extend([Act::Pause(MS), Act::Send(OK.into())]))
    };
    let mut closed = rig::spec(1000, 500);
    (closed.connections, closed.pace) = (1, Pace::Closed { requests: u64::MAX });
    let (can, _) = rig::against(cpus, service(), closed)?;
    let capacity_rps = can.load.achieved_rps.unwrap_or(0.0);

    let mut spec = rig::spec(2000, 4000);
    (spec.connections, spec.timeout_ns) = (1, SECOND_NS / 2);
    let (Outcome { load, took_ns, .. }, _) = rig::against(cpus, service(), spec)?;
    let took_s = took_ns as f64 / 1e9;
    let ratio = load.ledger.completed as f64 / took_s / capacity_rps;
    let why = |q: &str| {
        load.nulls
            .get(&format!("response_us.{q}"))
            .map_or("known", String::as_str)
    };
    let ok = ratio > 0.9
        && took_s < 2.6
        && load.ledger.balances()
        && load.ledger.failed + load.ledger.wrong_response == 0
        && load.ledger.unsent > 1000
        && (why("p90"), why("p99")) == ("censored", "censored")
        && load.valid;
    let what = format!(
        "{}, {:.2} x the closed loop's {capacity_rps:.0}/s, ended after {took_s:.2} s of 2 + 0.5, p90 {}, {}",
        outcomes(&load.ledger, &load.errors),
        ratio,
        why("p90"),
        if load.valid { "valid" } else { "invalid" }
    );
    Ok(judged(ok, what))
}

/// How the turns of two loads are laid.
const MASK: MaskSeed = MaskSeed {
    seed: 1,
    slice_ns: 20 * MS,
    gap_ns: 2 * MS,
};
/// For so long: two blocks of short slices and two of long ones.
const TURNS_NS: u64 = 2 * SECOND_NS;

/// What one of two loads came to that took turns.
struct Side {
    outcome: Outcome,
    seen: Seen,
    /// With its slices and blocks.
    spec: Spec,
    /// How many requests came when it had no turn.
    outside: usize,
    epoch_ns: u64,
}

/// Two such loads on one clock, each against a server of its own.
fn in_turns(cpus: Cpus, spec: &Spec) -> io::Result<Vec<Side>> {
    let turns = Turns::lay(2, MASK, TURNS_NS, Pattern::Alternating);
    let epoch_ns = now_ns() + 100 * MS;
    let side = |side| {
        let (mut spec, slices) = (spec.clone(), turns.of(side));
        (spec.slices, spec.blocks_ns) = (Some(slices.clone()), turns.block_ends_ns());
        move || -> io::Result<_> {
            let server = Server::start(cpus, true, rig::always(OK))?;
            spec.target = server.address;
            let outcome = rig::run_at(cpus, spec.clone(), Some(epoch_ns));
            let seen = server.stop()?;
            Ok(Side {
                outcome: outcome?,
                outside: outside(&seen.arrivals_ns, epoch_ns, &slices),
                seen,
                spec,
                epoch_ns,
            })
        }
    };
    let threads = [0, 1].map(|index| std::thread::spawn(side(index)));
    let joined = threads.map(|thread| {
        let panicked = |_| io::Error::other("a side panicked");
        thread.join().map_err(panicked)?
    });
    joined.into_iter().collect()
}

/// Two open loops take turns: every slot in its own slices and counted in its block, and the first of a
/// slice hardly later than the others.
pub fn slices(cpus: Cpus) -> io::Result<Judged> {
    let (mut ok, mut what) = (true, vec![]);
    for side in in_turns(cpus, &open())? {
        let (load, slots) = (&side.outcome.load, side.spec.slots());
        let (first, other) = side.lateness();
        ok &= side.kept_its_schedule() && side.outside == 0 && first[0] <= 3 * other[0] + 100_000;
        what.push(format!(
            "{} of {slots} completed, by block {:?}, {} outside, {} spilled, arrival after the slot p50 {:.0} us, p99 {:.0} (first of a slice {:.0}, {:.0})",
            load.ledger.completed,
            load.completed_by_block,
            side.outside,
            load.spilled,
            us(other[0]),
            us(other[1]),
            us(first[0]),
            us(first[1])
        ));
    }
    Ok(judged(ok, what.join("; ")))
}

/// Two closed loops take turns: nothing is sent after a slice's end, and capacity is what completed in the
/// time from each slice's start to its last response.
pub fn closed_slices(cpus: Cpus) -> io::Result<Judged> {
    let (mut ok, mut what) = (true, vec![]);
    for side in in_turns(cpus, &closed())? {
        let load = &side.outcome.load;
        let slices = side.slices().iter();
        let most_ns = slices.map(|slice| slice.length_ns + slice.gap_ns);
        let most_s = most_ns.sum::<u64>() as f64 / 1e9;
        ok &=
            side.kept_its_slices() && side.outside == 0 && load.duration_s <= most_s && load.valid;
        what.push(format!(
            "{} of {} completed, by block {:?}, {} outside, the last arrival {:.0} us after its slice's end; {:.0}/s in {:.3} s served of {:.3} to {most_s:.3}",
            load.ledger.completed,
            load.ledger.scheduled,
            load.completed_by_block,
            side.outside,
            us(side.longest_after_end_ns()),
            load.achieved_rps.unwrap_or(0.0),
            load.duration_s,
            side.asked_s(),
        ));
    }
    Ok(judged(ok, what.join("; ")))
}

fn open() -> Spec {
    rig::spec(2000, 1)
}

fn closed() -> Spec {
    let mut spec = rig::spec(1, 1);
    spec.connections = 32;
    spec.pace = Pace::Closed { requests: u64::MAX };
    spec
}

impl Side {
    fn slices(&self) -> &[Slice] {
        self.spec.slices.as_deref().unwrap_or_default()
    }

    /// What holds of an open loop however late the machine was.
    fn kept_its_schedule(&self) -> bool {
        let (load, slots) = (&self.outcome.load, self.spec.slots());
        load.ledger.scheduled == slots
            && load.ledger.completed == slots
            && self.seen.requests == slots
            && load.completed_by_block == due_by_block(&self.spec)
    }

    /// What holds of a closed loop however late the machine was.
    fn kept_its_slices(&self) -> bool {
        let load = &self.outcome.load;
        let completed = load.ledger.completed;
        completed > 0
            && load.ledger.scheduled == completed
            && self.seen.requests == completed
            && load.completed_by_block.iter().sum::<u64>() == completed
            && load.completed_by_block.iter().all(|count| *count > 0)
            && load.achieved_rps == Some(completed as f64 / load.duration_s)
            && load.duration_s >= self.asked_s()
    }

    /// How long after their slots an open loop's requests came, p50 and p99: those of the first slots of
    /// slices, and of all others. Slots and requests are both in order.
    fn lateness(&self) -> ([u64; 2], [u64; 2]) {
        let (mut first, mut others) = (vec![], vec![]);
        let mut slice_before = None;
        let slots_ns = self.spec.schedule().into_iter().flat_map(|schedule| {
            let of = move |k| {
                (
                    schedule.slot_ns(k),
                    schedule.mask().slice_at(schedule.slot_ns(k)),
                )
            };
            (0..self.spec.slots()).map(of)
        });
        for ((slot_ns, slice), arrived_ns) in slots_ns.zip(&self.seen.arrivals_ns) {
            let late_ns = arrived_ns.saturating_sub(self.epoch_ns + slot_ns);
            let opens = slice != slice_before;
            if opens { &mut first } else { &mut others }.push(late_ns);
            slice_before = slice;
        }
        let quantiles = |mut late: Vec<u64>| [0.5, 0.99].map(|q| quantile(&mut late, q));
        (quantiles(first), quantiles(others))
    }

    /// The time from each slice's start to its last request together, as the server saw it.
    fn asked_s(&self) -> f64 {
        let last_ns = last_by_slice(&self.seen.arrivals_ns, self.epoch_ns, self.slices());
        last_ns.iter().sum::<u64>() as f64 / 1e9
    }

    /// How long after its slice's end a request came, of those within the gap.
    fn longest_after_end_ns(&self) -> u64 {
        let last_ns = last_by_slice(&self.seen.arrivals_ns, self.epoch_ns, self.slices());
        let after = last_ns.iter().zip(self.slices());
        let after = after.map(|(last_ns, slice)| last_ns.saturating_sub(slice.length_ns));
        after.max().unwrap_or(0)
    }
}

/// How many slots of an open loop each block has.
fn due_by_block(spec: &Spec) -> Vec<u64> {
    let due = |end: &u64| spec.schedule().map_or(0, |schedule| schedule.due(end - 1));
    let edges: Vec<u64> = std::iter::once(0)
        .chain(spec.blocks_ns.iter().map(due))
        .collect();
    edges.windows(2).map(|edge| edge[1] - edge[0]).collect()
}

/// How long after each slice's start the last request came of those that came in it or in its gap.
fn last_by_slice(arrivals_ns: &[u64], epoch_ns: u64, slices: &[Slice]) -> Vec<u64> {
    let last = |slice: &Slice| {
        let (start_ns, end_ns) = (epoch_ns + slice.start_ns, epoch_ns + slice.gap_end_ns());
        let before_end = arrivals_ns.partition_point(|arrived_ns| *arrived_ns < end_ns);
        let last_ns = arrivals_ns[..before_end].last();
        last_ns.map_or(0, |last_ns| last_ns.saturating_sub(start_ns))
    };
    slices.iter().map(last).collect()
}

/// How many requests came when another load had its turn.
fn outside(arrivals_ns: &[u64], epoch_ns: u64, slices: &[Slice]) -> usize {
    let inside = |arrived_ns: u64| {
        let on_the_clock_ns = arrived_ns.wrapping_sub(epoch_ns);
        let own = |slice: &Slice| (slice.start_ns..slice.gap_end_ns()).contains(&on_the_clock_ns);
        slices.iter().any(own)
    };
    arrivals_ns
        .iter()
        .filter(|arrived| !inside(**arrived))
        .count()
}

/// What this generator can hold, and how punctual it is at half of that.
pub fn ceiling(cpus: Cpus) -> io::Result<(Judged, f64)> {
    let server = Server::start(cpus, false, rig::always(OK))?;
    let mut closed = rig::spec(1000, 1000);
    closed.target = server.address;
    (closed.connections, closed.spin_ns) = (32, 0);
    closed.pace = Pace::Closed { requests: u64::MAX };
    let full = rig::run(cpus, closed)?;
    let full_cpu = full.load.generator_cpu_us.unwrap_or(0.0) / (full.took_ns as f64 / 1e3);
    let seen = server.stop()?;
    let server_cpu = seen.cpu_ns as f64 / full.took_ns as f64;
    let ceiling_rps = full.load.achieved_rps.unwrap_or(0.0);

    let (trips, _) = probe_trips(cpus, rig::always(OK), 1000, 1000)?;
    let mut late_ns: Vec<u64> = trips.iter().map(|trip| trip.late_ns).collect();
    let probe_late_us = us(quantile(&mut late_ns, 0.99));
    let half_rps = (ceiling_rps / 2.0) as u64;
    let mut half = rig::spec(half_rps.max(1), half_rps);
    half.connections = 32;
    let (Outcome { load, .. }, _) = rig::against(cpus, rig::always(OK), half)?;
    let late_us = load
        .lag_causes
        .generator_late
        .p99_us
        .unwrap_or(f64::INFINITY);
    let ok = full.load.ledger.completed == full.load.ledger.scheduled
        && load.ledger.completed == half_rps
        // As far as the machine lets it: what is late beside a probe that only spins is the engine's.
        && late_us <= 20.0 + 3.0 * probe_late_us;
    let what = format!(
        "{ceiling_rps:.0} requests/s (generator at {:.0} % of its CPU, null server at {:.0} %); at {half_rps}/s generator_late p99 {late_us:.1} us (probe at 1,000/s {probe_late_us:.1}), response p50 {:.0} us",
        full_cpu * 100.0,
        server_cpu * 100.0,
        load.response_us.p50.unwrap_or(f64::NAN)
    );
    Ok((judged(ok, what), ceiling_rps))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whenever requests arrive on a busy machine: the counts are exact.
    #[test]
    fn two_open_loops_in_turns_count_every_slot_in_its_block() {
        for side in in_turns(Cpus::choose(), &open()).unwrap() {
            assert!(side.kept_its_schedule(), "{:#?}", side.outcome.load);
        }
    }

    #[test]
    fn two_closed_loops_in_turns_are_served_from_each_slices_start_to_its_last_response() {
        for side in in_turns(Cpus::choose(), &closed()).unwrap() {
            assert!(side.kept_its_slices(), "{:#?}", side.outcome.load);
        }
    }

    #[test]
    fn a_request_in_anothers_slice_is_seen() {
        let slices = [0, 44].map(|ms| Slice {
            start_ns: ms * MS,
            length_ns: 20 * MS,
            gap_ns: 2 * MS,
        });
        let at = |ms: &[u64]| -> Vec<u64> { ms.iter().map(|ms| 7 + ms * MS).collect() };
        assert_eq!(outside(&at(&[0, 19, 21, 44, 65]), 7, &slices), 0);
        assert_eq!(outside(&at(&[0, 22, 43, 66]), 7, &slices), 3);
        assert_eq!(outside(&[6], 7, &slices), 1, "before the epoch");
        let last = last_by_slice(&at(&[0, 19, 21, 22, 43, 45]), 7, &slices);
        assert_eq!(last, [21 * MS, MS]);
        assert_eq!(last_by_slice(&[], 7, &slices), [0, 0]);
    }
}
