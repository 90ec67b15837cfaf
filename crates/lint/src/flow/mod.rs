//! Data-flow analysis along the paths of a program, from the parser's `start` to the deparser. Finds premature reads: fields of
//! invalid headers, variables without a value.
//!
//! A path carries a data-flow state ([`state`]): which headers are valid, and the results of comparisons. Calls are analysed
//! inline. Each point has a bounded set of paths; when the bound is reached, facts are dropped. Unknown facts are taken to be
//! right, so that there are no warnings about paths that may not exist. Packets that a parser rejects, or that are too short
//! for it, are left out: every program that reads their headers reads invalid ones. [`report`] words the warnings.

mod call;
mod eval;
mod place;
mod report;
mod state;
mod stmt;
mod v1model;

use std::collections::HashSet;

use hopwright_sema::hir::*;
use hopwright_source::Span;
use hopwright_syntax::diagnostic::Diagnostic;

use crate::visit::{self, Seen};
use place::{PlaceId, Places, Root, Step};
use report::{Findings, Found, Kind, Outcome};
use state::{Fact, State};

/// Statements and expressions looked at, all ways counted, before this gives up.
const BUDGET: u64 = 60_000;
/// How many ways are told apart at one point, once so much is spent: large programs are followed less closely.
const WAYS: [(u64, usize); 3] = [(0, 32), (8_000, 4), (16_000, 1)];
/// Statements, expressions and calls within each other.
const MAX_DEPTH: u32 = 160;
/// Places told apart.
const MAX_PLACES: usize = 20_000;

pub fn lint(program: &TypedProgram, out: &mut Vec<Diagnostic>) {
    let mut flow = Flow {
        program,
        places: Places::new(program),
        asked: asked(program),
        findings: Findings::default(),
        exited: Vec::new(),
        results: Vec::new(),
        by_entries: 0,
        muted: Vec::new(),
        spent: 0,
        depth: 0,
        gave_up: false,
        ways: WAYS[0].1,
        here: Span::none(),
    };
    flow.v1model();
    if !flow.gave_up {
        flow.findings.report(out);
    }
}

/// What is being done.
struct Flow<'p> {
    program: &'p TypedProgram,
    places: Places<'p>,
    /// Members that some condition looks at: only of these values are kept.
    asked: HashSet<(StructId, usize)>,
    findings: Findings,
    /// Where `exit` was met.
    exited: Vec<State>,
    /// Where the functions being called put their results.
    results: Vec<PlaceId>,
    /// Within actions that table entries choose: the entries may know what the program does not ask.
    by_entries: u32,
    /// Headers whose validity the table being applied matches on.
    muted: Vec<PlaceId>,
    spent: u64,
    depth: u32,
    gave_up: bool,
    /// How many ways are told apart at one point.
    ways: usize,
    /// The statement or table key being looked at: of what it does wrong to a header, one thing is told.
    here: Span,
}

/// Members of structs and headers that occur in conditions, selects and switches.
fn asked(program: &TypedProgram) -> HashSet<(StructId, usize)> {
    let mut found = HashSet::new();
    // Whether a packet is dropped.
    for (i, s) in program.structs.iter().enumerate().filter(|(_, s)| s.name == "standard_metadata_t") {
        found.extend(s.fields.iter().position(|f| f.name == "egress_spec").map(|f| (StructId(i as u32), f)));
    }
    let mut within = |e: &Expr| {
        visit::expr(e, &mut |seen| {
            if let Seen::Expr(Expr { kind: ExprKind::Field(base, i), .. }) = seen
                && let Type::Struct(s) | Type::Header(s) | Type::Union(s) = &base.ty
            {
                found.insert((*s, *i));
            }
        });
    };
    visit::program(program, &mut |seen| match seen {
        Seen::Stmt(Stmt { kind: StmtKind::If(c, ..) | StmtKind::SwitchValue(c, _), .. }) => within(c),
        Seen::Expr(Expr { kind: ExprKind::Mux(c, ..), .. }) => within(c),
        Seen::Expr(e @ Expr { kind: ExprKind::Binary(op, ..), .. }) if compares(*op) => within(e),
        _ => {}
    });
    for instance in &program.instances {
        let InstanceBody::Parser(states) = &instance.body else { continue };
        for state in states {
            if let Transition::Select { keys, .. } = &state.transition {
                keys.iter().for_each(&mut within);
            }
        }
    }
    found
}

/// Whether the result is true or false.
fn compares(op: BinaryOp) -> bool {
    use BinaryOp::*;
    matches!(op, Eq | Ne | Lt | Le | Gt | Ge | And | Or)
}

/// What a place starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// Nothing: headers are invalid, all else is not assigned.
    Unset,
    /// Headers are invalid, all else is zero.
    Zero,
}

impl Flow<'_> {
    /// Counts one step down; false when there was too much of it. [`Flow::up`] goes back.
    fn down(&mut self) -> bool {
        self.spent += 1;
        self.depth += 1;
        if let Some((_, ways)) = WAYS.iter().rev().find(|(spent, _)| self.spent >= *spent) {
            self.ways = *ways;
        }
        if self.spent > BUDGET || self.depth > MAX_DEPTH || self.places.len() > MAX_PLACES {
            self.gave_up = true;
        }
        !self.gave_up
    }

    fn up(&mut self) {
        self.depth -= 1;
    }

    /// Whether values of this place are worth keeping.
    fn worth(&self, place: PlaceId) -> bool {
        match self.places.parent(place) {
            Some((parent, Step::Field(i))) => match self.places.ty(parent) {
                Type::Struct(s) | Type::Header(s) | Type::Union(s) => self.asked.contains(&(*s, i)),
                _ => false,
            },
            Some(_) => false,
            None => true,
        }
    }

    fn start(&mut self, s: &mut State, place: PlaceId, start: Start) {
        if self.places.len() > MAX_PLACES {
            self.gave_up = true;
            return;
        }
        let steps: Vec<Step> = match self.places.ty(place).clone() {
            Type::Header(_) => {
                self.forget(s, place);
                s.set(place, Fact::Invalid);
                return;
            }
            Type::Struct(id) | Type::Union(id) => (0..self.program[id].fields.len()).map(Step::Field).collect(),
            Type::Tuple(items) => (0..items.len()).map(Step::Field).collect(),
            Type::Stack(_, n) => {
                s.set(place, Fact::Next(0));
                (0..n).map(Step::Element).collect()
            }
            Type::Extern(_) | Type::Void | Type::String => return,
            _ => {
                match start {
                    Start::Unset => s.set(place, Fact::Unset),
                    Start::Zero if self.worth(place) => s.set(place, Fact::Is(0)),
                    Start::Zero => {}
                }
                return;
            }
        };
        for step in steps {
            if let Some(inner) = self.places.step(place, step) {
                self.start(s, inner, start);
            }
        }
    }

    /// Forgets what is known about a place and what is in it.
    fn forget(&self, s: &mut State, place: PlaceId) {
        s.forget(place);
        for (_, inner) in self.places.inner(place) {
            self.forget(s, *inner);
        }
    }

    /// The place gets some value that is not known.
    fn assigned(&self, s: &mut State, place: PlaceId) {
        self.forget(s, place);
    }

    fn set_value(&self, s: &mut State, place: PlaceId, value: Option<i128>) {
        match value {
            Some(v) if self.worth(place) => s.set(place, Fact::Is(v)),
            _ => s.forget(place),
        }
    }

    fn set_validity(&mut self, s: &mut State, header: PlaceId, valid: bool) {
        self.forget(s, header);
        s.set(header, if valid { Fact::Valid } else { Fact::Invalid });
        // At most one header of a union is valid.
        if valid
            && let Some((union, _)) = self.places.parent(header)
            && let Type::Union(id) = *self.places.ty(union)
        {
            for i in 0..self.program[id].fields.len() {
                if let Some(other) = self.places.step(union, Step::Field(i)).filter(|o| *o != header) {
                    self.forget(s, other);
                    s.set(other, Fact::Invalid);
                }
            }
        }
    }

    /// What is known about `from` becomes known about `to`.
    fn copy(&mut self, s: &mut State, from: PlaceId, to: PlaceId) {
        if from == to {
            return;
        }
        self.forget(s, to);
        self.copy_facts(s, from, to);
    }

    fn copy_facts(&mut self, s: &mut State, from: PlaceId, to: PlaceId) {
        if let Some(fact) = s.get(from).cloned() {
            let keep = match fact {
                Fact::Is(_) | Fact::Not(_) => self.worth(to),
                _ => true,
            };
            if keep {
                s.set(to, fact);
            }
        }
        for (step, inner) in self.places.inner(from).to_vec() {
            if let Some(to) = self.places.step(to, step) {
                self.copy_facts(s, inner, to);
            }
        }
    }

    /// A variable's end: nothing needs to be known any more.
    fn gone(&self, s: &mut State, var: VarId) {
        if let Some(place) = self.places.known(Root::Var(var)) {
            self.forget(s, place);
        }
    }

    fn note_header(&mut self, kind: Kind, s: &State, header: PlaceId, span: Span) {
        if self.muted.contains(&header) {
            return;
        }
        let outcome = match s.get(header) {
            Some(Fact::Invalid) if s.vague || self.by_entries > 0 => Outcome::Doubtful,
            Some(Fact::Invalid) => Outcome::Bad,
            _ => Outcome::Good,
        };
        let read = Found { span, name: self.places.show(header), declared: None };
        self.findings.note(kind, self.here, read, outcome, s.way.as_deref());
    }

    /// A scalar is read.
    fn note_read(&mut self, s: &State, place: PlaceId, span: Span) {
        if let Some(header) = self.places.header_of(place) {
            self.note_header(Kind::HeaderRead, s, header, span);
            return;
        }
        if let Root::Var(var) = self.places.root_of(place) {
            let outcome = match s.get(place) {
                Some(Fact::Unset) if s.vague => Outcome::Doubtful,
                Some(Fact::Unset) => Outcome::Bad,
                _ => Outcome::Good,
            };
            let read = Found { span, name: self.places.show(place), declared: Some(self.program[var].span) };
            self.findings.note(Kind::Unset, self.here, read, outcome, None);
        }
    }
}
