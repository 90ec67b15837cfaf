//! Runs batches of packets through the program of a virtual data plane.
//!
//! An [`Executor`] belongs to one worker. It owns the memory that the program needs per worker, and its batches are the
//! read-side sections of the data plane's reclamation domain.

pub(crate) mod autotuner;
pub(crate) mod key_prefetch;
pub(crate) mod live_store;
pub(crate) mod machine;
pub(crate) mod room;
pub(crate) mod traffic;

use std::fmt;
use std::sync::{Arc, PoisonError};

use hopwright_abi as abi;
use hopwright_interp::{self as interp, QueueDepths};
use hopwright_ir::analysis::usage::Usage;

use crate::executor::machine::Machine;
use crate::executor::room::Growth;
pub use crate::executor::traffic::LostCopies;
use crate::offload::Forwarded;
use crate::packet::{FrameSize, Packet, Pool};
use crate::sync::quiescence::Reader;
use crate::vdp::{Engine, VirtualDataPlane};

/// The time in microseconds since 1970 UTC. Programs see its lower 48 bits as `ingress_global_timestamp`, which wrap
/// every 8.9 years, next in 2032.
pub fn wall_clock_us() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_micros() as u64)
}

/// Runs a virtual data plane's program. Each worker has one.
pub struct Executor {
    machine: Option<Machine>,
    /// Generated code reads this through a pointer in `machine`.
    depths: QueueDepths,
    /// Whether the program reads the queue depths or waiting times.
    reads_depths: bool,
    vdp: Arc<VirtualDataPlane>,
    reader: Reader,
    copies: Vec<Packet>,
    lost_copies: LostCopies,
    growth: Growth,
    max_passes: u32,
}

impl Executor {
    /// Creates an executor for a worker. Only programs that are [`VirtualDataPlane::shareable`] run correctly on
    /// several executors at the same time.
    pub fn new(vdp: Arc<VirtualDataPlane>) -> Executor {
        let depths = QueueDepths::default();
        let machine = match vdp.engine() {
            Engine::Jit(program) => {
                let tally = vdp.traces().tally();
                Some(Machine::new(program, vdp.pipeline(), vdp.control().join_counters(), tally, &depths))
            }
            Engine::Interp(_) | Engine::Offload(_) => None,
        };
        let (standard, usage) = (vdp.pipeline().standard, Usage::of(vdp.pipeline()));
        let of_queues = [standard.enq_qdepth, standard.deq_qdepth, standard.deq_timedelta];
        let reads_depths = of_queues.iter().any(|slot| usage.slots[slot.index()].read);
        Executor {
            machine,
            depths,
            reads_depths,
            reader: vdp.control().domain().reader(),
            copies: Vec::new(),
            lost_copies: LostCopies::default(),
            growth: Growth::of(vdp.pipeline()),
            max_passes: interp::MAX_PASSES,
            vdp,
        }
    }

    /// The virtual data plane.
    pub fn vdp(&self) -> &Arc<VirtualDataPlane> {
        &self.vdp
    }

    /// The queue depths and waiting times, which programs read as `enq_qdepth`, `deq_qdepth` and `deq_timedelta`. They should be set
    /// before each batch.
    /// `None` if the program does not read them.
    pub fn depths(&mut self) -> Option<&mut QueueDepths> {
        self.reads_depths.then_some(&mut self.depths)
    }

    /// Limits the ingress and egress passes that one received packet may cause: recirculations, resubmissions and copies.
    /// A packet that exceeds it is dropped as a fault. The default is [`interp::MAX_PASSES`].
    pub fn set_max_passes(&mut self, passes: u32) {
        self.max_passes = passes;
        if let Some(machine) = &mut self.machine {
            machine.set_max_passes(passes);
        }
    }

    /// Forces key prefetch on or off; `None` leaves it to the autotuner. Does not affect results.
    pub fn prefetch_keys(&mut self, always: Option<bool>) {
        if let Some(machine) = &mut self.machine {
            machine.prefetch_keys(always);
        }
    }

    /// Runs packets, whose ingress ports must be set. `now_us` is the time that the program sees. Afterwards each
    /// packet has its verdict and, if it is to be forwarded, its egress port and new contents. The whole batch sees
    /// every table update that returned before the call. Copies that the program makes are lost; [`Executor::run`]
    /// keeps them.
    pub fn process_batch(&mut self, packets: &mut [Packet], now_us: u64) {
        let mut done = 0;
        while done < packets.len() {
            done += self.run_with(&mut packets[done..], now_us, None);
        }
    }

    /// Like [`Executor::process_batch`], but stops after the first packet that makes copies or when packets have taken many
    /// passes, and returns the number of packets run. The first copy to be sent takes the place of the packet itself. The others, in frames of the pool
    /// and with their egress ports, are in [`Executor::copies`] and must be taken before the next call.
    pub fn run(&mut self, packets: &mut [Packet], now_us: u64, pool: &mut Pool) -> usize {
        self.run_with(packets, now_us, Some(pool))
    }

    fn run_with(&mut self, packets: &mut [Packet], now_us: u64, mut pool: Option<&mut Pool>) -> usize {
        let Some(machine) = &mut self.machine else {
            return match self.vdp.engine() {
                Engine::Offload(_) => self.offload(packets, now_us, pool),
                _ => self.interpret(packets, now_us, pool),
            };
        };
        let guard = self.reader.enter();
        let destinations = self.vdp.control().destinations().get(guard.inside());
        let traces = self.vdp.traces();
        machine.count(packets.len());
        let mut profiled = 0;
        if let Some(mut profile) = traces.active_profile() {
            for packet in packets.iter_mut() {
                let there_is_room = profile.record(|profiler, path| {
                    machine.set_path(path);
                    let (packet, pool) = (std::slice::from_mut(packet), pool.as_deref_mut());
                    // SAFETY: as below; the profiler is of this program and has room for the path.
                    unsafe { machine.run(packet, now_us, destinations, pool, Some(profiler)) };
                });
                if !there_is_room {
                    traces.stop_profiling();
                    break;
                }
                profiled += 1;
                if machine.copies().is_some_and(|copies| !copies.ready.is_empty()) {
                    return profiled;
                }
            }
        }
        // SAFETY: the machine was made for this data plane, which `self` keeps alive. The guard keeps entries, extern
        // state and the traces alive until the batch is done.
        profiled + unsafe { machine.run(&mut packets[profiled..], now_us, destinations, pool, traces.run(&guard)) }
    }

    /// Takes the additional packets that the last run made: clones, and copies to multicast groups.
    pub fn copies(&mut self) -> impl Iterator<Item = Packet> + '_ {
        let made = self.machine.as_mut().and_then(Machine::copies).map(|c| c.ready.drain(..));
        self.copies.drain(..).chain(made.into_iter().flatten())
    }

    /// Returns the copies that have been lost since the last call.
    pub fn take_lost_copies(&mut self) -> LostCopies {
        let made = self.machine.as_mut().and_then(Machine::copies);
        std::mem::take(made.map_or(&mut self.lost_copies, |copies| &mut copies.lost))
    }

    /// Returns how many digests have been lost since the last call because the queue was full.
    pub fn take_lost_digests(&mut self) -> u64 {
        self.vdp.control().digests().take_lost()
    }

    /// Interprets a packet, as if in a frame of [`FrameSize::JUMBO`] with the headroom that the program needs, and reports every
    /// step to an observer. Returns `None` if the engine is not the interpreter.
    pub fn process_observed(
        &mut self,
        packet: &[u8],
        ingress_port: u16,
        now_us: u64,
        observer: &mut dyn interp::Observer,
    ) -> Option<interp::Output> {
        let Engine::Interp(interp) = self.vdp.engine() else { return None };
        let (_turn, mut interp) = interp.lock();
        interp.room = self.growth.room_of(FrameSize::JUMBO.with_headroom(self.vdp.headroom()));
        Some(interp.process_observed(packet, ingress_port, now_us, observer))
    }

    fn interpret(&mut self, packets: &mut [Packet], now_us: u64, mut pool: Option<&mut Pool>) -> usize {
        let Engine::Interp(interp) = self.vdp.engine() else { return packets.len() };
        let (_turn, mut interp) = interp.lock();
        interp.max_passes = self.max_passes;
        if self.reads_depths {
            interp.depths.clone_from(&self.depths);
        }
        let observer = self.vdp.observer();
        let mut observer = observer.map(|observer| observer.lock().unwrap_or_else(PoisonError::into_inner));
        for (number, packet) in packets.iter_mut().enumerate() {
            interp.room = self.growth.room(packet, pool.as_deref());
            let (bytes, port) = (packet.bytes(), packet.ingress_port() as u16);
            let output = match &mut observer {
                Some(observer) => interp.process_observed(bytes, port, now_us, &mut **observer),
                None => interp.process(bytes, port, now_us),
            };
            output.digests.into_iter().for_each(|digest| self.vdp.control().digests().push(digest));
            let mut sent = output.sent.into_iter();
            let mut priorities = std::mem::take(&mut interp.priorities).into_iter();
            let error = output.parser_error;
            let start = packet.raw().start;
            match (sent.next(), output.verdict) {
                // A packet that stays within its room fits its frame.
                (Some(first), _) if packet.place(&first.bytes, start) => {
                    packet.set_priority(priorities.next().unwrap_or(0));
                    packet.decide(abi::Verdict::Forward, u32::from(first.port), error);
                }
                (None, interp::Verdict::Fault) => packet.decide(abi::Verdict::Fault, 0, error),
                (Some(_), _) | (None, interp::Verdict::NoHeadroom) => packet.decide(abi::Verdict::NoHeadroom, 0, error),
                (None, _) => packet.decide(abi::Verdict::Drop, 0, error),
            }
            let (faults, no_headroom) = (output.faults.into(), output.no_headroom.into());
            self.lost_copies.add_failed(packet.verdict(), faults, no_headroom);
            for (copy, priority) in sent.zip(priorities.chain(std::iter::repeat(0))) {
                let made = copy_of(packet, u32::from(copy.port), &copy.bytes, priority, pool.as_deref_mut());
                self.lost_copies.no_frame += u64::from(made.is_none());
                self.copies.extend(made);
            }
            if !self.copies.is_empty() {
                return number + 1;
            }
        }
        packets.len()
    }

    /// Lets a device process packets: all at a time, or one if there can be copies. If it does not answer, that is a fault of each.
    fn offload(&mut self, packets: &mut [Packet], now_us: u64, mut pool: Option<&mut Pool>) -> usize {
        let Engine::Offload(device) = self.vdp.engine() else { return packets.len() };
        let count = if self.vdp.control().copies() { packets.len().min(1) } else { packets.len() };
        let packets = &mut packets[..count];
        let bytes: Vec<(u32, &[u8])> = packets.iter().map(|packet| (packet.ingress_port(), packet.bytes())).collect();
        let mut device = device.lock();
        let processed = device.process(&bytes, now_us).unwrap_or_default();
        device.digests().into_iter().flatten().for_each(|digest| self.vdp.control().digests().push(digest));
        drop(device);
        let processed = processed.into_iter().map(Some).chain(std::iter::repeat_with(|| None));
        for (packet, sent) in packets.iter_mut().zip(processed) {
            let mut sent = sent.map(Vec::into_iter);
            match sent.as_mut().map(Iterator::next) {
                Some(Some(Forwarded { port, bytes })) => {
                    let placed = packet.replace(&bytes);
                    packet.decide(if placed { abi::Verdict::Forward } else { abi::Verdict::NoHeadroom }, port, 0);
                }
                Some(None) => packet.decide(abi::Verdict::Drop, 0, 0),
                None => packet.decide(abi::Verdict::Fault, 0, 0),
            }
            for Forwarded { port, bytes } in sent.into_iter().flatten() {
                let made = copy_of(packet, port, &bytes, 0, pool.as_deref_mut());
                self.lost_copies.no_frame += u64::from(made.is_none());
                self.copies.extend(made);
            }
        }
        count
    }
}

/// A copy of a packet, which is sent by a port; `None` if there is no frame.
fn copy_of(packet: &Packet, port: u32, bytes: &[u8], priority: u8, pool: Option<&mut Pool>) -> Option<Packet> {
    let pool = pool?;
    let mut copy = pool.take_for_copy()?;
    let start = copy.raw().start;
    if !copy.place(bytes, start) {
        pool.give(copy);
        return None;
    }
    copy.set_ingress_port(packet.ingress_port());
    copy.set_priority(priority);
    copy.decide(abi::Verdict::Forward, port, 0);
    Some(copy)
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").field("vdp", &self.vdp).field("reader", &self.reader).finish_non_exhaustive()
    }
}
