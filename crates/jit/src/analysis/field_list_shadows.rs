//! Field lists that keep headers of the metadata: shadows of their fields and validity, which are metadata like other and
//! so part of a packet's record ([`hopwright_abi::PauseLayout`]).
//!
//! Where ingress, egress or the checksums end, a shadow becomes what it stands for; where the parser or egress begins, that
//! becomes what its shadow says, if the shadow was kept. Does not live here: which slots are kept (the traffic manager).

use std::collections::BTreeMap;

use hopwright_ir::walk;
use hopwright_ir::{
    Block, Expr, ExprKind, Pipeline, Slot, SlotId, SlotKind, State, StateId, Stmt, StmtKind, Target, Transition, Type,
};

/// What stands for a slot.
#[derive(Clone, Copy)]
struct Shadow {
    value: SlotId,
    /// `bool`: whether the value says anything.
    kept: SlotId,
}

/// Gives the field lists of a pipeline shadows in place of what is in headers.
pub(crate) fn lower(p: &mut Pipeline) {
    let mut shadows: BTreeMap<SlotId, Shadow> = BTreeMap::new();
    let listed: Vec<SlotId> = p.field_lists.iter().flat_map(|l| l.slots.iter().copied()).collect();
    for slot in listed {
        if !matches!(p[slot].kind, SlotKind::Field(..) | SlotKind::Valid(_)) || shadows.contains_key(&slot) {
            continue;
        }
        let Slot { name, ty, span, .. } = p[slot].clone();
        let mut new = |name: String, ty: Type| {
            p.slots.push(Slot { name, ty, kind: SlotKind::Metadata, span });
            SlotId(p.slots.len() as u32 - 1)
        };
        let value = new(format!("$kept.{name}"), ty);
        let kept = new(format!("$kept.{name}.$is"), Type::Bool);
        shadows.insert(slot, Shadow { value, kept });
    }
    // A local of the block that asks is nothing to a packet that comes again.
    let kinds: Vec<SlotKind> = p.slots.iter().map(|s| s.kind).collect();
    for list in &mut p.field_lists {
        list.slots.retain(|s| kinds[s.index()] != SlotKind::Local);
        list.slots = (list.slots.iter())
            .flat_map(|s| shadows.get(s).map_or(vec![*s], |shadow| vec![shadow.value, shadow.kept]))
            .collect();
    }
    if shadows.is_empty() {
        return;
    }
    let save = save(p, &shadows);
    walk::all_blocks_mut(p).for_each(|block| before_exits(block, &save));
    for control in [&mut p.ingress, &mut p.egress, &mut p.compute_checksum] {
        control.body.extend(save.iter().cloned());
    }
    let restore = restore(p, &shadows);
    p.egress.body.splice(0..0, restore.iter().cloned());
    let state = State {
        name: "$again".into(),
        body: restore,
        transition: Transition::Goto(Target::State(p.parser.start)),
        span: p.parser.span,
    };
    p.parser.states.push(state);
    p.parser.start = StateId(p.parser.states.len() as u32 - 1);
}

fn read(p: &Pipeline, slot: SlotId) -> Expr {
    Expr { kind: ExprKind::Slot(slot), ty: p[slot].ty, span: p[slot].span }
}

fn save(p: &Pipeline, shadows: &BTreeMap<SlotId, Shadow>) -> Block {
    let mut block = Vec::new();
    for (&slot, shadow) in shadows {
        let span = p[slot].span;
        block.push(Stmt { kind: StmtKind::Assign(shadow.value, read(p, slot)), span });
        block.push(Stmt { kind: StmtKind::Assign(shadow.kept, Expr::boolean(true, span)), span });
    }
    block
}

fn restore(p: &Pipeline, shadows: &BTreeMap<SlotId, Shadow>) -> Block {
    let (mut validity, mut fields) = (Vec::new(), Vec::new());
    for (&slot, shadow) in shadows {
        let span = p[slot].span;
        let stmt = |kind| Stmt { kind, span };
        let choose = |cond, then, otherwise| stmt(StmtKind::If { cond, then, otherwise });
        let kept = read(p, shadow.kept);
        let value = read(p, shadow.value);
        match p[slot].kind {
            SlotKind::Valid(header) => {
                let (valid, invalid) = (stmt(StmtKind::SetValid(header)), stmt(StmtKind::SetInvalid(header)));
                validity.push(choose(kept, vec![choose(value, vec![valid], vec![invalid])], Vec::new()));
            }
            _ => fields.push(choose(kept, vec![stmt(StmtKind::Assign(slot, value))], Vec::new())),
        }
    }
    // What becomes valid is zero at first.
    validity.extend(fields);
    validity
}

fn before_exits(block: &mut Block, save: &Block) {
    let mut at = 0;
    while at < block.len() {
        walk::blocks_mut(&mut block[at]).into_iter().for_each(|inner| before_exits(inner, save));
        if matches!(block[at].kind, StmtKind::Exit) {
            block.splice(at..at, save.iter().cloned());
            at += save.len();
        }
        at += 1;
    }
}
