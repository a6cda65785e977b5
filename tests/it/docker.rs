//! The engine as the tests see it: one at a time, and asked without the docker client, which need
//! not be installed.

use std::io::{Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

static TURN: Mutex<()> = Mutex::new(());

/// This test's turn to use the engine.
pub struct Turn {
    _within: MutexGuard<'static, ()>,
    _between: UnixListener,
}

/// Waits for this test's turn: among the tests of this process, and among such processes.
pub fn turn() -> Turn {
    let within = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let name = SocketAddr::from_abstract_name("shootout-tests").unwrap();
    let start = Instant::now();
    let between = loop {
        match UnixListener::bind_addr(&name) {
            Ok(socket) => break socket,
            Err(_) => assert!(start.elapsed() < Duration::from_secs(1800), "no turn came"),
        }
        std::thread::sleep(Duration::from_millis(200));
    };
    Turn {
        _within: within,
        _between: between,
    }
}

/// A container of a run.
#[derive(Debug)]
pub struct Container {
    pub id: String,
    pub name: String,
    pub is_running: bool,
}

/// The containers of the runs that this process began.
pub fn containers_of(pid: u32) -> Vec<Container> {
    let all = get("/containers/json?all=1&filters=%7B%22label%22%3A%5B%22shootout.run%22%5D%7D");
    let mut found = Vec::new();
    for one in all.as_array().unwrap() {
        let run = one["Labels"]["shootout.run"].as_str().unwrap();
        if run.ends_with(&format!("-{pid}")) {
            found.push(Container {
                id: one["Id"].as_str().unwrap().to_owned(),
                name: one["Names"][0].as_str().unwrap_or_default().to_owned(),
                is_running: one["State"] == "running",
            });
        }
    }
    found
}

/// The processes of a container that still live, whatever the engine says of it.
pub fn processes_of(container: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| {
        let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup"));
        groups.is_ok_and(|groups| groups.contains(container))
    })
    .collect()
}

/// Containers of builds, by what runs in them: a part of their command.
pub fn builds_running(command: &str) -> usize {
    let all = get("/containers/json?all=1&filters=%7B%22label%22%3A%5B%22shootout.image%22%5D%7D");
    let all = all.as_array().unwrap().iter();
    all.filter(|one| {
        one["Command"]
            .as_str()
            .is_some_and(|it| it.contains(command))
    })
    .count()
}

/// Where the engine listens.
pub fn socket() -> String {
    let host = std::env::var("DOCKER_HOST").unwrap_or_default();
    let socket = host.strip_prefix("unix://");
    socket.unwrap_or("/var/run/docker.sock").to_owned()
}

fn get(path: &str) -> Value {
    let mut socket = UnixStream::connect(socket()).expect("no engine: sh docker/engine.sh");
    socket
        .set_read_timeout(Some(Duration::from_secs(120)))
        .unwrap();
    // HTTP/1.0, so that the body ends with the connection.
    write!(socket, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").expect("an HTTP answer");
    serde_json::from_str(body).unwrap_or_else(|e| panic!("{e}: {answer}"))
}
