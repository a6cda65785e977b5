//! `doctor`: what this machine can and cannot measure.

use super::run::topology;
use super::{Context, machine, print_folded, print_json};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::guard::doctor::{Asked, findings};
use crate::guard::{Finding, Level};
use crate::plan::cpus::{CpuAsk, allot};
use crate::sample::host::free_disk_mib;

/// Prints what was found and what to do about it; exit 3 if something fails.
pub fn doctor(context: &Context) -> Result<()> {
    let host = machine();
    let allotment = allot(&topology(&host), &CpuAsk::Count(1), None).ok();
    let (target_cpus, load_cpus): (Vec<u32>, Vec<u32>) = match &allotment {
        Some(cpus) => (cpus.target.iter().collect(), cpus.load.iter().collect()),
        None => (vec![], vec![]),
    };
    let results = match context.kit() {
        Ok(kit) => kit.root.join("results"),
        Err(_) => ".".into(),
    };
    let asked = Asked {
        target_cpus: &target_cpus,
        load_cpus: &load_cpus,
        results: &results,
        results_free_mib: free_disk_mib(&results),
    };
    let mut all = findings(&host, &asked);
    all.push(crate::runtime()?.block_on(engine()));
    let failed = all
        .iter()
        .filter(|finding| finding.level == Level::Fail)
        .count();
    if context.json {
        print_json(&serde_json::json!({ "ok": failed == 0, "findings": all }))?;
    } else {
        let color = context.ui.color();
        let lines = all.iter().map(|finding| line(finding, color));
        print_folded(&(lines.collect::<String>() + &outlook(&all, failed)))?;
    }
    let what = match failed {
        0 => return Ok(()),
        1 => "one thing keeps this machine from measuring".to_owned(),
        more => format!("{more} things keep this machine from measuring"),
    };
    Err(Error::machine(what).next("each line that says FAIL is followed by what to do about it"))
}

/// What it comes to, for somebody who sees it for the first time.
fn outlook(all: &[Finding], failed: usize) -> String {
    let warnings = all
        .iter()
        .filter(|finding| finding.level == Level::Warn)
        .count();
    match (failed, warnings) {
        (1.., _) => String::new(),
        (0, 0) => "\nThis machine can measure. Next: `shootout demo`\n".to_owned(),
        (0, _) => format!(
            "\nThis machine can measure, with {warnings} warnings: what they name is in absolute figures. \
             Verdicts from interleaved pairs (`shootout duel`) stand most of it, and are withheld where \
             they can't. Next: `shootout demo`\n"
        ),
    }
}

async fn engine() -> Finding {
    match Engine::connect().await {
        Ok(engine) => Finding::ok(
            "engine",
            format!(
                "Docker {} (API {}, {} on cgroup v{}, {})",
                engine.version,
                engine.api,
                engine.cgroup_driver,
                engine.cgroup_version,
                engine.storage
            ),
        ),
        Err(error) => Finding::fail("engine", error.what, error.next),
    }
}

fn line(finding: &Finding, color: bool) -> String {
    let (word, code) = match finding.level {
        Level::Ok => ("ok  ", "32"),
        Level::Warn | Level::Unseen => ("warn", "33"),
        Level::Fail => ("FAIL", "31"),
    };
    let word = if color {
        format!("\x1b[{code}m{word}\x1b[0m")
    } else {
        word.to_owned()
    };
    let fix = if finding.fix.is_empty() {
        String::new()
    } else {
        format!("      -> {}\n", finding.fix)
    };
    format!("{word}  {}: {}\n{fix}", finding.id, finding.what)
}
