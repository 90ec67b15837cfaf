//! Arithmetic on compile-time values by the rules of section 8 of the P4-16 specification.

use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

use crate::hir::BinaryOp;
use crate::types::{MAX_WIDTH, Ty};
use crate::value::Value;

/// Wraps a number to a type of fixed width.
pub(crate) fn wrap(value: &BigInt, ty: &Ty) -> BigInt {
    match ty {
        Ty::Bits(w) => value & mask(*w),
        Ty::Int(w) => {
            let low = value & mask(*w);
            if *w > 0 && low.bit(u64::from(*w) - 1) { low - (BigInt::one() << *w) } else { low }
        }
        _ => value.clone(),
    }
}

/// `w` ones.
pub(crate) fn mask(w: u32) -> BigInt {
    (BigInt::one() << w) - 1
}

/// Saturates a number to a type of fixed width.
fn saturate(value: BigInt, ty: &Ty) -> BigInt {
    let (low, high) = match ty {
        Ty::Bits(w) => (BigInt::zero(), mask(*w)),
        Ty::Int(w) => (-(BigInt::one() << (*w - 1)), (BigInt::one() << (*w - 1)) - 1),
        _ => return value,
    };
    value.clamp(low, high)
}

/// `l op r` for integers; `ty` is the type of the left operand.
pub(crate) fn integers(op: BinaryOp, l: &BigInt, r: &BigInt, ty: &Ty, result: &Ty) -> Result<Value, &'static str> {
    let int = |v: BigInt| {
        if v.bits() > 8 * u64::from(MAX_WIDTH) {
            Err("the result is too large")
        } else {
            Ok(Value::Int(wrap(&v, result)))
        }
    };
    match op {
        BinaryOp::Add => int(l + r),
        BinaryOp::Sub => int(l - r),
        BinaryOp::Mul => int(l * r),
        BinaryOp::Div | BinaryOp::Mod => {
            if r.is_zero() {
                Err("division by zero")
            } else if l.is_negative() || r.is_negative() {
                Err("division is not defined for negative numbers")
            } else if op == BinaryOp::Div {
                int(l / r)
            } else {
                int(l % r)
            }
        }
        BinaryOp::SatAdd => Ok(Value::Int(saturate(l + r, result))),
        BinaryOp::SatSub => Ok(Value::Int(saturate(l - r, result))),
        BinaryOp::BitAnd => int(l & r),
        BinaryOp::BitOr => int(l | r),
        BinaryOp::BitXor => int(l ^ r),
        BinaryOp::Shl => {
            if r.is_negative() {
                return Err("a shift by a negative number");
            }
            match (ty.width(), r.to_u32()) {
                (Some(w), Some(n)) if n < w => int(l << n),
                (Some(_), _) => Ok(Value::Int(BigInt::zero())),
                (None, Some(n)) if n <= 8 * MAX_WIDTH => int(l << n),
                (None, _) => Err("the result is too large"),
            }
        }
        BinaryOp::Shr => {
            if r.is_negative() {
                return Err("a shift by a negative number");
            }
            match r.to_u32() {
                Some(n) => int(l >> n),
                None if l.is_negative() => int(-BigInt::one()),
                None => int(BigInt::zero()),
            }
        }
        BinaryOp::Eq => Ok(Value::Bool(l == r)),
        BinaryOp::Ne => Ok(Value::Bool(l != r)),
        BinaryOp::Lt => Ok(Value::Bool(l < r)),
        BinaryOp::Le => Ok(Value::Bool(l <= r)),
        BinaryOp::Gt => Ok(Value::Bool(l > r)),
        BinaryOp::Ge => Ok(Value::Bool(l >= r)),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Concat => Err("not an operation on integers"),
    }
}

/// `l ++ r` where `r` has width `w`.
pub(crate) fn concat(l: &BigInt, r: &BigInt, w: u32, result: &Ty) -> BigInt {
    wrap(&((l << w) | (r & mask(w))), result)
}

/// Bits `hi` to `lo`.
pub(crate) fn slice(v: &BigInt, hi: u32, lo: u32) -> BigInt {
    (v >> lo) & mask(hi - lo + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(op: BinaryOp, l: i64, r: i64, ty: Ty) -> Result<Value, &'static str> {
        integers(op, &l.into(), &r.into(), &ty, &ty)
    }

    fn int(v: i64) -> Result<Value, &'static str> {
        Ok(Value::Int(v.into()))
    }

    #[test]
    fn fixed_width_wraps_and_saturates() {
        assert_eq!(eval(BinaryOp::Add, 255, 1, Ty::Bits(8)), int(0));
        assert_eq!(eval(BinaryOp::Add, 127, 1, Ty::Int(8)), int(-128));
        assert_eq!(eval(BinaryOp::Sub, 0, 1, Ty::Bits(4)), int(15));
        assert_eq!(eval(BinaryOp::SatAdd, 255, 1, Ty::Bits(8)), int(255));
        assert_eq!(eval(BinaryOp::SatSub, 0, 1, Ty::Bits(8)), int(0));
        assert_eq!(eval(BinaryOp::SatSub, -128, 1, Ty::Int(8)), int(-128));
        assert_eq!(eval(BinaryOp::Add, 255, 1, Ty::InfInt), int(256));
    }

    #[test]
    fn shifts_follow_the_sign_and_the_width() {
        assert_eq!(eval(BinaryOp::Shl, 1, 8, Ty::Bits(8)), int(0));
        assert_eq!(eval(BinaryOp::Shr, -8, 1, Ty::Int(8)), int(-4));
        assert_eq!(eval(BinaryOp::Shr, -8, 100, Ty::Int(8)), int(-1));
        assert!(eval(BinaryOp::Shl, 1, -1, Ty::Bits(8)).is_err());
        assert!(eval(BinaryOp::Shl, 1, 1 << 40, Ty::InfInt).is_err());
    }

    #[test]
    fn division_is_for_positive_numbers() {
        assert_eq!(eval(BinaryOp::Div, 7, 2, Ty::InfInt), int(3));
        assert_eq!(eval(BinaryOp::Mod, 7, 2, Ty::InfInt), int(1));
        assert!(eval(BinaryOp::Div, 7, 0, Ty::InfInt).is_err());
        assert!(eval(BinaryOp::Mod, -7, 2, Ty::InfInt).is_err());
    }

    #[test]
    fn concatenation_and_slices_cut_bits() {
        let v = concat(&0xa.into(), &BigInt::from(-1), 4, &Ty::Bits(8));
        assert_eq!(v, 0xaf.into());
        assert_eq!(slice(&0xabcd.into(), 11, 4), 0xbc.into());
    }
}
