//! The parity matrix: what every adapter was asked and answered, row by row.

use crate::parity::exchange::{Answer, Ask, Exchange};
use crate::record::details::{Details, Proof};
use crate::record::schema::Summary;
use crate::report::html::grid::{Cell, Row, folded, grid, list};
use crate::report::html::markup::{Html, tag};
use crate::report::table::{name, plain};

/// The longest body that is shown whole, in characters.
const BODY: usize = 800;
/// All transcripts of a page together are about so long at most, in bytes: a page of any archive
/// stays one that a browser opens at once.
const ROOM: usize = 800_000;

/// The matrix of each workload, and under it the exchanges themselves.
pub fn parity(summary: &Summary, details: &Details) -> Html {
    let mut proofs: Vec<(&str, String, &Proof)> = Vec::new();
    for proof in &details.proofs {
        let cell = &summary.cells[proof.cell];
        let mut who = name(&cell.key.adapter, &cell.key.label);
        if !cell.load.valid {
            who += &format!(" (invalid cell {})", plain(&details.folders[proof.cell]));
        }
        proofs.push((&cell.key.workload, who, proof));
    }
    proofs.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    let workloads = proofs.chunk_by(|a, b| a.0 == b.0);
    let room = ROOM / workloads.clone().count().max(1);
    workloads.map(|proofs| workload(proofs, room)).collect()
}

fn workload(proofs: &[(&str, String, &Proof)], room: usize) -> Html {
    let rows = rows(proofs);
    let caption = format!(
        "{}: {} rows, adapter beside adapter",
        plain(proofs[0].0),
        rows.len()
    );
    let mut columns = vec!["row"];
    columns.extend(proofs.iter().map(|(_, who, _)| who.as_str()));
    let row = |row: &&str| Row {
        class: "",
        name: plain(row),
        cells: proofs
            .iter()
            .map(|(_, _, proof)| outcome(proof, row))
            .collect(),
    };
    let matrix = grid(
        &caption,
        &columns,
        &rows.iter().map(row).collect::<Vec<Row>>(),
    );

    let mut transcripts = Html::default();
    let mut without = 0;
    for row in &rows {
        let transcript = transcript(row, proofs);
        if transcripts.as_str().len() + transcript.as_str().len() <= room {
            transcripts.push(&transcript);
        } else {
            without += 1;
        }
    }
    let mut notes: Vec<String> = proofs
        .iter()
        .flat_map(|(_, who, proof)| burst(who, proof))
        .collect();
    if without > 0 {
        notes.push(format!(
            "the exchanges of {without} more rows have no room on this page: each cell's parity.json has them all"
        ));
    }
    let heading = tag("h3").text(proofs[0].0);
    let summary = "Each row's request, and the responses to it";
    heading
        .then(&matrix)
        .then(&list(&notes))
        .then(&folded(summary, &transcripts))
}

/// In the order in which they were asked first.
fn rows<'a>(proofs: &[(&str, String, &'a Proof)]) -> Vec<&'a str> {
    let mut rows: Vec<&str> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for exchange in proofs.iter().flat_map(|(_, _, proof)| &proof.exchanges) {
        if seen.insert(exchange.row.as_str()) {
            rows.push(&exchange.row);
        }
    }
    rows
}

fn of_row<'a>(proof: &'a Proof, row: &str) -> impl Iterator<Item = &'a Exchange> {
    let row = row.to_owned();
    proof
        .exchanges
        .iter()
        .filter(move |exchange| exchange.row == row)
}

fn outcome(proof: &Proof, row: &str) -> Cell {
    let failures = of_row(proof, row).flat_map(|exchange| &exchange.failures);
    let failures: Vec<String> = failures
        .map(|f| format!("expected {}, got {}", plain(&f.expected), plain(&f.got)))
        .collect();
    match of_row(proof, row).next() {
        None => Cell::Nothing("not asked".into()),
        Some(exchange) if failures.is_empty() => {
            let words = format!("\u{2713} {}", exchange.response.status);
            Cell::Marked("passed", Html::text(&words))
        }
        Some(exchange) => {
            let words = tag("b").text(&format!("\u{2717} {}", exchange.response.status));
            Cell::Marked(
                "failed",
                words.then(&tag("small").text(&failures.join("; "))),
            )
        }
    }
}

fn burst(who: &str, proof: &Proof) -> Vec<String> {
    let failures = proof.failures.iter();
    let failures = failures.map(|(expected, got)| {
        format!(
            "{who}: FAILED: expected {}, got {}",
            plain(expected),
            plain(got)
        )
    });
    let burst = (proof.burst > 0).then(|| {
        format!(
            "{who}: {} more plain responses searched for what must not be in them",
            proof.burst
        )
    });
    failures.chain(burst).collect()
}

/// One row's request, and each adapter's response.
fn transcript(row: &str, proofs: &[(&str, String, &Proof)]) -> Html {
    let answered = proofs.iter().flat_map(|(_, who, proof)| {
        of_row(proof, row).map(move |exchange| (who.as_str(), exchange))
    });
    let mut parts = Html::default();
    let mut bodies: Vec<(&str, String)> = Vec::new();
    for (who, exchange) in answered {
        if bodies.is_empty() {
            parts.push(&tag("pre").text(&request(&exchange.request, &exchange.nonce)));
        }
        let body = String::from_utf8_lossy(&exchange.response.body.0);
        let body = without_nonce(&body, &exchange.nonce);
        let same = bodies
            .iter()
            .find(|(_, other)| *other == body && !body.is_empty());
        let body_shown = match same {
            Some((other, _)) => format!("(the body is {other}'s)"),
            None => excerpt(&body),
        };
        let heading = tag("h4").text(&format!("{who}, {} the load", plain(&exchange.when)));
        let response = tag("pre").text(&response(&exchange.response, &body_shown));
        parts.push(&heading.then(&response));
        bodies.push((who, body));
    }
    folded(&plain(row), &parts)
}

fn request(ask: &Ask, nonce: &str) -> String {
    let mut text = format!("{} {}\n", ask.method, without_nonce(&ask.path, nonce));
    for (name, value) in &ask.headers {
        text += &format!("{name}: {}\n", without_nonce(value, nonce));
    }
    if let Some(body) = &ask.body {
        text += &format!("\n{}\n", excerpt(&without_nonce(body, nonce)));
    }
    text
}

fn response(answer: &Answer, body: &str) -> String {
    if !answer.error.is_empty() {
        return format!("no whole response: {}\n", answer.error);
    }
    let mut text = format!("{}\n", answer.status);
    for (name, value) in &answer.headers {
        text += &format!("{name}: {value}\n");
    }
    text + "\n" + body + "\n"
}

/// Each exchange had a nonce of its own; with its name in its place, equal bodies are equal.
fn without_nonce(text: &str, nonce: &str) -> String {
    if nonce.is_empty() {
        return text.to_owned();
    }
    text.replace(nonce, "{nonce}")
}

fn excerpt(body: &str) -> String {
    match body.char_indices().nth(BODY) {
        None => body.to_owned(),
        Some((end, _)) => format!("{}\u{2026} ({} bytes in all)", &body[..end], body.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parity::judge::Mismatch;
    use crate::record::fixture;

    fn proofs() -> (Summary, Details) {
        let (cell, _, _) = fixture::observed("nginx", 1);
        let (mut other, _, _) = fixture::observed("express", 1);
        other.load.valid = false;
        let mut cells = vec![cell, other];
        cells[0].load.valid = true;
        let mut transcript = fixture::transcript(&cells[0]);
        // One row is enough.
        transcript.exchanges.truncate(1);
        let proof = |cell| Proof {
            cell,
            exchanges: transcript.exchanges.clone(),
            burst: 1000,
            failures: vec![],
        };
        let details = Details {
            folders: vec!["0001-nginx".into(), "0002-express".into()],
            proofs: vec![proof(0), proof(1)],
            ..Details::default()
        };
        let summary = Summary {
            cells,
            ..Summary::default()
        };
        (summary, details)
    }

    #[test]
    fn equal_bodies_are_shown_once_whatever_their_nonces() {
        let (summary, mut details) = proofs();
        let second = &mut details.proofs[1].exchanges[0];
        second.nonce = "beef".into();
        second.request.path = "/hello/beef".into();
        second.response.body.0 = br#"{"hello":"beef"}"#.to_vec();
        let html = parity(&summary, &details);
        let html = html.as_str();
        assert_eq!(html.matches("GET /hello/{nonce}\n").count(), 1, "{html}");
        assert_eq!(
            html.matches("{&quot;hello&quot;:&quot;{nonce}&quot;}")
                .count(),
            1
        );
        assert!(
            html.contains("(the body is express (invalid cell 0002-express)&#39;s)"),
            "{html}"
        );
        assert!(html.contains("\u{2713} 200"), "{html}");
    }

    #[test]
    fn a_failure_and_a_row_that_was_not_asked_are_seen() {
        let (summary, mut details) = proofs();
        let failure = Mismatch {
            expected: "status 200".into(),
            got: "<b>".into(),
        };
        details.proofs[0].exchanges[0].failures.push(failure);
        details.proofs[1].exchanges[0].row = "another".into();
        details.proofs[1]
            .failures
            .push(("no cookie".into(), "one".into()));
        let html = parity(&summary, &details);
        let html = html.as_str();
        assert!(
            html.contains("expected status 200, got &lt;b&gt;"),
            "{html}"
        );
        assert_eq!(html.matches("title=\"not asked\"").count(), 2, "{html}");
        assert!(
            html.contains("FAILED: expected no cookie, got one"),
            "{html}"
        );
    }

    #[test]
    fn long_bodies_and_many_rows_do_not_grow_the_page_without_bound() {
        let (summary, mut details) = proofs();
        let exchange = details.proofs[0].exchanges[0].clone();
        details.proofs[0].exchanges = (0..3000)
            .map(|i| {
                let mut exchange = exchange.clone();
                exchange.row = format!("row {i}");
                exchange.response.body.0 = "\u{e9}".repeat(5000).into_bytes();
                exchange
            })
            .collect();
        let html = parity(&summary, &details);
        let html = html.as_str();
        assert!(html.len() < ROOM + 3001 * 150, "{}", html.len());
        assert!(html.contains("more rows have no room on this page"));
        assert!(html.contains("(10000 bytes in all)"));
    }
}
