//! The search tried on targets whose knee is known: with noise, drift, and a fifth of the trials wrong.

use super::tests::rules;
use super::{SustainRules, Told, ladder};

/// Targets of each kind.
const TARGETS: u64 = 2000;

/// SplitMix64 (Steele, Lea & Flood 2014).
struct Dice(u64);

impl Dice {
    /// In (0, 1).
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((z >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }
}

/// How a target's trials stray from its knee.
struct Nature {
    /// The share of trials that say the opposite of what is.
    wrong: f64,
    /// By how much the knee of one trial differs from another's, at most, as a share.
    noise: f64,
    /// How far the machine has come from its first speed after a hundred trials, as a share.
    drift: f64,
    /// The share of trials that are invalid: of a fifth of all cells, each tried again once, a fifth of
    /// that.
    invalid: f64,
}

/// What a search found, and where the knee was on average while it ran.
struct Found {
    interval: (f64, f64),
    knee: f64,
    trials: u32,
}

impl Found {
    /// How far the interval's middle is from the knee, as a share of it.
    fn error(&self) -> f64 {
        let (low, high) = self.interval;
        (low * high).sqrt() / self.knee - 1.0
    }
}

fn wide() -> SustainRules {
    SustainRules {
        rungs: ladder::rungs(1000, 200_000, 1.05),
        ..rules()
    }
}

fn find(rules: &SustainRules, nature: &Nature, dice: &mut Dice) -> Found {
    let start = 5000.0 * 10f64.powf(dice.unit());
    let (mut climb, mut trials, mut knees) = (rules.climb(), 0u32, 0.0);
    while let Some(rung) = climb.next() {
        let now = start * (1.0 + nature.drift * f64::from(trials) / 100.0);
        trials += 1;
        knees += now;
        let knee = now * (1.0 + nature.noise * (2.0 * dice.unit() - 1.0));
        let told = match (rules.rungs[rung] as f64 <= knee) != (dice.unit() < nature.wrong) {
            _ if dice.unit() < nature.invalid => Told::Invalid,
            true => Told::Held,
            false => Told::NotHeld,
        };
        climb.count(rung, told);
        assert!(trials < 1000, "the search does not end");
    }
    let rate = |rung: Option<usize>| rung.map_or(1000.0, |rung| rules.rungs[rung] as f64);
    let (low, high) = climb.interval();
    // Whatever it claims: no rung at or below it has more trials against it than for it.
    for rung in climb.tried().filter(|rung| Some(*rung) <= low) {
        let tally = climb.tally(rung);
        assert!(tally.held > tally.not_held, "{tally:?} at or below {low:?}");
    }
    Found {
        interval: (rate(low), rate(high)),
        knee: knees / f64::from(trials),
        trials,
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    values.sum::<f64>() / TARGETS as f64
}

#[test]
fn the_knee_is_found_within_two_percent_though_a_fifth_of_the_trials_is_wrong() {
    let rules = wide();
    let clear = Nature {
        wrong: 0.0,
        noise: 0.0,
        drift: 0.0,
        invalid: 0.0,
    };
    for (nature, trials) in [
        (Nature { ..clear }, 45.0),
        (
            Nature {
                noise: 0.05,
                ..clear
            },
            55.0,
        ),
        (
            Nature {
                drift: 0.05,
                ..clear
            },
            45.0,
        ),
        (
            Nature {
                invalid: 0.04,
                ..clear
            },
            55.0,
        ),
        (
            Nature {
                wrong: 0.2,
                ..clear
            },
            85.0,
        ),
        (
            Nature {
                wrong: 0.2,
                noise: 0.02,
                drift: 0.02,
                invalid: 0.04,
            },
            100.0,
        ),
    ] {
        let mut dice = Dice(7);
        let found: Vec<Found> = (0..TARGETS)
            .map(|_| find(&rules, &nature, &mut dice))
            .collect();
        let error = mean(found.iter().map(Found::error));
        let took = mean(found.iter().map(|found| f64::from(found.trials)));
        let Nature {
            wrong,
            noise,
            drift,
            invalid,
        } = nature;
        let what = format!("wrong {wrong}, noise {noise}, drift {drift}, invalid {invalid}");
        assert!(error.abs() < 0.02, "{what}: {error:+.4}");
        assert!(took < trials, "{what}: {took:.1} trials");
    }
}
