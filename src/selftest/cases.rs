//! Cases that count: what each slot must come to, exactly, whatever the machine's speed.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::io;

use super::rig::{self, Cpus, OK, Outcome};
use super::server::{Act, Behaviour, Request, Seen, Server};
use super::{Judged, judged};
use crate::load::Spec;
use crate::load::clock::SECOND_NS;
use crate::load::outcome::{Failure, Outcome as End};
use crate::record::schema::Ledger;

const MS: u64 = 1_000_000;
/// Requests of most cases, and how many of them there are in a second.
const SLOTS: u64 = 60;
const RATE: u64 = 400;

/// A server, a load, and what must come of it.
pub struct Case {
    /// What the server does, as the report names it.
    pub name: &'static str,
    /// The server.
    pub behaviour: fn() -> Behaviour,
    /// The load.
    pub spec: Spec,
    /// The failures that slots must end with; all other slots complete.
    pub failures: Vec<(Failure, u64)>,
    /// Fewest and most connections.
    pub connections: (u64, u64),
}

impl Case {
    fn new(name: &'static str, behaviour: fn() -> Behaviour) -> Self {
        Self {
            name,
            behaviour,
            spec: rig::spec(RATE, SLOTS),
            failures: vec![],
            connections: (1, u64::MAX),
        }
    }

    fn slots(mut self, rate_rps: u64, slots: u64) -> Self {
        let plain = rig::spec(rate_rps, slots);
        (self.spec.pace, self.spec.duration_ns) = (plain.pace, plain.duration_ns);
        self
    }

    /// Another right answer, or another method.
    fn expects(mut self, method: &str, status: u16, body: &str) -> Self {
        self.spec.variants = vec![rig::variant(method, body)];
        self.spec.variants[0].statuses = vec![status];
        self
    }

    fn all(self, failure: Failure) -> Self {
        let slots = self.spec.slots();
        self.some(failure, slots)
    }

    fn some(mut self, failure: Failure, count: u64) -> Self {
        self.failures.push((failure, count));
        self
    }

    fn ask(mut self, change: impl FnOnce(&mut Spec)) -> Self {
        change(&mut self.spec);
        self
    }

    fn connections(mut self, fewest: u64, most: u64) -> Self {
        self.connections = (fewest, most);
        self
    }

    /// Runs it against its server.
    pub fn run(&self, cpus: Cpus) -> io::Result<Judged> {
        self.run_against(cpus, (self.behaviour)())
    }

    /// Runs it against any server.
    pub fn run_against(&self, cpus: Cpus, behaviour: Behaviour) -> io::Result<Judged> {
        let (outcome, seen) = rig::against(cpus, behaviour, self.spec.clone())?;
        Ok(self.judge(&outcome, &seen))
    }

    fn judge(&self, outcome: &Outcome, seen: &Seen) -> Judged {
        let slots = self.spec.slots();
        let (mut expected, mut errors) = (
            Ledger {
                scheduled: slots,
                completed: slots,
                ..Ledger::default()
            },
            BTreeMap::new(),
        );
        for (failure, count) in &self.failures {
            expected.completed -= count;
            *match failure.outcome() {
                End::Completed => unreachable!("a failure completes nothing"),
                End::WrongResponse => &mut expected.wrong_response,
                End::TimedOut => &mut expected.timed_out,
                End::Failed => &mut expected.failed,
            } += count;
            errors.insert(failure.name().to_owned(), *count);
        }
        let load = &outcome.load;
        let (fewest, most) = self.connections;
        let connections = (fewest..=most).contains(&seen.connections);
        let recorded = load.response_us.count == expected.completed;
        let ok = load.ledger == expected && load.errors == errors && connections && recorded;
        let what = format!(
            "{}, {} connections",
            outcomes(&load.ledger, &load.errors),
            seen.connections
        );
        if ok {
            return judged(true, what);
        }
        let expected = outcomes(&expected, &errors);
        judged(
            false,
            format!("{what}; expected {expected}, {fewest} to {most} connections"),
        )
    }
}

/// A ledger and its errors in one line, without what is 0.
pub fn outcomes(ledger: &Ledger, errors: &BTreeMap<String, u64>) -> String {
    let parts = [
        (ledger.completed, "completed"),
        (ledger.wrong_response, "wrong"),
        (ledger.timed_out, "timed out"),
        (ledger.failed, "failed"),
        (ledger.unsent, "unsent"),
        (ledger.in_flight, "in flight"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<_> = parts
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let mut text = format!("{} slots: {}", ledger.scheduled, parts.join(", "));
    if !errors.is_empty() {
        let errors: Vec<_> = errors
            .iter()
            .map(|(what, count)| format!("{count} x {what}"))
            .collect();
        text += &format!(" ({})", errors.join(", "));
    }
    text
}

fn send(bytes: impl Into<Cow<'static, [u8]>>) -> Act {
    Act::Send(bytes.into())
}

/// The same acts for every request.
fn acts(acts: &'static [(&'static [u8], u64)], last: Option<Act>) -> Behaviour {
    Box::new(move |_, script| {
        for (bytes, pause_ns) in acts {
            script.push_back(send(*bytes));
            script.push_back(Act::Pause(*pause_ns));
        }
        script.extend(last.clone());
    })
}

/// Request `i` is answered in two pieces, cut after byte `i` of the whole.
fn cut(whole: &'static [u8]) -> Behaviour {
    Box::new(move |request, script| {
        let (first, rest) = whole.split_at(request.nth as usize % whole.len());
        script.extend([send(first), Act::Pause(MS / 5), send(rest)]);
    })
}

const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\ntRANSFER-eNCODING: chunked\r\n\r\n\
    1;name=value;other=\"quoted\"\r\no\r\n000001\r\nk\r\n0;last\r\nTrailer: x\r\nAnother: y\r\n\r\n";
const INTERIM: &[u8] =
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n\
    HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// The hostile list.
pub fn hostile() -> Vec<Case> {
    vec![
        Case::new("1xx before the final response", || cut(INTERIM)).slots(500, INTERIM.len() as u64),
        Case::new("HEAD with a Content-Length", || {
            rig::always(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n")
        })
        .expects("HEAD", 200, "")
        .connections(8, 8),
        Case::new("204 with a Content-Length", || {
            rig::always(b"HTTP/1.1 204 No Content\r\nContent-Length: 7\r\n\r\n")
        })
        .expects("GET", 204, "")
        .connections(8, 8),
        Case::new("304 with a Content-Length", || {
            rig::always(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n")
        })
        .expects("GET", 304, "")
        .connections(8, 8),
        Case::new("chunked, cut at every byte", || cut(CHUNKED))
            .slots(500, CHUNKED.len() as u64)
            .connections(8, 8),
        Case::new("no length, then close", || {
            acts(&[(b"HTTP/1.1 200 OK\r\n\r\no", MS), (b"k", 0)], Some(Act::Close))
        })
        .connections(SLOTS, SLOTS),
        Case::new("length 0", || {
            rig::always(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        })
        .expects("GET", 200, "")
        .connections(8, 8),
        Case::new("header names in any case", || {
            rig::always(b"HTTP/1.1 200 OK\r\ncOnTeNt-LeNgTh: 2\r\nCONNECTION: Keep-Alive\r\n\r\nok")
        })
        .connections(8, 8),
        Case::new("two responses in one segment", || {
            rig::always(
                b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            )
        })
        .all(Failure::MoreThanAnnounced),
        Case::new("a header that never ends", || {
            Box::new(|_, script| {
                script.push_back(send(b"HTTP/1.1 200 OK\r\nX: " as &[u8]));
                script.extend((0..20).map(|_| send(&[b'x'; 4096] as &[u8])));
            })
        })
        .all(Failure::HeadTooLong),
        Case::new("a header that drips", || {
            Box::new(|_, script| {
                for _ in 0..500 {
                    script.extend([send(b"X" as &[u8]), Act::Pause(MS)]);
                }
            })
        })
        .slots(RATE, 8)
        .ask(|spec| spec.timeout_ns = SECOND_NS / 10)
        // "X" is no beginning of HTTP/1.1: refused at the first byte, not waited for.
        .all(Failure::NotHttp),
        Case::new("a body that drips", || {
            Box::new(|_, script| {
                script.push_back(send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" as &[u8]));
                for _ in 0..500 {
                    script.extend([send(b"x" as &[u8]), Act::Pause(MS)]);
                }
            })
        })
        .slots(RATE, 8)
        .ask(|spec| spec.timeout_ns = SECOND_NS / 10)
        .all(Failure::Timeout),
        Case::new("a body shorter than announced", || {
            acts(&[(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok", 0)], Some(Act::Close))
        })
        .all(Failure::ClosedEarly),
        Case::new("a body longer than announced", || {
            rig::always(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokay")
        })
        .all(Failure::MoreThanAnnounced),
        Case::new("reset after the headers", || {
            acts(&[(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", MS)], Some(Act::Reset))
        })
        .all(Failure::Reset),
        Case::new("close instead of an answer", || {
            Box::new(|_, script| script.push_back(Act::Close))
        })
        .all(Failure::ClosedUnanswered),
        Case::new("close while idle", || {
            Box::new(|request, script| {
                script.push_back(send(OK));
                if request.nth % 5 == 4 {
                    script.push_back(Act::CloseIdle { fresh: false });
                }
            })
        })
        // Each time at least the connection that was just answered.
        .connections(SLOTS / 5, SLOTS),
        Case::new("Connection: close every time", || {
            acts(
                &[(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", 0)],
                Some(Act::Close),
            )
        })
        .connections(SLOTS, SLOTS),
        Case::new("close every time, unannounced", || acts(&[(OK, 0)], Some(Act::Close)))
            .connections(SLOTS, SLOTS),
        Case::new("close after 5", close_after_5)
            .ask(|spec| spec.connections = 1)
            .connections(SLOTS / 5, SLOTS / 5),
        Case::new("conflicting lengths", || {
            rig::always(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok")
        })
        .all(Failure::ConflictingLengths),
        Case::new("a length and chunked", || {
            rig::always(
                b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            )
        })
        .all(Failure::ConflictingLengths),
        Case::new("something else than HTTP", || rig::always(b"SSH-2.0-OpenSSH_9.2\r\n"))
            .all(Failure::NotHttp),
        Case::new("the nonce of the request before", lying_nonce)
            .expects("GET", 200, "{nonce}")
            .all(Failure::WrongBody),
        Case::new("the right nonce", true_nonce).expects("GET", 200, "{nonce}"),
        Case::new("every third answer a fast 500", || {
            Box::new(|request, script| {
                let failing = request.nth.is_multiple_of(3);
                let error = b"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nok";
                script.push_back(send(if failing { error as &[u8] } else { OK }));
            })
        })
        .some(Failure::WrongStatus, SLOTS / 3),
        Case::new("idle ones closed, 1 request/s, 10 connections", || {
            let idle = [Act::Pause(300 * MS), Act::CloseIdle { fresh: true }];
            Box::new(move |_, script| {
                script.push_back(send(OK));
                script.extend(idle.clone());
            })
        })
        .slots(1, 3)
        .ask(|spec| spec.connections = 10)
        .connections(12, 12),
        Case::new("1 request/s by 8 threads", || rig::always(OK))
            .slots(1, 3)
            .ask(|spec| spec.threads = 8),
        Case::new("333 requests/s", || rig::always(OK)).slots(333, 333),
        Case::new("7 requests/s by 3 threads", || rig::always(OK))
            .slots(7, 14)
            .ask(|spec| spec.threads = 3),
        Case::new("41 requests/s for a second, Poisson", || rig::always(OK))
            .slots(41, 41)
            .ask(|spec| {
                let arrivals = crate::load::Arrivals::Poisson;
                spec.pace = crate::load::Pace::Open { rate_rps: 41, arrivals };
            }),
    ]
}

fn close_after_5() -> Behaviour {
    Box::new(|request, script| {
        script.push_back(send(OK));
        if request.nth_of_connection == 4 {
            script.push_back(Act::Close);
        }
    })
}

fn echo(nonce: &[u8]) -> Act {
    let mut answer = b"HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n".to_vec();
    answer.extend_from_slice(nonce);
    send(answer)
}

fn true_nonce() -> Behaviour {
    Box::new(|request, script| script.push_back(echo(request.nonce())))
}

fn lying_nonce() -> Behaviour {
    let mut before = [b'0'; 16].to_vec();
    Box::new(move |request, script| {
        script.push_back(echo(&before));
        before = request.nonce().to_vec();
    })
}

/// A case with a judgement of its own.
pub type Named = (&'static str, fn(Cpus) -> io::Result<Judged>);

/// Cases whose ledger is exact, but not a list of failures.
pub fn others() -> Vec<Named> {
    vec![
        ("bytes left over", left_over),
        ("connection refused", refused),
        ("a server that dies mid-run", dies),
        ("1 % never answered", never_answers),
    ]
}

/// Bytes that come once the connection is idle again cost the connection, not a slot; those that a late
/// reader finds together with the answer make it wrong. Every slot has a connection of its own, and the
/// last answer waits until all of that was seen.
fn left_over(cpus: Cpus) -> io::Result<Judged> {
    let behaviour: Behaviour = Box::new(|request, script| match request.nth {
        23 => script.extend([Act::Pause(150 * MS), send(OK)]),
        _ => script.extend([send(OK), Act::Pause(20 * MS), send(b"?" as &[u8])]),
    });
    let mut spec = rig::spec(200, 24);
    spec.connections = 24;
    let (Outcome { load, .. }, seen) = rig::against(cpus, behaviour, spec)?;
    let ledger = &load.ledger;
    let only = BTreeMap::from([(Failure::MoreThanAnnounced.name().to_owned(), 23)]);
    let ok = ledger.balances()
        && ledger.completed + ledger.wrong_response == 24
        && ledger.completed > 0
        && load.errors == only
        && seen.connections == 24;
    Ok(judged(ok, outcomes(ledger, &load.errors)))
}

/// Connecting again and again would spin, and grow a list of errors.
fn refused(cpus: Cpus) -> io::Result<Judged> {
    let mut spec = rig::spec(1000, 500);
    // A port that nothing listens on any more.
    let server = Server::start(cpus, false, rig::always(OK))?;
    spec.target = server.address;
    server.stop()?;
    (spec.timeout_ns, spec.spin_ns) = (SECOND_NS / 2, 0);
    let Outcome { load, took_ns, .. } = rig::run(cpus, spec)?;
    let ledger = &load.ledger;
    let tries = load.errors.get("connection refused").copied().unwrap_or(0);
    let cpu = load.generator_cpu_us.unwrap_or(f64::MAX) / (took_ns as f64 / 1e3);
    let ended = ledger.failed + ledger.unsent == 500 && ledger.balances() && !load.valid;
    // All 8 connections at the start and at each of at most 5 back-offs of 250 ms.
    let few = (9..=48).contains(&tries) && load.errors.len() == 1;
    Ok(judged(
        ended && few && cpu < 0.5,
        format!(
            "{}, generator at {:.0} % of its CPU",
            outcomes(ledger, &load.errors),
            cpu * 100.0
        ),
    ))
}

/// The server answers 200 requests and is gone before the 201st.
fn dies(cpus: Cpus) -> io::Result<Judged> {
    let behaviour = |request: &Request<'_>, script: &mut VecDeque<Act>| {
        script.push_back(if request.nth < 200 {
            send(OK)
        } else {
            Act::Die
        });
    };
    let mut spec = rig::spec(1000, 600);
    spec.timeout_ns = SECOND_NS / 4;
    let (Outcome { load, took_ns, .. }, seen) = rig::against(cpus, Box::new(behaviour), spec)?;
    let ledger = &load.ledger;
    let tries: u64 = load.errors.values().sum();
    let ok = ledger.completed == 200
        && ledger.failed + ledger.unsent == 400
        && ledger.balances()
        && tries <= 40
        && load.errors.len() <= 4;
    let what = format!(
        "{}, ended after {:.2} s, {} requests seen",
        outcomes(ledger, &load.errors),
        took_ns as f64 / 1e9,
        seen.requests
    );
    Ok(judged(ok, what))
}

/// 11 of 1,050 are never answered: a timeout each, and what lies past 1,039 is not known.
fn never_answers(cpus: Cpus) -> io::Result<Judged> {
    let behaviour = |request: &Request<'_>, script: &mut VecDeque<Act>| {
        if !request.nth.is_multiple_of(100) {
            script.push_back(send(OK));
        }
    };
    let mut spec = rig::spec(1000, 1050);
    spec.connections = 32;
    let (Outcome { load, .. }, _) = rig::against(cpus, Box::new(behaviour), spec)?;
    let (ledger, response) = (&load.ledger, &load.response_us);
    let censored = ["p99", "mean", "max"].map(|q| load.nulls.get(&format!("response_us.{q}")));
    let ok = ledger.timed_out == 11
        && ledger.completed == 1039
        && ledger.balances()
        && response.p90.is_some()
        && censored
            .iter()
            .all(|why| why.is_some_and(|why| why == "censored"))
        && load.achieved_rps.is_some_and(|rate| rate < 1000.0);
    let what = format!(
        "{}, p90 {:.0} us, p99 {}",
        outcomes(ledger, &load.errors),
        response.p90.unwrap_or(f64::NAN),
        load.nulls
            .get("response_us.p99")
            .map_or("not censored", String::as_str)
    );
    Ok(judged(ok, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str) -> Case {
        let mut all = hostile().into_iter();
        all.find(|case| case.name == name)
            .expect("a case of that name")
    }

    #[test]
    fn every_hostile_server_is_survived_with_the_exact_ledger() {
        let cpus = Cpus::choose();
        for case in super::super::counted(cpus) {
            assert!(case.ok, "{}: {}", case.name, case.what);
        }
    }

    #[test]
    fn a_server_that_does_otherwise_fails_its_case() {
        let cpus = Cpus::choose();
        let seventh_is = |answer: &'static [u8]| -> Behaviour {
            Box::new(move |request, script| {
                script.push_back(send(if request.nth == 7 { answer } else { OK }));
            })
        };
        for (name, behaviour) in [
            (
                "header names in any case",
                seventh_is(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno"),
            ),
            (
                "333 requests/s",
                seventh_is(b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nok"),
            ),
            ("reset after the headers", rig::always(OK)),
            ("close after 5", rig::always(OK)),
            ("the nonce of the request before", true_nonce()),
            ("the right nonce", lying_nonce()),
            ("a body that drips", rig::always(OK)),
        ] {
            let judged = case(name).run_against(cpus, behaviour).unwrap();
            assert!(!judged.ok, "{name}: {}", judged.what);
            assert!(judged.what.contains("expected"), "{name}: {}", judged.what);
        }
    }
}
