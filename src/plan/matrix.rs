//! A plan's cells in the order in which they run, drawn from its seed.

use super::adapter::Adapter;
use super::contender::Contender;
use super::spec::{Order, Plan};
use crate::draw::{Draw, key};
use crate::error::{Error, Result};
use crate::record::schema::{CellKey, Hole};

/// What is run, written, judged and tried again as one: a cell, or all sides and loads of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// At least one; in a pair by load (the open loop first), then by side.
    pub cells: Vec<CellKey>,
}

/// What a plan comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    /// In the order in which they run.
    pub units: Vec<Unit>,
    /// What the plan names and nobody can run, and why.
    pub holes: Vec<Hole>,
}

impl Matrix {
    /// All cells, in the order in which they are numbered.
    pub fn cells(&self) -> impl Iterator<Item = &CellKey> {
        self.units.iter().flat_map(|unit| &unit.cells)
    }
}

impl Plan {
    /// The cells in their seeded order, and the holes: what an adapter does not serve, or can't be
    /// built for. No cell at all is exit 2.
    pub fn cells(&self, adapters: &[Adapter]) -> Result<Matrix> {
        let mut matrix = Matrix::default();
        let mut draw = Draw::new("order of cells", self.seed);
        for workload in &self.workloads {
            let contenders = self.contenders(workload, adapters, &mut matrix.holes)?;
            for rate_rps in &self.rates_rps {
                for repetition in 1..=self.repetitions {
                    let mut block: Vec<CellKey> = contenders
                        .iter()
                        .map(|contender| self.cell(contender, workload, *rate_rps, repetition))
                        .collect();
                    draw.shuffle(&mut block);
                    let alone = |cell| Unit { cells: vec![cell] };
                    matrix.units.extend(block.into_iter().map(alone));
                }
            }
        }
        if self.order == Order::Shuffled {
            draw.shuffle(&mut matrix.units);
        }
        if matrix.units.is_empty() {
            let reasons: Vec<String> = matrix
                .holes
                .iter()
                .map(|hole| format!("{} on {}: {}", hole.adapter, hole.workload, hole.reason))
                .collect();
            let what = format!(
                "plan {} has no cell to run: {}",
                self.name,
                reasons.join("; ")
            );
            return Err(Error::usage(what).next(
                "name adapters that serve the plan's workloads (`shootout list` shows them)",
            ));
        }
        Ok(matrix)
    }

    /// Who serves this workload; the others become holes.
    fn contenders(
        &self,
        workload: &str,
        adapters: &[Adapter],
        holes: &mut Vec<Hole>,
    ) -> Result<Vec<&Contender>> {
        let mut able = Vec::new();
        for contender in &self.adapters {
            let named = adapters.iter().find(|a| a.name == contender.adapter);
            let adapter = named.ok_or_else(|| {
                Error::usage(format!("there is no adapter `{}`", contender.adapter))
            })?;
            let reason = match &adapter.not_built {
                Some(reason) => format!("not built: {reason}"),
                None if !adapter.serves(workload) => "does not serve this workload".to_owned(),
                None => {
                    able.push(contender);
                    continue;
                }
            };
            holes.push(Hole {
                adapter: contender.to_string(),
                workload: workload.to_owned(),
                reason,
            });
        }
        Ok(able)
    }

    fn cell(&self, who: &Contender, workload: &str, rate_rps: u64, repetition: u32) -> CellKey {
        CellKey {
            adapter: who.adapter.clone(),
            label: who.label.clone(),
            workload: workload.to_owned(),
            r#loop: "open".to_owned(),
            rate_rps: Some(rate_rps),
            connections: self.connections,
            repetition,
            attempt: 1,
            role: "measure".to_owned(),
            ..CellKey::default()
        }
    }

    /// How long the phases of a cell last at this rate, in seconds.
    pub fn cell_seconds(&self, rate_rps: u64) -> f64 {
        self.phase_seconds(rate_rps)
            .iter()
            .map(|(_, seconds)| seconds)
            .sum()
    }

    fn phase_seconds(&self, rate_rps: u64) -> [(&'static str, f64); 5] {
        let phases = &self.phases;
        [
            ("baseline", phases.baseline.get()),
            ("warm-up", phases.warm_up.seconds_at(rate_rps)),
            ("settle", phases.settle.get()),
            ("load", phases.load.get()),
            ("recovery", phases.recovery.get()),
        ]
    }

    /// What `--dry-run` prints: every cell in its order, the phases at each rate, the holes, the time.
    pub fn dry_run(&self, matrix: &Matrix) -> String {
        let total_s: f64 = matrix
            .cells()
            .map(|cell| self.cell_seconds(cell.rate_rps.unwrap_or_default()))
            .sum();
        let count = matrix.cells().count();
        let mut text = format!(
            "plan {}: {count} cells, {} of phases (starting and proving a cell comes on top)\n",
            self.name,
            clock(total_s)
        );
        for change in &self.overridden {
            text += &format!("  overridden  {change}\n");
        }
        for rate in &self.rates_rps {
            let phases = self.phase_seconds(*rate);
            let phases = phases.map(|(name, seconds)| format!("{name} {} s", short(seconds)));
            text += &format!("  at {rate}/s  {}\n", phases.join(", "));
        }
        let width = |field: fn(&CellKey) -> String| {
            matrix
                .cells()
                .map(|cell| field(cell).len())
                .max()
                .unwrap_or(0)
        };
        let workloads = width(|cell| cell.workload.clone());
        let rates = width(rate_text);
        for (index, cell) in matrix.cells().enumerate() {
            let contender = Contender {
                adapter: cell.adapter.clone(),
                label: cell.label.clone(),
            };
            text += &format!(
                "{:>5}  {:workloads$}  {:>rates$}  #{}  {contender}\n",
                index + 1,
                cell.workload,
                rate_text(cell),
                cell.repetition
            );
        }
        for hole in &matrix.holes {
            text += &format!(
                " hole  {}  {}: {}\n",
                hole.workload, hole.adapter, hole.reason
            );
        }
        text
    }
}

fn rate_text(cell: &CellKey) -> String {
    format!("{}/s", cell.rate_rps.unwrap_or_default())
}

/// At most three decimals, and none that say nothing.
fn short(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

/// Whole seconds as people say them: `1 h 05 min`, `2 min 30 s`, `50 s`.
fn clock(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s:02} s"),
        (h, m, _) => format!("{h} h {m:02} min"),
    }
}

/// The seed of a cell's own draws: the same for every adapter, so that all are sent the same requests
/// in the same order.
pub fn cell_seed(cell: &CellKey, plan_seed: u64) -> u64 {
    let rate = cell.rate_rps.unwrap_or_default().to_le_bytes();
    let repetition = cell.repetition.to_le_bytes();
    let parts: [&[u8]; 3] = [cell.workload.as_bytes(), &rate, &repetition];
    let digest = key("cell", plan_seed, &parts);
    u64::from_le_bytes(*digest.first_chunk().expect("a digest has 32 bytes"))
}

/// The seed of a pair's masks: the same for all its sides, and for every attempt at it.
pub fn mask_seed(cell: &CellKey, plan_seed: u64) -> u64 {
    let rate = cell.rate_rps.unwrap_or_default().to_le_bytes();
    let connections = cell.connections.to_le_bytes();
    let pair = cell.pair.unwrap_or_default().to_le_bytes();
    let parts: [&[u8]; 5] = [
        cell.workload.as_bytes(),
        &rate,
        cell.r#loop.as_bytes(),
        &connections,
        &pair,
    ];
    let digest = key("mask", plan_seed, &parts);
    u64::from_le_bytes(*digest.first_chunk().expect("a digest has 32 bytes"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::adapter::tests::adapter;
    use super::super::spec::tests::plan;
    use super::*;
    use crate::error::Exit;

    fn contenders(plan: &mut Plan, names: &[&str]) {
        plan.adapters = names.iter().map(|name| name.parse().unwrap()).collect();
    }

    fn cells(plan: &Plan, adapters: &[Adapter]) -> Vec<CellKey> {
        plan.cells(adapters).unwrap().cells().cloned().collect()
    }

    fn four() -> (Plan, Vec<Adapter>) {
        let mut plan = plan();
        let names = ["express", "fastify", "nginx", "node-http"];
        contenders(&mut plan, &names);
        let adapters = names.map(|name| adapter(name, "[ok, hello]"));
        (plan, adapters.to_vec())
    }

    #[test]
    fn grouped_draws_each_block_anew_and_keeps_the_groups() {
        let (mut plan, adapters) = four();
        plan.repetitions = 12;
        let cells = cells(&plan, &adapters);
        assert_eq!(cells.len(), 4 * 2 * 2 * 12);
        let mut orders = BTreeSet::new();
        let mut groups = Vec::new();
        for block in cells.chunks(4) {
            let group = |cell: &CellKey| (cell.workload.clone(), cell.rate_rps, cell.repetition);
            assert!(block.iter().all(|cell| group(cell) == group(&block[0])));
            let names: Vec<&str> = block.iter().map(|cell| cell.adapter.as_str()).collect();
            assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 4, "each once");
            orders.insert(names);
            groups.push(group(&block[0]));
        }
        assert!(orders.len() > 12, "{}", orders.len());
        let expected: Vec<_> = ["ok", "hello"]
            .iter()
            .flat_map(|w| [100, 1000].map(|r| (w.to_string(), Some(r))))
            .flat_map(|(w, r)| (1..=12).map(move |n| (w.clone(), r, n)))
            .collect();
        assert_eq!(groups, expected);
    }

    #[test]
    fn shuffled_runs_the_same_cells_in_another_order() {
        let (mut plan, adapters) = four();
        let grouped = cells(&plan, &adapters);
        plan.order = Order::Shuffled;
        let shuffled = cells(&plan, &adapters);
        assert_ne!(grouped, shuffled);
        let set = |cells: Vec<CellKey>| cells.into_iter().collect::<BTreeSet<_>>();
        assert_eq!(set(grouped), set(shuffled.clone()));
        assert_eq!(cells(&plan, &adapters), shuffled, "drawn from the seed");
        plan.seed = 2;
        assert_ne!(cells(&plan, &adapters), shuffled);
    }

    /// An archive says which seed it ran under: the order that follows from it may never change.
    #[test]
    fn the_order_of_a_seed_is_for_ever() {
        let (mut plan, adapters) = four();
        plan.rates_rps = vec![1000];
        let cells = cells(&plan, &adapters);
        let firsts: Vec<&str> = cells.chunks(4).map(|b| b[0].adapter.as_str()).collect();
        assert_eq!(
            firsts,
            [
                "node-http",
                "node-http",
                "node-http",
                "nginx",
                "express",
                "express"
            ]
        );
        assert_eq!(cell_seed(&cells[0], 1), 1_075_594_307_632_844_901);
    }

    #[test]
    fn who_cannot_run_becomes_a_hole_with_its_reason() {
        let (mut plan, mut adapters) = four();
        contenders(
            &mut plan,
            &["nginx", "express", "express@slow", "node-http"],
        );
        adapters[2].workloads = vec!["ok".into()];
        adapters[3].not_built = Some("its tool is in no registry".into());
        let matrix = plan.cells(&adapters).unwrap();
        let holes: Vec<String> = matrix
            .holes
            .iter()
            .map(|hole| format!("{} {}: {}", hole.adapter, hole.workload, hole.reason))
            .collect();
        assert_eq!(
            holes,
            [
                "node-http ok: not built: its tool is in no registry",
                "nginx hello: does not serve this workload",
                "node-http hello: not built: its tool is in no registry",
            ]
        );
        assert_eq!(matrix.cells().count(), (3 + 2) * 2 * 3);
        assert!(matrix.cells().any(|cell| cell.label == "slow"));

        contenders(&mut plan, &["node-http"]);
        let error = plan.cells(&adapters).unwrap_err();
        assert_eq!(error.exit, Exit::Usage);
        assert!(error.what.contains("its tool is in no registry"), "{error}");
        contenders(&mut plan, &["gone"]);
        assert_eq!(plan.cells(&adapters).unwrap_err().exit, Exit::Usage);
    }

    #[test]
    fn a_cells_seed_is_every_adapters_and_no_other_cells() {
        let (plan, adapters) = four();
        let cells = cells(&plan, &adapters);
        let seeds: BTreeSet<u64> = cells.iter().map(|cell| cell_seed(cell, 1)).collect();
        assert_eq!(seeds.len(), 2 * 2 * 3);
        let mut other = cells[0].clone();
        other.adapter = "other".into();
        other.label = "slow".into();
        assert_eq!(cell_seed(&other, 1), cell_seed(&cells[0], 1));
        assert_ne!(cell_seed(&cells[0], 2), cell_seed(&cells[0], 1));
    }

    #[test]
    fn a_pairs_masks_are_every_sides_and_no_other_loads() {
        let (plan, adapters) = four();
        let mut cell = cells(&plan, &adapters).remove(0);
        (cell.pair, cell.side) = (Some(1), Some("a".into()));
        let of = |change: fn(&mut CellKey)| {
            let mut other = cell.clone();
            change(&mut other);
            mask_seed(&other, 1)
        };
        let same: [fn(&mut CellKey); 4] = [
            |_| (),
            |cell| cell.side = Some("b".into()),
            |cell| cell.adapter = "other".into(),
            |cell| cell.attempt = 2,
        ];
        let other: [fn(&mut CellKey); 5] = [
            |cell| cell.pair = Some(2),
            |cell| cell.workload = "other".into(),
            |cell| cell.rate_rps = Some(7),
            |cell| cell.r#loop = "closed".into(),
            |cell| cell.connections = 7,
        ];
        let seeds: BTreeSet<u64> = same.into_iter().map(of).collect();
        assert_eq!(seeds.len(), 1);
        let seeds: BTreeSet<u64> = same.into_iter().chain(other).map(of).collect();
        assert_eq!(seeds.len(), 1 + other.len());
        assert_ne!(mask_seed(&cell, 2), mask_seed(&cell, 1));
    }

    #[test]
    fn a_dry_run_shows_cells_phases_and_time() {
        let (mut plan, mut adapters) = four();
        adapters[2].workloads = vec!["ok".into()];
        plan.phases.warm_up.min_requests = 3000;
        assert_eq!(plan.cell_seconds(1000), 1.5 + 15.0 + 6.0 + 60.0 + 30.0);
        assert_eq!(plan.cell_seconds(100), 1.5 + 30.0 + 6.0 + 60.0 + 30.0);
        plan.overridden.push("load: 9 -> 60".into());
        let matrix = plan.cells(&adapters).unwrap();
        let text = plan.dry_run(&matrix);
        assert!(
            text.starts_with("plan small: 42 cells, 1 h 24 min of phases"),
            "{text}"
        );
        assert!(text.contains("  overridden  load: 9 -> 60\n"));
        assert!(text.contains("at 100/s  baseline 1.5 s, warm-up 30 s, settle 6 s, load 60 s"));
        assert!(text.contains(" hole  hello  nginx: does not serve this workload\n"));
        let listed: Vec<&str> = text.lines().filter(|line| line.contains('#')).collect();
        assert_eq!(listed.len(), 42);
        for (line, cell) in listed.iter().zip(matrix.cells()) {
            assert!(line.ends_with(&format!("#{}  {}", cell.repetition, cell.adapter)));
        }
        assert_eq!([clock(49.6), clock(150.0)], ["50 s", "2 min 30 s"]);
    }
}
