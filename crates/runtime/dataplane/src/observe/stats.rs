//! Counters of a worker.
//!
//! Each cell has one writer, the worker, and any number of readers. No cell is ever locked.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use crate::packet::Packet;
use crate::port::DeviceStats;

/// A number one thread adds to.
#[derive(Debug, Default)]
pub(crate) struct Cell(AtomicU64);

impl Cell {
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        // One writer: no read-modify-write needed.
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    pub(crate) fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
pub(crate) struct PortCells {
    pub rx_packets: Cell,
    pub rx_bytes: Cell,
    pub tx_packets: Cell,
    pub tx_bytes: Cell,
    pub tx_lost: Cell,
    pub rx_multicast: Cell,
    pub rx_broadcast: Cell,
    pub tx_multicast: Cell,
    pub tx_broadcast: Cell,
    pub rx_overrun: Cell,
    pub rx_too_long: Cell,
    pub tx_busy: Cell,
    pub tx_error: Cell,
    pub queue_full: Cell,
    pub queue_longest: Cell,
    pub queue_waiting: Cell,
    /// One while it has no link.
    pub down: Cell,
}

impl PortCells {
    pub(crate) fn count_sent(&self, packets: u64, bytes: u64, lost: u64) {
        self.tx_packets.add(packets);
        self.tx_bytes.add(bytes);
        self.tx_lost.add(lost);
    }

    pub(crate) fn count_groups_received(&self, packets: &[Packet]) {
        let groups = Groups::of(packets);
        self.rx_multicast.add(groups.multicast);
        self.rx_broadcast.add(groups.broadcast);
    }

    /// Of `packets` packets with these groups, `sent` were sent. Lost packets are rare, and taken as average.
    pub(crate) fn count_groups_sent(&self, groups: Groups, packets: usize, sent: usize) {
        let part = |count: u64| if sent == packets { count } else { count * sent as u64 / packets as u64 };
        self.tx_multicast.add(part(groups.multicast));
        self.tx_broadcast.add(part(groups.broadcast));
    }
}

/// Frames to group addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Groups {
    multicast: u64,
    broadcast: u64,
}

impl Groups {
    /// Those among packets.
    #[cold]
    pub(crate) fn of(packets: &[Packet]) -> Groups {
        let mut groups = Groups::default();
        for packet in packets {
            match packet.bytes().first_chunk() {
                Some([0xff, 0xff, 0xff, 0xff, 0xff, 0xff]) => groups.broadcast += 1,
                Some([first, ..]) if first & 1 == 1 => groups.multicast += 1,
                _ => {}
            }
        }
        groups
    }
}

/// What a worker does with a batch, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Taking it from the device.
    Receive,
    /// The program.
    Program,
    /// Sorting its packets by where they go, copying those for the control plane and those the program made.
    Sort,
    /// Handing them to the devices.
    Send,
}

impl Stage {
    /// All of them, in order.
    pub const ALL: [Stage; 4] = [Stage::Receive, Stage::Program, Stage::Sort, Stage::Send];

    /// Its name, lower case.
    pub fn name(self) -> &'static str {
        ["receive", "program", "sort", "send"][self as usize]
    }
}

/// Time spent in a stage, measured on some of the batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTime {
    /// Nanoseconds.
    pub ns: u64,
    /// Packets of the batches that were measured.
    pub packets: u64,
}

#[derive(Debug, Default)]
pub(crate) struct StageCells {
    ns: Cell,
    packets: Cell,
}

impl StageCells {
    pub(crate) fn get(&self) -> StageTime {
        StageTime { ns: self.ns.get(), packets: self.packets.get() }
    }
}

/// Measures the stages of one in this many batches: nothing is done for each packet.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    batches_left: u32,
    since: Option<Instant>,
}

impl Stopwatch {
    /// Batches from one that is measured to the next.
    const EVERY: u32 = 64;

    pub(crate) fn new() -> Stopwatch {
        Stopwatch { batches_left: Self::EVERY, since: None }
    }

    /// A batch may come now.
    #[inline]
    pub(crate) fn start(&mut self) {
        if self.batches_left == 0 {
            self.since = Some(Instant::now());
        }
    }

    /// No batch came.
    #[inline]
    pub(crate) fn cancel(&mut self) {
        self.since = None;
    }

    /// A stage has ended.
    #[inline]
    pub(crate) fn lap(&mut self, cells: &WorkerCells, stage: Stage, packets: usize) {
        let Some(since) = self.since else { return };
        let now = Instant::now();
        let cells = &cells.stages[stage as usize];
        cells.ns.add(now.duration_since(since).as_nanos() as u64);
        cells.packets.add(packets as u64);
        self.since = Some(now);
    }

    /// The batch is done.
    #[inline]
    pub(crate) fn finish(&mut self) {
        self.batches_left = if self.since.take().is_some() { Self::EVERY } else { self.batches_left.saturating_sub(1) };
    }
}

/// What a worker counts.
#[derive(Debug, Default)]
pub(crate) struct WorkerCells {
    pub rounds: Cell,
    pub no_tenant: Cell,
    pub group_copies: Cell,
    /// Whether frames to group addresses are counted apart.
    pub count_groups: AtomicBool,
    pub stages: [StageCells; Stage::ALL.len()],
}

impl WorkerCells {
    /// Whether frames to group addresses are counted apart.
    #[inline]
    pub(crate) fn counts_groups(&self) -> bool {
        self.count_groups.load(Ordering::Relaxed)
    }
}

/// What a worker counts for a tenant.
#[derive(Debug, Default)]
pub(crate) struct TenantCells {
    pub rx_packets: Cell,
    pub rx_bytes: Cell,
    pub tx_packets: Cell,
    pub tx_bytes: Cell,
    pub tx_lost: Cell,
    pub policed: Cell,
    pub lane_full: Cell,
    pub dropped_by_program: Cell,
    pub no_headroom: Cell,
    pub faults: Cell,
    pub no_such_port: Cell,
    pub no_frame: Cell,
    pub punted: Cell,
    pub injected: Cell,
    pub copied: Cell,
    pub digests_lost: Cell,
    pub parser_errors: Vec<Cell>,
    pub batches: Cell,
    pub packets: Cell,
    pub busy_ns: Cell,
}

/// Parser errors that are counted apart, whatever the program.
pub(crate) const MAX_ERRORS: usize = 256;

impl TenantCells {
    pub(crate) fn count_sent(&self, packets: u64, bytes: u64, lost: u64) {
        self.tx_packets.add(packets);
        self.tx_bytes.add(bytes);
        self.tx_lost.add(lost);
    }

    pub(crate) fn new() -> TenantCells {
        TenantCells { parser_errors: (0..MAX_ERRORS).map(|_| Default::default()).collect(), ..TenantCells::default() }
    }
}

/// A port's counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortStats {
    /// Port number.
    pub number: u32,
    /// The device's name.
    pub name: String,
    /// Packets received.
    pub rx_packets: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Packets the device took for sending.
    pub tx_packets: u64,
    /// Bytes of these.
    pub tx_bytes: u64,
    /// Packets meant for this port that its device did not take.
    pub tx_lost: u64,
    /// Received frames to multicast addresses, since [`Switch::count_groups`](crate::Switch::count_groups).
    pub rx_multicast: u64,
    /// Received frames to the broadcast address, since then.
    pub rx_broadcast: u64,
    /// Sent frames to multicast addresses, since then.
    pub tx_multicast: u64,
    /// Sent frames to the broadcast address, since then.
    pub tx_broadcast: u64,
    /// What the device itself counts; refreshed now and then.
    pub device: DeviceStats,
}

impl PortStats {
    /// Packets lost at the port, in either direction: those that its device did not take or had no room for, and those that are too long.
    pub fn lost(&self) -> u64 {
        self.tx_lost + self.device.rx_overrun + self.device.rx_too_long
    }

    /// Adds another port's counts.
    pub(crate) fn add(&mut self, other: &PortStats) {
        self.rx_packets += other.rx_packets;
        self.rx_bytes += other.rx_bytes;
        self.tx_packets += other.tx_packets;
        self.tx_bytes += other.tx_bytes;
        self.tx_lost += other.tx_lost;
        self.rx_multicast += other.rx_multicast;
        self.rx_broadcast += other.rx_broadcast;
        self.tx_multicast += other.tx_multicast;
        self.tx_broadcast += other.tx_broadcast;
        self.device.rx_overrun += other.device.rx_overrun;
        self.device.rx_too_long += other.device.rx_too_long;
        self.device.tx_busy += other.device.tx_busy;
        self.device.tx_error += other.device.tx_error;
        self.device.queue_full += other.device.queue_full;
        self.device.queue_longest = self.device.queue_longest.max(other.device.queue_longest);
        self.device.queue_waiting += other.device.queue_waiting;
    }
}

/// A switch's counts since its start. Taken while it runs: the numbers belong to slightly different moments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchStats {
    /// By port, in the order the ports were given.
    pub ports: Vec<PortStats>,
    /// The sum of the counts of ports that were taken away; it has no number and no name.
    pub removed_ports: PortStats,
    /// The sum of the counts of all tenants, of those that were removed, too.
    pub total: TenantStats,
    /// Packets received that are no tenant's, and dropped.
    pub no_tenant: u64,
    /// Copies of frames to group addresses made for further tenants.
    pub group_copies: u64,
    /// Time of each stage of [`Stage::ALL`].
    pub stages: [StageTime; Stage::ALL.len()],
}

impl SwitchStats {
    /// Packets that came: received, sent by the control plane, made by programs. Every one of them ends in exactly
    /// one of the counts of [`SwitchStats::packets_out`].
    pub fn packets_in(&self) -> u64 {
        self.all_ports().map(|p| p.rx_packets).sum::<u64>()
            + self.group_copies
            + self.total.injected
            + self.total.copied
    }

    /// What became of them: sent, not taken by the device, handed to the control plane, or dropped, by the reasons
    /// there are. The same as [`SwitchStats::packets_in`] when the worker has stopped.
    pub fn packets_out(&self) -> u64 {
        self.all_ports().map(|p| p.tx_packets + p.tx_lost).sum::<u64>()
            + self.no_tenant
            + self.total.punted
            + self.total.lost()
    }

    fn all_ports(&self) -> impl Iterator<Item = &PortStats> {
        self.ports.iter().chain([&self.removed_ports])
    }
}

/// A tenant's counts since it was added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TenantStats {
    /// Packets received for it.
    pub rx_packets: u64,
    /// Bytes of these.
    pub rx_bytes: u64,
    /// Packets of it that devices took for sending.
    pub tx_packets: u64,
    /// Bytes of these.
    pub tx_bytes: u64,
    /// Packets of it that a device did not take.
    pub tx_lost: u64,
    /// Dropped: beyond the tenant's rate of packets or bits.
    pub policed: u64,
    /// Dropped: too many of its packets waited, because its share of the workers' time was used up.
    pub lane_full: u64,
    /// Packets the program dropped.
    pub dropped_by_program: u64,
    /// Dropped: packets and copies that grew beyond the room in their buffers.
    pub no_headroom: u64,
    /// Dropped: packets and copies for which the program looped, failed an assertion or the like.
    pub faults: u64,
    /// Dropped: sent to a port number that the tenant has no port for.
    pub no_such_port: u64,
    /// Dropped: copies and injected packets for which there was no frame, or which none fits.
    pub no_frame: u64,
    /// Packets handed to the control plane.
    pub punted: u64,
    /// Packets lost because the CPU queue was full.
    pub punt_lost: u64,
    /// Packets the control plane sent.
    pub injected: u64,
    /// Packets the program made beside those it got: clones, copies to a multicast group.
    pub copied: u64,
    /// Digests lost because too many waited for the control plane.
    pub digests_lost: u64,
    /// Packets whose parser ended with an error, by the number of the error in the program (0, NoError, stays 0).
    pub parser_errors: Vec<u64>,
    /// Batches run.
    pub batches: u64,
    /// Packets run through the program.
    pub packets: u64,
    /// Nanoseconds spent in the program, packet I/O not included; with several tenants also sorting what comes out.
    pub busy_ns: u64,
    /// Batches, packets and time by worker.
    pub workers: Vec<WorkerStats>,
}

/// What one worker has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerStats {
    /// Batches run.
    pub batches: u64,
    /// Packets run through the program.
    pub packets: u64,
    /// Nanoseconds spent in the program.
    pub busy_ns: u64,
}

impl TenantStats {
    /// Packets that came: received, sent by the control plane, made by the program. Every one of them ends in exactly
    /// one of the counts of [`TenantStats::packets_out`], or waits to be processed.
    pub fn packets_in(&self) -> u64 {
        self.rx_packets + self.injected + self.copied
    }

    /// What became of them: sent, not taken by the device, handed to the control plane, or dropped.
    pub fn packets_out(&self) -> u64 {
        self.tx_packets + self.tx_lost + self.punted + self.lost()
    }

    /// Packets dropped before they reached a device or the control plane.
    fn lost(&self) -> u64 {
        let refused = self.policed + self.lane_full;
        refused
            + self.punt_lost
            + self.dropped_by_program
            + self.no_headroom
            + self.faults
            + self.no_such_port
            + self.no_frame
    }

    /// Mean time a packet takes in the program, in nanoseconds.
    pub fn ns_per_packet(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.busy_ns as f64 / self.packets as f64)
    }

    /// The counts in the cells of one worker.
    pub(crate) fn of_worker(cells: &TenantCells, errors: usize) -> TenantStats {
        let (batches, packets, busy_ns) = (cells.batches.get(), cells.packets.get(), cells.busy_ns.get());
        TenantStats {
            rx_packets: cells.rx_packets.get(),
            rx_bytes: cells.rx_bytes.get(),
            tx_packets: cells.tx_packets.get(),
            tx_bytes: cells.tx_bytes.get(),
            tx_lost: cells.tx_lost.get(),
            policed: cells.policed.get(),
            lane_full: cells.lane_full.get(),
            dropped_by_program: cells.dropped_by_program.get(),
            no_headroom: cells.no_headroom.get(),
            faults: cells.faults.get(),
            no_such_port: cells.no_such_port.get(),
            no_frame: cells.no_frame.get(),
            punted: cells.punted.get(),
            punt_lost: 0,
            injected: cells.injected.get(),
            copied: cells.copied.get(),
            digests_lost: cells.digests_lost.get(),
            parser_errors: cells.parser_errors.iter().take(errors).map(Cell::get).collect(),
            batches,
            packets,
            busy_ns,
            workers: Vec::new(),
        }
    }

    /// Adds other counts. Those by worker and by parser error are added place by place.
    pub(crate) fn add(&mut self, other: &TenantStats) {
        let TenantStats { parser_errors, workers, .. } = other;
        for (sum, count) in [
            (&mut self.rx_packets, other.rx_packets),
            (&mut self.rx_bytes, other.rx_bytes),
            (&mut self.tx_packets, other.tx_packets),
            (&mut self.tx_bytes, other.tx_bytes),
            (&mut self.tx_lost, other.tx_lost),
            (&mut self.policed, other.policed),
            (&mut self.lane_full, other.lane_full),
            (&mut self.dropped_by_program, other.dropped_by_program),
            (&mut self.no_headroom, other.no_headroom),
            (&mut self.faults, other.faults),
            (&mut self.no_such_port, other.no_such_port),
            (&mut self.no_frame, other.no_frame),
            (&mut self.punted, other.punted),
            (&mut self.punt_lost, other.punt_lost),
            (&mut self.injected, other.injected),
            (&mut self.copied, other.copied),
            (&mut self.digests_lost, other.digests_lost),
            (&mut self.batches, other.batches),
            (&mut self.packets, other.packets),
            (&mut self.busy_ns, other.busy_ns),
        ] {
            *sum += count;
        }
        self.parser_errors.resize(self.parser_errors.len().max(parser_errors.len()), 0);
        self.parser_errors.iter_mut().zip(parser_errors).for_each(|(sum, count)| *sum += count);
        self.workers.resize(self.workers.len().max(workers.len()), WorkerStats::default());
        for (sum, worker) in self.workers.iter_mut().zip(workers) {
            sum.batches += worker.batches;
            sum.packets += worker.packets;
            sum.busy_ns += worker.busy_ns;
        }
    }
}
