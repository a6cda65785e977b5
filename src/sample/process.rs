//! What the processes of a container say of themselves in `/proc`.
//!
//! A process that has ended in between is left out; one that can't be read leaves nothing known: a sum
//! without it would look like a smaller program.

use std::io::ErrorKind;
use std::path::Path;

use super::{Roots, number};

/// Something is there that this user may not read, or not in this form.
struct Unreadable;

/// One process's part of a sum; `None` where it has none (any more).
type Part = Result<Option<u64>, Unreadable>;

/// Resident memory (VmRSS) summed over processes, in KiB.
pub fn rss_kib(roots: &Roots, pids: &[u32]) -> Option<u64> {
    // `status` and not the cheaper `statm`, which counts in pages of a size that it does not say.
    // A process that has ended and waits for its parent has no such line, and no memory.
    sum(pids, |pid| {
        let status = text(&roots.proc.join(format!("{pid}/status")))?;
        Ok(status.and_then(|status| number(&status, "VmRSS")))
    })
}

/// Proportional memory (PSS) summed over processes, in KiB: pages shared by n processes count 1/n.
///
/// Costs milliseconds a process: never under load.
pub fn pss_kib(roots: &Roots, pids: &[u32]) -> Option<u64> {
    sum(pids, |pid| {
        let rollup = text(&roots.proc.join(format!("{pid}/smaps_rollup")))?;
        part(rollup, |rollup| number(rollup, "Pss"))
    })
}

/// Involuntary context switches summed over all threads of the processes. Those of threads that have
/// ended are lost.
pub fn involuntary_switches(roots: &Roots, pids: &[u32]) -> Option<u64> {
    sum_over_threads(roots, pids, |thread| {
        let status = text(&thread.join("status"))?;
        part(status, |status| {
            number(status, "nonvoluntary_ctxt_switches")
        })
    })
}

/// How long all threads of the processes were ready to run and did not, in microseconds. That of threads
/// that have ended is lost.
pub fn waited_us(roots: &Roots, pids: &[u32]) -> Option<u64> {
    let waited_ns = |thread: &Path| {
        let schedstat = text(&thread.join("schedstat"))?;
        part(schedstat, |schedstat| schedstat_field(schedstat, 1))
    };
    Some(sum_over_threads(roots, pids, waited_ns)? / 1000)
}

/// How long a process's main thread has run, in microseconds.
pub fn main_thread_us(roots: &Roots, pid: u32) -> Option<u64> {
    Some(run_ns(&roots.proc.join(format!("{pid}/task/{pid}/schedstat"))).ok()?? / 1000)
}

/// The kernel's own threads for deferred interrupt work, one a CPU; none where they can't be seen.
pub fn ksoftirqd(roots: &Roots) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(&roots.proc) else {
        return Vec::new();
    };
    let mut pids: Vec<u32> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            let file = |name| std::fs::read(roots.proc.join(format!("{pid}/{name}")));
            let named = file("comm").is_ok_and(|comm| comm.starts_with(b"ksoftirqd/"));
            // Any program may take that name, but only the kernel's threads have no command line.
            named && file("cmdline").is_ok_and(|line| line.is_empty())
        })
        .collect();
    pids.sort_unstable();
    pids
}

/// How long these threads of the kernel have run, in microseconds.
pub fn ksoftirqd_us(roots: &Roots, pids: &[u32]) -> Option<u64> {
    let run = |pid| run_ns(&roots.proc.join(format!("{pid}/schedstat")));
    Some(sum(pids, run)? / 1000)
}

/// The first field of a `schedstat`: time on a CPU, in nanoseconds.
fn run_ns(path: &Path) -> Part {
    part(text(path)?, |schedstat| schedstat_field(schedstat, 0))
}

/// Of `run_ns waited_ns slices`.
fn schedstat_field(schedstat: &str, index: usize) -> Option<u64> {
    // Whoever is there has run at least once: all zeros say that the kernel does not count.
    if schedstat.trim() == "0 0 0" {
        return None;
    }
    schedstat.split_whitespace().nth(index)?.parse().ok()
}

/// Sums what the threads of the processes have, each read by its folder.
fn sum_over_threads(roots: &Roots, pids: &[u32], read: impl Fn(&Path) -> Part) -> Option<u64> {
    sum(pids, |pid| {
        let threads = match std::fs::read_dir(roots.proc.join(format!("{pid}/task"))) {
            Ok(threads) => threads,
            Err(error) => return gone(&error).map(|()| None),
        };
        let mut total = None;
        for thread in threads.flatten() {
            total = plus(total, read(&thread.path())?);
        }
        Ok(total)
    })
}

/// Sums what the processes have; `None` where one can't be read, or none has any.
fn sum(pids: &[u32], read: impl Fn(u32) -> Part) -> Option<u64> {
    let mut total = None;
    for pid in pids {
        total = plus(total, read(*pid).ok()?);
    }
    total
}

fn plus(total: Option<u64>, part: Option<u64>) -> Option<u64> {
    match (total, part) {
        (Some(total), Some(part)) => Some(total.saturating_add(part)),
        (total, part) => total.or(part),
    }
}

/// The value in a text that must have one.
fn part(text: Option<String>, value: impl Fn(&str) -> Option<u64>) -> Part {
    match text {
        Some(text) => value(&text).map(Some).ok_or(Unreadable),
        None => Ok(None),
    }
}

/// A file's text; `None` where its process has ended.
fn text(path: &Path) -> Result<Option<String>, Unreadable> {
    match std::fs::read(path) {
        // A process's name may be any bytes.
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) => gone(&error).map(|()| None),
    }
}

fn gone(error: &std::io::Error) -> Result<(), Unreadable> {
    let ended = rustix::io::Errno::SRCH.raw_os_error();
    if error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(ended) {
        Ok(())
    } else {
        Err(Unreadable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sampler::tests::{Tree, v1};

    #[test]
    fn sums_are_over_the_processes_that_are_there() {
        let tree = v1();
        let pids = [42, 43, 99]; // 99 has ended.
        assert_eq!(rss_kib(&tree.roots, &pids), Some(30_000));
        assert_eq!(pss_kib(&tree.roots, &pids), Some(20_000));
        assert_eq!(involuntary_switches(&tree.roots, &pids), Some(18));
        assert_eq!(main_thread_us(&tree.roots, 42), Some(555));
        // Thread 44 of process 42 has ended.
        assert_eq!(waited_us(&tree.roots, &[42, 70, 99]), Some(643_531));
        assert_eq!(ksoftirqd(&tree.roots), [14, 22]);
        assert_eq!(ksoftirqd_us(&tree.roots, &[14, 22]), Some(300));
    }

    #[test]
    fn nothing_known_is_none_and_never_zero() {
        let tree = v1();
        for pids in [&[][..], &[99]] {
            assert_eq!(rss_kib(&tree.roots, pids), None);
            assert_eq!(pss_kib(&tree.roots, pids), None);
            assert_eq!(involuntary_switches(&tree.roots, pids), None);
            assert_eq!(ksoftirqd_us(&tree.roots, pids), None);
        }
        assert_eq!(main_thread_us(&tree.roots, 99), None);
        // A folder in a file's place stands for one that may not be read.
        tree.dir("proc/50/smaps_rollup");
        assert_eq!(pss_kib(&tree.roots, &[42, 50]), None);
        tree.write("proc/43/smaps_rollup", "Pss: many\n");
        assert_eq!(pss_kib(&tree.roots, &[42, 43]), None);
        tree.write("proc/42/task/42/schedstat", "0 0 0\n");
        assert_eq!(main_thread_us(&tree.roots, 42), None);
    }

    #[test]
    fn an_ended_process_that_nobody_waited_for_has_no_memory() {
        let tree = Tree::new();
        tree.write("proc/7/status", "Name:\tsh\nState:\tZ (zombie)\n");
        tree.write("proc/8/status", "Name:\tnode\nVmRSS:\t  100 kB\n");
        assert_eq!(rss_kib(&tree.roots, &[7, 8]), Some(100));
    }

    #[test]
    fn this_process_is_read() {
        let (roots, own) = (Roots::default(), std::process::id());
        assert!(rss_kib(&roots, &[own]).unwrap() > 500);
        assert!(pss_kib(&roots, &[own]).unwrap() > 100);
        assert!(involuntary_switches(&roots, &[own]).is_some());
    }
}
