use super::super::fixture::{self, Session, side};
use super::super::prices::prices;
use super::*;

fn rules() -> DuelRules {
    DuelRules {
        contenders: vec!["x".into()],
        reference: "ref".into(),
        workloads: vec!["w".into()],
        rates: vec![1000],
        connections: 32,
        metrics: ["cpu_us_per_request", "response_p50_us"]
            .map(str::to_owned)
            .into(),
        pairs: 6,
        null: 12,
        smallest_effect: 0.005,
        pairing: Pairing {
            interleaved: true,
            series: false,
        },
        ..DuelRules::default()
    }
}

/// Costs a side so many times as much, in all that is measured of it.
fn scale(cell: &mut Cell, factor: f64) {
    fixture::scale_cpu(cell, factor);
    let clock = &mut cell.load.response_us;
    for figure in [&mut clock.p50, &mut clock.p99] {
        *figure = figure.map(|value| value * factor);
    }
    cell.load.achieved_rps = cell.load.achieved_rps.map(|rate| rate / factor);
}

/// Noise of about 0.3 % that adds up to nothing over 6 pairs and over 12.
fn noise(number: usize) -> f64 {
    1.0 + 0.001 * [-4.0, 3.0, -1.0, 2.0, -3.0, 3.0][number % 6]
}

/// 6 pairs of x, which costs 10 % less, and 12 of the reference with itself.
fn session() -> Session {
    let mut session = Session::new(&["x", "ref"], 6, 12);
    session.each("measure", 0, |number, cell| {
        scale(cell, 0.9 * noise(number))
    });
    session.each("null", 0, |number, cell| scale(cell, noise(number)));
    session
}

fn judged(session: &Session, rules: &DuelRules) -> Vec<Verdict> {
    verdicts(&session.cells, rules, &[("w".to_owned(), 1)].into())
}

#[test]
fn a_verdict_carries_all_that_it_rests_on() {
    let all = judged(&session(), &rules());
    assert_eq!(all.len(), 2);
    let cpu = &all[0];
    let said = (
        cpu.a.as_str(),
        cpu.b.as_str(),
        cpu.verdict.as_str(),
        cpu.rule.as_str(),
    );
    assert_eq!(said, ("x", "ref", "faster", "interval"));
    assert_eq!(
        (cpu.level, cpu.rate_rps, cpu.connections),
        (1, Some(1000), 32)
    );
    assert_eq!((cpu.n, cpu.null_n, cpu.confidence), (6, 12, 0.975));
    let ratio = cpu.ratio.unwrap();
    assert!((ratio - 0.9).abs() < 1e-4, "{ratio}");
    for (low, high) in [
        (cpu.ci_low, cpu.ci_high),
        (cpu.bootstrap_low, cpu.bootstrap_high),
    ] {
        assert!(low.unwrap() < ratio && ratio < high.unwrap());
    }
    assert!(
        cpu.ci_low < cpu.bootstrap_low,
        "the bootstrap is too narrow"
    );
    assert!(cpu.null_low.unwrap() < 1.0 && cpu.null_high.unwrap() > 1.0);
    assert_eq!((cpu.separated, cpu.better.as_str()), (Some(true), "lower"));
    assert!((cpu.sd_log.unwrap() - 0.0031).abs() < 1e-4);
    let near_1 = |factor: Option<f64>| (factor.unwrap() - 1.0).abs() < 1e-9;
    assert!(near_1(cpu.slice_effect) && near_1(cpu.trend));
    assert!(
        cpu.reason.contains("over 6 pairs the interval excludes 1"),
        "{}",
        cpu.reason
    );
}

#[test]
fn the_word_is_of_a_and_follows_what_is_better() {
    let mut rules = rules();
    rules.metrics = vec!["response_p99_us".into(), "capacity_rps".into()];
    rules.capacity_connections = vec![25, 50];
    for (factor, word) in [(0.9, "faster"), (1.1, "slower"), (1.0, "no verdict")] {
        let mut session = session();
        session.each("measure", 0, |number, cell| {
            *cell = side("measure", number as u32 + 1, &["x", "ref"], 0);
            scale(cell, factor * noise(number));
        });
        for connections in [25, 50] {
            let closed = |cell: &Cell| {
                let mut cell = cell.clone();
                cell.key.r#loop = "closed".into();
                (cell.key.rate_rps, cell.key.connections) = (None, connections);
                cell
            };
            let open = session
                .cells
                .iter()
                .filter(|cell| cell.key.rate_rps.is_some());
            let closed: Vec<Cell> = open.map(closed).collect();
            session.cells.extend(closed);
        }
        let all = judged(&session, &rules);
        let points: Vec<_> = all.iter().map(|v| (v.rate_rps, v.connections)).collect();
        assert_eq!(points, [(Some(1000), 32), (None, 25), (None, 50)]);
        for verdict in all {
            assert_eq!(verdict.verdict, word, "{verdict:?}");
            assert_eq!(verdict.confidence, 1.0 - 0.05 / 3.0);
        }
    }
}

#[test]
fn every_reason_to_withhold_bites() {
    type Break = fn(&mut Session, &mut DuelRules);
    // What is broken, what CPU per request says of it, and what p50 says; empty for a verdict.
    let table: [(&str, &str, Break); 16] = [
        ("", "", |_, _| ()),
        (
            "5 valid pairs, and at least 6 are needed; invalid: 1",
            "5 valid pairs",
            |s, _| {
                s.cells[0].load.valid = false;
            },
        ),
        (
            "5 valid pairs, and at least 6 are needed; a side is overloaded",
            "overloaded",
            |s, _| {
                s.cells[0].load.valid = false;
                s.cells[0].load.spilled = 101;
            },
        ),
        (
            "5 valid pairs, and at least 6 are needed; invalid: 1",
            "invalid",
            |s, _| {
                s.cells[0].load.valid = false;
                s.cells[0].load.spilled = 100;
            },
        ),
        (
            "0 valid pairs, and at least 6 are needed",
            "0 valid pairs",
            |s, _| s.cells.clear(),
        ),
        ("0 valid null pairs", "0 valid null pairs", |s, _| {
            s.cells.retain(|cell| cell.key.role == "measure");
        }),
        ("", "", |s, r| {
            s.cells.retain(|cell| cell.key.role == "measure");
            r.null = 0;
        }),
        (
            "order alone ranks here",
            "order alone ranks here",
            |s, _| {
                s.each("null", 0, |_, cell| scale(cell, 1.01));
            },
        ),
        (
            "null test: in 1 of 12 pairs ref has none: it fell",
            "",
            |s, _| {
                s.each("null", 0, |number, cell| {
                    if number == 0 {
                        cell.cpu_us_per_request = None;
                        cell.load
                            .nulls
                            .insert("cpu_us_per_request".into(), "it fell".into());
                    }
                });
            },
        ),
        (
            "the interval includes 1",
            "the interval includes 1",
            |s, _| {
                s.each("measure", 0, |number, cell| {
                    scale(cell, if number < 3 { 1.3 } else { 0.9 })
                });
            },
        ),
        ("", "others' time (ref 10.0 %)", |s, _| {
            // In bursts: most blocks see nothing.
            s.each("measure", 1, |number, cell| {
                let share = if number < 2 { 28.0 } else { 1.0 };
                cell.paired.as_mut().unwrap().background_pct = Some(share);
            });
        }),
        ("", "", |s, _| {
            s.each("measure", 1, |number, cell| {
                let share = if number < 2 { 12.0 } else { 1.0 };
                cell.paired.as_mut().unwrap().background_pct = Some(share);
            });
        }),
        ("", "nobody looked", |s, _| {
            let paired = s.cells.iter_mut().filter_map(|cell| cell.paired.as_mut());
            paired.for_each(|paired| paired.background_pct = None);
        }),
        (
            "slice effect: the ratio of CPU per request changes by 3.00 %",
            "slice effect",
            |s, _| {
                s.each("measure", 0, |number, cell| {
                    for block in cell
                        .blocks
                        .iter_mut()
                        .filter(|block| block.slice_ns > 20_000_000)
                    {
                        block.cpu_us = block.cpu_us.map(|us| us * 1.03 * noise(number));
                    }
                });
            },
        ),
        (
            "still warming: the ratio of CPU per request changes by 2.00 %",
            "still warming",
            |s, _| {
                s.each("measure", 0, |_, cell| {
                    for (place, window) in cell.windows.iter_mut().enumerate() {
                        window.cpu_us = window
                            .cpu_us
                            .map(|us| us * (0.022 - 0.0022 * place as f64).exp());
                    }
                });
            },
        ),
        (
            "pairs with other sides alive are never merged",
            "never merged",
            |s, _| {
                s.add("measure", &["x", "y", "ref"], 1);
            },
        ),
    ];
    for (cpu, p50, break_it) in table {
        let (mut session, mut rules) = (session(), rules());
        break_it(&mut session, &mut rules);
        let all = judged(&session, &rules);
        for (verdict, why) in all.iter().zip([cpu, p50]) {
            let word = if why.is_empty() {
                "faster"
            } else {
                "no verdict"
            };
            assert_eq!(verdict.verdict, word, "{why}: {verdict:?}");
            assert!(verdict.reason.contains(why), "{why}: {}", verdict.reason);
        }
    }
}

#[test]
fn what_changes_within_the_load_by_little_withholds_nothing() {
    let mut session = session();
    session.each("measure", 0, |_, cell| {
        for block in cell
            .blocks
            .iter_mut()
            .filter(|block| block.slice_ns > 20_000_000)
        {
            block.cpu_us = block.cpu_us.map(|us| us * 1.009);
        }
        for (place, window) in cell.windows.iter_mut().enumerate() {
            window.cpu_us = window.cpu_us.map(|us| us * (1.0 + 0.001 * place as f64));
        }
    });
    let cpu = judged(&session, &rules()).remove(0);
    assert_eq!(cpu.verdict, "faster");
    assert!((cpu.slice_effect.unwrap() - 1.009).abs() < 1e-9);
    assert!((cpu.trend.unwrap() - 1.009).abs() < 1e-4);
    // A load too short for blocks and windows shows neither.
    session.each("measure", 0, |_, cell| {
        cell.blocks.truncate(1);
        cell.windows[3].cpu_us = None;
    });
    let cpu = judged(&session, &rules()).remove(0);
    assert_eq!(
        (cpu.slice_effect, cpu.trend, cpu.verdict.as_str()),
        (None, None, "faster")
    );
}

#[test]
fn a_metric_that_a_side_lacks_has_no_verdict_and_never_a_zero() {
    let mut rules = rules();
    rules.metrics = vec![
        "main_thread_us_per_request".into(),
        "response_p99_us".into(),
    ];
    let mut session = session();
    session.each("measure", 1, |_, cell| {
        cell.main_thread_us_per_request = None;
        let why = "the adapter does not say that one thread serves";
        cell.load
            .nulls
            .insert("main_thread_us_per_request".into(), why.into());
    });
    session.each("measure", 0, |number, cell| {
        cell.load.response_us.p99 = cell.load.response_us.p99.filter(|_| number != 2);
        cell.load
            .nulls
            .insert("response_us.p99".into(), "censored".into());
    });
    let all = judged(&session, &rules);
    let why = "in 6 of 6 pairs ref has none: the adapter does not say that one thread serves";
    for (verdict, why) in all
        .iter()
        .zip([why, "in 1 of 6 pairs x has none: censored"])
    {
        assert_eq!(
            (verdict.verdict.as_str(), verdict.reason.as_str()),
            ("no verdict", why)
        );
        assert_eq!((verdict.n, verdict.ratio, verdict.ci_low), (0, None, None));
        assert_eq!(
            (verdict.sd_log, verdict.separated, verdict.bootstrap_low),
            (None, None, None)
        );
    }
    session.cells.clear();
    for verdict in judged(&session, &rules) {
        assert_eq!(
            (verdict.verdict.as_str(), verdict.n, verdict.ratio),
            ("no verdict", 0, None)
        );
        assert_eq!(
            (verdict.null_low, verdict.slice_effect, verdict.trend),
            (None, None, None)
        );
    }
}

#[test]
fn more_sides_are_each_judged_against_the_reference() {
    let mut session = Session::new(&["x", "y", "ref"], 6, 12);
    for (place, factor) in [(0, 0.9), (1, 1.2)] {
        session.each("measure", place, |number, cell| {
            scale(cell, factor * noise(number))
        });
    }
    // In the null test the side between is of no pair.
    session.each("null", 0, |number, cell| scale(cell, noise(number)));
    session.each("null", 1, |_, cell| scale(cell, 3.0));
    let mut rules = rules();
    rules.contenders.push("y".into());
    rules.metrics.pop();
    let all = judged(&session, &rules);
    let words: Vec<_> = all
        .iter()
        .map(|v| (v.a.as_str(), v.verdict.as_str()))
        .collect();
    assert_eq!(words, [("x", "faster"), ("y", "slower")]);
    assert!(all.iter().all(|v| v.confidence == 0.975 && v.null_n == 12));
    // A third side's work in the background is everybody's.
    rules.metrics = vec!["response_p50_us".into()];
    session.each("measure", 1, |_, cell| {
        cell.paired.as_mut().unwrap().background_pct = Some(30.0);
    });
    let all = judged(&session, &rules);
    assert!(
        all.iter().all(|v| v.reason.contains("(y 30.0 %)")),
        "{all:?}"
    );
    // A null test of two sides is another protocol than pairs of three.
    session.cells.retain(|cell| cell.key.role == "measure");
    session.add("null", &["ref", "ref"], 12);
    assert!(
        judged(&session, &rules)[0]
            .reason
            .contains("0 valid null pairs")
    );
}

#[test]
fn equal_service_has_its_price() {
    let mut session = session();
    let mut more = session.cells.clone();
    for cell in &mut more {
        cell.key.workload = "served".into();
        scale(cell, if cell.key.adapter == "x" { 1.5 } else { 1.25 });
    }
    session.cells.extend(more);
    let mut rules = rules();
    rules.workloads.push("served".into());
    let levels = [("w".to_owned(), 1), ("served".to_owned(), 2)].into();
    let all = prices(&session.cells, &rules, &levels);
    let seen: Vec<_> = all
        .iter()
        .map(|p| (p.who.as_str(), p.price, p.bare_n, p.equal_n))
        .collect();
    assert_eq!(seen.len(), 2);
    for ((who, price, bare_n, equal_n), expected) in
        seen.into_iter().zip([("x", 1.5), ("ref", 1.25)])
    {
        assert_eq!((who, bare_n, equal_n), (expected.0, 6, 6));
        assert!((price - expected.1).abs() < 1e-9, "{price}");
    }
    assert!(prices(&session.cells, &rules, &BTreeMap::new()).is_empty());
    session.cells.retain(|cell| cell.key.workload == "w");
    assert!(
        prices(&session.cells, &rules, &levels).is_empty(),
        "nothing measured, no price"
    );
}
