//! `load`: the engine alone, against a server on this machine.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::{Context, print, print_json};
use crate::cli;
use crate::error::{Error, Exit, Result};
use crate::load::{self, Live, Measured, Pace, Spec, Template, Variant, clock, request};
use crate::record::{derive, hlog, schema};
use crate::report;
use crate::stats::quantile;
use crate::ui::View;

/// The schedule begins so long after everything is ready.
const LEAD_NS: u64 = 5_000_000;

/// How often a running load is looked at, and shown.
const LOOK: Duration = Duration::from_millis(250);

/// An open loop lasts so long unless told otherwise, a closed loop until its requests are done.
const DEFAULT_NS: u64 = 10 * clock::SECOND_NS;
const LONGEST_NS: u64 = 24 * 3600 * clock::SECOND_NS;

/// Loads a URL and prints what came of it; exit 4 if the run is invalid or completed nothing.
pub fn load(context: &Context, asked: &cli::Load) -> Result<()> {
    if asked.threads > asked.connections {
        let what = format!(
            "{} threads for {} connections",
            asked.threads, asked.connections
        );
        return Err(Error::usage(what)
            .next("each thread needs a connection: give at least as many --connections"));
    }
    let spec = spec(asked)?;
    if let Some(path) = asked.hlog.as_deref().filter(|path| path.exists()) {
        return Err(Error::usage(format!(
            "{} exists, and nothing is ever overwritten",
            path.display()
        ))
        .next("choose another name for --hlog"));
    }
    crate::awake::keep();
    if let Some(cpus) = &asked.cpus {
        crate::affinity::keep_to(cpus.iter())?;
    }
    let live = Arc::new(Live::default());
    cancel_on_ctrl_c(&live)?;
    if asked.warmup.0 > Duration::ZERO {
        let warm_up = Spec {
            pace: match spec.pace {
                Pace::Closed { .. } => Pace::Closed { requests: u64::MAX },
                open => open,
            },
            duration_ns: nanoseconds(asked.warmup.0),
            seed: !asked.seed,
            ..spec.clone()
        };
        drive(context, "warm-up", warm_up, &live)?;
    }
    if live.is_cancelled() {
        return Err(
            Error::new(Exit::Interrupted, "interrupted during the warm-up")
                .next("nothing was counted; the same command begins again"),
        );
    }
    let Measured {
        load: mut figures,
        hlog,
        ..
    } = drive(context, "load", spec, &live)?;
    derive::load(&mut figures, &hlog.clocks());
    if let Some(path) = &asked.hlog {
        let written = write_new(path, hlog::write(&hlog).as_bytes());
        written.map_err(|e| Error::io("write", path, &e))?;
    }
    let corrected = asked
        .correct_omission
        .then(|| corrected(&figures, asked.connections, &hlog))
        .flatten();
    if context.json {
        print_json(&Output {
            load: &figures,
            corrected: &corrected,
        })?;
    } else {
        print(&report::load::table(&figures))?;
        if let Some(Corrected {
            interval_us,
            response_us,
        }) = &corrected
        {
            print(&report::load::corrected(*interval_us, response_us))?;
        }
    }
    if live.is_cancelled() {
        let what = format!(
            "ended early, after {} slots; their ledger is true",
            figures.ledger.scheduled
        );
        return Err(Error::new(Exit::Interrupted, what)
            .next("the figures above are those of the slots until then"));
    }
    judge(&figures)
}

/// `load --json`.
#[derive(Serialize)]
struct Output<'a> {
    #[serde(flatten)]
    load: &'a schema::Load,
    /// Only where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    corrected: &'a Option<Corrected>,
}

/// A closed loop's response clock as it might have been: after each response that took longer than
/// the usual interval of a connection, those are added that it kept from being sent.
#[derive(Serialize)]
struct Corrected {
    interval_us: f64,
    response_us: schema::Latency,
}

/// Gil Tene's correction, with the mean time between two requests of one connection as the expected
/// interval. An open loop has no omission to correct: there it would count twice.
fn corrected(figures: &schema::Load, connections: u32, hlog: &hlog::Hlog) -> Option<Corrected> {
    let completed = figures.ledger.completed;
    let interval_ns = figures.duration_s * 1e9 * f64::from(connections) / completed as f64;
    let interval_ns = (completed > 0).then_some(interval_ns as u64)?;
    let histogram = hlog.clocks().response.clone_correct(interval_ns.max(1));
    let (response_us, _) = quantile::latency(&histogram, quantile::Over::Recorded);
    Some(Corrected {
        interval_us: quantile::us(interval_ns),
        response_us,
    })
}

fn judge(figures: &schema::Load) -> Result<()> {
    if figures.valid {
        return Ok(());
    }
    let reasons = figures.invalid_reasons.join("; ");
    Err(Error::incomplete(format!("the run is invalid: {reasons}")).next(
        "is the server up, and the machine idle? give the generator CPUs of its own (--cpus), or a lower --rate",
    ))
}

/// Runs a load on its own thread and shows how it goes.
fn drive(context: &Context, name: &str, spec: Spec, live: &Arc<Live>) -> Result<Measured> {
    let target = spec.target.to_string();
    context.ui.begin(View::new(0, 0, None, vec![target]));
    context.ui.phase(name, spec.length());
    let seen = Arc::clone(live);
    let thread = std::thread::spawn(move || {
        let armed = load::arm(spec, &seen)?;
        armed.run(clock::now_ns() + LEAD_NS)
    });
    let before = live.progress();
    while !thread.is_finished() {
        std::thread::sleep(LOOK);
        let now = live.progress();
        if now != before {
            context.ui.hear(0, now.since(before), 1.0);
        }
        context.ui.refresh();
    }
    context.ui.over();
    let ended = thread
        .join()
        .map_err(|_| Error::unexpected("the load's thread panicked"))?;
    ended.map_err(|e| {
        Error::machine(format!("the load broke off: {e}"))
            .next("too many files or threads at once? fewer --connections, or a higher `ulimit -n`")
    })
}

fn spec(asked: &cli::Load) -> Result<Spec> {
    let (target, authority, path) = target(&asked.url)?;
    let headers: Result<Vec<_>> = asked
        .headers
        .iter()
        .map(|header| header_field(header))
        .collect();
    let method = asked.method.to_ascii_uppercase();
    let text = request::bytes(&method, &path, &authority, &headers?, asked.body.as_deref());
    let expected = asked
        .expect_body
        .as_deref()
        .map(|body| Template::parse(body.as_bytes()));
    Ok(Spec {
        target,
        variants: vec![Variant {
            weight: 1,
            request: Template::parse(&text),
            bodiless: method == "HEAD",
            idempotent: request::is_idempotent(&method),
            statuses: vec![asked.expect_status],
            body: expected,
        }],
        pace: match (asked.rate, asked.requests) {
            (Some(rate_rps), _) => Pace::Open {
                rate_rps,
                arrivals: asked.arrivals,
            },
            (None, requests) => Pace::Closed {
                requests: requests.unwrap_or(u64::MAX),
            },
        },
        duration_ns: match asked.duration {
            Some(duration) => nanoseconds(duration.0),
            None if asked.closed => LONGEST_NS,
            None => DEFAULT_NS,
        },
        slices: None,
        blocks_ns: vec![],
        connections: asked.connections,
        threads: asked.threads,
        timeout_ns: nanoseconds(asked.timeout.0),
        spin_ns: nanoseconds(asked.spin.0),
        keep: vec![],
        seed: asked.seed,
    })
}

/// Address, authority and path of a URL that leads to this machine; exit 2 for any other.
fn target(url: &str) -> Result<(SocketAddr, String, String)> {
    let wrong = |what: &str| {
        Err(Error::usage(format!("{url}: {what}"))
            .next("expected http://127.0.0.1:PORT/PATH: a server on this machine"))
    };
    let Some(rest) = url.strip_prefix("http://") else {
        return wrong("not an http:// URL");
    };
    let (authority, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, "/"),
    };
    if path
        .bytes()
        .any(|byte| byte <= b' ' || byte == b'#' || byte >= 0x7f)
    {
        return wrong("the path must be percent-encoded and have no fragment");
    }
    let with_port = if authority
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok())
    {
        authority.to_owned()
    } else {
        format!("{authority}:80")
    };
    let Some(address) = with_port
        .to_socket_addrs()
        .ok()
        .and_then(|mut all| all.find(|a| a.ip().is_loopback()))
    else {
        return wrong("not an address of this machine's loopback");
    };
    Ok((address, authority.to_owned(), path.to_owned()))
}

fn header_field(text: &str) -> Result<(String, String)> {
    let parts = text
        .split_once(':')
        .map(|(name, value)| (name.trim(), value.trim()));
    match parts {
        Some((name, value)) if is_token(name) && value.bytes().all(|b| b >= b' ' && b != 0x7f) => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => {
            Err(Error::usage(format!("-H {text:?} is not a header")).next("expected `Name: value`"))
        }
    }
}

fn is_token(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// The first Ctrl-C ends the schedule, and the ledger stays true; the second ends the program.
fn cancel_on_ctrl_c(live: &Arc<Live>) -> Result<()> {
    let live = Arc::clone(live);
    let runtime = crate::runtime()?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            while tokio::signal::ctrl_c().await.is_ok() {
                if live.is_cancelled() {
                    // What is shown stays as it is, on lines of its own.
                    eprintln!();
                    std::process::exit(Exit::Interrupted as i32);
                }
                live.cancel();
            }
        });
    });
    Ok(())
}

/// Writes a file that does not exist yet.
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_servers_on_this_machine_are_loaded() {
        let (address, authority, path) = target("http://127.0.0.1:8080/a?b={nonce}").unwrap();
        assert_eq!(
            (address.to_string().as_str(), authority.as_str()),
            ("127.0.0.1:8080", "127.0.0.1:8080")
        );
        assert_eq!(path, "/a?b={nonce}");
        assert_eq!(target("http://localhost").unwrap().2, "/");
        for url in [
            "http://10.0.0.1:80/",
            "http://172.17.0.1/",
            "https://127.0.0.1/",
            "127.0.0.1:80",
            "http://127.0.0.1/ x",
        ] {
            let error = target(url).unwrap_err();
            assert_eq!(error.exit, Exit::Usage, "{url}");
            assert!(error.next.contains("http://127.0.0.1:PORT"), "{url}");
        }
    }

    #[test]
    fn headers_are_names_and_values() {
        assert_eq!(
            header_field("X-A:  b ").unwrap(),
            ("X-A".into(), "b".into())
        );
        for wrong in ["", "x", ": y", "a b: c", "a: b\r\nc: d"] {
            assert_eq!(
                header_field(wrong).unwrap_err().exit,
                Exit::Usage,
                "{wrong:?}"
            );
        }
    }
}
