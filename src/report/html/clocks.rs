//! Charts of the clocks: by percentile, and in the course of the load.

use crate::record::details::{Course, CurvePoint, GroupDetails, Step};
use crate::record::schema::{Cell, Group};
use crate::report::html::chart::{
    WIDTH, figure, legend, line, plain, px, series, svg, text, time, x_axis, y_axis,
};
use crate::report::html::markup::{Html, tag};
use crate::report::html::scale::Scale;
use crate::report::table::name;

/// A group, what is drawn of it, and the number of its adapter's colour.
pub type Drawn<'a> = (&'a Group, &'a GroupDetails, usize);

const LEFT: f64 = 50.0;
const RIGHT: f64 = WIDTH - 22.0;
const TOP: f64 = 8.0;

/// Response and service by percentile, side by side on one scale, and whose lines they are.
pub fn percentiles(groups: &[Drawn]) -> Html {
    type Clock = (&'static str, fn(&GroupDetails) -> &[CurvePoint]);
    const BOTTOM: f64 = 212.0;
    let clocks: [Clock; 2] = [
        ("Response by percentile: what a user waits", |d| &d.response),
        ("Service by percentile: from the first byte sent", |d| {
            &d.service
        }),
    ];
    let all = || {
        groups
            .iter()
            .flat_map(|(_, d, _)| d.response.iter().chain(&d.service))
    };
    let y = Scale::log(all().map(|point| point.us), (BOTTOM, TOP));
    let most = all().map(|point| nines(point.beyond)).fold(1.0, f64::max);
    let x = Scale::linear((0.0, most), (LEFT, RIGHT));
    let chart = |(heading, of): Clock| {
        let curve = |(group, details, number): &Drawn| {
            let places = of(details)
                .iter()
                .map(|p| (x.at(nines(p.beyond)), y.at(p.us)));
            curve(
                places,
                &series(*number),
                &name(&group.adapter, &group.label),
            )
        };
        let axes = y_axis(&y, LEFT, time).then(&percentile_axis(&x, most, BOTTOM));
        let content = axes.then(&groups.iter().map(curve).collect());
        figure(heading, &svg(BOTTOM + 20.0, heading, &content))
    };
    let lines = |(group, details, number): &Drawn| {
        let name = name(&group.adapter, &group.label);
        match (details.runs.is_empty(), details.response.is_empty()) {
            (true, _) => ("absent".to_owned(), format!("{name}: no valid run")),
            (_, true) => ("absent".to_owned(), format!("{name}: too few slots")),
            _ => (format!("line {}", series(*number)), name),
        }
    };
    let charts = tag("div").set("class", "charts");
    legend(groups.iter().map(lines)).then(&charts.html(&clocks.into_iter().map(chart).collect()))
}

/// 0.01 beyond is two nines, the 99th percentile.
fn nines(beyond: f64) -> f64 {
    -beyond.log10()
}

fn percentile_axis(x: &Scale, most: f64, bottom: f64) -> Html {
    const TICKS: [(f64, &str); 7] = [
        (1.0, "0 %"),
        (0.5, "50 %"),
        (0.1, "90 %"),
        (0.01, "99 %"),
        (1e-3, "99.9 %"),
        (1e-4, "99.99 %"),
        (1e-5, "99.999 %"),
    ];
    let ticks = TICKS.map(|(beyond, words)| (nines(beyond), words));
    // The first one where its words and the median's have room beside each other.
    let has_room = x.at(nines(0.5)) - x.at(0.0) > 32.0;
    let within = ticks
        .into_iter()
        .filter(|(at, _)| *at <= most + 1e-9 && (*at > 0.0 || has_room));
    x_axis(
        x,
        within.map(|(at, words)| (at, words.to_owned())),
        (TOP, bottom),
    )
}

fn curve(places: impl Iterator<Item = (f64, f64)>, class: &str, name: &str) -> Html {
    let mut d = String::new();
    for (x, y) in places {
        d.push(if d.is_empty() { 'M' } else { 'L' });
        d += &format!("{} {}", px(x), px(y));
    }
    path(&d, &format!("line {class}"), name)
}

/// Nothing where there is nothing to draw.
fn path(d: &str, class: &str, name: &str) -> Html {
    if d.is_empty() {
        return Html::default();
    }
    let path = tag("path").set("class", class).set("d", d);
    path.html(&tag("title").text(name))
}

/// Each group's runs in the course of their loads, all on one scale.
pub fn courses(groups: &[Drawn], cells: &[Cell]) -> Html {
    let runs = || groups.iter().flat_map(|(_, details, _)| &details.runs);
    let steps = || runs().flat_map(|run| run.p50.iter().chain(&run.p99));
    let lag = |run: &Course| cells[run.cell].load.lag_us.p99;
    let values = steps().map(|step| step.us).chain(runs().filter_map(lag));
    let y = Scale::log(values, (112.0, TOP));
    let x = Scale::linear(
        (0.0, steps().map(|step| step.end_s).fold(1.0, f64::max)),
        (LEFT, RIGHT),
    );
    let lines = [
        ("line p50", "p50 of each second's slots"),
        ("line p99", "p99, over as many seconds as it needs"),
        (
            "line lag",
            "p99 of the send lag, over the whole load: the archive has none by second",
        ),
    ];
    let legend = legend(
        lines
            .into_iter()
            .map(|(class, what)| (class.to_owned(), what.to_owned())),
    );
    let chart = |(group, details, _): &Drawn| {
        let name = name(&group.adapter, &group.label);
        let ticks = x
            .ticks()
            .into_iter()
            .map(|s| (s, format!("{} s", plain(s))));
        let axes = y_axis(&y, LEFT, time).then(&x_axis(&x, ticks, (TOP, 112.0)));
        let run = |run: &Course| {
            let lag = lag(run).map(|us| line("line lag", (LEFT, y.at(us)), (RIGHT, y.at(us))));
            let p50 = stairs(&run.p50, &x, &y, "line p50");
            let p99 = stairs(&run.p99, &x, &y, "line p99");
            lag.unwrap_or_default().then(&p50).then(&p99)
        };
        let drawn: Html = if details.runs.is_empty() {
            text("none", (LEFT + 8.0, 60.0), "no valid run")
        } else {
            details.runs.iter().map(run).collect()
        };
        figure(
            &name,
            &svg(132.0, &format!("{name}, by second"), &axes.then(&drawn)),
        )
    };
    let charts = tag("div").set("class", "charts");
    legend.then(&charts.html(&groups.iter().map(chart).collect()))
}

/// Level through each step: nothing is known of what lies between.
fn stairs(steps: &[Step], x: &Scale, y: &Scale, class: &str) -> Html {
    let (mut d, mut end_s) = (String::new(), f64::NAN);
    for step in steps {
        let level = px(y.at(step.us));
        d += &if step.start_s == end_s {
            format!("V{level}")
        } else {
            format!("M{} {level}", px(x.at(step.start_s)))
        };
        d += &format!("H{}", px(x.at(step.end_s)));
        end_s = step.end_s;
    }
    path(&d, class, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stairs_are_level_and_open_where_nothing_was_measured() {
        let scale = |to: f64| Scale::linear((0.0, 10.0), (0.0, to));
        let step = |start_s: f64, end_s: f64, us: f64| Step { start_s, end_s, us };
        let steps = [
            step(0.0, 1.0, 5.0),
            step(1.0, 2.0, 4.0),
            step(3.0, 4.0, 1.0),
        ];
        let html = stairs(&steps, &scale(100.0), &scale(10.0), "line p50");
        assert!(
            html.as_str().contains("d=\"M0 5H10V4H20M30 1H40\""),
            "{html:?}"
        );
    }

    #[test]
    fn the_axis_has_the_percentiles_that_were_reached() {
        let x = Scale::linear((0.0, 2.0), (0.0, 100.0));
        let html = percentile_axis(&x, 2.0, 100.0);
        assert!(
            html.as_str().contains(">99 %<") && !html.as_str().contains("99.9"),
            "{html:?}"
        );
    }
}
