//! What the destination does: it checks the source, the payload and at level 3 the path, and tells the source what arrived.
//! [`crate::receiver`] also checks that packets are fresh and come once.

use crate::cipher::cmac;
use crate::key::Key;
use crate::packet::{Level, Malformed, Packet};

/// First byte of a receipt's MAC; that of a packet is its version, 0.
const RECEIPT: u8 = 0xff;

/// A packet that the destination does not believe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Levels 0 and 1 prove nothing to the destination.
    #[error("packets of this level prove nothing to the destination")]
    Level,
    /// Not what the source sent; at level 3 also, not over the path that it says.
    #[error("the validation field is wrong")]
    Validation,
}

/// What of a packet has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The hop validation fields in order.
    pub fields: Vec<[u8; 4]>,
    /// MAC with the hosts' key over source, timestamp, counter and the fields.
    pub tag: [u8; 16],
}

/// The validation field of a packet with these bytes as it arrives: AES-CMAC with the hosts' key over everything that routers
/// leave alone.
pub(crate) fn validation(packet: &Packet, bytes: &[u8], key: &Key) -> [u8; 16] {
    let mut covered = bytes.to_vec();
    packet.clear_mutable(&mut covered);
    cmac(key, &covered)
}

/// A packet that has arrived, and its bytes.
#[derive(Clone, Debug)]
pub struct Arrived<'a> {
    packet: Packet,
    bytes: &'a [u8],
}

impl<'a> Arrived<'a> {
    /// A packet from the SCION common header on. Bytes behind its payload are padding.
    ///
    /// # Errors
    /// If it is malformed or not canonical: [`Packet::decode`].
    pub fn decode(bytes: &'a [u8]) -> Result<Arrived<'a>, Malformed> {
        let packet = Packet::decode(bytes)?;
        // The length of the header, in words.
        let length = usize::from(bytes[5]) * 4 + packet.payload.len();
        Ok(Arrived { packet, bytes: &bytes[..length] })
    }

    /// What it says.
    pub fn packet(&self) -> &Packet {
        &self.packet
    }

    /// The same, when its bytes are no longer needed.
    pub fn into_packet(self) -> Packet {
        self.packet
    }

    /// Checks the bytes that have arrived.
    ///
    /// # Errors
    /// If they are not as the source wants them to arrive.
    pub fn check(&self, key: &Key) -> Result<(), Refused> {
        if self.packet.level < Level::L2 {
            return Err(Refused::Level);
        }
        let right = same(&validation(&self.packet, self.bytes, key), &self.packet.validation);
        if right { Ok(()) } else { Err(Refused::Validation) }
    }
}

/// Compares in constant time.
fn same(a: &[u8; 16], b: &[u8; 16]) -> bool {
    a.iter().zip(b).fold(0, |difference, (a, b)| difference | a ^ b) == 0
}

impl Receipt {
    /// The receipt of a packet of level 3, whether or not it was believed: it shows the source where it went wrong.
    pub fn new(packet: &Packet, key: &Key) -> Receipt {
        let fields: Vec<[u8; 4]> = packet.hops().map(|hop| hop.hvf).collect();
        let tag = Receipt::tag(packet, &fields, key);
        Receipt { fields, tag }
    }

    fn tag(packet: &Packet, fields: &[[u8; 4]], key: &Key) -> [u8; 16] {
        let mut message = vec![RECEIPT, packet.src.kind()];
        message.extend(packet.src_ia.0.to_be_bytes());
        message.extend(packet.src.bytes());
        message.extend(packet.timestamp.to_be_bytes());
        message.extend(packet.counter.to_be_bytes());
        message.extend(fields.concat());
        cmac(key, &message)
    }

    /// Whether it was made for this packet with this key.
    pub(crate) fn is_for(&self, packet: &Packet, key: &Key) -> bool {
        same(&self.tag, &Receipt::tag(packet, &self.fields, key))
    }

    /// As a packet's payload: tag, then fields.
    pub fn encode(&self) -> Vec<u8> {
        [&self.tag[..], &self.fields.concat()].concat()
    }

    /// From a packet's payload. `None` if it is none.
    pub fn decode(bytes: &[u8]) -> Option<Receipt> {
        let (tag, rest) = bytes.split_first_chunk()?;
        let (fields, rest) = rest.as_chunks();
        rest.is_empty().then(|| Receipt { fields: fields.to_vec(), tag: *tag })
    }
}
