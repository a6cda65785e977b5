//! What equal service costs: a contender's CPU per request at level 2 over its own at level 1.

use std::collections::BTreeMap;

use super::duel::DuelRules;
use super::groups::spread;
use super::metric::metric;
use super::pairs::{Pairs, Point};
use crate::record::schema::{Cell, Price};

/// For each contender and the reference, each rate, and each workload of level 1 with each of level 2. The
/// two are measured one after the other, not interleaved: what the machine did between them is in the
/// price.
pub fn prices(cells: &[Cell], rules: &DuelRules, levels: &BTreeMap<String, u32>) -> Vec<Price> {
    let of_level = |level: u32| {
        let workloads = rules.workloads.iter();
        workloads.filter(move |workload| levels.get(*workload) == Some(&level))
    };
    let mut all = Vec::new();
    for who in rules.contenders.iter().chain([&rules.reference]) {
        for rate_rps in &rules.rates {
            for bare in of_level(1) {
                for equal in of_level(2) {
                    let [low, high] = [bare, equal].map(|workload| {
                        let point = Point {
                            workload,
                            rate_rps: Some(*rate_rps),
                            connections: rules.connections,
                        };
                        cpu_us(cells, point, who)
                    });
                    if let (Some((bare_us, bare_n)), Some((equal_us, equal_n))) = (low, high) {
                        all.push(Price {
                            who: who.clone(),
                            rate_rps: *rate_rps,
                            bare: bare.clone(),
                            equal: equal.clone(),
                            bare_us,
                            equal_us,
                            price: equal_us / bare_us,
                            bare_n,
                            equal_n,
                        });
                    }
                }
            }
        }
    }
    all
}

/// The median CPU per request over valid pairs, and how many there are; none where the pairs have other
/// sides alive, since they are never merged.
fn cpu_us(cells: &[Cell], point: Point, who: &str) -> Option<(f64, u32)> {
    let metric = metric("cpu_us_per_request")?;
    let pairs = Pairs::of(cells, "measure", point).with(&[who]);
    if pairs.alive.len() > 1 {
        return None;
    }
    let own = pairs.valid.iter().filter_map(|pair| pair.of(who));
    let values: Vec<f64> = own.filter_map(|cell| metric.value(cell).ok()).collect();
    let n = values.len() as u32;
    Some((spread(values)?.median, n))
}
