//! The summary against the cells that it lists, and its renderings against it.

use serde_json::Value;

use super::Check;
use super::design::Design;
use crate::error::Error;
use crate::record::planned;
use crate::record::schema::{Cell, Hole, SCHEMA, Summary};
use crate::record::source::Source;
use crate::report;
use crate::stats::groups::{self, Run};

impl Check {
    /// Recomputes the summary, and its renderings where this program can know them.
    pub(super) fn summary(
        &mut self,
        source: &Source,
        mut found: Value,
        cells: Option<Vec<(&str, Cell)>>,
        design: Option<&Design>,
    ) -> Option<Summary> {
        // One cell after the other: all of them as JSON take ten times as much memory as they do.
        let listed = found.get_mut("cells").map_or(Value::Null, Value::take);
        if let Some(list) = found.get_mut("cells") {
            *list = Value::Array(vec![]);
        }
        let read = serde_json::from_value::<Summary>(found.clone())
            .map_err(|e| Error::unverified(format!("not a summary of schema {SCHEMA}: {e}")));
        let mut read = self.expect("summary.json", read)?;
        let cells = cells?;
        read.cells = self.listed(&cells, listed)?;
        if let Some(design) = design {
            self.against_plan(design, &cells, &read.holes);
        }
        let cells: Vec<Cell> = cells.into_iter().map(|(_, cell)| cell).collect();
        let run = planned::run(source, &cells);
        let run = self.expect("", run)?;
        // Reasons that plan and cells show must be there; others are the run's own.
        let shown = &run.unpublishable_reasons;
        let mut reasons = read.unpublishable_reasons.clone();
        if self.same_version {
            reasons.retain(|reason| !shown.contains(reason));
            reasons.splice(0..0, shown.iter().cloned());
        } else if reasons.is_empty() {
            reasons.clone_from(shown);
        }
        let run = Run {
            generator: read.generator.clone(),
            holes: read.holes.clone(),
            unpublishable_reasons: reasons,
            ..run
        };
        let mut expected = groups::summary(run, cells);
        expected.cells.clear();
        // An older one stays what it is; a newer one was refused.
        expected.schema = read.schema;
        self.compare("summary.json", &expected, &found);
        if self.same_version {
            for (path, text) in [
                ("summary.csv", report::csv::render(&read)),
                ("report.md", report::markdown::render(&read)),
            ] {
                // Byte by byte: what is no text, or too long to be read, is no rendering either.
                let found = source.has(path).then(|| source.read(path));
                if found.is_some_and(|found| found.ok().as_deref() != Some(text.as_bytes())) {
                    self.find(path, "is not what summary.json renders as");
                }
            }
        }
        Some(read)
    }

    /// The cells as the summary lists them, each compared with the archive's own.
    fn listed(&mut self, cells: &[(&str, Cell)], listed: Value) -> Option<Vec<Cell>> {
        let Value::Array(listed) = listed else {
            self.find("summary.json", "cells: expected a list");
            return None;
        };
        if listed.len() != cells.len() {
            let (expected, found) = (cells.len(), listed.len());
            let what = format!("cells: expected a list of {expected}, found a list of {found}");
            self.find("summary.json", &what);
            return None;
        }
        let mut read = Vec::with_capacity(listed.len());
        for (index, ((_, cell), found)) in cells.iter().zip(listed).enumerate() {
            let known = self.findings.len();
            self.compare("summary.json", cell, &found);
            for finding in self.findings.iter_mut().skip(known) {
                finding.what = format!("cells[{index}].{}", finding.what);
            }
            let cell = serde_json::from_value(found)
                .map_err(|e| Error::unverified(format!("cells[{index}]: not a cell: {e}")));
            read.push(self.expect("summary.json", cell)?);
        }
        Some(read)
    }

    fn against_plan(&mut self, design: &Design, cells: &[(&str, Cell)], holes: &[Hole]) {
        design.check(cells, holes, &mut |file, what| self.find(file, what));
    }
}
