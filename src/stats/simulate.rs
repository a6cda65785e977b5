//! The rule of a verdict, tried on sessions of which the truth is known, under the noise that was seen on
//! a machine like those that this kit is run on.

use std::f64::consts::{LN_2, TAU};
use std::fmt::Write;

use super::claim::{Bounds, decide};
use super::dice::Dice;
use super::duel::DuelRules;
use super::interval::Interval;
use super::provable;

/// Windows of a pair's load.
const WINDOWS: usize = 10;
/// Pairs of the null test.
const NULL: usize = 12;
/// The share of containers that lie far from the others, and how many times as far.
const OUTLIERS: f64 = 0.05;
const OUTLIER: f64 = 3.0;
/// Standard deviations of the pairs' log-ratio.
const SDS: [f64; 5] = [0.005, 0.01, 0.02, 0.05, 0.1];

impl Dice {
    /// Of mean 0 and standard deviation 1 (Box & Muller 1958).
    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (TAU * self.unit()).cos()
    }

    /// The machine's slowness in each window of a pair, alike for whoever runs in it: it swings twofold
    /// within seconds, and drifts.
    fn machine(&mut self) -> [f64; WINDOWS] {
        let drift = self.normal() * 0.05;
        let mut fast = self.unit() < 0.5;
        std::array::from_fn(|window| {
            // Whether it swings within a window of two seconds, with swings a second long.
            fast ^= self.unit() < 0.43;
            let swing = if fast { 0.0 } else { LN_2 };
            (swing + drift * window as f64).exp()
        })
    }

    /// The log-ratio of two equal sides on one metric: containers of their own, one in twenty of them an
    /// outlier; warm-up at the same pace; and what one slice meets and the next one does not. `sd` is
    /// that of the ratio over pairs.
    fn log_ratio(&mut self, machine: &[f64; WINDOWS], sd: f64) -> f64 {
        let mut side = || {
            let far = if self.unit() < OUTLIERS { OUTLIER } else { 1.0 };
            let variance = 1.0 + OUTLIERS * (OUTLIER * OUTLIER - 1.0);
            let container = self.normal() * far * sd / (2.0 * variance).sqrt();
            let windows = machine.iter().enumerate().map(|(window, slowness)| {
                let warming = 1.0 + 0.3 * (-(window as f64) / 2.0).exp();
                slowness * warming * (1.0 + 0.2 * sd * (2.0 * self.unit() - 1.0))
            });
            container + windows.sum::<f64>().ln()
        };
        side() - side()
    }

    fn pairs(&mut self, count: usize, sd: f64) -> Vec<f64> {
        let pair = |_| {
            let machine = self.machine();
            self.log_ratio(&machine, sd)
        };
        (0..count).map(pair).collect()
    }
}

#[test]
fn equal_sides_get_a_verdict_in_at_most_one_session_of_twenty() {
    const SESSIONS: usize = 10_000;
    let mut dice = Dice(6);
    let alone = Bounds::of(1, 0.005);
    let together = Bounds::of(SDS.len(), 0.005);
    let mut of_sessions = 0;
    let (mut claimed, mut covered, mut claimed_by_normal) = ([0; 5], [0; 5], [0; 5]);
    for _ in 0..SESSIONS {
        // Every metric of a session meets the same machine.
        let machines: Vec<_> = (0..6 + NULL).map(|_| dice.machine()).collect();
        let mut any = false;
        for (metric, sd) in SDS.into_iter().enumerate() {
            let logs = machines.iter().map(|machine| dice.log_ratio(machine, sd));
            let logs: Vec<f64> = logs.collect();
            let (pairs, null) = logs.split_at(6);
            any |= decide(pairs, Some(null), &together).is_ok();
            claimed[metric] += usize::from(decide(pairs, Some(null), &alone).is_ok());
            let interval = Interval::of(pairs, 0.95).unwrap();
            covered[metric] += usize::from(!interval.excludes_zero());
            let by_normal = interval.half_width / 2.5706 * 1.96;
            claimed_by_normal[metric] += usize::from(interval.mean.abs() > by_normal);
        }
        of_sessions += usize::from(any);
    }
    let share = |count: usize| count as f64 / SESSIONS as f64;
    assert!(share(of_sessions) <= 0.05, "{of_sessions} sessions");
    for metric in 0..SDS.len() {
        assert!(share(claimed[metric]) <= 0.05, "{claimed:?}");
        assert!(share(covered[metric]) >= 0.93, "{covered:?}");
        // That the noise can bring a verdict about where a rule is too bold.
        assert!(
            share(claimed_by_normal[metric]) > 0.05,
            "{claimed_by_normal:?}"
        );
    }
}

#[test]
fn the_documented_power_is_what_the_rule_has() {
    const SESSIONS: usize = 2000;
    const DIFFERENCES: [f64; 5] = [0.01, 0.02, 0.05, 0.1, 0.2];
    let bounds = Bounds::of(4, 0.005);
    let mut dice = Dice(15);
    let mut table = String::new();
    for sd in SDS {
        for pairs in [6, 12, 24] {
            let mut found = [0; 5];
            for _ in 0..SESSIONS {
                let logs = dice.pairs(pairs, sd);
                let null = dice.pairs(NULL, sd);
                for (found, difference) in found.iter_mut().zip(DIFFERENCES) {
                    let logs: Vec<f64> = logs.iter().map(|log| log + difference.ln_1p()).collect();
                    *found += usize::from(decide(&logs, Some(&null), &bounds).is_ok());
                }
            }
            let percent = found.map(|found| (found as f64 / SESSIONS as f64 * 100.0).round());
            let cells = percent.map(|percent| percent.to_string()).join(" | ");
            writeln!(table, "| {} % | {pairs} | {cells} |", sd * 100.0).unwrap();
        }
    }
    let readme = include_str!("README.md");
    let documented = readme
        .lines()
        .skip_while(|line| !line.starts_with("| --- | ---:"));
    let documented = documented.skip(1).take_while(|line| line.starts_with('|'));
    let numbers = |line: &str| {
        let words = line.split(['|', '%', ' ']);
        words
            .filter_map(|word| word.parse().ok())
            .collect::<Vec<f64>>()
    };
    let documented: Vec<_> = documented.map(numbers).collect();
    let computed: Vec<_> = table.lines().map(numbers).collect();
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1.0;
    let alike = documented.len() == computed.len()
        && documented
            .iter()
            .zip(&computed)
            .all(|(a, b)| a.iter().zip(b).all(close));
    assert!(alike, "README.md has another table than\n{table}");
}

#[test]
fn what_is_said_to_be_provable_is_found_as_often_as_said() {
    const SESSIONS: usize = 2000;
    let mut dice = Dice(7);
    for (pairs, null, sd) in [
        (6, 12, 0.006),
        (12, 12, 0.01),
        (24, 12, 0.05),
        (12, 4, 0.006),
    ] {
        let rules = DuelRules {
            contenders: vec!["a".into()],
            workloads: vec!["w".into()],
            rates: vec![1000],
            metrics: vec!["cpu_us_per_request".into()],
            smallest_effect: 0.005,
            pairs,
            null,
            ..DuelRules::default()
        };
        let bounds = Bounds::of(rules.comparisons(), rules.smallest_effect);
        let ratios = provable::ratios(&rules, sd).unwrap();
        for (power, ratio) in [0.5, 0.8].into_iter().zip(ratios) {
            let truth = ratio.ln();
            let mut logs = |count: u32, mean: f64| -> Vec<f64> {
                (0..count).map(|_| mean + sd * dice.normal()).collect()
            };
            let mut found = || decide(&logs(pairs, truth), Some(&logs(null, 0.0)), &bounds).is_ok();
            let found = (0..SESSIONS).filter(|_| found()).count() as f64 / SESSIONS as f64;
            assert!(
                (found - power).abs() < 0.04,
                "{pairs} pairs, SD {sd}: {found} for {power}"
            );
        }
    }
}
