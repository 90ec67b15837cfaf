//! Devices and their addresses, routes and neighbours of the kernel, read over rtnetlink and kept up to date by its
//! notifications.

mod routes;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, RawFd};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_APPEND, NLM_F_CREATE, NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkInfo, LinkLayerType, LinkMessage};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage, RouteMetric, RouteType};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use rustix::net::sockopt::set_socket_recv_buffer_size_force;

pub use routes::{Forwarding, NextHop, RouteKind, Routes};

/// Multicast groups of rtnetlink (`RTNLGRP_*` in linux/rtnetlink.h).
const GROUPS: [u32; 9] = [
    1,  // link
    3,  // neighbours
    5,  // IPv4 addresses
    7,  // IPv4 routes
    8,  // IPv4 rules
    9,  // IPv6 addresses
    11, // IPv6 routes
    19, // IPv6 rules
    32, // next-hop objects
];
/// Message types of next-hop objects (`RTM_NEWNEXTHOP`, `RTM_DELNEXTHOP`), which the library does not decode.
const NEXT_HOP_OBJECTS: [u16; 2] = [104, 105];
/// Bytes of notifications that may be queued; where routes are followed, of which very many may change at once.
const EVENT_BUFFER: usize = 4 << 20;
const ROUTES_EVENT_BUFFER: usize = 64 << 20;
/// Most datagrams of notifications taken by one [`Netlink::update`], so that a flood of notifications does not keep the
/// agent from its other work.
const BURST: usize = 512;

/// A network device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// The kernel's number.
    pub index: u32,
    /// `eth0`.
    pub name: String,
    /// Its Ethernet address, if it has one.
    pub mac: Option<[u8; 6]>,
    /// Bytes of network layer.
    pub mtu: u32,
    /// Configured to be up.
    pub up: bool,
    /// It has a carrier.
    pub running: bool,
    /// Kind of a virtual device, e.g. `veth`; empty for hardware.
    pub kind: String,
    /// Index of the bridge, bond or VRF that it is part of.
    pub master: Option<u32>,
    /// The host's own.
    pub loopback: bool,
    /// Addresses of the host on it.
    pub addresses: Vec<IpAddr>,
}

/// State of a neighbour's link-layer address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbour {
    /// It answered.
    Known {
        /// Ethernet address.
        mac: [u8; 6],
        /// Confirmed recently, or configured statically.
        fresh: bool,
    },
    /// It did not answer.
    Failed,
}

/// Where the kernel sends packets for an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Through a device to a next hop.
    Via {
        /// Index of the device.
        device: u32,
        /// The destination itself or a gateway.
        next_hop: IpAddr,
        /// The path's MTU, where it is known to differ from the device's.
        mtu: Option<u32>,
    },
    /// Through a tunnel that the route itself describes; only the kernel can encapsulate packets for it.
    Encapsulated,
    /// To this host.
    Here,
    /// No route, or a route that prohibits it.
    Nowhere,
}

/// Changes reported by notifications.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Devices, addresses or rules changed: any route may have changed without a notification of its own.
    pub everything: bool,
    /// Destinations of changed routes.
    pub routes: Vec<Prefix>,
    /// Routes may have changed without a notification, or been missed; see [`Netlink::reload_routes`].
    pub lost_routes: bool,
    /// Changed neighbours, by device.
    pub neighbours: Vec<(u32, IpAddr)>,
}

/// A network prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix {
    /// The address.
    pub address: IpAddr,
    /// Number of significant bits.
    pub length: u8,
}

impl Prefix {
    /// The prefix of this length that an address has. A length beyond the address's is that of the address.
    pub fn new(address: IpAddr, length: u8) -> Prefix {
        let length = length.min(if address.is_ipv4() { 32 } else { 128 });
        let (address, _) = Prefix { address, length }.range();
        Prefix { address, length }
    }

    /// The prefix of one address.
    pub fn host(address: IpAddr) -> Prefix {
        Prefix::new(address, 128)
    }

    /// The first and the last address.
    pub fn range(self) -> (IpAddr, IpAddr) {
        match self.address {
            IpAddr::V4(ip) => {
                let rest = u32::MAX.checked_shr(self.length.into()).unwrap_or(0);
                let of = |bits| IpAddr::V4(Ipv4Addr::from_bits(bits));
                (of(ip.to_bits() & !rest), of(ip.to_bits() | rest))
            }
            IpAddr::V6(ip) => {
                let rest = u128::MAX.checked_shr(self.length.into()).unwrap_or(0);
                let of = |bits| IpAddr::V6(Ipv6Addr::from_bits(bits));
                (of(ip.to_bits() & !rest), of(ip.to_bits() | rest))
            }
        }
    }

    /// Whether an address has this prefix.
    pub fn contains(self, address: IpAddr) -> bool {
        let (first, last) = self.range();
        (first..=last).contains(&address)
    }
}

/// The kernel's devices and neighbours, followed by notifications; routes by lookup.
pub struct Netlink {
    requests: Socket,
    events: Socket,
    sequence: u32,
    devices: BTreeMap<u32, Device>,
    neighbours: HashMap<(u32, IpAddr), Neighbour>,
    /// If they are followed.
    routes: Option<Routes>,
    /// Notifications were lost, and the state was not read anew since.
    overrun: bool,
    /// Routes may have changed while they were read: notifications of that time may wait.
    unsettled: bool,
}

impl Netlink {
    /// Reads devices, addresses and neighbours of this thread's network namespace, and subscribes to notifications.
    pub fn open() -> io::Result<Netlink> {
        Netlink::with_routes(None)
    }

    /// The same, and follows the routes of the main and the local table, too.
    pub fn following_routes() -> io::Result<Netlink> {
        Netlink::with_routes(Some(Routes::default()))
    }

    fn with_routes(routes: Option<Routes>) -> io::Result<Netlink> {
        let mut events = Socket::new(NETLINK_ROUTE)?;
        events.bind_auto()?;
        for group in GROUPS {
            events.add_membership(group)?;
        }
        events.set_non_blocking(true)?;
        let buffer = if routes.is_some() { ROUTES_EVENT_BUFFER } else { EVENT_BUFFER };
        // Without privileges the kernel gives as much as it may.
        if set_socket_recv_buffer_size_force(&events, buffer).is_err() {
            let _ = events.set_rx_buf_sz(buffer as libc::c_int);
        }
        let mut requests = Socket::new(NETLINK_ROUTE)?;
        requests.bind_auto()?;
        requests.connect(&SocketAddr::new(0, 0))?;
        let (devices, neighbours) = (BTreeMap::new(), HashMap::new());
        let mut netlink =
            Netlink { requests, events, sequence: 0, devices, neighbours, routes, overrun: false, unsettled: false };
        netlink.reload()?;
        netlink.reload_routes()?;
        Ok(netlink)
    }

    /// All devices by index.
    pub fn devices(&self) -> &BTreeMap<u32, Device> {
        &self.devices
    }

    /// The device that has an address.
    pub fn device_with(&self, address: IpAddr) -> Option<&Device> {
        self.devices.values().find(|d| d.addresses.contains(&address))
    }

    /// Whether the kernel delivers packets to an address locally. No device needs to have it: all of 127.0.0.0/8 is local.
    pub fn is_local(&mut self, address: IpAddr) -> bool {
        matches!(self.route_from(address, None), Ok(Route::Here))
    }

    /// The state of a neighbour, if the kernel has one.
    pub fn neighbour(&self, device: u32, address: IpAddr) -> Option<Neighbour> {
        self.neighbours.get(&(device, address)).copied()
    }

    /// All neighbours whose state is known, by device and address.
    pub fn neighbours(&self) -> impl Iterator<Item = ((u32, IpAddr), Neighbour)> {
        self.neighbours.iter().map(|(key, state)| (*key, *state))
    }

    /// Readable when there are notifications.
    pub fn event_fd(&self) -> RawFd {
        self.events.as_raw_fd()
    }

    /// Takes a limited number of pending notifications.
    pub fn update(&mut self) -> io::Result<Changes> {
        if self.overrun {
            return self.recover();
        }
        let mut changes = Changes::default();
        for _ in 0..BURST {
            match self.events.recv_from_full() {
                Ok((bytes, _)) => {
                    let objects = next_hop_objects(&bytes);
                    changes.everything |= !objects.is_empty();
                    if let Some(routes) = &self.routes {
                        changes.lost_routes |= objects.iter().any(|id| routes.refer_to(*id));
                    }
                    for message in messages(&bytes) {
                        if let NetlinkPayload::InnerMessage(inner) = message.payload {
                            self.apply(inner, message.header.flags, &mut changes);
                        }
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.unsettled = false;
                    return Ok(changes);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    self.overrun = true;
                    return self.recover();
                }
                Err(error) => return Err(error),
            }
        }
        Ok(changes)
    }

    /// Reads everything anew, as soon as the queue of notifications is empty: the kernel reports losses once, and no more
    /// until then. Those still queued are older than what is read next.
    fn recover(&mut self) -> io::Result<Changes> {
        let mut changes = Changes::default();
        if !self.discard_events() {
            return Ok(changes);
        }
        let before: Vec<_> = self.neighbours.keys().copied().collect();
        self.reload()?;
        changes.everything = true;
        changes.routes.extend(self.reload_routes()?);
        changes.neighbours.extend(before);
        changes.neighbours.extend(self.neighbours.keys().copied());
        self.overrun = false;
        Ok(changes)
    }

    /// Whether the queue of notifications is empty now.
    fn discard_events(&mut self) -> bool {
        (0..100_000).any(|_| self.events.recv_from_full().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock))
    }

    /// Looks up the route of packets to `destination` from the local address `source`.
    pub fn route(&mut self, destination: IpAddr, source: IpAddr) -> io::Result<Route> {
        self.route_from(destination, Some(source))
    }

    fn route_from(&mut self, destination: IpAddr, source: Option<IpAddr>) -> io::Result<Route> {
        let mut query = RouteMessage::default();
        let bits = if destination.is_ipv4() { 32 } else { 128 };
        query.header.address_family = family(destination);
        query.header.destination_prefix_length = bits;
        query.attributes.push(RouteAttribute::Destination(destination.into()));
        if let Some(source) = source {
            query.header.source_prefix_length = bits;
            query.attributes.push(RouteAttribute::Source(source.into()));
        }
        let replies = match self.request(RouteNetlinkMessage::GetRoute(query), 0) {
            Ok(replies) => replies,
            Err(error) => {
                return match error.raw_os_error() {
                    Some(
                        libc::ENETUNREACH
                        | libc::EHOSTUNREACH
                        | libc::EACCES
                        | libc::EINVAL
                        | libc::ENONET
                        | libc::ENETDOWN,
                    ) => Ok(Route::Nowhere),
                    _ => Err(error),
                };
            }
        };
        let route = replies.into_iter().find_map(|m| match m {
            RouteNetlinkMessage::NewRoute(route) => Some(route),
            _ => None,
        });
        Ok(route.map_or(Route::Nowhere, |route| read_route(&route, destination)))
    }

    /// The routes, if they are followed.
    pub fn routes(&self) -> Option<&Routes> {
        self.routes.as_ref()
    }

    /// Reads all routes anew, if they are followed, and returns the destinations that are forwarded differently. The
    /// kernel does not notify of routes that it removes because their device goes down or their source address is gone.
    pub fn reload_routes(&mut self) -> io::Result<Vec<Prefix>> {
        if self.routes.is_none() {
            return Ok(Vec::new());
        }
        let mut routes = Routes::default();
        for query in routes::queries() {
            self.ask(RouteNetlinkMessage::GetRoute(query), NLM_F_DUMP, |answer| {
                if let RouteNetlinkMessage::NewRoute(route) = answer {
                    // Those of equal rank come in the order in which lookups prefer them.
                    routes.add(&route, NLM_F_APPEND);
                }
            })?;
        }
        let before = self.routes.replace(routes).unwrap_or_default();
        self.unsettled = true;
        Ok(self.routes.as_ref().map_or_else(Vec::new, |routes| routes.changed_from(&before)))
    }

    /// Gives a device an Ethernet address and MTU, and sets it up. Needs CAP_NET_ADMIN.
    pub fn set_up_device(&mut self, device: u32, mac: Option<[u8; 6]>, mtu: Option<u32>) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = device;
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        message.attributes.extend(mac.map(|mac| LinkAttribute::Address(mac.to_vec())));
        message.attributes.extend(mtu.map(LinkAttribute::Mtu));
        self.request(RouteNetlinkMessage::SetLink(message), NLM_F_ACK).map(drop)
    }

    /// Asks the kernel to resolve a neighbour's link-layer address, or to confirm it. Needs CAP_NET_ADMIN.
    pub fn probe(&mut self, device: u32, address: IpAddr) -> io::Result<()> {
        let mut message = NeighbourMessage::default();
        message.header.family = family(address);
        message.header.ifindex = device;
        message.header.state = NeighbourState::None;
        message.header.flags = NeighbourFlags::Use;
        message.attributes.push(NeighbourAttribute::Destination(match address {
            IpAddr::V4(ip) => NeighbourAddress::Inet(ip),
            IpAddr::V6(ip) => NeighbourAddress::Inet6(ip),
        }));
        self.request(RouteNetlinkMessage::NewNeighbour(message), NLM_F_CREATE | NLM_F_ACK).map(drop)
    }

    fn reload(&mut self) -> io::Result<()> {
        self.devices.clear();
        self.neighbours.clear();
        let mut ignored = Changes::default();
        for request in [
            RouteNetlinkMessage::GetLink(LinkMessage::default()),
            RouteNetlinkMessage::GetAddress(AddressMessage::default()),
            RouteNetlinkMessage::GetNeighbour(NeighbourMessage::default()),
        ] {
            for reply in self.request(request, NLM_F_DUMP)? {
                self.apply(reply, 0, &mut ignored);
            }
        }
        Ok(())
    }

    /// Sends a request and waits for the complete reply.
    fn request(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<Vec<RouteNetlinkMessage>> {
        let mut answers = Vec::new();
        self.ask(message, flags, |answer| answers.push(answer))?;
        Ok(answers)
    }

    /// Sends a request, and hands over the messages of the reply as they come.
    fn ask(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
        mut take: impl FnMut(RouteNetlinkMessage),
    ) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1).max(1);
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = self.sequence;
        let mut packet = NetlinkMessage::new(header, NetlinkPayload::from(message));
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        self.requests.send(&bytes, 0)?;
        let several = flags & NLM_F_DUMP == NLM_F_DUMP;
        loop {
            let (bytes, _) = self.requests.recv_from_full()?;
            for message in messages(&bytes) {
                if message.header.sequence_number != self.sequence {
                    continue;
                }
                match message.payload {
                    NetlinkPayload::InnerMessage(answer) => {
                        take(answer);
                        if !several {
                            return Ok(());
                        }
                    }
                    NetlinkPayload::Done(_) => return Ok(()),
                    // Code 0 is an acknowledgement.
                    NetlinkPayload::Error(error) => {
                        return match error.code {
                            None => Ok(()),
                            Some(_) => Err(error.to_io()),
                        };
                    }
                    _ => {}
                }
            }
        }
    }

    /// `flags`: those of the notification's header.
    fn apply(&mut self, message: RouteNetlinkMessage, flags: u16, changes: &mut Changes) {
        match message {
            // Bridges report their ports in another family.
            RouteNetlinkMessage::NewLink(link) if link.header.interface_family == AddressFamily::Unspec => {
                let device = self.devices.entry(link.header.index).or_default();
                let before = device.clone();
                read_link(&link, device);
                changes.everything |= *device != before;
                changes.lost_routes |= before.up && !device.up;
            }
            RouteNetlinkMessage::DelLink(link) if link.header.interface_family == AddressFamily::Unspec => {
                self.devices.remove(&link.header.index);
                changes.everything = true;
                changes.lost_routes = true;
            }
            RouteNetlinkMessage::NewAddress(address) => {
                if let (Some(device), Some(ip)) = (self.devices.get_mut(&address.header.index), own_address(&address))
                    && !device.addresses.contains(&ip)
                {
                    device.addresses.push(ip);
                    changes.everything = true;
                }
            }
            RouteNetlinkMessage::DelAddress(address) => {
                if let (Some(device), Some(ip)) = (self.devices.get_mut(&address.header.index), own_address(&address)) {
                    device.addresses.retain(|a| *a != ip);
                    changes.everything = true;
                    changes.lost_routes = true;
                }
            }
            RouteNetlinkMessage::NewNeighbour(neighbour) => {
                if let Some((key, value)) = read_neighbour(&neighbour) {
                    let before = match value {
                        Some(value) => self.neighbours.insert(key, value),
                        None => self.neighbours.remove(&key),
                    };
                    if before != value {
                        changes.neighbours.push(key);
                    }
                }
            }
            RouteNetlinkMessage::DelNeighbour(neighbour) => {
                if let Some((key, _)) = read_neighbour(&neighbour)
                    && self.neighbours.remove(&key).is_some()
                {
                    changes.neighbours.push(key);
                }
            }
            RouteNetlinkMessage::NewRoute(route) => {
                changes.lost_routes |= self.disturbed_by(&route);
                changes.routes.extend(match &mut self.routes {
                    Some(routes) => routes.add(&route, flags),
                    None => prefix(&route),
                });
            }
            RouteNetlinkMessage::DelRoute(route) => {
                changes.lost_routes |= self.disturbed_by(&route);
                changes.routes.extend(match &mut self.routes {
                    Some(routes) => routes.remove(&route),
                    None => prefix(&route),
                });
            }
            RouteNetlinkMessage::NewRule(_) | RouteNetlinkMessage::DelRule(_) => changes.everything = true,
            _ => {}
        }
    }

    /// Whether routes may have been left out while they were read, because this one changed. The kernel counts IPv6 routes that
    /// it has reported, and after a change begins anew behind as many.
    fn disturbed_by(&mut self, route: &RouteMessage) -> bool {
        route.header.address_family == AddressFamily::Inet6 && std::mem::take(&mut self.unsettled)
    }
}

/// The messages of a datagram. Skips messages that cannot be decoded, as newer kernels may send.
fn messages(mut bytes: &[u8]) -> Vec<NetlinkMessage<RouteNetlinkMessage>> {
    let mut messages = Vec::new();
    while let Some(length) = bytes.get(..4).and_then(|b| b.try_into().ok()).map(u32::from_ne_bytes) {
        let length = length as usize;
        if length < 16 || length > bytes.len() {
            break;
        }
        match NetlinkMessage::deserialize(&bytes[..length]) {
            Ok(message) => messages.push(message),
            Err(error) => tracing::debug!(%error, "undecodable netlink message"),
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    }
    messages
}

/// The numbers of the next-hop objects that a datagram has messages about; 0 for one without number.
pub fn next_hop_objects(mut bytes: &[u8]) -> Vec<u32> {
    /// Bytes of the headers of a netlink message and of a next-hop message.
    const HEADERS: usize = 16 + 8;
    /// `NHA_ID`.
    const ID: u16 = 1;
    let mut found = Vec::new();
    while let Some([a, b, c, d, e, f]) = bytes.first_chunk() {
        let length = u32::from_ne_bytes([*a, *b, *c, *d]) as usize;
        if NEXT_HOP_OBJECTS.contains(&u16::from_ne_bytes([*e, *f])) {
            let mut attributes = bytes.get(HEADERS..length).unwrap_or(&[]);
            let mut id = 0;
            while let Some([a, b, c, d]) = attributes.first_chunk() {
                let length = usize::from(u16::from_ne_bytes([*a, *b]));
                if u16::from_ne_bytes([*c, *d]) == ID
                    && let Some(value) = attributes.get(4..8).and_then(|value| value.try_into().ok())
                {
                    id = u32::from_ne_bytes(value);
                }
                attributes = attributes.get(length.max(4).next_multiple_of(4)..).unwrap_or(&[]);
            }
            found.push(id);
        }
        let length = length.next_multiple_of(4);
        bytes = if length < 16 { &[] } else { bytes.get(length..).unwrap_or(&[]) };
    }
    found
}

/// The destination prefix of a unicast route.
fn prefix(route: &RouteMessage) -> Option<Prefix> {
    let any = match route.header.address_family {
        AddressFamily::Inet => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        AddressFamily::Inet6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        _ => return None,
    };
    let of = |attribute: &RouteAttribute| match attribute {
        RouteAttribute::Destination(RouteAddress::Inet(ip)) => Some(IpAddr::V4(*ip)),
        RouteAttribute::Destination(RouteAddress::Inet6(ip)) => Some(IpAddr::V6(*ip)),
        _ => None,
    };
    let address = route.attributes.iter().find_map(of).unwrap_or(any);
    Some(Prefix { address, length: route.header.destination_prefix_length })
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn mac_of(bytes: &[u8]) -> Option<[u8; 6]> {
    bytes.try_into().ok()
}

fn read_link(link: &LinkMessage, device: &mut Device) {
    device.index = link.header.index;
    device.up = link.header.flags.contains(LinkFlags::Up);
    device.running = link.header.flags.contains(LinkFlags::Running);
    device.loopback = link.header.flags.contains(LinkFlags::Loopback);
    device.master = None;
    let ethernet = link.header.link_layer_type == LinkLayerType::Ether;
    for attribute in &link.attributes {
        match attribute {
            LinkAttribute::IfName(name) => device.name.clone_from(name),
            LinkAttribute::Mtu(mtu) => device.mtu = *mtu,
            LinkAttribute::Address(bytes) => device.mac = mac_of(bytes).filter(|_| ethernet),
            LinkAttribute::Controller(index) => device.master = Some(*index).filter(|index| *index != 0),
            LinkAttribute::LinkInfo(infos) => {
                for info in infos {
                    if let LinkInfo::Kind(kind) = info {
                        device.kind = kind.to_string();
                    }
                }
            }
            _ => {}
        }
    }
}

/// The host's own address in an address message (the other may be that of a point-to-point peer).
fn own_address(message: &AddressMessage) -> Option<IpAddr> {
    let mut found = None;
    for attribute in &message.attributes {
        match attribute {
            AddressAttribute::Local(ip) => return Some(*ip),
            AddressAttribute::Address(ip) => found = Some(*ip),
            _ => {}
        }
    }
    found
}

/// Key and state of a neighbour; no state while the kernel is resolving it.
fn read_neighbour(message: &NeighbourMessage) -> Option<((u32, IpAddr), Option<Neighbour>)> {
    let mut address = None;
    let mut mac = None;
    for attribute in &message.attributes {
        match attribute {
            NeighbourAttribute::Destination(NeighbourAddress::Inet(ip)) => address = Some(IpAddr::V4(*ip)),
            NeighbourAttribute::Destination(NeighbourAddress::Inet6(ip)) => address = Some(IpAddr::V6(*ip)),
            NeighbourAttribute::LinkLayerAddress(bytes) => mac = mac_of(bytes),
            _ => {}
        }
    }
    let known = |fresh| mac.map(|mac| Neighbour::Known { mac, fresh });
    let state = match message.header.state {
        NeighbourState::Reachable | NeighbourState::Permanent | NeighbourState::Noarp => known(true),
        NeighbourState::Delay | NeighbourState::Probe => known(true),
        NeighbourState::Stale => known(false),
        NeighbourState::Failed => Some(Neighbour::Failed),
        _ => None,
    };
    Some(((message.header.ifindex, address?), state))
}

fn read_route(route: &RouteMessage, destination: IpAddr) -> Route {
    match route.header.kind {
        RouteType::Unicast => {}
        RouteType::Local => return Route::Here,
        _ => return Route::Nowhere,
    }
    let mut device = None;
    let mut next_hop = destination;
    let mut path_mtu = None;
    for attribute in &route.attributes {
        match attribute {
            RouteAttribute::Encap(_) | RouteAttribute::EncapType(_) | RouteAttribute::NewDestination(_) => {
                return Route::Encapsulated;
            }
            RouteAttribute::Metrics(metrics) => {
                for metric in metrics {
                    if let RouteMetric::Mtu(mtu) = metric {
                        path_mtu = Some(*mtu).filter(|mtu| *mtu > 0);
                    }
                }
            }
            RouteAttribute::Oif(index) => device = Some(*index),
            RouteAttribute::Gateway(RouteAddress::Inet(ip)) => next_hop = IpAddr::V4(*ip),
            RouteAttribute::Gateway(RouteAddress::Inet6(ip)) => next_hop = IpAddr::V6(*ip),
            RouteAttribute::Via(via) => {
                use netlink_packet_route::route::RouteVia;
                match via {
                    RouteVia::Inet(ip) => next_hop = IpAddr::V4(*ip),
                    RouteVia::Inet6(ip) => next_hop = IpAddr::V6(*ip),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    device.map_or(Route::Nowhere, |device| Route::Via { device, next_hop, mtu: path_mtu })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host() {
        let mut netlink = Netlink::open().unwrap();
        let here: IpAddr = "127.0.0.1".parse().unwrap();
        let lo = netlink.device_with(here).expect("loopback").clone();
        assert!(lo.loopback && lo.up && lo.name == "lo", "{lo:?}");
        assert_eq!(netlink.route(here, here).unwrap(), Route::Here);
        assert_eq!(netlink.device_with("203.0.113.77".parse().unwrap()), None);
        assert!(netlink.is_local("127.45.6.7".parse().unwrap()));
        assert!(!netlink.is_local("203.0.113.77".parse().unwrap()));
        assert!(netlink.update().is_ok());
    }

    #[test]
    fn prefixes() {
        let of = |address: &str, length| Prefix { address: address.parse().unwrap(), length };
        let ip = |text: &str| -> IpAddr { text.parse().unwrap() };
        for (prefix, inside, outside) in [
            (of("10.1.0.0", 16), "10.1.255.255", "10.2.0.0"),
            (of("10.1.2.3", 32), "10.1.2.3", "10.1.2.2"),
            (of("0.0.0.0", 0), "255.255.255.255", "::1"),
            (of("fd00::", 64), "fd00::ffff:0:0:1", "fd00:0:0:1::"),
            (of("::", 0), "fd00::1", "10.0.0.1"),
        ] {
            assert!(prefix.contains(ip(inside)) && !prefix.contains(ip(outside)), "{prefix:?}");
        }
        let mut route = RouteMessage::default();
        route.header.address_family = AddressFamily::Inet;
        assert_eq!(prefix(&route), Some(of("0.0.0.0", 0)));
        route.header.destination_prefix_length = 8;
        route.attributes.push(RouteAttribute::Destination(RouteAddress::Inet([10, 0, 0, 0].into())));
        assert_eq!(prefix(&route), Some(of("10.0.0.0", 8)));
    }

    #[test]
    fn numbers_of_next_hop_objects() {
        let message = |length: u32, kind: u16, rest: &[u8]| {
            [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 10], rest].concat()
        };
        let id = |id: u32| [&8u16.to_ne_bytes()[..], &1u16.to_ne_bytes(), &id.to_ne_bytes()].concat();
        let object = message(40, 104, &[vec![0; 8], vec![8, 0, 9, 0, 1, 1, 1, 1], id(77)].concat());
        assert_eq!(next_hop_objects(&[message(20, 28, &[0; 4]), object.clone()].concat()), [77]);
        assert_eq!(next_hop_objects(&message(20, 105, &[0; 4])), [0]);
        assert!(next_hop_objects(&[message(20, 28, &[0; 4]), message(20, 24, &[0; 4])].concat()).is_empty());
        for length in 0..object.len() {
            next_hop_objects(&object[..length]);
            next_hop_objects(&[0; 40][..length]);
            next_hop_objects(&[255; 40][..length]);
        }
    }

    #[test]
    fn neighbours() {
        let mut message = NeighbourMessage::default();
        message.header.ifindex = 3;
        message.header.state = NeighbourState::Stale;
        message.attributes = vec![
            NeighbourAttribute::Destination(NeighbourAddress::Inet([10, 0, 0, 1].into())),
            NeighbourAttribute::LinkLayerAddress(vec![1, 2, 3, 4, 5, 6]),
        ];
        let key = (3, "10.0.0.1".parse().unwrap());
        let mac = [1, 2, 3, 4, 5, 6];
        assert_eq!(read_neighbour(&message), Some((key, Some(Neighbour::Known { mac, fresh: false }))));
        message.header.state = NeighbourState::Permanent;
        assert_eq!(read_neighbour(&message), Some((key, Some(Neighbour::Known { mac, fresh: true }))));
        message.header.state = NeighbourState::Failed;
        assert_eq!(read_neighbour(&message), Some((key, Some(Neighbour::Failed))));
        message.header.state = NeighbourState::Incomplete;
        assert_eq!(read_neighbour(&message), Some((key, None)));
        message.attributes.clear();
        assert_eq!(read_neighbour(&message), None);
    }

    #[test]
    fn datagrams_with_nonsense() {
        assert!(messages(&[]).is_empty());
        assert!(messages(&[255; 40]).is_empty());
        assert!(messages(&[16, 0, 0, 0, 255, 255, 0]).is_empty());
        assert!(messages(&[0; 64]).is_empty());
    }
}
