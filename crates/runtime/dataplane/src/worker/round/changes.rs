//! Changes that the control side leaves in a worker's mailbox: ports, tenants, programs, limits.

use std::os::fd::AsFd;

use super::{INJECTED, MAILBOX, NAP, Worker};
use crate::worker::lane::{Lane, MAX_WAITING, NO_LANE};
use crate::worker::mailbox::{Change, Retired};
use crate::worker::wait::Sleeper;

/// Packet buffers that a tenant may hold however many tenants there are.
const LEAST_FRAMES: u64 = 16;

impl Worker {
    /// Takes up changes of ports and tenants and gives back what it no longer uses. Between rounds nothing waits in a port
    /// queue.
    #[cold]
    pub(super) fn take_up_changes(&mut self) {
        let (mut other_ports, mut connected) = (self.sleeper.is_none(), self.lanes.len());
        while let Some(change) = self.mailbox().next_change() {
            match change {
                Change::AddPort(queue) => {
                    other_ports = true;
                    self.queues.push(queue);
                }
                Change::RemovePort(number) => {
                    other_ports = true;
                    let Some(at) = self.queues.iter().position(|l| l.number == number) else { continue };
                    let mut queue = self.queues.swap_remove(at);
                    queue.port.flush();
                    queue.port.discard(&mut self.pool);
                    let _ = queue.refresh();
                    self.mailbox().give_back(queue);
                }
                Change::AddTenant(lane) => self.lanes.push(lane),
                Change::RemoveTenant(slot) => {
                    let Some(at) = self.lanes.iter().position(|lane| lane.slot == slot) else { continue };
                    let mut lane = self.lanes.remove(at);
                    connected -= usize::from(at < connected);
                    lane.count();
                    lane.shorten(0, &mut self.pool);
                    self.mailbox().retire(Retired::Lane(lane));
                }
                Change::Classify(classifier) => {
                    let old = std::mem::replace(&mut self.classifier, classifier);
                    self.mailbox().retire(Retired::Classifier(old));
                }
                Change::Limit => {}
                Change::Generate(slot, generator) => {
                    let Some(lane) = self.lanes.iter_mut().find(|lane| lane.slot == slot) else { continue };
                    if let Some(unused) = lane.set_generator(generator) {
                        lane.tenant.give_back(unused);
                    }
                }
            }
        }
        self.due = self.lanes.iter().filter_map(|lane| lane.due()).min();
        self.active.find(&mut self.lanes);
        self.next_lane = 0;
        self.by_slot.fill(NO_LANE);
        for (at, lane) in self.lanes.iter_mut().enumerate() {
            self.by_slot[usize::from(lane.slot)] = at as u16;
            if other_ports || at >= connected {
                lane.connect(&self.queues);
                if let Some(depths) = lane.executor.depths() {
                    depths.clear();
                }
            }
        }
        self.share();
        if other_ports {
            self.watch_ports();
        }
        if self.index == 0 {
            // Packets may have been sent for a tenant before it was here.
            self.switch.workers().injected.raise();
        }
        // A call for a tenant may have come before it.
        self.take_up_handovers();
    }

    /// Takes up new programs, and pauses tenants that are to be.
    #[cold]
    pub(super) fn take_up_handovers(&mut self) {
        let mailbox = &self.switch.workers().mailboxes()[self.index];
        mailbox.attention.answer();
        let several = self.lanes.len() > 1;
        for lane in &mut self.lanes {
            let Lane { tenant, executor, paused, .. } = &mut **lane;
            let handover = &tenant.handovers[self.index];
            let pause = handover.take_up(executor);
            executor.set_max_passes(tenant.max_passes());
            if !pause {
                continue;
            }
            *paused = several;
            self.paused |= several;
            while !several && handover.is_paused() && !self.switch.stopping() {
                std::thread::yield_now();
            }
        }
    }

    /// Ends pauses.
    #[cold]
    pub(super) fn resume(&mut self) {
        self.paused = false;
        for lane in &mut self.lanes {
            lane.paused = lane.paused && lane.tenant.handovers[self.index].is_paused();
            self.paused |= lane.paused;
        }
    }

    /// Divides time and frames among the tenants.
    pub(super) fn share(&mut self) {
        let weights = || self.lanes.iter().map(|lane| lane.tenant.share().0);
        let sum = weights().map(u64::from).sum::<u64>().max(1);
        let smallest = weights().min().unwrap_or(1);
        let (frames, tenants) = (u64::from(self.pool.frames()), self.lanes.len().max(1) as u64);
        for lane in &mut self.lanes {
            let (weight, most) = lane.tenant.share();
            lane.account.set_weight(weight, sum, smallest);
            lane.executor.set_max_passes(lane.tenant.max_passes());
            lane.limited = lane.tenant.is_limited();
            let part = (frames / 2 / tenants).max(LEAST_FRAMES);
            lane.frames = most.map_or(part, u64::from).min(MAX_WAITING as u64) as usize;
        }
        self.shared_frames = self.lanes.iter().map(|lane| lane.frames).sum();
    }

    /// Sleeps on the ports there are now. Without descriptors to do so the worker goes on without sleeping.
    pub(super) fn watch_ports(&mut self) {
        self.backoff.set_ports(self.queues.len());
        self.sleeper = self.sleeper();
    }

    pub(super) fn sleeper(&self) -> Option<Sleeper> {
        let sleeper = Sleeper::new(NAP).ok()?;
        sleeper.add(self.mailbox().attention.wakeup.as_fd(), MAILBOX).ok()?;
        if self.index == 0 {
            sleeper.add(self.switch.workers().injected.wake_fd(), INJECTED).ok()?;
        }
        for queue in &self.queues {
            sleeper.add(queue.port.poll_fd()?, 0).ok()?;
            if let Some(fd) = queue.port.urgent_poll_fd() {
                sleeper.add(fd, 0).ok()?;
            }
        }
        Some(sleeper)
    }
}
