//! Thousands of random alterations of one archive: each is found, but for those of what the
//! specification lists as observed, and these are found by the id.
//!
//! ```text
//! SHOOTOUT_MUTATIONS=10000 SHOOTOUT_ARCHIVE=DIR cargo test --release --lib random_alterations
//! ```
//!
//! runs so many on a copy of an archive that was really measured.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::super::{Options, verify};
use super::forge::{leaves, listed, smoke, sum_again, under};
use crate::draw::Draw;
use crate::error::Exit;
use crate::record::archive::{Archive, CELL_FILES};
use crate::record::source::Source;
use crate::record::{compare, fixture, hlog, sums};
use crate::report::json;

type Files = BTreeMap<String, Vec<u8>>;

/// What was done, and what of it the specification knows.
struct Alteration {
    what: String,
    files: Files,
    /// Whether the sums were made again.
    summed: bool,
    /// The field of a cell that was changed together with all that is derived from it.
    field: Option<String>,
}

#[test]
fn random_alterations_are_found() {
    let fixture = fixture::archive();
    let from = std::env::var_os("SHOOTOUT_ARCHIVE");
    found_in(from.as_deref().map_or(fixture.path(), Path::new));
}

#[test]
fn random_alterations_of_a_duel_are_found() {
    found_in(fixture::duel().path());
}

#[track_caller]
fn found_in(from: &Path) {
    let count = std::env::var("SHOOTOUT_MUTATIONS").map_or(300, |count| count.parse().unwrap());
    let original = files(from);
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &Files::new(), &original);
    let report = verify(dir.path(), &smoke());
    assert_eq!(report.findings, []);
    let pinned = Options {
        id: report.id,
        ..smoke()
    };
    let known: Vec<String> = ["## Observed only", "## Observed within bounds"]
        .iter()
        .flat_map(|section| listed(section))
        .collect();
    let mut draw = Draw::new("mutations", 7);
    let (mut survived, mut missed) = (BTreeMap::<String, u32>::new(), Vec::new());
    for _ in 0..count {
        let altered = alter(&mut draw, &original, dir.path());
        write(dir.path(), &original, &altered.files);
        if altered.summed {
            sum_again(dir.path());
        }
        let report = verify(dir.path(), &smoke());
        if report.exit != Some(Exit::Unverified) {
            let why = excuse(&altered, &original, &known);
            *survived.entry(why.clone().unwrap_or_default()).or_default() += 1;
            let by_id = verify(dir.path(), &pinned).exit == Some(Exit::Unverified);
            if why.is_none() || !(by_id || altered.files == original) {
                missed.push(altered.what);
            }
        }
        let sums = dir.path().join(sums::FILE);
        fs::write(sums, &original[sums::FILE]).unwrap();
        write(dir.path(), &altered.files, &original);
    }
    eprintln!("{count} alterations; survived without --id: {survived:#?}");
    assert!(missed.is_empty(), "{} missed: {missed:#?}", missed.len());
}

/// Every file with its content.
fn files(dir: &Path) -> Files {
    let source = Source::open(dir).unwrap();
    let read = |path: &str| (path.to_owned(), fs::read(dir.join(path)).unwrap());
    source.files().map(|(path, _)| read(path)).collect()
}

/// Makes a folder hold `to`, knowing that it holds `from`.
fn write(dir: &Path, from: &Files, to: &Files) {
    for path in from.keys().filter(|path| !to.contains_key(*path)) {
        fs::remove_file(dir.join(path)).unwrap();
    }
    for (path, bytes) in to
        .iter()
        .filter(|(path, bytes)| from.get(*path) != Some(bytes))
    {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

fn alter(draw: &mut Draw, original: &Files, dir: &Path) -> Alteration {
    let mut files = original.clone();
    let paths: Vec<&String> = original.keys().collect();
    let mut pick = |of: usize| draw.below(of as u64) as usize;
    let path = paths[pick(paths.len())].clone();
    let kind = pick(10);
    let summed = path != sums::FILE && pick(2) == 1;
    let mut field = None;
    let what = match kind {
        0 | 1 => {
            let bytes = files.get_mut(&path).unwrap();
            if bytes.is_empty() {
                bytes.push(b'x');
            } else {
                let at = pick(bytes.len());
                bytes[at] ^= 1 << pick(8);
            }
            format!("a bit of {path}")
        }
        2 => {
            let bytes = files.get_mut(&path).unwrap();
            bytes.truncate(pick(bytes.len().max(1)));
            format!("{path} cut short")
        }
        3 => {
            files.remove(&path);
            format!("{path} removed")
        }
        4 => {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let name = ["x", "cell.json", "latency.hlog.1", "adapter.yaml"][pick(4)];
            let new = format!("{folder}/{name}");
            let new = new.trim_start_matches('/').to_owned();
            files.entry(new.clone()).or_insert_with(|| b"{}".to_vec());
            format!("{new} added")
        }
        5 => {
            let cells = cells(original);
            let (a, b) = (cells[pick(cells.len())], cells[pick(cells.len())]);
            let which = pick(CELL_FILES.len() + 1);
            for file in CELL_FILES
                .iter()
                .enumerate()
                .filter(|(n, _)| which == *n || which == CELL_FILES.len())
            {
                let [one, two] = [a, b].map(|cell| format!("cells/{cell}/{}", file.1));
                files.insert(one.clone(), original[&two].clone());
                files.insert(two, original[&one].clone());
            }
            format!("files {which} of {a} and {b} swapped")
        }
        6 | 7 => {
            let bytes = files.get_mut(&path).unwrap();
            let digits: Vec<usize> = (0..bytes.len())
                .filter(|at| bytes[*at].is_ascii_digit())
                .collect();
            if let Some(at) = (!digits.is_empty()).then(|| digits[pick(digits.len())]) {
                bytes[at] = b'0' + ((bytes[at] - b'0') as usize + 1 + pick(9)) as u8 % 10;
            }
            format!("a digit of {path}")
        }
        // As this very program would forge it: one value of a cell, and all that follows from it.
        _ => {
            let cells = cells(original);
            let cell = format!("cells/{}/cell.json", cells[pick(cells.len())]);
            let mut document: Value = serde_json::from_slice(&original[&cell]).unwrap();
            let mut all = Vec::new();
            leaves("", &document, &mut all);
            let leaf = &all[pick(all.len())];
            let value = document.pointer_mut(leaf).unwrap();
            *value = forged(value, pick(1000));
            field = Some(leaf[1..].replace('/', "."));
            files.insert(cell.clone(), serde_json::to_vec_pretty(&document).unwrap());
            derive_again(dir, original, &mut files);
            format!("{leaf} of {cell}, and what is derived")
        }
    };
    Alteration {
        what: format!("{what}{}", if summed { ", summed again" } else { "" }),
        summed: summed && field.is_none() && files.contains_key("plan.yaml"),
        files,
        field,
    }
}

/// The names of the folders of cells.
fn cells(files: &Files) -> Vec<&str> {
    let paths = files.keys().filter_map(|path| path.strip_prefix("cells/"));
    paths
        .filter_map(|path| path.strip_suffix("/cell.json"))
        .collect()
}

/// A number that is a little or a lot off; anything else of its kind.
fn forged(value: &Value, how: usize) -> Value {
    match value {
        Value::Number(n) if n.is_f64() => {
            (n.as_f64().unwrap() * (0.5 + how as f64 / 999.0) + 1e-3).into()
        }
        Value::Number(n) => n.as_u64().unwrap_or(0).wrapping_add(1 + how as u64).into(),
        other => super::forge::another(other),
    }
}

/// Summary, renderings and sums of the altered cells; left as they were where the program itself
/// refuses to make them.
fn derive_again(dir: &Path, original: &Files, files: &mut Files) {
    write(dir, original, files);
    let derived = ["summary.json", "summary.csv", "report.md", sums::FILE];
    let summary = json::read(&Source::open(dir).unwrap()).unwrap();
    fs::remove_file(dir.join(sums::FILE)).unwrap();
    let archive = Archive::resume(dir).unwrap();
    let own = summary
        .unpublishable_reasons
        .iter()
        .filter(|reason| reason.starts_with("sources differ"));
    let finished = archive.finish(summary.generator, summary.holes, own.cloned().collect());
    if finished.is_ok() {
        for path in derived {
            files.insert(path.to_owned(), fs::read(dir.join(path)).unwrap());
        }
    }
    let now = self::files(dir);
    write(dir, &now, original);
}

/// Why an alteration may survive: nothing was altered that has a meaning, or only what is observed.
fn excuse(altered: &Alteration, original: &Files, known: &[String]) -> Option<String> {
    if let Some(field) = &altered.field {
        let listed = known.iter().find(|listed| under(field, listed));
        return listed.map(|listed| format!("field {listed}"));
    }
    let mut why = None;
    for (path, bytes) in &altered.files {
        let before = original.get(path)?;
        if before == bytes || path == sums::FILE {
            continue;
        }
        why = Some(meaning(path, before, bytes)?);
    }
    why.or((altered.files.len() == original.len()).then(|| "nothing".to_owned()))
}

/// The same for one file.
fn meaning(path: &str, before: &[u8], after: &[u8]) -> Option<String> {
    let name = path.rsplit('/').next()?;
    match name {
        "target.log" | "images.json" | "parity.json" | "samples.csv" => {
            return Some(name.to_owned());
        }
        "latency.hlog" => {
            let totals = |bytes: &[u8]| hlog::read_totals(std::str::from_utf8(bytes).ok()?).ok();
            return (totals(before) == totals(after)).then(|| "hlog, the same".to_owned());
        }
        _ => {}
    }
    let parse = |bytes: &[u8]| compare::parse(bytes).ok();
    let (mut before, mut after) = (parse(before)?, parse(after)?);
    if path == "summary.json" {
        for own in ["generator", "holes"] {
            before[own].take();
            after[own].take();
        }
    }
    let mut same = true;
    compare::compare(&before, &after, &mut |_| same = false);
    same.then(|| format!("{path}, as equal"))
}
