//! Computes and applies the changes that turn the entries of some tables into others, entry by entry, while packets
//! flow.

use std::collections::HashMap;

use hopwright_ir::{MatchValue, TableEntry, TableId};

use super::{Control, ControlError, EntrySpec};

type Key = (Vec<MatchValue>, i32);

/// The changes that make a set of tables contain exactly given entries. Unchanged entries are not touched and keep
/// their direct counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Entries to add or modify, in the order in which they were specified. The flag is true for a modification.
    puts: Vec<(TableId, TableEntry, bool)>,
    /// Entries to delete, in the reverse order of the tables' names.
    deletes: Vec<(TableId, Key)>,
    /// Tables that are too small to hold old and new entries at once.
    tight: Vec<TableId>,
}

impl Difference {
    /// Computes the changes after which the named tables contain exactly the `wanted` entries. Of several wanted
    /// entries with the same match and priority, the last one counts. Changes nothing.
    ///
    /// # Errors
    /// A name is unknown, an entry is illegal or belongs to a table that is not named, or a table is too small.
    pub fn between(control: &Control, tables: &[&str], wanted: &[EntrySpec]) -> Result<Difference, ControlError> {
        let mut ids = Vec::new();
        let mut current = HashMap::new();
        for name in tables {
            let table = control.table(name)?;
            let id = table.id();
            let entries = table.entries().into_iter().map(|e| ((e.matches, e.priority), e.action));
            current.insert(id, entries.collect::<HashMap<Key, _>>());
            ids.push(id);
        }
        let mut resolved: Vec<(TableId, TableEntry)> = Vec::with_capacity(wanted.len());
        let mut places: HashMap<(TableId, Key), usize> = HashMap::with_capacity(wanted.len());
        for spec in wanted {
            let (id, entry) = control.resolve(spec)?;
            if !current.contains_key(&id) {
                return Err(ControlError::UnknownTable(spec.table.clone()));
            }
            control[id].check_entry(&entry)?;
            let place = places.entry((id, (entry.matches.clone(), entry.priority))).or_insert(resolved.len());
            match resolved.get_mut(*place) {
                Some(earlier) => earlier.1 = entry,
                None => resolved.push((id, entry)),
            }
        }
        let mut difference = Difference::default();
        let mut added: HashMap<TableId, usize> = HashMap::new();
        let mut kept: HashMap<TableId, usize> = HashMap::new();
        for (id, entry) in resolved {
            let key = (entry.matches.clone(), entry.priority);
            let before = current.get(&id).and_then(|c| c.get(&key));
            *if before.is_some() { &mut kept } else { &mut added }.entry(id).or_default() += 1;
            if before != Some(&entry.action) {
                difference.puts.push((id, entry, before.is_some()));
            }
        }
        for id in ids.into_iter().rev() {
            let entries = &current[&id];
            let size = control.pipeline()[id].size;
            let added = added.get(&id).copied().unwrap_or_default();
            if (kept.get(&id).copied().unwrap_or_default() + added) as u64 > size {
                return Err(ControlError::Full { table: control.pipeline()[id].name.clone(), size });
            }
            if (entries.len() + added) as u64 > size {
                difference.tight.push(id);
            }
            let gone = entries.keys().filter(|key| !places.contains_key(&(id, (*key).clone())));
            difference.deletes.extend(gone.map(|key| (id, key.clone())));
        }
        Ok(difference)
    }

    /// The numbers of added, modified and deleted entries.
    pub fn counts(&self) -> (usize, usize, usize) {
        let changed = self.puts.iter().filter(|(_, _, changed)| *changed).count();
        (self.puts.len() - changed, changed, self.deletes.len())
    }

    /// Applies the changes: additions and modifications first, in the order of the wanted entries, then deletions.
    /// Tables that cannot hold old and new entries at once are deleted from first. Nobody else may write these tables
    /// between [`Difference::between`] and this call.
    pub fn apply(&self, control: &Control) -> Result<(), ControlError> {
        let delete = |tight: bool| -> Result<(), ControlError> {
            for (id, (matches, priority)) in self.deletes.iter().filter(|(id, _)| self.tight.contains(id) == tight) {
                control[*id].delete(matches, *priority)?;
            }
            Ok(())
        };
        delete(true)?;
        for (id, entry, changes) in &self.puts {
            match changes {
                true => control[*id].modify(entry.clone())?,
                false => control[*id].insert(entry.clone())?,
            }
        }
        delete(false)
    }
}
