//! CPU time read at given moments of a load, on a thread of its own: an async timer is a millisecond
//! coarse, as long as the pause that a reading must lie in.

use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::error::{Error, Result};
use crate::load::clock;
use crate::record::samples::{Mark, Sample};
use crate::sample::sampler::Sampler;

/// When to read, and how the rows are marked.
pub(super) struct Readings {
    /// Moments since the load's epoch, in ascending order; before the epoch where negative.
    pub(super) at_ns: Vec<i64>,
    pub(super) mark: Mark,
}

/// Readings under way.
pub(super) struct Reading {
    rows: oneshot::Receiver<Vec<Vec<Sample>>>,
}

impl Readings {
    /// None at all.
    pub(super) fn none() -> Self {
        Self {
            at_ns: vec![],
            mark: Mark::Block,
        }
    }

    /// Begins to read, all samplers at each moment; `start` is the cell's. The thread ends with the last
    /// moment, whoever listens.
    pub(super) fn begin(
        &self,
        samplers: Vec<Sampler>,
        phase: &str,
        epoch_ns: u64,
        start: Instant,
    ) -> Reading {
        let (sender, rows) = oneshot::channel();
        let (at_ns, mark, phase) = (self.at_ns.clone(), self.mark, phase.to_owned());
        std::thread::spawn(move || {
            let mut rows: Vec<Vec<Sample>> = samplers.iter().map(|_| vec![]).collect();
            for at_ns in at_ns {
                let now_ns = clock::now_ns();
                let wait_ns = epoch_ns.saturating_add_signed(at_ns).saturating_sub(now_ns);
                std::thread::sleep(Duration::from_nanos(wait_ns));
                for (rows, sampler) in rows.iter_mut().zip(&samplers) {
                    let t_s = start.elapsed().as_secs_f64();
                    rows.push(sampler.counters(t_s, &phase, mark));
                }
            }
            let _ = sender.send(rows);
        });
        Reading { rows }
    }
}

impl Reading {
    /// The rows of each sampler, once all are read.
    pub(super) async fn end(self) -> Result<Vec<Vec<Sample>>> {
        let gone = |_| Error::unexpected("the thread that reads CPU time ended");
        self.rows.await.map_err(gone)
    }
}
