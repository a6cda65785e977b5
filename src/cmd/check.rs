//! `check`: the parity matrix for each adapter, without load: what an adapter's author works with.

use std::time::Duration;

use serde::Serialize;

use super::build::buildable;
use super::run::bench;
use super::{Context, print, print_json};
use crate::cell::{Contest, Refusal, Stage, Trouble};
use crate::cli;
use crate::engine::{Engine, Images};
use crate::error::{Error, Result};
use crate::plan::cpus::CpuAsk;
use crate::plan::spec::PlannedLimits;
use crate::plan::{Adapter, Workload};

/// A check takes seconds; an agent that outlives this has lost its runner.
const LIFETIME: Duration = Duration::from_secs(300);

/// The outcome for one adapter and workload, as scripts read it.
#[derive(Serialize)]
struct Checked {
    adapter: String,
    workload: String,
    ok: bool,
    rows: usize,
    failures: Vec<Failed>,
}

/// A row that is not as expected.
#[derive(Serialize)]
struct Failed {
    row: String,
    expected: String,
    got: String,
}

/// Builds, starts, asks, stops. Exit 4 if anything is not as expected.
pub fn check(context: &Context, asked: &cli::Check) -> Result<()> {
    let kit = context.kit()?;
    let adapters = buildable(context, &kit, &asked.adapters)?;
    let limits = PlannedLimits {
        target_cpus: CpuAsk::Count(1),
        cpu_quota: None,
        memory_mib: 2048,
        pids: 256,
    };
    let contests = contests(&adapters, |name| kit.workload(name), &asked.workloads)?;
    crate::runtime()?.block_on(async {
        let engine = Engine::connect().await?;
        engine.sweep().await?;
        let run = engine.begin_run()?;
        let mut images = Images::new(&engine, &kit.root, &context.ui);
        let bench = bench(&run, &mut images, &limits, None).await?;
        let mut all = Vec::new();
        for (adapter, workload) in &contests {
            context
                .ui
                .now(&format!("checking {} on {}", adapter.name, workload.name));
            let image = match images.folder(&format!("adapters/{}", adapter.name)).await {
                Ok(image) => image,
                Err(error) => {
                    let failure = Failed {
                        row: "build".into(),
                        expected: "an image".into(),
                        got: error.to_string(),
                    };
                    all.push(checked(adapter, workload, 0, vec![failure]));
                    continue;
                }
            };
            let contest = Contest {
                adapter,
                label: "",
                image: &image,
                workload,
            };
            all.push(match Stage::set(&bench, contest, LIFETIME).await {
                Ok(mut stage) => {
                    let proof = stage.prove("before", 1).await;
                    stage.strike().await?;
                    let (_, exchanges) = proof?;
                    let failures = exchanges.iter().flat_map(|exchange| {
                        let failed = |failure: &crate::parity::judge::Mismatch| Failed {
                            row: exchange.row.clone(),
                            expected: failure.expected.clone(),
                            got: failure.got.clone(),
                        };
                        exchange.failures.iter().map(failed)
                    });
                    checked(adapter, workload, exchanges.len(), failures.collect())
                }
                Err(Trouble::Refused(refusal)) => {
                    checked(adapter, workload, 0, vec![not_ready(&refusal)])
                }
                Err(Trouble::Failed(error)) => return Err(error),
            });
        }
        if context.json {
            print_json(&all)?
        } else {
            print(&table(&all))?
        }
        match all.iter().filter(|checked| !checked.ok).count() {
            0 => Ok(()),
            failed => Err(
                Error::incomplete(format!("{failed} of {} checks failed", all.len()))
                    .next("each row above says what the workload expects and what came"),
            ),
        }
    })
}

/// Every adapter with every workload that it serves, or with those that were asked for.
fn contests<'a>(
    adapters: &'a [Adapter],
    workload: impl Fn(&str) -> Result<Workload>,
    only: &[String],
) -> Result<Vec<(&'a Adapter, Workload)>> {
    // A name that does not exist is wrong even if nobody serves it.
    for name in only {
        workload(name)?;
    }
    let mut contests = Vec::new();
    for adapter in adapters {
        for name in adapter
            .workloads
            .iter()
            .filter(|name| only.is_empty() || only.contains(name))
        {
            contests.push((adapter, workload(name)?));
        }
    }
    if contests.is_empty() {
        return Err(
            Error::usage("none of these adapters serves any of these workloads")
                .next("`shootout list adapters` shows who serves what"),
        );
    }
    Ok(contests)
}

fn checked(adapter: &Adapter, workload: &Workload, rows: usize, failures: Vec<Failed>) -> Checked {
    Checked {
        adapter: adapter.name.clone(),
        workload: workload.name.clone(),
        ok: failures.is_empty(),
        rows,
        failures,
    }
}

fn not_ready(refusal: &Refusal) -> Failed {
    let log = refusal.log_tail();
    let log = if log.is_empty() {
        "its log is empty".to_owned()
    } else {
        format!("the end of its log:\n{log}")
    };
    Failed {
        row: "ready".into(),
        expected: "a valid response".into(),
        got: format!("{}; {log}", refusal.reason),
    }
}

fn table(all: &[Checked]) -> String {
    let mut text = String::new();
    for checked in all {
        let outcome = if checked.ok { "ok" } else { "FAILED" };
        text += &format!(
            "{:16} {:10} {outcome}, {} rows\n",
            checked.adapter, checked.workload, checked.rows
        );
        for failure in &checked.failures {
            text += &format!(
                "  row       {}\n    expected  {}\n    got       {}\n",
                failure.row,
                failure.expected,
                failure.got.replace('\n', "\n              ")
            );
        }
    }
    text
}
