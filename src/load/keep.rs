//! A few slots' whole responses, kept for judgement: head and body as they came.
//!
//! All other slots pay one comparison each. Buffers are made beforehand and bounded.

use serde::{Deserialize, Serialize};

use super::schedule::Share;
use super::template::base64_bytes;

/// Room that each response has from the start; only a longer one allocates, up to the most.
const ROOM: usize = 8 * 1024;
const MOST: usize = 1024 * 1024;

/// One kept response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The slot's index.
    pub slot: u64,
    /// The variant that it carried.
    pub variant: usize,
    /// Its nonce.
    pub nonce: String,
    /// Every byte, cut off after 1 MiB.
    #[serde(with = "base64_bytes")]
    pub response: Vec<u8>,
}

/// A thread's part of the slots to be kept.
pub struct Keeper {
    /// Those that are still to come, the next one last.
    slots: Vec<u64>,
    kept: Vec<Kept>,
    whole: Vec<bool>,
}

impl Keeper {
    /// Of these slots, those of a thread's share.
    pub fn new(slots: &[u64], share: Share) -> Self {
        let own = slots
            .iter()
            .rev()
            .filter(|slot| *slot % share.of == share.index);
        let slots: Vec<u64> = own.copied().collect();
        let empty = |slot: &u64| Kept {
            slot: *slot,
            variant: 0,
            nonce: String::with_capacity(16),
            response: Vec::with_capacity(ROOM),
        };
        Self {
            kept: slots.iter().rev().map(empty).collect(),
            whole: vec![false; slots.len()],
            slots,
        }
    }

    /// Whether slot `k`, which is sent now, is kept, and in which place. Slots come in order; one
    /// that is past was never sent.
    pub fn place(&mut self, k: u64) -> Option<usize> {
        while *self.slots.last()? <= k {
            let place = self.kept.len() - self.slots.len();
            if self.slots.pop() == Some(k) {
                return Some(place);
            }
        }
        None
    }

    /// A kept slot is sent, perhaps for the second time.
    pub fn begin(&mut self, place: usize, variant: usize, nonce: &[u8]) {
        let kept = &mut self.kept[place];
        kept.variant = variant;
        kept.nonce.clear();
        kept.nonce
            .extend(nonce.iter().map(|digit| char::from(*digit)));
        kept.response.clear();
    }

    /// Bytes of its response came.
    pub fn add(&mut self, place: usize, bytes: &[u8]) {
        let kept = &mut self.kept[place].response;
        let room = MOST.saturating_sub(kept.len());
        kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Its response was whole and right.
    pub fn end(&mut self, place: usize) {
        self.whole[place] = true;
    }

    /// Those that completed: a wrong status or body is the ledger's to count.
    pub fn into_kept(self) -> Vec<Kept> {
        let whole = self.kept.into_iter().zip(self.whole);
        whole
            .filter_map(|(kept, whole)| whole.then_some(kept))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_its_own_slots_and_misses_none_that_is_sent() {
        let mut keeper = Keeper::new(&[0, 1, 4, 6, 8], Share { index: 0, of: 2 });
        assert_eq!(keeper.place(0), Some(0));
        assert_eq!(keeper.place(2), None);
        // Slot 4 was never sent.
        assert_eq!(keeper.place(6), Some(2));
        assert_eq!(keeper.place(8), Some(3));
        assert_eq!(keeper.place(10), None);
        for (place, text) in [(0, &b"ab"[..]), (3, b"cd")] {
            keeper.begin(place, 7, b"00ff");
            keeper.add(place, b"lost with its connection");
            keeper.begin(place, 7, b"00ff");
            text.chunks(1).for_each(|part| keeper.add(place, part));
            keeper.end(place);
        }
        keeper.begin(2, 7, b"00ff");
        let kept = keeper.into_kept();
        let found: Vec<_> = kept
            .iter()
            .map(|kept| (kept.slot, &kept.response[..]))
            .collect();
        assert_eq!(found, [(0, &b"ab"[..]), (8, b"cd")]);
        assert_eq!((kept[0].variant, kept[0].nonce.as_str()), (7, "00ff"));
        let json = serde_json::to_string(&kept).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Kept>>(&json).unwrap(), kept);
    }

    #[test]
    fn a_response_without_end_is_cut_off() {
        let mut keeper = Keeper::new(&[0], Share { index: 0, of: 1 });
        let place = keeper.place(0).unwrap();
        keeper.begin(place, 0, b"");
        (0..3).for_each(|_| keeper.add(place, &vec![0; MOST / 2 + 1]));
        keeper.end(place);
        assert_eq!(keeper.into_kept()[0].response.len(), MOST);
    }
}
