//! From the pipeline IR to the hardware IR.
//!
//! The program is executed symbolically: a [`Path`] is a predicate, and what each slot holds where it is true. Where paths
//! meet, slots that differ become choices. The parser is unrolled first, so that every state is converted once for each
//! position in the header stacks.

mod again;
mod expr;
mod externs;
mod fault;
mod kept;
mod mirror;
mod parser;
mod payload;
mod stmt;
mod varbit;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hopwright_ir::InstanceType;
use hopwright_ir::analysis::in_place_suffix::InPlaceSuffix;
use hopwright_ir::{
    Block, Control, DROP_PORT, Expr, ExternArg, ExternFn, HeaderId, Pipeline, Slot, SlotId, StmtKind, Transition, Type,
    walk,
};
use hopwright_source::Span;
use num_bigint::BigUint;

use self::kept::{Kept, Request};
use self::mirror::Mirror;
use crate::digest::DigestCall;
use crate::hir::{
    self, Builder, Design, Edit, EgressOutputs, Emit, IngressOutputs, Input, Op, Piece, Repetition, Value,
};
use crate::refusal::{Capability, Refusal, distinct};

/// The maximum number of nodes of a design.
const MAX_NODES: usize = 100_000;

/// Converts a pipeline.
///
/// # Errors
/// Everything in the program that hardware cannot do.
pub fn convert(pipeline: &Pipeline) -> Result<Design, Vec<Refusal>> {
    let staying = in_place(pipeline, InPlaceSuffix::with_stacks(pipeline));
    let (design, _) = convert_with(pipeline, staying.clone())?;
    let regions = |design: &Design| {
        design.egress.emits.iter().flat_map(|emit| &emit.pieces).any(|piece| matches!(piece, Piece::Region(_)))
    };
    if !regions(&design) {
        return Ok(design);
    }
    // Headers of variable size are hard to put together. Maybe those that are copied to and from others stay where they are, too.
    let mut headers = in_place(pipeline, suffix_without_copies(pipeline));
    while headers.len() > staying.len() {
        match convert_with(pipeline, headers.clone())? {
            (design, None) => return Ok(design),
            (_, Some(moved)) => headers.drain(..=headers.iter().position(|h| *h == moved).unwrap_or(0)),
        };
    }
    Ok(design)
}

/// Converts a pipeline whose deparser leaves some headers where they are. Returns the last of them that it cannot leave there, too.
fn convert_with(pipeline: &Pipeline, staying: Vec<HeaderId>) -> Result<(Design, Option<HeaderId>), Vec<Refusal>> {
    let mut convert = Convert::new(pipeline, staying);
    convert.program();
    if !convert.refusals.is_empty() {
        return Err(distinct(convert.refusals));
    }
    let mut design = convert.b.design;
    hir::eliminate(pipeline, &mut design);
    debug_assert_eq!(hir::verify(pipeline, &design), Ok(()));
    Ok((design, convert.moved))
}

/// What is held besides the pipeline's slots.
#[derive(Clone, Copy)]
enum Extra {
    /// Bytes that the parser has consumed.
    Cursor,
    /// Of them, those in front of the headers that stay where they are.
    Skip,
    /// Whether the packet is cloned.
    Clone,
    /// The clone session.
    Session,
    /// Whether the packet is truncated.
    Truncate,
    /// To how many bytes.
    TruncateLength,
    /// Which fields the clone keeps, as [`list_number`] says.
    CloneList,
    /// Whether an assertion has failed.
    Fault,
    /// Whether the copy is cloned at the end of egress.
    Mirror,
    /// The clone session of that.
    MirrorSession,
    /// Which fields that clone keeps.
    MirrorList,
}

impl Extra {
    const WIDTHS: [u32; 11] = [16, 16, 1, 32, 1, 32, LIST_BITS, 1, 1, 32, LIST_BITS];
}

/// Bits of the number of a field list, or of none.
const LIST_BITS: u32 = 9;

/// The number of a field list, or that of none.
fn list_number(list: Option<u8>) -> u32 {
    list.map_or(1 << 8, u32::from)
}

/// The slots' values where a predicate is true.
#[derive(Clone)]
struct Path {
    pred: Value,
    /// By slot, by [`Extra`], and then the offset of each header that stays where it is.
    slots: Vec<Value>,
}

/// The width in which a slot is held: of a varbit, the offset and number of its bytes in the packet.
fn held_width(slot: &Slot) -> u32 {
    match slot.ty {
        Type::Varbit(_) => 32,
        ty => ty.width(),
    }
}

/// The headers that stay where they are, if their fields do, too: none is behind a varbit.
fn in_place(p: &Pipeline, suffix: InPlaceSuffix) -> Vec<HeaderId> {
    let headers = suffix.headers;
    let moving = |h: &HeaderId| p[*h].varbit.is_some_and(|at| at as usize + 1 < p[*h].fields.len());
    let first = headers.iter().rposition(moving).map_or(0, |last| last + 1);
    headers[first..].to_vec()
}

/// The headers that would stay where they are if none were copied. Whether a copy makes a header another one is found out later.
fn suffix_without_copies(p: &Pipeline) -> InPlaceSuffix {
    fn leave_out(block: &mut Block) {
        block.retain(|stmt| !matches!(stmt.kind, StmtKind::CopyHeader { .. }));
        block.iter_mut().flat_map(walk::blocks_mut).for_each(leave_out);
    }
    let mut p = p.clone();
    walk::all_blocks_mut(&mut p).for_each(leave_out);
    InPlaceSuffix::with_stacks(&p)
}

/// Slots that parser states write other than by extraction.
fn parser_writes(p: &Pipeline) -> BTreeSet<SlotId> {
    let mut slots = BTreeSet::new();
    for state in &p.parser.states {
        walk::stmts(&state.body, &mut |stmt| match &stmt.kind {
            StmtKind::Assign(slot, _) | StmtKind::AssignSlice { slot, .. } => slots.extend([*slot]),
            StmtKind::Lookahead { parts, .. } => slots.extend(parts.iter().map(|part| part.0)),
            StmtKind::Extern(call) => slots.extend(call.args.iter().filter_map(|arg| match arg {
                ExternArg::Out(slot) | ExternArg::InOut(slot) => Some(*slot),
                ExternArg::In(_) | ExternArg::List(_) => None,
            })),
            _ => {}
        });
    }
    slots
}

struct Convert<'p> {
    p: &'p Pipeline,
    b: Builder,
    refusals: Vec<Refusal>,
    /// Scopes that are open, innermost last, with the paths that leave them.
    scopes: Vec<(u32, Vec<Path>)>,
    /// Paths that end the control.
    exits: Vec<Path>,
    /// Paths on which parsing ends.
    parsed: Vec<Path>,
    /// Paths that end the packet.
    faults: Vec<Path>,
    /// The data of the action.
    params: Vec<Value>,
    /// The result of the direct meter of the table being applied.
    color: Option<Value>,
    emits: Vec<Emit>,
    edits: Vec<Edit>,
    /// The headers that stay where they are.
    in_place: Vec<HeaderId>,
    /// The last of them that the program makes valid, invalid or another one.
    moved: Option<HeaderId>,
    /// What the slots held behind the parser.
    received: Vec<Value>,
    /// Slots that parser states write other than by extraction.
    parser_writes: BTreeSet<SlotId>,
    /// The field lists that clones keep, as far as there are clones.
    clone_lists: BTreeSet<Option<u8>>,
    /// What is kept of packets that pass again.
    kept: Option<Kept>,
    /// What is kept of clones made at the end of egress.
    mirror: Option<Mirror>,
    /// Digests that have been sent so far, with their conditions and their parts of a word.
    digests: Vec<(Value, Value, DigestCall)>,
}

impl<'p> Convert<'p> {
    fn new(p: &'p Pipeline, in_place: Vec<HeaderId>) -> Convert<'p> {
        Convert {
            p,
            b: Builder::default(),
            refusals: Vec::new(),
            scopes: Vec::new(),
            exits: Vec::new(),
            parsed: Vec::new(),
            faults: Vec::new(),
            params: Vec::new(),
            color: None,
            emits: Vec::new(),
            edits: Vec::new(),
            in_place,
            moved: None,
            received: Vec::new(),
            parser_writes: parser_writes(p),
            clone_lists: BTreeSet::new(),
            kept: Kept::of(p),
            mirror: Mirror::of(p),
            digests: Vec::new(),
        }
    }

    fn refuse(&mut self, capability: Capability, span: Span, message: impl Into<String>) {
        self.refusals.push(Refusal { capability, span, message: message.into() });
    }

    fn extra(&self, extra: Extra) -> usize {
        self.p.slots.len() + extra as usize
    }

    /// Where the offset of a header that stays where it is is held.
    fn place(&self, header: HeaderId) -> Option<usize> {
        let at = self.in_place.iter().position(|h| *h == header)?;
        Some(self.p.slots.len() + Extra::WIDTHS.len() + at)
    }

    fn program(&mut self) {
        let start = self.start();
        let Some(parsed) = self.parse(start) else { return };
        self.received = parsed.slots.clone();
        let parsed = self.control(&self.p.verify_checksum, parsed);
        let done = self.control(&self.p.ingress, parsed.clone());
        self.queue_digests();
        let clone = self.parsed_clone(&parsed, &done);
        let resubmit = self.repetition(Request::Resubmit, &done, self.p.ingress.span);
        self.ingress_outputs(parsed.slots[self.p.standard.parser_error.index()], &clone, &done, resubmit);
        self.b.design.split = self.b.design.nodes.len();
        self.egress(clone, done);
    }

    /// What the traffic manager learns of a packet that is `done` with ingress. One that has failed an assertion goes nowhere.
    fn ingress_outputs(&mut self, parser_error: Value, clone: &Path, done: &Path, resubmit: Option<Repetition>) {
        let standard = self.p.standard;
        let (fault, clone_fault) = (done.slots[self.extra(Extra::Fault)], clone.slots[self.extra(Extra::Fault)]);
        let (on, clone_on) = (self.b.not(fault), self.b.not(clone_fault));
        let (no_group, dropped) = (self.b.constant(0u32, 16), self.b.constant(DROP_PORT, 9));
        let cloned = self.b.and(done.slots[self.extra(Extra::Clone)], on);
        let outputs = IngressOutputs {
            parser_error,
            multicast_group: self.b.mux(fault, no_group, done.slots[standard.mcast_grp.index()]),
            egress_spec: self.b.mux(fault, dropped, done.slots[standard.egress_spec.index()]),
            clone: self.b.and(cloned, clone_on),
            session: done.slots[self.extra(Extra::Session)],
            resubmit: resubmit.map(|again| Repetition { enable: self.b.and(again.enable, on), ..again }),
            fault,
        };
        self.b.design.ingress = self.mirrored_outputs(outputs);
    }

    /// The packet before the parser. A clone that was made at the end of egress passes neither parser nor ingress.
    fn start(&mut self) -> Path {
        let mut path = self.start_as_received();
        self.begin_again(&mut path.slots);
        let mirrored = self.mirrored();
        path.pred = self.b.not(mirrored);
        path
    }

    /// The packet before the parser in its first pass.
    fn start_as_received(&mut self) -> Path {
        let mut slots = Vec::new();
        for slot in &self.p.slots {
            slots.push(self.b.constant(0u32, held_width(slot)));
        }
        for width in Extra::WIDTHS {
            slots.push(self.b.constant(0u32, width));
        }
        for _ in 0..self.in_place.len() {
            slots.push(self.b.constant(0u32, 16));
        }
        for width in self.request_widths() {
            slots.push(self.b.constant(0u32, *width));
        }
        let standard = self.p.standard;
        slots[standard.ingress_port.index()] = self.b.input(Input::IngressPort);
        slots[standard.packet_length.index()] = self.packet_length();
        slots[standard.ingress_global_timestamp.index()] = self.b.input(Input::Timestamp);
        Path { pred: self.b.boolean(true), slots }
    }

    fn packet_length(&mut self) -> Value {
        let length = self.b.input(Input::Length);
        self.b.resize(length, 32)
    }

    /// Converts a control from its beginning to its end.
    fn control(&mut self, control: &Control, mut path: Path) -> Path {
        let whole = path.pred;
        let failed = path.slots[self.extra(Extra::Fault)];
        let on = self.b.not(failed);
        path.pred = self.b.and(whole, on);
        let reached = path.pred;
        let end = self.block(&control.body, path);
        let mut ends = std::mem::take(&mut self.exits);
        ends.append(&mut self.faults);
        ends.extend(end);
        self.b.span = control.span;
        let mut end = self.meet(ends);
        // A control always ends.
        end.pred = whole;
        self.settle_fault(failed, reached, &mut end);
        end
    }

    /// Everything behind the traffic manager.
    fn egress(&mut self, clone: Path, mut path: Path) {
        let (p, standard) = (self.p, self.p.standard);
        let cloned = self.b.input(Input::Cloned);
        path.pred = self.b.boolean(true);
        path.slots[self.extra(Extra::Fault)] = self.b.boolean(false);
        if !self.clone_lists.is_empty() {
            let (lists, list) = (self.clone_lists.clone(), path.slots[self.extra(Extra::CloneList)]);
            for i in 0..p.slots.len() {
                let kept = self.keeps(&lists, list, SlotId(i as u32));
                let not = self.b.not(kept);
                let parsed = self.b.and(cloned, not);
                path.slots[i] = self.b.mux(parsed, clone.slots[i], path.slots[i]);
            }
            let first_place = p.slots.len() + Extra::WIDTHS.len();
            let places = first_place..first_place + self.in_place.len();
            for i in [self.extra(Extra::Cursor), self.extra(Extra::Skip)].into_iter().chain(places) {
                path.slots[i] = self.b.mux(cloned, clone.slots[i], path.slots[i]);
            }
        }
        self.begin_mirrored(&mut path);
        self.forget_repetitions(cloned, &mut path);
        for extra in [Extra::Truncate, Extra::TruncateLength, Extra::Mirror] {
            // Ingress's request holds for the packet, and not for clones.
            let at = self.extra(extra);
            let none = self.b.constant(0u32, Extra::WIDTHS[extra as usize]);
            path.slots[at] = self.b.mux(cloned, none, path.slots[at]);
        }
        let port = self.b.input(Input::EgressPort);
        let rid = self.b.input(Input::EgressRid);
        let replicated = self.b.input(Input::Replicated);
        let depth = self.b.input(Input::QueueDepth);
        let now = self.b.input(Input::Timestamp);
        let zero = self.b.constant(0u32, 32);
        let set = |path: &mut Path, slot: SlotId, value: Value| path.slots[slot.index()] = value;
        let instance = |b: &mut Builder, kind: InstanceType| b.constant(kind as u32, 32);
        let (clone, replica) = (InstanceType::IngressClone, InstanceType::Replication);
        let (clone, replica) = (instance(&mut self.b, clone), instance(&mut self.b, replica));
        let (mirrored, mirror) = (self.mirrored(), instance(&mut self.b, InstanceType::EgressClone));
        let clone = self.b.mux(mirrored, mirror, clone);
        let own = path.slots[standard.instance_type.index()];
        let other = self.b.mux(replicated, replica, own);
        let kind = self.b.mux(cloned, clone, other);
        set(&mut path, standard.instance_type, kind);
        let spec = self.b.constant(0u32, 9);
        set(&mut path, standard.egress_port, port);
        set(&mut path, standard.egress_spec, spec);
        let own_rid = path.slots[standard.egress_rid.index()];
        let rid = self.b.mux(replicated, rid, own_rid);
        set(&mut path, standard.egress_rid, rid);
        let short = self.b.resize(now, p[standard.enq_timestamp].ty.width());
        set(&mut path, standard.enq_timestamp, short);
        set(&mut path, standard.deq_timedelta, zero);
        set(&mut path, standard.enq_qdepth, depth);
        set(&mut path, standard.deq_qdepth, depth);
        set(&mut path, standard.egress_global_timestamp, now);

        let mut path = self.control(&p.egress, path);
        let mirror = self.mirror_outputs(&path);
        let spec = path.slots[standard.egress_spec.index()];
        let drop = self.b.eq_const(spec, DROP_PORT);
        path.pred = self.b.not(drop);
        let path = self.control(&p.compute_checksum, path);
        let path = self.control(&p.deparser, path);
        self.queue_digests();
        let fault = path.slots[self.extra(Extra::Fault)];
        self.b.design.egress = EgressOutputs {
            drop: self.b.or(drop, fault),
            fault,
            mirror,
            instance_type: path.slots[standard.instance_type.index()],
            emits: std::mem::take(&mut self.emits),
            skip: path.slots[self.extra(Extra::Skip)],
            edits: std::mem::take(&mut self.edits),
            truncate: path.slots[self.extra(Extra::Truncate)],
            truncate_length: path.slots[self.extra(Extra::TruncateLength)],
            recirculate: self.repetition(Request::Recirculate, &path, p.deparser.span),
        };
    }

    /// Queues the digests that have been sent so far.
    fn queue_digests(&mut self) {
        let sent = std::mem::take(&mut self.digests);
        if sent.is_empty() {
            return;
        }
        let enables: Vec<Value> = sent.iter().map(|(enable, ..)| *enable).collect();
        let enable = self.b.any(&enables);
        let word = self.b.concat(sent.iter().map(|(_, part, _)| *part).collect());
        let calls = sent.into_iter().map(|(.., call)| call).collect();
        self.b.effect(Op::Digest { enable, word, calls }, 0);
    }

    /// What a clone of the packet is behind its parser. It is parsed again, which must not be visible in state.
    fn parsed_clone(&mut self, parsed: &Path, done: &Path) -> Path {
        if self.clone_lists.is_empty() || !self.clones_differ() {
            return parsed.clone();
        }
        let from = self.b.design.nodes.len();
        let standard = self.p.standard;
        let mut start = self.start_as_received();
        start.slots[standard.ingress_port.index()] = done.slots[standard.ingress_port.index()];
        start.slots[standard.instance_type.index()] = self.b.constant(InstanceType::IngressClone as u32, 32);
        let Some(clone) = self.parse(start) else { return parsed.clone() };
        let clone = self.control(&self.p.verify_checksum, clone);
        let added = self.b.design.nodes[from..].to_vec();
        for mut node in added {
            if node.op.enable_mut().is_some() {
                self.refuse(Capability::CloneWithEffects, node.span, "a clone would have this effect again");
            }
        }
        clone
    }

    /// Whether parsing a clone may give something else than parsing its packet, or has effects.
    fn clones_differ(&self) -> bool {
        let p = self.p;
        let mut found = false;
        let bodies = p.parser.states.iter().map(|s| &s.body).chain([&p.verify_checksum.body]);
        for body in bodies {
            walk::stmts(body, &mut |stmt| match &stmt.kind {
                StmtKind::Extern(call)
                    if !matches!(
                        call.function,
                        ExternFn::VerifyChecksum { .. }
                            | ExternFn::Hash(_)
                            | ExternFn::PopulationCount
                            | ExternFn::Assert
                            | ExternFn::Assume
                            | ExternFn::LogMsg(_)
                    ) =>
                {
                    found = true;
                }
                StmtKind::Apply { .. } => found = true,
                _ => {}
            });
        }
        // A clone's parser sees another instance type, and none of what is kept of a packet that passes again.
        let mut reads = |e: &Expr| {
            walk::expr_slots(e, &mut |slot| {
                found |= slot == p.standard.instance_type || self.kept.as_ref().is_some_and(|kept| kept.has(slot));
            });
        };
        for state in &p.parser.states {
            walk::stmts(&state.body, &mut |stmt| walk::stmt_exprs(stmt).into_iter().for_each(&mut reads));
            if let Transition::Select { keys, .. } = &state.transition {
                keys.iter().for_each(&mut reads);
            }
        }
        walk::stmts(&p.verify_checksum.body, &mut |stmt| walk::stmt_exprs(stmt).into_iter().for_each(&mut reads));
        found
    }

    /// Joins paths of which at most one is taken.
    fn meet(&mut self, mut paths: Vec<Path>) -> Path {
        paths.retain(|path| self.b.as_const(path.pred) != Some(&BigUint::ZERO));
        if paths.len() == 1 {
            return paths.remove(0);
        }
        let pred = self.b.union(paths.iter().map(|path| path.pred).collect());
        let conds = paths.iter().map(|path| path.pred).collect();
        Path { pred, slots: self.choose(conds, &paths) }
    }

    /// Joins the paths of a branch. Where the branch was reached, exactly one condition is true. A path is missing if it
    /// goes elsewhere.
    fn join(&mut self, conds: Vec<Value>, paths: Vec<Option<Path>>) -> Option<Path> {
        let (conds, paths): (Vec<Value>, Vec<Path>) =
            conds.into_iter().zip(paths).filter_map(|(cond, path)| Some((cond, path?))).unzip();
        if paths.is_empty() {
            return None;
        }
        let pred = self.b.union(paths.iter().map(|path| path.pred).collect());
        Some(Path { pred, slots: self.choose(conds, &paths) })
    }

    /// What slots hold if one of the conditions is true and selects its path.
    fn choose(&mut self, conds: Vec<Value>, paths: &[Path]) -> Vec<Value> {
        let Some(first) = paths.first() else { return self.start().slots };
        let mut slots = first.slots.clone();
        // Many slots differ in the same way.
        let mut unions: BTreeMap<Vec<usize>, Value> = BTreeMap::new();
        for (at, slot) in slots.iter_mut().enumerate() {
            let mut groups: Vec<(Value, Vec<usize>)> = Vec::new();
            let mut group_of: HashMap<Value, usize> = HashMap::new();
            for (i, path) in paths.iter().enumerate() {
                let value = path.slots[at];
                let group = *group_of.entry(value).or_insert_with(|| {
                    groups.push((value, Vec::new()));
                    groups.len() - 1
                });
                groups[group].1.push(i);
            }
            match groups.as_slice() {
                [_] => {}
                [(then, some), (otherwise, rest)] => {
                    // One group's condition is enough; fewer conditions are cheaper.
                    let (then, some, otherwise) =
                        if some.len() <= rest.len() { (*then, some, *otherwise) } else { (*otherwise, rest, *then) };
                    let cond = self.any_of(&conds, some, &mut unions);
                    *slot = self.b.mux(cond, then, otherwise);
                }
                _ => {
                    let width = self.b.width(*slot);
                    let cases = groups.iter().map(|(value, members)| (members, *value));
                    let cases = cases.map(|(members, value)| (self.any_of(&conds, members, &mut unions), value));
                    let cases = cases.collect();
                    *slot = self.b.one_hot(cases, width);
                }
            }
            if at < self.p.slots.len() && groups.len() > 1 {
                self.b.hold(*slot, Some(SlotId(at as u32)));
            }
        }
        slots
    }

    fn any_of(&mut self, conds: &[Value], members: &[usize], known: &mut BTreeMap<Vec<usize>, Value>) -> Value {
        if let Some(value) = known.get(members) {
            return *value;
        }
        let value = self.b.union(members.iter().map(|m| conds[*m]).collect());
        known.insert(members.to_vec(), value);
        value
    }
}
