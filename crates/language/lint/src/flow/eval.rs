//! Expressions: what they read, and what is known about their values.

use hopwright_sema::hir::*;
use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::place::{PlaceId, Step};
use super::state::{Fact, State, tidy};
use super::{Flow, compares};

/// Paths with the value of an expression, if it is known.
pub(super) type Values = Vec<(State, Option<i128>)>;

impl<'p> Flow<'p> {
    /// The place that an l-value denotes; `None` if that depends on unknown values.
    pub(super) fn place(&mut self, s: &State, e: &Expr) -> Option<PlaceId> {
        match &e.kind {
            ExprKind::Var(v) => Some(self.places.var(*v)),
            ExprKind::Field(base, i) => {
                let base = self.place(s, base)?;
                self.places.step(base, Step::Field(*i))
            }
            ExprKind::Index(base, index) => {
                let base = self.place(s, base)?;
                let i = self.peek(s, index)?;
                self.places.step(base, Step::Element(u32::try_from(i).ok()?))
            }
            ExprKind::StackNext(base) | ExprKind::StackLast(base) => {
                let base = self.place(s, base)?;
                let Some(Fact::Next(n)) = s.get(base) else { return None };
                let i = if matches!(e.kind, ExprKind::StackNext(_)) { *n } else { n.checked_sub(1)? };
                self.places.step(base, Step::Element(i))
            }
            _ => None,
        }
    }

    /// The value of an index, without recording its reads.
    fn peek(&mut self, s: &State, e: &Expr) -> Option<i128> {
        match &e.kind {
            ExprKind::Int(i) => i.to_i128(),
            ExprKind::Cast(inner) => self.peek(s, inner),
            _ => {
                let place = self.place(s, e)?;
                match s.get(place) {
                    Some(Fact::Is(v)) => Some(*v),
                    _ => None,
                }
            }
        }
    }

    /// Records the reads inside an l-value: its indexes.
    pub(super) fn indexes(&mut self, s: State, e: &'p Expr) -> Vec<State> {
        match &e.kind {
            ExprKind::Field(base, _)
            | ExprKind::StackNext(base)
            | ExprKind::StackLast(base)
            | ExprKind::Slice(base, ..) => self.indexes(s, base),
            ExprKind::Index(base, index) => {
                let states = self.indexes(s, base);
                if matches!(index.kind, ExprKind::Int(_)) {
                    return states;
                }
                states.into_iter().flat_map(|s| self.eval(s, index)).map(|(s, _)| s).collect()
            }
            ExprKind::Var(_) => vec![s],
            _ => self.eval(s, e).into_iter().map(|(s, _)| s).collect(),
        }
    }

    /// Evaluates: records reads, and splits paths.
    pub(super) fn eval(&mut self, s: State, e: &'p Expr) -> Values {
        if !self.down() {
            self.up();
            return vec![(s, None)];
        }
        let values = self.eval_inner(s, e);
        self.up();
        values
    }

    fn eval_inner(&mut self, s: State, e: &'p Expr) -> Values {
        match &e.kind {
            ExprKind::Int(i) => vec![(s, i.to_i128())],
            ExprKind::Bool(b) => vec![(s, Some(i128::from(*b)))],
            ExprKind::Error(i) | ExprKind::EnumMember(_, i) => vec![(s, Some(*i as i128))],
            ExprKind::String(_) | ExprKind::Object(_) | ExprKind::Invalid => vec![(s, None)],
            ExprKind::Var(_)
            | ExprKind::Field(..)
            | ExprKind::Index(..)
            | ExprKind::StackNext(_)
            | ExprKind::StackLast(_) => self.read(s, e),
            ExprKind::StackLastIndex(stack) => {
                let next = self.place(&s, stack).and_then(|p| match s.get(p) {
                    Some(Fact::Next(n)) => Some(i128::from(*n) - 1),
                    _ => None,
                });
                vec![(s, next.filter(|n| *n >= 0))]
            }
            ExprKind::Aggregate { members, order } => {
                let mut states = vec![s];
                for i in order {
                    states = self.each(states, &members[*i]);
                }
                states.into_iter().map(|s| (s, None)).collect()
            }
            ExprKind::Unary(op, inner) => {
                let values = self.eval(s, inner);
                values
                    .into_iter()
                    .map(|(s, v)| {
                        let v = v.and_then(|v| match op {
                            UnaryOp::Not => Some(1 - v),
                            UnaryOp::Neg => fit(v.checked_neg()?, &e.ty),
                            UnaryOp::BitNot => fit(!v, &e.ty),
                        });
                        (s, v)
                    })
                    .collect()
            }
            ExprKind::Binary(op, a, b) if !compares(*op) => {
                let mut out = Vec::new();
                for (s, left) in self.eval(s, a) {
                    for (s, right) in self.eval(s, b) {
                        let v = left.zip(right).and_then(|(a, b)| compute(*op, a, b)).and_then(|v| fit(v, &e.ty));
                        out.push((s, v));
                    }
                }
                out
            }
            ExprKind::Mux(c, a, b) => {
                let (yes, no) = self.cond(s, c);
                let mut out = Vec::new();
                for s in yes {
                    out.extend(self.eval(s, a));
                }
                for s in no {
                    out.extend(self.eval(s, b));
                }
                out
            }
            ExprKind::Slice(inner, hi, lo) => {
                let (hi, lo) = (*hi, *lo);
                let values = self.eval(s, inner);
                let part = |v: i128| (hi < 120 && v >= 0).then(|| (v >> lo) & ((1 << (hi - lo + 1)) - 1));
                values.into_iter().map(|(s, v)| (s, v.and_then(part))).collect()
            }
            ExprKind::Cast(inner) => {
                let values = self.eval(s, inner);
                values.into_iter().map(|(s, v)| (s, v.and_then(|v| fit(v, &e.ty)))).collect()
            }
            ExprKind::Call(call) if !is_question(call) => self.call_value(s, call),
            // What is true or false.
            ExprKind::Binary(..) | ExprKind::TableHit(..) | ExprKind::Call(_) => {
                let (yes, no) = self.cond(s, e);
                let yes = tidy(self.paths, yes).into_iter().map(|s| (s, Some(1)));
                yes.chain(tidy(self.paths, no).into_iter().map(|s| (s, Some(0)))).collect()
            }
        }
    }

    /// Evaluates on each path and keeps only the paths.
    pub(super) fn each(&mut self, states: Vec<State>, e: &'p Expr) -> Vec<State> {
        states.into_iter().flat_map(|s| self.eval(s, e)).map(|(s, _)| s).collect()
    }

    fn read(&mut self, s: State, e: &'p Expr) -> Values {
        let scalar = !matches!(
            e.ty,
            Type::Struct(_) | Type::Header(_) | Type::Union(_) | Type::Stack(..) | Type::Tuple(_) | Type::Extern(_)
        );
        let mut out = Vec::new();
        for s in self.indexes(s, e) {
            let place = self.place(&s, e).filter(|_| scalar);
            let value = place.and_then(|p| match s.get(p) {
                Some(Fact::Is(v)) => Some(*v),
                _ => None,
            });
            if let Some(p) = place {
                self.note_read(&s, p, e.span);
            }
            out.push((s, value));
        }
        out
    }

    /// The paths on which a condition is true, and those on which it is false.
    pub(super) fn cond(&mut self, s: State, e: &'p Expr) -> (Vec<State>, Vec<State>) {
        if !self.down() {
            self.up();
            return (vec![s.clone()], vec![s]);
        }
        let paths = self.cond_inner(s, e);
        self.up();
        paths
    }

    fn cond_inner(&mut self, s: State, e: &'p Expr) -> (Vec<State>, Vec<State>) {
        match &e.kind {
            ExprKind::Unary(UnaryOp::Not, inner) => {
                let (yes, no) = self.cond(s, inner);
                (no, yes)
            }
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                let (yes, no) = self.cond(s, a);
                let and = *op == BinaryOp::And;
                let (go_on, mut decided) = if and { (yes, no) } else { (no, yes) };
                let mut other = Vec::new();
                for s in go_on {
                    let (yes, no) = self.cond(s, b);
                    other.extend(if and { yes.clone() } else { no.clone() });
                    decided.extend(if and { no } else { yes });
                }
                let (other, decided) = (tidy(self.paths, other), tidy(self.paths, decided));
                if and { (other, decided) } else { (decided, other) }
            }
            ExprKind::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), a, b) => {
                let (mut yes, mut no) = (Vec::new(), Vec::new());
                for (s, left) in self.eval(s, a) {
                    for (s, right) in self.eval(s, b) {
                        let (same, other) = self.equal(s, (a, left), (b, right));
                        yes.extend(same);
                        no.extend(other);
                    }
                }
                if *op == BinaryOp::Eq { (yes, no) } else { (no, yes) }
            }
            ExprKind::Binary(op @ (BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge), a, b) => {
                let (mut yes, mut no) = (Vec::new(), Vec::new());
                for (s, left) in self.eval(s, a) {
                    for (s, right) in self.eval(s, b) {
                        let result = left.zip(right).map(|(a, b)| match op {
                            BinaryOp::Lt => a < b,
                            BinaryOp::Le => a <= b,
                            BinaryOp::Gt => a > b,
                            _ => a >= b,
                        });
                        split(s, result, &mut yes, &mut no);
                    }
                }
                (yes, no)
            }
            ExprKind::TableHit(table, hit) => {
                let (mut yes, mut no) = (Vec::new(), Vec::new());
                for ran in self.apply(s, *table) {
                    if ran.hit == *hit { &mut yes } else { &mut no }.push(ran.state);
                }
                (tidy(self.paths, yes), tidy(self.paths, no))
            }
            ExprKind::Call(call) if is_question(call) => {
                let Callee::Builtin(receiver, _) = &call.callee else { return (vec![s.clone()], vec![s]) };
                let (mut yes, mut no) = (Vec::new(), Vec::new());
                for s in self.indexes(s, receiver) {
                    match self.place(&s, receiver) {
                        Some(p) => self.valid(s, p, &mut yes, &mut no),
                        None => split(s, None, &mut yes, &mut no),
                    }
                }
                (yes, no)
            }
            ExprKind::Var(_) | ExprKind::Field(..) | ExprKind::Index(..) => {
                let (mut yes, mut no) = (Vec::new(), Vec::new());
                for (s, value) in self.eval(s, e) {
                    match self.place(&s, e).filter(|p| value.is_none() && self.worth(*p)) {
                        Some(p) => {
                            yes.extend(s.clone().when(p, 1, true, true));
                            no.extend(s.when(p, 0, true, true));
                        }
                        None => split(s, value.map(|v| v != 0), &mut yes, &mut no),
                    }
                }
                (yes, no)
            }
            _ => {
                let (mut yes, mut no) = (Vec::new(), Vec::new());
                for (s, value) in self.eval(s, e) {
                    split(s, value.map(|v| v != 0), &mut yes, &mut no);
                }
                (yes, no)
            }
        }
    }

    /// `isValid()` of a header or union.
    fn valid(&mut self, s: State, place: PlaceId, yes: &mut Vec<State>, no: &mut Vec<State>) {
        if let Type::Union(id) = *self.places.ty(place) {
            let members: Vec<PlaceId> =
                (0..self.program[id].fields.len()).filter_map(|i| self.places.step(place, Step::Field(i))).collect();
            let any = members.iter().any(|m| s.get(*m) == Some(&Fact::Valid));
            let none = members.iter().all(|m| s.get(*m) == Some(&Fact::Invalid));
            let known = if any { Some(true) } else { none.then_some(false) };
            return split(s, known, yes, no);
        }
        match s.get(place) {
            Some(Fact::Valid) => yes.push(s),
            Some(Fact::Invalid) => no.push(s),
            _ => {
                let (mut valid, mut invalid) = (s.clone(), s);
                valid.set(place, Fact::Valid);
                invalid.set(place, Fact::Invalid);
                yes.push(valid);
                no.push(invalid);
            }
        }
    }

    /// The paths on which two values are equal, and those on which they are not.
    pub(super) fn equal(
        &mut self,
        s: State,
        a: (&Expr, Option<i128>),
        b: (&Expr, Option<i128>),
    ) -> (Option<State>, Option<State>) {
        let (e, value) = match (a.1, b.1) {
            (Some(x), Some(y)) => return if x == y { (Some(s), None) } else { (None, Some(s)) },
            (None, Some(v)) => (a.0, v),
            (Some(v), None) => (b.0, v),
            (None, None) => return (Some(s.clone()), Some(s)),
        };
        match self.place(&s, e).filter(|p| self.worth(*p)) {
            Some(p) => {
                let one_bit = matches!(e.ty, Type::Bool | Type::Bits(1));
                (s.clone().when(p, value, true, one_bit), s.when(p, value, false, one_bit))
            }
            None => (Some(s.clone()), Some(s)),
        }
    }

    /// The paths on which a key is in a set, and those on which it may not be.
    pub(super) fn in_set(
        &mut self,
        s: State,
        key: &'p Expr,
        value: Option<i128>,
        set: &'p Set,
    ) -> (Vec<State>, Vec<State>) {
        let both = |s: State| (vec![s.clone()], vec![s]);
        match set {
            Set::Any => (vec![s], Vec::new()),
            Set::Value(e) => match &e.kind {
                ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Error(_) | ExprKind::EnumMember(..) => {
                    let constant = constant(e);
                    let (yes, no) = self.equal(s, (key, value), (e, constant));
                    (yes.into_iter().collect(), no.into_iter().collect())
                }
                _ => both(s),
            },
            Set::Mask(v, m) => match (value, constant(v), constant(m)) {
                (Some(x), Some(v), Some(m)) if x & m == v & m => (vec![s], Vec::new()),
                (Some(_), Some(_), Some(_)) => (Vec::new(), vec![s]),
                _ => both(s),
            },
            Set::Range(lo, hi) => match (value, constant(lo), constant(hi)) {
                (Some(x), Some(lo), Some(hi)) if lo <= x && x <= hi => (vec![s], Vec::new()),
                (Some(_), Some(_), Some(_)) => (Vec::new(), vec![s]),
                _ => both(s),
            },
            Set::ValueSet(_) => both(s),
        }
    }
}

fn constant(e: &Expr) -> Option<i128> {
    match &e.kind {
        ExprKind::Int(i) => i.to_i128(),
        ExprKind::Bool(b) => Some(i128::from(*b)),
        ExprKind::Error(i) | ExprKind::EnumMember(_, i) => Some(*i as i128),
        _ => None,
    }
}

/// `isValid()`.
fn is_question(call: &Call) -> bool {
    matches!(&call.callee, Callee::Builtin(_, name) if name == "isValid")
}

/// Adds a path to the side that a condition's value selects, or to both.
pub(super) fn split(s: State, value: Option<bool>, yes: &mut Vec<State>, no: &mut Vec<State>) {
    match value {
        Some(true) => yes.push(s),
        Some(false) => no.push(s),
        None => {
            yes.push(s.clone());
            no.push(s);
        }
    }
}

fn compute(op: BinaryOp, a: i128, b: i128) -> Option<i128> {
    match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Sub => a.checked_sub(b),
        BinaryOp::BitAnd => Some(a & b),
        BinaryOp::BitOr => Some(a | b),
        BinaryOp::BitXor => Some(a ^ b),
        BinaryOp::Shl if (0..64).contains(&b) => a.checked_mul(1 << b),
        BinaryOp::Shr if (0..127).contains(&b) => Some(a >> b),
        _ => None,
    }
}

/// The value truncated to the type; `None` for types that are too wide to track.
fn fit(value: i128, ty: &Type) -> Option<i128> {
    match ty {
        Type::Bits(w) if *w < 127 => Some(value & ((1 << w) - 1)),
        Type::Int(w) if (1..127).contains(w) => {
            let bits = value & ((1 << w) - 1);
            Some(if bits >> (w - 1) & 1 == 1 { bits - (1 << w) } else { bits })
        }
        Type::Bool => Some(i128::from(value != 0)),
        Type::Enum(_) => Some(value),
        Type::InfInt => BigInt::from(value).to_i128(),
        _ => None,
    }
}
