//! What the kernel of the namespace says, in terms of ports and next hops.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use hopwright_host::netlink::{Forwarding, Neighbour, Netlink, Prefix, RouteKind};

use super::next_hops::HopKey;
use crate::program::{Forward, Reached};

/// The ports, by the index of their TAP devices.
#[derive(Debug, Default)]
pub(crate) struct Ports {
    /// Their numbers.
    pub numbers: HashMap<u32, u32>,
    /// Those by which only the kernel may send.
    pub closed: HashSet<u32>,
    /// MTUs for IPv6, where they are others than the devices'.
    pub mtus: HashMap<u32, u32>,
}

/// The kernel's state at one moment.
pub(crate) struct View<'a> {
    pub netlink: &'a Netlink,
    pub ports: &'a Ports,
}

impl View<'_> {
    /// Whether a device is that of a port by which the fast path may send.
    pub(super) fn is_port(&self, device: u32) -> bool {
        self.ports.numbers.contains_key(&device) && !self.ports.closed.contains(&device)
    }

    /// The kernel's route of a prefix.
    pub(super) fn route(&self, prefix: Prefix) -> Option<&Forwarding> {
        self.netlink.routes()?.get(prefix)
    }

    /// Whether the kernel's local table has a prefix.
    pub(super) fn is_own(&self, prefix: Prefix) -> bool {
        self.netlink.routes().is_some_and(|routes| routes.is_local(prefix))
    }

    /// Where packets of a route lead, for who checks that sources are there.
    pub(super) fn reached(&self, forwarding: &Forwarding) -> Reached {
        if forwarding.kind != RouteKind::Unicast {
            return Reached::Nowhere;
        }
        let mut devices = forwarding.next_hops.iter().filter(|hop| !hop.dead).map(|hop| hop.device);
        match (devices.next(), devices.next()) {
            (None, _) => Reached::Nowhere,
            (Some(device), None) => self.ports.numbers.get(&device).map_or(Reached::Somehow, |port| Reached::By(*port)),
            _ => Reached::Somehow,
        }
    }

    /// How a next hop is reached; not at all while its link is down or its link-layer address unknown.
    pub(super) fn forward(&self, key: &HopKey) -> Option<Forward> {
        let port = *self.ports.numbers.get(&key.device)?;
        let device = self.netlink.devices().get(&key.device)?;
        let Some(Neighbour::Known { mac, .. }) = self.netlink.neighbour(key.device, key.address) else { return None };
        if !device.up || !device.running {
            return None;
        }
        let of_ipv6 = self.ports.mtus.get(&key.device).filter(|_| key.ipv6).copied();
        let device_mtu = of_ipv6.unwrap_or(device.mtu).min(device.mtu);
        let mtu = key.mtu.map_or(device_mtu, |mtu| mtu.min(device_mtu));
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
        let mut keys = on_link.map(|hop| HopKey {
            device: hop.device,
            address: prefix.address,
            mtu: network.mtu,
            ipv6: prefix.address.is_ipv6(),
        });
        keys.find(|key| matches!(self.netlink.neighbour(key.device, key.address), Some(Neighbour::Known { .. })))
    }

    /// Addresses of all neighbours on ports.
    pub(crate) fn neighbours(&self) -> impl Iterator<Item = IpAddr> {
        let of_ports = self.netlink.neighbours().filter(|((device, _), _)| self.is_port(*device));
        of_ports.map(|((_, address), _)| address)
    }
}
