//! BMv2's notifications: samples of digests, idle entries and ports that have come up or gone down, to whoever subscribes.
//!
//! The socket is a publisher of nanomsg's protocols (SP): both sides say what they are in eight bytes, then each message is preceded by
//! its length, over TCP (`tcp://127.0.0.1:10001`) or a socket in the file system (`ipc:///tmp/bmv2.ipc`). Subscribers choose among the
//! messages themselves, and send nothing.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hopwright_dataplane::Digest;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::mpsc;
use tokio::time::sleep;

/// What a publisher says first, and what it expects of a subscriber: the version and the protocol.
const PUBLISHER: [u8; 8] = [0, b'S', b'P', 0, 0, 0x20, 0, 0];
const SUBSCRIBER: [u8; 8] = [0, b'S', b'P', 0, 0, 0x21, 0, 0];
/// How long a subscriber may take to say what it is, and to take a message.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most subscribers.
const MAX_SUBSCRIBERS: usize = 64;
/// The most messages that wait for a subscriber. It loses those that come then.
const WAITING: usize = 1024;
/// The most samples of a digest that a client may leave unacknowledged: others repeat.
const MAX_UNACKNOWLEDGED: usize = 4096;

/// Where notifications are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotificationAddress {
    /// `ipc://PATH`: a socket in the file system.
    Ipc(String),
    /// `tcp://ADDRESS:PORT`, where `*` is every address.
    Tcp(String),
}

impl FromStr for NotificationAddress {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<NotificationAddress, &'static str> {
        match text.split_once("://") {
            Some(("ipc", path)) if !path.is_empty() => Ok(NotificationAddress::Ipc(path.into())),
            Some(("tcp", address)) if address.contains(':') => Ok(NotificationAddress::Tcp(address.into())),
            _ => Err("expected ipc://PATH or tcp://ADDRESS:PORT"),
        }
    }
}

impl fmt::Display for NotificationAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotificationAddress::Ipc(path) => write!(f, "ipc://{path}"),
            NotificationAddress::Tcp(address) => write!(f, "tcp://{address}"),
        }
    }
}

/// The socket that subscribers connect to.
pub(crate) enum Listener {
    Ipc(UnixListener, String),
    Tcp(TcpListener),
}

impl Listener {
    pub(crate) async fn bind(address: &NotificationAddress) -> io::Result<Listener> {
        match address {
            NotificationAddress::Ipc(path) => {
                // One that a switch has left behind, which nobody listens to.
                if std::os::unix::net::UnixStream::connect(path)
                    .is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused)
                {
                    std::fs::remove_file(path)?;
                }
                Ok(Listener::Ipc(UnixListener::bind(path)?, path.clone()))
            }
            NotificationAddress::Tcp(address) => {
                TcpListener::bind(address.replace('*', "0.0.0.0")).await.map(Listener::Tcp)
            }
        }
    }

    /// Takes subscribers for ever.
    pub(crate) async fn accept(&self, publisher: &Publisher) {
        loop {
            let taken = match self {
                Listener::Ipc(listener, _) => listener.accept().await.map(|(stream, _)| publisher.add(stream, true)),
                Listener::Tcp(listener) => listener.accept().await.map(|(stream, _)| publisher.add(stream, false)),
            };
            if let Err(error) = taken {
                tracing::warn!("notifications: cannot accept a subscriber: {error}");
                sleep(Duration::from_millis(250)).await;
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Ipc(_, path) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The way of messages to a subscriber.
type Subscriber = mpsc::Sender<Arc<[u8]>>;

/// The subscribers.
#[derive(Clone, Default)]
pub(crate) struct Publisher(Arc<Mutex<Vec<Subscriber>>>);

impl Publisher {
    fn add(&self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, marked: bool) {
        let (to, messages) = mpsc::channel(WAITING);
        let mut subscribers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        subscribers.retain(|subscriber| !subscriber.is_closed());
        if subscribers.len() < MAX_SUBSCRIBERS {
            subscribers.push(to);
            tokio::spawn(async move {
                if let Err(error) = serve(stream, messages, marked).await {
                    tracing::debug!("notifications: a subscriber: {error}");
                }
            });
        }
    }

    pub(crate) fn has_subscribers(&self) -> bool {
        let subscribers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        subscribers.iter().any(|subscriber| !subscriber.is_closed())
    }

    pub(crate) fn send(&self, message: Vec<u8>) {
        let message: Arc<[u8]> = message.into();
        let subscribers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        subscribers.iter().for_each(|subscriber| _ = subscriber.try_send(message.clone()));
    }
}

/// Sends messages to a subscriber, which are marked if it is on the same machine.
async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    mut messages: mpsc::Receiver<Arc<[u8]>>,
    marked: bool,
) -> io::Result<()> {
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    let mut greeting = [0; 8];
    stream.write_all(&PUBLISHER).await?;
    tokio::time::timeout(PATIENCE, stream.read_exact(&mut greeting)).await.map_err(late)??;
    if greeting != SUBSCRIBER {
        return Err(io::Error::other("it is no subscriber of nanomsg's protocols"));
    }
    let mut unexpected = [0; 64];
    loop {
        tokio::select! {
            message = messages.recv() => {
                let Some(message) = message else { return Ok(()) };
                let mut frame = Vec::with_capacity(9 + message.len());
                frame.extend(marked.then_some(1));
                frame.extend((message.len() as u64).to_be_bytes());
                frame.extend(&*message);
                tokio::time::timeout(PATIENCE, stream.write_all(&frame)).await.map_err(late)??;
            }
            // It says nothing, but it may go.
            count = stream.read(&mut unexpected) => if count? == 0 { return Ok(()) },
        }
    }
}

/// The common part of all messages: what it is about, and the switch.
fn header(topic: &[u8; 4], device_id: u64) -> Vec<u8> {
    [&topic[..], &device_id.to_le_bytes()].concat()
}

/// `LEA|`: samples of a digest.
pub(crate) fn learned(device_id: u64, list: i32, buffer: u64, samples: &[Vec<u8>]) -> Vec<u8> {
    let mut message = header(b"LEA|", device_id);
    message.extend(0u32.to_le_bytes());
    message.extend(list.to_le_bytes());
    message.extend(buffer.to_le_bytes());
    message.extend((samples.len() as u32).to_le_bytes());
    samples.iter().for_each(|sample| message.extend(sample));
    message
}

/// `AGE|`: entries of a table that no packet has hit for their timeouts, by their handles.
pub(crate) fn aged(device_id: u64, buffer: u64, table: i32, handles: &[i32]) -> Vec<u8> {
    let mut message = header(b"AGE|", device_id);
    message.extend(0u32.to_le_bytes());
    message.extend(buffer.to_le_bytes());
    message.extend(table.to_le_bytes());
    message.extend((handles.len() as u32).to_le_bytes());
    handles.iter().for_each(|handle| message.extend(u64::from(*handle as u32).to_le_bytes()));
    message
}

/// `PRT|`: ports, and whether they are up.
pub(crate) fn ports_changed(device_id: u64, ports: &[(u32, bool)]) -> Vec<u8> {
    let mut message = header(b"PRT|", device_id);
    message.extend((ports.len() as u32).to_le_bytes());
    message.extend([0; 16]);
    for (port, up) in ports {
        message.extend(port.to_le_bytes());
        message.extend(u32::from(*up).to_le_bytes());
    }
    message
}

/// What a client knows of a digest: a sample is not repeated before it has been acknowledged.
#[derive(Default)]
pub(crate) struct LearnList {
    /// How many samples a message has at most; 0 is 1.
    pub(crate) most: usize,
    unacknowledged: HashSet<Vec<u8>>,
    /// By number of the message.
    sent: HashMap<u64, Vec<Vec<u8>>>,
    next: u64,
    waiting: Vec<Vec<u8>>,
}

impl LearnList {
    /// Adds a digest. Each field has whole bytes.
    pub(crate) fn add(&mut self, digest: &Digest) {
        let mut sample = Vec::new();
        for field in &digest.data {
            let (bytes, length) = (field.bits.to_bytes_be(), field.width.div_ceil(8) as usize);
            sample.resize(sample.len() + length.saturating_sub(bytes.len()), 0);
            sample.extend(&bytes[bytes.len().saturating_sub(length)..]);
        }
        if self.unacknowledged.len().max(self.sent.len()) >= MAX_UNACKNOWLEDGED {
            // They may be sent again.
            self.unacknowledged.clear();
            self.sent.clear();
        }
        if self.unacknowledged.insert(sample.clone()) {
            self.waiting.push(sample);
        }
    }

    /// The messages for what has been added: their numbers and samples.
    pub(crate) fn take(&mut self) -> Vec<(u64, Vec<Vec<u8>>)> {
        let waiting = std::mem::take(&mut self.waiting);
        let messages: Vec<Vec<Vec<u8>>> = waiting.chunks(self.most.max(1)).map(<[_]>::to_vec).collect();
        let number = |samples: Vec<Vec<u8>>| {
            let buffer = self.next;
            self.next += 1;
            self.sent.insert(buffer, samples.clone());
            (buffer, samples)
        };
        messages.into_iter().map(number).collect()
    }

    /// Acknowledges a message, or only some of its samples.
    pub(crate) fn acknowledge(&mut self, buffer: u64, samples: Option<&[usize]>) {
        let Some(sent) = self.sent.get(&buffer) else { return };
        let chosen = |at: &usize| samples.is_none_or(|samples| samples.contains(at));
        sent.iter()
            .enumerate()
            .filter(|(at, _)| chosen(at))
            .for_each(|(_, sample)| _ = self.unacknowledged.remove(sample));
        if samples.is_none() {
            self.sent.remove(&buffer);
        }
    }
}
