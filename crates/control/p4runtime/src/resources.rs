//! Plans writes of counters, direct counters, registers and value sets.

use std::collections::HashMap;

use hopwright_ir::{Type as IrType, ValueSetId};
use num_bigint::BigUint;

use crate::bytes;
use crate::change::{Change, Values};
use crate::entries::count_of;
use crate::failure::{Result, bad_number, invalid, not_found, out_of_range};
use crate::listing;
use crate::proto::v1;
use crate::schema::{Cells, Field, Profile};
use crate::state::{State, modify_only};
use crate::table;
use v1::p4_data::Data;
use v1::update::Type;

/// The cells that an index denotes: all of them without an index.
pub(crate) fn cells(cells: &Cells, index: Option<&v1::Index>) -> Result<std::ops::Range<u64>> {
    let Some(index) = index else { return Ok(0..cells.size) };
    let at = u64::try_from(index.index).map_err(|_| invalid(format!("`{}`: a negative index", cells.name)))?;
    if at >= cells.size {
        return Err(out_of_range(format!("`{}` has {} cells; there is no index {at}", cells.name, cells.size)));
    }
    Ok(at..at + 1)
}

/// What has a control-plane name.
pub(crate) trait Named {
    /// The name.
    fn name(&self) -> &str;
}

impl Named for Cells {
    fn name(&self) -> &str {
        &self.name
    }
}

impl Named for (Cells, IrType) {
    fn name(&self) -> &str {
        &self.0.name
    }
}

impl Named for Profile {
    fn name(&self) -> &str {
        &self.name
    }
}

impl Named for (ValueSetId, String, Vec<Field>) {
    fn name(&self) -> &str {
        &self.1
    }
}

/// An array by id.
pub(crate) fn array<'s, T: Named>(arrays: &'s HashMap<u32, T>, id: u32, what: &str) -> Result<&'s T> {
    match arrays.get(&id) {
        Some(array) => Ok(array),
        None if id == 0 => Err(invalid(format!("no {what} id"))),
        None => {
            let those = listing::numbered(id, arrays.iter().map(|(id, array)| (*id, array.name())));
            Err(not_found(format!("the program has no {what} with id {id:#x}{those}")))
        }
    }
}

impl State {
    pub(crate) fn plan_counter(&self, kind: Type, entry: &v1::CounterEntry) -> Result<Vec<Change>> {
        modify_only(kind, "a counter")?;
        let counter = array(&self.program.schema.counters, entry.counter_id, "counter")?;
        let range = cells(counter, entry.index.as_ref())?;
        let count = entry.data.as_ref().map(count_of).transpose()?.unwrap_or_default();
        Ok(vec![Change::Counts(counter.at, Values::Same(range, count))])
    }

    pub(crate) fn plan_direct_counter(&self, kind: Type, entry: &v1::DirectCounterEntry) -> Result<Vec<Change>> {
        modify_only(kind, "a direct counter")?;
        let key = entry.table_entry.as_ref().ok_or_else(|| invalid("no table entry"))?;
        let t = table::table(&self.program.schema, key.table_id)?;
        if t.direct_counter.is_none() {
            return Err(invalid(format!("table `{}` has no direct counter", t.name)));
        }
        if key.is_default_action {
            return Err(invalid("default entries are not counted"));
        }
        let key = (t.at, table::matches(t, key)?, table::priority(t, key)?);
        let count = entry.data.as_ref().map(count_of).transpose()?.unwrap_or_default();
        Ok(vec![Change::DirectCount(key, count)])
    }

    pub(crate) fn plan_register(&self, kind: Type, entry: &v1::RegisterEntry) -> Result<Vec<Change>> {
        modify_only(kind, "a register")?;
        let (register, ty) = array(&self.program.schema.registers, entry.register_id, "register")?;
        let range = cells(register, entry.index.as_ref())?;
        let value = match &entry.data {
            Some(data) => scalar(&register.name, *ty, data)?,
            None => BigUint::ZERO,
        };
        Ok(vec![Change::Registers(register.at, Values::Same(range, value))])
    }

    pub(crate) fn plan_value_set(&self, kind: Type, entry: &v1::ValueSetEntry) -> Result<Vec<Change>> {
        modify_only(kind, "a value set")?;
        let id = entry.value_set_id;
        let (at, name, fields) = array(&self.program.schema.value_sets, id, "value set")?;
        let members: Result<Vec<_>> =
            entry.members.iter().map(|m| table::fields(name, fields, fields.len(), &m.r#match)).collect();
        Ok(vec![Change::ValueSet(*at, members?), Change::ValueSetEntry(id, Some(entry.members.clone()))])
    }
}

/// Converts a register's value from a message.
pub(crate) fn scalar(name: &str, ty: IrType, request: &v1::P4Data) -> Result<BigUint> {
    match (&request.data, ty) {
        (Some(Data::Bool(b)), IrType::Bool) => Ok(u8::from(*b).into()),
        (Some(Data::Bitstring(b) | Data::EnumValue(b)), _) => {
            bytes::number(b, ty.width()).map_err(|e| bad_number(name, ty.width(), e))
        }
        _ => Err(invalid(format!("`{name}` holds numbers of {} bits", ty.width()))),
    }
}

/// Converts a register's value to a message.
pub(crate) fn data(ty: IrType, value: &BigUint) -> v1::P4Data {
    let data = match ty {
        IrType::Bool => Data::Bool(*value != BigUint::ZERO),
        _ => Data::Bitstring(bytes::of(value)),
    };
    v1::P4Data { data: Some(data) }
}
