//! Archives: their schema, how they are written, and how they are verified without Docker or network.

pub mod samples;
pub mod schema;
