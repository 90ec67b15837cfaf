//! The Portable Switch Architecture 1.2: ingress, packet replication engine, egress, buffering and queueing engine.

use std::rc::Rc;

use hopwright_sema::architecture::{BlockRole, ParamRole};
use hopwright_sema::hir::TypedProgram;
use num_bigint::BigInt;

use crate::blocks::Passed;
use crate::externs::RECIRCULATE;
use crate::machine::{Fault, Packet, Stop};
use crate::state::Session;
use crate::switch::{self, deparsed};
use crate::value::Value;
use crate::{Output, Reference};

use ParamRole::{
    CloneE2eMeta, CloneI2eMeta, EgressDeparserInput, EgressInput, EgressOutput, EgressParserInput, IngressInput,
    IngressOutput, IngressParserInput, NormalMeta, RecirculateMeta, ResubmitMeta,
};

/// Ports of the device that stand for the last ports of 32 bits.
const FIRST_SPECIAL: u64 = 504;
/// A port of the device that nothing is sent to.
const NO_PORT: u64 = 511;

/// A port of the device as programs know it.
pub(crate) fn wide(port: u64) -> u64 {
    if port >= FIRST_SPECIAL { port | 0xffff_fe00 } else { port }
}

/// The device's port; `None` if it has none with this number.
pub(crate) fn narrow(port: u64) -> Option<u16> {
    let low = port & 0x1ff;
    (wide(low) == port && low != NO_PORT).then_some(low as u16)
}

/// A packet in front of the ingress parser.
struct ToIngress {
    bytes: Rc<[u8]>,
    port: u64,
    path: &'static str,
    /// What goes with it.
    meta: Option<(ParamRole, Value)>,
}

/// A packet in front of the egress parser.
#[derive(Clone)]
struct ToEgress {
    bytes: Rc<[u8]>,
    port: u64,
    path: &'static str,
    instance: u16,
    class_of_service: Value,
    meta: (ParamRole, Value),
}

type Switch<'a> = switch::Switch<'a, ToIngress, ToEgress>;

/// Processes a packet and all copies and repetitions of it; those on their way to egress go first.
pub(crate) fn process(reference: &mut Reference, port: u16, bytes: &[u8], now_us: u64) -> Output {
    let mut switch = Switch::new(reference, now_us);
    let port = wide(port.into());
    switch.ingress.push_back(ToIngress { bytes: bytes.into(), port, path: "NORMAL", meta: None });
    switch.process(Switch::ingress, Switch::egress)
}

/// A member of `PSA_PacketPath_t`.
fn path(program: &TypedProgram, name: &str) -> Value {
    let paths = program.enums.iter().find(|e| e.name == "PSA_PacketPath_t");
    Value::Member(paths.and_then(|e| e.members.iter().position(|(n, _)| n == name)).unwrap_or(0))
}

/// A pass through the ingress or the egress pipeline.
struct Pass {
    packet: Packet,
    passed: Passed,
    /// The error of the parser.
    error: usize,
}

impl Pass {
    fn new(bytes: Rc<[u8]>) -> Pass {
        Pass { packet: Packet::new(bytes), passed: Passed::default(), error: 0 }
    }

    fn flag(&self, program: &TypedProgram, role: ParamRole, name: &str) -> bool {
        self.passed.member(program, role, name).truth()
    }

    fn number(&self, program: &TypedProgram, role: ParamRole, name: &str) -> u64 {
        self.passed.member(program, role, name).small()
    }
}

impl Switch<'_> {
    fn run(&mut self, role: BlockRole, pass: &mut Pass) -> Result<(), Fault> {
        let Reference { program, state, .. } = &mut *self.reference;
        let result = pass.passed.run(program, state, role, &mut pass.packet, self.now_us);
        self.output.digests.append(&mut pass.packet.requests.digests);
        match result {
            Ok(()) | Err(Stop::Exit) => {}
            Err(Stop::Reject(error)) => pass.error = error,
            Err(Stop::Fault(fault)) => return Err(fault),
        }
        Ok(())
    }

    /// The ingress pipeline, and the packet replication engine's decision.
    fn ingress(&mut self, next: ToIngress, first: bool) -> Result<(), Fault> {
        let program = self.reference.program.clone();
        let mut pass = Pass::new(next.bytes.clone());
        for role in [IngressParserInput, IngressInput] {
            pass.passed.set_number(&program, role, "ingress_port", next.port);
            pass.passed.set(&program, role, "packet_path", path(&program, next.path));
        }
        if let Some((role, meta)) = next.meta {
            pass.passed.put(role, meta);
        }
        self.run(BlockRole::Parser, &mut pass)?;
        if first {
            self.output.parser_error = pass.error;
        }
        pass.passed.set_number(&program, IngressInput, "ingress_timestamp", self.now_us);
        pass.passed.set(&program, IngressInput, "parser_error", Value::Member(pass.error));
        pass.passed.set(&program, IngressOutput, "drop", Value::Bool(true));
        self.run(BlockRole::Ingress, &mut pass)?;
        // What came with the packet is not what goes with it.
        pass.passed.reset(ResubmitMeta);
        self.run(BlockRole::IngressDeparser, &mut pass)?;

        let zero = Value::Number(BigInt::ZERO);
        let copy = |role, path| ToEgress {
            bytes: next.bytes.clone(),
            port: 0,
            path,
            instance: 0,
            class_of_service: zero.clone(),
            meta: (role, pass.passed.get(&program, role)),
        };
        if pass.flag(&program, IngressOutput, "clone") {
            let session = pass.number(&program, IngressOutput, "clone_session_id");
            self.mirror(&copy(CloneI2eMeta, "CLONE_I2E"), session);
        }
        if pass.flag(&program, IngressOutput, "drop") {
            return Ok(());
        }
        if pass.flag(&program, IngressOutput, "resubmit") {
            let meta = Some((ResubmitMeta, pass.passed.get(&program, ResubmitMeta)));
            self.ingress.push_back(ToIngress { bytes: next.bytes, port: next.port, path: "RESUBMIT", meta });
            return Ok(());
        }
        let mut forwarded = copy(NormalMeta, "NORMAL_UNICAST");
        forwarded.bytes = deparsed(&pass.packet).into();
        forwarded.class_of_service = pass.passed.member(&program, IngressOutput, "class_of_service");
        let group = pass.number(&program, IngressOutput, "multicast_group");
        if group != 0 {
            forwarded.path = "NORMAL_MULTICAST";
            self.replicate(&forwarded, group as u16);
            return Ok(());
        }
        forwarded.port = pass.number(&program, IngressOutput, "egress_port");
        if narrow(forwarded.port).is_some() {
            self.egress.push_back(forwarded);
        }
        Ok(())
    }

    /// The egress pipeline, and the buffering and queueing engine's decision.
    fn egress(&mut self, next: ToEgress) -> Result<(), Fault> {
        let program = self.reference.program.clone();
        let mut pass = Pass::new(next.bytes);
        for role in [EgressParserInput, EgressInput, EgressDeparserInput] {
            pass.passed.set_number(&program, role, "egress_port", next.port);
            pass.passed.set(&program, role, "packet_path", path(&program, next.path));
        }
        pass.passed.put(next.meta.0, next.meta.1);
        self.run(BlockRole::EgressParser, &mut pass)?;
        pass.passed.set(&program, EgressInput, "class_of_service", next.class_of_service);
        pass.passed.set_number(&program, EgressInput, "instance", next.instance.into());
        pass.passed.set_number(&program, EgressInput, "egress_timestamp", self.now_us);
        pass.passed.set(&program, EgressInput, "parser_error", Value::Member(pass.error));
        self.run(BlockRole::Egress, &mut pass)?;
        // What came with the packet is not what goes with its copy.
        pass.passed.reset(CloneE2eMeta);
        self.run(BlockRole::Deparser, &mut pass)?;

        let bytes: Rc<[u8]> = deparsed(&pass.packet).into();
        if pass.flag(&program, EgressOutput, "clone") {
            let copy = ToEgress {
                bytes: bytes.clone(),
                port: 0,
                path: "CLONE_E2E",
                instance: 0,
                class_of_service: Value::Number(BigInt::ZERO),
                meta: (CloneE2eMeta, pass.passed.get(&program, CloneE2eMeta)),
            };
            self.mirror(&copy, pass.number(&program, EgressOutput, "clone_session_id"));
        }
        if pass.flag(&program, EgressOutput, "drop") {
            return Ok(());
        }
        if next.port == RECIRCULATE {
            let meta = Some((RecirculateMeta, pass.passed.get(&program, RecirculateMeta)));
            self.ingress.push_back(ToIngress { bytes, port: RECIRCULATE, path: "RECIRCULATE", meta });
            return Ok(());
        }
        if let Some(port) = narrow(next.port) {
            self.output.sent.push((port, bytes.to_vec()));
        }
        Ok(())
    }

    /// Copies of a clone session.
    fn mirror(&mut self, copy: &ToEgress, session: u64) {
        let session = u32::try_from(session).unwrap_or(u32::MAX);
        let Some(Session { port, group, truncate }) = self.reference.state.sessions.get(&session).copied() else {
            return;
        };
        let most = truncate.map_or(copy.bytes.len(), |most| copy.bytes.len().min(most as usize));
        let copy = ToEgress { bytes: copy.bytes[..most].into(), ..copy.clone() };
        if let Some(group) = group {
            self.replicate(&copy, group);
        }
        if let Some(port) = port {
            self.egress.push_back(ToEgress { port: wide(port.into()), ..copy });
        }
    }

    /// Copies of a multicast group.
    fn replicate(&mut self, packet: &ToEgress, group: u16) {
        for replica in self.reference.state.groups.get(&group).cloned().unwrap_or_default() {
            let (port, instance) = (wide(replica.port.into()), replica.rid);
            self.egress.push_back(ToEgress { port, instance, ..packet.clone() });
        }
    }
}
