//! The layout of the table of headers in the stack frame.

use cranelift_codegen::ir::{StackSlot, StackSlotData, StackSlotKind, types};
use cranelift_frontend::{FunctionBuilder, Variable};

use crate::emit::layout::{HeaderLayout, Layout};

/// Headers per validity mask: masks of 32 bits fit an instruction.
pub(crate) const PER_MASK: usize = 32;

/// Which members of the table are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeaderUses {
    pub bases: Vec<bool>,
    pub varbits: Vec<bool>,
}

/// The layout of the table.
pub(crate) struct HeaderTable {
    pub slot: StackSlot,
    /// The byte offset of each header's address, for headers that are not always zero.
    pub bases: Vec<Option<i32>>,
    /// Byte offset of the length of its varbit field.
    pub varbits: Vec<Option<i32>>,
    /// The members that are in the table.
    pub wanted: HeaderUses,
    /// The members that have been read so far.
    pub used: HeaderUses,
    pub masks: Vec<Variable>,
    pub images: StackSlot,
}

impl HeaderTable {
    pub(crate) fn new(b: &mut FunctionBuilder, layout: &Layout, wanted: &HeaderUses) -> HeaderTable {
        let headers = &layout.headers;
        let mut next = 0;
        let mut place = |there: bool| {
            next += if there { 8 } else { 0 };
            there.then_some(next - 8)
        };
        let bases = headers.iter().map(|h| place(h.has_base())).collect();
        let has_varbit = |h: &HeaderLayout| (h.from_packet || h.varbit_written) && h.varbit_at.is_some();
        let varbits = headers.iter().map(|h| place(has_varbit(h))).collect();
        let slot = b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, next.max(8) as u32, 3));
        let masks = headers.chunks(PER_MASK).map(|_| b.declare_var(types::I32)).collect();
        let size = layout.images.max(16) as u32;
        let images = b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, size, 4));
        let none = HeaderUses { bases: vec![false; headers.len()], varbits: vec![false; headers.len()] };
        let wanted = if wanted.bases.is_empty() { none.clone() } else { wanted.clone() };
        HeaderTable { slot, bases, varbits, wanted, used: none, masks, images }
    }

    /// Returns the members that are read, if they differ from those in the table.
    pub(crate) fn missing(self) -> Option<HeaderUses> {
        (self.used != self.wanted).then_some(self.used)
    }
}
