//! Time as the engine reads it: nanoseconds of CLOCK_MONOTONIC, which every container of a host
//! shares, so that a generator's epoch can come from outside.

use std::num::NonZeroU64;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds in a second.
pub const SECOND_NS: u64 = 1_000_000_000;

/// Now, in nanoseconds of CLOCK_MONOTONIC.
pub fn now_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// CPU time of the calling thread, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// Wall clock, in seconds since 1970.
pub fn unix_s() -> f64 {
    nanoseconds(clock_gettime(ClockId::Realtime)) as f64 / 1e9
}

/// How far other clocks are ahead of CLOCK_MONOTONIC. Two readings that differ mean that somebody
/// set the time in between, or that the machine slept.
#[derive(Clone, Copy, Debug)]
pub struct Offsets {
    realtime_ns: i64,
    boottime_ns: i64,
}

impl Offsets {
    /// Reads them.
    pub fn read() -> Self {
        let ahead = |clock| {
            let monotonic = now_ns();
            nanoseconds(clock_gettime(clock)) as i64 - monotonic as i64
        };
        Self {
            realtime_ns: ahead(ClockId::Realtime),
            boottime_ns: ahead(ClockId::Boottime),
        }
    }

    /// The largest step of any clock since an earlier reading, in nanoseconds.
    pub fn step_since_ns(self, earlier: Self) -> u64 {
        let realtime = self.realtime_ns.abs_diff(earlier.realtime_ns);
        realtime.max(self.boottime_ns.abs_diff(earlier.boottime_ns))
    }
}

/// Makes the kernel end this thread's waits on time: the default slack lets them run 50 us over.
pub fn sharpen_timers() {
    // A kernel that refuses leaves the default, which the recorded lag then shows.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// A duration for the kernel.
pub fn timespec(ns: u64) -> Timespec {
    Timespec {
        tv_sec: (ns / SECOND_NS) as i64,
        tv_nsec: (ns % SECOND_NS) as i64,
    }
}

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * SECOND_NS + time.tv_nsec as u64
}
