//! `cargo bench --bench load`: the engine against wrk, h2load and a bare probe, in turn, in one run.
//! README.md says how to read it.

use std::io;

use shootout::record::schema::Load;
use shootout::selftest::probe::{Probe, Trip, quantile, responses_ns};
use shootout::selftest::rig::{self, Cpus};
use shootout::selftest::server::Server;

mod figures;
mod peers;

use figures::Figures;
use peers::{Closed, Nginx, SECONDS};

fn main() -> io::Result<()> {
    let rounds = rounds()?;
    let cpus = Cpus::choose();
    let nginx = Nginx::start(cpus)
        .map_err(|e| io::Error::other(format!("nginx: {e}; install Debian's package nginx")))?;
    let null = Server::start(cpus, false, rig::always(rig::OK))?;
    // Whatever starts from here on is a generator.
    cpus.be_generator();
    let mut figures = Figures::default();
    for round in 0..rounds {
        eprintln!("round {} of {rounds}", round + 1);
        let capacity_rps = closed_loop(&mut figures, &nginx, round)?;
        for rate_rps in [100, 1000, 4000, 20_000] {
            paced(&mut figures, &nginx, rate_rps)?;
        }
        loaded(&mut figures, "nginx", nginx.address, capacity_rps)?;
        let (full, _) = peers::engine(&url(null.address), CLOSED)?;
        let ceiling_rps = full.achieved_rps.unwrap_or(0.0);
        figures.note("(d) ceiling, requests/s", ceiling_rps);
        loaded(&mut figures, "null server", null.address, ceiling_rps)?;
    }
    drop(nginx);
    null.stop()?;
    print!("{}", figures.table(rounds));
    Ok(())
}

/// `--rounds N`; cargo adds `--bench`.
fn rounds() -> io::Result<usize> {
    let wrong = || io::Error::other("expected --rounds N, with N at least 1");
    let mut rounds = 11;
    let mut arguments = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench");
    while let Some(argument) = arguments.next() {
        let value = match argument.strip_prefix("--rounds") {
            Some("") => arguments.next(),
            Some(rest) => rest.strip_prefix('=').map(str::to_owned),
            None => None,
        };
        rounds = value
            .and_then(|value| value.parse().ok())
            .ok_or_else(wrong)?;
    }
    if rounds == 0 {
        Err(wrong())
    } else {
        Ok(rounds)
    }
}

fn url(address: std::net::SocketAddr) -> String {
    format!("http://{address}/")
}

/// A closed loop without spinning, as the peers have it.
const CLOSED: &[&str] = &[
    "--closed",
    "--requests=1000000000",
    "--duration=1s",
    "--warmup=0s",
    "--spin=0us",
];

/// (a) Who gets the most out of one CPU; the order changes from round to round. Gives the engine's rate.
fn closed_loop(figures: &mut Figures, nginx: &Nginx, round: usize) -> io::Result<f64> {
    let url = url(nginx.address);
    let (mut peers, mut own) = (vec![], None);
    for turn in 0..3 {
        match (turn + round) % 3 {
            0 => peers.push(("wrk", peers::wrk(&url).map_err(|e| missing(e, "wrk"))?)),
            1 => peers.push((
                "h2load",
                peers::h2load(&url).map_err(|e| missing(e, "nghttp2-client"))?,
            )),
            _ => own = Some(peers::engine(&url, CLOSED)?),
        }
    }
    let (load, cpu_s) = own.expect("the engine had its turn");
    let completed = load.ledger.completed as f64;
    let rps = load.achieved_rps.unwrap_or(0.0);
    let thread_s = load.generator_cpu_us.unwrap_or(f64::NAN) / 1e6;
    peers.sort_by_key(|(name, _)| *name);
    for (name, Closed { rps, .. }) in &peers {
        figures.note(&format!("(a) {name}, requests/s"), *rps);
    }
    figures.note("(a) engine, requests/s", rps);
    let best = |figure: fn(&Closed) -> f64| {
        peers
            .iter()
            .map(|(_, peer)| figure(peer))
            .fold(f64::NAN, f64::max)
    };
    figures.at_least(
        "(a) throughput / the better peer's",
        0.97,
        rps / best(|peer| peer.rps),
    );
    let best_per_cpu_s = best(|peer| peer.per_cpu_s);
    figures.note(
        "(a) the better peer, requests per CPU-second",
        best_per_cpu_s,
    );
    figures.at_least(
        "(a) per CPU-second of the load's thread / the better peer's",
        1.0,
        completed / thread_s / best_per_cpu_s,
    );
    figures.note(
        "(a) per CPU-second of the whole process / the better peer's",
        completed / cpu_s / best_per_cpu_s,
    );
    Ok(rps)
}

fn missing(error: io::Error, package: &str) -> io::Error {
    io::Error::other(format!("{error}; install Debian's package {package}"))
}

/// (b), (c) The engine between two halves of the probe, all at one pace.
fn paced(figures: &mut Figures, nginx: &Nginx, rate_rps: u64) -> io::Result<()> {
    let mut probe = Probe::connect(nginx.address, "/")?;
    let half = rate_rps * SECONDS / 2;
    let mut trips = probe.paced(rate_rps, half)?;
    let load = open(figures, &url(nginx.address), rate_rps)?;
    // The first one finds a connection that idled.
    probe.paced(rate_rps, 1)?;
    trips.extend(probe.paced(rate_rps, half)?);

    let of = |figure: fn(Trip) -> u64, q: f64| {
        let mut values: Vec<u64> = trips.iter().copied().map(figure).collect();
        quantile(&mut values, q) as f64 / 1e3
    };
    let name = |what: &str| format!("{what} at {rate_rps}/s");
    let us = |figure: Option<f64>| figure.unwrap_or(f64::NAN);
    if matches!(rate_rps, 1000 | 20_000) {
        let mut response_ns = responses_ns(&trips, rate_rps);
        let [p50, p99] = [0.5, 0.99].map(|q| quantile(&mut response_ns, q) as f64 / 1e3);
        figures.note(&name("(b) probe's response p50, us"), p50);
        figures.at_most(
            &name("(b) response p50 / probe's"),
            1.25,
            us(load.response_us.p50) / p50,
        );
        figures.note(&name("(b) probe's response p99, us"), p99);
        figures.at_most(
            &name("(b) response p99 / probe's"),
            2.0,
            us(load.response_us.p99) / p99,
        );
        let late = load.lag_causes.generator_late.p99_us;
        figures.at_most(&name("(b) generator_late p99, us"), 20.0, us(late));
        let probe_late = of(|trip| trip.late_ns, 0.99);
        figures.note(&name("(b) probe's lateness p99, us"), probe_late);
    }
    if rate_rps <= 4000 {
        let p50 = of(|trip| trip.round_trip_ns, 0.5);
        figures.note(&name("(c) probe's round trip p50, us"), p50);
        figures.at_most(
            &name("(c) service p50 / probe's"),
            1.25,
            us(load.service_us.p50) / p50,
        );
    }
    Ok(())
}

fn open(figures: &mut Figures, url: &str, rate_rps: u64) -> io::Result<Load> {
    let rate = format!("--rate={rate_rps}");
    let (load, _) = peers::engine(url, &[&rate, "--duration=1s", "--warmup=200ms"])?;
    figures.note(
        "(e) an open-loop run called itself invalid: 1, valid: 0",
        f64::from(u8::from(!load.valid)),
    );
    Ok(load)
}

/// (d) At 80 % of what the closed loop held, over the round trip of one connection alone.
fn loaded(
    figures: &mut Figures,
    name: &str,
    address: std::net::SocketAddr,
    capacity_rps: f64,
) -> io::Result<()> {
    let mut trips = Probe::connect(address, "/")?.back_to_back(5000)?;
    let mut trips: Vec<u64> = trips.drain(..).map(|trip| trip.round_trip_ns).collect();
    let round_trip_us = quantile(&mut trips, 0.5) as f64 / 1e3;
    let load = open(figures, &url(address), (0.8 * capacity_rps) as u64)?;
    let p50 = load.response_us.p50.unwrap_or(f64::NAN);
    let late = load.lag_causes.generator_late.p99_us.unwrap_or(f64::NAN);
    figures.note(
        &format!("(d) {name}: one connection's round trip p50, us"),
        round_trip_us,
    );
    figures.at_most(
        &format!("(d) {name}: p50 at 80 % / that round trip"),
        3.0,
        p50 / round_trip_us,
    );
    figures.note(&format!("(d) {name}: generator_late p99 at 80 %, us"), late);
    Ok(())
}
