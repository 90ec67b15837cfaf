//! Writes hashes: which bits of which fields are hashed in which order, and with which algorithm.

use std::sync::Arc;

use hopwright_control::entity::{Cell, Cells};
use hopwright_control::{Entity, Operation, Update};

use super::{Effects, Request};
use crate::failure::{Result, invalid};
use crate::hash::{Algorithm, Crc, Function, Hash, Slice};
use crate::proto::{DataField, data_field::Value, update::Type as Kind};
use crate::schema::field;
use crate::state::{Change, ChangedHash};
use crate::value::{merged, small};

impl Request<'_> {
    fn hash(&self) -> Result<&Arc<Hash>> {
        self.table.hash.as_ref().ok_or_else(|| invalid(format!("`{}` is of no hash", self.table.name)))
    }

    /// What a controller has changed of the hash so far; and whether this sets more, or goes back to what the program has.
    fn changed_hash(&self, hash: &Hash) -> Result<(ChangedHash, bool)> {
        let changed = self.state.hashes.get(&hash.object).cloned().unwrap_or_default();
        match self.kind {
            Kind::Insert | Kind::Modify | Kind::InsertOrModify => Ok((changed, true)),
            Kind::Delete | Kind::Reset => Ok((changed, false)),
            _ => Err(self.unsupported()),
        }
    }

    /// Sets which bits are hashed. Fields that are not given are not.
    pub(super) fn hash_slices(&self) -> Result<Effects> {
        let hash = self.hash()?;
        let (mut changed, sets) = self.changed_hash(hash)?;
        changed.slices = if sets { Some(self.slices(hash)?) } else { None };
        Ok(become_hash(hash, changed))
    }

    fn slices(&self, hash: &Hash) -> Result<Vec<Slice>> {
        self.data()?;
        let mut slices = Vec::new();
        for given in self.entry.data.iter().flat_map(|data| &data.fields) {
            let at = self.table.data.iter().position(|known| known.id == given.field_id);
            let Some((at, (name, bits))) = at.and_then(|at| Some((at, hash.fields.get(at)?))) else { continue };
            let Some(Value::ContainerArrVal(list)) = &given.value else {
                return Err(invalid(format!("`{name}`: expected a list of start_bit, length and order")));
            };
            for part in &list.container {
                let number = |id: u32, name: &str| {
                    let value = part.val.iter().find(|f| f.field_id == id).and_then(|f| f.value.as_ref());
                    match value {
                        Some(Value::Stream(bytes)) => small(name, 64, bytes).map(Some),
                        Some(_) => Err(invalid(format!("`{name}`: expected bytes"))),
                        None => Ok(None),
                    }
                };
                let order = number(field::HASH_ORDER, "order")?;
                let order = order.ok_or_else(|| invalid(format!("`{name}`: the order is missing")))?;
                let start = number(field::HASH_START_BIT, "start_bit")?.unwrap_or(0);
                if order == 0 {
                    continue;
                }
                let start = u32::try_from(start).ok().filter(|start| start < bits);
                let start = start.ok_or_else(|| invalid(format!("`{name}` has {bits} bits: start_bit is too high")))?;
                let left = bits - start;
                let length = number(field::HASH_LENGTH, "length")?.map_or(left, |bits| bits.min(left.into()) as u32);
                slices.push(Slice { order, field: at, start, length });
            }
        }
        hash.check(&slices)?;
        Ok(slices)
    }

    /// Sets the algorithm. What is not given is off.
    pub(super) fn hash_algorithm(&self) -> Result<Effects> {
        let hash = self.hash()?;
        let (mut changed, sets) = self.changed_hash(hash)?;
        changed.algorithm = if sets { Some(self.algorithm(hash)?) } else { None };
        Ok(become_hash(hash, changed))
    }

    fn algorithm(&self, hash: &Hash) -> Result<(Algorithm, u32, Vec<DataField>)> {
        let (action, data) = self.named_action()?;
        let action = action.ok_or_else(|| invalid("an algorithm is pre_defined or user_defined"))?;
        let given = self.entry.data.iter().flat_map(|data| &data.fields);
        let flag = |id: u32| given.clone().any(|f| f.field_id == id && f.value == Some(Value::BoolVal(true)));
        let number =
            |id: u32, name: &str| Ok::<u64, hopwright_p4runtime::Failure>(data.small(id, name, 64)?.unwrap_or(0));
        let function = if action.id == field::HASH_PRE_DEFINED {
            let name = given.clone().find(|f| f.field_id == 1).and_then(|f| f.value.as_ref());
            match name {
                Some(Value::StrVal(name)) => Function::named(name, hash.width)?,
                _ => return Err(invalid("`algorithm_name`: expected text")),
            }
        } else {
            let (polynomial, initial, xor) = (number(2, "polynomial")?, number(3, "init")?, number(4, "final_xor")?);
            let width = data.small(5, "hash_bit_width", 64)?.unwrap_or(hash.width.into());
            let width = u32::try_from(width).ok().filter(|width| (1..=64).contains(width));
            let width = width.ok_or_else(|| invalid("`hash_bit_width` is 1 to 64"))?;
            let mask = u64::MAX >> (64 - width);
            if polynomial & 1 == 0 {
                return Err(invalid("`polynomial` is even"));
            }
            if (polynomial | initial | xor) & !mask != 0 {
                return Err(invalid(format!("`polynomial`, `init` and `final_xor` have {width} bits")));
            }
            let reversed = flag(1);
            // Controllers write the initial value as the reversed register has it.
            let initial = if reversed { initial.reverse_bits() >> (64 - width) } else { initial };
            Function::Crc(Crc { width, polynomial, initial, xor, reversed })
        };
        let algorithm = Algorithm {
            function,
            extends: flag(field::HASH_EXTEND),
            rotate: number(field::HASH_ROTATE, "rotate")? as u32,
            seed: number(field::HASH_SEED, "seed")?,
        };
        let kept = merged(None, given.cloned().collect());
        Ok((algorithm, action.id, kept))
    }
}

/// The hash computes this from now on.
fn become_hash(hash: &Hash, changed: ChangedHash) -> Effects {
    let differs = changed != ChangedHash::default();
    let mut updates = Vec::new();
    let modify = |entity| Update { operation: Operation::Modify, entity };
    if differs {
        let (algorithm, slices) = changed.of(hash);
        let data = hash.form(&algorithm, &slices);
        updates.push(modify(Entity::Setting { object: hash.object, cell: Cell::Index(0), data }));
    }
    let cells = Cells { object: hash.register, index: Some(0) };
    updates.push(modify(Entity::Register(cells, u8::from(differs).into())));
    Effects::new(updates, vec![Change::Hash(hash.object, changed)])
}
