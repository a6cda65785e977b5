//! What runs inside a cell: it owns the cell's network namespace, asks the target what the runner
//! tells it to ask, and drives the load. It ends when its runner does.

pub mod binary;
pub mod listening;
pub mod protocol;
mod serve;

pub use serve::serve;
