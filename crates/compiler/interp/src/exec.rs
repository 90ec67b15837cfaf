//! Execution of expressions, statements and controls.

use num_traits::ToPrimitive;

use super::Externs;
use super::lookup::Hit;
use super::observe::{Event, Observer};
use super::packet::{Fault, PacketState};
use super::store::Store;
use super::{Stage, Value};
use hopwright_ir::bits;
use hopwright_ir::meter::Color;
use hopwright_ir::{
    Expr, ExprKind, ExternKind, HeaderId, Pipeline, SlotId, SlotKind, Span, StackId, Stmt, StmtKind, TableEntry,
    TableId, Type, UnaryOp, Unit,
};

/// How a statement completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// It completed normally.
    Next,
    /// It leaves the scope with this label.
    Leave(u32),
    /// It ends the control.
    Exit,
    /// It ends the parser with this error.
    ParserError(u32),
}

/// Executes code on one packet and the store.
pub(super) struct Machine<'a> {
    pub pipeline: &'a Pipeline,
    pub store: &'a mut dyn Store,
    pub externs: &'a mut Externs,
    pub packet: &'a mut PacketState,
    pub observer: Option<&'a mut dyn Observer>,
    /// The data of the action being executed.
    pub params: Vec<Value>,
    /// The packet's timestamp in microseconds.
    pub now_us: u64,
    /// The colour from the direct meter of the entry whose action is being executed.
    pub color: Color,
    /// The entry that was hit in the table whose action is being executed.
    pub hit: Option<(TableId, Hit)>,
}

impl Machine<'_> {
    pub(super) fn tell(&mut self, event: Event<'_>) {
        if let Some(observer) = &mut self.observer {
            observer.event(&event);
        }
    }

    /// Reports the beginning of a block of the pipeline.
    pub(super) fn enter(&mut self, stage: Stage) {
        if let Some(observer) = &mut self.observer {
            observer.enter(stage, self.packet);
            observer.event(&Event::Enter(stage));
        }
    }

    /// Reports what a statement has decided.
    fn decide(&mut self, stmt: &Stmt, outcome: usize) {
        if let Some(observer) = &mut self.observer {
            observer.outcome(stmt, outcome);
        }
    }

    /// Runs a control from its beginning.
    pub(super) fn control(&mut self, stage: Stage) -> Result<(), Fault> {
        let pipeline = self.pipeline;
        let control = match stage {
            Stage::Parser => return self.parse(),
            Stage::VerifyChecksum => &pipeline.verify_checksum,
            Stage::Ingress => &pipeline.ingress,
            Stage::Egress => &pipeline.egress,
            Stage::ComputeChecksum => &pipeline.compute_checksum,
            Stage::Deparser => &pipeline.deparser,
        };
        self.enter(stage);
        match self.block(&control.body)? {
            Flow::Next | Flow::Exit => Ok(()),
            Flow::Leave(label) => Err(Fault { message: format!("no scope {label} to leave"), span: control.span }),
            Flow::ParserError(_) => {
                Err(Fault { message: "a parser statement in a control".into(), span: control.span })
            }
        }
    }

    pub(super) fn block(&mut self, body: &[Stmt]) -> Result<Flow, Fault> {
        for stmt in body {
            let flow = self.statement(stmt)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, stmt: &Stmt) -> Result<Flow, Fault> {
        let span = stmt.span;
        if let Some(observer) = &mut self.observer {
            observer.statement(stmt, self.packet);
        }
        match &stmt.kind {
            StmtKind::Assign(slot, value) => {
                let value = self.eval(value);
                match self.pipeline[*slot].kind {
                    SlotKind::Valid(header) => self.set_validity(header, value.is_true(), span),
                    _ => self.assign(*slot, value, span),
                }
            }
            StmtKind::AssignSlice { slot, hi, lo, value } => {
                let new = self.eval(value);
                let old = self.packet.get(*slot);
                let value = Value { bits: bits::replace_slice(&old.bits, *hi, *lo, &new.bits), width: old.width };
                self.assign(*slot, value, span);
            }
            StmtKind::SetValid(header) => self.set_valid(*header, span),
            StmtKind::SetInvalid(header) => self.set_validity(*header, false, span),
            StmtKind::CopyHeader { dst, src } => self.copy_header(*dst, *src, span),
            StmtKind::PushFront(stack, count) => self.push_front(*stack, *count, span),
            StmtKind::PopFront(stack, count) => self.pop_front(*stack, *count, span),
            StmtKind::If { cond, then, otherwise } => {
                let holds = self.eval(cond).is_true();
                self.decide(stmt, usize::from(!holds));
                return self.block(if holds { then } else { otherwise });
            }
            StmtKind::Switch { value, cases, default } => {
                let value = self.eval(value).bits;
                let taken = cases.iter().position(|(values, _)| values.contains(&value));
                self.decide(stmt, taken.unwrap_or(cases.len()));
                return self.block(taken.map_or(default, |case| &cases[case].1));
            }
            StmtKind::Scope { label, body } => {
                return Ok(match self.block(body)? {
                    Flow::Leave(left) if left == *label => Flow::Next,
                    flow => flow,
                });
            }
            StmtKind::Leave(label) => return Ok(Flow::Leave(*label)),
            StmtKind::Loop { body, bound } => {
                for iteration in 0u32.. {
                    self.packet.step(span)?;
                    debug_assert!(bound.is_none_or(|bound| iteration < bound), "a loop exceeds its bound");
                    let flow = self.block(body)?;
                    if flow != Flow::Next {
                        return Ok(flow);
                    }
                }
            }
            StmtKind::Apply { table, hit, action_run } => return self.apply(*table, *hit, *action_run, span),
            StmtKind::Extern(call) => self.call(call)?,
            StmtKind::Exit => {
                self.tell(Event::Exit { span });
                return Ok(Flow::Exit);
            }
            StmtKind::Extract { header, varbit_bits } => return Ok(self.extract(*header, varbit_bits.as_ref(), span)),
            StmtKind::ExtractNext { stack, varbit_bits } => {
                return Ok(self.extract_next(*stack, varbit_bits.as_ref(), span));
            }
            StmtKind::Advance { bits, bound } => {
                debug_assert!(bound.is_none_or(|bound| self.eval(bits).to_u64() <= bound.into()), "beyond its bound");
                return Ok(self.advance(bits));
            }
            StmtKind::Lookahead { total_bits, parts } => {
                return Ok(self.lookahead(*total_bits, parts, span));
            }
            StmtKind::Verify(cond, error) => {
                let holds = self.eval(cond).is_true();
                self.decide(stmt, usize::from(!holds));
                if !holds {
                    let error = self.eval(error).to_u64() as u32;
                    return Ok(Flow::ParserError(error));
                }
            }
            StmtKind::Emit(header) => self.emit(*header, span),
        }
        Ok(Flow::Next)
    }

    /// Returns the value of an expression.
    pub(super) fn eval(&self, e: &Expr) -> Value {
        let width = e.ty.width();
        let bits = match &e.kind {
            ExprKind::Const(bits) => bits.clone(),
            ExprKind::Slot(slot) => return self.packet.get(*slot).clone(),
            ExprKind::Param(index) => return self.params[*index as usize].clone(),
            ExprKind::Unary(op, a) => {
                let value = self.eval(a).bits;
                bits::unary(*op, &value, if *op == UnaryOp::Not { Type::Bool } else { e.ty })
            }
            ExprKind::Binary(op, a, b) => {
                let (x, y) = (self.eval(a), self.eval(b));
                if matches!(a.ty, Type::Varbit(_)) {
                    // Values of `varbit` type can only be compared for equality: the same length and the same bits.
                    let equal = x == y;
                    return Value::boolean(equal == (*op == hopwright_ir::BinaryOp::Eq));
                }
                bits::binary(*op, &x.bits, &y.bits, a.ty, b.ty)
            }
            ExprKind::Cast(a) => bits::cast(&self.eval(a).bits, a.ty, e.ty),
            ExprKind::Slice { arg, hi, lo } => bits::slice(&self.eval(arg).bits, *hi, *lo),
            ExprKind::Mux(cond, then, otherwise) => {
                return self.eval(if self.eval(cond).is_true() { then } else { otherwise });
            }
            ExprKind::PacketLength => (self.packet.bytes.len() as u32).into(),
        };
        Value { bits, width }
    }

    pub(super) fn assign(&mut self, slot: SlotId, new: Value, span: Span) {
        let target = &mut self.packet.slots[slot.index()];
        let old = std::mem::replace(target, new);
        if let Some(observer) = &mut self.observer {
            observer.event(&Event::Assign { slot, old: &old, new: &self.packet.slots[slot.index()], span });
        }
    }

    pub(super) fn is_valid(&self, header: HeaderId) -> bool {
        self.packet.get(self.pipeline[header].valid).is_true()
    }

    pub(super) fn set_validity(&mut self, header: HeaderId, valid: bool, span: Span) {
        let slot = self.pipeline[header].valid;
        self.packet.set(slot, u64::from(valid));
        self.tell(Event::Validity { header, valid, span });
    }

    fn set_valid(&mut self, header: HeaderId, span: Span) {
        if !self.is_valid(header) {
            let pipeline = self.pipeline;
            for field in &pipeline[header].fields {
                let zero = Value::zero(pipeline[field.slot].ty);
                self.packet.slots[field.slot.index()] = zero;
            }
        }
        self.set_validity(header, true, span);
    }

    fn copy_header(&mut self, dst: HeaderId, src: HeaderId, span: Span) {
        let pipeline = self.pipeline;
        for (to, from) in pipeline[dst].fields.iter().zip(&pipeline[src].fields) {
            let value = self.packet.get(from.slot).clone();
            self.assign(to.slot, value, span);
        }
        let valid = self.is_valid(src);
        self.set_validity(dst, valid, span);
    }

    /// P4-16, section 8.18: elements move up, and the new ones are invalid.
    fn push_front(&mut self, stack: StackId, count: u32, span: Span) {
        let stack = &self.pipeline[stack];
        let size = stack.elements.len();
        let count = count as usize;
        for i in (0..size).rev() {
            if i >= count {
                self.copy_header(stack.elements[i], stack.elements[i - count], span);
            } else {
                self.set_validity(stack.elements[i], false, span);
            }
        }
        let next = self.packet.get(stack.next_index).to_u64() + count as u64;
        self.packet.set(stack.next_index, next.min(size as u64));
    }

    /// P4-16, section 8.18: elements move down, and those vacated at the end become invalid.
    fn pop_front(&mut self, stack: StackId, count: u32, span: Span) {
        let stack = &self.pipeline[stack];
        let size = stack.elements.len();
        let count = count as usize;
        for i in 0..size {
            match stack.elements.get(i + count) {
                Some(&source) => self.copy_header(stack.elements[i], source, span),
                None => self.set_validity(stack.elements[i], false, span),
            }
        }
        let next = self.packet.get(stack.next_index).to_u64();
        self.packet.set(stack.next_index, next.saturating_sub(count as u64));
    }

    fn apply(
        &mut self,
        id: TableId,
        hit: Option<SlotId>,
        action_run: Option<SlotId>,
        span: Span,
    ) -> Result<Flow, Fault> {
        let pipeline = self.pipeline;
        let table = &pipeline[id];
        let keys: Vec<Value> = table.keys.iter().map(|k| self.eval(&k.expr)).collect();
        let length = self.packet.bytes.len() as u64;
        let outer_color = std::mem::replace(&mut self.color, Color::Green);
        let hit_entry = Hit::find(pipeline, self.store, id, &keys);
        let mut action = None;
        if let Some(hit) = &hit_entry {
            // As in BMv2, a direct counter counts every hit, whether or not the action calls `count`.
            self.store.count_hit(id, &hit.entry.matches, hit.entry.priority, length);
            self.measure_hit(id, &hit.entry);
            // An entry whose group has no members is a miss.
            action = hit.action(pipeline, self.store, id, &keys);
        }
        let found = hit_entry.as_ref().filter(|_| action.is_some()).map(|hit| &hit.entry);
        let action = action.unwrap_or_else(|| self.store.default_action(id));
        if let Some(observer) = &mut self.observer {
            observer.event(&Event::Table { table: id, keys: &keys, entry: found, action: &action, span });
        }
        if let Some(slot) = hit {
            self.packet.set(slot, u64::from(found.is_some()));
        }
        if let Some(slot) = action_run {
            self.packet.set(slot, u64::from(action.action.0));
        }
        let definition = &pipeline[action.action];
        let params = definition.params.iter().zip(action.args).map(|(p, arg)| Value::new(arg, p.ty.width())).collect();
        let outer = std::mem::replace(&mut self.params, params);
        let outer_hit = std::mem::replace(&mut self.hit, hit_entry.map(|hit| (id, hit)));
        let flow = self.block(&definition.body);
        self.hit = outer_hit;
        self.params = outer;
        self.color = outer_color;
        flow
    }

    /// Runs the direct meter of the entry that was hit, unless actions do. `read` returns the result later.
    pub(super) fn measure_hit(&mut self, id: TableId, entry: &TableEntry) {
        if !self.pipeline.measures_hits(id) {
            return;
        }
        let Some(object) = self.pipeline[id].direct_meter else { return };
        let ExternKind::DirectMeter { unit, .. } = self.pipeline[object].kind else { return };
        let cost = cost(unit, self.packet.bytes.len() as u64);
        self.color = self.store.measure_hit(id, &entry.matches, entry.priority, self.now_us, cost);
    }

    /// Concatenates values; the first is the most significant.
    pub(super) fn concatenate(&self, list: &[Expr]) -> bits::BitString {
        let mut string = bits::BitString::new();
        for e in list {
            let value = self.eval(e);
            string.push(&value.bits, value.width);
        }
        string
    }

    /// Returns the value of an expression, saturated to 64 bits.
    pub(super) fn eval_u64(&self, e: &Expr) -> u64 {
        self.eval(e).bits.to_u64().unwrap_or(u64::MAX)
    }

    fn emit(&mut self, id: HeaderId, span: Span) {
        if !self.is_valid(id) {
            return;
        }
        for field in &self.pipeline[id].fields {
            let value = &self.packet.slots[field.slot.index()];
            self.packet.out.push(&value.bits, value.width);
        }
        self.tell(Event::Emit { header: id, span });
    }
}

/// What a packet of this length takes from a meter.
pub(super) fn cost(unit: Unit, bytes: u64) -> u64 {
    if unit == Unit::Packets { 1 } else { bytes }
}
