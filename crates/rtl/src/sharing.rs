//! Engines that several operations of a packet share, one after the other.
//!
//! Packets enter the pipeline at least [`Engines::gap`] cycles apart. An engine that an operation keeps busy in some stages is free for
//! another one in the stages that differ from them modulo the gap: modulo scheduling, with a reservation table for each engine (Rau
//! and Glaeser, MICRO 14, 1981).

use hopwright_ir::{ExternKind, Pipeline};

use crate::hir::{Op, Value};

/// What an engine does. Operations of the same kind can share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// Reads words of the packet, one a cycle.
    Fetch {
        /// How many for an operation.
        words: u32,
    },
    /// AES-CMAC with stored keys.
    Cmac,
    /// AES-128 with stored keys.
    Aes,
    /// AES-128 that is given its key with each block.
    AesWithKey,
}

impl EngineKind {
    /// The kind of engine that an operation needs, if that can be shared. `words` are those that a fetch reads.
    pub(crate) fn of(pipeline: &Pipeline, op: &Op, words: u32) -> Option<EngineKind> {
        match op {
            Op::Fetch { .. } => Some(EngineKind::Fetch { words }),
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

    /// The cycles in which an operation keeps the engine from taking another one.
    fn cycles(self) -> u32 {
        match self {
            EngineKind::Fetch { words } => words,
            EngineKind::Cmac | EngineKind::Aes | EngineKind::AesWithKey => 1,
        }
    }
}

/// An engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Engine {
    /// What it does.
    pub kind: EngineKind,
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
}

impl Engines {
    /// None. The gap is at least the number of cycles that any operation keeps an engine busy.
    pub(crate) fn new(gap: u32) -> Engines {
        Engines { gap: gap.max(1), all: Vec::new() }
    }

    /// Reserves an engine for an operation that can begin in stage `from`. Returns the stage in which it begins.
    pub(crate) fn reserve(&mut self, kind: EngineKind, value: Value, from: u32) -> u32 {
        let gap = self.gap;
        let slots = |stage: u32| (stage..stage + kind.cycles()).map(move |at| (at % gap) as usize);
        let same = self.all.iter_mut().filter(|engine| engine.kind == kind);
        let free = same.filter_map(|engine| {
            let stage = (from..from + gap).find(|stage| slots(*stage).all(|slot| !engine.busy[slot]))?;
            Some((stage, engine))
        });
        let (stage, engine) = match free.min_by_key(|(stage, _)| *stage) {
            Some(found) => found,
            None => {
                self.all.push(Engine { kind, uses: Vec::new(), busy: vec![false; gap as usize] });
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
            last + engine.kind.cycles() > first + self.gap
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FETCH: EngineKind = EngineKind::Fetch { words: 2 };

    #[test]
    fn an_engine_serves_as_many_operations_as_there_is_time_between_packets() {
        let mut engines = Engines::new(4);
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
        let mut engines = Engines::new(2);
        assert_eq!(engines.reserve(EngineKind::Cmac, Value(0), 10), 10);
        assert_eq!(engines.reserve(EngineKind::Cmac, Value(1), 10), 11);
        assert!(!engines.is_aligned());
        assert_eq!(engines.all.len(), 1);
    }

    #[test]
    fn nothing_is_shared_if_a_packet_comes_each_cycle() {
        let mut engines = Engines::new(1);
        engines.reserve(EngineKind::Cmac, Value(0), 3);
        engines.reserve(EngineKind::Cmac, Value(1), 9);
        assert_eq!(engines.all.len(), 2);
        assert!(!engines.is_aligned());
    }
}
