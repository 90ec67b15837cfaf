//! Paused packets: generated code passes them to the traffic manager, which resumes them or copies of them.

use std::collections::BTreeSet;

use hopwright_ir::{Pipeline, SlotId, SlotKind, Type};

use crate::limbs_of;

/// The size of [`crate::Runtime::original`] in bytes.
pub const ORIGINAL_BYTES: usize = 1 << 16;

/// The number of headers whose validity bits share one word of the record.
const HEADERS_PER_MASK: usize = 32;

/// The reason why generated code returned before the end of a batch, as the `verdict` of the last packet it ran. The
/// requests are in the packet's record ([`PauseLayout`]).
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Ingress ended with a request or a multicast group.
    Ingress = 16,
    /// Egress ended with a request for a clone.
    Egress = 17,
    /// The packet is ready to be sent to `egress_port`, but must be truncated or recirculated.
    Sent = 18,
    /// The packet has been parsed, which is all that was asked for.
    Parsed = 19,
}

impl Pause {
    /// Returns the pause that a packet's verdict encodes, if any.
    pub fn of(verdict: u32) -> Option<Pause> {
        [Pause::Ingress, Pause::Egress, Pause::Sent, Pause::Parsed].into_iter().find(|p| *p as u32 == verdict)
    }
}

/// The position of a header in a paused packet's record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeaderPlace {
    /// Index of the word with the length of its varbit field in bytes.
    pub length: usize,
    /// Offset of its bytes.
    pub bytes_at: usize,
}

/// The layout of a paused packet's record: 64-bit words, followed by the bytes of headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PauseLayout {
    words: usize,
    /// First word and number of words of each slot that the record contains.
    slots: Vec<Option<(usize, usize)>>,
    metadata: Vec<SlotId>,
    masks: usize,
    headers: Vec<HeaderPlace>,
}

impl PauseLayout {
    /// Index of the word: 0 to resume at the beginning of egress, 1 after the requests of egress.
    pub const MODE: usize = 0;
    /// Index of the word: the `egress_port` to set.
    pub const PORT: usize = 1;
    /// Index of the word: the payload's offset in the packet's buffer, which is the end of what the parser extracted.
    pub const PAYLOAD: usize = 2;
    /// Index of the word: the length of the packet as received, in bytes.
    pub const LENGTH: usize = 3;
    /// Index of the word: the number of steps the packet may still take.
    pub const STEPS: usize = 4;
    const FIRST: usize = 5;

    /// Computes a layout that contains these slots, except parts of headers, and all headers.
    pub fn new(p: &Pipeline, kept: &BTreeSet<SlotId>) -> PauseLayout {
        let mut next = PauseLayout::FIRST;
        let mut layout = PauseLayout { slots: vec![None; p.slots.len()], ..PauseLayout::default() };
        for &id in kept {
            let slot = &p[id];
            if matches!(slot.kind, SlotKind::Metadata | SlotKind::Standard | SlotKind::NextIndex(_)) {
                // A varbit is preceded by its length.
                let length = usize::from(matches!(slot.ty, Type::Varbit(_)));
                let count = length + limbs_of(slot.ty.width()).max(1);
                layout.slots[id.index()] = Some((next, count));
                next += count;
                if !matches!(slot.kind, SlotKind::NextIndex(_)) {
                    layout.metadata.push(id);
                }
            }
        }
        layout.masks = next;
        next += p.headers.len().div_ceil(HEADERS_PER_MASK);
        let mut at = ((next + p.headers.len()) * 8).next_multiple_of(16);
        for (i, header) in p.headers.iter().enumerate() {
            layout.headers.push(HeaderPlace { length: next + i, bytes_at: at });
            let varbit = header.varbit.map_or(0, |i| header.fields[i as usize].width);
            at += (header.fixed_bits + varbit).div_ceil(8).next_multiple_of(16) as usize;
        }
        // Loads of fields at the end of a header may read beyond it.
        layout.words = at / 8 + 8;
        layout
    }

    /// Number of words of the record.
    pub fn words(&self) -> usize {
        self.words
    }

    /// The first word and the number of words of a slot, if the record contains it.
    pub fn slot(&self, slot: SlotId) -> Option<(usize, usize)> {
        *self.slots.get(slot.index())?
    }

    /// The slots of the record that are metadata, including requests.
    pub fn metadata(&self) -> &[SlotId] {
        &self.metadata
    }

    /// The first word of the headers' validity bits, which are 32 per word.
    pub fn masks(&self) -> usize {
        self.masks
    }

    /// The position of each header.
    pub fn headers(&self) -> &[HeaderPlace] {
        &self.headers
    }
}
