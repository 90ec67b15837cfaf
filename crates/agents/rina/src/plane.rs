//! Where the program runs: on this machine's devices, or on a switch elsewhere, which is driven by P4Runtime.
//!
//! Tables are written to the program's `Control` in either case. That of a switch elsewhere belongs to a data plane without packets, a
//! [`Replica`], and a controller makes the switch equal to it.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hopwright_dataplane::wait::Wakeup;
use hopwright_dataplane::{Control, CpuQueue, Injector, Switch};
use hopwright_p4runtime::client::{Controller, Mastership};
use hopwright_p4runtime::{Failure, Program, Replica};

use crate::config::{Config, SwitchConfig};
use crate::error::AgentError;
use crate::program::interior::object;
use crate::program::{self, CPU_PORT, Kind};
use crate::{border_tables, tables};

/// Packets of a switch elsewhere that wait here, of layer management and others.
const MOST_RECEIVED: usize = 4096;
/// Counters of the program that are shown.
const COUNTERS: [&str; 2] = [object::REASONS, object::MARKED];
/// How long the frames that are sent last may take to leave.
const LAST_FRAMES: Duration = Duration::from_millis(50);

/// Where the program runs.
pub(crate) enum Plane {
    /// On devices of this machine. There is a queue for layer management, and one for other packets.
    Here { switch: Arc<Switch>, queues: [CpuQueue; 2], injector: Injector },
    /// On a switch elsewhere.
    Elsewhere(Remote),
}

/// A switch elsewhere.
pub(crate) struct Remote {
    controller: Controller,
    received: Arc<Received>,
    begin: Instant,
}

/// Packets that came from a switch elsewhere.
struct Received {
    queues: [Mutex<VecDeque<Vec<u8>>>; 2],
    wakeup: Wakeup,
    lost: AtomicU64,
}

/// What a switch elsewhere is to have: a program with macros, and nothing in its tables yet.
fn replica(kind: Kind, defines: &[String]) -> Result<Replica, Failure> {
    let compiled = program::compile(kind, false, defines);
    let program = Program::from_compiled(&compiled, program::bundle(kind, defines).to_bytes())?;
    let objects = match kind {
        Kind::Interior => tables::objects(&program.pipeline),
        Kind::Border => border_tables::objects(),
    };
    Replica::new(program, &objects)?.with_counters(&COUNTERS)
}

impl Received {
    fn new() -> io::Result<Received> {
        Ok(Received { queues: Default::default(), wakeup: Wakeup::new()?, lost: AtomicU64::new(0) })
    }

    /// Layer management has a queue of its own: it is not lost because of data.
    fn push(&self, packet: Vec<u8>) {
        let queue = usize::from(!program::is_urgent(&packet));
        let mut queue = self.queues[queue].lock().unwrap_or_else(PoisonError::into_inner);
        if queue.len() < MOST_RECEIVED {
            queue.push_back(packet);
            drop(queue);
            self.wakeup.notify();
        } else {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Plane {
    /// The switch with the devices of this machine.
    pub(crate) fn here(switch: Arc<Switch>) -> Plane {
        let tenant = switch.default_tenant();
        let (queues, injector) = ([tenant.urgent_cpu(), tenant.cpu()], tenant.injector());
        Plane::Here { switch, queues, injector }
    }

    /// Begins to drive a switch elsewhere. Returns what is written for it, too.
    pub(crate) fn elsewhere(config: &Config, switch: &SwitchConfig) -> Result<(Plane, Arc<Control>), AgentError> {
        let replica = replica(config.program(), &switch.defines);
        let replica = Arc::new(replica.map_err(|failure| AgentError::Replica(failure.message))?);
        let control = replica.control().clone();
        let received = Arc::new(Received::new().map_err(AgentError::Thread)?);
        let receive = {
            let received = received.clone();
            move |packet| received.push(packet)
        };
        let controller = Controller::start(switch.controller.clone(), replica, receive).map_err(AgentError::Thread)?;
        Ok((Plane::Elsewhere(Remote { controller, received, begin: Instant::now() }), control))
    }

    /// Descriptors that are readable when packets have come.
    pub(crate) fn descriptors(&self) -> Vec<RawFd> {
        match self {
            Plane::Here { queues, .. } => queues.iter().map(|queue| queue.fd().as_raw_fd()).collect(),
            Plane::Elsewhere(remote) => vec![remote.received.wakeup.as_fd().as_raw_fd()],
        }
    }

    /// Makes the descriptors unreadable until the next packet.
    pub(crate) fn clear_wakeups(&self) {
        match self {
            Plane::Here { queues, .. } => queues.iter().for_each(CpuQueue::clear_wakeup),
            Plane::Elsewhere(remote) => remote.received.wakeup.clear(),
        }
    }

    /// Has the next packet of a queue taken, with the program's header; returns whether there was one. Queue 0 is that of layer
    /// management.
    pub(crate) fn receive(&self, queue: usize, take: impl FnOnce(&[u8])) -> bool {
        match self {
            Plane::Here { queues, .. } => queues[queue].try_receive().map(|packet| take(&packet)).is_some(),
            Plane::Elsewhere(remote) => {
                let next = remote.received.queues[queue].lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                next.map(|packet| take(&packet)).is_some()
            }
        }
    }

    /// Sends a packet with the program's header; returns whether there was room.
    pub(crate) fn send(&self, packet: &[u8]) -> bool {
        match self {
            Plane::Here { injector, .. } => injector.packet_out(CPU_PORT, packet).is_ok(),
            Plane::Elsewhere(remote) => remote.controller.packet_out(packet),
        }
    }

    /// The tables have been written.
    pub(crate) fn written(&self) -> Result<(), AgentError> {
        match self {
            Plane::Here { .. } => Ok(()),
            Plane::Elsewhere(remote) => {
                remote.controller.update().map_err(|error| AgentError::Replica(error.to_string()))
            }
        }
    }

    /// Grows while packets are forwarded; that of a switch elsewhere grows in any case.
    pub(crate) fn progress(&self) -> u64 {
        match self {
            Plane::Here { switch, .. } => switch.rounds(),
            Plane::Elsewhere(remote) => remote.begin.elapsed().as_millis() as u64,
        }
    }

    /// Where this controller stands with a switch elsewhere, and what became of updates and packets.
    pub(crate) fn describe(&self) -> Option<serde_json::Value> {
        let Plane::Elsewhere(remote) = self else { return None };
        let (updates, refused) = remote.controller.counts();
        let mastership = match remote.controller.mastership() {
            Mastership::Unreachable => "unreachable",
            Mastership::Standby => "standby",
            Mastership::Primary => "primary",
        };
        let lost = remote.received.lost.load(Ordering::Relaxed);
        Some(serde_json::json!({ "mastership": mastership, "updates": updates, "refused": refused, "lost": lost }))
    }

    /// Waits until the packets that were sent have left.
    pub(crate) fn flush(&self) {
        let Plane::Here { switch, .. } = self else { return };
        // They have when all workers have made a whole round. A controller sends what waits when it is dropped.
        let (rounds, begin) = (switch.rounds(), Instant::now());
        while switch.rounds() < rounds + 2 && begin.elapsed() < LAST_FRAMES {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The tables of the program for hardware.
#[cfg(test)]
pub(crate) fn hardware_control() -> Arc<Control> {
    let replica = replica(Kind::Interior, &program::HARDWARE.map(Into::into)).unwrap();
    replica.control().clone()
}

#[cfg(test)]
mod tests {
    use hopwright_p4runtime::compile_device_config;

    use super::*;

    /// Whatever macros a program has, the switch can compile it, and there is a replica with everything that is written.
    #[test]
    fn each_program_has_a_replica() {
        let hardware = program::HARDWARE.map(String::from);
        for (kind, defines) in [(Kind::Interior, &[][..]), (Kind::Interior, &hardware), (Kind::Border, &[])] {
            let replica = replica(kind, defines).unwrap();
            let pushed = compile_device_config(&program::bundle(kind, defines).to_bytes(), true).unwrap();
            assert!(pushed.pipeline.is_some(), "{}", pushed.report(false));
            assert_eq!(replica.control().profile("members").is_ok(), kind == Kind::Interior && defines.is_empty());
            // Value sets are always there.
            let sets = [4, 0, 2][usize::from(kind == Kind::Border) * 2 + usize::from(!defines.is_empty())];
            assert_eq!(replica.entities().unwrap().len(), sets);
        }
    }

    #[test]
    fn layer_management_has_a_queue_of_its_own() {
        let received = Received::new().unwrap();
        let packet = |reason: u8, number: u8| vec![0, 1, reason, number];
        for number in 0..3 {
            received.push(packet(34, number));
            received.push(packet(32, number));
        }
        (0..2 * MOST_RECEIVED).for_each(|_| received.push(packet(34, 9)));
        assert_eq!(received.lost.load(Ordering::Relaxed) as usize, MOST_RECEIVED + 3);
        let [urgent, rest] = &received.queues;
        assert_eq!(urgent.lock().unwrap().iter().map(|it| it[3]).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(rest.lock().unwrap().len(), MOST_RECEIVED);
    }
}
