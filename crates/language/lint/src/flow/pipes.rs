//! The blocks of pipelines for Tofino. Ingress and egress each begin without a valid header, because each parses.

use std::collections::{HashMap, HashSet};

use hopwright_sema::architecture::{Architecture, ParamRole};

use super::place::{PlaceId, Root};
use super::report::Kind;
use super::state::State;
use super::{Flow, Start};

impl Flow<'_> {
    /// Analyses ingress and egress of each pipeline.
    pub(super) fn pipes(&mut self, architecture: &Architecture) {
        let mut known = HashSet::new();
        let blocks = &self.program.main.blocks;
        for pipe in blocks.chunks(architecture.blocks.len()) {
            // A pipeline may be in several pipes.
            if pipe.len() != architecture.blocks.len()
                || !known.insert(pipe.iter().map(|(_, id)| *id).collect::<Vec<_>>())
            {
                continue;
            }
            let half = architecture.blocks.len() / 2;
            for (at, blocks) in architecture.blocks.chunks(half).enumerate() {
                let instances = &pipe[at * half..];
                let mut shared: HashMap<ParamRole, PlaceId> = HashMap::new();
                let mut state = State::new();
                for (block, (_, id)) in blocks.iter().zip(instances) {
                    for (i, param) in self.program[*id].params.iter().enumerate() {
                        let Some(role) = self.role(block, i, param) else { continue };
                        if role == ParamRole::Packet || shared.contains_key(&role) {
                            continue;
                        }
                        let number = 2 * shared.len() + at + 32 * known.len();
                        let place = self.places.root(Root::Shared(number), &self.program[param.var].ty);
                        // What the device gives is unknown.
                        if i < block.params.len() {
                            self.start(&mut state, place, Start::Zero);
                        }
                        shared.insert(role, place);
                    }
                }
                let mut states = vec![state];
                for (block, (_, id)) in blocks.iter().zip(instances) {
                    states = self.stage(states, *id, block, &shared);
                }
            }
        }
        // Fields of invalid headers keep what is written to them.
        self.findings.forget(Kind::HeaderWrite);
        self.findings.forget(Kind::EarlyWrite);
    }
}
