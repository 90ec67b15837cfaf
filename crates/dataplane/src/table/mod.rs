//! Tables: what the control plane writes and packets look up.
//!
//! One writer at a time (a lock among writers), readers that never wait: an update changes a few words and retires
//! what it replaced. Lives here: [`Table`], the control side. The structures are in `lookup` and `trie`, their parts in
//! `slots` and `block`; what a legal entry is, in `hopwright_ir::entry`.
//!
//! Direct counters have one cell per entry, written by the worker: a table serves one worker.

mod block;
mod lookup;
mod slots;
mod trie;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;
use hopwright_ir::entry::{check_default, check_entry};
use hopwright_ir::{ActionCall, ActionId, MatchKind, MatchValue, Pipeline, TableEntry, TableId};
use hopwright_jit::abi::{ActionEntry, CounterCell, TableHandle, direct_entries};
use num_bigint::BigUint;

use crate::cell::{Cells, Count};
use crate::control::ControlError;
use crate::limbs::{limbs_of, push_limbs};
use crate::quiescence::{self, Domain};
use block::{Block, Contents, Rank, Shape};
use lookup::{Exact, MAX_KEY_WORDS, Masked, MaskedWriter, RangeField};
use slots::SlotsWriter;
use trie::{Trie, TrieWriter};

/// A table of a running program.
pub struct Table {
    pipeline: Arc<Pipeline>,
    id: TableId,
    keys: Vec<KeyField>,
    shape: Shape,
    domain: Arc<Domain>,
    // The writer's state is dropped before the structure that points to its blocks; both only when no reader is left.
    writer: Mutex<Writer>,
    reader: Reader,
}

#[derive(Clone, Copy, Debug)]
struct KeyField {
    kind: MatchKind,
    width: u32,
    /// Words in the key; where they begin follows from the order.
    words: usize,
}

enum Reader {
    Exact(Box<Exact>),
    Masked(Box<Masked>),
    Trie(Box<Trie>),
}

enum Structure {
    Exact(SlotsWriter),
    Masked(MaskedWriter),
    Trie(TrieWriter),
}

struct Writer {
    structure: Structure,
    records: HashMap<MatchKey, Record, RandomState>,
    sequence: u64,
    default: DefaultEntry,
}

struct DefaultEntry {
    call: ActionCall,
    block: Block,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct MatchKey {
    matches: Vec<MatchValue>,
    priority: i32,
}

struct Record {
    /// Counts insertions.
    sequence: u64,
    action: ActionCall,
    block: Block,
    /// The direct counter; it survives a change of the action.
    counter: Option<Arc<Cells>>,
}

/// What a lookup found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The action to run.
    pub action: ActionId,
    /// Whether an entry matched; else it is the default action.
    pub hit: bool,
    /// The action's arguments in limbs.
    pub data: Vec<u64>,
}

/// A key, mask and bounds in words.
struct Encoded {
    key: Vec<u64>,
    mask: Vec<u64>,
    bounds: Vec<u64>,
    rank: i64,
}

impl Table {
    /// The table as the program says it starts. Refuses what is not supported with a message.
    pub fn new(pipeline: &Arc<Pipeline>, id: TableId, domain: &Arc<Domain>) -> Result<Table, String> {
        let model = &pipeline[id];
        let unsupported = |what: &str| Err(format!("table `{}`: {what} is not supported yet", model.name));
        if model.implementation.is_some() {
            return unsupported("an action profile or selector as implementation");
        }
        if model.direct_meter.is_some() {
            return unsupported("a direct meter");
        }
        let keys: Vec<KeyField> = model
            .keys
            .iter()
            .map(|k| {
                let width = k.expr.ty.width();
                KeyField { kind: k.kind, width, words: limbs_of(width) }
            })
            .collect();
        let key_words = keys.iter().map(|k| k.words).sum();
        if key_words > MAX_KEY_WORDS {
            return unsupported("a key of more than 64 words of 64 bits");
        }
        let mut ranges = Vec::new();
        let mut word = 0;
        for key in &keys {
            if key.kind == MatchKind::Range {
                ranges.push(RangeField { word, words: key.words });
            }
            word += key.words;
        }
        let bound_words = ranges.iter().map(|r| 2 * r.words).sum();
        let exact = keys.iter().all(|k| k.kind == MatchKind::Exact);
        let shape = Shape { linked: !exact, key_words, bound_words };
        let (reader, structure) = if exact {
            let direct = direct_entries(model).unwrap_or(0);
            (Reader::Exact(Exact::new(shape, direct)), Structure::Exact(SlotsWriter::default()))
        } else if let Some(fields) = trie_fields(&keys) {
            (Reader::Trie(Trie::new(fields, shape.entry_offset())), Structure::Trie(TrieWriter::default()))
        } else {
            (Reader::Masked(Masked::new(shape, ranges.into())), Structure::Masked(MaskedWriter::default()))
        };
        let default = DefaultEntry::new(&model.default_action, pipeline);
        reader.set_default(default.block.entry());
        let table = Table {
            pipeline: pipeline.clone(),
            id,
            keys,
            shape,
            domain: domain.clone(),
            writer: Mutex::new(Writer { structure, records: HashMap::default(), sequence: 0, default }),
            reader,
        };
        for entry in &model.entries {
            check_entry(pipeline, id, entry).map_err(|e| format!("table `{}`: {e}", model.name))?;
            let (key, action) = split(entry.clone());
            table.add(&mut table.lock(), key, action);
        }
        Ok(table)
    }

    /// What generated code calls. Valid as long as the table; a reader must be in the table's domain from the call
    /// until it is done with the entry.
    pub fn handle(&self) -> TableHandle {
        match &self.reader {
            Reader::Exact(e) => e.handle(),
            Reader::Masked(m) => m.handle(),
            Reader::Trie(t) => t.handle(),
        }
    }

    /// What generated code would find for a key, given as limbs. `None` if the key has not the table's length or the
    /// reader is of another domain.
    pub fn lookup(&self, reader: &mut quiescence::Reader, key: &[u64]) -> Option<Found> {
        if key.len() != self.shape.key_words || !reader.is_of(&self.domain) {
            return None;
        }
        let _guard = reader.enter();
        let handle = self.handle();
        // SAFETY: the handle is this table's, the key has its length, and this thread is in its domain; the entry's
        // data are as long as its action's parameters.
        unsafe {
            let entry = (handle.lookup)(handle.state, key.as_ptr());
            let action = ActionId((*entry).action);
            let words = self.pipeline[action].params.iter().map(|p| limbs_of(p.ty.width())).sum();
            let data = std::slice::from_raw_parts(entry.add(1).cast::<u64>(), words).to_vec();
            Some(Found { action, hit: (*entry).hit != 0, data })
        }
    }

    /// The entry that generated code finds for these key values, or nothing; and what it runs. For people who want to
    /// know: it takes time in proportion to the number of entries.
    pub fn find(&self, keys: &[BigUint]) -> (Option<TableEntry>, ActionCall) {
        let writer = self.lock();
        let default = writer.default.call.clone();
        if keys.is_empty() || keys.len() != self.keys.len() {
            return (None, default);
        }
        let mut words = Vec::with_capacity(self.shape.key_words);
        for (field, value) in self.keys.iter().zip(keys) {
            push_limbs(&mut words, value, field.words);
        }
        let handle = self.handle();
        // SAFETY: the handle is this table's and the key has its length; the lock keeps all entries alive.
        let found = unsafe { (handle.lookup)(handle.state, words.as_ptr()) };
        match writer.records.iter().find(|(_, r)| std::ptr::eq(r.block.entry(), found)) {
            Some((key, record)) => {
                let (matches, action) = (key.matches.clone(), record.action.clone());
                (Some(TableEntry { matches, priority: key.priority, action: action.clone() }), action)
            }
            None => (None, default),
        }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.lock().records.len()
    }

    /// True if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an entry.
    pub fn insert(&self, entry: TableEntry) -> Result<(), ControlError> {
        self.check(&entry)?;
        let (key, action) = split(entry);
        let mut writer = self.lock();
        if writer.records.contains_key(&key) {
            return Err(ControlError::Duplicate(self.name()));
        }
        let size = self.pipeline[self.id].size;
        if writer.records.len() as u64 >= size {
            return Err(ControlError::Full { table: self.name(), size });
        }
        self.add(&mut writer, key, action);
        Ok(())
    }

    /// Changes the action of an entry; its direct counter goes on.
    pub fn modify(&self, entry: TableEntry) -> Result<(), ControlError> {
        self.check(&entry)?;
        let mut writer = self.lock();
        let (key, action) = split(entry);
        let Writer { records, structure, .. } = &mut *writer;
        let record = records.get_mut(&key).ok_or_else(|| ControlError::NotFound(self.name()))?;
        let encoded = self.encode(&key.matches, key.priority);
        let block = self.block(&encoded, record.sequence, &action, record.counter.as_deref());
        // SAFETY: the lock makes this the only writer; the old block is linked; the new one has the same key, mask
        // and rank and lives in the record until it is retired.
        unsafe {
            match (structure, &self.reader) {
                (Structure::Exact(w), Reader::Exact(r)) => {
                    w.put(r.slots(), self.shape.key_words, block.address(), &self.domain);
                    r.set_direct(&encoded.key, block.entry());
                }
                (Structure::Masked(w), Reader::Masked(r)) => {
                    w.replace(r, &encoded.mask, &record.block, Some(&block), &self.domain);
                }
                (Structure::Trie(w), Reader::Trie(r)) => w.put(r, encoded.rank as u32, block.address()),
                _ => unreachable!("writer and reader are made together"),
            }
        }
        record.action = action;
        self.domain.retire(std::mem::replace(&mut record.block, block));
        Ok(())
    }

    /// Removes the entry with these keys and priority.
    pub fn delete(&self, matches: &[MatchValue], priority: i32) -> Result<(), ControlError> {
        self.check_entries_changeable()?;
        let key = MatchKey { matches: matches.to_vec(), priority };
        let mut writer = self.lock();
        let record = writer.records.remove(&key).ok_or_else(|| ControlError::NotFound(self.name()))?;
        self.unlink(&mut writer.structure, &key, record);
        Ok(())
    }

    /// Removes all entries.
    pub fn clear(&self) -> Result<(), ControlError> {
        self.check_entries_changeable()?;
        let mut writer = self.lock();
        let Writer { records, structure, .. } = &mut *writer;
        for (key, record) in records.drain() {
            self.unlink(structure, &key, record);
        }
        Ok(())
    }

    /// Sets the default action; `None`: the program's.
    pub fn set_default(&self, call: Option<ActionCall>) -> Result<(), ControlError> {
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
        let default = DefaultEntry::new(&call, &self.pipeline);
        let mut writer = self.lock();
        self.reader.set_default(default.block.entry());
        let old = std::mem::replace(&mut writer.default, default);
        self.domain.retire(old.block);
        Ok(())
    }

    /// The default action in force.
    pub fn default_action(&self) -> ActionCall {
        self.lock().default.call.clone()
    }

    /// All entries in order of insertion.
    pub fn entries(&self) -> Vec<TableEntry> {
        let writer = self.lock();
        let mut records: Vec<(&MatchKey, &Record)> = writer.records.iter().collect();
        records.sort_unstable_by_key(|(_, record)| record.sequence);
        let entry = |(key, record): (&MatchKey, &Record)| TableEntry {
            matches: key.matches.clone(),
            priority: key.priority,
            action: record.action.clone(),
        };
        records.into_iter().map(entry).collect()
    }

    /// The action of the entry with these keys and priority.
    pub fn get(&self, matches: &[MatchValue], priority: i32) -> Option<ActionCall> {
        let key = MatchKey { matches: matches.to_vec(), priority };
        self.lock().records.get(&key).map(|r| r.action.clone())
    }

    /// The direct counter of an entry.
    pub fn direct_count(&self, matches: &[MatchValue], priority: i32) -> Result<Count, ControlError> {
        if self.pipeline[self.id].direct_counter.is_none() {
            return Err(ControlError::NoDirectCounter(self.name()));
        }
        let key = MatchKey { matches: matches.to_vec(), priority };
        let writer = self.lock();
        let record = writer.records.get(&key).ok_or_else(|| ControlError::NotFound(self.name()))?;
        Ok(record.counter.as_ref().map(|c| c.read(0)).unwrap_or_default())
    }

    /// How often an entry was hit, in tables with a direct counter or idle timeouts; zero in others, or if there is no
    /// such entry.
    pub fn hits(&self, matches: &[MatchValue], priority: i32) -> u64 {
        let key = MatchKey { matches: matches.to_vec(), priority };
        let writer = self.lock();
        let counter = writer.records.get(&key).and_then(|r| r.counter.as_ref());
        counter.map_or(0, |c| c.read(0).packets)
    }

    /// Sets the direct counter of an entry. What a worker counts at the same moment may be lost.
    pub fn set_direct_count(&self, matches: &[MatchValue], priority: i32, count: Count) -> Result<(), ControlError> {
        if self.pipeline[self.id].direct_counter.is_none() {
            return Err(ControlError::NoDirectCounter(self.name()));
        }
        let key = MatchKey { matches: matches.to_vec(), priority };
        let writer = self.lock();
        let record = writer.records.get(&key).ok_or_else(|| ControlError::NotFound(self.name()))?;
        if let Some(counter) = &record.counter {
            counter.write(0, count);
        }
        Ok(())
    }

    fn name(&self) -> String {
        self.pipeline[self.id].name.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_entries_changeable(&self) -> Result<(), ControlError> {
        if self.pipeline[self.id].const_entries { Err(ControlError::ConstEntries(self.name())) } else { Ok(()) }
    }

    fn check(&self, entry: &TableEntry) -> Result<(), ControlError> {
        self.check_entries_changeable()?;
        check_entry(&self.pipeline, self.id, entry).map_err(|reason| ControlError::Entry { table: self.name(), reason })
    }

    fn add(&self, writer: &mut Writer, key: MatchKey, action: ActionCall) {
        let sequence = writer.sequence;
        writer.sequence += 1;
        let model = &self.pipeline[self.id];
        let counter = (model.direct_counter.is_some() || model.idle_timeout).then(|| Arc::new(Cells::new(1)));
        let encoded = self.encode(&key.matches, key.priority);
        let block = self.block(&encoded, sequence, &action, counter.as_deref());
        // SAFETY: the lock makes this the only writer; the block lives in its record until it is unlinked and
        // retired.
        unsafe {
            match (&mut writer.structure, &self.reader) {
                (Structure::Exact(w), Reader::Exact(r)) => {
                    w.put(r.slots(), self.shape.key_words, block.address(), &self.domain);
                    r.set_direct(&encoded.key, block.entry());
                }
                (Structure::Masked(w), Reader::Masked(r)) => w.insert(r, &encoded.mask, &block, &self.domain),
                (Structure::Trie(w), Reader::Trie(r)) => w.put(r, encoded.rank as u32, block.address()),
                _ => unreachable!("writer and reader are made together"),
            }
        }
        writer.records.insert(key, Record { sequence, action, block, counter });
    }

    fn unlink(&self, structure: &mut Structure, key: &MatchKey, record: Record) {
        let encoded = self.encode(&key.matches, key.priority);
        // SAFETY: the lock makes this the only writer; the block is linked.
        unsafe {
            match (structure, &self.reader) {
                (Structure::Exact(w), Reader::Exact(r)) => {
                    w.remove(r.slots(), self.shape.key_words, encoded.key.as_ptr());
                    r.set_direct(&encoded.key, std::ptr::null());
                }
                (Structure::Masked(w), Reader::Masked(r)) => {
                    w.replace(r, &encoded.mask, &record.block, None, &self.domain);
                }
                (Structure::Trie(w), Reader::Trie(r)) => {
                    w.remove(r, encoded.rank as u32, record.block.address(), &self.domain);
                }
                _ => unreachable!("writer and reader are made together"),
            }
        }
        self.domain.retire((record.block, record.counter));
    }

    fn encode(&self, matches: &[MatchValue], priority: i32) -> Encoded {
        let words = self.shape.key_words;
        let mut e =
            Encoded { key: Vec::with_capacity(words), mask: Vec::new(), bounds: Vec::new(), rank: i64::from(priority) };
        let masked = matches!(self.reader, Reader::Masked(_));
        let zero = BigUint::ZERO;
        for (field, value) in self.keys.iter().zip(matches) {
            let key = match value {
                MatchValue::Exact(v) | MatchValue::Optional(Some(v)) => v,
                MatchValue::Lpm { value, prefix_len } => {
                    if !self.pipeline[self.id].has_priority() {
                        e.rank = i64::from(*prefix_len);
                    }
                    value
                }
                MatchValue::Ternary { value, .. } => value,
                MatchValue::Range { lo, hi } => {
                    push_limbs(&mut e.bounds, lo, field.words);
                    push_limbs(&mut e.bounds, hi, field.words);
                    &zero
                }
                MatchValue::Optional(None) => &zero,
            };
            push_limbs(&mut e.key, key, field.words);
            if masked {
                push_limbs(&mut e.mask, &mask_of(field.width, value), field.words);
            }
        }
        e
    }

    fn block(&self, e: &Encoded, sequence: u64, action: &ActionCall, counter: Option<&Cells>) -> Block {
        Block::new(
            self.shape,
            &Contents {
                rank: Rank { priority: e.rank, earliness: u64::MAX - sequence },
                key: &e.key,
                bounds: &e.bounds,
                action: action.action.0,
                hit: 1,
                counter: counter.map_or(std::ptr::null_mut(), |c| c.as_ptr()),
                data: &action_data(action, &self.pipeline),
            },
        )
    }
}

impl Reader {
    fn set_default(&self, entry: *const ActionEntry) {
        match self {
            Reader::Exact(e) => e.set_default(entry),
            Reader::Masked(m) => m.set_default(entry),
            Reader::Trie(t) => t.set_default(entry),
        }
    }
}

impl DefaultEntry {
    fn new(call: &ActionCall, pipeline: &Pipeline) -> DefaultEntry {
        let shape = Shape { linked: false, key_words: 0, bound_words: 0 };
        let block = Block::new(
            shape,
            &Contents {
                rank: Rank { priority: 0, earliness: 0 },
                key: &[],
                bounds: &[],
                action: call.action.0,
                hit: 0,
                counter: std::ptr::null_mut::<CounterCell>(),
                data: &action_data(call, pipeline),
            },
        );
        DefaultEntry { call: call.clone(), block }
    }
}

/// The fields of a key that a trie serves: one prefix, and few bits matched exactly.
fn trie_fields(keys: &[KeyField]) -> Option<Box<[trie::Field]>> {
    let (mut exact, mut prefix) = (Vec::new(), None);
    let mut word = 0;
    for key in keys {
        let field = trie::Field { word, width: key.width };
        match key.kind {
            MatchKind::Exact => exact.push(field),
            MatchKind::Lpm if prefix.is_none() => prefix = Some(field),
            _ => return None,
        }
        word += key.words;
    }
    let exact_bits: u32 = exact.iter().map(|f| f.width).sum();
    let prefix = prefix.filter(|p| p.width > 0)?;
    exact.push(prefix);
    let fits = exact_bits <= trie::MAX_EXACT_BITS && exact_bits + prefix.width <= trie::MAX_BITS;
    fits.then(|| exact.into())
}

/// Ones where the match looks.
fn mask_of(width: u32, value: &MatchValue) -> BigUint {
    let ones = hopwright_ir::bits::mask(width);
    match value {
        MatchValue::Exact(_) | MatchValue::Optional(Some(_)) => ones,
        MatchValue::Lpm { prefix_len, .. } => {
            let rest = width - prefix_len;
            (ones >> rest) << rest
        }
        MatchValue::Ternary { mask, .. } => mask.clone(),
        MatchValue::Range { .. } | MatchValue::Optional(None) => BigUint::ZERO,
    }
}

fn split(entry: TableEntry) -> (MatchKey, ActionCall) {
    (MatchKey { matches: entry.matches, priority: entry.priority }, entry.action)
}

fn action_data(call: &ActionCall, pipeline: &Pipeline) -> Vec<u64> {
    let mut data = Vec::new();
    for (param, arg) in pipeline[call.action].params.iter().zip(&call.args) {
        push_limbs(&mut data, arg, limbs_of(param.ty.width()));
    }
    data
}
