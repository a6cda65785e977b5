//! What the machine says about a target while it is measured: its cgroup (v1 or v2), its processes,
//! and the host it runs on. The parsers are pure on strings; the readers around them are thin.

use std::path::PathBuf;

pub mod cgroup;
pub mod host;
mod place;
pub mod process;
pub mod sampler;
pub mod scenery;

/// Where the machine's own file systems are. Elsewhere than usual in tests, and in a container that
/// has the host's mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// The process file system, as `/proc`. Its `self/mountinfo` says where cgroups are mounted.
    pub proc: PathBuf,
    /// The system's file system, as `/sys`.
    pub sys: PathBuf,
    /// The folder of `os-release`, as `/etc`.
    pub etc: PathBuf,
    /// The devices, as `/dev`.
    pub dev: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self {
            proc: "/proc".into(),
            sys: "/sys".into(),
            etc: "/etc".into(),
            dev: "/dev".into(),
        }
    }
}

/// The value of `key` in text of lines like `key value` or `Key:  value kB`.
///
/// The key must match whole: `oom_kill` is not `oom_kill_disable`.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(key)?;
        rest.starts_with([':', ' ', '\t'])
            .then(|| rest.trim_start_matches(':').trim())
    })
}

/// The whole number that `key` has in such text, without the unit that may follow it.
fn number(text: &str, key: &str) -> Option<u64> {
    field(text, key)?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\nVmRSS:\t    1544 kB\nbad x\n";
        assert_eq!(number(text, "oom_kill"), Some(3));
        assert_eq!(number(text, "VmRSS"), Some(1544));
        assert_eq!(number(text, "bad"), None);
        assert_eq!(number(text, "oom"), None);
        assert_eq!(number("", "oom"), None);
    }
}
