//! The one place that turns bollard's errors into sentences that say what to do.

use bollard::errors::Error as Bollard;

use crate::error::{Error, root_cause};

/// Says what failed while doing something (`start the container`), and what to do next.
pub fn explain(doing: &str, error: Bollard) -> Error {
    match error {
        Bollard::DockerResponseServerError { message, .. } => refused(doing, &message),
        Bollard::DockerStreamError { error } => refused(doing, &error),
        Bollard::DockerContainerWaitError { error, .. } => refused(doing, &error),
        Bollard::RequestTimeoutError => Error::machine(format!(
            "the Docker engine did not answer in time: could not {doing}"
        ))
        .next("see what it is busy with (`docker ps`, its log), then run the same command again"),
        lost => Error::machine(format!(
            "the Docker engine was lost: could not {doing} ({})",
            root_cause(&lost)
        ))
        .next("start it again with `sh docker/engine.sh`"),
    }
}

fn refused(doing: &str, message: &str) -> Error {
    let message = message.trim();
    let error = Error::machine(format!("the Docker engine could not {doing}: {message}"));
    let advice = [
        (
            "no space left on device",
            "free some space (`docker system df` shows what Docker holds), then run it again",
        ),
        (
            "Requested CPUs are not available",
            "choose CPUs that this machine has, with --target-cpus and --load-cpus",
        ),
        (
            "cgroup",
            "`shootout doctor` says which limits this machine can enforce",
        ),
        (
            "permission denied",
            "run as root, or as a member of the group that owns the engine's socket",
        ),
    ];
    match advice.iter().find(|(sign, _)| message.contains(sign)) {
        Some((_, next)) => error.next(*next),
        None => error.next("the engine's log says more (`journalctl -u docker`, or the file that docker/engine.sh named)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Exit;

    #[test]
    fn every_error_says_what_failed_and_what_to_do() {
        let refusal = |message: &str| Bollard::DockerResponseServerError {
            status_code: 500,
            message: message.into(),
        };
        let table = [
            (
                refusal("write /x: no space left on device"),
                "no space left",
                "docker system df",
            ),
            (
                refusal("Requested CPUs are not available - requested 7"),
                "CPUs",
                "--target-cpus",
            ),
            (refusal("anything"), "anything", "log"),
            (Bollard::RequestTimeoutError, "in time", "again"),
            (
                Bollard::IOError {
                    err: std::io::ErrorKind::BrokenPipe.into(),
                },
                "lost",
                "engine.sh",
            ),
        ];
        for (error, what, next) in table {
            let error = explain("start the container", error);
            assert_eq!(error.exit, Exit::Machine);
            assert!(
                error.what.contains("start the container") && error.what.contains(what),
                "{error}"
            );
            assert!(error.next.contains(next), "{error}");
        }
    }
}
