//! Action profiles, selectors and meters: writing and reading them, what entries refer to, and carrying them over to another
//! program.

use hopwright_dataplane::{EntryTarget, Group, Rates, VirtualDataPlane, WeightedAction};
use hopwright_ir::{ActionCall, ExternId, ExternKind, MatchValue, TableEntry, TableId};

use crate::change::{Change, Values};
use crate::device::call_in;
use crate::failure::{Failure, Result, exhausted, exists, invalid, not_found, unimplemented};
use crate::proto::v1;
use crate::resources::{array, cells};
use crate::schema::{Profile, Schema, Table};
use crate::state::{State, modify_only};
use crate::table;
use v1::entity::Entity;
use v1::table_action::Type as Acts;
use v1::update::Type;

/// What packets that hit an entry run.
#[derive(Clone, Debug)]
pub(crate) enum Runs {
    Action(ActionCall),
    /// In tables with an action profile.
    Target(EntryTarget),
}

/// The action that a client gives an entry.
pub(crate) fn runs(schema: &Schema, t: &Table, request: &v1::TableAction) -> Result<Runs> {
    let Some(profile) = t.profile.and_then(|id| schema.action_profiles.get(&id)) else {
        return table::action(t, request, false).map(Runs::Action);
    };
    let name = &t.name;
    let target = match &request.r#type {
        Some(Acts::ActionProfileMemberId(id)) => EntryTarget::Member(*id),
        Some(Acts::ActionProfileGroupId(id)) if profile.selector => EntryTarget::Group(*id),
        Some(Acts::ActionProfileActionSet(set)) if profile.selector || set.action_profile_actions.len() == 1 => {
            if set.action_selection_mode == v1::action_profile_action_set::ActionSelectionMode::Random as i32 {
                return Err(unimplemented("a random choice of a set's actions is not supported yet"));
            }
            let mut actions = Vec::with_capacity(set.action_profile_actions.len());
            for request in &set.action_profile_actions {
                use v1::action_profile_action::WatchKind;
                match &request.watch_kind {
                    None | Some(WatchKind::Watch(0)) => {}
                    Some(WatchKind::WatchPort(port)) if port.is_empty() => {}
                    Some(_) => return Err(no_watch()),
                }
                let action = request.action.as_ref().ok_or_else(|| invalid(format!("`{name}`: no action")))?;
                let action = table::call(t, action, false)?;
                actions.push(WeightedAction { action, weight: weight(request.weight)? });
            }
            check_size(profile, 0, actions.iter().map(|a| a.weight))?;
            EntryTarget::Set(actions)
        }
        Some(Acts::ActionProfileGroupId(_) | Acts::ActionProfileActionSet(_)) => {
            return Err(invalid(format!(
                "`{}` is no action selector: entries of `{name}` name a member",
                profile.name
            )));
        }
        Some(Acts::Action(_)) => {
            let wanted = if profile.selector { "member, group or set of actions" } else { "member" };
            return Err(invalid(format!("entries of `{name}` name a {wanted} of `{}`", profile.name)));
        }
        None => return Err(invalid(format!("`{name}`: no action"))),
    };
    Ok(Runs::Target(target))
}

/// Clients may express "no watch port" by number 0 or an empty name.
fn no_watch() -> Failure {
    unimplemented("members that are only used while a port is up (`watch`) are not supported yet")
}

fn weight(request: i32) -> Result<u32> {
    u32::try_from(request).ok().filter(|w| *w > 0).ok_or_else(|| invalid("a weight must be above zero"))
}

/// Checks the sum of weights, or the number of members, against the bound of the group or else of the program.
fn check_size(profile: &Profile, request: u32, weights: impl Iterator<Item = u32>) -> Result<()> {
    let most = if request != 0 { request } else { profile.max_group_size };
    if let Some(heaviest) = profile.of_members {
        let (name, weights) = (&profile.name, weights.collect::<Vec<_>>());
        if let Some(weight) = weights.iter().find(|w| heaviest != 0 && **w > heaviest) {
            return Err(invalid(format!("`{name}`: a weight is {weight}, and may be {heaviest}")));
        }
        if most != 0 && weights.len() > most as usize {
            return Err(exhausted(format!("`{name}`: there are {} members, and may be {most}", weights.len())));
        }
        return Ok(());
    }
    let sum: u64 = weights.map(u64::from).sum();
    if most != 0 && sum > u64::from(most) {
        let name = &profile.name;
        return Err(exhausted(format!("`{name}`: the weights are together {sum}, and may be {most}")));
    }
    Ok(())
}

/// An entry's action as a message.
fn shown(t: &Table, runs: &Runs) -> Option<v1::TableAction> {
    let acts = match runs {
        Runs::Action(call) => return table::table_action(t, call),
        Runs::Target(EntryTarget::Member(id)) => Acts::ActionProfileMemberId(*id),
        Runs::Target(EntryTarget::Group(id)) => Acts::ActionProfileGroupId(*id),
        Runs::Target(EntryTarget::Set(set)) => {
            let action = |a: &WeightedAction| v1::ActionProfileAction {
                action: table::plain_action(t, &a.action),
                weight: a.weight as i32,
                ..Default::default()
            };
            let actions = set.iter().map(action).collect();
            Acts::ActionProfileActionSet(v1::ActionProfileActionSet {
                action_profile_actions: actions,
                ..Default::default()
            })
        }
    };
    Some(v1::TableAction { r#type: Some(acts) })
}

/// Converts rates from messages.
pub(crate) fn rates(request: &v1::MeterConfig) -> Result<Rates> {
    let number = |n: i64| u64::try_from(n).map_err(|_| invalid("a rate or burst below zero"));
    if request.eburst != 0 {
        return Err(invalid("an excess burst is for meters of one rate"));
    }
    let (cir, pir) = (number(request.cir)?, number(request.pir)?);
    if cir > pir {
        return Err(invalid(format!("the committed rate {cir} is above the peak rate {pir}")));
    }
    Ok(Rates { cir, cburst: number(request.cburst)?, pir, pburst: number(request.pburst)? })
}

fn config(rates: Rates) -> v1::MeterConfig {
    let number = |n: u64| n as i64;
    v1::MeterConfig {
        cir: number(rates.cir),
        cburst: number(rates.cburst),
        pir: number(rates.pir),
        pburst: number(rates.pburst),
        eburst: 0,
    }
}

fn no_counters(request: bool) -> Result<()> {
    if request { Err(unimplemented("counters of meters are not supported yet")) } else { Ok(()) }
}

/// Entries.
impl State {
    /// An entry's action; `None` if there is no such entry.
    pub(crate) fn entry_runs(&self, at: TableId, matches: &[MatchValue], priority: i32) -> Option<Runs> {
        match self.vdp.pipeline()[at].implementation {
            Some(_) => self.vdp.control()[at].target(matches, priority).map(Runs::Target),
            None => self.vdp.control()[at].get(matches, priority).map(Runs::Action),
        }
    }

    /// An entry as a message, without its metadata and direct resources.
    pub(crate) fn show(&self, t: &Table, found: &TableEntry) -> v1::TableEntry {
        let mut entry = table::entry(t, found);
        if t.profile.is_some() {
            let runs = self.entry_runs(t.at, &found.matches, found.priority);
            entry.action = runs.and_then(|runs| shown(t, &runs));
        }
        entry
    }

    /// Checks that an entry's meter may be written.
    pub(crate) fn check_direct_meter(&self, t: &Table, request: &v1::TableEntry) -> Result<()> {
        no_counters(request.meter_counter_data.is_some())?;
        match (&request.meter_config, t.direct_meter) {
            (Some(_), None) => Err(invalid(format!("table `{}` has no direct meter", t.name))),
            (Some(_), Some(_)) if request.is_default_action => Err(invalid("default entries are not measured")),
            (Some(config), Some(_)) => rates(config).map(|_| ()),
            (None, _) => Ok(()),
        }
    }

    /// The meter of an entry as a message; `None` if it has no rates.
    pub(crate) fn direct_meter(&self, t: &Table, found: &TableEntry) -> Result<Option<v1::MeterConfig>> {
        Ok(self.vdp.control()[t.at].direct_meter(&found.matches, found.priority)?.map(config))
    }
}

/// Writing.
impl State {
    pub(crate) fn plan_member(&self, kind: Type, member: &v1::ActionProfileMember) -> Result<Vec<Change>> {
        let schema = &self.program.schema;
        let profile = array(&schema.action_profiles, member.action_profile_id, "action profile")?;
        let (at, id) = (profile.at, member.member_id);
        if id == 0 {
            return Err(invalid("a member has a number above zero"));
        }
        let there = self.vdp.control().profile(at)?.member(id).is_some();
        check(&profile.name, "member", kind, id, there)?;
        let action = || {
            let action = member.action.as_ref().ok_or_else(|| invalid("a member needs an action"))?;
            let tables = profile.tables.iter().filter_map(|id| schema.tables.get(id));
            // Tables that share the profile may list different actions.
            let mut refused = invalid(format!("no table uses `{}`", profile.name));
            for t in tables {
                match table::call(t, action, false) {
                    Ok(call) => return Ok(call),
                    Err(reason) => refused = reason,
                }
            }
            Err(refused)
        };
        Ok(match kind {
            // As with entries, an action that is not named stays.
            Type::Modify if member.action.is_none() => Vec::new(),
            Type::Insert | Type::Modify => vec![Change::Member(at, id, Some(action()?))],
            _ => vec![Change::Member(at, id, None)],
        })
    }

    pub(crate) fn plan_members_group(&self, kind: Type, entry: &v1::ActionProfileGroup) -> Result<Vec<Change>> {
        let profile = array(&self.program.schema.action_profiles, entry.action_profile_id, "action profile")?;
        let (at, id) = (profile.at, entry.group_id);
        if id == 0 {
            return Err(invalid("a group has a number above zero"));
        }
        if !profile.selector {
            return Err(invalid(format!("`{}` is no action selector: it has no groups", profile.name)));
        }
        let there = self.vdp.control().profile(at)?.group(id).is_some();
        check(&profile.name, "group", kind, id, there)?;
        let group = if kind == Type::Delete { None } else { Some(group(profile, entry)?) };
        Ok(vec![Change::Group(at, id, group)])
    }

    pub(crate) fn plan_meter(&self, kind: Type, entry: &v1::MeterEntry) -> Result<Vec<Change>> {
        modify_only(kind, "a meter")?;
        no_counters(entry.counter_data.is_some())?;
        let meter = array(&self.program.schema.meters, entry.meter_id, "meter")?;
        let range = cells(meter, entry.index.as_ref())?;
        let rates = entry.config.as_ref().map(rates).transpose()?;
        Ok(vec![Change::Rates(meter.at, Values::Same(range, rates))])
    }

    pub(crate) fn plan_direct_meter(&self, kind: Type, entry: &v1::DirectMeterEntry) -> Result<Vec<Change>> {
        modify_only(kind, "a direct meter")?;
        no_counters(entry.counter_data.is_some())?;
        let key = entry.table_entry.as_ref().ok_or_else(|| invalid("no table entry"))?;
        let t = table::table(&self.program.schema, key.table_id)?;
        if t.direct_meter.is_none() {
            return Err(invalid(format!("table `{}` has no direct meter", t.name)));
        }
        if key.is_default_action {
            return Err(invalid("default entries are not measured"));
        }
        let key = (t.at, table::matches(t, key)?, table::priority(t, key)?);
        let rates = entry.config.as_ref().map(rates).transpose()?;
        Ok(self.plan_rates(&key, rates)?.into_iter().collect())
    }
}

/// Checks that what an update is about is there, or is not.
fn check(profile: &str, what: &str, kind: Type, id: u32, there: bool) -> Result<()> {
    match (kind, there) {
        (Type::Insert, true) => Err(exists(format!("`{profile}`: {what} {id} exists already"))),
        (Type::Modify | Type::Delete, false) => Err(not_found(format!("`{profile}` has no {what} {id}"))),
        _ => Ok(()),
    }
}

fn group(profile: &Profile, request: &v1::ActionProfileGroup) -> Result<Group> {
    let max_size = u32::try_from(request.max_size).map_err(|_| invalid("a maximum size below zero"))?;
    if profile.max_group_size != 0 && max_size > profile.max_group_size {
        let most = profile.max_group_size;
        return Err(invalid(format!("groups of `{}` have at most {most} members, not {max_size}", profile.name)));
    }
    let mut group = Group { max_size, counts_members: profile.of_members.is_some(), ..Group::default() };
    for member in &request.members {
        use v1::action_profile_group::member::WatchKind;
        match &member.watch_kind {
            None | Some(WatchKind::Watch(0)) => {}
            Some(WatchKind::WatchPort(port)) if port.is_empty() => {}
            Some(_) => return Err(no_watch()),
        }
        if group.members.insert(member.member_id, weight(member.weight)?).is_some() {
            return Err(invalid(format!("member {} is there twice", member.member_id)));
        }
    }
    check_size(profile, max_size, group.members.values().copied())?;
    Ok(group)
}

/// Reading.
impl State {
    /// The profile with this id, or all of them in order if it is zero.
    fn profiles<'s>(&self, schema: &'s Schema, id: u32) -> Result<Vec<(u32, &'s Profile)>> {
        if id != 0 {
            return Ok(vec![(id, array(&schema.action_profiles, id, "action profile")?)]);
        }
        let mut all: Vec<_> = schema.action_profiles.iter().map(|(id, profile)| (*id, profile)).collect();
        all.sort_unstable_by_key(|(id, _)| *id);
        Ok(all)
    }

    pub(crate) fn read_members(&self, asked: &v1::ActionProfileMember, to: &mut Vec<Entity>) -> Result<()> {
        let schema = &self.program.schema;
        for (action_profile_id, profile) in self.profiles(schema, asked.action_profile_id)? {
            let Some(t) = profile.tables.first().and_then(|id| schema.tables.get(id)) else { continue };
            for (member_id, action) in self.vdp.control().profile(profile.at).map(|p| p.members())? {
                if asked.member_id == 0 || asked.member_id == member_id {
                    let action = table::plain_action(t, &action);
                    let member = v1::ActionProfileMember { action_profile_id, member_id, action };
                    to.push(Entity::ActionProfileMember(member));
                }
            }
        }
        Ok(())
    }

    pub(crate) fn read_groups(&self, asked: &v1::ActionProfileGroup, to: &mut Vec<Entity>) -> Result<()> {
        for (action_profile_id, profile) in self.profiles(&self.program.schema, asked.action_profile_id)? {
            for (group_id, group) in self.vdp.control().profile(profile.at).map(|p| p.groups())? {
                if asked.group_id == 0 || asked.group_id == group_id {
                    let member = |(id, weight): (&u32, &u32)| v1::action_profile_group::Member {
                        member_id: *id,
                        weight: *weight as i32,
                        ..Default::default()
                    };
                    to.push(Entity::ActionProfileGroup(v1::ActionProfileGroup {
                        action_profile_id,
                        group_id,
                        members: group.members.iter().map(member).collect(),
                        max_size: group.max_size as i32,
                    }));
                }
            }
        }
        Ok(())
    }

    pub(crate) fn read_meter(&self, at: ExternId, index: u64) -> Result<Option<v1::MeterConfig>> {
        Ok(self.vdp.control().meter(at).and_then(|m| m.rates(index))?.map(config))
    }
}

/// Copies members and groups of an old program to a new one, as far as they fit.
pub(crate) fn carry_profiles(old: &VirtualDataPlane, new: &VirtualDataPlane) {
    for (at, object) in old.pipeline().externs.iter().enumerate() {
        let at = ExternId(at as u32);
        let to = new.pipeline().externs.iter().position(|e| e.name == object.name);
        let Some(to) = to.map(|to| ExternId(to as u32)) else { continue };
        let tables = new.pipeline().tables.iter().enumerate();
        let users: Vec<TableId> =
            tables.filter(|(_, t)| t.implementation == Some(to)).map(|(i, _)| TableId(i as u32)).collect();
        if let (Ok(from), Ok(profile)) = (old.control().profile(at), new.control().profile(to)) {
            for (id, action) in from.members() {
                if let Some(action) = users.iter().find_map(|user| call_in(old, &action, new, *user)) {
                    let _ = profile.insert_member(id, action);
                }
            }
            for (id, mut group) in from.groups() {
                group.members.retain(|member, _| profile.member(*member).is_some());
                let _ = profile.insert_group(id, group);
            }
        }
        if let (ExternKind::Meter { size, .. }, Ok(from), Ok(meter)) =
            (&object.kind, old.control().meter(at), new.control().meter(to))
        {
            for index in 0..*size {
                if let Ok(Some(rates)) = from.rates(index) {
                    let _ = meter.set_rates(index, Some(rates));
                }
            }
        }
    }
}

/// The action of an old program's entry in a new program; `None` if it does not fit.
pub(crate) fn carry_target(
    old: &VirtualDataPlane,
    (from, matches, priority): (TableId, &[MatchValue], i32),
    new: &VirtualDataPlane,
    to: TableId,
) -> Option<EntryTarget> {
    new.pipeline()[to].implementation?;
    match old.control()[from].target(matches, priority)? {
        EntryTarget::Set(set) => {
            let action = |a: WeightedAction| {
                Some(WeightedAction { action: call_in(old, &a.action, new, to)?, weight: a.weight })
            };
            Some(EntryTarget::Set(set.into_iter().map(action).collect::<Option<_>>()?))
        }
        other => Some(other),
    }
}
