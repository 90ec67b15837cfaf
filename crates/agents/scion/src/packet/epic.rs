//! EPIC-HP: the header in front of the path, and its validation fields.

use aes::Aes128;
use aes::cipher::{BlockEncrypt, KeyInit};

use super::{Path, Scion};

/// The unit of [`Epic::timestamp`] in microseconds.
const UNIT_US: u64 = 21;

/// The header in front of the SCION path in a path of type EPIC-HP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Epic {
    /// Units of 21 µs since the first segment's timestamp, minus one.
    pub timestamp: u32,
    /// Distinguishes packets with the same timestamp.
    pub counter: u32,
    /// The validation field for the last AS but one.
    pub penultimate_hvf: [u8; 4],
    /// The validation field for the last AS.
    pub last_hvf: [u8; 4],
}

impl Epic {
    /// Creates the header of a packet sent at `now_us` (microseconds since 1970) over a path whose first segment has
    /// the timestamp `path_timestamp` (seconds), without validation fields.
    pub fn sent_at(now_us: u64, path_timestamp: u32) -> Epic {
        let age = now_us.saturating_sub(u64::from(path_timestamp) * 1_000_000);
        Epic { timestamp: (age / UNIT_US).saturating_sub(1) as u32, ..Epic::default() }
    }

    pub(super) fn pack(&self, out: &mut Vec<u8>) {
        out.extend(self.timestamp.to_be_bytes());
        out.extend(self.counter.to_be_bytes());
        out.extend(self.penultimate_hvf);
        out.extend(self.last_hvf);
    }
}

impl Scion {
    /// Computes the validation field for the hop with this full MAC, for the packet as it is. Returns `None` if the
    /// path is not EPIC-HP.
    pub fn hop_validation_field(&self, mac: &[u8; 16]) -> Option<[u8; 4]> {
        let Path::Epic(epic, path) = &self.path else { return None };
        let (_, host) = self.src.pack();
        let extensions: usize = self.extensions.iter().map(|(_, bytes)| bytes.len()).sum();
        let mut message = vec![(host.len() / 4).wrapping_sub(1) as u8 & 3];
        message.extend(path.segments.first()?.info.timestamp.to_be_bytes());
        message.extend(epic.timestamp.to_be_bytes());
        message.extend(epic.counter.to_be_bytes());
        message.extend(self.src_ia.0.to_be_bytes());
        message.extend(host);
        message.extend(((extensions + self.payload.len()) as u16).to_be_bytes());
        message.resize(message.len().next_multiple_of(16), 0);
        let cipher = Aes128::new(mac.into());
        let mut chain = [0; 16];
        for block in message.chunks(16) {
            chain.iter_mut().zip(block).for_each(|(c, b)| *c ^= b);
            cipher.encrypt_block((&mut chain).into());
        }
        chain[..4].try_into().ok()
    }

    /// Sets the validation field for the hop with this full MAC, which must be one of the last two. Does nothing for
    /// paths that are not EPIC-HP.
    pub fn prove(&mut self, mac: &[u8; 16]) {
        let Some(hvf) = self.hop_validation_field(mac) else { return };
        if let Path::Epic(epic, _) = &mut self.path {
            (epic.penultimate_hvf, epic.last_hvf) = (hvf, hvf);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::packet::ia::IsdAs;
    use crate::packet::{Hop, Host, Info, ScionPath, Segment};

    /// Values computed with the reference's `pkg/experimental/epic`, v0.14.0 (`CalcMac`).
    #[test]
    fn hop_validation_fields_are_the_references() {
        let info = Info { peering: false, cons_dir: true, seg_id: 1, timestamp: 0x6a00_0001 };
        let path = ScionPath::at(0, vec![Segment { info, hops: vec![Hop::new(0, 1), Hop::new(2, 0)] }]);
        let epic = Epic { timestamp: 0x0102_0304, counter: 0x0506_0708, ..Epic::default() };
        let mac = std::array::from_fn(|i| i as u8);
        let field = |src: Host| {
            let scion = Scion {
                traffic_class: 0,
                flow_id: 1,
                dst_ia: IsdAs(0x0001_ff00_0000_0001),
                src_ia: IsdAs(0x0002_ff00_0000_0222),
                dst: Host::Service(2),
                src,
                path: Path::Epic(epic, path.clone()),
                extensions: vec![],
                next_hdr: 17,
                payload: vec![0; 120],
                extra_words: 0,
            };
            scion.hop_validation_field(&mac).unwrap()
        };
        let ip = |text: &str| Host::Ip(text.parse::<IpAddr>().unwrap());
        assert_eq!(field(ip("10.0.0.100")), [0x64, 0xa1, 0xa4, 0xa5]);
        assert_eq!(field(Host::Raw(0, (1..9).collect())), [0x98, 0x83, 0x12, 0x19]);
        assert_eq!(field(Host::Raw(0, (1..13).collect())), [0x9a, 0x3b, 0x63, 0x9b]);
        assert_eq!(field(ip("2001:db8::68")), [0x6d, 0x28, 0x0b, 0xf8]);
    }
}
