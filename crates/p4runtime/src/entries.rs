//! Writes table entries and default entries. `table` converts them from and to messages.

use std::time::{Duration, Instant};

use hopwright_dataplane::Count;

use crate::failure::{Result, invalid};
use crate::indirect::{Runs, runs};
use crate::proto::v1;
use crate::schema::Table;
use crate::state::{Idle, Note, State, UndoLog};
use crate::table;
use v1::update::Type;

impl State {
    /// Writes an entry or a default entry.
    pub(crate) fn write_entry(&mut self, kind: Type, said: &v1::TableEntry, log: UndoLog) -> Result<()> {
        let schema = self.program.schema.clone();
        let t = table::table(&schema, said.table_id)?;
        self.check_direct_meter(t, said)?;
        if said.counter_data.is_some() && t.direct_counter.is_none() {
            return Err(invalid(format!("table `{}` has no direct counter", t.name)));
        }
        if said.idle_timeout_ns != 0 && (!t.idle_timeout || said.idle_timeout_ns < 0) {
            return Err(invalid(format!("table `{}` has no idle timeouts like this", t.name)));
        }
        if said.is_default_action {
            self.write_default(kind, said, t, log)
        } else {
            self.write_keyed(kind, said, t, log)
        }
    }

    /// The index of an entry in the registers with a cell for each entry.
    pub(crate) fn entry_index(&self, said: &v1::TableEntry) -> Result<u32> {
        let t = table::table(&self.program.schema, said.table_id)?;
        let (matches, priority) = (table::matches(t, said)?, table::priority(t, said)?);
        self.vdp.control()[t.at].entry_index(&matches, priority).ok_or_else(|| table::no_entry(t))
    }

    fn write_default(&mut self, kind: Type, said: &v1::TableEntry, t: &Table, log: UndoLog) -> Result<()> {
        if kind != Type::Modify {
            return Err(invalid("a default entry can only be modified"));
        }
        if !said.r#match.is_empty() || said.priority != 0 || said.idle_timeout_ns != 0 {
            return Err(invalid("a default entry has no match fields, priority or idle timeout"));
        }
        let call = said.action.as_ref().map(|a| table::action(t, a, true)).transpose()?;
        let at = t.at;
        let old = self.vdp.control()[at].default_action();
        self.vdp.control()[at].set_default(call)?;
        let note = note_of(said);
        let old_note = match note == Note::default() {
            true => self.default_notes.remove(&at),
            false => self.default_notes.insert(at, note),
        };
        if let Some(log) = log {
            log.push(Box::new(move |state| {
                let _ = state.vdp.control()[at].set_default(Some(old));
                match old_note {
                    Some(note) => state.default_notes.insert(at, note),
                    None => state.default_notes.remove(&at),
                };
            }));
        }
        Ok(())
    }

    fn write_keyed(&mut self, kind: Type, said: &v1::TableEntry, t: &Table, log: UndoLog) -> Result<()> {
        if t.fields.is_empty() {
            return Err(invalid(format!("table `{}` has no keys: it has a default entry only", t.name)));
        }
        let at = t.at;
        let matches = table::matches(t, said)?;
        let priority = table::priority(t, said)?;
        match kind {
            Type::Insert => {
                let action = said.action.as_ref().ok_or_else(|| invalid("an entry needs an action"))?;
                let runs = runs(&self.program.schema, t, action)?;
                let note = note_of(said);
                let more = said.counter_data.is_some() || said.meter_config.is_some();
                let key = (note != Note::default() || log.is_some() || more).then(|| (at, matches.clone(), priority));
                self.put(at, matches, priority, runs, true)?;
                let Some(key) = key else { return Ok(()) };
                if said.meter_config.is_some() {
                    self.put_direct_meter(t, &key.1, priority, said.meter_config.as_ref())?;
                }
                if let Some(data) = &said.counter_data {
                    self.vdp.control()[at].set_direct_count(&key.1, priority, count_of(data)?)?;
                }
                if note != Note::default() {
                    self.notes.insert(key.clone(), note);
                }
                if let Some(log) = log {
                    log.push(Box::new(move |state| {
                        let _ = state.vdp.control()[at].delete(&key.1, key.2);
                        state.notes.remove(&key);
                    }));
                }
            }
            Type::Modify => {
                let old = self.entry_runs(t, &matches, priority).ok_or_else(|| table::no_entry(t))?;
                let runs = match &said.action {
                    Some(action) => runs(&self.program.schema, t, action)?,
                    None => old.clone(),
                };
                let count = said.counter_data.as_ref().map(count_of).transpose()?;
                self.put(at, matches.clone(), priority, runs, false)?;
                // A meter that the update omits is reset.
                let old_meter = match t.direct_meter {
                    Some(_) => Some(self.put_direct_meter(t, &matches, priority, said.meter_config.as_ref())?),
                    None => None,
                };
                let old_count = match (count, t.direct_counter) {
                    (Some(count), Some(_)) => {
                        let old = self.vdp.control()[at].direct_count(&matches, priority)?;
                        self.vdp.control()[at].set_direct_count(&matches, priority, count)?;
                        Some(old)
                    }
                    _ => None,
                };
                let key = (at, matches, priority);
                let mut note = note_of(said);
                if let Some(idle) = &mut note.idle {
                    idle.hits = self.vdp.control()[at].hits(&key.1, priority);
                }
                let old_note = match note == Note::default() {
                    true => self.notes.remove(&key),
                    false => self.notes.insert(key.clone(), note),
                };
                if let Some(log) = log {
                    log.push(Box::new(move |state| {
                        let _ = state.put(at, key.1.clone(), key.2, old, false);
                        if let Some(rates) = old_meter {
                            let _ = state.vdp.control()[at].set_direct_meter(&key.1, key.2, rates);
                        }
                        if let Some(count) = old_count {
                            let _ = state.vdp.control()[at].set_direct_count(&key.1, key.2, count);
                        }
                        match old_note {
                            Some(note) => state.notes.insert(key, note),
                            None => state.notes.remove(&key),
                        };
                    }));
                }
            }
            _ => {
                let old: Option<Runs> = match &log {
                    Some(_) => self.entry_runs(t, &matches, priority),
                    None => None,
                };
                let old_meter = match (&log, t.direct_meter) {
                    (Some(_), Some(_)) => self.vdp.control()[at].direct_meter(&matches, priority).ok().flatten(),
                    _ => None,
                };
                let old_count = match (&log, t.direct_counter) {
                    (Some(_), Some(_)) => self.vdp.control()[at].direct_count(&matches, priority).ok(),
                    _ => None,
                };
                self.vdp.control()[at].delete(&matches, priority)?;
                let key = (at, matches, priority);
                let old_note = if self.notes.is_empty() { None } else { self.notes.remove(&key) };
                if let (Some(log), Some(runs)) = (log, old) {
                    log.push(Box::new(move |state| {
                        let _ = state.put(at, key.1.clone(), key.2, runs, true);
                        if old_meter.is_some() {
                            let _ = state.vdp.control()[at].set_direct_meter(&key.1, key.2, old_meter);
                        }
                        if let Some(count) = old_count {
                            let _ = state.vdp.control()[at].set_direct_count(&key.1, key.2, count);
                        }
                        if let Some(note) = old_note {
                            state.notes.insert(key, note);
                        }
                    }));
                }
            }
        }
        Ok(())
    }

    /// Entries whose idle timeout has expired since the previous call.
    pub(crate) fn idle_entries(&mut self, now: Instant) -> Vec<v1::TableEntry> {
        let schema = self.program.schema.clone();
        let mut found = Vec::new();
        for ((at, matches, priority), note) in &mut self.notes {
            let Some(idle) = &mut note.idle else { continue };
            let hits = self.vdp.control()[*at].hits(matches, *priority);
            if hits != idle.hits {
                *idle = Idle { hits, last_hit: now, notified: false, timeout: idle.timeout };
            } else if !idle.notified && now.duration_since(idle.last_hit) >= idle.timeout {
                idle.notified = true;
                let Some(t) = schema.table_at(*at) else { continue };
                found.push(v1::TableEntry {
                    table_id: t.id,
                    r#match: table::field_matches(&t.fields, matches),
                    priority: *priority,
                    controller_metadata: note.controller_metadata,
                    metadata: note.metadata.clone(),
                    idle_timeout_ns: idle.timeout.as_nanos() as i64,
                    ..Default::default()
                });
            }
        }
        found
    }
}

fn note_of(said: &v1::TableEntry) -> Note {
    let idle = (said.idle_timeout_ns > 0).then(|| Idle {
        timeout: Duration::from_nanos(said.idle_timeout_ns as u64),
        last_hit: Instant::now(),
        hits: 0,
        notified: false,
    });
    Note { controller_metadata: said.controller_metadata, metadata: said.metadata.clone(), idle }
}

/// Converts counter values from messages.
pub(crate) fn count_of(data: &v1::CounterData) -> Result<Count> {
    let number = |n: i64| u64::try_from(n).map_err(|_| invalid("a count below zero"));
    Ok(Count { packets: number(data.packet_count)?, bytes: number(data.byte_count)? })
}
