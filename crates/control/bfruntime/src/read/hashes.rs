//! Hashes as they are now, hashes of keys, and the members that hashes select.

use hopwright_control::schema::object;
use hopwright_ir::MatchValue;
use num_bigint::BigUint;
use num_traits::{ToPrimitive, Zero};

use super::{Found, Read, word};
use crate::failure::{Result, invalid, not_found};
use crate::hash::{Algorithm, Crc, Function, Hash, Slice};
use crate::proto::{self, DataField, TableData, data_field::Value};
use crate::schema::{Ty, field};
use crate::value::{field as data_field, numeric};
use crate::write::{key_fields, keyed};

/// Bits of a hash that selectors use.
const SELECTOR_BITS: u32 = 32;

impl Read<'_> {
    fn hash(&self) -> Result<(&Hash, Algorithm, Vec<Slice>)> {
        let hash = self.table.hash.as_deref();
        let hash = hash.ok_or_else(|| invalid(format!("`{}` is of no hash", self.table.name)))?;
        let (algorithm, slices) = self.state.hashes.get(&hash.object).cloned().unwrap_or_default().of(hash);
        Ok((hash, algorithm, slices))
    }

    /// Which bits are hashed: for each field a list of slices, one of order 0 if none of its bits is.
    pub(super) fn hash_slices(&self) -> Result<Vec<Found>> {
        let (hash, _, slices) = self.hash()?;
        let number = |id, value: u64| numeric(id, Ty::Uint(64), &value.into());
        let part = |start: u32, length: u32, order: u64| proto::data_field::container_array::Container {
            val: vec![
                number(field::HASH_START_BIT, start.into()),
                number(field::HASH_LENGTH, length.into()),
                number(field::HASH_ORDER, order),
            ],
        };
        let fields = hash.fields.iter().enumerate().map(|(at, (_, bits))| {
            let of = slices.iter().filter(|slice| slice.field == at);
            let mut container: Vec<_> = of.map(|slice| part(slice.start, slice.length, slice.order)).collect();
            if container.is_empty() {
                container.push(part(0, *bits, 0));
            }
            let list = proto::data_field::ContainerArray { container };
            data_field(self.table.data[at].id, Value::ContainerArrVal(list))
        });
        Ok(vec![(Vec::new(), TableData { action_id: 0, fields: fields.collect() })])
    }

    /// How they are hashed: as a controller has said, or as the program does.
    pub(super) fn hash_algorithm(&self) -> Result<Vec<Found>> {
        let (hash, algorithm, _) = self.hash()?;
        let changed = self.state.hashes.get(&hash.object).and_then(|changed| changed.algorithm.as_ref());
        let data = match changed {
            Some((_, action_id, fields)) => TableData { action_id: *action_id, fields: fields.clone() },
            None => own(&algorithm),
        };
        Ok(vec![(Vec::new(), data)])
    }

    /// The hash of the key.
    pub(super) fn hash_value(&self) -> Result<Vec<Found>> {
        let (hash, algorithm, slices) = self.hash()?;
        let key = keyed(self.table, key_fields(self.request))?;
        let given = |id: u32| match key.fields.iter().find(|(known, _)| *known == id) {
            Some((_, MatchValue::Exact(value))) => value.clone(),
            _ => BigUint::zero(),
        };
        let values: Vec<BigUint> = self.table.keys.iter().map(|key| given(key.id)).collect();
        let value = hash.value(&algorithm, &slices, &values);
        let data = numeric(field::HASH_VALUE, Ty::Bytes(hash.width), &value.into());
        Ok(vec![(key_fields(self.request).to_vec(), TableData { action_id: 0, fields: vec![data] })])
    }

    /// The member that a hash selects in a group.
    pub(super) fn selected_member(&self, profile: u32) -> Result<Vec<Found>> {
        let key = keyed(self.table, key_fields(self.request))?;
        let given = |id: u32| {
            let found = key.fields.iter().find(|(known, _)| *known == id);
            match found {
                Some((_, MatchValue::Exact(value))) => Ok(value.to_u64().unwrap_or(u64::MAX)),
                _ => Err(invalid(format!("`{}`: the key is a group and a hash", self.table.name))),
            }
        };
        let (group, hash) = (given(field::SELECTOR_GROUP_ID)?, given(field::HASH_VALUE)?);
        let groups = self.model(profile, |model| {
            let profile = object(&model.schema().action_profiles, profile, "action profile")?;
            Ok(model.control().profile(profile.at)?.groups())
        })?;
        let found = groups.into_iter().find(|(id, _)| u64::from(*id) == group);
        let (_, group) = found.ok_or_else(|| not_found(format!("there is no group {group}")))?;
        let sum: u64 = group.members.values().map(|weight| u64::from(*weight)).sum();
        let empty = || not_found("the group has no active member");
        let mut at = (hash & (u64::MAX >> (64 - SELECTOR_BITS))).checked_rem(sum).ok_or_else(empty)?;
        for (member, weight) in &group.members {
            match at.checked_sub(u64::from(*weight)) {
                Some(left) => at = left,
                None => {
                    let data = TableData { action_id: 0, fields: vec![word(field::ACTION_MEMBER_ID, *member)] };
                    return Ok(vec![(key_fields(self.request).to_vec(), data)]);
                }
            }
        }
        Err(empty())
    }
}

/// The program's function, as a controller would set it.
fn own(algorithm: &Algorithm) -> TableData {
    let number = |id, value: u64| numeric(id, Ty::Uint(64), &value.into());
    let flag = |id, value: bool| data_field(id, Value::BoolVal(value));
    let text = |name: &str| data_field(1, Value::StrVal(name.into()));
    let (action_id, mut fields): (u32, Vec<DataField>) = match algorithm.function {
        Function::Identity => (field::HASH_PRE_DEFINED, vec![text("IDENTITY")]),
        Function::Xor(_) => (field::HASH_PRE_DEFINED, vec![text("XOR")]),
        Function::Crc(Crc { width, polynomial, initial, xor, reversed }) => {
            let initial = if reversed { initial.reverse_bits() >> (64 - width) } else { initial };
            let given = [number(2, polynomial), number(3, initial), number(4, xor), number(5, width.into())];
            (field::HASH_USER_DEFINED, std::iter::once(flag(1, reversed)).chain(given).collect())
        }
    };
    fields.extend([
        numeric(field::HASH_ROTATE, Ty::Uint(32), &algorithm.rotate.into()),
        numeric(field::HASH_SEED, Ty::Uint(32), &algorithm.seed.into()),
        flag(field::HASH_MSB, false),
        flag(field::HASH_EXTEND, algorithm.extends),
    ]);
    TableData { action_id, fields }
}
