//! What stands beside the tables, a line each: first what can't be concluded, then how it was.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::guard::{Finding, Level};
use crate::record::schema::{Cell, Dependency, Likeness, Summary};
use crate::report::table::{cell, load_point, name, none, plain, point, ratio, short, thousands};
use crate::report::{sustain, verdicts};

/// A list and its title; empty where there is nothing to say.
pub type List = (&'static str, Vec<String>);

/// To be read before any figure: what these numbers can't tell.
pub fn before(summary: &Summary) -> [List; 4] {
    [
        ("Can't be concluded", verdicts::withheld(summary)),
        (
            "Invalid: the instrument broke its own rules",
            invalid(summary),
        ),
        ("Holes: no number for", holes(summary)),
        (
            "Latencies that look like the protocol's",
            sustain::stalls(summary),
        ),
    ]
}

/// To be read after them.
pub fn after(summary: &Summary) -> [List; 7] {
    [
        (
            "Not healthy: the target missed its bounds",
            unhealthy(summary),
        ),
        (
            "The same target at the session's beginning and end",
            canary(summary),
        ),
        (
            "Beside the target, on the load's CPUs",
            dependencies(summary),
        ),
        ("Guards that fired", fired(summary)),
        ("Guards that could not see", unseen(summary)),
        ("Responses side by side", likeness(summary)),
        ("Not for publication", publication(summary)),
    ]
}

/// Invalid cells and their reasons.
fn invalid(summary: &Summary) -> Vec<String> {
    let invalid = summary.cells.iter().filter(|cell| !cell.load.valid);
    invalid
        .map(|c| format!("{}: {}", cell(c), plain(&c.load.invalid_reasons.join("; "))))
        .collect()
}

/// Valid cells whose target did not keep its bounds, or for which that can't be told.
fn unhealthy(summary: &Summary) -> Vec<String> {
    // In a search they are its answers, and stand with the rates that were tried.
    let answer = |c: &Cell| !summary.sustained.is_empty() && c.healthy == Some(false);
    let not = summary
        .cells
        .iter()
        .filter(|c| c.load.valid && c.healthy != Some(true) && !answer(c));
    not.map(|c| {
        let told = if c.healthy.is_none() {
            " (not told)"
        } else {
            ""
        };
        format!(
            "{}{told}: {}",
            cell(c),
            plain(&c.unhealthy_reasons.join("; "))
        )
    })
    .collect()
}

/// What the target that is the same in every session needed at its beginning and at its end.
fn canary(summary: &Summary) -> Vec<String> {
    type Figure = (&'static str, fn(&Cell) -> Option<f64>);
    const FIGURES: [Figure; 3] = [
        ("CPU us/req", |cell| cell.cpu_us_per_request),
        ("p50 us", |cell| cell.load.response_us.p50),
        ("p99 us", |cell| cell.load.response_us.p99),
    ];
    let is_canary = |cell: &&Cell| cell.key.role == "canary" && cell.load.valid;
    let canaries: Vec<&Cell> = summary.cells.iter().filter(is_canary).collect();
    let [first, .., last] = canaries[..] else {
        return Vec::new();
    };
    let line = |(what, of): Figure| {
        let (first, last) = (of(first)?, of(last)?);
        let ratio = ratio(last / first);
        Some(format!(
            "{what}: {} at first, {} at last, ratio {ratio}",
            short(first),
            short(last)
        ))
    };
    let (name, workload) = (
        name(&first.key.adapter, &first.key.label),
        plain(&first.key.workload),
    );
    let of = format!("{name}, {workload} {}: ", load_point(first.key.rate_rps));
    let lines = FIGURES.into_iter().filter_map(line);
    lines.map(|line| of.clone() + &line).collect()
}

/// The guards that fired, a line each: which and what it did, where, what it found first and what to do.
fn fired(summary: &Summary) -> Vec<String> {
    let of_level = |(level, does)| {
        let found = by_guard(summary, level).into_iter();
        found.map(move |(first, cells)| {
            let [id, what, fix] = [&first.id, &first.what, &first.fix].map(|t| plain(t));
            let others = match cells.len() {
                1 => cells[0].clone(),
                all if all == summary.cells.len() => "every cell".to_owned(),
                2 => format!("{} and one more cell", cells[0]),
                more => format!("{} and {} more cells", cells[0], more - 1),
            };
            format!("{id} ({does}), {others}: {what} -> {fix}")
        })
    };
    let levels = [(Level::Fail, "invalid"), (Level::Warn, "warns")];
    levels.into_iter().flat_map(of_level).collect()
}

/// What the guards could not see, once for all cells.
fn unseen(summary: &Summary) -> Vec<String> {
    let unseen = by_guard(summary, Level::Unseen).into_iter();
    unseen.map(|(finding, _)| plain(&finding.what)).collect()
}

/// The guards with findings of a level: each with its first finding, and the cells that have one.
fn by_guard(summary: &Summary, level: Level) -> Vec<(&Finding, Vec<String>)> {
    let mut found: Vec<(&Finding, Vec<String>)> = Vec::new();
    for of in &summary.cells {
        for finding in of.guards.iter().filter(|finding| finding.level == level) {
            match found.iter_mut().find(|(first, _)| first.id == finding.id) {
                Some((_, cells)) => cells.push(cell(of)),
                None => found.push((finding, vec![cell(of)])),
            }
        }
    }
    found
}

/// What ran beside the targets, by group: it shares the generator's CPUs, and its lateness is in every
/// response time.
fn dependencies(summary: &Summary) -> Vec<String> {
    let mut lines = Vec::new();
    for group in &summary.groups {
        let of_group = summary.cells.iter().filter(|cell| {
            let key = &cell.key;
            (&key.adapter, &key.label) == (&group.adapter, &group.label)
                && (
                    key.workload.as_str(),
                    key.r#loop.as_str(),
                    key.rate_rps,
                    key.connections,
                ) == point(group)
        });
        let mut by_name: BTreeMap<&str, Vec<&Dependency>> = BTreeMap::new();
        for dependency in of_group.flat_map(|cell| &cell.dependencies) {
            by_name
                .entry(&dependency.name)
                .or_default()
                .push(dependency);
        }
        for (dependency, runs) in by_name {
            let worst = |of: fn(&Dependency) -> Option<f64>| {
                let values = runs.iter().filter_map(|run| of(run));
                values.reduce(f64::max).map_or_else(none, short)
            };
            let cpu = worst(|run| (run.requests > 0).then(|| run.cpu_us / run.requests as f64));
            let load = load_point(group.rate_rps);
            lines.push(format!(
                "{} beside {}, {} {load}: {cpu} us of CPU per request; late by {} us on average, {} at p99, {} at most (the worst runs')",
                plain(dependency),
                name(&group.adapter, &group.label),
                plain(&group.workload),
                worst(|run| run.late_us.mean),
                worst(|run| run.late_us.p99),
                worst(|run| run.late_us.max),
            ));
        }
    }
    lines
}

/// Bytes per response and header sets, adapter beside adapter.
fn likeness(summary: &Summary) -> Vec<String> {
    let line = |like: &Likeness| {
        let (least, most) = like.bytes;
        let bytes = if least == most {
            format!("{} bytes per response", thousands(least))
        } else {
            format!(
                "{} to {} bytes per response",
                thousands(least),
                thousands(most)
            )
        };
        let mut line = format!(
            "{}, {}: {bytes}",
            plain(&like.workload),
            name(&like.adapter, &like.label)
        );
        if !like.more.is_empty() {
            line += &format!(
                "; sends {}, which not all others do",
                plain(&like.more.join(", "))
            );
        }
        if !like.less.is_empty() {
            line += &format!(
                "; does not send {}, which all others do",
                plain(&like.less.join(", "))
            );
        }
        if let Some((row, off)) = like
            .far
            .iter()
            .max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))
        {
            line += &format!(
                "; BEYOND THE TOLERANCE: {:+.0} % from the median in {} ({} rows in all)",
                off * 100.0,
                plain(row),
                like.far.len()
            );
        }
        line
    };
    summary.likeness.iter().map(line).collect()
}

/// What has no number, and why.
fn holes(summary: &Summary) -> Vec<String> {
    let holes = summary.holes.iter();
    holes
        .map(|hole| {
            let workload = plain(&hole.workload);
            let of = if workload.is_empty() {
                workload
            } else {
                format!(", {workload}")
            };
            format!("{}{of}: {}", plain(&hole.adapter), plain(&hole.reason))
        })
        .collect()
}

/// Whether these numbers may leave the house, and why not.
fn publication(summary: &Summary) -> Vec<String> {
    let mut reasons: Vec<String> = summary
        .unpublishable_reasons
        .iter()
        .map(|r| plain(r))
        .collect();
    if !summary.comparable {
        reasons.push("a limit was changed by hand: not comparable with other runs".into());
    }
    reasons
}

/// A document's values with their paths.
pub fn facts(at: &str, value: &Value) -> Vec<(String, String)> {
    let join = |key: &str| {
        if at.is_empty() {
            plain(key)
        } else {
            format!("{at}.{}", plain(key))
        }
    };
    match value {
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, value)| facts(&join(key), value))
            .collect(),
        Value::Array(list) => {
            let one = |(index, value)| facts(&format!("{at}[{index}]"), value);
            list.iter().enumerate().flat_map(one).collect()
        }
        Value::Null if at.is_empty() => Vec::new(),
        other => vec![(at.to_owned(), inline(other))],
    }
}

/// A value on one line.
pub fn inline(value: &Value) -> String {
    let join = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::String(text) => plain(text),
        Value::Array(list) => join(list.iter().map(inline).collect()),
        Value::Object(map) => {
            let one = |(key, value): (&String, &Value)| format!("{} {}", plain(key), inline(value));
            join(map.iter().map(one).collect())
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canary_of(role: &str, valid: bool, cpu: Option<f64>) -> Cell {
        let mut cell = Cell {
            cpu_us_per_request: cpu,
            ..Cell::default()
        };
        cell.load.valid = valid;
        cell.load.response_us.p50 = Some(100.0);
        cell.key.adapter = "bare".into();
        cell.key.workload = "ok".into();
        cell.key.rate_rps = Some(1000);
        cell.key.role = role.into();
        cell
    }

    #[test]
    fn the_canary_is_seen_twice_with_its_ratio() {
        let mut summary = Summary {
            cells: vec![
                canary_of("canary", false, Some(1.0)),
                canary_of("canary", true, Some(50.0)),
                canary_of("measure", true, Some(9.0)),
                canary_of("canary", true, Some(53.0)),
            ],
            ..Summary::default()
        };
        assert_eq!(
            canary(&summary),
            [
                "bare, ok at 1,000 req/s: CPU us/req: 50.0 at first, 53.0 at last, ratio 1.060",
                "bare, ok at 1,000 req/s: p50 us: 100 at first, 100 at last, ratio 1.000",
            ]
        );
        // What was not read twice has no ratio, and one canary has none either.
        summary.cells[3].cpu_us_per_request = None;
        assert_eq!(canary(&summary).len(), 1);
        summary.cells.truncate(3);
        assert!(canary(&summary).is_empty());
    }
}
