//! When each slot is due, and which request it carries: pure functions of the slot's index.

use super::clock::SECOND_NS;
use crate::draw::Draw;

/// Slots at a fixed rate: slot k is due at `k * 1e9 / rate` nanoseconds, by integer arithmetic from
/// the index, so that no error adds up.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    rate_rps: u64,
    slots: u64,
}

impl Schedule {
    /// `floor(rate * duration)` slots.
    pub fn new(rate_rps: u64, duration_ns: u64) -> Self {
        let slots = u128::from(rate_rps) * u128::from(duration_ns) / u128::from(SECOND_NS);
        Self {
            rate_rps,
            slots: slots as u64,
        }
    }

    /// How many slots there are.
    pub fn slots(&self) -> u64 {
        self.slots
    }

    /// When slot `k` is due, in nanoseconds since the epoch.
    pub fn slot_ns(&self, k: u64) -> u64 {
        match k.checked_mul(SECOND_NS) {
            Some(product) => product / self.rate_rps,
            None => (u128::from(k) * u128::from(SECOND_NS) / u128::from(self.rate_rps)) as u64,
        }
    }

    /// How many slots are due at `elapsed_ns` since the epoch: the first that is not is this one.
    pub fn due(&self, elapsed_ns: u64) -> u64 {
        // Slot k is due when k * 1e9 / rate <= elapsed (rounded down), so k * 1e9 < (elapsed + 1) * rate.
        let due = (u128::from(elapsed_ns) + 1) * u128::from(self.rate_rps);
        (due.div_ceil(u128::from(SECOND_NS)) as u64).min(self.slots)
    }
}

/// A slot's nonce: different for each slot of a run, since it is a bijection of the index (the
/// finaliser of SplitMix64, Steele et al. 2014).
pub fn nonce(seed: u64, k: u64) -> u64 {
    let mut z = seed.wrapping_add(k.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A nonce as it is sent: 16 hexadecimal digits.
pub fn nonce_digits(nonce: u64) -> [u8; 16] {
    std::array::from_fn(|i| b"0123456789abcdef"[(nonce >> (60 - 4 * i)) as usize & 15])
}

/// Fewest entries of an [`Order`], so that its seams do not show as a short period.
const ORDER_MIN: usize = 1024;

/// Which variant each slot carries: a shuffled deck in which each variant has its weight's share,
/// dealt again and again. The same seed gives the same order to every adapter.
#[derive(Clone, Debug)]
pub struct Order {
    deck: Vec<u16>,
}

impl Order {
    /// A deck from the variants' weights, of which at least one is not 0.
    pub fn new(weights: &[u32], seed: u64) -> Self {
        let once = weights.iter().enumerate();
        let once = once.flat_map(|(i, weight)| std::iter::repeat_n(i as u16, *weight as usize));
        let once: Vec<u16> = once.collect();
        assert!(!once.is_empty(), "a load needs a variant with a weight");
        let mut deck = once.repeat(ORDER_MIN.div_ceil(once.len()));
        Draw::new("order of requests", seed).shuffle(&mut deck);
        Self { deck }
    }

    /// The variant of slot `k`.
    pub fn variant(&self, k: u64) -> usize {
        self.deck[(k % self.deck.len() as u64) as usize].into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_rate_gives_exactly_its_slots() {
        for (rate, seconds, slots) in [(1, 1, 1), (41, 1, 41), (333, 3, 999), (7, 10, 70)] {
            let schedule = Schedule::new(rate, seconds * SECOND_NS);
            assert_eq!(schedule.slots(), slots);
            assert!(schedule.slot_ns(slots - 1) < seconds * SECOND_NS);
        }
        assert_eq!(Schedule::new(3, SECOND_NS / 2).slots(), 1, "floor");
        assert_eq!(Schedule::new(1, SECOND_NS / 2).slots(), 0);
    }

    #[test]
    fn a_slot_is_due_from_its_own_nanosecond_on() {
        for rate in [1, 7, 333, 1000, 99_991, 1_000_000_007] {
            let schedule = Schedule::new(rate, 10 * SECOND_NS);
            for k in [0, 1, 2, 3, 999, 12_345, schedule.slots() - 1] {
                let k = k.min(schedule.slots() - 1);
                let at = schedule.slot_ns(k);
                assert!(schedule.due(at) > k, "rate {rate}, slot {k} at {at}");
                assert!(
                    at == 0 || schedule.due(at - 1) <= k,
                    "rate {rate}, slot {k}"
                );
            }
        }
    }

    #[test]
    fn a_schedule_of_hours_does_not_overflow() {
        let schedule = Schedule::new(1_000_000, 24 * 3600 * SECOND_NS);
        let last = schedule.slots() - 1;
        assert_eq!(schedule.slot_ns(last), 24 * 3600 * SECOND_NS - 1000);
        assert_eq!(schedule.due(u64::MAX), schedule.slots());
    }

    #[test]
    fn nonces_differ_and_have_sixteen_digits() {
        let mut seen = std::collections::HashSet::new();
        assert!((0..10_000).all(|k| seen.insert(nonce_digits(nonce(1, k)))));
        assert_eq!(&nonce_digits(0x0123_4567_89ab_cdef), b"0123456789abcdef");
    }

    #[test]
    fn a_deck_keeps_the_weights_and_the_seed() {
        let order = Order::new(&[3, 0, 1], 7);
        let count = |v| (0..1024).filter(|k| order.variant(*k) == v).count();
        assert_eq!([count(0), count(1), count(2)], [768, 0, 256]);
        assert_eq!(Order::new(&[3, 0, 1], 7).deck, order.deck);
        assert_ne!(Order::new(&[3, 0, 1], 8).deck, order.deck);
    }
}
