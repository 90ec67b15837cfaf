//! The ports of a switch: adding and removing them while workers run, and their counts.
//!
//! A port has a queue in each worker. The control plane sends changes through a mailbox per worker, which the worker empties
//! between rounds. Queues that a worker gives up come back through the mailbox, so that the worker never closes a device.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_queue::ArrayQueue;

use crate::observe::stats::{Groups, PortCells, PortStats};
use crate::packet::{MAX_BATCH, Packet, Pool};
use crate::port::{DeviceStats, MAX_PORT, MAX_PORT_QUEUES, Port, PortInfo};
use crate::worker::classifier::{Classifier, Slot};
use crate::worker::error::SwitchError;
use crate::worker::generator::Generator;
use crate::worker::lane::Lane;
use crate::worker::wait::Wakeup;

/// Most changes that may wait for a worker.
pub(crate) const MAX_CHANGES: usize = 2 * MAX_PORT_QUEUES;

/// A port as the control plane sees it.
#[derive(Clone, Debug)]
pub struct PortSummary {
    /// Its number.
    pub number: u32,
    /// Its device's name.
    pub name: String,
    /// What the device said when the switch was built.
    pub info: PortInfo,
}

/// A port in the hands of a worker.
pub(crate) struct PortQueue {
    pub number: u32,
    pub port: Box<dyn Port>,
    /// [`Port::has_queues`]
    pub has_queues: bool,
    /// To be sent at the end of the burst.
    pub out: Vec<Packet>,
    pub cells: Arc<PortCells>,
    /// Whose packets these are, if there are several tenants.
    runs: Vec<Run>,
    /// The number of packets in `runs`.
    owned: usize,
}

/// Packets of one tenant that follow each other in a port queue.
pub(crate) struct Run {
    /// The tenant's lane.
    pub lane: u8,
    pub packets: u64,
    pub bytes: u64,
}

impl PortQueue {
    pub(crate) fn new(number: u32, port: Box<dyn Port>) -> PortQueue {
        let cells = Arc::<PortCells>::default();
        cells.down.set(u64::from(port.is_up() == Some(false)));
        PortQueue {
            number,
            has_queues: port.has_queues(),
            port,
            out: Vec::with_capacity(MAX_BATCH),
            cells,
            runs: Vec::with_capacity(MAX_BATCH),
            owned: 0,
        }
    }

    /// Says that the packets added to `out` since the last call are of this lane.
    #[inline]
    pub(crate) fn end_run(&mut self, lane: u8) {
        let added = self.out.get(self.owned..).unwrap_or_default();
        if added.is_empty() {
            return;
        }
        let (packets, bytes) = (added.len() as u64, added.iter().map(|packet| packet.len() as u64).sum::<u64>());
        self.owned = self.out.len();
        match self.runs.last_mut() {
            Some(run) if run.lane == lane => (run.packets, run.bytes) = (run.packets + packets, run.bytes + bytes),
            _ => self.runs.push(Run { lane, packets, bytes }),
        }
    }

    /// Sends packets of several lanes. There is at least one packet. `count` gets each run and how many of its packets were
    /// sent. Returns the number of packets.
    pub(crate) fn send_runs(&mut self, pool: &mut Pool, groups: bool, mut count: impl FnMut(&Run, u64, u64)) -> u64 {
        let packets = self.out.len() as u64;
        let mut left = self.transmit(pool, groups) as u64;
        self.owned = 0;
        for run in self.runs.drain(..) {
            // Devices take packets in order; what they lose is the rest.
            let sent = run.packets.min(left);
            left -= sent;
            let bytes = if sent == run.packets { run.bytes } else { run.bytes * sent / run.packets };
            self.cells.count_sent(sent, bytes, run.packets - sent);
            count(&run, sent, bytes);
        }
        packets
    }

    /// Hands what waits to the device. Returns how many packets it took. `groups`: whether those to group addresses are counted.
    #[inline]
    pub(crate) fn transmit(&mut self, pool: &mut Pool, groups: bool) -> usize {
        let waiting = groups.then(|| (Groups::of(&self.out), self.out.len()));
        let sent = self.port.transmit(pool, &mut self.out);
        self.port.flush();
        if let Some((groups, packets)) = waiting {
            self.cells.count_groups_sent(groups, packets, sent);
        }
        sent
    }

    /// Looks at the device's own counters and its link. True if it has just lost the link.
    pub(crate) fn refresh(&mut self) -> bool {
        let (down, before) = (u64::from(self.port.is_up() == Some(false)), self.cells.down.get());
        self.cells.down.set(down);
        let stats = self.port.stats();
        self.has_queues = self.port.has_queues();
        self.cells.rx_overrun.set(stats.rx_overrun);
        self.cells.rx_too_long.set(stats.rx_too_long);
        self.cells.tx_busy.set(stats.tx_busy);
        self.cells.tx_error.set(stats.tx_error);
        self.cells.queue_full.set(stats.queue_full);
        self.cells.queue_longest.set(stats.queue_longest);
        self.cells.queue_waiting.set(stats.queue_waiting);
        down > before
    }
}

/// A change for a worker to apply between two rounds.
pub(crate) enum Change {
    AddPort(PortQueue),
    RemovePort(u32),
    AddTenant(Box<Lane>),
    RemoveTenant(Slot),
    /// From the next burst on.
    Classify(Arc<Classifier>),
    /// Limits of tenants have changed.
    Limit,
    /// For the first worker.
    Generate(Slot, Box<Generator>),
}

/// What a worker of a tenant or classifier no longer uses, to be dropped by the control side.
pub(crate) enum Retired {
    Lane(Box<Lane>),
    Classifier(#[expect(dead_code, reason = "kept to be dropped by the control side")] Arc<Classifier>),
}

/// One worker as the control side reaches it: changes on their way there, and what comes back.
pub(crate) struct Mailbox {
    changes: ArrayQueue<Change>,
    returned: ArrayQueue<PortQueue>,
    retired: ArrayQueue<Retired>,
    wakeup: Wakeup,
    /// A tenant's [`Handover`](crate::worker::handover::Handover) has something for the worker.
    attention: AtomicBool,
    running: AtomicBool,
}

impl Mailbox {
    fn new() -> io::Result<Mailbox> {
        Ok(Mailbox {
            changes: ArrayQueue::new(MAX_CHANGES),
            returned: ArrayQueue::new(MAX_CHANGES),
            retired: ArrayQueue::new(MAX_CHANGES),
            wakeup: Wakeup::new()?,
            attention: AtomicBool::new(false),
            running: AtomicBool::new(false),
        })
    }

    /// Makes the worker attend to the handovers of its tenants.
    pub(crate) fn call(&self) {
        self.attention.store(true, Ordering::Release);
        self.wakeup.notify();
    }

    /// Whether the worker makes rounds.
    pub(crate) fn is_running(&self) -> bool {
        self.running.load(Ordering::Acquire)
    }

    /// Worker side: it makes rounds, or no more.
    pub(crate) fn set_running(&self, running: bool) {
        self.running.store(running, Ordering::Release);
    }

    /// Worker side: whether to attend to handovers.
    #[inline]
    pub(crate) fn is_called(&self) -> bool {
        self.attention.load(Ordering::Acquire)
    }

    /// Worker side: it attends now. What comes later calls again.
    pub(crate) fn answer(&self) {
        self.attention.store(false, Ordering::Release);
    }

    /// Worker side: the next change, if there is one.
    pub(crate) fn next_change(&self) -> Option<Change> {
        self.changes.pop()
    }

    /// Whether changes wait for the worker.
    #[inline]
    pub(crate) fn changing(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Drops changes that were not taken up, and what was retired: lanes among these have tenants, which have the mailbox.
    pub(crate) fn clear(&self) {
        while self.changes.pop().is_some() {}
        while self.retired.pop().is_some() {}
    }

    /// Worker side: gives back a port that is no longer used.
    pub(crate) fn give_back(&self, queue: PortQueue) {
        // There is room: the control side takes what came back before it sends a change.
        let _ = self.returned.push(queue);
    }

    /// Worker side: gives back what else is no longer used.
    pub(crate) fn retire(&self, retired: Retired) {
        // As above.
        let _ = self.retired.push(retired);
    }

    /// Takes what a worker has retired.
    pub(crate) fn next_retired(&self) -> Option<Retired> {
        self.retired.pop()
    }

    /// Wakes the worker.
    pub(crate) fn wakeup(&self) -> &Wakeup {
        &self.wakeup
    }
}

/// What the control side shares with all workers.
pub(crate) struct Workers {
    mailboxes: Box<[Mailbox]>,
    /// Held while changes are sent.
    sending: Mutex<()>,
    stop: AtomicBool,
}

impl Workers {
    pub(crate) fn new(count: usize) -> io::Result<Arc<Workers>> {
        let mailboxes = (0..count).map(|_| Mailbox::new()).collect::<io::Result<_>>()?;
        Ok(Arc::new(Workers { mailboxes, sending: Mutex::new(()), stop: AtomicBool::new(false) }))
    }

    pub(crate) fn count(&self) -> usize {
        self.mailboxes.len()
    }

    /// By number of the worker.
    pub(crate) fn mailboxes(&self) -> &[Mailbox] {
        &self.mailboxes
    }

    /// Wakes all of them.
    pub(crate) fn wake(&self) {
        self.mailboxes.iter().for_each(|worker| worker.wakeup.notify());
    }

    /// Keeps other senders away while the caller sends this many changes, for which there is room.
    pub(crate) fn room(&self, changes: usize) -> Result<MutexGuard<'_, ()>, SwitchError> {
        let sending = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |worker: &Mailbox| worker.changes.len() + changes > worker.changes.capacity();
        if self.mailboxes.iter().any(full) { Err(SwitchError::WorkerBehind) } else { Ok(sending) }
    }

    /// Sends a change to each worker, for which there is room, and wakes them.
    pub(crate) fn send(&self, change: impl Fn(usize) -> Change) {
        for (index, worker) in self.mailboxes.iter().enumerate() {
            // There is room.
            let _ = worker.changes.push(change(index));
        }
        self.wake();
    }

    /// Sends a change to the first worker, for which there is room.
    pub(crate) fn send_to_first(&self, change: Change) {
        if let Some(worker) = self.mailboxes.first() {
            // There is room.
            let _ = worker.changes.push(change);
            worker.wakeup.notify();
        }
    }

    /// Whether changes wait for one of them.
    pub(crate) fn changing(&self) -> bool {
        self.mailboxes.iter().any(Mailbox::changing)
    }

    /// Makes them return after their round.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.wake();
    }

    /// Ends what [`Workers::stop`] did.
    pub(crate) fn resume(&self) {
        self.stop.store(false, Ordering::Release);
    }

    #[inline]
    pub(crate) fn stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

/// The ports as the control plane sees them, and the mailboxes of the workers.
pub(crate) struct Ports {
    list: Mutex<List>,
    workers: Arc<Workers>,
}

#[derive(Default)]
struct List {
    ports: Vec<Listed>,
    /// Numbers that a tenant with all ports has for its CPU ports.
    reserved: Vec<u32>,
    /// Counts of ports that are gone.
    gone: PortStats,
}

struct Listed {
    summary: PortSummary,
    /// Of each worker that still has it.
    cells: Vec<Arc<PortCells>>,
    /// Of workers that gave it back.
    before: PortStats,
    /// The workers are to give it back.
    leaving: bool,
}

impl Listed {
    fn new(queues: &[&PortQueue]) -> Listed {
        let port = &queues[0].port;
        let summary = PortSummary { number: queues[0].number, name: port.name().into(), info: port.info() };
        let cells = queues.iter().map(|queue| queue.cells.clone()).collect();
        Listed { summary, cells, before: PortStats::default(), leaving: false }
    }

    fn summary(&self) -> PortSummary {
        let mut summary = self.summary.clone();
        summary.info.up = summary.info.up.map(|_| self.cells.iter().all(|cells| cells.down.get() == 0));
        summary
    }

    fn stats(&self) -> PortStats {
        let mut sum = PortStats { number: self.summary.number, name: self.summary.name.clone(), ..self.before.clone() };
        for cells in &self.cells {
            sum.add(&counts(cells));
        }
        sum
    }
}

fn counts(c: &PortCells) -> PortStats {
    PortStats {
        number: 0,
        name: String::new(),
        rx_packets: c.rx_packets.get(),
        rx_bytes: c.rx_bytes.get(),
        tx_packets: c.tx_packets.get(),
        tx_bytes: c.tx_bytes.get(),
        tx_lost: c.tx_lost.get(),
        rx_multicast: c.rx_multicast.get(),
        rx_broadcast: c.rx_broadcast.get(),
        tx_multicast: c.tx_multicast.get(),
        tx_broadcast: c.tx_broadcast.get(),
        device: DeviceStats {
            rx_overrun: c.rx_overrun.get(),
            rx_too_long: c.rx_too_long.get(),
            tx_busy: c.tx_busy.get(),
            tx_error: c.tx_error.get(),
            queue_full: c.queue_full.get(),
            queue_longest: c.queue_longest.get(),
            queue_waiting: c.queue_waiting.get(),
        },
    }
}

impl Ports {
    /// `queues`: each worker's, in the same order of ports.
    pub(crate) fn new(queues: &[Vec<PortQueue>], workers: &Arc<Workers>) -> Ports {
        let ports = queues.first().map_or(0, Vec::len);
        let ports =
            (0..ports).map(|i| Listed::new(&queues.iter().map(|queues| &queues[i]).collect::<Vec<_>>())).collect();
        let list = Mutex::new(List { ports, ..List::default() });
        Ports { list, workers: workers.clone() }
    }

    /// Ports that are there, in order of addition.
    pub(crate) fn summaries(&self) -> Vec<PortSummary> {
        self.with(|list| list.ports.iter().filter(|p| !p.leaving).map(Listed::summary).collect())
    }

    /// Keeps numbers from being given to ports.
    pub(crate) fn reserve(&self, numbers: &[u32]) -> Result<(), SwitchError> {
        self.with(|list| {
            let taken = |number: &&u32| list.ports.iter().any(|p| p.summary.number == **number && !p.leaving);
            if let Some(number) = numbers.iter().find(taken) {
                return Err(SwitchError::PortTwice(*number));
            }
            list.reserved.extend(numbers);
            Ok(())
        })
    }

    /// Ends what [`Ports::reserve`] did.
    pub(crate) fn release(&self, numbers: &[u32]) {
        self.with(|list| {
            for number in numbers {
                if let Some(at) = list.reserved.iter().position(|reserved| reserved == number) {
                    list.reserved.swap_remove(at);
                }
            }
        });
    }

    /// The counts of the ports, and the sum of those of ports that are gone.
    pub(crate) fn stats(&self) -> (Vec<PortStats>, PortStats) {
        self.with(|list| (list.ports.iter().map(Listed::stats).collect(), list.gone.clone()))
    }

    pub(crate) fn add(&self, number: u32, ports: Vec<Box<dyn Port>>) -> Result<(), SwitchError> {
        if number > MAX_PORT {
            return Err(SwitchError::PortNumber(number));
        }
        if ports.len() != self.workers.count() {
            return Err(SwitchError::PortsPerWorker { ports: ports.len(), workers: self.workers.count() });
        }
        self.with(|list| {
            let taken = list.ports.iter().any(|p| p.summary.number == number && !p.leaving);
            if taken || list.reserved.contains(&number) {
                return Err(SwitchError::PortTwice(number));
            }
            let _room = self.workers.room(1)?;
            let queues: Vec<PortQueue> = ports.into_iter().map(|port| PortQueue::new(number, port)).collect();
            list.ports.push(Listed::new(&queues.iter().collect::<Vec<_>>()));
            for (worker, queue) in self.workers.mailboxes().iter().zip(queues) {
                worker.changes.push(Change::AddPort(queue)).map_err(|_| SwitchError::WorkerBehind)?;
            }
            Ok(())
        })
    }

    pub(crate) fn remove(&self, number: u32) -> Result<(), SwitchError> {
        self.with(|list| {
            let listed = list.ports.iter_mut().find(|p| p.summary.number == number && !p.leaving);
            let Some(listed) = listed else { return Err(SwitchError::NoSuchPort(number)) };
            let _room = self.workers.room(1)?;
            listed.leaving = true;
            for worker in self.workers.mailboxes() {
                worker.changes.push(Change::RemovePort(number)).map_err(|_| SwitchError::WorkerBehind)?;
            }
            Ok(())
        })
    }

    /// Works on the list, after closing the ports that came back.
    fn with<R>(&self, work: impl FnOnce(&mut List) -> R) -> R {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let returned = self.workers.mailboxes().iter().flat_map(|w| std::iter::from_fn(|| w.returned.pop()));
        for queue in returned {
            let of_queue = |port: &Listed| port.cells.iter().position(|cells| Arc::ptr_eq(cells, &queue.cells));
            let Some(at) = list.ports.iter().position(|port| of_queue(port).is_some()) else { continue };
            let port = &mut list.ports[at];
            if let Some(i) = of_queue(port) {
                let last = port.cells.swap_remove(i);
                port.before.add(&counts(&last));
            }
            if port.cells.is_empty() {
                let port = list.ports.remove(at);
                list.gone.add(&port.before);
            }
        }
        work(&mut list)
    }
}
