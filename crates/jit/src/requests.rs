//! What a program asks of the traffic manager: clone, resubmit, recirculate, multicast, truncate.
//!
//! Such a call becomes the assignment of a *request slot*, a slot like others, so that where it is known that nothing was
//! asked for, nothing is tested. Where ingress or egress ends with a request, or a packet is sent with one, the code
//! writes a [`PauseLayout`] of the packet's state and *pauses*: it returns, and the traffic manager goes on with copies of the
//! record by the other functions of [`crate::Requests`]. Programs that never ask are compiled as if there were no such
//! thing. Does not live here: what becomes of the requests (the data plane).

use std::collections::BTreeSet;
use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use hopwright_ir::analysis::usage::Usage;
use hopwright_ir::walk;
use hopwright_ir::{
    BinaryOp, Expr, ExprKind, ExternArg, ExternCall, ExternFn, HeaderId, Pipeline, Slot, SlotId, SlotKind, Span,
    StmtKind, Type,
};

use crate::Unsupported;
use crate::facts::At;
use crate::flow::{Point, stage};
use crate::function::Gen;
use crate::layout::{Layout, Place};
use crate::shim;
use hopwright_abi::{self as abi, HeaderPlace, ORIGINAL_BYTES, Pause, PauseLayout};

type Result<T> = std::result::Result<T, Unsupported>;

/// What one function does of a packet's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// From the parser to the end, for a packet as it was received.
    Whole,
    /// The same for a packet that comes again, with fields that were kept.
    Again,
    /// The parser and the checks of checksums, for a copy that ingress asked for.
    Parse,
    /// From egress to the end, from a record.
    Egress,
    /// Up to the lookups in large tables, whose keys are written down, and nothing else ([`crate::scout`]).
    Scout,
}

/// The slots that requests are made by, and what else the code for them needs to know.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    pub clone_ingress: Option<SlotId>,
    pub clone_egress: Option<SlotId>,
    pub resubmit: Option<SlotId>,
    pub recirculate: Option<SlotId>,
    pub truncate: Option<SlotId>,
    /// `mcast_grp`, if the program ever sets it.
    pub group: Option<SlotId>,
}

impl Slots {
    pub fn any(&self) -> bool {
        self.all().next().is_some()
    }

    fn all(&self) -> impl Iterator<Item = SlotId> {
        [self.clone_ingress, self.clone_egress, self.resubmit, self.recirculate, self.truncate, self.group]
            .into_iter()
            .flatten()
    }

    /// What is asked for where ingress ends.
    fn of_ingress(&self) -> impl Iterator<Item = SlotId> + use<> {
        [self.clone_ingress, self.resubmit, self.group].into_iter().flatten()
    }

    /// What is asked for where a packet is sent.
    pub fn of_sending(&self) -> impl Iterator<Item = SlotId> + use<> {
        [self.recirculate, self.truncate].into_iter().flatten()
    }

    /// Where which slots are asked for.
    pub fn tests(&self) -> Vec<(SlotId, u32)> {
        let at = |stage: u32| move |slot| (slot, stage);
        (self.of_ingress().map(at(stage::ADMITTED)))
            .chain(self.clone_egress.map(at(stage::LEAVING)))
            .chain(self.of_sending().map(at(stage::ASSEMBLE)))
            .chain(self.of_sending().map(at(stage::REBUILD)))
            .collect()
    }

    /// Whether the bytes that were received are needed at the end of ingress.
    pub fn save_original(&self) -> bool {
        self.clone_ingress.is_some() || self.resubmit.is_some()
    }
}

/// The pipeline with assignments in place of requests, if it makes any.
pub(crate) fn lower(p: &Pipeline) -> Option<(Pipeline, Slots)> {
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
    crate::kept::lower(&mut p);
    let mut slot = |used: bool, name: &str| {
        used.then(|| {
            let slot = Slot { name: name.into(), ty: Type::Bits(64), kind: SlotKind::Standard, span: p.ingress.span };
            p.slots.push(slot);
            SlotId(p.slots.len() as u32 - 1)
        })
    };
    let slots = Slots {
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
fn request(slots: &Slots, call: &ExternCall) -> Option<(SlotId, Expr)> {
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
fn saved_slots(p: &Pipeline, slots: &Slots) -> BTreeSet<SlotId> {
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
pub(crate) struct Plan {
    pub slots: Slots,
    pub record: PauseLayout,
    /// The whole packet is put aside before the parser, because that changes it.
    pub parser_writes: bool,
}

impl Plan {
    pub fn of(p: &Pipeline, slots: Slots) -> Plan {
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
        Plan { slots, record, parser_writes }
    }
}

/// The layout for code that begins with a record: no header is surely in the packet.
pub(crate) fn layout_of(p: &Pipeline, pass: Pass, plan: &Plan) -> Result<Layout> {
    if !plan.slots.any() {
        return Layout::of(p);
    }
    let mut layout = Layout::without_tail(p)?;
    if pass == Pass::Egress {
        layout.headers.iter_mut().for_each(|h| h.extracted = false);
    }
    Ok(layout)
}

impl<'a> Gen<'a> {
    /// The record that this pass begins with.
    fn record(&mut self) -> Value {
        let at = offset_of!(abi::Runtime, context) as i32;
        self.b.ins().load(types::I64, self.flags.runtime, self.runtime, at)
    }

    /// A word of it.
    pub(crate) fn record_word(&mut self, word: usize) -> Value {
        let record = self.record();
        self.b.ins().load(types::I64, self.flags.descriptor, record, 8 * word as i32)
    }

    /// Sets the slots that are kept to what the record says.
    fn restore_slots(&mut self, slots: &[SlotId]) {
        for &slot in slots {
            let Some((first, count)) = self.plan.record.slot(slot) else { continue };
            if self.layout.places[slot.index()] == Place::Varbit {
                let record = self.record();
                self.restore_varbit(slot, record, first);
                continue;
            }
            let words: Vec<Value> = (0..count).map(|i| self.record_word(first + i)).collect();
            self.write(slot, &words);
        }
    }

    /// The beginning of a packet that comes again: what was kept, and what kind of packet it is.
    pub(crate) fn restore_kept(&mut self) {
        let mut slots: Vec<SlotId> = self.p.field_lists.iter().flat_map(|l| l.slots.iter().copied()).collect();
        slots.extend([self.p.standard.instance_type, self.p.standard.ingress_port]);
        slots.sort();
        slots.dedup();
        self.restore_slots(&slots);
    }

    /// The beginning of egress from a record.
    pub(crate) fn restore(&mut self) {
        let plan = self.plan;
        let all: Vec<SlotId> =
            (0..self.p.slots.len() as u32).map(SlotId).filter(|s| plan.record.slot(*s).is_some()).collect();
        self.restore_slots(&all);
        let masks = (0..self.masks()).map(|i| self.record_word(plan.record.masks() + i)).collect::<Vec<_>>();
        self.set_masks(&masks);
        let record = self.record();
        let root = self.new_root(record);
        for (i, &HeaderPlace { length, bytes_at }) in plan.record.headers().iter().enumerate() {
            let varbit = self.p.headers[i].varbit.map(|_| self.record_word(length));
            self.place_header(HeaderId(i as u32), At { root: root.root, offset: bytes_at as i32 }, varbit);
        }
        if self.layout.counts_steps {
            let left = self.record_word(PauseLayout::STEPS);
            self.set_steps(left);
        }
        let port = self.record_word(PauseLayout::PORT);
        self.set_port(port);
    }

    /// Where this pass goes on.
    pub(crate) fn resume(&mut self) {
        let mode = self.record_word(PauseLayout::MODE);
        let behind = self.edge(&Point::stage(stage::LEFT));
        let begin = self.edge(&Point::stage(stage::ENTERING));
        self.b.ins().brif(mode, behind, &[], begin, &[]);
    }

    /// Goes to a pause if one of the slots is not zero. True if one surely is.
    fn pause_if(&mut self, slots: impl Iterator<Item = SlotId>, pause: u32) -> bool {
        let mut any: Option<Value> = None;
        for slot in slots {
            match self.facts.value(slot) {
                Some(0) => {}
                Some(_) => {
                    self.go(&Point::stage(pause).cold());
                    return true;
                }
                None => {
                    let v = self.read(slot)[0];
                    any = Some(match any {
                        Some(other) => self.b.ins().bor(other, v),
                        None => v,
                    });
                }
            }
        }
        if let Some(any) = any {
            let asked = self.edge(&Point::stage(pause).cold());
            let go_on = self.b.create_block();
            self.b.ins().brif(any, asked, &[], go_on, &[]);
            self.enter(go_on);
        }
        false
    }

    /// The requests of ingress. True if there surely are some.
    pub(crate) fn ingress_requests(&mut self) -> bool {
        self.pause_if(self.plan.slots.of_ingress(), stage::INGRESS_PAUSE)
    }

    /// The requests of egress.
    pub(crate) fn egress_requests(&mut self) -> bool {
        self.pause_if(self.plan.slots.clone_egress.into_iter(), stage::EGRESS_PAUSE)
    }

    /// What is to be done with a packet that is otherwise ready to be sent.
    pub(crate) fn sending_requests(&mut self) -> bool {
        self.pause_if(self.plan.slots.of_sending(), stage::SENT_PAUSE)
    }

    /// Writes the record and returns.
    pub(crate) fn pause(&mut self, pause: Pause) {
        let plan = self.plan;
        let at = offset_of!(abi::Runtime, record) as i32;
        let record = self.b.ins().load(types::I64, self.flags.runtime, self.runtime, at);
        for i in 0..self.p.slots.len() {
            let slot = SlotId(i as u32);
            let Some((first, count)) = plan.record.slot(slot) else { continue };
            if self.layout.places[i] == Place::Varbit {
                self.keep_varbit(slot, record, first);
                continue;
            }
            for (k, &v) in self.read(slot)[..count].iter().enumerate() {
                self.b.ins().store(self.flags.descriptor, v, record, 8 * (first + k) as i32);
            }
        }
        let word = |g: &mut Self, word: usize, v: Value| {
            g.b.ins().store(g.flags.descriptor, v, record, 8 * word as i32);
        };
        let length = self.packet_length();
        word(self, PauseLayout::LENGTH, length);
        if self.layout.counts_steps {
            let left = self.steps_left();
            word(self, PauseLayout::STEPS, left);
        }
        let (cursor, buffer) = (self.b.use_var(self.cursor), self.packet_buffer());
        let payload = self.b.ins().isub(cursor, buffer);
        word(self, PauseLayout::PAYLOAD, payload);
        if pause == Pause::Egress || pause == Pause::Sent {
            let port = self.described_port();
            word(self, PauseLayout::PORT, port);
        }
        if pause != Pause::Sent {
            for (i, mask) in self.mask_words().into_iter().enumerate() {
                word(self, plan.record.masks() + i, mask);
            }
            for (i, &HeaderPlace { length, bytes_at }) in plan.record.headers().iter().enumerate() {
                let header = HeaderId(i as u32);
                if let Some(v) = self.varbit_length(header) {
                    word(self, length, v);
                }
                let (from, bytes) = (self.base(header), self.length(header));
                let to = self.b.ins().iadd_imm_s(record, bytes_at as i64);
                self.call_shim(shim::Shim::Copy, &[to, from, bytes], false);
            }
        }
        self.stop(pause);
    }

    /// Puts the packet's bytes aside as they were received, before somebody changes them: all of them or those that the
    /// parser took.
    pub(crate) fn save_original(&mut self, all: bool) {
        let start = self.root(crate::facts::Root::START);
        let end = if all { self.packet_end() } else { self.b.use_var(self.cursor) };
        let length = self.b.ins().isub(end, start);
        let limit = ORIGINAL_BYTES as i64;
        let fits = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, length, limit);
        self.fault_unless(fits);
        let at = offset_of!(abi::Runtime, original) as i32;
        let to = self.b.ins().load(types::I64, self.flags.runtime, self.runtime, at);
        self.call_shim(shim::Shim::Copy, &[to, start, length], false);
    }
}
