//! SNMP: a subagent of the agent that a machine has, such as net-snmp's `snmpd`, by AgentX (RFC 2741).
//!
//! [`pdu`] has the units, [`mib`] the objects. A thread connects to the master agent, again and again if it must, registers the objects,
//! answers, and notifies of interfaces that come up and go down.

mod mib;
mod pdu;

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hopwright_dataplane::wait;
use hopwright_host::netlink::OperState;
use tokio::sync::watch;

use crate::Interfaces;
use crate::interfaces::now_ns;
use mib::{Clock, Objects, SUBTREES};
use pdu::{HEADER, Header, Malformed, Writer, error, kind};

/// Where net-snmp's agent listens if its configuration says `master agentx`, and no more.
pub const DEFAULT_SOCKET: &str = "/var/agentx/master";

/// How long the thread takes at most to stop, and to notice that an interface changed.
const TICK: Duration = Duration::from_millis(200);
/// How long the master agent may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time between two attempts to connect.
const AGAIN: Duration = Duration::from_secs(1);
/// How old answers may be: a walk reads the objects one by one.
const AGE: Duration = Duration::from_millis(200);
/// Which subagent an object is asked of, if there are several: net-snmp's own tables have 127, and the lowest number wins.
const PRIORITY: u8 = 100;

/// A running subagent. It stops when this is dropped.
#[derive(Debug)]
pub struct Subagent {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Subagent {
    /// Starts a subagent of the master agent that listens, now or later, at a Unix socket.
    ///
    /// # Errors
    /// There can be no thread.
    pub fn start(interfaces: Arc<Interfaces>, socket: &Path) -> io::Result<Subagent> {
        interfaces.count_groups();
        let stop = Arc::new(AtomicBool::new(false));
        let (changes, up) = (interfaces.changes(), BTreeMap::new());
        let mut agent =
            Agent { interfaces, socket: socket.to_owned(), stop: stop.clone(), changes, up, last_error: None };
        let thread = std::thread::Builder::new().name("agentx".into()).spawn(move || agent.run())?;
        Ok(Subagent { stop, thread: Some(thread) })
    }
}

impl Drop for Subagent {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Agent {
    interfaces: Arc<Interfaces>,
    socket: PathBuf,
    stop: Arc<AtomicBool>,
    changes: watch::Receiver<u64>,
    /// By number, whether an interface is up, as the master agents were notified. Empty before the first session.
    up: BTreeMap<u32, bool>,
    /// The last error in the log.
    last_error: Option<String>,
}

/// A session with the master agent.
struct Session<'a> {
    agent: &'a mut Agent,
    stream: UnixStream,
    number: u32,
    packets: u32,
    clock: Clock,
    objects: Option<(Instant, Objects)>,
}

fn malformed(_: Malformed) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, Malformed)
}

impl Agent {
    fn stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn run(&mut self) {
        wait::give_way();
        while !self.stopping() {
            if let Err(error) = self.session()
                && !self.stopping()
            {
                let text = format!("{}: {error}", self.socket.display());
                if self.last_error.as_ref() != Some(&text) {
                    tracing::warn!("SNMP: no session with the master agent, and trying again: {text}");
                    self.last_error = Some(text);
                }
                let until = Instant::now() + AGAIN;
                while Instant::now() < until && !self.stopping() {
                    std::thread::sleep(TICK);
                }
            }
        }
    }

    fn states(&self) -> io::Result<BTreeMap<u32, bool>> {
        let interfaces = self.interfaces.read()?;
        Ok(interfaces.iter().map(|interface| (interface.index, interface.state == OperState::Up)).collect())
    }

    /// A session from beginning to end.
    fn session(&mut self) -> io::Result<()> {
        let stream = UnixStream::connect(&self.socket)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_read_timeout(Some(TICK))?;
        let clock = Clock::default();
        let mut session = Session { agent: self, stream, number: 0, packets: 0, clock, objects: None };
        session.open()?;
        session.serve()
    }
}

impl Session<'_> {
    /// Opens the session and registers the objects.
    fn open(&mut self) -> io::Result<()> {
        // Before the objects are registered: every change after a manager has seen them is notified.
        if self.agent.up.is_empty() {
            self.agent.up = self.agent.states()?;
        }
        // By the agent's default timeout, without an identifier of ours.
        let open = self.unit(kind::OPEN).bytes(&[0; 4]).oid(&[]).text(b"Hopwright");
        let (header, _) = self.exchange(open)?;
        self.number = header.session;
        for subtree in SUBTREES {
            let register = self.unit(kind::REGISTER).bytes(&[0, PRIORITY, 0, 0]).oid(subtree);
            self.exchange(register)?;
        }
        self.agent.last_error = None;
        tracing::info!("SNMP: registered with the master agent at {}", self.agent.socket.display());
        // Interfaces may have changed while there was no session.
        self.notify()
    }

    fn unit(&mut self, kind: u8) -> Writer {
        self.packets = self.packets.wrapping_add(1);
        Writer::new(kind, self.number, 0, self.packets)
    }

    /// Sends a unit and waits for its response. The agent asks nothing before objects are registered, and while it registers others,
    /// what it asks is answered.
    fn exchange(&mut self, unit: Writer) -> io::Result<(Header, Vec<u8>)> {
        let packet = self.packets;
        self.stream.write_all(&unit.finish())?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let Some((header, payload)) = self.receive()? else {
                if Instant::now() >= deadline || self.agent.stopping() {
                    return Err(ErrorKind::TimedOut.into());
                }
                continue;
            };
            if header.kind != kind::RESPONSE {
                self.answer(&header, &payload)?;
                continue;
            }
            let (uptime, error) = header.response(&payload).map_err(malformed)?;
            self.clock = Clock { uptime, at_ns: now_ns() };
            if header.packet == packet {
                return match error {
                    0 => Ok((header, payload)),
                    error => Err(io::Error::other(format!("it refuses, with AgentX's error {error}"))),
                };
            }
        }
    }

    /// The next unit; none if none comes in a tick.
    fn receive(&mut self) -> io::Result<Option<(Header, Vec<u8>)>> {
        let mut bytes = [0; HEADER];
        if !self.read(&mut bytes, true)? {
            return Ok(None);
        }
        let header = Header::read(&bytes).map_err(malformed)?;
        let mut payload = vec![0; header.length];
        self.read(&mut payload, false)?;
        Ok(Some((header, payload)))
    }

    /// Fills a buffer; false if nothing comes in a tick, and nothing has to.
    fn read(&mut self, mut bytes: &mut [u8], may_be_nothing: bool) -> io::Result<bool> {
        let (all, deadline) = (bytes.len(), Instant::now() + PATIENCE);
        while !bytes.is_empty() {
            match self.stream.read(bytes) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => bytes = &mut bytes[count..],
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if may_be_nothing && bytes.len() == all {
                        return Ok(false);
                    }
                    if Instant::now() >= deadline || self.agent.stopping() {
                        return Err(error);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn serve(&mut self) -> io::Result<()> {
        let mut asked = Instant::now();
        while !self.agent.stopping() {
            match self.receive()? {
                Some((header, _)) if header.kind == kind::CLOSE => {
                    return Err(io::Error::other("it has closed the session"));
                }
                Some((header, payload)) if header.kind != kind::RESPONSE => self.answer(&header, &payload)?,
                Some(_) => {}
                None if asked.elapsed() >= PATIENCE => {
                    asked = Instant::now();
                    let ping = self.unit(kind::PING);
                    self.exchange(ping)?;
                }
                None => {}
            }
            if self.agent.changes.has_changed().unwrap_or(false) {
                self.agent.changes.mark_unchanged();
                self.notify()?;
            }
        }
        // Reason 5: the subagent shuts down.
        let close = self.unit(kind::CLOSE).bytes(&[5, 0, 0, 0]);
        self.stream.write_all(&close.finish())
    }

    fn answer(&mut self, header: &Header, payload: &[u8]) -> io::Result<()> {
        let response = match header.kind {
            kind::CLEANUP_SET => return Ok(()),
            kind::TEST_SET => Writer::response(header, error::NOT_WRITABLE, 1),
            _ if header.has_context() => Writer::response(header, error::UNSUPPORTED_CONTEXT, 0),
            _ => match header.request(payload) {
                Err(Malformed) => Writer::response(header, error::PARSE, 0),
                Ok(request) => {
                    let answers = self.objects()?.answer(&request);
                    let response = Writer::response(header, 0, 0);
                    answers.iter().fold(response, |response, (name, value)| response.variable(name, value))
                }
            },
        };
        self.stream.write_all(&response.finish())
    }

    fn objects(&mut self) -> io::Result<&Objects> {
        if self.objects.as_ref().is_none_or(|(read, _)| read.elapsed() > AGE) {
            let objects = Objects::new(&self.agent.interfaces.read()?, self.clock);
            self.objects = Some((Instant::now(), objects));
        }
        self.objects.as_ref().map(|(_, objects)| objects).ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// Notifies of interfaces that have come up or gone down.
    fn notify(&mut self) -> io::Result<()> {
        let interfaces = self.agent.interfaces.read()?;
        for interface in &interfaces {
            let is_up = interface.state == OperState::Up;
            if self.agent.up.insert(interface.index, is_up).is_some_and(|was_up| was_up != is_up) {
                let unit = self.unit(kind::NOTIFY);
                let variables = mib::notification(interface);
                let unit = variables.iter().fold(unit, |unit, (name, value)| unit.variable(name, value));
                self.exchange(unit)?;
            }
        }
        Ok(())
    }
}

#[doc(hidden)]
pub mod fuzz {
    //! What a master agent may send.

    use super::mib::Objects;
    use super::pdu::{HEADER, Header, Writer};

    /// Reads a unit, and answers it. Returns how many values the answer has.
    pub fn unit(bytes: &[u8]) -> usize {
        let Some((header, payload)) = bytes.split_first_chunk::<HEADER>() else { return 0 };
        let Ok(header) = Header::read(header) else { return 0 };
        let _ = header.response(payload);
        let Ok(request) = header.request(payload) else { return 0 };
        let interface = crate::Interface { index: 1, name: "eth0".into(), ..crate::Interface::default() };
        let answers = Objects::new(&[interface], super::Clock::default()).answer(&request);
        let response = Writer::response(&header, 0, 0);
        drop(answers.iter().fold(response, |response, (name, value)| response.variable(name, value)).finish());
        answers.len()
    }
}
