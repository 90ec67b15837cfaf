//! Writes settings of filters: of cells with an index, and of entries.

use hopwright_control::entity::{Cell, Key};
use hopwright_control::{Entity, Operation, Update};

use super::{Effects, Request};
use crate::failure::{Result, invalid};
use crate::proto::{DataField, data_field::Value, update::Type as Kind};
use crate::schema::{Field, FilterKind, Ty, field};
use crate::state::{Change, FilterCell};
use crate::value::{merged, small};

impl Request<'_> {
    /// Sets a cell, or resets it or all of them.
    pub(super) fn filter(&self, kind: FilterKind) -> Result<Effects> {
        let id = self.table.id;
        let indices = match (self.optional_number()?, self.kind) {
            (Some(index), _) if index >= self.table.size => {
                return Err(invalid(format!("`{}` has {} cells", self.table.name, self.table.size)));
            }
            (Some(index), _) => vec![index],
            (None, Kind::Delete | Kind::Reset) => self.cells_with_settings(),
            (None, _) => return Err(invalid(format!("`{}`: the index is missing", self.table.name))),
        };
        let mut effects = Effects::default();
        for index in indices {
            let cell = FilterCell::Index(id, index);
            let fields = match self.kind {
                Kind::Insert | Kind::Modify | Kind::InsertOrModify => {
                    Some(merged(self.state.filters.get(&cell), self.kept()?))
                }
                Kind::Delete | Kind::Reset if self.state.filters.contains_key(&cell) => None,
                Kind::Delete | Kind::Reset => continue,
                _ => return Err(self.unsupported()),
            };
            let text = fields.as_ref().map_or(Ok(String::new()), |fields| self.settings(id, kind, fields))?;
            effects.updates.push(setting(id, Cell::Index(index), text));
            effects.changes.push(Change::Filter(cell, fields));
        }
        Ok(effects)
    }

    /// The indices of cells that have settings.
    fn cells_with_settings(&self) -> Vec<u64> {
        let index = |cell: &FilterCell| match cell {
            FilterCell::Index(id, index) if *id == self.table.id => Some(*index),
            _ => None,
        };
        let mut indices: Vec<u64> = self.state.filters.keys().filter_map(index).collect();
        indices.sort_unstable();
        indices
    }

    /// Sets the cells of an entry that the request gives settings. Those of a new entry have none at first.
    pub(super) fn filters_of_entry(
        &self,
        operation: Operation,
        key: &Key,
        updates: &mut Vec<Update>,
    ) -> Result<Vec<Change>> {
        let mut changes = if operation == Operation::Insert { self.without_filters(key) } else { Vec::new() };
        for &(id, filter) in &self.table.filters {
            let given = self.kept_of(&filter.fields())?;
            if !given.is_empty() {
                let cell = FilterCell::Entry(id, key.clone());
                let before = self.state.filters.get(&cell).filter(|_| operation == Operation::Modify);
                let fields = merged(before, given);
                let text = self.settings(id, filter, &fields)?;
                updates.push(setting(id, Cell::Entry(key.clone()), text));
                changes.push(Change::Filter(cell, Some(fields)));
            }
        }
        Ok(changes)
    }

    /// Settings as the filter takes them, which it does.
    fn settings(&self, id: u32, kind: FilterKind, fields: &[DataField]) -> Result<String> {
        let text = settings(kind, fields)?;
        self.device.control_extern(id, "check", text.as_bytes())?;
        Ok(text)
    }

    /// Forgets the settings of an entry.
    pub(super) fn without_filters(&self, key: &Key) -> Vec<Change> {
        let filters = self.table.filters.iter();
        filters.map(|(id, _)| Change::Filter(FilterCell::Entry(*id, key.clone()), None)).collect()
    }
}

fn setting(object: u32, cell: Cell, text: String) -> Update {
    let entity = Entity::Setting { object, cell, data: text.into_bytes() };
    Update { operation: Operation::Modify, entity }
}

/// Settings as text.
fn settings(kind: FilterKind, fields: &[DataField]) -> Result<String> {
    let known = kind.fields();
    let value = |id: u32| fields.iter().find(|f| f.field_id == id).and_then(|f| f.value.as_ref());
    let text = |field: &Field| -> Result<String> {
        match (value(field.id), field.ty) {
            (Some(Value::FloatVal(value)), Ty::Float) => Ok(value.to_string()),
            (Some(Value::StrVal(value)), Ty::Text(choices)) if choices.contains(&value.as_str()) => Ok(value.clone()),
            (Some(Value::Stream(bytes)), Ty::Uint(bits)) => Ok(small(&field.name, bits, bytes)?.to_string()),
            (Some(_), _) => Err(invalid(format!("`{}` has a value of another type", field.name))),
            (None, _) if field.id == field::LPF_TYPE => Ok("SAMPLE".into()),
            (None, _) if field.id == field::LPF_SCALE => Ok("0".into()),
            (None, _) => Err(invalid(format!("`{}` is missing", field.name))),
        }
    };
    // One time constant counts for both directions.
    let gives = |id: u32| value(id).is_some();
    let words: Result<Vec<String>> = known
        .iter()
        .map(|field| match field.id {
            field::LPF_DECAY if !gives(field::LPF_DECAY) => text(&known[1]),
            _ => text(field),
        })
        .collect();
    Ok(words?.join(" "))
}
