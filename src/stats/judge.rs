//! The two separate judgements: valid (the instrument) and healthy (the target).

use serde::{Deserialize, Serialize};

/// The plan's bounds on a healthy target; errors, timeouts and wrong responses are never healthy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Healthy {
    /// Least completed / scheduled.
    pub coverage: f64,
    /// Most response p99.
    pub p99_ms: f64,
}
