//! The control-plane interface of action profile targets, direct meters and the cells of entries.

use std::sync::Arc;

use hopwright_abi::lead_words;
use hopwright_ir::entry::check_keys;
use hopwright_ir::meter::{Color, Rates};
use hopwright_ir::profile::ProfileError;
use hopwright_ir::{ActionCall, EntryTarget, MatchValue, TableEntry, WeightedAction};

use super::entry::{EntryExtras, MatchKey, StoredEntry};
use super::profile::Choice;
use super::{Table, Writer, footprint};
use crate::control::error::ControlError;
use crate::state::meter::MeterCell;

impl Table {
    /// The number of words before the action data in each entry block.
    pub(super) fn lead_words(&self) -> usize {
        lead_words(&self.pipeline[self.id])
    }

    /// Creates the profile target and meter of a new entry that specifies an action instead of a profile target.
    pub(super) fn extras(&self, action: &ActionCall) -> Result<Option<Box<EntryExtras>>, ControlError> {
        if self.lead_words() == 0 {
            return Ok(None);
        }
        let mut extras = Box::new(EntryExtras::default());
        if self.profile.is_some() {
            extras.target = Some(self.acquire_target(own_action(action))?.0);
        }
        if self.pipeline[self.id].direct_meter.is_some() {
            extras.meter = Some(Arc::new(MeterCell::new()));
        }
        Ok(Some(extras))
    }

    pub(super) fn acquire_target(
        &self,
        to: EntryTarget,
    ) -> Result<((EntryTarget, Arc<Choice>), ActionCall), ControlError> {
        let refused = |reason| ControlError::Profile { name: self.name(), reason };
        let profile = self.profile.as_ref().ok_or_else(|| refused(ProfileError::NoProfile))?;
        let bytes = self.target_bytes(&to);
        self.account.charge(bytes).map_err(|reason| ControlError::Memory { name: self.name(), reason })?;
        let acquired = profile.acquire(self.id, &to).inspect_err(|_| self.account.release(bytes));
        let (choice, first) = acquired.map_err(refused)?;
        // An entry whose group is empty runs the default action.
        let action = first.unwrap_or_else(|| self.pipeline[self.id].default_action.clone());
        Ok(((to, choice), action))
    }

    /// Releases the profile target of a removed entry.
    pub(super) fn release(&self, extras: Option<&EntryExtras>) {
        if let (Some(profile), Some(EntryExtras { target: Some((to, _)), .. })) = (&self.profile, extras) {
            profile.release(self.id, to);
            self.account.release(self.target_bytes(to));
        }
    }

    /// What a target takes that is the entry's own.
    fn target_bytes(&self, to: &EntryTarget) -> u64 {
        let EntryTarget::Set(set) = to else { return 0 };
        set.iter().map(|member| footprint::of_member(&self.pipeline, &member.action)).sum()
    }

    /// Adds an entry on this side whose target is in the table's profile.
    pub(super) fn insert_target_here(
        &self,
        matches: Vec<MatchValue>,
        priority: i32,
        to: EntryTarget,
    ) -> Result<(), ControlError> {
        let key = self.target_key(matches, priority)?;
        let mut writer = self.lock();
        let hash = writer.records.hash(&key.matches, key.priority);
        self.check_room(&writer, hash, &key)?;
        let charged = self.charge_entry(&writer)?;
        let (target, action) = self.acquire_target(to).inspect_err(|_| self.account.release(charged))?;
        let mut extras = Box::new(EntryExtras { target: Some(target), ..EntryExtras::default() });
        if self.pipeline[self.id].direct_meter.is_some() {
            extras.meter = Some(Arc::new(MeterCell::new()));
        }
        self.add(&mut writer, hash, key, action, Some(extras));
        Ok(())
    }

    /// Changes the target of an entry on this side.
    pub(super) fn modify_target_here(
        &self,
        matches: Vec<MatchValue>,
        priority: i32,
        to: EntryTarget,
    ) -> Result<(), ControlError> {
        let key = self.target_key(matches, priority)?;
        let mut writer = self.lock();
        if writer.records.get(&key.matches, key.priority).is_none() {
            return Err(ControlError::NotFound(self.name()));
        }
        let (target, action) = self.acquire_target(to)?;
        self.replace(&mut writer, key, action, Some(target))
    }

    /// Acquires the target of an entry that specifies an action itself; `None` if the table has no profile.
    pub(super) fn acquire_own_target(
        &self,
        action: &ActionCall,
    ) -> Result<Option<(EntryTarget, Arc<Choice>)>, ControlError> {
        if self.profile.is_none() {
            return Ok(None);
        }
        Ok(Some(self.acquire_target(own_action(action))?.0))
    }

    fn target_key(&self, matches: Vec<MatchValue>, priority: i32) -> Result<MatchKey, ControlError> {
        self.check_entries_changeable()?;
        let model = &self.pipeline[self.id];
        let entry = TableEntry { matches, priority, action: model.default_action.clone() };
        check_keys(model, &entry).map_err(|reason| ControlError::Entry { table: self.name(), reason })?;
        Ok(MatchKey { matches: entry.matches, priority })
    }

    /// All entries with targets.
    pub(super) fn targets(&self) -> Vec<(Vec<MatchValue>, i32, EntryTarget)> {
        let writer = self.lock();
        let target = |(key, record): (&MatchKey, &StoredEntry)| {
            Some((key.matches.clone(), key.priority, record.target()?.clone()))
        };
        writer.records.iter().filter_map(target).collect()
    }

    /// Returns an entry's target; `None` if there is no such entry or the table has no profile.
    pub fn target(&self, matches: &[MatchValue], priority: i32) -> Option<EntryTarget> {
        let writer = self.lock();
        writer.records.get(matches, priority)?.target().cloned()
    }

    /// Returns the rates of an entry's direct meter; `None` if they are not configured, in which case every packet is
    /// green.
    pub fn direct_meter(&self, matches: &[MatchValue], priority: i32) -> Result<Option<Rates>, ControlError> {
        let writer = self.lock();
        Ok(self.meter_of(&writer, matches, priority)?.rates())
    }

    /// Sets the rates of an entry's direct meter and fills its buckets. With `None`, every packet is green.
    pub fn set_direct_meter(
        &self,
        matches: &[MatchValue],
        priority: i32,
        rates: Option<Rates>,
    ) -> Result<(), ControlError> {
        {
            let writer = self.lock();
            let meter = self.meter_of(&writer, matches, priority)?;
            if self.device.get().is_none() {
                meter.set(rates, &self.domain);
                return Ok(());
            }
        }
        let Some(device) = self.device.get() else { return Ok(()) };
        self.answer(device.lock().set_direct_meter(self.id, matches, priority, rates))?;
        let writer = self.lock();
        self.meter_of(&writer, matches, priority)?.set(rates, &self.domain);
        Ok(())
    }

    /// Returns the index of an entry in a table with cells for entries. It is that of the entry's cell in each of
    /// [`hopwright_ir::Table::entry_cells`], until the entry is deleted.
    pub fn entry_index(&self, matches: &[MatchValue], priority: i32) -> Option<u32> {
        self.lock().records.get(matches, priority)?.index()
    }

    /// Runs the direct meter of an entry for a packet that hit it.
    ///
    /// # Safety
    /// No worker runs the entry's meter at the same time.
    pub(crate) unsafe fn measure_hit(&self, matches: &[MatchValue], priority: i32, now_us: u64, cost: u64) -> Color {
        let writer = self.lock();
        match self.meter_of(&writer, matches, priority) {
            // SAFETY: the caller is the only thread that runs the meter, and the lock excludes changes of its rates.
            Ok(meter) => unsafe { meter.execute(now_us, cost) },
            Err(_) => Color::Green,
        }
    }

    fn meter_of<'w>(
        &self,
        writer: &'w Writer,
        matches: &[MatchValue],
        priority: i32,
    ) -> Result<&'w MeterCell, ControlError> {
        if self.pipeline[self.id].direct_meter.is_none() {
            return Err(ControlError::NoDirectMeter(self.name()));
        }
        let record = writer.records.get(matches, priority).ok_or_else(|| ControlError::NotFound(self.name()))?;
        let meter = record.extras.as_ref().and_then(|b| b.meter.as_deref());
        meter.ok_or_else(|| ControlError::NoDirectMeter(self.name()))
    }
}

fn own_action(action: &ActionCall) -> EntryTarget {
    EntryTarget::Set(vec![WeightedAction { action: action.clone(), weight: 1 }])
}
