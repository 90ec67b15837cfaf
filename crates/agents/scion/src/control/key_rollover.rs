//! Changes the hop-field key while packets flow: for a while, hop fields of two or three keys are valid.
//!
//! Hop fields are made and first verified with the current key. Only if that fails, the packet is verified with the
//! previous key, during the overlap, and with the next key, if it is accepted early.

use std::time::{Duration, Instant, SystemTime};

use hopwright_dataplane::{ControlError, VirtualDataPlane};

use crate::config::ReloadSettings;
use crate::config::keys::{HopKey, Keys};
use crate::control::program::{action, object, table};
use crate::control::tables;

/// The indices of the program's `other_key` object.
const PREVIOUS: u64 = 0;
/// See [`PREVIOUS`].
const NEXT: u64 = 1;

/// When a device is told again to remove a key, if it has refused to.
const AGAIN: Duration = Duration::from_secs(10);

/// The keys in use.
#[derive(Debug, Default)]
pub struct Rollover {
    current: Option<HopKey>,
    /// When the current key was set.
    key_set: Option<SystemTime>,
    /// The previous key, and until when it is valid.
    previous: Option<(HopKey, Instant)>,
    accept_next: bool,
}

impl Rollover {
    /// Creates a value without keys. The program must not run before [`Rollover::set`].
    pub fn new() -> Rollover {
        Rollover::default()
    }

    /// Activates new keys or new settings.
    pub fn set(
        &mut self,
        vdp: &VirtualDataPlane,
        keys: &Keys,
        settings: &ReloadSettings,
        now: Instant,
    ) -> Result<(), ControlError> {
        if let Some(current) = self.current.take_if(|current| *current != keys.current) {
            self.previous = now.checked_add(settings.key_overlap).filter(|end| *end > now).map(|end| (current, end));
        }
        self.accept_next = settings.accept_next_key;
        // Additional keys first, so that every packet verifies with one of them.
        self.program_others(vdp, keys)?;
        set_key(vdp, object::HOP_KEY, 0, Some(&keys.current))?;
        if tables::has_hummingbird(vdp) {
            tables::set_secret_value(vdp, &keys.secret_values[0])?;
        }
        if self.current.is_none() {
            self.key_set = Some(SystemTime::now());
        }
        self.current = Some(keys.current.clone());
        Ok(())
    }

    /// When the key that is in force was set.
    pub fn key_set(&self) -> Option<SystemTime> {
        self.key_set
    }

    /// Ends the overlap if its time is over.
    pub fn expire(&mut self, vdp: &VirtualDataPlane, keys: &Keys, now: Instant) -> Result<(), ControlError> {
        let Some((expired, _)) = self.previous.take_if(|(_, end)| *end <= now) else { return Ok(()) };
        if let Err(error) = self.program_others(vdp, keys) {
            self.previous = Some((expired, now + AGAIN));
            return Err(error);
        }
        tracing::info!(event = "key-expired", "the previous hop-field key is no longer accepted");
        Ok(())
    }

    /// How long the previous key is still valid.
    pub fn overlap_left(&self, now: Instant) -> Option<Duration> {
        self.previous.as_ref().map(|(_, end)| end.saturating_duration_since(now))
    }

    fn program_others(&self, vdp: &VirtualDataPlane, keys: &Keys) -> Result<(), ControlError> {
        let previous = self.previous.as_ref().map(|(key, _)| key);
        let next = self.accept_next.then_some(&keys.next);
        if previous.is_none() && next.is_none() {
            vdp.control().set_default(table::OTHER_KEYS, action::ONE_KEY, &[])?;
        }
        set_key(vdp, object::OTHER_KEY, PREVIOUS, previous)?;
        set_key(vdp, object::OTHER_KEY, NEXT, next)?;
        if previous.is_some() || next.is_some() {
            vdp.control().set_default(table::OTHER_KEYS, action::SEVERAL_KEYS, &[])?;
        }
        Ok(())
    }
}

/// `None` removes the key: nothing verifies without one.
fn set_key(vdp: &VirtualDataPlane, object: &str, slot: u64, key: Option<&HopKey>) -> Result<(), ControlError> {
    let table = vdp.control().key_table(object)?;
    let done = match key {
        Some(key) => table.set_key(slot, key.bytes()),
        None => table.clear_key(slot),
    };
    done.map_err(|error| error.of(object))
}
