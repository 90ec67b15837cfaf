//! What the source does: packets that routers accept, and receipts.

use std::collections::BTreeMap;

use crate::cipher::Cipher;
use crate::destination::{self, Receipt};
use crate::key::Key;
use crate::packet::{Hop, Host, IsdAs, Level, Packet};
use crate::path::Path;

/// The source's keys. Levels 0 and 1 need none.
#[derive(Clone, Debug)]
pub struct Keys {
    /// Between each AS of the path and the source: [`crate::drkey::as_host`].
    pub routers: BTreeMap<IsdAs, Key>,
    /// Between the destination and the source: [`crate::drkey::host_host`].
    pub destination: Key,
}

/// What is to be sent.
#[derive(Clone, Debug)]
pub struct Message {
    /// The level.
    pub level: Level,
    /// The source.
    pub src: (IsdAs, Host),
    /// The destination.
    pub dst: (IsdAs, Host),
    /// Now, seconds since 1970.
    pub timestamp: u32,
    /// Other than that of all other packets of this second.
    pub counter: u32,
    /// Protocol of the payload.
    pub next_hdr: u8,
    /// The payload, at most 65,535 bytes.
    pub payload: Vec<u8>,
}

/// A packet, and what the source remembers of it.
#[derive(Clone, Debug)]
pub struct Sealed {
    /// To be sent.
    pub packet: Packet,
    /// Level 3: the hop validation fields that routers leave behind, in order of the hops, each with its AS.
    pub confirmations: Vec<(IsdAs, [u8; 4])>,
}

/// A key is missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no key for AS {0}, which is on the path")]
pub struct NoKey(pub IsdAs);

/// What a receipt says is not what should have happened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum NotConfirmed {
    #[error("the receipt is not from the destination")]
    Forged,
    #[error("AS {0} has not processed the packet")]
    Skipped(IsdAs),
    #[error("packets of this level have no receipts")]
    Level,
}

/// Makes the packet.
///
/// # Errors
/// If levels 2 and 3 lack a key.
pub fn seal(message: Message, path: &Path, keys: Option<&Keys>) -> Result<Sealed, NoKey> {
    let level = message.level;
    let mut packet = Packet {
        level,
        traffic_class: 0,
        flow_id: 1,
        dst_ia: message.dst.0,
        src_ia: message.src.0,
        dst: message.dst.1,
        src: message.src.1,
        timestamp: message.timestamp,
        counter: message.counter,
        curr_inf: 0,
        curr_hf: 0,
        validation: [0; 16],
        segments: path.segments(),
        next_hdr: message.next_hdr,
        payload: message.payload,
    };
    let mut tags = Vec::new();
    if level >= Level::L1 {
        for hop in path.hops() {
            let key = match level {
                Level::L0 | Level::L1 => &hop.sigma,
                _ => keys.and_then(|k| k.routers.get(&hop.ia)).ok_or(NoKey(hop.ia))?,
            };
            tags.push((hop.ia, validation_fields(path.cipher, &packet, key, &hop.sigma)));
        }
    }
    let half = |tag: [u8; 8], which: usize| -> [u8; 4] { std::array::from_fn(|i| tag[4 * which + i]) };
    let confirmations = tags.iter().filter(|_| level == Level::L3).map(|(ia, tag)| (*ia, half(*tag, 1))).collect();
    if level >= Level::L2 {
        let keys = keys.ok_or(NoKey(message.dst.0))?;
        // The destination sees what routers leave behind.
        let arriving = usize::from(level == Level::L3);
        set(&mut packet, tags.iter().map(|(_, tag)| half(*tag, arriving)));
        packet.validation = destination::validation(&packet, &packet.encode(), &keys.destination);
    }
    set(&mut packet, tags.iter().map(|(_, tag)| half(*tag, 0)));
    Ok(Sealed { packet, confirmations })
}

fn set(packet: &mut Packet, fields: impl Iterator<Item = [u8; 4]>) {
    packet.hops_mut().zip(fields).for_each(|(hop, hvf): (&mut Hop, _)| hop.hvf = hvf);
}

/// The hop validation field, and what the router puts in its place at level 3.
fn validation_fields(cipher: Cipher, packet: &Packet, key: &Key, sigma: &Key) -> [u8; 8] {
    let mut blocks = packet.identity();
    if packet.level >= Level::L2 {
        blocks.push(*sigma.bytes());
    }
    cipher.shorten(cipher.chain(key.bytes(), &blocks))
}

impl Sealed {
    /// Whether all routers of the path have processed the packet, by the destination's receipt.
    ///
    /// # Errors
    /// If the receipt is not of the destination, or names the first router that has not.
    pub fn check(&self, receipt: &Receipt, keys: &Keys) -> Result<(), NotConfirmed> {
        if self.packet.level != Level::L3 {
            return Err(NotConfirmed::Level);
        }
        if !receipt.is_for(&self.packet, &keys.destination) {
            return Err(NotConfirmed::Forged);
        }
        let mut arrived = receipt.fields.iter();
        self.confirmations.iter().try_for_each(|(ia, wanted)| {
            if arrived.next() == Some(wanted) { Ok(()) } else { Err(NotConfirmed::Skipped(*ia)) }
        })
    }
}
