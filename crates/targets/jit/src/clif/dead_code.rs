//! Dead-code elimination: removes instructions without effects whose results are unused. Unlike Cranelift, it also
//! removes loads.

use cranelift_codegen::ir::{Function, Inst, Opcode};

/// Runs the pass.
pub(crate) fn run(function: &mut Function) {
    let dfg = &function.dfg;
    let mut uses = vec![0u32; dfg.num_values()];
    let mut insts: Vec<Inst> = Vec::new();
    for block in function.layout.blocks() {
        for inst in function.layout.block_insts(block) {
            insts.push(inst);
            for value in dfg.inst_values(inst) {
                uses[dfg.resolve_aliases(value).as_u32() as usize] += 1;
            }
        }
    }
    // Operands precede their uses, except across back edges, which carry block parameters.
    let mut gone = Vec::new();
    for &inst in insts.iter().rev() {
        let used = dfg.inst_results(inst).iter().any(|v| uses[v.as_u32() as usize] > 0);
        if used || has_effects(function, inst) {
            continue;
        }
        for value in dfg.inst_values(inst) {
            uses[dfg.resolve_aliases(value).as_u32() as usize] -= 1;
        }
        gone.push(inst);
    }
    for inst in gone {
        function.layout.remove_inst(inst);
    }
}

fn has_effects(function: &Function, inst: Inst) -> bool {
    let data = &function.dfg.insts[inst];
    let op: Opcode = data.opcode();
    let notrap = data.memflags_data(&function.dfg).is_some_and(|flags| flags.notrap());
    op.is_call()
        || op.is_branch()
        || op.is_terminator()
        || op.is_return()
        || op.can_store()
        || op.other_side_effects()
        || (op.can_trap() && !notrap)
        || function.dfg.inst_results(inst).is_empty()
}
