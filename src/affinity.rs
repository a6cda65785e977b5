//! Which CPUs this process may run on.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::error::{Error, Result};

/// Keeps the calling thread, and all that it starts from now on, on these CPUs.
pub fn keep_to(cpus: impl IntoIterator<Item = u32>) -> Result<()> {
    let cpus: Vec<u32> = cpus.into_iter().collect();
    let mut set = CpuSet::new();
    for cpu in cpus.iter().filter(|cpu| (**cpu as usize) < CpuSet::MAX_CPU) {
        set.set(*cpu as usize);
    }
    sched_setaffinity(None, &set).map_err(|e| {
        Error::machine(format!("cannot run on CPUs {cpus:?}: {e}"))
            .next("name CPUs that this machine has online")
    })
}

/// Keeps it off these CPUs, where others are left.
pub fn keep_off(cpus: impl IntoIterator<Item = u32>) -> Result<()> {
    let now = sched_getaffinity(None)
        .map_err(|e| Error::unexpected(format!("cannot read the CPU affinity: {e}")))?;
    let off: Vec<u32> = cpus.into_iter().collect();
    let left =
        (0..CpuSet::MAX_CPU as u32).filter(|cpu| now.is_set(*cpu as usize) && !off.contains(cpu));
    let left: Vec<u32> = left.collect();
    if left.is_empty() {
        Ok(())
    } else {
        keep_to(left)
    }
}
