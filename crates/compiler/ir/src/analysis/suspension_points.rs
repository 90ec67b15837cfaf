//! Suspension points: where a packet waits for the traffic manager.
//!
//! A program requests a clone, a resubmission, a recirculation, a truncation or a multicast. [`lower`] makes each request an
//! assignment to a *request slot*, a slot like any other, so that targets need no test where no request can have been
//! made. A packet is suspended where ingress or egress ends with a request, or where it is sent with one; it keeps its
//! [`saved_slots`] and its headers, and its copies resume from them. Programs without requests stay as they are.

use std::collections::BTreeSet;

use super::usage::Usage;
use crate::walk;
use crate::{
    BinaryOp, Expr, ExprKind, ExternArg, ExternCall, ExternFn, Pipeline, Slot, SlotId, SlotKind, Span, StmtKind, Type,
};

/// The request slots of a pipeline. A slot is zero if there is no request.
#[derive(Clone, Debug, Default)]
pub struct RequestSlots {
    /// Clone at the end of ingress: the field list ([`encode_list`]) in the upper half, the session in the lower half.
    pub clone_ingress: Option<SlotId>,
    /// Clone at the end of egress, in the same form.
    pub clone_egress: Option<SlotId>,
    /// Resubmit: the field list.
    pub resubmit: Option<SlotId>,
    /// Recirculate: the field list.
    pub recirculate: Option<SlotId>,
    /// Truncate: 1 in the upper half, the length in bytes in the lower half.
    pub truncate: Option<SlotId>,
    /// What a packet of a group is sent to besides: 1 in the upper half, in the lower half the argument of [`ExternFn::Replicate`].
    pub replicate: Option<SlotId>,
    /// `mcast_grp`, if the program ever sets it.
    pub group: Option<SlotId>,
}

/// The upper half of a request slot: that there is a request, and the field list to keep.
pub fn encode_list(list: Option<u8>) -> u32 {
    1 << 16 | list.map_or(0, |l| 1 << 8 | u32::from(l))
}

/// The field list that the upper half of a request slot names.
pub fn decode_list(half: u32) -> Option<u8> {
    (half & 1 << 8 != 0).then_some(half as u8)
}

impl RequestSlots {
    /// Whether the program can make requests.
    pub fn any(&self) -> bool {
        self.all().next().is_some()
    }

    fn all(&self) -> impl Iterator<Item = SlotId> {
        let of_packets = [self.clone_ingress, self.clone_egress, self.resubmit, self.recirculate, self.truncate];
        of_packets.into_iter().chain([self.replicate, self.group]).flatten()
    }

    /// The requests handled at the end of ingress.
    pub fn of_ingress(&self) -> impl Iterator<Item = SlotId> + use<> {
        [self.clone_ingress, self.resubmit, self.group].into_iter().flatten()
    }

    /// The requests handled where a packet is sent.
    pub fn of_sending(&self) -> impl Iterator<Item = SlotId> + use<> {
        [self.recirculate, self.truncate].into_iter().flatten()
    }

    /// Whether the received bytes are needed at the end of ingress.
    pub fn save_original(&self) -> bool {
        self.clone_ingress.is_some() || self.resubmit.is_some()
    }
}

/// The pipeline with assignments to request slots in place of calls, and with field-list shadows; `None` if it makes no
/// requests.
pub fn lower(p: &Pipeline) -> Option<(Pipeline, RequestSlots)> {
    let mut used = [false; 7];
    walk::all_stmts(p, &mut |s| match &s.kind {
        StmtKind::Extern(call) => match &call.function {
            // A clone session may truncate its copies.
            ExternFn::Clone { egress, .. } => {
                used[usize::from(*egress)] = true;
                used[4] = true;
            }
            ExternFn::Resubmit(_) => used[2] = true,
            ExternFn::Recirculate(_) => used[3] = true,
            ExternFn::Truncate | ExternFn::CountHeader => used[4] = true,
            ExternFn::Replicate => used[6] = true,
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
    super::field_list_shadows::lower(&mut p);
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
        replicate: slot(used[6], "$replicate"),
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

/// The slot of a request and its value, which is not zero: see [`encode_list`].
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
    match (&call.function, call.args.as_slice()) {
        (ExternFn::Clone { egress, field_list }, [ExternArg::In(session)]) => {
            let slot = if *egress { slots.clone_egress } else { slots.clone_ingress };
            Some((slot?, pair(encode_list(*field_list), session)))
        }
        (ExternFn::Resubmit(number), []) => Some((slots.resubmit?, word(encode_list(Some(*number)), call.span))),
        (ExternFn::Recirculate(number), []) => Some((slots.recirculate?, word(encode_list(Some(*number)), call.span))),
        (ExternFn::Truncate, [ExternArg::In(length)]) => Some((slots.truncate?, pair(1, length))),
        (ExternFn::CountHeader, [ExternArg::In(header)]) => Some((slots.truncate?, shortened(slots.truncate?, header))),
        (ExternFn::Replicate, [ExternArg::In(further)]) => Some((slots.replicate?, pair(1, further))),
        _ => None,
    }
}

/// The request to truncate less `header` bytes, if there is one.
fn shortened(truncate: SlotId, header: &Expr) -> Expr {
    let (span, half, whole) = (header.span, Type::Bits(32), Type::Bits(64));
    let expr = |kind, ty| Expr { kind, ty, span };
    let request = expr(ExprKind::Slot(truncate), whole);
    let length = expr(ExprKind::Slice { arg: Box::new(request.clone()), hi: 31, lo: 0 }, half);
    let binary = |op, a: &Expr, b: &Expr, ty| expr(ExprKind::Binary(op, Box::new(a.clone()), Box::new(b.clone())), ty);
    let left = binary(BinaryOp::SatSub, &length, header, half);
    let left = binary(BinaryOp::Concat, &Expr::constant(1u32, half, span), &left, whole);
    let is_absent = binary(BinaryOp::Eq, &request, &word(0, span), Type::Bool);
    let kind = ExprKind::Mux(Box::new(is_absent), Box::new(word(0, span)), Box::new(left));
    expr(kind, whole)
}

fn word(value: u32, span: Span) -> Expr {
    Expr::constant(value, Type::Bits(64), span)
}

/// The slots that a suspended packet keeps: those that are read from egress on, and those that the traffic manager uses.
pub fn saved_slots(p: &Pipeline, slots: &RequestSlots) -> BTreeSet<SlotId> {
    let mut kept: BTreeSet<SlotId> = slots.all().collect();
    let s = &p.standard;
    kept.extend([s.ingress_port, s.instance_type, s.packet_length, s.ingress_global_timestamp]);
    kept.extend([s.egress_spec, s.mcast_grp, s.egress_rid, s.parser_error, s.checksum_error, s.priority]);
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

/// Whether the parser may change the packet's headers, so that a target that resubmits or clones has to keep the packet as it was
/// received.
pub fn parser_writes(p: &Pipeline) -> bool {
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
    parser_writes
}
