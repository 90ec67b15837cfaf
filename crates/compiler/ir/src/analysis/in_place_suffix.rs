//! The in-place suffix: headers that are already where the deparser puts them.
//!
//! It is the longest suffix of the deparser's emits whose headers the parser extracts in that order, back to back up to
//! the payload, and that nothing else makes valid, invalid or longer. Of these headers a target only has to store the
//! fields that are written.

use crate::walk;
use crate::{HeaderId, Pipeline, StmtKind};

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
            !reshaped[h.index()] && p[*h].stack.is_none() && emits.iter().filter(|&e| e == h).count() == 1
        };
        let first = emits.iter().rposition(|h| !fixed(h)).map_or(0, |i| i + 1);
        for first in first..emits.len() {
            if in_order(p, &emits[first..]) {
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

/// Whether every path through the parser extracts the headers in this order with nothing between or behind them.
fn in_order(p: &Pipeline, suffix: &[HeaderId]) -> bool {
    let position = |h: HeaderId| suffix.iter().position(|&t| t == h);
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
