//! The control-flow graph of a function.

use std::collections::HashMap;

use cranelift_codegen::ir::{Block, Function};

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
