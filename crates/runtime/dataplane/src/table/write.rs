//! What writers do to a table: entries come, change and go, and the default action changes.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hopwright_abi::{index_word, push_limbs};
use hopwright_ir::entry::check_default;
use hopwright_ir::{ActionCall, EntryTarget, MatchValue, TableEntry};

use super::block::{Block, Contents, Rank, action_data};
use super::entry::{EntryExtras, MatchKey, StoredEntry, split};
use super::shared::{EntryMemory, SharedBlocks};
use super::{
    BYTES_PER_ENTRY, DefaultEntry, Encoded, EntryParts, Reader, Structure, Table, UnlinkedEntry, Writer, profile,
};
use crate::control::error::ControlError;
use crate::offload::{Device, DeviceFault};
use crate::state::cell::Cells;

impl Table {
    /// Adds an entry on this side.
    pub(super) fn insert_here(&self, entry: TableEntry) -> Result<(), ControlError> {
        self.check(&entry)?;
        let (key, action) = split(entry);
        let mut writer = self.lock();
        let hash = writer.records.hash(&key.matches, key.priority);
        // Prefetch the record and the slot, which are rarely cached, while the key is encoded.
        writer.records.prefetch(hash);
        self.encode_into(&mut writer.encoded, &key.matches, key.priority);
        if let Reader::Exact(r) = &self.reader {
            // SAFETY: the encoded key has the table's width; the lock makes this the only writer.
            unsafe { r.slots().prefetch(self.shape.key_words, writer.encoded.key.as_ptr()) };
        }
        if self.lead_words() > 0 {
            // Check before a profile target is acquired, so that a refused entry acquires nothing.
            self.check_room(&writer, hash, &key)?;
        }
        let charged = match self.charge_entry(&writer) {
            Ok(charged) => charged,
            // One that is there already would take no memory.
            Err(error) => return self.check_room(&writer, hash, &key).and(Err(error)),
        };
        let extras = self.extras(&action).inspect_err(|_| self.account.release(charged))?;
        let new = self.new_entry(&mut writer, &action, extras);
        if let Err(error) = self.check_room(&writer, hash, &key) {
            writer.pool.release(&action);
            self.account.release(charged);
            return Err(error);
        }
        self.link(&mut writer, hash, key, action, new);
        Ok(())
    }

    /// Charges one more entry, and its part of the structures if there are more entries than ever. Returns what is to be given back when
    /// the entry goes.
    pub(super) fn charge_entry(&self, writer: &Writer) -> Result<u64, ControlError> {
        let (own, entries) = (self.price.own(), writer.records.len());
        let grows = entries >= self.most_entries.load(Ordering::Relaxed);
        let part = if grows { self.price.part(entries) } else { 0 };
        let exceeded = |reason| ControlError::Memory { name: self.name(), reason };
        self.account.charge(own + part).map_err(exceeded)?;
        if grows {
            self.most_entries.store(entries + 1, Ordering::Relaxed);
        }
        Ok(own)
    }

    /// Fails if the key is present or the table is full. `hash` is the key's hash in `records`.
    pub(super) fn check_room(&self, writer: &Writer, hash: u32, key: &MatchKey) -> Result<(), ControlError> {
        if writer.records.contains(hash, key) {
            return Err(ControlError::Duplicate(self.name()));
        }
        let size = self.pipeline[self.id].size;
        if writer.records.len() as u64 >= size {
            return Err(ControlError::Full { table: self.name(), size });
        }
        Ok(())
    }

    /// Changes the action of an entry on this side.
    pub(super) fn modify_here(&self, entry: TableEntry) -> Result<(), ControlError> {
        self.check(&entry)?;
        let mut writer = self.lock();
        let (key, action) = split(entry);
        if writer.records.get(&key.matches, key.priority).is_none() {
            return Err(ControlError::NotFound(self.name()));
        }
        let target = self.acquire_own_target(&action)?;
        self.replace(&mut writer, key, action, target)
    }

    /// Replaces the action, and the profile target if one is given, of an existing entry.
    pub(super) fn replace(
        &self,
        writer: &mut Writer,
        key: MatchKey,
        action: ActionCall,
        target: Option<(EntryTarget, Arc<profile::Choice>)>,
    ) -> Result<(), ControlError> {
        let Writer { records, structure, data, pool, .. } = writer;
        let record = records.get_mut(&key).ok_or_else(|| ControlError::NotFound(self.name()))?;
        let encoded = self.encode(&key.matches, key.priority);
        let old_extras = target.map(|target| {
            let (meter, index) = record.extras.as_ref().map_or((None, None), |b| (b.meter.clone(), b.index));
            record.extras.replace(Box::new(EntryExtras { target: Some(target), meter, index }))
        });
        let (counter, extras) = (record.counter.as_deref(), record.extras.as_deref());
        let parts = EntryParts { sequence: record.sequence, action: &action, counter, extras };
        let block = self.block(pool, &encoded, data, parts);
        // SAFETY: the lock makes this the only writer; the old block is linked; the new one has the same key, mask and
        // rank and lives in the record until it is retired.
        unsafe {
            match (structure, &self.reader) {
                (Structure::Exact(w), Reader::Exact(r)) => {
                    w.put(r.slots(), self.shape.key_words, block.address(), &self.domain);
                    r.set_direct(&encoded.key, Some(block.entry()));
                }
                (Structure::Masked(w), Reader::Masked(r)) => {
                    w.replace(r, &encoded.mask, &record.block, Some(&block), &self.domain);
                }
                (Structure::Trie(w), Reader::Trie(r)) => {
                    w.put(r, encoded.key[0], encoded.rank as u32, block.entry());
                }
                _ => unreachable!("writer and reader are made together"),
            }
        }
        pool.release(&std::mem::replace(&mut record.action, action));
        let old = std::mem::replace(&mut record.block, block);
        match old_extras {
            Some(extras) => {
                self.release(extras.as_deref());
                self.domain.retire((old, extras));
            }
            None => self.domain.retire(old),
        }
        Ok(())
    }

    /// Removes an entry on this side.
    pub(super) fn delete_here(&self, matches: &[MatchValue], priority: i32) -> Result<(), ControlError> {
        self.check_entries_changeable()?;
        let mut writer = self.lock();
        let hash = writer.records.hash(matches, priority);
        let removed = writer.records.remove(hash, matches, priority);
        let (key, record) = removed.ok_or_else(|| ControlError::NotFound(self.name()))?;
        self.unlink(&mut writer, &key, record);
        Ok(())
    }

    /// Removes all entries on this side.
    pub(super) fn clear_here(&self) -> Result<(), ControlError> {
        self.check_entries_changeable()?;
        let mut writer = self.lock();
        for (key, record) in writer.records.take() {
            self.unlink(&mut writer, &key, record);
        }
        Ok(())
    }

    /// Makes all further changes on a device, too. It starts with the entries that are here.
    ///
    /// # Errors
    /// It does not take them.
    pub(crate) fn attach(&self, device: &Arc<Device>) -> Result<(), DeviceFault> {
        let mut offload = device.lock();
        offload.set_default(self.id, &self.default_action())?;
        self.entries().iter().try_for_each(|entry| offload.put(self.id, entry))?;
        // A table is attached when its data plane is built.
        let _ = self.device.set(device.clone());
        Ok(())
    }

    /// Sets the default action on this side; `None` restores the program's.
    pub(super) fn set_default_here(&self, call: Option<ActionCall>) -> Result<(), ControlError> {
        let model = &self.pipeline[self.id];
        if model.const_default_action {
            return Err(ControlError::ConstDefault(self.name()));
        }
        let call = match call {
            Some(call) => {
                check_default(&self.pipeline, self.id, &call)
                    .map_err(|reason| ControlError::Entry { table: self.name(), reason })?;
                call
            }
            None => model.default_action.clone(),
        };
        let default = DefaultEntry::new(&call, &self.pipeline, self.id);
        let mut writer = self.lock();
        self.reader.set_default(default.block.entry());
        let old = std::mem::replace(&mut writer.default, default);
        self.domain.retire(old.block);
        Ok(())
    }

    pub(super) fn check_entries_changeable(&self) -> Result<(), ControlError> {
        if self.pipeline[self.id].const_entries { Err(ControlError::ConstEntries(self.name())) } else { Ok(()) }
    }

    fn check(&self, entry: &TableEntry) -> Result<(), ControlError> {
        self.check_entries_changeable()?;
        self.check_entry(entry)
    }

    /// Adds an entry after the caller has checked that there is room.
    pub(super) fn add(
        &self,
        writer: &mut Writer,
        hash: u32,
        key: MatchKey,
        action: ActionCall,
        extras: Option<Box<EntryExtras>>,
    ) {
        self.encode_into(&mut writer.encoded, &key.matches, key.priority);
        let new = self.new_entry(writer, &action, extras);
        self.link(writer, hash, key, action, new);
    }

    /// Builds a new entry from the key in `writer.encoded`.
    fn new_entry(
        &self,
        writer: &mut Writer,
        action: &ActionCall,
        mut extras: Option<Box<EntryExtras>>,
    ) -> UnlinkedEntry {
        let model = &self.pipeline[self.id];
        if let Some(extras) = extras.as_mut().filter(|_| index_word(model).is_some()) {
            let index = writer.indices.take();
            self.cells.iter().for_each(|cells| cells.clear(index));
            extras.index = Some(index);
        }
        let counter = (model.direct_counter.is_some() || model.idle_timeout).then(|| Arc::new(Cells::new(1)));
        self.unlinked(writer, writer.sequence, action, counter, extras)
    }

    /// Builds the block of an entry from the key in `writer.encoded`.
    pub(super) fn unlinked(
        &self,
        writer: &mut Writer,
        sequence: u64,
        action: &ActionCall,
        counter: Option<Arc<Cells>>,
        extras: Option<Box<EntryExtras>>,
    ) -> UnlinkedEntry {
        let Writer { encoded, data, pool, .. } = writer;
        let parts = EntryParts { sequence, action, counter: counter.as_deref(), extras: extras.as_deref() };
        let block = self.block(pool, encoded, data, parts);
        UnlinkedEntry { sequence, block, counter, extras }
    }

    /// Links a new entry, whose key is in `writer.encoded`, and stores its record.
    pub(super) fn link(&self, writer: &mut Writer, hash: u32, key: MatchKey, action: ActionCall, new: UnlinkedEntry) {
        let UnlinkedEntry { sequence, block, counter, extras } = new;
        writer.sequence = writer.sequence.max(sequence + 1);
        let encoded = &writer.encoded;
        // SAFETY: the lock makes this the only writer; the block lives in its record until it is unlinked and retired.
        unsafe {
            match (&mut writer.structure, &self.reader) {
                (Structure::Exact(w), Reader::Exact(r)) => {
                    w.put(r.slots(), self.shape.key_words, block.address(), &self.domain);
                    r.set_direct(&encoded.key, Some(block.entry()));
                }
                (Structure::Masked(w), Reader::Masked(r)) => w.insert(r, &encoded.mask, &block, &self.domain),
                (Structure::Trie(w), Reader::Trie(r)) => {
                    w.put(r, encoded.key[0], encoded.rank as u32, block.entry());
                }
                _ => unreachable!("writer and reader are made together"),
            }
        }
        writer.records.insert(hash, key, StoredEntry { sequence, action, block, counter, extras });
        self.adjust_size_estimate(1);
    }

    /// Takes away an entry that was removed from the records.
    pub(super) fn unlink(&self, writer: &mut Writer, key: &MatchKey, record: StoredEntry) {
        let Writer { structure, pool, .. } = writer;
        let encoded = self.encode(&key.matches, key.priority);
        // SAFETY: the lock makes this the only writer; the block is linked.
        unsafe {
            match (structure, &self.reader) {
                (Structure::Exact(w), Reader::Exact(r)) => {
                    w.remove(r.slots(), self.shape.key_words, encoded.key.as_ptr());
                    r.set_direct(&encoded.key, None);
                }
                (Structure::Masked(w), Reader::Masked(r)) => {
                    w.replace(r, &encoded.mask, &record.block, None, &self.domain);
                }
                (Structure::Trie(w), Reader::Trie(r)) => {
                    w.remove(r, encoded.key[0], encoded.rank as u32, &self.domain);
                }
                _ => unreachable!("writer and reader are made together"),
            }
        }
        pool.release(&record.action);
        self.account.release(self.price.own());
        self.adjust_size_estimate(-1);
        self.release(record.extras.as_deref());
        if let Some(index) = record.index() {
            writer.indices.release(index);
        }
        self.domain.retire((record.block, record.counter, record.extras));
    }

    /// Updates the size estimate after `entries` were added (or removed, if negative).
    fn adjust_size_estimate(&self, entries: isize) {
        // `Masked` tables are never prefetched, so their size does not count.
        let each = if let Reader::Masked(_) = self.reader { 0 } else { BYTES_PER_ENTRY };
        self.bytes.fetch_add(entries.wrapping_mul(each) as usize, Ordering::Relaxed);
    }

    fn encode(&self, matches: &[MatchValue], priority: i32) -> Encoded {
        let mut encoded = Encoded::default();
        self.encode_into(&mut encoded, matches, priority);
        encoded
    }

    pub(super) fn encode_into(&self, e: &mut Encoded, matches: &[MatchValue], priority: i32) {
        let Encoded { key, mask, bounds, rank } = e;
        [&mut *key, mask, bounds].into_iter().for_each(Vec::clear);
        *rank = MatchValue::rank(matches, priority, self.pipeline[self.id].has_priority());
        key.resize(self.layout.words, 0);
        if let Reader::Masked(_) = self.reader {
            mask.resize(self.layout.words, 0);
        }
        for (field, value) in self.layout.fields.iter().zip(matches) {
            let value_bits = match value {
                MatchValue::Exact(v) | MatchValue::Optional(Some(v)) => v,
                MatchValue::Lpm { value, .. } | MatchValue::Ternary { value, .. } => value,
                MatchValue::Range { lo, hi } => {
                    push_limbs(bounds, lo, field.words());
                    push_limbs(bounds, hi, field.words());
                    continue;
                }
                MatchValue::Optional(None) => continue,
            };
            field.write(key, value_bits.iter_u64_digits());
            if !mask.is_empty() {
                let (_, compared) = value.value_and_mask(field.width).unwrap_or_default();
                field.write(mask, compared.iter_u64_digits());
            }
        }
    }

    pub(super) fn block(
        &self,
        pool: &mut SharedBlocks,
        e: &Encoded,
        data: &mut Vec<u64>,
        parts: EntryParts<'_>,
    ) -> EntryMemory {
        let EntryParts { sequence, action, counter, extras } = parts;
        let mut make = || {
            data.clear();
            if let Some(extras) = extras {
                data.extend(extras.words().into_iter().take(self.lead_words()));
            }
            match self.data.iter().find(|(id, _)| *id == action.action) {
                Some((_, layout)) => layout.push(data, &action.args),
                None => data.extend(action_data(action, &self.pipeline)),
            }
            data.resize(data.len().max(self.least_words), 0);
            Block::new(
                self.shape,
                &Contents {
                    rank: Rank { priority: e.rank, earliness: u64::MAX - sequence },
                    key: &e.key[..self.shape.key_words],
                    bounds: &e.bounds,
                    action: action.action.0,
                    hit: 1,
                    counter: counter.map_or(std::ptr::null_mut(), |c| c.as_ptr()),
                    data,
                },
                Some(&self.arena),
            )
        };
        if self.shares { pool.take(action, make) } else { EntryMemory::Own(make()) }
    }
}
