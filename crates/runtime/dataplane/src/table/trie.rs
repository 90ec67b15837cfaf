//! Longest prefix match: a multibit trie with strides of 16, then 8, then 4 bits.
//!
//! A slot holds the entry of the longest prefix that ends in its node and covers the slot, or points to a child node of
//! longer prefixes. A child node keeps the entry that its slot held, for lookups that find nothing below. An update
//! therefore writes slots of one node only, and a lookup reads two words per step. Keys that are matched exactly are
//! treated as leading bits of the prefix.
//!
//! The trie suits short keys. A prefix costs up to one node per step, so hash tables serve long keys better.

use std::collections::HashMap;
use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use foldhash::fast::RandomState;
use hopwright_abi::PrefixTree;
use hopwright_abi::{ActionEntry, TableHandle};

use super::arena::Arena;
use super::pages::Pointers;
use super::prefetch::{AT_ONCE, prefetch, prefetch_lines};
use crate::sync::quiescence::Domain;

/// The maximum number of nodes below the root on the path of a key: at depths 16, 24, 28 and so on.
const MOST_NODES: usize = 7;

const fn stride(depth: u32) -> u32 {
    PrefixTree::stride(depth)
}

/// The contents of a slot: an entry with its prefix length, a node, or null.
type Slot = *mut u64;

/// Makes a slot value of an entry whose prefix is `len` bits long.
fn with_entry(entry: *const ActionEntry, len: u32) -> Slot {
    entry.cast_mut().cast::<u64>().map_addr(|a| packed(a, (len as usize) << 1))
}

fn with_node(node: NonNull<Node>) -> Slot {
    node.as_ptr().cast::<u64>().map_addr(|a| packed(a, PrefixTree::NODE))
}

fn packed(address: usize, low: usize) -> usize {
    assert!(address >> 48 == 0, "the system hands out addresses beyond 48 bits");
    address << PrefixTree::SHIFT | low
}

/// Returns the entry in a slot that does not hold a node; null if the slot is empty.
#[inline(always)]
fn entry(slot: Slot) -> *const ActionEntry {
    slot.map_addr(|a| a >> PrefixTree::SHIFT).cast()
}

/// Returns the prefix length of the entry in a slot; zero if the slot is empty.
fn length(slot: Slot) -> u32 {
    (slot.addr() as u16 >> 1).into()
}

/// The header of a node; its slots, two to the power of its stride, follow. It has a cache line of its own because
/// lookups seldom read it.
#[repr(C, align(64))]
struct Node {
    /// The entry of the longest prefix that ends before this node. Lookups that find nothing in the node use it.
    before: AtomicPtr<u64>,
    /// The number of entries in this node and below. Used by the writer only.
    entries: AtomicU32,
}

#[repr(C)]
struct Sized<const SLOTS: usize> {
    node: Node,
    slots: [AtomicPtr<u64>; SLOTS],
}

/// What a node at a depth other than 0 takes.
pub(super) fn node_bytes(depth: u32) -> u64 {
    (if stride(depth) == 8 { size_of::<Sized<256>>() } else { size_of::<Sized<16>>() }) as u64
}

/// Allocates nodes with strides of eight and four bits.
#[derive(Clone)]
struct Nodes {
    eight: Arc<Arena>,
    four: Arc<Arena>,
}

impl Nodes {
    fn new() -> Nodes {
        Nodes { eight: Arena::new(size_of::<Sized<256>>()), four: Arena::new(size_of::<Sized<16>>()) }
    }

    fn at(&self, depth: u32) -> &Arena {
        if stride(depth) == 8 { &self.eight } else { &self.four }
    }

    /// Creates an empty node for a depth other than 0.
    fn make(&self, depth: u32, before: *mut u64) -> NonNull<Node> {
        /// # Safety
        /// `at` is 64-byte aligned, points to memory of the size of [`Sized<SLOTS>`], and nobody else uses it.
        unsafe fn write<const SLOTS: usize>(at: NonNull<u8>, node: Node) {
            // SAFETY: guaranteed by the caller.
            unsafe { at.cast().write(Sized { node, slots: [const { AtomicPtr::new(null_mut()) }; SLOTS] }) }
        }
        let node = Node { before: AtomicPtr::new(before), entries: AtomicU32::new(0) };
        let piece = self.at(depth).take();
        // SAFETY: pieces are 64-byte aligned, and those of this depth's arena have the right size.
        unsafe { if stride(depth) == 8 { write::<256>(piece, node) } else { write::<16>(piece, node) } }
        piece.cast()
    }
}

/// Returns the slots of a node of any depth but 0.
fn slots_at(node: NonNull<Node>) -> *const AtomicPtr<u64> {
    const { assert!(offset_of!(Sized<16>, slots) == PrefixTree::SLOTS) };
    const { assert!(offset_of!(Sized<256>, slots) == PrefixTree::SLOTS) };
    node.as_ptr().wrapping_byte_add(PrefixTree::SLOTS).cast()
}

/// Returns the node that a slot points to, if it points to one.
#[inline(always)]
fn child(slot: Slot) -> Option<NonNull<Node>> {
    if slot.addr() & PrefixTree::NODE == 0 { None } else { NonNull::new(entry(slot).cast_mut().cast()) }
}

/// A node that was unlinked. Dropping it frees it and all nodes below.
struct Unlinked {
    node: NonNull<Node>,
    depth: u32,
    nodes: Nodes,
}

// SAFETY: only readers that its owner waits for before dropping it may still use the nodes.
unsafe impl Send for Unlinked {}

impl Drop for Unlinked {
    fn drop(&mut self) {
        // SAFETY: the node is at this depth, and it is unlinked.
        unsafe { free(&self.nodes, self.node, self.depth) };
    }
}

/// # Safety
/// The node is at this depth, was allocated by `nodes`, and is unlinked.
unsafe fn free(nodes: &Nodes, node: NonNull<Node>, depth: u32) {
    // SAFETY: guaranteed by the caller; nodes below are reachable through this one only.
    unsafe {
        for slot in slots(node, depth) {
            if let Some(below) = child(slot.load(Ordering::Relaxed)) {
                free(nodes, below, depth + stride(depth));
            }
        }
        nodes.at(depth).give(node.cast());
    }
}

/// # Safety
/// `node` is alive for `'a` and was made for this depth, which is not 0.
unsafe fn slots<'a>(node: NonNull<Node>, depth: u32) -> &'a [AtomicPtr<u64>] {
    // SAFETY: `Nodes::make` puts a node at the beginning of a `Sized` with this many slots.
    unsafe {
        match stride(depth) {
            8 => &node.cast::<Sized<256>>().as_ref().slots,
            _ => &node.cast::<Sized<16>>().as_ref().slots,
        }
    }
}

/// The readers' side of the trie.
#[repr(align(64))]
pub(super) struct Trie {
    /// The root's slots.
    slots: Pointers,
    /// Frees all nodes when dropped.
    nodes: Nodes,
    /// The entry of prefix length 0.
    all: AtomicPtr<u64>,
    default: AtomicPtr<ActionEntry>,
    /// Cache lines to prefetch per entry.
    lines: usize,
    root_bits: u32,
    /// The length of the key in bits, and how many of these are matched exactly.
    bits: u32,
    exact_bits: u32,
}

impl Trie {
    /// Creates an empty trie for keys of one word, which holds `exact_bits` and then `prefix_bits`: 1 to
    /// [`PrefixTree::MAX_BITS`] bits together. `lines` is the number of cache lines to prefetch per entry.
    pub(super) fn new((exact_bits, prefix_bits): (u32, u32), lines: usize) -> Box<Trie> {
        let bits = exact_bits + prefix_bits;
        debug_assert!((1..=PrefixTree::MAX_BITS).contains(&bits));
        let root_bits = PrefixTree::root_bits(bits);
        Box::new(Trie {
            slots: Pointers::new(1 << root_bits),
            nodes: Nodes::new(),
            all: AtomicPtr::default(),
            default: AtomicPtr::default(),
            lines,
            root_bits,
            bits,
            exact_bits,
        })
    }

    pub(super) fn handle(&self) -> TableHandle {
        TableHandle {
            lookup,
            state: std::ptr::from_ref(self).cast(),
            default: std::ptr::from_ref(&self.default).cast(),
            direct: self.slots.as_ptr().cast(),
            hash: std::ptr::null(),
        }
    }

    pub(super) fn set_default(&self, entry: *const ActionEntry) {
        self.default.store(entry.cast_mut(), Ordering::Release);
    }

    /// Returns the length of a prefix in the trie, which includes the bits matched exactly.
    fn length(&self, prefix_len: u32) -> u32 {
        self.exact_bits + prefix_len
    }

    /// Shifts the key's bits to the top of the word.
    #[inline(always)]
    fn aligned(&self, key: u64) -> u64 {
        key << (64 - self.bits)
    }

    /// Returns the entry of the longest prefix of `v`, or null.
    ///
    /// # Safety
    /// The caller is inside the table's domain.
    #[inline(always)]
    unsafe fn longest(&self, mut v: u64) -> *const ActionEntry {
        // SAFETY: the root has two to the power of `root_bits` slots.
        let mut slot =
            unsafe { self.slots.get_unchecked((v >> (64 - self.root_bits)) as usize) }.load(Ordering::Acquire);
        // The nodes on the path. Their `before` is read only if nothing is found further down.
        let mut path = [std::ptr::null::<Node>(); MOST_NODES];
        let mut nodes = 0;
        if let Some(node) = child(slot) {
            // Only keys of more than 16 bits have nodes below the root.
            v <<= 16;
            path[0] = node.as_ptr();
            nodes = 1;
            // SAFETY: linked nodes live while the caller is inside the domain; this one is at depth 16, where the
            // stride is eight bits.
            slot = unsafe { node.cast::<Sized<256>>().as_ref().slots.get_unchecked((v >> 56) as usize) }
                .load(Ordering::Acquire);
            v <<= 8;
            while let Some(node) = child(slot) {
                // SAFETY: a path has at most MOST_NODES nodes.
                *unsafe { path.get_unchecked_mut(nodes) } = node.as_ptr();
                nodes += 1;
                // SAFETY: as above; the node is at depth 24 or below, where the stride is four bits.
                slot = unsafe { node.cast::<Sized<16>>().as_ref().slots.get_unchecked((v >> 60) as usize) }
                    .load(Ordering::Acquire);
                v <<= 4;
            }
        }
        if !slot.is_null() {
            return entry(slot);
        }
        for &node in path[..nodes].iter().rev() {
            // SAFETY: as above.
            let before = unsafe { &*node }.before.load(Ordering::Acquire);
            if !before.is_null() {
                return entry(before);
            }
        }
        entry(self.all.load(Ordering::Acquire))
    }

    pub(super) fn fetcher(&self) -> unsafe fn(*const c_void, *const u64, usize) {
        fetch
    }

    /// Prefetches what [`Trie::longest`] reads for these keys, and the entries it finds.
    ///
    /// # Safety
    /// As for [`Trie::longest`]; `keys` points to `count` keys of the table, at most [`AT_ONCE`].
    #[inline(always)]
    unsafe fn fetch(&self, keys: *const u64, count: usize) {
        /// The state of one key's search.
        #[derive(Clone, Copy)]
        struct Cursor {
            /// The slot to read next.
            place: *const AtomicPtr<u64>,
            /// The key's bits behind those that selected the slot, at the top of the word.
            v: u64,
        }
        let mut cursors = [Cursor { place: null_mut(), v: 0 }; AT_ONCE];
        for (i, cursor) in cursors.iter_mut().enumerate().take(count) {
            // SAFETY: the key is one of those the caller passes.
            let v = self.aligned(unsafe { keys.add(i).read() });
            let place = self.slots.as_ptr().wrapping_add((v >> (64 - self.root_bits)) as usize);
            prefetch(place);
            *cursor = Cursor { place, v: v << 16 };
        }
        let mut left = count;
        let mut step = stride(16);
        for _ in 0..=MOST_NODES {
            let mut still = 0;
            for i in 0..left {
                let Cursor { place, v } = cursors[i];
                // SAFETY: the slot is in the root or in a linked node, which lives while the caller is inside the
                // domain.
                let found = unsafe { &*place }.load(Ordering::Acquire);
                if let Some(node) = child(found) {
                    let place = slots_at(node).wrapping_add((v >> (64 - step)) as usize);
                    prefetch(place);
                    cursors[still] = Cursor { place, v: v << step };
                    still += 1;
                } else {
                    prefetch_lines(entry(found), self.lines);
                }
            }
            (left, step) = (still, stride(24));
            if left == 0 {
                break;
            }
        }
    }
}

/// # Safety
/// `state` is a live [`Trie`], and `key` points to a key of one word. The caller has entered the table's domain.
unsafe extern "C" fn lookup(state: *const c_void, key: *const u64) -> *const ActionEntry {
    // SAFETY: `state` is the Trie whose handle this function is in; it outlives the handle's use.
    let trie = unsafe { &*state.cast::<Trie>() };
    // SAFETY: the caller passes the table's key and has entered its domain.
    let found = unsafe { trie.longest(trie.aligned(key.read())) };
    if found.is_null() { trie.default.load(Ordering::Acquire) } else { found }
}

/// # Safety
/// As for [`super::Fetcher::fetch`].
unsafe fn fetch(state: *const c_void, keys: *const u64, count: usize) {
    // SAFETY: `state` is the Trie whose fetcher this function is in; it outlives the fetcher's use.
    let trie = unsafe { &*state.cast::<Trie>() };
    for from in (0..count).step_by(AT_ONCE) {
        // SAFETY: there are `count` keys of one word; the caller has entered the table's domain.
        unsafe { trie.fetch(keys.add(from), AT_ONCE.min(count - from)) };
    }
}

/// The writer's side of [`Trie`]: slot values by the prefix's bits, at the top of the word, and its length.
#[derive(Default)]
pub(super) struct TrieWriter {
    entries: HashMap<(u64, u32), SlotValue, RandomState>,
}

/// A slot value.
struct SlotValue(Slot);

// SAFETY: entries may be sent to and shared between threads, and their addresses are valid on all of them.
unsafe impl Send for SlotValue {}

fn ones(len: u32) -> u64 {
    u64::MAX.checked_shl(64 - len).unwrap_or(0)
}

/// The slots that a prefix covers, in the node in which it ends.
struct Covered<'a> {
    depth: u32,
    slots: &'a [AtomicPtr<u64>],
}

impl Covered<'_> {
    /// Returns the places that hold entries: the slot itself, or `before` of the node that the slot points to.
    fn places(&self) -> impl Iterator<Item = &AtomicPtr<u64>> {
        self.slots.iter().map(|slot| match child(slot.load(Ordering::Relaxed)) {
            // SAFETY: linked nodes live, and only the writer, which calls this, unlinks them.
            Some(node) => unsafe { &node.as_ref().before },
            None => slot,
        })
    }
}

impl TrieWriter {
    /// Links an entry for a key's prefix. It replaces an entry with the same prefix.
    ///
    /// # Safety
    /// The entry stays alive until it is unlinked and readers are quiescent; this writer is always used with the same
    /// `trie`; no other thread writes.
    pub(super) unsafe fn put(&mut self, trie: &Trie, key: u64, prefix_len: u32, entry: *const ActionEntry) {
        let len = trie.length(prefix_len);
        let v = trie.aligned(key) & ones(len);
        let slot = with_entry(entry, len);
        let new = self.entries.insert((v, len), SlotValue(slot)).is_none();
        if len == 0 {
            trie.all.store(slot, Ordering::Release);
            return;
        }
        // SAFETY: guaranteed by the caller.
        let covered = unsafe { Self::covered(trie, v, len, new) };
        for place in covered.places() {
            if length(place.load(Ordering::Relaxed)) <= len {
                place.store(slot, Ordering::Release);
            }
        }
    }

    /// Unlinks the entry with a key's prefix, if there is one.
    ///
    /// # Safety
    /// As for [`TrieWriter::put`].
    pub(super) unsafe fn remove(&mut self, trie: &Trie, key: u64, prefix_len: u32, domain: &Arc<Domain>) {
        let len = trie.length(prefix_len);
        let v = trie.aligned(key) & ones(len);
        if self.entries.remove(&(v, len)).is_none() {
            return;
        }
        if len == 0 {
            trie.all.store(null_mut(), Ordering::Release);
            return;
        }
        // SAFETY: guaranteed by the caller.
        let covered = unsafe { Self::covered(trie, v, len, false) };
        let shorter = (covered.depth + 1..len).rev().find_map(|l| self.entries.get(&(v & ones(l), l)));
        let instead = shorter.map_or(null_mut(), |held| held.0);
        for place in covered.places() {
            // An entry of this length in a covered place is the removed one.
            if length(place.load(Ordering::Relaxed)) == len {
                place.store(instead, Ordering::Release);
            }
        }
        // SAFETY: guaranteed by the caller.
        unsafe { Self::uncount(trie, v, len, domain) };
    }

    /// Returns the slots that a prefix of at least one bit covers, and creates the nodes on the path to them. If `new`,
    /// counts the prefix in these nodes.
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
                let node = trie.nodes.make(depth, found);
                slot.store(with_node(node), Ordering::Release);
                node
            });
            bits = stride(depth);
            // SAFETY: linked nodes live until the writer unlinks them; this one is at that depth.
            unsafe {
                if new {
                    node.as_ref().entries.fetch_add(1, Ordering::Relaxed);
                }
                here = slots(node, depth);
            }
        }
    }

    /// Uncounts a removed entry in the nodes on its path, and unlinks the first of them that has no entry left.
    ///
    /// # Safety
    /// As for [`TrieWriter::put`].
    unsafe fn uncount(trie: &Trie, v: u64, len: u32, domain: &Arc<Domain>) {
        let (mut depth, mut bits, mut here) = (0, trie.root_bits, &*trie.slots);
        while len > depth + bits {
            let slot = &here[(v << depth >> (64 - bits)) as usize];
            let Some(node) = child(slot.load(Ordering::Relaxed)) else { return };
            depth += bits;
            // SAFETY: linked nodes live; only the writer unlinks them.
            let live = unsafe { node.as_ref() };
            if live.entries.fetch_sub(1, Ordering::Relaxed) == 1 {
                slot.store(live.before.load(Ordering::Relaxed), Ordering::Release);
                domain.retire(Unlinked { node, depth, nodes: trie.nodes.clone() });
                return;
            }
            bits = stride(depth);
            // SAFETY: the node is at this depth.
            here = unsafe { slots(node, depth) };
        }
    }
}
