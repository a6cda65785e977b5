//! `selftest`: is the instrument true here.

use super::{Context, print, print_json};
use crate::error::{Error, Result};
use crate::selftest;

/// Runs every case and says how each went; exit 4 if one failed.
pub fn selftest(context: &Context) -> Result<()> {
    let program = std::env::current_exe()
        .map_err(|e| Error::unexpected(format!("cannot find this program's own file: {e}")))?;
    crate::awake::keep();
    let report = selftest::run(&program, |what| context.ui.now(what));
    context.ui.over();
    if context.json {
        print_json(&report)?;
    } else {
        print(&table(&report))?;
    }
    let failed = report.cases.iter().filter(|case| !case.ok).count();
    if report.ok {
        return Ok(());
    }
    let what = format!("{failed} of {} cases failed", report.cases.len());
    Err(Error::incomplete(what).next(
        "a machine that is busy fails cases that time: run it again alone; a case that counts must never fail",
    ))
}

fn table(report: &selftest::Report) -> String {
    let mut text = String::new();
    for case in &report.cases {
        let verdict = if case.ok { "ok" } else { "FAILED" };
        text += &format!("{verdict:7} {:49} {}\n", case.name, case.what);
    }
    if let Some(ceiling) = report.ceiling_rps {
        text += &format!("\nthis generator can hold {ceiling:.0} requests per second here\n");
    }
    text
}
