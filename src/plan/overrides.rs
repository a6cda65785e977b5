//! Flags that narrow or override a plan; what they changed is recorded in it.

use std::fmt::Display;

use super::connections::Connections;
use super::contender::Contender;
use super::cpus::{CpuAsk, CpuList};
use super::names;
use super::span::{Seconds, Span};
use super::spec::{Metric, Order, Pairing, Plan};
use super::sustain::Ladder;
use crate::error::{Error, Result};

/// The flags of `run` that change its plan.
#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
#[command(next_help_heading = "Narrowing or overriding the plan (recorded in the archive)")]
pub struct Overrides {
    /// Only these of the plan's adapters; a duel keeps its reference
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub adapters: Option<Vec<Contender>>,
    /// Only these of the plan's workloads
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub workloads: Option<Vec<String>>,
    /// Requests per second, each rate a cell of its own
    #[arg(long, value_name = "RPS,...", value_delimiter = ',')]
    pub rates: Option<Vec<u64>>,
    /// Fresh containers per adapter, workload and rate
    #[arg(long, value_name = "N")]
    pub repetitions: Option<u32>,
    /// Fresh containers for each rate of a search, of which the majority decides
    #[arg(long, value_name = "N")]
    pub trials: Option<u32>,
    /// At rest before any load
    #[arg(long, value_name = "TIME")]
    pub baseline: Option<Span>,
    /// Load that is not counted
    #[arg(long, value_name = "TIME")]
    pub warm_up: Option<Span>,
    /// At rest after the warm-up
    #[arg(long, value_name = "TIME")]
    pub settle: Option<Span>,
    /// Load that is counted: 60s, 500ms, 2m; a plain number is seconds
    #[arg(long, value_name = "TIME")]
    pub load: Option<Span>,
    /// At rest after the load
    #[arg(long, value_name = "TIME")]
    pub recovery: Option<Span>,
    /// Seed of every draw
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Order of the cells
    #[arg(long, value_name = "ORDER")]
    pub order: Option<Order>,
    /// The target's CPUs, as in 0-1,3 (makes the result not comparable)
    #[arg(long, value_name = "LIST")]
    pub target_cpus: Option<CpuList>,
    /// CPUs of the load generator and the dependencies
    #[arg(long, value_name = "LIST")]
    pub load_cpus: Option<CpuList>,
    /// Connections at most; of a closed loop exactly, each number a load of its own
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    pub connections: Option<Vec<u32>>,
    /// The longest wait for a response
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<Span>,
    /// Requests of a closed loop
    #[arg(long, value_name = "N")]
    pub requests: Option<u64>,
    /// Pairs of a duel, per workload and rate; at least 6 for a verdict
    #[arg(long, value_name = "N")]
    pub pairs: Option<u32>,
    /// Null pairs: the reference against itself
    #[arg(long, value_name = "N")]
    pub null: Option<u32>,
    /// What a duel judges
    #[arg(long, value_name = "METRIC,...", value_delimiter = ',')]
    pub metrics: Option<Vec<Metric>>,
    /// Against whom a duel's other sides are judged, one of the plan's adapters
    #[arg(long, value_name = "NAME")]
    pub reference: Option<Contender>,
    /// How a duel's sides take turns
    #[arg(long, value_name = "HOW")]
    pub pairing: Option<Pairing>,
    /// Length of a duel's slices, in milliseconds
    #[arg(long, value_name = "MS")]
    pub slice_ms: Option<u64>,
    /// The least difference of interest in a duel, as a share: 0.01 is 1 %
    #[arg(long, value_name = "SHARE")]
    pub smallest_effect: Option<f64>,
}

impl Plan {
    /// Applies the flags, records what they changed, and checks the outcome like a plan that was
    /// written so. On an error the plan is left as it was.
    pub fn apply(&mut self, overrides: &Overrides) -> Result<()> {
        let mut plan = self.clone();
        plan.change(overrides)?;
        plan.resolve();
        plan.check().map_err(|wrong| {
            let place = wrong.place();
            Error::usage(format!(
                "plan {} as overridden, {place}: {}",
                plan.name, wrong.what
            ))
            .next(wrong.next)
        })?;
        *self = plan;
        Ok(())
    }

    fn change(&mut self, asked: &Overrides) -> Result<()> {
        let log = &mut self.overridden;
        set_some(
            "reference",
            &mut self.reference,
            &asked.reference,
            "none",
            log,
        );
        let adapters = asked.adapters.as_ref().map(|adapters| {
            let reference = self.reference.iter();
            let reference = reference.filter(|who| self.adapters.contains(who));
            adapters.iter().chain(reference).cloned().collect()
        });
        narrow("adapters", &mut self.adapters, &adapters, log)?;
        narrow("workloads", &mut self.workloads, &asked.workloads, log)?;
        set_list("rates_rps", &mut self.rates_rps, &asked.rates, log);
        if asked.rates.is_some()
            && let Some(Ladder { from, to, .. }) = self.ladder.take()
        {
            note(log, "ladder", format!("{from} to {to}"), "none");
        }
        set_some("trials", &mut self.trials, &asked.trials, "none", log);
        set("repetitions", &mut self.repetitions, asked.repetitions, log);
        let phases = &mut self.phases;
        for (name, phase, span) in [
            ("baseline", &mut phases.baseline, asked.baseline),
            ("warm_up", &mut phases.warm_up.seconds, asked.warm_up),
            ("settle", &mut phases.settle, asked.settle),
            ("load", &mut phases.load, asked.load),
            ("recovery", &mut phases.recovery, asked.recovery),
        ] {
            set(name, phase, span.map(Seconds::from), log);
        }
        set("seed", &mut self.seed, asked.seed, log);
        set("order", &mut self.order, asked.order, log);
        let target = asked.target_cpus.clone().map(CpuAsk::List);
        if set("target_cpus", &mut self.limits.target_cpus, target, log) {
            self.comparable = false;
        }
        set_some(
            "load_cpus",
            &mut self.load_cpus,
            &asked.load_cpus,
            "the rest",
            log,
        );
        let connections = asked.connections.clone().map(Connections);
        set("connections", &mut self.connections, connections, log);
        set("timeout", &mut self.timeout, asked.timeout, log);
        set_some("requests", &mut self.requests, &asked.requests, "none", log);
        self.change_duel(asked);
        Ok(())
    }

    fn change_duel(&mut self, asked: &Overrides) {
        let log = &mut self.overridden;
        set_list("metrics", &mut self.metrics, &asked.metrics, log);
        if let Some(capacity) = &self.capacity
            && asked.metrics.is_some()
            && !self.metrics.contains(&Metric::CapacityRps)
        {
            // Its loads go with the metric that they are of.
            note(log, "capacity", listed(&capacity.connections), "none");
            self.capacity = None;
        }
        if set_some("pairing", &mut self.pairing, &asked.pairing, "none", log) {
            self.change_turns();
        }
        let log = &mut self.overridden;
        set("pairs", &mut self.pairs, asked.pairs, log);
        set("null", &mut self.null, asked.null, log);
        set_some(
            "slice_ms",
            &mut self.slice_ms,
            &asked.slice_ms,
            "by latency",
            log,
        );
        let effect = &mut self.smallest_effect;
        set_some(
            "smallest_effect",
            effect,
            &asked.smallest_effect,
            "none",
            log,
        );
    }

    /// What counts the turns of a pairing that was given up goes with it.
    fn change_turns(&mut self) {
        if !self.has_series() {
            self.series = None;
        }
        if !self.is_interleaved() {
            set("pairs", &mut self.pairs, Some(0), &mut self.overridden);
            set("null", &mut self.null, Some(0), &mut self.overridden);
        }
    }
}

fn note(log: &mut Vec<String>, what: &str, before: impl Display, after: impl Display) {
    log.push(format!("{what}: {before} -> {after}"));
}

/// Overrides one value; whether that changed anything.
fn set<T: PartialEq + Display>(
    what: &str,
    value: &mut T,
    asked: Option<T>,
    log: &mut Vec<String>,
) -> bool {
    match asked {
        Some(asked) if asked != *value => {
            note(log, what, &*value, &asked);
            *value = asked;
            true
        }
        _ => false,
    }
}

/// Overrides a value that may be left out; whether that changed anything.
fn set_some<T: PartialEq + Display + Clone>(
    what: &str,
    value: &mut Option<T>,
    asked: &Option<T>,
    left_out: &str,
    log: &mut Vec<String>,
) -> bool {
    if asked.is_none() || asked == value {
        return false;
    }
    let text = |value: &Option<T>| match value {
        Some(value) => value.to_string(),
        None => left_out.to_owned(),
    };
    note(log, what, text(value), text(asked));
    value.clone_from(asked);
    true
}

/// Overrides a whole list.
fn set_list<T: PartialEq + Display + Clone>(
    what: &str,
    list: &mut Vec<T>,
    asked: &Option<Vec<T>>,
    log: &mut Vec<String>,
) {
    if let Some(asked) = asked
        && asked != list
    {
        note(log, what, listed(list), listed(asked));
        list.clone_from(asked);
    }
}

/// Keeps of a list what is asked for, in the plan's order.
fn narrow<T: PartialEq + Display>(
    what: &str,
    list: &mut Vec<T>,
    asked: &Option<Vec<T>>,
    log: &mut Vec<String>,
) -> Result<()> {
    let Some(asked) = asked else { return Ok(()) };
    if let Some(unknown) = asked.iter().find(|item| !list.contains(item)) {
        let known: Vec<String> = list.iter().map(T::to_string).collect();
        return Err(
            Error::usage(format!("--{what}: the plan names no `{unknown}`"))
                .next(names::advice(&unknown.to_string(), &known)),
        );
    }
    let before = listed(list);
    list.retain(|item| asked.contains(item));
    let after = listed(list);
    if before != after {
        note(log, what, before, after);
    }
    Ok(())
}

fn listed<T: Display>(list: &[T]) -> String {
    let texts: Vec<String> = list.iter().map(T::to_string).collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests;
