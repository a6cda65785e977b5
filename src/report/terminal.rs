//! The report in a terminal of 80 columns.

use crate::record::schema::Summary;
use crate::report::lists::{self, List};
use crate::report::table::{self, Table};
use crate::report::{sustain, verdicts};

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
    page.lists(&lists::before(summary));
    for table in verdicts::tables(summary) {
        page.verdicts(&table);
    }
    if !summary.verdicts.is_empty() {
        page.legend(&verdicts::LEGEND);
    }
    if summary.sustained.is_empty() {
        page.figures(summary);
    } else {
        page.sustained(summary);
    }
    page.lists(&lists::after(summary));
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

    /// A table for each load point.
    fn figures(&mut self, summary: &Summary) {
        for table in table::tables(summary) {
            self.table(&table);
        }
        if summary.groups.is_empty() {
            self.heading("Nothing was measured");
        } else {
            self.legend(&table::LEGEND);
        }
    }

    /// A search has a load point for each rate that it tried: what it found stands in their stead.
    fn sustained(&mut self, summary: &Summary) {
        let header = sustain::COLUMNS.map(str::to_owned);
        for table in sustain::tables(summary) {
            self.heading(&table.title);
            let rows = table.rows.iter().map(|row| &row.cells);
            let rows: Vec<_> = std::iter::once(&header).chain(rows).collect();
            let right = std::array::from_fn(|column| column > 1);
            for line in columns(&rows, right) {
                self.line(&line);
            }
        }
        self.legend(&sustain::LEGEND);
        self.lists(&sustain::lists(summary));
    }

    fn table(&mut self, table: &Table) {
        self.heading(&table.title);
        let rows: Vec<&[String; 6]> = std::iter::once(&table.header).chain(&table.rows).collect();
        for line in columns(&rows, [false, true, true, true, true, true]) {
            self.line(&line);
        }
    }

    /// Each verdict in two lines, and a third where it is withheld.
    fn verdicts(&mut self, table: &verdicts::Table) {
        self.heading(&table.title);
        let header = ["", "verdict", "ratio", "pairs", "null"].map(str::to_owned);
        let verdicts = || table.comparisons.iter().flat_map(|c| &c.rows);
        let row = |row: &verdicts::Row| {
            let metric = format!("  {}", row.metric);
            let [verdict, ratio] = [&row.verdict, &row.ratio].map(String::clone);
            [metric, verdict, ratio, row.pairs.clone(), row.null.clone()]
        };
        let rows: Vec<[String; 5]> = std::iter::once(header).chain(verdicts().map(row)).collect();
        let rows: Vec<&[String; 5]> = rows.iter().collect();
        let mut lines = columns(&rows, [false, false, false, true, true]).into_iter();
        let mut next = || lines.next().unwrap_or_default();
        self.line(&next());
        for comparison in &table.comparisons {
            self.line(&cut(&comparison.name, COLUMNS));
            for row in &comparison.rows {
                self.line(&next());
                let (at, by) = (&row.confidence, &row.bootstrap);
                let separated = row.separated;
                let beside = format!("confidence {at}; bootstrap {by}; separated: {separated}");
                self.wrapped("    ", &beside);
                if !row.reason.is_empty() {
                    self.wrapped("    ", &format!("no verdict: {}", row.reason));
                }
            }
        }
    }

    fn legend(&mut self, lines: &[&str]) {
        self.line("");
        lines.iter().for_each(|line| self.wrapped("", line));
    }

    fn lists(&mut self, lists: &[List]) {
        for (title, items) in lists.iter().filter(|(_, items)| !items.is_empty()) {
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

/// Lines of columns: the figures take what they need, the names what is left, and the gaps shrink if
/// they must.
fn columns<const N: usize>(rows: &[&[String; N]], to_the_right: [bool; N]) -> Vec<String> {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(*row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let figures: usize = widths[1..].iter().sum();
    let left = |gap: usize| COLUMNS.saturating_sub(figures + (N - 1) * gap);
    let gap = if widths[0] <= left(2) { 2 } else { 1 };
    widths[0] = widths[0].min(left(gap).max(8));
    let line = |row: &&[String; N]| {
        let mut line = String::new();
        for ((cell, width), right) in row.iter().zip(widths).zip(to_the_right) {
            let gap = if line.is_empty() { 0 } else { gap };
            let cell = cut(cell, width);
            line += &if right {
                format!("{:gap$}{cell:>width$}", "")
            } else {
                format!("{:gap$}{cell:<width$}", "")
            };
        }
        line
    };
    rows.iter().map(line).collect()
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
        assert!(render(&summary(), None, true).starts_with("\x1b[1mHoles"));
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
    fn verdicts_read_like_this() {
        let text = render(&verdicts::tests::summary(), None, false);
        assert_eq!(text, include_str!("snapshots/verdicts.txt"));
    }

    #[test]
    fn sustained_rates_read_like_this() {
        let text = render(&sustain::tests::summary(), None, false);
        assert_eq!(text, include_str!("snapshots/sustain.txt"));
    }

    #[test]
    fn sustained_rates_fit_in_80_columns_whatever_they_are() {
        let mut summary = sustain::tests::summary();
        for row in &mut summary.sustained {
            row.adapter = "a-framework-with-a-very-long-name".into();
            row.mode = "unleashed".into();
            (row.image_mib, row.idle_rss_mib) = (Some(1389.3), Some(1234.5));
            (row.rate_rps, row.not_held_rps) = (Some(200_000), Some(210_000));
            (row.p50_us, row.p99_us) = (Some(9940.0), Some(9960.0));
            row.start_ms = Some(2345.0);
            row.generator_busy = Some(1.0);
        }
        let text = render(&summary, None, false);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }

    #[test]
    fn the_widest_verdict_fits_too() {
        let mut summary = verdicts::tests::summary();
        for verdict in &mut summary.verdicts {
            verdict.a = "a-framework-with-a-very-long-name@and-a-label\x1b[2J".into();
            verdict.b = verdict.a.clone();
            (verdict.ratio, verdict.n) = (Some(0.012_34), 100);
            (verdict.ci_low, verdict.ci_high) = (Some(0.0121), Some(0.0129));
            (verdict.null_low, verdict.null_high) = (Some(0.912), Some(1.234));
            verdict.reason = "a reason ".repeat(30);
        }
        let text = render(&summary, None, false);
        let fits = |line: &str| line.chars().count() <= 80;
        assert!(text.lines().all(fits), "{text}");
        assert!(
            !text.contains('\x1b') && text.contains(" 0.0123 [0.0121-0.0129] "),
            "{text}"
        );
    }

    #[test]
    fn a_closed_loop_is_called_one_and_shows_its_throughput() {
        let mut summary = summary();
        for group in &mut summary.groups {
            (group.r#loop, group.rate_rps) = ("closed".into(), None);
        }
        for cell in &mut summary.cells {
            cell.key.rate_rps = None;
            cell.load.valid = false;
        }
        let text = render(&summary, None, false);
        assert!(
            text.contains("hello in closed loop, 32 connections (level 1"),
            "{text}"
        );
        assert!(
            text.contains("express, hello in closed loop, 32 connections, run 1:"),
            "{text}"
        );
        assert!(text.contains("       req/s "), "{text}");
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
