//! `cargo bench --bench duels`: how often a duel finds a difference of known size here, and how often one
//! where there is none. README.md says how to read it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use shootout::record::archive;
use shootout::record::schema::{Cell, Verdict};
use shootout::record::source::Source;
use shootout::stats::duel::{DuelRules, Pairing, verdicts};

/// Pairs of a duel, where `--pairs` says nothing.
const PAIRS: usize = 6;
const PLAN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/duels/plan.yaml");
/// With nothing added: every verdict on it is false, and the first one's pairs with the reference are the
/// null test of the sides that have something added.
const NOTHING_ADDED: [&str; 2] = ["node-http@again", "node-http@once-more"];
const REFERENCE: &str = "node-http";
const METRIC: &str = "cpu_us_per_request";

fn main() -> io::Result<()> {
    let Arguments {
        groups,
        pairs,
        archive,
    } = arguments()?;
    let dir = match archive {
        Some(dir) => dir,
        None => run(groups)?,
    };
    let source = Source::open(&dir).map_err(io::Error::other)?;
    let cells = archive::cells(&source).map_err(io::Error::other)?;
    let cells: Vec<Cell> = cells.into_iter().map(|(_, cell)| cell).collect();
    let whole = whole_groups(&cells);
    let all: Vec<u32> = whole.keys().copied().collect();
    println!(
        "{} whole groups, {} duels of {pairs} pairs",
        all.len(),
        all.len() / pairs
    );
    println!(
        "{:<22} {:>8} {:>7} {:>10} {:>12}",
        "side", "ratio", "SD", "found", "interval held"
    );
    for contender in contenders(&cells) {
        let session = judge(&whole, &all, &contender);
        let duels: Vec<Verdict> = all
            .chunks_exact(pairs)
            .map(|groups| judge(&whole, groups, &contender))
            .collect();
        let found = duels
            .iter()
            .filter(|duel| duel.verdict != "no verdict")
            .count();
        let ratio = session.ratio.unwrap_or(f64::NAN);
        let holds = |duel: &&Verdict| {
            let ends = duel.ci_low.zip(duel.ci_high);
            ends.is_some_and(|(low, high)| low <= ratio && ratio <= high)
        };
        println!(
            "{contender:<22} {ratio:>8.4} {:>6.2}% {:>7}/{:<2} {:>9}/{:<2}",
            100.0 * session.sd_log.unwrap_or(f64::NAN),
            found,
            duels.len(),
            duels.iter().filter(holds).count(),
            duels.len()
        );
    }
    Ok(())
}

struct Arguments {
    /// Groups to measure.
    groups: usize,
    /// Pairs of a duel.
    pairs: usize,
    /// To judge, instead of measuring.
    archive: Option<PathBuf>,
}

/// `--groups N`, `--pairs N`, `--archive DIR`; cargo adds `--bench`.
fn arguments() -> io::Result<Arguments> {
    let wrong = || io::Error::other("expected --groups N, --pairs N (2 or more), or --archive DIR");
    let mut said = Arguments {
        groups: 60,
        pairs: PAIRS,
        archive: None,
    };
    let mut arguments = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench");
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or_else(wrong)?;
        match argument.as_str() {
            "--groups" => said.groups = value.parse().map_err(|_| wrong())?,
            "--pairs" => said.pairs = value.parse().map_err(|_| wrong())?,
            "--archive" => said.archive = Some(value.into()),
            _ => return Err(wrong()),
        }
    }
    if said.pairs < 2 {
        return Err(wrong());
    }
    Ok(said)
}

/// Runs the plan with so many groups. A group that stays invalid is left out, not a failure.
fn run(groups: usize) -> io::Result<PathBuf> {
    let dir = std::env::temp_dir().join(format!("shootout-duels-{}", std::process::id()));
    let status = Command::new(env!("CARGO_BIN_EXE_shootout"))
        .args(["run", PLAN, "--pairs", &groups.to_string(), "--out"])
        .arg(&dir)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .status()?;
    if !matches!(status.code(), Some(0 | 4)) {
        return Err(io::Error::other(format!("the run ended with {status}")));
    }
    println!("archive {}", dir.display());
    Ok(dir)
}

/// By group: the valid cells of its last attempt, where it has one of every side.
fn whole_groups<'a>(cells: &'a [Cell]) -> BTreeMap<u32, Vec<&'a Cell>> {
    let mut groups: BTreeMap<u32, BTreeMap<u32, Vec<&'a Cell>>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.load.valid) {
        if let Some(pair) = cell.key.pair {
            let attempts = groups.entry(pair).or_default();
            attempts.entry(cell.key.attempt).or_default().push(cell);
        }
    }
    let whole = |sides: &&Vec<&Cell>| {
        let alive = sides[0].paired.as_ref().map(|paired| paired.sides.len());
        alive == Some(sides.len())
    };
    let last = |(pair, attempts): (u32, BTreeMap<u32, Vec<&'a Cell>>)| {
        let sides = attempts.values().rev().find(whole)?;
        Some((pair, sides.clone()))
    };
    groups.into_iter().filter_map(last).collect()
}

/// Everybody but the reference.
fn contenders(cells: &[Cell]) -> Vec<String> {
    let paired = cells.iter().find_map(|cell| cell.paired.as_ref());
    let sides = paired
        .map(|paired| paired.sides.clone())
        .unwrap_or_default();
    sides.into_iter().filter(|side| side != REFERENCE).collect()
}

/// A duel of these groups: the contender against the reference, and its null test beside it, if the
/// session has a side for that.
fn judge(whole: &BTreeMap<u32, Vec<&Cell>>, groups: &[u32], contender: &str) -> Verdict {
    let mut cells = Vec::new();
    let alive = |who: &str| {
        whole[&groups[0]]
            .iter()
            .any(|cell| cell.key.contender() == who)
    };
    let needed = !NOTHING_ADDED.contains(&contender) && alive(NOTHING_ADDED[0]);
    let null = needed.then_some(NOTHING_ADDED[0]);
    let roles = [("measure", Some(contender)), ("null", null)];
    for group in groups {
        for (role, a) in roles.iter().filter_map(|(role, a)| Some((role, (*a)?))) {
            for (side, who) in [("a", a), ("b", REFERENCE)] {
                let of = whole[group].iter().find(|cell| cell.key.contender() == who);
                cells.extend(of.map(|cell| as_pair(cell, role, side, [a, REFERENCE])));
            }
        }
    }
    let rules = DuelRules {
        contenders: vec![contender.to_owned()],
        reference: REFERENCE.to_owned(),
        workloads: vec![cells[0].key.workload.clone()],
        rates: cells[0].key.rate_rps.into_iter().collect(),
        connections: cells[0].key.connections,
        metrics: vec![METRIC.to_owned()],
        pairs: groups.len() as u32,
        null: null.map_or(0, |_| groups.len() as u32),
        smallest_effect: 0.005,
        pairing: Pairing {
            interleaved: true,
            series: false,
        },
        ..DuelRules::default()
    };
    verdicts(&cells, &rules, &BTreeMap::new()).remove(0)
}

/// A cell as if only two had been alive.
fn as_pair(cell: &Cell, role: &str, side: &str, sides: [&str; 2]) -> Cell {
    let mut cell = cell.clone();
    cell.key.role = role.to_owned();
    cell.key.side = Some(side.to_owned());
    if let Some(paired) = &mut cell.paired {
        paired.sides = sides.map(str::to_owned).to_vec();
    }
    cell
}
