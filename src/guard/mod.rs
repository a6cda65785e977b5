//! Guards of the scenery: each reads something of the machine around a load, judges it (pure) and says
//! what to do. A new guard is a file and a line in [`GUARDS`].
//!
//! Of METHOD's list, what is not here cannot happen: a port is never taken, for each cell has a network
//! namespace of its own; leftovers of an earlier batch are swept before a run; numbers are written and
//! read without a locale. What a load's own record shows (lateness, pauses) is judged with it.

use serde::{Deserialize, Serialize};

use crate::record::scenery::{Reading, Scenery};

mod clock_step;
pub mod doctor;
mod foreign_load;
mod foreign_target;
mod frequency;
pub mod gate;
mod generator_starved;
pub mod governor;
pub mod hypervisor;
pub mod idle_states;
mod load_average;
mod oom;
mod other_containers;
pub mod power;
mod pressure;
mod runner;
mod share;
mod steal;
mod swapping;
mod switches;
mod thermal;
mod throttled;
pub mod turbo;

/// Every guard, in the order of its findings.
pub const GUARDS: [Guard; 20] = [
    governor::GUARD,
    turbo::GUARD,
    idle_states::GUARD,
    power::GUARD,
    hypervisor::GUARD,
    load_average::GUARD,
    other_containers::GUARD,
    foreign_target::GUARD,
    foreign_load::GUARD,
    runner::GUARD,
    generator_starved::GUARD,
    steal::GUARD,
    pressure::GUARD,
    swapping::GUARD,
    throttled::GUARD,
    switches::GUARD,
    thermal::GUARD,
    oom::GUARD,
    clock_step::GUARD,
    frequency::GUARD,
];

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Ok,
    /// It can't be seen here, which is not the same.
    Unseen,
    /// It can be measured, but look at it.
    Warn,
    /// It can't be measured here; of a load: it is invalid.
    Fail,
}

/// One finding, as `doctor --json` prints it and cells carry it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// What was looked at; stable, for scripts.
    pub id: String,
    /// How much it matters.
    pub level: Level,
    /// What was found.
    pub what: String,
    /// What to do about it; empty where there is nothing to do.
    pub fix: String,
}

impl Finding {
    /// As it should be.
    pub fn ok(id: &str, what: impl Into<String>) -> Self {
        Self::new(id, Level::Ok, what, "")
    }

    /// Worth a look.
    pub fn warn(id: &str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(id, Level::Warn, what, fix)
    }

    /// In the way of any measurement.
    pub fn fail(id: &str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(id, Level::Fail, what, fix)
    }

    /// What this machine does not show is not fine because of it.
    pub fn unseen(id: &str, what: &str, fix: impl Into<String>) -> Self {
        Self::new(id, Level::Unseen, format!("{what}: not visible here"), fix)
    }

    fn new(id: &str, level: Level, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            id: id.to_owned(),
            level,
            what: what.into(),
            fix: fix.into(),
        }
    }
}

/// Whether nothing is in the way: `ok` of `doctor --json`.
pub fn passes(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.level != Level::Fail)
}

/// Which part of a load's time a guard looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The reading before slot 0.
    Before,
    /// What grew between the readings.
    During,
    /// The reading after the drain.
    After,
}

/// A guard, as its file describes it.
#[derive(Clone, Copy, Debug)]
pub struct Guard {
    /// Stable, for scripts.
    pub id: &'static str,
    /// What it reads, in words.
    pub reads: &'static str,
    /// When.
    pub when: When,
    /// What it does when it fires: [`Level::Fail`] makes the cell invalid, [`Level::Warn`] only shows.
    pub fires: Level,
    /// What to do then, or where it can't see.
    pub fix: &'static str,
    judge: fn(&Seen) -> Sight,
}

/// What a guard came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Nothing to say.
    Quiet,
    /// What it needs was not read.
    Unseen,
    /// It found this.
    Fired(String),
}

/// What a cell's samples show of its target: how much counters grew over the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// Periods in which its quota throttled it.
    pub throttled_periods: Option<u64>,
    /// Processes killed for memory.
    pub oom_kills: Option<u64>,
    /// Involuntary context switches.
    pub involuntary_switches: Option<u64>,
    /// Whether the plan gave it a quota.
    pub has_quota: bool,
}

/// All that guards judge.
#[derive(Clone, Copy, Debug)]
struct Seen<'a> {
    scenery: &'a Scenery,
    target: Target,
}

impl Guard {
    /// A sight as a finding; `quiet` says it where there is nothing to say.
    pub fn finding(&self, sight: Sight, quiet: impl Into<String>) -> Finding {
        match sight {
            Sight::Quiet => Finding::ok(self.id, quiet),
            Sight::Unseen => Finding::unseen(self.id, self.reads, self.fix),
            Sight::Fired(what) => Finding::new(self.id, self.fires, what, self.fix),
        }
    }
}

impl Sight {
    /// Quiet unless there is something to say; unseen where nothing is known.
    fn of(known: Option<Option<String>>) -> Self {
        match known {
            None => Self::Unseen,
            Some(None) => Self::Quiet,
            Some(Some(what)) => Self::Fired(what),
        }
    }
}

impl Seen<'_> {
    /// How much a counter grew between the readings.
    fn grown(&self, of: impl Fn(&Reading) -> Option<u64>) -> Option<u64> {
        of(&self.scenery.end)?.checked_sub(of(&self.scenery.start)?)
    }

    /// A time in microseconds as a share of the time between the readings; `None` where that is none.
    fn share(&self, us: u64) -> Option<f64> {
        let seconds = self.scenery.seconds();
        (seconds > 0.0).then(|| us as f64 / 1e6 / seconds)
    }
}

/// What all guards found that is not as it should be, or could not see.
pub fn judge(scenery: &Scenery, target: Target) -> Vec<Finding> {
    let seen = Seen { scenery, target };
    let findings = GUARDS
        .iter()
        .map(|guard| guard.finding((guard.judge)(&seen), ""));
    findings.filter(|f| f.level != Level::Ok).collect()
}

#[cfg(test)]
mod tests;
