//! Running batches of packets through a virtual data plane's program.
//!
//! An [`Executor`] is one worker's: it owns the memory the program needs per worker and tells the data plane when it
//! is between batches. Does not live here: what the program is and its control interface ([`crate::vdp`]).

use std::fmt;
use std::sync::Arc;

use hopwright_ir::interp;
use hopwright_jit::abi;

use crate::machine::Machine;
use crate::packet::Packet;
use crate::quiescence::Reader;
use crate::vdp::{Engine, VirtualDataPlane};

/// Digests that are kept until they are taken, but for those of one packet.
const MAX_DIGESTS: usize = 4096;

/// Microseconds since 1970 UTC: what programs see as `ingress_global_timestamp` (its lower 48 bits, which wrap every
/// 8.9 years, next in 2032).
pub fn wall_clock_us() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_micros() as u64)
}

/// Runs a virtual data plane's program. One per worker.
pub struct Executor {
    machine: Option<Machine>,
    vdp: Arc<VirtualDataPlane>,
    reader: Reader,
    copies: Vec<interp::Sent>,
    digests: Vec<interp::Digest>,
}

impl Executor {
    /// An executor for the calling worker. A data plane has one worker for now: two executors at the same time would
    /// count in the same cells.
    pub fn new(vdp: Arc<VirtualDataPlane>) -> Executor {
        let machine = match vdp.engine() {
            Engine::Jit(program) => Some(Machine::new(program)),
            Engine::Interp(_) => None,
        };
        Executor { machine, reader: vdp.domain().reader(), copies: Vec::new(), digests: Vec::new(), vdp }
    }

    /// The data plane.
    pub fn vdp(&self) -> &Arc<VirtualDataPlane> {
        &self.vdp
    }

    /// Runs the packets, whose ingress ports are set, at one moment of time. Afterwards each has its verdict, and if
    /// that is to forward, its egress port and new bytes. All packets of a batch see every table update that returned
    /// before the call.
    pub fn process_batch(&mut self, packets: &mut [Packet], now_us: u64) {
        let Some(machine) = &mut self.machine else { return self.interpret(packets, now_us) };
        let _guard = self.reader.enter();
        // SAFETY: the machine was made for this data plane, which `self` keeps alive, and the guard keeps what its
        // tables and externs hand out alive until the batch is done.
        unsafe { machine.run(packets, now_us) };
    }

    /// Packets the program made beyond one for each it got (copies to multicast groups, clones), since the last call.
    /// Only the interpreter makes any.
    pub fn take_copies(&mut self) -> Vec<interp::Sent> {
        std::mem::take(&mut self.copies)
    }

    /// Digests the program sent since the last call. Only the interpreter sends any.
    pub fn take_digests(&mut self) -> Vec<interp::Digest> {
        std::mem::take(&mut self.digests)
    }

    fn interpret(&mut self, packets: &mut [Packet], now_us: u64) {
        // Named externs enter the domain themselves when they are called.
        let Some(mut interp) = self.vdp.interp() else { return };
        for packet in packets {
            let output = interp.process(packet.bytes(), packet.ingress_port() as u16, now_us);
            if self.digests.len() < MAX_DIGESTS {
                self.digests.extend(output.digests);
            }
            let mut sent = output.sent.into_iter();
            let error = output.parser_error;
            match (sent.next(), output.verdict) {
                (Some(first), _) => {
                    // The payload stays where it is, as generated code has it: headers grow into the headroom.
                    let end = packet.raw().end;
                    match end.checked_sub(first.bytes.len() as u32) {
                        Some(start) => {
                            packet.set_bounds(start, end);
                            packet.bytes_mut().copy_from_slice(&first.bytes);
                            packet.decide(abi::Verdict::Forward, u32::from(first.port), error);
                        }
                        None => packet.decide(abi::Verdict::NoHeadroom, 0, error),
                    }
                }
                (None, interp::Verdict::Fault) => packet.decide(abi::Verdict::Fault, 0, error),
                (None, _) => packet.decide(abi::Verdict::Drop, 0, error),
            }
            self.copies.extend(sent);
        }
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").field("vdp", &self.vdp).field("reader", &self.reader).finish_non_exhaustive()
    }
}
