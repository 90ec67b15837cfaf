//! Lowers the Tofino Native Architecture, whose packets pass ingress and egress, each with a parser and a deparser, in one of
//! up to four pipes with programs of their own.
//!
//! As for other architectures that parse twice, packets pass the pipeline once for ingress and once for egress: `phase` says
//! which pass comes next. All pipes are in one pipeline; the port says in which a packet is.
//!
//! | a packet is | in IR |
//! | --- | --- |
//! | sent to a port, replicated | the traffic manager's decision after the first pass, then a recirculation to the second |
//! | mirrored by ingress | a clone that is not parsed, recirculated to the second pass |
//! | mirrored by egress | a clone of the second pass, deparsed and recirculated to it |
//! | resubmitted | a resubmission |
//! | sent to a loopback or recirculation port | a recirculation of the second pass to the first |
//!
//! What a parser finds in front of the packet is a [`prefix`]: the intrinsic metadata, and the headers that `Mirror` and
//! `Resubmit` objects emit, which are field lists.

mod copies;
mod egress;
mod externs;
mod ghost;
mod groups;
mod hash;
mod ingress;
mod key_masks;
mod logs;
mod math_unit;
mod own_methods;
mod parser_counter;
mod prefix;
mod registers;
pub(crate) mod request;
mod request_types;
mod residual;
mod single_pass;
mod symmetric;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use hopwright_ir::{
    BinaryOp, Block, Control, DROP_PORT, Expr, ExprKind, ExternArg, ExternFn, ExternId, ExternInstance, ExternKind,
    FieldList, Parser, Pipeline, SlotId, SlotKind, StmtKind, Type, walk,
};
use hopwright_sema::architecture::{Architecture, BlockRole, ParamRole};
use hopwright_sema::hir;
use hopwright_source::{SourceMap, Span};
use num_bigint::BigUint;

pub(crate) use self::request::Requests;
use crate::program::Parts;
use crate::storage::{Loc, Place, Purpose};
use crate::two_passes::number;
use crate::value::{binary, compare, mux, not, slice};
use crate::{Binding, Lowering, Reported, Result};

// Field lists.
const TO_EGRESS: u8 = 1;
const TO_INGRESS: u8 = 2;
const MIRRORED_BY_INGRESS: u8 = 3;
const MIRRORED_BY_EGRESS: u8 = 4;
const COPIED_TO_CPU: u8 = 5;

const PORT: Type = Type::Bits(9);
/// The register that says where packets go that leave at a port: to ingress at the port in the low bits, if this bit is set.
/// Another cell that is not zero lets a recirculation port lead out.
const LOOPBACK: u32 = 1 << 15;
/// The name of the register.
const LOOPBACK_REGISTER: &str = "loopback";

/// Slots that say where a packet is.
#[derive(Clone, Copy)]
struct Slots {
    /// The next pass: 0 for the ingress blocks.
    phase: SlotId,
    /// This pass.
    pass: SlotId,
    /// The pipe of this pass.
    pipe: SlotId,
    /// The prefix of the next pass.
    prefix: SlotId,
    /// The port at which it enters ingress again, or leaves.
    port: SlotId,
    /// Whether it came back from egress.
    again: SlotId,
    /// Whether it leaves without egress.
    bypass: SlotId,
    /// Whether it, or this copy of it, goes to the CPU; and whether it goes nowhere else.
    cpu_copy: SlotId,
    cpu_only: SlotId,
    /// All packets do, because egress does nothing.
    always_bypass: bool,
    /// There is no second pass: copies need none either.
    single: bool,
    rid: SlotId,
    queue: SlotId,
    class: SlotId,
    depth: SlotId,
}

/// The blocks of a pipeline, lowered, and its storage.
struct Pipe {
    /// The numbers of the pipes that run it; empty if all do.
    numbers: Vec<u32>,
    storage: HashMap<ParamRole, Place>,
    /// The types of the architecture's metadata.
    types: HashMap<ParamRole, hir::StructId>,
    parsers: [Parser; 2],
    ingress: Block,
    ingress_deparser: Block,
    egress: Block,
    egress_deparser: Block,
    ghost: Option<Block>,
    /// Whether ingress has written a multicast group, if it may write 0.
    writes_group: Option<SlotId>,
}

impl Lowering<'_> {
    /// Whether the program is for Tofino.
    pub(crate) fn is_tofino(&self) -> bool {
        self.program.architecture().is_some_and(|a| !a.by_type.is_empty())
    }

    fn is_tofino2(&self) -> bool {
        self.program.architecture().is_some_and(|a| a.name == "t2na")
    }

    /// Lowers the whole program, whose objects and value sets have been lowered.
    pub(crate) fn pipes(&mut self, architecture: &'static Architecture, sources: Arc<SourceMap>) -> Result<Pipeline> {
        let program = self.program;
        let span = program.main.span;
        let mut slot =
            |name: &str, width| self.new_slot(&format!("tofino.{name}"), Type::Bits(width), SlotKind::Metadata, span);
        let mut slots = Slots {
            phase: slot("phase", 1),
            pass: slot("pass", 1),
            pipe: slot("pipe", 2),
            prefix: slot("prefix", 8),
            port: slot("port", 9),
            again: slot("again", 1),
            bypass: slot("bypass", 1),
            cpu_copy: slot("cpu_copy", 1),
            cpu_only: slot("cpu_only", 1),
            always_bypass: false,
            single: false,
            rid: slot("rid", 16),
            queue: slot("qid", 7),
            class: slot("cos", 3),
            depth: slot("qdepth", 19),
        };
        let requests = Requests::new(self, span);
        self.requests = Some(requests);
        let loopback = self.concurrent_register(LOOPBACK_REGISTER, 512, Type::Bits(16), span);

        let mut pipes: Vec<Pipe> = Vec::new();
        let mut failed = false;
        let all: Vec<_> = program.main.blocks.chunks(architecture.blocks.len()).collect();
        let numbers_of = |pipeline| program.main.pipes_of(pipeline, all.len()).into_iter().map(|n| n as u32);
        for (number, blocks) in all.iter().enumerate() {
            let numbers: Vec<u32> = numbers_of(number).collect();
            // A pipeline may be in several pipes: `Switch(a, b, a)`.
            let known = |other: &&[(String, hir::InstanceId)]| other.iter().map(|b| b.1).eq(blocks.iter().map(|b| b.1));
            let first = all.iter().position(known).unwrap_or_default();
            if first < number {
                let known = |pipe: &&mut Pipe| numbers_of(first).any(|n| pipe.numbers.contains(&n));
                pipes.iter_mut().filter(known).for_each(|pipe| pipe.numbers.extend(&numbers));
                continue;
            }
            let ghost = program.main.ghosts.iter().find(|(pipe, _)| numbers.first() == Some(&(*pipe as u32)));
            match self.pipe(architecture, blocks, ghost.map(|(_, id)| *id)) {
                Ok(pipe) => pipes.push(Pipe { numbers, ..pipe }),
                Err(Reported) => failed = true,
            }
        }
        if program.main.pipes.is_empty() && all.len() == 1 {
            pipes.iter_mut().for_each(|pipe| pipe.numbers.clear());
        }
        self.unapplied_tables();
        if failed {
            return Err(Reported);
        }
        if pipes.iter().any(|pipe| self.extracts_port_metadata(&pipe.parsers[0])) {
            self.has_port_metadata(span);
        }
        let prefix_bits = self.egress_prefixes(&slots, span).first().map_or(0, |prefix| prefix.width());
        slots.always_bypass = pipes.iter().all(|pipe| self.egress_does_nothing(pipe, prefix_bits));
        slots.single = slots.always_bypass && self.requests.as_ref().is_some_and(|r| r.mirrors.is_empty());
        let cpu_copies = pipes.iter().any(|pipe| self.copies_to_cpu(pipe));
        self.kept_by_pipes(&slots, &pipes, cpu_copies);
        let parser = self.parsers_of(&slots, &pipes, span)?;
        self.scope = "tofino".into();
        let name = |role| {
            let at = architecture.block(role).map_or(0, |(at, _)| at);
            program[program.main.blocks[at].1].name.clone()
        };
        let mut deparser = self.nested(|this| this.pipes_deparser(&slots, &pipes, span))?;
        let computes = if slots.single { single_pass::before_emitting(&mut deparser) } else { Vec::new() };
        let ingress = self.pipes_ingress(&slots, &pipes, span)?;
        let egress = self.pipes_egress(&slots, &pipes, loopback, span)?;
        let in_headers =
            |this: &Self, role| pipes.iter().find_map(|p| this.controller_header("packet_in", p.storage.get(&role)?));
        // That of ingress counts if egress has none, because it leaves packets as they are.
        let packet_in = in_headers(self, ParamRole::EgressHeaders).or_else(|| in_headers(self, ParamRole::Headers));
        let packet_out =
            pipes.iter().find_map(|p| self.controller_header("packet_out", p.storage.get(&ParamRole::Headers)?));
        let nothing = Control { name: String::new(), body: Vec::new(), span };
        let parts = Parts {
            parser,
            verify_checksum: nothing.clone(),
            ingress: Control { name: name(BlockRole::Ingress), body: ingress, span },
            egress: Control { name: name(BlockRole::Egress), body: egress, span },
            compute_checksum: Control { body: computes, ..nothing },
            deparser: Control { name: name(BlockRole::Deparser), body: deparser, span },
            packet_in,
            packet_out,
        };
        Ok(self.assemble(parts, sources))
    }

    /// Adds a register that several workers read.
    fn concurrent_register(&mut self, name: &str, size: u64, ty: Type, span: Span) -> ExternId {
        let id = ExternId(self.externs.len() as u32);
        let kind = ExternKind::Register { size, ty };
        self.externs.push(ExternInstance {
            name: name.into(),
            id: None,
            kind,
            concurrent: true,
            initial: BigUint::ZERO,
            span,
        });
        id
    }

    /// Lowers the blocks of a pipe.
    fn pipe(
        &mut self,
        architecture: &Architecture,
        blocks: &[(String, hir::InstanceId)],
        ghost: Option<hir::InstanceId>,
    ) -> Result<Pipe> {
        let program = self.program;
        let mut storage: HashMap<ParamRole, Place> = HashMap::new();
        let mut types = HashMap::new();
        let all = architecture.blocks.iter().map(|block| block.params).zip(blocks.iter().map(|(_, id)| *id));
        for (known, id) in all.chain(ghost.map(|id| (&[][..], id))) {
            for (at, param) in program[id].params.iter().enumerate() {
                let var = &program[param.var];
                let by_type = match &var.ty {
                    hir::Type::Struct(id) | hir::Type::Header(id) => {
                        let name = program[*id].name.as_str();
                        architecture.by_type.iter().find(|(known, _)| *known == name).map(|(_, role)| (*role, *id))
                    }
                    _ => None,
                };
                let role = match (known.get(at), by_type) {
                    (Some(ParamRole::Packet), _) => continue,
                    (Some(role), _) => *role,
                    (None, Some((role, ty))) => {
                        types.insert(role, ty);
                        role
                    }
                    (None, None) => return Err(self.unsupported(var.span, format!("the parameter `{}`", var.name))),
                };
                let place = match storage.get(&role) {
                    Some(place) => place.clone(),
                    None => self.alloc(&var.ty, &var.name, Purpose::Metadata, var.span)?,
                };
                storage.insert(role, place.clone());
                self.env.insert(param.var, Binding::Loc(Loc::Place(place)));
            }
        }
        // The port of `invalidate(ig_tm_md.ucast_egress_port)`.
        if let Some(slot) = member_of(self, &storage, &types, ParamRole::IngressForTm, "ucast_egress_port")
            && let Some(requests) = &mut self.requests
        {
            requests.ports.insert(slot);
        }
        let [ingress_parser, ingress, ingress_deparser, egress_parser, egress, egress_deparser] = blocks else {
            return Err(self.unsupported(program.main.span, "a pipe with these blocks"));
        };
        let parsers = [ingress_parser.1, egress_parser.1].map(|parser| {
            self.find_residuals(parser)?;
            self.parser(parser)
        });
        let ingress = self.contained(ingress.1);
        self.requesting(true);
        let ingress_deparser = self.contained(ingress_deparser.1);
        self.requesting(false);
        let egress = self.contained(egress.1);
        self.requesting(true);
        let egress_deparser = self.contained(egress_deparser.1);
        self.requesting(false);
        let ghost = ghost.map(|id| self.contained(id)).transpose();
        let [ingress_parser, egress_parser] = parsers;
        let mut pipe = Pipe {
            numbers: Vec::new(),
            storage,
            types,
            parsers: [ingress_parser?, egress_parser?],
            ingress: ingress?,
            ingress_deparser: ingress_deparser?,
            egress: egress?,
            egress_deparser: egress_deparser?,
            ghost: ghost?,
            writes_group: None,
        };
        self.types_of_requests(&mut pipe, program.main.span);
        self.note_groups(&mut pipe, program.main.span);
        Ok(pipe)
    }

    /// What is kept from pass to pass.
    fn kept_by_pipes(&mut self, slots: &Slots, pipes: &[Pipe], cpu_copies: bool) {
        let Some(requests) = &self.requests else { return };
        let Slots { phase, pipe, prefix, port, again, rid, queue, class, depth, cpu_copy, .. } = *slots;
        let mirrored = requests.mirrors.iter().flatten().copied();
        let resubmitted = requests.resubmits.iter().flatten().copied();
        let mut to_egress = vec![phase, prefix, port, rid, queue, class, depth];
        to_egress.extend(mirrored.clone());
        let mut to_ingress = vec![phase, prefix, port, again];
        to_ingress.extend(resubmitted);
        let mut by_ingress = vec![requests.mirror];
        by_ingress.extend(mirrored.clone());
        let mut by_egress = vec![requests.mirror, pipe];
        by_egress.extend(mirrored);
        for pipe in pipes {
            for role in [ParamRole::EgressMetadata, ParamRole::EgressForDeparser] {
                pipe.storage.get(&role).into_iter().for_each(|place| self.slots_in(place, &mut by_egress));
            }
        }
        // The ingress deparser of the copy sees what that of the packet sees.
        let mut to_cpu = vec![cpu_copy, pipe, queue, class];
        for place in pipes.iter().filter_map(|pipe| pipe.storage.get(&ParamRole::Metadata)) {
            self.slots_in(place, &mut to_cpu);
        }
        let all = [
            (TO_EGRESS, to_egress),
            (TO_INGRESS, to_ingress),
            (MIRRORED_BY_INGRESS, by_ingress),
            (MIRRORED_BY_EGRESS, by_egress),
            (COPIED_TO_CPU, to_cpu),
        ];
        for (index, slots) in all.into_iter().take(if cpu_copies { 5 } else { 4 }) {
            self.field_lists.push(FieldList { index, slots });
        }
    }

    /// A time of the IR, which counts microseconds, in nanoseconds.
    fn nanoseconds(&self, slot: SlotId, width: u32, span: Span) -> Expr {
        let ty = Type::Bits(48);
        let time = Expr { kind: ExprKind::Cast(Box::new(self.slot_expr(slot, span))), ty, span };
        let time = binary(BinaryOp::Mul, time, Expr::constant(1000u32, ty, span), ty, span);
        if width == 48 { time } else { slice(time, width - 1, span) }
    }

    fn bits_of_slot(&self, slot: SlotId, span: Span) -> Expr {
        let value = self.slot_expr(slot, span);
        match value.ty {
            Type::Bits(_) => value,
            ty => Expr { kind: ExprKind::Cast(Box::new(value)), ty: Type::Bits(ty.width()), span },
        }
    }

    /// The block of the pipe that the packet is in. Packets of pipes without a program are dropped.
    fn by_pipe(&mut self, slots: &Slots, pipes: &[Pipe], mut passes: Vec<Block>, span: Span) -> Result<Block> {
        if pipes.iter().all(|pipe| pipe.numbers.is_empty()) {
            return Ok(passes.remove(0));
        }
        let spec = self.standard_metadata().egress_spec;
        let default = self.nested(|this| {
            let port = Expr::constant(DROP_PORT, PORT, span);
            this.emit(StmtKind::Assign(spec, port), span);
            Ok(())
        })?;
        self.nested(|this| {
            let value = this.slot_expr(slots.pipe, span);
            this.emit(StmtKind::Switch { value, cases: cases_of(pipes, passes), default }, span);
            Ok(())
        })
    }

    /// A block to which the parser's error is given. If ingress does not read it, packets with errors are dropped.
    fn with_errors(&mut self, pipe: &Pipe, role: ParamRole, block: &Block, drop: bool, span: Span) -> Result<Block> {
        let standard = self.standard_metadata();
        let slot = member_of(self, &pipe.storage, &pipe.types, role, "parser_err");
        let read = slot.is_some_and(|slot| self.reads(block, slot));
        let error = self.slot_expr(standard.parser_error, span);
        if let Some(slot) = slot.filter(|_| read) {
            let flags = self.error_flags(error, span);
            return self.nested(|this| {
                this.emit(StmtKind::Assign(slot, flags), span);
                this.block.extend(block.iter().cloned());
                Ok(())
            });
        }
        if !drop {
            return Ok(block.clone());
        }
        let zero = Expr::constant(0u32, Type::Bits(16), span);
        let fine = compare(error, zero, span);
        let bad = self.nested(|this| {
            if let Some(slot) =
                member_of(this, &pipe.storage, &pipe.types, ParamRole::IngressForTm, "ucast_egress_port")
            {
                this.emit(StmtKind::Assign(slot, Expr::constant(DROP_PORT, PORT, span)), span);
            }
            Ok(())
        })?;
        self.nested(|this| {
            this.branch(fine, block.clone(), bad, span);
            Ok(())
        })
    }

    /// Whether a block, or an action or key of any table, reads a slot.
    fn reads(&self, block: &Block, slot: SlotId) -> bool {
        let mut found = false;
        for block in std::iter::once(block).chain(self.actions.iter().map(|a| &a.body)) {
            walk::stmts(block, &mut |stmt| {
                for e in walk::stmt_exprs(stmt) {
                    walk::expr_slots(e, &mut |read| found |= read == slot);
                }
            });
        }
        for key in self.tables.iter().flat_map(|t| &t.keys) {
            walk::expr_slots(&key.expr, &mut |read| found |= read == slot);
        }
        found
    }

    /// An error as a bit of `parser_err`.
    fn error_flags(&self, error: Expr, span: Span) -> Expr {
        let flags = |n: u32| Expr::constant(n, Type::Bits(16), span);
        // A header that is cut off is a partial one, and extracted from beyond the packet.
        let known = [("NoError", 0), ("PacketTooShort", 0x22), ("CounterRange", 4), ("StackOutOfBounds", 0x40)];
        let mut value = flags(1);
        for (name, bits) in known {
            if let Some(at) = self.program.errors.iter().position(|e| e == name) {
                let is = compare(error.clone(), Expr::constant(at, Type::Bits(16), span), span);
                value = mux(is, flags(bits), value, span);
            }
        }
        value
    }

    fn mirror_if(
        &mut self,
        mirror: SlotId,
        session: SlotId,
        drop_ctl: Option<Expr>,
        egress: bool,
        span: Span,
    ) -> Result<()> {
        let list = if egress { MIRRORED_BY_EGRESS } else { MIRRORED_BY_INGRESS };
        let to = self.slot_expr(session, span);
        let clone = self.nested(|this| {
            let function = ExternFn::Clone { egress, field_list: Some(list) };
            this.extern_call(function, vec![ExternArg::In(to)], span);
            Ok(())
        })?;
        let wanted = not(self.is(mirror, 0, span), span);
        let allowed = not(bit(drop_ctl, 2, span), span);
        self.branch(binary(BinaryOp::LogicalAnd, wanted, allowed, Type::Bool, span), clone, Vec::new(), span);
        Ok(())
    }

    /// A member of the architecture's metadata; none if the program leaves the parameter out.
    fn metadata(&self, pipe: &Pipe, role: ParamRole, name: &str, span: Span) -> Option<Expr> {
        let slot = member_of(self, &pipe.storage, &pipe.types, role, name)?;
        Some(self.slot_expr(slot, span))
    }

    fn set_member(&mut self, pipe: &Pipe, role: ParamRole, name: &str, value: Expr, span: Span) {
        if let Some(slot) = member_of(self, &pipe.storage, &pipe.types, role, name)
            && self.slots[slot.index()].ty == value.ty
        {
            self.emit(StmtKind::Assign(slot, value), span);
        }
    }
}

/// The cases of a switch by pipe.
fn cases_of(pipes: &[Pipe], bodies: Vec<Block>) -> Vec<(Vec<BigUint>, Block)> {
    let numbers = |pipe: &Pipe| pipe.numbers.iter().map(|n| number(*n)).collect();
    pipes.iter().zip(bodies).map(|(pipe, body)| (numbers(pipe), body)).collect()
}

fn member_of(
    lowering: &Lowering<'_>,
    storage: &HashMap<ParamRole, Place>,
    types: &HashMap<ParamRole, hir::StructId>,
    role: ParamRole,
    name: &str,
) -> Option<SlotId> {
    let index = lowering.program[*types.get(&role)?].fields.iter().position(|f| f.name == name)?;
    match lowering.place_field(storage.get(&role)?, index)? {
        Place::Scalar(slot) => Some(slot),
        _ => None,
    }
}

/// A bit of a number; false if there is none.
fn bit(value: Option<Expr>, at: u32, span: Span) -> Expr {
    let Some(value) = value else { return Expr::boolean(false, span) };
    let ty = Type::Bits(1);
    let bit = Expr { kind: ExprKind::Slice { arg: Box::new(value), hi: at, lo: at }, ty, span };
    compare(bit, Expr::constant(1u32, ty, span), span)
}

/// Slots of a set.
type SlotSet = HashSet<SlotId>;
