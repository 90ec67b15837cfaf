//! Points that no packet reaches, whatever the control plane sets.
//!
//! A decision has an outcome only if its condition can have that value, with the slots that it reads as unknowns within the ranges that they
//! have there, and among the values that the program ever assigns to them. What no outcome leads to is not reached. Ranges and unknowns
//! contain more values than occur, so that a point that is left is proved unreachable; one that is not left may be unreachable, too.

use std::collections::{BTreeSet, HashMap};

use hopwright_coverage::{Kind, Points};
use hopwright_ir::analysis::effects::Effects;
use hopwright_ir::analysis::ranges::{self, Ranges};
use hopwright_ir::{
    ActionId, Block, Expr, ExprKind, KeySet, Pipeline, SlotId, SlotKind, StateId, Stmt, StmtKind, TableId, Transition,
    Type, walk,
};
use num_bigint::BigUint;

use crate::solver::{Answer, Solver};
use crate::term::{self, Term, Variable, constant};

/// By point, whether no packet reaches it.
pub(crate) fn unreachable(points: &Points) -> Vec<bool> {
    let pipeline = points.pipeline().clone();
    let mut values = Values::new();
    let mut written: Option<BTreeSet<SlotId>> = None;
    loop {
        let mut proof = Proof {
            points,
            pipeline: &pipeline,
            effects: Effects::of(&pipeline),
            values: &values,
            reachable: vec![false; points.all().len()],
            tables: vec![false; pipeline.tables.len()],
            writes: Vec::new(),
        };
        proof.parser();
        for control in walk::controls(&pipeline) {
            proof.block(&control.body, Ranges::default());
        }
        // What is not reached assigns nothing.
        let written = written.get_or_insert_with(|| proof.writes.iter().map(|(slot, _)| *slot).collect());
        let assigned = assigned(&pipeline, written, &proof.writes);
        if assigned == values {
            return proof.reachable.iter().map(|reachable| !reachable).collect();
        }
        values = assigned;
    }
}

/// The values that slots may have; others may have any.
type Values = HashMap<SlotId, BTreeSet<BigUint>>;

/// The most values of a slot that are told apart.
const MOST_VALUES: usize = 64;

/// The values of those of these slots that are metadata or locals, and to which the writes assign constants and nothing else. They begin with
/// zero, and what is kept of them for another pass are values that they had. Slots that the program never writes have values of others.
fn assigned(pipeline: &Pipeline, written: &BTreeSet<SlotId>, writes: &[(SlotId, Option<&Expr>)]) -> Values {
    let is_program = |slot: SlotId| {
        matches!(pipeline[slot].kind, SlotKind::Metadata | SlotKind::Local)
            && !matches!(pipeline[slot].ty, Type::Varbit(_))
    };
    let zero = || BTreeSet::from([BigUint::ZERO]);
    let mut values: Values = written.iter().filter(|slot| is_program(**slot)).map(|slot| (*slot, zero())).collect();
    loop {
        let mut changed = false;
        for (slot, value) in writes {
            let Some(before) = values.get(slot).map(BTreeSet::len) else { continue };
            let more = value.and_then(|value| values_of(value, &values));
            match (values.get_mut(slot), more) {
                (Some(known), Some(more)) if known.len() + more.len() <= MOST_VALUES => {
                    known.extend(more);
                    changed |= known.len() != before;
                }
                _ => changed |= values.remove(slot).is_some(),
            }
        }
        if !changed {
            return values;
        }
    }
}

/// The values of an expression, if they are few.
fn values_of(e: &Expr, values: &Values) -> Option<BTreeSet<BigUint>> {
    match &e.kind {
        ExprKind::Const(value) => Some(BTreeSet::from([value.clone()])),
        ExprKind::Slot(slot) => values.get(slot).cloned(),
        ExprKind::Mux(_, a, b) => Some(&values_of(a, values)? | &values_of(b, values)?),
        _ => None,
    }
}

struct Proof<'a> {
    points: &'a Points,
    pipeline: &'a Pipeline,
    effects: Effects,
    values: &'a Values,
    reachable: Vec<bool>,
    /// Tables that a reachable statement applies.
    tables: Vec<bool>,
    /// What reachable statements write, and what they assign.
    writes: Vec<(SlotId, Option<&'a Expr>)>,
}

/// The unknowns of a question, with what is known of their values.
struct Unknowns<'a> {
    ranges: &'a Ranges,
    values: &'a Values,
    slots: HashMap<SlotId, Term>,
    others: u32,
    known: Vec<Term>,
}

impl<'a> Proof<'a> {
    fn reach(&mut self, point: Option<usize>) {
        if let Some(point) = point {
            self.reachable[point] = true;
        }
    }

    fn parser(&mut self) {
        let pipeline = self.pipeline;
        let before = ranges::parser(pipeline);
        for (at, state) in pipeline.parser.states.iter().enumerate() {
            let Some(ranges) = &before[at] else { continue };
            let id = StateId(at as u32);
            self.reach(self.points.find(Kind::State(id)));
            let ranges = self.block(&state.body, ranges.clone());
            let Transition::Select { keys, cases } = &state.transition else { continue };
            let mut unknowns = Unknowns::new(&ranges, self.values);
            let terms: Vec<Term> = keys.iter().map(|key| unknowns.term(key)).collect();
            let types: Vec<Type> = keys.iter().map(|key| key.ty).collect();
            // None of the cases up to here matches. A value set may have any members.
            let mut none = std::mem::take(&mut unknowns.known);
            for (number, case) in cases.iter().enumerate() {
                let open = case.sets.iter().any(|set| matches!(set, KeySet::ValueSet(_)));
                let matches = term::matches(case, &terms, &types, usize::MAX);
                let mut conditions = none.clone();
                conditions.extend((!open).then(|| matches.clone()));
                if may_hold(&conditions) {
                    self.reach(self.points.find(Kind::Case(id, Some(number))));
                }
                none.extend((!open).then(|| term::not(&matches)));
            }
            if may_hold(&none) {
                self.reach(self.points.find(Kind::Case(id, None)));
            }
        }
    }

    /// Follows a block from these ranges to those behind it.
    fn block(&mut self, block: &'a Block, mut ranges: Ranges) -> Ranges {
        for stmt in block {
            self.reach(self.points.statement(stmt));
            self.statement(stmt, &mut ranges);
        }
        ranges
    }

    fn statement(&mut self, stmt: &'a Stmt, ranges: &mut Ranges) {
        match &stmt.kind {
            StmtKind::Assign(slot, value) => self.writes.push((*slot, Some(value))),
            // Its actions are followed.
            StmtKind::Apply { hit, action_run, .. } => {
                self.writes.extend(hit.iter().chain(action_run).map(|slot| (*slot, None)));
            }
            _ => self.effects.writes(self.pipeline, stmt, &mut |slot| self.writes.push((slot, None))),
        }
        match &stmt.kind {
            StmtKind::If { cond, then, otherwise } => {
                for (number, body) in [then, otherwise].into_iter().enumerate() {
                    if self.may_be(cond, number == 0, ranges) {
                        self.reach(self.points.outcome(stmt, number));
                        let mut inside = ranges.clone();
                        inside.assume(cond, number == 0);
                        self.block(body, inside);
                    }
                }
            }
            StmtKind::Verify(cond, _) => {
                for number in [0, 1] {
                    if self.may_be(cond, number == 0, ranges) {
                        self.reach(self.points.outcome(stmt, number));
                    }
                }
            }
            StmtKind::Switch { value, cases, default } => {
                let mut unknowns = Unknowns::new(ranges, self.values);
                let value = unknowns.term(value);
                let equal = |v: &BigUint| term::equal(&value, &constant(v.clone(), value.width));
                let any =
                    |values: &[BigUint]| values.iter().fold(constant(0u32, 1), |any, v| term::or(&any, &equal(v)));
                let mut none = unknowns.known;
                for (number, (values, body)) in cases.iter().enumerate() {
                    let here = any(values);
                    if may_hold(&none.iter().cloned().chain([here.clone()]).collect::<Vec<_>>()) {
                        self.reach(self.points.outcome(stmt, number));
                        self.block(body, ranges.clone());
                    }
                    none.push(term::not(&here));
                }
                if may_hold(&none) {
                    self.reach(self.points.outcome(stmt, cases.len()));
                    self.block(default, ranges.clone());
                }
            }
            StmtKind::Scope { body, .. } => drop(self.block(body, ranges.clone())),
            StmtKind::Loop { body, .. } => {
                let mut inside = ranges.clone();
                inside.forget(self.pipeline, &self.effects, body);
                self.block(body, inside);
            }
            StmtKind::Apply { table, .. } => self.table(*table),
            _ => {}
        }
        // Scopes are left at any place: behind a statement with others in it, slots that these write have any value.
        ranges.step(self.pipeline, &self.effects, stmt);
    }

    fn table(&mut self, id: TableId) {
        if std::mem::replace(&mut self.tables[id.0 as usize], true) {
            return;
        }
        let table = &self.pipeline[id];
        self.reach(self.points.find(Kind::Miss(id)));
        for entry in 0..table.entries.len() {
            self.reach(self.points.find(Kind::Entry(id, entry)));
        }
        let actions = table.actions.iter().map(|action| action.action).chain([table.default_action.action]);
        for action in actions {
            self.action(id, action);
        }
    }

    fn action(&mut self, table: TableId, action: ActionId) {
        self.reach(self.points.find(Kind::Hit(table, action)));
        self.reach(self.points.find(Kind::Action(action)));
        self.block(&self.pipeline[action].body, Ranges::default());
    }

    /// Whether a condition may have this value.
    fn may_be(&self, cond: &Expr, value: bool, ranges: &Ranges) -> bool {
        let mut unknowns = Unknowns::new(ranges, self.values);
        let holds = unknowns.term(cond);
        let mut conditions = unknowns.known;
        conditions.push(if value { holds } else { term::not(&holds) });
        may_hold(&conditions)
    }
}

/// Whether all of these may be true at the same time.
fn may_hold(conditions: &[Term]) -> bool {
    !matches!(Solver::new().solve(conditions), Answer::Impossible)
}

impl<'a> Unknowns<'a> {
    fn new(ranges: &'a Ranges, values: &'a Values) -> Unknowns<'a> {
        Unknowns { ranges, values, slots: HashMap::new(), others: 0, known: Vec::new() }
    }

    fn term(&mut self, e: &Expr) -> Term {
        term::of(e, &mut |leaf| self.leaf(leaf))
    }

    /// A slot, or something else that is not computed.
    fn leaf(&mut self, leaf: &Expr) -> Term {
        let width = leaf.ty.width();
        let ExprKind::Slot(slot) = &leaf.kind else { return self.fresh(width) };
        if let Some(known) = self.slots.get(slot) {
            return known.clone();
        }
        let unknown = self.fresh(width);
        if let Some(range) = self.ranges.of(leaf) {
            let within = [(range.lo, false), (range.hi, true)].map(|(bound, upper)| {
                let bound = constant(bound, width);
                term::not(&if upper {
                    term::less(&bound, &unknown, false)
                } else {
                    term::less(&unknown, &bound, false)
                })
            });
            self.known.extend(within);
        }
        if let Some(values) = self.values.get(slot) {
            let is = |value: &BigUint| term::equal(&unknown, &constant(value.clone(), width));
            self.known.push(values.iter().fold(constant(0u32, 1), |any, value| term::or(&any, &is(value))));
        }
        self.slots.insert(*slot, unknown.clone());
        unknown
    }

    fn fresh(&mut self, width: u32) -> Term {
        self.others += 1;
        term::input(Variable::Unknown(self.others), BigUint::ZERO, width)
    }
}
