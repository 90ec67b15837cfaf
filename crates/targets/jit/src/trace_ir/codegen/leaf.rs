//! Leaves: effects, and the packet that is sent. Headers are written in place in front of the payload, and only bytes that differ
//! from those received. All operands are computed before the first store, because stores change what they are computed from.

use std::mem::{offset_of, size_of};

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Opcode, Type as ClifType, Value, ValueDef, types};
use hopwright_abi::{self as abi, ActionEntry, CounterCell, ExternHandle};
use hopwright_ir::{BinaryOp, ExternId, Type};
use num_traits::ToPrimitive;

use super::stores::Piece;
use super::{Codegen, Result};
use crate::emit::bytes::int;
use crate::trace::mode::BatchInvariant;
use crate::trace_ir::values::{Op, ValueId, ValueType};
use crate::trace_ir::{Effect, Leaf, Place, Verdict};

/// A bit of the packet as sent: a distance from a computed byte of the packet as received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct At {
    base: Option<ValueId>,
    bit: i64,
}

/// A header's value, and where it begins.
struct Placed {
    at: At,
    value: ValueId,
}

/// Bytes to write.
enum Source {
    /// As they are in the packet: pieces with their offsets.
    Bytes(Vec<(Value, u32)>),
    /// A number's limbs.
    Number(Vec<Value>),
}

/// An effect with its operands.
enum ReadyEffect {
    /// Counts the packet in a cell: the offset of the counter's handle, and of the cell in the counter.
    Count(i32, Value),
    /// Counts the packet in the cell at an address, unless that is null.
    CountIf(Value),
    /// Gives the packet a priority.
    Priority(Value),
    /// Charges the packet to a cell of a meter.
    Measure(ExternId, Value),
    /// Charges the packet to the meter at an address, unless that is null.
    MeasureIf(ExternId, Value),
    /// Writes words to the cell of a register at an address.
    Register(Value, Vec<Value>),
}

impl Codegen<'_, '_> {
    pub(super) fn leaf(&mut self, leaf: &Leaf) -> Result<()> {
        let effects = leaf.effects.iter().map(|effect| self.ready(effect)).collect::<Result<Vec<_>>>()?;
        match &leaf.verdict {
            Verdict::Drop => {
                self.g.no_parser_error();
                effects.into_iter().for_each(|effect| self.happen(effect));
                self.g.jump_to_drop();
                Ok(())
            }
            Verdict::Forward { port, headers, payload } => self.forward(effects, *port, headers, *payload),
        }
    }

    /// Computes the operands of an effect.
    fn ready(&mut self, effect: &Effect) -> Result<ReadyEffect> {
        Ok(match effect {
            Effect::Count { counter, index } => {
                let (id, index) = (self.object(counter)?, self.limbs(*index)?[0]);
                let handle = (id.index() * size_of::<ExternHandle>()) as i32;
                ReadyEffect::Count(handle, self.scaled(index, size_of::<CounterCell>().ilog2()))
            }
            Effect::CountHit(entry) => {
                let entry = self.entry(*entry)?;
                let (address, offset) = entry.own;
                let at = offset + offset_of!(ActionEntry, counter) as i32;
                ReadyEffect::CountIf(self.g.b.ins().load(types::I64, self.g.flags.entry, address, at))
            }
            Effect::Measure { meter, of } => {
                let (meter, which) = self.metered(meter, *of)?;
                match self.ir.values[*of].ty {
                    ValueType::Entry => ReadyEffect::MeasureIf(meter, which),
                    ValueType::Data(_) => ReadyEffect::Measure(meter, which),
                }
            }
            Effect::Priority(value) => ReadyEffect::Priority(self.limbs(*value)?[0]),
            Effect::Write { register, index, value } => {
                let id = self.object(register)?;
                let (index, words) = (self.limbs(*index)?[0], self.limbs(*value)?);
                let cell = self.g.register_cell(id, index);
                ReadyEffect::Register(cell, words)
            }
        })
    }

    /// Multiplies by a power of two. The parts of a concatenation are scaled separately, so that those common to
    /// several numbers are scaled once.
    fn scaled(&mut self, v: Value, by: u32) -> Value {
        let dfg = &self.g.b.func.dfg;
        let made = match dfg.value_def(dfg.resolve_aliases(v)) {
            ValueDef::Result(inst, 0) => Some((dfg.insts[inst].opcode(), dfg.inst_args(inst).to_vec())),
            _ => None,
        };
        match made.as_ref().map(|(op, args)| (*op, &args[..])) {
            Some((Opcode::Bor, &[a, b])) if self.is_above(a, b) || self.is_above(b, a) => {
                let (a, b) = (self.scaled(a, by), self.scaled(b, by));
                self.g.b.ins().iadd(a, b)
            }
            Some((Opcode::Ishl, &[of, shift])) if let Some(shift @ 0..32) = self.g.constant_of(shift) => {
                self.g.b.ins().ishl_imm_u(of, shift + i64::from(by))
            }
            _ => self.g.b.ins().ishl_imm_u(v, i64::from(by)),
        }
    }

    /// Whether all bits of a number are above those of another.
    fn is_above(&self, high: Value, low: Value) -> bool {
        let dfg = &self.g.b.func.dfg;
        let ValueDef::Result(inst, 0) = dfg.value_def(dfg.resolve_aliases(high)) else { return false };
        let args = dfg.inst_args(inst);
        let zeros = match dfg.insts[inst].opcode() {
            Opcode::Iconst => self.g.constant_of(high).map_or(0, i64::trailing_zeros),
            Opcode::Ishl => self.g.constant_of(args[1]).map_or(0, |by| by as u32),
            Opcode::Bor => return self.is_above(args[0], low) && self.is_above(args[1], low),
            _ => 0,
        };
        self.g.bound(low).checked_ilog2().is_none_or(|highest| highest < zeros)
    }

    fn happen(&mut self, effect: ReadyEffect) {
        match effect {
            ReadyEffect::Count(handle, offset) => {
                let cells = self.g.batch_invariant(BatchInvariant::State(handle));
                let cell = self.g.b.ins().iadd(cells, offset);
                self.g.count(cell);
            }
            ReadyEffect::CountIf(cell) => self.g.count_if(cell),
            ReadyEffect::Measure(meter, index) => {
                self.before_call();
                let bytes = self.g.packet_length();
                self.g.measure(meter, index, bytes);
            }
            ReadyEffect::MeasureIf(meter, address) => {
                self.before_call();
                self.g.charge(meter, address);
            }
            ReadyEffect::Priority(priority) => self.g.describe(offset_of!(abi::Packet, priority), priority),
            ReadyEffect::Register(cell, words) => {
                for (i, word) in words.into_iter().enumerate() {
                    self.g.b.ins().store(self.g.flags.cells, word, cell, 8 * i as i32);
                }
            }
        }
    }

    fn forward(&mut self, effects: Vec<ReadyEffect>, port: ValueId, headers: &[ValueId], payload: Place) -> Result<()> {
        let port = self.limbs(port)?[0];
        let (placed, front) = self.place(headers, payload)?;
        let mut pieces = Vec::new();
        for Placed { at, value } in placed {
            let (base, width) = (self.base(at.base)?, self.ir.values.width(value));
            let source = self.source(at, value)?;
            pieces.push((base, at, width, source));
        }
        // The address of the first byte, if it is another one.
        let start = if front == (At { base: None, bit: 0 }) {
            None
        } else {
            let base = self.base(front.base)?;
            let address = self.g.b.ins().iadd_imm_s(base, front.bit / 8);
            let buffer = self.g.packet_buffer();
            if front.bit < 0 {
                let fits = self.g.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, address, buffer);
                self.g.exit_unless(fits, true);
            }
            Some(self.g.b.ins().isub(address, buffer))
        };
        let mut run: Vec<Piece> = Vec::new();
        let mut run_base = None;
        for (base, at, width, source) in pieces {
            match source {
                Source::Bytes(bytes) => {
                    for (v, offset) in bytes {
                        let at = (at.bit / 8) as i32 + offset as i32;
                        self.g.b.ins().store(self.g.flags.packet, v, base, at);
                    }
                }
                Source::Number(value) => {
                    let follows = run_base == Some(base) && run.last().is_some_and(|last| last.to() == at.bit);
                    if !follows && let Some(base) = run_base {
                        self.store_run(base, &std::mem::take(&mut run));
                    }
                    run_base = Some(base);
                    run.push(Piece { from: at.bit, width, value });
                }
            }
        }
        if let Some(base) = run_base {
            self.store_run(base, &run);
        }
        effects.into_iter().for_each(|effect| self.happen(effect));
        self.g.no_parser_error();
        // The egress port and the verdict, in one store.
        const { assert!(abi::Verdict::Forward as u32 == 0) };
        const { assert!(offset_of!(abi::Packet, verdict) == offset_of!(abi::Packet, egress_port) + 4) };
        let port = self.g.mask(port, 32);
        self.g.describe_word(offset_of!(abi::Packet, egress_port), port);
        if let Some(start) = start {
            self.g.describe(offset_of!(abi::Packet, start), start);
        }
        let next = self.g.next_packet;
        self.g.b.ins().jump(next, &[]);
        Ok(())
    }

    /// The headers that are not in place, in order, and where the packet begins.
    fn place(&mut self, headers: &[ValueId], payload: Place) -> Result<(Vec<Placed>, At)> {
        let mut at = At { base: payload.base, bit: 8 * i64::from(payload.offset) };
        let mut placed = Vec::new();
        for &value in headers.iter().rev() {
            let width = i64::from(self.ir.values.width(value));
            match self.ir.values[value].op.clone() {
                Op::Bytes { at: from, length } => {
                    let begin = match length {
                        Some(length) => self.in_front_of(at, length),
                        None => None,
                    };
                    if begin != Some(At { base: from.base, bit: 8 * i64::from(from.offset) }) {
                        return self.unsupported("a varbit that is moved");
                    }
                    at = At { base: from.base, bit: 8 * i64::from(from.offset) };
                }
                _ if matches!(self.data_type(value), Type::Varbit(_)) => {
                    return self.unsupported("a varbit that is not in the packet");
                }
                Op::Packet { base, bit } if base == at.base && i64::from(bit) + width == at.bit => at.bit -= width,
                _ => {
                    at.bit -= width;
                    placed.push(Placed { at, value });
                }
            }
        }
        placed.reverse();
        Ok((placed, at))
    }

    /// The place a number of bytes in front of another one.
    fn in_front_of(&self, at: At, bytes: ValueId) -> Option<At> {
        let values = &self.ir.values;
        if let Some(constant) = values.as_constant(bytes) {
            return Some(At { bit: at.bit - 8 * constant.to_i64()?, ..at });
        }
        let base = match values[at.base?].op {
            _ if at.base == Some(bytes) => None,
            Op::Binary(BinaryOp::Add, rest, last) if last == bytes => Some(rest),
            Op::Binary(BinaryOp::Add, last, rest) if last == bytes => Some(rest),
            _ => return None,
        };
        Some(At { base, ..at })
    }

    /// The bytes of a value that is written to a place.
    fn source(&mut self, at: At, value: ValueId) -> Result<Source> {
        let width = self.ir.values.width(value);
        if let Op::Packet { base, bit } = self.ir.values[value].op
            && at.bit % 8 == 0
            && bit % 8 == 0
            && width.is_multiple_of(8)
        {
            let base = self.base(base)?;
            let mut pieces = Vec::new();
            for (ty, offset) in chunks(width / 8) {
                let from = (bit / 8 + offset) as i32;
                pieces.push((self.g.b.ins().load(ty, self.g.flags.packet, base, from), offset));
            }
            return Ok(Source::Bytes(pieces));
        }
        if at.bit % 8 == 0
            && matches!(width, 8 | 16 | 32 | 64)
            && self.has_packet_order(value)
            && let Some(bytes) = self.computing(value, |it| it.computed_in_order(value))?
        {
            return Ok(Source::Bytes(vec![(bytes, 0)]));
        }
        Ok(Source::Number(self.limbs(value)?))
    }
}

/// The types and offsets of loads that cover a number of bytes. The last ones may overlap.
fn chunks(bytes: u32) -> Vec<(ClifType, u32)> {
    let mut chunks = Vec::new();
    let mut done = 0;
    while done < bytes {
        let left = bytes - done;
        let size = match left {
            16.. => 16,
            _ => 1 << left.ilog2(),
        };
        // One overlapping access is cheaper than several small ones.
        let whole = left.next_power_of_two();
        let (size, at) =
            if size < left && whole <= bytes && whole <= 16 { (whole, bytes - whole) } else { (size, done) };
        chunks.push((if size == 16 { types::I8X16 } else { int(size) }, at));
        done = at + size;
    }
    chunks
}
