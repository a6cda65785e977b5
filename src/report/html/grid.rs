//! Tables that can be sorted, filtered and copied: the page's script does that, without it they are
//! tables all the same.

use crate::report::html::markup::{Html, Tag, tag};

/// One cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A name, or a sentence.
    Words(String),
    /// A figure: as it is shown, and exactly.
    Figure(String, f64),
    /// A figure with its range: as it is shown, and exactly (median, minimum, maximum).
    Range(String, [f64; 3]),
    /// A figure that there is not, and why.
    Nothing(String),
    /// Anything else, with the class that colours it.
    Marked(&'static str, Html),
}

impl Cell {
    /// As many columns wide as there are left for it.
    fn html(&self, columns: usize) -> Html {
        let figure = || tag("td").set("class", "n");
        match self {
            Self::Words(words) if columns > 1 => tag("td").set("colspan", columns).text(words),
            Self::Words(words) => tag("td").text(words),
            Self::Figure(shown, exact) => figure().set("data-v", exact).text(shown),
            Self::Range(shown, [median, min, max]) => {
                let cell = figure().set("data-v", median);
                cell.set("data-min", min).set("data-max", max).text(shown)
            }
            Self::Nothing(why) if why.is_empty() => figure().text("-"),
            Self::Nothing(why) => figure().set("title", why).text("-"),
            Self::Marked(class, html) => tag("td").set("class", class).html(html),
        }
    }
}

/// A row: the class that colours it, its name, and its cells.
#[derive(Clone, Debug)]
pub struct Row {
    /// Empty for most.
    pub class: &'static str,
    /// What the row is of.
    pub name: String,
    /// As many as the table has columns besides the name; where there are fewer, the last one is wider.
    pub cells: Vec<Cell>,
}

/// A whole table in its own scrolled box. The first column is the name's.
pub fn grid(caption: &str, columns: &[&str], rows: &[Row]) -> Html {
    let head = |column: &&str| tag("th").set("scope", "col").text(column);
    let head = tag("tr").html(&columns.iter().map(head).collect());
    let row = |row: &Row| {
        let name = tag("th").set("scope", "row").text(&row.name);
        let (last, missing) = (
            row.cells.len(),
            columns.len().saturating_sub(row.cells.len()),
        );
        let cells = row.cells.iter().zip(1..);
        let cells = cells.map(|(cell, i)| cell.html(if i == last { missing } else { 1 }));
        let tr = class(tag("tr"), row.class);
        tr.html(&std::iter::once(name).chain(cells).collect())
    };
    let parts = [
        tag("caption").text(caption),
        tag("thead").html(&head),
        tag("tbody").html(&rows.iter().map(row).collect()),
    ];
    let table = tag("table").html(&parts.into_iter().collect());
    // Focusable, so that the keyboard scrolls it.
    tag("div")
        .set("class", "grid")
        .set("role", "region")
        .set("tabindex", 0)
        .set("aria-label", caption)
        .html(&table)
}

fn class(tag: Tag, class: &'static str) -> Tag {
    if class.is_empty() {
        tag
    } else {
        tag.set("class", class)
    }
}

/// Something long that is folded away at first.
pub fn folded(summary: &str, content: &Html) -> Html {
    let summary = tag("summary").text(summary);
    tag("details").html(&summary.then(content))
}

/// Lines as a list; nothing where there are none.
pub fn list(items: &[String]) -> Html {
    if items.is_empty() {
        return Html::default();
    }
    let items = items.iter().map(|item| tag("li").text(item));
    tag("ul").html(&items.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_shows_little_and_knows_all() {
        for (cell, html) in [
            (Cell::Words("a<b".into()), "<td>a&lt;b</td>"),
            (
                Cell::Range("1.2 [1.0-1.5]".into(), [1.25, 1.0, 1.5]),
                "<td class=\"n\" data-v=\"1.25\" data-min=\"1\" data-max=\"1.5\">1.2 [1.0-1.5]</td>",
            ),
            (
                Cell::Nothing("why".into()),
                "<td class=\"n\" title=\"why\">-</td>",
            ),
            (Cell::Nothing(String::new()), "<td class=\"n\">-</td>"),
        ] {
            assert_eq!(cell.html(1).as_str(), html);
        }
    }
}
