//! Repairs lengths, checksums and MACs of mutated frames, so that odd input reaches the code behind these checks.
//!
//! Every function accepts any bytes and leaves unchanged what does not fit.

use hopwright_scion::packet::{Hop, full_mac};
use hopwright_scion::synthetic;

/// Flag in an input's first byte: repair lengths in IP, UDP and SCION headers.
pub const LENGTHS: u8 = 0x20;
/// Flag in an input's first byte: repair checksums and the MACs of the current and the next hop.
pub const SIGNATURES: u8 = 0x40;

pub(crate) fn repair(frame: &mut [u8], flags: u8, from_outside: bool) {
    let Some((ip, udp)) = underlay(frame) else { return };
    if flags & LENGTHS != 0 {
        lengths(frame, ip, udp);
    }
    if flags & SIGNATURES != 0 {
        let _ = sign(frame, udp + 8, from_outside);
        checksums(frame, ip, udp);
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Ip {
    V4,
    V6,
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn set_word(bytes: &mut [u8], at: usize, value: u16) {
    if let Some(place) = bytes.get_mut(at..at + 2) {
        place.copy_from_slice(&value.to_be_bytes());
    }
}

/// The frame's underlay, and where its UDP header starts.
fn underlay(frame: &[u8]) -> Option<(Ip, usize)> {
    let (ip, udp) = match word(frame, 12)? {
        0x0800 => (Ip::V4, 14 + usize::from(frame.get(14)? & 0xf) * 4),
        0x86dd => (Ip::V6, 54),
        _ => return None,
    };
    (udp >= 34 && udp + 8 <= frame.len()).then_some((ip, udp))
}

fn lengths(frame: &mut [u8], ip: Ip, udp: usize) {
    let to_end = |from: usize| u16::try_from(frame.len() - from).unwrap_or(u16::MAX);
    let (after_ethernet, after_ip, after_udp) = (to_end(14), to_end(udp), to_end(udp + 8));
    match ip {
        Ip::V4 => set_word(frame, 16, after_ethernet),
        Ip::V6 => set_word(frame, 18, after_ip),
    }
    set_word(frame, udp + 4, after_ip);
    if let Some(words) = frame.get(udp + 8 + 5).copied() {
        set_word(frame, udp + 8 + 6, after_udp.saturating_sub(u16::from(words) * 4));
    }
}

/// Signs as the AS does: see [`hopwright_scion::packet::ScionPath::sign`].
fn sign(frame: &mut [u8], scion: usize, from_outside: bool) -> Option<()> {
    let addresses = frame.get(scion + 9)?;
    let path = scion + 28 + 4 * (usize::from(addresses >> 4 & 3) + 1 + usize::from(addresses & 3) + 1);
    match frame.get(scion + 8)? {
        1 => {
            let meta = u32::from_be_bytes(frame.get(path..path + 4)?.try_into().ok()?);
            let lengths = [12, 6, 0].map(|shift| (meta >> shift & 0x3f) as usize);
            let segments = lengths.iter().filter(|l| **l != 0).count();
            let current = (meta >> 24 & 0x3f) as usize;
            let hop_at = |hop: usize| path + 4 + 8 * segments + 12 * hop;
            let (mut first, mut segment) = (0, 0);
            while segment < 2 && current >= first + lengths[segment] {
                first += lengths[segment];
                segment += 1;
            }
            let last = current + 1 == first + lengths[segment];
            let info = path + 4 + 8 * segment;
            let peering = frame.get(info)? & 2 != 0 && (last && segment == 0 || current == first && segment == 1);
            let chain = sign_hop(frame, info, hop_at(current))?;
            if from_outside && frame[info] & 1 == 0 && !peering {
                let seg_id = word(frame, info + 2)? ^ chain;
                set_word(frame, info + 2, seg_id);
            }
            if last && !peering && segment + 1 < segments {
                sign_hop(frame, info + 8, hop_at(current + 1))?;
            }
        }
        2 => {
            sign_hop(frame, path, path + 8)?;
        }
        _ => {}
    }
    Some(())
}

/// Signs a hop with the segment id in the info field, and returns its contribution to the chain.
fn sign_hop(frame: &mut [u8], info: usize, hop: usize) -> Option<u16> {
    let bytes = frame.get(hop..hop + 12)?;
    let fields = Hop { exp_time: bytes[1], ..Hop::new(word(bytes, 2)?, word(bytes, 4)?) };
    let timestamp = u32::from_be_bytes(frame.get(info + 4..info + 8)?.try_into().ok()?);
    let mac = full_mac(synthetic::key().bytes(), word(frame, info + 2)?, timestamp, &fields);
    frame[hop + 6..hop + 12].copy_from_slice(&mac[..6]);
    word(&mac, 0)
}

fn checksums(frame: &mut [u8], ip: Ip, udp: usize) {
    if ip == Ip::V4 {
        set_word(frame, 24, 0);
        let sum = internet_checksum(&frame[14..udp], 0);
        set_word(frame, 24, sum);
    }
    udp_checksum_at(frame, ip, udp);
}

/// Repairs the UDP checksum, if there is one.
pub(crate) fn udp_checksum(frame: &mut [u8]) {
    if let Some((ip, udp)) = underlay(frame) {
        udp_checksum_at(frame, ip, udp);
    }
}

fn udp_checksum_at(frame: &mut [u8], ip: Ip, udp: usize) {
    if word(frame, udp + 6) == Some(0) {
        return;
    }
    let Some(end) =
        word(frame, udp + 4).map(|l| udp + usize::from(l)).filter(|end| *end >= udp + 8 && *end <= frame.len())
    else {
        return;
    };
    let addresses = if ip == Ip::V4 { 26..34 } else { 22..54 };
    let pseudo = frame[addresses].chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum::<u32>();
    set_word(frame, udp + 6, 0);
    let sum = internet_checksum(&frame[udp..end], pseudo + 17 + (end - udp) as u32);
    set_word(frame, udp + 6, if sum == 0 { 0xffff } else { sum });
}

/// The Internet checksum (RFC 1071).
fn internet_checksum(bytes: &[u8], start: u32) -> u16 {
    let words = bytes.chunks(2).map(|w| u64::from(u16::from_be_bytes([w[0], w.get(1).copied().unwrap_or(0)])));
    let mut sum = u64::from(start) + words.sum::<u64>();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use hopwright_scion::synthetic::Traffic;

    use super::*;
    use crate::packets::{NOW_S, PORTS};
    use crate::{Routers, encode};

    /// Frames whose MACs, lengths and checksums were wiped are forwarded after repair as the originals are.
    #[test]
    fn repaired_packets_are_forwarded() {
        let mut routers = Routers::new();
        let mut traffic = Traffic::new(7, false, NOW_S);
        let (mut forwarded, mut again) = (0, 0);
        for _ in 0..400 {
            let (port, frame) = traffic.next_frame();
            let input = encode(port, 0, &frame).expect("a port of the router");
            if routers.packet(&input).is_none_or(|o| o.reason != Some(0)) {
                continue;
            }
            forwarded += 1;
            let mut wiped = input.clone();
            wiped[0] |= LENGTHS | SIGNATURES;
            let (ip, udp) = underlay(&frame).expect("a forwarded packet has an underlay");
            set_word(&mut wiped[1..], udp + 4, 0x1234);
            set_word(&mut wiped[1..], udp + 8 + 6, 0x1234);
            set_word(&mut wiped[1..], if ip == Ip::V4 { 24 } else { 18 }, 0x1234);
            again += usize::from(routers.packet(&wiped).is_some_and(|o| o.reason == Some(0)));
        }
        assert!(forwarded > 20);
        // Repair does not know hop-by-hop oddities such as payload that is longer than its length.
        assert!(again * 10 > forwarded * 9, "{again} of {forwarded}, ports {PORTS:?}");
    }
}
