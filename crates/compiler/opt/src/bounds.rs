//! Bounds of loops and advances: the most iterations a loop begins, the most bits an advance skips.
//!
//! Executors with fixed resources need these bounds; the pass changes nothing else. The bound of an advance follows from the
//! value ranges of the parser's slots. A loop has a bound if it is left when a counter passes a limit and every iteration adds
//! the same constant to the counter.

use hopwright_ir::analysis::effects::Effects;
use hopwright_ir::analysis::ranges::{self, Range, Ranges};
use hopwright_ir::walk;
use hopwright_ir::{BinaryOp, Block, Expr, ExprKind, Pipeline, SlotId, StmtKind, Type, UnaryOp};

/// Sets the bounds that are known; lower bounds already set stay.
pub fn bound(pipeline: &mut Pipeline) {
    let effects = Effects::of(pipeline);
    let states = ranges::parser(pipeline);
    let mut bodies: Vec<Block> = walk::all_blocks_mut(pipeline).map(std::mem::take).collect();
    for (i, body) in bodies.iter_mut().enumerate() {
        // Parser states come first. Ranges of those that are not reached are not known.
        let start = states.get(i).cloned().flatten().unwrap_or_default();
        Bounds { pipeline, effects: &effects }.block(body, start);
    }
    walk::all_blocks_mut(pipeline).zip(bodies).for_each(|(place, body)| *place = body);
}

fn tighten(bound: &mut Option<u32>, found: Option<u64>) {
    if let Some(found) = found.and_then(|n| u32::try_from(n).ok()) {
        *bound = Some(bound.map_or(found, |known| known.min(found)));
    }
}

struct Bounds<'p> {
    pipeline: &'p Pipeline,
    effects: &'p Effects,
}

impl Bounds<'_> {
    fn block(&self, block: &mut Block, mut ranges: Ranges) {
        for stmt in block {
            match &mut stmt.kind {
                StmtKind::Advance { bits, bound } => {
                    let most = ranges.of(bits).map(|range| range.hi).filter(|most| *most < u64::from(u32::MAX));
                    tighten(bound, most);
                }
                StmtKind::If { cond, then, otherwise } => {
                    for (body, outcome) in [(then, true), (otherwise, false)] {
                        let mut taken = ranges.clone();
                        taken.assume(cond, outcome);
                        self.block(body, taken);
                    }
                }
                StmtKind::Loop { body, bound } => {
                    let mut around = ranges.clone();
                    around.forget(self.pipeline, self.effects, body);
                    tighten(bound, self.iterations(body, &ranges, &around));
                    self.block(body, around);
                }
                _ => walk::blocks_mut(stmt).into_iter().for_each(|inner| self.block(inner, ranges.clone())),
            }
            ranges.step(self.pipeline, self.effects, stmt);
        }
    }

    /// How often a loop's body is begun at most; `around` are the ranges that hold in every iteration.
    fn iterations(&self, body: &Block, before: &Ranges, around: &Ranges) -> Option<u64> {
        let mut least: Option<u64> = None;
        for (at, stmt) in body.iter().enumerate() {
            // The guard stands directly in the body: every iteration reaches it, and leaving from it leaves the loop.
            let StmtKind::If { cond, then, otherwise } = &stmt.kind else { continue };
            let leaves =
                |block: &Block| matches!(block.last().map(|s| &s.kind), Some(StmtKind::Leave(_) | StmtKind::Exit));
            let stays = match (leaves(then), leaves(otherwise)) {
                (true, false) => false,
                (false, true) => true,
                _ => continue,
            };
            for guard in Guard::of(cond, stays) {
                let found = self.counted(body, at, &guard, before, around);
                least = least.into_iter().chain(found).min();
            }
        }
        least
    }

    fn counted(&self, body: &Block, at: usize, guard: &Guard, before: &Ranges, around: &Ranges) -> Option<u64> {
        let (update, step) = self.update(body, guard.counter)?;
        let counter = Expr::slot(guard.counter, self.pipeline[guard.counter].ty, body[at].span);
        let (Type::Bits(_), all) = (counter.ty, Range::all(counter.ty)?) else { return None };
        let (start, limit) = (before.of(&counter)?, around.of(guard.limit)?);
        // The first value that the guard sees: `start`, or one step further.
        let updated_first = u64::from(update < at);
        match (guard.op, step) {
            // Every value is met, so also the limit.
            (BinaryOp::Ne, Step::Up(1)) if limit.lo == limit.hi && start.hi.checked_add(updated_first)? <= limit.lo => {
                limit.hi.checked_sub(start.lo)?.checked_add(1)
            }
            (BinaryOp::Lt | BinaryOp::Le, Step::Up(step)) => {
                // The highest value that stays, and what comes of it.
                let highest = if guard.op == BinaryOp::Lt { limit.hi.checked_sub(1) } else { Some(limit.hi) };
                let Some(highest) = highest else { return Some(1 + updated_first) };
                let reached = if updated_first == 1 { highest.max(start.hi) } else { highest };
                if reached.checked_add(step)? > all.hi {
                    return None;
                }
                let staying = if start.lo > highest { 0 } else { (highest - start.lo) / step + 1 };
                staying.checked_add(1)
            }
            (BinaryOp::Gt | BinaryOp::Ge, Step::Down(step)) => {
                let lowest = if guard.op == BinaryOp::Gt { limit.lo.checked_add(1)? } else { limit.lo };
                let reached = if updated_first == 1 { lowest.min(start.lo) } else { lowest };
                reached.checked_sub(step)?;
                let staying = if start.hi < lowest { 0 } else { (start.hi - lowest) / step + 1 };
                staying.checked_add(1)
            }
            _ => None,
        }
    }

    /// The one statement of a loop's body that writes the counter, directly in it: its index, and what it adds.
    fn update(&self, body: &Block, counter: SlotId) -> Option<(usize, Step)> {
        let mut writers = 0;
        walk::stmts(body, &mut |stmt| {
            let mut writes = false;
            self.effects.writes(self.pipeline, stmt, &mut |slot| writes |= slot == counter);
            writers += usize::from(writes);
        });
        if writers != 1 {
            return None;
        }
        body.iter().enumerate().find_map(|(i, stmt)| {
            let StmtKind::Assign(slot, value) = &stmt.kind else { return None };
            let ExprKind::Binary(op, a, b) = &value.kind else { return None };
            let is_counter = |e: &Expr| matches!(e.kind, ExprKind::Slot(s) if s == counter);
            let constant = |e: &Expr| e.as_const().and_then(|v| u64::try_from(v).ok()).filter(|v| *v > 0);
            let step = match op {
                BinaryOp::Add if is_counter(a) => Step::Up(constant(b)?),
                BinaryOp::Add if is_counter(b) => Step::Up(constant(a)?),
                BinaryOp::Sub if is_counter(a) => Step::Down(constant(b)?),
                _ => return None,
            };
            (*slot == counter).then_some((i, step))
        })
    }
}

/// The change of the counter per iteration.
#[derive(Clone, Copy)]
enum Step {
    Up(u64),
    Down(u64),
}

/// A condition for staying in a loop: `counter op limit`.
struct Guard<'e> {
    counter: SlotId,
    op: BinaryOp,
    limit: &'e Expr,
}

impl<'e> Guard<'e> {
    /// The guards in a condition that has `outcome` as long as the loop goes on.
    fn of(cond: &'e Expr, outcome: bool) -> Vec<Guard<'e>> {
        match (&cond.kind, outcome) {
            (ExprKind::Unary(UnaryOp::Not, inner), _) => Guard::of(inner, !outcome),
            (ExprKind::Binary(BinaryOp::LogicalAnd, a, b), true)
            | (ExprKind::Binary(BinaryOp::LogicalOr, a, b), false) => {
                Guard::of(a, outcome).into_iter().chain(Guard::of(b, outcome)).collect()
            }
            (ExprKind::Binary(op, a, b), _) => {
                let op = if outcome { Some(*op) } else { op.negated() };
                let Some(op) = op else { return Vec::new() };
                let mut guards = Vec::new();
                if let Some(counter) = extended_slot(a) {
                    guards.push(Guard { counter, op, limit: b });
                }
                if let Some(counter) = extended_slot(b) {
                    guards.push(Guard { counter, op: swapped(op), limit: a });
                }
                guards
            }
            _ => Vec::new(),
        }
    }
}

/// The slot that an unsigned expression is, or extends with zeros.
fn extended_slot(expr: &Expr) -> Option<SlotId> {
    match &expr.kind {
        ExprKind::Slot(slot) if matches!(expr.ty, Type::Bits(_)) => Some(*slot),
        ExprKind::Cast(inner) if matches!((inner.ty, expr.ty), (Type::Bits(a), Type::Bits(b)) if a <= b) => {
            extended_slot(inner)
        }
        _ => None,
    }
}

/// The operator with its operands exchanged.
fn swapped(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::Le => BinaryOp::Ge,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::Ge => BinaryOp::Le,
        other => other,
    }
}
