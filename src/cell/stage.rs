//! A cell's containers: an agent that owns the network namespace, and a target within it.

use std::time::Duration;

use super::link::Link;
use crate::engine::{Container, Image, Network, Run, Spec};
use crate::error::{Error, Result};
use crate::load::{self, Kept, clock};
use crate::parity::transcript::BURST;
use crate::parity::{Answer, Ask, Exchange, Transcript, kept, matrix};
use crate::plan::contender::Contender;
use crate::plan::cpus::Allotment;
use crate::plan::spec::PlannedLimits;
use crate::plan::{Adapter, Workload};
use crate::record::schema;
use crate::sample::cgroup::Limit;
use crate::sample::sampler::Sampler;
use crate::upstream;

/// So does a dependency that has not answered by then.
const DEPENDENCY_PATIENCE: Duration = Duration::from_secs(10);
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

impl Contest<'_> {
    /// As plans and holes name it: `express@slow`.
    pub fn contender(&self) -> String {
        let (adapter, label) = (self.adapter.name.clone(), self.label.to_owned());
        Contender { adapter, label }.to_string()
    }
}

/// Why a target has no number: a result about the target, not a failure of the kit.
#[derive(Debug)]
pub struct Refusal {
    /// In words.
    pub reason: String,
    /// Whose fault it is, of the sides of a pair.
    pub side: usize,
    /// The transcript as far as it came.
    pub transcript: Transcript,
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

impl Trouble {
    /// The same, of a side that was known only by itself.
    pub fn of_side(self, side: usize) -> Self {
        match self {
            Trouble::Refused(refusal) => Trouble::Refused(Refusal { side, ..refusal }),
            failed => failed,
        }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Trouble::Failed(error)
    }
}

/// A cell's containers.
#[derive(Default)]
struct Containers {
    agent: Option<Container>,
    dependencies: Vec<Container>,
    target: Option<Container>,
}

impl Containers {
    async fn remove(&self, run: &Run<'_>) -> Result<()> {
        let rest = self.dependencies.iter().chain(&self.agent);
        for container in self.target.iter().chain(rest) {
            run.remove(container).await?;
        }
        Ok(())
    }
}

/// A cell's containers, up and answering.
pub struct Stage<'a> {
    bench: &'a Bench<'a>,
    contest: Contest<'a>,
    /// The line to the agent.
    pub link: Link,
    /// All that was asked so far.
    pub transcript: Transcript,
    containers: Containers,
    /// Reads the target from outside.
    pub sampler: Sampler,
    /// The target's limits as they are in force.
    pub limits: schema::Limits,
    /// From the target's start to its first valid response.
    pub start_ms: f64,
}

impl<'a> Stage<'a> {
    /// Starts all containers and waits for the target's first valid response; on trouble nothing is
    /// left running. `lifetime` bounds the agent's life, should its runner and the engine die.
    pub async fn set(
        bench: &'a Bench<'a>,
        contest: Contest<'a>,
        lifetime: Duration,
    ) -> std::result::Result<Self, Trouble> {
        let lifetime = lifetime + contest.adapter.ready_timeout.0;
        let mut containers = Containers::default();
        match Self::start(bench, contest, &mut containers, lifetime).await {
            Ok(stage) => Ok(Self {
                containers,
                ..stage
            }),
            Err(trouble) => {
                containers.remove(bench.run).await?;
                Err(trouble)
            }
        }
    }

    /// Leaves in `containers` whatever was made, on trouble too.
    async fn start(
        bench: &'a Bench<'a>,
        contest: Contest<'a>,
        containers: &mut Containers,
        lifetime: Duration,
    ) -> std::result::Result<Self, Trouble> {
        let run = bench.run;
        let agent = &*containers
            .agent
            .insert(run.create(&agent_spec(bench)).await?);
        let needed = &contest.workload.dependencies;
        for name in needed {
            let spec = dependency_spec(bench, name, agent);
            containers.dependencies.push(run.create(&spec).await?);
        }
        let target = run.create(&target_spec(bench, contest, agent)).await?;
        let target = &*containers.target.insert(target);
        let attached = run.attach(agent).await?;
        run.start(agent).await?;
        let mut link = Link::greet(attached, &bench.digest, lifetime).await?;
        for (name, dependency) in needed.iter().zip(&containers.dependencies) {
            run.start(dependency).await?;
            let answers = link
                .await_target(upstream::PORT, upstream::FIGURES, DEPENDENCY_PATIENCE)
                .await?;
            if let Err(why) = answers {
                return Err(Error::unexpected(format!("the dependency {name}: {why}")).into());
            }
        }
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
            Err(why) => return Err(refused(run, target, &why).await?),
        };
        let (started_unix_s, pid) = run.started(target).await?;
        let (_, agent_pid) = run.started(agent).await?;
        if pid == 0 {
            return Err(refused(run, target, "it ended right after its first answer").await?);
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
            transcript: Transcript::default(),
            containers: Containers::default(),
            sampler,
            limits,
            start_ms: (ready_unix_s - started_unix_s) * 1e3,
        })
    }

    /// Asks the whole matrix, with nonces from `seed`, and judges all that was asked so far. What the
    /// load can be verified with comes back, or the first failure in words.
    pub async fn prove(
        &mut self,
        when: &str,
        seed: u64,
    ) -> Result<std::result::Result<Vec<load::Variant>, String>> {
        let Adapter {
            port, dev_routes, ..
        } = self.contest.adapter;
        let rows = matrix::rows(self.contest.workload, dev_routes, seed);
        let asks = rows.iter().map(matrix::Row::ask).collect();
        let unix_s = clock::unix_s();
        let answers = self.link.ask(*port, asks).await?;
        let exchanges = rows.iter().zip(answers).map(|(row, response)| Exchange {
            when: when.to_owned(),
            row: row.name.clone(),
            unix_s,
            nonce: row.nonce.clone(),
            request: row.ask(),
            failures: vec![],
            response,
        });
        let first = self.transcript.exchanges.len();
        self.transcript.exchanges.extend(exchanges);
        Ok(self.judge().and_then(|()| {
            let exchanges = &self.transcript.exchanges[first..];
            matrix::learn(self.contest.workload, *port, &rows, exchanges)
        }))
    }

    /// Asks plain rows many times over, for what no response may have.
    pub async fn burst(&mut self, seed: u64) -> Result<std::result::Result<(), String>> {
        let variants = self.contest.workload.variants();
        let asks = variants.iter().map(matrix::ask).collect();
        let port = self.contest.adapter.port;
        let burst = self.link.burst(port, asks, BURST, seed).await?;
        self.transcript.burst = Some(burst);
        Ok(self.judge())
    }

    /// Puts slots of the load that were kept into the transcript.
    pub fn keep(&mut self, kept: &[Kept], unix_s: f64) -> std::result::Result<(), String> {
        let exchanges = kept::exchanges(self.contest.workload, kept, unix_s);
        self.transcript.exchanges.extend(exchanges);
        self.judge()
    }

    /// A transcript of nothing but slots that were kept: the proofs before and after stand in another.
    pub fn only_kept(&self, kept: &[Kept], unix_s: f64) -> std::result::Result<Transcript, String> {
        let mut transcript = Transcript {
            only_kept: true,
            exchanges: kept::exchanges(self.contest.workload, kept, unix_s),
            ..Transcript::default()
        };
        transcript.judge(self.contest.workload, &self.contest.adapter.dev_routes);
        match transcript.first_failure() {
            None => Ok(transcript),
            Some(failure) => Err(failure),
        }
    }

    fn judge(&mut self) -> std::result::Result<(), String> {
        let dev_routes = &self.contest.adapter.dev_routes;
        self.transcript.judge(self.contest.workload, dev_routes);
        self.transcript.first_failure().map_or(Ok(()), Err)
    }

    /// What each dependency did since it was asked last.
    pub async fn dependencies(&mut self) -> Result<Vec<schema::Dependency>> {
        let mut figures = Vec::new();
        for name in &self.contest.workload.dependencies {
            let ask = Ask {
                method: "GET".into(),
                path: upstream::FIGURES.into(),
                headers: vec![],
                body: None,
            };
            let answer = self.link.ask(upstream::PORT, vec![ask]).await?.pop();
            let answer = answer.unwrap_or_else(|| Answer::none("no answer"));
            let read = serde_json::from_slice(&answer.body.0);
            figures.push(read.map_err(|_| {
                let got = format!("{} {}", answer.status, answer.error);
                Error::unexpected(format!("the dependency {name} gave no figures: {got}"))
            })?);
        }
        Ok(figures)
    }

    /// Whether the target has ended, and how, in words.
    pub async fn ended(&self) -> Result<Option<String>> {
        let ended = self.bench.run.ended(self.target()?).await?;
        Ok(ended.map(|ended| ended.to_string()))
    }

    /// The end of what the target wrote.
    pub async fn log(&self) -> Result<Vec<u8>> {
        self.bench.run.log(self.target()?).await
    }

    fn target(&self) -> Result<&Container> {
        let none = || Error::unexpected("a stage without a target");
        self.containers.target.as_ref().ok_or_else(none)
    }

    /// Removes all containers.
    pub async fn strike(self) -> Result<()> {
        drop(self.link);
        self.containers.remove(self.bench.run).await
    }
}

async fn refused(run: &Run<'_>, target: &Container, why: &str) -> Result<Trouble> {
    let ended = run.ended(target).await?;
    let reason = match ended {
        Some(ended) => format!("{why}: {ended}"),
        None => why.to_owned(),
    };
    Ok(Trouble::Refused(Refusal {
        reason,
        side: 0,
        transcript: Transcript::default(),
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
        cpus: bench.cpus.set(&bench.cpus.load),
        cpu_quota: None,
        memory_mib: AGENT_MEMORY_MIB,
        pids: AGENT_PIDS,
        stdin: true,
    }
}

fn dependency_spec(bench: &Bench, name: &str, agent: &Container) -> Spec {
    Spec {
        role: "dependency",
        // A dependency is a verb of this program, and runs from the same image.
        arguments: vec![name.to_owned()],
        network: Network::Of(agent.id.clone()),
        stdin: false,
        ..agent_spec(bench)
    }
}

fn target_spec(bench: &Bench, contest: Contest, agent: &Container) -> Spec {
    let variant = contest.adapter.env.get(contest.label);
    let mut env: Vec<(String, String)> = variant
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if !contest.workload.dependencies.is_empty() {
        let url = format!("http://127.0.0.1:{}", upstream::PORT);
        env.push(("UPSTREAM_URL".into(), url));
    }
    Spec {
        image: contest.image.tag.clone(),
        role: "target",
        arguments: vec![],
        entrypoint: None,
        env,
        network: Network::Of(agent.id.clone()),
        cpus: bench.cpus.set(&bench.cpus.target),
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
