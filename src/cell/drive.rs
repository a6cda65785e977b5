//! One load over all sides: armed, started on one epoch, watched until the last of them is over.

use std::time::Duration;

use futures_util::future::select_all;

use super::loads::PlannedLoad;
use super::{Take, link};
use crate::agent::protocol::Event;
use crate::error::Result;
use crate::load::{Kept, Spec, clock};
use crate::parity::Transcript;
use crate::record::hlog::{self, Hlog};
use crate::record::samples::{Mark, Sample};
use crate::record::scenery::Scenery;
use crate::record::schema::{Dependency, Load, MaskSeed, Phase};
use crate::sample::sampler::Sampler;
use crate::sample::scenery::{Around, Edge};

/// How often memory is read under load; what reads shares the generator's CPU.
const TICK: Duration = Duration::from_millis(500);
/// Slot 0 is due so long after the start was ordered: time for the order to arrive.
const LEAD: Duration = Duration::from_millis(20);
/// A load reports once a second; more silence than this means that its agent hangs.
const SILENCE: Duration = Duration::from_secs(15);

/// What a load gave one side.
pub(super) struct Loaded {
    /// Its observed fields.
    pub(super) load: Load,
    pub(super) hlog: Hlog,
    pub(super) kept: Vec<Kept>,
    pub(super) dependencies: Vec<Dependency>,
    /// How the target ended in it; empty if it did not.
    pub(super) target_ended: String,
    /// Slot 0 of all sides, on CLOCK_MONOTONIC.
    pub(super) epoch_ns: u64,
    pub(super) mask: Option<MaskSeed>,
    /// Of a counted load.
    pub(super) scenery: Option<Scenery>,
    /// Of a load that is not its unit's first.
    pub(super) own: Option<Own>,
}

/// What belongs to one load alone.
pub(super) struct Own {
    pub(super) transcript: Transcript,
    pub(super) samples: Vec<Sample>,
    pub(super) phases: Vec<Phase>,
}

impl Take<'_> {
    /// Drives a load on every side at once, sampled from edge to edge.
    pub(super) async fn drive(&mut self, phase: &str, load: &PlannedLoad) -> Result<Vec<Loaded>> {
        for (side, spec) in self.sides.iter_mut().zip(&load.specs) {
            let connections = spec.connections;
            self.ui
                .now(&format!("{phase}: opening {connections} connections"));
            side.stage.link.arm(spec).await?;
            // From here on they count for this load.
            side.stage.dependencies().await?;
        }
        let length = load.specs.first().and_then(Spec::length);
        self.ui.phase(phase, length);
        let counted = phase == "load";
        let rows = self.sides.first().map_or(0, |side| side.samples.len());
        let start_s = self.edge(phase, Mark::Start);
        let before = counted.then(|| self.scenery());
        let epoch_ns = clock::now_ns() + LEAD.as_nanos() as u64;
        for side in &mut self.sides {
            side.stage.link.go(epoch_ns).await?;
        }
        let samplers = self.sides.iter().map(|side| side.stage.sampler.clone());
        let readings = load
            .readings
            .begin(samplers.collect(), phase, epoch_ns, self.start);

        let mut done: Vec<Option<Loaded>> = self.sides.iter().map(|_| None).collect();
        let (mut over, mut after) = (0, None);
        let mut ticks = tokio::time::interval(TICK);
        ticks.tick().await;
        while done.iter().any(Option::is_none) {
            let heard = {
                let busy = self.sides.iter_mut().zip(&done).enumerate();
                let busy = busy.filter(|(_, (_, done))| done.is_none());
                let events = busy.map(|(index, (side, _))| {
                    let event = side.stage.link.event(SILENCE);
                    Box::pin(async move { (index, event.await) })
                });
                tokio::select! {
                    (heard, ..) = select_all(events) => Some(heard),
                    _ = ticks.tick() => None,
                }
            };
            let Some((index, event)) = heard else {
                self.tick(phase);
                continue;
            };
            let event = event?;
            match event {
                // Shown with the next tick: a second's figures of all sides at once.
                Event::Progress { progress } => {
                    let share = load.specs[index].own_share();
                    self.ui.hear(index, progress, share);
                }
                Event::Over => {
                    over += 1;
                    if over == self.sides.len() {
                        after = counted.then(|| self.scenery());
                        self.edge(phase, Mark::End);
                        self.end_phase(phase, start_s);
                    }
                }
                Event::Done {
                    load: figures,
                    hlog,
                    kept,
                } => {
                    done[index] = Some(Loaded {
                        load: *figures,
                        hlog: hlog::read(&hlog)?,
                        kept,
                        dependencies: self.sides[index].stage.dependencies().await?,
                        target_ended: String::new(),
                        epoch_ns,
                        mask: load.mask,
                        scenery: None,
                        own: None,
                    });
                }
                other => return Err(link::unexpected(&other)),
            }
        }
        for (side, read) in self.sides.iter_mut().zip(readings.end().await?) {
            side.samples.extend(read);
            side.samples[rows..].sort_by(|a, b| a.t_s.total_cmp(&b.t_s));
        }
        let mut loaded: Vec<Loaded> = done.into_iter().flatten().collect();
        if let (Some(before), Some(after)) = (before, after) {
            let scenery = before.until(after, self.around(&loaded).await?);
            for loaded in &mut loaded {
                loaded.scenery = Some(scenery.clone());
            }
        }
        Ok(loaded)
    }

    /// The machine at this moment, and what of its work is ours.
    fn scenery(&self) -> Edge {
        let samplers: Vec<&Sampler> = self.sides.iter().map(|side| &side.stage.sampler).collect();
        Edge::read(&samplers, &self.bench.cpus.cpus())
    }

    async fn around(&self, loaded: &[Loaded]) -> Result<Around> {
        let dependencies = loaded.iter().flat_map(|loaded| &loaded.dependencies);
        Ok(Around {
            target_cpus: self.bench.cpus.target.iter().collect(),
            load_cpus: self.bench.cpus.load.iter().collect(),
            dependencies_us: Some(dependencies.map(|one| one.cpu_us as u64).sum()),
            other_containers: Some(self.bench.run.other_containers().await?),
        })
    }
}
