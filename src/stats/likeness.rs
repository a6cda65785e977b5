//! How far apart adapters' responses are: who sends fewer bytes or headers than the others has less
//! work, whatever its body says.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::schema::{Cell, Likeness, Shape};

/// Every adapter on every workload, held against the others; the first cell of each speaks for it.
/// `tolerances` are the workloads' own.
pub fn likeness(cells: &[Cell], tolerances: &BTreeMap<String, f64>) -> Vec<Likeness> {
    let mut shapes: BTreeMap<&str, BTreeMap<(&str, &str), &[Shape]>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| !cell.shapes.is_empty()) {
        let key = &cell.key;
        let of_workload = shapes.entry(&key.workload).or_default();
        let contender = (key.adapter.as_str(), key.label.as_str());
        of_workload.entry(contender).or_insert(&cell.shapes);
    }
    let mut all = Vec::new();
    for (workload, contenders) in &shapes {
        let tolerance = tolerances.get(*workload).copied().unwrap_or(f64::INFINITY);
        let medians = medians(contenders.values().copied());
        for (contender, own) in contenders {
            let others = || {
                let others = contenders.iter().filter(|(other, _)| *other != contender);
                others.map(|(_, shapes)| names(shapes))
            };
            let own_names = names(own);
            let common = others().reduce(|a, b| &a & &b).unwrap_or_default();
            let only = |a: BTreeSet<&str>| a.into_iter().map(str::to_owned).collect();
            let alone = contenders.len() == 1;
            let bytes = || own.iter().map(|shape| shape.bytes);
            let far = own.iter().filter_map(|shape| {
                let median = medians[shape.row.as_str()];
                let off = (shape.bytes as f64 - median) / median;
                (off.abs() > tolerance).then(|| (shape.row.clone(), off))
            });
            all.push(Likeness {
                workload: (*workload).to_owned(),
                adapter: contender.0.to_owned(),
                label: contender.1.to_owned(),
                bytes: (bytes().min().unwrap_or(0), bytes().max().unwrap_or(0)),
                far: far.collect(),
                more: if alone {
                    vec![]
                } else {
                    only(&own_names - &common)
                },
                less: only(&common - &own_names),
            });
        }
    }
    all
}

/// The names of all header fields of all rows.
fn names(shapes: &[Shape]) -> BTreeSet<&str> {
    let names = shapes.iter().flat_map(|shape| &shape.headers);
    names.map(String::as_str).collect()
}

/// Each row's median of bytes over the contenders.
fn medians<'a>(contenders: impl Iterator<Item = &'a [Shape]>) -> BTreeMap<&'a str, f64> {
    let mut bytes: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for shape in contenders.flatten() {
        bytes.entry(&shape.row).or_default().push(shape.bytes);
    }
    let median = |mut all: Vec<u64>| {
        all.sort_unstable();
        let half = all.len() / 2;
        let upper = all[half] as f64;
        if all.len() % 2 == 1 {
            upper
        } else {
            (all[half - 1] as f64 + upper) / 2.0
        }
    };
    bytes
        .into_iter()
        .map(|(row, all)| (row, median(all)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::schema::CellKey;

    fn cell(adapter: &str, bytes: u64, headers: &[&str]) -> Cell {
        let shape = Shape {
            row: "hello".into(),
            bytes,
            headers: headers.iter().map(|&name| name.to_owned()).collect(),
        };
        Cell {
            key: CellKey {
                adapter: adapter.into(),
                workload: "w".into(),
                ..CellKey::default()
            },
            shapes: vec![shape],
            ..Cell::default()
        }
    }

    #[test]
    fn who_sends_less_or_more_is_named() {
        let cells = [
            cell("a", 200, &["date", "x"]),
            cell("b", 200, &["date", "x", "etag"]),
            cell("c", 90, &["x"]),
            cell("a", 999, &[]),
        ];
        let found = likeness(&cells, &[("w".to_owned(), 0.5)].into());
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].bytes, (200, 200), "its first cell speaks for it");
        assert!(found[0].far.is_empty() && found[0].less.is_empty());
        assert_eq!(found[1].more, ["date", "etag"], "not all others send these");
        assert_eq!(found[2].less, ["date"]);
        assert_eq!(found[2].far["hello"], -0.55);
        assert!(
            likeness(&cells, &[("w".to_owned(), 0.6)].into())[2]
                .far
                .is_empty()
        );
        let alone = likeness(&cells[..1], &BTreeMap::new());
        assert!(alone[0].more.is_empty() && alone[0].far.is_empty());
    }
}
