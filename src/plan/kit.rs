//! The kit's folders, found and read: the only part of `plan` that does so. The folders are the list:
//! no adapter's or workload's name stands in the code.

use std::path::{Path, PathBuf};

use super::adapter::Adapter;
use super::contender::Contender;
use super::names;
use super::published::Published;
use super::spec::Plan;
use super::workload::Workload;
use super::yaml::{Source, Step, Wrong, at};
use crate::error::{Error, Result};

/// A folder of `workloads/` that holds plans.
const PLANS: &str = "plans";
/// A folder of [`PLANS`] that holds what others published of them.
const PUBLISHED: &str = "published";

/// A checkout of the kit.
#[derive(Clone, Debug)]
pub struct Kit {
    /// The folder that holds `adapters`, `workloads` and `docker`.
    pub root: PathBuf,
}

/// One of a list, readable or not: a broken one must not hide the others.
#[derive(Clone, Debug)]
pub struct Entry<T> {
    /// Its folder's or file's name.
    pub name: String,
    /// What it holds, or what is wrong with it.
    pub loaded: Result<T>,
}

impl Kit {
    /// The kit in this folder (`--kit DIR`), or else the one that holds the current folder.
    pub fn find(named: Option<&Path>) -> Result<Self> {
        let advice = "go into a checkout of the kit, or name one with --kit DIR";
        if let Some(dir) = named {
            if is_kit(dir) {
                return Ok(Self {
                    root: dir.to_owned(),
                });
            }
            let what = format!(
                "{} is not a kit: it does not hold adapters, workloads and docker",
                dir.display()
            );
            return Err(Error::usage(what).next(advice));
        }
        let here = std::env::current_dir()
            .map_err(|error| Error::usage(format!("no current folder: {error}")).next(advice))?;
        Self::above(&here).ok_or_else(|| {
            let what = format!(
                "no kit in {} or above it: a folder with adapters, workloads and docker",
                here.display()
            );
            Error::usage(what).next(advice)
        })
    }

    /// The nearest kit at or above a folder.
    fn above(dir: &Path) -> Option<Self> {
        let root = dir.ancestors().find(|dir| is_kit(dir))?;
        Some(Self {
            root: root.to_owned(),
        })
    }

    /// An adapter by its name.
    pub fn adapter(&self, name: &str) -> Result<Adapter> {
        self.load_adapter(name, &self.workload_names()?)
    }

    /// Every adapter, in the order of their names.
    pub fn adapters(&self) -> Result<Vec<Entry<Adapter>>> {
        let workloads = self.workload_names()?;
        let entry = |name: String| Entry {
            loaded: self.load_adapter(&name, &workloads),
            name,
        };
        Ok(self.adapter_names()?.into_iter().map(entry).collect())
    }

    /// A workload by its name.
    pub fn workload(&self, name: &str) -> Result<Workload> {
        let known = || self.workload_names();
        let source = self.source("workload", name, self.workload_file(name), known)?;
        let folder = self.root.join("workloads").join(name);
        Workload::parse(name, &source, &|path| read(&folder.join(path)))
    }

    /// Every workload, in the order of their names.
    pub fn workloads(&self) -> Result<Vec<Entry<Workload>>> {
        let entry = |name: String| Entry {
            loaded: self.workload(&name),
            name,
        };
        Ok(self.workload_names()?.into_iter().map(entry).collect())
    }

    /// A plan by its name in `workloads/plans`, or by its path (anything with a `/`, or that ends in
    /// `.yaml`). What it names exists and is in order.
    pub fn plan(&self, name_or_path: &str) -> Result<Plan> {
        let path = Path::new(name_or_path);
        let is_path = name_or_path.contains('/') || path.extension().is_some_and(|e| e == "yaml");
        if is_path {
            let source = read(path)?;
            return self.named_exists(Plan::parse(&source)?, &source);
        }
        let file = self.plan_file(name_or_path);
        let source = self.source("plan", name_or_path, file, || self.plan_names())?;
        let plan = Plan::parse(&source)?;
        if plan.name != name_or_path {
            let what = format!(
                "name `{}`: expected `{name_or_path}`, as the file",
                plan.name
            );
            return Err(source.wrong(Wrong::new(at!["name"], what)));
        }
        self.named_exists(plan, &source)
    }

    /// Every plan of `workloads/plans`, in the order of their names.
    pub fn plans(&self) -> Result<Vec<Entry<Plan>>> {
        let entry = |name: String| Entry {
            loaded: self.plan(&name),
            name,
        };
        Ok(self.plan_names()?.into_iter().map(entry).collect())
    }

    /// What others published of the plan of this name.
    pub fn published(&self, name: &str) -> Result<Published> {
        let folder = self.root.join("workloads").join(PLANS).join(PUBLISHED);
        let known = || self.published_names();
        let file = folder.join(format!("{name}.yaml"));
        let source = self.source("published table", name, file, known)?;
        let published = Published::parse(&source, |table| read(&folder.join(table)))?;
        let adapters = self.adapter_names()?;
        let is_unknown = |name: &&str| !adapters.iter().any(|known| known == name);
        if let Some(unknown) = published.adapters().find(is_unknown) {
            let wrong = Wrong::new(
                at!["contenders"],
                format!("there is no adapter `{unknown}`"),
            );
            return Err(source.wrong(wrong.next(names::advice(unknown, &adapters))));
        }
        Ok(published)
    }

    /// The plans of which something was published, whether or not they are here yet.
    pub fn published_names(&self) -> Result<Vec<String>> {
        let plans = self.root.join("workloads").join(PLANS);
        yaml_names(&plans.join(PUBLISHED))
    }

    /// The adapters that take part in a plan, each once, in the plan's order.
    pub fn adapters_of(&self, plan: &Plan) -> Result<Vec<Adapter>> {
        let names = plan.adapter_names().into_iter();
        names.map(|name| self.adapter(name)).collect()
    }

    /// The workloads that take part in a plan, each once, in its order.
    pub fn workloads_of(&self, plan: &Plan) -> Result<Vec<Workload>> {
        let names = plan.workload_names().into_iter();
        names.map(|name| self.workload(name)).collect()
    }

    fn load_adapter(&self, name: &str, workloads: &[String]) -> Result<Adapter> {
        let known = || self.adapter_names();
        let source = self.source("adapter", name, self.adapter_file(name), known)?;
        let mut adapter = Adapter::parse(name, &source, workloads)?;
        adapter.dir = self.root.join("adapters").join(name);
        Ok(adapter)
    }

    /// Checks a plan against what there is: adapters, their labels, workloads.
    fn named_exists(&self, plan: Plan, source: &Source) -> Result<Plan> {
        let adapters = self.adapter_names()?;
        let workloads = self.workload_names()?;
        let unknown = |path, what, name: &str, known: &[String]| {
            let wrong = Wrong::new(path, format!("there is no {what} `{name}`"));
            Err(source.wrong(wrong.next(names::advice(name, known))))
        };
        for (path, contender) in contenders(&plan) {
            let name = &contender.adapter;
            if !adapters.contains(name) {
                return unknown(path, "adapter", name, &adapters);
            }
            let adapter = self.load_adapter(name, &workloads)?;
            if let Err(error) = adapter.check_label(&contender.label) {
                return Err(source.wrong(Wrong::new(path, error.what).next(error.next)));
            }
        }
        for (path, name) in named_workloads(&plan) {
            if !workloads.contains(name) {
                return unknown(path, "workload", name, &workloads);
            }
            self.workload(name)?;
        }
        Ok(plan)
    }

    /// Reads something by its name; a name that is none, or has no file, is answered with those there are.
    fn source(
        &self,
        what: &str,
        name: &str,
        file: PathBuf,
        known: impl Fn() -> Result<Vec<String>>,
    ) -> Result<Source> {
        let known = known()?;
        if !known.iter().any(|known| known == name) {
            return Err(Error::usage(format!("there is no {what} `{name}`"))
                .next(names::advice(name, &known)));
        }
        read(&file)
    }

    fn adapter_file(&self, name: &str) -> PathBuf {
        self.root.join("adapters").join(name).join("adapter.yaml")
    }

    fn workload_file(&self, name: &str) -> PathBuf {
        self.root.join("workloads").join(name).join("workload.yaml")
    }

    fn plan_file(&self, name: &str) -> PathBuf {
        let plans = self.root.join("workloads").join(PLANS);
        plans.join(format!("{name}.yaml"))
    }

    fn adapter_names(&self) -> Result<Vec<String>> {
        folders(&self.root.join("adapters"))
    }

    fn workload_names(&self) -> Result<Vec<String>> {
        let mut names = folders(&self.root.join("workloads"))?;
        names.retain(|name| name != PLANS);
        Ok(names)
    }

    fn plan_names(&self) -> Result<Vec<String>> {
        yaml_names(&self.root.join("workloads").join(PLANS))
    }
}

/// The names of the YAML files in a folder, sorted, without their endings; none where there is none.
fn yaml_names(dir: &Path) -> Result<Vec<String>> {
    if !dir.is_dir() {
        return Ok(Vec::new());
    }
    let mut names = entries(dir)?;
    names.retain(|path| path.extension().is_some_and(|e| e == "yaml"));
    Ok(names
        .iter()
        .filter_map(|path| utf8(path.file_stem()?))
        .collect())
}

/// Every contender that a plan names, and where.
fn contenders(plan: &Plan) -> impl Iterator<Item = (Vec<Step>, &Contender)> {
    let listed = plan.adapters.iter().enumerate();
    let listed = listed.map(|(index, who)| (at!["adapters", index], who));
    let canary = plan.canary.iter();
    listed.chain(canary.map(|canary| (at!["canary", "adapter"], &canary.adapter)))
}

/// Every workload that a plan names, and where.
fn named_workloads(plan: &Plan) -> impl Iterator<Item = (Vec<Step>, &String)> {
    let lists = [("workloads", &plan.workloads), ("levels", &plan.levels)];
    let listed = lists.into_iter().flat_map(|(key, names)| {
        let names = names.iter().enumerate();
        names.map(move |(index, name)| (at![key, index], name))
    });
    let canary = plan.canary.iter();
    listed.chain(canary.map(|canary| (at!["canary", "workload"], &canary.workload)))
}

fn is_kit(dir: &Path) -> bool {
    let parts = ["adapters", "workloads", "docker"];
    parts.iter().all(|part| dir.join(part).is_dir())
}

/// The names of the folders in a folder, sorted; hidden ones are no part of the kit.
fn folders(dir: &Path) -> Result<Vec<String>> {
    let mut found = entries(dir)?;
    found.retain(|path| path.is_dir());
    Ok(found
        .iter()
        .filter_map(|path| utf8(path.file_name()?))
        .collect())
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>> {
    let failed = |error: &std::io::Error| Error::io("read", dir, error);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(|error| failed(&error))? {
        let entry = entry.map_err(|error| failed(&error))?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

fn utf8(name: &std::ffi::OsStr) -> Option<String> {
    name.to_str().map(str::to_owned)
}

/// Reads a file that a person wrote.
fn read(path: &Path) -> Result<Source> {
    let place = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::usage(format!("there is no {place}"))
            .next("check the path, which begins in the current folder; `shootout list` shows what the kit has"),
        std::io::ErrorKind::InvalidData => {
            Error::usage(format!("{place} is not UTF-8 text")).next("save it as UTF-8")
        }
        _ => Error::usage(format!("cannot read {place}: {error}"))
            .next("it must be a file that this user may read"),
    })?;
    Ok(Source::new(shown(path), text))
}

/// A path as it is shown: from the current folder where it is below it.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here)
        .unwrap_or(path)
        .display()
        .to_string()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::error::Exit;

    const ADAPTER: &str = "{title: T, language: L, framework: {name: F, version: '1'}, \
        runtime: {name: R, version: '1'}, port: 80, ready: /, workloads: [ok], env: {slow: {A: b}}}";
    const WORKLOAD: &str = "{title: T, level: 1, protocol: http/1.1, \
        requests: [{name: r, path: /, expect: {status: 200}}]}";
    const PLAN: &str = "{name: p, kind: matrix, adapters: [bare, bare@slow], workloads: [ok], \
        rates_rps: [10], connections: 1, repetitions: 1, limits: {target_cpus: 1}}";

    fn write(dir: &TempDir, path: &str, text: &str) {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A throw-away kit with one adapter, one workload and one plan.
    fn kit() -> (TempDir, Kit) {
        let dir = tempfile::tempdir().unwrap();
        write(&dir, "adapters/bare/adapter.yaml", ADAPTER);
        write(&dir, "adapters/README.md", "no adapter");
        write(&dir, "adapters/.hidden/x", "no adapter");
        write(&dir, "workloads/ok/workload.yaml", WORKLOAD);
        write(&dir, "workloads/plans/p.yaml", PLAN);
        write(&dir, "docker/x", "");
        let kit = Kit::find(Some(dir.path())).unwrap();
        (dir, kit)
    }

    #[test]
    fn a_kit_is_found_from_within_and_missed_from_without() {
        let (dir, _) = kit();
        let inner = dir.path().join("adapters/bare");
        assert_eq!(Kit::above(&inner).unwrap().root, dir.path());
        assert!(Kit::above(dir.path().parent().unwrap()).is_none());
        let error = Kit::find(Some(&inner)).unwrap_err();
        assert_eq!(error.exit, Exit::Usage);
        assert!(error.next.contains("--kit DIR"));
    }

    #[test]
    fn the_folders_are_the_list() {
        let (dir, kit) = kit();
        write(&dir, "adapters/another/adapter.yaml", ADAPTER);
        let names = |kit: &Kit| -> Vec<String> {
            let all = kit.adapters().unwrap();
            all.into_iter().map(|entry| entry.name).collect()
        };
        assert_eq!(names(&kit), ["another", "bare"]);
        assert_eq!(
            kit.adapter("another").unwrap().dir,
            dir.path().join("adapters/another")
        );
        assert_eq!(kit.workloads().unwrap().len(), 1, "plans are no workload");
        let plan = kit.plan("p").unwrap();
        assert_eq!(kit.plans().unwrap()[0].loaded.as_ref().unwrap(), &plan);
        assert_eq!(kit.adapters_of(&plan).unwrap().len(), 1);
        assert_eq!(kit.workloads_of(&plan).unwrap()[0].name, "ok");
    }

    #[test]
    fn a_broken_one_does_not_hide_the_others() {
        let (dir, kit) = kit();
        write(&dir, "adapters/broken/adapter.yaml", "title: [");
        write(&dir, "adapters/empty/server.js", "");
        write(&dir, "workloads/broken/workload.yaml", "{}");
        write(&dir, "workloads/plans/broken.yaml", "{}");
        let loaded: Vec<bool> = kit
            .adapters()
            .unwrap()
            .iter()
            .map(|e| e.loaded.is_ok())
            .collect();
        assert_eq!(loaded, [true, false, false]);
        assert!(
            kit.adapter("empty")
                .unwrap_err()
                .what
                .contains("adapter.yaml")
        );
        assert!(kit.workloads().unwrap()[0].loaded.is_err());
        assert!(kit.plans().unwrap()[0].loaded.is_err());
        assert!(kit.plan("p").is_ok());
    }

    #[test]
    fn what_a_plan_names_must_exist() {
        let (dir, kit) = kit();
        let table = [
            (
                "bare,",
                "baer,",
                "there is no adapter `baer`",
                "did you mean `bare`?",
            ),
            (
                "bare@slow",
                "bare@slew",
                "adapter `bare` has no label `slew`",
                "`slow`",
            ),
            (
                "[ok]",
                "[okay]",
                "there is no workload `okay`",
                "there are: ok",
            ),
        ];
        for (good, bad, what, next) in table {
            write(&dir, "q.yaml", &PLAN.replace(good, bad));
            let error = kit
                .plan(dir.path().join("q.yaml").to_str().unwrap())
                .unwrap_err();
            assert_eq!(error.exit, Exit::Usage);
            assert!(
                error.what.contains("q.yaml:1:") && error.what.contains(what),
                "{error}"
            );
            assert!(error.next.contains(next), "{error}");
        }
        write(
            &dir,
            "adapters/bare/adapter.yaml",
            &ADAPTER.replace("[ok]", "[okay]"),
        );
        let error = kit.plan("p").unwrap_err();
        assert!(error.what.contains("adapter.yaml:1:"), "{error}");
    }

    #[test]
    fn what_else_a_duel_names_must_exist() {
        let (dir, kit) = kit();
        let duel = "{name: q, kind: duel, adapters: [bare@slow, bare], workloads: [ok], pairs: 1, \
            rates_rps: [10], connections: 1, metrics: [cpu_us_per_request], limits: {target_cpus: 1},\n";
        for (line, what) in [
            ("canary: {adapter: baer, workload: ok}", "no adapter `baer`"),
            (
                "canary: {adapter: bare@slew, workload: ok}",
                "has no label `slew`",
            ),
            (
                "canary: {adapter: bare, workload: okay}",
                "no workload `okay`",
            ),
            ("levels: [ok, okay]", "no workload `okay`"),
        ] {
            write(&dir, "q.yaml", &format!("{duel}{line}}}"));
            let error = kit
                .plan(dir.path().join("q.yaml").to_str().unwrap())
                .unwrap_err();
            assert!(
                error.what.contains("q.yaml:2:") && error.what.contains(what),
                "{error}"
            );
        }
    }

    #[test]
    fn names_that_are_none_are_answered_with_those_there_are() {
        let (dir, kit) = kit();
        for error in [
            kit.adapter("bear").unwrap_err(),
            kit.adapter("..").unwrap_err(),
            kit.workload("plans").unwrap_err(),
            kit.plan("pp").unwrap_err(),
        ] {
            assert_eq!(error.exit, Exit::Usage);
            assert!(error.next.contains("there are: "), "{error}");
        }
        assert_eq!(kit.plan("none/p.yaml").unwrap_err().exit, Exit::Usage);
        write(&dir, "workloads/plans/other.yaml", PLAN);
        let error = kit.plan("other").unwrap_err();
        assert!(
            error.what.contains("expected `other`, as the file"),
            "{error}"
        );
    }

    #[test]
    fn everything_in_this_kit_reads() {
        let kit = Kit::find(Some(Path::new(env!("CARGO_MANIFEST_DIR")))).unwrap();
        for entry in kit.adapters().unwrap() {
            entry.loaded.unwrap();
        }
        for entry in kit.workloads().unwrap() {
            let workload = entry.loaded.unwrap();
            assert!(!workload.variants().is_empty() && !workload.parity_rows().is_empty());
        }
        for entry in kit.plans().unwrap() {
            let plan = entry.loaded.unwrap();
            let matrix = plan.cells(&kit.adapters_of(&plan).unwrap()).unwrap();
            assert!(!matrix.units.is_empty());
        }
    }
}
