//! The server that all are measured against, and those that are measured, each as a child process.
#![allow(unsafe_code)]

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use shootout::record::schema::Load;
use shootout::selftest::rig::Cpus;

/// How long each measurement takes, in seconds.
pub const SECONDS: u64 = 1;
/// Connections of all but the probe.
pub const CONNECTIONS: &str = "32";

/// nginx with one worker, on the servers' CPU.
pub struct Nginx {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
    _home: tempfile::TempDir,
}

impl Nginx {
    /// Starts it in a folder of its own.
    pub fn start(cpus: Cpus) -> io::Result<Self> {
        let home = tempfile::tempdir()?;
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let temporary = temporary.map(|what| format!("{what}_temp_path tmp_{what};\n"));
        let config = format!(
            "daemon off; master_process off; pid nginx.pid; error_log error.log;\n\
             events {{ worker_connections 1024; }}\n\
             http {{\n{}access_log off; keepalive_requests 1000000000; default_type text/plain;\n\
             server {{ listen {address}; location / {{ return 200 ok; }} }}\n}}\n",
            temporary.concat()
        );
        std::fs::write(home.path().join("nginx.conf"), config)?;
        let mut command = Command::new("nginx");
        command.arg("-p").arg(home.path());
        command.args(["-c", "nginx.conf", "-e", "error.log"]);
        // A child runs where the thread that started it did.
        let spawn = move || {
            cpus.be_server();
            command.spawn()
        };
        let spawned = std::thread::spawn(spawn).join();
        let child = spawned.map_err(|_| io::Error::other("no thread for nginx"))??;
        let nginx = Self {
            child,
            address,
            _home: home,
        };
        let until = Instant::now() + Duration::from_secs(5);
        while TcpStream::connect(address).is_err() {
            if Instant::now() > until {
                return Err(io::Error::other("nginx did not start"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(nginx)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

/// What a closed loop came to.
#[derive(Clone, Copy)]
pub struct Closed {
    /// Requests per second.
    pub rps: f64,
    /// Requests per second of the process's CPU time, start and end included.
    pub per_cpu_s: f64,
}

/// wrk, one thread.
pub fn wrk(url: &str) -> io::Result<Closed> {
    let (duration, connections) = (format!("-d{SECONDS}s"), format!("-c{CONNECTIONS}"));
    let (text, cpu_s) = run(Command::new("wrk").args(["-t1", &connections, &duration, url]))?;
    closed(number_after(&text, "Requests/sec:"), cpu_s)
}

/// h2load over HTTP/1.1, one thread.
pub fn h2load(url: &str) -> io::Result<Closed> {
    let duration = SECONDS.to_string();
    let mut command = Command::new("h2load");
    command.args(["--h1", "-t1", "-c", CONNECTIONS, "-D", &duration, url]);
    let (text, cpu_s) = run(&mut command)?;
    closed(
        number_after(&text, "finished in").and(number_after(&text, "s, ")),
        cpu_s,
    )
}

fn closed(rps: Option<f64>, cpu_s: f64) -> io::Result<Closed> {
    let rps = rps.ok_or_else(|| io::Error::other("no figure in a peer's output"))?;
    let per_cpu_s = rps * SECONDS as f64 / cpu_s;
    Ok(Closed { rps, per_cpu_s })
}

/// The engine, and the CPU time of its whole process in seconds.
pub fn engine(url: &str, arguments: &[&str]) -> io::Result<(Load, f64)> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shootout"));
    command.args([
        "load",
        url,
        "--json",
        "--quiet",
        "--connections",
        CONNECTIONS,
    ]);
    let (text, cpu_s) = run(command.args(arguments))?;
    Ok((serde_json::from_str(&text)?, cpu_s))
}

/// Runs a child to its end: what it printed, and the CPU time that it took.
fn run(command: &mut Command) -> io::Result<(String, f64)> {
    let before = children_cpu_s();
    let output = command.stderr(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok((text, children_cpu_s() - before))
}

/// CPU time of the children that have ended.
fn children_cpu_s() -> f64 {
    // SAFETY: a zeroed rusage is a valid value, and the kernel only writes into it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// The number that follows the first `mark`.
fn number_after(text: &str, mark: &str) -> Option<f64> {
    let rest = text.split_once(mark)?.1.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
    rest[..end.unwrap_or(rest.len())].parse().ok()
}
