//! What a terminal shows while the program works: on a pty of 80 columns and on one of 200, which util-linux's
//! `script` makes. How the lines look is held beside the code that writes them.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::program::{BINARY, Outcome, program};

/// A server that answers one request after the other, on any number of connections.
fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut request = [0; 1024];
                while let Ok(1..) = stream.read(&mut request) {
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
                }
            });
        }
    });
    format!("http://{address}/")
}

/// Runs the program on a terminal of this size; what it wrote there is the outcome's stdout.
fn on_terminal(size: (u32, u32), line: &str) -> Outcome {
    let (columns, rows) = size;
    let line = format!("stty cols {columns} rows {rows} && exec {BINARY} {line}");
    let script = program("script")
        .args("-q -e -c")
        .arg(line)
        .arg("/dev/null");
    script.env("TERM", "xterm").env("NO_COLOR", "1").run()
}

#[test]
fn a_load_is_shown_in_place_and_leaves_a_clean_screen() {
    let load = format!("load {} --rate 200 --duration 2s --warmup 1s", server());
    for (columns, rows) in [(80, 24), (200, 50)] {
        let run = on_terminal((columns, rows), &load);
        let screen = &run.stdout;
        for part in ["warm-up", "load  ", "req/s", "p99 us", "late us", "] "] {
            assert!(screen.contains(part), "{part} at {columns}: {run}");
        }
        let (live, last) = screen.rsplit_once("\x1b[J").unwrap();
        for line in live.split('\n') {
            let line = printed(line);
            assert!(line.chars().count() <= columns as usize, "{line:?}: {run}");
        }
        // At most four pictures a second, and one for each phase that begins.
        let pictures = screen.matches("\x1b[J").count();
        assert!((8..=4 * 3 + 6).contains(&pictures), "{pictures}: {run}");
        // Nothing is left that would have to be undone, and the last picture is gone.
        assert!(!screen.contains("\x1b[?"), "{run}");
        assert!(
            last.starts_with("200 req/s offered"),
            "the table follows: {run}"
        );
    }
}

#[test]
fn where_there_is_no_terminal_or_it_is_a_pipelines_no_line_moves() {
    let load = format!("load {} --rate 200 --duration 1s --warmup 0s", server());
    let in_ci = |name: &str, value: &str| {
        let line = format!("exec {BINARY} {load}");
        let script = program("script")
            .args("-q -e -c")
            .arg(line)
            .arg("/dev/null");
        script.env("TERM", "xterm").env(name, value).run()
    };
    let piped = program(BINARY).args(&load).run();
    for run in [piped, in_ci("CI", "true"), in_ci("TERM", "dumb")] {
        assert!(run.stdout.contains("completed"), "{run}");
        assert!(!format!("{run}").contains('\x1b'), "{run}");
    }
}

/// Without control sequences, and from the last return on: what a line of the screen shows.
fn printed(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line.trim_end_matches('\r').rsplit('\r').next().unwrap();
    while let Some((before, after)) = rest.split_once('\x1b') {
        text += before;
        let end = after.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(0);
        rest = &after[end + 1..];
    }
    text + rest
}
