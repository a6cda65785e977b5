//! The rule of a verdict (METHOD, rules 5 and 15): a t interval of the pairs' log-ratios, claimed where it
//! excludes 1 and the ratio is further from 1 than anybody's indifference and than order alone moves it.

use std::cmp::Ordering;

use super::interval::Interval;

/// Fewer pairs have no verdict, whatever they show.
pub const LEAST_PAIRS: usize = 6;
/// The null test's own confidence, and that of a pair's checks.
pub const CHECK: f64 = 0.99;
/// How often one of a plan's verdicts may be false.
pub const FALSE: f64 = 0.05;
/// Differences below this share are of no interest, where a plan does not say (METHOD, rule 15).
pub const SMALLEST_EFFECT: f64 = 0.005;

/// What the rule is held to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Of the interval, corrected for all comparisons (Bonferroni).
    pub confidence: f64,
    /// As a share: 0.005 is half a percent.
    pub smallest_effect: f64,
}

impl Bounds {
    /// For a plan of so many comparisons.
    pub fn of(comparisons: usize, smallest_effect: f64) -> Self {
        Self {
            confidence: 1.0 - FALSE / comparisons.max(1) as f64,
            smallest_effect,
        }
    }
}

/// Whether the ratio is surely less or surely greater than 1, or why it is not sure. Both lists are of
/// log-ratios, one a pair; `null` is none where the plan asked for no null test.
pub fn decide(pairs: &[f64], null: Option<&[f64]>, bounds: &Bounds) -> Result<Ordering, String> {
    let Some(interval) =
        Interval::of(pairs, bounds.confidence).filter(|_| pairs.len() >= LEAST_PAIRS)
    else {
        let n = pairs.len();
        return Err(format!(
            "{n} valid pairs, and at least {LEAST_PAIRS} are needed"
        ));
    };
    let order_alone = null.map_or(Ok(0.0), order_alone)?;
    if !interval.excludes_zero() {
        return Err("the interval includes 1".to_owned());
    }
    let effect = bounds.smallest_effect.ln_1p();
    if interval.mean.abs() <= effect {
        let effect = percent(effect);
        return Err(format!(
            "it is within {effect}, the smallest effect of interest"
        ));
    }
    if interval.mean.abs() <= order_alone {
        let order_alone = percent(order_alone);
        return Err(format!(
            "it is within {order_alone}, which the null test can't tell from nothing"
        ));
    }
    Ok(interval.mean.total_cmp(&0.0))
}

/// How far from 1, as a logarithm, the null test can't see: half of its interval's width.
fn order_alone(null: &[f64]) -> Result<f64, String> {
    let Some(interval) = Interval::of(null, CHECK) else {
        let n = null.len();
        return Err(format!(
            "{n} valid null pairs, and at least 2 are needed to tell what order does"
        ));
    };
    if interval.excludes_zero() {
        return Err(format!(
            "order alone ranks here: the reference against itself gives {} to {}",
            factor(interval.low()),
            factor(interval.high())
        ));
    }
    Ok(interval.half_width)
}

/// A logarithm as people read a factor: `1.0234`.
pub fn factor(log: f64) -> String {
    format!("{:.4}", log.exp())
}

/// A logarithm above 0 as people read a difference: `2.34 %`.
pub fn percent(log: f64) -> String {
    format!("{:.2} %", 100.0 * log.exp_m1())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many values with this mean and standard deviation: they lie alike on both sides.
    fn values(n: usize, mean: f64, sd: f64) -> Vec<f64> {
        let raw: Vec<f64> = (0..n).map(|i| i as f64 - (n - 1) as f64 / 2.0).collect();
        let spread = super::super::interval::sd(&raw).unwrap();
        raw.iter().map(|value| mean + value / spread * sd).collect()
    }

    #[test]
    fn each_part_of_the_rule_bites_alone() {
        let bounds = Bounds::of(4, 0.005);
        assert_eq!(bounds.confidence, 0.9875);
        let quiet = values(12, 0.0001, 0.001);
        let few = values(5, 0.5, 0.001);
        type Row = (&'static str, Vec<f64>, Option<Vec<f64>>);
        let table: [Row; 11] = [
            ("", values(6, 0.02, 0.005), Some(quiet.clone())),
            ("", values(6, -0.02, 0.005), Some(quiet.clone())),
            ("", values(6, 0.02, 0.005), None),
            ("5 valid pairs", few, Some(quiet.clone())),
            ("0 valid pairs", vec![], Some(quiet.clone())),
            ("0 valid null pairs", values(6, 0.02, 0.005), Some(vec![])),
            (
                "1 valid null pairs",
                values(6, 0.02, 0.005),
                Some(vec![0.0]),
            ),
            (
                "order alone ranks here",
                values(6, 0.02, 0.005),
                Some(values(12, 0.002, 0.001)),
            ),
            (
                "the interval includes 1",
                values(6, 0.02, 0.03),
                Some(quiet.clone()),
            ),
            (
                "within 0.50 %, the smallest",
                values(24, 0.0049, 0.001),
                Some(quiet),
            ),
            (
                "which the null test",
                values(24, 0.01, 0.002),
                Some(values(4, 0.0, 0.02)),
            ),
        ];
        for (why, pairs, null) in table {
            let decided = decide(&pairs, null.as_deref(), &bounds);
            match decided {
                Ok(order) => {
                    assert_eq!(why, "");
                    assert_eq!(order == Ordering::Greater, pairs[0] > 0.0);
                }
                Err(reason) => assert!(!why.is_empty() && reason.contains(why), "{reason}, {why}"),
            }
        }
    }
}
