//! What the documents tell people to type. Every ```sh block of every README is a script that a shell
//! reads, and of its commands:
//!
//! - `shootout …` (and `cargo run --release -- …`) parses as this program's command line, whatever stands in
//!   backticks in running text too; `run`, `demo` and `duel` are run with `--dry-run`, so that their plans,
//!   adapters and workloads exist; `list` and `--help` are run as they are; an adapter that is checked exists;
//! - `sh FILE` names a script that a shell reads; `cargo bench --bench NAME` a bench that there is.
//!
//! What is not run here takes minutes and is run elsewhere: `demo` and `cargo test` are README's first two
//! commands, `.ci/gate.sh` is run in `gate.rs`, `verify`, `report` and `compare` on the archives of other tests.

use std::fs;
use std::process::Command;

use clap::Parser;
use clap::error::ErrorKind;
use shootout::cli::Cli;

use crate::program::{program, root, shootout};
use crate::rules::files;

#[test]
fn every_command_in_the_documents_can_be_typed() {
    let documents = files(&["."]).into_iter();
    let mut count = 0;
    for path in documents.filter(|path| path.ends_with("README.md")) {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        let (scripts, prose) = parts(&text);
        for script in scripts {
            reads(&path, &script);
            for command in commands(&script) {
                can_be_typed(&path, &command);
                count += 1;
            }
        }
        for command in quoted(&prose) {
            parses(&path, &command);
        }
        for line in prose.lines().filter_map(|line| line.strip_prefix("    ")) {
            let first = line.split(' ').next().unwrap();
            let typed = ["shootout", "cargo", "sh", "git"].contains(&first);
            assert!(!typed, "{path}: {line}: put it into a ```sh block");
        }
    }
    assert!(count > 20, "{count} commands were found");
}

/// The ```sh blocks, and what is in no block.
fn parts(text: &str) -> (Vec<String>, String) {
    let (mut scripts, mut prose) = (Vec::new(), String::new());
    for (index, part) in text.split("```").enumerate() {
        match part.strip_prefix("sh\n") {
            _ if index % 2 == 0 => prose += part,
            Some(script) => scripts.push(script.to_owned()),
            None => {}
        }
    }
    (scripts, prose)
}

/// The commands of a script, without comments.
fn commands(script: &str) -> Vec<String> {
    let lines = script.replace("\\\n", " ");
    let lines = lines.lines().map(|line| match line.split_once(" #") {
        Some((command, _)) => command.to_owned(),
        None => line.to_owned(),
    });
    let commands: Vec<String> = lines
        .flat_map(|line| line.split("&&").map(str::to_owned).collect::<Vec<_>>())
        .map(|command| command.trim().to_owned())
        .collect();
    commands
        .into_iter()
        .filter(|c| !c.is_empty() && !c.starts_with('#'))
        .collect()
}

/// Command lines of this program in running text: `shootout list`.
fn quoted(prose: &str) -> Vec<String> {
    let spans = prose.split('`').skip(1).step_by(2);
    let spans = spans.map(|span| span.split_whitespace().collect::<Vec<_>>().join(" "));
    spans
        .filter(|span| span.starts_with("shootout ") && !span.contains("VERB"))
        .collect()
}

#[track_caller]
fn reads(path: &str, script: &str) {
    let run = program("sh").args("-n -c").arg(script).run();
    assert!(run.status.success(), "{path}: {run}");
}

#[track_caller]
fn can_be_typed(path: &str, command: &str) {
    let command = command.replace("cargo run --release --", "shootout");
    let is_variable = |word: &&str| word.contains('=');
    let words: Vec<&str> = command.split_whitespace().skip_while(is_variable).collect();
    match words[..] {
        ["shootout", ..] => runs(path, &command, &words[1..]),
        ["sh", script, ..] => {
            let run = program("sh").arg("-n").arg(script).run();
            assert!(run.status.success(), "{path}: {command}: {run}");
        }
        ["cargo", "bench", "--bench", bench, ..] => {
            let folder = root().join("benches").join(bench);
            assert!(folder.is_dir(), "{path}: {command}");
        }
        ["cargo", "test", ..] | ["git" | "find" | "npm", ..] => {}
        _ => panic!("{path}: nothing here knows how to try `{command}`"),
    }
}

/// Runs what costs nothing.
#[track_caller]
fn runs(path: &str, command: &str, words: &[&str]) {
    parses(path, command);
    let free = match words {
        ["run" | "demo" | "duel", ..] => !words.contains(&"--resume"),
        ["list", ..] => true,
        ["check", names @ ..] => {
            let there = |name: &&str| root().join("adapters").join(name).is_dir();
            let known = names.iter().all(|name| *name == "NAME" || there(name));
            assert!(known, "{path}: {command}");
            false
        }
        _ => false,
    };
    if free {
        let dry = match words[0] {
            "list" => "",
            _ if words.contains(&"--dry-run") => "",
            _ => "--dry-run",
        };
        let run = shootout().args(&words.join(" ")).args(dry).run();
        // A plan may ask for more CPUs than this machine has: it was read all the same.
        let too_small = run.status.code() == Some(3) && run.stderr.contains("CPUs");
        assert!(
            run.status.success() || too_small,
            "{path}: {command}: {run}"
        );
    }
}

#[track_caller]
fn parses(path: &str, command: &str) {
    match Cli::try_parse_from(command.split_whitespace().map(filled)) {
        Ok(_) => {}
        Err(e) if matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {}
        Err(e) => panic!("{path}: {command}: {e}"),
    }
}

/// A placeholder (`NAME`, `A...`) as the name that somebody would put there.
fn filled(word: &str) -> String {
    let is_placeholder = |c: char| c.is_ascii_uppercase() || "@.0123456789".contains(c);
    if word.contains(|c: char| c.is_ascii_uppercase()) && word.chars().all(is_placeholder) {
        word.trim_end_matches('.').to_lowercase()
    } else {
        word.to_owned()
    }
}

#[test]
fn the_documents_lead_somewhere() {
    for path in files(&["."])
        .into_iter()
        .filter(|path| path.ends_with(".md"))
    {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        let folder = root().join(&path);
        let links = text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://") && !link.starts_with('#')) {
            let target = folder
                .parent()
                .unwrap()
                .join(link.split('#').next().unwrap());
            assert!(target.exists(), "{path} links to {link}");
        }
    }
}

#[test]
fn the_scripts_are_read_by_a_shell() {
    for path in files(&["."])
        .into_iter()
        .filter(|path| path.ends_with(".sh"))
    {
        let run = Command::new("sh")
            .arg("-n")
            .arg(root().join(&path))
            .status();
        assert!(run.unwrap().success(), "{path}");
    }
}
