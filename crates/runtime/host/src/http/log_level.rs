//! The log level over HTTP, with the requests and responses of `go.uber.org/zap`'s `AtomicLevel`.

use std::fmt;

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

/// Verbosity of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Everything.
    Debug,
    /// Normal operation.
    Info,
    /// Possible problems.
    Warn,
    /// Errors.
    Error,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        })
    }
}

impl Level {
    /// Parses a level name in any case; names of levels above `error` mean `error`.
    pub fn parse(name: &str) -> Option<Level> {
        match name.to_ascii_lowercase().as_str() {
            "debug" => Some(Level::Debug),
            "info" => Some(Level::Info),
            "warn" => Some(Level::Warn),
            "error" | "crit" | "dpanic" | "panic" | "fatal" => Some(Level::Error),
            _ => None,
        }
    }
}

/// A log whose level can be changed.
pub trait LogLevel: Send + Sync + fmt::Debug {
    /// The level in force.
    fn get(&self) -> Level;
    /// Changes the level.
    fn set(&self, level: Level);
}

/// A log with a fixed level.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLog;

impl LogLevel for NoLog {
    fn get(&self) -> Level {
        Level::Info
    }

    fn set(&self, _: Level) {}
}

#[derive(Serialize)]
struct Current {
    level: Level,
}

#[derive(Serialize)]
struct Refusal {
    error: String,
}

#[derive(Deserialize)]
struct Request {
    level: Option<String>,
}

fn json(status: StatusCode, body: &impl Serialize) -> Response {
    // The types of this file always serialise.
    let mut text = serde_json::to_string(body).unwrap_or_default();
    text.push('\n');
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}

/// Responds to GET and PUT of the level.
pub fn answer(level: &dyn LogLevel, method: &Method, headers: &HeaderMap, body: &Bytes) -> Response {
    let refuse = |status, error: String| json(status, &Refusal { error });
    match *method {
        Method::GET | Method::HEAD => json(StatusCode::OK, &Current { level: level.get() }),
        Method::PUT => {
            let form = headers.get(header::CONTENT_TYPE).is_some_and(|t| t == "application/x-www-form-urlencoded");
            let wanted = if form { from_form(body) } else { from_json(body) };
            match wanted {
                Ok(wanted) => {
                    level.set(wanted);
                    tracing::info!(event = "log-level", level = %wanted, "log level set over HTTP");
                    json(StatusCode::OK, &Current { level: wanted })
                }
                Err(error) => refuse(StatusCode::BAD_REQUEST, error),
            }
        }
        _ => refuse(StatusCode::METHOD_NOT_ALLOWED, format!("HTTP method not supported: {method}")),
    }
}

fn from_json(body: &[u8]) -> Result<Level, String> {
    let request: Request = serde_json::from_slice(body).map_err(|e| format!("malformed request body: {e}"))?;
    named(request.level.as_deref().unwrap_or_default())
}

fn from_form(body: &[u8]) -> Result<Level, String> {
    // Level names need no escapes.
    let text = std::str::from_utf8(body).map_err(|e| format!("malformed request body: {e}"))?;
    named(text.split('&').find_map(|pair| pair.strip_prefix("level=")).unwrap_or_default())
}

fn named(name: &str) -> Result<Level, String> {
    if name.is_empty() {
        return Err("must specify logging level".into());
    }
    Level::parse(name).ok_or_else(|| format!("unrecognized level: {name:?}"))
}
