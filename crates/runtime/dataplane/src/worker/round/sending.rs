//! Where a worker brings packets that programs are done with: ports, control planes, or nowhere.

use std::time::Instant;

use hopwright_abi::Verdict;

use super::Worker;
use crate::packet::{Packet, Pool};
use crate::worker::cpu::{Cpu, Urgency};
use crate::worker::lane::{Egress, Lane};
use crate::worker::port_queue::PortQueue;
use crate::worker::schedule::without_lost;

/// Packets handed to the control plane, by queue.
pub(super) struct Punts {
    /// Time of their batch.
    pub(super) now_us: u64,
    pub(super) normal: u64,
    pub(super) urgent: u64,
}

impl Punts {
    pub(super) fn new(now_us: u64) -> Punts {
        Punts { now_us, normal: 0, urgent: 0 }
    }

    pub(super) fn add(&mut self, cpu: &Cpu, urgency: Urgency, bytes: &[u8], ingress_port: u32) {
        let handed = u64::from(cpu.queue(urgency).punt(bytes, ingress_port, self.now_us));
        match urgency {
            Urgency::Normal => self.normal += handed,
            Urgency::Urgent => self.urgent += handed,
        }
    }
}

impl Worker {
    /// Sends what waits in the port queues, which is all of the only tenant.
    pub(super) fn transmit(&mut self) {
        let (mut all_packets, mut all_bytes, mut all_lost) = (0, 0, 0);
        let groups = self.cells.counts_groups();
        for queue in &mut self.queues {
            if queue.out.is_empty() {
                continue;
            }
            let count = queue.out.len();
            let bytes: u64 = queue.out.iter().map(|p| p.len() as u64).sum();
            let sent = queue.transmit(&mut self.pool, groups);
            // Lost packets are rare; their bytes are taken as average.
            let bytes = if sent == count { bytes } else { bytes * sent as u64 / count as u64 };
            let lost = (count - sent) as u64;
            queue.cells.count_sent(sent as u64, bytes, lost);
            all_bytes += bytes;
            all_packets += sent as u64;
            all_lost += lost;
        }
        if let [lane] = &self.lanes[..] {
            lane.cells.count_sent(all_packets, all_bytes, all_lost);
        }
    }

    /// Sends what waits in the port queues, which is of several tenants. The time since `begun` is theirs, by packets.
    pub(super) fn transmit_shared(&mut self, begun: Instant) {
        let groups = self.cells.counts_groups();
        let Worker { lanes, active, queues, pool, lost_time, .. } = self;
        let mut packets = 0;
        for queue in queues.iter_mut().filter(|queue| !queue.out.is_empty()) {
            packets += queue.send_runs(pool, groups, |run, sent, bytes| {
                let lane = &mut lanes[usize::from(run.lane)];
                lane.cells.count_sent(sent, bytes, run.packets - sent);
                lane.sent += run.packets;
            });
        }
        if packets == 0 {
            return;
        }
        // What the worker lost is nobody's, so it is asked once for all.
        let expected = active.places().map(|at| lanes[at].account.expected_sending(lanes[at].ran)).sum();
        let ns = without_lost(begun.elapsed().as_nanos() as u64, expected, || lost_time.take());
        for at in active.places() {
            let lane = &mut *lanes[at];
            if lane.sent + lane.ran == 0 {
                continue;
            }
            let (sent, ran) = (std::mem::take(&mut lane.sent), std::mem::take(&mut lane.ran));
            lane.account.debit_sending(ns * sent / packets.max(sent), ran);
        }
    }
}

/// Brings a packet that the program is done with to where it goes.
#[inline]
pub(super) fn dispatch(packet: Packet, lane: &Lane, pool: &mut Pool, queues: &mut [PortQueue], punts: &mut Punts) {
    let cells = &*lane.cells;
    if packet.parser_error() != 0
        && let Some(cell) = cells.parser_errors.get(packet.parser_error() as usize)
    {
        cell.add(1);
    }
    let lost = match packet.verdict() {
        Verdict::Forward => match lane.egress.get(packet.egress_port() as usize) {
            Some(Egress::Port(at)) => {
                queues[usize::from(*at)].out.push(packet);
                return;
            }
            Some(Egress::Cpu(urgency)) => {
                punts.add(&lane.tenant.cpu, *urgency, packet.bytes(), packet.ingress_port());
                pool.give(packet);
                return;
            }
            _ => &cells.no_such_port,
        },
        Verdict::Drop => &cells.dropped_by_program,
        Verdict::NoHeadroom => &cells.no_headroom,
        Verdict::Fault => &cells.faults,
    };
    lost.add(1);
    pool.give(packet);
}
