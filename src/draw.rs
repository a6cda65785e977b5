//! Seeded draws that stay the same on every machine and in every version: ChaCha8 under a key that
//! says what is drawn, so that two purposes never share a stream.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

/// A stream of draws for one purpose.
pub struct Draw(ChaCha8Rng);

impl Draw {
    /// The stream of this purpose under this seed.
    pub fn new(purpose: &str, seed: u64) -> Self {
        Self(ChaCha8Rng::from_seed(key(purpose, seed, &[])))
    }

    /// A number below `bound`, each equally likely: values of an incomplete last cycle are redrawn.
    pub fn below(&mut self, bound: u64) -> u64 {
        let excess = (u64::MAX % bound + 1) % bound;
        loop {
            let drawn = self.0.next_u64();
            if drawn <= u64::MAX - excess {
                return drawn % bound;
            }
        }
    }

    /// Fisher and Yates' shuffle.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// SHA-256 of the purpose, the seed and the parts, each with its length before it.
pub fn key(purpose: &str, seed: u64, parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"shootout ");
    for part in std::iter::once(purpose.as_bytes()).chain(parts.iter().copied()) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.update(seed.to_le_bytes());
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_equally_likely() {
        let mut draw = Draw::new("test", 1);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..24_000 {
            let mut items = [0, 1, 2, 3];
            draw.shuffle(&mut items);
            *seen.entry(items).or_insert(0u32) += 1;
        }
        assert_eq!(seen.len(), 24);
        // 1,000 expected of each, with a standard deviation of 31.
        assert!(seen.values().all(|n| (850..1150).contains(n)), "{seen:?}");
    }

    #[test]
    fn purposes_and_seeds_are_streams_of_their_own() {
        let first = |purpose, seed| Draw::new(purpose, seed).below(u64::MAX);
        assert_eq!(first("a", 1), first("a", 1));
        assert_ne!(first("a", 1), first("a", 2));
        assert_ne!(first("a", 1), first("b", 1));
        assert_ne!(key("p", 1, &[b"ab", b"c"]), key("p", 1, &[b"a", b"bc"]));
    }

    #[test]
    fn bounds_hold_at_the_edges() {
        let mut draw = Draw::new("edges", 1);
        for bound in [1, 2, 3, 1 << 63, (1 << 63) + 1, u64::MAX] {
            for _ in 0..100 {
                assert!(draw.below(bound) < bound);
            }
        }
    }
}
