//! What `stats` computed, as people and programs read it. Nothing is computed here.

pub mod csv;
pub mod html;
pub mod json;
mod lists;
pub mod load;
pub mod markdown;
pub mod reproduction;
pub mod sustain;
pub mod table;
pub mod terminal;
pub mod verdicts;
