//! Internet checksums and hashes.
//!
//! Internet checksums are sums modulo 2^16 - 1 (RFC 1071). Swapping the bytes of all words swaps the bytes of the sum. Words of the
//! packet are therefore added in its order. Multiplying by 2^8 swaps the bytes of a sum of numbers.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use hopwright_ir::{BinaryOp, ExternCall, ExternFn, HashAlgorithm, Type};
use num_traits::{ToPrimitive, Zero};

use super::{Codegen, Result};
use crate::code::libcalls::{self, Libcall};
use crate::emit::externs::Sum16;
use crate::emit::layout::limbs;
use crate::trace_ir::values::{Op, ValueId};

/// A multiple of 2^16 - 1 that keeps differences positive.
const POSITIVE: u64 = 0xffff << 40;

/// A sum that a program folds to 16 bits.
#[derive(Default)]
pub(super) struct FoldedSum {
    constant: u64,
    /// The terms, and whether they are subtracted: those that have the order of the packet, and others.
    in_order: Vec<(ValueId, bool)>,
    others: Vec<(ValueId, bool)>,
}

impl Codegen<'_, '_> {
    /// A checksum or hash of a concatenation.
    pub(super) fn checksum(&mut self, algorithm: HashAlgorithm, parts: &[ValueId]) -> Result<Vec<Value>> {
        let is_varbit = |g: &Self, v: &ValueId| matches!(g.data_type(*v), Type::Varbit(_));
        // A payload is last.
        let (parts, payload) = match parts.split_last() {
            Some((last, parts)) if is_varbit(self, last) => (parts, Some(*last)),
            _ => (parts, None),
        };
        if parts.iter().any(|part| is_varbit(self, part)) {
            return self.unsupported("a checksum of varbits");
        }
        let parts = self.joined(parts);
        if algorithm == HashAlgorithm::Csum16 && payload.is_none() {
            let sum = self.sum16(&parts)?;
            return Ok(vec![self.g.complement16(sum)]);
        }
        let payload = match payload.map(|payload| self.ir.values[payload].op.clone()) {
            Some(Op::Bytes { at, length: None }) => Some(at),
            Some(_) => return self.unsupported("a checksum of varbits"),
            None => None,
        };
        let whole = parts.into_iter().reduce(|a, b| {
            let width = self.ir.values.width(a) + self.ir.values.width(b);
            self.ir.values.data(Op::Binary(BinaryOp::Concat, a, b), Type::Bits(width))
        });
        let (buffer, bytes) = self.packed(whole)?;
        let (from, count) = match payload {
            Some(at) => {
                let base = self.base(at.base)?;
                let from = self.g.b.ins().iadd_imm_s(base, i64::from(at.offset));
                let length = self.ir.values.data(Op::Length, Type::Bits(32));
                let (start, length) = (self.base(None)?, self.limbs(length)?[0]);
                let end = self.g.b.ins().iadd(start, length);
                (from, self.g.b.ins().isub(end, from))
            }
            None => (buffer, self.g.c64(0)),
        };
        let (which, length) = (self.g.c64(libcalls::algorithm_code(algorithm)), self.g.c64(u64::from(bytes)));
        self.before_call();
        let args = [which, buffer, length, from, count];
        Ok(vec![self.g.libcall(Libcall::Checksum, &args, true).unwrap_or(buffer)])
    }

    /// A value in the order of the packet, padded with zeros to whole bytes: its address, and how many bytes these are.
    pub(super) fn packed(&mut self, whole: Option<ValueId>) -> Result<(Value, u32)> {
        let width = whole.map_or(0, |whole| self.ir.values.width(whole));
        let bytes = width.div_ceil(8);
        let buffer = self.g.stack_buffer(bytes.div_ceil(8) as usize);
        if let Some(whole) = whole {
            let whole = self.limbs(whole)?;
            let padded = self.g.wide_shl(&whole, bytes * 8 - width, limbs(bytes * 8));
            self.g.store_bytes(self.g.flags.stack, buffer, 0, bytes, &padded);
        }
        Ok((buffer, bytes))
    }

    /// The sum whose complement is the result of a call of [`ExternFn::AdjustChecksum`] (RFC 1624): the complements of the checksum
    /// and of removed words, and added words.
    pub(super) fn adjusted(&mut self, operands: [ValueId; 3]) -> Result<Sum16> {
        let [removed, added] = self.changed_words(operands);
        let in_order = self.has_words_in_packet(&removed) || self.has_words_in_packet(&added);
        let (removed, added) = (self.sum_of(&removed, in_order)?, self.sum_of(&added, in_order)?);
        Ok(self.g.changed16(removed, added))
    }

    /// The words that an adjusted checksum loses, which include the checksum itself, and those that it gets.
    fn changed_words(&mut self, [before, removed, added]: [ValueId; 3]) -> [Vec<ValueId>; 2] {
        [self.joined(&[before, removed]), self.joined(&[added])]
    }

    /// The operands of an adjusted Internet checksum, if a value is one.
    fn adjusted_checksum(&self, v: ValueId) -> Option<[ValueId; 3]> {
        let Op::Call { function, args, .. } = &self.ir.values[v].op else { return None };
        let is_adjusted = |call: &&ExternCall| call.function == ExternFn::AdjustChecksum;
        self.functions.get(&**function)?.first().filter(|call| is_adjusted(call))?;
        args.as_slice().try_into().ok()
    }

    /// Whether a value is an Internet checksum with words of the packet, which are added in its order.
    pub(super) fn is_sum_in_order(&mut self, v: ValueId) -> bool {
        if self.folded_sum(v).is_some() {
            return true;
        }
        let lists = match (self.adjusted_checksum(v), self.ir.values.internet_checksum(v)) {
            (Some(operands), _) => self.changed_words(operands).into(),
            (None, Some(parts)) => vec![self.joined(&parts)],
            (None, None) => return false,
        };
        lists.iter().any(|parts| self.has_words_in_packet(parts))
    }

    /// The Internet checksum that a value is, in the order of the packet.
    pub(super) fn checksum_in_order(&mut self, v: ValueId) -> Result<Option<Value>> {
        if let Some(sum) = self.folded_sum(v) {
            return Ok(Some(self.fold(&sum)?));
        }
        let sum = match (self.adjusted_checksum(v), self.ir.values.internet_checksum(v)) {
            (Some(operands), _) => self.adjusted(operands)?,
            (None, Some(parts)) => {
                let parts = self.joined(&parts);
                self.sum16(&parts)?
            }
            (None, None) => return Ok(None),
        };
        let Some(in_memory) = sum.in_memory else { return Ok(None) };
        let sum = self.g.all_in_memory(sum.values, in_memory);
        Ok(Some(self.g.inverted16(sum)))
    }

    /// Whether some of the 16-bit words of a concatenation are words of the packet.
    fn has_words_in_packet(&self, parts: &[ValueId]) -> bool {
        let values = &self.ir.values;
        let total: u32 = parts.iter().map(|part| values.width(*part)).sum();
        let mut behind = total.next_multiple_of(16);
        parts.iter().any(|part| {
            let begins = behind.is_multiple_of(16);
            behind -= values.width(*part);
            begins && values.begins_at_byte(*part) && values.width(*part) >= 16
        })
    }

    /// The sum of 16-bit words. Words of the packet are added in its order.
    pub(super) fn sum16(&mut self, parts: &[ValueId]) -> Result<Sum16> {
        let in_order = self.has_words_in_packet(parts);
        self.sum_of(parts, in_order)
    }

    /// The sum of 16-bit words. Words of the packet are added in its order, others too if they have it and `in_order`.
    fn sum_of(&mut self, parts: &[ValueId], in_order: bool) -> Result<Sum16> {
        let total: u32 = parts.iter().map(|part| self.ir.values.width(*part)).sum();
        let mut sum = Sum16::of_width(total);
        let mut behind = total.next_multiple_of(16);
        for &part in parts {
            let mut width = self.ir.values.width(part);
            let is_whole = behind.is_multiple_of(16) && matches!(width, 16 | 32);
            let is_in_packet = matches!(self.ir.values[part].op, Op::Packet { .. });
            if in_order
                && is_whole
                && !is_in_packet
                && let Some(words) = self.in_packet_order(part)?
            {
                let words = self.g.b.ins().uextend(types::I64, words);
                self.g.add_words(&mut sum, &[words], width);
                behind -= width;
                continue;
            }
            let mut rest = part;
            if let Op::Packet { base, bit } = self.ir.values[part].op
                && bit % 8 == 0
                && behind.is_multiple_of(16)
                && width >= 16
            {
                let whole = width / 16 * 16;
                let address = self.base(base)?;
                let mut words = Vec::new();
                let mut done = 0;
                while done < whole / 8 {
                    let size = if whole / 8 - done >= 4 { 4 } else { 2 };
                    let at = (bit / 8 + done) as i32;
                    words.push(self.g.load_number(self.g.flags.packet, address, at, size));
                    done += size;
                }
                self.g.add_words(&mut sum, &words, whole);
                behind -= whole;
                width -= whole;
                if width == 0 {
                    continue;
                }
                rest = self.ir.values.data(Op::Slice { arg: part, hi: width - 1, lo: 0 }, Type::Bits(width));
            }
            behind -= width;
            let is_zero = self.ir.values.as_constant(rest).is_some_and(Zero::is_zero);
            let number = if is_zero { None } else { Some(self.limbs(rest)?) };
            self.g.add_number(&mut sum, number.as_ref(), width, behind % 16);
        }
        Ok(sum)
    }

    /// The sum that a value is the fold of, if that is quicker in the order of the packet: the value adds the halves of the sum, with
    /// carry, twice.
    pub(super) fn folded_sum(&self, v: ValueId) -> Option<FoldedSum> {
        let values = &self.ir.values;
        let Op::Slice { arg: halves, hi: 31, lo: 16 } = values[v].op else { return None };
        let Op::Slice { arg: quarters, hi: 63, lo: 32 } = values[self.plus_rotated(halves, 16)?].op else {
            return None;
        };
        let mut sum = FoldedSum::default();
        self.terms(self.plus_rotated(quarters, 32)?, false, &mut sum);
        let bound = |v: ValueId| values[v].range.map_or(u64::MAX, |range| range.hi);
        let is_bounded = |terms: &[(ValueId, bool)]| terms.iter().all(|(v, _)| bound(*v) < 1 << 32);
        let FoldedSum { constant, in_order, others } = &sum;
        let terms = || in_order.iter().chain(others);
        // Fewer than 2^8 terms of 32 bits cannot exceed POSITIVE, even if their bytes are swapped.
        let fits = is_bounded(in_order) && is_bounded(others) && terms().count() < 1 << 8;
        let total =
            |subtracted: bool| -> u64 { terms().filter(|term| term.1 == subtracted).map(|(v, _)| bound(*v)).sum() };
        let is_positive = fits && *constant > total(true) && constant.checked_add(total(false)).is_some();
        (is_positive && in_order.len() > 1).then_some(sum)
    }

    /// The value that is added to itself with halves of `by` bits swapped.
    fn plus_rotated(&self, sum: ValueId, by: u32) -> Option<ValueId> {
        let values = &self.ir.values;
        let Op::Binary(BinaryOp::Add, a, b) = values[sum].op else { return None };
        let half = |v: ValueId, shift: BinaryOp| match values[v].op {
            Op::Binary(op, of, amount) if op == shift => {
                (values.as_constant(amount)?.to_u32()? == by && values.width(of) == 2 * by).then_some(of)
            }
            _ => None,
        };
        let rotated = |v: ValueId| match values[v].op {
            Op::Binary(BinaryOp::Or, high, low) => {
                let of = half(high, BinaryOp::Shl)?;
                (half(low, BinaryOp::Shr) == Some(of)).then_some(of)
            }
            _ => None,
        };
        [(a, b), (b, a)].into_iter().find_map(|(v, other)| (rotated(other)? == v).then_some(v))
    }

    fn terms(&self, v: ValueId, subtracted: bool, sum: &mut FoldedSum) {
        let values = &self.ir.values;
        match values[v].op {
            Op::Binary(BinaryOp::Add, a, b) if values.width(v) == 64 => {
                self.terms(a, subtracted, sum);
                self.terms(b, subtracted, sum);
            }
            Op::Binary(BinaryOp::Sub, a, b) if values.width(v) == 64 => {
                self.terms(a, subtracted, sum);
                self.terms(b, !subtracted, sum);
            }
            Op::Constant(ref constant) => {
                let constant = constant.to_u64().unwrap_or(0);
                sum.constant =
                    if subtracted { sum.constant.wrapping_sub(constant) } else { sum.constant.wrapping_add(constant) };
            }
            Op::Cast(term) if matches!(values.data_type(term), Some(Type::Bits(16 | 32))) && self.is_ordered(term) => {
                sum.in_order.push((term, subtracted));
            }
            _ => sum.others.push((v, subtracted)),
        }
    }

    /// Whether a term is made of bytes of the packet.
    fn is_ordered(&self, v: ValueId) -> bool {
        match self.ir.values[v].op {
            Op::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, a, b) => self.is_ordered(a) && self.is_ordered(b),
            _ => self.ir.values.begins_at_byte(v),
        }
    }

    /// The fold of a sum, in the order of the packet.
    fn fold(&mut self, sum: &FoldedSum) -> Result<Value> {
        // The constant is not zero, so that neither sum is.
        let mut total = self.g.c64(POSITIVE + ((sum.constant % 0xffff) << 8) % 0xffff);
        if !sum.others.is_empty() {
            let mut numbers = self.g.c64(0);
            for &(v, subtracted) in &sum.others {
                let v = self.limbs(v)?[0];
                numbers = if subtracted { self.g.b.ins().isub(numbers, v) } else { self.g.b.ins().iadd(numbers, v) };
            }
            total = self.g.all_in_memory(Some(numbers), total);
        }
        for &(v, subtracted) in &sum.in_order {
            let Some(v) = self.in_packet_order(v)? else { return self.unsupported("a term without order") };
            let v = self.g.b.ins().uextend(types::I64, v);
            total = if subtracted { self.g.b.ins().isub(total, v) } else { self.g.b.ins().iadd(total, v) };
        }
        Ok(self.g.fold16(total))
    }

    /// Compares a checksum with that in the packet, if all its data is in the packet, too: data and checksum sum up to zero.
    pub(super) fn equal_sums(&mut self, cc: IntCC, a: ValueId, b: ValueId) -> Result<Option<Value>> {
        let parts = |v| self.ir.values.internet_checksum(v);
        let (parts, word) = match (parts(a), parts(b)) {
            (Some(parts), _) => (parts, b),
            (None, Some(parts)) => (parts, a),
            (None, None) => return Ok(None),
        };
        let parts = self.joined(&parts);
        let values = &self.ir.values;
        let whole = |v: &ValueId| values.begins_at_byte(*v) && values.width(*v).is_multiple_of(16);
        if values.width(word) != 16 || !values.begins_at_byte(word) || !parts.iter().all(whole) {
            return Ok(None);
        }
        let sum = self.sum16(&parts)?;
        let (None, Some(others)) = (sum.values, sum.in_memory) else { return Ok(None) };
        let Some(word) = self.in_packet_order(word)? else { return Ok(None) };
        let word = self.g.b.ins().uextend(types::I64, word);
        let same = self.g.sums_to_zero(others, word);
        Ok(Some(if cc == IntCC::Equal { same } else { self.g.b.ins().bxor_imm_u(same, 1) }))
    }
}
