//! Which entries of tables are idle.
//!
//! A table in the mode `NOTIFY` looks for hits of its entries each query interval. An entry that was hit has its whole time to live again;
//! that of any other becomes shorter by the interval, and the entry is idle when nothing is left of it. In the mode `POLL` controllers ask
//! whether entries were hit.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use hopwright_control::entity::Key;

use crate::proto::{IdleTable, idle_table::IdleTableMode};

/// Tables with idle timeouts, by id.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdleTables(BTreeMap<u32, Watched>);

/// A table with what its entries were given.
#[derive(Clone, Debug)]
struct Watched {
    settings: IdleTable,
    /// When the table was last looked at.
    looked: Instant,
    entries: HashMap<Key, Entry>,
}

/// An entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Entry {
    /// Its time to live in milliseconds, and what is left of it. Zero never ends.
    ttl: u32,
    left: u32,
    /// Its hits when they were last looked at.
    hits: u64,
    idle: bool,
    /// What a controller that polls is answered.
    active: bool,
}

/// What a write gives an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Given {
    /// A new time to live, in milliseconds.
    pub ttl: Option<u32>,
    /// Whether the time to live begins again.
    pub again: bool,
    /// Whether the entry was hit, as the controller says.
    pub active: Option<bool>,
}

/// What a read shows of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// What is left of its time to live, in milliseconds.
    Ttl(u32),
    /// Whether it was hit.
    Active(bool),
}

impl Watched {
    fn new() -> Watched {
        Watched { settings: IdleTable::default(), looked: Instant::now(), entries: HashMap::new() }
    }

    fn notifies(&self) -> bool {
        self.settings.idle_table_mode() == IdleTableMode::IdleTableNotifyMode
    }

    fn entry(&mut self, key: &Key) -> &mut Entry {
        self.entries.entry(key.clone()).or_default()
    }
}

impl IdleTables {
    /// Whether no controller has set anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The settings of a table. One that polls has none but its mode.
    pub(crate) fn settings(&self, table: u32) -> IdleTable {
        self.0.get(&table).map(|watched| watched.settings).unwrap_or_default()
    }

    pub(crate) fn set(&mut self, table: u32, settings: IdleTable) {
        let watched = self.0.entry(table).or_insert_with(Watched::new);
        watched.settings = match settings.idle_table_mode() {
            IdleTableMode::IdleTableNotifyMode => settings,
            IdleTableMode::IdleTablePollMode => IdleTable { enable: settings.enable, ..IdleTable::default() },
        };
        watched.looked = Instant::now();
    }

    /// What a controller gave an entry; `hits` is how often that has been hit.
    pub(crate) fn give(&mut self, table: u32, key: &Key, given: Given, hits: u64) {
        let entry = self.0.entry(table).or_insert_with(Watched::new).entry(key);
        if let Some(ttl) = given.ttl {
            (entry.ttl, entry.left, entry.idle, entry.hits) = (ttl, ttl, false, hits);
        }
        if given.again {
            (entry.left, entry.idle) = (entry.ttl, false);
        }
        entry.active = given.active.unwrap_or(entry.active);
    }

    /// Forgets an entry.
    pub(crate) fn forget(&mut self, table: u32, key: &Key) {
        if let Some(watched) = self.0.get_mut(&table) {
            watched.entries.remove(key);
        }
    }

    /// What a read shows of an entry.
    pub(crate) fn shown(&self, table: u32, key: &Key, hits: u64, from_hardware: bool) -> Shown {
        let watched = self.0.get(&table);
        let entry = watched.and_then(|watched| watched.entries.get(key)).copied().unwrap_or_default();
        match watched.is_some_and(Watched::notifies) {
            true => Shown::Ttl(entry.left),
            false => Shown::Active(entry.active || from_hardware && hits != entry.hits),
        }
    }

    /// Remembers which entries of a table were hit since this was done last, with how often each has been hit.
    pub(crate) fn update_hits(&mut self, table: u32, hits: &[(Key, u64)]) {
        let watched = self.0.entry(table).or_insert_with(Watched::new);
        for (key, now) in hits {
            let entry = watched.entry(key);
            (entry.active, entry.hits) = (*now != entry.hits, *now);
        }
    }

    /// Whether the interval of a table has passed.
    pub(crate) fn due(&self, now: Instant) -> bool {
        self.0.values().any(|watched| passed(watched, now).is_some())
    }

    /// Looks at the tables whose interval has passed. `hits` is how often an entry has been hit, if it is there still. Returns what has
    /// become idle (true), or active.
    pub(crate) fn look(&mut self, now: Instant, hits: impl Fn(&Key) -> Option<u64>) -> Vec<(Key, bool)> {
        let mut changed = Vec::new();
        for watched in self.0.values_mut() {
            let Some((intervals, interval)) = passed(watched, now) else { continue };
            watched.looked += interval * intervals;
            let shorter = interval.as_millis() as u32 * intervals;
            watched.entries.retain(|key, entry| {
                let Some(count) = hits(key) else { return false };
                if count != entry.hits {
                    (entry.hits, entry.left, entry.active) = (count, entry.ttl, true);
                    if std::mem::take(&mut entry.idle) {
                        changed.push((key.clone(), false));
                    }
                } else if entry.left > 0 {
                    entry.left = entry.left.saturating_sub(shorter);
                    if entry.left == 0 {
                        entry.idle = true;
                        changed.push((key.clone(), true));
                    }
                }
                true
            });
        }
        changed
    }
}

/// How many intervals of a table have passed, if any, and how long one is.
fn passed(watched: &Watched, now: Instant) -> Option<(u32, Duration)> {
    let IdleTable { enable, ttl_query_interval, .. } = watched.settings;
    if !enable || !watched.notifies() || ttl_query_interval == 0 {
        return None;
    }
    let interval = Duration::from_millis(ttl_query_interval.into());
    let since = now.saturating_duration_since(watched.looked).as_millis() as u64;
    let intervals = u32::try_from(since / u64::from(ttl_query_interval)).unwrap_or(u32::MAX / ttl_query_interval);
    (intervals > 0).then_some((intervals, interval))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notifying(interval: u32) -> IdleTable {
        let mode = IdleTableMode::IdleTableNotifyMode as i32;
        IdleTable { ttl_query_interval: interval, idle_table_mode: mode, enable: true, ..IdleTable::default() }
    }

    #[test]
    fn an_entry_is_idle_once_and_active_again_when_it_is_hit() {
        let mut tables = IdleTables::default();
        let (key, begin) = (Key { table: 7, ..Key::default() }, Instant::now());
        tables.set(7, notifying(1000));
        tables.give(7, &key, Given { ttl: Some(2000), ..Given::default() }, 0);
        let at = |seconds: u64| begin + Duration::from_millis(seconds * 1000 + 500);
        assert!(!tables.due(begin));
        assert_eq!(tables.look(at(1), |_| Some(0)), []);
        assert_eq!(tables.shown(7, &key, 0, true), Shown::Ttl(1000));
        // A hit begins its time again.
        assert_eq!(tables.look(at(2), |_| Some(3)), []);
        assert_eq!(tables.look(at(3), |_| Some(3)), []);
        assert_eq!(tables.look(at(4), |_| Some(3)), [(key.clone(), true)]);
        assert_eq!(tables.look(at(9), |_| Some(3)), []);
        assert_eq!(tables.look(at(10), |_| Some(4)), [(key.clone(), false)]);
        assert_eq!(tables.look(at(12), |_| Some(4)), [(key.clone(), true)]);
        // What is left stays while the table is off.
        tables.set(7, IdleTable { enable: false, ..notifying(1000) });
        assert_eq!(tables.look(at(30), |_| Some(5)), []);
        // An entry that has gone is forgotten.
        tables.set(7, notifying(1000));
        let later = Instant::now() + Duration::from_secs(5);
        assert_eq!(tables.look(later, |_| None), []);
        assert_eq!(tables.shown(7, &key, 9, true), Shown::Ttl(0));
    }

    #[test]
    fn polling_says_whether_an_entry_was_hit_since_it_was_asked_last() {
        let mut tables = IdleTables::default();
        let key = Key { table: 7, ..Key::default() };
        tables.set(7, IdleTable { ttl_query_interval: 5000, enable: true, ..IdleTable::default() });
        assert_eq!(tables.settings(7), IdleTable { enable: true, ..IdleTable::default() });
        assert_eq!(tables.shown(7, &key, 1, false), Shown::Active(false));
        assert_eq!(tables.shown(7, &key, 1, true), Shown::Active(true));
        for (hits, expected) in [(1, true), (1, false), (4, true)] {
            tables.update_hits(7, &[(key.clone(), hits)]);
            assert_eq!(tables.shown(7, &key, hits, false), Shown::Active(expected));
        }
        tables.give(7, &key, Given { active: Some(false), ..Given::default() }, 4);
        assert_eq!(tables.shown(7, &key, 4, true), Shown::Active(false));
    }
}
