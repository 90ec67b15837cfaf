//! The in-place suffix: headers that are already where the deparser puts them.
//!
//! It is the longest suffix of the deparser's emits whose headers the parser extracts in that order, back to back up to
//! the payload, and that nothing else makes valid, invalid or longer. Of these headers a target only has to store the
//! fields that are written.

use crate::walk;
use crate::{HeaderId, Pipeline, SlotKind, StackId, StmtKind};

use super::growth::enlarged;
use super::parser_graph::successors;

/// The headers that stay where they are.
#[derive(Clone, Debug, Default)]
pub struct InPlaceSuffix {
    /// In order of emission.
    pub headers: Vec<HeaderId>,
}

impl InPlaceSuffix {
    /// The suffix of a pipeline; empty if the deparser does more than emit.
    pub fn of(p: &Pipeline) -> InPlaceSuffix {
        InPlaceSuffix::find(p, |_| false)
    }

    /// The same; elements of stacks are part of it, too, if the parser takes the next element each time and nothing else moves them.
    pub fn with_stacks(p: &Pipeline) -> InPlaceSuffix {
        let mut moved = vec![false; p.stacks.len()];
        walk::all_stmts(p, &mut |s| match &s.kind {
            StmtKind::PushFront(stack, _) | StmtKind::PopFront(stack, _) => moved[stack.index()] = true,
            StmtKind::Assign(slot, _) | StmtKind::AssignSlice { slot, .. } => {
                if let SlotKind::NextIndex(stack) = p[*slot].kind {
                    moved[stack.index()] = true;
                }
            }
            StmtKind::Extract { header, .. } => {
                if let Some((stack, _)) = p[*header].stack {
                    moved[stack.index()] = true;
                }
            }
            _ => {}
        });
        InPlaceSuffix::find(p, |stack| !moved[stack.index()])
    }

    /// The suffix, with elements of these stacks.
    fn find(p: &Pipeline, stays: impl Fn(StackId) -> bool) -> InPlaceSuffix {
        let emits: Option<Vec<HeaderId>> = p
            .deparser
            .body
            .iter()
            .map(|s| match s.kind {
                StmtKind::Emit(header) => Some(header),
                _ => None,
            })
            .collect();
        let Some(emits) = emits else { return InPlaceSuffix::default() };
        let reshaped = reshaped(p);
        let fixed = |h: &HeaderId| {
            let stack = p[*h].stack.is_none_or(|(stack, _)| stays(stack));
            !reshaped[h.index()] && stack && emits.iter().filter(|&e| e == h).count() == 1
        };
        let first = emits.iter().rposition(|h| !fixed(h)).map_or(0, |i| i + 1);
        for first in first..emits.len() {
            if whole_stacks(p, &emits[first..]) && in_order(p, &emits[first..]) {
                return InPlaceSuffix { headers: emits[first..].to_vec() };
            }
        }
        InPlaceSuffix::default()
    }

    /// Whether a header is part of it.
    pub fn contains(&self, header: HeaderId) -> bool {
        self.headers.contains(&header)
    }
}

/// By header, whether anything but an extract makes it valid or invalid, copies it or changes its size.
pub fn reshaped(p: &Pipeline) -> Vec<bool> {
    let mut changed = enlarged(p);
    walk::all_stmts(p, &mut |s| {
        if let StmtKind::SetInvalid(h) | StmtKind::CopyHeader { src: h, .. } = &s.kind {
            changed[h.index()] = true;
        }
    });
    changed
}

/// Whether the elements of each stack are there from the first to the last, behind each other.
fn whole_stacks(p: &Pipeline, suffix: &[HeaderId]) -> bool {
    suffix.iter().enumerate().all(|(at, h)| match p[*h].stack {
        Some((stack, 0)) => suffix[at..].starts_with(&p[stack].elements),
        Some((stack, number)) => {
            let before = at.checked_sub(1).and_then(|at| p[suffix[at]].stack);
            before == Some((stack, number - 1))
        }
        None => true,
    })
}

/// Whether every path through the parser extracts the headers in this order with nothing between or behind them. The elements of a stack
/// are extracted in order: all have the position of the first one.
fn in_order(p: &Pipeline, suffix: &[HeaderId]) -> bool {
    let position = |h: HeaderId| suffix.iter().position(|&t| t == h);
    let position_of_stack = |stack: StackId| p[stack].elements.first().and_then(|h| position(*h));
    let states = &p.parser.states;
    // For each reachable state, the highest position extracted on any path to it.
    let mut highest: Vec<Option<Option<usize>>> = vec![None; states.len()];
    let start = p.parser.start.0 as usize;
    highest[start] = Some(None);
    let mut work = vec![start];
    while let Some(s) = work.pop() {
        let Some(mut here) = highest[s] else { continue };
        for stmt in &states[s].body {
            match &stmt.kind {
                StmtKind::Extract { header, .. } => match position(*header) {
                    Some(at) if here.is_none_or(|h| h < at) => here = Some(at),
                    None if here.is_none() => {}
                    _ => return false,
                },
                StmtKind::ExtractNext { stack, .. } => match position_of_stack(*stack) {
                    Some(at) if here.is_none_or(|h| h <= at) => here = Some(at),
                    None if here.is_none() => {}
                    _ => return false,
                },
                StmtKind::Advance { .. } if here.is_some() => return false,
                _ => {
                    let mut hidden = false;
                    for block in walk::blocks(stmt) {
                        walk::stmts(block, &mut |s| {
                            hidden |= matches!(
                                s.kind,
                                StmtKind::Extract { .. } | StmtKind::ExtractNext { .. } | StmtKind::Advance { .. }
                            );
                        });
                    }
                    if hidden {
                        return false;
                    }
                }
            }
        }
        for next in successors(&states[s].transition) {
            let joined = highest[next].map_or(here, |h| h.max(here));
            if highest[next] != Some(joined) {
                highest[next] = Some(joined);
                work.push(next);
            }
        }
    }
    true
}
