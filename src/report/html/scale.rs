//! From a figure to its place in a chart.

/// An axis: the figures that it spans, and where they lie.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    log: bool,
    domain: (f64, f64),
    range: (f64, f64),
}

impl Scale {
    /// From 0 to a little more than the largest of them.
    pub fn from_zero(values: impl Iterator<Item = f64>, range: (f64, f64)) -> Self {
        let most = values.fold(0.0, f64::max);
        let most = if most > 0.0 { most * 1.04 } else { 1.0 };
        Self {
            log: false,
            domain: (0.0, most),
            range,
        }
    }

    /// From end to end.
    pub fn linear(domain: (f64, f64), range: (f64, f64)) -> Self {
        let (low, high) = domain;
        let domain = (low, if high > low { high } else { low + 1.0 });
        Self {
            log: false,
            domain,
            range,
        }
    }

    /// Logarithmic, a little beyond the least and the most of what is above 0.
    pub fn log(values: impl Iterator<Item = f64>, range: (f64, f64)) -> Self {
        let positive = values.filter(|value| *value > 0.0 && value.is_finite());
        let (low, high) = positive.fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let (low, high) = if high > 0.0 { (low, high) } else { (0.9, 1.1) };
        let margin = (high / low).powf(0.06).max(1.002);
        Self {
            log: true,
            domain: (low / margin, high * margin),
            range,
        }
    }

    /// Where a figure lies; what is outside lies at the edge.
    pub fn at(&self, value: f64) -> f64 {
        let f = |value: f64| {
            if self.log {
                value.max(1e-300).ln()
            } else {
                value
            }
        };
        let (low, high) = (f(self.domain.0), f(self.domain.1));
        let share = ((f(value) - low) / (high - low)).clamp(0.0, 1.0);
        self.range.0 + share * (self.range.1 - self.range.0)
    }

    /// Round figures on the axis, 2 to about 8 of them.
    pub fn ticks(&self) -> Vec<f64> {
        let (low, high) = self.domain;
        if !self.log || high / low < 8.0 {
            return even(low, high);
        }
        let decades = (high / low).log10();
        let within: &[f64] = match decades {
            ..2.0 => &[1.0, 2.0, 5.0],
            ..4.0 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let first = low.log10().floor() as i32;
        let last = high.log10().ceil() as i32;
        let all = (first..=last).flat_map(|e| within.iter().map(move |w| w * 10f64.powi(e)));
        all.filter(|tick| (low..=high).contains(tick)).collect()
    }
}

/// Multiples of 1, 2 or 5 times a power of ten.
fn even(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power);
    let step = step
        .into_iter()
        .find(|step| *step >= rough)
        .unwrap_or(rough);
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last).take(12).map(|i| i as f64 * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_lie_where_they_should() {
        let scale = Scale::linear((0.0, 10.0), (100.0, 0.0));
        assert_eq!(
            [0.0, 5.0, 10.0, 99.0].map(|v| scale.at(v)),
            [100.0, 50.0, 0.0, 0.0]
        );
        let scale = Scale::log([100.0, 10_000.0].into_iter(), (0.0, 100.0));
        assert!((scale.at(1000.0) - 50.0).abs() < 1e-9);
        assert_eq!(scale.at(0.0), 0.0);
    }

    #[test]
    fn ticks_are_few_and_round_whatever_is_drawn() {
        let log = |values: &[f64]| Scale::log(values.iter().copied(), (0.0, 1.0));
        assert_eq!(log(&[80.0, 900.0]).ticks(), [100.0, 200.0, 500.0, 1000.0]);
        assert_eq!(log(&[0.98, 1.02]).ticks().len(), 5);
        for scale in [
            log(&[]),
            log(&[1.0]),
            log(&[1e-6, 1e9]),
            log(&[f64::NAN, f64::INFINITY, -1.0]),
            Scale::from_zero([0.0].into_iter(), (0.0, 1.0)),
            Scale::from_zero([7e12].into_iter(), (0.0, 1.0)),
            Scale::linear((3.0, 3.0), (0.0, 1.0)),
        ] {
            let ticks = scale.ticks();
            assert!((1..=20).contains(&ticks.len()), "{scale:?}: {ticks:?}");
            assert!(ticks.iter().all(|tick| scale.at(*tick).is_finite()));
        }
    }
}
