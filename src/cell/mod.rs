//! One cell from start to record: ready, parity, baseline, warm-up, settle, load, parity again,
//! recovery, stop. Warm-up and settle are in no number.

mod link;
mod stage;

use std::time::{Duration, Instant};

pub use stage::{Bench, Contest, Refusal, Stage, Trouble};

use crate::agent::protocol::Event;
use crate::error::Result;
use crate::load::{self, Arrivals, Kept, Pace, Spec, clock};
use crate::parity::{Transcript, drawn, kept};
use crate::plan::cell_seed;
use crate::plan::spec::{Phases, Plan};
use crate::record::hlog::{self, Hlog};
use crate::record::samples::{Mark, Sample};
use crate::record::schema::{Cell, CellKey, Dependency, Load, Phase};
use crate::ui::Ui;

/// How often memory is read at rest, and under load: what reads shares the generator's CPU.
const TICK_AT_REST: Duration = Duration::from_millis(250);
const TICK_UNDER_LOAD: Duration = Duration::from_millis(500);
/// Slot 0 is due so long after the start was ordered: time for the order to arrive.
const LEAD: Duration = Duration::from_millis(20);
/// A load reports once a second; more silence than this means that its agent hangs.
const SILENCE: Duration = Duration::from_secs(15);
/// How long the generator spins before a slot and after a send.
const SPIN: Duration = Duration::from_micros(60);
/// What a cell takes beyond its phases at the very most; bounds the agent's life.
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

/// Runs one cell in fresh containers, which are gone when this returns.
pub async fn run(
    bench: &Bench<'_>,
    contest: Contest<'_>,
    plan: &Plan,
    key: &CellKey,
    ui: &Ui,
) -> std::result::Result<Measured, Trouble> {
    let rate_rps = key.rate_rps.unwrap_or_default();
    let lifetime = Duration::from_secs_f64(plan.cell_seconds(rate_rps)) + SLACK;
    let (start, started_unix_s) = (Instant::now(), clock::unix_s());
    let stage = Stage::set(bench, contest, lifetime).await?;
    let mut take = Take {
        stage,
        start,
        seed: cell_seed(key, plan.seed),
        rate_rps,
        connections: key.connections,
        plan,
        ui,
        phases: vec![],
        samples: vec![],
    };
    take.end_phase("ready", 0.0);
    let measured = take.all(contest.adapter.port, &plan.phases).await;
    let log = take.stage.log().await;
    let Take {
        mut stage,
        phases,
        samples,
        ..
    } = take;
    let (limits, start_ms) = (stage.limits.clone(), stage.start_ms);
    let transcript = std::mem::take(&mut stage.transcript);
    stage.strike().await?;
    let loaded = match measured? {
        Ok(measured) => measured,
        Err(reason) => {
            return Err(Trouble::Refused(Refusal {
                reason,
                transcript,
                log: log?,
            }));
        }
    };
    let cell = Cell {
        load: loaded.load,
        key: key.clone(),
        arch: std::env::consts::ARCH.into(),
        target_ended: loaded.target_ended,
        dependencies: loaded.dependencies,
        start_ms: Some(start_ms),
        image_mib: contest.image.size_bytes as f64 / (1024.0 * 1024.0),
        limits,
        phases,
        started_unix_s,
        digests: [("image".to_owned(), contest.image.id.clone())].into(),
        ..Cell::default()
    };
    Ok(Measured {
        cell,
        hlog: loaded.hlog,
        samples,
        transcript,
        log: log?,
    })
}

/// A measurement in progress.
struct Take<'a> {
    stage: Stage<'a>,
    start: Instant,
    seed: u64,
    rate_rps: u64,
    connections: u32,
    plan: &'a Plan,
    ui: &'a Ui,
    phases: Vec<Phase>,
    samples: Vec<Sample>,
}

/// What a load gave.
struct Loaded {
    /// Its observed fields.
    load: Load,
    hlog: Hlog,
    kept: Vec<Kept>,
    dependencies: Vec<Dependency>,
    /// How the target ended in it; empty if it did not.
    target_ended: String,
}

impl Take<'_> {
    /// Every phase from parity to recovery; the inner error is the target's fault, in words.
    async fn all(
        &mut self,
        port: u16,
        phases: &Phases,
    ) -> Result<std::result::Result<Loaded, String>> {
        let variants = match self.prove("before").await? {
            Ok(variants) => variants,
            Err(reason) => return Ok(Err(reason)),
        };
        let spec = |seconds: f64, seed: u64| Spec {
            target: ([127, 0, 0, 1], port).into(),
            variants: variants.clone(),
            pace: Pace::Open {
                rate_rps: self.rate_rps,
                arrivals: Arrivals::Uniform,
            },
            slices: None,
            threads: 1,
            duration_ns: (seconds * 1e9).round() as u64,
            connections: self.connections,
            timeout_ns: self.plan.timeout.0.as_nanos() as u64,
            spin_ns: SPIN.as_nanos() as u64,
            keep: vec![],
            seed,
        };
        let warm_up = spec(phases.warm_up.seconds_at(self.rate_rps), self.seed ^ 1);
        let mut load = spec(phases.load.get(), self.seed);
        load.keep = kept::slots(load.slots(), self.seed);

        self.rest("baseline", phases.baseline.duration()).await?;
        self.drive("warm-up", &warm_up).await?;
        let settle_s = self.now_s();
        tokio::time::sleep(phases.settle.duration()).await;
        self.end_phase("settle", settle_s);
        let load_unix_s = clock::unix_s();
        let mut loaded = self.drive("load", &load).await?;
        if let Err(reason) = self.stage.keep(&loaded.kept, load_unix_s) {
            return Ok(Err(reason));
        }
        if let Some(ended) = self.stage.ended().await? {
            loaded.target_ended = ended;
            return Ok(Ok(loaded));
        }
        if let Err(reason) = self.prove("after").await? {
            return Ok(Err(reason));
        }
        // After the load: so many requests more would show in the baseline's memory.
        if let Err(reason) = self.stage.burst(self.seed ^ 4).await? {
            return Ok(Err(reason));
        }
        self.rest("recovery", phases.recovery.duration()).await?;
        Ok(Ok(loaded))
    }

    /// Asks the matrix; what the load can be verified with, or the first failure in words.
    async fn prove(
        &mut self,
        when: &str,
    ) -> Result<std::result::Result<Vec<load::Variant>, String>> {
        let start_s = self.now_s();
        self.ui.now(&format!("parity {when} the load"));
        let seed = drawn::proof_seed(self.seed, when);
        let learned = self.stage.prove(when, seed).await?;
        self.end_phase(&format!("parity {when}"), start_s);
        Ok(learned)
    }

    /// A phase at rest, sampled.
    async fn rest(&mut self, phase: &str, duration: Duration) -> Result<()> {
        self.ui
            .now(&format!("{phase} {:.1} s", duration.as_secs_f64()));
        let start_s = self.edge(phase, Mark::Start);
        let end = tokio::time::Instant::now() + duration;
        while tokio::time::Instant::now() + TICK_AT_REST < end {
            tokio::time::sleep(TICK_AT_REST).await;
            self.samples
                .push(self.stage.sampler.tick(self.now_s(), phase));
        }
        tokio::time::sleep_until(end).await;
        self.edge(phase, Mark::End);
        self.end_phase(phase, start_s);
        Ok(())
    }

    /// A load, sampled from edge to edge.
    async fn drive(&mut self, phase: &str, spec: &Spec) -> Result<Loaded> {
        self.ui.now(&format!(
            "{phase}: opening {} connections",
            spec.connections
        ));
        self.stage.link.arm(spec).await?;
        // From here on they count for this load.
        self.stage.dependencies().await?;
        let start_s = self.edge(phase, Mark::Start);
        self.stage
            .link
            .go(clock::now_ns() + LEAD.as_nanos() as u64)
            .await?;
        let mut ticks = tokio::time::interval(TICK_UNDER_LOAD);
        ticks.tick().await;
        loop {
            let event = tokio::select! {
                event = self.stage.link.event(SILENCE) => event?,
                _ = ticks.tick() => {
                    self.samples.push(self.stage.sampler.tick(self.now_s(), phase));
                    continue;
                }
            };
            match event {
                Event::Progress { progress } => self.ui.now(&format!(
                    "{phase}: {} of {} slots, p50 {:.0} us, p99 {:.0} us, generator late p99 {:.1} us{}",
                    progress.due,
                    spec.slots(),
                    progress.p50_us,
                    progress.p99_us,
                    progress.late_p99_us,
                    match progress.not_completed {
                        0 => String::new(),
                        count => format!(", {count} not completed"),
                    },
                )),
                Event::Over => {
                    self.edge(phase, Mark::End);
                    self.end_phase(phase, start_s);
                }
                Event::Done { load, hlog, kept } => {
                    return Ok(Loaded {
                        load: *load,
                        hlog: hlog::read(&hlog)?,
                        kept,
                        dependencies: self.stage.dependencies().await?,
                        target_ended: String::new(),
                    });
                }
                other => return Err(link::unexpected(&other)),
            }
        }
    }

    fn now_s(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn edge(&mut self, phase: &str, mark: Mark) -> f64 {
        let now_s = self.now_s();
        self.samples
            .push(self.stage.sampler.edge(now_s, phase, mark));
        now_s
    }

    fn end_phase(&mut self, name: &str, start_s: f64) {
        self.phases.push(Phase {
            name: name.to_owned(),
            start_s,
            end_s: self.now_s(),
        });
    }
}
