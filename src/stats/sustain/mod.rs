//! The highest rate that keeps a criterion: how it is searched, and what the trials say. All of it follows
//! from the plan and the cells alone, so that a killed run goes on where it was and a reader can ask again
//! what the run asked.

pub mod climb;
pub mod ladder;
mod rows;
pub mod session;
#[cfg(test)]
mod simulate;

pub use climb::{Climb, State, Told};
pub use rows::rows;
pub use session::{Search, Trial};

use crate::record::schema::Cell;

/// What a plan fixed before anything was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SustainRules {
    /// Who is searched, as `express@slow`, in the plan's order.
    pub contenders: Vec<String>,
    /// At what.
    pub workloads: Vec<String>,
    /// The rates of the ladder, ascending.
    pub rungs: Vec<u64>,
    /// Rungs to a step on the way up.
    pub stride: usize,
    /// Of so many trials the majority decides.
    pub trials: u32,
    /// Connections at most.
    pub connections: u32,
    /// Threads of the generator.
    pub threads: u32,
    /// `pinned` or `unleashed`.
    pub mode: String,
    /// Of the order of the trials.
    pub seed: u64,
    /// How long a rate is kept up, in seconds.
    pub load_s: f64,
    /// How long it is warmed up before, in seconds.
    pub warm_up_s: f64,
}

/// How many trials a target takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// Where not even the lowest rate is held, or whatever else ends soonest.
    pub fewest: usize,
    /// Where the search takes longest, if all trials of a rate agree.
    pub most: usize,
}

impl SustainRules {
    /// A search that has not begun.
    pub fn climb(&self) -> Climb {
        Climb::new(self.rungs.len(), self.stride, self.trials)
    }

    /// The search as far as one target's cells took it.
    pub fn climbed<'a>(&self, cells: impl Iterator<Item = &'a Cell>) -> Climb {
        let mut climb = self.climb();
        for cell in cells {
            let rung = self
                .rungs
                .iter()
                .position(|rate| Some(*rate) == cell.key.rate_rps);
            if let Some(rung) = rung {
                climb.count(rung, told(cell));
            }
        }
        climb
    }

    /// How many trials there will be for each target and workload.
    pub fn outlook(&self) -> Outlook {
        let trials = |held: usize| {
            let mut climb = self.climb();
            let mut count = 0;
            while let Some(rung) = climb.next() {
                let told = if rung < held {
                    Told::Held
                } else {
                    Told::NotHeld
                };
                climb.count(rung, told);
                count += 1;
            }
            count
        };
        let counts = || (0..=self.rungs.len()).map(trials);
        Outlook {
            fewest: counts().min().unwrap_or(0),
            most: counts().max().unwrap_or(0),
        }
    }
}

/// What trials of this length can prove: a target may well give way later.
pub fn window(load_s: f64, warm_up_s: f64) -> String {
    format!(
        "held for {load_s} s of load after {warm_up_s} s of warm-up, each trial in a fresh container: nothing is \
         claimed beyond that time"
    )
}

/// What the last attempt at a trial says: a cell is healthy if it met the plan's criterion.
pub fn told(cell: &Cell) -> Told {
    match cell.healthy {
        Some(true) => Told::Held,
        Some(false) => Told::NotHeld,
        None => Told::Invalid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ladder from 1,000 to 10,000 per second.
    pub(super) fn rules() -> SustainRules {
        SustainRules {
            contenders: vec!["a".into(), "b@slow".into()],
            workloads: vec!["ok".into()],
            rungs: ladder::rungs(1000, 10_000, 1.05),
            stride: 5,
            trials: 3,
            connections: 100,
            threads: 1,
            mode: "pinned".into(),
            seed: 1,
            load_s: 4.0,
            warm_up_s: 2.0,
        }
    }

    #[test]
    fn the_outlook_bounds_every_search_whose_trials_agree() {
        let Outlook { fewest, most } = rules().outlook();
        assert!(
            fewest >= 4 && most > fewest && most < 50,
            "{fewest} to {most}"
        );
        let one = SustainRules {
            rungs: vec![1000, 2000],
            stride: 1,
            trials: 1,
            ..rules()
        };
        assert_eq!(one.outlook(), Outlook { fewest: 1, most: 2 });
    }

    #[test]
    fn the_window_says_what_it_can_prove() {
        let words = window(4.0, 2.0);
        assert!(
            words.starts_with("held for 4 s of load after 2 s of warm-up"),
            "{words}"
        );
    }
}
