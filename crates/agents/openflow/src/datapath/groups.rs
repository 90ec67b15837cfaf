//! Groups: their messages, and the flows that lead to them.

use std::time::Instant;

use super::{Datapath, Flow, GROUPS, Group, MAX_ACTIONS, MAX_BUCKETS, Removed, outputs};
use crate::codec::reply::{GroupView, Removal};
use crate::codec::request::{Bucket, GroupCommand, GroupKind, GroupMod};
use crate::codec::{Action, GROUP_ALL, GROUP_ANY, Refusal, port};

impl Datapath {
    /// Carries out a group message.
    pub(crate) fn group_mod(&mut self, request: &GroupMod) -> Result<Vec<Removed>, Refusal> {
        let GroupMod { command, kind, group, .. } = *request;
        if command == GroupCommand::Delete {
            let groups: Vec<u32> = match group {
                GROUP_ALL => self.around.groups.keys().copied().collect(),
                _ => vec![group],
            };
            let mut removed = Vec::new();
            for group in groups.into_iter().filter(|group| self.around.groups.contains_key(group)).collect::<Vec<_>>() {
                let users = self.users(group);
                removed.extend(self.remove_all(users, Removal::GroupDelete));
                self.forget_packet_outs_to(group);
                self.forget_group(group);
            }
            return Ok(removed);
        }
        let known = self.around.groups.contains_key(&group);
        match command {
            GroupCommand::Add if known => return Err(Refusal::GROUP_EXISTS),
            GroupCommand::Modify if !known => return Err(Refusal::GROUP_UNKNOWN),
            _ if group > 0xffff_ff00 => return Err(Refusal::GROUP_INVALID),
            _ if !known && self.around.groups.len() >= GROUPS as usize => return Err(Refusal::GROUP_FULL),
            _ => {}
        }
        let actions: usize = request.buckets.iter().map(|bucket| bucket.actions.len()).sum();
        if request.buckets.len() > MAX_BUCKETS || actions > MAX_ACTIONS {
            return Err(Refusal::GROUP_BUCKETS);
        }
        if kind == GroupKind::Indirect && request.buckets.len() != 1 {
            return Err(Refusal::GROUP_INVALID);
        }
        let chained = |bucket: &Bucket| bucket.actions.iter().any(|action| matches!(action, Action::Group(_)));
        if request.buckets.iter().any(chained) {
            return Err(Refusal::GROUP_CHAINING);
        }
        let lists =
            request.buckets.iter().map(|bucket| outputs::of_actions(&bucket.actions, None, false, &self.around));
        let lists = lists.collect::<Result<Vec<_>, _>>()?;
        let mut installed = Vec::new();
        if kind == GroupKind::Select {
            for (list, bucket) in lists.into_iter().zip(&request.buckets) {
                match self.program.install(list) {
                    Ok(list) => installed.push((list, bucket.weight)),
                    Err(_) => {
                        installed.iter().for_each(|(list, _)| self.program.release(list));
                        return Err(Refusal::GROUP_BUCKETS);
                    }
                }
            }
            let old_is_select = self.around.groups.get(&group).is_some_and(|old| old.kind == GroupKind::Select);
            if let Err(error) = self.program.put_select(group, &installed, !old_is_select) {
                tracing::debug!("a group is refused: {error}");
                installed.iter().for_each(|(list, _)| self.program.release(list));
                return Err(Refusal::GROUP_FULL);
            }
        }
        let created = self.around.groups.get(&group).map_or_else(Instant::now, |old| old.created);
        let new = Group { kind, buckets: request.buckets.clone(), installed, created };
        let old = self.around.groups.insert(group, new);
        // The flows have the outputs of the buckets in themselves, unless it is a select group.
        let users = self.users(group);
        let followed = self.wanted(&users).and_then(|wanted| self.reinstall(wanted));
        if followed.is_err() {
            self.put_group_back(group, old);
            return Err(Refusal::GROUP_BUCKETS);
        }
        self.forget_packet_outs_to(group);
        if let Some(old) = old {
            if old.kind == GroupKind::Select && kind != GroupKind::Select {
                self.program.delete_select(group);
            }
            old.installed.iter().for_each(|(list, _)| self.program.release(list));
        }
        Ok(Vec::new())
    }

    /// Makes a group what it was, because its flows cannot follow the change.
    fn put_group_back(&mut self, group: u32, old: Option<Group>) {
        let Some(new) = self.around.groups.remove(&group) else { return };
        match &old {
            Some(old) if old.kind == GroupKind::Select => {
                if let Err(error) = self.program.put_select(group, &old.installed, new.kind != GroupKind::Select) {
                    tracing::error!("a group cannot be changed back: {error}");
                }
            }
            _ if new.kind == GroupKind::Select => self.program.delete_select(group),
            _ => {}
        }
        new.installed.iter().for_each(|(list, _)| self.program.release(list));
        self.around.groups.extend(old.map(|old| (group, old)));
    }

    pub(super) fn users(&self, group: u32) -> Vec<u32> {
        let uses = |flow: &Flow| flow.instructions.leads_to(port::ANY, group);
        self.flows.iter().filter(|(_, flow)| uses(flow)).map(|(id, _)| *id).collect()
    }

    pub(super) fn forget_group(&mut self, group: u32) {
        if let Some(old) = self.around.groups.remove(&group) {
            if old.kind == GroupKind::Select {
                self.program.delete_select(group);
            }
            old.installed.iter().for_each(|(list, _)| self.program.release(list));
        }
    }

    /// A group, or all of them.
    pub(crate) fn group_views(&self, group: u32) -> Vec<GroupView<'_>> {
        let wanted = |number: &u32| group == GROUP_ALL || group == GROUP_ANY || *number == group;
        let mut found: Vec<_> = self
            .around
            .groups
            .iter()
            .filter(|(number, _)| wanted(number))
            .map(|(number, group)| GroupView {
                group: *number,
                kind: group.kind,
                buckets: &group.buckets,
                flows: self.users(*number).len() as u32,
                age: group.created.elapsed(),
            })
            .collect();
        found.sort_unstable_by_key(|group| group.group);
        found
    }
}
