//! What came of a reproduction, for people: answer by answer, and what could not be judged by its reason.

use super::table::load_point;
use crate::stats::reproduce::holds::{Answer, Range, Shown};
use crate::stats::reproduce::{Judged, Reproduction};

/// Of what can't be judged for one reason, so many are named.
const NAMED: usize = 3;

/// The answers; `all` names everything that could not be judged.
pub fn render(reproduction: &Reproduction, all: bool) -> String {
    let mut text = String::new();
    if !reproduction.changed.is_empty() {
        text += &format!("\nRun with {}\n", reproduction.changed.join("; "));
    }
    for answer in [Answer::Reproduced, Answer::NotReproduced] {
        let of = |one: &&Judged| one.answer == answer;
        let rows: Vec<&Judged> = reproduction.ratios.iter().filter(of).collect();
        if !rows.is_empty() {
            text += &format!("\n{} ({})\n", title(answer), rows.len());
            text += &rows.into_iter().map(row).collect::<String>();
        }
    }
    text += &unjudged(reproduction, all);
    let Reproduction {
        reproduced,
        not_reproduced,
        no_verdict,
        ..
    } = reproduction;
    text + &format!(
        "\n{reproduced} reproduced, {not_reproduced} not reproduced, {no_verdict} without a verdict. \
         Ratios a / b, with where they lie; absolutes are never compared.\n"
    )
}

fn title(answer: Answer) -> &'static str {
    match answer {
        Answer::Reproduced => "Reproduced",
        Answer::NotReproduced => "NOT reproduced",
        Answer::NoVerdict => "No verdict",
    }
}

fn row(one: &Judged) -> String {
    let (there, here) = (shown(&one.there), shown(&one.here));
    format!(
        "  {}: {there} there, {here} here: {}\n",
        what(one),
        one.reason
    )
}

/// By their reasons, in the order of their first ones.
fn unjudged(reproduction: &Reproduction, all: bool) -> String {
    let of = |one: &&Judged| one.answer == Answer::NoVerdict;
    let rows: Vec<&Judged> = reproduction.ratios.iter().filter(of).collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{} ({})\n", title(Answer::NoVerdict), rows.len());
    let mut reasons: Vec<&str> = Vec::new();
    for one in &rows {
        if !reasons.contains(&one.reason.as_str()) {
            reasons.push(&one.reason);
        }
    }
    for reason in reasons {
        let same: Vec<&&Judged> = rows.iter().filter(|one| one.reason == reason).collect();
        text += &format!("  {reason}\n");
        let named = if all { same.len() } else { NAMED };
        for one in same.iter().take(named) {
            let (there, here) = (shown(&one.there), shown(&one.here));
            text += &format!("    {}: {there} there, {here} here\n", what(one));
        }
        if same.len() > named {
            text += &format!("    and {} more\n", same.len() - named);
        }
    }
    text
}

fn what(one: &Judged) -> String {
    let Judged {
        a,
        b,
        figure,
        workload,
        ..
    } = one;
    let mut load = match one.r#loop {
        None => String::new(),
        Some(_) => format!(" {}", load_point(one.rate_rps)),
    };
    if let (Some("closed"), Some(connections)) = (one.r#loop, one.connections) {
        load += &format!(" over {connections} connections");
    }
    format!("{a} / {b}, {figure} of {workload}{load}")
}

fn shown(shown: &Shown) -> String {
    let Some(ratio) = shown.ratio else {
        return "none".to_owned();
    };
    match shown.range {
        None => format!("{ratio:.3}"),
        Some(Range {
            low,
            high: Some(high),
        }) => format!("{ratio:.3} [{low:.3}, {high:.3}]"),
        Some(Range { low, high: None }) => format!("{ratio:.3} [{low:.3} or more]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::reproduce::Rule;
    use std::cmp::Ordering;

    fn one(answer: Answer, reason: &str) -> Judged {
        let shown = |ratio: f64, range| Shown {
            ratio: Some(ratio),
            range,
            claim: Some(Ordering::Greater),
            why: String::new(),
        };
        Judged {
            a: "x".into(),
            b: "y".into(),
            workload: "w".into(),
            r#loop: Some("open"),
            rate_rps: Some(1000),
            connections: Some(32),
            figure: "cpu_us_per_request".into(),
            rule: Rule::Ranges,
            there: shown(1.5, Some(Range::new(1.4, 1.6))),
            here: shown(1.25, None),
            answer,
            reason: reason.into(),
        }
    }

    #[test]
    fn answers_are_listed_and_what_is_open_is_gathered_by_its_reason() {
        let mut ratios = vec![
            one(Answer::Reproduced, "the same direction"),
            one(Answer::NotReproduced, "the opposite"),
        ];
        ratios.extend((0..5).map(|_| one(Answer::NoVerdict, "x took no part here")));
        ratios.push(Judged {
            r#loop: Some("closed"),
            rate_rps: None,
            ..one(Answer::NoVerdict, "too few")
        });
        let reproduction = Reproduction {
            changed: vec!["load: 60 -> 12".into()],
            ratios,
            reproduced: 1,
            not_reproduced: 1,
            no_verdict: 6,
        };
        let text = render(&reproduction, false);
        for line in [
            "Run with load: 60 -> 12",
            "Reproduced (1)",
            "  x / y, cpu_us_per_request of w at 1,000 req/s: 1.500 [1.400, 1.600] there, 1.250 here: the same direction",
            "NOT reproduced (1)",
            "No verdict (6)",
            "  x took no part here",
            "    and 2 more",
            "    x / y, cpu_us_per_request of w in closed loop over 32 connections: ",
            "1 reproduced, 1 not reproduced, 6 without a verdict.",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        assert!(!render(&reproduction, true).contains("more\n"));
    }
}
