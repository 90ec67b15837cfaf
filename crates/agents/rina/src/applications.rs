//! Applications on this machine, by a Unix socket whose packets keep their boundaries.
//!
//! The first packet of a connection is a [`Request`] as JSON; [`Answer`]s are JSON, too. What follows depends on it: a
//! listener gets an [`Answer::Requested`] for each flow that others ask for, and the connection of an allocated or accepted flow
//! carries its SDUs, one in a packet, behind a byte that says what the packet is:
//!
//! | byte | from the application | to the application |
//! | --- | --- | --- |
//! | [`packet::SDU`] | an SDU | an SDU |
//! | [`packet::END`] | there are no more SDUs | the flow has ended: nothing is missing if nothing follows, otherwise why, as text |
//!
//! What an application has sent before it closes its connection without `END` is delivered, too, but nobody is told.
//! The packets of a plain flow ([`Request::Allocate`]) are SDUs without that byte, so that `read` and `write` carry them; its connection
//! ends when the flow does.
//!
//! While a flow has no room its connection is not read, so that the application waits. What an application does not read
//! stays in the flow's receiver, which gives the other end no more credit.

mod protocol;

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType,
};
use serde_json::Value;

pub use self::protocol::{Answer, Cube, Request};
pub(crate) use self::protocol::{LONGEST_PACKET, packet};
use crate::credential;
use crate::flows::{End, FlowEvent, FlowId};
use crate::ipcp::Ipcp;
use crate::name::Name;

/// Connections at a time.
const MOST: usize = 1024;
/// How long an application may write to a plain flow that has ended. What it writes is dropped.
const AFTERWARDS: Duration = Duration::from_secs(2);
/// Packets taken from a connection before the next has its turn.
const BURST: usize = 64;

/// A flow, by IPC process.
type Place = (usize, FlowId);

/// What the packets of a flow's connection are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    /// A byte, and an SDU or a reason behind it.
    Marked,
    /// SDUs.
    Plain,
}

impl Framing {
    fn of(plain: bool) -> Framing {
        if plain { Framing::Plain } else { Framing::Marked }
    }

    /// What stands before an SDU.
    fn head(self) -> &'static [u8] {
        match self {
            Framing::Marked => &[packet::SDU],
            Framing::Plain => &[],
        }
    }
}

/// A name, and the IPC processes where it is registered.
type Registration = (Name, Vec<usize>);

#[derive(Debug)]
enum Role {
    New,
    /// With the key by which other connections register names for it, if there is one.
    Listener(Option<String>, Vec<Registration>),
    /// It is shown this text, from a place on.
    Shown(Vec<u8>, usize),
    /// The flow is not there yet.
    Waiting(Place, Framing),
    Flow(Place, Framing),
    /// The same, and the application sends nothing more.
    Closing(Place),
    /// A plain flow that has ended. Its application reads the end; until this time it may write, as if it had not ended yet.
    Over(Duration),
}

#[derive(Debug)]
struct Connection {
    fd: OwnedFd,
    role: Role,
    /// The application has closed its end: it reads nothing more, but what it has sent may not have been read here.
    deaf: bool,
}

/// The socket and its connections.
#[derive(Debug)]
pub(crate) struct Applications {
    path: PathBuf,
    listener: OwnedFd,
    connections: BTreeMap<u64, Connection>,
    by_flow: BTreeMap<Place, u64>,
    /// Flows that listeners were asked for, by what is known to these alone, with the listener's connection.
    requests: BTreeMap<String, (Place, u64)>,
    next: u64,
    buffer: Vec<u8>,
    /// Flows whose application does not read as fast as SDUs come.
    blocked: bool,
    /// Applications that are to be told why their flow has ended, or that it has.
    ending: Vec<(OwnedFd, String)>,
}

impl Applications {
    /// Listens. A socket that nobody listens at any more is replaced.
    pub(crate) fn listen(path: &Path) -> io::Result<Applications> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let address = SocketAddrUnix::new(path)?;
        let socket = || {
            rustix::net::socket_with(
                AddressFamily::UNIX,
                SocketType::SEQPACKET,
                SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
                None,
            )
        };
        if std::fs::symlink_metadata(path).is_ok() {
            match rustix::net::connect(socket()?, &address) {
                Err(Errno::CONNREFUSED) => std::fs::remove_file(path)?,
                _ => return Err(io::Error::new(io::ErrorKind::AddrInUse, "another process listens there")),
            }
        }
        let listener = socket()?;
        rustix::net::bind(&listener, &address)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660))?;
        rustix::net::listen(&listener, 64)?;
        Ok(Applications {
            path: path.into(),
            listener,
            connections: BTreeMap::new(),
            by_flow: BTreeMap::new(),
            next: 0,
            buffer: vec![0; LONGEST_PACKET + 1],
            requests: BTreeMap::new(),
            blocked: false,
            ending: Vec::new(),
        })
    }

    /// What to wait for.
    pub(crate) fn descriptors(&self, ipcps: &[Ipcp]) -> Vec<RawFd> {
        let readable = self.connections.values().filter(|connection| match connection.role {
            Role::Flow((ipcp, flow), _) => ipcps[ipcp].has_room(flow),
            Role::New | Role::Listener(..) | Role::Shown(..) | Role::Waiting(..) | Role::Closing(_) | Role::Over(_) => {
                true
            }
        });
        let all = readable.map(|connection| connection.fd.as_raw_fd());
        all.chain([self.listener.as_fd().as_raw_fd()]).collect()
    }

    /// Whether applications have to be tried again soon.
    pub(crate) fn blocked(&self) -> bool {
        self.blocked
    }

    /// Takes new connections and what applications have sent. Returns whether there may be more.
    pub(crate) fn serve(&mut self, ipcps: &mut [Ipcp], now: Duration, show: &dyn Fn(&[Ipcp]) -> Value) -> bool {
        while let Ok(fd) = rustix::net::accept_with(&self.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            if self.connections.len() < MOST {
                self.next += 1;
                self.connections.insert(self.next, Connection { fd, role: Role::New, deaf: false });
            } else {
                let full = Answer::Failed(format!("{MOST} connections of applications are open: there are no more"));
                answer(&fd, &full);
            }
        }
        let mut more = false;
        for id in self.connections.keys().copied().collect::<Vec<_>>() {
            more |= self.read(id, ipcps, now, show);
        }
        more
    }

    fn read(&mut self, id: u64, ipcps: &mut [Ipcp], now: Duration, show: &dyn Fn(&[Ipcp]) -> Value) -> bool {
        for _ in 0..BURST {
            let Some(connection) = self.connections.get(&id) else { return false };
            if let Role::Flow((ipcp, flow), _) = connection.role
                && !ipcps[ipcp].has_room(flow)
            {
                if has_hung_up(&connection.fd) {
                    self.close(id, ipcps, now);
                }
                return false;
            }
            let length = match rustix::net::recv(&connection.fd, &mut self.buffer[..], RecvFlags::DONTWAIT) {
                Ok((length, _)) if length > 0 => length,
                // It has closed without reading everything. What it has sent comes next.
                Err(Errno::CONNRESET) => continue,
                Err(Errno::AGAIN | Errno::INTR) => return false,
                _ => {
                    self.close(id, ipcps, now);
                    return false;
                }
            };
            let kept = match connection.role {
                Role::Over(until) => now < until,
                Role::Flow((ipcp, flow), Framing::Plain) => {
                    let longest = ipcps[ipcp].longest_sdu();
                    if length <= longest {
                        ipcps[ipcp].write(flow, &self.buffer[..length]);
                    } else {
                        tracing::warn!("an application's flow ends: it sent an SDU of more than {longest} bytes");
                    }
                    length <= longest
                }
                Role::Flow((ipcp, flow), Framing::Marked) => match self.buffer[..length].split_first() {
                    Some((&packet::SDU, sdu)) if sdu.len() <= ipcps[ipcp].longest_sdu() => {
                        ipcps[ipcp].write(flow, sdu);
                        true
                    }
                    Some((&packet::END, [])) => {
                        self.set_role(id, Role::Closing((ipcp, flow)));
                        ipcps[ipcp].close_flow(flow, now);
                        true
                    }
                    _ => {
                        let longest = ipcps[ipcp].longest_sdu();
                        self.complain(id, &format!("expected 0 and an SDU of {longest} bytes at most, or 1"))
                    }
                },
                Role::New => match serde_json::from_slice(&self.buffer[..length]) {
                    Ok(request) => self.request(id, request, ipcps, now, show),
                    Err(error) => {
                        self.tell(id, &Answer::Failed(format!("not a request: {error}")));
                        false
                    }
                },
                Role::Closing(_) => self.complain(id, "nothing follows the end of a flow"),
                Role::Listener(..) | Role::Shown(..) | Role::Waiting(..) => {
                    self.complain(id, "one request is made by a connection")
                }
            };
            if !kept {
                self.close(id, ipcps, now);
                return false;
            }
        }
        true
    }

    /// Returns whether the connection goes on.
    fn request(
        &mut self,
        id: u64,
        request: Request,
        ipcps: &mut [Ipcp],
        now: Duration,
        show: &dyn Fn(&[Ipcp]) -> Value,
    ) -> bool {
        match request {
            Request::Show => {
                self.set_role(id, Role::Shown(show(ipcps).to_string().into_bytes(), 0));
                true
            }
            Request::Register { name, dif, listener } => match self.register(id, name, &dif, listener, ipcps, now) {
                Ok(listens) => self.tell(id, &Answer::Done) && listens,
                Err(why) => self.refuse(id, why),
            },
            Request::Unregister { name, dif, listener } => {
                match self.unregister(&name, &dif, &listener, ipcps, now) {
                    Ok(()) => self.tell(id, &Answer::Done),
                    Err(why) => self.refuse(id, why),
                };
                false
            }
            Request::Listen => {
                let listener = key();
                self.set_role(id, Role::Listener(Some(listener.clone()), Vec::new()));
                self.tell(id, &Answer::Listening { listener })
            }
            Request::Allocate { from, to, qos, dif, plain } => {
                let mut why = unknown(&dif);
                for ipcp in members(&dif, ipcps) {
                    let cube = qos.name(&ipcps[ipcp].settings().qos).map(str::to_string);
                    let mut request = |cube: String| ipcps[ipcp].request_flow(from.clone(), to.clone(), &cube, now);
                    match cube.and_then(|cube| request(cube).map_err(|error| error.to_string())) {
                        Ok(flow) => {
                            self.by_flow.insert((ipcp, flow), id);
                            self.set_role(id, Role::Waiting((ipcp, flow), Framing::of(plain)));
                            return true;
                        }
                        Err(reason) => why = reason,
                    }
                }
                self.refuse(id, why)
            }
            Request::Accept { flow, plain } => {
                let Some(place) = self.take_request(&flow, ipcps) else {
                    return self.refuse(id, "there is no such request, or not any more".into());
                };
                ipcps[place.0].answer(place.1, true, now);
                self.by_flow.insert(place, id);
                self.begin_flow(id, place, Framing::of(plain), ipcps)
            }
            Request::Refuse { flow } => {
                if let Some(place) = self.take_request(&flow, ipcps) {
                    ipcps[place.0].answer(place.1, false, now);
                }
                self.tell(id, &Answer::Done);
                false
            }
        }
    }

    /// Registers a name, for another connection if `listener` is its key, otherwise for this one. Returns whether this connection listens.
    fn register(
        &mut self,
        id: u64,
        name: Name,
        dif: &Option<Name>,
        listener: Option<String>,
        ipcps: &mut [Ipcp],
        now: Duration,
    ) -> Result<bool, String> {
        let at = members(dif, ipcps);
        if at.is_empty() {
            return Err(unknown(dif));
        }
        let registered = |(there, difs): &Registration| *there == name && at.iter().any(|ipcp| difs.contains(ipcp));
        let taken = self.connections.values().any(|other| match &other.role {
            Role::Listener(_, names) => names.iter().any(registered),
            _ => false,
        });
        if taken {
            return Err(format!("{name} is registered already"));
        }
        let listens = listener.is_none();
        if listens {
            self.set_role(id, Role::Listener(None, Vec::new()));
        }
        let names = match listener {
            Some(listener) => self.names_of(&listener)?,
            None => match self.connections.get_mut(&id).map(|connection| &mut connection.role) {
                Some(Role::Listener(_, names)) => names,
                _ => return Err("the connection has ended".into()),
            },
        };
        for (done, ipcp) in at.iter().enumerate() {
            if let Err(why) = ipcps[*ipcp].register(name.clone(), now) {
                at[..done].iter().for_each(|ipcp| ipcps[*ipcp].unregister(&name, now));
                return Err(why.to_string());
            }
        }
        names.push((name, at));
        Ok(listens)
    }

    fn unregister(
        &mut self,
        name: &Name,
        dif: &Option<Name>,
        listener: &str,
        ipcps: &mut [Ipcp],
        now: Duration,
    ) -> Result<(), String> {
        let members = members(dif, ipcps);
        let names = self.names_of(listener)?;
        let mut found = false;
        for (there, at) in names.iter_mut().filter(|(there, _)| there == name) {
            for ipcp in at.extract_if(.., |ipcp| members.contains(ipcp)) {
                ipcps[ipcp].unregister(there, now);
                found = true;
            }
        }
        names.retain(|(_, at)| !at.is_empty());
        if found { Ok(()) } else { Err(format!("{name} is not registered")) }
    }

    /// The names of the listener that has a key.
    fn names_of(&mut self, listener: &str) -> Result<&mut Vec<Registration>, String> {
        let names = self.connections.values_mut().find_map(|connection| match &mut connection.role {
            Role::Listener(Some(key), names) if key == listener => Some(names),
            _ => None,
        });
        names.ok_or_else(|| "there is no such listener, or not any more".into())
    }

    /// The flow that waits for the answer to a request.
    fn take_request(&mut self, key: &str, ipcps: &[Ipcp]) -> Option<Place> {
        let (place, _) = self.requests.remove(key)?;
        ipcps[place.0].is_unanswered(place.1).then_some(place)
    }

    /// Turns a connection into a flow. Returns false if the answer to its application cannot be sent.
    fn begin_flow(&mut self, id: u64, place: Place, framing: Framing, ipcps: &[Ipcp]) -> bool {
        self.set_role(id, Role::Flow(place, framing));
        match framing {
            Framing::Marked => self.tell(id, &Answer::Done),
            Framing::Plain => self.tell(id, &Answer::Flow { longest_sdu: ipcps[place.0].longest_sdu() }),
        }
    }

    fn set_role(&mut self, id: u64, role: Role) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.role = role;
        }
    }

    /// Says why a request is not granted. False: its connection ends.
    fn refuse(&self, id: u64, why: String) -> bool {
        self.tell(id, &Answer::Failed(why));
        false
    }

    /// Says why a connection ends. False: it does.
    fn complain(&self, id: u64, why: &str) -> bool {
        match self.connections.get(&id) {
            Some(Connection { role: Role::Shown(..) | Role::Flow(_, Framing::Plain) | Role::Over(_), .. }) | None => {}
            Some(Connection { fd, role: Role::Flow(..) | Role::Closing(_), .. }) => drop(send_end(fd, why)),
            Some(Connection { fd, .. }) => drop(answer(fd, &Answer::Failed(why.into()))),
        }
        false
    }

    /// Tells all applications that the IPC processes of this system stop.
    pub(crate) fn stop(&mut self) {
        for id in self.connections.keys() {
            self.complain(*id, "the IPC process of this system stops");
        }
        self.connections.clear();
    }

    /// False if it cannot be told: it is not reading.
    fn tell(&self, id: u64, answer: &Answer) -> bool {
        self.connections.get(&id).is_some_and(|connection| self::answer(&connection.fd, answer))
    }

    fn close(&mut self, id: u64, ipcps: &mut [Ipcp], now: Duration) {
        let Some(connection) = self.connections.remove(&id) else { return };
        match connection.role {
            Role::New | Role::Shown(..) | Role::Over(_) => {}
            Role::Listener(_, names) => {
                for (name, at) in names {
                    at.iter().for_each(|ipcp| ipcps[*ipcp].unregister(&name, now));
                }
                for (_, (place, _)) in self.requests.extract_if(.., |_, (_, listener)| *listener == id) {
                    ipcps[place.0].answer(place.1, false, now);
                }
            }
            Role::Waiting(place, _) | Role::Flow(place, _) | Role::Closing(place) => {
                self.by_flow.remove(&place);
                ipcps[place.0].end_flow(place.1, now);
            }
        }
    }

    /// Hands SDUs of flows to applications.
    pub(crate) fn deliver(&mut self, ipcps: &mut [Ipcp], now: Duration) {
        self.blocked = false;
        self.connections.retain(|_, connection| !matches!(connection.role, Role::Over(until) if now >= until));
        self.show();
        self.tell_ends();
        for (place, id) in &self.by_flow {
            let (Some(connection), ipcp) = (self.connections.get_mut(id), &mut ipcps[place.0]) else { continue };
            if connection.deaf {
                continue;
            }
            let head = match connection.role {
                Role::Waiting(..) => continue,
                Role::Flow(_, framing) => framing.head(),
                _ => Framing::Marked.head(),
            };
            while let Some(sdu) = ipcp.read(place.1) {
                let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
                let parts = [IoSlice::new(head), IoSlice::new(&sdu)];
                match rustix::net::sendmsg(&connection.fd, &parts, &mut SendAncillaryBuffer::default(), flags) {
                    Ok(_) => {}
                    Err(Errno::AGAIN | Errno::NOBUFS | Errno::INTR) => {
                        ipcp.put_back(place.1, sdu);
                        self.blocked = true;
                        break;
                    }
                    Err(_) => {
                        // It counts as not delivered. Others must not wait for room that nobody makes.
                        ipcp.put_back(place.1, sdu);
                        ipcp.abandon(place.1);
                        connection.deaf = true;
                        break;
                    }
                }
            }
        }
    }

    /// Sends what has been asked to be shown as fast as it is read.
    fn show(&mut self) {
        let blocked = &mut self.blocked;
        self.connections.retain(|_, connection| {
            let Role::Shown(text, at) = &mut connection.role else { return true };
            while *at < text.len() {
                let part = &text[*at..text.len().min(*at + LONGEST_PACKET)];
                match rustix::net::send(&connection.fd, part, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                    Ok(_) => *at += part.len(),
                    Err(Errno::AGAIN | Errno::NOBUFS | Errno::INTR) => {
                        *blocked = true;
                        return true;
                    }
                    Err(_) => return false,
                }
            }
            false
        });
    }

    /// Tells an application about a flow.
    pub(crate) fn event(&mut self, place: Place, event: FlowEvent, ipcps: &mut [Ipcp], now: Duration) {
        match event {
            FlowEvent::Requested { to, from } => {
                let listens = |connection: &Connection| match &connection.role {
                    Role::Listener(_, names) => names.iter().any(|(name, at)| *name == to && at.contains(&place.0)),
                    _ => false,
                };
                let listener = self.connections.iter().find(|(_, connection)| listens(connection)).map(|(id, _)| *id);
                let (qos, reliable) = match ipcps[place.0].flow_qos(place.1) {
                    Some(qos) => (qos.name.clone(), qos.reliable),
                    None => (String::new(), false),
                };
                let key = key();
                let request = Answer::Requested { flow: key.clone(), from, to, qos, reliable };
                self.requests.retain(|_, (place, _)| ipcps[place.0].is_unanswered(place.1));
                match listener.filter(|id| self.tell(*id, &request)) {
                    Some(id) => drop(self.requests.insert(key, (place, id))),
                    None => ipcps[place.0].answer(place.1, false, now),
                }
            }
            FlowEvent::Allocated => {
                let waits = self.by_flow.get(&place).and_then(|id| Some((*id, &self.connections.get(id)?.role)));
                if let Some((id, Role::Waiting(_, framing))) = waits {
                    self.begin_flow(id, place, *framing, ipcps);
                }
            }
            FlowEvent::Ended(end) => {
                let Some(id) = self.by_flow.remove(&place) else { return };
                let Some(connection) = self.connections.remove(&id) else { return };
                match connection.role {
                    Role::Waiting(..) => {
                        answer(&connection.fd, &Answer::Failed(end.to_string()));
                        return;
                    }
                    Role::Flow(_, Framing::Plain) => {
                        if rustix::net::shutdown(&connection.fd, Shutdown::Write).is_ok() {
                            let over = Connection { role: Role::Over(now + AFTERWARDS), ..connection };
                            self.connections.insert(id, over);
                        }
                        return;
                    }
                    _ => {}
                }
                let unread = matches!(connection.role, Role::Flow(..)) && self.count_unread(&connection.fd) > 0;
                let end = if end.is_clean() && unread { End::Unsent } else { end };
                let why = if end.is_clean() { String::new() } else { end.to_string() };
                // SDUs before it that were not read leave no room: then the end is told later.
                if !send_end(&connection.fd, &why) {
                    self.ending.push((connection.fd, why));
                }
            }
        }
    }

    /// SDUs that an application has sent by a flow that has ended.
    fn count_unread(&mut self, fd: &OwnedFd) -> usize {
        let mut count = 0;
        while let Ok((length, _)) = rustix::net::recv(fd, &mut self.buffer[..], RecvFlags::DONTWAIT) {
            if length == 0 || self.buffer[0] != packet::SDU {
                break;
            }
            count += 1;
        }
        count
    }

    /// Tells applications about the end of flows as soon as they have read what came before.
    fn tell_ends(&mut self) {
        self.ending.retain(|(fd, why)| !send_end(fd, why));
        self.blocked |= !self.ending.is_empty();
    }
}

/// False if it cannot be told: it is not reading.
fn answer(fd: &OwnedFd, answer: &Answer) -> bool {
    // Answers always serialise.
    let text = serde_json::to_vec(answer).unwrap_or_default();
    rustix::net::send(fd, &text, SendFlags::DONTWAIT | SendFlags::NOSIGNAL).is_ok()
}

/// Tells an application that its flow has ended, and why. False: there is no room now.
fn send_end(fd: &OwnedFd, why: &str) -> bool {
    let parts = [IoSlice::new(&[packet::END]), IoSlice::new(why.as_bytes())];
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    let sent = rustix::net::sendmsg(fd, &parts, &mut SendAncillaryBuffer::default(), flags);
    !matches!(sent, Err(Errno::AGAIN | Errno::NOBUFS | Errno::INTR))
}

/// Whether the application has closed its end, and all that it sent has been read.
fn has_hung_up(fd: &OwnedFd) -> bool {
    matches!(rustix::net::recv(fd, &mut [0; 1], RecvFlags::DONTWAIT | RecvFlags::PEEK), Ok((0, _)))
}

impl Drop for Applications {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The IPC processes that are members of a DIF, or all.
fn members(dif: &Option<Name>, ipcps: &[Ipcp]) -> Vec<usize> {
    let matches = |ipcp: &Ipcp| dif.as_ref().is_none_or(|dif| ipcp.settings().dif == *dif);
    (0..ipcps.len()).filter(|at| matches(&ipcps[*at])).collect()
}

/// What nobody can guess.
fn key() -> String {
    credential::nonce().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unknown(dif: &Option<Name>) -> String {
    dif.as_ref().map_or("no IPC process".into(), |dif| format!("this system is in no DIF {dif}"))
}

#[cfg(test)]
#[path = "applications_tests.rs"]
mod tests;
