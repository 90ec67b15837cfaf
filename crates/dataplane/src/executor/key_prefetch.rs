//! Looking ahead: before a batch runs, its packets' keys are gathered and what lookups will read is fetched for all of them.
//!
//! That pays for tables larger than the cache, when packets of a batch need different parts of them. So it is done only
//! then: while tables are large, and as long as it is found to be faster ([`Autotuner`]). Results do not depend on any of it.
//! Does not live here: the function that gathers keys ([`hopwright_jit::KeyPrefetcher`]), how tables are fetched.

use hopwright_abi::{Packet as RawPacket, RunBatch, Runtime};
use hopwright_jit::{CompiledPipeline, PrefetchedTable};

use crate::executor::autotuner::Autotuner;
use crate::packet::Packet;
use crate::table::{Fetcher, Table};

/// Packets that are looked ahead for at a time: what is fetched must not drive itself out of the first-level cache.
const AT_ONCE: usize = 64;
/// Fewer packets have nothing to overlap.
const FEWEST: usize = 4;
/// Tables of fewer bytes are in a cache that is near.
const LARGE: usize = 256 << 10;

/// What a program's scout is made from.
#[derive(Clone)]
pub(crate) struct Plan {
    run: RunBatch,
    /// Tables of the program.
    tables: usize,
    scouted: Vec<(PrefetchedTable, Fetcher)>,
}

impl Plan {
    /// Nothing if there is nothing to look ahead for. Valid as long as the program and its tables.
    pub fn of(compiled: &CompiledPipeline, tables: &[Table]) -> Option<Plan> {
        let scout = compiled.key_prefetcher()?;
        let with = |s: &PrefetchedTable| Some((*s, tables.get(s.table.index())?.fetcher()));
        let scouted: Option<Vec<_>> = scout.tables.iter().map(with).collect();
        Some(Plan { run: scout.run(), tables: tables.len(), scouted: scouted? })
    }
}

/// A worker's scout.
pub(crate) struct KeyPrefetcher {
    plan: Plan,
    /// For each table where its next key goes.
    cursors: Box<[*mut u64]>,
    /// Room for keys, table by table.
    keys: Box<[u64]>,
    /// This batch is looked ahead for.
    active: bool,
    /// Up to this packet it was done.
    until: usize,
    /// Whether every batch is to be looked ahead for, or none.
    always: Option<bool>,
    tuner: Autotuner,
}

// SAFETY: the pointers are to the scout's own keys and to tables, which may be used from any thread.
unsafe impl Send for KeyPrefetcher {}

impl KeyPrefetcher {
    pub fn new(plan: Plan) -> KeyPrefetcher {
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

    /// Look ahead for every batch, or none, instead of finding out.
    pub fn set_always(&mut self, always: Option<bool>) {
        self.always = always;
    }

    /// A batch of so many packets begins.
    ///
    /// # Safety
    /// The tables are alive.
    #[inline]
    pub unsafe fn begin(&mut self, packets: usize) {
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
    pub fn end(&mut self, packets: usize) {
        self.tuner.end(packets);
    }

    /// This batch is one that is timed.
    #[inline]
    pub fn is_timed(&self) -> bool {
        self.tuner.is_running()
    }

    /// Looks ahead for packets from number `done` on, and says up to which number they may run now.
    ///
    /// # Safety
    /// The program and its tables are alive, the caller is in their domain, and the runtime is one for the program.
    #[inline]
    pub unsafe fn ahead(&mut self, runtime: &Runtime, packets: &mut [Packet], done: usize) -> usize {
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
        // SAFETY: as for the program's own function, by the caller's promise; the words of scouted tables point to room
        // for the keys of so many packets.
        unsafe { (self.plan.run)(&runtime, raw, packets.len()) };
        let mut at = 0;
        for (table, fetcher) in &self.plan.scouted {
            let room = AT_ONCE * table.uses * table.key_words;
            let keys = &self.keys[at..at + room];
            at += room;
            let words = (self.cursors[table.table.index()].addr() - keys.as_ptr().addr()) / size_of::<u64>();
            debug_assert!(words <= room);
            // SAFETY: the scout wrote so many words of whole keys of this table; the caller is in its domain.
            unsafe { (fetcher.fetch)(fetcher.state, keys.as_ptr(), words / table.key_words) };
        }
    }
}
