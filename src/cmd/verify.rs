//! `verify`: recomputes archives, without Docker or network.

use super::{Context, print, print_json};
use crate::cli;
use crate::error::{Error, Exit, Result};
use crate::record::verify::{self, Options, Report};

/// Verifies each archive; the worst outcome decides the exit code: 5 before 4.
pub fn verify(context: &Context, asked: &cli::Verify) -> Result<()> {
    let options = Options {
        allow_smoke: asked.allow_smoke,
        id: asked.id.clone(),
    };
    let reports: Vec<Report> = asked
        .archives
        .iter()
        .map(|path| verify::verify(path, &options))
        .collect();
    if context.json {
        match &reports[..] {
            [one] => print_json(one)?,
            many => print_json(&many)?,
        }
    } else {
        print(&reports.iter().map(text).collect::<String>())?;
    }
    let has = |exit| reports.iter().any(|report| report.exit == Some(exit));
    if has(Exit::Unverified) {
        return Err(Error::unverified("verification failed")
            .next("each finding above names the file and what differs"));
    }
    if has(Exit::Incomplete) {
        return Err(
            Error::incomplete("a short archive proves the machinery, not a result")
                .next("`--allow-smoke` accepts it"),
        );
    }
    Ok(())
}

fn text(report: &Report) -> String {
    let findings = report
        .findings
        .iter()
        .map(|finding| format!("  {}: {}\n", finding.file, finding.what));
    let unchecked = report
        .unchecked
        .iter()
        .map(|what| format!("  not judged again: {what}\n"));
    let outcome = if report.ok {
        "verified"
    } else {
        "NOT verified"
    };
    let id = report.id.as_deref().unwrap_or("none");
    format!(
        "{}: {outcome}, {} cells, id {id}\n{}{}",
        report.archive,
        report.cells,
        unchecked.collect::<String>(),
        findings.collect::<String>()
    )
}
