//! The data-flow state: what is known at compile time at the beginning of a piece of code, such as values of slots,
//! validity of headers, and addresses relative to roots. It only serves optimisation: at run time, variables hold all
//! values.

use std::collections::{BTreeMap, HashMap};

use hopwright_ir::walk;
use hopwright_ir::{BinaryOp, Block, Expr, ExprKind, HeaderId, Pipeline, SlotId, SlotKind, Stmt, StmtKind, Type};

use crate::emit::point::{PointId, actions_of, stage};

/// The number of words of the frame that the loop uses: the address of the packet's descriptor, and the end of the
/// descriptors.
pub(crate) const FRAME_WORDS: u32 = 2;

/// Whether a header of the in-place suffix was extracted on the paths to a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SuffixState {
    /// On no path.
    NotBegun,
    /// On every path.
    Begun,
    /// On some paths.
    Maybe,
}

/// A root: an address that other addresses are relative to. It is kept in a word of the frame and loaded where needed,
/// because roots live too long to occupy registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Root(pub u32);

impl Root {
    /// The packet's first byte.
    pub(crate) const START: Root = Root(0);

    /// The offset of its word in the frame, after the words of the loop.
    pub(crate) fn place(self) -> i32 {
        Root::place_of(self.0)
    }

    /// The offset of the word with this index.
    pub(crate) fn place_of(number: u32) -> i32 {
        FRAME_WORDS as i32 * 8 + 8 * number as i32
    }
}

/// An address relative to a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At {
    pub root: Root,
    pub offset: i32,
}

impl At {
    /// The packet's first byte.
    pub(crate) const START: At = At { root: Root::START, offset: 0 };

    pub(crate) fn plus(self, bytes: i32) -> At {
        At { root: self.root, offset: self.offset + bytes }
    }
}

/// The data-flow state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FlowState {
    /// Known values of slots of at most 64 bits.
    values: BTreeMap<SlotId, u64>,
    /// Known addresses of headers' bytes.
    pub place: Vec<Option<At>>,
    /// Headers known to have bytes of their own, so that fields can be written.
    pub writable: Vec<bool>,
    /// The parser's cursor.
    pub cursor: Option<At>,
    /// The end of the bytes that are known to be in the packet.
    pub checked: Option<At>,
    /// Whether a header of the in-place suffix ([`hopwright_ir::analysis::in_place_suffix`]) was extracted.
    pub begun: SuffixState,
    /// The start of the in-place suffix.
    pub suffix_start: Option<At>,
    /// For each emit so far whether it emits something.
    pub emitted: Vec<Option<bool>>,
    /// Whether few packets reach this code.
    pub cold: bool,
}

impl FlowState {
    /// The state in which nothing is known.
    pub(crate) fn none(headers: usize) -> FlowState {
        FlowState {
            values: BTreeMap::new(),
            place: vec![None; headers],
            writable: vec![false; headers],
            cursor: None,
            checked: None,
            begun: SuffixState::Maybe,
            suffix_start: None,
            emitted: Vec::new(),
            cold: false,
        }
    }

    /// Sets the known value of a slot.
    pub(crate) fn set(&mut self, slot: SlotId, value: u64) {
        self.values.insert(slot, value);
    }

    /// Forgets the value of a slot.
    pub(crate) fn forget(&mut self, slot: SlotId) {
        self.values.remove(&slot);
    }

    /// The known value of a slot.
    pub(crate) fn value(&self, slot: SlotId) -> Option<u64> {
        self.values.get(&slot).copied()
    }

    /// The meet: keeps what both states know.
    pub(crate) fn meet(&mut self, other: &FlowState) {
        self.values.retain(|slot, v| other.values.get(slot) == Some(v));
        for (mine, other) in self.place.iter_mut().zip(&other.place) {
            if mine != other {
                *mine = None;
            }
        }
        for (mine, other) in self.writable.iter_mut().zip(&other.writable) {
            *mine &= *other;
        }
        let same = |a: Option<At>, b: Option<At>| if a == b { a } else { None };
        self.cursor = same(self.cursor, other.cursor);
        self.suffix_start = same(self.suffix_start, other.suffix_start);
        self.checked = match (self.checked, other.checked) {
            (Some(a), Some(b)) if a.root == b.root => Some(At { root: a.root, offset: a.offset.min(b.offset) }),
            _ => None,
        };
        if self.begun != other.begun {
            self.begun = SuffixState::Maybe;
        }
        self.emitted.resize(self.emitted.len().max(other.emitted.len()), None);
        for (i, mine) in self.emitted.iter_mut().enumerate() {
            if other.emitted.get(i) != Some(mine) {
                *mine = None;
            }
        }
        self.cold &= other.cold;
    }
}

/// The places where the program tests slots, so that knowing their values saves code.
#[derive(Debug)]
pub(crate) struct TestSites<'a> {
    places: HashMap<SlotId, Vec<PointId>>,
    /// Headers that the deparser does not test.
    tail: &'a [HeaderId],
    /// For each slot whether it is a header's validity.
    validity: Vec<bool>,
}

impl<'a> TestSites<'a> {
    /// The test sites of a pipeline, with parser states in this order, and further sites by stage. Point ids are those
    /// of [`crate::emit::point`].
    pub(crate) fn of(p: &Pipeline, states: &[usize], tail: &'a [HeaderId], more: &[(SlotId, u32)]) -> TestSites<'a> {
        let validity = p.slots.iter().map(|s| matches!(s.kind, SlotKind::Valid(_))).collect();
        let mut tests = TestSites { places: HashMap::new(), tail, validity };
        for (position, &s) in states.iter().enumerate() {
            let state = &p.parser.states[s];
            let at = [stage::PARSER, position as u32];
            tests.block(p, &state.body, &[&at[..], &[1]].concat());
            if let hopwright_ir::Transition::Select { keys, .. } = &state.transition {
                for key in keys {
                    walk::expr_slots(key, &mut |slot| tests.add(slot, &[&at[..], &[2]].concat()));
                }
            }
        }
        tests.block(p, &p.verify_checksum.body, &[stage::VERIFY]);
        tests.block(p, &p.ingress.body, &[stage::INGRESS]);
        tests.add(p.standard.egress_spec, &vec![stage::ADMITTED]);
        tests.block(p, &p.egress.body, &[stage::EGRESS]);
        tests.add(p.standard.egress_spec, &vec![stage::LEAVING]);
        tests.block(p, &p.compute_checksum.body, &[stage::COMPUTE]);
        tests.block(p, &p.deparser.body, &[stage::DEPARSER]);
        more.iter().for_each(|&(slot, stage)| tests.add(slot, &vec![stage]));
        for places in tests.places.values_mut() {
            places.sort();
        }
        tests
    }

    fn add(&mut self, slot: SlotId, point_id: &PointId) {
        self.places.entry(slot).or_default().push(point_id.clone());
    }

    fn block(&mut self, p: &Pipeline, body: &Block, prefix: &[u32]) {
        for (i, stmt) in body.iter().enumerate() {
            let point_id = [prefix, &[i as u32]].concat();
            self.statement(p, stmt, &point_id);
        }
    }

    fn statement(&mut self, p: &Pipeline, stmt: &Stmt, point_id: &PointId) {
        let inner = |k: usize| [&point_id[..], &[k as u32]].concat();
        match &stmt.kind {
            StmtKind::If { cond, then, otherwise } => {
                self.expression(cond, point_id);
                self.block(p, then, &inner(1));
                self.block(p, otherwise, &inner(2));
            }
            StmtKind::Switch { value, cases, default } => {
                walk::expr_slots(value, &mut |slot| self.add(slot, point_id));
                for (k, (_, body)) in cases.iter().enumerate() {
                    self.block(p, body, &inner(k + 1));
                }
                self.block(p, default, &inner(cases.len() + 1));
            }
            StmtKind::Scope { body, .. } | StmtKind::Loop { body, .. } => self.block(p, body, &inner(1)),
            StmtKind::Apply { table, .. } => {
                for (k, action) in actions_of(&p[*table]).iter().enumerate() {
                    self.block(p, &p[*action].body, &inner(k + 1));
                }
            }
            StmtKind::SetValid(header) => self.add(p[*header].valid, point_id),
            StmtKind::Emit(header) if !self.tail.contains(header) => self.add(p[*header].valid, point_id),
            _ => walk::stmt_exprs(stmt).into_iter().for_each(|e| self.expression(e, point_id)),
        }
    }

    /// Adds comparisons and booleans in an expression.
    fn expression(&mut self, e: &Expr, point_id: &PointId) {
        match &e.kind {
            ExprKind::Slot(slot) if e.ty == Type::Bool => self.add(*slot, point_id),
            ExprKind::Binary(BinaryOp::Eq | BinaryOp::Ne, a, b) => {
                for (a, b) in [(a, b), (b, a)] {
                    match &a.kind {
                        ExprKind::Slot(slot) if b.as_const().is_some() => self.add(*slot, point_id),
                        _ => self.expression(a, point_id),
                    }
                }
            }
            _ => walk::operands(e).into_iter().for_each(|operand| self.expression(operand, point_id)),
        }
    }

    /// The number of tests of a slot from a point on.
    fn after(&self, slot: SlotId, point_id: &PointId) -> usize {
        self.places.get(&slot).map_or(0, |places| places.len() - places.partition_point(|p| p < point_id))
    }

    /// Forgets values that no later test depends on, except validity.
    pub(crate) fn trim(&self, flow: &mut FlowState, point_id: &PointId) {
        flow.values.retain(|slot, _| self.validity[slot.0 as usize] || self.after(*slot, point_id) > 0);
    }

    /// The cost of merging two states: the number of later tests that only one of them decides.
    pub(crate) fn loss(&self, a: &FlowState, b: &FlowState, point_id: &PointId) -> usize {
        let one_way = |a: &FlowState, b: &FlowState| -> usize {
            a.values.iter().filter(|(s, v)| b.values.get(s) != Some(v)).map(|(s, _)| self.after(*s, point_id)).sum()
        };
        one_way(a, b) + one_way(b, a)
    }
}
