//! All that was asked of a target and what it answered, as it stands in `parity.json`, and its
//! judgement: a pure function of the transcript, the workload and the adapter, so that anybody can
//! judge it again.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::exchange::{Burst, Exchange};
use super::judge::{Mismatch, judge, mismatch};
use super::matrix;
use crate::plan::workload::{PLAIN, Workload};
use crate::record::schema::Shape;

/// So many plain responses are searched for headers that must not be there.
pub const BURST: u64 = 1000;
/// No response may have these, unless its row says so: a session that is begun for every request is
/// work that the others do not do.
const NEVER: [&str; 1] = ["set-cookie"];
/// After so long even a `Date` that is cached for a second has moved.
pub const DATE_MOVES_S: f64 = 2.0;

/// The proofs of one cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transcript {
    /// Only slots of the load that were kept: it is not its unit's first load, whose transcript has the
    /// proofs before and after.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_kept: bool,
    /// Row by row.
    pub exchanges: Vec<Exchange>,
    /// Many plain responses by their heads; null where the target did not live to be asked.
    pub burst: Option<Burst>,
    /// What is wrong with none of the exchanges in particular.
    pub failures: Vec<Mismatch>,
}

impl Transcript {
    /// Judges everything anew.
    pub fn judge(&mut self, workload: &Workload, dev_routes: &[String]) {
        let rows = matrix::all(workload, dev_routes);
        for exchange in &mut self.exchanges {
            exchange.failures = match rows.iter().find(|row| row.name == exchange.row) {
                None => vec![mismatch("a row of the workload", "another one")],
                Some(row) => {
                    let filled = row.with_nonce(&exchange.nonce);
                    let mut failures = judge(&filled, &exchange.response);
                    if matrix::ask(&filled) != exchange.request {
                        failures.push(mismatch("the row's own request", "another one"));
                    }
                    for name in NEVER
                        .iter()
                        .filter(|name| !row.expect.headers.contains_key(**name))
                    {
                        if let Some(value) = exchange.response.header(name) {
                            failures.push(mismatch(&format!("no {name}"), &value));
                        }
                    }
                    failures
                }
            };
        }
        let differing = |exchange: &Exchange| -> Vec<String> {
            let row = rows.iter().find(|row| row.name == exchange.row);
            let rules = row.into_iter().flat_map(|row| &row.expect.headers);
            rules
                .filter(|(_, rule)| rule.differs())
                .map(|(name, _)| name.clone())
                .collect()
        };
        let mut seen = BTreeSet::new();
        for exchange in &mut self.exchanges {
            for name in differing(exchange) {
                if let Some(value) = exchange.response.header(&name)
                    && !seen.insert((name.clone(), value.clone()))
                {
                    let expected = format!("{name}: another one in every response");
                    let got = format!("{value}, as before");
                    exchange.failures.push(mismatch(&expected, &got));
                }
            }
        }
        self.judge_dates();
        self.failures = self.missing(&rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>());
        self.failures.extend(
            self.burst
                .iter()
                .flat_map(|burst| judge_burst(workload, burst)),
        );
    }

    /// A server that sends the time tells it anew; one made beforehand does not.
    fn judge_dates(&mut self) {
        let dates: Vec<(usize, f64, String)> = self
            .exchanges
            .iter()
            .enumerate()
            .filter_map(|(index, exchange)| {
                Some((index, exchange.unix_s, exchange.response.header("date")?))
            })
            .collect();
        let earliest = dates.iter().min_by(|a, b| a.1.total_cmp(&b.1));
        let latest = dates.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        if let (Some(first), Some(last)) = (earliest, latest)
            && last.1 - first.1 >= DATE_MOVES_S
            && first.2 == last.2
        {
            let got = format!("date: {}, as {:.1} s before", last.2, last.1 - first.1);
            self.exchanges[last.0]
                .failures
                .push(mismatch("a date that moves", &got));
        }
    }

    /// Rows that were not asked, of each pass that was begun.
    fn missing(&self, rows: &[&str]) -> Vec<Mismatch> {
        let mut missing = Vec::new();
        if self.only_kept {
            return missing;
        }
        for when in ["before", "after"] {
            let asked: BTreeSet<&str> = self
                .exchanges
                .iter()
                .filter(|exchange| exchange.when == when)
                .map(|exchange| exchange.row.as_str())
                .collect();
            let mut not = rows.iter().filter(|row| !asked.contains(**row));
            if (when == "before" || !asked.is_empty())
                && let Some(row) = not.next()
            {
                let what = format!("every row asked {when} the load");
                missing.push(mismatch(&what, &format!("none called {row}")));
            }
        }
        missing
    }

    /// Every failure with its row.
    pub fn all_failures(&self) -> impl Iterator<Item = (&str, &Mismatch)> {
        let of_rows = self.exchanges.iter().flat_map(|exchange| {
            exchange
                .failures
                .iter()
                .map(|failure| (exchange.row.as_str(), failure))
        });
        of_rows.chain(self.failures.iter().map(|failure| ("all rows", failure)))
    }

    /// The first failure, in words.
    pub fn first_failure(&self) -> Option<String> {
        let exchange = self
            .exchanges
            .iter()
            .find(|exchange| !exchange.failures.is_empty());
        let (when, row, failure) = match exchange {
            Some(exchange) => (
                exchange.when.as_str(),
                exchange.row.as_str(),
                &exchange.failures[0],
            ),
            None => ("after", "all rows", self.failures.first()?),
        };
        let (expected, got) = (&failure.expected, &failure.got);
        Some(format!(
            "parity {when} the load: row `{row}`: expected {expected}, got {got}"
        ))
    }

    /// How the load's rows were answered before the load, apart from what the answers said.
    pub fn shapes(&self) -> Vec<Shape> {
        let mut shapes: Vec<Shape> = Vec::new();
        for exchange in self
            .exchanges
            .iter()
            .filter(|exchange| exchange.when == "before")
        {
            let Some(row) = exchange.row.strip_prefix(PLAIN) else {
                continue;
            };
            if shapes.iter().any(|shape| shape.row == row) {
                continue;
            }
            let response = &exchange.response;
            let fields = response
                .headers
                .iter()
                .map(|(name, value)| name.len() + value.len() + 4);
            let names: BTreeSet<&String> = response.headers.iter().map(|(name, _)| name).collect();
            shapes.push(Shape {
                row: row.to_owned(),
                bytes: (fields.sum::<usize>() + response.body.0.len()) as u64,
                headers: names.into_iter().cloned().collect(),
            });
        }
        shapes
    }
}

fn judge_burst(workload: &Workload, burst: &Burst) -> Vec<Mismatch> {
    let variants = workload.variants();
    let mut wrong = Vec::new();
    let (mut right, mut forbidden) = (0, BTreeMap::<&str, u64>::new());
    for heads in &burst.heads {
        let Some(variant) = variants.get(heads.variant) else {
            continue;
        };
        if variant.expect.status.contains(heads.status) {
            right += heads.count;
        }
        for name in NEVER
            .iter()
            .filter(|name| heads.names.iter().any(|own| own == *name))
        {
            *forbidden.entry(name).or_default() += heads.count;
        }
    }
    if burst.asked < BURST || right != burst.asked {
        let expected = format!("{BURST} plain responses with the right status");
        wrong.push(mismatch(&expected, &format!("{right} of {}", burst.asked)));
    }
    for (name, count) in forbidden {
        let expected = format!("no {name} in {} responses", burst.asked);
        wrong.push(mismatch(&expected, &format!("{count} of them")));
    }
    wrong
}
