//! The kit's own workloads, and whether the judge sees everything that can be wrong with an answer.

use std::path::Path;

use serde_json::Value;

use super::exchange::{Body, Heads};
use super::transcript::BURST;
use super::{Answer, Burst, Exchange, Transcript, archived, matrix};
use crate::plan::expect::HeaderRule;
use crate::plan::workload::PLAIN;
use crate::plan::{Kit, Variant, Workload};
use crate::record::source::Source;

fn kit() -> Kit {
    Kit::find(Some(Path::new(env!("CARGO_MANIFEST_DIR")))).unwrap()
}

/// Another few lines than generate.py's, so that a mistake in one shows in the other.
#[test]
fn the_catalogs_pages_are_what_its_items_give() {
    let kit = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let items = std::fs::read_to_string(kit.join("workloads/catalog/data/items.json")).unwrap();
    let items: Vec<serde_json::Value> = serde_json::from_str(&items).unwrap();
    assert_eq!(items.len(), 500);
    let workload = crate::plan::Kit::find(Some(kit))
        .unwrap()
        .workload("catalog");
    let rows = workload.unwrap().parity_rows();
    let paged = rows
        .iter()
        .filter(|row| row.name.contains("page") && row.expect.status.contains(200));
    let mut pages = 0;
    for row in paged.filter(|row| row.name.contains("max_price=")) {
        let (_, query) = row.path.split_once('?').unwrap();
        let value = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name).unwrap().1
        };
        let most: u64 = value("max_price").parse().unwrap();
        let mut order = std::collections::BTreeMap::new();
        for item in &items {
            let price = item["price"].as_u64().unwrap();
            if item["category"] == value("category") && price <= most {
                order.insert((price, item["id"].as_u64().unwrap()), item);
            }
        }
        let page: usize = value("page").parse().unwrap();
        let shown: Vec<_> = order.values().skip(20 * (page - 1)).take(20).collect();
        let expected = serde_json::json!({
            "total": order.len(), "page": page, "items": shown, "nonce": "{nonce}"
        });
        assert_eq!(row.expect.json, Some(expected), "{}", row.name);
        pages += 1;
    }
    assert_eq!(pages, 24, "16 of the load, 8 last ones");
}

const DEV_ROUTES: [&str; 2] = ["/debug", "/profiler"];

fn dev_routes() -> Vec<String> {
    DEV_ROUTES.map(str::to_owned).into()
}

/// What an honest target answers, made from what is expected; `count` keeps dynamic values apart.
fn honest_answer(row: &Variant, count: &mut u64, date: &str) -> Answer {
    let mut headers = vec![("date".to_owned(), date.to_owned())];
    for (name, rule) in &row.expect.headers {
        *count += 1;
        let value = match rule {
            HeaderRule::Absent => continue,
            HeaderRule::Present => "x".to_owned(),
            HeaderRule::Is(value) => value.clone(),
            HeaderRule::Like { pattern, .. } => {
                let digits = format!("{count:016x}");
                let mut digits = digits.chars().rev().cycle();
                let mut fill = |c| match c {
                    '*' => format!("n{count}"),
                    '#' => digits.next().unwrap().to_string(),
                    c => c.to_string(),
                };
                pattern.chars().map(&mut fill).collect()
            }
        };
        headers.push((name.clone(), value));
    }
    let json = row.expect.json.as_ref().map(Value::to_string);
    let body = row.expect.body.clone().or(json).unwrap_or_default();
    Answer {
        status: row.expect.status.as_slice()[0],
        headers,
        body: Body(body.into_bytes()),
        error: String::new(),
    }
}

/// The transcript of a target that does all that is asked.
fn honest(workload: &Workload) -> Transcript {
    let (mut exchanges, mut count) = (Vec::new(), 0);
    let passes = [("before", 1000.0), ("during", 1010.0), ("after", 1020.0)];
    for (seed, (when, unix_s)) in passes.into_iter().enumerate() {
        for row in matrix::rows(workload, &dev_routes(), seed as u64) {
            if when == "during" && row.variant.is_none() {
                continue;
            }
            exchanges.push(Exchange {
                when: when.to_owned(),
                row: row.name.clone(),
                unix_s,
                nonce: row.nonce.clone(),
                request: row.ask(),
                response: honest_answer(&row.filled, &mut count, when),
                failures: vec![],
            });
        }
    }
    let heads = Heads {
        variant: 0,
        status: workload.variants()[0].expect.status.as_slice()[0],
        names: vec!["date".into()],
        count: BURST,
    };
    Transcript {
        only_kept: false,
        exchanges,
        burst: Some(Burst {
            asked: BURST,
            heads: vec![heads],
        }),
        failures: vec![],
    }
}

/// Everything within a JSON value that can be taken away or changed.
fn json_mutations(value: &Value, nonce: &str) -> Vec<Value> {
    let mut all = Vec::new();
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let mut without = map.clone();
                without.remove(key);
                all.push(without.into());
                for changed in json_mutations(inner, nonce) {
                    let mut with = map.clone();
                    with.insert(key.clone(), changed);
                    all.push(with.into());
                }
            }
        }
        Value::Array(items) if !items.is_empty() => {
            all.push(items[1..].to_vec().into());
            all.push(items.iter().rev().skip(1).rev().cloned().collect());
            if items.len() > 1 {
                all.push(items.iter().rev().cloned().collect());
            }
        }
        Value::String(text) if text.contains(nonce) => {
            all.push(text.replace(nonce, "0123456789abcdef").into());
        }
        Value::Number(_) => all.push(4711.into()),
        _ => {}
    }
    all
}

/// Everything that can be taken away from a right answer or changed in it, by name.
fn mutations(row: &Variant, nonce: &str, right: &Answer) -> Vec<(String, Answer)> {
    let mut all = Vec::new();
    let mut add = |what: String, change: &dyn Fn(&mut Answer)| {
        let mut answer = right.clone();
        change(&mut answer);
        all.push((what, answer));
    };
    add("status".into(), &|answer| answer.status = 599);
    add("no response".into(), &|answer| {
        answer.error = "reset".into()
    });
    add("a session".into(), &|answer| {
        answer.headers.push(("set-cookie".into(), "sid=1".into()));
    });
    for (name, rule) in &row.expect.headers {
        if *rule == HeaderRule::Absent {
            add(format!("{name} there"), &|answer| {
                answer.headers.push((name.clone(), "x".into()));
            });
            continue;
        }
        add(format!("no {name}"), &|answer| {
            answer.headers.retain(|(own, _)| own != name);
        });
        if !matches!(rule, HeaderRule::Like { pattern, .. } if pattern == "*") {
            add(format!("another {name}"), &|answer| {
                let mut field = answer.headers.iter_mut().filter(|(own, _)| own == name);
                field.next().unwrap().1 = "text/html".into();
            });
        }
    }
    if row.method == "HEAD" {
        add("a body".into(), &|answer| answer.body = Body(b"x".to_vec()));
    }
    if row.expect.body.is_some() {
        add("another body".into(), &|answer| answer.body.0.push(b'!'));
    }
    if let Some(json) = &row.expect.json {
        add("half a body".into(), &|answer| {
            let half = answer.body.0.len() / 2;
            answer.body.0.truncate(half);
        });
        for (index, changed) in json_mutations(json, nonce).into_iter().enumerate() {
            add(format!("JSON {index}"), &|answer| {
                answer.body = Body(changed.to_string().into_bytes());
            });
        }
    }
    all
}

#[test]
fn whatever_is_taken_away_from_an_honest_target_is_seen() {
    let mut caught = 0;
    for entry in kit().workloads().unwrap() {
        let workload = entry.loaded.unwrap();
        let mut good = honest(&workload);
        good.judge(&workload, &dev_routes());
        assert_eq!(good.first_failure(), None, "{}", workload.name);
        let rows = matrix::all(&workload, &dev_routes());
        let mut seen = std::collections::BTreeSet::new();
        for index in 0..good.exchanges.len() {
            let exchange = &good.exchanges[index];
            let of_row = (exchange.when.clone(), exchange.row.clone());
            // Variants of one request differ in what is checked above, not in how.
            let page = workload.name == "catalog" && index % 8 != 0;
            if page || !seen.insert(of_row) {
                continue;
            }
            let row = rows.iter().find(|row| row.name == exchange.row).unwrap();
            let row = row.with_nonce(&exchange.nonce);
            for (what, answer) in mutations(&row, &exchange.nonce, &exchange.response) {
                let mut one = Transcript {
                    exchanges: vec![exchange.clone()],
                    ..Transcript::default()
                };
                one.exchanges[0].response = answer;
                one.judge(&workload, &dev_routes());
                let (name, row) = (&workload.name, &row.name);
                assert!(
                    !one.exchanges[0].failures.is_empty(),
                    "{name}, {row}: {what}"
                );
                caught += 1;
            }
        }
    }
    assert!(caught > 1000, "{caught}");
}

#[test]
fn a_bare_server_is_red_in_every_row_of_the_service() {
    let workload = kit().workload("service").unwrap();
    let mut bare = honest(&workload);
    for exchange in &mut bare.exchanges {
        let kept = ["date", "content-type"];
        let fields = &mut exchange.response.headers;
        fields.retain(|(name, _)| kept.contains(&name.as_str()));
    }
    bare.judge(&workload, &dev_routes());
    let green: Vec<&str> = (bare.exchanges.iter())
        .filter(|exchange| exchange.row.starts_with(PLAIN) && exchange.failures.is_empty())
        .map(|exchange| exchange.row.as_str())
        .collect();
    assert!(green.is_empty(), "{green:?}");
}

#[test]
fn what_only_several_responses_show_turns_red() {
    let workload = kit().workload("service").unwrap();
    let good = honest(&workload);
    let red = |what: &str, change: &dyn Fn(&mut Transcript)| {
        let mut transcript = good.clone();
        change(&mut transcript);
        transcript.judge(&workload, &dev_routes());
        transcript
            .first_failure()
            .unwrap_or_else(|| panic!("{what} is not seen"))
    };
    for name in ["content-security-policy", "x-request-id", "traceparent"] {
        let failure = red(name, &|transcript| {
            // The same in the last response of a row as in its first.
            let mut plain = transcript
                .exchanges
                .iter_mut()
                .filter(|e| e.row == "plain get");
            let value = plain.next().unwrap().response.header(name).unwrap();
            let fields = &mut plain.last().unwrap().response.headers;
            fields.iter_mut().find(|(own, _)| own == name).unwrap().1 = value;
        });
        assert!(
            failure.contains("another one in every response"),
            "{failure}"
        );
    }
    let failure = red("a frozen date", &|transcript| {
        for exchange in &mut transcript.exchanges {
            exchange.response.headers[0].1 = "frozen".into();
        }
    });
    assert!(failure.contains("a date that moves"), "{failure}");
    let failure = red("a session in the burst", &|transcript| {
        let heads = &mut transcript.burst.as_mut().unwrap().heads;
        heads[0].count -= 1;
        heads.push(Heads {
            count: 1,
            names: vec!["set-cookie".into()],
            ..heads[0].clone()
        });
    });
    assert!(
        failure.contains("no set-cookie in 1000 responses, got 1 of them"),
        "{failure}"
    );
    let failure = red("a burst that fails", &|transcript| {
        transcript.burst.as_mut().unwrap().heads[0].status = 503;
    });
    assert!(failure.contains("0 of 1000"), "{failure}");
    let failure = red("a shorter burst", &|transcript| {
        transcript.burst.as_mut().unwrap().asked = 10;
    });
    assert!(failure.contains("of 10"), "{failure}");
    let failure = red("a row that was not asked", &|transcript| {
        transcript
            .exchanges
            .retain(|e| e.when != "after" || e.row != "HEAD");
    });
    assert!(failure.contains("none called HEAD"), "{failure}");
    let failure = red("a development instrument", &|transcript| {
        let route = transcript
            .exchanges
            .iter_mut()
            .find(|e| e.row.contains("/profiler"));
        route.unwrap().response.status = 200;
    });
    assert!(
        failure.contains("development instrument /profiler"),
        "{failure}"
    );
    let failure = red("another request", &|transcript| {
        transcript.exchanges[0].request.path += "x";
    });
    assert!(failure.contains("the row's own request"), "{failure}");
}

#[test]
fn a_transcript_is_judged_again_from_what_an_archive_holds() {
    let kit = kit();
    let dir = tempfile::tempdir().unwrap();
    let put = |path: &str, bytes: &[u8]| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    for name in ["catalog", "service"] {
        let folder = kit.root.join("workloads").join(name);
        for path in ["workload.yaml", "expected"] {
            let path = folder.join(path);
            let files = if path.is_dir() {
                std::fs::read_dir(&path)
                    .unwrap()
                    .map(|e| e.unwrap().path())
                    .collect()
            } else {
                vec![path]
            };
            for file in files.iter().filter(|file| file.is_file()) {
                let below = file.strip_prefix(&kit.root).unwrap().display().to_string();
                put(&format!("sources/{below}"), &std::fs::read(file).unwrap());
            }
        }
        put(
            "sources/adapters/a/adapter.yaml",
            b"title: A\ndev_routes: [/debug, /profiler]\n",
        );
        let workload = kit.workload(name).unwrap();
        let mut transcript = honest(&workload);
        for index in [0, 7, 20] {
            transcript.exchanges[index].response.status = 418;
            transcript.exchanges[index].response.body.0.clear();
        }
        transcript.judge(&workload, &dev_routes());
        assert!(transcript.all_failures().count() >= 3);
        let json = serde_json::to_vec(&transcript).unwrap();
        let archive = Source::open(dir.path()).unwrap();
        let mut judged: Transcript = serde_json::from_slice(&json).unwrap();
        let workload = archived::workload(&archive, name).unwrap();
        judged.judge(&workload, &archived::dev_routes(&archive, "a").unwrap());
        assert_eq!(judged, transcript);
    }
}

#[test]
fn every_row_of_the_load_that_answers_at_length_gives_its_nonce_back() {
    for entry in kit().workloads().unwrap() {
        let workload = entry.loaded.unwrap();
        for row in workload.parity_rows() {
            let json = row
                .expect
                .json
                .as_ref()
                .filter(|_| row.name.starts_with(PLAIN));
            let refused = row.expect.status.as_slice()[0] >= 400;
            if let Some(json) = json.filter(|_| !refused) {
                let given = json.to_string().contains("{nonce}");
                assert!(given, "{}, {}", workload.name, row.name);
            }
        }
    }
}
