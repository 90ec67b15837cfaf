//! Makes changes of the model's state.
//!
//! What depends on how full a table is, or on a device that runs the program, is known when a change is made. If one is refused, those
//! before it are undone.

use std::collections::BTreeMap;

use bytes::Bytes;
use hopwright_dataplane::{Account, Count};
use hopwright_ir::TableEntry;

use crate::change::{Change, Undo};
use crate::entity::{CloneSession, Metadata, MulticastGroup};
use crate::entry::{EntryKey, Note, Target};
use crate::error::{Result, exhausted, invalid};
use crate::model::Model;

impl Model {
    /// Makes changes in order, all or none. Those that were made can be undone by what is added to `log`.
    pub(crate) fn carry_out(&mut self, plan: Vec<Change>, log: Option<&mut Vec<Change>>) -> Result<()> {
        // A change that is made alone needs no inverse.
        let undoable = log.is_some() || plan.len() > 1;
        let mut inverses = Vec::new();
        for change in plan {
            match self.make(change, undoable) {
                Ok(inverse) => inverses.extend(inverse),
                Err(error) => {
                    self.make_inverses(inverses);
                    return Err(error);
                }
            }
        }
        if let Some(log) = log {
            log.extend(inverses);
        }
        Ok(())
    }

    /// Makes the inverses of changes, the last one first.
    pub(crate) fn make_inverses(&mut self, inverses: Vec<Change>) {
        let vdp = self.vdp.clone();
        vdp.control().account().undo(|| {
            for change in inverses.into_iter().rev() {
                // Only a device that runs the program refuses to return to where it was.
                if let Err(error) = self.make(change, false) {
                    tracing::error!("a change cannot be undone: {error}");
                }
            }
        });
    }

    /// Makes a change, completely or not at all, and returns its inverse if it is asked for.
    fn make(&mut self, change: Change, undoable: bool) -> Result<Option<Change>> {
        if !matches!(change, Change::Insert(..)) {
            self.translations.changed();
        }
        let counted = !self.schema.rules.references.is_empty();
        let Some(referrer) = Model::referrer(&change).filter(|_| counted) else {
            return self.make_uncounted(change, undoable);
        };
        self.forget(&referrer);
        let made = self.make_uncounted(change, undoable);
        self.count(&referrer);
        made
    }

    /// The same, while what refers to something is not counted.
    fn make_uncounted(&mut self, change: Change, undoable: bool) -> Result<Option<Change>> {
        let inverse = match change {
            Change::Insert(key, target) => {
                let inverse = undoable.then(|| Change::Remove(key.clone()));
                self.put(key, target, true)?;
                return Ok(inverse);
            }
            Change::Modify(key, target) => {
                let before = if undoable { self.target(&key) } else { None };
                let inverse = before.map(|before| Change::Modify(key.clone(), before));
                self.put(key, target, false)?;
                return Ok(inverse);
            }
            Change::Remove((at, matches, priority)) if undoable => {
                Change::Restore(at, Box::new(self.vdp.control()[at].remove(&matches, priority)?))
            }
            Change::Remove((at, matches, priority)) => {
                self.vdp.control()[at].delete(&matches, priority)?;
                return Ok(None);
            }
            Change::Restore(at, removed) => {
                let (matches, priority) = removed.key();
                let inverse = Change::Remove((at, matches.to_vec(), priority));
                self.vdp.control()[at].restore(*removed)?;
                inverse
            }
            Change::Default(at, call) => {
                let before = self.vdp.control()[at].default_action();
                self.vdp.control()[at].set_default(call)?;
                Change::Default(at, Some(before))
            }
            Change::Note(key, note) => {
                let before = self.set_note(key.clone(), note)?;
                Change::Note(key, before)
            }
            Change::DefaultMetadata(at, metadata) => {
                let metadata = metadata.map(Metadata::detached);
                let account = self.vdp.control().account();
                Change::DefaultMetadata(at, swap(account, &mut self.default_metadata, at, metadata, of_metadata)?)
            }
            Change::DirectCount(key, count) => self.set_direct_count(key, count)?,
            Change::DirectRates((at, matches, priority), rates) => {
                let before = self.vdp.control()[at].direct_meter(&matches, priority)?;
                self.vdp.control()[at].set_direct_meter(&matches, priority, rates)?;
                Change::DirectRates((at, matches, priority), before)
            }
            other => return self.make_of_object(other),
        };
        Ok(undoable.then_some(inverse))
    }

    /// Makes a change of something other than a table.
    fn make_of_object(&mut self, change: Change) -> Result<Option<Change>> {
        Ok(Some(match change {
            Change::Counts(at, values) => {
                let cells = self.vdp.control().counter(at)?;
                Change::Counts(at, values.set(|i| cells.read(i), |i, count| cells.write(i, count))?)
            }
            Change::Registers(at, values) => {
                let cells = self.vdp.control().register(at)?;
                Change::Registers(at, values.set(|i| cells.read(i), |i, value| cells.write(i, value))?)
            }
            Change::Rates(at, values) => {
                let meters = self.vdp.control().meter(at)?;
                Change::Rates(at, values.set(|i| meters.rates(i), |i, rates| meters.set_rates(i, rates))?)
            }
            Change::Member(at, id, action) => {
                let members = self.vdp.control().profile(at)?;
                let before = members.member(id);
                match (action, before.is_some()) {
                    (Some(action), false) => members.insert_member(id, action)?,
                    (Some(action), true) => members.modify_member(id, action)?,
                    (None, _) => members.delete_member(id)?,
                }
                Change::Member(at, id, before)
            }
            Change::Group(at, id, group) => {
                let groups = self.vdp.control().profile(at)?;
                let before = groups.group(id);
                match (group, before.is_some()) {
                    (Some(group), false) => groups.insert_group(id, group)?,
                    (Some(group), true) => groups.modify_group(id, group)?,
                    (None, _) => groups.delete_group(id)?,
                }
                Change::Group(at, id, before)
            }
            Change::Multicast(group, replicas) => {
                let before = self.vdp.control().multicast_group(group);
                self.vdp.control().set_multicast_group(group, replicas)?;
                Change::Multicast(group, before)
            }
            Change::MulticastRead(id, group) => {
                let group = group.map(|group| MulticastGroup { metadata: detached(&group.metadata), ..group });
                Change::MulticastRead(id, swap(self.vdp.control().account(), &mut self.groups, id, group, of_group)?)
            }
            Change::CloneSession(id, session) => {
                let before = self.vdp.control().clone_session(id);
                self.vdp.control().set_clone_session(id, session)?;
                Change::CloneSession(id, before)
            }
            Change::CloneSessionRead(id, session) => {
                let account = self.vdp.control().account();
                Change::CloneSessionRead(id, swap(account, &mut self.sessions, id, session, of_session)?)
            }
            Change::ValueSet(at, members) => {
                let before = self.vdp.control().value_set(at)?.read();
                self.vdp.control().value_set(at)?.replace(members)?;
                Change::ValueSet(at, before)
            }
            Change::Digest(id, Some(config)) => Change::Digest(id, self.digests.configure(id, config)),
            Change::Digest(id, None) => match self.digests.disable(id) {
                Some(active) => Change::RestoreDigest(id, Box::new(active)),
                None => Change::Digest(id, None),
            },
            Change::RestoreDigest(id, active) => {
                self.digests.restore(id, *active);
                Change::Digest(id, None)
            }
            Change::Setting(at, setting, data) => {
                let object = self.vdp.control().named_extern(at)?;
                let restore = object.save(&setting);
                object.control(&setting, &data).map_err(|e| invalid(e.to_string()))?;
                return Ok(restore.map(|restore| Change::RestoreSetting(Undo(restore))));
            }
            Change::RestoreSetting(Undo(restore)) => {
                restore();
                return Ok(None);
            }
            // Tables are dealt with before.
            _ => return Ok(None),
        }))
    }

    /// The bytes of memory that everything takes that is kept beside what the data plane has.
    pub(crate) fn bytes_of_writes(&self) -> u64 {
        let notes = self.notes.values().map(of_note);
        let written = notes.chain(self.default_metadata.values().map(of_metadata));
        let copies = self.groups.values().map(of_group).chain(self.sessions.values().map(of_session));
        written.chain(copies).map(|own| (PLACE + own) as u64).sum()
    }

    /// Sets or removes what is kept of an entry beside what the data plane has. Returns what was there.
    pub(crate) fn set_note(&mut self, key: EntryKey, note: Option<Note>) -> Result<Option<Note>> {
        let note = note.map(|note| Note { metadata: note.metadata.detached(), ..note });
        exchange(self.vdp.control().account(), self.notes.get(&key).map(of_note), note.as_ref().map(of_note))?;
        Ok(match note {
            Some(note) => self.notes.insert(key, note),
            None => self.notes.remove(&key),
        })
    }

    /// Inserts an entry, or changes what it runs.
    pub(crate) fn put(&self, (at, matches, priority): EntryKey, target: Target, new: bool) -> Result<()> {
        let table = &self.vdp.control()[at];
        match (target, new) {
            (Target::Action(action), true) => table.insert(TableEntry { matches, priority, action })?,
            (Target::Action(action), false) => table.modify(TableEntry { matches, priority, action })?,
            (Target::Profile(to), true) => table.insert_target(matches, priority, to)?,
            (Target::Profile(to), false) => table.modify_target(matches, priority, to)?,
        }
        Ok(())
    }

    /// Sets an entry's direct counter, which says whether the entry is idle, too: that it is set is no hit.
    fn set_direct_count(&mut self, key: EntryKey, count: Count) -> Result<Change> {
        let table = &self.vdp.control()[key.0];
        let before = table.direct_count(&key.1, key.2)?;
        table.set_direct_count(&key.1, key.2, count)?;
        if let Some(idle) = self.notes.get_mut(&key).and_then(|note| note.idle.as_mut()) {
            let unseen = before.packets.wrapping_sub(idle.hits);
            idle.hits = count.packets.wrapping_sub(unseen);
        }
        Ok(Change::DirectCount(key, before))
    }
}

/// What something in a map of the model takes beside its own bytes, in the map and with its key.
const PLACE: usize = 384;

/// Bytes that share no memory with others: those of a message would keep all of the message.
fn detached(bytes: &Bytes) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

impl Metadata {
    fn detached(self) -> Metadata {
        Metadata { bytes: detached(&self.bytes), ..self }
    }
}

fn of_metadata(metadata: &Metadata) -> usize {
    metadata.bytes.len()
}

fn of_note(note: &Note) -> usize {
    of_metadata(&note.metadata)
}

fn of_group(group: &MulticastGroup) -> usize {
    group.metadata.len() + size_of_val(&*group.copies)
}

fn of_session(session: &CloneSession) -> usize {
    size_of_val(&*session.copies)
}

/// Charges what takes the place of something in the model.
fn exchange(account: &Account, before: Option<usize>, after: Option<usize>) -> Result<()> {
    let bytes = |own: Option<usize>| own.map_or(0, |own| (PLACE + own) as u64);
    account.exchange(bytes(before), bytes(after)).map_err(|exceeded| exhausted(exceeded.to_string()))
}

/// Sets or removes what a map has. Returns what it had. `bytes`: what something in the map takes beside its place.
fn swap<K, V>(
    account: &Account,
    map: &mut BTreeMap<K, V>,
    key: K,
    value: Option<V>,
    bytes: impl Fn(&V) -> usize,
) -> Result<Option<V>>
where
    K: Ord,
{
    exchange(account, map.get(&key).map(&bytes), value.as_ref().map(&bytes))?;
    Ok(match value {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    })
}
