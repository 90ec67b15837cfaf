//! Changes of tables. If a device runs the program, they are made there, too, while no other change is made.

use hopwright_ir::{ActionCall, MatchValue, TableEntry};

use super::Table;
use crate::control::ControlError;

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
        self.delete_here(matches, priority)?;
        device.delete(self.id, matches, priority).map_err(|reason| self.refused(reason))
    }

    /// Removes all entries.
    pub fn clear(&self) -> Result<(), ControlError> {
        let Some(device) = self.device.get() else { return self.clear_here() };
        let mut device = device.lock();
        self.clear_here()?;
        device.clear(self.id).map_err(|reason| self.refused(reason))
    }

    /// Sets the default action; `None` restores the program's.
    pub fn set_default(&self, call: Option<ActionCall>) -> Result<(), ControlError> {
        let Some(device) = self.device.get() else { return self.set_default_here(call) };
        let mut device = device.lock();
        self.set_default_here(call)?;
        device.set_default(self.id, &self.default_action()).map_err(|reason| self.refused(reason))
    }

    /// What a device has answered.
    pub(super) fn answer<T>(&self, answer: Result<T, String>) -> Result<T, ControlError> {
        answer.map_err(|reason| self.refused(reason))
    }

    fn refused(&self, reason: String) -> ControlError {
        ControlError::Device { name: self.name(), reason }
    }
}
