//! `shootout upstream`: the service that a target of the workload `upstream` calls. It answers every
//! item after the same time, and says how well it kept that time and what CPU it took.
//!
//! One thread with waits to the nanosecond: since every answer is due equally long after its
//! request, the queue of answers is in order of time by itself.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;

use hdrhistogram::Histogram;

use crate::error::{Error, Result};
use crate::load::clock::{SECOND_NS, now_ns, sharpen_timers, thread_cpu_ns};
use crate::load::poller::{Interest, Poller};
use crate::record::hlog::new_histogram;
use crate::record::schema::{Dependency, Lateness};
use crate::stats::quantile;

/// Where it listens on 127.0.0.1.
pub const PORT: u16 = 9000;
/// The path that gives its figures since they were asked for last.
pub const FIGURES: &str = "/figures";
/// From a request's last byte to the answer's first.
const DELAY_NS: u64 = 5_000_000;
/// An item whose name begins so is answered with 500: targets must not pass that on.
const FAILS: &str = "fail-";
/// A request longer than this is no request of a target's.
const REQUEST_MAX: usize = 16 * 1024;
/// The listener's token; connections follow.
const LISTENER: usize = 0;

/// Listens and serves until it is killed.
pub fn serve() -> Result<()> {
    let failed = |e: io::Error| Error::machine(format!("the upstream cannot serve: {e}"));
    let listener = TcpListener::bind(("127.0.0.1", PORT)).map_err(failed)?;
    Server::new(listener).and_then(Server::run).map_err(failed)
}

struct Server {
    listener: TcpListener,
    poller: Poller,
    connections: Vec<Option<Connection>>,
    /// Counts connections, so that an answer never goes to a later one in the same place.
    serial: u64,
    due: VecDeque<Due>,
    figures: Figures,
}

struct Connection {
    stream: TcpStream,
    serial: u64,
    received: Vec<u8>,
    /// Whether an answer is due; what comes meanwhile waits.
    busy: bool,
}

/// An answer that waits for its time.
struct Due {
    at_ns: u64,
    connection: usize,
    serial: u64,
    answer: Vec<u8>,
    close: bool,
}

struct Figures {
    late: Histogram<u64>,
    requests: u64,
    cpu_before_ns: u64,
}

impl Server {
    fn new(listener: TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let poller = Poller::new()?;
        poller.add(listener.as_fd(), LISTENER, Interest::Read)?;
        Ok(Self {
            listener,
            poller,
            connections: Vec::new(),
            serial: 0,
            due: VecDeque::new(),
            figures: Figures::new(),
        })
    }

    fn run(mut self) -> io::Result<()> {
        sharpen_timers();
        self.figures = Figures::new();
        loop {
            self.answer_due();
            let next = self.due.front().map(|due| due.at_ns);
            let wait = next.map_or(SECOND_NS, |at| at.saturating_sub(now_ns()));
            let events = self.poller.wait(wait)?;
            let came_ns = now_ns();
            for index in 0..events {
                match self.poller.event(index).0 {
                    LISTENER => self.accept(),
                    token => self.receive(token - 1, came_ns),
                }
            }
        }
    }

    fn accept(&mut self) {
        // A connection that cannot be taken is the client's to notice.
        while let Ok((stream, _)) = self.listener.accept() {
            let free = self.connections.iter().position(Option::is_none);
            let place = free.unwrap_or(self.connections.len());
            let ready = stream.set_nonblocking(true).is_ok()
                && stream.set_nodelay(true).is_ok()
                && self
                    .poller
                    .add(stream.as_fd(), place + 1, Interest::Read)
                    .is_ok();
            if !ready {
                continue;
            }
            self.serial += 1;
            let connection = Some(Connection {
                stream,
                serial: self.serial,
                received: Vec::new(),
                busy: false,
            });
            match free {
                Some(place) => self.connections[place] = connection,
                None => self.connections.push(connection),
            }
        }
    }

    fn receive(&mut self, place: usize, came_ns: u64) {
        let Some(connection) = &mut self.connections[place] else {
            return;
        };
        let mut buffer = [0; 4096];
        loop {
            match connection.stream.read(&mut buffer) {
                Ok(0) => return self.connections[place] = None,
                Ok(length) => connection.received.extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return self.connections[place] = None,
            }
            if connection.received.len() > REQUEST_MAX {
                return self.connections[place] = None;
            }
        }
        self.take_request(place, came_ns);
    }

    /// Takes the next whole request of a connection, if there is one and none is being answered.
    fn take_request(&mut self, place: usize, came_ns: u64) {
        let Some(connection) = &mut self.connections[place] else {
            return;
        };
        if connection.busy {
            return;
        }
        match Request::take(&mut connection.received) {
            Taken::Whole(request) => {
                connection.busy = true;
                let serial = connection.serial;
                let (answer, waits) = self.figures.answer(&request.path);
                let due = Due {
                    at_ns: came_ns + if waits { DELAY_NS } else { 0 },
                    connection: place,
                    serial,
                    answer,
                    close: request.close,
                };
                if waits {
                    self.due.push_back(due);
                } else {
                    self.send(due);
                }
            }
            Taken::Part => {}
            Taken::Nonsense => self.connections[place] = None,
        }
    }

    fn answer_due(&mut self) {
        loop {
            let now = now_ns();
            match self.due.front() {
                Some(next) if next.at_ns <= now => {}
                _ => return,
            }
            let Some(due) = self.due.pop_front() else {
                return;
            };
            let late_ns = now - due.at_ns;
            self.figures.requests += 1;
            self.figures.late.saturating_record(late_ns);
            self.send(due);
        }
    }

    fn send(&mut self, due: Due) {
        let place = due.connection;
        let alive = |own: &&mut Connection| own.serial == due.serial;
        let Some(connection) = self.connections[place].as_mut().filter(alive) else {
            return;
        };
        connection.busy = false;
        // An answer fits into any socket whose other end reads.
        let sent = connection.stream.write_all(&due.answer);
        if sent.is_err() || due.close {
            self.connections[place] = None;
            return;
        }
        self.take_request(place, now_ns());
    }
}

struct Request {
    path: String,
    close: bool,
}

enum Taken {
    Whole(Request),
    Part,
    Nonsense,
}

impl Request {
    /// Cuts a request off the bytes that have come. None has a body.
    fn take(received: &mut Vec<u8>) -> Taken {
        let mut fields = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut fields);
        let (length, path) = match (request.parse(received), request.path) {
            (Ok(httparse::Status::Complete(length)), Some(path)) => (length, path.to_owned()),
            (Ok(httparse::Status::Partial), _) => return Taken::Part,
            _ => return Taken::Nonsense,
        };
        let says = |name: &str, word: &str| {
            request.headers.iter().any(|field| {
                field.name.eq_ignore_ascii_case(name)
                    && field.value.eq_ignore_ascii_case(word.as_bytes())
            })
        };
        let close = says("connection", "close");
        let body = request.headers.iter().any(|field| {
            ["content-length", "transfer-encoding"]
                .iter()
                .any(|name| field.name.eq_ignore_ascii_case(name))
        });
        if request.method != Some("GET") || (body && !says("content-length", "0")) {
            return Taken::Nonsense;
        }
        received.drain(..length);
        Taken::Whole(Self { path, close })
    }
}

impl Figures {
    fn new() -> Self {
        Self {
            late: new_histogram(),
            requests: 0,
            cpu_before_ns: thread_cpu_ns(),
        }
    }

    /// A path's answer, and whether it waits.
    fn answer(&mut self, path: &str) -> (Vec<u8>, bool) {
        let item = path.strip_prefix("/item/").and_then(decoded);
        match item {
            Some(item) if item.starts_with(FAILS) => (response(500, "{}"), true),
            Some(item) => {
                let body = serde_json::json!({ "item": item, "stock": 7 });
                (response(200, &body.to_string()), true)
            }
            None if path == FIGURES => {
                let figures = std::mem::replace(self, Self::new()).document();
                let body = serde_json::to_string(&figures).unwrap_or_default();
                (response(200, &body), false)
            }
            None => (response(404, "{}"), false),
        }
    }

    fn document(&self) -> Dependency {
        let us = |ns: f64| ns / 1e3;
        let some = !self.late.is_empty();
        let enough = self.late.len() >= quantile::needed(990);
        Dependency {
            name: "upstream".into(),
            requests: self.requests,
            cpu_us: us(thread_cpu_ns().saturating_sub(self.cpu_before_ns) as f64),
            late_us: Lateness {
                mean: some.then(|| us(self.late.mean())),
                p99: enough.then(|| us(self.late.value_at_quantile(0.99) as f64)),
                max: some.then(|| us(self.late.max() as f64)),
            },
        }
    }
}

fn response(status: u16, body: &str) -> Vec<u8> {
    let reason = match status {
        200 => "OK",
        404 => "Not Found",
        _ => "Internal Server Error",
    };
    format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// One path segment without its percent-encoding.
fn decoded(segment: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), segment.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'/' | b'?' => return None,
            b'%' => {
                let hex = std::str::from_utf8(rest.get(..2)?).ok()?;
                bytes.push(u8::from_str_radix(hex, 16).ok()?);
                rest = &rest[2..];
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(|| Server::new(listener).and_then(Server::run));
        port
    }

    /// Sends a text and reads so many bytes' worth of answers.
    fn talk(stream: &mut TcpStream, text: &str, answers: usize) -> String {
        stream.write_all(text.as_bytes()).unwrap();
        let (mut all, mut buffer) = (String::new(), [0; 4096]);
        while all.matches("\r\n\r\n").count() < answers || !all.ends_with('}') {
            let length = stream.read(&mut buffer).unwrap();
            assert!(length > 0, "closed after {all}");
            all += std::str::from_utf8(&buffer[..length]).unwrap();
        }
        all
    }

    #[test]
    fn answers_come_after_the_delay_over_one_connection() {
        let mut stream = TcpStream::connect(("127.0.0.1", started())).unwrap();
        for item in ["a", "caf%C3%A9%20b"] {
            let before = now_ns();
            let answer = talk(
                &mut stream,
                &format!("GET /item/{item} HTTP/1.1\r\nhost: x\r\n\r\n"),
                1,
            );
            assert!(now_ns() - before >= DELAY_NS);
            let decoded = decoded(item).unwrap();
            assert!(
                answer.ends_with(&format!(r#"{{"item":"{decoded}","stock":7}}"#)),
                "{answer}"
            );
        }
        // A request in two pieces, then two in one piece: answered one after the other.
        stream.write_all(b"GET /item/c HT").unwrap();
        assert!(talk(&mut stream, "TP/1.1\r\n\r\n", 1).contains(r#""c""#));
        let both = "GET /item/d HTTP/1.1\r\n\r\nGET /item/fail-e HTTP/1.1\r\n\r\n";
        let answers = talk(&mut stream, both, 2);
        assert!(
            answers.contains(r#""d""#) && answers.contains("500"),
            "{answers}"
        );
    }

    #[test]
    fn its_figures_are_those_since_they_were_asked_for() {
        let mut stream = TcpStream::connect(("127.0.0.1", started())).unwrap();
        let figures = |stream: &mut TcpStream| -> Dependency {
            let answer = talk(stream, &format!("GET {FIGURES} HTTP/1.1\r\n\r\n"), 1);
            serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap()
        };
        assert_eq!(figures(&mut stream).late_us, Lateness::default());
        for _ in 0..3 {
            talk(&mut stream, "GET /item/a HTTP/1.1\r\n\r\n", 1);
        }
        let three = figures(&mut stream);
        assert_eq!((three.requests, three.late_us.p99), (3, None));
        assert!(three.late_us.max >= three.late_us.mean && three.cpu_us > 0.0);
        assert_eq!(figures(&mut stream).requests, 0);
    }

    #[test]
    fn what_is_no_request_ends_the_connection() {
        let port = started();
        for text in [
            "POST /item/a HTTP/1.1\r\ncontent-length: 3\r\n\r\nabc",
            "hello\r\n\r\n",
        ] {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            stream.write_all(text.as_bytes()).unwrap();
            assert_eq!(stream.read(&mut [0; 10]).unwrap_or(0), 0, "{text}");
        }
        assert_eq!(decoded("a%2"), None);
        assert_eq!(decoded("a/b"), None);
    }
}
