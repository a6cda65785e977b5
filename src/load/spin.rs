//! How long to spin for a response: a sleeping CPU takes tens of microseconds to wake, which would be
//! in every response that is as fast as that.

/// Spinning goes on for at most so many times the setting; a response that takes longer than that is
/// slept for, since waking up is then a small part of it.
const MOST: u64 = 4;
/// Each response moves the estimate by one part in so many.
const WEIGHT: i64 = 16;

/// An estimate of the service time, and the spin that it is worth.
#[derive(Clone, Copy, Debug)]
pub struct Spin {
    setting_ns: u64,
    service_ns: u64,
}

impl Spin {
    /// Nothing is known yet: spins for the setting. A setting of 0 never spins.
    pub fn new(setting_ns: u64) -> Self {
        Self {
            setting_ns,
            service_ns: setting_ns / 2,
        }
    }

    /// A response took so long (an exponentially weighted mean, in integers).
    pub fn learn(&mut self, service_ns: u64) {
        // One stall is not to be slept for a thousand requests long.
        let service_ns = service_ns.min(8 * MOST * self.setting_ns) as i64;
        let estimate = self.service_ns as i64;
        self.service_ns = (estimate + (service_ns - estimate) / WEIGHT).max(0) as u64;
    }

    /// Twice the usual service time, within the bound; 0 where that is past it.
    pub fn ns(&self) -> u64 {
        let most = MOST * self.setting_ns;
        if self.service_ns > most {
            0
        } else {
            (2 * self.service_ns).min(most)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_spins_for_fast_responses_and_sleeps_for_slow_ones() {
        let after = |service_ns: u64| {
            let mut spin = Spin::new(60_000);
            (0..1000).for_each(|_| spin.learn(service_ns));
            spin.ns()
        };
        assert_eq!(Spin::new(60_000).ns(), 60_000);
        assert!(
            (160_000..=180_000).contains(&after(90_000)),
            "{}",
            after(90_000)
        );
        assert_eq!(after(200_000), 240_000, "the bound");
        assert_eq!(after(5_000_000), 0);
        let mut never = Spin::new(0);
        never.learn(50_000);
        assert_eq!(never.ns(), 0);
    }

    #[test]
    fn one_stall_is_soon_forgotten() {
        let mut spin = Spin::new(60_000);
        (0..1000).for_each(|_| spin.learn(90_000));
        spin.learn(1_000_000_000);
        (0..40).for_each(|_| spin.learn(90_000));
        assert!(spin.ns() > 0, "{spin:?}");
    }
}
