//! The values of a trace tree: hash-consed pure operations.
//!
//! [`Values::make`] is the only way to a value. It folds constants and simplifies, so that equal values are usually the same
//! [`ValueId`]; operands always precede their uses.

use std::collections::HashMap;
use std::sync::Arc;

use hopwright_ir::analysis::ranges::Range;
use hopwright_ir::meter::Color;
use hopwright_ir::{BinaryOp, HashAlgorithm, Span, Type, UnaryOp, bits};
use num_bigint::BigUint;
use num_traits::{ToPrimitive, Zero};

/// The name of a table, action, extern or place in the program.
pub type Name = Arc<str>;

/// A byte of the packet as received: a constant distance behind a computed one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// `bit<32>`, bytes; `None` for zero.
    pub base: Option<ValueId>,
    /// Bytes behind the base.
    pub offset: u32,
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(u32);

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// A number, truth value or `varbit`.
    Data(Type),
    /// A table's entry.
    Entry,
}

/// How often a value changes. A value's class is the highest of its operands'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariance {
    /// Never.
    Constant,
    /// Between batches: the time, entries of tables without keys.
    Batch,
    /// Between packets.
    Packet,
    /// Between packets, and it depends on a cipher block.
    AfterCipher,
}

/// An operation. Operands have the types of the pipeline IR's expressions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A constant's bits. The only `varbit` constant is 0, which stands for no bits.
    Constant(BigUint),
    /// Bits of the packet as received; the type gives the width.
    Packet {
        /// `bit<32>`, bytes; `None` for zero.
        base: Option<ValueId>,
        /// Bits behind the base.
        bit: u32,
    },
    /// Bytes of the packet as received, a `varbit`.
    Bytes {
        /// The first byte.
        at: Place,
        /// Their number, `bit<32>`; `None` for all until the end.
        length: Option<ValueId>,
    },
    /// The packet's length in bytes, `bit<32>`.
    Length,
    /// The port that the packet was received on, `bit<9>`.
    IngressPort,
    /// The time in microseconds, `bit<64>`.
    Now,
    /// The depth of a port's queue for a priority, `bit<19>`.
    QueueDepth(ValueId, ValueId),
    /// How long packets wait in a port's queue for a priority, in microseconds, `bit<32>`.
    QueueWait(ValueId, ValueId),
    /// The entry that keys hit, or the default entry.
    Lookup {
        /// The table.
        table: Name,
        /// The keys, in order.
        keys: Vec<ValueId>,
    },
    /// Whether an entry was hit, `bool`.
    Hit(ValueId),
    /// Whether an entry has this action, `bool`.
    Is(ValueId, Name),
    /// An argument of an entry's action.
    Argument {
        /// The entry.
        entry: ValueId,
        /// The action, which the entry must have.
        action: Name,
        /// The number of the parameter.
        index: u32,
    },
    /// Whether keys are a member of a value set, `bool`.
    Member {
        /// The value set.
        set: Name,
        /// The keys, in order.
        keys: Vec<ValueId>,
    },
    /// A cell of a register, as before the packet.
    Register {
        /// The register.
        register: Name,
        /// The cell.
        index: ValueId,
    },
    /// The colour that a meter is going to give the packet, `bit<2>`. A default entry's is green.
    Color {
        /// The meter.
        meter: Name,
        /// The entry, for a direct meter, or the cell.
        of: ValueId,
    },
    /// The result of an extern function or method whose calls may be repeated.
    Call {
        /// The function with its constants, behind its object.
        function: Name,
        /// The values of in arguments, in order.
        args: Vec<ValueId>,
        /// The number of the out argument.
        result: u32,
        /// Whether it encrypts a block.
        cipher: bool,
    },
    /// The checksum or hash of a concatenation, `bit<64>`.
    Checksum {
        /// The algorithm.
        algorithm: HashAlgorithm,
        /// The parts, the first highest.
        parts: Vec<ValueId>,
    },
    /// As [`hopwright_ir::ExprKind::Unary`].
    Unary(UnaryOp, ValueId),
    /// As [`hopwright_ir::ExprKind::Binary`].
    Binary(BinaryOp, ValueId, ValueId),
    /// As [`hopwright_ir::ExprKind::Cast`].
    Cast(ValueId),
    /// As [`hopwright_ir::ExprKind::Slice`].
    Slice {
        /// The sliced value.
        arg: ValueId,
        /// Highest bit.
        hi: u32,
        /// Lowest bit.
        lo: u32,
    },
    /// As [`hopwright_ir::ExprKind::Mux`].
    Mux(ValueId, ValueId, ValueId),
}

impl Op {
    /// The operands, in order.
    pub fn operands(&self) -> Vec<ValueId> {
        match self {
            Op::Constant(_) | Op::Length | Op::IngressPort | Op::Now => Vec::new(),
            Op::Packet { base, .. } => base.iter().copied().collect(),
            Op::Bytes { at, length } => at.base.iter().chain(length).copied().collect(),
            Op::Lookup { keys, .. } | Op::Member { keys, .. } => keys.clone(),
            Op::Hit(a) | Op::Is(a, _) | Op::Unary(_, a) | Op::Cast(a) | Op::Slice { arg: a, .. } => vec![*a],
            Op::Argument { entry: a, .. } | Op::Register { index: a, .. } | Op::Color { of: a, .. } => vec![*a],
            Op::Call { args, .. } => args.clone(),
            Op::Checksum { parts, .. } => parts.clone(),
            Op::QueueDepth(a, b) | Op::QueueWait(a, b) | Op::Binary(_, a, b) => vec![*a, *b],
            Op::Mux(a, b, c) => vec![*a, *b, *c],
        }
    }
}

/// What is known of a value.
#[derive(Clone, Debug)]
pub struct ValueData {
    /// How it is computed.
    pub op: Op,
    /// Its type.
    pub ty: ValueType,
    /// The lowest and the highest number it can be, if it has at most 64 bits. Signed values as bits.
    pub range: Option<Range>,
    /// How often it changes.
    pub invariance: Invariance,
}

/// All values of a tree.
#[derive(Clone, Debug, Default)]
pub struct Values {
    data: Vec<ValueData>,
    known: HashMap<(Op, ValueType), ValueId>,
    /// By value, the statement for which it was made first.
    spans: Vec<Option<Span>>,
    span: Option<Span>,
}

impl std::ops::Index<ValueId> for Values {
    type Output = ValueData;
    fn index(&self, id: ValueId) -> &ValueData {
        &self.data[id.0 as usize]
    }
}

impl Values {
    /// The number of values.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// All values, operands before their uses.
    pub fn iter(&self) -> impl Iterator<Item = &ValueData> {
        self.data.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Sets the statement for which values are made from now on, if it is one.
    pub(crate) fn at(&mut self, span: Option<Span>) {
        self.span = span;
    }

    /// The first statement for which a value was made.
    pub(crate) fn span(&self, id: ValueId) -> Option<Span> {
        self.spans[id.0 as usize]
    }

    /// The value of an operation, simplified. The operation must be well-typed.
    pub fn make(&mut self, op: Op, ty: ValueType) -> ValueId {
        match self.simplify(&op, ty) {
            Some(simple) => simple,
            None => self.exactly(op, ty),
        }
    }

    /// The value of an operation on data.
    pub fn data(&mut self, op: Op, ty: Type) -> ValueId {
        self.make(op, ValueType::Data(ty))
    }

    /// Whether operands and result have types that fit an operation.
    pub fn is_well_typed(&self, op: &Op, ty: ValueType) -> bool {
        let of = |v: &ValueId| self[*v].ty;
        let bits = |width| ValueType::Data(Type::Bits(width));
        let boolean = ValueType::Data(Type::Bool);
        let is_numeric = |ty| matches!(ty, ValueType::Data(Type::Bits(_) | Type::Int(_) | Type::Bool));
        let is_number = |v: &ValueId| is_numeric(of(v));
        let width = match ty {
            ValueType::Data(ty) => ty.width(),
            ValueType::Entry => 0,
        };
        match op {
            Op::Constant(constant) if !is_numeric(ty) => constant.is_zero() && ty != ValueType::Entry,
            Op::Constant(constant) => bits::fits(constant, width),
            Op::Packet { base, .. } => base.iter().all(|b| of(b) == bits(32)) && is_numeric(ty),
            Op::Bytes { at, length } => {
                let varbit = matches!(ty, ValueType::Data(Type::Varbit(_)));
                varbit && at.base.iter().chain(length).all(|b| of(b) == bits(32))
            }
            Op::Length => ty == bits(32),
            Op::IngressPort => ty == bits(9),
            Op::Now => ty == bits(64),
            Op::QueueDepth(port, priority) => ty == bits(19) && of(port) == bits(9) && of(priority) == bits(3),
            Op::QueueWait(port, priority) => ty == bits(32) && of(port) == bits(9) && of(priority) == bits(3),
            Op::Lookup { keys, .. } => ty == ValueType::Entry && keys.iter().all(is_number),
            Op::Hit(entry) | Op::Is(entry, _) => ty == boolean && of(entry) == ValueType::Entry,
            Op::Argument { entry, .. } => of(entry) == ValueType::Entry && is_numeric(ty),
            Op::Member { keys, .. } => ty == boolean && keys.iter().all(is_number),
            Op::Register { index, .. } => is_number(index) && is_numeric(ty),
            Op::Color { of: which, .. } => ty == bits(2) && (of(which) == ValueType::Entry || is_number(which)),
            Op::Call { args, .. } => args.iter().all(|a| of(a) != ValueType::Entry) && is_numeric(ty),
            Op::Checksum { parts, .. } => ty == bits(64) && parts.iter().all(|p| of(p) != ValueType::Entry),
            Op::Unary(UnaryOp::Not, a) => ty == boolean && of(a) == boolean,
            Op::Unary(_, a) => of(a) == ty && is_number(a),
            Op::Cast(a) => is_number(a) && is_numeric(ty),
            Op::Slice { arg, hi, lo } => {
                is_number(arg) && hi >= lo && *hi < self.width(*arg) && width == hi - lo + 1 && is_numeric(ty)
            }
            Op::Mux(condition, a, b) => of(condition) == boolean && of(a) == ty && of(b) == ty,
            Op::Binary(op, a, b) => match op {
                BinaryOp::Eq | BinaryOp::Ne => ty == boolean && of(a) == of(b) && of(a) != ValueType::Entry,
                BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                    ty == boolean && of(a) == of(b) && is_number(a)
                }
                BinaryOp::Shl | BinaryOp::Shr => of(a) == ty && is_number(a) && is_number(b),
                BinaryOp::Concat => {
                    let sum = self.width(*a).checked_add(self.width(*b));
                    is_number(a) && is_number(b) && is_numeric(ty) && sum == Some(width)
                }
                BinaryOp::SatAdd | BinaryOp::SatSub => width > 0 && of(a) == ty && of(b) == ty && is_number(a),
                _ => of(a) == ty && of(b) == ty && is_number(a),
            },
        }
    }

    /// A constant; bits beyond the type's width are dropped.
    pub fn constant(&mut self, value: impl Into<BigUint>, ty: Type) -> ValueId {
        let value = bits::truncate(value.into(), ty.width());
        self.exactly(Op::Constant(value), ValueType::Data(ty))
    }

    /// A truth value.
    pub fn truth(&mut self, value: bool) -> ValueId {
        self.constant(u32::from(value), Type::Bool)
    }

    /// A value's bits, if it is a constant.
    pub fn as_constant(&self, id: ValueId) -> Option<&BigUint> {
        match &self[id].op {
            Op::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// The type of data. Entries have none.
    pub fn data_type(&self, id: ValueId) -> Option<Type> {
        match self[id].ty {
            ValueType::Data(ty) => Some(ty),
            ValueType::Entry => None,
        }
    }

    /// Width in bits; 0 for entries.
    pub fn width(&self, id: ValueId) -> u32 {
        self.data_type(id).map_or(0, Type::width)
    }

    /// Whether a value is the packet's bits right behind another one.
    pub fn are_adjacent(&self, first: ValueId, second: ValueId) -> bool {
        match (&self[first].op, &self[second].op) {
            (Op::Packet { base, bit }, Op::Packet { base: other, bit: next }) => {
                base == other && bit.checked_add(self.width(first)) == Some(*next)
            }
            _ => false,
        }
    }

    /// Whether a value is bits of the packet that begin at a byte.
    pub(crate) fn begins_at_byte(&self, value: ValueId) -> bool {
        matches!(self[value].op, Op::Packet { bit, .. } if bit % 8 == 0)
    }

    /// The parts of the Internet checksum that a value is.
    pub(crate) fn internet_checksum(&self, value: ValueId) -> Option<Vec<ValueId>> {
        match self[value].op {
            Op::Slice { arg, hi: 15, lo: 0 } => match &self[arg].op {
                Op::Checksum { algorithm: HashAlgorithm::Csum16, parts } => Some(parts.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    /// The opposite of a condition.
    pub fn not(&mut self, condition: ValueId) -> ValueId {
        self.data(Op::Unary(UnaryOp::Not, condition), Type::Bool)
    }

    /// The conditions that together are equivalent to the outcome of a condition, with their outcomes.
    pub fn conjunction(&self, condition: ValueId, holds: bool) -> Vec<(ValueId, bool)> {
        let mut work = vec![(condition, holds)];
        let mut parts = Vec::new();
        while let Some((condition, holds)) = work.pop() {
            match self[condition].op {
                Op::Unary(UnaryOp::Not, inner) => work.push((inner, !holds)),
                Op::Binary(BinaryOp::And | BinaryOp::LogicalAnd, a, b) if holds => work.extend([(b, true), (a, true)]),
                Op::Binary(BinaryOp::Or | BinaryOp::LogicalOr, a, b) if !holds => work.extend([(b, false), (a, false)]),
                _ => parts.push((condition, holds)),
            }
        }
        parts
    }

    /// Whether two values are equal.
    pub fn equal(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.data(Op::Binary(BinaryOp::Eq, a, b), Type::Bool)
    }

    /// The value, with an entry for it.
    fn exactly(&mut self, op: Op, ty: ValueType) -> ValueId {
        let key = (op, ty);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let id = ValueId(self.data.len() as u32);
        let (range, invariance) = (self.range_of(&key.0, ty), self.invariance_of(&key.0));
        self.data.push(ValueData { op: key.0.clone(), ty, range, invariance });
        self.spans.push(self.span);
        self.known.insert(key, id);
        id
    }

    /// A simpler form of an operation.
    fn simplify(&mut self, op: &Op, ty: ValueType) -> Option<ValueId> {
        let ValueType::Data(ty) = ty else { return None };
        match *op {
            Op::Unary(unary, a) => {
                if let Some(value) = self.as_constant(a) {
                    let value = bits::unary(unary, value, ty);
                    return Some(self.constant(value, ty));
                }
                match (unary, self[a].op.clone()) {
                    (UnaryOp::Not | UnaryOp::BitNot, Op::Unary(UnaryOp::Not | UnaryOp::BitNot, inner)) => Some(inner),
                    (UnaryOp::Not, Op::Binary(compare, x, y)) => {
                        Some(self.exactly(Op::Binary(compare.negated()?, x, y), ValueType::Data(ty)))
                    }
                    _ => None,
                }
            }
            Op::Binary(op, a, b) => self.simplify_binary(op, a, b, ty),
            Op::Cast(a) => {
                let from = self.data_type(a)?;
                if from == ty {
                    return Some(a);
                }
                if let Some(value) = self.as_constant(a) {
                    let value = bits::cast(value, from, ty);
                    return Some(self.constant(value, ty));
                }
                match (from, ty) {
                    (Type::Bits(from), Type::Bits(to)) if to < from => {
                        Some(self.data(Op::Slice { arg: a, hi: to.checked_sub(1)?, lo: 0 }, ty))
                    }
                    _ => None,
                }
            }
            Op::Slice { arg, hi, lo } => self.simplify_slice(arg, hi, lo, ty),
            Op::Mux(condition, then, otherwise) => match self.as_constant(condition) {
                Some(known) if known.is_zero() => Some(otherwise),
                Some(_) => Some(then),
                None => (then == otherwise).then_some(then),
            },
            _ => None,
        }
    }

    fn simplify_binary(&mut self, op: BinaryOp, a: ValueId, b: ValueId, ty: Type) -> Option<ValueId> {
        let (left, right) = (self.data_type(a)?, self.data_type(b)?);
        if matches!(left, Type::Varbit(_)) {
            return None;
        }
        if let (Some(x), Some(y)) = (self.as_constant(a), self.as_constant(b)) {
            let value = bits::binary(op, x, y, left, right);
            return Some(self.constant(value, ty));
        }
        if a == b {
            match op {
                BinaryOp::Eq | BinaryOp::Le | BinaryOp::Ge => return Some(self.truth(true)),
                BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Gt => return Some(self.truth(false)),
                BinaryOp::And | BinaryOp::Or | BinaryOp::LogicalAnd | BinaryOp::LogicalOr => return Some(a),
                BinaryOp::Sub | BinaryOp::Xor => return Some(self.constant(0u32, ty)),
                _ => {}
            }
        }
        if op == BinaryOp::Concat {
            return self.join(a, b, ty);
        }
        // A sum equals one of its terms if the other one is zero.
        if matches!(op, BinaryOp::Eq | BinaryOp::Ne) {
            for (term, sum) in [(a, b), (b, a)] {
                let Op::Binary(BinaryOp::Add, x, y) = self[sum].op else { continue };
                if let Some(other) = if x == term { Some(y) } else { (y == term).then_some(x) } {
                    let zero = self.constant(0u32, left);
                    return Some(self.data(Op::Binary(op, other, zero), ty));
                }
            }
        }
        // Constants of commutative operations are on the right.
        let commutes = matches!(
            op,
            BinaryOp::Add | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Eq | BinaryOp::Ne
        ) || matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr);
        if commutes && self.as_constant(a).is_some() {
            return Some(self.data(Op::Binary(op, b, a), ty));
        }
        if !matches!(left, Type::Int(_))
            && let (Some(x), Some(y)) = (self[a].range, self[b].range)
            && let Some(truth) = compare_ranges(op, x, y)
        {
            return Some(self.truth(truth));
        }
        let constant = self.as_constant(b)?.clone();
        let zero = constant.is_zero();
        let ones = constant == bits::mask(left.width());
        match op {
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Or
            | BinaryOp::Xor
            | BinaryOp::Shl
            | BinaryOp::Shr
            | BinaryOp::LogicalOr
                if zero =>
            {
                Some(a)
            }
            BinaryOp::And | BinaryOp::LogicalAnd | BinaryOp::Mul if zero => Some(self.constant(0u32, ty)),
            BinaryOp::And | BinaryOp::LogicalAnd if ones => Some(a),
            BinaryOp::Or | BinaryOp::LogicalOr if ones => Some(b),
            // A comparison of a truth value or a bit with a constant.
            BinaryOp::Eq | BinaryOp::Ne if left == Type::Bool => {
                Some(if (op == BinaryOp::Eq) == ones { a } else { self.not(a) })
            }
            BinaryOp::Eq | BinaryOp::Ne => self.simplify_equality(op, a, constant, ty),
            _ => None,
        }
    }

    /// Simplifies a comparison, for equality or difference, with a constant.
    fn simplify_equality(&mut self, op: BinaryOp, a: ValueId, constant: BigUint, ty: Type) -> Option<ValueId> {
        let left = self.data_type(a)?;
        match self[a].op.clone() {
            Op::Cast(inner) if self.data_type(inner) == Some(Type::Bool) => {
                Some(if (op == BinaryOp::Eq) != constant.is_zero() { inner } else { self.not(inner) })
            }
            // A shift that loses no bits.
            Op::Binary(BinaryOp::Shl, inner, by) => {
                let by = self.as_constant(by)?.to_u32().filter(|by| *by < left.width())?;
                let fits =
                    self[inner].range.is_some_and(|range| bits::fits(&(BigUint::from(range.hi) << by), left.width()));
                if !fits {
                    return None;
                }
                if constant.trailing_zeros().is_some_and(|zeros| zeros < u64::from(by)) {
                    return Some(self.truth(op == BinaryOp::Ne));
                }
                let constant = self.constant(constant >> by, left);
                Some(self.data(Op::Binary(op, inner, constant), ty))
            }
            // Parts that are constant are known to be equal or not.
            Op::Binary(BinaryOp::Concat, high, low) => {
                let width = self.width(low);
                let wanted = [(high, &constant >> width), (low, &constant & bits::mask(width))];
                let differs =
                    |(part, wanted): &(ValueId, BigUint)| self.as_constant(*part).is_some_and(|c| c != wanted);
                if wanted.iter().any(differs) {
                    return Some(self.truth(op == BinaryOp::Ne));
                }
                let (part, wanted) = wanted.into_iter().find(|(part, _)| {
                    let other = if *part == high { low } else { high };
                    self.as_constant(other).is_some()
                })?;
                let wanted = self.constant(wanted, self.data_type(part)?);
                Some(self.data(Op::Binary(op, part, wanted), ty))
            }
            // One of two constants.
            Op::Mux(condition, x, y) if self.as_constant(x).is_some() && self.as_constant(y).is_some() => {
                let outcome = |v: ValueId| (self.as_constant(v) == Some(&constant)) == (op == BinaryOp::Eq);
                match (outcome(x), outcome(y)) {
                    (true, false) => Some(condition),
                    (false, true) => Some(self.not(condition)),
                    (same, _) => Some(self.truth(same)),
                }
            }
            // A zero-extended value is compared in its own width.
            Op::Cast(inner) => match self.data_type(inner) {
                Some(narrow @ Type::Bits(width)) if matches!(left, Type::Bits(wide) if wide > width) => {
                    if bits::fits(&constant, width) {
                        let constant = self.constant(constant, narrow);
                        Some(self.data(Op::Binary(op, inner, constant), ty))
                    } else {
                        Some(self.truth(op == BinaryOp::Ne))
                    }
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Adjacent bits of the packet are one value.
    fn join(&mut self, a: ValueId, b: ValueId, ty: Type) -> Option<ValueId> {
        let (high, low) = (self.width(a), self.width(b));
        if high == 0 && self.data_type(b) == Some(ty) {
            return Some(b);
        }
        if low == 0 && self.data_type(a) == Some(ty) {
            return Some(a);
        }
        match (&self[a].op, &self[b].op) {
            (&Op::Packet { base, bit }, &Op::Packet { base: other, bit: next })
                if base == other && bit.checked_add(high) == Some(next) =>
            {
                Some(self.exactly(Op::Packet { base, bit }, ValueType::Data(ty)))
            }
            _ => None,
        }
    }

    fn simplify_slice(&mut self, arg: ValueId, hi: u32, lo: u32, ty: Type) -> Option<ValueId> {
        let from = self.data_type(arg)?;
        if lo == 0 && hi + 1 == from.width() && from == ty {
            return Some(arg);
        }
        match self[arg].op.clone() {
            Op::Constant(value) => {
                let value = bits::slice(&value, hi, lo);
                Some(self.constant(value, ty))
            }
            Op::Packet { base, bit } => {
                let bit = bit.checked_add(from.width() - 1 - hi)?;
                Some(self.exactly(Op::Packet { base, bit }, ValueType::Data(ty)))
            }
            Op::Slice { arg: inner, lo: by, .. } => {
                Some(self.data(Op::Slice { arg: inner, hi: hi + by, lo: lo + by }, ty))
            }
            Op::Binary(BinaryOp::Concat, high, low) => {
                let split = self.width(low);
                if hi < split {
                    Some(self.data(Op::Slice { arg: low, hi, lo }, ty))
                } else if lo >= split {
                    Some(self.data(Op::Slice { arg: high, hi: hi - split, lo: lo - split }, ty))
                } else {
                    None
                }
            }
            Op::Cast(inner) => match self.data_type(inner)? {
                Type::Bits(width) if hi < width => Some(self.data(Op::Slice { arg: inner, hi, lo }, ty)),
                _ => None,
            },
            _ => None,
        }
    }

    fn invariance_of(&self, op: &Op) -> Invariance {
        let own = match op {
            Op::Constant(_) => Invariance::Constant,
            Op::Now => Invariance::Batch,
            Op::Lookup { keys, .. } if keys.is_empty() => Invariance::Batch,
            Op::Packet { .. } | Op::Bytes { .. } | Op::Length | Op::IngressPort => Invariance::Packet,
            // Packets in between may write it.
            Op::Register { .. } | Op::Color { .. } => Invariance::Packet,
            Op::QueueDepth(..) | Op::QueueWait(..) => Invariance::Packet,
            Op::Call { cipher: true, .. } => Invariance::AfterCipher,
            _ => Invariance::Constant,
        };
        op.operands().into_iter().map(|operand| self[operand].invariance).fold(own, Invariance::max)
    }

    fn range_of(&self, op: &Op, ty: ValueType) -> Option<Range> {
        let ValueType::Data(ty) = ty else { return None };
        let all = Range::all(ty)?;
        let found = match op {
            Op::Constant(value) => value.to_u64().map(Range::one),
            Op::Color { .. } => Some(Range { lo: 0, hi: Color::Red as u64 }),
            Op::Cast(a) if !matches!(self.data_type(*a), Some(Type::Int(_))) => self[*a].range,
            Op::Slice { arg, hi: _, lo } => {
                self[*arg].range.map(|range| Range { lo: 0, hi: range.hi.checked_shr(*lo).unwrap_or(0) })
            }
            Op::Mux(_, a, b) => match (self[*a].range, self[*b].range) {
                (Some(a), Some(b)) => Some(a.union(b)),
                _ => None,
            },
            Op::Binary(op, a, b) if !matches!(ty, Type::Int(_)) => {
                let operand = |v: ValueId| Some((self[v].range?, self.data_type(v)?));
                operand(*a).zip(operand(*b)).and_then(|(a, b)| Range::of_binary(*op, a, b))
            }
            _ => None,
        };
        Some(found.filter(|found| found.hi <= all.hi).unwrap_or(all))
    }
}

/// The outcome of an unsigned comparison that ranges decide.
fn compare_ranges(op: BinaryOp, a: Range, b: Range) -> Option<bool> {
    let always = |holds: bool, fails: bool| if holds { Some(true) } else { fails.then_some(false) };
    match op {
        BinaryOp::Lt => always(a.hi < b.lo, a.lo >= b.hi),
        BinaryOp::Le => always(a.hi <= b.lo, a.lo > b.hi),
        BinaryOp::Gt => always(a.lo > b.hi, a.hi <= b.lo),
        BinaryOp::Ge => always(a.lo >= b.hi, a.hi < b.lo),
        BinaryOp::Eq => always(false, a.hi < b.lo || a.lo > b.hi),
        BinaryOp::Ne => always(a.hi < b.lo || a.lo > b.hi, false),
        _ => None,
    }
}
