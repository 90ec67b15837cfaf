//! Counter cells and register values, which one worker writes without locks and any thread may read.
//!
//! Generated code accesses the cells as plain memory, all other code through atomics of the same size. A counter's
//! packet and byte counts are not updated together: a reader may see one without the other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hopwright_abi::{CounterCell, limbs_of, push_limbs};
use num_bigint::BigUint;

pub use hopwright_interp::Count;

use crate::native;
use crate::offload::OnDevice;

/// Words that generated code writes directly.
#[derive(Debug)]
struct Words(Box<[AtomicU64]>);

impl Words {
    /// Allocates zeroed words. Pages that are never touched take no memory.
    fn new(count: usize) -> Words {
        Words(native::zeroed_words(count))
    }

    fn as_ptr(&self) -> *mut u64 {
        // Atomics have interior mutability, so writing through a pointer derived from a shared reference is allowed.
        self.0.as_ptr().cast_mut().cast()
    }
}

/// An array of counter cells with a single writer.
#[derive(Debug)]
pub(crate) struct Cells(Words);

impl Cells {
    pub(crate) fn new(count: usize) -> Cells {
        Cells(Words::new(count * 2))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.0.len() / 2
    }

    /// The address of the cells, for generated code.
    pub(crate) fn as_ptr(&self) -> *mut CounterCell {
        self.0.as_ptr().cast()
    }

    /// Reads a cell. Panics if the index is out of range.
    pub(crate) fn read(&self, index: usize) -> Count {
        let word = |i: usize| self.0.0[i].load(Ordering::Relaxed);
        Count { packets: word(2 * index), bytes: word(2 * index + 1) }
    }

    /// Counts a packet. Only one thread may count at a time. Panics if the index is out of range.
    pub(crate) fn count(&self, index: usize, bytes: u64) {
        let Count { packets, bytes: sum } = self.read(index);
        self.write(index, Count { packets: packets.wrapping_add(1), bytes: sum.wrapping_add(bytes) });
    }

    /// Sets a cell. The effect may be lost if a worker counts concurrently. Panics if the index is out of range.
    pub(crate) fn write(&self, index: usize, count: Count) {
        self.0.0[2 * index].store(count.packets, Ordering::Relaxed);
        self.0.0[2 * index + 1].store(count.bytes, Ordering::Relaxed);
    }
}

/// Bytes of a frame that are not in packets, such as its check sequence. Workers count bytes of packets; these are added when counts are
/// read.
#[derive(Debug, Default)]
pub(crate) struct Frame(AtomicU64);

impl Frame {
    pub(crate) fn set(&self, bytes: u8) {
        self.0.store(bytes.into(), Ordering::Relaxed);
    }

    /// What has been counted, with them.
    pub(crate) fn with(&self, count: Count) -> Count {
        let Count { packets, bytes } = count;
        Count { packets, bytes: bytes.wrapping_add(self.of(packets)) }
    }

    /// The inverse.
    pub(crate) fn without(&self, count: Count) -> Count {
        let Count { packets, bytes } = count;
        Count { packets, bytes: bytes.wrapping_sub(self.of(packets)) }
    }

    fn of(&self, packets: u64) -> u64 {
        packets.wrapping_mul(self.0.load(Ordering::Relaxed))
    }
}

/// An array of counters with a copy per worker, so that workers never write the same memory. Its values are the sums of
/// the copies.
#[derive(Debug)]
pub(crate) struct Counters {
    size: usize,
    copies: Mutex<Vec<Arc<Cells>>>,
    pub(crate) frame: Frame,
    /// Where packets are counted instead, if they are.
    pub(crate) device: OnDevice,
}

impl Counters {
    pub(crate) fn new(size: usize) -> Counters {
        Counters { size, copies: Mutex::default(), frame: Frame::default(), device: OnDevice::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.size
    }

    /// Returns a copy for a worker: one that a previous worker no longer uses, or a new one.
    pub(crate) fn join(&self) -> Arc<Cells> {
        let mut copies = self.lock();
        if let Some(left) = copies.iter().find(|copy| Arc::strong_count(copy) == 1) {
            return left.clone();
        }
        let new = Arc::new(Cells::new(self.size));
        copies.push(new.clone());
        new
    }

    /// Reads a counter. Panics if the index is out of range.
    pub(crate) fn read(&self, index: usize) -> Count {
        self.lock().iter().map(|copy| copy.read(index)).fold(Count::default(), |sum, count| Count {
            packets: sum.packets.wrapping_add(count.packets),
            bytes: sum.bytes.wrapping_add(count.bytes),
        })
    }

    /// Sets a counter. The effect may be lost if a worker counts concurrently. Panics if the index is out of range.
    pub(crate) fn write(&self, index: usize, count: Count) {
        let mut copies = self.lock();
        if copies.is_empty() {
            copies.push(Arc::new(Cells::new(self.size)));
        }
        for (i, copy) in copies.iter().enumerate() {
            copy.write(index, if i == 0 { count } else { Count::default() });
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Cells>>> {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An array of register values, each of a fixed number of 64-bit limbs. Reading a value of several limbs while a worker
/// writes it may return a mix of the old and the new value.
#[derive(Debug)]
pub(crate) struct Registers {
    words: Words,
    limbs: usize,
    /// Where the values are instead, if they are.
    pub(crate) device: OnDevice,
}

impl Registers {
    pub(crate) fn new(count: usize, limbs: usize) -> Registers {
        Registers { words: Words::new(count * limbs), limbs, device: OnDevice::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.words.0.len() / self.limbs
    }

    /// Sets all values. Zeros take no memory until they are written.
    pub(crate) fn fill(&self, value: &BigUint, width: u32) {
        if *value != BigUint::ZERO {
            let mut limbs = Vec::new();
            push_limbs(&mut limbs, value, limbs_of(width));
            (0..self.len()).for_each(|at| self.write(at, &limbs));
        }
    }

    /// The address of the values, for generated code.
    pub(crate) fn as_ptr(&self) -> *mut u64 {
        self.words.as_ptr()
    }

    /// Reads a value as limbs. Panics if the index is out of range.
    pub(crate) fn read(&self, index: usize) -> Vec<u64> {
        let at = index * self.limbs;
        self.words.0[at..at + self.limbs].iter().map(|w| w.load(Ordering::Relaxed)).collect()
    }

    pub(crate) fn write(&self, index: usize, limbs: &[u64]) {
        let at = index * self.limbs;
        for (word, limb) in self.words.0[at..at + self.limbs].iter().zip(limbs) {
            word.store(*limb, Ordering::Relaxed);
        }
    }
}
