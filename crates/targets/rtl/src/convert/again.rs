//! Packets that pass the program again: what is kept of them, and what they begin with.

use hopwright_ir::{InstanceType, Span, Type};

use super::kept::{Kept, Request};
use super::{Convert, Extra, Path};
use crate::hir::{Input, Repetition, Value};
use crate::refusal::Capability;

/// The bits in front of the kept fields: whether the packet was recirculated or resubmitted, and its ingress port.
pub(super) const HEAD_BITS: u32 = 11;

/// Bits of the number of a field list.
const LIST_BITS: u32 = 8;

impl Convert<'_> {
    /// The widths of what a path holds for repetitions, for each [`Request`] whether there is one and its field list.
    pub(super) fn request_widths(&self) -> &'static [u32] {
        if self.kept.is_some() { &[1, LIST_BITS, 1, LIST_BITS] } else { &[] }
    }

    /// Where a request is held; its list is behind it.
    fn request(&self, request: Request) -> usize {
        self.p.slots.len() + Extra::WIDTHS.len() + self.in_place.len() + 2 * request as usize
    }

    /// Asks for another pass with the fields of a list.
    pub(super) fn repeat(&mut self, request: Request, list: u8, path: &mut Path) {
        let at = self.request(request);
        path.slots[at] = self.b.boolean(true);
        path.slots[at + 1] = self.b.constant(list, LIST_BITS);
    }

    /// A clone does not do what its packet has asked for.
    pub(super) fn forget_repetitions(&mut self, cloned: Value, path: &mut Path) {
        if self.kept.is_some() {
            let (at, none) = (self.request(Request::Recirculate), self.b.boolean(false));
            path.slots[at] = self.b.mux(cloned, none, path.slots[at]);
        }
    }

    /// Whether a packet passes again, and what is kept of it; nothing if it never does.
    pub(super) fn repetition(&mut self, request: Request, path: &Path, span: Span) -> Option<Repetition> {
        let Kept { lists, slots } = self.kept.clone()?;
        let at = self.request(request);
        let (enable, list) = (path.slots[at], path.slots[at + 1]);
        if self.known(enable) == Some(0) {
            return None;
        }
        let resubmitted = matches!(request, Request::Resubmit);
        let mirror_bits = self.mirror_bits();
        let mut parts =
            vec![self.b.constant(0u32, mirror_bits), self.b.boolean(!resubmitted), self.b.boolean(resubmitted)];
        parts.push(path.slots[self.p.standard.ingress_port.index()]);
        for (slot, marked) in slots {
            if !resubmitted && matches!(self.p[slot].ty, Type::Varbit(_)) {
                let message = format!("`{}` is a varbit field, and the packet changes", self.p[slot].name);
                self.refuse(Capability::Varbit, span, message);
            }
            let keeping = |list: &&u8| {
                self.p.field_lists.iter().any(|other| other.index == **list && other.slots.contains(&slot))
            };
            let keeping: Vec<u8> = lists.iter().filter(keeping).copied().collect();
            let kept = if keeping.len() == lists.len() {
                self.b.boolean(true)
            } else {
                let each: Vec<Value> = keeping.into_iter().map(|number| self.b.eq_const(list, number)).collect();
                self.b.any(&each)
            };
            if marked {
                parts.push(kept);
            }
            let value = path.slots[slot.index()];
            let zero = self.b.constant(0u32, self.b.width(value));
            parts.push(self.b.mux(kept, value, zero));
        }
        Some(Repetition { enable, kept: self.b.concat(parts) })
    }

    /// What a packet begins with that passes again, where that is something else than what it was received with.
    pub(super) fn begin_again(&mut self, slots: &mut [Value]) {
        let Some(Kept { slots: kept, .. }) = self.kept.clone() else { return };
        let bits = self.again_bits();
        let all = self.b.input(Input::Again(bits));
        let mut at = bits - self.mirror_bits();
        let mut next = |convert: &mut Self, width: u32| {
            at -= width;
            convert.b.slice(all, at + width - 1, at)
        };
        let [recirculated, resubmitted] = [next(self, 1), next(self, 1)];
        let port = next(self, 9);
        let again = self.b.or(recirculated, resubmitted);
        let standard = self.p.standard;
        let own = &mut slots[standard.ingress_port.index()];
        *own = self.b.mux(again, port, *own);
        let [normal, resubmission, recirculation] =
            [InstanceType::Normal, InstanceType::Resubmitted, InstanceType::Recirculated]
                .map(|kind| self.b.constant(kind as u32, 32));
        let other = self.b.mux(resubmitted, resubmission, normal);
        slots[standard.instance_type.index()] = self.b.mux(recirculated, recirculation, other);
        for (slot, marked) in kept {
            let own = slots[slot.index()];
            let is_kept = marked.then(|| next(self, 1));
            let value = next(self, self.b.width(own));
            slots[slot.index()] = is_kept.map_or(value, |is_kept| self.b.mux(is_kept, value, own));
        }
    }
}
