//! What others may see of a running load, and the one thing that they may ask of it: to stop.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use serde::{Deserialize, Serialize};

/// Written by each driver once a second, read by whoever shows it.
#[derive(Debug, Default)]
pub struct Live {
    cancelled: AtomicBool,
    elapsed_ns: AtomicU64,
    due: AtomicU64,
    completed: AtomicU64,
    not_completed: AtomicU64,
    p50_ns: AtomicU64,
    p99_ns: AtomicU64,
    late_p99_ns: AtomicU64,
}

/// A look at a running load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// How long the load had lasted when this was counted, in seconds on the clock.
    pub elapsed_s: f64,
    /// Slots due so far.
    pub due: u64,
    /// Slots completed so far.
    pub completed: u64,
    /// Wrong, timed out or failed so far.
    pub not_completed: u64,
    /// Response median of the last full second (of one thread).
    pub p50_us: f64,
    /// Its 99th percentile.
    pub p99_us: f64,
    /// `generator_late` p99 so far.
    pub late_p99_us: f64,
}

impl Progress {
    /// Without what an earlier load had counted into the same place.
    pub fn since(self, before: Self) -> Self {
        Self {
            due: self.due - before.due,
            completed: self.completed - before.completed,
            not_completed: self.not_completed - before.not_completed,
            ..self
        }
    }
}

impl Live {
    /// Ends the schedule at the slots due so far; the drain follows.
    pub fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
    }

    /// Whether somebody asked for the end.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
    }

    /// Adds what one thread counted since it last did, and shows its clocks.
    pub fn publish(&self, more: Progress) {
        self.elapsed_ns
            .store((more.elapsed_s * 1e9) as u64, Relaxed);
        self.due.fetch_add(more.due, Relaxed);
        self.completed.fetch_add(more.completed, Relaxed);
        self.not_completed.fetch_add(more.not_completed, Relaxed);
        let ns = |us: f64| (us * 1e3) as u64;
        self.p50_ns.store(ns(more.p50_us), Relaxed);
        self.p99_ns.store(ns(more.p99_us), Relaxed);
        self.late_p99_ns.store(ns(more.late_p99_us), Relaxed);
    }

    /// The last state shown; all zeros before the first second is over.
    pub fn progress(&self) -> Progress {
        let us = |value: &AtomicU64| value.load(Relaxed) as f64 / 1e3;
        Progress {
            elapsed_s: self.elapsed_ns.load(Relaxed) as f64 / 1e9,
            due: self.due.load(Relaxed),
            completed: self.completed.load(Relaxed),
            not_completed: self.not_completed.load(Relaxed),
            p50_us: us(&self.p50_ns),
            p99_us: us(&self.p99_ns),
            late_p99_us: us(&self.late_p99_ns),
        }
    }
}
