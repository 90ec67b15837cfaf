//! Follows the interpreter: each slot has the term that its value was computed by.
//!
//! The interpreter decides; terms say what would have to be different for another decision. Where the interpreter sets a value that the
//! shadow does not compute, such as the result of an extern, the value becomes a constant.

mod calls;
mod controls;
mod parser;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use hopwright_coverage::{Coverage, Points};
use hopwright_interp::{Decision, Event, Observer, PacketState, Stage, Value};
use hopwright_ir::{Expr, ExprKind, HeaderId, Pipeline, SlotId, Span, StateId, Stmt, StmtKind, TableId, Type, bits};
use num_bigint::BigUint;

use crate::inputs::{Applied, Inputs, Shared};
use crate::path::{Run, Step};
use crate::term::{self, Term, Variable, constant};

/// The observer of a run.
pub(crate) struct Shadow<'a> {
    pipeline: &'a Pipeline,
    points: Arc<Points>,
    answers: Shared,
    /// What the run reaches.
    pub coverage: Coverage,
    pub run: Run,
    slots: Vec<Term>,
    /// The number of steps before the last write of each slot.
    written: Vec<usize>,
    /// The slots at the end of the last ingress.
    before: Vec<Term>,
    params: Vec<Term>,
    /// The packet of this pass, byte by byte, and those of former passes and outputs.
    bytes: Vec<Term>,
    packets: Vec<Vec<Term>>,
    /// What the deparser has emitted in this pass.
    out: Term,
    cursor: usize,
    registers: BTreeMap<(u32, u64), Term>,
    state: StateId,
    /// The last case of a select that was taken.
    last_case: u64,
    /// The statement that is being executed: what it leaves to events.
    current: Current,
    /// How often each table was applied to new keys.
    applications: BTreeMap<u32, u32>,
    /// The number of statements whose addresses are known, for keys of steps.
    passes: u32,
}

/// What the events of a statement complete.
#[derive(Default)]
struct Current {
    /// Slots that an extern sets, and the terms of their values if the shadow has them.
    results: Vec<(SlotId, Option<Term>)>,
    /// The slots of an `apply`, and its terms for the data of the action that runs.
    apply: Option<(Option<SlotId>, Option<SlotId>, Vec<Term>)>,
    /// The place of a parser statement, for packets that end there.
    place: u64,
    next_index: Option<SlotId>,
    /// The statement is the last of the run's calls of externs.
    is_call: bool,
}

/// A number for anything, the same in every process.
pub(crate) fn key_of(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

pub(crate) fn place_key(span: Span) -> u64 {
    key_of((span.file.0, span.start, span.end))
}

impl<'a> Shadow<'a> {
    /// Prepares a run with these inputs.
    pub(crate) fn new(pipeline: &'a Pipeline, points: &Arc<Points>, answers: &Shared, inputs: Inputs) -> Shadow<'a> {
        {
            let mut answers = answers.get();
            *answers = Default::default();
            answers.members = inputs.members.clone();
            answers.registers = inputs.registers.clone();
            answers.colors = inputs.colors.clone();
        }
        Shadow {
            pipeline,
            points: points.clone(),
            answers: answers.clone(),
            coverage: Coverage::of(points.clone()),
            run: Run { inputs, ..Run::default() },
            slots: Vec::new(),
            written: vec![0; pipeline.slots.len()],
            before: Vec::new(),
            params: Vec::new(),
            bytes: Vec::new(),
            packets: Vec::new(),
            out: constant(0u32, 0),
            cursor: 0,
            registers: BTreeMap::new(),
            state: StateId(0),
            last_case: 0,
            current: Current::default(),
            applications: BTreeMap::new(),
            passes: 0,
        }
    }

    fn step(&mut self, step: Step) {
        // What is constant on this path decides nothing and cannot be different.
        let mut step = step;
        step.conditions.retain(|condition| !term::is_constant(condition));
        if !step.conditions.is_empty() || !step.alternatives.is_empty() {
            self.run.steps.push(step);
        }
    }

    /// Keeps terms as they are, for what was computed from them to stay.
    fn pin(&mut self, terms: &[Term]) {
        let conditions = terms.iter().filter(|t| !term::is_constant(t)).map(term::stays).collect();
        self.step(Step { conditions, soft: true, ..Step::default() });
    }

    fn slot(&self, slot: SlotId) -> &Term {
        &self.slots[slot.index()]
    }

    /// Behind which decisions the values were written that an expression reads.
    fn blamed(&self, e: &Expr) -> Vec<usize> {
        let mut steps = Vec::new();
        hopwright_ir::walk::expr_slots(e, &mut |slot| steps.push(self.written[slot.index()]));
        steps
    }

    fn set(&mut self, slot: SlotId, to: Term) {
        self.written[slot.index()] = self.run.steps.len();
        self.slots[slot.index()] = to;
    }

    fn set_number(&mut self, slot: SlotId, value: u64) {
        let width = self.pipeline[slot].ty.width();
        self.set(slot, constant(value, width));
    }

    fn valid(&self, header: HeaderId) -> bool {
        term::is_true(self.slot(self.pipeline[header].valid))
    }

    /// The term of an expression.
    fn eval(&self, e: &Expr) -> Term {
        term::of(e, &mut |leaf| match &leaf.kind {
            ExprKind::Slot(slot) => self.slot(*slot).clone(),
            ExprKind::Param(index) => {
                self.params.get(*index as usize).cloned().unwrap_or_else(|| constant(0u32, leaf.ty.width()))
            }
            ExprKind::Binary(op, a, b) => {
                let (x, y) = (self.eval(a), self.eval(b));
                if matches!(a.ty, Type::Varbit(_)) && x.width != y.width {
                    return constant(u32::from(*op == hopwright_ir::BinaryOp::Ne), 1);
                }
                constant(bits::binary(*op, &x.value, &y.value, a.ty, b.ty), leaf.ty.width())
            }
            _ => constant(self.bytes.len() as u32, 32),
        })
    }

    /// The first bits of a list of values are the highest.
    fn list(&self, list: &[Expr]) -> Term {
        list.iter().fold(constant(0u32, 0), |all, e| term::concat(&all, &self.eval(e)))
    }

    /// Bits of the packet from a bit on.
    fn read(&self, at: usize, width: u32) -> Term {
        let mut all = constant(0u32, 0);
        let (first, last) = (at / 8, (at + width as usize).div_ceil(8));
        for byte in first..last {
            let byte = self.bytes.get(byte).cloned().unwrap_or_else(|| constant(0u32, 8));
            all = term::concat(&all, &byte);
        }
        if width == 0 {
            return constant(0u32, 0);
        }
        let below = (last * 8 - at - width as usize) as u32;
        term::slice(&all, below + width - 1, below)
    }

    /// The packet of a pass that begins: the one received, one that was deparsed, or one that the shadow does not know.
    fn begin_pass(&mut self, packet: &PacketState) {
        let bytes = packet.bytes();
        if self.passes == 0 {
            let byte = |(at, byte): (usize, &u8)| term::input(Variable::Byte(at as u32), (*byte).into(), 8);
            self.packets.push(bytes.iter().enumerate().map(byte).collect());
        }
        let same = |terms: &&Vec<Term>| {
            terms.len() == bytes.len() && terms.iter().zip(bytes).all(|(t, byte)| t.value == BigUint::from(*byte))
        };
        let known = self.packets.iter().rev().find(same).cloned();
        self.bytes = known.unwrap_or_else(|| bytes.iter().map(|byte| constant(*byte, 8)).collect());
        let zero = |slot: &hopwright_ir::Slot| {
            let value = Value::zero(slot.ty);
            constant(value.bits, value.width)
        };
        self.before = std::mem::take(&mut self.slots);
        self.slots = self.pipeline.slots.iter().map(zero).collect();
        let port = self.pipeline.standard.ingress_port;
        self.set(port, term::input(Variable::Port, self.run.inputs.port.into(), 9));
        self.passes += 1;
    }

    /// Makes terms agree with the interpreter's values.
    fn agree(&mut self, packet: &PacketState) {
        for at in 0..self.slots.len() {
            let value = packet.get(SlotId(at as u32));
            let agrees = |term: &Term| term.value == value.bits && term.width == value.width;
            if !agrees(&self.slots[at]) {
                let former = self.before.get(at).filter(|term| agrees(term)).cloned();
                self.slots[at] = former.unwrap_or_else(|| constant(value.bits.clone(), value.width));
            }
        }
    }

    /// The whole packet that was deparsed.
    fn deparsed(&self) -> Vec<Term> {
        let whole = self.out.width - self.out.width % 8;
        let byte = |at: u32| term::slice(&self.out, whole - at * 8 - 1, whole - at * 8 - 8);
        (0..whole / 8).map(byte).chain(self.bytes[self.cursor.min(self.bytes.len())..].iter().cloned()).collect()
    }
}

impl Observer for Shadow<'_> {
    fn event(&mut self, event: &Event<'_>) {
        self.coverage.event(event);
        match event {
            Event::State { state, .. } => self.state = *state,
            Event::Transition { keys, case, .. } => self.transition(keys, *case),
            Event::Extract { header, offset, length, .. } => self.extracted(*header, *offset, *length),
            Event::ParserError { error, .. } => self.parser_error(*error),
            Event::Assign { slot, new, .. } => self.assigned(*slot, new),
            Event::Validity { header, valid, .. } => {
                let slot = self.pipeline[*header].valid;
                if term::is_true(self.slot(slot)) != *valid {
                    self.set_number(slot, u64::from(*valid));
                }
            }
            Event::Table { entry, action, .. } => self.table_found(entry.is_some(), action),
            Event::Emit { header, .. } => {
                for field in &self.pipeline[*header].fields {
                    self.out = term::concat(&self.out, self.slot(field.slot));
                }
            }
            Event::Decision(Decision::Unicast { .. } | Decision::Multicast { .. } | Decision::CloneIngress { .. }) => {
                self.before = self.slots.clone();
            }
            Event::Decision(Decision::Recirculate) => {
                let packet = self.deparsed();
                self.packets.push(packet);
            }
            _ => {}
        }
    }

    fn enter(&mut self, stage: Stage, packet: &PacketState) {
        match stage {
            Stage::Parser => self.begin_pass(packet),
            Stage::Egress if !self.before.is_empty() => self.slots = self.before.clone(),
            Stage::Deparser => self.out = constant(0u32, 0),
            _ => {}
        }
        self.cursor = packet.cursor();
        self.agree(packet);
    }

    fn statement(&mut self, stmt: &Stmt, packet: &PacketState) {
        self.coverage.statement(stmt, packet);
        self.current = Current::default();
        match &stmt.kind {
            StmtKind::Extern(call) => self.call(call),
            StmtKind::Apply { table, hit, action_run } => self.apply(*table, *hit, *action_run),
            StmtKind::Extract { varbit_bits, .. } => self.size(varbit_bits.as_ref(), stmt),
            StmtKind::ExtractNext { stack, varbit_bits } => {
                self.size(varbit_bits.as_ref(), stmt);
                self.current.next_index = Some(self.pipeline[*stack].next_index);
            }
            StmtKind::Advance { bits, .. } => self.size(Some(bits), stmt),
            StmtKind::Lookahead { total_bits, parts } => self.lookahead(*total_bits, parts, packet, stmt),
            _ => self.simple(stmt),
        }
    }

    fn outcome(&mut self, stmt: &Stmt, outcome: usize) {
        self.coverage.outcome(stmt, outcome);
        self.decided(stmt, outcome);
    }
}

/// What the applications of a table need of each other.
impl Shadow<'_> {
    /// The number of the choice for these keys: keys that the table has had before find the same again.
    fn application(&mut self, table: TableId, keys: &[Value], terms: &[Term]) -> u32 {
        if let Some(before) = self.run.applied.iter().find(|a| a.table == table && a.keys == keys) {
            return before.nth;
        }
        let nth = self.applications.entry(table.0).or_default();
        let this = *nth;
        *nth += 1;
        let choice = self.run.inputs.choices.get(&(table.0, this)).cloned();
        self.run.applied.push(Applied { table, keys: keys.to_vec(), terms: terms.to_vec(), nth: this, choice });
        this
    }

    /// Which cases a run meets: packets that end at a statement.
    fn cases(&mut self) -> &mut BTreeSet<u64> {
        &mut self.run.cases
    }
}
