//! The verdicts as the terminal, Markdown and HTML show them alike, and what could not be concluded.

use std::collections::BTreeMap;

use crate::record::schema::{Summary, Verdict};
use crate::report::table::{level, load_point, none, plain, ratio};

/// One workload at one load point, judged by one rule.
#[derive(Debug)]
pub struct Table<'a> {
    /// The rule, and what was asked of the adapters.
    pub title: String,
    /// By the names of the two sides, never by a figure: an order would look like a ranking.
    pub comparisons: Vec<Comparison<'a>>,
}

/// One side against another.
#[derive(Debug)]
pub struct Comparison<'a> {
    /// `a against b`.
    pub name: String,
    /// A row per metric, in the plan's order.
    pub rows: Vec<Row<'a>>,
}

/// One verdict in words.
#[derive(Debug)]
pub struct Row<'a> {
    /// The figures themselves.
    pub of: &'a Verdict,
    /// What is compared.
    pub metric: String,
    /// `faster`, `slower` or `no verdict`.
    pub verdict: String,
    /// `0.684 [0.671-0.698]`, and `-` where there is none.
    pub ratio: String,
    /// The interval's confidence, as in `98.75 %`.
    pub confidence: String,
    /// The pairs that it rests on.
    pub pairs: String,
    /// The null test's interval, as in `0.995-1.004`.
    pub null: String,
    /// Whether the values of the two sides do not overlap; `-` where that can't be told.
    pub separated: &'static str,
    /// The bootstrap's interval.
    pub bootstrap: String,
    /// How the ratio changes from short slices to long ones.
    pub slice_effect: String,
    /// How it drifts through the load.
    pub trend: String,
    /// Why there is no verdict; empty where there is one.
    pub reason: String,
}

/// What the columns mean.
pub const LEGEND: [&str; 4] = [
    "faster, slower: of the first of the two. Ratio: the first's figure / the second's, geometric mean over pairs [interval].",
    "The intervals' confidence counts in every comparison of the plan. null: the second against itself, 99 %; without 1 in it, order alone ranks.",
    "Separated (no value of one side within the other's) and the bootstrap are cross-checks: they decide nothing.",
    "Sorted by name.",
];

/// The tables of a summary: by the interval rule, then by the published one.
pub fn tables(summary: &Summary) -> Vec<Table<'_>> {
    let mut verdicts: Vec<&Verdict> = summary.verdicts.iter().collect();
    verdicts.sort_by_key(|v| (place(v), &v.a, &v.b, v.connections));
    let tables = verdicts.chunk_by(|a, b| place(a) == place(b));
    tables.map(table).collect()
}

/// Verdicts of one place, sorted.
fn table<'a>(verdicts: &[&'a Verdict]) -> Table<'a> {
    let comparisons = verdicts.chunk_by(|a, b| (&a.a, &a.b) == (&b.a, &b.b));
    let comparison = |verdicts: &[&'a Verdict]| Comparison {
        name: comparison(verdicts[0]),
        rows: verdicts.iter().copied().map(row).collect(),
    };
    Table {
        title: title(verdicts[0]),
        comparisons: comparisons.map(comparison).collect(),
    }
}

/// Comparisons without a verdict, a line each, with the metrics that share a reason.
pub fn withheld(summary: &Summary) -> Vec<String> {
    let mut lines: BTreeMap<(_, String, String), Vec<String>> = BTreeMap::new();
    for verdict in summary.verdicts.iter().filter(|v| v.verdict == NONE) {
        let key = (place(verdict), comparison(verdict), plain(&verdict.reason));
        lines.entry(key).or_default().push(metric(verdict));
    }
    let line = |((place, comparison, reason), metrics): (_, Vec<String>)| {
        let (published, workload, _, closed, rate, _): Place = place;
        let by = if published {
            ", by the published rule"
        } else {
            ""
        };
        format!(
            "no verdict on {}: {comparison}, {} {}{by}: {reason}",
            metrics.join(", "),
            plain(workload),
            load_point((!closed).then_some(rate)),
        )
    };
    lines.into_iter().map(line).collect()
}

const NONE: &str = "no verdict";

/// Published or not, workload, level, closed or not, rate, rule: the order of the tables.
type Place<'a> = (bool, &'a str, u32, bool, u64, &'a str);

fn place(verdict: &Verdict) -> Place<'_> {
    let Verdict {
        rule,
        workload,
        level,
        rate_rps,
        ..
    } = verdict;
    let closed = rate_rps.is_none();
    let rate = rate_rps.unwrap_or_default();
    (rule == "published", workload, *level, closed, rate, rule)
}

fn title(verdict: &Verdict) -> String {
    let by = match verdict.rule.as_str() {
        "interval" => "Verdicts".to_owned(),
        "published" => "Verdicts by the published rule".to_owned(),
        other => format!("Verdicts by the rule {}", plain(other)),
    };
    let (workload, load) = (plain(&verdict.workload), load_point(verdict.rate_rps));
    format!("{by}: {workload} {load} ({})", level(verdict.level))
}

fn comparison(verdict: &Verdict) -> String {
    format!("{} against {}", plain(&verdict.a), plain(&verdict.b))
}

fn row(verdict: &Verdict) -> Row<'_> {
    let interval = |low: Option<f64>, high: Option<f64>| {
        let ends = low.zip(high);
        ends.map(|(low, high)| format!("{}-{}", ratio(low), ratio(high)))
    };
    let of = |interval: Option<String>| interval.map_or_else(String::new, |i| format!(" [{i}]"));
    let or_none = |value: Option<String>| value.unwrap_or_else(none);
    let ci = interval(verdict.ci_low, verdict.ci_high);
    let known = ci.is_some();
    Row {
        of: verdict,
        metric: metric(verdict),
        verdict: plain(&verdict.verdict),
        ratio: or_none(verdict.ratio.map(|r| ratio(r) + &of(ci))),
        confidence: or_none(known.then(|| percent(verdict.confidence))),
        pairs: verdict.n.to_string(),
        null: or_none(interval(verdict.null_low, verdict.null_high)),
        separated: match verdict.separated {
            Some(true) => "yes",
            Some(false) => "no",
            None => "-",
        },
        bootstrap: or_none(interval(verdict.bootstrap_low, verdict.bootstrap_high)),
        slice_effect: or_none(verdict.slice_effect.map(ratio)),
        trend: or_none(verdict.trend.map(ratio)),
        reason: if verdict.verdict == NONE {
            plain(&verdict.reason)
        } else {
            String::new()
        },
    }
}

fn metric(verdict: &Verdict) -> String {
    match verdict.metric.as_str() {
        "cpu_us_per_request" => "CPU us/req".to_owned(),
        "main_thread_us_per_request" => "main thread us/req".to_owned(),
        "response_p50_us" => "response p50".to_owned(),
        "response_p99_us" => "response p99".to_owned(),
        "capacity_rps" => format!("req/s, {} connections", verdict.connections),
        other => plain(other),
    }
}

/// A share in percent, with the decimals that it needs and at most two.
fn percent(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
#[allow(missing_docs)]
pub mod tests {
    use super::*;

    /// A duel's summary with every kind of verdict in it.
    pub fn summary() -> Summary {
        let of = |a: &str, metric: &str, verdict: &str, ratio: f64| Verdict {
            a: a.into(),
            b: "node-http".into(),
            workload: "hello".into(),
            level: 1,
            rate_rps: Some(4000),
            connections: 32,
            metric: metric.into(),
            better: "lower".into(),
            rule: "interval".into(),
            verdict: verdict.into(),
            ratio: Some(ratio),
            ci_low: Some(ratio * 0.98),
            ci_high: Some(ratio * 1.02),
            confidence: 0.9875,
            n: 12,
            sd_log: Some(0.01),
            separated: Some(verdict != NONE),
            bootstrap_low: Some(ratio * 0.985),
            bootstrap_high: Some(ratio * 1.015),
            null_low: Some(0.995),
            null_high: Some(1.004),
            null_n: 6,
            slice_effect: Some(1.002),
            trend: Some(0.999),
            ..Verdict::default()
        };
        let closed = |connections: u32| Verdict {
            rate_rps: None,
            connections,
            better: "higher".into(),
            ..of("fastify", "capacity_rps", "faster", 1.41)
        };
        let withheld = Verdict {
            reason: "the null test's interval excludes 1: order alone ranks here".into(),
            null_low: Some(1.01),
            null_high: Some(1.19),
            ..of("fastify", "response_p99_us", NONE, 0.9)
        };
        let unmeasured = Verdict {
            reason: "no valid pair".into(),
            ratio: None,
            ci_low: None,
            ci_high: None,
            bootstrap_low: None,
            bootstrap_high: None,
            null_low: None,
            null_high: None,
            separated: None,
            n: 0,
            ..of("express@slow", "response_p50_us", NONE, 1.0)
        };
        let published = Verdict {
            rule: "published".into(),
            n: 3,
            ci_low: None,
            ci_high: None,
            bootstrap_low: None,
            bootstrap_high: None,
            ..of("fastify", "cpu_us_per_request", "faster", 0.7)
        };
        Summary {
            verdicts: vec![
                published,
                closed(100),
                closed(25),
                of("fastify", "cpu_us_per_request", "faster", 0.684),
                withheld,
                of("express@slow", "cpu_us_per_request", "slower", 12.3),
                unmeasured,
            ],
            comparable: true,
            ..Summary::default()
        }
    }

    #[test]
    fn by_rule_load_point_and_name_never_by_a_figure() {
        let summary = summary();
        let tables = tables(&summary);
        let titles: Vec<&str> = tables.iter().map(|table| table.title.as_str()).collect();
        assert_eq!(
            titles,
            [
                "Verdicts: hello at 4,000 req/s (level 1: bare pipeline)",
                "Verdicts: hello in closed loop (level 1: bare pipeline)",
                "Verdicts by the published rule: hello at 4,000 req/s (level 1: bare pipeline)",
            ]
        );
        let names = |table: &Table| -> Vec<String> {
            table.comparisons.iter().map(|c| c.name.clone()).collect()
        };
        assert_eq!(
            names(&tables[0]),
            [
                "express@slow against node-http",
                "fastify against node-http"
            ]
        );
        let closed = &tables[1].comparisons[0].rows;
        let metrics: Vec<&str> = closed.iter().map(|row| row.metric.as_str()).collect();
        assert_eq!(metrics, ["req/s, 25 connections", "req/s, 100 connections"]);
    }

    #[test]
    fn each_kind_of_verdict_says_what_it_rests_on() {
        let summary = summary();
        let tables = tables(&summary);
        let [slow, fast] = &tables[0].comparisons[..] else {
            panic!("two comparisons");
        };
        let [faster, withheld] = &fast.rows[..] else {
            panic!("two metrics");
        };
        assert_eq!(faster.ratio, "0.684 [0.670-0.698]");
        assert_eq!((&*faster.pairs, &*faster.confidence), ("12", "98.75 %"));
        assert_eq!((&*faster.null, faster.separated), ("0.995-1.004", "yes"));
        assert_eq!((&*faster.slice_effect, &*faster.trend), ("1.002", "0.999"));
        assert_eq!(faster.reason, "");
        assert!(withheld.reason.contains("order alone ranks"));
        assert_eq!(slow.rows[0].verdict, "slower");
        assert_eq!(slow.rows[0].ratio, "12.3 [12.1-12.5]");
        let none = &slow.rows[1];
        assert_eq!([&*none.ratio, &none.null, none.separated], ["-"; 3]);
        assert_eq!((&*none.confidence, &*none.pairs), ("-", "0"));
        let published = &tables[2].comparisons[0].rows[0];
        assert_eq!((&*published.ratio, &*published.bootstrap), ("0.700", "-"));
    }

    #[test]
    fn what_is_withheld_is_listed_once_per_comparison_and_reason() {
        let mut summary = summary();
        let mut same = summary.verdicts[4].clone();
        same.metric = "response_p50_us".into();
        summary.verdicts.push(same);
        assert_eq!(
            super::withheld(&summary),
            [
                "no verdict on response p50: express@slow against node-http, hello at 4,000 req/s: no valid pair",
                "no verdict on response p99, response p50: fastify against node-http, hello at 4,000 req/s: the null test's interval excludes 1: order alone ranks here",
            ]
        );
    }

    #[test]
    fn a_confidence_has_the_decimals_that_it_needs() {
        for (share, text) in [(0.99, "99 %"), (0.9875, "98.75 %"), (0.999_21, "99.92 %")] {
            assert_eq!(percent(share), text);
        }
    }
}
