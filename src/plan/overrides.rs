//! Flags that narrow or override a plan; what they changed is recorded in it.

use std::fmt::Display;

use super::contender::Contender;
use super::cpus::{CpuAsk, CpuList};
use super::names;
use super::span::{Seconds, Span};
use super::spec::{Order, Plan};
use crate::error::{Error, Result};

/// The flags of `run` that change its plan.
#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
#[command(next_help_heading = "Narrowing or overriding the plan (recorded in the archive)")]
pub struct Overrides {
    /// Only these of the plan's adapters
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
    /// Connections at most
    #[arg(long, value_name = "N")]
    pub connections: Option<u32>,
    /// The longest wait for a response
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<Span>,
}

impl Plan {
    /// Applies the flags, records what they changed, and checks the outcome like a plan that was
    /// written so. On an error the plan is left as it was.
    pub fn apply(&mut self, overrides: &Overrides) -> Result<()> {
        let mut plan = self.clone();
        plan.change(overrides)?;
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
        narrow("adapters", &mut self.adapters, &asked.adapters, log)?;
        narrow("workloads", &mut self.workloads, &asked.workloads, log)?;
        if let Some(rates) = &asked.rates
            && *rates != self.rates_rps
        {
            note(log, "rates_rps", listed(&self.rates_rps), listed(rates));
            self.rates_rps.clone_from(rates);
        }
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
        if let Some(order) = asked.order
            && order != self.order
        {
            let name = |order| match order {
                Order::Grouped => "grouped",
                Order::Shuffled => "shuffled",
            };
            note(log, "order", name(self.order), name(order));
            self.order = order;
        }
        let target = asked.target_cpus.clone().map(CpuAsk::List);
        if set("target_cpus", &mut self.limits.target_cpus, target, log) {
            self.comparable = false;
        }
        if asked.load_cpus.is_some() && asked.load_cpus != self.load_cpus {
            let text = |cpus: &Option<CpuList>| {
                let list = cpus.as_ref().map(CpuList::to_string);
                list.unwrap_or_else(|| "the rest".to_owned())
            };
            note(
                log,
                "load_cpus",
                text(&self.load_cpus),
                text(&asked.load_cpus),
            );
            self.load_cpus.clone_from(&asked.load_cpus);
        }
        set("connections", &mut self.connections, asked.connections, log);
        set("timeout", &mut self.timeout, asked.timeout, log);
        Ok(())
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
mod tests {
    use clap::Parser;

    use super::super::spec::tests::plan;
    use super::*;
    use crate::error::Exit;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        overrides: Overrides,
    }

    fn flags(line: &str) -> Result<Overrides, clap::Error> {
        let words = std::iter::once("run").chain(line.split_whitespace());
        Ok(Command::try_parse_from(words)?.overrides)
    }

    fn applied(line: &str) -> Result<Plan> {
        let mut plan = plan();
        plan.apply(&flags(line).unwrap()).map(|()| plan)
    }

    #[test]
    fn what_changes_is_recorded_and_what_does_not_is_not() {
        let table: [(&str, &[&str], bool); 14] = [
            ("", &[], true),
            ("--load 12s", &["load: 60 -> 12"], true),
            (
                "--load 500ms --warm-up 2m",
                &["warm_up: 15 -> 120", "load: 60 -> 0.5"],
                true,
            ),
            ("--load 60 --repetitions 3 --seed 1", &[], true),
            (
                "--baseline 1 --settle 1 --recovery 1",
                &["baseline: 1.5 -> 1", "settle: 6 -> 1", "recovery: 30 -> 1"],
                true,
            ),
            (
                "--adapters node-http",
                &["adapters: node-http, express@slow -> node-http"],
                true,
            ),
            ("--adapters express@slow,node-http", &[], true),
            (
                "--workloads hello",
                &["workloads: ok, hello -> hello"],
                true,
            ),
            ("--rates 5,6", &["rates_rps: 100, 1000 -> 5, 6"], true),
            ("--order shuffled", &["order: grouped -> shuffled"], true),
            (
                "--target-cpus 0",
                &["target_cpus: any 1 CPU -> CPUs 0"],
                false,
            ),
            ("--load-cpus 1-2", &["load_cpus: the rest -> 1-2"], true),
            (
                "--connections 8 --timeout 1s",
                &["connections: 32 -> 8", "timeout: 5s -> 1s"],
                true,
            ),
            ("--seed 7", &["seed: 1 -> 7"], true),
        ];
        for (line, overridden, comparable) in table {
            let plan = applied(line).unwrap();
            assert_eq!(plan.overridden, overridden, "{line}");
            assert_eq!(plan.comparable, comparable, "{line}");
        }
    }

    #[test]
    fn overrides_add_to_those_of_an_archived_plan() {
        let mut plan = applied("--target-cpus 0").unwrap();
        plan.apply(&flags("--load 12").unwrap()).unwrap();
        assert_eq!(plan.overridden.len(), 2);
        assert!(!plan.comparable, "once changed, never comparable again");
    }

    #[test]
    fn what_makes_no_sense_is_refused_and_changes_nothing() {
        for (line, expected) in [
            ("--adapters nginx", "--adapters: the plan names no `nginx`"),
            (
                "--adapters express",
                "--adapters: the plan names no `express`",
            ),
            (
                "--workloads catalog",
                "--workloads: the plan names no `catalog`",
            ),
            (
                "--rates 0",
                "plan small as overridden, rates_rps[0]: a rate of 0",
            ),
            (
                "--load 1ms",
                "plan small as overridden, rates_rps[0]: 100/s for 0.001 s",
            ),
            ("--repetitions 0", "plan small as overridden, repetitions: "),
            ("--connections 0", "plan small as overridden, connections: "),
            ("--timeout 0", "plan small as overridden, timeout: "),
            (
                "--target-cpus 0 --load-cpus 0",
                "plan small as overridden, load_cpus: ",
            ),
        ] {
            let mut changed = plan();
            let error = changed.apply(&flags(line).unwrap()).unwrap_err();
            assert!(error.what.starts_with(expected), "{line}: {}", error.what);
            assert_eq!(error.exit, Exit::Usage);
            assert_eq!(changed, plan());
        }
        for line in [
            "--load soon",
            "--target-cpus a",
            "--rates x",
            "--order up",
            "--adapters a@",
        ] {
            assert!(flags(line).is_err(), "{line}");
        }
    }
}
