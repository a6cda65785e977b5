//! `compare`: two archives, their machines first, then ratio by ratio and verdict by verdict.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::{Context, print, print_json};
use crate::cli;
use crate::error::{Error, Exit, Result};
use crate::record::schema::Summary;
use crate::record::source::Source;
use crate::record::verify::{self, Options};
use crate::report::{json, table};
use crate::stats::compare::{Comparison, Difference, Outcome};

#[derive(Serialize)]
struct Document {
    first: Named,
    second: Named,
    #[serde(flatten)]
    comparison: Comparison,
}

/// An archive, as it was named.
#[derive(Serialize)]
pub(super) struct Named {
    pub(super) archive: String,
    pub(super) id: Option<String>,
}

/// Compares two archives that hold what they say; exit 5 where one does not, 6 where a gate does not
/// hold.
pub fn compare(context: &Context, asked: &cli::Compare) -> Result<()> {
    let (first, one) = read(&asked.first)?;
    let (second, two) = read(&asked.second)?;
    let document = Document {
        first,
        second,
        comparison: Comparison::of(&one, &two),
    };
    if context.json {
        print_json(&document)?;
    } else {
        print(&text(&document))?;
    }
    match asked.fail_on {
        None => Ok(()),
        Some(cli::FailOn::Slower) => gate(&document.comparison),
    }
}

fn gate(comparison: &Comparison) -> Result<()> {
    let fails = |what: String, next| Err(Error::new(Exit::Gate, what).next(next));
    match comparison.slower() {
        Some(false) => Ok(()),
        Some(true) => {
            let mut slower = comparison.verdicts.iter().filter(|pair| pair.newly_slower);
            let first = slower.next().map(|pair| pair.comparison.as_str());
            let more = slower.count();
            fails(
                format!(
                    "slower in the second archive, and not in the first: {}, and {more} more",
                    first.unwrap_or_default()
                ),
                "the verdicts that differ are above; `shootout report` shows each archive's evidence",
            )
        }
        None => fails(
            "the archives have no comparison in common: nothing says that nothing is slower".into(),
            "compare archives of duels between the same sides, at the same work and rate",
        ),
    }
}

/// An archive's summary, once it is known to hold.
pub(super) fn read(path: &Path) -> Result<(Named, Summary)> {
    let place = path.display();
    let options = Options {
        allow_smoke: true,
        id: None,
    };
    let report = verify::verify(path, &options);
    if let Some(finding) = report.findings.first() {
        let file = match finding.file.as_str() {
            "" => String::new(),
            file => format!("{file}: "),
        };
        let what = format!("{place}: {file}{}", finding.what);
        return Err(Error::unverified(what).next("`shootout verify` lists everything that differs"));
    }
    let source = Source::open(path).map_err(|e| e.at(place.to_string()))?;
    let summary = json::read(&source).map_err(|e| e.at(place.to_string()))?;
    let named = Named {
        archive: place.to_string(),
        id: report.id,
    };
    Ok((named, summary))
}

fn text(document: &Document) -> String {
    let Document {
        first,
        second,
        comparison,
    } = document;
    let id = |named: &Named| named.id.clone().unwrap_or_default();
    let mut text = format!(
        "first   {}  {}\nsecond  {}  {}\n",
        first.archive,
        id(first),
        second.archive,
        id(second)
    );
    text += &section(
        "The machines differ in",
        differences(&comparison.environment),
    );
    text += &section("The plans differ in", differences(&comparison.plan));
    let ratios = comparison.ratios.iter().map(|ratio| {
        let [first, second, change] = [ratio.first, ratio.second, ratio.change].map(table::short);
        let (a, b, figure, point) = (&ratio.a, &ratio.b, &ratio.figure, &ratio.point);
        format!("{a} / {b}, {figure}, {point}: {first}, then {second} (x {change})")
    });
    text += &section("Ratios of medians, not verdicts", ratios.collect());
    let verdicts = comparison.verdicts.iter().map(|pair| {
        let agree = if pair.agree { "agree" } else { "DIFFER" };
        let (one, two) = (outcome(&pair.first), outcome(&pair.second));
        format!("{agree}: {}: {one}, then {two}", pair.comparison)
    });
    text += &section("Verdicts", verdicts.collect());
    text += &section("Only in the first", comparison.only_first.clone());
    text += &section("Only in the second", comparison.only_second.clone());
    text
}

fn section(title: &str, lines: Vec<String>) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    format!("\n{title}\n{lines}")
}

fn differences(list: &[Difference]) -> Vec<String> {
    let shown = |value: &Value| value.to_string().chars().take(100).collect::<String>();
    let line = |d: &Difference| {
        format!(
            "{}: {}, then {}",
            d.field,
            shown(&d.first),
            shown(&d.second)
        )
    };
    list.iter().map(line).collect()
}

fn outcome(outcome: &Outcome) -> String {
    let Outcome {
        verdict,
        ratio,
        ci_low,
        ci_high,
    } = outcome;
    match (ratio, ci_low, ci_high) {
        (Some(ratio), Some(low), Some(high)) => {
            format!("{verdict} ({ratio:.4} [{low:.4}, {high:.4}])")
        }
        (Some(ratio), ..) => format!("{verdict} ({ratio:.4})"),
        _ => verdict.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixture;
    use crate::record::schema::Verdict;
    use crate::ui::{Ui, Volume};

    fn exit(first: &Path, second: &Path, fail_on: Option<cli::FailOn>) -> Option<Exit> {
        let context = Context {
            ui: Ui::new(Volume::Quiet, false),
            json: true,
            kit: None,
        };
        let asked = cli::Compare {
            first: first.to_owned(),
            second: second.to_owned(),
            fail_on,
        };
        compare(&context, &asked).err().map(|error| error.exit)
    }

    #[test]
    fn only_archives_that_hold_are_compared_and_a_gate_on_nothing_does_not_hold() {
        let (one, two) = (fixture::archive(), fixture::archive());
        assert_eq!(exit(one.path(), two.path(), None), None);
        let gate = Some(cli::FailOn::Slower);
        assert_eq!(exit(one.path(), two.path(), gate), Some(Exit::Gate));
        std::fs::write(two.path().join("report.md"), "faster").unwrap();
        assert_eq!(exit(one.path(), two.path(), None), Some(Exit::Unverified));
        assert_eq!(
            exit(&one.path().join("none"), one.path(), None),
            Some(Exit::Unverified)
        );
    }

    #[test]
    fn the_gate_and_the_text_say_what_is_slower_now() {
        let summary = |word: &str| Summary {
            verdicts: vec![Verdict {
                a: "x".into(),
                b: "y".into(),
                verdict: word.into(),
                ratio: Some(1.25),
                ci_low: Some(1.2),
                ci_high: Some(1.3),
                ..Verdict::default()
            }],
            ..Summary::default()
        };
        let named = || Named {
            archive: "a".into(),
            id: None,
        };
        let document = |first, second| Document {
            first: named(),
            second: named(),
            comparison: Comparison::of(&summary(first), &summary(second)),
        };
        let worse = document("no verdict", "slower");
        let refused = gate(&worse.comparison).unwrap_err();
        assert_eq!(refused.exit, Exit::Gate);
        assert!(refused.what.contains("x against y"), "{refused}");
        let shown = text(&worse);
        assert!(shown.contains("DIFFER: x against y"), "{shown}");
        assert!(
            shown.contains("slower (1.2500 [1.2000, 1.3000])"),
            "{shown}"
        );
        assert!(gate(&document("slower", "slower").comparison).is_ok());
        assert!(gate(&document("slower", "faster").comparison).is_ok());
    }
}
