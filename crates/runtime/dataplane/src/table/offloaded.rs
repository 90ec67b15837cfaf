//! Changes of tables. If a device runs the program, they are made there, too, while no other change is made.

use std::sync::Arc;

use hopwright_ir::{ActionCall, EntryTarget, MatchValue, TableEntry, WeightedAction};

use super::{RemovedEntry, Table};
use crate::control::error::ControlError;
use crate::offload::{Device, DeviceFault, Offload};

impl Table {
    /// Adds an entry. Fails if it is malformed, a duplicate, or the table is full.
    pub fn insert(&self, entry: TableEntry) -> Result<(), ControlError> {
        let Some(device) = self.device.get() else { return self.insert_here(entry) };
        let mut device = device.lock();
        self.insert_here(entry.clone())?;
        device.put(self.id, &entry).map_err(|reason| {
            let undone = self.delete_here(&entry.matches, entry.priority);
            debug_assert_eq!(undone, Ok(()));
            self.refused(reason)
        })
    }

    /// Changes the action of an entry. Its direct counter keeps counting.
    pub fn modify(&self, entry: TableEntry) -> Result<(), ControlError> {
        let Some(device) = self.device.get() else { return self.modify_here(entry) };
        let mut device = device.lock();
        let before = self.get(&entry.matches, entry.priority);
        self.modify_here(entry.clone())?;
        device.put(self.id, &entry).map_err(|reason| {
            let undone = before.map(|action| self.modify_here(TableEntry { action, ..entry }));
            debug_assert_eq!(undone, Some(Ok(())));
            self.refused(reason)
        })
    }

    /// Removes the entry with this match and priority.
    pub fn delete(&self, matches: &[MatchValue], priority: i32) -> Result<(), ControlError> {
        let Some(device) = self.device.get() else { return self.delete_here(matches, priority) };
        let mut device = device.lock();
        self.check_removable(matches, priority)?;
        self.answer(device.delete(self.id, matches, priority))?;
        self.delete_here(matches, priority)
    }

    /// Removes the entry with this match and priority, so that it can be put back.
    pub fn remove(&self, matches: &[MatchValue], priority: i32) -> Result<RemovedEntry, ControlError> {
        let Some(device) = self.device.get() else { return self.remove_here(matches, priority) };
        let mut device = device.lock();
        self.check_removable(matches, priority)?;
        let counts = self.pipeline[self.id].direct_counter.is_some();
        let counted = counts.then(|| self.answer(device.direct_count(self.id, matches, priority))).transpose()?;
        self.answer(device.delete(self.id, matches, priority))?;
        let mut removed = self.remove_here(matches, priority)?;
        removed.counted = counted;
        Ok(removed)
    }

    /// Puts back an entry that was removed. Nothing may have taken its place.
    pub fn restore(&self, removed: RemovedEntry) -> Result<(), ControlError> {
        let Some(device) = self.device.get() else { return self.restore_here(removed) };
        let mut device = device.lock();
        let (matches, priority) = removed.key();
        let entry = TableEntry { matches: matches.to_vec(), priority, action: removed.action().clone() };
        let (rates, counted, target) = (removed.rates(), removed.counted, removed.target().cloned());
        self.restore_here(removed)?;
        let mut on_device = || -> Result<(), DeviceFault> {
            match &target {
                Some(target) => self.choose(&mut **device, &entry.matches, priority, target)?,
                None => device.put(self.id, &entry)?,
            }
            if let Some(count) = counted {
                device.set_direct_count(self.id, &entry.matches, priority, count)?;
            }
            match rates {
                Some(_) => device.set_direct_meter(self.id, &entry.matches, priority, rates),
                None => Ok(()),
            }
        };
        on_device().map_err(|reason| {
            let undone = self.delete_here(&entry.matches, priority);
            debug_assert_eq!(undone, Ok(()));
            // It may have the entry, without its count or rates.
            let _ = device.delete(self.id, &entry.matches, priority);
            self.refused(reason)
        })
    }

    /// Removes all entries.
    pub fn clear(&self) -> Result<(), ControlError> {
        let Some(device) = self.device.get() else { return self.clear_here() };
        let mut device = device.lock();
        self.check_entries_changeable()?;
        self.answer(device.clear(self.id))?;
        self.clear_here()
    }

    /// Sets the default action; `None` restores the program's.
    pub fn set_default(&self, call: Option<ActionCall>) -> Result<(), ControlError> {
        let Some(device) = self.device.get() else { return self.set_default_here(call) };
        let mut device = device.lock();
        let before = self.default_action();
        self.set_default_here(call)?;
        device.set_default(self.id, &self.default_action()).map_err(|reason| {
            let undone = self.set_default_here(Some(before));
            debug_assert_eq!(undone, Ok(()));
            self.refused(reason)
        })
    }

    /// Adds an entry whose target is a member, a group or a one-shot action set of the table's profile.
    pub fn insert_target(&self, matches: Vec<MatchValue>, priority: i32, to: EntryTarget) -> Result<(), ControlError> {
        let Some(device) = self.device.get() else { return self.insert_target_here(matches, priority, to) };
        let mut device = device.lock();
        self.insert_target_here(matches.clone(), priority, to.clone())?;
        self.choose(&mut **device, &matches, priority, &to).map_err(|reason| {
            let undone = self.delete_here(&matches, priority);
            debug_assert_eq!(undone, Ok(()));
            self.refused(reason)
        })
    }

    /// Changes the target of an entry. Its direct counter and meter are kept.
    pub fn modify_target(&self, matches: Vec<MatchValue>, priority: i32, to: EntryTarget) -> Result<(), ControlError> {
        let Some(device) = self.device.get() else { return self.modify_target_here(matches, priority, to) };
        let mut device = device.lock();
        let before = self.target(&matches, priority);
        self.modify_target_here(matches.clone(), priority, to.clone())?;
        self.choose(&mut **device, &matches, priority, &to).map_err(|reason| {
            let undone = before.map(|target| self.modify_target_here(matches, priority, target));
            debug_assert_eq!(undone, Some(Ok(())));
            self.refused(reason)
        })
    }

    /// The device that runs the program.
    pub(crate) fn device(&self) -> Option<&Arc<Device>> {
        self.device.get()
    }

    /// Lets a device have the actions of all entries with targets for which `changed` is true.
    pub(crate) fn choose_again(
        &self,
        device: &mut dyn Offload,
        changed: impl Fn(&EntryTarget) -> bool,
    ) -> Result<(), ControlError> {
        for (matches, priority, target) in self.targets() {
            if changed(&target) {
                self.answer(self.choose(device, &matches, priority, &target))?;
            }
        }
        Ok(())
    }

    /// Lets a device have the actions that a target has now.
    fn choose(
        &self,
        device: &mut dyn Offload,
        matches: &[MatchValue],
        priority: i32,
        target: &EntryTarget,
    ) -> Result<(), DeviceFault> {
        let actions: Vec<WeightedAction> = self.profile.as_ref().map_or_else(Vec::new, |profile| {
            profile.read(|book| {
                let actions = book.actions(target).into_iter();
                actions.map(|(action, weight)| WeightedAction { action: action.clone(), weight }).collect()
            })
        });
        device.choose(self.id, matches, priority, &actions)
    }

    /// What a device has answered.
    pub(super) fn answer<T>(&self, answer: Result<T, DeviceFault>) -> Result<T, ControlError> {
        answer.map_err(|reason| self.refused(reason))
    }

    fn refused(&self, reason: DeviceFault) -> ControlError {
        ControlError::Device { name: self.name(), reason }
    }
}
