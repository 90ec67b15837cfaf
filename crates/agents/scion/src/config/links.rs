//! The links of one border router, from the topology, with the numbers that the program's tables and counters use.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use serde::{Deserialize, Serialize};

use crate::config::topology::{
    Address, BorderRouter, Ends, LinkBfd, Relation, Topology, Underlay, unusable_local, unusable_remote,
};
use crate::control::program;
use crate::packet::ia::IsdAs;

/// The counter index of the internal link: packets from and to hosts of this AS.
pub const INTERNAL_INDEX: u16 = 0;

/// The number of links that the program has counters for (`LINK_COUNT`), including siblings and the internal link.
pub const COUNT: usize = program::LINK_COUNT;

/// The numbers of the control service and of the discovery service in SCION addresses.
pub const SERVICE_CONTROL: u16 = 2;
/// See [`SERVICE_CONTROL`].
pub const SERVICE_DISCOVERY: u16 = 1;

/// Identifies a link and its session, across reloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Link {
    /// To another AS, by SCION interface.
    External(u16),
    /// To the sibling router with this internal address.
    Sibling(SocketAddr),
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Link::External(id) => write!(f, "interface {id}"),
            Link::Sibling(address) => write!(f, "sibling {address}"),
        }
    }
}

/// The other end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LinkEnd {
    /// Of the external link with this interface id.
    External(u16),
    /// The sibling router with this number ([`Sibling::number`]).
    Sibling(u16),
}

/// The other end of a link, or a host of the AS.
pub type Target = hopwright_host::next_hop::Target<LinkEnd>;
/// A router's links.
#[derive(Clone, Debug, PartialEq)]
pub struct Links {
    /// The AS.
    pub ia: IsdAs,
    /// The address to which hosts and siblings send packets for this router. It may be unspecified: any address of the
    /// machine.
    pub internal: SocketAddr,
    /// Why the internal address cannot be used, if that is so.
    pub internal_problem: Option<String>,
    /// Links to other ASes, by interface id.
    pub external: Vec<External>,
    /// The AS's other border routers that have links.
    pub siblings: Vec<Sibling>,
    /// Services and their instances.
    pub services: Vec<(u16, Vec<SocketAddr>)>,
    /// The port through which packets to a local address must arrive: that of the device with the address. Addresses
    /// that are not listed may be reached through any port.
    pub arrivals: BTreeMap<IpAddr, u16>,
    /// The zones of the router's link-local addresses and of those at the other ends of its links: the name or number of
    /// a network device.
    pub zones: BTreeMap<IpAddr, String>,
}

/// A link to another AS.
#[derive(Clone, Debug, PartialEq)]
pub struct External {
    /// SCION interface id.
    pub id: u16,
    /// The index of its counters.
    pub index: u16,
    /// The AS at the other end.
    pub neighbour: IsdAs,
    /// The relation of that AS to this one.
    pub relation: Relation,
    /// The underlay addresses of both ends.
    pub underlay: Underlay,
    /// The MTU in bytes of SCION packet; 0 if not specified.
    pub mtu: u32,
    /// Its own BFD settings.
    pub bfd: LinkBfd,
    /// Why nothing can be sent or received, if the addresses are of no use. The link is down.
    pub problem: Option<String>,
}

/// Another border router of the AS. Routers with the same internal address are one.
#[derive(Clone, Debug, PartialEq)]
pub struct Sibling {
    /// Its name in the topology.
    pub name: String,
    /// The program's number for it, from 1.
    pub number: u16,
    /// The index of its counters.
    pub index: u16,
    /// Its internal address.
    pub address: SocketAddr,
    /// Its links to other ASes.
    pub interfaces: Vec<(u16, Relation)>,
    /// Why nothing can be sent to it, if its address is of no use. Its interfaces are down.
    pub problem: Option<String>,
}

/// The reason why a topology does not describe this router.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum LinksError {
    #[error("general.id: the topology has no border router `{id}`; it has {known}")]
    UnknownRouter { id: String, known: String },
    #[error("border_routers.{router}.interfaces.{id}.underlay: missing")]
    NoUnderlay { router: String, id: u16 },
    #[error("border_routers.{router}.interfaces.{id}.underlay.provider: `{provider}` is unknown; there is `udpip`")]
    Provider { router: String, id: u16, provider: String },
    #[error(
        "border_routers.{router}.interfaces.{id}.underlay.remote: {remote} and the local {local} are of different IP versions"
    )]
    Versions { router: String, id: u16, local: SocketAddr, remote: SocketAddr },
    #[error(
        "border_routers.{router}.interfaces.{id}.underlay.remote: {remote} is the remote address of interface {other} already"
    )]
    SameRemote { router: String, id: u16, remote: SocketAddr, other: u16 },
    #[error(
        "border_routers.{sibling}.internal_addr: interface {id} is between {address} and this router's internal address already"
    )]
    Clash { sibling: String, id: u16, address: SocketAddr },
    #[error("{address} has all addresses of its port: {other} cannot be another address of this router")]
    SamePort { address: SocketAddr, other: SocketAddr },
    #[error("{address}: the zones `{zone}` and `{other}` of one address cannot be told apart")]
    Zones { address: IpAddr, zone: String, other: String },
    #[error(
        "border_routers.{router}.interfaces.{id}.underlay: the link-local address {remote} needs a link-local address here"
    )]
    NoZone { router: String, id: u16, remote: IpAddr },
    #[error("border_routers.{sibling}.internal_addr: {address} is not of the IP version of {router}'s {internal}")]
    OtherVersion { sibling: String, router: String, address: SocketAddr, internal: SocketAddr },
    #[error("{0} links are more than the {COUNT} that the program has counters for")]
    TooMany(usize),
}

impl Links {
    /// Returns the BFD link of a target; `None` for a host.
    pub fn bfd_link(&self, target: Target) -> Option<Link> {
        match target {
            Target::Link(LinkEnd::External(id)) => Some(Link::External(id)),
            Target::Link(LinkEnd::Sibling(number)) => {
                self.sibling(number).map(|sibling| Link::Sibling(sibling.address))
            }
            Target::Host(_) => None,
        }
    }

    /// Returns the counter index of a link with BFD.
    pub fn index(&self, link: Link) -> Option<u16> {
        match link {
            Link::External(id) => self.interface(id).map(|e| e.index),
            Link::Sibling(address) => self.siblings.iter().find(|s| s.address == address).map(|s| s.index),
        }
    }

    /// Returns the target at the other end of a link with BFD.
    pub fn target(&self, link: Link) -> Option<Target> {
        match link {
            Link::External(id) => Some(Target::Link(LinkEnd::External(id))),
            Link::Sibling(address) => {
                self.siblings.iter().find(|s| s.address == address).map(|s| Target::Link(LinkEnd::Sibling(s.number)))
            }
        }
    }

    /// Returns the links of border router `id`.
    ///
    /// As with the reference, addresses may be unspecified, ports 0, and other routers' addresses of no use: what cannot
    /// work then is down.
    pub fn of(topology: &Topology, id: &str) -> Result<Links, LinksError> {
        let own = topology.border_routers.get(id).ok_or_else(|| LinksError::UnknownRouter {
            id: id.into(),
            known: topology.border_routers.keys().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", "),
        })?;
        let others: Vec<_> = topology
            .border_routers
            .iter()
            .filter(|(name, router)| *name != id && !router.interfaces.is_empty())
            .collect();
        let count = 1 + own.interfaces.len() + others.len();
        let mut zones = Zones::default();
        let internal = of_version(zones.take(&own.internal)?, internal_version(own, &others, topology));
        let mut index = INTERNAL_INDEX;
        let mut next_index = || {
            index = index.saturating_add(1);
            index
        };
        let mut external: Vec<External> = Vec::new();
        for (interface_id, interface) in &own.interfaces {
            let (router, id) = (id.to_string(), *interface_id);
            let Some(ends) = &interface.underlay else { return Err(LinksError::NoUnderlay { router, id }) };
            let underlay @ Underlay { local, remote } = underlay_of(ends, &mut zones, &router, id)?;
            if let Some(other) = external.iter().find(|other| other.underlay.remote == remote) {
                return Err(LinksError::SameRemote { router, id, remote, other: other.id });
            }
            if ends.remote.zone.is_some() && ends.local.zone.is_none() {
                return Err(LinksError::NoZone { router, id, remote: remote.ip() });
            }
            if external.len() + 1 == COUNT {
                return Err(LinksError::TooMany(count));
            }
            external.push(External {
                id,
                index: next_index(),
                neighbour: interface.neighbour,
                relation: interface.relation,
                underlay,
                mtu: interface.mtu,
                bfd: interface.bfd.clone(),
                problem: unusable_local(local).or_else(|| unusable_remote(remote)),
            });
        }
        let mut siblings: Vec<Sibling> = Vec::new();
        for (name, router) in others {
            let address = zones.take(&router.internal)?;
            let interfaces = router.interfaces.iter().map(|(id, i)| (*id, i.relation));
            if let Some(same) = siblings.iter_mut().find(|sibling| sibling.address == address) {
                same.interfaces.extend(interfaces);
                continue;
            }
            let own = (address == internal).then(|| format!("{address} is this router's own address"));
            let problem = own.or_else(|| unusable_remote(address));
            if address.is_ipv4() != internal.is_ipv4() && !address.ip().is_unspecified() {
                return Err(LinksError::OtherVersion { sibling: name.clone(), router: id.into(), address, internal });
            }
            let same = |link: &&External| link.underlay == Underlay { local: internal, remote: address };
            if let Some(link) = external.iter().find(same) {
                return Err(LinksError::Clash { sibling: name.clone(), id: link.id, address });
            }
            if external.len() + siblings.len() + 1 == COUNT {
                return Err(LinksError::TooMany(count));
            }
            siblings.push(Sibling {
                name: name.clone(),
                number: siblings.len() as u16 + 1,
                index: next_index(),
                address,
                interfaces: interfaces.collect(),
                problem,
            });
        }
        check_ports(external.iter().map(|link| link.underlay.local).chain([internal]).collect())?;
        let services = [
            (SERVICE_CONTROL, instances(&topology.control_service, internal)),
            (SERVICE_DISCOVERY, instances(&topology.discovery_service, internal)),
        ];
        Ok(Links {
            ia: topology.ia,
            internal,
            internal_problem: unusable_local(internal),
            external,
            siblings,
            services: services.to_vec(),
            arrivals: BTreeMap::new(),
            zones: zones.0,
        })
    }

    /// Gives local addresses with port 0 a free port of the kernel's choice. Addresses that this machine does not have
    /// keep port 0.
    pub fn choose_ports(&mut self) {
        let locals = self.external.iter_mut().map(|link| &mut link.underlay.local);
        for local in std::iter::once(&mut self.internal).chain(locals).filter(|local| local.port() == 0) {
            let free = UdpSocket::bind(*local).and_then(|socket| socket.local_addr());
            local.set_port(free.map_or(0, |address| address.port()));
        }
    }

    /// Why packets from one of the router's own addresses are sent by UDP sockets only, if that is so: the program and
    /// raw ports know neither zones nor addresses that the kernel chooses.
    pub fn by_kernel_only(&self, local: IpAddr) -> Option<String> {
        if local.is_unspecified() {
            Some(format!("{local} is any address of this machine"))
        } else {
            self.zones.get(&local).map(|zone| format!("{local} has the zone {zone}"))
        }
    }

    /// The own address of the link that a target is at the other end of. Hosts are reached from the internal address.
    pub fn local(&self, target: Target) -> SocketAddr {
        match target {
            Target::Link(LinkEnd::External(id)) => self.interface(id).map_or(self.internal, |link| link.underlay.local),
            _ => self.internal,
        }
    }

    /// Why nothing can be sent to a target because of what the topology says, if that is so.
    pub fn problem(&self, target: Target) -> Option<&str> {
        match target {
            Target::Link(LinkEnd::External(id)) => self.interface(id)?.problem.as_deref(),
            Target::Link(LinkEnd::Sibling(number)) => {
                self.internal_problem.as_deref().or(self.sibling(number)?.problem.as_deref())
            }
            Target::Host(_) => self.internal_problem.as_deref(),
        }
    }

    /// What of the topology can never work, one line each.
    pub fn problems(&self) -> Vec<String> {
        let internal =
            self.internal_problem.iter().map(|why| format!("internal_addr: {why}: the AS's network is down"));
        let external = self
            .external
            .iter()
            .filter_map(|link| Some(format!("interface {}: {}: it is down", link.id, link.problem.as_ref()?)));
        let siblings = self
            .siblings
            .iter()
            .filter_map(|s| Some(format!("sibling {}: {}: its interfaces are down", s.name, s.problem.as_ref()?)));
        internal.chain(external).chain(siblings).collect()
    }

    /// Returns the same links with the numbers of the `running` ones: links keep their counter indices, by interface
    /// id, and siblings their numbers, by name. New ones get numbers that no running one has, as long as there are any.
    pub fn numbered_like(mut self, running: &Links) -> Links {
        let indices = running.external.iter().map(|e| e.index).chain(running.siblings.iter().map(|s| s.index));
        let mut indices = Numbers::new(indices);
        let mut numbers = Numbers::new(running.siblings.iter().map(|s| s.number));
        let of_link = |link: &External| running.interface(link.id).map(|e| e.index);
        let same = |sibling: &Sibling| running.siblings.iter().find(|s| s.name == sibling.name);
        let kept: Vec<u16> = self.external.iter().filter_map(of_link).collect();
        let of_siblings: Vec<u16> = self.siblings.iter().filter_map(|s| same(s).map(|s| s.index)).collect();
        indices.keep(kept.into_iter().chain(of_siblings));
        numbers.keep(self.siblings.iter().filter_map(|s| same(s).map(|s| s.number)).collect::<Vec<_>>());
        let same_port = |new: &mut SocketAddr, before: Option<SocketAddr>| {
            if let Some(before) = before.filter(|before| new.port() == 0 && before.ip() == new.ip()) {
                new.set_port(before.port());
            }
        };
        same_port(&mut self.internal, Some(running.internal));
        for link in &mut self.external {
            same_port(&mut link.underlay.local, running.interface(link.id).map(|link| link.underlay.local));
            link.index = of_link(link).unwrap_or_else(|| indices.next());
        }
        for sibling in &mut self.siblings {
            let before = same(sibling);
            (sibling.index, sibling.number) = match before {
                Some(before) => (before.index, before.number),
                None => (indices.next(), numbers.next()),
            };
        }
        self
    }

    /// Returns the router's own link with an interface id.
    pub fn interface(&self, id: u16) -> Option<&External> {
        self.external.iter().find(|e| e.id == id)
    }

    /// Returns the sibling with a number.
    pub fn sibling(&self, number: u16) -> Option<&Sibling> {
        self.siblings.iter().find(|s| s.number == number)
    }

    /// Returns the sibling with the link that has an interface id.
    pub fn owner(&self, id: u16) -> Option<&Sibling> {
        self.siblings.iter().find(|s| s.interfaces.iter().any(|(i, _)| *i == id))
    }
}

/// The zones of addresses.
#[derive(Default)]
struct Zones(BTreeMap<IpAddr, String>);

impl Zones {
    /// Returns an address without its zone, which is kept here.
    fn take(&mut self, address: &Address) -> Result<SocketAddr, LinksError> {
        if let Some(zone) = &address.zone {
            let ip = address.socket.ip();
            let other = self.0.insert(ip, zone.clone());
            if let Some(other) = other.filter(|other| other != zone) {
                return Err(LinksError::Zones { address: ip, zone: zone.clone(), other });
            }
        }
        Ok(address.socket)
    }
}

/// The addresses of an interface's link.
fn underlay_of(ends: &Ends, zones: &mut Zones, router: &str, id: u16) -> Result<Underlay, LinksError> {
    let router = router.to_string();
    if !matches!(ends.provider.as_str(), "" | "udpip") {
        return Err(LinksError::Provider { router, id, provider: ends.provider.clone() });
    }
    let remote = zones.take(&ends.remote)?;
    let local = of_version(zones.take(&ends.local)?, remote.is_ipv4());
    // Nothing is sent to an unspecified address, of either version.
    if local.is_ipv4() != remote.is_ipv4() && !remote.ip().is_unspecified() {
        return Err(LinksError::Versions { router, id, local, remote });
    }
    Ok(Underlay { local, remote })
}

/// An unspecified address shares its port with no other address of its version.
fn check_ports(locals: Vec<SocketAddr>) -> Result<(), LinksError> {
    for address in locals.iter().copied().filter(|address| address.ip().is_unspecified() && address.port() != 0) {
        let same = |other: &&SocketAddr| other.port() == address.port() && other.is_ipv4() == address.is_ipv4();
        if let Some(other) = locals.iter().filter(same).find(|other| **other != address) {
            return Err(LinksError::SamePort { address, other: *other });
        }
    }
    Ok(())
}

/// An unspecified address as that of another IP version; others stay.
fn of_version(address: SocketAddr, ipv4: bool) -> SocketAddr {
    if !address.ip().is_unspecified() {
        return address;
    }
    let ip = if ipv4 { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { Ipv6Addr::UNSPECIFIED.into() };
    SocketAddr::new(ip, address.port())
}

/// Whether the AS's network is IPv4, as far as an unspecified internal address leaves that open: what siblings or
/// services have.
fn internal_version(own: &BorderRouter, others: &[(&String, &BorderRouter)], topology: &Topology) -> bool {
    let siblings = others.iter().map(|(_, router)| router.internal.socket);
    let services = topology.control_service.iter().chain(&topology.discovery_service).copied();
    let known = siblings.chain(services).find(|address| !address.ip().is_unspecified());
    known.unwrap_or(own.internal.socket).is_ipv4()
}

/// The instances of a service that packets can be sent to. As with the kernel, an unspecified address is the sender's.
fn instances(addresses: &[SocketAddr], internal: SocketAddr) -> Vec<SocketAddr> {
    let here = |address: &SocketAddr| {
        let ip = match (address.ip().is_unspecified(), internal.ip()) {
            (false, _) => address.ip(),
            (true, IpAddr::V4(ip)) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            (true, IpAddr::V6(ip)) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            (true, ip) => ip,
        };
        SocketAddr::new(ip, address.port())
    };
    let mut found: Vec<SocketAddr> = Vec::new();
    for address in addresses.iter().map(here) {
        if unusable_remote(address).is_none() && !found.contains(&address) {
            found.push(address);
        }
    }
    found
}

/// Assigns numbers from 1.
struct Numbers {
    /// Numbers in use by the running links.
    running: BTreeSet<u16>,
    /// Numbers in use by the new links.
    taken: BTreeSet<u16>,
}

impl Numbers {
    fn new(running: impl Iterator<Item = u16>) -> Numbers {
        Numbers { running: running.collect(), taken: BTreeSet::new() }
    }

    fn keep(&mut self, numbers: impl IntoIterator<Item = u16>) {
        self.taken.extend(numbers);
    }

    /// Cannot run out: there are more numbers than links.
    fn next(&mut self) -> u16 {
        let free = |n: &u16| !self.taken.contains(n);
        let unused = (1..COUNT as u16).find(|n| free(n) && !self.running.contains(n));
        let number = unused.or_else(|| (1..COUNT as u16).find(free)).unwrap_or(INTERNAL_INDEX);
        self.taken.insert(number);
        number
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::topology::Interface;

    fn topology(more: &str) -> Topology {
        let text = format!(
            r#"{{"isd_as": "1-ff00:0:1", "border_routers": {{
                "a": {{"internal_addr": "10.0.0.1:30042", "interfaces": {{
                    "5": {{"isd_as": "1-ff00:0:5", "link_to": "child",
                           "underlay": {{"local": "10.5.0.1:50000", "remote": "10.5.0.2:50000"}}}},
                    "3": {{"isd_as": "1-ff00:0:3", "link_to": "parent",
                           "underlay": {{"local": "[fd00::1]:50000", "remote": "[fd00::2]:50000"}}}}}}}},
                "idle": {{"internal_addr": "10.0.0.9:30042"}}{more}}},
                "control_service": {{"cs": {{"addr": "10.0.0.7:30252"}}}}}}"#
        );
        Topology::parse(Path::new("t"), text.as_bytes()).unwrap()
    }

    #[test]
    fn numbering() {
        let links = Links::of(
            &topology(
                r#", "b": {"internal_addr": "10.0.0.2:30042",
                           "interfaces": {"9": {"isd_as": "1-ff00:0:9", "link_to": "peer"}}}"#,
            ),
            "a",
        )
        .unwrap();
        let external: Vec<_> = links.external.iter().map(|e| (e.id, e.index, e.relation)).collect();
        assert_eq!(external, [(3, 1, Relation::Parent), (5, 2, Relation::Child)]);
        assert_eq!(links.siblings.len(), 1);
        let b = &links.siblings[0];
        assert_eq!((b.number, b.index, b.interfaces.as_slice()), (1, 3, [(9, Relation::Peer)].as_slice()));
        assert_eq!(links.services[0], (2, vec!["10.0.0.7:30252".parse().unwrap()]));
        assert_eq!(links.services[1], (1, vec![]));
    }

    #[test]
    fn what_does_not_fit() {
        let unknown = Links::of(&topology(""), "x").unwrap_err().to_string();
        assert_eq!(unknown, "general.id: the topology has no border router `x`; it has `a`, `idle`");
        for (sibling, wanted) in
            [("[fd00::1]:30042", "not of the IP version"), ("[ff02::1]:30042", "not of the IP version")]
        {
            let more = format!(
                r#", "b": {{"internal_addr": "{sibling}",
                           "interfaces": {{"9": {{"isd_as": "1-ff00:0:9", "link_to": "peer"}}}}}}"#
            );
            let message = Links::of(&topology(&more), "a").unwrap_err().to_string();
            assert!(message.contains("border_routers.b.internal_addr") && message.contains(wanted), "{message}");
            let seen_from_b = Links::of(&topology(&more), "b").unwrap_err().to_string();
            assert!(seen_from_b.contains("border_routers.b.interfaces.9.underlay: missing"), "{seen_from_b}");
        }
    }

    /// A router with these addresses, and a sibling.
    fn addressed(internal: &str, local: &str, remote: &str, sibling: &str) -> Result<Links, LinksError> {
        let text = format!(
            r#"{{"isd_as": "1-ff00:0:1", "border_routers": {{
                "a": {{"internal_addr": "{internal}", "interfaces": {{
                    "5": {{"isd_as": "1-ff00:0:5", "link_to": "child",
                           "underlay": {{"local": "{local}", "remote": "{remote}"}}}}}}}},
                "b": {{"internal_addr": "{sibling}", "interfaces": {{
                    "6": {{"isd_as": "1-ff00:0:6", "link_to": "child"}}}}}},
                "c": {{"internal_addr": "{sibling}", "interfaces": {{
                    "7": {{"isd_as": "1-ff00:0:7", "link_to": "peer"}}}}}}}},
                "control_service": {{"cs1": {{"addr": "0.0.0.0:30252"}}, "cs2": {{"addr": "10.0.0.8:0"}}}}}}"#
        );
        Links::of(&Topology::parse(Path::new("t"), text.as_bytes()).unwrap(), "a")
    }

    const ENDS: [&str; 4] = ["10.0.0.1:30042", "10.5.0.1:50000", "10.5.0.2:50000", "10.0.0.2:30042"];

    #[test]
    fn routers_with_one_address_are_one() {
        let [internal, local, remote, sibling] = ENDS;
        let links = addressed(internal, local, remote, sibling).unwrap();
        assert_eq!(links.siblings.len(), 1);
        assert_eq!(links.siblings[0].interfaces, [(6, Relation::Child), (7, Relation::Peer)]);
        assert_eq!(links.problems(), Vec::<String>::new());
        // A service at any address is at the router's.
        assert_eq!(links.services[0], (2, vec!["10.0.0.1:30252".parse().unwrap()]));
        let links = addressed(internal, local, remote, internal).unwrap();
        let problem = links.problem(Target::Link(LinkEnd::Sibling(1))).unwrap();
        assert!(problem.contains("own address"), "{problem}");
    }

    #[test]
    fn addresses_of_no_use() {
        let [internal, local, remote, sibling] = ENDS;
        for (ends, down) in [
            ([internal, "224.0.0.1:1", remote, sibling], "interface 5: "),
            ([internal, local, "0.0.0.0:1", sibling], "interface 5: "),
            ([internal, local, "10.5.0.2:0", sibling], "interface 5: "),
            ([internal, local, "255.255.255.255:1", sibling], "interface 5: "),
            ([internal, local, remote, "10.0.0.2:0"], "sibling b: "),
            ([internal, local, remote, "[::]:5"], "sibling b: "),
            (["224.0.0.1:1", local, remote, sibling], "internal_addr: "),
        ] {
            let [a, b, c, d] = ends;
            let problems = addressed(a, b, c, d).unwrap().problems();
            assert!(problems.len() == 1 && problems[0].starts_with(down), "{ends:?}: {problems:?}");
        }
        for (ends, error) in [
            ([internal, "[fd00::1]:1", remote, sibling], "different IP versions"),
            ([internal, local, remote, "[fd00::1]:1"], "not of the IP version"),
            ([internal, internal, sibling, sibling], "interface 5 is between"),
            ([internal, "0.0.0.0:30042", remote, sibling], "all addresses of its port"),
            (["[fd00::1]:1", "[fd00::1]:2", "[fe80::2%eth0]:1", "[fd00::2]:1"], "needs a link-local address"),
            (["[fd00::1]:1", "[fe80::1%a]:2", "[fe80::1%b]:1", "[fd00::2]:1"], "cannot be told apart"),
        ] {
            let [a, b, c, d] = ends;
            let message = addressed(a, b, c, d).unwrap_err().to_string();
            assert!(message.contains(error), "{ends:?}: {message}");
        }
    }

    #[test]
    fn addresses_that_the_kernel_chooses() {
        let [internal, _, remote, sibling] = ENDS;
        let mut links = addressed(internal, "[::]:50000", remote, sibling).unwrap();
        assert_eq!(links.external[0].underlay.local, "0.0.0.0:50000".parse().unwrap());
        assert!(links.by_kernel_only(links.external[0].underlay.local.ip()).is_some());
        assert_eq!(links.by_kernel_only(links.internal.ip()), None);
        let any = addressed("[::]:30042", "127.0.0.1:0", remote, sibling).unwrap();
        assert_eq!(any.internal, "0.0.0.0:30042".parse().unwrap());
        assert_eq!(any.services[0].1, ["127.0.0.1:30252".parse().unwrap()]);
        // A port that was chosen stays across reloads.
        links = any.clone();
        links.choose_ports();
        assert_ne!(links.external[0].underlay.local.port(), 0);
        assert_eq!(any.numbered_like(&links), links);
        let zone = addressed("[fe80::1%eth0]:1", "[fe80::1%eth0]:2", "[fe80::2%eth0]:2", "[fe80::3%eth0]:1").unwrap();
        assert_eq!(zone.internal, "[fe80::1]:1".parse().unwrap());
        assert!(zone.by_kernel_only(zone.internal.ip()).unwrap().ends_with("zone eth0"));
        assert_eq!(zone.zones.len(), 3);
    }

    #[test]
    fn as_many_interfaces_at_siblings_as_there_are_numbers() {
        let mut whole = topology("");
        let interface =
            |id: u16| (id, Interface { underlay: None, ..whole.border_routers["a"].interfaces[&3].clone() });
        let router = BorderRouter {
            internal: Address::from("10.0.0.2:30042".parse::<SocketAddr>().unwrap()),
            interfaces: (10..=u16::MAX).map(interface).collect(),
        };
        whole.border_routers.insert("b".into(), router);
        assert_eq!(Links::of(&whole, "a").unwrap().siblings[0].interfaces.len(), 65_526);
    }

    #[test]
    fn numbers_stay_when_links_come_and_go() {
        let sibling = |name: &str, host: u8, id: u16| {
            format!(
                r#", "{name}": {{"internal_addr": "10.0.0.{host}:30042",
                    "interfaces": {{"{id}": {{"isd_as": "1-ff00:0:9", "link_to": "peer"}}}}}}"#
            )
        };
        let before = Links::of(&topology(&(sibling("b", 2, 20) + &sibling("c", 3, 30))), "a").unwrap();
        let mut running = before.clone();
        running.external.retain(|e| e.id == 5);
        // One link less; sibling `b` is removed, `bb` is new, `c` has another address.
        let fresh = Links::of(&topology(&(sibling("bb", 4, 20) + &sibling("c", 7, 30))), "a").unwrap();
        let links = fresh.clone().numbered_like(&running);
        assert_eq!(links.interface(5).unwrap().index, before.interface(5).unwrap().index);
        let (bb, c) = (&links.siblings[0], &links.siblings[1]);
        assert_eq!((c.number, c.index), (before.siblings[1].number, before.siblings[1].index));
        assert_eq!(bb.number, 3, "not that of `b`, which still runs");
        let mut indices: Vec<u16> = links.external.iter().map(|e| e.index).chain([bb.index, c.index]).collect();
        indices.sort_unstable();
        assert_eq!(indices, [1, 2, 4, 5], "one each, and 3 is `b`'s");
        assert_eq!(links.clone().numbered_like(&links), links);
        assert_eq!(fresh.clone().numbered_like(&fresh), fresh);
    }
}
