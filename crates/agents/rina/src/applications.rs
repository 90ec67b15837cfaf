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
//!
//! While a flow has no room its connection is not read, so that the application waits. What an application does not read
//! stays in the flow's receiver, which gives the other end no more credit.

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::credential;
use crate::efcp::LONGEST_SDU;
use crate::flows::{End, FlowEvent, FlowId};
use crate::ipcp::Ipcp;
use crate::name::Name;

/// Connections at a time.
const MOST: usize = 1024;
/// Packets taken from a connection before the next has its turn.
const BURST: usize = 64;
/// Longest packet of the socket.
pub(crate) const LONGEST_PACKET: usize = 1 + LONGEST_SDU;

/// The first byte of packets of a flow.
pub(crate) mod packet {
    pub(crate) const SDU: u8 = 0;
    pub(crate) const END: u8 = 1;
}

/// What an application asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// To be found by this name, in a DIF or in all.
    Register {
        /// The application's name.
        name: Name,
        /// The DIF.
        dif: Option<Name>,
    },
    /// A flow to another application.
    Allocate {
        /// This application.
        from: Name,
        /// The other one.
        to: Name,
        /// Name of the QoS cube.
        qos: String,
        /// The DIF; none: the first that knows the other application.
        dif: Option<Name>,
    },
    /// The flow that a listener was told about.
    Accept {
        /// Its key.
        flow: String,
    },
    /// Not that flow.
    Refuse {
        /// Its key.
        flow: String,
    },
    /// The state of the IPC processes, as JSON in packets until the connection ends.
    Show,
}

/// What an application is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It is done; a flow is there.
    Done,
    /// It is not, for this reason.
    Failed(String),
    /// To a listener: somebody asks for a flow.
    Requested {
        /// Its key: whoever has it, and nobody else, accepts or refuses the flow.
        flow: String,
        /// The application that asks.
        from: Name,
        /// The application that was asked for.
        to: Name,
        /// Name of the QoS cube.
        qos: String,
    },
}

/// A flow, by IPC process.
type Place = (usize, FlowId);

#[derive(Debug)]
enum Role {
    New,
    /// At these IPC processes.
    Listener(Name, Vec<usize>),
    /// It is shown this text, from a place on.
    Shown(Vec<u8>, usize),
    /// The flow is not there yet.
    Waiting(Place),
    Flow(Place),
    /// The same, and the application sends nothing more.
    Closing(Place),
}

#[derive(Debug)]
struct Connection {
    fd: OwnedFd,
    role: Role,
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
            Role::Flow((ipcp, flow)) => ipcps[ipcp].has_room(flow),
            Role::New | Role::Listener(..) | Role::Shown(..) | Role::Waiting(_) | Role::Closing(_) => true,
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
                self.connections.insert(self.next, Connection { fd, role: Role::New });
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
            if let Role::Flow((ipcp, flow)) = connection.role
                && !ipcps[ipcp].has_room(flow)
            {
                if has_hung_up(&connection.fd) {
                    self.close(id, ipcps, now);
                }
                return false;
            }
            let length = match rustix::net::recv(&connection.fd, &mut self.buffer[..], RecvFlags::DONTWAIT) {
                Ok((length, _)) if length > 0 => length,
                Err(Errno::AGAIN | Errno::INTR) => return false,
                _ => {
                    self.close(id, ipcps, now);
                    return false;
                }
            };
            let kept = match connection.role {
                Role::Flow((ipcp, flow)) => match self.buffer[..length].split_first() {
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
                Role::Listener(..) | Role::Shown(..) | Role::Waiting(_) => {
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
        let chosen = |dif: &Option<Name>, ipcps: &[Ipcp]| -> Vec<usize> {
            let matches = |ipcp: &Ipcp| dif.as_ref().is_none_or(|dif| ipcp.settings().dif == *dif);
            (0..ipcps.len()).filter(|at| matches(&ipcps[*at])).collect()
        };
        match request {
            Request::Show => {
                self.set_role(id, Role::Shown(show(ipcps).to_string().into_bytes(), 0));
                true
            }
            Request::Register { name, dif } => {
                let at = chosen(&dif, ipcps);
                let taken = self.connections.values().any(|other| match &other.role {
                    Role::Listener(there, difs) => *there == name && at.iter().any(|ipcp| difs.contains(ipcp)),
                    _ => false,
                });
                if taken || at.is_empty() {
                    let why = if taken { format!("{name} is registered already") } else { unknown(&dif) };
                    self.tell(id, &Answer::Failed(why));
                    return false;
                }
                for (done, ipcp) in at.iter().enumerate() {
                    if let Err(why) = ipcps[*ipcp].register(name.clone(), now) {
                        at[..done].iter().for_each(|ipcp| ipcps[*ipcp].unregister(&name, now));
                        self.tell(id, &Answer::Failed(why));
                        return false;
                    }
                }
                self.set_role(id, Role::Listener(name, at));
                self.tell(id, &Answer::Done)
            }
            Request::Allocate { from, to, qos, dif } => {
                let mut why = unknown(&dif);
                for ipcp in chosen(&dif, ipcps) {
                    match ipcps[ipcp].request_flow(from.clone(), to.clone(), &qos, now) {
                        Ok(flow) => {
                            self.by_flow.insert((ipcp, flow), id);
                            self.set_role(id, Role::Waiting((ipcp, flow)));
                            return true;
                        }
                        Err(reason) => why = reason,
                    }
                }
                self.tell(id, &Answer::Failed(why));
                false
            }
            Request::Accept { flow } => {
                let Some(place) = self.take_request(&flow, ipcps) else {
                    self.tell(id, &Answer::Failed("there is no such request, or not any more".into()));
                    return false;
                };
                ipcps[place.0].answer(place.1, true, now);
                self.by_flow.insert(place, id);
                self.set_role(id, Role::Flow(place));
                self.tell(id, &Answer::Done)
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

    /// The flow that waits for the answer to a request.
    fn take_request(&mut self, key: &str, ipcps: &[Ipcp]) -> Option<Place> {
        let (place, _) = self.requests.remove(key)?;
        ipcps[place.0].is_unanswered(place.1).then_some(place)
    }

    fn set_role(&mut self, id: u64, role: Role) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.role = role;
        }
    }

    /// Says why a connection ends. False: it does.
    fn complain(&self, id: u64, why: &str) -> bool {
        match self.connections.get(&id) {
            Some(Connection { fd, role: Role::Flow(_) | Role::Closing(_) }) => drop(send_end(fd, why)),
            Some(Connection { role: Role::Shown(..), .. }) | None => {}
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
            Role::New | Role::Shown(..) => {}
            Role::Listener(name, at) => {
                at.iter().for_each(|ipcp| ipcps[*ipcp].unregister(&name, now));
                for (_, (place, _)) in self.requests.extract_if(.., |_, (_, listener)| *listener == id) {
                    ipcps[place.0].answer(place.1, false, now);
                }
            }
            Role::Waiting(place) | Role::Flow(place) | Role::Closing(place) => {
                self.by_flow.remove(&place);
                ipcps[place.0].end_flow(place.1, now);
            }
        }
    }

    /// Hands SDUs of flows to applications.
    pub(crate) fn deliver(&mut self, ipcps: &mut [Ipcp], now: Duration) {
        self.blocked = false;
        self.show();
        self.tell_ends();
        let mut gone = Vec::new();
        for (place, id) in &self.by_flow {
            let (Some(connection), ipcp) = (self.connections.get(id), &mut ipcps[place.0]) else { continue };
            if matches!(connection.role, Role::Waiting(_)) {
                continue;
            }
            while let Some(sdu) = ipcp.read(place.1) {
                let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
                let parts = [IoSlice::new(&[packet::SDU]), IoSlice::new(&sdu)];
                match rustix::net::sendmsg(&connection.fd, &parts, &mut SendAncillaryBuffer::default(), flags) {
                    Ok(_) => {}
                    Err(Errno::AGAIN | Errno::NOBUFS | Errno::INTR) => {
                        ipcp.put_back(place.1, sdu);
                        self.blocked = true;
                        break;
                    }
                    Err(_) => {
                        ipcp.put_back(place.1, sdu);
                        gone.push(*id);
                        break;
                    }
                }
            }
        }
        gone.into_iter().for_each(|id| self.close(id, ipcps, now));
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
                    Role::Listener(name, at) => *name == to && at.contains(&place.0),
                    _ => false,
                };
                let listener = self.connections.iter().find(|(_, connection)| listens(connection)).map(|(id, _)| *id);
                let qos = ipcps[place.0].flow_qos(place.1).unwrap_or_default();
                let key: String = credential::nonce().iter().map(|byte| format!("{byte:02x}")).collect();
                let request = Answer::Requested { flow: key.clone(), from, to, qos };
                self.requests.retain(|_, (place, _)| ipcps[place.0].is_unanswered(place.1));
                match listener.filter(|id| self.tell(*id, &request)) {
                    Some(id) => drop(self.requests.insert(key, (place, id))),
                    None => ipcps[place.0].answer(place.1, false, now),
                }
            }
            FlowEvent::Allocated => {
                if let Some(id) = self.by_flow.get(&place).copied() {
                    self.set_role(id, Role::Flow(place));
                    self.tell(id, &Answer::Done);
                }
            }
            FlowEvent::Ended(end) => {
                let Some(id) = self.by_flow.remove(&place) else { return };
                let Some(connection) = self.connections.remove(&id) else { return };
                if matches!(connection.role, Role::Waiting(_)) {
                    answer(&connection.fd, &Answer::Failed(end.to_string()));
                    return;
                }
                let unread = matches!(connection.role, Role::Flow(_)) && self.count_unread(&connection.fd) > 0;
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

fn unknown(dif: &Option<Name>) -> String {
    dif.as_ref().map_or("no IPC process".into(), |dif| format!("this system is in no DIF {dif}"))
}

#[cfg(test)]
#[path = "applications_tests.rs"]
mod tests;
