//! Evaluates constraints.

use std::cmp::Ordering;

use hopwright_ir::{MatchForm, MatchValue, bits};
use num_bigint::{BigInt, BigUint};

use super::{Constraint, Expr, Kind, Op, Part, Ty};

/// What a constraint is evaluated on: an entry or an action's arguments.
pub(crate) struct Entry<'e> {
    /// By subject. Arguments are exact.
    pub values: &'e [MatchValue],
    pub priority: i32,
    /// The data plane's value of a string.
    pub find: &'e dyn Fn(usize, &str) -> Option<BigUint>,
}

/// A value of an expression.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Bool(bool),
    Number(BigInt),
    Match(MatchValue),
    /// A string that no value has.
    Nothing,
}

impl Constraint {
    /// The smallest part of the constraint that makes it false, with the subjects in it; `None` if the constraint is true.
    pub(crate) fn violated(&self, entry: &Entry<'_>) -> Option<(String, Vec<usize>)> {
        if entry.holds(&self.root) {
            return None;
        }
        let mut part = &self.root;
        while let Kind::All(parts) = &part.kind
            && let Some(first) = parts.iter().find(|p| !entry.holds(p))
        {
            part = first;
        }
        let mut subjects = Vec::new();
        collect(part, &mut subjects);
        Some((super::lexer::plain(&self.text[part.span.clone()]), subjects))
    }
}

fn collect(expr: &Expr, found: &mut Vec<usize>) {
    match &expr.kind {
        Kind::Subject(at) | Kind::Part(at, _) if !found.contains(at) => found.push(*at),
        Kind::Not(inner) | Kind::Negate(inner) => collect(inner, found),
        Kind::All(parts) | Kind::Any(parts) => parts.iter().for_each(|p| collect(p, found)),
        Kind::Implies(left, right) | Kind::Compare(_, _, left, right) => {
            collect(left, found);
            collect(right, found);
        }
        _ => {}
    }
}

impl Entry<'_> {
    /// Whether a condition is true.
    fn holds(&self, expr: &Expr) -> bool {
        match &expr.kind {
            Kind::Not(inner) => !self.holds(inner),
            Kind::All(parts) => parts.iter().all(|p| self.holds(p)),
            Kind::Any(parts) => parts.iter().any(|p| self.holds(p)),
            Kind::Implies(left, right) => !self.holds(left) || self.holds(right),
            Kind::Compare(op, ty, left, right) => self.compare(*op, *ty, left, right),
            Kind::Bool(value) => *value,
            // Other kinds are no conditions.
            _ => false,
        }
    }

    fn compare(&self, op: Op, ty: Ty, left: &Expr, right: &Expr) -> bool {
        let (left, right) = (cast(self.value(left, ty), ty), cast(self.value(right, ty), ty));
        let equal = left == right && left != Value::Nothing;
        let order = || match (&left, &right) {
            (Value::Number(left), Value::Number(right)) => Some(left.cmp(right)),
            (Value::Match(MatchValue::Exact(left)), Value::Match(MatchValue::Exact(right))) => Some(left.cmp(right)),
            _ => None,
        };
        match op {
            Op::Equal => equal,
            Op::NotEqual => !equal,
            Op::Less => order() == Some(Ordering::Less),
            Op::Greater => order() == Some(Ordering::Greater),
            Op::LessEqual => order().is_some_and(Ordering::is_le),
            Op::GreaterEqual => order().is_some_and(Ordering::is_ge),
        }
    }

    /// A value; `ty` is what it will be compared as.
    fn value(&self, expr: &Expr, ty: Ty) -> Value {
        match &expr.kind {
            Kind::Int(number) => Value::Number(number.clone()),
            Kind::Priority => Value::Number(self.priority.into()),
            Kind::Negate(inner) => match self.value(inner, Ty::Int) {
                Value::Number(number) => Value::Number(-number),
                other => other,
            },
            Kind::Text(text) => {
                let found = ty.text().and_then(|of| (self.find)(of, text));
                found.map_or(Value::Nothing, |value| Value::Number(value.into()))
            }
            Kind::Subject(at) => match (&expr.ty, self.values.get(*at)) {
                (Ty::Bits { .. }, Some(MatchValue::Exact(value))) => Value::Number(value.clone().into()),
                (_, Some(value)) => Value::Match(value.clone()),
                (_, None) => Value::Nothing,
            },
            Kind::Part(at, part) => match self.values.get(*at) {
                Some(value) => Value::Number(part_of(value, *part, expr.ty)),
                None => Value::Nothing,
            },
            _ => Value::Bool(self.holds(expr)),
        }
    }
}

fn part_of(value: &MatchValue, part: Part, ty: Ty) -> BigInt {
    let ones = || match ty {
        Ty::Bits { width, .. } => bits::mask(width),
        _ => BigUint::ZERO,
    };
    let number = match (value, part) {
        (MatchValue::Exact(value), _) => value.clone(),
        (MatchValue::Lpm { prefix_len, .. }, Part::PrefixLength) => (*prefix_len).into(),
        (MatchValue::Ternary { mask, .. }, Part::Mask) => mask.clone(),
        (MatchValue::Lpm { value, .. } | MatchValue::Ternary { value, .. }, _) => value.clone(),
        (MatchValue::Range { hi, .. }, Part::High) => hi.clone(),
        (MatchValue::Range { lo, .. }, _) => lo.clone(),
        (MatchValue::Optional(Some(_)), Part::Mask) => ones(),
        (MatchValue::Optional(Some(value)), _) => value.clone(),
        (MatchValue::Optional(None), _) => BigUint::ZERO,
    };
    number.into()
}

/// A number as a number of fixed width, that is modulo 2^W, and as a match of this value only.
fn cast(value: Value, ty: Ty) -> Value {
    let (Value::Number(number), Ty::Bits { width, .. } | Ty::Key { width, .. }) = (&value, ty) else { return value };
    let modulus = BigInt::from(1) << width;
    let number = ((number % &modulus) + &modulus) % &modulus;
    let Ty::Key { form, .. } = ty else { return Value::Number(number) };
    let number = number.magnitude().clone();
    Value::Match(match form {
        MatchForm::Value => MatchValue::Exact(number),
        MatchForm::Prefix => MatchValue::Lpm { value: number, prefix_len: width },
        MatchForm::Mask => MatchValue::Ternary { value: number, mask: bits::mask(width) },
        MatchForm::Range => MatchValue::Range { lo: number.clone(), hi: number },
        MatchForm::ValueOrAny | MatchForm::Nothing => MatchValue::Optional(Some(number)),
    })
}
