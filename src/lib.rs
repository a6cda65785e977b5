//! `shootout` compares web frameworks honestly: equal work proven by a request matrix, fixed-rate
//! open-loop load, and archives from which every published number can be recomputed offline.

pub mod error;
pub mod record;
pub mod stats;
