//! A run from its first image to its archive. Finished cells are on disk before the next one starts;
//! whatever happens, `--resume` goes on with the rest.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use super::documents::{Documents, environment, generator, image_list};
use super::interrupts::Interrupts;
use super::run::bench;
use super::{Context, print, swept_engine};
use crate::cell::{self, Bench, Contest, Measured, Trouble};
use crate::engine::{self, Engine, Image, Images};
use crate::error::{Error, Exit, Result};
use crate::plan::contender::Contender;
use crate::plan::{Adapter, Kit, Matrix, Plan, Workload};
use crate::record::archive::{Archive, Evidence};
use crate::record::schema::{Cell, CellKey, Hole};
use crate::report::{self, table, terminal};
use crate::sample::host::Host;

/// A run, all that it needs.
pub(super) struct Job<'a> {
    pub(super) context: &'a Context,
    pub(super) kit: &'a Kit,
    pub(super) host: Host,
    pub(super) plan: Plan,
    pub(super) adapters: Vec<Adapter>,
    pub(super) workloads: Vec<Workload>,
    pub(super) matrix: Matrix,
    pub(super) dir: PathBuf,
    pub(super) keep_going: bool,
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
        // Whoever interrupts again does not want to wait for an engine that hangs.
        let cleared = interrupts.unless(run.end()).await;
        outcome.and(cleared)
    }

    /// Adds the command that goes on, where there is something to go on with.
    fn with_resume(&self, error: Error) -> Error {
        if !self.dir.join("plan.yaml").exists() || self.dir.join("SHA256SUMS").exists() {
            return error;
        }
        let resume = format!("shootout run --resume {}", self.dir.display());
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
        let mut holes = Holes {
            list: self.matrix.holes.clone(),
            failures: vec![],
        };
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
        self.cells(&bench, &built, &archive, &mut holes).await?;
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

    /// Every planned cell that has no valid record yet, in the plan's order.
    async fn cells(
        &self,
        bench: &Bench<'_>,
        built: &BTreeMap<String, Image>,
        archive: &Archive,
        holes: &mut Holes,
    ) -> Result<()> {
        let ui = &self.context.ui;
        let finished = archive.finished_cells()?;
        let planned = self.matrix.cells().count();
        let (start, mut ran) = (Instant::now(), 0);
        for (index, key) in self.matrix.cells().enumerate() {
            let before = finished
                .iter()
                .map(|(_, cell)| cell)
                .filter(|cell| is_attempt_of(cell, key));
            let mut attempt = before
                .clone()
                .map(|cell| cell.key.attempt)
                .max()
                .unwrap_or(0);
            let mut done = before.clone().any(|cell| cell.load.valid);
            let name = cell_title(key);
            let Some(image) = built.get(&key.adapter).filter(|_| !holes.has(key)) else {
                continue;
            };
            let contest = self.contest(key, image)?;
            while !done && attempt <= self.plan.retries {
                attempt += 1;
                let key = CellKey {
                    attempt,
                    ..key.clone()
                };
                let left = self.seconds_left(index, start, ran);
                let again = match attempt {
                    1 => String::new(),
                    more => format!(", attempt {more}"),
                };
                let number = index + 1;
                ui.step(&format!("[{number}/{planned}] {name}{again}, {left} left"));
                let measured = match cell::run(bench, contest, &self.plan, &key, ui).await {
                    Ok(measured) => measured,
                    Err(Trouble::Failed(error)) => return Err(error.at(&name)),
                    Err(Trouble::Refused(refusal)) if self.keep_going => {
                        ui.warn(&format!("{name}: {}", refusal.reason));
                        holes.fail(&key, &refusal.reason);
                        break;
                    }
                    Err(Trouble::Refused(refusal)) => return Err(stopped(&name, &refusal)),
                };
                ran += 1;
                let cell = put(archive, index, measured)?;
                ui.step(&format!("  {}", outcome(&cell)));
                done = cell.load.valid;
            }
        }
        Ok(())
    }

    fn contest<'a>(&'a self, key: &'a CellKey, image: &'a Image) -> Result<Contest<'a>> {
        let adapter = self
            .adapters
            .iter()
            .find(|adapter| adapter.name == key.adapter);
        let workload = self
            .workloads
            .iter()
            .find(|workload| workload.name == key.workload);
        match (adapter, workload) {
            (Some(adapter), Some(workload)) => Ok(Contest {
                adapter,
                label: &key.label,
                image,
                workload,
            }),
            _ => Err(Error::unexpected(format!(
                "no such adapter or workload: {}",
                cell_title(key)
            ))),
        }
    }

    /// How long the rest will take: the phases, and what a cell took beyond them so far.
    fn seconds_left(&self, index: usize, start: Instant, ran: usize) -> String {
        let cells: Vec<&CellKey> = self.matrix.cells().collect();
        let phases = |cells: &[&CellKey]| -> f64 {
            cells
                .iter()
                .map(|key| self.plan.cell_seconds(key.rate_rps.unwrap_or_default()))
                .sum()
        };
        let overhead = if ran == 0 {
            2.0
        } else {
            let each = phases(&cells[..1]);
            (start.elapsed().as_secs_f64() / ran as f64 - each).max(0.0)
        };
        let rest = &cells[index..];
        let seconds = (phases(rest) + overhead * rest.len() as f64).round() as u64;
        if seconds < 60 {
            format!("{seconds} s")
        } else {
            format!("{} min {:02} s", seconds / 60, seconds % 60)
        }
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
        if self.context.json {
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
        let unmeasured = self.matrix.cells().filter(|key| {
            !summary
                .cells
                .iter()
                .any(|cell| cell.load.valid && is_attempt_of(cell, key))
        });
        match (unmeasured.count(), &holes.failures[..]) {
            (0, []) => Ok(()),
            (_, [first, ..]) => Err(Error::incomplete(format!("incomplete: {first}"))),
            (count, []) => Err(Error::incomplete(format!("{count} cells have no valid run"))
                .next("the reasons are above; a quieter machine, or more `retries` in the plan, may do")),
        }
    }
}

/// What has no number, and why.
struct Holes {
    list: Vec<Hole>,
    /// Those that somebody should mend, a sentence each.
    failures: Vec<String>,
}

impl Holes {
    /// All cells of this adapter, label and workload.
    fn fail(&mut self, key: &CellKey, reason: &str) {
        let adapter = contender(key);
        self.failures
            .push(format!("{adapter} on {}: {reason}", key.workload));
        self.list.push(Hole {
            adapter,
            workload: key.workload.clone(),
            reason: reason.to_owned(),
        });
    }

    fn has(&self, key: &CellKey) -> bool {
        self.list
            .iter()
            .any(|hole| hole.adapter == contender(key) && hole.workload == key.workload)
    }
}

fn put(archive: &Archive, index: usize, measured: Measured) -> Result<Cell> {
    let Measured {
        cell,
        hlog,
        samples,
        transcript,
        log,
    } = measured;
    let evidence = Evidence {
        hlog: &hlog,
        samples: &samples,
        parity: &transcript,
        target_log: &log,
    };
    archive.put_cell(index as u32 + 1, cell, &evidence)
}

/// A cell's main figures in one line, or why it has none.
fn outcome(cell: &Cell) -> String {
    if !cell.load.valid {
        return format!("invalid: {}", cell.load.invalid_reasons.join("; "));
    }
    let figure = |value: Option<f64>| value.map_or("-".to_owned(), table::short);
    let response = &cell.load.response_us;
    let health = match cell.healthy {
        Some(true) => "healthy".to_owned(),
        _ => cell.unhealthy_reasons.join("; "),
    };
    format!(
        "{} CPU us per request, p50 {} us, p99 {} us, {health}",
        figure(cell.cpu_us_per_request),
        figure(response.p50),
        figure(response.p99),
    )
}

fn is_attempt_of(cell: &Cell, key: &CellKey) -> bool {
    CellKey {
        attempt: key.attempt,
        ..cell.key.clone()
    } == *key
}

/// As plans and holes name it: `express`, `express@slow`.
fn contender(key: &CellKey) -> String {
    let (adapter, label) = (key.adapter.clone(), key.label.clone());
    Contender { adapter, label }.to_string()
}

fn cell_title(key: &CellKey) -> String {
    let rate = key
        .rate_rps
        .map_or_else(|| key.r#loop.clone(), |rate| format!("{rate}/s"));
    let (who, workload, repetition) = (contender(key), &key.workload, key.repetition);
    format!("{who} {workload} {rate} #{repetition}")
}

/// A parity failure stops the run: whatever it would measure, it would not be the same work.
fn stopped(name: &str, refusal: &cell::Refusal) -> Error {
    let log = refusal.log_tail();
    let log = if log.is_empty() {
        String::new()
    } else {
        format!("\nthe end of the target's log:\n{log}")
    };
    Error::incomplete(format!("{name}: {}{log}", refusal.reason)).next(
        "`shootout check NAME` shows every row; --keep-going makes holes of such cells and goes on",
    )
}
