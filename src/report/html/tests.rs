use serde_json::Value;

use super::*;
use crate::record::details::{self, Course, CurvePoint, GroupDetails, Proof, Step};
use crate::record::schema::{Cell as Measured, Spread};
use crate::record::source::Source;
use crate::record::{compare, fixture};
use crate::stats::groups::FIGURES;

const HOSTILE: &str = "</script></style><script>alert(1)</script>\"'&{{title}}\u{202e}";

/// The fixture's archive with the verdicts of a duel.
fn archive() -> (Summary, Details) {
    let dir = fixture::archive();
    let source = Source::open(dir.path()).unwrap();
    let document = compare::parse(&source.read("summary.json").unwrap()).unwrap();
    let mut summary: Summary = serde_json::from_value(document).unwrap();
    let details = details::read(&source, &summary).unwrap();
    summary.verdicts = verdicts::tests::summary().verdicts;
    (summary, details)
}

#[test]
fn the_page_is_the_same_every_time_and_leads_nowhere() {
    let (summary, details) = archive();
    let page = render(&summary, &details, Some("1234"));
    assert_eq!(page, render(&summary, &details, Some("1234")));
    assert!(page.contains("<code class=\"id\">1234</code>"));
    for address in ["http:", "https:", "//cdn", "url(", "@import", " src="] {
        assert!(!page.contains(address), "{address}");
    }
    let links: Vec<&str> = page.split("href=\"").skip(1).collect();
    assert!(
        links
            .iter()
            .all(|link| link.starts_with('#') || link.starts_with("data:,\""))
    );
}

#[test]
fn nothing_in_a_hostile_archive_becomes_markup() {
    let (summary, mut details) = archive();
    let mut document = serde_json::to_value(&summary).unwrap();
    poison(&mut document);
    let mut summary: Summary = serde_json::from_value(document).unwrap();
    for document in [&mut summary.plan, &mut summary.environment] {
        document[HOSTILE] = Value::from(HOSTILE);
    }
    for proof in &mut details.proofs {
        for exchange in &mut proof.exchanges {
            let mut document = serde_json::to_value(&*exchange).unwrap();
            poison(&mut document);
            *exchange = serde_json::from_value(document).unwrap();
            exchange
                .response
                .headers
                .push((HOSTILE.into(), HOSTILE.into()));
        }
        proof.failures.push((HOSTILE.into(), HOSTILE.into()));
    }
    for adapter in &mut details.adapters {
        (adapter.name, adapter.title) = (HOSTILE.into(), HOSTILE.into());
    }
    details
        .folders
        .iter_mut()
        .for_each(|folder| *folder = HOSTILE.into());
    let page = render(&summary, &details, Some(HOSTILE));
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("</style").count(), 1);
    assert_eq!(page.matches("<h1>").count(), 1);
    assert!(!page.contains('\u{202e}'));
    assert!(page.matches("&lt;script&gt;alert(1)").count() > 100);
}

/// Every text replaced.
fn poison(value: &mut Value) {
    match value {
        Value::String(text) => *text = HOSTILE.to_owned(),
        Value::Array(list) => list.iter_mut().for_each(poison),
        Value::Object(map) => {
            // A guard's level is one of a few words: any other is no summary at all.
            let texts = map
                .iter_mut()
                .filter(|(key, value)| *key != "level" || !value.is_string());
            texts.for_each(|(_, value)| poison(value));
        }
        _ => {}
    }
}

#[test]
fn every_figure_is_drawn_once_with_its_exact_value() {
    let (summary, details) = archive();
    let page = render(&summary, &details, None);
    let marks: Vec<&str> = page.split("class=\"mark ").skip(1).collect();
    // CPU and three phases of memory for each group, and each verdict's ratio; one rate has no line.
    let ratios = summary
        .verdicts
        .iter()
        .filter(|v| v.ratio.is_some())
        .count();
    assert_eq!(marks.len(), summary.groups.len() * 4 + ratios);
    for group in &summary.groups {
        for figure in ["cpu_us_per_request", "rss_mib.load"] {
            let exact = format!("data-v=\"{}\"", group.figures[figure].unwrap().median);
            assert!(
                marks.iter().any(|mark| mark.contains(&exact)),
                "{figure}: {exact}"
            );
        }
        for (figure, _) in FIGURES {
            if let Some(spread) = group.figures[figure] {
                assert!(page.contains(&format!(
                    "data-v=\"{}\" data-min=\"{}\"",
                    spread.median, spread.min
                )));
            }
        }
    }
    assert!(page.contains("none: the archive is not finished"));
}

#[test]
fn what_was_not_measured_is_seen_where_it_is_missed() {
    let (mut summary, details) = archive();
    summary.groups[0]
        .figures
        .insert("cpu_us_per_request".into(), None);
    summary.cells[0].load.valid = false;
    summary.cells[0].load.invalid_reasons = vec!["the clock stepped".into()];
    let page = render(&summary, &details, None);
    // In the list and in the workload's table, its figures included.
    assert!(page.contains("fastify, hello: not built: its tool is in no registry"));
    assert!(page.contains(
        "<tr class=\"hole\"><th scope=\"row\">fastify</th><td colspan=\"17\">not measured: not built: its tool is in no registry"
    ));
    assert!(page.contains("no figure: CPU us per request"));
    assert_eq!(page.matches("the clock stepped").count(), 2);
    assert!(page.find("id=\"inconclusive\"") < page.find("id=\"verdicts\""));

    let nothing = Summary::default();
    let page = render(&nothing, &Details::default(), None);
    assert!(page.contains("Nothing was measured."));
    assert!(page.contains("These numbers are not for publication."));
}

/// 8 adapters, 4 workloads, 2 rates, 3 repetitions of a minute, and 60 rows of parity.
fn large() -> (Summary, Details) {
    let (mut summary, mut details) = archive();
    let (cell, group) = (summary.cells[0].clone(), summary.groups[0].clone());
    let proof = details.proofs[0].clone();
    summary.cells.clear();
    summary.groups.clear();
    details = Details::default();
    for workload in ["catalog", "hello", "upstream", "validate"] {
        for rate in [100, 1000] {
            for adapter in 0..8 {
                let name = format!("framework-{adapter}");
                let mut runs = Vec::new();
                for repetition in 1..=3 {
                    let mut cell: Measured = cell.clone();
                    cell.key.adapter.clone_from(&name);
                    cell.key.workload = workload.into();
                    cell.key.rate_rps = Some(rate);
                    cell.key.repetition = repetition;
                    runs.push(course(summary.cells.len()));
                    summary.cells.push(cell);
                    details
                        .folders
                        .push(format!("0000-{name}-{workload}-{rate}-c32-r{repetition}"));
                }
                if rate == 100 {
                    details
                        .proofs
                        .push(proof_of(&proof, summary.cells.len() - 1));
                }
                let mut group = group.clone();
                (group.adapter, group.workload, group.rate_rps) =
                    (name, workload.into(), Some(rate));
                for (i, spread) in group.figures.values_mut().enumerate() {
                    let median = 1_234.567_891_234 + i as f64 / 7.0;
                    let (min, max) = (median / 1.1, median * 1.1);
                    *spread = Some(Spread { median, min, max });
                }
                summary.groups.push(group);
                let curve: Vec<CurvePoint> = (0..38).map(point).collect();
                details.groups.push(GroupDetails {
                    response: curve.clone(),
                    service: curve,
                    runs,
                });
            }
        }
    }
    (summary, details)
}

fn point(k: i32) -> CurvePoint {
    let (beyond, us) = (10f64.powf(-f64::from(k) / 10.0), 100.0 * 1.17f64.powi(k));
    CurvePoint { beyond, us }
}

fn course(cell: usize) -> Course {
    let step = |second: u32| Step {
        start_s: f64::from(second),
        end_s: f64::from(second + 1),
        us: 300.0 + f64::from(second * 7919 % 1000),
    };
    let steps: Vec<Step> = (0..60).map(step).collect();
    let (p50, p99) = (steps.clone(), steps);
    Course { cell, p50, p99 }
}

fn proof_of(proof: &Proof, cell: usize) -> Proof {
    let exchange = |i: usize| {
        let mut exchange = proof.exchanges[0].clone();
        exchange.row = format!("plain catalog #{i}");
        exchange.response.headers = vec![("x-header".into(), "value".repeat(60))];
        exchange.response.body.0 = format!("{cell} {i} ").repeat(400).into_bytes();
        exchange
    };
    Proof {
        cell,
        exchanges: (0..60).map(exchange).collect(),
        ..proof.clone()
    }
}

#[test]
fn the_page_of_192_cells_is_under_2_mb() {
    let (summary, details) = large();
    assert_eq!(summary.cells.len(), 192);
    let page = render(&summary, &details, Some("1234"));
    assert!(page.len() < 2_000_000, "{}", page.len());
}
