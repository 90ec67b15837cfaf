//! The entries of the program's tables: keys and action data, computed from links and next hops.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

use hopwright_dataplane::{ControlError, Difference, EntrySpec, VirtualDataPlane};
use num_bigint::BigUint;

use crate::config::keys::HopKey;
use crate::config::links::{External, INTERNAL_INDEX, LinkEnd, Links, Sibling, Target};
use crate::config::topology::{Relation, Underlay};
use crate::control::layout;
use crate::control::program::{self, LOCAL_PORT, LinkScope, action, object, table};
use crate::underlay::next_hop::NextHop;

/// The number of buckets into which the program hashes the users of a service.
const SERVICE_BUCKETS: u16 = 64;

/// Whether a link can be used; `LinkState` in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// The link can be used, with this next hop.
    Up(NextHop),
    /// The other end does not answer. Beacons are still sent, if the next hop is known.
    Down(Option<NextHop>),
    /// The next hop's link-layer address is unknown.
    Unresolved,
}

impl fmt::Display for LinkState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkState::Up(next_hop) => write!(f, "up, by {}", Shown(next_hop)),
            LinkState::Down(Some(next_hop)) => write!(f, "down, by {}", Shown(next_hop)),
            LinkState::Down(None) => f.write_str("down"),
            LinkState::Unresolved => f.write_str("unresolved"),
        }
    }
}

/// A next hop to which nothing is sent.
const NOWHERE: NextHop = NextHop { port: 0, dst_mac: [0; 6], src_mac: [0; 6], mtu: 0 };

/// Formats a next hop for the log.
struct Shown<'a>(&'a NextHop);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if u32::from(self.0.port) == LOCAL_PORT { f.write_str("UDP sockets") } else { self.0.fmt(f) }
    }
}

/// The tables whose entries follow from the links; [`entries`] returns these.
pub const LINK_TABLES: [&str; 6] = [
    table::NEIGHBOURS,
    table::SIBLING_INTERFACES,
    table::SERVICES,
    table::INTERFACES,
    table::LINKS_IPV4,
    table::LINKS_IPV6,
];

/// The tables of hosts with a next hop of their own.
const HOST_TABLES: [&str; 2] = [table::HOSTS_IPV4, table::HOSTS_IPV6];

/// Sets the next hop of packets to hosts without an entry.
pub fn set_default_host(vdp: &VirtualDataPlane, next_hop: NextHop) -> Result<(), ControlError> {
    let args: [BigUint; 4] =
        [next_hop.port.into(), mac(next_hop.dst_mac).into(), mac(next_hop.src_mac).into(), INTERNAL_INDEX.into()];
    HOST_TABLES.iter().try_for_each(|name| vdp.control().set_default(name, action::NEXT_HOP, &args))
}

/// Removes the entries of all hosts.
pub fn forget_hosts(vdp: &VirtualDataPlane) -> Result<(), ControlError> {
    HOST_TABLES.iter().try_for_each(|name| vdp.control().table(name).and_then(|t| t.clear()))
}

/// Programs everything that does not depend on next hops: the router's identity, its key, the underlay sources of
/// links, and services. Links are unresolved. Entries of other links are removed.
pub fn program(vdp: &VirtualDataPlane, links: &Links, key: &HopKey) -> Result<(), ControlError> {
    let keys = vdp.control().key_table(object::HOP_KEY)?;
    keys.set_key(0, key.bytes()).map_err(|error| error.of(object::HOP_KEY))?;
    let wanted = entries(links, |_| LinkState::Unresolved);
    Difference::between(vdp.control(), &LINK_TABLES, &wanted)?.apply(vdp.control())?;
    set_clock(vdp, links, hopwright_dataplane::wall_clock_us())
}

/// The object with the secret value for reservations, of a program with path type Hummingbird.
const SECRET_VALUE: &str = "flyover_secret";

/// The counter of Hummingbird packets by link and outcome, and the names of the outcomes, in the order of the program's `Flyover`.
pub(crate) const FLYOVERS: &str = "flyovers";
/// See [`FLYOVERS`].
pub(crate) const FLYOVER_OUTCOMES: [&str; 6] = ["none", "priority", "not_valid", "not_fresh", "over_rate", "no_bucket"];
/// The cells of [`FLYOVERS`] for a link.
pub(crate) const FLYOVER_CELLS: u64 = 8;

/// Whether a program has path type Hummingbird.
pub fn has_hummingbird(vdp: &VirtualDataPlane) -> bool {
    vdp.pipeline().extern_by_name(SECRET_VALUE).is_some()
}

/// Sets the AS's secret value for reservations. The program must have path type Hummingbird.
pub fn set_secret_value(vdp: &VirtualDataPlane, secret_value: &HopKey) -> Result<(), ControlError> {
    let done = vdp.control().key_table(SECRET_VALUE)?.set_key(0, secret_value.bytes());
    done.map_err(|error| error.of(SECRET_VALUE))
}

/// Programs the router's identity and its links over the current entries.
pub fn program_links(
    vdp: &VirtualDataPlane,
    links: &Links,
    state: impl Fn(Target) -> LinkState,
) -> Result<(), ControlError> {
    for entry in entries(links, state) {
        vdp.control().put(&entry)?;
    }
    set_clock(vdp, links, hopwright_dataplane::wall_clock_us())
}

/// Returns all entries that follow from the links. Each comes after those that it refers to.
pub fn entries(links: &Links, state: impl Fn(Target) -> LinkState) -> Vec<EntrySpec> {
    let mut entries = Vec::new();
    for link in &links.external {
        entries.push(EntrySpec::new(table::NEIGHBOURS, action::IS_AT).exact(link.id).arg(link.neighbour.0));
    }
    for sibling in &links.siblings {
        for (id, _) in &sibling.interfaces {
            entries.push(EntrySpec::new(table::SIBLING_INTERFACES, action::NO_ACTION).exact(sibling.number).exact(*id));
        }
    }
    for (service, instances) in &links.services {
        entries.extend(service_entries(*service, instances));
    }
    for link in &links.external {
        entries.push(external(link, state(Target::Link(LinkEnd::External(link.id)))));
    }
    for sibling in &links.siblings {
        entries.extend(sibling_entries(links.internal, sibling, state(Target::Link(LinkEnd::Sibling(sibling.number)))));
    }
    for link in &links.external {
        let arrival = arrival(links, link.underlay.local.ip());
        let entry = source(link.underlay, action::EXTERNAL).arg(link.id).arg(link.relation as u8);
        entries.push(entry.arg(link.index).arg(arrival));
    }
    for sibling in &links.siblings {
        let underlay = Underlay { local: links.internal, remote: sibling.address };
        entries.push(source(underlay, action::SIBLING).arg(sibling.number).arg(sibling.index));
    }
    entries
}

/// Returns the port through which packets to a local address must arrive; 0 for any.
fn arrival(links: &Links, address: IpAddr) -> u16 {
    links.arrivals.get(&address).copied().unwrap_or(0)
}

/// How far the clock of a pipe may be behind when it is set: an hour.
const CLOCK_MARGIN_US: u64 = 3_600_000_000;

/// Sets the router's identity and clock. Must be repeated whenever the clock's upper bits change: the program's own
/// clock has only 48 bits of microseconds since 1970, about nine years, or in pipes 48 bits of nanoseconds, about three days.
pub fn set_clock(vdp: &VirtualDataPlane, links: &Links, now_us: u64) -> Result<(), ControlError> {
    let internal = links.internal;
    let offset = now_us >> 48 << 48;
    let name = if internal.is_ipv4() { action::ROUTER_IPV4 } else { action::ROUTER_IPV6 };
    let arrival = arrival(links, internal.ip());
    let args: [BigUint; 5] =
        [links.ia.0.into(), offset.into(), address(internal.ip()), internal.port().into(), arrival.into()];
    vdp.control().set_default(table::ROUTER, name, &args)?;
    if vdp.control().table(layout::CLOCK).is_ok() {
        // Of 48 bits each. Packets in flight have an earlier time than now, and must not have an earlier one than this.
        let low = |time: u64| BigUint::from(time << 16 >> 16);
        let since = now_us.saturating_sub(CLOCK_MARGIN_US);
        let args = [low(since.wrapping_mul(1000)), low(since)];
        vdp.control().set_default(layout::CLOCK, layout::SINCE, &args)?;
    }
    Ok(())
}

/// Sets which ports of hosts packets are delivered to; packets to others go to the dispatcher's. `None`: all. An empty
/// range has its end in front of its start. A program in pipes delivers to all ports, and knows no others.
pub fn set_dispatched_ports(vdp: &VirtualDataPlane, ports: Option<RangeInclusive<u16>>) -> Result<(), ControlError> {
    if vdp.control().table(table::DISPATCHED_PORTS).is_err() {
        return Ok(());
    }
    match ports {
        Some(ports) => {
            let args: [BigUint; 2] = [(*ports.start()).into(), (*ports.end()).into()];
            vdp.control().set_default(table::DISPATCHED_PORTS, action::HOST_PORTS, &args)
        }
        None => vdp.control().set_default(table::DISPATCHED_PORTS, action::NO_ACTION, &[]),
    }
}

/// The entry of a link to another AS.
pub fn external(link: &External, state: LinkState) -> EntrySpec {
    interface(link.id, LinkScope::External, link.relation, link.mtu, link.index, link.underlay, state)
}

/// The entries of all interfaces of a sibling router.
pub fn sibling_entries(internal: SocketAddr, sibling: &Sibling, state: LinkState) -> impl Iterator<Item = EntrySpec> {
    let underlay = Underlay { local: internal, remote: sibling.address };
    sibling
        .interfaces
        .iter()
        .map(move |(id, relation)| interface(*id, LinkScope::Sibling, *relation, 0, sibling.index, underlay, state))
}

/// The entry of a host of this AS.
pub fn host(host: IpAddr, next_hop: NextHop) -> EntrySpec {
    let name = if host.is_ipv4() { table::HOSTS_IPV4 } else { table::HOSTS_IPV6 };
    EntrySpec::new(name, action::NEXT_HOP)
        .exact(address(host))
        .arg(next_hop.port)
        .arg(mac(next_hop.dst_mac))
        .arg(mac(next_hop.src_mac))
        .arg(INTERNAL_INDEX)
}

/// The key of [`host`]'s entry, to delete it.
pub fn no_host(host: IpAddr) -> EntrySpec {
    self::host(host, NOWHERE)
}

/// Returns the entry that identifies packets of a link, without the action's arguments.
fn source(underlay: Underlay, action_name: &str) -> EntrySpec {
    let name = if underlay.local.is_ipv4() { table::LINKS_IPV4 } else { table::LINKS_IPV6 };
    EntrySpec::new(name, action_name)
        .exact(address(underlay.remote.ip()))
        .exact(address(underlay.local.ip()))
        .exact(underlay.remote.port())
        .exact(underlay.local.port())
}

fn interface(
    id: u16,
    scope: LinkScope,
    relation: Relation,
    mtu: u32,
    index: u16,
    underlay: Underlay,
    state: LinkState,
) -> EntrySpec {
    let (status, next_hop) = match state {
        LinkState::Up(next_hop) => (program::LinkState::Up, next_hop),
        LinkState::Down(next_hop) => (program::LinkState::Down, next_hop.unwrap_or(NOWHERE)),
        LinkState::Unresolved => (program::LinkState::Unresolved, NOWHERE),
    };
    EntrySpec::new(table::INTERFACES, if underlay.local.is_ipv4() { action::OVER_IPV4 } else { action::OVER_IPV6 })
        .exact(id)
        .arg(scope as u8)
        .arg(relation as u8)
        .arg(status as u8)
        .arg(udp_limit(mtu, next_hop.mtu, underlay.local.is_ipv4()))
        .arg(index)
        .arg(next_hop.port)
        .arg(mac(next_hop.dst_mac))
        .arg(mac(next_hop.src_mac))
        .arg(address(underlay.local.ip()))
        .arg(address(underlay.remote.ip()))
        .arg(underlay.local.port())
        .arg(underlay.remote.port())
}

/// Returns the maximum length of a UDP datagram that may leave through a link. A link accepts packets up to its MTU in
/// bytes of SCION packet (0: of any length), which the underlay may have to fragment. It also accepts longer packets
/// that its device can carry without fragmentation, because the reference router ignores the MTU, and hosts rely on
/// that.
fn udp_limit(link_mtu: u32, device_mtu: u32, over_ipv4: bool) -> u16 {
    let whole = device_mtu.saturating_sub(if over_ipv4 { 20 } else { 40 });
    let limit = if link_mtu == 0 { u32::MAX } else { link_mtu.saturating_add(8).max(whole) };
    limit.try_into().unwrap_or(u16::MAX)
}

/// Distributes a service's instances evenly over the buckets. No entries if there are no instances.
fn service_entries(service: u16, instances: &[SocketAddr]) -> impl Iterator<Item = EntrySpec> {
    (0..SERVICE_BUCKETS).zip(instances.iter().cycle()).map(move |(bucket, instance)| {
        EntrySpec::new(table::SERVICES, if instance.is_ipv4() { action::INSTANCE_IPV4 } else { action::INSTANCE_IPV6 })
            .exact(service)
            .exact(bucket)
            .arg(address(instance.ip()))
            .arg(instance.port())
    })
}

fn address(ip: IpAddr) -> BigUint {
    match ip {
        IpAddr::V4(ip) => ip.to_bits().into(),
        IpAddr::V6(ip) => ip.to_bits().into(),
    }
}

fn mac(mac: [u8; 6]) -> u64 {
    mac.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_up_to_the_links_mtu_or_what_the_device_carries() {
        // Shorter than what the device carries, longer, not given; over IPv6; by the UDP port.
        assert_eq!(udp_limit(1280, 1500, true), 1480);
        assert_eq!(udp_limit(9000, 1500, true), 9008);
        assert_eq!(udp_limit(0, 1500, true), u16::MAX);
        assert_eq!(udp_limit(1280, 1500, false), 1460);
        assert_eq!(udp_limit(1280, u32::MAX, false), u16::MAX);
        assert_eq!(udp_limit(1280, 0, true), 1288);
    }

    #[test]
    fn link_states_are_readable() {
        let next_hop = NextHop { port: 3, dst_mac: [2, 0, 0, 0xab, 0, 1], src_mac: [2; 6], mtu: 1500 };
        assert_eq!(LinkState::Up(next_hop).to_string(), "up, by port 3 to 02:00:00:ab:00:01");
        assert_eq!(LinkState::Down(Some(next_hop)).to_string(), "down, by port 3 to 02:00:00:ab:00:01");
        assert_eq!(LinkState::Down(None).to_string(), "down");
        assert_eq!(LinkState::Unresolved.to_string(), "unresolved");
    }
}
