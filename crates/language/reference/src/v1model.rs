//! v1model: the way of a packet as BMv2's `simple_switch` documents it.

use std::rc::Rc;

use hopwright_sema::architecture::{BlockRole, ParamRole};
use hopwright_sema::hir::{AnnotationArg, Type, TypedProgram};

use crate::blocks::{Passed, params, type_of};
use crate::externs::DROP_PORT;
use crate::machine::{Fault, Kept, Packet, Stop};
use crate::place;
use crate::state::{Replica, Session};
use crate::switch::{self, deparsed};
use crate::value::Value;
use crate::{Output, Reference};

use ParamRole::{Intrinsic, Metadata};

/// `instance_type` of `standard_metadata_t`.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Instance {
    Normal = 0,
    IngressClone = 1,
    EgressClone = 2,
    Recirculated = 4,
    Replicated = 5,
    Resubmitted = 6,
}

/// A packet with what blocks pass on.
#[derive(Clone)]
struct Flight {
    packet: Packet,
    passed: Passed,
}

/// Packets wait for egress with the port to which they go.
type Switch<'a> = switch::Switch<'a, Flight, (Flight, u16)>;

/// Processes a packet and all copies and repetitions of it; those on their way to egress go first.
pub(crate) fn process(reference: &mut Reference, port: u16, bytes: &[u8], now_us: u64) -> Output {
    let mut switch = Switch::new(reference, now_us);
    let received = switch.start(bytes.into(), port.into(), Instance::Normal);
    switch.ingress.push_back(received);
    switch.process(Switch::ingress, |switch, (flight, port)| switch.egress(flight, port))
}

impl Switch<'_> {
    /// A packet in front of the parser: its metadata are zero but for what the switch knows.
    fn start(&self, bytes: Rc<[u8]>, port: u64, instance: Instance) -> Flight {
        let mut flight = Flight { packet: Packet::new(bytes), passed: Passed::default() };
        let length = flight.packet.bytes.len() as u64;
        self.set(&mut flight, "ingress_port", port);
        self.set(&mut flight, "packet_length", length);
        self.set(&mut flight, "instance_type", instance as u64);
        self.set(&mut flight, "ingress_global_timestamp", self.now_us);
        flight
    }

    fn get(&self, flight: &Flight, name: &str) -> u64 {
        flight.passed.member(&self.reference.program, Intrinsic, name).small()
    }

    fn set(&self, flight: &mut Flight, name: &str, number: u64) {
        flight.passed.set_number(&self.reference.program, Intrinsic, name, number);
    }

    /// Runs a block; a parser's error becomes `parser_error`.
    fn run(&mut self, role: BlockRole, flight: &mut Flight) -> Result<(), Fault> {
        let Reference { program, state, .. } = &mut *self.reference;
        match flight.passed.run(program, state, role, &mut flight.packet, self.now_us) {
            Ok(()) | Err(Stop::Exit) => {}
            Err(Stop::Reject(error)) => {
                flight.passed.set(program, Intrinsic, "parser_error", Value::Member(error));
            }
            Err(Stop::Fault(fault)) => return Err(fault),
        }
        if std::mem::take(&mut flight.packet.requests.checksum_error) {
            self.set(flight, "checksum_error", 1);
        }
        Ok(())
    }

    /// Parser, checksum verification, ingress, and what happens behind them: clone, resubmit, multicast, drop or unicast.
    fn ingress(&mut self, mut flight: Flight, first: bool) -> Result<(), Fault> {
        self.run(BlockRole::Parser, &mut flight)?;
        if first {
            let error = flight.passed.member(&self.reference.program, Intrinsic, "parser_error");
            self.output.parser_error = error.small() as usize;
        }
        self.run(BlockRole::VerifyChecksum, &mut flight)?;
        let done = self.run(BlockRole::Ingress, &mut flight);
        self.output.digests.append(&mut flight.packet.requests.digests);
        done?;
        let (clone, resubmit) = (flight.packet.requests.clone_ingress.take(), flight.packet.requests.resubmit.take());
        let port = self.get(&flight, "ingress_port");
        if let Some((session, kept)) = clone
            && let Some(to) = self.reference.state.sessions.get(&session).copied()
        {
            // A copy of the packet as it was received, which is parsed again.
            let mut copy = self.start(flight.packet.bytes.clone(), port, Instance::IngressClone);
            let done =
                self.run(BlockRole::Parser, &mut copy).and_then(|()| self.run(BlockRole::VerifyChecksum, &mut copy));
            match done {
                Ok(()) => {
                    self.keep(&flight, &mut copy, &kept);
                    self.set(&mut copy, "instance_type", Instance::IngressClone as u64);
                    self.mirror(copy, to);
                }
                Err(fault) => {
                    let fault = self.reference.fault(&fault);
                    self.output.fault.get_or_insert(fault);
                }
            }
        }
        if let Some(kept) = resubmit {
            let again = self.start(flight.packet.bytes.clone(), port, Instance::Resubmitted);
            self.again(&flight, again, &kept, Instance::Resubmitted);
            return Ok(());
        }
        let group = self.get(&flight, "mcast_grp") as u16;
        if group != 0 {
            self.set(&mut flight, "instance_type", Instance::Replicated as u64);
            self.replicate(&flight, group);
            return Ok(());
        }
        let port = self.get(&flight, "egress_spec");
        if port != u64::from(DROP_PORT) {
            self.egress.push_back((flight, port as u16));
        }
        Ok(())
    }

    /// Egress, and what happens behind it: clone, drop, recirculate or send.
    fn egress(&mut self, mut flight: Flight, port: u16) -> Result<(), Fault> {
        self.set(&mut flight, "egress_port", port.into());
        let change = std::mem::take(&mut flight.packet.requests.length_change);
        let length = self.get(&flight, "packet_length").wrapping_add_signed(change);
        self.set(&mut flight, "packet_length", length & u64::from(u32::MAX));
        for name in ["egress_spec", "deq_timedelta", "enq_qdepth", "deq_qdepth"] {
            self.set(&mut flight, name, 0);
        }
        for name in ["enq_timestamp", "egress_global_timestamp"] {
            self.set(&mut flight, name, self.now_us);
        }
        let done = self.run(BlockRole::Egress, &mut flight);
        let requests = std::mem::take(&mut flight.packet.requests);
        self.output.digests.extend(requests.digests);
        done?;
        if let Some((session, kept)) = requests.clone_egress
            && let Some(to) = self.reference.state.sessions.get(&session).copied()
        {
            // A copy with the headers as egress left them.
            let mut copy = flight.clone();
            copy.packet.steps = 0;
            copy.packet.requests.length_change = requests.length_change;
            copy.passed.reset(Metadata);
            copy.passed.reset(Intrinsic);
            for name in ["ingress_port", "packet_length"] {
                let value = self.get(&flight, name);
                self.set(&mut copy, name, value);
            }
            self.keep(&flight, &mut copy, &kept);
            self.set(&mut copy, "instance_type", Instance::EgressClone as u64);
            self.mirror(copy, to);
        }
        if self.get(&flight, "egress_spec") == u64::from(DROP_PORT) {
            return Ok(());
        }
        self.run(BlockRole::ComputeChecksum, &mut flight)?;
        let done = self.run(BlockRole::Deparser, &mut flight);
        self.output.digests.append(&mut flight.packet.requests.digests);
        done?;
        let mut bytes = deparsed(&flight.packet);
        if let Some(most) = requests.truncate {
            bytes.truncate(most as usize);
        }
        if let Some(kept) = requests.recirculate {
            let again = self.start(bytes.into(), self.get(&flight, "ingress_port"), Instance::Recirculated);
            self.again(&flight, again, &kept, Instance::Recirculated);
            return Ok(());
        }
        self.output.sent.push((port, bytes));
        Ok(())
    }

    /// A packet that goes through the parser and ingress again.
    fn again(&mut self, from: &Flight, mut again: Flight, kept: &Kept, instance: Instance) {
        self.keep(from, &mut again, kept);
        self.set(&mut again, "instance_type", instance as u64);
        self.ingress.push_back(again);
    }

    fn replicate(&mut self, flight: &Flight, group: u16) {
        for Replica { rid, port } in self.reference.state.groups.get(&group).cloned().unwrap_or_default() {
            let mut copy = flight.clone();
            self.set(&mut copy, "egress_rid", rid.into());
            self.egress.push_back((copy, port));
        }
    }

    fn mirror(&mut self, mut copy: Flight, to: Session) {
        copy.packet.requests.truncate = to.truncate;
        if let Some(group) = to.group {
            self.replicate(&copy, group);
        }
        if let Some(port) = to.port {
            self.egress.push_back((copy, port));
        }
    }

    /// Copies the metadata that a copy or repetition keeps.
    fn keep(&self, from: &Flight, to: &mut Flight, kept: &Kept) {
        let program = &self.reference.program;
        match kept {
            Kept::Nothing => {}
            Kept::List(list) => {
                let mut metadata = to.passed.get(program, Metadata);
                if let Some(ty) = type_of(program, 0, Metadata) {
                    keep_list(program, ty, &from.passed.get(program, Metadata), &mut metadata, *list);
                }
                to.passed.put(Metadata, metadata);
            }
            Kept::Places(places) => {
                for kept in places {
                    let role = params(program, 0).into_iter().find(|(_, var)| *var == kept.var).map(|(role, _)| role);
                    let Some(role) = role else { continue };
                    let (old, mut new) = (from.passed.get(program, role), to.passed.get(program, role));
                    if let Some(value) = place::part(&old, &kept.path) {
                        place::change(&mut new, &kept.path, |target| *target = value.clone());
                    }
                    to.passed.put(role, new);
                }
            }
        }
    }
}

/// Copies the members with `@field_list(list)`, and in structs those of theirs.
fn keep_list(program: &TypedProgram, ty: &Type, from: &Value, to: &mut Value, list: u8) {
    let Type::Struct(id) = ty else { return };
    for (at, field) in program[*id].fields.iter().enumerate() {
        let in_list = field.annotations.iter().filter(|a| a.name == "field_list").flat_map(|a| &a.args);
        let kept = in_list.into_iter().any(|arg| *arg == AnnotationArg::Int(list.into()));
        let (Some(old), Some(new)) = (from.members().get(at), to.members_mut().get_mut(at)) else { continue };
        if kept {
            *new = old.clone();
        } else {
            keep_list(program, &field.ty, old, new, list);
        }
    }
}
