//! A throw-away kit: this one's docker and workloads folders, and one adapter that lies on demand.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{Program, root, shootout};

/// Gone with its archives when it is dropped.
pub struct Kit {
    dir: TempDir,
}

/// A kit with the liar as its only adapter.
pub fn kit() -> Kit {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["docker", "workloads"] {
        copy(&root().join(folder), &dir.path().join(folder));
    }
    copy(
        &root().join("tests/liar"),
        &dir.path().join("adapters/liar"),
    );
    fs::copy(root().join("SHA256SUMS"), dir.path().join("SHA256SUMS")).unwrap();
    Kit { dir }
}

impl Kit {
    pub fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    pub fn write(&self, below: &str, text: &str) -> PathBuf {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// The program with this kit.
    pub fn shootout(&self, line: &str) -> Program {
        shootout().arg("--kit").arg(self.dir.path()).args(line)
    }

    /// Writes a plan of this kit: short phases, 1,000 slots (as a p99 needs), attempts enough for a
    /// noisy machine. `changes` are lines of YAML that take the place of those with the same key.
    pub fn plan(&self, name: &str, adapters: &str, changes: &str) {
        let mut plan = format!("name: {name}\nkind: matrix\nadapters: [{adapters}]\n");
        let key = |line: &str| line.split(':').next().unwrap().to_owned();
        let changed: Vec<String> = changes.lines().map(key).collect();
        for line in PLAN.lines().filter(|line| !changed.contains(&key(line))) {
            plan += &format!("{line}\n");
        }
        self.write(&format!("workloads/plans/{name}.yaml"), &(plan + changes));
    }
}

const PLAN: &str = "\
workloads: [ok]
rates_rps: [500]
connections: 100
repetitions: 1
phases: {baseline: 0.1, warm_up: {seconds: 0.1}, settle: 0.1, load: 2, recovery: 0.1}
limits: {target_cpus: 1}
retries: 9
publishable: false
";

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A document of an archive.
pub fn document(archive: &Path, path: &str) -> Value {
    let text = fs::read_to_string(archive.join(path)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The folders of an archive's whole cells, in order.
pub fn cells(archive: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(archive.join("cells")) else {
        return vec![];
    };
    let mut cells: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    cells.retain(|path| !path.file_name().unwrap().to_string_lossy().starts_with('.'));
    cells.sort();
    cells
}

/// Verifies an archive of a short run.
#[track_caller]
pub fn verifies(archive: &Path) {
    shootout()
        .args("verify --allow-smoke")
        .arg(archive)
        .run()
        .exits(0);
}
