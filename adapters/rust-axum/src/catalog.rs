//! The workload `catalog`: items filtered, sorted and paged at every request.

use std::fs;
use std::num::NonZeroU32;
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};

const PAGE_SIZE: usize = 20;

#[derive(Serialize, Deserialize)]
struct Item {
    id: u32,
    sku: String,
    name: String,
    category: String,
    price: u32,
    stock: u32,
    rating: u32,
    description: String,
}

#[derive(Deserialize)]
struct Asked {
    category: String,
    max_price: NonZeroU32,
    /// There is one order only, so that nobody looks at it.
    #[serde(default, rename = "sort")]
    _sort: Sort,
    page: NonZeroU32,
    nonce: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Sort {
    #[default]
    Price,
}

#[derive(Serialize)]
struct Page<'a> {
    total: usize,
    page: NonZeroU32,
    items: Vec<&'a Item>,
    nonce: String,
}

pub fn router() -> Router {
    let text = fs::read("data/catalog/items.json").expect("the image has the items");
    let items: Vec<Item> = serde_json::from_slice(&text).expect("they are items");
    Router::new()
        .route("/catalog", get(page))
        .with_state(Arc::new(items))
}

async fn page(State(items): State<Arc<Vec<Item>>>, Query(asked): Query<Asked>) -> Response {
    let wanted =
        |item: &&Item| item.category == asked.category && item.price <= asked.max_price.get();
    let mut found: Vec<&Item> = items.iter().filter(wanted).collect();
    found.sort_by_key(|item| (item.price, item.id));
    let before = PAGE_SIZE.saturating_mul(asked.page.get() as usize - 1);
    Json(Page {
        total: found.len(),
        page: asked.page,
        items: found.into_iter().skip(before).take(PAGE_SIZE).collect(),
        nonce: asked.nonce,
    })
    .into_response()
}
