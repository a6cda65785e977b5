//! Reading an archive: a folder, or its one canonical tar, which is never unpacked. Whatever else a
//! file system or a tar can hold (links, devices, names that climb) is refused.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};
use crate::record::{bounds, sums, tarball};

/// The most files that an archive may hold: 5,000 cells of 5 files, many times over.
pub const MAX_FILES: usize = 200_000;
/// The most that one file may hold.
const MAX_FILE: u64 = 256 << 20;
/// The most that all of them may.
const MAX_TOTAL: u64 = 8 << 30;
/// The deepest that folders may be nested.
const MAX_DEPTH: usize = 32;

/// An archive's files, by path.
#[derive(Debug)]
pub struct Source {
    from: From,
    /// Path -> where it starts (in a tar), and its size.
    files: BTreeMap<String, (u64, u64)>,
}

#[derive(Debug)]
enum From {
    Folder(PathBuf),
    Tar(File),
}

impl Source {
    /// Lists a folder or a tar. Exit 5 where it is neither, or holds what an archive cannot.
    pub fn open(path: &Path) -> Result<Self> {
        let refuse = |e: std::io::Error| Error::unverified(format!("cannot read it: {e}"));
        let metadata = fs::metadata(path).map_err(refuse)?;
        let (from, files) = if metadata.is_dir() {
            let mut files = BTreeMap::new();
            walk(path, "", &|_| false, &mut files)?;
            (From::Folder(path.to_owned()), files)
        } else if !metadata.is_file() {
            return Err(Error::unverified("neither a folder nor a tar"));
        } else {
            let file = File::open(path).map_err(refuse)?;
            let files = tarball::index(&file)?;
            (From::Tar(file), files)
        };
        let mut total = 0;
        for (path, (_, size)) in &files {
            total += size;
            if *size > MAX_FILE || total > MAX_TOTAL {
                return Err(Error::unverified(format!(
                    "{path}: larger than an archive's file can be"
                )));
            }
        }
        Ok(Self { from, files })
    }

    /// Lists a folder without its cells, whose number would make every step of a run slower.
    pub fn without_cells(dir: &Path) -> Result<Self> {
        let mut files = BTreeMap::new();
        walk(dir, "", &|folder| folder == "cells", &mut files)?;
        Ok(Self {
            from: From::Folder(dir.to_owned()),
            files,
        })
    }

    /// Paths and sizes, sorted by the path's bytes.
    pub fn files(&self) -> impl Iterator<Item = (&str, u64)> {
        self.files
            .iter()
            .map(|(path, (_, size))| (path.as_str(), *size))
    }

    /// Whether there is such a file.
    pub fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Hands out a file's content piece by piece.
    pub fn chunks(&self, path: &str, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let (offset, size) = *self
            .files
            .get(path)
            .ok_or_else(|| Error::unverified("missing"))?;
        let cut = |e: std::io::Error| Error::unverified(format!("cannot read it: {e}"));
        let mut buffer = vec![0; size.clamp(1, 1 << 16) as usize];
        match &self.from {
            From::Folder(root) => {
                // One byte more than was listed shows a file that grew.
                let mut file = File::open(root.join(path)).map_err(cut)?.take(size + 1);
                loop {
                    match file.read(&mut buffer).map_err(cut)? {
                        0 => return Ok(()),
                        n => take(&buffer[..n])?,
                    }
                }
            }
            From::Tar(file) => {
                let mut done = 0;
                while done < size {
                    let n = (size - done).min(buffer.len() as u64);
                    file.read_exact_at(&mut buffer[..n as usize], offset + done)
                        .map_err(cut)?;
                    take(&buffer[..n as usize])?;
                    done += n;
                }
                Ok(())
            }
        }
    }

    /// A whole file; exit 5 where it is missing or too large to be what it should be.
    pub fn read(&self, path: &str) -> Result<Vec<u8>> {
        let most = bounds::most_bytes(path);
        if self.files.get(path).is_some_and(|(_, size)| *size > most) {
            return Err(Error::unverified("larger than such a file can be"));
        }
        let mut bytes = Vec::new();
        self.chunks(path, |chunk| {
            bytes.extend_from_slice(chunk);
            Ok(())
        })?;
        Ok(bytes)
    }

    /// A whole file of text.
    pub fn text(&self, path: &str) -> Result<String> {
        String::from_utf8(self.read(path)?).map_err(|_| Error::unverified("not UTF-8"))
    }

    /// A file's SHA-256, in memory that does not grow with it.
    pub fn sha256(&self, path: &str) -> Result<String> {
        let mut hash = Sha256::new();
        self.chunks(path, |chunk| {
            hash.update(chunk);
            Ok(())
        })?;
        Ok(sums::hex(&hash.finalize()))
    }

    /// The archive's id: the SHA-256 of its SHA256SUMS; none while it is unfinished.
    pub fn id(&self) -> Option<String> {
        self.sha256(sums::FILE).ok()
    }

    /// The names of the folders that hold a whole cell, in order.
    pub fn cells(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .files
            .keys()
            .filter_map(|path| path.strip_prefix("cells/")?.strip_suffix("/cell.json"))
            .filter(|name| !name.starts_with('.') && !name.contains('/'))
            .collect();
        // Not the order of the paths, in which `r1-a2/` comes before `r1/`.
        names.sort_unstable();
        names
    }
}

/// Lists a folder's regular files.
fn walk(
    root: &Path,
    at: &str,
    skip: &impl Fn(&str) -> bool,
    files: &mut BTreeMap<String, (u64, u64)>,
) -> Result<()> {
    let refuse = |e: std::io::Error| Error::unverified(format!("{at}: cannot read it: {e}"));
    for entry in fs::read_dir(root.join(at)).map_err(refuse)? {
        let entry = entry.map_err(refuse)?;
        let name = entry.file_name().into_string();
        let name = name.map_err(|name| Error::unverified(format!("{at}/{name:?} is not UTF-8")))?;
        let path = if at.is_empty() {
            name
        } else {
            format!("{at}/{name}")
        };
        safe(&path).map_err(|what| Error::unverified(format!("{path:?} {what}")))?;
        let metadata = entry.metadata().map_err(refuse)?;
        if metadata.is_dir() {
            if !skip(&path) {
                walk(root, &path, skip, files)?;
            }
        } else if metadata.is_file() {
            files.insert(path, (0, metadata.len()));
        } else {
            return Err(Error::unverified(format!(
                "{path} is neither file nor folder"
            )));
        }
        if files.len() > MAX_FILES {
            return Err(Error::unverified("more files than an archive can have"));
        }
    }
    Ok(())
}

/// Whether a path is one that an archive may hold; else what is wrong with it.
pub fn safe(path: &str) -> Result<(), &'static str> {
    if path.is_empty() || path.starts_with('/') {
        return Err("is not a relative path");
    }
    if path.chars().any(|c| c.is_control() || c == '\\') {
        return Err("has a character that no path of an archive has");
    }
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err("leads elsewhere");
    }
    if path.split('/').count() > MAX_DEPTH || tarball::header(path, 0).is_none() {
        return Err("is too long or too deep");
    }
    Ok(())
}

/// The folders that a path lies in.
pub fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_lead_elsewhere_are_refused() {
        for path in ["a", "a/b.c", "cells/0001-x/cell.json", "…/é"] {
            assert_eq!(safe(path), Ok(()), "{path}");
        }
        let (deep, long) = ("a/".repeat(40) + "b", "x".repeat(101));
        for path in [
            "", "/a", "a//b", "a/", "./a", "a/..", "../a", "a\\b", "a\0b", "a\u{85}b", &deep, &long,
        ] {
            assert!(safe(path).is_err(), "{path}");
        }
    }

    #[test]
    fn a_first_attempt_comes_before_the_second() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["0001-a-r1-a2", "0001-a-r1", "0002-a-r2", ".tmp-0003-a"] {
            let folder = dir.path().join("cells").join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("cell.json"), "{}").unwrap();
        }
        let source = Source::open(dir.path()).unwrap();
        assert_eq!(source.cells(), ["0001-a-r1", "0001-a-r1-a2", "0002-a-r2"]);
    }

    #[test]
    fn links_and_devices_in_a_folder_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "x").unwrap();
        assert!(Source::open(dir.path()).is_ok());
        std::os::unix::fs::symlink("file", dir.path().join("link")).unwrap();
        assert!(
            Source::open(dir.path())
                .unwrap_err()
                .what
                .contains("link is neither")
        );
        assert!(Source::open(&dir.path().join("missing")).is_err());
    }
}
