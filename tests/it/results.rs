//! The archives that come with the kit: one of each kind, really measured, small enough to be cloned.

use std::collections::BTreeSet;
use std::fs;

use crate::program::{root, shootout};

/// No archive in the repository is larger.
const LARGEST: u64 = 2_000_000;

#[test]
fn an_archive_of_each_kind_comes_with_the_kit_and_verifies() {
    let mut kinds = BTreeSet::new();
    for entry in fs::read_dir(root().join("results")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "tar") {
            continue;
        }
        let bytes = fs::metadata(&path).unwrap().len();
        assert!(bytes < LARGEST, "{}: {bytes} bytes", path.display());
        shootout()
            .args("verify --allow-smoke")
            .arg(&path)
            .run()
            .exits(0);
        let report = shootout().args("report --format json").arg(&path).run();
        let summary = report.exits(0).json();
        kinds.insert(summary["plan"]["kind"].as_str().unwrap().to_owned());
    }
    assert_eq!(
        kinds.into_iter().collect::<Vec<_>>(),
        ["closed", "duel", "matrix", "sustain"]
    );
}
