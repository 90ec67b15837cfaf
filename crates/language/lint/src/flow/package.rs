//! The blocks of the architecture's package, in the order in which a packet passes them.

use std::collections::HashMap;

use hopwright_sema::architecture::{Block, BlockRole, ParamRole};
use hopwright_sema::hir::*;

use super::place::{PlaceId, Root, Step};
use super::state::{Fact, State, tidy};
use super::{Flow, Start};
use crate::visit::{self, Seen};

impl<'p> Flow<'p> {
    /// Analyses all blocks of the package, if its architecture is known.
    pub(super) fn package(&mut self) {
        let program = self.program;
        let Some(architecture) = program.architecture() else { return };
        if !architecture.by_type.is_empty() {
            return self.pipes(architecture);
        }
        // Blocks of other architectures that parse twice are not followed yet.
        let Some(drop) = &architecture.drop else { return };
        let blocks = program.main.blocks.as_slice();
        let Some((at, ingress)) = architecture.block(BlockRole::Ingress) else { return };
        if blocks.len() != architecture.blocks.len() || program[blocks[at].1].params.len() != ingress.params.len() {
            return;
        }
        let params = &program[blocks[at].1].params;
        let mut shared: HashMap<ParamRole, PlaceId> = HashMap::new();
        for (i, (param, role)) in params.iter().zip(ingress.params).enumerate() {
            shared.insert(*role, self.places.root(Root::Shared(i), &program[param.var].ty));
        }
        let place = |role| shared.get(&role).copied();
        let (headers, metadata, intrinsic) =
            (place(ParamRole::Headers), place(ParamRole::Metadata), place(ParamRole::Intrinsic));
        let again = self.starts_over(architecture.restarts);

        let mut s = State::new();
        for place in [headers, metadata].into_iter().flatten() {
            self.start(&mut s, place, Start::Zero);
        }
        if let Some(metadata) = metadata.filter(|_| again) {
            self.forget(&mut s, metadata);
        }
        for name in architecture.intrinsic_zero {
            if let Some(p) = intrinsic.and_then(|i| self.member(i, name)).filter(|p| self.worth(*p)) {
                s.set(p, Fact::Is(0));
            }
        }
        let mut states = vec![s];
        let mut parsed = Vec::new();
        for (block, (_, id)) in architecture.blocks.iter().zip(blocks) {
            states = self.stage(states, *id, block, &shared);
            match block.role {
                BlockRole::Parser => parsed.clone_from(&states),
                BlockRole::Ingress => {
                    let (member, value) = drop.tested;
                    if let Some(tested) = intrinsic.and_then(|i| self.member(i, member)) {
                        states.retain(|s| s.get(tested) != Some(&Fact::Is(value.into())));
                    }
                    if again {
                        // Copies have the headers as they were parsed, or as another path left them.
                        let mut copies = std::mem::take(&mut parsed);
                        copies.push(State::new());
                        for s in &mut copies {
                            s.vague = true;
                            for place in [metadata, intrinsic].into_iter().flatten() {
                                self.forget(s, place);
                            }
                        }
                        states.extend(copies);
                    }
                    if let Some(intrinsic) = intrinsic {
                        states.iter_mut().for_each(|s| self.forget(s, intrinsic));
                    }
                    states = tidy(self.paths, states);
                }
                _ => {}
            }
        }
    }

    /// Analyses a block.
    pub(super) fn stage(
        &mut self,
        states: Vec<State>,
        id: InstanceId,
        block: &Block,
        shared: &HashMap<ParamRole, PlaceId>,
    ) -> Vec<State> {
        let instance: &'p Instance = &self.program[id];
        let mut states = states;
        let pairs: Vec<(PlaceId, PlaceId, &Param)> = (instance.params.iter().enumerate())
            .filter_map(|(at, param)| {
                let role = self.role(block, at, param)?;
                Some((self.places.var(param.var), *shared.get(&role)?, param))
            })
            .collect();
        for s in &mut states {
            for (param, place, p) in &pairs {
                if p.direction == Direction::Out {
                    // Such storage starts as zero here, whatever the parameter list of the block promises.
                    self.start(s, *param, Start::Zero);
                } else {
                    self.copy(s, *place, *param);
                }
                self.forget(s, *place);
            }
        }
        self.exited.clear();
        let mut states = self.run_instance(states, id);
        states.append(&mut self.exited);
        for s in &mut states {
            for (param, place, p) in &pairs {
                self.copy(s, *param, *place);
                self.gone(s, p.var);
            }
        }
        tidy(self.paths, states)
    }

    /// What a parameter of a block is for: by its place, or by its type.
    pub(super) fn role(&self, block: &Block, at: usize, param: &Param) -> Option<ParamRole> {
        let by_type = || match self.program[param.var].ty {
            Type::Struct(id) | Type::Header(id) => {
                let known = self.program.architecture()?.by_type;
                known.iter().find(|(name, _)| *name == self.program[id].name).map(|(_, role)| *role)
            }
            _ => None,
        };
        block.params.get(at).copied().or_else(by_type)
    }

    /// A member of the intrinsic metadata.
    pub(super) fn member(&mut self, place: PlaceId, name: &str) -> Option<PlaceId> {
        let Type::Struct(id) = *self.places.ty(place) else { return None };
        let i = self.program[id].fields.iter().position(|f| f.name == name)?;
        self.places.step(place, Step::Field(i))
    }

    /// The architecture's function that drops the packet, on this intrinsic metadata.
    pub(super) fn dropped(&mut self, s: &mut State, intrinsic: PlaceId) {
        for (name, value) in
            self.program.architecture().map_or(&[][..], |a| a.drop.as_ref().map_or(&[][..], |d| d.sets))
        {
            if let Some(p) = self.member(intrinsic, name) {
                s.set(p, Fact::Is((*value).into()));
            }
        }
    }

    fn starts_over(&self, restarts: &[&str]) -> bool {
        let mut found = false;
        visit::program(self.program, &mut |seen| {
            if let Seen::Call(Call { callee: Callee::ExternFunction(name), .. }) = seen {
                found |= restarts.contains(&name.as_str());
            }
        });
        found
    }
}
