//! The memory of an entry, as generated code and lookups read it.
//!
//! 64-bit words, 64-aligned so that a small entry is one cache line:
//!
//! ```text
//! link (0 or 3 words) | key (K words) | bounds (2 words per range key word) | ActionEntry | data
//!                        ^ the address slots and links hold
//! ```
//!
//! The link is the entry's earliness, the next block and its priority, of tables that chain blocks. Everything but `next`
//! is constant once the block is published.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use hopwright_abi::{ActionEntry, CounterCell};

use super::arena::Arena;
use super::pages::Pages;

const WORD: usize = 8;

/// What stands before the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// Nothing.
    None,
    /// Earliness, next block, priority.
    Chain,
}

/// What all entries of a table have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub link: Link,
    /// Words of the key.
    pub key_words: usize,
    /// Words of bounds.
    pub bound_words: usize,
}

impl Shape {
    /// Of what is found otherwise than by a key.
    pub(super) const ALONE: Shape = Shape { link: Link::None, key_words: 0, bound_words: 0 };

    fn before(self) -> usize {
        match self.link {
            Link::None => 0,
            Link::Chain => 3,
        }
    }

    /// Bytes of a block with so many words of data, from the aligned address on.
    pub(super) fn bytes(self, data_words: usize) -> usize {
        (self.before() + self.key_words + self.bound_words + data_words) * WORD + size_of::<ActionEntry>()
    }

    /// Bytes from there to the published address.
    pub(super) fn before_bytes(self) -> usize {
        self.before() * WORD
    }

    /// Distance in bytes from the published address to the action entry.
    pub(super) fn entry_offset(self) -> usize {
        (self.key_words + self.bound_words) * WORD
    }
}

/// Which of two matching entries wins: the greater. Of equal priorities the one inserted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    pub priority: i64,
    /// `u64::MAX` minus the sequence number.
    pub earliness: u64,
}

/// Contents of a new block.
pub(super) struct Contents<'a> {
    pub rank: Rank,
    pub key: &'a [u64],
    pub bounds: &'a [u64],
    pub action: u32,
    pub hit: u32,
    pub counter: *mut CounterCell,
    pub data: &'a [u64],
}

/// Owns a block's memory. Frees it when dropped: retire it if it was published.
#[derive(Debug)]
pub(super) struct Block {
    /// What slots and links hold.
    address: NonNull<u64>,
    /// Bytes from there to the action entry.
    entry_offset: u32,
    /// Bytes from the memory's beginning.
    before: u32,
    memory: Backing,
}

#[derive(Debug)]
enum Backing {
    Arena(Arc<Arena>),
    /// Freed by being dropped.
    Own(#[allow(dead_code)] Box<Pages>),
}

// SAFETY: a block owns its memory; all of it is constant after publication but `next`, which is atomic.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    /// A block in memory of the arena, if there is one with large enough pieces.
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

    /// The address that slots and links hold: of the key's first word.
    pub(super) fn address(&self) -> NodePtr {
        self.address.as_ptr()
    }

    /// The action entry.
    pub(super) fn entry(&self) -> *const ActionEntry {
        // SAFETY: the entry lies that far behind the key in the same allocation.
        unsafe { self.address.byte_add(self.entry_offset as usize).as_ptr().cast() }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Backing::Arena(arena) = &self.memory {
            // SAFETY: taken from it in `new`, at so many bytes before the address.
            unsafe { arena.give(self.address.byte_sub(self.before as usize).cast()) };
        }
    }
}

/// Address of a published block's key.
pub(super) type NodePtr = *mut u64;

/// The priority of a block.
///
/// # Safety
/// `node` is the address of a live block whose shape has priorities.
#[inline]
pub(super) unsafe fn priority(node: NodePtr) -> i64 {
    // SAFETY: the priority is the last word before the address.
    unsafe { node.sub(1).read() as i64 }
}

/// The rank of a block in a chain.
///
/// # Safety
/// `node` is the address of a live block whose shape is that of chains.
#[inline]
pub(super) unsafe fn rank(node: NodePtr) -> Rank {
    // SAFETY: such a block has its earliness in the first of three words before the address, its priority in the last.
    unsafe { Rank { priority: priority(node), earliness: node.sub(3).read() } }
}

/// The link to the next block of lower rank, null at the end.
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
    // SAFETY: the caller's.
    unsafe { next(node) }.load(Ordering::Acquire)
}
