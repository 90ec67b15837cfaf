//! Parser states and their statements.

use std::rc::Rc;

use hopwright_ir::analysis::parser_graph::{FixedPrefix, fixed_prefix};
use hopwright_ir::{
    BinaryOp, Expr, HeaderId, KeySet, SelectCase, Span, StateId, Stmt, StmtKind, Target, Transition, Type,
};
use num_traits::ToPrimitive;

use super::{Builder, Context, Place, Point, State, Step, What, sub};
use crate::emit::point::{PointId, stage};
use crate::trace_ir::values::{Op, ValueId};

/// The maximum number of a byte that a computed place may reach; packets are shorter.
const MAX_PLACE: u64 = 1 << 31;

impl<'a> Builder<'a> {
    pub(super) fn state_point(&self, s: usize) -> Point<'a> {
        let position = self.state_order.iter().position(|&o| o == s).unwrap_or(0);
        Point::new(vec![stage::PARSER, position as u32], What::State(s), &Rc::default())
    }

    fn target(&self, target: Target) -> Point<'a> {
        match target {
            Target::State(StateId(id)) => self.state_point(id as usize),
            Target::Accept | Target::Reject => Point::stage(stage::PARSED),
        }
    }

    pub(super) fn state(&mut self, s: usize, id: &PointId, mut state: State) -> Step {
        let p = self.p;
        let it = &p.parser.states[s];
        self.ir.values.at(Some(it.span));
        let context = Rc::default();
        let transition = Point::new(sub(id, 2), What::Transition(s), &context);
        let body = Point::stmts(sub(id, 1), &it.body, &transition, &context);
        let need = self.needed_on_paths(&state, s);
        let end = Place { offset: state.cursor.offset.saturating_add(need), ..state.cursor };
        self.contain(&mut state, end, it.span)?;
        self.go(&body, state)
    }

    /// The number of bytes that all paths need from the beginning of a state.
    fn needed_on_paths(&self, state: &State, s: usize) -> u32 {
        let states = &self.p.parser.states;
        let needed = state.paths.iter().map(|&(path, passed)| {
            let ahead = self.paths[path].0.iter().skip(passed).filter_map(|point| match point[..] {
                [stage::PARSER, position] => self.state_order.get(position as usize).copied(),
                _ => None,
            });
            let (mut at, mut needed) = (0, 0);
            for s in std::iter::once(s).chain(ahead) {
                let FixedPrefix { need, taken, whole } = fixed_prefix(self.p, &states[s]);
                needed = needed.max(at + need);
                at += taken;
                if !whole {
                    break;
                }
            }
            needed
        });
        needed.min().unwrap_or(0)
    }

    /// Guards that the packet contains the bytes in front of a place.
    fn contain(&mut self, state: &mut State, end: Place, span: Span) -> Step {
        if state.established.contains(end) {
            return Ok(());
        }
        let reach = end.base.map_or(0, |base| self.ir.values[base].range.map_or(u64::MAX, |range| range.hi));
        if reach.saturating_add(end.offset.into()) > MAX_PLACE {
            return self.exit(state, "a place without bound");
        }
        let (end, length) = (self.place_value(end), self.ir.values.data(Op::Length, Type::Bits(32)));
        let enough = self.ir.values.data(Op::Binary(BinaryOp::Le, end, length), Type::Bool);
        let site = self.site(span, "").about(": the packet is long enough");
        self.guard(state, enough, true, &site)
    }

    pub(super) fn transition(&mut self, s: usize, mut state: State) -> Step {
        let p = self.p;
        let (keys, cases) = match &p.parser.states[s].transition {
            Transition::Goto(target) => return self.go(&self.target(*target), state),
            Transition::Select { keys, cases } => (keys, cases),
        };
        let context = Context::default();
        let values: Vec<ValueId> = keys.iter().map(|key| self.value(&state, &context, key)).collect();
        let targets: Vec<Point<'a>> = cases.iter().map(|case| self.target(case.target)).collect();
        let accepted = self.target(Target::Accept);
        for (k, case) in cases.iter().enumerate() {
            self.ir.values.at(Some(case.span));
            let matches = self.case_matches(&state, case, keys, &values);
            match self.decided(matches) {
                Some(true) => return self.go(&targets[k], state),
                Some(false) => continue,
                None => {}
            }
            let site = self.site(case.span, "");
            let on_path = |builder: &Self, state: &State, k: usize| builder.is_on_path(state, &targets[k]);
            let later = (k + 1..cases.len()).any(|k| on_path(self, &state, k)) || self.is_on_path(&state, &accepted);
            if on_path(self, &state, k) {
                if !later {
                    self.guard(&mut state, matches, true, &site)?;
                    return self.go(&targets[k], state);
                }
                let (here, other) = self.branch(&state, matches, &site);
                // One of the two may end here.
                let _ = self.go(&targets[k], here);
                state = other;
                continue;
            }
            let apart = |k: usize| !on_path(self, &state, k) || are_apart(case, &cases[k]);
            let away = !self.is_on_path(&state, &accepted) && (k + 1..cases.len()).all(apart);
            if !away {
                self.guard(&mut state, matches, false, &site)?;
            }
        }
        self.go(&accepted, state)
    }

    /// Whether a select's keys match a case.
    fn case_matches(&mut self, state: &State, case: &SelectCase, keys: &[Expr], values: &[ValueId]) -> ValueId {
        if let [KeySet::ValueSet(set)] = case.sets.as_slice() {
            let set = self.p[*set].name.as_str().into();
            return self.ir.values.data(Op::Member { set, keys: values.to_vec() }, Type::Bool);
        }
        let mut all = self.ir.values.truth(true);
        for ((set, key), &value) in case.sets.iter().zip(keys).zip(values) {
            let ty = key.ty;
            let compared = match set {
                KeySet::Any | KeySet::ValueSet(_) => continue,
                KeySet::Value(wanted) => {
                    let wanted = self.ir.values.constant(wanted.clone(), ty);
                    self.ir.values.equal(value, wanted)
                }
                KeySet::Mask(wanted, mask) => {
                    let wanted = self.ir.values.constant(wanted & mask, ty);
                    let mask = self.ir.values.constant(mask.clone(), ty);
                    let masked = self.ir.values.data(Op::Binary(BinaryOp::And, value, mask), ty);
                    self.ir.values.equal(masked, wanted)
                }
                KeySet::Range(lo, hi) => {
                    let [lo, hi] = [lo, hi].map(|end| self.ir.values.constant(end.clone(), ty));
                    let above = self.ir.values.data(Op::Binary(BinaryOp::Ge, value, lo), Type::Bool);
                    let below = self.ir.values.data(Op::Binary(BinaryOp::Le, value, hi), Type::Bool);
                    self.ir.values.data(Op::Binary(BinaryOp::LogicalAnd, above, below), Type::Bool)
                }
            };
            let compared = *state.known.get(&compared).unwrap_or(&compared);
            all = self.ir.values.data(Op::Binary(BinaryOp::LogicalAnd, all, compared), Type::Bool);
        }
        *state.known.get(&all).unwrap_or(&all)
    }

    /// Follows a statement that only parsers have.
    pub(super) fn parser_statement(&mut self, state: &mut State, stmt: &Stmt, context: &Context<'a>) -> Step {
        match &stmt.kind {
            StmtKind::Extract { header, varbit_bits } => {
                self.extract(state, *header, varbit_bits.as_ref(), stmt.span, context)
            }
            StmtKind::ExtractNext { stack, varbit_bits } => {
                let stack = &self.p[*stack];
                let next = self.read(state, stack.next_index);
                let next = self.ir.values.as_constant(next).and_then(|next| next.to_usize());
                let Some((next, header)) = next.and_then(|next| Some((next, *stack.elements.get(next)?))) else {
                    return self.unsupported(state, stmt);
                };
                self.extract(state, header, varbit_bits.as_ref(), stmt.span, context)?;
                let following = self.ir.values.constant(next + 1, self.p[stack.next_index].ty);
                state.slots[stack.next_index.index()] = following;
                Ok(())
            }
            StmtKind::Advance { bits: by, .. } => {
                let by = self.value(state, context, by);
                self.skip(state, 0, by, stmt.span)?;
                Ok(())
            }
            StmtKind::Lookahead { total_bits, parts } => {
                let offset = state.cursor.offset.saturating_add(total_bits.div_ceil(8));
                self.contain(state, Place { offset, ..state.cursor }, stmt.span)?;
                for &(slot, offset) in parts {
                    let bit = 8 * state.cursor.offset + offset;
                    let ty = self.p[slot].ty;
                    state.slots[slot.index()] = self.ir.values.data(Op::Packet { base: state.cursor.base, bit }, ty);
                }
                Ok(())
            }
            _ => self.unsupported(state, stmt),
        }
    }

    /// Moves the cursor by `fixed` bytes and a computed number of bits, which are whole bytes in the packet. Returns the number of
    /// computed bytes.
    fn skip(&mut self, state: &mut State, fixed: u32, by: ValueId, span: Span) -> Result<ValueId, super::Stopped> {
        let cursor = state.cursor;
        let ty = Type::Bits(32);
        if let Some(constant) = self.ir.values.as_constant(by).and_then(|by| by.to_u32()) {
            if !constant.is_multiple_of(8) {
                self.exit(state, "not a whole number of bytes")?;
            }
            let offset = cursor.offset.saturating_add(fixed).saturating_add(constant / 8);
            state.cursor = Place { offset, ..cursor };
            self.contain(state, state.cursor, span)?;
            return Ok(self.ir.values.constant(constant / 8, ty));
        }
        if self.low_zeros(by) < 3 {
            let rest = self.ir.values.data(Op::Slice { arg: by, hi: 2, lo: 0 }, Type::Bits(3));
            let none = self.ir.values.constant(0u32, Type::Bits(3));
            let whole = self.ir.values.equal(rest, none);
            let site = self.site(span, "").about(": a whole number of bytes");
            self.guard(state, whole, true, &site)?;
        }
        let three = self.ir.values.constant(3u32, ty);
        let bytes = self.ir.values.data(Op::Binary(BinaryOp::Shr, by, three), ty);
        let base = match cursor.base {
            None => bytes,
            Some(base) => self.ir.values.data(Op::Binary(BinaryOp::Add, base, bytes), ty),
        };
        state.cursor = Place { base: Some(base), offset: cursor.offset.saturating_add(fixed) };
        self.contain(state, state.cursor, span)?;
        Ok(bytes)
    }

    /// The number of low bits of a value that are zero, whatever the operands.
    fn low_zeros(&self, value: ValueId) -> u32 {
        let values = &self.ir.values;
        match values[value].op {
            Op::Constant(ref value) => value.trailing_zeros().map_or(u32::MAX, |zeros| zeros as u32),
            Op::Binary(BinaryOp::Mul, a, b) => self.low_zeros(a).saturating_add(self.low_zeros(b)),
            Op::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Or, a, b) => self.low_zeros(a).min(self.low_zeros(b)),
            Op::Binary(BinaryOp::Shl, a, by) => {
                let by = values.as_constant(by).and_then(|by| by.to_u32()).unwrap_or(0);
                self.low_zeros(a).saturating_add(by)
            }
            Op::Binary(BinaryOp::Concat, high, low) => match self.low_zeros(low) {
                zeros if zeros >= values.width(low) => values.width(low).saturating_add(self.low_zeros(high)),
                zeros => zeros,
            },
            Op::Cast(a) | Op::Slice { arg: a, lo: 0, .. } => self.low_zeros(a),
            _ => 0,
        }
    }

    fn extract(
        &mut self,
        state: &mut State,
        id: HeaderId,
        varbit_bits: Option<&Expr>,
        span: Span,
        context: &Context<'a>,
    ) -> Step {
        let p = self.p;
        let header = &p[id];
        let start = state.cursor;
        let bits = match varbit_bits {
            Some(bits) => self.value(state, context, bits),
            None => self.ir.values.constant(0u32, Type::Bits(32)),
        };
        if !header.fixed_bits.is_multiple_of(8) {
            return self.exit(state, "not a whole number of bytes");
        }
        let length = self.skip(state, header.fixed_bits / 8, bits, span)?;
        let most = header.varbit.map_or(0, |i| header.fields[i as usize].width);
        let most = self.ir.values.constant(most, Type::Bits(32));
        let fits = self.ir.values.data(Op::Binary(BinaryOp::Le, bits, most), Type::Bool);
        let site = self.site(span, "").about(": the varbit field has room");
        self.guard(state, fits, true, &site)?;
        let mut behind = false;
        for (i, field) in header.fields.iter().enumerate() {
            let bit = 8 * start.offset + field.offset_bits;
            let ty = p[field.slot].ty;
            let value = if header.varbit == Some(i as u32) {
                behind = true;
                let at = Place { offset: bit / 8, ..start };
                self.ir.values.data(Op::Bytes { at, length: Some(length) }, ty)
            } else if behind {
                match self.ir.values.as_constant(length).and_then(|length| length.to_u32()) {
                    Some(length) => self.ir.values.data(Op::Packet { base: start.base, bit: bit + 8 * length }, ty),
                    None => self.ir.values.data(Op::Packet { base: state.cursor.base, bit }, ty),
                }
            } else {
                self.ir.values.data(Op::Packet { base: start.base, bit }, ty)
            };
            state.slots[field.slot.index()] = value;
        }
        self.set_validity(state, id, true);
        Ok(())
    }
}

/// Whether no keys match both cases.
fn are_apart(a: &SelectCase, b: &SelectCase) -> bool {
    a.sets.iter().zip(&b.sets).any(|pair| match pair {
        (KeySet::Value(a), KeySet::Value(b)) => a != b,
        (KeySet::Value(v), KeySet::Mask(w, m)) | (KeySet::Mask(w, m), KeySet::Value(v)) => v & m != w & m,
        (KeySet::Mask(a, m), KeySet::Mask(b, n)) => {
            let both = m & n;
            a & &both != b & &both
        }
        _ => false,
    })
}
