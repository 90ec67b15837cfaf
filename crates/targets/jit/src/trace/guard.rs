//! Guards as they are in Cranelift IR: conditional branches of which one target leads to the side exit.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{Block, Function, Inst, InstBuilder, InstructionData, Opcode, SourceLoc, Value};

use crate::clif::cfg::successors;

/// A guard at the end of a block: packets for which the condition does not have the expected outcome take a side exit.
pub(crate) struct Guard {
    pub condition: Value,
    pub holds: bool,
    /// The block on the trace.
    pub go_on: Block,
    /// The block that leads to the side exit.
    pub leave: Block,
    /// The branch.
    inst: Inst,
}

impl Guard {
    pub(crate) fn at_end(function: &Function, block: Block, exit: Block) -> Option<Guard> {
        let inst = function.layout.last_inst(block)?;
        let InstructionData::Brif { arg: condition, .. } = function.dfg.insts[inst] else { return None };
        let &[yes, no] = successors(function, block).as_slice() else { return None };
        let plain = function.dfg.insts[inst]
            .branch_destination(&function.dfg.jump_tables, &function.dfg.exception_tables)
            .iter()
            .all(|to| to.len(&function.dfg.value_lists) == 0);
        let (holds, go_on, leave) = match [yes, no].map(|to| leaves(function, to, exit)) {
            [false, true] => (true, yes, no),
            [true, false] => (false, no, yes),
            _ => return None,
        };
        plain.then_some(Guard { condition, holds, go_on, leave, inst })
    }

    /// The place in the program.
    pub(crate) fn place(&self, function: &Function) -> SourceLoc {
        function.srcloc(self.inst)
    }

    /// Removes the guard.
    pub(crate) fn remove(self, function: &mut Function) {
        let mut at = FuncCursor::new(function).at_inst(self.inst);
        at.use_srcloc(self.inst);
        at.ins().jump(self.go_on, &[]);
        function.layout.remove_inst(self.inst);
    }

    /// Replaces the guard's condition.
    pub(crate) fn replace(self, function: &mut Function, make: impl FnOnce(&mut FuncCursor<'_>) -> Value) {
        let mut at = FuncCursor::new(function).at_inst(self.inst);
        at.use_srcloc(self.inst);
        let condition = make(&mut at);
        at.ins().brif(condition, self.go_on, &[], self.leave, &[]);
        function.layout.remove_inst(self.inst);
    }
}

/// Whether a block is the side exit or only jumps to it.
fn leaves(function: &Function, block: Block, exit: Block) -> bool {
    let only_jump = || match function.layout.first_inst(block) {
        Some(inst) => function.dfg.insts[inst].opcode() == Opcode::Jump,
        None => false,
    };
    block == exit || (only_jump() && successors(function, block) == [exit])
}
