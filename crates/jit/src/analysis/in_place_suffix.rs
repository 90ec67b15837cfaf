//! The headers that surely lie where they belong when the packet is put together: the longest tail of the deparser's
//! emits whose headers the parser extracts in that order, back to back up to the payload, and that nothing else makes
//! valid, invalid or longer. Of these only written fields are stored. This module computes; it emits no code.

use hopwright_ir::walk;
use hopwright_ir::{ExternArg, HeaderId, Pipeline, SlotId, SlotKind, StmtKind, Type};

use crate::analysis::parser_graph::successors;

/// What was extracted of the tail on the ways to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SuffixState {
    /// Nothing on any way.
    NotBegun,
    /// Something on every way.
    Begun,
    /// Depends on the way.
    Maybe,
}

/// The tail.
#[derive(Clone, Debug, Default)]
pub(crate) struct InPlaceSuffix {
    /// In order of emission.
    pub headers: Vec<HeaderId>,
}

impl InPlaceSuffix {
    pub fn of(p: &Pipeline) -> InPlaceSuffix {
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
        let changed = changed(p);
        let fixed = |h: &HeaderId| {
            !changed[h.index()] && p[*h].stack.is_none() && emits.iter().filter(|&e| e == h).count() == 1
        };
        let first = emits.iter().rposition(|h| !fixed(h)).map_or(0, |i| i + 1);
        for first in first..emits.len() {
            if in_order(p, &emits[first..]) {
                return InPlaceSuffix { headers: emits[first..].to_vec() };
            }
        }
        InPlaceSuffix::default()
    }

    pub fn contains(&self, header: HeaderId) -> bool {
        self.headers.contains(&header)
    }
}

/// Headers that anything but a plain extract makes valid, invalid, copies or gives another size.
pub(crate) fn changed(p: &Pipeline) -> Vec<bool> {
    let mut changed = vec![false; p.headers.len()];
    let valid = |slot: SlotId, changed: &mut Vec<bool>| match (p[slot].kind, p[slot].ty) {
        (SlotKind::Valid(h), _) | (SlotKind::Field(h, _), Type::Varbit(_)) => changed[h.index()] = true,
        _ => {}
    };
    for block in walk::all_blocks(p) {
        walk::stmts(block, &mut |s| match &s.kind {
            StmtKind::SetValid(h) | StmtKind::SetInvalid(h) => changed[h.index()] = true,
            StmtKind::CopyHeader { dst, src } => {
                changed[dst.index()] = true;
                changed[src.index()] = true;
            }
            StmtKind::Assign(slot, _) | StmtKind::AssignSlice { slot, .. } => valid(*slot, &mut changed),
            StmtKind::Apply { hit, action_run, .. } => {
                hit.iter().chain(action_run).for_each(|&s| valid(s, &mut changed));
            }
            StmtKind::Extern(call) => {
                for arg in &call.args {
                    if let ExternArg::Out(slot) | ExternArg::InOut(slot) = arg {
                        valid(*slot, &mut changed);
                    }
                }
            }
            StmtKind::Lookahead { parts, .. } => parts.iter().for_each(|p| valid(p.0, &mut changed)),
            _ => {}
        });
    }
    changed
}

/// Whether on every way the headers are extracted in this order with nothing between or behind them.
fn in_order(p: &Pipeline, tail: &[HeaderId]) -> bool {
    let position = |h: HeaderId| tail.iter().position(|&t| t == h);
    let states = &p.parser.states;
    // For each state that can be reached, the highest position extracted on any way there.
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
                StmtKind::ExtractNext { .. } | StmtKind::Advance { .. } if here.is_some() => return false,
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
