//! What the attempts at planned cells come to.

use std::collections::BTreeSet;

use crate::plan::Matrix;
use crate::record::schema::{Cell, CellKey};

/// Whether a cell is an attempt at a planned one.
pub(super) fn is_attempt_of(cell: &Cell, planned: &CellKey) -> bool {
    is_attempt(&cell.key, planned)
}

/// The same of its key.
pub(super) fn is_attempt(key: &CellKey, planned: &CellKey) -> bool {
    CellKey {
        attempt: planned.attempt,
        ..key.clone()
    } == *planned
}

/// How many planned cells have no valid run. The sides of a pair have one only if all are valid in the same attempt.
pub(super) fn unmeasured(matrix: &Matrix, cells: &[Cell]) -> usize {
    let valid = cells.iter().filter(|cell| cell.load.valid);
    let valid: BTreeSet<&CellKey> = valid.map(|cell| &cell.key).collect();
    let last = valid.iter().map(|key| key.attempt).max().unwrap_or(0);
    let is_valid = |key: &CellKey, attempt| {
        let key = CellKey {
            attempt,
            ..key.clone()
        };
        valid.contains(&key)
    };
    let is_measured =
        |load: &&[CellKey]| (1..=last).any(|n| load.iter().all(|key| is_valid(key, n)));
    let units = matrix.units.iter();
    let loads = units.flat_map(|unit| unit.cells.chunks(unit.sides()));
    let missing = loads.filter(|load| !is_measured(load));
    missing.map(<[CellKey]>::len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Unit;

    fn key(side: &str, connections: u32) -> CellKey {
        CellKey {
            adapter: "x".into(),
            pair: Some(1),
            side: Some(side.into()),
            connections,
            attempt: 1,
            ..CellKey::default()
        }
    }

    #[test]
    fn a_pair_is_measured_where_all_sides_are_valid_in_one_attempt() {
        let pair = [key("a", 8), key("b", 8), key("a", 16), key("b", 16)];
        let unit = Unit {
            cells: pair.to_vec(),
        };
        let matrix = Matrix {
            units: vec![unit],
            holes: vec![],
        };
        /// Side, connections and attempt of the valid ones.
        type Valid = &'static [(&'static str, u32, u32)];
        let table: [(Valid, usize); 5] = [
            (&[], 4),
            (&[("a", 8, 1), ("b", 8, 1)], 2),
            (&[("a", 8, 1), ("b", 8, 2), ("a", 16, 3), ("b", 16, 3)], 2),
            (&[("a", 8, 1), ("b", 8, 2), ("a", 8, 2)], 2),
            (&[("a", 8, 1), ("b", 8, 1), ("a", 16, 2), ("b", 16, 2)], 0),
        ];
        for (valid, expected) in table {
            let mut cells = vec![];
            for attempt in 1..=3 {
                for key in &pair {
                    let key = CellKey {
                        attempt,
                        ..key.clone()
                    };
                    let mut cell = Cell {
                        key: key.clone(),
                        ..Cell::default()
                    };
                    let side = key.side.as_deref().unwrap();
                    cell.load.valid = valid.contains(&(side, key.connections, attempt));
                    cells.push(cell);
                }
            }
            assert_eq!(unmeasured(&matrix, &cells), expected, "{valid:?}");
        }
    }
}
