//! The agent, as its runner meets it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::program::BINARY;

/// Gone when it is dropped.
struct Agent {
    child: Child,
    events: BufReader<std::process::ChildStdout>,
}

#[test]
fn it_says_hello_answers_garbage_and_ends_when_its_stdin_closes() {
    let mut agent = Agent::start();
    let hello = agent.event();
    assert_eq!(hello["is"], "agent");
    assert_eq!(hello["protocol"], shootout::agent::protocol::VERSION);
    let digest = Sha256::digest(std::fs::read(BINARY).unwrap());
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hello["digest"], digest.as_str());
    for garbage in [
        "",
        "{",
        "nonsense",
        "{\"do\":\"dance\"}",
        "[1,2]",
        "{\"do\":\"live\"}",
    ] {
        agent.tell(garbage);
        let answer = agent.event();
        assert_eq!(answer["is"], "failed", "{garbage:?}: {answer}");
    }
    // It still works.
    agent.tell(&json!({"do": "go", "epoch_ns": 0}).to_string());
    assert!(
        agent.event()["why"]
            .as_str()
            .unwrap()
            .contains("no load is armed")
    );
    agent.ends_when_stdin_closes();
}

#[test]
fn it_ends_with_its_stdin_even_in_the_middle_of_something() {
    let mut agent = Agent::start();
    agent.event();
    let wait = json!({"do": "await_target", "port": 1, "path": "/", "patience_ms": 600_000});
    agent.tell(&wait.to_string());
    std::thread::sleep(Duration::from_millis(100));
    agent.ends_when_stdin_closes();
}

#[test]
fn it_ends_when_its_time_is_up_though_its_stdin_stays_open() {
    let mut agent = Agent::start();
    agent.event();
    agent.tell(&json!({"do": "live", "seconds": 1}).to_string());
    assert_eq!(agent.end(), Some(3));
}

impl Agent {
    fn start() -> Self {
        let mut child = Command::new(BINARY)
            .arg("agent")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let events = BufReader::new(child.stdout.take().unwrap());
        Self { child, events }
    }

    fn event(&mut self) -> Value {
        let mut line = String::new();
        self.events.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn ends_when_stdin_closes(mut self) {
        drop(self.child.stdin.take());
        assert_eq!(self.end(), Some(0));
    }

    fn end(&mut self) -> Option<i32> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(start.elapsed() < Duration::from_secs(10), "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
