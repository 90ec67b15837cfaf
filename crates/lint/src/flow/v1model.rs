//! The blocks of v1model's switch, in the order in which a packet passes them.

use hopwright_sema::hir::*;

use super::place::{PlaceId, Root, Step};
use super::state::{Fact, State, tidy};
use super::{Flow, Start};
use crate::visit::{self, Seen};

/// `egress_spec` of packets that are dropped.
const DROP: i128 = 511;

/// Extern functions that send a packet through the pipeline again, with metadata of its first pass.
const AGAIN: [&str; 7] = [
    "clone",
    "clone3",
    "clone_preserving_field_list",
    "resubmit",
    "resubmit_preserving_field_list",
    "recirculate",
    "recirculate_preserving_field_list",
];

impl<'p> Flow<'p> {
    /// Analyses all blocks of the package, if it is v1model's.
    pub(super) fn v1model(&mut self) {
        let program = self.program;
        let blocks = program.main.blocks.as_slice();
        let [parser, verify, ingress, egress, compute, deparser] = blocks else { return };
        if program.main.type_name != "V1Switch" || program[ingress.1].params.len() != 3 {
            return;
        }
        let shared: Vec<PlaceId> = program[ingress.1]
            .params
            .iter()
            .enumerate()
            .map(|(i, p)| self.places.root(Root::Shared(i), &program[p.var].ty))
            .collect();
        let again = self.starts_over();

        let mut s = State::new();
        self.start(&mut s, shared[0], Start::Zero);
        self.start(&mut s, shared[1], Start::Zero);
        if again {
            self.forget(&mut s, shared[1]);
        }
        for name in ["egress_spec", "mcast_grp"] {
            if let Some(p) = self.standard(shared[2], name).filter(|p| self.worth(*p)) {
                s.set(p, Fact::Is(0));
            }
        }
        let parsed = self.stage(vec![s], parser.1, &shared, 1);
        let states = self.stage(parsed.clone(), verify.1, &shared, 0);
        let mut states = self.stage(states, ingress.1, &shared, 0);
        if let Some(spec) = self.standard(shared[2], "egress_spec") {
            states.retain(|s| s.get(spec) != Some(&Fact::Is(DROP)));
        }
        if again {
            // Copies have the headers as they were parsed, or as another path left them.
            let mut copies = parsed;
            copies.push(State::new());
            for s in &mut copies {
                s.vague = true;
                self.forget(s, shared[1]);
                self.forget(s, shared[2]);
            }
            states.extend(copies);
        }
        for s in &mut states {
            self.forget(s, shared[2]);
        }
        let states = self.stage(tidy(self.paths, states), egress.1, &shared, 0);
        let states = self.stage(states, compute.1, &shared, 0);
        self.stage(states, deparser.1, &shared, 1);
    }

    /// Analyses a block; `skip` parameters precede those that the blocks share.
    fn stage(&mut self, states: Vec<State>, id: InstanceId, shared: &[PlaceId], skip: usize) -> Vec<State> {
        let instance: &'p Instance = &self.program[id];
        let mut states = states;
        let pairs: Vec<(PlaceId, PlaceId, &Param)> = instance
            .params
            .iter()
            .skip(skip)
            .zip(shared)
            .map(|(param, place)| (self.places.var(param.var), *place, param))
            .collect();
        for s in &mut states {
            for (param, place, p) in &pairs {
                if p.direction == Direction::Out {
                    // Such storage starts as zero here, whatever the block's parameter list promises.
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

    /// A member of the standard metadata.
    pub(super) fn standard(&mut self, place: PlaceId, name: &str) -> Option<PlaceId> {
        let Type::Struct(id) = *self.places.ty(place) else { return None };
        let i = self.program[id].fields.iter().position(|f| f.name == name)?;
        self.places.step(place, Step::Field(i))
    }

    /// `mark_to_drop`.
    pub(super) fn dropped(&mut self, s: &mut State, standard: PlaceId) {
        for (name, value) in [("egress_spec", DROP), ("mcast_grp", 0)] {
            if let Some(p) = self.standard(standard, name) {
                s.set(p, Fact::Is(value));
            }
        }
    }

    fn starts_over(&self) -> bool {
        let mut found = false;
        visit::program(self.program, &mut |seen| {
            if let Seen::Call(Call { callee: Callee::ExternFunction(name), .. }) = seen {
                found |= AGAIN.contains(&name.as_str());
            }
        });
        found
    }
}
