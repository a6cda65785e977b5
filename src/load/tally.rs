//! What a load adds up to: the ledger, the clocks' histograms, the causes of lag. Nothing here
//! allocates per request; once a second a histogram is packed and emptied.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use super::clock::SECOND_NS;
use super::outcome::{Failure, Outcome};
use crate::record::hlog::{Hlog, Interval, new_histogram};
use crate::record::schema::{Connect, LagCause, LagCauses, Ledger};

/// A shorter delay is the loop's own step from one line to the next, and delays no slot.
const DELAY_NS: u64 = 1_000;

/// One cause's delays: all in the sum, those that matter in the count.
struct Cause {
    delays: Histogram<u64>,
    sum_ns: u64,
}

impl Cause {
    fn new() -> Self {
        Self {
            delays: new_histogram(),
            sum_ns: 0,
        }
    }

    fn record(&mut self, ns: u64) {
        self.sum_ns += ns;
        if ns >= DELAY_NS {
            self.delays.saturating_record(ns);
        }
    }

    fn figures(&self) -> LagCause {
        let count = self.delays.len();
        let p99 = || self.delays.value_at_quantile(0.99) as f64 / 1e3;
        LagCause {
            count,
            sum_us: self.sum_ns as f64 / 1e3,
            p99_us: (count >= 1000).then(p99),
            max_us: self.delays.max() as f64 / 1e3,
        }
    }
}

/// The counts of one load.
pub struct Tally {
    /// Where every slot ended.
    pub ledger: Ledger,
    /// Failures by [`Failure::index`].
    errors: [u64; Failure::ALL.len()],
    /// Bytes received.
    pub bytes_in: u64,
    connects: u64,
    connect_sum_ns: u64,
    connect_max_ns: u64,
    /// The longest pause between two passes of the loop.
    pub longest_pause_ns: u64,
    /// Time in passes that only looked and found nothing: what spinning costs.
    pub spun_ns: u64,
    /// Slots that did not end before their slice's gap did.
    pub spilled: u64,
    /// Per slice, the last response's end since the slice's start.
    slices_ns: Vec<u64>,
    /// Completed slots by the block that they were due in.
    pub completed_by_block: Vec<u64>,
    second: u64,
    response: Histogram<u64>,
    packed: Vec<Interval>,
    service: Histogram<u64>,
    lag: Histogram<u64>,
    generator_late: Histogram<u64>,
    no_free_connection: Cause,
    socket_full: Cause,
}

impl Tally {
    /// Nothing yet, over so many slices and blocks.
    pub fn new(slices: usize, blocks: usize) -> Self {
        Self {
            ledger: Ledger::default(),
            errors: [0; Failure::ALL.len()],
            bytes_in: 0,
            connects: 0,
            connect_sum_ns: 0,
            connect_max_ns: 0,
            longest_pause_ns: 0,
            spun_ns: 0,
            spilled: 0,
            slices_ns: vec![0; slices],
            completed_by_block: vec![0; blocks],
            second: 0,
            response: new_histogram(),
            packed: Vec::with_capacity(4096),
            service: new_histogram(),
            lag: new_histogram(),
            generator_late: new_histogram(),
            no_free_connection: Cause::new(),
            socket_full: Cause::new(),
        }
    }

    /// Adds another thread's counts; both are over.
    pub fn merge(&mut self, mut other: Tally) {
        let (sum, part) = (&mut self.ledger, &other.ledger);
        sum.scheduled += part.scheduled;
        sum.completed += part.completed;
        sum.wrong_response += part.wrong_response;
        sum.timed_out += part.timed_out;
        sum.failed += part.failed;
        sum.unsent += part.unsent;
        sum.in_flight += part.in_flight;
        for (sum, part) in self.errors.iter_mut().zip(other.errors) {
            *sum += part;
        }
        self.bytes_in += other.bytes_in;
        self.connects += other.connects;
        self.connect_sum_ns += other.connect_sum_ns;
        self.connect_max_ns = self.connect_max_ns.max(other.connect_max_ns);
        self.longest_pause_ns = self.longest_pause_ns.max(other.longest_pause_ns);
        self.spun_ns += other.spun_ns;
        self.spilled += other.spilled;
        for (sum, part) in self.slices_ns.iter_mut().zip(&other.slices_ns) {
            *sum = (*sum).max(*part);
        }
        let blocks = self.completed_by_block.iter_mut();
        for (sum, part) in blocks.zip(&other.completed_by_block) {
            *sum += part;
        }
        other.turn_second(u64::MAX / 2);
        self.packed.append(&mut other.packed);
        for (sum, part) in [
            (&mut self.service, &other.service),
            (&mut self.lag, &other.lag),
            (&mut self.generator_late, &other.generator_late),
            (
                &mut self.no_free_connection.delays,
                &other.no_free_connection.delays,
            ),
            (&mut self.socket_full.delays, &other.socket_full.delays),
        ] {
            add(sum, part);
        }
        self.no_free_connection.sum_ns += other.no_free_connection.sum_ns;
        self.socket_full.sum_ns += other.socket_full.sum_ns;
    }

    /// A completed slot's slice, how long after its start the response ended, and whether that was
    /// past the gap.
    pub fn in_slice(&mut self, slice: usize, ended_ns: u64, spilled: bool) {
        self.slices_ns[slice] = self.slices_ns[slice].max(ended_ns);
        self.spilled += u64::from(spilled);
    }

    /// The block that a completed slot was due in, where the load has blocks.
    pub fn in_block(&mut self, block: Option<usize>) {
        if let Some(block) = block {
            self.completed_by_block[block] += 1;
        }
    }

    /// The time in which a closed loop was served: the sum over its slices of the time from the start
    /// to the last response (METHOD, *capacity*).
    pub fn served_ns(&self) -> u64 {
        self.slices_ns.iter().sum()
    }

    /// A slot's response was whole and right.
    pub fn completed(&mut self, response_ns: u64, service_ns: u64) {
        self.ledger.completed += 1;
        self.response.saturating_record(response_ns);
        self.service.saturating_record(service_ns);
    }

    /// A slot ended otherwise.
    pub fn failed(&mut self, failure: Failure) {
        self.note(failure);
        match failure.outcome() {
            Outcome::Completed => unreachable!("a failure completes nothing"),
            Outcome::WrongResponse => self.ledger.wrong_response += 1,
            Outcome::TimedOut => self.ledger.timed_out += 1,
            Outcome::Failed => self.ledger.failed += 1,
        }
    }

    /// Something went wrong that no slot paid for: an idle connection that was reset, say.
    pub fn note(&mut self, failure: Failure) {
        self.errors[failure.index()] += 1;
    }

    /// A slot was found due so long after its time.
    pub fn found(&mut self, late_ns: u64) {
        self.generator_late.saturating_record(late_ns);
    }

    /// A slot's first byte was written: its lag and the parts that are not the generator's.
    pub fn sent(&mut self, lag_ns: u64, no_free_connection_ns: u64, socket_full_ns: u64) {
        self.lag.saturating_record(lag_ns);
        self.no_free_connection.record(no_free_connection_ns);
        self.socket_full.record(socket_full_ns);
    }

    /// A connection was made.
    pub fn connected(&mut self, took_ns: u64) {
        self.connects += 1;
        self.connect_sum_ns += took_ns;
        self.connect_max_ns = self.connect_max_ns.max(took_ns);
    }

    /// Whether the running second is over at `elapsed_ns` since the epoch.
    pub fn second_is_over(&self, elapsed_ns: u64) -> bool {
        elapsed_ns >= (self.second + 1) * SECOND_NS
    }

    /// Packs the running second's responses and goes on with the second of `elapsed_ns`.
    pub fn turn_second(&mut self, elapsed_ns: u64) {
        if !self.response.is_empty() {
            self.packed
                .push(Interval::pack(self.second as f64, 1.0, &self.response));
            self.response.reset();
        }
        self.second = elapsed_ns / SECOND_NS;
    }

    /// The responses of the running second so far.
    pub fn this_second(&self) -> &Histogram<u64> {
        &self.response
    }

    /// Lateness so far.
    pub fn generator_late(&self) -> &Histogram<u64> {
        &self.generator_late
    }

    /// Connections made, and how long they took.
    pub fn connect_figures(&self) -> (u64, Connect) {
        let us = |ns: f64| (self.connects > 0).then_some(ns / 1e3);
        let figures = Connect {
            count: self.connects,
            mean: us(self.connect_sum_ns as f64 / self.connects.max(1) as f64),
            max: us(self.connect_max_ns as f64),
        };
        (self.connects, figures)
    }

    /// The causes of lag; `generator_late` is filled in from the hlog.
    pub fn lag_causes(&self) -> LagCauses {
        LagCauses {
            generator_late: LagCause::default(),
            no_free_connection: self.no_free_connection.figures(),
            socket_full: self.socket_full.figures(),
        }
    }

    /// The failures that there were.
    pub fn errors(&self) -> BTreeMap<String, u64> {
        let counts = Failure::ALL
            .iter()
            .map(|f| (f.name().to_owned(), self.errors[f.index()]));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    /// The histograms as they go into `latency.hlog`.
    pub fn into_hlog(mut self, start_unix_s: f64) -> Hlog {
        self.turn_second(u64::MAX / 2);
        // Threads pack the same second each; a stable sort keeps their order, which does not matter.
        self.packed.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
        let same_second = |a: &Interval, b: &Interval| a.start_s == b.start_s;
        let response = self
            .packed
            .chunk_by(same_second)
            .map(|second| match second {
                [one] => one.clone(),
                many => {
                    let mut sum = new_histogram();
                    many.iter().for_each(|part| add(&mut sum, &part.unpack()));
                    Interval::pack(many[0].start_s, many[0].duration_s, &sum)
                }
            });
        Hlog {
            start_unix_s,
            response: response.collect(),
            service: self.service,
            lag: self.lag,
            generator_late: self.generator_late,
        }
    }
}

fn add(sum: &mut Histogram<u64>, part: &Histogram<u64>) {
    sum.add(part).expect("all histograms have the same bounds");
}
