//! The XDP program that redirects matching frames to AF_XDP sockets and passes all others to the kernel.
//!
//! The program is assembled here, loaded with `bpf(2)` and attached by a link that a descriptor of this process owns.
//! It is therefore detached when the process ends, however that happens. The match is in a map, so it can change while
//! frames flow.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use super::assembler::{Assembler, Instruction, Label, MapUse, R0, R1, R2, R3, R4, R5, R6, R7, R8, STACK, When, Width};
use super::bpf::{self, AttachMode, Map, MapKind};
use crate::filter::{FrameMatch, Pattern};
use crate::linux::closing::SlowToClose;

/// The maximum number of keys in a match.
pub const MAX_DESTINATIONS: u32 = 65_536;
/// The maximum number of receive queues of a device.
pub const MAX_QUEUES: u32 = 256;

/// The length of the Ethernet header.
const ETHERNET: i16 = 14;
const HELPER_LOOKUP: i32 = 1;
const HELPER_REDIRECT_MAP: i32 = 51;
/// `XDP_PASS`: passes the frame to the kernel.
const PASS: i32 = 2;

/// Length of a UDP destination's key: the address (IPv4 after twelve zeros), the port, the IP version, a zero byte.
const KEY: usize = 20;

fn key(address: IpAddr, port: u16) -> [u8; KEY] {
    let mut key = [0; KEY];
    match address {
        IpAddr::V4(a) => key[12..16].copy_from_slice(&a.octets()),
        IpAddr::V6(a) => key[..16].copy_from_slice(&a.octets()),
    }
    key[16..18].copy_from_slice(&port.to_be_bytes());
    key[18] = if address.is_ipv4() { 4 } else { 6 };
    key
}

/// Returns what a load on this machine reads from a 16-bit field in network byte order.
fn wire16(value: u16) -> i32 {
    i32::from(u16::from_ne_bytes(value.to_be_bytes()))
}

/// The maps that frames are compared with.
#[derive(Debug)]
struct Matched {
    /// UDP destinations or EtherTypes whose frames are taken.
    keys: Map,
    by: MatchBy,
    /// The device's Ethernet address. Only frames to this address are taken, and for EtherTypes those to groups, too.
    mac: Map,
}

/// What a frame's key consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MatchBy {
    EtherType,
    UdpDestination,
}

/// Returns the map keys of a match.
fn keys(frames: &FrameMatch) -> Vec<Vec<u8>> {
    match frames {
        FrameMatch::Everything => Vec::new(),
        FrameMatch::EtherTypes(types) => types.iter().map(|t| t.to_be_bytes().to_vec()).collect(),
        FrameMatch::UdpDestinations(all) => all.iter().map(|(address, port)| key(*address, *port).to_vec()).collect(),
    }
}

/// Assembles the program. `unserved` is its result for matching frames of a queue without a socket. Frames with the
/// pattern `apart` are passed to the kernel.
fn assemble(sockets: &Map, ours: Option<&Matched>, apart: Option<&Pattern>, unserved: i32) -> Vec<Instruction> {
    let mut a = Assembler::new();
    let pass = a.label();
    a.copy(R6, R1);
    if let Some(ours) = ours {
        match ours.by {
            MatchBy::EtherType => match_ether_type(&mut a, ours, pass),
            MatchBy::UdpDestination => {
                match_destination(&mut a, ours, pass);
                if let Some(pattern) = apart {
                    not_apart(&mut a, pattern, pass);
                }
            }
        }
    }
    a.map(R1, MapUse::Map, sockets.number());
    a.load(Width::Four, R2, R6, 16);
    a.set(R3, unserved);
    a.call(HELPER_REDIRECT_MAP);
    a.exit();
    // The verifier refuses unreachable code.
    if ours.is_some() {
        a.place(pass);
        a.set(R0, PASS);
        a.exit();
    }
    a.finish()
}

/// Jumps to `pass` unless the frame is untagged, addressed to the device, and carries a UDP datagram to one of the
/// destinations, over IPv4 (unfragmented, without options) or IPv6 (without extension headers). Leaves the address of
/// the UDP header minus the length of the Ethernet header in R7, and the frame's end in R8.
fn match_destination(a: &mut Assembler, ours: &Matched, pass: Label) {
    const STACK_KEY: i16 = -(KEY as i16);
    let (v4, look_up) = (a.label(), a.label());
    // R2: the frame, R3: its end. Frames shorter than Ethernet, IPv4 and UDP headers do not match.
    a.load(Width::Four, R2, R1, 0);
    a.load(Width::Four, R3, R1, 4);
    a.copy(R8, R3);
    a.copy(R4, R2);
    a.add(R4, 42);
    a.jump_if_register(R4, When::Greater, R3, pass);
    a.map(R5, MapUse::Value, ours.mac.number());
    for (width, at) in [(Width::Four, 0), (Width::Two, 4)] {
        a.load(width, R0, R2, at);
        a.load(width, R7, R5, at);
        a.jump_if_register(R0, When::NotEqual, R7, pass);
    }
    a.load(Width::Two, R0, R2, 12);
    a.jump_if(R0, When::Equal, wire16(0x0800), v4);
    a.jump_if(R0, When::NotEqual, wire16(0x86dd), pass);

    a.copy(R4, R2);
    a.add(R4, 62);
    a.jump_if_register(R4, When::Greater, R3, pass);
    a.load(Width::One, R0, R2, ETHERNET + 6);
    a.jump_if(R0, When::NotEqual, 17, pass);
    for word in 0..4 {
        a.load(Width::Four, R0, R2, ETHERNET + 24 + 4 * word);
        a.store(Width::Four, STACK, STACK_KEY + 4 * word, R0);
    }
    a.store_value(Width::Two, STACK, STACK_KEY + 18, i32::from(u16::from_ne_bytes([6, 0])));
    a.load(Width::Two, R0, R2, ETHERNET + 40 + 2);
    a.copy(R7, R2);
    a.add(R7, 40);
    a.jump(look_up);

    a.place(v4);
    // Version 4, header without options.
    a.load(Width::One, R0, R2, ETHERNET);
    a.jump_if(R0, When::NotEqual, 0x45, pass);
    a.load(Width::Two, R7, R2, ETHERNET + 6);
    a.and(R7, wire16(0x3fff));
    a.jump_if(R7, When::NotEqual, 0, pass);
    a.load(Width::One, R7, R2, ETHERNET + 9);
    a.jump_if(R7, When::NotEqual, 17, pass);
    a.store_value(Width::Four, STACK, STACK_KEY, 0);
    a.store_value(Width::Four, STACK, STACK_KEY + 4, 0);
    a.store_value(Width::Four, STACK, STACK_KEY + 8, 0);
    a.store_value(Width::Two, STACK, STACK_KEY + 18, i32::from(u16::from_ne_bytes([4, 0])));
    a.load(Width::Four, R7, R2, ETHERNET + 16);
    a.store(Width::Four, STACK, STACK_KEY + 12, R7);
    a.load(Width::Two, R0, R2, ETHERNET + 20 + 2);
    a.copy(R7, R2);
    a.add(R7, 20);

    a.place(look_up);
    a.store(Width::Two, STACK, STACK_KEY + 16, R0);
    a.map(R1, MapUse::Map, ours.keys.number());
    a.copy(R2, STACK);
    a.add(R2, i32::from(STACK_KEY));
    a.call(HELPER_LOOKUP);
    a.jump_if(R0, When::Equal, 0, pass);
}

/// Jumps to `pass` unless the frame has one of the EtherTypes and is addressed to the device or to a group.
fn match_ether_type(a: &mut Assembler, ours: &Matched, pass: Label) {
    const STACK_KEY: i16 = -8;
    let group = a.label();
    // R2: the frame, R3: its end.
    a.load(Width::Four, R2, R1, 0);
    a.load(Width::Four, R3, R1, 4);
    a.copy(R4, R2);
    a.add(R4, i32::from(ETHERNET));
    a.jump_if_register(R4, When::Greater, R3, pass);
    a.load(Width::Two, R0, R2, 12);
    a.store(Width::Two, STACK, STACK_KEY, R0);
    a.load(Width::One, R0, R2, 0);
    a.and(R0, 1);
    a.jump_if(R0, When::NotEqual, 0, group);
    a.map(R5, MapUse::Value, ours.mac.number());
    for (width, at) in [(Width::Four, 0), (Width::Two, 4)] {
        a.load(width, R0, R2, at);
        a.load(width, R7, R5, at);
        a.jump_if_register(R0, When::NotEqual, R7, pass);
    }
    a.place(group);
    a.map(R1, MapUse::Map, ours.keys.number());
    a.copy(R2, STACK);
    a.add(R2, i32::from(STACK_KEY));
    a.call(HELPER_LOOKUP);
    a.jump_if(R0, When::Equal, 0, pass);
}

/// Jumps to `pass` if the datagram has the pattern. Agrees with `Filter::divided`.
fn not_apart(a: &mut Assembler, pattern: &Pattern, pass: Label) {
    const PAYLOAD: i16 = ETHERNET + 8;
    let other = a.label();
    let last = pattern.bytes.iter().map(|(at, _)| *at).max().unwrap_or(0);
    a.copy(R4, R7);
    a.add(R4, i32::from(PAYLOAD) + i32::from(last) + 1);
    a.jump_if_register(R4, When::Greater, R8, other);
    for (at, values) in &pattern.bytes {
        let next = a.label();
        a.load(Width::One, R0, R7, PAYLOAD + i16::from(*at));
        for value in values {
            a.jump_if(R0, When::Equal, i32::from(*value), next);
        }
        a.jump(other);
        a.place(next);
    }
    a.jump(pass);
    a.place(other);
}

/// How a program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XdpMode {
    /// The device's driver runs it.
    Native,
    /// The kernel's stack runs it, on any device.
    Generic,
}

/// The program on a device. It is detached when this value is dropped or the process ends.
#[derive(Debug)]
pub(super) struct Redirect {
    sockets: Map,
    ours: Option<Matched>,
    /// Detaches the program when closed.
    _link: SlowToClose,
}

impl Redirect {
    /// Attaches the program to a device with Ethernet address `mac`. It takes matching frames. If the match is on UDP
    /// destinations, it passes datagrams with the pattern `apart` to the kernel.
    pub(super) fn attach(
        device: u32,
        mac: [u8; 6],
        frames: &FrameMatch,
        apart: Option<&Pattern>,
        mode: XdpMode,
    ) -> io::Result<Redirect> {
        let (sockets, ours) = maps(mac, frames)?;
        let code = assemble(&sockets, ours.as_ref(), apart, PASS);
        let program = match bpf::load(&code, "hopwright", true) {
            // Kernels before 5.18 do not support packets of several buffers.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => bpf::load(&code, "hopwright", false)?,
            other => other?,
        };
        let mode = match mode {
            XdpMode::Native => AttachMode::Native,
            XdpMode::Generic => AttachMode::Generic,
        };
        let link = bpf::attach(&program, device, mode)?;
        Ok(Redirect { sockets, ours, _link: link.into() })
    }

    /// Redirects a receive queue's matching frames to a socket until the socket is closed.
    pub(super) fn serve(&self, queue: u32, socket: &OwnedFd) -> io::Result<()> {
        self.sockets.put(&queue.to_ne_bytes(), &socket.as_raw_fd().to_ne_bytes())
    }

    /// Passes all frames of a receive queue to the kernel again.
    pub(super) fn unserve(&self, queue: u32) -> io::Result<()> {
        self.sockets.remove(&queue.to_ne_bytes())
    }

    /// Sets the device's Ethernet address, which has changed.
    pub(super) fn set_mac(&self, mac: [u8; 6]) -> io::Result<()> {
        self.ours.as_ref().map_or(Ok(()), |ours| put_mac(&ours.mac, mac))
    }

    /// Changes the match to another one of the same kind. Frames that match both are taken throughout.
    ///
    /// # Errors
    /// The match is of another kind, which needs another program.
    pub(super) fn change(&self, from: &FrameMatch, to: &FrameMatch) -> io::Result<()> {
        if std::mem::discriminant(from) != std::mem::discriminant(to) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let Some(ours) = &self.ours else { return Ok(()) };
        let (before, after) = (keys(from), keys(to));
        for key in after.iter().filter(|key| !before.contains(key)) {
            ours.keys.put(key, &[1])?;
        }
        for key in before.iter().filter(|key| !after.contains(key)) {
            ours.keys.remove(key)?;
        }
        Ok(())
    }
}

fn put_mac(map: &Map, mac: [u8; 6]) -> io::Result<()> {
    let mut value = [0; 8];
    value[..6].copy_from_slice(&mac);
    map.put(&0u32.to_ne_bytes(), &value)
}

fn maps(mac: [u8; 6], frames: &FrameMatch) -> io::Result<(Map, Option<Matched>)> {
    let sockets = Map::new(MapKind::Sockets, "hw_sockets", 4, 4, MAX_QUEUES)?;
    let (by, bytes) = match frames {
        FrameMatch::Everything => return Ok((sockets, None)),
        FrameMatch::EtherTypes(_) => (MatchBy::EtherType, 2),
        FrameMatch::UdpDestinations(_) => (MatchBy::UdpDestination, KEY as u32),
    };
    let map = Map::new(MapKind::Hash, "hw_ours", bytes, 1, MAX_DESTINATIONS)?;
    for key in keys(frames) {
        map.put(&key, &[1])?;
    }
    let own = Map::new(MapKind::Array, "hw_mac", 4, 8, 1)?;
    put_mac(&own, mac)?;
    Ok((sockets, Some(Matched { keys: map, by, mac: own })))
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::filter::test_frames;

    const OWN: [u8; 6] = [2, 0, 0, 0, 0, 0x0b];
    /// `XDP_DROP`, which stands for "taken" in these tests.
    const TAKEN: i32 = 1;

    fn program(frames: &FrameMatch, apart: Option<&Pattern>) -> Option<(OwnedFd, Matched, Map)> {
        let (sockets, ours) = match maps(OWN, frames) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                crate::skip_without_privileges("XDP programs need CAP_BPF and CAP_NET_ADMIN");
                return None;
            }
            other => other.unwrap(),
        };
        let ours = ours.unwrap();
        let program = bpf::load(&assemble(&sockets, Some(&ours), apart, TAKEN), "test", true).unwrap();
        Some((program, ours, sockets))
    }

    #[test]
    fn takes_ether_types_to_the_device_and_to_groups() {
        let frames = FrameMatch::EtherTypes(vec![0xd1f0, 0x88b5]);
        let Some((program, ours, _sockets)) = program(&frames, None) else { return };
        let taken = |to: [u8; 6], ether_type: [u8; 2]| {
            let frame = [&to[..], &[9; 6], &ether_type, &[0; 50]].concat();
            let by_program = bpf::test_run(&program, &frame).unwrap() == TAKEN as u32;
            assert!(!by_program || frames.matches(&frame));
            by_program
        };
        for to in [OWN, [0xff; 6], [1, 0x80, 0xc2, 0, 0, 0x0e]] {
            assert!(taken(to, [0xd1, 0xf0]) && taken(to, [0x88, 0xb5]));
            assert!(!taken(to, [8, 0]) && !taken(to, [0x81, 0]));
        }
        assert!(!taken([2; 6], [0xd1, 0xf0]), "another host's frame");
        put_mac(&ours.mac, [2; 6]).unwrap();
        assert!(taken([2; 6], [0xd1, 0xf0]));
    }

    fn v4(dst: [u8; 4], port: u16, options: usize) -> Vec<u8> {
        test_frames::udp4(OWN, dst, port, options)
    }

    fn v6(dst: &str, port: u16) -> Vec<u8> {
        test_frames::udp6(OWN, dst.parse().unwrap(), port)
    }

    #[test]
    fn takes_what_is_ours_and_nothing_else() {
        let mut list: Vec<(IpAddr, u16)> = vec![
            ("192.0.2.1".parse().unwrap(), 30042),
            ("192.0.2.1".parse().unwrap(), 50000),
            ("198.51.100.7".parse().unwrap(), 30042),
            ("fd00::1".parse().unwrap(), 50000),
            ("fd00::2".parse().unwrap(), 50001),
            ("fd00::2".parse().unwrap(), 50001),
        ];
        list.extend((0..3000).map(|i| (IpAddr::from([10, 0, (i >> 8) as u8, i as u8]), 1000 + i)));
        let Some((program, ours, _sockets)) = program(&FrameMatch::UdpDestinations(list), None) else { return };
        let taken = |f: &[u8]| bpf::test_run(&program, f).unwrap() == TAKEN as u32;
        assert!(taken(&v4([192, 0, 2, 1], 30042, 0)));
        assert!(!taken(&v4([192, 0, 2, 1], 50000, 3)), "with options");
        assert!(taken(&v4([198, 51, 100, 7], 30042, 0)));
        assert!(!taken(&v4([198, 51, 100, 7], 50000, 0)), "the other address's port");
        assert!(!taken(&v4([192, 0, 2, 2], 30042, 0)), "another address");
        assert!(taken(&v4([10, 0, 11, 183], 3999, 0)), "one of many");
        assert!(taken(&v6("fd00::1", 50000)));
        assert!(taken(&v6("fd00::2", 50001)));
        assert!(!taken(&v6("fd00::2", 50000)));
        assert!(!taken(&v6("fd00:0:0:1::2", 50001)));
        assert!(!taken(&v6("::ffff:192.0.2.1", 30042)), "no IPv6 packet has an IPv4 address");

        let good = v4([192, 0, 2, 1], 30042, 0);
        let change = |at: usize, to: u8| {
            let mut p = good.clone();
            p[at] = to;
            taken(&p)
        };
        assert!(!change(5, 0x0c), "another host's frame");
        assert!(!change(0, 3), "another host's frame");
        assert!(!change(13, 6), "ARP");
        assert!(!change(14, 0x65), "version 6 in IPv4");
        assert!(!change(14, 0x44), "a header too short");
        assert!(!change(20, 0x20), "first fragment");
        assert!(!change(21, 1), "later fragment");
        assert!(change(20, 0), "without DF");
        assert!(!change(23, 6), "TCP");
        let mut tagged = good.clone();
        tagged.splice(12..12, [0x81, 0, 0, 5]);
        assert!(!taken(&tagged), "a VLAN's frame");
        for cut in 14..42 {
            assert!(!taken(&good[..cut]), "cut to {cut}");
        }

        put_mac(&ours.mac, [9; 6]).unwrap();
        assert!(!taken(&good), "the device has another address now");
        put_mac(&ours.mac, OWN).unwrap();
        ours.keys.remove(&key("192.0.2.1".parse().unwrap(), 30042)).unwrap();
        assert!(!taken(&good), "not ours any more");
    }

    #[test]
    fn leaves_what_is_to_come_apart_to_the_kernel() {
        let list = [("192.0.2.1".parse().unwrap(), 30042), ("fd00::1".parse().unwrap(), 30042)];
        let pattern = Pattern { bytes: vec![(4, vec![203]), (8, vec![0, 2])] };
        let Some((program, ..)) = program(&FrameMatch::UdpDestinations(list.to_vec()), Some(&pattern)) else { return };
        let with = |mut frame: Vec<u8>, fourth: u8, eighth: u8| {
            // Both parts make the UDP payload at least four bytes long.
            let payload = if frame[12] == 8 { 14 + 4 * usize::from(frame[14] & 15) + 8 } else { 62 };
            frame.resize(payload + 9, 0);
            (frame[payload + 4], frame[payload + 8]) = (fourth, eighth);
            bpf::test_run(&program, &frame).unwrap() == TAKEN as u32
        };
        for frame in [v4([192, 0, 2, 1], 30042, 0), v6("fd00::1", 30042)] {
            assert!(!with(frame.clone(), 203, 0));
            assert!(!with(frame.clone(), 203, 2));
            assert!(with(frame.clone(), 203, 1));
            assert!(with(frame.clone(), 17, 0));
        }
        let short = v4([192, 0, 2, 1], 30042, 0);
        assert!(bpf::test_run(&program, &short[..42 + 3]).unwrap() == TAKEN as u32, "too short to have the pattern");
    }
}
