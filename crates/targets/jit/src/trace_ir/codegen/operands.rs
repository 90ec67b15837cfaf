//! Values as operands: limbs, truth values, addresses, and bytes in the order of the packet.
//!
//! Numbers are big-endian in packets. A number that is only compared for equality or copied needs no conversion: it is loaded as it
//! is, and compared with constants whose bytes are swapped, with other bytes of the packet, or with an entry's image.

use std::mem::{offset_of, size_of};

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use hopwright_abi::{self as abi, ActionEntry, DataLayout, KeyLayout, lead_words};
use hopwright_ir::analysis::ranges::Range;
use hopwright_ir::{ActionId, BinaryOp, ExternId, ExternKind, Key, TableId, Type, UnaryOp, bits};
use num_bigint::BigUint;
use num_traits::{ToPrimitive, Zero};

use super::{Codegen, Entry, InImage, Result};
use crate::emit::bytes::{Window, int};
use crate::emit::expr::ShiftBy;
use crate::emit::flow_state::{At, Root};
use crate::emit::layout::limbs;
use crate::trace_ir::values::{Op, ValueId};

/// The place of an action's argument in an entry.
pub(super) struct ArgumentAt {
    pub entry: Entry,
    /// Offset of the number from the address, and its size in bytes.
    number: (i32, u32),
    /// Offset of its bytes in packet order.
    pub image: Option<i32>,
    /// Flags of loads.
    pub flags: cranelift_codegen::ir::MemFlagsData,
}

impl Codegen<'_, '_> {
    /// A truth value as I8.
    pub(super) fn condition(&mut self, v: ValueId) -> Result<Value> {
        if let Some(known) = self.known.conditions.get(&v) {
            return Ok(*known);
        }
        let condition = self.computing(v, |it| it.compute_condition(v))?;
        self.known.conditions.insert(v, condition);
        Ok(condition)
    }

    fn compute_condition(&mut self, v: ValueId) -> Result<Value> {
        Ok(match self.ir.values[v].op.clone() {
            Op::Constant(value) => self.g.b.ins().iconst(types::I8, i64::from(value.bit(0))),
            Op::Unary(UnaryOp::Not | UnaryOp::BitNot, a) => {
                let a = self.condition(a)?;
                self.g.b.ins().bxor_imm_u(a, 1)
            }
            Op::Binary(op, a, b) => self.binary_condition(op, a, b)?,
            Op::Hit(entry) => {
                let entry = self.entry(entry)?;
                let at = entry.offset + offset_of!(ActionEntry, hit) as i32;
                let hit = self.g.b.ins().load(types::I32, entry.flags, entry.address, at);
                self.g.b.ins().icmp_imm_u(IntCC::Equal, hit, 1)
            }
            Op::Is(entry, action) => {
                let Some(action) = self.g.p.actions.iter().position(|it| it.name == *action) else {
                    return self.unsupported(format!("the action `{action}`"));
                };
                let entry = self.entry(entry)?;
                let at = entry.offset + offset_of!(ActionEntry, action) as i32;
                let runs = self.g.b.ins().load(types::I32, entry.flags, entry.address, at);
                self.g.b.ins().icmp_imm_u(IntCC::Equal, runs, action as i64)
            }
            Op::Member { set, keys } => {
                let set = self.value_set(&set)?;
                let keys = keys.iter().map(|key| self.limbs(*key)).collect::<Result<Vec<_>>>()?;
                self.before_call();
                self.g.in_value_set(set, &keys)
            }
            Op::Mux(condition, a, b) => {
                let condition = self.condition(condition)?;
                let (a, b) = (self.condition(a)?, self.condition(b)?);
                self.g.b.ins().select(condition, a, b)
            }
            _ => {
                let number = self.limbs(v)?[0];
                self.g.b.ins().ireduce(types::I8, number)
            }
        })
    }

    fn binary_condition(&mut self, op: BinaryOp, a: ValueId, b: ValueId) -> Result<Value> {
        if self.data_type(a) == Type::Bool {
            let (x, y) = (self.condition(a)?, self.condition(b)?);
            return Ok(match op {
                BinaryOp::And | BinaryOp::LogicalAnd => self.g.b.ins().band(x, y),
                BinaryOp::Or | BinaryOp::LogicalOr => self.g.b.ins().bor(x, y),
                BinaryOp::Xor => self.g.b.ins().bxor(x, y),
                BinaryOp::Eq => self.g.b.ins().icmp(IntCC::Equal, x, y),
                BinaryOp::Ne => self.g.b.ins().icmp(IntCC::NotEqual, x, y),
                _ => return self.unsupported("this operator on truth values"),
            });
        }
        if matches!(self.data_type(a), Type::Varbit(_)) {
            return self.unsupported("a comparison of varbits");
        }
        if matches!(op, BinaryOp::Eq | BinaryOp::Ne) {
            let cc = if op == BinaryOp::Eq { IntCC::Equal } else { IntCC::NotEqual };
            if let Some(compared) = self.equal_sums(cc, a, b)? {
                return Ok(compared);
            }
            if let Some(compared) = self.equal_bits(cc, a, b)? {
                return Ok(compared);
            }
            if let Some(compared) = self.equal_bytes(cc, a, b)? {
                return Ok(compared);
            }
        }
        // Constants on the right become immediate operands.
        let (op, a, b) = match op {
            BinaryOp::Le if self.ir.values.as_constant(a).is_some() => (BinaryOp::Ge, b, a),
            BinaryOp::Lt if self.ir.values.as_constant(a).is_some() => (BinaryOp::Gt, b, a),
            _ => (op, a, b),
        };
        let (x, y) = (self.limbs(a)?, self.limbs(b)?);
        match self.g.compared(op, x, y, self.data_type(a)) {
            Some(compared) => Ok(compared),
            None => self.unsupported("this operator as a condition"),
        }
    }

    /// Compares bits of the packet, perhaps masked, with a constant.
    fn equal_bits(&mut self, cc: IntCC, a: ValueId, b: ValueId) -> Result<Option<Value>> {
        let values = &self.ir.values;
        let Some(wanted) = values.as_constant(b).cloned() else { return Ok(None) };
        // Numbers that are needed anyway.
        let is_whole = values.begins_at_byte(a) && values.width(a).is_multiple_of(8);
        if self.known.limbs.contains_key(&a) || self.numbers.contains(&a) && !is_whole {
            return Ok(None);
        }
        let (packet, mask) = match values[a].op {
            Op::Binary(BinaryOp::And, packet, mask) => match values.as_constant(mask) {
                Some(mask) => (packet, mask.clone()),
                None => return Ok(None),
            },
            _ => (a, bits::mask(values.width(a))),
        };
        let (Op::Packet { base, bit }, width) = (values[packet].op.clone(), values.width(packet)) else {
            return Ok(None);
        };
        let (first, end) = (bit / 8, (bit + width).div_ceil(8));
        let behind = 8 * end - (bit + width);
        if width == 0 || end - first > 8 {
            return Ok(None);
        }
        let window = self.window(base);
        let bytes = (end - first).next_power_of_two();
        let at = (first as i32).min(window.to - bytes as i32);
        if at < window.from {
            return Ok(None);
        }
        // The bits in the loaded bytes, whose last is the lowest.
        let shift = behind + 8 * (at as u32 + bytes - end);
        let [mask, wanted] = [mask, wanted].map(|bits| in_bytes(&(bits << shift), bytes));
        let base = self.base(base)?;
        let ty = int(bytes);
        let mut found = self.g.b.ins().load(ty, self.g.flags.packet, base, at);
        let signed = |v: u64| (v << (64 - ty.bits())) as i64 >> (64 - ty.bits());
        if mask != u64::MAX >> (64 - ty.bits()) {
            let mask = self.g.b.ins().iconst(ty, signed(mask));
            found = self.g.b.ins().band(found, mask);
        }
        let wanted = self.g.b.ins().iconst(ty, signed(wanted));
        Ok(Some(self.g.b.ins().icmp(cc, found, wanted)))
    }

    /// Compares whole bytes in the order of the packet, if both sides have it.
    fn equal_bytes(&mut self, cc: IntCC, a: ValueId, b: ValueId) -> Result<Option<Value>> {
        let width = self.ir.values.width(a);
        if width == 0 || !width.is_multiple_of(8) {
            return Ok(None);
        }
        let mut pieces = Vec::new();
        let mut hi = width;
        while hi > 0 {
            let lo = hi.saturating_sub(64);
            let ty = Type::Bits(hi - lo);
            pieces.push([a, b].map(|v| self.ir.values.data(Op::Slice { arg: v, hi: hi - 1, lo }, ty)));
            hi = lo;
        }
        let are_known = width <= 64
            && [a, b].iter().all(|v| self.known.limbs.contains_key(v) || self.ir.values.as_constant(*v).is_some());
        if are_known || !pieces.as_flattened().iter().all(|v| self.has_packet_order(*v)) {
            return Ok(None);
        }
        let mut different = None;
        for [a, b] in pieces {
            let (Some(a), Some(b)) = (self.in_packet_order(a)?, self.in_packet_order(b)?) else { return Ok(None) };
            if width <= 64 {
                return Ok(Some(self.g.b.ins().icmp(cc, a, b)));
            }
            let mut bits = self.g.b.ins().bxor(a, b);
            if self.g.b.func.dfg.value_type(bits) != types::I64 {
                bits = self.g.b.ins().uextend(types::I64, bits);
            }
            different = Some(match different {
                None => bits,
                Some(others) => self.g.b.ins().bor(others, bits),
            });
        }
        Ok(different.map(|bits| self.g.b.ins().icmp_imm_u(cc, bits, 0)))
    }

    /// Whether [`Codegen::in_packet_order`] has the bytes of a value.
    pub(super) fn has_packet_order(&mut self, v: ValueId) -> bool {
        let width = self.ir.values.width(v);
        if width == 0 || width > 64 || !width.is_multiple_of(8) {
            return false;
        }
        match self.ir.values[v].op {
            Op::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, a, b) | Op::Mux(_, a, b) => {
                self.has_packet_order(a) && self.has_packet_order(b)
            }
            Op::Unary(UnaryOp::BitNot, a) => self.has_packet_order(a),
            _ => self.is_in_packet_order(v) || width == 16 && self.is_sum_in_order(v),
        }
    }

    /// Whether a value's bytes are in memory, or in a word, in the order of the packet.
    fn is_in_packet_order(&self, v: ValueId) -> bool {
        let values = &self.ir.values;
        let width = values.width(v);
        match values[v].op {
            Op::Constant(_) => true,
            Op::Packet { bit, .. } => bit % 8 == 0,
            Op::Argument { .. } => self.argument(v).is_some_and(|argument| argument.image.is_some()),
            Op::Slice { arg, lo, .. } if lo % 8 == 0 => match values[arg].op {
                Op::Argument { .. } => self.argument(arg).is_some_and(|argument| argument.image.is_some()),
                Op::Call { cipher: true, .. } => values.width(arg) == 128 && lo / 64 == (lo + width - 1) / 64,
                _ => false,
            },
            _ => false,
        }
    }

    /// At most eight whole bytes in the order of the packet, the first lowest: in a type of their size, or I64.
    pub(super) fn in_packet_order(&mut self, v: ValueId) -> Result<Option<Value>> {
        if !self.has_packet_order(v) {
            return Ok(None);
        }
        if let Some(known) = self.known.in_packet_order.get(&v) {
            return Ok(Some(*known));
        }
        self.computing(v, |it| it.compute_in_order(v))
    }

    fn compute_in_order(&mut self, v: ValueId) -> Result<Option<Value>> {
        let bytes = self.ir.values.width(v) / 8;
        let ty = if bytes.is_power_of_two() { int(bytes) } else { types::I64 };
        if let Some(computed) = self.computed_in_order(v)? {
            return Ok(Some(computed));
        }
        let (flags, base, at, window) = match self.ir.values[v].op.clone() {
            Op::Constant(value) => {
                let bits = in_bytes(&value, bytes);
                let signed = (bits << (64 - ty.bits())) as i64 >> (64 - ty.bits());
                return Ok(Some(self.g.b.ins().iconst(ty, signed)));
            }
            Op::Packet { base, bit } => {
                let (window, base) = (self.window(base), self.base(base)?);
                (self.g.flags.packet, base, (bit / 8) as i32, window)
            }
            Op::Slice { arg, lo, .. } if matches!(self.ir.values[arg].op, Op::Call { .. }) => {
                let word = self.cipher_block(arg)?[usize::from(lo < 64)];
                let before = i64::from(64 - (lo % 64 + 8 * bytes));
                let word = if before > 0 { self.g.b.ins().ushr_imm_u(word, before) } else { word };
                let bits = self.g.mask(word, 8 * bytes);
                let bits = if ty == types::I64 { bits } else { self.g.b.ins().ireduce(ty, bits) };
                self.known.in_packet_order.insert(v, bits);
                return Ok(Some(bits));
            }
            op => {
                let (argument, behind) = match op {
                    Op::Slice { arg, lo, .. } => (arg, lo / 8),
                    _ => (v, 0),
                };
                let width = self.ir.values.width(argument);
                self.entry_of(argument)?;
                let Some(argument) = self.argument(argument) else { return Ok(None) };
                let Some(image) = argument.image else { return Ok(None) };
                let at = image + (width / 8 - behind - bytes) as i32;
                (argument.flags, argument.entry.address, at, Window { from: at, to: at + bytes as i32 })
            }
        };
        let loaded = self.load_in_order(flags, base, at, bytes, window);
        self.known.in_packet_order.insert(v, loaded);
        Ok(Some(loaded))
    }

    /// The result of an operation that takes and yields bytes in the order of the packet.
    pub(super) fn computed_in_order(&mut self, v: ValueId) -> Result<Option<Value>> {
        if let Some(known) = self.known.in_packet_order.get(&v) {
            return Ok(Some(*known));
        }
        let computed = match self.ir.values[v].op {
            Op::Binary(op @ (BinaryOp::And | BinaryOp::Or | BinaryOp::Xor), a, b) => {
                let (Some(a), Some(b)) = (self.in_packet_order(a)?, self.in_packet_order(b)?) else { return Ok(None) };
                Some(match op {
                    BinaryOp::And => self.g.b.ins().band(a, b),
                    BinaryOp::Or => self.g.b.ins().bor(a, b),
                    _ => self.g.b.ins().bxor(a, b),
                })
            }
            Op::Mux(condition, a, b) => {
                let condition = self.condition(condition)?;
                let (Some(a), Some(b)) = (self.in_packet_order(a)?, self.in_packet_order(b)?) else { return Ok(None) };
                Some(self.g.b.ins().select(condition, a, b))
            }
            Op::Unary(UnaryOp::BitNot, a) => {
                let width = self.ir.values.width(a);
                let Some(bits) = self.in_packet_order(a)? else { return Ok(None) };
                let bits = self.g.b.ins().bnot(bits);
                Some(if (width / 8).is_power_of_two() { bits } else { self.g.mask(bits, width) })
            }
            _ => self.checksum_in_order(v)?,
        };
        if let Some(computed) = computed {
            self.known.in_packet_order.insert(v, computed);
        }
        Ok(computed)
    }

    /// Loads bytes as they are, the first lowest.
    fn load_in_order(
        &mut self,
        flags: cranelift_codegen::ir::MemFlagsData,
        base: Value,
        at: i32,
        bytes: u32,
        window: Window,
    ) -> Value {
        if bytes.is_power_of_two() {
            return self.g.b.ins().load(int(bytes), flags, base, at);
        }
        let size = bytes.next_power_of_two();
        let from = at.min(window.to - size as i32);
        if from >= window.from {
            let all = self.g.load_number(flags, base, from, size);
            let before = 8 * i64::from(at - from);
            let all = if before > 0 { self.g.b.ins().ushr_imm_u(all, before) } else { all };
            return self.g.mask(all, 8 * bytes);
        }
        let first = size / 2;
        let low = self.g.load_number(flags, base, at, first);
        let rest = self.load_in_order(flags, base, at + first as i32, bytes - first, window);
        let rest = match self.g.b.func.dfg.value_type(rest) {
            types::I64 => rest,
            _ => self.g.b.ins().uextend(types::I64, rest),
        };
        let rest = self.g.b.ins().ishl_imm_u(rest, 8 * i64::from(first));
        self.g.b.ins().bor(low, rest)
    }

    /// The bytes behind a base that may be loaded.
    fn window(&self, base: Option<ValueId>) -> Window {
        Window { from: 0, to: self.known.established.bytes_behind(base) as i32 }
    }

    /// The address that places with a base are relative to.
    pub(super) fn base(&mut self, base: Option<ValueId>) -> Result<Value> {
        let Some(base) = base else { return Ok(self.g.root(Root::START)) };
        if let Some(root) = self.known.roots.get(&base) {
            return Ok(self.g.root(*root));
        }
        let (bytes, start) = (self.limbs(base)?[0], self.g.root(Root::START));
        let address = self.g.b.ins().iadd(start, bytes);
        let At { root, .. } = self.g.new_root(address);
        self.known.roots.insert(base, root);
        Ok(self.g.root(root))
    }

    /// The limbs of a number; 0 or 1 for a truth value.
    pub(super) fn limbs(&mut self, v: ValueId) -> Result<Vec<Value>> {
        if let Some(known) = self.known.limbs.get(&v) {
            return Ok(known.clone());
        }
        let computed = self.computing(v, |it| it.compute(v))?;
        if let ([limb], Some(range)) = (&computed[..], self.ir.values[v].range) {
            self.g.note_bound(*limb, range.hi);
        }
        self.known.limbs.insert(v, computed.clone());
        Ok(computed)
    }

    fn compute(&mut self, v: ValueId) -> Result<Vec<Value>> {
        let (ty, width) = (self.data_type(v), self.ir.values.width(v));
        let op = self.ir.values[v].op.clone();
        Ok(match op {
            Op::Constant(value) => self.g.constant(&value, width),
            Op::Unary(UnaryOp::Not, _) | Op::Hit(_) | Op::Is(..) | Op::Member { .. } => {
                let condition = self.condition(v)?;
                vec![self.g.b.ins().uextend(types::I64, condition)]
            }
            Op::Binary(..) | Op::Mux(..) | Op::Unary(..) if ty == Type::Bool => {
                let condition = self.condition(v)?;
                vec![self.g.b.ins().uextend(types::I64, condition)]
            }
            Op::Packet { base, bit } => {
                let (window, base) = (self.window(base), self.base(base)?);
                let at = (bit / 8) as i32;
                self.g.load_bits(self.g.flags.packet, base, at, bit % 8, width, window)
            }
            Op::Bytes { .. } => return self.unsupported("a varbit as a number"),
            Op::Length => vec![self.g.packet_length()],
            Op::IngressPort => {
                let port = self.g.described(offset_of!(abi::Packet, ingress_port));
                vec![self.g.mask(port, 9)]
            }
            Op::Now => vec![self.g.now()],
            Op::QueueDepth(port, priority) => {
                let (port, priority) = (self.limbs(port)?[0], self.limbs(priority)?[0]);
                let depth = self.g.queue_depth(port, priority);
                vec![self.g.mask(depth, width)]
            }
            Op::QueueWait(port, priority) => {
                let (port, priority) = (self.limbs(port)?[0], self.limbs(priority)?[0]);
                vec![self.g.queue_wait(port, priority)]
            }
            Op::Lookup { .. } => return self.unsupported("an entry as a number"),
            Op::Argument { .. } => self.argument_limbs(v, width)?,
            Op::Register { register, index } => {
                let (register, index) = (self.object(&register)?, self.limbs(index)?[0]);
                self.g.load_register(register, index)
            }
            Op::Color { meter, of } => {
                let (meter, which) = self.metered(&meter, of)?;
                self.before_call();
                vec![self.g.color(meter, which)]
            }
            Op::Call { .. } => self.call(v)?,
            Op::Checksum { algorithm, parts } => self.checksum(algorithm, &parts)?,
            Op::Unary(op, a) => {
                let a = self.limbs(a)?;
                let v = if op == UnaryOp::Neg {
                    let zero = vec![self.g.c64(0); a.len()];
                    self.g.wide_sub(&zero, &a)
                } else {
                    a.iter().map(|&x| self.g.b.ins().bnot(x)).collect()
                };
                self.g.trim(v, width)
            }
            Op::Binary(BinaryOp::Concat, ..) => self.concatenation(v)?,
            Op::Binary(op, a, b) => self.binary(op, a, b, ty)?,
            Op::Cast(a) => {
                let (from, limbs) = (self.data_type(a), self.limbs(a)?);
                self.g.resize(limbs, from.width(), width, matches!(from, Type::Int(_)))
            }
            Op::Slice { .. } if width == 16 && self.folded_sum(v).is_some() => {
                let Some(sum) = self.checksum_in_order(v)? else { return self.unsupported("a sum") };
                let sum = self.g.b.ins().bswap(sum);
                vec![self.g.b.ins().uextend(types::I64, sum)]
            }
            Op::Slice { arg, hi, lo } => {
                let all = self.limbs(arg)?;
                let bits = self.g.wide_shr(&all, lo, limbs(width), None);
                if hi + 1 == self.ir.values.width(arg) { bits } else { self.g.trim(bits, width) }
            }
            Op::Mux(condition, a, b) => {
                let condition = self.condition(condition)?;
                let (a, b) = (self.limbs(a)?, self.limbs(b)?);
                a.iter().zip(&b).map(|(&x, &y)| self.g.b.ins().select(condition, x, y)).collect()
            }
        })
    }

    fn binary(&mut self, op: BinaryOp, a: ValueId, b: ValueId, ty: Type) -> Result<Vec<Value>> {
        let width = ty.width();
        let constant = self.ir.values.as_constant(b).cloned();
        if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
            let shifted = self.limbs(a)?;
            let by = match constant {
                Some(by) => ShiftBy::Constant(by.to_u32().unwrap_or(u32::MAX)),
                None => ShiftBy::Value(self.limbs(b)?),
            };
            return Ok(self.g.shifted(op == BinaryOp::Shl, shifted, by, ty));
        }
        if op == BinaryOp::Or
            && let Some(rotated) = self.rotation(a, b, width)?
        {
            return Ok(vec![rotated]);
        }
        let (x, y) = (self.limbs(a)?, self.limbs(b)?);
        let v = match op {
            BinaryOp::Add => self.g.wide_add(&x, &y),
            BinaryOp::Sub => self.g.wide_sub(&x, &y),
            BinaryOp::Mul if width <= 64 => vec![self.g.b.ins().imul(x[0], y[0])],
            BinaryOp::Mul => self.g.wide_mul(&x, &y),
            BinaryOp::And => return Ok(x.iter().zip(&y).map(|(&x, &y)| self.g.b.ins().band(x, y)).collect()),
            BinaryOp::Or => return Ok(x.iter().zip(&y).map(|(&x, &y)| self.g.b.ins().bor(x, y)).collect()),
            BinaryOp::Xor => return Ok(x.iter().zip(&y).map(|(&x, &y)| self.g.b.ins().bxor(x, y)).collect()),
            BinaryOp::Div | BinaryOp::Mod => {
                let known = constant.map(|c| !c.is_zero());
                return Ok(self.g.divided(op == BinaryOp::Mod, &x, &y, known, width));
            }
            BinaryOp::SatAdd | BinaryOp::SatSub => return Ok(self.g.saturated(op == BinaryOp::SatAdd, x, y, ty)),
            _ => return self.unsupported("this operator on numbers"),
        };
        // Without overflow, there is nothing to cut off.
        let range = |v: ValueId| Some((self.ir.values[v].range?, self.data_type(v)));
        let exact = range(a).zip(range(b)).and_then(|(a, b)| Range::of_binary(op, a, b));
        let all = Range::all(ty).filter(|_| matches!(ty, Type::Bits(_)));
        Ok(match (exact, all) {
            (Some(exact), Some(all)) if exact.hi <= all.hi => v,
            _ => self.g.trim(v, width),
        })
    }

    /// A left rotation, if two values are its parts.
    fn rotation(&mut self, a: ValueId, b: ValueId, width: u32) -> Result<Option<Value>> {
        let values = &self.ir.values;
        let part = |v: ValueId, shift: BinaryOp| match values[v].op {
            Op::Binary(op, of, by) if op == shift => Some((of, values.as_constant(by)?.to_u32()?)),
            _ => None,
        };
        let parts = part(a, BinaryOp::Shl).zip(part(b, BinaryOp::Shr));
        let Some(((of, by), (other, rest))) = parts else { return Ok(None) };
        let plain = matches!(self.data_type(a), Type::Bits(32 | 64));
        if !plain || of != other || by.checked_add(rest) != Some(width) || by == 0 || rest == 0 {
            return Ok(None);
        }
        let ty = int(width / 8);
        let v = self.limbs(of)?[0];
        let v = if width == 64 { v } else { self.g.b.ins().ireduce(ty, v) };
        let by = self.g.b.ins().iconst(ty, i64::from(by));
        let v = self.g.b.ins().rotl(v, by);
        Ok(Some(if width == 64 { v } else { self.g.b.ins().uextend(types::I64, v) }))
    }

    /// Parts of a concatenation, of which adjacent bits of the packet are one.
    pub(super) fn joined(&mut self, parts: &[ValueId]) -> Vec<ValueId> {
        let mut work: Vec<ValueId> = parts.iter().rev().copied().collect();
        let mut joined: Vec<ValueId> = Vec::new();
        while let Some(part) = work.pop() {
            match self.ir.values[part].op {
                Op::Binary(BinaryOp::Concat, high, low) => {
                    work.extend([low, high]);
                    continue;
                }
                Op::Slice { arg, hi, lo } => {
                    if let Op::Binary(BinaryOp::Concat, high, low) = self.ir.values[arg].op {
                        // Both have a part in it.
                        let split = self.ir.values.width(low);
                        let mut slice = |arg, hi: u32, lo: u32| {
                            self.ir.values.data(Op::Slice { arg, hi, lo }, Type::Bits(hi + 1 - lo))
                        };
                        work.extend([slice(low, split - 1, lo), slice(high, hi - split, 0)]);
                        continue;
                    }
                }
                _ => {}
            }
            match joined.last_mut() {
                Some(last) if self.ir.values.are_adjacent(*last, part) => {
                    let width = self.ir.values.width(*last) + self.ir.values.width(part);
                    *last = self.ir.values.data(Op::Binary(BinaryOp::Concat, *last, part), Type::Bits(width));
                }
                _ => joined.push(part),
            }
        }
        joined
    }

    fn concatenation(&mut self, v: ValueId) -> Result<Vec<Value>> {
        let parts = self.joined(&[v]);
        let mut end = self.ir.values.width(v);
        let mut out: Vec<Option<Value>> = vec![None; limbs(end)];
        for part in parts {
            let width = self.ir.values.width(part);
            end -= width;
            if width == 0 || self.ir.values.as_constant(part).is_some_and(Zero::is_zero) {
                continue;
            }
            let part = self.limbs(part)?;
            let shifted = self.g.wide_shl(&part, end % 64, limbs(width + end % 64));
            for (o, v) in out[(end / 64) as usize..].iter_mut().zip(shifted) {
                *o = Some(match *o {
                    Some(old) => self.g.b.ins().bor(old, v),
                    None => v,
                });
            }
        }
        let zero = self.g.c64(0);
        Ok(out.into_iter().map(|v| v.unwrap_or(zero)).collect())
    }

    /// The entry that a lookup finds.
    pub(super) fn entry(&mut self, v: ValueId) -> Result<Entry> {
        if let Some(known) = self.known.entries.get(&v) {
            return Ok(*known);
        }
        let entry = self.computing(v, |it| it.look_up(v))?;
        self.known.entries.insert(v, entry);
        Ok(entry)
    }

    fn look_up(&mut self, v: ValueId) -> Result<Entry> {
        let Op::Lookup { table: name, keys } = self.ir.values[v].op.clone() else {
            return self.unsupported("data in place of an entry");
        };
        let table = self.table(&name)?;
        let model = &self.g.p[table];
        let mut words = Vec::new();
        for run in KeyLayout::of(model).runs {
            let fields: Vec<ValueId> = run.keys.iter().map(|key| keys[*key]).collect();
            let whole = fields.into_iter().reduce(|a, b| {
                let width = self.ir.values.width(a) + self.ir.values.width(b);
                self.ir.values.data(Op::Binary(BinaryOp::Concat, a, b), Type::Bits(width))
            });
            if let Some(whole) = whole {
                words.extend(&self.limbs(whole)?[..run.width.div_ceil(64) as usize]);
            }
        }
        let own = self.g.find_entry(table, &words);
        // The default entry is the same for the whole batch.
        let flags = if words.is_empty() { self.g.flags.entry_data } else { self.g.flags.entry };
        Ok(match model.implementation {
            Some(profile) => {
                let address = self.g.b.ins().iadd_imm_s(own.0, i64::from(own.1));
                let address = self.member(table, profile, address, &keys)?;
                Entry { table, address, offset: 0, own, flags: self.g.flags.entry }
            }
            None => Entry { table, address: own.0, offset: own.1, own, flags },
        })
    }

    /// The entry of the profile's member that an entry leads to.
    fn member(&mut self, table: TableId, profile: ExternId, entry: Value, keys: &[ValueId]) -> Result<Value> {
        let model = &self.g.p[table];
        let is_selector = |(key, v): (&Key, &ValueId)| (!key.kind.is_matched()).then_some(*v);
        let parts: Vec<ValueId> = model.keys.iter().zip(keys).filter_map(is_selector).collect();
        let choice = self.g.begin_choice(entry);
        // What is computed here is not known behind the choice.
        let (before, loaded) = (self.known.clone(), self.g.packet_loads());
        let hash = match self.g.p[profile].kind {
            ExternKind::ActionSelector { algorithm, .. } => self.checksum(algorithm, &parts)?[0],
            _ => self.g.c64(0),
        };
        let member = self.g.end_choice(table, profile, choice, hash);
        self.known = before;
        self.g.set_packet_loads(loaded);
        Ok(member)
    }

    /// Looks up the entry that an argument belongs to.
    fn entry_of(&mut self, argument: ValueId) -> Result<()> {
        if let Op::Argument { entry, .. } = self.ir.values[argument].op {
            self.entry(entry)?;
        }
        Ok(())
    }

    /// Where an argument is, if its entry has been looked up.
    pub(super) fn argument(&self, v: ValueId) -> Option<ArgumentAt> {
        let Op::Argument { entry, action, index } = &self.ir.values[v].op else { return None };
        let entry = *self.known.entries.get(entry)?;
        let action = ActionId(self.g.p.actions.iter().position(|it| *it.name == **action)? as u32);
        let data = entry.offset + (size_of::<ActionEntry>() + 8 * lead_words(&self.g.p[entry.table])) as i32;
        let layout = DataLayout::of(&self.g.p[action]);
        let number = layout.numbers().get(*index as usize)?;
        let image = layout.in_image(*index as usize).map(|at| data + at as i32);
        // The size of a member's entry depends on its action.
        let movable = self.g.p[entry.table].implementation.is_none();
        let flags = if movable { self.g.flags.entry_data } else { self.g.flags.entry };
        Some(ArgumentAt { entry, number: (data + number.at as i32, number.bytes), image, flags })
    }

    fn argument_limbs(&mut self, v: ValueId, width: u32) -> Result<Vec<Value>> {
        self.entry_of(v)?;
        if width == 0 {
            return Ok(vec![self.g.c64(0)]);
        }
        let Some(ArgumentAt { entry, number: (at, bytes), image, flags }) = self.argument(v) else {
            return self.unsupported("an argument of an unknown action");
        };
        let limbs: Vec<Value> = match bytes {
            1 | 2 | 4 => {
                let small = self.g.b.ins().load(int(bytes), flags, entry.address, at);
                vec![self.g.b.ins().uextend(types::I64, small)]
            }
            _ => (at..at + bytes as i32)
                .step_by(8)
                .map(|at| self.g.b.ins().load(types::I64, flags, entry.address, at))
                .collect(),
        };
        if let Some(at) = image {
            self.images.insert(limbs[0], InImage { entry: entry.address, at, width, flags });
        }
        Ok(limbs)
    }
}

/// A number's bytes in the order of the packet, the first lowest.
fn in_bytes(value: &BigUint, bytes: u32) -> u64 {
    value.to_u64().unwrap_or(0).swap_bytes() >> (64 - 8 * bytes)
}
