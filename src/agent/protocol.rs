//! What runner and agent say to each other: a line of JSON each, over the agent's stdin and stdout.

use serde::{Deserialize, Serialize};

use crate::load::{Kept, Progress, Spec};
use crate::parity::{Answer, Ask, Burst};
use crate::record::schema::Load;

/// The protocol's version: both sides must speak the same.
pub const VERSION: u32 = 1;

/// What the runner asks for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// The first line: how long this agent may live at most.
    Live {
        /// Seconds from now; an engine that dies leaves stdin open, and then this ends the agent.
        seconds: u64,
    },
    /// Wait until the target answers.
    AwaitTarget {
        /// Its port on 127.0.0.1.
        port: u16,
        /// What is asked.
        path: String,
        /// Given up after so long.
        patience_ms: u64,
    },
    /// Ask, one after the other.
    Ask {
        /// The target's port.
        port: u16,
        /// Of each request.
        deadline_ms: u64,
        /// The requests.
        asks: Vec<Ask>,
    },
    /// Ask many, in turn, and keep only what their heads have in common.
    Burst {
        /// The target's port.
        port: u16,
        /// Of each request.
        deadline_ms: u64,
        /// The requests, with `{nonce}` where a fresh one belongs.
        asks: Vec<Ask>,
        /// How many in all.
        count: u64,
        /// Seed of the nonces.
        seed: u64,
    },
    /// Get a load ready and open its connections.
    Arm {
        /// The load.
        spec: Box<Spec>,
    },
    /// Run it.
    Go {
        /// When slot 0 is due, on CLOCK_MONOTONIC, which containers share with their host.
        epoch_ns: u64,
    },
}

/// What the agent answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// The first line.
    Agent {
        /// [`VERSION`].
        protocol: u32,
        /// SHA-256 of its program's file.
        digest: String,
    },
    /// The target answered.
    TargetReady {
        /// At this time, in seconds since 1970.
        unix_s: f64,
    },
    /// It did not, and what was seen instead.
    TargetNotReady {
        /// In words.
        why: String,
    },
    /// The answers, in the order of the requests.
    Answers {
        /// One each.
        answers: Vec<Answer>,
    },
    /// What the many answers had in common.
    Burst {
        /// Their heads.
        burst: Burst,
    },
    /// The load is ready to go.
    Armed,
    /// A look at the running load, once a second.
    Progress {
        /// Since its start.
        progress: Progress,
    },
    /// The load is over; its figures are being put together.
    Over,
    /// The load's figures.
    Done {
        /// Its observed fields.
        load: Box<Load>,
        /// The text of `latency.hlog`.
        hlog: String,
        /// The responses that were kept.
        kept: Vec<Kept>,
    },
    /// What was asked for cannot be done.
    Failed {
        /// In words.
        why: String,
    },
}

/// A message as a line, without its end.
pub fn line(message: &impl Serialize) -> String {
    serde_json::to_string(message).expect("messages are plain data")
}
