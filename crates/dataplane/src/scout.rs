//! Looking ahead: before a batch runs, its packets' keys are gathered and what lookups will read is fetched for all of them.
//!
//! That pays for tables larger than the cache, when packets of a batch need different parts of them. So it is done only
//! then: while tables are large, a few batches now and then are timed with it and without, and what was faster is kept up
//! until the next such trial. Results do not depend on any of it. Does not live here: the function that gathers keys
//! ([`hopwright_jit::Scout`]), how tables are fetched.

use std::time::Instant;

use hopwright_jit::abi::{Packet as RawPacket, RunBatch, Runtime};
use hopwright_jit::{CompiledPipeline, ScoutedTable};

use crate::packet::Packet;
use crate::table::{Fetcher, Table};

/// Packets that are looked ahead for at a time: what is fetched must not drive itself out of the first-level cache.
const AT_ONCE: usize = 64;
/// Fewer packets have nothing to overlap.
const FEWEST: usize = 4;
/// Tables of fewer bytes are in a cache that is near.
const LARGE: usize = 256 << 10;
/// Batches from one trial to the next.
const PERIOD: u32 = 4096;
/// Batches of a trial.
const TRIAL: u32 = 16;

/// What a program's scout is made from.
#[derive(Clone)]
pub(crate) struct Plan {
    run: RunBatch,
    /// Tables of the program.
    tables: usize,
    scouted: Vec<(ScoutedTable, Fetcher)>,
}

impl Plan {
    /// Nothing if there is nothing to look ahead for. Valid as long as the program and its tables.
    pub fn of(compiled: &CompiledPipeline, tables: &[Table]) -> Option<Plan> {
        let scout = compiled.scout()?;
        let with = |s: &ScoutedTable| Some((*s, tables.get(s.table.index())?.fetcher()));
        let scouted: Option<Vec<_>> = scout.tables.iter().map(with).collect();
        Some(Plan { run: scout.run(), tables: tables.len(), scouted: scouted? })
    }
}

/// A worker's scout.
pub(crate) struct Scout {
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
    trial: Trial,
}

// SAFETY: the pointers are to the scout's own keys and to tables, which may be used from any thread.
unsafe impl Send for Scout {}

impl Scout {
    pub fn new(plan: Plan) -> Scout {
        let words: usize = plan.scouted.iter().map(|(t, _)| AT_ONCE * t.uses * t.key_words).sum();
        Scout {
            cursors: vec![std::ptr::null_mut(); plan.tables].into(),
            keys: vec![0; words].into(),
            active: false,
            until: 0,
            always: None,
            trial: Trial::default(),
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
            self.trial = Trial::default();
            false
        } else {
            packets >= FEWEST && self.trial.begin()
        };
    }

    /// The batch is done.
    #[inline]
    pub fn end(&mut self, packets: usize) {
        self.trial.end(packets);
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
    /// As for [`Scout::ahead`]; at most [`AT_ONCE`] packets.
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

/// Finds out what is faster.
#[derive(Default)]
struct Trial {
    /// Batches since the last one began.
    batches: u32,
    /// What it found.
    pays: bool,
    /// This batch is one of it: with or without.
    timed: Option<(bool, Instant)>,
    /// Nanoseconds a packet, of batches without and with: sums, and the largest, which an interrupt may have made.
    costs: [Costs; 2],
}

#[derive(Clone, Copy, Default)]
struct Costs {
    sum: f64,
    most: f64,
}

impl Trial {
    /// Whether the next batch is to be looked ahead for.
    #[inline]
    fn begin(&mut self) -> bool {
        let number = self.batches;
        self.batches = if number + 1 == PERIOD { 0 } else { number + 1 };
        if number >= TRIAL {
            self.timed = None;
            return self.pays;
        }
        if number == 0 {
            self.costs = Default::default();
        }
        // Of any few batches in succession about one half.
        let with = number.count_ones() % 2 == 1;
        self.timed = Some((with, Instant::now()));
        with
    }

    #[inline]
    fn end(&mut self, packets: usize) {
        if let Some((with, begun)) = self.timed.take() {
            self.note(with, begun.elapsed().as_nanos() as f64 / packets.max(1) as f64);
        }
    }

    fn note(&mut self, with: bool, cost: f64) {
        let costs = &mut self.costs[usize::from(with)];
        costs.sum += cost;
        costs.most = costs.most.max(cost);
        if self.batches == TRIAL {
            let [without, with] = self.costs.map(|c| c.sum - c.most);
            self.pays = with < without;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a trial in which batches cost what `cost` says.
    fn found(trial: &mut Trial, cost: impl Fn(bool, u32) -> f64) -> bool {
        for number in 0..TRIAL {
            let with = trial.begin();
            assert!(trial.timed.take().is_some());
            trial.note(with, cost(with, number));
        }
        assert_eq!(trial.begin(), trial.pays);
        assert!(trial.timed.is_none());
        trial.pays
    }

    #[test]
    fn what_is_faster_is_kept_up_until_the_next_trial() {
        let mut trial = Trial::default();
        assert!(found(&mut trial, |with, _| if with { 50.0 } else { 300.0 }));
        for _ in TRIAL + 1..PERIOD {
            assert!(trial.begin());
        }
        assert!(!found(&mut trial, |with, _| if with { 30.0 } else { 25.0 }));
        for _ in TRIAL + 1..PERIOD {
            assert!(!trial.begin());
        }
        // An interrupt decides nothing.
        assert!(found(&mut trial, |with, number| if with { 50.0 + if number == 7 { 1e6 } else { 0.0 } } else { 60.0 }));
    }
}
