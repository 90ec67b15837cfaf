//! Builds designs: folds constants, simplifies, and computes nothing twice.

use std::collections::{BTreeSet, BinaryHeap, HashMap};

use hopwright_ir::{BinaryOp, SlotId, Type, bits};
use hopwright_source::Span;
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive, Zero};

use super::{Binary, Design, Input, Node, Op, Value};

/// Products of more bits are computed in parts.
const MULTIPLIER_BITS: u32 = 18;

/// Values of more bits are compared in parts.
const COMPARED_BITS: u32 = 32;

/// The most shifted operands that a product with a constant is a sum of. Multipliers are at few places of a chip, and far from most logic.
const PRODUCT_TERMS: usize = 6;

/// A design under construction.
#[derive(Debug)]
pub struct Builder {
    /// What was built so far.
    pub design: Design,
    known: HashMap<(Op, u32), Value>,
    /// Conditions of which exactly one is true when the first one is.
    splits: Vec<(Value, Vec<Value>)>,
    /// The splits by their first part.
    splits_of: HashMap<Value, Vec<usize>>,
    unions: HashMap<Vec<Value>, Value>,
    /// The P4 text that new nodes come from.
    pub span: Span,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder {
            design: Design::default(),
            known: HashMap::new(),
            splits: Vec::new(),
            splits_of: HashMap::new(),
            unions: HashMap::new(),
            span: Span::none(),
        }
    }
}

impl Builder {
    /// The width of a value.
    pub fn width(&self, value: Value) -> u32 {
        self.design[value].width
    }

    /// The bits of a constant.
    pub fn as_const(&self, value: Value) -> Option<&BigUint> {
        match &self.design[value].op {
            Op::Const(bits) => Some(bits),
            _ => None,
        }
    }

    fn is(&self, value: Value, bits: u32) -> bool {
        self.as_const(value).is_some_and(|c| *c == BigUint::from(bits))
    }

    fn is_ones(&self, value: Value) -> bool {
        self.as_const(value).is_some_and(|c| *c == bits::mask(self.width(value)))
    }

    /// Records that a slot holds a value.
    pub fn hold(&mut self, value: Value, slot: Option<SlotId>) {
        let held = &mut self.design.nodes[value.index()].slot;
        *held = held.or(slot);
    }

    /// Adds a node that is not shared with equal ones.
    pub fn effect(&mut self, op: Op, width: u32) -> Value {
        let value = Value(self.design.nodes.len() as u32);
        self.design.nodes.push(Node { op, width, span: self.span, slot: None });
        value
    }

    fn pure(&mut self, op: Op, width: u32) -> Value {
        if let Some(value) = self.known.get(&(op.clone(), width)) {
            return *value;
        }
        let value = self.effect(op.clone(), width);
        self.known.insert((op, width), value);
        value
    }

    /// A constant; bits beyond the width are cut off.
    pub fn constant(&mut self, value: impl Into<BigUint>, width: u32) -> Value {
        self.pure(Op::Const(bits::truncate(value.into(), width)), width)
    }

    /// One bit.
    pub fn boolean(&mut self, value: bool) -> Value {
        self.constant(u32::from(value), 1)
    }

    /// An input.
    pub fn input(&mut self, input: Input) -> Value {
        self.pure(Op::Input(input), input.width())
    }

    /// Bits of the packet.
    pub fn window(&mut self, offset: Value, bit: u32, width: u32) -> Value {
        if width == 0 { self.constant(0u32, 0) } else { self.pure(Op::Window { offset, bit }, width) }
    }

    /// Bytes of the packet, which are read from memory.
    pub fn fetch(&mut self, offset: Value, width: u32) -> Value {
        self.pure(Op::Fetch { offset }, width)
    }

    /// The complement.
    pub fn not(&mut self, a: Value) -> Value {
        let width = self.width(a);
        match &self.design[a].op {
            Op::Const(bits) => {
                let flipped = bits::mask(width) - bits;
                self.constant(flipped, width)
            }
            Op::Not(inner) => *inner,
            _ => self.pure(Op::Not(a), width),
        }
    }

    /// An operation on two values.
    pub fn binary(&mut self, op: Binary, mut a: Value, mut b: Value) -> Value {
        use Binary::*;
        let width = self.width(a);
        let result = if matches!(op, Eq | Less | LessSigned) { 1 } else { width };
        if let (Some(x), Some(y)) = (self.as_const(a), self.as_const(b)) {
            let folded = evaluate(op, x, y, width, self.width(b));
            return self.constant(folded, result);
        }
        if matches!(op, Add | Mul | And | Or | Xor | Eq) && (self.as_const(a).is_some() || a > b) {
            (a, b) = (b, a);
            // A constant is the second operand.
            if self.as_const(a).is_some() {
                (a, b) = (b, a);
            }
        }
        match op {
            And if a == b || self.is_ones(b) => return a,
            And if self.is(b, 0) => return b,
            Or if a == b || self.is(b, 0) => return a,
            Or if self.is_ones(b) => return b,
            Add | Sub | Xor | Shl | Shr | ShrSigned if self.is(b, 0) => return a,
            Mul if self.is(b, 1) => return a,
            Mul if self.is(b, 0) => return b,
            Sub | Xor if a == b => return self.constant(0u32, width),
            Eq if a == b => return self.boolean(true),
            Less | LessSigned if a == b => return self.boolean(false),
            Less if self.is(b, 0) => return self.boolean(false),
            Eq if width == 1 && self.is(b, 1) => return a,
            Eq if width == 1 && self.is(b, 0) => return self.not(a),
            And | Or if self.are_complements(a, b) => return self.constant(u32::from(op == Or), width),
            Shl | Shr => {
                if let Some(by) = self.as_const(b).cloned() {
                    let by = by.to_u32().filter(|by| *by < width);
                    let Some(by) = by else { return self.constant(0u32, width) };
                    let zeros = self.constant(0u32, by);
                    return if op == Shl {
                        let kept = self.slice(a, width - by - 1, 0);
                        self.concat(vec![kept, zeros])
                    } else {
                        let kept = self.slice(a, width - 1, by);
                        self.concat(vec![zeros, kept])
                    };
                }
            }
            _ => {}
        }
        // What is zero anyway is not computed.
        let (x, y) = (self.design.significant(a), self.design.significant(b));
        let needed = match op {
            Add => x.max(y) + 1,
            Mul => x + y,
            And => x.min(y),
            Or | Xor | Eq | Less => x.max(y),
            _ => width,
        }
        .max(1);
        if needed < width {
            let (a, b) = (self.resize(a, needed), self.resize(b, needed));
            let low = self.binary(op, a, b);
            return if result == 1 { low } else { self.resize(low, width) };
        }
        // What is wide is compared in parts, so that it need not be compared in a cycle.
        if op == Eq && width > COMPARED_BITS && self.as_const(b).is_none() {
            let mut equal = self.boolean(true);
            for lo in (0..width).step_by(COMPARED_BITS as usize) {
                let hi = (lo + COMPARED_BITS).min(width) - 1;
                let (a, b) = (self.slice(a, hi, lo), self.slice(b, hi, lo));
                let part = self.eq(a, b);
                equal = self.and(equal, part);
            }
            return equal;
        }
        if op == Mul
            && let Some(product) = self.product(a, b)
        {
            return product;
        }
        self.pure(Op::Binary(op, a, b), result)
    }

    /// A product that is made of others, or of shifts and sums. A constant is the second operand.
    fn product(&mut self, a: Value, b: Value) -> Option<Value> {
        let width = self.width(a);
        if let Some(factor) = self.as_const(b).cloned() {
            // Zeros at the end are a shift.
            let zeros = factor.trailing_zeros().unwrap_or(0);
            if zeros > 0 {
                let odd = self.constant(factor >> zeros, width);
                let product = self.binary(Binary::Mul, a, odd);
                return Some(self.shifted(product, zeros));
            }
            let (plus, minus) = terms(&factor);
            if plus.len() + minus.len() <= PRODUCT_TERMS {
                let [plus, minus] = [plus, minus].map(|powers| {
                    let terms = powers.into_iter().map(|power| self.shifted(a, power)).collect();
                    self.sum(terms, width)
                });
                return Some(self.binary(Binary::Sub, plus, minus));
            }
        }
        // Multipliers have 18 bits: wider products are sums.
        let (wide, other) =
            [(a, b), (b, a)].into_iter().find(|(v, _)| self.design.significant(*v) > MULTIPLIER_BITS)?;
        let low = self.slice(wide, MULTIPLIER_BITS - 1, 0);
        let high = self.slice(wide, self.design.significant(wide) - 1, MULTIPLIER_BITS);
        let [low, high] = [low, high].map(|part| {
            let part = self.resize(part, width);
            self.binary(Binary::Mul, part, other)
        });
        let high = self.shifted(high, MULTIPLIER_BITS.into());
        Some(self.binary(Binary::Add, low, high))
    }

    /// A value shifted to the left by this many bits.
    fn shifted(&mut self, value: Value, by: u64) -> Value {
        let by = self.constant(by, 32);
        self.binary(Binary::Shl, value, by)
    }

    /// The sum of values of this many bits, by a tree.
    fn sum(&mut self, mut values: Vec<Value>, bits: u32) -> Value {
        while values.len() > 1 {
            let pairs = values.chunks(2);
            values = pairs.map(|p| p[1..].iter().fold(p[0], |a, b| self.binary(Binary::Add, a, *b))).collect();
        }
        values.pop().unwrap_or_else(|| self.constant(0u32, bits))
    }

    fn are_complements(&self, a: Value, b: Value) -> bool {
        let not = |x: Value, y: Value| matches!(self.design[x].op, Op::Not(z) if z == y) && self.width(x) == 1;
        not(a, b) || not(b, a)
    }

    /// Both.
    pub fn and(&mut self, a: Value, b: Value) -> Value {
        self.binary(Binary::And, a, b)
    }

    /// Either.
    pub fn or(&mut self, a: Value, b: Value) -> Value {
        self.binary(Binary::Or, a, b)
    }

    /// Any of them.
    pub fn any(&mut self, values: &[Value]) -> Value {
        let none = self.boolean(false);
        values.iter().fold(none, |a, b| self.or(a, *b))
    }

    /// Whether the values are equal.
    pub fn eq(&mut self, a: Value, b: Value) -> Value {
        self.binary(Binary::Eq, a, b)
    }

    /// Whether the value is this constant.
    pub fn eq_const(&mut self, a: Value, bits: impl Into<BigUint>) -> Value {
        let constant = self.constant(bits, self.width(a));
        self.eq(a, constant)
    }

    /// A choice of two.
    pub fn mux(&mut self, cond: Value, then: Value, otherwise: Value) -> Value {
        if then == otherwise || self.is(cond, 1) {
            return then;
        }
        if self.is(cond, 0) {
            return otherwise;
        }
        if let Op::Not(inner) = self.design[cond].op {
            return self.mux(inner, otherwise, then);
        }
        if self.width(then) == 1 {
            match (self.as_const(then).cloned(), self.as_const(otherwise).cloned()) {
                (Some(t), Some(_)) => return if t.is_one() { cond } else { self.not(cond) },
                (Some(t), None) if t.is_one() => return self.or(cond, otherwise),
                (None, Some(o)) if o.is_zero() => return self.and(cond, then),
                _ => {}
            }
        }
        let (width, needed) =
            (self.width(then), self.design.significant(then).max(self.design.significant(otherwise)).max(1));
        if needed < width {
            let (then, otherwise) = (self.resize(then, needed), self.resize(otherwise, needed));
            let low = self.mux(cond, then, otherwise);
            return self.resize(low, width);
        }
        self.pure(Op::Mux { cond, then, otherwise }, width)
    }

    /// The value whose condition is true; zero if none is. At most one is.
    pub fn one_hot(&mut self, cases: Vec<(Value, Value)>, width: u32) -> Value {
        let mut left: Vec<(Value, Value)> = Vec::new();
        for (cond, value) in cases {
            if self.is(cond, 1) {
                return value;
            }
            if !self.is(cond, 0) && !self.is(value, 0) {
                left.push((cond, value));
            }
        }
        if left.is_empty() {
            return self.constant(0u32, width);
        }
        if width == 1 {
            let each: Vec<Value> = left.into_iter().map(|(cond, value)| self.and(cond, value)).collect();
            return self.any(&each);
        }
        let needed = left.iter().map(|(_, value)| self.design.significant(*value)).fold(1, u32::max);
        if needed < width {
            let cases = left.into_iter().map(|(cond, value)| (cond, self.resize(value, needed))).collect();
            let low = self.one_hot(cases, needed);
            return self.resize(low, width);
        }
        self.pure(Op::OneHot(left), width)
    }

    /// Bits `hi` down to `lo`.
    pub fn slice(&mut self, arg: Value, hi: u32, lo: u32) -> Value {
        let (width, whole) = (hi + 1 - lo, self.width(arg));
        if width == whole {
            return arg;
        }
        if width == 0 {
            return self.constant(0u32, 0);
        }
        match self.design[arg].op.clone() {
            Op::Const(bits) => self.constant(bits >> lo, width),
            Op::Slice { arg, lo: inner } => self.slice(arg, hi + inner, lo + inner),
            Op::Window { offset, bit } => self.window(offset, bit + whole - 1 - hi, width),
            Op::Concat(parts) => {
                // The parts that the slice covers, from the lowest.
                let (mut at, mut covered) = (0, Vec::new());
                for part in parts.into_iter().rev() {
                    let end = at + self.width(part);
                    if at <= hi && end > lo {
                        covered.push(self.slice(part, hi.min(end - 1) - at, lo.max(at) - at));
                    }
                    at = end;
                }
                covered.reverse();
                self.concat(covered)
            }
            _ => self.pure(Op::Slice { arg, lo }, width),
        }
    }

    /// A concatenation; the first part is the highest.
    pub fn concat(&mut self, parts: Vec<Value>) -> Value {
        let mut flat: Vec<Value> = Vec::new();
        for part in parts {
            match &self.design[part].op {
                _ if self.width(part) == 0 => {}
                Op::Concat(inner) => flat.extend(inner.clone()),
                _ => flat.push(part),
            }
        }
        let mut joined: Vec<Value> = Vec::new();
        for part in flat {
            let last = joined.last().copied();
            let together = last.and_then(|last| self.join(last, part));
            match together {
                Some(one) => *joined.last_mut().expect("there is a last part") = one,
                None => joined.push(part),
            }
        }
        match joined.as_slice() {
            [] => self.constant(0u32, 0),
            [one] => *one,
            _ => {
                let width = joined.iter().map(|p| self.width(*p)).sum();
                self.pure(Op::Concat(joined), width)
            }
        }
    }

    /// Two parts of a concatenation as one, if they are constants or adjacent.
    fn join(&mut self, high: Value, low: Value) -> Option<Value> {
        let (high_width, low_width) = (self.width(high), self.width(low));
        match (self.design[high].op.clone(), self.design[low].op.clone()) {
            (Op::Const(h), Op::Const(l)) => Some(self.constant((h << low_width) + l, high_width + low_width)),
            (Op::Slice { arg: a, lo: h }, Op::Slice { arg: b, lo: l }) if a == b && l + low_width == h => {
                Some(self.slice(a, h + high_width - 1, l))
            }
            (Op::Window { offset: a, bit: h }, Op::Window { offset: b, bit: l }) if a == b && h + high_width == l => {
                Some(self.window(a, h, high_width + low_width))
            }
            _ => None,
        }
    }

    /// Extends with zeros, or cuts off.
    pub fn resize(&mut self, value: Value, width: u32) -> Value {
        let from = self.width(value);
        if width < from {
            return if width == 0 { self.constant(0u32, 0) } else { self.slice(value, width - 1, 0) };
        }
        let zeros = self.constant(0u32, width - from);
        self.concat(vec![zeros, value])
    }

    /// Extends with the sign, or cuts off.
    pub fn resize_signed(&mut self, value: Value, width: u32) -> Value {
        let from = self.width(value);
        if width <= from {
            return self.resize(value, width);
        }
        match self.as_const(value).cloned() {
            Some(bits) => self.constant(bits::cast(&bits, Type::Int(from), Type::Int(width)), width),
            None => self.pure(Op::SignExtend(value), width),
        }
    }

    /// The number of ones, in a result of `width` bits.
    pub fn ones(&mut self, value: Value, width: u32) -> Value {
        let needed = u32::BITS - self.width(value).leading_zeros();
        let count = match self.as_const(value).cloned() {
            Some(bits) => self.constant(bits.count_ones(), needed),
            None => self.pure(Op::Ones(value), needed),
        };
        self.resize(count, width)
    }

    /// A hash.
    pub fn hash(&mut self, algorithm: hopwright_ir::HashAlgorithm, data: Value, width: u32) -> Value {
        self.pure(Op::Hash(algorithm, data), width)
    }

    /// Builds an operation of another design, whose operands are already values of this one.
    pub fn rebuild(&mut self, op: Op, width: u32) -> Value {
        match op {
            Op::Const(bits) => self.constant(bits, width),
            Op::Input(input) => self.input(input),
            Op::Not(a) => self.not(a),
            Op::Binary(op, a, b) => self.binary(op, a, b),
            Op::Mux { cond, then, otherwise } => self.mux(cond, then, otherwise),
            Op::OneHot(cases) => self.one_hot(cases, width),
            Op::Slice { arg, lo } => self.slice(arg, lo + width - 1, lo),
            Op::Concat(parts) => self.concat(parts),
            Op::SignExtend(a) => self.resize_signed(a, width),
            Op::Ones(a) => self.ones(a, width),
            Op::Window { offset, bit } => self.window(offset, bit, width),
            Op::Fetch { offset } => self.fetch(offset, width),
            Op::Hash(algorithm, data) => self.hash(algorithm, data, width),
            // A lookup measures once.
            op @ Op::Color { .. } => self.pure(op, width),
            op => self.effect(op, width),
        }
    }

    /// Records that exactly one of the conditions is true when `whole` is.
    pub fn split(&mut self, whole: Value, parts: Vec<Value>) {
        let parts: Vec<Value> = parts.into_iter().filter(|p| !self.is(*p, 0)).collect();
        if let ([first, ..], true) = (parts.as_slice(), parts != [whole]) {
            self.splits_of.entry(*first).or_default().push(self.splits.len());
            self.splits.push((whole, parts));
        }
    }

    /// Whether any of some conditions is true of which at most one is.
    pub fn union(&mut self, mut conds: Vec<Value>) -> Value {
        conds.retain(|c| !self.is(*c, 0));
        conds.sort();
        conds.dedup();
        if let Some(known) = self.unions.get(&conds) {
            return *known;
        }
        let key = conds.clone();
        // Later splits are of parts of earlier ones: the latest that may be complete comes first.
        let mut left: BTreeSet<Value> = conds.into_iter().collect();
        let with_part = |part: &Value| self.splits_of.get(part).into_iter().flatten().copied();
        let mut next: BinaryHeap<usize> = left.iter().flat_map(with_part).collect();
        while let Some(at) = next.pop() {
            if left.len() < 2 {
                break;
            }
            let (whole, parts) = &self.splits[at];
            if parts.len() <= left.len() && parts.iter().all(|part| left.contains(part)) {
                parts.iter().for_each(|part| {
                    left.remove(part);
                });
                left.insert(*whole);
                next.extend(with_part(whole).filter(|earlier| *earlier < at));
            }
        }
        let conds: Vec<Value> = left.into_iter().collect();
        let value = self.any(&conds);
        self.unions.insert(key, value);
        value
    }
}

/// Builds a design anew. `place` builds what becomes of a node, given the new values of the nodes before it, or leaves the node as it is.
/// Returns the new value of each old one, too.
pub(crate) fn rewrite(
    design: &Design,
    mut place: impl FnMut(&mut Builder, Value, &[Value]) -> Option<Value>,
) -> (Design, Vec<Value>) {
    let mut b = Builder::default();
    let mut places: Vec<Value> = Vec::with_capacity(design.nodes.len());
    for (i, node) in design.nodes.iter().enumerate() {
        if i == design.split {
            b.design.split = b.design.nodes.len();
        }
        b.span = node.span;
        let new = place(&mut b, Value(i as u32), &places).unwrap_or_else(|| {
            let mut op = node.op.clone();
            op.map_operands(|v| places[v.index()]);
            b.rebuild(op, node.width)
        });
        b.hold(new, node.slot);
        places.push(new);
    }
    (b.design, places)
}

/// A number as powers of two that are added and subtracted: its ones, or its digits 1 and -1 if those are fewer (canonical signed digits).
fn terms(number: &BigUint) -> (Vec<u64>, Vec<u64>) {
    let ones: Vec<u64> = (0..number.bits()).filter(|bit| number.bit(*bit)).collect();
    let (mut plus, mut minus) = (Vec::new(), Vec::new());
    let (mut left, mut power) = (number.clone(), 0);
    while !left.is_zero() {
        if left.bit(0) {
            if left.bit(1) {
                minus.push(power);
                left += 1u32;
            } else {
                plus.push(power);
                left -= 1u32;
            }
        }
        left >>= 1u32;
        power += 1;
    }
    if ones.len() <= plus.len() + minus.len() { (ones, Vec::new()) } else { (plus, minus) }
}

/// The meaning of an operation on two values of `width` and `right` bits.
pub(crate) fn evaluate(op: Binary, a: &BigUint, b: &BigUint, width: u32, right: u32) -> BigUint {
    let (op, left) = match op {
        Binary::Add => (BinaryOp::Add, Type::Bits(width)),
        Binary::Sub => (BinaryOp::Sub, Type::Bits(width)),
        Binary::Mul => (BinaryOp::Mul, Type::Bits(width)),
        Binary::And => (BinaryOp::And, Type::Bits(width)),
        Binary::Or => (BinaryOp::Or, Type::Bits(width)),
        Binary::Xor => (BinaryOp::Xor, Type::Bits(width)),
        Binary::Shl => (BinaryOp::Shl, Type::Bits(width)),
        Binary::Shr => (BinaryOp::Shr, Type::Bits(width)),
        Binary::ShrSigned => (BinaryOp::Shr, Type::Int(width)),
        Binary::Eq => (BinaryOp::Eq, Type::Bits(width)),
        Binary::Less => (BinaryOp::Lt, Type::Bits(width)),
        Binary::LessSigned => (BinaryOp::Lt, Type::Int(width)),
    };
    bits::binary(op, a, b, left, Type::Bits(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_zero_anyway_is_not_computed() {
        let mut builder = Builder::default();
        let b = &mut builder;
        let start = b.constant(0u32, 16);
        let [x, y] = [0, 8].map(|bit| b.window(start, bit, 8)).map(|byte| b.resize(byte, 64));
        let sum = b.binary(Binary::Add, x, y);
        assert_eq!((b.width(sum), b.design.significant(sum)), (64, 9));
        let product = b.binary(Binary::Mul, sum, x);
        assert_eq!(b.design.significant(product), 17);
        let less = b.binary(Binary::Less, x, y);
        let chosen = b.mux(less, sum, x);
        assert_eq!((b.width(chosen), b.design.significant(chosen)), (64, 9));
        let widths = b.design.nodes.iter().filter(|node| !matches!(node.op, Op::Const(_) | Op::Concat(_)));
        assert_eq!(widths.map(|node| node.width).max(), Some(17));
    }

    /// A value, of one whose every window is `input`.
    fn value_of(design: &Design, value: Value, input: &BigUint) -> BigUint {
        let of = |v: &Value| value_of(design, *v, input);
        let width = |v: &Value| design[*v].width;
        let mask = |bits: u32| (BigUint::one() << bits) - 1u32;
        match &design[value].op {
            Op::Const(bits) => bits.clone(),
            Op::Window { .. } => input.clone(),
            Op::Slice { arg, lo } => (of(arg) >> *lo) & mask(design[value].width),
            Op::Concat(parts) => parts.iter().fold(BigUint::zero(), |all, part| (all << width(part)) | of(part)),
            Op::Binary(op, a, b) => evaluate(*op, &of(a), &of(b), width(a), width(b)),
            other => panic!("not in a product: {other:?}"),
        }
    }

    /// A design with the product of a window of this many bits and a constant, both extended to a width.
    fn product(bits: u32, factor: u64, width: u32) -> (Builder, Value) {
        let mut builder = Builder::default();
        let start = builder.constant(0u32, 16);
        let (window, factor) = (builder.window(start, 0, bits), builder.constant(factor, width));
        let window = builder.resize(window, width);
        let product = builder.binary(Binary::Mul, window, factor);
        (builder, product)
    }

    fn multiplies(design: &Design) -> bool {
        design.nodes.iter().any(|node| matches!(node.op, Op::Binary(Binary::Mul, ..)))
    }

    #[test]
    fn products_with_few_digits_are_sums() {
        for (factor, sums) in
            [(96u64, true), (3, true), (15_625, true), (61_115, true), (255, true), (0x5555_5555, false)]
        {
            let (b, product) = product(16, factor, 64);
            assert!(!sums || b.design.significant(product) <= 16 + 64 - factor.leading_zeros());
            assert_eq!(multiplies(&b.design), !sums, "{factor}");
            for input in [0u64, 1, 2, 0x1234, 0x7fff, 0x8000, 0xffff] {
                let value = value_of(&b.design, product, &BigUint::from(input));
                assert_eq!(value, BigUint::from(input * factor), "{input} * {factor}");
            }
        }
    }

    #[test]
    fn products_that_overflow_are_sums() {
        let (b, product) = product(16, 61_115, 16);
        for input in [3u32, 0x8001, 0xffff] {
            let value = value_of(&b.design, product, &BigUint::from(input));
            assert_eq!(value, BigUint::from((u64::from(input) * 61_115) & 0xffff));
        }
    }

    #[test]
    fn products_with_two_ones_are_shifts() {
        let (b, product) = product(8, 96, 32);
        assert_eq!(b.design.significant(product), 15);
        assert!(!multiplies(&b.design));
    }
}
