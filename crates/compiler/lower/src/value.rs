//! Values of any type: reading, writing, zeroing, comparing and flattening.

use std::collections::HashSet;
use std::rc::Rc;

use hopwright_source::Span;

use crate::storage::{Loc, Place};
use crate::{Lowering, Result};
use hopwright_ir::walk;
use hopwright_ir::{BinaryOp, Expr, ExprKind, HeaderId, SlotId, StmtKind, Type, UnaryOp};

/// The value of an expression.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A scalar, as a pure expression.
    Scalar(Expr),
    /// Members of a struct or tuple or, where a header is expected, of a valid header.
    Tree(Rc<[Value]>),
    /// `{#}`, the invalid header.
    Invalid,
    /// The value at a location.
    Loc(Loc),
}

/// The target of a write: a location, or some bits of it.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub loc: Loc,
    /// `[hi:lo]` of a scalar.
    pub slice: Option<(u32, u32)>,
}

impl Target {
    /// Returns the place if the target is a whole place known at compile time.
    pub(crate) fn whole_place(&self) -> Option<&Place> {
        match (&self.loc, self.slice) {
            (Loc::Place(place), None) => Some(place),
            _ => None,
        }
    }
}

impl Lowering<'_> {
    /// Returns a slot's value.
    pub(crate) fn slot_expr(&self, slot: SlotId, span: Span) -> Expr {
        Expr::slot(slot, self.slots[slot.index()].ty, span)
    }

    /// Returns the scalar at a location. It is zero if a run-time index is out of range.
    pub(crate) fn read(&mut self, loc: &Loc, span: Span) -> Result<Expr> {
        match loc {
            Loc::Place(Place::Scalar(slot)) => Ok(self.slot_expr(*slot, span)),
            Loc::Place(_) => Err(self.unsupported(span, "this use of a value that is no scalar")),
            Loc::Select { index, options } => {
                let mut result: Option<Expr> = None;
                for (i, option) in options.iter().enumerate().rev() {
                    let value = self.read(option, span)?;
                    let otherwise = match result {
                        Some(r) => r,
                        None => self.zero_expr(value.ty, span),
                    };
                    result = Some(match equals_number(index, i as u64, span) {
                        Some(cond) => mux(cond, value, otherwise, span),
                        None => otherwise,
                    });
                }
                result.ok_or_else(|| self.unsupported(span, "indexing an empty stack"))
            }
        }
    }

    /// Returns zero of a scalar type. For a varbit, this is a slot that nothing writes.
    pub(crate) fn zero_expr(&mut self, ty: Type, span: Span) -> Expr {
        if let Type::Varbit(w) = ty {
            let slot = match self.empty_varbits.get(&w) {
                Some(&slot) => slot,
                None => {
                    let slot = self.new_slot(&format!("$empty{w}"), ty, hopwright_ir::SlotKind::Local, span);
                    self.empty_varbits.insert(w, slot);
                    slot
                }
            };
            return Expr::slot(slot, ty, span);
        }
        Expr::constant(0u32, ty, span)
    }

    /// Returns member `index` of a value.
    pub(crate) fn value_field(&mut self, value: &Value, index: usize, span: Span) -> Result<Value> {
        let field = match value {
            Value::Tree(members) => members.get(index).cloned(),
            Value::Loc(loc) => self.loc_field(loc, index).map(Value::Loc),
            Value::Scalar(_) | Value::Invalid => None,
        };
        field.ok_or_else(|| self.unsupported(span, "this member access"))
    }

    /// Returns a value that must be a scalar.
    pub(crate) fn as_scalar(&mut self, value: Value, span: Span) -> Result<Expr> {
        match value {
            Value::Scalar(e) => Ok(e),
            Value::Loc(loc) => self.read(&loc, span),
            Value::Tree(_) | Value::Invalid => Err(self.unsupported(span, "this use of a value that is no scalar")),
        }
    }

    /// Collects the value's scalars in order, including members of headers but not validity.
    pub(crate) fn flatten(&mut self, value: &Value, span: Span, out: &mut Vec<Expr>) -> Result<()> {
        match value {
            Value::Scalar(e) => out.push(e.clone()),
            Value::Tree(members) => {
                for m in members.iter() {
                    self.flatten(m, span, out)?;
                }
            }
            Value::Loc(Loc::Place(place)) => {
                let mut slots = Vec::new();
                self.scalars_in(place, &mut slots);
                out.extend(slots.into_iter().map(|s| self.slot_expr(s, span)));
            }
            Value::Loc(loc @ Loc::Select { .. }) => {
                let place = self.copy_of(loc, span)?;
                self.flatten(&Value::Loc(Loc::Place(place)), span, out)?;
            }
            Value::Invalid => return Err(self.unsupported(span, "an invalid header as data")),
        }
        Ok(())
    }

    /// Copies the current value of a location to a temporary.
    fn copy_of(&mut self, loc: &Loc, span: Span) -> Result<Place> {
        let place = self.like(first_place(loc), span)?;
        self.store_loc(&Loc::Place(place.clone()), Value::Loc(loc.clone()), span)?;
        Ok(place)
    }

    /// Allocates temporary storage with the shape of `place`.
    fn like(&mut self, place: Option<&Place>, span: Span) -> Result<Place> {
        Ok(match place {
            Some(Place::Scalar(slot)) => {
                let ty = self.slots[slot.index()].ty;
                Place::Scalar(self.temp(ty, span))
            }
            Some(Place::Struct(places)) => {
                let copies: Result<Vec<Place>> = places.iter().map(|p| self.like(Some(p), span)).collect();
                Place::Struct(copies?.into())
            }
            Some(place) => {
                let ty = self.headers_type(place);
                let name = format!("{}.$tmp", self.scope);
                self.alloc(&ty, &name, crate::storage::Purpose::Local, span)?
            }
            None => return Err(self.unsupported(span, "a temporary copy of this value")),
        })
    }

    /// Stores a value into a target.
    pub(crate) fn store(&mut self, target: &Target, value: Value, span: Span) -> Result<()> {
        match target.slice {
            None => self.store_loc(&target.loc, value, span),
            Some((hi, lo)) => {
                let value = self.as_scalar(value, span)?;
                self.store_slice(&target.loc, hi, lo, value, span)
            }
        }
    }

    fn store_slice(&mut self, loc: &Loc, hi: u32, lo: u32, value: Expr, span: Span) -> Result<()> {
        match loc {
            Loc::Place(Place::Scalar(slot)) => {
                self.before_part_of_port(*slot, span);
                self.emit(StmtKind::AssignSlice { slot: *slot, hi, lo, value }, span);
                Ok(())
            }
            Loc::Place(_) => Err(self.unsupported(span, "a slice of a value that is no scalar")),
            Loc::Select { index, options } => self.switch_on_index(index, options, span, |this, option| {
                this.store_slice(option, hi, lo, value.clone(), span)
            }),
        }
    }

    /// Emits a switch over a run-time index, with `f` for each option.
    pub(crate) fn switch_on_index(
        &mut self,
        index: &Expr,
        options: &[Loc],
        span: Span,
        mut f: impl FnMut(&mut Self, &Loc) -> Result<()>,
    ) -> Result<()> {
        let mut cases = Vec::new();
        for (i, option) in options.iter().enumerate() {
            if fits(i as u64, index.ty.width()) {
                let block = self.nested(|this| f(this, option))?;
                cases.push((vec![(i as u64).into()], block));
            }
        }
        self.emit(StmtKind::Switch { value: index.clone(), cases, default: Vec::new() }, span);
        Ok(())
    }

    /// Stores a value into a location.
    pub(crate) fn store_loc(&mut self, loc: &Loc, value: Value, span: Span) -> Result<()> {
        match loc {
            Loc::Select { index, options } => {
                self.switch_on_index(index, options, span, |this, option| this.store_loc(option, value.clone(), span))
            }
            Loc::Place(place) => match value {
                Value::Loc(Loc::Place(source)) => self.copy(place, &source, span),
                Value::Loc(source @ Loc::Select { .. }) => self.store_select(place, &source, span),
                Value::Tree(_) => {
                    let mut written = Vec::new();
                    self.slots_in(place, &mut written);
                    if let Place::Header(h) = place {
                        let siblings = self.siblings(*h);
                        written.extend(siblings.iter().map(|s| self.headers[s.index()].valid));
                    }
                    let written: HashSet<SlotId> = written.into_iter().collect();
                    let value = self.detach(value, &written, span)?;
                    self.store_tree(place, value, span)
                }
                value => self.store_tree(place, value, span),
            },
        }
    }

    /// Stores the value of a run-time-indexed location.
    fn store_select(&mut self, place: &Place, source: &Loc, span: Span) -> Result<()> {
        if let Place::Scalar(slot) = place {
            let value = self.read(source, span)?;
            self.emit(StmtKind::Assign(*slot, value), span);
            return Ok(());
        }
        let Loc::Select { index, options } = source else {
            return Ok(());
        };
        let mut cases = Vec::new();
        for (i, option) in options.iter().enumerate() {
            if fits(i as u64, index.ty.width()) {
                let block =
                    self.nested(|this| this.store_loc(&Loc::Place(place.clone()), Value::Loc(option.clone()), span))?;
                cases.push((vec![(i as u64).into()], block));
            }
        }
        let default = self.nested(|this| this.blank(place, span))?;
        self.emit(StmtKind::Switch { value: index.clone(), cases, default }, span);
        Ok(())
    }

    /// Stores a value whose parts read nothing that the store writes.
    fn store_tree(&mut self, place: &Place, value: Value, span: Span) -> Result<()> {
        match (place, value) {
            (Place::Scalar(slot), Value::Scalar(e)) => {
                if !matches!(e.kind, ExprKind::Slot(s) if s == *slot) {
                    self.emit(StmtKind::Assign(*slot, e), span);
                }
                Ok(())
            }
            (_, Value::Loc(Loc::Place(source))) => self.copy(place, &source, span),
            (_, Value::Loc(source)) => self.store_select(place, &source, span),
            (Place::Struct(places), Value::Tree(members)) if places.len() == members.len() => {
                for (p, m) in places.iter().zip(members.iter()) {
                    self.store_tree(p, m.clone(), span)?;
                }
                Ok(())
            }
            (Place::Header(h), Value::Tree(members)) => {
                let places = self.header_places[h.index()].clone();
                if places.len() != members.len() {
                    return Err(self.unsupported(span, "this header value"));
                }
                self.set_valid(*h, span);
                for (p, m) in places.iter().zip(members.iter()) {
                    self.store_tree(p, m.clone(), span)?;
                }
                Ok(())
            }
            (Place::Stack(_) | Place::Unions(_), Value::Tree(members)) => {
                let elements = self.elements(place);
                if elements.len() < members.len() {
                    return Err(self.unsupported(span, "this stack value"));
                }
                for (p, m) in elements.iter().zip(members.iter()) {
                    self.store_tree(p, m.clone(), span)?;
                }
                Ok(())
            }
            (Place::Header(_) | Place::Union(_) | Place::Stack(_) | Place::Unions(_), Value::Invalid) => {
                self.blank(place, span)
            }
            _ => Err(self.unsupported(span, "this assignment")),
        }
    }

    /// Replaces every part of `value` that reads a slot of `written` by a temporary.
    fn detach(&mut self, value: Value, written: &HashSet<SlotId>, span: Span) -> Result<Value> {
        Ok(match value {
            Value::Scalar(e) => {
                let mut hit = false;
                walk::expr_slots(&e, &mut |s| hit |= written.contains(&s));
                if hit { Value::Scalar(self.freeze(e)) } else { Value::Scalar(e) }
            }
            Value::Tree(members) => {
                let members: Result<Vec<Value>> =
                    members.iter().map(|m| self.detach(m.clone(), written, span)).collect();
                Value::Tree(members?.into())
            }
            Value::Invalid => Value::Invalid,
            Value::Loc(loc) => {
                let mut slots = Vec::new();
                self.loc_slots(&loc, &mut slots);
                if slots.iter().any(|s| written.contains(s)) {
                    self.freeze_value(Value::Loc(loc), span)?
                } else {
                    Value::Loc(loc)
                }
            }
        })
    }

    /// Collects the slots that a location may access, including those that its indices read.
    pub(crate) fn loc_slots(&self, loc: &Loc, out: &mut Vec<SlotId>) {
        match loc {
            Loc::Place(place) => self.slots_in(place, out),
            Loc::Select { index, options } => {
                walk::expr_slots(index, &mut |s| out.push(s));
                options.iter().for_each(|o| self.loc_slots(o, out));
            }
        }
    }

    /// Collects the slots that a value reads.
    pub(crate) fn value_slots(&self, value: &Value, out: &mut Vec<SlotId>) {
        match value {
            Value::Scalar(e) => walk::expr_slots(e, &mut |s| out.push(s)),
            Value::Tree(members) => members.iter().for_each(|m| self.value_slots(m, out)),
            Value::Invalid => {}
            Value::Loc(loc) => self.loc_slots(loc, out),
        }
    }

    /// Returns the expression's current value, in a temporary unless nothing can change it.
    pub(crate) fn freeze(&mut self, e: Expr) -> Expr {
        if !reads_slots(&e) {
            return e;
        }
        let slot = self.temp(e.ty, e.span);
        let (ty, span) = (e.ty, e.span);
        self.emit(StmtKind::Assign(slot, e), span);
        Expr::slot(slot, ty, span)
    }

    /// Returns the current value, in temporaries unless nothing can change it.
    pub(crate) fn freeze_value(&mut self, value: Value, span: Span) -> Result<Value> {
        Ok(match value {
            Value::Scalar(e) => Value::Scalar(self.freeze(e)),
            Value::Tree(members) => {
                let members: Result<Vec<Value>> = members.iter().map(|m| self.freeze_value(m.clone(), span)).collect();
                Value::Tree(members?.into())
            }
            Value::Invalid => Value::Invalid,
            Value::Loc(loc) => Value::Loc(Loc::Place(self.copy_of(&loc, span)?)),
        })
    }

    /// Returns the location with its run-time indices evaluated.
    pub(crate) fn freeze_loc(&mut self, loc: Loc) -> Loc {
        match loc {
            Loc::Place(_) => loc,
            Loc::Select { index, options } => {
                let index = self.freeze(index);
                let options: Vec<Loc> = options.iter().map(|o| self.freeze_loc(o.clone())).collect();
                Loc::Select { index, options: options.into() }
            }
        }
    }

    /// Copies between places of the same type.
    fn copy(&mut self, to: &Place, from: &Place, span: Span) -> Result<()> {
        if to == from {
            if let Place::Header(h) = to {
                self.invalidate_siblings(*h, span);
            }
            return Ok(());
        }
        match (to, from) {
            (Place::Scalar(t), Place::Scalar(f)) => {
                let value = self.slot_expr(*f, span);
                self.emit(StmtKind::Assign(*t, value), span);
            }
            (Place::Struct(ts), Place::Struct(fs)) if ts.len() == fs.len() => {
                for (t, f) in ts.iter().zip(fs.iter()) {
                    self.copy(t, f, span)?;
                }
            }
            (Place::Header(t), Place::Header(f)) => {
                self.emit(StmtKind::CopyHeader { dst: *t, src: *f }, span);
                self.invalidate_siblings(*t, span);
            }
            (Place::Header(t), Place::Struct(fs)) => {
                let members: Vec<Value> = fs.iter().map(|f| Value::Loc(Loc::Place(f.clone()))).collect();
                self.store_tree(&Place::Header(*t), Value::Tree(members.into()), span)?;
            }
            (Place::Struct(ts), Place::Header(f)) => {
                let fs = self.header_places[f.index()].clone();
                for (t, f) in ts.iter().zip(fs.iter()) {
                    self.copy(t, f, span)?;
                }
            }
            (Place::Union(t), Place::Union(f)) => {
                let pairs: Vec<(HeaderId, HeaderId)> = (self.unions[t.index()].members.iter().copied())
                    .zip(self.unions[f.index()].members.iter().copied())
                    .collect();
                for (dst, src) in pairs {
                    self.emit(StmtKind::CopyHeader { dst, src }, span);
                }
            }
            (Place::Stack(t), Place::Stack(f)) => {
                let pairs: Vec<(HeaderId, HeaderId)> = (self.stacks[t.index()].elements.iter().copied())
                    .zip(self.stacks[f.index()].elements.iter().copied())
                    .collect();
                for (dst, src) in pairs {
                    self.emit(StmtKind::CopyHeader { dst, src }, span);
                }
                let next = self.slot_expr(self.stacks[f.index()].next_index, span);
                let to_next = self.stacks[t.index()].next_index;
                self.emit(StmtKind::Assign(to_next, next), span);
            }
            (Place::Unions(t), Place::Unions(f)) => {
                for (&t, &f) in t.unions.iter().zip(&f.unions) {
                    self.copy(&Place::Union(t), &Place::Union(f), span)?;
                }
                let next = self.slot_expr(f.next, span);
                self.emit(StmtKind::Assign(t.next, next), span);
            }
            _ => return Err(self.unsupported(span, "this assignment")),
        }
        Ok(())
    }

    /// Zeroes a place: scalars become zero, headers invalid, stacks empty.
    pub(crate) fn zero(&mut self, place: &Place, span: Span) -> Result<()> {
        match place {
            Place::Scalar(slot) => {
                let zero = self.zero_expr(self.slots[slot.index()].ty, span);
                self.emit(StmtKind::Assign(*slot, zero), span);
            }
            Place::Struct(places) => {
                for p in places.iter() {
                    self.zero(p, span)?;
                }
            }
            Place::Header(h) => self.set_invalid(*h, span),
            Place::Union(_) | Place::Stack(_) | Place::Unions(_) => {
                let mut headers = Vec::new();
                self.headers_in(place, &mut headers);
                for h in headers {
                    self.emit(StmtKind::SetInvalid(h), span);
                }
                if let Some(next) = self.next_index(place) {
                    self.emit(StmtKind::Assign(next, Expr::constant(0u32, Type::Bits(32), span)), span);
                }
            }
        }
        Ok(())
    }

    /// Stores what is beyond a stack, an invalid header, or what a variable has without an initialiser: fields become zero, too.
    pub(crate) fn blank(&mut self, place: &Place, span: Span) -> Result<()> {
        let mut headers = Vec::new();
        self.headers_in(place, &mut headers);
        headers.into_iter().for_each(|header| self.zero_fields(header, span));
        self.zero(place, span)
    }

    pub(crate) fn zero_fields(&mut self, header: HeaderId, span: Span) {
        for slot in self.headers[header.index()].fields.iter().map(|field| field.slot).collect::<Vec<_>>() {
            let zero = self.zero_expr(self.slots[slot.index()].ty, span);
            self.emit(StmtKind::Assign(slot, zero), span);
        }
    }

    /// Returns the other members of the header's union.
    pub(crate) fn siblings(&self, header: HeaderId) -> Vec<HeaderId> {
        match self.headers[header.index()].union {
            Some(union) => self.unions[union.index()].members.iter().copied().filter(|&h| h != header).collect(),
            None => Vec::new(),
        }
    }

    /// Makes a header valid and the other members of its union invalid. On a Tofino the fields of an invalid header keep what is written to
    /// them; elsewhere they become zero.
    pub(crate) fn set_valid(&mut self, header: HeaderId, span: Span) {
        self.invalidate_siblings(header, span);
        let kind = match self.is_tofino() {
            true => StmtKind::Assign(self.headers[header.index()].valid, Expr::boolean(true, span)),
            false => StmtKind::SetValid(header),
        };
        self.emit(kind, span);
    }

    /// Makes a header invalid. That makes the union that it is a member of invalid (P4-16 8.20).
    pub(crate) fn set_invalid(&mut self, header: HeaderId, span: Span) {
        self.emit(StmtKind::SetInvalid(header), span);
        self.invalidate_siblings(header, span);
    }

    /// Makes the other members of a header's union invalid: only the member that was assigned last can be valid, and no
    /// member is if that one is invalid (P4-16 8.20).
    fn invalidate_siblings(&mut self, header: HeaderId, span: Span) {
        for sibling in self.siblings(header) {
            self.emit(StmtKind::SetInvalid(sibling), span);
        }
    }

    /// Returns whether a header or a header union is valid.
    pub(crate) fn is_valid(&mut self, value: &Value, span: Span) -> Result<Expr> {
        match value {
            Value::Tree(_) => Ok(Expr::boolean(true, span)),
            Value::Invalid => Ok(Expr::boolean(false, span)),
            Value::Scalar(_) => Err(self.unsupported(span, "validity of a scalar")),
            Value::Loc(loc) => self.is_valid_at(loc, span),
        }
    }

    fn is_valid_at(&mut self, loc: &Loc, span: Span) -> Result<Expr> {
        match loc {
            Loc::Place(Place::Header(h)) => Ok(self.slot_expr(self.headers[h.index()].valid, span)),
            Loc::Place(Place::Union(u)) => {
                let members = self.unions[u.index()].members.clone();
                let bits = members.into_iter().map(|h| self.slot_expr(self.headers[h.index()].valid, span));
                Ok(any_of(bits, span))
            }
            Loc::Place(_) => Err(self.unsupported(span, "validity of a value that is no header")),
            Loc::Select { index, options } => {
                let mut result = Expr::boolean(false, span);
                for (i, option) in options.iter().enumerate().rev() {
                    if let Some(cond) = equals_number(index, i as u64, span) {
                        result = mux(cond, self.is_valid_at(option, span)?, result, span);
                    }
                }
                Ok(result)
            }
        }
    }

    /// Compares two values of the same type.
    pub(crate) fn equal(&mut self, a: &Value, b: &Value, span: Span) -> Result<Expr> {
        // The shape of one side suffices; a tree on the other side has the same shape.
        let shape = [a, b].into_iter().find_map(|v| match v {
            Value::Loc(loc) => first_place(loc).cloned(),
            _ => None,
        });
        match (a, b) {
            (Value::Scalar(x), Value::Scalar(y)) => Ok(compare(x.clone(), y.clone(), span)),
            _ => match shape {
                Some(Place::Scalar(_)) => {
                    let x = self.as_scalar(a.clone(), span)?;
                    let y = self.as_scalar(b.clone(), span)?;
                    Ok(compare(x, y, span))
                }
                Some(Place::Header(h)) => {
                    let count = self.header_places[h.index()].len();
                    let va = self.is_valid(a, span)?;
                    let vb = self.is_valid(b, span)?;
                    if matches!(a, Value::Invalid) || matches!(b, Value::Invalid) {
                        let some = binary(BinaryOp::LogicalOr, va, vb, Type::Bool, span);
                        return Ok(not(some, span));
                    }
                    let neither = not(binary(BinaryOp::LogicalOr, va.clone(), vb.clone(), Type::Bool, span), span);
                    let fields = self.equal_fields(a, b, count, span)?;
                    let both = all_of([va, vb, fields].into_iter(), span);
                    Ok(binary(BinaryOp::LogicalOr, neither, both, Type::Bool, span))
                }
                Some(Place::Union(u)) => {
                    let count = self.unions[u.index()].members.len();
                    if matches!(a, Value::Invalid) || matches!(b, Value::Invalid) {
                        let va = self.is_valid(a, span)?;
                        let vb = self.is_valid(b, span)?;
                        return Ok(not(binary(BinaryOp::LogicalOr, va, vb, Type::Bool, span), span));
                    }
                    self.equal_fields(a, b, count, span)
                }
                Some(Place::Struct(places)) => self.equal_fields(a, b, places.len(), span),
                Some(stack @ (Place::Stack(_) | Place::Unions(_))) => {
                    let count = self.elements(&stack).len();
                    let mut parts = Vec::new();
                    for i in 0..count {
                        let x = self.element(a, i, span)?;
                        let y = self.element(b, i, span)?;
                        parts.push(self.equal(&x, &y, span)?);
                    }
                    Ok(all_of(parts.into_iter(), span))
                }
                None => match (a, b) {
                    (Value::Tree(xs), Value::Tree(ys)) if xs.len() == ys.len() => {
                        self.equal_fields(a, b, xs.len(), span)
                    }
                    (Value::Invalid, Value::Invalid) => Ok(Expr::boolean(true, span)),
                    (Value::Invalid, _) | (_, Value::Invalid) => Ok(Expr::boolean(false, span)),
                    _ => Err(self.unsupported(span, "this comparison")),
                },
            },
        }
    }

    fn equal_fields(&mut self, a: &Value, b: &Value, count: usize, span: Span) -> Result<Expr> {
        let mut parts = Vec::new();
        for i in 0..count {
            let x = self.value_field(a, i, span)?;
            let y = self.value_field(b, i, span)?;
            parts.push(self.equal(&x, &y, span)?);
        }
        Ok(all_of(parts.into_iter(), span))
    }

    /// Returns element `i` of a stack value.
    pub(crate) fn element(&mut self, value: &Value, i: usize, span: Span) -> Result<Value> {
        let element = match value {
            Value::Tree(members) => members.get(i).cloned(),
            Value::Loc(loc) => self.loc_element(loc, i).map(Value::Loc),
            Value::Invalid => Some(Value::Invalid),
            Value::Scalar(_) => None,
        };
        element.ok_or_else(|| self.refuse(span, "E0450", format!("the stack has no element {i}")))
    }

    fn loc_element(&self, loc: &Loc, i: usize) -> Option<Loc> {
        match loc {
            Loc::Place(place) => self.elements(place).get(i).cloned().map(Loc::Place),
            Loc::Select { index, options } => {
                let options: Option<Vec<Loc>> = options.iter().map(|o| self.loc_element(o, i)).collect();
                Some(Loc::Select { index: index.clone(), options: options?.into() })
            }
        }
    }
}

/// Returns a place of a location. All options have the same type.
pub(crate) fn first_place(loc: &Loc) -> Option<&Place> {
    match loc {
        Loc::Place(place) => Some(place),
        Loc::Select { options, .. } => options.first().and_then(first_place),
    }
}

/// Returns whether a number fits in `width` bits.
fn fits(number: u64, width: u32) -> bool {
    width >= 64 || number >> width == 0
}

/// Returns `index == number`; `None` if the index's type cannot represent the number.
fn equals_number(index: &Expr, number: u64, span: Span) -> Option<Expr> {
    fits(number, index.ty.width()).then(|| compare(index.clone(), Expr::constant(number, index.ty, span), span))
}

/// Returns whether the expression's value depends on anything that can change.
pub(crate) fn reads_slots(e: &Expr) -> bool {
    let mut reads = false;
    walk::expr_slots(e, &mut |_| reads = true);
    reads
}

pub(crate) fn place(slot: SlotId) -> Value {
    Value::Loc(Loc::Place(Place::Scalar(slot)))
}

pub(crate) fn slice(value: Expr, hi: u32, span: Span) -> Expr {
    Expr { kind: ExprKind::Slice { arg: Box::new(value), hi, lo: 0 }, ty: Type::Bits(hi + 1), span }
}

pub(crate) fn binary(op: BinaryOp, a: Expr, b: Expr, ty: Type, span: Span) -> Expr {
    Expr { kind: ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span }
}

pub(crate) fn not(a: Expr, span: Span) -> Expr {
    Expr { kind: ExprKind::Unary(UnaryOp::Not, Box::new(a)), ty: Type::Bool, span }
}

pub(crate) fn compare(a: Expr, b: Expr, span: Span) -> Expr {
    binary(BinaryOp::Eq, a, b, Type::Bool, span)
}

pub(crate) fn mux(cond: Expr, then: Expr, otherwise: Expr, span: Span) -> Expr {
    let ty = then.ty;
    Expr { kind: ExprKind::Mux(Box::new(cond), Box::new(then), Box::new(otherwise)), ty, span }
}

fn all_of(mut parts: impl Iterator<Item = Expr>, span: Span) -> Expr {
    let first = parts.next().unwrap_or_else(|| Expr::boolean(true, span));
    parts.fold(first, |a, b| binary(BinaryOp::LogicalAnd, a, b, Type::Bool, span))
}

fn any_of(mut parts: impl Iterator<Item = Expr>, span: Span) -> Expr {
    let first = parts.next().unwrap_or_else(|| Expr::boolean(false, span));
    parts.fold(first, |a, b| binary(BinaryOp::LogicalOr, a, b, Type::Bool, span))
}
