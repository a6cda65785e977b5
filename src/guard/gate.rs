//! The gate before a series: it waits until the CPUs are quiet, but not forever.

use std::time::{Duration, Instant};

use super::Finding;
use super::share::busiest;
use crate::sample::{Roots, scenery};

/// Between two readings: long enough for their hundredths of a second to say 5 %.
const LOOK: Duration = Duration::from_millis(500);
/// Quiet is less than this of any one CPU, as it is for foreign work under load.
const QUIET: f64 = 0.05;

/// What the gate is called in findings.
const ID: &str = "gate";

/// Waits until nothing runs on these CPUs, at most for `patience`, and says how it went: a warning where
/// they never were quiet, or where it can't be seen. `now` is told what is waited for.
pub async fn quiet(cpus: &[u32], patience: Duration, mut now: impl FnMut(&str)) -> Finding {
    let roots = Roots::default();
    let start = Instant::now();
    loop {
        let (before, from) = (scenery::cpus(&roots, cpus), Instant::now());
        tokio::time::sleep(LOOK).await;
        let (after, took) = (scenery::cpus(&roots, cpus), from.elapsed());
        let busy = busiest(&before, &after, cpus, took.as_secs_f64() * 1e6);
        match busy {
            Some((cpu, share)) if share > QUIET && start.elapsed() < patience => {
                let pct = 100.0 * share;
                now(&format!(
                    "waiting for quiet: CPU {cpu} is busy in {pct:.0} % of the time"
                ));
            }
            _ => return judge(busy, start.elapsed()),
        }
    }
}

/// The gate's word on the busiest CPU that it saw last, and its share of busy time.
fn judge(busiest: Option<(u32, f64)>, waited: Duration) -> Finding {
    let fix = "stop what else is running: it is in the numbers, or makes cells invalid";
    let waited_s = waited.as_secs_f64();
    match busiest {
        None => Finding::unseen(ID, "what runs before the load", fix),
        Some((cpu, share)) if share > QUIET => {
            let pct = 100.0 * share;
            let what =
                format!("CPU {cpu} was still busy in {pct:.0} % of the time after {waited_s:.0} s");
            Finding::warn(ID, what, fix)
        }
        Some(_) => Finding::ok(ID, format!("quiet after {waited_s:.1} s")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Level;

    #[test]
    fn it_opens_for_quiet_and_says_how_noisy_it_stayed() {
        let table = [
            (Some((1, 0.049)), Level::Ok, "quiet after 3.0 s"),
            (
                Some((1, 0.31)),
                Level::Warn,
                "CPU 1 was still busy in 31 % of the time after 3 s",
            ),
            (None, Level::Unseen, "not visible here"),
        ];
        for (busiest, level, what) in table {
            let finding = judge(busiest, Duration::from_secs(3));
            assert_eq!(finding.level, level);
            assert!(finding.what.contains(what), "{}", finding.what);
        }
    }

    #[test]
    fn its_patience_is_bounded() {
        let start = Instant::now();
        let runtime = crate::runtime().unwrap();
        // No machine has this CPU; the gate does not wait for what it can't see.
        let finding = runtime.block_on(quiet(&[9999], Duration::from_secs(60), |_| {}));
        assert_eq!(finding.level, Level::Unseen);
        let own = crate::sample::host::Host::read(&Roots::default())
            .facts
            .cpus;
        let finding = runtime.block_on(quiet(&[own[0].cpu], Duration::ZERO, |_| {}));
        assert_ne!(finding.level, Level::Unseen);
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
