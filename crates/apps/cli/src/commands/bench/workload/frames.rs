//! Frames for the benchmark's programs: headers in network order, padded to a size.

use hopwright_ports::checksum;

/// A frame and the port it arrives at.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub port: u32,
    pub bytes: Vec<u8>,
}

impl Frame {
    /// Headers, padded to this size.
    pub(crate) fn new(port: u64, bytes: usize, mut headers: Vec<u8>) -> Frame {
        headers.resize(headers.len().max(bytes), 0xa5);
        Frame { port: port as u32, bytes: headers }
    }
}

/// A locally administered unicast address.
pub(super) fn mac(n: u64) -> u64 {
    0x0200_0000_0000 | n & 0x00ff_ffff_ffff
}

/// An Ethernet header.
pub(super) fn eth(dst: u64, src: u64, ether_type: u16) -> Vec<u8> {
    let mut frame = Vec::with_capacity(128);
    frame.extend(&dst.to_be_bytes()[2..]);
    frame.extend(&src.to_be_bytes()[2..]);
    frame.extend(ether_type.to_be_bytes());
    frame
}

/// Ethernet, IPv4 with a correct checksum, and UDP or the ports of TCP, for a frame of this size.
pub(super) fn ipv4_udp(src: u64, dst: u64, protocol: u8, src_port: u16, dst_port: u16, bytes: usize) -> Vec<u8> {
    let mut frame = eth(mac(1), mac(2), 0x0800);
    let length = bytes.max(42) as u16 - 14;
    ipv4(&mut frame, src as u32, dst as u32, protocol, length);
    frame.extend(src_port.to_be_bytes());
    frame.extend(dst_port.to_be_bytes());
    frame.extend((length - 20).to_be_bytes());
    frame.extend([0, 0]);
    frame
}

fn ipv4(frame: &mut Vec<u8>, src: u32, dst: u32, protocol: u8, length: u16) {
    let at = frame.len();
    frame.extend([0x45, 0]);
    frame.extend(length.to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
    frame.extend(src.to_be_bytes());
    frame.extend(dst.to_be_bytes());
    let sum = !checksum::ones_sum(&frame[at..]);
    frame[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
}

/// The frame in a VLAN.
pub(super) fn tagged(mut frame: Vec<u8>, vlan: u16) -> Vec<u8> {
    let [high, low] = vlan.to_be_bytes();
    frame.splice(12..12, [0x81, 0, high, low]);
    frame
}

/// Ethernet, two labels and IPv4.
pub(super) fn mpls(label: u32, random: u64) -> Vec<u8> {
    let mut frame = eth(mac(1), mac(2), 0x8847);
    frame.extend((label << 12 | 64).to_be_bytes());
    frame.extend((99 << 12 | 1 << 8 | 64u32).to_be_bytes());
    ipv4(&mut frame, random as u32, (random >> 32) as u32, 17, 40);
    frame
}

/// Ethernet and telemetry of this many switches.
pub(super) fn telemetry(dst: u64, src: u64, records: u8) -> Vec<u8> {
    let mut frame = eth(dst, src, 0x88b5);
    frame.extend([records, 8, 0x88, 0xb6]);
    for n in 0..records {
        frame.extend([0, n, 0, 0x80, 0x80, 0, 1, 2, 3, 4, 5, 0, 0, 0, 64]);
    }
    frame
}
