//! Requests with their parameters filled in: what the load draws from and what parity asks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::expect::Expect;
use super::request::{Headers, Request};
use super::template::{NONCE, fill, fill_json};

/// What the files hold that expectations name, by their path below the workload's folder.
pub(super) type Files = BTreeMap<String, serde_json::Value>;

/// One request with its parameters filled in; only [`NONCE`] is left to be replaced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Index into the list that it comes from: `requests`, or for a listed parity row `parity`.
    pub request: usize,
    /// The request's name, and its parameters: `catalog category=a page=1`.
    pub name: String,
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// In their order.
    pub headers: Headers,
    /// The body.
    pub body: Option<String>,
    /// What the response must be.
    pub expect: Expect,
    /// Its share of the load relative to the other variants'.
    pub weight: u32,
}

impl Variant {
    /// The same with every [`NONCE`] replaced, in the request and in what is expected.
    pub fn with_nonce(&self, nonce: &str) -> Self {
        self.filled(&|text| text.replace(NONCE, nonce))
    }

    fn filled(&self, fill: &dyn Fn(&str) -> String) -> Self {
        let Expect {
            status,
            headers,
            body,
            json,
            json_file,
        } = &self.expect;
        Self {
            request: self.request,
            name: self.name.clone(),
            method: self.method.clone(),
            path: fill(&self.path),
            headers: Headers(
                self.headers
                    .0
                    .iter()
                    .map(|(name, value)| (name.clone(), fill(value)))
                    .collect(),
            ),
            body: self.body.as_deref().map(fill),
            expect: Expect {
                status: status.clone(),
                headers: headers
                    .iter()
                    .map(|(name, rule)| (name.clone(), rule.map(fill)))
                    .collect(),
                body: body.as_deref().map(fill),
                json: json.as_ref().map(|value| fill_json(value, fill)),
                json_file: json_file.as_deref().map(fill),
            },
            weight: self.weight,
        }
    }
}

/// Every combination of every request, the last parameter changing fastest.
pub(super) fn expand(requests: &[Request], files: &Files) -> Vec<Variant> {
    let mut variants = Vec::new();
    for (index, request) in requests.iter().enumerate() {
        let mut choices: Vec<Vec<(&str, &str)>> = vec![Vec::new()];
        for (parameter, values) in &request.parameters {
            choices = choices
                .iter()
                .flat_map(|chosen| {
                    values.iter().map(|value| {
                        let mut chosen = chosen.clone();
                        chosen.push((parameter, value));
                        chosen
                    })
                })
                .collect();
        }
        let variant = |chosen: &Vec<_>| request.variant(index, chosen, files);
        variants.extend(choices.iter().map(variant));
    }
    variants
}

impl Request {
    fn variant(&self, index: usize, chosen: &[(&str, &str)], files: &Files) -> Variant {
        let mut name = self.name.clone();
        for (parameter, value) in chosen {
            name += &format!(" {parameter}={value}");
        }
        let mut expect = self.expect.clone();
        if let Some(file) = expect.json_file.take() {
            // A file that was not read yet leaves the expectation open: only checks come before.
            let file = fill(&file, chosen);
            expect.json = files.get(&file).cloned();
            expect.json_file = expect.json.is_none().then_some(file);
        }
        let written = Variant {
            request: index,
            name,
            method: self.method.clone(),
            path: self.path.clone(),
            headers: self.headers.clone(),
            body: (self.body.as_ref()).map(|body| body.repeat(self.body_repeat)),
            expect,
            weight: self.weight,
        };
        written.filled(&|text| fill(text, chosen))
    }
}

/// Each variant's weight, in the order of [`expand`]: a request's share is divided equally among its
/// variants, in the smallest whole numbers. None where those would be too great.
pub(super) fn weights(requests: &[Request]) -> Option<Vec<u32>> {
    let counts: Option<Vec<u64>> = requests.iter().map(|r| Some(r.count()? as u64)).collect();
    let counts = counts?;
    let multiple = counts
        .iter()
        .try_fold(1u64, |sum, n| sum.checked_mul(n / gcd(sum, *n)))?;
    let mut each = Vec::new();
    for (request, count) in requests.iter().zip(&counts) {
        each.push(u64::from(request.weight).checked_mul(multiple / count)?);
    }
    let divisor = each.iter().copied().fold(0, gcd);
    let mut weights = Vec::new();
    for (weight, count) in each.iter().zip(&counts) {
        let weight = u32::try_from(weight / divisor).ok()?;
        weights.extend(std::iter::repeat_n(weight, usize::try_from(*count).ok()?));
    }
    Some(weights)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
