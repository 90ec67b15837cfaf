//! Controls: statements, conditions, and what happens between the program's blocks.

use std::rc::Rc;

use hopwright_ir::{BinaryOp, DROP_PORT, Expr, ExprKind, HeaderId, SlotId, StackId, Stmt, StmtKind, Type, UnaryOp};
use num_bigint::BigUint;
use num_traits::ToPrimitive;

use super::{Builder, Context, Place, Point, State, Step, What, sub};
use crate::emit::point::{PointId, stage};
use crate::trace_ir::values::{Op, ValueId};
use crate::trace_ir::{Effect, Verdict};

impl<'a> Builder<'a> {
    /// Follows what happens between the program's blocks.
    pub(super) fn stage(&mut self, number: u32, mut state: State) -> Step {
        self.ir.values.at(None);
        let p = self.p;
        let standard = p.standard;
        let control = |body: &'a [Stmt], number: u32, end: u32| {
            let end = Point::stage(end);
            let context = Rc::new(Context { exit: Some(end.clone()), ..Context::default() });
            Point::stmts(vec![number], body, &end, &context)
        };
        match number {
            stage::PARSED => self.go(&control(&p.verify_checksum.body, stage::VERIFY, stage::VERIFIED), state),
            stage::VERIFIED => self.go(&control(&p.ingress.body, stage::INGRESS, stage::ADMITTED), state),
            stage::ADMITTED => {
                let requests: Vec<SlotId> = self.requests.of_ingress().collect();
                self.no_requests(&mut state, &requests)?;
                let port = self.read(&state, standard.egress_spec);
                self.enter_egress(&mut state, port);
                self.unless_dropped(state, port, &control(&p.egress.body, stage::EGRESS, stage::LEAVING))
            }
            stage::LEAVING => {
                let requests: Vec<SlotId> = self.requests.clone_egress.into_iter().collect();
                self.no_requests(&mut state, &requests)?;
                let port = self.read(&state, standard.egress_spec);
                self.unless_dropped(state, port, &control(&p.compute_checksum.body, stage::COMPUTE, stage::COMPUTED))
            }
            stage::COMPUTED => self.go(&control(&p.deparser.body, stage::DEPARSER, stage::ASSEMBLE), state),
            stage::ASSEMBLE => {
                let requests: Vec<SlotId> = self.requests.of_sending().collect();
                self.no_requests(&mut state, &requests)?;
                let Some(port) = state.port else { return self.exit(&state, "no port") };
                let verdict =
                    Verdict::Forward { port, headers: std::mem::take(&mut state.headers), payload: state.cursor };
                self.complete(state, verdict)
            }
            stage::DROPPED => self.complete(state, Verdict::Drop),
            _ => self.exit(&state, "requests to the traffic manager"),
        }
    }

    /// Guards that the program requests nothing from the traffic manager.
    fn no_requests(&mut self, state: &mut State, slots: &[SlotId]) -> Step {
        for slot in slots {
            let (value, none) = (self.read(state, *slot), self.ir.values.constant(0u32, self.p[*slot].ty));
            let nothing = self.ir.values.equal(value, none);
            let site = format!("{} is not requested", self.p[*slot].name);
            self.guard(state, nothing, true, &site.as_str().into())?;
        }
        Ok(())
    }

    /// Drops the packet if its port is the drop port.
    fn unless_dropped(&mut self, state: State, port: ValueId, then: &Point<'a>) -> Step {
        let drop = self.ir.values.constant(DROP_PORT, Type::Bits(9));
        let dropped = self.ir.values.equal(port, drop);
        self.decide(state, dropped, [&Point::stage(stage::DROPPED), then], &"the packet is dropped".into())
    }

    /// The beginning of egress.
    fn enter_egress(&mut self, state: &mut State, port: ValueId) {
        let standard = self.p.standard;
        state.port = Some(port);
        let now = self.now();
        let zero = self.ir.values.constant(0u32, Type::Bits(32));
        let priority = self.read(state, standard.priority);
        // Packets have priority zero before.
        if self.ir.values.as_constant(priority).is_none_or(|priority| *priority != BigUint::ZERO) {
            state.effects.push(Effect::Priority(priority));
        }
        let depth = self.ir.values.data(Op::QueueDepth(port, priority), Type::Bits(19));
        let wait = self.ir.values.data(Op::QueueWait(port, priority), Type::Bits(32));
        for (slot, value) in [
            (standard.egress_port, port),
            (standard.enq_timestamp, now),
            (standard.egress_global_timestamp, now),
            (standard.egress_spec, zero),
            (standard.deq_timedelta, wait),
            (standard.enq_qdepth, depth),
            (standard.deq_qdepth, depth),
        ] {
            self.preset(state, slot, value);
        }
    }

    /// Follows statements, then a point. The id is that of the first statement.
    pub(super) fn stmts(
        &mut self,
        body: &'a [Stmt],
        id: &PointId,
        then: &Point<'a>,
        context: &Rc<Context<'a>>,
        mut state: State,
    ) -> Step {
        let mut id = id.clone();
        for (i, stmt) in body.iter().enumerate() {
            self.ir.values.at(Some(stmt.span));
            let rest = |id: &PointId| match &body[i + 1..] {
                [] => then.clone(),
                rest => Point::new(next(id), What::Stmts(rest, then.clone()), context),
            };
            match &stmt.kind {
                StmtKind::If { cond, then: yes, otherwise } => {
                    let rest = rest(&id);
                    let arm = |k, body: &'a [Stmt]| Point::stmts(sub(&id, k), body, &rest, context);
                    return self.test(cond, &sub(&id, 0), &arm(1, yes), &arm(2, otherwise), context, state);
                }
                StmtKind::Switch { value, cases, default } => {
                    return self.switch(value, cases, default, &id, &rest(&id), context, state);
                }
                StmtKind::Scope { label, body } => {
                    let rest = rest(&id);
                    let mut inner = (**context).clone();
                    inner.scopes.push((*label, rest.clone()));
                    return self.stmts(body, &sub(&sub(&id, 1), 0), &rest, &Rc::new(inner), state);
                }
                StmtKind::Leave(label) => {
                    return match context.scopes.iter().rev().find(|scope| scope.0 == *label) {
                        Some((_, end)) => self.go(&end.clone(), state),
                        None => self.unsupported(&state, stmt),
                    };
                }
                StmtKind::Loop { body, .. } => return self.go(&Point::new(id, What::Loop(body), context), state),
                StmtKind::Apply { table, hit, action_run } => {
                    return self.apply(*table, *hit, *action_run, &id, &rest(&id), context, stmt.span, state);
                }
                StmtKind::Exit => {
                    return match &context.exit {
                        Some(exit) => self.go(&exit.clone(), state),
                        None => self.unsupported(&state, stmt),
                    };
                }
                StmtKind::Verify(condition, error) => {
                    let fail = Point::new(sub(&id, 1), What::Fail(error.span), context);
                    return self.test(condition, &sub(&id, 0), &rest(&id), &fail, context, state);
                }
                _ => self.statement(&mut state, stmt, context)?,
            }
            id = next(&id);
        }
        self.go(then, state)
    }

    pub(super) fn unsupported(&mut self, state: &State, stmt: &Stmt) -> Step {
        let site = self.site(stmt.span, "");
        self.exit(state, &site)
    }

    /// Branches on a condition. Tests its parts one by one.
    pub(super) fn test(
        &mut self,
        condition: &'a Expr,
        id: &PointId,
        yes: &Point<'a>,
        no: &Point<'a>,
        context: &Rc<Context<'a>>,
        mut state: State,
    ) -> Step {
        self.ir.values.at(Some(condition.span));
        let whole = self.value(&state, context, condition);
        if let Some(truth) = self.decided(whole) {
            self.skip_within(&mut state, id);
            return self.go(if truth { yes } else { no }, state);
        }
        let second = |condition, context| {
            Point::new(sub(id, 1), What::Test { condition, yes: yes.clone(), no: no.clone() }, context)
        };
        match &condition.kind {
            ExprKind::Unary(UnaryOp::Not, a) => self.test(a, id, no, yes, context, state),
            // A path that goes on behind the whole condition was learned where its first part was known.
            ExprKind::Binary(BinaryOp::LogicalAnd, a, b) if !self.is_on_path(&state, yes) => {
                self.test(a, &sub(id, 0), &second(b, context), no, context, state)
            }
            ExprKind::Binary(BinaryOp::LogicalOr, a, b) if !self.is_on_path(&state, no) => {
                self.test(a, &sub(id, 0), yes, &second(b, context), context, state)
            }
            _ => {
                let site = self.site(condition.span, "");
                self.decide(state, whole, [yes, no], &site)
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn switch(
        &mut self,
        value: &'a Expr,
        cases: &'a [(Vec<BigUint>, hopwright_ir::Block)],
        default: &'a [Stmt],
        id: &PointId,
        then: &Point<'a>,
        context: &Rc<Context<'a>>,
        mut state: State,
    ) -> Step {
        let switched = self.value(&state, context, value);
        let otherwise = Point::stmts(sub(id, cases.len() + 1), default, then, context);
        let points: Vec<Point<'a>> =
            cases.iter().enumerate().map(|(k, (_, body))| Point::stmts(sub(id, k + 1), body, then, context)).collect();
        for (k, (values, _)) in cases.iter().enumerate() {
            let mut any = self.ir.values.truth(false);
            for case in values {
                let case = self.ir.values.constant(case.clone(), value.ty);
                let same = self.ir.values.equal(switched, case);
                let same = *state.known.get(&same).unwrap_or(&same);
                any = self.ir.values.data(Op::Binary(BinaryOp::LogicalOr, any, same), Type::Bool);
            }
            let site = self.site(value.span, "");
            let later = points[k + 1..].iter().chain([&otherwise]).any(|point| self.is_on_path(&state, point));
            match (self.decided(any), self.is_on_path(&state, &points[k]), later) {
                (Some(true), ..) => return self.go(&points[k], state),
                (Some(false), ..) => {}
                (None, true, true) => {
                    let (here, other) = self.branch(&state, any, &site);
                    let _ = self.go(&points[k], here);
                    state = other;
                }
                (None, true, false) => {
                    self.guard(&mut state, any, true, &site)?;
                    return self.go(&points[k], state);
                }
                (None, false, _) => {
                    // Other cases have other values.
                    let shared = |(i, (others, _)): (usize, &(Vec<BigUint>, _))| {
                        self.is_on_path(&state, &points[i]) && values.iter().any(|value| others.contains(value))
                    };
                    if self.is_on_path(&state, &otherwise) || cases.iter().enumerate().skip(k + 1).any(shared) {
                        self.guard(&mut state, any, false, &site)?;
                    }
                }
            }
        }
        self.go(&otherwise, state)
    }

    /// Follows a statement that does not branch.
    fn statement(&mut self, state: &mut State, stmt: &'a Stmt, context: &Rc<Context<'a>>) -> Step {
        match &stmt.kind {
            StmtKind::Assign(slot, value) => state.slots[slot.index()] = self.value(state, context, value),
            StmtKind::AssignSlice { slot, hi, lo, value } => {
                let new = self.value(state, context, value);
                let old = self.read(state, *slot);
                state.slots[slot.index()] = self.with_bits(old, *hi, *lo, new, self.p[*slot].ty);
            }
            StmtKind::SetValid(header) => return self.set_valid(state, *header, stmt),
            StmtKind::SetInvalid(header) => self.set_validity(state, *header, false),
            StmtKind::CopyHeader { dst, src } => self.copy_header(state, *dst, *src),
            StmtKind::PushFront(stack, count) => return self.push_front(state, *stack, *count as usize, stmt),
            StmtKind::PopFront(stack, count) => return self.pop_front(state, *stack, *count as usize, stmt),
            StmtKind::Extern(call) => return self.call(state, call, context),
            StmtKind::Emit(header) => return self.emit(state, *header, stmt),
            _ => return self.parser_statement(state, stmt, context),
        }
        Ok(())
    }

    /// A value with some bits replaced.
    fn with_bits(&mut self, old: ValueId, hi: u32, lo: u32, new: ValueId, ty: Type) -> ValueId {
        let width = ty.width();
        let mut parts = Vec::new();
        if hi + 1 < width {
            parts.push(
                self.ir.values.data(Op::Slice { arg: old, hi: width - 1, lo: hi + 1 }, Type::Bits(width - 1 - hi)),
            );
        }
        parts.push(new);
        if lo > 0 {
            parts.push(self.ir.values.data(Op::Slice { arg: old, hi: lo - 1, lo: 0 }, Type::Bits(lo)));
        }
        let whole = self.concatenated(&parts);
        self.ir.values.data(Op::Cast(whole), ty)
    }

    /// The concatenation of numbers, the first highest.
    pub(super) fn concatenated(&mut self, parts: &[ValueId]) -> ValueId {
        let values = &mut self.ir.values;
        let joined = parts.iter().copied().reduce(|a, b| {
            let width = values.width(a) + values.width(b);
            values.data(Op::Binary(BinaryOp::Concat, a, b), Type::Bits(width))
        });
        joined.unwrap_or_else(|| values.constant(0u32, Type::Bits(0)))
    }

    pub(super) fn set_validity(&mut self, state: &mut State, header: HeaderId, valid: bool) {
        state.slots[self.p[header].valid.index()] = self.ir.values.truth(valid);
    }

    /// Whether a header is valid, if that is known.
    fn is_valid(&self, state: &State, header: HeaderId) -> Option<bool> {
        self.decided(self.read(state, self.p[header].valid))
    }

    fn set_valid(&mut self, state: &mut State, header: HeaderId, stmt: &Stmt) -> Step {
        match self.is_valid(state, header) {
            None => return self.unsupported(state, stmt),
            Some(true) => {}
            Some(false) => {
                for field in &self.p[header].fields {
                    state.slots[field.slot.index()] = self.ir.values.constant(0u32, self.p[field.slot].ty);
                }
            }
        }
        self.set_validity(state, header, true);
        Ok(())
    }

    fn copy_header(&mut self, state: &mut State, dst: HeaderId, src: HeaderId) {
        let p = self.p;
        for (to, from) in p[dst].fields.iter().zip(&p[src].fields) {
            state.slots[to.slot.index()] = self.read(state, from.slot);
        }
        state.slots[p[dst].valid.index()] = self.read(state, p[src].valid);
    }

    fn push_front(&mut self, state: &mut State, id: StackId, count: usize, stmt: &Stmt) -> Step {
        let stack = &self.p[id];
        for i in (0..stack.elements.len()).rev() {
            match i.checked_sub(count) {
                Some(from) => self.copy_header(state, stack.elements[i], stack.elements[from]),
                None => self.set_validity(state, stack.elements[i], false),
            }
        }
        self.move_next(state, id, stmt, |next| (next + count).min(stack.elements.len()))
    }

    fn pop_front(&mut self, state: &mut State, id: StackId, count: usize, stmt: &Stmt) -> Step {
        let stack = &self.p[id];
        for i in 0..stack.elements.len() {
            match stack.elements.get(i + count) {
                Some(&from) => self.copy_header(state, stack.elements[i], from),
                None => self.set_validity(state, stack.elements[i], false),
            }
        }
        self.move_next(state, id, stmt, |next| next.saturating_sub(count))
    }

    fn move_next(&mut self, state: &mut State, id: StackId, stmt: &Stmt, to: impl Fn(usize) -> usize) -> Step {
        let slot = self.p[id].next_index;
        let next = self.read(state, slot);
        let Some(next) = self.ir.values.as_constant(next).and_then(BigUint::to_usize) else {
            return self.unsupported(state, stmt);
        };
        state.slots[slot.index()] = self.ir.values.constant(to(next), self.p[slot].ty);
        Ok(())
    }

    /// Appends a header to the packet, if it is valid. Bytes that stay adjacent are one value.
    fn emit(&mut self, state: &mut State, header: HeaderId, stmt: &Stmt) -> Step {
        match self.is_valid(state, header) {
            None => return self.unsupported(state, stmt),
            Some(false) => return Ok(()),
            Some(true) => {}
        }
        for field in &self.p[header].fields {
            if field.width == 0 {
                continue;
            }
            let value = self.in_packet(state, field.slot);
            match state.headers.last().copied() {
                Some(last) if self.ir.values.are_adjacent(last, value) => {
                    state.headers.pop();
                    let joined = self.concatenated(&[last, value]);
                    state.headers.push(joined);
                }
                _ => state.headers.push(value),
            }
        }
        Ok(())
    }

    /// The number that a place is, `bit<32>`.
    pub(super) fn place_value(&mut self, place: Place) -> ValueId {
        let offset = self.ir.values.constant(place.offset, Type::Bits(32));
        match place.base {
            None => offset,
            Some(base) => self.ir.values.data(Op::Binary(BinaryOp::Add, base, offset), Type::Bits(32)),
        }
    }
}

/// The id of the next statement.
fn next(id: &PointId) -> PointId {
    let mut id = id.clone();
    if let Some(last) = id.last_mut() {
        *last += 1;
    }
    id
}
