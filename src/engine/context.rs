//! Build contexts: a folder's files, what it is built from, and the digest of both, from which an
//! image is known to be current.

use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// Folders that tools leave beside sources; they are never part of a build.
const LEFT_OUT: [&str; 3] = ["node_modules", "target", ".git"];
/// Says what an adapter is, not what is in its image.
const DESCRIPTION: &str = "adapter.yaml";
/// A folder of this name in a build context receives the host's extra certificate authorities.
const AUTHORITIES: &str = "ca";
/// Where administrators put extra authorities: Debian's place, then Fedora's.
const HOST_AUTHORITIES: [&str; 2] = [
    "/usr/local/share/ca-certificates",
    "/etc/pki/ca-trust/source/anchors",
];

/// One file of a context.
#[derive(Clone, Debug)]
pub struct File {
    /// Relative to the context, with `/`.
    pub path: String,
    /// Whether it may be executed.
    pub executable: bool,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// A folder as it is sent to the engine.
#[derive(Clone, Debug, Default)]
pub struct Context {
    files: Vec<File>,
}

impl Context {
    /// From files that are made up here.
    pub fn of(files: Vec<File>) -> Self {
        Self { files }
    }

    /// Reads a folder, sorted by path.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut files = Vec::new();
        walk(folder, "", &mut files)?;
        if folder.join(AUTHORITIES).is_dir() {
            files.extend(host_authorities());
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files })
    }

    /// Adds files that come from elsewhere. What the folder holds itself may not be among them.
    pub fn add(&mut self, files: Vec<(String, Vec<u8>)>) -> Result<()> {
        for (path, bytes) in files {
            if self.files.iter().any(|file| file.path == path) {
                return Err(Error::usage(format!(
                    "{path} is in the folder, and the kit puts the workload's own there"
                ))
                .next("remove it from the folder: every adapter is built with the same data"));
            }
            self.files.push(File {
                path,
                executable: false,
                bytes,
            });
        }
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(())
    }

    /// A file's text.
    pub fn text(&self, path: &str) -> Option<&str> {
        let file = self.files.iter().find(|file| file.path == path)?;
        std::str::from_utf8(&file.bytes).ok()
    }

    /// Puts other content into a file.
    pub fn replace(&mut self, path: &str, text: String) {
        for file in self.files.iter_mut().filter(|file| file.path == path) {
            file.bytes = text.clone().into_bytes();
        }
    }

    /// A digest of every path, mode and byte: hexadecimal SHA-256.
    pub fn digest(&self) -> String {
        let mut digest = Sha256::new();
        for file in &self.files {
            digest.update((file.path.len() as u64).to_le_bytes());
            digest.update(&file.path);
            digest.update([u8::from(file.executable)]);
            digest.update((file.bytes.len() as u64).to_le_bytes());
            digest.update(&file.bytes);
        }
        crate::record::sums::hex(&digest.finalize())
    }

    /// As the tar stream that the engine builds from.
    pub fn tar(&self) -> Result<Vec<u8>> {
        let mut tar = tar::Builder::new(Vec::new());
        for file in &self.files {
            let mut header = tar::Header::new_gnu();
            header.set_size(file.bytes.len() as u64);
            header.set_mode(if file.executable { 0o755 } else { 0o644 });
            header.set_mtime(0);
            let appended = tar.append_data(&mut header, &file.path, file.bytes.as_slice());
            appended.map_err(|e| Error::unexpected(format!("cannot pack {}: {e}", file.path)))?;
        }
        tar.into_inner()
            .map_err(|e| Error::unexpected(format!("cannot pack a build context: {e}")))
    }
}

fn walk(folder: &Path, prefix: &str, files: &mut Vec<File>) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let failed = |e| Error::io("read", folder, &e);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if prefix.is_empty() {
            name.clone()
        } else {
            format!("{prefix}/{name}")
        };
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            if !LEFT_OUT.contains(&name.as_str()) {
                walk(&entry.path(), &path, files)?;
            }
        } else if kind.is_file() && path != DESCRIPTION {
            let bytes = fs::read(entry.path()).map_err(|e| Error::io("read", &entry.path(), &e))?;
            let mode = entry.metadata().map_err(failed)?.permissions().mode();
            files.push(File {
                path,
                executable: mode & 0o100 != 0,
                bytes,
            });
        } else if kind.is_symlink() {
            return Err(
                Error::usage(format!("{} is a symbolic link", entry.path().display())).next(
                    "copy the file itself into the folder: a link leads out of what is recorded",
                ),
            );
        }
    }
    Ok(())
}

fn host_authorities() -> Vec<File> {
    let folders = HOST_AUTHORITIES
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok());
    let paths = folders.flat_map(|entries| entries.flatten().map(|entry| entry.path()));
    let certificates =
        paths.filter(|path| path.extension().is_some_and(|e| e == "crt" || e == "pem"));
    certificates
        .filter_map(|path| {
            let name = path.file_stem()?.to_str()?.to_owned();
            let bytes = fs::read(&path).ok()?;
            Some(File {
                path: format!("{AUTHORITIES}/{name}.crt"),
                executable: false,
                bytes,
            })
        })
        .collect()
}

/// The kit's own images that a Dockerfile starts from: the NAMEs of its `FROM shootout/NAME` lines.
pub fn parents(dockerfile: &str) -> Vec<String> {
    let mut names: Vec<String> = dockerfile
        .lines()
        .filter_map(own_parent)
        .map(str::to_owned)
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The same Dockerfile with each `shootout/NAME` pinned to a tag.
pub fn pin_parents(dockerfile: &str, tag: impl Fn(&str) -> String) -> String {
    let pinned = dockerfile.lines().map(|line| match own_parent(line) {
        Some(name) => line.replacen(&format!("shootout/{name}"), &tag(name), 1) + "\n",
        None => format!("{line}\n"),
    });
    pinned.collect()
}

fn own_parent(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let is_from = words.next()?.eq_ignore_ascii_case("from");
    is_from
        .then(|| words.next()?.strip_prefix("shootout/"))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_parents_are_found_and_pinned_and_others_are_left() {
        let text = "from shootout/node-build AS build\nRUN x\nFROM shootout/run\nFROM scratch\nCOPY shootout/x y\n";
        assert_eq!(parents(text), ["node-build", "run"]);
        let pinned = pin_parents(text, |name| format!("shootout/{name}:1"));
        assert_eq!(
            pinned,
            "from shootout/node-build:1 AS build\nRUN x\nFROM shootout/run:1\nFROM scratch\nCOPY shootout/x y\n"
        );
    }

    #[test]
    fn a_digest_sees_every_change_but_the_description() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        let digest = || Context::read(folder.path()).unwrap().digest();
        write("a", "1");
        write("adapter.yaml", "title: a");
        let first = digest();
        write("adapter.yaml", "title: b");
        fs::create_dir(folder.path().join("node_modules")).unwrap();
        write("node_modules/x", "left over");
        assert_eq!(digest(), first);
        write("a", "2");
        assert_ne!(digest(), first);
        write("a", "1");
        write("b", "");
        assert_ne!(digest(), first);
        fs::remove_file(folder.path().join("b")).unwrap();
        assert_eq!(digest(), first);
        std::os::unix::fs::symlink("a", folder.path().join("link")).unwrap();
        assert!(
            Context::read(folder.path())
                .unwrap_err()
                .what
                .contains("symbolic link")
        );
    }
}
