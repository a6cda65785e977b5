//! Slots of the load that were kept whole, as rows of the transcript: the load's own client asked,
//! at the load's own rate, so a target that is better towards parity than towards load is seen.

use std::collections::BTreeSet;

use super::exchange::{Answer, Body, Exchange};
use super::matrix;
use crate::draw::Draw;
use crate::load::Kept;
use crate::load::http1::Reader;
use crate::plan::workload::{PLAIN, Workload};

/// Slots that are kept: at least 100 of them answered, though some may fail.
const KEEP: usize = 128;
/// More header fields than this are refused, as by the load's client.
const FIELDS_MAX: usize = 128;

/// Which slots are kept of so many: drawn from the seed, in ascending order.
pub fn slots(scheduled: u64, seed: u64) -> Vec<u64> {
    if scheduled <= KEEP as u64 {
        return (0..scheduled).collect();
    }
    let mut draw = Draw::new("kept slots", seed);
    let mut slots = BTreeSet::new();
    while slots.len() < KEEP {
        slots.insert(draw.below(scheduled));
    }
    slots.into_iter().collect()
}

/// Kept responses as exchanges, not judged yet; `unix_s` is when the load began.
pub fn exchanges(workload: &Workload, kept: &[Kept], unix_s: f64) -> Vec<Exchange> {
    let variants = workload.variants();
    let exchange = |kept: &Kept| {
        let variant = variants.get(kept.variant)?.with_nonce(&kept.nonce);
        Some(Exchange {
            when: "during".into(),
            row: format!("{PLAIN}{}", variant.name),
            unix_s,
            nonce: kept.nonce.clone(),
            request: matrix::ask(&variant),
            response: answer(&kept.response, variant.method == "HEAD"),
            failures: vec![],
        })
    };
    kept.iter().filter_map(exchange).collect()
}

/// A response as it came over the wire.
fn answer(raw: &[u8], bodiless: bool) -> Answer {
    let mut reader = Reader::default();
    reader.start(bodiless);
    let mut body = Vec::new();
    if let Err(failure) = reader.feed(raw, |part| body.extend_from_slice(part)) {
        return Answer::none(failure.name());
    }
    // Without a length the end of the connection was the end of the body.
    if !reader.done() && reader.close().is_err() {
        return Answer::none("the response was cut off where it was kept");
    }
    match head(raw) {
        Some((status, headers)) => Answer {
            status,
            headers,
            body: Body(body),
            error: String::new(),
        },
        None => Answer::none("the response's head does not read"),
    }
}

type Fields = Vec<(String, String)>;

/// The final response's status and header fields, past interim ones.
fn head(mut raw: &[u8]) -> Option<(u16, Fields)> {
    loop {
        let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
        let mut response = httparse::Response::new(&mut fields);
        let httparse::Status::Complete(length) = response.parse(raw).ok()? else {
            return None;
        };
        let status = response.code?;
        if status < 200 {
            raw = &raw[length..];
            continue;
        }
        let field = |field: &httparse::Header| {
            let value = String::from_utf8_lossy(field.value).into_owned();
            (field.name.to_ascii_lowercase(), value)
        };
        return Some((status, response.headers.iter().map(field).collect()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_drawn_once_and_each_once() {
        assert_eq!(slots(3, 1), [0, 1, 2]);
        let drawn = slots(12_000, 7);
        assert_eq!((drawn.len(), drawn.clone()), (KEEP, slots(12_000, 7)));
        assert!(drawn.is_sorted() && drawn.windows(2).all(|two| two[0] < two[1]));
        assert_ne!(drawn, slots(12_000, 8));
    }

    #[test]
    fn what_came_over_the_wire_reads_as_an_answer() {
        let chunked = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX-A: 1\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
        let read = answer(chunked, false);
        assert_eq!((read.status, &read.body.0[..]), (200, &b"ok"[..]));
        assert_eq!(read.header("x-a").as_deref(), Some("1"));
        let until_close = b"HTTP/1.1 200 OK\r\n\r\nok";
        assert_eq!(answer(until_close, false).body.0, b"ok");
        let cut = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok";
        assert!(answer(cut, false).error.contains("cut off"));
        assert_eq!(
            answer(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n", true).status,
            200
        );
    }
}
