//! The rates that a search may ask for.

/// More rungs than any search needs.
pub const MOST_RUNGS: usize = 1000;

/// Rates from `from` to `to`, both among them, each `fine` times the one before and rounded; ascending,
/// each once. Multiplied step by step, so that every machine comes to the same.
pub fn rungs(from: u64, to: u64, fine: f64) -> Vec<u64> {
    let mut rungs = Vec::new();
    let mut rate = from as f64;
    while rate.round() < to as f64 && rungs.len() < MOST_RUNGS {
        rungs.push(rate.round() as u64);
        rate *= fine;
    }
    rungs.push(to);
    rungs.dedup();
    rungs
}

/// How many fine steps the coarse one has room for, at least one.
pub fn stride(coarse: f64, fine: f64) -> usize {
    let mut steps = 1;
    let mut rate = fine * fine;
    while rate <= coarse && steps < MOST_RUNGS {
        steps += 1;
        rate *= fine;
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rungs_ascend_from_end_to_end() {
        assert_eq!(rungs(1000, 1200, 1.05), [1000, 1050, 1103, 1158, 1200]);
        assert_eq!(rungs(1, 4, 1.05), [1, 2, 3, 4], "each once");
        assert_eq!(rungs(7, 7, 1.05), [7]);
        let wide = rungs(1000, 200_000, 1.05);
        assert!(wide.windows(2).all(|two| two[0] < two[1]));
        assert_eq!((wide[0], wide[wide.len() - 1]), (1000, 200_000));
        assert_eq!(rungs(1, u64::MAX, 1.000_000_1).len(), 2, "bounded");
    }

    #[test]
    fn a_stride_is_as_many_fine_steps_as_the_coarse_one_holds() {
        for (coarse, fine, steps) in [
            (1.3, 1.05, 5),
            (2.0, 1.05, 14),
            (1.05, 1.05, 1),
            (1.0, 1.05, 1),
        ] {
            assert_eq!(stride(coarse, fine), steps, "{coarse} / {fine}");
        }
    }
}
