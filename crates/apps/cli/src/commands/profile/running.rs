//! Profiles of programs that a switch of this process runs.

use std::time::{Duration, Instant};

use hopwright_dataplane::{EngineKind, Tenant};
use serde_json::Value;

use super::places::Places;
use super::report::{Ran, Report};
use super::sampler::{Sampler, Samples};
use crate::failure::Failure;

/// Time between two looks at what the kernel has sampled.
const TICK: Duration = Duration::from_millis(10);

/// What the packets of a tenant cost, by line and by table. Traces that are compiled meanwhile are not in it.
///
/// # Errors
/// The program does not run as machine code, no packets came, or the kernel does not let this process sample itself.
pub(crate) fn of_running(tenant: &Tenant, duration: Duration) -> Result<Value, Failure> {
    let vdp = tenant.vdp();
    if vdp.engine_kind() != EngineKind::Jit {
        return Err(Failure::message("only machine code is profiled, and the program runs in another engine"));
    }
    let code = vdp.code_map();
    let mut samplers = workers()?.into_iter().map(Sampler::of).collect::<Result<Vec<_>, _>>()?;
    let before = tenant.stats();
    samplers.iter_mut().try_for_each(Sampler::start)?;
    let until = Instant::now() + duration;
    while Instant::now() < until && !tenant.stopping() {
        std::thread::sleep(TICK);
        samplers.iter_mut().for_each(Sampler::collect);
    }
    let mut all = Samples::default();
    for sampler in samplers {
        let Samples { moments, period } = sampler.finish()?;
        all.period = all.period.max(period);
        all.moments.extend(moments);
    }
    let after = tenant.stats();
    let packets = after.packets.saturating_sub(before.packets);
    if packets == 0 {
        return Err(Failure::message("no packets came"));
    }
    let ran = Ran {
        packets,
        forwarded: after.tx_packets.saturating_sub(before.tx_packets),
        faults: after.faults.saturating_sub(before.faults),
        ns_per_packet: after.busy_ns.saturating_sub(before.busy_ns) as f64 / packets as f64,
    };
    let pipeline = vdp.pipeline();
    Ok(serde_json::to_value(Report::new(pipeline, &Places::of(pipeline), &code, &all, &ran))?)
}

/// The threads of this process that move packets.
fn workers() -> std::io::Result<Vec<i32>> {
    let mut found = Vec::new();
    for task in std::fs::read_dir("/proc/self/task")? {
        let task = task?;
        // A thread may have ended.
        let name = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        if name.starts_with("worker-")
            && let Ok(thread) = task.file_name().to_string_lossy().parse()
        {
            found.push(thread);
        }
    }
    Ok(found)
}
