//! What the pipeline of a Tofino program has beside its stages: decisions of the traffic manager, and what deparsers request.

use hopwright_ir::analysis::effects::SlotSet;
use hopwright_ir::{Block, ExternFn, ExternId, ExternKind, Pipeline, SlotId, SlotKind, Span, Stmt, StmtKind, walk};

/// What the names of variables begin with that Tofino's lowering adds.
const OWN: &str = "tofino.";
/// One of them, whose place is that of all statements that the lowering adds.
const PHASE: &str = "tofino.phase";
/// Registers of the traffic manager.
const REGISTERS: [&str; 5] = ["loopback", "port_metadata", "level1_exclusion", "level2_exclusion", "global_rid"];
/// What the names of registers end with that have masks of keys, which are part of the match hardware.
const KEY_MASKS: &str = "$dynamic_key_mask";
/// Of registers that say whether a control plane has changed a hash.
const DYNAMIC_HASH: &str = "$dynamic_hash";

/// A pipeline without what does not lie in stages, and the variables that this reads behind ingress and egress; `None` if it is
/// not one of a Tofino.
pub(crate) fn stages_only(pipeline: &Pipeline) -> Option<(Pipeline, [SlotSet; 2])> {
    let phase = pipeline.slots.iter().find(|slot| slot.name == PHASE)?;
    let mut rest = pipeline.clone();
    let controls = [&mut rest.ingress, &mut rest.egress].map(|control| &mut control.body);
    controls
        .into_iter()
        .chain(rest.actions.iter_mut().map(|action| &mut action.body))
        .for_each(|body| own_hashes(pipeline, body));
    let mut strip = Strip { pipeline, added: phase.span, read: SlotSet::empty(pipeline) };
    rest.ingress.body = strip.block(std::mem::take(&mut rest.ingress.body));
    let ingress = std::mem::replace(&mut strip.read, SlotSet::empty(pipeline));
    rest.egress.body = strip.block(std::mem::take(&mut rest.egress.body));
    let live = [ingress, strip.read];
    Some((rest, live))
}

/// Whether a register is not one of the program's.
pub(crate) fn is_own_register(name: &str) -> bool {
    REGISTERS.contains(&name) || name.ends_with(KEY_MASKS) || name.ends_with(DYNAMIC_HASH)
}

/// Puts the program's own function in the place of each hash that a control plane can change: one hash unit on the device, however it is
/// configured.
fn own_hashes(pipeline: &Pipeline, block: &mut Block) {
    let object = |stmt: &Stmt| match &stmt.kind {
        StmtKind::Extern(call) => call.function.object(),
        _ => None,
    };
    let is_flag = |id: ExternId| pipeline[id].name.ends_with(DYNAMIC_HASH);
    let changed =
        |id: ExternId| matches!(&pipeline[id].kind, ExternKind::Named { type_name, .. } if type_name == "DynHash");
    for mut stmt in std::mem::take(block) {
        if object(&stmt).is_some_and(is_flag) {
            continue;
        }
        walk::blocks_mut(&mut stmt).into_iter().for_each(|inner| own_hashes(pipeline, inner));
        match stmt.kind {
            StmtKind::If { then, otherwise, .. } if then.iter().filter_map(object).any(changed) => {
                block.extend(otherwise);
            }
            _ => block.push(stmt),
        }
    }
}

struct Strip<'p> {
    pipeline: &'p Pipeline,
    added: Span,
    read: SlotSet,
}

impl Strip<'_> {
    fn block(&mut self, block: Block) -> Block {
        let mut kept = Block::new();
        for mut stmt in block {
            if self.is_outside(&stmt) {
                self.reads(&stmt);
                continue;
            }
            let descends = stmt.span == self.added || matches!(stmt.kind, StmtKind::Scope { .. });
            if descends && !walk::blocks(&stmt).is_empty() {
                for inner in walk::blocks_mut(&mut stmt) {
                    *inner = self.block(std::mem::take(inner));
                }
                if let Some(only) = self.only_block(&mut stmt) {
                    kept.extend(only);
                    continue;
                }
            }
            kept.push(stmt);
        }
        kept
    }

    /// What is left of a branch that the lowering has added, if that is one block or nothing.
    fn only_block(&mut self, stmt: &mut Stmt) -> Option<Block> {
        if stmt.span != self.added || !matches!(stmt.kind, StmtKind::If { .. } | StmtKind::Switch { .. }) {
            return None;
        }
        let mut full: Vec<&mut Block> = walk::blocks_mut(stmt).into_iter().filter(|block| !block.is_empty()).collect();
        match full.as_mut_slice() {
            [] => Some(Block::new()),
            [only] => Some(std::mem::take(only)),
            _ => None,
        }
    }

    fn is_own(&self, slot: SlotId) -> bool {
        let slot = &self.pipeline[slot];
        matches!(slot.kind, SlotKind::Standard) || slot.name.starts_with(OWN)
    }

    fn is_outside(&self, stmt: &Stmt) -> bool {
        match &stmt.kind {
            // What the device knows of a packet is there when it comes.
            StmtKind::Assign(slot, _) | StmtKind::AssignSlice { slot, .. } => {
                self.is_own(*slot) || stmt.span == self.added
            }
            StmtKind::Extern(call) => match &call.function {
                ExternFn::Clone { .. }
                | ExternFn::Recirculate(_)
                | ExternFn::Resubmit(_)
                | ExternFn::Truncate
                | ExternFn::Digest(_) => true,
                ExternFn::RegisterRead(object) => is_own_register(&self.pipeline[*object].name),
                _ => false,
            },
            StmtKind::If { .. } | StmtKind::Switch { .. } => {
                let mut inner = walk::blocks(stmt).into_iter().flatten().peekable();
                inner.peek().is_some() && inner.all(|stmt| self.is_outside(stmt))
            }
            _ => false,
        }
    }

    /// Notes what a statement reads of the program.
    fn reads(&mut self, stmt: &Stmt) {
        for expr in walk::stmt_exprs(stmt) {
            walk::expr_slots(expr, &mut |slot| {
                if !matches!(self.pipeline[slot].kind, SlotKind::Standard) {
                    self.read.insert(slot);
                }
            });
        }
        walk::blocks(stmt).into_iter().flatten().for_each(|inner| self.reads(inner));
    }
}
