//! What packets reach of a P4 program.
//!
//! [`Points`] lists what can be reached: statements, both outcomes of branches, parser states and their transitions, actions, and what
//! tables find. [`Coverage`] counts how often packets reach each, as an observer of the interpreter, and how often they hit each entry
//! that the control plane wrote. A [`Report`] arranges the counts by file and line, and is printed as text, in lcov's format and as HTML.
//!
//! Statements that were lowered from the same P4 text, such as those of an action that is called at several places, are one point: it is
//! reached if any of them is. A pipeline that was optimised lacks statements that were removed; one as lowered has all.

mod entries;
mod html;
mod lcov;
mod points;
mod report;
mod text;

use std::sync::Arc;

use hopwright_interp::{Event, Observer, PacketState};
use hopwright_ir::{Pipeline, StateId, Stmt, TableEntry, TableId};

use entries::Entries;

pub use points::{Kind, Point, Points, TextRange};
pub use report::{Branch, Entry, File, Report, Total};

/// How often packets reached each point of a program.
#[derive(Clone, Debug)]
pub struct Coverage {
    points: Arc<Points>,
    counts: Vec<u64>,
    entries: Entries,
    /// The parser state whose transition comes next.
    state: StateId,
}

impl Coverage {
    /// Nothing has been reached. The interpreter that is observed must run this pipeline, not a copy of it.
    pub fn new(pipeline: &Arc<Pipeline>) -> Coverage {
        Coverage::of(Arc::new(Points::new(pipeline)))
    }

    /// Nothing of these points has been reached.
    pub fn of(points: Arc<Points>) -> Coverage {
        let counts = vec![0; points.all().len()];
        Coverage { points, counts, entries: Entries::default(), state: StateId(0) }
    }

    /// What can be reached.
    pub fn points(&self) -> &Arc<Points> {
        &self.points
    }

    /// How often each point was reached, in the order of [`Points::all`].
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Adds what other packets of the same program reached. Programs are the same if they have the same points.
    pub fn add(&mut self, other: &Coverage) {
        debug_assert_eq!(self.counts.len(), other.counts.len(), "coverage of another program");
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        for it in other.entries.all() {
            self.entries.count(it.table, &it.entry, it.count);
        }
    }

    /// Makes an entry of a table known, so that the report has it even if no packet hits it.
    pub fn know(&mut self, table: TableId, entry: &TableEntry) {
        self.hit(table, entry, 0);
    }

    /// Counts packets of an entry, unless the program wrote it.
    fn hit(&mut self, table: TableId, entry: &TableEntry, packets: u64) {
        if !self.points.pipeline()[table].entries.contains(entry) {
            self.entries.count(table, entry, packets);
        }
    }

    /// Arranges the counts by file and line.
    pub fn report(&self) -> Report {
        Report::new(self)
    }

    fn reach(&mut self, point: Option<usize>) {
        if let Some(point) = point {
            self.counts[point] += 1;
        }
    }

    /// Counts the outcome of a table.
    fn table(&mut self, table: TableId, event: &Event<'_>) {
        let Event::Table { entry, action, .. } = event else { return };
        let points = self.points.clone();
        let kind = match entry {
            Some(_) => Kind::Hit(table, action.action),
            None => Kind::Miss(table),
        };
        self.reach(points.find(kind));
        self.reach(points.find(Kind::Action(action.action)));
        if let Some(entry) = entry {
            let of_program = points.pipeline()[table].entries.iter().position(|e| e == *entry);
            self.reach(of_program.and_then(|at| points.find(Kind::Entry(table, at))));
            self.hit(table, entry, 1);
        }
    }
}

impl Observer for Coverage {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::State { state, .. } => {
                self.state = *state;
                let point = self.points.find(Kind::State(*state));
                self.reach(point);
            }
            Event::Transition { case, .. } => {
                let point = self.points.find(Kind::Case(self.state, *case));
                self.reach(point);
            }
            Event::Table { table, .. } => self.table(*table, event),
            _ => {}
        }
    }

    fn statement(&mut self, stmt: &Stmt, _: &PacketState) {
        let point = self.points.statement(stmt);
        self.reach(point);
    }

    fn outcome(&mut self, stmt: &Stmt, outcome: usize) {
        let point = self.points.outcome(stmt, outcome);
        self.reach(point);
    }
}
