//! Key prefetch: before a batch runs, a slice of the program computes the keys of its lookups, and the memory that these
//! lookups will read is prefetched for all packets at once.
//!
//! This pays for tables larger than the cache. It therefore runs only while tables are large and as long as the
//! [`Autotuner`] measures a gain. Results do not depend on it: a wrong or missing key costs time only.

use hopwright_abi::{Packet as RawPacket, RunBatch, Runtime};
use hopwright_jit::{CompiledPipeline, PrefetchedTable};

use crate::executor::autotuner::Autotuner;
use crate::packet::Packet;
use crate::table::{Fetcher, Table};

/// Packets to prefetch for at a time: the prefetched lines must not evict one another from the first-level cache.
const AT_ONCE: usize = 64;
/// Least packets in a batch for prefetching: fewer have nothing to overlap.
const FEWEST: usize = 4;
/// Tables of fewer bytes stay in a near cache.
const LARGE: usize = 256 << 10;

/// What key prefetchers of a program are made from.
#[derive(Clone)]
pub(crate) struct Plan {
    run: RunBatch,
    /// Tables of the program.
    tables: usize,
    scouted: Vec<(PrefetchedTable, Fetcher)>,
}

impl Plan {
    /// `None` if the program has no lookup to prefetch for. Valid as long as the program and its tables.
    pub(crate) fn of(compiled: &CompiledPipeline, tables: &[Table]) -> Option<Plan> {
        let scout = compiled.key_prefetcher()?;
        let with = |s: &PrefetchedTable| Some((*s, tables.get(s.table.index())?.fetcher()));
        let scouted: Option<Vec<_>> = scout.tables.iter().map(with).collect();
        Some(Plan { run: scout.run(), tables: tables.len(), scouted: scouted? })
    }
}

/// A worker's key prefetcher.
pub(crate) struct KeyPrefetcher {
    plan: Plan,
    /// For each table where its next key goes.
    cursors: Box<[*mut u64]>,
    /// Room for keys, table by table.
    keys: Box<[u64]>,
    /// Whether it prefetches for this batch.
    active: bool,
    /// The first packet without prefetched keys.
    until: usize,
    /// Prefetch for every batch, or for none; `None` leaves it to the autotuner.
    always: Option<bool>,
    tuner: Autotuner,
}

// SAFETY: the pointers are to the prefetcher's own keys and to tables, which may be used from any thread.
unsafe impl Send for KeyPrefetcher {}

impl KeyPrefetcher {
    pub(crate) fn new(plan: Plan) -> KeyPrefetcher {
        let words: usize = plan.scouted.iter().map(|(t, _)| AT_ONCE * t.uses * t.key_words).sum();
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

    /// Prefetches for every batch, or for none; `None` leaves it to the autotuner.
    pub(crate) fn set_always(&mut self, always: Option<bool>) {
        self.always = always;
    }

    /// A batch of so many packets begins.
    ///
    /// # Safety
    /// The tables are alive.
    #[inline]
    pub(crate) unsafe fn begin(&mut self, packets: usize) {
        // SAFETY: the caller's promise.
        let bytes: usize = self.plan.scouted.iter().map(|(_, f)| unsafe { f.bytes() }).sum();
        self.until = 0;
        self.active = if let Some(always) = self.always {
            always
        } else if bytes < LARGE {
            self.tuner = Autotuner::default();
            false
        } else {
            packets >= FEWEST && self.tuner.begin()
        };
    }

    /// The batch is done.
    #[inline]
    pub(crate) fn end(&mut self, packets: usize) {
        self.tuner.end(packets);
    }

    /// Whether this batch is timed.
    #[inline]
    pub(crate) fn is_timed(&self) -> bool {
        self.tuner.is_running()
    }

    /// Prefetches for packets from number `done` on and returns the number up to which they may run.
    ///
    /// # Safety
    /// The program and its tables are alive, the caller is in their domain, and the runtime is one for the program.
    #[inline]
    pub(crate) unsafe fn ahead(&mut self, runtime: &Runtime, packets: &mut [Packet], done: usize) -> usize {
        if !self.active {
            return packets.len();
        }
        if done >= self.until {
            self.until = packets.len().min(done + AT_ONCE);
            // SAFETY: the caller's promise.
            unsafe { self.fetch(runtime, &mut packets[done..self.until]) };
        }
        self.until
    }

    /// # Safety
    /// As for [`KeyPrefetcher::ahead`]; at most [`AT_ONCE`] packets.
    unsafe fn fetch(&mut self, runtime: &Runtime, packets: &mut [Packet]) {
        debug_assert!(packets.len() <= AT_ONCE);
        let mut rest = &mut *self.keys;
        for (table, _) in &self.plan.scouted {
            let (room, more) = rest.split_at_mut(AT_ONCE * table.uses * table.key_words);
            self.cursors[table.table.index()] = room.as_mut_ptr();
            rest = more;
        }
        let runtime = Runtime { context: self.cursors.as_mut_ptr().cast(), ..*runtime };
        let raw: *mut RawPacket = Packet::as_raw_batch(packets);
        // SAFETY: as for the program's own function, by the caller's promise; the words of prefetched tables point to room
        // for the keys of so many packets.
        unsafe { (self.plan.run)(&runtime, raw, packets.len()) };
        let mut at = 0;
        for (table, fetcher) in &self.plan.scouted {
            let room = AT_ONCE * table.uses * table.key_words;
            let keys = &self.keys[at..at + room];
            at += room;
            let words = (self.cursors[table.table.index()].addr() - keys.as_ptr().addr()) / size_of::<u64>();
            debug_assert!(words <= room);
            // SAFETY: the key function wrote so many words of whole keys of this table; the caller is in its domain.
            unsafe { (fetcher.fetch)(fetcher.state, keys.as_ptr(), words / table.key_words) };
        }
    }
}
