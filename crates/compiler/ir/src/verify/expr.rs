//! Checks the types of expressions.

use super::Checker;
use crate::bits;
use crate::model::*;

impl Checker<'_> {
    /// Checks an expression and everything in it; ids are in range already.
    pub(super) fn expr(&mut self, e: &Expr, params: &[Param]) {
        self.span = e.span;
        match &e.kind {
            ExprKind::Const(value) => {
                self.require(bits::fits(value, e.ty.width()), || format!("{value} does not fit {}", e.ty));
                self.scalar(e);
            }
            ExprKind::Slot(slot) => {
                let ty = self.pipeline[*slot].ty;
                self.same(e.ty, ty, "a slot's value");
            }
            ExprKind::Param(index) => match params.get(*index as usize) {
                Some(param) => self.same(e.ty, param.ty, "a parameter's value"),
                None => self.error(format!("no parameter {index} here")),
            },
            ExprKind::Unary(op, a) => {
                self.expr(a, params);
                self.scalar(e);
                self.same(e.ty, a.ty, "a unary operation");
                let is_bool = e.ty == Type::Bool;
                self.require(is_bool == (*op == UnaryOp::Not), || format!("{op:?} of {}", e.ty));
            }
            ExprKind::Binary(op, a, b) => {
                self.expr(a, params);
                self.expr(b, params);
                self.binary(*op, e.ty, a.ty, b.ty);
            }
            ExprKind::Cast(a) => {
                self.expr(a, params);
                self.scalar(a);
                self.scalar(e);
                let legal = match (a.ty, e.ty) {
                    (Type::Bits(_), Type::Bits(_)) | (Type::Int(_), Type::Int(_)) | (Type::Bool, Type::Bool) => true,
                    (from, to) => from.width() == to.width(),
                };
                self.require(legal, || format!("no cast from {} to {}", a.ty, e.ty));
            }
            ExprKind::Slice { arg, hi, lo } => {
                self.expr(arg, params);
                self.number(arg.ty);
                let width = arg.ty.width();
                if lo > hi || *hi >= width {
                    self.error(format!("no bits {hi}..{lo} in {}", arg.ty));
                } else {
                    self.same(e.ty, Type::Bits(hi - lo + 1), "a slice");
                }
            }
            ExprKind::Mux(cond, then, otherwise) => {
                for part in [cond, then, otherwise] {
                    self.expr(part, params);
                }
                self.scalar(e);
                self.same(cond.ty, Type::Bool, "a condition");
                self.same(then.ty, e.ty, "a branch of a conditional");
                self.same(otherwise.ty, e.ty, "a branch of a conditional");
            }
            ExprKind::PacketLength => self.same(e.ty, Type::Bits(32), "the packet length"),
        }
    }

    fn binary(&mut self, op: BinaryOp, result: Type, left: Type, right: Type) {
        match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::SatAdd | BinaryOp::SatSub => {
                self.number(left);
                self.same(left, right, "operands");
                self.same(result, left, "a result");
            }
            BinaryOp::Div | BinaryOp::Mod => {
                self.require(matches!(left, Type::Bits(_)), || format!("division of {left}"));
                self.same(left, right, "operands");
                self.same(result, left, "a result");
            }
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                self.require(!matches!(left, Type::Varbit(_)), || "bit operation on a varbit".into());
                self.same(left, right, "operands");
                self.same(result, left, "a result");
            }
            BinaryOp::Shl | BinaryOp::Shr => {
                self.number(left);
                self.require(matches!(right, Type::Bits(_)), || format!("shift by {right}"));
                self.same(result, left, "a result");
            }
            BinaryOp::Eq | BinaryOp::Ne => {
                self.same(left, right, "operands");
                self.same(result, Type::Bool, "a comparison");
            }
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                self.number(left);
                self.same(left, right, "operands");
                self.same(result, Type::Bool, "a comparison");
            }
            BinaryOp::LogicalAnd | BinaryOp::LogicalOr => {
                for ty in [left, right, result] {
                    self.same(ty, Type::Bool, "a logical operation");
                }
            }
            BinaryOp::Concat => {
                self.number(left);
                self.number(right);
                let width = left.width() + right.width();
                let expected = match left {
                    Type::Int(_) => Type::Int(width),
                    _ => Type::Bits(width),
                };
                self.same(result, expected, "a concatenation");
            }
        }
    }

    fn number(&mut self, ty: Type) {
        self.require(matches!(ty, Type::Bits(_) | Type::Int(_)), || format!("{ty} where a number must be"));
    }

    fn scalar(&mut self, e: &Expr) {
        self.require(!matches!(e.ty, Type::Varbit(_)), || "a varbit that is no slot".into());
    }

    pub(super) fn same(&mut self, found: Type, expected: Type, what: &str) {
        self.require(found == expected, || format!("{what} of type {found} must be {expected}"));
    }
}
