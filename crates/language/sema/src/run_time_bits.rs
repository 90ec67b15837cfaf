//! Assignments to bits at a position that is known only at run time, `place[position+:width] = value`: they replace the bits in
//! the whole value. The place and the position are fixed before the value is evaluated. Bits beyond the place are lost.

use hopwright_source::Span;
use hopwright_syntax::ast;
use num_bigint::BigInt;

use crate::analyser::Analyser;
use crate::hir::{self, BinaryOp, ExprKind, StmtKind};
use crate::types::Ty;
use crate::value::Typed;

impl<'a> Analyser<'a> {
    /// Checks the assignment `target = value`, or `target op= value`, whose target is [`crate::value::Place::RunTimeBits`].
    pub(crate) fn assign_bits(
        &mut self,
        target: Typed,
        op: Option<ast::BinaryOp>,
        value: Typed,
        span: Span,
    ) -> Option<StmtKind> {
        let Ty::Bits(width) = target.ty else { return None };
        let Some(Bits { mut place, position, whole }) = bits_of(target.hir) else {
            self.unsupported(span, "assigning to bits of bits at a run-time position is");
            return None;
        };
        let mut first = Vec::new();
        self.hoist_indexes(&mut place, &mut first);
        let position = self.keep("position", position, &mut first);
        let expr = |kind| hir::Expr { kind, ty: whole.clone(), span };
        let binary = |op, a, b| expr(ExprKind::Binary(op, Box::new(a), Box::new(b)));
        let cast = |e| expr(ExprKind::Cast(Box::new(e)));
        let value = match op {
            None => value,
            Some(op) => {
                let shifted = binary(BinaryOp::Shr, cast(place.clone()), position.clone());
                let current = self.computed(ExprKind::Cast(Box::new(shifted)), target.ty.clone(), span, false);
                self.binary_typed(op, current, value, span)
            }
        };
        let value = self.coerce(value, &target.ty);
        if value.is_err() {
            return None;
        }
        let value = self.keep("bits", value.hir, &mut first);
        let ones = expr(ExprKind::Int((BigInt::from(1) << width) - 1));
        let mask = binary(BinaryOp::Shl, ones, position.clone());
        let others = expr(ExprKind::Unary(hir::UnaryOp::BitNot, Box::new(mask)));
        let kept = binary(BinaryOp::BitAnd, cast(place.clone()), others);
        let new = binary(BinaryOp::Shl, cast(value), position);
        let all = binary(BinaryOp::BitOr, kept, new);
        let all = hir::Expr { kind: ExprKind::Cast(Box::new(all)), ty: place.ty.clone(), span };
        first.push(hir::Stmt { kind: StmtKind::Assign(place, all), span });
        Some(StmtKind::Block(first))
    }

    /// Declares a variable with this value, and returns a read of it.
    fn keep(&mut self, name: &str, value: hir::Expr, out: &mut Vec<hir::Stmt>) -> hir::Expr {
        let (ty, span) = (value.ty.clone(), value.span);
        self.out.vars.push(hir::Var { name: name.to_string(), ty: ty.clone(), span });
        let var = hir::VarId((self.out.vars.len() - 1) as u32);
        out.push(hir::Stmt { kind: StmtKind::Declare(var, Some(value)), span });
        hir::Expr { kind: ExprKind::Var(var), ty, span }
    }
}

/// Bits of a place.
struct Bits {
    place: hir::Expr,
    position: hir::Expr,
    /// The place's type, without sign.
    whole: hir::Type,
}

/// The parts of `(bit<N>) ((bit<W>) place >> position)`, the value of bits at a run-time position. `None` if the place is such
/// a value itself.
fn bits_of(value: hir::Expr) -> Option<Bits> {
    match value.kind {
        ExprKind::Cast(inner) => bits_of(*inner),
        ExprKind::Binary(BinaryOp::Shr, place, position) => {
            let mut place = *place;
            while let ExprKind::Cast(inner) = place.kind {
                place = *inner;
            }
            let is_value = matches!(place.kind, ExprKind::Binary(..));
            (!is_value).then_some(Bits { place, position: *position, whole: value.ty })
        }
        _ => None,
    }
}
