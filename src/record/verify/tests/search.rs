//! A search that is not the one that its plan makes is found.

use super::*;
use crate::record::archive::Archive;
use crate::record::schema::Hole;
use crate::stats::sustain::Trial;

/// Finishes an archive again after a change, as someone with this very program would.
fn finished_again(dir: &Path, change: impl FnOnce(&Archive)) {
    fs::remove_file(dir.join(sums::FILE)).unwrap();
    let archive = Archive::resume(dir).unwrap();
    change(&archive);
    archive
        .finish(fixture::generator(), vec![], vec![])
        .unwrap();
}

fn found(dir: &Path, finding: &str) {
    let report = verify(dir, &smoke());
    let found = report
        .findings
        .iter()
        .any(|found| found.what.contains(finding));
    assert!(found, "{finding}: {:?}", report.findings);
    assert_eq!(report.exit, Some(Exit::Unverified));
}

fn cells(dir: &Path) -> Vec<String> {
    let source = Source::open(dir).unwrap();
    source.cells().into_iter().map(str::to_owned).collect()
}

#[test]
fn a_search_verifies_and_says_what_it_found() {
    let dir = fixture::sustain();
    assert_eq!(verify(dir.path(), &smoke()).findings, []);
    let summary = json::read(&Source::open(dir.path()).unwrap()).unwrap();
    let rows: Vec<_> = summary
        .sustained
        .iter()
        .map(|row| (row.adapter.as_str(), row.rate_rps, row.not_held_rps))
        .collect();
    assert_eq!(
        rows,
        [
            ("nginx", Some(1050), Some(1100)),
            ("express", None, Some(1000))
        ]
    );
    let strict = verify(dir.path(), &Options::default());
    assert!(strict.findings[0].what.contains("1 trials; at least 3"));
}

#[test]
fn a_trial_that_was_left_out_is_found() {
    let whole = cells(fixture::sustain().path());
    for gone in &whole {
        let dir = fixture::sustain();
        fs::remove_dir_all(dir.path().join("cells").join(gone)).unwrap();
        finished_again(dir.path(), |_| ());
        found(dir.path(), "is planned, and is neither measured nor a hole");
    }
}

#[test]
fn a_trial_that_no_search_asks_for_is_found() {
    for (who, rate_rps, number) in [("nginx", 1000, 2), ("express", 1050, 1), ("nginx", 1075, 1)] {
        let dir = fixture::sustain();
        let trial = Trial {
            workload: "hello".into(),
            who: who.into(),
            rate_rps,
            number,
        };
        finished_again(dir.path(), |archive| {
            let number = cells(archive.root()).len() as u32 + 1;
            fixture::put_trial(archive, number, &trial).unwrap();
        });
        found(dir.path(), "is of no trial that the search asks for");
    }
}

#[test]
fn trials_in_another_order_than_the_seeds_are_found() {
    let dir = fixture::sustain();
    let all = dir.path().join("cells");
    let names = cells(dir.path());
    let swapped = |name: &str, number: &str| all.join(format!("{number}{}", &name[4..]));
    fs::rename(all.join(&names[0]), swapped(&names[0], "0002")).unwrap();
    fs::rename(all.join(&names[1]), swapped(&names[1], "0001")).unwrap();
    finished_again(dir.path(), |_| ());
    found(dir.path(), "is the plan's cell");
}

/// The claim as a careless forger would have it, and with a bound that makes it true.
#[test]
fn a_rate_that_is_claimed_and_was_not_held_is_found() {
    for (file, from, to, finding) in [
        (
            "summary.json",
            "\"rate_rps\": 1050, \"not_held_rps\"",
            "\"rate_rps\": 1100, \"not_held_rps\"",
            "sustained[0].rate_rps: expected 1050",
        ),
        (
            "summary.json",
            "\"not_held_rps\": 1100",
            "\"not_held_rps\": null",
            "sustained[0].not_held_rps",
        ),
        (
            "summary.json",
            "\"complete\": true",
            "\"complete\": false",
            "sustained[0].complete",
        ),
        (
            "summary.json",
            "\"mode\": \"pinned\"",
            "\"mode\": \"unleashed\"",
            "sustained[0].mode",
        ),
        (
            "summary.json",
            "\"not held\"",
            "\"held\"",
            "sustained[0].rates[2].state",
        ),
        (
            "plan.yaml",
            "p99_ms: 0.4}\ntrials",
            "p99_ms: 4}\ntrials",
            "differs from `criterion`",
        ),
        (
            "plan.yaml",
            "rates_rps: [1000, 1050, 1100]",
            "rates_rps: [1000, 1050]",
            "no trial that the search asks for",
        ),
        (
            "plan.yaml",
            "trials: 1",
            "trials: 3",
            "neither measured nor a hole",
        ),
    ] {
        let dir = fixture::sustain();
        edit(dir.path(), file, from, to);
        sum_again(dir.path());
        found(dir.path(), finding);
    }
}

/// A search that was given up names its hole, and claims no more than it saw.
#[test]
fn a_search_that_broke_off_needs_a_hole() {
    let dir = fixture::sustain();
    let last = cells(dir.path()).pop().unwrap();
    fs::remove_dir_all(dir.path().join("cells").join(&last)).unwrap();
    fs::remove_file(dir.path().join(sums::FILE)).unwrap();
    let archive = Archive::resume(dir.path()).unwrap();
    let hole = Hole {
        adapter: "nginx".into(),
        workload: "hello".into(),
        reason: "its parity failed".into(),
    };
    let (summary, _) = archive
        .finish(fixture::generator(), vec![hole], vec![])
        .unwrap();
    assert_eq!(verify(dir.path(), &smoke()).findings, []);
    let row = &summary.sustained[0];
    assert!(
        row.at_least && !row.complete && row.reason.contains("broke off"),
        "{row:?}"
    );
}
