//! Samples of where a thread executes, taken by the kernel's performance events. The software clock is enough: a virtual machine without
//! hardware counters has it.

use std::io;
use std::time::Duration;

use perf_event::data::Record;
use perf_event::events::Software;
use perf_event::{Builder, SampleFlag};

use crate::failure::Failure;

/// Time between two samples. A prime, so that it does not follow the beat of the passes.
const PERIOD_NS: u64 = 199_999;
/// Bytes of the stack that a sample has: enough for the frames of what a program calls.
const STACK_BYTES: u32 = 2048;
/// Pages of the buffer between two collections.
const PAGES: usize = 64;

/// A moment: the address that the thread executed, and the words on its stack, from the top.
pub(super) struct Moment {
    pub address: u64,
    pub stack: Vec<u64>,
}

/// What was sampled.
#[derive(Default)]
pub(super) struct Samples {
    pub moments: Vec<Moment>,
    /// Time of a CPU that one sample stands for.
    pub period: Duration,
}

/// Samples a thread.
pub(super) struct Sampler {
    events: perf_event::Sampler,
    pub moments: Vec<Moment>,
    /// Samples of all kinds, those that were lost among them.
    taken: u64,
}

impl Sampler {
    /// Samples the thread that calls this.
    ///
    /// # Errors
    /// The kernel does not let this process sample itself.
    pub(super) fn new() -> Result<Sampler, Failure> {
        Sampler::of(0)
    }

    /// Samples a thread of this process; 0 is the one that calls this.
    ///
    /// # Errors
    /// As [`Sampler::new`].
    pub(super) fn of(thread: i32) -> Result<Sampler, Failure> {
        let mut builder = Builder::new(Software::CPU_CLOCK);
        builder.sample_period(PERIOD_NS).sample_stack_user(STACK_BYTES);
        builder.sample(SampleFlag::IP).sample(SampleFlag::STACK_USER).observe_pid(thread);
        let events = builder.build().and_then(|counter| counter.sampled(PAGES)).map_err(refused)?;
        Ok(Sampler { events, moments: Vec::new(), taken: 0 })
    }

    pub(super) fn start(&mut self) -> Result<(), Failure> {
        Ok(self.events.enable()?)
    }

    /// Takes what the kernel has sampled.
    pub(super) fn collect(&mut self) {
        while let Some(record) = self.events.next_record() {
            match record.parse_record() {
                Ok(Record::Sample(sample)) => {
                    let words = sample.stack_user().unwrap_or_default().as_chunks::<8>().0;
                    let stack = words.iter().map(|word| u64::from_ne_bytes(*word)).collect();
                    self.moments.extend(sample.ip().map(|address| Moment { address, stack }));
                    self.taken += 1;
                }
                Ok(Record::Lost(lost)) => self.taken += lost.lost,
                _ => {}
            }
        }
    }

    /// Ends sampling. There are no samples of a thread that waited all the time.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(super) fn finish(mut self) -> Result<Samples, Failure> {
        self.events.disable()?;
        self.collect();
        // Those that were lost are like those that were not. What the kernel does for the thread has no samples.
        let weight = self.taken as f64 / self.moments.len().max(1) as f64;
        Ok(Samples { moments: self.moments, period: Duration::from_nanos(PERIOD_NS).mul_f64(weight) })
    }
}

/// Why there are no samples.
fn refused(error: io::Error) -> Failure {
    Failure::message(format!(
        "the kernel does not let this process sample itself: {error}. It does if /proc/sys/kernel/perf_event_paranoid is at most 2, or with \
         CAP_PERFMON; containers also need a seccomp profile that allows perf_event_open"
    ))
}
