//! What verification needs of the plan and the sources inside an archive, read on its own, so that an
//! archive stays verifiable however the program reads plans later.

use std::collections::BTreeMap;

use serde_yaml::Value;

use crate::error::{Error, Result};
use crate::record::derive::Given;
use crate::record::schema::{Cell, CellKey, Group};
use crate::record::source::Source;
use crate::record::{bounds, compare};
use crate::stats::groups::{self, Run};
use crate::stats::judge::Healthy;

/// A plan is publishable only with at least this much load.
const LEAST_LOAD_S: f64 = 12.0;
/// And this many repetitions, each with a valid run.
const LEAST_RUNS: u32 = 3;
/// Of bytes per response, where a workload says none.
const TOLERANCE: f64 = 0.5;
/// A duel has pairs instead.
const LEAST_PAIRS: u32 = 6;

/// The plan's part in what was computed.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The whole plan, as it stands in `summary.json`.
    pub plan: serde_json::Value,
    /// Its bounds on a healthy target.
    pub healthy: Healthy,
    /// False where a limit was changed by hand.
    pub comparable: bool,
    /// Of every draw.
    pub seed: u64,
    /// How long the load of an open loop lasts on the clock; `None` where the plan does not say.
    open_ns: Option<u64>,
    /// The same of the closed loop that capacity is measured in.
    closed_ns: Option<u64>,
    /// Fewest valid runs of a group; 0 where the plan's own count is reason enough, or counts pairs.
    least_runs: u32,
    /// Why such a plan can't be published, whatever it measured; empty where it can.
    too_small: Vec<String>,
}

impl Planned {
    /// From an archive's `plan.yaml`.
    pub fn of(source: &Source) -> Result<Self> {
        let text = bounds::yaml(source, "plan.yaml");
        text.and_then(|text| Self::read(&text))
            .map_err(|e| e.at("plan.yaml"))
    }

    /// From the text of `plan.yaml`.
    pub fn read(text: &str) -> Result<Self> {
        let bad = |what: String| Error::unverified(what);
        let yaml: Value = serde_yaml::from_str(text).map_err(|e| bad(format!("not YAML: {e}")))?;
        let plan = serde_json::to_value(&yaml)
            .map_err(|e| bad(format!("holds what JSON has no form for: {e}")))?;
        let healthy = yaml.get("healthy").cloned().unwrap_or_default();
        let healthy = serde_yaml::from_value(healthy)
            .map_err(|e| bad(format!("healthy: expected coverage and p99_ms: {e}")))?;
        Ok(Self {
            plan,
            healthy,
            comparable: yaml
                .get("comparable")
                .and_then(Value::as_bool)
                .unwrap_or(true),
            seed: yaml.get("seed").and_then(Value::as_u64).unwrap_or(1),
            open_ns: load_ns(&yaml, "phases"),
            closed_ns: load_ns(&yaml, "capacity"),
            least_runs: if count(&yaml, "repetitions") < u64::from(LEAST_RUNS) {
                0
            } else {
                LEAST_RUNS
            },
            too_small: too_small(&yaml),
        })
    }

    /// What a cell's figures need of the plan and of its adapter.
    pub fn given(&self, source: &Source, key: &CellKey) -> Result<Given> {
        Ok(Given {
            healthy: self.healthy,
            main_thread: main_thread(source, &key.adapter)?,
            load_ns: self.load_ns(key),
        })
    }

    /// How long a cell's load lasts on the clock; `None` where the plan does not say.
    pub fn load_ns(&self, key: &CellKey) -> Option<u64> {
        if key.r#loop == "closed" {
            self.closed_ns
        } else {
            self.open_ns
        }
    }

    /// Whether slots are laid evenly in time.
    pub fn is_uniform(&self) -> bool {
        let arrivals = self.plan.get("arrivals");
        arrivals.is_none_or(|arrivals| arrivals == "uniform")
    }

    /// Why what came of the plan can't be published; a run adds what only it knows.
    pub fn unpublishable(&self, groups: &[Group]) -> Vec<String> {
        let thin = groups
            .iter()
            .filter(|group| group.valid_runs < self.least_runs);
        let thin = thin.map(|group| {
            let Group {
                adapter,
                label,
                workload,
                valid_runs,
                ..
            } = group;
            let of = if label.is_empty() {
                adapter.clone()
            } else {
                format!("{adapter} [{label}]")
            };
            format!(
                "{of} has {valid_runs} valid runs of {workload}; at least {}",
                self.least_runs
            )
        });
        self.too_small.iter().cloned().chain(thin).collect()
    }
}

/// All that an archive's own files say of its run. Its holes, its generator and its other reasons
/// against publication are known to the run alone.
pub fn run(source: &Source, cells: &[Cell]) -> Result<Run> {
    let at = |path: &'static str| move |e: Error| e.at(path);
    let planned = Planned::of(source)?;
    let environment = source
        .read("environment.json")
        .map_err(at("environment.json"))?;
    let (mut levels, mut tolerances) = (BTreeMap::new(), BTreeMap::new());
    for cell in cells {
        let workload = &cell.key.workload;
        if !levels.contains_key(workload) {
            levels.insert(workload.clone(), level(source, workload)?);
            tolerances.insert(workload.clone(), tolerance(source, workload)?);
        }
    }
    Ok(Run {
        environment: compare::parse(&environment).map_err(at("environment.json"))?,
        unpublishable_reasons: planned.unpublishable(&groups::groups(cells, &levels)),
        plan: planned.plan,
        levels,
        tolerances,
        comparable: planned.comparable,
        ..Run::default()
    })
}

fn too_small(plan: &Value) -> Vec<String> {
    let mut reasons = Vec::new();
    if plan.get("publishable").and_then(Value::as_bool) != Some(true) {
        reasons.push("the plan is not for publication".to_owned());
    }
    let load = plan.get("phases").and_then(|phases| phases.get("load"));
    match load.and_then(seconds) {
        Some(load_s) if load_s >= LEAST_LOAD_S => {}
        Some(load_s) => reasons.push(format!("{load_s} s of load; at least {LEAST_LOAD_S} s")),
        None if kind(plan) == Some("closed") => {}
        None => reasons.push("the plan says no length of load".to_owned()),
    }
    let duel = kind(plan) == Some("duel");
    let (key, least) = if duel {
        ("pairs", LEAST_PAIRS)
    } else {
        ("repetitions", LEAST_RUNS)
    };
    let count = count(plan, key);
    if count < u64::from(least) {
        reasons.push(format!("{count} {key}; at least {least}"));
    }
    reasons
}

fn count(plan: &Value, key: &str) -> u64 {
    plan.get(key).and_then(Value::as_u64).unwrap_or_default()
}

fn kind(plan: &Value) -> Option<&str> {
    plan.get("kind")?.as_str()
}

/// A number of seconds, or a text like `60s`, `1500ms`, `2m`.
fn seconds(value: &Value) -> Option<f64> {
    if let Some(text) = value.as_str() {
        let unit = text
            .find(|c: char| c.is_ascii_alphabetic())
            .unwrap_or(text.len());
        let factor = match text[unit..].trim() {
            "" | "s" => 1.0,
            "ms" => 1e-3,
            "us" => 1e-6,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        return text[..unit].trim().parse::<f64>().ok().map(|n| n * factor);
    }
    value.as_f64()
}

/// The `load` of one of the plan's parts.
fn load_ns(plan: &Value, part: &str) -> Option<u64> {
    let load = plan.get(part).and_then(|part| part.get("load"));
    load.and_then(seconds).map(|s| (s * 1e9).round() as u64)
}

/// Whether the adapter says that one thread serves.
pub fn main_thread(source: &Source, adapter: &str) -> Result<bool> {
    let path = format!("sources/adapters/{adapter}/adapter.yaml");
    let adapter = yaml(source, &path)?;
    Ok(adapter
        .get("main_thread")
        .and_then(Value::as_bool)
        .unwrap_or(false))
}

/// A workload's level of equity.
pub fn level(source: &Source, workload: &str) -> Result<u32> {
    let path = format!("sources/workloads/{workload}/workload.yaml");
    let level = yaml(source, &path)?.get("level").and_then(Value::as_u64);
    level
        .and_then(|level| u32::try_from(level).ok())
        .ok_or_else(|| Error::unverified(format!("{path}: has no level")))
}

/// How far from the median a workload lets bytes per response be.
fn tolerance(source: &Source, workload: &str) -> Result<f64> {
    let path = format!("sources/workloads/{workload}/workload.yaml");
    let yaml = yaml(source, &path)?;
    let bytes = yaml
        .get("tolerance")
        .and_then(|tolerance| tolerance.get("bytes"));
    Ok(bytes.and_then(Value::as_f64).unwrap_or(TOLERANCE))
}

fn yaml(source: &Source, path: &str) -> Result<Value> {
    let text = bounds::yaml(source, path).map_err(|e| e.at(path))?;
    serde_yaml::from_str(&text).map_err(|e| Error::unverified(format!("{path}: not YAML: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_plan_may_not_publish() {
        let plan = |extra: &str| {
            Planned::read(&format!(
                "name: x\nhealthy: {{coverage: 0.99, p99_ms: 10}}\n{extra}"
            ))
        };
        let long = "publishable: true\nrepetitions: 3\n";
        for (extra, reasons) in [
            (format!("{long}phases: {{load: 60s}}"), 0),
            (format!("{long}phases: {{load: 12}}"), 0),
            (format!("{long}phases: {{load: 11900ms}}"), 1),
            (format!("{long}phases: {{load: long}}"), 1),
            (
                "publishable: false\nrepetitions: 2\nphases: {load: 1s}".into(),
                3,
            ),
            (
                "kind: duel\npublishable: true\npairs: 5\nphases: {load: 1m}".into(),
                1,
            ),
        ] {
            let planned = plan(&extra).unwrap();
            assert_eq!(
                planned.too_small.len(),
                reasons,
                "{extra}: {:?}",
                planned.too_small
            );
            assert!(planned.comparable);
        }
        assert!(!plan("comparable: false").unwrap().comparable);
        for broken in [
            "name: x",
            "healthy: 3",
            "a: 1\na: 2",
            "? [1]\n: 2",
            ":\n- {",
        ] {
            assert!(Planned::read(broken).is_err(), "{broken}");
        }
    }
}
