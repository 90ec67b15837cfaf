//! What the kernel of the namespace says, in terms of ports and next hops.

use std::collections::HashMap;
use std::net::IpAddr;

use hopwright_host::netlink::{Forwarding, Neighbour, Netlink, Prefix, RouteKind};

use super::next_hops::HopKey;
use crate::program::Forward;

/// The kernel's state at one moment.
pub(crate) struct View<'a> {
    pub netlink: &'a Netlink,
    /// Port numbers by the index of their TAP device.
    pub ports: &'a HashMap<u32, u32>,
}

impl View<'_> {
    /// Whether a device is that of a port.
    pub(super) fn is_port(&self, device: u32) -> bool {
        self.ports.contains_key(&device)
    }

    /// The kernel's route of a prefix.
    pub(super) fn route(&self, prefix: Prefix) -> Option<&Forwarding> {
        self.netlink.routes()?.get(prefix)
    }

    /// How a next hop is reached; not at all while its link is down or its link-layer address unknown.
    pub(super) fn forward(&self, key: &HopKey) -> Option<Forward> {
        let port = *self.ports.get(&key.device)?;
        let device = self.netlink.devices().get(&key.device)?;
        let Some(Neighbour::Known { mac, .. }) = self.netlink.neighbour(key.device, key.address) else { return None };
        if !device.up || !device.running {
            return None;
        }
        let mtu = key.mtu.map_or(device.mtu, |mtu| mtu.min(device.mtu));
        Some(Forward { port, src: device.mac?, dst: mac, mtu: mtu.min(u16::MAX.into()) as u16 })
    }

    /// The next hop of a host's prefix, if the host is a known neighbour on a network of one of the ports.
    pub(super) fn neighbour(&self, prefix: Prefix) -> Option<HopKey> {
        if prefix != Prefix::host(prefix.address) {
            return None;
        }
        let (_, network) = self.netlink.routes()?.lookup(prefix.address)?;
        if network.kind != RouteKind::Unicast {
            return None;
        }
        let on_link = network.next_hops.iter().filter(|hop| hop.gateway.is_none() && self.is_port(hop.device));
        let mut keys = on_link.map(|hop| HopKey { device: hop.device, address: prefix.address, mtu: network.mtu });
        keys.find(|key| matches!(self.netlink.neighbour(key.device, key.address), Some(Neighbour::Known { .. })))
    }

    /// Addresses of all neighbours on ports.
    pub(crate) fn neighbours(&self) -> impl Iterator<Item = IpAddr> {
        let of_ports = self.netlink.neighbours().filter(|((device, _), _)| self.is_port(*device));
        of_ports.map(|((_, address), _)| address)
    }
}
