//! Evaluates read requests. `service` sends the result in pieces.

use std::time::Instant;

use hopwright_ir::TableEntry;

use crate::failure::{Result, invalid};
use crate::proto::v1;
use crate::resources::{array, cells, data};
use crate::schema::{Schema, Table};
use crate::state::State;
use crate::table::{self, Filter};
use v1::entity::Entity;

/// Receives the entities that are found.
type Sink<'a> = &'a mut Vec<Entity>;

impl State {
    /// Evaluates one entity of a request.
    ///
    /// # Errors
    /// If the request is invalid.
    pub(crate) fn read(&self, asked: &Entity, to: Sink) -> Result<()> {
        if self.translations.is_empty() {
            return self.find(asked, to);
        }
        // Nothing has a value that the data plane has not.
        let Some(asked) = self.asked_in_plane(asked)? else { return Ok(()) };
        let before = to.len();
        self.find(&asked, to)?;
        to[before..].iter_mut().for_each(|found| self.show_entity(found));
        Ok(())
    }

    /// The same with the data plane's values.
    pub(crate) fn find(&self, asked: &Entity, to: Sink) -> Result<()> {
        let schema = &*self.program.schema;
        match asked {
            Entity::TableEntry(asked) => {
                for t in tables(schema, asked.table_id)? {
                    self.read_table(t, asked, to)?;
                }
            }
            Entity::DirectCounterEntry(asked) => {
                let asked = asked.table_entry.clone().unwrap_or_default();
                for t in tables(schema, asked.table_id)? {
                    match t.direct_counter {
                        Some(_) => self.read_direct_counters(t, &asked, to)?,
                        None if asked.table_id == 0 => {}
                        None => return Err(invalid(format!("table `{}` has no direct counter", t.name))),
                    }
                }
            }
            Entity::CounterEntry(asked) => {
                let mut ids: Vec<u32> = schema.counters.keys().copied().collect();
                ids.sort_unstable();
                for id in wanted(asked.counter_id, ids) {
                    let counter = array(&schema.counters, id, "counter")?;
                    for at in cells(counter, asked.index.as_ref())? {
                        let data = Some(counted(self.vdp.control().counter(&counter.name).and_then(|c| c.read(at))?));
                        let index = Some(v1::Index { index: at as i64 });
                        to.push(Entity::CounterEntry(v1::CounterEntry { counter_id: id, index, data }));
                    }
                }
            }
            Entity::RegisterEntry(asked) => {
                let mut ids: Vec<u32> = schema.registers.keys().copied().collect();
                ids.sort_unstable();
                for id in wanted(asked.register_id, ids) {
                    let (register, ty) = array(&schema.registers, id, "register")?;
                    for at in cells(register, asked.index.as_ref())? {
                        let data =
                            Some(data(*ty, &self.vdp.control().register(&register.name).and_then(|r| r.read(at))?));
                        let index = Some(v1::Index { index: at as i64 });
                        to.push(Entity::RegisterEntry(v1::RegisterEntry { register_id: id, index, data }));
                    }
                }
            }
            Entity::MeterEntry(asked) => {
                let mut ids: Vec<u32> = schema.meters.keys().copied().collect();
                ids.sort_unstable();
                for id in wanted(asked.meter_id, ids) {
                    let meter = array(&schema.meters, id, "meter")?;
                    for at in cells(meter, asked.index.as_ref())? {
                        let index = Some(v1::Index { index: at as i64 });
                        let config = self.read_meter(meter.at, at)?;
                        to.push(Entity::MeterEntry(v1::MeterEntry { meter_id: id, index, config, counter_data: None }));
                    }
                }
            }
            Entity::DirectMeterEntry(asked) => {
                let asked = asked.table_entry.clone().unwrap_or_default();
                for t in tables(schema, asked.table_id)? {
                    match t.direct_meter {
                        Some(_) => self.read_direct_meters(t, &asked, to)?,
                        None if asked.table_id == 0 => {}
                        None => return Err(invalid(format!("table `{}` has no direct meter", t.name))),
                    }
                }
            }
            Entity::ActionProfileMember(asked) => self.read_members(asked, to)?,
            Entity::ActionProfileGroup(asked) => self.read_groups(asked, to)?,
            Entity::PacketReplicationEngineEntry(asked) => self.read_replication(asked, to)?,
            Entity::ValueSetEntry(asked) => {
                let mut ids: Vec<u32> = schema.value_sets.keys().copied().collect();
                ids.sort_unstable();
                for id in wanted(asked.value_set_id, ids) {
                    array(&schema.value_sets, id, "value set")?;
                    let members = self.value_sets.get(&id).cloned().unwrap_or_default();
                    to.push(Entity::ValueSetEntry(v1::ValueSetEntry { value_set_id: id, members }));
                }
            }
            Entity::DigestEntry(asked) => {
                if asked.digest_id != 0 && !self.digests.is_known(asked.digest_id) {
                    return Err(self.digests.unknown(asked.digest_id));
                }
                for (id, config) in self.digests.configs() {
                    if asked.digest_id == 0 || asked.digest_id == id {
                        to.push(Entity::DigestEntry(v1::DigestEntry { digest_id: id, config: Some(*config) }));
                    }
                }
            }
            Entity::ExternEntry(_) => {}
        }
        Ok(())
    }

    fn read_table(&self, t: &Table, asked: &v1::TableEntry, to: Sink) -> Result<()> {
        if asked.is_default_action {
            let mut entry = v1::TableEntry {
                table_id: t.id,
                action: table::table_action(t, &self.vdp.control()[t.at].default_action()),
                is_default_action: true,
                ..Default::default()
            };
            if let Some(note) = self.default_notes.get(&t.at) {
                entry.controller_metadata = note.controller_metadata;
                entry.metadata = note.metadata.clone();
            }
            to.push(Entity::TableEntry(entry));
            return Ok(());
        }
        let filter = Filter::new(t, asked)?;
        let now = Instant::now();
        for found in self.entries(t, &filter) {
            let mut entry = self.show(t, &found);
            if asked.meter_config.is_some() && t.direct_meter.is_some() {
                entry.meter_config = self.direct_meter(t, &found)?;
            }
            let key = (t.at, found.matches, found.priority);
            if asked.counter_data.is_some() && t.direct_counter.is_some() {
                entry.counter_data = self.vdp.control()[t.at].direct_count(&key.1, key.2).ok().map(counted);
            }
            if let Some(note) = if self.notes.is_empty() { None } else { self.notes.get(&key) } {
                entry.controller_metadata = note.controller_metadata;
                entry.metadata = note.metadata.clone();
                if let Some(idle) = &note.idle {
                    entry.idle_timeout_ns = idle.timeout.as_nanos() as i64;
                    if asked.time_since_last_hit.is_some() {
                        let hit_since = self.vdp.control()[t.at].hits(&key.1, key.2) != idle.hits;
                        let elapsed = if hit_since { 0 } else { now.duration_since(idle.last_hit).as_nanos() as i64 };
                        entry.time_since_last_hit = Some(v1::table_entry::IdleTimeout { elapsed_ns: elapsed });
                    }
                }
            }
            if filter.shown(&entry) {
                to.push(Entity::TableEntry(entry));
            }
        }
        Ok(())
    }

    fn read_direct_counters(&self, t: &Table, asked: &v1::TableEntry, to: Sink) -> Result<()> {
        let filter = Filter::new(t, asked)?;
        for found in self.entries(t, &filter) {
            let count = self.vdp.control()[t.at].direct_count(&found.matches, found.priority)?;
            let key = v1::TableEntry {
                table_id: t.id,
                r#match: table::field_matches(&t.fields, &found.matches),
                priority: found.priority,
                ..Default::default()
            };
            let entry = v1::DirectCounterEntry { table_entry: Some(key), data: Some(counted(count)) };
            to.push(Entity::DirectCounterEntry(entry));
        }
        Ok(())
    }

    fn read_direct_meters(&self, t: &Table, asked: &v1::TableEntry, to: Sink) -> Result<()> {
        let filter = Filter::new(t, asked)?;
        for found in self.entries(t, &filter) {
            let key = v1::TableEntry {
                table_id: t.id,
                r#match: table::field_matches(&t.fields, &found.matches),
                priority: found.priority,
                ..Default::default()
            };
            let config = self.direct_meter(t, &found)?;
            let entry = v1::DirectMeterEntry { table_entry: Some(key), config, counter_data: None };
            to.push(Entity::DirectMeterEntry(entry));
        }
        Ok(())
    }

    fn entries(&self, t: &Table, filter: &Filter) -> Vec<TableEntry> {
        if let Some((matches, priority)) = filter.single(t) {
            let action = self.vdp.control()[t.at].get(matches, priority);
            return action
                .map(|action| TableEntry { matches: matches.to_vec(), priority, action })
                .into_iter()
                .collect();
        }
        let mut entries = self.vdp.control()[t.at].entries();
        entries.retain(|e| filter.keys(e));
        entries
    }

    fn read_replication(&self, asked: &v1::PacketReplicationEngineEntry, to: Sink) -> Result<()> {
        use v1::packet_replication_engine_entry::Type as Kind;
        let wrap = |kind| Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry { r#type: Some(kind) });
        match asked.r#type.as_ref() {
            Some(Kind::MulticastGroupEntry(asked)) => {
                let wanted = |id: &u32| asked.multicast_group_id == 0 || asked.multicast_group_id == *id;
                for (_, group) in self.groups.iter().filter(|(id, _)| wanted(id)) {
                    to.push(wrap(Kind::MulticastGroupEntry(group.clone())));
                }
            }
            Some(Kind::CloneSessionEntry(asked)) => {
                let wanted = |id: &u32| asked.session_id == 0 || asked.session_id == *id;
                for (_, session) in self.sessions.iter().filter(|(id, _)| wanted(id)) {
                    to.push(wrap(Kind::CloneSessionEntry(session.clone())));
                }
            }
            None => {
                for group in self.groups.values() {
                    to.push(wrap(Kind::MulticastGroupEntry(group.clone())));
                }
                for session in self.sessions.values() {
                    to.push(wrap(Kind::CloneSessionEntry(session.clone())));
                }
            }
        }
        Ok(())
    }
}

/// The table with this id, or all of them in order if it is zero.
fn tables(schema: &Schema, id: u32) -> Result<Vec<&Table>> {
    if id != 0 {
        return Ok(vec![table::table(schema, id)?]);
    }
    Ok(schema.table_ids.iter().filter_map(|id| schema.tables.get(id)).collect())
}

fn wanted(id: u32, all: Vec<u32>) -> Vec<u32> {
    if id == 0 { all } else { vec![id] }
}

fn counted(count: hopwright_dataplane::Count) -> v1::CounterData {
    v1::CounterData { byte_count: count.bytes as i64, packet_count: count.packets as i64 }
}
