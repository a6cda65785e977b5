//! What users see: the program itself, real processes, real containers.
//!
//! Needs a Docker engine (`sh docker/engine.sh`) and nothing else; images are built on the way.
//! Nothing here depends on how fast the machine is.

mod adapter;
mod agent;
mod browser;
mod docker;
mod documents;
mod duel;
mod engine_script;
mod errors;
mod gate;
mod help;
mod interrupted;
mod kit;
mod load;
mod machine;
mod other_tools;
mod page;
mod parity;
mod program;
mod reproduce;
mod request_head;
mod results;
mod rules;
mod smoke;
mod sustain;
mod targets;
mod terminal;
mod together;
mod usage;
