//! The agent's control loop.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use super::listening;
use super::protocol::{Command, Event, VERSION, line};
use crate::error::Result;
use crate::load::{self, Live, Measured, Spec, clock};
use crate::parity::client::Client;
use crate::parity::{Answer, Ask};

/// A target that does not listen yet is tried again after so long.
const RETRY: Duration = Duration::from_millis(2);
/// Until the runner says otherwise.
const LIFETIME: Duration = Duration::from_secs(600);
/// A first answer may take its time: some servers compile on the first request.
const FIRST_ANSWER: Duration = Duration::from_secs(10);

/// Speaks the protocol on stdin and stdout until stdin closes.
pub fn serve() -> Result<()> {
    let mut commands = commands();
    let digest = super::binary::agent_binary()?.digest;
    say(&Event::Agent {
        protocol: VERSION,
        digest,
    });
    let runtime = crate::runtime()?;
    runtime.block_on(async {
        let mut load = None;
        while let Some(command) = commands.recv().await {
            match command {
                Command::Live { seconds } => end_after(Duration::from_secs(seconds)),
                Command::AwaitTarget {
                    port,
                    path,
                    patience_ms,
                } => {
                    say(&await_target(port, path, Duration::from_millis(patience_ms)).await);
                }
                Command::Ask {
                    port,
                    deadline_ms,
                    asks,
                } => {
                    say(&ask(port, Duration::from_millis(deadline_ms), &asks).await);
                }
                Command::Burst {
                    port,
                    deadline_ms,
                    asks,
                    count,
                    seed,
                } => {
                    let deadline = Duration::from_millis(deadline_ms);
                    say(&burst(port, deadline, &asks, count, seed).await);
                }
                Command::Arm { spec } => {
                    let (running, event) = arm(*spec).await;
                    load = running;
                    say(&event);
                }
                Command::Go { epoch_ns } => match load.take() {
                    Some(running) => go(running, epoch_ns).await,
                    None => say(&failed("no load is armed")),
                },
            }
        }
    });
    Ok(())
}

/// The runner's commands. A closed stdin means that the runner is gone, and ends the process at once
/// whatever it is doing.
fn commands() -> mpsc::UnboundedReceiver<Command> {
    let (sender, receiver) = mpsc::unbounded_channel();
    end_after(LIFETIME);
    std::thread::spawn(move || {
        for text in std::io::stdin().lock().lines() {
            let Ok(text) = text else { break };
            match serde_json::from_str(&text) {
                Ok(command) => {
                    let _ = sender.send(command);
                }
                Err(error) => say(&failed(format!("not a command: {error}"))),
            }
        }
        std::process::exit(0);
    });
    receiver
}

/// Ends the process then, unless a later call moves the moment.
fn end_after(lifetime: Duration) {
    use std::sync::atomic::{AtomicU64, Ordering};
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let call = CALLS.fetch_add(1, Ordering::SeqCst) + 1;
    std::thread::spawn(move || {
        std::thread::sleep(lifetime);
        if CALLS.load(Ordering::SeqCst) == call {
            eprintln!("the agent has outlived its run");
            std::process::exit(crate::error::Exit::Machine as i32);
        }
    });
}

fn say(event: &Event) {
    let mut stdout = std::io::stdout().lock();
    // A runner that does not listen any more closes stdin too, which ends this process.
    let _ = stdout
        .write_all((line(event) + "\n").as_bytes())
        .and_then(|()| stdout.flush());
}

fn failed(why: impl Into<String>) -> Event {
    Event::Failed { why: why.into() }
}

async fn await_target(port: u16, path: String, patience: Duration) -> Event {
    let client = match Client::new(port, FIRST_ANSWER.min(patience)) {
        Ok(client) => client,
        Err(error) => return failed(format!("cannot make a client: {error}")),
    };
    let ask = Ask {
        method: "GET".into(),
        path,
        headers: vec![],
        body: None,
    };
    let give_up = Instant::now() + patience;
    loop {
        // A bare connect is cheaper than a whole request, for the target's start as well.
        if tokio::net::TcpStream::connect(("127.0.0.1", port))
            .await
            .is_ok()
        {
            let answer = client.ask(&ask).await;
            if (200..400).contains(&answer.status) {
                return Event::TargetReady {
                    unix_s: clock::unix_s(),
                };
            }
        }
        if Instant::now() >= give_up {
            let table =
                |name| std::fs::read_to_string(format!("/proc/net/{name}")).unwrap_or_default();
            let seen = listening::explain(port, &table("tcp"), &table("tcp6"));
            return Event::TargetNotReady {
                why: format!("no valid response within {patience:?}: {seen}"),
            };
        }
        tokio::time::sleep(RETRY).await;
    }
}

async fn ask(port: u16, deadline: Duration, asks: &[Ask]) -> Event {
    let client = match Client::new(port, deadline) {
        Ok(client) => client,
        Err(error) => return failed(format!("cannot make a client: {error}")),
    };
    let mut answers: Vec<Answer> = Vec::new();
    for ask in asks {
        answers.push(client.ask(ask).await);
    }
    Event::Answers { answers }
}

async fn burst(port: u16, deadline: Duration, asks: &[Ask], count: u64, seed: u64) -> Event {
    match Client::new(port, deadline) {
        Ok(client) => Event::Burst {
            burst: client.burst(asks, count, seed).await,
        },
        Err(error) => failed(format!("cannot make a client: {error}")),
    }
}

/// A load on a thread of its own, waiting for its epoch.
struct Running {
    live: Arc<Live>,
    epoch: std::sync::mpsc::Sender<u64>,
    measured: oneshot::Receiver<std::io::Result<Measured>>,
}

async fn arm(spec: Spec) -> (Option<Running>, Event) {
    let live = Arc::new(Live::default());
    let (epoch, wait_for_epoch) = std::sync::mpsc::channel();
    let (armed, is_armed) = oneshot::channel();
    let (done, measured) = oneshot::channel();
    let seen = Arc::clone(&live);
    std::thread::spawn(move || {
        let load = match load::arm(spec, &seen) {
            Ok(load) => load,
            Err(error) => return drop(armed.send(Err(error))),
        };
        let _ = armed.send(Ok(()));
        if let Ok(epoch_ns) = wait_for_epoch.recv() {
            let _ = done.send(load.run(epoch_ns));
        }
    });
    match is_armed.await {
        Ok(Ok(())) => (
            Some(Running {
                live,
                epoch,
                measured,
            }),
            Event::Armed,
        ),
        Ok(Err(error)) => (None, failed(format!("cannot arm the load: {error}"))),
        Err(_) => (None, failed("the load's thread ended")),
    }
}

async fn go(mut running: Running, epoch_ns: u64) {
    let _ = running.epoch.send(epoch_ns);
    // The driver counts once a second, a quarter of it late at most: asked after that, it says what is new.
    let first = tokio::time::Instant::now() + Duration::from_millis(1300);
    let mut every_second = tokio::time::interval_at(first, Duration::from_secs(1));
    loop {
        tokio::select! {
            measured = &mut running.measured => {
                let event = match measured {
                    Ok(Ok(Measured { load, hlog, kept })) => {
                        say(&Event::Over);
                        let hlog = crate::record::hlog::write(&hlog);
                        Event::Done { load: Box::new(load), hlog, kept }
                    }
                    Ok(Err(error)) => failed(format!("the load broke off: {error}")),
                    Err(_) => failed("the load's thread ended"),
                };
                return say(&event);
            }
            _ = every_second.tick() => say(&Event::Progress { progress: running.live.progress() }),
        }
    }
}
