//! The server over real sockets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use axum::body::Bytes;
use axum::routing::{get, put};

use super::*;

struct Site {
    address: SocketAddr,
    _server: Server,
}

fn site() -> Site {
    let listener = Listener::open("localhost:0").unwrap();
    let address = listener.local_addr().unwrap();
    let body = Bytes::from(vec![b'x'; 20_000]);
    let pages = Router::new()
        .route("/page", get(move || std::future::ready(body.clone())))
        .route("/put", put(|body: Bytes| async move { format!("{} bytes", body.len()) }));
    Site { address, _server: serve(vec![(listener, pages)]).unwrap() }
}

/// Sends bytes and returns everything that comes back until the server closes.
fn exchange(to: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // The server may close before it has read everything.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn status(to: SocketAddr, method: &str, path: &str, body: &str) -> u16 {
    let length = body.len();
    let request =
        format!("{method} {path} HTTP/1.1\r\nHost: r\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}");
    exchange(to, request.as_bytes()).split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)
}

#[test]
fn bodies_are_bounded() {
    let site = site();
    assert_eq!(status(site.address, "PUT", "/put", "short"), 200);
    assert_eq!(status(site.address, "PUT", "/put", &" ".repeat(1 << 20)), 413);
}

#[test]
fn a_header_without_end() {
    let site = site();
    let answer = exchange(site.address, &[b'a'; 1 << 20]);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
}

/// Requests the page several times. Returns how long that took.
fn served(site: &Site) -> Duration {
    let start = Instant::now();
    for _ in 0..5 {
        assert_eq!(status(site.address, "GET", "/page", ""), 200);
    }
    start.elapsed()
}

#[test]
fn silent_clients_keep_nobody_out() {
    // It would take longer if they had to time out first. One of some: others may use the machine.
    let at_once = || {
        let site = site();
        let _silent: Vec<_> = (0..200).map(|_| TcpStream::connect(site.address).unwrap()).collect();
        served(&site) < HEADER_TIME
    };
    assert!((0..10).any(|_| at_once()));
}

/// Whether the other end closes a connection within a time.
fn is_closed(stream: &TcpStream, within: Duration) -> bool {
    let start = Instant::now();
    stream.set_nonblocking(true).unwrap();
    while start.elapsed() < within {
        // A connection that was reset cannot be written to; unread data does not matter.
        if (&mut &*stream).write(b"\r\n").is_err_and(|e| e.kind() != io::ErrorKind::WouldBlock) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

#[test]
fn clients_that_do_not_read_keep_nobody_out() {
    let site = site();
    let requests = b"GET /page HTTP/1.1\r\nHost: r\r\n\r\n".repeat(2000);
    let stalled: Vec<_> = (0..100)
        .map(|_| {
            let mut stream = TcpStream::connect(site.address).unwrap();
            stream.set_nonblocking(true).unwrap();
            let _ = stream.write(&requests);
            stream
        })
        .collect();
    let time = served(&site);
    assert!(time < CONNECTION_TIME / 2, "{time:?}");
    // The last of them did not have to make room for others; its time ends.
    assert!(is_closed(stalled.last().unwrap(), CONNECTION_TIME / 2));
}
