//! The pages and their paths, which are those of the reference router (`router/cmd/router`, `private/service`,
//! `router/mgmtapi`) except `/debug/pprof` and `/all`. No page shows keys.

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hopwright_host::http::axum::body::Bytes;
use hopwright_host::http::axum::extract::State;
use hopwright_host::http::axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use hopwright_host::http::axum::response::{Html, IntoResponse, Response};
use hopwright_host::http::axum::routing::{any, get};
use hopwright_host::http::axum::{self, Router};
use hopwright_host::http::{LogLevel, accepts_gzip, gzip, log_level_response};
use hopwright_host::metrics::CONTENT_TYPE;

use super::{interfaces, topology};
use crate::status::{Status, metrics, state};

/// Metrics are computed at most once in this time.
const METRICS_AGE: Duration = Duration::from_millis(100);

/// The OpenAPI 3 description of the management API.
const OPENAPI: &str = include_str!("openapi.json");

/// The data that pages are made from.
#[derive(Debug)]
pub(super) struct Source {
    /// The running router.
    pub status: Arc<Status>,
    /// Its log.
    pub level: Arc<dyn LogLevel>,
    metrics: Mutex<Option<Metrics>>,
}

/// A page of metrics.
#[derive(Debug)]
struct Metrics {
    made: Instant,
    page: Bytes,
    /// The same, compressed, once somebody has asked for it.
    gzip: Option<Bytes>,
}

impl Source {
    /// Creates the source of a router's pages.
    pub(super) fn new(status: Arc<Status>, level: Arc<dyn LogLevel>) -> Arc<Source> {
        Arc::new(Source { status, level, metrics: Mutex::new(None) })
    }

    /// Returns the metrics page, cached for a short time.
    fn metrics(&self, compressed: bool) -> Result<Bytes, String> {
        let mut cached = self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
        let metrics = match &mut *cached {
            Some(metrics) if metrics.made.elapsed() < METRICS_AGE => metrics,
            _ => {
                let page = Bytes::from(metrics::page(&self.status).map_err(|e| e.to_string())?);
                cached.insert(Metrics { made: Instant::now(), page, gzip: None })
            }
        };
        if compressed {
            Ok(metrics.gzip.get_or_insert_with(|| gzip(&metrics.page).into()).clone())
        } else {
            Ok(metrics.page.clone())
        }
    }
}

type Pages = State<Arc<Source>>;

/// The pages at `metrics.prometheus`.
pub(super) fn status(source: Arc<Source>) -> Router {
    Router::new()
        .route("/", any(index))
        .route("/info", any(info))
        .route("/config", any(config))
        .route("/log/level", any(log_level))
        .route("/topology", any(topology_page))
        .route("/metrics", any(metrics_page))
        .route("/state", any(state_page))
        .fallback(not_found)
        .with_state(source)
}

/// The pages at `api.addr`.
pub(super) fn api(source: Arc<Source>) -> Router {
    Router::new()
        .route("/", get(api_index))
        .route("/openapi.json", get(openapi))
        .route("/api/v1/info", get(info))
        .route("/api/v1/config", get(config))
        .route("/api/v1/interfaces", get(interfaces_page))
        .route("/api/v1/log/level", get(log_level).put(log_level))
        .fallback(not_found)
        .layer(axum::middleware::map_response(any_origin))
        .with_state(source)
}

/// Lets pages of other origins read the API, but not change anything: browsers send a preflight request before a PUT,
/// which is refused.
async fn any_origin(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

fn text(kind: &'static str, body: impl IntoResponse) -> Response {
    ([(header::CONTENT_TYPE, kind)], body).into_response()
}

fn failed(why: impl std::fmt::Display) -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, format!("{why}\n")).into_response()
}

fn pretty(value: &serde_json::Value) -> Vec<u8> {
    let mut out = Vec::new();
    let indented = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    // These values always serialise.
    let _ = serde::Serialize::serialize(value, &mut serde_json::Serializer::with_formatter(&mut out, indented));
    out.push(b'\n');
    out
}

async fn index(State(source): Pages) -> Html<String> {
    let mut id = String::new();
    for c in source.status.active().config.general.id.chars() {
        match c {
            '<' => id.push_str("&lt;"),
            '&' => id.push_str("&amp;"),
            c => id.push(c),
        }
    }
    let mut page = format!(
        "<!DOCTYPE html>\n<html>\n<head><title>{id}</title></head>\n<body style=\"font-family:sans-serif\">\n\
         <h1>{id}</h1>\n<table>\n"
    );
    for (path, what) in [
        ("config", "configuration of the service"),
        ("info", "generic info about the process"),
        ("log/level", "logging level (supports PUT)"),
        ("metrics", "prometheus metrics"),
        ("state", "links, sessions, tables and queues"),
        ("topology", "SCION topology"),
    ] {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "<tr><td><a href=\"{path}\">[{path}]</a></td><td>{what}</td></tr>");
    }
    page.push_str("</table>\n</body>\n</html>\n");
    Html(page)
}

async fn info() -> Response {
    let arguments: Vec<_> = std::env::args_os().map(|a| format!("{:?}", a.to_string_lossy())).collect();
    let version = env!("CARGO_PKG_VERSION");
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let page = format!(
        "  Scion version: hopwright-{version}\n  In docker:     {}\n  pid:           {}\n  euid/egid:     {} {}\n\
         \x20 cmd line:      [{}]\n",
        std::path::Path::new("/.dockerenv").exists(),
        std::process::id(),
        user.as_raw(),
        group.as_raw(),
        arguments.join(" ")
    );
    text("text/plain", page)
}

async fn config(State(source): Pages) -> Response {
    match toml::to_string(&source.status.active().config) {
        Ok(page) => text("text/plain", page),
        Err(error) => failed(error),
    }
}

async fn log_level(State(source): Pages, method: Method, headers: HeaderMap, body: Bytes) -> Response {
    log_level_response(&*source.level, &method, &headers, &body)
}

async fn topology_page(State(source): Pages) -> Response {
    text("application/json", pretty(&topology::page(&source.status.active().topology)))
}

async fn metrics_page(State(source): Pages, headers: HeaderMap) -> Response {
    let compressed = accepts_gzip(&headers);
    let mut response = match source.metrics(compressed) {
        Ok(page) => text(CONTENT_TYPE, page),
        Err(error) => return failed(error),
    };
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    if compressed {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

async fn state_page(State(source): Pages) -> Response {
    match state::page(&source.status) {
        Ok(page) => text("application/json", pretty(&page)),
        Err(error) => failed(error),
    }
}

async fn interfaces_page(State(source): Pages) -> Response {
    let status = &source.status;
    text("text/plain; charset=utf-8", pretty(&interfaces::page(&status.active(), &status.snapshot())))
}

async fn api_index() -> Html<&'static str> {
    Html(
        "<!DOCTYPE html>\n<html>\n<body>\n<h1>SCION router</h1>\n\
         The API is described at <a href=\"./openapi.json\">/openapi.json</a>.\n</body>\n</html>\n",
    )
}

async fn openapi() -> Response {
    text("application/json", OPENAPI)
}

async fn not_found() -> Response {
    (StatusCode::NOT_FOUND, "404 page not found\n").into_response()
}
