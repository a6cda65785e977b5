//! The runner's end of the line to an agent.

use std::time::Duration;

use crate::agent::protocol::{Command, Event, VERSION, line};
use crate::engine::Attached;
use crate::error::{Error, Result};
use crate::load::Spec;
use crate::parity::{Answer, Ask, Burst};

/// An agent that does nothing but answer is given so long.
const PATIENCE: Duration = Duration::from_secs(10);
/// A thousand answers take seconds; of a target that hangs, many times their deadline.
const BURST_PATIENCE: Duration = Duration::from_secs(900);
/// Of each request of the parity matrix.
const ASK_DEADLINE: Duration = Duration::from_secs(10);

/// A line to an agent that speaks this runner's protocol.
pub struct Link {
    attached: Attached,
}

impl Link {
    /// Hears the agent's first line and tells it how long it may live.
    pub async fn greet(attached: Attached, digest: &str, lifetime: Duration) -> Result<Self> {
        let mut link = Self { attached };
        match link.event(PATIENCE).await? {
            Event::Agent {
                protocol: VERSION,
                digest: theirs,
            } if theirs == digest => {}
            Event::Agent {
                protocol,
                digest: theirs,
            } => {
                return Err(Error::unexpected(format!(
                    "the agent is another program than this one: protocol {protocol} and {theirs:.12}, not {VERSION} and {digest:.12}"
                )));
            }
            other => return Err(unexpected(&other)),
        }
        link.tell(&Command::Live {
            seconds: lifetime.as_secs(),
        })
        .await?;
        Ok(link)
    }

    /// Waits until the target answers: the moment in seconds since 1970, or why it did not.
    pub async fn await_target(
        &mut self,
        port: u16,
        path: &str,
        patience: Duration,
    ) -> Result<std::result::Result<f64, String>> {
        let patience_ms = patience.as_millis() as u64;
        self.tell(&Command::AwaitTarget {
            port,
            path: path.to_owned(),
            patience_ms,
        })
        .await?;
        match self.event(patience + PATIENCE + ASK_DEADLINE).await? {
            Event::TargetReady { unix_s } => Ok(Ok(unix_s)),
            Event::TargetNotReady { why } => Ok(Err(why)),
            other => Err(unexpected(&other)),
        }
    }

    /// Asks one after the other.
    pub async fn ask(&mut self, port: u16, asks: Vec<Ask>) -> Result<Vec<Answer>> {
        let count = asks.len();
        let deadline_ms = ASK_DEADLINE.as_millis() as u64;
        self.tell(&Command::Ask {
            port,
            deadline_ms,
            asks,
        })
        .await?;
        match self.event(PATIENCE + ASK_DEADLINE * count as u32).await? {
            Event::Answers { answers } if answers.len() == count => Ok(answers),
            other => Err(unexpected(&other)),
        }
    }

    /// Asks many in turn, with fresh nonces, and gives what their heads had in common.
    pub async fn burst(
        &mut self,
        port: u16,
        asks: Vec<Ask>,
        count: u64,
        seed: u64,
    ) -> Result<Burst> {
        let deadline_ms = ASK_DEADLINE.as_millis() as u64;
        self.tell(&Command::Burst {
            port,
            deadline_ms,
            asks,
            count,
            seed,
        })
        .await?;
        match self.event(BURST_PATIENCE).await? {
            Event::Burst { burst } => Ok(burst),
            other => Err(unexpected(&other)),
        }
    }

    /// Gets a load ready.
    pub async fn arm(&mut self, spec: &Spec) -> Result<()> {
        self.tell(&Command::Arm {
            spec: Box::new(spec.clone()),
        })
        .await?;
        match self.event(PATIENCE).await? {
            Event::Armed => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// Starts it.
    pub async fn go(&mut self, epoch_ns: u64) -> Result<()> {
        self.tell(&Command::Go { epoch_ns }).await
    }

    /// The next event; it may be dropped and asked for again without losing any.
    pub async fn event(&mut self, patience: Duration) -> Result<Event> {
        match tokio::time::timeout(patience, self.attached.line()).await {
            Err(_) => Err(Error::unexpected(format!(
                "the agent said nothing for {patience:?}{}",
                self.stderr()
            ))),
            Ok(Ok(Some(text))) => match serde_json::from_str(&text) {
                Ok(Event::Failed { why }) => {
                    Err(Error::unexpected(format!("the agent failed: {why}")))
                }
                Ok(event) => Ok(event),
                Err(error) => Err(Error::unexpected(format!(
                    "the agent's line is not understood ({error}): {text:.200}"
                ))),
            },
            Ok(Ok(None)) => Err(Error::machine(format!("the agent ended{}", self.stderr()))
                .next("`shootout doctor` says what this machine can do")),
            Ok(Err(error)) => Err(error),
        }
    }

    async fn tell(&mut self, command: &Command) -> Result<()> {
        self.attached.send(&line(command)).await
    }

    fn stderr(&self) -> String {
        match self.attached.stderr.trim() {
            "" => String::new(),
            said => format!("; its last words: {said}"),
        }
    }
}

/// An event that does not belong here: a mistake of the kit's.
pub fn unexpected(event: &Event) -> Error {
    let text = line(event);
    Error::unexpected(format!("the agent answered something else: {text:.200}"))
}
