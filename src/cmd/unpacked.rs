//! A kit made of what an archive holds of one, in a folder of its own that goes again.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::load::clock;
use crate::plan::Kit;
use crate::record::source::Source;
use crate::record::{bounds, compare, sums};

/// Where the files of a kit lie in an archive.
const SOURCES: &str = "sources/";

/// The unpacked kit, as long as it is needed.
pub(super) struct Unpacked {
    pub(super) kit: Kit,
    /// The archive's plan, in it.
    pub(super) plan: PathBuf,
}

impl Unpacked {
    /// Unpacks an archive's sources. Exit 5 where they are no kit.
    pub(super) fn of(source: &Source) -> Result<Self> {
        let root = new_folder()?;
        let unpacked = Self {
            plan: root.join("plan.yaml"),
            kit: Kit { root },
        };
        unpacked.fill(source)?;
        Ok(unpacked)
    }

    fn fill(&self, source: &Source) -> Result<()> {
        let root = &self.kit.root;
        for folder in ["adapters", "docker", "workloads"] {
            let kept = format!("{SOURCES}{folder}/");
            if !source.files().any(|(path, _)| path.starts_with(&kept)) {
                let what = format!("{kept}: missing, so that nothing can be built from it");
                return Err(Error::unverified(what));
            }
        }
        let modified = modified(source)?;
        let mut listed = std::collections::BTreeMap::new();
        for (path, _) in source.files() {
            let Some(below) = path.strip_prefix(SOURCES) else {
                continue;
            };
            let bytes = source.read(path).map_err(|e| e.at(path))?;
            write(&root.join(below), &bytes)?;
            if !modified.iter().any(|path| path == below) {
                listed.insert(below.to_owned(), sums::sha256(&bytes));
            }
            if below.ends_with("/adapter.yaml") {
                self.name_workloads(source, path)?;
            }
        }
        // What was modified there is not as it was published here either.
        write(&root.join(sums::FILE), sums::write(&listed).as_bytes())?;
        write(&self.plan, &source.read("plan.yaml")?)
    }

    /// An adapter may serve workloads that its archive has no need of: they exist, and that is all.
    fn name_workloads(&self, source: &Source, path: &str) -> Result<()> {
        #[derive(Deserialize)]
        struct Adapter {
            #[serde(default)]
            workloads: Vec<String>,
        }
        let text = bounds::yaml(source, path).map_err(|e| e.at(path))?;
        let adapter: Adapter =
            serde_yaml::from_str(&text).map_err(|e| Error::unverified(format!("{path}: {e}")))?;
        for name in adapter.workloads {
            let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if name.chars().all(is_name) && !name.starts_with('.') {
                make(&self.kit.root.join("workloads").join(name))?;
            }
        }
        Ok(())
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.kit.root);
    }
}

/// The sources that were not the kit's own.
fn modified(source: &Source) -> Result<Vec<String>> {
    let path = "environment.json";
    let bytes = source.read(path).map_err(|e| e.at(path))?;
    let environment = compare::parse(&bytes).map_err(|e| e.at(path))?;
    let list = environment.get("modified").and_then(Value::as_array);
    let paths = list.into_iter().flatten().filter_map(Value::as_str);
    Ok(paths.map(str::to_owned).collect())
}

/// Nobody else's, and readable to nobody else.
fn new_folder() -> Result<PathBuf> {
    let (pid, moment) = (std::process::id(), (clock::unix_s() * 1e6) as u64);
    let folder = std::env::temp_dir().join(format!("shootout-kit-{moment}-{pid}"));
    let made = DirBuilder::new().mode(0o700).create(&folder);
    made.map_err(|e| Error::io("create", &folder, &e))?;
    Ok(folder)
}

fn make(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|e| Error::io("create", folder, &e))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        make(folder)?;
    }
    fs::write(path, bytes).map_err(|e| Error::io("write", path, &e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Exit;
    use crate::record::fixture;

    #[test]
    fn an_archives_sources_are_a_kit_with_its_plan_and_leave_nothing() {
        let dir = fixture::archive();
        let refused = |dir: &Path| Unpacked::of(&Source::open(dir).unwrap()).err();
        let error = refused(dir.path()).expect("the fixture holds nothing of docker");
        assert_eq!(error.exit, Exit::Unverified);
        assert!(error.what.contains("sources/docker/"), "{error}");

        let base = dir.path().join("sources/docker/base");
        fs::create_dir_all(&base).unwrap();
        fs::write(base.join("rootfs.sh"), "true").unwrap();
        let adapter = dir.path().join("sources/adapters/nginx/adapter.yaml");
        let text = fs::read_to_string(&adapter).unwrap();
        fs::write(&adapter, text.replace("[hello]", "[hello, other]")).unwrap();
        let environment = r#"{"modified": ["docker/base/rootfs.sh"]}"#;
        fs::write(dir.path().join("environment.json"), environment).unwrap();
        let unpacked = Unpacked::of(&Source::open(dir.path()).unwrap()).unwrap();
        let root = unpacked.kit.root.clone();
        let plan = unpacked.kit.plan(unpacked.plan.to_str().unwrap()).unwrap();
        assert_eq!(plan.adapters.len(), 3);
        let sources = unpacked.kit.sources(&plan).unwrap();
        assert!(
            sources
                .iter()
                .any(|(path, _)| path == "workloads/hello/workload.yaml")
        );
        let modified = unpacked.kit.modified(&sources).unwrap();
        assert_eq!(modified, ["docker/base/rootfs.sh"]);
        drop(unpacked);
        assert!(!root.exists());
    }
}
