//! The control-flow graph of a function.

use std::collections::HashMap;

use cranelift_codegen::ir::{Block, Function, Inst};

/// The successors of a block, one for each edge.
pub(crate) fn successors(function: &Function, block: Block) -> Vec<Block> {
    let dfg = &function.dfg;
    let Some(last) = function.layout.last_inst(block) else { return Vec::new() };
    let to = dfg.insts[last].branch_destination(&dfg.jump_tables, &dfg.exception_tables);
    to.iter().map(|call| call.block(&dfg.value_lists)).collect()
}

/// The number of edges to each block that has any.
pub(crate) fn arrivals(function: &Function) -> HashMap<Block, u32> {
    let mut arrivals = HashMap::new();
    for to in function.layout.blocks().flat_map(|block| successors(function, block)) {
        *arrivals.entry(to).or_default() += 1;
    }
    arrivals
}

/// Visits the instructions along chains of blocks without joins. What is known, as the state says, begins anew at the entry and at
/// joins; behind a branch, each way goes on with what is known there.
pub(crate) fn along_chains<State: Clone + Default>(
    function: &mut Function,
    mut visit: impl FnMut(&mut Function, Inst, &mut State),
) {
    let arrivals = arrivals(function);
    let Some(entry) = function.layout.entry_block() else { return };
    let begins = |b: &Block| *b == entry || arrivals.get(b) != Some(&1);
    let mut work: Vec<(Block, State)> =
        function.layout.blocks().filter(begins).map(|block| (block, State::default())).collect();
    while let Some((block, mut state)) = work.pop() {
        for inst in function.layout.block_insts(block).collect::<Vec<_>>() {
            visit(function, inst, &mut state);
        }
        let next = successors(function, block).into_iter().filter(|to| !begins(to));
        work.extend(next.map(|to| (to, state.clone())));
    }
}
