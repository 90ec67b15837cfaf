//! Times a program on packets in memory: passes over a working set, with cycles and instructions where the machine counts them.
//! Forwarding changes frames, so they are restored before each pass, outside the timed part.

use std::time::{Duration, Instant};

use hopwright_dataplane::{Executor, Packet, TracePass};
use perf_event::events::Hardware;
use perf_event::{Builder, Counter, Group};

use super::single_step;
use crate::failure::Failure;

/// Packets of a batch.
pub(super) const BATCH: usize = 64;

/// The cost of a packet.
#[derive(Debug)]
pub(super) struct Timing {
    /// Packets measured.
    pub packets: u64,
    /// Nanoseconds per packet, over all passes.
    pub ns_mean: f64,
    /// Median of the passes.
    pub ns_median: f64,
    /// The fastest pass.
    pub ns_best: f64,
    /// CPU cycles per packet.
    pub cycles: Option<f64>,
    /// Instructions per packet.
    pub instructions: Option<f64>,
}

/// The fewest passes that give a meaningful median.
const MIN_PASSES: usize = 8;

/// Runs passes over the packets for `seconds`, a few at least, after one pass that does not count. `renew` restores the
/// packets' frames and ports. `single_step` counts instructions without counters.
pub(super) fn passes(
    executor: &mut Executor,
    packets: &mut [Packet],
    now_us: u64,
    seconds: f64,
    single_step: bool,
    mut renew: impl FnMut(&mut [Packet]) -> Result<(), Failure>,
) -> Result<Timing, Failure> {
    let mut counters = Counters::open();
    let mut passes = Vec::new();
    let mut total = Duration::ZERO;
    // The first use of memory takes the system long and leaves the caches cold.
    counters.start();
    counters.stop();
    renew(packets)?;
    run(executor, packets, now_us);
    let until = Instant::now() + Duration::from_secs_f64(seconds.max(0.0));
    loop {
        renew(packets)?;
        counters.start();
        let started = Instant::now();
        run(executor, packets, now_us);
        let pass = started.elapsed();
        counters.stop();
        total += pass;
        passes.push(pass.as_nanos() as f64 / packets.len() as f64);
        if passes.len() >= MIN_PASSES && Instant::now() >= until {
            break;
        }
    }
    passes.sort_by(f64::total_cmp);
    let count = passes.len() as u64 * packets.len() as u64;
    let (cycles, counted) = counters.read();
    let mut instructions = counted.map(|i| i as f64 / count as f64);
    if single_step {
        renew(packets)?;
        let batch = packets.len().min(BATCH);
        instructions = Some(single_step::count(|| run(executor, &mut packets[..batch], now_us))? as f64 / batch as f64);
    }
    Ok(Timing {
        packets: count,
        ns_mean: total.as_nanos() as f64 / count as f64,
        ns_median: passes[passes.len() / 2],
        ns_best: passes[0],
        cycles: cycles.map(|c| c as f64 / count as f64),
        instructions,
    })
}

/// Packets that the path profiler records.
const PROFILED: usize = 1024;

/// Compiles traces for the paths of these packets, as a running switch does within seconds; the measurement is of that code.
pub(super) fn compile_traces(
    executor: &mut Executor,
    packets: &mut [Packet],
    now_us: u64,
    without: &[TracePass],
) -> Result<(), Failure> {
    let vdp = executor.vdp().clone();
    vdp.start_profiling(packets.len().min(PROFILED)).map_err(Failure::message)?;
    run(executor, packets, now_us);
    vdp.respecialise_without(without).map_err(Failure::message)?;
    Ok(())
}

/// One pass.
pub(super) fn run(executor: &mut Executor, packets: &mut [Packet], now_us: u64) {
    for batch in packets.chunks_mut(BATCH) {
        executor.process_batch(batch, now_us);
    }
}

/// A figure, or a dash if there is none.
pub(super) fn or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), |v| format!("{v:.0}"))
}

/// Cycle and instruction counters of this thread, where the machine and its settings have them.
struct Counters(Option<(Group, Counter, Counter)>);

impl Counters {
    fn open() -> Counters {
        let open = || -> std::io::Result<(Group, Counter, Counter)> {
            let mut group = Group::new()?;
            let cycles = Builder::new(Hardware::CPU_CYCLES).build_with_group(&mut group)?;
            let instructions = Builder::new(Hardware::INSTRUCTIONS).build_with_group(&mut group)?;
            Ok((group, cycles, instructions))
        };
        Counters(open().ok())
    }

    fn start(&mut self) {
        if let Some((group, ..)) = &mut self.0 {
            let _ = group.enable();
        }
    }

    fn stop(&mut self) {
        if let Some((group, ..)) = &mut self.0 {
            let _ = group.disable();
        }
    }

    /// Cycles and instructions so far.
    fn read(mut self) -> (Option<u64>, Option<u64>) {
        let Some((group, cycles, instructions)) = &mut self.0 else { return (None, None) };
        match group.read() {
            Ok(counts) => (Some(counts[cycles]), Some(counts[instructions])),
            Err(_) => (None, None),
        }
    }
}
