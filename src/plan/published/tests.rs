use std::cmp::Ordering;
use std::path::Path;

use super::*;
use crate::error::Exit;
use crate::plan::Kit;

const TABLE: &str = "\
title: T
source: S
table: t.csv
reference: base
columns: {contender: who, runtime: runtime, workload: work, rate_rps: rate, runs: runs}
contenders:
  The Base: {adapter: base}
  X 2.1: {adapter: x, version: '2.1'}
workloads:
  hi: {workload: hello}
  db: {none: no database here}
figures:
  - {figure: rss_mib.load, median: rss, min: rss_min, max: rss_max, step: 2}
  - {figure: other, median: rss, none: nobody measures it}
differs: []
";

const CSV: &str = "\
who,runtime,work,rate,runs,rss,rss_min,rss_max
The Base,node-v24.1,hi,100,3,50,49,51
X 2.1,node-v24.1,hi,100,3,100,99,101
The Base,node-v24.1,db,100,3,50,49,51
X 2.1,node-v24.1,db,100,3,,,
X 2.1,node-v24.1,hi,200,3,1,1,1
";

fn parse(yaml: &str, csv: &str) -> Result<Published> {
    let csv = Source::new("t.csv", csv);
    Published::parse(&Source::new("t.yaml", yaml), |_| Ok(csv))
}

fn versions(framework: &str, runtime: &str) -> BTreeMap<String, Versions> {
    let versions = Versions {
        framework: framework.into(),
        runtime: runtime.into(),
    };
    [("x".to_owned(), versions)].into()
}

#[test]
fn rows_become_ratios_to_the_reference_widened_by_what_they_were_rounded_to() {
    let table = parse(TABLE, CSV).unwrap();
    let claims = table.claims(None, &versions("2.9.0", "24.15.0"));
    assert_eq!(claims.len(), 4, "a row without its reference has no ratio");
    let rss = &claims[0];
    assert_eq!((rss.a.as_str(), rss.b.as_str()), ("x", "base"));
    assert_eq!((rss.workload.as_str(), rss.load), ("hello", Load::At(100)));
    assert_eq!((rss.rule, rss.barred.as_str()), (Rule::Ranges, ""));
    assert_eq!(rss.there.ratio, Some(2.0));
    assert_eq!(rss.there.range, Some(Range::new(98.0 / 52.0, 102.0 / 48.0)));
    assert_eq!(rss.there.claim, Some(Ordering::Greater));
    assert_eq!(claims[1].barred, "nobody measures it");
    assert_eq!(claims[2].barred, "no database here");
    assert_eq!(claims[2].there.why, "a value was not published");
    // Against another of the table's, where a plan says so; of anybody else it knows nothing.
    let other = table.claims(Some("x"), &BTreeMap::new());
    assert_eq!(
        (other[0].b.as_str(), other[0].there.claim),
        ("x", Some(Ordering::Less))
    );
    assert_eq!(table.claims(Some("nobody"), &BTreeMap::new()).len(), 4);
}

#[test]
fn another_first_number_is_another_program() {
    let table = parse(TABLE, CSV).unwrap();
    for (framework, runtime, barred) in [
        ("2.1", "24.1", ""),
        ("2", "v24.99.0", ""),
        ("2.10.3.Final", "24", ""),
        ("3.0", "24.1", "x was published as 2.1, and is 3.0 here"),
        (
            "2.1",
            "26.0",
            "x was published as node-v24.1, and is 26.0 here",
        ),
        ("next", "24.1", "x was published as 2.1, and is next here"),
    ] {
        let claims = table.claims(None, &versions(framework, runtime));
        assert_eq!(claims[0].barred, barred, "{framework} {runtime}");
    }
}

#[test]
fn a_single_value_claims_a_direction_and_no_size() {
    let single = TABLE
        .replace(", runs: runs", "")
        .replace("min: rss_min, max: rss_max, ", "");
    let claims = parse(&single, CSV).unwrap().claims(None, &BTreeMap::new());
    assert_eq!(claims[0].there.claim, Some(Ordering::Greater));
    assert_eq!(claims[0].there.range, None);
    let rounded = single.replace("step: 2", "step: 60");
    let claims = parse(&rounded, CSV).unwrap().claims(None, &BTreeMap::new());
    assert_eq!(claims[0].there.claim, None);
}

#[test]
fn what_is_wrong_with_a_table_is_named() {
    for (from, to, what) in [
        (
            "median: rss,",
            "median: rsss,",
            "t.yaml:13:36: t.csv: there is no column `rsss`",
        ),
        ("runtime: runtime", "runtime: rt", "there is no column `rt`"),
        (
            "  The Base: {adapter: base}",
            "  Base: {adapter: base}",
            "does not say who `The Base` is",
        ),
        (
            "  db: {none: no database here}",
            "",
            "does not say what `db` is",
        ),
        (
            "reference: base",
            "reference: nobody",
            "t.yaml:4:12: `nobody` is none of the contenders",
        ),
        (
            "table: t.csv",
            "table: ../t.csv",
            "expected a file beside this one",
        ),
        ("source: S", "sauce: S", "unknown field `sauce`"),
        ("rule", "rule", ""),
    ] {
        match parse(&TABLE.replacen(from, to, 1), CSV) {
            Ok(_) => assert_eq!(what, ""),
            Err(error) => {
                assert_eq!(error.exit, Exit::Usage);
                assert!(!what.is_empty() && error.what.contains(what), "{error}");
            }
        }
    }
    for (csv, what) in [
        ("", "t.csv has no rows"),
        ("who,work\na", "t.csv:2: 1 values: expected 2"),
        (
            "who,work\n\"a,b\"",
            "t.csv:2: 2 values: expected 2 without quotes",
        ),
        (
            &CSV.replace(",49,", ",forty,"),
            "`forty` in column `rss_min` is not a number",
        ),
    ] {
        let error = parse(TABLE, csv).unwrap_err();
        assert!(error.what.contains(what), "{error}");
    }
}

#[test]
fn the_tables_of_this_kit_read_and_claim() {
    let kit = Kit::find(Some(Path::new(env!("CARGO_MANIFEST_DIR")))).unwrap();
    let names = kit.published_names().unwrap();
    assert_eq!(names, ["chappe", "forge", "nodefony"]);
    // Contenders beside the reference x points x figures; of the rows with a database: one point more.
    for (name, count) in [("chappe", 8 * 5), ("forge", 7 * 8 * 5), ("nodefony", 3 + 2)] {
        let table = kit.published(name).unwrap();
        let claims = table.claims(None, &BTreeMap::new());
        assert_eq!(claims.len(), count, "{name}");
        assert!(
            claims.iter().any(|claim| claim.there.claim.is_some()),
            "{name}"
        );
    }
    let chappe = kit
        .published("chappe")
        .unwrap()
        .claims(None, &BTreeMap::new());
    let sustained = |who: &str| {
        let mut claims = chappe.iter();
        let of = |claim: &&Claim| claim.a == who && claim.rule == Rule::Sustained;
        claims.find(of).unwrap().there.claim
    };
    assert_eq!(sustained("chappe-jvm"), Some(Ordering::Less));
    assert_eq!(sustained("vertx"), Some(Ordering::Less));
    assert_eq!(
        sustained("jetty"),
        None,
        "both held the highest rate that was tried"
    );
}
