//! A hash table of block addresses ([`HashTable`]) for one writer and wait-free readers: open addressing with linear
//! probing. A slot is one word with 48 bits of address and 16 bits of hash.
//!
//! Keys are stored in the blocks. The array is at most half full (an eighth if it is small), so that most lookups read
//! one slot. Growing replaces the whole array; the cost per insertion is constant, amortised.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::ptr::without_provenance_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use hopwright_abi::HashTable;

use super::block::NodePtr;
use super::pages::Pointers;
use super::prefetch::{AT_ONCE, prefetch, prefetch_lines};
use crate::sync::quiescence::Domain;

/// The number of 64-bit words of a key: a constant for common widths.
pub(super) trait Width: Copy {
    fn words(self) -> usize;
}

/// A width of `K` words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Const<const K: usize>;

impl<const K: usize> Width for Const<K> {
    #[inline(always)]
    fn words(self) -> usize {
        K
    }
}

impl Width for usize {
    #[inline(always)]
    fn words(self) -> usize {
        self
    }
}

/// # Safety
/// Both point to `width` readable words.
#[inline(always)]
unsafe fn equal<W: Width>(width: W, a: *const u64, b: *const u64) -> bool {
    // SAFETY: the index is below the width.
    (0..width.words()).all(|i| unsafe { a.add(i).read() == b.add(i).read() })
}

/// The address in a slot whose block was removed. Block addresses are 8-aligned, so none equals it.
const TOMBSTONE: usize = HashTable::TOMBSTONE;

fn pack(node: NodePtr, hash: u64) -> NodePtr {
    assert!(node.addr() >> 48 == 0, "the system hands out addresses beyond 48 bits");
    node.map_addr(|a| a << HashTable::TAG_BITS | usize::from(HashTable::tag(hash)))
}

/// The block address in a slot; an address up to [`TOMBSTONE`] is not a block.
#[inline(always)]
fn block(slot: NodePtr) -> NodePtr {
    slot.map_addr(|a| a >> HashTable::TAG_BITS)
}

/// How many slots ahead [`SlotsWriter::fill`] prefetches keys.
const AHEAD: usize = 32;
/// How many hash functions are tried when keys cluster.
const ATTEMPTS: u32 = 4;
const ATTEMPTS_IF_SMALL: u32 = 16;

/// Arrays of at most this many slots are small: they are kept sparser, and rebuilt until no two keys collide.
const SMALL: usize = 4096;

/// The inverse of the maximum load factor of an array with `slots` slots.
fn sparseness(slots: usize) -> usize {
    if slots <= SMALL { 8 } else { 2 }
}

/// The array size for `blocks` blocks, such that as many more fit before it must grow.
fn slots_for(blocks: usize) -> usize {
    let mut slots = 16;
    while blocks * 2 * sparseness(slots) > slots {
        slots *= 2;
    }
    slots
}

/// The writer's handle of a [`HashTable`] array.
struct Array {
    words: Pointers,
    /// Index in `words` of the first slot; the header precedes it.
    first: usize,
}

/// A reader's view of an array.
#[derive(Clone, Copy)]
struct View<W: Width> {
    words: *const AtomicPtr<u64>,
    width: W,
}

impl Array {
    /// Creates an empty array with `slots` slots (a power of two). The hash multipliers are derived from `seed`.
    fn new(slots: usize, width: usize, seed: u64) -> Box<Array> {
        debug_assert!(slots.is_power_of_two() && slots > 1);
        let first = HashTable::slots(width);
        let words = Pointers::new(first + slots);
        let set =
            |word: usize, value: u64| words[word].store(without_provenance_mut(value as usize), Ordering::Relaxed);
        set(HashTable::SHIFT, (64 - slots.trailing_zeros()).into());
        set(HashTable::LAST, slots as u64 - 1);
        let mut state = seed;
        for i in 0..width {
            set(HashTable::MULTIPLIERS + i, mixed(&mut state) | 1);
        }
        Box::new(Array { words, first })
    }

    fn view<W: Width>(&self, width: W) -> View<W> {
        View { words: self.words.as_ptr(), width }
    }

    fn slots(&self) -> &[AtomicPtr<u64>] {
        &self.words[self.first..]
    }

    /// Inserts a block at the first free slot from its home slot on. Returns the distance from the home slot.
    fn insert(&self, hash: u64, node: NodePtr) -> usize {
        let (slots, last) = (self.slots(), self.slots().len() - 1);
        let home = (hash >> (64 - slots.len().trailing_zeros())) as usize;
        let mut i = home;
        while !slots[i].load(Ordering::Relaxed).is_null() {
            i = (i + 1) & last;
        }
        slots[i].store(pack(node, hash), Ordering::Release);
        i.wrapping_sub(home) & last
    }
}

/// Returns the next number of a splitmix64 sequence.
fn mixed(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

impl<W: Width> View<W> {
    /// # Safety
    /// The array is alive.
    #[inline(always)]
    unsafe fn header(self, word: usize) -> u64 {
        // SAFETY: every array has the words of its header.
        unsafe { &*self.words.add(word) }.load(Ordering::Relaxed).addr() as u64
    }

    /// # Safety
    /// The array is alive and `number` is below its number of slots.
    #[inline(always)]
    unsafe fn slot<'a>(self, number: usize) -> &'a AtomicPtr<u64> {
        // SAFETY: guaranteed by the caller.
        unsafe { &*self.words.add(HashTable::slots(self.width.words()) + number) }
    }

    /// Returns the hash of a key.
    ///
    /// # Safety
    /// The array is alive; `key` points to as many readable words as the array's keys have.
    #[inline(always)]
    unsafe fn hash(self, key: *const u64) -> u64 {
        let mut hash = 0u64;
        for i in 0..self.width.words() {
            // SAFETY: i < width.
            hash =
                hash.wrapping_add(unsafe { key.add(i).read().wrapping_mul(self.header(HashTable::MULTIPLIERS + i)) });
        }
        hash
    }

    /// Returns the home slot of a hash, and the index of the last slot.
    ///
    /// # Safety
    /// The array is alive.
    #[inline(always)]
    unsafe fn home(self, hash: u64) -> (usize, usize) {
        // SAFETY: guaranteed by the caller.
        unsafe { ((hash >> self.header(HashTable::SHIFT)) as usize, self.header(HashTable::LAST) as usize) }
    }

    /// Finds the first block with this hash that `is` accepts; returns its slot and address.
    ///
    /// # Safety
    /// The array is alive.
    #[inline(always)]
    unsafe fn find(self, hash: u64, is: impl Fn(NodePtr) -> bool) -> Option<(usize, NodePtr)> {
        // SAFETY: guaranteed by the caller.
        let (mut i, last) = unsafe { self.home(hash) };
        loop {
            // SAFETY: i <= last.
            let word = unsafe { self.slot(i) }.load(Ordering::Acquire);
            if word.is_null() {
                return None;
            }
            let node = block(word);
            if word.addr() as u16 == HashTable::tag(hash) && node.addr() > TOMBSTONE && is(node) {
                return Some((i, node));
            }
            i = (i + 1) & last;
        }
    }

    /// Finds the block with this key; returns its slot and address.
    ///
    /// # Safety
    /// As for [`View::hash`]; every address in the array is of a live block whose key has as many words.
    #[inline(always)]
    unsafe fn get(self, key: *const u64) -> Option<(usize, NodePtr)> {
        // SAFETY: guaranteed by the caller; what is found is a block's address.
        unsafe { self.find(self.hash(key), |node| equal(self.width, node, key)) }
    }
}

/// The readers' side of the hash table.
pub(super) struct Slots {
    /// The start of the array, for readers and generated code.
    start: AtomicPtr<AtomicPtr<u64>>,
    /// The same array, for the writer.
    array: AtomicPtr<Array>,
}

impl Slots {
    /// Creates an empty table for keys of `width` words. The multipliers are random because keys, such as host
    /// addresses, may be chosen by an attacker.
    pub(super) fn new(width: usize) -> Slots {
        let seed = RandomState::new().build_hasher().finish();
        let array = Array::new(slots_for(1), width, seed);
        Slots { start: AtomicPtr::new(array.words.as_ptr().cast_mut()), array: AtomicPtr::new(Box::into_raw(array)) }
    }

    /// The address at which generated code finds the pointer to the [`HashTable`] array.
    pub(super) fn hash_table(&self) -> *const *const u64 {
        (&raw const self.start).cast()
    }

    #[inline(always)]
    fn view<W: Width>(&self, width: W) -> View<W> {
        View { words: self.start.load(Ordering::Acquire), width }
    }

    /// Returns the block with this key, or null.
    ///
    /// # Safety
    /// `key` points to `width` words; `width` is that of the table's blocks; every block in the table, and every array
    /// unlinked since the caller entered its domain, is still alive.
    #[inline(always)]
    pub(super) unsafe fn get<W: Width>(&self, width: W, key: *const u64) -> NodePtr {
        // SAFETY: an array lives until all readers that may have loaded it are quiescent; the caller guarantees the
        // rest.
        match unsafe { self.view(width).get(key) } {
            Some((_, node)) => node,
            None => std::ptr::null_mut(),
        }
    }

    /// Prefetches what [`Slots::get`] reads for `count` consecutive keys, and the first `lines` cache lines of the
    /// blocks found.
    ///
    /// # Safety
    /// As for [`Slots::get`] for each key; `count` is at most [`AT_ONCE`].
    #[inline(always)]
    pub(super) unsafe fn fetch<W: Width>(&self, width: W, keys: *const u64, count: usize, lines: usize) {
        let view = self.view(width);
        let mut hashes = [0; AT_ONCE];
        for (i, place) in hashes.iter_mut().enumerate().take(count) {
            // SAFETY: the key is one of those the caller passes; the array lives as in `get`.
            unsafe {
                *place = view.hash(keys.add(i * width.words()));
                prefetch(view.slot(view.home(*place).0));
            }
        }
        for &hash in &hashes[..count] {
            // Comparing keys would wait for the block, so take the first block with this hash.
            // SAFETY: as above.
            if let Some((_, node)) = unsafe { view.find(hash, |_| true) } {
                prefetch_lines(node, lines);
            }
        }
    }

    /// Prefetches the slot that [`SlotsWriter::put`] reads for this key.
    ///
    /// # Safety
    /// `key` points to `width` words; the caller is the only writer.
    pub(super) unsafe fn prefetch(&self, width: usize, key: *const u64) {
        let view = self.view(width);
        // SAFETY: guaranteed by the caller; only the writer, which calls this, replaces the array.
        prefetch(unsafe { view.slot(view.home(view.hash(key)).0) });
    }

    /// Returns the addresses of all blocks. For the writer only: other threads may miss concurrent changes.
    pub(super) fn all(&self) -> impl Iterator<Item = NodePtr> {
        // SAFETY: the pointer is never null, and only the writer, which calls this, replaces the array.
        let array = unsafe { &*self.array.load(Ordering::Relaxed) };
        let words = array.slots().iter().map(|slot| block(slot.load(Ordering::Relaxed)));
        words.filter(|node| node.addr() > TOMBSTONE)
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        // SAFETY: the current array is owned by `self`; exclusive access means no reader has it.
        drop(unsafe { Box::from_raw(*self.array.get_mut()) });
    }
}

/// The writer's counters. Its methods require that no other writer is active.
#[derive(Debug, Default)]
pub(super) struct SlotsWriter {
    live: usize,
    /// Occupied slots: live blocks and tombstones.
    used: usize,
}

impl SlotsWriter {
    /// Links `node` in place of the block with the same key. Returns the replaced block, or null if there was none.
    ///
    /// # Safety
    /// `node` is the address of a live block with a key of `width` words, and stays alive until it is unlinked and
    /// readers are quiescent; this writer is always used with the same `slots`; there is no other writer.
    pub(super) unsafe fn put(&mut self, slots: &Slots, width: usize, node: NodePtr, domain: &Arc<Domain>) -> NodePtr {
        // SAFETY: the caller is the only writer, so the array is not replaced concurrently.
        let mut array = unsafe { &*slots.array.load(Ordering::Relaxed) };
        let view = array.view(width);
        // SAFETY: node's key has `width` words.
        let mut hash = unsafe { view.hash(node) };
        // SAFETY: as above; linked blocks are alive (guaranteed by the caller that linked them).
        if let Some((i, old)) = unsafe { view.find(hash, |there| equal(width, there, node)) } {
            array.slots()[i].store(pack(node, hash), Ordering::Release);
            return old;
        }
        if (self.used + 1) * sparseness(array.slots().len()) > array.slots().len() {
            // SAFETY: as above. The new array may have other multipliers.
            (array, hash) = unsafe {
                let array = self.rebuild(slots, array, width, domain);
                (array, array.view(width).hash(node))
            };
        }
        array.insert(hash, node);
        self.live += 1;
        self.used += 1;
        std::ptr::null_mut()
    }

    /// Unlinks the block with this key and returns it, null if there is none.
    /// Unlinks the block with this key. Returns it, or null if there is none.
    ///
    /// # Safety
    /// As for [`SlotsWriter::put`]; `key` points to `width` words.
    pub(super) unsafe fn remove(&mut self, slots: &Slots, width: usize, key: *const u64) -> NodePtr {
        // SAFETY: the caller is the only writer, so the array is not replaced concurrently.
        let array = unsafe { &*slots.array.load(Ordering::Relaxed) };
        // SAFETY: linked blocks are alive.
        let Some((i, node)) = (unsafe { array.view(width).get(key) }) else { return std::ptr::null_mut() };
        let slots = array.slots();
        let last_of_cluster = slots[(i + 1) & (slots.len() - 1)].load(Ordering::Relaxed).is_null();
        if last_of_cluster {
            slots[i].store(std::ptr::null_mut(), Ordering::Release);
            self.used -= 1;
        } else {
            slots[i].store(pack(without_provenance_mut(TOMBSTONE), 0), Ordering::Release);
        }
        self.live -= 1;
        node
    }

    /// Replaces the array by one with room for twice the live blocks and without tombstones.
    ///
    /// # Safety
    /// As for [`SlotsWriter::put`]; `old` is the current array.
    unsafe fn rebuild<'a>(&mut self, slots: &'a Slots, old: &Array, width: usize, domain: &Arc<Domain>) -> &'a Array {
        let count = slots_for(self.live + 1);
        // SAFETY: the array is alive.
        let mut seed = unsafe { old.view(width).header(HashTable::MULTIPLIERS) };
        let mut array = Array::new(count, width, seed);
        // SAFETY: guaranteed by the caller.
        let mut least = unsafe { Self::fill(&array, old, width) };
        // Some multipliers cluster some keys. The displacement accepted here is six times what random multipliers
        // cause.
        let (bearable, attempts) = if count <= SMALL { (0, ATTEMPTS_IF_SMALL) } else { (self.live, ATTEMPTS) };
        for _ in 1..attempts {
            if least <= bearable {
                break;
            }
            seed = mixed(&mut seed);
            let other = Array::new(count, width, seed);
            // SAFETY: guaranteed by the caller.
            let displaced = unsafe { Self::fill(&other, old, width) };
            if displaced < least {
                (array, least) = (other, displaced);
            }
        }
        self.used = self.live;
        slots.start.store(array.words.as_ptr().cast_mut(), Ordering::Release);
        let new = Box::into_raw(array);
        let old = slots.array.swap(new, Ordering::AcqRel);
        // SAFETY: `old` came from Box::into_raw and is unreachable; readers may still use it, so it is retired rather
        // than dropped.
        domain.retire(unsafe { Box::from_raw(old) });
        // SAFETY: `new` is now the current array; it stays while there is no other writer.
        unsafe { &*new }
    }

    /// Copies all blocks of `old` into `array`. Returns the sum of their distances from their home slots.
    ///
    /// # Safety
    /// As for [`SlotsWriter::rebuild`]; both arrays are for keys of `width` words.
    unsafe fn fill(array: &Array, old: &Array, width: usize) -> usize {
        let mut displaced = 0;
        let view = array.view(width);
        for (i, slot) in old.slots().iter().enumerate() {
            // The keys are scattered in memory: prefetch one of a later slot.
            if let Some(later) = old.slots().get(i + AHEAD) {
                prefetch(block(later.load(Ordering::Relaxed)));
            }
            let node = block(slot.load(Ordering::Relaxed));
            if node.addr() > TOMBSTONE {
                // SAFETY: a linked block is alive and its key has `width` words.
                displaced += array.insert(unsafe { view.hash(node) }, node);
            }
        }
        displaced
    }
}
