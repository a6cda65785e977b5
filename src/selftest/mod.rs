//! Is the instrument true here: the engine against built-in servers of known behaviour, case by case.
//!
//! Cases that count are exact. Cases that time are judged by ratios within the run, and tried again
//! when a busy machine may have spoilt them; how often is said.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;

#[cfg(test)]
mod any_order;
pub mod cases;
pub mod knee;
pub mod laws;
pub mod limits;
mod others;
pub mod probe;
pub mod rig;
pub mod server;

use others::Others;
use rig::Cpus;

/// A timing case is tried at most so often,
const TRIES: u32 = 3;
/// and no try begins once all tries again took so long: the whole stays under a minute.
const SPARE: Duration = Duration::from_secs(12);
/// Cases that count may share the machine.
const AT_ONCE: usize = 4;

/// What `selftest --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Whether every case is.
    pub ok: bool,
    /// Requests per second that this generator can hold here, in a closed loop against a server that
    /// does nothing; null where that could not be measured.
    pub ceiling_rps: Option<f64>,
    /// One after the other.
    pub cases: Vec<Case>,
}

/// One case's result.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// What was tried.
    pub name: String,
    /// Whether the engine did as it must.
    pub ok: bool,
    /// What it did, in numbers.
    pub what: String,
}

/// A judgement, and the numbers that it rests on.
pub struct Judged {
    /// Whether the engine did as it must.
    pub ok: bool,
    /// What it did.
    pub what: String,
}

fn judged(ok: bool, what: String) -> Judged {
    Judged { ok, what }
}

fn case(name: &str, result: io::Result<Judged>) -> Case {
    let Judged { ok, what } = result.unwrap_or_else(|e| judged(false, format!("broke off: {e}")));
    let name = name.to_owned();
    Case { name, ok, what }
}

/// All cases that count, a few at a time.
pub fn counted(cpus: Cpus) -> Vec<Case> {
    let (hostile, others) = (cases::hostile(), cases::others());
    let mut work: Vec<(usize, Box<dyn FnOnce() -> Case + Send>)> = vec![];
    for one in hostile {
        work.push((work.len(), Box::new(move || case(one.name, one.run(cpus)))));
    }
    for (name, run) in others {
        work.push((work.len(), Box::new(move || case(name, run(cpus)))));
    }
    // The long ones are last in the list and first to start.
    let queue = std::sync::Mutex::new(work);
    let mut done = std::thread::scope(|scope| {
        let worker = || {
            let mut done = vec![];
            loop {
                let next = queue.lock().expect("no worker panics with the lock").pop();
                match next {
                    Some((index, run)) => done.push((index, run())),
                    None => return done,
                }
            }
        };
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(worker)).collect();
        let joined = workers
            .into_iter()
            .map(|worker| worker.join().expect("no case panics"));
        joined.flatten().collect::<Vec<_>>()
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, case)| case).collect()
}

/// Runs all cases; `program` is this program, of which one case starts a child. `show` is told what
/// goes on.
pub fn run(program: &Path, show: impl Fn(&str)) -> Report {
    let (mut spent, cpus) = (Duration::ZERO, Cpus::choose());
    show("servers that misbehave");
    let mut cases = counted(cpus);
    let mut ceiling_rps = None;
    let mut timed = |name: &str, run: &mut dyn FnMut() -> io::Result<Judged>| {
        show(name);
        cases.push(retried(name, &mut spent, run));
    };
    timed("latency: 1 ms always", &mut || laws::CONSTANT.run(cpus));
    timed("latency: 10 ms in 2 %", &mut || laws::SOMETIMES.run(cpus));
    timed("latency: 10 ms in 0.05 %", &mut || laws::SELDOM.run(cpus));
    timed("the server stops for 1 s", &mut || laws::server_stops(cpus));
    timed("the generator stops for 1 s", &mut || {
        laws::generator_stops(cpus, program)
    });
    timed("twice the capacity offered", &mut || limits::overload(cpus));
    timed("the rate that a server holds is found", &mut || {
        knee::sustain(cpus)
    });
    timed("two loads take turns in slices", &mut || {
        limits::slices(cpus)
    });
    timed("two closed loops take turns in slices", &mut || {
        limits::closed_slices(cpus)
    });
    timed("ceiling, and punctual at half of it", &mut || {
        let (judged, rps) = limits::ceiling(cpus)?;
        ceiling_rps = Some(rps.max(ceiling_rps.unwrap_or(0.0)));
        Ok(judged)
    });
    Report {
        ok: cases.iter().all(|case| case.ok),
        ceiling_rps,
        cases,
    }
}

/// A timing case, tried again while a busy machine may be the reason.
fn retried(name: &str, spent: &mut Duration, run: &mut dyn FnMut() -> io::Result<Judged>) -> Case {
    let mut others = Others::read();
    let mut result = case(name, run());
    let mut tries = 1;
    while !result.ok && tries < TRIES && *spent < SPARE {
        let started = Instant::now();
        others = Others::read();
        result = case(name, run());
        *spent += started.elapsed();
        tries += 1;
    }
    if let Some(share) = others.share().filter(|_| !result.ok) {
        result.what += &format!("; others had {:.0} % of all CPUs", share * 100.0);
    }
    if tries > 1 {
        result.what += &format!(" (try {tries})");
    }
    result
}
