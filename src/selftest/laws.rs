//! Cases that time: servers whose latency is known, a second in which nobody answers, a second in
//! which nobody asks.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use hdrhistogram::Histogram;
use rustix::process::{Pid, Signal, kill_process};

use super::probe::{Probe, Trip};
use super::rig::{self, Cpus, OK, Outcome};
use super::server::{Act, Behaviour, Seen, Server};
use super::{Judged, judged};
use crate::draw::Draw;
use crate::load::clock::SECOND_NS;
use crate::record::hlog;
use crate::record::schema::Load;
use crate::stats::quantile::us;

const MS: u64 = 1_000_000;
/// The rate of the stalls, and how long they are.
const STALL_RPS: u64 = 1000;
const STALL_NS: u64 = SECOND_NS;

/// A server's latency: `delay_ns`, for `per_10_000` of the requests.
pub struct Law {
    delay_ns: u64,
    per_10_000: u64,
    rate_rps: u64,
    slots: u64,
}

/// 1 ms always.
pub const CONSTANT: Law = Law {
    delay_ns: MS,
    per_10_000: 10_000,
    rate_rps: 1000,
    slots: 2000,
};
/// 10 ms with probability 2 %.
pub const SOMETIMES: Law = Law {
    delay_ns: 10 * MS,
    per_10_000: 200,
    rate_rps: 1000,
    slots: 3000,
};
/// 10 ms with probability 0.05 %.
pub const SELDOM: Law = Law {
    delay_ns: 10 * MS,
    per_10_000: 5,
    rate_rps: 5000,
    slots: 20_000,
};

/// Engine and probe take turns so often.
const ROUNDS: u64 = 8;

impl Law {
    /// Runs a load against a server of this law, in turn with a probe at the same pace against another.
    pub fn run(&self, cpus: Cpus) -> io::Result<Judged> {
        let server = Server::start(cpus, true, self.behaviour(1))?;
        let slots = self.slots / ROUNDS;
        let mut spec = rig::spec(self.rate_rps, slots);
        (spec.target, spec.connections) = (server.address, 32);
        let (mut response, mut completed) = (hlog::new_histogram(), 0);
        let mut trips = [hlog::new_histogram(), hlog::new_histogram()];
        for round in 0..ROUNDS {
            for trip_ns in self.round_trips(cpus, round, slots)? {
                trips[round as usize % 2].saturating_record(trip_ns);
            }
            let Outcome { load, clocks, .. } = rig::run(cpus, spec.clone())?;
            response.add(&clocks.response).map_err(io::Error::other)?;
            completed += load.ledger.completed;
        }
        let mut delays = hlog::new_histogram();
        for delay_ns in server.stop()?.delays_ns {
            delays.saturating_record(delay_ns);
        }
        let Judged { ok, what } = follows(&response, &delays, &trips);
        let all = completed == slots * ROUNDS;
        Ok(judged(
            ok && all,
            format!("{completed} of {} slots; {what}", slots * ROUNDS),
        ))
    }

    fn behaviour(&self, seed: u64) -> Behaviour {
        let (delay_ns, per_10_000) = (self.delay_ns, self.per_10_000);
        let mut draw = Draw::new("latency law", seed);
        Box::new(move |_, script| {
            if draw.below(10_000) < per_10_000 {
                script.push_back(Act::Pause(delay_ns));
            }
            script.push_back(Act::Send(OK.into()));
        })
    }

    /// What a probe's requests took beyond the delays that the server made: as long under way as the
    /// load's, so that what the machine does meanwhile to one it does to the other.
    fn round_trips(&self, cpus: Cpus, round: u64, slots: u64) -> io::Result<Vec<u64>> {
        let behaviour = self.behaviour(2 + round);
        // A single connection keeps up with less; for as long a time as the load.
        let mean_ns = (self.delay_ns * self.per_10_000 / 10_000).max(1);
        let rate_rps = self.rate_rps.min(2 * SECOND_NS / (5 * mean_ns));
        let slots = slots * rate_rps / self.rate_rps;
        let (trips, seen) = probe_trips(cpus, behaviour, rate_rps, slots)?;
        // The server's first request was the one with which the probe connected.
        let delays = seen.delays_ns.into_iter().skip(1);
        let beyond = |(trip, delay_ns): (Trip, u64)| trip.response_ns().saturating_sub(delay_ns);
        Ok(trips.into_iter().zip(delays).map(beyond).collect())
    }
}

/// A probe's trips, at the generator's place, to a server of its own; and what that saw.
pub fn probe_trips(
    cpus: Cpus,
    behaviour: Behaviour,
    rate_rps: u64,
    slots: u64,
) -> io::Result<(Vec<Trip>, Seen)> {
    let server = Server::start(cpus, true, behaviour)?;
    let address = server.address;
    let probing = std::thread::spawn(move || {
        cpus.be_generator();
        Probe::connect(address, "/")?.paced(rate_rps, slots)
    });
    let trips = probing.join();
    let seen = server.stop()?;
    let trips = trips.map_err(|_| io::Error::other("the probe's thread panicked"))?;
    Ok((trips?, seen))
}

/// Whether the response clock is the delays that the server made plus round trips of the probe: within
/// 2 % or 50 us at p50 and p90, within 5 % or 200 us in the tail. By how much the probe's odd rounds and
/// its even ones differ is the machine's unsteadiness, and granted on top.
fn follows(
    response: &Histogram<u64>,
    delays: &Histogram<u64>,
    trips: &[Histogram<u64>; 2],
) -> Judged {
    let law = trips.each_ref().map(|trips| sum(delays, trips));
    let fastest_ns = trips[0].min().min(trips[1].min());
    let (mut ok, mut what) = (true, vec![]);
    // At least 3 values lie past a rank that is looked at.
    let known = |q: f64| response.len() as f64 * (1.0 - q) >= 3.0;
    for q in [0.5, 0.9, 0.99, 0.999, 0.9998]
        .into_iter()
        .filter(|q| known(*q))
    {
        let [even_ns, odd_ns] = law.each_ref().map(|law| law.value_at_quantile(q));
        let expected_ns = even_ns.midpoint(odd_ns);
        let got_ns = response.value_at_quantile(q);
        let close_ns = if q < 0.95 {
            (expected_ns / 50).max(50_000)
        } else {
            (expected_ns / 20).max(200_000)
        };
        let unsteady_ns = even_ns.abs_diff(odd_ns);
        // The probe may have met what the load did not: too little is less than the fastest trip.
        let least_ns = expected_ns.min(delays.value_at_quantile(q) + fastest_ns);
        ok &= got_ns + close_ns >= least_ns && got_ns <= expected_ns + close_ns + unsteady_ns;
        what.push(format!(
            "p{} {:.0} us (law {:.0}, machine +-{:.0})",
            (q * 1e6).round() / 1e4,
            us(got_ns),
            us(expected_ns),
            us(unsteady_ns)
        ));
    }
    judged(ok, what.join(", "))
}

/// The distribution of the sum of two independent times.
fn sum(a: &Histogram<u64>, b: &Histogram<u64>) -> Histogram<u64> {
    let mut sum = hlog::new_histogram();
    for one in a.iter_recorded() {
        for other in b.iter_recorded() {
            let both_ns = one.value_iterated_to() + other.value_iterated_to();
            sum.saturating_record_n(both_ns, one.count_at_value() * other.count_at_value());
        }
    }
    sum
}

/// The server stands still for a second: the server's fault, a valid run.
pub fn server_stops(cpus: Cpus) -> io::Result<Judged> {
    let behaviour: Behaviour = Box::new(|request, script| {
        if request.nth == STALL_RPS {
            script.push_back(Act::Freeze(STALL_NS));
        }
        script.push_back(Act::Send(OK.into()));
    });
    let mut spec = rig::spec(STALL_RPS, 3 * STALL_RPS);
    (spec.connections, spec.timeout_ns) = (32, 5 * SECOND_NS);
    let (Outcome { load, clocks, .. }, _) = rig::against(cpus, behaviour, spec)?;
    let shape = linear(&clocks.response);
    let late_share = late_share(&load);
    let ok = shape.ok && load.valid && load.ledger.completed == 3 * STALL_RPS && late_share < 0.05;
    Ok(judged(ok, stalled(&load, &shape)))
}

/// The generator stands still for a second: the same shape, its own fault, an invalid run. A process of
/// its own is stopped by a signal, so that nothing in it can know.
pub fn generator_stops(cpus: Cpus, program: &Path) -> io::Result<Judged> {
    let server = Server::start(cpus, false, rig::always(OK))?;
    let log = std::env::temp_dir().join(format!("shootout-selftest-{}.hlog", std::process::id()));
    // A leftover of an earlier try; `load` overwrites nothing.
    let _ = std::fs::remove_file(&log);
    let mut command = Command::new(program);
    command
        .args([
            "load",
            &format!("http://{}/", server.address),
            "--json",
            "--quiet",
        ])
        .args([
            "--rate",
            &STALL_RPS.to_string(),
            "--duration",
            "3s",
            "--warmup",
            "0s",
        ])
        .arg("--hlog")
        .arg(&log)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if let Some(cpu) = cpus.generator() {
        command.args(["--cpus", &cpu.to_string()]);
    }
    let child = command.spawn()?;
    let pid = Pid::from_child(&child);
    std::thread::sleep(Duration::from_millis(1200));
    kill_process(pid, Signal::STOP)?;
    std::thread::sleep(Duration::from_nanos(STALL_NS));
    kill_process(pid, Signal::CONT)?;
    let output = child.wait_with_output()?;
    server.stop()?;
    let load: Load = serde_json::from_slice(&output.stdout)?;
    let text = std::fs::read_to_string(&log)?;
    std::fs::remove_file(&log)?;
    let totals = hlog::read_totals(&text).map_err(|e| io::Error::other(e.what))?;
    let shape = linear(&totals.clocks.response);
    let reasons = load.invalid_reasons.join("; ");
    let ok = shape.ok
        && !load.valid
        && reasons.contains("paused")
        && output.status.code() == Some(4)
        && load.ledger.completed == 3 * STALL_RPS
        && late_share(&load) > 0.9;
    Ok(judged(ok, format!("{}; {reasons}", stalled(&load, &shape))))
}

fn late_share(load: &Load) -> f64 {
    let causes = &load.lag_causes;
    let sum =
        causes.generator_late.sum_us + causes.no_free_connection.sum_us + causes.socket_full.sum_us;
    causes.generator_late.sum_us / sum.max(1.0)
}

fn stalled(load: &Load, shape: &Judged) -> String {
    format!(
        "{} of {} completed, {}, {:.1} % of the lag is generator_late, {}",
        load.ledger.completed,
        load.ledger.scheduled,
        shape.what,
        late_share(load) * 100.0,
        if load.valid { "valid" } else { "invalid" }
    )
}

/// Whether a stall's slots are spread linearly over 0 to its length, so many a second and none lost.
fn linear(response: &Histogram<u64>) -> Judged {
    let slots = STALL_RPS * STALL_NS / SECOND_NS;
    let (mut ok, mut what) = (true, vec![]);
    for percent in [2, 25, 50, 75, 95] {
        let over_ns = STALL_NS * percent / 100;
        let longer = response.count_between(over_ns, hlog::LONGEST_NS);
        let expected = slots * (100 - percent) / 100;
        // 4 % of the stall: the time in which its backlog is worked off.
        ok &= longer.abs_diff(expected) <= slots / 25;
        what.push(format!("{longer} over {} ms", over_ns / MS));
    }
    judged(ok, what.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(values: impl Iterator<Item = u64>) -> Histogram<u64> {
        let mut histogram = hlog::new_histogram();
        values.for_each(|value| histogram.record(value).unwrap());
        histogram
    }

    #[test]
    fn a_clock_that_is_off_does_not_follow_the_law() {
        let slow = |i: u64| if i.is_multiple_of(50) { 10 * MS } else { 0 };
        let delays = histogram((0..2000).map(slow));
        let trips = [500, 600].map(|more| histogram((0..100).map(|i| 30_000 + more + i)));
        let judge = |response: Histogram<u64>| follows(&response, &delays, &trips);
        for (off_ns, ok) in [(0, true), (45_000, true), (60_000, false), (200_000, false)] {
            let judged = judge(histogram((0..2000).map(|i| slow(i) + 30_500 + off_ns)));
            assert_eq!(judged.ok, ok, "{}", judged.what);
        }
        // A clock that starts late misses the fast ones' whole round trip.
        let late = judge(histogram(
            (0..2000).map(|i| slow(i).saturating_sub(MS) + 30_500),
        ));
        assert!(!late.ok, "{}", late.what);
        // Coordinated omission: the slow ones are missing, so that the tail is too good.
        let omitted = judge(histogram((0..2000).map(|i| slow(i) / 10 + 30_500)));
        assert!(!omitted.ok, "{}", omitted.what);
    }

    #[test]
    fn only_a_second_of_slots_has_the_shape_of_a_second() {
        let stall = |length: u64| {
            histogram((0..3000).map(move |i: u64| (length * MS).saturating_sub(i * MS) + 50_000))
        };
        assert!(linear(&stall(1000)).ok);
        assert!(!linear(&stall(900)).ok);
        assert!(!linear(&stall(1100)).ok);
        // One slow request per connection is what a closed loop would see.
        assert!(!linear(&histogram((0..32).map(|_| SECOND_NS))).ok);
    }
}
