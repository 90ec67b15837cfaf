//! `….configure`: slices of the fields that are hashed, in an order; and the keys of `….compute`.

use std::collections::HashMap;

use hopwright_ir::hash_object::{Configuration, HashObject, Part};
use num_bigint::BigUint;

use super::Changed;
use crate::failure::{Result, invalid, unimplemented};
use crate::proto::data_field::{ContainerArray, Value, container_array::Container};
use crate::proto::key_field::MatchType;
use crate::proto::{DataField, KeyField, TableData, TableEntry, update::Type as Kind};
use crate::schema::{Field, Key, Matching, Table, Ty, field};
use crate::value::{Data, number, numeric, small};

/// The name of a field in tables. Constants have numbers and their value.
fn names(hash: &HashObject) -> impl Iterator<Item = String> {
    let mut constants = 0;
    hash.fields.iter().zip(1..).map(move |(it, id)| match &it.constant {
        Some(value) => {
            constants += 1;
            format!("constant{}_{}_{value}", constants - 1, it.width)
        }
        None if it.name.is_empty() => format!("field{id}"),
        None => it.name.clone(),
    })
}

/// The data of the table: a list of slices for each field.
pub(crate) fn containers(hash: &HashObject) -> Vec<Field> {
    let constant = |it: &hopwright_ir::hash_object::Field| it.constant.as_ref().map(|_| ("bfrt_p4_constant", ""));
    let fields = names(hash).zip(&hash.fields).zip(1..);
    fields
        .map(|((name, it), id)| Field {
            annotation: constant(it),
            ..Field::new(id, name, Ty::Slices(it.width)).repeated()
        })
        .collect()
}

/// The parts of a field's slice.
pub(crate) fn slice(width: u32) -> [(Field, Option<u32>); 3] {
    let number = |id, name: &str| Field::new(id, name, Ty::Uint(64));
    [
        (number(field::HASH_START_BIT, "start_bit"), Some(0)),
        (number(field::HASH_LENGTH, "length"), Some(width)),
        (number(field::HASH_ORDER, "order").mandatory(), None),
    ]
}

/// The keys of the table of results: a value for each field that is not constant.
pub(crate) fn keys(hash: &HashObject) -> Vec<Key> {
    let fields = names(hash).zip(&hash.fields).filter(|(_, it)| it.constant.is_none());
    let key = |((name, it), id): ((String, &hopwright_ir::hash_object::Field), u32)| {
        let (matching, ty) = (Matching::Exact, Ty::Bytes(it.width));
        Key { id, name, matching, ty, mandatory: false }
    };
    fields.zip(1..).map(key).collect()
}

/// What a write of the configuration makes of a hash: the given slices are hashed, and nothing else.
pub(crate) fn configured(table: &Table, before: &Changed, kind: Kind, entry: &TableEntry) -> Result<Changed> {
    let mut next = before.clone();
    // What the seed is follows from what is hashed.
    next.configuration.seed = None;
    next.configuration.parts = match kind {
        Kind::Insert | Kind::Modify | Kind::InsertOrModify => parts(table, entry)?,
        Kind::Delete | Kind::Reset => None,
        _ => return Err(unimplemented(format!("{} is not supported in `{}`", kind.as_str_name(), table.name))),
    };
    Ok(next)
}

/// The parts that a request gives; `None` if it gives none.
fn parts(table: &Table, entry: &TableEntry) -> Result<Option<Vec<Part>>> {
    Data::new(entry.data.as_ref(), table.data.iter(), &table.name)?;
    let given = entry.data.as_ref().map(|data| data.fields.as_slice()).unwrap_or_default();
    let (mut parts, mut any) = (Vec::new(), false);
    for (at, known) in table.data.iter().enumerate() {
        let Ty::Slices(width) = known.ty else { continue };
        let slices = match given.iter().find(|f| f.field_id == known.id).map(|f| &f.value) {
            None => continue,
            Some(Some(Value::ContainerArrVal(slices))) => &slices.container,
            Some(_) => return Err(invalid(format!("`{}` is a list of slices", known.name))),
        };
        let first = parts.len();
        for slice in slices {
            any = true;
            let part = part(known, at, width, slice)?;
            let overlaps = |other: &Part| other.low < part.low + part.width && part.low < other.low + other.width;
            if parts[first..].iter().any(overlaps) {
                return Err(invalid(format!("slices of `{}` overlap", known.name)));
            }
            parts.push(part);
        }
    }
    parts.retain(|part| part.order != 0 && part.width != 0);
    let mut orders: HashMap<u64, (u32, u32)> = HashMap::new();
    for part in &parts {
        let (count, width) = orders.entry(part.order).or_insert((0, part.width));
        *count += 1;
        if *width != part.width {
            return Err(invalid(format!("slices with the order {} have the same length", part.order)));
        }
        if *count > 2 {
            return Err(invalid(format!("more than two slices have the order {}", part.order)));
        }
    }
    Ok(any.then_some(parts))
}

fn part(known: &Field, at: usize, width: u32, slice: &Container) -> Result<Part> {
    let of = |id: u32, name: &str| {
        let mut given = slice.val.iter().filter(|f| f.field_id == id);
        match (given.next().map(|f| &f.value), given.next()) {
            // Clients send fields without a value for what they leave out.
            (None | Some(None), None) => Ok(None),
            (Some(Some(Value::Stream(bytes))), None) => small(name, 64, bytes).map(Some),
            _ => Err(invalid(format!("`{name}` of `{}` is one number", known.name))),
        }
    };
    if slice.val.iter().any(|f| ![field::HASH_START_BIT, field::HASH_LENGTH, field::HASH_ORDER].contains(&f.field_id)) {
        return Err(invalid(format!("a slice of `{}` has `start_bit`, `length` and `order`", known.name)));
    }
    let order = of(field::HASH_ORDER, "order")?;
    let order = order.ok_or_else(|| invalid(format!("a slice of `{}` has no `order`", known.name)))?;
    let low = of(field::HASH_START_BIT, "start_bit")?.unwrap_or(0);
    if low >= u64::from(width) {
        return Err(invalid(format!("`start_bit` {low} is beyond the {width} bits of `{}`", known.name)));
    }
    let low = low as u32;
    // What is longer ends with the field.
    let length = of(field::HASH_LENGTH, "length")?.unwrap_or(u64::MAX).min((width - low).into());
    Ok(Part { field: at, low, width: length as u32, order })
}

/// The configuration as controllers read it: all slices, and those that are not hashed with the order 0.
pub(crate) fn read_fields(table: &Table, changed: &Changed) -> TableData {
    let of = |(at, known): (usize, &Field)| {
        let Ty::Slices(width) = known.ty else { return DataField::default() };
        let shown = |low: u32, width: u32, order: u64| {
            let number = |id, value: u64| numeric(id, Ty::Uint(64), &value.into());
            let (low, width) = (u64::from(low), u64::from(width));
            let val = vec![
                number(field::HASH_START_BIT, low),
                number(field::HASH_LENGTH, width),
                number(field::HASH_ORDER, order),
            ];
            Container { val }
        };
        let container = match &changed.configuration.parts {
            None => vec![shown(0, width, at as u64 + 1)],
            Some(parts) => {
                let own: Vec<&Part> = parts.iter().filter(|part| part.field == at).collect();
                match own.is_empty() {
                    true => vec![shown(0, width, 0)],
                    false => own.into_iter().map(|part| shown(part.low, part.width, part.order)).collect(),
                }
            }
        };
        crate::value::field(known.id, Value::ContainerArrVal(ContainerArray { container }))
    };
    TableData { action_id: 0, fields: table.data.iter().enumerate().map(of).collect() }
}

/// The result of a hash for the values of a key; those that it leaves out are zero.
pub(crate) fn computed(
    table: &Table,
    hash: &HashObject,
    configuration: &Configuration,
    key: &[KeyField],
) -> Result<BigUint> {
    let mut given: HashMap<u32, BigUint> = HashMap::new();
    for part in key {
        let known = table.keys.iter().find(|known| known.id == part.field_id);
        let known = known.ok_or_else(|| invalid(format!("`{}` has no key field {}", table.name, part.field_id)))?;
        let Some(MatchType::Exact(exact)) = &part.match_type else {
            return Err(invalid(format!("`{}` is a number", known.name)));
        };
        given.insert(known.id, number(&known.name, known.ty.bits(), &exact.value)?);
    }
    let mut ids = 1u32..;
    let mut value = |it: &hopwright_ir::hash_object::Field| match &it.constant {
        Some(constant) => constant.clone(),
        None => ids.next().and_then(|id| given.remove(&id)).unwrap_or_default(),
    };
    let values: Vec<BigUint> = hash.fields.iter().map(&mut value).collect();
    Ok(hash.compute(configuration, &values))
}
