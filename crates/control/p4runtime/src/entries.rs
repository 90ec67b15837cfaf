//! Plans writes of table entries and default entries, and finds idle ones. `table` converts them from and to messages.

use std::time::{Duration, Instant};

use hopwright_dataplane::Count;

use crate::change::{Change, Values};
use crate::failure::{Result, denied, invalid};
use crate::indirect::{rates, runs};
use crate::proto::v1;
use crate::resources::{array, scalar};
use crate::role::Rights;
use crate::schema::Table;
use crate::state::{Cell, EntryKey, Idle, Note, State};
use crate::table;
use v1::entity::Entity;
use v1::update::Type;

impl State {
    /// Plans the write of an entry or a default entry.
    pub(crate) fn plan_entry(&self, kind: Type, entry: &v1::TableEntry) -> Result<Vec<Change>> {
        let t = table::table(&self.program.schema, entry.table_id)?;
        self.check_direct_meter(t, entry)?;
        if entry.counter_data.is_some() && t.direct_counter.is_none() {
            return Err(invalid(format!("table `{}` has no direct counter", t.name)));
        }
        if entry.idle_timeout_ns != 0 && (!t.idle_timeout || entry.idle_timeout_ns < 0) {
            return Err(invalid(format!("table `{}` has no idle timeouts like this", t.name)));
        }
        let count = entry.counter_data.as_ref().map(count_of).transpose()?;
        if entry.is_default_action {
            return self.plan_default(kind, entry, t);
        }
        if t.fields.is_empty() {
            return Err(invalid(format!("table `{}` has no keys: it has a default entry only", t.name)));
        }
        let key = (t.at, table::matches(t, entry)?, table::priority(t, entry)?);
        match kind {
            Type::Insert => self.plan_insert(entry, t, key, count),
            Type::Modify => self.plan_modify(entry, t, key, count),
            _ => {
                let note = self.notes.contains_key(&key).then(|| Change::Note(key.clone(), None));
                Ok([Change::Remove(key)].into_iter().chain(note).collect())
            }
        }
    }

    fn plan_default(&self, kind: Type, entry: &v1::TableEntry, t: &Table) -> Result<Vec<Change>> {
        if kind != Type::Modify {
            return Err(invalid("a default entry can only be modified"));
        }
        if !entry.r#match.is_empty() || entry.priority != 0 || entry.idle_timeout_ns != 0 {
            return Err(invalid("a default entry has no match fields, priority or idle timeout"));
        }
        if entry.counter_data.is_some() {
            return Err(invalid("default entries are not counted"));
        }
        let call = entry.action.as_ref().map(|a| table::action(t, a, true)).transpose()?;
        let note = note_of(entry, 0);
        Ok(vec![Change::Default(t.at, call), Change::DefaultNote(t.at, note)])
    }

    fn plan_insert(
        &self,
        entry: &v1::TableEntry,
        t: &Table,
        key: EntryKey,
        count: Option<Count>,
    ) -> Result<Vec<Change>> {
        let action = entry.action.as_ref().ok_or_else(|| invalid("an entry needs an action"))?;
        let runs = runs(&self.program.schema, t, action)?;
        let rates = entry.meter_config.as_ref().map(rates).transpose()?;
        let mut plan = Vec::with_capacity(1);
        if let Some(rates) = rates {
            plan.push(Change::DirectRates(key.clone(), Some(rates)));
        }
        if let Some(count) = count {
            plan.push(Change::DirectCount(key.clone(), count));
        }
        if let Some(note) = note_of(entry, count.unwrap_or_default().packets) {
            plan.push(Change::Note(key.clone(), Some(note)));
        }
        plan.insert(0, Change::Insert(key, runs));
        Ok(plan)
    }

    fn plan_modify(
        &self,
        entry: &v1::TableEntry,
        t: &Table,
        key: EntryKey,
        count: Option<Count>,
    ) -> Result<Vec<Change>> {
        let before = self.entry_runs(t.at, &key.1, key.2).ok_or_else(|| table::no_entry(t))?;
        if t.const_entries {
            return Err(denied(format!("the entries of table `{}` are constant", t.name)));
        }
        let mut plan = vec![match &entry.action {
            Some(action) => Change::Modify(key.clone(), runs(&self.program.schema, t, action)?),
            None => Change::Modify(key.clone(), before),
        }];
        if t.direct_meter.is_some() {
            // A meter that the update omits is reset.
            let rates = entry.meter_config.as_ref().map(rates).transpose()?;
            plan.extend(self.plan_rates(&key, rates)?);
        }
        plan.extend(count.map(|count| Change::DirectCount(key.clone(), count)));
        let hits = || count.map_or_else(|| self.vdp.control()[t.at].hits(&key.1, key.2), |count| count.packets);
        let note = note_of(entry, if entry.idle_timeout_ns > 0 { hits() } else { 0 });
        if note.is_some() || self.notes.contains_key(&key) {
            plan.push(Change::Note(key, note));
        }
        Ok(plan)
    }

    /// The change of an entry's direct meter, unless it has no rates and gets none.
    pub(crate) fn plan_rates(
        &self,
        key: &EntryKey,
        rates: Option<hopwright_dataplane::Rates>,
    ) -> Result<Option<Change>> {
        let before = self.vdp.control()[key.0].direct_meter(&key.1, key.2)?;
        Ok((before.is_some() || rates.is_some()).then(|| Change::DirectRates(key.clone(), rates)))
    }

    /// The index of an entry in the registers with a cell for each entry.
    pub(crate) fn entry_index(&self, entry: &v1::TableEntry) -> Result<u32> {
        let t = table::table(&self.program.schema, entry.table_id)?;
        let entry = self.entry_in_plane(entry)?.ok_or_else(|| table::no_entry(t))?;
        self.plane_index(&entry)
    }

    /// The same of an entry in the data plane's values.
    fn plane_index(&self, entry: &v1::TableEntry) -> Result<u32> {
        let t = table::table(&self.program.schema, entry.table_id)?;
        let (matches, priority) = (table::matches(t, entry)?, table::priority(t, entry)?);
        self.vdp.control()[t.at].entry_index(&matches, priority).ok_or_else(|| table::no_entry(t))
    }

    /// Plans to set the cell of an entry in a register.
    pub(crate) fn plan_entry_register(
        &self,
        entry: &v1::TableEntry,
        register_id: u32,
        data: &v1::P4Data,
        rights: &Rights,
    ) -> Result<Vec<Change>> {
        rights.check_write(&Entity::RegisterEntry(v1::RegisterEntry { register_id, ..Default::default() }))?;
        let (register, ty) = array(&self.program.schema.registers, register_id, "register")?;
        let value = scalar(&register.name, *ty, data)?;
        let index = u64::from(self.plane_index(entry)?);
        Ok(vec![Change::Registers(register.at, Values::Same(index..index + 1, value))])
    }

    /// Plans to give a cell of an extern object a setting.
    pub(crate) fn plan_setting(&self, object: u32, cell: &Cell, data: &[u8], rights: &Rights) -> Result<Vec<Change>> {
        rights.check_write(&Entity::ExternEntry(v1::ExternEntry { extern_id: object, ..Default::default() }))?;
        let at = self.named_extern(object)?;
        let index = match cell {
            Cell::Index(index) => *index,
            Cell::Entry(entry) => self.plane_index(entry)?.into(),
        };
        Ok(vec![Change::Setting(at, format!("cell/{index}"), data.to_vec())])
    }

    /// Entries whose idle timeout has expired, and again after each further timeout, of tables that somebody `hears` of. Others are
    /// found when somebody does.
    pub(crate) fn idle_entries(&mut self, now: Instant, hears: impl Fn(u32) -> bool) -> Vec<v1::TableEntry> {
        let schema = self.program.schema.clone();
        let mut found = Vec::new();
        for ((at, matches, priority), note) in &mut self.notes {
            let Some(idle) = &mut note.idle else { continue };
            let hits = self.vdp.control()[*at].hits(matches, *priority);
            if hits != idle.hits {
                *idle = Idle { hits, last_hit: now, told: None, timeout: idle.timeout };
                continue;
            }
            let due = idle.told.unwrap_or(idle.last_hit) + idle.timeout;
            let Some(t) = schema.table_at(*at).filter(|t| now >= due && hears(t.id)) else { continue };
            idle.told = Some(now);
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
        found.iter_mut().for_each(|entry| self.show_entry(entry));
        found
    }
}

/// What is kept of an entry beside what the data plane has, if anything. `hits`: its hits so far.
fn note_of(entry: &v1::TableEntry, hits: u64) -> Option<Note> {
    let idle = (entry.idle_timeout_ns > 0).then(|| Idle {
        timeout: Duration::from_nanos(entry.idle_timeout_ns as u64),
        last_hit: Instant::now(),
        hits,
        told: None,
    });
    let note = Note { controller_metadata: entry.controller_metadata, metadata: entry.metadata.clone(), idle };
    (note != Note::default()).then_some(note)
}

/// Converts counter values from messages.
pub(crate) fn count_of(data: &v1::CounterData) -> Result<Count> {
    let number = |n: i64| u64::try_from(n).map_err(|_| invalid("a count below zero"));
    Ok(Count { packets: number(data.packet_count)?, bytes: number(data.byte_count)? })
}
