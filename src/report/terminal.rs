//! The report in a terminal of 80 columns.

use crate::record::schema::Summary;
use crate::report::table::{self, Table};

const COLUMNS: usize = 80;

/// Which archive a report is of, where it is of one.
#[derive(Clone, Copy, Debug)]
pub struct Archive<'a> {
    /// The folder or tar, as the user would type it.
    pub path: &'a str,
    /// Its id.
    pub id: &'a str,
}

/// The whole report, in lines of at most 80 characters, but for paths and words longer than that.
pub fn render(summary: &Summary, archive: Option<Archive>, color: bool) -> String {
    let mut page = Page {
        text: String::new(),
        color,
    };
    for table in table::tables(summary) {
        page.table(&table);
    }
    if summary.groups.is_empty() {
        page.heading("Nothing was measured");
    } else {
        for line in table::LEGEND {
            page.wrapped("", line);
        }
    }
    page.list(
        "Invalid: the instrument broke its own rules",
        &table::invalid(summary),
    );
    page.list(
        "Not healthy: the target missed its bounds",
        &table::unhealthy(summary),
    );
    page.list(
        "Beside the target, on the load's CPUs",
        &table::dependencies(summary),
    );
    page.list("Guards that fired", &table::fired(summary));
    page.list("Not visible here, and so not fine", &table::unseen(summary));
    page.list("Responses side by side", &table::likeness(summary));
    page.list("Holes: no number for", &table::holes(summary));
    page.list("Not for publication", &table::publication(summary));
    if let Some(Archive { path, id }) = archive {
        let smoke = if summary.publishable {
            ""
        } else {
            " --allow-smoke"
        };
        page.line("");
        page.line(&format!("archive  {path}"));
        page.line(&format!("id       {id}"));
        page.line(&format!("verify   shootout verify{smoke} {path}"));
    }
    page.text.trim_start().to_owned()
}

struct Page {
    text: String,
    color: bool,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.text += line.trim_end();
        self.text.push('\n');
    }

    fn heading(&mut self, text: &str) {
        let (on, off) = if self.color {
            ("\x1b[1m", "\x1b[0m")
        } else {
            ("", "")
        };
        self.text += &format!("\n{on}{}{off}\n", cut(text, COLUMNS));
    }

    fn table(&mut self, table: &Table) {
        self.heading(&table.title);
        let rows = || std::iter::once(&table.header).chain(&table.rows);
        let mut widths = [0; 6];
        for row in rows() {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.chars().count().max(*width);
            }
        }
        // The figures take what they need; the names take what is left, and the gaps if they must.
        let figures: usize = widths[1..].iter().sum();
        let left = |gap: usize| COLUMNS.saturating_sub(figures + 5 * gap);
        let gap = if widths[0] <= left(2) { 2 } else { 1 };
        widths[0] = widths[0].min(left(gap).max(8));
        for row in rows() {
            let name = cut(&row[0], widths[0]);
            let mut line = format!("{name:<width$}", width = widths[0]);
            for (cell, width) in row[1..].iter().zip(&widths[1..]) {
                line += &format!("{:gap$}{cell:>width$}", "");
            }
            self.line(&line);
        }
        self.line("");
    }

    fn list(&mut self, title: &str, items: &[String]) {
        if !items.is_empty() {
            self.heading(title);
            items.iter().for_each(|item| self.wrapped("- ", item));
        }
    }

    /// Words in as many lines as they need, the first one marked.
    fn wrapped(&mut self, mark: &str, text: &str) {
        let indent = " ".repeat(mark.len());
        let mut line = mark.to_owned();
        for word in text.split_whitespace() {
            let begun = line.len() > indent.len();
            if begun && line.chars().count() + 1 + word.chars().count() > COLUMNS {
                self.line(&line);
                line.clone_from(&indent);
            }
            if line.len() > indent.len() {
                line.push(' ');
            }
            line += word;
        }
        self.line(&line);
    }
}

/// At most so many characters; `~` where some are missing.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars()
        .take(width.saturating_sub(1))
        .chain(['~'])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixture;
    use crate::record::source::Source;
    use crate::report::json;

    pub fn summary() -> Summary {
        let dir = fixture::archive();
        json::read(&Source::open(dir.path()).unwrap()).unwrap()
    }

    #[test]
    fn a_report_reads_like_this() {
        let archive = Archive {
            path: "results/x",
            id: "1234",
        };
        let text = render(&summary(), Some(archive), false);
        assert_eq!(text, include_str!("snapshots/terminal.txt"));
        assert!(render(&summary(), None, true).starts_with("\x1b[1mhello at 1,000"));
    }

    #[test]
    fn it_fits_in_80_columns_whatever_it_says() {
        let mut summary = summary();
        for group in &mut summary.groups {
            group.adapter = "a-framework-with-a-very-long-name".into();
            group.label = "and-a-label\x1b[2J".into();
            (group.runs, group.valid_runs, group.healthy_runs) = (10, 10, 10);
            for spread in group.figures.values_mut().flatten() {
                (spread.min, spread.median, spread.max) = (999.9, 4321.0, 9999.4);
            }
        }
        summary.holes[0].reason = "words ".repeat(60);
        summary.cells[0].load.valid = false;
        summary.cells[0].load.invalid_reasons = vec!["a reason ".repeat(30)];
        summary.cells[0].guards[0].what = "a finding \x1b[2J".repeat(30);
        let text = render(&summary, None, false);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(!text.contains('\x1b'));
    }

    #[test]
    fn an_empty_run_says_so() {
        assert_eq!(
            render(
                &Summary {
                    comparable: true,
                    ..Summary::default()
                },
                None,
                false
            ),
            "Nothing was measured\n"
        );
    }
}
