//! Parser states. A state tests once whether the packet contains all bytes that extracts of fixed size may take from
//! there on (unless that is too much for short packets), and records the result in the data-flow state. In shorter
//! packets each extract is tested separately, because those that fit still take effect.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Opcode, Value, ValueDef, types};
use hopwright_ir::Span;
use hopwright_ir::analysis::parser_graph::fixed_prefix;
use hopwright_ir::{BinaryOp, Expr, ExprKind, HeaderId, KeySet, StateId, Stmt, StmtKind, Target, Transition, Type};
use num_bigint::BigUint;
use num_traits::ToPrimitive;

use crate::Unsupported;
use crate::emit::Emitter;
use crate::emit::bytes::Window;
use crate::emit::flow_state::{At, SuffixState};
use crate::emit::point::{Point, PointId, PointKind, stage, sub};
use crate::trace::mode::Mode;

type Result<T> = std::result::Result<T, Unsupported>;

/// The maximum number of bytes that a state tests for beyond what it needs itself.
const LOOK_AHEAD: u32 = 128;

impl<'a> Emitter<'a> {
    /// The point where a parser state begins.
    pub(crate) fn state_point(&self, s: usize) -> Point<'a> {
        let position = self.state_order.iter().position(|&o| o == s).unwrap_or(0);
        let point = Point::new(vec![stage::PARSER, position as u32], PointKind::State(s), &self.in_parser);
        // States that certainly fail, and packets from the control plane.
        let rare = |s: &Stmt| match &s.kind {
            StmtKind::Verify(c, _) => c.as_const().is_some(),
            StmtKind::Extract { header, .. } => self.p.packet_out == Some(*header),
            _ => false,
        };
        if self.p.parser.states[s].body.first().is_some_and(rare) { point.cold() } else { point }
    }

    pub(crate) fn state(&mut self, s: usize, point_id: &PointId) -> Result<()> {
        let p = self.p;
        let state = &p.parser.states[s];
        self.at(state.span);
        self.step();
        let context = self.context.clone();
        let transition = Point::new(sub(point_id, 2), PointKind::Transition(s), &context);
        let body = Point::stmts(sub(point_id, 1), &state.body, &transition, &context);
        let need = fixed_prefix(self.p, state).need;
        if need > 0 && !self.is_checked(need) {
            let reach = self.reach[s];
            let bytes = if reach <= LOOK_AHEAD { reach } else { need };
            let enough = self.remaining_at_least(bytes);
            let before = self.flow.clone();
            self.flow.checked = Some(self.cursor_at().plus(bytes as i32));
            let all = self.edge(&body);
            self.flow = before;
            let some = self.edge(&body.cold());
            self.b.ins().brif(enough, all, &[], some, &[]);
            return Ok(());
        }
        if !matches!(self.mode, Mode::Generic) {
            // A path passes the same points in every state.
            self.go(&body);
            Ok(())
        } else if state.body.is_empty() {
            self.transition(s)
        } else {
            self.stmts(&state.body, &sub(&sub(point_id, 1), 0), &transition)
        }
    }

    /// Emits the transition of a state.
    pub(crate) fn transition(&mut self, s: usize) -> Result<()> {
        let p = self.p;
        match &p.parser.states[s].transition {
            Transition::Goto(target) => {
                let to = self.target(*target)?;
                self.go(&to);
                Ok(())
            }
            Transition::Select { keys, cases } => {
                let mut values = Vec::new();
                for key in keys {
                    values.push(self.value(key)?);
                }
                for case in cases {
                    self.at(case.span);
                    let to = self.target(case.target)?;
                    let before = self.flow.clone();
                    let other = self.b.create_block();
                    let mut open = false;
                    let mut never = false;
                    // A value set is the only set of its case, and has members for all keys.
                    if let [KeySet::ValueSet(set)] = case.sets.as_slice() {
                        let one = self.in_value_set(*set, &values);
                        let more = self.b.create_block();
                        self.b.ins().brif(one, more, &[], other, &[]);
                        open = true;
                        self.enter(more);
                    }
                    for ((set, key), value) in case.sets.iter().zip(keys).zip(&values) {
                        match self.known(key).and_then(|v| has(set, v, key.ty)) {
                            Some(true) => continue,
                            Some(false) => {
                                never = true;
                                break;
                            }
                            None => {}
                        }
                        if matches!(set, KeySet::Any | KeySet::ValueSet(_)) {
                            continue;
                        }
                        let one = self.in_set(set, key, value, case.span);
                        open = true;
                        let more = self.b.create_block();
                        self.b.ins().brif(one, more, &[], other, &[]);
                        self.enter(more);
                        if let (KeySet::Value(v), ExprKind::Slot(slot)) = (set, &key.kind) {
                            self.assume_value(*slot, key.ty, v.to_u64(), true);
                        }
                    }
                    if never {
                        self.b.ins().jump(other, &[]);
                    } else {
                        self.go(&to);
                        if !open {
                            // Unreachable: the case matches everything.
                            self.enter(other);
                            self.jump_to_fault();
                            return Ok(());
                        }
                    }
                    self.enter(other);
                    self.flow = before;
                    if let ([KeySet::Value(v)], [key]) = (case.sets.as_slice(), keys.as_slice())
                        && let ExprKind::Slot(slot) = key.kind
                    {
                        self.assume_value(slot, key.ty, v.to_u64(), false);
                    }
                }
                let parsed = self.target(Target::Accept)?;
                self.go(&parsed);
                Ok(())
            }
        }
    }

    pub(crate) fn target(&self, target: Target) -> Result<Point<'a>> {
        match target {
            Target::State(StateId(id)) => Ok(self.state_point(id as usize)),
            Target::Accept | Target::Reject => match &self.context.parsed {
                Some(point) => Ok(point.clone()),
                None => Err(Unsupported::new(self.p.parser.span, "a parser statement linkage of a parser")),
            },
        }
    }

    /// Whether a key is in a set, as I8.
    pub(crate) fn in_set(&mut self, set: &KeySet, e: &Expr, key: &[Value], span: Span) -> Value {
        let ty = e.ty;
        let width = ty.width();
        match set {
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
                let linkage = self.b.ins().bor(below, above);
                self.b.ins().bxor_imm_u(linkage, 1)
            }
            KeySet::Any | KeySet::ValueSet(_) => self.b.ins().iconst(types::I8, 1),
        }
    }

    /// Ends parsing with an error of this name.
    fn fail(&mut self, name: &str) -> Result<()> {
        let index = self.p.errors.iter().position(|e| e == name).unwrap_or(0);
        let v = self.c64(index as u64);
        self.fail_with(v)
    }

    /// Ends parsing with an error.
    pub(crate) fn fail_with(&mut self, error: Value) -> Result<()> {
        let parsed = self.target(Target::Reject)?;
        self.write(self.p.standard.parser_error, &[error]);
        self.flow.cold = true;
        self.go(&parsed);
        Ok(())
    }

    /// Ends parsing with an error unless the condition holds.
    fn require(&mut self, condition: Value, error: &str) -> Result<()> {
        if self.always(condition) == Some(true) {
            return Ok(());
        }
        let (good, bad) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(bad);
        self.b.ins().brif(condition, good, &[], bad, &[]);
        self.enter(bad);
        // The error is set on the failing path only.
        let before = self.flow.clone();
        self.fail(error)?;
        self.flow = before;
        self.enter(good);
        Ok(())
    }

    /// Whether bytes from the cursor on are known to be in the packet.
    fn is_checked(&mut self, bytes: u32) -> bool {
        let cursor = self.cursor_at();
        self.flow.checked.is_some_and(|c| c.root == cursor.root && c.offset >= cursor.offset + bytes as i32)
    }

    fn remaining_at_least(&mut self, bytes: u32) -> Value {
        let to = self.cursor_at().plus(bytes as i32);
        let to = self.address(to);
        let end = self.packet_end();
        self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, to, end)
    }

    fn require_bytes(&mut self, bytes: u32) -> Result<()> {
        if bytes == 0 || self.is_checked(bytes) {
            return Ok(());
        }
        let enough = self.remaining_at_least(bytes);
        self.require(enough, "PacketTooShort")?;
        self.flow.checked = Some(self.cursor_at().plus(bytes as i32));
        Ok(())
    }

    pub(crate) fn parser_statement(&mut self, stmt: &'a Stmt) -> Result<()> {
        if self.context.parsed.is_none() {
            return Err(Unsupported::new(stmt.span, "a parser statement linkage of a parser"));
        }
        match &stmt.kind {
            StmtKind::Extract { header, varbit_bits } => self.extract(*header, varbit_bits.as_ref())?,
            StmtKind::ExtractNext { stack, varbit_bits } => {
                let stack = &self.p[*stack];
                if let Some(next) = self.flow.value(stack.next_index)
                    && let Some(&header) = stack.elements.get(next as usize)
                {
                    self.extract(header, varbit_bits.as_ref())?;
                    let following = self.c64(next + 1);
                    self.write(stack.next_index, &[following]);
                    self.flow.set(stack.next_index, next + 1);
                    return Ok(());
                }
                let next = self.read(stack.next_index)[0];
                let end = self.b.create_block();
                let before = self.flow.clone();
                for (i, &header) in stack.elements.iter().enumerate() {
                    let (here, other) = (self.b.create_block(), self.b.create_block());
                    let this = self.b.ins().icmp_imm_u(IntCC::Equal, next, i as i64);
                    self.b.ins().brif(this, here, &[], other, &[]);
                    self.enter(here);
                    self.flow.clone_from(&before);
                    self.extract(header, varbit_bits.as_ref())?;
                    let following = self.c64(i as u64 + 1);
                    self.write(stack.next_index, &[following]);
                    self.b.ins().jump(end, &[]);
                    self.enter(other);
                }
                self.flow.clone_from(&before);
                self.fail("StackOutOfBounds")?;
                self.enter(end);
                self.flow = before;
                for &header in &stack.elements {
                    self.flow.place[header.index()] = None;
                    self.flow.writable[header.index()] = false;
                    self.flow.forget(self.p[header].valid);
                    self.forget_fields(header);
                }
                self.flow.forget(stack.next_index);
                self.flow.cursor = None;
                self.flow.checked = None;
            }
            StmtKind::Advance { bits: by, .. } => self.advance(by)?,
            StmtKind::Lookahead { total_bits, parts } => {
                self.require_bytes(total_bits.div_ceil(8))?;
                let at = self.cursor_at();
                let window = Window { from: at.offset, to: at.offset + total_bits.div_ceil(8) as i32 };
                let mut values = Vec::new();
                for &(slot, offset) in parts {
                    let width = self.p[slot].ty.width();
                    let root = self.root(at.root);
                    values.push(self.load_bits(self.flags.packet, root, at.offset, offset, width, window));
                }
                for (&(slot, _), v) in parts.iter().zip(&values) {
                    self.write(slot, v);
                }
            }
            _ => return Err(Unsupported::new(stmt.span, "this statement in a parser")),
        }
        Ok(())
    }

    fn extract(&mut self, header: HeaderId, varbit_bits: Option<&Expr>) -> Result<()> {
        let fixed = self.layout.header(header).bytes;
        let at = self.cursor_at();
        let (after, varbit) = match varbit_bits {
            None => {
                self.require_bytes(fixed)?;
                (at.plus(fixed as i32), None)
            }
            Some(bits) => {
                let whole = is_whole_bytes(bits);
                let bits = self.value(bits)?[0];
                let (after, bytes) = self.skip(at, fixed, bits, whole)?;
                let most = self.p[header].varbit.map_or(0, |i| self.p[header].fields[i as usize].width);
                let fits = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, bits, i64::from(most));
                self.require(fits, "HeaderTooShort")?;
                (self.new_root(after), Some(bytes))
            }
        };
        self.begin_suffix(header, at);
        self.place_header(header, at, varbit);
        self.set_validity(header, true);
        self.set_cursor(after);
        Ok(())
    }

    /// Records the start of the in-place suffix.
    fn begin_suffix(&mut self, header: HeaderId, cursor: At) {
        if !self.layout.suffix.contains(header) {
            return;
        }
        let v = self.address(cursor);
        match std::mem::replace(&mut self.flow.begun, SuffixState::Begun) {
            SuffixState::NotBegun => {
                self.b.def_var(self.suffix_start, v);
                self.flow.suffix_start = Some(cursor);
            }
            SuffixState::Begun => {}
            SuffixState::Maybe => {
                let begun = self.any_valid(&self.layout.suffix.headers);
                let old = self.b.use_var(self.suffix_start);
                let start = self.b.ins().select(begun, old, v);
                self.b.def_var(self.suffix_start, start);
                self.flow.suffix_start = None;
            }
        }
    }

    /// Checks that `fixed` bytes and `bits` bits are in the packet; `whole` says that these are known to be whole
    /// bytes. Returns the address after them, and the bits as bytes.
    fn skip(&mut self, cursor: At, fixed: u32, bits: Value, whole: bool) -> Result<(Value, Value)> {
        if !whole {
            let rest = self.b.ins().band_imm_u(bits, 7);
            let whole = self.b.ins().icmp_imm_u(IntCC::Equal, rest, 0);
            self.require(whole, "ParserInvalidArgument")?;
        }
        let bytes = self.in_bytes(bits);
        let after = self.address(cursor.plus(fixed as i32));
        let after = self.b.ins().iadd(after, bytes);
        let end = self.packet_end();
        let enough = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, after, end);
        self.require(enough, "PacketTooShort")?;
        Ok((after, bytes))
    }

    /// A number of bits, rounded down to bytes.
    fn in_bytes(&mut self, bits: Value) -> Value {
        let dfg = &self.b.func.dfg;
        if let ValueDef::Result(inst, 0) = dfg.value_def(dfg.resolve_aliases(bits))
            && dfg.insts[inst].opcode() == Opcode::Imul
            && let &[times, of] = dfg.inst_args(inst)
            && let Some(of) = self.unsigned_constant(of).filter(|of| of.is_multiple_of(8))
            && self.bound(times).checked_mul(of).is_some()
        {
            return self.b.ins().imul_imm_s(times, of as i64 / 8);
        }
        self.b.ins().ushr_imm_u(bits, 3)
    }

    fn advance(&mut self, by: &Expr) -> Result<()> {
        let at = self.cursor_at();
        let after = match by.as_const().map(BigUint::to_u32) {
            Some(Some(bits)) if bits.is_multiple_of(8) && bits < 1 << 20 => {
                self.require_bytes(bits / 8)?;
                at.plus((bits / 8) as i32)
            }
            _ => {
                let bits = self.value(by)?[0];
                let after = self.skip(at, 0, bits, is_whole_bytes(by))?.0;
                self.new_root(after)
            }
        };
        self.set_cursor(after);
        Ok(())
    }
}

/// Whether a number of bits is a multiple of eight, whatever the values of its variables.
fn is_whole_bytes(e: &Expr) -> bool {
    let eight = |e: &Expr| e.as_const().is_some_and(|v| (v % 8u32) == BigUint::ZERO);
    match &e.kind {
        ExprKind::Const(_) => eight(e),
        // Wrapping at a width of at least three bits preserves the lowest three.
        ExprKind::Binary(BinaryOp::Mul, a, b) => e.ty.width() >= 3 && (is_whole_bytes(a) || is_whole_bytes(b)),
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => {
            e.ty.width() >= 3 && is_whole_bytes(a) && is_whole_bytes(b)
        }
        ExprKind::Binary(BinaryOp::Shl, a, by) => {
            e.ty.width() >= 3 && (is_whole_bytes(a) || by.as_const().is_some_and(|v| *v >= BigUint::from(3u32)))
        }
        _ => false,
    }
}

/// Whether a set contains a constant, if its form shows that.
pub(crate) fn has(set: &KeySet, value: u64, ty: Type) -> Option<bool> {
    match set {
        KeySet::Any => Some(true),
        KeySet::Value(v) => Some(v.to_u64() == Some(value)),
        KeySet::Mask(v, m) => Some(value & m.to_u64()? == v.to_u64()? & m.to_u64()?),
        KeySet::Range(lo, hi) if matches!(ty, Type::Bits(_)) => Some(lo.to_u64()? <= value && value <= hi.to_u64()?),
        _ => None,
    }
}
