//! Moves punted packets into the namespace, and what its kernel sends out of the switch.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use hopwright_dataplane::wait::PollSet;
use hopwright_dataplane::{CpuQueue, Injector, Tenant};
use hopwright_ports::Tap;

use crate::agent::{Counters, Stop};
use crate::program::PACKET_IN_BYTES;

/// Packets taken from one queue or device before the next has its turn.
const BURST: usize = 64;
/// How long a full injection queue is waited for: the kernel queues meanwhile.
const PATIENCE: Duration = Duration::from_micros(200);
const TRIES: usize = 10;

/// The two directions of packets between program and kernel.
pub(crate) struct Exchange {
    /// By port number.
    taps: BTreeMap<u32, Tap>,
    queues: [CpuQueue; 2],
    injector: Injector,
    counters: Arc<Counters>,
}

impl Exchange {
    pub(crate) fn new(tenant: &Tenant, taps: BTreeMap<u32, Tap>, counters: Arc<Counters>) -> Exchange {
        Exchange { taps, queues: [tenant.urgent_cpu(), tenant.cpu()], injector: tenant.injector(), counters }
    }

    /// Runs until it is stopped.
    pub(crate) fn run(mut self, stop: &Stop) {
        let mut poll = PollSet::new();
        let mut more = false;
        while !stop.requested() {
            if !more {
                poll.clear();
                poll.add(stop.fd());
                self.taps.values().for_each(|tap| poll.add(tap.fd()));
                self.queues.iter().for_each(|queue| poll.add(queue.fd().as_fd().as_raw_fd()));
                poll.wait(Duration::from_secs(1));
            }
            self.queues.iter().for_each(CpuQueue::clear_wakeup);
            more = self.deliver();
            more |= self.inject();
        }
    }

    /// Returns whether there may be more.
    fn deliver(&self) -> bool {
        let mut more = false;
        for queue in &self.queues {
            let mut taken = 0;
            while taken < BURST
                && let Some(packet) = queue.try_receive()
            {
                taken += 1;
                let delivered = packet.split_first_chunk::<PACKET_IN_BYTES>().is_some_and(|([high, low, _], frame)| {
                    let port = u32::from(u16::from_be_bytes([*high, *low]));
                    self.taps.get(&port).is_some_and(|tap| tap.deliver(frame).is_ok())
                });
                let counter = if delivered { &self.counters.to_kernel } else { &self.counters.to_kernel_lost };
                counter.fetch_add(1, Relaxed);
            }
            more |= taken == BURST;
        }
        more
    }

    fn inject(&mut self) -> bool {
        let mut more = false;
        let mut gone = Vec::new();
        for (port, tap) in &mut self.taps {
            let mut taken = 0;
            while taken < BURST {
                let frame = match tap.next_frame() {
                    Ok(Some(frame)) => frame,
                    Ok(None) => break,
                    Err(error) => {
                        tracing::error!(port, %error, "TAP device lost: the port has no control plane any more");
                        gone.push(*port);
                        break;
                    }
                };
                taken += 1;
                let sent = (0..TRIES).any(|again| {
                    if again > 0 {
                        std::thread::sleep(PATIENCE);
                    }
                    self.injector.transmit(*port, frame).is_ok()
                });
                let counter = if sent { &self.counters.from_kernel } else { &self.counters.from_kernel_lost };
                counter.fetch_add(1, Relaxed);
            }
            more |= taken == BURST;
        }
        gone.iter().for_each(|port| drop(self.taps.remove(port)));
        more
    }
}
