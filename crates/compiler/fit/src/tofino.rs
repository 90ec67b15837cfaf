//! What the pipeline of a Tofino program has beside its stages: decisions of the traffic manager, and what deparsers request.

use std::collections::BTreeSet;

use hopwright_ir::analysis::effects::SlotSet;
use hopwright_ir::{Block, Expr, ExprKind, ExternFn, Pipeline, SlotId, SlotKind, Span, Stmt, StmtKind, walk};

use crate::pragmas::Pragmas;

/// What the names of variables begin with that Tofino's lowering adds.
const OWN: &str = "tofino.";
/// One of them, whose place is that of all statements that the lowering adds.
const PHASE: &str = "tofino.phase";
/// Registers of the traffic manager.
const REGISTERS: [&str; 5] = ["loopback", "port_metadata", "level1_exclusion", "level2_exclusion", "global_rid"];
/// What the names of registers end with that have masks of keys, which are part of the match hardware.
const KEY_MASKS: &str = "$dynamic_key_mask";

/// A pipeline without what does not lie in stages, and the variables that this reads behind ingress and egress; `None` if it is
/// not one of a Tofino.
pub(crate) fn stages_only(pipeline: &Pipeline, pragmas: &Pragmas) -> Option<(Pipeline, [SlotSet; 2])> {
    let phase = pipeline.slots.iter().find(|slot| slot.name == PHASE)?;
    let mut rest = pipeline.clone();
    let (aliases, mut copied) = (aliases(pipeline, pragmas), SlotSet::empty(pipeline));
    let controls = [&mut rest.ingress, &mut rest.egress].map(|control| &mut control.body);
    controls
        .into_iter()
        .chain(rest.actions.iter_mut().map(|action| &mut action.body))
        .for_each(|body| remove_copies(body, &aliases, &mut copied));
    let mut strip = Strip { pipeline, added: phase.span, read: copied };
    rest.ingress.body = strip.block(std::mem::take(&mut rest.ingress.body));
    let ingress = std::mem::replace(&mut strip.read, SlotSet::empty(pipeline));
    rest.egress.body = strip.block(std::mem::take(&mut rest.egress.body));
    let live = [ingress, strip.read];
    Some((rest, live))
}

/// Whether a register is not one of the program's.
pub(crate) fn is_own_register(name: &str) -> bool {
    REGISTERS.contains(&name) || name.ends_with(KEY_MASKS)
}

/// Variables that the program has in one place (`@pa_alias`), by their names.
fn aliases(pipeline: &Pipeline, pragmas: &Pragmas) -> BTreeSet<(SlotId, SlotId)> {
    let only = |name: &str| {
        let is = |slot: &str| slot == name || slot.strip_suffix(name).is_some_and(|above| above.ends_with('.'));
        let mut found = pipeline.slots.iter().zip(0..).filter(|(slot, _)| is(&slot.name));
        found.next().filter(|_| found.next().is_none()).map(|(_, at)| SlotId(at))
    };
    let pair = |(a, b): &(String, String)| Some((only(a)?, only(b)?));
    let pairs = pragmas.aliases.iter().filter_map(pair);
    pairs.filter(|(a, b)| pipeline[*a].ty == pipeline[*b].ty).flat_map(|(a, b)| [(a, b), (b, a)]).collect()
}

/// Removes copies between variables that are in one place, and notes what they read.
fn remove_copies(block: &mut Block, aliases: &BTreeSet<(SlotId, SlotId)>, read: &mut SlotSet) {
    block.retain_mut(|stmt| {
        walk::blocks_mut(stmt).into_iter().for_each(|inner| remove_copies(inner, aliases, read));
        let StmtKind::Assign(to, Expr { kind: ExprKind::Slot(from), .. }) = &stmt.kind else { return true };
        let is_copy = aliases.contains(&(*to, *from));
        if is_copy {
            read.insert(*from);
        }
        !is_copy
    });
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
                | ExternFn::CountHeader
                | ExternFn::Replicate
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
