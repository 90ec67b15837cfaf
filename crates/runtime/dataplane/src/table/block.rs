//! The memory of an entry, as lookups and generated code read it.
//!
//! A block consists of 64-bit words and is 64-byte aligned, so that a small entry is one cache line:
//!
//! ```text
//! link (0 or 3 words) | key (K words) | bounds (2 words per range key word) | ActionEntry | data
//!                        ^ the address that slots and links hold
//! ```
//!
//! Tables that chain blocks have a link: the entry's earliness (see [`Rank`]), the address of the next block, and the
//! priority. Everything but the address of the next block is constant once the block is published.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use hopwright_abi::{ActionEntry, CounterCell, DataLayout};
use hopwright_ir::{ActionCall, Pipeline};

use super::arena::Arena;
use super::pages::Pages;

const WORD: usize = 8;

/// The words before the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// Nothing.
    None,
    /// Earliness, next block, priority.
    Chain,
}

/// The layout of a table's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub link: Link,
    /// Length of the key in words.
    pub key_words: usize,
    /// Length of the range bounds in words.
    pub bound_words: usize,
}

impl Shape {
    /// The shape of a block that is not found by a key: default entries, profile members, entries of a trie.
    pub(super) const ALONE: Shape = Shape { link: Link::None, key_words: 0, bound_words: 0 };

    fn before(self) -> usize {
        match self.link {
            Link::None => 0,
            Link::Chain => 3,
        }
    }

    /// The size in bytes of a block with `data_words` words of data.
    pub(super) fn bytes(self, data_words: usize) -> usize {
        (self.before() + self.key_words + self.bound_words + data_words) * WORD + size_of::<ActionEntry>()
    }

    /// Distance in bytes from the start of the memory to the published address.
    pub(super) fn before_bytes(self) -> usize {
        self.before() * WORD
    }

    /// Distance in bytes from the published address to the action entry.
    pub(super) fn entry_offset(self) -> usize {
        (self.key_words + self.bound_words) * WORD
    }
}

/// The precedence of matching entries: the greatest rank wins. Of equal priorities, the entry inserted first wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    pub priority: i64,
    /// `u64::MAX` minus the entry's sequence number.
    pub earliness: u64,
}

/// The contents of a new block.
pub(super) struct Contents<'a> {
    pub rank: Rank,
    pub key: &'a [u64],
    pub bounds: &'a [u64],
    pub action: u32,
    pub hit: u32,
    pub counter: *mut CounterCell,
    pub data: &'a [u64],
}

/// Owns a block's memory and frees it when dropped. A published block must be retired instead of dropped.
#[derive(Debug)]
pub(super) struct Block {
    /// The published address: that of the key.
    address: NonNull<u64>,
    /// Distance in bytes from `address` to the action entry.
    entry_offset: u32,
    /// Distance in bytes from the start of the memory to `address`.
    before: u32,
    memory: Backing,
}

#[derive(Debug)]
enum Backing {
    Arena(Arc<Arena>),
    /// Never read: its drop frees the memory.
    Own(#[allow(dead_code)] Box<Pages>),
}

// SAFETY: a block owns its memory; all of it but `next`, which is atomic, is constant after publication.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    /// Writes a block into memory of the arena, or of its own if there is no arena or its pieces are too small.
    pub(super) fn new(shape: Shape, contents: &Contents<'_>, arena: Option<&Arc<Arena>>) -> Block {
        debug_assert_eq!(contents.key.len(), shape.key_words);
        debug_assert_eq!(contents.bounds.len(), shape.bound_words);
        let bytes = shape.bytes(contents.data.len());
        let (base, memory) = match arena.filter(|a| bytes <= a.size()) {
            Some(arena) => (arena.take(), Backing::Arena(arena.clone())),
            None => {
                let pages = Pages::new(bytes);
                (pages.start(), Backing::Own(Box::new(pages)))
            }
        };
        let base = base.cast::<u64>();
        // SAFETY: `before` words precede the key in the same allocation.
        let address = unsafe { base.add(shape.before()) };
        let (entry_offset, before) = (shape.entry_offset() as u32, shape.before_bytes() as u32);
        let block = Block { address, entry_offset, before, memory };
        // SAFETY: all offsets lie within the bytes computed above; the memory has no other user yet; ActionEntry is
        // 8-aligned like every word.
        unsafe {
            let rank = &contents.rank;
            match shape.link {
                Link::None => {}
                Link::Chain => base.cast().write([rank.earliness, 0, rank.priority as u64]),
            }
            let key = address;
            key.copy_from_nonoverlapping(NonNull::from(contents.key).cast(), contents.key.len());
            let bounds = key.add(shape.key_words);
            bounds.copy_from_nonoverlapping(NonNull::from(contents.bounds).cast(), contents.bounds.len());
            let entry = bounds.add(shape.bound_words).cast::<ActionEntry>();
            entry.write(ActionEntry { action: contents.action, hit: contents.hit, counter: contents.counter });
            entry
                .add(1)
                .cast::<u64>()
                .copy_from_nonoverlapping(NonNull::from(contents.data).cast(), contents.data.len());
        }
        block
    }

    /// The published address, which slots and links hold.
    pub(super) fn address(&self) -> NodePtr {
        self.address.as_ptr()
    }

    /// The address of the action entry.
    pub(super) fn entry(&self) -> *const ActionEntry {
        // SAFETY: the entry lies at this distance from the key in the same allocation.
        unsafe { self.address.byte_add(self.entry_offset as usize).as_ptr().cast() }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Backing::Arena(arena) = &self.memory {
            // SAFETY: `new` took it from this arena, `before` bytes before the address.
            unsafe { arena.give(self.address.byte_sub(self.before as usize).cast()) };
        }
    }
}

/// The address of a published block, which is that of its key.
pub(super) type NodePtr = *mut u64;

/// Returns the priority of a block.
///
/// # Safety
/// `node` is the address of a live block with a chain link.
#[inline]
pub(super) unsafe fn priority(node: NodePtr) -> i64 {
    // SAFETY: the priority is the last word before the address.
    unsafe { node.sub(1).read() as i64 }
}

/// Returns the rank of a block.
///
/// # Safety
/// `node` is the address of a live block with a chain link.
#[inline]
pub(super) unsafe fn rank(node: NodePtr) -> Rank {
    // SAFETY: such a block has its earliness in the first of three words before the address, its priority in the last.
    unsafe { Rank { priority: priority(node), earliness: node.sub(3).read() } }
}

/// Returns the link to the next block, which has a lower rank; null at the end of the chain.
///
/// # Safety
/// As for [`rank`]; `'a` must not outlast the block.
#[inline]
pub(super) unsafe fn next<'a>(node: NodePtr) -> &'a AtomicPtr<u64> {
    // SAFETY: the second link word is only ever accessed as an atomic pointer once the block exists.
    unsafe { AtomicPtr::from_ptr(node.sub(2).cast()) }
}

/// Loads the next block's address.
///
/// # Safety
/// As for [`rank`].
#[inline]
pub(super) unsafe fn load_next(node: NodePtr) -> NodePtr {
    // SAFETY: guaranteed by the caller.
    unsafe { next(node) }.load(Ordering::Acquire)
}

/// The words of an action's arguments.
pub(super) fn action_data(call: &ActionCall, pipeline: &Pipeline) -> Vec<u64> {
    let mut data = Vec::new();
    DataLayout::of(&pipeline[call.action]).push(&mut data, &call.args);
    data
}
