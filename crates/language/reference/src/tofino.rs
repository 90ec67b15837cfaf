//! The Tofino Native Architecture of Tofino and Tofino 2: ingress and egress with a parser and a deparser each, in up to four
//! pipes, and the traffic manager between them (`docs/tofino.md`).

use std::rc::Rc;

use hopwright_sema::architecture::{BlockRole, ParamRole};
use hopwright_sema::hir::TypedProgram;

use crate::bits::{Bits, Reader};
use crate::blocks::Passed;
use crate::machine::{Fault, Machine, Packet, Stop};
use crate::state::Session;
use crate::switch::{self, deparsed};
use crate::value::{self, Value};
use crate::{Output, Reference};

use ParamRole::{EgressForDeparser, EgressFromParser, IngressForDeparser, IngressForTm, IngressFromParser};

/// The port that nothing is sent to.
pub(crate) const NO_PORT: u64 = 511;
/// The clone session of copies to the CPU.
const CPU_SESSION: u32 = 1024;
/// In a cell of `loopback`: what leaves at this port enters ingress at the port in the low bits.
const WIRED: u64 = 1 << 15;
/// In a cell of `level1_exclusion`: the node has the exclusion id in the low bits.
const EXCLUDES: u64 = 1 << 16;
/// The number of multicast group 0.
const GROUP_ZERO: u16 = 0x8000 + 1025;
/// What types of requests and multicast groups are until the program writes them: less than any of their values, because the device
/// finds them only if they were written.
const UNWRITTEN: i32 = -1;
/// Registers of the device with their sizes and widths, for the control plane.
pub(crate) const REGISTERS: [(&str, u64, u32); 4] = [
    ("loopback", 512, 16),
    ("port_metadata", 512, 192),
    ("level1_exclusion", 1 << 16, 17),
    ("level2_exclusion", 1 << 18, 1),
];

fn is_tofino2(program: &TypedProgram) -> bool {
    program.architecture().is_some_and(|a| a.name == "t2na")
}

/// The number of bits of port metadata.
pub(crate) fn port_metadata_width(program: &TypedProgram) -> usize {
    if is_tofino2(program) { 192 } else { 64 }
}

/// A packet in front of an ingress parser.
struct ToIngress {
    bytes: Rc<[u8]>,
    port: u64,
    /// The header of a `Resubmit` object.
    resubmitted: Option<Bits>,
}

/// A packet in front of an egress parser.
#[derive(Clone)]
struct ToEgress {
    bytes: Rc<[u8]>,
    port: u64,
    rid: u16,
    queue: u64,
    class: u64,
    /// The header of a `Mirror` object.
    mirrored: Option<Bits>,
}

type Switch<'a> = switch::Switch<'a, ToIngress, ToEgress>;

/// Processes a packet and all copies and repetitions of it; those on their way to egress go first.
pub(crate) fn process(reference: &mut Reference, port: u16, bytes: &[u8], now_us: u64) -> Output {
    let mut switch = Switch::new(reference, now_us);
    if u64::from(port) == NO_PORT && !switch.reference.program.main.ghosts.is_empty() {
        let fault = switch.ghosts(bytes).err().map(|fault| switch.reference.fault(&fault));
        return Output { fault, ..switch.output };
    }
    switch.ingress.push_back(ToIngress { bytes: bytes.into(), port: u64::from(port) & 0x1ff, resubmitted: None });
    switch.process(Switch::ingress, Switch::egress)
}

/// A pass through ingress or egress of a pipe.
struct Pass {
    packet: Packet,
    passed: Passed,
    error: usize,
}

impl Switch<'_> {
    /// A pass of a packet behind a prefix; `None` if the port's pipe has no program.
    fn start(&self, bytes: &[u8], prefix: &Bits, port: u64) -> Option<Pass> {
        let pipes = self.reference.program.main.blocks.len() / 6;
        let pipeline = self.reference.program.main.pipeline_in((port >> 7) as usize, pipes)?;
        let mut packet = Packet::new([prefix.bytes(), bytes].concat().into());
        packet.prefix = prefix.bytes().len();
        Some(Pass { packet, passed: Passed::of_pipe(pipeline), error: 0 })
    }

    fn run(&mut self, role: BlockRole, pass: &mut Pass) -> Result<(), Fault> {
        let Reference { program, state, .. } = &mut *self.reference;
        let result = pass.passed.run(program, state, role, &mut pass.packet, self.now_us);
        self.output.digests.append(&mut pass.packet.requests.digests);
        match result {
            // The device ends a parser at `reject` as at `accept`.
            Ok(()) | Err(Stop::Exit | Stop::Reject(0)) => {}
            Err(Stop::Reject(error)) => pass.error = error,
            Err(Stop::Fault(fault)) => return Err(fault),
        }
        Ok(())
    }

    fn number(&self, pass: &Pass, role: ParamRole, name: &str) -> u64 {
        pass.passed.member(&self.reference.program, role, name).small()
    }

    fn flag(&self, pass: &Pass, role: ParamRole, name: &str, bit: u32) -> bool {
        self.number(pass, role, name) >> bit & 1 == 1
    }

    fn set(&self, pass: &mut Pass, role: ParamRole, name: &str, number: u64) {
        pass.passed.set_number(&self.reference.program, role, name, number);
    }

    fn unwritten(&self, pass: &mut Pass, role: ParamRole, names: &[&str]) {
        for name in names {
            pass.passed.set(&self.reference.program, role, name, Value::Number(UNWRITTEN.into()));
        }
    }

    /// A register of the device.
    fn device(&self, name: &str, index: u64) -> u64 {
        self.reference.register(name, index).map_or(0, |cell| u64::try_from(cell).unwrap_or(0))
    }

    /// Time in nanoseconds.
    fn time(&self) -> u64 {
        self.now_us.wrapping_mul(1000)
    }

    /// An error as a bit of `parser_err`.
    fn error_flags(&self, error: usize) -> u64 {
        match self.reference.program.errors.get(error).map(String::as_str) {
            Some("NoError") => 0,
            // A header that is cut off is a partial one, and extracted from beyond the packet.
            Some("PacketTooShort") => 0x22,
            Some("CounterRange") => 4,
            Some("StackOutOfBounds") => 0x40,
            _ => 1,
        }
    }

    /// `ingress_intrinsic_metadata_t`, and port metadata or the header of a resubmitted packet.
    fn ingress_prefix(&self, next: &ToIngress) -> Bits {
        let mut bits = Bits::default();
        bits.push(&u8::from(next.resubmitted.is_some()).into(), 1);
        bits.push(&0u32.into(), 6);
        bits.push(&next.port.into(), 9);
        bits.push(&self.time().into(), 48);
        let width = match &next.resubmitted {
            Some(header) => {
                bits.push(&header.number(), header.len());
                64
            }
            None => {
                let width = port_metadata_width(&self.reference.program);
                let metadata = self.reference.register("port_metadata", next.port).unwrap_or_default();
                bits.push(&metadata, width);
                width
            }
        };
        bits.push(&0u32.into(), (64 + width).saturating_sub(bits.len()));
        bits
    }

    /// `egress_intrinsic_metadata_t`, and the header of a mirrored packet; and the number of bits of the former.
    fn egress_prefix(&self, next: &ToEgress) -> (Bits, usize) {
        let tofino2 = is_tofino2(&self.reference.program);
        let (time, queue) = if tofino2 { (32, 7) } else { (18, 5) };
        let mut bits = Bits::default();
        for (number, width) in [
            (next.port, 16),
            // Queue depth, congestion and a pool; then the time, depth and congestion when the packet left its queue.
            (0, 24),
            (0, 8),
            (0, 32 - time),
            (self.time(), time),
            (0, 24),
            (0, 8 + 8),
            (0, 32),
            (next.rid.into(), 16),
            (0, 8),
            (0, 8 - queue),
            (next.queue, queue),
            (next.class, 8),
            (0, 8),
            (next.bytes.len() as u64, 16),
        ] {
            bits.push(&number.into(), width);
        }
        if tofino2 {
            bits.push(&0u32.into(), 8);
        }
        let intrinsic = bits.len();
        if let Some(header) = &next.mirrored {
            bits.push(&header.number(), header.len());
        }
        (bits, intrinsic)
    }

    /// A report of the traffic manager, which is `ghost_intrinsic_metadata_t`: runs the ghost thread of its pipe.
    fn ghosts(&mut self, report: &[u8]) -> Result<(), Fault> {
        let Reference { program, state, .. } = &mut *self.reference;
        let pipes = program.main.blocks.len() / 6;
        for (pipe, id) in &program.main.ghosts {
            let Some(param) = program[*id].params.first() else { continue };
            let ty = &program[param.var].ty;
            if 8 * report.len() < value::width(program, ty) as usize {
                continue;
            }
            let header = value::unpack(program, ty, &mut Reader { bytes: report, at: 0 }, 0);
            // The pipe is the last member.
            if pipes > 1 && header.members().last().is_none_or(|id| id.small() != *pipe as u64) {
                continue;
            }
            let mut packet = Packet::new(report.into());
            let mut machine = Machine::new(program, state, &mut packet, self.now_us);
            if let Err(Stop::Fault(fault)) = machine.package_block(*id, &mut [header]) {
                return Err(fault);
            }
        }
        Ok(())
    }

    /// Ingress, its deparser, and the traffic manager's decision.
    fn ingress(&mut self, next: ToIngress, first: bool) -> Result<(), Fault> {
        let Some(mut pass) = self.start(&next.bytes, &self.ingress_prefix(&next), next.port) else { return Ok(()) };
        let has_group_zero = self.reference.state.groups.contains_key(&GROUP_ZERO);
        self.set(&mut pass, IngressForTm, "ucast_egress_port", NO_PORT);
        self.set(&mut pass, IngressFromParser, "global_tstamp", self.time());
        self.run(BlockRole::Parser, &mut pass)?;
        if first {
            self.output.parser_error = pass.error;
        }
        // Packets with errors are dropped unless the program reads the error.
        if pass.error != 0 && !self.reference.state.reads_parser_error {
            self.set(&mut pass, IngressForTm, "ucast_egress_port", NO_PORT);
        } else {
            let flags = self.error_flags(pass.error);
            self.set(&mut pass, IngressFromParser, "parser_err", flags);
            self.unwritten(&mut pass, IngressForDeparser, &["resubmit_type", "digest_type", "mirror_type"]);
            if has_group_zero {
                self.unwritten(&mut pass, IngressForTm, &["mcast_grp_a", "mcast_grp_b"]);
            }
            self.run(BlockRole::Ingress, &mut pass)?;
        }
        self.run(BlockRole::IngressDeparser, &mut pass)?;
        let requests = std::mem::take(&mut pass.packet.requests);
        if let Some((session, header)) = requests.mirror
            && !self.flag(&pass, IngressForDeparser, "drop_ctl", 2)
        {
            self.mirror(next.bytes.clone(), session, Some(header), 0, 0);
        }
        if let Some(header) = requests.resubmit_header {
            self.ingress.push_back(ToIngress { bytes: next.bytes, port: next.port, resubmitted: Some(header) });
            return Ok(());
        }
        let sent = ToEgress {
            bytes: self.cut(&pass, IngressForDeparser).into(),
            port: self.number(&pass, IngressForTm, "ucast_egress_port"),
            rid: 0,
            queue: self.number(&pass, IngressForTm, "qid"),
            class: self.number(&pass, IngressForTm, "ingress_cos"),
            mirrored: None,
        };
        let dropped = self.flag(&pass, IngressForDeparser, "drop_ctl", 0);
        let [a, b] = ["mcast_grp_a", "mcast_grp_b"].map(|name| self.number(&pass, IngressForTm, name));
        let groups = match [a, b] {
            _ if dropped => [0, 0],
            written if written.iter().any(|group| (1..=0xffff).contains(group)) => {
                written.map(|group| u16::try_from(group).unwrap_or(0))
            }
            written if has_group_zero && written.contains(&0) && sent.port == NO_PORT => [GROUP_ZERO, 0],
            _ => [0, 0],
        };
        let bypass = self.flag(&pass, IngressForTm, "bypass_egress", 0);
        for group in groups.into_iter().filter(|group| *group != 0) {
            self.replicate(&pass, &sent, group, bypass);
        }
        if self.flag(&pass, IngressForTm, "copy_to_cpu", 0) && !self.flag(&pass, IngressForDeparser, "drop_ctl", 1) {
            self.mirror(sent.bytes.clone(), CPU_SESSION, None, sent.queue, sent.class);
        }
        if !dropped && sent.port != NO_PORT {
            self.forward(sent, bypass);
        }
        Ok(())
    }

    /// Egress, its deparser, and the way out.
    fn egress(&mut self, next: ToEgress) -> Result<(), Fault> {
        let (prefix, intrinsic) = self.egress_prefix(&next);
        let Some(mut pass) = self.start(&next.bytes, &prefix, next.port) else { return Ok(()) };
        if self.reference.state.egress_begins_behind.contains(&pass.passed.pipe()) {
            pass.packet.at = intrinsic;
        }
        self.set(&mut pass, EgressFromParser, "global_tstamp", self.time());
        self.run(BlockRole::EgressParser, &mut pass)?;
        let flags = self.error_flags(pass.error);
        self.set(&mut pass, EgressFromParser, "parser_err", flags);
        self.unwritten(&mut pass, EgressForDeparser, &["mirror_type"]);
        self.run(BlockRole::Egress, &mut pass)?;
        self.run(BlockRole::Deparser, &mut pass)?;
        if let Some((session, header)) = pass.packet.requests.mirror.take()
            && !self.flag(&pass, EgressForDeparser, "drop_ctl", 2)
        {
            self.mirror(deparsed(&pass.packet).into(), session, Some(header), 0, 0);
        }
        if !self.flag(&pass, EgressForDeparser, "drop_ctl", 0) {
            self.leave(next.port, self.cut(&pass, EgressForDeparser));
        }
        Ok(())
    }

    /// What a deparser leaves, cut off behind `mtu_trunc_len` bytes.
    fn cut(&self, pass: &Pass, role: ParamRole) -> Vec<u8> {
        let mut bytes = deparsed(&pass.packet);
        match pass.passed.member(&self.reference.program, role, "mtu_trunc_len") {
            Value::Nothing => {}
            length if length.small() == 0 => {}
            length => bytes.truncate(length.small() as usize),
        }
        bytes
    }

    /// Copies of a session.
    fn mirror(&mut self, bytes: Rc<[u8]>, session: u32, header: Option<Bits>, queue: u64, class: u64) {
        let Some(Session { port, group, truncate }) = self.reference.state.sessions.get(&session).copied() else {
            return;
        };
        // The header counts.
        let counted = header.as_ref().map_or(0, |header| header.len().div_ceil(8));
        let most = truncate.map_or(bytes.len(), |most| bytes.len().min((most as usize).saturating_sub(counted)));
        let copy = ToEgress { bytes: bytes[..most].into(), port: 0, rid: 0, queue, class, mirrored: header };
        for replica in group.and_then(|group| self.reference.state.groups.get(&group).cloned()).unwrap_or_default() {
            self.egress.push_back(ToEgress { port: replica.port.into(), rid: replica.rid, ..copy.clone() });
        }
        if let Some(port) = port {
            self.egress.push_back(ToEgress { port: port.into(), ..copy });
        }
    }

    /// Copies of a multicast group, but for those that an exclusion id excludes.
    fn replicate(&mut self, pass: &Pass, packet: &ToEgress, group: u16, bypass: bool) {
        let [level1, level2, own] =
            ["level1_exclusion_id", "level2_exclusion_id", "rid"].map(|name| self.number(pass, IngressForTm, name));
        for replica in self.reference.state.groups.get(&group).cloned().unwrap_or_default() {
            let (rid, port) = (u64::from(replica.rid), u64::from(replica.port));
            let node = self.device("level1_exclusion", rid) == level1 | EXCLUDES;
            let pruned = self.device("level2_exclusion", level2 << 9 | port) == 1 && own == rid;
            if !node && !pruned {
                self.forward(ToEgress { port, rid: replica.rid, ..packet.clone() }, bypass);
            }
        }
    }

    /// To egress, or past it.
    fn forward(&mut self, packet: ToEgress, bypass: bool) {
        if bypass {
            self.leave(packet.port, packet.bytes.to_vec());
        } else {
            self.egress.push_back(packet);
        }
    }

    /// Out of a port, or to ingress again: by a wire, or from a recirculation port.
    fn leave(&mut self, port: u64, bytes: Vec<u8>) {
        let recirculates = match is_tofino2(&self.reference.program) {
            true => (6..8).contains(&(port & 0x7f)),
            false => (68..72).contains(&(port & 0x7f)),
        };
        let wire = self.device("loopback", port);
        if wire >= WIRED || (recirculates && wire == 0) {
            let port = if wire >= WIRED { wire & 0x1ff } else { port };
            self.ingress.push_back(ToIngress { bytes: bytes.into(), port, resubmitted: None });
        } else {
            self.output.sent.push((port as u16, bytes));
        }
    }
}
