//! Slices of time: two or more loads on one clock take turns, each in its own slices.
//!
//! Slots are laid on a load's *own time* (its slices joined end to end) and mapped to the clock here,
//! so that a masked schedule is the same in own time as an unmasked one.

use serde::{Deserialize, Serialize};

/// A stretch of the clock in which a load sends, and the gap after it in which it only receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slice {
    /// Its start, in nanoseconds since the epoch.
    pub start_ns: u64,
    /// Its length.
    pub length_ns: u64,
    /// How long the gap after it is.
    pub gap_ns: u64,
}

impl Slice {
    /// The first nanosecond after it.
    pub fn end_ns(&self) -> u64 {
        self.start_ns + self.length_ns
    }

    /// The first nanosecond after its gap.
    pub fn gap_end_ns(&self) -> u64 {
        self.end_ns() + self.gap_ns
    }
}

/// A load's slices in order, none overlapping another or another's gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    slices: Vec<Slice>,
    /// Own time at the start of each slice.
    own_starts_ns: Vec<u64>,
    own_length_ns: u64,
}

impl Mask {
    /// From slices; `None` unless they are in order, apart from each other, and not empty.
    pub fn new(slices: Vec<Slice>) -> Option<Self> {
        let apart = slices
            .windows(2)
            .all(|pair| pair[0].gap_end_ns() <= pair[1].start_ns);
        if slices.is_empty() || !apart || slices.iter().any(|slice| slice.length_ns == 0) {
            return None;
        }
        let mut own_length_ns = 0;
        let own_starts = slices.iter().map(|slice| {
            let start = own_length_ns;
            own_length_ns += slice.length_ns;
            start
        });
        let own_starts_ns = own_starts.collect();
        Some(Self {
            slices,
            own_starts_ns,
            own_length_ns,
        })
    }

    /// One slice without a gap: a load that is always on.
    pub fn always(length_ns: u64) -> Self {
        let slices = vec![Slice {
            start_ns: 0,
            length_ns,
            gap_ns: 0,
        }];
        Self {
            slices,
            own_starts_ns: vec![0],
            own_length_ns: length_ns,
        }
    }

    /// The slices' lengths together.
    pub fn own_length_ns(&self) -> u64 {
        self.own_length_ns
    }

    /// The slices.
    pub fn slices(&self) -> &[Slice] {
        &self.slices
    }

    /// The moment on the clock of a moment of own time; past the end it goes on from the last slice.
    pub fn clock_ns(&self, own_ns: u64) -> u64 {
        let index = self.own_starts_ns.partition_point(|start| *start <= own_ns) - 1;
        self.slices[index].start_ns + (own_ns - self.own_starts_ns[index])
    }

    /// How much own time lies before the end of the clock's nanosecond `clock_ns`.
    pub fn own_through_ns(&self, clock_ns: u64) -> u64 {
        match self.slice_at(clock_ns) {
            None => 0,
            Some(index) => {
                let within = clock_ns + 1 - self.slices[index].start_ns;
                self.own_starts_ns[index] + within.min(self.slices[index].length_ns)
            }
        }
    }

    /// The last slice that has begun at a moment on the clock.
    pub fn slice_at(&self, clock_ns: u64) -> Option<usize> {
        self.slices
            .partition_point(|slice| slice.start_ns <= clock_ns)
            .checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(start_ns: u64, length_ns: u64) -> Slice {
        Slice {
            start_ns,
            length_ns,
            gap_ns: 5,
        }
    }

    #[test]
    fn own_time_and_the_clock_are_each_others_inverse() {
        let mask = Mask::new(vec![slice(10, 20), slice(50, 1), slice(100, 30)]).unwrap();
        assert_eq!(mask.own_length_ns(), 51);
        for own in 0..51 {
            let clock = mask.clock_ns(own);
            let index = mask.slice_at(clock).unwrap();
            assert!(
                clock < mask.slices()[index].end_ns(),
                "{own} lies in a slice"
            );
            assert_eq!(mask.own_through_ns(clock), own + 1);
            assert_eq!(mask.own_through_ns(clock - 1), own);
        }
        assert_eq!((mask.own_through_ns(0), mask.own_through_ns(1000)), (0, 51));
        assert_eq!(
            (mask.own_through_ns(30), mask.own_through_ns(49)),
            (20, 20),
            "a gap adds nothing"
        );
    }

    #[test]
    fn slices_that_overlap_are_refused() {
        assert!(Mask::new(vec![]).is_none());
        assert!(Mask::new(vec![slice(0, 0)]).is_none());
        assert!(
            Mask::new(vec![slice(0, 10), slice(14, 10)]).is_none(),
            "within the gap"
        );
        assert!(Mask::new(vec![slice(0, 10), slice(15, 10)]).is_some());
        assert!(Mask::new(vec![slice(50, 10), slice(0, 10)]).is_none());
    }

    #[test]
    fn always_on_is_a_mask_too() {
        let mask = Mask::always(100);
        assert_eq!(
            (
                mask.clock_ns(42),
                mask.own_through_ns(41),
                mask.own_through_ns(500)
            ),
            (42, 42, 100)
        );
    }
}
