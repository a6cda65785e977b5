//! The workload `validate`: a JSON order, judged by garde.

use std::collections::BTreeSet;

use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use garde::{Report, Validate};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use time::Date;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

const BODY_LIMIT: usize = 64 * 1024;
const DAY: &[BorrowedFormatItem] = format_description!("[year]-[month]-[day]");
const CURRENCIES: [&str; 4] = ["EUR", "USD", "GBP", "CZK"];

/// All is required, but by garde and not by serde, which stops at the first that it misses.
#[derive(Deserialize, Validate)]
struct Order {
    #[garde(required, dive)]
    customer: Option<Customer>,
    #[garde(required, inner(custom(is_day)))]
    from: Option<String>,
    #[garde(required, inner(custom(is_day)), custom(is_after(&self.from)))]
    to: Option<String>,
    #[garde(required, inner(custom(is_currency)))]
    currency: Option<String>,
    #[garde(required, length(min = 1, max = 20), dive)]
    lines: Option<Vec<Line>>,
    #[garde(required, length(chars, min = 1, max = 64))]
    nonce: Option<String>,
}

#[derive(Deserialize, Validate)]
struct Customer {
    #[garde(required, email)]
    email: Option<String>,
}

#[derive(Deserialize, Validate)]
struct Line {
    #[garde(required, pattern("^[A-Z]{3}-[0-9]{4}$"))]
    sku: Option<String>,
    #[garde(required, range(min = 1, max = 1000))]
    quantity: Option<i64>,
    #[garde(required, range(min = 0, max = 1_000_000))]
    price: Option<i64>,
}

#[derive(Serialize)]
struct Total {
    total: i64,
    nonce: Option<String>,
}

pub fn router() -> Router {
    Router::new()
        .route("/validate", post(validate))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
}

async fn validate(body: Bytes) -> Response {
    let Ok(order) = decode(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    if let Err(report) = order.validate() {
        let errors = json!({ "errors": paths(&report) });
        return (StatusCode::UNPROCESSABLE_ENTITY, Json(errors)).into_response();
    }
    let lines = order.lines.iter().flatten();
    let total = lines
        .filter_map(|line| Some(line.quantity? * line.price?))
        .sum();
    Json(Total {
        total,
        nonce: order.nonce,
    })
    .into_response()
}

/// The paths of what is wrong, each once, sorted.
fn paths(report: &Report) -> BTreeSet<String> {
    let dotted = |path: &garde::Path| path.to_string().replace('[', ".").replace(']', "");
    report.iter().map(|(path, _)| dotted(path)).collect()
}

fn is_day(text: &str, _: &()) -> garde::Result {
    match Date::parse(text, DAY) {
        Ok(_) => Ok(()),
        Err(error) => Err(garde::Error::new(error)),
    }
}

fn is_currency(text: &str, _: &()) -> garde::Result {
    match CURRENCIES.contains(&text) {
        true => Ok(()),
        false => Err(garde::Error::new("no currency that is taken")),
    }
}

/// The rule over two fields, judged where there are two days to compare.
fn is_after(from: &Option<String>) -> impl FnOnce(&Option<String>, &()) -> garde::Result {
    let day = |text: &Option<String>| Date::parse(text.as_deref()?, DAY).ok();
    let from = day(from);
    move |to, _| match (from, day(to)) {
        (Some(from), Some(to)) if to <= from => Err(garde::Error::new("not after `from`")),
        _ => Ok(()),
    }
}

/// Reads an order. serde stops at the first value of a wrong type; so where there is one, all such values are made null, as if
/// they were missing.
fn decode(body: &[u8]) -> serde_json::Result<Order> {
    match serde_json::from_slice(body) {
        Err(error) if error.is_data() => {
            let mut value = serde_json::from_slice(body)?;
            blank_misfits(&mut value);
            serde_json::from_value(value)
        }
        read => read,
    }
}

fn blank_misfits(order: &mut Value) {
    if !order.is_object() {
        *order = json!({});
    }
    blank_unless(Value::is_object, order, &["customer"]);
    if order["customer"].is_object() {
        blank_unless(Value::is_string, &mut order["customer"], &["email"]);
    }
    blank_unless(
        Value::is_string,
        order,
        &["from", "to", "currency", "nonce"],
    );
    let objects = |value: &Value| {
        value
            .as_array()
            .is_some_and(|lines| lines.iter().all(Value::is_object))
    };
    blank_unless(objects, order, &["lines"]);
    for line in order["lines"].as_array_mut().into_iter().flatten() {
        blank_unless(Value::is_string, line, &["sku"]);
        blank_unless(Value::is_i64, line, &["quantity", "price"]);
    }
}

fn blank_unless(fits: impl Fn(&Value) -> bool, object: &mut Value, fields: &[&str]) {
    for field in fields {
        if !fits(&object[*field]) {
            object[*field] = Value::Null;
        }
    }
}
