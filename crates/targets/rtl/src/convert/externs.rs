//! Extern calls.

use std::collections::BTreeSet;

use hopwright_ir::{Expr, ExternArg, ExternCall, ExternFn, ExternId, ExternKind, HashAlgorithm, SlotId, Span, Type};
use num_traits::ToPrimitive;

use super::kept::Request;
use super::{Convert, Extra, LIST_BITS, Path, list_number};
use crate::digest::{DigestCall, DigestField, RECEIVER_BITS};
use crate::hir::{Binary, Op, Value};
use crate::refusal::Capability;

/// The bits of a draw.
const RANDOM_BITS: u32 = 64;

impl Convert<'_> {
    pub(super) fn call(&mut self, call: &ExternCall, path: &mut Path) {
        let enable = path.pred;
        let span = call.span;
        match (&call.function, call.args.as_slice()) {
            (ExternFn::CounterCount(counter), [ExternArg::In(index)]) => {
                let index = self.expr(index, path);
                self.b.effect(Op::Count { counter: *counter, enable, index }, 0);
            }
            // The lookup counts.
            (ExternFn::DirectCounterCount(_), []) => {}
            (ExternFn::MeterExecute(meter), [ExternArg::In(index), ExternArg::Out(slot)]) => {
                let index = self.expr(index, path);
                let color = self.b.effect(Op::Measure { meter: *meter, enable, index }, 2);
                let color = self.b.resize(color, self.p[*slot].ty.width());
                self.if_in_range(*meter, index, *slot, color, path);
            }
            (ExternFn::DirectMeterRead(_), [ExternArg::Out(slot)]) => {
                let green = self.b.constant(0u32, 2);
                let color = self.color.unwrap_or(green);
                path.slots[slot.index()] = self.b.resize(color, self.p[*slot].ty.width());
            }
            (ExternFn::RegisterRead(register), [ExternArg::Out(slot), ExternArg::In(index)]) => {
                self.register_read(*register, *slot, index, path);
            }
            (ExternFn::RegisterWrite(register), [ExternArg::In(index), ExternArg::In(value)]) => {
                let (index, value) = (self.expr(index, path), self.expr(value, path));
                self.b.effect(Op::RegisterWrite { register: *register, enable, index, value }, 0);
            }
            (
                ExternFn::Hash(algorithm),
                [ExternArg::Out(result), ExternArg::In(base), ExternArg::List(data), ExternArg::In(max)],
            ) => {
                let range = (self.expr(base, path), self.expr(max, path));
                let width = self.p[*result].ty.width();
                if let Some(value) = self.hash_in_range(*algorithm, range, data, width, span, path) {
                    path.slots[result.index()] = value;
                }
            }
            (ExternFn::Clone { egress, field_list }, [ExternArg::In(session)]) => {
                self.clone(*egress, session, *field_list, path);
            }
            (ExternFn::Truncate, [ExternArg::In(length)]) => {
                let length = self.expr(length, path);
                let (on, bytes) = (self.extra(Extra::Truncate), self.extra(Extra::TruncateLength));
                path.slots[on] = self.b.boolean(true);
                path.slots[bytes] = length;
            }
            (ExternFn::Resubmit(list), _) => self.repeat(Request::Resubmit, *list, path),
            (ExternFn::Recirculate(list), _) => self.repeat(Request::Recirculate, *list, path),
            (ExternFn::Digest(name), [ExternArg::In(receiver), ExternArg::List(data)]) => {
                self.digest(name, receiver, data, path, span);
            }
            (ExternFn::Random, [ExternArg::Out(slot), ExternArg::In(lo), ExternArg::In(hi)]) => {
                self.random(*slot, lo, hi, path, span);
            }
            // Without an observer nobody sees it.
            (ExternFn::LogMsg(_), _) => {}
            (
                ExternFn::VerifyChecksum { algorithm, payload },
                [ExternArg::In(cond), ExternArg::List(data), ExternArg::In(checksum)],
            ) => {
                let (cond, expected) = (self.expr(cond, path), self.expr(checksum, path));
                let Some(found) = self.checksum(*algorithm, *payload, data, span, path) else { return };
                self.verify_checksum(cond, expected, found, path);
            }
            (
                ExternFn::UpdateChecksum { algorithm, payload },
                [ExternArg::In(cond), ExternArg::List(data), ExternArg::InOut(slot) | ExternArg::Out(slot)],
            ) => {
                let cond = self.expr(cond, path);
                let Some(value) = self.checksum(*algorithm, *payload, data, span, path) else { return };
                let value = self.b.resize(value, self.p[*slot].ty.width());
                let at = slot.index();
                path.slots[at] = self.b.mux(cond, value, path.slots[at]);
            }
            (ExternFn::AdjustChecksum, [ExternArg::InOut(slot), ExternArg::List(removed), ExternArg::List(added)]) => {
                let Some(removed) = self.list(removed, span, path) else { return };
                let Some(added) = self.list(added, span, path) else { return };
                path.slots[slot.index()] = self.adjusted(path.slots[slot.index()], removed, added);
            }
            (ExternFn::PopulationCount, [ExternArg::In(value), ExternArg::Out(slot)]) => {
                let value = self.expr(value, path);
                path.slots[slot.index()] = self.b.ones(value, self.p[*slot].ty.width());
            }
            (ExternFn::Named { instance, name, .. }, args) => self.named(*instance, name, args, span, path),
            (function, _) => self.refuse_call(function, span),
        }
    }

    fn refuse_call(&mut self, function: &ExternFn, span: Span) {
        let (capability, message) = match function {
            ExternFn::CounterCountBytes(_)
            | ExternFn::MeterExecuteBytes(_)
            | ExternFn::DirectCounterCountBytes(_)
            | ExternFn::DirectMeterExecuteBytes(_) => (Capability::NamedExtern, "an adjusted number of bytes"),
            ExternFn::EntryIndex => (Capability::NamedExtern, "a register with a cell for each entry of a table"),
            _ => (Capability::NamedExtern, "a call of unknown form"),
        };
        self.refuse(capability, span, message);
    }

    fn register_read(&mut self, register: ExternId, slot: SlotId, index: &Expr, path: &mut Path) {
        let index = self.expr(index, path);
        let width = match &self.p[register].kind {
            ExternKind::Register { ty, .. } => ty.width(),
            _ => 0,
        };
        let value = self.b.effect(Op::RegisterRead { register, index }, width);
        let value = self.b.resize(value, self.p[slot].ty.width());
        self.if_in_range(register, index, slot, value, path);
    }

    /// `base` and the remainder of a hash by `max`; `None` if the hash is refused.
    fn hash_in_range(
        &mut self,
        algorithm: HashAlgorithm,
        (base, max): (Value, Value),
        data: &[Expr],
        width: u32,
        span: Span,
        path: &mut Path,
    ) -> Option<Value> {
        let power = self.b.as_const(max).filter(|c| c.count_ones() <= 1).map(|c| c.bits());
        let base = self.b.resize(base, width);
        if power == Some(0) {
            return Some(base);
        }
        let hash = self.hash(algorithm, data, span, path)?;
        let rest = match power {
            Some(bits) => self.b.resize(hash, self.b.width(hash).min(bits as u32 - 1)),
            None => self.divide(hash, max).1,
        };
        let rest = self.b.resize(rest, width);
        Some(self.b.binary(Binary::Add, base, rest))
    }

    /// The checksum of a list; `None` if it is refused.
    fn checksum(
        &mut self,
        algorithm: HashAlgorithm,
        payload: bool,
        data: &[Expr],
        span: Span,
        path: &mut Path,
    ) -> Option<Value> {
        if payload {
            return self.payload_checksum(algorithm, data, span, path);
        }
        self.hash(algorithm, data, span, path)
    }

    fn verify_checksum(&mut self, cond: Value, expected: Value, found: Value, path: &mut Path) {
        let found = self.b.resize(found, self.b.width(expected));
        let same = self.b.eq(found, expected);
        let differ = self.b.not(same);
        let wrong = self.b.and(cond, differ);
        let at = self.p.standard.checksum_error.index();
        path.slots[at] = self.b.or(path.slots[at], wrong);
    }

    /// Asks for a clone at the end of ingress or egress.
    fn clone(&mut self, egress: bool, session: &Expr, field_list: Option<u8>, path: &mut Path) {
        let session = self.expr(session, path);
        let (on, number, list) = match egress {
            true => (Extra::Mirror, Extra::MirrorSession, Extra::MirrorList),
            false => (Extra::Clone, Extra::Session, Extra::CloneList),
        };
        if !egress {
            self.clone_lists.insert(field_list);
        }
        let [on, number, list] = [on, number, list].map(|extra| self.extra(extra));
        path.slots[on] = self.b.boolean(true);
        path.slots[number] = session;
        path.slots[list] = self.b.constant(list_number(field_list), LIST_BITS);
    }

    /// Whether a slot is in the field list with this number, of these lists.
    pub(super) fn keeps(&mut self, lists: &BTreeSet<Option<u8>>, number: Value, slot: SlotId) -> Value {
        let keeping = |list: &&Option<u8>| {
            self.p.field_lists.iter().any(|other| Some(other.index) == **list && other.slots.contains(&slot))
        };
        let keeping: Vec<u32> = lists.iter().filter(keeping).map(|list| list_number(*list)).collect();
        if keeping.len() == lists.len() {
            return self.b.boolean(true);
        }
        let each: Vec<Value> = keeping.into_iter().map(|list| self.b.eq_const(number, list)).collect();
        self.b.any(&each)
    }

    /// A method of an engine: its results are one value, which is cut into slots.
    fn named(&mut self, instance: Option<ExternId>, name: &str, call: &[ExternArg], span: Span, path: &mut Path) {
        let (mut args, mut results) = (Vec::new(), Vec::new());
        for arg in call {
            args.push(match arg {
                ExternArg::In(e) => self.expr(e, path),
                ExternArg::List(_) => {
                    return self.refuse(Capability::NamedExtern, span, format!("`{name}` has a list as argument"));
                }
                ExternArg::Out(slot) | ExternArg::InOut(slot) => {
                    results.push((args.len(), *slot));
                    path.slots[slot.index()]
                }
            });
        }
        let widths: Vec<u32> = results.iter().map(|(at, _)| self.b.width(args[*at])).collect();
        let places = results.iter().map(|(at, _)| *at).collect();
        let mut at = widths.iter().sum();
        let op = Op::Extern { instance, method: name.into(), enable: path.pred, args, results: places };
        let result = self.b.effect(op, at);
        for ((_, slot), width) in results.into_iter().zip(widths) {
            path.slots[slot.index()] = self.b.slice(result, at - 1, at - width);
            at -= width;
        }
    }

    /// A random number from `lo` to `hi`; nothing if there is none.
    fn random(&mut self, slot: SlotId, lo: &Expr, hi: &Expr, path: &mut Path, span: Span) {
        let (lo, hi) = (self.expr(lo, path), self.expr(hi, path));
        let width = self.b.width(lo);
        let bounds = self.b.as_const(lo).zip(self.b.as_const(hi));
        let narrow = bounds.is_some_and(|(lo, hi)| lo > hi || (hi - lo).bits() <= u64::from(RANDOM_BITS));
        if width > RANDOM_BITS && !narrow {
            let message = format!("of {width} bits, where more than 2^{RANDOM_BITS} numbers may be drawn");
            return self.refuse(Capability::Random, span, message);
        }
        let above = self.b.binary(Binary::Less, hi, lo);
        let some = self.b.not(above);
        let enable = self.b.and(path.pred, some);
        let drawn = self.b.effect(Op::Random { enable }, RANDOM_BITS);
        let span = self.b.binary(Binary::Sub, hi, lo);
        let (span, one) = (self.b.resize(span, RANDOM_BITS + 1), self.b.constant(1u32, RANDOM_BITS + 1));
        let count = self.b.binary(Binary::Add, span, one);
        let power = self.b.as_const(count).filter(|count| count.count_ones() == 1).map(|count| count.bits() as u32 - 1);
        let rest = match power {
            Some(bits) => self.b.resize(drawn, bits),
            None => {
                let drawn = self.b.resize(drawn, RANDOM_BITS + 1);
                self.divide(drawn, count).1
            }
        };
        let rest = self.b.resize(rest, width);
        let number = self.b.binary(Binary::Add, lo, rest);
        let number = self.b.resize(number, self.p[slot].ty.width());
        path.slots[slot.index()] = self.b.mux(some, number, path.slots[slot.index()]);
    }

    /// Sends a digest.
    fn digest(&mut self, name: &str, receiver: &Expr, data: &[Expr], path: &Path, span: Span) {
        let receiver = self.expr(receiver, path);
        let mut parts = vec![path.pred, self.b.resize(receiver, RECEIVER_BITS)];
        let mut fields = Vec::new();
        for e in data {
            let value = self.expr(e, path);
            match e.ty {
                Type::Varbit(most) => {
                    let Some((bytes, count)) = self.bytes_of(value, most, span) else { return };
                    fields.push(DigestField::Varbit(bytes.len() as u32));
                    parts.push(count);
                    parts.extend(bytes);
                }
                _ => {
                    fields.push(DigestField::Bits(self.b.width(value)));
                    parts.push(value);
                }
            }
        }
        let part = self.b.concat(parts);
        self.digests.push((path.pred, part, DigestCall { name: name.to_string(), fields }));
    }

    /// Sets a slot if an object has a cell of this index.
    fn if_in_range(
        &mut self,
        object: hopwright_ir::ExternId,
        index: Value,
        slot: SlotId,
        value: Value,
        path: &mut Path,
    ) {
        let size = match &self.p[object].kind {
            ExternKind::Register { size, .. } | ExternKind::Meter { size, .. } => *size,
            _ => 0,
        };
        let at = slot.index();
        let width = self.b.width(index).max(65);
        let wide = self.b.resize(index, width);
        // An index of as many values as its width has needs no comparison.
        let within = if self.b.width(index) < 64 && size >> self.b.width(index) > 0 {
            self.b.boolean(true)
        } else {
            let size = self.b.constant(size, width);
            self.b.binary(Binary::Less, wide, size)
        };
        path.slots[at] = self.b.mux(within, value, path.slots[at]);
    }

    /// Concatenates a list, filled up to whole bytes at its end.
    pub(super) fn list(&mut self, data: &[Expr], span: Span, path: &Path) -> Option<Value> {
        let mut parts = Vec::new();
        for e in data {
            if matches!(e.ty, Type::Varbit(_)) {
                self.refuse(Capability::Varbit, span, "a varbit is part of the data");
                return None;
            }
            parts.push(self.expr(e, path));
        }
        let width: u32 = parts.iter().map(|p| self.b.width(*p)).sum();
        let padding = width.next_multiple_of(8) - width;
        parts.push(self.b.constant(0u32, padding));
        Some(self.b.concat(parts))
    }

    /// A hash over a list, with the width of the algorithm; none if it is refused.
    pub(super) fn hash(&mut self, algorithm: HashAlgorithm, data: &[Expr], span: Span, path: &Path) -> Option<Value> {
        let width = match algorithm {
            HashAlgorithm::Crc32 | HashAlgorithm::Crc32Custom => 32,
            HashAlgorithm::Crc16 | HashAlgorithm::Crc16Custom | HashAlgorithm::Csum16 | HashAlgorithm::Xor16 => 16,
            HashAlgorithm::Identity => 64,
            HashAlgorithm::Random => {
                self.refuse(Capability::HashAlgorithm, span, "`random` has no engine");
                return None;
            }
        };
        if data.iter().any(|e| matches!(e.ty, Type::Varbit(_))) {
            return self.hash_of_varbit(algorithm, data, width, span, path);
        }
        let data = self.list(data, span, path)?;
        Some(self.b.hash(algorithm, data, width))
    }

    /// RFC 1624, equation 3.
    fn adjusted(&mut self, before: Value, removed: Value, added: Value) -> Value {
        let mut terms = vec![self.b.not(before)];
        for (list, removed) in [(removed, true), (added, false)] {
            let width = self.b.width(list);
            let mut hi = width;
            while hi > 0 {
                let lo = hi.saturating_sub(16);
                let word = self.b.slice(list, hi - 1, lo);
                // An odd byte at the end is a word's first.
                let zeros = self.b.constant(0u32, 16 - (hi - lo));
                let word = self.b.concat(vec![word, zeros]);
                terms.push(if removed { self.b.not(word) } else { word });
                hi = lo;
            }
        }
        let count = terms.len();
        let width = 17 + count.to_u32().map_or(0, |n| n.ilog2());
        let mut sum = self.b.constant(0u32, width);
        for term in terms {
            let term = self.b.resize(term, width);
            sum = self.b.binary(Binary::Add, sum, term);
        }
        // Carries are added to the low word: once for those of the sum, once for that of this addition.
        for _ in 0..2 {
            let (high, low) = (self.b.slice(sum, width - 1, 16), self.b.slice(sum, 15, 0));
            let (high, low) = (self.b.resize(high, width), self.b.resize(low, width));
            sum = self.b.binary(Binary::Add, high, low);
        }
        let sum = self.b.slice(sum, 15, 0);
        self.b.not(sum)
    }
}
