//! Entries of tables that the control plane wrote, with how often packets hit each. Those of the program are points.

use std::collections::HashMap;

use hopwright_interp::match_text;
use hopwright_ir::{MatchValue, Pipeline, TableEntry, TableId};

/// An entry, in the order in which entries became known.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub table: TableId,
    pub entry: TableEntry,
    pub count: u64,
}

/// What tells the entries of a program apart.
type Key = (TableId, Vec<MatchValue>, i32);

/// Entries by match and priority.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries {
    written: Vec<Written>,
    by_key: HashMap<Key, usize>,
}

impl Entries {
    /// Counts packets of an entry, which may be new. Its action is the last that it was known with.
    pub(crate) fn count(&mut self, table: TableId, entry: &TableEntry, packets: u64) {
        let key = (table, entry.matches.clone(), entry.priority);
        let next = self.written.len();
        let at = *self.by_key.entry(key).or_insert(next);
        if at == next {
            self.written.push(Written { table, entry: entry.clone(), count: 0 });
        }
        let written = &mut self.written[at];
        written.count += packets;
        if written.entry.action != entry.action {
            written.entry.action.clone_from(&entry.action);
        }
    }

    pub(crate) fn all(&self) -> &[Written] {
        &self.written
    }
}

/// An entry as text: keys by name, where they do not match everything, and the action with its data.
pub(crate) fn text(pipeline: &Pipeline, table: TableId, entry: &TableEntry) -> String {
    let table = &pipeline[table];
    let keys = table
        .keys
        .iter()
        .zip(&entry.matches)
        .filter(|(key, value)| key.kind.is_matched() && key.kind.any(key.expr.ty.width()).as_ref() != Some(*value));
    let keys: Vec<String> = keys
        .map(|(key, value)| format!("{} {}", key.name, match_text(&key.name, key.expr.ty.width(), value)))
        .collect();
    let priority = if table.has_priority() { format!(" priority {}", entry.priority) } else { String::new() };
    let action = &pipeline[entry.action.action];
    let data: Vec<String> = action
        .params
        .iter()
        .zip(&entry.action.args)
        .map(|(param, value)| format!("{}: {value:#x}", param.name))
        .collect();
    let keys = if keys.is_empty() { "anything".into() } else { keys.join(", ") };
    format!("{keys}{priority} -> {}({})", action.name, data.join(", "))
}
