//! Lowers packages whose packets are parsed and deparsed both for ingress and for egress, such as PSA's.
//!
//! The IR has one parser and one deparser. Such a program passes its pipeline twice: in the first pass it runs the ingress
//! blocks, and what the traffic manager sends to a port is recirculated at once; in the second pass it runs the egress blocks.
//! `phase` says which pass comes next. Metadata that go with a packet are field lists.
//!
//! | a packet is | in IR |
//! | --- | --- |
//! | sent to a port, replicated | the traffic manager's decision after the first pass, then a recirculation to the second |
//! | cloned at the end of ingress | a clone that is not parsed, recirculated to the second pass |
//! | cloned at the end of egress | a clone of the second pass, deparsed and recirculated to it |
//! | resubmitted | a resubmission |
//! | recirculated | a recirculation of the second pass to the first |

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use hopwright_ir::InstanceType;
use hopwright_ir::{
    BinaryOp, Block, Control, DROP_PORT, Expr, ExprKind, ExternArg, ExternCall, ExternFn, FieldList, KeySet, Parser,
    Pipeline, SelectCase, SlotId, SlotKind, State, StateId, StmtKind, Target, Transition, Type,
};
use hopwright_sema::architecture::{Architecture, BlockRole, ParamRole};
use hopwright_sema::hir;
use hopwright_source::{SourceMap, Span};
use num_bigint::BigUint;

use crate::parser::targets_mut;
use crate::program::Parts;
use crate::storage::{Loc, Place, Purpose};
use crate::tofino::request::{before_deparsing, late};
use crate::value::{binary, compare, mux, not, slice};
use crate::{Binding, Exit, Lowering, Reported, Result};

/// The port to which packets are sent that go back to ingress.
pub(crate) const RECIRCULATE_PORT: u32 = 0xffff_fffa;
/// Ports of nine bits from here on stand for those of 32 bits with ones above.
const FIRST_SPECIAL_PORT: u32 = 504;

// Members of `PSA_PacketPath_t`.
const NORMAL_UNICAST: u32 = 1;
const NORMAL_MULTICAST: u32 = 2;
const CLONE_I2E: u32 = 3;
const CLONE_E2E: u32 = 4;
const RESUBMIT: u32 = 5;
const RECIRCULATE: u32 = 6;

// Field lists.
const TO_EGRESS: u8 = 1;
const TO_INGRESS: u8 = 2;
const CLONED_BY_INGRESS: u8 = 3;
const CLONED_BY_EGRESS: u8 = 4;

const PORT: Type = Type::Bits(32);

/// Slots that say where a packet is.
struct Slots {
    /// The next pass: 0 for the ingress blocks.
    phase: SlotId,
    /// This pass.
    pass: SlotId,
    path: SlotId,
    port: SlotId,
    class_of_service: SlotId,
    instance: SlotId,
}

/// The blocks of the package, lowered.
struct Blocks {
    ingress: Block,
    ingress_deparser: Block,
    egress: Block,
    egress_deparser: Block,
}

impl Lowering<'_> {
    /// Lowers the whole program, whose objects and value sets have been lowered.
    pub(crate) fn two_passes(&mut self, architecture: &Architecture, sources: Arc<SourceMap>) -> Result<Pipeline> {
        let program = self.program;
        let main = &program.main;
        let span = main.span;
        let storage = self.storage_by_role(architecture)?;
        let mut slot =
            |name: &str, width| self.new_slot(&format!("psa.{name}"), Type::Bits(width), SlotKind::Metadata, span);
        let slots = Slots {
            phase: slot("phase", 1),
            pass: slot("pass", 1),
            path: slot("packet_path", 32),
            port: slot("egress_port", 32),
            class_of_service: slot("class_of_service", 8),
            instance: slot("instance", 16),
        };
        self.lists(&slots, &storage);

        let block = |role| architecture.block(role).map(|(at, _)| main.blocks[at].1).ok_or(Reported);
        let parsers = [self.parser(block(BlockRole::Parser)?), self.parser(block(BlockRole::EgressParser)?)];
        let ingress = self.contained(block(BlockRole::Ingress)?);
        let ingress_deparser = self.contained(block(BlockRole::IngressDeparser)?);
        let egress = self.contained(block(BlockRole::Egress)?);
        let egress_deparser = self.contained(block(BlockRole::Deparser)?);
        self.unapplied_tables();
        let [ingress_parser, egress_parser] = parsers;
        let parsers = [ingress_parser?, egress_parser?];
        let blocks = Blocks {
            ingress: ingress?,
            ingress_deparser: ingress_deparser?,
            egress: egress?,
            egress_deparser: egress_deparser?,
        };
        let parser = self.both_parsers(parsers, &slots, &storage, span)?;
        self.scope = "psa".into();
        let body = self.nested(|this| this.deparse(&slots, &blocks, span))?;
        let deparser = Control { name: program[block(BlockRole::Deparser)?].name.clone(), body, span };
        let ingress = self.ingress_pass(&slots, &storage, &blocks, span)?;
        let ingress = Control { name: program[block(BlockRole::Ingress)?].name.clone(), body: ingress, span };
        let egress = self.egress_pass(&slots, &storage, &blocks, span)?;
        let egress = Control { name: program[block(BlockRole::Egress)?].name.clone(), body: egress, span };
        let packet_in = storage.get(&ParamRole::EgressHeaders).and_then(|h| self.controller_header("packet_in", h));
        let packet_out = storage.get(&ParamRole::Headers).and_then(|h| self.controller_header("packet_out", h));
        let nothing = Control { name: String::new(), body: Vec::new(), span };
        let parts = Parts {
            parser,
            verify_checksum: nothing.clone(),
            ingress,
            egress,
            compute_checksum: nothing,
            deparser,
            packet_in,
            packet_out,
        };
        Ok(self.assemble(parts, sources))
    }

    /// Allocates the storage of each role, and binds the blocks' parameters to it.
    pub(crate) fn storage_by_role(&mut self, architecture: &Architecture) -> Result<HashMap<ParamRole, Place>> {
        let program = self.program;
        let mut storage: HashMap<ParamRole, Place> = HashMap::new();
        let mut types: HashMap<ParamRole, &hir::Type> = HashMap::new();
        for (block, (_, id)) in architecture.blocks.iter().zip(&program.main.blocks) {
            let instance = &program[*id];
            if instance.params.len() != block.params.len() {
                return Err(self.unsupported(instance.span, "a block with these parameters"));
            }
            for (param, role) in instance.params.iter().zip(block.params) {
                if *role == ParamRole::Packet {
                    continue;
                }
                let var = &program[param.var];
                let shared = match role {
                    ParamRole::PreHeaders => ParamRole::Headers,
                    ParamRole::PreMetadata => ParamRole::Metadata,
                    role => *role,
                };
                let of_type = types.get(&shared).is_none_or(|ty| **ty == var.ty);
                let place = match storage.get(&shared).filter(|_| of_type) {
                    Some(place) => place.clone(),
                    None => self.alloc(&var.ty, &var.name, Purpose::Metadata, var.span)?,
                };
                types.insert(*role, &var.ty);
                storage.insert(*role, place.clone());
                self.env.insert(param.var, Binding::Loc(Loc::Place(place)));
            }
        }
        Ok(storage)
    }

    /// What is kept from pass to pass.
    fn lists(&mut self, slots: &Slots, storage: &HashMap<ParamRole, Place>) {
        use ParamRole::{CloneE2eMeta, CloneI2eMeta, EgressMetadata, NormalMeta, RecirculateMeta, ResubmitMeta};
        let of = |this: &Self, roles: &[ParamRole], own: &[SlotId]| {
            let mut kept = own.to_vec();
            roles.iter().filter_map(|role| storage.get(role)).for_each(|place| this.slots_in(place, &mut kept));
            kept
        };
        let Slots { phase, path, port, class_of_service, instance, .. } = *slots;
        let go = [phase, path, port, class_of_service, instance];
        for (index, slots) in [
            (TO_EGRESS, of(self, &[NormalMeta, CloneI2eMeta, CloneE2eMeta], &go)),
            (TO_INGRESS, of(self, &[ResubmitMeta, RecirculateMeta], &[phase, path])),
            (CLONED_BY_INGRESS, of(self, &[CloneI2eMeta], &[])),
            (CLONED_BY_EGRESS, of(self, &[CloneE2eMeta, EgressMetadata], &[])),
        ] {
            self.field_lists.push(FieldList { index, slots });
        }
    }

    /// Lowers a control so that `exit` ends it and nothing behind it.
    pub(crate) fn contained(&mut self, id: hir::InstanceId) -> Result<Block> {
        let instance = &self.program[id];
        let hir::InstanceBody::Control(stmts) = &instance.body else {
            return Err(self.unsupported(instance.span, "a parser in the place of a control"));
        };
        self.scope = instance.name.clone();
        let label = self.label();
        self.exit = Exit::Leave(label);
        self.block = Vec::new();
        self.stmts(&instance.locals);
        self.body(stmts, Vec::new(), None, instance.span)?;
        let body = std::mem::take(&mut self.block);
        self.scoped(label, body, instance.span);
        self.exit = Exit::Direct;
        Ok(std::mem::take(&mut self.block))
    }

    /// One parser that begins with the right one.
    fn both_parsers(
        &mut self,
        parsers: [Parser; 2],
        slots: &Slots,
        storage: &HashMap<ParamRole, Place>,
        span: Span,
    ) -> Result<Parser> {
        let [ingress, egress] = parsers;
        let name = ingress.name.clone();
        let standard = self.standard_metadata();
        let begin = self.nested(|this| {
            let phase = this.slot_expr(slots.phase, span);
            this.emit(StmtKind::Assign(slots.pass, phase), span);
            Ok(())
        })?;
        let to_ingress = self.nested(|this| {
            let port = this.ingress_port(slots, span);
            this.set(storage, ParamRole::IngressParserInput, "ingress_port", port, span);
            let path = this.slot_expr(slots.path, span);
            this.set(storage, ParamRole::IngressParserInput, "packet_path", path, span);
            Ok(())
        })?;
        let to_egress = self.nested(|this| {
            let port = this.slot_expr(slots.port, span);
            this.set(storage, ParamRole::EgressParserInput, "egress_port", port, span);
            let path = this.slot_expr(slots.path, span);
            this.set(storage, ParamRole::EgressParserInput, "packet_path", path, span);
            Ok(())
        })?;
        let (second, third) = (3, 3 + ingress.states.len() as u32);
        let state = |id: u32| Target::State(StateId(id));
        let instance = self.slot_expr(standard.instance_type, span);
        let phase = self.slot_expr(slots.phase, span);
        let case = |sets, target| SelectCase { sets, target, span };
        let select = Transition::Select {
            keys: vec![instance, phase],
            cases: vec![
                // A copy that goes to egress as it was received.
                case(vec![KeySet::Value(number(InstanceType::IngressClone as u32)), KeySet::Any], Target::Accept),
                case(vec![KeySet::Any, KeySet::Value(number(0))], state(1)),
                case(vec![KeySet::Any, KeySet::Any], state(2)),
            ],
        };
        let go = |start: StateId, first: u32| Transition::Goto(state(start.0 + first));
        let mut states = vec![
            State { name: self.unique("$pass"), body: begin, transition: select, span },
            State { name: self.unique("$ingress"), body: to_ingress, transition: go(ingress.start, second), span },
            State { name: self.unique("$egress"), body: to_egress, transition: go(egress.start, third), span },
        ];
        for (parser, first) in [(ingress, second), (egress, third)] {
            for mut state in parser.states {
                for target in targets_mut(&mut state.transition) {
                    if let Target::State(id) = target {
                        id.0 += first;
                    }
                }
                states.push(state);
            }
        }
        Ok(Parser { name, states, start: StateId(0), span })
    }

    fn ingress_pass(
        &mut self,
        slots: &Slots,
        storage: &HashMap<ParamRole, Place>,
        blocks: &Blocks,
        span: Span,
    ) -> Result<Block> {
        use ParamRole::{CloneI2eMeta, IngressInput, IngressOutput, NormalMeta, ResubmitMeta};
        let standard = self.standard_metadata();
        let metas = self.slots_of(storage, &[CloneI2eMeta, ResubmitMeta, NormalMeta]);
        let first = self.nested(|this| {
            let port = this.ingress_port(slots, span);
            this.set(storage, IngressInput, "ingress_port", port, span);
            let path = this.slot_expr(slots.path, span);
            this.set(storage, IngressInput, "packet_path", path, span);
            let time = this.wide(standard.ingress_global_timestamp, 64, span);
            this.set(storage, IngressInput, "ingress_timestamp", time, span);
            let error = this.slot_expr(standard.parser_error, span);
            this.set(storage, IngressInput, "parser_error", error, span);
            this.set(storage, IngressOutput, "drop", Expr::boolean(true, span), span);
            this.block.extend(blocks.ingress.iter().cloned());
            let early = before_deparsing(this, &blocks.ingress_deparser, metas);
            this.block.extend(early);

            let clone = this.get(storage, IngressOutput, "clone", span)?;
            let session = this.get(storage, IngressOutput, "clone_session_id", span)?;
            this.clone_if(clone, session, false, CLONED_BY_INGRESS, span)?;
            let dropped = this.get(storage, IngressOutput, "drop", span)?;
            let again = this.get(storage, IngressOutput, "resubmit", span)?;
            let group = this.get(storage, IngressOutput, "multicast_group", span)?;
            let port = this.get(storage, IngressOutput, "egress_port", span)?;
            let kept = not(dropped, span);
            let resubmit = this.nested(|this| {
                this.start_over(slots, 0, RESUBMIT, span);
                this.extern_call(ExternFn::Resubmit(TO_INGRESS), Vec::new(), span);
                Ok(())
            })?;
            let both = binary(BinaryOp::LogicalAnd, kept.clone(), again, Type::Bool, span);
            this.branch(both, resubmit, Vec::new(), span);
            let drop = Expr::constant(DROP_PORT, Type::Bits(9), span);
            let spec = mux(kept.clone(), narrow_port(port, span), drop, span);
            this.emit(StmtKind::Assign(standard.egress_spec, spec), span);
            let group = slice(group, 15, span);
            let none = Expr::constant(0u32, Type::Bits(16), span);
            this.emit(StmtKind::Assign(standard.mcast_grp, mux(kept, group, none, span)), span);
            Ok(())
        })?;
        let second = self.nested(|this| {
            let port = narrow_port(this.slot_expr(slots.port, span), span);
            this.emit(StmtKind::Assign(standard.egress_spec, port), span);
            Ok(())
        })?;
        self.nested(|this| {
            let first_pass = this.is(slots.pass, 0, span);
            this.branch(first_pass, first, second, span);
            Ok(())
        })
    }

    fn egress_pass(
        &mut self,
        slots: &Slots,
        storage: &HashMap<ParamRole, Place>,
        blocks: &Blocks,
        span: Span,
    ) -> Result<Block> {
        use ParamRole::{CloneE2eMeta, EgressDeparserInput, EgressInput, EgressOutput, IngressOutput, RecirculateMeta};
        let standard = self.standard_metadata();
        let metas = self.slots_of(storage, &[CloneE2eMeta, RecirculateMeta]);
        let instance_type = |this: &Self, which: InstanceType| this.is(standard.instance_type, which as u32, span);
        let path = |n: u32| Expr::constant(n, PORT, span);
        // A packet, a copy of a group or a clone on its way to the second pass.
        let on_the_way = |this: &mut Self| {
            let port = wide_port(this.slot_expr(standard.egress_port, span), span);
            this.emit(StmtKind::Assign(slots.port, port), span);
            let rid = this.slot_expr(standard.egress_rid, span);
            this.emit(StmtKind::Assign(slots.instance, rid), span);
            this.emit(StmtKind::Assign(slots.phase, Expr::constant(1u32, Type::Bits(1), span)), span);
            this.extern_call(ExternFn::Recirculate(TO_EGRESS), Vec::new(), span);
        };
        let cloned = self.nested(|this| {
            this.emit(StmtKind::Assign(slots.path, path(CLONE_E2E)), span);
            on_the_way(this);
            Ok(())
        })?;
        let first = self.nested(|this| {
            let multicast = instance_type(this, InstanceType::Replication);
            let clone = instance_type(this, InstanceType::IngressClone);
            let normal = mux(multicast, path(NORMAL_MULTICAST), path(NORMAL_UNICAST), span);
            this.emit(StmtKind::Assign(slots.path, mux(clone, path(CLONE_I2E), normal, span)), span);
            let class = this.get(storage, IngressOutput, "class_of_service", span)?;
            this.emit(StmtKind::Assign(slots.class_of_service, class), span);
            on_the_way(this);
            Ok(())
        })?;
        let second = self.nested(|this| {
            let port = this.slot_expr(slots.port, span);
            this.set(storage, EgressInput, "egress_port", port.clone(), span);
            this.set(storage, EgressDeparserInput, "egress_port", port.clone(), span);
            for (name, slot) in [
                ("class_of_service", slots.class_of_service),
                ("packet_path", slots.path),
                ("instance", slots.instance),
                ("parser_error", standard.parser_error),
            ] {
                let value = this.slot_expr(slot, span);
                this.set(storage, EgressInput, name, value, span);
            }
            let time = this.wide(standard.egress_global_timestamp, 64, span);
            this.set(storage, EgressInput, "egress_timestamp", time, span);
            this.block.extend(blocks.egress.iter().cloned());
            let early = before_deparsing(this, &blocks.egress_deparser, metas);
            this.block.extend(early);

            let clone = this.get(storage, EgressOutput, "clone", span)?;
            let session = this.get(storage, EgressOutput, "clone_session_id", span)?;
            this.clone_if(clone, session, true, CLONED_BY_EGRESS, span)?;
            let dropped = this.get(storage, EgressOutput, "drop", span)?;
            let drop = this.nested(|this| {
                let port = Expr::constant(DROP_PORT, Type::Bits(9), span);
                this.emit(StmtKind::Assign(standard.egress_spec, port), span);
                Ok(())
            })?;
            let again = this.nested(|this| {
                this.start_over(slots, 0, RECIRCULATE, span);
                this.extern_call(ExternFn::Recirculate(TO_INGRESS), Vec::new(), span);
                Ok(())
            })?;
            let back = compare(port, Expr::constant(RECIRCULATE_PORT, PORT, span), span);
            let otherwise = this.nested(|this| {
                this.branch(back, again, Vec::new(), span);
                Ok(())
            })?;
            this.branch(dropped, drop, otherwise, span);
            Ok(())
        })?;
        self.nested(|this| {
            let first_pass = this.is(slots.pass, 0, span);
            let whole = this.nested(|this| {
                this.branch(first_pass, first, second, span);
                Ok(())
            })?;
            let copy = instance_type(this, InstanceType::EgressClone);
            this.branch(copy, cloned, whole, span);
            Ok(())
        })
    }

    fn deparse(&mut self, slots: &Slots, blocks: &Blocks, span: Span) -> Result<()> {
        let standard = self.standard_metadata();
        let copy = self.is(standard.instance_type, InstanceType::EgressClone as u32, span);
        let second = binary(BinaryOp::LogicalOr, copy, self.is(slots.pass, 1, span), Type::Bool, span);
        let as_received = self.is(standard.instance_type, InstanceType::IngressClone as u32, span);
        let ingress = self.nested(|this| {
            this.branch(not(as_received, span), late(&blocks.ingress_deparser), Vec::new(), span);
            Ok(())
        })?;
        self.branch(second, late(&blocks.egress_deparser), ingress, span);
        Ok(())
    }

    /// The ingress port of 32 bits; the same for all recirculated packets.
    fn ingress_port(&self, slots: &Slots, span: Span) -> Expr {
        let port = wide_port(self.slot_expr(self.standard_metadata().ingress_port, span), span);
        let again = self.is(slots.path, RECIRCULATE, span);
        mux(again, Expr::constant(RECIRCULATE_PORT, PORT, span), port, span)
    }

    fn start_over(&mut self, slots: &Slots, phase: u32, path: u32, span: Span) {
        self.emit(StmtKind::Assign(slots.phase, Expr::constant(phase, Type::Bits(1), span)), span);
        self.emit(StmtKind::Assign(slots.path, Expr::constant(path, PORT, span)), span);
    }

    fn clone_if(&mut self, clone: Expr, session: Expr, egress: bool, list: u8, span: Span) -> Result<()> {
        let session = self.cast(session, Type::Bits(32), span)?;
        let then = self.nested(|this| {
            this.extern_call(ExternFn::Clone { egress, field_list: Some(list) }, vec![ExternArg::In(session)], span);
            Ok(())
        })?;
        self.branch(clone, then, Vec::new(), span);
        Ok(())
    }

    pub(crate) fn extern_call(&mut self, function: ExternFn, args: Vec<ExternArg>, span: Span) {
        self.emit(StmtKind::Extern(ExternCall { function, args, span }), span);
    }

    pub(crate) fn branch(&mut self, cond: Expr, then: Block, otherwise: Block, span: Span) {
        self.emit(StmtKind::If { cond, then, otherwise }, span);
    }

    pub(crate) fn is(&self, slot: SlotId, value: u32, span: Span) -> Expr {
        let slot = self.slot_expr(slot, span);
        let ty = slot.ty;
        compare(slot, Expr::constant(value, ty, span), span)
    }

    pub(crate) fn wide(&self, slot: SlotId, width: u32, span: Span) -> Expr {
        Expr { kind: ExprKind::Cast(Box::new(self.slot_expr(slot, span))), ty: Type::Bits(width), span }
    }

    /// The slot of a member of the architecture's metadata, by the type that a block's parameter has.
    fn member(&self, storage: &HashMap<ParamRole, Place>, role: ParamRole, name: &str) -> Option<SlotId> {
        let architecture = self.program.architecture()?;
        let (block, at) = (architecture.blocks.iter().zip(&self.program.main.blocks))
            .find_map(|(block, (_, id))| Some((*id, block.params.iter().position(|p| *p == role)?)))?;
        let param = self.program[block].params.get(at)?;
        let hir::Type::Struct(id) = &self.program[param.var].ty else { return None };
        let index = self.program[*id].fields.iter().position(|f| f.name == name)?;
        match self.place_field(storage.get(&role)?, index)? {
            Place::Scalar(slot) => Some(slot),
            _ => None,
        }
    }

    fn get(&mut self, storage: &HashMap<ParamRole, Place>, role: ParamRole, name: &str, span: Span) -> Result<Expr> {
        match self.member(storage, role, name) {
            Some(slot) => Ok(self.slot_expr(slot, span)),
            None => Err(self.unsupported(span, format!("metadata without a member `{name}`"))),
        }
    }

    pub(crate) fn set(
        &mut self,
        storage: &HashMap<ParamRole, Place>,
        role: ParamRole,
        name: &str,
        value: Expr,
        span: Span,
    ) {
        if let Some(slot) = self.member(storage, role, name)
            && self.slots[slot.index()].ty == value.ty
        {
            self.emit(StmtKind::Assign(slot, value), span);
        }
    }

    fn slots_of(&self, storage: &HashMap<ParamRole, Place>, roles: &[ParamRole]) -> HashSet<SlotId> {
        let mut slots = Vec::new();
        roles.iter().filter_map(|role| storage.get(role)).for_each(|place| self.slots_in(place, &mut slots));
        slots.into_iter().collect()
    }
}

pub(crate) fn number(value: u32) -> BigUint {
    value.into()
}

/// A port of nine bits as one of 32: the last eight have ones above.
pub(crate) fn wide_port(port: Expr, span: Span) -> Expr {
    let cast = Expr { kind: ExprKind::Cast(Box::new(port.clone())), ty: PORT, span };
    let first = Expr::constant(FIRST_SPECIAL_PORT, Type::Bits(9), span);
    let special = binary(BinaryOp::Ge, port, first, Type::Bool, span);
    let ones = Expr::constant(0xffff_fe00u32, PORT, span);
    mux(special, binary(BinaryOp::Or, cast.clone(), ones, PORT, span), cast, span)
}

/// A port of 32 bits as one of nine; the drop port if there is none.
pub(crate) fn narrow_port(port: Expr, span: Span) -> Expr {
    let low = slice(port.clone(), 8, span);
    let exists = compare(wide_port(low.clone(), span), port, span);
    mux(exists, low, Expr::constant(DROP_PORT, Type::Bits(9), span), span)
}
