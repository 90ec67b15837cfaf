//! The Internet checksum (RFC 1071), and completing checksums that a sender left to its device.
//!
//! A sender on the same machine may hand a veth device packets whose UDP or TCP checksum field contains only the sum of
//! the pseudo-header, and leave the rest to the device. Packet sockets and TAP devices say so ([`virtio`]); AF_XDP does
//! not.
//!
//! [`virtio`]: crate::offload::virtio

use crate::offload::headers::{Headers, Layer, TCP, UDP, is_tunnel};
use crate::offload::{set_word, word};

/// Returns the sum of big-endian 16-bit words, an odd last byte padded with zero. The sum is not folded.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    // The sum can be computed in any byte order, if the result is converted (RFC 1071, 2B).
    let mut words = bytes.chunks_exact(4);
    let mut total: u64 = 0;
    for w in &mut words {
        total += u64::from(u32::from_ne_bytes([w[0], w[1], w[2], w[3]]));
    }
    let rest = words.remainder();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    total += u64::from(u32::from_ne_bytes(last));
    u64::from(u16::from_be(fold(total)))
}

pub(crate) fn fold(mut total: u64) -> u16 {
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    total as u16
}

/// Returns the ones' complement sum of some bytes, not complemented: 0xffff or 0 if they include a correct checksum.
pub fn ones_sum(bytes: &[u8]) -> u16 {
    fold(sum(bytes))
}

/// The layer-4 segment of an Ethernet frame, and the sum of its pseudo-header.
struct Segment {
    protocol: u8,
    start: usize,
    end: usize,
    pseudo: u64,
}

fn segment(frame: &[u8]) -> Option<Segment> {
    let mut at = 12;
    let mut ethertype = u16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?);
    at += 2;
    for _ in 0..2 {
        if ethertype == 0x8100 || ethertype == 0x88a8 {
            ethertype = u16::from_be_bytes(frame.get(at + 2..at + 4)?.try_into().ok()?);
            at += 4;
        }
    }
    match ethertype {
        0x0800 => {
            let header = frame.get(at..at + 20)?;
            let header_bytes = usize::from(header[0] & 15) * 4;
            let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
            let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
            if header[0] >> 4 != 4 || fragment || header_bytes < 20 || total < header_bytes {
                return None;
            }
            let length = total - header_bytes;
            let pseudo = sum(&header[12..20]) + u64::from(header[9]) + length as u64;
            Some(Segment { protocol: header[9], start: at + header_bytes, end: at + total, pseudo })
        }
        0x86dd => {
            let header = frame.get(at..at + 40)?;
            let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
            let pseudo = sum(&header[8..40]) + u64::from(header[6]) + length as u64;
            Some(Segment { protocol: header[6], start: at + 40, end: at + 40 + length, pseudo })
        }
        _ => None,
    }
}

/// Writes the UDP or TCP checksum of an Ethernet frame that carries one unfragmented IPv4 packet, or an IPv6 packet
/// without extension headers. Returns false and changes nothing for other frames.
pub fn complete(frame: &mut [u8]) -> bool {
    let Some(found) = segment(frame) else { return false };
    let Some(bytes) = frame.get_mut(found.start..found.end) else { return false };
    let (field, least) = match found.protocol {
        UDP => (6, 8),
        TCP => (16, 20),
        _ => return false,
    };
    if bytes.len() < least {
        return false;
    }
    bytes[field..field + 2].fill(0);
    let mut checksum = !fold(found.pseudo + sum(bytes));
    // In UDP, a checksum field of zero means that there is no checksum.
    if checksum == 0 && found.protocol == UDP {
        checksum = 0xffff;
    }
    bytes[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
    true
}

/// Returns whether a UDP datagram in such a frame has a checksum, and a correct one.
pub fn is_right(frame: &[u8]) -> bool {
    let Some(found) = segment(frame) else { return false };
    let Some(bytes) = frame.get(found.start..found.end) else { return false };
    let there = found.protocol == UDP && bytes.len() >= 8 && bytes[6..8] != [0, 0];
    there && fold(found.pseudo + sum(bytes)) == 0xffff
}

/// Returns the pseudo-header's sum of such a frame, which a sender writes into the checksum field to leave the checksum
/// to the device.
pub fn pseudo_sum(frame: &[u8]) -> Option<u16> {
    segment(frame).map(|found| fold(found.pseudo))
}

/// Completes a checksum that covers the frame from byte `start` on, and whose field, `offset` bytes behind, contains the
/// sum of the pseudo-header. Returns false and changes nothing if the field is not in the frame.
pub(crate) fn complete_at(frame: &mut [u8], start: usize, offset: usize) -> bool {
    let Some(bytes) = frame.get_mut(start..) else { return false };
    if bytes.len() < offset + 2 {
        return false;
    }
    if offset == SCTP_FIELD {
        if bytes.len() < offset + 4 {
            return false;
        }
        bytes[offset..offset + 4].fill(0);
        let checksum = crc32c(bytes);
        bytes[offset..offset + 4].copy_from_slice(&checksum.to_le_bytes());
        return true;
    }
    // As the kernel does (`skb_checksum_help`), because in UDP a field of zero means that there is no checksum.
    let checksum = match !fold(sum(bytes)) {
        0 => 0xffff,
        checksum => checksum,
    };
    bytes[offset..offset + 2].copy_from_slice(&checksum.to_be_bytes());
    true
}

/// Where SCTP has its checksum, a CRC32c (RFC 9260, appendix A). No Internet checksum has this offset.
const SCTP_FIELD: usize = 8;

fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
        }
    }
    !crc
}

/// Completes a UDP or TCP checksum that its sender apparently left to the device: the field contains the sum of the
/// pseudo-header and is wrong as a checksum. Never changes a correct checksum. Returns whether it was completed.
///
/// Looks into tunnels and behind IPv6 extension headers other than routing headers, whose pseudo-header has another
/// address than the header.
#[inline]
pub fn mend(frame: &mut [u8]) -> bool {
    match segment(frame) {
        Some(Segment { protocol: protocol @ (UDP | TCP), start, end, pseudo }) => {
            let field = start + if protocol == UDP { 6 } else { 16 };
            let partial = field + 2 <= end && end <= frame.len() && word(frame, field) == fold(pseudo);
            if partial {
                return mend_sum(frame, start, end, field, protocol);
            }
            protocol == UDP && start + 8 <= frame.len() && is_tunnel(word(frame, start + 2)) && mend_inner(frame)
        }
        Some(_) => mend_inner(frame),
        None => false,
    }
}

/// Completes the checksum of a segment whose field contains the pseudo-header's sum, unless it is right.
fn mend_sum(frame: &mut [u8], start: usize, end: usize, field: usize, protocol: u8) -> bool {
    let pseudo = u64::from(word(frame, field));
    let total = pseudo + sum(&frame[start..end]);
    if fold(total) == 0xffff {
        return false;
    }
    // Without the field, which is subtracted by adding its complement.
    let mut checksum = !fold(total + (!pseudo & 0xffff));
    if checksum == 0 && protocol == UDP {
        checksum = 0xffff;
    }
    set_word(frame, field, checksum);
    true
}

/// Completes the checksum of the innermost segment, in a tunnel or behind extension headers.
fn mend_inner(frame: &mut [u8]) -> bool {
    let Some(found) = Headers::find(frame, None) else { return false };
    let start = found.transport;
    // What follows the IP packet is not part of it.
    let Some((layer, at)) = found.layers().rfind(|(layer, _)| matches!(layer, Layer::Ipv4 | Layer::Ipv6)) else {
        return false;
    };
    let end = at
        + if layer == Layer::Ipv4 { usize::from(word(frame, at + 2)) } else { 40 + usize::from(word(frame, at + 4)) };
    let field = found.field();
    if end > frame.len() || field + 2 > end {
        return false;
    }
    let Some(addresses) = found.addresses(start) else { return false };
    let pseudo = sum(&frame[addresses]) + u64::from(found.protocol) + (end - start) as u64;
    word(frame, field) == fold(pseudo) && mend_sum(frame, start, end, field, found.protocol)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_1071_example() {
        assert_eq!(ones_sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), 0xddf2);
        assert_eq!(ones_sum(&[0x00, 0x01, 0xf2]), 0xf201);
    }

    fn udp4(payload: &[u8]) -> Vec<u8> {
        let mut f = vec![0; 12];
        f.extend([8, 0, 0x45, 0]);
        f.extend(((28 + payload.len()) as u16).to_be_bytes());
        f.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 198, 51, 100, 2]);
        f.extend([0x75, 0x30, 0x75, 0x31]);
        f.extend(((8 + payload.len()) as u16).to_be_bytes());
        f.extend([0, 0]);
        f.extend(payload);
        f
    }

    /// Returns whether the sum over the pseudo-header and the segment, including its checksum, is all ones.
    fn verifies(frame: &[u8]) -> bool {
        let s = segment(frame).unwrap();
        fold(s.pseudo + sum(&frame[s.start..s.end])) == 0xffff
    }

    #[test]
    fn udp_over_ipv4_ipv6_and_vlan() {
        for payload in [&b""[..], b"x", b"hello", &[0xff; 1000]] {
            let mut f = udp4(payload);
            assert!(complete(&mut f));
            assert!(verifies(&f));
            // Padding behind the packet is not part of the sum.
            let mut padded = udp4(payload);
            padded.extend([0xaa; 9]);
            assert!(complete(&mut padded));
            assert_eq!(padded[..f.len()], f);

            let mut tagged = udp4(payload);
            tagged.splice(12..12, [0x81, 0, 0, 5]);
            assert!(complete(&mut tagged));
            assert_eq!(tagged[16..], f[12..]);

            let mut v6 = vec![0; 12];
            v6.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            v6.extend(((8 + payload.len()) as u16).to_be_bytes());
            v6.extend([17, 64]);
            v6.extend((0..32).collect::<Vec<u8>>());
            v6.extend([0x75, 0x30, 0x75, 0x31]);
            v6.extend(((8 + payload.len()) as u16).to_be_bytes());
            v6.extend([0, 0]);
            v6.extend(payload);
            assert!(complete(&mut v6));
            assert!(verifies(&v6));
        }
    }

    #[test]
    fn a_known_udp_checksum() {
        let mut f = udp4(b"hi");
        assert!(complete(&mut f));
        // c000+0201+c633+6402+0011+000a + 7530+7531+000a+6869 = 33f25 -> 3f28, complement c0d7.
        assert_eq!(f[40..42], [0xc0, 0xd7]);
    }

    #[test]
    fn partial_checksums_are_completed_and_others_are_not_changed() {
        for length in 0..70 {
            let payload: Vec<u8> = (0..length).map(|i: u8| i.wrapping_mul(37) ^ 0x5a).collect();
            for tcp in [false, true] {
                let mut right = udp4(&payload);
                if tcp {
                    right.splice(42..42, [0, 0, 0, 7, 0x50, 16, 1, 0, 0, 0, 0, 0]);
                    right[17] += 12;
                    right[23] = TCP;
                }
                assert!(complete(&mut right));
                let mut same = right.clone();
                assert!(!mend(&mut same) && same == right);
                let (field, offset) = if tcp { (50, 16) } else { (40, 6) };
                let mut partial = right.clone();
                partial[field..field + 2].copy_from_slice(&pseudo_sum(&right).unwrap().to_be_bytes());
                let mut completed = partial.clone();
                assert!(complete_at(&mut completed, 34, offset) && completed == right);
                // Padding is not part of the packet.
                partial.extend([0xee; 5]);
                assert!(mend(&mut partial) && partial[..right.len()] == right && partial.ends_with(&[0xee; 5]));
                // One that is wrong for another reason stays as it is.
                let mut wrong = right.clone();
                wrong[field] ^= 1;
                assert!(!mend(&mut wrong));
            }
        }
    }

    #[test]
    fn sctp_has_a_crc() {
        // RFC 3720, appendix B.4: 32 bytes of zeros and of ones.
        assert_eq!((crc32c(&[0; 32]), crc32c(&[0xff; 32])), (0x8a91_36aa, 0x62a8_ab43));
        let mut packet = [0xff; 32];
        assert!(complete_at(&mut packet, 0, 8));
        let mut without = packet;
        without[8..12].fill(0);
        assert_eq!(packet[8..12], crc32c(&without).to_le_bytes());
        assert!(!complete_at(&mut packet[..11], 0, 8));
    }

    #[test]
    fn what_is_not_complete_is_left_alone() {
        let whole = udp4(b"hello");
        for cut in 0..whole.len() {
            let mut f = whole[..cut].to_vec();
            let before = f.clone();
            assert!(!complete(&mut f));
            assert_eq!(f, before);
        }
        let mut fragment = whole.clone();
        fragment[20] = 0x20;
        assert!(!complete(&mut fragment));
        let mut icmp = whole;
        icmp[23] = 1;
        assert!(!complete(&mut icmp));
    }
}
