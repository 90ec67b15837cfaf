//! Growth: how many bytes a pass of a packet can add at its front.
//!
//! A pass takes the extracted headers off the packet and puts the emitted ones there. A header that only an extract makes
//! valid, and that is emitted once, adds nothing. Every other emitted header may add all its bytes.

use crate::walk;
use crate::{Block, ExternArg, ExternFn, HeaderId, Pipeline, SlotId, SlotKind, StmtKind, Type};

/// What is added is at most this many bytes; `None` if there is no bound.
pub fn of_a_pass(p: &Pipeline) -> Option<u32> {
    let (added, times) = (added(p), times(p, &p.deparser.body));
    let cost = |header: HeaderId| {
        let repeated = times[header.index()] > 1;
        if added[header.index()] || repeated { most_bytes(p, header) } else { 0 }
    };
    let most = longest(&p.deparser.body, &cost);
    (most != u32::MAX).then_some(most)
}

/// The headroom that packets need before each pass such that one of any length that ports receive may grow in it: the
/// growth of a pass, and once more if a packet that has grown can start over. `None` if there is no bound.
pub fn headroom(p: &Pipeline) -> Option<u32> {
    let mut starts_over = false;
    walk::all_stmts(p, &mut |s| {
        starts_over |= matches!(&s.kind, StmtKind::Extern(c) if matches!(c.function, ExternFn::Recirculate(_)));
    });
    of_a_pass(p)?.checked_mul(if starts_over { 2 } else { 1 })
}

/// By header, whether anything but an extract makes it valid or changes its size.
pub fn enlarged(p: &Pipeline) -> Vec<bool> {
    let mut changed = vec![false; p.headers.len()];
    let valid = |slot: SlotId, changed: &mut Vec<bool>| match (p[slot].kind, p[slot].ty) {
        (SlotKind::Valid(h), _) | (SlotKind::Field(h, _), Type::Varbit(_)) => changed[h.index()] = true,
        _ => {}
    };
    walk::all_stmts(p, &mut |s| match &s.kind {
        StmtKind::SetValid(h) | StmtKind::CopyHeader { dst: h, .. } => changed[h.index()] = true,
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
    changed
}

/// The same with the elements of stacks that are shifted: an element that was made can move, so that another is made in its
/// place.
fn added(p: &Pipeline) -> Vec<bool> {
    let mut added = enlarged(p);
    walk::all_stmts(p, &mut |s| {
        let (StmtKind::PushFront(stack, _) | StmtKind::PopFront(stack, _)) = &s.kind else { return };
        let elements = &p[*stack].elements;
        if elements.iter().any(|h| added[h.index()]) {
            elements.iter().for_each(|h| added[h.index()] = true);
        }
    });
    added
}

/// By header, how often a packet can pass a statement that emits it; `u32::MAX` if there is no bound.
fn times(p: &Pipeline, block: &Block) -> Vec<u32> {
    let mut sum = vec![0u32; p.headers.len()];
    for stmt in block {
        let mut here = vec![0; p.headers.len()];
        for inner in walk::blocks(stmt) {
            here.iter_mut().zip(times(p, inner)).for_each(|(most, n)| *most = n.max(*most));
        }
        match stmt.kind {
            StmtKind::Emit(header) => here[header.index()] = 1,
            StmtKind::Loop { bound, .. } => {
                here.iter_mut().for_each(|n| *n = n.saturating_mul(bound.unwrap_or(u32::MAX)))
            }
            _ => {}
        }
        sum.iter_mut().zip(here).for_each(|(sum, n)| *sum = sum.saturating_add(n));
    }
    sum
}

/// The sum of the emitted headers' costs on the path where it is greatest; `u32::MAX` if there is no bound.
fn longest(block: &Block, cost: &impl Fn(HeaderId) -> u32) -> u32 {
    let of = |stmt: &crate::Stmt| {
        let inner = walk::blocks(stmt).into_iter().map(|inner| longest(inner, cost)).max().unwrap_or(0);
        match stmt.kind {
            StmtKind::Emit(header) => cost(header),
            StmtKind::Loop { bound, .. } => inner.saturating_mul(bound.unwrap_or(u32::MAX)),
            _ => inner,
        }
    };
    block.iter().map(of).fold(0, u32::saturating_add)
}

/// The bytes of a header with its field of variable length at its longest.
fn most_bytes(p: &Pipeline, header: HeaderId) -> u32 {
    let header = &p[header];
    let varbit = header.varbit.map_or(0, |at| header.fields[at as usize].width);
    (header.fixed_bits + varbit).div_ceil(8)
}
