//! Every check of a pair bites.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::super::tests::{edit, smoke, sum_again};
use super::super::{Exit, verify};
use super::*;
use crate::record::fixture;

const A: &str = "cells/0001-nginx-hello-2000-c32-r1-a";
const B: &str = "cells/0002-express-hello-2000-c32-r1-b";

/// Puts another value into a cell.
fn set(dir: &Path, cell: &str, field: &str, value: Value) {
    let path = dir.join(cell).join("cell.json");
    let mut document: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    *document.pointer_mut(field).unwrap() = value;
    fs::write(path, document.to_string()).unwrap();
}

/// Takes the first row of this mark out of a cell's samples.
fn lose_row(dir: &Path, cell: &str, mark: &str) {
    let path = dir.join(cell).join("samples.csv");
    let text = fs::read_to_string(&path).unwrap();
    let (before, row) = text.split_once(&format!(",{mark},")).unwrap();
    let (before, _) = before.rsplit_once('\n').unwrap();
    let (_, after) = row.split_once('\n').unwrap();
    fs::write(path, format!("{before}\n{after}")).unwrap();
}

#[test]
fn what_a_pair_shares_is_held_against_each_other_and_the_plan() {
    let dir = fixture::duel();
    assert_eq!(verify(dir.path(), &smoke()).findings, []);
    type Alter = fn(&Path);
    let table: [(&str, &str, Alter); 20] = [
        (
            A,
            "sides: express expected once in its pair, found 0",
            |dir| {
                fs::remove_dir_all(dir.join(B)).unwrap();
            },
        ),
        (
            A,
            "sides: express expected once in its pair, found 0",
            |dir| {
                set(dir, B, "/pair", json!(2));
            },
        ),
        (B, "epoch_ns: is not that of 0001-nginx", |dir| {
            set(dir, B, "/epoch_ns", json!(5_000_000_001_u64));
        }),
        (B, "sides: is not that of 0001-nginx", |dir| {
            set(dir, B, "/sides/0", json!("other"));
        }),
        (
            A,
            "sides: nginx expected where the letter of its side is",
            |dir| {
                set(dir, A, "/sides/0", json!("other"));
            },
        ),
        (
            A,
            "sides: nginx expected where the letter of its side is",
            |dir| {
                set(dir, A, "/side", json!("b"));
            },
        ),
        (B, "mask: is not that of 0001-nginx", |dir| {
            set(dir, B, "/mask/gap_ns", json!(999_999));
        }),
        (B, "gaps of 1000000 ns expected, as in 0001-nginx", |dir| {
            set(dir, B, "/mask/gap_ns", json!(999_999));
        }),
        (A, "mask.seed: expected", |dir| {
            set(dir, A, "/mask/seed", json!(1))
        }),
        (A, "mask.seed: expected", |dir| {
            edit(dir, "plan.yaml", "seed: 7", "seed: 8")
        }),
        (
            B,
            "slices of 20000000 ns, and with gaps of 1000001 ns",
            |dir| {
                set(dir, B, "/mask/gap_ns", json!(1_000_001));
            },
        ),
        (B, "no turns can be laid", |dir| {
            set(dir, B, "/mask/slice_ns", json!(0))
        }),
        (A, "no turns can be laid", |dir| {
            edit(dir, "plan.yaml", "load: 2,", "load: long,");
        }),
        (
            A,
            "7 rows between blocks in samples.csv expected, found 3",
            |dir| {
                edit(dir, "plan.yaml", "load: 2,", "load: 4,");
            },
        ),
        (
            A,
            "8 counts in completed_by_block expected, found 4",
            |dir| {
                edit(dir, "plan.yaml", "load: 2,", "load: 4,");
            },
        ),
        (
            A,
            "3 rows between blocks in samples.csv expected, found 2",
            |dir| {
                lose_row(dir, A, "block");
            },
        ),
        (
            A,
            "1840 slots expected in 0.92 s of own time, found 1841",
            |dir| {
                set(dir, A, "/ledger/scheduled", json!(1841));
            },
        ),
        (A, "background_pct: expected 0.0, found 6.0", |dir| {
            set(dir, A, "/background_pct", json!(6.0));
        }),
        (A, "background_pct: expected null, found 0.0", |dir| {
            lose_row(dir, A, "slice")
        }),
        (
            A,
            "pair, side and sides: says some of them and not all",
            |dir| {
                set(dir, A, "/pair", Value::Null);
            },
        ),
    ];
    for (cell, what, alter) in table {
        let dir = fixture::duel();
        alter(dir.path());
        sum_again(dir.path());
        let report = verify(dir.path(), &smoke());
        let file = format!("{cell}/cell.json");
        let named = |found: &Finding| found.file == file && found.what.contains(what);
        assert!(
            report.findings.iter().any(named),
            "{what}: {:#?}",
            report.findings
        );
        assert_eq!(report.exit, Some(Exit::Unverified));
    }
}

/// Counts moved from one block to another still add up, but not every block had so many slots.
#[test]
fn completions_in_a_block_that_had_no_such_slots_are_found() {
    for (change, what) in [
        ([1, -1], "completed_by_block[0]: at most"),
        ([-1, 1], "completed_by_block[1]: at most"),
        (
            [-1, 0],
            "the blocks hold 1839 completed slots, the ledger 1840",
        ),
    ] {
        let dir = fixture::duel();
        let text = fs::read(dir.path().join(A).join("cell.json")).unwrap();
        let cell: Cell = serde_json::from_slice(&text).unwrap();
        for (index, by) in change.into_iter().enumerate() {
            let count = cell.load.completed_by_block[index] as i64 + by;
            set(
                dir.path(),
                A,
                &format!("/completed_by_block/{index}"),
                json!(count),
            );
        }
        sum_again(dir.path());
        let findings = verify(dir.path(), &smoke()).findings;
        let found = findings.iter().any(|found| found.what.contains(what));
        assert!(found, "{what}: {findings:#?}");
    }
}
