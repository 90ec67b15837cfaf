//! Next-hop objects (`ip nexthop`), which the library does not decode: which there are groups of, by number.
//!
//! The kernel describes a route's next hops in the route's messages, whether they come from an object or not. It does not report
//! IPv4 routes that change or go because their object does. So what has to be known about an object is which routes it concerns:
//! those that refer to it, or to a group that it is a member of.

use std::collections::HashMap;

use super::message::{Frame, attributes, kind};

/// Bytes of the header of a message about an object (`struct nhmsg`).
pub(super) const OBJECT_HEADER: usize = 8;
/// Attributes: the number, and the members of a group (`NHA_*` in linux/nexthop.h).
const ID: u16 = 1;
const GROUP: u16 = 2;
/// Bytes of a member of a group (`struct nexthop_grp`), which begins with its number.
const MEMBER: usize = 8;

/// A message about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ObjectMessage {
    pub id: u32,
    gone: bool,
    /// Of a group.
    members: Box<[u32]>,
}

/// What a message says about an object; `None` if it is about something else.
pub(super) fn read(frame: &Frame<'_>) -> Option<ObjectMessage> {
    let gone = match frame.kind {
        kind::NEW_NEXT_HOP => false,
        kind::DEL_NEXT_HOP => true,
        _ => return None,
    };
    let number = |bytes: &[u8]| bytes.first_chunk().map(|id| u32::from_ne_bytes(*id));
    let mut message = ObjectMessage { id: 0, gone, members: Box::default() };
    for (kind, value) in attributes(frame.body().get(OBJECT_HEADER..).unwrap_or(&[])) {
        match kind {
            ID => message.id = number(value).unwrap_or(0),
            GROUP => message.members = value.chunks_exact(MEMBER).filter_map(number).collect(),
            _ => {}
        }
    }
    Some(message)
}

/// The groups that there are.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups(HashMap<u32, Box<[u32]>>);

impl Groups {
    /// Takes up what a message says.
    pub(super) fn take_up(&mut self, message: ObjectMessage) {
        match message.gone || message.members.is_empty() {
            true => drop(self.0.remove(&message.id)),
            false => drop(self.0.insert(message.id, message.members)),
        }
    }

    /// The groups that an object is a member of.
    pub(super) fn with(&self, id: u32) -> impl Iterator<Item = u32> {
        self.0.iter().filter(move |(_, members)| members.contains(&id)).map(|(group, _)| *group)
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::frames;
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        [&(value.len() as u16 + 4).to_ne_bytes()[..], &kind.to_ne_bytes(), value].concat()
    }

    fn message(kind: u16, attributes: &[Vec<u8>]) -> Vec<u8> {
        let attributes = attributes.concat();
        let length = (16 + OBJECT_HEADER + attributes.len()) as u32;
        [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 10], &[0; OBJECT_HEADER], &attributes].concat()
    }

    #[test]
    fn groups_by_member() {
        let read = |bytes: &[u8]| read(&frames(bytes).next().unwrap().unwrap());
        let id = |id: u32| attribute(ID, &id.to_ne_bytes());
        let members = attribute(GROUP, &[7, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]);
        let group = message(kind::NEW_NEXT_HOP, &[attribute(9, &[1; 4]), members, id(77)]);
        let mut groups = Groups::default();
        groups.take_up(read(&group).unwrap());
        assert_eq!((groups.with(7).collect::<Vec<_>>(), groups.with(9).count()), (vec![77], 0));
        assert_eq!(read(&message(kind::DEL_NEXT_HOP, &[])).unwrap().id, 0);
        assert_eq!(read(&message(24, &[id(1)])), None);
        groups.take_up(read(&message(kind::DEL_NEXT_HOP, &[id(77)])).unwrap());
        assert_eq!(groups.with(7).count(), 0);
        for length in 16..group.len() {
            let mut cut = group[..length].to_vec();
            cut[..4].copy_from_slice(&(length as u32).to_ne_bytes());
            read(&cut);
        }
    }
}
