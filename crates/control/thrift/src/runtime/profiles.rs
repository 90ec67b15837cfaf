//! Action profiles and selectors: members and groups.

use hopwright_control::entity::Call;
use hopwright_control::schema::{Profile, Use};
use hopwright_control::{Entity, ErrorKind, Operation};
use hopwright_dataplane::{ActionProfile, Group};
use hopwright_ir::{ActionCall, ExternId, TableId};

use super::{EntryAction, Runtime, of_table};
use crate::failure::{Result, TableCode};

impl Runtime {
    fn profile(&self, name: &str) -> Result<(u32, &Profile)> {
        let found = self.object(&self.schema.action_profiles, name);
        found.ok_or_else(|| TableCode::InvalidProfileName.because(format!("there is no action profile `{name}`")))
    }

    /// What is in an action profile.
    fn contents(&self, name: &str) -> Result<ActionProfile<'_>> {
        self.control().profile(self.profile(name)?.1.at).map_err(|error| TableCode::Error.because(error))
    }

    /// An action of one of the tables that have a profile.
    fn call_of_member(&self, profile: &Profile, action: &str, data: &[Vec<u8>]) -> Result<Call> {
        let mut result = Err(TableCode::InvalidActionName.because(format!("no table with the profile has `{action}`")));
        for table in self.schema.ordered_tables().filter(|table| profile.tables.contains(&table.id)) {
            result = self.call(table.at, action, data, Use::Entry);
            if result.is_ok() {
                break;
            }
        }
        result
    }

    pub(crate) fn add_member(&mut self, profile: &str, action: &str, data: &[Vec<u8>]) -> Result<i32> {
        let there = self.contents(profile)?;
        let (profile, model) = self.profile(profile)?;
        let action = Some(self.call_of_member(model, action, data)?);
        let id = lowest_free(|id| there.member(id).is_some());
        let member = Entity::Member { profile, id, action };
        self.write(Operation::Insert, member).map_err(of_table(TableCode::InvalidMember))?;
        Ok(id as i32)
    }

    pub(crate) fn modify_member(&mut self, profile: &str, member: i32, action: &str, data: &[Vec<u8>]) -> Result<()> {
        let (profile, model) = self.profile(profile)?;
        let call = self.call_of_member(model, action, data)?;
        let changed = Entity::Member { profile, id: member as u32, action: Some(call.clone()) };
        self.write(Operation::Modify, changed).map_err(of_table(TableCode::InvalidMember))?;
        self.defaults_with(model.at, member)
            .into_iter()
            .try_for_each(|table| self.set_default(table, Some(call.clone())))
    }

    pub(crate) fn delete_member(&mut self, profile: &str, member: i32) -> Result<()> {
        let (profile, model) = self.profile(profile)?;
        if let Some(table) = self.defaults_with(model.at, member).first() {
            let table = &self.pipeline()[*table].name;
            return Err(
                TableCode::MemberStillUsed.because(format!("member {member} is the default of table `{table}`"))
            );
        }
        self.delete(Entity::Member { profile, id: member as u32, action: None })
    }

    /// Deletes a member or a group.
    fn delete(&self, entity: Entity) -> Result<()> {
        let (missing, used) = match entity {
            Entity::Group { .. } => (TableCode::InvalidGroup, TableCode::GroupStillUsed),
            _ => (TableCode::InvalidMember, TableCode::MemberStillUsed),
        };
        self.write(Operation::Delete, entity).map_err(|error| match error.kind {
            ErrorKind::FailedPrecondition => used.because(error),
            _ => of_table(missing)(error),
        })
    }

    /// The tables whose default entry is a member.
    fn defaults_with(&self, profile: ExternId, member: i32) -> Vec<TableId> {
        let of_member = self.default_members.iter().filter(|(_, default)| **default == member as u32);
        of_member
            .map(|(table, _)| *table)
            .filter(|table| self.pipeline()[*table].implementation == Some(profile))
            .collect()
    }

    pub(crate) fn members(&self, profile: &str) -> Result<Vec<(u32, EntryAction)>> {
        let members = self.contents(profile)?.members();
        Ok(members.into_iter().map(|(id, call)| (id, self.shown_call(&call))).collect())
    }

    pub(crate) fn member(&self, profile: &str, member: i32) -> Result<EntryAction> {
        Ok(self.shown_call(&self.action_of_member(self.profile(profile)?.1.at, member)?))
    }

    /// The action of a member.
    pub(super) fn action_of_member(&self, profile: ExternId, member: i32) -> Result<ActionCall> {
        let found = self.control().profile(profile).ok().and_then(|profile| profile.member(member as u32));
        found.ok_or_else(|| TableCode::InvalidMember.because(format!("there is no member {member}")))
    }

    pub(crate) fn create_group(&mut self, profile: &str) -> Result<i32> {
        let there = self.contents(profile)?;
        let id = lowest_free(|id| there.group(id).is_some());
        self.set_group(Operation::Insert, profile, id, Group::default())?;
        Ok(id as i32)
    }

    fn set_group(&self, operation: Operation, profile: &str, id: u32, group: Group) -> Result<()> {
        let (members, max_size) = (group.members.into_iter().collect(), group.max_size);
        let group = Entity::Group { profile: self.profile(profile)?.0, id, members, max_size };
        self.write(operation, group).map_err(|error| match error.kind {
            ErrorKind::InvalidArgument => TableCode::NoSelection.because(error),
            _ => of_table(TableCode::InvalidMember)(error),
        })
    }

    pub(crate) fn delete_group(&mut self, profile: &str, group: i32) -> Result<()> {
        let profile = self.profile(profile)?.0;
        self.delete(Entity::Group { profile, id: group as u32, members: Vec::new(), max_size: 0 })
    }

    pub(crate) fn add_member_to_group(&mut self, profile: &str, member: i32, group: i32) -> Result<()> {
        self.member(profile, member)?;
        let mut members = self.group(profile, group)?;
        if members.members.insert(member as u32, 1).is_some() {
            return Err(TableCode::MemberAlreadyInGroup.because(format!("group {group} has member {member}")));
        }
        self.set_group(Operation::Modify, profile, group as u32, members)
    }

    pub(crate) fn remove_member_from_group(&mut self, profile: &str, member: i32, group: i32) -> Result<()> {
        self.member(profile, member)?;
        let mut members = self.group(profile, group)?;
        if members.members.remove(&(member as u32)).is_none() {
            return Err(TableCode::MemberNotInGroup.because(format!("group {group} has no member {member}")));
        }
        self.set_group(Operation::Modify, profile, group as u32, members)
    }

    pub(crate) fn groups(&self, profile: &str) -> Result<Vec<(u32, Group)>> {
        Ok(self.contents(profile)?.groups())
    }

    pub(crate) fn group(&self, profile: &str, group: i32) -> Result<Group> {
        let found = self.contents(profile)?.group(group as u32);
        found.ok_or_else(|| TableCode::InvalidGroup.because(format!("there is no group {group}")))
    }

    /// Removes all members and groups. Nothing may refer to them.
    pub(super) fn clear_profile(&mut self, profile: &str) -> Result<()> {
        for (id, _) in self.groups(profile)? {
            self.delete_group(profile, id as i32)?;
        }
        for (id, _) in self.members(profile)? {
            self.delete_member(profile, id as i32)?;
        }
        Ok(())
    }
}

/// The lowest number that is not used. Numbers of members and groups are dense, unless a P4Runtime controller has chosen them.
fn lowest_free(is_used: impl Fn(u32) -> bool) -> u32 {
    (0..).find(|id| !is_used(*id)).unwrap_or(u32::MAX)
}
