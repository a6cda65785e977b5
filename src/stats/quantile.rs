//! Quantiles as METHOD defines them: exact ranks in a histogram, or a reason why there is no number.

use hdrhistogram::Histogram;

use crate::record::schema::Latency;

/// The published quantiles: name, and q in thousandths, so that ranks are integer arithmetic.
pub const QUANTILES: [(&str, u64); 4] = [("p50", 500), ("p90", 900), ("p99", 990), ("p999", 999)];

/// Past the last completed slot: the value is not known, only that it is worse than all that are.
pub const CENSORED: &str = "censored";

/// What a quantile's rank is taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// All scheduled slots: those without a right answer rank above every value (response).
    Scheduled(u64),
    /// The recorded values themselves (service, lag and its causes).
    Recorded,
}

/// The fewest samples with which a quantile may be published: 10 / (1 - q).
pub fn needed(per_mille: u64) -> u64 {
    10_000u64.div_ceil(1000 - per_mille.min(999))
}

/// ceil(q x total), by integers: 0.99 x 100 is 99, where floating point says 99.00000000000001.
pub fn rank(per_mille: u64, total: u64) -> u64 {
    let rank = (u128::from(per_mille) * u128::from(total)).div_ceil(1000);
    u64::try_from(rank).unwrap_or(u64::MAX)
}

/// The highest value equivalent to the one at a rank (from 1); none past the last value.
pub fn value_at_rank(hist: &Histogram<u64>, rank: u64) -> Option<u64> {
    let mut below = 0u64;
    for bucket in hist.iter_recorded() {
        below = below.saturating_add(bucket.count_at_value());
        if below >= rank {
            return Some(hist.highest_equivalent(bucket.value_iterated_to()));
        }
    }
    None
}

/// The value in nanoseconds at a quantile, or why there is none.
pub fn quantile(hist: &Histogram<u64>, per_mille: u64, over: Over) -> Result<u64, String> {
    let (total, what) = match over {
        Over::Scheduled(slots) => (slots, "scheduled slots"),
        Over::Recorded => (hist.len(), "values"),
    };
    let needed = needed(per_mille);
    if total < needed {
        return Err(format!("needs {needed} {what}, has {total}"));
    }
    value_at_rank(hist, rank(per_mille, total)).ok_or_else(|| CENSORED.to_owned())
}

/// The sum of all values in nanoseconds, each taken as its bucket's middle: exact, so that everyone
/// who adds them up finds the same.
pub fn sum_ns(hist: &Histogram<u64>) -> u128 {
    hist.iter_recorded()
        .map(|bucket| {
            let middle = hist.median_equivalent(bucket.value_iterated_to());
            u128::from(middle) * u128::from(bucket.count_at_value())
        })
        .fold(0, u128::saturating_add)
}

/// Nanoseconds in microseconds.
pub fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

/// A clock's figures in microseconds, and the reason for each that is null.
pub fn latency(hist: &Histogram<u64>, over: Over) -> (Latency, Vec<(&'static str, String)>) {
    let mut nulls = Vec::new();
    let mut known =
        |name, value: Result<f64, String>| value.map_err(|reason| nulls.push((name, reason))).ok();
    let count = hist.len();
    let any = |value: f64| {
        if count > 0 {
            Ok(value)
        } else {
            Err("nothing was recorded".to_owned())
        }
    };
    // A missing slot may have been the longest: mean and maximum of the rest would flatter.
    let whole = |value: f64| match over {
        Over::Scheduled(slots) if count > 0 && slots > count => Err(CENSORED.to_owned()),
        _ => any(value),
    };
    let min = known("min", any(us(hist.min())));
    let mean = known(
        "mean",
        whole(sum_ns(hist) as f64 / count.max(1) as f64 / 1000.0),
    );
    let [p50, p90, p99, p999] =
        QUANTILES.map(|(name, per_mille)| known(name, quantile(hist, per_mille, over).map(us)));
    let max = known("max", whole(us(hist.max())));
    let latency = Latency {
        count,
        min,
        mean,
        p50,
        p90,
        p99,
        p999,
        max,
    };
    (latency, nulls)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::hlog::new_histogram;

    /// A histogram of 1 us, 2 us … n us.
    fn ramp(n: u64) -> Histogram<u64> {
        let mut hist = new_histogram();
        (1..=n).for_each(|us| hist.record(us * 1000).unwrap());
        hist
    }

    #[test]
    fn the_sample_rule_and_the_ranks_are_exact_integers() {
        assert_eq!(QUANTILES.map(|(_, q)| needed(q)), [20, 100, 1000, 10_000]);
        for (per_mille, total, expected) in [
            (500, 20, 10),
            (500, 21, 11),
            (900, 100, 90),
            (990, 100, 99),
            (990, 1000, 990),
            (990, 1001, 991),
            (999, 10_000, 9990),
            (999, u64::MAX, 18_428_297_329_635_842_064),
        ] {
            assert_eq!(rank(per_mille, total), expected, "{per_mille} of {total}");
        }
    }

    #[test]
    fn a_rank_finds_the_same_value_as_a_sorted_list() {
        // Property: against the plain definition, on values with ties and gaps, at every rank.
        let mut values: Vec<u64> = (0..500u64).map(|i| i * i * 7919 % 900_001 + 1).collect();
        let mut hist = new_histogram();
        values.iter().for_each(|v| hist.record(*v).unwrap());
        values.sort_unstable();
        for (index, value) in values.iter().enumerate() {
            let at = value_at_rank(&hist, index as u64 + 1);
            assert_eq!(at, Some(hist.highest_equivalent(*value)));
        }
        assert_eq!(value_at_rank(&hist, 501), None);
    }

    #[test]
    fn what_cannot_be_known_is_null_with_its_reason() {
        let (few, nulls) = latency(&ramp(999), Over::Scheduled(999));
        assert!(few.p90.is_some() && few.p99.is_none());
        assert!(nulls.contains(&("p99", "needs 1000 scheduled slots, has 999".into())));

        // 5 % never answered: p90 is known, p99 is not, and neither are mean and maximum.
        let (cut, nulls) = latency(&ramp(950), Over::Scheduled(1000));
        assert_eq!(cut.p90, Some(900.095));
        assert_eq!((cut.p99, cut.mean, cut.max), (None, None, None));
        for name in ["p99", "mean", "max"] {
            assert!(nulls.contains(&(name, CENSORED.into())), "{name}");
        }

        let (none, nulls) = latency(&ramp(0), Over::Recorded);
        assert_eq!((none.count, none.min, none.max), (0, None, None));
        assert_eq!(nulls.len(), 7);
    }

    #[test]
    fn giving_up_on_the_slow_ones_never_improves_a_figure() {
        let honest = latency(&ramp(2000), Over::Scheduled(2000)).0;
        let cheat = latency(&ramp(1900), Over::Scheduled(2000)).0;
        let figures = |l: &Latency| [l.min, l.mean, l.p50, l.p90, l.p99, l.p999, l.max];
        for (honest, cheat) in figures(&honest).iter().zip(figures(&cheat)) {
            assert!(
                cheat.is_none() || cheat >= *honest,
                "{cheat:?} < {honest:?}"
            );
        }
    }
}
