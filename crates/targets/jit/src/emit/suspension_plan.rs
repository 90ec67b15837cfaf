//! Which part of a packet's processing a function implements, and what it needs to pause and resume packets.

use hopwright_abi::PauseLayout;
use hopwright_ir::analysis::suspension_points::{RequestSlots, parser_writes, saved_slots};
use hopwright_ir::{Pipeline, SlotId};

use crate::Unsupported;
use crate::emit::layout::Layout;
use crate::emit::point::stage;

/// The part of a packet's processing that a function implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryPoint {
    /// From the parser to the end, for a packet as received.
    Whole,
    /// From the parser to the end, for a resubmitted or recirculated packet with its preserved fields.
    Reentry,
    /// The parser and the checksum verification, for a clone of ingress.
    Parse,
    /// From egress to the end, from a record.
    Egress,
    /// Up to the lookups in large tables, whose keys it stores ([`crate::key_prefetch`]).
    KeyPrefetch,
}

/// What code that suspends packets needs besides the program.
#[derive(Clone, Debug, Default)]
pub(crate) struct SuspensionPlan {
    pub slots: RequestSlots,
    pub record: PauseLayout,
    /// Whether to save the whole packet before the parser runs, because the parser may change it.
    pub parser_writes: bool,
}

impl SuspensionPlan {
    pub(crate) fn of(p: &Pipeline, slots: RequestSlots) -> SuspensionPlan {
        let record = if slots.any() { PauseLayout::new(p, &saved_slots(p, &slots)) } else { PauseLayout::default() };
        SuspensionPlan { slots, record, parser_writes: parser_writes(p) }
    }
}

/// Returns where code tests which request slots.
pub(crate) fn test_sites(slots: &RequestSlots) -> Vec<(SlotId, u32)> {
    let at = |stage: u32| move |slot| (slot, stage);
    (slots.of_ingress().map(at(stage::ADMITTED)))
        .chain(slots.clone_egress.map(at(stage::LEAVING)))
        .chain(slots.of_sending().map(at(stage::ASSEMBLE)))
        .chain(slots.of_sending().map(at(stage::REBUILD)))
        .collect()
}

/// Returns the layout for an entry point. After a record is restored, no header is known to be in the packet. Packets that pause only
/// where they are sent have been assembled by then.
pub(crate) fn layout_of(p: &Pipeline, entry: EntryPoint, plan: &SuspensionPlan) -> Result<Layout, Unsupported> {
    let pauses_before = plan.slots.of_ingress().next().is_some() || plan.slots.clone_egress.is_some();
    if !plan.slots.any() || (!pauses_before && entry != EntryPoint::Egress) {
        return Layout::of(p);
    }
    let mut layout = Layout::without_suffix(p)?;
    if entry == EntryPoint::Egress {
        layout.headers.iter_mut().for_each(|h| h.extracted = false);
    }
    Ok(layout)
}
