//! Devices and their addresses, routes and neighbours of the kernel, read over rtnetlink and kept up to date by its
//! notifications.

mod interfaces;
mod kernel;
pub(crate) mod message;
mod objects;
#[cfg(test)]
mod overrun;
#[cfg(test)]
mod recorded;
pub(crate) mod request;
mod routes;
mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, RawFd};

use netlink_packet_core::{NLM_F_ACK, NLM_F_APPEND, NLM_F_CREATE, NLM_F_DUMP};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::AddressMessage;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{RouteAttribute, RouteMessage};
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_ROUTE;
use rustix::net::sockopt::set_socket_recv_buffer_size_force;

pub use interfaces::{Link, LinkCounters, Links, Medium, OperState};
pub use kernel::Kernel;
use message::{decode, family, kind, read_route};
use objects::{Groups, OBJECT_HEADER};
use request::{Answer, Requests};
pub use routes::{Forwarding, NextHop, RouteKind, Routes};
pub use rules::{Rule, RuleAction};

/// Multicast groups of rtnetlink (`RTNLGRP_*` in linux/rtnetlink.h).
const GROUPS: [u32; 12] = [
    1,  // link
    3,  // neighbours
    4,  // queueing disciplines
    5,  // IPv4 addresses
    7,  // IPv4 routes
    8,  // IPv4 rules
    9,  // IPv6 addresses
    11, // IPv6 routes
    19, // IPv6 rules
    24, // IPv4 settings
    25, // IPv6 settings
    32, // next-hop objects
];
/// Bytes of notifications that may be queued; where routes are followed, of which very many may change at once.
const EVENT_BUFFER: usize = 4 << 20;
const ROUTES_EVENT_BUFFER: usize = 64 << 20;
/// Most datagrams of notifications taken by one [`Netlink::update`], so that a flood of notifications does not keep the
/// agent from its other work.
const BURST: usize = 512;
/// How often something is read again, at most, because changes disturb the reading.
const READINGS: usize = 8;

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
    /// Index of the device that it is on top of: a VLAN's, a macvlan's.
    pub link: Option<u32>,
    /// Its tag, if it is a VLAN.
    pub vlan: Option<Vlan>,
    /// Its routing table, if it is a VRF.
    pub vrf_table: Option<u32>,
    /// It has an XDP program.
    pub xdp: bool,
    /// The host's own.
    pub loopback: bool,
    /// Addresses of the host on it.
    pub addresses: Vec<IpAddr>,
}

/// How the frames of a VLAN device are tagged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vlan {
    /// The VLAN identifier.
    pub id: u16,
    /// As IEEE 802.1Q says; otherwise as 802.1ad.
    pub customer: bool,
    /// The device hides the tags from whoever looks at its frames (`reorder_hdr`).
    pub hides_tag: bool,
    /// Some frames that it sends have a priority (`egress-qos-map`).
    pub maps_priorities: bool,
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
    /// Rules, settings of devices or queueing disciplines changed.
    pub policy: bool,
    /// Destinations of changed routes of the main and the local table.
    pub routes: Vec<Prefix>,
    /// Changed routes of other tables: the table, and the destination.
    pub other_routes: Vec<(u32, Prefix)>,
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
    requests: Requests,
    events: Socket,
    kernel: Kernel,
    /// Notifications were lost, or something may be missing that was read. Everything is to be read anew.
    stale: bool,
    overruns: u64,
}

impl Netlink {
    /// Reads devices, addresses and neighbours of this thread's network namespace, and subscribes to notifications.
    pub fn open() -> io::Result<Netlink> {
        Netlink::with(Kernel::default())
    }

    /// The same, and follows the routes, too.
    pub fn following_routes() -> io::Result<Netlink> {
        Netlink::with(Kernel::following_routes())
    }

    fn with(kernel: Kernel) -> io::Result<Netlink> {
        let mut events = Socket::new(NETLINK_ROUTE)?;
        events.bind_auto()?;
        for group in GROUPS {
            events.add_membership(group)?;
        }
        events.set_non_blocking(true)?;
        let buffer = if kernel.routes.is_some() { ROUTES_EVENT_BUFFER } else { EVENT_BUFFER };
        // Without privileges the kernel gives as much as it may.
        if set_socket_recv_buffer_size_force(&events, buffer).is_err() {
            let _ = events.set_rx_buf_sz(buffer as libc::c_int);
        }
        let requests = Requests::open()?;
        let mut netlink = Netlink { requests, events, kernel, stale: false, overruns: 0 };
        netlink.reload()?;
        netlink.reload_routes()?;
        Ok(netlink)
    }

    /// All devices by index.
    pub fn devices(&self) -> &BTreeMap<u32, Device> {
        &self.kernel.devices
    }

    /// The device that has an address.
    pub fn device_with(&self, address: IpAddr) -> Option<&Device> {
        self.kernel.devices.values().find(|d| d.addresses.contains(&address))
    }

    /// Whether the kernel delivers packets to an address locally. No device needs to have it: all of 127.0.0.0/8 is local.
    pub fn is_local(&mut self, address: IpAddr) -> bool {
        matches!(self.route_from(address, None), Ok(Route::Here))
    }

    /// The state of a neighbour, if the kernel has one.
    pub fn neighbour(&self, device: u32, address: IpAddr) -> Option<Neighbour> {
        self.kernel.neighbours.get(&(device, address)).copied()
    }

    /// All neighbours whose state is known, by device and address.
    pub fn neighbours(&self) -> impl Iterator<Item = ((u32, IpAddr), Neighbour)> {
        self.kernel.neighbours.iter().map(|(key, state)| (*key, *state))
    }

    /// Readable when there are notifications.
    pub fn event_fd(&self) -> RawFd {
        self.events.as_raw_fd()
    }

    /// Takes a limited number of pending notifications.
    pub fn update(&mut self) -> io::Result<Changes> {
        if self.stale {
            return self.recover();
        }
        let mut changes = Changes::default();
        for _ in 0..BURST {
            match self.events.recv_from_full() {
                Ok((bytes, _)) => self.kernel.take_up(&bytes, &mut changes),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.kernel.unsettled = false;
                    return Ok(changes);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    self.stale = true;
                    self.overruns += 1;
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
        self.stale = false;
        let before: Vec<_> = self.kernel.neighbours.keys().copied().collect();
        let routes = self.reload().and_then(|()| self.reload_routes());
        self.stale |= routes.is_err();
        changes.everything = true;
        changes.routes.extend(routes?);
        changes.neighbours.extend(before);
        changes.neighbours.extend(self.kernel.neighbours.keys().copied());
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
        let mut route = None;
        let answer = self.requests.ask(RouteNetlinkMessage::GetRoute(query), 0, |frame| {
            if let Ok(Some(RouteNetlinkMessage::NewRoute(message))) = decode(frame) {
                route = Some(read_route(&message, destination));
            }
        });
        match answer {
            Ok(_) => Ok(route.unwrap_or(Route::Nowhere)),
            Err(error) => match error.raw_os_error() {
                Some(
                    libc::ENETUNREACH
                    | libc::EHOSTUNREACH
                    | libc::EACCES
                    | libc::EINVAL
                    | libc::ENONET
                    | libc::ENETDOWN,
                ) => Ok(Route::Nowhere),
                _ => Err(error),
            },
        }
    }

    /// The routes, if they are followed.
    pub fn routes(&self) -> Option<&Routes> {
        self.kernel.routes()
    }

    /// How many messages of the kernel could not be decoded. They changed nothing.
    pub fn undecoded(&self) -> u64 {
        self.kernel.undecoded()
    }

    /// How often the kernel had no room for notifications. Everything is read anew then.
    pub fn overruns(&self) -> u64 {
        self.overruns
    }

    /// Reads all routes anew, if they are followed, and returns the destinations that are forwarded differently. The
    /// kernel does not notify of routes that it removes because their device goes down, their source address is gone or their
    /// next-hop object is.
    pub fn reload_routes(&mut self) -> io::Result<Vec<Prefix>> {
        if self.kernel.routes.is_none() {
            return Ok(Vec::new());
        }
        // The kernel reports that an object goes, and then removes its routes. It lists objects only when that is done, so
        // that the routes that are read next are without them.
        let groups = self.read_groups()?;
        let mut routes = Routes::default();
        for query in routes::queries() {
            let answer =
                self.requests.ask(RouteNetlinkMessage::GetRoute(query), NLM_F_DUMP, |frame| match decode(frame) {
                    // Those of equal rank come in the order in which lookups prefer them.
                    Ok(Some(RouteNetlinkMessage::NewRoute(route))) => drop(routes.add(&route, NLM_F_APPEND)),
                    Ok(_) => {}
                    Err(error) => self.kernel.not_decoded(frame, &error),
                });
            self.stale |= answer? == Answer::Disturbed;
        }
        Ok(self.kernel.replace_routes(routes, groups))
    }

    /// The groups of next-hop objects: none where the kernel does not know objects.
    fn read_groups(&mut self) -> io::Result<Groups> {
        let mut groups = Groups::default();
        for _ in 0..READINGS {
            groups = Groups::default();
            let answer = self.requests.exchange(kind::GET_NEXT_HOP, NLM_F_DUMP, &[0; OBJECT_HEADER], |frame| {
                objects::read(frame).into_iter().for_each(|object| groups.take_up(object));
            });
            match answer {
                Ok(Answer::Disturbed) => {}
                Ok(Answer::Complete) => return Ok(groups),
                Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => return Ok(groups),
                Err(error) => return Err(error),
            }
        }
        self.stale = true;
        Ok(groups)
    }

    /// The rules by which the kernel chooses routing tables, of both protocols, in its order.
    pub fn rules(&mut self) -> io::Result<Vec<Rule>> {
        let mut rules = Vec::new();
        for family in [libc::AF_INET, libc::AF_INET6] {
            let header = [family as u8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            let answer =
                self.requests.exchange(kind::GET_RULE, NLM_F_DUMP, &header, |frame| rules.extend(rules::read(frame)));
            match answer {
                Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EAFNOSUPPORT)) => {}
                other => drop(other?),
            }
        }
        Ok(rules)
    }

    /// The kinds of the queueing disciplines that devices have at their roots and, `ingress` and `clsact`, in front of reception.
    pub fn queueing(&mut self) -> io::Result<BTreeSet<(u32, String)>> {
        const HEADER: usize = 20;
        const KIND: u16 = 1;
        // struct tcmsg: the device's index is in the bytes from 4, the parent in those from 12.
        const ROOTS: std::ops::RangeFrom<u32> = 0xffff_fff1..;
        let mut found = BTreeSet::new();
        let answer = self.requests.exchange(kind::GET_QUEUEING, NLM_F_DUMP, &[0; HEADER], |frame| {
            let (header, rest) = frame.body().split_at_checked(HEADER).unwrap_or((&[], &[]));
            let number = |at: usize| Some(u32::from_ne_bytes(header.get(at..at + 4)?.try_into().ok()?));
            let kind = message::attributes(rest).find(|(kind, _)| *kind == KIND);
            let kind = kind.map(|(_, name)| String::from_utf8_lossy(name).trim_end_matches('\0').to_string());
            if number(12).is_some_and(|parent| ROOTS.contains(&parent)) {
                found.extend(number(4).zip(kind));
            }
        });
        match answer {
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(found),
            other => other.map(|_| found),
        }
    }

    /// Gives a device an Ethernet address and MTU, and sets it up. Needs CAP_NET_ADMIN.
    pub fn set_up_device(&mut self, device: u32, mac: Option<[u8; 6]>, mtu: Option<u32>) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = device;
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        message.attributes.extend(mac.map(|mac| LinkAttribute::Address(mac.to_vec())));
        message.attributes.extend(mtu.map(LinkAttribute::Mtu));
        self.requests.ask(RouteNetlinkMessage::SetLink(message), NLM_F_ACK, |_| {}).map(drop)
    }

    /// Has the kernel act upon a device's carrier that has changed. It may put that off for a second, but not for who asks for the device
    /// (Linux 6.18; earlier kernels may wait).
    pub fn settle_carrier(&mut self, device: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = device;
        self.requests.ask(RouteNetlinkMessage::GetLink(message), 0, |_| {}).map(drop)
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
        let flags = NLM_F_CREATE | NLM_F_ACK;
        self.requests.ask(RouteNetlinkMessage::NewNeighbour(message), flags, |_| {}).map(drop)
    }

    /// Reads devices, addresses and neighbours anew.
    fn reload(&mut self) -> io::Result<()> {
        for _ in 0..READINGS {
            if self.read_devices()? == Answer::Complete {
                return Ok(());
            }
        }
        self.stale = true;
        Ok(())
    }

    fn read_devices(&mut self) -> io::Result<Answer> {
        self.kernel.forget();
        let mut ignored = Changes::default();
        for request in [
            RouteNetlinkMessage::GetLink(LinkMessage::default()),
            RouteNetlinkMessage::GetAddress(AddressMessage::default()),
            RouteNetlinkMessage::GetNeighbour(NeighbourMessage::default()),
        ] {
            let answer = self.requests.ask(request, NLM_F_DUMP, |frame| {
                self.kernel.take_up_message(frame, &mut ignored);
            });
            if answer? == Answer::Disturbed {
                return Ok(Answer::Disturbed);
            }
        }
        Ok(Answer::Complete)
    }
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
    }
}
