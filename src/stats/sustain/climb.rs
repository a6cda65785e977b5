//! One target's search for the highest rate that it holds. What comes next follows from how often each
//! rate was held so far, and from nothing else.

use std::collections::BTreeMap;

/// Trials of one rate that are counted at the very most, as a multiple of the plan's.
const MOST: u32 = 7;
/// An end of the interval stands once its trials speak for it by these odds: some ten rates are tried on
/// the way, each of which could have ended the search by mistake.
const ODDS: f64 = 1000.0;
/// What is supposed of the trials before there are any: so many that agree with their rate, as many
/// that do not.
const SUPPOSED: u32 = 2;

/// What one trial says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The criterion was met.
    Held,
    /// It was not.
    NotHeld,
    /// The instrument broke its rules in every attempt: this trial says nothing.
    Invalid,
}

/// The trials of one rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Tally {
    pub held: u32,
    pub not_held: u32,
    pub invalid: u32,
}

impl Tally {
    /// Those that say something.
    fn valid(self) -> u32 {
        self.held + self.not_held
    }

    /// By how many the majority leads.
    fn lead(self) -> u32 {
        self.held.abs_diff(self.not_held)
    }

    /// All of them.
    pub fn count(self) -> u32 {
        self.valid() + self.invalid
    }
}

/// What the trials of a rate come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing yet.
    Open,
    /// The majority met the criterion.
    Held,
    /// The majority did not.
    NotHeld,
    /// As many trials as should have decided it were invalid: nobody knows, and nothing is claimed.
    Lost,
}

/// A ladder of rates by their places, and what is known of those that were tried.
#[derive(Clone, Debug)]
pub struct Climb {
    rungs: usize,
    stride: usize,
    trials: u32,
    tallies: BTreeMap<usize, Tally>,
}

impl Climb {
    /// Before the first trial. `stride` rungs are skipped on the way up; of `trials` the majority decides.
    pub fn new(rungs: usize, stride: usize, trials: u32) -> Self {
        Self {
            rungs,
            stride,
            trials,
            tallies: BTreeMap::new(),
        }
    }

    /// Counts a trial of a rung.
    pub fn count(&mut self, rung: usize, told: Told) {
        let tally = self.tallies.entry(rung).or_default();
        match told {
            Told::Held => tally.held += 1,
            Told::NotHeld => tally.not_held += 1,
            Told::Invalid => tally.invalid += 1,
        }
    }

    /// The trials of a rung so far.
    pub fn tally(&self, rung: usize) -> Tally {
        self.tallies.get(&rung).copied().unwrap_or_default()
    }

    /// Every rung that was tried.
    pub fn tried(&self) -> impl Iterator<Item = usize> {
        self.tallies.keys().copied()
    }

    /// What its trials come to: two that agree decide, of three.
    pub fn state(&self, rung: usize) -> State {
        let tally = self.tally(rung);
        let enough = tally.held.max(tally.not_held) > self.trials / 2;
        match tally.held.cmp(&tally.not_held) {
            std::cmp::Ordering::Greater if enough => State::Held,
            std::cmp::Ordering::Less if enough => State::NotHeld,
            _ if tally.invalid >= self.trials => State::Lost,
            _ => State::Open,
        }
    }

    /// The highest rung that is held with all below it that were tried, and the lowest that is not held or
    /// of which nothing is known.
    pub fn interval(&self) -> (Option<usize>, Option<usize>) {
        let stops = |rung: &usize| matches!(self.state(*rung), State::NotHeld | State::Lost);
        let high = self.tried().find(stops);
        let below = self.tallies.keys().rev().copied();
        let mut below = below.filter(|rung| high.is_none_or(|high| *rung < high));
        let low = below.find(|rung| self.state(*rung) == State::Held);
        (low, high)
    }

    /// The rung of the next trial: up in strides, after the first that is not held by halves in between,
    /// and then again at both ends until each is sure. None once the interval stands.
    pub fn next(&self) -> Option<usize> {
        if let Some(open) = self.tried().find(|rung| self.state(*rung) == State::Open) {
            return Some(open);
        }
        let top = self.rungs.checked_sub(1)?;
        match self.interval() {
            (None, None) => Some(0),
            (Some(low), None) if low < top => Some((low + self.stride).min(top)),
            (Some(low), Some(high)) if high - low > 1 => Some(low.midpoint(high)),
            (low, high) => {
                let ends = high.into_iter().chain(low);
                let unsure = ends.filter(|rung| !self.is_sure(*rung));
                unsure.min_by_key(|rung| self.tally(*rung).lead())
            }
        }
    }

    /// Whether a rung's own trials leave no doubt worth another one. The more of all trials disagree with
    /// their rate, the further its own must lead: 4 of 4 among few trials that all agree, 3 of 3 among
    /// many, a lead of 5 where a fifth is wrong (odds of so many to one, multiplied; Wald 1945).
    fn is_sure(&self, rung: usize) -> bool {
        let tally = self.tally(rung);
        if self.trials == 1 || tally.valid() >= MOST * self.trials || tally.invalid >= self.trials {
            return true;
        }
        let all = || self.tallies.values();
        let agree: u32 = all().map(|tally| tally.held.max(tally.not_held)).sum();
        let differ: u32 = all().map(|tally| tally.held.min(tally.not_held)).sum();
        let odds = f64::from(agree + SUPPOSED) / f64::from(differ + SUPPOSED);
        (0..tally.lead()).fold(1.0, |product, _| product * odds) >= ODDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches with these answers, and the rungs that were asked for.
    fn search(climb: &mut Climb, mut answer: impl FnMut(usize) -> Told) -> Vec<usize> {
        let mut asked = Vec::new();
        while let Some(rung) = climb.next() {
            asked.push(rung);
            climb.count(rung, answer(rung));
            assert!(asked.len() < 10_000, "the search does not end");
        }
        asked
    }

    fn up_to(knee: usize) -> impl Fn(usize) -> Told {
        move |rung| {
            if rung <= knee {
                Told::Held
            } else {
                Told::NotHeld
            }
        }
    }

    #[test]
    fn it_climbs_in_strides_halves_the_rest_and_asks_again_at_the_ends() {
        let mut climb = Climb::new(100, 5, 3);
        let asked = search(&mut climb, up_to(12));
        let twice: Vec<usize> = [0, 5, 10, 15, 12, 13]
            .iter()
            .flat_map(|r| [*r, *r])
            .collect();
        assert_eq!(asked, [&twice[..], &[13, 12, 13, 12]].concat());
        assert_eq!(climb.interval(), (Some(12), Some(13)));
    }

    #[test]
    fn every_knee_is_found_at_its_rung() {
        for knee in 0..40 {
            let mut climb = Climb::new(40, 7, 3);
            search(&mut climb, up_to(knee));
            let above = (knee < 39).then_some(knee + 1);
            assert_eq!(climb.interval(), (Some(knee), above));
        }
        let mut climb = Climb::new(40, 7, 3);
        search(&mut climb, |_| Told::NotHeld);
        assert_eq!(climb.interval(), (None, Some(0)));
        let mut one = Climb::new(1, 1, 1);
        assert_eq!(search(&mut one, up_to(0)), [0], "one trial's word is taken");
        assert_eq!(one.interval(), (Some(0), None));
    }

    #[test]
    fn two_of_three_decide_and_a_tie_asks_once_more() {
        let mut climb = Climb::new(10, 1, 3);
        for (told, state) in [
            (Told::Held, State::Open),
            (Told::NotHeld, State::Open),
            (Told::Invalid, State::Open),
            (Told::Held, State::Held),
            (Told::NotHeld, State::Open),
            (Told::NotHeld, State::NotHeld),
        ] {
            climb.count(0, told);
            assert_eq!(climb.state(0), state, "{told:?}: {:?}", climb.tally(0));
        }
    }

    #[test]
    fn what_stays_invalid_is_never_claimed_and_the_interval_ends_below_it() {
        let mut climb = Climb::new(100, 5, 3);
        let answer = |rung| if rung < 12 { Told::Held } else { Told::Invalid };
        let asked = search(&mut climb, answer);
        assert_eq!(climb.interval(), (Some(11), Some(12)));
        assert_eq!(climb.state(12), State::Lost);
        assert_eq!(
            asked.iter().filter(|rung| **rung == 12).count(),
            3,
            "bounded"
        );
        let mut lost = Climb::new(100, 5, 3);
        search(&mut lost, |_| Told::Invalid);
        assert_eq!(lost.interval(), (None, Some(0)));
    }

    #[test]
    fn a_lower_rung_that_is_not_held_ends_the_interval_below_itself() {
        let mut climb = Climb::new(10, 1, 1);
        for (rung, told) in [(0, Told::Held), (3, Told::NotHeld), (7, Told::Held)] {
            climb.count(rung, told);
        }
        assert_eq!(climb.interval(), (Some(0), Some(3)));
    }

    #[test]
    fn a_mistake_on_the_way_up_is_taken_back() {
        let mut mistakes = 2;
        let mut climb = Climb::new(100, 5, 3);
        search(&mut climb, |rung| {
            if rung == 10 && mistakes > 0 {
                mistakes -= 1;
                return Told::NotHeld;
            }
            up_to(33)(rung)
        });
        assert_eq!(climb.interval(), (Some(33), Some(34)));
    }

    #[test]
    fn a_rate_at_the_very_edge_does_not_go_on_for_ever() {
        let mut flip = false;
        let mut climb = Climb::new(100, 5, 3);
        let asked = search(&mut climb, |rung| {
            flip = !flip;
            match rung {
                20 if flip => Told::NotHeld,
                _ => up_to(20)(rung),
            }
        });
        assert!(asked.len() <= 60, "{}", asked.len());
    }
}
