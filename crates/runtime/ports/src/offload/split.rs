//! Cuts joined frames (the kernel's GSO and GRO) into their segments, as a device would that sends them.
//!
//! Senders on the same machine leave segmentation to their device, and a virtual device leaves it to whoever receives. A
//! port cuts such frames, so that programs see the packets that a wire would carry: their headers, lengths, numbers
//! and checksums are those that the kernel's own segmentation writes (`tcp_gso_segment`, `__udp_gso_segment`).

use crate::offload::checksum::{fold, ones_sum, sum};
use crate::offload::headers::{Headers, Layer, TCP, UDP};
use crate::offload::virtio::{Kind, Offloads};
use crate::offload::{set_word, word};

/// The flags of TCP that not every segment of a joined frame has.
pub(crate) const FIN: u8 = 0x01;
pub(crate) const PSH: u8 = 0x08;
pub(crate) const CWR: u8 = 0x80;

/// How to cut a joined frame.
#[derive(Debug)]
pub(crate) struct Split {
    headers: Headers,
    /// The length of all headers in bytes.
    header: usize,
    /// Payload bytes of each segment but the last.
    size: usize,
    /// The sum of the pseudo-header, without the length.
    pseudo: u64,
}

/// One segment of a joined frame.
#[derive(Debug)]
pub(crate) struct Segment<'a> {
    /// The headers of the joined frame.
    pub header: &'a [u8],
    pub payload: &'a [u8],
    /// False for the last segment.
    pub more: bool,
}

impl Split {
    /// Returns `None` if the frame is not a joined one, its headers are unknown or it has no payload.
    pub(crate) fn of(frame: &[u8], offloads: &Offloads) -> Option<Split> {
        let target = offloads.checksum.map(|(start, _)| usize::from(start));
        let headers = Headers::find(frame, target)?;
        let at = headers.transport;
        let header = match (offloads.kind, headers.protocol) {
            (Kind::Tcp4 | Kind::Tcp6, TCP) => at + usize::from(frame[at + 12] >> 4).max(5) * 4,
            (Kind::Udp, UDP) => at + 8,
            _ => return None,
        };
        let size = usize::from(offloads.size);
        if size == 0 || header >= frame.len() {
            return None;
        }
        let pseudo = match offloads.checksum {
            // The field contains the sum for the joined frame. It also is right where a routing header makes the
            // destination another than the address in the IP header.
            Some(_) => u64::from(word(frame, headers.field())) + u64::from(!((frame.len() - at) as u16)),
            None => sum(&frame[headers.addresses(at)?]) + u64::from(headers.protocol),
        };
        Some(Split { headers, header, size, pseudo })
    }

    /// Returns segment `number`, from 0 on, or `None` if the frame has no such segment.
    #[inline]
    pub(crate) fn segment<'a>(&self, frame: &'a [u8], number: usize) -> Option<Segment<'a>> {
        let (header, payload) = frame.split_at_checked(self.header)?;
        let rest = payload.get(self.size.checked_mul(number)?..)?;
        let payload = &rest[..self.size.min(rest.len())];
        (!payload.is_empty()).then_some(Segment { header, payload, more: rest.len() > self.size })
    }

    /// Turns the headers in front of a segment's payload, which are those of the joined frame, into those of the
    /// segment with this number. `more` is that of the [`Segment`].
    pub(crate) fn finish(&self, frame: &mut [u8], number: usize, more: bool) {
        let (at, field) = (self.headers.transport, self.headers.field());
        let length = frame.len() - at;
        if self.headers.protocol == TCP {
            let first = u32::from_be_bytes([frame[at + 4], frame[at + 5], frame[at + 6], frame[at + 7]]);
            let sequence = first.wrapping_add((number * self.size) as u32);
            frame[at + 4..at + 8].copy_from_slice(&sequence.to_be_bytes());
            if more {
                frame[at + 13] &= !(FIN | PSH);
            }
            if number > 0 {
                frame[at + 13] &= !CWR;
            }
        } else {
            set_word(frame, at + 4, length as u16);
        }
        set_word(frame, field, 0);
        let checksum = !fold(self.pseudo + length as u64 + sum(&frame[at..]));
        // In UDP, a checksum field of zero means that there is no checksum.
        let none = checksum == 0 && self.headers.protocol == UDP;
        set_word(frame, field, if none { 0xffff } else { checksum });

        // The innermost first, because checksums of tunnels cover what is inside.
        for (layer, at) in self.headers.layers().rev() {
            let length = frame.len() - at;
            match layer {
                Layer::Ipv4 => {
                    let header = at..at + usize::from(frame[at] & 15) * 4;
                    set_word(frame, at + 2, length as u16);
                    set_word(frame, at + 4, word(frame, at + 4).wrapping_add(number as u16));
                    set_word(frame, at + 10, 0);
                    let checksum = !ones_sum(&frame[header]);
                    set_word(frame, at + 10, checksum);
                }
                Layer::Ipv6 => set_word(frame, at + 4, (length - 40) as u16),
                Layer::Udp => {
                    set_word(frame, at + 4, length as u16);
                    if word(frame, at + 6) != 0
                        && let Some(addresses) = self.headers.addresses(at)
                    {
                        set_word(frame, at + 6, 0);
                        let pseudo = sum(&frame[addresses]) + u64::from(UDP) + length as u64;
                        let checksum = !fold(pseudo + sum(&frame[at..]));
                        set_word(frame, at + 6, if checksum == 0 { 0xffff } else { checksum });
                    }
                }
                Layer::Gre => {
                    set_word(frame, at + 4, 0);
                    let checksum = !ones_sum(&frame[at..]);
                    set_word(frame, at + 4, checksum);
                }
            }
        }
    }
}
