//! The v1model switch around the program: what `simple_switch` does between parser, ingress, egress and deparser.
//!
//! Copies wait in two queues. The egress queue is served first, so packets leave in the order in which they were made.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::exec::Machine;
use super::observe::{Decision, Event, Observer};
use super::store::Store;
use super::{Externs, Fault, Interp, MAX_STEPS, Output, PacketState, QueueDepths, Room, Sent, Stage, Verdict};
use hopwright_ir::meter::Color;
use hopwright_ir::{DROP_PORT, InstanceType, Pipeline, SlotKind};

/// The destinations of a clone session: the group's ports first, then the port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CloneSession {
    /// The port of a single copy.
    pub port: Option<u16>,
    /// Multicast group.
    pub group: Option<u16>,
    /// The maximum length of the copies in bytes.
    pub truncate: Option<u32>,
}

/// One copy of a multicast group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replica {
    /// `egress_rid`.
    pub rid: u16,
    /// `egress_port`.
    pub port: u16,
}

/// The traffic manager's configuration by the control plane.
#[derive(Clone, Debug, Default)]
pub struct TrafficManager {
    /// Clone sessions by number (0 to 32,767).
    pub sessions: BTreeMap<u32, CloneSession>,
    /// Multicast groups by number (from 1).
    pub groups: BTreeMap<u16, Vec<Replica>>,
}

/// A packet before its parser.
struct ToIngress {
    packet: PacketState,
}

/// A packet before egress.
struct ToEgress {
    packet: PacketState,
    port: u16,
}

/// Processes one received packet and all copies made from it.
pub(super) struct Run<'a> {
    pipeline: &'a Pipeline,
    store: &'a mut dyn Store,
    externs: &'a mut Externs,
    depths: &'a QueueDepths,
    priorities: &'a mut Vec<u8>,
    max_passes: u32,
    room: Room,
    observer: Option<&'a mut dyn Observer>,
    now_us: u64,
    ingress: VecDeque<ToIngress>,
    egress: VecDeque<ToEgress>,
    output: Output,
}

impl<'a> Run<'a> {
    pub(super) fn new<S: Store>(
        interp: &'a mut Interp<S>,
        observer: Option<&'a mut dyn Observer>,
        now_us: u64,
    ) -> Run<'a> {
        let Interp { pipeline, store, externs, depths, priorities, max_passes, room } = interp;
        store.begin();
        priorities.clear();
        Run {
            pipeline,
            store,
            externs,
            depths,
            priorities,
            max_passes: *max_passes,
            room: *room,
            observer,
            now_us,
            ingress: VecDeque::new(),
            egress: VecDeque::new(),
            output: Output::default(),
        }
    }

    pub(super) fn process(mut self, bytes: &[u8], port: u16) -> Output {
        let bytes: Arc<[u8]> = bytes.into();
        let mut packet = self.start_of_pass(bytes, u64::from(port), InstanceType::Normal);
        packet.headroom = self.room.first_pass;
        self.ingress.push_back(ToIngress { packet });
        let mut first = true;
        let most = self.max_passes;
        for _ in 0..most {
            let done = if let Some(next) = self.egress.pop_front() {
                self.egress_pass(next)
            } else if let Some(next) = self.ingress.pop_front() {
                self.ingress_pass(next, std::mem::take(&mut first))
            } else {
                return self.finish();
            };
            if let Err(fault) = done {
                self.fail(fault);
            }
        }
        self.fail(Fault {
            message: format!("more than {most} passes of copies and repetitions of a packet"),
            span: self.pipeline.ingress.span,
        });
        self.finish()
    }

    fn fail(&mut self, fault: Fault) {
        self.output.fault.get_or_insert(fault);
        self.output.faults += 1;
    }

    /// Drops a packet that has become too long.
    fn outgrow(&mut self, length: usize) {
        self.tell(Decision::NoHeadroom { length });
        self.output.no_headroom += 1;
    }

    /// Queues a packet that starts over for ingress.
    fn again(&mut self, packet: PacketState) {
        let length = packet.bytes.len();
        if length > self.room.longest {
            return self.outgrow(length);
        }
        self.ingress.push_back(ToIngress { packet });
    }

    fn finish(mut self) -> Output {
        self.output.verdict = if self.output.fault.is_some() {
            Verdict::Fault
        } else if !self.output.sent.is_empty() {
            Verdict::Forward
        } else if self.output.no_headroom > 0 {
            Verdict::NoHeadroom
        } else {
            Verdict::Drop
        };
        self.output
    }

    /// Reports a decision of the traffic manager to the observer.
    fn tell(&mut self, decision: Decision) {
        if let Some(observer) = &mut self.observer {
            observer.event(&Event::Decision(decision));
        }
    }

    fn machine<'m>(&'m mut self, packet: &'m mut PacketState) -> Machine<'m> {
        Machine {
            pipeline: self.pipeline,
            store: self.store,
            externs: self.externs,
            packet,
            observer: match &mut self.observer {
                Some(observer) => Some(&mut **observer),
                None => None,
            },
            params: Vec::new(),
            now_us: self.now_us,
            color: Color::Green,
            hit: None,
        }
    }

    /// Creates a packet at the start of a pass, whose metadata are zero except what the switch sets.
    fn start_of_pass(&self, bytes: Arc<[u8]>, port: u64, instance: InstanceType) -> PacketState {
        let standard = self.pipeline.standard;
        let length = bytes.len() as u64;
        let mut packet = PacketState::new(self.pipeline, bytes);
        packet.headroom = self.room.later_pass;
        packet.set(standard.ingress_port, port);
        packet.set(standard.packet_length, length);
        packet.set(standard.instance_type, instance as u64);
        packet.set(standard.ingress_global_timestamp, self.now_us);
        packet
    }

    /// Copies the slots of a field list.
    fn keep_fields(&self, from: &PacketState, to: &mut PacketState, list: Option<u8>) {
        let lists = &self.pipeline.field_lists;
        let Some(list) = lists.iter().find(|l| Some(l.index) == list) else {
            return;
        };
        for slot in &list.slots {
            to.slots[slot.index()] = from.get(*slot).clone();
        }
    }

    fn ingress_pass(&mut self, next: ToIngress, first: bool) -> Result<(), Fault> {
        let ToIngress { mut packet } = next;
        let standard = self.pipeline.standard;
        self.machine(&mut packet).parse()?;
        if first {
            self.output.parser_error = packet.get(standard.parser_error).to_u64() as u32;
        }
        let mut machine = self.machine(&mut packet);
        machine.control(Stage::VerifyChecksum)?;
        let done = machine.control(Stage::Ingress);
        // Digests sent before a fault are delivered.
        let digests = std::mem::take(&mut packet.requests.digests);
        if done.is_err() {
            self.output.digests.extend(digests);
            return done;
        }

        // These requests are ingress's; the others are for egress.
        let clone = packet.requests.clone_ingress.take();
        let resubmit = packet.requests.resubmit.take();
        let further = std::mem::take(&mut packet.requests.replicate);
        let port = packet.get(standard.ingress_port).to_u64();
        if let Some((number, list)) = clone
            && let Some(session) = self.store.clone_session(number)
        {
            self.tell(Decision::CloneIngress { session: number });
            match self.clone_ingress(&packet, list) {
                Ok(copy) => self.mirror(copy, session),
                Err(fault) => self.fail(fault),
            }
        }
        for digest in digests {
            self.tell(Decision::Digest);
            self.output.digests.push(digest);
        }
        if let Some(list) = resubmit {
            self.tell(Decision::Resubmit);
            let mut again = self.start_of_pass(packet.bytes.clone(), port, InstanceType::Resubmitted);
            self.keep_fields(&packet, &mut again, Some(list));
            again.set(standard.instance_type, InstanceType::Resubmitted as u64);
            self.again(again);
            return Ok(());
        }
        let group = packet.get(standard.mcast_grp).to_u64() as u16;
        if group != 0 {
            packet.set(standard.instance_type, InstanceType::Replication as u64);
            self.replicate(&packet, group);
            if further as u16 != 0 {
                self.replicate(&packet, further as u16);
            }
            if further >> 16 == 0 {
                return Ok(());
            }
            packet.set(standard.instance_type, InstanceType::Normal as u64);
        }
        let port = packet.get(standard.egress_spec).to_u64() as u16;
        if u32::from(port) == DROP_PORT {
            self.tell(Decision::DropIngress);
            return Ok(());
        }
        self.tell(Decision::Unicast { port });
        self.egress.push_back(ToEgress { packet, port });
        Ok(())
    }

    /// Clones the packet as it was received, and parses the copy.
    fn clone_ingress(&mut self, packet: &PacketState, list: Option<u8>) -> Result<PacketState, Fault> {
        let standard = self.pipeline.standard;
        let port = packet.get(standard.ingress_port).to_u64();
        let mut copy = self.start_of_pass(packet.bytes.clone(), port, InstanceType::IngressClone);
        copy.headroom = packet.headroom;
        let mut machine = self.machine(&mut copy);
        machine.parse()?;
        machine.control(Stage::VerifyChecksum)?;
        self.keep_fields(packet, &mut copy, list);
        copy.set(standard.instance_type, InstanceType::IngressClone as u64);
        Ok(copy)
    }

    fn replicate(&mut self, packet: &PacketState, group: u16) {
        let replicas = self.store.multicast_group(group);
        self.tell(Decision::Multicast { group, copies: replicas.len() });
        for Replica { rid, port } in replicas {
            let mut packet = packet.clone();
            packet.set(self.pipeline.standard.egress_rid, u64::from(rid));
            self.egress.push_back(ToEgress { packet, port });
        }
    }

    fn mirror(&mut self, mut copy: PacketState, session: CloneSession) {
        copy.requests.truncate = session.truncate;
        if let Some(group) = session.group {
            self.replicate(&copy, group);
        }
        if let Some(port) = session.port {
            self.egress.push_back(ToEgress { packet: copy, port });
        }
    }

    fn egress_pass(&mut self, next: ToEgress) -> Result<(), Fault> {
        let ToEgress { mut packet, port } = next;
        let standard = self.pipeline.standard;
        packet.set(standard.egress_port, u64::from(port));
        // As in BMv2, the drop port plus one, which is 0 in nine bits: the packet is not dropped by default.
        packet.set(standard.egress_spec, 0);
        packet.set(standard.enq_timestamp, self.now_us);
        let priority = packet.get(standard.priority).to_u64() as u8;
        packet.set(standard.deq_timedelta, u64::from(self.depths.wait(port, priority)));
        let depth = u64::from(self.depths.get(port, priority));
        packet.set(standard.enq_qdepth, depth);
        packet.set(standard.deq_qdepth, depth);
        packet.set(standard.egress_global_timestamp, self.now_us);
        let done = self.machine(&mut packet).control(Stage::Egress);
        let requests = std::mem::take(&mut packet.requests);
        self.output.digests.extend(requests.digests);
        done?;
        if let Some((number, list)) = requests.clone_egress
            && let Some(session) = self.store.clone_session(number)
        {
            self.tell(Decision::CloneEgress { session: number });
            let mut copy = packet.clone();
            copy.steps_left = MAX_STEPS;
            copy.reset(self.pipeline, |kind| matches!(kind, SlotKind::Metadata | SlotKind::Standard | SlotKind::Local));
            let kept = [standard.ingress_port, standard.packet_length];
            for slot in kept {
                copy.slots[slot.index()] = packet.get(slot).clone();
            }
            self.keep_fields(&packet, &mut copy, list);
            copy.set(standard.instance_type, InstanceType::EgressClone as u64);
            self.mirror(copy, session);
        }
        if packet.get(standard.egress_spec).to_u64() == u64::from(DROP_PORT) {
            self.tell(Decision::DropEgress);
            return Ok(());
        }
        let mut machine = self.machine(&mut packet);
        machine.control(Stage::ComputeChecksum)?;
        let done = machine.control(Stage::Deparser);
        self.output.digests.append(&mut packet.requests.digests);
        done?;
        let mut out = std::mem::take(&mut packet.out);
        out.push_bytes(packet.payload());
        let mut bytes = out.into_bytes();
        if bytes.len().saturating_sub(packet.bytes.len()) > packet.headroom {
            self.outgrow(bytes.len());
            return Ok(());
        }
        if let Some(most) = requests.truncate {
            bytes.truncate(most as usize);
        }
        if let Some(list) = requests.recirculate {
            self.tell(Decision::Recirculate);
            let port = packet.get(standard.ingress_port).to_u64();
            let mut again = self.start_of_pass(bytes.into(), port, InstanceType::Recirculated);
            self.keep_fields(&packet, &mut again, Some(list));
            again.set(standard.instance_type, InstanceType::Recirculated as u64);
            self.again(again);
            return Ok(());
        }
        self.tell(Decision::Sent { port, length: bytes.len() });
        let copy = packet.get(standard.instance_type).to_u64() as u32;
        self.output.sent.push(Sent { port, bytes, instance_type: copy });
        self.priorities.push(priority);
        Ok(())
    }
}
