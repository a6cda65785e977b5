//! `shootout` compares web frameworks honestly: equal work proven by a request matrix, fixed-rate
//! open-loop load, and archives from which every published number can be recomputed offline.

pub mod affinity;
pub mod agent;
pub mod awake;
pub mod cell;
pub mod cli;
pub mod cmd;
pub mod date;
pub mod draw;
pub mod engine;
pub mod error;
pub mod guard;
pub mod load;
pub mod parity;
pub mod plan;
pub mod record;
pub mod report;
pub mod sample;
pub mod selftest;
pub mod stats;
pub mod ui;
pub mod upstream;

/// One thread for everything that waits: it inherits the CPUs that its caller chose.
pub fn runtime() -> error::Result<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.map_err(|e| error::Error::unexpected(format!("cannot start the async runtime: {e}")))
}
