//! The one loop that drives a load: find the slots that are due, send them, wait for what comes.
//!
//! Sending comes first and bookkeeping after it; nothing here allocates or formats per request.

mod receive;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::load::clock::{SECOND_NS, now_ns};
use crate::load::keep::{Keeper, Kept};
use crate::load::lane::{Job, Lane, State, Written};
use crate::load::live::{Live, Progress};
use crate::load::outcome::Failure;
use crate::load::pacer::Pacer;
use crate::load::poller::{Interest, Poller};
use crate::load::schedule::{Order, nonce, nonce_digits};
use crate::load::spec::{Spec, Variant};
use crate::load::spin::Spin;
use crate::load::tally::Tally;

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

/// A thread's part of a load in progress.
pub struct Driver {
    target: SocketAddr,
    variants: Vec<Variant>,
    order: Order,
    seed: u64,
    timeout_ns: u64,
    pacer: Pacer,

    lanes: Vec<Lane>,
    /// Free and connected, the longest idle first: servers close what idles too long.
    open: VecDeque<usize>,
    /// Free and not connected.
    cold: VecDeque<usize>,
    busy: u32,
    poller: Poller,
    buffer: Vec<u8>,

    /// What this pass sent, accounted for after the sending.
    just_sent: Vec<Job>,
    /// How many of the slots found were accounted for.
    accounted: u64,
    /// How long a response is worth spinning for, and until when one is now.
    spin: Spin,
    spin_until_ns: u64,
    next_expiry_ns: u64,
    /// No connection is tried before this; it moves away while they fail.
    reconnect_at_ns: u64,
    back_off_ns: u64,
    /// The loop means to be back by then; later is a pause.
    back_by_ns: u64,

    keeper: Keeper,
    tally: Tally,
    live: Arc<Live>,
    /// Slots found, completed and not completed when `live` was last told.
    published: (u64, u64, u64),
}

impl Driver {
    /// Gets ready with so many connections: everything that allocates happens here.
    pub fn new(spec: &Spec, pacer: Pacer, connections: usize, live: Arc<Live>) -> io::Result<Self> {
        let weights: Vec<u32> = spec.variants.iter().map(|variant| variant.weight).collect();
        Ok(Self {
            target: spec.target,
            order: Order::new(&weights, spec.seed),
            variants: spec.variants.clone(),
            seed: spec.seed,
            timeout_ns: spec.timeout_ns,
            lanes: (0..connections).map(|_| Lane::cold()).collect(),
            open: VecDeque::with_capacity(connections),
            cold: (0..connections).collect(),
            busy: 0,
            poller: Poller::new()?,
            buffer: vec![0; RECEIVE_BYTES],
            just_sent: Vec::with_capacity(connections),
            accounted: 0,
            spin: Spin::new(spec.spin_ns),
            spin_until_ns: 0,
            next_expiry_ns: 0,
            reconnect_at_ns: 0,
            back_off_ns: BACK_OFF_NS.0,
            back_by_ns: 0,
            keeper: Keeper::new(&spec.keep, pacer.share()),
            tally: Tally::new(pacer.slices(), pacer.blocks()),
            pacer,
            live,
            published: (0, 0, 0),
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
        while self.is_connecting() && now_ns() < give_up_ns {
            let events = self.poller.wait(TICK_NS)?;
            self.handle(events);
        }
        Ok(())
    }

    /// Runs from `epoch_ns` (CLOCK_MONOTONIC) on, then drains for at most the timeout.
    pub fn run(mut self, epoch_ns: u64) -> io::Result<(Tally, Vec<Kept>)> {
        self.pacer.start(epoch_ns);
        self.back_by_ns = now_ns().max(epoch_ns);
        loop {
            let now = now_ns();
            self.note_pause(now);
            self.send_what_is_due(now);
            self.expire(now);
            if self.is_finished(now) {
                return Ok(self.close_books());
            }
            let wait = self.next_wait_ns(now);
            self.back_by_ns = now + wait;
            let events = self.poller.wait(wait)?;
            if events == 0 && wait == 0 {
                self.tally.spun_ns += now_ns() - now;
            }
            self.handle(events);
        }
    }

    // Sending.

    fn send_what_is_due(&mut self, now: u64) {
        self.find_due(now);
        self.send_due();
        self.account(now);
    }

    fn find_due(&mut self, now: u64) {
        if self.live.is_cancelled() {
            self.pacer.cut_short(now);
        }
        // A schedule does not ask who is free.
        let free = if self.pacer.is_open_loop() {
            0
        } else {
            self.open.len() + self.connectable(now)
        };
        self.pacer.find(now, free as u64);
    }

    fn send_due(&mut self) {
        while self.pacer.has_due() {
            let taken_ns = now_ns();
            if self.pacer.slice_ended(taken_ns) {
                return;
            }
            let Some(lane) = self.free_lane(taken_ns) else {
                return;
            };
            let Some(slot) = self.pacer.take(taken_ns) else {
                return;
            };
            self.busy += 1;
            self.lanes[lane].job = Some(Job {
                slot_ns: slot.slot_ns,
                slice: slot.slice,
                found_ns: slot.found_ns,
                taken_ns,
                sent_ns: 0,
                variant: self.order.variant(slot.k),
                kept: self.keeper.place(slot.k),
                nonce: nonce_digits(nonce(self.seed, slot.k)),
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
    fn free_lane(&mut self, now: u64) -> Option<usize> {
        self.open.pop_front().or_else(|| {
            let may_connect = !self.cold.is_empty() && self.connectable(now) > 0;
            may_connect.then(|| self.cold.pop_front()).flatten()
        })
    }

    /// How many lanes may connect: all, or while connections fail one at a time, after a while.
    fn connectable(&self, now: u64) -> usize {
        if self.back_off_ns == BACK_OFF_NS.0 {
            return self.cold.len();
        }
        let wait = now < self.reconnect_at_ns || self.is_connecting();
        if wait { 0 } else { self.cold.len().min(1) }
    }

    fn is_connecting(&self) -> bool {
        let connecting = |lane: &Lane| matches!(lane.state, State::Connecting(_));
        self.lanes.iter().any(connecting)
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
        if let Some(place) = job.kept {
            self.keeper.begin(place, job.variant, &job.nonce);
        }
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
            self.spin_until_ns = self
                .pacer
                .spin_until_ns(before_ns + self.spin.ns(), job.slice);
            self.just_sent.push(*job);
        }
    }

    // Keeping the books, and time.

    fn note_pause(&mut self, now: u64) {
        let pause = now.saturating_sub(self.back_by_ns);
        self.tally.longest_pause_ns = self.tally.longest_pause_ns.max(pause);
    }

    fn account(&mut self, now: u64) {
        if !self.pacer.is_open_loop() {
            // A closed loop has no times to be late for.
            self.just_sent.clear();
            self.accounted = self.pacer.found();
        }
        while self.accounted < self.pacer.found() {
            self.tally.found(now - self.pacer.slot_ns(self.accounted));
            self.accounted += 1;
        }
        for job in self.just_sent.drain(..) {
            let no_free_connection_ns = job.taken_ns.saturating_sub(job.found_ns);
            let lag_ns = job.sent_ns - job.slot_ns;
            self.tally
                .sent(lag_ns, no_free_connection_ns, job.sent_ns - job.taken_ns);
        }
        let elapsed = self.pacer.elapsed_ns(now);
        if self.tally.second_is_over(elapsed) {
            let quiet = self.pacer.next_ns().saturating_sub(now) >= PACK_NS.0;
            if quiet || elapsed % SECOND_NS >= PACK_NS.1 {
                self.publish(elapsed);
                self.tally.turn_second(elapsed);
            }
        }
    }

    fn publish(&mut self, elapsed_ns: u64) {
        let ledger = &self.tally.ledger;
        let counts = (
            self.pacer.found(),
            ledger.completed,
            ledger.wrong_response + ledger.timed_out + ledger.failed,
        );
        let before = std::mem::replace(&mut self.published, counts);
        let us = |histogram: &hdrhistogram::Histogram<u64>, q| {
            histogram.value_at_quantile(q) as f64 / 1e3
        };
        self.live.publish(Progress {
            elapsed_s: elapsed_ns as f64 / 1e9,
            // A closed loop may have forgotten some.
            due: counts.0.saturating_sub(before.0),
            completed: counts.1 - before.1,
            not_completed: counts.2 - before.2,
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

    /// How long to sleep before the next pass; 0 to only look, because a slot or a response is about
    /// to come.
    fn next_wait_ns(&self, now: u64) -> u64 {
        if self.busy > 0 && now < self.spin_until_ns {
            return 0;
        }
        let mut until = self.pacer.wake_ns(now);
        if self.pacer.is_over(now) {
            until = self.drain_end_ns();
        }
        if self.busy > 0 {
            until = until.min(self.next_expiry_ns);
        }
        if !self.cold.is_empty() && self.reconnect_at_ns > now {
            until = until.min(self.reconnect_at_ns);
        }
        until.saturating_sub(now)
    }

    fn is_drained(&self) -> bool {
        self.busy == 0 && !self.pacer.has_due()
    }

    fn drain_end_ns(&self) -> u64 {
        self.pacer.end_ns() + self.timeout_ns
    }

    fn is_finished(&self, now: u64) -> bool {
        self.pacer.is_over(now) && (self.is_drained() || now >= self.drain_end_ns())
    }

    fn close_books(mut self) -> (Tally, Vec<Kept>) {
        self.publish(self.pacer.elapsed_ns(now_ns()));
        let (slots, unsent) = self.pacer.totals();
        let ledger = &mut self.tally.ledger;
        (ledger.scheduled, ledger.unsent, ledger.in_flight) = (slots, unsent, self.busy.into());
        if self.pacer.is_masked() {
            self.tally.spilled += slots - self.tally.ledger.completed;
        }
        (self.tally, self.keeper.into_kept())
    }
}
