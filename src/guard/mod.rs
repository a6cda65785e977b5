//! Guards of the scenery: each reads something, judges it (pure) and says what to do.

use serde::{Deserialize, Serialize};

pub mod doctor;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Ok,
    /// It can be measured, but look at it; also what can't be seen here.
    Warn,
    /// It can't be measured here.
    Fail,
}

/// One finding, as `doctor --json` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// What was looked at; stable, for scripts.
    pub id: String,
    /// How much it matters.
    pub level: Level,
    /// What was found.
    pub what: String,
    /// What to do about it; empty where there is nothing to do.
    pub fix: String,
}

impl Finding {
    /// As it should be.
    pub fn ok(id: &str, what: impl Into<String>) -> Self {
        Self::new(id, Level::Ok, what, "")
    }

    /// Worth a look.
    pub fn warn(id: &str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(id, Level::Warn, what, fix)
    }

    /// In the way of any measurement.
    pub fn fail(id: &str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(id, Level::Fail, what, fix)
    }

    /// What this machine does not show is not fine because of it.
    pub fn unseen(id: &str, what: &str, fix: impl Into<String>) -> Self {
        Self::warn(id, format!("{what}: not visible here"), fix)
    }

    fn new(id: &str, level: Level, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            id: id.to_owned(),
            level,
            what: what.into(),
            fix: fix.into(),
        }
    }
}

/// Whether nothing is in the way: `ok` of `doctor --json`.
pub fn passes(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.level != Level::Fail)
}
