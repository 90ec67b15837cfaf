//! The ports of a switch: adding and removing them while workers run, and their counts.
//!
//! A port has a queue in each worker. The control plane sends changes through a mailbox per worker, which the worker empties
//! between rounds. Queues that a worker gives up come back through the mailbox, so that the worker never closes a device.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_queue::ArrayQueue;

use crate::observe::stats::{PortCells, PortStats};
use crate::packet::{MAX_BATCH, Packet};
use crate::port::{DeviceStats, Port};
use crate::worker::switch::{PortSummary, SwitchError};
use crate::worker::wait::Wakeup;

/// Port numbers are v1model's: 9 bits, of which the highest drops.
pub(crate) const MAX_PORT: u32 = hopwright_ir::DROP_PORT - 1;
/// Most ports, and most changes that may wait for the worker.
pub(crate) const MAX_PORT_QUEUES: usize = MAX_PORT as usize + 1;

/// A port in the hands of a worker.
pub(crate) struct PortQueue {
    pub number: u32,
    pub port: Box<dyn Port>,
    /// To be sent at the end of the burst.
    pub out: Vec<Packet>,
    pub cells: Arc<PortCells>,
}

impl PortQueue {
    pub(crate) fn new(number: u32, port: Box<dyn Port>) -> PortQueue {
        PortQueue { number, port, out: Vec::with_capacity(MAX_BATCH), cells: Arc::default() }
    }

    /// Looks at the device's own counters.
    pub(crate) fn refresh(&self) {
        let stats = self.port.stats();
        self.cells.rx_overrun.set(stats.rx_overrun);
        self.cells.rx_too_long.set(stats.rx_too_long);
        self.cells.tx_busy.set(stats.tx_busy);
        self.cells.tx_error.set(stats.tx_error);
    }
}

/// A change for a worker to apply between two rounds.
pub(crate) enum Change {
    Add(PortQueue),
    Remove(u32),
}

/// Port queues on their way to one worker and back.
pub(crate) struct Mailbox {
    changes: ArrayQueue<Change>,
    returned: ArrayQueue<PortQueue>,
    wakeup: Wakeup,
}

impl Mailbox {
    fn new() -> io::Result<Mailbox> {
        let (changes, returned) = (ArrayQueue::new(MAX_PORT_QUEUES), ArrayQueue::new(MAX_PORT_QUEUES));
        Ok(Mailbox { changes, returned, wakeup: Wakeup::new()? })
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

    /// Worker side: gives back a port that is no longer used.
    pub(crate) fn give_back(&self, queue: PortQueue) {
        // There is room: removing a port first takes what came back.
        let _ = self.returned.push(queue);
    }

    /// Wakes the worker.
    pub(crate) fn wakeup(&self) -> &Wakeup {
        &self.wakeup
    }
}

/// The ports as the control plane sees them, and the mailboxes of the workers.
pub(crate) struct Ports {
    list: Mutex<List>,
    workers: Box<[Mailbox]>,
    /// The CPU port and the urgent one.
    cpu_ports: [Option<u32>; 2],
}

#[derive(Default)]
struct List {
    ports: Vec<Listed>,
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
        device: DeviceStats {
            rx_overrun: c.rx_overrun.get(),
            rx_too_long: c.rx_too_long.get(),
            tx_busy: c.tx_busy.get(),
            tx_error: c.tx_error.get(),
        },
    }
}

impl Ports {
    /// `queues`: each worker's, in the same order of ports.
    pub(crate) fn new(queues: &[Vec<PortQueue>], cpu_ports: [Option<u32>; 2]) -> io::Result<Ports> {
        let ports = queues.first().map_or(0, Vec::len);
        let ports =
            (0..ports).map(|i| Listed::new(&queues.iter().map(|queues| &queues[i]).collect::<Vec<_>>())).collect();
        Ok(Ports {
            list: Mutex::new(List { ports, gone: PortStats::default() }),
            workers: queues.iter().map(|_| Mailbox::new()).collect::<io::Result<_>>()?,
            cpu_ports,
        })
    }

    /// The mailbox of a worker.
    pub(crate) fn worker(&self, index: usize) -> &Mailbox {
        &self.workers[index]
    }

    /// Whether changes wait for a worker.
    pub(crate) fn changing(&self) -> bool {
        self.workers.iter().any(Mailbox::changing)
    }

    /// Wakes all workers.
    pub(crate) fn wake(&self) {
        self.workers.iter().for_each(|worker| worker.wakeup.notify());
    }

    /// Ports that are there, in order of addition.
    pub(crate) fn summaries(&self) -> Vec<PortSummary> {
        self.with(|list| list.ports.iter().filter(|p| !p.leaving).map(|p| p.summary.clone()).collect())
    }

    /// The counts of the ports, and the sum of those of ports that are gone.
    pub(crate) fn stats(&self) -> (Vec<PortStats>, PortStats) {
        self.with(|list| (list.ports.iter().map(Listed::stats).collect(), list.gone.clone()))
    }

    pub(crate) fn add(&self, number: u32, ports: Vec<Box<dyn Port>>) -> Result<(), SwitchError> {
        if number > MAX_PORT {
            return Err(SwitchError::PortNumber(number));
        }
        if ports.len() != self.workers.len() {
            return Err(SwitchError::PortsPerWorker { ports: ports.len(), workers: self.workers.len() });
        }
        self.with(|list| {
            let taken = list.ports.iter().any(|p| p.summary.number == number && !p.leaving);
            if taken || self.cpu_ports.contains(&Some(number)) {
                return Err(SwitchError::PortTwice(number));
            }
            self.room()?;
            let queues: Vec<PortQueue> = ports.into_iter().map(|port| PortQueue::new(number, port)).collect();
            list.ports.push(Listed::new(&queues.iter().collect::<Vec<_>>()));
            for (worker, queue) in self.workers.iter().zip(queues) {
                worker.changes.push(Change::Add(queue)).map_err(|_| SwitchError::WorkerBehind)?;
            }
            Ok(())
        })
    }

    pub(crate) fn remove(&self, number: u32) -> Result<(), SwitchError> {
        self.with(|list| {
            let listed = list.ports.iter_mut().find(|p| p.summary.number == number && !p.leaving);
            let Some(listed) = listed else { return Err(SwitchError::NoSuchPort(number)) };
            self.room()?;
            listed.leaving = true;
            for worker in &self.workers {
                worker.changes.push(Change::Remove(number)).map_err(|_| SwitchError::WorkerBehind)?;
            }
            Ok(())
        })
    }

    /// Whether every mailbox has room. Call with the list locked, which excludes other senders.
    fn room(&self) -> Result<(), SwitchError> {
        let full = self.workers.iter().any(|worker| worker.changes.is_full());
        if full { Err(SwitchError::WorkerBehind) } else { Ok(()) }
    }

    /// Works on the list, after closing the ports that came back.
    fn with<R>(&self, work: impl FnOnce(&mut List) -> R) -> R {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        for queue in self.workers.iter().flat_map(|worker| std::iter::from_fn(|| worker.returned.pop())) {
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
