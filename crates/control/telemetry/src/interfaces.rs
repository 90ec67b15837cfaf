//! The interfaces of a switch: what the kernel says of them, with the packets of the fast path counted.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use hopwright_dataplane::{PortStats, Switch, wait};
use hopwright_host::namespace::Namespace;
use hopwright_host::netlink::{Link, LinkCounters, Links, Medium, OperState};
use tokio::sync::watch;

/// How long a change of an interface may stay unnoticed if the kernel does not report it, and the thread takes to stop.
const TICK: Duration = Duration::from_millis(200);

/// What is counted of an interface (RFC 2863). A packet is counted as unicast, multicast or broadcast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Counters {
    pub in_octets: u64,
    pub in_unicast: u64,
    pub in_multicast: u64,
    pub in_broadcast: u64,
    pub in_discards: u64,
    pub in_errors: u64,
    pub out_octets: u64,
    pub out_unicast: u64,
    pub out_multicast: u64,
    pub out_broadcast: u64,
    pub out_discards: u64,
    pub out_errors: u64,
}

/// An interface as it is at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// The kernel's number.
    pub index: u32,
    /// The number of the port in the program, if it is one.
    pub port: Option<u32>,
    /// Its name.
    pub name: String,
    /// The switch's device of that port; empty if it is none.
    pub device: String,
    /// What an administrator says of it; empty if nothing.
    pub description: String,
    /// Its kind.
    pub medium: Medium,
    /// Its Ethernet address, if it has one.
    pub mac: Option<[u8; 6]>,
    /// Bytes of network layer.
    pub mtu: u32,
    /// Configured to be up.
    pub enabled: bool,
    /// What it does.
    pub state: OperState,
    /// When it was enabled or disabled last, or its state changed, in nanoseconds since 1970 UTC; if it has not since the program
    /// started, that time.
    pub changed_ns: u64,
    /// Its counters.
    pub counters: Counters,
}

/// How interfaces are numbered where a management protocol asks for `ifindex`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// As the program's ports: controllers of P4 switches take the one for the other.
    Ports,
    /// As the kernel does.
    Kernel,
}

/// Which of the kernel's devices are interfaces.
enum View {
    /// The ports of the switch, which are devices of the namespace where it runs.
    Ports,
    /// All of a router's control plane. Its devices that stand for ports, by index: the numbers of these ports.
    ControlPlane(BTreeMap<u32, u32>),
}

/// Enabled, state, and when one of them changed.
type Seen = BTreeMap<u32, (bool, OperState, u64)>;

struct Shared {
    switch: Arc<Switch>,
    view: View,
    links: Mutex<Links>,
    seen: Mutex<Seen>,
    changes: watch::Sender<u64>,
    started_ns: u64,
    stop: AtomicBool,
}

/// The interfaces of a running switch. A thread follows them until this is dropped.
pub struct Interfaces {
    shared: Arc<Shared>,
    numbers: Numbers,
    thread: Option<JoinHandle<()>>,
}

impl Interfaces {
    /// Those of a switch: the devices that are its ports.
    ///
    /// # Errors
    /// Netlink is not there.
    pub fn of_switch(switch: &Arc<Switch>, numbers: Numbers) -> io::Result<Interfaces> {
        Interfaces::new(switch, View::Ports, numbers, || Ok((Links::open()?, Links::open()?)))
    }

    /// Those of a router: all devices of its control plane. `ports`: the numbers of the ports that devices stand for, by the
    /// devices' numbers.
    ///
    /// # Errors
    /// The namespace cannot be entered, or netlink is not there.
    pub fn of_control_plane(
        switch: &Arc<Switch>,
        namespace: &Namespace,
        ports: BTreeMap<u32, u32>,
    ) -> io::Result<Interfaces> {
        Interfaces::new(switch, View::ControlPlane(ports), Numbers::Kernel, || {
            namespace.run(|| Ok((Links::open()?, Links::open()?))).map_err(io::Error::other)?
        })
    }

    fn new(
        switch: &Arc<Switch>,
        view: View,
        numbers: Numbers,
        open: impl FnOnce() -> io::Result<(Links, Links)>,
    ) -> io::Result<Interfaces> {
        let (links, mut events) = open()?;
        let shared = Arc::new(Shared {
            switch: switch.clone(),
            view,
            links: Mutex::new(links),
            seen: Mutex::default(),
            changes: watch::Sender::new(0),
            started_ns: now_ns(),
            stop: AtomicBool::new(false),
        });
        shared.read()?;
        let following = shared.clone();
        let follow = move || {
            wait::give_way();
            while !following.stop.load(Ordering::Relaxed) {
                // What cannot be read now is read with the next change, or when somebody asks.
                match events.wait(TICK) {
                    Ok(true) => drop(following.read()),
                    Ok(false) => {}
                    Err(_) => std::thread::sleep(TICK),
                }
            }
        };
        let thread = std::thread::Builder::new().name("interfaces".into()).spawn(follow)?;
        Ok(Interfaces { shared, numbers, thread: Some(thread) })
    }

    /// The interfaces now, in the order of the kernel's numbers.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn read(&self) -> io::Result<Vec<Interface>> {
        self.shared.read()
    }

    /// Has the switch tell frames to group addresses apart from now on. It looks at each packet for that, so that it does not before
    /// somebody asks for counters.
    pub(crate) fn count_groups(&self) {
        self.shared.switch.count_groups();
    }

    /// Changes when an interface does, its counters aside.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }

    /// What `ifindex` is of an interface.
    pub(crate) fn number(&self, interface: &Interface) -> u32 {
        match self.numbers {
            Numbers::Kernel => interface.index,
            Numbers::Ports => interface.port.unwrap_or(interface.index),
        }
    }

    /// When this began to count, in nanoseconds since 1970 UTC.
    pub(crate) fn started_ns(&self) -> u64 {
        self.shared.started_ns
    }

    /// Switches an interface, by the kernel's number, on or off.
    pub(crate) fn set_enabled(&self, index: u32, enabled: bool) -> io::Result<()> {
        lock(&self.shared.links).set_enabled(index, enabled)
    }

    /// Changes what an administrator says of an interface.
    pub(crate) fn describe(&self, index: u32, description: &str) -> io::Result<()> {
        lock(&self.shared.links).describe(index, description)
    }
}

impl Drop for Interfaces {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for Interfaces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interfaces").field("numbers", &self.numbers).finish_non_exhaustive()
    }
}

impl Shared {
    fn read(&self) -> io::Result<Vec<Interface>> {
        // Until the end, so that what is read later is also noted later.
        let mut reading = lock(&self.links);
        let links = reading.read()?;
        let ports = self.switch.stats().ports;
        let port_of = |link: &Link| match &self.view {
            View::Ports => ports.iter().find(|port| port.name == link.name),
            View::ControlPlane(numbers) => {
                let number = numbers.get(&link.index)?;
                ports.iter().find(|port| port.number == *number)
            }
        };
        let mut interfaces = Vec::with_capacity(links.len());
        for link in links {
            let port = port_of(&link);
            let counters = match (&self.view, port) {
                (View::Ports, None) => continue,
                (View::Ports, Some(port)) => of_port(port),
                (View::ControlPlane(_), None) => of_kernel(&link.counters),
                (View::ControlPlane(_), Some(port)) => with_kernel(of_port(port), &link.counters),
            };
            interfaces.push(Interface {
                index: link.index,
                port: port.map(|port| port.number),
                device: port.map_or_else(String::new, |port| port.name.clone()),
                name: link.name,
                description: link.description,
                medium: link.medium,
                mac: link.mac,
                mtu: link.mtu,
                enabled: link.enabled,
                state: link.state,
                changed_ns: 0,
                counters,
            });
        }
        self.note_changes(&mut interfaces);
        Ok(interfaces)
    }

    /// Says when the interfaces changed, and tells those who wait for changes.
    fn note_changes(&self, interfaces: &mut [Interface]) {
        let mut seen = lock(&self.seen);
        let before = std::mem::take(&mut *seen);
        let first = before.is_empty();
        let mut changed = before.len() != interfaces.len();
        for interface in interfaces {
            let now = (interface.enabled, interface.state);
            interface.changed_ns = match before.get(&interface.index) {
                Some((enabled, state, since)) if (*enabled, *state) == now => *since,
                _ if first => self.started_ns,
                _ => {
                    changed = true;
                    now_ns()
                }
            };
            seen.insert(interface.index, (now.0, now.1, interface.changed_ns));
        }
        drop(seen);
        if changed {
            self.changes.send_modify(|number| *number += 1);
        }
    }
}

fn of_port(port: &PortStats) -> Counters {
    Counters {
        in_octets: port.rx_bytes,
        in_unicast: port.rx_packets.saturating_sub(port.rx_multicast + port.rx_broadcast),
        in_multicast: port.rx_multicast,
        in_broadcast: port.rx_broadcast,
        in_discards: port.device.rx_overrun,
        in_errors: port.device.rx_too_long,
        out_octets: port.tx_bytes,
        out_unicast: port.tx_packets.saturating_sub(port.tx_multicast + port.tx_broadcast),
        out_multicast: port.tx_multicast,
        out_broadcast: port.tx_broadcast,
        out_discards: port.tx_lost.saturating_sub(port.device.tx_error),
        out_errors: port.device.tx_error.min(port.tx_lost),
    }
}

/// The kernel counts multicast among received packets only.
fn of_kernel(kernel: &LinkCounters) -> Counters {
    Counters {
        in_octets: kernel.rx_bytes,
        in_unicast: kernel.rx_packets.saturating_sub(kernel.rx_multicast),
        in_multicast: kernel.rx_multicast,
        in_broadcast: 0,
        in_discards: kernel.rx_dropped,
        in_errors: kernel.rx_errors,
        out_octets: kernel.tx_bytes,
        out_unicast: kernel.tx_packets,
        out_multicast: 0,
        out_broadcast: 0,
        out_discards: kernel.tx_dropped,
        out_errors: kernel.tx_errors,
    }
}

/// A port has counted the kernel's packets, too, but not those that the kernel lost.
fn with_kernel(mut port: Counters, kernel: &LinkCounters) -> Counters {
    port.in_discards += kernel.rx_dropped;
    port.in_errors += kernel.rx_errors;
    port.out_discards += kernel.tx_dropped;
    port.out_errors += kernel.tx_errors;
    port
}

/// Nanoseconds since 1970 UTC.
pub(crate) fn now_ns() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
