//! The headers that surely lie where they belong when the packet is put together: the longest tail of the deparser's
//! emits whose headers the parser extracts in that order, back to back up to the payload, and that nothing else makes
//! valid or invalid. Of these only written fields are stored. This module computes; it emits no code.

use hopwright_ir::walk;
use hopwright_ir::{ExternArg, HeaderId, Pipeline, SlotId, SlotKind, StmtKind};

use crate::parser::successors;

/// What every way to a place of the parser has extracted of the tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// Nothing on any way.
    Not,
    /// Something on every way.
    Surely,
    /// Depends on the way.
    Maybe,
}

/// The tail.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail {
    /// In order of emission.
    pub headers: Vec<HeaderId>,
    /// For each parser state what was extracted of the tail when it begins.
    pub begun: Vec<Option<Begun>>,
}

/// What is known where a state begins: the highest position extracted on any way, and whether some way has extracted
/// nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Known {
    highest: Option<usize>,
    none: bool,
}

impl Tail {
    pub fn of(p: &Pipeline) -> Tail {
        let emits: Option<Vec<HeaderId>> = p
            .deparser
            .body
            .iter()
            .map(|s| match s.kind {
                StmtKind::Emit(header) => Some(header),
                _ => None,
            })
            .collect();
        let Some(emits) = emits else { return Tail::default() };
        let changed = changed(p);
        let fixed = |h: &HeaderId| {
            !changed[h.index()] && p[*h].stack.is_none() && emits.iter().filter(|&e| e == h).count() == 1
        };
        let first = emits.iter().rposition(|h| !fixed(h)).map_or(0, |i| i + 1);
        for first in first..emits.len() {
            if let Some(begun) = in_order(p, &emits[first..]) {
                return Tail { headers: emits[first..].to_vec(), begun };
            }
        }
        Tail::default()
    }

    pub fn contains(&self, header: HeaderId) -> bool {
        self.headers.contains(&header)
    }
}

/// Headers that anything but a plain extract makes valid, invalid or copies.
fn changed(p: &Pipeline) -> Vec<bool> {
    let mut changed = vec![false; p.headers.len()];
    let valid = |slot: SlotId, changed: &mut Vec<bool>| {
        if let SlotKind::Valid(h) = p[slot].kind {
            changed[h.index()] = true;
        }
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

/// What was extracted where each state begins, if on every way the headers are extracted in this order with nothing
/// between or behind them.
fn in_order(p: &Pipeline, tail: &[HeaderId]) -> Option<Vec<Option<Begun>>> {
    let position = |h: HeaderId| tail.iter().position(|&t| t == h);
    let states = &p.parser.states;
    let mut known: Vec<Option<Known>> = vec![None; states.len()];
    let start = p.parser.start.0 as usize;
    known[start] = Some(Known { highest: None, none: true });
    let mut work = vec![start];
    while let Some(s) = work.pop() {
        let Some(mut here) = known[s] else { continue };
        for stmt in &states[s].body {
            match &stmt.kind {
                StmtKind::Extract { header, .. } => match position(*header) {
                    Some(at) if here.highest.is_none_or(|h| h < at) => {
                        here = Known { highest: Some(at), none: false };
                    }
                    None if here.highest.is_none() => {}
                    _ => return None,
                },
                StmtKind::ExtractNext { .. } | StmtKind::Advance(_) if here.highest.is_some() => return None,
                _ => {
                    let mut hidden = false;
                    for block in walk::blocks(stmt) {
                        walk::stmts(block, &mut |s| {
                            hidden |= matches!(
                                s.kind,
                                StmtKind::Extract { .. } | StmtKind::ExtractNext { .. } | StmtKind::Advance(_)
                            );
                        });
                    }
                    if hidden {
                        return None;
                    }
                }
            }
        }
        for next in successors(&states[s].transition) {
            let joined = match known[next] {
                None => here,
                Some(k) => Known { highest: k.highest.max(here.highest), none: k.none || here.none },
            };
            if known[next] != Some(joined) {
                known[next] = Some(joined);
                work.push(next);
            }
        }
    }
    let begun = |k: Known| match (k.highest, k.none) {
        (None, _) => Begun::Not,
        (Some(_), false) => Begun::Surely,
        (Some(_), true) => Begun::Maybe,
    };
    Some(known.into_iter().map(|k| k.map(begun)).collect())
}
