//! The parser.

use hopwright_ir::analysis::unrolled_parser::{UnrollError, UnrolledParser, UnrolledTarget};
use hopwright_ir::{Expr, HeaderId, KeySet, SelectCase, SlotId, Span, StackId, Transition, Type, bits};
use num_bigint::BigUint;

use super::{Convert, Extra, Path};
use crate::hir::{Binary, Input, Op, Value};
use crate::refusal::Capability;

/// How often a packet may come back to a state without having filled up a header stack. Each time is hardware of its own; a packet that comes
/// back more often is dropped.
const PARSER_ROUNDS: u32 = 16;

impl Convert<'_> {
    /// Converts the parser; returns the path behind it, unless it is refused.
    pub(super) fn parse(&mut self, start: Path) -> Option<Path> {
        let p = self.p;
        let unrolled = match UnrolledParser::bounded(p, PARSER_ROUNDS) {
            Ok(unrolled) => unrolled,
            Err(UnrollError::TooLarge(span) | UnrollError::Unbounded(_, span)) => {
                self.refuse(Capability::ParserSize, span, "too many states and positions in header stacks");
                return None;
            }
        };
        let mut arriving: Vec<Vec<Path>> = unrolled.nodes.iter().map(|_| Vec::new()).collect();
        let whole = start.pred;
        arriving[0].push(start);
        for (i, node) in unrolled.nodes.iter().enumerate() {
            let state = &p.parser.states[node.state.0 as usize];
            self.b.span = state.span;
            let paths = std::mem::take(&mut arriving[i]);
            let path = match paths.is_empty() {
                true => continue,
                false => self.meet(paths),
            };
            let Some(path) = self.block(&state.body, path) else { continue };
            self.b.span = state.span;
            let go = |convert: &mut Self, arriving: &mut Vec<Vec<Path>>, to: UnrolledTarget, path: Path| match to {
                UnrolledTarget::Node(next) => arriving[next].push(path),
                UnrolledTarget::Accept | UnrolledTarget::Reject => convert.parsed.push(path),
                UnrolledTarget::Beyond => convert.fault(path),
            };
            match &state.transition {
                Transition::Goto(_) => {
                    // A body that always fails has no targets.
                    if let [to] = node.targets.as_slice() {
                        go(self, &mut arriving, *to, path);
                    }
                }
                Transition::Select { keys, cases } => {
                    let conds = self.cases(keys, cases, &path);
                    let preds: Vec<Value> = conds.iter().map(|cond| self.b.and(path.pred, *cond)).collect();
                    self.b.split(path.pred, preds.clone());
                    for (i, pred) in preds.into_iter().enumerate() {
                        if self.b.as_const(pred) != Some(&BigUint::ZERO) {
                            // No case: accept.
                            let to = node.targets.get(i).copied().unwrap_or(UnrolledTarget::Accept);
                            go(self, &mut arriving, to, Path { pred, slots: path.slots.clone() });
                        }
                    }
                }
            }
        }
        self.b.span = p.parser.span;
        let mut ends = std::mem::take(&mut self.parsed);
        ends.append(&mut self.faults);
        let mut end = self.meet(ends);
        end.pred = whole;
        let before = self.b.boolean(false);
        self.settle_fault(before, whole, &mut end);
        Some(end)
    }

    /// The conditions of a select's cases, and at the end that of no case. Exactly one is true.
    fn cases(&mut self, keys: &[Expr], cases: &[SelectCase], path: &Path) -> Vec<Value> {
        let values: Vec<Value> = keys.iter().map(|key| self.expr(key, path)).collect();
        let mut conds: Vec<Value> = Vec::new();
        for case in cases {
            self.b.span = case.span;
            let cond = self.matches(case, keys, &values);
            conds.push(cond);
        }
        let mut exclusive = Vec::new();
        for (i, cond) in conds.iter().enumerate() {
            let earlier: Vec<Value> =
                (0..i).filter(|j| !disjoint(&cases[*j], &cases[i], keys)).map(|j| conds[j]).collect();
            let earlier = self.b.any(&earlier);
            let not = self.b.not(earlier);
            exclusive.push(self.b.and(*cond, not));
        }
        let any = self.b.any(&conds);
        exclusive.push(self.b.not(any));
        exclusive
    }

    fn matches(&mut self, case: &SelectCase, keys: &[Expr], values: &[Value]) -> Value {
        if let [KeySet::ValueSet(set)] = case.sets.as_slice() {
            return self.b.effect(Op::InSet { set: *set, keys: values.to_vec() }, 1);
        }
        let mut all = self.b.boolean(true);
        for ((set, key), value) in case.sets.iter().zip(keys).zip(values) {
            let one = self.in_set(set, key, *value);
            all = self.b.and(all, one);
        }
        all
    }

    fn in_set(&mut self, set: &KeySet, key: &Expr, value: Value) -> Value {
        let width = self.b.width(value);
        match set {
            KeySet::Any => self.b.boolean(true),
            KeySet::Value(bits) => self.b.eq_const(value, bits.clone()),
            KeySet::Mask(bits, mask) => {
                // Only the bits that the mask selects are compared.
                let ones: Vec<u32> = (0..width).rev().filter(|i| mask.bit(u64::from(*i))).collect();
                let mut parts = Vec::new();
                let mut wanted = BigUint::ZERO;
                for bit in ones {
                    parts.push(self.b.slice(value, bit, bit));
                    wanted = (wanted << 1u32) + u32::from(bits.bit(u64::from(bit)));
                }
                let found = self.b.concat(parts);
                self.b.eq_const(found, wanted)
            }
            KeySet::Range(lo, hi) => {
                let less = if matches!(key.ty, Type::Int(_)) { Binary::LessSigned } else { Binary::Less };
                let (lo, hi) = (self.b.constant(lo.clone(), width), self.b.constant(hi.clone(), width));
                let (below, above) = (self.b.binary(less, value, lo), self.b.binary(less, hi, value));
                let outside = self.b.or(below, above);
                self.b.not(outside)
            }
            KeySet::ValueSet(_) => self.b.boolean(false),
        }
    }

    /// Ends parsing with an error where the condition is true.
    pub(super) fn fail_if(&mut self, cond: Value, error: Value, path: Path) -> Option<Path> {
        let not = self.b.not(cond);
        let (failed, on) = (self.b.and(path.pred, cond), self.b.and(path.pred, not));
        self.b.split(path.pred, vec![failed, on]);
        if self.b.as_const(cond) != Some(&BigUint::ZERO) {
            let mut slots = path.slots.clone();
            slots[self.p.standard.parser_error.index()] = error;
            self.parsed.push(Path { pred: failed, slots });
        }
        (self.b.as_const(not) != Some(&BigUint::ZERO)).then_some(Path { pred: on, slots: path.slots })
    }

    fn error(&mut self, name: &str) -> Value {
        let index = self.p.errors.iter().position(|e| e == name).unwrap_or(0);
        self.b.constant(index, 16)
    }

    /// Fails with `PacketTooShort` if fewer bytes are left, which is a value of 32 bits.
    fn need(&mut self, bytes: Value, path: Path) -> Option<Path> {
        let cursor = self.b.resize(path.slots[self.extra(Extra::Cursor)], 32);
        let end = self.b.binary(Binary::Add, cursor, bytes);
        let length = self.b.input(Input::Length);
        let length = self.b.resize(length, 32);
        let short = self.b.binary(Binary::Less, length, end);
        let error = self.error("PacketTooShort");
        self.fail_if(short, error, path)
    }

    /// Consumes bytes that are there, of a header or others.
    fn consume(&mut self, bytes: Value, header: Option<HeaderId>, path: &mut Path) {
        let at = self.extra(Extra::Cursor);
        let bytes = self.b.resize(bytes, 16);
        let end = self.b.binary(Binary::Add, path.slots[at], bytes);
        match header.and_then(|header| self.place(header)) {
            Some(place) => path.slots[place] = path.slots[at],
            None => path.slots[self.extra(Extra::Skip)] = end,
        }
        path.slots[at] = end;
    }

    pub(super) fn extract(&mut self, id: HeaderId, varbit_bits: Option<&Expr>, path: Path) -> Option<Path> {
        let p = self.p;
        let header = &p[id];
        let fixed = header.fixed_bits;
        let Some(varbit) = header.varbit.map(|i| &header.fields[i as usize]) else {
            if !fixed.is_multiple_of(8) {
                let (failed, error) = (self.b.boolean(true), self.error("ParserInvalidArgument"));
                return self.fail_if(failed, error, path);
            }
            let bytes = self.b.constant(fixed / 8, 32);
            let mut path = self.need(bytes, path)?;
            let cursor = path.slots[self.extra(Extra::Cursor)];
            for field in &header.fields {
                let value = self.b.window(cursor, field.offset_bits, field.width);
                self.set(field.slot, value, &mut path);
            }
            path.slots[header.valid.index()] = self.b.boolean(true);
            self.consume(bytes, Some(id), &mut path);
            return Some(path);
        };
        if !varbit.offset_bits.is_multiple_of(8) || !fixed.is_multiple_of(8) {
            let message = format!("field `{}` of `{}` does not begin or end at a byte", varbit.name, header.name);
            self.refuse(Capability::Varbit, self.b.span, message);
            return Some(path);
        }
        let bits = match varbit_bits {
            Some(e) => self.expr(e, &path),
            None => self.b.constant(0u32, 32),
        };
        let odd = self.b.slice(bits, 2, 0);
        let whole = self.b.eq_const(odd, 0u32);
        let partial = self.b.not(whole);
        let error = self.error("ParserInvalidArgument");
        let path = self.fail_if(partial, error, path)?;
        let own = self.b.slice(bits, 31, 3);
        let own = self.b.resize(own, 32);
        let rest = self.b.constant(fixed / 8, 32);
        let bytes = self.b.binary(Binary::Add, own, rest);
        let path = self.need(bytes, path)?;
        let most = self.b.constant(varbit.width, 32);
        let beyond = self.b.binary(Binary::Less, most, bits);
        let error = self.error("HeaderTooShort");
        let mut path = self.fail_if(beyond, error, path)?;
        let cursor = path.slots[self.extra(Extra::Cursor)];
        let own = self.b.resize(own, 16);
        for field in &header.fields {
            let value = if std::ptr::eq(field, varbit) {
                let skip = self.b.constant(field.offset_bits / 8, 16);
                let offset = self.b.binary(Binary::Add, cursor, skip);
                self.b.concat(vec![offset, own])
            } else if field.offset_bits < varbit.offset_bits {
                self.b.window(cursor, field.offset_bits, field.width)
            } else {
                // Offsets of the fields behind it are those without it.
                let offset = self.b.binary(Binary::Add, cursor, own);
                self.b.window(offset, field.offset_bits, field.width)
            };
            self.set(field.slot, value, &mut path);
        }
        path.slots[header.valid.index()] = self.b.boolean(true);
        self.consume(bytes, Some(id), &mut path);
        Some(path)
    }

    pub(super) fn extract_next(
        &mut self,
        id: StackId,
        varbit_bits: Option<&Expr>,
        path: Path,
        span: Span,
    ) -> Option<Path> {
        let stack = &self.p[id];
        let next = path.slots[stack.next_index.index()];
        if let Some(index) = self.known(next) {
            return self.extract_element(id, index as usize, varbit_bits, path);
        }
        let mut conds: Vec<Value> = (0..stack.elements.len()).map(|i| self.b.eq_const(next, i)).collect();
        let any = self.b.any(&conds);
        conds.push(self.b.not(any));
        self.branch(path, conds, |convert, i, path| {
            convert.b.span = span;
            convert.extract_element(id, i, varbit_bits, path)
        })
    }

    /// Extracts to an element of a stack, or fails if there is none of this number.
    fn extract_element(
        &mut self,
        stack: StackId,
        index: usize,
        varbit_bits: Option<&Expr>,
        path: Path,
    ) -> Option<Path> {
        let at = self.p[stack].next_index.index();
        let width = self.b.width(path.slots[at]);
        let Some(header) = self.p[stack].elements.get(index) else {
            let (always, error) = (self.b.boolean(true), self.error("StackOutOfBounds"));
            return self.fail_if(always, error, path);
        };
        let mut path = self.extract(*header, varbit_bits, path)?;
        path.slots[at] = self.b.constant(index + 1, width);
        Some(path)
    }

    pub(super) fn advance(&mut self, by: &Expr, path: Path) -> Option<Path> {
        let bits = self.expr(by, &path);
        let odd = self.b.slice(bits, 2, 0);
        let whole = self.b.eq_const(odd, 0u32);
        let partial = self.b.not(whole);
        let error = self.error("ParserInvalidArgument");
        let path = self.fail_if(partial, error, path)?;
        let bytes = self.b.slice(bits, 31, 3);
        let bytes = self.b.resize(bytes, 32);
        let mut path = self.need(bytes, path)?;
        self.consume(bytes, None, &mut path);
        Some(path)
    }

    pub(super) fn lookahead(&mut self, total_bits: u32, parts: &[(SlotId, u32)], path: Path) -> Option<Path> {
        let bytes = self.b.constant(total_bits.div_ceil(8), 32);
        let mut path = self.need(bytes, path)?;
        let cursor = path.slots[self.extra(Extra::Cursor)];
        for (slot, offset) in parts {
            let width = self.p[*slot].ty.width();
            let value = self.b.window(cursor, *offset, width);
            self.set(*slot, value, &mut path);
        }
        Some(path)
    }
}

/// Whether no keys are in the sets of both cases.
fn disjoint(a: &SelectCase, b: &SelectCase, keys: &[Expr]) -> bool {
    a.sets.iter().zip(&b.sets).zip(keys).any(|((a, b), key)| {
        let all = bits::mask(key.ty.width());
        let masked = |set: &KeySet| match set {
            KeySet::Value(value) => Some((value.clone(), all.clone())),
            KeySet::Mask(value, mask) => Some((value.clone(), mask.clone())),
            _ => None,
        };
        match (masked(a), masked(b)) {
            (Some((x, m)), Some((y, n))) => {
                let both = m & n;
                x & &both != y & &both
            }
            _ => false,
        }
    })
}
