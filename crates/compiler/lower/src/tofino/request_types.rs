//! Types of requests, such as `resubmit_type`, that are zero.
//!
//! The device looks at the validity of such a member of the metadata, which is valid once ingress or egress has written it, and
//! then at its value. A deparser that compares it with zero means both.

use std::collections::HashSet;

use hopwright_ir::{BinaryOp, Block, Expr, ExprKind, SlotId, SlotKind, Stmt, StmtKind, Type, walk};
use hopwright_sema::architecture::ParamRole;
use hopwright_source::Span;

use super::request::assigns;
use super::{Pipe, SlotSet, member_of};
use crate::Lowering;
use crate::value::binary;

const OF_INGRESS: [&str; 3] = ["resubmit_type", "digest_type", "mirror_type"];
const OF_EGRESS: [&str; 1] = ["mirror_type"];

impl Lowering<'_> {
    /// Makes a pipe's deparsers find a type equal to zero only if it was written.
    pub(super) fn types_of_requests(&mut self, pipe: &mut Pipe, span: Span) {
        for name in OF_INGRESS {
            let slot = member_of(self, &pipe.storage, &pipe.types, ParamRole::IngressForDeparser, name);
            self.type_of_request(slot, name, [&mut pipe.ingress, &mut pipe.ingress_deparser], span);
        }
        for name in OF_EGRESS {
            let slot = member_of(self, &pipe.storage, &pipe.types, ParamRole::EgressForDeparser, name);
            self.type_of_request(slot, name, [&mut pipe.egress, &mut pipe.egress_deparser], span);
        }
    }

    fn type_of_request(&mut self, slot: Option<SlotId>, name: &str, blocks: [&mut Block; 2], span: Span) {
        let [control, deparser] = blocks;
        let Some(slot) = slot.filter(|slot| compares_with_zero(deparser, *slot)) else { return };
        let written = self.new_slot(&format!("tofino.{name}_written"), Type::Bool, SlotKind::Metadata, span);
        let is_written = self.slot_expr(written, span);
        require(deparser, slot, &is_written);
        let wanted = HashSet::from([slot]);
        for block in std::iter::once(control).chain(self.actions.iter_mut().map(|action| &mut action.body)) {
            note_writes(block, &wanted, written);
        }
    }
}

fn is_comparison(expr: &Expr, slot: SlotId) -> bool {
    let is_slot = |e: &Expr| matches!(e.kind, ExprKind::Slot(read) if read == slot);
    let is_zero = |e: &Expr| e.as_const().is_some_and(|value| value.count_ones() == 0);
    match &expr.kind {
        ExprKind::Binary(BinaryOp::Eq, a, b) => is_slot(a) && is_zero(b) || is_slot(b) && is_zero(a),
        _ => false,
    }
}

fn compares_with_zero(deparser: &Block, slot: SlotId) -> bool {
    let mut found = false;
    walk::stmts(deparser, &mut |stmt| {
        for expr in walk::stmt_exprs(stmt) {
            walk::exprs(expr, &mut |e| found |= is_comparison(e, slot));
        }
    });
    found
}

/// Makes each comparison with zero one with what is written.
fn require(deparser: &mut Block, slot: SlotId, is_written: &Expr) {
    fn rewrite(expr: &mut Expr, slot: SlotId, is_written: &Expr) {
        walk::operands_mut(expr).into_iter().for_each(|operand| rewrite(operand, slot, is_written));
        if is_comparison(expr, slot) {
            *expr = binary(BinaryOp::LogicalAnd, is_written.clone(), expr.clone(), Type::Bool, expr.span);
        }
    }
    walk::stmts_mut(deparser, &mut |stmt| {
        walk::stmt_exprs_mut(stmt).into_iter().for_each(|expr| rewrite(expr, slot, is_written));
    });
}

/// Sets `written` behind each statement that writes a wanted slot.
pub(super) fn note_writes(block: &mut Block, wanted: &SlotSet, written: SlotId) {
    for mut stmt in std::mem::take(block) {
        walk::blocks_mut(&mut stmt).into_iter().for_each(|inner| note_writes(inner, wanted, written));
        let (writes, span) = (assigns(&stmt, wanted), stmt.span);
        block.push(stmt);
        if writes {
            block.push(Stmt { kind: StmtKind::Assign(written, Expr::boolean(true, span)), span });
        }
    }
}
