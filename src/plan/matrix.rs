//! A plan's cells in the order in which they run, drawn from its seed.

use super::adapter::Adapter;
use super::contender::Contender;
use super::spec::{Kind, Order, Plan};
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
    /// In the order in which they run; of a search the first of each, from which all others follow.
    pub units: Vec<Unit>,
    /// What the plan names and nobody can run, and why.
    pub holes: Vec<Hole>,
}

impl Unit {
    /// Of one cell.
    pub(super) fn alone(cell: CellKey) -> Self {
        Self { cells: vec![cell] }
    }

    /// How many targets are alive at once: as many as the first load has cells.
    pub fn sides(&self) -> usize {
        let load = |cell: &CellKey| (cell.rate_rps, cell.connections);
        let first = load(&self.cells[0]);
        self.cells
            .iter()
            .take_while(|cell| load(cell) == first)
            .count()
    }
}

impl Matrix {
    /// All cells, in the order in which they are numbered.
    pub fn cells(&self) -> impl Iterator<Item = &CellKey> {
        self.units.iter().flat_map(|unit| &unit.cells)
    }
}

/// How a load is paced, and over how many connections.
#[derive(Clone, Copy)]
pub(super) struct LoadPoint {
    /// None in a closed loop.
    pub rate_rps: Option<u64>,
    pub connections: u32,
}

impl Plan {
    /// The cells in their seeded order, and the holes: what an adapter does not serve, or can't be
    /// built for. No cell at all is exit 2.
    pub fn cells(&self, adapters: &[Adapter]) -> Result<Matrix> {
        let matrix = match self.kind {
            Kind::Duel => self.duel(adapters)?,
            Kind::Sustain => self.openers(adapters)?,
            Kind::Matrix | Kind::Closed => self.grid(adapters)?,
        };
        if matrix.units.is_empty() {
            let holes = matrix.holes.iter();
            let reasons: Vec<String> = holes
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

    /// Every contender on every workload at every load point, as often as the plan repeats it.
    fn grid(&self, adapters: &[Adapter]) -> Result<Matrix> {
        let mut matrix = Matrix::default();
        let mut draw = Draw::new("order of cells", self.seed);
        for workload in &self.workloads {
            let contenders = self.contenders(workload, adapters, &mut matrix.holes)?;
            for point in self.load_points() {
                for repetition in 1..=self.repetitions {
                    let cell = |who: &&Contender| self.cell(who, workload, point, repetition);
                    let mut block: Vec<CellKey> = contenders.iter().map(cell).collect();
                    draw.shuffle(&mut block);
                    matrix.units.extend(block.into_iter().map(Unit::alone));
                }
            }
        }
        if self.order == Order::Shuffled {
            draw.shuffle(&mut matrix.units);
        }
        Ok(matrix)
    }

    fn load_points(&self) -> Vec<LoadPoint> {
        if self.kind == Kind::Closed {
            let closed = |connections: &u32| LoadPoint {
                rate_rps: None,
                connections: *connections,
            };
            return self.connections.0.iter().map(closed).collect();
        }
        self.rates_rps.iter().map(|rate| self.open(*rate)).collect()
    }

    /// An open loop at this rate.
    pub(super) fn open(&self, rate_rps: u64) -> LoadPoint {
        LoadPoint {
            rate_rps: Some(rate_rps),
            connections: self.connections.first(),
        }
    }

    /// Who serves this workload; the others become holes.
    pub(super) fn contenders(
        &self,
        workload: &str,
        adapters: &[Adapter],
        holes: &mut Vec<Hole>,
    ) -> Result<Vec<&Contender>> {
        let mut able = Vec::new();
        for contender in &self.adapters {
            match hindrance(contender, workload, adapters)? {
                None => able.push(contender),
                Some(reason) => holes.push(hole(contender, workload, reason)),
            }
        }
        Ok(able)
    }

    pub(super) fn cell(
        &self,
        who: &Contender,
        workload: &str,
        point: LoadPoint,
        repetition: u32,
    ) -> CellKey {
        let paced = if point.rate_rps.is_some() {
            "open"
        } else {
            "closed"
        };
        CellKey {
            adapter: who.adapter.clone(),
            label: who.label.clone(),
            workload: workload.to_owned(),
            r#loop: paced.to_owned(),
            rate_rps: point.rate_rps,
            connections: point.connections,
            repetition,
            attempt: 1,
            role: "measure".to_owned(),
            ..CellKey::default()
        }
    }
}

/// Why this contender can't be measured on this workload, where it can't.
pub(super) fn hindrance(
    who: &Contender,
    workload: &str,
    adapters: &[Adapter],
) -> Result<Option<String>> {
    let named = adapters.iter().find(|a| a.name == who.adapter);
    let adapter = named.ok_or_else(|| {
        Error::usage(format!("there is no adapter `{}`", who.adapter))
            .next("`shootout list adapters` shows those that there are")
    })?;
    Ok(match &adapter.not_built {
        Some(reason) => Some(format!("not built: {reason}")),
        None if !adapter.serves(workload) => Some("does not serve this workload".to_owned()),
        None => None,
    })
}

pub(super) fn hole(who: &Contender, workload: &str, reason: String) -> Hole {
    Hole {
        adapter: who.to_string(),
        workload: workload.to_owned(),
        reason,
    }
}

/// The seed of a cell's own draws: the same for every adapter, so that all are sent the same requests
/// in the same order.
pub fn cell_seed(cell: &CellKey, plan_seed: u64) -> u64 {
    let rate = cell.rate_rps.unwrap_or_default().to_le_bytes();
    let repetition = cell.repetition.to_le_bytes();
    let parts: [&[u8]; 3] = [cell.workload.as_bytes(), &rate, &repetition];
    first_u64(key("cell", plan_seed, &parts))
}

/// The seed of the masks under which a pair's sides take turns in one load: the same for every side.
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
    first_u64(key("mask", plan_seed, &parts))
}

fn first_u64(digest: [u8; 32]) -> u64 {
    u64::from_le_bytes(*digest.first_chunk().expect("a digest has 32 bytes"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::adapter::tests::adapter;
    use super::super::spec::tests::{CLOSED, DUEL, parse, plan};
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
    fn a_closed_loop_is_a_cell_for_each_number_of_connections() {
        let plan = parse(CLOSED).unwrap();
        let adapters = ["express", "fastify"].map(|name| adapter(name, "[ok, hello]"));
        let cells = cells(&plan, &adapters);
        let loads: Vec<_> = cells
            .chunks(2)
            .map(|block| (block[0].workload.as_str(), block[0].connections))
            .collect();
        let expected = ["ok", "hello"].map(|w| [25, 100, 200].map(|c| (w, c)));
        assert_eq!(loads, expected.as_flattened());
        assert!(
            cells
                .iter()
                .all(|cell| cell.r#loop == "closed" && cell.rate_rps.is_none())
        );
    }

    #[test]
    fn a_masks_seed_is_every_sides_and_no_other_loads() {
        let plan = parse(DUEL).unwrap();
        let adapters = ["express", "fastify", "node-http"].map(|name| adapter(name, "[ok, hello]"));
        let cells = cells(&plan, &adapters);
        let paired: Vec<&CellKey> = cells.iter().filter(|cell| cell.pair.is_some()).collect();
        let mut seeds = BTreeSet::new();
        for sides in paired.chunks(3) {
            let seed = mask_seed(sides[0], 1);
            assert!(sides.iter().all(|side| mask_seed(side, 1) == seed));
            assert_ne!(mask_seed(sides[0], 2), seed);
            seeds.insert(seed);
        }
        assert_eq!(seeds.len(), 10 * 3, "each load of each pair its own");
        // For ever, as the order of cells.
        assert_eq!(mask_seed(paired[0], 1), 9_515_067_816_013_334_021);
    }
}
