//! A hash table of addresses for one writer and wait-free readers: open addressing, linear probing, one word per
//! slot: 48 bits of address and 16 of the hash.
//!
//! The keys are in the blocks the addresses point to. The array is at most half full and is replaced when it grows,
//! so an update costs a slot, amortised.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::ahead::{AT_ONCE, prefetch, prefetch_lines};
use super::block::NodePtr;
use super::pages::Pointers;
use crate::quiescence::Domain;

/// Number of words of a key, known at compile time for the common ones.
pub(super) trait Width: Copy {
    fn words(self) -> usize;
}

/// That many words.
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

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// Hash of a key. The seed is random, because agents insert keys that strangers chose, such as hosts' addresses.
///
/// # Safety
/// `key` points to `width` readable words.
#[inline(always)]
unsafe fn hash<W: Width>(seed: u64, width: W, key: *const u64) -> u64 {
    let mut h = seed;
    for i in 0..width.words() {
        // SAFETY: i < width.
        let word = unsafe { key.add(i).read() };
        h = fold(h ^ word, 0xd6e8_feb8_6659_fd93 ^ ((i as u64) << 32));
    }
    h
}

/// # Safety
/// Both point to `width` readable words.
#[inline(always)]
unsafe fn equal<W: Width>(width: W, a: *const u64, b: *const u64) -> bool {
    // SAFETY: the index is below the width.
    (0..width.words()).all(|i| unsafe { a.add(i).read() == b.add(i).read() })
}

const ADDRESS: usize = (1 << 48) - 1;
/// Not a block's address (those are 8-aligned), and no tag is zero.
const TOMBSTONE: usize = 1;

#[inline(always)]
fn tag(hash: u64) -> usize {
    (hash >> 48) as usize | 1
}

fn pack(node: NodePtr, hash: u64) -> NodePtr {
    assert!(node.addr() & !ADDRESS == 0, "the system hands out addresses beyond 48 bits");
    node.map_addr(|a| a | tag(hash) << 48)
}

/// Slots between one that is read and one whose key is fetched.
const AHEAD: usize = 32;

struct Array {
    seed: u64,
    mask: usize,
    slots: Pointers,
}

impl Array {
    fn new(slots: usize, seed: u64) -> Box<Array> {
        debug_assert!(slots.is_power_of_two());
        Box::new(Array { seed, mask: slots - 1, slots: Pointers::new(slots) })
    }

    /// # Safety
    /// Every address in the array is of a live block whose key, like `key`, has `width` words.
    #[inline(always)]
    unsafe fn find<W: Width>(&self, width: W, hash: u64, key: *const u64) -> Option<(usize, NodePtr)> {
        let tag = tag(hash);
        let mut i = hash as usize & self.mask;
        loop {
            // SAFETY: i <= mask = slots - 1.
            let word = unsafe { self.slots.get_unchecked(i) }.load(Ordering::Acquire);
            if word.is_null() {
                return None;
            }
            if word.addr() >> 48 == tag {
                let node = word.map_addr(|a| a & ADDRESS);
                // SAFETY: a word with a tag holds a block's address.
                if unsafe { equal(width, node, key) } {
                    return Some((i, node));
                }
            }
            i = (i + 1) & self.mask;
        }
    }

    /// The first block whose key may have this hash.
    #[inline(always)]
    fn likely(&self, hash: u64) -> Option<NodePtr> {
        let mut i = hash as usize & self.mask;
        loop {
            // SAFETY: i <= mask = slots - 1.
            let word = unsafe { self.slots.get_unchecked(i) }.load(Ordering::Relaxed);
            if word.is_null() {
                return None;
            }
            if word.addr() >> 48 == tag(hash) {
                return Some(word.map_addr(|a| a & ADDRESS));
            }
            i = (i + 1) & self.mask;
        }
    }

    fn insert(&self, hash: u64, node: NodePtr) {
        let mut i = hash as usize & self.mask;
        while !self.slots[i].load(Ordering::Relaxed).is_null() {
            i = (i + 1) & self.mask;
        }
        self.slots[i].store(pack(node, hash), Ordering::Release);
    }
}

/// The readers' side.
pub(super) struct Slots {
    array: AtomicPtr<Array>,
}

impl Slots {
    /// The block with this key, or null.
    ///
    /// # Safety
    /// `key` points to `width` words; `width` is that of the table's blocks; every block in the table and every
    /// array unlinked since the caller entered its domain is still alive.
    #[inline(always)]
    pub unsafe fn get<W: Width>(&self, width: W, key: *const u64) -> NodePtr {
        // SAFETY: the pointer is never null and its array lives until all readers that may have loaded it are quiet.
        let array = unsafe { &*self.array.load(Ordering::Acquire) };
        // SAFETY: the caller's.
        match unsafe { array.find(width, hash(array.seed, width, key), key) } {
            Some((_, node)) => node,
            None => std::ptr::null_mut(),
        }
    }
}

impl Slots {
    /// Fetches what [`Slots::get`] reads for these keys, and so many lines of the blocks it finds.
    ///
    /// # Safety
    /// As for [`Slots::get`] for `count` keys, at most [`AT_ONCE`], one behind the other.
    #[inline(always)]
    pub unsafe fn fetch<W: Width>(&self, width: W, keys: *const u64, count: usize, lines: usize) {
        // SAFETY: as in `get`.
        let array = unsafe { &*self.array.load(Ordering::Acquire) };
        let mut hashes = [0; AT_ONCE];
        for (i, place) in hashes.iter_mut().enumerate().take(count) {
            // SAFETY: the key is one of those the caller promises.
            *place = unsafe { hash(array.seed, width, keys.add(i * width.words())) };
            prefetch(array.slots.as_ptr().wrapping_add(*place as usize & array.mask));
        }
        for &hash in &hashes[..count] {
            if let Some(node) = array.likely(hash) {
                prefetch_lines(node, lines);
            }
        }
    }

    /// Begins to fetch what [`SlotsWriter::put`] looks at for this key. For the writer.
    ///
    /// # Safety
    /// `key` points to `width` words; the caller is the only writer.
    pub unsafe fn prefetch(&self, width: usize, key: *const u64) {
        // SAFETY: the pointer is never null, and only the writer, who calls this, replaces the array.
        let array = unsafe { &*self.array.load(Ordering::Relaxed) };
        // SAFETY: the caller's.
        let hash = unsafe { hash(array.seed, width, key) };
        prefetch(array.slots.as_ptr().wrapping_add(hash as usize & array.mask));
    }

    /// All blocks' addresses. For the writer: others may miss some.
    pub fn all(&self) -> impl Iterator<Item = NodePtr> {
        // SAFETY: the pointer is never null, and only the writer, who calls this, replaces the array.
        let array = unsafe { &*self.array.load(Ordering::Relaxed) };
        let words = array.slots.iter().map(|slot| slot.load(Ordering::Relaxed));
        words.filter(|word| word.addr() > TOMBSTONE).map(|word| word.map_addr(|a| a & ADDRESS))
    }
}

impl Default for Slots {
    fn default() -> Self {
        let seed = RandomState::new().build_hasher().finish();
        Slots { array: AtomicPtr::new(Box::into_raw(Array::new(8, seed))) }
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        // SAFETY: the current array is owned by `self`; exclusive access means no reader has it.
        drop(unsafe { Box::from_raw(*self.array.get_mut()) });
    }
}

/// The writer's side: counts. All methods require that no other writer is active.
#[derive(Debug, Default)]
pub(super) struct SlotsWriter {
    live: usize,
    /// Live ones and tombstones.
    used: usize,
}

impl SlotsWriter {
    /// Links `node` in place of the block with the same key, which it returns (null if there was none).
    ///
    /// # Safety
    /// `node` is a live block's address with a key of `width` words, and stays alive until it is unlinked and readers
    /// are quiet; `slots` is the one this writer always goes with; nobody else writes.
    pub unsafe fn put(&mut self, slots: &Slots, width: usize, node: NodePtr, domain: &Arc<Domain>) -> NodePtr {
        // SAFETY: the caller is the only writer, so the array stays.
        let mut array = unsafe { &*slots.array.load(Ordering::Relaxed) };
        // SAFETY: node's key has `width` words.
        let h = unsafe { hash(array.seed, width, node) };
        // SAFETY: linked blocks are alive (this function's contract, when they were put).
        if let Some((i, old)) = unsafe { array.find(width, h, node) } {
            array.slots[i].store(pack(node, h), Ordering::Release);
            return old;
        }
        if (self.used + 1) * 2 > array.slots.len() {
            // SAFETY: as above.
            array = unsafe { self.rebuild(slots, array, width, domain) };
        }
        array.insert(h, node);
        self.live += 1;
        self.used += 1;
        std::ptr::null_mut()
    }

    /// Unlinks the block with this key and returns it, null if there is none.
    ///
    /// # Safety
    /// As for [`SlotsWriter::put`]; `key` points to `width` words.
    pub unsafe fn remove(&mut self, slots: &Slots, width: usize, key: *const u64) -> NodePtr {
        // SAFETY: the caller is the only writer, so the array stays.
        let array = unsafe { &*slots.array.load(Ordering::Relaxed) };
        // SAFETY: linked blocks are alive.
        let Some((i, node)) = (unsafe { array.find(width, hash(array.seed, width, key), key) }) else {
            return std::ptr::null_mut();
        };
        let last_of_cluster = array.slots[(i + 1) & array.mask].load(Ordering::Relaxed).is_null();
        if last_of_cluster {
            array.slots[i].store(std::ptr::null_mut(), Ordering::Release);
            self.used -= 1;
        } else {
            array.slots[i].store(std::ptr::without_provenance_mut(TOMBSTONE), Ordering::Release);
        }
        self.live -= 1;
        node
    }

    /// Moves to an array for twice the live blocks, without tombstones.
    ///
    /// # Safety
    /// As for [`SlotsWriter::put`]; `old` is the current array.
    unsafe fn rebuild<'a>(&mut self, slots: &'a Slots, old: &Array, width: usize, domain: &Arc<Domain>) -> &'a Array {
        let array = Array::new(((self.live + 1) * 4).next_power_of_two().max(8), old.seed);
        for (i, slot) in old.slots.iter().enumerate() {
            // Their keys are all over the memory.
            if let Some(later) = old.slots.get(i + AHEAD) {
                prefetch(later.load(Ordering::Relaxed).map_addr(|a| a & ADDRESS));
            }
            let word = slot.load(Ordering::Relaxed);
            if word.addr() > TOMBSTONE {
                let node = word.map_addr(|a| a & ADDRESS);
                // SAFETY: a linked block is alive and its key has `width` words.
                array.insert(unsafe { hash(array.seed, width, node) }, node);
            }
        }
        self.used = self.live;
        let new = Box::into_raw(array);
        let old = slots.array.swap(new, Ordering::AcqRel);
        // SAFETY: `old` came from Box::into_raw and is not reachable any more; readers may still use it, so it is
        // retired rather than dropped.
        domain.retire(unsafe { Box::from_raw(old) });
        // SAFETY: `new` is now the current array; it stays while there is no other writer.
        unsafe { &*new }
    }
}
