//! Cells and holes held against the plan inside the archive: which there must be, how often each was
//! tried, under which limits and for how long. Only the version that wrote a plan is known to draw
//! its cells in the same order.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::plan::cpus::CpuAsk;
use crate::plan::{Adapter, Agenda, Matrix, Outcome, Plan, Unit, yaml};
use crate::record::archive::cell_name;
use crate::record::bounds;
use crate::record::planned::Planned;
use crate::record::schema::{Cell, CellKey, Hole};
use crate::record::source::Source;
use crate::stats::sustain::{self, SustainRules};

/// Cells run one after the other, or side by side in a pair; a wall clock may be corrected by so much
/// between two of them.
const OVERLAP_S: f64 = 2.0;

/// The plan, and what it comes to.
pub(super) struct Design {
    pub(super) plan: Plan,
    matrix: Matrix,
    /// Of its search, where it is one.
    search: Option<SustainRules>,
}

/// The attempts at one planned cell, by their number: the cell and its folder.
type Attempts<'a> = BTreeMap<u32, &'a (&'a str, Cell)>;

impl Design {
    /// From the archive's own plan and adapters.
    pub(super) fn of(source: &Source) -> Result<Self> {
        let read = |path: &str| {
            let text = bounds::yaml(source, path).map_err(|e| e.at(path))?;
            Ok::<_, Error>(yaml::Source::new(path, text))
        };
        let plan = Plan::parse(&read("plan.yaml")?)?;
        let mut adapters = Vec::new();
        for (path, _) in source.files() {
            let name = path
                .strip_prefix("sources/adapters/")
                .and_then(|rest| rest.strip_suffix("/adapter.yaml"))
                .filter(|name| !name.contains('/'));
            if let Some(name) = name {
                let mut adapter: Adapter = read(path)?.parse()?;
                adapter.name = name.to_owned();
                adapters.push(adapter);
            }
        }
        let capacity = plan.capacity.as_ref();
        let counts = [
            plan.adapters.len(),
            plan.workloads.len(),
            plan.rates_rps.len().max(1),
            plan.connections.0.len().max(1),
            1 + capacity.map_or(0, |capacity| capacity.connections.len()),
        ];
        let repeated = u64::from(plan.repetitions) + u64::from(plan.pairs) + u64::from(plan.null);
        let cells = counts.iter().try_fold(repeated, |product, count| {
            product.checked_mul(*count as u64)
        });
        if cells.is_none_or(|cells| cells > bounds::CELLS) {
            let what = format!("plan.yaml: more than {} cells", bounds::CELLS);
            return Err(Error::unverified(what));
        }
        let matrix = plan.cells(&adapters)?;
        Ok(Self {
            search: Planned::of(source)?.sustain,
            plan,
            matrix,
        })
    }

    /// Calls `find` with a file and a sentence for everything about cells and holes that the plan
    /// did not make so.
    pub(super) fn check(
        &self,
        cells: &[(&str, Cell)],
        holes: &[Hole],
        find: &mut impl FnMut(&str, &str),
    ) {
        let mut by_key: BTreeMap<CellKey, Attempts> = BTreeMap::new();
        for named in cells {
            let attempts = by_key.entry(first_attempt(&named.1.key)).or_default();
            attempts.insert(named.1.key.attempt, named);
        }
        let (mut number, mut spans) = (0, Vec::new());
        let mut agenda = Agenda::new(&self.plan, &self.matrix, self.search.as_ref());
        while let Some(unit) = agenda.ask() {
            let title = cell_name(number + 1, &unit.cells[0]);
            let mut tried = Vec::new();
            for key in &unit.cells {
                number += 1;
                let attempts = by_key.remove(key).unwrap_or_default();
                for (folder, _) in attempts.values() {
                    if !folder.starts_with(&format!("{number:04}-")) {
                        let what = format!("is the plan's cell {number} by its key");
                        find(&format!("cells/{folder}/cell.json"), &what);
                    }
                }
                tried.push(attempts);
            }
            let excused = unit.cells.iter().any(|key| is_hole(key, holes));
            let allowed = self.plan.retries.saturating_add(1);
            attempts(&unit, &tried, allowed, excused, &mut |what| {
                find("cells", &format!("{title}: {what}"));
            });
            agenda.tell(self.outcome(&tried[0], excused));
            spans.extend(spans_of(&tried));
        }
        for (folder, _) in by_key.values().flat_map(BTreeMap::values) {
            let what = match self.search {
                Some(_) => "is of no trial that the search asks for",
                None => "is of no cell that the plan has",
            };
            find(&format!("cells/{folder}/cell.json"), what);
        }
        spans.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
        for two in spans.windows(2) {
            if two[1].start_s < two[0].end_s - OVERLAP_S {
                let what = format!("began before {} had ended", two[0].folder);
                find(&format!("cells/{}/cell.json", two[1].folder), &what);
            }
        }
        self.holes(holes, find);
    }

    /// What a search was told of a trial: its last attempt, unless its target was given up before that was
    /// valid. What is missing can't have been measured.
    fn outcome(&self, tried: &Attempts, excused: bool) -> Outcome {
        let spent = tried.len() as u64 > u64::from(self.plan.retries);
        match tried.last_key_value() {
            Some((_, (_, cell))) if cell.load.valid || spent || !excused => {
                Outcome::Measured(sustain::told(cell))
            }
            _ => Outcome::Gone,
        }
    }

    /// The plan's own holes come first; every other one is of something that was planned.
    fn holes(&self, holes: &[Hole], find: &mut impl FnMut(&str, &str)) {
        let own = &self.matrix.holes;
        if !holes.starts_with(own) {
            find(
                "summary.json",
                "holes: expected first those that plan and adapters make",
            );
        }
        for hole in holes.iter().skip(own.len()) {
            let planned = self
                .matrix
                .cells()
                .any(|key| is_hole(key, std::slice::from_ref(hole)));
            if !planned || hole.reason.is_empty() {
                let Hole {
                    adapter, workload, ..
                } = hole;
                let what =
                    format!("holes: {adapter} on {workload} was not planned, or has no reason");
                find("summary.json", &what);
            }
        }
    }

    /// What of a cell's conditions is not as planned, a sentence each.
    pub(super) fn conditions(&self, cell: &Cell) -> Vec<String> {
        let mut wrong = self.limits(cell);
        if let Some(rate_rps) = cell.key.rate_rps.filter(|_| is_alone(&cell.key)) {
            wrong.extend(self.schedule(cell, rate_rps));
            wrong.extend(self.phases(cell, rate_rps));
        }
        wrong
    }

    fn limits(&self, cell: &Cell) -> Vec<String> {
        let (planned, found) = (&self.plan.limits, &cell.limits);
        let quota =
            |quota: Option<f64>| quota.map_or("none".to_owned(), |cpus| format!("{cpus:.3}"));
        let target = match &planned.target_cpus {
            CpuAsk::List(list) => list.to_string(),
            CpuAsk::Count(_) | CpuAsk::All => found.target_cpus.clone(),
        };
        let load = self.plan.load_cpus.as_ref();
        let load = load.map_or_else(|| found.load_cpus.clone(), ToString::to_string);
        let table = [
            ("target_cpus", target, found.target_cpus.clone()),
            ("load_cpus", load, found.load_cpus.clone()),
            (
                "cpu_quota",
                quota(planned.cpu_quota),
                quota(found.cpu_quota),
            ),
            (
                "memory_mib",
                planned.memory_mib.to_string(),
                found.memory_mib.to_string(),
            ),
            ("pids", planned.pids.to_string(), found.pids.to_string()),
        ];
        let differ = table
            .into_iter()
            .filter(|(_, planned, found)| planned != found);
        differ
            .map(|(name, planned, found)| {
                format!("limits.{name}: planned {planned}, in force {found}")
            })
            .collect()
    }

    fn schedule(&self, cell: &Cell, rate_rps: u64) -> Option<String> {
        let found = cell.load.ledger.scheduled;
        let load_ns = (self.plan.phases.load.get() * 1e9).round() as u128;
        let slots = (u128::from(rate_rps) * load_ns / 1_000_000_000) as u64;
        (found != slots).then(|| {
            format!("ledger.scheduled: the plan's schedule has {slots} slots, found {found}")
        })
    }

    fn phases(&self, cell: &Cell, rate_rps: u64) -> Vec<String> {
        let phases = &self.plan.phases;
        let least = [
            ("baseline", phases.baseline.get()),
            ("warm-up", phases.warm_up.seconds_at(rate_rps)),
            ("settle", phases.settle.get()),
            ("load", phases.load.get()),
            ("recovery", phases.recovery.get()),
        ];
        let short = |(name, least_s): (&str, f64)| {
            let Some(phase) = cell.phases.iter().find(|phase| phase.name == name) else {
                // Nothing is left to recover.
                let ended = name == "recovery" && !cell.target_ended.is_empty();
                return (!ended).then(|| format!("phases: {name} is missing"));
            };
            let took_s = phase.end_s - phase.start_s;
            let too_short = took_s < least_s - 1e-6;
            too_short.then(|| {
                format!("phases: {name} took {took_s:.3} s, and the plan says {least_s} s")
            })
        };
        least.into_iter().filter_map(short).collect()
    }
}

/// The attempts at one unit: all sides alike, from 1 on, no more than the plan allows, none after one whose cells
/// are all valid, and none too few. The loads after the first are missing only where a target had ended.
fn attempts(
    unit: &Unit,
    tried: &[Attempts],
    allowed: u32,
    excused: bool,
    find: &mut impl FnMut(&str),
) {
    let first = &tried[..unit.sides()];
    let count = first.iter().map(BTreeMap::len).max().unwrap_or(0) as u32;
    let of = |attempt: u32| {
        let cells = tried.iter().filter_map(move |tried| tried.get(&attempt));
        cells.map(|(_, cell)| cell)
    };
    let ended = |attempt| of(attempt).any(|cell| !cell.target_ended.is_empty());
    for (place, (key, attempts)) in unit.cells.iter().zip(tried).enumerate() {
        let may_lack = |attempt: u32| place >= first.len() && ended(attempt);
        let expected = (1..=count).filter(|n| attempts.contains_key(n) || !may_lack(*n));
        if !attempts.keys().copied().eq(expected) {
            let found: Vec<&u32> = attempts.keys().collect();
            let who = key.contender();
            find(&format!(
                "attempts of {who}: expected 1 to {count}, found {found:?}"
            ));
        }
    }
    if count > allowed {
        find(&format!("{count} attempts, and the plan allows {allowed}"));
    }
    let valid = |attempt| of(attempt).all(|cell| cell.load.valid);
    if let Some(attempt) = (1..count).find(|attempt| valid(*attempt)) {
        find(&format!(
            "measured again although attempt {attempt} was valid"
        ));
    }
    if count == 0 && !excused {
        find("is planned, and is neither measured nor a hole");
    } else if count > 0 && count < allowed && !valid(count) && !excused {
        find(&format!(
            "given up after {count} attempts, and the plan makes {allowed}"
        ));
    }
}

/// When a unit was under way, and one of its folders.
struct Span<'a> {
    start_s: f64,
    end_s: f64,
    folder: &'a str,
}

/// One for each attempt at a unit.
fn spans_of<'a>(tried: &[Attempts<'a>]) -> Vec<Span<'a>> {
    let mut spans: BTreeMap<u32, Span> = BTreeMap::new();
    for (attempt, (folder, cell)) in tried.iter().flatten() {
        let start_s = cell.started_unix_s;
        let end_s = start_s + cell.phases.last().map_or(0.0, |phase| phase.end_s);
        let span = spans.entry(*attempt).or_insert(Span {
            start_s,
            end_s,
            folder,
        });
        span.start_s = span.start_s.min(start_s);
        span.end_s = span.end_s.max(end_s);
    }
    spans.into_values().collect()
}

/// Whether a cell has an open loop and its time to itself: the sides of a pair, and a series, are timed
/// and drawn otherwise.
pub(super) fn is_alone(key: &CellKey) -> bool {
    key.r#loop == "open" && key.pair.is_none() && key.series.is_none()
}

fn first_attempt(key: &CellKey) -> CellKey {
    CellKey {
        attempt: 1,
        ..key.clone()
    }
}

fn is_hole(key: &CellKey, holes: &[Hole]) -> bool {
    holes
        .iter()
        .any(|hole| hole.adapter == key.contender() && hole.workload == key.workload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_is_the_last_when_all_loads_of_it_are_valid() {
        let cell = |adapter: &str, rate_rps| CellKey {
            adapter: adapter.into(),
            rate_rps,
            ..CellKey::default()
        };
        let of = |rate_rps| ["x", "ref"].map(|adapter| cell(adapter, rate_rps));
        let unit = Unit {
            cells: [of(Some(1000)), of(None)].concat(),
        };
        let given_up = "given up after 1 attempts, and the plan makes 2";
        let again = "measured again although attempt 1 was valid";
        let later_invalid = [true, true, false, true];
        type Validity = [[bool; 4]];
        let table: [(&Validity, &[&str]); 5] = [
            (&[[true; 4]], &[]),
            (&[later_invalid, [true; 4]], &[]),
            (&[later_invalid, later_invalid], &[]),
            (&[later_invalid], &[given_up]),
            (&[[true; 4], [true; 4]], &[again]),
        ];
        for (validity, expected) in table {
            let cell = |place: usize, valid: bool| {
                let mut cell = Cell {
                    key: unit.cells[place].clone(),
                    ..Cell::default()
                };
                cell.load.valid = valid;
                ("folder", cell)
            };
            let cells: Vec<Vec<_>> = (0..4)
                .map(|place| {
                    validity
                        .iter()
                        .map(|attempt| cell(place, attempt[place]))
                        .collect()
                })
                .collect();
            let tried: Vec<Attempts> = cells
                .iter()
                .map(|attempts| (1..).zip(attempts).collect())
                .collect();
            let mut found = Vec::new();
            attempts(&unit, &tried, 2, false, &mut |what| {
                found.push(what.to_owned())
            });
            assert_eq!(found, expected, "{validity:?}");
        }
    }
}
