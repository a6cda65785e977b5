//! What a load is to do: all that the driver is told, and all that crosses to an agent.

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::mask::{Mask, Slice};
use super::schedule::{Arrivals, Schedule};
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

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// At the times of a schedule, whatever the server does.
    Open {
        /// Slots per second of own time.
        rate_rps: u64,
        /// How they are laid.
        arrivals: Arrivals,
    },
    /// As soon as a connection is free: what a server can do, not what its users wait.
    Closed {
        /// At most so many.
        requests: u64,
    },
}

/// A load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Spec {
    /// Where the server listens.
    pub target: SocketAddr,
    /// What is asked, in a seeded order.
    pub variants: Vec<Variant>,
    /// When it is asked.
    pub pace: Pace,
    /// How much own time there is: the schedule's length, or the closed loop's longest.
    pub duration_ns: u64,
    /// The slices that it has; `None` for all of the time.
    pub slices: Option<Vec<Slice>>,
    /// Ends of the blocks that completed slots are counted by, since the epoch, in ascending order; the
    /// last one's is the load's own. None for no such count.
    #[serde(default)]
    pub blocks_ns: Vec<u64>,
    /// Most connections at once (open), or exactly (closed).
    pub connections: u32,
    /// Threads that share slots and connections; at most as many as there are connections.
    pub threads: u32,
    /// From the moment a connection takes a slot until its response is whole.
    pub timeout_ns: u64,
    /// How long the loop spins before a slot and after a send, instead of sleeping.
    pub spin_ns: u64,
    /// Slots whose whole response is kept, in ascending order.
    #[serde(default)]
    pub keep: Vec<u64>,
    /// Seed of the order of the variants, of the nonces and of Poisson arrivals.
    pub seed: u64,
}

impl Spec {
    /// Its slices; those that overlap are the caller's mistake and count as none.
    pub fn mask(&self) -> Mask {
        let slices = self.slices.clone().and_then(Mask::new);
        slices.unwrap_or_else(|| Mask::always(self.duration_ns))
    }

    /// When its slots are due; `None` in a closed loop.
    pub fn schedule(&self) -> Option<Schedule> {
        match self.pace {
            Pace::Open { rate_rps, arrivals } => {
                Some(Schedule::new(rate_rps, arrivals, self.mask(), self.seed))
            }
            Pace::Closed { .. } => None,
        }
    }

    /// How long it lasts on the clock; `None` where its requests end it.
    pub fn length(&self) -> Option<Duration> {
        match self.pace {
            Pace::Closed { requests } if requests < u64::MAX => None,
            _ => Some(Duration::from_nanos(self.end_ns())),
        }
    }

    /// The share of the clock that is its own, from 0 to 1.
    pub fn own_share(&self) -> f64 {
        self.duration_ns as f64 / self.end_ns() as f64
    }

    /// When its last gap ends, in nanoseconds since the epoch.
    fn end_ns(&self) -> u64 {
        let last = self.slices.as_ref().and_then(|slices| slices.last());
        last.map_or(self.duration_ns, Slice::gap_end_ns)
    }

    /// How many slots it has, or may have.
    pub fn slots(&self) -> u64 {
        match self.pace {
            Pace::Open { rate_rps, .. } => {
                let own_ns = self.mask().own_length_ns();
                (u128::from(rate_rps) * u128::from(own_ns) / u128::from(super::clock::SECOND_NS))
                    as u64
            }
            Pace::Closed { requests } => requests,
        }
    }
}
