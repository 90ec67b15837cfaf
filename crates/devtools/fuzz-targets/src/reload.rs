//! Changes a router's links while it runs: the tables must equal those of a router that starts with the new links. Devices and
//! the host's network are not part of it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use hopwright_dataplane::{Difference, EngineKind, VirtualDataPlane};
use hopwright_scion::config::links::{LinkEnd, Links, Target};
use hopwright_scion::config::topology::{BorderRouter, Ends, Interface, LinkBfd, Relation, Topology};
use hopwright_scion::control::program;
use hopwright_scion::control::tables::{self, LINK_TABLES, LinkState};
use hopwright_scion::packet::ia::IsdAs;
use hopwright_scion::setup::change;
use hopwright_scion::underlay::next_hop::NextHop;

/// The most configurations in one input.
const ROUNDS: usize = 6;

/// A router that changes from one configuration to the next, and one that starts with each.
pub struct Reloads {
    running: Arc<VirtualDataPlane>,
    fresh: Arc<VirtualDataPlane>,
}

impl Default for Reloads {
    fn default() -> Reloads {
        Reloads::new()
    }
}

impl Reloads {
    /// Compiles the program.
    pub fn new() -> Reloads {
        let pipeline = Arc::new(program::compile(true).pipeline.expect("the program compiles"));
        let vdp = || VirtualDataPlane::new(pipeline.clone(), EngineKind::Jit).expect("the program runs");
        Reloads { running: vdp(), fresh: vdp() }
    }

    /// Any bytes are a sequence of configurations: texts of topologies with zero bytes between, or made-up ones.
    pub fn reload(&self, data: &[u8]) {
        let topologies: Vec<Topology> = match data.first() {
            Some(b'{') => {
                let texts = data.split(|b| *b == 0).take(ROUNDS);
                texts.filter_map(|text| Topology::parse(Path::new("topology.json"), text).ok()).collect()
            }
            _ => {
                let mut bytes = Bytes(data);
                std::iter::from_fn(|| (!bytes.0.is_empty()).then(|| bytes.topology())).take(ROUNDS).collect()
            }
        };
        for table in LINK_TABLES {
            self.running.control().table(table).and_then(|t| t.clear()).expect("a table of the program");
        }
        let mut before: Option<Links> = None;
        for (round, topology) in topologies.iter().enumerate() {
            let Some(id) = topology.border_routers.keys().next() else { continue };
            let Ok(links) = Links::of(topology, id) else { continue };
            let numbered = match &before {
                Some(before) => links.clone().numbered_like(before),
                None => links.clone(),
            };
            check_numbers(before.as_ref(), &links, &numbered);
            if let Some(before) = &before {
                let changes = change::describe(before, &numbered);
                assert_eq!(
                    changes.is_empty(),
                    *before == numbered || same_but_for_ia(before, &numbered),
                    "{changes:?}"
                );
            }
            let state = |target| random_link_state(target, round);
            let wanted = tables::entries(&numbered, state);
            match Difference::between(self.running.control(), &LINK_TABLES, &wanted) {
                Ok(difference) => difference.apply(self.running.control()).expect("what was checked can be applied"),
                // More than a table holds: the running configuration stays.
                Err(_) => continue,
            }
            self.compare(&numbered, state);
            let nothing =
                Difference::between(self.running.control(), &LINK_TABLES, &wanted).expect("it was possible before");
            assert_eq!(nothing.counts(), (0, 0, 0));
            before = Some(numbered);
        }
    }

    /// Programs the other router with these links from scratch.
    fn compare(&self, links: &Links, state: impl Fn(Target) -> LinkState) {
        for table in LINK_TABLES {
            self.fresh.control().table(table).and_then(|t| t.clear()).expect("a table of the program");
        }
        for entry in tables::entries(links, state) {
            self.fresh.control().put(&entry).expect("it fits, as it did in the other router");
        }
        for table in LINK_TABLES {
            let entries = |vdp: &VirtualDataPlane| -> BTreeSet<String> {
                let id = vdp.control().table(table).map(|t| t.id()).expect("a table of the program");
                vdp.control()[id].entries().iter().map(|entry| format!("{entry:?}")).collect()
            };
            assert_eq!(entries(&self.running), entries(&self.fresh), "table {table}");
        }
    }
}

fn same_but_for_ia(a: &Links, b: &Links) -> bool {
    let of = |l: &Links| (l.external.clone(), l.siblings.clone(), l.services.clone());
    of(a) == of(b)
}

fn random_link_state(target: Target, round: usize) -> LinkState {
    let number = match target {
        Target::Link(LinkEnd::External(id)) => usize::from(id),
        Target::Link(LinkEnd::Sibling(number)) => usize::from(number) + 1,
        Target::Host(_) => 0,
    };
    match (number * 7 + round) % 3 {
        0 => LinkState::Unresolved,
        n => LinkState::Up(NextHop { port: n as u16, dst_mac: [number as u8; 6], src_mac: [2; 6], mtu: 1500 }),
    }
}

/// Checks that ids are unique, that unchanged links keep theirs, and that nothing else has changed.
fn check_numbers(before: Option<&Links>, links: &Links, numbered: &Links) {
    let indices = numbered.external.iter().map(|e| e.index).chain(numbered.siblings.iter().map(|s| s.index));
    let different: BTreeSet<u16> = indices.clone().collect();
    assert_eq!(different.len(), indices.count(), "a counter for each link");
    assert!(!different.contains(&0), "that of the internal link");
    let numbers: BTreeSet<u16> = numbered.siblings.iter().map(|s| s.number).collect();
    assert_eq!(numbers.len(), numbered.siblings.len(), "a number for each sibling");
    for link in &numbered.external {
        if let Some(same) = before.and_then(|b| b.interface(link.id)) {
            assert_eq!(link.index, same.index);
        }
    }
    for sibling in &numbered.siblings {
        if let Some(same) = before.and_then(|b| b.siblings.iter().find(|s| s.name == sibling.name)) {
            assert_eq!((sibling.index, sibling.number), (same.index, same.number));
        }
    }
    assert_eq!(numbered.clone().numbered_like(numbered), *numbered);
    let without_numbers = |links: &Links| {
        let mut links = links.clone();
        links.external.iter_mut().for_each(|e| e.index = 0);
        links.siblings.iter_mut().for_each(|s| (s.index, s.number) = (0, 0));
        links
    };
    assert_eq!(without_numbers(numbered), without_numbers(links));
}

/// Makes configurations from bytes, followed by zeros.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    fn address(&mut self, v6: bool) -> SocketAddr {
        let (host, port) = (self.next(), 50_000 + u16::from(self.next() % 3));
        match v6 {
            false => SocketAddr::from(([10, 0, 0, host], port)),
            true => SocketAddr::from(([0xfd00, 0, 0, 0, 0, 0, 0, u16::from(host)], port)),
        }
    }

    fn relation(&mut self) -> Relation {
        [Relation::Core, Relation::Parent, Relation::Child, Relation::Peer][usize::from(self.next() % 4)]
    }

    fn interfaces(&mut self, own: bool) -> BTreeMap<u16, Interface> {
        let mut interfaces = BTreeMap::new();
        for _ in 0..self.next() % 8 {
            let id = u16::from(self.next() % 32) + 1;
            let v6 = self.next().is_multiple_of(4);
            let (local, remote) = (self.address(v6).into(), self.address(v6).into());
            let underlay = own.then(|| Ends { provider: String::new(), local, remote });
            let (neighbour, relation) = (IsdAs(0x1_ff00_0000_0000 + u64::from(self.next())), self.relation());
            let mtu = 1400 + u32::from(self.next() % 2);
            interfaces
                .insert(id, Interface { neighbour, relation, mtu, underlay, bfd: LinkBfd::default(), remote_id: None });
        }
        interfaces
    }

    fn topology(&mut self) -> Topology {
        let internal = SocketAddr::from(([10, 1, 0, 1], 30042));
        let own = BorderRouter { internal: internal.into(), interfaces: self.interfaces(true) };
        let mut border_routers = BTreeMap::from([("a".to_string(), own)]);
        for _ in 0..self.next() % 4 {
            let name = format!("b{}", self.next() % 5);
            let internal = self.address(false).into();
            border_routers.insert(name, BorderRouter { internal, interfaces: self.interfaces(false) });
        }
        let mut service = || (0..self.next() % 4).map(|_| self.address(false)).collect();
        Topology {
            file: serde_json::Value::Null,
            ia: IsdAs(0x1_ff00_0000_0001),
            core: false,
            mtu: 1400,
            dispatched_ports: None,
            border_routers,
            control_service: service(),
            discovery_service: service(),
        }
    }
}
