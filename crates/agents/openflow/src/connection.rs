//! Connections to controllers: version negotiation, probes, framing and back-pressure.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use crate::codec::{HEADER, Header, Refusal, Replies, Request, Version};
use crate::phase::Gate;
use crate::switch::{Connection, Switch};

/// Answers that wait for a controller to read them. A controller whose answers wait is not read from.
const ANSWERS: usize = 16;
/// Messages that wait for a controller to read them and that it did not ask for. Further ones are lost, and counted.
const EVENTS: usize = 1024;
/// Bytes read at once.
const CHUNK: usize = 16 * 1024;
/// How long a controller may take to say hello, or to read a message.
const PATIENCE: Duration = Duration::from_secs(10);

/// What all connections of an agent share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub switch: Rc<RefCell<Switch>>,
    pub versions: Rc<[Version]>,
    pub probe_after: Duration,
    pub phase: Gate,
}

/// Cuts what is read into messages.
struct Messages<S> {
    from: ReadHalf<S>,
    bytes: Vec<u8>,
    /// Bytes at the front that were handed out.
    used: usize,
}

impl<S: AsyncRead> Messages<S> {
    /// The next message; can be cancelled without losing bytes.
    async fn next(&mut self) -> io::Result<(Header, Vec<u8>)> {
        loop {
            let waiting = &self.bytes[self.used..];
            if let Some(header) = waiting.first_chunk::<HEADER>().map(Header::read) {
                let length = usize::from(header.length);
                if length < HEADER {
                    let wrong = format!("a message claims to be {length} bytes long");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, wrong));
                }
                if let Some(message) = waiting.get(..length) {
                    let message = message.to_vec();
                    self.used += length;
                    return Ok((header, message));
                }
            }
            self.bytes.drain(..self.used);
            self.used = 0;
            self.bytes.reserve(CHUNK);
            if self.from.read_buf(&mut self.bytes).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// Writes answers and events until both queues are closed.
async fn write<S: AsyncWrite>(
    mut to: WriteHalf<S>,
    mut answers: mpsc::Receiver<Vec<u8>>,
    mut events: mpsc::Receiver<Vec<u8>>,
) -> io::Result<()> {
    let mut together = Vec::new();
    loop {
        let message = tokio::select! {
            Some(message) = answers.recv() => message,
            Some(message) = events.recv() => message,
            else => break,
        };
        together.clear();
        together.extend_from_slice(&message);
        while together.len() < CHUNK
            && let Ok(message) = answers.try_recv().or_else(|_| events.try_recv())
        {
            together.extend_from_slice(&message);
        }
        timeout(PATIENCE, to.write_all(&together)).await??;
        timeout(PATIENCE, to.flush()).await??;
    }
    to.shutdown().await
}

/// Chooses the version of a connection (1.3, section 6.3.1).
fn negotiate(ours: &[Version], theirs: u8, bitmap: Option<u32>) -> Option<Version> {
    match bitmap {
        Some(bits) => ours.iter().copied().filter(|version| bits >> version.wire() & 1 == 1).max(),
        None => {
            let highest = ours.iter().copied().max()?;
            let smaller = highest.wire().min(theirs);
            ours.iter().copied().find(|version| version.wire() == smaller)
        }
    }
}

/// Talks to a controller until the connection ends. `service`: the controller connected itself.
pub(crate) async fn run<S: AsyncRead + AsyncWrite + 'static>(
    shared: &Shared,
    stream: S,
    service: bool,
) -> io::Result<()> {
    let (read, write_half) = tokio::io::split(stream);
    let mut messages = Messages { from: read, bytes: Vec::new(), used: 0 };
    let (answers, waiting_answers) = mpsc::channel(ANSWERS);
    let (events, waiting_events) = mpsc::channel(EVENTS);
    let writer = tokio::task::spawn_local(write(write_half, waiting_answers, waiting_events));
    let done = converse(shared, &mut messages, answers, events, service).await;
    // What was answered last is still written, within a time.
    let written = writer.await;
    done.and(written.map_err(io::Error::other)?)
}

async fn converse<S: AsyncRead>(
    shared: &Shared,
    messages: &mut Messages<S>,
    answers: mpsc::Sender<Vec<u8>>,
    events: mpsc::Sender<Vec<u8>>,
    service: bool,
) -> io::Result<()> {
    let highest = shared.versions.iter().copied().max().unwrap_or(Version::V10);
    let mut hello = Replies::new(highest, 1);
    hello.hello(&shared.versions);
    send(&answers, hello.into_message()).await?;
    let (header, message) = timeout(PATIENCE, messages.next()).await??;
    let theirs = match (header.kind, Request::read(highest, header.kind, &message[HEADER..])) {
        (0, Ok(Request::Hello(bitmap))) => negotiate(&shared.versions, header.version, bitmap),
        _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "the first message is no hello")),
    };
    let Some(version) = theirs else {
        let ours = Version::of_wire(header.version).unwrap_or(highest);
        let mut refusal = Replies::new(ours, header.xid);
        refusal.refuse(Refusal::INCOMPATIBLE, b"versions 1.0 and 1.3 are spoken here");
        send(&answers, refusal.into_message()).await?;
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no version in common"));
    };
    let id = shared.switch.borrow_mut().connected(version, service, events);
    let guard = Connected { shared, id };
    tracing::info!("controller connected, OpenFlow {}", if version == Version::V10 { "1.0" } else { "1.3" });
    let mut probed = false;
    let mut heard = Instant::now();
    loop {
        let deadline = heard + shared.probe_after * (1 + u32::from(probed));
        let (header, message) = match timeout_at(deadline, messages.next()).await {
            Ok(message) => message?,
            Err(_) if probed => return Err(io::ErrorKind::TimedOut.into()),
            Err(_) => {
                probed = true;
                let mut probe = Replies::new(version, 0);
                probe.echo_request();
                send(&answers, probe.into_message()).await?;
                continue;
            }
        };
        // While another process takes over, messages wait.
        guard.shared.phase.clone().works().await;
        (probed, heard) = (false, Instant::now());
        let (replies, connection) = guard.shared.switch.borrow_mut().handle(id, header, &message);
        for reply in replies {
            send(&answers, reply).await?;
        }
        if connection == Connection::Ends {
            return Ok(());
        }
        // A flood of messages leaves time for other connections and for packets.
        tokio::task::yield_now().await;
    }
}

async fn send(answers: &mpsc::Sender<Vec<u8>>, message: Vec<u8>) -> io::Result<()> {
    answers.send(message).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
}

/// Says that the controller is gone, however the conversation ends.
struct Connected<'a> {
    shared: &'a Shared,
    id: u64,
}

impl Drop for Connected<'_> {
    fn drop(&mut self) {
        self.shared.switch.borrow_mut().disconnected(self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_version_that_both_speak_is_spoken() {
        let both = [Version::V10, Version::V13];
        assert_eq!(negotiate(&both, 1, None), Some(Version::V10));
        assert_eq!(negotiate(&both, 4, None), Some(Version::V13));
        assert_eq!(negotiate(&both, 6, None), Some(Version::V13));
        assert_eq!(negotiate(&both, 6, Some(1 << 1 | 1 << 6)), Some(Version::V10));
        assert_eq!(negotiate(&both, 6, Some(1 << 6)), None);
        assert_eq!(negotiate(&both, 3, None), None);
        assert_eq!(negotiate(&both[..1], 4, None), Some(Version::V10));
        assert_eq!(negotiate(&both[1..], 1, None), None);
    }
}
