//! Data-flow analysis along the paths of a program, from the parser's `start` to the deparser. Finds premature reads: fields of
//! invalid headers, variables without a value.
//!
//! A path carries a data-flow state ([`state`]): which headers are valid, and the results of comparisons. Calls are analysed
//! inline. Each point has a bounded set of paths; when the bound is reached, facts are dropped. Unknown facts are taken to be
//! right, so that there are no warnings about paths that may not exist. Packets that a parser rejects, or that are too short
//! for it, are left out: every program that reads their headers reads invalid ones. [`report`] words the warnings.

mod call;
mod eval;
mod package;
mod pipes;
mod place;
mod report;
mod state;
mod stmt;

use std::collections::HashSet;

use hopwright_sema::hir::*;
use hopwright_source::Span;
use hopwright_syntax::diagnostic::Diagnostic;

use crate::visit::{self, Seen};
use place::{PlaceId, Places, Root, Step};
use report::{Findings, Found, Kind, Outcome};
use state::{Fact, State};

/// The most statements and expressions that are visited, on all paths together.
const BUDGET: u64 = 60_000;
/// The most paths at one point, by the visits made so far: large programs are analysed less precisely.
const WAYS: [(u64, usize); 3] = [(0, 32), (8_000, 4), (16_000, 1)];
/// The deepest nesting of statements, expressions and calls.
const MAX_DEPTH: u32 = 160;
/// The most places.
const MAX_PLACES: usize = 20_000;

pub(crate) fn lint(program: &TypedProgram, out: &mut Vec<Diagnostic>) {
    let mut flow = Flow {
        program,
        places: Places::new(program),
        asked: asked(program),
        findings: Findings::default(),
        exited: Vec::new(),
        results: Vec::new(),
        by_entries: 0,
        muted: Vec::new(),
        in_key: false,
        spent: 0,
        depth: 0,
        gave_up: false,
        paths: WAYS[0].1,
        here: Span::none(),
    };
    flow.package();
    if !flow.gave_up {
        flow.findings.report(out);
    }
}

/// The state of the analysis.
struct Flow<'p> {
    program: &'p TypedProgram,
    places: Places<'p>,
    /// Members that some condition reads: values are tracked only for these.
    asked: HashSet<(StructId, usize)>,
    findings: Findings,
    /// Paths that ended in `exit`.
    exited: Vec<State>,
    /// The places of the results of the functions being called.
    results: Vec<PlaceId>,
    /// Inside actions that table entries select: the entries may ensure what the program does not check.
    by_entries: u32,
    /// Headers whose validity is a key of the table being applied.
    muted: Vec<PlaceId>,
    /// Whether a table's key is evaluated.
    in_key: bool,
    spent: u64,
    depth: u32,
    gave_up: bool,
    /// The most paths at one point.
    paths: usize,
    /// The statement or table key being visited: one finding per header is reported for it.
    here: Span,
}

/// Members of structs and headers that occur in conditions, selects and switches.
fn asked(program: &TypedProgram) -> HashSet<(StructId, usize)> {
    let mut found = HashSet::new();
    // Whether a packet is dropped.
    if let Some(architecture) = program.architecture()
        && let Some(drop) = &architecture.drop
    {
        let intrinsic = program.structs.iter().enumerate().filter(|(_, s)| s.name == architecture.intrinsic_type);
        for (i, s) in intrinsic {
            let tested = s.fields.iter().position(|f| f.name == drop.tested.0);
            found.extend(tested.map(|f| (StructId(i as u32), f)));
        }
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

/// The initial contents of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// Headers are invalid, everything else is unassigned.
    Unset,
    /// Headers are invalid, everything else is zero.
    Zero,
}

impl Flow<'_> {
    /// Enters one level of nesting; false if a bound is exceeded. [`Flow::up`] leaves it.
    fn down(&mut self) -> bool {
        self.spent += 1;
        self.depth += 1;
        if let Some((_, paths)) = WAYS.iter().rev().find(|(spent, _)| self.spent >= *spent) {
            self.paths = *paths;
        }
        if self.spent > BUDGET || self.depth > MAX_DEPTH || self.places.len() > MAX_PLACES {
            self.gave_up = true;
        }
        !self.gave_up
    }

    fn up(&mut self) {
        self.depth -= 1;
    }

    /// Whether values of this place are tracked.
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

    /// Drops the facts about a place and everything inside it.
    fn forget(&self, s: &mut State, place: PlaceId) {
        s.forget(place);
        for (_, inner) in self.places.inner(place) {
            self.forget(s, *inner);
        }
    }

    /// Records the assignment of a header's field.
    fn field_written(&mut self, s: &mut State, header: PlaceId, field: PlaceId, target: Span) {
        self.note_header(Kind::HeaderWrite, s, header, target);
        if s.get(header) == Some(&Fact::Invalid) {
            s.set(field, Fact::Lost(self.here, target));
        }
    }

    /// Records that a header becomes valid at `here` after its fields have been assigned.
    fn note_early_writes(&mut self, s: &State, header: PlaceId, here: Span) {
        if s.vague || self.by_entries > 0 || self.muted.contains(&header) || s.get(header) != Some(&Fact::Invalid) {
            return;
        }
        let mut fields = Vec::new();
        self.places.all(header, &mut fields);
        for field in fields {
            if let Some(Fact::Lost(statement, target)) = s.get(field) {
                let write = Found { span: *target, name: self.places.show(header), declared: Some(here) };
                self.findings.note(Kind::EarlyWrite, *statement, write, Outcome::Bad, s.parser_path.as_deref());
            }
        }
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
        self.invalidate_siblings(s, header);
    }

    /// No header of a union is valid but the one that was assigned last.
    fn invalidate_siblings(&mut self, s: &mut State, header: PlaceId) {
        if let Some((union, _)) = self.places.parent(header)
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

    /// Copies the facts about `from` to `to`.
    fn copy(&mut self, s: &mut State, from: PlaceId, to: PlaceId) {
        if from != to {
            self.forget(s, to);
            self.copy_facts(s, from, to);
        }
        self.invalidate_siblings(s, to);
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

    /// Ends the life of a variable and drops its facts.
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
        self.findings.note(kind, self.here, read, outcome, s.parser_path.as_deref());
    }

    /// Records the read of a scalar.
    fn note_read(&mut self, s: &State, place: PlaceId, span: Span) {
        if let Some(header) = self.places.header_of(place) {
            let kind = if self.in_key { Kind::KeyRead } else { Kind::HeaderRead };
            self.note_header(kind, s, header, span);
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
