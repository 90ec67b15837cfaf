//! Multicast groups and clone sessions in the memories of `hw_replicate` and in front of it.

use std::collections::BTreeMap;

use hopwright_interp::{CloneSession, Replica};
use num_bigint::BigUint;

use super::cuckoo::Entries;
use super::{Access, Full, Write, accesses};
use crate::hir::Destinations;
use crate::map::{Map, MemoryKind};
use crate::sv::{GROUPS, LISTS, SESSIONS};

/// Ports that hardware knows.
const PORTS: u16 = 512;

/// Where a list is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct List {
    first: u32,
    length: u32,
}

/// What the memories of multicast groups and clone sessions hold. A packet finds a group or session as it was or as it is while a change is
/// written.
#[derive(Clone, Debug)]
pub struct CopyDriver {
    /// The number of the memory of lists and its words; none if the program makes no copies.
    lists: Option<(usize, u32)>,
    groups: Option<(usize, Entries)>,
    sessions: Option<(usize, Entries)>,
    /// Lists of groups by number; groups without members have none.
    places: BTreeMap<u16, List>,
    sessions_set: BTreeMap<u32, CloneSession>,
}

impl CopyDriver {
    /// The driver of a design without groups and sessions, as it starts.
    pub fn new(map: &Map) -> CopyDriver {
        let find = |name: &str| map.memories.iter().enumerate().find(|(_, memory)| memory.name == name);
        let lists = find(LISTS).and_then(|(number, memory)| match memory.kind {
            MemoryKind::Lists { words } => Some((number, words)),
            _ => None,
        });
        let bits = lists.map_or(0, |(_, words)| words.ilog2());
        let exact = |name: &str, of: Destinations| {
            find(name).and_then(|(number, memory)| match memory.kind {
                MemoryKind::Exact { buckets, slots, .. } => {
                    Some((number, Entries::new(of.number_width(), of.width(), buckets, slots)))
                }
                _ => None,
            })
        };
        let (groups, sessions) =
            (exact(GROUPS, Destinations::Group { bits }), exact(SESSIONS, Destinations::Session { bits }));
        CopyDriver { lists, groups, sessions, places: BTreeMap::new(), sessions_set: BTreeMap::new() }
    }

    /// The accesses that set the members of a group; without members, it makes no copies.
    ///
    /// # Errors
    /// There is no room for the group or its members, or a port is none of hardware. Nothing is changed then.
    pub fn set_group(&mut self, map: &Map, group: u16, replicas: &[Replica]) -> Result<Vec<Access>, Full> {
        let Some((memory, words)) = self.lists else { return Ok(Vec::new()) };
        if let Some(replica) = replicas.iter().find(|replica| replica.port >= PORTS) {
            return Err(Full(format!("it has no port {}", replica.port)));
        }
        let list = self.allocate(words, replicas.len() as u32)?;
        let mut groups = self.groups.clone();
        let heads = match &mut groups {
            Some((_, entries)) if list.length == 0 => entries.remove(&group.into()),
            Some((_, entries)) => entries.put(group.into(), head(words, list))?,
            None => Vec::new(),
        };
        let mut sessions = self.sessions.clone();
        let mut clones = Vec::new();
        if let Some((_, entries)) = &mut sessions {
            let those = self.sessions_set.iter().filter(|(_, session)| session.group == Some(group));
            for (number, session) in those {
                clones.extend(entries.put((*number).into(), session_word(words, list, session))?);
            }
        }
        let members: Vec<Write> = replicas
            .iter()
            .zip(list.first..)
            .map(|(Replica { rid, port }, addr)| Write { addr, data: (u32::from(*rid) << 9 | u32::from(*port)).into() })
            .collect();
        let mut all = accesses(map, memory, &members);
        all.extend(groups.iter().flat_map(|(memory, _)| accesses(map, *memory, &heads)));
        all.extend(sessions.iter().flat_map(|(memory, _)| accesses(map, *memory, &clones)));
        (self.groups, self.sessions) = (groups, sessions);
        self.places.remove(&group);
        if list.length > 0 {
            self.places.insert(group, list);
        }
        Ok(all)
    }

    /// The accesses that set a clone session, or remove it.
    ///
    /// # Errors
    /// There is no room for it, or its port is none of hardware. Nothing is changed then.
    pub fn set_session(&mut self, map: &Map, number: u32, to: Option<CloneSession>) -> Result<Vec<Access>, Full> {
        let (Some((_, words)), Some((memory, entries))) = (self.lists, &mut self.sessions) else {
            return Ok(Vec::new());
        };
        let writes = match to {
            Some(CloneSession { port: Some(port), .. }) if port >= PORTS => {
                return Err(Full(format!("it has no port {port}")));
            }
            Some(session) => {
                let list = session.group.and_then(|group| self.places.get(&group)).copied().unwrap_or_default();
                entries.put(number.into(), session_word(words, list, &session))?
            }
            None => entries.remove(&number.into()),
        };
        self.sessions_set.remove(&number);
        self.sessions_set.extend(to.map(|session| (number, session)));
        Ok(accesses(map, *memory, &writes))
    }

    /// A free place for a list. Packets may still use the list that it replaces.
    fn allocate(&self, words: u32, length: u32) -> Result<List, Full> {
        let mut taken: Vec<List> = self.places.values().copied().collect();
        taken.sort_unstable_by_key(|list| list.first);
        let mut first = 0;
        for list in taken {
            if first + length <= list.first {
                break;
            }
            first = list.first + list.length;
        }
        // A length has as many bits as a place.
        if length >= words || first + length > words {
            return Err(Full(format!("there is no room for {length} members in lists of {words} in all")));
        }
        Ok(List { first, length })
    }
}

/// The number of members and the place of the first.
fn head(words: u32, list: List) -> BigUint {
    let bits = words.ilog2();
    (BigUint::from(list.length) << bits) + list.first
}

fn session_word(words: u32, list: List, session: &CloneSession) -> BigUint {
    let field = |word: BigUint, value: Option<u32>, bits: u32| {
        (((word << 1u32) + u32::from(value.is_some())) << bits) + value.unwrap_or(0)
    };
    let word = field(head(words, list), session.port.map(u32::from), 9);
    field(word, session.truncate.map(|bytes| bytes.min(u16::MAX.into())), 16)
}
