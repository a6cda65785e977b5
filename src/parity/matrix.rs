//! What is asked of every adapter, and what the load learns from the answers.

use super::exchange::{Ask, Exchange};
use crate::load::request::{bytes, is_idempotent};
use crate::load::schedule::{nonce, nonce_digits};
use crate::load::{self, Template};
use crate::plan::expect::Expect;
use crate::plan::workload::{Headers, Variant, Workload};

/// A row with its nonce filled in.
pub struct Row {
    /// The row's name.
    pub name: String,
    /// Its nonce.
    pub nonce: String,
    /// Request and expectation.
    pub filled: Variant,
    /// The load's variant that this row proves; `None` for a row that parity alone asks.
    pub variant: Option<usize>,
}

impl Row {
    /// As it is sent.
    pub fn ask(&self) -> Ask {
        ask(&self.filled)
    }
}

/// A row as it is sent.
pub fn ask(row: &Variant) -> Ask {
    let Variant {
        method,
        path,
        headers,
        body,
        ..
    } = row;
    Ask {
        method: method.clone(),
        path: path.clone(),
        headers: headers.0.clone(),
        body: body.clone(),
    }
}

/// Every row once: the workload's, and for each of the adapter's `dev_routes` one that no
/// development instrument answers.
pub fn all(workload: &Workload, dev_routes: &[String]) -> Vec<Variant> {
    let mut rows = workload.parity_rows();
    rows.extend(dev_routes.iter().map(|path| Variant {
        request: 0,
        name: format!("development instrument {path}"),
        method: "GET".into(),
        path: path.clone(),
        headers: Headers::default(),
        body: None,
        expect: Expect::status(404),
        weight: 1,
    }));
    rows
}

/// How often each variant of the load is asked: twice, so that what a nonce changes is known.
const PROOFS: usize = 2;

/// The whole matrix in its order, every row with fresh nonces from `seed`.
pub fn rows(workload: &Workload, dev_routes: &[String], seed: u64) -> Vec<Row> {
    let variants = workload.variants().len();
    let mut rows = Vec::new();
    for (index, row) in all(workload, dev_routes).into_iter().enumerate() {
        let variant = (index < variants).then_some(index);
        for _ in 0..if variant.is_some() { PROOFS } else { 1 } {
            let digits = nonce_digits(nonce(seed, rows.len() as u64));
            let nonce = String::from_utf8_lossy(&digits).into_owned();
            rows.push(Row {
                name: row.name.clone(),
                filled: row.with_nonce(&nonce),
                nonce,
                variant,
            });
        }
    }
    rows
}

/// The load's variants: each request as the workload writes it, each body as two proven responses
/// showed it. `exchanges` belong to `rows`, in their order.
///
/// An error names a variant whose two bodies differ by more than their nonces: it cannot be verified
/// byte for byte under load.
pub fn learn(
    workload: &Workload,
    port: u16,
    rows: &[Row],
    exchanges: &[Exchange],
) -> Result<Vec<load::Variant>, String> {
    let authority = format!("127.0.0.1:{port}");
    let learned = workload
        .variants()
        .into_iter()
        .enumerate()
        .map(|(index, variant)| {
            let proofs = rows
                .iter()
                .zip(exchanges)
                .filter(|(row, _)| row.variant == Some(index));
            let mut templates = proofs.map(|(row, exchange)| {
                Template::learn(&exchange.response.body.0, row.nonce.as_bytes())
            });
            let body = templates
                .next()
                .ok_or_else(|| format!("{} was not asked", variant.name))?;
            if templates.any(|other| other != body) {
                return Err(format!(
                    "two bodies of {} differ by more than their nonces",
                    variant.name
                ));
            }
            let Variant {
                method,
                path,
                headers,
                body: sent,
                ..
            } = &variant;
            let request = bytes(method, path, &authority, &headers.0, sent.as_deref());
            Ok(load::Variant {
                weight: variant.weight,
                request: Template::parse(&request),
                bodiless: method == "HEAD",
                idempotent: is_idempotent(method),
                statuses: variant.expect.status.as_slice().to_vec(),
                body: Some(body),
            })
        });
    learned.collect()
}
