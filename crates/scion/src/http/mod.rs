//! The router's HTTP servers: status pages and metrics at `metrics.prometheus`, the management API at `api.addr`.
//!
//! On a thread of their own with low priority, beside the data path: they read what the agent posts and the data
//! plane's counters. Whatever a client does is bounded: connections, time, header and body sizes. A new connection is
//! always accepted; where there are too many, an old one makes room ([`connections`]).

mod connections;
mod interfaces;
mod level;
mod pages;
mod topology;

use std::fmt;
use std::io;
use std::net::{TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::sync::Notify;
use tokio_io_timeout::TimeoutStream;

use crate::board::Board;
use crate::config::Config;

pub use level::{Level, LogLevel, NoLog};

use connections::Connections;

/// How long a client may take to send a request's header, or to come back with another.
const HEADER_TIME: Duration = Duration::from_secs(5);
/// How long a client may take nothing of an answer.
const STALL_TIME: Duration = Duration::from_secs(2);
/// How long a connection may last.
const CONNECTION_TIME: Duration = Duration::from_secs(120);
/// Bytes that are buffered of a request.
const LONGEST_HEADER: usize = 16 * 1024;
/// Niceness of the thread: forwarding comes first.
const NICENESS: i32 = 10;

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
#[error("{field} = \"{address}\": {source}")]
pub struct HttpError {
    field: &'static str,
    address: String,
    source: io::Error,
}

/// Servers that listen and do not answer yet.
#[derive(Debug, Default)]
pub struct Listeners {
    status: Option<TcpListener>,
    api: Option<TcpListener>,
}

impl Listeners {
    /// Listens where the configuration says.
    pub fn open(config: &Config) -> Result<Listeners, HttpError> {
        let open = |field, address: &str| {
            if address.is_empty() {
                return Ok(None);
            }
            let listener = listen(address).map_err(|source| HttpError { field, address: address.into(), source })?;
            tracing::info!(address, "serving {field}");
            Ok(Some(listener))
        };
        Ok(Listeners {
            status: open("metrics.prometheus", &config.metrics.prometheus)?,
            api: open("api.addr", &config.api.addr)?,
        })
    }

    /// Begins to answer; nothing runs if there is nothing to serve.
    pub fn serve(self, board: Arc<Board>, level: Arc<dyn LogLevel>) -> io::Result<Server> {
        let stop = Arc::new(Notify::new());
        if self.status.is_none() && self.api.is_none() {
            return Ok(Server { stop, thread: None });
        }
        let source = pages::Source::new(board, level);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let until = stop.clone();
        let servers = [(self.status, pages::status as fn(Arc<pages::Source>) -> Router), (self.api, pages::api)];
        let serve = move || {
            // Of this thread only (setpriority(2), "C library/kernel differences"). It works without, too.
            let _ = rustix::process::setpriority_process(None, NICENESS);
            runtime.block_on(async {
                for (listener, pages) in servers {
                    if let Some(listener) = listener {
                        tokio::spawn(accept(listener, pages(source.clone())));
                    }
                }
                until.notified().await;
            });
        };
        let thread = std::thread::Builder::new().name("http".into()).spawn(serve)?;
        Ok(Server { stop, thread: Some(thread) })
    }
}

/// Running servers; they end when this is dropped.
pub struct Server {
    stop: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic has been reported by the thread itself.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("running", &self.thread.is_some()).finish()
    }
}

/// Listens at `host:port`, `ip:port`, or `:port` for all addresses.
fn listen(address: &str) -> io::Result<TcpListener> {
    let listener = match address.strip_prefix(':') {
        Some(port) => {
            TcpListener::bind(format!("[::]:{port}")).or_else(|_| TcpListener::bind(format!("0.0.0.0:{port}")))?
        }
        None => TcpListener::bind(address.to_socket_addrs()?.collect::<Vec<_>>().as_slice())?,
    };
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Serves connections, a bounded number at a time.
async fn accept(listener: TcpListener, pages: Router) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(%error, "cannot serve HTTP");
            return;
        }
    };
    let mut connections = Connections::default();
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, say: it gets better or it does not, but not at once.
                tracing::debug!(%error, "cannot accept an HTTP connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        connections.make_room(peer.ip());
        let mut stream = Box::pin(TimeoutStream::new(stream));
        stream.as_mut().set_write_timeout_pinned(Some(STALL_TIME));
        let service = TowerToHyperService::new(pages.clone());
        let task = tokio::spawn(async move {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_TIME)
                .max_buf_size(LONGEST_HEADER)
                .serve_connection(TokioIo::new(stream), service);
            // Errors are the client's business; the end of its time ends the connection.
            let _ = tokio::time::timeout(CONNECTION_TIME, connection).await;
        });
        connections.add(peer.ip(), task.abort_handle());
    }
}

#[cfg(test)]
mod tests;
