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
pub mod keep;
pub mod lane;
pub mod live;
pub mod mask;
pub mod outcome;
pub mod pacer;
pub mod poller;
pub mod request;
pub mod schedule;
pub mod spec;
pub mod spin;
pub mod tally;
pub mod template;
pub mod turns;

pub use driver::Driver;
pub use keep::Kept;
pub use live::{Live, Progress};
pub use mask::Slice;
pub use pacer::Pacer;
pub use schedule::{Arrivals, Share};
pub use spec::{Pace, Spec, Variant};
pub use tally::Tally;
pub use template::Template;

use crate::record::hlog::Hlog;
use crate::record::schema::{Load, SCHEMA};
use crate::sample::Roots;
use crate::sample::cgroup::Cgroup;

/// A wall clock that moved further than this within a load was set, not disciplined.
const CLOCK_STEP_NS: u64 = 100_000_000;

/// A load whose connections are open: it starts when it is told to.
pub struct Armed {
    drivers: Vec<Driver>,
    spec: Spec,
}

/// A finished load: what was observed, and the histograms from which the rest is derived.
pub struct Measured {
    /// Only its observed fields are filled.
    pub load: Load,
    /// All clocks.
    pub hlog: Hlog,
    /// The responses that were to be kept, of the slots that completed.
    pub kept: Vec<Kept>,
}

/// Gets a load ready and opens its connections.
pub fn arm(spec: Spec, live: &Arc<Live>) -> io::Result<Armed> {
    let mask = Arc::new(spec.mask());
    let schedule = spec.schedule().map(Arc::new);
    let of = u64::from(spec.threads.clamp(1, spec.connections.max(1)));
    let drivers = (0..of).map(|index| {
        let share = Share { index, of };
        let pacer = Pacer::new(&spec, schedule.clone(), Arc::clone(&mask), share);
        let connections = share.count(spec.connections.into()) as usize;
        let mut driver = Driver::new(&spec, pacer, connections, Arc::clone(live))?;
        driver.open_connections()?;
        Ok(driver)
    });
    let drivers = drivers.collect::<io::Result<_>>()?;
    Ok(Armed { drivers, spec })
}

impl Armed {
    /// Runs it from an epoch on CLOCK_MONOTONIC, on threads of its own.
    pub fn run(self, epoch_ns: u64) -> io::Result<Measured> {
        let offsets = clock::Offsets::read();
        let throttled = Throttled::read();
        let start_unix_s = clock::unix_s() + (epoch_ns as f64 - clock::now_ns() as f64) / 1e9;
        let Driven {
            tally,
            kept,
            cpu_ns,
        } = drive(self.drivers, epoch_ns)?;

        let faults = [clock_stepped(offsets), throttled.since()];
        let (connections_opened, connect_us) = tally.connect_figures();
        let (offered_rps, duration_s) = match self.spec.pace {
            Pace::Open { rate_rps, .. } => (
                Some(rate_rps as f64),
                open_duration_s(&self.spec, &tally, rate_rps),
            ),
            Pace::Closed { .. } => (None, tally.served_ns() as f64 / 1e9),
        };
        let load = Load {
            schema: SCHEMA,
            protocol: "http/1.1".into(),
            ledger: tally.ledger,
            lag_causes: tally.lag_causes(),
            offered_rps,
            duration_s,
            bytes_in: tally.bytes_in,
            connections_opened,
            connect_us,
            generator_cpu_us: Some(cpu_ns as f64 / 1e3),
            generator_spin_us: tally.spun_ns as f64 / 1e3,
            longest_pause_us: tally.longest_pause_ns as f64 / 1e3,
            spilled: tally.spilled,
            completed_by_block: tally.completed_by_block.clone(),
            faults: faults.into_iter().flatten().collect(),
            errors: tally.errors(),
            ..Load::default()
        };
        Ok(Measured {
            load,
            hlog: tally.into_hlog(start_unix_s),
            kept,
        })
    }
}

/// The schedule's length; where the last response came after it, the time until then: what completed
/// in the drain was not served within the schedule.
fn open_duration_s(spec: &Spec, tally: &Tally, rate_rps: u64) -> f64 {
    let scheduled_s = tally.ledger.scheduled as f64 / rate_rps as f64;
    match spec.slices {
        Some(_) => scheduled_s,
        None => scheduled_s.max(tally.served_ns() as f64 / 1e9),
    }
}

fn clock_stepped(before: clock::Offsets) -> Option<String> {
    let step_ns = clock::Offsets::read().step_since_ns(before);
    let stepped = || {
        format!(
            "a clock stepped by {:.0} ms during the load",
            step_ns as f64 / 1e6
        )
    };
    (step_ns > CLOCK_STEP_NS).then(stepped)
}

/// How much the kernel has held this process back for its cgroup's quota, where that can be seen.
struct Throttled(Option<(Cgroup, u64, u64)>);

impl Throttled {
    fn read() -> Self {
        let counters = || {
            let cgroup = Cgroup::of_pid(&Roots::default(), std::process::id()).ok()?;
            let (periods, us) = (cgroup.throttled_periods()?, cgroup.throttled_us()?);
            Some((cgroup, periods, us))
        };
        Self(counters())
    }

    fn since(self) -> Option<String> {
        let (cgroup, periods_before, us_before) = self.0?;
        let periods = cgroup
            .throttled_periods()?
            .checked_sub(periods_before)
            .filter(|grown| *grown > 0)?;
        let ms = cgroup.throttled_us()?.saturating_sub(us_before) as f64 / 1e3;
        Some(format!(
            "the generator was throttled for {ms:.1} ms in {periods} periods of its CPU quota"
        ))
    }
}

/// What threads came to together.
struct Driven {
    tally: Tally,
    kept: Vec<Kept>,
    cpu_ns: u64,
}

/// Runs each driver on a thread of its own.
fn drive(drivers: Vec<Driver>, epoch_ns: u64) -> io::Result<Driven> {
    let work = |driver: Driver| {
        clock::sharpen_timers();
        let (tally, kept) = driver.run(epoch_ns)?;
        let cpu_ns = clock::thread_cpu_ns();
        Ok(Driven {
            tally,
            kept,
            cpu_ns,
        })
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = drivers
            .into_iter()
            .map(|driver| scope.spawn(move || work(driver)))
            .collect();
        let mut sum: Option<Driven> = None;
        for thread in threads {
            let ended: io::Result<Driven> = thread
                .join()
                .map_err(|_| io::Error::other("a load thread panicked"))?;
            let part = ended?;
            match &mut sum {
                None => sum = Some(part),
                Some(all) => {
                    all.tally.merge(part.tally);
                    all.kept.extend(part.kept);
                    all.cpu_ns += part.cpu_ns;
                }
            }
        }
        sum.ok_or_else(|| io::Error::other("a load without threads"))
    })
}
