//! Turns a run at an early decision, and lets it decide as before at the later ones.
//!
//! Another length of a header moves everything behind it, so that a run that is turned early meets other bytes at each later decision. It is
//! turned there, too, one decision after the other, until it comes to where the former run could not do what was wanted. Where that is
//! impossible, it is turned at a decision before that.

use std::collections::HashSet;

use num_bigint::BigUint;

use super::Search;
use crate::inputs::Inputs;
use crate::path::{Alternative, Change, Run, Step};
use crate::solver::Solver;
use crate::term;

/// Decisions that are turned at most.
const TURNS: usize = 150;

/// A decision of the run whose route is taken.
struct Mark {
    /// The decision and its outcome.
    key: u64,
    /// A size, with the place where it matters.
    size: Option<(u64, BigUint)>,
}

impl<E> Search<'_, E> {
    /// Inputs that reach a point, from those that turn a former run at a step `from`, by deciding as the former run does up to step `to`. If that fails, the
    /// last inputs on the way, which got furthest.
    pub(super) fn steer(
        &mut self,
        mut inputs: Inputs,
        former: &Run,
        from: usize,
        (goal, to): (usize, usize),
    ) -> Inputs {
        let mark = |step: &Step| Mark {
            key: step.key,
            size: step.size.as_ref().map(|(place, size)| (*place, size.value.clone())),
        };
        let route: Vec<Mark> = former.steps[(from + 1).min(to)..to].iter().map(mark).collect();
        let mut reached = from + 1;
        let mut turned = HashSet::new();
        let mut run: Option<Run> = None;
        for _ in 0..TURNS {
            let other = match run.take() {
                Some(same) => same,
                None => {
                    let (other, coverage) = self.execute(inputs.clone());
                    if coverage.counts()[goal] > 0 || other.output.fault.is_some() || self.is_late() {
                        break;
                    }
                    other
                }
            };
            let Some((step, alternative)) = turn(&other, &route, (from + 1, reached), goal) else { break };
            // A packet that was too short is still at the same step.
            reached = if alternative.change.is_some() { step } else { step + 1 };
            if let Some(next) = self.solve(&mut Solver::new(), &other, step, &alternative) {
                inputs = next;
            } else if let Some((before, next)) = self.make_way(&other, (from + 1, step), &alternative, &mut turned) {
                (inputs, reached) = (next, before + 1);
            } else {
                // The run goes on as it does.
                run = Some(other);
            }
        }
        inputs
    }
}

impl<E> Search<'_, E> {
    /// Inputs that turn a run at a step before one at which an alternative is impossible: one whose condition contradicts it, one behind which
    /// the values were written that it depends on, or one that may have them written. The last such step is taken that has not been turned yet.
    fn make_way(
        &mut self,
        run: &Run,
        (first, step): (usize, usize),
        alternative: &Alternative,
        turned: &mut HashSet<(u64, u64)>,
    ) -> Option<(usize, Inputs)> {
        let written = run.steps[step].blamed.iter().filter_map(|at| at.checked_sub(1));
        let causes: HashSet<usize> = self.conflict.iter().copied().chain(written).collect();
        for number in (first..step).rev() {
            for other in run.steps[number].alternatives.iter().filter(|it| it.case.is_none()) {
                let may_matter =
                    causes.contains(&number) || alternative.goal.is_some_and(|goal| self.is_relevant(goal, other.goal));
                if !may_matter || turned.len() >= TURNS || !turned.insert((run.steps[number].key, other.key)) {
                    continue;
                }
                if let Some(inputs) = self.solve(&mut Solver::new(), run, number, other) {
                    return Some((number, inputs));
                }
            }
        }
        None
    }
}

/// The first step from `reached` on at which a run goes another way than the route, and the alternative that does not; if there is none, the
/// last alternative with the goal. The route begins at step `first`.
fn turn(run: &Run, route: &[Mark], (first, reached): (usize, usize), goal: usize) -> Option<(usize, Alternative)> {
    let mut at = 0;
    for (number, step) in run.steps.iter().enumerate().skip(first) {
        // Where the run makes this decision on the route: as it does, or otherwise.
        let place = |key: u64| route[at..].iter().position(|mark| mark.key == key);
        let same = place(step.key);
        let others = step.alternatives.iter().filter(|it| it.case.is_none());
        let otherwise = others.filter_map(|it| Some((place(it.key)?, it.clone()))).min_by_key(|(place, _)| *place);
        match (same, otherwise.or_else(|| resized(step, &route[at..]))) {
            (same, Some((other, it))) if same.is_none_or(|same| other < same) => {
                if number >= reached {
                    return Some((number, it));
                }
                at += other + 1;
            }
            (Some(same), _) => at += same + 1,
            _ => {
                let is_longer = |it: &&Alternative| matches!(it.change, Some(Change::Length(length)) if length > run.inputs.packet.len());
                if let Some(longer) = step.alternatives.iter().find(is_longer) {
                    return Some((number, longer.clone()));
                }
            }
        }
    }
    let has_goal = |(number, step): (usize, &Step)| {
        let it = step.alternatives.iter().find(|alternative| alternative.goal == Some(goal))?;
        Some((number, it.clone()))
    };
    run.steps.iter().enumerate().skip(reached).filter_map(has_goal).next_back()
}

/// The size that a statement took on the route, and where on it.
fn resized(step: &Step, route: &[Mark]) -> Option<(usize, Alternative)> {
    let (place, size) = step.size.as_ref()?;
    let of_place = |mark: &Mark| mark.size.as_ref().filter(|(other, _)| other == place).map(|(_, size)| size.clone());
    let (at, wanted) = route.iter().enumerate().find_map(|(at, mark)| Some((at, of_place(mark)?)))?;
    let conditions = vec![term::equal(size, &term::constant(wanted, size.width))];
    Some((at, Alternative { conditions, key: step.key, ..Alternative::default() }))
}
