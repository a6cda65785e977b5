//! Plans: which adapters meet which workloads, at which rates, how often, and under which limits.

use std::fmt;
use std::time::Duration;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::connections::Connections;
use super::contender::Contender;
use super::cpus::{CpuAsk, CpuList};
pub use super::phases::{Phases, WarmUp};
use super::span::{Seconds, Span};
use super::sustain::Ladder;
use super::yaml::{Source, at};
use crate::error::{Error, Result};
use crate::stats::claim::SMALLEST_EFFECT;
use crate::stats::judge::Healthy;

/// A checked plan. It is also what an archive's `plan.yaml` holds: resolved, with what was overridden.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// For a plan of the kit, its file's name without `.yaml`.
    pub name: String,
    /// What is made of the cells.
    pub kind: Kind,
    /// Who is compared.
    pub adapters: Vec<Contender>,
    /// At what.
    pub workloads: Vec<String>,
    /// How requests are paced.
    #[serde(default)]
    pub r#loop: Loop,
    /// The rates of an open loop, each a cell of its own; of a search those that it may try, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates_rps: Vec<u64>,
    /// Connections: at most so many in an open loop, exactly so many in a closed one.
    pub connections: Connections,
    /// Threads of the generator, which share the connections.
    #[serde(default = "one_thread", skip_serializing_if = "is_one")]
    pub threads: u32,
    /// How slots are laid in time.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// The longest wait for a response.
    #[serde(default = "five_seconds")]
    pub timeout: Span,
    /// Fresh containers per adapter, workload and rate.
    #[serde(default = "once")]
    pub repetitions: u32,
    /// Requests of a closed loop, in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// What a duel judges, each with a verdict of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<Metric>,
    /// Against whom the others of a duel are judged; by default the last of the adapters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Contender>,
    /// Groups of fresh containers, all sides alive at once, per workload and rate of a duel.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pairs: u32,
    /// As many more for the null test: the reference against itself.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub null: u32,
    /// How the sides of a duel take turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairing: Option<Pairing>,
    /// Alternated series of windows a side, where the pairing has them: an even number, by default 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<u32>,
    /// Sides alive at once at most, the reference among them; by default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<u32>,
    /// Length of a slice; by default 20 times the slower side's service p99, and at least 20.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice_ms: Option<u64>,
    /// The least difference that anybody cares for, as a share: 0.005 is 0.5 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smallest_effect: Option<f64>,
    /// The closed loop of a duel's pairs, where a metric asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
    /// A cell that opens and closes a duel's session, to judge the scenery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<Canary>,
    /// The same work at rising levels of equity: the workloads that `duel --levels` measures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
    /// The rates of a search, where they are not listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ladder: Option<Ladder>,
    /// What a rate must keep to be held; by default a p99 of 10 ms and a coverage of 95 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criterion: Option<Healthy>,
    /// Fresh containers for each rate of a search, of which the majority decides: an odd number, by
    /// default 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trials: Option<u32>,
    /// How long each phase lasts.
    #[serde(default)]
    pub phases: Phases,
    /// What the target may use.
    pub limits: PlannedLimits,
    /// CPUs of the generator and the dependencies; by default all that the target leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_cpus: Option<CpuList>,
    /// What of the machine the target gets.
    #[serde(default)]
    pub mode: Mode,
    /// The bounds of a healthy target.
    #[serde(default = "forges_bounds")]
    pub healthy: Healthy,
    /// How often an invalid cell is measured again, at most; every attempt stays in the archive.
    #[serde(default)]
    pub retries: u32,
    /// In which order the cells run.
    #[serde(default)]
    pub order: Order,
    /// Of every draw: the cells' order, and each cell's order of requests.
    #[serde(default = "one")]
    pub seed: u64,
    /// Whether its numbers are meant to be published.
    #[serde(default = "yes")]
    pub publishable: bool,
    /// What was changed on the command line: `load: 60 -> 12`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overridden: Vec<String>,
    /// False as soon as a limit was changed by hand.
    #[serde(default = "yes")]
    pub comparable: bool,
}

/// What is made of the cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Kind {
    Matrix,
    Duel,
    Sustain,
    Closed,
}

/// What a duel judges; its names are those of the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[clap(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Metric {
    CpuUsPerRequest,
    MainThreadUsPerRequest,
    ResponseP50Us,
    ResponseP99Us,
    CapacityRps,
}

/// How the sides of a duel take turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Pairing {
    /// In slices of milliseconds, all alive at once.
    #[default]
    Interleaved,
    /// In alternated series of windows, one alive at a time, as the published experiments did.
    Series,
    /// Both, each with verdicts of its own.
    Both,
}

/// The closed loop that a duel's capacity is measured in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capacity {
    /// A load for each, so that it is seen where more of them only queue.
    pub connections: Vec<u32>,
    /// How long each load lasts on the clock.
    pub load: Seconds,
}

/// A target that is the same in every session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Canary {
    pub adapter: Contender,
    pub workload: String,
}

/// How requests are paced; closed is a kind of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Loop {
    #[default]
    Open,
    Closed,
}

/// How slots are laid in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Arrivals {
    #[default]
    Uniform,
    Poisson,
}

/// What of the machine the target gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// CPUs of its own.
    #[default]
    Pinned,
    /// All that it finds.
    Unleashed,
}

/// In which order the cells run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// By workload, rate and repetition; the adapters drawn anew in each repetition.
    #[default]
    Grouped,
    /// All cells drawn.
    Shuffled,
}

/// What the target may use, as planned; what is in force is read back and recorded apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedLimits {
    /// A number of CPUs, or which; of an unleashed target all.
    pub target_cpus: CpuAsk,
    /// CPU time per time, in CPUs; no quota by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<f64>,
    /// Memory and swap together, in MiB.
    #[serde(default = "two_gib")]
    pub memory_mib: u64,
    /// Most processes and threads.
    #[serde(default = "many_pids")]
    pub pids: u64,
}

fn five_seconds() -> Span {
    Span(Duration::from_secs(5))
}

pub(super) fn forges_bounds() -> Healthy {
    Healthy {
        coverage: 0.95,
        p99_ms: 250.0,
    }
}

fn once() -> u32 {
    1
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn one() -> u64 {
    1
}

fn one_thread() -> u32 {
    1
}

fn is_one(count: &u32) -> bool {
    *count == 1
}

fn yes() -> bool {
    true
}

fn two_gib() -> u64 {
    2048
}

fn many_pids() -> u64 {
    256
}

/// Least load of a plan whose numbers may be published.
const PUBLISHABLE_LOAD_S: f64 = 12.0;

/// Least repetitions of a plan whose numbers may be published.
const PUBLISHABLE_REPETITIONS: u32 = 3;

/// Least pairs of a duel: with fewer no verdict can come (METHOD, rule 15).
pub(super) const LEAST_PAIRS: u32 = 6;

/// Series of windows a side, as the published experiments ran them.
const SERIES: u32 = 2;

impl Plan {
    /// Reads and checks a plan by itself; whether its adapters and workloads exist, the kit knows.
    pub fn parse(source: &Source) -> Result<Self> {
        let mut plan: Self = source.parse()?;
        if plan.kind == Kind::Closed && !source.has(&at!["loop"]) {
            plan.r#loop = Loop::Closed;
        }
        plan.resolve();
        plan.check().map_err(|wrong| source.wrong(wrong))?;
        Ok(plan)
    }

    /// Writes its kind's defaults into it, so that its archive says them.
    pub(super) fn resolve(&mut self) {
        match self.kind {
            Kind::Duel => self.resolve_duel(),
            Kind::Sustain => self.resolve_sustain(),
            Kind::Matrix | Kind::Closed => {}
        }
    }

    fn resolve_duel(&mut self) {
        if self.reference.is_none() {
            self.reference = self.adapters.last().cloned();
        }
        self.pairing.get_or_insert_default();
        if self.has_series() {
            self.series.get_or_insert(SERIES);
        }
        self.smallest_effect.get_or_insert(SMALLEST_EFFECT);
    }

    /// Whether it is a duel whose sides take turns in slices.
    pub fn is_interleaved(&self) -> bool {
        matches!(self.pairing, Some(Pairing::Interleaved | Pairing::Both))
    }

    /// Whether it is a duel whose sides take turns in series of windows.
    pub fn has_series(&self) -> bool {
        matches!(self.pairing, Some(Pairing::Series | Pairing::Both))
    }

    /// Every adapter that takes part, the canary's too, each once.
    pub fn adapter_names(&self) -> Vec<&str> {
        let canary = self.canary.iter().map(|canary| &canary.adapter);
        let all = self.adapters.iter().chain(canary);
        each_once(all.map(|contender| contender.adapter.as_str()))
    }

    /// Every workload that takes part, the canary's too, each once.
    pub fn workload_names(&self) -> Vec<&str> {
        let canary = self.canary.iter().map(|canary| &canary.workload);
        each_once(self.workloads.iter().chain(canary).map(String::as_str))
    }

    /// As it is written into an archive: [`Plan::parse`] reads it back equal.
    pub fn to_yaml(&self) -> Result<String> {
        serde_yaml::to_string(self)
            .map_err(|error| Error::unexpected(format!("cannot write the plan: {error}")))
    }

    /// Why its numbers may not be published, a sentence each; none if they may.
    pub fn unpublishable(&self, sources_modified: bool) -> Vec<String> {
        let mut reasons = Vec::new();
        if !self.publishable {
            reasons.push("the plan says `publishable: false`".to_owned());
        }
        let load = self.phases.load.get();
        if load < PUBLISHABLE_LOAD_S {
            reasons.push(format!(
                "{load} s of load: at least {PUBLISHABLE_LOAD_S} s are needed"
            ));
        }
        let (key, count, least) = match self.kind {
            Kind::Duel => ("pairs", self.pairs, LEAST_PAIRS),
            Kind::Sustain => (
                "trials",
                self.trials.unwrap_or_default(),
                PUBLISHABLE_REPETITIONS,
            ),
            _ => ("repetitions", self.repetitions, PUBLISHABLE_REPETITIONS),
        };
        if count < least {
            reasons.push(format!("{key}: {count}, and at least {least} are needed"));
        }
        if sources_modified {
            reasons.push("adapters, workloads or docker differ from SHA256SUMS".to_owned());
        }
        reasons
    }
}

fn each_once<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

/// Shows values by the words that plans and the command line have for them.
macro_rules! shown_as_written {
    ($($name:ty),*) => {
        $(impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let value = self.to_possible_value().expect("no value is hidden");
                f.write_str(value.get_name())
            }
        })*
    };
}
shown_as_written!(Kind, Metric, Mode, Order, Pairing);

#[cfg(test)]
pub(super) mod tests;
