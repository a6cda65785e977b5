//! A lane carries one request at a time. Today it is a connection; one day a stream of one.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, ipproto, recv, send,
    socket_with, sockopt,
};

use super::http1::Reader;
use super::outcome::Failure;
use super::template::NONCE_LEN;

/// Whether a lane can take a slot, and how soon it can send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No connection.
    Cold,
    /// A connection is being made, since then (nanoseconds).
    Connecting(u64),
    /// Connected.
    Open,
}

/// How much of a request the socket took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Not a byte: the socket is full.
    Nothing,
    /// A part; the rest waits for [`Lane::flush`].
    Part,
    /// The last byte too.
    All,
}

/// The slot that a lane is working on.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// When the slot was due; in a closed loop, when it was taken.
    pub slot_ns: u64,
    /// The slice that it lies in.
    pub slice: usize,
    /// When the loop found it due.
    pub found_ns: u64,
    /// When this lane took it.
    pub taken_ns: u64,
    /// When its first byte was written; 0 before.
    pub sent_ns: u64,
    /// Which request it carries.
    pub variant: usize,
    /// Where its whole response is kept, if it is.
    pub kept: Option<usize>,
    /// Its nonce, as digits.
    pub nonce: [u8; NONCE_LEN],
    /// How much of the body has come.
    pub body_len: usize,
    /// Whether the body was right so far.
    pub body_right: bool,
    /// Whether it was sent a second time, because a reused connection was closed under it.
    pub resent: bool,
}

/// One connection and what it is doing.
pub struct Lane {
    socket: Option<OwnedFd>,
    /// Whether it is connected.
    pub state: State,
    /// Its slot; `None` while it is free.
    pub job: Option<Job>,
    /// Reads its responses.
    pub reader: Reader,
    /// What the socket did not take yet.
    unwritten: Vec<u8>,
    /// Whether a response has come over this connection.
    pub reused: bool,
    /// Counts its connections, so that an event of an earlier one is not taken for this one's.
    pub generation: u32,
}

impl Lane {
    /// A lane without a connection.
    pub fn cold() -> Self {
        Self {
            socket: None,
            state: State::Cold,
            job: None,
            reader: Reader::default(),
            unwritten: Vec::new(),
            reused: false,
            generation: 0,
        }
    }

    /// Begins to connect; the socket becomes writable once it is connected.
    pub fn connect(&mut self, target: SocketAddr, now_ns: u64) -> Result<BorrowedFd<'_>, Failure> {
        let family = match target {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))
            .map_err(|_| Failure::ConnectFailed)?;
        // Each request is one small write: waiting for more to send with it only adds latency.
        let _ = sockopt::set_tcp_nodelay(&socket, true);
        match connect(&socket, &target) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(connect_failure(error)),
        }
        self.state = State::Connecting(now_ns);
        self.reused = false;
        self.unwritten.clear();
        let socket: &OwnedFd = self.socket.insert(socket);
        Ok(socket.as_fd())
    }

    /// The connection attempt ended: whether there is a connection now.
    pub fn finish_connect(&mut self) -> Result<BorrowedFd<'_>, Failure> {
        let socket = self.socket.as_ref().ok_or(Failure::ConnectFailed)?;
        match sockopt::socket_error(socket) {
            Ok(Ok(())) => {
                self.state = State::Open;
                Ok(socket.as_fd())
            }
            Ok(Err(error)) | Err(error) => Err(connect_failure(error)),
        }
    }

    /// Writes a request; what does not fit is kept for [`Lane::flush`].
    pub fn send(&mut self, request: &[u8]) -> Result<Written, Failure> {
        debug_assert!(self.unwritten.is_empty(), "one request at a time");
        let length = self.write(request)?;
        self.unwritten.extend_from_slice(&request[length..]);
        Ok(self.written(length))
    }

    /// Whether a part of the request waits for the socket.
    pub fn has_unwritten(&self) -> bool {
        !self.unwritten.is_empty()
    }

    /// Goes on writing.
    pub fn flush(&mut self) -> Result<Written, Failure> {
        let length = self.write(&self.unwritten)?;
        self.unwritten.drain(..length);
        Ok(self.written(length))
    }

    fn written(&self, length: usize) -> Written {
        match length {
            _ if self.unwritten.is_empty() => Written::All,
            0 => Written::Nothing,
            _ => Written::Part,
        }
    }

    /// Reads what has come; `None` if nothing has, 0 at the end of the stream.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Failure> {
        let Some(socket) = &self.socket else {
            return Ok(None);
        };
        match recv(socket, buffer, RecvFlags::DONTWAIT) {
            Ok((count, _)) => Ok(Some(count)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(Errno::CONNRESET | Errno::PIPE) => Err(Failure::Reset),
            Err(_) => Err(Failure::SocketError),
        }
    }

    /// Its socket, while there is one.
    pub fn socket(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().map(AsFd::as_fd)
    }

    /// Drops the connection (which also ends its watch); the job stays.
    pub fn hang_up(&mut self) {
        self.socket = None;
        self.generation = self.generation.wrapping_add(1);
        self.state = State::Cold;
        self.unwritten.clear();
    }

    fn write(&self, bytes: &[u8]) -> Result<usize, Failure> {
        let socket = self.socket.as_ref().ok_or(Failure::SocketError)?;
        match send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(written) => Ok(written),
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(Errno::CONNRESET | Errno::PIPE) => Err(Failure::Reset),
            Err(_) => Err(Failure::SocketError),
        }
    }
}

fn connect_failure(error: Errno) -> Failure {
    match io::Error::from(error).kind() {
        io::ErrorKind::ConnectionRefused => Failure::ConnectRefused,
        _ => Failure::ConnectFailed,
    }
}
