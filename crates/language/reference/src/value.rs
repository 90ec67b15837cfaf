//! Values of all types, the initial ones, equality, and values as bits.

use hopwright_sema::hir::{ObjectId, Type, TypedProgram};
use num_bigint::{BigInt, BigUint};

use crate::bits::{Bits, Reader};
use crate::number;

/// A value (P4-16, section 7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Of `bool`.
    Bool(bool),
    /// Of `bit<W>`, `int<W>`, `int` and serialisable enums: the number that it means.
    Number(BigInt),
    /// Of `varbit`: its bits and how many there are.
    Varbit(BigUint, u32),
    /// Of `error`, or of an enum without underlying type: the position of the member.
    Member(usize),
    /// A struct or tuple.
    Record(Vec<Value>),
    /// A header. Fields of an invalid header keep the values that they had.
    Header {
        /// Its validity bit.
        valid: bool,
        /// Its fields.
        fields: Vec<Value>,
    },
    /// A header union: its members, at most one of them valid.
    Union(Vec<Value>),
    /// A header stack or another array.
    Stack {
        /// `nextIndex`.
        next: usize,
        /// Its elements.
        elements: Vec<Value>,
    },
    /// An extern object, which a parameter stands for.
    Object(ObjectId),
    /// A string, for messages.
    Text(String),
    /// No value: of `void`, a packet, an argument that is left out.
    Nothing,
}

impl Value {
    /// The number of a `bit`, `int` or serialisable enum.
    pub(crate) fn number(&self) -> BigInt {
        match self {
            Value::Number(number) => number.clone(),
            Value::Bool(truth) => BigInt::from(u8::from(*truth)),
            Value::Member(at) => BigInt::from(*at),
            _ => BigInt::ZERO,
        }
    }

    /// The number, if it is one of 64 bits and not negative; the largest of these otherwise.
    pub(crate) fn small(&self) -> u64 {
        u64::try_from(self.number()).unwrap_or(u64::MAX)
    }

    /// Whether it is `true`.
    pub(crate) fn truth(&self) -> bool {
        *self == Value::Bool(true)
    }

    /// Whether a header is valid, or some member of a header union (8.18, 8.20: `isValid`).
    pub(crate) fn is_valid(&self) -> bool {
        match self {
            Value::Header { valid, .. } => *valid,
            Value::Union(members) => members.iter().any(Value::is_valid),
            _ => false,
        }
    }

    /// The members of a struct, tuple, header, union or array.
    pub(crate) fn members(&self) -> &[Value] {
        match self {
            Value::Record(members) | Value::Union(members) => members,
            Value::Header { fields, .. } => fields,
            Value::Stack { elements, .. } => elements,
            _ => &[],
        }
    }

    /// The same, to change them.
    pub(crate) fn members_mut(&mut self) -> &mut [Value] {
        match self {
            Value::Record(members) | Value::Union(members) => members,
            Value::Header { fields, .. } => fields,
            Value::Stack { elements, .. } => elements,
            _ => &mut [],
        }
    }

    /// Makes a header invalid, and all members of a union. Fields keep their values.
    pub(crate) fn invalidate(&mut self) {
        match self {
            Value::Header { valid, .. } => *valid = false,
            Value::Union(members) => members.iter_mut().for_each(Value::invalidate),
            _ => {}
        }
    }

    /// With the fields of another value's headers, which are valid where they were.
    pub(crate) fn with_fields_of(mut self, other: &Value) -> Value {
        match (&mut self, other) {
            (Value::Header { fields, .. }, Value::Header { fields: others, .. }) => fields.clone_from(others),
            (to, from) => {
                for (member, other) in to.members_mut().iter_mut().zip(from.members()) {
                    *member = std::mem::replace(member, Value::Nothing).with_fields_of(other);
                }
            }
        }
        self
    }

    /// `==` (8.5 to 8.20): invalid headers are equal, `nextIndex` of stacks does not count.
    pub(crate) fn equals(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Header { valid: a, fields: x }, Value::Header { valid: b, fields: y }) => {
                a == b && (!a || all_equal(x, y))
            }
            (Value::Record(x), Value::Record(y))
            | (Value::Union(x), Value::Union(y))
            | (Value::Stack { elements: x, .. }, Value::Stack { elements: y, .. }) => all_equal(x, y),
            _ => self == other,
        }
    }
}

fn all_equal(x: &[Value], y: &[Value]) -> bool {
    x.len() == y.len() && x.iter().zip(y).all(|(a, b)| a.equals(b))
}

/// The types of the members of a struct-like type, a tuple or an array.
pub(crate) fn member_types(program: &TypedProgram, ty: &Type) -> Vec<Type> {
    match ty {
        Type::Struct(id) | Type::Header(id) | Type::Union(id) => {
            program[*id].fields.iter().map(|f| f.ty.clone()).collect()
        }
        Type::Tuple(types) => types.to_vec(),
        Type::Stack(element, size) => vec![(**element).clone(); *size as usize],
        _ => Vec::new(),
    }
}

/// What a variable holds at first: headers and unions are invalid (6.8, 8.20), all else is zero, which is a choice of ours
/// where the language leaves the value open (8.26).
pub(crate) fn initial(program: &TypedProgram, ty: &Type) -> Value {
    let members = || member_types(program, ty).iter().map(|t| initial(program, t)).collect();
    match ty {
        Type::Bool => Value::Bool(false),
        Type::Bits(_) | Type::Int(_) | Type::InfInt => Value::Number(BigInt::ZERO),
        Type::Varbit(_) => Value::Varbit(BigUint::ZERO, 0),
        Type::Error => Value::Member(0),
        Type::Enum(id) if program[*id].underlying.is_some() => Value::Number(BigInt::ZERO),
        Type::Enum(_) => Value::Member(0),
        Type::Struct(_) | Type::Tuple(_) => Value::Record(members()),
        Type::Header(_) => Value::Header { valid: false, fields: members() },
        Type::Union(_) => Value::Union(members()),
        Type::Stack(..) => Value::Stack { next: 0, elements: members() },
        Type::String | Type::MatchKind | Type::Void | Type::Extern(_) => Value::Nothing,
    }
}

/// The number of bits of a scalar without `varbit`; `None` for other types. Where the language defines no
/// representation, errors have 16 bits and enums without underlying type 32.
pub(crate) fn scalar_width(program: &TypedProgram, ty: &Type) -> Option<u32> {
    match ty {
        Type::Bool => Some(1),
        Type::Bits(width) | Type::Int(width) => Some(*width),
        Type::Error => Some(16),
        Type::Enum(id) => match &program[*id].underlying {
            Some(underlying) => scalar_width(program, underlying),
            None => Some(32),
        },
        _ => None,
    }
}

/// The number of bits of a type without `varbit`.
pub(crate) fn width(program: &TypedProgram, ty: &Type) -> u32 {
    scalar_width(program, ty).unwrap_or_else(|| member_types(program, ty).iter().map(|t| width(program, t)).sum())
}

/// The bits of a scalar other than a varbit.
pub(crate) fn scalar_bits(program: &TypedProgram, ty: &Type, value: &Value) -> BigUint {
    number::unsigned(&value.number(), scalar_width(program, ty).unwrap_or(0))
}

/// The scalars in a value, in order.
pub(crate) fn scalars(program: &TypedProgram, ty: &Type, value: &Value, out: &mut Vec<(Type, Value)>) {
    match ty {
        Type::Struct(_) | Type::Tuple(_) | Type::Header(_) | Type::Union(_) | Type::Stack(..) => {
            for (ty, member) in member_types(program, ty).iter().zip(value.members()) {
                scalars(program, ty, member, out);
            }
        }
        _ => out.push((ty.clone(), value.clone())),
    }
}

/// Appends a value's scalars to a string of bits, the first bit of each the most significant (13.8).
pub(crate) fn pack(program: &TypedProgram, ty: &Type, value: &Value, out: &mut Bits) {
    let mut all = Vec::new();
    scalars(program, ty, value, &mut all);
    for (ty, value) in all {
        match value {
            Value::Varbit(bits, length) => out.push(&bits, length as usize),
            value => out.push(&scalar_bits(program, &ty, &value), scalar_width(program, &ty).unwrap_or(0) as usize),
        }
    }
}

/// Reads a value from a string of bits; headers in it are valid (13.8). A `varbit` takes `varbit_bits`.
pub(crate) fn unpack(program: &TypedProgram, ty: &Type, from: &mut Reader<'_>, varbit_bits: u32) -> Value {
    let mut members =
        || member_types(program, ty).iter().map(|t| unpack(program, t, from, varbit_bits)).collect::<Vec<Value>>();
    match ty {
        Type::Struct(_) | Type::Tuple(_) => Value::Record(members()),
        Type::Header(_) => Value::Header { valid: true, fields: members() },
        Type::Union(_) => Value::Union(members()),
        Type::Stack(..) => Value::Stack { next: 0, elements: members() },
        Type::Varbit(_) => Value::Varbit(from.take(varbit_bits as usize), varbit_bits),
        _ => from_bits(program, ty, from.take(scalar_width(program, ty).unwrap_or(0) as usize)),
    }
}

/// The scalar that bits mean.
pub(crate) fn from_bits(program: &TypedProgram, ty: &Type, bits: BigUint) -> Value {
    match ty {
        Type::Bool => Value::Bool(bits != BigUint::ZERO),
        Type::Int(width) => Value::Number(number::signed(bits, *width)),
        Type::Enum(id) => match &program[*id].underlying {
            Some(underlying) => from_bits(program, underlying, bits),
            None => Value::Member(usize::try_from(bits).unwrap_or(usize::MAX)),
        },
        Type::Error => Value::Member(usize::try_from(bits).unwrap_or(usize::MAX)),
        _ => Value::Number(BigInt::from(bits)),
    }
}
