//! Metrics of this process, named as Prometheus client libraries name them.

use std::sync::atomic::{AtomicU64, Ordering};

use procfs::process::{LimitValue, Process};
use procfs::{CurrentSI, ProcResult, WithCurrentSystemInfo};

use super::text::Text;

/// Writes the families. Families that the system has no values for are left out.
pub fn write_process_metrics(text: &mut Text) {
    let _ = Process::myself().and_then(|process| of(&process, text));
}

fn of(process: &Process, text: &mut Text) -> ProcResult<()> {
    let stat = process.stat()?;
    let limits = process.limits()?;
    let number = |limit: LimitValue| match limit {
        LimitValue::Unlimited => u64::MAX,
        LimitValue::Value(value) => value,
    };
    let ticks = procfs::ticks_per_second() as f64;
    text.counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.");
    text.sample(&[], (stat.utime + stat.stime) as f64 / ticks);
    text.gauge("process_max_fds", "Maximum number of open file descriptors.");
    text.sample(&[], number(limits.max_open_files.soft_limit));
    text.gauge("process_open_fds", "Number of open file descriptors.");
    text.sample(&[], process.fd_count()?);
    text.gauge("process_resident_memory_bytes", "Resident memory size in bytes.");
    text.sample(&[], stat.rss_bytes().get());
    text.gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.");
    text.sample(&[], stat.vsize);
    text.gauge("process_virtual_memory_max_bytes", "Maximum amount of virtual memory available in bytes.");
    text.sample(&[], number(limits.max_address_space.soft_limit));
    text.gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.");
    let boot = procfs::KernelStats::current()?.btime;
    text.sample(&[], boot as f64 + stat.starttime as f64 / ticks);
    network(text);
    threads(process, text)
}

/// Time that the threads ran, and waited for a CPU.
fn threads(process: &Process, text: &mut Text) -> ProcResult<()> {
    static UPDATES: AtomicU64 = AtomicU64::new(0);
    let (mut running, mut runnable) = (0, 0);
    for task in process.tasks()?.flatten() {
        let times = task.schedstat()?;
        running += times.sum_exec_runtime;
        runnable += times.run_delay;
    }
    let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
    text.counter(
        "process_running_seconds_total",
        "CPU time the process used (running state) since it started (all threads summed).",
    );
    text.sample(&[], seconds(running));
    text.counter(
        "process_runnable_seconds_total",
        "CPU time the process was denied (runnable state) since it started (all threads summed).",
    );
    text.sample(&[], seconds(runnable));
    text.counter(
        "process_metrics_tasklist_updates_total",
        "The number of time the processmetrics collector recreated its list of tasks.",
    );
    text.sample(&[], UPDATES.fetch_add(1, Ordering::Relaxed) + 1);
    Ok(())
}

/// Bytes of the network namespace's sockets, without the packets that the data plane forwards.
fn network(text: &mut Text) {
    // Pairs of lines: names, values.
    let Ok(netstat) = std::fs::read_to_string("/proc/self/net/netstat") else { return };
    let mut lines = netstat.lines().filter_map(|line| line.strip_prefix("IpExt:"));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return };
    let field = |wanted: &str| names.split_whitespace().zip(values.split_whitespace()).find(|(n, _)| *n == wanted);
    for (field, name, help) in [
        (
            field("InOctets"),
            "process_network_receive_bytes_total",
            "Number of bytes received by the process over the network.",
        ),
        (
            field("OutOctets"),
            "process_network_transmit_bytes_total",
            "Number of bytes sent by the process over the network.",
        ),
    ] {
        if let Some((_, value)) = field {
            text.counter(name, help);
            text.sample(&[], value);
        }
    }
}
