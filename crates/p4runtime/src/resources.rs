//! Writes counters, direct counters, registers and value sets.

use hopwright_dataplane::Count;
use hopwright_ir::Type as IrType;
use num_bigint::BigUint;

use crate::bytes;
use crate::entries::count_of;
use crate::failure::{Result, bad_number, invalid, not_found, out_of_range};
use crate::proto::v1;
use crate::schema::Cells;
use crate::state::{State, UndoLog, modify_only};
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

/// An array by id.
pub(crate) fn array<'s, T>(arrays: &'s std::collections::HashMap<u32, T>, id: u32, what: &str) -> Result<&'s T> {
    match arrays.get(&id) {
        Some(array) => Ok(array),
        None if id == 0 => Err(invalid(format!("no {what} id"))),
        None => Err(not_found(format!("the program has no {what} with id {id:#x}"))),
    }
}

impl State {
    pub(crate) fn write_counter(&mut self, kind: Type, said: &v1::CounterEntry, log: UndoLog) -> Result<()> {
        modify_only(kind, "a counter")?;
        let schema = self.program.schema.clone();
        let counter = array(&schema.counters, said.counter_id, "counter")?;
        let range = cells(counter, said.index.as_ref())?;
        let count = said.data.as_ref().map(count_of).transpose()?.unwrap_or_default();
        let mut old: Vec<(u64, Count)> = Vec::new();
        for at in range {
            if log.is_some() {
                old.push((at, self.vdp.control().counter(&counter.name).and_then(|c| c.read(at))?));
            }
            self.vdp.control().counter(&counter.name).and_then(|c| c.write(at, count))?;
        }
        if let Some(log) = log {
            let name = counter.name.clone();
            log.push(Box::new(move |state| {
                old.iter().for_each(|(at, count)| {
                    let _ = state.vdp.control().counter(&name).and_then(|c| c.write(*at, *count));
                });
            }));
        }
        Ok(())
    }

    pub(crate) fn write_direct_counter(
        &mut self,
        kind: Type,
        said: &v1::DirectCounterEntry,
        log: UndoLog,
    ) -> Result<()> {
        modify_only(kind, "a direct counter")?;
        let entry = said.table_entry.as_ref().ok_or_else(|| invalid("no table entry"))?;
        let schema = self.program.schema.clone();
        let t = table::table(&schema, entry.table_id)?;
        if t.direct_counter.is_none() {
            return Err(invalid(format!("table `{}` has no direct counter", t.name)));
        }
        if entry.is_default_action {
            return Err(invalid("default entries are not counted"));
        }
        let (at, matches, priority) = (t.at, table::matches(t, entry)?, table::priority(t, entry)?);
        let old = self.vdp.control()[at].direct_count(&matches, priority)?;
        let count = said.data.as_ref().map(count_of).transpose()?.unwrap_or_default();
        self.vdp.control()[at].set_direct_count(&matches, priority, count)?;
        if let Some(log) = log {
            log.push(Box::new(move |state| {
                let _ = state.vdp.control()[at].set_direct_count(&matches, priority, old);
            }));
        }
        Ok(())
    }

    pub(crate) fn write_register(&mut self, kind: Type, said: &v1::RegisterEntry, log: UndoLog) -> Result<()> {
        modify_only(kind, "a register")?;
        let schema = self.program.schema.clone();
        let (register, ty) = array(&schema.registers, said.register_id, "register")?;
        let range = cells(register, said.index.as_ref())?;
        let value = match &said.data {
            Some(data) => scalar(&register.name, *ty, data)?,
            None => BigUint::ZERO,
        };
        let mut old: Vec<(u64, BigUint)> = Vec::new();
        for at in range {
            if log.is_some() {
                old.push((at, self.vdp.control().register(&register.name).and_then(|r| r.read(at))?));
            }
            self.vdp.control().register(&register.name).and_then(|r| r.write(at, value.clone()))?;
        }
        if let Some(log) = log {
            let name = register.name.clone();
            log.push(Box::new(move |state| {
                for (at, value) in old {
                    let _ = state.vdp.control().register(&name).and_then(|r| r.write(at, value));
                }
            }));
        }
        Ok(())
    }

    pub(crate) fn write_value_set(&mut self, kind: Type, said: &v1::ValueSetEntry, log: UndoLog) -> Result<()> {
        modify_only(kind, "a value set")?;
        let schema = self.program.schema.clone();
        let id = said.value_set_id;
        let (at, name, fields) = array(&schema.value_sets, id, "value set")?;
        let members: Result<Vec<_>> =
            said.members.iter().map(|m| table::fields(name, fields, fields.len(), &m.r#match)).collect();
        let at = *at;
        self.vdp.control().value_set(at)?.replace(members?)?;
        let old = self.value_sets.insert(id, said.members.clone());
        if let Some(log) = log {
            let (name, fields) = (name.clone(), fields.clone());
            log.push(Box::new(move |state| {
                let old = old.unwrap_or_default();
                let members: Result<Vec<_>> =
                    old.iter().map(|m| table::fields(&name, &fields, fields.len(), &m.r#match)).collect();
                if let Ok(members) = members {
                    let _ = state.vdp.control().value_set(at).and_then(|s| s.replace(members));
                }
                state.value_sets.insert(id, old);
            }));
        }
        Ok(())
    }
}

/// Converts a register's value from a message.
fn scalar(name: &str, ty: IrType, said: &v1::P4Data) -> Result<BigUint> {
    match (&said.data, ty) {
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
