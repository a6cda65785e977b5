//! Which slots are due, and when to be awake for the next one: one thread's view of the schedule.
//!
//! An open loop finds its slots in a schedule; in a closed loop a free connection is a due slot. The
//! driver asks both the same questions.

use std::sync::Arc;

use super::backlog::Backlog;
use super::mask::{Mask, Slice};
use super::schedule::{Schedule, Share};
use super::spec::{Pace, Spec};

/// A masked load is awake so long before its next slice, so that its first slot is not the one that
/// pays for waking up.
const AWAKE_NS: u64 = 300_000;
/// "Never", for a moment in time.
const NEVER_NS: u64 = u64::MAX;

/// A slot that a connection takes.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Its index in the whole schedule.
    pub k: u64,
    /// When it was due; in a closed loop, when it was taken.
    pub slot_ns: u64,
    /// The pass of the loop that found it due.
    pub found_ns: u64,
    /// The slice that it lies in.
    pub slice: usize,
}

/// One thread's part of the slots.
pub struct Pacer {
    /// `None` in a closed loop.
    schedule: Option<Arc<Schedule>>,
    mask: Arc<Mask>,
    masked: bool,
    blocks_ns: Vec<u64>,
    share: Share,
    spin_ns: u64,
    epoch_ns: u64,
    /// How many slots this thread will have; fewer than planned once the run was cut short.
    slots: u64,
    /// The end of the last slice, or of the run.
    end_ns: u64,
    /// When the next slot is due; in a closed loop, when the next slice begins.
    next_ns: u64,
    backlog: Backlog,
}

impl Pacer {
    /// `schedule` and `mask` are shared by all threads.
    pub fn new(
        spec: &Spec,
        schedule: Option<Arc<Schedule>>,
        mask: Arc<Mask>,
        share: Share,
    ) -> Self {
        let slots = match (spec.pace, &schedule) {
            (Pace::Open { .. }, Some(schedule)) => schedule.slots(),
            (Pace::Open { .. }, None) => 0,
            (Pace::Closed { requests }, _) => requests,
        };
        Self {
            schedule,
            mask,
            masked: spec.slices.is_some(),
            blocks_ns: spec.blocks_ns.clone(),
            share,
            spin_ns: spec.spin_ns,
            epoch_ns: 0,
            slots: share.count(slots),
            end_ns: 0,
            next_ns: NEVER_NS,
            backlog: Backlog::default(),
        }
    }

    /// Slot 0 of the schedule lies at `epoch_ns`.
    pub fn start(&mut self, epoch_ns: u64) {
        self.epoch_ns = epoch_ns;
        self.end_ns = epoch_ns + self.mask.slices().last().map_or(0, Slice::end_ns);
        self.next_ns = if self.schedule.is_some() {
            self.slot_or_never(0)
        } else {
            self.slice_after(epoch_ns)
        };
    }

    /// Finds the slots that are due; in a closed loop one for each of the `free` connections.
    pub fn find(&mut self, now: u64, free: u64) {
        if now < self.next_ns {
            return;
        }
        if let Some(schedule) = &self.schedule {
            let due = self
                .share
                .count(schedule.due(now - self.epoch_ns))
                .min(self.slots);
            self.backlog.find(due, now);
            self.next_ns = self.slot_or_never(due);
        } else if now >= self.end_ns {
            self.cut_short(now);
        } else if self.is_slice_over(now) {
            self.next_ns = self.slice_after(now);
        } else {
            self.backlog
                .find((self.backlog.taken() + free).min(self.slots), now);
            if self.backlog.found() == self.slots {
                self.cut_short(now);
            }
        }
    }

    /// What was found is all that there will be.
    pub fn cut_short(&mut self, now: u64) {
        self.slots = self.backlog.found();
        self.end_ns = self.end_ns.min(now);
        self.next_ns = NEVER_NS;
    }

    /// Whether a slot waits for a connection.
    pub fn has_due(&self) -> bool {
        !self.backlog.is_empty()
    }

    /// Takes the next due slot.
    pub fn take(&mut self, now: u64) -> Option<Slot> {
        let (nth, found_ns) = self.backlog.first()?;
        self.backlog.take();
        let slot_ns = if self.schedule.is_some() {
            self.slot_ns(nth)
        } else {
            now
        };
        let slice = if self.masked {
            self.mask.slice_at(slot_ns - self.epoch_ns)
        } else {
            None
        };
        Some(Slot {
            k: self.share.slot(nth),
            slot_ns,
            found_ns,
            slice: slice.unwrap_or(0),
        })
    }

    /// Whether slots have times that the generator could be late for.
    pub fn is_open_loop(&self) -> bool {
        self.schedule.is_some()
    }

    /// When this thread's `nth` slot of an open loop is due.
    pub fn slot_ns(&self, nth: u64) -> u64 {
        let schedule = self
            .schedule
            .as_ref()
            .expect("only an open loop has times of slots");
        self.epoch_ns + schedule.slot_ns(self.share.slot(nth))
    }

    /// When to be awake for the next slot: shortly before it, and well before its slice. The end, once
    /// there is none.
    pub fn wake_ns(&self, now: u64) -> u64 {
        match self.next_ns {
            NEVER_NS => self.end_ns,
            // A closed loop waits for its connections, and for the end of its time.
            next if next <= now => self.end_ns,
            next if self.masked => {
                let slice = self.mask.slice_at(next - self.epoch_ns).unwrap_or(0);
                let slice_ns = self.epoch_ns + self.mask.slices()[slice].start_ns;
                let awake_ns = slice_ns.saturating_sub(AWAKE_NS);
                if now < awake_ns {
                    awake_ns
                } else {
                    awake_ns.max(next.saturating_sub(self.spin_ns))
                }
            }
            next => next.saturating_sub(self.spin_ns),
        }
    }

    /// `until_ns`, but not past the gap: outside its slices and gaps a load leaves the CPU to the others.
    pub fn spin_until_ns(&self, until_ns: u64, slice: usize) -> u64 {
        if !self.masked {
            return until_ns;
        }
        until_ns.min(self.epoch_ns + self.mask.slices()[slice].gap_end_ns())
    }

    /// How long after its slice's start a response ended, and whether that was past the gap.
    pub fn in_slice(&self, slice: usize, ended_ns: u64) -> (u64, bool) {
        let slice = self.mask.slices()[slice];
        let elapsed = ended_ns - self.epoch_ns;
        (
            elapsed.saturating_sub(slice.start_ns),
            self.masked && elapsed > slice.gap_end_ns(),
        )
    }

    /// The block that a slot lies in, where there are blocks. One that a closed loop took as its time
    /// ran out lies in the last.
    pub fn block(&self, slot_ns: u64) -> Option<usize> {
        let last = self.blocks_ns.len().checked_sub(1)?;
        let elapsed = slot_ns - self.epoch_ns;
        let block = self.blocks_ns.partition_point(|end| *end <= elapsed);
        Some(block.min(last))
    }

    /// Whether it takes turns with others.
    pub fn is_masked(&self) -> bool {
        self.masked
    }

    /// Which of the slots are its own.
    pub fn share(&self) -> Share {
        self.share
    }

    /// How many slices it has.
    pub fn slices(&self) -> usize {
        self.mask.slices().len()
    }

    /// How many blocks it has.
    pub fn blocks(&self) -> usize {
        self.blocks_ns.len()
    }

    /// Since the epoch.
    pub fn elapsed_ns(&self, now: u64) -> u64 {
        now.saturating_sub(self.epoch_ns)
    }

    /// When the next slot is due; the far future once there is none.
    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Whether every slot was found and the schedule's time is up.
    pub fn is_over(&self, now: u64) -> bool {
        self.backlog.found() == self.slots && now >= self.end_ns
    }

    /// The end of its time.
    pub fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// How many slots were found due.
    pub fn found(&self) -> u64 {
        self.backlog.found()
    }

    /// (slots in all, those of them that no connection took), once it is over.
    pub fn totals(&self) -> (u64, u64) {
        (self.slots, self.slots - self.backlog.taken())
    }

    fn slot_or_never(&self, nth: u64) -> u64 {
        if nth < self.slots {
            self.slot_ns(nth)
        } else {
            NEVER_NS
        }
    }

    fn is_slice_over(&self, now: u64) -> bool {
        let elapsed = now - self.epoch_ns;
        let slice = self.mask.slice_at(elapsed);
        slice.is_none_or(|index| elapsed >= self.mask.slices()[index].end_ns())
    }

    fn slice_after(&self, now: u64) -> u64 {
        let slices = self.mask.slices();
        let next = slices.partition_point(|slice| slice.end_ns() <= now - self.epoch_ns);
        slices
            .get(next)
            .map_or(self.end_ns, |slice| self.epoch_ns + slice.start_ns)
    }
}
