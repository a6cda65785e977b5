use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::json;

use super::holds::Range;
use super::*;
use crate::record::schema::{Hole, Spread, Sustained};
use crate::stats::duel::{DuelRules, Pairing, verdicts};
use crate::stats::fixture::{self, Session};

/// A group of three healthy runs on `w` at 1,000/s with these costs.
fn group(adapter: &str, cpu: [f64; 3]) -> Group {
    let [min, median, max] = cpu;
    let spread = Some(Spread { median, min, max });
    Group {
        adapter: adapter.into(),
        workload: "w".into(),
        r#loop: "open".into(),
        rate_rps: Some(1000),
        connections: 32,
        runs: 3,
        valid_runs: 3,
        healthy_runs: 3,
        figures: [("cpu_us_per_request".to_owned(), spread)].into(),
        ..Group::default()
    }
}

fn matrix(groups: Vec<Group>) -> Summary {
    Summary {
        groups,
        plan: json!({"kind": "matrix", "adapters": ["x", "ref", "gone"], "workloads": ["w"],
            "reference": "ref", "overridden": ["load: 60 -> 12"]}),
        ..Summary::default()
    }
}

/// The answer about CPU, of the first claim.
fn cpu(there: &Summary, here: &Summary) -> Judged {
    let reproduction = Reproduction::of(&claims(there), here);
    let mut ratios = reproduction.ratios.into_iter();
    ratios
        .find(|one| one.figure == "cpu_us_per_request")
        .unwrap()
}

#[test]
fn a_matrix_is_answered_by_its_ratios_and_not_by_its_machine() {
    let there = matrix(vec![
        group("ref", [100.0, 101.0, 102.0]),
        group("x", [150.0, 151.0, 152.0]),
    ]);
    // A machine that is ten times as fast, and less even.
    let here = matrix(vec![
        group("ref", [10.0, 10.5, 11.0]),
        group("x", [14.0, 15.0, 16.0]),
    ]);
    let all = Reproduction::of(&claims(&there), &here);
    assert_eq!((all.reproduced, all.not_reproduced), (1, 0));
    assert_eq!(all.no_verdict, 5, "figures that neither has");
    assert_eq!(all.changed, ["load: 60 -> 12"]);
    assert!(all.besides(&there).changed.is_empty(), "so it was there");
    let one = cpu(&there, &here);
    assert_eq!((one.a.as_str(), one.b.as_str()), ("x", "ref"));
    assert_eq!((one.r#loop, one.rate_rps), (Some("open"), Some(1000)));
    assert_eq!(one.answer, Answer::Reproduced);
    assert_eq!(one.here.range, Some(Range::new(14.0 / 11.0, 1.6)));
    let equal = matrix(vec![
        group("ref", [10.0, 10.5, 11.0]),
        group("x", [10.0, 10.5, 11.0]),
    ]);
    assert_eq!(cpu(&there, &equal).answer, Answer::NotReproduced);
    let json = serde_json::to_value(&one).unwrap();
    assert_eq!(json["answer"], "reproduced");
    assert_eq!(
        (&json["there"]["claim"], &json["rule"]),
        (&json!("greater"), &json!("ranges"))
    );
}

#[test]
fn the_reference_is_the_plans_or_the_first_that_was_measured() {
    let groups = || vec![group("ref", [1.0; 3]), group("x", [2.0, 2.1, 2.2])];
    let mut there = matrix(groups());
    let pair = |there: &Summary| {
        let claim = claims(there).remove(0);
        (claim.a, claim.b)
    };
    assert_eq!(pair(&there), ("x".into(), "ref".into()));
    there.plan["reference"] = json!(null);
    assert_eq!(pair(&there), ("ref".into(), "x".into()));
    there.plan["adapters"] = json!(["gone", "ref", "x"]);
    assert_eq!(pair(&there), ("x".into(), "ref".into()));
    there.groups.truncate(1);
    assert!(claims(&there).is_empty(), "nobody to hold it against");
}

#[test]
fn what_is_not_here_says_why() {
    type Break = fn(&mut Summary);
    let both = || {
        matrix(vec![
            group("ref", [100.0, 101.0, 102.0]),
            group("x", [150.0, 151.0, 152.0]),
        ])
    };
    let table: [(&str, Break); 9] = [
        ("x was not measured here: not built: no tool", |here| {
            here.groups.pop();
            here.holes.push(Hole {
                adapter: "x".into(),
                workload: "w".into(),
                reason: "not built: no tool".into(),
            });
        }),
        ("x took no part here", |here| {
            here.groups.pop();
            here.plan["adapters"] = json!(["ref"]);
        }),
        ("the workload w was not run here", |here| {
            here.groups.clear();
            here.plan["workloads"] = json!(["v"]);
        }),
        ("1000/s was not run here", |here| {
            here.groups
                .iter_mut()
                .for_each(|group| group.rate_rps = Some(5));
        }),
        (
            "cpu_us_per_request was not measured here at this load",
            |here| {
                here.groups
                    .iter_mut()
                    .for_each(|group| group.connections = 8);
            },
        ),
        (
            "cpu_us_per_request was not measured here at this load",
            |here| {
                here.groups
                    .iter_mut()
                    .for_each(|group| group.sides = vec!["a".into()]);
            },
        ),
        ("x has no cpu_us_per_request in one of its runs", |here| {
            here.groups[1].figures.clear();
        }),
        ("x is known to be healthy in 2 of 3 valid runs", |here| {
            here.groups[1].healthy_runs = 2;
        }),
        ("2 valid repetitions, and at least 3", |here| {
            here.groups[1].valid_runs = 2;
        }),
    ];
    for (why, break_it) in table {
        let mut here = both();
        break_it(&mut here);
        let one = cpu(&both(), &here);
        assert_eq!(one.answer, Answer::NoVerdict, "{why}");
        assert!(one.reason.contains(why), "{why}: {}", one.reason);
        let other_way = cpu(&here_or(&here, &both()), &both());
        assert_ne!(other_way.answer, Answer::NotReproduced, "{why}");
    }
}

/// The first if it claims anything of CPU at all, else the second.
fn here_or(one: &Summary, two: &Summary) -> Summary {
    let any = claims(one)
        .iter()
        .any(|claim| claim.figure == "cpu_us_per_request");
    if any { one.clone() } else { two.clone() }
}

/// A duel of 6 pairs in which `x` costs so many times as much as `ref`, within a percent.
fn duel(factor: f64, change: impl Fn(&mut Session)) -> Summary {
    let mut session = Session::new(&["x", "ref"], 6, 6);
    session.each("measure", 0, |number, cell| {
        let noise = 1.0 + 0.002 * (number as f64 - 2.5);
        fixture::scale_cpu(cell, factor * noise);
    });
    session.each("null", 0, |number, cell| {
        let noise = 1.0 + 0.001 * (number as f64 - 2.5);
        fixture::scale_cpu(cell, noise);
    });
    change(&mut session);
    let rules = DuelRules {
        contenders: vec!["x".into()],
        reference: "ref".into(),
        workloads: vec!["w".into()],
        rates: vec![1000],
        connections: 32,
        metrics: vec!["cpu_us_per_request".into()],
        pairs: 6,
        null: 6,
        smallest_effect: 0.005,
        pairing: Pairing {
            interleaved: true,
            series: false,
        },
        ..DuelRules::default()
    };
    Summary {
        verdicts: verdicts(&session.cells, &rules, &BTreeMap::new()),
        cells: session.cells,
        plan: json!({"kind": "duel", "adapters": ["x", "ref"], "workloads": ["w"]}),
        ..Summary::default()
    }
}

#[test]
fn a_figure_of_no_particular_load_is_taken_where_it_was_repeated() {
    let at = |rate: u64, runs: u32, adapter: &str, cpu: [f64; 3]| Group {
        rate_rps: Some(rate),
        valid_runs: runs,
        healthy_runs: runs,
        ..group(adapter, cpu)
    };
    let claim = Claim {
        load: Load::Any,
        connections: None,
        ..claims(&matrix(vec![
            group("ref", [100.0, 101.0, 102.0]),
            group("x", [150.0, 151.0, 152.0]),
        ]))
        .remove(0)
    };
    let few = [at(10, 2, "ref", [1.0; 3]), at(10, 2, "x", [1.0; 3])];
    let many = [at(20, 3, "ref", [1.0; 3]), at(20, 3, "x", [2.0; 3])];
    for (groups, answer) in [
        ([few.clone(), many.clone()].concat(), Answer::Reproduced),
        ([many, few.clone()].concat(), Answer::Reproduced),
        (few.to_vec(), Answer::NoVerdict),
    ] {
        let all = Reproduction::of(std::slice::from_ref(&claim), &matrix(groups));
        assert_eq!(all.ratios[0].answer, answer);
        assert_eq!((all.ratios[0].r#loop, all.ratios[0].rate_rps), (None, None));
    }
}

#[test]
fn verdicts_are_answered_by_verdicts() {
    let as_it_is = |factor| duel(factor, |_| {});
    for (there, here, answer, why) in [
        (1.2, 1.3, Answer::Reproduced, "sizes differ"),
        (1.2, 1.2, Answer::Reproduced, "same direction"),
        (1.2, 0.8, Answer::NotReproduced, "opposite"),
        (0.8, 0.9, Answer::Reproduced, "same direction"),
        (1.2, 1.0, Answer::NotReproduced, "nothing in common"),
        (1.0, 1.2, Answer::NotReproduced, "nothing in common"),
        (1.0, 1.0, Answer::NoVerdict, "nothing is claimed there"),
        (1.006, 1.0, Answer::NoVerdict, "interval includes 1"),
    ] {
        let one = cpu(&as_it_is(there), &as_it_is(here));
        assert_eq!(one.answer, answer, "{there}, {here}: {one:?}");
        assert!(one.reason.contains(why), "{there}, {here}: {}", one.reason);
        assert_eq!(one.rule, Rule::Interval);
    }
    assert_eq!(
        cpu(&as_it_is(1.2), &as_it_is(1.2)).there.claim,
        Some(Ordering::Greater)
    );
}

#[test]
fn an_interval_that_is_not_of_the_sides_alone_excludes_nothing() {
    let there = duel(1.2, |_| {});
    let lost = duel(1.0, |session| {
        session.each("measure", 0, |number, cell| cell.load.valid = number > 0);
    });
    let ranked_by_order = duel(1.0, |session| {
        session.each("null", 0, |_, cell| fixture::scale_cpu(cell, 1.05));
    });
    let warming = duel(1.0, |session| {
        session.each("measure", 0, |_, cell| {
            let windows = cell.windows.iter_mut().enumerate();
            for (number, window) in windows {
                let factor = 1.2 - 0.04 * number as f64;
                window.cpu_us = window.cpu_us.map(|cpu| cpu * factor);
            }
        });
    });
    for (here, why) in [
        (lost, "5 valid pairs"),
        (ranked_by_order, "order alone"),
        (warming, "still warming"),
    ] {
        let one = cpu(&there, &here);
        assert_eq!(
            (one.answer, one.here.range),
            (Answer::NoVerdict, None),
            "{why}"
        );
        assert!(one.reason.contains(why), "{}", one.reason);
    }
    let mut nobody = duel(1.2, |_| {});
    nobody.verdicts.clear();
    let one = cpu(&there, &nobody);
    assert!(
        one.reason.contains("x was not judged against ref"),
        "{}",
        one.reason
    );
}

#[test]
fn two_series_are_ranked_by_separation_and_by_nothing_else() {
    let verdict = |word: &str| Verdict {
        a: "x".into(),
        b: "ref".into(),
        workload: "w".into(),
        connections: 64,
        metric: "capacity_rps".into(),
        rule: "published".into(),
        better: "higher".into(),
        verdict: word.into(),
        reason: "in the noise".into(),
        ratio: Some(if word == "faster" { 1.2 } else { 0.8 }),
        ci_low: Some(0.79),
        ci_high: Some(0.81),
        n: 2,
        ..Verdict::default()
    };
    let summary = |word: &str| Summary {
        verdicts: vec![verdict(word)],
        plan: json!({"kind": "duel", "adapters": ["x", "ref"], "workloads": ["w"]}),
        ..Summary::default()
    };
    for (there, here, answer) in [
        ("faster", "faster", Answer::Reproduced),
        ("faster", "slower", Answer::NotReproduced),
        ("faster", "no verdict", Answer::NoVerdict),
    ] {
        let all = Reproduction::of(&claims(&summary(there)), &summary(here));
        assert_eq!(all.ratios[0].answer, answer, "{there}, {here}");
        assert_eq!(all.ratios[0].r#loop, Some("closed"));
    }
}

#[test]
fn sustained_rates_are_answered_by_their_intervals() {
    let summary = |rates: &[(&str, Option<u64>, Option<u64>)]| Summary {
        sustained: rates
            .iter()
            .map(|(who, held, failed)| Sustained {
                adapter: (*who).to_owned(),
                workload: "w".into(),
                rate_rps: *held,
                not_held_rps: *failed,
                complete: true,
                ..Sustained::default()
            })
            .collect(),
        plan: json!({"kind": "sustain", "adapters": ["ref", "x"], "workloads": ["w"]}),
        ..Summary::default()
    };
    let there = summary(&[("ref", Some(200), None), ("x", Some(100), Some(200))]);
    for (x, answer) in [
        ((Some(10), Some(11)), Answer::Reproduced),
        ((None, Some(11)), Answer::Reproduced),
        ((Some(30), Some(31)), Answer::NotReproduced),
        ((Some(20), Some(21)), Answer::NoVerdict),
        ((Some(20), None), Answer::NoVerdict),
    ] {
        let here = summary(&[("ref", Some(20), Some(21)), ("x", x.0, x.1)]);
        let all = Reproduction::of(&claims(&there), &here);
        assert_eq!(all.ratios[0].answer, answer, "{x:?}");
        assert_eq!(all.ratios[0].r#loop, None);
    }
    type Cut = fn(&mut Sustained);
    let cuts: [Cut; 2] = [|row| row.at_least = true, |row| row.complete = false];
    for cut in cuts {
        let mut here = summary(&[("ref", Some(20), Some(21)), ("x", Some(10), Some(11))]);
        cut(&mut here.sustained[1]);
        let all = Reproduction::of(&claims(&there), &here);
        assert_eq!(all.ratios[0].answer, Answer::NoVerdict);
    }
    let all = Reproduction::of(&claims(&there), &summary(&[]));
    assert!(
        all.ratios[0]
            .reason
            .contains("sustained_rps was not measured")
    );
}
