//! The links of one border router, from the topology, with the numbers that the program's tables and counters use.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use crate::bfd::Link;
use crate::config::topology::{LinkBfd, Relation, Topology, Underlay};
use crate::control::program;
use crate::packet::ia::IsdAs;
use crate::underlay::next_hop::{LinkEnd, Target};

/// The counter index of the internal link: packets from and to hosts of this AS.
pub const INTERNAL_INDEX: u16 = 0;

/// The number of links that the program has counters for (`LINK_COUNT`), including siblings and the internal link.
pub const COUNT: usize = program::LINK_COUNT;

/// The numbers of the control service and of the discovery service in SCION addresses.
pub const SERVICE_CONTROL: u16 = 2;
/// See [`SERVICE_CONTROL`].
pub const SERVICE_DISCOVERY: u16 = 1;

/// A router's links.
#[derive(Clone, Debug, PartialEq)]
pub struct Links {
    /// The AS.
    pub ia: IsdAs,
    /// The address to which hosts and siblings send packets for this router.
    pub internal: SocketAddr,
    /// Links to other ASes, by interface id.
    pub external: Vec<External>,
    /// The AS's other border routers that have links.
    pub siblings: Vec<Sibling>,
    /// Services and their instances.
    pub services: Vec<(u16, Vec<SocketAddr>)>,
    /// The port through which packets to a local address must arrive: that of the device with the address. Addresses
    /// that are not listed may be reached through any port.
    pub arrivals: BTreeMap<IpAddr, u16>,
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
}

/// Another border router of the AS.
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
}

/// The reason why a topology does not describe this router.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum LinksError {
    #[error("general.id: the topology has no border router `{id}`; it has {known}")]
    UnknownRouter { id: String, known: String },
    #[error("border_routers.{router}.interfaces.{id}.underlay: missing")]
    NoUnderlay { router: String, id: u16 },
    #[error("border_routers.{sibling}.internal_addr: {address} is the address of {router}, too")]
    SameAddress { sibling: String, router: String, address: SocketAddr },
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
    pub fn of(topology: &Topology, id: &str) -> Result<Links, LinksError> {
        let own = topology.border_routers.get(id).ok_or_else(|| LinksError::UnknownRouter {
            id: id.into(),
            known: topology.border_routers.keys().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", "),
        })?;
        let others =
            topology.border_routers.iter().filter(|(name, router)| *name != id && !router.interfaces.is_empty());
        let count = 1 + own.interfaces.len() + others.clone().count();
        if count > COUNT {
            return Err(LinksError::TooMany(count));
        }
        let mut index = INTERNAL_INDEX;
        let mut next_index = || {
            index += 1;
            index
        };
        let mut external = Vec::new();
        for (interface_id, interface) in &own.interfaces {
            let missing = LinksError::NoUnderlay { router: id.into(), id: *interface_id };
            external.push(External {
                id: *interface_id,
                index: next_index(),
                neighbour: interface.neighbour,
                relation: interface.relation,
                underlay: interface.underlay.ok_or(missing)?,
                mtu: interface.mtu,
                bfd: interface.bfd.clone(),
            });
        }
        let mut siblings: Vec<Sibling> = Vec::new();
        for (name, router) in others {
            let clash = siblings.iter().find(|s| s.address == router.internal).map(|s| s.name.as_str());
            if let Some(other) = clash.or((router.internal == own.internal).then_some(id)) {
                let (sibling, router, address) = (name.clone(), other.to_string(), router.internal);
                return Err(LinksError::SameAddress { sibling, router, address });
            }
            if router.internal.is_ipv4() != own.internal.is_ipv4() {
                let (sibling, address, internal) = (name.clone(), router.internal, own.internal);
                return Err(LinksError::OtherVersion { sibling, router: id.into(), address, internal });
            }
            siblings.push(Sibling {
                name: name.clone(),
                number: siblings.len() as u16 + 1,
                index: next_index(),
                address: router.internal,
                interfaces: router.interfaces.iter().map(|(id, i)| (*id, i.relation)).collect(),
            });
        }
        let services = [
            (SERVICE_CONTROL, topology.control_service.clone()),
            (SERVICE_DISCOVERY, topology.discovery_service.clone()),
        ];
        Ok(Links {
            ia: topology.ia,
            internal: own.internal,
            external,
            siblings,
            services: services.to_vec(),
            arrivals: BTreeMap::new(),
        })
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
        for link in &mut self.external {
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
        for (sibling, wanted) in [
            ("10.0.0.1:30042", "10.0.0.1:30042 is the address of a, too"),
            ("[fd00::1]:30042", "not of the IP version"),
        ] {
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
