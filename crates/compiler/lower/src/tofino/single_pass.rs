//! Programs whose egress does nothing: packets need one pass only.
//!
//! A second pass costs as much as a packet that is received again. Many programs have an egress that extracts nothing from the packet,
//! does nothing and emits nothing, which leaves packets as they are: they leave after the first pass.

use std::collections::HashSet;

use hopwright_ir::{Block, HeaderId, Parser, SlotId, Stmt, StmtKind, Target, Transition, walk};

use super::{Pipe, request};
use crate::Lowering;

impl Lowering<'_> {
    /// Whether packets are the same after egress of this pipe.
    pub(super) fn egress_does_nothing(&self, pipe: &Pipe, prefix_bits: u32) -> bool {
        let prefix_bits = if self.reads_prefix(&pipe.parsers[1]) { prefix_bits } else { 0 };
        let Some(extracted) = self.extracts_prefix_only(&pipe.parsers[1], prefix_bits) else { return false };
        without_effect(&pipe.egress, &|_| false) && without_effect(&pipe.egress_deparser, &|h| !extracted.contains(&h))
    }

    /// Whether an egress parser has to do with the intrinsic metadata in front of the packet. Others begin behind it.
    pub(super) fn reads_prefix(&self, parser: &Parser) -> bool {
        let mut found = false;
        for state in &parser.states {
            walk::stmts(&state.body, &mut |stmt| {
                found |= match &stmt.kind {
                    StmtKind::Extract { header, .. } => {
                        self.headers[header.index()].type_name == "egress_intrinsic_metadata_t"
                    }
                    StmtKind::Advance { .. } => true,
                    _ => false,
                };
            });
        }
        found
    }

    /// The headers that a parser makes valid, if it takes no bit of the packet and has no choice.
    fn extracts_prefix_only(&self, parser: &Parser, mut left: u32) -> Option<HashSet<HeaderId>> {
        let mut extracted = HashSet::new();
        let mut at = parser.start;
        for _ in 0..=parser.states.len() {
            let state = &parser.states[at.0 as usize];
            for stmt in &state.body {
                match &stmt.kind {
                    StmtKind::Extract { header, varbit_bits: None } => {
                        left = left.checked_sub(self.headers[header.index()].fixed_bits)?;
                        extracted.insert(*header);
                    }
                    StmtKind::Assign(..) | StmtKind::AssignSlice { .. } | StmtKind::SetInvalid(_) => {}
                    _ => return None,
                }
            }
            match state.transition {
                Transition::Goto(Target::Accept) => return Some(extracted),
                Transition::Goto(Target::State(next)) => at = next,
                _ => return None,
            }
        }
        None
    }

    /// Whether a control or parser of a pipe, or an action, writes a slot.
    pub(super) fn writes(&self, pipe: &Pipe, slot: SlotId) -> bool {
        let wanted = HashSet::from([slot]);
        let states = pipe.parsers.iter().flat_map(|parser| &parser.states).map(|s| &s.body);
        let actions = self.actions.iter().map(|a| &a.body);
        let mut found = false;
        for block in [&pipe.ingress, &pipe.egress].into_iter().chain(states).chain(actions) {
            walk::stmts(block, &mut |stmt| {
                found |= request::assigns(stmt, &wanted);
                found |= matches!(&stmt.kind, StmtKind::Lookahead { parts, .. } if parts.iter().any(|p| p.0 == slot));
            });
        }
        found
    }
}

/// Takes the statements off a deparser that come before the first header is emitted, if nothing but headers comes then: they run where
/// v1model computes checksums. A deparser that only emits need not collect headers.
pub(super) fn before_emitting(deparser: &mut Block) -> Block {
    let first = deparser.iter().position(emits).unwrap_or(deparser.len());
    if deparser[first..].iter().any(|stmt| !matches!(stmt.kind, StmtKind::Emit(_))) {
        return Block::new();
    }
    let rest = deparser.split_off(first);
    std::mem::replace(deparser, rest)
}

fn emits(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::Emit(_)) || walk::blocks(stmt).into_iter().any(|block| block.iter().any(emits))
}

/// Whether a block consists of nothing but emitted headers that are not valid.
fn without_effect(block: &Block, invalid: &dyn Fn(HeaderId) -> bool) -> bool {
    block.iter().all(|stmt| match &stmt.kind {
        StmtKind::Scope { body, .. } => without_effect(body, invalid),
        StmtKind::Emit(header) => invalid(*header),
        _ => false,
    })
}
