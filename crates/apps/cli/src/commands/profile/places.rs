//! What a place in the program belongs to: a parser state, a table, an action, a block.

use std::collections::HashMap;

use hopwright_ir::{Pipeline, Span, StmtKind, TableId, walk};

/// What a place belongs to, from the outside in: names, and the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Owner {
    pub frames: Vec<String>,
    pub table: Option<TableId>,
    /// Whether it is in an action of the table, not the table itself.
    pub in_action: bool,
}

/// The owners of statements, and of what contains them.
pub(super) struct Places {
    exact: HashMap<Span, Owner>,
    /// Declarations that contain what has no owner of its own, as conditions do not.
    around: Vec<(Span, Owner)>,
}

impl Places {
    pub(super) fn of(pipeline: &Pipeline) -> Places {
        let mut places = Places { exact: HashMap::new(), around: Vec::new() };
        let named =
            |frames: &[&str]| Owner { frames: frames.iter().map(|f| f.to_string()).collect(), ..Owner::default() };
        places.around.push((pipeline.parser.span, named(&["parser"])));
        for state in &pipeline.parser.states {
            let owner = named(&["parser", &format!("state {}", state.name)]);
            walk::stmts(&state.body, &mut |stmt| places.add(stmt.span, &owner));
            if let hopwright_ir::Transition::Select { cases, .. } = &state.transition {
                cases.iter().for_each(|case| places.add(case.span, &owner));
            }
            places.around.push((state.span, owner));
        }
        let names = ["verify checksum", "ingress", "egress", "compute checksum", "deparser"];
        let mut applied: HashMap<TableId, &str> = HashMap::new();
        for (name, control) in names.into_iter().zip(walk::controls(pipeline)) {
            let owner = named(&[name]);
            walk::stmts(&control.body, &mut |stmt| match stmt.kind {
                StmtKind::Apply { table, .. } => {
                    applied.entry(table).or_insert(name);
                    let frames = vec![name.to_string(), format!("table {}", pipeline[table].name)];
                    places.add(stmt.span, &Owner { frames, table: Some(table), in_action: false });
                }
                _ => places.add(stmt.span, &owner),
            });
            places.around.push((control.span, owner));
        }
        for (id, action) in pipeline.actions.iter().enumerate() {
            let mut tables = (0..).map(TableId).zip(&pipeline.tables).filter(|(_, table)| {
                table.actions.iter().any(|it| it.action.index() == id) || table.default_action.action.index() == id
            });
            let frame = format!("action {}", action.name);
            let owner = match (tables.next(), tables.next()) {
                (Some((table, model)), None) => {
                    let block = applied.get(&table).copied().unwrap_or("tables");
                    let frames = vec![block.to_string(), format!("table {}", model.name), frame];
                    Owner { frames, table: Some(table), in_action: true }
                }
                _ => named(&["actions", &frame]),
            };
            walk::stmts(&action.body, &mut |stmt| places.add(stmt.span, &owner));
            places.around.push((action.span, owner));
        }
        places
    }

    fn add(&mut self, span: Span, owner: &Owner) {
        self.exact.entry(span).or_insert_with(|| owner.clone());
    }

    /// What a place belongs to.
    pub(super) fn owner(&self, span: Span) -> Owner {
        if let Some(owner) = self.exact.get(&span) {
            return owner.clone();
        }
        let contains = |outer: &Span| outer.file == span.file && outer.start <= span.start && span.end <= outer.end;
        let statements = self.exact.iter().map(|(outer, owner)| (*outer, owner));
        let all = statements.chain(self.around.iter().map(|(outer, owner)| (*outer, owner)));
        let smallest = all.filter(|(outer, _)| contains(outer)).min_by_key(|(outer, _)| outer.end - outer.start);
        smallest.map(|(_, owner)| owner.clone()).unwrap_or_default()
    }
}
