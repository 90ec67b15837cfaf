//! Inputs for an alternative of a run.

use std::collections::BTreeMap;

use hopwright_ir::{ActionCall, ActionId, bits};
use num_bigint::BigUint;

use super::Search;
use crate::inputs::{Choice, Inputs};
use crate::path::{Alternative, Call, Change, Finds, Run};
use crate::solver::{Answer, Solver};
use crate::term::{self, Term, Variable, stays};

type Values = BTreeMap<Variable, BigUint>;

impl<E> Search<'_, E> {
    /// Inputs with which a run goes on as an alternative says. `None` if there are none.
    pub(super) fn solve(
        &mut self,
        solver: &mut Solver,
        run: &Run,
        step: usize,
        alternative: &Alternative,
    ) -> Option<Inputs> {
        let mut inputs = run.inputs.clone();
        inputs.former.clone_from(&run.applied);
        let open = alternative.conditions.iter().any(|c| !term::is_true(c));
        if open {
            let values = self.values(solver, run, step, alternative)?;
            values.into_iter().for_each(|(variable, value)| inputs.set(variable, value));
        }
        match &alternative.change {
            None => {}
            Some(Change::Member(set, there)) => {
                if *there {
                    inputs.members.insert(set.0);
                } else {
                    inputs.members.remove(&set.0);
                }
            }
            Some(Change::Length(length)) => {
                let more = self.random_bytes(length.saturating_sub(inputs.packet.len()));
                inputs.packet.truncate(*length);
                inputs.packet.extend(more);
            }
            Some(Change::Table(table, nth, finds)) => {
                let key = (table.0, *nth);
                match finds {
                    Finds::Nothing => drop(inputs.choices.remove(&key)),
                    Finds::Entry(action) => drop(inputs.choices.insert(key, Choice::Hit(self.call(*action)))),
                    Finds::Default(action) => drop(inputs.choices.insert(key, Choice::Default(self.call(*action)))),
                }
            }
        }
        Some(inputs)
    }

    fn values(&mut self, solver: &mut Solver, run: &Run, step: usize, alternative: &Alternative) -> Option<Values> {
        self.conflict.clear();
        if alternative.conditions.iter().any(|c| term::is_constant(c) && !term::is_true(c)) {
            if let Some(goal) = alternative.goal {
                self.tried.entry(goal).or_default().impossible += 1;
            }
            return None;
        }
        let before = &run.steps[..step];
        let hard = before.iter().enumerate().filter(|(_, step)| !step.soft);
        let hard =
            hard.flat_map(|(number, step)| step.conditions.iter().map(move |condition| (number, condition.clone())));
        let (steps, hard): (Vec<usize>, Vec<Term>) = hard.unzip();
        let soft: Vec<Term> = before.iter().filter(|s| s.soft).flat_map(|s| s.conditions.iter().cloned()).collect();
        let wanted: Vec<Term> = alternative.conditions.iter().cloned().chain(hard).collect();
        let all: Vec<Term> = wanted.iter().cloned().chain(soft.iter().cloned()).collect();
        // The entries that the run hit should match the new packet, too: if it comes to their tables where it should not, that is seen.
        let hit = run.applied.iter().filter(|applied| matches!(applied.choice, Some(Choice::Hit(_))));
        let keys = hit.flat_map(|applied| &applied.terms).filter(|t| !term::is_constant(t));
        let keys: Vec<Term> = keys.map(stays).collect();
        let mut answer = Answer::Impossible;
        if !keys.is_empty() {
            answer = solver.solve(&all.iter().cloned().chain(keys).collect::<Vec<_>>());
        }
        if matches!(answer, Answer::Impossible) {
            answer = solver.solve(&all);
        }
        // What externs compute from may be different, too.
        if matches!(answer, Answer::Impossible) && !soft.is_empty() {
            answer = self.with_other_results(solver, run, step, &wanted);
        }
        if matches!(answer, Answer::Impossible) {
            let first = alternative.conditions.len();
            let steps = solver.conflict().iter().filter_map(|at| steps.get(at.checked_sub(first)?));
            self.conflict.extend(steps);
            self.conflict.dedup();
        }
        match answer {
            Answer::Values(values) => Some(values),
            Answer::Impossible => {
                if let Some(goal) = alternative.goal {
                    let tried = self.tried.entry(goal).or_default();
                    tried.impossible += 1;
                    tried.solved += 1;
                    tried.externs.extend(run.externs.iter().cloned());
                }
                None
            }
            Answer::Unknown => {
                if let Some(goal) = alternative.goal {
                    self.tried.entry(goal).or_default().unknown += 1;
                }
                None
            }
        }
    }

    /// Solves with other inputs and results of externs than those of the run. The solver takes results as it likes at first; a run with
    /// what it found tells what the first extern really computes that differs, this is added as a fact, and it solves again.
    fn with_other_results(&mut self, solver: &mut Solver, run: &Run, step: usize, wanted: &[Term]) -> Answer {
        // One that has been asked other questions would assume results that these do not need.
        *solver = Solver::new();
        let calls = run.calls.iter().take_while(|call| call.step < step).count();
        let mut wanted = wanted.to_vec();
        for _ in 0..=calls {
            let values = match solver.solve(&wanted) {
                Answer::Values(values) => values,
                other => return other,
            };
            let mut inputs = run.inputs.clone();
            values.iter().for_each(|(variable, value)| inputs.set(*variable, value.clone()));
            let (other, _) = self.execute(inputs);
            let assumed = |call: &Call| {
                call.results.iter().all(|(variable, result)| values.get(variable).is_none_or(|it| *it == result.value))
            };
            // What goes another way earlier differs in the results of others.
            let pairs = run.calls[..calls].iter().zip(&other.calls);
            let Some((call, computed)) = pairs.into_iter().find(|(_, computed)| !assumed(computed)) else {
                return Answer::Values(values);
            };
            if call.place != computed.place || call.arguments.len() != computed.arguments.len() {
                return Answer::Values(values);
            }
            let arguments = call.arguments.iter().zip(&computed.arguments);
            let results = call.results.iter().zip(&computed.results).map(|((_, a), (_, b))| (a, b));
            for (term, now) in arguments.chain(results).filter(|(term, _)| !term::is_constant(term)) {
                if term.width != now.width {
                    return Answer::Impossible;
                }
                wanted.push(term::equal(term, &term::constant(now.value.clone(), now.width)));
            }
        }
        Answer::Impossible
    }

    /// A call of an action, with data: small numbers as often as others.
    pub(super) fn call(&mut self, action: ActionId) -> ActionCall {
        let widths: Vec<u32> = self.pipeline[action].params.iter().map(|p| p.ty.width()).collect();
        let mut value = |width: u32| {
            let number = self.random.next_u64();
            // Ports have nine bits.
            if width == 9 || number & 1 == 0 {
                return bits::truncate(BigUint::from(1 + (number >> 8) % 30), width);
            }
            let wide = (0..width.div_ceil(64))
                .fold(BigUint::ZERO, |wide, _| (wide << 64u32) | BigUint::from(self.random.next_u64()));
            bits::truncate(wide, width)
        };
        let args = widths.into_iter().map(&mut value).collect();
        ActionCall { action, args }
    }
}
