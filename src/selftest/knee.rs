//! A search for the rate that a server holds, where that rate is known: the server takes the same time for
//! each request and serves one after the other, and its closed loop says how many that makes.

use std::io;

use super::rig::{self, Cpus, OK, Outcome};
use super::server::{Act, Behaviour, Server};
use super::{Judged, judged};
use crate::load::{Pace, Spec};
use crate::stats::sustain::ladder::{rungs, stride};
use crate::stats::sustain::{Climb, Told};

/// What each request takes the server.
const SERVICE_NS: u64 = 100_000;
/// Slots of a trial.
const SLOTS: u64 = 1200;
/// A rate is held with a p90 up to this: past the knee a backlog of so long builds up within a trial. What a
/// busy machine does to a trial now and then is not in it, as it would be in a p99.
const P90_US: f64 = 5000.0;
/// How far the search may be from the closed loop, as a share.
const NEAR: f64 = 0.15;

/// The rate that a search finds, against the closed loop's of the same server in the same minute.
pub fn sustain(cpus: Cpus) -> io::Result<Judged> {
    let server = Server::start(cpus, false, serial())?;
    let load = |mut spec: Spec| {
        spec.target = server.address;
        rig::run(cpus, spec)
    };
    let found = search(&load);
    server.stop()?;
    let Found {
        capacity_rps,
        low,
        high,
        trials,
    } = found?;
    let knee = low
        .zip(high)
        .map(|(low, high)| ((low * high) as f64).sqrt());
    let ratio = knee.map_or(0.0, |knee| knee / capacity_rps);
    let rate = |rate: Option<u64>| rate.map_or("-".to_owned(), |rate| rate.to_string());
    let what = format!(
        "held {}/s and not {}/s after {trials} trials, {ratio:.2} x the closed loop's {capacity_rps:.0}/s",
        rate(low),
        rate(high)
    );
    Ok(judged((ratio - 1.0).abs() <= NEAR, what))
}

struct Found {
    capacity_rps: f64,
    low: Option<u64>,
    high: Option<u64>,
    trials: u32,
}

fn search(load: &impl Fn(Spec) -> io::Result<Outcome>) -> io::Result<Found> {
    let mut closed = rig::spec(1000, SLOTS);
    closed.pace = Pace::Closed {
        requests: 2 * SLOTS,
    };
    let capacity_rps = load(closed)?.load.achieved_rps.unwrap_or(0.0);
    let rungs = rungs(
        (capacity_rps / 3.0) as u64 + 1,
        (capacity_rps * 2.0) as u64 + 2,
        1.05,
    );
    let mut climb = Climb::new(rungs.len(), stride(1.5, 1.05), 3);
    let mut trials = 0;
    while let Some(rung) = climb.next() {
        climb.count(rung, told(&load(rig::spec(rungs[rung], SLOTS))?));
        trials += 1;
    }
    let (low, high) = climb.interval();
    let rate = |rung: Option<usize>| rung.map(|rung| rungs[rung]);
    Ok(Found {
        capacity_rps,
        low: rate(low),
        high: rate(high),
        trials,
    })
}

/// Whether the generator kept time is another case's question: here, its lateness is part of the response.
fn told(outcome: &Outcome) -> Told {
    match outcome.load.response_us.p90 {
        Some(p90) if p90 <= P90_US => Told::Held,
        _ => Told::NotHeld,
    }
}

/// The whole server stands still for each request: no other is served meanwhile.
fn serial() -> Behaviour {
    Box::new(|_, script| script.extend([Act::Freeze(SERVICE_NS), Act::Send(OK.into())]))
}
