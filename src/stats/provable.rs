//! What a number of pairs can prove at most, stated before a run starts.

use super::claim::{Bounds, CHECK, LEAST_PAIRS};
use super::duel::DuelRules;
use super::student::Student;

/// How far fresh pairs of one server against itself were apart on a machine like those that this kit is
/// run on: the standard deviation of the log-ratio, as METHOD, rule 16, has it.
const SEEN: [(&str, f64); 2] = [("CPU per request", 0.006), ("p50", 0.010)];

/// The smallest ratio over 1 that is claimed with this power, where pairs have this standard deviation.
///
/// An approximation, of the noncentral t by a shifted one (Cohen 1988, 2.5, does the same by tables): the
/// mean must lie beyond t(confidence) standard errors, and beyond the larger of the smallest effect and the
/// expected half-width of the null test; it does with the wanted power where the truth lies another
/// t(power) standard errors further. Simulation agrees within some points of a percent (`simulate`).
pub fn ratio(rules: &DuelRules, sd_log: f64, power: f64) -> Option<f64> {
    let pairs = rules.pairs as usize;
    if pairs < LEAST_PAIRS {
        return None;
    }
    let bounds = Bounds::of(rules.comparisons(), rules.smallest_effect);
    let student = Student::new(f64::from(rules.pairs - 1));
    let error = sd_log / f64::from(rules.pairs).sqrt();
    let interval = student.two_sided(bounds.confidence) * error;
    let null = match rules.null {
        0 => 0.0,
        1 => return None,
        null => {
            let reach = Student::new(f64::from(null - 1)).two_sided(CHECK);
            reach * sd_log / f64::from(null).sqrt()
        }
    };
    let bound = interval.max(null).max(bounds.smallest_effect.ln_1p());
    Some((bound + student.quantile(power) * error).exp())
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

/// Two sentences for whoever is about to start; one where there is nothing to be proven.
pub fn sentences(rules: &DuelRules) -> String {
    let pairs = rules.pairs;
    let comparisons = rules.comparisons();
    let smallest = SEEN.map(|(what, sd)| {
        let [half, most] = [0.5, 0.8].map(|power| ratio(rules, sd, power));
        let percent = |ratio: f64| format!("{:.1} %", 100.0 * (ratio - 1.0));
        Some(format!(
            "{} of {what} (found in half of such sessions) or {} (in four of five)",
            percent(half?),
            percent(most?)
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
        let least = |pairs, sd, power| ratio(&rules(pairs, 12), sd, power).unwrap();
        assert!(least(12, 0.006, 0.5) < least(6, 0.006, 0.5));
        assert!(least(6, 0.006, 0.5) < least(6, 0.006, 0.8));
        assert!(least(6, 0.006, 0.5) < least(6, 0.01, 0.5));
        let mut more = rules(6, 12);
        more.workloads.push("v".into());
        assert!(ratio(&more, 0.006, 0.5).unwrap() > least(6, 0.006, 0.5));
        // Without noise what is left is indifference.
        close("floor", least(6, 0.0, 0.8), 1.005);
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
    }
}
