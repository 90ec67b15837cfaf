//! Reads hashes: what is hashed, what is computed of it, results for given values, and members that they select.

use hopwright_control::schema::object;
use hopwright_ir::profile;

use super::{Found, Read, of_fields};
use crate::failure::{Result, invalid, not_found};
use crate::hashes;
use crate::proto::key_field::MatchType;
use crate::schema::{Object, Ty, field};
use crate::value::{numeric, small};
use crate::write::key_fields;

impl Read<'_> {
    /// The entry of a table of a hash. Results are those for the request's key.
    pub(super) fn hash(&self, id: u32) -> Result<Vec<Found>> {
        let hash = self.state.schema.hashes.get(&id).ok_or_else(|| not_found("there is no such hash"))?;
        let changed = self.state.hashes.get(&id).cloned().unwrap_or_default();
        let asked = key_fields(self.request);
        Ok(match self.table.object {
            Object::HashFields(_) => vec![(Vec::new(), hashes::read_fields(self.table, &changed))],
            Object::HashAlgorithm(_) => vec![(Vec::new(), hashes::read_algorithm(hash, &changed))],
            _ if asked.is_empty() => Vec::new(),
            _ => {
                let result = hashes::computed(self.table, hash, &changed.configuration, asked)?;
                let data = of_fields(vec![numeric(field::HASH_VALUE, Ty::Bytes(hash.width), &result)]);
                vec![(asked.to_vec(), data)]
            }
        })
    }

    /// The member that a hash selects in a group; nothing unless the request has both.
    pub(super) fn selected_member(&self, profile: u32) -> Result<Vec<Found>> {
        let asked = key_fields(self.request);
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let number = |id, name: &str| match asked.iter().find(|f| f.field_id == id).map(|f| &f.match_type) {
            Some(Some(MatchType::Exact(exact))) => small(name, 64, &exact.value),
            _ => Err(invalid(format!("`{name}` is a number"))),
        };
        let group = number(field::SELECTOR_GROUP_ID, "$SELECTOR_GROUP_ID")?;
        let hash = number(field::HASH_VALUE, "hash_value")?;
        let groups = self.model(profile, |model| {
            let profile = object(&model.schema().action_profiles, profile, "action profile")?;
            Ok(model.control().profile(profile.at)?.groups())
        })?;
        let found = groups.into_iter().find(|(id, _)| u64::from(*id) == group);
        let (_, found) = found.ok_or_else(|| not_found(format!("there is no group {group}")))?;
        let member = profile::choose(found.members.values().copied(), hash);
        let member = member.and_then(|at| found.members.keys().nth(at));
        let member = member.ok_or_else(|| not_found(format!("the group {group} has no active member")))?;
        let data = of_fields(vec![numeric(field::ACTION_MEMBER_ID, Ty::Uint(64), &(*member).into())]);
        Ok(vec![(asked.to_vec(), data)])
    }
}
