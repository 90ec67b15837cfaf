//! A tenant in the hands of one worker: the executor of its program, and its port numbers.

use std::sync::Arc;

use crate::executor::Executor;
use crate::observe::stats::TenantCells;
use crate::worker::port_queue::{MAX_PORT, PortQueue};
use crate::worker::tenant::{Tenant, Urgency};

/// Where a program's port number leads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Egress {
    Nowhere,
    /// To the worker's port queue of this index.
    Port(u16),
    Cpu(Urgency),
}

/// A worker's side of a tenant.
pub(crate) struct Lane {
    pub tenant: Arc<Tenant>,
    pub cells: Arc<TenantCells>,
    pub executor: Executor,
    /// By the program's port number.
    pub egress: Box<[Egress]>,
    /// The program's numbers of the worker's port queues.
    pub numbers: Vec<Option<u32>>,
}

impl Lane {
    /// Made on the control side; a worker connects it.
    pub(crate) fn new(tenant: &Arc<Tenant>, worker: usize) -> Box<Lane> {
        Box::new(Lane {
            tenant: tenant.clone(),
            cells: tenant.cells(worker).clone(),
            executor: Executor::new(tenant.vdp()),
            egress: vec![Egress::Nowhere; MAX_PORT as usize + 1].into(),
            numbers: Vec::with_capacity(MAX_PORT as usize + 1),
        })
    }

    /// Finds its ports among those that the worker has now.
    pub(crate) fn connect(&mut self, queues: &[PortQueue]) {
        self.egress.fill(Egress::Nowhere);
        self.numbers.clear();
        for (index, queue) in queues.iter().enumerate() {
            let number = self.tenant.port_numbers().of_program(queue.number);
            self.numbers.push(number);
            if let Some(place) = number.and_then(|number| self.egress.get_mut(number as usize)) {
                *place = Egress::Port(index as u16);
            }
        }
        for (port, urgency) in self.tenant.cpu_ports().into_iter().zip([Urgency::Normal, Urgency::Urgent]) {
            if let Some(place) = port.and_then(|port| self.egress.get_mut(port as usize)) {
                *place = Egress::Cpu(urgency);
            }
        }
    }
}
