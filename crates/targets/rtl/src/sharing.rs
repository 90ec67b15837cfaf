//! Engines that several operations of a packet share, one after the other.
//!
//! Packets enter the pipeline at least [`Engines::gap`] cycles apart. An engine that an operation keeps busy in some stages is free for
//! another one in the stages that differ from them modulo the gap: modulo scheduling, with a reservation table for each engine (Rau
//! and Glaeser, MICRO 14, 1981).

use hopwright_ir::{ExternKind, Pipeline};

use crate::hir::{Node, Op, Value};
use crate::target::{Fetch, Target};

/// What an engine does. Operations of the same kind can share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// Reads bytes of the packet.
    Fetch(Fetch),
    /// AES-CMAC with stored keys.
    Cmac,
    /// AES-128 with stored keys.
    Aes,
    /// AES-128 that is given its key with each block.
    AesWithKey,
}

impl EngineKind {
    /// The kind of engine that an operation needs, if that can be shared, with this many cycles between packets.
    pub(crate) fn of(pipeline: &Pipeline, node: &Node, target: &Target, gap: u32) -> Option<EngineKind> {
        match &node.op {
            Op::Fetch { .. } => Some(EngineKind::Fetch(target.fetch(node.width / 8, gap))),
            Op::Extern { instance: Some(id), .. } => match &pipeline[*id].kind {
                ExternKind::Named { type_name, .. } => match type_name.as_str() {
                    "AesCmac" => Some(EngineKind::Cmac),
                    "Aes128" => Some(EngineKind::Aes),
                    "Aes128WithKey" => Some(EngineKind::AesWithKey),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the rounds of a cipher can be folded.
    fn folds(self) -> bool {
        matches!(self, EngineKind::Cmac | EngineKind::Aes)
    }
}

/// How a cipher's ten rounds are folded onto hardware for some of them, which a block passes several times. `hw_aes128` has the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fold {
    /// The rounds that there is hardware for.
    pub rounds: u32,
    /// The cycles from one pass to the next.
    pub turn: u32,
}

impl Fold {
    /// Hardware for all rounds.
    const NONE: Fold = Fold { rounds: 10, turn: 31 };

    /// How often a block passes.
    pub fn passes(self) -> u32 {
        10 / self.rounds
    }

    /// The cycles that a block takes.
    pub fn latency(self) -> u32 {
        1 + (self.passes() - 1) * self.turn + 3 * self.rounds
    }

    /// Folds rounds so that this many operations of each packet take hardware for the fewest, and of that the fewest engines. The passes of a
    /// block must be in different cycles modulo the gap.
    fn of(operations: u32, gap: u32) -> Fold {
        let folds = [1, 2, 5].into_iter().filter_map(|rounds| {
            let passes = 10 / rounds;
            let apart = |turn: &u32| (1..passes).all(|pass| !(pass * turn).is_multiple_of(gap));
            let turn = (3 * rounds + 1..3 * rounds + 1 + gap).find(apart)?;
            (passes <= gap).then_some(Fold { rounds, turn })
        });
        let cost = |fold: &Fold| fold.rounds * operations.div_ceil(gap / fold.passes());
        folds.chain([Fold::NONE]).min_by_key(|fold| (cost(fold), 10 - fold.rounds)).unwrap_or(Fold::NONE)
    }
}

/// An engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Engine {
    /// What it does.
    pub kind: EngineKind,
    /// Of ciphers, how their rounds are folded.
    pub fold: Fold,
    /// The operations that use it, in order, and the stages in which they begin.
    pub uses: Vec<(Value, u32)>,
    /// Whether it is busy, by stage modulo the gap.
    busy: Vec<bool>,
}

/// The engines of a design.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Engines {
    /// Cycles at least between two packets.
    pub gap: u32,
    /// All of them.
    pub all: Vec<Engine>,
    /// How each kind of cipher is folded.
    folds: Vec<(EngineKind, Fold)>,
}

impl Engines {
    /// None, for operations of these kinds. The gap is at least the number of cycles that any of them keeps an engine busy.
    pub(crate) fn new(gap: u32, kinds: &[EngineKind]) -> Engines {
        let gap = gap.max(1);
        let mut folds: Vec<(EngineKind, Fold)> = Vec::new();
        for kind in kinds.iter().filter(|kind| kind.folds()) {
            if folds.iter().all(|(other, _)| other != kind) {
                let operations = kinds.iter().filter(|other| *other == kind).count() as u32;
                folds.push((*kind, Fold::of(operations, gap)));
            }
        }
        Engines { gap, all: Vec::new(), folds }
    }

    /// How a kind of cipher is folded.
    pub(crate) fn fold(&self, kind: EngineKind) -> Fold {
        self.folds.iter().find(|(other, _)| *other == kind).map_or(Fold::NONE, |(_, fold)| *fold)
    }

    /// The cycles in which an operation keeps an engine from taking another one, from that in which it begins.
    fn cycles(&self, kind: EngineKind) -> Vec<u32> {
        match kind {
            EngineKind::Fetch(fetch) => (0..fetch.reads).collect(),
            _ => {
                let fold = self.fold(kind);
                (0..fold.passes()).map(|pass| pass * fold.turn).collect()
            }
        }
    }

    /// Reserves an engine for an operation that can begin in stage `from`. Returns the stage in which it begins.
    pub(crate) fn reserve(&mut self, kind: EngineKind, value: Value, from: u32) -> u32 {
        let (gap, cycles, fold) = (self.gap, self.cycles(kind), self.fold(kind));
        let slots = |stage: u32| cycles.iter().map(move |cycle| ((stage + cycle) % gap) as usize);
        let same = self.all.iter_mut().filter(|engine| engine.kind == kind);
        let free = same.filter_map(|engine| {
            let stage = (from..from + gap).find(|stage| slots(*stage).all(|slot| !engine.busy[slot]))?;
            Some((stage, engine))
        });
        let (stage, engine) = match free.min_by_key(|(stage, _)| *stage) {
            Some(found) => found,
            None => {
                self.all.push(Engine { kind, fold, uses: Vec::new(), busy: vec![false; gap as usize] });
                (from, self.all.last_mut().expect("just added"))
            }
        };
        slots(stage).for_each(|slot| engine.busy[slot] = true);
        engine.uses.push((value, stage));
        stage
    }

    /// No further operation shares one of the engines so far.
    pub(crate) fn seal(&mut self) {
        self.all.iter_mut().for_each(|engine| engine.busy.fill(true));
    }

    /// The engine that an operation uses.
    pub fn of(&self, value: Value) -> Option<(usize, &Engine)> {
        self.all.iter().enumerate().find(|(_, engine)| engine.uses.iter().any(|(user, _)| *user == value))
    }

    /// Whether packets must enter at multiples of the gap: an engine serves a packet again when the next one may already use it.
    pub fn is_aligned(&self) -> bool {
        self.all.iter().any(|engine| {
            let first = engine.uses.iter().map(|(_, stage)| *stage).min().unwrap_or(0);
            let last = engine.uses.iter().map(|(_, stage)| *stage).max().unwrap_or(0);
            last + self.cycles(engine.kind).last().map_or(0, |cycle| cycle + 1) > first + self.gap
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FETCH: EngineKind = EngineKind::Fetch(Fetch { part: 64, reads: 2 });

    #[test]
    fn an_engine_serves_as_many_operations_as_there_is_time_between_packets() {
        let mut engines = Engines::new(4, &[]);
        // Stages 1 and 2, then 3 and 4, which are 3 and 0 modulo 4: the engine is full.
        assert_eq!(engines.reserve(FETCH, Value(0), 1), 1);
        assert_eq!(engines.reserve(FETCH, Value(1), 5), 7);
        assert!(engines.is_aligned());
        assert_eq!(engines.reserve(FETCH, Value(2), 5), 5);
        assert_eq!(engines.all.len(), 2);
        assert_eq!(engines.of(Value(2)).map(|(number, _)| number), Some(1));
    }

    #[test]
    fn operations_in_consecutive_stages_need_no_alignment() {
        let mut engines = Engines::new(2, &[]);
        assert_eq!(engines.reserve(EngineKind::Cmac, Value(0), 10), 10);
        assert_eq!(engines.reserve(EngineKind::Cmac, Value(1), 10), 11);
        assert!(!engines.is_aligned());
        assert_eq!(engines.all.len(), 1);
    }

    #[test]
    fn nothing_is_shared_if_a_packet_comes_each_cycle() {
        let mut engines = Engines::new(1, &[]);
        engines.reserve(EngineKind::Cmac, Value(0), 3);
        engines.reserve(EngineKind::Cmac, Value(1), 9);
        assert_eq!(engines.all.len(), 2);
        assert!(!engines.is_aligned());
    }

    #[test]
    fn ciphers_are_folded_as_far_as_there_is_time() {
        let fold =
            |operations: usize, gap: u32| Engines::new(gap, &vec![EngineKind::Cmac; operations]).fold(EngineKind::Cmac);
        assert_eq!(fold(1, 1), Fold::NONE);
        assert_eq!(fold(3, 4), Fold::NONE);
        assert_eq!(fold(6, 4), Fold { rounds: 5, turn: 17 });
        assert_eq!(fold(6, 12), Fold { rounds: 5, turn: 16 });
        assert_eq!(fold(2, 4), Fold { rounds: 5, turn: 17 });
        assert_eq!(fold(2, 12), Fold { rounds: 2, turn: 7 });
        assert_eq!(fold(1, 12), Fold { rounds: 1, turn: 5 });
        assert_eq!(fold(2, 12).latency(), 35);
        assert_eq!(Fold::NONE.latency(), 31);
    }

    #[test]
    fn blocks_pass_a_folded_cipher_one_at_a_time() {
        let mut engines = Engines::new(12, &[EngineKind::Cmac; 2]);
        let starts = [engines.reserve(EngineKind::Cmac, Value(0), 96), engines.reserve(EngineKind::Cmac, Value(1), 97)];
        assert_eq!((starts, engines.all.len(), engines.is_aligned()), ([96, 97], 1, true));
        let fold = engines.all[0].fold;
        let packets = (0..20).flat_map(|packet| starts.map(|start| start + 12 * packet));
        let mut passes: Vec<u32> =
            packets.flat_map(|entry| (0..fold.passes()).map(move |pass| entry + pass * fold.turn)).collect();
        let all = passes.len();
        passes.sort_unstable();
        passes.dedup();
        assert_eq!(passes.len(), all);
    }
}
