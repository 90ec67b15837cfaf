//! Takes datagrams of rtnetlink apart, and reads from their messages what [`super`] keeps.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink_packet_core::{DecodeError, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoVlan, InfoVrf, LinkAttribute, LinkFlags, LinkInfo, LinkLayerType, LinkMessage, LinkXdp, VlanFlags,
    VlanProtocol, XdpAttached,
};
use netlink_packet_route::neighbour::{NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage, RouteMetric, RouteType, RouteVia};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::{Device, Neighbour, Prefix, Route, Vlan};

/// Bytes of a message's header (`struct nlmsghdr`).
pub(super) const HEADER: usize = 16;

/// Message types (linux/netlink.h, linux/rtnetlink.h).
pub(super) mod kind {
    pub(in crate::netlink) const ERROR: u16 = 2;
    pub(in crate::netlink) const DONE: u16 = 3;
    pub(in crate::netlink) const NEW_RULE: u16 = 32;
    pub(in crate::netlink) const DEL_RULE: u16 = 33;
    /// Links, addresses, routes and neighbours: what comes and what goes.
    pub(in crate::netlink) const FOLLOWED: [u16; 8] = [16, 17, 20, 21, 24, 25, 28, 29];
    pub(in crate::netlink) const LINKS: [u16; 2] = [16, 17];
    pub(in crate::netlink) const GET_RULE: u16 = 34;
    pub(in crate::netlink) const QUEUEING: [u16; 2] = [36, 37];
    pub(in crate::netlink) const GET_QUEUEING: u16 = 38;
    /// Some of the settings in `/proc/sys/net/ipv4/conf` and `/proc/sys/net/ipv6/conf`.
    pub(in crate::netlink) const SETTINGS: [u16; 2] = [80, 81];
    pub(in crate::netlink) const NEW_NEXT_HOP: u16 = 104;
    pub(in crate::netlink) const DEL_NEXT_HOP: u16 = 105;
    pub(in crate::netlink) const GET_NEXT_HOP: u16 = 106;
}

/// A message of a datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    pub kind: u16,
    pub flags: u16,
    pub sequence: u32,
    /// The message with its header.
    pub bytes: &'a [u8],
}

impl<'a> Frame<'a> {
    /// What follows the header.
    pub(crate) fn body(&self) -> &'a [u8] {
        &self.bytes[HEADER..]
    }

    /// The code of an error message: 0 is an acknowledgement, others are negative.
    pub(super) fn code(&self) -> i32 {
        self.body().first_chunk().map_or(0, |code| i32::from_ne_bytes(*code))
    }
}

/// A datagram ends within a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Truncated;

/// The messages of a datagram.
pub(crate) fn frames(mut bytes: &[u8]) -> impl Iterator<Item = Result<Frame<'_>, Truncated>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let frame = frame(bytes);
        bytes = frame.and_then(|frame| bytes.get(frame.bytes.len().next_multiple_of(4)..)).unwrap_or(&[]);
        Some(frame.ok_or(Truncated))
    })
}

fn frame(bytes: &[u8]) -> Option<Frame<'_>> {
    let header: &[u8; HEADER] = bytes.first_chunk()?;
    let [a, b, c, d, k0, k1, f0, f1, s0, s1, s2, s3, ..] = *header;
    let length = u32::from_ne_bytes([a, b, c, d]) as usize;
    let bytes = bytes.get(..length).filter(|message| message.len() >= HEADER)?;
    let (kind, flags) = (u16::from_ne_bytes([k0, k1]), u16::from_ne_bytes([f0, f1]));
    Some(Frame { kind, flags, sequence: u32::from_ne_bytes([s0, s1, s2, s3]), bytes })
}

/// Decodes a message of a link, address, route or neighbour; `None` if it is something else, or of another family.
///
/// # Errors
/// An attribute is malformed. Attributes of unknown types are no error.
pub(super) fn decode(frame: &Frame<'_>) -> Result<Option<RouteNetlinkMessage>, DecodeError> {
    // Bridges report their ports in another family, multicast routing its routes.
    let families: &[i32] =
        if kind::LINKS.contains(&frame.kind) { &[libc::AF_UNSPEC] } else { &[libc::AF_INET, libc::AF_INET6] };
    let family = frame.body().first().map(|family| i32::from(*family));
    if !kind::FOLLOWED.contains(&frame.kind) || family.is_some_and(|family| !families.contains(&family)) {
        return Ok(None);
    }
    Ok(match NetlinkMessage::deserialize(frame.bytes)?.payload {
        NetlinkPayload::InnerMessage(message) => Some(message),
        _ => None,
    })
}

/// The attributes of a message or of an attribute that contains others: type and value.
pub(crate) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let [a, b, c, d] = *bytes.first_chunk()?;
        let length = usize::from(u16::from_ne_bytes([a, b])).max(4);
        let value = bytes.get(4..length).unwrap_or(&[]);
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        // The upper two bits say that there are others inside, and in which byte order numbers are.
        Some((u16::from_ne_bytes([c, d]) & 0x3fff, value))
    })
}

/// The destination prefix of a unicast route.
pub(super) fn prefix(route: &RouteMessage) -> Option<Prefix> {
    let any = match route.header.address_family {
        AddressFamily::Inet => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        AddressFamily::Inet6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        _ => return None,
    };
    let of = |attribute: &RouteAttribute| match attribute {
        RouteAttribute::Destination(RouteAddress::Inet(ip)) => Some(IpAddr::V4(*ip)),
        RouteAttribute::Destination(RouteAddress::Inet6(ip)) => Some(IpAddr::V6(*ip)),
        _ => None,
    };
    let address = route.attributes.iter().find_map(of).unwrap_or(any);
    Some(Prefix { address, length: route.header.destination_prefix_length })
}

pub(super) fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn mac_of(bytes: &[u8]) -> Option<[u8; 6]> {
    bytes.try_into().ok()
}

pub(super) fn read_link(link: &LinkMessage, device: &mut Device) {
    device.index = link.header.index;
    device.up = link.header.flags.contains(LinkFlags::Up);
    device.running = link.header.flags.contains(LinkFlags::Running);
    device.loopback = link.header.flags.contains(LinkFlags::Loopback);
    (device.master, device.link, device.xdp) = (None, None, false);
    let (mut below, mut elsewhere) = (None, false);
    let ethernet = link.header.link_layer_type == LinkLayerType::Ether;
    for attribute in &link.attributes {
        match attribute {
            LinkAttribute::IfName(name) => device.name.clone_from(name),
            LinkAttribute::Mtu(mtu) => device.mtu = *mtu,
            LinkAttribute::Address(bytes) => device.mac = mac_of(bytes).filter(|_| ethernet),
            LinkAttribute::Controller(index) => device.master = Some(*index).filter(|index| *index != 0),
            LinkAttribute::Link(index) => below = Some(*index).filter(|index| *index != 0),
            LinkAttribute::LinkNetNsId(_) => elsewhere = true,
            LinkAttribute::Xdp(xdp) => {
                let none = LinkXdp::Attached(XdpAttached::None);
                device.xdp = xdp.iter().any(|what| matches!(what, LinkXdp::Attached(_)) && *what != none);
            }
            LinkAttribute::LinkInfo(infos) => {
                for info in infos {
                    match info {
                        LinkInfo::Kind(kind) => device.kind = kind.to_string(),
                        LinkInfo::Data(InfoData::Vlan(infos)) => device.vlan = Some(read_vlan(infos)),
                        LinkInfo::Data(InfoData::Vrf(infos)) => {
                            device.vrf_table = infos.iter().find_map(|info| match info {
                                InfoVrf::TableId(table) => Some(*table),
                                _ => None,
                            });
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    // The index of a device in another namespace says nothing here.
    device.link = below.filter(|_| !elsewhere);
}

fn read_vlan(infos: &[InfoVlan]) -> Vlan {
    let mut vlan = Vlan::default();
    for info in infos {
        match info {
            InfoVlan::Id(id) => vlan.id = *id,
            InfoVlan::Protocol(protocol) => vlan.customer = *protocol == VlanProtocol::Ieee8021Q,
            InfoVlan::Flags((flags, _)) => vlan.hides_tag = flags.contains(VlanFlags::ReorderHdr),
            InfoVlan::EgressQos(mappings) => vlan.maps_priorities = !mappings.is_empty(),
            _ => {}
        }
    }
    vlan
}

/// The host's own address in an address message (the other may be that of a point-to-point peer).
pub(super) fn own_address(message: &AddressMessage) -> Option<IpAddr> {
    let mut found = None;
    for attribute in &message.attributes {
        match attribute {
            AddressAttribute::Local(ip) => return Some(*ip),
            AddressAttribute::Address(ip) => found = Some(*ip),
            _ => {}
        }
    }
    found
}

/// Key and state of a neighbour; no state while the kernel is resolving it.
pub(super) fn read_neighbour(message: &NeighbourMessage) -> Option<((u32, IpAddr), Option<Neighbour>)> {
    let mut address = None;
    let mut mac = None;
    for attribute in &message.attributes {
        match attribute {
            NeighbourAttribute::Destination(NeighbourAddress::Inet(ip)) => address = Some(IpAddr::V4(*ip)),
            NeighbourAttribute::Destination(NeighbourAddress::Inet6(ip)) => address = Some(IpAddr::V6(*ip)),
            NeighbourAttribute::LinkLayerAddress(bytes) => mac = mac_of(bytes),
            _ => {}
        }
    }
    let known = |fresh| mac.map(|mac| Neighbour::Known { mac, fresh });
    let state = match message.header.state {
        NeighbourState::Reachable | NeighbourState::Permanent | NeighbourState::Noarp => known(true),
        NeighbourState::Delay | NeighbourState::Probe => known(true),
        NeighbourState::Stale => known(false),
        NeighbourState::Failed => Some(Neighbour::Failed),
        _ => None,
    };
    Some(((message.header.ifindex, address?), state))
}

/// Whether only the kernel can make packets of what the attribute's next hop gets.
pub(super) fn encapsulates(attribute: &RouteAttribute) -> bool {
    matches!(
        attribute,
        RouteAttribute::Encap(_)
            | RouteAttribute::EncapType(_)
            | RouteAttribute::NewDestination(_)
            | RouteAttribute::NewDestinationAddress(_)
    )
}

pub(super) fn read_route(route: &RouteMessage, destination: IpAddr) -> Route {
    match route.header.kind {
        RouteType::Unicast => {}
        RouteType::Local => return Route::Here,
        _ => return Route::Nowhere,
    }
    let mut device = None;
    let mut next_hop = destination;
    let mut path_mtu = None;
    for attribute in &route.attributes {
        match attribute {
            attribute if encapsulates(attribute) => return Route::Encapsulated,
            RouteAttribute::Metrics(metrics) => {
                for metric in metrics {
                    if let RouteMetric::Mtu(mtu) = metric {
                        path_mtu = Some(*mtu).filter(|mtu| *mtu > 0);
                    }
                }
            }
            RouteAttribute::Oif(index) => device = Some(*index),
            RouteAttribute::Gateway(RouteAddress::Inet(ip)) => next_hop = IpAddr::V4(*ip),
            RouteAttribute::Gateway(RouteAddress::Inet6(ip)) => next_hop = IpAddr::V6(*ip),
            RouteAttribute::Via(RouteVia::Inet(ip)) => next_hop = IpAddr::V4(*ip),
            RouteAttribute::Via(RouteVia::Inet6(ip)) => next_hop = IpAddr::V6(*ip),
            _ => {}
        }
    }
    device.map_or(Route::Nowhere, |device| Route::Via { device, next_hop, mtu: path_mtu })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_of_routes() {
        let of = |address: &str, length| Prefix { address: address.parse().unwrap(), length };
        let mut route = RouteMessage::default();
        route.header.address_family = AddressFamily::Inet;
        assert_eq!(prefix(&route), Some(of("0.0.0.0", 0)));
        route.header.destination_prefix_length = 8;
        route.attributes.push(RouteAttribute::Destination(RouteAddress::Inet([10, 0, 0, 0].into())));
        assert_eq!(prefix(&route), Some(of("10.0.0.0", 8)));
    }

    /// VLAN and VRF devices as Linux 6.1 reports them, without most other attributes.
    #[test]
    fn vlans_and_vrfs() {
        let bytes = |hex: &str| -> Vec<u8> {
            let hex: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
            let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
            hex.chunks(2).map(byte).collect()
        };
        let device = |hex: &str| {
            let bytes = bytes(hex);
            let mut device = Device::default();
            match decode(&frames(&bytes).next().unwrap().unwrap()) {
                Ok(Some(RouteNetlinkMessage::NewLink(link))) => read_link(&link, &mut device),
                other => panic!("{other:?}"),
            }
            device
        };
        let vlan = device(
            "9000000010000000010000000000000000000100040000000210000000000000070003007635000008000400dc05000008000a0006000000 \
             0a000100d202ffff9e3f00004400120009000100766c616e0000000020000200060005008100000006000100050000000c00020001000000 \
             ffffffff08000400767266000c00050008000100f20300000800050003000000",
        );
        let tag = Vlan { id: 5, customer: true, hides_tag: true, maps_priorities: false };
        assert_eq!((vlan.kind.as_str(), vlan.vlan, vlan.link, vlan.master), ("vlan", Some(tag), Some(3), Some(6)));
        let service = device(
            "7800000010000000010000000000000000000100050000000210000000000000070003007636000008000400dc0500000a000100d202ffff \
             9e3f00003400120009000100766c616e00000000240002000600050088a800000600010006000000100003000c0001000000000003000000 \
             0800050003000000",
        );
        let tag = Vlan { id: 6, customer: false, hides_tag: false, maps_priorities: true };
        assert_eq!((service.vlan, service.link, service.vrf_table), (Some(tag), Some(3), None));
        let vrf = device(
            "5400000010000000010000000000000000000100060000008004000000000000080003007265640008000400270001000a0001001685087f \
             77ed00001800120008000100767266000c00020008000100f2030000",
        );
        assert_eq!((vrf.kind.as_str(), vrf.vrf_table, vrf.vlan), ("vrf", Some(1010), None));
    }

    #[test]
    fn neighbours() {
        let mut message = NeighbourMessage::default();
        message.header.ifindex = 3;
        message.header.state = NeighbourState::Stale;
        message.attributes = vec![
            NeighbourAttribute::Destination(NeighbourAddress::Inet([10, 0, 0, 1].into())),
            NeighbourAttribute::LinkLayerAddress(vec![1, 2, 3, 4, 5, 6]),
        ];
        let key = (3, "10.0.0.1".parse().unwrap());
        let mac = [1, 2, 3, 4, 5, 6];
        assert_eq!(read_neighbour(&message), Some((key, Some(Neighbour::Known { mac, fresh: false }))));
        message.header.state = NeighbourState::Permanent;
        assert_eq!(read_neighbour(&message), Some((key, Some(Neighbour::Known { mac, fresh: true }))));
        message.header.state = NeighbourState::Failed;
        assert_eq!(read_neighbour(&message), Some((key, Some(Neighbour::Failed))));
        message.header.state = NeighbourState::Incomplete;
        assert_eq!(read_neighbour(&message), Some((key, None)));
        message.attributes.clear();
        assert_eq!(read_neighbour(&message), None);
    }

    #[test]
    fn datagrams_with_nonsense() {
        let count = |bytes: &[u8]| {
            let (good, bad): (Vec<_>, Vec<_>) = frames(bytes).partition(Result::is_ok);
            (good.len(), bad.len())
        };
        assert_eq!(count(&[]), (0, 0));
        assert_eq!(count(&[255; 40]), (0, 1));
        assert_eq!(count(&[16, 0, 0, 0, 255, 255, 0]), (0, 1));
        assert_eq!(count(&[0; 64]), (0, 1));
        let header = [16, 0, 0, 0, 3, 0, 2, 0, 9, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(count(&header), (1, 0));
        assert_eq!(count(&[&header[..], &header[..9]].concat()), (1, 1));
        let frame = frames(&header).next().unwrap().unwrap();
        assert_eq!((frame.kind, frame.flags, frame.sequence, frame.code()), (3, 2, 9, 0));
    }
}
