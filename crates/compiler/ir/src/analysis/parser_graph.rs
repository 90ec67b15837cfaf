//! The parser's graph of states: its order, its cycles, and how many bytes extracts of a fixed size reach.
//!
//! States are numbered as in [`crate::Parser::states`].

use num_traits::ToPrimitive;

use crate::{Pipeline, State, StateId, StmtKind, Target, Transition};

/// The states a transition may go to.
pub fn successors(transition: &Transition) -> Vec<usize> {
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

/// The statements at the beginning of a state that take a fixed number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedPrefix {
    /// Bytes that they need, lookahead included.
    pub need: u32,
    /// Bytes that they take.
    pub taken: u32,
    /// They are the whole state.
    pub whole: bool,
}

/// The statements at the beginning of a state that take a fixed number of bytes.
pub fn fixed_prefix(p: &Pipeline, state: &State) -> FixedPrefix {
    let (mut cursor, mut need) = (0u32, 0u32);
    let prefix = |need, taken, whole| FixedPrefix { need, taken, whole };
    for stmt in &state.body {
        match &stmt.kind {
            StmtKind::Extract { header, varbit_bits: None } if p[*header].fixed_bits.is_multiple_of(8) => {
                cursor += p[*header].fixed_bits / 8;
                need = need.max(cursor);
            }
            StmtKind::Advance { bits: by, .. } => match by.as_const().and_then(|v| v.to_u32()) {
                Some(bits) if bits.is_multiple_of(8) && bits < 1 << 20 => {
                    cursor += bits / 8;
                    need = need.max(cursor);
                }
                _ => return prefix(need, cursor, false),
            },
            StmtKind::Lookahead { total_bits, .. } => need = need.max(cursor + total_bits.div_ceil(8)),
            StmtKind::Assign(..)
            | StmtKind::AssignSlice { .. }
            | StmtKind::SetValid(_)
            | StmtKind::SetInvalid(_)
            | StmtKind::Verify(..)
            | StmtKind::CopyHeader { .. } => {}
            _ => return prefix(need, cursor, false),
        }
    }
    prefix(need, cursor, true)
}

/// The reachable states in reverse postorder: without cycles, every state comes after its predecessors.
pub fn order(p: &Pipeline) -> Vec<usize> {
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

/// For each state the most bytes that extracts of a fixed size need from its beginning on. `order`: as [`order`] gives it.
/// With cycles, only the state itself counts.
pub fn reach(p: &Pipeline, order: &[usize]) -> Vec<u32> {
    let cycles = has_cycles(p);
    let mut reach = vec![0u32; p.parser.states.len()];
    for &s in order.iter().rev() {
        let state = &p.parser.states[s];
        let FixedPrefix { need, taken, whole } = fixed_prefix(p, state);
        reach[s] = need;
        if whole && !cycles {
            let further = successors(&state.transition).into_iter().map(|t| reach[t]).max().unwrap_or(0);
            reach[s] = need.max(taken.saturating_add(further));
        }
    }
    reach
}

/// The most bytes that extracts of a fixed size need from the start state on.
pub fn longest(p: &Pipeline) -> u32 {
    reach(p, &order(p))[p.parser.start.0 as usize]
}

/// Whether some parser state can reach itself.
pub fn has_cycles(p: &Pipeline) -> bool {
    let states = &p.parser.states;
    let mut predecessors: Vec<Vec<usize>> = vec![Vec::new(); states.len()];
    let mut left: Vec<usize> = vec![0; states.len()];
    for (s, state) in states.iter().enumerate() {
        for next in successors(&state.transition) {
            predecessors[next].push(s);
            left[s] += 1;
        }
    }
    // Kahn: a graph without cycles can be taken apart from its leaves.
    let mut leaves: Vec<usize> = (0..states.len()).filter(|s| left[*s] == 0).collect();
    let mut taken = leaves.len();
    while let Some(leaf) = leaves.pop() {
        for &s in &predecessors[leaf] {
            left[s] -= 1;
            if left[s] == 0 {
                leaves.push(s);
                taken += 1;
            }
        }
    }
    taken < states.len()
}
