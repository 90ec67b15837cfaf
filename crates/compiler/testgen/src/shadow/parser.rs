//! Parser states: what they read and where they go.

use hopwright_interp::{PacketState, Value};
use hopwright_ir::{Expr, HeaderId, KeySet, SlotId, Stmt, Transition, Type};

use hopwright_coverage::Kind;

use super::controls::{beside_mask, range_bounds};
use super::{Shadow, key_of, place_key};
use crate::path::{Alternative, Change, Step};
use crate::term::{self, Term, constant};

impl Shadow<'_> {
    /// A size in bits that a statement takes from the packet: other sizes are other paths.
    pub(super) fn size(&mut self, size: Option<&Expr>, stmt: &Stmt) {
        self.current.place = place_key(stmt.span);
        let Some(size) = size.map(|size| self.eval(size)).filter(|size| !term::is_constant(size)) else { return };
        let place = self.current.place;
        let stays = term::stays(&size);
        let other =
            Alternative { conditions: vec![term::not(&stays)], key: key_of((place, "size")), ..Alternative::default() };
        // Whole bytes, and few of them, are what sizes usually are.
        let few = constant(64u32, size.width.max(7));
        let wide = term::extend(&size, few.width, false);
        let whole = term::equal(&term::slice(&wide, 2, 0), &constant(0u32, 3));
        let sensible = vec![term::not(&stays), whole, term::less(&wide, &few, false)];
        let sensible = Alternative { conditions: sensible, key: key_of((place, "sensible")), ..Alternative::default() };
        self.step(Step {
            conditions: vec![stays],
            alternatives: vec![sensible, other],
            key: key_of((place, u64::try_from(&size.value).unwrap_or(u64::MAX))),
            size: Some((place, size)),
            ..Step::default()
        });
    }

    pub(super) fn extracted(&mut self, header: HeaderId, offset: usize, length: usize) {
        let pipeline = self.pipeline;
        let header = &pipeline[header];
        let mut at = offset * 8;
        let varbit = (length * 8) as u32 - header.fixed_bits;
        for (index, field) in header.fields.iter().enumerate() {
            let width = if header.varbit == Some(index as u32) { varbit } else { field.width };
            let value = self.read(at, width);
            self.set(field.slot, value);
            at += width as usize;
        }
        self.set_number(header.valid, 1);
        if let Some(slot) = self.current.next_index {
            let next = u64::try_from(&self.slot(slot).value).unwrap_or(0) + 1;
            self.set_number(slot, next);
        }
        self.ends_early(offset + length);
    }

    /// A packet may also end before this byte, in its first pass.
    fn ends_early(&mut self, end: usize) {
        if self.passes != 1 {
            return;
        }
        self.run.parsed = self.run.parsed.max(end);
        let place = self.current.place;
        let early = Alternative {
            case: Some(key_of((place, "early"))),
            change: Some(Change::Length(end.saturating_sub(1))),
            key: key_of((place, "early")),
            ..Alternative::default()
        };
        self.step(Step { alternatives: vec![early], key: place, ..Step::default() });
    }

    pub(super) fn lookahead(&mut self, total: u32, parts: &[(SlotId, u32)], packet: &PacketState, stmt: &Stmt) {
        self.current.place = place_key(stmt.span);
        if total as usize > packet.payload().len() * 8 {
            return;
        }
        for &(slot, offset) in parts {
            let value = self.read(packet.cursor() * 8 + offset as usize, self.pipeline[slot].ty.width());
            self.set(slot, value);
        }
        self.ends_early(packet.cursor() + (total as usize).div_ceil(8));
    }

    pub(super) fn parser_error(&mut self, error: u32) {
        self.set_number(self.pipeline.standard.parser_error, u64::from(error));
        let place = self.current.place;
        if self.pipeline.errors.get(error as usize).is_none_or(|name| name != "PacketTooShort") || self.passes != 1 {
            return;
        }
        self.cases().insert(key_of((place, "early")));
        let longer = self.run.inputs.packet.len() + 64;
        let longer = Alternative {
            // A header that has not been extracted yet is a case of its own.
            case: Some(key_of((place, "long enough", longer / 512))),
            change: Some(Change::Length(longer)),
            key: key_of((place, longer)),
            ..Alternative::default()
        };
        self.step(Step { alternatives: vec![longer], key: key_of((place, "too short")), ..Step::default() });
    }

    pub(super) fn transition(&mut self, values: &[Value], case: Option<usize>) {
        let pipeline = self.pipeline;
        let state = self.state;
        let Transition::Select { keys, cases } = &pipeline.parser.states[state.0 as usize].transition else { return };
        let types: Vec<Type> = keys.iter().map(|key| key.ty).collect();
        let keys: Vec<Term> = keys.iter().map(|key| self.eval(key)).collect();
        let taken = case.unwrap_or(cases.len());
        self.last_case = key_of((state.0, taken));
        if let Some([KeySet::ValueSet(set)]) = cases.get(taken).map(|case| case.sets.as_slice()) {
            self.run.members.entry(set.0).or_insert_with(|| values.to_vec());
        }
        let mut step = Step { key: key_of((state.0, taken)), ..Step::default() };
        // None of the cases up to here matches.
        let mut none: Vec<Term> = Vec::new();
        for (number, case) in cases.iter().map(Some).chain([None]).enumerate() {
            let (condition, change) = match case {
                None => (None, None),
                Some(case) => match case.sets.as_slice() {
                    [KeySet::ValueSet(set)] => (None, Some(Change::Member(*set, number != taken))),
                    _ => (Some(term::matches(case, &keys, &types, usize::MAX)), None),
                },
            };
            let mut conditions = none.clone();
            conditions.extend(condition.clone());
            if number == taken {
                step.conditions = conditions;
            } else {
                step.alternatives.push(Alternative {
                    goal: self.points.find(Kind::Case(state, case.map(|_| number))),
                    conditions,
                    change: change.clone(),
                    key: key_of((state.0, number)),
                    ..Alternative::default()
                });
            }
            match (condition, change) {
                (Some(condition), _) if term::is_constant(&condition) && term::is_true(&condition) => break,
                (Some(condition), _) => none.push(term::not(&condition)),
                (None, _) => {}
            }
        }
        for (number, case) in cases.iter().enumerate() {
            for (key, (set, term)) in case.sets.iter().zip(&keys).enumerate() {
                let bounds = match set {
                    KeySet::Value(value) => beside_mask(value, &hopwright_ir::bits::mask(term.width), term),
                    KeySet::Mask(value, mask) => beside_mask(value, mask, term),
                    KeySet::Range(lo, hi) => range_bounds(lo, hi, term),
                    KeySet::Any | KeySet::ValueSet(_) => Vec::new(),
                };
                // The other keys are as the case wants them.
                let others = term::matches(case, &keys, &types, key);
                for (at, bound) in bounds.into_iter().enumerate() {
                    let bound = term::and(&bound, &others);
                    self.case(bound, key_of((state.0, number, key, at)), &mut step.alternatives);
                }
            }
        }
        self.step(step);
        // Past a value set that matches, cases need it not to.
        if let Some([KeySet::ValueSet(set)]) = cases.get(taken).map(|case| case.sets.as_slice())
            && let Some(step) = self.run.steps.last_mut()
        {
            for later in step.alternatives.iter_mut().filter(|a| a.change.is_none()) {
                later.change = Some(Change::Member(*set, false));
            }
        }
    }
}
