//! What an archive itself holds to judge its transcripts again.

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::plan::{Workload, yaml};
use crate::record::bounds;
use crate::record::source::Source;

/// The workload as it was when the archive was measured.
pub fn workload(archive: &Source, name: &str) -> Result<Workload> {
    let place = |path: &str| format!("sources/workloads/{name}/{path}");
    let read = |path: &str| -> Result<yaml::Source> {
        let path = place(path);
        Ok(yaml::Source::new(path.clone(), archive.text(&path)?))
    };
    let path = place("workload.yaml");
    let text = bounds::yaml(archive, &path).map_err(|e| e.at(&path))?;
    Workload::parse(name, &yaml::Source::new(path, text), &read)
}

/// What an adapter named as its framework's development instruments. Nothing else of it is looked at.
pub fn dev_routes(archive: &Source, adapter: &str) -> Result<Vec<String>> {
    #[derive(Deserialize)]
    struct Adapter {
        #[serde(default)]
        dev_routes: Vec<String>,
    }
    let path = format!("sources/adapters/{adapter}/adapter.yaml");
    let text = bounds::yaml(archive, &path).map_err(|e| e.at(&path))?;
    let read: Adapter =
        serde_yaml::from_str(&text).map_err(|e| Error::unverified(format!("{path}: {e}")))?;
    Ok(read.dev_routes)
}
