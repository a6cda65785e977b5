//! The adapters and workloads inside an archive, each read once however many cells are of it.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::parity::archived;
use crate::plan::Workload;
use crate::record::planned;
use crate::record::source::Source;

/// What a cell's figures and proofs need of its adapter.
pub(super) struct Traits {
    pub(super) main_thread: bool,
    pub(super) dev_routes: Vec<String>,
}

/// Those that were read so far.
pub(super) struct Sources<'a> {
    archive: &'a Source,
    adapters: BTreeMap<String, Traits>,
    workloads: BTreeMap<String, Workload>,
}

impl<'a> Sources<'a> {
    pub(super) fn of(archive: &'a Source) -> Self {
        Self {
            archive,
            adapters: BTreeMap::new(),
            workloads: BTreeMap::new(),
        }
    }

    pub(super) fn adapter(&mut self, name: &str) -> Result<&Traits> {
        if !self.adapters.contains_key(name) {
            let traits = Traits {
                main_thread: planned::main_thread(self.archive, name)?,
                dev_routes: archived::dev_routes(self.archive, name)?,
            };
            self.adapters.insert(name.to_owned(), traits);
        }
        Ok(&self.adapters[name])
    }

    pub(super) fn workload(&mut self, name: &str) -> Result<&Workload> {
        if !self.workloads.contains_key(name) {
            let workload = archived::workload(self.archive, name)?;
            self.workloads.insert(name.to_owned(), workload);
        }
        Ok(&self.workloads[name])
    }
}
