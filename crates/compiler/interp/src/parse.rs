//! The parser: states, transitions and the statements that read the packet.
//!
//! A failure ends parsing. What was parsed before is kept, the failed operation consumes nothing, and the rest of the
//! packet is payload.

use super::exec::{Flow, Machine};
use super::observe::Event;
use super::{Fault, Stage, Value};
use hopwright_ir::bits;
use hopwright_ir::{Expr, HeaderId, KeySet, SelectCase, SlotId, Span, StackId, Target, Transition, Type};

impl Machine<'_> {
    pub(super) fn parse(&mut self) -> Result<(), Fault> {
        let pipeline = self.pipeline;
        let parser = &pipeline.parser;
        self.enter(Stage::Parser);
        let mut target = Target::State(parser.start);
        while let Target::State(id) = target {
            let state = &parser.states[id.0 as usize];
            self.packet.step(state.span)?;
            self.tell(Event::State { state: id, span: state.span });
            for stmt in &state.body {
                match self.block(std::slice::from_ref(stmt))? {
                    Flow::Next => {}
                    Flow::ParserError(error) => {
                        self.packet.set(pipeline.standard.parser_error, u64::from(error));
                        self.tell(Event::ParserError { error, span: stmt.span });
                        return Ok(());
                    }
                    Flow::Leave(_) | Flow::Exit => {
                        return Err(Fault { message: "a jump out of a parser state".into(), span: stmt.span });
                    }
                }
            }
            target = self.transition(&state.transition, state.span);
        }
        Ok(())
    }

    fn transition(&mut self, transition: &Transition, span: Span) -> Target {
        let (keys, case, target, span) = match transition {
            Transition::Goto(target) => (Vec::new(), None, *target, span),
            Transition::Select { keys, cases } => {
                let values: Vec<Value> = keys.iter().map(|k| self.eval(k)).collect();
                let types: Vec<Type> = keys.iter().map(|k| k.ty).collect();
                match cases.iter().position(|c| self.case_matches(c, &values, &types)) {
                    Some(i) => (values, Some(i), cases[i].target, cases[i].span),
                    None => (values, None, Target::Accept, span),
                }
            }
        };
        self.tell(Event::Transition { keys: &keys, case, target, span });
        target
    }

    fn case_matches(&self, case: &SelectCase, keys: &[Value], types: &[Type]) -> bool {
        if let [KeySet::ValueSet(id)] = case.sets.as_slice() {
            let mut any = false;
            self.store.visit_members(*id, &mut |member| {
                any |= member.iter().zip(keys).all(|(part, key)| part.matches(&key.bits, key.width));
            });
            return any;
        }
        case.sets.iter().zip(keys).zip(types).all(|((set, key), ty)| match set {
            KeySet::Any => true,
            KeySet::Value(value) => *value == key.bits,
            KeySet::Mask(value, mask) => value & mask == &key.bits & mask,
            KeySet::Range(lo, hi) => match ty {
                Type::Int(w) => {
                    let key = bits::to_signed(&key.bits, *w);
                    bits::to_signed(lo, *w) <= key && key <= bits::to_signed(hi, *w)
                }
                _ => *lo <= key.bits && key.bits <= *hi,
            },
            // Only occurs alone, with members for all keys.
            KeySet::ValueSet(_) => false,
        })
    }

    fn error(&self, name: &str) -> Flow {
        let index = self.pipeline.errors.iter().position(|e| e == name);
        // The verifier guarantees that the errors of the core library exist.
        Flow::ParserError(index.unwrap_or(0) as u32)
    }

    fn remaining_bits(&self) -> u64 {
        self.packet.payload().len() as u64 * 8
    }

    pub(super) fn extract(&mut self, id: HeaderId, varbit_bits: Option<&Expr>, span: Span) -> Flow {
        let pipeline = self.pipeline;
        let header = &pipeline[id];
        let varbit = varbit_bits.map_or(0, |e| self.eval_u64(e));
        let total = u64::from(header.fixed_bits) + varbit;
        if !total.is_multiple_of(8) {
            return self.error("ParserInvalidArgument");
        }
        if total > self.remaining_bits() {
            return self.error("PacketTooShort");
        }
        let most = header.varbit.map_or(0, |i| header.fields[i as usize].width);
        if varbit > u64::from(most) {
            return self.error("HeaderTooShort");
        }
        let mut at = self.packet.cursor * 8;
        for (index, field) in header.fields.iter().enumerate() {
            let width = if header.varbit == Some(index as u32) { varbit as u32 } else { field.width };
            let value = Value { bits: bits::read(&self.packet.bytes, at, width), width };
            self.packet.slots[field.slot.index()] = value;
            at += width as usize;
        }
        self.packet.set(header.valid, 1);
        let offset = self.packet.cursor;
        let length = (total / 8) as usize;
        self.packet.cursor += length;
        self.tell(Event::Extract { header: id, offset, length, span });
        Flow::Next
    }

    pub(super) fn extract_next(&mut self, stack: StackId, varbit_bits: Option<&Expr>, span: Span) -> Flow {
        let stack = &self.pipeline[stack];
        let next = self.packet.get(stack.next_index).to_u64();
        let Some(&header) = stack.elements.get(next as usize) else {
            return self.error("StackOutOfBounds");
        };
        let flow = self.extract(header, varbit_bits, span);
        if flow == Flow::Next {
            self.packet.set(stack.next_index, next + 1);
        }
        flow
    }

    pub(super) fn advance(&mut self, by: &Expr) -> Flow {
        let bits = self.eval_u64(by);
        if !bits.is_multiple_of(8) {
            return self.error("ParserInvalidArgument");
        }
        if bits > self.remaining_bits() {
            return self.error("PacketTooShort");
        }
        self.packet.cursor += (bits / 8) as usize;
        Flow::Next
    }

    pub(super) fn lookahead(&mut self, total_bits: u32, parts: &[(SlotId, u32)], span: Span) -> Flow {
        if u64::from(total_bits) > self.remaining_bits() {
            return self.error("PacketTooShort");
        }
        for &(slot, offset) in parts {
            let width = self.pipeline[slot].ty.width();
            let at = self.packet.cursor * 8 + offset as usize;
            let value = Value { bits: bits::read(&self.packet.bytes, at, width), width };
            self.assign(slot, value, span);
        }
        Flow::Next
    }
}
