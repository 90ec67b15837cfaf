//! Action profiles and selectors: members, groups, reference counts, and which member a hash selects. Shared by every
//! executor.

use std::collections::BTreeMap;

use num_bigint::BigUint;

use crate::bits::BitString;
use crate::entry::{EntryError, check_arguments, check_call};
use crate::hash::hash;
use crate::model::{ActionCall, EntryTarget, ExternId, ExternKind, Group, Pipeline, Table, TableId};

/// Why a change of a profile, or an entry that uses it, is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// The member number is in use.
    #[error("member {0} exists already")]
    MemberExists(u32),
    /// The group number is in use.
    #[error("group {0} exists already")]
    GroupExists(u32),
    /// There is no such member.
    #[error("there is no member {0}")]
    NoMember(u32),
    /// There is no such group.
    #[error("there is no group {0}")]
    NoGroup(u32),
    /// A group or an entry refers to the member.
    #[error("member {0} is in use: a group or an entry leads to it")]
    MemberInUse(u32),
    /// An entry refers to the group.
    #[error("group {0} is in use: an entry leads to it")]
    GroupInUse(u32),
    /// The profile is full.
    #[error("no room for another member: the size is {size}")]
    Full {
        /// Maximum number of members.
        size: u64,
    },
    /// The shares of a group or set exceed its limit.
    #[error("the weights, or members, are together more than {size}")]
    GroupFull {
        /// Maximum sum of shares.
        size: u32,
    },
    /// A share of zero.
    #[error("a weight must be above zero")]
    Weight,
    /// A group's limit cannot be changed.
    #[error("the maximum size of a group cannot be changed")]
    MaxSize,
    /// Groups and sets need a selector.
    #[error("groups and sets of actions need an action selector")]
    NoSelector,
    /// The table has no profile.
    #[error("the table has no action profile")]
    NoProfile,
    /// The action is not one of a table that uses the profile, or not with these arguments.
    #[error(transparent)]
    Action(EntryError),
    /// An entry of the table would run an action that is not one of the table's.
    #[error("an entry of table `{table}` would run `{action}`, which is no action of that table")]
    OtherTable {
        /// The table.
        table: String,
        /// The action.
        action: String,
    },
}

type Result<T> = std::result::Result<T, ProfileError>;

#[derive(Clone, Debug)]
struct Used<T> {
    value: T,
    /// How many entries of each table refer to it.
    entries: BTreeMap<TableId, usize>,
    /// How many groups refer to it, if it is a member.
    groups: usize,
}

impl<T> Used<T> {
    fn new(value: T) -> Used<T> {
        Used { value, entries: BTreeMap::new(), groups: 0 }
    }

    fn in_use(&self) -> bool {
        self.groups > 0 || !self.entries.is_empty()
    }

    fn count_entry(&mut self, table: TableId, begins: bool) {
        let uses = self.entries.entry(table).or_insert(0);
        *uses = if begins { *uses + 1 } else { uses.saturating_sub(1) };
        if *uses == 0 {
            self.entries.remove(&table);
        }
    }
}

/// The members and groups of one profile.
#[derive(Clone, Debug)]
pub struct Profile {
    id: ExternId,
    size: u64,
    selector: bool,
    members: BTreeMap<u32, Used<ActionCall>>,
    groups: BTreeMap<u32, Used<Group>>,
}

impl Profile {
    /// An empty profile; `None` if the object is no profile.
    pub fn new(pipeline: &Pipeline, id: ExternId) -> Option<Profile> {
        let (size, selector) = match pipeline[id].kind {
            ExternKind::ActionProfile { size } => (size, false),
            ExternKind::ActionSelector { size, .. } => (size, true),
            _ => return None,
        };
        Some(Profile { id, size, selector, members: BTreeMap::new(), groups: BTreeMap::new() })
    }

    /// Members by number.
    pub fn members(&self) -> impl Iterator<Item = (u32, &ActionCall)> {
        self.members.iter().map(|(id, m)| (*id, &m.value))
    }

    /// Groups by number.
    pub fn groups(&self) -> impl Iterator<Item = (u32, &Group)> {
        self.groups.iter().map(|(id, g)| (*id, &g.value))
    }

    /// A member's action.
    pub fn member(&self, id: u32) -> Option<&ActionCall> {
        self.members.get(&id).map(|m| &m.value)
    }

    /// A group.
    pub fn group(&self, id: u32) -> Option<&Group> {
        self.groups.get(&id).map(|g| &g.value)
    }

    /// Adds a member.
    ///
    /// # Errors
    /// If it exists, the profile is full, or the action is not one of a table that uses the profile.
    pub fn insert_member(&mut self, pipeline: &Pipeline, id: u32, action: ActionCall) -> Result<()> {
        if self.members.contains_key(&id) {
            return Err(ProfileError::MemberExists(id));
        }
        self.check_action(pipeline, &action)?;
        if self.size != 0 && self.members.len() as u64 >= self.size {
            return Err(ProfileError::Full { size: self.size });
        }
        self.members.insert(id, Used::new(action));
        Ok(())
    }

    /// Replaces a member's action, for all groups and entries that refer to it.
    ///
    /// # Errors
    /// If it does not exist, the action is not one of a table that uses the profile, or not one of a table whose entries
    /// lead to the member.
    pub fn modify_member(&mut self, pipeline: &Pipeline, id: u32, action: ActionCall) -> Result<()> {
        let Some(member) = self.members.get(&id) else { return Err(ProfileError::NoMember(id)) };
        self.check_action(pipeline, &action)?;
        let groups = self.groups.values().filter(|g| g.value.members.contains_key(&id));
        let mut tables = groups.flat_map(|g| g.entries.keys()).chain(member.entries.keys()).copied();
        tables.try_for_each(|table| permitted(pipeline, table, &action))?;
        self.members.entry(id).and_modify(|m| m.value = action);
        Ok(())
    }

    /// Removes a member.
    ///
    /// # Errors
    /// If it does not exist, or a group or entry refers to it.
    pub fn delete_member(&mut self, id: u32) -> Result<()> {
        match self.members.get(&id) {
            None => Err(ProfileError::NoMember(id)),
            Some(m) if m.in_use() => Err(ProfileError::MemberInUse(id)),
            Some(_) => {
                self.members.remove(&id);
                Ok(())
            }
        }
    }

    /// Adds a group, which may be empty.
    ///
    /// # Errors
    /// If it exists, a member does not, a weight is zero, the weights exceed its limit, or this is no selector.
    pub fn insert_group(&mut self, id: u32, group: Group) -> Result<()> {
        if !self.selector {
            return Err(ProfileError::NoSelector);
        }
        if self.groups.contains_key(&id) {
            return Err(ProfileError::GroupExists(id));
        }
        self.check_group(&group)?;
        self.count_members(&group, true);
        self.groups.insert(id, Used::new(group));
        Ok(())
    }

    /// Replaces a group's members.
    ///
    /// # Errors
    /// If it or a member does not exist, a weight is zero, the weights exceed its limit, the limit differs, or the action of
    /// a member is not one of a table whose entries lead to the group.
    pub fn modify_group(&mut self, pipeline: &Pipeline, id: u32, group: Group) -> Result<()> {
        let Some(old) = self.groups.get(&id) else { return Err(ProfileError::NoGroup(id)) };
        if old.value.max_size != group.max_size {
            return Err(ProfileError::MaxSize);
        }
        self.check_group(&group)?;
        old.entries.keys().try_for_each(|table| self.check_members(pipeline, *table, &group))?;
        let old = old.value.clone();
        self.count_members(&old, false);
        self.count_members(&group, true);
        self.groups.entry(id).and_modify(|g| g.value = group);
        Ok(())
    }

    /// Removes a group; its members stay.
    ///
    /// # Errors
    /// If it does not exist, or an entry refers to it.
    pub fn delete_group(&mut self, id: u32) -> Result<()> {
        match self.groups.get(&id) {
            None => Err(ProfileError::NoGroup(id)),
            Some(g) if g.in_use() => Err(ProfileError::GroupInUse(id)),
            Some(_) => {
                if let Some(group) = self.groups.remove(&id) {
                    self.count_members(&group.value, false);
                }
                Ok(())
            }
        }
    }

    /// Checks that an entry of a table may refer to a target.
    ///
    /// # Errors
    /// If the member or group does not exist, an action is not one of the table, or a weight is zero.
    pub fn check_target(&self, pipeline: &Pipeline, table: TableId, target: &EntryTarget) -> Result<()> {
        match target {
            EntryTarget::Member(id) => permitted(pipeline, table, self.member(*id).ok_or(ProfileError::NoMember(*id))?),
            EntryTarget::Group(_) if !self.selector => Err(ProfileError::NoSelector),
            EntryTarget::Group(id) => {
                self.check_members(pipeline, table, self.group(*id).ok_or(ProfileError::NoGroup(*id))?)
            }
            EntryTarget::Set(set) => {
                // An entry that names one action is fine without a selector.
                if set.len() != 1 && !self.selector {
                    return Err(ProfileError::NoSelector);
                }
                set.iter().try_for_each(|a| {
                    check_call(pipeline, &pipeline[table], &a.action, false).map_err(ProfileError::Action)?;
                    if a.weight == 0 { Err(ProfileError::Weight) } else { Ok(()) }
                })
            }
        }
    }

    fn check_members(&self, pipeline: &Pipeline, table: TableId, group: &Group) -> Result<()> {
        group.members.keys().filter_map(|id| self.member(*id)).try_for_each(|a| permitted(pipeline, table, a))
    }

    /// Counts a reference of a table's entry to a target, or the end of one.
    pub fn count(&mut self, table: TableId, target: &EntryTarget, begins: bool) {
        match target {
            EntryTarget::Member(id) => {
                self.members.get_mut(id).into_iter().for_each(|m| m.count_entry(table, begins));
            }
            EntryTarget::Group(id) => self.groups.get_mut(id).into_iter().for_each(|g| g.count_entry(table, begins)),
            EntryTarget::Set(_) => {}
        }
    }

    /// The actions of a target with their shares, in order.
    pub fn actions<'a>(&'a self, target: &'a EntryTarget) -> Vec<(&'a ActionCall, u32)> {
        match target {
            EntryTarget::Member(id) => self.member(*id).map(|a| (a, 1)).into_iter().collect(),
            EntryTarget::Group(id) => {
                let members = self.group(*id).into_iter().flat_map(|g| &g.members);
                members.filter_map(|(id, weight)| Some((self.member(*id)?, *weight))).collect()
            }
            EntryTarget::Set(set) => set.iter().map(|a| (&a.action, a.weight)).collect(),
        }
    }

    /// The action that a packet with this hash runs; `None` for an empty group.
    pub fn choose<'a>(&'a self, target: &'a EntryTarget, hash: u64) -> Option<&'a ActionCall> {
        let actions = self.actions(target);
        let at = choose(actions.iter().map(|(_, weight)| *weight), hash)?;
        Some(actions[at].0)
    }

    /// Checks that a table which uses the profile permits an action, or that no table uses it.
    fn check_action(&self, pipeline: &Pipeline, action: &ActionCall) -> Result<()> {
        let mut refused = None;
        for table in users(pipeline, self.id) {
            match check_call(pipeline, table, action, false) {
                Ok(()) => return Ok(()),
                Err(reason) => refused = refused.or(Some(reason)),
            }
        }
        let checked = match refused {
            Some(reason) => Err(reason),
            None if action.action.index() >= pipeline.actions.len() => {
                Err(EntryError::Action { action: action.action.0.to_string() })
            }
            None => check_arguments(pipeline, action),
        };
        checked.map_err(ProfileError::Action)
    }

    fn check_group(&self, group: &Group) -> Result<()> {
        let mut sum = 0u64;
        for (member, weight) in &group.members {
            if !self.members.contains_key(member) {
                return Err(ProfileError::NoMember(*member));
            }
            if *weight == 0 {
                return Err(ProfileError::Weight);
            }
            sum += if group.counts_members { 1 } else { u64::from(*weight) };
        }
        if group.max_size != 0 && sum > u64::from(group.max_size) {
            return Err(ProfileError::GroupFull { size: group.max_size });
        }
        Ok(())
    }

    fn count_members(&mut self, group: &Group, begins: bool) {
        for id in group.members.keys() {
            if let Some(member) = self.members.get_mut(id) {
                member.groups = if begins { member.groups + 1 } else { member.groups.saturating_sub(1) };
            }
        }
    }
}

/// Checks that a table permits the action of a member that its entries lead to.
fn permitted(pipeline: &Pipeline, table: TableId, action: &ActionCall) -> Result<()> {
    check_call(pipeline, &pipeline[table], action, false).map_err(|_| ProfileError::OtherTable {
        table: pipeline[table].name.clone(),
        action: pipeline[action.action].name.clone(),
    })
}

/// The tables that a profile implements.
pub fn users(pipeline: &Pipeline, profile: ExternId) -> impl Iterator<Item = &Table> {
    pipeline.tables.iter().filter(move |t| t.implementation == Some(profile))
}

/// The index that a hash selects: `hash` modulo the sum of the shares, with each index repeated as often as its share says.
/// With equal shares this is what BMv2 does. `None` if there are no shares.
pub fn choose(weights: impl Iterator<Item = u32> + Clone, hash: u64) -> Option<usize> {
    let sum: u64 = weights.clone().map(u64::from).sum();
    let mut rest = hash.checked_rem(sum)?;
    for (at, weight) in weights.enumerate() {
        match rest.checked_sub(u64::from(weight)) {
            Some(left) => rest = left,
            None => return Some(at),
        }
    }
    None
}

/// The hash over a table's selector keys, in order and filled up with zero bits to a whole byte; `keys` are the values of
/// all its keys. Zero if it has no selector.
pub fn selector_hash<'k>(pipeline: &Pipeline, table: &Table, keys: impl Iterator<Item = &'k BigUint>) -> u64 {
    let implementation = table.implementation.map(|id| &pipeline[id].kind);
    let Some(ExternKind::ActionSelector { algorithm, .. }) = implementation else { return 0 };
    let mut data = BitString::new();
    for (key, value) in table.keys.iter().zip(keys) {
        if !key.kind.is_matched() {
            data.push(value, key.expr.ty.width());
        }
    }
    hash(*algorithm, &data.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::choose;

    #[test]
    fn shares_are_counted_in_order_and_nothing_is_chosen_from_nothing() {
        let pick = |weights: &[u32], hash| choose(weights.iter().copied(), hash);
        assert_eq!(pick(&[], 7), None);
        assert_eq!(pick(&[0, 0], 7), None);
        assert_eq!((0..8).map(|h| pick(&[1, 1, 1], h).unwrap()).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2, 0, 1]);
        assert_eq!((0..7).map(|h| pick(&[2, 0, 1, 3], h).unwrap()).collect::<Vec<_>>(), [0, 0, 2, 3, 3, 3, 0]);
        assert_eq!(pick(&[u32::MAX; 9], u64::from(u32::MAX) * 8), Some(8));
    }
}
