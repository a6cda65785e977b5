//! Cases about limits: more offered than is served, slices that must be kept, and the generator's own
//! ceiling.

use std::io;

use super::cases::outcomes;
use super::laws::probe_trips;
use super::probe::quantile;
use super::rig::{self, Cpus, OK, Outcome};
use super::server::{Act, Behaviour, Server};
use super::{Judged, judged};
use crate::load::clock::{SECOND_NS, now_ns};
use crate::load::{Pace, Slice};
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

/// How long a turn is, the gap after it, and how many turns each load has.
const LENGTH_NS: u64 = 20 * MS;
const GAP_NS: u64 = 2 * MS;
const ROUNDS: u64 = 30;

/// Every other turn, from this one on.
fn turns(first: u64) -> Vec<Slice> {
    let slice = |round: u64| Slice {
        start_ns: (2 * round + first) * (LENGTH_NS + GAP_NS),
        length_ns: LENGTH_NS,
        gap_ns: GAP_NS,
    };
    (0..ROUNDS).map(slice).collect()
}

/// Two loads on one clock take turns in slices of 20 ms.
pub fn slices(cpus: Cpus) -> io::Result<Judged> {
    let rate_rps = 2000;
    let slots = rate_rps * ROUNDS * LENGTH_NS / SECOND_NS;
    let epoch_ns = now_ns() + 100 * MS;
    let side = |first: u64| {
        move || -> io::Result<_> {
            let server = Server::start(cpus, true, rig::always(OK))?;
            let mut spec = rig::spec(rate_rps, slots);
            (spec.target, spec.slices) = (server.address, Some(turns(first)));
            let schedule = spec.schedule();
            let outcome = rig::run_at(cpus, spec, Some(epoch_ns));
            Ok((outcome?, server.stop()?, schedule))
        }
    };
    let (a, b) = (std::thread::spawn(side(0)), std::thread::spawn(side(1)));
    let (mut ok, mut what) = (true, vec![]);
    for (first, side) in [a, b].into_iter().enumerate() {
        let joined = side
            .join()
            .map_err(|_| io::Error::other("a side panicked"))?;
        let (Outcome { load, .. }, seen, schedule) = joined?;
        let outside = outside(&seen.arrivals_ns, epoch_ns, &turns(first as u64));
        let slot_ns = |k: usize| schedule.as_ref().map_or(0, |s| s.slot_ns(k as u64));
        // Slots and requests are both in order.
        let (mut opening, mut others) = (vec![], vec![]);
        for (k, arrived_ns) in seen.arrivals_ns.iter().enumerate() {
            let late_ns = arrived_ns.saturating_sub(epoch_ns + slot_ns(k));
            if (k as u64).is_multiple_of(slots / ROUNDS) {
                opening.push(late_ns);
            } else {
                others.push(late_ns);
            }
        }
        let late = [&mut opening, &mut others].map(|late| quantile(late, 0.5));
        ok &= outside == 0
            && load.ledger.scheduled == slots
            && load.ledger.completed == slots
            && seen.requests == slots
            && late[0] <= 3 * late[1] + 100_000;
        what.push(format!(
            "{} of {slots} completed, {outside} outside, {} spilled, arrival after the slot p50 {:.0} us (first of a slice {:.0})",
            load.ledger.completed,
            load.spilled,
            us(late[1]),
            us(late[0])
        ));
    }
    Ok(judged(ok, what.join("; ")))
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
    }
}
