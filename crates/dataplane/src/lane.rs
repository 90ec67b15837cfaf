//! The ports of a switch: how they are added and taken away while a worker runs, and their counts.
//!
//! The control plane hands changes over by a queue that the worker looks into between rounds; what the worker no longer
//! uses comes back by another, so that the worker closes nothing itself. Does not live here: moving packets
//! ([`crate::switch`]).

use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_queue::ArrayQueue;

use crate::packet::{MAX_BATCH, Packet};
use crate::port::{DeviceStats, Port};
use crate::stats::{PortCells, PortStats};
use crate::switch::{PortSummary, SwitchError};

/// Port numbers are v1model's: 9 bits, of which the highest drops.
pub(crate) const MAX_PORT: u32 = hopwright_ir::DROP_PORT - 1;
/// Most ports, and most changes that may wait for the worker.
pub(crate) const MAX_LANES: usize = MAX_PORT as usize + 1;

/// A port in the hands of a worker.
pub(crate) struct Lane {
    pub number: u32,
    pub port: Box<dyn Port>,
    /// To be sent at the end of the burst.
    pub out: Vec<Packet>,
    pub cells: Arc<PortCells>,
}

impl Lane {
    pub fn new(number: u32, port: Box<dyn Port>) -> Lane {
        Lane { number, port, out: Vec::with_capacity(MAX_BATCH), cells: Arc::default() }
    }

    /// Looks at the device's own counters.
    pub fn refresh(&self) {
        let stats = self.port.stats();
        self.cells.rx_overrun.set(stats.rx_overrun);
        self.cells.rx_too_long.set(stats.rx_too_long);
        self.cells.tx_busy.set(stats.tx_busy);
        self.cells.tx_error.set(stats.tx_error);
    }
}

/// What the worker is to do between two rounds.
pub(crate) enum Change {
    Add(Lane),
    Remove(u32),
}

/// The ports as the control plane sees them, and the way to the worker.
pub(crate) struct Ports {
    list: Mutex<List>,
    changes: ArrayQueue<Change>,
    returned: ArrayQueue<Lane>,
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
    cells: Arc<PortCells>,
    /// The worker was told to give it back.
    leaving: bool,
}

impl Listed {
    fn new(lane: &Lane) -> Listed {
        let summary = PortSummary { number: lane.number, name: lane.port.name().into(), info: lane.port.info() };
        Listed { summary, cells: lane.cells.clone(), leaving: false }
    }

    fn stats(&self) -> PortStats {
        let c = &self.cells;
        PortStats {
            number: self.summary.number,
            name: self.summary.name.clone(),
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
}

impl Ports {
    pub fn new(lanes: &[Lane], cpu_ports: [Option<u32>; 2]) -> Ports {
        Ports {
            list: Mutex::new(List { ports: lanes.iter().map(Listed::new).collect(), gone: PortStats::default() }),
            changes: ArrayQueue::new(MAX_LANES),
            returned: ArrayQueue::new(MAX_LANES),
            cpu_ports,
        }
    }

    /// Ports that are there, in order of addition.
    pub fn summaries(&self) -> Vec<PortSummary> {
        self.with(|list| list.ports.iter().filter(|p| !p.leaving).map(|p| p.summary.clone()).collect())
    }

    /// The counts of the ports, and the sum of those of ports that are gone.
    pub fn stats(&self) -> (Vec<PortStats>, PortStats) {
        self.with(|list| (list.ports.iter().map(Listed::stats).collect(), list.gone.clone()))
    }

    pub fn add(&self, number: u32, port: Box<dyn Port>) -> Result<(), SwitchError> {
        if number > MAX_PORT {
            return Err(SwitchError::PortNumber(number));
        }
        self.with(|list| {
            let taken = list.ports.iter().any(|p| p.summary.number == number && !p.leaving);
            if taken || self.cpu_ports.contains(&Some(number)) {
                return Err(SwitchError::PortTwice(number));
            }
            let lane = Lane::new(number, port);
            let listed = Listed::new(&lane);
            self.changes.push(Change::Add(lane)).map_err(|_| SwitchError::WorkerBehind)?;
            list.ports.push(listed);
            Ok(())
        })
    }

    pub fn remove(&self, number: u32) -> Result<(), SwitchError> {
        self.with(|list| {
            let listed = list.ports.iter_mut().find(|p| p.summary.number == number && !p.leaving);
            let Some(listed) = listed else { return Err(SwitchError::NoSuchPort(number)) };
            self.changes.push(Change::Remove(number)).map_err(|_| SwitchError::WorkerBehind)?;
            listed.leaving = true;
            Ok(())
        })
    }

    /// Worker side: the next change, if there is one.
    pub fn next_change(&self) -> Option<Change> {
        self.changes.pop()
    }

    /// Whether changes wait for the worker.
    #[inline]
    pub fn changing(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Worker side: gives back a port that is no longer used.
    pub fn give_back(&self, lane: Lane) {
        // There is room: whoever removes a port first takes what came back.
        let _ = self.returned.push(lane);
    }

    /// Works on the list, after ports that came back are closed.
    fn with<R>(&self, work: impl FnOnce(&mut List) -> R) -> R {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(lane) = self.returned.pop() {
            if let Some(at) = list.ports.iter().position(|p| Arc::ptr_eq(&p.cells, &lane.cells)) {
                let last = list.ports.remove(at).stats();
                list.gone.add(&last);
            }
        }
        work(&mut list)
    }
}
