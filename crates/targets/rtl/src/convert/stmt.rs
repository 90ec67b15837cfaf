//! Statements of controls, actions and parser states.

use hopwright_ir::{
    Block, Expr, ExternArg, ExternFn, ExternKind, Header, HeaderId, SlotId, Span, StackId, Stmt, StmtKind, TableId,
    Type,
};
use num_bigint::BigUint;
use num_traits::ToPrimitive;

use super::{Convert, MAX_NODES, Path};
use crate::hir::{Binary, Edit, Emit, LookupLayout, Op, Piece, Value};
use crate::refusal::Capability;

/// How often a loop without a known bound is unrolled to find out whether constants end it.
const TRIES: u32 = 64;

/// The most repetitions of a loop: each is hardware of its own.
const MAX_ROUNDS: u32 = 1024;

/// The most bytes between two changed fields of a header that one edit covers.
const EDIT_GAP: u32 = 2;

impl Convert<'_> {
    /// Converts statements; returns the path behind them, if there is one.
    pub(super) fn block(&mut self, block: &Block, path: Path) -> Option<Path> {
        let mut path = Some(path);
        for stmt in block {
            path = self.stmt(stmt, path?);
        }
        path
    }

    fn stmt(&mut self, stmt: &Stmt, mut path: Path) -> Option<Path> {
        self.b.span = stmt.span;
        if self.b.design.nodes.len() > MAX_NODES {
            if self.refusals.is_empty() {
                self.refuse(Capability::ProgramSize, stmt.span, format!("more than {MAX_NODES} operations"));
            }
            return None;
        }
        match &stmt.kind {
            StmtKind::Assign(slot, value) => {
                let value = self.expr(value, &path);
                self.set(*slot, value, &mut path);
            }
            StmtKind::AssignSlice { slot, hi, lo, value } => {
                let new = self.expr(value, &path);
                let value = self.replace(path.slots[slot.index()], *hi, *lo, new);
                self.set(*slot, value, &mut path);
            }
            StmtKind::SetValid(header) => self.set_valid(*header, &mut path),
            StmtKind::SetInvalid(header) => path.slots[self.p[*header].valid.index()] = self.b.boolean(false),
            StmtKind::CopyHeader { dst, src } => self.copy(*dst, *src, &mut path),
            StmtKind::PushFront(stack, count) => self.push_front(*stack, *count, &mut path),
            StmtKind::PopFront(stack, count) => self.pop_front(*stack, *count, &mut path),
            StmtKind::If { cond, then, otherwise } => {
                let cond = self.expr(cond, &path);
                if let Some(known) = self.b.as_const(cond) {
                    let taken = if *known == BigUint::ZERO { otherwise } else { then };
                    return self.block(taken, path);
                }
                let not = self.b.not(cond);
                return self.branch(path, vec![cond, not], |convert, i, path| {
                    convert.block(if i == 0 { then } else { otherwise }, path)
                });
            }
            StmtKind::Switch { value, cases, default } => {
                let value = self.expr(value, &path);
                let conds = self.case_conditions(value, cases.iter().map(|(values, _)| values));
                return self.branch(path, conds, |convert, i, path| {
                    convert.block(cases.get(i).map_or(default, |case| &case.1), path)
                });
            }
            StmtKind::Scope { label, body } => {
                self.scopes.push((*label, Vec::new()));
                let end = self.block(body, path);
                let (_, mut ends) = self.scopes.pop().expect("the scope was just opened");
                ends.extend(end);
                self.b.span = stmt.span;
                return (!ends.is_empty()).then(|| self.meet(ends));
            }
            StmtKind::Leave(label) => {
                let scope = self.scopes.iter_mut().rev().find(|(open, _)| open == label);
                scope.expect("the verifier finds a scope for each leave").1.push(path);
                return None;
            }
            StmtKind::Loop { body, bound } => {
                self.unroll(body, *bound, stmt.span, path);
                return None;
            }
            StmtKind::Apply { table, hit, action_run } => return self.apply(*table, *hit, *action_run, path),
            StmtKind::Extern(call) => match (&call.function, call.args.as_slice()) {
                (ExternFn::Assert | ExternFn::Assume, [ExternArg::In(cond)]) => return self.assertion(cond, path),
                _ => self.call(call, &mut path),
            },
            StmtKind::Exit => {
                self.exits.push(path);
                return None;
            }
            StmtKind::Extract { header, varbit_bits } => return self.extract(*header, varbit_bits.as_ref(), path),
            StmtKind::ExtractNext { stack, varbit_bits } => {
                return self.extract_next(*stack, varbit_bits.as_ref(), path, stmt.span);
            }
            StmtKind::Advance { bits, .. } => return self.advance(bits, path),
            StmtKind::Lookahead { total_bits, parts } => return self.lookahead(*total_bits, parts, path),
            StmtKind::Verify(cond, error) => {
                let (cond, error) = (self.expr(cond, &path), self.expr(error, &path));
                let failed = self.b.not(cond);
                return self.fail_if(failed, error, path);
            }
            StmtKind::Emit(header) => self.emit(*header, &path, stmt.span),
        }
        Some(path)
    }

    /// Gives a slot a value.
    pub(super) fn set(&mut self, slot: SlotId, value: Value, path: &mut Path) {
        self.b.hold(value, Some(slot));
        path.slots[slot.index()] = value;
    }

    /// The conditions of the cases of a value, of which the first one counts, and the condition that none is true.
    fn case_conditions<'c>(&mut self, value: Value, cases: impl Iterator<Item = &'c Vec<BigUint>>) -> Vec<Value> {
        let mut seen: Vec<&BigUint> = Vec::new();
        let mut conds = Vec::new();
        for values in cases {
            let mut each = Vec::new();
            for bits in values {
                if !seen.contains(&bits) {
                    seen.push(bits);
                    each.push(self.b.eq_const(value, bits.clone()));
                }
            }
            conds.push(self.b.any(&each));
        }
        let any = self.b.any(&conds);
        conds.push(self.b.not(any));
        conds
    }

    /// Converts a loop, which only a statement in its body leaves.
    fn unroll(&mut self, body: &Block, bound: Option<u32>, span: Span, path: Path) {
        if let Some(rounds) = bound.filter(|rounds| *rounds > MAX_ROUNDS) {
            let message = format!("up to {rounds} repetitions, of at most {MAX_ROUNDS}");
            return self.refuse(Capability::ProgramSize, span, message);
        }
        let mut path = path;
        for _ in 0..bound.unwrap_or(TRIES) {
            let Some(end) = self.block(body, path) else { return };
            path = end;
            if self.b.design.nodes.len() > MAX_NODES {
                break;
            }
        }
        if bound.is_none() {
            self.refuse(Capability::Loop, span, "nothing limits the number of repetitions");
        }
    }

    /// Converts alternatives of which exactly one's condition is true, and joins what comes out of them.
    pub(super) fn branch(
        &mut self,
        path: Path,
        conds: Vec<Value>,
        mut each: impl FnMut(&mut Self, usize, Path) -> Option<Path>,
    ) -> Option<Path> {
        let span = self.b.span;
        let preds: Vec<Value> = conds.iter().map(|cond| self.b.and(path.pred, *cond)).collect();
        self.b.split(path.pred, preds.clone());
        let mut ends = Vec::with_capacity(preds.len());
        for (i, pred) in preds.into_iter().enumerate() {
            let possible = self.b.as_const(conds[i]) != Some(&BigUint::ZERO);
            let start = Path { pred, slots: path.slots.clone() };
            ends.push(if possible { each(self, i, start) } else { None });
        }
        self.b.span = span;
        self.join(conds, ends)
    }

    /// `value` with some bits replaced.
    fn replace(&mut self, value: Value, hi: u32, lo: u32, new: Value) -> Value {
        let width = self.b.width(value);
        let mut parts = Vec::new();
        if hi + 1 < width {
            parts.push(self.b.slice(value, width - 1, hi + 1));
        }
        parts.push(new);
        if lo > 0 {
            parts.push(self.b.slice(value, lo - 1, 0));
        }
        self.b.concat(parts)
    }

    fn set_valid(&mut self, header: HeaderId, path: &mut Path) {
        let header = &self.p[header];
        let valid = path.slots[header.valid.index()];
        for field in &header.fields {
            let at = field.slot.index();
            let zero = self.b.constant(0u32, self.b.width(path.slots[at]));
            path.slots[at] = self.b.mux(valid, path.slots[at], zero);
        }
        path.slots[header.valid.index()] = self.b.boolean(true);
    }

    fn copy(&mut self, dst: HeaderId, src: HeaderId, path: &mut Path) {
        let (dst, src) = (&self.p[dst], &self.p[src]);
        for (to, from) in dst.fields.iter().zip(&src.fields) {
            path.slots[to.slot.index()] = path.slots[from.slot.index()];
        }
        path.slots[dst.valid.index()] = path.slots[src.valid.index()];
    }

    fn push_front(&mut self, stack: StackId, count: u32, path: &mut Path) {
        let stack = &self.p[stack];
        let (size, count) = (stack.elements.len(), count as usize);
        for i in (0..size).rev() {
            match i.checked_sub(count) {
                Some(from) => self.copy(stack.elements[i], stack.elements[from], path),
                None => path.slots[self.p[stack.elements[i]].valid.index()] = self.b.boolean(false),
            }
        }
        let at = stack.next_index.index();
        let width = self.b.width(path.slots[at]);
        let wide = self.b.resize(path.slots[at], 64);
        let by = self.b.constant(count, 64);
        let sum = self.b.binary(Binary::Add, wide, by);
        let most = self.b.constant(size, 64);
        let beyond = self.b.binary(Binary::Less, most, sum);
        let next = self.b.mux(beyond, most, sum);
        path.slots[at] = self.b.resize(next, width);
    }

    fn pop_front(&mut self, stack: StackId, count: u32, path: &mut Path) {
        let stack = &self.p[stack];
        for i in 0..stack.elements.len() {
            match stack.elements.get(i + count as usize) {
                Some(from) => self.copy(stack.elements[i], *from, path),
                None => path.slots[self.p[stack.elements[i]].valid.index()] = self.b.boolean(false),
            }
        }
        let at = stack.next_index.index();
        let width = self.b.width(path.slots[at]);
        let wide = self.b.resize(path.slots[at], 64);
        let by = self.b.constant(count, 64);
        let below = self.b.binary(Binary::Less, wide, by);
        let difference = self.b.binary(Binary::Sub, wide, by);
        let zero = self.b.constant(0u32, 64);
        let next = self.b.mux(below, zero, difference);
        path.slots[at] = self.b.resize(next, width);
    }

    fn apply(&mut self, id: TableId, hit: Option<SlotId>, action_run: Option<SlotId>, mut path: Path) -> Option<Path> {
        let p = self.p;
        let table = &p[id];
        let span = self.b.span;
        let mut keys = Vec::new();
        for key in table.match_keys() {
            keys.push(self.expr(&key.expr, &path));
        }
        self.b.span = span;
        let layout = LookupLayout::of(p, id);
        let width = layout.width();
        let lookup = self.b.effect(Op::Lookup { table: id, enable: path.pred, keys }, width);
        let color = table.direct_meter.map(|_| self.b.effect(Op::Color { lookup }, 2));
        let (chosen, width) = match layout.list_bits {
            0 => (lookup, width),
            _ => (self.member(id, lookup, &layout, &path), layout.chosen_width()),
        };
        if let Some(slot) = hit {
            let hit = self.b.slice(chosen, width - 1, width - 1);
            self.set(slot, hit, &mut path);
        }
        let action = match layout.action_bits {
            0 => self.b.constant(0u32, 0),
            bits => self.b.slice(chosen, width - 2, width - 1 - bits),
        };
        let conds: Vec<Value> = match layout.actions.as_slice() {
            [_] => vec![self.b.boolean(true)],
            actions => (0..actions.len()).map(|i| self.b.eq_const(action, i)).collect(),
        };
        let outer_params = std::mem::take(&mut self.params);
        let outer_color = std::mem::replace(&mut self.color, color);
        let end = self.branch(path, conds, |convert, i, mut path| {
            let action = &p[layout.actions[i]];
            let mut at = layout.data_bits;
            convert.params.clear();
            for param in &action.params {
                let width = param.ty.width();
                let value = convert.b.slice(chosen, at - 1, at - width);
                convert.params.push(value);
                at -= width;
            }
            if let Some(slot) = action_run {
                let width = p[slot].ty.width();
                path.slots[slot.index()] = convert.b.constant(layout.actions[i].0, width);
            }
            convert.block(&action.body, path)
        });
        self.params = outer_params;
        self.color = outer_color;
        end
    }

    /// The member that a lookup in a table with an action profile leads to: of several, a hash selects one by its remainder.
    fn member(&mut self, id: TableId, lookup: Value, layout: &LookupLayout, path: &Path) -> Value {
        let table = &self.p[id];
        let bits = layout.list_bits;
        let [hit, first, count] =
            [(1, 2 * bits), (bits, bits), (bits, 0)].map(|(width, lo)| self.b.slice(lookup, lo + width - 1, lo));
        let none = self.b.eq_const(count, 0u32);
        let some = self.b.not(none);
        let hit = self.b.and(hit, some);
        let mut place = first;
        if let Some(ExternKind::ActionSelector { algorithm, .. }) = table.implementation.map(|id| &self.p[id].kind) {
            let keys: Vec<Expr> = table.selector_keys().map(|key| key.expr.clone()).collect();
            if let Some(hash) = self.hash(*algorithm, &keys, table.span, path) {
                let rest = self.divide(hash, count).1;
                let rest = self.b.resize(rest, bits);
                place = self.b.binary(Binary::Add, first, rest);
            }
        }
        match layout.call_bits() {
            0 => hit,
            _ => self.b.effect(Op::Member { lookup, hit, place }, layout.chosen_width()),
        }
    }

    fn emit(&mut self, id: HeaderId, path: &Path, span: Span) {
        let p = self.p;
        let header = &p[id];
        let enable = self.b.and(path.pred, path.slots[header.valid.index()]);
        if self.b.as_const(enable) == Some(&BigUint::ZERO) {
            return;
        }
        if !header.fixed_bits.is_multiple_of(8) {
            let message = format!("`{}` has {} bits", header.name, header.fixed_bits);
            self.refuse(Capability::UnalignedHeader, span, message);
            return;
        }
        if let Some(place) = self.place(id) {
            let varbit = header.varbit.map(|at| header.fields[at as usize].slot);
            let kept = |slot: SlotId| path.slots[slot.index()] == self.received[slot.index()];
            if !varbit.into_iter().chain([header.valid]).all(kept) {
                self.moved = Some(id);
            }
            return self.edit(header, enable, path.slots[place], path, span);
        }
        let (mut pieces, mut bits) = (Vec::new(), Vec::new());
        for field in &header.fields {
            let value = path.slots[field.slot.index()];
            if matches!(p[field.slot].ty, Type::Varbit(_)) {
                if !bits.is_empty() {
                    pieces.push(Piece::Bits(self.b.concat(std::mem::take(&mut bits))));
                }
                pieces.push(Piece::Region(value));
            } else {
                bits.push(value);
            }
        }
        if !bits.is_empty() {
            pieces.push(Piece::Bits(self.b.concat(bits)));
        }
        self.emits.push(Emit { header: id, enable, pieces, span });
    }

    /// Writes what has changed in a header that stays where it is.
    fn edit(&mut self, header: &Header, enable: Value, place: Value, path: &Path, span: Span) {
        // Bytes with fields that have changed, as ranges.
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for field in &header.fields {
            let slot = field.slot.index();
            if path.slots[slot] == self.received[slot] && !self.parser_writes.contains(&field.slot) {
                continue;
            }
            let (first, end) = (field.offset_bits / 8, (field.offset_bits + field.width).div_ceil(8));
            match ranges.last_mut() {
                Some(last) if first <= last.1 + EDIT_GAP => last.1 = end,
                _ => ranges.push((first, end)),
            }
        }
        for (first, end) in ranges {
            let mut bits = Vec::new();
            for field in &header.fields {
                let (lo, hi) = (field.offset_bits.max(8 * first), (field.offset_bits + field.width).min(8 * end));
                if lo < hi {
                    let below = field.offset_bits + field.width - hi;
                    bits.push(self.b.slice(path.slots[field.slot.index()], hi - lo + below - 1, below));
                }
            }
            let bits = self.b.concat(bits);
            let by = self.b.constant(first, 16);
            let offset = self.b.binary(Binary::Add, place, by);
            self.edits.push(Edit { enable, offset, bits, span });
        }
    }

    /// The constant that a value is, as a number.
    pub(super) fn known(&self, value: Value) -> Option<u32> {
        self.b.as_const(value).and_then(|c| c.to_u32())
    }
}
