//! Parser value sets.

use hopwright_control::{Entity, Operation};
use hopwright_ir::{MatchValue, ValueSet, bits};
use num_bigint::BigUint;

use super::Runtime;
use super::tables::padded;
use crate::failure::{Result, ValueSetCode};

/// A member: a match for each part.
type Member = Vec<MatchValue>;

impl Runtime {
    /// A value set and its members.
    fn value_set(&self, name: &str) -> Result<(&ValueSet, Vec<Member>)> {
        let unknown = || ValueSetCode::InvalidName.because(format!("the program has no value set `{name}`"));
        let at = self.pipeline().value_set_by_name(name).ok_or_else(unknown)?;
        let members = self.control().value_set(at).map_err(|error| ValueSetCode::InvalidName.because(error))?;
        Ok((&self.pipeline()[at], members.read()))
    }

    fn set_members(&self, set: &ValueSet, members: &[Member]) -> Result<()> {
        let known = set.id.and_then(|id| Some((id.0, self.schema.value_sets.get(&id.0)?)));
        let (id, model) = known.ok_or_else(|| ValueSetCode::InvalidName.because("the value set is hidden"))?;
        let members = members.iter().map(|member| model.given(member)).collect();
        let written = self.write(Operation::Modify, Entity::ValueSet(id, members));
        written.map_err(|error| ValueSetCode::Error.because(error))
    }

    /// Adds a value, which may be there.
    pub(crate) fn value_set_add(&self, set: &str, value: &[u8]) -> Result<()> {
        let (set, mut members) = self.value_set(set)?;
        let member = to_member(set, value)?;
        if members.contains(&member) {
            return Ok(());
        }
        members.push(member);
        self.set_members(set, &members)
    }

    /// Removes a value, which may be missing.
    pub(crate) fn value_set_remove(&self, set: &str, value: &[u8]) -> Result<()> {
        let (set, mut members) = self.value_set(set)?;
        let member = to_member(set, value)?;
        members.retain(|other| *other != member);
        self.set_members(set, &members)
    }

    /// The values. Members of a P4Runtime controller that match more than one value are not among them.
    pub(crate) fn value_set_get(&self, set: &str) -> Result<Vec<Vec<u8>>> {
        let (set, members) = self.value_set(set)?;
        Ok(members.iter().filter_map(|member| from_member(set, member)).collect())
    }

    pub(crate) fn value_set_clear(&self, set: &str) -> Result<()> {
        self.set_members(self.value_set(set)?.0, &[])
    }
}

/// A member from its parts' bits, one behind the other.
fn to_member(model: &ValueSet, value: &[u8]) -> Result<Vec<MatchValue>> {
    let (mut rest, total) = (BigUint::from_bytes_be(value), width(model));
    if !bits::fits(&rest, total) {
        return Err(ValueSetCode::Error.because(format!("the value does not fit the {total} bits of `{}`", model.name)));
    }
    let mut member: Vec<MatchValue> = Vec::new();
    for ty in model.types.iter().rev() {
        member.push(MatchValue::Exact(bits::truncate(rest.clone(), ty.width())));
        rest >>= ty.width();
    }
    member.reverse();
    Ok(member)
}

fn from_member(model: &ValueSet, member: &[MatchValue]) -> Option<Vec<u8>> {
    let mut value = BigUint::ZERO;
    for (ty, part) in model.types.iter().zip(member) {
        let (bits, mask) = part.value_and_mask(ty.width())?;
        if mask != bits::mask(ty.width()) {
            return None;
        }
        value = (value << ty.width()) | bits;
    }
    Some(padded(&value, width(model)))
}

/// The bits of a member.
pub(crate) fn width(model: &ValueSet) -> u32 {
    model.types.iter().map(|ty| ty.width()).sum()
}
