//! Which back end a network device gets, chosen by what works and is faster: AF_XDP where the driver runs its program, else
//! packet sockets.
//!
//! Does not live here: the back ends ([`crate::af_xdp`], [`crate::af_packet`]).

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use hopwright_dataplane::packet::PoolError;
use hopwright_dataplane::{FrameSize, Pool, Port};

use crate::af_packet::{AfPacket, FilterSetter, PortSize};
use crate::af_xdp::{AfXdp, SharedFrames, XdpDevice, XdpMode, XdpOptions};
use crate::device::DeviceError;
use crate::filter::{Filter, Pattern, TooLong};
use crate::sys;

/// Which back end to use for network devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortChoice {
    /// AF_XDP where the driver runs its program and there are receive queues for all workers, else packet sockets.
    Auto,
    /// AF_XDP or nothing.
    AfXdp,
    /// Packet sockets.
    #[default]
    AfPacket,
}

/// The names a user gives them.
const NAMES: [(&str, PortChoice); 3] =
    [("auto", PortChoice::Auto), ("af_xdp", PortChoice::AfXdp), ("af_packet", PortChoice::AfPacket)];

/// A name that is none of the choices.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no kind of port; there are auto, af_xdp and af_packet")]
pub struct UnknownChoice(String);

impl FromStr for PortChoice {
    type Err = UnknownChoice;

    fn from_str(text: &str) -> Result<PortChoice, UnknownChoice> {
        let found = NAMES.iter().find(|(name, _)| *name == text);
        found.map(|(_, choice)| *choice).ok_or_else(|| UnknownChoice(text.into()))
    }
}

impl fmt::Display for PortChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAMES.iter().find(|(_, choice)| choice == self).map_or("?", |(name, _)| name))
    }
}

/// Most memory for the packets of one worker, unless it needs more for two bursts.
const POOL_BYTES: usize = 64 << 20;
/// Frames that wait on each device in each direction, at most.
const RING: u32 = 1024;

/// Opens devices for the workers of a switch.
#[derive(Debug)]
pub struct Opener {
    choice: PortChoice,
    options: XdpOptions,
    fill_checksums: bool,
    /// `None`: everything.
    ours: Option<Mutex<Ours>>,
    /// By worker; empty if devices are never to share frames.
    frames: Vec<SharedFrames>,
    workers: usize,
    /// Of packet sockets.
    size: PortSize,
    /// Programs on devices, as long as ports use them.
    attached: Mutex<HashMap<String, Weak<XdpDevice>>>,
}

/// Whose frames are taken.
#[derive(Debug)]
struct Ours {
    addresses: Vec<(IpAddr, u16)>,
    /// What is received apart from the rest, by packet sockets.
    urgent: Option<Pattern>,
    filters: Filters,
    /// Of the packet sockets that are open: for all or the rest, and for what is urgent.
    sockets: [Vec<FilterSetter>; 2],
}

/// What packet sockets receive.
#[derive(Debug)]
struct Filters {
    /// All, or the rest.
    common: Filter,
    urgent: Option<Filter>,
}

impl Filters {
    fn new(addresses: &[(IpAddr, u16)], urgent: Option<&Pattern>) -> Result<Filters, TooLong> {
        let Some(pattern) = urgent else {
            return Ok(Filters { common: Filter::udp_destinations(addresses)?, urgent: None });
        };
        let [urgent, common] = Filter::divided(addresses, pattern)?;
        Ok(Filters { common, urgent: Some(urgent) })
    }
}

impl Ours {
    fn forget_closed(&mut self) {
        for sockets in &mut self.sockets {
            sockets.retain(FilterSetter::is_alive);
        }
    }
}

/// A device that is open.
pub struct Opened {
    /// A port for each worker.
    pub ports: Vec<Box<dyn Port>>,
    /// Which back end it is and why, for the log.
    pub how: String,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened").field("ports", &self.ports.len()).field("how", &self.how).finish()
    }
}

/// What is to be opened.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// The back end.
    pub choice: PortChoice,
    /// UDP addresses whose frames are taken, everything else being left to the kernel; `None`: all frames.
    pub ours: Option<&'a [(IpAddr, u16)]>,
    /// Of these, what must arrive however full a device's receive ring is: packet sockets receive it apart.
    pub urgent: Option<&'a Pattern>,
    /// Whether what is sent may get UDP checksums where it has none; see [`AfPacket::fill_checksums`].
    pub fill_checksums: bool,
    /// The largest MTU of the devices.
    pub mtu: u32,
    /// About how many devices there will be.
    pub devices: usize,
    /// Workers that will use them.
    pub workers: usize,
    /// How to use AF_XDP; the ring size is chosen here.
    pub options: XdpOptions,
}

impl Opener {
    /// An opener, and the packet buffers for each worker to use its ports with.
    pub fn new(wanted: &Wanted<'_>) -> Result<(Opener, Vec<Pool>), OpenerError> {
        let ours = |addresses: &[(IpAddr, u16)]| -> Result<_, TooLong> {
            let filters = Filters::new(addresses, wanted.urgent)?;
            let (addresses, urgent) = (addresses.to_vec(), wanted.urgent.cloned());
            Ok(Mutex::new(Ours { addresses, urgent, filters, sockets: Default::default() }))
        };
        let mut opener = Opener {
            choice: wanted.choice,
            options: wanted.options,
            fill_checksums: wanted.fill_checksums,
            ours: wanted.ours.map(ours).transpose()?,
            frames: Vec::new(),
            workers: wanted.workers.max(1),
            size: PortSize::among(wanted.devices * wanted.workers.max(1)),
            attached: Mutex::default(),
        };
        if wanted.choice == PortChoice::AfPacket {
            let size = FrameSize::for_mtu(wanted.mtu);
            let pools = (0..opener.workers).map(|_| Pool::new(4096, size)).collect::<Result<_, _>>()?;
            return Ok((opener, pools));
        }
        let size = FrameSize::shared(wanted.mtu);
        // Each device has a ring full of frames in each direction; as much again is for what is in between.
        let rings = 2 * (wanted.devices.max(1) + 1);
        let frames = (rings * RING as usize).min(POOL_BYTES / size.stride()).max(rings * 64);
        opener.options.ring = RING.min(1 << (frames / rings).ilog2());
        let pools: Vec<Pool> = (0..opener.workers).map(|_| Pool::new(frames as u32, size)).collect::<Result<_, _>>()?;
        opener.frames = pools.iter().filter_map(|pool| SharedFrames::new(pool).ok()).collect();
        Ok((opener, pools))
    }

    /// Opens a device.
    pub fn open(&self, device: &str) -> Result<Opened, DeviceError> {
        let why = match self.choice {
            PortChoice::AfPacket => "as configured".into(),
            PortChoice::Auto if self.ours.is_none() && sys::is_used_by_kernel(device) => {
                "it has IP addresses, and AF_XDP would take everything from the kernel".into()
            }
            _ => match self.open_xdp(device) {
                Ok(Ok(opened)) => return Ok(opened),
                Ok(Err(why)) => why,
                Err(error) if self.choice == PortChoice::AfXdp => return Err(error),
                Err(error) => format!("AF_XDP does not work: {error}"),
            },
        };
        let mut ports = match &self.ours {
            None => AfPacket::open_group(device, None, self.workers, self.size)?,
            Some(ours) => {
                let mut ours = lock(ours);
                let common = Some(&ours.filters.common);
                let mut ports = AfPacket::open_group(device, common, self.workers, self.size)?;
                if let (Some(urgent), Some(first)) = (&ours.filters.urgent, ports.first_mut()) {
                    first.receive_apart(urgent)?;
                }
                ours.forget_closed();
                ours.sockets[0].extend(ports.iter().filter_map(AfPacket::filter_setter));
                ours.sockets[1].extend(ports.iter().filter_map(AfPacket::urgent_filter_setter));
                ports
            }
        };
        ports.iter_mut().for_each(|port| port.fill_checksums(self.fill_checksums));
        let segments = segmentation(ports.iter().all(AfPacket::segments_udp));
        let ports = ports.into_iter().map(|port| Box::new(port) as Box<dyn Port>).collect();
        Ok(Opened { ports, how: format!("AF_PACKET: {why}{segments}") })
    }

    /// Changes the UDP addresses whose frames are taken, on all open devices and on those opened later. Frames to
    /// addresses that stay are taken throughout. Nothing, if everything is taken anyway.
    pub fn set_ours(&self, addresses: &[(IpAddr, u16)]) -> Result<(), OpenerError> {
        let Some(ours) = &self.ours else { return Ok(()) };
        let mut ours = lock(ours);
        let filters = Filters::new(addresses, ours.urgent.as_ref())?;
        for device in self.xdp_devices() {
            for (address, port) in addresses.iter().filter(|a| !ours.addresses.contains(a)) {
                device.add(*address, *port)?;
            }
            for (address, port) in ours.addresses.iter().filter(|a| !addresses.contains(a)) {
                device.remove(*address, *port)?;
            }
        }
        ours.forget_closed();
        for (sockets, filter) in ours.sockets.iter().zip([Some(&filters.common), filters.urgent.as_ref()]) {
            let Some(filter) = filter else { continue };
            for socket in sockets {
                socket.set(filter).map_err(OpenerError::Socket)?;
            }
        }
        (ours.addresses, ours.filters) = (addresses.to_vec(), filters);
        Ok(())
    }

    /// The devices that are open with AF_XDP.
    fn xdp_devices(&self) -> Vec<Arc<XdpDevice>> {
        lock(&self.attached).values().filter_map(Weak::upgrade).collect()
    }

    /// By AF_XDP; the reason if packet sockets are better.
    fn open_xdp(&self, device: &str) -> Result<Result<Opened, String>, DeviceError> {
        // Addresses must not change before the device is known.
        let mut ours = self.ours.as_ref().map(lock);
        let addresses = ours.as_ref().map(|o| o.addresses.as_slice());
        let urgent = ours.as_ref().and_then(|o| o.urgent.as_ref());
        // Generic mode is slower than packet sockets.
        let native = (self.choice == PortChoice::Auto).then_some(XdpMode::Native);
        let options = XdpOptions { mode: self.options.mode.or(native), ..self.options };
        let xdp = XdpDevice::attach_but(device, addresses, urgent, options)?;
        let queues: Vec<u32> = (0..xdp.queues()).collect();
        if self.choice == PortChoice::Auto && queues.len() < self.workers {
            let (queues, workers) = (queues.len(), self.workers);
            return Ok(Err(format!(
                "it has {queues} receive queues, which AF_XDP could not spread over {workers} workers"
            )));
        }
        let mut ports: Vec<Box<dyn Port>> = Vec::new();
        let mut zero_copy = true;
        for (worker, frames) in self.frames.iter().enumerate() {
            let mine: Vec<u32> = queues.iter().copied().filter(|q| *q as usize % self.workers == worker).collect();
            if mine.is_empty() {
                // Every queue has a socket of another worker: this one only sends.
                let mut sender = AfPacket::sender(device, self.size)?;
                sender.fill_checksums(self.fill_checksums);
                ports.push(Box::new(sender));
                continue;
            }
            let mut port: AfXdp = xdp.port(frames, &mine)?;
            zero_copy &= port.is_zero_copy();
            port.fill_checksums(self.fill_checksums);
            if let Some(ours) = &mut ours
                && let Some(filter) = &ours.filters.urgent
                && ports.is_empty()
            {
                let setter = port.receive_apart(filter)?;
                ours.forget_closed();
                ours.sockets[1].push(setter);
            }
            ports.push(Box::new(port));
        }
        let mode = match (xdp.mode(), xdp.refused()) {
            (XdpMode::Native, _) => "native".into(),
            (XdpMode::Generic, None) => "generic".into(),
            (XdpMode::Generic, Some(why)) => format!("generic, because the driver refused the program ({why})"),
        };
        let copy = if zero_copy { "zero-copy" } else { "copy: the driver has no zero-copy" };
        let copy = if zero_copy || self.options.zero_copy && xdp.mode() == XdpMode::Native { copy } else { "copy" };
        let plural = if queues.len() == 1 { "" } else { "s" };
        let why = if self.choice == PortChoice::Auto { "the fastest there is" } else { "as configured" };
        let segments = segmentation(!zero_copy && xdp.segments_udp());
        let how = format!("AF_XDP: {why}; {mode}, {copy}, {} receive queue{plural}{segments}", queues.len());
        lock(&self.attached).insert(device.into(), Arc::downgrade(&xdp));
        Ok(Ok(Opened { ports, how }))
    }
}

/// For the log.
fn segmentation(on: bool) -> &'static str {
    if on { ", UDP segmentation" } else { "" }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why there is no opener, or why other addresses cannot be taken.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum OpenerError {
    #[error(transparent)]
    Filter(#[from] TooLong),
    #[error(transparent)]
    Pool(#[from] PoolError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error("cannot change what a packet socket receives: {0}")]
    Socket(#[source] io::Error),
}
