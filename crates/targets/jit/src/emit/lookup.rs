//! Lookup code generation: finds a table's entry by indexing, in a hash table, in a prefix tree, or with a call.
//!
//! Tables change while this code runs. The result is correct for some moment of the batch, provided that the hash
//! table's address is read exactly once per lookup: that load must not be repeated or moved. Loads through the address
//! depend on it, and processors execute dependent loads in order.

use std::mem::{offset_of, size_of};

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use hopwright_ir::{Expr, Table, TableId};

use crate::Unsupported;
use crate::emit::Emitter;
use hopwright_abi::{HashTable, KeyLayout, PrefixTree, is_hashed, prefix_bits};
use hopwright_abi::{TableHandle, direct_entries};

type Result<T> = std::result::Result<T, Unsupported>;

/// The expected size from which on a table's tags are compared before keys, which are then unlikely to be cached.
const LARGE: u64 = 16_384;

/// The depth in bits from which on prefix trees are searched by a call.
const MAX_DEPTH: u32 = 32;

/// A search of a hash table.
struct Search<'v> {
    table: Value,
    key: &'v [Value],
    hash: Value,
    /// Whether to compare tags.
    large: bool,
    /// Receives the address of the key that was found.
    found: Block,
    /// For keys that are not in the table.
    missed: Block,
    /// Receives the index of a slot with another key or a removed entry.
    other: Block,
}

impl Emitter<'_> {
    /// The words of a table's key.
    pub(crate) fn key(&mut self, table: &Table) -> Result<Vec<Value>> {
        let layout = KeyLayout::of(table);
        let mut words = Vec::with_capacity(layout.words);
        for run in layout.runs {
            let fields: Vec<&Expr> = run.keys.iter().map(|key| &table.keys[*key].expr).collect();
            let value = match fields.as_slice() {
                [field] => self.value(field)?,
                fields => self.join(fields)?,
            };
            words.extend(&value[..run.width.div_ceil(64) as usize]);
        }
        Ok(words)
    }

    fn handle(&mut self, id: TableId, at: usize) -> Value {
        let at = (id.index() * size_of::<TableHandle>() + at) as i32;
        self.b.ins().load(types::I64, self.flags.runtime, self.tables, at)
    }

    /// The address of a table's default entry.
    pub(crate) fn default_entry(&mut self, id: TableId) -> Value {
        let default = self.handle(id, offset_of!(TableHandle, default));
        self.b.ins().load(types::I64, self.flags.runtime, default, 0)
    }

    /// The entry for a key: an address, and the entry's offset from it.
    pub(crate) fn find_entry(&mut self, id: TableId, key: &[Value]) -> (Value, i32) {
        let table = &self.p[id];
        match key {
            [] => (self.default_entry(id), 0),
            [key] if direct_entries(table).is_some() => {
                let direct = self.handle(id, offset_of!(TableHandle, direct));
                let offset = self.b.ins().ishl_imm_u(*key, 3);
                let place = self.b.ins().iadd(direct, offset);
                (self.b.ins().load(types::I64, self.flags.runtime, place, 0), 0)
            }
            key if is_hashed(table) => (self.search(id, key), 8 * key.len() as i32),
            &[key] if let Some((exact, prefix)) = prefix_bits(table) => (self.descend(id, key, exact + prefix), 0),
            key => {
                self.before_call();
                (self.look_up(id, key), 0)
            }
        }
    }

    /// Looks up an entry by a call.
    fn look_up(&mut self, id: TableId, key: &[Value]) -> Value {
        let buffer = self.key_buffer(key.len());
        for (i, word) in key.iter().enumerate() {
            self.b.ins().store(self.flags.stack, *word, buffer, 8 * i as i32);
        }
        let lookup = self.handle(id, offset_of!(TableHandle, lookup));
        let state = self.handle(id, offset_of!(TableHandle, state));
        let call = self.b.ins().call_indirect(self.signatures.lookup, lookup, &[state, buffer]);
        self.b.inst_results(call)[0]
    }

    /// Searches a prefix tree for keys of `bits` bits.
    fn descend(&mut self, id: TableId, key: Value, bits: u32) -> Value {
        let flags = self.flags.entry;
        let [found, missed] = [(); 2].map(|()| self.b.create_block());
        self.b.set_cold_block(missed);
        let entry = self.b.append_block_param(found, types::I64);
        let root = self.handle(id, offset_of!(TableHandle, direct));
        let index = self.b.ins().ushr_imm_u(key, i64::from(bits - PrefixTree::root_bits(bits)));
        let mut place = (root, index, 0);
        let mut depth = PrefixTree::root_bits(bits);
        loop {
            let (node, index, at) = place;
            let offset = self.b.ins().ishl_imm_u(index, 3);
            let address = self.b.ins().iadd(node, offset);
            let slot = self.b.ins().load(types::I64, flags, address, at);
            let target = self.b.ins().ushr_imm_u(slot, i64::from(PrefixTree::SHIFT));
            let last = depth >= bits;
            // Deeper nodes are left to the call.
            let down = if last || depth > MAX_DEPTH { missed } else { self.b.create_block() };
            if !last {
                let leads_on = self.b.ins().band_imm_u(slot, PrefixTree::NODE as i64);
                let leaf = self.b.create_block();
                self.b.ins().brif(leads_on, down, &[], leaf, &[]);
                self.enter(leaf);
            }
            self.b.ins().brif(target, found, &[target.into()], missed, &[]);
            if down == missed {
                break;
            }
            self.enter(down);
            let stride = PrefixTree::stride(depth);
            let left = bits - depth;
            let index = if left >= stride {
                self.b.ins().ushr_imm_u(key, i64::from(left - stride))
            } else {
                self.b.ins().ishl_imm_u(key, i64::from(stride - left))
            };
            let index = self.b.ins().band_imm_u(index, (1 << stride) - 1);
            place = (target, index, PrefixTree::SLOTS as i32);
            depth += stride;
        }
        self.enter(missed);
        let called = self.look_up(id, &[key]);
        self.b.ins().jump(found, &[called.into()]);
        self.enter(found);
        entry
    }

    /// Searches a hash table. Returns the address of the key in front of the entry, or, if there is none, the address
    /// at the same distance in front of the default entry.
    fn search(&mut self, id: TableId, key: &[Value]) -> Value {
        let flags = self.flags.entry;
        let place = self.handle(id, offset_of!(TableHandle, hash));
        let table = self.b.ins().load(types::I64, flags, place, 0);
        let header = |g: &mut Self, word: usize| g.b.ins().load(types::I64, flags, table, 8 * word as i32);
        let mut hash = None;
        for (i, &word) in key.iter().enumerate() {
            let multiplier = header(self, HashTable::MULTIPLIERS + i);
            let product = self.b.ins().imul(multiplier, word);
            hash = Some(match hash {
                Some(sum) => self.b.ins().iadd(sum, product),
                None => product,
            });
        }
        let hash = hash.unwrap_or(table);
        let shift = header(self, HashTable::SHIFT);
        let first = self.b.ins().ushr(hash, shift);
        let [found, missed, other] = [(); 3].map(|()| self.b.create_block());
        let address = self.b.append_block_param(found, types::I64);
        let slot = self.b.append_block_param(other, types::I64);
        self.b.set_cold_block(missed);
        self.b.set_cold_block(other);
        let search = Search { table, key, hash, large: self.p[id].size >= LARGE, found, missed, other };
        self.look_at(&search, first, false);
        self.b.switch_to_block(other);
        let last = header(self, HashTable::LAST);
        let next = self.b.ins().iadd_imm_s(slot, 1);
        let next = self.b.ins().band(next, last);
        self.look_at(&search, next, true);
        self.b.seal_block(other);
        self.enter(missed);
        let default = self.default_entry(id);
        let before = self.b.ins().iadd_imm_s(default, -8 * key.len() as i64);
        self.b.ins().jump(found, &[before.into()]);
        self.enter(found);
        address
    }

    /// Probes a slot; `cold`: few keys get there.
    fn look_at(&mut self, search: &Search, slot: Value, cold: bool) {
        let &Search { table, key, hash, large, found, missed, other } = search;
        let flags = self.flags.entry;
        let block = |g: &mut Self, cold: bool| {
            let block = g.b.create_block();
            if cold {
                g.b.set_cold_block(block);
            }
            block
        };
        let offset = self.b.ins().ishl_imm_u(slot, 3);
        let place = self.b.ins().iadd(table, offset);
        let word = self.b.ins().load(types::I64, flags, place, 8 * HashTable::slots(key.len()) as i32);
        let address = self.b.ins().ushr_imm_u(word, i64::from(HashTable::TAG_BITS));
        let some = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, address, HashTable::TOMBSTONE as i64);
        let (there, none) = (block(self, cold), block(self, true));
        self.b.ins().brif(some, there, &[], none, &[]);
        self.enter(none);
        self.b.ins().brif(address, other, &[slot.into()], missed, &[]);
        self.enter(there);
        if large {
            let tag = self.b.ins().ushr_imm_u(hash, i64::from(HashTable::TAG_SHIFT));
            let [tag, there] = [tag, word].map(|v| self.b.ins().ireduce(types::I16, v));
            let same = self.b.ins().icmp(IntCC::Equal, tag, there);
            let go_on = block(self, cold);
            self.b.ins().brif(same, go_on, &[], other, &[slot.into()]);
            self.enter(go_on);
        }
        for (i, &wanted) in key.iter().enumerate() {
            let word = self.b.ins().load(types::I64, flags, address, 8 * i as i32);
            let equal = self.b.ins().icmp(IntCC::Equal, wanted, word);
            if i + 1 == key.len() {
                self.b.ins().brif(equal, found, &[address.into()], other, &[slot.into()]);
            } else {
                let same = block(self, cold);
                self.b.ins().brif(equal, same, &[], other, &[slot.into()]);
                self.enter(same);
            }
        }
    }
}
