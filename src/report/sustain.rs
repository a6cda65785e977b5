//! Sustained rates as the terminal, Markdown and HTML show them alike.

use crate::record::schema::{Rung, Stall, Summary, Sustained};
use crate::report::lists::List;
use crate::report::table::{level, load_point, name, none, plain, ratio, short, thousands};
use crate::stats::sustain::window;

/// One workload in one mode.
pub struct Table<'a> {
    /// What was asked, and how.
    pub title: String,
    /// By adapter's name, never by a figure: an order would look like a ranking.
    pub rows: Vec<Row<'a>>,
}

/// One target's figures in words.
pub struct Row<'a> {
    /// The figures themselves.
    pub of: &'a Sustained,
    /// In the columns' order.
    pub cells: [String; COLUMNS.len()],
}

/// The columns' names.
pub const COLUMNS: [&str; 10] = [
    "adapter",
    "mode",
    "image",
    "own",
    "idle",
    "start",
    "held req/s",
    "p50",
    "p99",
    "gen.",
];

/// What the columns mean.
pub const LEGEND: [&str; 4] = [
    "image: MB as the engine reports it; own: without the layers of the other image that it starts from. idle: RSS in MiB at rest, before any load. start: ms until the first valid response.",
    "held req/s: from the highest rate that was held, as was every lower one that was tried, to the lowest that was not; \u{2265}: at least, and why is said below; <: nothing was held.",
    "p50, p99: ms at the highest rate that was held, medians over its trials. gen.: how much of its own CPUs the generator used there, spinning left out.",
    "Sorted by name.",
];

/// The tables of a summary. What differs in its mode is never in one table.
pub fn tables(summary: &Summary) -> Vec<Table<'_>> {
    let place = |row: &Sustained| (row.workload.clone(), row.mode.clone(), row.connections);
    sorted(summary)
        .chunk_by(|a, b| place(a) == place(b))
        .map(table)
        .collect()
}

/// By what can be compared, then by name.
fn sorted(summary: &Summary) -> Vec<&Sustained> {
    let mut rows: Vec<&Sustained> = summary.sustained.iter().collect();
    rows.sort_by_key(|row| {
        let place = (&row.workload, &row.mode, row.connections);
        (place, &row.adapter, &row.label)
    });
    rows
}

fn table<'a>(rows: &[&'a Sustained]) -> Table<'a> {
    Table {
        title: title(rows[0]),
        rows: rows.iter().copied().map(row).collect(),
    }
}

fn title(row: &Sustained) -> String {
    format!(
        "Sustained: {}, {}, {} connections, {} ({})",
        plain(&row.workload),
        plain(&row.mode),
        row.connections,
        match row.threads {
            1 => "1 thread".to_owned(),
            threads => format!("{threads} threads"),
        },
        level(row.level)
    )
}

fn row(of: &Sustained) -> Row<'_> {
    let or_none = |value: Option<String>| value.unwrap_or_else(none);
    let ms = |us: Option<f64>| or_none(us.map(|us| short(us / 1e3)));
    let mb = |mib: Option<f64>| or_none(mib.map(|mib| short(mib * 1.048_576)));
    Row {
        of,
        cells: [
            name(&of.adapter, &of.label),
            plain(&of.mode),
            mb(of.image_mib),
            mb(of.image_own_mib),
            or_none(of.idle_rss_mib.map(short)),
            or_none(of.start_ms.map(short)),
            interval(of),
            ms(of.p50_us),
            ms(of.p99_us),
            or_none(of.generator_busy.map(percent)),
        ],
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// `2,925-3,072`, `≥ 10,000`, `< 1,000`; `-` where nothing is known.
pub fn interval(of: &Sustained) -> String {
    match (of.rate_rps, of.not_held_rps) {
        (Some(held), _) if of.at_least => format!("\u{2265} {}", thousands(held)),
        (Some(held), Some(not)) => format!("{}-{}", thousands(held), thousands(not)),
        (Some(held), None) => thousands(held),
        (None, Some(not)) if of.complete => format!("< {}", thousands(not)),
        (None, _) => none(),
    }
}

/// To be read before the figures: what looks like the protocol's latency and not like a server's.
pub fn stalls(summary: &Summary) -> Vec<String> {
    let line = |stall: &Stall| {
        let who: Vec<String> = stall.who.iter().map(|who| plain(who)).collect();
        format!(
            "{}, {} {}: {} {} ms: {}",
            who.join(", "),
            plain(&stall.workload),
            load_point(stall.rate_rps),
            plain(&stall.quantile),
            short(stall.us / 1e3),
            plain(&stall.reason)
        )
    };
    summary.stalls.iter().map(line).collect()
}

/// What stands beneath the tables.
pub fn lists(summary: &Summary) -> [List; 5] {
    let sorted = sorted(summary);
    let rows = || sorted.iter().copied();
    let named = |row: &Sustained| {
        format!(
            "{}, {}",
            name(&row.adapter, &row.label),
            plain(&row.workload)
        )
    };
    let reason = |row: &Sustained| format!("{}: {}", named(row), plain(&row.reason));
    let unclear = rows().filter(|row| !row.reason.is_empty());
    let room = |row: &Sustained| {
        let (rps, busy) = (row.generator_rps_per_cpu_s?, row.generator_busy?);
        let rps = thousands(rps as u64);
        let busy = percent(busy);
        Some(format!(
            "{}: {rps} requests per second of its CPU time, {busy} of its CPUs",
            named(row)
        ))
    };
    [
        ("What these trials can prove", windows(summary)),
        ("At least, or nothing: why", unclear.map(reason).collect()),
        (
            "The generator at the highest rate that was held, spinning left out",
            rows().filter_map(room).collect(),
        ),
        ("Native against the JVM", native(summary)),
        (
            "Every rate that was tried: its p99, and trials held/not held/invalid",
            rows()
                .map(|row| format!("{}: {}", named(row), tried(row)))
                .collect(),
        ),
    ]
}

/// How long a rate was kept up, said once for all.
fn windows(summary: &Summary) -> Vec<String> {
    let mut windows: Vec<String> = Vec::new();
    for row in &summary.sustained {
        let words = window(row.load_s, row.warm_up_s);
        if !windows.contains(&words) {
            windows.push(words);
        }
    }
    windows
}

fn tried(row: &Sustained) -> String {
    let rung = |rung: &Rung| {
        let p99 = rung
            .p99_us
            .map_or_else(none, |us| format!("{} ms", short(us / 1e3)));
        let (held, not_held, invalid) = (rung.held, rung.not_held, rung.invalid);
        let rate = thousands(rung.rate_rps);
        format!(
            "{rate} {p99} {held}/{not_held}/{invalid} {}",
            plain(&rung.state)
        )
    };
    let rungs: Vec<String> = row.rates.iter().map(rung).collect();
    rungs.join(", ")
}

/// Two builds of one server side by side, where an archive has both: adapters that are called alike but
/// for these ends.
fn native(summary: &Summary) -> Vec<String> {
    const NATIVE: &str = "-native";
    const JVM: &str = "-jvm";
    let rows = || summary.sustained.iter();
    let pairs = rows().filter_map(|native| {
        let other = format!("{}{JVM}", native.adapter.strip_suffix(NATIVE)?);
        let like = |row: &&Sustained| {
            let place =
                |row: &Sustained| (row.workload.clone(), row.mode.clone(), row.label.clone());
            row.adapter == other && place(row) == place(native)
        };
        Some((native, rows().find(like)?))
    });
    pairs
        .flat_map(|(native, jvm)| against(native, jvm))
        .collect()
}

fn against(native: &Sustained, jvm: &Sustained) -> Vec<String> {
    let held = |row: &Sustained| {
        let held = row.rates.iter().filter(|rung| rung.state == "held");
        held.map(|rung| rung.rate_rps).collect::<Vec<u64>>()
    };
    let common = held(native)
        .into_iter()
        .rev()
        .find(|rate| held(jvm).contains(rate));
    let at = |row: &Sustained, of: fn(&Rung) -> Option<f64>| {
        let rung = row
            .rates
            .iter()
            .find(|rung| Some(rung.rate_rps) == common)?;
        of(rung)
    };
    let rate = common.map_or_else(none, thousands);
    let figures = [
        ("image MiB".to_owned(), native.image_mib, jvm.image_mib),
        (
            "idle RSS MiB".to_owned(),
            native.idle_rss_mib,
            jvm.idle_rss_mib,
        ),
        ("start ms".to_owned(), native.start_ms, jvm.start_ms),
        (
            format!("p50 us at {rate}/s, which both held"),
            at(native, |rung| rung.p50_us),
            at(jvm, |rung| rung.p50_us),
        ),
        (
            format!("p99 us at {rate}/s"),
            at(native, |rung| rung.p99_us),
            at(jvm, |rung| rung.p99_us),
        ),
    ];
    let names = format!(
        "{} against {}, {}",
        plain(&native.adapter),
        plain(&jvm.adapter),
        plain(&native.workload)
    );
    let line = |(what, native, jvm): (String, Option<f64>, Option<f64>)| {
        let (native, jvm) = (native?, jvm?);
        let ratio = ratio(native / jvm);
        Some(format!(
            "{names}: {what}: {} against {}, ratio {ratio}",
            short(native),
            short(jvm)
        ))
    };
    let rates = format!(
        "{names}: held req/s: {} against {}",
        interval(native),
        interval(jvm)
    );
    figures
        .into_iter()
        .filter_map(line)
        .chain([rates])
        .collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn rung(rate_rps: u64, state: &str, p99_us: f64) -> Rung {
        Rung {
            rate_rps,
            state: state.into(),
            held: 3,
            p50_us: Some(p99_us / 2.0),
            p99_us: Some(p99_us),
            ..Rung::default()
        }
    }

    fn held(adapter: &str, rate_rps: Option<u64>, not_held_rps: Option<u64>) -> Sustained {
        Sustained {
            adapter: adapter.into(),
            workload: "ok".into(),
            level: 1,
            mode: "pinned".into(),
            connections: 100,
            threads: 1,
            load_s: 4.0,
            warm_up_s: 2.0,
            rate_rps,
            not_held_rps,
            complete: true,
            p50_us: rate_rps.map(|_| 940.0),
            p99_us: rate_rps.map(|_| 2350.0),
            generator_busy: Some(0.42),
            generator_rps_per_cpu_s: Some(120_000.4),
            image_mib: Some(46.0),
            image_own_mib: Some(5.5),
            idle_rss_mib: Some(87.0),
            start_ms: Some(31.4),
            rates: vec![rung(1000, "held", 900.0), rung(2000, "held", 2350.0)],
            ..Sustained::default()
        }
    }

    /// A search of every ending.
    pub fn summary() -> Summary {
        let mut at_least = held("wide", Some(64_000), None);
        at_least.at_least = true;
        at_least.reason = "no rate that was tried was not held".into();
        let mut nothing = held("slow", None, Some(1000));
        nothing.reason = "not even 1000/s was held".into();
        Summary {
            sustained: vec![
                held("twin-native", Some(2000), Some(2100)),
                at_least,
                nothing,
                held("twin-jvm", Some(2000), Some(2100)),
            ],
            stalls: vec![Stall {
                who: vec!["slow".into()],
                workload: "ok".into(),
                rate_rps: Some(1000),
                quantile: "p90".into(),
                us: 40_100.0,
                reason: "a timer".into(),
            }],
            comparable: true,
            publishable: true,
            ..Summary::default()
        }
    }

    #[test]
    fn a_row_says_the_interval_and_what_it_can_not() {
        let summary = summary();
        let tables = tables(&summary);
        assert_eq!(tables.len(), 1);
        let rows: Vec<String> = tables[0]
            .rows
            .iter()
            .map(|row| row.cells.join(" "))
            .collect();
        assert_eq!(
            rows,
            [
                "slow pinned 48.2 5.77 87.0 31.4 < 1,000 - - 42 %",
                "twin-jvm pinned 48.2 5.77 87.0 31.4 2,000-2,100 0.94 2.35 42 %",
                "twin-native pinned 48.2 5.77 87.0 31.4 2,000-2,100 0.94 2.35 42 %",
                "wide pinned 48.2 5.77 87.0 31.4 \u{2265} 64,000 0.94 2.35 42 %",
            ]
        );
        assert_eq!(
            stalls(&summary),
            ["slow, ok at 1,000 req/s: p90 40.1 ms: a timer"]
        );
    }

    #[test]
    fn modes_are_never_in_one_table() {
        let mut summary = summary();
        summary.sustained[0].mode = "unleashed".into();
        let tables = tables(&summary);
        assert_eq!(tables.len(), 2);
        for table in &tables {
            let mode = &table.rows[0].of.mode;
            assert!(table.title.contains(mode.as_str()), "{}", table.title);
            assert!(table.rows.iter().all(|row| row.of.mode == *mode));
        }
        let native = &lists(&summary)[3].1;
        assert!(native.is_empty(), "nor held against each other: {native:?}");
    }

    #[test]
    fn native_is_held_against_the_jvm_where_both_are_there() {
        let mut summary = summary();
        summary.sustained[0].rates[1].p99_us = Some(4700.0);
        let [windows, why, room, native, rates] = lists(&summary);
        assert!(windows.1.len() == 1 && windows.1[0].starts_with("held for 4 s of load"));
        assert_eq!((why.1.len(), room.1.len()), (2, 4));
        let line =
            "twin-native against twin-jvm, ok: p99 us at 2,000/s: 4700 against 2350, ratio 2.000";
        assert!(native.1.contains(&line.to_owned()), "{:?}", native.1);
        assert!(
            rates.1[2].contains("2,000 4.70 ms 3/0/0 held"),
            "{:?}",
            rates.1
        );
    }
}
