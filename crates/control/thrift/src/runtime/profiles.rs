//! Action profiles and selectors: members and groups.

use hopwright_dataplane::{ActionProfile, Group};
use hopwright_ir::{ActionCall, ExternId, TableId};

use super::{EntryAction, Runtime, of_table};
use crate::failure::{Result, TableCode};

impl Runtime {
    fn profile(&self, name: &str) -> Result<(ExternId, ActionProfile<'_>)> {
        let profile = self.control().profile(name).map_err(of_table)?;
        let unknown = || TableCode::InvalidProfileName.because(format!("there is no action profile `{name}`"));
        Ok((self.pipeline().extern_by_name(name).ok_or_else(unknown)?, profile))
    }

    /// An action of one of the tables that have a profile.
    fn member_call(&self, profile: ExternId, action: &str, data: &[Vec<u8>]) -> Result<ActionCall> {
        let tables = (0..self.pipeline().tables.len() as u32).map(TableId);
        let mut result = Err(TableCode::InvalidActionName.because(format!("no table with the profile has `{action}`")));
        for table in tables.filter(|table| self.pipeline()[*table].implementation == Some(profile)) {
            result = self.call(table, action, data);
            if result.is_ok() {
                break;
            }
        }
        result
    }

    pub(crate) fn add_member(&mut self, profile: &str, action: &str, data: &[Vec<u8>]) -> Result<i32> {
        let (at, profile) = self.profile(profile)?;
        let call = self.member_call(at, action, data)?;
        let id = lowest_free(|id| profile.member(id).is_some());
        profile.insert_member(id, call).map_err(of_table)?;
        Ok(id as i32)
    }

    pub(crate) fn modify_member(&mut self, profile: &str, member: i32, action: &str, data: &[Vec<u8>]) -> Result<()> {
        let (at, profile) = self.profile(profile)?;
        let call = self.member_call(at, action, data)?;
        profile.modify_member(member as u32, call.clone()).map_err(of_table)?;
        for table in self.defaults_with(at, member) {
            self.control()[table].set_default(Some(call.clone())).map_err(of_table)?;
        }
        Ok(())
    }

    pub(crate) fn delete_member(&mut self, profile: &str, member: i32) -> Result<()> {
        let (at, profile) = self.profile(profile)?;
        if let Some(table) = self.defaults_with(at, member).first() {
            let table = &self.pipeline()[*table].name;
            return Err(
                TableCode::MemberStillUsed.because(format!("member {member} is the default of table `{table}`"))
            );
        }
        profile.delete_member(member as u32).map_err(of_table)
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
        let members = self.profile(profile)?.1.members();
        Ok(members.into_iter().map(|(id, call)| (id, self.shown_call(&call))).collect())
    }

    pub(crate) fn member(&self, profile: &str, member: i32) -> Result<EntryAction> {
        let found = self.profile(profile)?.1.member(member as u32);
        let call = found.ok_or_else(|| TableCode::InvalidMember.because(format!("there is no member {member}")))?;
        Ok(self.shown_call(&call))
    }

    pub(crate) fn create_group(&mut self, profile: &str) -> Result<i32> {
        let (_, profile) = self.profile(profile)?;
        let id = lowest_free(|id| profile.group(id).is_some());
        profile.insert_group(id, Group::default()).map_err(of_table)?;
        Ok(id as i32)
    }

    pub(crate) fn delete_group(&mut self, profile: &str, group: i32) -> Result<()> {
        self.profile(profile)?.1.delete_group(group as u32).map_err(of_table)
    }

    pub(crate) fn add_member_to_group(&mut self, profile: &str, member: i32, group: i32) -> Result<()> {
        self.member(profile, member)?;
        let mut members = self.group(profile, group)?;
        if members.members.insert(member as u32, 1).is_some() {
            return Err(TableCode::MemberAlreadyInGroup.because(format!("group {group} has member {member}")));
        }
        self.profile(profile)?.1.modify_group(group as u32, members).map_err(of_table)
    }

    pub(crate) fn remove_member_from_group(&mut self, profile: &str, member: i32, group: i32) -> Result<()> {
        self.member(profile, member)?;
        let mut members = self.group(profile, group)?;
        if members.members.remove(&(member as u32)).is_none() {
            return Err(TableCode::MemberNotInGroup.because(format!("group {group} has no member {member}")));
        }
        self.profile(profile)?.1.modify_group(group as u32, members).map_err(of_table)
    }

    pub(crate) fn groups(&self, profile: &str) -> Result<Vec<(u32, Group)>> {
        Ok(self.profile(profile)?.1.groups())
    }

    pub(crate) fn group(&self, profile: &str, group: i32) -> Result<Group> {
        let found = self.profile(profile)?.1.group(group as u32);
        found.ok_or_else(|| TableCode::InvalidGroup.because(format!("there is no group {group}")))
    }

    /// Removes all members and groups. Nothing may refer to them.
    pub(super) fn clear_profile(&mut self, profile: ExternId) -> Result<()> {
        let profile = self.control().profile(profile).map_err(of_table)?;
        for (id, _) in profile.groups() {
            profile.delete_group(id).map_err(of_table)?;
        }
        for (id, _) in profile.members() {
            profile.delete_member(id).map_err(of_table)?;
        }
        Ok(())
    }
}

/// The lowest number that is not used. Numbers of members and groups are dense, unless a P4Runtime controller has chosen them.
fn lowest_free(is_used: impl Fn(u32) -> bool) -> u32 {
    (0..).find(|id| !is_used(*id)).unwrap_or(u32::MAX)
}
