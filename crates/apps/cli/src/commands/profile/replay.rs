//! Runs packets again and again, as a worker does.

use std::time::{Duration, Instant};

use hopwright_abi::Verdict;
use hopwright_dataplane::{Executor, FrameSize, Packet, Pool, wall_clock_us};

use super::report::Ran;
use crate::commands::trace_ir::Received;
use crate::failure::Failure;

/// Frames of the working set, whose beginnings fit the second-level cache.
const FRAMES: u32 = 256;
/// Packets of a batch.
const BATCH: usize = 64;

/// Overwrites the stack below the caller. Return addresses to the program that have been left there would make samples of what comes next
/// look like samples of what the program calls.
#[inline(never)]
fn clear_stack() {
    std::hint::black_box(&mut [0u64; 2048]);
}

/// Runs received packets in their order, again and again.
pub(super) struct Replay<'a> {
    executor: Executor,
    frames: Vec<Packet>,
    headroom: u32,
    received: &'a [Received],
    /// Where the next pass begins.
    next: usize,
    began: Instant,
    packets: u64,
    forwarded: u64,
    faults: u64,
    /// Time that each pass took in the program and in what is around it, without the making of packets.
    passes: Vec<Duration>,
    _pool: Pool,
}

impl Replay<'_> {
    pub(super) fn new(executor: Executor, received: &[Received]) -> Result<Replay<'_>, Failure> {
        let longest = received.iter().map(|packet| packet.bytes.len()).max().unwrap_or(0) as u32;
        let size = FrameSize::for_mtu(longest.max(1500)).with_headroom(executor.vdp().headroom());
        let mut pool = Pool::new(FRAMES, size)?;
        Ok(Replay {
            executor,
            frames: std::iter::from_fn(|| pool.take()).collect(),
            headroom: size.headroom,
            received,
            next: 0,
            began: Instant::now(),
            packets: 0,
            forwarded: 0,
            faults: 0,
            passes: Vec::new(),
            _pool: pool,
        })
    }

    /// The number of packets since the last [`Replay::reset`].
    pub(super) fn packets(&self) -> u64 {
        self.packets
    }

    /// Forgets what was counted.
    pub(super) fn reset(&mut self) {
        (self.packets, self.forwarded, self.faults) = (0, 0, 0);
        self.passes.clear();
    }

    /// What was counted. A packet costs what it costs in the median pass: others may have been interrupted.
    pub(super) fn ran(&self) -> Ran {
        let mut passes = self.passes.clone();
        passes.sort_unstable();
        let median = passes.get(passes.len() / 2).copied().unwrap_or_default();
        Ran {
            packets: self.packets,
            forwarded: self.forwarded,
            faults: self.faults,
            ns_per_packet: median.as_nanos() as f64 / f64::from(FRAMES),
        }
    }

    /// Runs as many packets as there are frames. The program's time is that of the capture, and goes on with the clock.
    pub(super) fn pass(&mut self) -> Result<(), Failure> {
        let first = self.received[0].now_us;
        let start_us = if first == 0 { wall_clock_us() } else { first };
        let now_us = start_us + self.began.elapsed().as_micros() as u64;
        for frame in &mut self.frames {
            let Received { port, bytes, .. } = &self.received[self.next];
            self.next = (self.next + 1) % self.received.len();
            // A program may have moved the packet in its frame.
            frame.set_bounds(self.headroom, self.headroom);
            if !frame.fill(bytes) {
                return Err(Failure::message(format!("a packet of {} bytes does not fit a frame", bytes.len())));
            }
            frame.set_ingress_port((*port).into());
        }
        let started = Instant::now();
        for batch in self.frames.chunks_mut(BATCH) {
            self.executor.process_batch(batch, now_us);
        }
        self.passes.push(started.elapsed());
        clear_stack();
        let with = |verdict| self.frames.iter().filter(|packet| packet.verdict() == verdict).count() as u64;
        self.packets += self.frames.len() as u64;
        self.forwarded += with(Verdict::Forward);
        self.faults += with(Verdict::Fault) + with(Verdict::NoHeadroom);
        Ok(())
    }
}
