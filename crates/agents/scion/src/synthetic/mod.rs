//! Synthetic routers and traffic for benchmarks, differential tests and fuzzing: the router and cases of the
//! reference's load generator `brload` ([`Case`]), and a router with all kinds of links ([`rich_links`]) with packets
//! for it ([`Traffic`]).

use std::net::{IpAddr, SocketAddr};
use std::sync::LazyLock;

use hopwright_dataplane::{ControlError, VirtualDataPlane};

use crate::config::keys::HopKey;
use crate::config::links::{External, Links, SERVICE_CONTROL, SERVICE_DISCOVERY, Sibling};
use crate::config::topology::{Relation, Underlay};
use crate::control::tables::{self, LinkState};
use crate::packet::ia::IsdAs;
use crate::packet::{self, Flyover, Frame, Hop, Host, HummingbirdPath, Info, Path, Scion, ScionPath, Segment, Sent};
use crate::underlay::next_hop::NextHop;

mod traffic;

pub use traffic::Traffic;

/// Ethernet address of the router's ports.
pub const ROUTER_MAC: [u8; 6] = [0xf0, 0x0d, 0xca, 0xfe, 0, 1];
/// The Ethernet address of all other hosts.
pub const OTHER_MAC: [u8; 6] = [0xf0, 0x0d, 0xca, 0xfe, 0xbe, 0xef];
/// The port towards the inside of the AS. Links to other ASes use the number of their interface as port.
pub const INTERNAL_PORT: u16 = 100;

const LOCAL: IsdAs = IsdAs(0x0001_ff00_0000_0001);

/// The AS's master key.
const MASTER: &[u8] = b"a key for tests and benchmarks only";

/// The AS's key.
pub fn key() -> HopKey {
    static KEY: LazyLock<HopKey> = LazyLock::new(|| HopKey::derive(MASTER));
    KEY.clone()
}

/// The AS's secret value for reservations.
pub fn secret_value() -> HopKey {
    static KEY: LazyLock<HopKey> = LazyLock::new(|| HopKey::derive_secret_value(MASTER));
    KEY.clone()
}

fn address(text: &str) -> SocketAddr {
    text.parse().expect("a literal address")
}

fn external(id: u16, neighbour: u64, relation: Relation, local: &str, remote: &str) -> External {
    let underlay = Underlay { local: address(local), remote: address(remote) };
    External {
        id,
        index: 0,
        neighbour: IsdAs(0x0001_ff00_0000_0000 | neighbour),
        relation,
        underlay,
        mtu: 1472,
        bfd: Default::default(),
        problem: None,
    }
}

fn sibling(number: u16, name: &str, internal: SocketAddr, interfaces: &[(u16, Relation)]) -> Sibling {
    Sibling { name: name.into(), number, index: 0, address: internal, interfaces: interfaces.to_vec(), problem: None }
}

fn numbered(mut links: Links) -> Links {
    let externals = links.external.iter_mut().map(|e| &mut e.index);
    let siblings = links.siblings.iter_mut().map(|s| &mut s.index);
    for (number, index) in (1..).zip(externals.chain(siblings)) {
        *index = number;
    }
    links
}

/// Programs a router with all next hops known: each link has its own port, and everything inside the AS uses
/// [`INTERNAL_PORT`]. `hosts` are the hosts of the AS with entries.
pub fn program(vdp: &VirtualDataPlane, links: &Links, hosts: &[IpAddr]) -> Result<(), ControlError> {
    tables::program(vdp, links, &key())?;
    let next_hop = |port| NextHop { port, dst_mac: OTHER_MAC, src_mac: ROUTER_MAC, mtu: 1500 };
    for link in &links.external {
        let up = match link.id {
            DOWN => LinkState::Down(None),
            UNRESOLVED => LinkState::Unresolved,
            id => LinkState::Up(next_hop(id)),
        };
        vdp.control().put(&tables::external(link, up))?;
    }
    for sibling in &links.siblings {
        for entry in tables::sibling_entries(links.internal, sibling, LinkState::Up(next_hop(INTERNAL_PORT))) {
            vdp.control().put(&entry)?;
        }
    }
    for host in hosts {
        vdp.control().put(&tables::host(*host, next_hop(INTERNAL_PORT)))?;
    }
    Ok(())
}

/// Interfaces of [`rich_links`] that are down and unresolved.
pub const DOWN: u16 = 98;
/// See [`DOWN`].
pub const UNRESOLVED: u16 = 99;

/// Returns a router with links of every type, over IPv4 and IPv6, and two siblings. `v6` selects the AS's own underlay.
pub fn rich_links(v6: bool) -> Links {
    let inside = |last: u16| -> SocketAddr {
        address(&if v6 { format!("[fd00::{last:x}]:30042") } else { format!("10.0.0.{last}:30042") })
    };
    let service = |last: u16| SocketAddr::new(inside(last).ip(), 30252);
    numbered(Links {
        ia: LOCAL,
        arrivals: Default::default(),
        zones: Default::default(),
        internal_problem: None,
        internal: inside(1),
        external: vec![
            external(1, 0x101, Relation::Core, "10.1.0.1:50000", "10.1.0.2:50000"),
            external(2, 0x102, Relation::Child, "10.2.0.1:50000", "10.2.0.2:50001"),
            external(3, 0x103, Relation::Child, "[fd00:3::1]:50000", "[fd00:3::2]:50000"),
            external(4, 0x104, Relation::Parent, "10.4.0.1:50000", "10.4.0.2:50000"),
            external(5, 0x105, Relation::Peer, "10.5.0.1:50000", "10.5.0.2:50000"),
            external(8, 0x108, Relation::Parent, "[fd00:8::1]:50000", "[fd00:8::2]:50000"),
            external(DOWN, 0x198, Relation::Child, "10.98.0.1:50000", "10.98.0.2:50000"),
            external(UNRESOLVED, 0x199, Relation::Child, "10.99.0.1:50000", "10.99.0.2:50000"),
        ],
        siblings: vec![
            sibling(
                1,
                "b",
                inside(2),
                &[(11, Relation::Core), (12, Relation::Child), (13, Relation::Parent), (14, Relation::Peer)],
            ),
            sibling(2, "c", inside(3), &[(21, Relation::Child), (22, Relation::Parent)]),
        ],
        services: vec![(SERVICE_CONTROL, vec![service(0x71), service(0x72)]), (SERVICE_DISCOVERY, vec![])],
    })
}

/// The hosts of the rich router's AS that have entries.
pub fn rich_hosts(v6: bool) -> Vec<IpAddr> {
    let host = |last: u16| if v6 { format!("fd00::{last:x}") } else { format!("10.0.0.{last}") };
    [0x51, 0x61, 0x71, 0x72].map(|last| host(last).parse().expect("a literal address")).to_vec()
}

/// Returns the router that `brload` tests: interfaces 2 and 3 to child ASes, and a sibling with interface 4 to another
/// core AS.
pub fn brload_links() -> Links {
    numbered(Links {
        ia: LOCAL,
        arrivals: Default::default(),
        zones: Default::default(),
        internal_problem: None,
        internal: address("10.123.10.1:30042"),
        external: vec![
            external(2, 2, Relation::Child, "10.123.2.1:50000", "10.123.2.2:50000"),
            external(3, 3, Relation::Child, "10.123.3.1:50000", "10.123.3.3:50000"),
        ],
        siblings: vec![sibling(1, "br1b", address("10.123.10.2:30042"), &[(4, Relation::Core)])],
        services: vec![(SERVICE_CONTROL, vec![]), (SERVICE_DISCOVERY, vec![])],
    })
}

/// Hosts of the AS of [`brload_links`].
pub fn brload_hosts() -> Vec<IpAddr> {
    vec![address("10.123.10.2:1").ip()]
}

/// A kind of traffic with `brload`'s name: its path through the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// `in`, `out`, `in_transit`, `out_transit`, `br_transit`.
    pub name: &'static str,
    /// The ingress port.
    pub ingress_port: u16,
    /// The expected egress port.
    pub egress_port: u16,
    /// The number of hop fields in a packet.
    pub hops: u32,
    /// The number of MACs that the router must check.
    pub macs: u32,
    /// Whether the path is one of type Hummingbird, with a reservation at the current hop.
    pub reserved: bool,
}

/// A case with a path of type SCION.
const fn case(name: &'static str, (ingress_port, egress_port): (u16, u16), hops: u32, macs: u32) -> Case {
    Case { name, ingress_port, egress_port, hops, macs, reserved: false }
}

/// All cases.
pub const CASES: [Case; 5] = [
    case("in", (2, INTERNAL_PORT), 2, 1),
    case("out", (INTERNAL_PORT, 2), 2, 1),
    case("in_transit", (2, INTERNAL_PORT), 4, 2),
    case("out_transit", (INTERNAL_PORT, 2), 4, 1),
    case("br_transit", (2, 3), 4, 2),
];

impl Case {
    /// Returns a frame of `bytes` bytes of one flow, signed at `now_s` (seconds since 1970) for six hours. Hop fields
    /// beyond those of the case belong to other ASes, at the beginning of the path, or at its end for packets from this
    /// AS. Returns `None` if there is no such frame: the headers are longer, or the number of hop fields is too small
    /// or too large.
    pub fn frame(&self, bytes: usize, flow: u32, now_s: u32) -> Option<Vec<u8>> {
        let info = |cons_dir, seg_id| Info { peering: false, cons_dir, seg_id, timestamp: now_s };
        let segment = |cons_dir, seg_id, hops: [Hop; 2]| Segment { info: info(cons_dir, seg_id), hops: hops.into() };
        // Hops of other ASes, whose MACs the program does not check.
        let there = Hop { mac: [0xa5; 6], ..Hop::new(1, 0) };
        let (outside, inside) = (address("10.123.2.2:50000"), address("10.123.10.2:30042"));
        let (src, dst) = match self.name {
            "in" | "in_transit" | "br_transit" => (outside, address("10.123.2.1:50000")),
            _ => (inside, address("10.123.10.1:30042")),
        };
        let ia = |number: u64| IsdAs(0x0001_ff00_0000_0000 | number);
        let (src_ia, dst_ia, mut path) = match self.name {
            "in" => (ia(2), LOCAL, ScionPath::at(1, vec![segment(false, 1, [there, Hop::new(0, 2)])])),
            "out" => (LOCAL, ia(2), ScionPath::at(0, vec![segment(true, 1, [Hop::new(0, 2), there])])),
            "in_transit" => {
                let up = segment(false, 1, [there, Hop::new(0, 2)]);
                (ia(2), ia(4), ScionPath::at(1, vec![up, segment(true, 2, [Hop::new(0, 4), there])]))
            }
            "out_transit" => {
                let core = segment(false, 1, [there, Hop::new(0, 4)]);
                (ia(4), ia(2), ScionPath::at(2, vec![core, segment(true, 2, [Hop::new(0, 2), there])]))
            }
            _ => {
                let up = segment(false, 1, [there, Hop::new(0, 2)]);
                (ia(2), ia(3), ScionPath::at(1, vec![up, segment(true, 2, [Hop::new(0, 3), there])]))
            }
        };
        let needed = path.segments.iter().map(|s| s.hops.len()).sum::<usize>();
        let more = (self.hops as usize).checked_sub(needed)?;
        let (first, at) = if path.curr_hf == 0 { (path.segments.len() - 1, 2) } else { (0, 0) };
        let segment = &mut path.segments[first].hops;
        if segment.len() + more > 63 {
            return None;
        }
        segment.splice(at..at, std::iter::repeat_n(there, more));
        path.curr_hf += if at == 0 { more as u8 } else { 0 };
        path.sign(key().bytes(), src == outside);
        let mut path = Path::Scion(path);
        if self.reserved {
            path = reserved(path, flow, now_s, dst_ia, bytes.checked_sub(42)?)?;
        }
        let host = |ia: IsdAs| if ia == LOCAL { inside.ip() } else { address("10.1.2.3:1").ip() };
        let mut frame = Frame {
            dst_mac: ROUTER_MAC,
            src_mac: OTHER_MAC,
            src,
            dst,
            ttl: 64,
            tos: 0,
            udp_checksum: true,
            scion: Scion {
                traffic_class: 0xb8,
                flow_id: flow,
                dst_ia,
                src_ia,
                dst: Host::Ip(host(dst_ia)),
                src: Host::Ip(host(src_ia)),
                path,
                extensions: Vec::new(),
                next_hdr: packet::UDP,
                payload: packet::udp_payload(50000, 50000, &[]),
                extra_words: 0,
            },
        };
        let more = bytes.checked_sub(frame.pack().len())?;
        frame.scion.payload = packet::udp_payload(50000, 50000, &vec![0; more]);
        Some(frame.pack())
    }
}

/// The path with a reservation at its current hop, for a packet of `bytes` bytes.
fn reserved(path: Path, flow: u32, now_s: u32, dst_ia: IsdAs, bytes: usize) -> Option<Path> {
    let Path::Scion(path) = path else { return None };
    let sent = Sent { base_timestamp: now_s, millis_and_counter: flow };
    let flyover = Flyover { res_id: flow, bandwidth: 0x3ff, start_offset: 100, duration: 3600 };
    let mut flyovers = vec![None; path.curr_hf.into()];
    flyovers.push(Some(flyover));
    let mut path = HummingbirdPath { sent, path, flyovers };
    path.aggregate(secret_value().bytes(), dst_ia, bytes.try_into().ok()?);
    Some(Path::Hummingbird(path))
}
