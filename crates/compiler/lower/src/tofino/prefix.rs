//! Parsers that begin in front of the packet.
//!
//! A Tofino parser extracts metadata from bits that the device puts in front of the packet. Here such a *prefix* exists at
//! compile time only: it is a list of expressions. [`Product`] makes the product of a parser's states and the positions in a
//! prefix: what a state takes from the prefix becomes assignments, and states behind its end are shared by all prefixes. What
//! is left of a prefix when parsing ends is skipped.

use std::collections::HashMap;
use std::rc::Rc;

use hopwright_ir::{
    BinaryOp, Block, Expr, ExprKind, HeaderId, KeySet, Parser, SelectCase, SlotId, State, StateId, StmtKind, Target,
    Transition, Type, walk,
};
use hopwright_source::Span;
use num_traits::ToPrimitive;

use crate::parser::targets_mut;
use crate::value::binary;
use crate::{Lowering, Result};

/// Bits in front of a packet, the first ones first.
#[derive(Clone, Debug, Default)]
pub(super) struct Prefix {
    fields: Vec<Expr>,
    width: u32,
}

impl Prefix {
    pub(super) fn push(&mut self, field: Expr) {
        self.width += field.ty.width();
        self.fields.push(field);
    }

    pub(super) fn width(&self) -> u32 {
        self.width
    }

    /// Fills up with zeros to a width.
    pub(super) fn fill(&mut self, width: u32, span: Span) {
        if self.width < width {
            self.push(Expr::constant(0u32, Type::Bits(width - self.width), span));
        }
    }

    /// The bits from `from` on.
    fn read(&self, from: u32, width: u32, span: Span) -> Expr {
        let (mut at, to) = (0, from + width);
        let mut whole: Option<Expr> = None;
        for field in &self.fields {
            let (start, end) = (at.max(from), (at + field.ty.width()).min(to));
            if start < end {
                let (hi, lo) = (at + field.ty.width() - 1 - start, at + field.ty.width() - end);
                let part = sliced(field.clone(), hi, lo, span);
                whole = Some(whole.map_or(part.clone(), |high| joined(high, part, span)));
            }
            at += field.ty.width();
        }
        whole.unwrap_or_else(|| Expr::constant(0u32, Type::Bits(width), span))
    }
}

fn sliced(e: Expr, hi: u32, lo: u32, span: Span) -> Expr {
    if lo == 0 && hi + 1 == e.ty.width() && matches!(e.ty, Type::Bits(_)) {
        return e;
    }
    Expr { kind: ExprKind::Slice { arg: Box::new(e), hi, lo }, ty: Type::Bits(hi + 1 - lo), span }
}

fn joined(high: Expr, low: Expr, span: Span) -> Expr {
    let ty = Type::Bits(high.ty.width() + low.ty.width());
    binary(BinaryOp::Concat, high, low, ty, span)
}

/// The position in a prefix: its number, and the bits that were taken.
type Position = Option<(usize, u32)>;

/// The states that parsers with prefixes become.
pub(super) struct Product {
    pub(super) states: Vec<State>,
    /// Where packets go for which a `select` has no case.
    rejected: Target,
}

impl Product {
    /// Begins with these states. Packets without a matching case of a `select` go to `rejected`.
    pub(super) fn new(states: Vec<State>, rejected: Target) -> Product {
        Product { states, rejected }
    }

    /// Adds a parser that begins at a bit of each prefix; returns its starts.
    pub(super) fn add(
        &mut self,
        lowering: &mut Lowering<'_>,
        parser: &Parser,
        prefixes: &[Rc<Prefix>],
        from: u32,
    ) -> Result<Vec<Target>> {
        let mut known: HashMap<(StateId, Position), StateId> = HashMap::new();
        let mut todo = Vec::new();
        let mut starts = Vec::new();
        for (number, prefix) in prefixes.iter().enumerate() {
            let position = (prefix.width > from).then_some((number, from));
            starts.push(Target::State(self.state(parser, parser.start, position, &mut known, &mut todo)));
        }
        while let Some((from, position, id)) = todo.pop() {
            let state = &parser.states[from.0 as usize];
            let (body, position) = match position {
                None => (state.body.clone(), None),
                Some((number, at)) => {
                    let (body, at) = lowering.behind(&state.body, &prefixes[number], at)?;
                    (body, (at < prefixes[number].width).then_some((number, at)))
                }
            };
            let mut transition = state.transition.clone();
            // `reject` ends a parser of the device as `accept` does.
            for target in targets_mut(&mut transition).into_iter().filter(|target| **target == Target::Reject) {
                *target = Target::Accept;
            }
            if let Transition::Select { keys, cases } = &mut transition
                && !cases.iter().any(|c| c.sets.iter().all(|s| matches!(s, KeySet::Any)))
            {
                let sets = vec![KeySet::Any; keys.len()];
                cases.push(SelectCase { sets, target: Target::Reject, span: state.span });
            }
            for target in targets_mut(&mut transition) {
                *target = match *target {
                    Target::State(next) => Target::State(self.state(parser, next, position, &mut known, &mut todo)),
                    Target::Reject => self.rejected,
                    Target::Accept => Target::Accept,
                };
            }
            let state = &mut self.states[id.0 as usize];
            state.body = body;
            state.transition = transition;
        }
        Ok(starts)
    }

    fn state(
        &mut self,
        parser: &Parser,
        from: StateId,
        position: Position,
        known: &mut HashMap<(StateId, Position), StateId>,
        todo: &mut Vec<(StateId, Position, StateId)>,
    ) -> StateId {
        *known.entry((from, position)).or_insert_with(|| {
            let id = StateId(self.states.len() as u32);
            let state = &parser.states[from.0 as usize];
            let name = match position {
                None => state.name.clone(),
                Some((number, at)) => format!("{}$prefix{number}_{at}", state.name),
            };
            let transition = Transition::Goto(Target::Accept);
            self.states.push(State { name, body: Vec::new(), transition, span: state.span });
            todo.push((from, position, id));
            id
        })
    }
}

impl Lowering<'_> {
    /// A state's statements when parsing is at bit `at` of a prefix, and where parsing is after them.
    fn behind(&mut self, body: &Block, prefix: &Prefix, mut at: u32) -> Result<(Block, u32)> {
        let mut refused = false;
        let block = self.nested(|this| {
            for stmt in body {
                let left = prefix.width - at;
                if left == 0 {
                    this.block.push(stmt.clone());
                    continue;
                }
                let span = stmt.span;
                match &stmt.kind {
                    StmtKind::Extract { header, varbit_bits: None } => {
                        this.extract_behind(prefix, at, *header, span);
                        at += this.headers[header.index()].fixed_bits.min(left);
                    }
                    StmtKind::ExtractNext { stack, varbit_bits: None } => {
                        let (elements, next) = {
                            let stack = &this.stacks[stack.index()];
                            (stack.elements.clone(), stack.next_index)
                        };
                        this.next_behind(prefix, at, &elements, next, span)?;
                        at += this.headers[elements[0].index()].fixed_bits.min(left);
                    }
                    StmtKind::Lookahead { total_bits, parts } => this.take(prefix, at, *total_bits, parts, span),
                    StmtKind::Advance { bits, .. } => match bits.as_const().and_then(|b| b.to_u32()) {
                        Some(bits) if bits <= left => at += bits,
                        Some(bits) => {
                            let rest = Expr::constant(bits - left, Type::Bits(32), span);
                            this.emit(StmtKind::Advance { bits: rest, bound: Some(bits - left) }, span);
                            at = prefix.width;
                        }
                        None => {
                            this.unsupported(span, "skipping a computed number of bits of the intrinsic metadata");
                            refused = true;
                        }
                    },
                    _ => {
                        let whole = [stmt.clone()].to_vec();
                        let mut moves = false;
                        walk::stmts(&whole, &mut |s| {
                            moves |= matches!(
                                s.kind,
                                StmtKind::Extract { .. }
                                    | StmtKind::ExtractNext { .. }
                                    | StmtKind::Advance { .. }
                                    | StmtKind::Lookahead { .. }
                            );
                        });
                        if moves {
                            this.unsupported(span, "extracting the intrinsic metadata in this way");
                            refused = true;
                        }
                        this.block.push(stmt.clone());
                    }
                }
            }
            Ok(())
        })?;
        if refused { Err(crate::Reported) } else { Ok((block, at)) }
    }

    /// Extracts a header that begins in a prefix.
    fn extract_behind(&mut self, prefix: &Prefix, at: u32, header: HeaderId, span: Span) {
        let model = &self.headers[header.index()];
        let fields: Vec<(SlotId, u32)> = model.fields.iter().map(|f| (f.slot, f.offset_bits)).collect();
        let (width, left) = (model.fixed_bits, prefix.width - at);
        // The rest must be there before the header becomes valid.
        if width > left {
            self.emit(StmtKind::Lookahead { total_bits: width - left, parts: Vec::new() }, span);
        }
        self.emit(StmtKind::SetValid(header), span);
        self.take(prefix, at, width, &fields, span);
        if width > left {
            let bits = Expr::constant(width - left, Type::Bits(32), span);
            self.emit(StmtKind::Advance { bits, bound: Some(width - left) }, span);
        }
    }

    /// Extracts the next element of a stack, which begins in a prefix.
    fn next_behind(&mut self, prefix: &Prefix, at: u32, elements: &[HeaderId], next: SlotId, span: Span) -> Result<()> {
        let full = self.program.errors.iter().position(|e| e == "StackOutOfBounds").unwrap_or(0);
        let mut otherwise = self.nested(|this| {
            let error = Expr::constant(full, Type::Bits(16), span);
            this.emit(StmtKind::Verify(Expr::boolean(false, span), error), span);
            Ok(())
        })?;
        for (index, element) in elements.iter().enumerate().rev() {
            let then = self.nested(|this| {
                this.extract_behind(prefix, at, *element, span);
                let after = Expr::constant(index as u32 + 1, Type::Bits(32), span);
                this.emit(StmtKind::Assign(next, after), span);
                Ok(())
            })?;
            let is = self.is(next, index as u32, span);
            otherwise = self.nested(|this| {
                this.branch(is, then, otherwise, span);
                Ok(())
            })?;
        }
        self.block.extend(otherwise);
        Ok(())
    }

    /// Assigns parts of `total` bits, of which the prefix has the first ones.
    fn take(&mut self, prefix: &Prefix, at: u32, total: u32, parts: &[(SlotId, u32)], span: Span) {
        let left = prefix.width - at;
        let mut ahead = Vec::new();
        let mut joins = Vec::new();
        for &(slot, offset) in parts {
            let ty = self.slots[slot.index()].ty;
            let width = ty.width();
            if offset + width <= left {
                let value = of_type(prefix.read(at + offset, width, span), ty, span);
                self.emit(StmtKind::Assign(slot, value), span);
            } else if offset >= left {
                ahead.push((slot, offset - left));
            } else {
                let rest = self.temp(Type::Bits(offset + width - left), span);
                ahead.push((rest, 0));
                joins.push((slot, prefix.read(at + offset, left - offset, span), rest));
            }
        }
        if total > left {
            self.emit(StmtKind::Lookahead { total_bits: total - left, parts: ahead }, span);
        }
        for (slot, high, rest) in joins {
            let ty = self.slots[slot.index()].ty;
            let low = self.slot_expr(rest, span);
            self.emit(StmtKind::Assign(slot, of_type(joined(high, low, span), ty, span)), span);
        }
    }
}

/// Bits as a value of a type of the same width.
fn of_type(bits: Expr, ty: Type, span: Span) -> Expr {
    match ty {
        Type::Bits(_) => bits,
        Type::Bool => {
            let one = Expr::constant(1u32, bits.ty, span);
            crate::value::compare(bits, one, span)
        }
        _ => Expr { kind: ExprKind::Cast(Box::new(bits)), ty, span },
    }
}
