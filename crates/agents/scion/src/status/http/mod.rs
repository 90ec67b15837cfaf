//! The router's HTTP servers: status pages and metrics at `metrics.prometheus`, the management API at `api.addr`.

mod interfaces;
mod pages;
mod topology;

use std::io;
use std::os::fd::OwnedFd;
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
    /// Listens on the configured addresses. A predecessor's sockets, with addresses as configured, are used instead of new ones.
    pub fn open(config: &Config, mut inherited: Vec<(String, OwnedFd)>) -> Result<Listeners, HttpError> {
        let mut open = |field, address: &str| {
            if address.is_empty() {
                return Ok(None);
            }
            let of_predecessor = inherited.iter().position(|(other, _)| other == address);
            let opened = match of_predecessor.map(|at| inherited.swap_remove(at)) {
                Some((_, socket)) => Listener::inherited(socket),
                None => Listener::open(address),
            };
            let listener = opened.map_err(|source| HttpError { field, address: address.into(), source })?;
            tracing::info!(event = "http-serving", address, "serving {field}");
            Ok(Some(listener))
        };
        Ok(Listeners {
            status: open("metrics.prometheus", &config.metrics.prometheus)?,
            api: open("api.addr", &config.api.addr)?,
        })
    }

    /// Returns duplicates of the sockets' descriptors with their addresses as configured, for a successor.
    pub fn share(&self, config: &Config) -> io::Result<Vec<(String, OwnedFd)>> {
        let all = [(&config.metrics.prometheus, &self.status), (&config.api.addr, &self.api)];
        let open = all.into_iter().filter_map(|(address, listener)| Some((address, listener.as_ref()?)));
        open.map(|(address, listener)| Ok((address.clone(), listener.share()?))).collect()
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
