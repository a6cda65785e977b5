//! What can go wrong, as the person at the terminal sees it: what, where, what to do next.

use std::fmt;

/// The exit codes that INTERFACE promises to scripts; 0 is success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// An unexpected failure; what was already measured is kept.
    Unexpected = 1,
    /// The command line, a plan, an adapter or a workload is wrong.
    Usage = 2,
    /// This machine cannot do it.
    Machine = 3,
    /// Measured, but incomplete.
    Incomplete = 4,
    /// Verification failed.
    Unverified = 5,
    /// A gate that was asked for does not hold.
    Gate = 6,
    /// Interrupted by the user.
    Interrupted = 130,
}

/// A failure that ends a command: its exit code, what was wrong and where, and what to do next.
#[derive(Clone, Debug)]
pub struct Error {
    /// The exit code that this failure ends the program with.
    pub exit: Exit,
    /// What was wrong, and where.
    pub what: String,
    /// What to do about it; empty where the first sentence says it all.
    pub next: String,
}

/// The result of everything that can end a command.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A failure of the given kind, without advice yet.
    pub fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self {
            exit,
            what: what.into(),
            next: String::new(),
        }
    }

    /// Exit 1: something that should not happen.
    pub fn unexpected(what: impl Into<String>) -> Self {
        Self::new(Exit::Unexpected, what)
    }

    /// Exit 2: what the user wrote is wrong.
    pub fn usage(what: impl Into<String>) -> Self {
        Self::new(Exit::Usage, what)
    }

    /// Exit 3: this machine cannot do it.
    pub fn machine(what: impl Into<String>) -> Self {
        Self::new(Exit::Machine, what)
    }

    /// Exit 4: measured, but incomplete.
    pub fn incomplete(what: impl Into<String>) -> Self {
        Self::new(Exit::Incomplete, what)
    }

    /// Exit 5: an archive that does not hold.
    pub fn unverified(what: impl Into<String>) -> Self {
        Self::new(Exit::Unverified, what)
    }

    /// Adds what to do next.
    #[must_use]
    pub fn next(mut self, advice: impl Into<String>) -> Self {
        self.next = advice.into();
        self
    }

    /// Puts where it happened before what happened.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.what = format!("{place}: {}", self.what);
        self
    }

    /// An I/O failure at a path: a full disk is this machine's (exit 3), anything else unexpected.
    pub fn io(doing: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        use std::io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        let what = format!("cannot {doing} {}: {error}", path.display());
        match error.kind() {
            StorageFull | QuotaExceeded => Self::machine(what).next("free some space"),
            ReadOnlyFilesystem => Self::machine(what).next("choose another folder with --out DIR"),
            _ => Self::unexpected(what),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if !self.next.is_empty() {
            write!(f, "\n  {}", self.next)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// What lies at the bottom of a library's error: the part that says something to its reader.
pub fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
