//! The load engine: fixed-rate open-loop load whose latencies are free of coordinated omission.
//!
//! A [`Spec`] says what to do, a [`Driver`] does it on one thread, a [`Tally`] is what it came to.
//! `schedule` and `http1` are pure; `poller` and `lane` are the only places with system calls.

use std::io;
use std::sync::Arc;

pub mod backlog;
pub mod clock;
pub mod driver;
pub mod http1;
pub mod lane;
pub mod live;
pub mod outcome;
pub mod poller;
pub mod request;
pub mod schedule;
pub mod spec;
pub mod tally;
pub mod template;

pub use driver::Driver;
pub use live::{Live, Progress};
pub use spec::{Spec, Variant};
pub use template::Template;

use crate::record::hlog::Hlog;
use crate::record::schema::{Load, SCHEMA};

/// A wall clock that moved further than this within a load was set, not disciplined.
const CLOCK_STEP_NS: u64 = 100_000_000;

/// A load whose connections are open: it starts when it is told to.
pub struct Armed {
    driver: Driver,
    spec: Spec,
    cpu_ns: u64,
}

/// A finished load: what was observed, and the histograms from which the rest is derived.
pub struct Measured {
    /// Only its observed fields are filled.
    pub load: Load,
    /// All clocks.
    pub hlog: Hlog,
}

/// Gets a load ready on the calling thread and opens its connections.
pub fn arm(spec: Spec, live: Arc<Live>) -> io::Result<Armed> {
    clock::sharpen_timers();
    let mut driver = Driver::new(spec.clone(), live)?;
    driver.open_connections()?;
    Ok(Armed {
        driver,
        spec,
        cpu_ns: clock::thread_cpu_ns(),
    })
}

impl Armed {
    /// Runs it from an epoch on CLOCK_MONOTONIC, on the calling thread.
    pub fn run(self, epoch_ns: u64) -> io::Result<Measured> {
        let offsets = clock::Offsets::read();
        let start_unix_s = clock::unix_s() + (epoch_ns as f64 - clock::now_ns() as f64) / 1e9;
        let tally = self.driver.run(epoch_ns)?;
        let cpu_ns = clock::thread_cpu_ns() - self.cpu_ns;

        let step_ns = clock::Offsets::read().step_since_ns(offsets);
        let stepped = format!(
            "a clock stepped by {:.0} ms during the load",
            step_ns as f64 / 1e6
        );
        let (connections_opened, connect_us) = tally.connect_figures();
        let load = Load {
            schema: SCHEMA,
            protocol: "http/1.1".into(),
            ledger: tally.ledger,
            lag_causes: tally.lag_causes(),
            offered_rps: Some(self.spec.rate_rps as f64),
            duration_s: tally.ledger.scheduled as f64 / self.spec.rate_rps as f64,
            bytes_in: tally.bytes_in,
            connections_opened,
            connect_us,
            generator_cpu_us: Some(cpu_ns as f64 / 1e3),
            longest_pause_us: tally.longest_pause_ns as f64 / 1e3,
            faults: if step_ns > CLOCK_STEP_NS {
                vec![stepped]
            } else {
                vec![]
            },
            errors: tally.errors(),
            ..Load::default()
        };
        Ok(Measured {
            load,
            hlog: tally.into_hlog(start_unix_s),
        })
    }
}
