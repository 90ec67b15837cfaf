//! Ternary matching with bit vectors, which tests 64 entries in a few instructions.
//!
//! A key is cut into pieces of four bits. For each value of each piece, a line of 512 bits says which of 512 entries
//! match that value. The AND of the lines that a key selects has a bit for each entry that the key hits. The cost of a
//! lookup grows with the number of entries, not with the number of masks: this suits thousands of rules, not millions.
//! The method is that of Lakshman and Stiliadis (SIGCOMM 1998), with pieces of fixed size as in hardware.
//!
//! There is one writer, and readers never wait. A reader can find an entry once the last of its bits is set. The
//! entry's bit position is reused only after all readers that may have seen its bits are quiescent.

use std::collections::{HashMap, HashSet};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};

use super::block::{NodePtr, Rank, rank};
use crate::sync::quiescence::Domain;

/// Entries per section: the bits of one cache line.
const SECTION: usize = 512;
const WORDS: usize = SECTION / 64;
/// Bits of a piece, and the number of values it can have.
const PIECE: u32 = 4;
const VALUES: usize = 1 << PIECE;
/// The maximum number of pieces of a key.
const MAX_PIECES: usize = 128;

/// The position of a piece: a word of the key and a shift within the word.
#[derive(Clone, Copy, Debug)]
struct Piece {
    word: u32,
    shift: u32,
}

/// The pieces of one key word, counted from its least significant bits.
#[derive(Clone, Copy, Debug)]
struct Run {
    word: u32,
    pieces: u32,
}

#[repr(align(64))]
struct Line([AtomicU64; WORDS]);

struct Section {
    /// An upper bound of the section's priorities.
    max: AtomicI64,
    nodes: [AtomicPtr<u64>; SECTION],
    priorities: [AtomicI64; SECTION],
    /// Indexed by piece and value: the line for value `v` of piece `p` is at `p * VALUES + v`.
    lines: Box<[Line]>,
}

impl Section {
    fn new(pieces: usize) -> Arc<Section> {
        let line = || Line([const { AtomicU64::new(0) }; WORDS]);
        Arc::new(Section {
            max: AtomicI64::new(i64::MIN),
            nodes: [const { AtomicPtr::new(null_mut()) }; SECTION],
            priorities: [const { AtomicI64::new(0) }; SECTION],
            lines: (0..pieces * VALUES).map(|_| line()).collect(),
        })
    }
}

/// The readers' side: a snapshot of the list of sections.
pub(super) struct Bits {
    runs: Arc<[Run]>,
    /// The number of pieces in all runs.
    pieces: usize,
    sections: Box<[Arc<Section>]>,
}

impl Bits {
    /// Returns the entry of the highest rank among those that the key hits and `fits` accepts, or null.
    ///
    /// # Safety
    /// `key` points to a key of the table; the caller is inside its domain.
    #[inline]
    pub(super) unsafe fn find(&self, key: *const u64, fits: impl Fn(NodePtr) -> bool) -> NodePtr {
        let mut picked = [const { MaybeUninit::<u16>::uninit() }; MAX_PIECES];
        let mut rest = picked[..self.pieces].iter_mut();
        let mut first = 0;
        for run in &*self.runs {
            // SAFETY: runs lie within the key.
            let mut word = unsafe { key.add(run.word as usize).read() };
            for at in rest.by_ref().take(run.pieces as usize) {
                at.write(first + word as u16 % VALUES as u16);
                first += VALUES as u16;
                word >>= PIECE;
            }
        }
        // SAFETY: the runs have `self.pieces` pieces in total, and each wrote one element.
        let picked = unsafe { std::slice::from_raw_parts(picked.as_ptr().cast::<u16>(), self.pieces) };
        let mut best: Option<(Rank, NodePtr)> = None;
        for section in &self.sections {
            if best.is_some_and(|(rank, _)| rank.priority > section.max.load(Ordering::Relaxed)) {
                continue;
            }
            // SAFETY: every section has the lines that the indices select.
            let hit = unsafe { in_all(&section.lines, picked) };
            // Pairs with the release store of an entry's last bit: its node and priority are visible from here on.
            fence(Ordering::Acquire);
            for (word, mut hit) in hit.into_iter().enumerate() {
                while hit != 0 {
                    let at = word * 64 + hit.trailing_zeros() as usize;
                    hit &= hit - 1;
                    let priority = section.priorities[at].load(Ordering::Relaxed);
                    if best.is_some_and(|(rank, _)| rank.priority > priority) {
                        continue;
                    }
                    let node = section.nodes[at].load(Ordering::Acquire);
                    // SAFETY: a node whose bits a reader sees lives until the reader leaves the domain.
                    let rank = unsafe { rank(node) };
                    if best.is_none_or(|(best, _)| rank > best) && fits(node) {
                        best = Some((rank, node));
                    }
                }
            }
        }
        best.map_or(null_mut(), |(_, node)| node)
    }
}

/// Returns the AND of the lines with these indices.
///
/// # Safety
/// `picked` is not empty, and each element is an index into `lines`.
#[inline(always)]
unsafe fn in_all(lines: &[Line], picked: &[u16]) -> [u64; WORDS] {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: guaranteed by the caller; the processor has AVX2.
        return unsafe { in_all_avx2(lines, picked) };
    }
    let mut hit = [u64::MAX; WORDS];
    for &at in picked {
        // SAFETY: guaranteed by the caller.
        let line = unsafe { lines.get_unchecked(usize::from(at)) };
        for (hit, word) in hit.iter_mut().zip(&line.0) {
            *hit &= word.load(Ordering::Relaxed);
        }
    }
    hit
}

/// [`in_all`] with 256-bit instructions.
///
/// # Safety
/// As for [`in_all`]; the processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn in_all_avx2(lines: &[Line], picked: &[u16]) -> [u64; WORDS] {
    let mut hit = [0; WORDS];
    // SAFETY: the code reads the indices, of which there is at least one, and only the lines that they select, and
    // writes all of `hit`. The writer may change words of a line concurrently: the processor reads each of these
    // aligned words atomically.
    unsafe {
        std::arch::asm!(
            "vpcmpeqd {low}, {low}, {low}",
            "vpcmpeqd {high}, {high}, {high}",
            "2:",
            "movzx {at:e}, word ptr [{picked}]",
            "shl {at}, 6",
            "vpand {low}, {low}, [{lines} + {at}]",
            "vpand {high}, {high}, [{lines} + {at} + 32]",
            "add {picked}, 2",
            "cmp {picked}, {end}",
            "jne 2b",
            "vmovdqu [{hit}], {low}",
            "vmovdqu [{hit} + 32], {high}",
            low = out(ymm_reg) _,
            high = out(ymm_reg) _,
            at = out(reg) _,
            picked = inout(reg) picked.as_ptr() => _,
            end = in(reg) picked.as_ptr_range().end,
            lines = in(reg) lines.as_ptr(),
            hit = in(reg) &raw mut hit,
            options(nostack),
        );
    }
    hit
}

/// The match of an entry, in words. It accepts some of the values of each piece.
pub(super) struct Pattern<'a> {
    pub key: &'a [u64],
    pub mask: &'a [u64],
    /// Range fields: the first word in the key, the low bound and the high bound.
    pub ranges: Vec<(usize, &'a [u64], &'a [u64])>,
}

impl Pattern<'_> {
    /// Returns the set of values of a piece that can match, as a bit mask. For ranges it is an over-approximation: the
    /// reader compares the bounds of what it finds.
    fn values(&self, piece: Piece) -> u16 {
        let Piece { word, shift } = piece;
        let word = word as usize;
        if let Some((first, lo, hi)) =
            self.ranges.iter().find(|(first, lo, _)| (*first..first + lo.len()).contains(&word))
        {
            let at = word - first;
            let same_above = lo[at + 1..] == hi[at + 1..]
                && (shift + PIECE >= 64 || lo[at] >> (shift + PIECE) == hi[at] >> (shift + PIECE));
            let of = |bound: &[u64]| (bound[at] >> shift) as usize % VALUES;
            let (lo, hi) = if same_above { (of(lo), of(hi)) } else { (0, VALUES - 1) };
            return (lo..=hi).fold(0, |all, value| all | 1 << value);
        }
        let (key, mask) = ((self.key[word] >> shift) as usize, (self.mask[word] >> shift) as usize % VALUES);
        (0..VALUES).filter(|value| (value ^ key) & mask == 0).fold(0, |all, value| all | 1 << value)
    }
}

/// Bit positions that can be reused.
type Free = Arc<Mutex<Vec<u32>>>;

/// Makes a bit position reusable when it is dropped.
struct ReleasedPlace {
    free: Free,
    place: u32,
}

impl Drop for ReleasedPlace {
    fn drop(&mut self) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(self.place);
    }
}

/// An entry's bit position and mask.
struct Placed {
    place: u32,
    mask: Box<[u64]>,
}

/// The writer's side.
pub(super) struct BitsWriter {
    pieces: Box<[Piece]>,
    runs: Arc<[Run]>,
    sections: Vec<Arc<Section>>,
    /// Entries by the address of their node.
    placed: HashMap<usize, Placed>,
    free: Free,
    /// The first bit position that has never been used.
    fresh: u32,
}

impl BitsWriter {
    /// Creates a writer for keys with fields of these widths in bits, each of which starts a new word. Returns `None`
    /// if the keys are too wide.
    pub(super) fn new(widths: &[u32]) -> Option<BitsWriter> {
        let (mut pieces, mut runs) = (Vec::new(), Vec::new());
        for &width in widths {
            for bits in (0..width).step_by(64).map(|bit| 64.min(width - bit)) {
                let word = runs.len() as u32;
                pieces.extend((0..bits).step_by(PIECE as usize).map(|shift| Piece { word, shift }));
                runs.push(Run { word, pieces: bits.div_ceil(PIECE) });
            }
        }
        let fits = (1..=MAX_PIECES).contains(&pieces.len());
        fits.then(|| BitsWriter {
            pieces: pieces.into(),
            runs: runs.into(),
            sections: Vec::new(),
            placed: HashMap::new(),
            free: Free::default(),
            fresh: 0,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.placed.is_empty()
    }

    /// The number of lines that a lookup reads.
    pub(super) fn lines(&self) -> usize {
        self.sections.len() * self.pieces.len()
    }

    /// The number of lines that a lookup would read with this many entries.
    pub(super) fn lines_for(&self, entries: usize) -> usize {
        entries.div_ceil(SECTION) * self.pieces.len()
    }

    /// The number of different masks.
    pub(super) fn masks(&self) -> usize {
        self.placed.values().map(|p| &*p.mask).collect::<HashSet<_>>().len()
    }

    /// Returns the current readers' side.
    pub(super) fn reader(&self) -> Bits {
        Bits { runs: self.runs.clone(), pieces: self.pieces.len(), sections: self.sections.iter().cloned().collect() }
    }

    /// Returns the nodes of all entries with their masks.
    pub(super) fn entries(&self) -> impl Iterator<Item = (NodePtr, &[u64])> {
        self.placed.values().map(|p| {
            let section = &self.sections[p.place as usize / SECTION];
            (section.nodes[p.place as usize % SECTION].load(Ordering::Relaxed), &*p.mask)
        })
    }

    /// Adds an entry. Returns true if readers need a new [`BitsWriter::reader`] to find it.
    ///
    /// # Safety
    /// `node` is the address of a live linked block, which stays alive until it is removed and readers are quiescent;
    /// no other thread writes.
    pub(super) unsafe fn insert(&mut self, node: NodePtr, pattern: &Pattern<'_>) -> bool {
        let reused = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let place = reused.unwrap_or_else(|| {
            self.fresh += 1;
            self.fresh - 1
        });
        let grows = place as usize / SECTION == self.sections.len();
        if grows {
            self.sections.push(Section::new(self.pieces.len()));
        }
        let (section, at) = (&self.sections[place as usize / SECTION], place as usize % SECTION);
        // SAFETY: guaranteed by the caller.
        let priority = unsafe { rank(node) }.priority;
        section.max.fetch_max(priority, Ordering::Relaxed);
        section.priorities[at].store(priority, Ordering::Relaxed);
        section.nodes[at].store(node, Ordering::Release);
        for (piece, lines) in self.pieces.iter().zip(section.lines.chunks(VALUES)) {
            let values = pattern.values(*piece);
            for line in lines.iter().enumerate().filter(|(value, _)| values >> value & 1 != 0).map(|(_, line)| line) {
                line.0[at / 64].fetch_or(1 << (at % 64), Ordering::Release);
            }
        }
        self.placed.insert(node.addr(), Placed { place, mask: pattern.mask.into() });
        grows
    }

    /// Replaces an entry by another with the same match and rank.
    pub(super) fn replace(&mut self, old: NodePtr, new: NodePtr) {
        if let Some(placed) = self.placed.remove(&old.addr()) {
            let place = placed.place as usize;
            self.sections[place / SECTION].nodes[place % SECTION].store(new, Ordering::Release);
            self.placed.insert(new.addr(), placed);
        }
    }

    /// Removes an entry.
    pub(super) fn remove(&mut self, node: NodePtr, domain: &Domain) {
        let Some(Placed { place, .. }) = self.placed.remove(&node.addr()) else { return };
        let (section, at) = (&self.sections[place as usize / SECTION], place as usize % SECTION);
        for line in &section.lines {
            line.0[at / 64].fetch_and(!(1 << (at % 64)), Ordering::Relaxed);
        }
        domain.retire(ReleasedPlace { free: self.free.clone(), place });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_accepts_its_values_piece_by_piece() {
        let (lo, hi) = ([0x1234], [0x1278]);
        let pattern = Pattern { key: &[0], mask: &[0], ranges: vec![(0, &lo, &hi)] };
        let values = |shift| pattern.values(Piece { word: 0, shift });
        assert_eq!(values(12), 1 << 1);
        assert_eq!(values(8), 1 << 2);
        assert_eq!(values(4), 0b1111_1000);
        assert_eq!(values(0), 0xffff, "the piece above differs");
    }

    #[test]
    fn places_are_reused_only_when_readers_are_quiescent() {
        let domain = Domain::new();
        let mut reader = domain.reader();
        let mut writer = BitsWriter::new(&[8]).unwrap();
        let pattern = Pattern { key: &[3], mask: &[0xff], ranges: Vec::new() };
        let mut blocks = [[5u64, 9, 0, 3], [6, 8, 0, 3]];
        let [a, b] = blocks.each_mut().map(|block| {
            // SAFETY: within the array; laid out as a linked block: rank, link, key.
            unsafe { block.as_mut_ptr().add(3) }
        });
        // SAFETY: the blocks outlive all; there is one writer.
        assert!(unsafe { writer.insert(a, &pattern) });
        let bits = writer.reader();
        let guard = reader.enter();
        writer.remove(a, &domain);
        // SAFETY: as above.
        assert!(!unsafe { writer.insert(b, &pattern) });
        assert_eq!(writer.placed[&b.addr()].place, 1, "the first place may still be looked at");
        drop(guard);
        domain.collect();
        // SAFETY: the key has one word.
        assert_eq!(unsafe { bits.find([3].as_ptr(), |_| true) }, b);
        // SAFETY: as above.
        assert_eq!(unsafe { bits.find([4].as_ptr(), |_| true) }, null_mut());
        // SAFETY: as above.
        assert!(!unsafe { writer.insert(a, &pattern) });
        assert_eq!(writer.placed[&a.addr()].place, 0);
    }
}
