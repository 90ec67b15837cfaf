//! Digests as words of a queue.
//!
//! A word has a part for each place of the program that sends a digest, the first one highest: whether it did, the receiver, and the
//! fields.

use hopwright_interp::{Digest, Value};
use hopwright_ir::bits;
use num_bigint::BigUint;
use num_traits::{ToPrimitive, Zero};

/// Bits of the receiver.
pub(crate) const RECEIVER_BITS: u32 = 32;

/// Words of a queue.
pub const QUEUE: u32 = 64;

/// What the map calls the kind of a queue.
pub(crate) const KIND: &str = "digest";

/// A field of a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DigestField {
    /// This many bits.
    Bits(u32),
    /// A varbit of up to this many bytes: their number, 16 bits, and then the bytes.
    Varbit(u32),
}

/// A place of the program that sends a digest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DigestCall {
    /// The name of the struct type.
    pub name: String,
    /// Its fields.
    pub fields: Vec<DigestField>,
}

impl DigestField {
    fn bits(self) -> u32 {
        match self {
            DigestField::Bits(bits) => bits,
            DigestField::Varbit(bytes) => 16 + 8 * bytes,
        }
    }
}

impl DigestCall {
    /// The bits of its part of a word.
    pub(crate) fn bits(&self) -> u32 {
        1 + RECEIVER_BITS + self.fields.iter().map(|field| field.bits()).sum::<u32>()
    }
}

/// The digests of a word of a queue of these places, in order.
pub fn decode(calls: &[DigestCall], word: &BigUint) -> Vec<Digest> {
    let mut at: u32 = calls.iter().map(DigestCall::bits).sum();
    let mut next = |width: u32| {
        at -= width;
        if width == 0 { BigUint::zero() } else { bits::slice(word, at + width - 1, at) }
    };
    let mut digests = Vec::new();
    for call in calls {
        let sent = !next(1).is_zero();
        let receiver = next(RECEIVER_BITS).to_u32().unwrap_or_default();
        let data = call.fields.iter().map(|field| match *field {
            DigestField::Bits(width) => Value { bits: next(width), width },
            DigestField::Varbit(most) => {
                let (count, all) = (next(16).to_u32().unwrap_or_default().min(most), next(8 * most));
                Value { bits: all >> (8 * (most - count)), width: 8 * count }
            }
        });
        let data = data.collect();
        if sent {
            digests.push(Digest { name: call.name.clone(), receiver, data });
        }
    }
    digests
}
