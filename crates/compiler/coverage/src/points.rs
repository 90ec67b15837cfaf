//! What of a program can be reached.

use std::collections::HashMap;
use std::sync::Arc;

use hopwright_ir::{
    ActionId, Block, Expr, ExprKind, Pipeline, Span, StateId, Stmt, StmtKind, Table, TableAction, TableId, Transition,
    walk,
};

/// Something that packets reach or do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The P4 statement at this place.
    Statement(TextRange),
    /// The outcome of the `if`, `switch` or `verify` at this place, numbered as by [`hopwright_interp::Observer::outcome`].
    Branch(TextRange, usize),
    /// A parser state.
    State(StateId),
    /// A case of a state's `select`, or `None`: that no case matches.
    Case(StateId, Option<usize>),
    /// A table ran an action.
    Action(ActionId),
    /// An entry of a table led to an action.
    Hit(TableId, ActionId),
    /// No entry of a table matched. A table without keys always misses.
    Miss(TableId),
    /// A packet hit the entry of this number that the program gives a table.
    Entry(TableId, usize),
}

/// A place in the text: file, first and last byte.
pub type TextRange = (u32, u32, u32);

/// A point, with its text.
#[derive(Clone, Debug)]
pub struct Point {
    /// What is reached.
    pub kind: Kind,
    /// What people read: `true`, `miss`, `hit ingress.forward`, the name of a state.
    pub label: String,
    /// Where it is in the source.
    pub span: Span,
}

/// All points of a program.
#[derive(Debug)]
pub struct Points {
    pipeline: Arc<Pipeline>,
    all: Vec<Point>,
    by_kind: HashMap<Kind, usize>,
    /// Points of statements and of the first of their outcomes, by the statement's address in the pipeline.
    statements: HashMap<usize, Places>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Places {
    statement: Option<usize>,
    branch: Option<TextRange>,
}

fn place(span: Span) -> TextRange {
    (span.file.0, span.start, span.end)
}

/// The address by which a statement of the pipeline is recognised.
fn address(stmt: &Stmt) -> usize {
    std::ptr::from_ref(stmt).addr()
}

impl Points {
    /// The points of a pipeline.
    pub fn new(pipeline: &Arc<Pipeline>) -> Points {
        let mut points =
            Points { pipeline: pipeline.clone(), all: Vec::new(), by_kind: HashMap::new(), statements: HashMap::new() };
        points.parser();
        for control in walk::controls(pipeline) {
            points.block(&control.body);
        }
        points.tables();
        points
    }

    /// The program.
    pub fn pipeline(&self) -> &Arc<Pipeline> {
        &self.pipeline
    }

    /// The points, in the order of the program.
    pub fn all(&self) -> &[Point] {
        &self.all
    }

    /// The number of a point.
    pub fn find(&self, kind: Kind) -> Option<usize> {
        self.by_kind.get(&kind).copied()
    }

    /// The point of a statement of the pipeline.
    pub fn statement(&self, stmt: &Stmt) -> Option<usize> {
        self.statements.get(&address(stmt))?.statement
    }

    /// The point of the outcome of a statement of the pipeline.
    pub fn outcome(&self, stmt: &Stmt, outcome: usize) -> Option<usize> {
        let place = self.statements.get(&address(stmt))?.branch?;
        self.find(Kind::Branch(place, outcome))
    }

    /// The location of a point: file and line.
    pub fn location(&self, point: usize) -> String {
        let location = self.pipeline.sources.location(self.all[point].span);
        format!("{}:{}", location.file, location.line)
    }

    fn add(&mut self, kind: Kind, label: impl Into<String>, span: Span) -> usize {
        let next = self.all.len();
        let at = *self.by_kind.entry(kind).or_insert(next);
        if at == next {
            self.all.push(Point { kind, label: label.into(), span });
        }
        at
    }

    fn parser(&mut self) {
        let pipeline = self.pipeline.clone();
        for (at, state) in pipeline.parser.states.iter().enumerate() {
            let id = StateId(at as u32);
            self.add(Kind::State(id), &state.name, state.span);
            self.block(&state.body);
            let Transition::Select { cases, .. } = &state.transition else { continue };
            let mut complete = false;
            for (number, case) in cases.iter().enumerate() {
                // What follows a case without a condition is never looked at.
                if !complete {
                    self.add(Kind::Case(id, Some(number)), self.text(case.span), case.span);
                }
                complete |= case.sets.iter().all(|set| matches!(set, hopwright_ir::KeySet::Any));
            }
            if !complete {
                self.add(Kind::Case(id, None), format!("{}: no case matches", state.name), state.span);
            }
        }
    }

    fn tables(&mut self) {
        let pipeline = self.pipeline.clone();
        for (at, table) in pipeline.tables.iter().enumerate() {
            let id = TableId(at as u32);
            let of_entries = |action| table.entries.iter().any(|entry| entry.action.action == action);
            if table.match_keys().next().is_some() {
                for action in table.actions.iter().filter(|action| !action.default_only) {
                    if !table.const_entries || of_entries(action.action) {
                        let name = &pipeline[action.action].name;
                        self.add(Kind::Hit(id, action.action), format!("{}: hit {name}", table.name), table.span);
                    }
                }
                for (number, entry) in table.entries.iter().enumerate() {
                    let matches: Vec<String> = entry.matches.iter().map(ToString::to_string).collect();
                    let label = format!("{}: entry {} ({})", table.name, number + 1, matches.join(", "));
                    self.add(Kind::Entry(id, number), label, table.span);
                }
            }
            self.add(Kind::Miss(id), format!("{}: miss", table.name), table.span);
        }
        for (at, action) in pipeline.actions.iter().enumerate() {
            let id = ActionId(at as u32);
            // Actions that no table names have been inlined, or are not used.
            let named = (0..).map(TableId).zip(&pipeline.tables).any(|(table, model)| {
                let runs_on_miss = model.default_action.action == id || may_become_default(model, id);
                runs_on_miss || self.find(Kind::Hit(table, id)).is_some()
            });
            if named && self.is_of_program(action.span) {
                self.add(Kind::Action(id), &action.name, action.span);
                self.block(&action.body);
            }
        }
    }

    fn block(&mut self, block: &Block) {
        walk::stmts(block, &mut |stmt| {
            let mut places = Places::default();
            let of_text = !matches!(stmt.kind, StmtKind::Scope { .. } | StmtKind::Loop { .. });
            if of_text && self.is_of_program(stmt.span) {
                let text = self.text(stmt.span);
                places.statement = Some(self.add(Kind::Statement(place(stmt.span)), text, stmt.span));
                places.branch = self.branches(stmt);
            }
            self.statements.insert(address(stmt), places);
        });
    }

    /// Adds the outcomes of a statement that P4 text decides. What lowering decides, such as which element an index means, has none.
    fn branches(&mut self, stmt: &Stmt) -> Option<TextRange> {
        let keyword = |word: &str| self.pipeline.sources.snippet(stmt.span).starts_with(word);
        let at = place(stmt.span);
        match &stmt.kind {
            StmtKind::If { cond, .. } if keyword("if") && !is_constant(cond) => {}
            StmtKind::Verify(cond, _) if keyword("verify") && !is_constant(cond) => {}
            StmtKind::Switch { value, cases, .. } if keyword("switch") && !is_constant(value) => {
                let pipeline = self.pipeline.clone();
                for (number, (values, body)) in cases.iter().enumerate() {
                    let values: Vec<String> = values.iter().map(|v| format!("{v:#x}")).collect();
                    // The first statement of a case says more than numbers of actions do.
                    let first = body.first().and_then(|s| pipeline.sources.quote(s.span)).unwrap_or_default();
                    let label = format!("case {} {first}", values.join(", "));
                    self.add(Kind::Branch(at, number), label.trim().to_string(), stmt.span);
                }
                self.add(Kind::Branch(at, cases.len()), "default", stmt.span);
                return Some(at);
            }
            _ => return None,
        }
        self.add(Kind::Branch(at, 0), "true", stmt.span);
        self.add(Kind::Branch(at, 1), "false", stmt.span);
        Some(at)
    }

    /// Whether a place is in the program's text, and not in an include file that the compiler has built in, as `NoAction` is.
    fn is_of_program(&self, span: Span) -> bool {
        let Some(file) = self.pipeline.sources.get(span.file) else { return false };
        span.end > span.start && !(file.name().starts_with('<') && file.included_from().is_some())
    }

    /// The first line of a place's text.
    fn text(&self, span: Span) -> String {
        let text = self.pipeline.sources.snippet(span);
        text.lines().next().unwrap_or_default().trim().to_string()
    }
}

/// Whether the control plane may make an action the default action of a table, and no entry can have it.
fn may_become_default(table: &Table, action: ActionId) -> bool {
    let keyed = table.match_keys().next().is_some();
    let may = |it: &TableAction| it.action == action && !it.table_only && (it.default_only || !keyed);
    !table.const_default_action && table.actions.iter().any(may)
}

/// Whether an expression has the same value for all packets.
fn is_constant(expr: &Expr) -> bool {
    let mut constant = true;
    walk::exprs(expr, &mut |e| {
        constant &= !matches!(e.kind, ExprKind::Slot(_) | ExprKind::Param(_) | ExprKind::PacketLength);
    });
    constant
}
