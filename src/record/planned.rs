//! What verification needs of the plan and the sources inside an archive, read on its own, so that an
//! archive stays verifiable however the program reads plans later.

use std::collections::BTreeMap;

use serde_yaml::Value;

use crate::error::{Error, Result};
use crate::record::derive::Given;
use crate::record::schema::{Cell, CellKey, Group};
use crate::record::source::Source;
use crate::record::{bounds, compare};
use crate::stats::claim::SMALLEST_EFFECT;
use crate::stats::duel::{DuelRules, Pairing};
use crate::stats::groups::{self, Run};
use crate::stats::judge::Healthy;
use crate::stats::metric::metric;
use crate::stats::sustain::SustainRules;

mod sustain;

/// A plan is publishable only with at least this much load.
const LEAST_LOAD_S: f64 = 12.0;
/// And this many repetitions, each with a valid run.
const LEAST_RUNS: u32 = 3;
/// Of bytes per response, where a workload says none.
const TOLERANCE: f64 = 0.5;
/// A duel has pairs instead, each valid.
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
    /// What it fixed of its verdicts, where it is a duel.
    pub duel: Option<DuelRules>,
    /// What it fixed of its search, where it looks for sustained rates.
    pub sustain: Option<SustainRules>,
    /// Fewest valid runs of a group, in a duel's pairs; 0 where the plan's own count is reason enough.
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
        if points(&yaml).is_none_or(|points| points > bounds::CELLS) {
            return Err(bad(format!("more than {} cells", bounds::CELLS)));
        }
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
            duel: (kind(&yaml) == Some("duel"))
                .then(|| duel(&yaml))
                .transpose()?,
            sustain: (kind(&yaml) == Some("sustain"))
                .then(|| sustain::rules(&yaml))
                .transpose()?,
            least_runs: {
                let (key, least) = counted(&yaml);
                // A search has as many trials of each rate as it needs.
                if key == "trials" || count(&yaml, key) < u64::from(least) {
                    0
                } else {
                    least
                }
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
        // A pair's closed loop has a length of its own.
        if key.r#loop == "closed" && key.pair.is_some() {
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
        // A duel's series have the published experiments' own counts.
        let counts = |group: &&Group| self.duel.is_none() || !group.sides.is_empty();
        let thin = groups
            .iter()
            .filter(counts)
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
    let measured = cells.iter().map(|cell| &cell.key.workload);
    // A verdict says its level though nothing was measured.
    let judged = planned.duel.iter().flat_map(|rules| &rules.workloads);
    let kept = |workload: &&String| source.has(&workload_file(workload));
    for workload in measured.chain(judged.filter(kept)) {
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
        duel: planned.duel,
        images: match planned.sustain {
            Some(_) => sustain::image_sizes(source).map_err(at("images.json"))?,
            None => BTreeMap::new(),
        },
        sustain: planned.sustain,
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
    let (key, least) = counted(plan);
    let count = count(plan, key);
    if count < u64::from(least) {
        reasons.push(format!("{count} {key}; at least {least}"));
    }
    reasons
}

/// What is repeated, and how often at least.
fn counted(plan: &Value) -> (&'static str, u32) {
    match kind(plan) {
        Some("duel") => ("pairs", LEAST_PAIRS),
        Some("sustain") => ("trials", LEAST_RUNS),
        _ => ("repetitions", LEAST_RUNS),
    }
}

/// What a duel fixed before anything was measured.
fn duel(plan: &Value) -> Result<DuelRules> {
    let bad = |key: &str, what: &str| Error::unverified(format!("{key}: expected {what}"));
    let texts = |key: &str| {
        let list = plan.get(key).and_then(Value::as_sequence);
        let texts = list.into_iter().flatten().map(Value::as_str);
        let texts: Option<Vec<String>> = texts.map(|text| text.map(str::to_owned)).collect();
        texts.ok_or_else(|| bad(key, "a list of names"))
    };
    let mut contenders = texts("adapters")?;
    let reference = match plan.get("reference").map(Value::as_str) {
        Some(reference) => reference.map(str::to_owned),
        None => contenders.last().cloned(),
    };
    let reference = reference.ok_or_else(|| bad("reference", "the name of an adapter"))?;
    contenders.retain(|contender| *contender != reference);
    let metrics = texts("metrics")?;
    if metrics.iter().any(|name| metric(name).is_none()) {
        return Err(bad("metrics", "names of metrics that this program knows"));
    }
    // One number of connections is written without a list.
    let connections = plan.get("connections").unwrap_or(&Value::Null);
    let connections = connections.get(0).unwrap_or(connections).as_u64();
    let capacity = plan
        .get("capacity")
        .and_then(|capacity| capacity.get("connections"));
    let small = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    let pairing = plan.get("pairing").and_then(Value::as_str);
    Ok(DuelRules {
        contenders,
        reference,
        metrics,
        workloads: texts("workloads")?,
        rates: counts(plan.get("rates_rps")),
        connections: small(connections.unwrap_or_default()),
        capacity_connections: counts(capacity).into_iter().map(small).collect(),
        pairs: small(count(plan, "pairs")),
        null: small(count(plan, "null")),
        series: small(count(plan, "series")),
        smallest_effect: plan
            .get("smallest_effect")
            .and_then(Value::as_f64)
            .unwrap_or(SMALLEST_EFFECT),
        pairing: Pairing {
            interleaved: pairing != Some("series"),
            series: matches!(pairing, Some("series" | "both")),
        },
    })
}

/// How many figures a plan asks for at the very most, before it is repeated.
fn points(plan: &Value) -> Option<u64> {
    let lists = [
        "adapters",
        "workloads",
        "rates_rps",
        "connections",
        "metrics",
    ];
    let lists = lists.map(|key| plan.get(key));
    let capacity = plan
        .get("capacity")
        .and_then(|capacity| capacity.get("connections"));
    let lengths = lists.into_iter().chain([capacity]).map(|list| {
        let length = list.and_then(Value::as_sequence).map_or(1, Vec::len);
        length.max(1) as u64
    });
    lengths
        .into_iter()
        .try_fold(1u64, |product, length| product.checked_mul(length))
}

/// The numbers of a list.
fn counts(list: Option<&Value>) -> Vec<u64> {
    let list = list.and_then(Value::as_sequence);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_u64)
        .collect()
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

fn workload_file(workload: &str) -> String {
    format!("sources/workloads/{workload}/workload.yaml")
}

/// A workload's level of equity.
pub fn level(source: &Source, workload: &str) -> Result<u32> {
    let path = workload_file(workload);
    let level = yaml(source, &path)?.get("level").and_then(Value::as_u64);
    level
        .and_then(|level| u32::try_from(level).ok())
        .ok_or_else(|| Error::unverified(format!("{path}: has no level")))
}

/// How far from the median a workload lets bytes per response be.
fn tolerance(source: &Source, workload: &str) -> Result<f64> {
    let path = workload_file(workload);
    let yaml = yaml(source, &path)?;
    let bytes = yaml
        .get("tolerance")
        .and_then(|tolerance| tolerance.get("bytes"));
    Ok(bytes.and_then(Value::as_f64).unwrap_or(TOLERANCE))
}

/// One of an archive's YAML files, read without its meaning.
pub(super) fn yaml(source: &Source, path: &str) -> Result<Value> {
    let text = bounds::yaml(source, path).map_err(|e| e.at(path))?;
    serde_yaml::from_str(&text).map_err(|e| Error::unverified(format!("{path}: not YAML: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_a_load_lasts_depends_on_its_loop() {
        let healthy = "healthy: {coverage: 0.99, p99_ms: 10}\n";
        for (plan, open_ns, closed_ns) in [
            ("phases: {load: 1.5}", Some(1_500_000_000), None),
            (
                "phases: {load: 20s}\ncapacity: {connections: [25], load: 0.3}",
                Some(20_000_000_000),
                Some(300_000_000),
            ),
            ("phases: {load: long}", None, None),
            ("phases: {load: .nan}", Some(0), None),
        ] {
            let planned = Planned::read(&format!("{healthy}{plan}")).unwrap();
            let of = |r#loop: &str| {
                planned.load_ns(&CellKey {
                    r#loop: r#loop.into(),
                    pair: Some(1),
                    ..CellKey::default()
                })
            };
            assert_eq!((of("open"), of("closed")), (open_ns, closed_ns), "{plan}");
        }
    }

    #[test]
    fn what_a_plan_may_not_publish() {
        let plan = |extra: &str| Planned::read(&format!("name: x\n{HEALTHY}{extra}"));
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
                DUEL.replace(HEALTHY, "").replace("pairs: 12", "pairs: 5"),
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

    const HEALTHY: &str = "healthy: {coverage: 0.99, p99_ms: 10}\n";

    const DUEL: &str = "\
kind: duel
healthy: {coverage: 0.99, p99_ms: 10}
adapters: [x, y@slow, z]
workloads: [ok, served]
rates_rps: [1000, 4000]
connections: 32
metrics: [cpu_us_per_request, response_p50_us, capacity_rps]
capacity: {connections: [25, 50, 100], load: 4s}
pairs: 12
'null': 6
publishable: true
phases: {load: 20s}
";

    #[test]
    fn what_a_duel_fixed() {
        let duel = |text: &str| Planned::read(text).unwrap().duel.unwrap();
        let rules = duel(DUEL);
        assert_eq!(
            (rules.contenders.join(" "), rules.reference.as_str()),
            ("x y@slow".into(), "z")
        );
        assert_eq!(
            (rules.workloads.join(" "), rules.rates.as_slice()),
            ("ok served".into(), &[1000, 4000][..])
        );
        assert_eq!(
            (rules.connections, rules.capacity_connections.as_slice()),
            (32, &[25, 50, 100][..])
        );
        assert_eq!(
            (rules.pairs, rules.null, rules.smallest_effect),
            (12, 6, 0.005)
        );
        assert_eq!(rules.comparisons(), 2 * 2 * (2 * 2 + 3));
        assert!(rules.pairing.interleaved && !rules.pairing.series);
        for (text, contenders, interleaved, series) in [
            ("reference: x\npairing: series\n", "y@slow z", false, true),
            (
                "reference: w\npairing: both\nsmallest_effect: 0.01\n",
                "x y@slow z",
                true,
                true,
            ),
        ] {
            let rules = duel(&format!("{DUEL}{text}"));
            assert_eq!(rules.contenders.join(" "), contenders);
            assert_eq!(
                (rules.pairing.interleaved, rules.pairing.series),
                (interleaved, series)
            );
        }
        let listed = duel(&DUEL.replace("connections: 32", "connections: [32]"));
        assert_eq!(listed.connections, 32);
        assert_eq!(
            Planned::read("kind: matrix\nhealthy: {coverage: 1, p99_ms: 1}")
                .unwrap()
                .duel,
            None
        );
        for (good, bad) in [
            ("cpu_us_per_request", "cpu"),
            ("[x, y@slow, z]", "[]"),
            ("[x, y@slow, z]", "[x, 3]"),
            ("[ok, served]", "[{}]"),
        ] {
            assert!(Planned::read(&DUEL.replace(good, bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_duels_groups_count_pairs() {
        let planned = Planned::read(DUEL).unwrap();
        assert!(planned.too_small.is_empty(), "{:?}", planned.too_small);
        let group = |valid_runs, sides: &[&str]| Group {
            valid_runs,
            sides: sides.iter().map(|side| (*side).to_owned()).collect(),
            ..Group::default()
        };
        for (group, reasons) in [
            (group(6, &["x", "z"]), 0),
            (group(5, &["x", "z"]), 1),
            (group(2, &[]), 0),
        ] {
            assert_eq!(planned.unpublishable(&[group]).len(), reasons);
        }
    }
}
