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
/// Fewest and most batches from one trial to the next: few while trials find this and that, as when the cache was cold.
const WAIT: [u32; 2] = [64, 4096];
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
struct Trial {
    /// Batches until the next one begins.
    wait: u32,
    /// How many that were.
    waited: u32,
    /// Batches of this one so far.
    number: u32,
    /// What the last one found.
    pays: bool,
    /// This batch is one of it: with or without.
    timed: Option<(bool, Instant)>,
    /// Nanoseconds a packet, of batches without and with: sums, and the largest, which an interrupt may have made.
    costs: [Costs; 2],
}

impl Default for Trial {
    fn default() -> Trial {
        Trial { wait: WAIT[0], waited: WAIT[0], number: 0, pays: false, timed: None, costs: Default::default() }
    }
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
        self.timed = None;
        if self.wait > 0 {
            self.wait -= 1;
            return self.pays;
        }
        // Of any few batches in succession about one half.
        let with = self.number.count_ones() % 2 == 1;
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
        self.number += 1;
        if self.number == TRIAL {
            let [without, with] = std::mem::take(&mut self.costs).map(|c| c.sum - c.most);
            let same = self.pays == (with < without);
            self.pays = with < without;
            self.number = 0;
            self.waited = if same { WAIT[1].min(self.waited * 2) } else { WAIT[0] };
            self.wait = self.waited;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits for a trial and runs it, in which batches cost what `cost` says; gives the number of batches before it.
    fn trial(trial: &mut Trial, cost: impl Fn(bool, u32) -> f64) -> u32 {
        let (mut waited, before) = (0, trial.pays);
        let mut with = trial.begin();
        while trial.timed.is_none() {
            assert_eq!(with, before, "what was found is kept up");
            waited += 1;
            with = trial.begin();
        }
        for number in 0..TRIAL {
            assert!(trial.timed.take().is_some());
            trial.note(with, cost(with, number));
            with = trial.begin();
        }
        assert!(trial.timed.is_none());
        // The batch that was begun behind it.
        trial.wait += 1;
        waited
    }

    #[test]
    fn what_is_faster_is_kept_up_until_the_next_trial() {
        let mut it = Trial::default();
        assert!(!it.begin());
        it.wait += 1;
        assert_eq!(trial(&mut it, |with, _| if with { 50.0 } else { 300.0 }), 64);
        assert!(it.pays);
        assert_eq!(trial(&mut it, |with, _| if with { 30.0 } else { 25.0 }), 64);
        assert!(!it.pays);
        // An interrupt decides nothing.
        let interrupted = |with, number| if with { 50.0 + if number == 7 { 1e6 } else { 0.0 } } else { 60.0 };
        assert_eq!(trial(&mut it, interrupted), 64);
        assert!(it.pays);
        // While it stays the same, trials become rare.
        let waits: Vec<u32> = (0..9).map(|_| trial(&mut it, |with, _| if with { 1.0 } else { 2.0 })).collect();
        assert_eq!(waits, [64, 128, 256, 512, 1024, 2048, 4096, 4096, 4096]);
    }
}
