//! The one canonical tar of a folder: same folder, same bytes. GNU tar makes it too:
//!
//! ```text
//! find . -type f -printf '%P\n' | LC_ALL=C sort | tar --format=ustar --mtime=@0 --mode=0644 \
//!     --owner=0 --group=0 --numeric-owner --no-recursion -T - -cf ../archive.tar
//! ```

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt as _;

use crate::error::{Error, Result};
use crate::record::source::{self, MAX_FILES, Source};

const BLOCK: u64 = 512;
/// A tar's length is a multiple of this, filled up with zeros.
const RECORD: u64 = 20 * BLOCK;
/// The end: at least two blocks of zeros.
const END: u64 = 2 * BLOCK;

/// The header of a regular file; `None` for a path or size that the format has no room for.
pub fn header(path: &str, size: u64) -> Option<[u8; 512]> {
    let (prefix, name) = split(path)?;
    if size >= 1 << 33 {
        return None;
    }
    let mut block = [0u8; 512];
    let mut put =
        |at: usize, text: &str| block[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, "0000644");
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{size:011o}"));
    put(136, "00000000000");
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\x0000");
    put(329, "0000000");
    put(337, "0000000");
    put(345, prefix);
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Some(block)
}

/// Prefix and name of a path: over 100 bytes it is cut at the last slash of its first 156 bytes.
fn split(path: &str) -> Option<(&str, &str)> {
    if path.len() <= 100 {
        return Some(("", path));
    }
    let first = &path.as_bytes()[..156.min(path.len())];
    let cut = first.iter().rposition(|byte| *byte == b'/')?;
    let (prefix, name) = (&path[..cut], &path[cut + 1..]);
    (!prefix.is_empty() && name.len() <= 100).then_some((prefix, name))
}

/// Writes the canonical tar of all files of a source.
pub fn write(source: &Source, out: &mut impl Write) -> Result<()> {
    let failed = |e: io::Error| Error::io("write", std::path::Path::new("the tar"), &e);
    let mut length = 0;
    for (path, size) in source.files() {
        let header = header(path, size).ok_or_else(|| {
            Error::usage(format!("{path} has no room in a tar"))
                .next("a tar has room for paths of 255 bytes: give the file a shorter name")
        })?;
        out.write_all(&header).map_err(failed)?;
        let mut written = 0;
        source.chunks(path, |chunk| {
            written += chunk.len() as u64;
            out.write_all(chunk).map_err(failed)
        })?;
        if written != size {
            return Err(Error::unexpected(format!(
                "{path} changed while it was read"
            )));
        }
        let padding = size.next_multiple_of(BLOCK) - size;
        out.write_all(&[0; BLOCK as usize][..padding as usize])
            .map_err(failed)?;
        length += BLOCK + size + padding;
    }
    let zeros = (length + END).next_multiple_of(RECORD) - length;
    out.write_all(&vec![0; zeros as usize]).map_err(failed)
}

/// Where each file of a canonical tar lies: path -> (offset, size). Anything that [`write`] would
/// have written otherwise is refused, so that nothing can hide in it.
pub fn index(file: &File) -> Result<BTreeMap<String, (u64, u64)>> {
    let bad = |at: u64, what: &str| Error::unverified(format!("byte {at}: {what}"));
    let length = file.metadata().map_err(|e| bad(0, &e.to_string()))?.len();
    if let Some(form) = compressed(file) {
        return Err(Error::unverified(format!(
            "compressed ({form}), where an archive's tar is plain: decompress it first"
        )));
    }
    let mut files = BTreeMap::<String, (u64, u64)>::new();
    let mut at = 0;
    loop {
        let mut block = [0u8; BLOCK as usize];
        read(file, &mut block, at).ok_or_else(|| bad(at, "the tar is cut short"))?;
        if block == [0; BLOCK as usize] {
            break;
        }
        let (path, size) =
            parse(&block).ok_or_else(|| bad(at, "not a canonical header of a regular file"))?;
        source::safe(&path).map_err(|what| bad(at, &format!("{path:?} {what}")))?;
        if files
            .last_key_value()
            .is_some_and(|(last, _)| *last >= path)
        {
            return Err(bad(
                at,
                &format!("{path} is twice in the tar, or out of order"),
            ));
        }
        if files.len() >= MAX_FILES {
            return Err(bad(at, "more files than an archive can have"));
        }
        if source::ancestors(&path).any(|folder| files.contains_key(folder)) {
            return Err(bad(at, &format!("a folder of {path} is a file as well")));
        }
        let end = at + BLOCK + size;
        let padding = end.next_multiple_of(BLOCK) - end;
        zeros(file, end, padding)
            .ok_or_else(|| bad(end, "cut short, or padded with other than zeros"))?;
        files.insert(path, (at + BLOCK, size));
        at = end + padding;
    }
    if length != (at + END).next_multiple_of(RECORD) {
        return Err(bad(at, "does not end as a canonical tar"));
    }
    zeros(file, at, length - at).ok_or_else(|| bad(at, "something follows the end"))?;
    Ok(files)
}

/// What a file's first bytes say that it is compressed with.
fn compressed(file: &File) -> Option<&'static str> {
    let mut first = [0; 4];
    read(file, &mut first, 0)?;
    let forms: [(&[u8], _); 5] = [
        (&[0x1f, 0x8b], "gzip"),
        (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
        (&[0xfd, b'7', b'z', b'X'], "xz"),
        (b"BZh", "bzip2"),
        (b"PK\x03\x04", "zip"),
    ];
    let form = forms.iter().find(|(magic, _)| first.starts_with(magic));
    form.map(|(_, name)| *name)
}

/// Path and size of a header, if writing these two gives the same header.
fn parse(block: &[u8; 512]) -> Option<(String, u64)> {
    let text = |range: std::ops::Range<usize>| {
        let field = &block[range];
        let end = field.iter().position(|b| *b == 0).unwrap_or(field.len());
        std::str::from_utf8(&field[..end]).ok()
    };
    let (name, prefix) = (text(0..100)?, text(345..500)?);
    let path = if prefix.is_empty() {
        name.to_owned()
    } else {
        format!("{prefix}/{name}")
    };
    let size = u64::from_str_radix(text(124..136)?, 8).ok()?;
    (header(&path, size)? == *block).then_some((path, size))
}

fn read(file: &File, buffer: &mut [u8], at: u64) -> Option<()> {
    file.read_exact_at(buffer, at).ok()
}

/// Whether there are `count` zeros; there are never more than a record of them.
fn zeros(file: &File, at: u64, count: u64) -> Option<()> {
    let mut buffer = [0u8; RECORD as usize + END as usize];
    let buffer = buffer.get_mut(..count as usize)?;
    read(file, buffer, at)?;
    buffer.iter().all(|byte| *byte == 0).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn pack(files: &[(&str, &str)]) -> (tempfile::TempDir, Vec<u8>) {
        let dir = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let mut tar = Vec::new();
        write(&Source::open(dir.path()).unwrap(), &mut tar).unwrap();
        (dir, tar)
    }

    fn index_of(tar: &[u8]) -> Result<BTreeMap<String, (u64, u64)>> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(tar).unwrap();
        index(&file)
    }

    /// A tar of these entries as they are, canonical or not.
    fn raw(entries: &[(&str, &str)]) -> Vec<u8> {
        let mut tar = Vec::new();
        for (path, content) in entries {
            tar.extend(header(path, content.len() as u64).unwrap());
            tar.extend(content.as_bytes());
            tar.resize(tar.len().next_multiple_of(512), 0);
        }
        tar.resize((tar.len() + 1024).next_multiple_of(10_240), 0);
        tar
    }

    #[test]
    fn a_tar_cut_anywhere_is_refused() {
        let tar = raw(&[("a", "1"), ("b", &"z".repeat(600))]);
        for length in (0..tar.len()).step_by(101) {
            assert!(index_of(&tar[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn same_folder_same_bytes_and_every_file_is_found_in_it() {
        let long = format!("{}/{}/f", "d".repeat(80), "e".repeat(70));
        let files = [
            ("b", "2"),
            ("a/x", "1"),
            ("a-b", ""),
            (&long, "3"),
            ("big", &"z".repeat(513)),
        ];
        let (_one, first) = pack(&files);
        let (_two, second) = pack(&[files[3], files[1], files[4], files[0], files[2]]);
        assert!(first == second);
        let index = index_of(&first).unwrap();
        let names: Vec<&str> = index.keys().map(String::as_str).collect();
        assert_eq!(names, ["a-b", "a/x", "b", "big", &long]);
        let (offset, size) = index["a/x"];
        assert_eq!(&first[offset as usize..(offset + size) as usize], b"1");
        assert!(index_of(&pack(&[]).1).unwrap().is_empty());
    }

    #[test]
    fn gnu_tar_makes_the_same_bytes() {
        let long = format!("{}/{}/f", "d".repeat(80), "e".repeat(70));
        let (dir, ours) = pack(&[
            ("b", "2"),
            ("a/x", "1"),
            ("a-b", ""),
            (&long, &"z".repeat(20_000)),
        ]);
        let script = "find . -type f -printf '%P\\n' | LC_ALL=C sort | tar --format=ustar --mtime=@0 \
                      --mode=0644 --owner=0 --group=0 --numeric-owner --no-recursion -T - -cf -";
        let shell = std::process::Command::new("sh")
            .args(["-c", script])
            .current_dir(&dir)
            .output()
            .unwrap();
        assert!(
            shell.stdout == ours,
            "{}",
            String::from_utf8_lossy(&shell.stderr)
        );
    }

    #[test]
    fn whatever_is_not_canonical_is_refused() {
        let good = raw(&[("a", "1"), ("b", "2")]);
        assert!(index_of(&good).is_ok());
        let patched = |at: usize, byte: u8| {
            let mut tar = good.clone();
            tar[at] = byte;
            let mut header: [u8; 512] = tar[..512].try_into().unwrap();
            header[148..156].fill(b' ');
            let sum: u32 = header.iter().map(|b| u32::from(*b)).sum();
            header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
            tar[..512].copy_from_slice(&header);
            tar
        };
        let mut longer = good.clone();
        longer.extend([0; 10_240]);
        let mut hidden = good.clone();
        *hidden.last_mut().unwrap() = 1;
        let mut padding = good.clone();
        padding[600] = 1;
        for (what, tar) in [
            ("twice", raw(&[("a", "1"), ("a", "2")])),
            ("out of order", raw(&[("b", "1"), ("a", "2")])),
            ("absolute", raw(&[("/etc/passwd", "")])),
            ("climbs", raw(&[("a/../../b", "")])),
            ("empty part", raw(&[("a//b", "")])),
            ("backslash", raw(&[("a\\b", "")])),
            ("control character", raw(&[("a\nb", "")])),
            ("file and folder", raw(&[("a", ""), ("a/b", "")])),
            ("symbolic link", patched(156, b'2')),
            ("hard link", patched(156, b'1')),
            ("device", patched(156, b'3')),
            ("sparse", patched(156, b'S')),
            ("long name", patched(156, b'L')),
            ("executable", patched(106, b'5')),
            ("dated", patched(146, b'1')),
            ("owned", patched(114, b'1')),
            ("not UTF-8", patched(0, 0xff)),
            ("longer than canonical", longer),
            ("hidden after the end", hidden),
            ("hidden in the padding", padding),
            ("empty", Vec::new()),
        ] {
            assert!(index_of(&tar).is_err(), "{what}");
        }
    }
}
