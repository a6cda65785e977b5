//! What every case needs: places for both sides, a plain load to start from, and a way to run it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rustix::thread::{CpuSet, sched_getaffinity};

use super::server::{Act, Behaviour, Seen, Server};
use crate::affinity;
use crate::load::clock::{SECOND_NS, now_ns};
use crate::load::{self, Arrivals, Live, Measured, Pace, Spec, Template, Variant, request};
use crate::record::derive;
use crate::record::hlog::Clocks;
use crate::record::schema::Load;

/// The answer that most cases take for right.
pub const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
/// The schedule begins so long after everything is ready.
const LEAD_NS: u64 = 5_000_000;

/// Where the generator and the servers run: apart, where there are two CPUs.
#[derive(Clone, Copy, Debug)]
pub struct Cpus {
    apart: Option<(u32, u32)>,
}

impl Cpus {
    /// The last CPU for the generator and the first for the servers, of those that we may use.
    pub fn choose() -> Self {
        let own = sched_getaffinity(None).ok();
        let may_use = |cpu: &u32| own.is_some_and(|set| set.is_set(*cpu as usize));
        let mut cpus = (0..CpuSet::MAX_CPU as u32).filter(may_use);
        let first = cpus.next();
        Self {
            apart: cpus.next_back().zip(first),
        }
    }

    /// The CPU of the generator; `None` where there is only one.
    pub fn generator(self) -> Option<u32> {
        self.apart.map(|(generator, _)| generator)
    }

    /// Makes the calling thread a generator.
    pub fn be_generator(self) {
        keep_to(self.generator());
    }

    /// Makes the calling thread a server.
    pub fn be_server(self) {
        keep_to(self.apart.map(|(_, server)| server));
    }
}

fn keep_to(cpu: Option<u32>) {
    // A machine that refuses shows it in the figures; no count depends on it.
    let _ = cpu.map(|cpu| affinity::keep_to([cpu]));
}

/// What a load came to: the figures as they are published, and the clocks behind them.
pub struct Outcome {
    /// Figures, derived.
    pub load: Load,
    /// Histograms.
    pub clocks: Clocks,
    /// How long it took, from the epoch to the end of the drain.
    pub took_ns: u64,
}

/// `slots` requests of `GET /{nonce}`, at so many per second over 8 connections, each right with
/// status 200 and the body `ok`. The target is filled in when it runs.
pub fn spec(rate_rps: u64, slots: u64) -> Spec {
    Spec {
        target: SocketAddr::from(([127, 0, 0, 1], 0)),
        variants: vec![variant("GET", "ok")],
        pace: Pace::Open {
            rate_rps,
            arrivals: Arrivals::Uniform,
        },
        // Rounded up: the slots are exactly so many.
        duration_ns: (slots * SECOND_NS).div_ceil(rate_rps),
        slices: None,
        blocks_ns: vec![],
        connections: 8,
        threads: 1,
        timeout_ns: SECOND_NS,
        spin_ns: 60_000,
        keep: vec![],
        seed: 1,
    }
}

/// A request for `/{nonce}` and its right body.
pub fn variant(method: &str, body: &str) -> Variant {
    let text = request::bytes(method, "/{nonce}", "127.0.0.1", &[], None);
    Variant {
        weight: 1,
        request: Template::parse(&text),
        bodiless: method == "HEAD",
        idempotent: request::is_idempotent(method),
        statuses: vec![200],
        body: Some(Template::parse(body.as_bytes())),
    }
}

/// Runs a load on a thread of its own, at the generator's place.
pub fn run(cpus: Cpus, spec: Spec) -> io::Result<Outcome> {
    run_at(cpus, spec, None)
}

/// The same from an epoch that is given.
pub fn run_at(cpus: Cpus, spec: Spec, epoch_ns: Option<u64>) -> io::Result<Outcome> {
    let work = move || {
        cpus.be_generator();
        let armed = load::arm(spec, &Arc::new(Live::default()))?;
        let epoch_ns = epoch_ns.unwrap_or_else(|| now_ns() + LEAD_NS);
        let Measured { mut load, hlog, .. } = armed.run(epoch_ns)?;
        let took_ns = now_ns() - epoch_ns;
        let clocks = hlog.clocks();
        derive::load(&mut load, &clocks);
        Ok(Outcome {
            load,
            clocks,
            took_ns,
        })
    };
    let ended = std::thread::spawn(work).join();
    ended.map_err(|_| io::Error::other("the load's thread panicked"))?
}

/// Starts a server, runs a load against it, ends the server.
pub fn against(cpus: Cpus, behaviour: Behaviour, mut spec: Spec) -> io::Result<(Outcome, Seen)> {
    let server = Server::start(cpus, true, behaviour)?;
    spec.target = server.address;
    let outcome = run(cpus, spec);
    let seen = server.stop()?;
    Ok((outcome?, seen))
}

/// A server that answers every request with the same bytes, at once.
pub fn always(bytes: &'static [u8]) -> Behaviour {
    Box::new(move |_, script| script.push_back(Act::Send(bytes.into())))
}
