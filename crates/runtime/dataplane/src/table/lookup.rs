//! The exact and masked lookup structures, and the lookup functions that generated code calls. The trie is in
//! [`super::trie`].
//!
//! [`Exact`] is one hash table. [`Masked`] serves every combination of match kinds that has no structure of its own. It
//! puts entries with the same mask in a *group*: a hash table of masked keys, each of which heads a chain of entries in
//! descending rank. A lookup searches groups in descending order of their highest priority, and stops when no remaining
//! group can win. For lpm, a group is a prefix length; for ternary, a combination of masks. Ranges are checked while
//! following the chain. Tables with many groups for few entries use bit vectors instead ([`super::bits`]).

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

use hopwright_abi::{ActionEntry, TableHandle};

use super::bits::{Bits, BitsWriter, Pattern};
use super::block::{self, Block, NodePtr, Rank, Shape};
use super::prefetch::{AT_ONCE, lines};
use super::slots::{Const, Slots, SlotsWriter, Width};
use crate::sync::quiescence::Domain;

/// The maximum number of 64-bit words of a key.
pub(super) const MAX_KEY_WORDS: usize = 64;

/// A hash table from keys to entries.
#[repr(align(64))]
pub(super) struct Exact {
    slots: Slots,
    default: AtomicPtr<ActionEntry>,
    /// For short keys, an array of entries indexed by the key; the default entry where the key has none. Generated code
    /// reads it instead of calling the lookup function.
    direct: Box<[AtomicPtr<ActionEntry>]>,
    entry_offset: usize,
    /// Cache lines that the largest entry block occupies.
    lines: usize,
    key_words: usize,
}

impl Exact {
    /// Creates an empty table; `direct` is the length of the array indexed by the key, 0 if there is none.
    pub(super) fn new(shape: Shape, data_words: usize, direct: usize) -> Box<Exact> {
        let direct = (0..direct).map(|_| AtomicPtr::default()).collect();
        Box::new(Exact {
            slots: Slots::new(shape.key_words),
            default: AtomicPtr::default(),
            direct,
            entry_offset: shape.entry_offset(),
            lines: lines(0, shape.bytes(data_words)),
            key_words: shape.key_words,
        })
    }

    /// Sets the array element of a key to `entry`, or to the default entry if `None`. Does nothing if there is no such
    /// element.
    pub(super) fn set_direct(&self, key: &[u64], entry: Option<*const ActionEntry>) {
        if let [key] = key
            && let Some(place) = self.direct.get(*key as usize)
        {
            let entry = entry.map_or_else(|| self.default.load(Ordering::Relaxed), <*const ActionEntry>::cast_mut);
            place.store(entry, Ordering::Release);
        }
    }

    pub(super) fn handle(&self) -> TableHandle {
        let lookup = match self.key_words {
            0 => default_only,
            1 => exact::<Const<1>>,
            2 => exact::<Const<2>>,
            3 => exact::<Const<3>>,
            4 => exact::<Const<4>>,
            _ => exact::<Any>,
        };
        TableHandle {
            lookup,
            state: std::ptr::from_ref(self).cast(),
            default: std::ptr::from_ref(&self.default).cast(),
            direct: self.direct.as_ptr().cast(),
            hash: self.slots.hash_table(),
        }
    }

    /// Sets the default entry. To be called by the writer only.
    pub(super) fn set_default(&self, entry: *const ActionEntry) {
        let old = self.default.swap(entry.cast_mut(), Ordering::AcqRel);
        for place in self.direct.iter().filter(|place| place.load(Ordering::Relaxed) == old) {
            place.store(entry.cast_mut(), Ordering::Release);
        }
    }

    pub(super) fn slots(&self) -> &Slots {
        &self.slots
    }

    pub(super) fn fetcher(&self) -> unsafe fn(*const c_void, *const u64, usize) {
        match self.key_words {
            0 => no_fetch,
            1 => fetch::<Const<1>>,
            2 => fetch::<Const<2>>,
            3 => fetch::<Const<3>>,
            4 => fetch::<Const<4>>,
            _ => fetch::<Any>,
        }
    }
}

/// The prefetch function of structures that have none.
///
/// # Safety
/// None is needed; the type of [`super::Fetcher::fetch`] is unsafe.
pub(super) unsafe fn no_fetch(_: *const c_void, _: *const u64, _: usize) {}

/// # Safety
/// As for [`super::Fetcher::fetch`].
unsafe fn fetch<K: KeyWidth>(state: *const c_void, keys: *const u64, count: usize) {
    // SAFETY: `state` is the Exact whose fetcher this function is in; it outlives the fetcher's use.
    let table = unsafe { &*state.cast::<Exact>() };
    let width = K::of(table.key_words);
    for from in (0..count).step_by(AT_ONCE) {
        // SAFETY: there are `count` keys of `width` words; the caller has entered the table's domain.
        unsafe {
            let keys = keys.add(from * width.words());
            table.slots.fetch(width, keys, AT_ONCE.min(count - from), table.lines);
        }
    }
}

/// The key width that a lookup function is compiled for.
trait KeyWidth {
    type Width: Width;
    fn of(key_words: usize) -> Self::Width;
}

impl<const K: usize> KeyWidth for Const<K> {
    type Width = Const<K>;
    #[inline(always)]
    fn of(_: usize) -> Const<K> {
        Const
    }
}

/// Any width, read from the table at run time.
struct Any;

impl KeyWidth for Any {
    type Width = usize;
    #[inline(always)]
    fn of(key_words: usize) -> usize {
        key_words
    }
}

/// # Safety
/// `state` is a live [`Exact`].
unsafe extern "C" fn default_only(state: *const c_void, _: *const u64) -> *const ActionEntry {
    // SAFETY: `state` is the Exact whose handle this function is in; it outlives the handle's use.
    let table = unsafe { &*state.cast::<Exact>() };
    table.default.load(Ordering::Acquire)
}

/// # Safety
/// `state` is a live [`Exact`] whose keys have as many words as `K` says, and `key` points to one. The caller has entered the table's domain.
unsafe extern "C" fn exact<K: KeyWidth>(state: *const c_void, key: *const u64) -> *const ActionEntry {
    // SAFETY: `state` is the Exact whose handle this function is in; it outlives the handle's use.
    let table = unsafe { &*state.cast::<Exact>() };
    // SAFETY: the caller passes as many words as the table's key has, and has entered the table's domain.
    let node = unsafe { table.slots.get(K::of(table.key_words), key) };
    if node.is_null() {
        return table.default.load(Ordering::Acquire);
    }
    // SAFETY: the action entry lies at that offset in every block of this table.
    unsafe { node.byte_add(table.entry_offset).cast() }
}

/// The entries with the same mask.
struct Group {
    mask: Box<[u64]>,
    heads: Slots,
}

/// A group in the search order.
#[derive(Clone)]
struct Ranked {
    /// An upper bound of the priorities in the group.
    best: i64,
    group: Arc<Group>,
}

/// The current search structure.
enum Search {
    /// Groups in descending order of `best`.
    Groups(Vec<Ranked>),
    Bits(Bits),
}

/// The position of a range field in the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RangeField {
    /// Index of the field's first word in the key.
    pub word: usize,
    /// The field's length in words.
    pub words: usize,
}

/// A table of masked entries.
#[repr(align(64))]
pub(super) struct Masked {
    search: AtomicPtr<Search>,
    default: AtomicPtr<ActionEntry>,
    shape: Shape,
    ranges: Box<[RangeField]>,
}

impl Masked {
    pub(super) fn new(shape: Shape, ranges: Box<[RangeField]>) -> Box<Masked> {
        Box::new(Masked {
            search: AtomicPtr::new(Box::into_raw(Box::new(Search::Groups(Vec::new())))),
            default: AtomicPtr::default(),
            shape,
            ranges,
        })
    }

    pub(super) fn handle(&self) -> TableHandle {
        let lookup = match (self.shape.key_words, self.ranges.is_empty()) {
            (1, true) => masked::<Const<1>, false>,
            (2, true) => masked::<Const<2>, false>,
            (3, true) => masked::<Const<3>, false>,
            (4, true) => masked::<Const<4>, false>,
            (_, true) => masked::<Any, false>,
            (1, false) => masked::<Const<1>, true>,
            (2, false) => masked::<Const<2>, true>,
            (_, false) => masked::<Any, true>,
        };
        TableHandle {
            lookup,
            state: std::ptr::from_ref(self).cast(),
            default: std::ptr::from_ref(&self.default).cast(),
            direct: std::ptr::null(),
            hash: std::ptr::null(),
        }
    }

    pub(super) fn set_default(&self, entry: *const ActionEntry) {
        self.default.store(entry.cast_mut(), Ordering::Release);
    }

    /// Returns whether the key lies within the bounds of a block.
    ///
    /// # Safety
    /// `node` is a live block of this table; `key` has the table's width.
    #[inline]
    unsafe fn in_ranges(&self, node: NodePtr, key: *const u64) -> bool {
        let mut at = self.shape.key_words;
        for field in &self.ranges {
            // SAFETY: the field's words lie within the key, its bounds within the block's bound words.
            let (value, lo, hi) = unsafe {
                (
                    std::slice::from_raw_parts(key.add(field.word), field.words),
                    std::slice::from_raw_parts(node.add(at), field.words),
                    std::slice::from_raw_parts(node.add(at + field.words), field.words),
                )
            };
            // Limbs are little-endian: compare from the highest.
            let value = value.iter().rev();
            if value.clone().lt(lo.iter().rev()) || value.gt(hi.iter().rev()) {
                return false;
            }
            at += 2 * field.words;
        }
        true
    }
}

impl Masked {
    /// Replaces the search structure for readers, and retires the old one.
    fn publish(&self, search: Search, domain: &Arc<Domain>) {
        let old = self.search.swap(Box::into_raw(Box::new(search)), Ordering::AcqRel);
        // SAFETY: `old` came from Box::into_raw and can no longer be found; readers may still use it, so it is retired.
        domain.retire(unsafe { Box::from_raw(old) });
    }

    /// Returns the match of a block.
    ///
    /// # Safety
    /// `node` is a live block of this table, for as long as the pattern is used.
    unsafe fn pattern<'a>(&self, node: NodePtr, mask: &'a [u64]) -> Pattern<'a> {
        let mut at = self.shape.key_words;
        let mut ranges = Vec::new();
        // SAFETY: the block has that many words of key, then the bounds of each range field, low then high.
        unsafe {
            for field in &self.ranges {
                let bound = |at: usize| std::slice::from_raw_parts(node.add(at), field.words);
                ranges.push((field.word, bound(at), bound(at + field.words)));
                at += 2 * field.words;
            }
            Pattern { key: std::slice::from_raw_parts(node, self.shape.key_words), mask, ranges }
        }
    }
}

impl Drop for Masked {
    fn drop(&mut self) {
        // SAFETY: the current search is owned by `self`; exclusive access means no reader has it.
        drop(unsafe { Box::from_raw(*self.search.get_mut()) });
    }
}

/// # Safety
/// `state` is a live [`Masked`] whose keys have as many words as `K` says, and `key` points to one. The caller has entered the table's domain.
unsafe extern "C" fn masked<K: KeyWidth, const RANGES: bool>(
    state: *const c_void,
    key: *const u64,
) -> *const ActionEntry {
    // SAFETY: `state` is the Masked whose handle this function is in; it outlives the handle's use.
    let table = unsafe { &*state.cast::<Masked>() };
    let width = K::of(table.shape.key_words);
    // SAFETY: never null; a search lives until all readers that may have loaded it are quiescent.
    let order = match unsafe { &*table.search.load(Ordering::Acquire) } {
        Search::Groups(order) => order,
        Search::Bits(bits) => {
            // SAFETY: found blocks are of this table and live while the caller is in the domain; `key` has its width.
            let fits = |node| !RANGES || unsafe { table.in_ranges(node, key) };
            // SAFETY: as above.
            let node = unsafe { bits.find(key, fits) };
            if node.is_null() {
                return table.default.load(Ordering::Acquire);
            }
            // SAFETY: the action entry lies at that offset in every block of this table.
            return unsafe { node.byte_add(table.shape.entry_offset()).cast() };
        }
    };
    let mut best: Option<(Rank, NodePtr)> = None;
    let mut probe = [std::mem::MaybeUninit::<u64>::uninit(); MAX_KEY_WORDS];
    for ranked in order {
        if best.is_some_and(|(rank, _)| rank.priority > ranked.best) {
            break;
        }
        let group = &*ranked.group;
        for i in 0..width.words() {
            // SAFETY: i is below the key's words, which are at most MAX_KEY_WORDS and as many as the mask's.
            unsafe {
                probe.get_unchecked_mut(i).write(key.add(i).read() & group.mask.get_unchecked(i));
            }
        }
        // SAFETY: the first `width` words of `probe` are initialised; the caller has entered the table's domain.
        let mut node = unsafe { group.heads.get(width, probe.as_ptr().cast()) };
        while !node.is_null() {
            // SAFETY: linked blocks stay alive while the caller is in the domain; `key` has the table's width.
            let (rank, next, fits) =
                unsafe { (block::rank(node), block::load_next(node), !RANGES || table.in_ranges(node, key)) };
            if best.is_some_and(|(best, _)| best >= rank) {
                break;
            }
            if fits {
                best = Some((rank, node));
                break;
            }
            node = next;
        }
    }
    match best {
        // SAFETY: the action entry lies at that offset in every block of this table.
        Some((_, node)) => unsafe { node.byte_add(table.shape.entry_offset()).cast() },
        None => table.default.load(Ordering::Acquire),
    }
}

/// The number of bit-vector cache lines whose reading costs as much as searching one group.
const LINES_PER_GROUP: usize = 4;
/// How long the writer waits for readers to become quiescent before it gives up moving entries back to groups.
const PATIENCE: Duration = Duration::from_millis(100);

/// The writer's side of [`Masked`].
pub(super) struct MaskedWriter {
    /// Empty while bit vectors are in use.
    groups: Vec<GroupWriter>,
    bits: Option<BitsWriter>,
    /// Widths of the key's fields in bits.
    widths: Box<[u32]>,
}

struct GroupWriter {
    group: Arc<Group>,
    heads: SlotsWriter,
    best: i64,
    /// The number of entries, counting whole chains.
    len: usize,
    /// The block linked last, or null. Insertions in chain order, which are common, then need not walk the chain.
    last: AtomicPtr<u64>,
}

impl MaskedWriter {
    /// Creates a writer for keys with fields of these widths in bits.
    pub(super) fn new(widths: Box<[u32]>) -> MaskedWriter {
        MaskedWriter { groups: Vec::new(), bits: None, widths }
    }

    /// Links a block.
    ///
    /// # Safety
    /// `block` has `table`'s shape, its key is masked by `mask`, it stays alive until it is unlinked and readers are
    /// quiescent; this writer is always used with the same `table`; there is no other writer.
    pub(super) unsafe fn insert(&mut self, table: &Masked, mask: &[u64], block: &Block, domain: &Arc<Domain>) {
        if let Some(bits) = &mut self.bits {
            // SAFETY: guaranteed by the caller.
            if unsafe { bits.insert(block.address(), &table.pattern(block.address(), mask)) } {
                let search = Search::Bits(bits.reader());
                table.publish(search, domain);
                // The factor 2 is hysteresis: it keeps a table from alternating between groups and bit vectors.
                if bits.lines() > 2 * LINES_PER_GROUP * bits.masks() {
                    // SAFETY: guaranteed by the caller.
                    unsafe { self.move_to_groups(table, domain) };
                }
            }
            return;
        }
        let groups = self.groups.len();
        // SAFETY: guaranteed by the caller.
        unsafe { self.insert_in_group(table, mask, block.address(), domain) };
        if self.groups.len() > groups {
            // SAFETY: guaranteed by the caller.
            unsafe { self.move_to_bits(table, domain) };
        }
    }

    /// Moves all entries to bit vectors if reading these costs less than searching the groups.
    ///
    /// # Safety
    /// As for [`MaskedWriter::insert`].
    unsafe fn move_to_bits(&mut self, table: &Masked, domain: &Arc<Domain>) {
        let Some(mut bits) = BitsWriter::new(&self.widths) else { return };
        let entries = self.groups.iter().map(|g| g.len).sum();
        if bits.lines_for(entries) > LINES_PER_GROUP * self.groups.len() {
            return;
        }
        for group in &self.groups {
            for head in group.group.heads.all() {
                let mut node = head;
                while !node.is_null() {
                    // SAFETY: linked blocks are alive, and this is the only writer.
                    unsafe {
                        bits.insert(node, &table.pattern(node, &group.group.mask));
                        node = block::load_next(node);
                    }
                }
            }
        }
        table.publish(Search::Bits(bits.reader()), domain);
        self.groups.clear();
        self.bits = Some(bits);
    }

    /// Moves all entries back to groups.
    ///
    /// # Safety
    /// As for [`MaskedWriter::insert`].
    unsafe fn move_to_groups(&mut self, table: &Masked, domain: &Arc<Domain>) {
        // Linking overwrites the blocks' chain links, so no reader may still follow the ones from the earlier groups.
        if !domain.settle(PATIENCE) {
            return;
        }
        let Some(bits) = self.bits.take() else { return };
        for (node, mask) in bits.entries() {
            let index = self.group(mask);
            let group = &mut self.groups[index];
            // SAFETY: linked blocks are alive, and this is the only writer.
            unsafe {
                let rank = block::rank(node);
                group.len += 1;
                group.best = group.best.max(rank.priority);
                link(group, table.shape.key_words, node, rank, domain);
            }
        }
        self.publish(table, domain);
    }

    /// Returns the index of the mask's group, which is created if it does not exist.
    fn group(&mut self, mask: &[u64]) -> usize {
        self.groups.iter().position(|g| *g.group.mask == *mask).unwrap_or_else(|| {
            let group = Arc::new(Group { mask: mask.into(), heads: Slots::new(mask.len()) });
            self.groups.push(GroupWriter {
                group,
                heads: SlotsWriter::default(),
                best: i64::MIN,
                len: 0,
                last: AtomicPtr::default(),
            });
            self.groups.len() - 1
        })
    }

    /// # Safety
    /// As for [`MaskedWriter::insert`].
    unsafe fn insert_in_group(&mut self, table: &Masked, mask: &[u64], node: NodePtr, domain: &Arc<Domain>) {
        // SAFETY: the caller passes a live block with a chain link.
        let rank = unsafe { block::rank(node) };
        let groups = self.groups.len();
        let index = self.group(mask);
        let known = index < groups;
        let writer = &mut self.groups[index];
        writer.len += 1;
        let raised = rank.priority > writer.best;
        if raised {
            writer.best = rank.priority;
        }
        // Readers must see the raised bound before the entry, or they might skip it. A new group is filled before
        // readers see it.
        if raised && known {
            self.publish(table, domain);
        }
        let writer = &mut self.groups[index];
        // SAFETY: guaranteed by the caller.
        unsafe { link(writer, table.shape.key_words, node, rank, domain) };
        if !known {
            self.publish(table, domain);
        }
    }

    /// Unlinks the block, or replaces it by another with the same mask, key and rank.
    ///
    /// # Safety
    /// As for [`MaskedWriter::insert`]; `old` is linked; `new` has its mask, key and rank.
    pub(super) unsafe fn replace(
        &mut self,
        table: &Masked,
        mask: &[u64],
        old: &Block,
        new: Option<&Block>,
        domain: &Arc<Domain>,
    ) {
        if let Some(bits) = &mut self.bits {
            match new {
                Some(new) => bits.replace(old.address(), new.address()),
                None => bits.remove(old.address(), domain),
            }
            if bits.is_empty() {
                self.bits = None;
                self.publish(table, domain);
            }
            return;
        }
        let Some(index) = self.groups.iter().position(|g| *g.group.mask == *mask) else { return };
        let writer = &mut self.groups[index];
        // `last` may be `old`, which is about to be retired.
        *writer.last.get_mut() = std::ptr::null_mut();
        let width = table.shape.key_words;
        let old = old.address();
        // SAFETY: linked blocks are alive, and only this writer changes links.
        unsafe {
            let after = block::load_next(old);
            let successor = match new {
                Some(new) => {
                    block::next(new.address()).store(after, Ordering::Relaxed);
                    new.address()
                }
                None => after,
            };
            let head = writer.group.heads.get(width, old);
            if head == old {
                if successor.is_null() {
                    writer.heads.remove(&writer.group.heads, width, old);
                } else {
                    writer.heads.put(&writer.group.heads, width, successor, domain);
                }
            } else {
                let mut at = head;
                while !at.is_null() {
                    let next = block::next(at);
                    if next.load(Ordering::Relaxed) == old {
                        next.store(successor, Ordering::Release);
                        break;
                    }
                    at = next.load(Ordering::Relaxed);
                }
            }
        }
        if new.is_none() {
            writer.len -= 1;
            if writer.len == 0 {
                self.groups.swap_remove(index);
                self.publish(table, domain);
            }
        }
    }

    fn publish(&self, table: &Masked, domain: &Arc<Domain>) {
        let mut order: Vec<Ranked> =
            self.groups.iter().map(|g| Ranked { best: g.best, group: g.group.clone() }).collect();
        order.sort_by_key(|r| std::cmp::Reverse(r.best));
        table.publish(Search::Groups(order), domain);
    }
}

/// Links `node` into its chain, after the blocks of higher rank.
///
/// # Safety
/// As for [`MaskedWriter::insert`].
unsafe fn link(writer: &mut GroupWriter, width: usize, node: NodePtr, rank: Rank, domain: &Arc<Domain>) {
    // SAFETY: linked blocks are alive, `node` is one that readers do not see yet, and only this writer changes links.
    unsafe {
        let heads = &writer.group.heads;
        let head = heads.get(width, node);
        let last = std::mem::replace(writer.last.get_mut(), node);
        if head.is_null() || block::rank(head) < rank {
            block::next(node).store(head, Ordering::Relaxed);
            writer.heads.put(heads, width, node, domain);
            return;
        }
        // Start at the block linked last if it is in the same chain and has a higher rank.
        let behind = !last.is_null() && rank < block::rank(last) && heads.get(width, last) == head;
        let mut at = if behind { last } else { head };
        loop {
            let next = block::load_next(at);
            if next.is_null() || block::rank(next) < rank {
                block::next(node).store(next, Ordering::Relaxed);
                block::next(at).store(node, Ordering::Release);
                return;
            }
            at = next;
        }
    }
}
