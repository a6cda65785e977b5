//! Ctrl-C, and what a service manager sends: work is given up, and what it left is cleared away.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::{Error, Exit, Result};

/// Hears them from its making on; one that comes between two pieces of work ends the second.
pub struct Interrupts {
    ctrl_c: Signal,
    terminate: Signal,
}

impl Interrupts {
    /// Within the runtime.
    pub fn listen() -> Result<Self> {
        let hear =
            |kind| signal(kind).map_err(|e| Error::unexpected(format!("cannot hear signals: {e}")));
        Ok(Self {
            ctrl_c: hear(SignalKind::interrupt())?,
            terminate: hear(SignalKind::terminate())?,
        })
    }

    /// Does the work, unless somebody interrupts: exit 130.
    pub async fn unless<T>(&mut self, work: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            outcome = work => return outcome,
            _ = self.ctrl_c.recv() => {}
            _ = self.terminate.recv() => {}
        }
        Err(Error::new(Exit::Interrupted, "interrupted"))
    }
}
