//! `report.md`: the same for the same summary, byte for byte.

use serde_json::Value;

use crate::record::schema::Summary;
use crate::report::table::{self, plain};

/// The whole file.
pub fn render(summary: &Summary) -> String {
    let name = summary
        .plan
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or("unnamed plan");
    let mut text = format!("# {}\n\n", escape(name));
    for line in table::LEGEND {
        text += &format!("{}  \n", escape(line));
    }
    for table in table::tables(summary) {
        text += &format!("\n## {}\n\n{}", escape(&table.title), row(&table.header));
        text += "| --- | ---: | ---: | ---: | ---: | ---: |\n";
        table.rows.iter().for_each(|cells| text += &row(cells));
    }
    if summary.groups.is_empty() {
        text += "\nNothing was measured.\n";
    }
    list(
        &mut text,
        "Invalid: the instrument broke its own rules",
        &table::invalid(summary),
    );
    list(
        &mut text,
        "Not healthy: the target missed its bounds",
        &table::unhealthy(summary),
    );
    list(
        &mut text,
        "Beside the target, on the load's CPUs",
        &table::dependencies(summary),
    );
    list(&mut text, "Guards that fired", &table::fired(summary));
    list(
        &mut text,
        "Not visible here, and so not fine",
        &table::unseen(summary),
    );
    list(
        &mut text,
        "Responses side by side",
        &table::likeness(summary),
    );
    list(&mut text, "Holes: no number for", &table::holes(summary));
    list(
        &mut text,
        "Not for publication",
        &table::publication(summary),
    );
    list(&mut text, "Environment", &facts("", &summary.environment));

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

fn row(cells: &[String; 6]) -> String {
    cells
        .iter()
        .fold("|".to_owned(), |row, cell| row + " " + &escape(cell) + " |")
        + "\n"
}

fn list(text: &mut String, title: &str, items: &[String]) {
    if !items.is_empty() {
        *text += &format!("\n## {}\n\n", escape(title));
        items
            .iter()
            .for_each(|item| *text += &format!("- {}\n", escape(item)));
    }
}

/// A document as `path: value` lines.
fn facts(at: &str, value: &Value) -> Vec<String> {
    let join = |key: &str| {
        if at.is_empty() {
            plain(key)
        } else {
            format!("{at}.{}", plain(key))
        }
    };
    match value {
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, value)| facts(&join(key), value))
            .collect(),
        Value::Array(list) => {
            let one = |(index, value)| facts(&format!("{at}[{index}]"), value);
            list.iter().enumerate().flat_map(one).collect()
        }
        Value::Null if at.is_empty() => Vec::new(),
        Value::String(text) => vec![format!("{at}: {}", plain(text))],
        other => vec![format!("{at}: {other}")],
    }
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
    fn text_from_outside_stays_text() {
        let escaped = escape("<img src=x>\n| [a](b) `c` &amp; \x1b[2J");
        assert_eq!(
            escaped,
            "\\<img src=x\\> \\| \\[a\\](b) \\`c\\` \\&amp;  \\[2J"
        );
    }
}
