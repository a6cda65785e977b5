//! The bare probe: one blocking socket, paced by spinning, recording nothing but what a request took.
//! What the engine shows above it is the engine's; what the probe shows is the machine's.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::load::clock::{SECOND_NS, now_ns};
use crate::load::request;

/// One request's times.
#[derive(Clone, Copy, Debug)]
pub struct Trip {
    /// How long after its slot it was sent.
    pub late_ns: u64,
    /// How many slots before it went by while the last response was awaited.
    pub missed: u64,
    /// From just before the write until the last byte was read.
    pub round_trip_ns: u64,
}

impl Trip {
    /// From the slot to the last byte.
    pub fn response_ns(self) -> u64 {
        self.late_ns + self.round_trip_ns
    }
}

/// The response times of all slots of a paced probe: those that it missed waited for the trip after
/// them, and share it. Without them a machine that pauses would look good (coordinated omission).
pub fn responses_ns(trips: &[Trip], rate_rps: u64) -> Vec<u64> {
    let interval_ns = SECOND_NS / rate_rps;
    let of = |trip: &Trip| {
        let last_ns = trip.response_ns();
        (0..=trip.missed).map(move |before| last_ns + before * interval_ns)
    };
    trips.iter().flat_map(of).collect()
}

/// A connected probe.
pub struct Probe {
    stream: TcpStream,
    request: Vec<u8>,
    response_length: usize,
    buffer: Vec<u8>,
}

impl Probe {
    /// Connects and learns from a first answer how long the answers are.
    pub fn connect(target: SocketAddr, path: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(target)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        let mut probe = Self {
            stream,
            request: request::bytes("GET", path, &target.to_string(), &[], None),
            response_length: 0,
            buffer: vec![0; 64 * 1024],
        };
        probe.stream.write_all(&probe.request)?;
        let mut got = 0;
        while probe.response_length == 0 || got < probe.response_length {
            got += read(&mut probe.stream, &mut probe.buffer[got..])?;
            probe.response_length = whole_length(&probe.buffer[..got]).unwrap_or(0);
        }
        Ok(probe)
    }

    /// Requests at the times of a schedule of `slots` slots, so many per second, the first at once.
    /// Of several that are due only the last is sent: this is no load generator.
    pub fn paced(&mut self, rate_rps: u64, slots: u64) -> io::Result<Vec<Trip>> {
        let epoch_ns = now_ns();
        let mut trips = Vec::with_capacity(slots as usize);
        let mut next = 0;
        while next < slots {
            let due = ((now_ns() - epoch_ns) * rate_rps / SECOND_NS).clamp(next, slots - 1);
            let trip = self.trip(epoch_ns + due * SECOND_NS / rate_rps)?;
            trips.push(Trip {
                missed: due - next,
                ..trip
            });
            next = due + 1;
        }
        Ok(trips)
    }

    /// As many requests, each right after the one before.
    pub fn back_to_back(&mut self, count: u64) -> io::Result<Vec<Trip>> {
        (0..count).map(|_| self.trip(now_ns())).collect()
    }

    /// One request at a moment of CLOCK_MONOTONIC.
    pub fn trip(&mut self, slot_ns: u64) -> io::Result<Trip> {
        let mut sent_ns = now_ns();
        while sent_ns < slot_ns {
            std::hint::spin_loop();
            sent_ns = now_ns();
        }
        self.stream.write_all(&self.request)?;
        let mut left = self.response_length;
        while left > 0 {
            let room = left.min(self.buffer.len());
            left -= read(&mut self.stream, &mut self.buffer[..room])?;
        }
        Ok(Trip {
            late_ns: sent_ns - slot_ns,
            missed: 0,
            round_trip_ns: now_ns() - sent_ns,
        })
    }
}

fn read(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    match stream.read(buffer)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        length => Ok(length),
    }
}

/// Head and announced body together, once the head is whole.
fn whole_length(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head]).ok()?;
    let announced = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse::<usize>().ok())?
    });
    Some(head + announced?)
}

/// The value at quantile `q` of a list, by rank; it is sorted on the way. 0 for an empty one.
pub fn quantile(values: &mut [u64], q: f64) -> u64 {
    values.sort_unstable();
    let rank = (q * values.len() as f64).ceil() as usize;
    values
        .get(rank.clamp(1, values.len().max(1)) - 1)
        .copied()
        .unwrap_or(0)
}

#[test]
fn missed_slots_wait_for_the_trip_after_them() {
    let trip = |missed| Trip {
        late_ns: 10,
        missed,
        round_trip_ns: 30,
    };
    assert_eq!(
        responses_ns(&[trip(0), trip(2)], 1_000_000),
        [40, 40, 1040, 2040]
    );
}
