//! All targets of a plan searched side by side: rounds of one trial each, so that what the machine does
//! over the hours falls on all alike.

use std::collections::VecDeque;

use super::SustainRules;
use super::climb::{Climb, Told};
use crate::draw::Draw;

/// One trial that a search asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// At what.
    pub workload: String,
    /// Whose, as `express@slow`.
    pub who: String,
    /// How fast.
    pub rate_rps: u64,
    /// From 1, among those of the same target and rate.
    pub number: u32,
}

/// The search of every target, workload after workload. It holds no clock and no result of its own:
/// told the same, it asks the same.
pub struct Search {
    rules: SustainRules,
    fields: VecDeque<Field>,
    draw: Draw,
}

/// Those who are searched at one workload.
struct Field {
    workload: String,
    climbers: Vec<Climber>,
    /// Who of this round is left, the next one last.
    round: Vec<usize>,
}

struct Climber {
    who: String,
    climb: Climb,
    gone: bool,
}

impl Search {
    /// Of these targets at each workload, in the plan's order.
    pub fn new(rules: &SustainRules, fields: Vec<(String, Vec<String>)>) -> Self {
        let climber = |who| Climber {
            who,
            climb: rules.climb(),
            gone: false,
        };
        let field = |(workload, all): (String, Vec<String>)| Field {
            workload,
            climbers: all.into_iter().map(climber).collect(),
            round: vec![],
        };
        Self {
            fields: fields.into_iter().map(field).collect(),
            draw: Draw::new("order of trials", rules.seed),
            rules: rules.clone(),
        }
    }

    /// What is to be tried now: the same until [`Search::tell`]; none once every interval stands.
    pub fn ask(&mut self) -> Option<Trial> {
        loop {
            let field = self.fields.front_mut()?;
            if let Some(index) = field.round.last() {
                let Climber { who, climb, .. } = &field.climbers[*index];
                let rung = climb.next()?;
                return Some(Trial {
                    workload: field.workload.clone(),
                    who: who.clone(),
                    rate_rps: self.rules.rungs[rung],
                    number: climb.tally(rung).count() + 1,
                });
            }
            let climbing = |climber: &Climber| !climber.gone && climber.climb.next().is_some();
            let all = field.climbers.iter().enumerate();
            field.round = all
                .filter(|(_, c)| climbing(c))
                .map(|(index, _)| index)
                .collect();
            self.draw.shuffle(&mut field.round);
            if field.round.is_empty() {
                self.fields.pop_front();
            }
        }
    }

    /// What came of it; `None` where this target can't be measured any more.
    pub fn tell(&mut self, told: Option<Told>) {
        let Some(field) = self.fields.front_mut() else {
            return;
        };
        let Some(climber) = field.round.pop().map(|index| &mut field.climbers[index]) else {
            return;
        };
        match (climber.climb.next(), told) {
            (Some(rung), Some(told)) => climber.climb.count(rung, told),
            _ => climber.gone = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::super::tests::rules;
    use super::*;

    /// Who holds what; the trials in their order, and what was told.
    fn run(search: &mut Search, knees: &[(&str, u64)]) -> Vec<Trial> {
        let knees: BTreeMap<_, _> = knees.iter().copied().collect();
        let mut trials = Vec::new();
        while let Some(trial) = search.ask() {
            assert_eq!(search.ask().as_ref(), Some(&trial), "asked twice, the same");
            let knee = knees.get(trial.who.as_str());
            search.tell(knee.map(|knee| match trial.rate_rps <= *knee {
                true => Told::Held,
                false => Told::NotHeld,
            }));
            trials.push(trial);
        }
        trials
    }

    fn field(workload: &str, all: &[&str]) -> (String, Vec<String>) {
        let all = all.iter().map(|who| (*who).to_owned()).collect();
        (workload.to_owned(), all)
    }

    const KNEES: [(&str, u64); 3] = [("a", 1200), ("b", 5000), ("c", 20_000)];

    #[test]
    fn each_has_one_trial_a_round_in_an_order_that_is_drawn() {
        let rules = rules();
        let fields = || vec![field("ok", &["a", "b", "c"]), field("hello", &["b"])];
        let trials = run(&mut Search::new(&rules, fields()), &KNEES);
        let mut orders = BTreeSet::new();
        let shortest = trials.iter().filter(|trial| trial.who == "a").count();
        for round in trials.chunks(3).take(shortest) {
            let who: Vec<&str> = round.iter().map(|trial| trial.who.as_str()).collect();
            assert_eq!(who.iter().collect::<BTreeSet<_>>().len(), 3, "{who:?}");
            orders.insert(who);
        }
        assert!(orders.len() > 3, "{orders:?}");
        let workloads: Vec<&str> = trials.iter().map(|trial| trial.workload.as_str()).collect();
        assert!(workloads.is_sorted_by(|a, b| a >= b), "one after the other");
        let other = SustainRules { seed: 2, ..rules };
        assert_ne!(run(&mut Search::new(&other, fields()), &KNEES), trials);
    }

    #[test]
    fn trials_of_a_rate_are_numbered_and_no_two_are_the_same() {
        let trials = run(
            &mut Search::new(&rules(), vec![field("ok", &["a", "b"])]),
            &KNEES,
        );
        let mut seen: BTreeMap<(String, u64), u32> = BTreeMap::new();
        for trial in trials {
            let count = seen.entry((trial.who.clone(), trial.rate_rps)).or_default();
            *count += 1;
            assert_eq!(trial.number, *count);
        }
    }

    /// A killed run is told again what it knows: every way of breaking off ends in the same trials.
    #[test]
    fn resumed_anywhere_it_asks_the_same() {
        let fields = || vec![field("ok", &["a", "b", "c"])];
        let whole = run(&mut Search::new(&rules(), fields()), &KNEES);
        for killed_after in 0..whole.len() {
            let mut again = Search::new(&rules(), fields());
            for trial in &whole[..killed_after] {
                assert_eq!(again.ask().as_ref(), Some(trial));
                let knee = KNEES.iter().find(|(who, _)| *who == trial.who);
                let held = knee.is_some_and(|(_, knee)| trial.rate_rps <= *knee);
                again.tell(Some(if held { Told::Held } else { Told::NotHeld }));
            }
            assert_eq!(run(&mut again, &KNEES), whole[killed_after..]);
        }
    }

    #[test]
    fn who_is_gone_is_asked_for_no_more_and_the_others_are() {
        let mut search = Search::new(&rules(), vec![field("ok", &["a", "lost"])]);
        let trials = run(&mut search, &KNEES);
        let lost = trials.iter().filter(|trial| trial.who == "lost").count();
        assert_eq!(lost, 1);
        assert!(trials.len() > 5);
    }
}
