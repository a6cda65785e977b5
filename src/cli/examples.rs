//! What each verb's `--help` ends with: command lines that people type, and what they do.
//!
//! Two spaces part a command from what it does; a test parses every command. a, b and c stand for adapters.

pub(super) const DOCTOR: &str = "\
Examples:
  shootout doctor          each finding with what to do about it
  shootout doctor --json   the same for scripts";

pub(super) const LIST: &str = "\
Examples:
  shootout list            adapters, workloads and plans
  shootout list adapters   what can be measured, and what can't be built here and why
  shootout list plans      what `shootout run` takes";

pub(super) const BUILD: &str = "\
Examples:
  shootout build           every adapter that can be built here
  shootout build a b -v    these two, with all that the builds print";

pub(super) const CHECK: &str = "\
Examples:
  shootout check a              is a doing the right work, wherever it serves?
  shootout check a@slow -w ok   a variant of its environment, at one workload
  shootout check --json         every adapter, for scripts";

pub(super) const DEMO: &str = "\
Examples:
  shootout demo --dry-run  what would run, how long, how much disk
  shootout demo            minutes; ends with verdicts and an archive in results/";

pub(super) const RUN: &str = "\
Examples:
  shootout run smoke --dry-run                cells, order, time and disk
  shootout run smoke                          does the whole path work here?
  shootout run demo --rates 500,2000          a plan with other rates (recorded)
  shootout run my/plan.yaml --out results/x   a plan and a folder of one's own
  shootout run --resume results/x             go on with what was interrupted
  shootout run smoke --json > summary.json    the summary for scripts";

pub(super) const DUEL: &str = "\
Examples:
  shootout duel a b                        is a faster than b?
  shootout duel a b -w hello --rate 1000   at that work, at that rate
  shootout duel a b c --levels             against c, bare and with equal service
  shootout duel a b --dry-run              how long, and what it can prove at most";

pub(super) const SUSTAIN: &str = "\
Examples:
  shootout sustain a b                       the highest rate that keeps p99 under 10 ms
  shootout sustain a b --p99 25ms -w hello   another bound, another work
  shootout sustain a --from 500 --to 8000    where to look for it
  shootout sustain a b --dry-run             at least, at most how many trials";

pub(super) const LOAD: &str = "\
Examples:
  shootout load http://127.0.0.1:8080/ --rate 1000
      1,000 requests a second for 10 s, as due, whatever the server does
  shootout load http://127.0.0.1:8080/ --rate 1000 --expect-body ok --hlog run.hlog
      only that body counts; every latency into a file for HdrHistogram's tools
  shootout load http://127.0.0.1:8080/ --closed --requests 100000
      as fast as 32 connections go: what the server can do, not what users wait";

pub(super) const SELFTEST: &str = "\
Examples:
  shootout selftest          minutes; exit 4 if the instrument fails a case
  shootout selftest --json   the same for scripts";

pub(super) const VERIFY: &str = "\
Examples:
  shootout verify results/x                 recompute every figure of an archive
  shootout verify --allow-smoke results/x   the same of a run too short to publish
  shootout verify --id SHA256 x.tar         is it the archive with the published id?";

pub(super) const REPRODUCE: &str = "\
Examples:
  shootout reproduce results/x               its plan here, from its own sources
  shootout reproduce forge --rates 1000      what others published, narrowed
  shootout reproduce forge --against results/x
      judges an archive that is there, and runs nothing";

pub(super) const COMPARE: &str = "\
Examples:
  shootout compare results/x results/y
      two runs, ratio by ratio and verdict by verdict
  shootout compare results/x results/y --fail-on slower
      a gate: exit 6 where a verdict turned to slower";

pub(super) const REPORT: &str = "\
Examples:
  shootout report results/x                           in the terminal
  shootout report results/x --format html -o x.html   a page that opens anywhere
  shootout report results/x --format csv              for a spreadsheet";

pub(super) const CLEAN: &str = "\
Examples:
  shootout clean --dry-run   containers and images that would be removed
  shootout clean             remove them; other people's are never touched";

pub(super) const COMPLETIONS: &str = "\
Examples:
  shootout completions bash > /etc/bash_completion.d/shootout
  shootout completions zsh > ~/.zfunc/_shootout   a folder that $fpath names
  shootout completions fish > ~/.config/fish/completions/shootout.fish";

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use crate::cli::Cli;

    #[test]
    fn every_verb_has_examples_that_parse_and_fit_a_terminal() {
        let command = Cli::command();
        let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        for verb in verbs {
            let name = verb.get_name();
            let text = verb.get_after_help().unwrap_or_default().to_string();
            assert!(
                text.lines().all(|line| line.chars().count() <= 90),
                "{text}"
            );
            let examples = text
                .lines()
                .filter_map(|line| line.strip_prefix("  shootout "));
            let mut count = 0;
            for example in examples {
                let typed = example.split("  ").next().unwrap();
                let typed = typed.split(" >").next().unwrap();
                let words = std::iter::once("shootout").chain(typed.split_whitespace());
                let parsed = Cli::try_parse_from(words);
                assert!(parsed.is_ok(), "{example}: {}", parsed.err().unwrap());
                assert!(typed.starts_with(name), "{name} shows {example}");
                count += 1;
            }
            assert!(count > 0, "{name} has no example");
        }
    }
}
