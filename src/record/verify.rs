//! Verification: every number computed again from what the archive holds, without Docker or network.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use crate::error::{Error, Exit, Result};
use crate::parity::drawn;
use crate::plan::cell_seed;
use crate::plan::spec::Arrivals;
use crate::record::archive::{self, CELL_FILES};
use crate::record::planned::Planned;
use crate::record::schema::{Cell, SCHEMA, Summary};
use crate::record::source::Source;
use crate::record::{compare, sums};

mod clocks;
mod design;
mod evidence;
mod sources;
mod summary;
mod times;
mod turns;

use design::{Design, is_alone};
use evidence::Evidence;
use sources::Sources;

/// The most findings that are listed: the first ones say what is wrong.
const MOST: usize = 200;

/// The files beside `cells/` and `sources/`.
const FILES: [&str; 7] = [
    "SHA256SUMS",
    "environment.json",
    "images.json",
    "plan.yaml",
    "report.md",
    "summary.csv",
    "summary.json",
];

/// What is asked of an archive besides being true to itself.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Accept one that is too short to be published.
    pub allow_smoke: bool,
    /// The id that it must have.
    pub id: Option<String>,
}

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Where; empty for the archive as a whole.
    pub file: String,
    /// What, with what was expected and found.
    pub what: String,
}

/// `verify --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Whether all that was asked holds: exit 0.
    pub ok: bool,
    /// The archive's id; null where it is unfinished or none.
    pub id: Option<String>,
    /// Which archive, as it was named.
    pub archive: String,
    /// How many cells it holds.
    pub cells: usize,
    /// What does not hold.
    pub findings: Vec<Finding>,
    /// What this version could not judge, because another one wrote the archive.
    pub unchecked: Vec<String>,
    /// `None` for exit 0, [`Exit::Unverified`] or, for a smoke-length archive, [`Exit::Incomplete`].
    #[serde(skip)]
    pub exit: Option<Exit>,
}

/// Verifies a folder or a tar.
pub fn verify(path: &Path, options: &Options) -> Report {
    let mut check = Check::default();
    let summary = check.all(path, options);
    if let Err(Error { what, .. }) = &summary {
        check.find("", what);
    }
    let mut exit = (!check.findings.is_empty()).then_some(Exit::Unverified);
    if let (None, Ok(Some(summary))) = (exit, &summary)
        && !summary.publishable
        && !options.allow_smoke
    {
        exit = Some(Exit::Incomplete);
        let why = summary.unpublishable_reasons.join("; ");
        check.find(
            "plan.yaml",
            &format!("not for publication ({why}); --allow-smoke accepts it"),
        );
    }
    Report {
        ok: exit.is_none(),
        id: check.id,
        archive: path.display().to_string(),
        cells: check.cells,
        findings: check.findings,
        unchecked: check.unchecked,
        exit,
    }
}

#[derive(Default)]
struct Check {
    id: Option<String>,
    cells: usize,
    /// Whether this very version wrote it, so that its sentences and renderings are known to the letter.
    same_version: bool,
    unchecked: Vec<String>,
    findings: Vec<Finding>,
}

impl Check {
    fn find(&mut self, file: &str, what: &str) {
        if self.findings.len() < MOST {
            self.findings.push(Finding {
                file: file.to_owned(),
                what: what.to_owned(),
            });
        }
    }

    /// The value, or its error as a finding.
    fn expect<T>(&mut self, file: &str, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.find(file, &error.what)).ok()
    }

    /// In order of trust: the bytes, the version, the cells, what was made of them.
    fn all(&mut self, path: &Path, options: &Options) -> Result<Option<Summary>> {
        let source = Source::open(path)?;
        self.cells = source.cells().len();
        self.id = source.id();
        let Some(id) = self.id.clone() else {
            self.unfinished(&source);
            return Ok(None);
        };
        if let Some(expected) = options.id.as_ref().filter(|expected| **expected != id) {
            self.find(
                sums::FILE,
                &format!("the archive's id is {id}, expected {expected}"),
            );
        }
        self.sums(&source);
        self.layout(&source);
        let Some(found) = self.document(&source, "summary.json") else {
            return Ok(None);
        };
        if let Some(other) = other_schema(&found) {
            self.find("summary.json", &other);
            return Ok(None);
        }
        self.written_by(&found);
        let design = self.design(&source);
        let cells = self.cells(&source, design.as_ref());
        Ok(self.summary(&source, found, cells, design.as_ref()))
    }

    /// Whether this very version wrote a document that says its generator.
    fn written_by(&mut self, document: &Value) {
        let version = document
            .pointer("/generator/version")
            .and_then(Value::as_str);
        let own = env!("CARGO_PKG_VERSION");
        self.same_version = version == Some(own);
        if !self.same_version {
            self.unchecked.push(format!(
                "plan, parity, wording and renderings: version {} wrote them, and this is {own}",
                version.unwrap_or("unknown")
            ));
        }
    }

    /// What the plan comes to, where this version can know.
    fn design(&mut self, source: &Source) -> Option<Design> {
        if !self.same_version {
            return None;
        }
        self.expect("", Design::of(source))
    }

    /// What is whole of a run that broke off, and whether it holds.
    fn unfinished(&mut self, source: &Source) {
        if !source.has("plan.yaml") {
            return self.find(sums::FILE, "missing: this is not an archive");
        }
        let environment = source.read("environment.json");
        if let Ok(environment) = environment.and_then(|bytes| compare::parse(&bytes)) {
            self.written_by(&environment);
        }
        let design = self.design(source);
        let whole = self.cells(source, design.as_ref()).unwrap_or_default();
        let last = whole.last().map_or("none", |(folder, _)| folder);
        let (all, hold) = (source.cells().len(), whole.len());
        let broken = match self.findings.len() {
            0 => "they hold".to_owned(),
            _ => format!("{hold} of them can be recomputed"),
        };
        self.find(
            sums::FILE,
            &format!(
                "missing: the run broke off after {all} whole cells, the last {last}; {broken}; \
                 `shootout run --resume DIR` goes on"
            ),
        );
    }

    /// Nothing altered, nothing missing, nothing unlisted.
    fn sums(&mut self, source: &Source) {
        let text = source.text(sums::FILE).and_then(|text| sums::read(&text));
        let Some(listed) = self.expect(sums::FILE, text) else {
            return;
        };
        for (path, sum) in &listed {
            match source.sha256(path) {
                Ok(found) if found == *sum => {}
                Ok(_) => self.find(path, "altered: its SHA-256 is not the listed one"),
                Err(error) => self.find(path, &error.what),
            }
        }
        for (path, _) in source.files() {
            if path != sums::FILE && !listed.contains_key(path) {
                self.find(path, "not listed in SHA256SUMS");
            }
        }
    }

    /// Every file has a place in the format, and every place its file.
    fn layout(&mut self, source: &Source) {
        let cells = source.cells();
        let mut places: BTreeSet<String> = FILES.map(str::to_owned).into();
        places.extend(
            cells
                .iter()
                .flat_map(|name| CELL_FILES.map(|file| format!("cells/{name}/{file}"))),
        );
        for path in places.iter().filter(|path| !source.has(path)) {
            self.find(path, "missing");
        }
        for (path, _) in source.files() {
            if !path.starts_with("sources/") && !places.contains(path) {
                self.find(path, "has no place in an archive");
            }
        }
        self.document(source, "images.json");
    }

    fn document(&mut self, source: &Source, path: &str) -> Option<Value> {
        let value = source.read(path).and_then(|bytes| compare::parse(&bytes));
        self.expect(path, value)
    }

    /// Every cell as its evidence says it is, with its folder's name.
    fn cells<'a>(
        &mut self,
        source: &'a Source,
        design: Option<&Design>,
    ) -> Option<Vec<(&'a str, Cell)>> {
        let planned = Planned::of(source);
        let planned = self.expect("plan.yaml", planned)?;
        let digests = archive::digests(source);
        let digests = self.expect("", digests)?;
        let environment = self.document(source, "environment.json");
        let arch = environment
            .as_ref()
            .and_then(|environment| environment.pointer("/host/arch")?.as_str());
        let mut sources = Sources::of(source);
        let (mut cells, mut keys) = (Vec::new(), BTreeSet::new());
        for name in source.cells() {
            let path = format!("cells/{name}/cell.json");
            let Some(found) = self.document(source, &path) else {
                continue;
            };
            let evidence = match other_schema(&found) {
                Some(other) => Err(Error::unverified(other)),
                None => Evidence::read(source, name, &found),
            };
            let Some(evidence) = self.expect(&path, evidence) else {
                continue;
            };
            let expected = evidence.expected(&mut sources, &planned);
            let Some(mut cell) = self.expect(&path, expected) else {
                continue;
            };
            cell.digests.extend(digests.clone());
            if !cell.load.ledger.balances() {
                self.find(&path, "ledger: its outcomes do not add up to scheduled");
            }
            let number = name
                .split('-')
                .next()
                .and_then(|number| number.parse().ok());
            if number.is_none_or(|number| archive::cell_name(number, &cell.key) != name) {
                self.find(&path, "is of another cell than its folder's name says");
            }
            if !keys.insert(cell.key.clone()) {
                self.find(&path, "is in the archive twice");
            }
            if arch.is_some_and(|arch| arch != cell.arch) {
                self.find(&path, "arch: not the one of environment.json");
            }
            self.compare(&path, &cell, &found);
            self.contradictions(name, &cell, &evidence, design);
            self.parity(name, &cell, &evidence, &mut sources, design);
            cells.push((name, cell));
        }
        for Finding { file, what } in turns::findings(source, &planned, &cells) {
            self.find(&file, &what);
        }
        Some(cells)
    }

    /// What in a cell can't be of one measurement, or of this plan's.
    fn contradictions(
        &mut self,
        name: &str,
        cell: &Cell,
        evidence: &Evidence,
        design: Option<&Design>,
    ) {
        let Evidence {
            rows,
            totals,
            transcript,
            ..
        } = evidence;
        let poisson = design.is_some_and(|design| design.plan.arrivals == Arrivals::Poisson);
        let mut find = |file: &str, what: String| self.find(&format!("cells/{name}/{file}"), &what);
        clocks::check(cell, rows, totals, poisson, &mut find);
        times::check(cell, rows, totals, transcript, &mut find);
        let conditions = design.map(|design| design.conditions(cell));
        conditions
            .into_iter()
            .flatten()
            .for_each(|what| find("cell.json", what));
    }

    /// Judges a cell's proofs again. Only this very version is known to read workloads as the run did.
    fn parity(
        &mut self,
        name: &str,
        cell: &Cell,
        evidence: &Evidence,
        sources: &mut Sources,
        design: Option<&Design>,
    ) {
        if !self.same_version {
            return;
        }
        let path = format!("cells/{name}/parity.json");
        let dev_routes = match sources.adapter(&cell.key.adapter) {
            Ok(adapter) => adapter.dev_routes.clone(),
            Err(error) => return self.find(&path, &error.what),
        };
        let workload = match sources.workload(&cell.key.workload) {
            Ok(workload) => workload,
            Err(error) => return self.find(&path, &error.what),
        };
        let found = &evidence.transcript;
        let mut judged = found.clone();
        judged.judge(workload, &dev_routes);
        if let Some(failure) = judged.first_failure() {
            self.find(&path, &failure);
        }
        if judged != *found {
            self.find(&path, "failures: not those that its exchanges show");
        }
        if let Some(design) = design.filter(|_| is_alone(&cell.key)) {
            let seed = cell_seed(&cell.key, design.plan.seed);
            let ledger = &cell.load.ledger;
            if let Some(what) = drawn::differs(found, workload, &dev_routes, seed, ledger) {
                self.find(&path, &what);
            }
        }
    }

    fn compare(&mut self, file: &str, expected: &impl Serialize, found: &Value) {
        let mut expected = match serde_json::to_value(expected) {
            Ok(expected) => expected,
            Err(error) => return self.find(file, &error.to_string()),
        };
        let silenced = (!self.same_version).then(|| {
            let mut found = found.clone();
            without_prose(&mut expected);
            without_prose(&mut found);
            found
        });
        let found = silenced.as_ref().unwrap_or(found);
        compare::compare(&expected, found, &mut |what| self.find(file, &what));
    }
}

/// Leaves of reasons only which there are: another version may put the same one otherwise.
fn without_prose(document: &mut Value) {
    let silence = |value: &mut Value| match value {
        Value::String(text) => text.clear(),
        other => without_prose(other),
    };
    match document {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::Object(reasons) if key == "nulls" => {
                        reasons.values_mut().for_each(silence)
                    }
                    Value::Array(reasons) if key.ends_with("_reasons") => {
                        reasons.iter_mut().for_each(silence);
                    }
                    Value::Array(findings) if key == "guards" => {
                        let prose = findings.iter_mut().flat_map(|found| {
                            let fields = found.as_object_mut().into_iter().flatten();
                            fields.filter(|(name, _)| matches!(name.as_str(), "what" | "fix"))
                        });
                        prose.for_each(|(_, text)| silence(text));
                    }
                    reason @ Value::String(_) if key == "reason" => silence(reason),
                    other => without_prose(other),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(without_prose),
        _ => {}
    }
}

/// Refuses what a newer program wrote: its meaning is not known here.
fn other_schema(document: &Value) -> Option<String> {
    match document.get("schema").and_then(Value::as_u64) {
        Some(schema) if schema > u64::from(SCHEMA) => Some(format!(
            "is of schema {schema}, newer than this program's {SCHEMA}: verify it with a newer shootout"
        )),
        Some(1..) => None,
        _ => Some("says no schema: not a document of an archive".into()),
    }
}

#[cfg(test)]
mod tests;
