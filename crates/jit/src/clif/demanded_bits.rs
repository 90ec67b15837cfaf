//! Demanded bits: removes masks and truncations that known bits prove redundant, and merges inversions and additions of
//! bits above a number into the operation below.

use std::collections::HashMap;

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{Function, Inst, InstBuilder, InstructionData, Opcode, Value, ValueDef, types};

use crate::clif::known_bits::{bound_of, constant_in, most_of};

/// The maximum depth of operations that are examined.
const DEPTH: u32 = 10;

/// Runs the pass. `bounds` gives upper bounds of some values.
pub(crate) fn run(function: &mut Function, bounds: &HashMap<Value, u64>) {
    function.dfg.resolve_all_aliases();
    let blocks: Vec<_> = function.layout.blocks().collect();
    for block in blocks {
        for inst in function.layout.block_insts(block).collect::<Vec<_>>() {
            let simpler = extended(function, inst, bounds).or_else(|| above(function, inst, bounds));
            if let Some(simpler) = simpler {
                let old = function.dfg.first_result(inst);
                function.layout.remove_inst(inst);
                function.dfg.clear_results(inst);
                function.dfg.change_to_alias(old, simpler);
            }
        }
    }
    function.dfg.resolve_all_aliases();
}

fn made(function: &Function, v: Value) -> Option<(Opcode, &[Value])> {
    let dfg = &function.dfg;
    match dfg.value_def(dfg.resolve_aliases(v)) {
        ValueDef::Result(inst, 0) => Some((dfg.insts[inst].opcode(), dfg.inst_args(inst))),
        _ => None,
    }
}

fn at(function: &mut Function, inst: Inst) -> FuncCursor<'_> {
    let mut at = FuncCursor::new(function).at_inst(inst);
    at.use_srcloc(inst);
    at
}

/// Zero extension of a truncated value, or of the inversion of one.
fn extended(function: &mut Function, inst: Inst, bounds: &HashMap<Value, u64>) -> Option<Value> {
    let InstructionData::Unary { opcode: Opcode::Uextend, arg } = function.dfg.insts[inst] else { return None };
    let narrow = function.dfg.value_type(arg);
    let wide = function.dfg.ctrl_typevar(inst);
    if wide != types::I64 {
        return None;
    }
    let (turned, whole) = match made(function, arg)? {
        (Opcode::Bnot, &[of]) => (true, made(function, of)?),
        whole => (false, whole),
    };
    let (Opcode::Ireduce, &[whole]) = whole else { return None };
    let whole = function.dfg.resolve_aliases(whole);
    let bound = bound_of(&function.dfg, &|v| bounds.get(&v).copied(), whole, DEPTH);
    if bound > most_of(narrow) {
        return None;
    }
    let mut at = at(function, inst);
    let whole = if at.func.dfg.value_type(whole) == wide { whole } else { at.ins().uextend(wide, whole) };
    Some(if turned { at.ins().bxor_imm_u(whole, most_of(narrow) as i64) } else { whole })
}

/// Bits set above a number whose bits are inverted.
fn above(function: &mut Function, inst: Inst, bounds: &HashMap<Value, u64>) -> Option<Value> {
    let InstructionData::Binary { opcode: Opcode::Bor, args } = function.dfg.insts[inst] else { return None };
    let constant = |v: Value| constant_in(&function.dfg, v).map(|c| c as u64);
    let (of, more) = match args.map(constant) {
        [None, Some(more)] => (args[0], more),
        [Some(more), None] => (args[1], more),
        _ => return None,
    };
    let (Opcode::Bxor, &[v, mask]) = made(function, of)? else { return None };
    let mask = constant(mask)?;
    let all = (function.dfg.value_type(of) == types::I64)
        .then(|| bound_of(&function.dfg, &|v| bounds.get(&v).copied(), v, DEPTH) | mask)?;
    // A mask of all bits up to the highest set bit.
    let below = all.checked_ilog2().map_or(0, |high| u64::MAX >> (63 - high));
    (below & more == 0).then(|| at(function, inst).ins().bxor_imm_u(v, (mask | more) as i64))
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::Context;
    use cranelift_codegen::control::ControlPlane;
    use cranelift_codegen::ir::{AbiParam, Signature, UserFuncName};
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    use super::*;
    use crate::code::memory::Code;

    /// The results of a function before and after the pass, and the number of instructions saved.
    fn both(number: u64, most: u64, make: &dyn Fn(&mut FunctionBuilder<'_>, Value) -> Value) -> (u64, u64, usize) {
        let isa = crate::code::target::host().expect("a machine that code is generated for");
        let mut signature = Signature::new(isa.default_call_conv());
        signature.params.extend([AbiParam::new(types::I64); 3]);
        signature.returns.push(AbiParam::new(types::I64));
        let mut plain = Function::with_name_signature(UserFuncName::user(0, 0), signature);
        let mut frontend = FunctionBuilderContext::new();
        let mut b = FunctionBuilder::new(&mut plain, &mut frontend);
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        b.seal_block(entry);
        let given = b.block_params(entry)[2];
        let result = make(&mut b, given);
        b.ins().return_(&[result]);
        b.finalize(isa.frontend_config());
        let mut simpler = plain.clone();
        run(&mut simpler, &HashMap::from([(given, most)]));
        crate::clif::dead_code::run(&mut simpler);
        let count = |f: &Function| f.layout.blocks().map(|b| f.layout.block_insts(b).count()).sum::<usize>();
        let fewer = count(&plain) - count(&simpler);
        let [plain, simpler] = [plain, simpler].map(|function| {
            let mut context = Context::for_function(function);
            let compiled = context.compile(&*isa, &mut ControlPlane::default()).expect("valid code");
            let code = Code::new(compiled.code_buffer()).expect("memory");
            // SAFETY: the code takes three words and returns one, and accesses no memory.
            unsafe { code.entry()(std::ptr::null(), std::ptr::null_mut(), number as usize) as u64 }
        });
        (plain, simpler, fewer)
    }

    #[test]
    fn small_numbers_are_not_cut_off() {
        let cut = |b: &mut FunctionBuilder<'_>, v: Value| {
            let narrow = b.ins().ireduce(types::I16, v);
            b.ins().uextend(types::I64, narrow)
        };
        assert_eq!(both(0xabcd, 0xffff, &cut), (0xabcd, 0xabcd, 2));
        assert_eq!(both(0x1_abcd, 0x1_ffff, &cut), (0xabcd, 0xabcd, 0), "there is something to cut off");
        let turned = |b: &mut FunctionBuilder<'_>, v: Value| {
            let narrow = b.ins().ireduce(types::I16, v);
            let narrow = b.ins().bnot(narrow);
            let v = b.ins().uextend(types::I64, narrow);
            b.ins().bor_imm_u(v, 0x4011_0000)
        };
        let (plain, simpler, fewer) = both(0xabcd, 0xffff, &turned);
        assert_eq!((plain, simpler), (0x4011_5432, 0x4011_5432));
        assert!(fewer >= 2, "{fewer}");
        let (plain, simpler, _) = both(0x1_abcd, 0x1_ffff, &turned);
        assert_eq!((plain, simpler), (0x4011_5432, 0x4011_5432));
    }

    #[test]
    fn bits_that_may_be_there_are_not_turned_over() {
        let over = |b: &mut FunctionBuilder<'_>, v: Value| {
            let v = b.ins().bxor_imm_u(v, 0xff);
            b.ins().bor_imm_u(v, 0x100)
        };
        for number in [0x100, 0x1ab, 0xab] {
            let (plain, simpler, _) = both(number, 0x1ff, &over);
            assert_eq!(plain, simpler);
        }
        let (plain, simpler, fewer) = both(0xab, 0xff, &over);
        assert_eq!((plain, simpler), (0x154, 0x154));
        assert!(fewer > 0);
    }
}
