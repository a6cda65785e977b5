//! What a load gave by part: blocks and windows of a masked load, windows of one in a series, and how
//! much of its CPU a side of a pair spent in the others' turns.

use super::{Edges, Known, Nulls, divide, keep};
use crate::load::turns::{self, Pattern, Turns};
use crate::record::samples::{Mark, Sample};
use crate::record::schema::{Block, Cell, Paired, Window};

/// Windows of a masked load, where it has as many blocks.
const WINDOWS: usize = 10;

/// Fills `blocks`, `windows`, `own_s` and `background_pct` of a load of a planned length.
pub(super) fn fill(cell: &mut Cell, nulls: &mut Nulls, samples: &[Sample], load_ns: Option<u64>) {
    (cell.blocks, cell.windows) = (vec![], vec![]);
    let completed = &cell.load.completed_by_block;
    if let Some(paired) = &mut cell.paired {
        let side = cell.key.side_index();
        let own = Own::of(paired, side, load_ns);
        paired.own_s = own.as_ref().map_or(0.0, Own::seconds);
        let background = own.as_ref().map_err(Clone::clone);
        let background = background.and_then(|own| own.background_pct(paired, samples));
        paired.background_pct = keep(nulls, "background_pct", background);
        if let Ok(own) = own {
            cell.blocks = blocks(&own.turns, completed, nulls, samples);
        }
        cell.windows = shares(&cell.blocks);
    } else if let (Some(_), Some(load_ns)) = (cell.key.series, load_ns) {
        cell.windows = windows(load_ns, completed, nulls, samples);
    }
}

/// A side's place in its pair's turns.
struct Own {
    side: usize,
    turns: Turns,
}

impl Own {
    fn of(paired: &Paired, side: Option<usize>, load_ns: Option<u64>) -> Known<Self> {
        let (sides, mask) = (paired.sides.len(), paired.mask);
        let side = side.filter(|side| *side < sides);
        let side = side.ok_or("the cell is none of the pair's sides")?;
        let load_ns = load_ns.ok_or("the plan says no length of this load")?;
        if !Turns::can_lay(sides, mask, load_ns) {
            return Err("no turns can be laid from this mask".into());
        }
        let turns = Turns::lay(sides, mask, load_ns, Pattern::Alternating);
        Ok(Self { side, turns })
    }

    /// Its slices joined end to end.
    fn seconds(&self) -> f64 {
        let own = self.turns.of(self.side);
        own.iter().map(|slice| slice.length_ns).sum::<u64>() as f64 / 1e9
    }

    /// The share of CPU time that it spent in the others' turns of the block after the load.
    fn background_pct(&self, paired: &Paired, samples: &[Sample]) -> Known {
        let read = |row: &&Sample| row.phase == "background" && row.mark == Mark::Slice;
        let readings: Vec<&Sample> = samples.iter().filter(read).collect();
        if readings.is_empty() {
            return Err("the background block was not run".into());
        }
        let turns = Turns::background(paired.sides.len(), paired.mask).turns;
        let grown = growths(&readings, "cpu_us", turns.len())?;
        let foreign = turns.iter().zip(&grown);
        let foreign = foreign.filter(|(turn, _)| turn.side != self.side);
        let foreign: u64 = foreign.map(|(_, us)| us).sum();
        let total: u64 = grown.iter().sum();
        let idle = "no CPU time was spent in the background block";
        divide(100.0 * foreign as f64, total as f64, idle)
    }
}

/// A masked load's blocks; none where the load did not count by them.
fn blocks(turns: &Turns, completed: &[u64], nulls: &mut Nulls, samples: &[Sample]) -> Vec<Block> {
    if completed.len() != turns.blocks.len() {
        return vec![];
    }
    let grown = |column| growth_by_part(samples, column, completed.len());
    let cpu_us = keep(nulls, "blocks.cpu_us", grown("cpu_us"));
    let main_us = keep(nulls, "blocks.main_thread_us", grown("main_thread_us"));
    let part = |us: &Option<Vec<u64>>, index: usize| us.as_ref().map(|us| us[index] as f64);
    let block = |(index, block): (usize, &turns::Block)| Block {
        start_s: block.start_ns as f64 / 1e9,
        slice_ns: block.slice_ns,
        completed: completed[index],
        cpu_us: part(&cpu_us, index),
        main_thread_us: part(&main_us, index),
    };
    turns.blocks.iter().enumerate().map(block).collect()
}

/// Blocks put together to ten windows of as many each as whole blocks allow.
fn shares(blocks: &[Block]) -> Vec<Window> {
    let count = blocks.len().min(WINDOWS);
    let edge = |window| window * blocks.len() / count;
    let window = |index| {
        let share = &blocks[edge(index)..edge(index + 1)];
        Window {
            start_s: share[0].start_s,
            completed: share.iter().map(|block| block.completed).sum(),
            cpu_us: share.iter().map(|block| block.cpu_us).sum(),
        }
    };
    (0..count).map(window).collect()
}

/// The windows of a load in a series; none where the load did not count by them.
fn windows(load_ns: u64, completed: &[u64], nulls: &mut Nulls, samples: &[Sample]) -> Vec<Window> {
    let ends_ns = turns::windows_ns(load_ns);
    if completed.len() != ends_ns.len() {
        return vec![];
    }
    let cpu_us = growth_by_part(samples, "cpu_us", completed.len());
    let cpu_us = keep(nulls, "windows.cpu_us", cpu_us);
    let starts_ns = std::iter::once(0).chain(ends_ns);
    let window = |(index, (start_ns, completed)): (usize, (u64, &u64))| Window {
        start_s: start_ns as f64 / 1e9,
        completed: *completed,
        cpu_us: cpu_us.as_ref().map(|us| us[index] as f64),
    };
    starts_ns.zip(completed).enumerate().map(window).collect()
}

/// A counter of CPU time by part of the load: from its start over the readings in between to its end.
fn growth_by_part(samples: &[Sample], column: &str, parts: usize) -> Known<Vec<u64>> {
    let (start, end) = Edges::of(samples, "load")
        .rows
        .ok_or_else(|| format!("{column} was not read at both edges of load"))?;
    let between = |row: &&Sample| row.phase == "load" && row.mark == Mark::Block;
    let mut readings = vec![start];
    readings.extend(samples.iter().filter(between));
    readings.push(end);
    growths(&readings, column, parts)
}

/// How much a counter grew from each reading to the next, over so many parts.
fn growths(readings: &[&Sample], column: &str, parts: usize) -> Known<Vec<u64>> {
    if readings.len() != parts + 1 {
        let read = readings.len();
        return Err(format!(
            "{column} was read {read} times at the edges of {parts} parts"
        ));
    }
    let growth = |pair: &[&Sample]| {
        let (before, after) = (pair[0].get(column), pair[1].get(column));
        let (before, after) = before
            .zip(after)
            .ok_or_else(|| format!("{column} was not read at every edge of a part"))?;
        let fell = || format!("{column} fell from one reading to the next");
        after.checked_sub(before).ok_or_else(fell)
    };
    readings.windows(2).map(growth).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_windows_share_all_blocks_as_evenly_as_they_can() {
        for count in [0, 1, 4, 9, 10, 11, 19, 40, 45] {
            let block = |index| Block {
                start_s: index as f64,
                completed: 1,
                cpu_us: Some(2.0),
                ..Block::default()
            };
            let blocks: Vec<Block> = (0..count).map(block).collect();
            let windows = shares(&blocks);
            assert_eq!(windows.len(), count.min(WINDOWS));
            let all: u64 = windows.iter().map(|window| window.completed).sum();
            assert_eq!(all, count as u64, "each block in one window");
            let mut start = 0;
            for window in windows {
                assert_eq!(window.start_s, start as f64);
                assert_eq!(window.cpu_us, Some(2.0 * window.completed as f64));
                assert!((window.completed as usize).abs_diff(count / WINDOWS.min(count)) <= 1);
                start += window.completed;
            }
        }
        let unread = [Block::default(), Block::default()];
        assert!(shares(&unread).iter().all(|window| window.cpu_us.is_none()));
    }
}
