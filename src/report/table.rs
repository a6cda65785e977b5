//! What the terminal and Markdown show alike: the same rows, notes and figures, before any layout.

use crate::record::schema::{Cell, Group, Spread, Summary};

/// One workload at one load point.
pub struct Table {
    /// What was asked of the adapters.
    pub title: String,
    /// The columns' names; the first is of names, the others are of figures.
    pub header: [String; 6],
    /// By adapter's name, never by a figure: an order would look like a ranking.
    pub rows: Vec<[String; 6]>,
}

/// Microseconds from here on are shown as milliseconds, for the whole column.
const MANY_US: f64 = 10_000.0;

/// The tables of a summary, in its order.
pub fn tables(summary: &Summary) -> Vec<Table> {
    let points = summary.groups.chunk_by(|a, b| point(a) == point(b));
    points.map(table).collect()
}

/// A closed loop is asked for its throughput, where an open one is asked for its median: at a fixed
/// number of connections the two say the same.
fn table(groups: &[Group]) -> Table {
    let cpu = figures(groups, "cpu_us_per_request");
    let (p50, p50_unit) = latency(groups, "response_us.p50");
    let (p99, p99_unit) = latency(groups, "response_us.p99");
    let closed = groups[0].rate_rps.is_none();
    let (first, second) = if closed {
        let throughput = figures(groups, "achieved_rps");
        (("req/s".into(), throughput), ("CPU us/req".into(), cpu))
    } else {
        let median = (format!("p50 {p50_unit}"), p50);
        (("CPU us/req".into(), cpu), median)
    };
    let row = |(i, group): (usize, &Group)| {
        let memory = spread(group, "rss_mib.load");
        [
            name(&group.adapter, &group.label),
            format!("{}/{}/{}", group.healthy_runs, group.valid_runs, group.runs),
            first.1[i].clone(),
            second.1[i].clone(),
            p99[i].clone(),
            memory.map_or_else(none, |spread| short(spread.median)),
        ]
    };
    Table {
        title: title(&groups[0]),
        rows: groups.iter().enumerate().map(row).collect(),
        header: [
            "adapter".into(),
            "runs".into(),
            first.0,
            second.0,
            format!("p99 {p99_unit}"),
            "RSS MiB".into(),
        ],
    }
}

fn figures(groups: &[Group], figure: &str) -> Vec<String> {
    let ranges = groups.iter().map(|group| spread(group, figure));
    ranges
        .map(|spread| spread.map_or_else(none, range))
        .collect()
}

/// What the columns mean, in two lines.
pub const LEGEND: [&str; 2] = [
    "runs: healthy/valid/measured. Figures: median [minimum-maximum] of the valid runs. RSS: most under load.",
    "p50, p99: from each slot's scheduled start to the last byte, over all scheduled slots. Sorted by name.",
];

/// The load point that a group shares with those beside it.
pub fn point(group: &Group) -> (&str, &str, Option<u64>, u32) {
    (
        &group.workload,
        &group.r#loop,
        group.rate_rps,
        group.connections,
    )
}

fn title(group: &Group) -> String {
    let (workload, load) = (plain(&group.workload), load_point(group.rate_rps));
    let (connections, level) = (group.connections, level(group.level));
    format!("{workload} {load}, {connections} connections ({level})")
}

/// Where a load stood, to be read after a workload's name.
pub fn load_point(rate_rps: Option<u64>) -> String {
    rate_rps.map_or("in closed loop".to_owned(), |rate| {
        format!("at {} req/s", thousands(rate))
    })
}

/// A level of equity.
pub fn level(level: u32) -> String {
    match level {
        1 => "level 1: bare pipeline".to_owned(),
        2 => "level 2: equal service".to_owned(),
        3 => "level 3: equal service and database".to_owned(),
        other => format!("level {other}"),
    }
}

/// An adapter and its label, as every list names them.
pub fn name(adapter: &str, label: &str) -> String {
    if label.is_empty() {
        plain(adapter)
    } else {
        format!("{} [{}]", plain(adapter), plain(label))
    }
}

/// A cell, as the lists beside the tables name it.
pub fn cell(cell: &Cell) -> String {
    let key = &cell.key;
    let (name, workload) = (name(&key.adapter, &key.label), plain(&key.workload));
    let mut text = format!("{name}, {workload} {}, ", load_point(key.rate_rps));
    if key.rate_rps.is_none() {
        text += &format!("{} connections, ", key.connections);
    }
    if key.role != "measure" {
        text += &format!("{} ", plain(&key.role));
    }
    text += &match (key.pair, key.series) {
        (Some(pair), _) => format!("pair {pair}"),
        (None, Some(series)) => format!("series {series}"),
        (None, None) => format!("run {}", key.repetition),
    };
    if let Some(side) = &key.side {
        text += &format!(", side {}", plain(side));
    }
    if key.attempt > 1 {
        text += &format!(", attempt {}", key.attempt);
    }
    text
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

/// What stands for a figure that there is not.
pub fn none() -> String {
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

/// A ratio with half a percent of 1 still seen, and with at least three significant digits; with more where it would
/// look like 1 and isn't: on which side of 1 an interval ends makes the verdict.
pub fn ratio(value: f64) -> String {
    match value.abs() {
        ..0.0095 => format!("{value:.2e}"),
        ..0.0995 => format!("{value:.4}"),
        ..9.9995 => {
            let text = |digits: usize| format!("{value:.digits$}");
            let is_told = |text: &String| value == 1.0 || text.parse() != Ok(1.0);
            (3..5).map(text).find(is_told).unwrap_or_else(|| text(5))
        }
        _ => short(value),
    }
}

/// A count with its thousands apart.
pub fn thousands(number: u64) -> String {
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
    text.chars()
        .map(|c| if unseen(c) { ' ' } else { c })
        .collect()
}

/// Whether a character is not seen itself but steers what is.
pub fn unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
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
        for (value, text) in [
            (0.001_234, "1.23e-3"),
            (0.0123, "0.0123"),
            (0.9954, "0.995"),
            (0.99956, "0.9996"),
            (1.0, "1.000"),
            (1.000_04, "1.00004"),
            (1.000_000_1, "1.00000"),
            (9.9996, "10.0"),
            (123.4, "123"),
        ] {
            assert_eq!(ratio(value), text);
        }
        assert_eq!(thousands(1), "1");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(plain("a\x1b[31m\n\u{202e}b"), "a [31m  b");
    }
}
