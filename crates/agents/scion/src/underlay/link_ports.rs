//! The kinds of port that links use: of a router that runs, and of one that is yet to start ([`survey`]).

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use hopwright_host::netlink::Netlink;
use hopwright_host::next_hop::{DevicePort, FallbackReason, Plan};
use hopwright_ports::PortChoice;

use super::next_hop::{Resolver, VIA_KERNEL, add_links};
use super::{devices_of, is_home, longest_mtu, missing, obstacle, own_addresses, raw_devices};
use crate::config::links::{External, LinkEnd, Links, Target};

/// Bytes of the headers of IP and UDP.
const IPV4_AND_UDP: u32 = 28;
const IPV6_AND_UDP: u32 = 48;

/// The kinds of port that a link uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkPorts {
    /// The index of the link's counters.
    pub index: u16,
    /// The link's name: `interface 41`, `sibling br2` or `internal`.
    pub link: String,
    /// How packets to the router arrive.
    pub receive: Carrier,
    /// How packets to the other end are sent; `None` for the internal link, whose hosts may be reached through
    /// different devices.
    pub send: Option<Carrier>,
    /// The device by which the link's packets leave, if the longest of them do not fit its MTU.
    pub short: Option<ShortDevice>,
}

/// A device whose MTU is too small for a link: the kernel sends the link's longest packets in fragments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShortDevice {
    /// Its name.
    pub name: String,
    /// Its MTU in bytes.
    pub mtu: u32,
    /// What the link needs: its own `mtu` in `topology.json` and the headers of IP and UDP.
    pub needed: u32,
}

impl fmt::Display for ShortDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ShortDevice { name, mtu, needed } = self;
        write!(
            f,
            "its longest packets need an MTU of {needed} bytes, {name} has {mtu}: the kernel sends them in fragments"
        )
    }
}

/// A port as a link uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carrier {
    /// `AF_XDP`, `AF_PACKET` or `UDP`.
    pub kind: String,
    /// The device of a raw port.
    pub device: Option<String>,
    /// The reason for using the UDP port instead of a raw port.
    pub why: Option<String>,
}

impl Carrier {
    pub(super) fn raw(kind: &str, device: &str) -> Carrier {
        Carrier { kind: kind.into(), device: Some(device.into()), why: None }
    }

    pub(super) fn udp(why: String) -> Carrier {
        Carrier { kind: "UDP".into(), device: None, why: Some(why) }
    }
}

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.device, &self.why) {
            (Some(device), _) => write!(f, "{} on {device}", self.kind),
            (None, Some(why)) => write!(f, "UDP sockets ({why})"),
            (None, None) => f.write_str(&self.kind),
        }
    }
}

impl fmt::Display for LinkPorts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: receives by {}", self.link, self.receive)?;
        if let Some(send) = &self.send {
            write!(f, ", sends by {send}")?;
        }
        match &self.short {
            Some(short) => write!(f, "; {short}"),
            None => Ok(()),
        }
    }
}

/// `raw` returns the kind of a device's raw port, or the reason why it has none if that is known.
pub(super) fn link_ports<'a>(
    kernel: &Netlink,
    links: &Links,
    next_hops: &Resolver,
    longest_mtu: u32,
    raw: impl Fn(u32) -> Result<&'a str, Option<String>>,
) -> Vec<LinkPorts> {
    let devices = kernel.devices();
    let carrier = |index: u32| match (devices.get(&index), raw(index)) {
        (Some(device), Ok(kind)) => Carrier::raw(kind, &device.name),
        (Some(device), Err(why)) => {
            let why = why.or_else(|| obstacle(device, devices, longest_mtu));
            Carrier::udp(why.unwrap_or_else(|| format!("{} is not used otherwise", device.name)))
        }
        (None, _) => Carrier::udp(format!("device {index} is gone")),
    };
    let receive = |address: IpAddr| {
        if let Some(why) = links.by_kernel_only(address) {
            return Carrier::udp(why);
        }
        let Some(home) = kernel.device_with(address) else {
            return Carrier::udp(format!("no network device has {address}"));
        };
        if !is_home(home) {
            return carrier(home.index);
        }
        let names: Vec<&str> = devices.values().filter(|d| raw(d.index).is_ok()).map(|d| d.name.as_str()).collect();
        let kind = devices.keys().find_map(|index| raw(*index).ok());
        match kind {
            Some(kind) => Carrier::raw(kind, &names.join(", ")),
            None => Carrier::udp(format!("{address} is on {}", home.name)),
        }
    };
    let send = |target: Target| {
        let kernel_only = || links.by_kernel_only(links.local(target).ip());
        if let Some(why) = links.problem(target).map(String::from).or_else(kernel_only) {
            return Carrier::udp(why);
        }
        match next_hops.plan(target) {
            Plan::Port(device) | Plan::Fallback(FallbackReason::Device(device)) => carrier(device),
            Plan::Fallback(FallbackReason::NoCarrier(device)) => {
                let name = devices.get(&device).map_or_else(|| device.to_string(), |d| d.name.clone());
                Carrier::udp(format!("{name} has no carrier"))
            }
            Plan::Fallback(why) => Carrier::udp(why.to_string()),
        }
    };
    let short = |link: &External| {
        let target = Target::Link(LinkEnd::External(link.id));
        let (Plan::Port(device) | Plan::Fallback(FallbackReason::Device(device))) = next_hops.plan(target) else {
            return None;
        };
        let device = devices.get(&device)?;
        let headers = if link.underlay.remote.is_ipv4() { IPV4_AND_UDP } else { IPV6_AND_UDP };
        let needed = link.mtu.saturating_add(headers);
        (device.mtu < needed).then(|| ShortDevice { name: device.name.clone(), mtu: device.mtu, needed })
    };
    let inside = receive(links.internal.ip());
    let internal = LinkPorts {
        index: crate::config::links::INTERNAL_INDEX,
        link: "internal".into(),
        receive: inside.clone(),
        send: None,
        short: None,
    };
    let external = links.external.iter().map(|e| LinkPorts {
        index: e.index,
        link: format!("interface {}", e.id),
        receive: receive(e.underlay.local.ip()),
        send: Some(send(Target::Link(LinkEnd::External(e.id)))),
        short: short(e),
    });
    let siblings = links.siblings.iter().map(|s| LinkPorts {
        index: s.index,
        link: format!("sibling {}", s.name),
        receive: inside.clone(),
        send: Some(send(Target::Link(LinkEnd::Sibling(s.number)))),
        short: None,
    });
    std::iter::once(internal).chain(external).chain(siblings).collect()
}

/// Addresses of a router that this machine does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// None of the router's addresses is on this machine.
    All,
    /// These addresses are not on this machine.
    Some(Vec<IpAddr>),
}

/// Returns the ports that each link would use if the router started on this machine with this choice of ports.
pub fn survey(kernel: &mut Netlink, links: &Links, choice: PortChoice) -> Result<Vec<LinkPorts>, Foreign> {
    let mut addresses: Vec<IpAddr> = own_addresses(links).iter().map(SocketAddr::ip).collect();
    addresses.dedup();
    let count = addresses.len();
    let foreign: Vec<IpAddr> =
        addresses.into_iter().filter(|address| !missing::is_here(*address, kernel, links)).collect();
    if foreign.len() == count {
        return Err(Foreign::All);
    } else if !foreign.is_empty() {
        return Err(Foreign::Some(foreign));
    }
    let mtu = longest_mtu(&devices_of(kernel, links), links);
    let mut next_hops = Resolver::new(HashMap::new(), VIA_KERNEL);
    add_links(&mut next_hops, links, kernel);
    let raw = raw_devices(kernel.devices(), &[links], &next_hops.devices(), mtu);
    let port = |index: &u32| {
        let device = kernel.devices().get(index)?;
        Some((*index, DevicePort { number: 1, mac: device.mac?, mtu: device.mtu, carrier: device.running }))
    };
    next_hops.set_ports(raw.keys().filter_map(port).collect(), kernel, Instant::now());
    let kind = match choice {
        PortChoice::Auto => "AF_XDP or AF_PACKET",
        PortChoice::AfXdp => "AF_XDP",
        PortChoice::AfPacket => "AF_PACKET",
    };
    let raw = |index: u32| if raw.contains_key(&index) { Ok(kind) } else { Err(None) };
    Ok(link_ports(kernel, links, &next_hops, mtu, raw))
}
