//! A server that does exactly what it is told, on one thread: an event loop with timers, so that one
//! connection's delay never holds up another's.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv, sockopt};

use super::rig::Cpus;
use crate::load::clock::{now_ns, sharpen_timers, thread_cpu_ns};
use crate::load::poller::{Interest, Poller};

/// One step of what a server does about a request.
#[derive(Clone, Debug)]
pub enum Act {
    /// Writes these bytes at once.
    Send(Cow<'static, [u8]>),
    /// Goes on after so many nanoseconds, unless another request comes over the connection first.
    Pause(u64),
    /// Closes the connection in order.
    Close,
    /// Resets it.
    Reset,
    /// Closes all connections that wait for a request; `fresh`: those that never had one too.
    CloseIdle {
        /// Whether a connection without any request so far counts.
        fresh: bool,
    },
    /// The whole server stands still for so many nanoseconds.
    Freeze(u64),
    /// The whole server ends, its connections and its port with it.
    Die,
}

/// A request as the server sees it.
pub struct Request<'a> {
    /// Its head, all of it: none has a body.
    pub head: &'a [u8],
    /// Which one it is of this server's, from 0.
    pub nth: u64,
    /// Which one it is of its connection's, from 0.
    pub nth_of_connection: u64,
}

impl Request<'_> {
    /// The nonce of `GET /{nonce} …`.
    pub fn nonce(&self) -> &[u8] {
        self.head.get(5..21).unwrap_or_default()
    }
}

/// Decides what is done about each request.
pub type Behaviour = Box<dyn FnMut(&Request<'_>, &mut VecDeque<Act>) + Send>;

/// What a server saw and did.
#[derive(Debug, Default)]
pub struct Seen {
    /// When each request came, on CLOCK_MONOTONIC; empty unless asked for.
    pub arrivals_ns: Vec<u64>,
    /// How long each answered request waited for its first byte.
    pub delays_ns: Vec<u64>,
    /// Requests.
    pub requests: u64,
    /// Connections accepted.
    pub connections: u64,
    /// CPU time of the server's thread.
    pub cpu_ns: u64,
}

/// A running server.
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<Seen>>,
}

/// A server looks this often whether it is to stop.
const TICK_NS: u64 = 20_000_000;
/// The listener's token; connections have their index.
const LISTENER: usize = usize::MAX;

impl Server {
    /// Listens on a free port of 127.0.0.1 and serves on a thread of its own.
    pub fn start(cpus: Cpus, record: bool, behaviour: Behaviour) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            cpus.be_server();
            sharpen_timers();
            let mut event_loop = Loop::new(listener, behaviour, record)?;
            event_loop.run(&asked)?;
            event_loop.seen.cpu_ns = thread_cpu_ns();
            Ok(event_loop.seen)
        });
        Ok(Self {
            address,
            stop,
            thread,
        })
    }

    /// Ends it and gives what it saw.
    pub fn stop(self) -> io::Result<Seen> {
        self.stop.store(true, Relaxed);
        let ended = self.thread.join();
        ended.map_err(|_| io::Error::other("a built-in server panicked"))?
    }
}

struct Connection {
    stream: TcpStream,
    inbox: Vec<u8>,
    requests: u64,
    arrived_ns: u64,
    answered: bool,
    script: VecDeque<Act>,
    /// Tells the timers of this request from those of an earlier one.
    version: u64,
}

struct Loop {
    listener: TcpListener,
    behaviour: Behaviour,
    record: bool,
    poller: Poller,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    /// (when, connection, version)
    timers: BinaryHeap<Reverse<(u64, usize, u64)>>,
    versions: u64,
    dead: bool,
    seen: Seen,
}

impl Loop {
    fn new(listener: TcpListener, behaviour: Behaviour, record: bool) -> io::Result<Self> {
        let poller = Poller::new()?;
        poller.add(listener.as_fd(), LISTENER, Interest::Read)?;
        Ok(Self {
            listener,
            behaviour,
            record,
            poller,
            connections: Vec::new(),
            free: Vec::new(),
            timers: BinaryHeap::new(),
            versions: 0,
            dead: false,
            seen: Seen::default(),
        })
    }

    fn run(&mut self, stop: &AtomicBool) -> io::Result<()> {
        while !self.dead && !stop.load(Relaxed) {
            let now = now_ns();
            while let Some(Reverse((at, index, version))) = self.timers.peek().copied()
                && at <= now
            {
                self.timers.pop();
                let connection = self.connections[index].as_ref();
                if connection.is_some_and(|c| c.version == version) {
                    self.play(index);
                }
            }
            let timer = self.timers.peek().map(|Reverse((at, ..))| *at);
            let wait = timer.map_or(TICK_NS, |at| at.saturating_sub(now).clamp(1, TICK_NS));
            for event in 0..self.poller.wait(wait)? {
                match self.poller.event(event) {
                    (LISTENER, _) => self.accept()?,
                    (index, _) => self.readable(index),
                }
            }
        }
        Ok(())
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            stream.set_nodelay(true)?;
            // A client that does not read must not hang the server.
            stream.set_write_timeout(Some(Duration::from_secs(1)))?;
            let index = self.free.pop().unwrap_or(self.connections.len());
            self.poller.add(stream.as_fd(), index, Interest::Read)?;
            self.seen.connections += 1;
            self.versions += 1;
            let connection = Connection {
                stream,
                inbox: Vec::with_capacity(4096),
                requests: 0,
                arrived_ns: 0,
                answered: true,
                script: VecDeque::new(),
                version: self.versions,
            };
            if index == self.connections.len() {
                self.connections.push(Some(connection));
            } else {
                self.connections[index] = Some(connection);
            }
        }
    }

    fn readable(&mut self, index: usize) {
        // An event of a connection that another one's script ended in this very pass.
        let Some(connection) = &mut self.connections[index] else {
            return;
        };
        let mut piece = [0; 4096];
        match recv(&connection.stream, &mut piece[..], RecvFlags::DONTWAIT) {
            Ok((0, _)) => return self.hang_up(index),
            Ok((length, _)) => connection.inbox.extend_from_slice(&piece[..length]),
            Err(Errno::AGAIN | Errno::INTR) => return,
            Err(_) => return self.hang_up(index),
        }
        if !connection.inbox.ends_with(b"\r\n\r\n") {
            return;
        }
        if self.record {
            connection.arrived_ns = now_ns();
            self.seen.arrivals_ns.push(connection.arrived_ns);
        }
        let request = Request {
            head: &connection.inbox,
            nth: self.seen.requests,
            nth_of_connection: connection.requests,
        };
        connection.script.clear();
        (self.behaviour)(&request, &mut connection.script);
        connection.inbox.clear();
        connection.requests += 1;
        connection.answered = false;
        self.versions += 1;
        connection.version = self.versions;
        self.seen.requests += 1;
        self.play(index);
    }

    fn play(&mut self, index: usize) {
        while let Some(connection) = &mut self.connections[index]
            && let Some(act) = connection.script.pop_front()
        {
            match act {
                Act::Send(bytes) => {
                    if self.record && !connection.answered {
                        let delay_ns = now_ns() - connection.arrived_ns;
                        self.seen.delays_ns.push(delay_ns);
                    }
                    connection.answered = true;
                    if connection.stream.write_all(&bytes).is_err() {
                        self.hang_up(index);
                    }
                }
                Act::Pause(ns) => {
                    let timer = (now_ns() + ns, index, connection.version);
                    return self.timers.push(Reverse(timer));
                }
                Act::Close => self.hang_up(index),
                Act::Reset => {
                    let _ = sockopt::set_socket_linger(&connection.stream, Some(Duration::ZERO));
                    self.hang_up(index);
                }
                Act::CloseIdle { fresh } => self.close_idle(fresh),
                Act::Freeze(ns) => std::thread::sleep(Duration::from_nanos(ns)),
                Act::Die => {
                    self.dead = true;
                    return;
                }
            }
        }
    }

    fn close_idle(&mut self, fresh: bool) {
        for index in 0..self.connections.len() {
            let idle = |c: &Connection| c.answered && (fresh || c.requests > 0);
            if self.connections[index].as_ref().is_some_and(idle) {
                self.hang_up(index);
            }
        }
    }

    fn hang_up(&mut self, index: usize) {
        if self.connections[index].take().is_some() {
            self.free.push(index);
        }
    }
}
