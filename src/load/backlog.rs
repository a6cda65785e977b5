//! Slots that are due and not taken yet, with the moment each was found due.

use std::collections::VecDeque;

/// Most runs of slots kept apart. Past it the newest run grows: its later slots are then said to
/// have been found a little earlier than they were, and memory stays bounded.
const RUNS_MAX: usize = 1 << 16;

/// A queue of slots; slots found in one pass share one entry.
#[derive(Debug, Default)]
pub struct Backlog {
    taken: u64,
    found: u64,
    /// (the first slot after this run, when the run was found)
    runs: VecDeque<(u64, u64)>,
}

impl Backlog {
    /// All slots below `due` are due, as seen at `now_ns`.
    pub fn find(&mut self, due: u64, now_ns: u64) {
        if due <= self.found {
            return;
        }
        self.found = due;
        if self.runs.len() < RUNS_MAX {
            self.runs.push_back((due, now_ns));
        } else if let Some(newest) = self.runs.back_mut() {
            newest.0 = due;
        }
    }

    /// The next slot to take, and when it was found due.
    pub fn first(&self) -> Option<(u64, u64)> {
        self.runs
            .front()
            .map(|(_, found_ns)| (self.taken, *found_ns))
    }

    /// Takes it.
    pub fn take(&mut self) {
        self.taken += 1;
        if self.runs.front().is_some_and(|(end, _)| *end == self.taken) {
            self.runs.pop_front();
        }
    }

    /// Forgets the slots that were found and not taken.
    pub fn forget(&mut self) {
        self.found = self.taken;
        self.runs.clear();
    }

    /// Whether every slot found was taken.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// How many slots were found due.
    pub fn found(&self) -> u64 {
        self.found
    }

    /// How many of them were taken.
    pub fn taken(&self) -> u64 {
        self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_come_in_order_with_the_pass_that_found_them() {
        let mut backlog = Backlog::default();
        backlog.find(2, 100);
        backlog.find(2, 150);
        backlog.find(3, 200);
        let mut seen = vec![];
        while let Some(first) = backlog.first() {
            seen.push(first);
            backlog.take();
        }
        assert_eq!(seen, [(0, 100), (1, 100), (2, 200)]);
        assert!(backlog.is_empty() && backlog.taken() == 3 && backlog.found() == 3);
    }

    #[test]
    fn what_is_forgotten_was_never_found() {
        let mut backlog = Backlog::default();
        backlog.find(3, 100);
        backlog.take();
        backlog.forget();
        assert!(backlog.is_empty() && backlog.found() == 1);
        backlog.find(2, 200);
        assert_eq!(backlog.first(), Some((1, 200)));
    }

    #[test]
    fn it_stays_bounded() {
        let mut backlog = Backlog::default();
        for k in 0..3 * RUNS_MAX as u64 {
            backlog.find(k + 1, k);
        }
        assert_eq!(backlog.runs.len(), RUNS_MAX);
        let mut count = 0;
        while backlog.first().is_some() {
            backlog.take();
            count += 1;
        }
        assert_eq!(count, 3 * RUNS_MAX);
    }
}
