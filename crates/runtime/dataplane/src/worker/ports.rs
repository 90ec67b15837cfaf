//! The ports of a switch: adding and removing them while workers run, and their counts.
//!
//! A port has a queue in each worker.

use std::sync::{Arc, Mutex, PoisonError};

use crate::observe::stats::{PortCells, PortStats};
use crate::port::{DeviceStats, MAX_PORT, Port, PortInfo};
use crate::worker::error::SwitchError;
use crate::worker::mailbox::{Change, Workers};
use crate::worker::port_queue::PortQueue;

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
                worker.send(Change::AddPort(queue))?;
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
                worker.send(Change::RemovePort(number))?;
            }
            Ok(())
        })
    }

    /// Works on the list, after closing the ports that came back.
    fn with<R>(&self, work: impl FnOnce(&mut List) -> R) -> R {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let returned = self.workers.mailboxes().iter().flat_map(|w| std::iter::from_fn(|| w.next_returned()));
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
