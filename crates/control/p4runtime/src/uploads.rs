//! Bounds what long messages of a client cost the others: only a few of a client's long messages are received and decoded at a time.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ::bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Status;
use tonic::body::Body;
use tower_layer::Layer;
use tower_service::Service;

use crate::access::Caller;
use crate::registry::Registry;

/// The longest message that needs no place, in bytes.
const SHORT: usize = 1 << 20;
/// Bytes in front of each message: whether it is compressed, and its length (gRPC over HTTP/2, "Length-Prefixed-Message").
const PREFIX: usize = 5;

/// Wraps a server's services.
#[derive(Clone)]
pub(crate) struct Uploads {
    registry: Arc<Registry>,
}

impl Uploads {
    pub(crate) fn new(registry: Arc<Registry>) -> Uploads {
        Uploads { registry }
    }
}

impl<S> Layer<S> for Uploads {
    type Service = WithUploads<S>;

    fn layer(&self, inner: S) -> WithUploads<S> {
        WithUploads { inner, registry: self.registry.clone() }
    }
}

/// A service whose calls have [`Upload`]s as bodies.
#[derive(Clone)]
pub(crate) struct WithUploads<S> {
    inner: S,
    registry: Arc<Registry>,
}

impl<S: Service<http::Request<Body>>> Service<http::Request<Body>> for WithUploads<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<Body>) -> S::Future {
        let places = self.registry.uploads(&Caller::of(request.extensions()));
        self.inner.call(request.map(|body| Body::new(Upload::new(body, places))))
    }
}

type Waiting = Pin<Box<dyn Future<Output = Option<OwnedSemaphorePermit>> + Send>>;

/// The body of a call. A long message waits for a place before most of it is received, and keeps it until it is decoded: until more
/// than the message is asked for.
struct Upload {
    inner: Body,
    places: Arc<Semaphore>,
    message: Progress,
    waiting: Option<Waiting>,
    place: Option<OwnedSemaphorePermit>,
}

/// How far a message has been received.
#[derive(Debug, Default)]
struct Progress {
    prefix: [u8; PREFIX],
    /// Bytes of the prefix that are there.
    prefixed: usize,
    /// Bytes of the message that are missing.
    missing: usize,
    long: bool,
}

impl Progress {
    /// Takes what has been received.
    fn add(&mut self, mut data: &[u8]) {
        while !data.is_empty() {
            if self.missing > 0 {
                let taken = self.missing.min(data.len());
                self.missing -= taken;
                data = &data[taken..];
                continue;
            }
            let taken = (PREFIX - self.prefixed).min(data.len());
            self.prefix[self.prefixed..self.prefixed + taken].copy_from_slice(&data[..taken]);
            self.prefixed += taken;
            data = &data[taken..];
            if self.prefixed == PREFIX {
                let [_, length @ ..] = self.prefix;
                self.missing = u32::from_be_bytes(length) as usize;
                self.long = self.missing > SHORT;
                self.prefixed = 0;
            }
        }
    }
}

impl Upload {
    fn new(inner: Body, places: Arc<Semaphore>) -> Upload {
        Upload { inner, places, message: Progress::default(), waiting: None, place: None }
    }
}

impl http_body::Body for Upload {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.message.missing == 0 {
            self.place = None;
        } else if self.message.long && self.place.is_none() {
            let places = self.places.clone();
            let waiting = self.waiting.get_or_insert_with(|| Box::pin(async { places.acquire_owned().await.ok() }));
            self.place = ready!(waiting.as_mut().poll(cx));
            self.waiting = None;
        }
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(cx));
        if let Some(data) = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref()) {
            self.message.add(data);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart_in_pieces_of_any_size() {
        let lengths = [0, 3, SHORT, SHORT + 1, 7];
        let mut bytes = Vec::new();
        for length in lengths {
            bytes.push(0);
            bytes.extend((length as u32).to_be_bytes());
            bytes.resize(bytes.len() + length, 0xff);
        }
        for piece in [1, 4, 5, 1000, SHORT, bytes.len()] {
            let mut progress = Progress::default();
            let (mut longs, mut was_long) = (0, false);
            for data in bytes.chunks(piece) {
                progress.add(data);
                let is_long = progress.long && progress.missing > 0;
                longs += usize::from(is_long && !was_long);
                was_long = is_long;
            }
            assert_eq!((progress.missing, progress.prefixed), (0, 0));
            assert_eq!(longs, usize::from(piece <= SHORT), "pieces of {piece}");
        }
    }
}
