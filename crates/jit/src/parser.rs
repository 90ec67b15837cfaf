//! Parser states as blocks. Lengths are checked once for all extracts at the beginning of a state that have a fixed
//! size; if the packet is too short for all of them, a cold copy of these checks one by one, because those that fit
//! still take effect.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use hopwright_ir::{
    Expr, HeaderId, KeySet, SelectCase, Span, State, StateId, Stmt, StmtKind, Target, Transition, Type,
};
use num_bigint::BigUint;
use num_traits::ToPrimitive;

use crate::Unsupported;
use crate::abi;
use crate::bytes::Window;
use crate::function::Gen;
use crate::stmt::Flow;
use crate::tail::Begun;

type Result<T> = std::result::Result<T, Unsupported>;

/// The states a transition may go to.
pub(crate) fn successors(transition: &Transition) -> Vec<usize> {
    let targets: Vec<Target> = match transition {
        Transition::Goto(target) => vec![*target],
        Transition::Select { cases, .. } => cases.iter().map(|c| c.target).collect(),
    };
    targets
        .into_iter()
        .filter_map(|t| match t {
            Target::State(StateId(id)) => Some(id as usize),
            Target::Accept | Target::Reject => None,
        })
        .collect()
}

/// Statements at the beginning of a state that need a length known now, and that length in bytes.
fn prefix(g: &Gen, state: &State) -> (usize, u32) {
    let (mut count, mut cursor, mut need, mut checks) = (0, 0u32, 0u32, 0);
    for (i, stmt) in state.body.iter().enumerate() {
        match &stmt.kind {
            StmtKind::Extract { header, varbit_bits: None } => {
                cursor += g.layout.header(*header).bytes;
                need = need.max(cursor);
            }
            StmtKind::Advance(by) => match by.as_const().and_then(|v| v.to_u32()) {
                Some(bits) if bits.is_multiple_of(8) && bits < 1 << 20 => {
                    cursor += bits / 8;
                    need = need.max(cursor);
                }
                _ => break,
            },
            StmtKind::Lookahead { total_bits, .. } => need = need.max(cursor + total_bits.div_ceil(8)),
            StmtKind::Assign(..)
            | StmtKind::AssignSlice { .. }
            | StmtKind::SetValid(_)
            | StmtKind::SetInvalid(_)
            | StmtKind::CopyHeader { .. } => continue,
            _ => break,
        }
        checks += 1;
        count = i + 1;
    }
    // One check gains nothing by being made early.
    if checks < 2 { (0, 0) } else { (count, need) }
}

impl Gen<'_> {
    /// The whole parser; goes on behind it whether or not it failed.
    pub(crate) fn parse(&mut self) -> Result<()> {
        let p = self.p;
        let done = self.b.create_block();
        let order = self.order();
        // States that are never reached get no block of their own.
        let mut states = vec![done; p.parser.states.len()];
        for &s in &order {
            states[s] = self.b.create_block();
        }
        // A state's block is sealed as soon as the last state that goes there is generated.
        let mut last_source = vec![None; states.len()];
        for (position, &s) in order.iter().enumerate() {
            for next in successors(&p.parser.states[s].transition) {
                last_source[next] = Some(position);
            }
        }
        self.parse_failed = Some(done);
        let start = p.parser.start.0 as usize;
        self.b.ins().jump(states[start], &[]);
        if last_source[start].is_none() {
            self.b.seal_block(states[start]);
        }
        for (position, &s) in order.iter().enumerate() {
            self.b.switch_to_block(states[s]);
            self.writable.fill(false);
            self.tail_begun = self.layout.tail.begun.get(s).copied().flatten().unwrap_or(Begun::Not);
            self.state(&p.parser.states[s], &states, done)?;
            for &t in &order {
                if last_source[t] == Some(position) {
                    self.b.seal_block(states[t]);
                }
            }
        }
        self.parse_failed = None;
        self.enter(done);
        self.writable.fill(false);
        let error = self.read(p.standard.parser_error)[0];
        self.describe(offset_of!(abi::Packet, parser_error), error);
        Ok(())
    }

    /// States that can be reached, such that but for circles a state comes behind all that lead to it.
    fn order(&self) -> Vec<usize> {
        fn visit(g: &Gen, s: usize, seen: &mut [bool], out: &mut Vec<usize>) {
            if std::mem::replace(&mut seen[s], true) {
                return;
            }
            for next in successors(&g.p.parser.states[s].transition).into_iter().rev() {
                visit(g, next, seen, out);
            }
            out.push(s);
        }
        let mut out = Vec::new();
        let mut seen = vec![false; self.p.parser.states.len()];
        visit(self, self.p.parser.start.0 as usize, &mut seen, &mut out);
        out.reverse();
        out
    }

    fn state(&mut self, state: &State, states: &[Block], done: Block) -> Result<()> {
        self.at(state.span);
        self.step();
        let (count, need) = prefix(self, state);
        if count > 0 {
            let (fits, short) = (self.b.create_block(), self.b.create_block());
            self.b.set_cold_block(short);
            let enough = self.remaining_at_least(need);
            self.b.ins().brif(enough, fits, &[], short, &[]);
            self.enter(short);
            let (begun, before) = (self.tail_begun, self.writable.clone());
            if self.block(&state.body[..count])? == Flow::Next {
                // One of these has failed, so this is never reached.
                self.jump_to_fault();
            }
            self.enter(fits);
            self.tail_begun = begun;
            self.writable = before;
            self.unchecked = true;
            let flow = self.block(&state.body[..count]);
            self.unchecked = false;
            if flow? == Flow::Ended {
                return Ok(());
            }
        }
        if self.block(&state.body[count..])? == Flow::Ended {
            return Ok(());
        }
        match &state.transition {
            Transition::Goto(target) => {
                let to = self.target(*target, states, done);
                self.b.ins().jump(to, &[]);
                Ok(())
            }
            Transition::Select { keys, cases } => self.select(keys, cases, states, done),
        }
    }

    fn target(&self, target: Target, states: &[Block], done: Block) -> Block {
        match target {
            Target::State(StateId(id)) => states[id as usize],
            Target::Accept | Target::Reject => done,
        }
    }

    fn select(&mut self, keys: &[Expr], cases: &[SelectCase], states: &[Block], done: Block) -> Result<()> {
        let mut values = Vec::new();
        for key in keys {
            values.push(self.value(key)?);
        }
        for case in cases {
            self.at(case.span);
            let to = self.target(case.target, states, done);
            let mut sets = case.sets.iter().zip(keys).zip(&values).filter(|((set, _), _)| !matches!(set, KeySet::Any));
            let Some(((set, key), value)) = sets.next() else {
                self.b.ins().jump(to, &[]);
                return Ok(());
            };
            let next = self.b.create_block();
            let mut one = self.in_set(set, key, value, case.span)?;
            for ((set, key), value) in sets {
                let more = self.b.create_block();
                self.b.ins().brif(one, more, &[], next, &[]);
                self.enter(more);
                one = self.in_set(set, key, value, case.span)?;
            }
            self.b.ins().brif(one, to, &[], next, &[]);
            self.enter(next);
        }
        self.b.ins().jump(done, &[]);
        Ok(())
    }

    /// Whether a key is in a set, as I8.
    fn in_set(&mut self, set: &KeySet, e: &Expr, key: &[Value], span: Span) -> Result<Value> {
        let ty = e.ty;
        let width = ty.width();
        Ok(match set {
            KeySet::Any => self.b.ins().iconst(types::I8, 1),
            KeySet::Value(v) => match self.as_in_memory(e, &Expr::constant(v.clone(), ty, span)) {
                Some((x, y)) => self.b.ins().icmp(IntCC::Equal, x, y),
                None => self.equals(key, v, width),
            },
            KeySet::Mask(v, mask) => {
                let masks = self.constant(mask, width);
                let masked: Vec<Value> = key.iter().zip(masks).map(|(&k, m)| self.b.ins().band(k, m)).collect();
                self.equals(&masked, &(v & mask), width)
            }
            KeySet::Range(lo, hi) => {
                let (mut key, mut lo, mut hi) = (key.to_vec(), self.constant(lo, width), self.constant(hi, width));
                let signed = matches!(ty, Type::Int(_));
                if signed {
                    let top = key.len() - 1;
                    for v in [&mut key, &mut lo, &mut hi] {
                        v[top] = self.sign_extend(v[top], width - 64 * top as u32);
                    }
                }
                let below = self.wide_less(&key, &lo, signed);
                let above = self.wide_less(&hi, &key, signed);
                let outside = self.b.ins().bor(below, above);
                self.b.ins().bxor_imm_u(outside, 1)
            }
            KeySet::ValueSet(_) => return Err(Unsupported::new(span, "a parser value set")),
        })
    }

    /// Ends parsing with an error of this name.
    fn fail(&mut self, name: &str) -> Result<()> {
        let index = self.p.errors.iter().position(|e| e == name).unwrap_or(0);
        let v = self.c64(index as u64);
        self.fail_with(v)
    }

    fn fail_with(&mut self, error: Value) -> Result<()> {
        let Some(done) = self.parse_failed else {
            return Err(Unsupported::new(self.p.parser.span, "a parser statement outside of a parser"));
        };
        self.write(self.p.standard.parser_error, &[error]);
        self.b.ins().jump(done, &[]);
        Ok(())
    }

    /// Goes on if the condition holds; else fails.
    fn require(&mut self, condition: Value, error: &str) -> Result<()> {
        let (good, bad) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(bad);
        self.b.ins().brif(condition, good, &[], bad, &[]);
        self.enter(bad);
        // The error is the path's own: what follows knows nothing of it.
        self.fail(error)?;
        self.enter(good);
        Ok(())
    }

    fn remaining_at_least(&mut self, bytes: u32) -> Value {
        let cursor = self.b.use_var(self.cursor);
        let to = self.b.ins().iadd_imm_s(cursor, i64::from(bytes));
        self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, to, self.packet.end)
    }

    fn require_bytes(&mut self, bytes: u32) -> Result<()> {
        if self.unchecked || bytes == 0 {
            return Ok(());
        }
        let enough = self.remaining_at_least(bytes);
        self.require(enough, "PacketTooShort")
    }

    pub(crate) fn parser_statement(&mut self, stmt: &Stmt) -> Result<Flow> {
        if self.parse_failed.is_none() {
            return Err(Unsupported::new(stmt.span, "a parser statement outside of a parser"));
        }
        match &stmt.kind {
            StmtKind::Extract { header, varbit_bits } => self.extract(*header, varbit_bits.as_ref())?,
            StmtKind::ExtractNext { stack, varbit_bits } => {
                let stack = &self.p[*stack];
                let next = self.read(stack.next_index)[0];
                let end = self.b.create_block();
                let before = self.writable.clone();
                for (i, &header) in stack.elements.iter().enumerate() {
                    let (here, other) = (self.b.create_block(), self.b.create_block());
                    let this = self.b.ins().icmp_imm_u(IntCC::Equal, next, i as i64);
                    self.b.ins().brif(this, here, &[], other, &[]);
                    self.enter(here);
                    self.extract(header, varbit_bits.as_ref())?;
                    let following = self.c64(i as u64 + 1);
                    self.write(stack.next_index, &[following]);
                    self.b.ins().jump(end, &[]);
                    self.enter(other);
                }
                self.fail("StackOutOfBounds")?;
                self.meet(end, before);
            }
            StmtKind::Advance(by) => self.advance(by)?,
            StmtKind::Lookahead { total_bits, parts } => {
                self.require_bytes(total_bits.div_ceil(8))?;
                let cursor = self.b.use_var(self.cursor);
                let window = Window { from: 0, to: total_bits.div_ceil(8) as i32 };
                let mut values = Vec::new();
                for &(slot, offset) in parts {
                    let width = self.p[slot].ty.width();
                    values.push(self.load_bits(self.flags.packet, cursor, offset, width, window));
                }
                for (&(slot, _), v) in parts.iter().zip(&values) {
                    self.write(slot, v);
                }
            }
            StmtKind::Verify(condition, error) => {
                let (good, bad) = (self.b.create_block(), self.b.create_block());
                self.b.set_cold_block(bad);
                self.branch_on(condition, good, bad)?;
                self.enter(bad);
                let error = self.value(error)?[0];
                self.fail_with(error)?;
                self.enter(good);
            }
            _ => return Err(Unsupported::new(stmt.span, "this statement in a parser")),
        }
        Ok(Flow::Next)
    }

    fn extract(&mut self, header: HeaderId, varbit_bits: Option<&Expr>) -> Result<()> {
        let fixed = self.layout.header(header).bytes;
        let cursor = self.b.use_var(self.cursor);
        let (after, varbit) = match varbit_bits {
            None => {
                self.require_bytes(fixed)?;
                (self.b.ins().iadd_imm_s(cursor, i64::from(fixed)), None)
            }
            Some(bits) => {
                let bits = self.value(bits)?[0];
                let (after, bytes) = self.skip(cursor, fixed, bits)?;
                let most = self.p[header].varbit.map_or(0, |i| self.p[header].fields[i as usize].width);
                let fits = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, bits, i64::from(most));
                self.require(fits, "HeaderTooShort")?;
                (after, Some(bytes))
            }
        };
        self.begin_tail(header, cursor);
        self.place_header(header, cursor, varbit);
        self.set_validity(header, true);
        self.b.def_var(self.cursor, after);
        Ok(())
    }

    /// Remembers where the tail of headers begins.
    fn begin_tail(&mut self, header: HeaderId, cursor: Value) {
        if !self.layout.tail.contains(header) {
            return;
        }
        match std::mem::replace(&mut self.tail_begun, Begun::Surely) {
            Begun::Not => self.b.def_var(self.tail_start, cursor),
            Begun::Surely => {}
            Begun::Maybe => {
                let begun = self.any_valid(&self.layout.tail.headers);
                let old = self.b.use_var(self.tail_start);
                let start = self.b.ins().select(begun, old, cursor);
                self.b.def_var(self.tail_start, start);
            }
        }
    }

    /// Checks that `fixed` bytes and `bits` bits are there; gives the address behind and the bits as bytes.
    fn skip(&mut self, cursor: Value, fixed: u32, bits: Value) -> Result<(Value, Value)> {
        let rest = self.b.ins().band_imm_u(bits, 7);
        let whole = self.b.ins().icmp_imm_u(IntCC::Equal, rest, 0);
        self.require(whole, "ParserInvalidArgument")?;
        let bytes = self.b.ins().ushr_imm_u(bits, 3);
        let after = self.b.ins().iadd_imm_s(cursor, i64::from(fixed));
        let after = self.b.ins().iadd(after, bytes);
        let enough = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, after, self.packet.end);
        self.require(enough, "PacketTooShort")?;
        Ok((after, bytes))
    }

    fn advance(&mut self, by: &Expr) -> Result<()> {
        let cursor = self.b.use_var(self.cursor);
        let after = match by.as_const().map(BigUint::to_u32) {
            Some(Some(bits)) if bits.is_multiple_of(8) && bits < 1 << 20 => {
                self.require_bytes(bits / 8)?;
                self.b.ins().iadd_imm_s(cursor, i64::from(bits / 8))
            }
            _ => {
                let bits = self.value(by)?[0];
                self.skip(cursor, 0, bits)?.0
            }
        };
        self.b.def_var(self.cursor, after);
        Ok(())
    }
}
