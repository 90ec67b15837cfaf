//! Devices that one process takes over from another without losing or doubling a frame.
//!
//! The successor has duplicates of the packet sockets with their rings. The kernel goes on filling these while nobody reads; the
//! successor begins at the slot where the predecessor has stopped. Until then the filters are the predecessor's.
//!
//! AF_XDP sockets of ports that take every frame are taken over likewise: the successor maps the memory of the frames, which is a file, and
//! the sockets' rings, and gets the numbers of the frames that are free. The program on the device redirects to the same sockets
//! throughout.
//!
//! AF_XDP sockets of ports that take datagrams are not taken over, because UDP sockets can receive these. The predecessor
//! empties the match of its program, which passes all frames to the kernel and thus to the UDP sockets, and then its rings. The
//! successor opens such devices when the predecessor has closed them; the UDP sockets receive meanwhile. The program stays attached:
//! drivers lose frames when one comes or goes.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};

use hopwright_dataplane::Port;

use super::{Device, Filters, Opened, Opener, OpenerError, PortChoice, lock};
use crate::af_packet::{AfPacket, FilterSetter, Input, SharedRing};
use crate::af_xdp::{SharedMemory, SharedProgram, SharedQueue, XdpDevice, XdpOptions};
use crate::filter::FrameMatch;
use crate::linux::device::{DeviceError, failed};
use crate::linux::sys;

/// An open device, as one process hands it over to another.
#[derive(Debug)]
pub struct SharedDevice {
    /// The device's name.
    pub name: String,
    /// Its interface index.
    pub index: u32,
    /// Its packet sockets, one for each worker. Empty if its ports are of AF_XDP.
    pub rings: Vec<SharedRing>,
    /// Its AF_XDP sockets, if they can be taken over.
    pub queues: Vec<SharedQueue>,
    /// The packet socket for urgent datagrams.
    pub urgent: Option<SharedRing>,
    /// Its XDP program.
    pub program: Option<SharedProgram>,
}

/// What a predecessor has.
#[derive(Debug)]
pub(super) struct Inheritance {
    /// Devices by name, except those that were taken over.
    devices: HashMap<String, SharedDevice>,
    /// The predecessor has stopped, and closes what is left.
    has_stopped: bool,
}

impl Opener {
    /// Returns the open devices, with duplicates of their packet sockets' descriptors, for a successor.
    pub fn share(&self) -> std::io::Result<Vec<SharedDevice>> {
        let devices = lock(&self.devices);
        let mut shared = Vec::new();
        for (name, device) in devices.iter().filter(|(_, device)| device.is_open()) {
            let of_xdp = device.program.is_some();
            let program = device.program.as_ref().and_then(Weak::upgrade);
            let ring = |setter: &FilterSetter| setter.share().transpose();
            let [common, urgent] = &device.sockets;
            let queue = |(id, socket): &(u32, Weak<OwnedFd>)| {
                Some(socket.upgrade()?.try_clone().map(|socket| SharedQueue { id: *id, socket }))
            };
            shared.push(SharedDevice {
                name: name.clone(),
                index: device.index,
                rings: common.iter().filter(|_| !of_xdp).filter_map(ring).collect::<Result<_, _>>()?,
                queues: device.queues.iter().filter_map(queue).collect::<Result<_, _>>()?,
                urgent: urgent.iter().filter(|_| !of_xdp).find_map(ring).transpose()?,
                program: program.map_or(Ok(None), |program| program.share())?,
            });
        }
        Ok(shared)
    }

    /// Has the sockets of a predecessor used instead of new ones where that is possible. Until [`Opener::take_charge`] no filter is
    /// changed, and no port may receive. To be called while no device is open.
    pub fn inherit(&self, devices: Vec<SharedDevice>) {
        let mut programs = lock(&self.programs_left);
        let keep = |mut device: SharedDevice| {
            if let Some(program) = device.program.take() {
                programs.insert((device.name.clone(), device.index), program);
            }
            (device.name.clone(), device)
        };
        let devices = devices.into_iter().map(keep).collect();
        *lock(&self.inheritance) = Some(Inheritance { devices, has_stopped: false });
    }

    /// Whether a predecessor has the device, and its sockets cannot be taken over: it can be opened when the predecessor has closed
    /// it.
    pub fn is_occupied(&self, device: &str) -> bool {
        let inheritance = lock(&self.inheritance);
        let Some(inheritance) = &*inheritance else { return false };
        let shared = inheritance.devices.get(device);
        shared.is_some_and(|shared| inheritance.has_stopped || !self.can_use(shared))
    }

    /// Closes the predecessor's sockets of devices that [`is_occupied`](Opener::is_occupied) is true of, and returns these. To be called if the predecessor has ended:
    /// then the devices can be opened anew.
    pub fn give_up_others(&self) -> Vec<String> {
        let mut inheritance = lock(&self.inheritance);
        let Some(inheritance) = &mut *inheritance else { return Vec::new() };
        let others = inheritance.devices.extract_if(|_, shared| !self.can_use(shared));
        others.map(|(name, _)| name).collect()
    }

    /// Called when the predecessor has closed everything.
    pub fn predecessor_has_gone(&self) {
        *lock(&self.inheritance) = None;
    }

    /// Detaches those XDP programs of the predecessor that are not used.
    pub fn forget_predecessor(&self) {
        lock(&self.programs_left).clear();
    }

    /// The XDP program that the predecessor has attached to a device.
    pub(super) fn take_program(&self, device: &str) -> Option<SharedProgram> {
        let index = sys::interface_index(device).ok()? as u32;
        lock(&self.programs_left).remove(&(device.into(), index))
    }

    /// Called when the predecessor has stopped: sets filters from now on.
    ///
    /// # Errors
    /// A filter cannot be set. All others are.
    pub fn take_charge(&self) -> Result<(), OpenerError> {
        if let Some(inheritance) = &mut *lock(&self.inheritance) {
            inheritance.has_stopped = true;
        }
        let mut devices = lock(&self.devices);
        let mut result = Ok(());
        for device in devices.values_mut() {
            let frames = device.frames.clone();
            let filters = Filters::new(&frames, self.urgent.as_ref());
            result = result.and(filters.map_err(OpenerError::from).and_then(|filters| device.set(&frames, &filters)));
        }
        let sockets = self.sockets.as_ref().map_or(Ok(()), |sockets| sockets.take_charge());
        result.and(sockets.map_err(OpenerError::Sockets)).and(self.tell_sockets(&mut devices))
    }

    pub(super) fn is_in_charge(&self) -> bool {
        lock(&self.inheritance).as_ref().is_none_or(|inheritance| inheritance.has_stopped)
    }

    fn can_use(&self, shared: &SharedDevice) -> bool {
        let same_device = sys::interface_index(&shared.name).is_ok_and(|index| index as u32 == shared.index);
        let rings = self.choice != PortChoice::AfXdp
            && shared.rings.len() == self.workers
            && shared.urgent.is_some() == self.urgent.is_some();
        let queues = self.inherits_memory && !shared.queues.is_empty() && self.urgent.is_none();
        same_device && (rings || queues)
    }

    /// Takes a device that can be used out of the inheritance.
    pub(super) fn take_inherited(&self, device: &str) -> Option<SharedDevice> {
        let mut inheritance = lock(&self.inheritance);
        let devices = &mut inheritance.as_mut().filter(|inheritance| !inheritance.has_stopped)?.devices;
        if devices.get(device).is_some_and(|shared| self.can_use(shared)) { devices.remove(device) } else { None }
    }

    pub(super) fn use_inherited(
        &self,
        shared: SharedDevice,
        frames: &FrameMatch,
    ) -> Result<(Opened, Device), DeviceError> {
        let SharedDevice { name, index, rings, queues, urgent, .. } = shared;
        if !queues.is_empty() {
            return self.use_inherited_queues(&name, frames, queues);
        }
        let ports = AfPacket::inherited(&name, rings, self.size, frames.is_everything())?;
        let urgent = urgent.map(|ring| Input::inherited(&name, ring, false)).transpose()?;
        Ok(self.with_packet_sockets(index, frames, (ports, urgent), "taken over"))
    }

    /// Opens a device with the program and the AF_XDP sockets of the predecessor.
    fn use_inherited_queues(
        &self,
        device: &str,
        frames: &FrameMatch,
        mut queues: Vec<SharedQueue>,
    ) -> Result<(Opened, Device), DeviceError> {
        let wrong = || failed(device, "take over its AF_XDP sockets")(std::io::ErrorKind::InvalidData.into());
        let program = self.take_program(device).ok_or_else(wrong)?;
        let options = XdpOptions { mode: Some(program.mode), ..self.options };
        let xdp = XdpDevice::attach_or_inherit(&self.programs, device, frames, None, options, Some(program))?;
        queues.sort_unstable_by_key(|queue| queue.id);
        if !queues.iter().map(|queue| queue.id).eq(0..xdp.queues()) {
            return Err(wrong());
        }
        let mut ports: Vec<Box<dyn Port>> = Vec::new();
        let mut sockets = Vec::new();
        for (worker, shared) in self.frames.iter().enumerate() {
            let mine: Vec<_> = queues.extract_if(.., |queue| queue.id as usize % self.workers == worker).collect();
            if mine.is_empty() {
                ports.push(Box::new(AfPacket::sender(device, self.size)?));
                continue;
            }
            let port = xdp.inherited_port(shared, mine)?;
            sockets.extend(port.sockets());
            ports.push(Box::new(port));
        }
        let found = Device {
            index: xdp.index(),
            mtu: ports.first().and_then(|port| port.info().mtu).unwrap_or(0),
            facts: vec![xdp.facts()],
            frames: frames.clone(),
            program: Some(Arc::downgrade(&xdp)),
            queues: sockets,
            sockets: [Vec::new(), Vec::new()],
            flows: None,
        };
        Ok((Opened { ports, kind: "AF_XDP", how: "AF_XDP: taken over".into() }, found))
    }

    /// Returns the memory of each worker's frames, for a successor that gets AF_XDP sockets. None if there are no such sockets.
    pub fn share_memory(&self) -> std::io::Result<Vec<SharedMemory>> {
        let any = lock(&self.devices).values().any(|device| device.is_open() && !device.queues.is_empty());
        let shared = self.frames.iter().filter(|_| any).map(|frames| frames.share(self.options.ring));
        Ok(shared.collect::<Result<Option<Vec<_>>, _>>()?.unwrap_or_default())
    }

    /// Has the memory of a worker that is the predecessor's begin with these frames free. To be called before ports receive.
    pub fn begin_with(&self, worker: usize, free: &[u32]) {
        if self.inherits_memory
            && let Some(frames) = self.frames.get(worker)
        {
            frames.begin_with(free);
        }
    }

    /// Leaves programs and AF_XDP sockets that can be taken over to the process that has taken over.
    pub fn leave(&self) {
        for device in lock(&self.devices).values().filter(|device| !device.queues.is_empty()) {
            device.program.as_ref().and_then(Weak::upgrade).iter().for_each(|program| program.leave());
        }
    }

    /// Returns where the packet sockets of each open device stand in their rings: those for each worker, then that for urgent
    /// datagrams. To be called when nobody reads them.
    pub fn positions(&self) -> Vec<(String, Vec<u32>)> {
        let of = |(name, device): (&String, &Device)| {
            let positions = device.sockets.iter().flatten().map(FilterSetter::position).collect();
            (name.clone(), positions)
        };
        lock(&self.devices).iter().filter(|(_, device)| device.program.is_none()).map(of).collect()
    }

    /// Has the ports of a device begin where those of the predecessor have stopped. Returns false if the device has not this many
    /// sockets. To be called before they receive.
    pub fn begin_at(&self, device: &str, positions: &[u32]) -> bool {
        let devices = lock(&self.devices);
        let Some(found) = devices.get(device) else { return false };
        let sockets = || found.sockets.iter().flatten();
        if sockets().count() != positions.len() {
            return false;
        }
        sockets().zip(positions).for_each(|(socket, position)| socket.begin_at(*position));
        true
    }

    /// Passes what AF_XDP ports take to the kernel, and waits until the last frame for them is in their rings.
    pub fn withdraw(&self) -> Result<(), OpenerError> {
        let mut any = false;
        for (_, device) in lock(&self.devices).iter() {
            if let Some(program) = device.program.as_ref().and_then(Weak::upgrade) {
                program.change_match(&device.frames.emptied())?;
                any = true;
            }
        }
        if any { sys::wait_for_readers().map_err(OpenerError::Sockets) } else { Ok(()) }
    }

    /// Undoes [`Opener::withdraw`].
    pub fn restore(&self) -> Result<(), OpenerError> {
        for (_, device) in lock(&self.devices).iter() {
            if let Some(program) = device.program.as_ref().and_then(Weak::upgrade) {
                program.change_match(&device.frames)?;
            }
        }
        Ok(())
    }
}
