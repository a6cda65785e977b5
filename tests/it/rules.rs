//! The repository's own rules.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::program::root;

#[test]
fn the_sums_cover_every_file_of_adapters_workloads_and_docker() {
    let sums = fs::read_to_string(root().join("SHA256SUMS")).unwrap();
    let listed: Vec<&str> = sums.lines().map(|line| &line[66..]).collect();
    let kept = files(&["adapters", "workloads", "docker"]);
    assert_eq!(listed, kept, "regenerate it");
    let check = Command::new("sha256sum")
        .args(["--quiet", "-c", "SHA256SUMS"])
        .current_dir(root())
        .status();
    assert!(check.unwrap().success());
}

#[test]
fn no_adapter_is_named_in_the_code() {
    let adapters = fs::read_dir(root().join("adapters")).unwrap().flatten();
    let adapters = adapters.filter(|entry| entry.path().is_dir());
    let names: Vec<String> = adapters
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    for (path, code) in sources() {
        for name in &names {
            let quoted = format!("\"{name}\"");
            assert!(
                !code.contains(&quoted) && !code.contains(&format!("adapters/{name}")),
                "{path} names {name}"
            );
        }
    }
}

#[test]
fn modules_know_only_what_they_may_know() {
    // Where, what may not be said there, and why.
    let rules: [(&[&str], &[&str], &str); 7] = [
        (&["!engine/"], &["bollard"], "only engine names bollard"),
        (
            &["!engine/", "!cell/", "!cmd/"],
            &["crate::engine", "super::engine"],
            "only cell and cmd use the engine",
        ),
        (
            &["record/", "stats/"],
            &[
                "load::driver",
                "load::lane",
                "load::poller",
                "tokio",
                "rustix::net",
                "std::net",
            ],
            "verify works without sockets",
        ),
        (
            &["plan/", "!plan/kit.rs", "!plan/sources.rs"],
            &["std::fs", "std::io", "std::net", "std::env", "std::process"],
            "plan is pure",
        ),
        (
            &[
                "stats/",
                "guard/",
                "load/schedule.rs",
                "parity/judge.rs",
                "parity/matrix.rs",
            ],
            &["std::fs", "std::io", "std::net", "std::env", "std::process"],
            "judging is pure",
        ),
        (
            &["report/"],
            &[
                "std::fs",
                "crate::engine",
                "crate::load",
                "crate::cell",
                "crate::sample",
            ],
            "report prints what stats computed",
        ),
        (
            &[
                "plan/", "load/", "parity/", "sample/", "record/", "stats/", "report/", "agent/",
                "guard/",
            ],
            &["crate::cmd", "crate::cli", "crate::cell"],
            "modules go one way",
        ),
    ];
    for (path, code) in sources() {
        for (places, words, why) in &rules {
            let (outside, within): (Vec<&str>, Vec<&str>) =
                places.iter().partition(|place| place.starts_with('!'));
            let excluded = outside.iter().any(|place| path.starts_with(&place[1..]));
            let applies = !excluded
                && (within.is_empty() || within.iter().any(|place| path.starts_with(place)));
            for word in words.iter().filter(|_| applies) {
                assert!(!code.contains(word), "src/{path} says {word}: {why}");
            }
        }
    }
}

#[test]
fn no_registry_and_no_place_on_somebodys_machine_is_named() {
    // In halves, so that this file names none either.
    let hosts = [
        "npmjs",
        "pypi",
        "pythonhosted",
        "crates",
        "docker",
        "maven",
        "proxy.golang", // a module's name may begin with golang.org, which is no registry
        "sum.golang",
        "gcr",
        "ghcr",
        "quay",
    ];
    let ends = [".org", ".io/", ".com"]; // with a slash: Debian has a package docker.io
    let places = [
        ["/ro", "ot/"],
        ["/ho", "me/"],
        ["/wo", "rk/"],
        ["/tmp/", "wt-"],
    ];
    for path in files(&["."]) {
        let bytes = fs::read(root().join(&path)).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for (host, end) in hosts.iter().flat_map(|host| ends.map(|end| (host, end))) {
            // Cargo.lock names its registry's index, as cargo writes it.
            let host_name = format!("{host}{end}");
            // Maven has properties that begin with one: `.compiler` is no `.com`.
            let goes_on = |at: usize| {
                let rest = &text[at + host_name.len()..];
                end != ".io/" && rest.starts_with(|c: char| c.is_ascii_alphanumeric())
            };
            let mut found = text.match_indices(&host_name);
            let named = found.any(|(at, _)| !goes_on(at));
            assert!(!named || path == "Cargo.lock", "{path} names {host}{end}");
        }
        for place in places.map(|halves| halves.concat()) {
            // `/proc/PID/root/` and the like are no place of a machine's.
            let mut found = text.match_indices(&place);
            let starts = |at: usize| !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
            let named = found.any(|(at, _)| starts(at));
            assert!(!named, "{path} names {place}");
        }
    }
}

/// What git keeps or would keep, sorted.
pub fn files(below: &[&str]) -> Vec<String> {
    let listed = Command::new("git")
        .args([
            "ls-files",
            "-co",
            "--exclude-standard",
            "--deduplicate",
            "--",
        ])
        .args(below)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(listed.status.success(), "{listed:?}");
    let listed = String::from_utf8(listed.stdout).unwrap();
    let exists = |path: &&str| Path::new(&root()).join(path).is_file();
    let files: BTreeSet<&str> = listed.lines().filter(exists).collect();
    files.into_iter().map(str::to_owned).collect()
}

/// Every source file below src/ without its comments and its tests.
fn sources() -> Vec<(String, String)> {
    let all = files(&["src"]);
    // Fixtures and a module's tests in files of their own are compiled for tests only.
    let for_tests = |path: &str| {
        let ends = ["/fixture.rs", "/tests.rs"];
        ends.iter().any(|end| path.ends_with(end)) || path.contains("/tests/")
    };
    let rust = all
        .iter()
        .filter(|path| path.ends_with(".rs") && !for_tests(path));
    let code = rust.map(|path| {
        let text = fs::read_to_string(root().join(path)).unwrap();
        let text = text.split("#[cfg(test)]\n").next().unwrap();
        let lines = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let code: Vec<&str> = lines.collect();
        (path["src/".len()..].to_owned(), code.join("\n"))
    });
    code.collect()
}
