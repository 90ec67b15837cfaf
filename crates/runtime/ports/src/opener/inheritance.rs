//! Devices that one process takes over from another without losing or doubling a frame.
//!
//! The successor has duplicates of the packet sockets with their rings. The kernel goes on filling these while nobody reads; the
//! successor begins at the slot where the predecessor has stopped. Until then the filters are the predecessor's.
//!
//! AF_XDP sockets cannot be taken over: a receive queue has one socket, whose frames are its process's memory. The predecessor
//! empties the match of its program, which passes all frames to the kernel and thus to the UDP sockets, and then its rings. The
//! successor opens such devices when the predecessor has closed them; the UDP sockets receive meanwhile. The program stays attached:
//! drivers lose frames when one comes or goes.

use std::collections::HashMap;
use std::sync::Weak;

use super::{Device, Filters, Opened, Opener, OpenerError, PortChoice, lock};
use crate::af_packet::{AfPacket, FilterSetter, Input, SharedRing};
use crate::af_xdp::SharedProgram;
use crate::filter::FrameMatch;
use crate::linux::device::DeviceError;
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
            shared.push(SharedDevice {
                name: name.clone(),
                index: device.index,
                rings: common.iter().filter(|_| !of_xdp).filter_map(ring).collect::<Result<_, _>>()?,
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
        self.choice != PortChoice::AfXdp
            && same_device
            && shared.rings.len() == self.workers
            && shared.urgent.is_some() == self.urgent.is_some()
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
        let SharedDevice { name, index, rings, urgent, .. } = shared;
        let ports = AfPacket::inherited(&name, rings, self.size, frames.is_everything())?;
        let urgent = urgent.map(|ring| Input::inherited(&name, ring, false)).transpose()?;
        Ok(self.with_packet_sockets(index, frames, (ports, urgent), "taken over"))
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
