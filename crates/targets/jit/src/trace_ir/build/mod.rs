//! Builds a tree from the pipeline IR and learned paths, by partial evaluation.
//!
//! The builder walks the program along all paths at once, as [`crate::emit`] does when it emits a trace, with a value for each slot.
//! Where the paths go on at several points it branches; every other decision becomes a guard. Slots, headers' validity and places
//! are values, so that whatever a path decides is a constant. What a trace cannot do, because it has effects that can neither be
//! deferred nor repeated, becomes a side exit.

mod controls;
mod externs;
mod parser;
mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use hopwright_abi::ExternAttributes;
use hopwright_ir::analysis::parser_graph;
use hopwright_ir::analysis::suspension_points::{self, RequestSlots};
use hopwright_ir::{BinaryOp, Expr, ExprKind, ExternId, Pipeline, SlotId, Span, Stmt, Type, UnaryOp};
use hopwright_source::stack;

use super::values::{Op, ValueId};
use super::verify::Established;
use super::{Effect, End, Guard, Leaf, Name, NodeId, Place, Site, TraceIr, Verdict};
use crate::emit::point::PointId;
use crate::trace::mode::Path;

/// The maximum number of nodes of a tree.
const MAX_NODES: usize = 4_000;

/// The type of a meter's colour.
const COLOR: Type = Type::Bits(2);

/// The maximum length of a condition's text.
const MAX_TEXT: usize = 72;

/// Builds the tree of some paths of a pipeline. `attributes` describe its extern objects.
pub fn build(pipeline: &Pipeline, paths: &[Path], attributes: &[ExternAttributes]) -> TraceIr {
    build_completed(pipeline, paths, attributes).0
}

/// As [`build`]. Also returns the indices of the paths that end at a leaf.
pub(crate) fn build_completed(
    pipeline: &Pipeline,
    paths: &[Path],
    attributes: &[ExternAttributes],
) -> (TraceIr, BTreeSet<usize>) {
    let lowered = suspension_points::lower(pipeline);
    let (pipeline, requests) = match &lowered {
        Some((lowered, requests)) => (lowered, requests.clone()),
        None => (pipeline, RequestSlots::default()),
    };
    stack::with_room(|| {
        let state_order = parser_graph::order(pipeline);
        let ir = TraceIr::new(&pipeline.name);
        Builder {
            p: pipeline,
            requests,
            paths,
            attributes,
            state_order,
            ir,
            completed: BTreeSet::new(),
            work: Vec::new(),
        }
        .run()
    })
}

/// The end of a path that the builder follows: a side exit has been placed.
struct Stopped;

type Step = Result<(), Stopped>;

/// What a packet does next: a point of the program, as [`crate::emit::point`] numbers them.
#[derive(Clone)]
struct Point<'a>(Rc<PointData<'a>>);

struct PointData<'a> {
    id: PointId,
    what: What<'a>,
    context: Rc<Context<'a>>,
}

#[derive(Clone)]
enum What<'a> {
    /// Statements, of which the first has the id's last number, and the point after them.
    Stmts(&'a [Stmt], Point<'a>),
    /// A condition that is part of another.
    Test { condition: &'a Expr, yes: Point<'a>, no: Point<'a> },
    /// A loop's next iteration.
    Loop(&'a [Stmt]),
    /// A parser state.
    State(usize),
    /// A parser state's transition.
    Transition(usize),
    /// The end of parsing with an error.
    Fail(Span),
    /// A point between the program's blocks; the id says which.
    Stage,
}

/// The context of a point.
#[derive(Clone, Default)]
struct Context<'a> {
    /// The target of `exit`.
    exit: Option<Point<'a>>,
    /// Enclosing scopes and their ends.
    scopes: Vec<(u32, Point<'a>)>,
    /// The arguments of the action whose body this is.
    params: Rc<[ValueId]>,
    /// The colour that the direct meter of its table gives the packet.
    color: Option<ValueId>,
}

impl<'a> Point<'a> {
    fn new(id: PointId, what: What<'a>, context: &Rc<Context<'a>>) -> Point<'a> {
        Point(Rc::new(PointData { id, what, context: context.clone() }))
    }

    fn stage(number: u32) -> Point<'a> {
        Point::new(vec![number], What::Stage, &Rc::default())
    }

    /// The point of a list of statements, or the point after it if the list is empty.
    fn stmts(prefix: PointId, body: &'a [Stmt], then: &Point<'a>, context: &Rc<Context<'a>>) -> Point<'a> {
        if body.is_empty() {
            return then.clone();
        }
        Point::new(sub(&prefix, 0), What::Stmts(body, then.clone()), context)
    }

    fn id(&self) -> &PointId {
        &self.0.id
    }
}

fn sub(id: &[u32], part: usize) -> PointId {
    [id, &[part as u32]].concat()
}

/// What is known of a packet at a point.
#[derive(Clone)]
struct State {
    /// The node whose end is open.
    node: NodeId,
    /// The paths that the packet may be on, and the number of their points that it has passed.
    paths: Vec<(usize, usize)>,
    /// By slot.
    slots: Vec<ValueId>,
    /// The parser's cursor.
    cursor: Place,
    established: Established,
    /// Values that guards have decided.
    known: BTreeMap<ValueId, ValueId>,
    effects: Vec<Effect>,
    /// Registers with deferred writes.
    written: BTreeSet<ExternId>,
    /// What the deparser has emitted.
    headers: Vec<ValueId>,
    /// The egress port.
    port: Option<ValueId>,
}

impl State {
    /// Whether a meter has been charged. Its state is that from before the packet, so it gives no further colour.
    fn has_measured(&self, meter: &Name) -> bool {
        self.effects.iter().any(|effect| matches!(effect, Effect::Measure { meter: charged, .. } if charged == meter))
    }
}

struct Builder<'a> {
    p: &'a Pipeline,
    requests: RequestSlots,
    paths: &'a [Path],
    attributes: &'a [ExternAttributes],
    /// The parser's states in the order of their points.
    state_order: Vec<usize>,
    ir: TraceIr,
    /// Indices of the paths that end at a leaf.
    completed: BTreeSet<usize>,
    work: Vec<(Point<'a>, State)>,
}

impl<'a> Builder<'a> {
    fn run(mut self) -> (TraceIr, BTreeSet<usize>) {
        let start = self.start();
        let first = self.state_point(self.p.parser.start.0 as usize);
        // A path that ends at once has a side exit.
        let _ = self.go(&first, start);
        while let Some((point, state)) = self.work.pop() {
            let _ = self.follow(&point, state);
        }
        self.ir.values.at(None);
        (self.ir, self.completed)
    }

    /// The state of a packet as received.
    fn start(&mut self) -> State {
        let node = self.ir.add_node("");
        let slots: Vec<ValueId> = self.p.slots.iter().map(|slot| self.ir.values.constant(0u32, slot.ty)).collect();
        let mut state = State {
            node,
            paths: (0..self.paths.len()).map(|path| (path, 0)).collect(),
            slots,
            cursor: Place::default(),
            established: Established::default(),
            known: BTreeMap::new(),
            effects: Vec::new(),
            written: BTreeSet::new(),
            headers: Vec::new(),
            port: None,
        };
        let standard = self.p.standard;
        let port = self.ir.values.data(Op::IngressPort, Type::Bits(9));
        let length = self.ir.values.data(Op::Length, Type::Bits(32));
        let now = self.now();
        self.preset(&mut state, standard.ingress_port, port);
        self.preset(&mut state, standard.packet_length, length);
        self.preset(&mut state, standard.ingress_global_timestamp, now);
        state
    }

    fn now(&mut self) -> ValueId {
        self.ir.values.data(Op::Now, Type::Bits(64))
    }

    /// Sets a slot to the lowest bits of a value.
    fn preset(&mut self, state: &mut State, slot: SlotId, value: ValueId) {
        let ty = self.p[slot].ty;
        state.slots[slot.index()] = self.ir.values.data(Op::Cast(value), ty);
    }

    /// Continues at a point, on the paths that do.
    fn go(&mut self, to: &Point<'a>, mut state: State) -> Step {
        let paths = self.paths;
        state.paths.retain(|&(path, passed)| paths[path].0.get(passed) == Some(to.id()));
        if state.paths.is_empty() || self.ir.nodes.len() > MAX_NODES {
            return self.exit(&state, "no trace goes on here");
        }
        state.paths.iter_mut().for_each(|(_, passed)| *passed += 1);
        self.work.push((to.clone(), state));
        Ok(())
    }

    /// Whether a path continues at a point.
    fn is_on_path(&self, state: &State, to: &Point<'a>) -> bool {
        state.paths.iter().any(|&(path, passed)| self.paths[path].0.get(passed) == Some(to.id()))
    }

    /// Skips, on all paths, the points within a place whose outcome is known.
    fn skip_within(&self, state: &mut State, place: &PointId) {
        for (path, passed) in &mut state.paths {
            while self.paths[*path].0.get(*passed).is_some_and(|p| p.starts_with(place)) {
                *passed += 1;
            }
        }
    }

    /// Follows a point's code until its end.
    fn follow(&mut self, point: &Point<'a>, state: State) -> Step {
        let PointData { id, what, context } = &*point.0;
        match what {
            What::Stmts(body, then) => self.stmts(body, id, then, context, state),
            What::Test { condition, yes, no } => self.test(condition, id, yes, no, context, state),
            What::Loop(body) => self.stmts(body, &sub(&sub(id, 1), 0), point, context, state),
            What::State(s) => self.state(*s, id, state),
            What::Transition(s) => self.transition(*s, state),
            What::Fail(span) => {
                let site = self.site(*span, "parser error");
                self.exit(&state, &site)
            }
            What::Stage => self.stage(id[0], state),
        }
    }

    /// Ends paths with a leaf.
    fn complete(&mut self, state: State, verdict: Verdict) -> Step {
        self.completed.extend(state.paths.iter().map(|(path, _)| *path));
        self.ir[state.node].end = End::Leaf(Leaf { effects: state.effects, verdict });
        Ok(())
    }

    /// Ends a path with a side exit.
    fn exit(&mut self, state: &State, site: impl Into<Site>) -> Step {
        self.ir[state.node].end = End::Exit { site: site.into() };
        Err(Stopped)
    }

    /// Guards that a condition has an outcome.
    fn guard(&mut self, state: &mut State, condition: ValueId, holds: bool, site: &Site) -> Step {
        let condition = *state.known.get(&condition).unwrap_or(&condition);
        match self.decided(condition) {
            Some(truth) if truth == holds => return Ok(()),
            Some(_) => return self.exit(state, site),
            None => {}
        }
        self.ir[state.node].guards.push(Guard { condition, holds, site: site.into() });
        self.learn(state, condition, holds);
        Ok(())
    }

    /// Branches on a condition, and returns the states behind both outcomes.
    fn branch(&mut self, state: &State, condition: ValueId, site: &Site) -> (State, State) {
        let [yes, no] = [(); 2].map(|()| self.ir.add_node(""));
        self.ir[state.node].end = End::Branch { condition, yes, no, site: site.into() };
        let outcome = |builder: &mut Builder<'a>, node, holds| {
            let mut state = State { node, ..state.clone() };
            builder.learn(&mut state, condition, holds);
            state
        };
        (outcome(self, yes, true), outcome(self, no, false))
    }

    /// Continues at one of two points, by a condition.
    fn decide(&mut self, mut state: State, condition: ValueId, [yes, no]: [&Point<'a>; 2], site: &Site) -> Step {
        let condition = *state.known.get(&condition).unwrap_or(&condition);
        if let Some(truth) = self.decided(condition) {
            return self.go(if truth { yes } else { no }, state);
        }
        if yes.id() == no.id() {
            return self.go(yes, state);
        }
        match (self.is_on_path(&state, yes), self.is_on_path(&state, no)) {
            (true, true) => {
                let (then, otherwise) = self.branch(&state, condition, site);
                let first = self.go(no, otherwise);
                self.go(yes, then).or(first)
            }
            (truth, _) => {
                let to = if truth { yes } else { no };
                if !self.is_on_path(&state, to) {
                    return self.exit(&state, site);
                }
                self.guard(&mut state, condition, truth, site)?;
                self.go(to, state)
            }
        }
    }

    /// The outcome of a condition, if it is a constant.
    fn decided(&self, condition: ValueId) -> Option<bool> {
        self.ir.values.as_constant(condition).map(|value| value.bit(0))
    }

    /// Records what the outcome of a condition says.
    fn learn(&mut self, state: &mut State, condition: ValueId, holds: bool) {
        state.established.add(&self.ir.values, condition, holds);
        let mut work = vec![(condition, holds)];
        while let Some((condition, holds)) = work.pop() {
            let truth = self.ir.values.truth(holds);
            state.known.insert(condition, truth);
            match self.ir.values[condition].op.clone() {
                Op::Unary(UnaryOp::Not, inner) => work.push((inner, !holds)),
                Op::Binary(BinaryOp::And | BinaryOp::LogicalAnd, a, b) if holds => work.extend([(a, true), (b, true)]),
                Op::Binary(BinaryOp::Or | BinaryOp::LogicalOr, a, b) if !holds => work.extend([(a, false), (b, false)]),
                Op::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), a, b) => {
                    let equal = (op == BinaryOp::Eq) == holds;
                    let opposite = if equal { BinaryOp::Ne } else { BinaryOp::Eq };
                    let contrary = self.ir.values.data(Op::Binary(opposite, a, b), Type::Bool);
                    let never = self.ir.values.truth(false);
                    state.known.insert(contrary, never);
                    let Some(value) = self.ir.values.as_constant(b).cloned() else { continue };
                    match self.ir.values.data_type(a) {
                        _ if equal => {
                            state.known.insert(a, b);
                        }
                        Some(ty @ Type::Bits(1)) => {
                            let other = self.ir.values.constant(1u32 - value, ty);
                            state.known.insert(a, other);
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
    }

    /// A slot's value.
    fn read(&self, state: &State, slot: SlotId) -> ValueId {
        let value = state.slots[slot.index()];
        *state.known.get(&value).unwrap_or(&value)
    }

    /// A slot's value, where bytes are copied or summed: those of the packet, even if they are known, because they are adjacent to
    /// others.
    fn in_packet(&self, state: &State, slot: SlotId) -> ValueId {
        let value = state.slots[slot.index()];
        match self.ir.values[value].op {
            Op::Packet { .. } => value,
            _ => self.read(state, slot),
        }
    }

    /// The value of an expression.
    fn value(&mut self, state: &State, context: &Context<'a>, e: &Expr) -> ValueId {
        let op = match &e.kind {
            ExprKind::Const(value) => return self.ir.values.constant(value.clone(), e.ty),
            ExprKind::Slot(slot) => return self.read(state, *slot),
            ExprKind::Param(index) => match context.params.get(*index as usize) {
                Some(param) => return *state.known.get(param).unwrap_or(param),
                None => Op::Constant(0u32.into()),
            },
            ExprKind::PacketLength => Op::Length,
            ExprKind::Unary(op, a) => Op::Unary(*op, self.value(state, context, a)),
            ExprKind::Binary(op, a, b) => Op::Binary(*op, self.value(state, context, a), self.value(state, context, b)),
            ExprKind::Cast(a) => Op::Cast(self.value(state, context, a)),
            ExprKind::Slice { arg, hi, lo } => Op::Slice { arg: self.value(state, context, arg), hi: *hi, lo: *lo },
            ExprKind::Mux(a, b, c) => {
                let condition = self.value(state, context, a);
                Op::Mux(condition, self.value(state, context, b), self.value(state, context, c))
            }
        };
        let value = self.ir.values.data(op, e.ty);
        *state.known.get(&value).unwrap_or(&value)
    }

    /// A place in the program and a description, or else the text there.
    fn site(&self, span: Span, what: &str) -> Site {
        let sources = &self.p.sources;
        let Some(quoted) = sources.quote(span) else { return what.into() };
        let text = if what.is_empty() { sources.snippet(span) } else { what };
        let text = match quoted.split_once("  ") {
            Some((place, _)) if !text.is_empty() && !text.contains('\n') && text.len() <= MAX_TEXT => {
                format!("{place}  {text}")
            }
            _ => quoted,
        };
        Site { text: text.into(), span }
    }
}
