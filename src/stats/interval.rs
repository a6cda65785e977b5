//! What a few numbers say of what they are drawn from: mean, spread, an interval, a slope.

use super::groups;
use super::student::Student;

/// The two-sided interval of a mean, by Student's t: exact where the values are normal, and short of
/// its confidence by little where they are not, as long as they are independent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its middle.
    pub mean: f64,
    /// To either side.
    pub half_width: f64,
}

impl Interval {
    /// Of this confidence, as in 0.99; none of fewer than 2 values.
    pub fn of(values: &[f64], confidence: f64) -> Option<Self> {
        let n = values.len() as f64;
        let standard_error = sd(values)? / n.sqrt();
        Some(Self {
            mean: mean(values)?,
            half_width: Student::new(n - 1.0).two_sided(confidence) * standard_error,
        })
    }

    /// Its lower end.
    pub fn low(&self) -> f64 {
        self.mean - self.half_width
    }

    /// Its upper end.
    pub fn high(&self) -> f64 {
        self.mean + self.half_width
    }

    /// Whether 0 lies outside.
    pub fn excludes_zero(&self) -> bool {
        self.mean.abs() > self.half_width
    }
}

/// The arithmetic mean; none of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The standard deviation of a sample (over n - 1); none of fewer than 2 values.
pub fn sd(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// Whether every value of one side lies beyond every value of the other; none where a side has none.
/// Of n against n it comes by chance alone with the probability that [`super::provable`] says.
pub fn separated(a: &[f64], b: &[f64]) -> Option<bool> {
    let (a, b) = (groups::spread(a.to_vec())?, groups::spread(b.to_vec())?);
    Some(a.max < b.min || b.max < a.min)
}

/// (max - min) / median (METHOD, rule 14); none of nothing, or about a median of 0.
pub fn dispersion(values: &[f64]) -> Option<f64> {
    let spread = groups::spread(values.to_vec())?;
    (spread.median > 0.0).then(|| (spread.max - spread.min) / spread.median)
}

/// The least-squares slope over places 0, 1, 2 …; none of fewer than 2 values.
pub fn slope(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let middle = (values.len() - 1) as f64 / 2.0;
    let (mut products, mut squares) = (0.0, 0.0);
    for (place, value) in values.iter().enumerate() {
        let from_middle = place as f64 - middle;
        products += from_middle * (value - mean);
        squares += from_middle * from_middle;
    }
    Some(products / squares)
}

#[cfg(test)]
mod tests {
    use super::super::scipy::{close, table};
    use super::*;

    #[test]
    fn means_deviations_and_intervals_are_scipys() {
        for row in &table().intervals {
            let interval = Interval::of(&row.values, row.confidence).unwrap();
            close("mean", interval.mean, row.mean);
            close("sd", sd(&row.values).unwrap(), row.sd);
            close("low", interval.low(), row.low);
            close("high", interval.high(), row.high);
            let outside = row.low > 0.0 || row.high < 0.0;
            assert_eq!(interval.excludes_zero(), outside);
        }
        for row in &table().slopes {
            close("slope", slope(&row.values).unwrap(), row.slope);
        }
    }

    #[test]
    fn too_few_values_say_nothing() {
        assert_eq!(mean(&[]), None);
        assert_eq!((mean(&[3.0]), sd(&[3.0])), (Some(3.0), None));
        assert_eq!((slope(&[3.0]), Interval::of(&[3.0], 0.95)), (None, None));
        assert_eq!((dispersion(&[]), dispersion(&[0.0, 0.0])), (None, None));
        let same = Interval::of(&[0.5, 0.5], 0.99).unwrap();
        assert_eq!((same.mean, same.half_width), (0.5, 0.0));
        let zeros = Interval::of(&[0.0, 0.0], 0.99).unwrap();
        assert!(same.excludes_zero() && !zeros.excludes_zero());
    }

    #[test]
    fn separation_and_dispersion() {
        for (a, b, expected) in [
            (vec![], vec![1.0], None),
            (vec![1.0, 2.0], vec![3.0, 4.0], Some(true)),
            (vec![3.0, 4.0], vec![1.0, 2.0], Some(true)),
            (vec![1.0, 3.0], vec![2.0, 4.0], Some(false)),
            (vec![1.0, 2.0], vec![2.0, 3.0], Some(false)),
            (vec![1.0, 9.0], vec![2.0, 3.0], Some(false)),
        ] {
            assert_eq!(separated(&a, &b), expected, "{a:?} {b:?}");
        }
        assert_eq!(dispersion(&[100.0, 97.0, 101.0]), Some(0.04));
    }
}
