//! Archives: their schema, how they are written, and how they are verified without Docker or network.
//!
//! Writing: [`archive`] puts a run's folder together from [`hlog`], [`samples`] and what [`derive`]
//! makes of them. Reading: [`source`] gives the files of a folder or of its one tar ([`tarball`]),
//! and [`verify`] recomputes everything that [`derive`] and `stats` computed.

pub mod archive;
pub mod bounds;
pub(crate) mod compare;
pub mod derive;
pub mod details;
#[cfg(test)]
pub mod fixture;
pub mod hlog;
pub(crate) mod json;
pub mod planned;
pub mod samples;
pub mod scenery;
pub mod schema;
pub mod source;
pub mod sums;
pub mod tarball;
pub mod verify;
pub mod versions;
