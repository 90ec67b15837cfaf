//! Moves punted packets into the namespace, and what its kernel sends out of the switch.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hopwright_dataplane::wait::{PollSet, Wakeup};
use hopwright_dataplane::{CpuQueue, Injector, Tenant};
use hopwright_ports::Tap;

use crate::program::PACKET_IN_BYTES;
use crate::threads::{Counters, Stop};

/// Packets taken from one queue or device before the next has its turn.
const BURST: usize = 64;
/// How long a full injection queue is waited for: the kernel queues meanwhile.
const PATIENCE: Duration = Duration::from_micros(200);
const TRIES: usize = 10;

/// The two directions, and whether they are at work: they pause while another process takes over.
#[derive(Debug)]
pub(crate) struct Punting {
    exchange: Mutex<Exchange>,
    paused: AtomicBool,
    resumed: Wakeup,
}

impl Punting {
    pub(crate) fn new(exchange: Exchange, paused: bool) -> io::Result<Punting> {
        let paused = AtomicBool::new(paused);
        Ok(Punting { exchange: Mutex::new(exchange), paused, resumed: Wakeup::new()? })
    }

    fn lock(&self) -> MutexGuard<'_, Exchange> {
        self.exchange.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs until it is stopped.
    pub(crate) fn run(&self, stop: &Stop) {
        let mut poll = PollSet::new();
        let mut more = false;
        while !stop.requested() {
            if !more {
                poll.clear();
                poll.add(stop.fd());
                poll.add(self.resumed.as_raw_fd());
                if !self.paused.load(Acquire) {
                    self.lock().add_to(&mut poll);
                }
                poll.wait(Duration::from_secs(1));
                self.resumed.clear();
            }
            let mut exchange = self.lock();
            // Under the lock: who pauses has it afterwards.
            more = !self.paused.load(Acquire) && exchange.step();
        }
    }

    /// Reads nothing more of the TAP devices when this returns; what has been read is with the program.
    pub(crate) fn pause(&self) {
        self.paused.store(true, Release);
        self.lock().finish_frames();
    }

    /// Delivers what the program has punted, in a pause. Returns whether there was anything.
    pub(crate) fn finish(&self) -> bool {
        self.lock().deliver() != [0, 0]
    }

    /// Begins, or goes on after a pause.
    pub(crate) fn go_on(&self) {
        self.paused.store(false, Release);
        self.resumed.notify();
    }

    /// Duplicates of the TAP devices' descriptors by port, for another process.
    pub(crate) fn share(&self) -> io::Result<Vec<(u32, OwnedFd)>> {
        self.lock().taps.iter().map(|(port, tap)| Ok((*port, tap.share()?))).collect()
    }

    /// Leaves the TAP devices to a process that has taken over.
    pub(crate) fn leave(&self) {
        self.lock().taps.values_mut().for_each(Tap::leave);
    }
}

/// The two directions of packets between program and kernel.
#[derive(Debug)]
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

    /// Adds the events to wait for.
    fn add_to(&self, poll: &mut PollSet) {
        self.taps.values().for_each(|tap| poll.add(tap.fd()));
        self.queues.iter().for_each(|queue| poll.add(queue.fd().as_fd().as_raw_fd()));
    }

    /// Moves some packets in both directions. Returns whether there may be more.
    fn step(&mut self) -> bool {
        self.queues.iter().for_each(CpuQueue::clear_wakeup);
        let delivered = self.deliver();
        self.inject() || delivered.contains(&BURST)
    }

    /// Returns how many packets were taken from each queue.
    fn deliver(&self) -> [usize; 2] {
        self.queues.each_ref().map(|queue| {
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
            taken
        })
    }

    /// Sends the rest of frames of several segments that have been read.
    fn finish_frames(&mut self) {
        let Exchange { taps, injector, counters, .. } = self;
        for (port, tap) in taps {
            while tap.is_within_frame()
                && let Ok(Some(frame)) = tap.next_frame()
            {
                send(injector, counters, *port, frame);
            }
        }
    }

    /// Returns whether there may be more.
    fn inject(&mut self) -> bool {
        let mut more = false;
        let mut gone = Vec::new();
        let Exchange { taps, injector, counters, .. } = self;
        for (port, tap) in &mut *taps {
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
                send(injector, counters, *port, frame);
            }
            more |= taken == BURST;
        }
        gone.iter().for_each(|port| drop(taps.remove(port)));
        more
    }
}

/// Sends a frame of the kernel out of a port, and counts it.
fn send(injector: &Injector, counters: &Counters, port: u32, frame: &[u8]) {
    let sent = (0..TRIES).any(|again| {
        if again > 0 {
            std::thread::sleep(PATIENCE);
        }
        injector.transmit(port, frame).is_ok()
    });
    let counter = if sent { &counters.from_kernel } else { &counters.from_kernel_lost };
    counter.fetch_add(1, Relaxed);
}
