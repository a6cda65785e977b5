//! Pairs: that all sides were alive together under turns that the plan's seed gives, and that what each
//! counted fits into its own.

use std::collections::BTreeMap;

use super::{Finding, Source};
use crate::error::Result;
use crate::load::clock::SECOND_NS;
use crate::load::mask::Mask;
use crate::load::schedule::{Arrivals, Schedule};
use crate::load::turns::{Pattern, Turns, shortest_slice_ns};
use crate::plan::mask_seed;
use crate::record::planned::Planned;
use crate::record::samples::{self, Mark, Sample};
use crate::record::schema::{Cell, CellKey, Paired};

/// A cell of a pair, and its folder's name.
#[derive(Clone, Copy)]
struct Side<'a> {
    name: &'a str,
    cell: &'a Cell,
    paired: &'a Paired,
}

/// What does not hold of the pairs among these cells, which come with their folders' names.
pub(super) fn findings(source: &Source, planned: &Planned, cells: &[(&str, Cell)]) -> Vec<Finding> {
    let mut found: Vec<(&str, String)> = Vec::new();
    let mut sides = Vec::new();
    for (name, cell) in cells {
        found.extend(cell.load.blocks_differ().map(|what| (*name, what)));
        let (key, paired) = (&cell.key, cell.paired.as_ref());
        if key.pair.is_some() != paired.is_some() || key.side.is_some() != paired.is_some() {
            let what = "pair, side and sides: says some of them and not all";
            found.push((name, what.into()));
        }
        sides.extend(paired.map(|paired| Side { name, cell, paired }));
    }
    for pair in grouped(&sides, |side| together(&side.cell.key)) {
        found.extend(differences(&pair));
    }
    for session in grouped(&sides, |side| {
        let key = &side.cell.key;
        (&key.workload, key.rate_rps, key.connections)
    }) {
        found.extend(changes(&session));
    }
    for side in &sides {
        let read = blocks_read(source, side.name).unwrap_or_default();
        let what = alone(side.cell, side.paired, planned, read);
        found.extend(what.into_iter().map(|what| (side.name, what)));
    }
    let finding = |(name, what)| Finding {
        file: format!("cells/{name}/cell.json"),
        what,
    };
    found.into_iter().map(finding).collect()
}

/// Those with the same key together, in the order of the keys.
fn grouped<'a, K: Ord>(sides: &[Side<'a>], key: impl Fn(&Side<'a>) -> K) -> Vec<Vec<Side<'a>>> {
    let mut groups: BTreeMap<K, Vec<Side>> = BTreeMap::new();
    for side in sides {
        groups.entry(key(side)).or_default().push(*side);
    }
    groups.into_values().collect()
}

/// What the sides of a pair have in common.
fn together(key: &CellKey) -> CellKey {
    CellKey {
        adapter: String::new(),
        label: String::new(),
        side: None,
        ..key.clone()
    }
}

/// Who is missing of a pair, and where its sides say different things of what they share.
fn differences<'a>(pair: &[Side<'a>]) -> Vec<(&'a str, String)> {
    let first = pair[0];
    let mut differences = Vec::new();
    for (index, who) in first.paired.sides.iter().enumerate() {
        let of = |side: &&Side| side.cell.key.side_index() == Some(index);
        let count = pair.iter().filter(of).count();
        if count != 1 {
            let what = format!("sides: {who} expected once in its pair, found {count} times");
            differences.push((first.name, what));
        }
    }
    for side in &pair[1..] {
        let (own, others) = (side.paired, first.paired);
        for (field, differs) in [
            ("sides", own.sides != others.sides),
            ("epoch_ns", own.epoch_ns != others.epoch_ns),
            ("mask", own.mask != others.mask),
        ] {
            if differs {
                let what = format!("{field}: is not that of {}", first.name);
                differences.push((side.name, what));
            }
        }
    }
    differences
}

/// Where slices or gaps were not the same all through a session.
fn changes<'a>(session: &[Side<'a>]) -> Vec<(&'a str, String)> {
    let lengths = |side: &Side| (side.paired.mask.slice_ns, side.paired.mask.gap_ns);
    let (first, expected) = (session[0].name, lengths(&session[0]));
    let differs = session.iter().filter(|side| lengths(side) != expected);
    let change = |side: &Side<'a>| {
        let (slice_ns, gap_ns) = expected;
        let what = format!(
            "mask: slices of {slice_ns} ns and gaps of {gap_ns} ns expected, as in {first}: they are fixed once a session"
        );
        (side.name, what)
    };
    differs.map(change).collect()
}

/// What does not hold of one side, between whose blocks so many readings were kept.
fn alone(cell: &Cell, paired: &Paired, planned: &Planned, blocks_read: usize) -> Vec<String> {
    let mut what = Vec::new();
    let (key, mask, sides) = (&cell.key, paired.mask, &paired.sides);
    let own = key.contender();
    let side = key.side_index().filter(|side| *side < sides.len());
    if side.is_none_or(|side| sides[side] != own) {
        what.push(format!(
            "sides: {own} expected where the letter of its side is"
        ));
    }
    let seed = mask_seed(key, planned.seed);
    if mask.seed != seed {
        let found = mask.seed;
        what.push(format!(
            "mask.seed: expected {seed}, from the plan's, found {found}"
        ));
    }
    let load_ns = planned.load_ns(key);
    let load_ns = load_ns.filter(|load_ns| Turns::can_lay(sides.len(), mask, *load_ns));
    let (Some(side), Some(load_ns)) = (side, load_ns) else {
        what.push("mask: no turns can be laid from it, the sides and the plan's load".into());
        return what;
    };
    let shortest_ns = shortest_slice_ns(mask.gap_ns, load_ns / sides.len() as u64);
    if mask.slice_ns < shortest_ns {
        what.push(format!(
            "mask: slices of {} ns, and with gaps of {} ns they are at least {shortest_ns} ns",
            mask.slice_ns, mask.gap_ns
        ));
    }
    let turns = Turns::lay(sides.len(), mask, load_ns, Pattern::Alternating);
    for (which, found, expected) in [
        (
            "rows between blocks in samples.csv",
            blocks_read,
            turns.blocks.len() - 1,
        ),
        (
            "counts in completed_by_block",
            cell.load.completed_by_block.len(),
            turns.blocks.len(),
        ),
    ] {
        if found != expected {
            what.push(format!("{expected} {which} expected, found {found}"));
        }
    }
    if let (Some(rate_rps), Some(own)) = (key.rate_rps, Mask::new(turns.of(side))) {
        let schedule = Schedule::new(rate_rps, Arrivals::Uniform, own, 0);
        what.extend(unscheduled(cell, &schedule));
        // Drawn slots are as many, but lie elsewhere in time.
        if planned.is_uniform() {
            what.extend(undue(cell, &schedule, &turns));
        }
    }
    what
}

/// Whether the slots of an open loop are those of its rate and its own time.
fn unscheduled(cell: &Cell, schedule: &Schedule) -> Option<String> {
    let own_s = schedule.mask().own_length_ns() as f64 / SECOND_NS as f64;
    let (found, expected) = (cell.load.ledger.scheduled, schedule.slots());
    (found != expected).then(|| {
        format!(
            "ledger.scheduled: {expected} slots expected in {own_s} s of own time, found {found}"
        )
    })
}

/// Blocks in which more completed than was due.
fn undue(cell: &Cell, schedule: &Schedule, turns: &Turns) -> Vec<String> {
    let mut due_before = 0;
    let mut undue = Vec::new();
    for (index, (block, completed)) in turns
        .blocks
        .iter()
        .zip(&cell.load.completed_by_block)
        .enumerate()
    {
        let due_by_then = schedule.due(block.end_ns - 1);
        let due = due_by_then - due_before;
        if *completed > due {
            undue.push(format!(
                "completed_by_block[{index}]: at most {due} slots were due, found {completed}"
            ));
        }
        due_before = due_by_then;
    }
    undue
}

/// How many readings between blocks a cell's samples hold.
fn blocks_read(source: &Source, name: &str) -> Result<usize> {
    let rows = samples::read(&source.text(&format!("cells/{name}/samples.csv"))?)?;
    let of_block = |row: &&Sample| row.phase == "load" && row.mark == Mark::Block;
    Ok(rows.iter().filter(of_block).count())
}

#[cfg(test)]
mod tests;
