//! The rule of a reproduction: whether a ratio that was claimed in one session holds in another. Only
//! ratios are held against each other; absolutes belong to their machines (METHOD, rule 19).

use std::cmp::Ordering;

use serde::{Serialize, Serializer};

use crate::stats::claim::{SMALLEST_EFFECT, percent};
use crate::stats::provable::{separation, share};

/// Of each side, at least: of fewer repetitions not even a separation says much (METHOD, rule 15).
pub const LEAST_RUNS: u32 = 3;

/// What can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Answer {
    Reproduced,
    NotReproduced,
    NoVerdict,
}

impl Answer {
    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::NotReproduced => "not reproduced",
            Self::NoVerdict => "no verdict",
        }
    }
}

/// Where a positive value lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Range {
    /// At least.
    pub low: f64,
    /// At most; null where no bound is known.
    pub high: Option<f64>,
}

impl Range {
    /// Between these two.
    pub fn new(low: f64, high: f64) -> Self {
        Self {
            low,
            high: Some(high),
        }
    }

    /// Where the quotient of two values lies.
    pub fn over(self, other: Self) -> Self {
        Self {
            low: other.high.map_or(0.0, |high| self.low / high),
            high: self
                .high
                .filter(|_| other.low > 0.0)
                .map(|high| high / other.low),
        }
    }

    /// On which side of 1 all of it lies.
    pub fn side(self) -> Option<Ordering> {
        if self.low > 1.0 {
            Some(Ordering::Greater)
        } else if self.high.is_some_and(|high| high < 1.0) {
            Some(Ordering::Less)
        } else {
            None
        }
    }

    /// Whether the two have nothing in common.
    fn is_apart(self, other: Self) -> bool {
        let ends_before = |one: Self, two: Self| one.high.is_some_and(|high| high < two.low);
        ends_before(self, other) || ends_before(other, self)
    }
}

/// What one session says of one ratio a / b.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Shown {
    /// a / b; null where there is none.
    pub ratio: Option<f64>,
    /// Where it lies, as far as the session can tell; null where that can't be defended.
    pub range: Option<Range>,
    /// Whether it is claimed to be `less` or `greater` than 1; null where nothing is claimed.
    #[serde(serialize_with = "in_words")]
    pub claim: Option<Ordering>,
    /// Why nothing is claimed; empty where something is.
    pub why: String,
}

impl Shown {
    /// Of a session that says nothing.
    pub fn nothing(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            ..Self::default()
        }
    }

    /// Of repetitions in fresh containers: each side's median, and the range of its valid runs.
    ///
    /// From the smallest of a over the largest of b to the reverse. It excludes 1 exactly where the sides
    /// are separated, so that it is the confidence interval that inverts the most extreme rank-sum test
    /// (Mann & Whitney 1947; Moses 1953): for sides whose logarithms differ by a shift, it holds the ratio
    /// with a probability of 1 - 2 / C(2n, n), 90 % for 3 against 3.
    pub fn of_runs(a: Runs, b: Runs) -> Self {
        let positive = [a.low, b.low].iter().all(|low| *low > 0.0);
        let ratio = positive.then(|| a.median / b.median);
        let fewest = a.runs.min(b.runs);
        let why = if !positive {
            "a value of 0 has no ratio".to_owned()
        } else if fewest < LEAST_RUNS {
            format!("{fewest} valid repetitions, and at least {LEAST_RUNS} of each side are needed")
        } else {
            return Self::within(a.median / b.median, a.range().over(b.range()), fewest);
        };
        Self {
            ratio,
            ..Self::nothing(why)
        }
    }

    fn within(ratio: f64, range: Range, runs: u32) -> Self {
        let effect = SMALLEST_EFFECT.ln_1p();
        let side = range.side();
        let claim = side.filter(|_| ratio.ln().abs() > effect);
        let why = match (side, claim) {
            (_, Some(_)) => String::new(),
            (Some(_), None) => format!(
                "it is within {}, the smallest effect of interest",
                percent(effect)
            ),
            (None, None) => {
                let alone = share(separation(runs));
                format!("the repetitions are not separated (by chance alone {alone} would be)")
            }
        };
        Self {
            ratio: Some(ratio),
            range: Some(range),
            claim,
            why,
        }
    }
}

/// One side's repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Runs {
    /// The median.
    pub median: f64,
    /// The smallest.
    pub low: f64,
    /// The largest.
    pub high: f64,
    /// How many.
    pub runs: u32,
}

impl Runs {
    /// From the smallest to the largest.
    pub fn range(self) -> Range {
        Range::new(self.low, self.high)
    }
}

/// Whether what is claimed there holds here, and why.
///
/// A claim of the same direction here reproduces it, however far the sizes are from each other: they may
/// depend on the machine. One of the other direction does not, nor do ranges that have nothing in common.
/// All else is no verdict: that nothing was found here does not say that there is nothing.
pub fn answer(there: &Shown, here: &Shown) -> (Answer, String) {
    let ranges = there.range.zip(here.range);
    let apart = ranges.is_some_and(|(there, here)| there.is_apart(here));
    let because = |answer, why: &str| (answer, why.to_owned());
    match (there.claim, here.claim) {
        (Some(claimed), Some(seen)) if claimed == seen => match apart {
            true => because(
                Answer::Reproduced,
                "the same direction is claimed here; the sizes differ",
            ),
            false => because(Answer::Reproduced, "the same direction is claimed here"),
        },
        (Some(_), Some(_)) => because(
            Answer::NotReproduced,
            "the opposite direction is claimed here",
        ),
        _ if apart => because(
            Answer::NotReproduced,
            "where the ratio lies here has nothing in common with where it lay there",
        ),
        (None, _) => (
            Answer::NoVerdict,
            format!("nothing is claimed there: {}", there.why),
        ),
        (Some(_), None) => (Answer::NoVerdict, here.why.clone()),
    }
}

fn in_words<S: Serializer>(claim: &Option<Ordering>, to: S) -> Result<S::Ok, S::Error> {
    let word = claim.map(|side| match side {
        Ordering::Greater => "greater",
        _ => "less",
    });
    word.serialize(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(values: [f64; 3]) -> Runs {
        let [low, median, high] = values;
        Runs {
            median,
            low,
            high,
            runs: 3,
        }
    }

    /// A ratio with its range, claimed where the range excludes 1.
    fn shown(low: f64, high: f64) -> Shown {
        let range = Range::new(low, high);
        let claim = range.side();
        Shown {
            ratio: Some((low * high).sqrt()),
            range: Some(range),
            claim,
            why: if claim.is_some() { "" } else { "why" }.into(),
        }
    }

    /// A claim whose size nobody vouches for.
    fn bare(claim: Option<Ordering>) -> Shown {
        Shown {
            ratio: Some(2.0),
            claim,
            ..Shown::nothing("why")
        }
    }

    #[test]
    fn every_pair_of_claims_has_one_answer() {
        use Answer::*;
        let (less, greater) = (Some(Ordering::Less), Some(Ordering::Greater));
        for (there, here, expected, why) in [
            (shown(1.2, 1.4), shown(1.3, 1.5), Reproduced, "claimed here"),
            (shown(1.2, 1.4), shown(2.0, 3.0), Reproduced, "sizes differ"),
            (shown(0.5, 0.6), shown(0.7, 0.8), Reproduced, "sizes differ"),
            (shown(1.2, 1.4), shown(0.7, 0.8), NotReproduced, "opposite"),
            (shown(0.7, 0.8), shown(1.2, 1.4), NotReproduced, "opposite"),
            (shown(1.2, 1.4), shown(0.9, 1.1), NotReproduced, "in common"),
            (shown(0.7, 0.8), shown(0.9, 1.1), NotReproduced, "in common"),
            (shown(0.9, 1.1), shown(1.2, 1.4), NotReproduced, "in common"),
            (shown(0.9, 1.0), shown(1.1, 1.4), NotReproduced, "in common"),
            (shown(1.2, 1.4), shown(0.9, 1.3), NoVerdict, "why"),
            (shown(1.2, 1.4), shown(0.9, 1.2), NoVerdict, "why"),
            (shown(0.9, 1.1), shown(1.05, 1.3), NoVerdict, "there: why"),
            (shown(0.9, 1.1), shown(0.9, 1.1), NoVerdict, "there: why"),
            (bare(greater), shown(1.2, 1.4), Reproduced, "claimed here"),
            (bare(less), shown(1.2, 1.4), NotReproduced, "opposite"),
            (bare(greater), shown(0.9, 1.1), NoVerdict, "why"),
            (shown(1.2, 1.4), bare(None), NoVerdict, "why"),
            (bare(None), bare(greater), NoVerdict, "there: why"),
        ] {
            let (found, reason) = answer(&there, &here);
            assert_eq!(found, expected, "{there:?}, {here:?}: {reason}");
            assert!(reason.contains(why), "{why}: {reason}");
        }
    }

    #[test]
    fn what_is_unbounded_excludes_nothing_above() {
        let above = |low| Range { low, high: None };
        assert_eq!(above(1.5).side(), Some(Ordering::Greater));
        assert_eq!(above(0.5).side(), None);
        assert!(above(3.0).is_apart(Range::new(1.0, 2.0)));
        assert!(!above(1.5).is_apart(Range::new(1.0, 2.0)));
        assert!(!above(1.5).is_apart(above(9.0)));
        // From 200 on, over 100 to 200: at least as much. From 0 to 100, over 200 and more: less than half.
        let over = above(200.0).over(Range::new(100.0, 200.0));
        assert_eq!((over.low, over.high), (1.0, None));
        let under = Range::new(0.0, 100.0).over(above(200.0));
        assert_eq!((under.low, under.high), (0.0, Some(0.5)));
        let nowhere = Range::new(1.0, 2.0).over(Range::new(0.0, 1.0));
        assert_eq!((nowhere.low, nowhere.high), (1.0, None));
    }

    #[test]
    fn repetitions_claim_where_they_are_separated_and_matter() {
        let base = runs([100.0, 101.0, 102.0]);
        let few = Runs { runs: 2, ..base };
        let nothing = runs([0.0, 1.0, 2.0]);
        let greater = Some(Ordering::Greater);
        for (a, b, claim, why) in [
            (runs([110.0, 111.0, 112.0]), base, greater, ""),
            (base, runs([110.0, 111.0, 112.0]), Some(Ordering::Less), ""),
            (runs([102.0, 111.0, 112.0]), base, None, "10 % would be"),
            (base, base, None, "not separated"),
            (
                runs([102.1, 102.2, 102.3]),
                runs([101.9, 102.0, 102.05]),
                None,
                "smallest effect",
            ),
            (
                runs([110.0, 111.0, 112.0]),
                few,
                None,
                "2 valid repetitions",
            ),
            (nothing, base, None, "a value of 0"),
        ] {
            let shown = Shown::of_runs(a, b);
            assert_eq!(shown.claim, claim, "{shown:?}");
            assert!(shown.why.contains(why) && shown.why.is_empty() == why.is_empty());
        }
        let shown = Shown::of_runs(runs([110.0, 120.0, 130.0]), base);
        let range = shown.range.unwrap();
        assert_eq!((range.low, range.high), (110.0 / 102.0, Some(1.3)));
        assert_eq!(
            Shown::of_runs(base, few).range,
            None,
            "nobody vouches for it"
        );
    }

    #[test]
    fn the_range_holds_the_ratio_as_often_as_separation_is_rare() {
        let mut draw = crate::draw::Draw::new("ranges of repetitions", 1);
        // Log-values, uniform: the probability is the same for every distribution.
        let mut three = |factor: f64| {
            let mut values = [(); 3]
                .map(|()| factor * (0.1 * draw.below(1 << 40) as f64 / (1u64 << 40) as f64).exp());
            values.sort_by(f64::total_cmp);
            runs(values)
        };
        let (mut held, mut apart, sessions) = (0, 0, 20_000);
        for _ in 0..sessions {
            let mut session = || Shown::of_runs(three(1.3), three(1.0)).range.unwrap();
            let (one, two) = (session(), session());
            held += u32::from(one.low <= 1.3 && Some(1.3) <= one.high);
            apart += u32::from(one.is_apart(two));
        }
        let share = |count: u32| f64::from(count) / f64::from(sessions);
        assert!((share(held) - 0.9).abs() < 0.01, "{}", share(held));
        assert!(share(apart) < 0.03, "{}", share(apart));
    }
}
