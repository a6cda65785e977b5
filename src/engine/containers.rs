//! Containers of a run: created with their limits, attached to, read back, removed.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::pin::Pin;
use std::time::{Duration, Instant};

use bollard::container::LogOutput;
use bollard::errors::Error as Bollard;
use bollard::models::{ContainerCreateBody, ContainerSummary, HostConfig, HostConfigLogConfig};
use bollard::query_parameters::{
    AttachContainerOptionsBuilder, CreateContainerOptionsBuilder, ListContainersOptions,
    LogsOptionsBuilder, WaitContainerOptions,
};
use futures_util::{Stream, StreamExt};
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::explain::explain;
use super::lock::Lock;
use super::{Engine, RUN_LABEL};
use crate::error::{Error, Result};

/// No measured process has rights that it does not need.
const USER: &str = "65532:65532";
/// The engine keeps this much of a container's output: a target that floods its log fills no disk.
const LOG_MAX: &str = "1m";
/// A container that the engine was still creating when its run ended shows up by then, or never.
const LATE_CREATION: Duration = Duration::from_secs(3);
/// How many lines of it are read back.
const LOG_LINES: &str = "1000";
const MIB: i64 = 1024 * 1024;

/// Which network a container is in. None has a way out.
#[derive(Clone, Debug)]
pub enum Network {
    /// A namespace of its own with nothing but lo.
    Own,
    /// The namespace of another container, by id.
    Of(String),
}

/// A container to be made.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Image id or tag.
    pub image: String,
    /// Its part: `agent`, `target`.
    pub role: &'static str,
    /// Arguments after the image's entry point.
    pub arguments: Vec<String>,
    /// Replaces the image's entry point.
    pub entrypoint: Option<Vec<String>>,
    /// Its environment, besides the image's.
    pub env: Vec<(String, String)>,
    /// Where it can talk to.
    pub network: Network,
    /// The CPUs that it may use, as a list; empty for all.
    pub cpus: String,
    /// Its quota in CPUs.
    pub cpu_quota: Option<f64>,
    /// Memory, and memory with swap.
    pub memory_mib: u64,
    /// Most processes and threads.
    pub pids: u64,
    /// Whether its standard input is held open, once, by whoever attaches.
    pub stdin: bool,
}

/// A container of this run.
#[derive(Clone, Debug)]
pub struct Container {
    /// The engine's id.
    pub id: String,
}

/// Limits as the engine says it set them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// CPU list.
    pub cpus: String,
    /// Quota in CPUs.
    pub cpu_quota: Option<f64>,
    /// Memory.
    pub memory_mib: u64,
    /// Memory with swap.
    pub memory_swap_mib: u64,
    /// Most processes and threads.
    pub pids: u64,
}

/// How a container ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code.
    pub code: i64,
    /// Whether the kernel killed a process of it for memory.
    pub oom_killed: bool,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit code {}", self.code)?;
        if self.oom_killed {
            write!(f, ", killed for memory")
        } else {
            Ok(())
        }
    }
}

/// Both ends of a container's attached streams.
pub struct Attached {
    output: Pin<Box<dyn Stream<Item = std::result::Result<LogOutput, Bollard>> + Send>>,
    input: Pin<Box<dyn AsyncWrite + Send>>,
    stdout: Vec<u8>,
    /// What it wrote to stderr, cut off at some length.
    pub stderr: String,
}

/// A run: its name marks what belongs to it, and while it lives nobody sweeps that away.
pub struct Run<'a> {
    engine: &'a Engine,
    name: String,
    created: RefCell<Vec<Container>>,
    /// Names of containers that the engine was asked for and has not answered about yet.
    asked_for: RefCell<BTreeSet<String>>,
    _lock: Lock,
}

impl Engine {
    /// Begins a run: from now on its containers are under its name.
    pub fn begin_run(&self) -> Result<Run<'_>> {
        let nanoseconds = (crate::load::clock::unix_s() * 1e9) as u64;
        let name = format!("{:012x}-{}", nanoseconds >> 12, std::process::id());
        let lock = Lock::try_take(&format!("run/{name}"));
        let lock =
            lock.map_err(|e| Error::unexpected(format!("cannot mark the run as alive: {e}")))?;
        let lock =
            lock.ok_or_else(|| Error::unexpected(format!("a run named {name} exists already")))?;
        Ok(Run {
            engine: self,
            name,
            created: RefCell::default(),
            asked_for: RefCell::default(),
            _lock: lock,
        })
    }
}

impl Run<'_> {
    /// Creates a container; nothing runs yet.
    pub async fn create(&self, spec: &Spec) -> Result<Container> {
        let number = self.created.borrow().len();
        let name = format!("shootout-{}-{number}-{}", self.name, spec.role);
        // By its name, before it is there: what is interrupted in between is removed as well.
        self.created
            .borrow_mut()
            .push(Container { id: name.clone() });
        let memory = spec.memory_mib as i64 * MIB;
        let host = HostConfig {
            network_mode: Some(match &spec.network {
                Network::Own => "none".to_owned(),
                Network::Of(id) => format!("container:{id}"),
            }),
            cpuset_cpus: (!spec.cpus.is_empty()).then(|| spec.cpus.clone()),
            nano_cpus: spec.cpu_quota.map(|cpus| (cpus * 1e9) as i64),
            memory: Some(memory),
            memory_swap: Some(memory),
            pids_limit: Some(spec.pids as i64),
            readonly_rootfs: Some(true),
            cap_drop: Some(vec!["ALL".into()]),
            security_opt: Some(vec!["no-new-privileges".into()]),
            tmpfs: Some(HashMap::from([(
                "/tmp".into(),
                "rw,nosuid,nodev,size=512m,mode=1777".into(),
            )])),
            log_config: Some(HostConfigLogConfig {
                typ: Some("json-file".into()),
                config: Some(HashMap::from([
                    ("max-size".into(), LOG_MAX.into()),
                    ("max-file".into(), "1".into()),
                ])),
            }),
            ..HostConfig::default()
        };
        let body = ContainerCreateBody {
            image: Some(spec.image.clone()),
            entrypoint: spec.entrypoint.clone(),
            cmd: (!spec.arguments.is_empty()).then(|| spec.arguments.clone()),
            env: Some(
                spec.env
                    .iter()
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect(),
            ),
            user: Some(USER.into()),
            labels: Some(HashMap::from([(RUN_LABEL.into(), self.name.clone())])),
            open_stdin: Some(spec.stdin),
            stdin_once: Some(spec.stdin),
            attach_stdin: Some(spec.stdin),
            host_config: Some(host),
            ..ContainerCreateBody::default()
        };
        let options = CreateContainerOptionsBuilder::default().name(&name).build();
        self.asked_for.borrow_mut().insert(name.clone());
        let created = self
            .engine
            .docker
            .create_container(Some(options), body)
            .await;
        self.asked_for.borrow_mut().remove(&name);
        let created =
            created.map_err(|e| explain(&format!("create the {} container", spec.role), e))?;
        Ok(Container { id: created.id })
    }

    /// Attaches to its streams. Before the start, or the first line is lost.
    pub async fn attach(&self, container: &Container) -> Result<Attached> {
        let options = AttachContainerOptionsBuilder::default()
            .stream(true)
            .stdin(true)
            .stdout(true)
            .stderr(true)
            .build();
        let attached = self
            .engine
            .docker
            .attach_container(&container.id, Some(options))
            .await;
        let attached = attached.map_err(|e| explain("attach to the agent", e))?;
        Ok(Attached {
            output: attached.output,
            input: attached.input,
            stdout: Vec::new(),
            stderr: String::new(),
        })
    }

    /// Starts it.
    pub async fn start(&self, container: &Container) -> Result<()> {
        let started = self
            .engine
            .docker
            .start_container(&container.id, None)
            .await;
        started.map_err(|e| explain("start a container", e))
    }

    /// When it started, in seconds since 1970, and its first process as the host numbers it (0 once
    /// it has ended).
    pub async fn started(&self, container: &Container) -> Result<(f64, u32)> {
        let state = self.inspect(container).await?.state.unwrap_or_default();
        let at = state
            .started_at
            .as_deref()
            .and_then(crate::date::unix_seconds);
        let at = at.ok_or_else(|| Error::unexpected("the engine gave no start time"))?;
        Ok((
            at,
            state
                .pid
                .and_then(|pid| u32::try_from(pid).ok())
                .unwrap_or(0),
        ))
    }

    /// The limits that the engine set.
    pub async fn limits(&self, container: &Container) -> Result<Limits> {
        let host = self
            .inspect(container)
            .await?
            .host_config
            .unwrap_or_default();
        let mib = |bytes: Option<i64>| u64::try_from(bytes.unwrap_or(0) / MIB).unwrap_or(u64::MAX);
        Ok(Limits {
            cpus: host.cpuset_cpus.unwrap_or_default(),
            cpu_quota: host.nano_cpus.filter(|n| *n > 0).map(|n| n as f64 / 1e9),
            memory_mib: mib(host.memory),
            memory_swap_mib: mib(host.memory_swap),
            pids: host
                .pids_limit
                .and_then(|n| u64::try_from(n).ok())
                .unwrap_or(0),
        })
    }

    /// Whether it has ended, and how.
    pub async fn ended(&self, container: &Container) -> Result<Option<Ended>> {
        let state = self.inspect(container).await?.state.unwrap_or_default();
        let ended = Ended {
            code: state.exit_code.unwrap_or(-1),
            oom_killed: state.oom_killed.unwrap_or(false),
        };
        Ok((!state.running.unwrap_or(false)).then_some(ended))
    }

    /// Waits until it ends.
    pub async fn wait(&self, container: &Container) -> Result<()> {
        let mut ends = self
            .engine
            .docker
            .wait_container(&container.id, None::<WaitContainerOptions>);
        match ends.next().await {
            // An exit code other than 0 comes as an error.
            None | Some(Ok(_) | Err(Bollard::DockerContainerWaitError { .. })) => Ok(()),
            Some(Err(error)) => Err(explain("wait for a container", error)),
        }
    }

    /// The end of what it wrote, bounded.
    pub async fn log(&self, container: &Container) -> Result<Vec<u8>> {
        let options = LogsOptionsBuilder::default()
            .stdout(true)
            .stderr(true)
            .tail(LOG_LINES)
            .build();
        let mut lines = self.engine.docker.logs(&container.id, Some(options));
        let mut log = Vec::new();
        while let Some(line) = lines.next().await {
            let line = line.map_err(|e| explain("read a container's log", e))?;
            log.extend_from_slice(line.as_ref());
        }
        Ok(log)
    }

    /// Removes it, running or not.
    pub async fn remove(&self, container: &Container) -> Result<()> {
        self.engine.remove_container(&container.id).await.map(drop)
    }

    /// Removes whatever of it is still there, and ends it.
    pub async fn end(self) -> Result<()> {
        for container in self.created.take() {
            self.remove(&container).await?;
        }
        // Who was interrupted while the engine was creating a container may see it come up only now.
        let patience = Instant::now() + LATE_CREATION;
        for name in self.asked_for.take() {
            while !self.engine.remove_container(&name).await? && Instant::now() < patience {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        Ok(())
    }

    /// How many containers run that are not of this run.
    pub async fn other_containers(&self) -> Result<u32> {
        let running = self
            .engine
            .docker
            .list_containers(None::<ListContainersOptions>)
            .await;
        let running = running.map_err(|e| explain("list containers", e))?;
        let own = |container: &ContainerSummary| {
            let label = container.labels.as_ref().and_then(|l| l.get(RUN_LABEL));
            label.is_some_and(|run| *run == self.name)
        };
        let others = running.iter().filter(|container| !own(container));
        Ok(others.count() as u32)
    }

    /// Runs an image's own program once, without network, and gives what it printed.
    pub async fn output_of(&self, image: &str, command: &[&str]) -> Result<String> {
        let container = self
            .create(&Spec {
                image: image.to_owned(),
                role: "look",
                arguments: command[1..].iter().map(|&word| word.to_owned()).collect(),
                entrypoint: Some(vec![command[0].to_owned()]),
                env: vec![],
                network: Network::Own,
                cpus: String::new(),
                cpu_quota: None,
                memory_mib: 512,
                pids: 64,
                stdin: false,
            })
            .await?;
        let output = async {
            self.start(&container).await?;
            self.wait(&container).await?;
            self.log(&container).await
        };
        let output = output.await;
        self.remove(&container).await?;
        Ok(String::from_utf8_lossy(&output?).into_owned())
    }

    async fn inspect(
        &self,
        container: &Container,
    ) -> Result<bollard::models::ContainerInspectResponse> {
        let found = self
            .engine
            .docker
            .inspect_container(&container.id, None)
            .await;
        found.map_err(|e| explain("look at a container", e))
    }
}

/// What is kept of an agent's stderr.
const STDERR_MAX: usize = 16 * 1024;
/// No line of an agent's is longer: an hour's log of histograms is far below.
const LINE_MAX: usize = 256 * 1024 * 1024;

impl Attached {
    /// Writes one line.
    pub async fn send(&mut self, line: &str) -> Result<()> {
        let lost = |e: std::io::Error| {
            Error::machine(format!("the agent is gone: {e}"))
                .next("did somebody remove its container, or its memory run out? `docker events` and `dmesg` say")
        };
        self.input.write_all(line.as_bytes()).await.map_err(lost)?;
        self.input.write_all(b"\n").await.map_err(lost)?;
        self.input.flush().await.map_err(lost)
    }

    /// The next line of its stdout, whole however it was split over frames; `None` at the end.
    pub async fn line(&mut self) -> Result<Option<String>> {
        loop {
            if let Some(end) = self.stdout.iter().position(|byte| *byte == b'\n') {
                let rest = self.stdout.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.stdout, rest);
                line.pop();
                return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
            }
            match self.output.next().await {
                None => return Ok(None),
                Some(Err(error)) => return Err(explain("read from the agent", error)),
                Some(Ok(LogOutput::StdErr { message })) => {
                    let room = STDERR_MAX.saturating_sub(self.stderr.len());
                    let text = String::from_utf8_lossy(&message);
                    self.stderr.extend(text.chars().take(room));
                }
                Some(Ok(other)) => self.stdout.extend_from_slice(other.as_ref()),
            }
            if self.stdout.len() > LINE_MAX {
                return Err(Error::unexpected("the agent sent a line without end"));
            }
        }
    }
}
