//! Numbers as BMv2 computes them: exact, of any size, until they are stored.
//!
//! A [`Number`] is a tree whose leaves have fixed widths. Its range decides how many bits hold its exact value. Where only the lowest
//! bits count, as in a store, [`Number::low_bits`] computes no others.

use hopwright_ir::bits;
use hopwright_ir::{BinaryOp, Expr, ExprKind, Span, Type, UnaryOp};
use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{One, Signed, ToPrimitive, Zero};

use crate::{Reader, Result, constant, error};

/// Numbers whose exact value may have more bits than this can only be used where their lowest bits count.
const MAX_EXACT: u64 = 1 << 14;

/// An exact number.
#[derive(Clone, Debug)]
pub(crate) struct Number {
    kind: Kind,
    /// The least and the greatest value; `None` if these are too large.
    range: Option<(BigInt, BigInt)>,
}

#[derive(Clone, Debug)]
enum Kind {
    /// The value of a `bit` or `int`.
    Leaf(Expr),
    Constant(BigInt),
    Binary(Operator, Box<Number>, Box<Number>),
    /// Complement, of infinitely many bits.
    Not(Box<Number>),
    /// The signed value of the lowest bits.
    Wrap(Box<Number>, u32),
    Mux(Box<Expr>, Box<Number>, Box<Number>),
}

/// The operators on numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    And,
    Or,
    Xor,
    Shl,
    Shr,
}

impl Operator {
    pub(crate) fn by_name(name: &str) -> Option<Operator> {
        Some(match name {
            "+" => Operator::Add,
            "-" => Operator::Sub,
            "*" => Operator::Mul,
            "/" => Operator::Div,
            "%" => Operator::Mod,
            "&" => Operator::And,
            "|" => Operator::Or,
            "^" => Operator::Xor,
            "<<" => Operator::Shl,
            ">>" => Operator::Shr,
            _ => return None,
        })
    }

    fn of_ir(self) -> BinaryOp {
        match self {
            Operator::Add => BinaryOp::Add,
            Operator::Sub => BinaryOp::Sub,
            Operator::Mul => BinaryOp::Mul,
            Operator::Div => BinaryOp::Div,
            Operator::Mod => BinaryOp::Mod,
            Operator::And => BinaryOp::And,
            Operator::Or => BinaryOp::Or,
            Operator::Xor => BinaryOp::Xor,
            Operator::Shl => BinaryOp::Shl,
            Operator::Shr => BinaryOp::Shr,
        }
    }
}

impl Number {
    pub(crate) fn constant(value: impl Into<BigInt>) -> Number {
        let value = value.into();
        Number { range: Some((value.clone(), value.clone())), kind: Kind::Constant(value) }
    }

    /// The value of an expression of type `bit`, `int` or `bool`.
    pub(crate) fn leaf(expr: Expr) -> Number {
        let (low, high) = match expr.ty {
            Type::Int(width) => {
                let half = BigInt::one() << (width - 1);
                (-half.clone(), half - 1)
            }
            ty => (BigInt::zero(), BigInt::from(bits::mask(ty.width()))),
        };
        match expr.as_const() {
            Some(value) if !matches!(expr.ty, Type::Int(_)) => Number::constant(value.clone()),
            _ => Number { kind: Kind::Leaf(expr), range: Some((low, high)) },
        }
    }

    /// The value of an expression that is at most `most`.
    pub(crate) fn leaf_up_to(expr: Expr, most: usize) -> Number {
        Number { range: Some((BigInt::zero(), most.into())), ..Number::leaf(expr) }
    }

    pub(crate) fn binary(op: Operator, a: Number, b: Number) -> Number {
        let range = range_of(op, &a, &b).filter(|(low, high)| low.bits().max(high.bits()) <= MAX_EXACT);
        if let (Kind::Constant(x), Kind::Constant(y)) = (&a.kind, &b.kind) {
            match op {
                Operator::Add => return Number::constant(x + y),
                Operator::Sub => return Number::constant(x - y),
                _ => {}
            }
        }
        Number { kind: Kind::Binary(op, Box::new(a), Box::new(b)), range }
    }

    pub(crate) fn not(a: Number) -> Number {
        let range = a.range.as_ref().map(|(low, high)| (-high - 1, -low - 1));
        Number { kind: Kind::Not(Box::new(a)), range }
    }

    /// The signed value of the lowest `width` bits, from 1.
    pub(crate) fn wrap(a: Number, width: u32) -> Number {
        let half = BigInt::one() << (width - 1);
        Number { kind: Kind::Wrap(Box::new(a), width), range: Some((-half.clone(), half - 1)) }
    }

    pub(crate) fn mux(cond: Expr, a: Number, b: Number) -> Number {
        let range = match (&a.range, &b.range) {
            (Some((la, ha)), Some((lb, hb))) => Some((la.min(lb).clone(), ha.max(hb).clone())),
            _ => None,
        };
        Number { kind: Kind::Mux(Box::new(cond), Box::new(a), Box::new(b)), range }
    }

    /// The value, if it is a constant.
    pub(crate) fn as_constant(&self) -> Option<&BigInt> {
        match &self.kind {
            Kind::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// The expression and its type, if the number is a plain value.
    pub(crate) fn as_leaf(&self) -> Option<&Expr> {
        match &self.kind {
            Kind::Leaf(expr) => Some(expr),
            _ => None,
        }
    }

    fn is_negative_never(&self) -> bool {
        self.range.as_ref().is_some_and(|(low, _)| !low.is_negative())
    }

    /// The smallest type that holds the exact value.
    fn exact_type(&self, path: &str) -> Result<Type> {
        match &self.range {
            None => error(path, format!("a number that may have more than {MAX_EXACT} bits")),
            Some((low, high)) if low.is_negative() => Ok(Type::Int(signed_bits(low, high))),
            Some((_, high)) => Ok(Type::Bits((high.bits() as u32).max(1))),
        }
    }

    /// The exact value, as `bit`, or as `int` if it may be negative.
    pub(crate) fn exact(&self, path: &str) -> Result<Expr> {
        let ty = self.exact_type(path)?;
        Ok(cast(self.low_bits(ty.width(), path)?, ty))
    }

    /// The lowest bits, as `bit<width>`.
    pub(crate) fn low_bits(&self, width: u32, path: &str) -> Result<Expr> {
        Ok(match &self.kind {
            Kind::Leaf(expr) => resize(expr.clone(), width),
            Kind::Constant(value) => constant(bits::from_signed(value, width), width),
            Kind::Not(a) => unary(UnaryOp::BitNot, a.low_bits(width, path)?),
            Kind::Wrap(a, signed) => resize(cast(a.low_bits(*signed, path)?, Type::Int(*signed)), width),
            Kind::Mux(cond, a, b) => {
                let kind =
                    ExprKind::Mux(cond.clone(), Box::new(a.low_bits(width, path)?), Box::new(b.low_bits(width, path)?));
                Expr { kind, ty: Type::Bits(width), span: Span::none() }
            }
            Kind::Binary(Operator::And, a, b) => return masked(a, b, width, path),
            Kind::Binary(Operator::Shl, a, b) => {
                let amount = b.amount(path)?;
                binary(BinaryOp::Shl, a.low_bits(width, path)?, amount, Type::Bits(width))
            }
            Kind::Binary(Operator::Shr, a, b) => {
                let (value, amount) = (a.exact(path)?, b.amount(path)?);
                let ty = value.ty;
                resize(binary(BinaryOp::Shr, value, amount, ty), width)
            }
            Kind::Binary(op @ (Operator::Div | Operator::Mod), a, b) => {
                if !a.is_negative_never() || !b.is_negative_never() {
                    return error(path, "a division of a number that may be negative");
                }
                let needed = a.exact_type(path)?.width().max(b.exact_type(path)?.width());
                let ty = Type::Bits(needed);
                resize(binary(op.of_ir(), a.low_bits(needed, path)?, b.low_bits(needed, path)?, ty), width)
            }
            Kind::Binary(op, a, b) => {
                binary(op.of_ir(), a.low_bits(width, path)?, b.low_bits(width, path)?, Type::Bits(width))
            }
        })
    }

    /// The value as the amount of a shift.
    fn amount(&self, path: &str) -> Result<Expr> {
        match self.is_negative_never() {
            true => self.exact(path),
            false => error(path, "a shift by a number that may be negative"),
        }
    }

    /// A comparison of the exact values.
    pub(crate) fn compare(op: BinaryOp, a: &Number, b: &Number, path: &str) -> Result<Expr> {
        let (Some((la, ha)), Some((lb, hb))) = (&a.range, &b.range) else {
            return error(path, format!("a comparison of a number that may have more than {MAX_EXACT} bits"));
        };
        let (low, high) = (la.min(lb), ha.max(hb));
        let ty = match low.is_negative() {
            true => Type::Int(signed_bits(low, high)),
            false => Type::Bits((high.bits() as u32).max(1)),
        };
        let operand = |n: &Number| Ok(cast(n.low_bits(ty.width(), path)?, ty));
        Ok(binary(op, operand(a)?, operand(b)?, Type::Bool))
    }

    /// The two numbers of a sum or difference that fit a type.
    fn saturated_parts(&self, ty: Type) -> Option<(BinaryOp, &Number, &Number)> {
        let Kind::Binary(op, a, b) = &self.kind else { return None };
        let op = match op {
            Operator::Add => BinaryOp::SatAdd,
            Operator::Sub => BinaryOp::SatSub,
            _ => return None,
        };
        let (least, most) = bounds_of(ty);
        let fits = |n: &Number| n.range.as_ref().is_some_and(|(low, high)| *low >= least && *high <= most);
        (fits(a) && fits(b)).then_some((op, &**a, &**b))
    }
}

impl Reader<'_> {
    /// The number brought into the range of a type.
    pub(crate) fn saturate(&mut self, number: Number, ty: Type, path: &str) -> Result<Number> {
        let width = ty.width();
        if let Some((op, a, b)) = number.saturated_parts(ty) {
            let operand = |n: &Number| Ok(cast(n.low_bits(width, path)?, ty));
            return Ok(Number::leaf(binary(op, operand(a)?, operand(b)?, ty)));
        }
        let (least, most) = bounds_of(ty);
        let range = number.range.clone();
        let value = self.shared(number.exact(path)?);
        let value = Number { kind: Kind::Leaf(value), range };
        let (least, most) = (Number::constant(least), Number::constant(most));
        let below = Number::compare(BinaryOp::Lt, &value, &least, path)?;
        let above = Number::compare(BinaryOp::Gt, &value, &most, path)?;
        let mut result = Number::mux(below, least, Number::mux(above, most, value));
        result.range = Some(bounds_of(ty));
        Ok(result)
    }
}

fn bounds_of(ty: Type) -> (BigInt, BigInt) {
    match ty {
        Type::Int(width) => {
            let half = BigInt::one() << (width - 1);
            (-half.clone(), half - 1)
        }
        ty => (BigInt::zero(), BigInt::from(bits::mask(ty.width()))),
    }
}

/// `a & b`. A mask that is a constant limits the bits that are computed.
fn masked(a: &Number, b: &Number, width: u32, path: &str) -> Result<Expr> {
    let mask = |n: &Number| n.as_constant().filter(|c| c.sign() == Sign::Plus).and_then(BigInt::to_biguint);
    let (value, mask) = match (mask(a), mask(b)) {
        (_, Some(mask)) => (a, mask),
        (Some(mask), None) => (b, mask),
        (None, None) => {
            let ty = Type::Bits(width);
            return Ok(binary(BinaryOp::And, a.low_bits(width, path)?, b.low_bits(width, path)?, ty));
        }
    };
    let needed = (mask.bits() as u32).min(width).max(1);
    let low = value.low_bits(needed, path)?;
    let ones = bits::mask(needed);
    let mask = mask & &ones;
    let result = match mask == ones {
        true => low,
        false => binary(BinaryOp::And, low, constant(mask, needed), Type::Bits(needed)),
    };
    Ok(resize(result, width))
}

/// The bits of the two's complement of all numbers of a range.
fn signed_bits(low: &BigInt, high: &BigInt) -> u32 {
    let bits = |n: &BigInt| if n.is_negative() { (-n - 1i32).bits() } else { n.bits() };
    bits(low).max(bits(high)) as u32 + 1
}

fn range_of(op: Operator, a: &Number, b: &Number) -> Option<(BigInt, BigInt)> {
    let natural = |n: &Number| n.range.as_ref().filter(|(low, _)| !low.is_negative()).map(|(_, high)| high.clone());
    if op == Operator::And {
        // A number that is not negative limits the result, however large the other one may be.
        return match (natural(a), natural(b)) {
            (Some(x), Some(y)) => Some((BigInt::zero(), x.min(y))),
            (Some(x), None) | (None, Some(x)) => Some((BigInt::zero(), x)),
            (None, None) => bitwise(a, b),
        };
    }
    let ((la, ha), (lb, hb)) = (a.range.as_ref()?, b.range.as_ref()?);
    match op {
        Operator::Add => Some((la + lb, ha + hb)),
        Operator::Sub => Some((la - hb, ha - lb)),
        Operator::Mul => {
            let products = [la * lb, la * hb, ha * lb, ha * hb];
            Some((products.iter().min()?.clone(), products.iter().max()?.clone()))
        }
        Operator::Div => Some((BigInt::zero(), natural(a)?)),
        Operator::Mod => Some((BigInt::zero(), natural(a)?.min(natural(b)?))),
        Operator::And | Operator::Or | Operator::Xor => bitwise(a, b),
        Operator::Shl => {
            let most = natural(b)?.to_u64().filter(|most| *most <= MAX_EXACT)?;
            let least = lb.to_u64()?;
            let low = if la.is_negative() { la << most } else { la << least };
            let high = if ha.is_negative() { ha << least } else { ha << most };
            Some((low, high))
        }
        Operator::Shr => {
            natural(b)?;
            Some((la.min(&BigInt::zero()).clone(), ha.max(&-BigInt::one()).clone()))
        }
    }
}

/// The range of a bitwise combination.
fn bitwise(a: &Number, b: &Number) -> Option<(BigInt, BigInt)> {
    let ((la, ha), (lb, hb)) = (a.range.as_ref()?, b.range.as_ref()?);
    if !la.is_negative() && !lb.is_negative() {
        return Some((BigInt::zero(), (BigInt::one() << ha.bits().max(hb.bits())) - 1));
    }
    let half = BigInt::one() << (signed_bits(la.min(lb), ha.max(hb)) - 1);
    Some((-half.clone(), half - 1))
}

/// Reinterprets a `bit` or `int` as a type of the same width; a cast otherwise.
pub(crate) fn cast(expr: Expr, ty: Type) -> Expr {
    match expr.ty == ty {
        true => expr,
        false => Expr { kind: ExprKind::Cast(Box::new(expr)), ty, span: Span::none() },
    }
}

/// The value as `bit<width>`: an `int` is sign-extended, anything else zero-extended, and too wide a value truncated.
pub(crate) fn resize(expr: Expr, width: u32) -> Expr {
    match expr.ty {
        Type::Int(own) if own < width => cast(cast(expr, Type::Int(width)), Type::Bits(width)),
        Type::Int(own) => cast(cast(expr, Type::Bits(own)), Type::Bits(width)),
        Type::Bool => cast(cast(expr, Type::Bits(1)), Type::Bits(width)),
        _ => cast(expr, Type::Bits(width)),
    }
}

pub(crate) fn unary(op: UnaryOp, a: Expr) -> Expr {
    let ty = a.ty;
    Expr { kind: ExprKind::Unary(op, Box::new(a)), ty, span: Span::none() }
}

pub(crate) fn binary(op: BinaryOp, a: Expr, b: Expr, ty: Type) -> Expr {
    Expr { kind: ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span: Span::none() }
}

/// A hexadecimal number, which may have a sign and a prefix.
pub(crate) fn hexadecimal(text: &str, path: &str) -> Result<BigInt> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let digits = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")).unwrap_or(digits);
    let plain = !digits.is_empty() && digits.len() <= MAX_EXACT as usize / 4;
    match plain
        .then(|| BigUint::parse_bytes(digits.as_bytes(), 16))
        .flatten()
        .filter(|_| !digits.starts_with(['+', '_']))
    {
        Some(value) if negative => Ok(-BigInt::from(value)),
        Some(value) => Ok(value.into()),
        None => error(path, format!("`{text}` is no hexadecimal number")),
    }
}

/// The bits of a hexadecimal number in a field of this width.
pub(crate) fn hexadecimal_bits(text: &str, width: u32, path: &str) -> Result<BigUint> {
    Ok(bits::from_signed(&hexadecimal(text, path)?, width))
}
