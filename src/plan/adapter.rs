//! `adapters/NAME/adapter.yaml`: what a framework's folder says of itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::names;
use super::request::check_path;
use super::span::Span;
use super::yaml::{Source, Wrong, at};
use crate::error::{Error, Result};

/// A framework, ready to be built and asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adapter {
    /// The folder's name.
    #[serde(skip)]
    pub name: String,
    /// The folder: the build's context.
    #[serde(skip)]
    pub dir: PathBuf,
    /// As it stands in tables.
    pub title: String,
    /// The programming language.
    pub language: String,
    /// The framework as pinned.
    pub framework: Pinned,
    /// What it runs on, as pinned.
    pub runtime: Pinned,
    /// Where it listens, on all addresses of its namespace.
    pub port: u16,
    /// The path that answers 2xx once it is ready.
    pub ready: String,
    /// A target that has not answered by then will not.
    #[serde(default = "a_minute")]
    pub ready_timeout: Span,
    /// The workloads that it serves.
    pub workloads: Vec<String>,
    /// Whether one thread serves, so that its CPU time is a figure of its own.
    #[serde(default)]
    pub main_thread: bool,
    /// Labelled variants of its environment: label -> variable -> value.
    #[serde(default)]
    pub env: BTreeMap<String, BTreeMap<String, String>>,
    /// Paths of its framework's development instruments (debug pages, profilers): none may answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dev_routes: Vec<String>,
    /// The project's page.
    #[serde(default)]
    pub homepage: Option<String>,
    /// Why it cannot be built here; its recipe is kept all the same.
    #[serde(default)]
    pub not_built: Option<String>,
}

/// Something with a version that a lockfile or a package pins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pinned {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

fn a_minute() -> Span {
    Span(Duration::from_secs(60))
}

impl Adapter {
    /// Reads and checks an adapter; `workloads` are those that exist.
    pub fn parse(name: &str, source: &Source, workloads: &[String]) -> Result<Self> {
        let mut adapter: Self = source.parse()?;
        adapter.name = name.to_owned();
        adapter
            .check(workloads)
            .map_err(|wrong| source.wrong(wrong))?;
        Ok(adapter)
    }

    /// Whether it serves this workload.
    pub fn serves(&self, workload: &str) -> bool {
        self.workloads.iter().any(|name| name == workload)
    }

    /// Whether it has this label; the empty one is the adapter as it is. Exit 2 if it has not.
    pub fn check_label(&self, label: &str) -> Result<()> {
        if label.is_empty() || self.env.contains_key(label) {
            return Ok(());
        }
        let labels: Vec<&String> = self.env.keys().collect();
        let what = format!("adapter `{}` has no label `{label}`", self.name);
        Err(Error::usage(what).next(names::advice(label, &labels)))
    }

    fn check(&self, known: &[String]) -> Result<(), Wrong> {
        names::check(&self.name).map_err(|what| {
            Wrong::new(at![], format!("the folder's name: {what}")).next("rename the folder")
        })?;
        for (key, text) in [("title", &self.title), ("language", &self.language)] {
            if text.trim().is_empty() {
                return Err(Wrong::new(at![key], format!("`{key}` is empty")));
            }
        }
        for (key, pinned) in [("framework", &self.framework), ("runtime", &self.runtime)] {
            for (part, text) in [("name", &pinned.name), ("version", &pinned.version)] {
                if text.trim().is_empty() {
                    return Err(Wrong::new(at![key, part], format!("`{part}` is empty")));
                }
            }
        }
        if self.port == 0 {
            return Err(Wrong::new(at!["port"], "port 0: expected 1 to 65535"));
        }
        let plain = self.ready.bytes().all(|b| b.is_ascii_graphic());
        if !self.ready.starts_with('/') || !plain {
            let what = format!("`{}` is not a path: expected one like /", self.ready);
            return Err(Wrong::new(at!["ready"], what));
        }
        if self.ready_timeout.0.is_zero() {
            let what = "a ready_timeout of 0: expected one like 60s";
            return Err(Wrong::new(at!["ready_timeout"], what));
        }
        for (index, route) in self.dev_routes.iter().enumerate() {
            check_path(route).map_err(|what| Wrong::new(at!["dev_routes", index], what))?;
        }
        self.check_workloads(known)?;
        self.check_env()?;
        match &self.not_built {
            Some(reason) if reason.trim().is_empty() => Err(Wrong::new(
                at!["not_built"],
                "`not_built` without a reason: say why it cannot be built",
            )),
            _ => Ok(()),
        }
    }

    fn check_workloads(&self, known: &[String]) -> Result<(), Wrong> {
        if self.workloads.is_empty() {
            return Err(Wrong::new(
                at!["workloads"],
                "no workload: list those that this adapter serves",
            )
            .next(names::advice("", known)));
        }
        let mut seen = BTreeSet::new();
        for (index, name) in self.workloads.iter().enumerate() {
            let path = at!["workloads", index];
            if !known.contains(name) {
                return Err(Wrong::new(path, format!("there is no workload `{name}`"))
                    .next(names::advice(name, known)));
            }
            if !seen.insert(name) {
                return Err(Wrong::new(
                    path,
                    format!("workload `{name}` is listed twice"),
                ));
            }
        }
        Ok(())
    }

    fn check_env(&self) -> Result<(), Wrong> {
        for (label, variables) in &self.env {
            names::check(label).map_err(|what| Wrong::new(at!["env", label], what))?;
            for (variable, value) in variables {
                let mut bytes = variable.bytes();
                let named = bytes
                    .next()
                    .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
                    && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_');
                if !named || value.contains('\0') {
                    let what = format!("`{variable}` is not a variable of an environment");
                    return Err(Wrong::new(at!["env", label, variable], what)
                        .next("env is label -> VARIABLE -> value"));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const EXPRESS: &str = "\
title: Express
language: JavaScript
framework: {name: Express, version: 5.3.0}
runtime: {name: Node.js, version: 24.15.0}
port: 8080
ready: /
workloads: [ok, hello]
main_thread: true
env:
  slow: {SPIN: '400'}
homepage: https://expressjs.com
";

    fn parse(text: &str) -> Result<Adapter> {
        let known = ["hello".to_owned(), "ok".to_owned()];
        Adapter::parse("express", &Source::new("adapter.yaml", text), &known)
    }

    /// An adapter for the tests of other modules.
    pub(in crate::plan) fn adapter(name: &str, workloads: &str) -> Adapter {
        let mut adapter = parse(&EXPRESS.replace("[ok, hello]", workloads)).unwrap();
        adapter.name = name.to_owned();
        adapter
    }

    #[test]
    fn a_good_one_reads_as_written() {
        let adapter = parse(EXPRESS).unwrap();
        assert_eq!(adapter.name, "express");
        assert_eq!(adapter.framework.version, "5.3.0");
        assert_eq!(adapter.env["slow"]["SPIN"], "400");
        assert!(adapter.main_thread && adapter.serves("ok") && !adapter.serves("catalog"));
        assert_eq!(adapter.not_built, None);
        let short = EXPRESS.split("main_thread").next().unwrap();
        let short = parse(short).unwrap();
        assert!(!short.main_thread && short.env.is_empty());
        assert_eq!(short.ready_timeout.to_string(), "60s");
    }

    #[test]
    fn every_mistake_is_refused_at_its_place() {
        let table = [
            ("port: 8080", "port: 0", "5:7: port 0"),
            ("port: 8080", "port: 80800", "5:7: port: invalid value"),
            ("port: 8080", "prot: 8080", "5:1: unknown field `prot`"),
            ("port: 8080\n", "", "1:1: missing field `port`"),
            ("ready: /", "ready: health", "6:8: `health` is not a path"),
            ("ready: /", "ready: /a b", "6:8: `/a b` is not a path"),
            (
                "ready: /",
                "ready: /\nready_timeout: 0s",
                "7:16: a ready_timeout of 0",
            ),
            (
                "[ok, hello]",
                "[ok, helo]",
                "7:17: there is no workload `helo`",
            ),
            (
                "[ok, hello]",
                "[ok, ok]",
                "7:17: workload `ok` is listed twice",
            ),
            ("[ok, hello]", "[]", "7:12: no workload"),
            (
                "homepage:",
                "dev_routes: [debug]\nhomepage:",
                "11:14: `debug` is not a path",
            ),
            ("title: Express", "title: ''", "1:8: `title` is empty"),
            ("version: 5.3.0", "version: ''", "3:37: `version` is empty"),
            ("slow:", "Slow:", "10:9: `Slow` is not a name"),
            ("SPIN:", "1SPIN:", "10:17: `1SPIN` is not a variable"),
            ("'400'", "[400]", "10:16: env.slow.SPIN: invalid type"),
            (
                "'400'",
                "'400', SPIN: '1'",
                "10:23: env.slow: duplicate key `SPIN`",
            ),
            (
                "homepage:",
                "not_built: ' '\nhomepage:",
                "11:12: `not_built` without",
            ),
        ];
        for (good, bad, expected) in table {
            assert!(EXPRESS.contains(good));
            let error = parse(&EXPRESS.replace(good, bad)).unwrap_err();
            let expected = format!("adapter.yaml:{expected}");
            assert!(error.what.starts_with(&expected), "{bad}: {}", error.what);
        }
        let known = ["ok".to_owned()];
        let source = Source::new("adapter.yaml", EXPRESS);
        assert!(Adapter::parse("Express", &source, &known).is_err());
    }
}
