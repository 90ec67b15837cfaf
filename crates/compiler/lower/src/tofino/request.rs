//! What deparsers request besides emitting headers: mirrored copies, resubmissions and digests.
//!
//! The IR takes such requests before it deparses. A `Mirror` or `Resubmit` object's `emit` assigns slots; the statements that
//! do so run at the end of ingress and egress, with what they need, and a deparser keeps the rest.

use std::collections::{HashMap, HashSet};

use hopwright_ir::{Block, ExternFn, SlotId, SlotKind, Stmt, StmtKind, Type, walk};
use hopwright_sema::hir;
use hopwright_source::Span;

use super::SlotSet;
use super::own_methods::Running;
use super::parser_counter::CounterStack;
use super::residual::Residual;
use crate::externs::Arguments;
use crate::value::Value;
use crate::{Lowering, Result};
use hopwright_ir::Expr;

/// The requests of all deparsers.
pub(crate) struct Requests {
    /// The number of the requested mirrored copy's header; 0 for none.
    pub(super) mirror: SlotId,
    /// Its session.
    pub(super) session: SlotId,
    /// The number of the requested resubmission's header; 0 for none.
    pub(super) resubmit: SlotId,
    /// The fields of the headers.
    pub(super) mirrors: Vec<Vec<SlotId>>,
    pub(super) resubmits: Vec<Vec<SlotId>>,
    /// The register of port metadata, and the slot for those of the packet's port.
    pub(super) port_metadata: Option<(hopwright_ir::ExternId, SlotId)>,
    /// Members that `invalidate` makes the drop port.
    pub(super) ports: SlotSet,
    /// The hidden registers of logs, by their registers.
    pub(super) logs: HashMap<hir::ObjectId, hopwright_ir::ExternId>,
    /// The register actions that are being lowered, each in a method of the one before it.
    pub(super) running: Vec<Running>,
    /// The calls of `subtract_all_and_deposit` in the parser that is being lowered.
    pub(super) residuals: Vec<Residual>,
    /// The indices of the last cells of actions with `@chain_address`.
    pub(super) chains: HashMap<hir::ObjectId, SlotId>,
    /// What is below parser counters.
    pub(super) counter_stacks: HashMap<hir::ObjectId, CounterStack>,
    /// Whether a deparser is being lowered.
    pub(super) deparsing: bool,
}

impl Requests {
    pub(super) fn new(lowering: &mut Lowering<'_>, span: Span) -> Requests {
        let mut slot = |name: &str, width| {
            lowering.new_slot(&format!("tofino.{name}"), Type::Bits(width), SlotKind::Metadata, span)
        };
        Requests {
            mirror: slot("mirror", 8),
            session: slot("mirror_session", 32),
            resubmit: slot("resubmit", 8),
            mirrors: Vec::new(),
            resubmits: Vec::new(),
            port_metadata: None,
            ports: HashSet::new(),
            logs: HashMap::new(),
            running: Vec::new(),
            residuals: Vec::new(),
            chains: HashMap::new(),
            counter_stacks: HashMap::new(),
            deparsing: false,
        }
    }

    /// All slots that requests assign.
    fn slots(&self) -> SlotSet {
        let fields = self.mirrors.iter().chain(&self.resubmits).flatten().copied();
        [self.mirror, self.session, self.resubmit].into_iter().chain(fields).collect()
    }
}

impl Lowering<'_> {
    pub(super) fn requesting(&mut self, deparsing: bool) {
        if let Some(requests) = &mut self.requests {
            requests.deparsing = deparsing;
        }
    }

    /// Lowers `emit` of a `Mirror` or `Resubmit` object.
    pub(super) fn request(&mut self, mirror: bool, call: &hir::Call) -> Result<Option<Value>> {
        let span = call.span;
        let Some((kind, session, known, deparsing)) = self.requests.as_ref().map(|r| {
            let (kind, known) = if mirror { (r.mirror, r.mirrors.len()) } else { (r.resubmit, r.resubmits.len()) };
            (kind, r.session, known, r.deparsing)
        }) else {
            return Err(self.unsupported(span, "this call here"));
        };
        if !deparsing {
            let message = "only a deparser emits with this object";
            return Err(self.refuse(span, "E0310", message.into()));
        }
        let mut args = Arguments::new(self, call)?;
        let header = if mirror { 1 } else { 0 };
        let number = if mirror { Some(args.scalar(self, 0)?) } else { None };
        let mut values = Vec::new();
        if call.args.len() > header {
            let value = args.value(self, header)?;
            self.flatten(&value, span, &mut values)?;
        }
        if let Some(number) = number {
            let number = self.cast(number, Type::Bits(32), span)?;
            self.emit(StmtKind::Assign(session, number), span);
        }
        let mut slots = Vec::new();
        let name = if mirror { "tofino.mirrored" } else { "tofino.resubmitted" };
        for value in values {
            let slot = self.new_slot(name, value.ty, SlotKind::Metadata, span);
            self.emit(StmtKind::Assign(slot, value), span);
            slots.push(slot);
        }
        let Ok(number @ ..=254) = u8::try_from(known) else {
            return Err(self.unsupported(span, "this many calls of `emit`"));
        };
        let number = Expr::constant(u32::from(number) + 1, Type::Bits(8), span);
        self.emit(StmtKind::Assign(kind, number), span);
        if let Some(requests) = &mut self.requests {
            if mirror { requests.mirrors.push(slots) } else { requests.resubmits.push(slots) }
        }
        Ok(None)
    }
}

/// The statements of a deparser that request something, with those that assign the locals that these need.
pub(super) fn early(lowering: &Lowering<'_>, deparser: &Block) -> Block {
    let Some(requests) = &lowering.requests else { return Vec::new() };
    before_deparsing(lowering, deparser, requests.slots())
}

/// The statements of a deparser that write these slots or send digests, with those that assign the locals that these need.
pub(crate) fn before_deparsing(lowering: &Lowering<'_>, deparser: &Block, mut wanted: SlotSet) -> Block {
    loop {
        let kept = chosen(deparser, &|stmt| assigns(stmt, &wanted) || is_digest(stmt));
        let before = wanted.len();
        walk::stmts(&kept, &mut |stmt| {
            for e in walk::stmt_exprs(stmt) {
                walk::expr_slots(e, &mut |read| {
                    if lowering.slots[read.index()].kind == SlotKind::Local {
                        wanted.insert(read);
                    }
                });
            }
        });
        if wanted.len() == before {
            return kept;
        }
    }
}

/// A deparser without its digests.
pub(crate) fn late(deparser: &Block) -> Block {
    let mut block = deparser.clone();
    without_digests(&mut block);
    block
}

fn without_digests(block: &mut Block) {
    block.retain(|stmt| !is_digest(stmt));
    for stmt in block {
        walk::blocks_mut(stmt).into_iter().for_each(without_digests);
    }
}

fn is_digest(stmt: &Stmt) -> bool {
    matches!(&stmt.kind, StmtKind::Extern(call) if matches!(call.function, ExternFn::Digest(_)))
}

pub(super) fn assigns(stmt: &Stmt, wanted: &SlotSet) -> bool {
    match &stmt.kind {
        StmtKind::Assign(slot, _) | StmtKind::AssignSlice { slot, .. } => wanted.contains(slot),
        StmtKind::Extern(call) => call.args.iter().any(|arg| match arg {
            hopwright_ir::ExternArg::Out(slot) | hopwright_ir::ExternArg::InOut(slot) => wanted.contains(slot),
            _ => false,
        }),
        _ => false,
    }
}

/// The chosen statements under their conditions. Scopes are dissolved: deparsers leave none but at their end.
fn chosen(block: &Block, wanted: &dyn Fn(&Stmt) -> bool) -> Block {
    let mut out = Vec::new();
    for stmt in block {
        match &stmt.kind {
            StmtKind::Scope { body, .. } => out.extend(chosen(body, wanted)),
            StmtKind::If { .. } | StmtKind::Switch { .. } => {
                let mut stmt: Stmt = stmt.clone();
                let mut empty = true;
                for inner in walk::blocks_mut(&mut stmt) {
                    *inner = chosen(inner, wanted);
                    empty &= inner.is_empty();
                }
                if !empty {
                    out.push(stmt);
                }
            }
            _ if wanted(stmt) => out.push(stmt.clone()),
            _ => {}
        }
    }
    out
}
