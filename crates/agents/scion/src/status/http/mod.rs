//! The router's HTTP servers: status pages and metrics at `metrics.prometheus`, the management API at `api.addr`.

mod interfaces;
mod pages;
mod topology;

use std::io;
use std::sync::Arc;

use hopwright_host::http::{self, Listener, LogLevel, Server};

use crate::config::Config;
use crate::status::Status;

/// The reason why a server cannot listen.
#[derive(Debug, thiserror::Error)]
#[error("{field} = \"{address}\": {source}")]
pub struct HttpError {
    field: &'static str,
    address: String,
    source: io::Error,
}

/// Servers that are listening, but not answering yet.
#[derive(Debug, Default)]
pub struct Listeners {
    status: Option<Listener>,
    api: Option<Listener>,
}

impl Listeners {
    /// Listens on the configured addresses.
    pub fn open(config: &Config) -> Result<Listeners, HttpError> {
        let open = |field, address: &str| {
            if address.is_empty() {
                return Ok(None);
            }
            let listener =
                Listener::open(address).map_err(|source| HttpError { field, address: address.into(), source })?;
            tracing::info!(event = "http-serving", address, "serving {field}");
            Ok(Some(listener))
        };
        Ok(Listeners {
            status: open("metrics.prometheus", &config.metrics.prometheus)?,
            api: open("api.addr", &config.api.addr)?,
        })
    }

    /// Starts to answer. Starts no thread if there are no servers.
    pub fn serve(self, status: Arc<Status>, level: Arc<dyn LogLevel>) -> io::Result<Server> {
        let source = pages::Source::new(status, level);
        let status = self.status.map(|listener| (listener, pages::status(source.clone())));
        let api = self.api.map(|listener| (listener, pages::api(source.clone())));
        http::serve(status.into_iter().chain(api).collect())
    }
}

#[cfg(test)]
mod tests;
