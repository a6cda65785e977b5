//! Repetitions put together: median and range of every figure, over valid runs only.

use std::collections::BTreeMap;

use serde_json::Value;

use super::duel::{self, DuelRules};
use super::likeness::likeness;
use super::prices::prices;
use super::stalls::stalls;
use super::sustain::{self, SustainRules};
use crate::record::schema::{Cell, Generator, Group, Hole, ImageSize, SCHEMA, Spread, Summary};

/// A published figure: its name, which is its path in a cell, and how to read it there.
type Figure = (&'static str, fn(&Cell) -> Option<f64>);

/// Every figure of a group, in the order of tables and of `summary.csv`.
pub const FIGURES: [Figure; 30] = [
    ("response_us.p50", |c| c.load.response_us.p50),
    ("response_us.p90", |c| c.load.response_us.p90),
    ("response_us.p99", |c| c.load.response_us.p99),
    ("response_us.p999", |c| c.load.response_us.p999),
    ("response_us.max", |c| c.load.response_us.max),
    ("response_us.mean", |c| c.load.response_us.mean),
    ("service_us.p50", |c| c.load.service_us.p50),
    ("service_us.p99", |c| c.load.service_us.p99),
    ("cpu_us_per_request", |c| c.cpu_us_per_request),
    ("main_thread_us_per_request", |c| {
        c.main_thread_us_per_request
    }),
    ("cpu_pct", |c| c.cpu_pct),
    ("idle_cpu_pct", |c| c.idle_cpu_pct),
    ("rss_mib.baseline", |c| c.rss_mib.baseline),
    ("rss_mib.load", |c| c.rss_mib.load),
    ("rss_mib.recovery", |c| c.rss_mib.recovery),
    ("pss_mib.baseline", |c| c.pss_mib.baseline),
    ("pss_mib.recovery", |c| c.pss_mib.recovery),
    ("cgroup_mib.baseline", |c| c.cgroup_mib.baseline),
    ("cgroup_mib.load", |c| c.cgroup_mib.load),
    ("cgroup_mib.recovery", |c| c.cgroup_mib.recovery),
    ("start_ms", |c| c.start_ms),
    ("image_mib", |c| Some(c.image_mib)),
    ("achieved_rps", |c| c.load.achieved_rps),
    ("coverage", |c| c.load.coverage),
    ("bytes_in_per_request", |c| {
        let completed = c.load.ledger.completed;
        (completed > 0).then(|| c.load.bytes_in as f64 / completed as f64)
    }),
    ("throttled_periods", |c| {
        c.throttled_periods.map(|n| n as f64)
    }),
    ("involuntary_switches", |c| {
        c.involuntary_switches.map(|n| n as f64)
    }),
    ("generator_cpu_us_per_request", |c| {
        c.load.generator_cpu_us_per_request
    }),
    ("lag_causes.generator_late.p99_us", |c| {
        c.load.lag_causes.generator_late.p99_us
    }),
    ("longest_pause_us", |c| Some(c.load.longest_pause_us)),
];

/// What a run knows besides its cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Who measured.
    pub generator: Generator,
    /// The resolved plan, as in plan.yaml.
    pub plan: Value,
    /// The machine, as in environment.json.
    pub environment: Value,
    /// Each workload's level of equity, by its name.
    pub levels: BTreeMap<String, u32>,
    /// How far each workload lets bytes per response be from the median, by its name.
    pub tolerances: BTreeMap<String, f64>,
    /// What the plan fixed of its verdicts, where it is a duel.
    pub duel: Option<DuelRules>,
    /// What it fixed of its search, where it looks for sustained rates.
    pub sustain: Option<SustainRules>,
    /// How large each adapter's image is, by its name.
    pub images: BTreeMap<String, ImageSize>,
    /// What has no number, and why.
    pub holes: Vec<Hole>,
    /// False where a limit was changed by hand.
    pub comparable: bool,
    /// Why the run may not be published; empty where it may.
    pub unpublishable_reasons: Vec<String>,
}

/// Everything derived from a run's cells.
pub fn summary(run: Run, cells: Vec<Cell>) -> Summary {
    let (verdicts, prices) = match &run.duel {
        Some(rules) => (
            duel::verdicts(&cells, rules, &run.levels),
            prices(&cells, rules, &run.levels),
        ),
        None => Default::default(),
    };
    let sustained = match &run.sustain {
        Some(rules) => sustain::rows(&cells, rules, &run.levels, &run.images),
        None => Vec::new(),
    };
    let groups = groups(&cells, &run.levels);
    Summary {
        schema: SCHEMA,
        generator: run.generator,
        plan: run.plan,
        environment: run.environment,
        stalls: stalls(&groups),
        groups,
        likeness: likeness(&cells, &run.tolerances),
        cells,
        verdicts,
        prices,
        sustained,
        holes: run.holes,
        comparable: run.comparable,
        publishable: run.unpublishable_reasons.is_empty(),
        unpublishable_reasons: run.unpublishable_reasons,
    }
}

/// Cells of role `measure` by workload, load point, adapter, label and who was alive beside, in that
/// order.
pub fn groups(cells: &[Cell], levels: &BTreeMap<String, u32>) -> Vec<Group> {
    let mut runs: BTreeMap<_, BTreeMap<_, &Cell>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.key.role == "measure") {
        let key = &cell.key;
        let point = (&key.workload, &key.r#loop, key.rate_rps, key.connections);
        let who = (&key.adapter, &key.label, sides(cell));
        let attempts = runs.entry((point, who)).or_default();
        // An earlier attempt stays in the archive; the last one speaks for its repetition, of which a
        // duel has one for each comparison.
        let repetition = (key.repetition, key.pair, key.series);
        let last = attempts.entry(repetition).or_insert(cell);
        if last.key.attempt < key.attempt {
            *last = cell;
        }
    }
    runs.values()
        .map(|repetitions| group(&repetitions.values().copied().collect::<Vec<_>>(), levels))
        .collect()
}

/// Who was alive together with a cell's target, sorted; empty where it was alone.
pub fn sides(cell: &Cell) -> Vec<String> {
    let paired = cell.paired.as_ref();
    let mut sides = paired.map_or_else(Vec::new, |paired| paired.sides.clone());
    sides.sort();
    sides
}

/// At least one run, all of one key.
fn group(runs: &[&Cell], levels: &BTreeMap<String, u32>) -> Group {
    let key = &runs[0].key;
    let valid: Vec<&Cell> = runs
        .iter()
        .copied()
        .filter(|cell| cell.load.valid)
        .collect();
    let healthy = valid
        .iter()
        .filter(|cell| cell.healthy == Some(true))
        .count();
    let figure = |of: fn(&Cell) -> Option<f64>| {
        let values: Option<Vec<f64>> = valid.iter().map(|cell| of(cell)).collect();
        values.and_then(spread)
    };
    Group {
        adapter: key.adapter.clone(),
        label: key.label.clone(),
        workload: key.workload.clone(),
        level: levels.get(&key.workload).copied().unwrap_or_default(),
        r#loop: key.r#loop.clone(),
        rate_rps: key.rate_rps,
        connections: key.connections,
        sides: sides(runs[0]),
        runs: runs.len() as u32,
        valid_runs: valid.len() as u32,
        healthy_runs: healthy as u32,
        figures: FIGURES
            .iter()
            .map(|(name, of)| ((*name).to_owned(), figure(*of)))
            .collect(),
    }
}

/// Median (of an even number: the mean of the middle two), minimum and maximum; none of nothing.
pub fn spread(mut values: Vec<f64>) -> Option<Spread> {
    values.sort_by(f64::total_cmp);
    let (min, max) = (*values.first()?, *values.last()?);
    let upper = values[values.len() / 2];
    let lower = values[(values.len() - 1) / 2];
    Some(Spread {
        median: lower / 2.0 + upper / 2.0,
        min,
        max,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(adapter: &str, repetition: u32, valid: bool, p50: Option<f64>) -> Cell {
        let mut cell = Cell {
            healthy: valid.then_some(true),
            ..Cell::default()
        };
        cell.load.valid = valid;
        cell.load.response_us.p50 = p50;
        cell.key.adapter = adapter.into();
        cell.key.workload = "hello".into();
        cell.key.repetition = repetition;
        cell.key.attempt = 1;
        cell.key.role = "measure".into();
        cell
    }

    #[test]
    fn medians_and_ranges() {
        for (values, expected) in [
            (vec![], None),
            (vec![3.0], Some((3.0, 3.0, 3.0))),
            (vec![3.0, 1.0, 2.0], Some((2.0, 1.0, 3.0))),
            (vec![4.0, 1.0, 2.0, 3.0], Some((2.5, 1.0, 4.0))),
        ] {
            let spread = spread(values).map(|s| (s.median, s.min, s.max));
            assert_eq!(spread, expected);
        }
    }

    #[test]
    fn only_valid_runs_give_figures_and_one_without_withholds_them() {
        let p50 = |cells: &[Cell]| {
            let group = groups(cells, &BTreeMap::new()).remove(0);
            (
                group.runs,
                group.valid_runs,
                group.figures["response_us.p50"].map(|s| s.median),
            )
        };
        let mut cells = vec![
            cell("a", 1, true, Some(1.0)),
            cell("a", 2, true, Some(3.0)),
            cell("a", 3, false, Some(900.0)),
        ];
        assert_eq!(p50(&cells), (3, 2, Some(2.0)));
        // A second attempt at the third repetition replaces the first.
        let mut retry = cell("a", 3, true, Some(2.5));
        retry.key.attempt = 2;
        cells.insert(0, retry);
        assert_eq!(p50(&cells), (3, 3, Some(2.5)));
        cells[1].load.response_us.p50 = None;
        assert_eq!(p50(&cells), (3, 3, None));
    }

    #[test]
    fn groups_are_sorted_and_of_measured_cells_only() {
        let mut canary = cell("canary", 1, true, None);
        canary.key.role = "canary".into();
        let cells = [cell("b", 1, true, None), canary, cell("a", 1, true, None)];
        let groups = groups(&cells, &[("hello".to_owned(), 2)].into());
        let names: Vec<_> = groups
            .iter()
            .map(|g| (g.adapter.as_str(), g.level))
            .collect();
        assert_eq!(names, [("a", 2), ("b", 2)]);
        assert!(
            groups[0].figures.len() == FIGURES.len(),
            "every figure has a place, if null"
        );
    }
}
