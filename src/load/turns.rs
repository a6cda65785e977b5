//! Who sends when, in a pair: the slices of all sides, drawn from a seed, so that anybody can lay them
//! again. Pure.
//!
//! A *round* gives every side one slice. Rounds take their orders from the rows of a Williams square,
//! in which each side follows each other equally often (Williams 1949). Rounds of short slices and of
//! long ones are gathered in *blocks*; between blocks nobody sends, and whoever counts CPU time reads it
//! there. Short slices tell sides apart best, since the machine's speed has the least time to change
//! between them; long ones are there to see whether their length matters, in one block of about four.

use super::mask::Slice;
use crate::draw::Draw;
use crate::record::schema::MaskSeed;

/// Long slices are so many times as long as short ones.
const LONG: u64 = 5;
/// Blocks of short slices to each of long ones, at least.
const SHORT_TO_LONG: u64 = 3;
/// About the length of a block.
const BLOCK_NS: u64 = 500_000_000;
/// After a block nobody sends for so long: a reading that comes a little late still lies in it.
const PAUSE_NS: u64 = 3_000_000;
/// After a slice, where every slice's edge is read.
const READING_PAUSE_NS: u64 = 1_000_000;

/// How long the uncounted block after a load is, in which every slice's edge is read.
pub const BACKGROUND_NS: u64 = 2_000_000_000;
/// A slice is at least so many gaps long (METHOD, rule 16), so that little of a load's time is gaps,
const GAPS_PER_SLICE: u64 = 20;
/// but where a load has no room for so many slices of each side: of a side that can't keep up the gap would be as long
/// as its queue. Then the slice gives way, and not the gap, which a slow server that keeps up needs,
const LEAST_SLICES: u64 = 4;
/// down to so many gaps.
const LEAST_GAPS_PER_SLICE: u64 = 4;
/// Most sides: each has a letter.
const SIDES: usize = 26;
/// Longest load of a pair: a day.
const LONGEST_NS: u64 = 86_400 * 1_000_000_000;
/// Most slices of a load.
const MOST_SLICES: u64 = 4_000_000;
/// Windows of a load that is one of a series.
const WINDOWS: u64 = 3;

/// How slices are laid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Blocks of short slices, and of long ones in drawn places among them where the load has room.
    Alternating,
    /// Short slices only.
    Plain,
    /// Short slices only, and a pause after each, in which CPU time is read.
    Read,
}

/// One side's slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Which side, from 0.
    pub side: usize,
    /// When, since the epoch.
    pub slice: Slice,
}

/// Rounds whose slices are all of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its first slice's start, in nanoseconds since the epoch.
    pub start_ns: u64,
    /// The end of its last gap; a pause follows.
    pub end_ns: u64,
    /// The length of its slices.
    pub slice_ns: u64,
}

/// The shortest slice that may have gaps of `gap_ns`, where a side's part of the load is `own_ns`.
pub fn shortest_slice_ns(gap_ns: u64, own_ns: u64) -> u64 {
    gap_ns
        .saturating_mul(GAPS_PER_SLICE)
        .min(own_ns / LEAST_SLICES)
        .max(gap_ns.saturating_mul(LEAST_GAPS_PER_SLICE))
}

/// The longest gap that a load has room for, where a side's part of it is `own_ns`.
pub fn longest_gap_ns(own_ns: u64) -> u64 {
    own_ns / LEAST_SLICES / LEAST_GAPS_PER_SLICE
}

/// All slices of all sides, in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turns {
    /// Slice by slice.
    pub turns: Vec<Turn>,
    /// Block by block.
    pub blocks: Vec<Block>,
}

impl Turns {
    /// As many whole blocks as fit into `length_ns`, for so many sides; at least one round, which may be
    /// longer.
    pub fn lay(sides: usize, mask: MaskSeed, length_ns: u64, pattern: Pattern) -> Self {
        let plan = Blocks::plan(sides, mask, length_ns, pattern);
        let mut layer = Layer {
            short: Deck::new("order of slices", mask.seed, sides),
            long: Deck::new("order of long slices", mask.seed, sides),
            mask,
            pause_ns: if pattern == Pattern::Read {
                READING_PAUSE_NS
            } else {
                0
            },
            now_ns: 0,
            turns: Self::default(),
        };
        let mut draw = Draw::new("order of blocks", mask.seed);
        for shorts in plan.stretches() {
            let long = (plan.longs > 0).then(|| draw.below(shorts + 1));
            for place in 0..=shorts {
                if Some(place) == long {
                    layer.block(LONG, plan.long_rounds);
                }
                if place < shorts {
                    layer.block(1, plan.short_rounds);
                }
            }
        }
        layer.turns
    }

    /// The block after the load in which CPU time is read at every slice's edge: as many turns as in a
    /// load of [`BACKGROUND_NS`], in an order of their own.
    pub fn background(sides: usize, mask: MaskSeed) -> Self {
        let seed = mask.seed.wrapping_add(1);
        Self::lay(
            sides,
            MaskSeed { seed, ..mask },
            BACKGROUND_NS,
            Pattern::Read,
        )
    }

    /// Whether turns can be laid from what an archive says, which may be anything.
    pub fn can_lay(sides: usize, mask: MaskSeed, length_ns: u64) -> bool {
        let length_ns = length_ns.max(BACKGROUND_NS);
        (1..=SIDES).contains(&sides)
            && length_ns <= LONGEST_NS
            && (1..=LONGEST_NS).contains(&mask.slice_ns)
            && mask.gap_ns <= LONGEST_NS
            && length_ns / (mask.slice_ns + mask.gap_ns) <= MOST_SLICES
    }

    /// One side's slices.
    pub fn of(&self, side: usize) -> Vec<Slice> {
        let own = self.turns.iter().filter(|turn| turn.side == side);
        own.map(|turn| turn.slice).collect()
    }

    /// The ends of the blocks, in nanoseconds since the epoch.
    pub fn block_ends_ns(&self) -> Vec<u64> {
        self.blocks.iter().map(|block| block.end_ns).collect()
    }

    /// The end of the last gap.
    pub fn end_ns(&self) -> u64 {
        self.blocks.last().map_or(0, |block| block.end_ns)
    }
}

/// The ends of the windows of a load that is one of a series: equal parts of it, in nanoseconds since
/// the epoch.
pub fn windows_ns(length_ns: u64) -> Vec<u64> {
    let end = |window| length_ns / WINDOWS * window + length_ns % WINDOWS * window / WINDOWS;
    (1..=WINDOWS).map(end).collect()
}

/// How many blocks of how many rounds.
struct Blocks {
    shorts: u64,
    short_rounds: u64,
    longs: u64,
    long_rounds: u64,
}

impl Blocks {
    fn plan(sides: usize, mask: MaskSeed, length_ns: u64, pattern: Pattern) -> Self {
        let pause_ns = if pattern == Pattern::Read {
            READING_PAUSE_NS
        } else {
            0
        };
        let round_ns = |times: u64| sides as u64 * (mask.slice_ns * times + mask.gap_ns + pause_ns);
        let rounds = |round_ns: u64| ((BLOCK_NS + round_ns / 2) / round_ns).max(1);
        let block_ns = |times, rounds| round_ns(times) * rounds + PAUSE_NS;
        let rows = williams(sides).len() as u64;
        // Whole squares, unless they would cost more than a fifth of the blocks.
        let balanced = |most: u64, rounds: u64| {
            let whole = |count: &u64| (count * rounds).is_multiple_of(rows);
            (most - most / 5..=most).rev().find(whole).unwrap_or(most)
        };
        let short_rounds = rounds(round_ns(1));
        let long_rounds = rounds(round_ns(LONG));
        let long_ns = block_ns(LONG, long_rounds);
        let longs = match pattern {
            Pattern::Alternating => {
                length_ns / (SHORT_TO_LONG * block_ns(1, short_rounds) + long_ns)
            }
            Pattern::Plain | Pattern::Read => 0,
        };
        let longs = balanced(longs, long_rounds);
        let left_ns = length_ns - longs * long_ns;
        // A load shorter than a block is one block of the rounds that fit.
        let short_rounds = short_rounds.min((left_ns / round_ns(1)).max(1));
        let shorts = (left_ns / block_ns(1, short_rounds)).max(1);
        Self {
            shorts: balanced(shorts, short_rounds),
            short_rounds,
            longs,
            long_rounds,
        }
    }

    /// How many short blocks each long one has around it; all of them where there is no long one.
    fn stretches(&self) -> impl Iterator<Item = u64> {
        let (shorts, count) = (self.shorts, self.longs.max(1));
        let edge = move |stretch| stretch * shorts / count;
        (0..count).map(move |stretch| edge(stretch + 1) - edge(stretch))
    }
}

struct Layer {
    short: Deck,
    long: Deck,
    mask: MaskSeed,
    pause_ns: u64,
    now_ns: u64,
    turns: Turns,
}

impl Layer {
    fn block(&mut self, times: u64, rounds: u64) {
        let start_ns = self.now_ns;
        let length_ns = self.mask.slice_ns * times;
        for _ in 0..rounds {
            let deck = if times == 1 {
                &mut self.short
            } else {
                &mut self.long
            };
            for side in deck.deal() {
                let slice = Slice {
                    start_ns: self.now_ns,
                    length_ns,
                    gap_ns: self.mask.gap_ns,
                };
                self.turns.turns.push(Turn { side, slice });
                self.now_ns = slice.gap_end_ns() + self.pause_ns;
            }
        }
        self.turns.blocks.push(Block {
            start_ns,
            end_ns: self.now_ns,
            slice_ns: length_ns,
        });
        self.now_ns += PAUSE_NS;
    }
}

/// The rows of a Williams square, shuffled, dealt, and shuffled again.
struct Deck {
    rows: Vec<Vec<usize>>,
    left: usize,
    draw: Draw,
}

impl Deck {
    fn new(purpose: &str, seed: u64, sides: usize) -> Self {
        Self {
            rows: williams(sides),
            left: 0,
            draw: Draw::new(purpose, seed),
        }
    }

    fn deal(&mut self) -> Vec<usize> {
        if self.left == 0 {
            self.draw.shuffle(&mut self.rows);
            self.left = self.rows.len();
        }
        self.left -= 1;
        self.rows[self.left].clone()
    }
}

/// Orders in which each side follows each other equally often: as many as there are sides, or twice as
/// many where their number is odd (Williams 1949).
pub fn williams(sides: usize) -> Vec<Vec<usize>> {
    // 0, 1, n-1, 2, n-2, …: all differences between neighbours differ.
    let zigzag = |i: usize| {
        if i % 2 == 1 {
            i.div_ceil(2)
        } else {
            (sides - i / 2) % sides
        }
    };
    let row = |shift: usize| (0..sides).map(|i| (zigzag(i) + shift) % sides).collect();
    let mut rows: Vec<Vec<usize>> = (0..sides).map(row).collect();
    if sides % 2 == 1 && sides > 1 {
        let mirrored: Vec<Vec<usize>> = rows
            .iter()
            .map(|row| row.iter().rev().copied().collect())
            .collect();
        rows.extend(mirrored);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    const MASK: MaskSeed = MaskSeed {
        seed: 7,
        slice_ns: 20_000_000,
        gap_ns: 1_000_000,
    };
    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn each_side_follows_each_other_equally_often() {
        for sides in 2..=9 {
            let mut follows = vec![0; sides * sides];
            let mut places = vec![0; sides * sides];
            for row in williams(sides) {
                for pair in row.windows(2) {
                    follows[pair[0] * sides + pair[1]] += 1;
                }
                for (place, side) in row.iter().enumerate() {
                    places[place * sides + side] += 1;
                }
            }
            let times = if sides % 2 == 1 { 2 } else { 1 };
            for a in 0..sides {
                for b in 0..sides {
                    assert_eq!(
                        follows[a * sides + b],
                        if a == b { 0 } else { times },
                        "{sides}"
                    );
                    assert_eq!(places[a * sides + b], times, "{sides}");
                }
            }
        }
    }

    #[test]
    fn the_sides_share_the_time_alike_and_never_overlap() {
        for sides in 2..=6 {
            for pattern in [Pattern::Alternating, Pattern::Plain, Pattern::Read] {
                for seconds in [0, 1, 3, 20] {
                    let turns = Turns::lay(sides, MASK, seconds * SECOND_NS, pattern);
                    let own = |side| -> u64 { turns.of(side).iter().map(|s| s.length_ns).sum() };
                    assert!(
                        (1..sides).all(|side| own(side) == own(0)),
                        "{sides} {pattern:?}"
                    );
                    assert!(own(0) > 0);
                    assert!(
                        turns
                            .turns
                            .windows(2)
                            .all(|pair| pair[0].slice.gap_end_ns() <= pair[1].slice.start_ns)
                    );
                    for side in 0..sides {
                        assert!(crate::load::mask::Mask::new(turns.of(side)).is_some());
                    }
                    if seconds >= 3 {
                        assert!(turns.end_ns() <= seconds * SECOND_NS);
                        assert!(
                            turns.end_ns() * 3 >= seconds * SECOND_NS * 2,
                            "{sides} {pattern:?} {seconds}: {}",
                            turns.end_ns()
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn one_block_of_four_is_long_and_each_lies_within_its_edges() {
        let turns = Turns::lay(2, MASK, 20 * SECOND_NS, Pattern::Alternating);
        let is_long: Vec<bool> = turns
            .blocks
            .iter()
            .map(|block| block.slice_ns == LONG * MASK.slice_ns)
            .collect();
        let longs = is_long.iter().filter(|long| **long).count();
        assert_eq!((is_long.len(), longs), (41, 10));
        let in_each = is_long.chunks_exact(8).map(|blocks| blocks.contains(&true));
        assert!(in_each.min().unwrap(), "spread over the load");
        for pair in turns.blocks.windows(2) {
            assert_eq!(pair[1].start_ns, pair[0].end_ns + PAUSE_NS);
        }
        for turn in &turns.turns {
            let block = turns
                .blocks
                .iter()
                .find(|block| turn.slice.start_ns < block.end_ns)
                .unwrap();
            assert_eq!(turn.slice.length_ns, block.slice_ns);
            assert!(
                turn.slice.start_ns >= block.start_ns && turn.slice.gap_end_ns() <= block.end_ns
            );
        }
        let short_load = Turns::lay(2, MASK, SECOND_NS, Pattern::Alternating);
        assert!(
            short_load
                .blocks
                .iter()
                .all(|block| block.slice_ns == MASK.slice_ns),
            "no room for a long one"
        );
    }

    #[test]
    fn the_background_block_has_an_order_of_its_own_and_time_to_read_every_edge() {
        let turns = Turns::background(2, MASK);
        let lay = |seed| Turns::lay(2, MaskSeed { seed, ..MASK }, BACKGROUND_NS, Pattern::Read);
        assert_eq!(turns, lay(MASK.seed + 1));
        assert!(turns.end_ns() <= BACKGROUND_NS);
        for pair in turns.turns.windows(2) {
            let pause_ns = pair[1].slice.start_ns - pair[0].slice.gap_end_ns();
            assert!(pause_ns >= READING_PAUSE_NS);
        }
        let last = u64::MAX;
        assert_eq!(
            Turns::background(2, MaskSeed { seed: last, ..MASK }),
            lay(0)
        );
    }

    #[test]
    fn what_cannot_be_laid_is_refused_and_the_rest_can() {
        let mask = |slice_ns, gap_ns| MaskSeed {
            slice_ns,
            gap_ns,
            ..MASK
        };
        let good = mask(20_000_000, 1_000_000);
        for (sides, mask, length_ns, can) in [
            (2, good, 20 * SECOND_NS, true),
            (26, good, 0, true),
            (2, mask(LONGEST_NS, LONGEST_NS), LONGEST_NS, true),
            (2, mask(500, 0), BACKGROUND_NS, true),
            (0, good, SECOND_NS, false),
            (27, good, SECOND_NS, false),
            (2, mask(0, 1), SECOND_NS, false),
            (2, mask(1, 0), SECOND_NS, false),
            (2, mask(u64::MAX, 0), SECOND_NS, false),
            (2, mask(20_000_000, u64::MAX), SECOND_NS, false),
            (2, good, u64::MAX, false),
        ] {
            let said = Turns::can_lay(sides, mask, length_ns);
            assert_eq!(said, can, "{sides} {mask:?} {length_ns}");
            if can {
                assert!(
                    !Turns::lay(sides, mask, length_ns, Pattern::Alternating)
                        .turns
                        .is_empty()
                );
                assert!(!Turns::background(sides, mask).turns.is_empty());
            }
        }
    }

    #[test]
    fn a_series_windows_are_thirds() {
        assert_eq!(
            windows_ns(12_000_000_000),
            [4_000_000_000, 8_000_000_000, 12_000_000_000]
        );
        assert_eq!(windows_ns(100), [33, 66, 100]);
        assert_eq!(windows_ns(u64::MAX).last(), Some(&u64::MAX));
    }

    /// An archive says its seed: what is laid from it may never change.
    #[test]
    fn the_order_of_a_seed_is_for_ever() {
        let turns = Turns::lay(3, MASK, SECOND_NS / 2, Pattern::Plain);
        let sides: String = turns
            .turns
            .iter()
            .map(|turn| turn.side.to_string())
            .collect();
        assert_eq!(sides, "012120021210201102021");
        let other = Turns::lay(
            3,
            MaskSeed { seed: 8, ..MASK },
            SECOND_NS / 2,
            Pattern::Plain,
        );
        assert_ne!(turns, other);
    }
}
