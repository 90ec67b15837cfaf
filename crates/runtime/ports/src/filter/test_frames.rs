//! Frames with UDP datagrams, for tests of the programs that select frames.

use std::net::Ipv6Addr;

/// Builds a datagram over IPv4, with `options` words of options.
pub(crate) fn udp4(dst_mac: [u8; 6], dst: [u8; 4], port: u16, options: usize) -> Vec<u8> {
    let mut f = dst_mac.to_vec();
    f.extend([9; 6]);
    f.extend([8, 0, 0x45 + options as u8, 0, 0, 40, 0, 0, 0x40, 0, 64, 17, 0, 0, 9, 9, 9, 9]);
    f.extend(dst);
    f.extend(vec![1; options * 4]);
    f.extend([0x30, 0x39]);
    f.extend(port.to_be_bytes());
    f.extend([0; 8]);
    f
}

/// Builds a datagram over IPv6.
pub(crate) fn udp6(dst_mac: [u8; 6], dst: Ipv6Addr, port: u16) -> Vec<u8> {
    let mut f = dst_mac.to_vec();
    f.extend([9; 6]);
    f.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 8, 17, 64]);
    f.extend([9; 16]);
    f.extend(dst.octets());
    f.extend([0x30, 0x39]);
    f.extend(port.to_be_bytes());
    f.extend([0; 4]);
    f
}
