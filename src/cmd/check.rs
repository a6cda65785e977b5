//! `check`: the parity matrix for each adapter, without load: what an adapter's author works with.

use std::time::{Duration, Instant};

use serde::Serialize;

use super::build::buildable;
use super::interrupts::Interrupts;
use super::run::bench;
use super::{Context, print, print_json, swept_engine};
use crate::cell::{Bench, Contest, Refusal, Stage, Trouble};
use crate::cli;
use crate::engine::Images;
use crate::error::{Error, Exit, Result};
use crate::parity::judge::Mismatch;
use crate::parity::transcript::DATE_MOVES_S;
use crate::plan::contender::Contender;
use crate::plan::cpus::CpuAsk;
use crate::plan::spec::PlannedLimits;
use crate::plan::{Adapter, Kit, Workload};
use crate::report::table;

/// A check takes seconds; an agent that outlives this has lost its runner.
const LIFETIME: Duration = Duration::from_secs(300);

/// The outcome for one adapter and workload, as scripts read it.
#[derive(Serialize)]
struct Checked {
    adapter: String,
    label: String,
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
    let contenders = contenders(context, &kit, &asked.adapters)?;
    let limits = PlannedLimits {
        target_cpus: CpuAsk::Count(1),
        cpu_quota: None,
        memory_mib: 2048,
        pids: 256,
    };
    let contests = contests(&contenders, |name| kit.workload(name), &asked.workloads)?;
    let all = crate::runtime()?.block_on(async {
        let mut interrupts = Interrupts::listen()?;
        let engine = interrupts.unless(swept_engine()).await?;
        let run = engine.begin_run()?;
        let mut images = Images::new(&engine, &kit.root, &context.ui);
        let checking = async {
            let bench = bench(&run, &mut images, &limits, None).await?;
            let mut all = Vec::new();
            for (contender, workload) in &contests {
                all.push(one(context, &mut images, &bench, contender, workload).await?);
            }
            Ok(all)
        };
        let outcome = interrupts.unless(checking).await;
        let cleared = interrupts.unless(run.end()).await;
        outcome.and_then(|all| cleared.map(|()| all))
    })?;
    context.ui.over();
    if context.json {
        print_json(&all)?
    } else {
        print(&lines(&all))?
    }
    match all.iter().filter(|checked| !checked.ok).count() {
        0 => Ok(()),
        failed => Err(
            Error::incomplete(format!("{failed} of {} checks failed", all.len()))
                .next("each row above says what the workload expects and what came"),
        ),
    }
}

/// One contender on one workload.
async fn one(
    context: &Context,
    images: &mut Images<'_>,
    bench: &Bench<'_>,
    (adapter, label): &Labelled,
    workload: &Workload,
) -> Result<Checked> {
    let name = table::name(&adapter.name, label);
    context
        .ui
        .now(&format!("checking {name} on {}", workload.name));
    let checked = |rows, failures: Vec<Failed>| Checked {
        adapter: adapter.name.clone(),
        label: label.clone(),
        workload: workload.name.clone(),
        ok: failures.is_empty(),
        rows,
        failures,
    };
    let data = context.kit()?.data(adapter)?;
    let image = match images.adapter(&adapter.name, data).await {
        Ok(image) => image,
        Err(error) if error.exit == Exit::Incomplete => {
            let failure = Failed {
                row: "build".into(),
                expected: "an image".into(),
                got: error.to_string(),
            };
            return Ok(checked(0, vec![failure]));
        }
        Err(error) => return Err(error),
    };
    let contest = Contest {
        adapter,
        label,
        image: &image,
        workload,
    };
    let mut stage = match Stage::set(bench, contest, LIFETIME).await {
        Ok(stage) => stage,
        Err(Trouble::Refused(refusal)) => return Ok(checked(0, vec![not_ready(&refusal)])),
        Err(Trouble::Failed(error)) => return Err(error),
    };
    let proven = prove(&mut stage).await;
    let transcript = std::mem::take(&mut stage.transcript);
    stage.strike().await?;
    let failed = |(row, failure): (&str, &Mismatch)| Failed {
        row: row.to_owned(),
        expected: failure.expected.clone(),
        got: failure.got.clone(),
    };
    let mut failures: Vec<Failed> = transcript.all_failures().map(failed).collect();
    if let (Err(why), true) = (proven?, failures.is_empty()) {
        failures.push(Failed {
            row: "plain rows".into(),
            expected: "bodies that differ by their nonces alone".into(),
            got: why,
        });
    }
    Ok(checked(transcript.exchanges.len(), failures))
}

/// The matrix twice, long enough apart for what must move, and what no response may have. The
/// second half would only say the same of a target that fails in the first.
async fn prove(stage: &mut Stage<'_>) -> Result<std::result::Result<(), String>> {
    let start = Instant::now();
    if let Err(why) = stage.prove("before", 1).await? {
        return Ok(Err(why));
    }
    if let Err(why) = stage.burst(2).await? {
        return Ok(Err(why));
    }
    let moved = Duration::from_secs_f64(DATE_MOVES_S);
    tokio::time::sleep(moved.saturating_sub(start.elapsed())).await;
    Ok(stage.prove("after", 3).await?.map(drop))
}

/// An adapter with one of its labels, or with none.
type Labelled = (Adapter, String);

/// Those that are named, or every adapter that can be built here, as it is.
fn contenders(context: &Context, kit: &Kit, named: &[Contender]) -> Result<Vec<Labelled>> {
    let names: Vec<String> = named.iter().map(|who| who.adapter.clone()).collect();
    let adapters = buildable(context, kit, &names)?;
    let labels = named.iter().map(|who| who.label.clone());
    let labels = labels.chain(std::iter::repeat(String::new()));
    let contenders: Vec<Labelled> = adapters.into_iter().zip(labels).collect();
    for (adapter, label) in &contenders {
        adapter.check_label(label)?;
    }
    Ok(contenders)
}

/// Every contender with every workload that it serves, or with those that were asked for.
fn contests<'a>(
    contenders: &'a [Labelled],
    workload: impl Fn(&str) -> Result<Workload>,
    only: &[String],
) -> Result<Vec<(&'a Labelled, Workload)>> {
    // A name that does not exist is wrong even if nobody serves it.
    for name in only {
        workload(name)?;
    }
    let mut contests = Vec::new();
    for contender in contenders {
        let serves = contender.0.workloads.iter();
        for name in serves.filter(|name| only.is_empty() || only.contains(name)) {
            contests.push((contender, workload(name)?));
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

fn lines(all: &[Checked]) -> String {
    let mut text = String::new();
    for checked in all {
        let outcome = if checked.ok { "ok" } else { "FAILED" };
        text += &format!(
            "{:16} {:10} {outcome}, {} rows\n",
            table::name(&checked.adapter, &checked.label),
            checked.workload,
            checked.rows
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
