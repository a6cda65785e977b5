//! Runs before the program is compiled: what `--version` says of its build.
//!
//! Without git, or outside of a clone, the commit is unknown and the build goes on.

use std::process::Command;

/// What the program is made from: a commit of anything else makes no other program.
const MADE_FROM: [&str; 3] = ["src", "Cargo.toml", "Cargo.lock"];

fn main() {
    for path in MADE_FROM {
        println!("cargo:rerun-if-changed={path}");
    }
    let variable = |name| std::env::var(name).unwrap_or_else(|_| "unknown".to_owned());
    let rustc = printed(&variable("RUSTC"), &["--version"]);
    let facts = [
        ("COMMIT", commit()),
        ("RUSTC", rustc),
        ("TARGET", Some(variable("TARGET"))),
        ("PROFILE", Some(variable("PROFILE"))),
    ];
    for (name, fact) in facts {
        let fact = fact.unwrap_or_else(|| "unknown".to_owned());
        println!("cargo:rustc-env=SHOOTOUT_{name}={fact}");
    }
}

/// The last commit of what the program is made from, and whether it was changed since.
fn commit() -> Option<String> {
    let git = |arguments: &[&str]| printed("git", &[arguments, &["--"], &MADE_FROM].concat());
    let commit = git(&["log", "-1", "--format=%h"])?;
    let changed = git(&["status", "--porcelain"]).is_some();
    Some(commit + if changed { ", changed since" } else { "" })
}

/// The one line that a program printed; `None` if it failed or said nothing.
fn printed(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().next()?.trim().to_owned();
    (output.status.success() && !line.is_empty()).then_some(line)
}
