//! What the terminal and Markdown show alike: the same rows, notes and figures, before any layout.

use std::collections::BTreeMap;

use crate::guard::{Finding, Level};
use crate::record::schema::{Cell, Dependency, Group, Likeness, Spread, Summary};

/// One workload at one load point.
pub struct Table {
    /// What was asked of the adapters.
    pub title: String,
    /// The columns' names.
    pub header: [String; 6],
    /// By adapter's name, never by a figure: an order would look like a ranking.
    pub rows: Vec<[String; 6]>,
}

/// Microseconds from here on are shown as milliseconds, for the whole column.
const MANY_US: f64 = 10_000.0;

/// The tables of a summary, in its order.
pub fn tables(summary: &Summary) -> Vec<Table> {
    summary
        .groups
        .chunk_by(|a, b| point(a) == point(b))
        .map(|groups| {
            let (p50, p50_unit) = latency(groups, "response_us.p50");
            let (p99, p99_unit) = latency(groups, "response_us.p99");
            let rows = groups.iter().enumerate().map(|(i, group)| {
                let median = |spread: Spread| short(spread.median);
                let load = spread(group, "rss_mib.load").map_or_else(none, median);
                [
                    name(&group.adapter, &group.label),
                    format!("{}/{}/{}", group.healthy_runs, group.valid_runs, group.runs),
                    spread(group, "cpu_us_per_request").map_or_else(none, range),
                    p50[i].clone(),
                    p99[i].clone(),
                    load,
                ]
            });
            Table {
                title: title(&groups[0]),
                header: [
                    "adapter".into(),
                    "runs".into(),
                    "CPU us/req".into(),
                    format!("p50 {p50_unit}"),
                    format!("p99 {p99_unit}"),
                    "RSS MiB".into(),
                ],
                rows: rows.collect(),
            }
        })
        .collect()
}

/// What the columns mean, in two lines.
pub const LEGEND: [&str; 2] = [
    "runs: healthy/valid/measured. Figures: median [minimum-maximum] of the valid runs. RSS: most under load.",
    "p50, p99: from each slot's scheduled start to the last byte, over all scheduled slots. Sorted by name.",
];

fn point(group: &Group) -> (&str, &str, Option<u64>, u32) {
    (
        &group.workload,
        &group.r#loop,
        group.rate_rps,
        group.connections,
    )
}

fn title(group: &Group) -> String {
    let load = match group.rate_rps {
        Some(rate) => format!("{} req/s", thousands(rate)),
        None => "closed loop".to_owned(),
    };
    let (workload, connections) = (plain(&group.workload), group.connections);
    let level = match group.level {
        1 => "level 1: bare pipeline".to_owned(),
        2 => "level 2: equal service".to_owned(),
        3 => "level 3: equal service and database".to_owned(),
        other => format!("level {other}"),
    };
    format!("{workload} at {load}, {connections} connections ({level})")
}

/// An adapter and its label, as every list names them.
pub fn name(adapter: &str, label: &str) -> String {
    if label.is_empty() {
        plain(adapter)
    } else {
        format!("{} [{}]", plain(adapter), plain(label))
    }
}

/// A cell, as the lists below the tables name it.
pub fn cell(cell: &Cell) -> String {
    let key = &cell.key;
    let load = key.rate_rps.map_or("closed loop".to_owned(), |rate| {
        format!("{} req/s", thousands(rate))
    });
    let attempt = if key.attempt > 1 {
        format!(", attempt {}", key.attempt)
    } else {
        String::new()
    };
    let (name, workload) = (name(&key.adapter, &key.label), plain(&key.workload));
    format!(
        "{name}, {workload} at {load}, run {}{attempt}",
        key.repetition
    )
}

/// Invalid cells and their reasons.
pub fn invalid(summary: &Summary) -> Vec<String> {
    let invalid = summary.cells.iter().filter(|cell| !cell.load.valid);
    invalid
        .map(|c| format!("{}: {}", cell(c), plain(&c.load.invalid_reasons.join("; "))))
        .collect()
}

/// Valid cells whose target did not keep its bounds, or for which that can't be told.
pub fn unhealthy(summary: &Summary) -> Vec<String> {
    let not = summary
        .cells
        .iter()
        .filter(|c| c.load.valid && c.healthy != Some(true));
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

/// The guards that fired, each with what it found, where, and what to do about it.
pub fn fired(summary: &Summary) -> Vec<String> {
    let of_level = |level: Level| {
        let found = by_finding(summary, level).into_iter();
        found.map(move |(finding, cells)| {
            let does = match level {
                Level::Fail => "made invalid",
                _ => "warned of",
            };
            let (id, what, fix) = (&finding.id, plain(&finding.what), plain(&finding.fix));
            let cells = if cells.len() == summary.cells.len() {
                "every cell".to_owned()
            } else {
                cells.join("; ")
            };
            format!("{} {does} {cells}: {what} ({fix})", plain(id))
        })
    };
    [Level::Fail, Level::Warn]
        .into_iter()
        .flat_map(of_level)
        .collect()
}

/// What the guards could not see, once for all cells.
pub fn unseen(summary: &Summary) -> Vec<String> {
    let unseen = by_finding(summary, Level::Unseen).into_iter();
    unseen
        .map(|(finding, _)| format!("{} ({})", plain(&finding.what), plain(&finding.fix)))
        .collect()
}

/// Findings of a level, alike ones once, each with the cells that have it.
fn by_finding(summary: &Summary, level: Level) -> Vec<(&Finding, Vec<String>)> {
    let mut found: Vec<(&Finding, Vec<String>)> = Vec::new();
    for of in &summary.cells {
        for finding in of.guards.iter().filter(|finding| finding.level == level) {
            match found.iter_mut().find(|(known, _)| *known == finding) {
                Some((_, cells)) => cells.push(cell(of)),
                None => found.push((finding, vec![cell(of)])),
            }
        }
    }
    found
}

/// What ran beside the targets, by group: it shares the generator's CPUs, and its lateness is in every
/// response time.
pub fn dependencies(summary: &Summary) -> Vec<String> {
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
            let load = group.rate_rps.map_or("closed loop".to_owned(), |rate| {
                format!("{} req/s", thousands(rate))
            });
            lines.push(format!(
                "{} beside {}, {} at {load}: {cpu} us of CPU per request; late by {} us on average, {} at p99, {} at most (the worst runs')",
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
pub fn likeness(summary: &Summary) -> Vec<String> {
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
pub fn holes(summary: &Summary) -> Vec<String> {
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
pub fn publication(summary: &Summary) -> Vec<String> {
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

fn spread(group: &Group, figure: &str) -> Option<Spread> {
    group.figures.get(figure).copied().flatten()
}

/// A column of latencies in the unit that keeps it short.
fn latency(groups: &[Group], figure: &str) -> (Vec<String>, &'static str) {
    let spreads: Vec<_> = groups.iter().map(|group| spread(group, figure)).collect();
    let many = spreads.iter().flatten().any(|spread| spread.max >= MANY_US);
    let (unit, factor) = if many { ("ms", 1e-3) } else { ("us", 1.0) };
    let scaled = |s: Spread| {
        range(Spread {
            median: s.median * factor,
            min: s.min * factor,
            max: s.max * factor,
        })
    };
    (
        spreads
            .into_iter()
            .map(|spread| spread.map_or_else(none, scaled))
            .collect(),
        unit,
    )
}

fn range(spread: Spread) -> String {
    format!(
        "{} [{}-{}]",
        short(spread.median),
        short(spread.min),
        short(spread.max)
    )
}

fn none() -> String {
    "-".to_owned()
}

/// Three significant digits, or all of a whole number.
pub fn short(value: f64) -> String {
    match value.abs() {
        ..9.995 => format!("{value:.2}"),
        ..99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Text from outside without what could steer a terminal or break a line: control and format
/// characters (a right-to-left override, say) become spaces.
pub fn plain(text: &str) -> String {
    let unseen = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    text.chars()
        .map(|c| if unseen(c) { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_text_is_tame() {
        for (value, text) in [
            (0.0, "0.00"),
            (9.994, "9.99"),
            (9.996, "10.0"),
            (99.96, "100"),
            (12_345.6, "12346"),
        ] {
            assert_eq!(short(value), text);
        }
        assert_eq!(thousands(1), "1");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(plain("a\x1b[31m\n\u{202e}b"), "a [31m  b");
    }
}
