//! Every alteration is found, and named.

use super::*;
use crate::record::fixture;
use crate::report::json;
use std::fs;

mod contradictions;
mod forge;
mod hostile;
mod mutations;
mod search;
mod second;
mod size;

use forge::{another, leaves, tar_of};
pub(super) use forge::{edit, smoke, sum_again};

#[test]
fn a_good_archive_verifies_as_folder_and_as_tar() {
    let dir = fixture::archive();
    let (_tar, tar) = tar_of(dir.path());
    for path in [dir.path(), &tar] {
        let report = verify(path, &smoke());
        assert_eq!(report.findings, []);
        assert_eq!((report.ok, report.exit, report.cells), (true, None, 4));
        let pinned = Options {
            id: report.id.clone(),
            ..smoke()
        };
        assert!(verify(path, &pinned).ok);
        let other = Options {
            id: Some("0".repeat(64)),
            ..smoke()
        };
        assert_eq!(verify(path, &other).exit, Some(Exit::Unverified));
        let strict = verify(path, &Options::default());
        assert_eq!(strict.exit, Some(Exit::Incomplete));
        assert!(
            strict.findings[0]
                .what
                .contains("2 repetitions; at least 3")
        );
    }
}

#[test]
fn every_byte_counts() {
    let dir = fixture::archive();
    let all: Vec<String> = Source::open(dir.path())
        .unwrap()
        .files()
        .map(|(path, _)| path.to_owned())
        .collect();
    for file in &all {
        let path = dir.path().join(file);
        let good = fs::read(&path).unwrap();
        let mut bad = good.clone();
        let middle = bad.len() / 2;
        bad[middle] ^= 1;
        for (how, content) in [
            ("altered", Some(bad)),
            ("cut", Some(good[..middle].to_vec())),
            ("missing", None),
        ] {
            match content {
                Some(content) => fs::write(&path, content).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            let report = verify(dir.path(), &smoke());
            assert_eq!(report.exit, Some(Exit::Unverified), "{how} {file}");
            assert!(
                how == "altered" || report.findings.iter().any(|f| f.file == *file),
                "{how} {file}"
            );
            fs::write(&path, &good).unwrap();
        }
    }
    fs::write(dir.path().join("extra"), "").unwrap();
    assert_eq!(
        verify(dir.path(), &smoke()).findings[0].what,
        "not listed in SHA256SUMS"
    );
}

#[test]
fn a_forger_who_sums_again_is_found_by_what_is_derived() {
    const CELL: &str = "cells/0001-nginx-hello-1000-c32-r1";
    let cell = format!("{CELL}/cell.json");
    let samples = format!("{CELL}/samples.csv");
    let parity = format!("{CELL}/parity.json");
    for (file, from, to, finding) in [
        (
            cell.as_str(),
            "\"cpu_us_per_request\": 50.0",
            "\"cpu_us_per_request\": 49.0",
            "cpu_us_per_request: expected 50.0, found 49.0",
        ),
        (
            &cell,
            "\"completed\": 2000",
            "\"completed\": 1999",
            "ledger",
        ),
        (
            &cell,
            "\"scheduled\": 2000",
            "\"scheduled\": 2001",
            "ledger",
        ),
        (
            &cell,
            "\"healthy\": true",
            "\"healthy\": false",
            "healthy: expected true",
        ),
        (
            &cell,
            "\"valid\": true",
            "\"valid\": false",
            "valid: expected true",
        ),
        (
            &cell,
            "\"repetition\": 1",
            "\"repetition\": 2",
            "another cell",
        ),
        (
            &cell,
            "\"count\": 2000",
            "\"count\": 2001",
            "response_us.count",
        ),
        (
            &cell,
            "\"schema\": 1",
            "\"schema\": 2",
            "newer than this program's 1",
        ),
        (
            &cell,
            "\"schema\": 1,",
            "\"schema\": 1, \"valid\": true,",
            "twice",
        ),
        (
            &cell,
            "\"schema\": 1,",
            "\"schema\": 1, \"fast\": true,",
            "fast: not a field",
        ),
        (
            &samples,
            "4.000000,load,end,105000",
            "4.000000,load,end,104000",
            "cpu_us_per_request",
        ),
        (
            &samples,
            "4.000000,load,end",
            "4.0,load,end",
            "not written as",
        ),
        (
            "summary.json",
            "\"median\":",
            "\"median\": 1.0, \"x\":",
            "expected",
        ),
        (
            "summary.json",
            "\"runs\": 2",
            "\"runs\": 3",
            "groups[0].runs",
        ),
        (
            "summary.json",
            "\"publishable\": false",
            "\"publishable\": true",
            "publishable",
        ),
        (
            "summary.json",
            "\"the plan is not for publication\",",
            "",
            "unpublishable_reasons",
        ),
        (
            "summary.json",
            "\"kernel\": \"test\"",
            "\"kernel\": \"other\"",
            "environment.kernel",
        ),
        (&cell, "\"schema\": 1", "\"schema\": 0", "says no schema"),
        (
            "summary.json",
            "\"schema\": 1",
            "\"schema\": 0",
            "says no schema",
        ),
        (
            "summary.json",
            "\"schema\": 1",
            "\"schema\": 2",
            "newer than this program's 1",
        ),
        (
            "summary.csv",
            "nginx",
            "nginz",
            "not what summary.json renders",
        ),
        (
            "report.md",
            "nginx",
            "nginz",
            "not what summary.json renders",
        ),
        ("plan.yaml", "p99_ms: 10", "p99_ms: 11", "digests.plan"),
        (
            "plan.yaml",
            "comparable: true",
            "comparable: false",
            "comparable",
        ),
        (
            "environment.json",
            "\"test\"",
            "\"other\"",
            "digests.environment",
        ),
        (
            parity.as_str(),
            "\"status\": 200",
            "\"status\": 503",
            "row `plain hello`: expected status 200, got status 503",
        ),
        (&parity, "\"today\"", "\"tomorrow\"", "shapes[0].bytes"),
        (
            "sources/adapters/nginx/adapter.yaml",
            "nginx",
            "other",
            "digests.sources",
        ),
        (
            "sources/adapters/nginx/adapter.yaml",
            "false",
            "true",
            "main_thread_us_per_request",
        ),
        (
            "sources/workloads/hello/workload.yaml",
            "level: 1",
            "level: 2",
            "groups[0].level",
        ),
        ("SHA256SUMS", "0", "1", "altered"),
    ] {
        let dir = fixture::archive();
        edit(dir.path(), file, from, to);
        if file != sums::FILE {
            sum_again(dir.path());
        }
        let report = verify(dir.path(), &smoke());
        let found = report.findings.iter().any(|f| f.what.contains(finding));
        assert!(found, "{file} {from} -> {to}: {:?}", report.findings);
        assert_eq!(report.exit, Some(Exit::Unverified));
    }
}

#[test]
fn a_rendering_that_is_no_text_is_none() {
    for file in ["summary.csv", "report.md"] {
        let dir = fixture::archive();
        let path = dir.path().join(file);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[3] ^= 0x80;
        std::fs::write(&path, bytes).unwrap();
        sum_again(dir.path());
        let report = verify(dir.path(), &smoke());
        let [finding] = &report.findings[..] else {
            panic!("{:?}", report.findings)
        };
        assert_eq!(finding.file, file);
        assert!(finding.what.contains("not what summary.json renders as"));
    }
}

#[test]
fn files_moved_between_cells_or_put_beside_them_are_found() {
    type Alter = fn(&Path);
    let table: [(&str, Alter); 6] = [
        ("expected", |dir| {
            let [a, b] = ["0001-nginx", "0002-express"]
                .map(|n| dir.join(format!("cells/{n}-hello-1000-c32-r1/latency.hlog")));
            let (first, second) = (fs::read(&a).unwrap(), fs::read(&b).unwrap());
            fs::write(a, second).unwrap();
            fs::write(b, first).unwrap();
        }),
        ("another cell", |dir| {
            let cells = dir.join("cells");
            let [a, b] = [
                "0001-nginx-hello-1000-c32-r1",
                "0003-nginx-hello-1000-c32-r2",
            ]
            .map(|n| cells.join(n));
            fs::rename(&a, cells.join("x")).unwrap();
            fs::rename(&b, &a).unwrap();
            fs::rename(cells.join("x"), &b).unwrap();
        }),
        ("cells: expected a list of 3, found a list of 4", |dir| {
            fs::remove_dir_all(dir.join("cells/0001-nginx-hello-1000-c32-r1")).unwrap();
        }),
        ("is in the archive twice", |dir| {
            let cells = dir.join("cells");
            let [from, to] =
                ["0001", "0009"].map(|n| cells.join(format!("{n}-nginx-hello-1000-c32-r1")));
            fs::create_dir(&to).unwrap();
            for file in CELL_FILES {
                fs::copy(from.join(file), to.join(file)).unwrap();
            }
        }),
        ("has no place", |dir| {
            fs::write(dir.join("notes.txt"), "").unwrap()
        }),
        ("has no place", |dir| {
            fs::write(dir.join("cells/0001-nginx-hello-1000-c32-r1/x"), "").unwrap()
        }),
    ];
    for (finding, alter) in table {
        let dir = fixture::archive();
        alter(dir.path());
        sum_again(dir.path());
        let report = verify(dir.path(), &smoke());
        assert!(
            report.findings.iter().any(|f| f.what.contains(finding)),
            "{finding}: {:?}",
            report.findings
        );
    }
}

#[test]
fn what_is_no_finished_archive_is_said_so() {
    let dir = tempfile::tempdir().unwrap();
    assert!(
        verify(dir.path(), &smoke()).findings[0]
            .what
            .contains("not an archive")
    );
    assert!(!verify(&dir.path().join("missing"), &smoke()).ok);
    fixture::begin(dir.path());
    let report = verify(dir.path(), &smoke());
    assert!(
        report.findings[0]
            .what
            .contains("broke off after 1 whole cells")
    );
    assert_eq!((report.id, report.exit), (None, Some(Exit::Unverified)));
    let file = tempfile::NamedTempFile::new().unwrap();
    assert!(!verify(file.path(), &smoke()).ok);
    std::os::unix::fs::symlink("plan.yaml", dir.path().join("link")).unwrap();
    assert!(
        verify(dir.path(), &smoke()).findings[0]
            .what
            .contains("neither file nor folder")
    );
}

#[test]
fn a_tar_cut_or_patched_anywhere_is_found() {
    let dir = fixture::archive();
    let (_tar, path) = tar_of(dir.path());
    let good = fs::read(&path).unwrap();
    for at in (0..good.len()).step_by(997) {
        let mut bad = good.clone();
        bad[at] ^= 4;
        fs::write(&path, bad).unwrap();
        assert!(!verify(&path, &smoke()).ok, "byte {at}");
        fs::write(&path, &good[..at]).unwrap();
        assert!(!verify(&path, &smoke()).ok, "cut at {at}");
    }
}

/// A forger with this very program: changes one field of a cell, derives again, sums again. The fields
/// of which nobody can tell.
fn survivors(dir: &Path, name: &str) -> BTreeSet<String> {
    let file = dir.join(format!("cells/{name}/cell.json"));
    let good: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let planned = Planned::of(&Source::open(dir).unwrap()).unwrap();
    let (mut paths, mut survived) = (Vec::new(), BTreeSet::new());
    leaves("", &good, &mut paths);
    assert!(paths.len() > 100, "{paths:?}");
    for path in paths {
        let mut forged = good.clone();
        let leaf = forged.pointer_mut(&path).unwrap();
        *leaf = another(leaf);
        let source = Source::open(dir).unwrap();
        let cell = Evidence::read(&source, name, &forged)
            .and_then(|evidence| evidence.expected(&mut Sources::of(&source), &planned));
        let Ok(cell) = cell else {
            continue;
        };
        let cell = serde_json::to_value(cell).unwrap();
        let (mut derived, before) = (true, good.pointer(&path).unwrap());
        compare::compare(before, cell.pointer(&path).unwrap(), &mut |_| {
            derived = false
        });
        if derived {
            continue;
        }
        fs::write(&file, cell.to_string()).unwrap();
        let _ = fs::remove_file(dir.join(sums::FILE));
        let archive = archive::Archive::resume(dir).unwrap();
        let read = json::read(&source).unwrap();
        let finished = archive.finish(read.generator, read.holes, vec![]);
        if finished.is_ok() && verify(dir, &smoke()).ok {
            survived.insert(path[1..].replace('/', "."));
        }
    }
    survived
}

#[test]
fn exactly_the_fields_that_the_specification_lists_are_only_observed() {
    let (alone, pair) = (fixture::archive(), fixture::duel());
    let mut survived = survivors(alone.path(), "0001-nginx-hello-1000-c32-r1");
    survived.extend(survivors(pair.path(), "0001-nginx-hello-2000-c32-r1-a"));
    let listed = forge::listed("## Observed only");
    for field in &survived {
        assert!(
            listed.iter().any(|listed| forge::under(field, listed)),
            "{field} is not listed"
        );
    }
    for listed in listed {
        assert!(
            survived.iter().any(|field| forge::under(field, &listed)),
            "{listed} does not survive"
        );
    }
}

#[test]
fn another_version_may_word_its_reasons_and_reports_otherwise() {
    let dir = fixture::archive();
    let reword = |file: &str| {
        edit(
            dir.path(),
            file,
            "pss_kib was not read in load",
            "not read under load",
        );
    };
    for name in Source::open(dir.path()).unwrap().cells() {
        reword(&format!("cells/{name}/cell.json"));
        reword("summary.json");
    }
    edit(
        dir.path(),
        "summary.json",
        "the plan is not for publication",
        "a smoke plan",
    );
    edit(dir.path(), "report.md", "bare pipeline", "pipeline alone");
    sum_again(dir.path());
    assert!(!verify(dir.path(), &smoke()).ok);
    let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    edit(
        dir.path(),
        "summary.json",
        &version,
        "\"version\": \"0.0.9\"",
    );
    sum_again(dir.path());
    assert_eq!(verify(dir.path(), &smoke()).findings, []);
    // But a reason may not vanish.
    edit(dir.path(), "summary.json", "\"a smoke plan\",", "");
    edit(
        dir.path(),
        "summary.json",
        "\"2 s of load; at least 12 s\",",
        "",
    );
    edit(
        dir.path(),
        "summary.json",
        "\"2 repetitions; at least 3\"",
        "",
    );
    sum_again(dir.path());
    assert!(!verify(dir.path(), &smoke()).ok);
}

/// A careless forger: changes one value of one document, and sums again.
#[test]
fn every_value_that_is_changed_alone_is_found() {
    let (alone, pair, search) = (fixture::archive(), fixture::duel(), fixture::sustain());
    for (dir, file, own) in [
        (&search, "summary.json", &["/generator", "/holes"][..]),
        (&alone, "cells/0001-nginx-hello-1000-c32-r1/cell.json", &[]),
        (&alone, "summary.json", &["/generator", "/holes"]),
        (&pair, "summary.json", &["/generator", "/holes"]),
        (
            &pair,
            "cells/0002-express-hello-2000-c32-r1-b/cell.json",
            &[],
        ),
    ] {
        let path = dir.path().join(file);
        let text = fs::read(&path).unwrap();
        let good: Value = serde_json::from_slice(&text).unwrap();
        let mut paths = Vec::new();
        leaves("", &good, &mut paths);
        // One cell and one group stand for all.
        paths.retain(|p| {
            !(p.starts_with("/cells/") || p.starts_with("/groups/")) || p[7..].contains("/0")
        });
        for leaf in paths {
            let mut forged = good.clone();
            let value = forged.pointer_mut(&leaf).unwrap();
            *value = another(value);
            fs::write(&path, forged.to_string()).unwrap();
            sum_again(dir.path());
            let known = own.iter().any(|own| leaf.starts_with(own));
            let report = verify(dir.path(), &smoke());
            assert!(
                known || report.exit == Some(Exit::Unverified),
                "{file}: {leaf}"
            );
        }
        fs::write(&path, text).unwrap();
    }
}
