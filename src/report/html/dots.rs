//! Charts of the summary's own figures: a mark for each, with its range.

use crate::record::schema::{Group, Spread, Verdict};
use crate::report::html::chart::{
    Shape, WIDTH, cut, figure, legend, line, mark, plain, series, svg, text, time, x_axis, y_axis,
};
use crate::report::html::markup::{Html, tag};
use crate::report::html::scale::Scale;
use crate::report::table::{name, short, thousands};
use crate::report::verdicts;

/// Where the names end and the drawing begins.
const LEFT: f64 = 112.0;
const RIGHT: f64 = WIDTH - 12.0;
const ROW: f64 = 22.0;
const TOP: f64 = 4.0;

fn spread(group: &Group, figure: &str) -> Option<Spread> {
    group.figures.get(figure).copied().flatten()
}

fn words(name: &str, spread: &Spread) -> String {
    let (median, min, max) = (short(spread.median), short(spread.min), short(spread.max));
    format!("{name}: {median} [{min}-{max}]")
}

/// CPU time per request, an adapter below the other.
pub fn cpu(groups: &[(&Group, usize)]) -> Html {
    let of = [("cpu_us_per_request", "CPU us per request", Shape::Circle)];
    rows(groups, "CPU per request, us", &of)
}

/// Resident memory in the three phases.
pub fn memory(groups: &[(&Group, usize)]) -> Html {
    let of = [
        ("rss_mib.baseline", "baseline", Shape::Up),
        ("rss_mib.load", "load", Shape::Square),
        ("rss_mib.recovery", "recovery", Shape::Circle),
    ];
    rows(
        groups,
        "Resident memory, MiB: \u{25b2} baseline, \u{25a0} load (its most), \u{25cf} recovery",
        &of,
    )
}

fn rows(groups: &[(&Group, usize)], heading: &str, figures: &[(&str, &str, Shape)]) -> Html {
    let bottom = TOP + ROW * groups.len() as f64;
    let all = groups.iter().flat_map(|(group, _)| {
        figures
            .iter()
            .filter_map(|(figure, _, _)| Some(spread(group, figure)?.max))
    });
    let x = Scale::from_zero(all, (LEFT, RIGHT));
    let ticks = x.ticks().into_iter().map(|value| (value, plain(value)));
    let axis = x_axis(&x, ticks, (TOP, bottom));
    let row = |(i, (group, number)): (usize, &(&Group, usize))| {
        let at = TOP + ROW * (i as f64 + 0.5);
        let name = name(&group.adapter, &group.label);
        let colour = series(*number);
        let label = text("name end", (LEFT - 6.0, at + 4.0), &cut(&name, 17));
        // Several figures of a row lie a little below each other, for they are often nearly equal.
        let one = |(i, (figure, what, shape)): (usize, &(&str, &str, Shape))| {
            let spread = spread(group, figure)?;
            let at = at + 5.0 * (i as f64 - (figures.len() - 1) as f64 / 2.0);
            let (low, high) = (x.at(spread.min), x.at(spread.max));
            let range = line(&format!("range {colour}"), (low, at), (high, at));
            let words = words(&format!("{name}, {what}"), &spread);
            let place = (x.at(spread.median), at);
            Some(range.then(&mark(*shape, &colour, place, spread.median, &words)))
        };
        let without = figures
            .iter()
            .filter(|(figure, _, _)| spread(group, figure).is_none());
        let without: Vec<&str> = without.map(|(_, what, _)| *what).collect();
        let missing = if without.is_empty() {
            Html::default()
        } else {
            let words = format!("no figure: {}", without.join(", "));
            // On the side that the marks leave free.
            let found = figures.iter().filter_map(|(f, _, _)| spread(group, f));
            let is_right = found.map(|s| x.at(s.max)).fold(LEFT, f64::max) > (LEFT + RIGHT) / 2.0;
            let (class, from) = if is_right {
                ("none", LEFT + 4.0)
            } else {
                ("none end", RIGHT)
            };
            text(class, (from, at + 4.0), &words)
        };
        label
            .then(&missing)
            .then(&figures.iter().enumerate().filter_map(one).collect())
    };
    let content = axis.then(&groups.iter().enumerate().map(row).collect());
    figure(heading, &svg(bottom + 20.0, heading, &content))
}

/// The 99th percentile of the response over the rate, a line for each adapter; none for fewer than
/// two rates.
pub fn over_rates(groups: &[(&Group, usize)]) -> Option<Html> {
    const LEFT: f64 = 50.0;
    const BOTTOM: f64 = 212.0;
    let mut rates: Vec<u64> = groups
        .iter()
        .filter_map(|(group, _)| group.rate_rps)
        .collect();
    rates.sort_unstable();
    rates.dedup();
    if rates.len() < 2 {
        return None;
    }
    let figure_of = |group: &Group| spread(group, "response_us.p99");
    let ranges = groups.iter().filter_map(|(group, _)| figure_of(group));
    let y = Scale::log(ranges.flat_map(|s| [s.min, s.max]), (BOTTOM, TOP));
    let x = Scale::log(
        rates.iter().map(|rate| *rate as f64),
        (LEFT + 6.0, WIDTH - 22.0),
    );
    let ticks = rates.iter().map(|rate| (*rate as f64, thousands(*rate)));
    let mut content = y_axis(&y, LEFT, time).then(&x_axis(&x, ticks, (TOP, BOTTOM)));
    let mut names = Vec::new();
    for of_line in groups.chunk_by(|a, b| (a.1, &a.0.sides) == (b.1, &b.0.sides)) {
        let (first, number) = of_line[0];
        let (name, colour) = (name(&first.adapter, &first.label), series(number));
        names.push((format!("line {colour}"), name.clone()));
        let mut before: Option<(f64, f64)> = None;
        for (group, _) in of_line {
            let drawn = group.rate_rps.zip(figure_of(group)).map(|(rate, spread)| {
                let place = (x.at(rate as f64), y.at(spread.median));
                let ends = (y.at(spread.min), y.at(spread.max));
                content.push(&line(
                    &format!("range {colour}"),
                    (place.0, ends.0),
                    (place.0, ends.1),
                ));
                if let Some(before) = before {
                    content.push(&line(&format!("line {colour}"), before, place));
                }
                let words = words(
                    &format!("{name}, p99 us at {} req/s", thousands(rate)),
                    &spread,
                );
                content.push(&mark(Shape::Circle, &colour, place, spread.median, &words));
                place
            });
            // A rate without a figure breaks the line: nothing is known there.
            before = drawn;
        }
    }
    // Who was alive beside others more than once has more than one line.
    names.dedup();
    let heading = "p99 of the response over the rate, req/s";
    let chart = figure(heading, &svg(BOTTOM + 20.0, heading, &content));
    Some(legend(names.into_iter()).then(&tag("div").set("class", "charts").html(&chart)))
}

/// The ratios of one table of verdicts with their intervals, and behind them the null test's.
pub fn forest(table: &verdicts::Table) -> Html {
    const LEFT: f64 = 128.0;
    let verdicts = || {
        table
            .comparisons
            .iter()
            .flat_map(|c| &c.rows)
            .map(|row| row.of)
    };
    let ends = |v: &Verdict| [v.ratio, v.ci_low, v.ci_high, v.null_low, v.null_high];
    let x = Scale::log(
        verdicts().flat_map(ends).flatten().chain([1.0]),
        (LEFT + 12.0, RIGHT),
    );
    let lines = table
        .comparisons
        .iter()
        .map(|c| c.rows.len() + 1)
        .sum::<usize>();
    let bottom = TOP + ROW * lines as f64;
    let ticks = x.ticks().into_iter().map(|value| (value, plain(value)));
    let one = line("one", (x.at(1.0), TOP), (x.at(1.0), bottom));
    let mut content = x_axis(&x, ticks, (TOP, bottom)).then(&one);
    let mut at = TOP + ROW / 2.0;
    for comparison in &table.comparisons {
        content.push(&text("name", (2.0, at + 4.0), &cut(&comparison.name, 54)));
        for row in &comparison.rows {
            at += ROW;
            content.push(&text(
                "name end",
                (LEFT + 4.0, at + 4.0),
                &cut(&row.metric, 24),
            ));
            content.push(&verdict(
                row.of,
                &x,
                at,
                &format!("{}, {}: {}", comparison.name, row.metric, row.ratio),
            ));
        }
        at += ROW;
    }
    let heading = "Ratio with its interval; grey: the null test's";
    figure(heading, &svg(bottom + 20.0, heading, &content))
}

fn verdict(verdict: &Verdict, x: &Scale, at: f64, words: &str) -> Html {
    let Some(value) = verdict.ratio else {
        return text("none", (x.at(1.0) + 6.0, at + 4.0), "no ratio");
    };
    let (shape, class) = match verdict.verdict.as_str() {
        "faster" => (Shape::Up, "faster"),
        "slower" => (Shape::Down, "slower"),
        _ => (Shape::Circle, "withheld"),
    };
    let stretch = |class: &str, low: Option<f64>, high: Option<f64>| {
        let ends = low.zip(high).map(|(low, high)| (x.at(low), x.at(high)));
        ends.map(|(low, high)| line(class, (low, at), (high, at)))
            .unwrap_or_default()
    };
    let null = stretch("null", verdict.null_low, verdict.null_high);
    let interval = stretch(
        &format!("interval {class}"),
        verdict.ci_low,
        verdict.ci_high,
    );
    let words = format!("{words}: {}", verdict.verdict);
    let mark = mark(shape, class, (x.at(value), at), value, &words);
    null.then(&interval).then(&mark)
}
