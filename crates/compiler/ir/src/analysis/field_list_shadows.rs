//! Field-list shadows: metadata that holds what field lists keep of headers.
//!
//! A field list may name fields and validity bits of headers. Each gets a *shadow*, a metadata slot, so that keeping a field
//! list means keeping metadata. Where ingress, egress or the checksums end, the shadows are set; where the parser or egress
//! begins, the headers are set from the shadows that were kept.

use std::collections::BTreeMap;

use crate::walk;
use crate::{
    Block, Expr, ExprKind, Pipeline, Slot, SlotId, SlotKind, State, StateId, Stmt, StmtKind, Target, Transition, Type,
};

/// The shadow of a slot.
#[derive(Clone, Copy)]
struct Shadow {
    value: SlotId,
    /// `bool`: whether the value was kept.
    kept: SlotId,
}

/// Replaces slots of headers in a pipeline's field lists by shadows.
pub fn lower(p: &mut Pipeline) {
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
    // Locals do not survive the pass.
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
    // A header that becomes valid is zero at first.
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
