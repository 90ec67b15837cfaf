//! Packet parsing (P4-16, section 13) and deparsing (16).

use hopwright_sema::hir::{Call, Expr, ExprKind, Set, State, StateRef, Transition, Type, TypedProgram};
use hopwright_source::Span;
use num_bigint::BigInt;

use crate::bits::{Bits, Reader};
use crate::machine::{Machine, Result};
use crate::place::{self, Place};
use crate::value::{self, Value};

impl<'a> Machine<'a> {
    /// The parser's abstract machine (13.3): from `start` to `accept`, or to `reject` with an error.
    pub(crate) fn parser(&mut self, states: &'a [State], span: Span) -> Result<()> {
        let Some(mut state) = states.iter().find(|s| s.name == "start") else {
            return self.fault("the parser has no state `start`", span);
        };
        loop {
            self.step(state.span)?;
            self.block(&state.body)?;
            let target = match &state.transition {
                Transition::Goto(target) => *target,
                Transition::Select { keys, cases, .. } => self.select(keys, cases)?,
            };
            match target {
                StateRef::State(next) => state = &states[next],
                StateRef::Accept => return Ok(()),
                // Without an error of its own: the one that is set is `NoError`.
                StateRef::Reject => return Err(crate::machine::Stop::Reject(0)),
            }
        }
    }

    /// `select` (13.6): the first case whose sets have the keys' values.
    fn select(&mut self, keys: &'a [Expr], cases: &'a [hopwright_sema::hir::SelectCase]) -> Result<StateRef> {
        let mut values = Vec::new();
        for key in keys {
            let value = self.eval(key)?;
            value::scalars(self.program, &key.ty, &value, &mut values);
        }
        for case in cases {
            let found = match case.sets.as_slice() {
                [Set::Any] => true,
                [Set::ValueSet(set)] => self.state.value_sets[set.0 as usize].contains(self.program, &values),
                sets => {
                    let mut all = true;
                    for (set, (ty, value)) in sets.iter().zip(&values) {
                        all = all && self.is_in(set, ty, value)?;
                    }
                    all
                }
            };
            if found {
                return Ok(case.target);
            }
        }
        // The language says `NoMatch`; v1model accepts, as BMv2 does.
        if self.state.unmatched_accepts { Ok(StateRef::Accept) } else { self.reject("NoMatch") }
    }

    /// Whether a set has a value (8.16).
    fn is_in(&mut self, set: &'a Set, ty: &Type, value: &Value) -> Result<bool> {
        Ok(match set {
            Set::Any => true,
            Set::Value(element) => self.eval(element)?.equals(value),
            Set::Mask(element, mask) => {
                let (element, mask) = (self.eval(element)?.number(), self.eval(mask)?.number());
                &value.number() & &mask == element & mask
            }
            Set::Range(low, high) => {
                let (low, high) = (self.eval(low)?.number(), self.eval(high)?.number());
                (low..=high).contains(&value.number())
            }
            Set::ValueSet(set) => {
                let scalar = [(ty.clone(), value.clone())];
                self.state.value_sets[set.0 as usize].contains(self.program, &scalar)
            }
        })
    }

    /// Methods of packets (13.8, 16.1).
    pub(crate) fn packet_method(&mut self, method: &str, call: &'a Call) -> Result<Value> {
        let arg = |at: usize| call.args.get(at).and_then(|a| a.value.as_ref());
        match (method, arg(0)) {
            ("extract", target) => self.extract(target, arg(1), call),
            ("lookahead", _) => {
                let Some(ty) = call.type_args.first() else { return self.fault("lookahead of no type", call.span) };
                let width = self.width(ty) as usize;
                self.needs(width as u64)?;
                let mut reader = Reader { bytes: &self.packet.bytes, at: self.packet.at };
                Ok(value::unpack(self.program, ty, &mut reader, 0))
            }
            ("advance", Some(bits)) => {
                let bits = self.eval(bits)?.small();
                self.whole_bytes(bits)?;
                self.needs(bits)?;
                self.packet.at += bits as usize;
                Ok(Value::Nothing)
            }
            ("length", _) => Ok(Value::Number(BigInt::from(self.packet.length()))),
            ("emit", Some(data)) => {
                let value = self.eval(data)?;
                emit(self.program, &data.ty, &value, &mut self.packet.out);
                Ok(Value::Nothing)
            }
            _ => self.fault(format!("packets have no method `{method}`"), call.span),
        }
    }

    /// `verify(lengthInBits >= nextBitIndex + bits, error.PacketTooShort)`.
    pub(crate) fn needs(&mut self, bits: u64) -> Result<()> {
        if 8 * self.packet.bytes.len() as u64 >= self.packet.at as u64 + bits {
            Ok(())
        } else {
            self.reject("PacketTooShort")
        }
    }

    /// Targets may require whole bytes; ours does.
    fn whole_bytes(&mut self, bits: u64) -> Result<()> {
        if bits.is_multiple_of(8) { Ok(()) } else { self.reject("ParserInvalidArgument") }
    }

    /// `extract` with one argument and with two (13.8.1, 13.8.2).
    fn extract(&mut self, target: Option<&'a Expr>, varbit: Option<&'a Expr>, call: &'a Call) -> Result<Value> {
        let place: Option<Place> = target.map(|e| self.place(e)).transpose()?;
        let varbit_bits = match varbit {
            Some(e) => self.eval(e)?.small(),
            None => 0,
        };
        let Some(ty) = target.map(|e| &e.ty).or(call.type_args.first()) else {
            return self.fault("this extracts nothing", call.span);
        };
        // A choice of ours: beyond the end of a stack nothing is extracted.
        let beyond = |place: &Place| place::part(&self.vars[place.var.0 as usize], &place.path).is_none();
        if place.as_ref().is_some_and(beyond) {
            return Ok(Value::Nothing);
        }
        let bits = u64::from(self.width(ty)) + varbit_bits;
        self.whole_bytes(bits)?;
        self.needs(bits)?;
        if varbit_bits > u64::from(largest_varbit(self.program, ty)) {
            return self.reject("HeaderTooShort");
        }
        let mut reader = Reader { bytes: &self.packet.bytes, at: self.packet.at };
        let header = value::unpack(self.program, ty, &mut reader, varbit_bits as u32);
        self.packet.at += bits as usize;
        self.subtract_from_residuals(ty, &header);
        if let Some(place) = place {
            place::write(&mut self.vars, &place, header);
            if let Some(steps) = place.next_of {
                place::change(&mut self.vars[place.var.0 as usize], &place.path[..steps], |stack| {
                    if let Value::Stack { next, .. } = stack {
                        *next += 1;
                    }
                });
            }
        }
        Ok(Value::Nothing)
    }
}

fn largest_varbit(program: &TypedProgram, ty: &Type) -> u32 {
    let of = |ty: &Type| if let Type::Varbit(most) = ty { *most } else { 0 };
    value::member_types(program, ty).iter().map(of).max().unwrap_or(0)
}

/// `emit` (16.1): all valid headers in a value, in order.
fn emit(program: &TypedProgram, ty: &Type, value: &Value, out: &mut Bits) {
    match ty {
        Type::Header(_) if value.is_valid() => value::pack(program, ty, value, out),
        Type::Struct(_) | Type::Tuple(_) | Type::Union(_) | Type::Stack(..) => {
            for (ty, member) in value::member_types(program, ty).iter().zip(value.members()) {
                emit(program, ty, member, out);
            }
        }
        _ => {}
    }
}

/// Whether an expression is a constant.
pub(crate) fn is_constant(e: &Expr) -> bool {
    matches!(
        e.kind,
        ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Error(_) | ExprKind::EnumMember(..) | ExprKind::String(_)
    )
}
