//! What the kernel of the namespace says, in terms of interfaces and next hops.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::IpAddr;

use hopwright_host::netlink::{Forwarding, Neighbour, Netlink, Prefix, RouteKind};

use super::next_hops::HopKey;
use crate::policy::RoutingTable;
use crate::program::{Forward, Interface, Reached};

/// Destinations of a table.
pub(crate) type Destination = (RoutingTable, Prefix);

/// The interfaces, by the index of their devices in the namespace.
#[derive(Debug, Default)]
pub(crate) struct Interfaces {
    pub by_device: HashMap<u32, Interface>,
    /// Those by which only the kernel may send.
    pub closed: HashSet<u32>,
    /// MTUs for IPv6, where they are others than the devices'.
    pub mtus: HashMap<u32, u32>,
    /// The tables of VRFs that interfaces belong to.
    pub vrf_tables: BTreeSet<u32>,
}

impl Interfaces {
    /// Whether routes may lead by other interfaces than with these, or there are other tables.
    pub(crate) fn lead_elsewhere_than(&self, before: &Interfaces) -> bool {
        (&self.by_device, &self.closed, &self.vrf_tables) != (&before.by_device, &before.closed, &before.vrf_tables)
    }
}

/// The kernel's state at one moment.
pub(crate) struct View<'a> {
    pub netlink: &'a Netlink,
    pub interfaces: &'a Interfaces,
}

impl View<'_> {
    /// The interface of a device, if the fast path may send by it.
    pub(super) fn interface(&self, device: u32) -> Option<Interface> {
        let interface = self.interfaces.by_device.get(&device).copied();
        interface.filter(|_| !self.interfaces.closed.contains(&device))
    }

    /// All tables.
    pub(crate) fn tables(&self) -> impl Iterator<Item = RoutingTable> {
        [RoutingTable::Main].into_iter().chain(self.interfaces.vrf_tables.iter().map(|table| RoutingTable::Vrf(*table)))
    }

    /// All destinations that have routes.
    pub(crate) fn destinations(&self) -> impl Iterator<Item = Destination> {
        let main = self.netlink.routes().into_iter().flat_map(|routes| routes.prefixes());
        let of_table =
            |table: &u32| self.table(*table).map(|(prefix, _)| (RoutingTable::Vrf(*table), prefix)).collect::<Vec<_>>();
        main.map(|prefix| (RoutingTable::Main, prefix)).chain(self.interfaces.vrf_tables.iter().flat_map(of_table))
    }

    /// A prefix in all tables.
    pub(crate) fn in_all_tables(&self, prefix: Prefix) -> impl Iterator<Item = Destination> {
        self.tables().map(move |table| (table, prefix))
    }

    /// The kernel's route to a destination.
    pub(super) fn route(&self, (table, prefix): Destination) -> Option<&Forwarding> {
        let routes = self.netlink.routes()?;
        match table {
            RoutingTable::Main => routes.get(prefix),
            RoutingTable::Vrf(table) if self.interfaces.vrf_tables.contains(&table) => routes.get_in(table, prefix),
            RoutingTable::Vrf(_) => None,
        }
    }

    /// The routes of a table that is neither the main nor the local one.
    pub(super) fn table(&self, table: u32) -> impl Iterator<Item = (Prefix, &Forwarding)> {
        self.netlink.routes().into_iter().flat_map(move |routes| routes.of_table(table))
    }

    /// How many prefixes such a table has.
    pub(super) fn table_size(&self, table: u32) -> usize {
        self.netlink.routes().map_or(0, |routes| routes.size_of_table(table))
    }

    /// Whether a prefix is the router's own: of the local table, or of a VRF.
    pub(super) fn is_own(&self, prefix: Prefix) -> bool {
        let Some(routes) = self.netlink.routes() else { return false };
        let of_vrf = |table: &u32| routes.get_in(*table, prefix).is_some_and(|route| route.kind == RouteKind::Local);
        routes.is_local(prefix) || self.interfaces.vrf_tables.iter().any(of_vrf)
    }

    /// Where packets of a route lead, for who checks that sources are there.
    pub(super) fn reached(&self, forwarding: &Forwarding) -> Reached {
        if forwarding.kind != RouteKind::Unicast {
            return Reached::Nowhere;
        }
        let mut devices = forwarding.next_hops.iter().filter(|hop| !hop.dead).map(|hop| hop.device);
        match (devices.next(), devices.next()) {
            (None, _) => Reached::Nowhere,
            (Some(device), None) => {
                let interface = self.interfaces.by_device.get(&device);
                interface.map_or(Reached::Somehow, |interface| Reached::By(*interface))
            }
            _ => Reached::Somehow,
        }
    }

    /// How a next hop is reached; not at all while its link is down or its link-layer address unknown.
    pub(super) fn forward(&self, key: &HopKey) -> Option<Forward> {
        let interface = *self.interfaces.by_device.get(&key.device)?;
        let device = self.netlink.devices().get(&key.device)?;
        let Some(Neighbour::Known { mac, .. }) = self.netlink.neighbour(key.device, key.address) else { return None };
        if !device.up || !device.running {
            return None;
        }
        let of_ipv6 = self.interfaces.mtus.get(&key.device).filter(|_| key.ipv6).copied();
        let device_mtu = of_ipv6.unwrap_or(device.mtu).min(device.mtu);
        let mtu = key.mtu.map_or(device_mtu, |mtu| mtu.min(device_mtu));
        Some(Forward { interface, src: device.mac?, dst: mac, mtu: mtu.min(u16::MAX.into()) as u16 })
    }

    /// The next hop of a host's prefix, if the host is a known neighbour on a network of one of the interfaces.
    pub(super) fn neighbour(&self, (table, prefix): Destination) -> Option<HopKey> {
        if prefix != Prefix::host(prefix.address) {
            return None;
        }
        let routes = self.netlink.routes()?;
        let (_, network) = match table {
            RoutingTable::Main => routes.lookup(prefix.address)?,
            RoutingTable::Vrf(table) if self.interfaces.vrf_tables.contains(&table) => {
                routes.lookup_in(table, prefix.address)?
            }
            RoutingTable::Vrf(_) => return None,
        };
        if network.kind != RouteKind::Unicast {
            return None;
        }
        let on_link = network.next_hops.iter().filter(|hop| hop.gateway.is_none());
        let mut keys = on_link.filter_map(|hop| {
            let port = self.interface(hop.device)?.port;
            let (address, ipv6) = (prefix.address, prefix.address.is_ipv6());
            Some(HopKey { device: hop.device, port, address, mtu: network.mtu, ipv6 })
        });
        keys.find(|key| matches!(self.netlink.neighbour(key.device, key.address), Some(Neighbour::Known { .. })))
    }

    /// Addresses of all neighbours on interfaces.
    pub(crate) fn neighbours(&self) -> impl Iterator<Item = IpAddr> {
        let of_ports = self.netlink.neighbours().filter(|((device, _), _)| self.interface(*device).is_some());
        of_ports.map(|((_, address), _)| address)
    }
}
