//! Opens network devices and chooses their back end: AF_XDP if the driver can run its program, otherwise packet
//! sockets.

mod inheritance;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use hopwright_dataplane::packet::PoolError;
use hopwright_dataplane::{FrameSize, Pool, Port};

use crate::af_packet::{AfPacket, FilterSetter, Input, PortSize};
use crate::af_xdp::{AfXdp, Programs, SharedFrames, SharedMemory, SharedProgram, XdpDevice, XdpMode, XdpOptions};
use crate::filter::{Filter, FlowHash, FlowKey, FrameMatch, JoinedFlows, Pattern, TooLong};
use crate::linux::closing;
use crate::linux::device::{DeviceError, Facts, failed};
use crate::linux::sys;
use crate::offload::join::Segments;
use crate::udp::{RawDevice, Takes, UdpSender, UdpSockets};
use inheritance::Inheritance;
pub use inheritance::SharedDevice;

/// The back end for network devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortChoice {
    /// AF_XDP if the driver can run its program and the device has a receive queue for each worker, otherwise packet
    /// sockets. Ports that take more than UDP datagrams use packet sockets on veth devices.
    Auto,
    /// AF_XDP; opening fails if that is impossible.
    AfXdp,
    /// Packet sockets.
    #[default]
    AfPacket,
}

/// The names that users give.
const NAMES: [(&str, PortChoice); 3] =
    [("auto", PortChoice::Auto), ("af_xdp", PortChoice::AfXdp), ("af_packet", PortChoice::AfPacket)];

/// The error that a name is none of the choices.
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

/// The maximum memory for the packets of one worker in bytes, unless two bursts need more.
const POOL_BYTES: usize = 64 << 20;
/// The number of large frames, for packets that fit no others. Their memory is allocated when it is first used.
const LARGE_FRAMES: u32 = 256;
/// The number of frames of a worker whose devices do not share them: packets of many tenants may wait.
const FEWEST_FRAMES: u32 = 4096;
const MOST_FRAMES: u32 = 16_384;
/// The maximum number of frames queued on each device in each direction.
const RING: u32 = 1024;

/// How long opening a device waits for devices that are being closed.
const PATIENCE: Duration = Duration::from_secs(5);

/// Opens devices for the workers of a switch. Methods may be called from any thread.
#[derive(Debug)]
pub struct Opener {
    choice: PortChoice,
    options: XdpOptions,
    fill_checksums: bool,
    /// Datagrams that are received separately, by packet sockets.
    urgent: Option<Pattern>,
    /// The sockets that receive what raw ports do not take.
    sockets: Option<UdpSockets>,
    /// The memory that AF_XDP ports share, by worker. Empty if devices never share frames.
    frames: Vec<SharedFrames>,
    /// Whether the memory is a predecessor's, whose AF_XDP sockets can be used then.
    inherits_memory: bool,
    workers: usize,
    /// Distributes the packets of one UDP flow over workers.
    flows: Option<FlowHash>,
    /// The ring sizes of packet sockets.
    size: PortSize,
    programs: Programs,
    /// Open devices by name.
    devices: Mutex<HashMap<String, Device>>,
    /// What a predecessor has, until this process is in charge.
    inheritance: Mutex<Option<Inheritance>>,
    /// XDP programs that a predecessor has attached, by device and its interface index.
    programs_left: Mutex<HashMap<(String, u32), SharedProgram>>,
}

/// The state of an open device.
#[derive(Debug)]
struct Device {
    index: u32,
    mtu: u32,
    /// The facts that its ports know about it.
    facts: Vec<Weak<Facts>>,
    /// The frames that its ports take.
    frames: FrameMatch,
    /// Its XDP program, while ports use it.
    program: Option<Weak<XdpDevice>>,
    /// Its AF_XDP sockets by receive queue, if another process can take them over.
    queues: Vec<(u32, Weak<OwnedFd>)>,
    /// The filters of its packet sockets: those for all (or all non-urgent) frames, and those for urgent frames.
    sockets: [Vec<FilterSetter>; 2],
    /// If its packets are distributed over packet sockets by flow.
    flows: Option<Arc<JoinedFlows>>,
}

impl Device {
    fn is_open(&self) -> bool {
        self.program.as_ref().is_some_and(|program| program.strong_count() > 0)
            || self.sockets.iter().flatten().any(FilterSetter::is_alive)
    }

    /// Changes the match of its ports. The new match must be of the same kind.
    fn set(&mut self, frames: &FrameMatch, filters: &Filters) -> Result<(), OpenerError> {
        if let Some(program) = self.program.as_ref().and_then(Weak::upgrade) {
            program.change_match(frames)?;
        }
        for (sockets, filter) in self.sockets.iter().zip([&filters.common, &filters.urgent]) {
            let Some(filter) = filter else { continue };
            for socket in sockets {
                socket.set(filter).map_err(OpenerError::Socket)?;
            }
        }
        self.frames = frames.clone();
        Ok(())
    }
}

/// The filters of a device's packet sockets.
#[derive(Debug)]
struct Filters {
    /// Passes all matching frames, or those that are not urgent; `None` passes every frame.
    common: Option<Filter>,
    urgent: Option<Filter>,
}

impl Filters {
    /// `urgent` applies to matches on UDP destinations only.
    fn new(frames: &FrameMatch, urgent: Option<&Pattern>) -> Result<Filters, TooLong> {
        match (frames, urgent) {
            (FrameMatch::UdpDestinations(destinations), Some(pattern)) => {
                let [urgent, common] = Filter::divided(destinations, pattern)?;
                Ok(Filters { common: Some(common), urgent: Some(urgent) })
            }
            _ => Ok(Filters { common: Filter::of(frames)?, urgent: None }),
        }
    }
}

/// An opened device.
pub struct Opened {
    /// One port for each worker.
    pub ports: Vec<Box<dyn Port>>,
    /// The back end: `AF_XDP` or `AF_PACKET`.
    pub kind: &'static str,
    /// The back end and why it was chosen, for the log.
    pub how: String,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened").field("ports", &self.ports.len()).field("how", &self.how).finish()
    }
}

/// How to open devices.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// Which back end to use.
    pub choice: PortChoice,
    /// Of the datagrams to a device's addresses, those that must arrive even if the receive ring is full. Separate
    /// packet sockets receive them.
    pub urgent: Option<&'a Pattern>,
    /// The sockets that receive datagrams which raw ports of the same addresses do not take. They do not receive what
    /// raw ports take.
    pub sockets: Option<&'a UdpSockets>,
    /// Whether datagrams without a UDP checksum may be sent with one; see [`AfPacket::fill_checksums`].
    pub fill_checksums: bool,
    /// The largest MTU of the devices in bytes.
    pub mtu: u32,
    /// The bytes that programs add to packets: the packet buffers have at least this much headroom, but no more than
    /// [`MAX_HEADROOM`](hopwright_dataplane::packet::MAX_HEADROOM).
    pub headroom: u32,
    /// The expected number of devices; it determines the size of the packet memory.
    pub devices: usize,
    /// The number of workers that will use them.
    pub workers: usize,
    /// What identifies the flows within one UDP flow, for packet sockets to distribute datagrams over several workers. Without it they
    /// distribute frames by addresses and ports.
    pub flows: Option<&'a FlowKey>,
    /// Options of AF_XDP. The ring size is chosen by the opener.
    pub options: XdpOptions,
    /// The memory of the workers of a predecessor that hands AF_XDP sockets over. It is used if its frames are of the size that is wanted.
    pub memory: &'a [SharedMemory],
}

impl Default for Wanted<'_> {
    /// One device with an MTU of 1,500 bytes and one worker; nothing urgent, no sockets.
    fn default() -> Self {
        Wanted {
            choice: PortChoice::default(),
            urgent: None,
            sockets: None,
            fill_checksums: false,
            mtu: 1500,
            headroom: 0,
            devices: 1,
            workers: 1,
            flows: None,
            options: XdpOptions::default(),
            memory: &[],
        }
    }
}

impl Opener {
    /// Creates an opener, and a pool of packet buffers for each worker, which must be used with the ports that the
    /// opener opens.
    pub fn new(wanted: &Wanted<'_>) -> Result<(Opener, Vec<Pool>), OpenerError> {
        let mut opener = Opener {
            choice: wanted.choice,
            options: wanted.options,
            fill_checksums: wanted.fill_checksums,
            urgent: wanted.urgent.cloned(),
            sockets: wanted.sockets.cloned(),
            frames: Vec::new(),
            inherits_memory: false,
            workers: wanted.workers.max(1),
            flows: wanted.flows.filter(|_| wanted.workers > 1).cloned().map(FlowHash::new),
            size: PortSize::among(wanted.devices * wanted.workers.max(1)),
            programs: Programs::default(),
            devices: Mutex::default(),
            inheritance: Mutex::default(),
            programs_left: Mutex::default(),
        };
        // Sockets may receive datagrams that are longer than any device's frames.
        let large = if wanted.sockets.is_some() { LARGE_FRAMES } else { 0 };
        let with_large = |pool: Pool| match large {
            0 => Ok(pool),
            _ => pool.with_large(large, wanted.headroom),
        };
        if wanted.choice == PortChoice::AfPacket {
            let size = FrameSize::for_mtu(wanted.mtu).with_headroom(wanted.headroom);
            let frames = ((POOL_BYTES / size.stride()) as u32).clamp(FEWEST_FRAMES, MOST_FRAMES);
            let pool = |_| Pool::new(frames, size).and_then(with_large);
            let pools = (0..opener.workers).map(pool).collect::<Result<_, _>>()?;
            return Ok((opener, pools));
        }
        let size = FrameSize::shared(wanted.mtu, wanted.headroom);
        let memory = opener.memory_to_inherit(wanted, size)?;
        opener.inherits_memory = !memory.is_empty();
        let pools: Vec<Pool> = if opener.inherits_memory {
            memory.into_iter().map(with_large).collect::<Result<_, _>>()?
        } else {
            // Each device has a full ring in each direction. One more pair of rings covers packets being processed.
            let rings = 2 * (wanted.devices.max(1) + 1);
            let frames = (rings * RING as usize).min(POOL_BYTES / size.stride()).max(rings * 64);
            opener.options.ring = RING.min(1 << (frames / rings).ilog2());
            // A successor gets the memory with AF_XDP sockets of ports that take every frame. Other memory may have large pages. A system that
            // allows no files in memory has successors open their devices anew.
            let in_file = wanted.sockets.is_none() && wanted.urgent.is_none();
            let allocated = || Pool::new(frames as u32, size);
            let pool = |_| {
                let pool =
                    if in_file { Pool::in_file(frames as u32, size).or_else(|_| allocated()) } else { allocated() };
                pool.and_then(with_large)
            };
            (0..opener.workers).map(pool).collect::<Result<_, _>>()?
        };
        opener.frames = pools.iter().filter_map(|pool| SharedFrames::new(pool).ok()).collect();
        Ok((opener, pools))
    }

    /// Opens a device. Its ports take the matching frames and leave all others to the kernel.
    pub fn open(&self, device: &str, frames: &FrameMatch) -> Result<Opened, OpenerError> {
        let filters = Filters::new(frames, self.urgent.as_ref())?;
        // Ports of this device that were just dropped may still be attached to it.
        closing::finish(PATIENCE);
        let (opened, found) = self.open_one(device, frames, &filters)?;
        let mut devices = lock(&self.devices);
        devices.insert(device.into(), found);
        self.tell_sockets(&mut devices)?;
        drop(devices);
        Ok(opened)
    }

    /// Opens several devices in parallel, each with its own match. Returns the results in the order of the devices.
    ///
    /// # Errors
    /// The filters of the UDP sockets cannot be set. In that case no device is open.
    pub fn open_all(&self, devices: &[(&str, &FrameMatch)]) -> Result<Vec<Result<Opened, OpenerError>>, OpenerError> {
        closing::finish(PATIENCE);
        let open = |device: &str, frames: &FrameMatch| -> Result<(Opened, Device), OpenerError> {
            let filters = Filters::new(frames, self.urgent.as_ref())?;
            Ok(self.open_one(device, frames, &filters)?)
        };
        let open = &open;
        let found: Vec<Result<(Opened, Device), OpenerError>> = std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for &(device, frames) in devices {
                let thread = std::thread::Builder::new().name("opening".into());
                let thread: io::Result<ScopedJoinHandle<'_, _>> =
                    thread.spawn_scoped(scope, move || open(device, frames));
                threads.push(thread.map_err(failed(device, "start a thread")));
            }
            let mut found = Vec::new();
            for (&(device, _), thread) in devices.iter().zip(threads) {
                let died = |_| Err(failed(device, "open it")(io::Error::other("its thread panicked")).into());
                found.push(thread.map_err(OpenerError::from).and_then(|thread| thread.join().unwrap_or_else(died)));
            }
            found
        });
        let mut known = lock(&self.devices);
        let mut opened = Vec::with_capacity(devices.len());
        for (&(device, _), found) in devices.iter().zip(found) {
            opened.push(found.map(|(opened, found)| {
                known.insert(device.into(), found);
                opened
            }));
        }
        self.tell_sockets(&mut known)?;
        Ok(opened)
    }

    /// The pools of a predecessor's workers with frames of this size, enough for the rings of all devices; none if these cannot be used.
    fn memory_to_inherit(&mut self, wanted: &Wanted<'_>, size: FrameSize) -> Result<Vec<Pool>, PoolError> {
        let memory = wanted.memory;
        let Some(first) = memory.first() else { return Ok(Vec::new()) };
        let needed = 2 * (wanted.devices.max(1) + 1) * first.ring as usize;
        let usable = |shared: &SharedMemory| {
            shared.size == size && shared.ring == first.ring && shared.frames > 0 && shared.frames as usize >= needed
        };
        if memory.len() != self.workers
            || !first.ring.is_power_of_two()
            || first.ring > RING
            || !memory.iter().all(usable)
        {
            return Ok(Vec::new());
        }
        self.options.ring = first.ring;
        let pool = |shared: &SharedMemory| {
            let file =
                shared.file.try_clone().map_err(|_| PoolError::Memory(size.stride() * shared.frames as usize))?;
            Pool::inherited(file, shared.frames, size)
        };
        memory.iter().map(pool).collect()
    }

    fn open_one(&self, device: &str, frames: &FrameMatch, filters: &Filters) -> Result<(Opened, Device), DeviceError> {
        if let Some(shared) = self.take_inherited(device) {
            return self.use_inherited(shared, frames);
        }
        let failed = |what| failed(device, what);
        let why = match self.choice {
            PortChoice::AfPacket => "as configured".into(),
            PortChoice::Auto if frames.is_everything() && sys::is_used_by_kernel(device) => {
                "it has IP addresses, and AF_XDP would take everything from the kernel".into()
            }
            PortChoice::Auto if !matches!(frames, FrameMatch::UdpDestinations(_)) && is_veth(device) => {
                "AF_XDP would keep its peer from sending several TCP segments as one frame, and hides VLAN tags".into()
            }
            _ => match self.open_xdp(device, frames, filters) {
                Ok(Ok(opened)) => return Ok(opened),
                Ok(Err(why)) => why,
                Err(error) if self.choice == PortChoice::AfXdp => return Err(error),
                Err(error) => format!("AF_XDP does not work: {error}"),
            },
        };
        let index = sys::interface_index(device).map_err(failed("find the device"))? as u32;
        let (ports, urgent) = with_urgent(device, filters, || {
            AfPacket::open_group(device, filters.common.as_ref(), self.workers, self.size, self.flows_of(frames))
        });
        Ok(self.with_packet_sockets(index, frames, (ports?, urgent?), &why))
    }

    /// Completes ports of packet sockets. `why` is why they are of this kind.
    fn with_packet_sockets(
        &self,
        index: u32,
        frames: &FrameMatch,
        (mut ports, urgent): (Vec<AfPacket>, Option<Input>),
        why: &str,
    ) -> (Opened, Device) {
        let setters = [
            ports.iter().filter_map(AfPacket::filter_setter).collect(),
            urgent.iter().map(Input::filter_setter).collect(),
        ];
        if let Some(first) = ports.first_mut()
            && let Some(urgent) = urgent
        {
            first.receive_apart(urgent);
        }
        let flows = self.flows_of(frames).map(|hash| Arc::new(JoinedFlows::new(hash.clone())));
        for port in &mut ports {
            flows.iter().for_each(|flows| port.watch_flows(flows));
            port.fill_checksums(self.fill_checksums);
            port.take_datagrams(matches!(frames, FrameMatch::UdpDestinations(_)));
            if let Some(fallback) = self.fallback(frames) {
                port.fall_back(fallback);
            }
        }
        let found = Device {
            index,
            mtu: ports.first().and_then(|port| port.info().mtu).unwrap_or(0),
            facts: ports.iter().map(AfPacket::facts).collect(),
            frames: frames.clone(),
            program: None,
            queues: Vec::new(),
            sockets: setters,
            flows,
        };
        let segments = ports.first().map(AfPacket::takes).map_or("", segmentation);
        let ports = ports.into_iter().map(|port| Box::new(port) as Box<dyn Port>).collect();
        (Opened { ports, kind: "AF_PACKET", how: format!("AF_PACKET: {why}{segments}") }, found)
    }

    /// Changes which frames the ports of an open device take, to a match of the same kind. Frames that match both
    /// before and after are taken throughout.
    pub fn set_match(&self, device: &str, frames: &FrameMatch) -> Result<(), OpenerError> {
        let filters = Filters::new(frames, self.urgent.as_ref())?;
        let mut devices = lock(&self.devices);
        if let Some(found) = devices.get_mut(device) {
            if std::mem::discriminant(&found.frames) != std::mem::discriminant(frames) {
                return Err(OpenerError::OtherKind);
            }
            if self.is_in_charge() {
                found.set(frames, &filters)?;
            } else {
                found.frames = frames.clone();
            }
        }
        self.tell_sockets(&mut devices)
    }

    /// Stops taking frames from a device, so that the kernel receives everything. To be called before the device's
    /// ports are dropped.
    pub fn close(&self, device: &str) -> Result<(), OpenerError> {
        let mut devices = lock(&self.devices);
        let result = match devices.remove(device) {
            Some(mut found) if self.is_in_charge() => {
                let none = found.frames.emptied();
                found.set(&none, &Filters::new(&none, self.urgent.as_ref())?)
            }
            _ => Ok(()),
        };
        self.tell_sockets(&mut devices)?;
        result
    }

    /// The hash by which packet sockets distribute matching frames over workers; `None` if the kernel's is used.
    fn flows_of(&self, frames: &FrameMatch) -> Option<&FlowHash> {
        self.flows.as_ref().filter(|_| matches!(frames, FrameMatch::UdpDestinations(_)))
    }

    /// Looks for devices that have received several flows in one frame, whose packets one worker gets. There the order of a flow's
    /// packets would be lost, so that all packets of a sender go to one worker from now on. Returns the devices found. To be called
    /// again and again.
    pub fn keep_joined_flows(&self) -> Vec<(String, io::Result<()>)> {
        let mut found = Vec::new();
        for (name, device) in lock(&self.devices).iter() {
            if let Some(flows) = device.flows.as_ref().filter(|flows| flows.take())
                && let Some(socket) = device.sockets[0].first()
            {
                found.push((name.clone(), socket.set_fanout(&flows.hash().fanout_by_sender())));
            }
        }
        found
    }

    /// Updates the state of the open devices: MTUs may have changed and ports may have been dropped.
    pub fn refresh(&self) -> Result<(), OpenerError> {
        let mut devices = lock(&self.devices);
        for device in devices.values_mut() {
            device.facts.iter().filter_map(Weak::upgrade).for_each(|facts| facts.refresh());
            if let Some(mtu) = device.facts.iter().find_map(Weak::upgrade).and_then(|facts| facts.info().mtu) {
                device.mtu = mtu;
            }
        }
        self.tell_sockets(&mut devices)
    }

    /// Sets the filters of the UDP sockets so that raw ports and sockets together receive every datagram once.
    fn tell_sockets(&self, devices: &mut HashMap<String, Device>) -> Result<(), OpenerError> {
        devices.retain(|_, device| device.is_open());
        let Some(sockets) = &self.sockets else { return Ok(()) };
        let raw = |device: &Device| RawDevice {
            index: device.index,
            mtu: device.mtu,
            addresses: device.frames.udp_destinations().iter().copied().collect(),
            takes: match (&device.program, &self.urgent) {
                (None, _) => Takes::All,
                (Some(_), Some(pattern)) => Takes::Only(pattern.clone()),
                (Some(_), None) => Takes::Nothing,
            },
        };
        sockets.set_raw(devices.values().map(raw).collect()).map_err(OpenerError::Sockets)
    }

    /// Returns a fallback for datagrams that a device cannot send, if its ports take datagrams.
    fn fallback(&self, frames: &FrameMatch) -> Option<UdpSender> {
        let datagrams = matches!(frames, FrameMatch::UdpDestinations(_));
        self.sockets.as_ref().filter(|_| datagrams).map(UdpSockets::sender)
    }

    /// Opens a device with AF_XDP. Returns a reason instead if packet sockets are better.
    fn open_xdp(
        &self,
        device: &str,
        frames: &FrameMatch,
        filters: &Filters,
    ) -> Result<Result<(Opened, Device), String>, DeviceError> {
        // Generic mode is slower than packet sockets.
        let native = (self.choice == PortChoice::Auto).then_some(XdpMode::Native);
        let options = XdpOptions { mode: self.options.mode.or(native), ..self.options };
        let urgent = self.urgent.as_ref().filter(|_| filters.urgent.is_some());
        let (xdp, mut urgent) = with_urgent(device, filters, || {
            let inherited = self.take_program(device);
            XdpDevice::attach_or_inherit(&self.programs, device, frames, urgent, options, inherited)
        });
        let xdp = xdp?;
        let queues: Vec<u32> = (0..xdp.queues()).collect();
        if self.choice == PortChoice::Auto && queues.len() < self.workers {
            let (queues, workers) = (queues.len(), self.workers);
            return Ok(Err(format!(
                "it has {queues} receive queues, which AF_XDP could not spread over {workers} workers"
            )));
        }
        let mut ports: Vec<Box<dyn Port>> = Vec::new();
        let mut zero_copy = true;
        let (mut setters, mut sockets) = (Vec::new(), Vec::new());
        for (worker, shared) in self.frames.iter().enumerate() {
            let mine: Vec<u32> = queues.iter().copied().filter(|q| *q as usize % self.workers == worker).collect();
            if mine.is_empty() {
                // All receive queues belong to other workers, so this worker only sends.
                let mut sender = AfPacket::sender(device, self.size)?;
                sender.fill_checksums(self.fill_checksums);
                if let Some(fallback) = self.fallback(frames) {
                    sender.fall_back(fallback);
                }
                ports.push(Box::new(sender));
                continue;
            }
            let mut port: AfXdp = xdp.port(shared, &mine)?;
            sockets.extend(port.sockets());
            zero_copy &= port.is_zero_copy();
            port.fill_checksums(self.fill_checksums);
            if let Some(fallback) = self.fallback(frames) {
                port.fall_back(fallback);
            }
            if let Some(urgent) = std::mem::replace(&mut urgent, Ok(None))? {
                setters.push(urgent.filter_setter());
                port.receive_apart(urgent);
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
        let segments = if zero_copy { "" } else { segmentation(xdp.takes()) };
        // What the device's peer would leave to it (`veth_fix_features` in the kernel's veth.c).
        let peer = match (xdp.driver(), xdp.mode()) {
            ("veth", XdpMode::Native) => "; the peer segments what it sends",
            ("veth", XdpMode::Generic) => {
                "; frames of several segments are lost: switch segmentation off at the peer, or use AF_PACKET"
            }
            _ => "",
        };
        let how = format!("AF_XDP: {why}; {mode}, {copy}, {} receive queue{plural}{segments}{peer}", queues.len());
        let found = Device {
            index: xdp.index(),
            mtu: ports.first().and_then(|port| port.info().mtu).unwrap_or(0),
            facts: vec![xdp.facts()],
            frames: frames.clone(),
            program: Some(Arc::downgrade(&xdp)),
            queues: if frames.is_everything() { sockets } else { Vec::new() },
            sockets: [Vec::new(), setters],
            flows: None,
        };
        Ok(Ok((Opened { ports, kind: "AF_XDP", how }, found)))
    }
}

/// Opens a device, and the socket for its urgent frames if there is one. Both wait for the kernel, at the same time.
fn with_urgent<T>(
    device: &str,
    filters: &Filters,
    open: impl FnOnce() -> T,
) -> (T, Result<Option<Input>, DeviceError>) {
    std::thread::scope(|scope| {
        let urgent = filters.urgent.as_ref().map(|filter| scope.spawn(|| Input::small(device, filter)));
        let opened = open();
        let died = |_| Err(failed(device, "make a receive ring")(io::ErrorKind::Other.into()));
        (opened, urgent.map(|thread| thread.join().unwrap_or_else(died)).transpose())
    })
}

/// The part of the log message about the kinds of joined frames that a device takes.
fn segmentation(takes: Segments) -> &'static str {
    match (takes.tcp(), takes.udp()) {
        (true, true) => ", TCP and UDP segmentation",
        (true, false) => ", TCP segmentation",
        (false, true) => ", UDP segmentation",
        (false, false) => "",
    }
}

/// Whether a device is one end of a veth pair.
fn is_veth(device: &str) -> bool {
    sys::control_socket().and_then(|socket| sys::driver(&socket, device)).is_ok_and(|driver| driver == "veth")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error that a device cannot be opened or its match cannot be changed.
#[derive(thiserror::Error)]
#[allow(missing_docs)]
pub enum OpenerError {
    #[error(transparent)]
    Filter(#[from] TooLong),
    #[error(transparent)]
    Pool(#[from] PoolError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error("the ports of an open device cannot take frames by another kind of match")]
    OtherKind,
    #[error("cannot change what a packet socket receives: {0}")]
    Socket(#[source] io::Error),
    #[error("cannot change what a UDP socket receives: {0}")]
    Sockets(#[source] io::Error),
}

/// As people read it: `main` prints its error in this way.
impl std::fmt::Debug for OpenerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}
