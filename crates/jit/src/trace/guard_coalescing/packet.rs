//! Guard coalescing for the packet's bytes: guards that compare bits of the packet with constants are delayed, so that
//! one comparison tests the bits of up to eight bytes. Side exits may be delayed, because a trace has no effects before
//! its end. Other guards are emitted immediately.

use std::collections::BTreeMap;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, InstructionData, Opcode, SourceLoc, Value, ValueDef};

use crate::clif::known_bits::most_of;
use crate::emit::Emitter;
use crate::emit::bytes::int;
use crate::trace::Mode;
use crate::trace::passes::TracePass;

/// Delayed guards: for each byte relative to an address, the tested bits.
pub(crate) type PendingGuards = BTreeMap<(Value, i32), TestedBits>;

/// The mask of tested bits of a byte, their values, and the place of the first of the guards in the program.
type TestedBits = (u8, u8, SourceLoc);

/// A value that consists of bits of the packet: `((number >> shift) & mask) << zeros` of a number of `bytes` bytes.
#[derive(Clone, Copy)]
struct Bits {
    base: Value,
    at: i32,
    bytes: u32,
    /// The first byte is the most significant.
    big_endian: bool,
    shift: u32,
    mask: u64,
    zeros: u32,
}

impl Emitter<'_> {
    /// Emits a guard: packets for which the condition does not have the expected outcome take a side exit. Emits
    /// nothing if earlier guards have decided the condition.
    pub(crate) fn emit_guard(&mut self, condition: Value, holds: bool) {
        if self.known_truth(condition) == Some(holds) {
            return;
        }
        if !self.has_pass(TracePass::PacketGuardCoalescing) || !self.defer_guard(condition, holds) {
            self.branch_guard(condition, holds);
        }
        self.record_truth(condition, holds);
    }

    fn branch_guard(&mut self, condition: Value, holds: bool) {
        let exit = self.side_exit_block();
        let go_on = self.b.create_block();
        let (yes, no) = if holds { (go_on, exit) } else { (exit, go_on) };
        self.b.ins().brif(condition, yes, &[], no, &[]);
        self.enter(go_on);
    }

    /// Delays a guard on bits of the packet. Returns false for other guards.
    fn defer_guard(&mut self, condition: Value, holds: bool) -> bool {
        let Some((bits, value)) = self.equal_bits(condition, holds) else { return false };
        let mut pending = self.flow.trace.pending.clone();
        for i in 0..bits.bytes {
            let by = 8 * if bits.big_endian { bits.bytes - 1 - i } else { i };
            let byte = |number: u64| (number << bits.shift >> by) as u8;
            let (mask, value) = (byte(bits.mask), byte(value));
            if mask != 0 {
                let here = (0, 0, self.b.srcloc());
                let (old_mask, old, _) = pending.entry((bits.base, bits.at + i as i32)).or_insert(here);
                if (*old ^ value) & *old_mask & mask != 0 {
                    // This contradicts an earlier guard. The code after it is unreachable, which the comparison will
                    // show.
                    return false;
                }
                *old_mask |= mask;
                *old |= value;
            }
        }
        self.flow.trace.pending = pending;
        true
    }

    /// The bits of the packet that a condition compares, and the value they must have.
    fn equal_bits(&self, condition: Value, holds: bool) -> Option<(Bits, u64)> {
        let dfg = &self.b.func.dfg;
        let ValueDef::Result(inst, 0) = dfg.value_def(dfg.resolve_aliases(condition)) else { return None };
        let InstructionData::IntCompare { cond, args, .. } = dfg.insts[inst] else { return None };
        let value = self.unsigned_constant(args[1])?;
        let bits = self.packet_bits(args[0], 8).filter(|bits| bits.zeros == 0 && bits.mask != 0)?;
        let equal = match cond {
            IntCC::Equal => holds,
            IntCC::NotEqual => !holds,
            _ => return None,
        };
        match (equal, bits.mask) {
            _ if value & !bits.mask != 0 => None,
            (true, _) => Some((bits, value)),
            // If a single bit must differ, it must equal its complement.
            (false, mask) if mask.is_power_of_two() => Some((bits, value ^ mask)),
            _ => None,
        }
    }

    /// The bits of the packet that a value consists of.
    fn packet_bits(&self, v: Value, depth: u32) -> Option<Bits> {
        let dfg = &self.b.func.dfg;
        let ValueDef::Result(inst, 0) = dfg.value_def(dfg.resolve_aliases(v)) else { return None };
        if depth == 0 {
            return None;
        }
        let args = dfg.inst_args(inst);
        let of = |i: usize| self.packet_bits(args[i], depth - 1);
        match dfg.insts[inst] {
            InstructionData::Load { opcode, flags, offset, .. } => {
                let bytes = match opcode {
                    Opcode::Load => dfg.value_type(v).bytes(),
                    Opcode::Uload8 => 1,
                    Opcode::Uload16 => 2,
                    Opcode::Uload32 => 4,
                    _ => return None,
                };
                let base = dfg.resolve_aliases(args[0]);
                let Mode::Trace(build) = &self.mode else { return None };
                let region = dfg.mem_flags[flags].alias_region();
                let packet = region == self.flags.packet.alias_region() && build.roots.contains(&base) && bytes <= 8;
                let mask = u64::MAX >> (64 - 8 * bytes);
                packet.then_some(Bits {
                    base,
                    at: offset.into(),
                    bytes,
                    big_endian: bytes == 1,
                    shift: 0,
                    mask,
                    zeros: 0,
                })
            }
            InstructionData::Unary { opcode: Opcode::Bswap, .. } => {
                let bits = of(0)?;
                let all = u64::MAX >> (64 - 8 * bits.bytes);
                let whole = !bits.big_endian && bits.shift == 0 && bits.mask == all;
                // The most significant bytes become the least significant.
                let zeros = dfg.value_type(v).bits() - 8 * bits.bytes;
                whole.then_some(Bits { big_endian: true, zeros, ..bits })
            }
            InstructionData::Unary { opcode: Opcode::Uextend | Opcode::Ireduce, .. } => {
                let bits = of(0).filter(|bits| bits.zeros == 0)?;
                Some(Bits { mask: bits.mask & most_of(dfg.value_type(v)), ..bits })
            }
            InstructionData::Binary { opcode: Opcode::Band, .. } => {
                let (bits, mask) = (of(0).filter(|bits| bits.zeros == 0)?, self.constant_of(args[1])?);
                Some(Bits { mask: bits.mask & mask as u64, ..bits })
            }
            InstructionData::Binary { opcode: Opcode::Ushr, .. } => {
                let (bits, by) = (of(0)?, u32::try_from(self.constant_of(args[1])?).ok().filter(|by| *by < 64)?);
                let by = by.checked_sub(bits.zeros)?;
                // Bits that were masked out stay masked out.
                let mask = bits.mask.checked_shr(by).unwrap_or(0);
                Some(Bits { shift: bits.shift + by, mask, zeros: 0, ..bits })
            }
            _ => None,
        }
    }

    /// Emits the delayed guards.
    pub(crate) fn flush_guards(&mut self) {
        let pending = std::mem::take(&mut self.flow.trace.pending);
        let mut rest: Vec<((Value, i32), TestedBits)> =
            pending.into_iter().filter(|(_, (mask, ..))| *mask != 0).collect();
        rest.reverse();
        let here = self.b.srcloc();
        while let Some(&((base, first), (.., place))) = rest.last() {
            self.b.set_srcloc(place);
            let here = |size: i32, start: i32| {
                let inside = |&&((b, at), _): &&((Value, i32), _)| b == base && at >= start && at < start + size;
                rest.iter().rev().take_while(inside).count()
            };
            // Bytes before this offset are known to be in the packet.
            let last = rest.iter().filter(|((b, _), _)| *b == base).map(|((_, at), _)| *at).max().unwrap_or(first);
            let end = (last + 1).max(self.checked_from(base).unwrap_or(0));
            let windows = [2, 4, 8].into_iter().map(|size| (size, first.min(end - size)));
            let best = windows.filter(|(_, start)| *start >= 0).max_by_key(|&(size, start)| (here(size, start), -size));
            let alone = here(1, first);
            let (size, start) = best.filter(|&(size, start)| here(size, start) > alone).unwrap_or((1, first));
            let (mut mask, mut value) = (0u64, 0u64);
            for _ in 0..here(size, start) {
                let Some(((_, at), (m, v, _))) = rest.pop() else { break };
                mask |= u64::from(m) << (8 * (at - start));
                value |= u64::from(v) << (8 * (at - start));
            }
            let ty = int(size as u32);
            let all = most_of(ty);
            let signed = |v: u64| (v << (64 - ty.bits())) as i64 >> (64 - ty.bits());
            let found = self.b.ins().load(ty, self.flags.packet, base, start);
            let found = if mask == all {
                found
            } else {
                let mask = self.b.ins().iconst(ty, signed(mask));
                self.b.ins().band(found, mask)
            };
            let value = self.b.ins().iconst(ty, signed(value));
            let same = self.b.ins().icmp(IntCC::Equal, found, value);
            self.branch_guard(same, true);
        }
        self.b.set_srcloc(here);
    }

    /// The number of bytes after an address that are known to be in the packet.
    fn checked_from(&self, base: Value) -> Option<i32> {
        let Mode::Trace(build) = &self.mode else { return None };
        let checked = self.flow.checked?;
        (build.roots.get(checked.root.index()) == Some(&base)).then_some(checked.offset)
    }
}
