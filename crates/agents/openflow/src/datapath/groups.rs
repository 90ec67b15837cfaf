//! Groups: their messages, and the flows and groups that lead to them.
//!
//! The outputs of all and indirect groups are in the flows that lead to them. Select and fast-failover groups have an entry of
//! their own in the program, which has those buckets that packets may use now.

use std::collections::BTreeSet;
use std::time::Instant;

use hopwright_dataplane::Count;

use super::program::{BucketTarget, Installed};
use super::{Datapath, Flow, GROUPS, MAX_ACTIONS, MAX_BUCKETS, Removed, outputs};
use crate::codec::reply::{GroupView, Removal};
use crate::codec::request::{Bucket, GroupCommand, GroupKind, GroupMod};
use crate::codec::{Action, GROUP_ALL, GROUP_ANY, Refusal, port};

#[derive(Debug)]
pub(super) struct Group {
    pub kind: GroupKind,
    pub buckets: Vec<Bucket>,
    /// The buckets of a group that has an entry of its own.
    placed: Vec<Placed>,
    /// Its weights in the program.
    weights: Vec<u16>,
    created: Instant,
    /// What flows have sent through a group without an entry that are gone or have changed.
    passed: Count,
}

/// A bucket in the program.
#[derive(Debug)]
struct Placed {
    id: u32,
    outputs: Installed,
    /// What its number had counted before.
    base: Count,
}

impl GroupKind {
    /// Whether packets use one bucket, by an entry of the group's own.
    pub(super) fn has_entry(self) -> bool {
        matches!(self, GroupKind::Select | GroupKind::FastFailover)
    }
}

fn leads_to(buckets: &[Bucket]) -> impl Iterator<Item = u32> {
    buckets.iter().flat_map(|bucket| &bucket.actions).filter_map(|action| match action {
        Action::Group(group) => Some(*group),
        _ => None,
    })
}

fn added(count: Count, more: Count) -> Count {
    Count { packets: count.packets + more.packets, bytes: count.bytes + more.bytes }
}

fn since(now: Count, base: Count) -> Count {
    Count { packets: now.packets - base.packets, bytes: now.bytes - base.bytes }
}

impl Datapath {
    /// Carries out a group message.
    pub(crate) fn group_mod(&mut self, request: &GroupMod) -> Result<Vec<Removed>, Refusal> {
        if request.command == GroupCommand::Delete {
            return self.delete_groups(request.group);
        }
        self.check_group(request)?;
        let GroupMod { kind, group, .. } = *request;
        self.settle_flows_through(group);
        let placed = self.place_buckets(request)?;
        let old = self.around.groups.get(&group);
        let (created, passed) = old.map_or_else(|| (Instant::now(), Count::default()), |old| (old.created, old.passed));
        let new = Group { kind, buckets: request.buckets.clone(), placed, weights: Vec::new(), created, passed };
        let old = self.around.groups.insert(group, new);
        let old_has_entry = old.as_ref().is_some_and(|old| old.kind.has_entry());
        let followed = self.write_group(group, !old_has_entry).and_then(|()| {
            let users = self.users(group);
            self.wanted(&users).and_then(|wanted| self.reinstall(wanted))
        });
        if followed.is_err() {
            self.put_group_back(group, old);
            return Err(Refusal::GROUP_BUCKETS);
        }
        self.forget_packet_outs_if(|actions| actions.iter().any(|action| matches!(action, Action::Group(_))));
        if let Some(old) = old {
            if old_has_entry && !kind.has_entry() {
                self.program.delete_select(group);
            }
            self.release_buckets(old.placed);
        }
        self.rewrite_groups_above(group);
        self.liveness_changed();
        Ok(Vec::new())
    }

    fn delete_groups(&mut self, group: u32) -> Result<Vec<Removed>, Refusal> {
        let groups: Vec<u32> = match group {
            GROUP_ALL => self.around.groups.keys().copied().collect(),
            _ => self.around.groups.keys().copied().filter(|known| *known == group).collect(),
        };
        let above =
            |group: &u32| self.around.groups.values().any(|other| leads_to(&other.buckets).any(|to| to == *group));
        if group != GROUP_ALL && groups.iter().any(above) {
            return Err(Refusal::GROUP_CHAINED);
        }
        let mut removed = Vec::new();
        for group in groups {
            let users = self.users(group);
            removed.extend(self.remove_all(users, Removal::GroupDelete));
            self.forget_packet_outs_if(|actions| actions.iter().any(|action| matches!(action, Action::Group(_))));
            self.forget_group(group);
        }
        self.liveness_changed();
        Ok(removed)
    }

    fn check_group(&self, request: &GroupMod) -> Result<(), Refusal> {
        let GroupMod { command, kind, group, ref buckets } = *request;
        let known = self.around.groups.contains_key(&group);
        match command {
            GroupCommand::Add if known => return Err(Refusal::GROUP_EXISTS),
            GroupCommand::Modify if !known => return Err(Refusal::GROUP_UNKNOWN),
            _ if group > 0xffff_ff00 => return Err(Refusal::GROUP_INVALID),
            _ if !known && self.around.groups.len() >= GROUPS as usize => return Err(Refusal::GROUP_FULL),
            _ => {}
        }
        let actions: usize = buckets.iter().map(|bucket| bucket.actions.len()).sum();
        if buckets.len() > MAX_BUCKETS || actions > MAX_ACTIONS {
            return Err(Refusal::GROUP_BUCKETS);
        }
        if kind == GroupKind::Indirect && buckets.len() != 1 {
            return Err(Refusal::GROUP_INVALID);
        }
        let watches = |bucket: &Bucket| bucket.watch_port != port::ANY || bucket.watch_group != GROUP_ANY;
        if kind == GroupKind::FastFailover && !buckets.iter().all(watches) {
            return Err(Refusal::GROUP_WATCH);
        }
        if self.reaches(leads_to(buckets).collect(), group) {
            return Err(Refusal::GROUP_LOOP);
        }
        Ok(())
    }

    /// Whether packets that go to some groups may get to another one.
    fn reaches(&self, mut from: Vec<u32>, to: u32) -> bool {
        let mut seen = BTreeSet::new();
        while let Some(group) = from.pop() {
            if group == to {
                return true;
            }
            if seen.insert(group)
                && let Some(group) = self.around.groups.get(&group)
            {
                from.extend(leads_to(&group.buckets));
            }
        }
        false
    }

    /// Puts the buckets of a group in the program, if it is one with an entry of its own.
    fn place_buckets(&mut self, request: &GroupMod) -> Result<Vec<Placed>, Refusal> {
        let lists =
            request.buckets.iter().map(|bucket| outputs::of_actions(&bucket.actions, None, false, &self.around));
        let lists = lists.collect::<Result<Vec<_>, _>>()?;
        let mut placed = Vec::new();
        if !request.kind.has_entry() {
            return Ok(placed);
        }
        for list in lists {
            let one = self.program.install(list).and_then(|outputs| match self.program.take_bucket() {
                Some(id) => Ok(Placed { id, outputs, base: self.program.bucket_count(id) }),
                None => {
                    self.program.release(&outputs);
                    Err(Refusal::GROUP_BUCKETS)
                }
            });
            match one {
                Ok(one) => placed.push(one),
                Err(_) => {
                    self.release_buckets(placed);
                    return Err(Refusal::GROUP_BUCKETS);
                }
            }
        }
        Ok(placed)
    }

    fn release_buckets(&mut self, placed: Vec<Placed>) {
        for bucket in placed {
            self.program.release(&bucket.outputs);
            self.program.give_back_bucket(bucket.id);
        }
    }

    /// Writes the entry of a group that has one.
    fn write_group(&mut self, number: u32, is_new: bool) -> Result<(), Refusal> {
        let weights = self.weights(number);
        let Some(group) = self.around.groups.get_mut(&number).filter(|group| group.kind.has_entry()) else {
            return Ok(());
        };
        let targets = group.placed.iter().zip(&weights).map(|(bucket, weight)| BucketTarget {
            id: bucket.id,
            outputs: &bucket.outputs,
            weight: *weight,
        });
        let written = self.program.put_select(number, targets, is_new);
        written.inspect_err(|error| tracing::debug!("a group is refused: {error}")).map_err(|_| Refusal::GROUP_FULL)?;
        group.weights = weights;
        Ok(())
    }

    /// The weights of a group's buckets in the program: of fast failover, the first live one's is all.
    fn weights(&self, group: u32) -> Vec<u16> {
        let Some(group) = self.around.groups.get(&group) else { return Vec::new() };
        let mut chosen = false;
        let weight = |bucket: &Bucket| match group.kind {
            _ if !self.is_live(bucket, 0) => 0,
            GroupKind::FastFailover => u16::from(!std::mem::replace(&mut chosen, true)),
            _ => bucket.weight,
        };
        group.buckets.iter().map(weight).collect()
    }

    /// Whether what a bucket watches is there (section 6.5); one that watches nothing is live.
    fn is_live(&self, bucket: &Bucket, depth: usize) -> bool {
        let port_lives = |number: u32| self.around.ports.get(&number).is_some_and(|port| port.is_live());
        // Groups may watch each other in a circle.
        let group_lives = |number: u32| {
            depth < 8
                && self
                    .around
                    .groups
                    .get(&number)
                    .is_some_and(|group| group.buckets.iter().any(|bucket| self.is_live(bucket, depth + 1)))
        };
        match (bucket.watch_port, bucket.watch_group) {
            (port::ANY, GROUP_ANY) => true,
            (port::ANY, group) => group_lives(group),
            (port, GROUP_ANY) => port_lives(port),
            (port, group) => port_lives(port) || group_lives(group),
        }
    }

    /// Ports or groups have changed: groups with an entry use those buckets that are live now.
    pub(super) fn liveness_changed(&mut self) {
        let changed = |(number, group): (&u32, &Group)| {
            (group.kind.has_entry() && self.weights(*number) != group.weights).then_some(*number)
        };
        let changed: Vec<u32> = self.around.groups.iter().filter_map(changed).collect();
        for group in changed {
            if let Err(refusal) = self.write_group(group, false) {
                tracing::error!("group {group} cannot follow a change of ports: {refusal:?}");
            }
        }
    }

    /// Groups with an entry that lead to a group without one have its outputs in themselves.
    fn rewrite_groups_above(&mut self, group: u32) {
        let above = |(number, other): (&u32, &Group)| {
            let leads =
                other.kind.has_entry() && *number != group && self.reaches(leads_to(&other.buckets).collect(), group);
            leads.then_some(*number)
        };
        let above: Vec<u32> = self.around.groups.iter().filter_map(above).collect();
        self.rewrite_groups(&above);
    }

    /// Writes groups with an entry again, because the ports or groups that they lead to have changed.
    pub(super) fn rewrite_groups(&mut self, groups: &[u32]) {
        for number in groups {
            let Some(Group { kind, buckets, .. }) = self.around.groups.get(number) else { continue };
            let request =
                GroupMod { command: GroupCommand::Modify, kind: *kind, group: *number, buckets: buckets.clone() };
            let placed = self.place_buckets(&request);
            let written = placed.and_then(|placed| {
                let Some(group) = self.around.groups.get_mut(number) else { return Ok(placed) };
                let old = std::mem::replace(&mut group.placed, placed);
                self.write_group(*number, false).map(|()| old)
            });
            match written {
                Ok(old) => self.release_buckets(old),
                Err(refusal) => tracing::error!("group {number} cannot follow a change: {refusal:?}"),
            }
        }
    }

    /// Makes a group what it was, because its flows cannot follow the change.
    fn put_group_back(&mut self, group: u32, old: Option<Group>) {
        let Some(new) = self.around.groups.remove(&group) else { return };
        let old_has_entry = old.as_ref().is_some_and(|old| old.kind.has_entry());
        self.around.groups.extend(old.map(|old| (group, old)));
        if old_has_entry {
            if let Err(refusal) = self.write_group(group, false) {
                tracing::error!("group {group} cannot be changed back: {refusal:?}");
            }
        } else if new.kind.has_entry() {
            self.program.delete_select(group);
        }
        self.release_buckets(new.placed);
    }

    /// The flows that lead to a group, also by other groups.
    pub(super) fn users(&self, group: u32) -> Vec<u32> {
        let uses = |flow: &Flow| {
            let direct: Vec<u32> = flow.groups().collect();
            !direct.is_empty() && self.reaches(direct, group)
        };
        self.flows.iter().filter(|(_, flow)| uses(flow)).map(|(id, _)| *id).collect()
    }

    pub(super) fn forget_group(&mut self, group: u32) {
        if let Some(old) = self.around.groups.remove(&group) {
            if old.kind.has_entry() {
                self.program.delete_select(group);
            }
            self.release_buckets(old.placed);
        }
    }

    /// The groups without an entry that a flow's packets go through, each as often as they do.
    fn through(&self, flow: &Flow) -> Vec<u32> {
        let mut waiting: Vec<u32> = flow.groups().collect();
        let mut found = Vec::new();
        while let Some(number) = waiting.pop() {
            let Some(group) = self.around.groups.get(&number).filter(|group| !group.kind.has_entry()) else { continue };
            found.push(number);
            if found.len() > MAX_ACTIONS {
                break;
            }
            waiting.extend(leads_to(&group.buckets));
        }
        found
    }

    /// Counts what a flow has sent through groups, because it or they are about to change.
    pub(super) fn settle(&mut self, id: u32) {
        let now = self.program.flow_count(id);
        let Some(flow) = self.flows.get_mut(&id) else { return };
        let more = since(now, std::mem::replace(&mut flow.settled, now));
        for number in self.through(&self.flows[&id]) {
            if let Some(group) = self.around.groups.get_mut(&number) {
                group.passed = added(group.passed, more);
            }
        }
    }

    fn settle_flows_through(&mut self, group: u32) {
        self.users(group).into_iter().for_each(|id| self.settle(id));
    }

    /// What a group has counted, and each of its buckets.
    fn group_counts(&self, number: u32, group: &Group) -> (Count, Vec<Count>) {
        if group.kind.has_entry() {
            let buckets: Vec<Count> =
                group.placed.iter().map(|bucket| since(self.program.bucket_count(bucket.id), bucket.base)).collect();
            return (buckets.iter().fold(Count::default(), |sum, count| added(sum, *count)), buckets);
        }
        let users = self.users(number);
        let count = users.iter().fold(group.passed, |sum, id| {
            let flow = &self.flows[id];
            let more = since(self.program.flow_count(*id), flow.settled);
            self.through(flow).iter().filter(|through| **through == number).fold(sum, |sum, _| added(sum, more))
        });
        (count, vec![count; group.buckets.len()])
    }

    /// A group, or all of them.
    pub(crate) fn group_views(&self, group: u32) -> Vec<GroupView<'_>> {
        let wanted = |number: &u32| group == GROUP_ALL || group == GROUP_ANY || *number == group;
        let pair = |count: &Count| (count.packets, count.bytes);
        let mut found: Vec<_> = self
            .around
            .groups
            .iter()
            .filter(|(number, _)| wanted(number))
            .map(|(number, group)| {
                let (count, buckets) = self.group_counts(*number, group);
                GroupView {
                    group: *number,
                    kind: group.kind,
                    buckets: &group.buckets,
                    flows: self.users(*number).len() as u32,
                    age: group.created.elapsed(),
                    count: pair(&count),
                    bucket_counts: buckets.iter().map(pair).collect(),
                }
            })
            .collect();
        found.sort_unstable_by_key(|group| group.group);
        found
    }
}
