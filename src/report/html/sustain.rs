//! Sustained rates: the table, the p99 of each target over the rate, and every rate that was tried.

use crate::record::schema::{Rung, Summary, Sustained};
use crate::report::html::chart::{
    Shape, WIDTH, figure, legend, line, mark, plain as round, series, svg, text, x_axis, y_axis,
};
use crate::report::html::grid::{Cell, Row, folded, grid, list};
use crate::report::html::markup::{Html, tag};
use crate::report::html::scale::Scale;
use crate::report::sustain::{COLUMNS, LEGEND, Table, lists, tables};
use crate::report::table::{name, plain, short, thousands};

const LEFT: f64 = 50.0;
const TOP: f64 = 4.0;
const BOTTOM: f64 = 212.0;

/// Everything about the sustained rates of a summary that has some.
pub fn sustain(summary: &Summary) -> Html {
    let criterion_ms = summary
        .plan
        .pointer("/criterion/p99_ms")
        .and_then(|ms| ms.as_f64());
    let tables = tables(summary);
    let shown = tables.iter().map(|table| shown(table, criterion_ms));
    let legend = LEGEND.iter().map(|line| tag("p").text(line));
    let lists = lists(summary)
        .into_iter()
        .filter(|(_, lines)| !lines.is_empty());
    let lists = lists.map(|(title, lines)| tag("h4").text(title).then(&list(&lines)));
    shown.chain(legend).chain(lists).collect()
}

fn shown(table: &Table, criterion_ms: Option<f64>) -> Html {
    let rates = folded("Every rate that was tried", &rates(table));
    let heading = tag("h3").text(&table.title);
    let parts = [heading, main(table), over_rates(table, criterion_ms), rates];
    tag("section").html(&parts.into_iter().collect())
}

/// The experiment's table.
fn main(table: &Table) -> Html {
    let row = |row: &crate::report::sustain::Row| {
        let exact = exact(row.of);
        let cells = row.cells.iter().zip(exact).skip(1);
        let cells = cells.map(|(shown, exact)| match exact {
            Some(exact) => Cell::Figure(shown.clone(), exact),
            None => Cell::Words(shown.clone()),
        });
        Row {
            class: if row.of.reason.is_empty() { "" } else { "warn" },
            name: row.cells[0].clone(),
            cells: cells.collect(),
        }
    };
    let rows: Vec<Row> = table.rows.iter().map(row).collect();
    grid(&table.title, &COLUMNS, &rows)
}

/// The columns' figures, by which they are sorted.
fn exact(row: &Sustained) -> [Option<f64>; COLUMNS.len()] {
    [
        None,
        None,
        row.image_mib,
        row.image_own_mib,
        row.idle_rss_mib,
        row.start_ms,
        row.rate_rps.map(|rate| rate as f64),
        row.p50_us,
        row.p99_us,
        row.generator_busy,
    ]
}

/// The p99 over the rate, a line for each target: a circle where the rate was held, a triangle that points
/// down where it was not; and the criterion.
fn over_rates(table: &Table, criterion_ms: Option<f64>) -> Html {
    let all = || table.rows.iter().flat_map(|row| &row.of.rates);
    let ms = |rung: &Rung| rung.p99_us.map(|us| us / 1e3);
    let y = Scale::log(all().filter_map(ms).chain(criterion_ms), (BOTTOM, TOP));
    let x = Scale::log(
        all().map(|rung| rung.rate_rps as f64),
        (LEFT + 6.0, WIDTH - 22.0),
    );
    let ticks = x.ticks().into_iter().map(|rate| (rate, round(rate)));
    let axes = y_axis(&y, LEFT, |ms| format!("{} ms", round(ms)));
    let mut content = axes.then(&x_axis(&x, ticks, (TOP, BOTTOM)));
    if let Some(ms) = criterion_ms {
        let at = y.at(ms);
        content.push(&line("one", (LEFT, at), (WIDTH - 6.0, at)));
        content.push(&text("tick end", (WIDTH - 8.0, at - 3.0), "criterion"));
    }
    let mut names = Vec::new();
    for (number, row) in table.rows.iter().enumerate() {
        let (colour, name) = (series(number), name(&row.of.adapter, &row.of.label));
        let mut before: Option<(f64, f64)> = None;
        for rung in &row.of.rates {
            let drawn = ms(rung).map(|ms| (x.at(rung.rate_rps as f64), y.at(ms)));
            if let (Some(before), Some(here)) = (before, drawn) {
                content.push(&line(&format!("line {colour}"), before, here));
            }
            if let (Some(place), Some(ms)) = (drawn, ms(rung)) {
                let shape = match rung.state.as_str() {
                    "held" => Shape::Circle,
                    _ => Shape::Down,
                };
                let (rate, state) = (thousands(rung.rate_rps), plain(&rung.state));
                let words = format!("{name}, {rate} req/s: p99 {} ms, {state}", short(ms));
                content.push(&mark(shape, &colour, place, ms, &words));
            }
            // A rate without a figure breaks the line: nothing is known there.
            before = drawn;
        }
        names.push((format!("line {colour}"), name));
    }
    let heading = "p99 of the response over the rate, req/s: \u{25cf} held, \u{25bc} not";
    let chart = figure(heading, &svg(BOTTOM + 20.0, heading, &content));
    legend(names.into_iter()).then(&tag("div").set("class", "charts").html(&chart))
}

fn rates(table: &Table) -> Html {
    let columns = [
        "adapter",
        "req/s",
        "state",
        "held",
        "not held",
        "invalid",
        "p50 us",
        "p99 us",
        "generator",
        "per CPU s",
    ];
    let figure = |value: Option<f64>| match value {
        Some(value) => Cell::Figure(short(value), value),
        None => Cell::Nothing(String::new()),
    };
    let row = |of: &Sustained, rung: &Rung| Row {
        class: if rung.state == "held" { "" } else { "warn" },
        name: name(&of.adapter, &of.label),
        cells: vec![
            Cell::Figure(thousands(rung.rate_rps), rung.rate_rps as f64),
            Cell::Words(plain(&rung.state)),
            figure(Some(rung.held.into())),
            figure(Some(rung.not_held.into())),
            figure(Some(rung.invalid.into())),
            figure(rung.p50_us),
            figure(rung.p99_us),
            figure(rung.generator_busy),
            figure(rung.generator_rps_per_cpu_s),
        ],
    };
    let rows = table.rows.iter().map(|shown| shown.of);
    let rows: Vec<Row> = rows
        .flat_map(|of| of.rates.iter().map(move |rung| row(of, rung)))
        .collect();
    grid("Every rate that was tried", &columns, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sustain::tests::summary;

    #[test]
    fn each_rate_is_a_mark_with_its_value_and_the_criterion_a_line() {
        let mut summary = summary();
        summary.plan = serde_json::json!({"criterion": {"p99_ms": 10.0}});
        summary.sustained[0].rates[1].state = "not held".into();
        let html = sustain(&summary);
        let html = html.as_str();
        let rates: usize = summary.sustained.iter().map(|row| row.rates.len()).sum();
        assert_eq!(html.matches("class=\"mark ").count(), rates);
        assert!(html.contains("data-v=\"2.35\"") && html.contains(">criterion<"));
        assert!(
            html.contains("twin-native, 2,000 req/s: p99 2.35 ms, not held"),
            "{html}"
        );
        assert!(html.contains("data-v=\"64000\""), "sorted by its value");
    }

    #[test]
    fn names_from_outside_stay_names_and_figures_may_be_missing() {
        let mut summary = summary();
        summary.sustained[0].adapter = "<script>".into();
        for rung in summary.sustained.iter_mut().flat_map(|row| &mut row.rates) {
            (rung.p50_us, rung.p99_us) = (None, None);
        }
        let html = sustain(&summary);
        assert!(!html.as_str().contains("<script>"));
        assert!(!html.as_str().contains("class=\"mark "));
    }
}
