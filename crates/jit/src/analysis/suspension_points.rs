//! What a program asks of the traffic manager: clone, resubmit, recirculate, multicast, truncate.
//!
//! Such a call becomes the assignment of a *request slot*, a slot like others, so that where it is known that nothing was
//! asked for, nothing is tested. Where ingress or egress ends with a request, or a packet is sent with one, the code
//! writes a [`PauseLayout`] of the packet's state and *pauses*: it returns, and the traffic manager goes on with copies of the
//! record by the other functions of [`crate::Requests`]. Programs that never ask are compiled as if there were no such
//! thing. Does not live here: what becomes of the requests (the data plane).

use std::collections::BTreeSet;

use hopwright_abi::{self as abi, PauseLayout};
use hopwright_ir::analysis::usage::Usage;
use hopwright_ir::walk;
use hopwright_ir::{
    BinaryOp, Expr, ExprKind, ExternArg, ExternCall, ExternFn, Pipeline, Slot, SlotId, SlotKind, Span, StmtKind, Type,
};

/// The slots that requests are made by, and what else the code for them needs to know.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestSlots {
    pub clone_ingress: Option<SlotId>,
    pub clone_egress: Option<SlotId>,
    pub resubmit: Option<SlotId>,
    pub recirculate: Option<SlotId>,
    pub truncate: Option<SlotId>,
    /// `mcast_grp`, if the program ever sets it.
    pub group: Option<SlotId>,
}

impl RequestSlots {
    pub fn any(&self) -> bool {
        self.all().next().is_some()
    }

    fn all(&self) -> impl Iterator<Item = SlotId> {
        [self.clone_ingress, self.clone_egress, self.resubmit, self.recirculate, self.truncate, self.group]
            .into_iter()
            .flatten()
    }

    /// What is asked for where ingress ends.
    pub fn of_ingress(&self) -> impl Iterator<Item = SlotId> + use<> {
        [self.clone_ingress, self.resubmit, self.group].into_iter().flatten()
    }

    /// What is asked for where a packet is sent.
    pub fn of_sending(&self) -> impl Iterator<Item = SlotId> + use<> {
        [self.recirculate, self.truncate].into_iter().flatten()
    }

    /// Whether the bytes that were received are needed at the end of ingress.
    pub fn save_original(&self) -> bool {
        self.clone_ingress.is_some() || self.resubmit.is_some()
    }
}

/// The pipeline with assignments in place of requests, if it makes any.
pub(crate) fn lower(p: &Pipeline) -> Option<(Pipeline, RequestSlots)> {
    let mut used = [false; 6];
    walk::all_stmts(p, &mut |s| match &s.kind {
        StmtKind::Extern(call) => match &call.function {
            // A clone session may cut its copies.
            ExternFn::Clone { egress, .. } => {
                used[usize::from(*egress)] = true;
                used[4] = true;
            }
            ExternFn::Resubmit(_) => used[2] = true,
            ExternFn::Recirculate(_) => used[3] = true,
            ExternFn::Truncate => used[4] = true,
            _ => {}
        },
        StmtKind::Assign(slot, value) => {
            used[5] |= *slot == p.standard.mcast_grp && value.as_const().is_none_or(|v| v.bits() > 0);
        }
        StmtKind::AssignSlice { slot, .. } => used[5] |= *slot == p.standard.mcast_grp,
        _ => {}
    });
    used[5] |= writes_elsewhere(p, p.standard.mcast_grp);
    if !used.contains(&true) {
        return None;
    }
    let mut p = p.clone();
    crate::analysis::field_list_shadows::lower(&mut p);
    let mut slot = |used: bool, name: &str| {
        used.then(|| {
            let slot = Slot { name: name.into(), ty: Type::Bits(64), kind: SlotKind::Standard, span: p.ingress.span };
            p.slots.push(slot);
            SlotId(p.slots.len() as u32 - 1)
        })
    };
    let slots = RequestSlots {
        clone_ingress: slot(used[0], "$clone_ingress"),
        clone_egress: slot(used[1], "$clone_egress"),
        resubmit: slot(used[2], "$resubmit"),
        recirculate: slot(used[3], "$recirculate"),
        truncate: slot(used[4], "$truncate"),
        group: used[5].then_some(p.standard.mcast_grp),
    };
    for block in walk::all_blocks_mut(&mut p) {
        walk::stmts_mut(block, &mut |s| {
            if let StmtKind::Extern(call) = &s.kind
                && let Some((slot, value)) = request(&slots, call)
            {
                s.kind = StmtKind::Assign(slot, value);
            }
        });
    }
    Some((p, slots))
}

/// Whether a slot is set by anything but an assignment.
fn writes_elsewhere(p: &Pipeline, slot: SlotId) -> bool {
    let mut found = false;
    walk::all_stmts(p, &mut |s| match &s.kind {
        StmtKind::Extern(call) => {
            found |= call.args.iter().any(|a| matches!(a, ExternArg::Out(s) | ExternArg::InOut(s) if *s == slot));
        }
        StmtKind::Lookahead { parts, .. } => found |= parts.iter().any(|(s, _)| *s == slot),
        StmtKind::Apply { hit, action_run, .. } => found |= hit.iter().chain(action_run).any(|s| *s == slot),
        _ => {}
    });
    found
}

/// The slot of a request and its value, which is not zero: what is decoded by [`abi::decode_list`] and the like.
fn request(slots: &RequestSlots, call: &ExternCall) -> Option<(SlotId, Expr)> {
    let pair = |high: u32, low: &Expr| {
        let span = call.span;
        let low = match low.ty {
            Type::Bits(32) => low.clone(),
            _ => Expr { kind: ExprKind::Cast(Box::new(low.clone())), ty: Type::Bits(32), span },
        };
        let high = Box::new(Expr::constant(high, Type::Bits(32), span));
        Expr { kind: ExprKind::Binary(BinaryOp::Concat, high, Box::new(low)), ty: Type::Bits(64), span }
    };
    let list = |list: Option<u8>| abi::encode_list(list);
    match (&call.function, call.args.as_slice()) {
        (ExternFn::Clone { egress, field_list }, [ExternArg::In(session)]) => {
            let slot = if *egress { slots.clone_egress } else { slots.clone_ingress };
            Some((slot?, pair(list(*field_list), session)))
        }
        (ExternFn::Resubmit(number), []) => Some((slots.resubmit?, word(list(Some(*number)), call.span))),
        (ExternFn::Recirculate(number), []) => Some((slots.recirculate?, word(list(Some(*number)), call.span))),
        (ExternFn::Truncate, [ExternArg::In(length)]) => Some((slots.truncate?, pair(1, length))),
        _ => None,
    }
}

fn word(value: u32, span: Span) -> Expr {
    Expr::constant(value, Type::Bits(64), span)
}

/// The slots that a pause saves: those that are read from egress on, besides what the traffic manager uses.
fn saved_slots(p: &Pipeline, slots: &RequestSlots) -> BTreeSet<SlotId> {
    let mut kept: BTreeSet<SlotId> = slots.all().collect();
    let s = &p.standard;
    kept.extend([s.ingress_port, s.instance_type, s.packet_length, s.ingress_global_timestamp]);
    kept.extend([s.egress_spec, s.mcast_grp, s.egress_rid, s.parser_error, s.checksum_error]);
    kept.extend(p.field_lists.iter().flat_map(|l| l.slots.iter().copied()));
    let usage = Usage::of(p);
    let lives = |slot: &Slot| matches!(slot.kind, SlotKind::Metadata | SlotKind::Standard | SlotKind::NextIndex(_));
    for (i, slot) in p.slots.iter().enumerate().filter(|(_, s)| lives(s)) {
        if usage.slots[i].read || matches!(slot.kind, SlotKind::NextIndex(_)) {
            kept.insert(SlotId(i as u32));
        }
    }
    kept
}

/// What compiling and running a program that makes requests needs besides the program.
#[derive(Clone, Debug, Default)]
pub(crate) struct SuspensionPlan {
    pub slots: RequestSlots,
    pub record: PauseLayout,
    /// The whole packet is put aside before the parser, because that changes it.
    pub parser_writes: bool,
}

impl SuspensionPlan {
    pub fn of(p: &Pipeline, slots: RequestSlots) -> SuspensionPlan {
        let mut parser_writes = false;
        for state in &p.parser.states {
            walk::stmts(&state.body, &mut |s| {
                parser_writes |= match &s.kind {
                    StmtKind::Extract { .. } | StmtKind::ExtractNext { .. } => false,
                    StmtKind::Advance { .. } | StmtKind::Verify(..) => false,
                    StmtKind::Assign(slot, _) => matches!(p[*slot].kind, SlotKind::Field(..)),
                    StmtKind::If { .. } | StmtKind::Scope { .. } | StmtKind::Leave(_) => false,
                    StmtKind::Lookahead { parts, .. } => {
                        parts.iter().any(|(slot, _)| matches!(p[*slot].kind, SlotKind::Field(..)))
                    }
                    _ => true,
                };
            });
        }
        let record = if slots.any() { PauseLayout::new(p, &saved_slots(p, &slots)) } else { PauseLayout::default() };
        SuspensionPlan { slots, record, parser_writes }
    }
}
