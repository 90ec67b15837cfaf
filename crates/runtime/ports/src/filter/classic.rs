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
mod tests {
    use super::*;
    use crate::filter::test_frames;

    /// Runs a filter as the kernel does: an interpreter of the instructions used here. A load beyond the packet drops
    /// it.
    fn run(filter: &Filter, packet: &[u8], packet_type: u32, tagged: bool) -> bool {
        run_tagged(filter, packet, packet_type, tagged.then_some(5))
    }

    fn run_tagged(filter: &Filter, packet: &[u8], packet_type: u32, tag: Option<u16>) -> bool {
        run_at(filter, packet, 0, 1, packet_type, tag)
    }

    /// Like [`run`], with the socket's data beginning at an offset of the frame.
    fn run_at(filter: &Filter, frame: &[u8], start: usize, interface: u32, packet_type: u32, tag: Option<u16>) -> bool {
        let packet = &frame[start..];
        let (mut a, mut x, mut pc) = (0u32, 0u32, 0usize);
        let byte = |at: u32| {
            let network = at.wrapping_sub(NETWORK_HEADER);
            let byte = if network < 100 { frame.get((NETWORK + network) as usize) } else { packet.get(at as usize) };
            byte.map(|b| u32::from(*b))
        };
        let load = |at: u32, bytes: u32| (0..bytes).try_fold(0, |v, i| Some(v << 8 | byte(at + i)?));
        loop {
            let i = filter.0[pc];
            pc += 1;
            let value = match i.code {
                LOAD_BYTE if i.operand == PACKET_TYPE => Some(packet_type),
                LOAD_BYTE if i.operand == VLAN_TAG_PRESENT => Some(u32::from(tag.is_some())),
                LOAD_WORD if i.operand == INTERFACE => Some(interface),
                LOAD_HALF if i.operand == VLAN_TAG => Some(u32::from(tag.unwrap_or(0))),
                LOAD_BYTE => load(i.operand, 1),
                LOAD_HALF => load(i.operand, 2),
                LOAD_WORD => load(i.operand, 4),
                LOAD_HALF_INDEXED => load(i.operand + x, 2),
                LOAD_BYTE_INDEXED => load(i.operand + x, 1),
                LOAD_LENGTH => Some(packet.len() as u32),
                SUBTRACT_INDEX => Some(a.wrapping_sub(x)),
                LOAD_INDEX => {
                    x = i.operand;
                    continue;
                }
                LOAD_INDEX_HEADER_LENGTH => {
                    let Some(b) = byte(i.operand) else { return false };
                    x = (b & 15) * 4;
                    continue;
                }
                AND => Some(a & i.operand),
                JUMP => {
                    pc += i.operand as usize;
                    continue;
                }
                JUMP_EQUAL | JUMP_NOT_LESS => {
                    let yes = match i.code {
                        JUMP_EQUAL => a == i.operand,
                        _ => a >= i.operand,
                    };
                    pc += usize::from(if yes { i.if_true } else { i.if_false });
                    continue;
                }
                RETURN => return i.operand != 0,
                other => panic!("opcode {other:#x}"),
            };
            match value {
                Some(v) => a = v,
                None => return false,
            }
        }
    }

    fn v4(dst: [u8; 4], port: u16, options: usize) -> Vec<u8> {
        test_frames::udp4([0; 6], dst, port, options)
    }

    fn v6(dst: &str, port: u16) -> Vec<u8> {
        test_frames::udp6([0; 6], dst.parse().unwrap(), port)
    }

    #[test]
    fn passes_what_is_ours_and_nothing_else() {
        let ours: Vec<(IpAddr, u16)> = vec![
            ("192.0.2.1".parse().unwrap(), 30042),
            ("192.0.2.1".parse().unwrap(), 50000),
            ("198.51.100.7".parse().unwrap(), 30042),
            ("fd00::1".parse().unwrap(), 50000),
            ("fd00::2".parse().unwrap(), 50001),
            ("fd00::2".parse().unwrap(), 50001),
        ];
        let f = Filter::udp_destinations(&ours).unwrap();
        let pass = |p: &[u8]| run(&f, p, 0, false);
        assert!(pass(&v4([192, 0, 2, 1], 30042, 0)));
        assert!(!pass(&v4([192, 0, 2, 1], 50000, 3)), "with options");
        assert!(pass(&v4([198, 51, 100, 7], 30042, 0)));
        assert!(!pass(&v4([198, 51, 100, 7], 50000, 0)), "the other address's port");
        assert!(!pass(&v4([192, 0, 2, 2], 30042, 0)), "another address");
        assert!(pass(&v6("fd00::1", 50000)));
        assert!(pass(&v6("fd00::2", 50001)));
        assert!(!pass(&v6("fd00::2", 50000)));
        assert!(!pass(&v6("fd00:0:0:1::2", 50001)));

        let good = v4([192, 0, 2, 1], 30042, 0);
        assert!(!run(&f, &good, 3, false), "another host's frame");
        assert!(!run(&f, &good, 0, true), "a VLAN's frame");
        assert!(run_tagged(&f, &good, 0, Some(0x6000)), "only a priority");
        let change = |at: usize, to: u8| {
            let mut p = good.clone();
            p[at] = to;
            pass(&p)
        };
        assert!(!change(13, 6), "ARP");
        assert!(!change(14, 0x65), "version 6 in IPv4");
        assert!(!change(20, 0x20), "first fragment");
        assert!(!change(21, 1), "later fragment");
        assert!(!change(20, 0), "what may be fragments");
        assert!(!change(23, 6), "TCP");
        for cut in 0..38 {
            assert!(!pass(&good[..cut]), "cut to {cut}");
        }
    }

    #[test]
    fn packet_sockets_see_fragments_over_ipv6() {
        let fragment = |protocol: u8| {
            let mut frame = v6("fd00::9", 1);
            frame[20] = 44;
            frame[54] = protocol;
            frame
        };
        let few: Vec<(IpAddr, u16)> = vec![("192.0.2.1".parse().unwrap(), 5), ("fd00::1".parse().unwrap(), 5)];
        // With this many, the filter compares ports only.
        let many: Vec<(IpAddr, u16)> = (0..4000).map(|i: u16| ([0xfd, 0, 0, 0, 0, 0, 0, i].into(), i)).collect();
        let pattern = Pattern { bytes: vec![(4, vec![203])] };
        for destinations in [&few, &many] {
            let [urgent, others] = Filter::divided(destinations, &pattern).unwrap();
            for filter in [&Filter::udp_destinations(destinations).unwrap(), &others] {
                assert!(run(filter, &fragment(17), 0, false) && !run(filter, &fragment(6), 0, false));
                assert!(!run(filter, &fragment(17), 3, false), "another host's frame");
            }
            assert!(!run(&urgent, &fragment(17), 0, false));
        }
        assert!(!run(&Filter::udp_destinations(&few[..1]).unwrap(), &fragment(17), 0, false), "only IPv4");
    }

    #[test]
    fn ether_types_pass() {
        let f = Filter::of(&FrameMatch::EtherTypes(vec![0xd1f0, 0x88b5])).unwrap().unwrap();
        let frame = |ether_type: [u8; 2]| [&[2; 12][..], &ether_type, &[0; 4]].concat();
        for packet_type in 0..3 {
            assert!(
                run(&f, &frame([0xd1, 0xf0]), packet_type, false) && run(&f, &frame([0x88, 0xb5]), packet_type, false)
            );
            assert!(!run(&f, &frame([8, 0]), packet_type, false));
        }
        assert!(!run(&f, &frame([0xd1, 0xf0]), 3, false), "another host's frame");
        assert!(!run(&f, &frame([0xd1, 0xf0]), 0, true), "a VLAN's frame");
        assert!(run_tagged(&f, &frame([0xd1, 0xf0]), 0, Some(0x6000)), "only a priority");
        assert_eq!(Filter::of(&FrameMatch::Everything), Ok(None));
        assert_eq!(Filter::ether_types(&[7; 3000]), Err(TooLong(6011)));
    }

    #[test]
    fn a_pattern_divides_what_is_ours() {
        let ours = [("192.0.2.1".parse().unwrap(), 30042), ("fd00::1".parse().unwrap(), 50000)];
        let pattern = Pattern { bytes: vec![(4, vec![203]), (8, vec![0, 2, 9])] };
        let [matching, others] = Filter::divided(&ours, &pattern).unwrap();
        let mut seen = [0; 3];
        for start in [v4([192, 0, 2, 1], 30042, 0), v6("fd00::1", 50000)] {
            // Up to the payload.
            let start = &start[..start.len() - if start[12] == 8 { 4 } else { 0 }];
            for (protocol, kind, want) in
                [(203, 0, true), (203, 2, true), (203, 9, true), (203, 1, false), (17, 2, false)]
            {
                let whole = [start, &[0, 0, 0, 0, protocol, 0, 0, 0, kind, 0]].concat();
                for length in 0..=whole.len() {
                    let packet = &whole[..length];
                    let all = run(&Filter::udp_destinations(&ours).unwrap(), packet, 0, false);
                    let [is, other] = [&matching, &others].map(|f| run(f, packet, 0, false));
                    assert_eq!(u8::from(is) + u8::from(other), u8::from(all), "{length} of {whole:?}");
                    assert_eq!(is, all && want && length > start.len() + 8, "{length} of {whole:?}");
                    seen[usize::from(is) + 2 * usize::from(other)] += 1;
                }
            }
        }
        assert!(seen.iter().all(|n| *n > 10), "{seen:?}");
        let elsewhere = [&v4([192, 0, 2, 2], 30042, 0)[..42], &[0, 0, 0, 0, 203, 0, 0, 0, 0, 0]].concat();
        assert!(!run(&matching, &elsewhere, 0, false) && !run(&others, &elsewhere, 0, false));
    }

    #[test]
    fn a_socket_drops_just_what_raw_ports_take() {
        let ours: [(IpAddr, u16); 2] = [("192.0.2.1".parse().unwrap(), 30042), ("fd00::1".parse().unwrap(), 30042)];
        let pattern = Pattern { bytes: vec![(0, vec![203])] };
        let raw =
            |index: u32, takes: Takes| RawDevice { index, mtu: 1500, addresses: ours.into_iter().collect(), takes };
        let mut devices: Vec<_> = (10..400).map(|index| raw(index, Takes::All)).collect();
        devices.extend((400..600).map(|index| raw(index, Takes::Only(pattern.clone()))));
        devices.push(raw(600, Takes::Nothing));
        let by_packets = Filter::udp_destinations(&ours).unwrap();
        let [urgent, _] = Filter::divided(&ours, &pattern).unwrap();

        let mut frames = Vec::new();
        for first in [203, 7] {
            let with = |mut frame: Vec<u8>, udp: usize| {
                frame.resize(udp + 8 + 20, first);
                (udp, frame)
            };
            let v4 = || v4([192, 0, 2, 1], 30042, 0);
            let v6 = || v6("fd00::1", 30042);
            let changed = |mut frame: Vec<u8>, at: usize, to: u8| {
                frame[at] = to;
                frame
            };
            frames.extend([with(v4(), 34), with(v6(), 54)]);
            // Fragmentation allowed, IP options, extension headers, longer than the MTU.
            frames.extend([with(changed(v4(), 20, 0), 34), with(changed(v4(), 14, 0x46), 38)]);
            frames.extend([with(changed(v6(), 20, 0), 62)]);
        }
        let mut seen = [0; 2];
        for (udp, frame) in &frames {
            let ipv4 = frame[12] == 8;
            let raw: Vec<_> = devices.iter().collect();
            let filter = Filter::but_raw(&raw, ipv4, None).unwrap().unwrap();
            for (index, taken) in
                [(10, &by_packets), (211, &by_packets), (399, &by_packets), (400, &urgent), (599, &urgent)]
            {
                let by_raw = run(taken, frame, 0, false);
                assert_eq!(run_at(&filter, frame, *udp, index, 0, None), !by_raw, "{index}: {frame:?}");
                seen[usize::from(by_raw)] += 1;
                assert!(run_at(&filter, frame, *udp, index, 1, None), "for all hosts");
            }
            for other in [1, 9, 600, 601] {
                assert!(run_at(&filter, frame, *udp, other, 0, None), "{other}");
            }
            // Restricted to some devices.
            let strict = Filter::but_raw(&raw, ipv4, Some(&[600, 700])).unwrap().unwrap();
            for (other, passes) in [(1, true), (600, true), (700, true), (601, false)] {
                assert_eq!(run_at(&strict, frame, *udp, other, 0, None), passes, "{other}");
            }
        }
        assert!(seen.iter().all(|n| *n > 5), "{seen:?}");
        // Beside a port that takes every frame, only reassembled datagrams are left.
        let every = raw(10, Takes::Frames);
        let (v4_filter, v6_filter) = (
            Filter::but_raw(&[&every], true, None).unwrap().unwrap(),
            Filter::but_raw(&[&every], false, None).unwrap().unwrap(),
        );
        for (udp, frame) in &frames {
            let (ipv4, extended) = (frame[12] == 8, frame[12] != 8 && frame[20] != 17);
            let filter = if ipv4 { &v4_filter } else { &v6_filter };
            for packet_type in [0, 1] {
                assert_eq!(run_at(filter, frame, *udp, 10, packet_type, None), extended, "{frame:?}");
            }
            assert!(run_at(filter, frame, *udp, 11, 0, None), "another device");
            let mut long = frame.clone();
            let (at, length) = if ipv4 { (16, 1501u16) } else { (18, 1461) };
            long[at..at + 2].copy_from_slice(&length.to_be_bytes());
            assert!(run_at(filter, &long, *udp, 10, 0, None), "{frame:?}");
        }
        // Over IPv6, a datagram longer than the MTU arrived in fragments.
        let filter = Filter::but_raw(&[&devices[0]], false, None).unwrap().unwrap();
        for (length, passes) in [(1460, false), (1461, true)] {
            let mut frame = v6("fd00::1", 30042);
            frame[18..20].copy_from_slice(&u16::to_be_bytes(length));
            assert_eq!(run_at(&filter, &frame, 54, 10, 0, None), passes);
        }
        assert_eq!(Filter::but_raw(&[&devices[590]], true, None), Ok(None));
        assert_eq!(Filter::but_raw(&[], true, None), Ok(None));
    }

    #[test]
    fn neighbour_answers_pass_and_questions_do_not() {
        let f = Filter::neighbour_answers();
        let arp = |operation: u8| [vec![0; 12], vec![8, 6, 0, 1, 8, 0, 6, 4, 0, operation], vec![0; 20]].concat();
        assert!(run(&f, &arp(2), 0, false));
        assert!(!run(&f, &arp(1), 0, false));
        assert!(!run(&f, &arp(2), 1, false), "a broadcast");
        assert!(!run(&f, &arp(2), 0, true), "a VLAN's frame");
        let ipv6 = |next_header: u8, icmp_type: u8| {
            [vec![0; 12], vec![0x86, 0xdd, 0x60, 0, 0, 0, 0, 24, next_header], vec![0; 33], vec![icmp_type; 24]]
                .concat()
        };
        assert!(run(&f, &ipv6(58, 136), 0, false));
        assert!(!run(&f, &ipv6(58, 135), 0, false));
        assert!(!run(&f, &ipv6(17, 136), 0, false));
        assert!(!run(&f, &v4([192, 0, 2, 1], 2, 0), 0, false));
    }

    #[test]
    fn many_destinations_work() {
        let all = |n: u16| (0..n).map(|i| ([10, 0, (i >> 8) as u8, i as u8].into(), 1000 + i)).collect::<Vec<_>>();
        let f = Filter::udp_destinations(&all(400)).unwrap();
        assert!(run(&f, &v4([10, 0, 1, 143], 1399, 0), 0, false));
        assert!(!run(&f, &v4([10, 0, 1, 143], 1398, 0), 0, false));
        // With more destinations, the filter compares ports only.
        let many = all(4096);
        let pattern = Pattern { bytes: vec![(4, vec![203]), (8, vec![0, 2])] };
        let [urgent, others] = Filter::divided(&many, &pattern).unwrap();
        let f = Filter::udp_destinations(&many).unwrap();
        assert!(f.instructions().len() <= MAX);
        for (address, port) in &many {
            let IpAddr::V4(address) = address else { unreachable!() };
            let frame = v4(address.octets(), *port, 0);
            assert!(run(&f, &frame, 0, false) && run(&others, &frame, 0, false) && !run(&urgent, &frame, 0, false));
        }
        assert!(!run(&f, &v4([10, 0, 1, 143], 999, 0), 0, false), "another port");
        assert!(!run(&f, &v4([10, 0, 1, 143], 1399, 0), 1, false), "not for this host");
        let scattered: Vec<_> =
            (0..4096).map(|i: u16| ([10, 0, (i >> 8) as u8, i as u8].into(), 1000 + 3 * i)).collect();
        let f = Filter::udp_destinations(&scattered).unwrap();
        assert!(f.instructions().len() <= MAX);
        assert!((0..4096).all(|i: u16| run(&f, &v4([10, 0, 0, 1], 1000 + 3 * i, 0), 0, false)));
        let one_address: Vec<_> = (0..1500).map(|p| ("fd00::1".parse().unwrap(), p)).collect();
        let f = Filter::udp_destinations(&one_address).unwrap();
        assert!(run(&f, &v6("fd00::1", 1499), 0, false));
        assert!(!run(&f, &v6("fd00::1", 1500), 0, false));
        assert!(!run(&Filter::nothing(), &v6("fd00::1", 1499), 0, false));
        let none = Filter::udp_destinations(&[]).unwrap();
        assert!(!run(&none, &v6("fd00::1", 1499), 0, false));
    }
}
