//! The edges that lead to points whose code has yet to be emitted.

use std::collections::{BTreeMap, HashMap};

use cranelift_codegen::ir::Block;

use crate::emit::flow_state::FlowState;
use crate::emit::point::{Point, PointId};

/// An edge to a point: the block that leads there, and the state at its end.
pub(crate) struct Edge {
    pub block: Block,
    pub flow: FlowState,
}

/// Points that have yet to be emitted.
#[derive(Default)]
pub(crate) struct Schedule<'a> {
    pub pending: BTreeMap<PointId, (Point<'a>, Vec<Edge>)>,
    /// Code with a single copy, because back edges lead to it.
    pub once: HashMap<PointId, Block>,
    /// Blocks that may still get predecessors.
    pub open: Vec<Block>,
    pub blocks: usize,
}
