//! `report.md`: the same for the same summary, byte for byte.

use serde_json::Value;

use crate::record::schema::Summary;
use crate::report::lists::{self, List};
use crate::report::table::{self, plain};
use crate::report::{sustain, verdicts};

/// The whole file.
pub fn render(summary: &Summary) -> String {
    let name = summary
        .plan
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or("unnamed plan");
    let mut text = format!("# {}\n", escape(name));
    lists(&mut text, &lists::before(summary));
    verdicts(&mut text, summary);
    if summary.sustained.is_empty() {
        figures(&mut text, summary);
    } else {
        sustained(&mut text, summary);
    }
    lists(&mut text, &lists::after(summary));
    let facts = lists::facts("", &summary.environment).into_iter();
    let environment = facts.map(|(at, value)| format!("{at}: {value}")).collect();
    lists(&mut text, &[("Environment", environment)]);

    let generator = &summary.generator;
    let smoke = if summary.publishable {
        ""
    } else {
        " --allow-smoke"
    };
    text += &format!(
        "\n## Verify\n\nMeasured by {} {}. `shootout verify{smoke} .` in this folder computes every number again.\n",
        escape(&generator.name),
        escape(&generator.version)
    );
    text
}

/// A table for each load point.
fn figures(text: &mut String, summary: &Summary) {
    if summary.groups.is_empty() {
        *text += "\nNothing was measured.\n";
    } else {
        legend(text, &table::LEGEND);
    }
    for table in table::tables(summary) {
        heading(text, &table.title);
        *text += &row(&table.header);
        *text += "| --- | ---: | ---: | ---: | ---: | ---: |\n";
        table.rows.iter().for_each(|cells| *text += &row(cells));
    }
}

/// A search has a load point for each rate that it tried: what it found stands in their stead.
fn sustained(text: &mut String, summary: &Summary) {
    for table in sustain::tables(summary) {
        heading(text, &table.title);
        *text += &row(&sustain::COLUMNS);
        *text += &format!(
            "| --- | --- |{}\n",
            " ---: |".repeat(sustain::COLUMNS.len() - 2)
        );
        table
            .rows
            .iter()
            .for_each(|shown| *text += &row(&shown.cells));
    }
    legend(text, &sustain::LEGEND);
    lists(text, &sustain::lists(summary));
}

/// The verdicts of each load point, and beneath them why some are withheld.
fn verdicts(text: &mut String, summary: &Summary) {
    if !summary.verdicts.is_empty() {
        legend(text, &verdicts::LEGEND);
    }
    for table in verdicts::tables(summary) {
        heading(text, &table.title);
        *text += "| comparison | metric | verdict | ratio | confidence | pairs | null | separated | bootstrap |\n";
        *text += "| --- | --- | --- | ---: | ---: | ---: | ---: | --- | ---: |\n";
        let mut reasons = Vec::new();
        for comparison in &table.comparisons {
            for verdict in &comparison.rows {
                *text += &row(&[
                    &comparison.name,
                    &verdict.metric,
                    &verdict.verdict,
                    &verdict.ratio,
                    &verdict.confidence,
                    &verdict.pairs,
                    &verdict.null,
                    verdict.separated,
                    &verdict.bootstrap,
                ]);
                if !verdict.reason.is_empty() {
                    let (name, metric) = (&comparison.name, &verdict.metric);
                    let reason = format!("{name}, {metric}: no verdict: {}", verdict.reason);
                    reasons.push(reason);
                }
            }
        }
        if !reasons.is_empty() {
            text.push('\n');
        }
        reasons.iter().for_each(|reason| item(text, reason));
    }
}

fn legend(text: &mut String, lines: &[&str]) {
    text.push('\n');
    for line in lines {
        *text += &format!("{}  \n", escape(line));
    }
}

fn heading(text: &mut String, title: &str) {
    *text += &format!("\n## {}\n\n", escape(title));
}

fn row(cells: &[impl AsRef<str>]) -> String {
    let cells = cells.iter().map(|cell| escape(cell.as_ref()));
    cells.fold("|".to_owned(), |row, cell| row + " " + &cell + " |") + "\n"
}

fn lists(text: &mut String, lists: &[List]) {
    for (title, items) in lists.iter().filter(|(_, items)| !items.is_empty()) {
        heading(text, title);
        items.iter().for_each(|line| item(text, line));
    }
}

fn item(text: &mut String, line: &str) {
    *text += &format!("- {}\n", escape(line));
}

/// Text that Markdown shows as it is, on one line.
fn escape(text: &str) -> String {
    let special = |c: char| "\\`*_{}[]<>#|!&~".contains(c);
    plain(text).chars().fold(String::new(), |mut text, c| {
        if special(c) {
            text.push('\\');
        }
        text.push(c);
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixture;
    use crate::record::source::Source;
    use crate::report::json;

    #[test]
    fn a_report_reads_like_this() {
        let dir = fixture::archive();
        let summary = json::read(&Source::open(dir.path()).unwrap()).unwrap();
        assert_eq!(render(&summary), include_str!("snapshots/report.md"));
    }

    #[test]
    fn verdicts_read_like_this() {
        let text = render(&verdicts::tests::summary());
        assert_eq!(text, include_str!("snapshots/verdicts.md"));
    }

    #[test]
    fn sustained_rates_read_like_this() {
        let text = render(&sustain::tests::summary());
        assert_eq!(text, include_str!("snapshots/sustain.md"));
    }

    #[test]
    fn text_from_outside_stays_text() {
        let escaped = escape("<img src=x>\n| [a](b) `c` &amp; \x1b[2J");
        assert_eq!(
            escaped,
            "\\<img src=x\\> \\| \\[a\\](b) \\`c\\` \\&amp;  \\[2J"
        );
    }
}
