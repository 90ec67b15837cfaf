//! Parsers: states, their operations and transitions.

use std::collections::HashMap;

use hopwright_ir::{
    Expr, HeaderId, KeySet, SelectCase, Span, StackId, State, StateId, StmtKind, Target, Transition, Type, ValueSet,
    ValueSetId,
};
use num_bigint::BigUint;
use num_traits::ToPrimitive;
use serde_json::Value;

use crate::choice::Choice;
use crate::format::{Call, ParseState, ParserTransition};
use crate::number::{Number, Operator, hexadecimal, hexadecimal_bits};
use crate::operand::{text, texts, typed};
use crate::{Reader, Result, UnionStack, error};

impl<'j> Reader<'j> {
    /// Reads the parser and the value sets.
    pub(crate) fn read_parser(&mut self) -> Result<()> {
        let [parser] = self.json.parsers.as_slice() else {
            return error("parsers", format!("expected one parser, found {}", self.json.parsers.len()));
        };
        for (at, set) in self.json.parse_vsets.iter().enumerate() {
            if !(1..=1 << 16).contains(&set.compressed_bitwidth) {
                return error(&format!("parse_vsets[{at}].compressed_bitwidth"), "expected 1 to 65536 bits");
            }
            // The keys of the states that use a set are not known yet.
            self.p.value_sets.push(ValueSet {
                name: set.name.clone(),
                id: None,
                types: vec![Type::Bits(set.compressed_bitwidth)],
                size: set.max_size.unwrap_or(1024),
                span: Span::none(),
            });
        }
        let path = "parsers[0]";
        let mut numbers = HashMap::new();
        for (at, state) in parser.parse_states.iter().enumerate() {
            if numbers.insert(state.name.as_str(), StateId(at as u32)).is_some() {
                let path = format!("{path}.parse_states[{at}].name");
                return error(&path, format!("another state is called `{}`", state.name));
            }
        }
        let mut known_types: HashMap<ValueSetId, ()> = HashMap::new();
        for (at, state) in parser.parse_states.iter().enumerate() {
            let path = format!("{path}.parse_states[{at}]");
            let state = self.read_parse_state(state, &numbers, &mut known_types, &path)?;
            self.p.parser.states.push(state);
        }
        match parser.init_state.as_deref() {
            Some(name) => match numbers.get(name) {
                Some(start) => self.p.parser.start = *start,
                None => return error(&format!("{path}.init_state"), format!("no state `{name}`")),
            },
            None => {
                let accept = Transition::Goto(Target::Accept);
                let state = State { name: "$accept".into(), body: Vec::new(), transition: accept, span: Span::none() };
                self.p.parser.start = StateId(self.p.parser.states.len() as u32);
                self.p.parser.states.push(state);
            }
        }
        Ok(())
    }

    fn read_parse_state(
        &mut self,
        state: &'j ParseState,
        numbers: &HashMap<&str, StateId>,
        known_types: &mut HashMap<ValueSetId, ()>,
        path: &str,
    ) -> Result<State> {
        let mut transition = Transition::Goto(Target::Accept);
        let body = self.nested(|this| {
            for (at, op) in state.parser_ops.iter().enumerate() {
                this.parser_op(op, &format!("{path}.parser_ops[{at}]"))?;
            }
            let mut keys = Vec::new();
            for (at, key) in state.transition_key.iter().enumerate() {
                let path = format!("{path}.transition_key[{at}]");
                let value = serde_json::json!({ "type": key.kind, "value": key.value });
                let number = this.number(&value, &path)?;
                let width = match number.as_leaf() {
                    Some(leaf) => leaf.ty.width(),
                    None => return error(&path, "expected a field or a look-ahead"),
                };
                keys.push(number.low_bits(width, &path)?);
            }
            transition = this.transition(&state.transitions, keys, numbers, known_types, path)?;
            Ok(())
        })?;
        Ok(State { name: state.name.clone(), body, transition, span: Span::none() })
    }

    fn parser_op(&mut self, op: &Call, path: &str) -> Result<()> {
        let parameter = |at: usize| match op.parameters.get(at) {
            Some(value) => Ok((value, format!("{path}.parameters[{at}]"))),
            None => error(&format!("{path}.parameters"), format!("`{}` needs {} parameters", op.op, at + 1)),
        };
        let count = match op.op.as_str() {
            "extract" | "shift" | "advance" | "primitive" => 1,
            "extract_VL" | "set" | "verify" => 2,
            other => return error(&format!("{path}.op"), format!("the operation `{other}` is not known")),
        };
        if op.parameters.len() != count {
            let message = format!("`{}` takes {count} parameters, not {}", op.op, op.parameters.len());
            return error(&format!("{path}.parameters"), message);
        }
        let (first, first_path) = parameter(0)?;
        match op.op.as_str() {
            "extract" => self.extract(first, None, &first_path),
            "extract_VL" => self.extract(first, Some(parameter(1)?), &first_path),
            "shift" => {
                let bytes = match first.as_u64() {
                    Some(bytes) => bytes.to_u32(),
                    None => self.number(first, &first_path)?.as_constant().and_then(|n| n.to_u32()),
                };
                match bytes.and_then(|bytes| bytes.checked_mul(8)) {
                    Some(bits) => self.advance(crate::constant(bits, 32)),
                    None => return error(&first_path, "expected a number of bytes"),
                }
                Ok(())
            }
            "advance" => {
                let bits = self.number(first, &first_path)?.low_bits(32, &first_path)?;
                self.advance(bits);
                Ok(())
            }
            "set" => {
                let ((value, value_path), place) = (parameter(1)?, self.lvalue(first, &first_path)?);
                let number = self.number(value, &value_path)?;
                self.store(&place, &number, &first_path)
            }
            "verify" => {
                let (value, value_path) = parameter(1)?;
                let cond = self.condition(first, &first_path)?;
                let number = self.number(value, &value_path)?;
                let number = Number::binary(Operator::Sub, number, Number::constant(self.first_error));
                self.emit(StmtKind::Verify(cond, number.low_bits(16, &value_path)?));
                Ok(())
            }
            _ => {
                let call: Call = match serde_path_to_error::deserialize(first) {
                    Ok(call) => call,
                    Err(e) => return error(&format!("{first_path}.{}", e.path()), e.inner().to_string()),
                };
                if call.op == "exit" {
                    return error(&first_path, "`exit` in a parser");
                }
                self.primitive(&call, &first_path)
            }
        }
    }

    fn advance(&mut self, bits: Expr) {
        self.emit(StmtKind::Advance { bits, bound: None });
    }

    /// Extracts a header; the size of its variable field may be given.
    fn extract(&mut self, target: &Value, size: Option<(&Value, String)>, path: &str) -> Result<()> {
        let (kind, value, path) = typed(target, path)?;
        match kind {
            "regular" => {
                let header = self.header(text(value, &path)?, &path)?;
                self.extract_header(header, size, &path)
            }
            "stack" => {
                let Some(stack) = self.names.stacks.get(text(value, &path)?).copied() else {
                    return error(&path, format!("no header stack {value}"));
                };
                self.extract_next(stack, size, &path)
            }
            "union_stack" => {
                let [stack, member] = texts(value, &path)?;
                let at = self.names.union_members.get(stack).and_then(|names| names.iter().position(|n| *n == member));
                match (self.names.union_stacks.get(stack).cloned(), at) {
                    (Some(stack), Some(at)) => self.extract_member(&stack, at, size, &path),
                    _ => error(&path, format!("no stack `{stack}` of header unions with a member `{member}`")),
                }
            }
            other => error(&path, format!("headers of type `{other}` cannot be extracted")),
        }
    }

    fn extract_header(&mut self, header: HeaderId, size: Option<(&Value, String)>, path: &str) -> Result<()> {
        let varbit_bits = self.variable_size(header, size, path)?;
        self.emit(StmtKind::Extract { header, varbit_bits });
        self.union_siblings(header).into_iter().for_each(|other| self.emit(StmtKind::SetInvalid(other)));
        Ok(())
    }

    fn extract_next(&mut self, stack: StackId, size: Option<(&Value, String)>, path: &str) -> Result<()> {
        let varbit_bits = self.variable_size(self.p[stack].elements[0], size, path)?;
        self.emit(StmtKind::ExtractNext { stack, varbit_bits });
        Ok(())
    }

    /// Extracts a member of the next union of a stack.
    fn extract_member(
        &mut self,
        stack: &UnionStack,
        member: usize,
        size: Option<(&Value, String)>,
        path: &str,
    ) -> Result<()> {
        let next = self.slot_expr(stack.next);
        let count = Number::constant(stack.unions.len());
        let number = Number::leaf(next.clone());
        let free = Number::compare(hopwright_ir::BinaryOp::Lt, &number, &count, path)?;
        let full = self.p.errors.iter().position(|e| e == "StackOutOfBounds").unwrap_or(0);
        self.emit(StmtKind::Verify(free, crate::constant(full, 16)));
        let index = self.shared(next);
        let unions = Choice { index: Some(index), base: 0, of: stack.unions.clone() };
        let Some(headers) = unions.map(|union| self.p[union].members.get(member).copied()) else {
            return error(path, "the unions have no such member");
        };
        self.for_chosen(&headers, &mut |this, header| this.extract_header(header, size.clone(), path))?;
        let after = Number::binary(Operator::Add, number, Number::constant(1)).low_bits(32, path)?;
        self.emit(StmtKind::Assign(stack.next, after));
        Ok(())
    }

    /// The size in bits of a header's variable field: as the operation says, or from the fields before it.
    fn variable_size(&mut self, header: HeaderId, size: Option<(&Value, String)>, path: &str) -> Result<Option<Expr>> {
        let varbit = self.p[header].varbit;
        match (varbit, size) {
            (None, None) => Ok(None),
            (None, Some((_, path))) => error(&path, "the header has no field of variable length"),
            (Some(_), Some((value, path))) => Ok(Some(self.number(value, &path)?.low_bits(32, &path)?)),
            (Some(at), None) => self.size_from_fields(header, at as usize, path).map(Some),
        }
    }

    /// The size that the header type's `length_exp` computes from the fields before the variable one.
    fn size_from_fields(&mut self, header: HeaderId, varbit: usize, path: &str) -> Result<Expr> {
        let name = self.p[header].type_name.clone();
        let types = &self.json.header_types;
        let ty = types.iter().enumerate().find(|(_, ty)| ty.name == name);
        let Some((at, length)) = ty.and_then(|(at, ty)| Some((at, ty.length_exp.as_ref()?))) else {
            return error(path, format!("`{name}` has a field of variable length, but no `length_exp`"));
        };
        let before: Vec<(Type, u32)> =
            self.p[header].fields[..varbit].iter().map(|f| (self.p[f.slot].ty, f.offset_bits)).collect();
        let total = before.iter().map(|(ty, offset)| ty.width() + offset).max().unwrap_or(0);
        let mut parts = Vec::new();
        let mut data = Vec::new();
        for (ty, offset) in before {
            let slot = self.temporary(ty);
            parts.push((slot, offset));
            data.push(self.slot_expr(slot));
        }
        self.emit(StmtKind::Lookahead { total_bits: total, parts });
        // Fields of the header are `local` in the expression, by their position.
        let outer = std::mem::replace(&mut self.data, data);
        let path = format!("header_types[{at}].length_exp");
        let bits = self.number(length, &path).and_then(|number| number.low_bits(32, &path));
        self.data = outer;
        bits
    }

    fn transition(
        &mut self,
        transitions: &[ParserTransition],
        keys: Vec<Expr>,
        numbers: &HashMap<&str, StateId>,
        known_types: &mut HashMap<ValueSetId, ()>,
        path: &str,
    ) -> Result<Transition> {
        let mut cases = Vec::new();
        let mut default = None;
        for (at, transition) in transitions.iter().enumerate() {
            let path = format!("{path}.transitions[{at}]");
            let target = match transition.next_state.as_deref() {
                None => Target::Accept,
                Some(name) => match numbers.get(name) {
                    Some(state) => Target::State(*state),
                    None => return error(&format!("{path}.next_state"), format!("no state `{name}`")),
                },
            };
            let sets = match (transition.kind.as_deref().unwrap_or("hexstr"), transition.value.as_deref()) {
                ("default", _) | ("hexstr", Some("default")) => {
                    default = Some(target);
                    continue;
                }
                ("hexstr", Some(value)) => key_sets(&keys, value, transition.mask.as_deref(), &path)?,
                ("parse_vset", Some(name)) => {
                    if transition.mask.is_some() {
                        return error(&format!("{path}.mask"), "a mask for a value set is not supported");
                    }
                    vec![KeySet::ValueSet(self.value_set(name, &keys, known_types, &format!("{path}.value"))?)]
                }
                (kind, _) => return error(&path, format!("a transition of type `{kind}` without a value")),
            };
            cases.push(SelectCase { sets, target, span: Span::none() });
        }
        if keys.is_empty() {
            if !cases.is_empty() {
                return error(&format!("{path}.transitions"), "values without a `transition_key`");
            }
            return Ok(Transition::Goto(default.unwrap_or(Target::Accept)));
        }
        // The default counts only if nothing else matches, wherever it stands.
        if let Some(target) = default {
            let sets = keys.iter().map(|_| KeySet::Any).collect();
            cases.push(SelectCase { sets, target, span: Span::none() });
        }
        Ok(Transition::Select { keys, cases })
    }

    /// The value set with this name, whose parts have the types of the keys.
    fn value_set(
        &mut self,
        name: &str,
        keys: &[Expr],
        known_types: &mut HashMap<ValueSetId, ()>,
        path: &str,
    ) -> Result<ValueSetId> {
        let Some(at) = self.p.value_sets.iter().position(|set| set.name == name) else {
            return error(path, format!("no parse value-set `{name}`"));
        };
        let id = ValueSetId(at as u32);
        let types: Vec<Type> = keys.iter().map(|key| key.ty).collect();
        let width = |types: &[Type]| types.iter().map(|ty| ty.width()).sum::<u32>();
        let set = &mut self.p.value_sets[at];
        let first = known_types.insert(id, ()).is_none();
        if width(&set.types) != width(&types) || (!first && set.types != types) {
            return error(path, "the values of the set have other widths than the key");
        }
        set.types = types;
        Ok(id)
    }
}

/// The sets of a transition's value, which has each key in whole bytes.
fn key_sets(keys: &[Expr], value: &str, mask: Option<&str>, path: &str) -> Result<Vec<KeySet>> {
    let value_path = format!("{path}.value");
    let bytes: u32 = keys.iter().map(|key| key.ty.width().div_ceil(8)).sum();
    if hexadecimal(value, &value_path)?.bits() > u64::from(bytes) * 8 {
        return error(&value_path, format!("the value has more than the {bytes} bytes of the key"));
    }
    let value = hexadecimal_bits(value, bytes * 8, &value_path)?;
    let mask = mask.map(|mask| hexadecimal_bits(mask, bytes * 8, &format!("{path}.mask"))).transpose()?;
    let mut rest = bytes * 8;
    let mut sets = Vec::new();
    for key in keys {
        let width = key.ty.width();
        rest -= width.div_ceil(8) * 8;
        let padded = |all: &BigUint| (all >> rest) & hopwright_ir::bits::mask(width.div_ceil(8) * 8);
        let own = padded(&value);
        let fits = own.bits() <= u64::from(width);
        sets.push(match mask.as_ref().map(padded) {
            None if !fits => return error(&value_path, format!("a value that does not fit {width} bits")),
            None => KeySet::Value(own),
            Some(mask) => {
                let ones = hopwright_ir::bits::mask(width);
                let mask = mask & &ones;
                if mask == BigUint::ZERO {
                    KeySet::Any
                } else if mask == ones && fits {
                    KeySet::Value(own)
                } else {
                    KeySet::Mask(own & &mask, mask)
                }
            }
        });
    }
    Ok(sets)
}
