//! Writes settings of filters: of cells with an index, and of entries.

use hopwright_p4runtime::proto::v1;
use prost::Message;
use v1::update::Type;

use super::ports::merged;
use super::{Cell, Meaning, Place, Request};
use crate::failure::{Result, invalid};
use crate::proto::{DataField, data_field::Value, update::Type as Kind};
use crate::schema::{Field, FilterKind, Ty, field};
use crate::state::{Change, FilterCell};
use crate::value::small;

impl Request<'_> {
    /// Sets a cell, or resets it or all of them.
    pub(super) fn filter(&self, kind: FilterKind) -> Result<Meaning> {
        let id = self.table.id;
        let indices = match (self.optional_number()?, self.kind) {
            (Some(index), _) if index >= self.table.size => {
                return Err(invalid(format!("`{}` has {} cells", self.table.name, self.table.size)));
            }
            (Some(index), _) => index..index + 1,
            (None, Kind::Delete | Kind::Reset) => 0..self.table.size,
            (None, _) => return Err(invalid(format!("`{}`: the index is missing", self.table.name))),
        };
        let mut meaning = Meaning::default();
        for index in indices {
            let cell = (id, index.to_be_bytes().to_vec());
            let fields = match self.kind {
                Kind::Insert | Kind::Modify | Kind::InsertOrModify => {
                    self.data()?;
                    let given = self.said.data.as_ref().map(|d| d.fields.as_slice()).unwrap_or_default();
                    Some(merged(self.state.filters.get(&cell), given))
                }
                Kind::Delete | Kind::Reset if self.state.filters.contains_key(&cell) => None,
                Kind::Delete | Kind::Reset => continue,
                _ => return Err(self.unsupported()),
            };
            let text = fields.as_ref().map_or(Ok(String::new()), |fields| settings(kind, fields))?;
            meaning.cells.push(Cell::Filter(Place::Index(index), id, text));
            meaning.changes.push(Change::Filter(cell, fields));
        }
        Ok(meaning)
    }

    /// Sets the cells of an entry that the request gives settings. Those of a new entry have none at first.
    pub(super) fn filters_of_entry(
        &self,
        kind: Type,
        entry: &v1::TableEntry,
        cells: &mut Vec<Cell>,
    ) -> Result<Vec<Change>> {
        let mut changes = if kind == Type::Insert { self.without_filters(entry) } else { Vec::new() };
        let said = self.said.data.as_ref().map(|d| d.fields.as_slice()).unwrap_or_default();
        for &(id, filter) in &self.table.filters {
            let known = filter.fields();
            let given: Vec<DataField> =
                said.iter().filter(|f| known.iter().any(|k| k.id == f.field_id)).cloned().collect();
            if !given.is_empty() {
                let cell = cell_of(id, entry);
                let before = self.state.filters.get(&cell).filter(|_| kind == Type::Modify);
                let fields = merged(before, &given);
                cells.push(Cell::Filter(Place::Entry(Box::new(entry.clone())), id, settings(filter, &fields)?));
                changes.push(Change::Filter(cell, Some(fields)));
            }
        }
        Ok(changes)
    }

    /// Forgets the settings of an entry.
    pub(super) fn without_filters(&self, entry: &v1::TableEntry) -> Vec<Change> {
        self.table.filters.iter().map(|(id, _)| Change::Filter(cell_of(*id, entry), None)).collect()
    }
}

/// The cell of an entry.
pub(crate) fn cell_of(id: u32, entry: &v1::TableEntry) -> FilterCell {
    let key = v1::TableEntry {
        table_id: entry.table_id,
        r#match: entry.r#match.clone(),
        priority: entry.priority,
        ..Default::default()
    };
    (id, key.encode_to_vec())
}

/// Settings as the filter takes them.
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
