//! The summary's figures as tables: groups, cells, verdicts.

use crate::record::details::Details;
use crate::record::schema::{Cell as Measured, Group, Hole, Price, Spread, Summary};
use crate::report::html::grid::{Cell, Row, grid};
use crate::report::html::markup::{Html, tag};
use crate::report::table::{load_point, name, plain, ratio, short};
use crate::report::verdicts;
use crate::stats::groups::FIGURES;

/// The figures that most people come for, and what they are called here.
const MAIN: [(&str, &str); 14] = [
    ("response_us.p50", "p50 us"),
    ("response_us.p90", "p90 us"),
    ("response_us.p99", "p99 us"),
    ("response_us.p999", "p99.9 us"),
    ("response_us.max", "max us"),
    ("cpu_us_per_request", "CPU us/req"),
    ("main_thread_us_per_request", "main thread us/req"),
    ("rss_mib.baseline", "RSS MiB baseline"),
    ("rss_mib.load", "RSS MiB load"),
    ("rss_mib.recovery", "RSS MiB recovery"),
    ("start_ms", "start ms"),
    ("image_mib", "image MiB"),
    ("achieved_rps", "req/s"),
    ("coverage", "coverage"),
];

/// A workload's groups, and the adapters that have no group in it.
pub fn main_figures(caption: &str, groups: &[&Group], holes: &[&Hole]) -> Html {
    table(caption, groups, holes, &MAIN)
}

/// All the other figures of the same groups.
pub fn other_figures(caption: &str, groups: &[&Group]) -> Html {
    let is_main = |name: &str| MAIN.iter().any(|(main, _)| *main == name);
    let others = FIGURES.iter().map(|(name, _)| (*name, *name));
    let others: Vec<(&str, &str)> = others.filter(|(name, _)| !is_main(name)).collect();
    table(caption, groups, &[], &others)
}

fn table(caption: &str, groups: &[&Group], holes: &[&Hole], figures: &[(&str, &str)]) -> Html {
    let mut columns = vec!["adapter", "load", "connections", "healthy / valid / runs"];
    // The same name at the same load more than once: beside others each time.
    let in_company = groups.iter().any(|group| group.sides != groups[0].sides);
    if in_company {
        columns.push("alive together");
    }
    columns.extend(figures.iter().map(|(_, column)| *column));
    let row = |group: &&Group| {
        let of = |name: &str| group.figures.get(name).copied().flatten();
        let figures = figures.iter().map(|(name, _)| range(of(name)));
        let (healthy, valid, runs) = (group.healthy_runs, group.valid_runs, group.runs);
        let connections = group.connections;
        let mut cells = vec![
            Cell::Words(load_point(group.rate_rps)),
            Cell::Figure(connections.to_string(), f64::from(connections)),
            Cell::Words(format!("{healthy} / {valid} / {runs}")),
        ];
        if in_company {
            let sides = match &group.sides[..] {
                [] => "alone".to_owned(),
                sides => plain(&sides.join(", ")),
            };
            cells.push(Cell::Words(sides));
        }
        cells.extend(figures);
        Row {
            class: if healthy < runs { "warn" } else { "" },
            name: name(&group.adapter, &group.label),
            cells,
        }
    };
    let hole = |hole: &&Hole| Row {
        class: "hole",
        name: plain(&hole.adapter),
        cells: vec![Cell::Words(format!(
            "not measured: {}",
            plain(&hole.reason)
        ))],
    };
    let mut rows: Vec<Row> = groups
        .iter()
        .map(row)
        .chain(holes.iter().map(hole))
        .collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    grid(caption, &columns, &rows)
}

/// A median; with its range where there is more than one value.
fn range(spread: Option<Spread>) -> Cell {
    let Some(Spread { median, min, max }) = spread else {
        return Cell::Nothing("not every valid run has it, or there is no valid run".into());
    };
    let mut shown = short(median);
    if min < max {
        shown += &format!(" [{}-{}]", short(min), short(max));
    }
    Cell::Range(shown, [median, min, max])
}

/// A column of cells: its name, the figure's path in a cell's `nulls`, and how to read it.
type Column = (&'static str, &'static str, fn(&Measured) -> Option<f64>);

const CELL_COLUMNS: [Column; 11] = [
    ("completed", "", |c| Some(c.load.ledger.completed as f64)),
    ("coverage", "coverage", |c| c.load.coverage),
    ("p50 us", "response_us.p50", |c| c.load.response_us.p50),
    ("p99 us", "response_us.p99", |c| c.load.response_us.p99),
    ("service p99 us", "service_us.p99", |c| {
        c.load.service_us.p99
    }),
    ("send lag p99 us", "lag_us.p99", |c| c.load.lag_us.p99),
    (
        "generator late p99 us",
        "lag_causes.generator_late.p99_us",
        |c| c.load.lag_causes.generator_late.p99_us,
    ),
    ("CPU us/req", "cpu_us_per_request", |c| c.cpu_us_per_request),
    ("RSS MiB load", "rss_mib.load", |c| c.rss_mib.load),
    ("throttled periods", "throttled_periods", |c| {
        c.throttled_periods.map(|n| n as f64)
    }),
    ("generator's longest pause us", "", |c| {
        Some(c.load.longest_pause_us)
    }),
];

/// Every cell and attempt, with what speaks against it.
pub fn cells(caption: &str, summary: &Summary, details: &Details) -> Html {
    let mut columns = vec!["cell", "role", "valid", "healthy"];
    columns.extend(CELL_COLUMNS.map(|(column, _, _)| column));
    columns.push("reasons");
    let row = |(cell, folder): (&Measured, &String)| {
        let (class, valid) = match cell.load.valid {
            true => ("", "valid"),
            false => ("invalid", "invalid"),
        };
        let healthy = match cell.healthy {
            Some(true) => "healthy",
            Some(false) => "unhealthy",
            None => "not told",
        };
        let figure = |(_, path, of): Column| match of(cell) {
            Some(value) => Cell::Figure(short(value), value),
            None => Cell::Nothing(cell.load.nulls.get(path).cloned().unwrap_or_default()),
        };
        let reasons = cell
            .load
            .invalid_reasons
            .iter()
            .chain(&cell.unhealthy_reasons);
        let reasons: Vec<String> = reasons.map(|reason| plain(reason)).collect();
        let mut cells: Vec<Cell> = [&*plain(&cell.key.role), valid, healthy]
            .map(|words| Cell::Words(words.to_owned()))
            .into();
        cells.extend(CELL_COLUMNS.map(figure));
        cells.push(Cell::Words(reasons.join("; ")));
        Row {
            class,
            name: folder.clone(),
            cells,
        }
    };
    let rows = summary.cells.iter().zip(&details.folders).map(row);
    grid(caption, &columns, &rows.collect::<Vec<Row>>())
}

/// Comparisons against metrics: the verdict, and beneath it the ratio with its interval.
pub fn matrix(table: &verdicts::Table) -> Html {
    let mut metrics: Vec<&str> = Vec::new();
    for row in table.comparisons.iter().flat_map(|c| &c.rows) {
        if !metrics.contains(&row.metric.as_str()) {
            metrics.push(&row.metric);
        }
    }
    let columns: Vec<&str> = std::iter::once("comparison")
        .chain(metrics.iter().copied())
        .collect();
    let row = |comparison: &verdicts::Comparison| {
        let cell = |metric: &&str| {
            let of_metric = comparison.rows.iter().find(|row| row.metric == **metric);
            of_metric.map_or_else(|| Cell::Nothing("not asked".into()), verdict)
        };
        Row {
            class: "",
            name: comparison.name.clone(),
            cells: metrics.iter().map(cell).collect(),
        }
    };
    let rows: Vec<Row> = table.comparisons.iter().map(row).collect();
    grid(&table.title, &columns, &rows)
}

/// The word has a sign of its own, so that nobody needs its colour.
fn verdict(row: &verdicts::Row) -> Cell {
    let (class, sign) = match row.of.verdict.as_str() {
        "faster" => ("verdict faster", "\u{25b2} "),
        "slower" => ("verdict slower", "\u{25bc} "),
        _ => ("verdict withheld", "\u{25cb} "),
    };
    let word = tag("b").text(&format!("{sign}{}", row.verdict));
    let ratio = tag("span").text(&row.ratio);
    let why = if row.reason.is_empty() {
        Html::default()
    } else {
        tag("small").text(&row.reason)
    };
    Cell::Marked(class, word.then(&ratio).then(&why))
}

/// What equal service costs; nothing where it was not measured.
pub fn prices(prices: &[Price]) -> Html {
    const CAPTION: &str =
        "What equal service costs: CPU us/req, a workload after the other (indicative, no verdict)";
    const COLUMNS: [&str; 8] = [
        "who",
        "load",
        "bare pipeline",
        "equal service",
        "bare us",
        "equal us",
        "equal / bare",
        "pairs",
    ];
    if prices.is_empty() {
        return Html::default();
    }
    let row = |price: &Price| Row {
        class: "",
        name: plain(&price.who),
        cells: vec![
            Cell::Words(load_point(Some(price.rate_rps))),
            Cell::Words(plain(&price.bare)),
            Cell::Words(plain(&price.equal)),
            Cell::Figure(short(price.bare_us), price.bare_us),
            Cell::Figure(short(price.equal_us), price.equal_us),
            Cell::Figure(ratio(price.price), price.price),
            Cell::Words(format!("{} and {}", price.bare_n, price.equal_n)),
        ],
    };
    grid(
        CAPTION,
        &COLUMNS,
        &prices.iter().map(row).collect::<Vec<Row>>(),
    )
}

/// All that the verdicts of a table rest on.
pub fn verdicts(table: &verdicts::Table) -> Html {
    const COLUMNS: [&str; 17] = [
        "comparison",
        "metric",
        "verdict",
        "ratio",
        "interval from",
        "interval to",
        "confidence",
        "pairs",
        "SD of log-ratio",
        "null from",
        "null to",
        "null pairs",
        "separated",
        "bootstrap",
        "slice effect",
        "trend",
        "why",
    ];
    let row = |(name, row): (&str, &verdicts::Row)| {
        let of = row.of;
        let factor = |value: Option<f64>| match value {
            Some(value) => Cell::Figure(ratio(value), value),
            None => Cell::Nothing(String::new()),
        };
        let words = |words: &str| Cell::Words(words.to_owned());
        let sd = of.sd_log.map(|sd| Cell::Figure(format!("{sd:.4}"), sd));
        let count = |n: u32| Cell::Figure(n.to_string(), f64::from(n));
        Row {
            class: "",
            name: name.to_owned(),
            cells: vec![
                words(&row.metric),
                words(&row.verdict),
                factor(of.ratio),
                factor(of.ci_low),
                factor(of.ci_high),
                words(&row.confidence),
                count(of.n),
                sd.unwrap_or(Cell::Nothing(String::new())),
                factor(of.null_low),
                factor(of.null_high),
                count(of.null_n),
                words(row.separated),
                words(&row.bootstrap),
                factor(of.slice_effect),
                factor(of.trend),
                words(&plain(&of.reason)),
            ],
        }
    };
    let rows = table.comparisons.iter();
    let rows = rows.flat_map(|c| c.rows.iter().map(|row| (c.name.as_str(), row)));
    let caption = format!("{}: all that they rest on", table.title);
    grid(&caption, &COLUMNS, &rows.map(row).collect::<Vec<Row>>())
}
