//! Next-hop resolution for the router's links and for hosts of its AS ([`hopwright_host::next_hop`]).

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::Instant;

use hopwright_host::netlink::Netlink;
use hopwright_host::next_hop;
use hopwright_ports::udp;

use crate::config::links::{LinkEnd, Links, Target};
use crate::control::program::LOCAL_PORT;

pub use hopwright_host::next_hop::NextHop;

/// The next hop of targets that no raw port reaches: the UDP port, whose frames have placeholder Ethernet addresses.
pub const VIA_KERNEL: NextHop =
    NextHop { port: LOCAL_PORT as u16, dst_mac: udp::OTHERS_MAC, src_mac: udp::ROUTER_MAC, mtu: u32::MAX };

/// The next hops of all targets of a router.
pub type Resolver = next_hop::Resolver<LinkEnd>;

/// Returns the other ends of the router's links, each with its address and the router's own address on the link.
pub fn link_ends(links: &Links) -> impl Iterator<Item = (Target, IpAddr, IpAddr)> {
    let external =
        links.external.iter().map(|e| (LinkEnd::External(e.id), e.underlay.remote.ip(), e.underlay.local.ip()));
    let siblings = links.siblings.iter().map(|s| (LinkEnd::Sibling(s.number), s.address.ip(), links.internal.ip()));
    external.chain(siblings).map(|(end, remote, local)| (Target::Link(end), remote, local))
}

/// Adds the links that a resolver does not know yet. Links that only the kernel can use stay unknown: they have the
/// next hop [`VIA_KERNEL`].
pub fn add_links(resolver: &mut Resolver, links: &Links, netlink: &mut Netlink) {
    let now = Instant::now();
    for (target, to, from) in link_ends(links) {
        if links.by_kernel_only(from).is_none() && links.problem(target).is_none() {
            resolver.add(target, to, from, netlink, now);
        }
    }
}

/// Returns the devices that routes to the other ends of links use.
pub fn used_devices(netlink: &mut Netlink, links: &Links) -> BTreeSet<u32> {
    let mut resolver = Resolver::new(HashMap::new(), VIA_KERNEL);
    add_links(&mut resolver, links, netlink);
    resolver.devices()
}
