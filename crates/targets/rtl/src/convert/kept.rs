//! What is kept of packets that pass the program again, by request.

use std::collections::BTreeSet;

use hopwright_ir::{ExternFn, Pipeline, SlotId, StmtKind, walk};

/// What is kept of packets that pass again.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    /// All field lists of `resubmit` and `recirculate`.
    pub lists: BTreeSet<u8>,
    /// The slots of these lists, and whether each has a bit that says whether it is kept: others have zero.
    pub slots: Vec<(SlotId, bool)>,
}

/// What a path holds besides [`Extra`]s in programs that repeat packets.
#[derive(Clone, Copy)]
pub(super) enum Request {
    Resubmit,
    Recirculate,
}

impl Kept {
    /// That of a program; none if it repeats no packets.
    pub(super) fn of(p: &Pipeline) -> Option<Kept> {
        let mut lists = BTreeSet::new();
        walk::all_stmts(p, &mut |stmt| {
            if let StmtKind::Extern(call) = &stmt.kind
                && let ExternFn::Resubmit(list) | ExternFn::Recirculate(list) = call.function
            {
                lists.insert(list);
            }
        });
        let standard = p.standard;
        let set = [standard.ingress_port, standard.packet_length, standard.ingress_global_timestamp];
        let of_lists = p.field_lists.iter().filter(|list| lists.contains(&list.index)).flat_map(|list| &list.slots);
        let slots: BTreeSet<SlotId> = of_lists.copied().filter(|slot| *slot != standard.instance_type).collect();
        let slots = slots.into_iter().map(|slot| (slot, set.contains(&slot))).collect();
        (!lists.is_empty()).then_some(Kept { lists, slots })
    }

    /// Whether a slot is kept.
    pub(super) fn has(&self, slot: SlotId) -> bool {
        self.slots.iter().any(|(kept, _)| *kept == slot)
    }
}
