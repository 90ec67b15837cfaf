//! A running router hands over to a successor; see [`crate::hand_over`].

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::mpsc::{self, SyncSender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hopwright_dataplane::wait::{self, PollSet};
use hopwright_dataplane::{EngineKind, Worker};
use hopwright_host::hand_over::Door;
use hopwright_host::service_manager::ServiceManager;

use super::{Agent, AgentError};
use crate::hand_over::message::Message;
use crate::hand_over::{Conversation, HandOverError, Offer, StoppedAt};

/// How long a successor may take to build everything. Hardware that is simulated, or a compiled layout, takes the longest.
const BUILD_TIME: Duration = Duration::from_secs(120);
/// The longest time from a router's stop until its successor has taken over, without BFD and at least. Packets wait meanwhile.
const TAKING_TIME: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));
/// How long the last packets may take to leave.
const FINISH_TIME: Duration = Duration::from_millis(100);

/// The workers' threads.
pub(super) struct Workers {
    threads: Vec<JoinHandle<Worker>>,
    /// Lets a thread run its worker. A thread whose gate is dropped returns its worker.
    gates: Vec<SyncSender<()>>,
    /// Each worker is pinned to a CPU of the list if it is not empty.
    cpus: Vec<usize>,
}

impl Workers {
    /// Starts the threads, which wait for [`Workers::go`].
    pub(super) fn start(workers: Vec<Worker>, cpus: &[usize]) -> Result<Workers, AgentError> {
        let mut gates = Vec::with_capacity(workers.len());
        let start = |(index, mut worker): (usize, Worker)| {
            let cpu = cpus.get(index).copied();
            let (gate, opened) = mpsc::sync_channel(1);
            gates.push(gate);
            let run = move || {
                wait::shorten_slice();
                if let Some(cpu) = cpu
                    && let Err(error) = wait::pin_to(cpu)
                {
                    tracing::warn!(event = "cpu-pinning", cpu, %error, "cannot pin a worker to its CPU");
                }
                if opened.recv().is_ok() {
                    worker.run();
                }
                worker
            };
            std::thread::Builder::new().name(format!("worker-{index}")).spawn(run)
        };
        let threads = workers.into_iter().enumerate().map(start).collect::<std::io::Result<_>>();
        Ok(Workers { threads: threads.map_err(|e| AgentError::Worker(e.to_string()))?, gates, cpus: cpus.to_vec() })
    }

    /// Has the workers run.
    pub(super) fn go(&self) {
        for gate in &self.gates {
            // A thread that has ended is noticed by `has_ended`.
            let _ = gate.try_send(());
        }
    }

    /// Whether one of them has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Waits until they have ended.
    pub(super) fn join(&mut self) -> Result<Vec<Worker>, AgentError> {
        let end = |thread: JoinHandle<Worker>| thread.join().map_err(|_| AgentError::Worker("it panicked".into()));
        self.threads.drain(..).map(end).collect()
    }
}

/// What a running router has for its successor.
pub(super) struct Estate {
    /// Where a successor asks. None: there can be none.
    door: Option<Door>,
    /// HTTP servers' sockets.
    listeners: Vec<(String, OwnedFd)>,
    talk: Option<Talk>,
}

/// A conversation with a successor.
struct Talk {
    with: Conversation,
    since: Instant,
    /// The successor's process.
    pid: u32,
    /// What was offered.
    offered: Option<Offered>,
}

/// What a successor counts on: addresses of UDP sockets, and devices with the number of their packet sockets.
type Offered = (Vec<SocketAddr>, Vec<(String, u32, usize)>);

impl Estate {
    pub(super) fn new(door: Option<Door>, listeners: Vec<(String, OwnedFd)>) -> Estate {
        Estate { door, listeners, talk: None }
    }

    /// Adds the events to wait for.
    pub(super) fn add_to(&self, poll: &mut PollSet) {
        match (&self.talk, &self.door) {
            (Some(talk), _) => poll.add(talk.with.channel().as_raw_fd()),
            (None, Some(door)) => poll.add(door.as_raw_fd()),
            (None, None) => {}
        }
    }

    /// Listens to a successor. Returns whether it has taken over; then the router has stopped for good, and `workers` are those that
    /// have returned.
    pub(super) fn serve_successors(
        &mut self,
        agent: &mut Agent,
        workers: &mut Workers,
        manager: &mut ServiceManager,
    ) -> Result<Option<Vec<Worker>>, AgentError> {
        if self.talk.is_none() {
            self.greet();
        }
        let Some(talk) = &mut self.talk else { return Ok(None) };
        let received = match talk.with.receive(Duration::ZERO) {
            Ok(None) if talk.since.elapsed() < BUILD_TIME => return Ok(None),
            Ok(None) => Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()),
            Ok(Some((message, _))) => Ok(message),
            Err(error) => Err(error),
        };
        let done = match received {
            Ok(Message::Hello { pid, id, ia }) if talk.offered.is_none() => {
                talk.pid = pid;
                self.offer(agent, manager, &id, ia)
            }
            Ok(Message::Ready) if talk.offered.is_some() => {
                if let Some(returned) = self.hand_over(agent, workers, manager)? {
                    return Ok(Some(returned));
                }
                Err(HandOverError::HungUp)
            }
            Ok(_) => Err(HandOverError::OutOfTurn),
            Err(error) => Err(error),
        };
        if let Err(error) = done {
            let why = match error {
                HandOverError::Refused(why) => why,
                other => other.to_string(),
            };
            tracing::warn!(event = "hand-over-failed", why, "no other router takes over; this one goes on");
            // A successor that speaks another version learns of this one. It may have gone.
            if let Some(talk) = self.talk.take() {
                let _ = talk.with.send(&Message::Refused(why));
            }
        }
        Ok(None)
    }

    /// Accepts a successor that has connected.
    fn greet(&mut self) {
        match self.door.as_ref().map(Door::accept) {
            Some(Ok(Some(channel))) => {
                let with = Conversation::new(channel);
                self.talk = Some(Talk { with, since: Instant::now(), pid: 0, offered: None });
            }
            Some(Err(error)) => {
                tracing::warn!(event = "hand-over-failed", %error, "a process that may not take over has asked to");
            }
            _ => {}
        }
    }

    /// Offers everything to a router of this name and AS.
    fn offer(&mut self, agent: &Agent, manager: &ServiceManager, id: &str, ia: u64) -> Result<(), HandOverError> {
        let (Some(talk), Some(door)) = (&mut self.talk, &self.door) else { return Ok(()) };
        let own = (&agent.setup.config.general.id, agent.setup.links.ia);
        if (id, ia) != (own.0.as_str(), own.1.0) {
            return Err(HandOverError::Refused(format!("it is router {} of {}", own.0, own.1)));
        }
        if agent.taps.is_some() {
            return Err(HandOverError::Refused("its slow path is another router's".into()));
        }
        if agent.vdp.engine_kind() == EngineKind::Offload {
            return Err(HandOverError::Refused("its program runs in hardware".into()));
        }
        let (sockets, devices) = agent.underlay.share()?;
        let copy = |(address, socket): &(String, OwnedFd)| Ok((address.clone(), socket.try_clone()?));
        let offer = Offer {
            door: Some(door.socket().try_clone_to_owned()?),
            watchdog: manager.limit(),
            sockets,
            listeners: self.listeners.iter().map(copy).collect::<std::io::Result<_>>()?,
            devices,
            sessions: agent.bfd.saved(),
        };
        talk.with.offer(&offer)?;
        talk.offered = Some(offered(&offer));
        tracing::info!(event = "hand-over-offered", pid = talk.pid, "another process prepares to take over");
        Ok(())
    }

    /// Stops, and goes on unless the successor takes over.
    fn hand_over(
        &mut self,
        agent: &mut Agent,
        workers: &mut Workers,
        manager: &mut ServiceManager,
    ) -> Result<Option<Vec<Worker>>, AgentError> {
        let (Some(talk), Some(door)) = (&self.talk, &mut self.door) else { return Ok(None) };
        let (sockets, devices) = agent.underlay.share().map_err(HandOverError::from)?;
        let now = offered(&Offer { sockets, devices, ..Offer::default() });
        if talk.offered.as_ref() != Some(&now) {
            let why = "its sockets or devices have changed meanwhile; try again";
            let _ = talk.with.send(&Message::Refused(why.into()));
            return Ok(None);
        }
        manager.reloading();
        // While the workers still run: it waits for the kernel.
        let withdrawn = agent.underlay.withdraw();
        wait::shorten_slice();
        // Half of the time after which other ends take this router for dead: the successor's packets have the other half.
        let longest = agent.bfd.patience().map_or(TAKING_TIME.1, |time| time / 2).clamp(TAKING_TIME.0, TAKING_TIME.1);
        let stop = Instant::now();
        // Other ends get a packet of this router now, and then none for a while.
        agent.bfd.stop();
        agent.bfd.announce(&agent.tenant);
        agent.switch.stop();
        let mut idle = workers.join()?;
        idle.iter_mut().for_each(|worker| worker.set_intake(false));
        agent.finish_packets(&mut idle);
        let stopped = StoppedAt { sessions: agent.bfd.saved(), positions: agent.underlay.positions() };
        let stopped_ms = stop.elapsed().as_millis();
        let sent = withdrawn.and_then(|()| Ok(talk.with.send_stopped(&stopped)?));
        if sent.is_ok() && talk.with.is_taken(longest.saturating_sub(stop.elapsed())) {
            door.leave();
            manager.main_process(talk.pid);
            let taken_ms = stop.elapsed().as_millis();
            tracing::info!(
                event = "handed-over",
                pid = talk.pid,
                stopped_ms,
                taken_ms,
                "another process has taken over"
            );
            return Ok(Some(idle));
        }
        // A successor that was too late tries again.
        talk.with.channel().hang_up();
        idle.iter_mut().for_each(|worker| worker.set_intake(true));
        agent.switch.resume();
        *workers = Workers::start(idle, &std::mem::take(&mut workers.cpus))?;
        workers.go();
        if let Err(error) = sent {
            tracing::warn!(event = "hand-over-failed", %error, "cannot stop for a successor");
        }
        agent.underlay.restore();
        // What the other ends have sent waits to be received.
        agent.bfd.resume(&agent.bfd.saved());
        agent.start_bfd()?;
        manager.ready();
        Ok(None)
    }
}

/// What an offer says of sockets and devices.
fn offered(offer: &Offer) -> Offered {
    let mut addresses: Vec<SocketAddr> = offer.sockets.iter().map(|(address, _)| *address).collect();
    addresses.sort_unstable();
    let of = |device: &hopwright_ports::SharedDevice| (device.name.clone(), device.index, device.rings.len());
    let mut devices: Vec<_> = offer.devices.iter().map(of).collect();
    devices.sort_unstable();
    (addresses, devices)
}

impl Agent {
    /// Brings every packet that has been taken in to where it goes: through workers that do not run, and this agent.
    fn finish_packets(&mut self, workers: &mut [Worker]) {
        let deadline = Instant::now() + FINISH_TIME;
        loop {
            let before = self.slow_path_time.packets;
            self.take_punted();
            let mut more = self.slow_path_time.packets != before;
            for worker in workers.iter_mut() {
                more |= worker.finish_packets();
            }
            if !more || Instant::now() > deadline {
                return;
            }
        }
    }
}
