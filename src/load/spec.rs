//! What a load is to do: all that the driver is told, and all that crosses to an agent.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::schedule::Schedule;
use super::template::Template;

/// One kind of request and what must come back.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Variant {
    /// Its share of the slots, relative to the other variants'.
    pub weight: u32,
    /// Head and body as they are sent.
    pub request: Template,
    /// HEAD: the response has no body whatever its header says.
    pub bodiless: bool,
    /// Whether it may be sent again where a reused connection was closed without any answer
    /// (RFC 9110, 9.2.2).
    pub idempotent: bool,
    /// The statuses that are right; empty for any.
    pub statuses: Vec<u16>,
    /// The body that is right; `None` for any.
    pub body: Option<Template>,
}

/// An open-loop load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Spec {
    /// Where the server listens.
    pub target: SocketAddr,
    /// What is asked, in a seeded order.
    pub variants: Vec<Variant>,
    /// Slots per second.
    pub rate_rps: u64,
    /// The schedule's length: `floor(rate * duration)` slots.
    pub duration_ns: u64,
    /// Most connections at once.
    pub connections: u32,
    /// From the moment a connection takes a slot until its response is whole.
    pub timeout_ns: u64,
    /// How long the loop spins before a slot and after a send, instead of sleeping.
    pub spin_ns: u64,
    /// Seed of the order of the variants and of the nonces.
    pub seed: u64,
}

impl Spec {
    /// When its slots are due.
    pub fn schedule(&self) -> Schedule {
        Schedule::new(self.rate_rps, self.duration_ns)
    }
}
