//! Frames with UDP datagrams, for tests of the programs that select frames.

use std::net::{IpAddr, Ipv6Addr};

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

/// Destinations, one of them twice.
pub(crate) fn ours() -> Vec<(IpAddr, u16)> {
    let ours = [
        ("192.0.2.1", 30042),
        ("192.0.2.1", 50000),
        ("198.51.100.7", 30042),
        ("fd00::1", 50000),
        ("fd00::2", 50001),
        ("fd00::2", 50001),
    ];
    ours.map(|(address, port)| (address.parse().unwrap(), port)).to_vec()
}

/// Datagrams to [`ours`] are taken, and others are not. `mac` is the device's.
pub(crate) fn check_destinations(mac: [u8; 6], taken: impl Fn(&[u8]) -> bool) {
    let v4 = |dst, port, options| taken(&udp4(mac, dst, port, options));
    let v6 = |dst: &str, port| taken(&udp6(mac, dst.parse().unwrap(), port));
    assert!(v4([192, 0, 2, 1], 30042, 0));
    assert!(!v4([192, 0, 2, 1], 50000, 3), "with options");
    assert!(v4([198, 51, 100, 7], 30042, 0));
    assert!(!v4([198, 51, 100, 7], 50000, 0), "the other address's port");
    assert!(!v4([192, 0, 2, 2], 30042, 0), "another address");
    assert!(v6("fd00::1", 50000));
    assert!(v6("fd00::2", 50001));
    assert!(!v6("fd00::2", 50000));
    assert!(!v6("fd00:0:0:1::2", 50001));
}
