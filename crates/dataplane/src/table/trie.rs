//! Longest prefix match in one walk: a trie of 16, then 8, then 4 bits a step.
//!
//! A slot holds the entry of the longest prefix that ends in its node and covers it, or leads to a node of longer
//! prefixes, which remembers that entry for where it has none. So an update writes only slots of one node, and a lookup
//! reads two words a step. Keys that are matched exactly stand before the prefix as if they were its first bits.
//!
//! For keys of few bits only: a prefix costs up to a node for each step, and a hash table serves long ones better.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use hopwright_jit::abi::{ActionEntry, TableHandle};

use super::block::{NodePtr, rank};
use crate::quiescence::Domain;

/// Most bits of all keys together.
pub(super) const MAX_BITS: u32 = 48;
/// Most bits of the keys that are matched exactly.
pub(super) const MAX_EXACT_BITS: u32 = 16;
/// Marks a slot that leads to a node.
const CHILD: usize = 1;

/// Bits that a node at this depth decides; the root of a short key decides fewer.
const fn stride(depth: u32) -> u32 {
    match depth {
        0 => 16,
        16 => 8,
        _ => 4,
    }
}

/// Where a field of the key goes: words are read as they come, the prefix field is last in the bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    /// Word in the key.
    pub word: usize,
    /// Bits of the field.
    pub width: u32,
}

/// A node without its slots, which follow it: 2 to the power of its stride.
#[repr(C)]
struct Node {
    /// The entry where no longer prefix matches: the longest one that ends before this node.
    before: AtomicPtr<u64>,
    /// Entries here and below. Only the writer looks at it.
    entries: AtomicU32,
}

#[repr(C)]
struct Sized<const SLOTS: usize> {
    node: Node,
    slots: [AtomicPtr<u64>; SLOTS],
}

impl<const SLOTS: usize> Sized<SLOTS> {
    fn leak(before: *mut u64) -> NonNull<Node> {
        let node = Node { before: AtomicPtr::new(before), entries: AtomicU32::new(0) };
        let slots = [const { AtomicPtr::new(null_mut()) }; SLOTS];
        NonNull::from(Box::leak(Box::new(Sized { node, slots }))).cast()
    }
}

fn new_node(depth: u32, before: *mut u64) -> NonNull<Node> {
    match stride(depth) {
        8 => Sized::<256>::leak(before),
        _ => Sized::<16>::leak(before),
    }
}

/// A slot's node, if it leads to one.
#[inline(always)]
fn child(slot: *mut u64) -> Option<NonNull<Node>> {
    if slot.addr() & CHILD == 0 { None } else { NonNull::new(slot.map_addr(|a| a & !CHILD).cast()) }
}

/// A node taken out of the trie, freed with all below it.
struct Unlinked(NonNull<Node>, u32);

// SAFETY: the nodes belong to this value alone, apart from readers that its owner waits for before dropping it.
unsafe impl Send for Unlinked {}

impl Drop for Unlinked {
    fn drop(&mut self) {
        let Unlinked(node, depth) = *self;
        // SAFETY: the node is at this depth, nobody else reaches it any more.
        for slot in unsafe { slots(node, depth) } {
            if let Some(below) = child(slot.load(Ordering::Relaxed)) {
                drop(Unlinked(below, depth + stride(depth)));
            }
        }
        // SAFETY: made by `new_node` for this depth.
        unsafe {
            match stride(depth) {
                8 => drop(Box::from_raw(node.cast::<Sized<256>>().as_ptr())),
                _ => drop(Box::from_raw(node.cast::<Sized<16>>().as_ptr())),
            }
        }
    }
}

/// # Safety
/// `node` is alive for `'a` and was made for this depth, which is not 0.
unsafe fn slots<'a>(node: NonNull<Node>, depth: u32) -> &'a [AtomicPtr<u64>] {
    // SAFETY: by `new_node` a node lies at the beginning of a `Sized` with this many slots.
    unsafe {
        match stride(depth) {
            8 => &node.cast::<Sized<256>>().as_ref().slots,
            _ => &node.cast::<Sized<16>>().as_ref().slots,
        }
    }
}

/// The readers' side.
#[repr(align(64))]
pub(super) struct Trie {
    /// Of the root.
    slots: Box<[AtomicPtr<u64>]>,
    /// The entry of length 0.
    all: AtomicPtr<u64>,
    default: AtomicPtr<ActionEntry>,
    entry_offset: usize,
    root_bits: u32,
    fields: Box<[Field]>,
    bits: u32,
}

impl Trie {
    /// An empty trie. `fields`: those matched exactly, then the prefix; at most [`MAX_BITS`] together, at least 1.
    pub fn new(fields: Box<[Field]>, entry_offset: usize) -> Box<Trie> {
        let bits: u32 = fields.iter().map(|f| f.width).sum();
        debug_assert!((1..=MAX_BITS).contains(&bits));
        let root_bits = bits.min(stride(0));
        Box::new(Trie {
            slots: (0..1usize << root_bits).map(|_| AtomicPtr::default()).collect(),
            all: AtomicPtr::default(),
            default: AtomicPtr::default(),
            entry_offset,
            root_bits,
            fields,
            bits,
        })
    }

    pub fn handle(&self) -> TableHandle {
        let lookup = if let [_] = *self.fields { lookup::<true> } else { lookup::<false> };
        TableHandle {
            lookup,
            state: std::ptr::from_ref(self).cast(),
            default: std::ptr::from_ref(&self.default).cast(),
            direct: std::ptr::null(),
        }
    }

    pub fn set_default(&self, entry: *const ActionEntry) {
        self.default.store(entry.cast_mut(), Ordering::Release);
    }

    /// How many of the bits that decide a prefix of the last field fixes.
    fn length(&self, prefix_len: u32) -> u32 {
        let last = self.fields.last().map_or(0, |f| f.width);
        self.bits - last + prefix_len
    }

    /// The bits that decide, from the top of the word.
    ///
    /// # Safety
    /// `key` points to the table's key.
    #[inline(always)]
    unsafe fn aligned<const ALONE: bool>(&self, key: *const u64) -> u64 {
        let mut v = 0;
        if ALONE {
            // SAFETY: the one field is the whole key, of at most 48 bits.
            v = unsafe { key.read() };
        } else {
            for field in &self.fields {
                // SAFETY: the field lies within the key.
                v = v << field.width | unsafe { key.add(field.word).read() };
            }
        }
        v << (64 - self.bits)
    }

    /// The entry of the longest prefix of `v`, or null.
    ///
    /// # Safety
    /// The caller is in the table's domain.
    #[inline(always)]
    unsafe fn longest(&self, mut v: u64) -> NodePtr {
        // SAFETY: as many slots as root_bits can say.
        let mut slot =
            unsafe { self.slots.get_unchecked((v >> (64 - self.root_bits)) as usize) }.load(Ordering::Acquire);
        let mut best = null_mut();
        if let Some(node) = child(slot) {
            // Only keys of more than 16 bits lead here.
            v <<= 16;
            // SAFETY: linked nodes live while the caller is in the domain; this one is at depth 16.
            let node = unsafe { node.cast::<Sized<256>>().as_ref() };
            best = node.node.before.load(Ordering::Acquire);
            // SAFETY: eight bits.
            slot = unsafe { node.slots.get_unchecked((v >> 56) as usize) }.load(Ordering::Acquire);
            v <<= 8;
            while let Some(node) = child(slot) {
                // SAFETY: as above; it is at depth 24 or below.
                let node = unsafe { node.cast::<Sized<16>>().as_ref() };
                let before = node.node.before.load(Ordering::Acquire);
                if !before.is_null() {
                    best = before;
                }
                // SAFETY: four bits.
                slot = unsafe { node.slots.get_unchecked((v >> 60) as usize) }.load(Ordering::Acquire);
                v <<= 4;
            }
        }
        if !slot.is_null() {
            slot
        } else if !best.is_null() {
            best
        } else {
            self.all.load(Ordering::Acquire)
        }
    }
}

impl Drop for Trie {
    fn drop(&mut self) {
        for slot in &mut self.slots {
            if let Some(node) = child(*slot.get_mut()) {
                drop(Unlinked(node, stride(0)));
            }
        }
    }
}

unsafe extern "C" fn lookup<const ALONE: bool>(state: *const c_void, key: *const u64) -> *const ActionEntry {
    // SAFETY: `state` is the Trie whose handle this function is in; it outlives the handle's use.
    let trie = unsafe { &*state.cast::<Trie>() };
    // SAFETY: the caller passes the table's key and has entered its domain.
    let node = unsafe { trie.longest(trie.aligned::<ALONE>(key)) };
    if node.is_null() {
        return trie.default.load(Ordering::Acquire);
    }
    // SAFETY: the action entry lies at that offset in every block of this table.
    unsafe { node.byte_add(trie.entry_offset).cast() }
}

/// The writer's side of [`Trie`]: the entries by their bits, from the top of the word, and their lengths.
#[derive(Default)]
pub(super) struct TrieWriter {
    entries: HashMap<(u64, u32), Address>,
}

/// An entry's address.
struct Address(NodePtr);

// SAFETY: blocks may be sent and shared between threads; the address is as good on any of them.
unsafe impl Send for Address {}

fn ones(len: u32) -> u64 {
    u64::MAX.checked_shl(64 - len).unwrap_or(0)
}

/// The slots of the node in which a prefix ends, that it covers.
struct Covered<'a> {
    depth: u32,
    slots: &'a [AtomicPtr<u64>],
}

impl Covered<'_> {
    /// The places that hold entries: the slots, or where they lead to nodes, those nodes' own.
    fn places(&self) -> impl Iterator<Item = &AtomicPtr<u64>> {
        self.slots.iter().map(|slot| match child(slot.load(Ordering::Relaxed)) {
            // SAFETY: linked nodes live, and only the writer, who calls this, unlinks any.
            Some(node) => unsafe { &node.as_ref().before },
            None => slot,
        })
    }
}

impl TrieWriter {
    /// Links an entry, in place of the one with the same prefix if there is one.
    ///
    /// # Safety
    /// `node` is the address of a block of the table's shape, with rank `prefix_len`, which stays alive until unlinked
    /// and readers are quiet; this writer always goes with `trie`, and nobody else writes.
    pub unsafe fn put(&mut self, trie: &Trie, prefix_len: u32, node: NodePtr) {
        let len = trie.length(prefix_len);
        // SAFETY: a block's address is that of its key.
        let v = unsafe { trie.aligned::<false>(node) } & ones(len);
        let new = self.entries.insert((v, len), Address(node)).is_none();
        if len == 0 {
            trie.all.store(node, Ordering::Release);
            return;
        }
        // SAFETY: the caller's.
        let covered = unsafe { Self::covered(trie, v, len, new) };
        for place in covered.places() {
            let found = place.load(Ordering::Relaxed);
            // SAFETY: linked blocks live; the table's blocks carry ranks.
            if found.is_null() || unsafe { rank(found) }.priority <= i64::from(prefix_len) {
                place.store(node, Ordering::Release);
            }
        }
    }

    /// Unlinks an entry.
    ///
    /// # Safety
    /// As for [`TrieWriter::put`]; `node` is linked with this length.
    pub unsafe fn remove(&mut self, trie: &Trie, prefix_len: u32, node: NodePtr, domain: &Arc<Domain>) {
        let len = trie.length(prefix_len);
        // SAFETY: a block's address is that of its key.
        let v = unsafe { trie.aligned::<false>(node) } & ones(len);
        self.entries.remove(&(v, len));
        if len == 0 {
            trie.all.store(null_mut(), Ordering::Release);
            return;
        }
        // SAFETY: the caller's.
        let covered = unsafe { Self::covered(trie, v, len, false) };
        let shorter = (covered.depth + 1..len).rev().find_map(|l| self.entries.get(&(v & ones(l), l)));
        let instead = shorter.map_or(null_mut(), |a| a.0);
        for place in covered.places() {
            if place.load(Ordering::Relaxed) == node {
                place.store(instead, Ordering::Release);
            }
        }
        // SAFETY: the caller's.
        unsafe { Self::forget(trie, v, len, domain) };
    }

    /// The slots for a prefix of at least one bit, with the nodes on the way to them; `new`: counts it in these.
    ///
    /// # Safety
    /// As for [`TrieWriter::put`].
    unsafe fn covered(trie: &Trie, v: u64, len: u32, new: bool) -> Covered<'_> {
        let (mut depth, mut bits, mut here) = (0, trie.root_bits, &*trie.slots);
        loop {
            let rest = v << depth;
            let first = (rest >> (64 - bits)) as usize;
            if len <= depth + bits {
                let count = 1 << (depth + bits - len);
                return Covered { depth, slots: &here[first..first + count] };
            }
            let slot = &here[first];
            let found = slot.load(Ordering::Relaxed);
            depth += bits;
            let node = child(found).unwrap_or_else(|| {
                let node = new_node(depth, found);
                slot.store(node.as_ptr().cast::<u64>().map_addr(|a| a | CHILD), Ordering::Release);
                node
            });
            bits = stride(depth);
            // SAFETY: linked nodes live as long as the trie unless the writer unlinks them; this one is at that depth.
            unsafe {
                if new {
                    node.as_ref().entries.fetch_add(1, Ordering::Relaxed);
                }
                here = slots(node, depth);
            }
        }
    }

    /// Counts an entry that is gone, and unlinks the node on its way above which none is left.
    ///
    /// # Safety
    /// As for [`TrieWriter::put`].
    unsafe fn forget(trie: &Trie, v: u64, len: u32, domain: &Arc<Domain>) {
        let (mut depth, mut bits, mut here) = (0, trie.root_bits, &*trie.slots);
        while len > depth + bits {
            let slot = &here[(v << depth >> (64 - bits)) as usize];
            let Some(node) = child(slot.load(Ordering::Relaxed)) else { return };
            depth += bits;
            // SAFETY: linked nodes live; only the writer unlinks them.
            let live = unsafe { node.as_ref() };
            if live.entries.fetch_sub(1, Ordering::Relaxed) == 1 {
                slot.store(live.before.load(Ordering::Relaxed), Ordering::Release);
                domain.retire(Unlinked(node, depth));
                return;
            }
            bits = stride(depth);
            // SAFETY: it is at that depth.
            here = unsafe { slots(node, depth) };
        }
    }
}
