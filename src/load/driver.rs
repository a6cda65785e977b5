//! The one loop that drives a load: find the slots that are due, send them, wait for what comes.
//!
//! Sending comes first and bookkeeping after it; nothing here allocates or formats per request.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use super::backlog::Backlog;
use super::clock::{SECOND_NS, now_ns};
use super::lane::{Job, Lane, State, Written};
use super::live::{Live, Progress};
use super::mask::Mask;
use super::outcome::Failure;
use super::poller::{Interest, Poller};
use super::schedule::{Order, Schedule, Share, nonce, nonce_digits};
use super::spec::{Pace, Spec, Variant};
use super::tally::Tally;

/// A receive takes at most this much; larger bodies come in several.
const RECEIVE_BYTES: usize = 64 * 1024;
/// While something is in flight the loop wakes at least this often: to see timeouts, and so that a
/// pause of the generator cannot hide in a long wait.
const TICK_NS: u64 = 50_000_000;
/// The first wait after a connection could not be made, doubled up to the most.
const BACK_OFF_NS: (u64, u64) = (1_000_000, 250_000_000);
/// A full second's histogram is packed (some 50 us of work) while no slot is due so soon, but at
/// most so long after the second's end.
const PACK_NS: (u64, u64) = (100_000, 10_000_000);
/// Connections are opened before the load for at most so long.
const OPEN_NS: u64 = 2 * SECOND_NS;
/// A masked load is awake so long before its next slice, so that its first slot is not the one that
/// pays for waking up.
const AWAKE_NS: u64 = 300_000;
/// "Never", for a moment in time.
const NEVER_NS: u64 = u64::MAX;

/// A thread's part of a load in progress.
pub struct Driver {
    target: SocketAddr,
    variants: Vec<Variant>,
    order: Order,
    seed: u64,
    timeout_ns: u64,
    spin_ns: u64,
    /// `None` in a closed loop, where a slot is due when a lane is free.
    schedule: Option<Arc<Schedule>>,
    mask: Arc<Mask>,
    masked: bool,
    share: Share,

    lanes: Vec<Lane>,
    /// Free and connected, the longest idle first: servers close what idles too long.
    open: VecDeque<usize>,
    /// Free and not connected.
    cold: VecDeque<usize>,
    busy: u32,
    poller: Poller,
    buffer: Vec<u8>,

    epoch_ns: u64,
    /// How many slots this thread will have; fewer than planned once the run was cut short.
    slots: u64,
    end_ns: u64,
    /// When the next slot is due; in a closed loop, when the next slice begins.
    next_slot_ns: u64,
    backlog: Backlog,
    /// How many of the slots found were accounted for.
    accounted: u64,
    /// What this pass sent, accounted for after the sending.
    just_sent: Vec<Job>,
    /// While a response is about to come the loop spins, until then.
    spin_until_ns: u64,
    next_expiry_ns: u64,
    /// No connection is tried before this; it moves away while they fail.
    reconnect_at_ns: u64,
    back_off_ns: u64,
    /// The loop means to be back by then; later is a pause.
    back_by_ns: u64,

    tally: Tally,
    live: Arc<Live>,
}

/// How the loop spends its time until the next pass.
enum Wait {
    /// Only look: a slot or a response is about to come.
    Look,
    /// Sleep until then.
    Until(u64),
}

impl Driver {
    /// Gets ready: everything that allocates happens here. `schedule` and `mask` are shared by all
    /// threads.
    pub fn new(
        spec: &Spec,
        schedule: Option<Arc<Schedule>>,
        mask: Arc<Mask>,
        share: Share,
        live: Arc<Live>,
    ) -> io::Result<Self> {
        let weights: Vec<u32> = spec.variants.iter().map(|variant| variant.weight).collect();
        let lanes = share.count(spec.connections.into()) as usize;
        let slots = match (spec.pace, &schedule) {
            (Pace::Closed { requests }, _) => requests,
            (Pace::Open { .. }, Some(schedule)) => schedule.slots(),
            (Pace::Open { .. }, None) => 0,
        };
        Ok(Self {
            target: spec.target,
            order: Order::new(&weights, spec.seed),
            variants: spec.variants.clone(),
            seed: spec.seed,
            timeout_ns: spec.timeout_ns,
            spin_ns: spec.spin_ns,
            schedule,
            masked: spec.slices.is_some(),
            share,
            lanes: (0..lanes).map(|_| Lane::cold()).collect(),
            open: VecDeque::with_capacity(lanes),
            cold: (0..lanes).collect(),
            busy: 0,
            poller: Poller::new()?,
            buffer: vec![0; RECEIVE_BYTES],
            epoch_ns: 0,
            slots: share.count(slots),
            end_ns: 0,
            next_slot_ns: NEVER_NS,
            backlog: Backlog::default(),
            accounted: 0,
            just_sent: Vec::with_capacity(lanes),
            spin_until_ns: 0,
            next_expiry_ns: 0,
            reconnect_at_ns: 0,
            back_off_ns: BACK_OFF_NS.0,
            back_by_ns: 0,
            tally: Tally::new(mask.slices().len()),
            mask,
            live,
        })
    }

    /// Opens every connection, so that the first slots do not pay for it. Those that cannot be
    /// opened are left to the slots that need them.
    pub fn open_connections(&mut self) -> io::Result<()> {
        let give_up_ns = now_ns() + OPEN_NS;
        for _ in 0..self.lanes.len() {
            if let Some(lane) = self.cold.pop_front() {
                self.connect(lane);
            }
        }
        let connecting = |lane: &Lane| matches!(lane.state, State::Connecting(_));
        while self.lanes.iter().any(connecting) && now_ns() < give_up_ns {
            let events = self.poller.wait(TICK_NS)?;
            self.handle(events);
        }
        Ok(())
    }

    /// Runs from `epoch_ns` (CLOCK_MONOTONIC) on, then drains for at most the timeout.
    pub fn run(mut self, epoch_ns: u64) -> io::Result<Tally> {
        self.epoch_ns = epoch_ns;
        self.end_ns = epoch_ns + self.mask.slices().last().map_or(0, |slice| slice.end_ns());
        self.next_slot_ns = self.slot_or_slice_after(0, epoch_ns);
        self.back_by_ns = now_ns().max(epoch_ns);
        loop {
            let now = now_ns();
            self.find_due(now);
            self.send_due();
            self.account(now);
            self.expire(now);
            if self.is_finished(now) {
                return Ok(self.close_books());
            }
            let wait = match self.next_wait(now) {
                Wait::Look => 0,
                Wait::Until(then) => then - now,
            };
            self.back_by_ns = now + wait;
            let events = self.poller.wait(wait)?;
            if events == 0 && wait == 0 {
                self.tally.spun_ns += now_ns() - now;
            }
            self.handle(events);
        }
    }

    // What is due.

    fn find_due(&mut self, now: u64) {
        if self.live.is_cancelled() && self.end_ns > now {
            self.cut_short(now);
        }
        if now < self.next_slot_ns {
            return;
        }
        let found = self.backlog.found();
        let due = match &self.schedule {
            Some(schedule) => self.share.count(schedule.due(now - self.epoch_ns)),
            None if now >= self.end_ns => return self.cut_short(now),
            None => self.backlog.taken() + self.free_lanes(now),
        };
        self.backlog.find(due.min(self.slots), now);
        if self.schedule.is_some() || self.is_slice_over(now) {
            self.next_slot_ns = self.slot_or_slice_after(due.max(found), now);
        }
        if self.schedule.is_none() && due >= self.slots {
            self.cut_short(now);
        }
    }

    /// What is found is all that there will be.
    fn cut_short(&mut self, now: u64) {
        self.slots = self.backlog.found();
        self.end_ns = self.end_ns.min(now);
        self.next_slot_ns = NEVER_NS;
    }

    /// In a closed loop a free lane is a due slot, while a slice lasts.
    fn free_lanes(&self, now: u64) -> u64 {
        if self.is_slice_over(now) {
            return 0;
        }
        let cold = if now >= self.reconnect_at_ns {
            self.cold.len()
        } else {
            0
        };
        (self.open.len() + cold) as u64
    }

    fn is_slice_over(&self, now: u64) -> bool {
        let elapsed = now - self.epoch_ns;
        let slice = self
            .mask
            .slice_at(elapsed)
            .map(|index| self.mask.slices()[index]);
        slice.is_none_or(|slice| elapsed >= slice.end_ns())
    }

    fn slot_or_slice_after(&self, nth: u64, now: u64) -> u64 {
        match &self.schedule {
            Some(_) if nth < self.slots => self.slot_ns(nth),
            Some(_) => NEVER_NS,
            None => {
                let elapsed = now - self.epoch_ns;
                let slices = self.mask.slices();
                let next = slices.partition_point(|slice| slice.end_ns() <= elapsed);
                slices
                    .get(next)
                    .map_or(self.end_ns, |slice| self.epoch_ns + slice.start_ns)
            }
        }
    }

    /// When this thread's `nth` slot is due.
    fn slot_ns(&self, nth: u64) -> u64 {
        let schedule = self
            .schedule
            .as_ref()
            .expect("only an open loop has times of slots");
        self.epoch_ns + schedule.slot_ns(self.share.slot(nth))
    }

    // Sending.

    fn send_due(&mut self) {
        while let Some((nth, found_ns)) = self.backlog.first() {
            let Some(lane) = self.free_lane() else {
                return;
            };
            self.backlog.take();
            self.busy += 1;
            let taken_ns = now_ns();
            let slot_ns = if self.schedule.is_some() {
                self.slot_ns(nth)
            } else {
                taken_ns
            };
            let k = self.share.slot(nth);
            self.lanes[lane].job = Some(Job {
                slot_ns,
                slice: self.mask.slice_at(slot_ns - self.epoch_ns).unwrap_or(0),
                found_ns,
                taken_ns,
                sent_ns: 0,
                variant: self.order.variant(k),
                nonce: nonce_digits(nonce(self.seed, k)),
                body_len: 0,
                body_right: true,
                resent: false,
            });
            match self.lanes[lane].state {
                State::Open => self.send(lane),
                State::Cold | State::Connecting(_) => self.connect(lane),
            }
        }
    }

    /// The connection that was idle longest, else one that has to be made first.
    fn free_lane(&mut self) -> Option<usize> {
        self.open.pop_front().or_else(|| {
            let may_connect = !self.cold.is_empty() && now_ns() >= self.reconnect_at_ns;
            may_connect.then(|| self.cold.pop_front()).flatten()
        })
    }

    fn connect(&mut self, lane: usize) {
        let token = self.token(lane);
        let watched = self.lanes[lane]
            .connect(self.target, now_ns())
            .and_then(|socket| {
                let added = self.poller.add(socket, token, Interest::ReadWrite);
                added.map_err(|_| Failure::ConnectFailed)
            });
        if let Err(failure) = watched {
            self.connect_failed(lane, failure);
        }
    }

    fn connect_failed(&mut self, lane: usize, failure: Failure) {
        self.reconnect_at_ns = now_ns() + self.back_off_ns;
        self.back_off_ns = (2 * self.back_off_ns).min(BACK_OFF_NS.1);
        self.fail(lane, failure);
    }

    fn send(&mut self, lane: usize) {
        let sender = &mut self.lanes[lane];
        let Some(job) = &mut sender.job else { return };
        let variant = &mut self.variants[job.variant];
        let request = variant.request.fill(&job.nonce);
        (job.body_len, job.body_right) = (0, true);
        sender.reader.start(variant.bodiless);
        let before_ns = now_ns();
        let written = sender.send(request);
        self.wrote(lane, before_ns, written);
    }

    /// A write ended: with the first byte a slot counts as sent.
    fn wrote(&mut self, lane: usize, before_ns: u64, written: Result<Written, Failure>) {
        let written = match written {
            Ok(written) => written,
            Err(failure) => return self.broken(lane, failure),
        };
        if written != Written::All {
            self.watch(lane, Interest::ReadWrite);
        }
        let Some(job) = &mut self.lanes[lane].job else {
            return;
        };
        if written != Written::Nothing && job.sent_ns == 0 {
            job.sent_ns = before_ns;
            self.spin_until_ns = before_ns + self.spin_ns;
            if self.masked {
                // Outside its slices and gaps a load leaves the CPU to the others.
                let gap_end_ns = self.epoch_ns + self.mask.slices()[job.slice].gap_end_ns();
                self.spin_until_ns = self.spin_until_ns.min(gap_end_ns);
            }
            self.just_sent.push(*job);
        }
    }

    // Receiving.

    fn handle(&mut self, events: usize) {
        for index in 0..events {
            let (token, writable) = self.poller.event(index);
            let lane = token & u32::MAX as usize;
            // An event of a connection that was replaced in this very pass says nothing any more.
            if token == self.token(lane) {
                self.on_event(lane, writable);
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
        if !variant.statuses.is_empty() && !variant.statuses.contains(&head.status) {
            self.tally.failed(Failure::WrongStatus);
        } else if !(job.body_right && whole) {
            self.tally.failed(Failure::WrongBody);
        } else if more {
            self.tally.failed(Failure::MoreThanAnnounced);
        } else {
            let slice = self.mask.slices()[job.slice];
            let since_epoch_ns = now - self.epoch_ns;
            let spilled = self.masked && since_epoch_ns > slice.gap_end_ns();
            self.tally.completed(now - job.slot_ns, now - job.sent_ns);
            self.tally.in_slice(
                job.slice,
                since_epoch_ns.saturating_sub(slice.start_ns),
                spilled,
            );
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
    fn broken(&mut self, lane: usize, failure: Failure) {
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
    fn fail(&mut self, lane: usize, failure: Failure) {
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

    fn watch(&mut self, lane: usize, interest: Interest) {
        let token = self.token(lane);
        if let Some(socket) = self.lanes[lane].socket() {
            // A socket that cannot be watched any more shows itself at the next read or timeout.
            let _ = self.poller.modify(socket, token, interest);
        }
    }

    /// A lane's number in the low half, and which of its connections in the high half.
    fn token(&self, lane: usize) -> usize {
        lane | (self.lanes[lane].generation as usize) << 32
    }

    // Keeping the books, and time.

    fn account(&mut self, now: u64) {
        let pause = now.saturating_sub(self.back_by_ns);
        self.tally.longest_pause_ns = self.tally.longest_pause_ns.max(pause);
        if self.schedule.is_none() {
            // A closed loop has no times to be late for.
            self.just_sent.clear();
            self.accounted = self.backlog.found();
        }
        while self.accounted < self.backlog.found() {
            self.tally.found(now - self.slot_ns(self.accounted));
            self.accounted += 1;
        }
        for job in self.just_sent.drain(..) {
            let no_free_connection_ns = job.taken_ns.saturating_sub(job.found_ns);
            let lag_ns = job.sent_ns - job.slot_ns;
            self.tally
                .sent(lag_ns, no_free_connection_ns, job.sent_ns - job.taken_ns);
        }
        let elapsed = now.saturating_sub(self.epoch_ns);
        if self.tally.second_is_over(elapsed) {
            let quiet = self.next_slot_ns.saturating_sub(now) >= PACK_NS.0;
            if quiet || elapsed % SECOND_NS >= PACK_NS.1 {
                self.publish();
                self.tally.turn_second(elapsed);
            }
        }
    }

    fn publish(&self) {
        let ledger = &self.tally.ledger;
        let us = |histogram: &hdrhistogram::Histogram<u64>, q| {
            histogram.value_at_quantile(q) as f64 / 1e3
        };
        self.live.publish(Progress {
            due: self.backlog.found(),
            completed: ledger.completed,
            not_completed: ledger.wrong_response + ledger.timed_out + ledger.failed,
            p50_us: us(self.tally.this_second(), 0.5),
            p99_us: us(self.tally.this_second(), 0.99),
            late_p99_us: us(self.tally.generator_late(), 0.99),
        });
    }

    fn expire(&mut self, now: u64) {
        // Once more when the drain ends: whoever had the whole timeout by then used it up.
        if now < self.next_expiry_ns.min(self.drain_end_ns()) {
            return;
        }
        self.next_expiry_ns = now + TICK_NS.min(self.timeout_ns / 8).max(1);
        for lane in 0..self.lanes.len() {
            let expired = |job: Job| now.saturating_sub(job.taken_ns) >= self.timeout_ns;
            if self.lanes[lane].job.is_some_and(expired) {
                self.fail(lane, Failure::Timeout);
            }
        }
    }

    fn next_wait(&self, now: u64) -> Wait {
        if self.busy > 0 && now < self.spin_until_ns {
            return Wait::Look;
        }
        let mut until = match self.next_slot_ns {
            NEVER_NS if self.is_drained() => self.end_ns,
            NEVER_NS => self.drain_end_ns(),
            // A closed loop waits for its lanes, and for the end of the slice.
            slot if slot <= now => self.end_ns,
            slot => self.wake_for(slot, now),
        };
        if self.busy > 0 {
            until = until.min(self.next_expiry_ns);
        }
        let starved = !self.backlog.is_empty() || self.schedule.is_none();
        if starved && !self.cold.is_empty() && self.reconnect_at_ns > now {
            until = until.min(self.reconnect_at_ns);
        }
        if until > now {
            Wait::Until(until)
        } else {
            Wait::Look
        }
    }

    /// When to be awake for a slot: shortly before it, and well before its slice.
    fn wake_for(&self, slot_ns: u64, now: u64) -> u64 {
        let spin_from = slot_ns - self.spin_ns.min(slot_ns);
        if !self.masked {
            return spin_from;
        }
        let slice = self.mask.slice_at(slot_ns - self.epoch_ns).unwrap_or(0);
        let awake_ns =
            (self.epoch_ns + self.mask.slices()[slice].start_ns).saturating_sub(AWAKE_NS);
        if now < awake_ns {
            awake_ns
        } else {
            spin_from.max(awake_ns)
        }
    }

    fn is_drained(&self) -> bool {
        self.busy == 0 && self.backlog.is_empty()
    }

    fn drain_end_ns(&self) -> u64 {
        self.end_ns + self.timeout_ns
    }

    fn is_finished(&self, now: u64) -> bool {
        let all_due = self.backlog.found() == self.slots && now >= self.end_ns;
        all_due && (self.is_drained() || now >= self.drain_end_ns())
    }

    fn close_books(mut self) -> Tally {
        self.publish();
        let ledger = &mut self.tally.ledger;
        ledger.scheduled = self.slots;
        ledger.unsent = self.slots - self.backlog.taken();
        ledger.in_flight = self.busy.into();
        if self.masked {
            self.tally.spilled += ledger.scheduled - ledger.completed;
        }
        self.tally
    }
}
