//! Reloading: a load is repeated in front of a use that is far from the one before it, so that it occupies no register in between.
//! A load costs no more than the reload of a spilled register, and saves the spill. The pass follows chains of blocks without joins.

use std::collections::HashMap;

use cranelift_codegen::ir::{AliasRegion, Function, Inst, InstructionData, Value};

use crate::clif::cfg::along_chains;
use crate::emit::memory::region_of;

/// The number of instructions for which a value is kept without a use.
const DISTANCE: usize = 48;

/// A value that has been loaded.
#[derive(Clone, Copy)]
struct Loaded {
    load: Inst,
    region: Option<AliasRegion>,
    /// The value of the last load.
    now: Value,
    last_use: usize,
    /// Whether memory still holds it.
    is_current: bool,
}

/// What is known at an instruction.
#[derive(Clone, Default)]
struct State {
    loaded: HashMap<Value, Loaded>,
    /// The number of instructions on the way.
    at: usize,
}

/// Runs the pass.
pub(crate) fn run(function: &mut Function) {
    along_chains(function, |function, inst, State { loaded, at }| {
        *at += 1;
        reload_operands(function, inst, *at, loaded);
        look_at(function, inst, *at, loaded);
    });
}

/// Loads the operands of an instruction again whose last use is too far.
fn reload_operands(function: &mut Function, inst: Inst, at: usize, loaded: &mut HashMap<Value, Loaded>) {
    let operands: Vec<Value> = function.dfg.inst_values(inst).collect();
    for v in operands {
        let Some(mut known) = loaded.get(&v).copied() else { continue };
        if known.is_current && at - known.last_use > DISTANCE {
            let again = function.dfg.clone_inst(known.load);
            function.layout.insert_inst(again, inst);
            // The address may have been loaded again.
            function.dfg.map_inst_values(again, |v| loaded.get(&v).map_or(v, |address| address.now));
            known.now = function.dfg.first_result(again);
        }
        known.last_use = at;
        loaded.insert(v, known);
    }
    function.dfg.map_inst_values(inst, |v| loaded.get(&v).map_or(v, |known| known.now));
}

/// Notes a load, and what an instruction writes.
fn look_at(function: &Function, inst: Inst, at: usize, loaded: &mut HashMap<Value, Loaded>) {
    let data = function.dfg.insts[inst];
    let (opcode, region) = (data.opcode(), region_of(&function.dfg, inst));
    let traps = || data.memflags_data(&function.dfg).is_none_or(|flags| !flags.notrap());
    if matches!(data, InstructionData::Load { .. }) && region.is_some() && !traps() {
        let now = function.dfg.first_result(inst);
        loaded.insert(now, Loaded { load: inst, region, now, last_use: at, is_current: true });
    } else if opcode.can_store() && region.is_some() && !opcode.is_call() {
        let written = loaded.values_mut().filter(|known| known.region == region);
        written.for_each(|known| known.is_current = false);
    } else if opcode.is_call() || opcode.can_store() || opcode.can_load() || opcode.other_side_effects() {
        loaded.values_mut().for_each(|known| known.is_current = false);
    }
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::cursor::{Cursor, FuncCursor};
    use cranelift_codegen::ir::{AbiParam, InstBuilder, Opcode, Signature, types};
    use cranelift_codegen::isa::CallConv;

    use super::*;
    use crate::emit::memory::MemoryKinds;

    /// The number of loads after the pass in a function that loads a value, and uses it after some other instructions, among
    /// them perhaps a store to the packet.
    fn loads(between: usize, stores: bool) -> usize {
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.push(AbiParam::new(types::I64));
        let mut function = Function::with_name_signature(Default::default(), signature);
        let memory = MemoryKinds::new(&mut function);
        let block = function.dfg.make_block();
        let address = function.dfg.append_block_param(block, types::I64);
        function.layout.append_block(block);
        let mut at = FuncCursor::new(&mut function).at_bottom(block);
        let loaded = at.ins().load(types::I64, memory.packet, address, 0);
        let mut other = address;
        for _ in 0..between {
            other = at.ins().iadd_imm_s(other, 1);
        }
        if stores {
            at.ins().store(memory.packet, other, address, 8);
        }
        let sum = at.ins().iadd(loaded, other);
        at.ins().store(memory.cells, sum, address, 16);
        at.ins().return_(&[]);
        run(&mut function);
        function.layout.block_insts(block).filter(|inst| function.dfg.insts[*inst].opcode() == Opcode::Load).count()
    }

    #[test]
    fn a_value_is_loaded_again_in_front_of_a_far_use() {
        assert_eq!(loads(DISTANCE, false), 2);
        assert_eq!(loads(2, false), 1);
    }

    #[test]
    fn a_value_is_kept_when_its_memory_is_written() {
        assert_eq!(loads(DISTANCE, true), 1);
    }
}
