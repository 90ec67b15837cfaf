//! Points: places in the program where paths meet, and what their code is. Their ids are in program order.

use std::rc::Rc;

use cranelift_frontend::Variable;
use hopwright_ir::{ActionId, Expr, Span, Stmt, Table, TableId};

/// A point id: indices of statements and of their parts, outermost first. Program order is lexicographic order.
pub(crate) type PointId = Vec<u32>;

/// First numbers of point ids.
pub(crate) mod stage {
    pub(crate) const PARSER: u32 = 0;
    pub(crate) const PARSED: u32 = 1;
    pub(crate) const VERIFY: u32 = 2;
    pub(crate) const VERIFIED: u32 = 3;
    pub(crate) const INGRESS: u32 = 4;
    pub(crate) const ADMITTED: u32 = 5;
    pub(crate) const ENTERING: u32 = 6;
    pub(crate) const EGRESS: u32 = 7;
    pub(crate) const LEAVING: u32 = 8;
    pub(crate) const LEFT: u32 = 9;
    pub(crate) const COMPUTE: u32 = 10;
    pub(crate) const COMPUTED: u32 = 11;
    pub(crate) const DEPARSER: u32 = 12;
    pub(crate) const ASSEMBLE: u32 = 13;
    pub(crate) const REBUILD: u32 = 14;
    pub(crate) const INGRESS_PAUSE: u32 = 15;
    pub(crate) const EGRESS_PAUSE: u32 = 16;
    pub(crate) const SENT_PAUSE: u32 = 17;
    pub(crate) const DROPPED: u32 = 18;
}

/// A place in the program where paths meet.
#[derive(Clone)]
pub(crate) struct Point<'a>(pub Rc<PointData<'a>>);

pub(crate) struct PointData<'a> {
    pub point_id: PointId,
    pub what: PointKind<'a>,
    pub context: Rc<Context<'a>>,
    /// Whether few packets reach it.
    pub cold: bool,
}

/// The context of a point.
#[derive(Clone, Default)]
pub(crate) struct Context<'a> {
    /// The target of `exit`.
    pub exit: Option<Point<'a>>,
    /// Enclosing scopes and their ends.
    pub scopes: Vec<(u32, Point<'a>)>,
    /// The action whose body this is.
    pub action: Option<ActionContext>,
    /// In the parser: its end.
    pub parsed: Option<Point<'a>>,
}

/// The code to emit at a point.
#[derive(Clone)]
pub(crate) enum PointKind<'a> {
    /// Statements, of which the first has the id's last number, and the point after them.
    Stmts(&'a [Stmt], Point<'a>),
    /// A condition that is part of another.
    Test { cond: &'a Expr, yes: Point<'a>, no: Point<'a> },
    /// A loop's next iteration.
    Loop(&'a [Stmt]),
    /// A parser state.
    State(usize),
    /// A parser state's transition.
    Transition(usize),
    /// The end of parsing with an error.
    Fail(&'a Expr),
    /// The code between the program's blocks. The first number of the id says which.
    Stage,
}

impl<'a> Point<'a> {
    pub(crate) fn new(point_id: PointId, what: PointKind<'a>, context: &Rc<Context<'a>>) -> Point<'a> {
        Point(Rc::new(PointData { point_id, what, context: context.clone(), cold: false }))
    }

    /// The same point, marked as cold.
    pub(crate) fn cold(self) -> Point<'a> {
        let PointData { point_id, what, context, .. } = &*self.0;
        Point(Rc::new(PointData {
            point_id: point_id.clone(),
            what: what.clone(),
            context: context.clone(),
            cold: true,
        }))
    }

    pub(crate) fn stage(number: u32) -> Point<'a> {
        Point::new(vec![number], PointKind::Stage, &Rc::default())
    }

    /// Returns the point of a list of statements, or the point after it if the list is empty.
    pub(crate) fn stmts(prefix: PointId, body: &'a [Stmt], then: &Point<'a>, context: &Rc<Context<'a>>) -> Point<'a> {
        if body.is_empty() {
            return then.clone();
        }
        Point::new(sub(&prefix, 0), PointKind::Stmts(body, then.clone()), context)
    }
}

/// The id of a part of a point.
pub(crate) fn sub(point_id: &[u32], part: usize) -> PointId {
    [point_id, &[part as u32]].concat()
}

/// The position of a parameter in an entry.
#[derive(Clone, Copy)]
pub(crate) struct ParamPlace {
    /// Offset of its number from the entry, and its size in bytes.
    pub at: i32,
    pub bytes: u32,
    pub width: u32,
}

/// The action whose body is being emitted.
#[derive(Clone)]
pub(crate) struct ActionContext {
    pub entry: Variable,
    pub params: Rc<[ParamPlace]>,
    /// The colour of the entry's direct meter.
    pub color: Option<Variable>,
    pub table: TableId,
    /// The entry that was found, which is not that of a member that it refers to, and an offset from it.
    pub found: (Variable, i32),
}

/// Returns the actions that a table's entries may have.
pub(crate) fn actions_of(table: &Table) -> Vec<ActionId> {
    let mut actions: Vec<ActionId> = table.actions.iter().map(|a| a.action).collect();
    actions.push(table.default_action.action);
    actions.sort();
    actions.dedup();
    actions
}

/// What is at a point of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PointPlace {
    /// `state start`, `select`, `condition`, `ingress`; empty for statements.
    pub what: String,
    /// The P4 text, if the point has any.
    pub span: Option<Span>,
}

impl PointPlace {
    /// A point between the program's blocks.
    pub(crate) fn of_stage(number: u32) -> PointPlace {
        let what = match number {
            stage::PARSED => "end of parser",
            stage::VERIFIED => "checksums verified",
            stage::ADMITTED => "end of ingress",
            stage::ENTERING => "egress",
            stage::LEAVING | stage::LEFT => "end of egress",
            stage::COMPUTED => "checksums computed",
            stage::ASSEMBLE => "headers assembled",
            stage::REBUILD => "headers rebuilt",
            stage::DROPPED => "dropped",
            stage::INGRESS_PAUSE | stage::EGRESS_PAUSE | stage::SENT_PAUSE => "requests to the traffic manager",
            _ => "",
        };
        PointPlace { what: what.into(), span: None }
    }
}
