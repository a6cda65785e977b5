//! Everything computed from what was measured: pure, without Docker, sockets or files. `README.md` has
//! the rules of verdicts, their sources, and what they can find.

mod bootstrap;
mod checks;
pub mod claim;
pub mod compare;
#[cfg(test)]
mod dice;
pub mod duel;
#[cfg(test)]
mod fixture;
pub mod gate;
pub mod groups;
pub mod interval;
pub mod judge;
pub mod likeness;
pub mod metric;
mod pairs;
mod prices;
pub mod provable;
mod published;
pub mod quantile;
pub mod reproduce;
#[cfg(test)]
mod scipy;
#[cfg(test)]
mod simulate;
pub mod stalls;
pub mod student;
pub mod sustain;
