//! Simplifies the parser graph: selects with a known outcome, unreachable states, chains of states.

use num_bigint::BigUint;

use hopwright_ir::{KeySet, Pipeline, StateId, Target, Transition, Type, bits};

/// Cleans the parser graph.
pub(super) fn clean(pipeline: &mut Pipeline) {
    for state in &mut pipeline.parser.states {
        resolve(&mut state.transition);
    }
    join(pipeline);
    remove_unreachable(pipeline);
}

/// Resolves a select as far as its keys are constants.
fn resolve(transition: &mut Transition) {
    let Transition::Select { keys, cases } = transition else {
        return;
    };
    cases.retain(|case| {
        if matches!(case.sets.as_slice(), [KeySet::ValueSet(_)]) {
            return true;
        }
        case.sets.iter().zip(keys.iter()).all(|(set, key)| key.as_const().is_none_or(|v| has(set, v, key.ty)))
    });
    let certain = |case: &hopwright_ir::SelectCase| {
        case.sets.iter().zip(keys.iter()).all(|(set, key)| {
            matches!(set, KeySet::Any)
                || (!matches!(set, KeySet::ValueSet(_)) && key.as_const().is_some_and(|v| has(set, v, key.ty)))
        })
    };
    if let Some(at) = cases.iter().position(certain) {
        cases.truncate(at + 1);
        let target = cases[at].target;
        if cases.iter().all(|c| c.target == target) {
            *transition = Transition::Goto(target);
        }
    } else if cases.is_empty() {
        // No case: BMv2 accepts.
        *transition = Transition::Goto(Target::Accept);
    }
}

/// Whether a constant is in a set.
fn has(set: &KeySet, value: &BigUint, ty: Type) -> bool {
    match set {
        KeySet::Any => true,
        KeySet::Value(v) => v == value,
        KeySet::Mask(v, m) => (value & m) == (v & m),
        KeySet::Range(lo, hi) => match ty {
            Type::Int(w) => {
                let value = bits::to_signed(value, w);
                bits::to_signed(lo, w) <= value && value <= bits::to_signed(hi, w)
            }
            _ => lo <= value && value <= hi,
        },
        KeySet::ValueSet(_) => true,
    }
}

pub(super) fn successors(transition: &Transition) -> Vec<StateId> {
    let targets: Vec<Target> = match transition {
        Transition::Goto(target) => vec![*target],
        Transition::Select { cases, .. } => cases.iter().map(|c| c.target).collect(),
    };
    targets.into_iter().filter_map(|t| if let Target::State(s) = t { Some(s) } else { None }).collect()
}

/// Merges a state with its only successor, if that continues it (`$` in its name) and has no other predecessor.
fn join(pipeline: &mut Pipeline) {
    let parser = &mut pipeline.parser;
    loop {
        let mut entries = vec![0usize; parser.states.len()];
        entries[parser.start.0 as usize] += 1;
        for state in &parser.states {
            successors(&state.transition).iter().for_each(|s| entries[s.0 as usize] += 1);
        }
        let found = (0..parser.states.len()).find_map(|i| match parser.states[i].transition {
            Transition::Goto(Target::State(next)) => {
                let j = next.0 as usize;
                (j != i && entries[j] == 1 && entries[i] > 0 && parser.states[j].name.contains('$')).then_some((i, j))
            }
            _ => None,
        });
        let Some((i, j)) = found else {
            return;
        };
        let mut body = std::mem::take(&mut parser.states[j].body);
        let transition = std::mem::replace(&mut parser.states[j].transition, Transition::Goto(Target::Reject));
        parser.states[i].body.append(&mut body);
        parser.states[i].transition = transition;
    }
}

fn remove_unreachable(pipeline: &mut Pipeline) {
    let parser = &mut pipeline.parser;
    let mut reached = vec![false; parser.states.len()];
    let mut todo = vec![parser.start];
    while let Some(state) = todo.pop() {
        if !std::mem::replace(&mut reached[state.0 as usize], true) {
            todo.extend(successors(&parser.states[state.0 as usize].transition));
        }
    }
    let mut ids = Vec::with_capacity(reached.len());
    let mut next = 0;
    for &there in &reached {
        ids.push(StateId(next));
        next += u32::from(there);
    }
    let mut at = 0;
    parser.states.retain(|_| {
        at += 1;
        reached[at - 1]
    });
    parser.start = ids[parser.start.0 as usize];
    for state in &mut parser.states {
        let renumber = |target: &mut Target| {
            if let Target::State(id) = target {
                *id = ids[id.0 as usize];
            }
        };
        match &mut state.transition {
            Transition::Goto(target) => renumber(target),
            Transition::Select { cases, .. } => cases.iter_mut().for_each(|c| renumber(&mut c.target)),
        }
    }
}
