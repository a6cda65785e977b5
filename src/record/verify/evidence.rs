//! What a cell's folder holds, and the figures that follow from it.

use serde_json::Value;

use super::sources::Sources;
use crate::error::{Error, Result};
use crate::parity::Transcript;
use crate::record::planned::Planned;
use crate::record::schema::{Cell, SCHEMA};
use crate::record::source::Source;
use crate::record::{derive, hlog, samples};

/// A cell as it stands in the archive, and what its figures are computed from.
pub(super) struct Evidence {
    pub(super) cell: Cell,
    pub(super) totals: hlog::Totals,
    pub(super) rows: Vec<samples::Sample>,
    pub(super) transcript: Transcript,
}

impl Evidence {
    pub(super) fn read(source: &Source, name: &str, found: &Value) -> Result<Self> {
        let cell: Cell = serde_json::from_value(found.clone())
            .map_err(|e| Error::unverified(format!("not a cell of schema {SCHEMA}: {e}")))?;
        let text = |file: &'static str| {
            let text = source.text(&format!("cells/{name}/{file}"));
            text.map_err(|e| e.at(file))
        };
        let totals = hlog::read_totals(&text("latency.hlog")?).map_err(|e| e.at("latency.hlog"))?;
        let csv = text("samples.csv")?;
        let rows = samples::read(&csv).map_err(|e| e.at("samples.csv"))?;
        if samples::write(&rows) != csv {
            return Err(Error::unverified(
                "samples.csv: not written as an archive writes it",
            ));
        }
        let transcript = serde_json::from_str(&text("parity.json")?)
            .map_err(|e| Error::unverified(format!("parity.json: not a transcript: {e}")))?;
        Ok(Self {
            cell,
            totals,
            rows,
            transcript,
        })
    }

    /// What the cell's file should say.
    pub(super) fn expected(&self, sources: &mut Sources, planned: &Planned) -> Result<Cell> {
        let mut cell = self.cell.clone();
        cell.shapes = self.transcript.shapes();
        let given = derive::Given {
            healthy: planned.healthy,
            main_thread: sources.adapter(&cell.key.adapter)?.main_thread,
            load_ns: planned.load_ns(&cell.key),
        };
        derive::cell(&mut cell, &self.totals.clocks, &self.rows, &given);
        Ok(cell)
    }
}
