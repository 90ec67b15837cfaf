//! What v1model's blocks do besides the program's text: after a parser that rejects, and for clones of egress.

use std::collections::HashSet;

use hopwright_ir::interp::InstanceType;
use hopwright_ir::{Block, Control, ExternFn, SlotId, StmtKind, walk};

use crate::storage::{Loc, Place};
use crate::value::Value;
use crate::{Lowering, Result};

impl Lowering<'_> {
    /// Copies the parameters of sub-parsers that rejected the packet out, before the first control: what a parser has extracted
    /// or assigned stays, whether its parameters are copies or not. Inner parsers come first.
    pub(crate) fn finish_rejected(&mut self, first: &mut Control) -> Result<()> {
        let unfinished = std::mem::take(&mut self.unfinished);
        let span = first.span;
        let copies = self.nested(|this| {
            for (running, copy_outs) in unfinished.into_iter().rev() {
                let cond = this.slot_expr(running, span);
                let then = this.nested(|this| {
                    copy_outs
                        .iter()
                        .try_for_each(|(target, place)| this.store(target, Value::Loc(Loc::Place(place.clone())), span))
                })?;
                this.emit(StmtKind::If { cond, then, otherwise: Vec::new() }, span);
            }
            Ok(())
        })?;
        first.body.splice(0..0, copies);
        Ok(())
    }

    /// Clones of egress keep only metadata that are in a field list: headers in the metadata that are in none become invalid.
    pub(crate) fn forget_headers_of_clones(&mut self, metadata: &Place, egress: &mut Control) -> Result<()> {
        let kept: HashSet<SlotId> = self.field_lists.iter().flat_map(|list| &list.slots).copied().collect();
        let mut headers = Vec::new();
        self.headers_in(metadata, &mut headers);
        headers.retain(|h| !kept.contains(&self.headers[h.index()].valid));
        let bodies = self.actions.iter().map(|action| &action.body).chain([&egress.body]);
        if headers.is_empty() || !bodies.into_iter().any(clones_egress) {
            return Ok(());
        }
        let span = egress.span;
        let then = self.nested(|this| {
            for header in headers {
                for slot in this.headers[header.index()].fields.iter().map(|f| f.slot).collect::<Vec<_>>() {
                    let zero = this.zero_expr(this.slots[slot.index()].ty, span);
                    this.emit(StmtKind::Assign(slot, zero), span);
                }
                this.emit(StmtKind::SetInvalid(header), span);
            }
            Ok(())
        })?;
        let cond = self.is(self.standard_metadata().instance_type, InstanceType::EgressClone as u32, span);
        let stmt = hopwright_ir::Stmt { kind: StmtKind::If { cond, then, otherwise: Vec::new() }, span };
        egress.body.insert(0, stmt);
        Ok(())
    }
}

fn clones_egress(body: &Block) -> bool {
    let mut clones = false;
    walk::stmts(body, &mut |stmt| {
        if let StmtKind::Extern(call) = &stmt.kind {
            clones |= matches!(call.function, ExternFn::Clone { egress: true, .. });
        }
    });
    clones
}
