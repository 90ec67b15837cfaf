//! The parser's graph of states: its order, its cycles, and how many bytes extracts of a fixed size take.

use hopwright_ir::{Pipeline, State, StateId, StmtKind, Target, Transition};
use num_traits::ToPrimitive;

/// The states a transition may go to.
pub(crate) fn successors(transition: &Transition) -> Vec<usize> {
    let targets: Vec<Target> = match transition {
        Transition::Goto(target) => vec![*target],
        Transition::Select { cases, .. } => cases.iter().map(|c| c.target).collect(),
    };
    targets
        .into_iter()
        .filter_map(|t| match t {
            Target::State(StateId(id)) => Some(id as usize),
            Target::Accept | Target::Reject => None,
        })
        .collect()
}

/// Bytes that the statements at the beginning of a state need whose length is known now; and whether those are all.
pub(crate) fn prefix(p: &Pipeline, state: &State) -> (u32, u32, bool) {
    let (mut cursor, mut need) = (0u32, 0u32);
    for stmt in &state.body {
        match &stmt.kind {
            StmtKind::Extract { header, varbit_bits: None } => {
                cursor += p[*header].fixed_bits / 8;
                need = need.max(cursor);
            }
            StmtKind::Advance { bits: by, .. } => match by.as_const().and_then(|v| v.to_u32()) {
                Some(bits) if bits.is_multiple_of(8) && bits < 1 << 20 => {
                    cursor += bits / 8;
                    need = need.max(cursor);
                }
                _ => return (need, cursor, false),
            },
            StmtKind::Lookahead { total_bits, .. } => need = need.max(cursor + total_bits.div_ceil(8)),
            StmtKind::Assign(..)
            | StmtKind::AssignSlice { .. }
            | StmtKind::SetValid(_)
            | StmtKind::SetInvalid(_)
            | StmtKind::Verify(..)
            | StmtKind::CopyHeader { .. } => {}
            _ => return (need, cursor, false),
        }
    }
    (need, cursor, true)
}

/// States that can be reached, such that but for circles a state comes behind all that lead to it.
pub(crate) fn order(p: &Pipeline) -> Vec<usize> {
    fn visit(p: &Pipeline, s: usize, seen: &mut [bool], out: &mut Vec<usize>) {
        if std::mem::replace(&mut seen[s], true) {
            return;
        }
        for next in successors(&p.parser.states[s].transition).into_iter().rev() {
            visit(p, next, seen, out);
        }
        out.push(s);
    }
    let mut out = Vec::new();
    let mut seen = vec![false; p.parser.states.len()];
    visit(p, p.parser.start.0 as usize, &mut seen, &mut out);
    out.reverse();
    out
}

/// For each state how many bytes extracts of a fixed size can take at most from there on.
pub(crate) fn reach(p: &Pipeline, order: &[usize]) -> Vec<u32> {
    let cycles = has_cycles(p);
    let mut reach = vec![0u32; p.parser.states.len()];
    for &s in order.iter().rev() {
        let state = &p.parser.states[s];
        let (need, cursor, whole) = prefix(p, state);
        reach[s] = need;
        if whole && !cycles {
            let further = successors(&state.transition).into_iter().map(|t| reach[t]).max().unwrap_or(0);
            reach[s] = need.max(cursor.saturating_add(further));
        }
    }
    reach
}

/// How many bytes extracts of a fixed size can take at most from the beginning on.
pub(crate) fn longest(p: &Pipeline) -> u32 {
    reach(p, &order(p))[p.parser.start.0 as usize]
}

/// True if some parser state can reach itself.
pub(crate) fn has_cycles(pipeline: &Pipeline) -> bool {
    let successors: Vec<Vec<usize>> = pipeline.parser.states.iter().map(|s| successors(&s.transition)).collect();
    // Kahn: a graph without cycles can be taken apart from its leaves.
    let mut alive = vec![true; successors.len()];
    loop {
        let mut changed = false;
        for i in 0..successors.len() {
            if alive[i] && successors[i].iter().all(|&s| !alive[s]) {
                alive[i] = false;
                changed = true;
            }
        }
        if !changed {
            return alive.contains(&true);
        }
    }
}
