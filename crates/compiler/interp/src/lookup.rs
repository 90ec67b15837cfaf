//! Table lookup: the entry that a packet hits, the action to run, and meters.

use std::cmp::Reverse;

use super::Value;
use super::exec::Machine;
use super::store::Entry;
use hopwright_ir::meter::Color;
use hopwright_ir::profile::selector_hash;
use hopwright_ir::{ActionCall, EntryTarget, ExternId, ExternKind, MatchValue, TableEntry, TableId, Unit};

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
}

/// The precedence of a matching entry: by [`MatchValue::rank`]; of equal ranks, the entry inserted first wins.
fn rank(entry: &Entry<'_>, has_priority: bool) -> (i64, Reverse<u64>) {
    (MatchValue::rank(entry.matches, entry.priority, has_priority), Reverse(entry.sequence))
}

impl Machine<'_> {
    /// Returns the entry that a packet with these key values hits, found by comparing with all entries.
    pub(super) fn lookup(&self, id: TableId, keys: &[Value]) -> Option<Hit> {
        let table = &self.pipeline[id];
        // A table without keys has no entries.
        table.match_keys().next()?;
        let has_priority = table.has_priority();
        let mut best = None;
        self.store.visit_entries(id, &mut |entry| {
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

    /// Returns the action of a hit; `None` if the entry's group has no members.
    pub(super) fn hit_action(&self, id: TableId, hit: &Hit, keys: &[Value]) -> Option<ActionCall> {
        let table = &self.pipeline[id];
        let (Some(profile), Some(target)) = (table.implementation, &hit.target) else {
            return Some(hit.entry.action.clone());
        };
        let hash = selector_hash(self.pipeline, table, keys.iter().map(|k| &k.bits));
        let mut chosen = None;
        self.store.visit_profile(profile, &mut |profile| chosen = profile.choose(target, hash).cloned());
        chosen
    }

    /// Runs the direct meter of the entry that was hit, unless actions do. `read` returns the result later.
    pub(super) fn measure_hit(&mut self, id: TableId, entry: &TableEntry) {
        if !self.pipeline.measures_hits(id) {
            return;
        }
        let Some(object) = self.pipeline[id].direct_meter else { return };
        let ExternKind::DirectMeter { unit, .. } = self.pipeline[object].kind else { return };
        let cost = cost(unit, self.packet.bytes.len() as u64);
        self.color = self.store.measure_hit(id, &entry.matches, entry.priority, self.now_us, cost);
    }

    /// Runs the direct meter of the entry whose action is being executed for a packet of this length. Green if it has none.
    pub(super) fn measure_directly(&mut self, meter: ExternId, bytes: u64) -> Color {
        let (Some((id, hit)), ExternKind::DirectMeter { unit, .. }) = (&self.hit, &self.pipeline[meter].kind) else {
            return Color::Green;
        };
        if self.pipeline[*id].direct_meter != Some(meter) {
            return Color::Green;
        }
        let TableEntry { matches, priority, .. } = &hit.entry;
        self.store.measure_hit(*id, matches, *priority, self.now_us, cost(*unit, bytes))
    }

    /// The hit of the entry whose action is being executed has counted the packet's length: counts this length instead.
    pub(super) fn recount_hit(&mut self, counter: ExternId, bytes: u64) {
        let Some((id, hit)) = &self.hit else { return };
        if self.pipeline[*id].direct_counter == Some(counter) {
            let more = bytes.wrapping_sub(self.packet.bytes.len() as u64);
            self.store.recount_hit(*id, &hit.entry.matches, hit.entry.priority, more);
        }
    }

    /// Runs an indirect meter for a packet of this length; returns `None` if the index is out of range.
    pub(super) fn measure(&mut self, id: ExternId, index: u64, bytes: u64) -> Option<Color> {
        let ExternKind::Meter { unit, .. } = self.pipeline[id].kind else { return None };
        let cost = cost(unit, bytes);
        self.store.measure(id, index, self.now_us, cost)
    }
}

fn cost(unit: Unit, bytes: u64) -> u64 {
    if unit == Unit::Packets { 1 } else { bytes }
}
