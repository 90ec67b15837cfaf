//! The Portable NIC Architecture 0.7: parser, pre-control, main control and deparser. All packets come from the network.

use std::collections::VecDeque;
use std::rc::Rc;

use hopwright_sema::architecture::{BlockRole, ParamRole};

use crate::blocks::{Passed, type_of};
use crate::machine::{Fault, Packet, Stop};
use crate::psa::{narrow, wide};
use crate::state::Session;
use crate::switch::{deparsed, passes};
use crate::value::Value;
use crate::{Output, Reference};

use ParamRole::{Headers, IngressInput, IngressParserInput, Metadata, PreHeaders, PreInput, PreMetadata};

/// Numbers of passes have three bits.
const PASSES: u64 = 8;

/// Processes a packet and all its repetitions.
pub(crate) fn process(reference: &mut Reference, port: u16, bytes: &[u8], now_us: u64) -> Output {
    let mut output = Output::default();
    let mut waiting: VecDeque<(Rc<[u8]>, u64)> = VecDeque::from([(bytes.into(), 0)]);
    let fault = passes(|first| {
        let (bytes, pass) = waiting.pop_front()?;
        let mut nic = Nic { reference, port: wide(port.into()), pass, now_us, output: &mut output };
        match nic.process(bytes, first) {
            Ok(again) => {
                waiting.extend(again.map(|bytes| (bytes, (pass + 1) % PASSES)));
                Some(Ok(()))
            }
            Err(fault) => Some(Err(reference.fault(&fault))),
        }
    });
    output.fault = output.fault.take().or(fault);
    output
}

struct Nic<'a> {
    reference: &'a mut Reference,
    port: u64,
    pass: u64,
    now_us: u64,
    output: &'a mut Output,
}

impl Nic<'_> {
    /// A pass of a packet. Returns the packet if it starts over.
    fn process(&mut self, bytes: Rc<[u8]>, first: bool) -> Result<Option<Rc<[u8]>>, Fault> {
        let program = self.reference.program.clone();
        let (mut packet, mut passed, mut error) = (Packet::new(bytes), Passed::default(), 0);
        for role in [IngressParserInput, PreInput, IngressInput] {
            passed.set_number(&program, role, "input_port", self.port);
            passed.set_number(&program, role, "pass", self.pass);
        }
        passed.set_number(&program, IngressInput, "timestamp", self.now_us);
        for role in [BlockRole::Parser, BlockRole::PreControl, BlockRole::Ingress, BlockRole::Deparser] {
            let shared: Vec<_> = [(Headers, PreHeaders), (Metadata, PreMetadata)]
                .into_iter()
                .filter(|(of_main, of_pre)| type_of(&program, 0, *of_main) == type_of(&program, 0, *of_pre))
                .collect();
            if role == BlockRole::PreControl {
                shared.iter().for_each(|(of_main, of_pre)| passed.put(*of_pre, passed.get(&program, *of_main)));
            }
            let Reference { program, state, .. } = &mut *self.reference;
            let result = passed.run(program, state, role, &mut packet, self.now_us);
            self.output.digests.append(&mut packet.requests.digests);
            match result {
                Ok(()) | Err(Stop::Exit) => {}
                Err(Stop::Reject(number)) => error = number,
                Err(Stop::Fault(fault)) => return Err(fault),
            }
            match role {
                BlockRole::Parser => {
                    if first {
                        self.output.parser_error = error;
                    }
                    for role in [PreInput, IngressInput] {
                        passed.set(program, role, "parser_error", Value::Member(error));
                    }
                }
                BlockRole::PreControl => {
                    shared.iter().for_each(|(of_main, of_pre)| passed.put(*of_main, passed.get(program, *of_pre)));
                }
                _ => {}
            }
        }
        let bytes: Rc<[u8]> = deparsed(&packet).into();
        if let Some((session, _)) = packet.requests.clone_egress {
            self.mirror(&bytes, session);
        }
        if packet.requests.recirculate.is_some() {
            return Ok(Some(bytes));
        }
        if let Some(port) = packet.requests.sent.and_then(narrow) {
            self.output.sent.push((port, bytes.to_vec()));
        }
        Ok(None)
    }

    /// Copies of a mirror session.
    fn mirror(&mut self, bytes: &[u8], session: u32) {
        let state = &self.reference.state;
        let Some(Session { port, group, truncate }) = state.sessions.get(&session).copied() else { return };
        let bytes = &bytes[..truncate.map_or(bytes.len(), |most| bytes.len().min(most as usize))];
        let replicas = group.and_then(|group| state.groups.get(&group)).map_or(&[][..], |replicas| &replicas[..]);
        let ports = replicas.iter().map(|replica| replica.port).chain(port);
        self.output.sent.extend(ports.map(|port| (port, bytes.to_vec())));
    }
}
