//! Writes and parses the headers around BFD packets: Ethernet, IP, UDP and SCION.
//!
//! Packets to another AS have a one-hop path, packets to a sibling router an empty path. Field values are those of the
//! reference (`router/dataplane.go`, `newBFDSend`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use hopwright_ports::checksum;

use super::packet::Control;
use super::spec::Spec;
use crate::config::keys::HopKey;
use crate::config::links::Link;
use crate::packet::{BFD, END_TO_END, Frame, HOP_BY_HOP, Hop, Host, Info, Path, Scion};
use crate::underlay::next_hop::NextHop;

/// How far the path's timestamp lies in the past, in seconds, to allow for clock differences.
const CLOCK_DRIFT: u32 = 10;

/// The length of the shortest SCION packet that carries BFD, in bytes: IPv4 hosts, no path.
pub const LEAST_BYTES: usize = 36 + Control::BYTES;

/// The length of the SCION packet that carries a BFD packet to the other end, in bytes: common header and AS numbers,
/// two host addresses, path, payload.
pub fn packet_bytes(spec: &Spec) -> usize {
    let host = if spec.underlay.local.is_ipv4() { 4 } else { 16 };
    let path = if matches!(spec.link, Link::External(_)) { 32 } else { 0 };
    28 + 2 * host + path + Control::BYTES
}

/// Builds the frame around a packet to the other end. `now` is in seconds since 1970.
pub fn write(spec: &Spec, packet: &Control, next_hop: &NextHop, key: &HopKey, now: u32) -> Vec<u8> {
    let path = match spec.link {
        Link::External(interface) => {
            let timestamp = now.saturating_sub(CLOCK_DRIFT);
            let info = Info { peering: false, cons_dir: true, seg_id: 0, timestamp };
            Path::OneHop(info, Hop::new(0, interface).signed(key.bytes(), 0, timestamp), Hop::default())
        }
        Link::Sibling(_) => Path::Empty,
    };
    let frame = Frame {
        dst_mac: next_hop.dst_mac,
        src_mac: next_hop.src_mac,
        src: spec.underlay.local,
        dst: spec.underlay.remote,
        ttl: 64,
        tos: 0,
        udp_checksum: true,
        scion: Scion {
            traffic_class: 0xb8,
            flow_id: 0xdead,
            dst_ia: spec.remote_ia,
            src_ia: spec.local_ia,
            dst: Host::Ip(spec.underlay.remote.ip()),
            src: Host::Ip(spec.underlay.local.ip()),
            path,
            extensions: vec![],
            next_hdr: BFD,
            payload: packet.encode().to_vec(),
            extra_words: 0,
        },
    };
    frame.pack()
}

/// The underlay addresses and the BFD packet of a received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<'a> {
    /// Underlay source.
    pub src: SocketAddr,
    /// Underlay destination.
    pub dst: SocketAddr,
    /// The bytes after the SCION header and its extensions.
    pub payload: &'a [u8],
}

/// Parses a frame. Returns `None` if it is not BFD over SCION over UDP, is truncated, or has a wrong UDP checksum. Over
/// IPv4, a zero checksum (none) is accepted.
pub fn read(frame: &[u8]) -> Option<Received<'_>> {
    let word = |bytes: &[u8], at: usize| Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    let (src, dst, protocol, rest, pseudo): (IpAddr, IpAddr, u8, &[u8], &[u8]) = match word(frame, 12)? {
        0x0800 => {
            let header: &[u8; 20] = frame.get(14..)?.first_chunk()?;
            let total = usize::from(word(header, 2)?);
            if header[0] != 0x45 || word(header, 6)? & 0x3fff != 0 {
                return None;
            }
            let address = |at: usize| Some(Ipv4Addr::from(*header[at..].first_chunk::<4>()?).into());
            (address(12)?, address(16)?, header[9], frame.get(34..14 + total)?, &header[12..20])
        }
        0x86dd => {
            let header: &[u8; 40] = frame.get(14..)?.first_chunk()?;
            let length = usize::from(word(header, 4)?);
            let address = |at: usize| Some(Ipv6Addr::from(*header[at..].first_chunk::<16>()?).into());
            (address(8)?, address(24)?, header[6], frame.get(54..54 + length)?, &header[8..40])
        }
        _ => return None,
    };
    let udp = rest.get(..usize::from(word(rest, 4)?))?;
    let scion = udp.get(8..)?;
    if protocol != crate::packet::UDP {
        return None;
    }
    let sum = word(udp, 6)?;
    if sum != 0 || dst.is_ipv6() {
        let sums = u64::from(checksum::ones_sum(pseudo)) + u64::from(checksum::ones_sum(udp));
        let total = sums + u64::from(protocol) + udp.len() as u64;
        if sum == 0 || checksum::ones_sum(&total.to_be_bytes()) != 0xffff {
            return None;
        }
    }
    let mut next_hdr = *scion.get(4)?;
    let mut payload = scion.get(usize::from(*scion.get(5)?) * 4..)?;
    for extension in [HOP_BY_HOP, END_TO_END] {
        if next_hdr == extension {
            next_hdr = *payload.first()?;
            payload = payload.get((usize::from(*payload.get(1)?) + 1) * 4..)?;
        }
    }
    if next_hdr != BFD {
        return None;
    }
    Some(Received { src: SocketAddr::new(src, word(udp, 0)?), dst: SocketAddr::new(dst, word(udp, 2)?), payload })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::machine::State;
    use super::super::session::Settings;
    use super::*;
    use crate::config::topology::Underlay;
    use crate::packet::ia::IsdAs;
    use crate::packet::{checksum_fault, full_mac};

    const PACKET: Control = Control {
        state: State::Up,
        detect_mult: 3,
        my_discriminator: 1,
        your_discriminator: 2,
        desired_min_tx_us: 3,
        required_min_rx_us: 4,
    };
    const NEXT_HOP: NextHop = NextHop { port: 1, dst_mac: [0xaa; 6], src_mac: [0xbb; 6], mtu: 1500 };
    const NOW: u32 = 1_790_000_000;

    fn spec(link: Option<u16>, local: &str, remote: &str) -> Spec {
        let underlay = Underlay { local: local.parse().unwrap(), remote: remote.parse().unwrap() };
        let settings = Settings { detect_mult: 3, desired_min_tx: Duration::ZERO, required_min_rx: Duration::ZERO };
        Spec {
            link: link.map_or(Link::Sibling(underlay.remote), Link::External),
            underlay,
            local_ia: IsdAs(0x0001_ff00_0000_0001),
            remote_ia: IsdAs(if link.is_some() { 0x0001_ff00_0000_0003 } else { 0x0001_ff00_0000_0001 }),
            name: "x".into(),
            settings,
        }
    }

    #[test]
    fn to_another_as_in_a_one_hop_path_with_our_mac() {
        let key = HopKey::derive(b"secret");
        let spec = spec(Some(131), "192.168.13.2:50000", "192.168.13.3:40000");
        let frame = write(&spec, &PACKET, &NEXT_HOP, &key, NOW);
        assert_eq!(checksum_fault(&frame), None);
        let scion = &frame[42..];
        // Version 0, class 0xb8, flow id 0xdead; BFD, 17 words, 24 bytes; one-hop path, two IPv4 hosts.
        assert_eq!(scion[..12], [0x0b, 0x80, 0xde, 0xad, 203, 17, 0, 24, 2, 0, 0, 0]);
        assert_eq!(scion[28..36], [192, 168, 13, 3, 192, 168, 13, 2]);
        let path = &scion[36..68];
        assert_eq!(path[..4], [1, 0, 0, 0]);
        assert_eq!(path[4..8], (NOW - 10).to_be_bytes());
        assert_eq!(path[8..14], [0, 63, 0, 0, 0, 131]);
        let mac = full_mac(key.bytes(), 0, NOW - 10, &Hop::new(0, 131));
        assert_eq!(path[14..20], mac[..6]);
        assert_eq!(path[20..], [0; 12]);
        assert_eq!(scion[68..], PACKET.encode());
    }

    #[test]
    fn to_a_sibling_in_an_empty_path() {
        let key = HopKey::derive(b"secret");
        let frame = write(&spec(None, "[fd00::1]:30042", "[fd00::2]:30042"), &PACKET, &NEXT_HOP, &key, NOW);
        assert_eq!(checksum_fault(&frame), None);
        let scion = &frame[62..];
        assert_eq!(scion[4..10], [203, 15, 0, 24, 0, 0x33]);
        assert_eq!(scion[60..], PACKET.encode());
    }

    #[test]
    fn what_is_written_can_be_read_and_nothing_else() {
        let key = HopKey::derive(b"secret");
        for (link, local, remote) in [
            (Some(7), "10.0.0.1:1", "10.0.0.2:2"),
            (None, "10.0.0.1:1", "10.0.0.2:2"),
            (Some(7), "[fd00::1]:1", "[fd00::2]:2"),
        ] {
            let spec = spec(link, local, remote);
            let good = write(&spec, &PACKET, &NEXT_HOP, &key, NOW);
            let headers = if spec.underlay.local.is_ipv4() { 42 } else { 62 };
            assert_eq!(packet_bytes(&spec), good.len() - headers);
            let received = read(&good).unwrap();
            assert_eq!((received.src, received.dst), (spec.underlay.local, spec.underlay.remote));
            assert_eq!(Control::decode(received.payload), Ok(PACKET));
            for length in 0..good.len() {
                assert_eq!(read(&good[..length]), None);
            }
            // Padding after the packet is ignored.
            assert_eq!(read(&[good.as_slice(), &[0; 9]].concat()), Some(received));
            // The checksum covers everything from the addresses on. Flipping one bit of each byte is enough.
            let addresses = if spec.underlay.local.is_ipv4() { 26 } else { 22 };
            for at in addresses..good.len() {
                let mut bad = good.clone();
                bad[at] ^= 1;
                assert_eq!(read(&bad), None, "byte {at}");
            }
        }
    }

    #[test]
    fn extensions_are_skipped_and_a_missing_checksum_is_good_over_ipv4_only() {
        for (local, remote, good) in [("10.0.0.1:1", "10.0.0.2:2", true), ("[fd00::1]:1", "[fd00::2]:2", false)] {
            let spec = spec(None, local, remote);
            let frame = Frame {
                dst_mac: [1; 6],
                src_mac: [2; 6],
                src: spec.underlay.local,
                dst: spec.underlay.remote,
                ttl: 64,
                tos: 0,
                udp_checksum: true,
                scion: Scion {
                    traffic_class: 0,
                    flow_id: 0,
                    dst_ia: spec.remote_ia,
                    src_ia: spec.local_ia,
                    dst: Host::Ip(spec.underlay.remote.ip()),
                    src: Host::Service(2),
                    path: Path::Empty,
                    extensions: vec![(HOP_BY_HOP, vec![0, 0, 1, 0]), (END_TO_END, vec![0, 1, 1, 4, 0, 0, 0, 0])],
                    next_hdr: BFD,
                    payload: PACKET.encode().to_vec(),
                    extra_words: 2,
                },
            };
            assert_eq!(read(&frame.pack()).map(|r| Control::decode(r.payload)), Some(Ok(PACKET)));
            let without = Frame { udp_checksum: false, ..frame.clone() };
            assert_eq!(read(&without.pack()).is_some(), good);
            let data = Frame { scion: Scion { next_hdr: crate::packet::SCMP, ..frame.scion.clone() }, ..frame };
            assert_eq!(read(&data.pack()), None);
        }
    }
}
