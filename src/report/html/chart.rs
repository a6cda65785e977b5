//! What every chart has: a frame, axes, and figures that know their value.

use crate::report::html::markup::{Html, Tag, tag};
use crate::report::html::scale::Scale;
use crate::report::table::thousands;

/// All charts are so wide, in the units of their own drawing: a phone's width.
pub const WIDTH: f64 = 340.0;
/// Colours and dashes tell series apart, both at once: one of them is enough for some eyes and printers.
/// Without a common divisor they make 21 pairs.
const COLOURS: usize = 7;
const DASHES: usize = 3;

/// The classes of a series of its own colour and dashes, by its number.
pub fn series(number: usize) -> String {
    format!("c{} d{}", number % COLOURS, number % DASHES)
}

/// A place in a drawing: one decimal is a quarter of a pixel.
pub fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

/// The whole drawing; `says` is read out in its stead.
pub fn svg(height: f64, says: &str, content: &Html) -> Html {
    tag("svg")
        .set("viewBox", format!("0 0 {} {}", px(WIDTH), px(height)))
        .set("role", "img")
        .set("aria-label", says)
        .html(content)
}

/// A chart with its heading, and a sentence beneath where one is needed.
pub fn figure(heading: &str, chart: &Html) -> Html {
    let caption = tag("figcaption").text(heading);
    tag("figure").html(&caption.then(chart))
}

/// A line from place to place.
pub fn line(class: &str, from: (f64, f64), to: (f64, f64)) -> Html {
    tag("line")
        .set("class", class)
        .set("x1", px(from.0))
        .set("y1", px(from.1))
        .set("x2", px(to.0))
        .set("y2", px(to.1))
        .empty()
}

/// A word at a place.
pub fn text(class: &str, at: (f64, f64), words: &str) -> Html {
    let text = tag("text").set("class", class);
    text.set("x", px(at.0)).set("y", px(at.1)).text(words)
}

/// A figure of the summary as it is drawn: its exact value, and words that appear over it.
pub fn mark(shape: Shape, class: &str, at: (f64, f64), value: f64, words: &str) -> Html {
    let (x, y) = at;
    let path = |points: [(f64, f64); 3]| {
        let [a, b, c] = points.map(|(dx, dy)| format!("{} {}", px(x + dx), px(y + dy)));
        tag("path").set("d", format!("M{a}L{b}L{c}Z"))
    };
    let shape: Tag = match shape {
        Shape::Circle => tag("circle").set("cx", px(x)).set("cy", px(y)).set("r", 4),
        Shape::Square => {
            let square = tag("rect").set("width", 7).set("height", 7);
            square.set("x", px(x - 3.5)).set("y", px(y - 3.5))
        }
        Shape::Up => path([(0.0, -4.5), (4.5, 3.5), (-4.5, 3.5)]),
        Shape::Down => path([(0.0, 4.5), (4.5, -3.5), (-4.5, -3.5)]),
    };
    let mark = shape.set("class", format!("mark {class}"));
    mark.set("data-v", value).html(&tag("title").text(words))
}

/// How a mark looks, apart from its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Shape {
    Circle,
    Square,
    Up,
    Down,
}

/// Horizontal lines with their figures, left of the chart.
pub fn y_axis(y: &Scale, left: f64, label: impl Fn(f64) -> String) -> Html {
    let tick = |value: f64| {
        let at = y.at(value);
        let guide = line("guide", (left, at), (WIDTH - 6.0, at));
        guide.then(&text("tick end", (left - 4.0, at + 3.5), &label(value)))
    };
    y.ticks().into_iter().map(tick).collect()
}

/// Vertical lines with their words, beneath the chart.
pub fn x_axis(
    x: &Scale,
    ticks: impl Iterator<Item = (f64, String)>,
    (top, bottom): (f64, f64),
) -> Html {
    let tick = |(value, words): (f64, String)| {
        let at = x.at(value);
        let words = text("tick middle", (at, bottom + 13.0), &words);
        line("guide", (at, top), (at, bottom)).then(&words)
    };
    ticks.map(tick).collect()
}

/// A time on an axis, of microseconds.
pub fn time(us: f64) -> String {
    match us {
        ..1e3 => format!("{} us", plain(us)),
        ..1e6 => format!("{} ms", plain(us / 1e3)),
        _ => format!("{} s", plain(us / 1e6)),
    }
}

/// A round figure on an axis.
pub fn plain(value: f64) -> String {
    if value >= 10_000.0 && value.fract() == 0.0 {
        return thousands(value as u64);
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Names beside their colours.
pub fn legend(names: impl Iterator<Item = (String, String)>) -> Html {
    let item = |(class, name): (String, String)| {
        let swatch = tag("svg")
            .set("viewBox", "0 0 24 10")
            .set("aria-hidden", "true");
        let swatch = swatch.html(&line(&class, (1.0, 5.0), (23.0, 5.0)));
        tag("li").html(&swatch.then(&Html::text(&name)))
    };
    tag("ul")
        .set("class", "legend")
        .html(&names.map(item).collect())
}

/// At most so many characters of a name, as wide as the chart has room for.
pub fn cut(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.to_owned();
    }
    name.chars().take(most - 1).chain(['\u{2026}']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_speak_plainly() {
        for (us, words) in [
            (0.5, "0.5 us"),
            (200.0, "200 us"),
            (1500.0, "1.5 ms"),
            (2e6, "2 s"),
        ] {
            assert_eq!(time(us), words);
        }
        assert_eq!(
            (plain(10_000.0), plain(0.98)),
            ("10,000".into(), "0.98".into())
        );
        assert_eq!((px(1.04), px(1.06)), ("1".into(), "1.1".into()));
    }

    #[test]
    fn a_mark_has_its_exact_value_and_a_hostile_name_stays_a_name() {
        let mark = mark(Shape::Up, "faster", (1.0, 2.0), 0.123_456_789, "<b>");
        let html = mark.as_str();
        assert!(html.contains("data-v=\"0.123456789\""), "{html}");
        assert!(html.contains("<title>&lt;b&gt;</title></path>"), "{html}");
    }

    #[test]
    fn many_series_are_told_apart() {
        let all: std::collections::BTreeSet<String> = (0..21).map(series).collect();
        assert_eq!(all.len(), 21);
    }
}
