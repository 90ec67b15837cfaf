//! Key prefetch: before a batch runs, a slice of the program computes the keys of its lookups, and the memory that the
//! lookups will read is prefetched for many packets at once.
//!
//! This pays only for tables larger than the cache. It therefore runs only while tables are large and the [`Autotuner`]
//! measures a gain. It does not affect results: a wrong or missing key only costs time.

use hopwright_abi::{Packet as RawPacket, RunBatch, Runtime};

use crate::executor::autotuner::Autotuner;
use crate::jit::{CompiledPipeline, PrefetchedTable};
use crate::packet::Packet;
use crate::table::{Fetcher, Table};

/// The number of packets to prefetch for at a time, such that the prefetched lines do not evict one another from the L1
/// cache.
const AT_ONCE: usize = 64;
/// The minimum number of packets in a batch: with fewer, there are no cache misses to overlap.
const MIN_PACKETS: usize = 4;
/// Tables with less data in total, in bytes, stay in the L2 cache.
const LARGE: usize = 256 << 10;

/// The common part of a program's key prefetchers.
#[derive(Clone)]
pub(crate) struct Plan {
    run: RunBatch,
    /// The number of tables of the program.
    tables: usize,
    prefetched: Vec<(PrefetchedTable, Fetcher)>,
}

impl Plan {
    /// Returns `None` if the program has no lookups to prefetch for. The plan is valid while the program and its tables
    /// live.
    pub(crate) fn of(compiled: &CompiledPipeline, tables: &[Table]) -> Option<Plan> {
        let prefetcher = compiled.key_prefetcher()?;
        let with = |s: &PrefetchedTable| Some((*s, tables.get(s.table.index())?.fetcher()));
        let prefetched: Option<Vec<_>> = prefetcher.tables.iter().map(with).collect();
        Some(Plan { run: prefetcher.run(), tables: tables.len(), prefetched: prefetched? })
    }
}

/// A worker's key prefetcher.
pub(crate) struct KeyPrefetcher {
    plan: Plan,
    /// For each table, where generated code writes the next key.
    cursors: Box<[*mut u64]>,
    /// Buffer for the keys, table by table.
    keys: Box<[u64]>,
    /// Whether to prefetch in the current batch.
    active: bool,
    /// Index of the first packet whose keys have not been prefetched.
    until: usize,
    /// True to prefetch in every batch, false for none, `None` to leave it to the autotuner.
    always: Option<bool>,
    tuner: Autotuner,
}

// SAFETY: the pointers are to the prefetcher's own keys and to tables, which may be used from any thread.
unsafe impl Send for KeyPrefetcher {}

impl KeyPrefetcher {
    pub(crate) fn new(plan: Plan) -> KeyPrefetcher {
        let words: usize = plan.prefetched.iter().map(|(t, _)| AT_ONCE * t.uses * t.key_words).sum();
        KeyPrefetcher {
            cursors: vec![std::ptr::null_mut(); plan.tables].into(),
            keys: vec![0; words].into(),
            active: false,
            until: 0,
            always: None,
            tuner: Autotuner::default(),
            plan,
        }
    }

    /// True to prefetch in every batch, false for none, `None` to leave it to the autotuner.
    pub(crate) fn set_always(&mut self, always: Option<bool>) {
        self.always = always;
    }

    /// Begins a batch of `packets` packets.
    ///
    /// # Safety
    /// The tables are alive.
    #[inline]
    pub(crate) unsafe fn begin(&mut self, packets: usize) {
        // SAFETY: guaranteed by the caller.
        let bytes: usize = self.plan.prefetched.iter().map(|(_, f)| unsafe { f.bytes() }).sum();
        self.until = 0;
        self.active = if let Some(always) = self.always {
            always
        } else if bytes < LARGE {
            self.tuner = Autotuner::default();
            false
        } else {
            packets >= MIN_PACKETS && self.tuner.begin()
        };
    }

    /// Ends the batch.
    #[inline]
    pub(crate) fn end(&mut self, packets: usize) {
        self.tuner.end(packets);
    }

    /// Returns whether the autotuner is timing the current batch.
    #[inline]
    pub(crate) fn is_timed(&self) -> bool {
        self.tuner.is_running()
    }

    /// Prefetches for a few packets from index `done` on, if that has not been done yet. Returns the index up to which
    /// packets may run before the next call.
    ///
    /// # Safety
    /// The program and its tables are alive, the caller is inside their domain, and the runtime is one for the program.
    #[inline]
    pub(crate) unsafe fn ahead(&mut self, runtime: &Runtime, packets: &mut [Packet], done: usize) -> usize {
        if !self.active {
            return packets.len();
        }
        if done >= self.until {
            self.until = packets.len().min(done + AT_ONCE);
            // SAFETY: guaranteed by the caller.
            unsafe { self.fetch(runtime, &mut packets[done..self.until]) };
        }
        self.until
    }

    /// # Safety
    /// As for [`KeyPrefetcher::ahead`]; there are at most [`AT_ONCE`] packets.
    unsafe fn fetch(&mut self, runtime: &Runtime, packets: &mut [Packet]) {
        debug_assert!(packets.len() <= AT_ONCE);
        let mut rest = &mut *self.keys;
        for (table, _) in &self.plan.prefetched {
            let (room, more) = rest.split_at_mut(AT_ONCE * table.uses * table.key_words);
            self.cursors[table.table.index()] = room.as_mut_ptr();
            rest = more;
        }
        let runtime = Runtime { context: self.cursors.as_mut_ptr().cast(), ..*runtime };
        let raw: *mut RawPacket = Packet::as_raw_batch(packets);
        // SAFETY: as for the program's own function, guaranteed by the caller; the context words of prefetched tables
        // point to room for the keys of [`AT_ONCE`] packets.
        unsafe { (self.plan.run)(&runtime, raw, packets.len()) };
        let mut at = 0;
        for (table, fetcher) in &self.plan.prefetched {
            let room = AT_ONCE * table.uses * table.key_words;
            let keys = &self.keys[at..at + room];
            at += room;
            let words = (self.cursors[table.table.index()].addr() - keys.as_ptr().addr()) / size_of::<u64>();
            debug_assert!(words <= room);
            // SAFETY: the key function wrote `words` words, which are whole keys of this table; the caller is inside
            // its domain.
            unsafe { (fetcher.fetch)(fetcher.state, keys.as_ptr(), words / table.key_words) };
        }
    }
}
