//! What a number of pairs can prove at most, stated before a run starts.

use std::f64::consts::TAU;

use super::claim::{Bounds, CHECK, LEAST_PAIRS};
use super::duel::DuelRules;
use super::interval::{mean, sd};
use super::student::Student;
use crate::draw::Draw;

/// Sessions that are drawn.
const SESSIONS: usize = 4000;
/// How often a difference is to be found.
const POWERS: [f64; 2] = [0.5, 0.8];

/// How far fresh pairs of one server against itself were apart on a machine like those that this kit is
/// run on: the standard deviation of the log-ratio, as METHOD, rule 16, has it.
const SEEN: [(&str, f64); 2] = [("CPU per request", 0.006), ("p50", 0.010)];

/// The smallest ratios over 1 that are claimed in half of the sessions, and in four of five, where pairs
/// have this standard deviation; none where nothing is claimed so often.
///
/// By simulation, as there is no closed form for a mean that must be beyond its own interval and that of
/// the null test: sessions are drawn with normal log-ratios and no difference, and in each it is seen how
/// large one would have had to be. What suffices in a share of them is that share's quantile.
pub fn ratios(rules: &DuelRules, sd_log: f64) -> Option<[f64; 2]> {
    if (rules.pairs as usize) < LEAST_PAIRS || rules.null == 1 {
        return None;
    }
    let bounds = Bounds::of(rules.comparisons(), rules.smallest_effect);
    let reach = |n: u32, confidence| {
        let student = Student::new(f64::from(n.max(2) - 1));
        student.two_sided(confidence) / f64::from(n).sqrt()
    };
    let [of_pairs, of_null] = [
        reach(rules.pairs, bounds.confidence),
        reach(rules.null, CHECK),
    ];
    let mut draw = Draw::new("what is provable", 1);
    let mut logs = |n: u32| -> Vec<f64> { (0..n).map(|_| sd_log * normal(&mut draw)).collect() };
    let mut needed = Vec::with_capacity(SESSIONS);
    for _ in 0..SESSIONS {
        let pairs = logs(rules.pairs);
        let null = logs(rules.null);
        let interval = of_pairs * sd(&pairs)?;
        let mut bound = interval.max(bounds.smallest_effect.ln_1p());
        if let (Some(null_mean), Some(null_sd)) = (mean(&null), sd(&null)) {
            bound = bound.max(of_null * null_sd);
            if null_mean.abs() > of_null * null_sd {
                bound = f64::INFINITY;
            }
        }
        needed.push(bound - mean(&pairs)?);
    }
    needed.sort_by(f64::total_cmp);
    let ratios = POWERS.map(|power| needed[(power * SESSIONS as f64) as usize].exp());
    ratios
        .iter()
        .all(|ratio| ratio.is_finite())
        .then_some(ratios)
}

/// Of mean 0 and standard deviation 1 (Box & Muller 1958).
fn normal(draw: &mut Draw) -> f64 {
    let mut unit = || (draw.below(1 << 53) as f64 + 0.5) / (1u64 << 53) as f64;
    (-2.0 * unit().ln()).sqrt() * (TAU * unit()).cos()
}

/// The chance that n values of one side all lie beyond n of the other though nothing differs, in either
/// direction: 2 / C(2n, n), as in the rank-sum test (Mann & Whitney 1947).
pub fn separation(n: u32) -> f64 {
    let ways = (1..=n).map(|k| f64::from(n + k) / f64::from(k));
    (2.0 / ways.product::<f64>()).min(1.0)
}

/// The chance that n pairs all lie on the same side of 1: 2 / 2^n, as in the sign test (Arbuthnot 1710).
pub fn same_sign(n: u32) -> f64 {
    (2.0 * 0.5f64.powf(f64::from(n))).min(1.0)
}

/// Some sentences for whoever is about to start.
pub fn sentences(rules: &DuelRules) -> String {
    let interleaved = rules.pairing.interleaved.then(|| of_pairs(rules));
    let series = rules.pairing.series.then(|| {
        let alone = share(separation(rules.series));
        format!(
            "By the published rule chance alone separates {0} series from {0} in {alone} of sessions.",
            rules.series
        )
    });
    let both: Vec<String> = interleaved.into_iter().chain(series).collect();
    both.join(" ")
}

fn of_pairs(rules: &DuelRules) -> String {
    let pairs = rules.pairs;
    let comparisons = rules.comparisons();
    let smallest = SEEN.map(|(what, sd)| {
        let [half, most] =
            ratios(rules, sd)?.map(|ratio| format!("{:.1} %", 100.0 * (ratio - 1.0)));
        Some(format!(
            "{half} of {what} (found in half of such sessions) or {most} (in four of five)"
        ))
    });
    let [Some(cpu), Some(p50)] = smallest else {
        return format!(
            "{pairs} pairs and {} null pairs prove nothing: at least {LEAST_PAIRS} pairs and, where there is \
             a null test, 2 of it are needed.",
            rules.null
        );
    };
    format!(
        "{pairs} pairs and {comparisons} comparisons can prove a difference of {cpu}, and of {p50}, if \
         pairs differ here as they did where the kit was tried. That all {pairs} pairs lie on one side has \
         by chance alone a probability of {}, full separation of {}.",
        share(same_sign(pairs)),
        share(separation(pairs))
    )
}

/// A probability as people read it: two digits, in percent.
pub fn share(probability: f64) -> String {
    let percent = 100.0 * probability;
    let decimals = (1 - percent.log10().floor() as i32).max(0) as usize;
    format!("{percent:.decimals$} %")
}

#[cfg(test)]
mod tests {
    use super::super::duel::Pairing;
    use super::super::scipy::{close, table};
    use super::*;

    fn rules(pairs: u32, null: u32) -> DuelRules {
        DuelRules {
            contenders: vec!["a".into()],
            reference: "b".into(),
            workloads: vec!["w".into()],
            rates: vec![1000],
            metrics: vec!["cpu_us_per_request".into(), "response_p50_us".into()],
            smallest_effect: 0.005,
            pairs,
            null,
            pairing: Pairing {
                interleaved: true,
                series: false,
            },
            ..DuelRules::default()
        }
    }

    #[test]
    fn chances_of_separation_are_scipys() {
        for row in &table().separations {
            close("signs", same_sign(row.n), row.p_signs);
            close("ranks", separation(row.n), row.p_ranks);
        }
        assert_eq!(share(separation(2)), "33 %");
        assert_eq!(share(separation(3)), "10 %");
        assert_eq!(
            [1.0, 0.0321, 0.000_012].map(share),
            ["100 %", "3.2 %", "0.0012 %"]
        );
    }

    #[test]
    fn more_pairs_prove_less_and_noise_and_comparisons_more() {
        let least = |pairs, sd: f64| ratios(&rules(pairs, 12), sd).unwrap();
        let [half, most] = least(6, 0.006);
        assert!(half < most);
        assert!(least(12, 0.006)[0] < half && half < least(6, 0.01)[0]);
        let mut more = rules(6, 12);
        more.workloads.push("v".into());
        assert!(ratios(&more, 0.006).unwrap()[0] > half);
        // Without noise what is left is indifference.
        close("floor", least(6, 0.0)[1], 1.005);
    }

    #[test]
    fn the_sentences_say_what_can_be_proven_or_that_nothing_can() {
        let text = sentences(&rules(12, 12));
        assert!(
            text.starts_with("12 pairs and 2 comparisons can prove"),
            "{text}"
        );
        assert!(
            text.contains("CPU per request") && text.contains("0.049 %"),
            "{text}"
        );
        for (pairs, null) in [(5, 12), (6, 1)] {
            assert!(sentences(&rules(pairs, null)).contains("prove nothing"));
        }
        let mut both = rules(12, 12);
        (both.pairing.series, both.series) = (true, 2);
        let series = "chance alone separates 2 series from 2 in 33 % of sessions.";
        assert!(sentences(&both).ends_with(series) && sentences(&both).starts_with(&text));
        both.pairing.interleaved = false;
        assert!(sentences(&both).starts_with("By the published rule"));
    }
}
