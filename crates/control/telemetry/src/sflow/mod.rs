//! sFlow version 5: one in many packets that a switch receives, and the counters of its interfaces, sent to a collector.
//!
//! Workers copy the packets ([`Tenant::sample_one_in`]); a thread takes the copies and sends them. What a collector does not get, because the network
//! loses it, is not sent again.

mod datagram;

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hopwright_dataplane::{Sample, Sampling, Switch, Tenant, wait};

use crate::{Interface, Interfaces};
use datagram::{Datagrams, Flow, Output};

/// The port of collectors.
pub const DEFAULT_PORT: u16 = 6343;
/// One packet in this many, if nothing else is said.
pub const DEFAULT_RATE: u32 = 1000;
/// Time between two samples of the counters of an interface, if nothing else is said.
pub const DEFAULT_INTERVAL: Duration = Duration::from_secs(20);

/// How often packets are taken and sent.
const TICK: Duration = Duration::from_millis(10);
/// How often interfaces and tenants are looked at: their counts are parts of samples.
const LOOK: Duration = Duration::from_millis(500);

/// What is sent, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Who gets it.
    pub collector: SocketAddr,
    /// The address by which the collector knows this machine; `None`: the one from which datagrams are sent.
    pub agent: Option<IpAddr>,
    /// One packet in this many is sampled, on average.
    pub rate: u32,
    /// Time between two samples of the counters of an interface.
    pub interval: Duration,
}

/// A running sampler. It stops when this is dropped.
#[derive(Debug)]
pub struct Sampler {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Starts to sample.
    ///
    /// # Errors
    /// There is no way to the collector.
    pub fn start(switch: &Arc<Switch>, interfaces: Arc<Interfaces>, settings: &Settings) -> io::Result<Sampler> {
        interfaces.count_groups();
        let any: IpAddr = if settings.collector.is_ipv4() { [0; 4].into() } else { [0u16; 8].into() };
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect(settings.collector)?;
        let agent = match settings.agent {
            Some(agent) => agent,
            None => socket.local_addr()?.ip(),
        };
        let stop = Arc::new(AtomicBool::new(false));
        let mut agent = Agent {
            switch: switch.clone(),
            interfaces,
            settings: *settings,
            socket,
            datagrams: Datagrams::new(agent),
            started: Instant::now(),
            stop: stop.clone(),
            sources: Vec::new(),
            sequences: BTreeMap::new(),
            known: Vec::new(),
        };
        // Packets are sampled from now on, not from when the thread runs.
        agent.look();
        let thread = std::thread::Builder::new().name("sflow".into()).spawn(move || agent.run())?;
        Ok(Sampler { stop, thread: Some(thread) })
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A tenant whose packets are sampled.
struct Source {
    tenant: Arc<Tenant>,
    /// None: others sample too much already.
    sampling: Option<Sampling>,
}

/// Counts of the samples of an interface.
#[derive(Clone, Copy, Debug, Default)]
struct Sequence {
    flows: u32,
    counters: u32,
}

struct Agent {
    switch: Arc<Switch>,
    interfaces: Arc<Interfaces>,
    settings: Settings,
    socket: UdpSocket,
    datagrams: Datagrams,
    started: Instant,
    stop: Arc<AtomicBool>,
    sources: Vec<Source>,
    /// By the number of the interface.
    sequences: BTreeMap<u32, Sequence>,
    /// The interfaces as they were last looked at.
    known: Vec<Interface>,
}

impl Agent {
    fn run(&mut self) {
        wait::give_way();
        let now = Instant::now();
        let (mut look, mut count) = (now + LOOK, now + self.settings.interval);
        while !self.stop.load(Ordering::Relaxed) && !self.switch.stopping() {
            let now = Instant::now();
            if now >= look {
                look = now + LOOK;
                self.look();
            }
            self.take();
            if now >= count {
                count = now + self.settings.interval;
                self.send_counters();
            }
            self.finish();
            std::thread::sleep(TICK);
        }
        // What was copied until the end is sent, too.
        self.take();
        self.finish();
    }

    /// Sends the datagram that is not full yet.
    fn finish(&mut self) {
        let datagram = self.datagrams.finish(self.uptime_ms());
        self.send(datagram);
    }

    fn uptime_ms(&self) -> u32 {
        self.started.elapsed().as_millis() as u32
    }

    /// Takes note of the interfaces and tenants there are.
    fn look(&mut self) {
        if let Ok(interfaces) = self.interfaces.read() {
            self.known = interfaces;
        }
        let tenants = self.switch.tenants();
        self.sources.retain(|source| tenants.iter().any(|tenant| Arc::ptr_eq(tenant, &source.tenant)));
        for tenant in tenants {
            if self.sources.iter().any(|source| Arc::ptr_eq(&tenant, &source.tenant)) {
                continue;
            }
            let sampling = tenant.sample_one_in(self.settings.rate);
            if let Err(error) = &sampling {
                tracing::warn!(tenant = tenant.name(), "sFlow: no packets are sampled: {error}");
            }
            self.sources.push(Source { tenant, sampling: sampling.ok() });
        }
    }

    /// Puts the packets that were copied into datagrams, and sends those that are full.
    fn take(&mut self) {
        let uptime = self.uptime_ms();
        let Agent { sources, known, sequences, datagrams, settings, socket, .. } = self;
        for Source { tenant, sampling } in sources {
            let Some(sampling) = sampling else { continue };
            let cpu_ports = tenant.cpu_ports();
            let ports = tenant.ports();
            // The number of an interface by that of the port in the tenant's program.
            let interface = |number: u32| {
                let port = ports.iter().find(|port| port.number == number)?;
                known.iter().find(|interface| interface.device == port.name)
            };
            let drops = sampling.lost() as u32;
            while let Some(datagram) = sampling.next(Duration::ZERO, |sample: &Sample| {
                let input = interface(sample.ingress_port())?;
                let output = match sample.egress_port() {
                    None => Output::Discarded,
                    port if cpu_ports.contains(&port) => Output::Internal,
                    Some(port) => interface(port).map_or(Output::Unknown, |output| Output::Interface(output.index)),
                };
                let sequence = sequences.entry(input.index).or_default();
                sequence.flows = sequence.flows.wrapping_add(1);
                let c = &input.counters;
                let flow = Flow {
                    sequence: sequence.flows,
                    input: input.index,
                    output,
                    rate: settings.rate,
                    pool: (c.in_unicast + c.in_multicast + c.in_broadcast) as u32,
                    drops,
                    frame: sample.bytes(),
                };
                datagrams.flow(&flow, uptime)
            }) {
                // A collector that is not there yet may come.
                datagram.into_iter().for_each(|datagram| drop(socket.send(&datagram)));
            }
        }
    }

    fn send_counters(&mut self) {
        for interface in std::mem::take(&mut self.known) {
            let sequence = self.sequences.entry(interface.index).or_default();
            sequence.counters = sequence.counters.wrapping_add(1);
            let (sequence, uptime) = (sequence.counters, self.uptime_ms());
            let datagram = self.datagrams.counters(sequence, &interface, uptime);
            self.send(datagram);
            self.known.push(interface);
        }
    }

    fn send(&self, datagram: Option<Vec<u8>>) {
        // As above.
        datagram.into_iter().for_each(|datagram| drop(self.socket.send(&datagram)));
    }
}
