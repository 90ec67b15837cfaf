//! What v1model's blocks do besides the program's text: after a parser that rejects, and for clones of egress.

use hopwright_ir::InstanceType;
use hopwright_ir::{BinaryOp, Block, Control, Expr, ExternFn, HeaderId, SlotId, SlotKind, Stmt, StmtKind, Type, walk};

use crate::storage::{Loc, Place};
use crate::value::{Value, binary, not};
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

    /// Clones of egress keep the packet's headers, and of the metadata those in their field list: all other headers become invalid, those
    /// that are local variables included. Which list a clone has goes with it, in all lists.
    pub(crate) fn forget_headers_of_clones(&mut self, packet: &Place, egress: &mut Control) -> Result<()> {
        let bodies = self.actions.iter().map(|action| &action.body).chain([&egress.body]);
        if !bodies.into_iter().any(clones_egress) {
            return Ok(());
        }
        let mut of_packet = Vec::new();
        self.headers_in(packet, &mut of_packet);
        let all = (0..self.headers.len() as u32).map(HeaderId);
        let headers: Vec<HeaderId> = all.filter(|header| !of_packet.contains(header)).collect();
        if headers.is_empty() {
            return Ok(());
        }
        let span = egress.span;
        let lists = |header: &HeaderId| {
            let valid = self.headers[header.index()].valid;
            self.field_lists.iter().filter(|list| list.slots.contains(&valid)).map(|list| list.index).collect()
        };
        let kept: Vec<Vec<u8>> = headers.iter().map(lists).collect();
        let number = (kept.iter().any(|lists| !lists.is_empty()))
            .then(|| self.new_slot("$cloned_list", Type::Bits(16), SlotKind::Metadata, span));
        if let Some(number) = number {
            self.field_lists.iter_mut().for_each(|list| list.slots.push(number));
            let bodies = self.actions.iter_mut().map(|action| &mut action.body).chain([&mut egress.body]);
            bodies.for_each(|body| note_lists(body, number));
        }
        let then = self.nested(|this| {
            for (header, lists) in headers.into_iter().zip(kept) {
                let forget = this.nested(|this| {
                    this.zero_fields(header, span);
                    this.emit(StmtKind::SetInvalid(header), span);
                    Ok(())
                })?;
                let in_list = number.and_then(|number| {
                    let is = |list: u8| this.is(number, u32::from(list) + 1, span);
                    lists.into_iter().map(is).reduce(|a, b| binary(BinaryOp::LogicalOr, a, b, Type::Bool, span))
                });
                match in_list {
                    Some(in_list) => this.branch(not(in_list, span), forget, Vec::new(), span),
                    None => this.block.extend(forget),
                }
            }
            Ok(())
        })?;
        let cond = self.is(self.standard_metadata().instance_type, InstanceType::EgressClone as u32, span);
        let stmt = Stmt { kind: StmtKind::If { cond, then, otherwise: Vec::new() }, span };
        egress.body.insert(0, stmt);
        Ok(())
    }
}

/// Writes the number of its list, counted from one, before each clone of egress that has one.
fn note_lists(body: &mut Block, number: SlotId) {
    for mut stmt in std::mem::take(body) {
        walk::blocks_mut(&mut stmt).into_iter().for_each(|inner| note_lists(inner, number));
        if let StmtKind::Extern(call) = &stmt.kind
            && let ExternFn::Clone { egress: true, field_list: Some(list) } = call.function
        {
            let value = Expr::constant(u32::from(list) + 1, Type::Bits(16), stmt.span);
            body.push(Stmt { kind: StmtKind::Assign(number, value), span: stmt.span });
        }
        body.push(stmt);
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
