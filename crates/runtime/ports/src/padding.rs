//! What follows the IP packet of a frame: Ethernet pads short frames to 60 bytes, and some devices append trailers. It
//! is not part of the packet, so ports that take UDP datagrams cut it off: a router neither counts nor forwards it.

use hopwright_dataplane::Packet;

/// Length of the Ethernet header in bytes.
const ETHERNET: usize = 14;
/// Length of the UDP header in bytes.
const UDP: usize = 8;

/// Returns the length of a frame up to the end of its IP packet. Frames that are not IP, and those whose IP length does
/// not fit the frame or leaves no room for a UDP header, are returned in full length: programs count them as malformed.
#[inline]
pub(crate) fn length_without(frame: &[u8]) -> usize {
    let word = |at: usize| usize::from(u16::from_be_bytes([frame[at], frame[at + 1]]));
    if frame.len() < ETHERNET + 20 + UDP {
        return frame.len();
    }
    let (headers, bytes) = match word(12) {
        0x0800 => (20, word(16)),
        0x86dd => (40, 40 + word(18)),
        _ => return frame.len(),
    };
    if bytes >= headers + UDP { frame.len().min(ETHERNET + bytes) } else { frame.len() }
}

/// Cuts a packet at the end of its IP packet.
#[inline]
pub(crate) fn cut_off(packet: &mut Packet) {
    let length = length_without(packet.bytes());
    if length < packet.len() {
        let start = packet.raw().start;
        packet.set_bounds(start, start + length as u32);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;
    use crate::filter::test_frames::{udp4, udp6};

    #[test]
    fn what_follows_the_ip_packet_is_padding() {
        let to = [2, 0, 0, 0, 0, 1];
        for (mut frame, at, headers) in
            [(udp4(to, [192, 0, 2, 1], 5, 0), 16, 20), (udp6(to, Ipv6Addr::LOCALHOST, 5), 18, 0)]
        {
            let front = if headers == 0 { 54 } else { 14 };
            frame.resize(80, 0);
            let mut with = |length: u16| {
                frame[at..at + 2].copy_from_slice(&length.to_be_bytes());
                length_without(&frame)
            };
            for length in headers + 8..=80 - front {
                assert_eq!(with(length), usize::from(front + length));
            }
            // Lengths that cannot be leave the frame as it is.
            for length in [0, 1, headers + 7, 80 - front + 1, 0xffff] {
                assert_eq!(with(length), 80);
            }
            for cut in 0..front + headers + 8 {
                assert_eq!(length_without(&frame[..usize::from(cut)]), usize::from(cut));
            }
            frame[12] = 0x88;
            assert_eq!(length_without(&frame), 80);
        }
    }
}
