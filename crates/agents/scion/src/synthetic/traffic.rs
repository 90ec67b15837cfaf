//! Random packets for the rich router: most are valid or nearly so, the rest is broken in many ways.

use std::net::{IpAddr, SocketAddr};

use super::{LOCAL, OTHER_MAC, ROUTER_MAC, rich_hosts, rich_links};
use crate::config::keys::HopKey;
use crate::config::links::Links;
use crate::packet::ia::IsdAs;
use crate::packet::{self, Envelope, Epic, Frame, Hop, Host, Info, Path, Scion, ScionPath, Segment};
use crate::stun;

/// One frame in this many is a STUN request.
const STUN: u64 = 500;

/// An endless, repeatable stream of frames for [`rich_links`].
pub struct Traffic {
    random: u64,
    now_s: u32,
    links: Links,
    hosts: Vec<IpAddr>,
    key: HopKey,
    entries: Vec<Entry>,
    exits: Vec<u16>,
    /// Frames made.
    made: u64,
}

/// An ingress of the router.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// SCION interface by which the packet entered the AS, 0 for a host of it.
    interface: u16,
    /// By this router.
    outside: bool,
    src: SocketAddr,
    dst: SocketAddr,
}

impl Traffic {
    /// The stream of a seed, at a moment (seconds since 1970). `v6`: of the router with IPv6 inside.
    pub fn new(seed: u64, v6: bool, now_s: u32) -> Traffic {
        let links = rich_links(v6);
        let hosts = rich_hosts(v6);
        let external = links.external.iter().map(|e| Entry {
            interface: e.id,
            outside: true,
            src: e.underlay.remote,
            dst: e.underlay.local,
        });
        let siblings = links.siblings.iter().flat_map(|s| {
            s.interfaces.iter().map(|(id, _)| Entry {
                interface: *id,
                outside: false,
                src: s.address,
                dst: links.internal,
            })
        });
        let inside = hosts.iter().map(|h| Entry {
            interface: 0,
            outside: false,
            src: SocketAddr::new(*h, 30041),
            dst: links.internal,
        });
        let entries: Vec<Entry> = external.chain(siblings).chain(inside).collect();
        let exits = entries.iter().map(|e| e.interface).filter(|i| *i != 0).collect();
        Traffic { random: seed, now_s, links, hosts, key: super::key(), entries, exits, made: 0 }
    }

    /// The next frame and the port it comes in by.
    pub fn next_frame(&mut self) -> (u16, Vec<u8>) {
        self.made += 1;
        if self.made.is_multiple_of(STUN) {
            return (super::INTERNAL_PORT, self.stun_request());
        }
        let (entry, frame) = self.valid();
        let mut bytes = frame.pack();
        for _ in 0..[0, 0, 0, 1, 1, 1, 2, 5][self.below(8)] {
            self.spoil(&mut bytes);
        }
        (if entry.outside { entry.interface } else { super::INTERNAL_PORT }, bytes)
    }

    /// A host asks for its address.
    fn stun_request(&self) -> Vec<u8> {
        let dst = self.links.internal;
        let (src, udp_checksum) = (SocketAddr::new(self.hosts[0], 30041), true);
        let envelope = Envelope { dst_mac: ROUTER_MAC, src_mac: OTHER_MAC, src, dst, ttl: 64, tos: 0, udp_checksum };
        envelope.around(&stun::request(b"transaction!"))
    }

    /// A number (splitmix64, public domain by Sebastiano Vigna).
    fn number(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.random ^ self.random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.number() % end as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A packet that a router of good will might send; now and then one detail is off.
    fn valid(&mut self) -> (Entry, Frame) {
        let entries = std::mem::take(&mut self.entries);
        let entry = self.pick(&entries);
        self.entries = entries;
        let deliver = entry.outside && self.one_in(3);
        let (mut path, hop_exit) = match self.below(12) {
            0 => self.one_hop(entry),
            1 if self.one_in(4) => (Path::Empty, 0),
            _ => self.scion_path(entry, deliver),
        };
        let mac = match &mut path {
            Path::Scion(path) => path.sign(self.key.bytes(), entry.outside),
            _ => None,
        };
        let is_one_hop = matches!(path, Path::OneHop(..));
        let neighbour = |id: u16| self.links.external.iter().find(|e| e.id == id).map(|e| e.neighbour);
        let far = IsdAs(0x0002_ff00_0000_0777);
        let from = if is_one_hop { neighbour(entry.interface).unwrap_or(LOCAL) } else { far };
        let to = if is_one_hop { neighbour(hop_exit).or(neighbour(2)).unwrap_or(far) } else { far };
        let mut src_ia = if entry.interface == 0 { LOCAL } else { from };
        let mut dst_ia = if deliver || is_one_hop && entry.outside { LOCAL } else { to };
        if is_one_hop && !entry.outside {
            src_ia = LOCAL;
        }
        if self.one_in(40) {
            src_ia = self.pick(&[LOCAL, far]);
        }
        if self.one_in(40) {
            dst_ia = self.pick(&[LOCAL, far]);
        }
        let mut frame = Frame {
            dst_mac: ROUTER_MAC,
            src_mac: OTHER_MAC,
            src: entry.src,
            dst: entry.dst,
            ttl: self.number() as u8,
            tos: self.number() as u8,
            udp_checksum: !self.one_in(4),
            scion: self.scion(src_ia, dst_ia, path),
        };
        if let Some(mac) = mac
            && self.one_in(6)
        {
            self.make_epic(&mut frame.scion, &mac);
        }
        (entry, frame)
    }

    /// Turns a packet on a SCION path into one on an EPIC-HP path, proven to the hop with this MAC.
    fn make_epic(&mut self, scion: &mut Scion, mac: &[u8; 16]) {
        let Path::Scion(path) = &mut scion.path else { return };
        let path = ScionPath { segments: std::mem::take(&mut path.segments), ..*path };
        let now_us = u64::from(self.now_s) * 1_000_000;
        let sent_us = match self.below(8) {
            0 => now_us + self.number() % 2_000_000,
            1 => now_us - 2_000_000 - self.number() % 2_000_000,
            _ => now_us - self.number() % 2_000_000,
        };
        let first = path.segments.first().map_or(0, |s| s.info.timestamp);
        let epic = Epic { counter: self.number() as u32, ..Epic::sent_at(sent_us, first) };
        scion.path = Path::Epic(epic, path);
        if !self.one_in(10) {
            scion.prove(mac);
        }
    }

    fn scion(&mut self, src_ia: IsdAs, dst_ia: IsdAs, path: Path) -> Scion {
        let mut extensions = Vec::new();
        for number in [packet::HOP_BY_HOP, packet::END_TO_END] {
            if self.one_in(8) {
                let words = 1 + self.below(5);
                let mut bytes = vec![0; 4 * words];
                bytes[1] = if self.one_in(16) { self.number() as u8 } else { words as u8 - 1 };
                extensions.push((number, bytes.clone()));
                if self.one_in(16) {
                    extensions.push((number, bytes));
                }
            }
        }
        let (next_hdr, payload) = self.payload();
        Scion {
            traffic_class: self.number() as u8,
            flow_id: self.number() as u32 & 0xf_ffff,
            dst_ia,
            src_ia,
            dst: self.host(dst_ia),
            src: self.host(src_ia),
            path,
            extensions,
            next_hdr,
            payload,
            extra_words: if self.one_in(20) { self.below(4) as u8 } else { 0 },
        }
    }

    fn payload(&mut self) -> (u8, Vec<u8>) {
        let port = if self.one_in(8) { self.links.internal.port() } else { self.number() as u16 };
        // Now and then longer than the links carry.
        let mut data = vec![0x5a; if self.one_in(40) { 1300 + self.below(300) } else { self.below(100) }];
        match self.below(12) {
            0 => {
                let scmp_type = self.pick(&[1, 2, 4, 5, 6, 128, 129, 130, 131, 200]);
                let mut scmp = vec![scmp_type, 0, 0, 0, (port >> 8) as u8, port as u8];
                scmp.append(&mut data);
                (packet::SCMP, scmp)
            }
            1 => {
                let mut tcp = packet::udp_payload(443, port, &data);
                tcp.extend([0; 12]);
                (packet::TCP, tcp)
            }
            2 => (packet::BFD, vec![0x20; 24]),
            3 => (self.number() as u8, data),
            _ => (packet::UDP, packet::udp_payload(30041, port, &data)),
        }
    }

    fn host(&mut self, ia: IsdAs) -> Host {
        let hosts = std::mem::take(&mut self.hosts);
        let known = self.pick(&hosts);
        self.hosts = hosts;
        match self.below(if ia == LOCAL { 24 } else { 8 }) {
            0 => Host::Ip("fd00::dead".parse().expect("a literal address")),
            1 => Host::Ip("10.0.0.200".parse().expect("a literal address")),
            2 => Host::Service(self.pick(&[1, 2, 0x8002, 7])),
            3 if self.one_in(4) => {
                let words = 1 + self.below(4);
                Host::Raw(self.below(4) as u8, vec![self.number() as u8; words * 4])
            }
            4 if self.one_in(4) => {
                Host::Ip(self.pick(&["::ffff:10.0.0.51", "::", "0.0.0.0"]).parse().expect("literal"))
            }
            5 if self.one_in(2) => Host::Ip(self.links.internal.ip()),
            _ => Host::Ip(known),
        }
    }

    fn hop(&mut self, ingress: u16, egress: u16) -> Hop {
        Hop {
            ingress_alert: self.one_in(40),
            egress_alert: self.one_in(40),
            exp_time: if self.one_in(40) { 0 } else { 63 },
            ingress,
            egress,
            mac: self.number().to_be_bytes()[..6].try_into().expect("six bytes"),
        }
    }

    fn info(&mut self, peering: bool) -> Info {
        let age = if self.one_in(40) { 100_000 } else { 500 };
        Info {
            peering,
            cons_dir: self.one_in(2),
            seg_id: self.number() as u16,
            timestamp: self.now_s.wrapping_sub(age),
        }
    }

    /// A segment with a hop of ours at a place in it: entered and left by these interfaces.
    fn segment(&mut self, info: Info, before: usize, ours: (u16, u16), after: usize) -> Segment {
        let mut hops: Vec<Hop> = Vec::new();
        for i in 0..before + 1 + after {
            hops.push(match (i == before, info.cons_dir) {
                (true, true) => self.hop(ours.0, ours.1),
                (true, false) => self.hop(ours.1, ours.0),
                _ => self.hop(1, 2),
            });
        }
        Segment { info, hops }
    }

    /// A path with our AS at its current hop, and the interface it leaves by.
    fn scion_path(&mut self, entry: Entry, deliver: bool) -> (Path, u16) {
        let exits = std::mem::take(&mut self.exits);
        let exit = if self.one_in(40) { self.number() as u16 } else { self.pick(&exits) };
        self.exits = exits;
        let few = |t: &mut Traffic| if t.one_in(10) { t.below(20) } else { t.below(3) };
        let entered = entry.interface;
        let starts = entered == 0;
        let mut segments: Vec<Segment> = Vec::new();
        let mut curr_hf = 0;
        let lead = if starts { 0 } else { self.below(2) };
        for _ in 0..lead {
            let (info, length) = (self.info(false), 2 + few(self));
            curr_hf += length;
            segments.push(self.segment(info, length - 1, (1, 0), 0));
        }
        // Where our AS comes first, the packet starts here; at least one AS was before otherwise.
        let before = if starts { 0 } else { 1 + few(self) };
        curr_hf += before;
        match self.below(4) {
            _ if deliver => {
                let info = self.info(false);
                let onward = if self.one_in(4) { exit } else { 0 };
                segments.push(self.segment(info, before, (entered, onward), 0));
            }
            // Within a segment.
            0 | 1 => {
                // Without an AS behind ours the path ends where it should go on.
                let after = if self.one_in(10) { 0 } else { 1 + few(self) };
                let info = self.info(false);
                segments.push(self.segment(info, before, (entered, exit), after));
                if segments.len() < 3 && self.one_in(3) {
                    let (info, after) = (self.info(false), 1 + few(self));
                    segments.push(self.segment(info, 0, (0, 1), after));
                }
            }
            // Over a peering link, out of this AS or into it.
            2 if self.one_in(2) && segments.is_empty() && !starts => {
                let (mut first, mut second) = (self.info(true), self.info(true));
                first.cons_dir = false;
                second.cons_dir = true;
                let after = few(self);
                if self.one_in(2) {
                    segments.push(self.segment(first, before, (entered, exit), 0));
                    segments.push(self.segment(second, 0, (1, 2), after));
                } else {
                    segments.push(self.segment(first, before - 1, (1, 2), 0));
                    segments.push(self.segment(second, 0, (entered, exit), 1 + after));
                }
            }
            // Changing the segment here, or having changed it at the sibling router.
            _ if segments.len() < 2 => {
                let (info, next, after) = (self.info(false), self.info(false), 1 + few(self));
                let changed = entered != 0 && !entry.outside;
                segments.push(self.segment(info, before.max(1), (entered, 0), 0));
                segments.push(self.segment(next, 0, (0, exit), after));
                curr_hf += usize::from(before == 0) + usize::from(changed);
            }
            _ => {
                let (info, after) = (self.info(false), 1 + few(self));
                segments.push(self.segment(info, before, (entered, exit), after));
            }
        }
        (Path::Scion(ScionPath::at(curr_hf as u8, segments)), exit)
    }

    /// A one-hop path, and the interface it leaves by.
    fn one_hop(&mut self, entry: Entry) -> (Path, u16) {
        let mut info = self.info(false);
        info.cons_dir = !self.one_in(10);
        let exit = self.pick(&[1, 2, 3, 4, 5, 8, 11]);
        let first = self.hop(0, if entry.outside { 9 } else { exit });
        let first = if self.one_in(10) { first } else { first.signed(self.key.bytes(), info.seg_id, info.timestamp) };
        let second = if self.one_in(2) { Hop::default() } else { self.hop(1, 2) };
        (Path::OneHop(info, first, second), exit)
    }

    /// One fault.
    fn spoil(&mut self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let at = self.below(bytes.len());
        match self.below(8) {
            0..3 => bytes[at] ^= 1 << self.below(8),
            3 => bytes[at] = self.pick(&[0, 1, 2, 0x7f, 0x80, 0xfe, 0xff]),
            4 => bytes.truncate(at),
            5 => bytes.extend(std::iter::repeat_n(0, at % 64)),
            6 => {
                // Headers are where the faults are worth most.
                let at = self.below(bytes.len().min(120));
                bytes[at] = self.number() as u8;
            }
            _ => {
                let length = 1 + self.below(8);
                for byte in bytes.iter_mut().skip(at).take(length) {
                    *byte = 0;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_one_stream() {
        let stream = |seed| {
            let mut traffic = Traffic::new(seed, false, 1_000_000_000);
            (0..200).map(|_| traffic.next_frame()).collect::<Vec<_>>()
        };
        assert_eq!(stream(1), stream(1));
        assert_ne!(stream(1), stream(2));
    }
}
