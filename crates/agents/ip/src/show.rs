//! What `hopwright ip show` prints: what is in the tables, and which packets are left to the kernel and why. A router answers at a Unix
//! socket; a question is a line of JSON, and so is the answer.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel as queue};
use std::time::Duration;

use hopwright_dataplane::wait::{PollSet, Wakeup};
use serde::{Deserialize, Serialize};

use crate::policy::{Packets, Punted};
use crate::threads::Stop;

/// Where routers answer.
const FOLDER: &str = "/run/hopwright";
/// How long whoever asks may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most bytes of a question.
const LONGEST: u64 = 1024;

/// A port, or a VLAN of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Port {
    /// Its number in the program.
    pub number: u32,
    /// The VLAN that is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// The kernel's number of the routing table, if it is part of a VRF.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<u32>,
    /// Its device in the namespace.
    pub device: String,
    /// The Ethernet address.
    pub mac: Option<String>,
    /// Bytes of network layer.
    pub mtu: u32,
    /// The device is configured to be up.
    pub up: bool,
    /// The port and its device have a carrier.
    pub carrier: bool,
}

/// A next hop.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NextHop {
    /// Its number.
    pub id: u16,
    /// The neighbour.
    pub address: String,
    /// The device in the namespace.
    pub device: String,
    /// The neighbour's Ethernet address; none while packets to it are punted.
    pub mac: Option<String>,
    /// The longest packet that the fast path sends to it, in bytes; none while packets are punted.
    pub mtu: Option<u16>,
    /// Packets that the fast path has sent to it.
    pub packets: u64,
}

/// A group of next hops.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Group {
    /// Its number.
    pub id: u16,
    /// Numbers and weights of the next hops.
    pub next_hops: Vec<(u16, u16)>,
}

/// A route of the fast path.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Route {
    /// The kernel's number of the VRF's table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<u32>,
    /// `10.0.0.0/8`.
    pub prefix: String,
    /// `next hop 3`, `group 2`, or what becomes of packets: `punted: KERNEL_ROUTE`.
    pub does: String,
}

/// The state of a router.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RouterState {
    /// The ports.
    pub ports: Vec<Port>,
    /// Which packets are left to the kernel, and why.
    pub punted: Vec<Punted>,
    /// The rules whose packets are left to the kernel.
    pub rules: Vec<String>,
    /// The next hops.
    pub next_hops: Vec<NextHop>,
    /// The groups.
    pub groups: Vec<Group>,
    /// How many routes there are, host routes of neighbours included.
    pub route_count: usize,
    /// They, if they were asked for.
    pub routes: Vec<Route>,
    /// Packets by what became of them.
    pub reasons: std::collections::BTreeMap<String, u64>,
    /// How often settings of the kernel, filters and rules have been read.
    pub policy_readings: u64,
    /// No routes are to be read anew.
    pub settled: bool,
}

/// A question.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    #[serde(default)]
    routes: bool,
}

/// A question on its way to whoever has the tables.
#[derive(Debug)]
pub(crate) struct Request {
    pub routes: bool,
    pub answer: Sender<RouterState>,
}

/// Asks whoever has the tables.
#[derive(Debug)]
pub(crate) struct Asker {
    requests: Sender<Request>,
    wakeup: Arc<Wakeup>,
}

/// Both ends of the way of requests.
pub(crate) fn channel() -> io::Result<(Asker, Receiver<Request>)> {
    let (requests, receiver) = queue();
    Ok((Asker { requests, wakeup: Arc::new(Wakeup::new()?) }, receiver))
}

impl Asker {
    /// Readable when there are requests.
    pub(crate) fn wakeup(&self) -> Arc<Wakeup> {
        self.wakeup.clone()
    }

    fn ask(&self, question: Question) -> Option<RouterState> {
        let (answer, answered) = queue();
        self.requests.send(Request { routes: question.routes, answer }).ok()?;
        self.wakeup.notify();
        answered.recv().ok()
    }
}

/// Answers at the socket. The socket's file goes with it.
pub(crate) struct Server {
    listener: UnixListener,
    path: PathBuf,
}

impl Server {
    pub(crate) fn bind(namespace: &str) -> io::Result<Server> {
        std::fs::create_dir_all(FOLDER)?;
        let path = path(namespace);
        // One process can have the namespace's TAP devices: the socket of an earlier one is not used any more.
        if let Err(error) = std::fs::remove_file(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(Server { listener, path })
    }

    /// Runs until it is stopped.
    pub(crate) fn run(&self, asker: &Asker, stop: &Stop) {
        let mut poll = PollSet::new();
        [stop.fd(), self.listener.as_raw_fd()].into_iter().for_each(|fd| poll.add(fd));
        while !stop.requested() {
            poll.wait(Duration::from_secs(1));
            while let Ok((client, _)) = self.listener.accept() {
                if let Err(error) = answer(&client, asker) {
                    tracing::debug!(%error, "a question about the router");
                }
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn answer(mut client: &UnixStream, asker: &Asker) -> io::Result<()> {
    client.set_nonblocking(false)?;
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(client).take(LONGEST).read_line(&mut line)?;
    let question = serde_json::from_str(&line)?;
    let state = asker.ask(question).ok_or_else(|| io::Error::other("the router stops"))?;
    client.write_all(&serde_json::to_vec(&state)?)
}

/// Where the router with this control plane answers.
pub fn path(namespace: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("ip-{namespace}.sock"))
}

/// Asks the router that has a namespace as control plane for its state, with or without all routes.
///
/// # Errors
/// There is no such router, or it does not answer.
pub fn ask(namespace: &str, routes: bool) -> io::Result<RouterState> {
    let mut stream = UnixStream::connect(path(namespace))?;
    let mut line = serde_json::to_vec(&Question { routes })?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(serde_json::from_slice(&answer)?)
}

/// The state as people read it.
pub fn text(state: &RouterState, routes: bool) -> String {
    let mut text = String::from("Ports\n");
    let or_none = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".into());
    for port in &state.ports {
        let Port { number, vlan, table, device, mtu, up, carrier, .. } = port;
        let link = if !up {
            "down"
        } else if *carrier {
            "up"
        } else {
            "no carrier"
        };
        let number = vlan.map_or_else(|| number.to_string(), |vlan| format!("{number}.{vlan}"));
        let table = table.map_or_else(String::new, |table| format!(", table {table}"));
        text += &format!("  {number:<4} {device:<16} {} mtu {mtu}, {link}{table}\n", or_none(&port.mac));
    }
    text += "Left to the kernel\n";
    for punted in &state.punted {
        let packets = match punted.packets {
            Packets::Ipv4 => "IPv4",
            Packets::Ipv6 => "IPv6",
            Packets::All => "all that comes",
            Packets::Sent => "all that leaves",
            Packets::NoneTaken => "nothing is taken",
        };
        let mut port = punted.port.map_or_else(|| "any port".into(), |port| format!("port {port}"));
        port += &punted.vlan.map_or_else(String::new, |vlan| format!(" VLAN {vlan}"));
        text += &format!("  {port}, {packets}: {}\n", punted.why);
    }
    state.rules.iter().for_each(|rule| text += &format!("  {rule}\n"));
    if state.punted.is_empty() && state.rules.is_empty() {
        text += "  nothing but what its routes say\n";
    }
    text += "Next hops\n";
    for hop in &state.next_hops {
        let mtu = hop.mtu.map_or_else(String::new, |mtu| format!(" mtu {mtu}"));
        let NextHop { id, address, device, packets, .. } = hop;
        text += &format!("  {id:<6} {address} dev {device} lladdr {}{mtu}, {packets} packets\n", or_none(&hop.mac));
    }
    for group in &state.groups {
        let members: Vec<String> =
            group.next_hops.iter().map(|(hop, weight)| format!("{hop} weight {weight}")).collect();
        text += &format!("  group {:<6} {}\n", group.id, members.join(", "));
    }
    text += &format!("Routes: {}\n", state.route_count);
    if routes {
        for Route { table, prefix, does } in &state.routes {
            let table = table.map_or_else(String::new, |table| format!(" table {table}"));
            text += &format!("  {prefix}{table} {does}\n");
        }
    }
    text += "Packets\n";
    for (reason, count) in state.reasons.iter().filter(|(_, count)| **count > 0) {
        text += &format!("  {reason:<20} {count}\n");
    }
    text
}

pub(crate) fn mac(bytes: [u8; 6]) -> String {
    bytes.map(|byte| format!("{byte:02x}")).join(":")
}
