//! A run from its first image to its archive. Finished cells are on disk before the next one starts;
//! whatever happens, `--resume` goes on with the rest.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::attempts::unmeasured;
use super::documents::{Documents, environment, generator, image_list};
use super::interrupts::Interrupts;
use super::run::{bench, provable};
use super::units::{Holes, Units};
use super::{Context, print, swept_engine};
use crate::cell::Bench;
use crate::engine::{self, Engine, Image, Images};
use crate::error::{Error, Exit, Result};
use crate::plan::{Adapter, Agenda, Kit, Matrix, Plan, Workload};
use crate::record::archive::Archive;
use crate::record::planned::Planned;
use crate::record::schema::Summary;
use crate::report::{self, terminal};
use crate::sample::host::Host;
use crate::stats::gate::Gate;

/// A run, all that it needs.
pub(super) struct Job<'a> {
    pub(super) context: &'a Context,
    pub(super) kit: &'a Kit,
    pub(super) host: Host,
    pub(super) plan: Plan,
    pub(super) adapters: Vec<Adapter>,
    pub(super) workloads: Vec<Workload>,
    pub(super) matrix: Matrix,
    /// What the plan fixed of its verdicts and searches.
    pub(super) rules: Planned,
    pub(super) dir: PathBuf,
    pub(super) keep_going: bool,
    /// What must hold at its end.
    pub(super) gates: Vec<Gate>,
    /// The command that goes on with it, but for its folder.
    pub(super) resume: String,
    /// Whether its outcome is printed; who judges it prints what came of that.
    pub(super) prints: bool,
}

impl Job<'_> {
    /// Runs until the end, or until somebody interrupts; containers are gone either way.
    pub(super) async fn perform(&self, resuming: bool) -> Result<()> {
        let outcome = self.cleared_up(resuming).await;
        outcome.map_err(|error| self.with_resume(error))
    }

    async fn cleared_up(&self, resuming: bool) -> Result<()> {
        let mut interrupts = Interrupts::listen()?;
        let engine = interrupts.unless(swept_engine()).await?;
        let run = engine.begin_run()?;
        let measuring = self.measure(&engine, &run, resuming);
        let outcome = interrupts.unless(measuring).await;
        self.context.ui.over();
        // Whoever interrupts again does not want to wait for an engine that hangs.
        let cleared = interrupts.unless(run.end()).await;
        outcome.and(cleared)
    }

    /// Adds the command that goes on, where there is something to go on with.
    fn with_resume(&self, error: Error) -> Error {
        if !self.dir.join("plan.yaml").exists() || self.dir.join("SHA256SUMS").exists() {
            return error;
        }
        let resume = format!("{} {}", self.resume, self.dir.display());
        let next = if error.next.is_empty() {
            format!("finished cells are kept; go on with `{resume}`")
        } else {
            format!("{}\n  then go on with `{resume}`", error.next)
        };
        error.next(next)
    }

    async fn measure(&self, engine: &Engine, run: &engine::Run<'_>, resuming: bool) -> Result<()> {
        let ui = &self.context.ui;
        let mut images = Images::new(engine, &self.kit.root, ui);
        let bench = bench(
            run,
            &mut images,
            &self.plan.limits,
            self.plan.load_cpus.as_ref(),
        )
        .await?;
        // Before anything is seen: what is asked of the numbers is not made to fit them.
        let provable = provable(&self.rules);
        if !provable.is_empty() {
            ui.step(provable.trim_end());
        }
        let mut holes = Holes::new(&self.matrix.holes);
        let built = self.build(&mut images, &mut holes).await?;
        let sources = self.kit.sources(&self.plan)?;
        let modified = self.kit.modified(&sources)?;
        let documents = Documents {
            plan: self.plan.to_yaml()?,
            environment: environment(&self.host, engine, &bench, &modified),
            images: image_list(run, &images).await?,
            sources,
        };
        let archive = if resuming {
            documents.resume(&self.dir)?
        } else {
            documents.begin(&self.dir)?
        };
        // From here on the runner keeps off the target's CPUs.
        crate::affinity::keep_off(bench.cpus.target.iter())?;
        let mut units = Units::new(self, &bench, &built, &archive)?;
        let agenda = Agenda::new(&self.plan, &self.matrix, self.rules.sustain.as_ref());
        units.run(agenda, &mut holes).await?;
        self.finish(&archive, &bench, holes, &modified)
    }

    /// Builds every adapter; one that fails ends the run, or becomes holes with --keep-going.
    async fn build(
        &self,
        images: &mut Images<'_>,
        holes: &mut Holes,
    ) -> Result<BTreeMap<String, Image>> {
        let mut built = BTreeMap::new();
        for adapter in self
            .adapters
            .iter()
            .filter(|adapter| adapter.not_built.is_none())
        {
            match images.adapter(&adapter.name, self.kit.data(adapter)?).await {
                Ok(image) => {
                    built.insert(adapter.name.clone(), image);
                }
                Err(error) if self.keep_going && error.exit == Exit::Incomplete => {
                    self.context.ui.warn(&error.to_string());
                    let reason = error.what.lines().next().unwrap_or_default();
                    for key in self.matrix.cells() {
                        if key.adapter == adapter.name && !holes.has(key) {
                            holes.fail(key, reason);
                        }
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(built)
    }

    fn finish(
        &self,
        archive: &Archive,
        bench: &Bench,
        holes: Holes,
        modified: &[String],
    ) -> Result<()> {
        let reasons = match modified {
            [] => vec![],
            [first, ..] => vec![format!(
                "sources differ from SHA256SUMS: {first} and {} more",
                modified.len() - 1
            )],
        };
        let (summary, id) = archive.finish(generator(bench), holes.list, reasons)?;
        let path = self.dir.display().to_string();
        if !self.prints {
            self.context.ui.step(&format!("archive {path}, id {id}"));
        } else if self.context.json {
            print(&report::json::render(&summary, Some(&id))?)?;
        } else {
            let archive = terminal::Archive {
                path: &path,
                id: &id,
            };
            print(&terminal::render(
                &summary,
                Some(archive),
                self.context.ui.color(),
            ))?;
        }
        match (self.missing(&summary), &holes.failures[..]) {
            (None, []) => self.gates_hold(&summary),
            (_, [first, ..]) => Err(Error::incomplete(format!("incomplete: {first}"))
                .next("every hole and its reason is in the report; `shootout check NAME` shows each row that failed")),
            (Some(what), []) => Err(Error::incomplete(what).next(
                "the reasons are above; a quieter machine, or more `retries` in the plan, may do",
            )),
        }
    }

    /// What was planned and has no valid run: cells, or of a search the end of an interval.
    fn missing(&self, summary: &Summary) -> Option<String> {
        if self.rules.sustain.is_some() {
            let open = summary.sustained.iter().filter(|row| !row.complete).count();
            return (open > 0)
                .then(|| format!("{open} searches ended at a rate that has no valid run"));
        }
        match unmeasured(&self.matrix, &summary.cells) {
            0 => None,
            count => Some(format!("{count} cells have no valid run")),
        }
    }

    /// What was not measured at all is incomplete, which is worse than a gate that does not hold.
    fn gates_hold(&self, summary: &Summary) -> Result<()> {
        let failures = self.gates.iter().flat_map(|gate| gate.failures(summary));
        let failures: Vec<String> = failures.collect();
        match &failures[..] {
            [] => Ok(()),
            [first, more @ ..] => {
                let what = format!("a gate does not hold: {first}, and {} more", more.len());
                Err(Error::new(Exit::Gate, what))
            }
        }
    }
}
