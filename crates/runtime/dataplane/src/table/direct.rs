//! Direct counters of a table's entries, and how often they were hit.

use hopwright_ir::MatchValue;

use super::Table;
use crate::control::error::ControlError;
use crate::state::cell::Count;

impl Table {
    /// Reads the direct counter of an entry.
    pub fn direct_count(&self, matches: &[MatchValue], priority: i32) -> Result<Count, ControlError> {
        if self.pipeline[self.id].direct_counter.is_none() {
            return Err(ControlError::NoDirectCounter(self.name()));
        }
        let here = {
            let writer = self.lock();
            let record = writer.records.get(matches, priority).ok_or_else(|| ControlError::NotFound(self.name()))?;
            record.counter.as_ref().map(|c| c.read(0)).unwrap_or_default()
        };
        match self.device.get() {
            Some(device) => self.answer(device.lock().direct_count(self.id, matches, priority)),
            None => Ok(here),
        }
        .map(|count| self.frame.with(count))
    }

    /// Returns how many packets hit an entry. Only tables with a direct counter or idle timeouts count hits; the result
    /// is 0 for other tables and for missing entries.
    pub fn hits(&self, matches: &[MatchValue], priority: i32) -> u64 {
        if self.device.get().is_some() {
            return self.direct_count(matches, priority).map_or(0, |count| count.packets);
        }
        let writer = self.lock();
        let counter = writer.records.get(matches, priority).and_then(|r| r.counter.as_ref());
        counter.map_or(0, |c| c.read(0).packets)
    }

    /// Sets the direct counter of an entry. Packets that a worker counts concurrently may be lost.
    pub fn set_direct_count(&self, matches: &[MatchValue], priority: i32, count: Count) -> Result<(), ControlError> {
        if self.pipeline[self.id].direct_counter.is_none() {
            return Err(ControlError::NoDirectCounter(self.name()));
        }
        let counter = {
            let writer = self.lock();
            let record = writer.records.get(matches, priority).ok_or_else(|| ControlError::NotFound(self.name()))?;
            record.counter.clone()
        };
        let count = self.frame.without(count);
        if let Some(device) = self.device.get() {
            self.answer(device.lock().set_direct_count(self.id, matches, priority, count))?;
        }
        if let Some(counter) = counter {
            counter.write(0, count);
        }
        Ok(())
    }

    /// Counts a packet that hit an entry. Only one thread may count at a time.
    pub(crate) fn count_hit(&self, matches: &[MatchValue], priority: i32, bytes: u64) {
        let writer = self.lock();
        if let Some(counter) = writer.records.get(matches, priority).and_then(|r| r.counter.as_ref()) {
            counter.count(0, bytes);
        }
    }

    /// Adds to the bytes in the direct counter of an entry. Only one thread may count at a time.
    pub(crate) fn recount_hit(&self, matches: &[MatchValue], priority: i32, bytes: u64) {
        let writer = self.lock();
        if let Some(counter) = writer.records.get(matches, priority).and_then(|r| r.counter.as_ref()) {
            let Count { packets, bytes: before } = counter.read(0);
            counter.write(0, Count { packets, bytes: before.wrapping_add(bytes) });
        }
    }
}
