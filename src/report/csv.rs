//! `summary.csv`: a row per group, the same columns always, numbers as JSON writes them.

use crate::record::schema::{Group, Summary};
use crate::report::table::plain;
use crate::stats::groups::FIGURES;

/// The columns that name a group and count its runs.
const KEYS: [&str; 10] = [
    "adapter",
    "label",
    "workload",
    "level",
    "loop",
    "rate_rps",
    "connections",
    "runs",
    "valid_runs",
    "healthy_runs",
];

/// Columns that a search adds.
const SUSTAINED: [&str; 5] = [
    "mode",
    "sustained_rps",
    "not_held_rps",
    "at_least",
    "image_own_mib",
];

/// The whole file. A figure has three columns, `_median`, `_min` and `_max`, empty where it is null.
pub fn render(summary: &Summary) -> String {
    let mut header: Vec<String> = KEYS.map(str::to_owned).into();
    for (name, _) in &FIGURES {
        header.extend(["median", "min", "max"].map(|of| format!("{name}_{of}")));
    }
    if !summary.sustained.is_empty() {
        header.extend(SUSTAINED.map(str::to_owned));
    }
    let mut text = header.join(",") + "\n";
    for group in &summary.groups {
        let mut row = vec![
            quote(&group.adapter),
            quote(&group.label),
            quote(&group.workload),
            group.level.to_string(),
            quote(&group.r#loop),
            group
                .rate_rps
                .map(|rate| rate.to_string())
                .unwrap_or_default(),
            group.connections.to_string(),
            group.runs.to_string(),
            group.valid_runs.to_string(),
            group.healthy_runs.to_string(),
        ];
        for (name, _) in &FIGURES {
            let spread = group.figures.get(*name).copied().flatten();
            let numbers = spread.map(|s| [s.median, s.min, s.max].map(|n| n.to_string()));
            row.extend(numbers.unwrap_or_default());
        }
        if !summary.sustained.is_empty() {
            row.extend(sustained(summary, group));
        }
        text += &(row.join(",") + "\n");
    }
    text
}

/// What a search found of the target that a row is of, in every one of its rows.
fn sustained(summary: &Summary, group: &Group) -> [String; SUSTAINED.len()] {
    let of = (&group.adapter, &group.label, &group.workload);
    let mut rows = summary.sustained.iter();
    let Some(found) = rows.find(|row| (&row.adapter, &row.label, &row.workload) == of) else {
        return Default::default();
    };
    let number = |number: Option<f64>| number.map(|number| number.to_string()).unwrap_or_default();
    let rate = |rate: Option<u64>| rate.map(|rate| rate.to_string()).unwrap_or_default();
    [
        quote(&found.mode),
        rate(found.rate_rps),
        rate(found.not_held_rps),
        found.at_least.to_string(),
        number(found.image_own_mib),
    ]
}

/// Quoted where CSV needs it; a text that a spreadsheet would run as a formula is kept from that.
fn quote(text: &str) -> String {
    let mut text = plain(text);
    if text.starts_with(['=', '+', '-', '@']) {
        text.insert(0, '\'');
    }
    if text.contains([',', '"', ' ']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::schema::{Spread, Sustained};

    #[test]
    fn columns_are_stable_and_nulls_are_empty() {
        let mut group = Group {
            adapter: "a,\"b".into(),
            workload: "=1+1".into(),
            ..Group::default()
        };
        group.rate_rps = Some(1000);
        let spread = Spread {
            median: 1234567.25,
            min: 0.1,
            max: 1e9,
        };
        group
            .figures
            .insert("cpu_us_per_request".into(), Some(spread));
        group.figures.insert("start_ms".into(), None);
        let text = render(&Summary {
            groups: vec![group],
            ..Summary::default()
        });
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].starts_with("adapter,label,workload,level,loop,rate_rps,connections,runs,")
        );
        assert!(
            lines[0].contains(",response_us.p50_median,response_us.p50_min,response_us.p50_max,")
        );
        assert!(
            lines[1].starts_with("\"a,\"\"b\",,'=1+1,0,,1000,0,0,0,0,,,,"),
            "{}",
            lines[1]
        );
        assert!(
            lines[1].contains(",1234567.25,0.1,1000000000,"),
            "{}",
            lines[1]
        );
        assert_eq!(lines[0].split(',').count(), KEYS.len() + 3 * FIGURES.len());
    }

    #[test]
    fn a_search_adds_what_it_found_of_each_target() {
        let group = |adapter: &str| Group {
            adapter: adapter.into(),
            workload: "ok".into(),
            ..Group::default()
        };
        let found = Sustained {
            adapter: "a".into(),
            workload: "ok".into(),
            mode: "pinned".into(),
            rate_rps: Some(1050),
            not_held_rps: Some(1100),
            image_own_mib: Some(2.5),
            ..Sustained::default()
        };
        let text = render(&Summary {
            groups: vec![group("a"), group("b")],
            sustained: vec![found],
            ..Summary::default()
        });
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].ends_with(",mode,sustained_rps,not_held_rps,at_least,image_own_mib"));
        assert!(
            lines[1].ends_with(",pinned,1050,1100,false,2.5"),
            "{}",
            lines[1]
        );
        assert!(lines[2].ends_with(",,,,,"), "{}", lines[2]);
    }
}
