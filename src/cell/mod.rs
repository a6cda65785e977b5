//! One unit from start to records: a cell alone, or all sides of a pair, in fresh containers. Its
//! phases: ready, parity, baseline, warm-up, settle, load, parity again, recovery, stop; in a pair, a
//! block that shows background work and the closed loops come after the load. Warm-up and settle are in
//! no number.

mod drive;
mod link;
mod loads;
mod readings;
mod rhythm;
mod stage;

use std::time::{Duration, Instant};

pub use rhythm::Rhythms;
pub use stage::{Bench, Contest, Refusal, Stage, Trouble};

use crate::draw::Draw;
use crate::error::Result;
use crate::load::{self, clock};
use crate::parity::{Transcript, drawn};
use crate::plan::spec::Plan;
use crate::plan::{cell_seed, mask_seed};
use crate::record::hlog::Hlog;
use crate::record::samples::{Mark, Sample};
use crate::record::schema::{Cell, CellKey, Paired, Phase};
use crate::ui::Ui;
use drive::{Loaded, Own};
use loads::Point;

/// How often memory is read at rest; what reads shares the generator's CPU.
const TICK_AT_REST: Duration = Duration::from_millis(250);
/// What a unit takes beyond its phases at the very most; bounds the agents' lives.
const SLACK: Duration = Duration::from_secs(300);

/// All that is known of a cell once it ran.
pub struct Measured {
    /// With its observed fields; the record derives the rest.
    pub cell: Cell,
    /// The load's histograms.
    pub hlog: Hlog,
    /// What was read of the target.
    pub samples: Vec<Sample>,
    /// What was asked and answered.
    pub transcript: Transcript,
    /// The end of what the target wrote.
    pub log: Vec<u8>,
}

/// What is to run together.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    /// Who, side by side.
    pub contests: &'a [Contest<'a>],
    /// Every cell of the unit: by load, then by side.
    pub cells: &'a [CellKey],
    /// How long its phases last in all, in seconds.
    pub seconds: f64,
}

/// Runs one unit in fresh containers, which are gone when this returns. A pair that is the first of its
/// session finds the rhythms of its slices in its own warm-up, and leaves them for the others.
pub async fn run(
    bench: &Bench<'_>,
    entry: Entry<'_>,
    plan: &Plan,
    rhythms: &mut Rhythms,
    ui: &Ui,
) -> std::result::Result<Vec<Measured>, Trouble> {
    let lifetime = Duration::from_secs_f64(entry.seconds) + SLACK;
    let mut order: Vec<usize> = (0..entry.contests.len()).collect();
    let seed = mask_seed(&entry.cells[0], plan.seed);
    Draw::new("order of starts", seed).shuffle(&mut order);
    let mut take = Take {
        bench,
        sides: vec![],
        order: order.clone(),
        points: Point::of(entry.cells, entry.contests.len()),
        start: Instant::now(),
        started_unix_s: clock::unix_s(),
        seed: cell_seed(&entry.cells[0], plan.seed),
        plan,
        ui,
        phases: vec![],
    };
    for index in order {
        let contest = entry.contests[index];
        ui.now(&format!("starting {}", contest.contender()));
        match Stage::set(bench, contest, lifetime).await {
            Ok(stage) => take.sides.push(Side::new(index, contest, stage)),
            Err(trouble) => {
                take.strike().await?;
                return Err(trouble.of_side(index));
            }
        }
    }
    take.sides.sort_by_key(|side| side.index);
    take.end_phase("ready", 0.0);
    let played = take.all(rhythms).await;
    let logs = take.logs().await;
    let measured = match played {
        Ok(Ok(loads)) => Ok(take.records(loads, logs.as_deref().unwrap_or_default())),
        Ok(Err(failed)) => Err(Trouble::Refused(
            take.refusal(failed, logs.as_deref().unwrap_or_default()),
        )),
        Err(error) => Err(Trouble::Failed(error)),
    };
    take.strike().await?;
    logs?;
    measured
}

/// A target's fault, in words.
struct Failed {
    side: usize,
    reason: String,
}

/// What a phase gives, or whose fault it is that it gives nothing.
type Played<T> = Result<std::result::Result<T, Failed>>;

/// One target, up, with all that was read of it.
struct Side<'a> {
    /// Its place among the sides; a is 0.
    index: usize,
    contest: Contest<'a>,
    stage: Stage<'a>,
    /// What its load is verified with.
    variants: Vec<load::Variant>,
    samples: Vec<Sample>,
}

impl<'a> Side<'a> {
    fn new(index: usize, contest: Contest<'a>, stage: Stage<'a>) -> Self {
        Self {
            index,
            contest,
            stage,
            variants: vec![],
            samples: vec![],
        }
    }
}

/// A measurement in progress.
struct Take<'a> {
    bench: &'a Bench<'a>,
    /// By their places.
    sides: Vec<Side<'a>>,
    /// In which they are started and proven, drawn for each pair: whoever is always the last to begin would
    /// differ from the others by that.
    order: Vec<usize>,
    points: Vec<Point<'a>>,
    start: Instant,
    started_unix_s: f64,
    seed: u64,
    plan: &'a Plan,
    ui: &'a Ui,
    phases: Vec<Phase>,
}

impl<'a> Take<'a> {
    /// Every phase from parity to recovery: what each load point gave, side by side.
    async fn all(&mut self, rhythms: &mut Rhythms) -> Played<Vec<Vec<Loaded>>> {
        if let Err(failed) = self.prove("before").await? {
            return Ok(Err(failed));
        }
        let phases = self.plan.phases;
        self.rest("baseline", phases.baseline.duration()).await?;
        self.warm_up(rhythms).await?;
        self.settle(phases.settle.duration()).await;

        let mut loads: Vec<Vec<Loaded>> = Vec::new();
        for point in self.points.clone() {
            let loaded = match self.load(&point, rhythms, loads.is_empty()).await? {
                Ok(loaded) => loaded,
                Err(failed) => return Ok(Err(failed)),
            };
            let ended = loaded.iter().any(|loaded| !loaded.target_ended.is_empty());
            if loads.is_empty() && !ended && self.sides.len() > 1 {
                self.background(&point, rhythms).await?;
            }
            loads.push(loaded);
            if ended {
                return Ok(Ok(loads));
            }
        }
        if let Err(failed) = self.prove("after").await? {
            return Ok(Err(failed));
        }
        // After the load: so many requests more would show in the baseline's memory.
        for side in 0..self.sides.len() {
            if let Err(reason) = self.sides[side].stage.burst(self.seed ^ 4).await? {
                return Ok(Err(Failed { side, reason }));
            }
        }
        self.rest("recovery", phases.recovery.duration()).await?;
        Ok(Ok(loads))
    }

    /// One counted load. The first one's rows, phases and kept responses join those of the whole unit;
    /// a later one's stay its own.
    async fn load(
        &mut self,
        point: &Point<'_>,
        rhythms: &Rhythms,
        first: bool,
    ) -> Played<Vec<Loaded>> {
        let (rows, phases) = (self.sides[0].samples.len(), self.phases.len());
        let unix_s = clock::unix_s();
        let load = self.plan_load(point, rhythms);
        let mut loaded = self.drive("load", &load).await?;
        for (index, loaded) in loaded.iter_mut().enumerate() {
            let side = &mut self.sides[index];
            let failed = |reason| Failed {
                side: index,
                reason,
            };
            if first {
                if let Err(reason) = side.stage.keep(&loaded.kept, unix_s) {
                    return Ok(Err(failed(reason)));
                }
            } else {
                match side.stage.only_kept(&loaded.kept, unix_s) {
                    Ok(transcript) => {
                        loaded.own = Some(Own {
                            transcript,
                            samples: side.samples.split_off(rows),
                            phases: self.phases[phases..].to_vec(),
                        })
                    }
                    Err(reason) => return Ok(Err(failed(reason))),
                }
            }
            loaded.target_ended = side.stage.ended().await?.unwrap_or_default();
        }
        if !first {
            self.phases.truncate(phases);
        }
        Ok(Ok(loaded))
    }

    /// Asks the matrix of every side; what its load can be verified with is kept.
    async fn prove(&mut self, when: &str) -> Played<()> {
        let start_s = self.now_s();
        let seed = drawn::proof_seed(self.seed, when);
        for index in self.order.clone() {
            let side = &mut self.sides[index];
            let who = side.contest.contender();
            self.ui.now(&format!("{who}: parity {when} the load"));
            match side.stage.prove(when, seed).await? {
                Ok(variants) => side.variants = variants,
                Err(reason) => {
                    return Ok(Err(Failed {
                        side: index,
                        reason,
                    }));
                }
            }
        }
        self.end_phase(&format!("parity {when}"), start_s);
        Ok(Ok(()))
    }

    /// Nothing is asked and nothing read.
    async fn settle(&mut self, duration: Duration) {
        self.ui.phase("settle", Some(duration));
        let start_s = self.now_s();
        let end = tokio::time::Instant::now() + duration;
        while tokio::time::Instant::now() + TICK_AT_REST < end {
            tokio::time::sleep(TICK_AT_REST).await;
            self.ui.refresh();
        }
        tokio::time::sleep_until(end).await;
        self.end_phase("settle", start_s);
    }

    /// A phase at rest, sampled.
    async fn rest(&mut self, phase: &str, duration: Duration) -> Result<()> {
        self.ui.phase(phase, Some(duration));
        let start_s = self.edge(phase, Mark::Start);
        let end = tokio::time::Instant::now() + duration;
        while tokio::time::Instant::now() + TICK_AT_REST < end {
            tokio::time::sleep(TICK_AT_REST).await;
            self.tick(phase);
        }
        tokio::time::sleep_until(end).await;
        self.edge(phase, Mark::End);
        self.end_phase(phase, start_s);
        Ok(())
    }

    fn now_s(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Reads everything of every side.
    fn edge(&mut self, phase: &str, mark: Mark) -> f64 {
        let now_s = self.now_s();
        for side in &mut self.sides {
            let row = side.stage.sampler.edge(now_s, phase, mark);
            side.samples.push(row);
        }
        now_s
    }

    /// Reads what is cheap, then shows it.
    fn tick(&mut self, phase: &str) {
        let now_s = self.now_s();
        for (index, side) in self.sides.iter_mut().enumerate() {
            let row = side.stage.sampler.tick(now_s, phase);
            self.ui.sample(index, &row);
            side.samples.push(row);
        }
        self.ui.refresh();
    }

    fn end_phase(&mut self, name: &str, start_s: f64) {
        self.phases.push(Phase {
            name: name.to_owned(),
            start_s,
            end_s: self.now_s(),
        });
    }

    /// A target's fault; in a pair it must be said whose.
    fn refusal(&mut self, failed: Failed, logs: &[Vec<u8>]) -> Refusal {
        let Failed { side, reason } = failed;
        let reason = match self.sides.len() {
            1 => reason,
            _ => format!("{}: {reason}", self.sides[side].contest.contender()),
        };
        Refusal {
            reason,
            side,
            transcript: std::mem::take(&mut self.sides[side].stage.transcript),
            log: logs.get(side).cloned().unwrap_or_default(),
        }
    }

    /// A record for every cell that has a load.
    fn records(&mut self, loads: Vec<Vec<Loaded>>, logs: &[Vec<u8>]) -> Vec<Measured> {
        let names: Vec<String> = self
            .sides
            .iter()
            .map(|side| side.contest.contender())
            .collect();
        let mut records = Vec::new();
        for (point, loaded) in self.points.iter().zip(loads) {
            for ((index, loaded), key) in loaded.into_iter().enumerate().zip(point.cells) {
                let side = &mut self.sides[index];
                let own = loaded.own.unwrap_or_else(|| Own {
                    transcript: std::mem::take(&mut side.stage.transcript),
                    samples: std::mem::take(&mut side.samples),
                    phases: self.phases.clone(),
                });
                let image = side.contest.image;
                let cell = Cell {
                    load: loaded.load,
                    key: key.clone(),
                    paired: loaded.mask.map(|mask| Paired {
                        sides: names.clone(),
                        epoch_ns: loaded.epoch_ns,
                        mask,
                        ..Paired::default()
                    }),
                    arch: std::env::consts::ARCH.into(),
                    target_ended: loaded.target_ended,
                    dependencies: loaded.dependencies,
                    start_ms: Some(side.stage.start_ms),
                    image_mib: image.size_bytes as f64 / (1024.0 * 1024.0),
                    limits: side.stage.limits.clone(),
                    scenery: loaded.scenery,
                    phases: own.phases,
                    started_unix_s: self.started_unix_s,
                    digests: [("image".to_owned(), image.id.clone())].into(),
                    ..Cell::default()
                };
                records.push(Measured {
                    cell,
                    hlog: loaded.hlog,
                    samples: own.samples,
                    transcript: own.transcript,
                    log: logs.get(index).cloned().unwrap_or_default(),
                });
            }
        }
        records
    }

    /// The end of what each target wrote.
    async fn logs(&self) -> Result<Vec<Vec<u8>>> {
        let mut logs = Vec::new();
        for side in &self.sides {
            logs.push(side.stage.log().await?);
        }
        Ok(logs)
    }

    /// Removes all containers.
    async fn strike(self) -> Result<()> {
        for side in self.sides {
            side.stage.strike().await?;
        }
        Ok(())
    }
}
