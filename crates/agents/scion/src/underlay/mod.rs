//! The router's use of the host's network: UDP sockets on its addresses, and raw ports on suitable devices. Both change
//! while the router runs.
//!
//! Each address of the router has a UDP socket. All sockets together are one port of the switch ([`LOCAL_PORT`]), which
//! receives and sends whatever the raw ports do not.

mod error;
mod flow;
pub mod hand_over;
mod link_ports;
mod missing;
pub mod next_hop;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hopwright_dataplane::{Pool, Port};
use hopwright_host::metrics::CounterFamily;
use hopwright_host::netlink::{Device, Netlink};
use hopwright_host::next_hop::DevicePort;
use hopwright_ports::udp::{RawDevice, Takes};
use hopwright_ports::{FrameMatch, Opened, Opener, Pattern, UdpSockets, Wanted, XdpOptions};

use crate::config::Queues;
use crate::config::layout::Layout;
use crate::config::links::Links;
use crate::config::topology::unusable_local;
use crate::control::program::LOCAL_PORT;
use crate::packet;
use crate::setup::Setup;
pub use error::UnderlayError;
use link_ports::link_ports;
pub use link_ports::{Carrier, Foreign, LinkPorts, survey};
use next_hop::{Resolver, used_devices};

/// A new port of the switch: its number, and one instance of the port for each worker.
pub type NewPort = (u32, Vec<Box<dyn Port>>);

/// How long until addresses that this machine does not have are looked for again, if no device changes before.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// The number of devices that can be added at run time before packet buffers become scarce.
const SPARE_DEVICES: usize = 2;
/// The range of device MTUs that packet buffers are sized for. Devices with a larger MTU use the UDP port, as far as
/// packets fit.
const MTU_RANGE: (u32, u32) = (1500, 9216);
/// The length of IPv6 and UDP headers in bytes.
const HEADERS: u32 = 48;
/// The back end of a port that the switch has opened.
const SWITCH_PORT: &str = "switch port";
/// Kinds of device that cannot have a raw port: those that share their frames with another device, and those that carry
/// no packets.
const NOT_RAW: [&str; 7] = ["macvlan", "macvtap", "ipvlan", "ipvtap", "ifb", "nlmon", "vrf"];
/// Kinds of device that take over the frames of their members.
const TAKES_FRAMES: [&str; 4] = ["bridge", "bond", "team", "openvswitch"];

/// The sockets and raw ports in use.
#[derive(Debug)]
pub struct Underlay {
    raw: RawPorts,
    sockets: UdpSockets,
    pools: Vec<Pool>,
    /// Devices with a raw port, by interface index.
    devices: BTreeMap<u32, Open>,
    /// Devices that could not be opened: their state at that time, and the reason.
    refused: BTreeMap<u32, (Device, String)>,
    /// The devices through which packets to these addresses must arrive.
    arrivals: Vec<(IpAddr, Vec<u32>)>,
    /// The argument `used` of the last call of [`Underlay::follow`].
    used: BTreeSet<u32>,
    /// Port numbers by device name. A device that is removed and comes back gets the same number.
    numbers: HashMap<String, u32>,
    /// The largest device MTU whose packets fit a packet buffer.
    longest_mtu: u32,
    workers: usize,
    /// Which numbers ports may have.
    layout: Layout,
    /// Egress queues by device.
    queues: BTreeMap<String, Queues>,
    /// Addresses of the router that this machine does not have, and when to look for them again.
    missing: BTreeSet<SocketAddr>,
    look_again: Instant,
}

/// Who opens raw ports.
#[derive(Debug)]
enum RawPorts {
    /// The underlay.
    Own(Arc<Opener>),
    /// The switch that the router is a tenant of. The tenant's port numbers by the names of devices.
    OfSwitch(BTreeMap<String, u32>),
}

/// A device with a raw port.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Open {
    name: String,
    number: u32,
    mac: [u8; 6],
    mtu: u32,
    /// The back end: `AF_XDP`, `AF_PACKET` or [`SWITCH_PORT`].
    kind: String,
    /// The addresses whose packets the port takes.
    addresses: Vec<(IpAddr, u16)>,
    /// Whether every worker uses its port.
    ready: bool,
}

/// The changes that [`Underlay::follow`] made.
#[derive(Default)]
pub struct Changed {
    /// Ports to add to the switch.
    pub opened: Vec<NewPort>,
    /// Numbers of ports to remove from the switch, once no table entry refers to them.
    pub closed: Vec<u32>,
    /// The devices that could not be opened.
    pub refused: Vec<UnderlayError>,
}

impl Underlay {
    /// Creates an underlay with nothing open. Packet buffers are sized for the devices of the setup.
    pub fn new(kernel: &mut Netlink, setup: &Setup) -> Result<Underlay, UnderlayError> {
        let devices: Vec<Device> = devices_of(kernel, &setup.links);
        let longest_mtu = longest_mtu(&devices, &setup.links);
        let settings = &setup.config.hopwright;
        let workers = settings.cpus.len().max(1);
        let sockets = UdpSockets::for_workers(workers, Some(flow::key())).map_err(UnderlayError::Sockets)?;
        let raw = devices.iter().filter(|device| obstacle(device, kernel.devices(), longest_mtu).is_none()).count();
        let (opener, pools) = Opener::new(&Wanted {
            choice: settings.ports,
            sockets: Some(&sockets),
            urgent: Some(&bfd()),
            // The datagrams around SCION packets are the router's own.
            fill_checksums: true,
            mtu: longest_mtu,
            // The program needs no more than there always is.
            headroom: 0,
            devices: raw + SPARE_DEVICES,
            workers,
            flows: Some(&flow::key()),
            options: XdpOptions { busy_poll_us: settings.busy_poll_us, ..XdpOptions::default() },
            memory: &[],
        })?;
        Ok(Underlay {
            raw: RawPorts::Own(Arc::new(opener)),
            sockets,
            pools,
            devices: BTreeMap::new(),
            refused: BTreeMap::new(),
            arrivals: Vec::new(),
            used: BTreeSet::new(),
            numbers: HashMap::new(),
            longest_mtu,
            workers,
            layout: settings.layout,
            queues: settings.queues.clone(),
            missing: BTreeSet::new(),
            look_again: Instant::now(),
        })
    }

    /// Creates the underlay of a tenant, whose raw ports the switch has opened. `numbers` are the tenant's port numbers
    /// by the names of devices.
    pub fn of_switch(numbers: BTreeMap<String, u32>) -> Result<Underlay, UnderlayError> {
        Ok(Underlay {
            raw: RawPorts::OfSwitch(numbers),
            sockets: UdpSockets::new().map_err(UnderlayError::Sockets)?,
            pools: Vec::new(),
            devices: BTreeMap::new(),
            refused: BTreeMap::new(),
            arrivals: Vec::new(),
            used: BTreeSet::new(),
            numbers: HashMap::new(),
            longest_mtu: u32::MAX,
            workers: 1,
            layout: Layout::Plain,
            queues: BTreeMap::new(),
            missing: BTreeSet::new(),
            look_again: Instant::now(),
        })
    }

    /// Takes the packet buffers, which the switch needs.
    pub fn take_pools(&mut self) -> Vec<Pool> {
        std::mem::take(&mut self.pools)
    }

    /// The UDP port, with this name.
    pub fn udp_port(&self, name: &str) -> Result<NewPort, UnderlayError> {
        let ports = self.sockets.ports(self.workers).map_err(UnderlayError::Sockets)?;
        Ok((LOCAL_PORT, ports.into_iter().map(|port| Box::new(port.named(name)) as Box<dyn Port>).collect()))
    }

    /// The UDP sockets.
    pub fn sockets(&self) -> &UdpSockets {
        &self.sockets
    }

    /// Closes the sockets that `links` does not need.
    pub fn unbind(&mut self, links: &Links) {
        let own = own_addresses(links);
        for address in self.sockets.addresses() {
            if own.binary_search(&SocketAddr::new(address.ip(), address.port())).is_err() {
                self.sockets.close(address);
            }
        }
        self.missing.retain(|address| own.binary_search(address).is_ok());
    }

    /// Whether [`Underlay::follow`] with this argument has nothing to do, provided that devices and addresses are
    /// unchanged since its last call.
    pub fn is_following(&self, used: &BTreeSet<u32>) -> bool {
        self.used == *used
    }

    /// Opens and closes raw ports according to the current devices, the addresses of `links`, and the other devices
    /// that are `used`. Devices that cannot be opened use the UDP port. Ports of a switch stay open.
    pub fn follow(&mut self, kernel: &Netlink, links: &[&Links], used: &BTreeSet<u32>) -> Changed {
        self.used.clone_from(used);
        let RawPorts::Own(opener) = &self.raw else {
            self.follow_switch(kernel, links);
            return Changed::default();
        };
        let opener = opener.clone();
        let wanted = raw_devices(kernel.devices(), links, used, self.longest_mtu);
        let mut changed = Changed::default();
        self.refused.retain(|index, (device, _)| kernel.devices().get(index) == Some(device));
        let is_wanted = |index: &u32, open: &Open| {
            wanted.contains_key(index) && kernel.devices().get(index).is_some_and(|d| d.name == open.name)
        };
        let gone: Vec<u32> = self.devices.iter().filter(|(i, open)| !is_wanted(i, open)).map(|(i, _)| *i).collect();
        for index in gone {
            if let Some(open) = self.devices.remove(&index) {
                if let Err(error) = opener.close(&open.name) {
                    tracing::warn!(
                        event = "sockets-blind", device = open.name, %error,
                        "the sockets do not receive all of a device's packets"
                    );
                }
                changed.closed.push(open.number);
                tracing::info!(event = "raw-port-closed", device = open.name, "raw port closed");
            }
        }
        if let Err(error) = opener.refresh() {
            tracing::warn!(event = "socket-filter", %error, "cannot update the filters of UDP sockets");
        }
        let mut new: Vec<(&Device, Vec<(IpAddr, u16)>)> = Vec::new();
        for (index, addresses) in wanted {
            let Some(device) = kernel.devices().get(&index) else { continue };
            if let Some(open) = self.devices.get_mut(&index) {
                (open.mac, open.mtu) = (device.mac.unwrap_or_default(), device.mtu);
                if open.addresses != addresses {
                    if let Err(error) = opener.set_match(&open.name, &FrameMatch::UdpDestinations(addresses.clone())) {
                        tracing::warn!(
                            event = "raw-port-filter", device = open.name, %error,
                            "cannot change which packets a raw port takes"
                        );
                    }
                    open.addresses = addresses;
                }
                continue;
            }
            if !self.refused.contains_key(&index) && !opener.is_occupied(&device.name) {
                new.push((device, addresses));
            }
        }
        if new.is_empty() {
            return changed;
        }
        // Opening takes a while. Until all ports exist, the sockets receive everything; then the ports take over at
        // once.
        let none = FrameMatch::UdpDestinations(Vec::new());
        let names: Vec<_> = new.iter().map(|(device, _)| (device.name.as_str(), &none)).collect();
        let found = match opener.open_all(&names) {
            Ok(found) => found.into_iter().map(|opened| opened.map_err(UnderlayError::from)).collect(),
            Err(error) => vec![Err(UnderlayError::from(error))],
        };
        // If all failed for the same reason, only the first result contains it.
        let mut found = found.into_iter();
        for (device, addresses) in new {
            let Some(opened) = found.next() else { break };
            match opened.and_then(|opened| self.add(device, addresses, opened)) {
                Ok(port) => changed.opened.push(port),
                Err(error) => {
                    tracing::warn!(
                        event = "raw-port-refused", device = device.name, %error,
                        "device is used by UDP sockets only"
                    );
                    self.refused.insert(device.index, (device.clone(), error.to_string()));
                    changed.refused.push(error);
                }
            }
        }
        changed
    }

    /// Follows the devices of the switch's ports. These ports take every frame.
    fn follow_switch(&mut self, kernel: &Netlink, links: &[&Links]) {
        let RawPorts::OfSwitch(numbers) = &self.raw else { return };
        let mut addresses: Vec<(IpAddr, u16)> =
            links.iter().flat_map(|links| own_addresses(links)).map(|a| (a.ip(), a.port())).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let open = |device: &Device| {
            let open = Open {
                name: device.name.clone(),
                number: *numbers.get(&device.name)?,
                mac: device.mac?,
                mtu: device.mtu,
                kind: SWITCH_PORT.into(),
                addresses: addresses.clone(),
                ready: true,
            };
            Some((device.index, open))
        };
        self.devices = kernel.devices().values().filter_map(open).collect();
        let raw = self.devices.iter().map(|(index, open)| RawDevice {
            index: *index,
            mtu: open.mtu,
            addresses: addresses.iter().copied().collect(),
            takes: Takes::Frames,
        });
        if let Err(error) = self.sockets.set_raw(raw.collect()) {
            tracing::warn!(event = "socket-filter", %error, "cannot update the filters of UDP sockets");
        }
    }

    /// Keeps the order of packets that come several flows at a time in one frame or message: one worker gets all packets of their
    /// sender from now on.
    pub fn keep_joined_flows(&self) {
        let of_devices = match &self.raw {
            RawPorts::Own(opener) => opener.keep_joined_flows(),
            RawPorts::OfSwitch(_) => Vec::new(),
        };
        let of_sockets = self.sockets.keep_joined_flows();
        let of_sockets = of_sockets.into_iter().map(|(address, result)| (address.to_string(), result));
        for (at, result) in of_devices.into_iter().chain(of_sockets) {
            match result {
                Ok(()) => tracing::info!(
                    event = "flows-joined",
                    at,
                    "several flows come in one frame: each sender's packets go to one worker from now on"
                ),
                Err(error) => tracing::warn!(
                    event = "flows-reordered", at, %error,
                    "several flows come in one frame, and their packets may be reordered"
                ),
            }
        }
    }

    /// Closes a port that the switch did not accept. The device uses the UDP port.
    pub fn give_up(&mut self, kernel: &Netlink, number: u32, why: String) {
        let found = self.devices.iter().find(|(_, open)| open.number == number).map(|(index, _)| *index);
        let Some((index, open)) = found.and_then(|index| Some((index, self.devices.remove(&index)?))) else { return };
        if let RawPorts::Own(opener) = &self.raw
            && let Err(error) = opener.close(&open.name)
        {
            tracing::warn!(
                event = "sockets-blind", device = open.name, %error,
                "the sockets do not receive all of a device's packets"
            );
        }
        if let Some(device) = kernel.devices().get(&index) {
            self.refused.insert(index, (device.clone(), why));
        }
    }

    /// Assigns a port number to an opened device.
    fn add(
        &mut self,
        device: &Device,
        addresses: Vec<(IpAddr, u16)>,
        opened: Opened,
    ) -> Result<NewPort, UnderlayError> {
        let taken = |n: &u32| self.devices.values().any(|open| open.number == *n);
        let before = self.numbers.get(&device.name).copied().filter(|n| !taken(n));
        let reserved = |n: &u32| self.numbers.values().any(|other| other == n);
        let number = before
            .or_else(|| self.layout.device_ports().find(|n| !taken(n) && !reserved(n)))
            .or_else(|| self.layout.device_ports().find(|n| !taken(n)))
            .ok_or(UnderlayError::TooManyDevices)?;
        tracing::info!(
            event = "raw-port-opened",
            device = device.name,
            mtu = device.mtu,
            ports = opened.how,
            "raw port opened"
        );
        self.numbers.retain(|_, other| *other != number);
        self.numbers.insert(device.name.clone(), number);
        let open = Open {
            name: device.name.clone(),
            number,
            mac: device.mac.unwrap_or_default(),
            mtu: device.mtu,
            kind: opened.kind.to_string(),
            addresses,
            ready: false,
        };
        self.devices.insert(device.index, open);
        let ports = match self.queues.get(&device.name) {
            Some(queues) => queues.settings().attach(opened.ports),
            None => opened.ports,
        };
        Ok((number, ports))
    }

    /// Called when all workers have taken up the ports they were given, which receive from now on. Before that, a port has no room for
    /// what it takes.
    pub fn set_ready(&mut self) {
        let RawPorts::Own(opener) = &self.raw else { return };
        for open in self.devices.values_mut().filter(|open| !open.ready) {
            let frames = FrameMatch::UdpDestinations(open.addresses.clone());
            if let Err(error) = opener.set_match(&open.name, &frames) {
                tracing::warn!(
                    event = "raw-port-filter", device = open.name, %error,
                    "cannot change which packets a raw port takes"
                );
            }
            open.ready = true;
        }
    }

    /// Accepts packets to each of the router's addresses only from the device that has the address. Addresses of the
    /// loopback device may be reached through any device. Returns the raw port through which packets to each address
    /// must arrive.
    pub fn restrict_arrivals(&mut self, kernel: &Netlink, links: &Links) -> BTreeMap<IpAddr, u16> {
        self.set_arrivals(arrival_devices(kernel.devices(), links));
        let port = |address: IpAddr| {
            let device = kernel.device_with(address).filter(|device| !is_home(device))?;
            Some((address, self.devices.get(&device.index)?.number as u16))
        };
        own_addresses(links).iter().filter_map(|a| port(a.ip())).collect()
    }

    /// Accepts packets from all devices.
    pub fn allow_arrivals(&mut self) {
        self.set_arrivals(Vec::new());
    }

    fn set_arrivals(&mut self, devices: Vec<(IpAddr, Vec<u32>)>) {
        if devices != self.arrivals {
            if let Err(error) = self.sockets.set_arrivals(&devices) {
                tracing::error!(event = "arrival-filter", %error, "cannot restrict by which devices packets may come");
            }
            self.arrivals = devices;
        }
    }

    /// The raw ports that workers use, by interface index.
    pub fn ports(&self, kernel: &Netlink) -> HashMap<u32, DevicePort> {
        let port = |index: u32, open: &Open| DevicePort {
            number: open.number as u16,
            mac: open.mac,
            mtu: open.mtu,
            carrier: kernel.devices().get(&index).is_some_and(|device| device.running),
        };
        self.devices.iter().filter(|(_, open)| open.ready).map(|(index, open)| (*index, port(*index, open))).collect()
    }

    /// The switch's port numbers by interface index, for devices with a raw port.
    pub fn numbers(&self) -> HashMap<u32, u16> {
        self.devices.iter().map(|(index, open)| (*index, open.number as u16)).collect()
    }

    /// Counters of the UDP sockets, as metrics.
    pub fn families(&self) -> [CounterFamily; 2] {
        let counts = self.sockets.counts();
        let family = |name, help, label, values: &[(&str, u64)]| {
            let values = values.iter().map(|(value, count)| (value.to_string(), *count)).collect();
            CounterFamily { name, help, label, values }
        };
        [
            family(
                "hopwright_udp_packets_total",
                "Packets that the kernel's UDP sockets carried: received, sent, and sent because a raw port could not.",
                "what",
                &[("received", counts.received), ("sent", counts.sent), ("sent_for_raw_port", counts.sent_for_raw)],
            ),
            family(
                "hopwright_udp_lost_packets_total",
                "Packets that the kernel's UDP sockets could not send, by reason.",
                "reason",
                &[
                    ("no_socket", counts.no_socket),
                    ("bad_destination", counts.bad_destination),
                    ("unreachable", counts.unreachable),
                    ("too_long", counts.too_long),
                    ("busy", counts.busy),
                    ("refused", counts.refused),
                ],
            ),
        ]
    }

    /// The kinds of port that each link uses to receive and send.
    pub fn link_ports(&self, kernel: &Netlink, links: &Links, next_hops: &Resolver) -> Vec<LinkPorts> {
        let raw = |index: u32| match self.devices.get(&index) {
            Some(open) => Ok(open.kind.as_str()),
            None => Err(self.refused.get(&index).map(|(_, why)| why.clone())),
        };
        link_ports(kernel, links, next_hops, self.longest_mtu, raw)
    }
}

/// Returns the devices that may have raw ports, and the addresses whose packets each takes: the device's own, and those
/// of the loopback device, which may be reached through any device.
fn raw_devices(
    devices: &BTreeMap<u32, Device>,
    links: &[&Links],
    used: &BTreeSet<u32>,
    longest_mtu: u32,
) -> BTreeMap<u32, Vec<(IpAddr, u16)>> {
    // The addresses 127.0.0.0/8 and ::1 cannot be reached from outside.
    let of_networks = |links: &&Links, address: &SocketAddr| {
        !address.ip().is_loopback() && links.by_kernel_only(address.ip()).is_none()
    };
    let of_links =
        |links: &&Links| own_addresses(links).into_iter().filter(|a| of_networks(links, a)).collect::<Vec<_>>();
    let mut own: Vec<SocketAddr> = links.iter().flat_map(of_links).collect();
    own.sort_unstable();
    own.dedup();
    let of = |device: &Device| own.iter().filter(|a| device.addresses.contains(&a.ip())).copied().collect::<Vec<_>>();
    let anywhere: Vec<SocketAddr> = devices.values().filter(|device| is_home(device)).flat_map(of).collect();
    let addresses = |device: &Device| {
        let own = of(device);
        let wanted = !own.is_empty() || used.contains(&device.index) || (!anywhere.is_empty() && device.up);
        let mut addresses: Vec<_> = own.iter().chain(&anywhere).map(|a| (a.ip(), a.port())).collect();
        addresses.sort_unstable();
        addresses.dedup();
        wanted.then_some((device.index, addresses))
    };
    let usable = devices.values().filter(|device| obstacle(device, devices, longest_mtu).is_none());
    usable.filter_map(addresses).collect()
}

/// Returns the devices through which the kernel receives packets for each address of the router that arrive at the
/// device with that address.
fn arrival_devices(devices: &BTreeMap<u32, Device>, links: &Links) -> Vec<(IpAddr, Vec<u32>)> {
    let mut arrivals: BTreeMap<IpAddr, Vec<u32>> = BTreeMap::new();
    for address in own_addresses(links).into_iter().filter(|a| links.by_kernel_only(a.ip()).is_none()) {
        let having = || devices.values().filter(|device| device.addresses.contains(&address.ip()));
        if having().next().is_some() && !having().any(is_home) {
            // The kernel receives packets of a bridge's member through the bridge.
            let by = having().flat_map(|device| [Some(device.index), device.master]).flatten();
            arrivals.insert(address.ip(), by.collect());
        }
    }
    arrivals.into_iter().collect()
}

/// Whether the device's addresses may be reached through any device.
fn is_home(device: &Device) -> bool {
    device.loopback || device.kind == "dummy"
}

/// Returns why a device cannot have a raw port, or `None` if it can.
fn obstacle(device: &Device, devices: &BTreeMap<u32, Device>, longest_mtu: u32) -> Option<String> {
    let name = &device.name;
    let master = device.master.and_then(|index| devices.get(&index));
    if is_home(device) {
        Some(format!("{name} leads nowhere but to this machine"))
    } else if device.mac.is_none() {
        Some(format!("{name} is not an Ethernet device"))
    } else if NOT_RAW.contains(&&*device.kind) {
        Some(format!("{name} is a {} device", device.kind))
    } else if let Some(master) = master.filter(|master| TAKES_FRAMES.contains(&&*master.kind)) {
        Some(format!("{name} is part of the {} {}", master.kind, master.name))
    } else if device.mtu > longest_mtu {
        let mtu = device.mtu;
        Some(format!("the MTU of {name}, {mtu}, is more than the {longest_mtu} that packet buffers were made for"))
    } else {
        None
    }
}

/// The pattern of BFD packets, which must arrive even when a device receives more than the router can process: next
/// header and path type of the SCION common header. BFD packets with extension headers do not match.
fn bfd() -> Pattern {
    let (next_hdr, path_type) = (4, 8);
    Pattern { bytes: vec![(next_hdr, vec![packet::BFD]), (path_type, vec![packet::EMPTY_PATH, packet::ONE_HOP_PATH])] }
}

/// Returns the router's own underlay addresses, sorted, but for those that no machine can have.
pub(crate) fn own_addresses(links: &Links) -> Vec<SocketAddr> {
    let internal = links.internal_problem.is_none().then_some(links.internal);
    let external = links.external.iter().map(|e| e.underlay.local).filter(|local| unusable_local(*local).is_none());
    let mut addresses: Vec<SocketAddr> = internal.into_iter().chain(external).collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

/// Returns the MTU that packet buffers are sized for: the largest one of the devices, and of the links, whose packets
/// may be reassembled.
fn longest_mtu(devices: &[Device], links: &Links) -> u32 {
    let of_links = links.external.iter().map(|e| e.mtu.saturating_add(HEADERS));
    devices.iter().map(|d| d.mtu).chain(of_links).max().unwrap_or(0).clamp(MTU_RANGE.0, MTU_RANGE.1)
}

/// Returns the devices that packets use: those with the router's addresses, and those that routes use.
fn devices_of(kernel: &mut Netlink, links: &Links) -> Vec<Device> {
    let mut indices = used_devices(kernel, links);
    let mut anywhere = false;
    for address in own_addresses(links) {
        match kernel.device_with(address.ip()) {
            Some(device) if is_home(device) && !address.ip().is_loopback() => anywhere = true,
            Some(device) => drop(indices.insert(device.index)),
            // All of 127.0.0.0/8 is on the loopback device.
            None => indices.extend(kernel.devices().values().filter(|d| d.loopback).map(|d| d.index)),
        }
    }
    let devices = kernel.devices().values();
    devices.filter(|d| indices.contains(&d.index) || (anywhere && d.up)).cloned().collect()
}

#[cfg(test)]
mod tests;
