//! A duel's units: pairs and null pairs mixed, alternated series, and a canary at either end.

use super::adapter::Adapter;
use super::contender::Contender;
use super::matrix::{LoadPoint, Matrix, Unit, hindrance, hole};
use super::spec::Plan;
use crate::draw::Draw;
use crate::error::Result;
use crate::record::schema::{CellKey, Hole};

/// More than this many sides have no letters.
pub(super) const MOST_SIDES: u32 = 26;

impl Plan {
    /// Per workload the pairs at each rate, then the series; before all and after all the canary.
    pub(super) fn duel(&self, adapters: &[Adapter]) -> Result<Matrix> {
        let mut session = Session {
            plan: self,
            units: Vec::new(),
            pairs: 0,
            order: Draw::new("order of pairs", self.seed),
            first: Draw::new("order of series", self.seed),
        };
        let mut holes = Vec::new();
        for workload in &self.workloads {
            let Some((others, reference)) = self.opponents(workload, adapters, &mut holes)? else {
                continue;
            };
            if self.is_interleaved() {
                for rate in &self.rates_rps {
                    for block in self.blocks(&others) {
                        let sides = [block, &[reference]].concat();
                        session.pairs(workload, *rate, &sides);
                    }
                }
            }
            if self.has_series() {
                for (place, other) in others.iter().enumerate() {
                    session.series(workload, place as u32, other, reference);
                }
            }
        }
        let mut units = session.units;
        if !units.is_empty()
            && let Some([opening, closing]) = self.canaries(adapters, &mut holes)?
        {
            units.insert(0, opening);
            units.push(closing);
        }
        Ok(Matrix { units, holes })
    }

    /// Who is judged on this workload, and against whom; with nobody on either side all are holes.
    fn opponents(
        &self,
        workload: &str,
        adapters: &[Adapter],
        holes: &mut Vec<Hole>,
    ) -> Result<Option<(Vec<&Contender>, &Contender)>> {
        let able = self.contenders(workload, adapters, holes)?;
        let is_reference = |who: &&Contender| Some(*who) == self.reference.as_ref();
        let (references, others): (Vec<_>, Vec<_>) = able.into_iter().partition(is_reference);
        let reason = match (&others[..], &references[..]) {
            ([], _) => "nobody to be compared with on this workload",
            (_, []) => "the reference can't be measured on this workload",
            (_, [reference, ..]) => return Ok(Some((others.clone(), reference))),
        };
        let alone = others.iter().chain(&references);
        holes.extend(alone.map(|who| hole(who, workload, reason.to_owned())));
        Ok(None)
    }

    /// All at once, or as few groups as there must be where not all may be alive together; each as large
    /// as the others, or larger by one. The reference, which is in all of them, takes a place.
    fn blocks<'a, 'b>(&self, others: &'b [&'a Contender]) -> Vec<&'b [&'a Contender]> {
        let room = self.together.map_or(others.len(), |most| most as usize - 1);
        let blocks = others.len().div_ceil(room);
        let edge = |block: usize| block * others.len() / blocks;
        (0..blocks)
            .map(|block| &others[edge(block)..edge(block + 1)])
            .collect()
    }

    /// The canary's two cells, in open loop at the plan's first rate.
    fn canaries(&self, adapters: &[Adapter], holes: &mut Vec<Hole>) -> Result<Option<[Unit; 2]>> {
        let (Some(canary), Some(rate)) = (&self.canary, self.rates_rps.first()) else {
            return Ok(None);
        };
        if let Some(reason) = hindrance(&canary.adapter, &canary.workload, adapters)? {
            let reason = format!("canary: {reason}");
            holes.push(hole(&canary.adapter, &canary.workload, reason));
            return Ok(None);
        }
        let unit = |repetition| {
            let point = self.open(*rate);
            Unit::alone(CellKey {
                role: "canary".to_owned(),
                ..self.cell(&canary.adapter, &canary.workload, point, repetition)
            })
        };
        Ok(Some([unit(1), unit(2)]))
    }
}

/// The units so far, and what goes on over all of them.
struct Session<'a> {
    plan: &'a Plan,
    units: Vec<Unit>,
    /// Pairs so far, null pairs included.
    pairs: u32,
    order: Draw,
    first: Draw,
}

impl Session<'_> {
    /// One comparison: its pairs, and the same reference on all sides between them.
    fn pairs(&mut self, workload: &str, rate_rps: u64, sides: &[&Contender]) {
        let reference = sides[sides.len() - 1];
        let alike = vec![reference; sides.len()];
        let (mut pairs, mut null) = (0, 0);
        for is_null in mixed(self.plan.pairs, self.plan.null, &mut self.order) {
            let (role, sides, number) = if is_null {
                ("null", &alike[..], &mut null)
            } else {
                ("measure", sides, &mut pairs)
            };
            *number += 1;
            self.pairs += 1;
            let unit = self.pair(workload, rate_rps, sides, role, *number);
            self.units.push(unit);
        }
    }

    /// The open loop of every side, then each closed loop of every side.
    fn pair(
        &self,
        workload: &str,
        rate_rps: u64,
        sides: &[&Contender],
        role: &str,
        repetition: u32,
    ) -> Unit {
        let closed = self.plan.capacity.iter().flat_map(|it| &it.connections);
        let closed = closed.map(|connections| LoadPoint {
            rate_rps: None,
            connections: *connections,
        });
        let mut cells = Vec::new();
        for point in std::iter::once(self.plan.open(rate_rps)).chain(closed) {
            for (letter, who) in ('a'..='z').zip(sides) {
                cells.push(CellKey {
                    role: role.to_owned(),
                    pair: Some(self.pairs),
                    side: Some(letter.to_string()),
                    ..self.plan.cell(who, workload, point, repetition)
                });
            }
        }
        Unit { cells }
    }

    /// Series of windows in blocks of four that cancel a linear drift, each ABBA or BAAB. `place` is the
    /// opponent's among all of them: the reference has series against each, which differ in their number.
    fn series(&mut self, workload: &str, place: u32, other: &Contender, reference: &Contender) {
        let each = self.plan.series.unwrap_or_default();
        let point = LoadPoint {
            rate_rps: None,
            connections: self.plan.connections.first(),
        };
        let mut number = place * 2 * each;
        for block in 0..each / 2 {
            let (outer, inner) = if self.first.below(2) == 0 {
                (other, reference)
            } else {
                (reference, other)
            };
            for (who, nth) in [(outer, 1), (inner, 1), (inner, 2), (outer, 2)] {
                number += 1;
                self.units.push(Unit::alone(CellKey {
                    series: Some(number),
                    ..self.plan.cell(who, workload, point, 2 * block + nth)
                }));
            }
        }
    }
}

/// Whether each of so many pairs is a null one: the rarer kind is spread evenly, one to a stretch, and
/// drawn within it, so that no drift of the machine falls on one kind.
fn mixed(pairs: u32, null: u32, draw: &mut Draw) -> Vec<bool> {
    let stretches = pairs.min(null).max(1);
    let share = |count: u32, stretch: u32| {
        let edge =
            |stretch: u32| (u64::from(count) * u64::from(stretch) / u64::from(stretches)) as usize;
        edge(stretch + 1) - edge(stretch)
    };
    let mut order = Vec::new();
    for stretch in 0..stretches {
        let mut kinds = vec![false; share(pairs, stretch)];
        kinds.resize(kinds.len() + share(null, stretch), true);
        draw.shuffle(&mut kinds);
        order.extend(kinds);
    }
    order
}

#[cfg(test)]
mod tests;
