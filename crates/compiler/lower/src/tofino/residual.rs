//! `subtract_all_and_deposit`: the sum of a `Checksum`, from which the headers that the parser extracts later are subtracted, too.
//!
//! A parser's states need not be lowered in the order in which they run, so that all calls of a parser are found before its states
//! are lowered. Each has a slot that says whether it was reached.

use hopwright_ir::{Expr, ExprKind, ExternArg, ExternFn, HeaderId, SlotId, SlotKind, StackId, StmtKind, Type, UnaryOp};
use hopwright_sema::hir;
use hopwright_source::Span;

use crate::externs::Arguments;
use crate::storage::Place;
use crate::{Lowering, Result};

/// A call in the parser that is being lowered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Residual {
    call: Span,
    /// Whether it was reached.
    reached: SlotId,
    sum: SlotId,
}

impl Lowering<'_> {
    /// Finds the calls of a parser.
    pub(super) fn find_residuals(&mut self, parser: hir::InstanceId) -> Result<()> {
        let program = self.program;
        if let Some(requests) = &mut self.requests {
            requests.residuals.clear();
        }
        if let hir::InstanceBody::Parser(states) = &program[parser].body {
            for stmt in states.iter().flat_map(|state| &state.body) {
                let hir::StmtKind::Call(call) = &stmt.kind else { continue };
                let target = call.args.first().and_then(|arg| arg.value.as_ref());
                let is = matches!(&call.callee, hir::Callee::Method(_, name) if name == "subtract_all_and_deposit");
                let Some(target) = target.filter(|target| is && is_of(target, &program[parser].params)) else {
                    continue;
                };
                let Some(Place::Scalar(sum)) = self.target(target)?.whole_place().cloned() else { continue };
                self.residual(sum, call.span);
            }
        }
        Ok(())
    }

    fn residual(&mut self, sum: SlotId, call: Span) -> Residual {
        let reached = self.new_slot("tofino.residual", Type::Bool, SlotKind::Local, call);
        let residual = Residual { call, reached, sum };
        if let Some(requests) = &mut self.requests {
            requests.residuals.push(residual);
        }
        residual
    }

    /// Lowers a call: deposits the sum so far.
    pub(super) fn deposit_residual(&mut self, sum: SlotId, call: &hir::Call) -> Result<()> {
        let span = call.span;
        let args = Arguments::new(self, call)?;
        let target = self.target(args.at(0)?)?;
        let known = self.requests.as_ref().and_then(|r| r.residuals.iter().find(|known| known.call == span)).copied();
        let known = match (known, target.whole_place()) {
            (Some(known), _) => known,
            // In a parser that another one calls: the states behind it follow.
            (None, Some(&Place::Scalar(sum))) => self.residual(sum, span),
            _ => return Err(self.unsupported(span, "a residual in this")),
        };
        let now = self.slot_expr(sum, span);
        self.store(&target, crate::value::Value::Scalar(now), span)?;
        self.emit(StmtKind::Assign(known.reached, Expr::boolean(true, span)), span);
        Ok(())
    }

    /// Behind the extraction of a header: subtracts it from the residuals that were deposited.
    pub(crate) fn subtract_extracted(&mut self, header: HeaderId, span: Span) -> Result<()> {
        let known = self.requests.as_ref().map(|r| r.residuals.clone()).unwrap_or_default();
        for Residual { reached, sum, .. } in known {
            let fields: Vec<SlotId> = self.headers[header.index()].fields.iter().map(|f| f.slot).collect();
            let subtract = self.nested(|this| {
                let word = Type::Bits(16);
                let complement =
                    |of: Expr| Expr { kind: ExprKind::Unary(UnaryOp::BitNot, Box::new(of)), ty: word, span };
                let checksum = this.temp(word, span);
                let now = complement(this.slot_expr(sum, span));
                this.emit(StmtKind::Assign(checksum, now), span);
                let removed = fields.iter().map(|slot| this.slot_expr(*slot, span)).collect();
                let args = vec![ExternArg::InOut(checksum), ExternArg::List(removed), ExternArg::List(Vec::new())];
                this.extern_call(ExternFn::AdjustChecksum, args, span);
                let now = complement(this.slot_expr(checksum, span));
                this.emit(StmtKind::Assign(sum, now), span);
                Ok(())
            })?;
            let reached = self.slot_expr(reached, span);
            self.branch(reached, subtract, Vec::new(), span);
        }
        Ok(())
    }

    /// The same for the next element of a stack, which has been extracted.
    pub(crate) fn subtract_next(&mut self, stack: StackId, span: Span) -> Result<()> {
        if self.requests.as_ref().is_none_or(|r| r.residuals.is_empty()) {
            return Ok(());
        }
        let (elements, next) = {
            let stack = &self.stacks[stack.index()];
            (stack.elements.clone(), stack.next_index)
        };
        for (at, element) in (1..).zip(elements) {
            let subtract = self.nested(|this| this.subtract_extracted(element, span))?;
            let is = self.is(next, at, span);
            self.branch(is, subtract, Vec::new(), span);
        }
        Ok(())
    }
}

/// Whether an expression is a member of a parameter.
fn is_of(e: &hir::Expr, params: &[hir::Param]) -> bool {
    match &e.kind {
        hir::ExprKind::Field(of, _) => is_of(of, params),
        hir::ExprKind::Var(var) => params.iter().any(|param| param.var == *var),
        _ => false,
    }
}
