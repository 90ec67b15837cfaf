//! A tenant in the hands of one worker: the executor of its program, its port numbers, its packets that wait and its account
//! of the worker's time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use crate::executor::Executor;
use crate::observe::stats::TenantCells;
use crate::packet::{MAX_BATCH, Packet, Pool};
use crate::port::MAX_PORT;
use crate::vdp::VirtualDataPlane;
use crate::worker::classifier::{MAX_TENANTS, Slot};
use crate::worker::cpu::Urgency;
use crate::worker::generator::{Generator, MAX_GENERATORS};
use crate::worker::port_queue::PortQueue;
use crate::worker::schedule::Account;
use crate::worker::tenant_state::TenantState;

/// Where a program's port number leads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Egress {
    Nowhere,
    /// To the worker's port queue of this index.
    Port(u16),
    Cpu(Urgency),
}

/// Stands for the lane of packets that no tenant gets.
pub(crate) const NO_LANE: u16 = MAX_TENANTS as u16;

/// Most packets that may wait in a lane between two bursts.
pub(crate) const MAX_WAITING: usize = 4096;

/// The lanes of a worker that have packets, or have just had some: a worker does nothing for the others. Places among all lanes, in the
/// order of their turns.
pub(crate) struct ActiveLanes(Vec<u16>);

impl ActiveLanes {
    pub(crate) fn new() -> ActiveLanes {
        ActiveLanes(Vec::with_capacity(MAX_TENANTS))
    }

    /// Adds a lane, which is at this place.
    #[inline]
    pub(crate) fn add(&mut self, lane: &mut Lane, at: usize) {
        if !lane.active {
            lane.active = true;
            self.0.push(at as u16);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The place of the lane whose turn this is.
    #[inline]
    pub(crate) fn at(&self, turn: usize) -> usize {
        usize::from(self.0[turn % self.0.len()])
    }

    /// The places of all.
    #[inline]
    pub(crate) fn places(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().copied().map(usize::from)
    }

    /// Does something for each, and keeps those that have packets then.
    pub(crate) fn settle(&mut self, lanes: &mut [Box<Lane>], mut settle: impl FnMut(&mut Lane)) {
        self.0.retain(|at| {
            let lane = &mut *lanes[usize::from(*at)];
            settle(lane);
            lane.active = lane.has_packets();
            lane.active
        });
    }

    /// Begins anew with lanes that may be at other places.
    pub(crate) fn find(&mut self, lanes: &mut [Box<Lane>]) {
        self.0.clear();
        for (at, lane) in lanes.iter_mut().enumerate() {
            lane.active = false;
            if lane.has_packets() {
                self.add(lane, at);
            }
        }
    }
}

/// A worker's side of a tenant.
pub(crate) struct Lane {
    pub tenant: Arc<TenantState>,
    pub cells: Arc<TenantCells>,
    pub executor: Executor,
    /// By the program's port number.
    pub egress: Box<[Egress]>,
    /// The program's numbers of the worker's port queues.
    pub numbers: Vec<Option<u32>>,
    pub slot: Slot,
    /// Packets that wait for the program, no more than [`Lane::frames`] between two bursts.
    waiting: VecDeque<Packet>,
    /// Packets of the last burst, which come behind these.
    fresh: Vec<Packet>,
    /// It is in the worker's list of lanes that have something to do.
    pub active: bool,
    /// Packet buffers that it may hold.
    pub frames: usize,
    pub account: Account,
    /// The policer is asked.
    pub limited: bool,
    /// The control plane keeps its packets waiting.
    pub paused: bool,
    /// Packets sent and not yet paid for, and packets run of which they come.
    pub sent: u64,
    pub ran: u64,
    /// Of the first worker: no more than [`MAX_GENERATORS`].
    #[expect(clippy::vec_box, reason = "the control side makes generators, and drops them")]
    pub generators: Vec<Box<Generator>>,
    /// Taken in and not yet counted.
    rx_packets: u64,
    rx_bytes: u64,
}

impl Lane {
    /// What it takes, without the memory of the program.
    pub(crate) fn footprint() -> u64 {
        let packets = MAX_WAITING + 3 * MAX_BATCH;
        let ports = (MAX_PORT as usize + 1) * (size_of::<Egress>() + size_of::<Option<u32>>());
        (size_of::<Lane>() + packets * size_of::<Packet>() + ports) as u64
    }

    /// Made on the control side; a worker connects it.
    pub(crate) fn new(tenant: &Arc<TenantState>, program: Arc<VirtualDataPlane>, worker: usize) -> Box<Lane> {
        Box::new(Lane {
            tenant: tenant.clone(),
            cells: tenant.cells[worker].clone(),
            executor: Executor::new(program),
            egress: vec![Egress::Nowhere; MAX_PORT as usize + 1].into(),
            numbers: Vec::with_capacity(MAX_PORT as usize + 1),
            slot: tenant.slot,
            waiting: VecDeque::with_capacity(MAX_WAITING + 2 * MAX_BATCH),
            fresh: Vec::with_capacity(MAX_BATCH),
            active: false,
            frames: MAX_WAITING,
            account: Account::default(),
            limited: tenant.is_limited(),
            paused: false,
            sent: 0,
            ran: 0,
            generators: Vec::with_capacity(MAX_GENERATORS),
            rx_packets: 0,
            rx_bytes: 0,
        })
    }

    /// Takes up a generator in the place of the one with its number. What is not used comes back.
    pub(crate) fn set_generator(&mut self, mut generator: Box<Generator>) -> Option<Box<Generator>> {
        if let Some(old) = self.generators.iter_mut().find(|old| old.id == generator.id) {
            std::mem::swap(old, &mut generator);
            return Some(generator);
        }
        self.generators.push(generator);
        None
    }

    /// Triggers generators for a port of this number that has lost its link.
    pub(crate) fn port_down(&mut self, port: u32, now: Instant) {
        // Those with one set are triggered together.
        if self.generators.iter().filter_map(|generator| generator.awaits(port)).any(|down| down.add(port)) {
            self.generators.iter_mut().for_each(|generator| generator.port_down(port, now));
        }
    }

    /// When a generator makes the next packet, if one does.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.generators.iter().filter_map(|generator| generator.due()).min()
    }

    /// Takes in a packet of the burst that the port queue of this index received. One that the policer does not let in comes back.
    #[inline]
    pub(crate) fn take_in(&mut self, mut packet: Packet, queue: usize, now_ns: u64) -> Option<Packet> {
        self.count_received(packet.len());
        if !self.admit(packet.len(), now_ns) {
            return Some(packet);
        }
        packet.set_ingress_port(self.number(queue));
        self.fresh.push(packet);
        None
    }

    /// Counts a packet that has come.
    #[inline]
    fn count_received(&mut self, bytes: usize) {
        self.rx_packets += 1;
        self.rx_bytes += bytes as u64;
    }

    /// Asks the policer for a packet if the tenant is limited, this many nanoseconds after the switch was made. False, and counted,
    /// if it is not let in.
    #[inline]
    fn admit(&mut self, bytes: usize, now_ns: u64) -> bool {
        let admitted = !self.limited || self.tenant.policer.admit(now_ns, bytes);
        if !admitted {
            self.cells.policed.add(1);
        }
        admitted
    }

    /// Takes in a copy of a packet that the port queue of this index received. It waits at once. One that is not let in comes
    /// back.
    pub(crate) fn take_in_copy(&mut self, mut copy: Packet, queue: usize, now_ns: u64) -> Option<Packet> {
        self.count_received(copy.len());
        if !self.admit(copy.len(), now_ns) {
            return Some(copy);
        }
        copy.set_ingress_port(self.number(queue));
        self.wait(copy)
    }

    /// The program's number of a port queue.
    #[inline]
    pub(crate) fn number(&self, queue: usize) -> u32 {
        self.numbers[queue].unwrap_or_default()
    }

    /// Lets a packet wait for the program. One that there is no room for comes back, counted.
    #[inline]
    pub(crate) fn wait(&mut self, packet: Packet) -> Option<Packet> {
        if self.waiting.len() < self.waiting.capacity() {
            self.waiting.push_back(packet);
            return None;
        }
        self.cells.lane_full.add(1);
        Some(packet)
    }

    /// Counts a copy that there was no frame for.
    pub(crate) fn lose_copy(&mut self, bytes: usize) {
        self.count_received(bytes);
        self.cells.no_frame.add(1);
    }

    #[inline]
    pub(crate) fn has_packets(&self) -> bool {
        !self.waiting.is_empty() || !self.fresh.is_empty()
    }

    /// How many more packets may wait.
    pub(crate) fn room(&self) -> usize {
        self.frames.saturating_sub(self.waiting.len())
    }

    /// Moves the packets that have waited longest, this many at most, to a batch, which is empty.
    #[inline]
    pub(crate) fn next_batch(&mut self, count: usize, batch: &mut Vec<Packet>) {
        let old = count.min(self.waiting.len());
        if old > 0 {
            batch.extend(self.waiting.drain(..old));
        }
        let new = (count - old).min(self.fresh.len());
        if old == 0 && new == self.fresh.len() {
            std::mem::swap(batch, &mut self.fresh);
        } else {
            batch.extend(self.fresh.drain(..new));
        }
    }

    /// Takes packets back that were not run: they wait before the others. There is room, because they have been here.
    #[cold]
    pub(crate) fn put_back(&mut self, packets: impl DoubleEndedIterator<Item = Packet>) {
        packets.rev().for_each(|packet| self.waiting.push_front(packet));
    }

    /// Lets the rest of the burst wait, as far as there is room.
    #[inline]
    pub(crate) fn keep_rest(&mut self, pool: &mut Pool) {
        for at in 0..self.fresh.len() {
            let packet = self.fresh[at].take();
            if let Some(packet) = self.wait(packet) {
                pool.give(packet);
            }
        }
        self.fresh.clear();
        if self.waiting.is_empty() {
            // Begins at the front again, where memory is in the cache.
            self.waiting.clear();
        }
        self.shorten(self.frames, pool);
    }

    /// Counts what was taken in.
    #[inline]
    pub(crate) fn count(&mut self) {
        if self.rx_packets > 0 {
            self.cells.rx_packets.add(std::mem::take(&mut self.rx_packets));
            self.cells.rx_bytes.add(std::mem::take(&mut self.rx_bytes));
        }
    }

    /// Drops, newest first and counted, packets beyond a number of them.
    #[inline]
    pub(crate) fn shorten(&mut self, most: usize, pool: &mut Pool) {
        while self.waiting.len() > most {
            self.cells.lane_full.add(1);
            if let Some(packet) = self.waiting.pop_back() {
                pool.give(packet);
            }
        }
    }

    /// Finds its ports among those that the worker has now.
    pub(crate) fn connect(&mut self, queues: &[PortQueue]) {
        self.egress.fill(Egress::Nowhere);
        self.numbers.clear();
        for (index, queue) in queues.iter().enumerate() {
            let number = self.tenant.ports.of_program(queue.number);
            self.numbers.push(number);
            if let Some(place) = number.and_then(|number| self.egress.get_mut(number as usize)) {
                *place = Egress::Port(index as u16);
            }
        }
        for (port, urgency) in self.tenant.cpu_ports.into_iter().zip([Urgency::Normal, Urgency::Urgent]) {
            if let Some(place) = port.and_then(|port| self.egress.get_mut(port as usize)) {
                *place = Egress::Cpu(urgency);
            }
        }
    }
}
