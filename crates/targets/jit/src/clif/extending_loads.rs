//! Extending loads: a load of a small number and its extensions become one extending load. They are emitted separately,
//! because Cranelift merges and moves only plain loads.

use std::collections::{HashMap, HashSet};

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{Function, Inst, InstBuilder, InstructionData, Opcode, Value, ValueDef, types};

/// Runs the pass. A load extends to 64 bits if any use does.
pub(crate) fn run(function: &mut Function) {
    function.dfg.resolve_all_aliases();
    let insts: Vec<Inst> = function.layout.blocks().flat_map(|block| function.layout.block_insts(block)).collect();
    let extended = |inst: &Inst| match function.dfg.insts[*inst] {
        InstructionData::Unary { opcode: Opcode::Uextend, arg } => Some((*inst, arg)),
        _ => None,
    };
    let extensions: Vec<(Inst, Value)> = insts.iter().filter_map(extended).collect();
    let to_64_bits = |inst: Inst| function.dfg.value_type(function.dfg.first_result(inst)) == types::I64;
    let wanted: HashSet<Value> = extensions.iter().filter(|(inst, _)| to_64_bits(*inst)).map(|(_, v)| *v).collect();
    let mut wide: HashMap<Value, Value> = HashMap::new();
    for v in wanted {
        let ValueDef::Result(inst, 0) = function.dfg.value_def(v) else { continue };
        let InstructionData::Load { opcode: Opcode::Load, arg, offset, .. } = function.dfg.insts[inst] else {
            continue;
        };
        let ty = function.dfg.value_type(v);
        let Some(flags) = function.dfg.insts[inst].memflags_data(&function.dfg) else { continue };
        let mut at = FuncCursor::new(function).at_inst(inst);
        at.use_srcloc(inst);
        let loaded = match ty {
            types::I8 => at.ins().uload8(types::I64, flags, arg, offset),
            types::I16 => at.ins().uload16(types::I64, flags, arg, offset),
            types::I32 => at.ins().uload32(flags, arg, offset),
            _ => continue,
        };
        let small = at.ins().ireduce(ty, loaded);
        function.layout.remove_inst(inst);
        function.dfg.clear_results(inst);
        function.dfg.change_to_alias(v, small);
        wide.insert(v, loaded);
    }
    for (inst, v) in extensions {
        let Some(loaded) = wide.get(&v) else { continue };
        let result = function.dfg.first_result(inst);
        let ty = function.dfg.value_type(result);
        let mut at = FuncCursor::new(function).at_inst(inst);
        let whole = if ty == types::I64 { *loaded } else { at.ins().ireduce(ty, *loaded) };
        function.layout.remove_inst(inst);
        function.dfg.clear_results(inst);
        function.dfg.change_to_alias(result, whole);
    }
    function.dfg.resolve_all_aliases();
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::ir::{AbiParam, MemFlagsData, Signature, Type, UserFuncName};
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    use super::*;
    use crate::clif::dead_code;

    /// Returns the number of each operation that remains for a load that is used directly and extended to these types.
    fn left(ty: Type, to: &[Type]) -> HashMap<Opcode, usize> {
        let isa = crate::code::target::host().expect("a machine that code is generated for");
        let mut signature = Signature::new(isa.default_call_conv());
        signature.params.push(AbiParam::new(types::I64));
        let mut function = Function::with_name_signature(UserFuncName::user(0, 0), signature);
        let mut frontend = FunctionBuilderContext::new();
        let mut b = FunctionBuilder::new(&mut function, &mut frontend);
        let block = b.create_block();
        b.append_block_params_for_function_params(block);
        b.switch_to_block(block);
        b.seal_block(block);
        let address = b.block_params(block)[0];
        let flags = MemFlagsData::trusted();
        let v = b.ins().load(ty, flags, address, 0);
        b.ins().store(flags, v, address, 8);
        for (at, to) in (2..).zip(to) {
            let v = b.ins().uextend(*to, v);
            b.ins().store(flags, v, address, 8 * at);
        }
        b.ins().return_(&[]);
        b.finalize(isa.frontend_config());
        run(&mut function);
        dead_code::run(&mut function);
        cranelift_codegen::verify_function(&function, &*isa).expect("valid code");
        let mut left = HashMap::new();
        for inst in function.layout.blocks().flat_map(|block| function.layout.block_insts(block)) {
            *left.entry(function.dfg.insts[inst].opcode()).or_default() += 1;
        }
        left.remove(&Opcode::Store);
        left.remove(&Opcode::Return);
        left
    }

    #[test]
    fn what_is_extended_is_extended_once_when_it_is_loaded() {
        let wide = [types::I64, types::I64];
        let counts = |op: Opcode, reduced: usize| HashMap::from([(op, 1), (Opcode::Ireduce, reduced)]);
        assert_eq!(left(types::I8, &wide), counts(Opcode::Uload8, 1));
        assert_eq!(left(types::I32, &wide), counts(Opcode::Uload32, 1));
        assert_eq!(left(types::I16, &[types::I32, types::I64]), counts(Opcode::Uload16, 2));
        assert_eq!(left(types::I16, &[]), HashMap::from([(Opcode::Load, 1)]), "no use extends it");
        assert_eq!(left(types::I8, &[types::I32]), HashMap::from([(Opcode::Load, 1), (Opcode::Uextend, 1)]));
    }
}
