//! What people write, checked: adapters, workloads and plans, from YAML to the cells to be run in
//! their seeded order. Everything here is pure, on texts and values; only [`kit`] reads folders.

pub mod adapter;
pub mod agenda;
mod check;
pub mod connections;
pub mod contender;
pub mod cpus;
pub mod disk;
pub mod dry_run;
pub mod expect;
pub mod expected;
mod kinds;
pub mod kit;
pub mod made;
pub mod matrix;
mod names;
pub mod overrides;
mod pairs;
pub mod phases;
pub mod published;
pub mod request;
pub mod sources;
pub mod span;
pub mod spec;
pub mod sustain;
mod template;
mod variant;
pub mod workload;
pub mod yaml;

pub use adapter::Adapter;
pub use agenda::{Agenda, Outcome};
pub use kit::Kit;
pub use matrix::{Matrix, Unit, cell_seed, mask_seed};
pub use overrides::Overrides;
pub use published::Published;
pub use spec::Plan;
pub use workload::{Variant, Workload};
