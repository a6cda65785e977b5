//! From cells to pairs: what was alive together, all of it valid, or lost.

use std::collections::{BTreeMap, BTreeSet};

use super::judge::SPILL_SHARE;
use crate::record::schema::Cell;

/// A load of a workload: open with a rate, else closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point<'a> {
    /// The workload's name.
    pub workload: &'a str,
    /// The schedule's rate; none in a closed loop.
    pub rate_rps: Option<u64>,
    /// Connections.
    pub connections: u32,
}

impl Point<'_> {
    fn is_of(&self, cell: &Cell) -> bool {
        let key = &cell.key;
        let r#loop = if self.rate_rps.is_some() {
            "open"
        } else {
            "closed"
        };
        key.workload == self.workload
            && key.r#loop == r#loop
            && key.rate_rps == self.rate_rps
            && key.connections == self.connections
    }
}

/// One load of one group of fresh containers: a valid cell of every side, in the order of their letters.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair<'a>(pub Vec<&'a Cell>);

impl<'a> Pair<'a> {
    /// The cell of one who is alive in it.
    pub fn of(&self, who: &str) -> Option<&'a Cell> {
        let own = |cell: &&&Cell| cell.key.contender() == who;
        self.0.iter().find(own).copied()
    }

    /// The first side and the last. Where all sides are the same, as in a null test, a group of more than
    /// two gives this one ratio only: its others would share a side with it and be no pairs of their own.
    pub fn outer(&self) -> Option<(&'a Cell, &'a Cell)> {
        let (first, last) = (*self.0.first()?, *self.0.last()?);
        (self.0.len() > 1).then_some((first, last))
    }
}

/// All groups of one role at one load point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs<'a> {
    /// Those with all sides valid, by their numbers.
    pub valid: Vec<Pair<'a>>,
    /// Who was alive in each of the others, and whether a side's slots spilled.
    lost: Vec<Lost>,
    /// Who was alive together, each list sorted.
    pub alive: BTreeSet<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq)]
struct Lost {
    alive: Vec<String>,
    spilled: bool,
}

/// A group: its number, and who is alive in it.
type Group = (u32, Vec<String>);
/// The sides of one attempt, by place.
type Sides<'a> = BTreeMap<usize, &'a Cell>;

impl<'a> Pairs<'a> {
    /// Of all cells those of this role at this point. The last attempt with a valid cell of every side
    /// speaks for a group; a group without one is lost.
    pub fn of(cells: &'a [Cell], role: &str, point: Point) -> Self {
        let mut groups: BTreeMap<Group, BTreeMap<u32, Sides>> = BTreeMap::new();
        for cell in cells
            .iter()
            .filter(|cell| cell.key.role == role && point.is_of(cell))
        {
            if let Some((group, place)) = place(cell) {
                let attempts = groups.entry(group).or_default();
                let sides = attempts.entry(cell.key.attempt).or_default();
                sides.insert(place, cell);
            }
        }
        let mut pairs = Self::default();
        for ((_, alive), attempts) in groups {
            let whole = |sides: &&Sides| {
                sides.len() == alive.len() && sides.values().all(|cell| cell.load.valid)
            };
            match attempts.values().rev().find(whole) {
                Some(sides) => pairs.valid.push(Pair(sides.values().copied().collect())),
                None => pairs.lost.push(Lost {
                    alive: alive.clone(),
                    spilled: attempts
                        .values()
                        .all(|sides| sides.values().any(|cell| spilled(cell))),
                }),
            }
            pairs.alive.insert(alive);
        }
        pairs
    }

    /// Those in which all of these are alive.
    pub fn with(&self, who: &[&str]) -> Self {
        let all = |alive: &[String]| who.iter().all(|who| alive.iter().any(|one| one == who));
        let valid = self.valid.iter();
        Self {
            valid: valid
                .filter(|pair| who.iter().all(|who| pair.of(who).is_some()))
                .cloned()
                .collect(),
            lost: self
                .lost
                .iter()
                .filter(|lost| all(&lost.alive))
                .cloned()
                .collect(),
            alive: self
                .alive
                .iter()
                .filter(|alive| all(alive))
                .cloned()
                .collect(),
        }
    }

    /// Those of so many sides.
    pub fn of_sides(mut self, sides: usize) -> Self {
        self.valid.retain(|pair| pair.0.len() == sides);
        self.lost.retain(|lost| lost.alive.len() == sides);
        self.alive.retain(|alive| alive.len() == sides);
        self
    }

    /// What became of the others, to go on a sentence with; empty where there are none.
    pub fn lost(&self) -> String {
        match self.lost.len() {
            0 => String::new(),
            lost if self.lost.iter().all(|lost| lost.spilled) => {
                format!(
                    "; a side is overloaded: lost to slots that spilled out of their slices: {lost}"
                )
            }
            lost => format!("; invalid: {lost}"),
        }
    }
}

/// Which group a cell is of, and its place there by its letter; none where it is of no pair.
fn place(cell: &Cell) -> Option<(Group, usize)> {
    let sides = &cell.paired.as_ref()?.sides;
    let place = cell.key.side_index()?;
    if *sides.get(place)? != cell.key.contender() {
        return None;
    }
    let mut alive = sides.clone();
    alive.sort();
    Some(((cell.key.pair?, alive), place))
}

fn spilled(cell: &Cell) -> bool {
    cell.load.spilled as f64 > SPILL_SHARE * cell.load.ledger.scheduled as f64
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Session, side};
    use super::*;

    const POINT: Point = Point {
        workload: "w",
        rate_rps: Some(1000),
        connections: 32,
    };

    #[test]
    fn a_pair_is_the_last_attempt_with_every_side_valid() {
        let cell = |attempt, letter, valid| {
            let mut cell = side("measure", 1, &["x", "ref"], letter);
            cell.key.attempt = attempt;
            cell.load.valid = valid;
            cell
        };
        type Sides = [(u32, usize, bool)];
        let table: [(&Sides, Option<u32>); 7] = [
            (&[(1, 0, true), (1, 1, true)], Some(1)),
            (&[(1, 0, true), (1, 1, false)], None),
            (&[(1, 0, true)], None),
            (&[(1, 0, true), (2, 1, true)], None),
            (
                &[(1, 0, true), (1, 1, true), (2, 0, true), (2, 1, true)],
                Some(2),
            ),
            (
                &[(1, 0, true), (1, 1, true), (2, 0, false), (2, 1, true)],
                Some(1),
            ),
            (&[], None),
        ];
        for (sides, expected) in table {
            let cells: Vec<Cell> = sides.iter().map(|(a, l, v)| cell(*a, *l, *v)).collect();
            let pairs = Pairs::of(&cells, "measure", POINT);
            let attempts: Vec<u32> = pairs.valid.iter().map(|p| p.0[0].key.attempt).collect();
            assert_eq!(attempts, Vec::from_iter(expected), "{sides:?}");
            assert_eq!(
                pairs.lost.len(),
                usize::from(expected.is_none() && !cells.is_empty())
            );
        }
    }

    #[test]
    fn cells_of_other_points_roles_and_of_no_pair_are_none() {
        let session = Session::new(&["x", "ref"], 6, 4);
        let count = |role, point| Pairs::of(&session.cells, role, point).valid.len();
        assert_eq!((count("measure", POINT), count("null", POINT)), (6, 4));
        let other = |rate_rps, connections| Point {
            rate_rps,
            connections,
            ..POINT
        };
        for point in [other(None, 32), other(Some(1000), 33), other(Some(1), 32)] {
            assert_eq!(count("measure", point), 0);
        }
        type Break = fn(&mut Cell);
        let breaks: [Break; 4] = [
            |cell| cell.paired = None,
            |cell| cell.key.pair = None,
            |cell| cell.key.side = Some("b".into()),
            |cell| cell.key.label = "other".into(),
        ];
        for break_it in breaks {
            let mut cells = session.cells.clone();
            break_it(&mut cells[0]);
            assert_eq!(Pairs::of(&cells, "measure", POINT).valid.len(), 5);
        }
    }

    #[test]
    fn a_comparison_takes_the_groups_that_both_are_alive_in() {
        let mut session = Session::new(&["x", "y", "ref"], 6, 0);
        session.add("measure", &["z", "ref"], 3);
        let pairs = Pairs::of(&session.cells, "measure", POINT);
        for (who, expected) in [("x", 6), ("y", 6), ("z", 3), ("nobody", 0)] {
            let with = pairs.with(&[who, "ref"]);
            assert_eq!(with.valid.len(), expected, "{who}");
            assert_eq!(with.alive.len(), usize::from(expected > 0), "{who}");
        }
        assert_eq!(pairs.clone().of_sides(2).valid.len(), 3);
        let (first, last) = pairs.valid[0].outer().unwrap();
        assert_eq!(
            (first.key.adapter.as_str(), last.key.adapter.as_str()),
            ("x", "ref")
        );
    }
}
