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

impl Exit {
    fn advice(self) -> &'static str {
        match self {
            Exit::Unexpected => {
                "this should not happen: if it does again, report it with what the command says with -v, \
                 and with `shootout --version` and `shootout doctor`"
            }
            Exit::Usage => {
                "`shootout --help` lists the verbs, `shootout VERB --help` shows examples"
            }
            Exit::Machine => "`shootout doctor` says what this machine can and can't do",
            Exit::Incomplete => "what is missing is named above; the rest is kept",
            Exit::Unverified => {
                "`shootout verify` lists everything that differs; results/README.md says what an archive is"
            }
            Exit::Gate => "the figures behind it are above; without the gate the command succeeds",
            Exit::Interrupted => "the same command begins again",
        }
    }
}

/// A failure that ends a command: its exit code, what was wrong and where, and what to do next.
#[derive(Clone, Debug)]
pub struct Error {
    /// The exit code that this failure ends the program with.
    pub exit: Exit,
    /// What was wrong, and where.
    pub what: String,
    /// What to do about it; empty where nothing better is known than [`Error::advised`] says of its kind.
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

    /// With what can be done about any failure of its kind, where nothing better is known.
    #[must_use]
    pub fn advised(mut self) -> Self {
        if self.next.is_empty() {
            self.next = self.exit.advice().to_owned();
        }
        self
    }

    /// Puts where it happened before what happened.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.what = format!("{place}: {}", self.what);
        self
    }

    /// An I/O failure at a path: a disk that is full or not for this user is the machine's (exit 3),
    /// anything else unexpected.
    pub fn io(doing: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        use std::io::ErrorKind::{
            PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull,
        };
        let what = format!("cannot {doing} {}: {error}", path.display());
        match error.kind() {
            StorageFull | QuotaExceeded => Self::machine(what).next("free some space"),
            ReadOnlyFilesystem => Self::machine(what).next("choose another folder with --out DIR"),
            PermissionDenied => Self::machine(what)
                .next("run as the user whose it is, or name another place (--out DIR, -o FILE)"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_ends_the_program_says_what_to_do_next() {
        let table = [
            (Exit::Unexpected, "report it"),
            (Exit::Usage, "shootout VERB --help"),
            (Exit::Machine, "shootout doctor"),
            (Exit::Incomplete, "above"),
            (Exit::Unverified, "shootout verify"),
            (Exit::Gate, "above"),
            (Exit::Interrupted, "same command"),
        ];
        for (exit, advice) in table {
            let error = Error::new(exit, "what").advised();
            assert!(error.next.contains(advice), "{exit:?}: {error}");
            let better = Error::new(exit, "what").next("mend it").advised();
            assert_eq!(better.to_string(), "what\n  mend it");
        }
    }

    #[test]
    fn a_full_disk_is_the_machines_fault_and_says_so() {
        use std::io::ErrorKind;
        let table = [
            (ErrorKind::StorageFull, Exit::Machine, "free some space"),
            (ErrorKind::ReadOnlyFilesystem, Exit::Machine, "--out DIR"),
            (ErrorKind::PermissionDenied, Exit::Machine, "whose it is"),
            (ErrorKind::Other, Exit::Unexpected, "report it"),
        ];
        for (kind, exit, advice) in table {
            let path = std::path::Path::new("results/x");
            let error = Error::io("write", path, &kind.into()).advised();
            assert_eq!(error.exit, exit);
            assert!(error.what.starts_with("cannot write results/x: "));
            assert!(error.next.contains(advice), "{error}");
        }
    }
}
