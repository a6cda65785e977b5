//! Idle CPUs that wake up at once, as long as this process lives.
//!
//! A CPU that sleeps between two requests makes the next one wait for it. On a virtual machine every sleep also leaves
//! the physical CPU to others, and the hypervisor gives it back when it pleases: where this kit was built, a thread that
//! woke up 4,000 times a second had 4 to 23 % of the CPUs' time stolen and was up to 5 ms late at p99, and with CPUs
//! that wait awake 0.1 to 0.8 % and 0.1 to 0.3 ms.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::OnceLock;

use crate::sample::Roots;
use crate::sample::host;

/// On bare metal a shallow sleep is allowed: it ends within a microsecond or two, and spares heat and turbo.
const METAL_EXIT_US: i32 = 10;

/// On a virtual machine no sleep is.
const VIRTUAL_EXIT_US: i32 = 0;

/// Asks the kernel for idle states with short ways out only, on all CPUs, until this process ends, however it ends.
/// Without the permission (root has it) CPUs sleep as before: [`host::Facts`] says what holds.
///
/// The kernel's interface is <https://docs.kernel.org/power/pm_qos_interface.html>: a latency in microseconds, as a
/// native 32-bit integer, is in force as long as the file is open.
pub fn keep() {
    static HELD: OnceLock<Option<File>> = OnceLock::new();
    HELD.get_or_init(|| {
        let roots = Roots::default();
        let exit_us = match host::hypervisor(&roots) {
            Some(true) => VIRTUAL_EXIT_US,
            _ => METAL_EXIT_US,
        };
        let path = roots.dev.join(host::EXIT_LIMIT);
        let mut file = OpenOptions::new().write(true).open(path).ok()?;
        file.write_all(&exit_us.to_ne_bytes()).ok()?;
        Some(file)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_states_are_kept_to_short_ways_out_where_it_is_allowed() {
        let roots = Roots::default();
        let device = OpenOptions::new()
            .write(true)
            .open(roots.dev.join(host::EXIT_LIMIT));
        if let Err(error) = device {
            return eprintln!("skipped: no limit can be set here: {error}");
        }
        keep();
        let limit_us = host::Host::read(&roots).facts.exit_limit_us;
        assert!(
            limit_us.is_some_and(|us| us <= METAL_EXIT_US as u32),
            "{limit_us:?}"
        );
    }
}
