//! Counts by file and line.

use std::collections::BTreeMap;
use std::sync::Arc;

use hopwright_ir::{TableEntry, TableId};

use crate::{Coverage, Kind, entries};

/// Counts by file and line.
#[derive(Clone, Debug)]
pub struct Report {
    /// The files that have points, by name.
    pub files: Vec<File>,
    /// What was reached of each kind of point, in the order of [`Report::KINDS`].
    pub totals: Vec<Total>,
    /// The points that were not reached: place and label. Entries are in `entries` instead.
    pub missed: Vec<(String, String)>,
    /// The entries of tables, those of the program and those that the control plane wrote, by file, line and table.
    pub entries: Vec<Entry>,
}

/// An entry of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The file of the table.
    pub file: String,
    /// The line of the table, from 1.
    pub line: u32,
    /// The table's name.
    pub table: String,
    /// What it matches, and its action.
    pub label: String,
    /// How many packets hit it.
    pub count: u64,
}

/// How many points of a kind were reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Total {
    /// The kind, such as `lines`.
    pub kind: &'static str,
    /// How many were reached.
    pub reached: usize,
    /// How many there are.
    pub all: usize,
}

/// The counts of a file.
#[derive(Clone, Debug)]
pub struct File {
    /// The name of the file.
    pub name: String,
    /// Its text, if the compiler had it under this name.
    pub text: Option<Arc<str>>,
    /// How often each line that something begins in was reached, by its number from 1.
    pub lines: BTreeMap<u32, u64>,
    /// The outcomes of decisions.
    pub branches: Vec<Branch>,
    /// Parser states and actions: the line, the name, and how often each ran.
    pub functions: Vec<(u32, String, u64)>,
}

/// An outcome of a decision: of a branch, a `select` or a table.
#[derive(Clone, Debug)]
pub struct Branch {
    /// The line, from 1.
    pub line: u32,
    /// The number of the decision in its file. Outcomes of the same decision are neighbours.
    pub decision: usize,
    /// What people read.
    pub label: String,
    /// How often; `None` if the decision was never made.
    pub count: Option<u64>,
}

/// What decides, so that outcomes of the same decision are found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Decision {
    Branch(crate::TextRange),
    Select(u32),
    Table(u32),
}

impl Decision {
    fn of(kind: Kind) -> Option<Decision> {
        Some(match kind {
            Kind::Branch(place, _) => Decision::Branch(place),
            Kind::Case(state, _) => Decision::Select(state.0),
            Kind::Hit(table, _) | Kind::Miss(table) | Kind::Entry(table, _) => Decision::Table(table.0),
            Kind::Statement(_) | Kind::State(_) | Kind::Action(_) => return None,
        })
    }
}

impl Report {
    /// The kinds of points: lines come from statements, states, actions and select cases.
    pub const KINDS: [&'static str; 8] =
        ["lines", "statements", "branches", "parser states", "select cases", "actions", "table outcomes", "entries"];

    pub(crate) fn new(coverage: &Coverage) -> Report {
        let points = coverage.points();
        let sources = &points.pipeline().sources;
        let mut made: BTreeMap<Decision, u64> = BTreeMap::new();
        for (point, count) in points.all().iter().zip(coverage.counts()) {
            if let Some(decision) = Decision::of(point.kind) {
                *made.entry(decision).or_default() += count;
            }
        }
        let mut files: BTreeMap<String, File> = BTreeMap::new();
        let mut totals = Report::KINDS.map(|kind| Total { kind, reached: 0, all: 0 });
        let mut missed = Vec::new();
        for (point, &count) in points.all().iter().zip(coverage.counts()) {
            let location = sources.location(point.span);
            let file = files.entry(location.file.to_string()).or_insert_with(|| File {
                name: location.file.to_string(),
                text: sources.files().find(|(_, f)| *f.name() == location.file).map(|(_, f)| f.text().clone()),
                lines: BTreeMap::new(),
                branches: Vec::new(),
                functions: Vec::new(),
            });
            if let Some(decision) = Decision::of(point.kind) {
                let number = made.range(..decision).count();
                let count = (made[&decision] > 0).then_some(count);
                file.branches.push(Branch { line: location.line, decision: number, label: point.label.clone(), count });
            }
            if matches!(point.kind, Kind::State(_) | Kind::Action(_)) {
                file.functions.push((location.line, point.label.clone(), count));
            }
            if matches!(point.kind, Kind::Statement(_) | Kind::State(_) | Kind::Action(_) | Kind::Case(_, Some(_))) {
                let line = file.lines.entry(location.line).or_default();
                *line = count.max(*line);
            }
            let total = &mut totals[kind_of(point.kind)];
            total.all += 1;
            total.reached += usize::from(count > 0);
            if count == 0 && !matches!(point.kind, Kind::Entry(..)) {
                missed.push((format!("{}:{}", location.file, location.line), described(point.kind, &point.label)));
            }
        }
        let mut files: Vec<File> = files.into_values().collect();
        for file in &mut files {
            file.branches.sort_by_key(|branch| (branch.line, branch.decision));
            file.functions.sort();
            totals[0].all += file.lines.len();
            totals[0].reached += file.lines.values().filter(|count| **count > 0).count();
        }
        let entries = entries_of(coverage);
        totals[7].all = entries.len();
        totals[7].reached = entries.iter().filter(|entry| entry.count > 0).count();
        Report { files, totals: totals.to_vec(), missed, entries }
    }
}

/// The entries of the program and of the control plane.
fn entries_of(coverage: &Coverage) -> Vec<Entry> {
    let points = coverage.points();
    let pipeline = points.pipeline();
    let described = |table: TableId, entry: &TableEntry, count| {
        let location = pipeline.sources.location(pipeline[table].span);
        let (file, label) = (location.file.to_string(), entries::text(pipeline, table, entry));
        Entry { file, line: location.line, table: pipeline[table].name.clone(), label, count }
    };
    let of_program = points.all().iter().zip(coverage.counts()).filter_map(|(point, count)| match point.kind {
        Kind::Entry(table, at) => Some(described(table, &pipeline[table].entries[at], *count)),
        _ => None,
    });
    let written = coverage.entries.all().iter().map(|it| described(it.table, &it.entry, it.count));
    let mut all: Vec<Entry> = of_program.chain(written).collect();
    // Those of a table stay in their order.
    all.sort_by(|a, b| (&a.file, a.line, &a.table).cmp(&(&b.file, b.line, &b.table)));
    all
}

/// The number of a point's kind in [`Report::KINDS`].
fn kind_of(kind: Kind) -> usize {
    match kind {
        Kind::Statement(_) => 1,
        Kind::Branch(..) => 2,
        Kind::State(_) => 3,
        Kind::Case(..) => 4,
        Kind::Action(_) => 5,
        Kind::Hit(..) | Kind::Miss(_) => 6,
        Kind::Entry(..) => 7,
    }
}

fn described(kind: Kind, label: &str) -> String {
    match kind {
        Kind::Statement(_) => format!("statement `{label}`"),
        Kind::Branch(..) => format!("branch: {label}"),
        Kind::State(_) => format!("parser state {label}"),
        Kind::Case(_, Some(_)) => format!("select case `{label}`"),
        Kind::Case(_, None) => format!("select of state {label}"),
        Kind::Action(_) => format!("action {label}"),
        Kind::Hit(..) | Kind::Miss(_) | Kind::Entry(..) => format!("table {label}"),
    }
}
