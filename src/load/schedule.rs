//! When each slot is due, and which request it carries: pure functions of the slot's index.

use serde::{Deserialize, Serialize};

use super::clock::SECOND_NS;
use super::mask::Mask;
use crate::draw::Draw;

/// How slots are laid in own time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// Slot k at `k * 1e9 / rate` nanoseconds, by integer arithmetic from the index, so that no error
    /// adds up.
    #[default]
    Uniform,
    /// As many, each anywhere with the same chance: Poisson arrivals given their count.
    Poisson,
}

/// When the slots of an open loop are due: `floor(rate * own time)` of them, mapped to the clock.
#[derive(Clone, Debug)]
pub struct Schedule {
    rate_rps: u64,
    slots: u64,
    /// Own times of Poisson slots, sorted: 8 bytes a slot.
    drawn_ns: Option<Vec<u64>>,
    mask: Mask,
}

impl Schedule {
    /// Lays the slots; a seed is only drawn from for Poisson arrivals.
    pub fn new(rate_rps: u64, arrivals: Arrivals, mask: Mask, seed: u64) -> Self {
        let own_ns = mask.own_length_ns();
        let slots = u128::from(rate_rps) * u128::from(own_ns) / u128::from(SECOND_NS);
        let drawn = || {
            let mut draw = Draw::new("arrivals", seed);
            let mut times: Vec<u64> = (0..slots).map(|_| draw.below(own_ns)).collect();
            times.sort_unstable();
            times
        };
        let drawn_ns = (arrivals == Arrivals::Poisson).then(drawn);
        Self {
            rate_rps,
            slots: slots as u64,
            drawn_ns,
            mask,
        }
    }

    /// How many slots there are.
    pub fn slots(&self) -> u64 {
        self.slots
    }

    /// The slices that they are laid in.
    pub fn mask(&self) -> &Mask {
        &self.mask
    }

    /// When slot `k` is due on the clock, in nanoseconds since the epoch.
    pub fn slot_ns(&self, k: u64) -> u64 {
        self.mask.clock_ns(self.own_ns(k))
    }

    /// How many slots are due at `elapsed_ns` since the epoch: the first that is not is this one.
    pub fn due(&self, elapsed_ns: u64) -> u64 {
        let own_ns = self.mask.own_through_ns(elapsed_ns);
        let due = match &self.drawn_ns {
            Some(times) => times.partition_point(|time| *time < own_ns) as u64,
            // Slot k is due once k * 1e9 / rate, rounded down, is below own_ns.
            None => match own_ns.checked_mul(self.rate_rps) {
                Some(product) => product.div_ceil(SECOND_NS),
                None => (u128::from(own_ns) * u128::from(self.rate_rps)).div_ceil(SECOND_NS.into())
                    as u64,
            },
        };
        due.min(self.slots)
    }

    fn own_ns(&self, k: u64) -> u64 {
        match (&self.drawn_ns, k.checked_mul(SECOND_NS)) {
            (Some(times), _) => times[k as usize],
            (None, Some(product)) => product / self.rate_rps,
            (None, None) => {
                (u128::from(k) * u128::from(SECOND_NS) / u128::from(self.rate_rps)) as u64
            }
        }
    }
}

/// One thread's part of the slots: every `of`-th, from `index` on. Threads share the epoch and the
/// schedule; the rate is never multiplied.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Which thread.
    pub index: u64,
    /// How many there are.
    pub of: u64,
}

impl Share {
    /// How many of the first `slots` are this thread's.
    pub fn count(self, slots: u64) -> u64 {
        slots.saturating_sub(self.index).div_ceil(self.of)
    }

    /// The slot that is this thread's `nth`.
    pub fn slot(self, nth: u64) -> u64 {
        nth * self.of + self.index
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
    use crate::load::mask::Slice;

    fn uniform(rate_rps: u64, duration_ns: u64) -> Schedule {
        Schedule::new(rate_rps, Arrivals::Uniform, Mask::always(duration_ns), 0)
    }

    fn slices() -> Mask {
        let slice = |i: u64| Slice {
            start_ns: i * 50_000_000,
            length_ns: 20_000_000,
            gap_ns: 1_000_000,
        };
        Mask::new((0..100).map(slice).collect()).unwrap()
    }

    #[test]
    fn any_rate_gives_exactly_its_slots() {
        for (rate, seconds, slots) in [(1, 1, 1), (41, 1, 41), (333, 3, 999), (7, 10, 70)] {
            let schedule = uniform(rate, seconds * SECOND_NS);
            assert_eq!(schedule.slots(), slots);
            assert!(schedule.slot_ns(slots - 1) < seconds * SECOND_NS);
        }
        assert_eq!(uniform(3, SECOND_NS / 2).slots(), 1, "floor");
        assert_eq!(uniform(1, SECOND_NS / 2).slots(), 0);
    }

    #[test]
    fn a_slot_is_due_from_its_own_nanosecond_on() {
        let masked = |arrivals| Schedule::new(777, arrivals, slices(), 5);
        let mut schedules = vec![masked(Arrivals::Uniform), masked(Arrivals::Poisson)];
        schedules.extend([1, 7, 333, 99_991].map(|rate| uniform(rate, 10 * SECOND_NS)));
        for schedule in schedules {
            for k in 0..schedule.slots().min(3000) {
                let at = schedule.slot_ns(k);
                assert!(schedule.due(at) > k, "{k} at {at}");
                assert!(at == 0 || schedule.due(at - 1) <= k, "{k} at {at}");
            }
        }
    }

    #[test]
    fn a_schedule_of_hours_does_not_overflow() {
        let schedule = uniform(1_000_000, 24 * 3600 * SECOND_NS);
        let last = schedule.slots() - 1;
        assert_eq!(schedule.slot_ns(last), 24 * 3600 * SECOND_NS - 1000);
        assert_eq!(schedule.due(u64::MAX / 2), schedule.slots());
    }

    #[test]
    fn a_mask_moves_slots_into_its_slices_and_changes_nothing_else() {
        for arrivals in [Arrivals::Uniform, Arrivals::Poisson] {
            let masked = Schedule::new(5000, arrivals, slices(), 3);
            let plain = Schedule::new(5000, arrivals, Mask::always(2 * SECOND_NS), 3);
            assert_eq!((masked.slots(), plain.slots()), (10_000, 10_000));
            for k in 0..masked.slots() {
                assert_eq!(
                    masked.own_ns(k),
                    plain.own_ns(k),
                    "the same schedule in own time"
                );
                let within = masked.slot_ns(k) % 50_000_000;
                assert!(within < 20_000_000, "slot {k} lies outside its slices");
            }
        }
    }

    #[test]
    fn poisson_arrivals_have_their_count_their_seed_and_exponential_gaps() {
        let drawn = |seed| Schedule::new(10_000, Arrivals::Poisson, Mask::always(SECOND_NS), seed);
        let schedule = drawn(1);
        assert_eq!(schedule.slots(), 10_000);
        let times: Vec<u64> = (0..10_000).map(|k| schedule.slot_ns(k)).collect();
        assert!(times.is_sorted());
        let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
        // P(gap > mean) = 1/e for exponential gaps; 0 for uniform ones. SD 0.005.
        let long = gaps.filter(|gap| *gap > 100_000).count() as f64 / 10_000.0;
        assert!((long - (-1f64).exp()).abs() < 0.025, "{long}");
        assert_eq!(drawn(1).drawn_ns, schedule.drawn_ns);
        assert_ne!(drawn(2).drawn_ns, schedule.drawn_ns);
    }

    #[test]
    fn threads_divide_the_slots_and_multiply_nothing() {
        for (slots, of) in [(1, 8), (8, 8), (1000, 3), (7, 2), (0, 4)] {
            let shares = (0..of).map(|index| Share { index, of });
            let mut all: Vec<u64> = shares
                .flat_map(|share| (0..share.count(slots)).map(move |nth| share.slot(nth)))
                .collect();
            all.sort_unstable();
            assert_eq!(all, (0..slots).collect::<Vec<_>>());
        }
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
