//! The control side of entries with an action profile and of direct meters.

use std::sync::Arc;

use hopwright_abi::lead_words;
use hopwright_ir::entry::check_keys;
use hopwright_ir::meter::{Color, Rates};
use hopwright_ir::profile::ProfileError;
use hopwright_ir::{ActionCall, EntryTarget, MatchValue, TableEntry, WeightedAction};

use super::profile::Choice;
use super::{MatchKey, StoredEntry, Table, Writer};
use crate::control::ControlError;
use crate::state::meter::MeterCell;

/// What only entries of some tables have.
#[derive(Default)]
pub(super) struct Beside {
    /// In tables with an action profile: what the entry leads to.
    pub target: Option<(EntryTarget, Arc<Choice>)>,
    /// The direct meter.
    pub meter: Option<Arc<MeterCell>>,
}

impl Beside {
    /// The words in front of the action's data, see [`lead_words`].
    pub(super) fn words(&self) -> [u64; 2] {
        let meter = self.meter.as_ref().map_or(0, |m| m.address());
        match &self.target {
            Some((_, choice)) => [choice.address(), meter],
            None => [meter, 0],
        }
    }
}

impl StoredEntry {
    /// In tables with an action profile: what the entry leads to.
    pub(super) fn target(&self) -> Option<&EntryTarget> {
        self.beside.as_ref()?.target.as_ref().map(|(target, _)| target)
    }
}

impl Table {
    /// How many words of every entry stand before its action's data.
    pub(super) fn lead_words(&self) -> usize {
        lead_words(&self.pipeline[self.id])
    }

    /// What belongs to a new entry that names its action itself.
    pub(super) fn beside(&self, action: &ActionCall) -> Result<Option<Box<Beside>>, ControlError> {
        if self.lead_words() == 0 {
            return Ok(None);
        }
        let mut beside = Box::new(Beside::default());
        if self.profile.is_some() {
            beside.target = Some(self.aim(own_action(action))?.0);
        }
        if self.pipeline[self.id].direct_meter.is_some() {
            beside.meter = Some(Arc::new(MeterCell::new()));
        }
        Ok(Some(beside))
    }

    fn aim(&self, to: EntryTarget) -> Result<((EntryTarget, Arc<Choice>), ActionCall), ControlError> {
        let refused = |reason| ControlError::Profile { name: self.name(), reason };
        let profile = self.profile.as_ref().ok_or_else(|| refused(ProfileError::NoProfile))?;
        let (choice, first) = profile.acquire(&to).map_err(refused)?;
        // An entry of an empty group stands for the default action.
        let action = first.unwrap_or_else(|| self.pipeline[self.id].default_action.clone());
        Ok(((to, choice), action))
    }

    /// Entry and profile part.
    pub(super) fn release(&self, beside: Option<&Beside>) {
        if let (Some(profile), Some(Beside { target: Some((to, _)), .. })) = (&self.profile, beside) {
            profile.release(to);
        }
    }

    /// Adds an entry that leads to a member, group or set of actions of the table's profile.
    pub fn insert_target(&self, matches: Vec<MatchValue>, priority: i32, to: EntryTarget) -> Result<(), ControlError> {
        let key = self.target_key(matches, priority)?;
        let mut writer = self.lock();
        let hash = writer.records.hash(&key.matches, key.priority);
        self.check_room(&writer, hash, &key)?;
        let (target, action) = self.aim(to)?;
        let mut beside = Box::new(Beside { target: Some(target), meter: None });
        if self.pipeline[self.id].direct_meter.is_some() {
            beside.meter = Some(Arc::new(MeterCell::new()));
        }
        self.add(&mut writer, hash, key, action, Some(beside));
        Ok(())
    }

    /// Lets an entry lead elsewhere; its direct counter and meter go on.
    pub fn modify_target(&self, matches: Vec<MatchValue>, priority: i32, to: EntryTarget) -> Result<(), ControlError> {
        let key = self.target_key(matches, priority)?;
        let mut writer = self.lock();
        if writer.records.get(&key.matches, key.priority).is_none() {
            return Err(ControlError::NotFound(self.name()));
        }
        let (target, action) = self.aim(to)?;
        self.replace(&mut writer, key, action, Some(target))
    }

    /// For an entry that names its action itself: what it leads to from now on.
    pub(super) fn aim_at_own(&self, action: &ActionCall) -> Result<Option<(EntryTarget, Arc<Choice>)>, ControlError> {
        if self.profile.is_none() {
            return Ok(None);
        }
        Ok(Some(self.aim(own_action(action))?.0))
    }

    fn target_key(&self, matches: Vec<MatchValue>, priority: i32) -> Result<MatchKey, ControlError> {
        self.check_entries_changeable()?;
        let model = &self.pipeline[self.id];
        let entry = TableEntry { matches, priority, action: model.default_action.clone() };
        check_keys(model, &entry).map_err(|reason| ControlError::Entry { table: self.name(), reason })?;
        Ok(MatchKey { matches: entry.matches, priority })
    }

    /// What an entry leads to; `None` if there is no such entry or the table has no profile.
    pub fn target(&self, matches: &[MatchValue], priority: i32) -> Option<EntryTarget> {
        let writer = self.lock();
        writer.records.get(matches, priority)?.target().cloned()
    }

    /// The rates of an entry's direct meter; `None`: it says green.
    pub fn direct_meter(&self, matches: &[MatchValue], priority: i32) -> Result<Option<Rates>, ControlError> {
        let writer = self.lock();
        Ok(self.meter_of(&writer, matches, priority)?.rates())
    }

    /// Sets the rates of an entry's direct meter, with full buckets; `None`: it says green.
    pub fn set_direct_meter(
        &self,
        matches: &[MatchValue],
        priority: i32,
        rates: Option<Rates>,
    ) -> Result<(), ControlError> {
        let writer = self.lock();
        self.meter_of(&writer, matches, priority)?.set(rates, &self.domain);
        Ok(())
    }

    /// Measures a packet that hit an entry.
    ///
    /// # Safety
    /// No worker runs the entry's meter at the same time.
    pub(crate) unsafe fn measure_hit(&self, matches: &[MatchValue], priority: i32, now_us: u64, cost: u64) -> Color {
        let writer = self.lock();
        match self.meter_of(&writer, matches, priority) {
            // SAFETY: the caller is the one worker, and the lock keeps others from setting the meter.
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
        let meter = record.beside.as_ref().and_then(|b| b.meter.as_deref());
        meter.ok_or_else(|| ControlError::NoDirectMeter(self.name()))
    }
}

fn own_action(action: &ActionCall) -> EntryTarget {
    EntryTarget::Set(vec![WeightedAction { action: action.clone(), weight: 1 }])
}
