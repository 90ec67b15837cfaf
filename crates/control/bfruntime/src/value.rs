//! Values of keys and data: bytes in network order, words, truth values, lists.

use hopwright_p4runtime::Failure;
use num_bigint::BigUint;
use num_traits::ToPrimitive;

use crate::failure::{Result, invalid, out_of_range};
use crate::proto::key_field::{Exact, MatchType};
use crate::proto::{self, data_field::Value};
use crate::schema::{Field, Key, Table, Ty};

/// A number of this many bits.
///
/// # Errors
/// If there are no bytes, or more than fit.
pub(crate) fn number(name: &str, bits: u32, bytes: &[u8]) -> Result<BigUint> {
    if bytes.is_empty() {
        return Err(invalid(format!("`{name}`: no bytes")));
    }
    let value = BigUint::from_bytes_be(bytes);
    match value.bits() <= u64::from(bits) {
        true => Ok(value),
        false => Err(out_of_range(format!("`{name}`: the value does not fit {bits} bits"))),
    }
}

/// The same for numbers that fit 64 bits.
pub(crate) fn small(name: &str, bits: u32, bytes: &[u8]) -> Result<u64> {
    let value = number(name, bits.min(64), bytes)?;
    // It has no more than 64 bits.
    Ok(value.to_u64().unwrap_or(u64::MAX))
}

/// A number in as many bytes as its type has.
pub(crate) fn bytes(value: &BigUint, bits: u32) -> Vec<u8> {
    let shortest = value.to_bytes_be();
    let length = (bits.div_ceil(8) as usize).max(shortest.len());
    let mut bytes = vec![0; length - shortest.len()];
    bytes.extend(shortest);
    bytes
}

/// The key of an entry of a table whose key is a number.
pub(crate) fn number_key(table: &Table, number: u64) -> proto::TableKey {
    let field = |key: &Key| proto::KeyField {
        field_id: key.id,
        match_type: Some(MatchType::Exact(Exact { value: bytes(&number.into(), key.ty.bits()) })),
    };
    proto::TableKey { fields: table.keys.first().map(field).into_iter().collect() }
}

/// The data of an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data<'d> {
    fields: &'d [proto::DataField],
}

impl<'d> Data<'d> {
    /// The data that a request gives, whose fields must be among these.
    ///
    /// # Errors
    /// If a field is unknown, or there twice.
    pub(crate) fn new<'f>(
        data: Option<&'d proto::TableData>,
        known: impl Iterator<Item = &'f Field> + Clone,
        table: &str,
    ) -> Result<Data<'d>> {
        let fields = data.map(|d| d.fields.as_slice()).unwrap_or_default();
        let mut seen = std::collections::BTreeSet::new();
        for field in fields {
            let Some(known) = known.clone().find(|k| k.id == field.field_id) else {
                return Err(invalid(format!("`{table}` has no data field {} here", field.field_id)));
            };
            if known.read_only {
                return Err(invalid(format!("`{}` can only be read", known.name)));
            }
            if !seen.insert(field.field_id) {
                return Err(invalid(format!("`{}` is there twice", known.name)));
            }
        }
        Ok(Data { fields })
    }

    fn value(&self, id: u32) -> Option<&'d Value> {
        self.fields.iter().find(|f| f.field_id == id)?.value.as_ref()
    }

    /// Whether the field is there.
    pub(crate) fn has(&self, id: u32) -> bool {
        self.value(id).is_some()
    }

    /// Whether the field is there, be it as an empty list, which clients leave out.
    pub(crate) fn names(&self, id: u32) -> bool {
        self.fields.iter().any(|field| field.field_id == id)
    }

    /// A number.
    pub(crate) fn number(&self, field: &Field) -> Result<Option<BigUint>> {
        match self.value(field.id) {
            None => Ok(None),
            Some(Value::Stream(bytes)) => number(&field.name, field.ty.bits(), bytes).map(Some),
            Some(Value::BoolVal(value)) if field.ty == Ty::Bool => Ok(Some(u8::from(*value).into())),
            Some(_) => Err(wrong(field, "bytes")),
        }
    }

    /// A number of no more than 64 bits.
    pub(crate) fn small(&self, id: u32, name: &str, bits: u32) -> Result<Option<u64>> {
        match self.value(id) {
            None => Ok(None),
            Some(Value::Stream(bytes)) => small(name, bits, bytes).map(Some),
            Some(_) => Err(invalid(format!("`{name}`: expected bytes"))),
        }
    }

    /// A list of numbers; empty if it is not there.
    pub(crate) fn numbers(&self, id: u32, name: &str) -> Result<&'d [u32]> {
        match self.value(id) {
            None => Ok(&[]),
            Some(Value::IntArrVal(list)) => Ok(&list.val),
            Some(_) => Err(invalid(format!("`{name}`: expected a list of numbers"))),
        }
    }

    /// A list of truth values; empty if it is not there.
    pub(crate) fn truths(&self, id: u32, name: &str) -> Result<&'d [bool]> {
        match self.value(id) {
            None => Ok(&[]),
            Some(Value::BoolArrVal(list)) => Ok(&list.val),
            Some(_) => Err(invalid(format!("`{name}`: expected a list of truth values"))),
        }
    }
}

/// A field as it is kept: with a value of its type, and numbers in as many bytes as that has.
///
/// # Errors
/// If the value is of another type, or does not fit.
pub(crate) fn kept(field: &Field, given: &proto::DataField) -> Result<proto::DataField> {
    let value = match (&given.value, field.ty) {
        (Some(Value::Stream(value)), Ty::Uint(bits) | Ty::Bytes(bits)) => {
            Value::Stream(bytes(&number(&field.name, bits, value)?, bits))
        }
        (Some(Value::BoolVal(value)), Ty::Bool) => Value::BoolVal(*value),
        (Some(Value::FloatVal(value)), Ty::Float) => Value::FloatVal(*value),
        (Some(Value::StrVal(value)), Ty::Text(choices)) if choices.contains(&value.as_str()) => {
            Value::StrVal(value.clone())
        }
        (Some(Value::StrVal(_)), Ty::Text(choices)) => return Err(wrong(field, &format!("one of {choices:?}"))),
        (_, Ty::Bool) => return Err(wrong(field, "a truth value")),
        (_, Ty::Float) => return Err(wrong(field, "a floating-point number")),
        (_, Ty::Text(_)) => return Err(wrong(field, "text")),
        (_, Ty::Slices(_)) => return Err(wrong(field, "slices")),
        (_, Ty::Uint(_) | Ty::Bytes(_)) => return Err(wrong(field, "bytes")),
    };
    Ok(proto::DataField { field_id: field.id, value: Some(value) })
}

fn wrong(field: &Field, expected: &str) -> Failure {
    invalid(format!("`{}`: expected {expected}", field.name))
}

/// Fields of which some are given anew.
pub(crate) fn merged(before: Option<&Vec<proto::DataField>>, given: Vec<proto::DataField>) -> Vec<proto::DataField> {
    let mut fields = before.cloned().unwrap_or_default();
    fields.retain(|f| given.iter().all(|g| g.field_id != f.field_id));
    fields.extend(given);
    fields.sort_by_key(|f| f.field_id);
    fields
}

/// A field with this value.
pub(crate) fn field(id: u32, value: Value) -> proto::DataField {
    proto::DataField { field_id: id, value: Some(value) }
}

/// A field with a number of a type.
pub(crate) fn numeric(id: u32, ty: Ty, value: &BigUint) -> proto::DataField {
    match ty {
        Ty::Bool => field(id, Value::BoolVal(*value != BigUint::ZERO)),
        _ => field(id, Value::Stream(bytes(value, ty.bits()))),
    }
}

pub(crate) fn numbers(id: u32, values: Vec<u32>) -> proto::DataField {
    field(id, Value::IntArrVal(proto::data_field::IntArray { val: values }))
}

pub(crate) fn truths(id: u32, values: Vec<bool>) -> proto::DataField {
    field(id, Value::BoolArrVal(proto::data_field::BoolArray { val: values }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_has_the_type_of_its_field() {
        let speed = Field::new(1, "speed", Ty::Text(&["10G", "25G"]));
        let (lanes, enabled) = (Field::new(2, "lanes", Ty::Uint(32)), Field::new(3, "enabled", Ty::Bool));
        let kept = |of: &Field, value: Value| kept(of, &field(of.id, value)).map(|kept| kept.value.unwrap());
        assert_eq!(kept(&lanes, Value::Stream(vec![0; 1000])).unwrap(), Value::Stream(vec![0; 4]));
        assert_eq!(kept(&speed, Value::StrVal("25G".into())).unwrap(), Value::StrVal("25G".into()));
        for (of, value) in [
            (&speed, Value::StrVal("1".repeat(1000))),
            (&speed, Value::BoolVal(true)),
            (&lanes, Value::Stream(vec![1; 5])),
            (&lanes, Value::StrVal("1".into())),
            (&enabled, Value::Stream(vec![1])),
        ] {
            assert!(kept(of, value).is_err());
        }
        assert!(super::kept(&enabled, &proto::DataField { field_id: 3, value: None }).is_err());
    }

    #[test]
    fn numbers_have_the_length_of_their_type_and_no_more_bits() {
        assert_eq!(bytes(&5u32.into(), 9), [0, 5]);
        assert_eq!(bytes(&BigUint::ZERO, 48), [0; 6]);
        assert_eq!(number("x", 9, &[0, 0, 1, 0xff]).unwrap(), 511u32.into());
        assert!(number("x", 9, &[2, 0]).is_err());
        assert!(number("x", 9, &[]).is_err());
        assert_eq!(small("x", 64, &[0xff; 8]).unwrap(), u64::MAX);
    }
}
