//! Asks the matrix's requests, one after the other, with reqwest: a client that is not the load's
//! own, so that a mistake in one is seen by the other.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;

use super::exchange::{Answer, Ask, Body, Burst, Heads};
use crate::error::root_cause;
use crate::load::request::{USER_AGENT, common_headers};
use crate::load::schedule::{nonce, nonce_digits};

/// Connections of a burst: a target that waits for another service would take long over one.
const AT_ONCE: usize = 8;
/// A longer body is cut off and said to be so: nothing that a target sends fills the memory.
const BODY_MAX: usize = 4 * 1024 * 1024;

/// A client of one server on this machine: no proxy, no redirects, no decompression, HTTP/1.1.
pub struct Client {
    client: reqwest::Client,
    authority: String,
    deadline: Duration,
}

impl Client {
    /// For the server at 127.0.0.1; `deadline` bounds each request as a whole.
    pub fn new(port: u16, deadline: Duration) -> Result<Self, reqwest::Error> {
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(Policy::none())
            .http1_only()
            .user_agent(USER_AGENT)
            .tcp_nodelay(true)
            .timeout(deadline)
            .build()?;
        Ok(Self {
            client,
            authority: format!("127.0.0.1:{port}"),
            deadline,
        })
    }

    /// Asks once. What goes wrong is part of the answer.
    pub async fn ask(&self, ask: &Ask) -> Answer {
        match tokio::time::timeout(self.deadline, self.send(ask)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => Answer::none(error),
            Err(_) => Answer::none(format!("no whole response within {:?}", self.deadline)),
        }
    }

    /// Asks `count` times, the asks in turn and each time with a fresh nonce, over a few connections
    /// that are kept alive.
    pub async fn burst(&self, asks: &[Ask], count: u64, seed: u64) -> Burst {
        let mut heads: BTreeMap<(usize, u16, Vec<String>), u64> = BTreeMap::new();
        let answers = (0..count).map(|k| {
            let variant = (k % asks.len().max(1) as u64) as usize;
            let ask = asks[variant].with_nonce(&nonce_digits(nonce(seed, k)));
            async move { (variant, self.ask(&ask).await) }
        });
        let mut answers = stream::iter(answers).buffer_unordered(AT_ONCE);
        while let Some((variant, answer)) = answers.next().await {
            let names: BTreeSet<String> =
                answer.headers.into_iter().map(|(name, _)| name).collect();
            let status = if answer.error.is_empty() {
                answer.status
            } else {
                0
            };
            let names = names.into_iter().collect();
            *heads.entry((variant, status, names)).or_default() += 1;
        }
        let heads = heads
            .into_iter()
            .map(|((variant, status, names), count)| Heads {
                variant,
                status,
                names,
                count,
            });
        Burst {
            asked: count,
            heads: heads.collect(),
        }
    }

    async fn send(&self, ask: &Ask) -> Result<Answer, String> {
        let url = format!("http://{}{}", self.authority, ask.path);
        let method = ask
            .method
            .parse()
            .map_err(|_| format!("{} is no method", ask.method))?;
        let mut request = self.client.request(method, url).headers(headers(ask)?);
        if let Some(body) = &ask.body {
            request = request.body(body.clone());
        }
        let mut response = request.send().await.map_err(|e| root_cause(&e))?;
        let headers = response.headers().iter().map(|(name, value)| {
            (
                name.as_str().to_owned(),
                String::from_utf8_lossy(value.as_bytes()).into_owned(),
            )
        });
        let headers = headers.collect();
        let (status, mut body, mut error) = (response.status().as_u16(), Vec::new(), String::new());
        while let Some(part) = response.chunk().await.map_err(|e| root_cause(&e))? {
            body.extend_from_slice(&part);
            if body.len() > BODY_MAX {
                error = format!("a body longer than {BODY_MAX} bytes");
                break;
            }
        }
        Ok(Answer {
            status,
            headers,
            body: Body(body),
            error,
        })
    }
}

fn headers(ask: &Ask) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    let common = common_headers().map(|(name, value)| (name.to_owned(), value.to_owned()));
    for (name, value) in common.iter().chain(&ask.headers) {
        let name =
            HeaderName::try_from(name.as_str()).map_err(|_| format!("{name} is no header name"))?;
        let value = HeaderValue::try_from(value.as_str())
            .map_err(|_| format!("{value} is no header value"))?;
        headers.insert(name, value);
    }
    Ok(headers)
}
