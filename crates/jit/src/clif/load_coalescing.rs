//! Load coalescing: a number assembled from adjacent bytes of a packet that were loaded in pieces, or masked and
//! shifted, becomes one load and a mask.

use std::collections::{HashMap, HashSet};

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{
    AliasRegion, Block, Function, Inst, InstBuilder, InstructionData, MemFlagsData, Opcode, Value, ValueDef, types,
};

use crate::clif::cfg::{arrivals, successors};
use crate::clif::known_bits::constant_in;
use crate::emit::memory::region_of;

/// The maximum depth of operations that are examined.
const DEPTH: u32 = 6;

/// A 64-bit number as the bytes at an address, with some masked out.
#[derive(Clone, Copy)]
struct Window {
    base: Value,
    /// Offset of its least significant byte.
    from: i32,
    mask: u64,
    /// End of the bytes that were loaded.
    to: i32,
    /// The number of instructions that are used for this number only.
    cost: u32,
    /// The last load.
    last: Inst,
}

/// Runs the pass. `packet` are the flags of accesses of packets.
pub(crate) fn run(function: &mut Function, packet: MemFlagsData) {
    function.dfg.resolve_all_aliases();
    let (mut insts, mut uses) = (Vec::new(), HashMap::<Value, u32>::new());
    for block in function.layout.blocks() {
        for inst in function.layout.block_insts(block) {
            insts.push(inst);
            for v in function.dfg.inst_values(inst) {
                *uses.entry(v).or_default() += 1;
            }
        }
    }
    let arrivals = arrivals(function);
    let mut before = HashMap::new();
    for block in function.layout.blocks() {
        let alone = successors(function, block).into_iter().filter(|to| arrivals.get(to) == Some(&1));
        before.extend(alone.map(|to| (to, block)));
    }
    let windows = Windows { f: function, region: packet.alias_region(), uses: &uses, before: &before };
    // A number is visited before its parts.
    let (mut found, mut parts) = (Vec::new(), HashSet::new());
    for &inst in insts.iter().rev() {
        let is_whole = matches!(function.dfg.insts[inst].opcode(), Opcode::Bor | Opcode::Ishl | Opcode::Ushr);
        let Some(&v) = function.dfg.inst_results(inst).first() else { continue };
        if !is_whole || parts.contains(&v) {
            continue;
        }
        let mut own = Vec::new();
        let Some(window) = windows.of(v, DEPTH, &mut own) else { continue };
        let bytes = (window.mask.checked_ilog2().map_or(0, |high| high / 8 + 1)).next_power_of_two().max(2);
        let whole = window.mask == u64::MAX >> (64 - 8 * bytes);
        let cost = if whole { 1 } else { 2 };
        if cost < window.cost && window.from >= 0 && window.from + bytes as i32 <= window.to {
            found.push((inst, window, bytes, whole));
            parts.extend(own);
        }
    }
    for (inst, Window { base, from, mask, last, .. }, bytes, whole) in found {
        let mut at = FuncCursor::new(function).after_inst(last);
        at.use_srcloc(last);
        let loaded = match bytes {
            2 => at.ins().uload16(types::I64, packet, base, from),
            4 => at.ins().uload32(packet, base, from),
            _ => at.ins().load(types::I64, packet, base, from),
        };
        let mut at = FuncCursor::new(function).at_inst(inst);
        at.use_srcloc(inst);
        let v = if whole {
            loaded
        } else {
            let mask = at.ins().iconst(types::I64, mask as i64);
            at.ins().band(loaded, mask)
        };
        let old = function.dfg.first_result(inst);
        function.layout.remove_inst(inst);
        function.dfg.clear_results(inst);
        function.dfg.change_to_alias(old, v);
    }
    function.dfg.resolve_all_aliases();
}

struct Windows<'a> {
    f: &'a Function,
    region: Option<AliasRegion>,
    uses: &'a HashMap<Value, u32>,
    /// The only predecessor of a block.
    before: &'a HashMap<Block, Block>,
}

impl Windows<'_> {
    /// Returns the bytes that make up a number. Collects the instructions that are used for it only.
    fn of(&self, v: Value, depth: u32, parts: &mut Vec<Value>) -> Option<Window> {
        let dfg = &self.f.dfg;
        let ValueDef::Result(inst, 0) = dfg.value_def(v) else { return None };
        if depth == 0 || dfg.value_type(v) != types::I64 {
            return None;
        }
        let args = dfg.inst_args(inst);
        let mut operand = |i: usize| {
            let window = self.of(args[i], depth - 1, parts)?;
            let alone = self.uses.get(&args[i]) == Some(&1);
            if alone {
                parts.push(args[i]);
            }
            // Values that are also used elsewhere remain in any case.
            Some(Window { cost: if alone { window.cost } else { 0 } + 1, ..window })
        };
        let bytes = |i: usize| {
            let by = constant_in(dfg, args[i]).filter(|by| (0..64).contains(by) && by % 8 == 0)?;
            Some(by as i32 / 8)
        };
        match dfg.insts[inst] {
            InstructionData::Load { opcode, arg, offset, .. } => {
                let bytes = match opcode {
                    Opcode::Load => 8,
                    Opcode::Uload8 => 1,
                    Opcode::Uload16 => 2,
                    Opcode::Uload32 => 4,
                    _ => return None,
                };
                let from = i32::from(offset);
                let mask = u64::MAX >> (64 - 8 * bytes);
                let of_packet = self.region.is_some() && region_of(dfg, inst) == self.region;
                of_packet.then_some(Window { base: arg, from, mask, to: from + bytes, cost: 1, last: inst })
            }
            InstructionData::Binary { opcode: Opcode::Band, .. } => {
                let mask = constant_in(dfg, args[1])?;
                let window = operand(0)?;
                Some(Window { mask: window.mask & mask as u64, ..window })
            }
            InstructionData::Binary { opcode: Opcode::Ishl, .. } => {
                let by = bytes(1)?;
                let window = operand(0)?;
                Some(Window { from: window.from - by, mask: window.mask << (8 * by), ..window })
            }
            InstructionData::Binary { opcode: Opcode::Ushr, .. } => {
                let by = bytes(1)?;
                let window = operand(0)?;
                Some(Window { from: window.from + by, mask: window.mask >> (8 * by), ..window })
            }
            InstructionData::Binary { opcode: Opcode::Bor, .. } => {
                let (a, b) = (operand(0)?, operand(1)?);
                let last = (a.base == b.base && a.from == b.from).then(|| self.later(a.last, b.last))??;
                let cost = a.cost + b.cost - 1;
                Some(Window { mask: a.mask | b.mask, to: a.to.max(b.to), cost, last, ..a })
            }
            _ => None,
        }
    }

    /// Returns the later of two instructions, if the other one dominates it and there is no store between them.
    fn later(&self, a: Inst, b: Inst) -> Option<Inst> {
        if self.comes_from(b, a) { Some(b) } else { self.comes_from(a, b).then_some(a) }
    }

    fn comes_from(&self, inst: Inst, from: Inst) -> bool {
        let (f, mut at) = (self.f, inst);
        loop {
            if at == from {
                return true;
            }
            let op = f.dfg.insts[at].opcode();
            if op.can_store() || op.is_call() || op.other_side_effects() {
                return false;
            }
            let block = f.layout.inst_block(at);
            let earlier = f.layout.prev_inst(at).or_else(|| f.layout.last_inst(*self.before.get(&block?)?));
            match earlier {
                Some(earlier) => at = earlier,
                None => return false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::Context;
    use cranelift_codegen::control::ControlPlane;
    use cranelift_codegen::ir::{AbiParam, Signature, UserFuncName};
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    use super::*;
    use crate::code::memory::Code;
    use crate::emit::memory::MemoryKinds;

    /// The results of a function before and after the pass, and the number of loads left.
    fn both(make: &dyn Fn(&mut FunctionBuilder<'_>, &MemoryKinds, Value) -> Value) -> ([u64; 2], usize) {
        let isa = crate::code::target::host().expect("a machine that code is generated for");
        let mut signature = Signature::new(isa.default_call_conv());
        signature.params.extend([AbiParam::new(types::I64); 3]);
        signature.returns.push(AbiParam::new(types::I64));
        let mut plain = Function::with_name_signature(UserFuncName::user(0, 0), signature);
        let flags = MemoryKinds::new(&mut plain);
        let mut frontend = FunctionBuilderContext::new();
        let mut b = FunctionBuilder::new(&mut plain, &mut frontend);
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        b.seal_block(entry);
        let given = b.block_params(entry)[1];
        let result = make(&mut b, &flags, given);
        b.ins().return_(&[result]);
        b.finalize(isa.frontend_config());
        let mut joined = plain.clone();
        run(&mut joined, flags.packet);
        crate::clif::dead_code::run(&mut joined);
        let insts = joined.layout.blocks().flat_map(|b| joined.layout.block_insts(b));
        let loads = insts.filter(|inst| joined.dfg.insts[*inst].opcode().can_load()).count();
        let results = [plain, joined].map(|function| {
            let mut context = Context::for_function(function);
            let compiled = context.compile(&*isa, &mut ControlPlane::default()).expect("valid code");
            let code = Code::new(compiled.code_buffer()).expect("memory");
            let mut bytes: [u8; 24] = std::array::from_fn(|i| 0x9d_u8.wrapping_mul(i as u8 + 1));
            // SAFETY: the code takes three words, of which the second is the address of 24 bytes that it reads and
            // writes.
            unsafe { code.entry()(std::ptr::null(), bytes.as_mut_ptr().cast(), 0) as u64 }
        });
        (results, loads)
    }

    /// Two bytes and the following four, assembled as for a cipher block.
    fn pieces(b: &mut FunctionBuilder<'_>, flags: &MemoryKinds, at: Value, first: i32, between: bool) -> Value {
        let two = b.ins().uload16(types::I64, flags.packet, at, first);
        if between {
            let number = b.ins().iconst(types::I8, 7);
            b.ins().store(flags.packet, number, at, first);
        }
        let four = b.ins().uload32(flags.packet, at, first + 2);
        let (two, four) = (b.ins().ishl_imm_u(two, 16), b.ins().ishl_imm_u(four, 32));
        b.ins().bor(two, four)
    }

    #[test]
    fn bytes_side_by_side_are_loaded_at_once() {
        let ([plain, joined], loads) = both(&|b, flags, at| pieces(b, flags, at, 4, false));
        assert_eq!((plain, loads), (joined, 1));
        // Masked and shifted values are loaded directly into position.
        let ([plain, joined], loads) = both(&|b, flags, at| {
            let v = b.ins().load(types::I64, flags.packet, at, 1);
            let v = b.ins().band_imm_u(v, 0xff_ffff_ffff);
            b.ins().ishl_imm_u(v, 8)
        });
        assert_eq!((plain, loads), (joined, 1));
    }

    #[test]
    fn bytes_that_are_elsewhere_or_change_are_not() {
        let ([plain, joined], loads) = both(&|b, flags, at| pieces(b, flags, at, 0, false));
        assert_eq!((plain, loads), (joined, 2), "there may be nothing in front of them");
        let ([plain, joined], loads) = both(&|b, flags, at| pieces(b, flags, at, 4, true));
        assert_eq!((plain, loads), (joined, 2), "they are written in between");
        let ([plain, joined], loads) = both(&|b, flags, at| {
            let (a, c) =
                (b.ins().uload16(types::I64, flags.packet, at, 4), b.ins().uload16(types::I64, flags.packet, at, 8));
            let c = b.ins().ishl_imm_u(c, 16);
            b.ins().bor(a, c)
        });
        assert_eq!((plain, loads), (joined, 2), "they are apart");
    }
}
