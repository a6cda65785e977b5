//! What the program says of itself: help, version, and what a shell completes.

use std::process::Command;

use crate::program::{BINARY, program, root, shootout};

const VERBS: [&str; 15] = [
    "doctor",
    "list",
    "build",
    "check",
    "demo",
    "run",
    "duel",
    "load",
    "selftest",
    "verify",
    "compare",
    "report",
    "clean",
    "completions",
    "--version",
];

#[test]
fn every_verb_has_help_with_examples_and_none_that_is_hidden_is_shown() {
    let all = shootout().args("--help").run().exits(0);
    for verb in VERBS {
        assert!(all.stdout.contains(verb), "{verb}\n{all}");
        if !verb.starts_with('-') {
            let help = shootout().args(verb).arg("--help").run().exits(0);
            help.says(&["Examples:", &format!("  shootout {verb}")]);
        }
    }
    assert!(!all.stdout.contains("Inside a cell"), "{all}");
}

#[test]
fn the_version_says_what_was_built() {
    let short = shootout().args("-V").run().exits(0).stdout;
    let long = shootout().args("--version").run().exits(0).stdout;
    assert_eq!(long.lines().next(), short.lines().next());
    for fact in ["commit   ", "rustc    rustc 1.", "target   ", "profile  "] {
        assert!(long.contains(fact), "{long}");
    }
}

/// The build script alone, where there is neither git nor a clone.
#[test]
fn without_git_the_commit_is_unknown_and_the_build_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("build_facts");
    let rustc = Command::new("rustc")
        .args(["--edition", "2024", "src/build_facts.rs", "-o"])
        .arg(&script)
        .current_dir(root())
        .status();
    assert!(rustc.unwrap().success());
    for path in ["", "/usr/bin:/bin"] {
        let run = Command::new(&script)
            .current_dir(dir.path())
            .env("PATH", path)
            .output()
            .unwrap();
        assert!(run.status.success(), "{run:?}");
        let said = String::from_utf8(run.stdout).unwrap();
        assert!(said.contains("SHOOTOUT_COMMIT=unknown\n"), "{said}");
    }
}

#[test]
fn a_shell_completes_verbs_and_flags_and_nothing_hidden() {
    let script = |shell: &str| {
        let run = shootout().args("completions").arg(shell).run().exits(0);
        run.stdout
    };
    for shell in ["bash", "zsh", "fish"] {
        let script = script(shell);
        for part in ["verify", "allow-smoke", "dry-run"] {
            assert!(script.contains(part), "{shell}: {part}");
        }
        assert!(!script.contains("upstream"), "{shell}");
    }
    shootout()
        .args("completions nu")
        .run()
        .exits(2)
        .says(&["bash, zsh, fish"]);

    let complete = r#"
        source /dev/stdin <<< "$1"
        shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _shootout shootout "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        echo "${COMPREPLY[@]}"
    "#;
    for (typed, completed) in [
        (&["shootout", "ver"][..], "verify\n"),
        (&["shootout", "verify", "--al"], "--allow-smoke\n"),
        (&["shootout", "completions", "f"], "fish\n"),
    ] {
        let bash = program("bash").arg("-c").arg(complete).arg(BINARY);
        let bash = bash.arg(script("bash")).args(&typed.join(" "));
        assert_eq!(bash.run().exits(0).stdout, completed, "{typed:?}");
    }
}
