//! What comes back: connections made, responses read and judged, connections lost.

use super::{BACK_OFF_NS, Driver};
use crate::load::clock::now_ns;
use crate::load::lane::{State, Written};
use crate::load::outcome::Failure;
use crate::load::poller::Interest;

impl Driver {
    pub(super) fn handle(&mut self, events: usize) {
        for index in 0..events {
            let (token, writable) = self.poller.event(index);
            let lane = token & u32::MAX as usize;
            // An event of a connection that was replaced in this very pass says nothing any more.
            if token == self.token(lane) {
                self.on_event(lane, writable);
            }
            // A slot that falls due while many responses are read does not wait for the last of them.
            if self.pacer.is_open_loop() {
                let now = now_ns();
                if now >= self.pacer.next_ns() {
                    self.send_what_is_due(now);
                }
            }
        }
    }

    fn on_event(&mut self, lane: usize, writable: bool) {
        match self.lanes[lane].state {
            State::Cold => {}
            State::Connecting(since_ns) => self.connected(lane, since_ns),
            State::Open => {
                if writable && self.lanes[lane].has_unwritten() {
                    let before_ns = now_ns();
                    let written = self.lanes[lane].flush();
                    if written == Ok(Written::All) {
                        self.watch(lane, Interest::Read);
                    }
                    self.wrote(lane, before_ns, written);
                }
                self.receive(lane);
            }
        }
    }

    fn connected(&mut self, lane: usize, since_ns: u64) {
        if let Err(failure) = self.lanes[lane].finish_connect() {
            return self.connect_failed(lane, failure);
        }
        self.tally.connected(now_ns() - since_ns);
        self.back_off_ns = BACK_OFF_NS.0;
        self.watch(lane, Interest::Read);
        if self.lanes[lane].job.is_some() {
            self.send(lane);
        } else {
            self.open.push_back(lane);
        }
    }

    fn receive(&mut self, lane: usize) {
        loop {
            match self.lanes[lane].receive(&mut self.buffer) {
                Ok(None) => return,
                Ok(Some(0)) => return self.closed(lane),
                Ok(Some(length)) => {
                    self.tally.bytes_in += length as u64;
                    self.read(lane, length);
                    // A read that did not fill the buffer emptied the socket.
                    if length < self.buffer.len() {
                        return;
                    }
                }
                Err(failure) => return self.broken(lane, failure),
            }
        }
    }

    fn read(&mut self, lane: usize, length: usize) {
        let reader_lane = &mut self.lanes[lane];
        let Some(job) = &mut reader_lane.job else {
            return self.fail(lane, Failure::MoreThanAnnounced);
        };
        if let Some(place) = job.kept {
            self.keeper.add(place, &self.buffer[..length]);
        }
        let expected = self.variants[job.variant].body.as_ref();
        let used = reader_lane.reader.feed(&self.buffer[..length], |part| {
            job.body_right &=
                expected.is_none_or(|body| body.matches(job.body_len, part, &job.nonce));
            job.body_len += part.len();
        });
        match used {
            Err(failure) => self.broken(lane, failure),
            Ok(used) if reader_lane.reader.done() => self.answered(lane, used < length),
            Ok(_) => {}
        }
    }

    /// A whole response: judges it, and frees the lane.
    fn answered(&mut self, lane: usize, more: bool) {
        let now = now_ns();
        let answered = &mut self.lanes[lane];
        let Some(job) = answered.job.take() else {
            return;
        };
        self.busy -= 1;
        let head = answered.reader.head();
        let variant = &self.variants[job.variant];
        let whole = variant
            .body
            .as_ref()
            .is_none_or(|body| body.len() == job.body_len);
        if now - job.taken_ns >= self.timeout_ns {
            // Timeouts are looked for now and then: this one came first.
            self.tally.failed(Failure::Timeout);
        } else if !variant.statuses.is_empty() && !variant.statuses.contains(&head.status) {
            self.tally.failed(Failure::WrongStatus);
        } else if !(job.body_right && whole) {
            self.tally.failed(Failure::WrongBody);
        } else if more {
            self.tally.failed(Failure::MoreThanAnnounced);
        } else {
            let (in_slice_ns, spilled) = self.pacer.in_slice(job.slice, now);
            self.spin.learn(now - job.sent_ns);
            self.tally.completed(now - job.slot_ns, now - job.sent_ns);
            self.tally.in_slice(job.slice, in_slice_ns, spilled);
            self.tally.in_block(self.pacer.block(job.slot_ns));
            if let Some(place) = job.kept {
                self.keeper.end(place);
            }
        }
        if head.keep_alive && !more && !answered.has_unwritten() {
            answered.reused = true;
            self.open.push_back(lane);
        } else {
            answered.hang_up();
            self.cold.push_back(lane);
        }
    }

    /// The server closed the connection.
    fn closed(&mut self, lane: usize) {
        let closed = &mut self.lanes[lane];
        if closed.job.is_none() {
            // While idle, which is its right.
            self.open.retain(|other| *other != lane);
            closed.hang_up();
            self.cold.push_back(lane);
            return;
        }
        match closed.reader.close() {
            Ok(()) => self.answered(lane, false),
            Err(failure) => self.broken(lane, failure),
        }
    }

    /// The connection is of no use any more. A request that was sent over a reused one and got no
    /// byte of an answer crossed the server's closing it: it is sent once more, on the same clock.
    pub(super) fn broken(&mut self, lane: usize, failure: Failure) {
        let broken = &mut self.lanes[lane];
        let crossed = broken.reused && !broken.reader.started();
        match &mut broken.job {
            Some(job) if crossed && !job.resent && self.variants[job.variant].idempotent => {
                job.resent = true;
                broken.hang_up();
                self.connect(lane);
            }
            _ => self.fail(lane, failure),
        }
    }

    /// Ends a lane's connection, and its slot if it has one.
    pub(super) fn fail(&mut self, lane: usize, failure: Failure) {
        if self.lanes[lane].job.take().is_some() {
            self.busy -= 1;
            self.tally.failed(failure);
        } else {
            self.open.retain(|other| *other != lane);
            self.tally.note(failure);
        }
        self.lanes[lane].hang_up();
        self.cold.push_back(lane);
    }

    pub(super) fn watch(&mut self, lane: usize, interest: Interest) {
        let token = self.token(lane);
        if let Some(socket) = self.lanes[lane].socket() {
            // A socket that cannot be watched any more shows itself at the next read or timeout.
            let _ = self.poller.modify(socket, token, interest);
        }
    }

    /// A lane's number in the low half, and which of its connections in the high half.
    pub(super) fn token(&self, lane: usize) -> usize {
        lane | (self.lanes[lane].generation as usize) << 32
    }
}
