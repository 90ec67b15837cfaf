//! Expressions as wires and operations, and what actions read and write.

use std::collections::{BTreeMap, HashSet};

use num_bigint::BigUint;
use num_traits::ToPrimitive;

use super::OperationKind;
use super::access::{access, sets_out};
use super::draft::{Builder, Draft};
use super::flow::{Flow, Segment, Source, Value, concat, constant, masked, slice, width};
use crate::{BinaryOp, Expr, ExprKind, ExternArg, ExternId, SlotId, Span, Stmt, StmtKind, Type, UnaryOp, walk};

/// What an action does.
pub(super) struct ActionBody {
    /// What it reads of the state before it.
    pub(super) reads: Value,
    /// The variables it writes, and whether it always writes all of them.
    pub(super) writes: BTreeMap<SlotId, bool>,
    /// Operations that follow each other, at least 1.
    pub(super) depth: u32,
    pub(super) objects: Vec<ExternId>,
}

/// The amount of a shift by a constant.
fn constant_shift(by: &Expr) -> Option<u32> {
    by.as_const().and_then(|v| v.to_u32())
}

/// A value and a constant of which one is the mask of the other.
fn mask_of<'e>(a: &'e Expr, b: &'e Expr) -> Option<(&'e Expr, &'e BigUint)> {
    b.as_const().map(|mask| (a, mask)).or_else(|| a.as_const().map(|mask| (b, mask)))
}

fn is_associative(op: BinaryOp, ty: Type) -> bool {
    matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor) || op == BinaryOp::Add && matches!(ty, Type::Bits(_))
}

/// Whether a chain of an operator has one place in the text: a hash, which computes the exclusive or of all its words.
fn is_one(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Binary(BinaryOp::Xor, a, _) => matches!(a.kind, ExprKind::Binary(..)) && a.span == expr.span,
        _ => false,
    }
}

/// Whether an expression consists of what a hash function computes: exclusive or, complement and wiring.
fn is_hash(expr: &Expr) -> bool {
    use BinaryOp::{And, Concat, Or, Shl, Shr, Xor};
    match &expr.kind {
        ExprKind::Binary(Xor, a, b) if expr.ty != Type::Bool => is_hash_operand(a) && is_hash_operand(b),
        ExprKind::Unary(UnaryOp::BitNot, a) => is_hash_operand(a),
        ExprKind::Binary(Concat, a, b) => is_hash(a) && is_hash_operand(b) || is_hash(b) && is_hash_operand(a),
        ExprKind::Binary(Shl | Shr, a, by) => by.as_const().is_some() && is_hash(a),
        ExprKind::Binary(And | Or, a, b) if expr.ty != Type::Bool => {
            a.as_const().is_some() && is_hash(b) || b.as_const().is_some() && is_hash(a)
        }
        ExprKind::Slice { arg, .. } | ExprKind::Cast(arg) => is_hash(arg),
        _ => false,
    }
}

/// Whether an expression is a hash, or wires.
fn is_hash_operand(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::Slot(_) | ExprKind::Param(_) => true,
        ExprKind::Slice { arg, .. } | ExprKind::Cast(arg) => is_hash_operand(arg),
        ExprKind::Binary(BinaryOp::Concat, a, b) => is_hash_operand(a) && is_hash_operand(b),
        ExprKind::Binary(BinaryOp::Shl | BinaryOp::Shr, a, by) => by.as_const().is_some() && is_hash_operand(a),
        ExprKind::Binary(BinaryOp::And, a, b) if expr.ty != Type::Bool && mask_of(a, b).is_some() => {
            is_hash_operand(a) && is_hash_operand(b)
        }
        _ => is_hash(expr),
    }
}

/// The operands of a chain of one associative operator.
fn chain<'e>(expr: &'e Expr, op: BinaryOp, out: &mut Vec<&'e Expr>) {
    match &expr.kind {
        ExprKind::Binary(inner, a, b) if *inner == op && is_associative(op, expr.ty) => {
            chain(a, op, out);
            chain(b, op, out);
        }
        _ => out.push(expr),
    }
}

impl<'p> Builder<'p> {
    /// The bits of an expression. What is not wiring becomes operations.
    pub(super) fn eval(&mut self, flow: &mut Flow, expr: &'p Expr) -> Value {
        let bits = expr.ty.width();
        if matches!(expr.kind, ExprKind::Mux(..) | ExprKind::Binary(..) | ExprKind::Unary(..))
            && let Some(op) = self.access_at(expr.span)
        {
            let def = self.def(None, vec![op]);
            return vec![Segment { source: Source::Def(def, 0), width: bits }];
        }
        if is_hash(expr) && self.is_hashed(expr.span) {
            let mut operands = Value::new();
            self.leaves(flow, expr, &mut operands);
            return self.compute(flow, expr, Value::new(), operands);
        }
        match &expr.kind {
            ExprKind::Const(value) => constant(value.clone(), bits),
            ExprKind::Slot(slot) => flow.variables[slot.index()].value.to_vec(),
            ExprKind::Param(_) | ExprKind::PacketLength => constant(BigUint::ZERO, bits),
            ExprKind::Slice { arg, hi, lo } => slice(&self.eval(flow, arg), *lo, hi - lo + 1),
            ExprKind::Cast(arg) if !matches!(arg.ty, Type::Int(_)) || arg.ty.width() >= bits => {
                slice(&self.eval(flow, arg), 0, bits)
            }
            ExprKind::Binary(BinaryOp::Concat, high, low) => {
                let low = self.eval(flow, low);
                let high = self.eval(flow, high);
                concat(low, high)
            }
            ExprKind::Binary(BinaryOp::Shl, value, by) if constant_shift(by).is_some() => {
                let by = constant_shift(by).unwrap_or(0).min(bits);
                let value = self.eval(flow, value);
                concat(constant(BigUint::ZERO, by), slice(&value, 0, bits - by))
            }
            ExprKind::Binary(BinaryOp::Shr, value, by)
                if constant_shift(by).is_some() && !matches!(expr.ty, Type::Int(_)) =>
            {
                let by = constant_shift(by).unwrap_or(0).min(bits);
                let value = self.eval(flow, value);
                concat(slice(&value, by, bits - by), constant(BigUint::ZERO, by))
            }
            // Bits in a row are moved, as by a slice.
            ExprKind::Binary(BinaryOp::And, a, b)
                if mask_of(a, b).is_some_and(|(_, mask)| masked(&Value::new(), mask, bits).1 <= 1) =>
            {
                self.compared(flow, expr)
            }
            ExprKind::Mux(..) => {
                let (mut matched, mut operands) = (Value::new(), Value::new());
                self.choices(flow, expr, &mut matched, &mut operands);
                self.compute(flow, expr, matched, operands)
            }
            ExprKind::Binary(op, ..) if expr.ty != Type::Bool && is_associative(*op, expr.ty) => {
                let mut operands = Vec::new();
                chain(expr, *op, &mut operands);
                let values: Vec<Value> = operands.into_iter().map(|e| self.eval(flow, e)).collect();
                match is_one(expr) {
                    true => self.compute(flow, expr, Value::new(), values.concat()),
                    false => self.reduce(flow, expr, values),
                }
            }
            ExprKind::Unary(UnaryOp::Not, _) | ExprKind::Binary(..) if expr.ty == Type::Bool => {
                let matched = self.condition(flow, expr);
                let value = self.compute(flow, expr, matched.clone(), Value::new());
                if let [Segment { source: Source::Def(def, 0), .. }] = value.as_slice() {
                    self.conditions.insert(*def, matched);
                }
                value
            }
            _ => {
                let mut operands = Value::new();
                for operand in walk::operands(expr) {
                    operands.extend(self.eval(flow, operand));
                }
                self.compute(flow, expr, Value::new(), operands)
            }
        }
    }

    /// What a hash of an expression reads.
    fn leaves(&mut self, flow: &mut Flow, expr: &'p Expr, out: &mut Value) {
        match &expr.kind {
            ExprKind::Slice { arg, .. } | ExprKind::Cast(arg) if !matches!(arg.kind, ExprKind::Slot(_)) => {
                self.leaves(flow, arg, out);
            }
            ExprKind::Binary(..) | ExprKind::Unary(..) => {
                walk::operands(expr).into_iter().for_each(|operand| self.leaves(flow, operand, out));
            }
            _ => out.extend(self.eval(flow, expr)),
        }
    }

    /// What is compared: a key, or a side of a comparison. Masks by constants are part of the match.
    pub(super) fn compared(&mut self, flow: &mut Flow, expr: &'p Expr) -> Value {
        match &expr.kind {
            ExprKind::Binary(BinaryOp::And, a, b) if expr.ty != Type::Bool && mask_of(a, b).is_some() => {
                let Some((value, mask)) = mask_of(a, b) else { return Value::new() };
                let value = self.compared(flow, value);
                masked(&value, mask, expr.ty.width()).0
            }
            _ => self.eval(flow, expr),
        }
    }

    /// The access of an object that is at a place.
    fn access_at(&self, span: Span) -> Option<usize> {
        let accessed = |op: &Draft<'_>| op.span == span && matches!(op.kind, OperationKind::Extern(_));
        self.accesses.contains(&span).then(|| self.operations.iter().rposition(accessed)).flatten()
    }

    /// What a condition matches on: the leaves of its comparisons with constants and of equalities. Other comparisons are
    /// subtractions.
    pub(super) fn condition(&mut self, flow: &mut Flow, expr: &'p Expr) -> Value {
        match &expr.kind {
            ExprKind::Unary(UnaryOp::Not, a) => self.condition(flow, a),
            ExprKind::Binary(BinaryOp::LogicalAnd | BinaryOp::LogicalOr | BinaryOp::Eq | BinaryOp::Ne, a, b) => {
                let mut leaves = self.condition(flow, a);
                leaves.extend(self.condition(flow, b));
                leaves
            }
            ExprKind::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, a, b) if expr.ty == Type::Bool => {
                let mut leaves = self.condition(flow, a);
                leaves.extend(self.condition(flow, b));
                leaves
            }
            ExprKind::Binary(BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge, a, b) => {
                if a.as_const().is_some() || b.as_const().is_some() {
                    let mut leaves = self.condition(flow, a);
                    leaves.extend(self.condition(flow, b));
                    return leaves;
                }
                let mut operands = self.eval(flow, a);
                operands.extend(self.eval(flow, b));
                self.compute(flow, expr, Value::new(), operands)
            }
            ExprKind::Mux(a, b, c) if expr.ty == Type::Bool => {
                let mut leaves = self.condition(flow, a);
                leaves.extend(self.condition(flow, b));
                leaves.extend(self.condition(flow, c));
                leaves
            }
            ExprKind::Const(_) => Value::new(),
            _ => {
                let value = self.compared(flow, expr);
                // A variable that holds a condition is that condition to a gateway.
                let known = match value.as_slice() {
                    [Segment { source: Source::Def(def, 0), .. }] if expr.ty == Type::Bool => self.conditions.get(def),
                    _ => None,
                };
                known.cloned().unwrap_or(value)
            }
        }
    }

    /// Conditions and results of a choice between values, and of choices in its results.
    fn choices(&mut self, flow: &mut Flow, expr: &'p Expr, matched: &mut Value, operands: &mut Value) {
        match &expr.kind {
            ExprKind::Mux(cond, a, b) => {
                matched.extend(self.condition(flow, cond));
                self.choices(flow, a, matched, operands);
                self.choices(flow, b, matched, operands);
            }
            _ => operands.extend(self.eval(flow, expr)),
        }
    }

    fn compute(&mut self, flow: &Flow, expr: &Expr, matched: Value, operands: Value) -> Value {
        let op = self.operation(flow, OperationKind::Compute, expr.span);
        let bits = expr.ty.width();
        let draft = &mut self.operations[op];
        draft.matched = matched;
        draft.operands = operands;
        draft.bits = bits;
        let def = self.def(None, vec![op]);
        vec![Segment { source: Source::Def(def, 0), width: bits }]
    }

    /// Combines the values pairwise, those first that are ready first.
    fn reduce(&mut self, flow: &Flow, expr: &Expr, values: Vec<Value>) -> Value {
        let mut values: Vec<(u32, Value)> = values.into_iter().map(|v| (self.level(&v), v)).collect();
        while values.len() > 1 {
            values.sort_by_key(|v| std::cmp::Reverse(v.0));
            let (Some((_, a)), Some((_, b))) = (values.pop(), values.pop()) else { break };
            let mut operands = a;
            operands.extend(b);
            let combined = self.compute(flow, expr, Value::new(), operands);
            values.push((self.level(&combined), combined));
        }
        values.pop().map(|v| v.1).unwrap_or_default()
    }

    /// Operations of this statement's expressions that come before a value.
    fn level(&self, value: &Value) -> u32 {
        let of = |segment: &Segment| match segment.source {
            Source::Def(def, _) if self.defs[def.0].slot.is_none() => {
                let op = self.defs[def.0].producers.first().map(|op| &self.operations[*op]);
                1 + op.map_or(0, |op| self.level(&op.operands).max(self.level(&op.matched)))
            }
            _ => 0,
        };
        value.iter().map(of).max().unwrap_or(0)
    }

    /// What an action does that runs at a point.
    pub(super) fn action(&self, flow: &Flow, block: &[Stmt]) -> ActionBody {
        let mut scan = Scan {
            flow,
            accesses: &self.accesses,
            body: ActionBody { reads: Value::new(), writes: BTreeMap::new(), depth: 1, objects: Vec::new() },
            depths: BTreeMap::new(),
        };
        scan.block(self, block, 0);
        scan.body
    }
}

/// Goes through an action.
struct Scan<'a> {
    flow: &'a Flow,
    accesses: &'a HashSet<Span>,
    body: ActionBody,
    /// Operations that come before the values that the action has assigned.
    depths: BTreeMap<SlotId, u32>,
}

impl Scan<'_> {
    /// `guarded`: the operations that decide whether the block runs; 0 if it always does.
    fn block(&mut self, builder: &Builder, block: &[Stmt], guarded: u32) {
        let mut rest = block;
        while let [first, after @ ..] = rest {
            match access(rest) {
                Some((_, whole)) => {
                    self.cell(builder, whole, guarded);
                    rest = &rest[whole.len()..];
                }
                None => {
                    self.stmt(builder, first, guarded);
                    rest = after;
                }
            }
        }
    }

    /// What a stateful ALU does to a cell: as deep as what it reads.
    fn cell(&mut self, builder: &Builder, whole: &[Stmt], guarded: u32) {
        let (before, deepest) = (self.depths.clone(), self.body.depth);
        whole.iter().for_each(|stmt| self.stmt(builder, stmt, guarded));
        let mut depth = guarded;
        for stmt in whole {
            let mut read = |expr: &Expr| {
                walk::expr_slots(expr, &mut |slot| depth = depth.max(before.get(&slot).copied().unwrap_or(0)))
            };
            walk::stmt_exprs(stmt).into_iter().for_each(&mut read);
            for inner in walk::blocks(stmt) {
                walk::stmts(inner, &mut |stmt| walk::stmt_exprs(stmt).into_iter().for_each(&mut read));
            }
        }
        self.depths.iter_mut().filter(|(slot, now)| before.get(slot) != Some(now)).for_each(|(_, now)| *now = depth);
        self.body.depth = deepest.max(depth);
    }

    fn stmt(&mut self, builder: &Builder, stmt: &Stmt, guarded: u32) {
        let pipeline = builder.pipeline;
        match &stmt.kind {
            StmtKind::Assign(slot, value) if builder.is_given(*slot) || sets_out(*slot, value) => {}
            StmtKind::Assign(slot, value) => {
                let depth = self.expr(builder, value).max(guarded);
                self.write(*slot, depth, guarded == 0);
            }
            StmtKind::AssignSlice { slot, value, .. } => {
                let depth = self.expr(builder, value).max(guarded);
                let before = self.depths.get(slot).copied().unwrap_or(0);
                self.write(*slot, depth.max(before), false);
            }
            StmtKind::If { cond, then, otherwise } => {
                let guarded = guarded.max(self.expr(builder, cond) + u32::from(!self.accesses.contains(&stmt.span)));
                self.block(builder, then, guarded);
                self.block(builder, otherwise, guarded);
            }
            StmtKind::Switch { value, cases, default } => {
                let guarded = self.expr(builder, value) + 1;
                cases.iter().for_each(|case| self.block(builder, &case.1, guarded));
                self.block(builder, default, guarded);
            }
            StmtKind::Scope { body, .. } | StmtKind::Loop { body, .. } => self.block(builder, body, guarded.max(1)),
            StmtKind::SetValid(h) | StmtKind::SetInvalid(h) => self.write(pipeline[*h].valid, guarded, guarded == 0),
            StmtKind::CopyHeader { dst, src } => {
                for (to, from) in walk::header_slots(pipeline, *dst).zip(walk::header_slots(pipeline, *src)) {
                    let depth = self.read(from, 0, pipeline[from].ty.width());
                    self.write(to, depth.max(guarded), guarded == 0);
                }
            }
            StmtKind::PushFront(stack, _) | StmtKind::PopFront(stack, _) => {
                let slots = pipeline[*stack].elements.iter().flat_map(|h| walk::header_slots(pipeline, *h));
                for slot in slots {
                    let depth = self.read(slot, 0, pipeline[slot].ty.width());
                    self.write(slot, depth.max(guarded), guarded == 0);
                }
            }
            StmtKind::Extern(call) => {
                self.body.objects.extend(call.function.object());
                let mut depth = guarded;
                for arg in &call.args {
                    depth = depth.max(match arg {
                        ExternArg::In(value) => self.expr(builder, value),
                        ExternArg::List(values) => values.iter().map(|v| self.expr(builder, v)).max().unwrap_or(0),
                        ExternArg::InOut(slot) => self.read(*slot, 0, pipeline[*slot].ty.width()),
                        ExternArg::Out(_) => 0,
                    });
                }
                let always = guarded == 0 && call.function.info().writes_results;
                for arg in &call.args {
                    if let ExternArg::Out(slot) | ExternArg::InOut(slot) = arg {
                        self.write(*slot, depth, always);
                    }
                }
            }
            _ => {}
        }
    }

    fn write(&mut self, slot: SlotId, depth: u32, whole: bool) {
        *self.body.writes.entry(slot).or_insert(false) |= whole;
        self.depths.insert(slot, depth);
        self.body.depth = self.body.depth.max(depth);
    }

    fn read(&mut self, slot: SlotId, low: u32, bits: u32) -> u32 {
        if self.body.writes.get(&slot) != Some(&true) {
            let value = slice(&self.flow.variables[slot.index()].value, low, bits);
            self.body.reads.extend(value);
        }
        self.depths.get(&slot).copied().unwrap_or(0)
    }

    /// Operations that an expression needs after each other.
    fn expr(&mut self, builder: &Builder, expr: &Expr) -> u32 {
        if is_hash(expr) && builder.is_hashed(expr.span) {
            let mut deepest = 0;
            walk::expr_slots(expr, &mut |slot| {
                deepest = deepest.max(self.read(slot, 0, builder.pipeline[slot].ty.width()));
            });
            return deepest + 1;
        }
        match &expr.kind {
            ExprKind::Const(_) | ExprKind::Param(_) | ExprKind::PacketLength => 0,
            ExprKind::Slot(slot) => self.read(*slot, 0, expr.ty.width()),
            ExprKind::Slice { arg, hi, lo } => match &arg.kind {
                ExprKind::Slot(slot) => self.read(*slot, *lo, hi - lo + 1),
                _ => self.expr(builder, arg),
            },
            ExprKind::Cast(arg) => self.expr(builder, arg),
            ExprKind::Binary(BinaryOp::Concat, a, b) => self.expr(builder, a).max(self.expr(builder, b)),
            ExprKind::Binary(BinaryOp::And, a, b)
                if mask_of(a, b).is_some_and(|(_, mask)| masked(&Value::new(), mask, expr.ty.width()).1 <= 1) =>
            {
                self.expr(builder, a).max(self.expr(builder, b))
            }
            ExprKind::Binary(BinaryOp::Shl | BinaryOp::Shr, a, by) if constant_shift(by).is_some() => {
                self.expr(builder, a)
            }
            ExprKind::Binary(op, ..) if is_associative(*op, expr.ty) => {
                let mut operands = Vec::new();
                chain(expr, *op, &mut operands);
                let deepest = operands.iter().map(|e| self.expr(builder, e)).max().unwrap_or(0);
                deepest + if is_one(expr) { 1 } else { operands.len().next_power_of_two().ilog2() }
            }
            _ => {
                let deepest = walk::operands(expr).into_iter().map(|e| self.expr(builder, e)).max().unwrap_or(0);
                deepest + u32::from(!self.accesses.contains(&expr.span))
            }
        }
    }
}

/// The bits of a value that are not constants.
pub(super) fn bits_of(value: &Value) -> u32 {
    let wires: Value = value.iter().filter(|s| matches!(s.source, Source::Def(..))).cloned().collect();
    width(&wires)
}
