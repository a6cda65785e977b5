//! Writing a run's folder: whole files only, never one over another, and the sums last, so that a
//! folder without them is known to be unfinished.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use rustix::io::Errno;
use serde::Serialize;

use crate::error::{Error, Exit, Result};
use crate::parity::Transcript;
use crate::record::hlog::{self, Hlog};
use crate::record::planned::{self, Planned};
use crate::record::samples::{self, Sample};
use crate::record::schema::{Cell, CellKey, Generator, Hole, SCHEMA, Summary};
use crate::record::source::{self, Source};
use crate::record::{compare, derive, json, sums};
use crate::report;
use crate::stats::groups::{self, Run};

/// What a name begins with while its file or folder is being written.
const TEMPORARY: &str = ".tmp-";
/// An empty file that stands in a folder from its first moment: what was put there without a plan yet
/// is of a run that broke off before its first cell, and nobody else's.
const BEGUN: &str = ".tmp-begun";
/// What is put before the plan.
const BEFORE_PLAN: [&str; 3] = ["environment.json", "images.json", "sources"];

/// The files of every cell, in their order.
pub const CELL_FILES: [&str; 5] = [
    "cell.json",
    "latency.hlog",
    "parity.json",
    "samples.csv",
    "target.log",
];

/// An archive that is being written; no other process writes it meanwhile.
#[derive(Debug)]
pub struct Archive {
    root: PathBuf,
    /// Locked as long as it is open.
    _lock: File,
}

/// What a cell's figures are computed from, and what else is kept of it.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The load's clocks.
    pub hlog: &'a Hlog,
    /// What was read of the target.
    pub samples: &'a [Sample],
    /// The parity transcripts.
    pub parity: &'a Transcript,
    /// What the target wrote.
    pub target_log: &'a [u8],
}

impl Archive {
    /// Begins an archive in a folder that is new or empty, or in which one was begun and broke off
    /// before it had a plan (a disk full, say). Exit 2 where it is none of these.
    pub fn create(dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir).map_err(|e| Error::io("create", dir, &e))?;
        let archive = Self::lock(dir)?;
        archive.clear_begun()?;
        let mut entries = fs::read_dir(dir).map_err(|e| Error::io("list", dir, &e))?;
        if entries.next().is_some() {
            let what = format!(
                "{} is not empty, and nothing is ever overwritten",
                dir.display()
            );
            return Err(Error::usage(what)
                .next("choose another folder with --out DIR, or go on with --resume DIR"));
        }
        File::create(dir.join(BEGUN)).map_err(|e| Error::io("create", dir, &e))?;
        Ok(archive)
    }

    /// Goes on with an unfinished archive, and removes what was half written. Exit 2 where it is
    /// finished or none at all.
    pub fn resume(dir: &Path) -> Result<Self> {
        if dir.join(sums::FILE).exists() {
            let what = format!("{} is finished", dir.display());
            return Err(Error::usage(what)
                .next("`shootout report` prints it; begin a new run with --out DIR"));
        }
        if !dir.join("plan.yaml").exists() {
            let what = format!("{} holds no run: it has no plan.yaml", dir.display());
            return Err(Error::usage(what).next("begin it with --out DIR"));
        }
        let archive = Self::lock(dir)?;
        archive.remove_temporary(dir)?;
        Ok(archive)
    }

    /// Removes what a run left that broke off before it had a plan; of anything else, nothing.
    fn clear_begun(&self) -> Result<()> {
        if !self.root.join(BEGUN).exists() || self.root.join("plan.yaml").exists() {
            return Ok(());
        }
        for name in BEFORE_PLAN {
            let path = self.root.join(name);
            let removed = match path.is_dir() {
                true => fs::remove_dir_all(&path),
                false => fs::remove_file(&path),
            };
            match removed {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::io("clear", &path, &e));
                }
                _ => {}
            }
        }
        self.remove_temporary(&self.root)
    }

    fn lock(dir: &Path) -> Result<Self> {
        let lock = File::open(dir).map_err(|e| Error::io("open", dir, &e))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
            Error::usage(format!("another run is writing {}", dir.display()))
                .next("wait until it has ended, or choose another folder with --out DIR")
        })?;
        Ok(Self {
            root: dir.to_owned(),
            _lock: lock,
        })
    }

    /// Only names of this module's own making, wherever it makes them.
    fn remove_temporary(&self, dir: &Path) -> Result<()> {
        let failed = |e: io::Error| Error::io("clear", dir, &e);
        for entry in fs::read_dir(dir).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let is_dir = entry.file_type().map_err(failed)?.is_dir();
            match (
                entry.file_name().to_string_lossy().starts_with(TEMPORARY),
                is_dir,
            ) {
                (true, true) => fs::remove_dir_all(entry.path()).map_err(failed)?,
                (true, false) => fs::remove_file(entry.path()).map_err(failed)?,
                (false, true) => self.remove_temporary(&entry.path())?,
                (false, false) => {}
            }
        }
        Ok(())
    }

    /// The archive's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Writes a file that is not there yet, its folders included.
    pub fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        source::safe(path).map_err(|what| Error::unexpected(format!("{path:?} {what}")))?;
        self.write(path, bytes, RenameFlags::NOREPLACE)
    }

    /// Writes a document that is not there yet.
    pub fn put_json(&self, path: &str, document: &impl Serialize) -> Result<()> {
        self.put(path, json::text(document)?.as_bytes())
    }

    /// Adds the adapter, workload and docker files that are used, as they are.
    pub fn add_sources(&self, files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Result<()> {
        files
            .into_iter()
            .try_for_each(|(path, bytes)| self.put(&format!("sources/{path}"), &bytes))
    }

    /// Computes a cell's figures from its evidence and writes it whole. The plan, the environment and
    /// the sources must be there: the cell is judged by them and carries their digests.
    pub fn put_cell(&self, number: u32, mut cell: Cell, evidence: &Evidence) -> Result<Cell> {
        let source = Source::without_cells(&self.root).map_err(ours)?;
        let planned = Planned::of(&source).map_err(ours)?;
        let given = planned.given(&source, &cell.key).map_err(ours)?;
        cell.load.schema = SCHEMA;
        cell.digests.extend(digests(&source).map_err(ours)?);
        cell.shapes = evidence.parity.shapes();
        derive::cell(&mut cell, &evidence.hlog.clocks(), evidence.samples, &given);

        let name = cell_name(number, &cell.key);
        let cells = self.root.join("cells");
        let half = cells.join(format!("{TEMPORARY}{name}"));
        let whole = cells.join(&name);
        let failed = |e: io::Error| Error::io("write", &whole, &e);
        fs::create_dir_all(&half).map_err(failed)?;
        let written = [
            ("cell.json", json::text(&cell)?.into_bytes()),
            ("latency.hlog", hlog::write(evidence.hlog).into_bytes()),
            ("parity.json", json::text(evidence.parity)?.into_bytes()),
            ("samples.csv", samples::write(evidence.samples).into_bytes()),
            ("target.log", evidence.target_log.to_vec()),
        ]
        .iter()
        .try_for_each(|(file, bytes)| write_synced(&half.join(file), bytes))
        .and_then(|()| sync(&half))
        .and_then(|()| rename(&half, &whole, RenameFlags::NOREPLACE))
        .and_then(|()| sync(&cells));
        if let Err(error) = written {
            // Room for whatever is still to be written; the next resume would remove it as well.
            let _ = fs::remove_dir_all(&half);
            return Err(failed(error));
        }
        Ok(cell)
    }

    /// The cells that are whole, in order, with their folders' names.
    pub fn finished_cells(&self) -> Result<Vec<(String, Cell)>> {
        cells(&Source::open(&self.root)?)
    }

    /// Removes a cell that is half of a pair which was being written when its run was killed.
    pub fn discard_cell(&self, name: &str) -> Result<()> {
        let cells = self.root.join("cells");
        let (cell, half) = (cells.join(name), cells.join(format!("{TEMPORARY}{name}")));
        // First out of sight, whole: what is removed file by file is no cell.
        rename(&cell, &half, RenameFlags::NOREPLACE)
            .and_then(|()| fs::remove_dir_all(&half))
            .and_then(|()| sync(&cells))
            .map_err(|e| Error::io("clear", &cell, &e))
    }

    /// Computes and writes the summary and its renderings, then the sums: from here on nothing may
    /// change. `reasons` against publication are those that neither plan nor cells show (modified
    /// sources, say). Returns the summary and the archive's id.
    pub fn finish(
        &self,
        generator: Generator,
        holes: Vec<Hole>,
        reasons: Vec<String>,
    ) -> Result<(Summary, String)> {
        self.remove_temporary(&self.root)?;
        let source = Source::open(&self.root).map_err(ours)?;
        if source.has(sums::FILE) {
            return Err(Error::unexpected(format!(
                "{} is finished",
                self.root.display()
            )));
        }
        let cells: Vec<Cell> = cells(&source)?.into_iter().map(|(_, cell)| cell).collect();
        let run = planned::run(&source, &cells).map_err(ours)?;
        let mut unpublishable_reasons = run.unpublishable_reasons.clone();
        unpublishable_reasons.extend(reasons);
        let run = Run {
            generator,
            holes,
            unpublishable_reasons,
            ..run
        };
        let text = json::text(&groups::summary(run, cells))?;
        // Rendered from what readers will read, to the last digit.
        let summary: Summary = serde_json::from_str(&text)
            .map_err(|e| Error::unexpected(format!("summary.json does not read back: {e}")))?;
        // A run that was killed in here left some of these: they are derived, so made again.
        let again = |path, text: &str| self.write(path, text.as_bytes(), RenameFlags::empty());
        again("summary.json", &text)?;
        again("summary.csv", &report::csv::render(&summary))?;
        again("report.md", &report::markdown::render(&summary))?;

        let source = Source::open(&self.root)?;
        let mut all = BTreeMap::new();
        for (path, _) in source.files() {
            all.insert(path.to_owned(), source.sha256(path)?);
        }
        let text = sums::write(&all);
        self.put(sums::FILE, text.as_bytes())?;
        Ok((summary, sums::sha256(text.as_bytes())))
    }

    /// The archive's id; none while it is unfinished.
    pub fn id(&self) -> Option<String> {
        fs::read(self.root.join(sums::FILE))
            .ok()
            .map(|bytes| sums::sha256(&bytes))
    }

    /// Temporary name, fsync, rename, fsync of the folder.
    fn write(&self, path: &str, bytes: &[u8], flags: RenameFlags) -> Result<()> {
        let to = self.root.join(path);
        let (Some(folder), Some(name)) = (to.parent(), to.file_name()) else {
            return Err(Error::unexpected(format!("{path:?} names no file")));
        };
        let half = folder.join(format!("{TEMPORARY}{}", name.to_string_lossy()));
        let written = fs::create_dir_all(folder)
            .and_then(|()| write_synced(&half, bytes))
            .and_then(|()| rename(&half, &to, flags))
            .and_then(|()| sync(folder));
        written.map_err(|e| {
            let _ = fs::remove_file(&half);
            Error::io("write", &to, &e)
        })
    }
}

/// The whole cells of an archive, in order, with their folders' names.
pub fn cells(source: &Source) -> Result<Vec<(String, Cell)>> {
    let read = |name: &str| {
        let bytes = source.read(&format!("cells/{name}/cell.json"))?;
        serde_json::from_value(compare::parse(&bytes)?)
            .map_err(|e| Error::unverified(format!("not a cell of schema {SCHEMA}: {e}")))
    };
    let cell = |name: &str| match read(name) {
        Ok(cell) => Ok((name.to_owned(), cell)),
        Err(e) => Err(e.at(format!("cells/{name}/cell.json"))),
    };
    source.cells().into_iter().map(cell).collect()
}

/// What every cell of an archive carries: digests of plan, environment and sources.
pub fn digests(source: &Source) -> Result<BTreeMap<String, String>> {
    let mut sources = BTreeMap::new();
    for (path, _) in source
        .files()
        .filter(|(path, _)| path.starts_with("sources/"))
    {
        sources.insert(path.to_owned(), source.sha256(path)?);
    }
    let of = |path: &str| source.sha256(path).map_err(|e| e.at(path));
    Ok(BTreeMap::from([
        ("plan".to_owned(), of("plan.yaml")?),
        ("environment".to_owned(), of("environment.json")?),
        (
            "sources".to_owned(),
            sums::sha256(sums::write(&sources).as_bytes()),
        ),
    ]))
}

/// What is wrong with an archive that this very program writes is its own failure.
fn ours(error: Error) -> Error {
    let exit = Exit::Unexpected;
    Error { exit, ..error }
}

/// A cell's folder: its number in the run, then what it is of.
pub fn cell_name(number: u32, key: &CellKey) -> String {
    let mut parts = vec![key.adapter.clone(), key.label.clone(), key.workload.clone()];
    // A rate says that the loop is open.
    match key.rate_rps {
        Some(rate) if key.r#loop == "open" => parts.push(rate.to_string()),
        rate => parts.extend([
            key.r#loop.clone(),
            rate.map(|r| r.to_string()).unwrap_or_default(),
        ]),
    }
    parts.push(format!("c{}", key.connections));
    parts.push(format!("r{}", key.repetition));
    parts.extend(key.side.clone());
    parts.extend(key.series.map(|series| format!("s{series}")));
    if key.attempt > 1 {
        parts.push(format!("a{}", key.attempt));
    }
    if key.role != "measure" {
        parts.push(key.role.clone());
    }
    parts.retain(|part| !part.is_empty());
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "._-".contains(c) {
            c
        } else {
            '_'
        }
    };
    let name: String = parts.join("-").chars().map(plain).take(80).collect();
    format!("{number:04}-{name}")
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn rename(from: &Path, to: &Path, flags: RenameFlags) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, flags) {
        // A file system that can't refuse by itself; the folder is locked, so asking first will do.
        Err(Errno::INVAL | Errno::NOSYS) if !to.exists() => fs::rename(from, to),
        Err(Errno::INVAL | Errno::NOSYS) if flags.is_empty() => fs::rename(from, to),
        Err(Errno::INVAL | Errno::NOSYS) => Err(io::ErrorKind::AlreadyExists.into()),
        result => Ok(result?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixture;

    fn names(dir: &Path) -> Vec<String> {
        let source = Source::open(dir).unwrap();
        source.files().map(|(path, _)| path.to_owned()).collect()
    }

    #[test]
    fn nothing_is_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let archive = Archive::create(dir.path()).unwrap();
        archive.put("sources/a/b", b"1").unwrap();
        assert!(archive.put("sources/a/b", b"2").is_err());
        assert_eq!(fs::read(dir.path().join("sources/a/b")).unwrap(), b"1");
        assert_eq!(
            names(dir.path()),
            [BEGUN, "sources/a/b"],
            "no temporary file stays"
        );
        for path in ["/tmp/x", "../x", "a/../../x", ""] {
            assert_eq!(
                archive.put(path, b"").unwrap_err().exit,
                Exit::Unexpected,
                "{path}"
            );
        }
        drop(archive);
        assert!(
            Archive::resume(dir.path())
                .unwrap_err()
                .what
                .contains("no plan.yaml")
        );
        fs::write(dir.path().join("plan.yaml"), "").unwrap();
        assert_eq!(Archive::create(dir.path()).unwrap_err().exit, Exit::Usage);
    }

    #[test]
    fn what_broke_off_before_its_plan_is_begun_again_and_nothing_else_is_touched() {
        let dir = tempfile::tempdir().unwrap();
        let archive = Archive::create(dir.path()).unwrap();
        archive.put("sources/a/b", b"1").unwrap();
        archive.put("images.json", b"{}").unwrap();
        drop(archive);
        assert_eq!(Archive::resume(dir.path()).unwrap_err().exit, Exit::Usage);
        let again = Archive::create(dir.path()).unwrap();
        again.put("images.json", b"{}").unwrap();
        assert_eq!(names(dir.path()), [BEGUN, "images.json"]);
        // Somebody's own file stays, and then there is nothing to begin.
        drop(again);
        fs::write(dir.path().join("mine"), "").unwrap();
        assert_eq!(Archive::create(dir.path()).unwrap_err().exit, Exit::Usage);
        assert!(dir.path().join("mine").exists());
        // A plan makes it a run, which is resumed; without the mark it is nobody's to clear.
        for (file, marked) in [("plan.yaml", true), ("images.json", false)] {
            let dir = tempfile::tempdir().unwrap();
            let archive = Archive::create(dir.path()).unwrap();
            archive.put(file, b"x").unwrap();
            drop(archive);
            if !marked {
                fs::remove_file(dir.path().join(BEGUN)).unwrap();
            }
            let refused = Archive::create(dir.path()).unwrap_err();
            assert_eq!(refused.exit, Exit::Usage, "{file}");
            assert!(dir.path().join(file).exists());
        }
    }

    #[test]
    fn one_writer_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let _first = Archive::create(dir.path()).unwrap();
        assert!(
            Archive::create(dir.path())
                .unwrap_err()
                .what
                .contains("another run")
        );
    }

    #[test]
    fn a_killed_run_goes_on_with_its_whole_cells() {
        let dir = tempfile::tempdir().unwrap();
        fixture::begin(dir.path());
        // What a kill -9 leaves: half a file, half a cell, half an end.
        fs::create_dir(dir.path().join("cells/.tmp-0002-x")).unwrap();
        fs::write(dir.path().join("cells/.tmp-0002-x/cell.json"), "{").unwrap();
        fs::write(dir.path().join(".tmp-summary.json"), "{").unwrap();
        fs::write(dir.path().join("summary.csv"), "stale").unwrap();
        let archive = Archive::resume(dir.path()).unwrap();
        assert!(archive.id().is_none());
        let cells = archive.finished_cells().unwrap();
        assert_eq!(cells.len(), 1);
        assert_eq!(cells[0].0, "0001-nginx-hello-1000-c32-r1");
        assert!(
            !names(dir.path())
                .iter()
                .any(|name| name.contains(TEMPORARY))
        );
        // The same cell is never written twice.
        let again = fixture::put_cell(&archive, 1, "nginx", 1);
        assert!(
            again
                .unwrap_err()
                .what
                .contains("0001-nginx-hello-1000-c32-r1")
        );
        let (summary, id) = archive
            .finish(fixture::generator(), vec![], vec![])
            .unwrap();
        assert_eq!((summary.cells.len(), archive.id()), (1, Some(id)));
        assert!(
            archive
                .finish(fixture::generator(), vec![], vec![])
                .is_err()
        );
        drop(archive);
        assert!(
            Archive::resume(dir.path())
                .unwrap_err()
                .what
                .contains("is finished")
        );
    }

    #[test]
    fn sha256sum_agrees() {
        let dir = fixture::archive();
        let check = std::process::Command::new("sha256sum")
            .args(["-c", "--strict", "--quiet", sums::FILE])
            .current_dir(dir.path())
            .status();
        assert!(check.unwrap().success());
    }

    #[test]
    fn a_full_disk_is_the_machines_fault_and_leaves_nothing_half_written() {
        // /dev/full answers as a full disk does.
        let dir = tempfile::tempdir().unwrap();
        let archive = Archive::create(dir.path()).unwrap();
        std::os::unix::fs::symlink("/dev/full", dir.path().join(".tmp-a")).unwrap();
        assert_eq!(archive.put("a", b"x").unwrap_err().exit, Exit::Machine);
        assert_eq!(names(dir.path()), [BEGUN]);
    }

    #[test]
    fn names_of_cells_say_what_they_are_of() {
        let key = |label: &str, rate: Option<u64>, attempt, role: &str| CellKey {
            adapter: "node-http".into(),
            label: label.into(),
            workload: "ok".into(),
            r#loop: if rate.is_none() {
                "closed".into()
            } else {
                "open".into()
            },
            rate_rps: rate,
            connections: 32,
            repetition: 2,
            attempt,
            role: role.into(),
            ..CellKey::default()
        };
        for (key, name) in [
            (
                key("", Some(100), 1, "measure"),
                "0007-node-http-ok-100-c32-r2",
            ),
            (
                key("jit/../x", None, 2, "null"),
                "0007-node-http-jit_.._x-ok-closed-c32-r2-a2-null",
            ),
        ] {
            assert_eq!(cell_name(7, &key), name);
            assert_eq!(source::safe(&format!("cells/{name}/latency.hlog")), Ok(()));
        }
    }
}
