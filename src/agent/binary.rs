//! This very program's file: what the agent's image holds, and how runner and agent know that they
//! are the same program.

use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// This program's file.
pub struct AgentBinary {
    /// All of it.
    pub bytes: Vec<u8>,
    /// SHA-256 of it: runner and agent compare theirs before they work together.
    pub digest: String,
}

/// Reads this program's own file, even if a newer build has taken its place meanwhile.
pub fn agent_binary() -> Result<AgentBinary> {
    let exe = Path::new("/proc/self/exe");
    let bytes = fs::read(exe).map_err(|e| Error::io("read", exe, &e))?;
    let digest = crate::record::sums::hex(&Sha256::digest(&bytes));
    Ok(AgentBinary { bytes, digest })
}
