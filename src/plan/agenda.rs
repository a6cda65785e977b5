//! What a run does next: the units of a matrix in their order, or what a search asks for once it was told
//! what came of the trial before. The runner walks it, and so does whoever verifies what was run.

use std::slice;

use super::matrix::{Matrix, Unit};
use super::spec::Plan;
use crate::stats::sustain::{Search, SustainRules, Told};

/// What came of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was measured, and that is what it says where a search asked.
    Measured(Told),
    /// It has no number, and whoever it is of can't be measured any more.
    Gone,
}

/// Units one after the other.
pub struct Agenda<'a> {
    plan: &'a Plan,
    planned: slice::Iter<'a, Unit>,
    search: Option<Search>,
}

impl<'a> Agenda<'a> {
    /// Of a plan and what it came to; `rules` are those of its search, where it is one.
    pub fn new(plan: &'a Plan, matrix: &'a Matrix, rules: Option<&SustainRules>) -> Self {
        let search = rules.map(|rules| Search::new(rules, fields(matrix)));
        // A search asks for its first trials too.
        let planned = match search {
            Some(_) => [].iter(),
            None => matrix.units.iter(),
        };
        Self {
            plan,
            planned,
            search,
        }
    }

    /// The next unit; none at the end. What came of the one before is told first.
    pub fn ask(&mut self) -> Option<Unit> {
        match &mut self.search {
            Some(search) => self.plan.trial(&search.ask()?),
            None => self.planned.next().cloned(),
        }
    }

    /// What came of the unit.
    pub fn tell(&mut self, outcome: Outcome) {
        if let Some(search) = &mut self.search {
            search.tell(match outcome {
                Outcome::Measured(told) => Some(told),
                Outcome::Gone => None,
            });
        }
    }

    /// What is left, the next unit first; none where that depends on what comes of it.
    pub fn left(&self) -> Option<&'a [Unit]> {
        match self.search {
            Some(_) => None,
            None => Some(self.planned.as_slice()),
        }
    }
}

/// Who is searched at each workload, in the plan's order.
fn fields(matrix: &Matrix) -> Vec<(String, Vec<String>)> {
    let units = matrix
        .units
        .chunk_by(|a, b| a.cells[0].workload == b.cells[0].workload);
    let field = |units: &[Unit]| {
        let who = units.iter().map(|unit| unit.cells[0].contender());
        (units[0].cells[0].workload.clone(), who.collect())
    };
    units.map(field).collect()
}

#[cfg(test)]
mod tests {
    use super::super::adapter::tests::adapter;
    use super::super::spec::tests::{SUSTAIN, parse, plan};
    use super::*;
    use crate::record::planned::Planned;

    #[test]
    fn a_matrix_is_walked_from_end_to_end_whatever_came_of_it() {
        let plan = plan();
        let adapters = ["node-http", "express"].map(|name| adapter(name, "[ok, hello]"));
        let matrix = plan.cells(&adapters).unwrap();
        let mut agenda = Agenda::new(&plan, &matrix, None);
        for (place, unit) in matrix.units.iter().enumerate() {
            assert_eq!(
                agenda.left().map(<[Unit]>::len),
                Some(matrix.units.len() - place)
            );
            assert_eq!(agenda.ask().as_ref(), Some(unit));
            agenda.tell(Outcome::Gone);
        }
        assert_eq!(agenda.ask(), None);
    }

    #[test]
    fn a_search_follows_from_what_it_is_told() {
        let plan = parse(SUSTAIN).unwrap();
        let adapters = ["node-http", "express"].map(|name| adapter(name, "[ok]"));
        let matrix = plan.cells(&adapters).unwrap();
        let rules = Planned::read(&plan.to_yaml().unwrap()).unwrap().sustain;
        let mut agenda = Agenda::new(&plan, &matrix, rules.as_ref());
        assert!(agenda.left().is_none(), "nobody knows");
        let mut rates = Vec::new();
        while let Some(unit) = agenda.ask() {
            let key = &unit.cells[0];
            assert_eq!((unit.cells.len(), key.role.as_str()), (1, "measure"));
            let outcome = match (key.label.as_str(), key.adapter.as_str()) {
                ("slow", _) => Outcome::Gone,
                (_, "express") => Outcome::Measured(Told::NotHeld),
                _ => Outcome::Measured(Told::Held),
            };
            rates.push((key.contender(), key.rate_rps.unwrap()));
            agenda.tell(outcome);
        }
        let of = |who: &str| -> Vec<u64> {
            rates
                .iter()
                .filter(|(own, _)| own == who)
                .map(|(_, rate)| *rate)
                .collect()
        };
        assert_eq!(of("express@slow"), [1000], "it is asked no more");
        assert!(of("express").iter().all(|rate| *rate == 1000));
        assert_eq!(of("node-http").last(), Some(&50_000));
    }
}
