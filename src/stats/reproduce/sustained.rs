//! Ratios of sustained rates. Each rate is an interval, from the highest rung that was held to the lowest
//! that was not, and so is the ratio of two.

use std::cmp::Ordering;

use super::holds::{Range, Shown};
use super::{Claim, Load, Rule, texts};
use crate::record::schema::{Summary, Sustained};

/// The figure's name.
pub const FIGURE: &str = "sustained_rps";

impl Sustained {
    fn who(&self) -> String {
        match self.label.as_str() {
            "" => self.adapter.clone(),
            label => format!("{}@{label}", self.adapter),
        }
    }

    fn range(&self) -> Range {
        // Where it was not the target that gave way, nobody knows how much more it holds.
        let by_itself = self.complete && !self.at_least;
        Range {
            low: self.rate_rps.unwrap_or(0) as f64,
            high: self
                .not_held_rps
                .filter(|_| by_itself)
                .map(|rate| rate as f64),
        }
    }
}

/// Everybody's rate over the reference's.
pub(super) fn claims(there: &Summary) -> Vec<Claim> {
    let all = &there.sustained;
    let mut claims = Vec::new();
    for one in all {
        let Some(reference) = reference(all, &one.workload, there) else {
            continue;
        };
        if one.who() == reference.who() {
            continue;
        }
        claims.push(Claim {
            a: one.who(),
            b: reference.who(),
            workload: one.workload.clone(),
            load: Load::Any,
            connections: None,
            figure: FIGURE.to_owned(),
            rule: Rule::Sustained,
            there: shown(one.range(), reference.range()),
            barred: String::new(),
        });
    }
    claims
}

fn reference<'a>(all: &'a [Sustained], workload: &str, there: &Summary) -> Option<&'a Sustained> {
    let order = texts(there, "adapters").into_iter();
    let of = |who: String| {
        let is = |one: &&Sustained| one.who() == who && one.workload == workload;
        all.iter().find(is)
    };
    order.into_iter().find_map(of)
}

/// The same ratio in another session.
pub(super) fn here(claim: &Claim, summary: &Summary) -> Option<Result<Shown, String>> {
    let all = &summary.sustained;
    let of = |who: &String| {
        let is = |one: &&Sustained| one.who() == *who && one.workload == claim.workload;
        all.iter().find(is).map(Sustained::range)
    };
    Some(Ok(shown(of(&claim.a)?, of(&claim.b)?)))
}

/// The ratio of two intervals; its figure is that of the rates that were held. A rate is below the rung
/// that was not held, so that neither end belongs to the ratio.
pub fn shown(a: Range, b: Range) -> Shown {
    let range = a.over(b);
    let claim = if range.low >= 1.0 {
        Some(Ordering::Greater)
    } else if range.high.is_some_and(|high| high <= 1.0) {
        Some(Ordering::Less)
    } else {
        None
    };
    let why = match claim {
        Some(_) => "",
        None => "the intervals of the two rates have values in common",
    };
    Shown {
        ratio: (b.low > 0.0).then(|| a.low / b.low),
        range: Some(range),
        claim,
        why: why.to_owned(),
    }
}
