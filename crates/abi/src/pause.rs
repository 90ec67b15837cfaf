//! Packets that pause: generated code hands them to the traffic manager, which resumes them or their copies.

use std::collections::BTreeSet;

use hopwright_ir::{Pipeline, SlotId, SlotKind, Type};

use crate::limbs_of;

/// Size of [`crate::Runtime::original`] in bytes.
pub const ORIGINAL_BYTES: usize = 1 << 16;

/// Headers whose validity bits share one word of a paused packet.
const HEADERS_PER_MASK: usize = 32;

/// Why generated code returned before the end of a batch; the `verdict` of the last packet it ran. The requests
/// themselves are in the packet's record ([`PauseLayout`]).
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Ingress ended with a request of any kind or a multicast group.
    Ingress = 16,
    /// Egress ended with a request for a clone.
    Egress = 17,
    /// The packet is ready to be sent to `egress_port`, but is to be truncated or recirculated.
    Sent = 18,
    /// The packet is parsed, which is all that was requested.
    Parsed = 19,
}

impl Pause {
    /// The pause that a packet's verdict stands for.
    pub fn of(verdict: u32) -> Option<Pause> {
        [Pause::Ingress, Pause::Egress, Pause::Sent, Pause::Parsed].into_iter().find(|p| *p as u32 == verdict)
    }
}

/// Where a paused packet's record keeps a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeaderPlace {
    /// Word of its varbit field's length in bytes.
    pub length: usize,
    /// Offset of its bytes.
    pub bytes_at: usize,
}

/// The layout of a paused packet's record: 64-bit words, followed by the bytes of headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PauseLayout {
    words: usize,
    /// First word and number of words of each slot in it.
    slots: Vec<Option<(usize, usize)>>,
    metadata: Vec<SlotId>,
    masks: usize,
    headers: Vec<HeaderPlace>,
}

impl PauseLayout {
    /// Word: 0 to resume at the beginning of egress, 1 behind the requests of egress.
    pub const MODE: usize = 0;
    /// Word: `egress_port` to be.
    pub const PORT: usize = 1;
    /// Word: offset of the payload, which the parser did not extract, in the packet's buffer.
    pub const PAYLOAD: usize = 2;
    /// Word: bytes of the packet as it was received.
    pub const LENGTH: usize = 3;
    /// Word: steps the packet may still take.
    pub const STEPS: usize = 4;
    const FIRST: usize = 5;

    /// The layout with these slots, as far as they are no parts of headers, and all headers.
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
        // Loads of fields at the end of a header may reach beyond it.
        layout.words = at / 8 + 8;
        layout
    }

    /// Words of the record.
    pub fn words(&self) -> usize {
        self.words
    }

    /// First word and number of words of a slot, if it is in the record.
    pub fn slot(&self, slot: SlotId) -> Option<(usize, usize)> {
        *self.slots.get(slot.index())?
    }

    /// The slots in the record that are metadata, requests included.
    pub fn metadata(&self) -> &[SlotId] {
        &self.metadata
    }

    /// First word of the headers' validity bits, 32 headers a word.
    pub fn masks(&self) -> usize {
        self.masks
    }

    /// Where each header is.
    pub fn headers(&self) -> &[HeaderPlace] {
        &self.headers
    }
}
