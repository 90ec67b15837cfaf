//! What a controller expects of a batch, from P4Runtime's specification (sections 9 and 12): maps of what was written.

use std::collections::BTreeMap;

use hopwright_control::entity::{Action, Cells, DigestConfig, Entry, Key, MulticastGroup, Replica};
use hopwright_control::{Entity, Model, Operation, Target, Update};
use hopwright_dataplane::{Count, EntryTarget, Rates};
use hopwright_ir::{MatchValue, TableId};
use num_bigint::BigUint;

use crate::updates::Ids;

/// The cells of each array.
const CELLS: usize = 4;
/// Entries of each table, and members of the value set.
const SIZE: usize = 3;
/// The largest sum of the weights of a group.
const MAX_WEIGHTS: u32 = 4;

/// Copies, multicast group, and the most bytes.
type Session = (Vec<(u32, u32)>, Option<u16>, u32);

/// Everything that can be read, by what identifies it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Oracle {
    /// Which port an entry forwards to, its count, and its metadata.
    hosts: BTreeMap<u64, (Option<u64>, Count, u64)>,
    hosts_default: Option<u64>,
    /// By value, mask and priority.
    filters: BTreeMap<(u64, u64, i32), Option<Rates>>,
    /// Member or group.
    spread: BTreeMap<u64, (Option<u32>, Option<u32>)>,
    members: BTreeMap<u32, Option<u64>>,
    groups: BTreeMap<u32, BTreeMap<u32, u32>>,
    counts: [Count; CELLS],
    meters: [Option<Rates>; CELLS],
    numbers: [u64; CELLS],
    values: Vec<u64>,
    multicast: BTreeMap<u32, Vec<(u32, u32)>>,
    sessions: BTreeMap<u32, Session>,
    digest: Option<DigestConfig>,
}

fn number(value: &BigUint) -> u64 {
    u64::try_from(value).unwrap()
}

fn pairs(copies: &[Replica]) -> Vec<(u32, u32)> {
    copies.iter().map(|c| (c.port, c.instance)).collect()
}

impl Oracle {
    /// What is in the model.
    pub(crate) fn seen(model: &Model, ids: &Ids) -> Oracle {
        let control = model.control();
        let entries = |table: u32| {
            let at = model.schema().table(table).unwrap().at;
            control[at].entries().into_iter().map(move |e| (at, e.matches, e.priority))
        };
        let exact = |matches: &[MatchValue]| match &matches[0] {
            MatchValue::Exact(value) => number(value),
            other => panic!("{other:?}"),
        };
        let port = |target: Target| match target {
            Target::Action(call) => call.args.first().map(number),
            other => panic!("{other:?}"),
        };
        let mut seen = Oracle::default();
        for key in entries(ids.hosts) {
            let count = control[key.0].direct_count(&key.1, 0).unwrap();
            let noted = model.note(&key).map_or(0, |note| note.metadata.number);
            seen.hosts.insert(exact(&key.1), (port(model.target(&key).unwrap()), count, noted));
        }
        let hosts: TableId = model.schema().table(ids.hosts).unwrap().at;
        seen.hosts_default = port(Target::Action(control[hosts].default_action()));
        for (at, matches, priority) in entries(ids.filters) {
            let MatchValue::Ternary { value, mask } = &matches[0] else { panic!() };
            let rates = control[at].direct_meter(&matches, priority).unwrap();
            seen.filters.insert((number(value), number(mask), priority), rates);
        }
        for key in entries(ids.spread) {
            let to = match model.target(&key).unwrap() {
                Target::Profile(EntryTarget::Member(id)) => (Some(id), None),
                Target::Profile(EntryTarget::Group(id)) => (None, Some(id)),
                other => panic!("{other:?}"),
            };
            seen.spread.insert(exact(&key.1), to);
        }
        let paths = control.profile(model.schema().action_profiles[&ids.paths].at).unwrap();
        seen.members = paths.members().into_iter().map(|(id, call)| (id, call.args.first().map(number))).collect();
        seen.groups = paths.groups().into_iter().map(|(id, group)| (id, group.members)).collect();
        let (counts, meters) = (control.counter("counts").unwrap(), control.meter("meters").unwrap());
        let numbers = control.register("numbers").unwrap();
        for at in 0..CELLS {
            seen.counts[at] = counts.read(at as u64).unwrap();
            seen.meters[at] = meters.rates(at as u64).unwrap();
            seen.numbers[at] = number(&numbers.read(at as u64).unwrap());
        }
        let values = control.value_set(model.schema().value_sets[&ids.values].at).unwrap().read();
        seen.values = values.iter().map(|member| exact(member)).collect();
        seen.multicast = model.multicast_groups().iter().map(|(id, g)| (*id, pairs(&g.copies))).collect();
        for (id, copies) in &seen.multicast {
            let replicas = control.multicast_group(*id as u16).unwrap();
            assert!(replicas.iter().map(|r| (u32::from(r.port), u32::from(r.rid))).eq(copies.iter().copied()));
        }
        let session = |s: &hopwright_control::entity::CloneSession| (pairs(&s.copies), s.group, s.max_length);
        seen.sessions = model.clone_sessions().iter().map(|(id, s)| (*id, session(s))).collect();
        seen.digest = model.digests().configs().next().map(|(_, config)| config);
        seen
    }

    /// Multicast groups and clone sessions.
    pub(crate) fn copies(&self) -> impl PartialEq + std::fmt::Debug + use<> {
        (self.multicast.clone(), self.sessions.clone())
    }

    /// Makes an update, or says that it is refused.
    pub(crate) fn make(&mut self, update: &Update, ids: &Ids) -> bool {
        let Update { operation, entity } = update;
        let modifies = *operation == Operation::Modify;
        match entity {
            Entity::Entry(entry) if entry.key.table == ids.hosts => self.make_host(*operation, entry, ids),
            Entity::Entry(entry) if entry.key.table == ids.filters => self.make_filter(*operation, entry),
            Entity::Entry(entry) if entry.key.table == ids.spread => self.make_spread(*operation, entry),
            // The others have the program's entries, or are not there.
            Entity::Entry(_) => false,
            Entity::Default(entry) => {
                let port =
                    entry.action.as_ref().map_or(Some(None), |call| valid_call(&Action::Call(call.clone()), ids));
                let ok = modifies && entry.table == ids.hosts && port.is_some();
                if ok {
                    self.hosts_default = port.flatten();
                }
                ok
            }
            Entity::DirectCounter(key, count) => {
                let found = valid_exact(key).and_then(|value| self.hosts.get_mut(&value)).filter(|_| modifies);
                found.map(|found| found.1 = *count).is_some()
            }
            Entity::Counter(cells, count) => modifies && set(&mut self.counts, *cells, *count),
            Entity::Meter(cells, rates) => modifies && valid_rates(*rates) && set(&mut self.meters, *cells, *rates),
            Entity::Register(cells, value) => {
                modifies && value.bits() <= 12 && set(&mut self.numbers, *cells, number(value))
            }
            Entity::Member { id, action, .. } => {
                let used = self.groups.values().any(|group| group.contains_key(id))
                    || self.spread.values().any(|(member, _)| *member == Some(*id));
                let call = action.as_ref().map(|call| valid_call(&Action::Call(call.clone()), ids));
                let value = match call {
                    None if modifies => self.members.get(id).copied(),
                    call => call.flatten(),
                };
                put(&mut self.members, *operation, *id, value, used)
            }
            Entity::Group { id, members, .. } => {
                let used = self.spread.values().any(|(_, group)| *group == Some(*id));
                let map: BTreeMap<u32, u32> = members.iter().copied().collect();
                let valid = map.len() == members.len()
                    && map.iter().all(|(member, weight)| self.members.contains_key(member) && *weight > 0)
                    && map.values().sum::<u32>() <= MAX_WEIGHTS;
                put(&mut self.groups, *operation, *id, valid.then_some(map), used)
            }
            Entity::ValueSet(_, members) => {
                let values: Vec<Option<u64>> = members.iter().map(|member| valid_exact_fields(member)).collect();
                let ok = modifies && values.len() <= SIZE && values.iter().all(Option::is_some);
                if ok {
                    self.values = values.into_iter().flatten().collect();
                }
                ok
            }
            Entity::Multicast(id, MulticastGroup { copies, .. }) => {
                let group = valid_copies(copies).then(|| pairs(copies));
                let is_of_session = id.checked_sub(0x8000).is_some_and(|session| self.sessions.contains_key(&session));
                let ok = (1..=0xffff).contains(id) && !is_of_session;
                ok && put(&mut self.multicast, *operation, *id, group, false)
            }
            Entity::CloneSession(id, session) => {
                let copies = pairs(&session.copies);
                let valid = valid_copies(&session.copies)
                    && (session.group.is_none() || copies.is_empty() || matches!(copies[..], [(_, 0)]));
                let value = valid.then_some((copies, session.group, session.max_length));
                let ok = (0..0x8000).contains(id) && !self.multicast.contains_key(&(0x8000 + *id));
                ok && put(&mut self.sessions, *operation, *id, value, false)
            }
            Entity::Digest(id, config) => {
                let mut digests: BTreeMap<u32, DigestConfig> =
                    self.digest.map(|c| (ids.digest, c)).into_iter().collect();
                let ok = *id == ids.digest && put(&mut digests, *operation, *id, Some(*config), false);
                if ok {
                    self.digest = digests.get(id).copied();
                }
                ok
            }
            other => panic!("{other:?} is not generated"),
        }
    }

    fn make_host(&mut self, operation: Operation, entry: &Entry, ids: &Ids) -> bool {
        let Some(value) = valid_exact(&entry.key) else { return false };
        let before = self.hosts.get(&value).copied();
        let port = match (&entry.action, before) {
            (None, Some((port, ..))) if operation == Operation::Modify => Some(port),
            (action, _) => action.as_ref().and_then(|action| valid_call(action, ids)),
        };
        let count = entry.count.or(before.map(|(_, count, _)| count)).unwrap_or_default();
        let new = port.map(|port| (port, count, entry.metadata.number));
        let room = self.hosts.len() < SIZE || operation != Operation::Insert;
        entry.rates.is_none() && room && put(&mut self.hosts, operation, value, new, false)
    }

    fn make_filter(&mut self, operation: Operation, entry: &Entry) -> bool {
        let Key { fields, priority, .. } = &entry.key;
        let (value, mask) = match fields.as_slice() {
            [] => (0, 0),
            [(1, MatchValue::Ternary { value, mask })] => (number(value), number(mask)),
            _ => return false,
        };
        let valid = value & mask == value && mask < 256 && (mask != 0 || fields.is_empty()) && *priority > 0;
        let has_action = match &entry.action {
            Some(action) => matches!(action, Action::Call(call) if call.args.is_empty()),
            None => operation == Operation::Modify,
        };
        let room = self.filters.len() < SIZE || operation != Operation::Insert;
        let new = has_action.then_some(entry.rates);
        let (key, valid) = ((value, mask, *priority), valid && valid_rates(entry.rates) && entry.count.is_none());
        valid && room && put(&mut self.filters, operation, key, new, false)
    }

    fn make_spread(&mut self, operation: Operation, entry: &Entry) -> bool {
        let Some(value) = valid_exact(&entry.key) else { return false };
        let to = match (&entry.action, self.spread.get(&value)) {
            (None, before) => before.copied().filter(|_| operation == Operation::Modify),
            (Some(Action::Member(id)), _) => self.members.contains_key(id).then_some((Some(*id), None)),
            (Some(Action::Group(id)), _) => self.groups.contains_key(id).then_some((None, Some(*id))),
            (Some(_), _) => None,
        };
        let room = self.spread.len() < SIZE || operation != Operation::Insert;
        entry.rates.is_none() && entry.count.is_none() && room && put(&mut self.spread, operation, value, to, false)
    }
}

/// Inserts, modifies or deletes. A value is there if the update's is valid; `used` forbids to delete.
fn put<K: Ord, V>(map: &mut BTreeMap<K, V>, operation: Operation, key: K, value: Option<V>, used: bool) -> bool {
    let there = map.contains_key(&key);
    match (operation, value) {
        (Operation::Delete, _) => !used && map.remove(&key).is_some(),
        (_, None) => false,
        (_, Some(_)) if there != (operation == Operation::Modify) => false,
        (_, Some(value)) => {
            map.insert(key, value);
            true
        }
    }
}

fn set<T: Copy>(cells: &mut [T], at: Cells, value: T) -> bool {
    match at.index.map(|index| index as usize) {
        None => cells.fill(value),
        Some(index) if index < cells.len() => cells[index] = value,
        Some(_) => return false,
    }
    true
}

fn valid_rates(rates: Option<Rates>) -> bool {
    rates.is_none_or(|rates| rates.cir <= rates.pir)
}

fn valid_exact(key: &Key) -> Option<u64> {
    valid_exact_fields(&key.fields).filter(|_| key.priority == 0)
}

fn valid_exact_fields(fields: &[(u32, MatchValue)]) -> Option<u64> {
    match fields {
        [(1, MatchValue::Exact(value))] => Some(number(value)).filter(|value| *value < 256),
        _ => None,
    }
}

/// The port that a valid call forwards to.
fn valid_call(action: &Action, ids: &Ids) -> Option<Option<u64>> {
    let Action::Call(call) = action else { return None };
    match call.args.as_slice() {
        [(1, port)] if call.action == ids.forward => Some(Some(number(port))).filter(|_| port.bits() <= 9),
        [] if call.action == ids.drop => Some(None),
        _ => None,
    }
}

fn valid_copies(copies: &[Replica]) -> bool {
    copies.iter().all(|c| c.port < 512 && c.instance < 1 << 16)
}
