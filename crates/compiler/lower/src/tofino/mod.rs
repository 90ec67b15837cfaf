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
mod externs;
mod ghost;
mod hash;
mod logs;
mod math_unit;
mod own_methods;
mod parser_counter;
mod prefix;
mod registers;
pub(crate) mod request;
mod residual;
mod single_pass;
mod symmetric;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use hopwright_ir::InstanceType;
use hopwright_ir::{
    BinaryOp, Block, Control, DROP_PORT, Expr, ExprKind, ExternArg, ExternFn, ExternId, ExternInstance, ExternKind,
    FieldList, KeySet, Parser, Pipeline, SelectCase, SlotId, SlotKind, State, StateId, StmtKind, Target, Transition,
    Type, walk,
};
use hopwright_sema::architecture::{Architecture, BlockRole, ParamRole};
use hopwright_sema::hir;
use hopwright_source::{SourceMap, Span};
use num_bigint::BigUint;

use self::prefix::{Prefix, Product};
pub(crate) use self::request::Requests;
use crate::program::Parts;
use crate::storage::{Loc, Place, Purpose};
use crate::two_passes::{number, slice};
use crate::value::{binary, compare, mux, not};
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
        for (number, blocks) in (0..).zip(&all) {
            // A pipeline may be in several pipes: `Switch(a, b, a)`.
            let known = |other: &&[(String, hir::InstanceId)]| other.iter().map(|b| b.1).eq(blocks.iter().map(|b| b.1));
            let first = all.iter().position(known).unwrap_or_default();
            if first < number as usize {
                pipes.iter_mut().filter(|p| p.numbers.contains(&(first as u32))).for_each(|p| p.numbers.push(number));
                continue;
            }
            let ghost = program.main.ghosts.iter().find(|(pipe, _)| *pipe == number as usize).map(|(_, id)| *id);
            match self.pipe(architecture, blocks, ghost) {
                Ok(pipe) => pipes.push(Pipe { numbers: vec![number], ..pipe }),
                Err(Reported) => failed = true,
            }
        }
        if all.len() == 1 {
            pipes.iter_mut().for_each(|pipe| pipe.numbers.clear());
        }
        self.unapplied_tables();
        if failed {
            return Err(Reported);
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
        Ok(Pipe {
            numbers: Vec::new(),
            storage,
            types,
            parsers: [ingress_parser?, egress_parser?],
            ingress: ingress?,
            ingress_deparser: ingress_deparser?,
            egress: egress?,
            egress_deparser: egress_deparser?,
            ghost: ghost?,
        })
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

    /// One parser of all pipes' parsers.
    fn parsers_of(&mut self, slots: &Slots, pipes: &[Pipe], span: Span) -> Result<Parser> {
        let standard = self.standard_metadata();
        let begin = self.nested(|this| {
            let phase = this.slot_expr(slots.phase, span);
            this.emit(StmtKind::Assign(slots.pass, phase), span);
            let received = this.slot_expr(standard.ingress_port, span);
            let kept = this.slot_expr(slots.port, span);
            let first = binary(
                BinaryOp::LogicalAnd,
                this.is(slots.phase, 0, span),
                this.is(slots.again, 0, span),
                Type::Bool,
                span,
            );
            this.emit(StmtKind::Assign(slots.port, mux(first, received, kept, span)), span);
            if let Some((register, slot)) = this.requests.as_ref().and_then(|r| r.port_metadata) {
                let port = this.slot_expr(slots.port, span);
                let args = vec![ExternArg::Out(slot), ExternArg::In(port)];
                this.extern_call(ExternFn::RegisterRead(register), args, span);
            }
            if pipes.iter().any(|pipe| !pipe.numbers.is_empty()) {
                let port = Box::new(this.slot_expr(slots.port, span));
                let pipe = Expr { kind: ExprKind::Slice { arg: port, hi: 8, lo: 7 }, ty: Type::Bits(2), span };
                this.emit(StmtKind::Assign(slots.pipe, pipe), span);
            }
            Ok(())
        })?;
        let no_match = self.program.errors.iter().position(|e| e == "NoMatch").unwrap_or(0);
        let reject = self.nested(|this| {
            let error = Expr::constant(no_match, Type::Bits(16), span);
            this.emit(StmtKind::Verify(Expr::boolean(false, span), error), span);
            Ok(())
        })?;
        let accept = Transition::Goto(Target::Accept);
        let state = |name: String, body, transition| State { name, body, transition, span };
        let states =
            vec![state(self.unique("$pass"), begin, accept.clone()), state(self.unique("$no_match"), reject, accept)];
        let mut product = Product::new(states, Target::State(StateId(1)));

        let ingress = self.ingress_prefixes(slots, span);
        let egress = self.egress_prefixes(slots, span);
        let any = || KeySet::Any;
        let value = |n: usize| KeySet::Value(number(n as u32));
        let clone = KeySet::Value(number(InstanceType::IngressClone as u32));
        let case = |sets, target| SelectCase { sets, target, span };
        // A copy that goes to egress as it was received.
        let copy = case(vec![clone, any(), any(), any()], Target::Accept);
        let mut cases = if slots.single { Vec::new() } else { vec![copy] };
        for pipe in pipes {
            let which = match pipe.numbers.as_slice() {
                [] => vec![any()],
                numbers => numbers.iter().map(|n| value(*n as usize)).collect(),
            };
            let passes = [(0, &pipe.parsers[0], &ingress), (1, &pipe.parsers[1], &egress)];
            for (phase, parser, prefixes) in passes.into_iter().take(if slots.single { 1 } else { 2 }) {
                let skipped = if phase == 1 && !self.reads_prefix(parser) { prefixes[0].width() } else { 0 };
                let starts = product.add(self, parser, prefixes, skipped)?;
                let setup = self.nested(|this| {
                    this.before_parsing(phase == 0, pipe, span);
                    Ok(())
                })?;
                for (number, start) in starts.into_iter().enumerate() {
                    let id = StateId(product.states.len() as u32);
                    let name = self.unique(&format!("{}$start", parser.name));
                    product.states.push(state(name, setup.clone(), Transition::Goto(start)));
                    for pipe in &which {
                        cases.push(case(vec![any(), value(phase), pipe.clone(), value(number)], Target::State(id)));
                    }
                }
            }
        }
        let mut keys = vec![
            self.slot_expr(standard.instance_type, span),
            self.slot_expr(slots.phase, span),
            self.slot_expr(slots.pipe, span),
            self.slot_expr(slots.prefix, span),
        ];
        if pipes.iter().any(|pipe| pipe.ghost.is_some()) {
            let body = self.report_for_ghosts(pipes, span)?;
            let id = StateId(product.states.len() as u32);
            product.states.push(state(self.unique("$ghost"), body, Transition::Goto(Target::Accept)));
            keys.push(self.slot_expr(slots.port, span));
            cases.iter_mut().for_each(|case| case.sets.push(any()));
            let sets = vec![any(), value(0), any(), any(), KeySet::Value(number(DROP_PORT))];
            cases.insert(0, case(sets, Target::State(id)));
        }
        product.states[0].transition = match cases.as_slice() {
            [only] if slots.single => Transition::Goto(only.target),
            _ => Transition::Select { keys, cases },
        };
        let name = pipes[0].parsers[0].name.clone();
        let mut names = HashMap::new();
        for state in &mut product.states {
            let uses: &mut u32 = names.entry(state.name.clone()).or_default();
            *uses += 1;
            if *uses > 1 {
                state.name = format!("{}${uses}", state.name);
            }
        }
        Ok(Parser { name, states: product.states, start: StateId(0), span })
    }

    /// Sets what metadata are at first, and what parsers do not extract.
    fn before_parsing(&mut self, ingress: bool, pipe: &Pipe, span: Span) {
        let standard = self.standard_metadata();
        if ingress {
            let none = Expr::constant(DROP_PORT, PORT, span);
            self.set_member(pipe, ParamRole::IngressForTm, "ucast_egress_port", none, span);
            let time = self.nanoseconds(standard.ingress_global_timestamp, 48, span);
            self.set_member(pipe, ParamRole::IngressFromParser, "global_tstamp", time, span);
        } else {
            let time = self.nanoseconds(standard.ingress_global_timestamp, 48, span);
            self.set_member(pipe, ParamRole::EgressFromParser, "global_tstamp", time, span);
        }
    }

    /// A time of the IR, which counts microseconds, in nanoseconds.
    fn nanoseconds(&self, slot: SlotId, width: u32, span: Span) -> Expr {
        let ty = Type::Bits(48);
        let time = Expr { kind: ExprKind::Cast(Box::new(self.slot_expr(slot, span))), ty, span };
        let time = binary(BinaryOp::Mul, time, Expr::constant(1000u32, ty, span), ty, span);
        if width == 48 { time } else { slice(time, width - 1, span) }
    }

    /// What is in front of a packet that ingress parses: as received; then for each header of a `Resubmit` object.
    fn ingress_prefixes(&mut self, slots: &Slots, span: Span) -> Vec<Rc<Prefix>> {
        let standard = self.standard_metadata();
        let metadata_bits = if self.is_tofino2() { 192 } else { 64 };
        let resubmits = self.requests.as_ref().map(|r| r.resubmits.clone()).unwrap_or_default();
        let port_metadata = self.requests.as_ref().and_then(|r| r.port_metadata);
        let headers = std::iter::once(None).chain(resubmits.into_iter().map(Some));
        headers
            .map(|header| {
                let mut prefix = Prefix::default();
                let zero = |width| Expr::constant(0u32, Type::Bits(width), span);
                prefix.push(Expr::constant(u32::from(header.is_some()), Type::Bits(1), span));
                prefix.push(zero(6));
                prefix.push(self.slot_expr(slots.port, span));
                prefix.push(self.nanoseconds(standard.ingress_global_timestamp, 48, span));
                match (header, port_metadata) {
                    (Some(header), _) => {
                        header.iter().for_each(|slot| prefix.push(self.bits_of_slot(*slot, span)));
                        prefix.fill(64 + 64, span);
                    }
                    (None, Some((_, slot))) => prefix.push(self.slot_expr(slot, span)),
                    (None, None) => prefix.fill(64 + metadata_bits, span),
                }
                Rc::new(prefix)
            })
            .collect()
    }

    /// What is in front of a packet that egress parses: as ingress sent it; then for each header of a `Mirror` object.
    fn egress_prefixes(&mut self, slots: &Slots, span: Span) -> Vec<Rc<Prefix>> {
        let standard = self.standard_metadata();
        let mirrors = self.requests.as_ref().map(|r| r.mirrors.clone()).unwrap_or_default();
        let headers = std::iter::once(Vec::new()).chain(mirrors);
        let tofino2 = self.is_tofino2();
        headers
            .map(|header| {
                let mut prefix = Prefix::default();
                let zero = |width| Expr::constant(0u32, Type::Bits(width), span);
                let slot = |slot| self.slot_expr(slot, span);
                let queue_bits = if tofino2 { 7 } else { 5 };
                let time_bits = if tofino2 { 32 } else { 18 };
                let time = self.nanoseconds(standard.ingress_global_timestamp, time_bits, span);
                prefix.push(zero(7));
                prefix.push(slot(slots.port));
                prefix.push(zero(5));
                prefix.push(slot(slots.depth));
                prefix.push(zero(8));
                prefix.push(zero(32 - time_bits));
                prefix.push(time);
                prefix.push(zero(5));
                prefix.push(slot(slots.depth));
                prefix.push(zero(8 + 8 + 32));
                prefix.push(slot(slots.rid));
                prefix.push(zero(8 + 8 - queue_bits));
                prefix.push(slice(slot(slots.queue), queue_bits - 1, span));
                prefix.push(zero(5));
                prefix.push(slot(slots.class));
                prefix.push(zero(8));
                let length = slice(slot(standard.packet_length), 15, span);
                prefix.push(length);
                if tofino2 {
                    prefix.push(zero(8));
                }
                header.iter().for_each(|slot| prefix.push(self.bits_of_slot(*slot, span)));
                Rc::new(prefix)
            })
            .collect()
    }

    fn bits_of_slot(&self, slot: SlotId, span: Span) -> Expr {
        let value = self.slot_expr(slot, span);
        match value.ty {
            Type::Bits(_) => value,
            ty => Expr { kind: ExprKind::Cast(Box::new(value)), ty: Type::Bits(ty.width()), span },
        }
    }

    fn pipes_ingress(&mut self, slots: &Slots, pipes: &[Pipe], span: Span) -> Result<Block> {
        let standard = self.standard_metadata();
        let mut passes = Vec::new();
        for pipe in pipes {
            passes.push(self.nested(|this| this.ingress_of(slots, pipe, span))?);
        }
        let first = self.by_pipe(slots, pipes, passes, span)?;
        let first = self.or_ghosts(slots, pipes, first, span)?;
        if slots.single {
            return Ok(first);
        }
        let second = self.nested(|this| {
            let port = this.slot_expr(slots.port, span);
            this.emit(StmtKind::Assign(standard.egress_spec, port), span);
            Ok(())
        })?;
        self.nested(|this| {
            let first_pass = this.is(slots.pass, 0, span);
            this.branch(first_pass, first, second, span);
            Ok(())
        })
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

    /// Ingress of a pipe, and what its deparser and the traffic manager decide.
    fn ingress_of(&mut self, slots: &Slots, pipe: &Pipe, span: Span) -> Result<()> {
        use ParamRole::{IngressForDeparser, IngressForTm, IngressFromParser};
        let standard = self.standard_metadata();
        let Some(requests) = &self.requests else { return Err(Reported) };
        let (mirror, session, resubmit) = (requests.mirror, requests.session, requests.resubmit);
        let (mirrors, resubmits) = (!requests.mirrors.is_empty(), !requests.resubmits.is_empty());
        let groups = ["mcast_grp_a", "mcast_grp_b"].into_iter().any(|name| {
            let slot = member_of(self, &pipe.storage, &pipe.types, IngressForTm, name);
            slot.is_some_and(|slot| self.writes(pipe, slot))
        });
        let body = self.with_errors(pipe, IngressFromParser, &pipe.ingress, true, span)?;
        let decided = self.nested(|this| {
            this.block.extend(body);
            let early = request::early(this, &pipe.ingress_deparser);
            this.block.extend(early);

            this.truncate(pipe, IngressForDeparser, span)?;
            let drop_ctl = this.metadata(pipe, IngressForDeparser, "drop_ctl", span);
            if mirrors {
                this.mirror_if(mirror, session, drop_ctl.clone(), false, span)?;
            }
            let again = this.nested(|this| {
                let which = this.slot_expr(resubmit, span);
                this.emit(StmtKind::Assign(slots.phase, Expr::constant(0u32, Type::Bits(1), span)), span);
                this.emit(StmtKind::Assign(slots.prefix, which), span);
                this.extern_call(ExternFn::Resubmit(TO_INGRESS), Vec::new(), span);
                Ok(())
            })?;
            if resubmits {
                let no = this.is(resubmit, 0, span);
                this.branch(not(no, span), again, Vec::new(), span);
            }

            let dropped = bit(drop_ctl, 0, span);
            let port = this
                .metadata(pipe, IngressForTm, "ucast_egress_port", span)
                .unwrap_or(Expr::constant(DROP_PORT, PORT, span));
            let none = Expr::constant(DROP_PORT, PORT, span);
            this.emit(StmtKind::Assign(standard.egress_spec, mux(dropped.clone(), none, port, span)), span);
            if groups && let Some(a) = this.metadata(pipe, IngressForTm, "mcast_grp_a", span) {
                let zero = Expr::constant(0u32, Type::Bits(16), span);
                let b = this.metadata(pipe, IngressForTm, "mcast_grp_b", span).unwrap_or(zero.clone());
                let group = mux(compare(a.clone(), zero.clone(), span), b, a, span);
                this.emit(StmtKind::Assign(standard.mcast_grp, mux(dropped, zero, group, span)), span);
            }
            this.decide_cpu_copy(slots, pipe, this.metadata(pipe, IngressForDeparser, "drop_ctl", span), span);
            for (name, slot) in [("qid", slots.queue), ("ingress_cos", slots.class)] {
                if let Some(value) = this.metadata(pipe, IngressForTm, name, span) {
                    let ty = this.slots[slot.index()].ty;
                    let value = this.cast(value, ty, span)?;
                    this.emit(StmtKind::Assign(slot, value), span);
                }
            }
            if let Some(bypass) = this.metadata(pipe, IngressForTm, "bypass_egress", span) {
                this.emit(StmtKind::Assign(slots.bypass, bypass), span);
            }
            Ok(())
        })?;
        self.block.extend(decided);
        Ok(())
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

    fn pipes_egress(&mut self, slots: &Slots, pipes: &[Pipe], loopback: ExternId, span: Span) -> Result<Block> {
        let standard = self.standard_metadata();
        let Some(requests) = &self.requests else { return Err(Reported) };
        let mirror = requests.mirror;
        let on_the_way = |this: &mut Self| {
            for (slot, from) in [
                (slots.port, standard.egress_port),
                (slots.rid, standard.egress_rid),
                (slots.depth, standard.enq_qdepth),
            ] {
                let value = this.slot_expr(from, span);
                this.emit(StmtKind::Assign(slot, value), span);
            }
            this.emit(StmtKind::Assign(slots.phase, Expr::constant(1u32, Type::Bits(1), span)), span);
            this.extern_call(ExternFn::Recirculate(TO_EGRESS), Vec::new(), span);
        };
        let mirrored = self.nested(|this| {
            let which = this.slot_expr(mirror, span);
            this.emit(StmtKind::Assign(slots.prefix, which), span);
            on_the_way(this);
            Ok(())
        })?;
        // A packet, or a copy of a group, on its way to the second pass.
        let normal = self.nested(|this| {
            this.emit(StmtKind::Assign(slots.prefix, Expr::constant(0u32, Type::Bits(8), span)), span);
            on_the_way(this);
            Ok(())
        })?;
        let leaves = self.nested(|this| this.leave(slots, standard.egress_port, loopback, span))?;
        let exclusion = self.exclusion(pipes, span);
        let cpu_copies = pipes.iter().any(|pipe| self.copies_to_cpu(pipe));
        let ends = |this: &mut Self, otherwise: Block| {
            let otherwise = match Lowering::excludes(exclusion) {
                true => this.excluded(slots, pipes, exclusion, otherwise, span)?,
                false => otherwise,
            };
            match cpu_copies {
                true => this.nested(|this| this.copy_to_cpu(slots, otherwise, span)),
                false => Ok(otherwise),
            }
        };
        if slots.single {
            // A copy to the CPU ends like any packet.
            return ends(self, leaves);
        }
        let bypasses = self.is(slots.bypass, 1, span);
        let first = self.nested(|this| {
            if slots.always_bypass {
                this.block.extend(leaves);
            } else {
                this.branch(bypasses, leaves, normal, span);
            }
            Ok(())
        })?;
        let first = ends(self, first)?;
        let mut passes = Vec::new();
        for pipe in pipes {
            passes.push(self.nested(|this| this.egress_of(slots, pipe, loopback, span))?);
        }
        let second = self.by_pipe(slots, pipes, passes, span)?;
        self.nested(|this| {
            let first_pass = this.is(slots.pass, 0, span);
            let whole = this.nested(|this| {
                this.branch(first_pass, first, second, span);
                Ok(())
            })?;
            let is = |this: &Self, which: InstanceType| this.is(standard.instance_type, which as u32, span);
            let by_ingress = is(this, InstanceType::IngressClone);
            let by_egress = is(this, InstanceType::EgressClone);
            let copy = binary(BinaryOp::LogicalOr, by_ingress, by_egress, Type::Bool, span);
            this.branch(copy, mirrored, whole, span);
            Ok(())
        })
    }

    /// Egress of a pipe, and what becomes of the packet then.
    fn egress_of(&mut self, slots: &Slots, pipe: &Pipe, loopback: ExternId, span: Span) -> Result<()> {
        use ParamRole::{EgressForDeparser, EgressFromParser};
        let standard = self.standard_metadata();
        let Some(requests) = &self.requests else { return Err(Reported) };
        let (mirror, session, mirrors) = (requests.mirror, requests.session, !requests.mirrors.is_empty());
        let body = self.with_errors(pipe, EgressFromParser, &pipe.egress, false, span)?;
        self.block.extend(body);
        let early = request::early(self, &pipe.egress_deparser);
        self.block.extend(early);
        self.truncate(pipe, EgressForDeparser, span)?;
        let drop_ctl = self.metadata(pipe, EgressForDeparser, "drop_ctl", span);
        if mirrors {
            self.mirror_if(mirror, session, drop_ctl.clone(), true, span)?;
        }
        let drop = self.nested(|this| {
            let port = Expr::constant(DROP_PORT, PORT, span);
            this.emit(StmtKind::Assign(standard.egress_spec, port), span);
            Ok(())
        })?;
        let leave = self.nested(|this| this.leave(slots, slots.port, loopback, span))?;
        self.branch(bit(drop_ctl, 0, span), drop, leave, span);
        Ok(())
    }

    /// What a deparser of Tofino 2 leaves is cut off behind `mtu_trunc_len` bytes, if the program sets it.
    fn truncate(&mut self, pipe: &Pipe, role: ParamRole, span: Span) -> Result<()> {
        let length = member_of(self, &pipe.storage, &pipe.types, role, "mtu_trunc_len");
        let Some(length) = length.filter(|slot| self.writes(pipe, *slot)) else { return Ok(()) };
        let set = not(self.is(length, 0, span), span);
        let length = self.slot_expr(length, span);
        let cut = self.nested(|this| {
            let bytes = this.cast(length, Type::Bits(32), span)?;
            this.extern_call(ExternFn::Truncate, vec![ExternArg::In(bytes)], span);
            Ok(())
        })?;
        self.branch(set, cut, Vec::new(), span);
        Ok(())
    }

    /// A packet leaves at a port, or comes back where the port leads to.
    fn leave(&mut self, slots: &Slots, port: SlotId, loopback: ExternId, span: Span) -> Result<()> {
        let to = self.temp(Type::Bits(16), span);
        self.emit(StmtKind::Assign(to, Expr::constant(0u32, Type::Bits(16), span)), span);
        let out = self.slot_expr(port, span);
        let args = vec![ExternArg::Out(to), ExternArg::In(out.clone())];
        self.extern_call(ExternFn::RegisterRead(loopback), args, span);
        // The recirculation ports of each pipe.
        let (hi, lo, which) = if self.is_tofino2() { (6, 1, 6u32 >> 1) } else { (6, 2, 68 >> 2) };
        let ty = Type::Bits(hi - lo + 1);
        let group = Expr { kind: ExprKind::Slice { arg: Box::new(out.clone()), hi, lo }, ty, span };
        let recirculates = compare(group, Expr::constant(which, ty, span), span);
        let to = self.slot_expr(to, span);
        let unset = compare(to.clone(), Expr::constant(0u32, to.ty, span), span);
        let recirculates = binary(BinaryOp::LogicalAnd, recirculates, unset, Type::Bool, span);
        let wired = binary(BinaryOp::Ge, to.clone(), Expr::constant(LOOPBACK, to.ty, span), Type::Bool, span);
        let entered = mux(wired.clone(), slice(to, 8, span), out, span);
        let back = self.nested(|this| {
            let one = |ty| Expr::constant(1u32, ty, span);
            this.emit(StmtKind::Assign(slots.port, entered), span);
            this.emit(StmtKind::Assign(slots.again, one(Type::Bits(1))), span);
            this.emit(StmtKind::Assign(slots.phase, Expr::constant(0u32, Type::Bits(1), span)), span);
            this.emit(StmtKind::Assign(slots.prefix, Expr::constant(0u32, Type::Bits(8), span)), span);
            this.extern_call(ExternFn::Recirculate(TO_INGRESS), Vec::new(), span);
            Ok(())
        })?;
        let again = binary(BinaryOp::LogicalOr, wired, recirculates, Type::Bool, span);
        self.branch(again, back, Vec::new(), span);
        Ok(())
    }

    fn pipes_deparser(&mut self, slots: &Slots, pipes: &[Pipe], span: Span) -> Result<()> {
        let standard = self.standard_metadata();
        let copy = self.is(standard.instance_type, InstanceType::EgressClone as u32, span);
        let to_cpu = self.is(slots.cpu_copy, 1, span);
        let copy = binary(BinaryOp::LogicalAnd, copy, not(to_cpu, span), Type::Bool, span);
        let second = binary(BinaryOp::LogicalOr, copy, self.is(slots.pass, 1, span), Type::Bool, span);
        let as_received = self.is(standard.instance_type, InstanceType::IngressClone as u32, span);
        let ingress = pipes.iter().map(|p| request::late(&p.ingress_deparser)).collect();
        let egress = pipes.iter().map(|p| request::late(&p.egress_deparser)).collect();
        let ingress = self.deparser_by_pipe(slots, pipes, ingress, span)?;
        if slots.single {
            self.block.extend(ingress);
            return Ok(());
        }
        let egress = self.deparser_by_pipe(slots, pipes, egress, span)?;
        let ingress = self.nested(|this| {
            this.branch(not(as_received, span), ingress, Vec::new(), span);
            Ok(())
        })?;
        self.branch(second, egress, ingress, span);
        Ok(())
    }

    fn deparser_by_pipe(&mut self, slots: &Slots, pipes: &[Pipe], mut blocks: Vec<Block>, span: Span) -> Result<Block> {
        if pipes.len() == 1 {
            return Ok(blocks.remove(0));
        }
        self.nested(|this| {
            let value = this.slot_expr(slots.pipe, span);
            let cases = cases_of(pipes, blocks);
            this.emit(StmtKind::Switch { value, cases, default: Vec::new() }, span);
            Ok(())
        })
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
