//! What a cell's seed draws for its proofs, drawn again: which nonces the matrix was asked with, and
//! which slots of the load were kept.

use super::{Transcript, kept, matrix};
use crate::load::schedule::{nonce, nonce_digits};
use crate::plan::Workload;
use crate::record::schema::Ledger;

/// The seed of one pass through the matrix, from its cell's.
pub fn proof_seed(cell_seed: u64, when: &str) -> u64 {
    cell_seed ^ if when == "before" { 2 } else { 3 }
}

/// The first thing in a transcript that its cell's seed did not draw. A pass that was never begun is
/// missed elsewhere.
pub fn differs(
    transcript: &Transcript,
    workload: &Workload,
    dev_routes: &[String],
    cell_seed: u64,
    ledger: &Ledger,
) -> Option<String> {
    let nonces = |when: &'static str| {
        let exchanges = transcript.exchanges.iter();
        exchanges.filter(move |exchange| exchange.when == when)
    };
    for when in ["before", "after"] {
        let rows = matrix::rows(workload, dev_routes, proof_seed(cell_seed, when));
        let drawn = rows.iter().map(|row| (&row.name, &row.nonce));
        let found = nonces(when).map(|exchange| (&exchange.row, &exchange.nonce));
        if nonces(when).next().is_some() && !drawn.eq(found) {
            return Some(format!(
                "the rows asked {when} the load are not those, with the nonces, that the plan's seed draws"
            ));
        }
    }
    let mut slots = kept::slots(ledger.scheduled, cell_seed).into_iter();
    let count = slots.len();
    let digits =
        |slot: u64| String::from_utf8_lossy(&nonce_digits(nonce(cell_seed, slot))).into_owned();
    let stray = nonces("during").find(|exchange| !slots.any(|slot| digits(slot) == exchange.nonce));
    if let Some(exchange) = stray {
        return Some(format!(
            "the nonce {} is of no slot that the plan's seed keeps, or out of order",
            exchange.nonce
        ));
    }
    let found = nonces("during").count();
    let lost = ledger.scheduled.saturating_sub(ledger.completed);
    ((found as u64) + lost < count as u64).then(|| {
        format!("{found} slots of the load are kept; the plan's seed keeps {count}, and {lost} did not complete")
    })
}
