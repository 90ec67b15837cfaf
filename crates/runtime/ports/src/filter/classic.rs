//! Classic BPF programs that select the frames of a socket.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::FrameMatch;
use crate::udp::{RawDevice, Takes};

/// One instruction of classic BPF, laid out as the kernel's `struct sock_filter`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    code: u16,
    if_true: u8,
    if_false: u8,
    operand: u32,
}

/// A filter program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter(pub(super) Vec<Instruction>);

/// The error that a filter exceeds the kernel's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a filter for this many addresses has {0} instructions; the kernel takes {MAX}")]
pub struct TooLong(usize);

/// The kernel's `BPF_MAXINSNS`.
const MAX: usize = 4096;

// Opcodes of linux/bpf_common.h and linux/filter.h.
pub(super) const LOAD_WORD: u16 = 0x20;
pub(super) const LOAD_HALF: u16 = 0x28;
pub(super) const LOAD_BYTE: u16 = 0x30;
const LOAD_HALF_INDEXED: u16 = 0x48;
const LOAD_BYTE_INDEXED: u16 = 0x50;
const LOAD_LENGTH: u16 = 0x80;
const LOAD_INDEX: u16 = 0x01;
const LOAD_INDEX_HEADER_LENGTH: u16 = 0xb1;
const SUBTRACT_INDEX: u16 = 0x1c;
pub(super) const AND: u16 = 0x54;
const JUMP: u16 = 0x05;
pub(super) const JUMP_EQUAL: u16 = 0x15;
const JUMP_NOT_LESS: u16 = 0x35;
pub(super) const RETURN: u16 = 0x06;
/// Offsets that refer to metadata of the packet instead of its bytes (`SKF_AD_OFF` and up).
const PACKET_TYPE: u32 = -0x1000i32 as u32 + 4;
const INTERFACE: u32 = -0x1000i32 as u32 + 8;
const VLAN_TAG: u32 = -0x1000i32 as u32 + 44;
const VLAN_TAG_PRESENT: u32 = -0x1000i32 as u32 + 48;
/// Offset of the network header, wherever the data that a socket receives begin (`SKF_NET_OFF`).
const NETWORK_HEADER: u32 = -0x10_0000i32 as u32;

/// Bits of the IPv4 fragment field: don't fragment, and those of which a fragment has at least one.
const DONT_FRAGMENT: u32 = 0x4000;
const FRAGMENT: u32 = 0x3fff;

const ETHERTYPE: u32 = 12;
const NETWORK: u32 = 14;
pub(super) const UDP_HEADER: u32 = 8;
/// `PACKET_OTHERHOST`: frames for other hosts, which a promiscuous device receives.
const OTHER_HOST: u32 = 3;
/// The index of the loopback device in every network namespace.
const LOOPBACK: u32 = 1;
/// The result that accepts a frame in full length.
const WHOLE: u32 = u32::MAX;

pub(super) fn op(code: u16, operand: u32) -> Instruction {
    Instruction { code, if_true: 0, if_false: 0, operand }
}

pub(super) fn jump(code: u16, operand: u32, if_true: u8, if_false: u8) -> Instruction {
    Instruction { code, if_true, if_false, operand }
}

/// Runs a block if the accumulator equals `value`, and jumps over it otherwise.
pub(super) fn when_equal(value: u32, block: Vec<Instruction>) -> Vec<Instruction> {
    let mut code = vec![jump(JUMP_EQUAL, value, 1, 0), op(JUMP, block.len() as u32)];
    code.extend(block);
    code
}

/// Drops VLAN frames and frames that are not addressed to this host; otherwise loads the EtherType into the
/// accumulator.
fn to_this_host() -> Vec<Instruction> {
    let mut code = vec![op(LOAD_BYTE, PACKET_TYPE), jump(JUMP_EQUAL, 0, 1, 0), op(RETURN, 0)];
    code.extend(no_vlan());
    code
}

/// Drops VLAN frames; otherwise loads the EtherType into the accumulator. A tag with VLAN id 0 only carries a priority,
/// so its frame belongs to no VLAN.
fn no_vlan() -> Vec<Instruction> {
    vec![
        op(LOAD_BYTE, VLAN_TAG_PRESENT),
        jump(JUMP_EQUAL, 0, 4, 0),
        op(LOAD_HALF, VLAN_TAG),
        op(AND, 0xfff),
        jump(JUMP_EQUAL, 0, 1, 0),
        op(RETURN, 0),
        op(LOAD_HALF, ETHERTYPE),
    ]
}

/// Drops packets that are not UDP over IPv4, have options, are fragments or may be fragmented.
fn whole_udp() -> Vec<Instruction> {
    let reject = op(RETURN, 0);
    vec![
        op(LOAD_BYTE, NETWORK),
        jump(JUMP_EQUAL, 0x45, 1, 0),
        reject,
        op(LOAD_HALF, NETWORK + 6),
        op(AND, DONT_FRAGMENT | FRAGMENT),
        jump(JUMP_EQUAL, DONT_FRAGMENT, 1, 0),
        reject,
        op(LOAD_BYTE, NETWORK + 9),
        jump(JUMP_EQUAL, 17, 1, 0),
        reject,
    ]
}

/// Drops packets that are not UDP over IPv6 without extension headers. With `fragments`, accepts fragments of UDP
/// datagrams.
fn udp_over_ipv6(fragments: bool) -> Vec<Instruction> {
    let mut code = vec![op(LOAD_BYTE, NETWORK + 6)];
    if fragments {
        let accept = [op(LOAD_BYTE, NETWORK + 40), jump(JUMP_EQUAL, 17, 0, 1), op(RETURN, WHOLE), op(RETURN, 0)];
        code.extend(when_equal(44, accept.to_vec()));
    }
    code.extend([jump(JUMP_EQUAL, 17, 1, 0), op(RETURN, 0)]);
    code
}

/// The maximum number of port ranges that a filter tests.
const RANGES: usize = 256;

/// Returns at most [`RANGES`] ranges of ports (first and last) that contain all given ports and as few others as
/// possible.
fn ranges(mut ports: Vec<u32>) -> Vec<(u32, u32)> {
    ports.sort_unstable();
    ports.dedup();
    let mut gaps: Vec<u32> = ports.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 1).collect();
    gaps.sort_unstable();
    // Gaps narrower than this are filled.
    let narrowest = gaps.len().checked_sub(RANGES).map_or(2, |at| gaps[at] + 1);
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for port in ports {
        match ranges.last_mut() {
            Some((_, last)) if port - *last < narrowest => *last = port,
            _ => ranges.push((port, port)),
        }
    }
    ranges
}

/// Identifies datagrams by a few bytes of their payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// Payload offsets and the values allowed there; all must match. There should be few offsets, close to the start,
    /// and few values.
    pub bytes: Vec<(u8, Vec<u8>)>,
}

/// Which datagrams to the destinations a filter passes.
#[derive(Clone, Copy, Debug)]
enum Which<'a> {
    All,
    Matching(&'a Pattern),
    Others(&'a Pattern),
}

impl Which<'_> {
    /// Whether fragments pass. They belong to one filter of those that divide datagrams.
    fn with_fragments(self) -> bool {
        !matches!(self, Which::Matching(_))
    }

    /// Continues after the block, or drops the packet. The index register holds the length of the IP header.
    fn block(self) -> Vec<Instruction> {
        // The test continues at the first instruction if the pattern matches, and at the second if not.
        let (pattern, want) = match self {
            Which::All => return vec![],
            Which::Matching(pattern) => (pattern, true),
            Which::Others(pattern) => (pattern, false),
        };
        let exits = if want { [op(JUMP, 1), op(RETURN, 0)] } else { [op(RETURN, 0), op(JUMP, 0)] };
        let (load, length) = (LOAD_BYTE_INDEXED, [op(LOAD_LENGTH, 0), op(SUBTRACT_INDEX, 0)]);
        let mut block = length.to_vec();
        block.extend(pattern.test(load, NETWORK + UDP_HEADER, &exits[..1]));
        block.push(exits[1]);
        block
    }
}

impl Pattern {
    /// Runs a short block if the pattern matches, and jumps over it otherwise. The accumulator holds the length of the
    /// packet, or of the part from which `payload` counts.
    fn test(&self, load: u16, payload: u32, block: &[Instruction]) -> Vec<Instruction> {
        let last = self.bytes.iter().map(|(at, _)| u32::from(*at)).max().unwrap_or(0);
        let mut code = block.to_vec();
        // Each test falls through if it holds and jumps over the block otherwise. Built from the end, so that the
        // distance is known.
        for (at, values) in self.bytes.iter().rev() {
            let count = values.len() as u8;
            let mut test = vec![op(load, payload + u32::from(*at))];
            for (i, value) in (1..).zip(values) {
                let if_not = if i == count { code.len() as u8 } else { 0 };
                test.push(jump(JUMP_EQUAL, u32::from(*value), count - i, if_not));
            }
            test.extend(code);
            code = test;
        }
        code.insert(0, jump(JUMP_NOT_LESS, payload + last + 1, 0, code.len() as u8));
        code
    }
}

impl Filter {
    /// Returns the filter of a match; `None` if it passes everything.
    pub fn of(frames: &FrameMatch) -> Result<Option<Filter>, TooLong> {
        match frames {
            FrameMatch::Everything => Ok(None),
            FrameMatch::EtherTypes(types) => Filter::ether_types(types).map(Some),
            FrameMatch::UdpDestinations(destinations) => Filter::udp_destinations(destinations).map(Some),
        }
    }

    /// Passes frames with one of these EtherTypes that are addressed to this host or to a group, and are untagged or
    /// have VLAN id 0. Drops all others.
    pub fn ether_types(types: &[u16]) -> Result<Filter, TooLong> {
        let mut code = vec![op(LOAD_BYTE, PACKET_TYPE), jump(JUMP_NOT_LESS, OTHER_HOST, 0, 1), op(RETURN, 0)];
        code.extend(no_vlan());
        code.extend(types.iter().flat_map(|t| [jump(JUMP_EQUAL, u32::from(*t), 0, 1), op(RETURN, WHOLE)]));
        code.push(op(RETURN, 0));
        if code.len() > MAX { Err(TooLong(code.len())) } else { Ok(Filter(code)) }
    }

    /// Drops everything.
    pub fn nothing() -> Filter {
        Filter(vec![op(RETURN, 0)])
    }

    /// Passes frames that are addressed to this host, are untagged or have VLAN id 0, and carry a UDP datagram to one
    /// of these destinations: over IPv4 without options and with the don't-fragment flag, or over IPv6 without
    /// extension headers. Drops all others. [`Filter::but_raw`] is the complement. If there are too many destinations
    /// for the kernel's limit, the filter compares ports only, and also passes datagrams to these ports of other
    /// addresses. If there are destinations over IPv6, fragments of UDP datagrams over IPv6 pass, whatever their
    /// destination.
    pub fn udp_destinations(destinations: &[(IpAddr, u16)]) -> Result<Filter, TooLong> {
        Filter::udp(destinations, Which::All)
    }

    /// Splits [`Filter::udp_destinations`] into two filters: datagrams with a pattern, and all others.
    pub fn divided(destinations: &[(IpAddr, u16)], pattern: &Pattern) -> Result<[Filter; 2], TooLong> {
        Ok([Filter::udp(destinations, Which::Matching(pattern))?, Filter::udp(destinations, Which::Others(pattern))?])
    }

    fn udp(destinations: &[(IpAddr, u16)], which: Which<'_>) -> Result<Filter, TooLong> {
        let mut v4: BTreeMap<Ipv4Addr, Vec<u16>> = BTreeMap::new();
        let mut v6: BTreeMap<Ipv6Addr, Vec<u16>> = BTreeMap::new();
        for (address, port) in destinations {
            let ports = match address {
                IpAddr::V4(a) => v4.entry(*a).or_default(),
                IpAddr::V6(a) => v6.entry(*a).or_default(),
            };
            if !ports.contains(port) {
                ports.push(*port);
            }
        }
        let reject = op(RETURN, 0);
        let accept_ports = |ports: &[u16]| {
            let accept = |p: &u16| [jump(JUMP_EQUAL, u32::from(*p), 0, 1), op(RETURN, WHOLE)];
            let mut code: Vec<_> = ports.iter().flat_map(accept).collect();
            code.push(reject);
            code
        };

        let mut ipv4 = whole_udp();
        let block = which.block();
        if !block.is_empty() {
            ipv4.push(op(LOAD_INDEX_HEADER_LENGTH, NETWORK));
            ipv4.extend(&block);
        }
        for (address, ports) in &v4 {
            ipv4.push(op(LOAD_WORD, NETWORK + 16));
            let mut block = vec![op(LOAD_INDEX_HEADER_LENGTH, NETWORK), op(LOAD_HALF_INDEXED, NETWORK + 2)];
            block.extend(accept_ports(ports));
            ipv4.extend(when_equal(u32::from(*address), block));
        }
        ipv4.push(reject);

        let mut ipv6 = udp_over_ipv6(which.with_fragments() && !v6.is_empty());
        if !block.is_empty() {
            ipv6.push(op(LOAD_INDEX, 40));
            ipv6.extend(&block);
        }
        for (address, ports) in &v6 {
            let mut block = vec![op(LOAD_HALF, NETWORK + 40 + 2)];
            block.extend(accept_ports(ports));
            for word in (0..4).rev() {
                let bits = (u128::from(*address) >> (96 - 32 * word)) as u32;
                let mut outer = vec![op(LOAD_WORD, NETWORK + 24 + 4 * word)];
                outer.extend(when_equal(bits, block));
                block = outer;
            }
            ipv6.extend(block);
        }
        ipv6.push(reject);

        let mut code = to_this_host();
        code.extend(when_equal(0x0800, ipv4));
        code.extend(when_equal(0x86dd, ipv6));
        code.push(reject);
        if code.len() <= MAX {
            return Ok(Filter(code));
        }
        Filter::udp_ports(destinations, which)
    }

    /// Compares ports only, for more destinations than fit a filter.
    fn udp_ports(destinations: &[(IpAddr, u16)], which: Which<'_>) -> Result<Filter, TooLong> {
        let (accept, reject) = (op(RETURN, WHOLE), op(RETURN, 0));
        let ports = |v4: bool| {
            let ports = destinations.iter().filter(|(a, _)| a.is_ipv4() == v4).map(|(_, port)| u32::from(*port));
            let within = |(first, last): (u32, u32)| {
                [jump(JUMP_NOT_LESS, first, 0, 2), jump(JUMP_NOT_LESS, last + 1, 1, 0), accept]
            };
            let mut code: Vec<_> = ranges(ports.collect()).into_iter().flat_map(within).collect();
            code.push(reject);
            code
        };
        let block = which.block();
        let mut ipv4 = whole_udp();
        ipv4.push(op(LOAD_INDEX_HEADER_LENGTH, NETWORK));
        ipv4.extend(&block);
        ipv4.push(op(LOAD_HALF_INDEXED, NETWORK + 2));
        ipv4.extend(ports(true));
        let any_ipv6 = destinations.iter().any(|(address, _)| address.is_ipv6());
        let mut ipv6 = udp_over_ipv6(which.with_fragments() && any_ipv6);
        ipv6.push(op(LOAD_INDEX, 40));
        ipv6.extend(&block);
        ipv6.push(op(LOAD_HALF, NETWORK + 40 + 2));
        ipv6.extend(ports(false));
        let mut code = to_this_host();
        code.extend(when_equal(0x0800, ipv4));
        code.extend(when_equal(0x86dd, ipv6));
        code.push(reject);
        if code.len() > MAX { Err(TooLong(code.len())) } else { Ok(Filter(code)) }
    }

    /// Returns the filter of a UDP socket, over IPv4 or IPv6, beside raw ports: it drops the datagrams to the socket
    /// that raw ports take, and passes the rest. `None` if raw ports take nothing. It drops exactly what
    /// [`Filter::udp_destinations`] passes.
    ///
    /// Packet sockets see the fragments of a datagram, UDP sockets only the reassembled datagram, which carries no
    /// trace of fragmentation. Over IPv4, only datagrams without the don't-fragment flag can have been fragmented; the
    /// sockets keep these. Over IPv6, datagrams longer than the MTU must have been, and the sockets keep them; packet
    /// sockets reassemble shorter ones.
    ///
    /// [`Takes::Frames`] drops all but datagrams longer than the MTU, and over IPv6 those with extension headers.
    ///
    /// With `arrivals`, the filter also drops what arrived through other devices than these and the loopback device.
    pub(crate) fn but_raw(raw: &[&RawDevice], ipv4: bool, arrivals: Option<&[u32]>) -> Result<Option<Filter>, TooLong> {
        let (accept, drop) = (op(RETURN, WHOLE), op(RETURN, 0));
        let mut blocks: Vec<(Vec<Instruction>, Vec<u32>)> = Vec::new();
        for device in raw {
            let frames = device.takes == Takes::Frames;
            let to_this_host = [op(LOAD_BYTE, PACKET_TYPE), jump(JUMP_EQUAL, 0, 1, 0), accept];
            let mut block = if frames { Vec::new() } else { to_this_host.to_vec() };
            if ipv4 && frames {
                block.extend([
                    op(LOAD_HALF, NETWORK_HEADER + 2),
                    jump(JUMP_NOT_LESS, device.mtu.saturating_add(1), 0, 1),
                    accept,
                ]);
            } else if ipv4 {
                block.extend([
                    op(LOAD_BYTE, NETWORK_HEADER),
                    jump(JUMP_EQUAL, 0x45, 1, 0),
                    accept,
                    op(LOAD_HALF, NETWORK_HEADER + 6),
                    op(AND, DONT_FRAGMENT | FRAGMENT),
                    jump(JUMP_EQUAL, DONT_FRAGMENT, 1, 0),
                    accept,
                ]);
            } else {
                block.extend([
                    op(LOAD_BYTE, NETWORK_HEADER + 6),
                    jump(JUMP_EQUAL, 17, 1, 0),
                    accept,
                    op(LOAD_HALF, NETWORK_HEADER + 4),
                    jump(JUMP_NOT_LESS, device.mtu.saturating_sub(39), 0, 1),
                    accept,
                ]);
            }
            match &device.takes {
                Takes::Nothing => continue,
                Takes::All | Takes::Frames => block.push(drop),
                Takes::Only(pattern) => {
                    block.push(op(LOAD_LENGTH, 0));
                    block.extend(pattern.test(LOAD_BYTE, UDP_HEADER, &[drop]));
                    block.push(accept);
                }
            }
            match blocks.iter_mut().find(|(other, _)| *other == block) {
                Some((_, devices)) => devices.push(device.index),
                None => blocks.push((block, vec![device.index])),
            }
        }
        // Built from the last block on, because jumps go forward.
        let mut code = match arrivals {
            None if blocks.is_empty() => return Ok(None),
            None => vec![accept],
            Some(devices) => {
                let pass = |index: &u32| [jump(JUMP_EQUAL, *index, 0, 1), accept];
                [LOOPBACK].iter().chain(devices).flat_map(pass).chain([drop]).collect()
            }
        };
        for (block, devices) in blocks {
            // For each device, two instructions, which jump to the device's block.
            let mut part = Vec::new();
            for (i, index) in devices.iter().enumerate() {
                let behind = 2 * (devices.len() - i - 1) + 1;
                part.extend([jump(JUMP_EQUAL, *index, 0, 1), op(JUMP, behind as u32)]);
            }
            part.push(op(JUMP, block.len() as u32));
            part.extend(block);
            part.extend(code);
            code = part;
        }
        code.insert(0, op(LOAD_WORD, INTERFACE));
        if code.len() > MAX { Err(TooLong(code.len())) } else { Ok(Some(Filter(code))) }
    }

    /// For a raw ICMP socket, whose data begin with the IPv4 header: passes "fragmentation needed" messages (RFC 1191).
    pub(crate) fn fragmentation_needed() -> Filter {
        Filter(vec![
            op(LOAD_INDEX_HEADER_LENGTH, 0),
            op(LOAD_HALF_INDEXED, 0),
            jump(JUMP_EQUAL, 0x0304, 0, 1),
            op(RETURN, WHOLE),
            op(RETURN, 0),
        ])
    }

    /// Passes untagged frames to this host that answer a query for a neighbour's link-layer address: ARP replies (RFC
    /// 826) and neighbour advertisements (RFC 4861). Drops all others.
    pub fn neighbour_answers() -> Filter {
        let (reject, accept) = (op(RETURN, 0), op(RETURN, WHOLE));
        let arp = vec![op(LOAD_HALF, NETWORK + 6), jump(JUMP_EQUAL, 2, 0, 1), accept, reject];
        let ipv6 = vec![
            op(LOAD_BYTE, NETWORK + 6),
            jump(JUMP_EQUAL, 58, 0, 3),
            op(LOAD_BYTE, NETWORK + 40),
            jump(JUMP_EQUAL, 136, 0, 1),
            accept,
            reject,
        ];
        let mut code = to_this_host();
        code.extend(when_equal(0x0806, arp));
        code.extend(when_equal(0x86dd, ipv6));
        code.push(reject);
        Filter(code)
    }

    /// The instructions of the program.
    pub fn instructions(&self) -> &[Instruction] {
        &self.0
    }
}

#[cfg(test)]
mod tests;
