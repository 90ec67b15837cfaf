//! Writes what entries of tables with idle timeouts are given.

use hopwright_control::Operation;
use hopwright_control::entity::Key;
use hopwright_p4runtime::Device;

use super::{Effects, Request};
use crate::failure::{Result, invalid};
use crate::idle::Given;
use crate::proto::data_field::Value;
use crate::schema::program::HIT_STATES;
use crate::schema::{Object, Table, field};
use crate::state::Change;

impl Request<'_> {
    /// What the request gives an entry, if its table has idle timeouts.
    pub(super) fn idle_entry(&self, operation: Operation, key: &Key) -> Result<Option<Change>> {
        if !matches!(self.table.object, Object::Match { idle: true, .. }) {
            return Ok(None);
        }
        let (_, values) = self.named_action()?;
        let ttl = values.small(field::ENTRY_TTL, "$ENTRY_TTL", 32)?.map(|ttl| ttl as u32);
        let fields = self.entry.data.iter().flat_map(|data| &data.fields);
        let mut state = fields.filter(|f| f.field_id == field::ENTRY_HIT_STATE).map(|f| match &f.value {
            Some(Value::StrVal(state)) if HIT_STATES.contains(&state.as_str()) => Ok(state == HIT_STATES[1]),
            _ => Err(invalid(format!("`$ENTRY_HIT_STATE`: expected one of {HIT_STATES:?}"))),
        });
        let active = state.next_back().transpose()?;
        let inserted = operation == Operation::Insert;
        let given = Given {
            ttl: ttl.or(inserted.then_some(0)),
            again: self.entry.table_flags.is_some_and(|flags| flags.reset_ttl),
            active: active.or(inserted.then_some(false)),
        };
        let hits = self.current(key, |table, (_, matches, priority)| table.hits(matches, *priority))?.unwrap_or(0);
        Ok((given != Given::default()).then(|| Change::IdleEntry(key.clone(), given, hits)))
    }
}

/// Looks which entries of a table were hit.
pub(super) fn update_hits(device: &Device, table: &Table) -> Result<Effects> {
    let hits = device.read_model(Some(table.id), |model| {
        let known = model.schema().table(table.id)?;
        let entries = &model.control()[known.at];
        let count = |entry: hopwright_ir::TableEntry| {
            let hits = entries.hits(&entry.matches, entry.priority);
            (known.key(&(known.at, entry.matches, entry.priority)), hits)
        };
        Ok(entries.entries().into_iter().map(count).collect())
    })?;
    Ok(Effects::new(Vec::new(), vec![Change::Hits(table.id, hits)]))
}
