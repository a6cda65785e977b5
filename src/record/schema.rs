//! The JSON that scripts read: one type per document, fields in their published order, units in
//! their names. `results/README.md` is the prose of this file.

mod cell;
mod load;
mod summary;

pub use cell::*;
pub use load::*;
pub use summary::*;

/// The archive's and every document's version; it grows when a meaning changes.
pub const SCHEMA: u32 = 1;

/// An adapter, or a labelled variant of it, as plans name it.
fn contender(adapter: &str, label: &str) -> String {
    match label {
        "" => adapter.to_owned(),
        label => format!("{adapter}@{label}"),
    }
}
