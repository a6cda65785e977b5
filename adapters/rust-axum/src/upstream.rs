//! The workload `upstream`: one call to another service.

use std::env;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use reqwest::{Client, Url};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

/// As many calls at once, and so connections, as the other adapters allow: reqwest itself knows no limit.
const CONNECTIONS: usize = 64;

struct Upstream {
    base: Url,
    client: Client,
    free: Semaphore,
}

#[derive(Serialize, Deserialize)]
struct Stock {
    item: String,
    stock: u32,
}

#[derive(Serialize)]
struct Answer {
    nonce: String,
    upstream: Stock,
}

pub fn router() -> Router {
    let base = env::var("UPSTREAM_URL").unwrap_or_else(|_| "http://127.0.0.1:9000".to_owned());
    let upstream = Upstream {
        base: base.parse().expect("UPSTREAM_URL is a URL"),
        client: Client::new(),
        free: Semaphore::new(CONNECTIONS),
    };
    Router::new()
        .route("/upstream/{nonce}", get(ask))
        .with_state(Arc::new(upstream))
}

async fn ask(
    State(upstream): State<Arc<Upstream>>,
    Path(nonce): Path<String>,
) -> Result<Json<Answer>, StatusCode> {
    let stock = upstream.item(&nonce).await.ok_or(StatusCode::BAD_GATEWAY)?;
    Ok(Json(Answer {
        nonce,
        upstream: stock,
    }))
}

impl Upstream {
    async fn item(&self, name: &str) -> Option<Stock> {
        let mut url = self.base.clone();
        url.path_segments_mut().ok()?.extend(["item", name]);
        let _one = self.free.acquire().await.ok()?;
        let response = self.client.get(url).send().await.ok()?;
        match response.status() {
            StatusCode::OK => response.json().await.ok(),
            _ => None,
        }
    }
}
