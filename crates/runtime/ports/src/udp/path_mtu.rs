//! Path MTUs that are smaller than the device's, learnt from ICMP messages ("fragmentation needed", RFC 1191; "packet
//! too big", RFC 8201) about datagrams that raw ports have sent.
//!
//! The kernel learns from the same messages and fragments what the sockets send, so raw ports leave datagrams that are
//! too long for their path to the sockets. A message is accepted only if it quotes a datagram from one of our sockets.
//! As in the kernel, it is valid for ten minutes.

use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::linux::sys;

/// How long a path MTU is valid.
const BELIEVED: Duration = Duration::from_secs(600);
/// The number of paths that are remembered. New paths overwrite old ones.
const SLOTS: usize = 256;
/// The smallest path MTUs that are accepted in bytes: as in the kernel, and what IPv6 requires of every link.
const LEAST_IPV4: u32 = 552;
const LEAST_IPV6: u32 = 1280;
/// The number of bytes of a message that are read: an IP header with all options and an ICMP header, and the same of
/// the quoted datagram.
const MESSAGE: usize = 60 + 8 + 60 + 8;
/// The maximum number of messages read in a row.
const IN_A_ROW: usize = 16;

/// A path: a hash of the destination address, which is practically unique among a few hundred addresses, and the path
/// MTU with its expiry time. 0 means empty.
#[derive(Debug, Default)]
struct Slot {
    to: AtomicU64,
    /// The MTU in the lower half; the expiry time, in seconds since the start, in the upper half.
    mtu: AtomicU64,
}

/// The paths with a smaller MTU than their device. Any thread may read them.
#[derive(Debug)]
pub(super) struct PathMtus {
    slots: Box<[Slot]>,
    used: AtomicU32,
    start: Instant,
    /// The raw sockets for ICMP and ICMPv6.
    pub sockets: [Option<OwnedFd>; 2],
}

/// An ICMP message about a path MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TooBig {
    from: (IpAddr, u16),
    to: IpAddr,
    mtu: u32,
}

impl PathMtus {
    /// Without CAP_NET_RAW there are no ICMP sockets, and no raw ports that would need them.
    pub(super) fn new() -> PathMtus {
        PathMtus {
            slots: (0..SLOTS).map(|_| Slot::default()).collect(),
            used: AtomicU32::new(0),
            start: Instant::now(),
            sockets: [sys::icmp_socket().ok(), sys::icmpv6_socket().ok()],
        }
    }

    /// Whether a frame's IP packet is longer than the path MTU to its destination.
    #[inline]
    pub(super) fn is_too_long(&self, frame: &[u8]) -> bool {
        if self.used.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let address = match (frame.get(12..14), frame.get(30..34), frame.get(38..54)) {
            (Some([0x08, 0x00]), Some(v4), _) => hash(&[0; 12], v4),
            (Some([0x86, 0xdd]), _, Some(v6)) => hash(&v6[..12], &v6[12..]),
            _ => return false,
        };
        let slot = self.slot(address);
        let mtu = slot.mtu.load(Ordering::Relaxed) as u32;
        mtu > 0 && frame.len() - 14 > mtu as usize && slot.to.load(Ordering::Relaxed) == address
    }

    fn slot(&self, address: u64) -> &Slot {
        // The upper bits depend on the whole address.
        &self.slots[(address >> 48) as usize % SLOTS]
    }

    /// Reads pending ICMP messages; called by one thread.
    pub(super) fn learn(&self, is_ours: impl Fn(&(IpAddr, u16)) -> bool) {
        let mut buffer = [0; MESSAGE];
        for (socket, read) in self.sockets.iter().zip([too_big_ipv4 as fn(&[u8]) -> _, too_big_ipv6]) {
            let Some(socket) = socket else { continue };
            for _ in 0..IN_A_ROW {
                match sys::receive(socket, &mut buffer) {
                    Ok(length) => {
                        let told = read(&buffer[..length]);
                        if let Some(told) = told.filter(|told| is_ours(&told.from)) {
                            self.set(told.to, told.mtu);
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
        }
    }

    fn set(&self, to: IpAddr, mtu: u32) {
        let address = match to {
            IpAddr::V4(a) => hash(&[0; 12], &a.octets()),
            IpAddr::V6(a) => hash(&a.octets()[..12], &a.octets()[12..]),
        };
        let until = (self.start.elapsed() + BELIEVED).as_secs();
        let slot = self.slot(address);
        slot.to.store(address, Ordering::Relaxed);
        if slot.mtu.swap(until << 32 | u64::from(mtu), Ordering::Relaxed) == 0 {
            self.used.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Removes expired path MTUs.
    pub(super) fn forget(&self) {
        if self.used.load(Ordering::Relaxed) == 0 {
            return;
        }
        let now = self.start.elapsed().as_secs();
        for slot in &self.slots {
            let mtu = slot.mtu.load(Ordering::Relaxed);
            if mtu != 0
                && mtu >> 32 <= now
                && slot.mtu.compare_exchange(mtu, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            {
                self.used.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }
}

/// Returns a hash of an address, never 0.
fn hash(first: &[u8], last: &[u8]) -> u64 {
    let mut bytes = [0; 16];
    bytes[..12].copy_from_slice(first);
    bytes[12..].copy_from_slice(last);
    let bits = u128::from_ne_bytes(bytes);
    let mixed = (bits as u64 ^ ((bits >> 64) as u64).rotate_left(31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed | 1
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// Parses an IPv4 packet with an ICMP message.
fn too_big_ipv4(packet: &[u8]) -> Option<TooBig> {
    let icmp = packet.get(usize::from(packet.first()? & 15) * 4..)?;
    let &[3, 4, _, _, _, _, high, low, ref quoted @ ..] = icmp else { return None };
    let address = |at: usize| Some(<[u8; 4]>::try_from(quoted.get(at..at + 4)?).ok()?.into());
    let port = word(quoted, usize::from(quoted.first()? & 15) * 4)?;
    let mtu = u32::from(u16::from_be_bytes([high, low])).max(LEAST_IPV4);
    (quoted.get(9) == Some(&17)).then_some(TooBig { from: (address(12)?, port), to: address(16)?, mtu })
}

/// Parses an ICMPv6 message.
fn too_big_ipv6(icmp: &[u8]) -> Option<TooBig> {
    let &[2, _, _, _, a, b, c, d, ref quoted @ ..] = icmp else { return None };
    let address = |at: usize| Some(Ipv6Addr::from(<[u8; 16]>::try_from(quoted.get(at..at + 16)?).ok()?).into());
    let mtu = u32::from_be_bytes([a, b, c, d]).max(LEAST_IPV6);
    (quoted.get(6) == Some(&17)).then_some(TooBig { from: (address(8)?, word(quoted, 40)?), to: address(24)?, mtu })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_routers_tell() {
        let mut v4 = vec![0x46, 0, 0, 0, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 9, 10, 0, 0, 1, 1, 1, 1, 0];
        v4.extend([3, 4, 0, 0, 0, 0, 0x05, 0x78]);
        v4.extend([0x45, 0, 5, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x75, 0x5a, 0x0f, 0xa0]);
        let ours = |a: &str| a.parse().unwrap();
        let told = TooBig { from: (ours("10.0.0.1"), 30042), to: ours("10.0.0.2"), mtu: 1400 };
        assert_eq!(too_big_ipv4(&v4), Some(told));
        let mut v6 = vec![2, 0, 0, 0, 0, 0, 5, 0x78, 0x60, 0, 0, 0, 0, 100, 17, 64];
        v6.extend("fd00::1".parse::<Ipv6Addr>().unwrap().octets());
        v6.extend("fd00::2".parse::<Ipv6Addr>().unwrap().octets());
        v6.extend([0x75, 0x5a, 0x0f, 0xa0]);
        let told = TooBig { from: (ours("fd00::1"), 30042), to: ours("fd00::2"), mtu: 1400 };
        assert_eq!(too_big_ipv6(&v6), Some(told));
        for (message, read) in [(&v4, too_big_ipv4 as fn(&[u8]) -> _), (&v6, too_big_ipv6)] {
            for cut in 0..message.len() - 2 {
                assert_eq!(read(&message[..cut]), None, "cut to {cut}");
            }
        }
        v4[24 + 8 + 9] = 6;
        v6[8 + 6] = 6;
        assert_eq!((too_big_ipv4(&v4), too_big_ipv6(&v6)), (None, None), "about TCP");
    }

    #[test]
    fn a_path_is_narrow_for_its_addresses_only() {
        let paths = PathMtus::new();
        let v4 = |to: [u8; 4], length: usize| {
            let mut f = vec![0; 14 + length];
            f[12..14].copy_from_slice(&[8, 0]);
            f[30..34].copy_from_slice(&to);
            paths.is_too_long(&f)
        };
        assert!(!v4([10, 0, 0, 2], 1500));
        paths.set("10.0.0.2".parse().unwrap(), 1400);
        assert!(v4([10, 0, 0, 2], 1401));
        assert!(!v4([10, 0, 0, 2], 1400));
        assert!(!v4([10, 0, 0, 3], 1500));
        assert!(!paths.is_too_long(&[]));
        paths.forget();
        assert!(v4([10, 0, 0, 2], 1401));
        // More than there are slots for. Forgotten paths are unknown, not wrong.
        for i in 0..1000u32 {
            paths.set(i.to_be_bytes().into(), 1300);
        }
        let used = paths.slots.iter().filter(|slot| slot.mtu.load(Ordering::Relaxed) > 0).count();
        assert_eq!(paths.used.load(Ordering::Relaxed) as usize, used);
        assert!(used > SLOTS / 2, "{used}");
    }
}
