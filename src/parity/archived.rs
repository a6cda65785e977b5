//! Judging an archive's transcripts again, with what the archive itself holds.

use serde::Deserialize;

use super::Transcript;
use crate::error::{Error, Result};
use crate::plan::{Workload, yaml};
use crate::record::source::Source;

/// The workload as it was when the archive was measured.
pub fn workload(archive: &Source, name: &str) -> Result<Workload> {
    let read = |path: &str| -> Result<yaml::Source> {
        let path = format!("sources/workloads/{name}/{path}");
        Ok(yaml::Source::new(path.clone(), archive.text(&path)?))
    };
    Workload::parse(name, &read("workload.yaml")?, &read)
}

/// What an adapter named as its framework's development instruments. Nothing else of it is looked at.
pub fn dev_routes(archive: &Source, adapter: &str) -> Result<Vec<String>> {
    #[derive(Deserialize)]
    struct Adapter {
        #[serde(default)]
        dev_routes: Vec<String>,
    }
    let path = format!("sources/adapters/{adapter}/adapter.yaml");
    let read: Adapter = serde_yaml::from_str(&archive.text(&path)?)
        .map_err(|e| Error::unverified(format!("{path}: {e}")))?;
    Ok(read.dev_routes)
}

/// A cell's transcript with everything in it judged anew.
pub fn judged(archive: &Source, cell: &str, adapter: &str, of: &str) -> Result<Transcript> {
    let path = format!("cells/{cell}/parity.json");
    let mut transcript: Transcript = serde_json::from_str(&archive.text(&path)?)
        .map_err(|e| Error::unverified(format!("{path}: not a transcript: {e}")))?;
    transcript.judge(&workload(archive, of)?, &dev_routes(archive, adapter)?);
    Ok(transcript)
}
