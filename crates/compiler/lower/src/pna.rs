//! Lowers packages of the Portable NIC Architecture: parser, pre-control, main control and deparser, in one pass.
//!
//! What the main control asks for by calls (`send_to_port`, `drop_packet`, `mirror_packet`, `recirculate`) is kept in slots. Behind it, the
//! IR's ingress ends with the decision where the packet goes; the IR's egress makes the copy and lets the packet start over, because
//! both have the headers as the main control left them.

use std::collections::HashMap;
use std::sync::Arc;

use hopwright_ir::{
    BinaryOp, Block, Control, DROP_PORT, Expr, ExternArg, ExternFn, FieldList, InstanceType, Parser, Pipeline, SlotId,
    SlotKind, State, StateId, StmtKind, Target, Transition, Type,
};
use hopwright_sema::architecture::{Architecture, BlockRole, ParamRole};
use hopwright_sema::hir;
use hopwright_source::{SourceMap, Span};

use crate::externs::Arguments;
use crate::program::Parts;
use crate::storage::Place;
use crate::two_passes::{narrow_port, wide_port};
use crate::value::{Value, binary, compare, mux, not};
use crate::{Lowering, Reported, Result};

const PORT: Type = Type::Bits(32);
const PASS: Type = Type::Bits(3);

// Field lists: of packets that start over, and of copies.
const TO_START: u8 = 1;
const COPIED: u8 = 2;

/// What the main control decides about a packet, and the number of its pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Requests {
    pass: SlotId,
    /// Whether the packet is sent, and to which port.
    sent: SlotId,
    port: SlotId,
    again: SlotId,
    /// Whether there is a copy, and for which session.
    mirrored: SlotId,
    session: SlotId,
}

impl Lowering<'_> {
    pub(crate) fn is_pna(&self) -> bool {
        self.program.architecture().is_some_and(|a| a.name == "pna")
    }

    /// Lowers the whole program, whose objects and value sets have been lowered.
    pub(crate) fn nic(&mut self, architecture: &Architecture, sources: Arc<SourceMap>) -> Result<Pipeline> {
        let program = self.program;
        let main = &program.main;
        let span = main.span;
        let storage = self.storage_by_role(architecture)?;
        let mut slot = |name: &str, ty| self.new_slot(&format!("pna.{name}"), ty, SlotKind::Metadata, span);
        let requests = Requests {
            pass: slot("pass", PASS),
            sent: slot("sent", Type::Bool),
            port: slot("port", PORT),
            again: slot("again", Type::Bool),
            mirrored: slot("mirrored", Type::Bool),
            session: slot("session", Type::Bits(16)),
        };
        self.nic_requests = Some(requests);
        self.field_lists.push(FieldList { index: TO_START, slots: vec![requests.pass] });
        let mut copied = Vec::new();
        for role in [ParamRole::Metadata, ParamRole::IngressOutput] {
            storage.get(&role).into_iter().for_each(|place| self.slots_in(place, &mut copied));
        }
        self.field_lists.push(FieldList { index: COPIED, slots: copied });

        let block = |role| architecture.block(role).map(|(at, _)| main.blocks[at].1).ok_or(Reported);
        let parser = self.parser(block(BlockRole::Parser)?);
        let pre = self.contained(block(BlockRole::PreControl)?);
        let control = self.contained(block(BlockRole::Ingress)?);
        let deparser = self.control(block(BlockRole::Deparser)?);
        self.unapplied_tables();
        let (parser, pre, control, deparser) = (parser?, pre?, control?, deparser?);

        self.scope = "pna".into();
        let parser = self.nic_parser(parser, requests, &storage, span)?;
        let standard = self.standard_metadata();
        let body = self.nested(|this| {
            let error = this.slot_expr(standard.parser_error, span);
            this.nic_input(requests, &storage, ParamRole::PreInput, span);
            this.set(&storage, ParamRole::PreInput, "parser_error", error.clone(), span);
            this.block.extend(pre);
            this.nic_input(requests, &storage, ParamRole::IngressInput, span);
            this.set(&storage, ParamRole::IngressInput, "parser_error", error, span);
            let time = this.wide(standard.ingress_global_timestamp, 64, span);
            this.set(&storage, ParamRole::IngressInput, "timestamp", time, span);
            this.block.extend(control);
            this.nic_decision(requests, span);
            Ok(())
        })?;
        let ingress = Control { name: program[block(BlockRole::Ingress)?].name.clone(), body, span };
        let body = self.nic_end(requests, span)?;
        let headers = storage.get(&ParamRole::Headers);
        let nothing = Control { name: String::new(), body: Vec::new(), span };
        let parts = Parts {
            parser,
            verify_checksum: nothing.clone(),
            ingress,
            egress: Control { body, ..nothing.clone() },
            compute_checksum: nothing,
            deparser,
            packet_in: headers.and_then(|h| self.controller_header("packet_in", h)),
            packet_out: headers.and_then(|h| self.controller_header("packet_out", h)),
        };
        Ok(self.assemble(parts, sources))
    }

    /// The parser, which knows first where the packet comes from.
    fn nic_parser(
        &mut self,
        mut parser: Parser,
        requests: Requests,
        storage: &HashMap<ParamRole, Place>,
        span: Span,
    ) -> Result<Parser> {
        let body = self.nested(|this| {
            this.nic_input(requests, storage, ParamRole::IngressParserInput, span);
            Ok(())
        })?;
        let transition = Transition::Goto(Target::State(parser.start));
        parser.start = StateId(parser.states.len() as u32);
        parser.states.push(State { name: self.unique("$packet"), body, transition, span });
        Ok(parser)
    }

    /// What blocks are told of a packet. All packets come from the network.
    fn nic_input(&mut self, requests: Requests, storage: &HashMap<ParamRole, Place>, role: ParamRole, span: Span) {
        let port = wide_port(self.slot_expr(self.standard_metadata().ingress_port, span), span);
        self.set(storage, role, "input_port", port, span);
        let pass = self.slot_expr(requests.pass, span);
        self.set(storage, role, "pass", pass, span);
    }

    /// Where the packet goes. One that is copied or starts over goes to egress in any case.
    fn nic_decision(&mut self, requests: Requests, span: Span) {
        let again = self.slot_expr(requests.again, span);
        let mirrored = self.slot_expr(requests.mirrored, span);
        let any = binary(BinaryOp::LogicalOr, again, mirrored, Type::Bool, span);
        let port = self.nic_port(requests, span);
        let nowhere = compare(port.clone(), Expr::constant(DROP_PORT, Type::Bits(9), span), span);
        let through = binary(BinaryOp::LogicalAnd, any, nowhere, Type::Bool, span);
        let spec = mux(through, Expr::constant(0u32, Type::Bits(9), span), port, span);
        self.emit(StmtKind::Assign(self.standard_metadata().egress_spec, spec), span);
    }

    /// The port of a packet that is sent, or the drop port.
    fn nic_port(&self, requests: Requests, span: Span) -> Expr {
        let port = narrow_port(self.slot_expr(requests.port, span), span);
        mux(self.slot_expr(requests.sent, span), port, Expr::constant(DROP_PORT, Type::Bits(9), span), span)
    }

    /// What happens to a packet behind the main control, but not to its copies.
    fn nic_end(&mut self, requests: Requests, span: Span) -> Result<Block> {
        let standard = self.standard_metadata();
        let clone = self.nested(|this| {
            let session = this.slot_expr(requests.session, span);
            let session = this.cast(session, Type::Bits(32), span)?;
            let function = ExternFn::Clone { egress: true, field_list: Some(COPIED) };
            this.extern_call(function, vec![ExternArg::In(session)], span);
            Ok(())
        })?;
        let again = self.nested(|this| {
            let pass = this.slot_expr(requests.pass, span);
            let next = binary(BinaryOp::Add, pass, Expr::constant(1u32, PASS, span), PASS, span);
            this.emit(StmtKind::Assign(requests.pass, next), span);
            this.extern_call(ExternFn::Recirculate(TO_START), Vec::new(), span);
            Ok(())
        })?;
        let decided = self.nested(|this| {
            let port = this.nic_port(requests, span);
            this.emit(StmtKind::Assign(standard.egress_spec, port), span);
            Ok(())
        })?;
        let original = self.nested(|this| {
            let mirrored = this.slot_expr(requests.mirrored, span);
            this.branch(mirrored, clone, Vec::new(), span);
            let starts_over = this.slot_expr(requests.again, span);
            this.branch(starts_over, again, decided, span);
            Ok(())
        })?;
        self.nested(|this| {
            let copy = this.is(standard.instance_type, InstanceType::EgressClone as u32, span);
            this.branch(not(copy, span), original, Vec::new(), span);
            Ok(())
        })
    }

    /// Lowers a function that the architecture declares; `None` if it is none of these.
    pub(crate) fn nic_function(&mut self, name: &str, call: &hir::Call) -> Option<Result<Option<Value>>> {
        let requests = self.nic_requests?;
        let span = call.span;
        Some(match name {
            "drop_packet" => {
                self.emit(StmtKind::Assign(requests.sent, Expr::boolean(false, span)), span);
                Ok(None)
            }
            "recirculate" => {
                self.emit(StmtKind::Assign(requests.again, Expr::boolean(true, span)), span);
                Ok(None)
            }
            "send_to_port" => self.noted(call, 0, requests.sent, requests.port),
            "mirror_packet" => self.noted(call, 1, requests.mirrored, requests.session),
            "SelectByDirection" => self.by_direction(call),
            // Packets add no entries, and have no flows.
            "add_entry" => Ok(Some(Value::Scalar(Expr::boolean(false, span)))),
            "allocate_flow_id" => Ok(Some(Value::Scalar(Expr::constant(0u32, Type::Bits(32), span)))),
            "set_entry_expire_time" | "restart_expire_timer" => Ok(None),
            _ => return None,
        })
    }

    /// Notes a request with its number, an argument.
    fn noted(&mut self, call: &hir::Call, at: usize, flag: SlotId, number: SlotId) -> Result<Option<Value>> {
        let span = call.span;
        let value = Arguments::new(self, call)?.scalar(self, at)?;
        self.emit(StmtKind::Assign(number, value), span);
        self.emit(StmtKind::Assign(flag, Expr::boolean(true, span)), span);
        Ok(None)
    }

    fn by_direction(&mut self, call: &hir::Call) -> Result<Option<Value>> {
        let span = call.span;
        let mut args = Arguments::new(self, call)?;
        let direction = args.scalar(self, 0)?;
        let (to_host, to_net) = (args.scalar(self, 1)?, args.scalar(self, 2)?);
        let first = Expr::constant(0u32, direction.ty, span);
        Ok(Some(Value::Scalar(mux(compare(direction, first, span), to_host, to_net, span))))
    }
}
