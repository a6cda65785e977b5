//! What an archive begins with, and must still be true when its run is resumed.

use std::path::Path;

use serde_json::{Value, json};

use crate::cell::Bench;
use crate::engine::{self, Engine, Images};
use crate::error::{Error, Result};
use crate::plan::sources::Files;
use crate::record::archive::Archive;
use crate::record::schema::{Generator, SCHEMA};
use crate::record::source::Source;
use crate::sample::host::Host;

/// The documents that come before the first cell.
pub(super) struct Documents {
    pub(super) plan: String,
    pub(super) environment: Value,
    pub(super) images: Value,
    pub(super) sources: Files,
}

impl Documents {
    /// Begins an archive with them.
    pub(super) fn begin(self, dir: &Path) -> Result<Archive> {
        let archive = Archive::create(dir)?;
        archive.add_sources(self.sources)?;
        archive.put_json("images.json", &self.images)?;
        archive.put_json("environment.json", &self.environment)?;
        // Last: an archive with a plan can be resumed.
        archive.put("plan.yaml", self.plan.as_bytes())?;
        Ok(archive)
    }

    /// The same archive, if everything that its cells were measured under is still the same.
    pub(super) fn resume(self, dir: &Path) -> Result<Archive> {
        let archive = Archive::resume(dir)?;
        let source = Source::open(dir)?;
        let json = |path: &str| -> Result<Value> {
            serde_json::from_slice(&source.read(path)?)
                .map_err(|e| Error::unverified(format!("{path}: {e}")))
        };
        let differs = |what: &str| {
            Err(Error::machine(format!("cannot resume {}: {what}", dir.display()))
                .next("begin a new run: cells measured under different conditions are never put together"))
        };
        let same_host =
            |key: &str| json("environment.json").map(|there| there[key] == self.environment[key]);
        for key in ["fingerprint", "engine", "generator"] {
            if !same_host(key)? {
                return differs(&format!("its {key} is not the one here"));
            }
        }
        if json("images.json")? != self.images {
            return differs("the images are not the same any more");
        }
        for (path, bytes) in &self.sources {
            if source.read(&format!("sources/{path}")).ok().as_deref() != Some(bytes.as_slice()) {
                return differs(&format!("{path} was changed"));
            }
        }
        Ok(archive)
    }
}

/// The machine, the engine and this program, as `environment.json` says it.
pub(super) fn environment(
    host: &Host,
    engine: &Engine,
    bench: &Bench,
    modified: &[String],
) -> Value {
    json!({
        "schema": SCHEMA,
        "fingerprint": host.fingerprint(),
        "host": host.facts,
        "at_start": host.moment,
        "engine": {
            "version": engine.version,
            "api": engine.api,
            "cgroup_driver": engine.cgroup_driver,
            "cgroup_version": engine.cgroup_version,
            "storage": engine.storage,
        },
        "generator": generator(bench),
        "sources": if modified.is_empty() { "as in SHA256SUMS" } else { "modified" },
        "modified": modified,
    })
}

/// The images with their packages, where they have Debian's list of them.
pub(super) async fn image_list(run: &engine::Run<'_>, images: &Images<'_>) -> Result<Value> {
    let mut list = Vec::new();
    for image in images.done() {
        let measured = image.source.starts_with("adapters/");
        let packages: Vec<String> = if measured {
            let query = ["dpkg-query", "-W", "-f", "${Package} ${Version}\n"];
            let listed = run.output_of(&image.tag, &query).await.unwrap_or_default();
            listed.lines().map(str::to_owned).collect()
        } else {
            vec![]
        };
        list.push(json!({ "image": image, "packages": packages }));
    }
    Ok(list.into())
}

/// This program.
pub(super) fn generator(bench: &Bench) -> Generator {
    Generator {
        name: env!("CARGO_PKG_NAME").into(),
        version: env!("CARGO_PKG_VERSION").into(),
        digest: bench.digest.clone(),
    }
}
