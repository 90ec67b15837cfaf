//! HTTP servers with bounded resources.
//!
//! They run on one thread with low priority, beside the data path. Connections, time, header and body sizes are bounded
//! for every client. A new connection is always accepted; when there are too many, an old one is closed
//! ([`connections`]).

mod compression;
mod connections;
mod log_level;

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::sync::Notify;
use tokio_io_timeout::TimeoutStream;

/// The library of [`serve`]'s routers.
pub use axum;
pub use compression::{accepts_gzip, gzip};
pub use log_level::{Level, LogLevel, NoLog, answer as log_level_response};

use connections::Connections;

/// Time for a client to send a request's header, or to send another request.
const HEADER_TIME: Duration = Duration::from_secs(5);
/// Time that a client may stall while it receives a response.
const STALL_TIME: Duration = Duration::from_secs(2);
/// Lifetime of a connection.
const CONNECTION_TIME: Duration = Duration::from_secs(120);
/// Bytes of a request that are buffered.
const LONGEST_HEADER: usize = 16 * 1024;
/// Bytes of a request's body.
const LONGEST_BODY: usize = 1024;
/// Niceness of the thread: forwarding comes first.
const NICENESS: i32 = 10;

/// A socket that listens and does not answer yet.
#[derive(Debug)]
pub struct Listener(TcpListener);

impl Listener {
    /// Listens at `host:port`, `ip:port`, or `:port` for all addresses.
    pub fn open(address: &str) -> io::Result<Listener> {
        let listener = match address.strip_prefix(':') {
            Some(port) => {
                TcpListener::bind(format!("[::]:{port}")).or_else(|_| TcpListener::bind(format!("0.0.0.0:{port}")))?
            }
            None => TcpListener::bind(address.to_socket_addrs()?.collect::<Vec<_>>().as_slice())?,
        };
        listener.set_nonblocking(true)?;
        Ok(Listener(listener))
    }

    /// Takes a predecessor's socket, which listens.
    pub fn inherited(socket: OwnedFd) -> io::Result<Listener> {
        let listener = TcpListener::from(socket);
        listener.set_nonblocking(true)?;
        Ok(Listener(listener))
    }

    /// Returns a duplicate of the socket's descriptor, for a process that takes over from this one.
    pub fn share(&self) -> io::Result<OwnedFd> {
        Ok(self.0.try_clone()?.into())
    }

    /// The address it listens at.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// Serves pages at each listener, on a new thread. Starts no thread without listeners.
pub fn serve(sites: Vec<(Listener, Router)>) -> io::Result<Server> {
    let stop = Arc::new(Notify::new());
    if sites.is_empty() {
        return Ok(Server { stop, thread: None });
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let until = stop.clone();
    let run = move || {
        // Of this thread only (setpriority(2), "C library/kernel differences"). A failure does no harm.
        let _ = rustix::process::setpriority_process(None, NICENESS);
        runtime.block_on(async {
            for (listener, pages) in sites {
                tokio::spawn(accept(listener.0, pages.layer(DefaultBodyLimit::max(LONGEST_BODY))));
            }
            until.notified().await;
        });
    };
    let thread = std::thread::Builder::new().name("http".into()).spawn(run)?;
    Ok(Server { stop, thread: Some(thread) })
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

/// Serves a bounded number of connections at a time.
async fn accept(listener: TcpListener, pages: Router) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(event = "http-failed", %error, "cannot serve HTTP");
            return;
        }
    };
    let mut connections = Connections::default();
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, for example, which may pass.
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
            // Errors concern the client only. The connection ends with its lifetime.
            let _ = tokio::time::timeout(CONNECTION_TIME, connection).await;
        });
        connections.add(peer.ip(), task.abort_handle());
    }
}

#[cfg(test)]
mod tests;
