//! `report`: prints an archive, from the archive alone.

use std::io::IsTerminal;

use super::load::write_new;
use super::{Context, print};
use crate::cli::{self, Format};
use crate::error::{Error, Result};
use crate::record::details;
use crate::record::source::Source;
use crate::report::{csv, html, json, markdown, terminal};

/// Renders the archive's summary; exit 5 if it has none.
pub fn report(context: &Context, asked: &cli::Report) -> Result<()> {
    let place = asked.archive.display();
    let source = Source::open(&asked.archive).map_err(|e| e.at(place.to_string()))?;
    let summary = json::read(&source).map_err(|e| e.at(place.to_string()))?;
    let id = source.id();
    let format = match (asked.format, context.json) {
        (Some(format), _) => format,
        (None, true) => Format::Json,
        (None, false) => Format::Terminal,
    };
    let text = match format {
        Format::Terminal => {
            let color =
                context.ui.color() && asked.output.is_none() && std::io::stdout().is_terminal();
            let path = place.to_string();
            let archive = id
                .as_deref()
                .map(|id| terminal::Archive { path: &path, id });
            terminal::render(&summary, archive, color)
        }
        Format::Md => markdown::render(&summary),
        Format::Csv => csv::render(&summary),
        Format::Json => json::render(&summary, id.as_deref())?,
        Format::Html => {
            let details = details::read(&source, &summary).map_err(|e| e.at(place.to_string()))?;
            html::render(&summary, &details, id.as_deref())
        }
    };
    match &asked.output {
        None => print(&text),
        Some(path) if path.exists() => Err(Error::usage(format!(
            "{} exists, and nothing is ever overwritten",
            path.display()
        ))
        .next("choose another name for -o")),
        Some(path) => write_new(path, text.as_bytes()).map_err(|e| Error::io("write", path, &e)),
    }
}
