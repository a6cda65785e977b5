use std::fs;

use super::*;
use crate::record::fixture;
use crate::ui::{Ui, Volume};

fn context(kit: Option<&Path>) -> Context {
    Context {
        ui: Ui::new(Volume::Quiet, false),
        json: true,
        kit: kit.map(Path::to_owned),
    }
}

fn asked(what: impl AsRef<Path>, against: Option<&Path>) -> cli::Reproduce {
    cli::Reproduce {
        what: what.as_ref().display().to_string(),
        run: cli::Run {
            overrides: Overrides::default(),
            out: None,
            dry_run: false,
            keep_going: false,
            gate: vec![],
        },
        resume: None,
        against: against.map(Path::to_owned),
        fail_on: None,
    }
}

/// The exit code, and what was said.
fn refused(asked: &cli::Reproduce) -> (Option<Exit>, String) {
    let kit = Path::new(env!("CARGO_MANIFEST_DIR"));
    match reproduce(&context(Some(kit)), asked) {
        Ok(()) => (None, String::new()),
        Err(error) => (Some(error.exit), error.to_string()),
    }
}

#[test]
fn an_archive_is_judged_by_another_that_is_there() {
    let (one, two) = (fixture::archive(), fixture::archive());
    let mut asked = asked(one.path(), Some(two.path()));
    assert_eq!(refused(&asked), (None, String::new()));
    asked.fail_on = Some(cli::FailOnAnswer::NotReproduced);
    let (exit, what) = refused(&asked);
    assert_eq!(exit, Some(Exit::Gate), "two repetitions say nothing");
    assert!(what.contains("nothing could be judged"), "{what}");
    asked.run.overrides.repetitions = Some(3);
    let (exit, what) = refused(&asked);
    assert_eq!(exit, Some(Exit::Usage));
    assert!(what.contains("--against runs nothing"), "{what}");
}

#[test]
fn what_can_not_be_reproduced_is_refused() {
    let good = fixture::archive();
    let (exit, what) = refused(&asked("forgee", None));
    assert_eq!(exit, Some(Exit::Usage));
    assert!(
        what.contains("no archive forgee") && what.contains("forge, nodefony"),
        "{what}"
    );

    let broken = fixture::archive();
    fs::write(broken.path().join("report.md"), "faster").unwrap();
    for asked in [
        asked(broken.path(), None),
        asked(good.path(), Some(broken.path())),
    ] {
        let (exit, what) = refused(&asked);
        assert_eq!(exit, Some(Exit::Unverified));
        assert!(what.contains("report.md: altered"), "{what}");
    }

    let other = fixture::archive();
    let summary = other.path().join("summary.json");
    let text = fs::read_to_string(&summary).unwrap();
    fs::write(&summary, text.replacen("\"schema\": 1", "\"schema\": 2", 1)).unwrap();
    fixture::sum_again(other.path());
    let (exit, what) = refused(&asked(other.path(), None));
    assert_eq!(exit, Some(Exit::Unverified));
    assert!(what.contains("schema 2"), "{what}");

    // True to itself, and yet nothing that could be built.
    let (exit, what) = refused(&asked(good.path(), None));
    assert_eq!(exit, Some(Exit::Unverified));
    assert!(what.contains("sources/docker/"), "{what}");
}

#[test]
fn a_published_table_without_its_plan_says_so() {
    let kit = Path::new(env!("CARGO_MANIFEST_DIR"));
    let kit = Kit::find(Some(kit)).unwrap();
    let error = published_plan(&kit, "never").unwrap_err();
    assert_eq!(error.exit, Exit::Usage);
    assert!(
        error.what.contains("there is no plan never here"),
        "{error}"
    );
    assert!(error.next.contains("--against"), "{error}");
    assert!(published_plan(&kit, "forge").is_ok());
}

#[test]
fn a_published_table_is_judged_by_an_archive_and_read_by_people() {
    let dir = fixture::archive();
    assert_eq!(refused(&asked("forge", Some(dir.path()))).0, None);
    let kit = Path::new(env!("CARGO_MANIFEST_DIR"));
    let context = context(Some(kit));
    let subject = Subject::find(&context, "forge").unwrap();
    let (here, summary) = read(dir.path()).unwrap();
    let claims = subject
        .claims(&summary, &Source::open(dir.path()).unwrap())
        .unwrap();
    let document = Document {
        there: subject.named(),
        here,
        reproduction: Reproduction::of(&claims, &summary),
    };
    let text = text(&document, false);
    for line in [
        "there  Forge: ",
        "       - its closed loop",
        "here   ",
        "took no part here",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let json = serde_json::to_value(&document).unwrap();
    assert_eq!(json["there"]["published"], "forge");
    assert_eq!(json["no_verdict"], claims.len());
    assert!(json["ratios"][0]["reason"].is_string());
}

#[test]
fn a_gate_asks_that_something_was_judged_and_nothing_was_refuted() {
    for (reproduced, not_reproduced, holds) in
        [(0, 0, false), (2, 0, true), (2, 1, false), (0, 1, false)]
    {
        let reproduction = Reproduction {
            reproduced,
            not_reproduced,
            ..Reproduction::default()
        };
        assert_eq!(
            gate(&reproduction).is_ok(),
            holds,
            "{reproduced} {not_reproduced}"
        );
    }
}
