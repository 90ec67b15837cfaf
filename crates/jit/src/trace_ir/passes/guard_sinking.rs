//! Guard sinking: guards that depend on an encrypted block move to the end of traces. Packets that fail other guards then leave before
//! anything is encrypted, and all blocks of a packet are encrypted at once.

use crate::trace_ir::values::{Invariance, ValueId, Values};
use crate::trace_ir::{End, Guard, NodeId, TraceIr};

/// Runs the pass.
pub(super) fn run(ir: &mut TraceIr) {
    let is_after_cipher = |values: &Values, v: ValueId| values[v].invariance == Invariance::AfterCipher;
    let mut work: Vec<(NodeId, Vec<Guard>)> = vec![(NodeId(0), Vec::new())];
    while let Some((id, mut sinking)) = work.pop() {
        let values = &ir.values;
        let node = &mut ir.nodes[id.index()];
        sinking.extend(node.guards.extract_if(.., |guard| is_after_cipher(values, guard.condition)));
        match &node.end {
            // Packets leave anyway.
            End::Exit { .. } => {}
            End::Branch { condition, yes, no, .. } if !is_after_cipher(values, *condition) => {
                work.extend([(*yes, sinking.clone()), (*no, sinking)]);
            }
            end => {
                work.extend(end.targets().map(|target| (target, Vec::new())));
                node.guards.extend(sinking);
            }
        }
    }
}
