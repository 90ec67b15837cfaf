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
    parts.retain(|part| part.order != 0);
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
    let length = of(field::HASH_LENGTH, "length")?.unwrap_or(u64::MAX);
    if length == 0 {
        return Err(invalid(format!("`length` of a slice of `{}` is 1 or more", known.name)));
    }
    // What is longer ends with the field.
    let length = length.min((width - low).into());
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
        if given.insert(known.id, number(&known.name, known.ty.bits(), &exact.value)?).is_some() {
            return Err(invalid(format!("`{}` is there twice", known.name)));
        }
    }
    let mut ids = 1u32..;
    let mut value = |it: &hopwright_ir::hash_object::Field| match &it.constant {
        Some(constant) => constant.clone(),
        None => ids.next().and_then(|id| given.remove(&id)).unwrap_or_default(),
    };
    let values: Vec<BigUint> = hash.fields.iter().map(&mut value).collect();
    Ok(hash.compute(configuration, &values))
}

#[cfg(test)]
mod tests {
    use hopwright_ir::hash_object::{self, CRC32, Function};

    use super::*;
    use crate::proto::key_field::Exact;
    use crate::schema::Object;

    fn hash() -> HashObject {
        let field = |name: &str| hash_object::Field { name: name.into(), width: 16, constant: None };
        HashObject {
            name: "I.h".into(),
            fields: vec![field("hdr.a"), field("hdr.b")],
            symmetric: Vec::new(),
            function: Function::Crc(CRC32),
            width: 32,
            used: (31, 0),
        }
    }

    /// What is hashed, and the results.
    fn table(hash: &HashObject) -> Table {
        Table {
            id: 1,
            name: "I.h".into(),
            object: Object::HashFields(1),
            pipes: vec![0],
            size: 1,
            keys: keys(hash),
            actions: Vec::new(),
            data: containers(hash),
            registers: Vec::new(),
            filters: Vec::new(),
            const_default: false,
            key_masks: None,
            depends_on: Vec::new(),
        }
    }

    /// Slices of fields: each with its lowest bit, length and order.
    fn entry(slices: &[(u32, &[[u64; 3]])]) -> TableEntry {
        let ids = [field::HASH_START_BIT, field::HASH_LENGTH, field::HASH_ORDER];
        let slice = |numbers: &[u64; 3]| {
            let val = ids.iter().zip(numbers).map(|(id, number)| numeric(*id, Ty::Uint(64), &(*number).into()));
            Container { val: val.collect() }
        };
        let of = |(id, all): &(u32, &[[u64; 3]])| {
            let container = all.iter().map(slice).collect();
            crate::value::field(*id, Value::ContainerArrVal(ContainerArray { container }))
        };
        let data = TableData { action_id: 0, fields: slices.iter().map(of).collect() };
        TableEntry { data: Some(data), is_default_entry: true, ..Default::default() }
    }

    #[test]
    fn slices_are_read_as_they_were_written_or_refused() {
        let table = table(&hash());
        let write = |slices: &[(u32, &[[u64; 3]])]| {
            let entry = entry(slices);
            let changed = configured(&table, &Changed::default(), Kind::Modify, &entry).map_err(|f| f.message)?;
            Ok::<_, String>(Some(read_fields(&table, &changed)) == entry.data)
        };
        assert_eq!(write(&[(1, &[[8, 8, 2], [0, 4, 1]][..]), (2, &[[0, 4, 1]][..])]), Ok(true));
        assert_eq!(write(&[(1, &[[0, 16, u64::MAX]][..]), (2, &[[0, 16, 0]][..])]), Ok(true));
        for (slices, why) in [
            (&[(1, &[[0, 0, 1]][..])][..], "`length`"),
            (&[(1, &[[16, 1, 1]][..])][..], "`start_bit`"),
            (&[(1, &[[u64::MAX, u64::MAX, 1]][..])][..], "`start_bit`"),
            (&[(1, &[[0, u64::MAX, 1], [15, 1, 2]][..])][..], "overlap"),
            (&[(1, &[[0, 1, 1]][..]), (1, &[[1, 1, 2]][..])][..], "twice"),
            (&[(3, &[[0, 1, 1]][..])][..], "no data field"),
        ] {
            let refused = write(slices).unwrap_err();
            assert!(refused.contains(why), "{slices:?}: {refused}");
        }
    }

    #[test]
    fn values_of_results_are_given_once() {
        let (hash, usual) = (hash(), Configuration::default());
        let table = table(&hash);
        let part = |field_id, value: u8| {
            let match_type = Some(MatchType::Exact(Exact { value: vec![value] }));
            KeyField { field_id, match_type }
        };
        let result = |key: &[KeyField]| computed(&table, &hash, &usual, key).map_err(|failure| failure.message);
        assert_eq!(result(&[part(2, 7), part(1, 5)]), Ok(CRC32.of(&[0, 5, 0, 7]).into()));
        assert!(result(&[part(1, 5), part(1, 5)]).unwrap_err().contains("twice"));
        assert!(result(&[part(3, 5)]).is_err());
    }
}
