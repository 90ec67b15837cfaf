//! Match-action tables.
//!
//! A table has one writer at a time, serialised by a lock, and readers that never wait. An update stores a few words
//! and retires the memory it replaced (see `quiescence`). [`Table`] is the control-plane interface. The lookup
//! structures are in `lookup` and `trie`, built from `slots`, `bits` and `block`. `profile` and `indirect` implement
//! action profiles and direct meters. `hopwright_ir::entry` defines which entries are legal.
//!
//! A direct counter is one cell per entry without a copy per worker, so a table with direct counters serves one worker
//! only.

mod arena;
mod bits;
mod block;
mod direct;
mod entry;
pub(crate) mod footprint;
mod indirect;
mod lookup;
mod offloaded;
mod pages;
pub(crate) mod prefetch;
mod profile;
mod removed;
mod shared;
mod slots;
mod stored;
mod trie;
mod write;

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hopwright_abi::DataLayout;
use hopwright_abi::{
    ActionEntry, CounterCell, NO_ENTRY_INDEX, TableHandle, direct_entries, index_word, lead_words, least_data_words,
};
use hopwright_abi::{KeyLayout, prefix_bits};
use hopwright_interp::Entry;
use hopwright_ir::entry::{EntryIndices, check_entry};
use hopwright_ir::{ActionCall, ActionId, ExternId, MatchForm, MatchValue, Pipeline, TableEntry, TableId};

use crate::account::Account;
use crate::build_error::BuildError;
use crate::control::error::ControlError;
use crate::offload::Device;
use crate::state::cell::{Cells, Frame};
use crate::sync::quiescence::{self, Domain};
use arena::Arena;
use block::{Block, Contents, Link, Rank, Shape, action_data};
pub(crate) use entry::EntryCells;
use entry::{EntryExtras, MatchKey, StoredEntry, split};
use footprint::EntryPrice;
use lookup::{Exact, MAX_KEY_WORDS, Masked, MaskedWriter, RangeField};
use shared::{EntryMemory, SharedBlocks};
use slots::SlotsWriter;
use stored::StoredEntries;
use trie::{Trie, TrieWriter};

pub(crate) use prefetch::{Fetcher, LINE, prefetch_lines};
pub(crate) use profile::{Profiles, choose};
pub use removed::RemovedEntry;

/// Estimated bytes that the lookups of one entry touch: the entry block and the index slots that lead to it.
const BYTES_PER_ENTRY: isize = 96;

/// A match-action table of a running program.
pub struct Table {
    pipeline: Arc<Pipeline>,
    id: TableId,
    layout: KeyLayout,
    /// The layout of this table's entry blocks.
    shape: Shape,
    /// True if entries with the same action share one entry block.
    shares: bool,
    /// The layout of the action data, for each action.
    data: Vec<(ActionId, DataLayout)>,
    /// The minimum words of data in an entry, including the lead words.
    least_words: usize,
    /// Allocates the entry blocks.
    arena: Arc<Arena>,
    domain: Arc<Domain>,
    /// The action profile or selector that implements the table, if any.
    profile: Option<Arc<Profiles>>,
    /// For each object with a cell for each entry.
    cells: Box<[Box<dyn EntryCells>]>,
    // Dropped before `reader`, which points to its blocks. Both are dropped only when no reader is left.
    writer: Mutex<Writer>,
    reader: Reader,
    /// Estimated bytes that lookups touch in total; the key prefetcher compares it with the caches.
    bytes: AtomicUsize,
    /// What bytes of entries' counters are without.
    pub(crate) frame: Frame,
    /// What runs the program, if that is not here.
    device: OnceLock<Arc<Device>>,
    /// What entries are charged to.
    account: Arc<Account>,
    price: EntryPrice,
    /// The most entries that there were at a time. Changed by the writer only.
    most_entries: AtomicUsize,
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
    records: StoredEntries,
    /// Entry blocks shared between entries with the same action.
    pool: SharedBlocks,
    sequence: u64,
    /// In tables with cells for entries.
    indices: EntryIndices,
    default: DefaultEntry,
    /// Scratch space for encoding keys; kept to avoid allocations.
    encoded: Encoded,
    data: Vec<u64>,
}

/// An entry whose block exists but is not linked into the lookup structure yet.
struct UnlinkedEntry {
    sequence: u64,
    block: EntryMemory,
    counter: Option<Arc<Cells>>,
    extras: Option<Box<EntryExtras>>,
}

/// The contents of an entry block apart from its match key.
struct EntryParts<'a> {
    sequence: u64,
    action: &'a ActionCall,
    counter: Option<&'a Cells>,
    extras: Option<&'a EntryExtras>,
}

struct DefaultEntry {
    call: ActionCall,
    block: Block,
}

/// The result of [`Table::lookup`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The action to run.
    pub action: ActionId,
    /// True if an entry matched, false if this is the default action.
    pub hit: bool,
    /// The action's arguments, as consecutive 64-bit limbs.
    pub data: Vec<u64>,
}

/// A match key, mask and range bounds, encoded as 64-bit words.
#[derive(Default)]
struct Encoded {
    key: Vec<u64>,
    mask: Vec<u64>,
    bounds: Vec<u64>,
    rank: i64,
}

impl Table {
    /// Creates the table with its initial entries and default action.
    ///
    /// # Errors
    /// The table uses an unsupported feature.
    pub fn new(pipeline: &Arc<Pipeline>, id: TableId, domain: &Arc<Domain>) -> Result<Table, BuildError> {
        let profile = pipeline[id].implementation.and_then(|object| Profiles::new(pipeline, object, domain));
        Table::with_objects(pipeline, id, domain, profile, Box::default(), &Arc::default())
    }

    /// Like [`Table::new`], with the action profile that implements the table, which several tables may share, and the objects
    /// with a cell for each entry.
    pub(crate) fn with_objects(
        pipeline: &Arc<Pipeline>,
        id: TableId,
        domain: &Arc<Domain>,
        profile: Option<Arc<Profiles>>,
        cells: Box<[Box<dyn EntryCells>]>,
        account: &Arc<Account>,
    ) -> Result<Table, BuildError> {
        let model = &pipeline[id];
        let refused = |what: String| BuildError::Program(format!("table `{}`: {what}", model.name));
        let layout = KeyLayout::of(model);
        if layout.words > MAX_KEY_WORDS {
            return Err(refused("a key of more than 64 words of 64 bits is not supported yet".into()));
        }
        let exact = model.match_keys().all(|k| k.kind.form() == MatchForm::Value);
        let data = model.actions.iter().map(|a| (a.action, DataLayout::of(&pipeline[a.action]))).collect();
        let least_words = least_data_words(pipeline, id);
        let data_words = data_words_of(pipeline, id);
        let trie = prefix_bits(model);
        let shape = shape_of(model);
        let counted = model.direct_counter.is_some() || model.idle_timeout;
        let shares = trie.is_some() && !counted && lead_words(model) == 0;
        let (reader, structure) = if exact {
            let direct = direct_entries(model).unwrap_or(0);
            (Reader::Exact(Exact::new(shape, data_words, direct)), Structure::Exact(SlotsWriter::default()))
        } else if let Some(bits) = trie {
            // There are few shared blocks, and they stay in the cache: no prefetching.
            let lines = if shares { 0 } else { prefetch::lines(0, shape.bytes(data_words)) };
            (Reader::Trie(Trie::new(bits, lines)), Structure::Trie(TrieWriter::default()))
        } else {
            let widths = layout.runs.iter().map(|run| run.width).collect();
            (Reader::Masked(Masked::new(shape, range_fields(model))), Structure::Masked(MaskedWriter::new(widths)))
        };
        let default = DefaultEntry::new(&model.default_action, pipeline, id);
        reader.set_default(default.block.entry());
        let table = Table {
            pipeline: pipeline.clone(),
            id,
            layout,
            shape,
            shares,
            data,
            least_words,
            arena: Arena::new(shape.bytes(data_words)),
            domain: domain.clone(),
            profile,
            cells,
            writer: Mutex::new(Writer {
                structure,
                records: StoredEntries::default(),
                pool: SharedBlocks::default(),
                sequence: 0,
                indices: EntryIndices::default(),
                default,
                encoded: Encoded::default(),
                data: Vec::new(),
            }),
            reader,
            bytes: AtomicUsize::new(0),
            frame: Frame::default(),
            device: OnceLock::new(),
            account: account.clone(),
            price: EntryPrice::of(pipeline, id),
            most_entries: AtomicUsize::new(0),
        };
        for entry in &model.entries {
            check_entry(pipeline, id, entry).map_err(|e| refused(e.to_string()))?;
            let (key, action) = split(entry.clone());
            let extras = table.extras(&action).map_err(|e| BuildError::Program(e.to_string()))?;
            let mut writer = table.lock();
            table.charge_entry(&writer).map_err(|e| BuildError::Program(e.to_string()))?;
            let hash = writer.records.hash(&key.matches, key.priority);
            table.add(&mut writer, hash, key, action, extras);
            drop(writer);
        }
        Ok(table)
    }

    /// Returns the handle that generated code uses for lookups. It is valid while the table lives. The calling thread
    /// must be inside the table's domain from the lookup until it has finished with the entry.
    pub fn handle(&self) -> TableHandle {
        match &self.reader {
            Reader::Exact(e) => e.handle(),
            Reader::Masked(m) => m.handle(),
            Reader::Trie(t) => t.handle(),
        }
    }

    /// Returns the function that prefetches for many lookups at once. It is valid while the table lives.
    pub(crate) fn fetcher(&self) -> Fetcher {
        let bytes = &raw const self.bytes;
        match &self.reader {
            Reader::Exact(e) => Fetcher { fetch: e.fetcher(), state: std::ptr::from_ref(&**e).cast(), bytes },
            Reader::Masked(m) => Fetcher { fetch: lookup::no_fetch, state: std::ptr::from_ref(&**m).cast(), bytes },
            Reader::Trie(t) => Fetcher { fetch: t.fetcher(), state: std::ptr::from_ref(&**t).cast(), bytes },
        }
    }

    /// Looks up a key, given as the limbs of its fields in order, exactly as generated code does. Returns `None` if the
    /// number of limbs is wrong or the reader belongs to another domain.
    pub fn lookup(&self, reader: &mut quiescence::Reader, key: &[u64]) -> Option<Found> {
        let fields = &self.layout.fields;
        if key.len() != fields.iter().map(|f| f.words()).sum::<usize>() || !reader.is_of(&self.domain) {
            return None;
        }
        let (mut words, mut rest) = (vec![0; self.layout.words], key.iter().copied());
        fields.iter().for_each(|f| f.write(&mut words, rest.by_ref().take(f.words())));
        let _guard = reader.enter();
        let handle = self.handle();
        // SAFETY: the handle is this table's, the key has the table's length, and this thread is inside the table's
        // domain. An entry's data are as long as its action's layout says.
        unsafe {
            let entry = (handle.lookup)(handle.state, words.as_ptr());
            let action = ActionId((*entry).action);
            let layout = DataLayout::of(&self.pipeline[action]);
            let data = entry.add(1).cast::<u64>().add(self.lead_words());
            let data = layout.limbs(std::slice::from_raw_parts(data, layout.words()));
            Some(Found { action, hit: (*entry).hit != 0, data })
        }
    }

    /// The table's index in the pipeline.
    pub fn id(&self) -> TableId {
        self.id
    }

    /// Calls `visit` for each entry, in no particular order.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(Entry<'_>)) {
        for (key, stored) in self.lock().records.iter() {
            visit(Entry {
                matches: &key.matches,
                priority: key.priority,
                sequence: stored.sequence,
                action: &stored.action,
                index: stored.index(),
                target: stored.target(),
            });
        }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.lock().records.len()
    }

    /// True if the table has no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the current default action.
    pub fn default_action(&self) -> ActionCall {
        self.lock().default.call.clone()
    }

    /// Returns all entries in insertion order. In a table with an action profile, an entry's action is the first action
    /// of its target at the time the entry was written.
    pub fn entries(&self) -> Vec<TableEntry> {
        let writer = self.lock();
        let mut records: Vec<(&MatchKey, &StoredEntry)> = writer.records.iter().collect();
        records.sort_unstable_by_key(|(_, record)| record.sequence);
        let entry = |(key, record): (&MatchKey, &StoredEntry)| TableEntry {
            matches: key.matches.clone(),
            priority: key.priority,
            action: record.action.clone(),
        };
        records.into_iter().map(entry).collect()
    }

    /// Returns the action of the entry with this match and priority.
    pub fn get(&self, matches: &[MatchValue], priority: i32) -> Option<ActionCall> {
        self.lock().records.get(matches, priority).map(|r| r.action.clone())
    }

    /// Checks that an entry is legal for this table, regardless of the number of entries.
    pub fn check_entry(&self, entry: &TableEntry) -> Result<(), ControlError> {
        check_entry(&self.pipeline, self.id, entry).map_err(|reason| ControlError::Entry { table: self.name(), reason })
    }

    /// The action profile that implements the table.
    pub(crate) fn implementation(&self) -> Option<ExternId> {
        self.pipeline[self.id].implementation
    }

    fn name(&self) -> String {
        self.pipeline[self.id].name.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The fields of a table's keys that are matched by range.
fn range_fields(model: &hopwright_ir::Table) -> Box<[RangeField]> {
    let layout = KeyLayout::of(model);
    let fields = model.keys.iter().zip(&layout.fields).filter(|(key, _)| key.kind.form() == MatchForm::Range);
    fields.map(|(_, field)| RangeField { word: field.word, words: field.words() }).collect()
}

/// The layout of a table's entry blocks.
fn shape_of(model: &hopwright_ir::Table) -> Shape {
    let exact = model.match_keys().all(|k| k.kind.form() == MatchForm::Value);
    let (key_words, ranges) = (KeyLayout::of(model).words, range_fields(model));
    let bound_words = ranges.iter().map(|range| 2 * range.words).sum();
    match (exact, prefix_bits(model)) {
        (true, _) => Shape { link: Link::None, key_words, bound_words },
        (_, Some(_)) => Shape::ALONE,
        (_, None) => Shape { link: Link::Chain, key_words, bound_words },
    }
}

/// The most words of data of an entry, lead words included.
fn data_words_of(pipeline: &Pipeline, id: TableId) -> usize {
    let model = &pipeline[id];
    let most = model.actions.iter().map(|a| DataLayout::of(&pipeline[a.action]).words()).max().unwrap_or(0);
    (lead_words(model) + most).max(least_data_words(pipeline, id))
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
    fn new(call: &ActionCall, pipeline: &Pipeline, table: TableId) -> DefaultEntry {
        let mut data = vec![0; lead_words(&pipeline[table])];
        if let Some(word) = index_word(&pipeline[table]) {
            data[word] = NO_ENTRY_INDEX;
        }
        data.extend(action_data(call, pipeline));
        data.resize(data.len().max(least_data_words(pipeline, table)), 0);
        let block = Block::new(
            Shape::ALONE,
            &Contents {
                rank: Rank { priority: 0, earliness: 0 },
                key: &[],
                bounds: &[],
                action: call.action.0,
                hit: 0,
                counter: std::ptr::null_mut::<CounterCell>(),
                data: &data,
            },
            None,
        );
        DefaultEntry { call: call.clone(), block }
    }
}

#[cfg(test)]
mod tests {
    use hopwright_driver::compile_text;

    use super::*;

    const PROGRAM: &str = r#"
        #include <v1model.p4>
        header h_t { bit<32> a; }
        struct headers { h_t h; }
        struct meta {}
        parser P(packet_in p, out headers hdr, inout meta m, inout standard_metadata_t sm) {
            state start { p.extract(hdr.h); transition accept; }
        }
        control V(inout headers hdr, inout meta m) { apply {} }
        control I(inout headers hdr, inout meta m, inout standard_metadata_t sm) {
            action to(bit<9> port) { sm.egress_spec = port; }
            table routes { key = { hdr.h.a : lpm; } actions = { to; NoAction; } size = 2; }
            apply { routes.apply(); }
        }
        control E(inout headers hdr, inout meta m, inout standard_metadata_t sm) { apply {} }
        control D(packet_out p, in headers hdr) { apply { p.emit(hdr); } }
        V1Switch(P(), V(), I(), E(), V(), D()) main;
    "#;

    #[test]
    fn a_refused_entry_keeps_no_memory() {
        let compiled = compile_text("routes.p4", PROGRAM, &Default::default(), true);
        let pipeline = Arc::new(compiled.pipeline.expect("it compiles"));
        let table = Table::new(&pipeline, TableId(0), &Domain::new()).unwrap();
        let action = pipeline.action_by_name("to").unwrap();
        let entry = |net: u32, port: u32| TableEntry {
            matches: vec![MatchValue::Lpm { value: (net << 24).into(), prefix_len: 8 }],
            priority: 0,
            action: ActionCall { action, args: vec![port.into()] },
        };
        table.insert(entry(10, 1)).unwrap();
        assert!(matches!(table.insert(entry(10, 2)), Err(ControlError::Duplicate(_))));
        table.insert(entry(11, 1)).unwrap();
        assert!(matches!(table.insert(entry(12, 3)), Err(ControlError::Full { .. })));
        assert!(matches!(table.insert(entry(12, 1)), Err(ControlError::Full { .. })));
        assert_eq!(table.lock().pool.len(), 1, "one block for the action of both entries");
        table.clear().unwrap();
        assert_eq!(table.lock().pool.len(), 0);
    }
}
