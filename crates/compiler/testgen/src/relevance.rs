//! Which decisions may matter for conditions that have not been met: those whose blocks write what the conditions read.

use std::collections::{BTreeSet, HashMap, HashSet};

use hopwright_coverage::{Kind, Points};
use hopwright_ir::{Block, ExternArg, HeaderId, Pipeline, SlotId, Stmt, StmtKind, TableId, Target, Transition, walk};

/// Reads and writes of a program, by point.
pub(crate) struct Relevance {
    /// The slots that decisions with these outcomes read.
    reads: HashMap<usize, BTreeSet<SlotId>>,
    /// The slots that may be written once an outcome was taken.
    writes: HashMap<usize, BTreeSet<SlotId>>,
    /// The slots from which each slot may be computed.
    sources: HashMap<SlotId, BTreeSet<SlotId>>,
}

impl Relevance {
    pub(crate) fn new(points: &Points) -> Relevance {
        let pipeline = points.pipeline().clone();
        let mut relevance = Relevance { reads: HashMap::new(), writes: HashMap::new(), sources: HashMap::new() };
        walk::all_stmts(&pipeline, &mut |stmt| relevance.statement(points, stmt));
        relevance.parser(points);
        for (at, table) in pipeline.tables.iter().enumerate() {
            let id = TableId(at as u32);
            let mut keys = BTreeSet::new();
            table.keys.iter().for_each(|key| walk::expr_slots(&key.expr, &mut |slot| keys.extend([slot])));
            for action in &table.actions {
                let written = writes_of(&pipeline, &pipeline[action.action].body);
                for kind in [Kind::Hit(id, action.action), Kind::Action(action.action)] {
                    if let Some(point) = points.find(kind) {
                        relevance.writes.entry(point).or_default().extend(&written);
                        relevance.reads.entry(point).or_default().extend(&keys);
                    }
                }
            }
            for (number, entry) in table.entries.iter().enumerate() {
                if let Some(point) = points.find(Kind::Entry(id, number)) {
                    let written = writes_of(&pipeline, &pipeline[entry.action.action].body);
                    relevance.writes.entry(point).or_default().extend(&written);
                    relevance.reads.entry(point).or_default().extend(&keys);
                }
            }
            if let Some(point) = points.find(Kind::Miss(id)) {
                let written = writes_of(&pipeline, &pipeline[table.default_action.action].body);
                relevance.writes.entry(point).or_default().extend(&written);
                relevance.reads.entry(point).or_default().extend(&keys);
            }
        }
        relevance
    }

    fn statement(&mut self, points: &Points, stmt: &Stmt) {
        let pipeline = points.pipeline();
        let mut outcome = |number: usize, block: Option<&Block>, reads: &BTreeSet<SlotId>| {
            let Some(point) = points.outcome(stmt, number) else { return };
            self.reads.entry(point).or_default().extend(reads);
            if let Some(block) = block {
                self.writes.entry(point).or_default().extend(writes_of(pipeline, block));
            }
        };
        let mut reads = BTreeSet::new();
        match &stmt.kind {
            StmtKind::If { cond, then, otherwise } => {
                walk::expr_slots(cond, &mut |slot| reads.extend([slot]));
                outcome(0, Some(then), &reads);
                outcome(1, Some(otherwise), &reads);
            }
            StmtKind::Verify(cond, _) => {
                walk::expr_slots(cond, &mut |slot| reads.extend([slot]));
                outcome(0, None, &reads);
                outcome(1, None, &reads);
            }
            StmtKind::Switch { value, cases, default } => {
                walk::expr_slots(value, &mut |slot| reads.extend([slot]));
                for (number, (_, block)) in cases.iter().enumerate() {
                    outcome(number, Some(block), &reads);
                }
                outcome(cases.len(), Some(default), &reads);
            }
            _ => {}
        }
        let mut from = BTreeSet::new();
        for expr in walk::stmt_exprs(stmt) {
            walk::expr_slots(expr, &mut |slot| from.extend([slot]));
        }
        if let StmtKind::CopyHeader { src, .. } = &stmt.kind {
            from.extend(walk::header_slots(pipeline, *src));
        }
        for slot in written_by(pipeline, stmt) {
            self.sources.entry(slot).or_default().extend(&from);
        }
    }

    /// A transition writes what the states do that it leads to, and those behind them.
    fn parser(&mut self, points: &Points) {
        let pipeline = points.pipeline();
        let states = &pipeline.parser.states;
        for (at, state) in states.iter().enumerate() {
            let behind = match &state.transition {
                Transition::Goto(target) => vec![*target],
                Transition::Select { cases, .. } => cases.iter().map(|case| case.target).collect(),
            };
            // What is verified has the packet go on.
            for point in state.body.iter().filter_map(|stmt| match stmt.kind {
                StmtKind::Verify(..) => points.outcome(stmt, 0),
                _ => None,
            }) {
                let writes = self.writes.entry(point).or_default();
                writes.extend(writes_of(pipeline, &state.body));
                let states_behind = behind.iter().flat_map(|target| states_behind(pipeline, *target));
                states_behind.for_each(|at| writes.extend(writes_of(pipeline, &states[at].body)));
            }
            let Transition::Select { keys, cases } = &state.transition else { continue };
            let mut reads = BTreeSet::new();
            keys.iter().for_each(|key| walk::expr_slots(key, &mut |slot| reads.extend([slot])));
            let behind: Vec<BTreeSet<usize>> = cases.iter().map(|case| states_behind(pipeline, case.target)).collect();
            // States that packets come to whichever case is taken make no difference.
            let ways: Vec<&BTreeSet<usize>> = behind.iter().filter(|states| !states.is_empty()).collect();
            let is_common = |state: &usize| ways.len() > 1 && ways.iter().all(|states| states.contains(state));
            for (number, states_of_case) in behind.iter().enumerate() {
                let kind = Kind::Case(hopwright_ir::StateId(at as u32), Some(number));
                let Some(point) = points.find(kind) else { continue };
                self.reads.entry(point).or_default().extend(&reads);
                let writes = self.writes.entry(point).or_default();
                for state in states_of_case.iter().filter(|state| !is_common(state)) {
                    writes.extend(writes_of(pipeline, &states[*state].body));
                }
            }
        }
    }

    /// The points whose outcome may change what decides about the wanted ones.
    pub(crate) fn of(&self, wanted: impl Iterator<Item = usize>) -> HashSet<usize> {
        let mut slots: BTreeSet<SlotId> = BTreeSet::new();
        let mut next: Vec<SlotId> = wanted.filter_map(|point| self.reads.get(&point)).flatten().copied().collect();
        while let Some(slot) = next.pop() {
            if slots.insert(slot) {
                next.extend(self.sources.get(&slot).into_iter().flatten());
            }
        }
        let matters = |(_, written): &(&usize, &BTreeSet<SlotId>)| !written.is_disjoint(&slots);
        self.writes.iter().filter(matters).map(|(point, _)| *point).collect()
    }
}

/// A state and those behind it.
fn states_behind(pipeline: &Pipeline, target: Target) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let mut next = vec![target];
    while let Some(target) = next.pop() {
        let Target::State(id) = target else { continue };
        if !seen.insert(id.0 as usize) {
            continue;
        }
        match &pipeline.parser.states[id.0 as usize].transition {
            Transition::Goto(target) => next.push(*target),
            Transition::Select { cases, .. } => next.extend(cases.iter().map(|case| case.target)),
        }
    }
    seen
}

/// The slots that a block may write.
fn writes_of(pipeline: &Pipeline, block: &Block) -> BTreeSet<SlotId> {
    let mut slots = BTreeSet::new();
    walk::stmts(block, &mut |stmt| {
        slots.extend(written_by(pipeline, stmt));
        if let StmtKind::Apply { table, .. } = &stmt.kind {
            for action in &pipeline[*table].actions {
                // Actions do not apply tables, but in programs for Tofino; their own writes are enough here.
                walk::stmts(&pipeline[action.action].body, &mut |stmt| slots.extend(written_by(pipeline, stmt)));
            }
        }
    });
    slots
}

fn written_by(pipeline: &Pipeline, stmt: &Stmt) -> Vec<SlotId> {
    let header = |id: HeaderId| walk::header_slots(pipeline, id).collect::<Vec<_>>();
    match &stmt.kind {
        StmtKind::Assign(slot, _) | StmtKind::AssignSlice { slot, .. } => vec![*slot],
        StmtKind::SetValid(id) | StmtKind::Extract { header: id, .. } => header(*id),
        StmtKind::SetInvalid(id) => vec![pipeline[*id].valid],
        StmtKind::CopyHeader { dst, .. } => header(*dst),
        StmtKind::PushFront(stack, _) | StmtKind::PopFront(stack, _) | StmtKind::ExtractNext { stack, .. } => {
            let stack = &pipeline[*stack];
            stack.elements.iter().flat_map(|id| header(*id)).chain([stack.next_index]).collect()
        }
        StmtKind::Apply { hit, action_run, .. } => hit.iter().chain(action_run).copied().collect(),
        StmtKind::Lookahead { parts, .. } => parts.iter().map(|(slot, _)| *slot).collect(),
        StmtKind::Extern(call) => {
            let result = |arg: &ExternArg| match arg {
                ExternArg::Out(slot) | ExternArg::InOut(slot) => Some(*slot),
                _ => None,
            };
            call.args.iter().filter_map(result).collect()
        }
        StmtKind::Verify(..) => vec![pipeline.standard.parser_error],
        _ => Vec::new(),
    }
}
