//! Statistics of a running router, as JSON and in a log line.

use std::collections::BTreeMap;
use std::path::Path;

use hopwright_dataplane::{ControlError, Stage};
use serde::Serialize;

use crate::bfd;
use crate::config::links::Link;
use crate::control::program::{Reason, object};
use crate::status::Status;

/// The counters of a router since its start.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stats {
    /// Seconds since the start.
    pub uptime_s: f64,
    /// One element per worker.
    pub workers: Vec<WorkerStats>,
    /// Packets forwarded.
    pub packets_forwarded: u64,
    /// Packets handed to the control plane, by reason.
    pub packets_punted: BTreeMap<String, u64>,
    /// Packets dropped, by reason.
    pub packets_dropped: BTreeMap<String, u64>,
    /// Results of the slow path: [`crate::scmp::Counts`] by name.
    pub slow_path: BTreeMap<String, u64>,
    /// The workers' time per packet in nanoseconds, including input and output.
    pub ns_per_packet: Option<f64>,
    /// The workers' time per packet in nanoseconds by stage, measured on a sample of the batches.
    pub ns_by_stage: BTreeMap<String, f64>,
    /// Ports by name.
    pub ports: BTreeMap<String, PortStats>,
    /// BFD sessions by link name: `interface 41`, `sibling br2`.
    pub bfd: BTreeMap<String, BfdStats>,
    /// Received and injected packets against what became of them.
    pub ledger: Ledger,
    /// Counters of configuration changes.
    pub reloads: crate::setup::change::ReloadCounts,
}

/// All packets in and out of the switch. While the router runs, the numbers are taken at slightly different moments;
/// those of a stopped router agree exactly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ledger {
    /// Packets received from ports, including ports that have been removed.
    pub received: u64,
    /// Packets sent by the agent.
    pub injected: u64,
    /// `received` plus `injected`.
    pub packets_in: u64,
    /// Packets sent to ports.
    pub sent: u64,
    /// Packets passed to the agent.
    pub punted: u64,
    /// Packets that were neither sent nor punted, by reason.
    pub lost: BTreeMap<String, u64>,
    /// `sent` plus `punted` plus `lost`.
    pub packets_out: u64,
}

/// One worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WorkerStats {
    /// Packets processed.
    pub packets: u64,
    /// Number of batches.
    pub batches: u64,
    /// Time the worker was busy, in nanoseconds.
    pub busy_ns: u64,
}

/// One BFD session.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct BfdStats {
    pub up: bool,
    pub state_changes: u64,
    pub sent: u64,
    pub received: u64,
    pub discarded: u64,
    pub unsent: u64,
}

/// One port.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct PortStats {
    pub rx_packets: u64,
    pub rx_bytes: u64,
    pub tx_packets: u64,
    pub tx_bytes: u64,
    /// Received packets that did not fit the ring, and packets that could not be sent.
    pub lost: u64,
}

/// Writes the statistics file, and reports when writing starts to fail and when it works again.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatsFile {
    failing: bool,
}

/// A change from the last time the statistics were written.
#[derive(Debug)]
pub enum WriteChange {
    /// Writing fails now, but worked before.
    Fails(std::io::Error),
    /// Writing works now, but failed before.
    Works,
}

impl StatsFile {
    /// Whether the file could not be written the last time.
    pub fn fails(&self) -> bool {
        self.failing
    }

    /// Writes the statistics.
    pub fn write(&mut self, stats: &Stats, file: &Path) -> Option<WriteChange> {
        let result = stats.write(file);
        let failed_before = std::mem::replace(&mut self.failing, result.is_err());
        match result {
            Ok(()) => failed_before.then_some(WriteChange::Works),
            Err(error) => (!failed_before).then_some(WriteChange::Fails(error)),
        }
    }
}

impl BfdStats {
    fn of(session: &bfd::Status) -> (String, BfdStats) {
        let bfd::Counts { state_changes, sent, received, discarded, unsent } = session.counts;
        let kind = if matches!(session.link, Link::External(_)) { "interface" } else { "sibling" };
        let stats = BfdStats { up: session.is_up(), state_changes, sent, received, discarded, unsent };
        (format!("{kind} {}", session.name), stats)
    }
}

impl Stats {
    /// Collects the statistics of a tenant that runs the program, and of the BFD sessions on its links.
    pub fn collect(status: &Status, bfd: &[bfd::Status], uptime_s: f64) -> Result<Stats, ControlError> {
        let reasons = status.tenant().vdp().control().counter(object::REASONS).map(|c| c.read_all())?;
        let count = |reason: Reason| reasons.get(reason as usize).map_or(0, |c| c.packets);
        let by_reason = |punt: bool| {
            Reason::ALL
                .iter()
                .filter(|r| **r != Reason::None && r.is_punt() == punt && count(**r) > 0)
                .map(|r| (r.label(), count(*r)))
                .collect::<BTreeMap<_, _>>()
        };
        let s = status.stats();
        let mut packets_dropped = by_reason(false);
        for (what, packets) in [
            ("no_headroom", s.total.no_headroom),
            ("fault", s.total.faults),
            ("no_such_port", s.total.no_such_port),
            ("no_buffer", s.total.no_frame),
            ("cpu_queue_full", s.total.punt_lost),
        ] {
            if packets > 0 {
                packets_dropped.insert(what.into(), packets);
            }
        }
        let devices = || s.ports.iter().chain([&s.removed_ports]);
        let mut lost: BTreeMap<String, u64> =
            packets_dropped.iter().map(|(reason, packets)| (reason.clone(), *packets)).collect();
        lost.insert("not_sent".into(), devices().map(|p| p.tx_lost).sum());
        // Packets that a program drops without a reason are counted here.
        let with_reason: u64 = by_reason(false).values().sum();
        lost.insert("without_reason".into(), s.total.dropped_by_program.saturating_sub(with_reason));
        lost.retain(|_, packets| *packets > 0);
        let sent: u64 = devices().map(|p| p.tx_packets).sum();
        let ledger = Ledger {
            received: devices().map(|p| p.rx_packets).sum(),
            injected: s.total.injected + s.total.copied,
            packets_in: s.packets_in(),
            sent,
            punted: s.total.punted,
            packets_out: sent + s.total.punted + lost.values().sum::<u64>(),
            lost,
        };
        Ok(Stats {
            ledger,
            reloads: Default::default(),
            uptime_s,
            workers: s
                .total
                .workers
                .iter()
                .map(|w| WorkerStats { packets: w.packets, batches: w.batches, busy_ns: w.busy_ns })
                .collect(),
            packets_forwarded: count(Reason::None),
            packets_punted: by_reason(true),
            packets_dropped,
            slow_path: BTreeMap::new(),
            ns_per_packet: s.total.ns_per_packet(),
            ns_by_stage: Stage::ALL
                .iter()
                .zip(s.stages)
                .filter(|(_, time)| time.packets > 0)
                .map(|(stage, time)| (stage.name().into(), time.ns as f64 / time.packets as f64))
                .collect(),
            ports: s
                .ports
                .iter()
                .map(|p| {
                    let port = PortStats {
                        rx_packets: p.rx_packets,
                        rx_bytes: p.rx_bytes,
                        tx_packets: p.tx_packets,
                        tx_bytes: p.tx_bytes,
                        lost: p.lost(),
                    };
                    (p.name.clone(), port)
                })
                .collect(),
            bfd: bfd.iter().map(BfdStats::of).collect(),
        })
    }

    /// Writes the statistics as JSON. Readers see either the old or the new file, never a part of one.
    pub fn write(&self, file: &Path) -> std::io::Result<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        hopwright_host::files::replace(file, &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_is_told_once() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("run");
        let file = folder.join("stats.json");
        let (mut stats_file, stats) = (StatsFile::default(), Stats::default());
        assert!(matches!(stats_file.write(&stats, &file), Some(WriteChange::Fails(_))));
        assert!(stats_file.write(&stats, &file).is_none() && stats_file.fails());
        std::fs::create_dir(&folder).unwrap();
        assert!(matches!(stats_file.write(&stats, &file), Some(WriteChange::Works)));
        assert!(stats_file.write(&stats, &file).is_none() && file.exists() && !stats_file.fails());
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(matches!(stats_file.write(&stats, &file), Some(WriteChange::Fails(_))));
    }
}
