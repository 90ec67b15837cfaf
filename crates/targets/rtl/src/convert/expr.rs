//! Expressions.

use hopwright_ir::{BinaryOp, Expr, ExprKind, Type, UnaryOp};
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive};

use super::{Convert, Path};
use crate::hir::{Binary, Value};
use crate::refusal::Capability;

/// The most bits of a dividend that is divided by something else than a constant power of two.
pub(super) const MAX_DIVISION: u32 = 128;

impl Convert<'_> {
    pub(super) fn expr(&mut self, e: &Expr, path: &Path) -> Value {
        let outer = std::mem::replace(&mut self.b.span, e.span);
        let value = self.kind(e, path);
        self.b.span = outer;
        value
    }

    fn kind(&mut self, e: &Expr, path: &Path) -> Value {
        match &e.kind {
            ExprKind::Const(bits) => self.b.constant(bits.clone(), e.ty.width()),
            ExprKind::Slot(slot) => path.slots[slot.index()],
            ExprKind::Param(index) => self.params[*index as usize],
            ExprKind::Unary(op, a) => {
                let a = self.expr(a, path);
                match op {
                    UnaryOp::BitNot | UnaryOp::Not => self.b.not(a),
                    UnaryOp::Neg => {
                        let zero = self.b.constant(0u32, e.ty.width());
                        self.b.binary(Binary::Sub, zero, a)
                    }
                }
            }
            ExprKind::Binary(op, a, b) => {
                if matches!(a.ty, Type::Varbit(_)) {
                    let (x, y) = (self.expr(a, path), self.expr(b, path));
                    let equal = self.equal_varbits(x, y, a.ty, e.span);
                    return if *op == BinaryOp::Ne { self.b.not(equal) } else { equal };
                }
                let (x, y) = (self.expr(a, path), self.expr(b, path));
                self.operation(*op, x, y, e, a)
            }
            ExprKind::Cast(a) => {
                let value = self.expr(a, path);
                match (a.ty, e.ty) {
                    (Type::Varbit(_), Type::Varbit(_)) => value,
                    (Type::Varbit(_), _) | (_, Type::Varbit(_)) => {
                        self.refuse(Capability::Varbit, e.span, "a varbit cannot be converted");
                        self.b.constant(0u32, e.ty.width())
                    }
                    (Type::Int(_), _) => self.b.resize_signed(value, e.ty.width()),
                    _ => self.b.resize(value, e.ty.width()),
                }
            }
            ExprKind::Slice { arg, hi, lo } => {
                let value = self.expr(arg, path);
                self.b.slice(value, *hi, *lo)
            }
            ExprKind::Mux(cond, then, otherwise) => {
                let cond = self.expr(cond, path);
                let (then, otherwise) = (self.expr(then, path), self.expr(otherwise, path));
                self.b.mux(cond, then, otherwise)
            }
            ExprKind::PacketLength => self.packet_length(),
        }
    }

    fn operation(&mut self, op: BinaryOp, x: Value, y: Value, e: &Expr, left: &Expr) -> Value {
        let signed = matches!(left.ty, Type::Int(_));
        let less = if signed { Binary::LessSigned } else { Binary::Less };
        let b = &mut self.b;
        match op {
            BinaryOp::Add => b.binary(Binary::Add, x, y),
            BinaryOp::Sub => b.binary(Binary::Sub, x, y),
            BinaryOp::Mul => b.binary(Binary::Mul, x, y),
            BinaryOp::And | BinaryOp::LogicalAnd => b.and(x, y),
            BinaryOp::Or | BinaryOp::LogicalOr => b.or(x, y),
            BinaryOp::Xor => b.binary(Binary::Xor, x, y),
            BinaryOp::Shl => b.binary(Binary::Shl, x, y),
            BinaryOp::Shr if signed => b.binary(Binary::ShrSigned, x, y),
            BinaryOp::Shr => b.binary(Binary::Shr, x, y),
            BinaryOp::Eq => b.eq(x, y),
            BinaryOp::Ne => {
                let eq = b.eq(x, y);
                b.not(eq)
            }
            BinaryOp::Lt => b.binary(less, x, y),
            BinaryOp::Gt => b.binary(less, y, x),
            BinaryOp::Le => {
                let more = b.binary(less, y, x);
                b.not(more)
            }
            BinaryOp::Ge => {
                let fewer = b.binary(less, x, y);
                b.not(fewer)
            }
            BinaryOp::Concat => b.concat(vec![x, y]),
            BinaryOp::SatAdd | BinaryOp::SatSub => self.saturating(op == BinaryOp::SatAdd, signed, x, y),
            BinaryOp::Div | BinaryOp::Mod => self.division(op == BinaryOp::Div, x, y, e),
        }
    }

    fn saturating(&mut self, add: bool, signed: bool, x: Value, y: Value) -> Value {
        let b = &mut self.b;
        let width = b.width(x);
        let op = if add { Binary::Add } else { Binary::Sub };
        let (x, y) = if signed {
            (b.resize_signed(x, width + 1), b.resize_signed(y, width + 1))
        } else {
            (b.resize(x, width + 1), b.resize(y, width + 1))
        };
        let exact = b.binary(op, x, y);
        let result = b.slice(exact, width - 1, 0);
        let top = b.slice(exact, width, width);
        if signed {
            // Out of range if the two highest bits differ; then the highest one is the sign.
            let sign = b.slice(exact, width - 1, width - 1);
            let beyond = b.binary(Binary::Xor, top, sign);
            let half = BigUint::one() << (width - 1);
            let (lowest, highest) = (b.constant(half.clone(), width), b.constant(half - 1u32, width));
            let end = b.mux(top, lowest, highest);
            b.mux(beyond, end, result)
        } else {
            let end = if add { hopwright_ir::bits::mask(width) } else { BigUint::ZERO };
            let end = b.constant(end, width);
            b.mux(top, end, result)
        }
    }

    fn division(&mut self, quotient: bool, x: Value, y: Value, e: &Expr) -> Value {
        let width = self.b.width(x);
        let power = self.b.as_const(y).filter(|c| c.count_ones() == 1).map(|c| c.bits() as u32 - 1);
        match power {
            Some(power) if quotient => {
                let by = self.b.constant(power, 32);
                self.b.binary(Binary::Shr, x, by)
            }
            Some(power) => {
                let low = self.b.resize(x, power);
                self.b.resize(low, width)
            }
            None => {
                let zero = self.b.as_const(y).and_then(|c| c.to_u32()) == Some(0);
                let (a, c) = (self.b.as_const(x).cloned(), self.b.as_const(y).cloned());
                if let (Some(a), Some(c), false) = (a, c, zero) {
                    return self.b.constant(if quotient { a / c } else { a % c }, width);
                }
                if zero {
                    // By zero gives zero.
                    return self.b.constant(0u32, width);
                }
                if width > MAX_DIVISION {
                    let message = format!("operands of {width} bits, of at most {MAX_DIVISION}");
                    self.refuse(Capability::Division, e.span, message);
                    return self.b.constant(0u32, width);
                }
                let (all, rest) = self.divide(x, y);
                let result = if quotient { all } else { rest };
                self.b.resize(result, width)
            }
        }
    }

    /// Quotient and remainder, one bit of the quotient after the other: a row of subtractions. Both are zero if the divisor is.
    pub(super) fn divide(&mut self, x: Value, y: Value) -> (Value, Value) {
        let b = &mut self.b;
        // A constant has as many bits as are needed.
        let bits = b.as_const(y).map_or(b.width(y), |c| c.bits() as u32).max(1);
        let divisor = b.resize(y, bits + 1);
        let mut rest = b.constant(0u32, bits + 1);
        let mut quotient = Vec::new();
        for at in (0..b.width(x)).rev() {
            // What is left is less than the divisor.
            let (left, next) = (b.slice(rest, bits - 1, 0), b.slice(x, at, at));
            let row = b.concat(vec![left, next]);
            let less = b.binary(Binary::Less, row, divisor);
            let difference = b.binary(Binary::Sub, row, divisor);
            rest = b.mux(less, row, difference);
            quotient.push(b.not(less));
        }
        let quotient = b.concat(quotient);
        let rest = b.slice(rest, bits - 1, 0);
        let by_zero = b.eq_const(y, 0u32);
        let (none, nothing) = (b.constant(0u32, b.width(quotient)), b.constant(0u32, bits));
        (b.mux(by_zero, none, quotient), b.mux(by_zero, nothing, rest))
    }
}
