//! Clones made at the end of egress (*mirrored* packets).
//!
//! The packet as the pass received it enters again, with the headers that egress has left. It passes neither parser nor ingress, and
//! the traffic manager makes the copies of its session.

use std::collections::BTreeSet;

use hopwright_ir::analysis::effects::{Effects, SlotSet};
use hopwright_ir::{DROP_PORT, ExternFn, Pipeline, SlotId, SlotKind, StmtKind, walk};

use super::again::HEAD_BITS;
use super::kept::Kept;
use super::{Convert, Extra, Path, held_width};
use crate::hir::{IngressOutputs, Input, Repetition, Value};

/// What is kept of mirrored packets.
#[derive(Clone, Debug)]
pub(super) struct Mirror {
    /// The field lists of the calls.
    lists: BTreeSet<Option<u8>>,
    /// The slots that are kept, and whether that depends on the list.
    slots: Vec<(SlotId, bool)>,
}

/// Bits in front of the slots: whether the packet is mirrored, and its session.
const FRONT_BITS: u32 = 33;

impl Mirror {
    /// That of a program; none if it mirrors no packets.
    pub(super) fn of(p: &Pipeline) -> Option<Mirror> {
        let mut lists = BTreeSet::new();
        walk::all_stmts(p, &mut |stmt| {
            if let StmtKind::Extern(call) = &stmt.kind
                && let ExternFn::Clone { egress: true, field_list } = call.function
            {
                lists.insert(field_list);
            }
        });
        if lists.is_empty() {
            return None;
        }
        // Slots that nobody reads in egress, or keeps for a further pass, need not be kept.
        let (effects, mut reads, mut writes) = (Effects::of(p), SlotSet::empty(p), SlotSet::empty(p));
        for control in [&p.egress, &p.compute_checksum, &p.deparser] {
            effects.block(p, &control.body, &mut reads, &mut writes);
        }
        let standard = p.standard;
        let repeated = Kept::of(p);
        let listed = |slot: SlotId| {
            p.field_lists.iter().any(|list| lists.contains(&Some(list.index)) && list.slots.contains(&slot))
        };
        let mut slots = Vec::new();
        for (i, slot) in p.slots.iter().enumerate() {
            let id = SlotId(i as u32);
            let always = matches!(slot.kind, SlotKind::Field(..) | SlotKind::Valid(_) | SlotKind::NextIndex(_))
                || [standard.ingress_port, standard.packet_length].contains(&id);
            let passes_on = listed(id) || repeated.as_ref().is_some_and(|kept| kept.has(id));
            let needed = reads.contains(id) || passes_on || matches!(slot.kind, SlotKind::Valid(_));
            if needed && id != standard.instance_type && (always || listed(id)) {
                slots.push((id, !always));
            }
        }
        Some(Mirror { lists, slots })
    }
}

impl Convert<'_> {
    /// The bits of what is kept of mirrored packets; zero if there are none.
    pub(super) fn mirror_bits(&self) -> u32 {
        let places = 16 * (2 + self.in_place.len() as u32);
        let width = |(slot, _): &(SlotId, bool)| held_width(&self.p[*slot]);
        self.mirror.as_ref().map_or(0, |m| FRONT_BITS + places + m.slots.iter().map(width).sum::<u32>())
    }

    /// The bits of what is kept of packets that pass again, whatever for.
    pub(super) fn again_bits(&self) -> u32 {
        self.mirror_bits() + self.kept_bits()
    }

    /// The bits of what is kept of repeated packets.
    fn kept_bits(&self) -> u32 {
        let width = |(slot, marked): &(SlotId, bool)| held_width(&self.p[*slot]) + u32::from(*marked);
        self.kept.as_ref().map_or(0, |kept| HEAD_BITS + kept.slots.iter().map(width).sum::<u32>())
    }

    /// Whether the packet is mirrored.
    pub(super) fn mirrored(&mut self) -> Value {
        if self.mirror.is_none() {
            return self.b.boolean(false);
        }
        let bits = self.again_bits();
        let all = self.b.input(Input::Again(bits));
        self.b.slice(all, bits - 1, bits - 1)
    }

    /// The extras that are kept: the offsets in the packet.
    fn mirrored_places(&self) -> Vec<usize> {
        let first = self.p.slots.len() + Extra::WIDTHS.len();
        let staying = first..first + self.in_place.len();
        [self.extra(Extra::Cursor), self.extra(Extra::Skip)].into_iter().chain(staying).collect()
    }

    /// What the traffic manager makes of a mirrored packet: the copies of its session, and nothing else.
    pub(super) fn mirrored_outputs(&mut self, own: IngressOutputs) -> IngressOutputs {
        if self.mirror.is_none() {
            return own;
        }
        let (mirrored, bits) = (self.mirrored(), self.again_bits());
        let on = self.b.not(mirrored);
        let all = self.b.input(Input::Again(bits));
        let session = self.b.slice(all, bits - 2, bits - FRONT_BITS);
        let (no_group, dropped) = (self.b.constant(0u32, 16), self.b.constant(DROP_PORT, 9));
        let cloned = self.b.and(own.clone, on);
        IngressOutputs {
            multicast_group: self.b.mux(mirrored, no_group, own.multicast_group),
            egress_spec: self.b.mux(mirrored, dropped, own.egress_spec),
            clone: self.b.or(mirrored, cloned),
            session: self.b.mux(mirrored, session, own.session),
            resubmit: own.resubmit.map(|again| Repetition { enable: self.b.and(again.enable, on), ..again }),
            fault: self.b.and(own.fault, on),
            ..own
        }
    }

    /// What a mirrored packet begins egress with.
    pub(super) fn begin_mirrored(&mut self, path: &mut Path) {
        let Some(Mirror { slots, .. }) = self.mirror.clone() else { return };
        let (mirrored, bits) = (self.mirrored(), self.again_bits());
        let all = self.b.input(Input::Again(bits));
        let p = self.p;
        let mut values: Vec<Value> = p.slots.iter().map(|slot| self.b.constant(0u32, held_width(slot))).collect();
        let mut at = bits - FRONT_BITS;
        let mut next = |convert: &mut Self, width: u32| {
            at -= width;
            convert.b.slice(all, at + width - 1, at)
        };
        for place in self.mirrored_places() {
            let kept = next(self, 16);
            path.slots[place] = self.b.mux(mirrored, kept, path.slots[place]);
        }
        for (slot, _) in slots {
            let width = held_width(&self.p[slot]);
            values[slot.index()] = next(self, width);
        }
        for (slot, kept) in values.into_iter().enumerate() {
            path.slots[slot] = self.b.mux(mirrored, kept, path.slots[slot]);
        }
    }

    /// Whether a clone is made at the end of egress, and what is kept for it; nothing if there never is one.
    pub(super) fn mirror_outputs(&mut self, path: &Path) -> Option<Repetition> {
        let Mirror { lists, slots } = self.mirror.clone()?;
        let (enable, fault) = (path.slots[self.extra(Extra::Mirror)], path.slots[self.extra(Extra::Fault)]);
        let on = self.b.not(fault);
        let enable = self.b.and(enable, on);
        let mut parts = vec![self.b.boolean(true), path.slots[self.extra(Extra::MirrorSession)]];
        parts.extend(self.mirrored_places().into_iter().map(|place| path.slots[place]));
        let list = path.slots[self.extra(Extra::MirrorList)];
        for (slot, listed) in slots {
            let value = path.slots[slot.index()];
            let kept = if listed { self.keeps(&lists, list, slot) } else { self.b.boolean(true) };
            let zero = self.b.constant(0u32, self.b.width(value));
            parts.push(self.b.mux(kept, value, zero));
        }
        parts.push(self.b.constant(0u32, self.kept_bits()));
        Some(Repetition { enable, kept: self.b.concat(parts) })
    }
}
