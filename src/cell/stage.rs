//! A cell's containers: an agent that owns the network namespace, and a target within it.

use std::time::Duration;

use super::link::Link;
use crate::engine::{Container, Image, Network, Run, Spec};
use crate::error::{Error, Result};
use crate::parity::{Exchange, judge, matrix};
use crate::plan::cpus::Allotment;
use crate::plan::spec::PlannedLimits;
use crate::plan::{Adapter, Workload};
use crate::record::schema;
use crate::sample::cgroup::Limit;
use crate::sample::sampler::Sampler;

/// The agent's own limits: far more than it needs.
const AGENT_MEMORY_MIB: u64 = 2048;
const AGENT_PIDS: u64 = 64;

/// What all cells of a run share.
pub struct Bench<'a> {
    /// The run that the containers belong to.
    pub run: &'a Run<'a>,
    /// The agent's image.
    pub agent: Image,
    /// SHA-256 of this program.
    pub digest: String,
    /// Who gets which CPUs.
    pub cpus: Allotment,
    /// What the target may use.
    pub limits: PlannedLimits,
}

/// Who is measured at what.
#[derive(Clone, Copy)]
pub struct Contest<'a> {
    /// The adapter.
    pub adapter: &'a Adapter,
    /// A label of its `env`; empty for none.
    pub label: &'a str,
    /// Its image.
    pub image: &'a Image,
    /// The workload.
    pub workload: &'a Workload,
}

/// Why a target has no number: a result about the target, not a failure of the kit.
#[derive(Debug)]
pub struct Refusal {
    /// In words.
    pub reason: String,
    /// The transcript as far as it came.
    pub exchanges: Vec<Exchange>,
    /// The end of what the target wrote.
    pub log: Vec<u8>,
}

impl Refusal {
    /// The last lines of the log, for a terminal.
    pub fn log_tail(&self) -> String {
        let log = String::from_utf8_lossy(&self.log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(10)..].join("\n")
    }
}

/// What can come instead of a stage or a measurement.
pub enum Trouble {
    /// The target's fault.
    Refused(Refusal),
    /// Ours, or the machine's.
    Failed(Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Trouble::Failed(error)
    }
}

/// Two containers, up and answering.
pub struct Stage<'a> {
    bench: &'a Bench<'a>,
    contest: Contest<'a>,
    /// The line to the agent.
    pub link: Link,
    agent: Container,
    target: Container,
    /// Reads the target from outside.
    pub sampler: Sampler,
    /// The target's limits as they are in force.
    pub limits: schema::Limits,
    /// From the target's start to its first valid response.
    pub start_ms: f64,
}

impl<'a> Stage<'a> {
    /// Starts both containers and waits for the target's first valid response; on trouble nothing is
    /// left running. `lifetime` bounds the agent's life, should its runner and the engine die.
    pub async fn set(
        bench: &'a Bench<'a>,
        contest: Contest<'a>,
        lifetime: Duration,
    ) -> std::result::Result<Self, Trouble> {
        let agent = bench.run.create(&agent_spec(bench)).await?;
        let target = bench.run.create(&target_spec(bench, contest, &agent)).await;
        let set = async {
            let target = target.as_ref().map_err(Clone::clone)?;
            Self::start(
                bench,
                contest,
                &agent,
                target,
                lifetime + contest.adapter.ready_timeout.0,
            )
            .await
        };
        let set = set.await;
        if set.is_err() {
            if let Ok(target) = &target {
                bench.run.remove(target).await?;
            }
            bench.run.remove(&agent).await?;
        }
        set
    }

    async fn start(
        bench: &'a Bench<'a>,
        contest: Contest<'a>,
        agent: &Container,
        target: &Container,
        lifetime: Duration,
    ) -> std::result::Result<Self, Trouble> {
        let run = bench.run;
        let attached = run.attach(agent).await?;
        run.start(agent).await?;
        let mut link = Link::greet(attached, &bench.digest, lifetime).await?;
        if let Err(error) = run.start(target).await {
            return Err(error.at(format!("adapter {}", contest.adapter.name)).into());
        }
        let Adapter {
            port,
            ready,
            ready_timeout,
            ..
        } = contest.adapter;
        let answer = tokio::select! {
            answer = link.await_target(*port, ready, ready_timeout.0) => answer?,
            ended = run.wait(target) => {
                ended?;
                Err("it ended before it answered".to_owned())
            }
        };
        let ready_unix_s = match answer {
            Ok(unix_s) => unix_s,
            Err(why) => return Err(refused(run, target, &why, vec![]).await?),
        };
        let (started_unix_s, pid) = run.started(target).await?;
        let (_, agent_pid) = run.started(agent).await?;
        if pid == 0 {
            return Err(
                refused(run, target, "it ended right after its first answer", vec![]).await?,
            );
        }
        let sampler = Sampler::new(pid, Some(agent_pid), contest.adapter.main_thread)?;
        if !sampler.target().is_of_container(&target.id) {
            return Err(Error::machine("the target's cgroup cannot be seen from here")
                .next("run on the engine's own machine: Docker Desktop and remote engines keep theirs out of reach")
                .into());
        }
        let limits = limits_in_force(bench, &sampler, run.limits(target).await?)?;
        Ok(Self {
            bench,
            contest,
            link,
            agent: agent.clone(),
            target: target.clone(),
            sampler,
            limits,
            start_ms: (ready_unix_s - started_unix_s) * 1e3,
        })
    }

    /// Asks the whole matrix, with nonces from `seed`, and judges it.
    pub async fn prove(
        &mut self,
        when: &str,
        seed: u64,
    ) -> Result<(Vec<matrix::Row>, Vec<Exchange>)> {
        let rows = matrix::rows(self.contest.workload, seed);
        let asks = rows.iter().map(matrix::Row::ask).collect();
        let answers = self.link.ask(self.contest.adapter.port, asks).await?;
        let exchanges = rows.iter().zip(answers).map(|(row, response)| Exchange {
            when: when.to_owned(),
            row: row.name.clone(),
            nonce: row.nonce.clone(),
            request: row.ask(),
            failures: judge::judge(&row.filled, &response),
            response,
        });
        let exchanges = exchanges.collect();
        Ok((rows, exchanges))
    }

    /// Whether the target has ended, and how, in words.
    pub async fn ended(&self) -> Result<Option<String>> {
        Ok(self
            .bench
            .run
            .ended(&self.target)
            .await?
            .map(|ended| ended.to_string()))
    }

    /// The end of what the target wrote.
    pub async fn log(&self) -> Result<Vec<u8>> {
        self.bench.run.log(&self.target).await
    }

    /// Removes both containers.
    pub async fn strike(self) -> Result<()> {
        drop(self.link);
        self.bench.run.remove(&self.target).await?;
        self.bench.run.remove(&self.agent).await
    }
}

async fn refused(
    run: &Run<'_>,
    target: &Container,
    why: &str,
    exchanges: Vec<Exchange>,
) -> Result<Trouble> {
    let ended = run.ended(target).await?;
    let reason = match ended {
        Some(ended) => format!("{why}: {ended}"),
        None => why.to_owned(),
    };
    Ok(Trouble::Refused(Refusal {
        reason,
        exchanges,
        log: run.log(target).await?,
    }))
}

fn agent_spec(bench: &Bench) -> Spec {
    Spec {
        image: bench.agent.tag.clone(),
        role: "agent",
        arguments: vec!["agent".into()],
        entrypoint: None,
        env: vec![],
        network: Network::Own,
        cpus: bench.cpus.load.to_string(),
        cpu_quota: None,
        memory_mib: AGENT_MEMORY_MIB,
        pids: AGENT_PIDS,
        stdin: true,
    }
}

fn target_spec(bench: &Bench, contest: Contest, agent: &Container) -> Spec {
    let variant = contest.adapter.env.get(contest.label);
    let env = variant
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value.clone()));
    Spec {
        image: contest.image.tag.clone(),
        role: "target",
        arguments: vec![],
        entrypoint: None,
        env: env.collect(),
        network: Network::Of(agent.id.clone()),
        cpus: bench.cpus.target.to_string(),
        cpu_quota: bench.limits.cpu_quota,
        memory_mib: bench.limits.memory_mib,
        pids: bench.limits.pids,
        stdin: false,
    }
}

/// Holds what was asked for against what the engine and the kernel say; exit 3 where they differ.
fn limits_in_force(
    bench: &Bench,
    sampler: &Sampler,
    engine: crate::engine::Limits,
) -> Result<schema::Limits> {
    let planned = &bench.limits;
    let cgroup = sampler.target().limits();
    let memory_bytes = planned.memory_mib * 1024 * 1024;
    let cpus = cgroup.cpus.clone().unwrap_or_default();
    let quota = planned.cpu_quota;
    let same_quota = |found: Option<f64>| match (quota, found) {
        (None, None) => true,
        (Some(asked), Some(found)) => (asked - found).abs() < 0.001,
        _ => false,
    };
    let checks = [
        (
            "the CPU set",
            cpus == bench.cpus.target.to_string(),
            bench.cpus.target.to_string(),
            cpus.clone(),
        ),
        (
            "the CPU quota",
            same_quota(engine.cpu_quota)
                && match cgroup.cpu_quota {
                    Limit::Unseen => quota.is_none(),
                    Limit::Unlimited => quota.is_none(),
                    Limit::At(found) => same_quota(Some(found)),
                },
            format!("{quota:?}"),
            format!("{:?} and {:?}", engine.cpu_quota, cgroup.cpu_quota),
        ),
        (
            "the memory limit",
            engine.memory_mib == planned.memory_mib
                && cgroup.memory_bytes == Limit::At(memory_bytes),
            format!("{} MiB", planned.memory_mib),
            format!("{} MiB and {:?}", engine.memory_mib, cgroup.memory_bytes),
        ),
        (
            "the limit on processes",
            engine.pids == planned.pids && cgroup.pids == Limit::At(planned.pids),
            planned.pids.to_string(),
            format!("{} and {:?}", engine.pids, cgroup.pids),
        ),
    ];
    for (what, in_force, asked, found) in checks {
        if !in_force {
            return Err(Error::machine(format!(
                "{what} is not in force: asked for {asked}, found {found}"
            ))
            .next("`shootout doctor` says which limits this machine can enforce"));
        }
    }
    Ok(schema::Limits {
        target_cpus: cpus,
        load_cpus: bench.cpus.load.to_string(),
        cpu_quota: quota,
        memory_mib: planned.memory_mib,
        pids: planned.pids,
    })
}
