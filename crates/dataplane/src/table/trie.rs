//! Longest prefix match: a multibit trie with strides of 16, then 8, then 4 bits.
//!
//! A slot holds the entry of the longest prefix that ends in its node and covers it, or leads to a node of longer prefixes,
//! which remembers that entry for its own misses. An update therefore writes only slots of one node, and a lookup reads two
//! words per step. Exact keys precede the prefix as if they were its first bits.
//!
//! The trie is for keys of few bits: a prefix costs up to a node per step, and a hash table serves long keys better.

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

/// Most nodes on the path of a key: at depths 16, 24, 28 and so on.
const MOST_NODES: usize = 7;

const fn stride(depth: u32) -> u32 {
    PrefixTree::stride(depth)
}

/// What is in a slot: an entry or a node.
type Slot = *mut u64;

/// A slot with an entry whose prefix has so many bits.
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

/// The entry in a slot that has one, or null if it is empty.
#[inline(always)]
fn entry(slot: Slot) -> *const ActionEntry {
    slot.map_addr(|a| a >> PrefixTree::SHIFT).cast()
}

/// The bits of the prefix of the entry in a slot, zero if it is empty.
fn length(slot: Slot) -> u32 {
    (slot.addr() as u16 >> 1).into()
}

/// A node without its slots, which follow it: 2 to the power of its stride. In a line of its own, because lookups seldom
/// read it.
#[repr(C, align(64))]
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

/// Memory of the nodes that decide eight bits and of those that decide four.
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

    /// An empty node for this depth, which is not 0.
    fn make(&self, depth: u32, before: *mut u64) -> NonNull<Node> {
        /// # Safety
        /// Nobody else's memory of the size of a [`Sized`] with so many slots, 64-aligned.
        unsafe fn write<const SLOTS: usize>(at: NonNull<u8>, node: Node) {
            // SAFETY: the caller's.
            unsafe { at.cast().write(Sized { node, slots: [const { AtomicPtr::new(null_mut()) }; SLOTS] }) }
        }
        let node = Node { before: AtomicPtr::new(before), entries: AtomicU32::new(0) };
        let piece = self.at(depth).take();
        // SAFETY: pieces are 64-aligned and, for this depth, of this size.
        unsafe { if stride(depth) == 8 { write::<256>(piece, node) } else { write::<16>(piece, node) } }
        piece.cast()
    }
}

/// The slots of a node of any depth but 0.
fn slots_at(node: NonNull<Node>) -> *const AtomicPtr<u64> {
    const { assert!(offset_of!(Sized<16>, slots) == PrefixTree::SLOTS) };
    const { assert!(offset_of!(Sized<256>, slots) == PrefixTree::SLOTS) };
    node.as_ptr().wrapping_byte_add(PrefixTree::SLOTS).cast()
}

/// A slot's node, if it leads to one.
#[inline(always)]
fn child(slot: Slot) -> Option<NonNull<Node>> {
    if slot.addr() & PrefixTree::NODE == 0 { None } else { NonNull::new(entry(slot).cast_mut().cast()) }
}

/// A node taken out of the trie, freed with all below it.
struct Unlinked {
    node: NonNull<Node>,
    depth: u32,
    nodes: Nodes,
}

// SAFETY: the nodes belong to this value alone, apart from readers that its owner waits for before dropping it.
unsafe impl Send for Unlinked {}

impl Drop for Unlinked {
    fn drop(&mut self) {
        // SAFETY: the node is at this depth, it is unlinked.
        unsafe { free(&self.nodes, self.node, self.depth) };
    }
}

/// # Safety
/// The node is at this depth and was made by these; it is unlinked.
unsafe fn free(nodes: &Nodes, node: NonNull<Node>, depth: u32) {
    // SAFETY: the caller's; what is below a node is reached through it only.
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
    // SAFETY: by `Nodes::make` a node lies at the beginning of a `Sized` with this many slots.
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
    slots: Pointers,
    /// Frees all nodes when it is dropped.
    nodes: Nodes,
    /// The entry of length 0.
    all: AtomicPtr<u64>,
    default: AtomicPtr<ActionEntry>,
    /// Cache lines of the largest entry that are to be fetched.
    lines: usize,
    root_bits: u32,
    /// Bits of the key, and how many of them are matched exactly.
    bits: u32,
    exact_bits: u32,
}

impl Trie {
    /// An empty trie for keys of one word, with so many bits: those matched exactly, then the prefix; at most [`PrefixTree::MAX_BITS`]
    /// together, at least 1. `lines`: cache lines of an entry that are to be fetched.
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

    /// How many of the bits that decide a prefix fixes.
    fn length(&self, prefix_len: u32) -> u32 {
        self.exact_bits + prefix_len
    }

    /// The bits that decide, from the top of the word.
    #[inline(always)]
    fn aligned(&self, key: u64) -> u64 {
        key << (64 - self.bits)
    }

    /// The entry of the longest prefix of `v`, or null.
    ///
    /// # Safety
    /// The caller is in the table's domain.
    #[inline(always)]
    unsafe fn longest(&self, mut v: u64) -> *const ActionEntry {
        // SAFETY: as many slots as root_bits can say.
        let mut slot =
            unsafe { self.slots.get_unchecked((v >> (64 - self.root_bits)) as usize) }.load(Ordering::Acquire);
        // The nodes on the path: what they remember is wanted only where there is nothing further down.
        let mut path = [std::ptr::null::<Node>(); MOST_NODES];
        let mut nodes = 0;
        if let Some(node) = child(slot) {
            // Only keys of more than 16 bits lead here.
            v <<= 16;
            path[0] = node.as_ptr();
            nodes = 1;
            // SAFETY: linked nodes live while the caller is in the domain; this one is at depth 16, and it is eight bits.
            slot = unsafe { node.cast::<Sized<256>>().as_ref().slots.get_unchecked((v >> 56) as usize) }
                .load(Ordering::Acquire);
            v <<= 8;
            while let Some(node) = child(slot) {
                // SAFETY: so many nodes a key has at most.
                *unsafe { path.get_unchecked_mut(nodes) } = node.as_ptr();
                nodes += 1;
                // SAFETY: as above; it is at depth 24 or below, and it is four bits.
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

    /// Fetches what [`Trie::longest`] reads for these keys, and the entries it finds.
    ///
    /// # Safety
    /// As for [`Trie::longest`]; `keys` points to `count` keys of the table, at most [`AT_ONCE`].
    #[inline(always)]
    unsafe fn fetch(&self, keys: *const u64, count: usize) {
        /// A key and where its search stands.
        #[derive(Clone, Copy)]
        struct Cursor {
            /// Where it is read next.
            place: *const AtomicPtr<u64>,
            /// Bits behind those that chose the place.
            v: u64,
        }
        let mut cursors = [Cursor { place: null_mut(), v: 0 }; AT_ONCE];
        for (i, cursor) in cursors.iter_mut().enumerate().take(count) {
            // SAFETY: the key is one of those the caller promises.
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
                // SAFETY: a place in the root or in a linked node, which lives while the caller is in the domain.
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

unsafe extern "C" fn lookup(state: *const c_void, key: *const u64) -> *const ActionEntry {
    // SAFETY: `state` is the Trie whose handle this function is in; it outlives the handle's use.
    let trie = unsafe { &*state.cast::<Trie>() };
    // SAFETY: the caller passes the table's key and has entered its domain.
    let found = unsafe { trie.longest(trie.aligned(key.read())) };
    if found.is_null() { trie.default.load(Ordering::Acquire) } else { found }
}

/// # Safety
/// As [`super::Fetcher::fetch`] says.
unsafe fn fetch(state: *const c_void, keys: *const u64, count: usize) {
    // SAFETY: `state` is the Trie whose fetcher this function is in; it outlives the fetcher's use.
    let trie = unsafe { &*state.cast::<Trie>() };
    for from in (0..count).step_by(AT_ONCE) {
        // SAFETY: so many keys of so many words; the caller has entered the table's domain.
        unsafe { trie.fetch(keys.add(from), AT_ONCE.min(count - from)) };
    }
}

/// The writer's side of [`Trie`]: what slots hold of entries by their bits, from the top of the word, and their lengths.
#[derive(Default)]
pub(super) struct TrieWriter {
    entries: HashMap<(u64, u32), Held, RandomState>,
}

/// What a slot holds.
struct Held(Slot);

// SAFETY: entries may be sent and shared between threads; the address is as good on any of them.
unsafe impl Send for Held {}

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
    /// Links an entry for a key's prefix, in place of the one with the same prefix if there is one.
    ///
    /// # Safety
    /// The entry stays alive until it is unlinked and readers are quiet; this writer always goes with `trie`, and no other thread
    /// else writes.
    pub(super) unsafe fn put(&mut self, trie: &Trie, key: u64, prefix_len: u32, entry: *const ActionEntry) {
        let len = trie.length(prefix_len);
        let v = trie.aligned(key) & ones(len);
        let slot = with_entry(entry, len);
        let new = self.entries.insert((v, len), Held(slot)).is_none();
        if len == 0 {
            trie.all.store(slot, Ordering::Release);
            return;
        }
        // SAFETY: the caller's.
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
        // SAFETY: the caller's.
        let covered = unsafe { Self::covered(trie, v, len, false) };
        let shorter = (covered.depth + 1..len).rev().find_map(|l| self.entries.get(&(v & ones(l), l)));
        let instead = shorter.map_or(null_mut(), |held| held.0);
        for place in covered.places() {
            // No other prefix of this length covers it.
            if length(place.load(Ordering::Relaxed)) == len {
                place.store(instead, Ordering::Release);
            }
        }
        // SAFETY: the caller's.
        unsafe { Self::forget(trie, v, len, domain) };
    }

    /// The slots for a prefix of at least one bit, with the nodes on the path to them; `new`: counts it in these.
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
            // SAFETY: linked nodes live as long as the trie unless the writer unlinks them; this one is at that depth.
            unsafe {
                if new {
                    node.as_ref().entries.fetch_add(1, Ordering::Relaxed);
                }
                here = slots(node, depth);
            }
        }
    }

    /// Counts an entry that is gone, and unlinks the node on its path above which none is left.
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
                domain.retire(Unlinked { node, depth, nodes: trie.nodes.clone() });
                return;
            }
            bits = stride(depth);
            // SAFETY: it is at that depth.
            here = unsafe { slots(node, depth) };
        }
    }
}
