//! Responses, and work that takes a while.

use std::collections::HashMap;

use hopwright_host::http::axum::http::{StatusCode, Uri, header};
use hopwright_host::http::axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// Why a request has no result: a status and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal(pub StatusCode, pub String);

impl Refusal {
    pub(crate) fn new(status: StatusCode, why: impl Into<String>) -> Refusal {
        Refusal(status, why.into())
    }

    pub(crate) fn bad(why: impl Into<String>) -> Refusal {
        Refusal(StatusCode::BAD_REQUEST, why.into())
    }
}

impl From<hopwright_p4runtime::Failure> for Refusal {
    fn from(failure: hopwright_p4runtime::Failure) -> Refusal {
        Refusal::bad(failure.message)
    }
}

/// What a request yields.
pub(crate) type Answer = Result<Value, Refusal>;

/// A refusal as a response.
pub(crate) fn refuse(status: StatusCode, why: &str) -> Response {
    with_status(status, &json!({ "error": why }))
}

/// A result as a response.
pub(crate) fn respond(answer: Answer) -> Response {
    match answer {
        Ok(value) => with_status(StatusCode::OK, &value),
        Err(Refusal(status, why)) => refuse(status, &why),
    }
}

fn with_status(status: StatusCode, body: &impl Serialize) -> Response {
    // Values always have a text.
    let text = serde_json::to_string(body).unwrap_or_default();
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// The JSON of a request's body.
pub(crate) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|e| Refusal::bad(format!("the request is not as expected: {e}")))
}

/// The parameters behind the question mark.
pub(crate) struct Query(HashMap<String, String>);

impl Query {
    pub(crate) fn of(uri: &Uri) -> Query {
        Query(form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned().collect())
    }

    /// A parameter; empty if it is missing.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// A number; `default` if it is missing.
    pub(crate) fn number(&self, name: &str, default: u64) -> Result<u64, Refusal> {
        match self.text(name) {
            "" => Ok(default),
            text => text.parse().map_err(|_| Refusal::bad(format!("`{name}`: expected a number, not `{text}`"))),
        }
    }
}

/// Does work on a thread that may block, if no more than the permits' number of works are being done.
pub(crate) async fn work(places: &Semaphore, work: impl FnOnce() -> Answer + Send + 'static) -> Answer {
    let Ok(_place) = places.try_acquire() else {
        return Err(Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too many requests at the same time: try again"));
    };
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the request failed")))
}
