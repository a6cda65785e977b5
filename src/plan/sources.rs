//! The files that a plan's numbers come from, and whether they are the kit's own.

use std::collections::BTreeSet;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::{Adapter, Kit, Plan};
use crate::error::{Error, Result};
use crate::record::sums::hex;

/// What tools leave beside sources.
const LEFT_OUT: [&str; 2] = ["node_modules", "target"];

/// Files by their path below the kit, with `/`.
pub type Files = Vec<(String, Vec<u8>)>;

impl Kit {
    /// Every file of the adapters and workloads that take part in a plan, the data that the adapters'
    /// other workloads put into their images, and docker/, sorted: the images can be built from these alone.
    pub fn sources(&self, plan: &Plan) -> Result<Files> {
        let below = |folder: &'static str| move |name| format!("{folder}/{name}");
        let adapters = plan.adapter_names().into_iter().map(below("adapters"));
        let workloads = plan.workload_names().into_iter().map(below("workloads"));
        let folders: BTreeSet<String> = adapters
            .chain(workloads)
            .chain(["docker".to_owned()])
            .collect();
        let mut files = Vec::new();
        for folder in folders {
            walk(&self.root, &folder, &mut files)?;
        }
        for adapter in self.adapters_of(plan)? {
            for folder in self.data_folders(&adapter) {
                walk(&self.root, &folder, &mut files)?;
            }
        }
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// The folders with the data of an adapter's workloads.
    fn data_folders(&self, adapter: &Adapter) -> Vec<String> {
        let folders = adapter.workloads.iter();
        let folders = folders.map(|name| format!("workloads/{name}/data"));
        folders
            .filter(|folder| self.root.join(folder).is_dir())
            .collect()
    }

    /// The data that an adapter's workloads share, by its path in the adapter's build context:
    /// `workloads/NAME/data/x` is `data/NAME/x` there, so that every adapter serves the same bytes.
    pub fn data(&self, adapter: &Adapter) -> Result<Files> {
        let mut files = Vec::new();
        for folder in self.data_folders(adapter) {
            let mut own = Vec::new();
            walk(&self.root, &folder, &mut own)?;
            let name = folder.split('/').nth(1).unwrap_or_default();
            let moved = |(path, bytes): (String, Vec<u8>)| {
                (format!("data/{name}{}", &path[folder.len()..]), bytes)
            };
            files.extend(own.into_iter().map(moved));
        }
        files.sort();
        Ok(files)
    }

    /// The sources that SHA256SUMS does not list, or lists with another sum.
    pub fn modified(&self, sources: &Files) -> Result<Vec<String>> {
        let file = self.root.join("SHA256SUMS");
        let sums = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Error::io("read", &file, &error)),
        };
        Ok(modified(sources, &sums))
    }
}

fn modified(sources: &Files, sums: &str) -> Vec<String> {
    let listed: BTreeSet<&str> = sums.lines().collect();
    let differs = |(path, bytes): &&(String, Vec<u8>)| {
        !listed.contains(format!("{}  {path}", hex(&Sha256::digest(bytes))).as_str())
    };
    sources
        .iter()
        .filter(differs)
        .map(|(path, _)| path.clone())
        .collect()
}

fn walk(root: &Path, folder: &str, files: &mut Files) -> Result<()> {
    let path = root.join(folder);
    let failed = |e| Error::io("read", &path, &e);
    for entry in std::fs::read_dir(&path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let below = format!("{folder}/{name}");
        if entry.file_type().map_err(failed)?.is_dir() {
            if !LEFT_OUT.contains(&name.as_str()) {
                walk(root, &below, files)?;
            }
        } else {
            let bytes =
                std::fs::read(entry.path()).map_err(|e| Error::io("read", &entry.path(), &e))?;
            files.push((below, bytes));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_and_an_unlisted_one_are_named() {
        let file = |path: &str, text: &str| (path.to_owned(), text.as_bytes().to_vec());
        let sources = vec![
            file("adapters/a/x", "same"),
            file("adapters/a/y", "new"),
            file("docker/z", "was"),
        ];
        let sum = |text: &str| hex(&Sha256::digest(text));
        let sums = format!(
            "{}  adapters/a/x\n{}  docker/z\n",
            sum("same"),
            sum("other")
        );
        assert_eq!(modified(&sources, &sums), ["adapters/a/y", "docker/z"]);
        assert_eq!(modified(&sources, "").len(), 3);
    }
}
