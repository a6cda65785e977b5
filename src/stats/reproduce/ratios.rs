//! Ratios of medians over repetitions, of everybody to the reference, at each load point.

use super::holds::{LEAST_RUNS, Runs, Shown};
use super::{Claim, Load, Rule, contender, texts};
use crate::record::schema::{Group, Summary};

/// What of a matrix is held against another: what it costs, how long it takes, what memory it needs.
const OPEN: [&str; 6] = [
    "cpu_us_per_request",
    "response_us.p50",
    "response_us.p99",
    "rss_mib.baseline",
    "rss_mib.load",
    "rss_mib.recovery",
];
/// Its throughput is what a closed loop is run for; in an open one it is the schedule's.
const CLOSED: [&str; 7] = [
    "achieved_rps",
    "cpu_us_per_request",
    "response_us.p50",
    "response_us.p99",
    "rss_mib.baseline",
    "rss_mib.load",
    "rss_mib.recovery",
];

/// All ratios of a matrix.
pub(super) fn claims(there: &Summary) -> Vec<Claim> {
    let points = there.groups.chunk_by(|one, two| point(one) == point(two));
    points.flat_map(|groups| at_point(groups, there)).collect()
}

fn at_point(groups: &[Group], there: &Summary) -> Vec<Claim> {
    let Some(reference) = reference(groups, there) else {
        return vec![];
    };
    let figures: &[&str] = match reference.rate_rps {
        Some(_) => &OPEN,
        None => &CLOSED,
    };
    let others = groups
        .iter()
        .filter(|group| !std::ptr::eq(*group, reference));
    let claims = others.flat_map(|group| {
        figures.iter().map(|figure| Claim {
            a: contender(group),
            b: contender(reference),
            workload: group.workload.clone(),
            load: Load::of(group.rate_rps),
            connections: Some(group.connections),
            figure: (*figure).to_owned(),
            rule: Rule::Ranges,
            there: shown(group, reference, figure).unwrap_or_else(Shown::nothing),
            barred: String::new(),
        })
    });
    claims.collect()
}

/// Whom the others are held against: the plan's reference, else the first of its adapters that was
/// measured at this point. Never the best, which would be another one in every session.
fn reference<'a>(groups: &'a [Group], there: &Summary) -> Option<&'a Group> {
    let named = there.plan.get("reference").and_then(|name| name.as_str());
    let named = named.map(str::to_owned).into_iter();
    let mut order = named.chain(texts(there, "adapters"));
    order.find_map(|name| groups.iter().find(|group| contender(group) == name))
}

/// The same ratio in another session, at the first such point that says where it lies, or else at the
/// first; none where the two were measured at no such point.
pub(super) fn here(claim: &Claim, summary: &Summary) -> Option<Result<Shown, String>> {
    let points = summary.groups.chunk_by(|one, two| point(one) == point(two));
    let fitting = points.filter(|groups| fits(&groups[0], claim));
    let mut all = fitting.filter_map(|groups| {
        let of = |who: &String| groups.iter().find(|group| contender(group) == *who);
        Some(shown(of(&claim.a)?, of(&claim.b)?, &claim.figure))
    });
    let first = all.next()?;
    let says =
        |shown: &Result<Shown, String>| shown.as_ref().is_ok_and(|shown| shown.range.is_some());
    if says(&first) {
        return Some(first);
    }
    Some(all.find(says).unwrap_or(first))
}

fn fits(group: &Group, claim: &Claim) -> bool {
    group.workload == claim.workload
        && claim.load.includes(group.rate_rps)
        && claim.connections.is_none_or(|n| n == group.connections)
        // Who was alive beside others is never put together with who was alone.
        && group.sides.is_empty()
}

/// The ratio of two groups, or why there is none.
fn shown(a: &Group, b: &Group, figure: &str) -> Result<Shown, String> {
    let runs = |group: &Group| {
        let who = contender(group);
        let (valid, healthy) = (group.valid_runs, group.healthy_runs);
        // Too few have no range anyhow, and that is the first thing to say of them.
        if valid >= LEAST_RUNS && healthy < valid {
            return Err(format!(
                "{who} is known to be healthy in {healthy} of {valid} valid runs: past its bounds, or too \
                 briefly, nobody does the same work"
            ));
        }
        let spread = group.figures.get(figure).copied().flatten();
        let spread = spread.ok_or_else(|| format!("{who} has no {figure} in one of its runs"))?;
        Ok(Runs {
            median: spread.median,
            low: spread.min,
            high: spread.max,
            runs: valid,
        })
    };
    Ok(Shown::of_runs(runs(a)?, runs(b)?))
}

type Point<'a> = (&'a str, &'a str, Option<u64>, u32, bool);

fn point(group: &Group) -> Point<'_> {
    (
        &group.workload,
        &group.r#loop,
        group.rate_rps,
        group.connections,
        group.sides.is_empty(),
    )
}
