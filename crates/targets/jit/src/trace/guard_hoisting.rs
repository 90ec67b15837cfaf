//! Guard hoisting: guards that compare batch invariants move to the prologue. If one of them fails, the generic
//! function runs the whole batch.

use std::mem::offset_of;

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::condcodes::{CondCode, IntCC};
use cranelift_codegen::ir::{
    AbiParam, Block, Function, InstBuilder, InstructionData, MemFlagsData, Opcode, Signature, Value, ValueDef, types,
};

use crate::clif::known_bits::constant_in;
use crate::trace::batch_splitting::TraceShape;
use crate::trace::exit_counters::{self, ExitSites, Places};
use crate::trace::guard::Guard;
use hopwright_abi as abi;

/// A hoisted guard: a comparison of an invariant in memory with another one or with a number.
#[derive(Clone, Copy, PartialEq)]
struct HoistedGuard {
    cc: IntCC,
    a: Value,
    b: Operand,
}

#[derive(Clone, Copy, PartialEq)]
enum Operand {
    Value(Value),
    Number(i64),
}

/// Runs the pass. `exit` is the block of side exits.
pub(crate) fn run(function: &mut Function, exit: Block, shape: &TraceShape, places: Places<'_>, sites: &mut ExitSites) {
    let Some(entry) = function.layout.entry_block() else { return };
    let blocks: Vec<Block> = function.layout.blocks().collect();
    let found = |block: Block| {
        let guard = Guard::at_end(function, block, exit)?;
        Some((invariant_comparison(function, entry, &guard)?, guard))
    };
    let mut found: Vec<(HoistedGuard, Guard)> = blocks.into_iter().filter_map(found).collect();
    // A guard stays where it is if other paths expect a different outcome.
    let all: Vec<HoistedGuard> = found.iter().map(|(hoisted, _)| *hoisted).collect();
    found.retain(|(hoisted, _)| all.iter().all(|other| other == hoisted || other.a != hoisted.a));
    let mut chosen: Vec<(HoistedGuard, usize)> = Vec::new();
    for (hoisted, guard) in found {
        if !chosen.iter().any(|(other, _)| *other == hoisted) {
            chosen.push((hoisted, places.number(sites, guard.place(function))));
        }
        guard.remove(function);
    }
    if !chosen.is_empty() {
        emit_hoisted(function, entry, &chosen, shape);
    }
}

/// The comparison of a guard, if it compares invariants in memory.
fn invariant_comparison(function: &Function, entry: Block, guard: &Guard) -> Option<HoistedGuard> {
    let dfg = &function.dfg;
    let loaded_once = |v: Value| match dfg.value_def(v) {
        ValueDef::Result(inst, 0) => {
            function.layout.inst_block(inst) == Some(entry) && dfg.insts[inst].opcode() == Opcode::Load
        }
        _ => false,
    };
    let condition = dfg.resolve_aliases(guard.condition);
    if loaded_once(condition) {
        let cc = if guard.holds { IntCC::NotEqual } else { IntCC::Equal };
        return Some(HoistedGuard { cc, a: condition, b: Operand::Number(0) });
    }
    let ValueDef::Result(inst, 0) = dfg.value_def(condition) else { return None };
    let InstructionData::IntCompare { cond, args, .. } = dfg.insts[inst] else { return None };
    let [a, b] = args.map(|v| dfg.resolve_aliases(v));
    let b = match constant_in(dfg, b) {
        Some(number) => Operand::Number(number),
        None if loaded_once(b) => Operand::Value(b),
        None => return None,
    };
    let cc = if guard.holds { cond } else { cond.complement() };
    loaded_once(a).then_some(HoistedGuard { cc, a, b })
}

/// Emits the guards at the end of the prologue.
fn emit_hoisted(function: &mut Function, entry: Block, hoisted: &[(HoistedGuard, usize)], shape: &TraceShape) {
    let Some(end) = function.layout.last_inst(entry) else { return };
    let &[runtime, packets, count] = function.dfg.block_params(entry) else { return };
    let cold = |function: &mut Function| {
        let block = function.dfg.make_block();
        function.layout.append_block(block);
        function.layout.set_cold(block);
        block
    };
    let away = cold(function);
    for (HoistedGuard { cc, a, b }, site) in hoisted {
        let mut at = FuncCursor::new(function).at_inst(end);
        let ty = at.func.dfg.value_type(*a);
        let b = match b {
            Operand::Value(v) => *v,
            Operand::Number(number) => at.ins().iconst(ty, *number),
        };
        let holds = at.ins().icmp(*cc, *a, b);
        let next = function.dfg.make_block();
        function.layout.split_block(next, end);
        let before = function.layout.prev_block(next).unwrap_or(entry);
        let left = cold(function);
        FuncCursor::new(function).at_bottom(before).ins().brif(holds, next, &[], left, &[]);
        let mut at = FuncCursor::new(function).at_bottom(left);
        exit_counters::add(&mut at, shape, runtime, *site, count);
        at.ins().jump(away, &[]);
    }
    let mut signature = Signature::new(function.signature.call_conv);
    signature.params.extend([AbiParam::new(types::I64); 3]);
    signature.returns.push(AbiParam::new(types::I64));
    let signature = function.import_signature(signature);
    let flags = shape.flags;
    // This load must not be moved.
    let here = MemFlagsData::new().with_notrap().with_alias_region(flags.runtime.alias_region());
    let mut at = FuncCursor::new(function).at_bottom(away);
    let left = at.ins().load(types::I64, here, runtime, offset_of!(abi::Runtime, side_exits) as i32);
    let n = at.ins().load(types::I64, flags.cells, left, 0);
    let n = at.ins().iadd(n, count);
    at.ins().store(flags.cells, n, left, 0);
    let all = at.ins().iconst(types::I64, shape.all);
    let call = at.ins().call_indirect(signature, all, &[runtime, packets, count]);
    let behind = at.func.dfg.first_result(call);
    at.ins().return_(&[behind]);
}
