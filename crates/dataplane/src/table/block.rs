//! The memory of an entry, as generated code and lookups read it.
//!
//! One allocation of 64-bit words, 64-aligned so that a small entry is one cache line:
//!
//! ```text
//! link (2 words: priority, next) | key (K words) | bounds (2 words per range key word) | ActionEntry | data
//!                                ^ the address slots and links hold
//! ```
//!
//! Exact tables leave out the link and bounds. Everything but `next` is constant once the block is published.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};

use hopwright_jit::abi::{ActionEntry, CounterCell};

const WORD: usize = 8;
/// What the allocator gives without being asked for more, and what blocks have.
const ALLOCATED_ALIGN: usize = 16;
const ALIGN: usize = 64;
/// Words of the link: rank's priority and sequence number, next block, padding to keep the entry 16-aligned.
const LINK_WORDS: usize = 3;

/// What all entries of a table have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Whether blocks carry rank and link.
    pub linked: bool,
    /// Words of the key.
    pub key_words: usize,
    /// Words of bounds.
    pub bound_words: usize,
}

impl Shape {
    fn before(self) -> usize {
        if self.linked { LINK_WORDS } else { 0 }
    }

    /// Distance in bytes from the published address to the action entry.
    pub fn entry_offset(self) -> usize {
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
    base: NonNull<u64>,
    /// Where its memory begins, up to 48 bytes before: allocators take their time for larger alignments.
    memory: NonNull<u8>,
    layout: Layout,
    shape: Shape,
}

// SAFETY: a block owns its memory; all of it is constant after publication but `next`, which is atomic.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    pub fn new(shape: Shape, contents: &Contents<'_>) -> Block {
        debug_assert_eq!(contents.key.len(), shape.key_words);
        debug_assert_eq!(contents.bounds.len(), shape.bound_words);
        let words = shape.before()
            + shape.key_words
            + shape.bound_words
            + size_of::<ActionEntry>() / WORD
            + contents.data.len();
        let layout = match Layout::from_size_align(words * WORD + ALIGN - ALLOCATED_ALIGN, ALLOCATED_ALIGN) {
            Ok(layout) => layout,
            // Keys and data are bounded by the program's widths, far below isize::MAX.
            Err(_) => unreachable!("an entry of {words} words"),
        };
        // SAFETY: the size is not zero: an action entry has 16 bytes.
        let Some(memory) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        let padding = memory.addr().get().wrapping_neg() % ALIGN;
        // SAFETY: a multiple of 16 becomes one of 64 by adding at most 48, which the layout has room for.
        let base = unsafe { memory.add(padding) }.cast::<u64>();
        let block = Block { base, memory, layout, shape };
        // SAFETY: all offsets lie within `words` words as computed above; nobody else has the memory yet; ActionEntry
        // is 8-aligned like every word.
        unsafe {
            if shape.linked {
                base.write(contents.rank.priority as u64);
                base.add(1).write(contents.rank.earliness);
                base.add(2).write(0);
            }
            let key = base.add(shape.before());
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
    pub fn address(&self) -> NodePtr {
        // SAFETY: `before` words precede the key in the same allocation.
        unsafe { self.base.as_ptr().add(self.shape.before()) }
    }

    /// The action entry.
    pub fn entry(&self) -> *const ActionEntry {
        // SAFETY: the entry lies that far behind the key in the same allocation.
        unsafe { self.address().byte_add(self.shape.entry_offset()).cast() }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) }
    }
}

/// Address of a published block's key.
pub(super) type NodePtr = *mut u64;

/// The rank of a linked block.
///
/// # Safety
/// `node` is the address of a live block whose shape is linked.
#[inline]
pub(super) unsafe fn rank(node: NodePtr) -> Rank {
    // SAFETY: a linked block has its rank in the first two of the LINK_WORDS words before the address.
    unsafe { Rank { priority: node.sub(LINK_WORDS).read() as i64, earliness: node.sub(LINK_WORDS - 1).read() } }
}

/// The link to the next block of lower rank, null at the end.
///
/// # Safety
/// As for [`rank`]; `'a` must not outlast the block.
#[inline]
pub(super) unsafe fn next<'a>(node: NodePtr) -> &'a AtomicPtr<u64> {
    // SAFETY: the third link word is only ever accessed as an atomic pointer once the block exists.
    unsafe { AtomicPtr::from_ptr(node.sub(LINK_WORDS - 2).cast()) }
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
