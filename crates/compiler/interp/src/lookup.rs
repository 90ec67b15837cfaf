//! Table lookup: the entry that a packet hits, and the action to run.

use std::cmp::Reverse;

use super::Value;
use super::store::{Entry, Store};
use hopwright_ir::profile::selector_hash;
use hopwright_ir::{ActionCall, EntryTarget, MatchValue, Pipeline, TableEntry, TableId};

/// The entry that a packet hits.
pub(super) struct Hit {
    pub entry: TableEntry,
    /// Its index, in tables with cells for entries.
    pub index: Option<u32>,
    target: Option<EntryTarget>,
}

impl Hit {
    fn new(entry: Entry<'_>) -> Hit {
        let Entry { matches, priority, action, index, target, .. } = entry;
        let entry = TableEntry { matches: matches.to_vec(), priority, action: action.clone() };
        Hit { entry, index, target: target.cloned() }
    }

    /// Returns the entry that a packet with these key values hits, found by comparing with all entries.
    pub(super) fn find(pipeline: &Pipeline, store: &dyn Store, id: TableId, keys: &[Value]) -> Option<Hit> {
        let table = &pipeline[id];
        // A table without keys has no entries.
        table.match_keys().next()?;
        let has_priority = table.has_priority();
        let mut best = None;
        store.visit_entries(id, &mut |entry| {
            if !entry.matches.iter().zip(keys).all(|(m, key)| m.matches(&key.bits, key.width)) {
                return;
            }
            let rank = rank(&entry, has_priority);
            if best.as_ref().is_none_or(|(best_rank, _)| rank > *best_rank) {
                best = Some((rank, Hit::new(entry)));
            }
        });
        best.map(|(_, hit)| hit)
    }

    /// Returns the action to run; `None` if the entry's group has no members.
    pub(super) fn action(
        &self,
        pipeline: &Pipeline,
        store: &dyn Store,
        id: TableId,
        keys: &[Value],
    ) -> Option<ActionCall> {
        let table = &pipeline[id];
        let (Some(profile), Some(target)) = (table.implementation, &self.target) else {
            return Some(self.entry.action.clone());
        };
        let hash = selector_hash(pipeline, table, keys.iter().map(|k| &k.bits));
        let mut chosen = None;
        store.visit_profile(profile, &mut |profile| chosen = profile.choose(target, hash).cloned());
        chosen
    }
}

/// The precedence of a matching entry: by [`MatchValue::rank`]; of equal ranks, the entry inserted first wins.
fn rank(entry: &Entry<'_>, has_priority: bool) -> (i64, Reverse<u64>) {
    (MatchValue::rank(entry.matches, entry.priority, has_priority), Reverse(entry.sequence))
}
