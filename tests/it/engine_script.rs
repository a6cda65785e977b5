//! docker/engine.sh where there is nothing to do.

use std::time::{Duration, Instant};

use crate::docker::turn;
use crate::program::program;

#[test]
fn it_is_posix_shell_and_leaves_an_engine_that_answers_alone() {
    let _turn = turn();
    program("sh").args("-n docker/engine.sh").run().exits(0);
    let start = Instant::now();
    let run = program("sh").args("docker/engine.sh").run().exits(0);
    run.says(&["nothing to do"]);
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "it did something"
    );
}

#[test]
fn it_says_what_to_do_about_an_engine_elsewhere_that_does_not_answer() {
    let script = program("sh").args("docker/engine.sh");
    let run = script.env("DOCKER_HOST", "unix:///nonexistent.sock").run();
    run.exits(3)
        .says(&["unix:///nonexistent.sock", "unset DOCKER_HOST"]);
}
