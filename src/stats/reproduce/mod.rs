//! What one session claims, answered by another: every verdict of a duel, every ratio of a matrix, every
//! ratio of sustained rates, and every ratio of a published table. The rule is in [`holds`]; here is what
//! is held against what, and why something can't be.

use std::collections::BTreeSet;

use serde::Serialize;

use super::duel;
use super::metric::metric;
use crate::record::schema::{Group, Summary, Verdict};

pub mod holds;
mod ratios;
pub mod sustained;

use holds::{Answer, Shown, answer};

/// How a ratio is shown in a session, and so where it is looked for in the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// A verdict over interleaved pairs.
    Interval,
    /// A verdict over alternated series, by the rule of the published experiments.
    Published,
    /// Medians over repetitions, with their ranges.
    Ranges,
    /// Sustained rates, each an interval.
    Sustained,
}

impl Rule {
    /// As a verdict names it.
    fn name(self) -> &'static str {
        match self {
            Self::Interval => "interval",
            Self::Published => "published",
            Self::Ranges => "ranges",
            Self::Sustained => "sustained",
        }
    }
}

/// The load that a figure is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Whichever was measured first: the figure does not depend on it.
    Any,
    /// An open loop, at so many requests a second.
    At(u64),
    /// A closed one.
    Closed,
}

impl Load {
    /// Of a document's `rate_rps`.
    pub fn of(rate_rps: Option<u64>) -> Self {
        rate_rps.map_or(Self::Closed, Self::At)
    }

    fn rate_rps(self) -> Option<u64> {
        match self {
            Self::At(rate) => Some(rate),
            Self::Any | Self::Closed => None,
        }
    }

    fn name(self) -> Option<&'static str> {
        match self {
            Self::Any => None,
            Self::At(_) => Some("open"),
            Self::Closed => Some("closed"),
        }
    }

    fn includes(self, rate_rps: Option<u64>) -> bool {
        self == Self::Any || self == Self::of(rate_rps)
    }
}

/// A ratio that was claimed, or shown without a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Whose figure, as `express@slow`.
    pub a: String,
    /// Over whose.
    pub b: String,
    /// The workload's name.
    pub workload: String,
    /// At which load.
    pub load: Load,
    /// Over how many connections; none where that does not matter.
    pub connections: Option<u32>,
    /// The figure's or the metric's name.
    pub figure: String,
    /// How it is shown.
    pub rule: Rule,
    /// What is said of it there.
    pub there: Shown,
    /// Why it can't be judged here, whatever is measured; empty where it can.
    pub barred: String,
}

/// A claim and its answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Judged {
    pub a: String,
    pub b: String,
    pub workload: String,
    /// `open` or `closed`; null where the figure does not depend on the load.
    pub r#loop: Option<&'static str>,
    pub rate_rps: Option<u64>,
    pub connections: Option<u32>,
    pub figure: String,
    pub rule: Rule,
    pub there: Shown,
    pub here: Shown,
    pub answer: Answer,
    pub reason: String,
}

/// All claims with their answers, and how many there are of each.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Reproduction {
    /// What of the plan was changed here, so that it is not quite the same experiment.
    pub changed: Vec<String>,
    /// In the order of the claims.
    pub ratios: Vec<Judged>,
    /// How many are.
    pub reproduced: usize,
    /// How many are not.
    pub not_reproduced: usize,
    /// Of how many that can't be said.
    pub no_verdict: usize,
}

impl Reproduction {
    /// What a session answers to these claims.
    pub fn of(claims: &[Claim], here: &Summary) -> Self {
        let ratios: Vec<Judged> = claims.iter().map(|claim| judged(claim, here)).collect();
        let count = |answer| ratios.iter().filter(|one| one.answer == answer).count();
        Self {
            changed: texts(here, "overridden"),
            reproduced: count(Answer::Reproduced),
            not_reproduced: count(Answer::NotReproduced),
            no_verdict: count(Answer::NoVerdict),
            ratios,
        }
    }

    /// Without what was changed there already.
    #[must_use]
    pub fn besides(mut self, there: &Summary) -> Self {
        let before = texts(there, "overridden");
        self.changed.retain(|change| !before.contains(change));
        self
    }
}

/// Every ratio and verdict of a session.
pub fn claims(there: &Summary) -> Vec<Claim> {
    let verdicts = there
        .verdicts
        .iter()
        .map(|verdict| of_verdict(verdict, there));
    // Of a duel's groups, alive side by side, the verdicts say what there is to say; of a search's, which
    // were tried at rates that another session need not try, the intervals.
    let ratios = match is_kind(there, "duel") || is_kind(there, "sustain") {
        true => vec![],
        false => ratios::claims(there),
    };
    verdicts
        .chain(ratios)
        .chain(sustained::claims(there))
        .collect()
}

fn of_verdict(verdict: &Verdict, there: &Summary) -> Claim {
    let rule = match verdict.rule.as_str() {
        "published" => Rule::Published,
        _ => Rule::Interval,
    };
    Claim {
        a: verdict.a.clone(),
        b: verdict.b.clone(),
        workload: verdict.workload.clone(),
        load: Load::of(verdict.rate_rps),
        connections: Some(verdict.connections),
        figure: verdict.metric.clone(),
        rule,
        there: shown(verdict, there),
        barred: String::new(),
    }
}

fn judged(claim: &Claim, summary: &Summary) -> Judged {
    let here = match claim.barred.as_str() {
        "" => here(claim, summary),
        barred => Err(barred.to_owned()),
    };
    let (answer, reason) = match &here {
        Ok(here) => answer(&claim.there, here),
        Err(why) => (Answer::NoVerdict, why.clone()),
    };
    Judged {
        a: claim.a.clone(),
        b: claim.b.clone(),
        workload: claim.workload.clone(),
        r#loop: claim.load.name(),
        rate_rps: claim.load.rate_rps(),
        connections: claim.connections,
        figure: claim.figure.clone(),
        rule: claim.rule,
        there: claim.there.clone(),
        here: here.unwrap_or_else(Shown::nothing),
        answer,
        reason,
    }
}

/// What a session shows of a claimed ratio, or why it shows nothing.
fn here(claim: &Claim, summary: &Summary) -> Result<Shown, String> {
    let found = match claim.rule {
        Rule::Interval | Rule::Published => {
            let mut verdicts = summary.verdicts.iter();
            let verdict = verdicts.find(|verdict| is_of(verdict, claim));
            verdict.map(|verdict| Ok(shown(verdict, summary)))
        }
        Rule::Ranges => ratios::here(claim, summary),
        Rule::Sustained => sustained::here(claim, summary),
    };
    found.unwrap_or_else(|| Err(absent(claim, summary)))
}

fn is_of(verdict: &Verdict, claim: &Claim) -> bool {
    verdict.rule == claim.rule.name()
        && (&verdict.a, &verdict.b) == (&claim.a, &claim.b)
        && verdict.workload == claim.workload
        && verdict.metric == claim.figure
        && claim.load.includes(verdict.rate_rps)
        && claim.connections.is_none_or(|n| n == verdict.connections)
}

/// A verdict's claim, and its interval where that is of the two sides alone.
fn shown(verdict: &Verdict, summary: &Summary) -> Shown {
    let side = verdict.ratio.map(|ratio| ratio.total_cmp(&1.0));
    let claim = side.filter(|_| verdict.verdict != "no verdict");
    let why = match claim {
        Some(_) => String::new(),
        None => verdict.reason.clone(),
    };
    let interval = verdict.ci_low.zip(verdict.ci_high);
    let interval =
        interval.filter(|_| claim.is_some() || duel::is_defensible(&summary.cells, verdict));
    // Of two series an interval says nothing: they are ranked by separation alone.
    let interval = interval.filter(|_| verdict.rule == Rule::Interval.name());
    Shown {
        ratio: verdict.ratio,
        range: interval.map(|(low, high)| holds::Range::new(low, high)),
        claim,
        why,
    }
}

/// Why a session has nothing of a claimed ratio.
fn absent(claim: &Claim, summary: &Summary) -> String {
    for who in [&claim.a, &claim.b] {
        let of = |hole: &&crate::record::schema::Hole| {
            hole.adapter == *who && hole.workload == claim.workload
        };
        if let Some(hole) = summary.holes.iter().find(of) {
            return format!("{who} was not measured here: {}", hole.reason);
        }
        if !takes_part(summary, who) {
            return format!("{who} took no part here");
        }
    }
    let Claim {
        workload, figure, ..
    } = claim;
    if !texts(summary, "workloads").contains(workload) {
        return format!("the workload {workload} was not run here");
    }
    let grouped = summary.groups.iter().map(|group| group.rate_rps);
    let rates: BTreeSet<_> = grouped
        .chain(summary.cells.iter().map(|cell| cell.key.rate_rps))
        .collect();
    match claim.load {
        Load::At(rate) if !rates.contains(&Some(rate)) => format!("{rate}/s was not run here"),
        Load::Closed if !rates.contains(&None) => "no closed loop was run here".to_owned(),
        _ if metric(figure).is_some() && is_kind(summary, "duel") => {
            let Claim { a, b, .. } = claim;
            format!(
                "{a} was not judged against {b} on {figure} here, at this load and by this rule"
            )
        }
        _ => format!("{figure} was not measured here at this load, of both"),
    }
}

fn takes_part(summary: &Summary, who: &str) -> bool {
    let planned = texts(summary, "adapters");
    planned.iter().any(|name| name == who)
}

fn is_kind(summary: &Summary, kind: &str) -> bool {
    summary.plan.get("kind").is_some_and(|own| own == kind)
}

/// A list of texts in a session's plan.
fn texts(summary: &Summary, key: &str) -> Vec<String> {
    let list = summary.plan.get(key).and_then(|list| list.as_array());
    let texts = list.into_iter().flatten().filter_map(|text| text.as_str());
    texts.map(str::to_owned).collect()
}

/// Whose group it is, as plans name it.
fn contender(group: &Group) -> String {
    match group.label.as_str() {
        "" => group.adapter.clone(),
        label => format!("{}@{label}", group.adapter),
    }
}

#[cfg(test)]
mod tests;
