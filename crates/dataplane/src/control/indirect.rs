//! The control interface to action profiles, selectors and meters.

use hopwright_ir::meter::Rates;
use hopwright_ir::{ActionCall, EntryTarget, ExternId, Group, MatchValue, TableId};

use crate::control::ControlError;
use crate::table::Profiles;
use crate::vdp::{ExternObject, VirtualDataPlane, agree};

impl VirtualDataPlane {
    /// Adds an entry that leads to a member, group or set of actions of the table's profile.
    pub fn insert_target(
        &self,
        table: TableId,
        matches: Vec<MatchValue>,
        priority: i32,
        to: EntryTarget,
    ) -> Result<(), ControlError> {
        let interp = self.interp();
        self.fast_table(table).insert_target(matches.clone(), priority, to.clone())?;
        agree(interp, |i| i.insert_target(table, matches, priority, to))
    }

    /// Lets an entry lead elsewhere.
    pub fn modify_target(
        &self,
        table: TableId,
        matches: Vec<MatchValue>,
        priority: i32,
        to: EntryTarget,
    ) -> Result<(), ControlError> {
        let interp = self.interp();
        self.fast_table(table).modify_target(matches.clone(), priority, to.clone())?;
        agree(interp, |i| i.modify_target(table, matches, priority, to))
    }

    /// What an entry leads to; `None` if there is no such entry or the table has no profile.
    pub fn entry_target(&self, table: TableId, matches: &[MatchValue], priority: i32) -> Option<EntryTarget> {
        self.fast_table(table).target(matches, priority)
    }

    fn profile(&self, id: ExternId) -> Result<&Profiles, ControlError> {
        match self.object(id) {
            ExternObject::Profile(profile) => Ok(profile),
            _ => Err(self.wrong(id, "an action profile or selector")),
        }
    }

    fn refusal(&self, id: ExternId) -> impl Fn(hopwright_ir::profile::ProfileError) -> ControlError {
        let name = self.pipeline()[id].name.clone();
        move |reason| ControlError::Profile { name: name.clone(), reason }
    }

    /// All members of a profile or selector by number.
    pub fn members(&self, profile: ExternId) -> Result<Vec<(u32, ActionCall)>, ControlError> {
        Ok(self.profile(profile)?.read(|p| p.members().map(|(id, action)| (id, action.clone())).collect()))
    }

    /// All groups of a selector by number.
    pub fn groups(&self, profile: ExternId) -> Result<Vec<(u32, Group)>, ControlError> {
        Ok(self.profile(profile)?.read(|p| p.groups().map(|(id, group)| (id, group.clone())).collect()))
    }

    /// One member.
    pub fn member(&self, profile: ExternId, id: u32) -> Result<Option<ActionCall>, ControlError> {
        Ok(self.profile(profile)?.read(|p| p.member(id).cloned()))
    }

    /// One group.
    pub fn group(&self, profile: ExternId, id: u32) -> Result<Option<Group>, ControlError> {
        Ok(self.profile(profile)?.read(|p| p.group(id).cloned()))
    }

    /// Adds a member.
    pub fn insert_member(&self, profile: ExternId, id: u32, action: ActionCall) -> Result<(), ControlError> {
        let interp = self.interp();
        self.profile(profile)?.insert_member(id, action.clone()).map_err(self.refusal(profile))?;
        agree(interp, |i| i.insert_member(profile, id, action))
    }

    /// Gives a member another action, in whatever uses it.
    pub fn modify_member(&self, profile: ExternId, id: u32, action: ActionCall) -> Result<(), ControlError> {
        let interp = self.interp();
        self.profile(profile)?.modify_member(id, action.clone()).map_err(self.refusal(profile))?;
        agree(interp, |i| i.modify_member(profile, id, action))
    }

    /// Removes a member that nothing leads to.
    pub fn delete_member(&self, profile: ExternId, id: u32) -> Result<(), ControlError> {
        let interp = self.interp();
        self.profile(profile)?.delete_member(id).map_err(self.refusal(profile))?;
        agree(interp, |i| i.delete_member(profile, id))
    }

    /// Adds a group.
    pub fn insert_group(&self, profile: ExternId, id: u32, group: Group) -> Result<(), ControlError> {
        let interp = self.interp();
        self.profile(profile)?.insert_group(id, group.clone()).map_err(self.refusal(profile))?;
        agree(interp, |i| i.insert_group(profile, id, group))
    }

    /// Gives a group other members.
    pub fn modify_group(&self, profile: ExternId, id: u32, group: Group) -> Result<(), ControlError> {
        let interp = self.interp();
        self.profile(profile)?.modify_group(id, group.clone()).map_err(self.refusal(profile))?;
        agree(interp, |i| i.modify_group(profile, id, group))
    }

    /// Removes a group that nothing leads to.
    pub fn delete_group(&self, profile: ExternId, id: u32) -> Result<(), ControlError> {
        let interp = self.interp();
        self.profile(profile)?.delete_group(id).map_err(self.refusal(profile))?;
        agree(interp, |i| i.delete_group(profile, id))
    }

    /// The rates of one meter; `None`: it says green.
    pub fn meter(&self, meter: ExternId, index: u64) -> Result<Option<Rates>, ControlError> {
        let ExternObject::Meters(meters) = self.object(meter) else { return Err(self.wrong(meter, "a meter")) };
        Ok(meters.rates(self.cell_index(meter, index, meters.len())?))
    }

    /// Sets the rates of one meter, with full buckets; `None`: it says green.
    pub fn set_meter(&self, meter: ExternId, index: u64, rates: Option<Rates>) -> Result<(), ControlError> {
        let ExternObject::Meters(meters) = self.object(meter) else { return Err(self.wrong(meter, "a meter")) };
        let at = self.cell_index(meter, index, meters.len())?;
        let interp = self.interp();
        meters.set(at, rates);
        agree(interp, |i| i.set_meter(meter, index, rates))
    }

    /// The rates of an entry's direct meter; `None`: it says green.
    pub fn direct_meter(
        &self,
        table: TableId,
        matches: &[MatchValue],
        priority: i32,
    ) -> Result<Option<Rates>, ControlError> {
        self.fast_table(table).direct_meter(matches, priority)
    }

    /// Sets the rates of an entry's direct meter, with full buckets; `None`: it says green.
    pub fn set_direct_meter(
        &self,
        table: TableId,
        matches: &[MatchValue],
        priority: i32,
        rates: Option<Rates>,
    ) -> Result<(), ControlError> {
        let interp = self.interp();
        self.fast_table(table).set_direct_meter(matches, priority, rates)?;
        agree(interp, |i| i.set_direct_meter(table, matches, priority, rates))
    }
}
