//! Everything computed from what was measured: pure, without Docker, sockets or files.

pub mod compare;
pub mod groups;
pub mod judge;
pub mod likeness;
pub mod quantile;
