//! The agent's image: this very program and what it needs to start, and nothing else.
//!
//! What it needs is asked of the kernel, not of a distribution: the files that are mapped into this
//! process, and the loader that its ELF header names.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::context::{Context, File};
use crate::agent::binary::AgentBinary;
use crate::error::{Error, Result};

/// The build context of the agent's image.
pub fn context(binary: &AgentBinary) -> Result<Context> {
    let maps = fs::read_to_string("/proc/self/maps");
    let maps = maps.map_err(|e| Error::io("read", Path::new("/proc/self/maps"), &e))?;
    let mut files = vec![File {
        path: "root/shootout".into(),
        executable: true,
        bytes: binary.bytes.clone(),
    }];
    let libraries = libraries(&maps);
    let loader = elf_interpreter(&binary.bytes);
    for path in libraries.iter().chain(&loader).collect::<BTreeSet<_>>() {
        let bytes = fs::read(path).map_err(|e| Error::io("read", Path::new(path), &e))?;
        files.push(File {
            path: format!("root{path}"),
            executable: true,
            bytes,
        });
    }
    files.push(File {
        path: "Dockerfile".into(),
        executable: false,
        bytes: dockerfile(&libraries).into_bytes(),
    });
    Ok(Context::of(files))
}

fn dockerfile(libraries: &BTreeSet<String>) -> String {
    let folders = libraries
        .iter()
        .filter_map(|path| Path::new(path).parent()?.to_str());
    let folders: Vec<&str> = folders.collect::<BTreeSet<_>>().into_iter().collect();
    // Loaders of different distributions search different folders: here they are told.
    format!(
        "FROM scratch\nLABEL {}=agent\nCOPY root/ /\nENV LD_LIBRARY_PATH={}\nENTRYPOINT [\"/shootout\"]\n",
        super::IMAGE_LABEL,
        folders.join(":")
    )
}

/// The shared objects in a /proc/PID/maps: every file with code in it but the program itself, which
/// the kernel lists first.
fn libraries(maps: &str) -> BTreeSet<String> {
    let mut lines = maps.lines().filter_map(|line| {
        let (fields, path) = line.split_once('/')?;
        let permissions = fields.split_whitespace().nth(1)?;
        Some((permissions.to_owned(), format!("/{path}")))
    });
    let Some((_, program)) = lines.next() else {
        return BTreeSet::new();
    };
    let code = lines.filter(|(permissions, path)| permissions.contains('x') && *path != program);
    code.map(|(_, path)| path).collect()
}

/// The loader that a 64-bit little-endian ELF file asks for (its PT_INTERP entry); `None` for a
/// static program.
fn elf_interpreter(elf: &[u8]) -> Option<String> {
    const PT_INTERP: u64 = 3;
    let number = |at: usize, length: usize| {
        let bytes = elf.get(at..at + length)?;
        Some(
            bytes
                .iter()
                .rev()
                .fold(0u64, |sum, byte| sum << 8 | u64::from(*byte)),
        )
    };
    if !elf.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (table, entry_size, entries) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    let mut headers = (0..entries).map(|index| (table + index * entry_size) as usize);
    let header = headers.find(|at| number(*at, 4) == Some(PT_INTERP))?;
    let (offset, length) = (
        number(header + 8, 8)? as usize,
        number(header + 32, 8)? as usize,
    );
    let name = elf.get(offset..offset + length)?.strip_suffix(b"\0")?;
    String::from_utf8(name.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_the_files_with_code_but_the_program() {
        let maps = "\
55d0-55d1 r--p 00000000 fe:00 1 /opt/with space/shootout
55d1-55d2 r-xp 00001000 fe:00 1 /opt/with space/shootout
7f00-7f01 r--p 00000000 fe:00 2 /usr/lib/libc.so.6
7f01-7f02 r-xp 00001000 fe:00 2 /usr/lib/libc.so.6
7f02-7f03 r-xp 00000000 fe:00 3 /usr/lib/ld-linux-x86-64.so.2
7f03-7f04 rw-p 00000000 00:00 0
7f04-7f05 r-xp 00000000 00:00 0 [vdso]
7f05-7f06 r--p 00000000 fe:00 4 /usr/share/locale.archive
";
        let expected = ["/usr/lib/ld-linux-x86-64.so.2", "/usr/lib/libc.so.6"];
        assert_eq!(libraries(maps).into_iter().collect::<Vec<_>>(), expected);
        assert!(libraries("").is_empty());
    }

    #[test]
    fn this_program_names_a_loader_that_exists() {
        let binary = crate::agent::binary::agent_binary().unwrap();
        if let Some(loader) = elf_interpreter(&binary.bytes) {
            assert!(Path::new(&loader).exists(), "{loader}");
        }
        assert_eq!(elf_interpreter(b"#!/bin/sh"), None);
        assert_eq!(elf_interpreter(&binary.bytes[..100]), None, "cut off");
    }
}
