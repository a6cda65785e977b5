//! axum on tokio, as its examples for production start it.

mod catalog;
mod upstream;
mod validate;

use axum::extract::Path;
use axum::routing::get;
use axum::serve::ListenerExt;
use axum::{Json, Router};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

#[derive(Serialize)]
struct Hello {
    hello: String,
}

async fn hello(Path(nonce): Path<String>) -> Json<Hello> {
    Json(Hello { hello: nonce })
}

// As many worker threads as there are CPUs in the container's set: tokio sees to that.
#[tokio::main]
async fn main() -> std::io::Result<()> {
    let app = Router::new()
        .route("/", get(async || "ok"))
        .route("/hello/{nonce}", get(hello))
        .merge(catalog::router())
        .merge(upstream::router())
        .merge(validate::router());

    // Left on, Nagle's algorithm may hold an answer back; most other servers turn it off by themselves.
    let listener = TcpListener::bind("0.0.0.0:8080").await?.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    let mut stop = signal(SignalKind::terminate())?;
    axum::serve(listener, app)
        .with_graceful_shutdown(async move {
            stop.recv().await;
        })
        .await
}
