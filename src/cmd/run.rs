//! `run`, `demo`, `duel` and `sustain`: which plan, on which CPUs, into which folder. What follows is a [`Job`].

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::job::Job;
use super::{Context, machine, print};
use crate::agent::binary::agent_binary;
use crate::cell::Bench;
use crate::cli;
use crate::engine::{self, Images};
use crate::error::{Error, Result};
use crate::load::clock;
use crate::plan::contender::Contender;
use crate::plan::cpus::{Cpu, CpuAsk, CpuList, allot};
use crate::plan::made::Asked;
use crate::plan::spec::PlannedLimits;
use crate::plan::{Kit, Overrides, Plan};
use crate::record::planned::Planned;
use crate::sample::Roots;
use crate::sample::host::Host;
use crate::stats::provable::sentences;

/// The plan that `duel` fills in.
const DUEL: &str = "duel";
/// The plan that `sustain` fills in.
const SUSTAIN: &str = "sustain";

/// Runs a plan by name or path, or goes on with the archive in `resume`.
pub fn run(
    context: &Context,
    name: Option<&str>,
    asked: &cli::Run,
    resume: Option<&Path>,
) -> Result<()> {
    let kit = context.kit()?;
    let host = machine();
    let plan = match (resume, name) {
        (Some(dir), _) => unfinished_plan(dir, name, asked)?,
        (None, name) => {
            let plan = kit.plan(name.unwrap_or_default())?;
            settled(plan, &host, &asked.overrides)?
        }
    };
    perform(context, &kit, host, plan, asked, &Begin::new(resume))
}

/// Runs the kit's plan of that name between these sides.
pub fn duel(context: &Context, asked: &cli::Duel) -> Result<()> {
    let kit = context.kit()?;
    let host = machine();
    let plan = settled(duel_plan(&kit, asked)?, &host, &asked.run.overrides)?;
    perform(context, &kit, host, plan, &asked.run, &Begin::new(None))
}

/// The plan that the sides, the workloads and the rate make; the other flags change it as any plan.
fn duel_plan(kit: &Kit, asked: &cli::Duel) -> Result<Plan> {
    check_names(kit, &asked.sides, &asked.workload)?;
    let mut plan = kit.plan(DUEL)?;
    if asked.levels {
        plan = plan.at_its_levels()?;
    } else if !asked.workload.is_empty() {
        plan.workloads.clone_from(&asked.workload);
    }
    if let Some(rate) = asked.rate {
        plan.rates_rps = vec![rate];
    }
    plan.between(&asked.sides)
}

/// Runs the kit's plan of that name for these targets.
pub fn sustain(context: &Context, asked: &cli::Sustain) -> Result<()> {
    let kit = context.kit()?;
    let host = machine();
    check_names(&kit, &asked.targets, &asked.workload)?;
    let mut plan = kit.plan(SUSTAIN)?;
    if !asked.workload.is_empty() {
        plan.workloads.clone_from(&asked.workload);
    }
    let bounds = Asked {
        p99: asked.p99,
        from: asked.from,
        to: asked.to,
    };
    let plan = plan.sustaining(&asked.targets, bounds)?;
    let plan = settled(plan, &host, &asked.run.overrides)?;
    perform(context, &kit, host, plan, &asked.run, &Begin::new(None))
}

/// Who and what a command line names is in the kit.
fn check_names(kit: &Kit, who: &[Contender], workloads: &[String]) -> Result<()> {
    for contender in who {
        kit.adapter(&contender.adapter)?
            .check_label(&contender.label)?;
    }
    for workload in workloads {
        kit.workload(workload)?;
    }
    Ok(())
}

/// How a run begins, and what is said at its end.
pub(super) struct Begin<'a> {
    /// The archive that it goes on with; else it begins one.
    pub(super) resume: Option<&'a Path>,
    /// The command that goes on with it, but for its folder.
    pub(super) command: String,
    /// Whether its outcome is printed.
    pub(super) prints: bool,
}

impl<'a> Begin<'a> {
    fn new(resume: Option<&'a Path>) -> Self {
        Self {
            resume,
            command: "shootout run --resume".to_owned(),
            prints: true,
        }
    }
}

/// Runs a plan that is settled, or shows it.
pub(super) fn perform(
    context: &Context,
    kit: &Kit,
    host: Host,
    plan: Plan,
    asked: &cli::Run,
    begin: &Begin,
) -> Result<()> {
    let adapters = kit.adapters_of(&plan)?;
    let matrix = plan.cells(&adapters)?;
    let workloads = kit.workloads_of(&plan)?;
    let rules = Planned::read(&plan.to_yaml()?)?;
    if asked.dry_run {
        let sources = kit.sources(&plan)?;
        let sources_bytes = sources.iter().map(|(_, bytes)| bytes.len()).sum();
        let archive_bytes = plan.archive_bytes(&matrix, &workloads, sources_bytes);
        let text = plan.dry_run(&matrix, rules.sustain.as_ref(), archive_bytes);
        return print(&(text + &provable(&rules)));
    }
    let dir = match begin.resume.or(asked.out.as_deref()) {
        Some(dir) => dir.to_owned(),
        None => {
            let stamp = crate::date::stamp(clock::unix_s() as u64);
            claimed(&kit.root.join("results"), &format!("{}-{stamp}", plan.name))?
        }
    };
    let job = Job {
        context,
        kit,
        host,
        plan,
        adapters,
        workloads,
        matrix,
        rules,
        dir: dir.clone(),
        keep_going: asked.keep_going,
        gates: asked.gate.clone(),
        resume: begin.command.clone(),
        prints: begin.prints,
    };
    let outcome = crate::runtime()?.block_on(job.perform(begin.resume.is_some()));
    if outcome.is_err() && begin.resume.is_none() && asked.out.is_none() {
        unclaimed(&dir);
    }
    outcome
}

/// A new folder of this name, or of the next one that is free: two runs may begin in the same second.
pub(super) fn claimed(results: &Path, name: &str) -> Result<PathBuf> {
    let failed = |e| Error::io("create", results, &e);
    fs::create_dir_all(results).map_err(failed)?;
    let mut dir = results.join(name);
    for next in 2.. {
        match fs::create_dir(&dir) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                dir = results.join(format!("{name}-{next}"));
            }
            made => return made.map(|()| dir).map_err(failed),
        }
    }
    unreachable!("one of the names is free")
}

/// Removes what [`claimed`] made, as long as nothing is in it.
pub(super) fn unclaimed(dir: &Path) {
    let _ = fs::remove_dir(dir);
    let _ = dir.parent().map(fs::remove_dir);
}

/// A plan with its flags applied and its CPUs chosen.
pub(super) fn settled(mut plan: Plan, host: &Host, overrides: &Overrides) -> Result<Plan> {
    plan.apply(overrides)?;
    let cpus = allot(
        &topology(host),
        &plan.limits.target_cpus,
        plan.load_cpus.as_ref(),
    )?;
    if cpus.pinned {
        plan.limits.target_cpus = CpuAsk::List(cpus.target);
    }
    plan.load_cpus = Some(cpus.load);
    Ok(plan)
}

/// What a duel's number of pairs can prove at most, a line; empty for other plans.
pub(super) fn provable(rules: &Planned) -> String {
    let line = |rules| format!("{}\n", sentences(rules));
    rules.duel.as_ref().map(line).unwrap_or_default()
}

/// The plan of an archive that is to be gone on with; it cannot be changed any more.
pub(super) fn unfinished_plan(dir: &Path, name: Option<&str>, asked: &cli::Run) -> Result<Plan> {
    if asked.overrides != Overrides::default() {
        return Err(Error::usage(
            "--resume goes on with the plan as it was begun: no flag can change it",
        )
        .next("leave the flags out, or begin a new run"));
    }
    let path = dir.join("plan.yaml");
    let text = std::fs::read_to_string(&path).map_err(|_| {
        Error::usage(format!("{} holds no run that was begun", dir.display()))
            .next("name the folder that the interrupted run printed")
    })?;
    let plan = Plan::parse(&crate::plan::yaml::Source::new(
        path.display().to_string(),
        text,
    ))?;
    match name {
        Some(name) if name != plan.name => Err(Error::usage(format!(
            "{} is of the plan {}, not of {name}",
            dir.display(),
            plan.name
        ))
        .next("--resume needs no plan: it goes on with the archive's own")),
        _ => Ok(plan),
    }
}

/// The online CPUs as the plan divides them. Where the machine does not show its cores, each CPU is
/// taken for one.
pub(super) fn topology(host: &Host) -> Vec<Cpu> {
    let cpus = host.facts.cpus.iter();
    cpus.map(|cpu| Cpu {
        cpu: cpu.cpu,
        core: cpu.core.unwrap_or(cpu.cpu),
        socket: cpu.socket.unwrap_or(0),
    })
    .collect()
}

/// What the cells of a run share: the agent's image, and who gets which CPUs.
pub(super) async fn bench<'a>(
    run: &'a engine::Run<'a>,
    images: &mut Images<'_>,
    limits: &PlannedLimits,
    load_cpus: Option<&CpuList>,
) -> Result<Bench<'a>> {
    let binary = agent_binary()?;
    let host = Host::read(&Roots::default());
    let cpus = allot(&topology(&host), &limits.target_cpus, load_cpus)?;
    Ok(Bench {
        run,
        agent: images.agent(&binary).await?,
        digest: binary.digest,
        cpus,
        limits: limits.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_the_same_second_get_folders_of_their_own() {
        let results = tempfile::tempdir().unwrap();
        let names = [(); 3].map(|()| claimed(results.path(), "smoke-1").unwrap());
        let names = names.map(|dir| dir.file_name().unwrap().to_owned());
        assert_eq!(names, ["smoke-1", "smoke-1-2", "smoke-1-3"]);
    }
}
