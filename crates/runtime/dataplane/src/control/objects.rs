//! The control plane's access to extern objects and value sets.

use std::fmt;
use std::ops::Range;

use hopwright_ir::meter::Rates;
use hopwright_ir::profile::ProfileError;
use hopwright_ir::{ActionCall, EntryTarget, ExternId, Group, MatchValue, Pipeline, ValueSet as Model, bits};
use num_bigint::BigUint;

use super::ControlError;
use crate::account::Account;
use crate::offload::DeviceFault;
use crate::state::cell::{Count, Counters, Registers};
use crate::state::meter::Meters;
use crate::state::value_set::ValueSet;
use crate::table::{Profiles, Table, footprint};
use hopwright_abi::{from_limbs, limbs_of, push_limbs};

fn cell_index(name: &str, index: u64, size: usize) -> Result<usize, ControlError> {
    let at = usize::try_from(index).ok().filter(|i| *i < size);
    at.ok_or_else(|| ControlError::Index { name: name.into(), index, size: size as u64 })
}

fn refused(name: &str, reason: DeviceFault) -> ControlError {
    ControlError::Device { name: name.into(), reason }
}

/// The cells of a counter array.
#[derive(Clone, Copy, Debug)]
pub struct CounterArray<'a> {
    pub(super) name: &'a str,
    pub(super) cells: &'a Counters,
}

impl CounterArray<'_> {
    /// Reads one cell.
    pub fn read(&self, index: u64) -> Result<Count, ControlError> {
        let at = cell_index(self.name, index, self.cells.len())?;
        self.fetch(index..index + 1);
        Ok(self.cells.frame.with(self.cells.read(at)))
    }

    /// Reads all cells.
    pub fn read_all(&self) -> Vec<Count> {
        self.read_range(0..u64::MAX)
    }

    /// Reads the cells in a range, which is clipped to the array.
    pub fn read_range(&self, range: Range<u64>) -> Vec<Count> {
        let end = range.end.min(self.cells.len() as u64);
        self.fetch(range.start..end);
        (range.start..end).map(|i| self.cells.frame.with(self.cells.read(i as usize))).collect()
    }

    /// Brings cells up to date that a device counts. If it does not answer they stay as they were when last read.
    fn fetch(&self, range: Range<u64>) {
        let Some((mut device, counter)) = self.cells.device.get() else { return };
        let counts = device.counts(counter, range.clone()).unwrap_or_default();
        range.zip(counts).for_each(|(index, count)| self.cells.write(index as usize, count));
    }

    /// Sets one cell. Packets that a worker counts concurrently may be lost.
    pub fn write(&self, index: u64, count: Count) -> Result<(), ControlError> {
        let at = cell_index(self.name, index, self.cells.len())?;
        let count = self.cells.frame.without(count);
        if let Some((mut device, counter)) = self.cells.device.get() {
            device.set_count(counter, index, count).map_err(|reason| refused(self.name, reason))?;
        }
        self.cells.write(at, count);
        Ok(())
    }
}

/// The values of a register array.
#[derive(Clone, Copy, Debug)]
pub struct RegisterArray<'a> {
    pub(super) name: &'a str,
    pub(super) width: u32,
    pub(super) values: &'a Registers,
}

impl RegisterArray<'_> {
    /// Reads one value.
    pub fn read(&self, index: u64) -> Result<BigUint, ControlError> {
        let at = cell_index(self.name, index, self.values.len())?;
        match self.values.device.get() {
            Some((mut device, register)) => {
                device.register(register, index).map_err(|reason| refused(self.name, reason))
            }
            None => Ok(from_limbs(&self.values.read(at))),
        }
    }

    /// Writes one value.
    pub fn write(&self, index: u64, value: impl Into<BigUint>) -> Result<(), ControlError> {
        let at = cell_index(self.name, index, self.values.len())?;
        let value = value.into();
        if !bits::fits(&value, self.width) {
            return Err(ControlError::ValueWidth { name: self.name.into(), width: self.width });
        }
        if let Some((mut device, register)) = self.values.device.get() {
            return device.set_register(register, index, &value).map_err(|reason| refused(self.name, reason));
        }
        let mut limbs = Vec::new();
        push_limbs(&mut limbs, &value, limbs_of(self.width));
        self.values.write(at, &limbs);
        Ok(())
    }
}

/// The meters of an indirect meter array. Those that belong to the entries of a table only have common properties.
#[derive(Clone, Copy, Debug)]
pub struct MeterArray<'a> {
    pub(super) name: &'a str,
    pub(super) meters: &'a Meters,
}

impl MeterArray<'_> {
    /// Returns the rates of one meter; `None` if they are not configured, in which case every packet is green.
    pub fn rates(&self, index: u64) -> Result<Option<Rates>, ControlError> {
        Ok(self.meters.rates(cell_index(self.name, index, self.meters.len())?))
    }

    /// Bytes that are added to the length of each packet, or subtracted from it.
    pub fn adjustment(&self) -> i32 {
        self.meters.adjustment()
    }

    /// Sets them, for all meters of the array.
    ///
    /// # Errors
    /// A device runs the meters.
    pub fn set_adjustment(&self, bytes: i32) -> Result<(), ControlError> {
        if self.meters.device.get().is_some() {
            return Err(refused(self.name, DeviceFault::refused("it measures packets by their length")));
        }
        self.meters.set_adjustment(bytes);
        Ok(())
    }

    /// Sets the rates of one meter and fills its buckets. With `None`, every packet is green.
    pub fn set_rates(&self, index: u64, rates: Option<Rates>) -> Result<(), ControlError> {
        let at = cell_index(self.name, index, self.meters.len())?;
        if let Some((mut device, meter)) = self.meters.device.get() {
            device.set_meter(meter, index, rates).map_err(|reason| refused(self.name, reason))?;
        }
        self.meters.set(at, rates);
        Ok(())
    }
}

/// The members and groups of an action profile or selector.
#[derive(Clone, Copy)]
pub struct ActionProfile<'a> {
    pub(super) name: &'a str,
    pub(super) profile: &'a Profiles,
    /// The tables that use it.
    pub(super) tables: &'a [Table],
    pub(super) id: ExternId,
    pub(super) pipeline: &'a Pipeline,
    pub(super) account: &'a Account,
}

impl fmt::Debug for ActionProfile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActionProfile")
            .field("name", &self.name)
            .field("profile", &self.profile)
            .finish_non_exhaustive()
    }
}

impl ActionProfile<'_> {
    /// Returns all members in order of their ids.
    pub fn members(&self) -> Vec<(u32, ActionCall)> {
        self.profile.read(|p| p.members().map(|(id, action)| (id, action.clone())).collect())
    }

    /// Returns all groups in order of their ids.
    pub fn groups(&self) -> Vec<(u32, Group)> {
        self.profile.read(|p| p.groups().map(|(id, group)| (id, group.clone())).collect())
    }

    /// Returns one member.
    pub fn member(&self, id: u32) -> Option<ActionCall> {
        self.profile.read(|p| p.member(id).cloned())
    }

    /// Returns one group.
    pub fn group(&self, id: u32) -> Option<Group> {
        self.profile.read(|p| p.group(id).cloned())
    }

    /// Adds a member.
    pub fn insert_member(&self, id: u32, action: ActionCall) -> Result<(), ControlError> {
        let bytes = self.member_bytes(&action);
        self.charged(0, bytes, || self.profile.insert_member(id, action))
    }

    /// Changes the action of a member, for all groups and entries that refer to it.
    pub fn modify_member(&self, id: u32, action: ActionCall) -> Result<(), ControlError> {
        let leads = |target: &EntryTarget| match target {
            EntryTarget::Member(member) => *member == id,
            EntryTarget::Group(group) => self.group(*group).is_some_and(|group| group.members.contains_key(&id)),
            EntryTarget::Set(_) => false,
        };
        let modify = |action: ActionCall| {
            let before = self.member(id).map_or(0, |member| self.member_bytes(&member));
            self.charged(before, self.member_bytes(&action), || self.profile.modify_member(id, action))
        };
        self.change(leads, self.member(id), action, modify)
    }

    /// Removes a member, which nothing may refer to.
    pub fn delete_member(&self, id: u32) -> Result<(), ControlError> {
        let before = self.member(id).map_or(0, |member| self.member_bytes(&member));
        self.profile.delete_member(id).map_err(|e| self.refused(e))?;
        self.account.release(before);
        Ok(())
    }

    /// Adds a group.
    pub fn insert_group(&self, id: u32, group: Group) -> Result<(), ControlError> {
        self.charged(0, footprint::of_group(group.members.len()), || self.profile.insert_group(id, group))
    }

    /// Changes the members of a group.
    pub fn modify_group(&self, id: u32, group: Group) -> Result<(), ControlError> {
        let leads = |target: &EntryTarget| *target == EntryTarget::Group(id);
        let modify = |group: Group| {
            let before = self.group_bytes(id);
            self.charged(before, footprint::of_group(group.members.len()), || self.profile.modify_group(id, group))
        };
        self.change(leads, self.group(id), group, modify)
    }

    /// Removes a group, which nothing may refer to.
    pub fn delete_group(&self, id: u32) -> Result<(), ControlError> {
        let before = self.group_bytes(id);
        self.profile.delete_group(id).map_err(|e| self.refused(e))?;
        self.account.release(before);
        Ok(())
    }

    fn member_bytes(&self, action: &ActionCall) -> u64 {
        footprint::of_member(self.pipeline, action)
    }

    fn group_bytes(&self, id: u32) -> u64 {
        self.profile.read(|p| p.group(id).map_or(0, |group| footprint::of_group(group.members.len())))
    }

    /// Makes a change after which something takes other memory, if the tenant may have it.
    fn charged(
        &self,
        before: u64,
        after: u64,
        change: impl FnOnce() -> Result<(), ProfileError>,
    ) -> Result<(), ControlError> {
        let exceeded = |reason| ControlError::Memory { name: self.name.into(), reason };
        self.account.exchange(before, after).map_err(exceeded)?;
        change().map_err(|reason| {
            // Undoing is not refused.
            let _ = self.account.undo(|| self.account.exchange(after, before));
            self.refused(reason)
        })
    }

    /// Makes a change, on a device for all entries that it concerns. Undoes it if the device refuses.
    fn change<T>(
        &self,
        leads: impl Fn(&EntryTarget) -> bool,
        before: Option<T>,
        new: T,
        modify: impl Fn(T) -> Result<(), ControlError>,
    ) -> Result<(), ControlError> {
        let users = || self.tables.iter().filter(|table| table.implementation() == Some(self.id));
        let Some(device) = users().find_map(Table::device) else { return modify(new) };
        let mut device = device.lock();
        modify(new)?;
        let mut on_device = || users().try_for_each(|table| table.choose_again(&mut **device, &leads));
        on_device().inspect_err(|_| {
            let undone = self.account.undo(|| before.map(&modify));
            debug_assert_eq!(undone, Some(Ok(())));
            // There was room for what they had.
            let _ = on_device();
        })
    }

    fn refused(&self, reason: ProfileError) -> ControlError {
        ControlError::Profile { name: self.name.into(), reason }
    }
}

/// The members of a parser value set.
#[derive(Clone, Copy, Debug)]
pub struct ValueSetMembers<'a> {
    pub(super) model: &'a Model,
    pub(super) set: &'a ValueSet,
}

impl ValueSetMembers<'_> {
    /// All members.
    pub fn read(&self) -> Vec<Vec<MatchValue>> {
        self.set.members().clone()
    }

    /// Replaces all members.
    pub fn replace(&self, members: Vec<Vec<MatchValue>>) -> Result<(), ControlError> {
        self.set.replace(self.model, members)
    }
}
