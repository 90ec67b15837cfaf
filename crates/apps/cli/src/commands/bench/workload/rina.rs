//! The RINA interior router: EFCP PDUs, and IPv4 packets beside them, untagged or in a VLAN.

use std::ops::Range;

use hopwright_driver::Compiled;
use hopwright_ports::checksum;
use hopwright_rina::program;

use super::frames::{eth, ipv4_udp, mac, tagged};
use super::{Entry, Frame, Match, Tables, entry, pick, port};

/// As many as an EFCP address has values, but for 0.
pub(super) const ADDRESSES: Range<usize> = 1..65_536;
const NEXT_HOPS: usize = 64;
const DIF: u64 = 1;
/// The first address of the IPv4 networks, which have a length of 24.
const NETWORKS: u64 = 0x1400_0000;

pub(super) fn compile() -> Compiled {
    program::compile(program::Kind::Interior, false, &[])
}

/// This many destinations behind 64 next hops.
pub(super) struct Rina {
    pub addresses: usize,
    pub efcp: bool,
    /// Of frames that come and go; 0: untagged.
    pub vlan: u16,
}

impl Rina {
    fn to(&self, flow: u64) -> u64 {
        let to = pick(flow, self.addresses) as u64;
        if self.efcp { to + 1 } else { NETWORKS + (to << 8) + 7 }
    }
}

impl Tables for Rina {
    fn entries(&self) -> Vec<Entry> {
        let vlan = u64::from(self.vlan);
        let hop = |n: usize| (n % NEXT_HOPS) as u64 + 1;
        let mut all = vec![entry("links", [Match::Exact(1), Match::Exact(vlan)], "receive", [mac(1), DIF, 7])];
        all.extend((0..NEXT_HOPS).map(|n| {
            let to = [port(n), vlan, mac(3), mac(1000 + n as u64), 1500, 0, 0];
            entry("next_hops", [Match::Exact(hop(n))], "forward", to)
        }));
        all.extend((0..self.addresses).map(|n| match self.efcp {
            true => entry("destinations", [Match::Exact(DIF), Match::Exact(n as u64 + 1)], "via", [hop(n)]),
            false => {
                let network = Match::Lpm(NETWORKS + ((n as u64) << 8), 24, 32);
                entry("routes_ipv4", [network], "via", [hop(n), 0])
            }
        }));
        all
    }

    fn frame(&self, flow: u64, bytes: usize) -> Frame {
        let untagged = if self.vlan == 0 { bytes } else { bytes - 4 };
        let frame = match self.efcp {
            true => efcp(self.to(flow) as u16, flow as u16, untagged),
            false => ipv4_udp(0x0a00_0001 + (flow & 0xffff), self.to(flow), 17, 1000, 2000, untagged),
        };
        Frame::new(1, bytes, if self.vlan == 0 { frame } else { tagged(frame, self.vlan) })
    }

    fn keys(&self, flow: u64) -> Vec<(&'static str, Vec<u64>)> {
        match self.efcp {
            true => vec![("destinations", vec![DIF, self.to(flow)])],
            false => vec![("routes_ipv4", vec![self.to(flow)])],
        }
    }
}

/// Ethernet and the header of a data PDU with a correct checksum, for a frame of this size.
fn efcp(dst: u16, src_cep: u16, bytes: usize) -> Vec<u8> {
    let mut frame = eth(mac(1), mac(2), 0xd1f0);
    let at = frame.len();
    let length = bytes.max(34) as u16 - 14;
    frame.push(1);
    frame.extend([dst, 9].map(u16::to_be_bytes).as_flattened());
    frame.push(1);
    frame.extend([77, src_cep].map(u16::to_be_bytes).as_flattened());
    frame.extend([0x80, 0]);
    frame.extend(length.to_be_bytes());
    frame.extend([0, 0, 0, 5]);
    let sum = !checksum::ones_sum(&frame[at..]);
    frame.extend(sum.to_be_bytes());
    frame
}
