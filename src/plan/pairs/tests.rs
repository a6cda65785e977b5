//! A duel's units: balanced, drawn, complete, and the same for ever.

use std::collections::BTreeSet;

use super::super::adapter::tests::adapter;
use super::super::spec::tests::{DUEL, parse};
use super::*;

const NAMES: [&str; 5] = ["express", "fastify", "nginx", "node-http", "slow"];

fn adapters() -> Vec<Adapter> {
    NAMES.map(|name| adapter(name, "[ok, hello]")).to_vec()
}

fn duel(changes: &[(&str, &str)]) -> Plan {
    let mut text = DUEL.to_owned();
    for (good, other) in changes {
        assert!(text.contains(good), "{good}");
        text = text.replace(good, other);
    }
    parse(&text).unwrap()
}

fn units(plan: &Plan) -> Vec<Unit> {
    plan.cells(&adapters()).unwrap().units
}

fn paired(units: &[Unit]) -> Vec<&Unit> {
    let paired = |unit: &&Unit| unit.cells[0].pair.is_some();
    units.iter().filter(paired).collect()
}

fn who(cells: &[CellKey]) -> Vec<&str> {
    cells.iter().map(|cell| cell.adapter.as_str()).collect()
}

#[test]
fn a_pair_holds_every_load_of_every_side_the_reference_last() {
    let plan = duel(&[("pairs: 6", "reference: express\npairs: 6")]);
    let units = units(&plan);
    for unit in paired(&units) {
        assert_eq!((unit.cells.len(), unit.sides()), (9, 3));
        let loads = [
            ("open", Some(1000), 8),
            ("closed", None, 25),
            ("closed", None, 50),
        ];
        for (cells, (paced, rate, connections)) in unit.cells.chunks(3).zip(loads) {
            let expected = match cells[0].role.as_str() {
                "measure" => ["fastify", "node-http", "express"],
                _ => ["express"; 3],
            };
            assert_eq!(who(cells), expected);
            for (cell, letter) in cells.iter().zip(["a", "b", "c"]) {
                assert_eq!(cell.side.as_deref(), Some(letter));
                assert_eq!((cell.r#loop.as_str(), cell.rate_rps), (paced, rate));
                assert_eq!(cell.connections, connections);
                let first = &unit.cells[0];
                assert_eq!((cell.pair, cell.repetition), (first.pair, first.repetition));
            }
        }
    }
}

#[test]
fn pairs_count_over_the_plan_and_repetitions_within_a_comparison() {
    let plan = duel(&[
        ("[ok]", "[ok, hello]"),
        ("[1000]", "[1000, 500]"),
        ("together: 3", "together: 2"),
    ]);
    let units = units(&plan);
    let paired = paired(&units);
    // Two workloads at two rates, two blocks each.
    assert_eq!(paired.len(), 2 * 2 * 2 * (6 + 4));
    for (unit, number) in paired.iter().zip(1..) {
        assert_eq!(unit.cells[0].pair, Some(number));
    }
    for comparison in paired.chunks(10) {
        for (role, count) in [("measure", 6), ("null", 4)] {
            let firsts = comparison.iter().map(|unit| &unit.cells[0]);
            let of_role = firsts.filter(|cell| cell.role == role);
            let repetitions: Vec<u32> = of_role.map(|cell| cell.repetition).collect();
            assert_eq!(repetitions, (1..=count).collect::<Vec<_>>());
        }
    }
}

#[test]
fn no_two_cells_are_the_same() {
    let plan = duel(&[
        ("[ok]", "[ok, hello]"),
        ("together: 3", "together: 2\npairing: both"),
    ]);
    let units = units(&plan);
    let cells: Vec<&CellKey> = units.iter().flat_map(|unit| &unit.cells).collect();
    assert_eq!(cells.iter().collect::<BTreeSet<_>>().len(), cells.len());
}

#[test]
fn null_pairs_are_spread_evenly_and_drawn() {
    for (pairs, null) in [(6, 6), (6, 4), (6, 12), (7, 3), (12, 1), (6, 0), (1, 1)] {
        let mut orders = BTreeSet::new();
        for seed in 0..50 {
            let order = mixed(pairs, null, &mut Draw::new("test", seed));
            let count = |order: &[bool]| order.iter().filter(|null| **null).count() as f64;
            assert_eq!(
                (order.len(), count(&order)),
                ((pairs + null) as usize, null.into())
            );
            for seen in 0..order.len() {
                let due = seen as f64 * f64::from(null) / f64::from(pairs + null);
                let ahead = count(&order[..seen]) - due;
                assert!(ahead.abs() < 2.0, "{order:?}");
            }
            orders.insert(order);
        }
        assert_eq!(orders.len() > 1, null > 0, "{pairs} and {null}");
    }
}

#[test]
fn a_canary_opens_and_closes_the_session() {
    let units = units(&duel(&[("adapter: node-http", "adapter: nginx")]));
    for (unit, repetition) in [(&units[0], 1), (&units[units.len() - 1], 2)] {
        let [cell] = &unit.cells[..] else {
            panic!("{unit:?}")
        };
        assert_eq!(
            (cell.adapter.as_str(), cell.role.as_str()),
            ("nginx", "canary")
        );
        assert_eq!((cell.rate_rps, cell.repetition), (Some(1000), repetition));
        assert_eq!((&cell.pair, &cell.side), (&None, &None));
    }
    let canaries = units.iter().filter(|unit| unit.cells[0].role == "canary");
    assert_eq!(canaries.count(), 2);
}

#[test]
fn blocks_are_of_nearly_one_size_and_all_hold_the_reference() {
    let plan = duel(&[
        (
            "[express, fastify, node-http]",
            "[express, fastify, nginx, slow, node-http]",
        ),
        ("together: 3", "together: 4"),
    ]);
    let units = units(&plan);
    let blocks: BTreeSet<Vec<&str>> = paired(&units)
        .iter()
        .filter(|unit| unit.cells[0].role == "measure")
        .map(|unit| who(&unit.cells[..3]))
        .collect();
    let expected = [
        ["express", "fastify", "node-http"],
        ["nginx", "slow", "node-http"],
    ];
    assert_eq!(blocks, expected.map(|block| block.to_vec()).into());
}

#[test]
fn series_alternate_in_blocks_that_cancel_a_drift() {
    let plan = duel(&[(
        "pairs: 6\nnull: 4\ntogether: 3",
        "pairing: series\nseries: 8",
    )]);
    let units = units(&plan);
    let [_, series @ .., _] = &units[..] else {
        panic!()
    };
    assert_eq!(series.len(), 2 * 2 * 8);
    let mut blocks = BTreeSet::new();
    for (other, series) in ["express", "fastify"].iter().zip(series.chunks(16)) {
        let cells: Vec<&CellKey> = series.iter().map(|unit| &unit.cells[0]).collect();
        for block in cells.chunks(4) {
            let names: Vec<bool> = block.iter().map(|cell| cell.adapter == **other).collect();
            assert!(names == [true, false, false, true] || names == [false, true, true, false]);
            blocks.insert(names);
        }
        for name in [*other, "node-http"] {
            let own = cells.iter().filter(|cell| cell.adapter == name);
            let repetitions: Vec<u32> = own.map(|cell| cell.repetition).collect();
            assert_eq!(repetitions, (1..=8).collect::<Vec<_>>());
        }
    }
    assert_eq!(blocks.len(), 2, "drawn");
    for (unit, number) in series.iter().zip(1..) {
        let cell = &unit.cells[0];
        assert_eq!(
            (cell.series, &cell.pair, &cell.side),
            (Some(number), &None, &None)
        );
        assert_eq!((cell.rate_rps, cell.connections), (None, 8));
    }
}

#[test]
fn who_cannot_run_is_left_out_and_without_two_sides_all_are() {
    let mut adapters = adapters();
    let holes = |adapters: &[Adapter], plan: &Plan| -> Vec<String> {
        let holes = plan.cells(adapters).unwrap().holes;
        let text = |hole: &Hole| format!("{} {}: {}", hole.adapter, hole.workload, hole.reason);
        holes.iter().map(text).collect()
    };
    let plan = duel(&[("[ok]", "[ok, hello]")]);
    adapters[0].workloads = vec!["ok".into()];
    assert_eq!(
        holes(&adapters, &plan),
        ["express hello: does not serve this workload"]
    );
    let matrix = plan.cells(&adapters).unwrap();
    let hello = matrix
        .units
        .iter()
        .filter(|unit| unit.cells[0].workload == "hello");
    assert!(hello.clone().count() == 10 && hello.clone().all(|unit| unit.sides() == 2));

    adapters[1].workloads = vec!["ok".into()];
    let alone = "node-http hello: nobody to be compared with on this workload";
    assert_eq!(holes(&adapters, &plan)[2..], [alone]);

    adapters[3].workloads = vec!["hello".into()];
    adapters[1].workloads.push("hello".into());
    assert_eq!(
        holes(&adapters, &plan),
        [
            "node-http ok: does not serve this workload",
            "express ok: the reference can't be measured on this workload",
            "fastify ok: the reference can't be measured on this workload",
            "express hello: does not serve this workload",
            "node-http ok: canary: does not serve this workload",
        ]
    );
    adapters[3].not_built = Some("no tool".into());
    let error = plan.cells(&adapters).unwrap_err();
    assert!(error.what.contains("has no cell to run"), "{error}");
}

/// An archive says which seed it ran under: the order that follows from it may never change.
#[test]
fn the_order_of_a_seed_is_for_ever() {
    let plan = duel(&[("together: 3", "pairing: both\nseries: 4")]);
    let units = units(&plan);
    let part = |unit: &Unit| {
        let cell = &unit.cells[0];
        match cell.series {
            Some(_) => cell.adapter[..1].to_owned(),
            None => cell.role[..1].to_uppercase(),
        }
    };
    let order: Vec<String> = units.iter().map(part).collect();
    assert_eq!(order.concat(), "CMNMMNNMNMMneenennenffnnffnC");
}
