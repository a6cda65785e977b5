//! Archives that mean harm: refused with exit 5, in bounded time and memory.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::super::verify;
use super::forge::{smoke, sum_again};
use crate::error::Exit;
use crate::record::{fixture, tarball};

/// Far more than a refusal takes on the slowest machine, and far less than what a bomb would.
const PATIENCE: Duration = Duration::from_secs(60);
const CELL: &str = "cells/0001-nginx-hello-1000-c32-r1";

#[track_caller]
fn refused(what: &str, path: &Path) -> String {
    let start = Instant::now();
    let report = verify(path, &smoke());
    assert_eq!(report.exit, Some(Exit::Unverified), "{what}");
    assert!(
        start.elapsed() < PATIENCE,
        "{what} took {:?}",
        start.elapsed()
    );
    format!("{:?}", report.findings)
}

/// A tar entry as it is said, with a right checksum: path, type, size as claimed, content.
fn entry(path: &[u8], kind: u8, size: &[u8], content: &[u8]) -> Vec<u8> {
    let mut header = tarball::header("x", 0).unwrap();
    header[..1].fill(0);
    header[..path.len().min(100)].copy_from_slice(&path[..path.len().min(100)]);
    header[156] = kind;
    header[124..136].fill(0);
    header[124..124 + size.len()].copy_from_slice(size);
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut tar = header.to_vec();
    tar.extend(content);
    tar.resize(tar.len().next_multiple_of(512), 0);
    tar
}

fn end(mut tar: Vec<u8>) -> Vec<u8> {
    tar.resize((tar.len() + 1024).next_multiple_of(10_240), 0);
    tar
}

#[test]
fn tars_that_mean_harm() {
    let file = |path: &[u8]| entry(path, b'0', b"00000000001", b"x");
    let twice = [file(b"plan.yaml"), file(b"plan.yaml")].concat();
    let deep = "a/".repeat(40);
    let global = entry(b"g", b'g', b"00000000020", b"16 path=../../x\n");
    let table: [(&str, Vec<u8>); 22] = [
        ("traversal", file(b"../plan.yaml")),
        ("traversal within", file(b"cells/../../plan.yaml")),
        ("absolute", file(b"/etc/passwd")),
        (
            "symbolic link",
            entry(b"plan.yaml", b'2', b"00000000000", b""),
        ),
        ("hard link", entry(b"plan.yaml", b'1', b"00000000000", b"")),
        (
            "character device",
            entry(b"plan.yaml", b'3', b"00000000000", b""),
        ),
        (
            "block device",
            entry(b"plan.yaml", b'4', b"00000000000", b""),
        ),
        ("folder", entry(b"cells/", b'5', b"00000000000", b"")),
        ("fifo", entry(b"plan.yaml", b'6', b"00000000000", b"")),
        ("sparse", entry(b"plan.yaml", b'S', b"00000000001", b"x")),
        (
            "long name",
            entry(b"././@LongLink", b'L', b"00000000001", b"x"),
        ),
        ("extended header", entry(b"x", b'x', b"00000000001", b"x")),
        ("global header", global),
        ("twice", twice),
        (
            "claims 8 GiB",
            entry(b"plan.yaml", b'0', b"77777777777", b"x"),
        ),
        (
            "claims more, in base 256",
            entry(b"plan.yaml", b'0', &[0xff; 12], b"x"),
        ),
        ("negative", entry(b"plan.yaml", b'0', b"-0000000001", b"x")),
        ("not octal", entry(b"plan.yaml", b'0', b"0000000000x", b"x")),
        ("deep", file(format!("{deep}x").as_bytes())),
        ("not UTF-8", file(b"plan\xff.yaml")),
        ("escapes of a terminal", file(b"plan\x1b[2J")),
        ("no name", file(b"")),
    ];
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.tar");
    for (what, tar) in table {
        fs::write(&path, end(tar)).unwrap();
        refused(what, &path);
    }
    for (what, magic) in [
        ("gzip", &b"\x1f\x8b\x08\x00"[..]),
        ("zstd", b"\x28\xb5\x2f\xfd"),
        ("xz", b"\xfd7zXZ"),
        ("bzip2", b"BZh9"),
        ("zip", b"PK\x03\x04"),
    ] {
        fs::write(&path, end(magic.to_vec())).unwrap();
        let findings = refused(what, &path);
        assert!(
            findings.contains(&format!("compressed ({what})")),
            "{findings}"
        );
    }
    // A file of nothing but a length: 1 TiB of zeros.
    let sparse = fs::File::create(&path).unwrap();
    sparse.set_len(1 << 40).unwrap();
    refused("1 TiB of zeros", &path);
}

#[test]
fn folders_that_mean_harm() {
    type Alter = fn(&Path);
    let table: [(&str, Alter); 8] = [
        ("a link out", |dir| {
            std::os::unix::fs::symlink("/etc", dir.join("x")).unwrap()
        }),
        ("a link to itself", |dir| {
            std::os::unix::fs::symlink(".", dir.join("cells/x")).unwrap()
        }),
        ("a fifo, which blocks its reader", |dir| {
            let fifo = dir.join("plan.yaml");
            fs::remove_file(&fifo).unwrap();
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            let kind = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, &fifo, kind, mode, 0).unwrap();
        }),
        ("a socket", |dir| {
            std::os::unix::net::UnixListener::bind(dir.join("s")).unwrap();
        }),
        ("deep", |dir| {
            fs::create_dir_all(dir.join("d/".repeat(50))).unwrap()
        }),
        ("a file without end", |dir| {
            fs::File::create(dir.join("cells/x"))
                .unwrap()
                .set_len(1 << 40)
                .unwrap();
        }),
        ("a name that is not UTF-8", |dir| {
            use std::os::unix::ffi::OsStrExt as _;
            fs::write(dir.join(std::ffi::OsStr::from_bytes(b"a\xff")), "").unwrap();
        }),
        ("a name with a line's end", |dir| {
            fs::write(dir.join("a\nb"), "").unwrap()
        }),
    ];
    for (what, alter) in table {
        let dir = fixture::archive();
        alter(dir.path());
        refused(what, dir.path());
    }
}

/// Each document in turn is replaced by each of these, with the sums right.
#[test]
fn documents_that_mean_harm() {
    let json = [
        "".to_owned(),
        "null".into(),
        "[]".into(),
        "{}".into(),
        "\u{0}".into(),
        "1e999".into(),
        "-".into(),
        "9".repeat(200_000),
        "[".repeat(200_000),
        "{\"a\":".repeat(200_000),
        format!("[{}0]", "{},".repeat(300_000)),
        format!(
            "{{{}\"z\":0}}",
            (0..50_000)
                .map(|n| format!("\"{n}\":0,"))
                .collect::<String>()
        ),
        format!("\"{}\"", "\\u0000".repeat(100_000)),
        "{\"schema\": 1, \"cells\": [[[]]]}".into(),
        "{\"schema\": 18446744073709551615}".into(),
        "{\"schema\": -1e308, \"schema\": 1}".into(),
    ];
    let cell = |file: &str| format!("{CELL}/{file}");
    let documents = ["summary.json", "environment.json", "images.json"].map(str::to_owned);
    let dir = fixture::archive();
    for path in documents
        .into_iter()
        .chain(["cell.json", "parity.json"].map(cell))
    {
        let file = dir.path().join(&path);
        let good = fs::read(&file).unwrap();
        for (index, bad) in json.iter().enumerate() {
            // Nothing is derived from the images: any document will do.
            if path == "images.json" && serde_json::from_str::<serde_json::Value>(bad).is_ok() {
                continue;
            }
            fs::write(&file, bad).unwrap();
            sum_again(dir.path());
            refused(&format!("{path}, {index}"), dir.path());
        }
        fs::write(&file, [0xff, 0xfe]).unwrap();
        sum_again(dir.path());
        refused(&format!("{path} in no encoding"), dir.path());
        fs::write(&file, good).unwrap();
    }
}

#[test]
fn numbers_and_counts_that_mean_harm() {
    let dir = fixture::archive();
    let read = |path: &str| fs::read_to_string(dir.path().join(path)).unwrap();
    let (csv, hlog) = (
        format!("{CELL}/samples.csv"),
        format!("{CELL}/latency.hlog"),
    );
    let (cell, plan) = (format!("{CELL}/cell.json"), "plan.yaml".to_owned());
    let most = u64::MAX.to_string();
    let row = "3.000000,load,tick,60000,,,,,,,,,,\n";
    let line = read(&hlog).lines().nth(2).unwrap().to_owned() + "\n";
    let header: String = read(&hlog)
        .lines()
        .take(2)
        .map(|l| format!("{l}\n"))
        .collect();
    let laughs: String = (1..12)
        .map(|n| {
            format!(
                "a{n}: &a{n} [{}]\n",
                vec![format!("*a{}", n - 1); 10].join(", ")
            )
        })
        .collect();
    let laughs = format!("a0: &a0 [x]\n{laughs}");
    let with = |path: &str, from: &str, to: &str| read(path).replacen(from, to, 1);
    for (what, path, text) in [
        (
            "a counter past counting",
            &csv,
            with(&csv, "load,end,105000", &format!("load,end,{most}")),
        ),
        (
            "a time past time",
            &csv,
            with(&csv, "4.000000,load", &format!("{:.6},load", 1e300)),
        ),
        ("rows without end", &csv, read(&csv) + &row.repeat(700_000)),
        ("lines without end", &hlog, header + &line.repeat(100_001)),
        (
            "a line without end",
            &hlog,
            read(&hlog) + &"A".repeat(5_000_000),
        ),
        (
            "slots past counting",
            &cell,
            with(
                &cell,
                "\"scheduled\": 2000",
                &format!("\"scheduled\": {most}"),
            ),
        ),
        (
            "a duration of nothing",
            &cell,
            with(&cell, "\"duration_s\": 2.0", "\"duration_s\": 5e-324"),
        ),
        (
            "a long one",
            &cell,
            with(&cell, "\"duration_s\": 2.0", "\"duration_s\": 1.7e308"),
        ),
        (
            "a rate past all",
            &cell,
            with(
                &cell,
                "\"rate_rps\": 1000",
                &format!("\"rate_rps\": {most}"),
            ),
        ),
        (
            "attempts",
            &cell,
            with(&cell, "\"attempt\": 1", "\"attempt\": 4294967295"),
        ),
        (
            "a plan's repetitions",
            &plan,
            with(&plan, "repetitions: 2", "repetitions: 4294967295"),
        ),
        (
            "a plan's many cells",
            &plan,
            with(
                &plan,
                "[1000]",
                &format!(
                    "[{}]",
                    (1..5000)
                        .map(|n| n.to_string())
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
            )
            .replace("repetitions: 2", "repetitions: 1000"),
        ),
        (
            "a plan's rates",
            &plan,
            with(&plan, "[1000]", &format!("[{most}]")),
        ),
        (
            "a plan's length",
            &plan,
            with(&plan, "load: 2", "load: 1e300"),
        ),
        (
            "a plan's retries",
            &plan,
            with(&plan, "retries: 1", "retries: 4294967295"),
        ),
        ("a plan that laughs", &plan, read("plan.yaml") + &laughs),
        (
            "a workload that laughs",
            &"sources/workloads/hello/workload.yaml".to_owned(),
            laughs.clone(),
        ),
        (
            "an adapter that laughs",
            &"sources/adapters/nginx/adapter.yaml".to_owned(),
            laughs,
        ),
        ("brackets", &plan, "[".repeat(200_000)),
        (
            "sums without end",
            &"SHA256SUMS".to_owned(),
            format!("{}  a\n", "0".repeat(64)).repeat(200_000),
        ),
    ] {
        let good = read(path);
        assert_ne!(text, good, "{what}");
        fs::write(dir.path().join(path), text).unwrap();
        if path != "SHA256SUMS" {
            sum_again(dir.path());
        }
        refused(what, dir.path());
        fs::write(dir.path().join(path), good).unwrap();
    }
}
