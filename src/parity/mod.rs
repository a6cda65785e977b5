//! Equal work, proven: the same request matrix to every adapter, judged against the workload.
//!
//! `matrix` says what is asked, `client` asks it (inside the cell), `judge` compares; all but the
//! client are pure, so that an archive's transcript can be judged again without a network.

pub mod archived;
pub mod client;
pub mod drawn;
pub mod exchange;
pub mod judge;
pub mod kept;
pub mod matrix;
#[cfg(test)]
mod tests;
pub mod transcript;

pub use exchange::{Answer, Ask, Burst, Exchange};
pub use transcript::Transcript;
