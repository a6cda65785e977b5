//! Runs the program under test, as a shell would.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

/// No test waits longer for one command: on a fresh machine the first one builds images.
const PATIENCE: Duration = Duration::from_secs(900);

/// The program that cargo built for these tests.
pub const BINARY: &str = env!("CARGO_BIN_EXE_shootout");

/// A command line being put together.
pub struct Program {
    command: Command,
}

/// The program, from the repository's root.
pub fn shootout() -> Program {
    program(BINARY)
}

/// Any program, from the repository's root, as if at a desk: these tests may run in a pipeline themselves, and
/// what the program shows there is asked for by the test that is about it.
pub fn program(path: impl AsRef<OsStr>) -> Program {
    let mut command = Command::new(path);
    command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_remove("CI");
    Program { command }
}

impl Program {
    /// Adds arguments, separated by spaces: `check liar -w ok`.
    pub fn args(mut self, line: &str) -> Self {
        self.command.args(line.split_whitespace());
        self
    }

    /// Adds one argument that may contain spaces.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.command.env(name, value.into());
        self
    }

    /// As this user, without the groups of the one who tests.
    pub fn user(mut self, id: u32) -> Self {
        use std::os::unix::process::CommandExt;
        self.command.uid(id).gid(id).current_dir("/");
        self
    }

    /// Starts it; stdin is empty, what it prints is collected.
    pub fn start(mut self) -> Running {
        self.command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let line = format!("{:?}", self.command);
        let mut child = self
            .command
            .spawn()
            .unwrap_or_else(|e| panic!("{line}: {e}"));
        let stdout = collect(child.stdout.take().unwrap());
        let stderr = collect(child.stderr.take().unwrap());
        Running {
            line,
            child,
            stdout: Some(stdout),
            stderr: Some(stderr),
        }
    }

    /// Runs it to its end.
    pub fn run(self) -> Outcome {
        self.start().wait()
    }
}

fn collect(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// A program that runs; killed if it is forgotten.
pub struct Running {
    line: String,
    child: Child,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

impl Running {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, signal);
    }

    pub fn wait(mut self) -> Outcome {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(start.elapsed() < PATIENCE, "{} does not end", self.line);
            std::thread::sleep(Duration::from_millis(5));
        };
        let text = |thread: &mut Option<JoinHandle<String>>| thread.take().unwrap().join().unwrap();
        Outcome {
            line: self.line.clone(),
            status,
            stdout: text(&mut self.stdout),
            stderr: text(&mut self.stderr),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How a command ended, and all that it printed.
pub struct Outcome {
    line: String,
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    /// Fails the test with everything that is known unless the exit code is this.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "{self}");
        self
    }

    /// The same for a run that measures: 0, or 4 where this machine was too busy for a valid run of
    /// each cell (`left_unmeasured`). All else about its archive must hold all the same.
    #[track_caller]
    pub fn exits_measured(self) -> Self {
        let code = if self.left_unmeasured() { 4 } else { 0 };
        self.exits(code)
    }

    /// A cell, a pair or the end of a search has no valid run, and that is why it ended with 4.
    pub fn left_unmeasured(&self) -> bool {
        self.status.code() == Some(4) && self.stderr.contains("no valid run")
    }

    /// The same unless all of these were said, on either stream.
    #[track_caller]
    pub fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            let said = self.stderr.contains(part) || self.stdout.contains(part);
            assert!(said, "not said: {part}\n{self}");
        }
        self
    }

    /// Stdout as the one JSON document that it must be.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("not JSON: {e}\n{self}"))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            status,
            stdout,
            stderr,
        } = self;
        write!(
            f,
            "{line}\n{status}\n--- stdout\n{stdout}\n--- stderr\n{stderr}"
        )
    }
}

/// The repository.
pub fn root() -> PathBuf {
    env!("CARGO_MANIFEST_DIR").into()
}
