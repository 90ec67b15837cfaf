//! What a neighbour lacks of the objects, and what the two tell each other about that.
//!
//! An object has a number here, a hash of its name. By links of the flooding tree ([`crate::routing`]) newer objects are sent as they are; by
//! others they are *offered* a little later, as number and sequence number, and the neighbour asks for those that it lacks. It has had most of them
//! by the tree, so that a link outside the tree costs 16 bytes for each. A new neighbour is offered everything. So the tree makes
//! flooding cheap, and its completeness does not depend on it.
//!
//! All of that is packed into M_WRITE messages about one object, `/mgmt/rib`:
//!
//! | field | says | answer |
//! | --- | --- | --- |
//! | objects | these are newer | have |
//! | offers | these are here | have, wants, or the newer object |
//! | have | these have arrived, or were here | |
//! | wants | these are lacking | the objects |
//!
//! What is not answered is sent again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use prost::Message as _;

use super::{Key, Object, codec};
use crate::cdap::{LONGEST, Message, RibExchange, object, op};

/// The number of an object: a hash of its name.
pub(super) type Id = u64;

/// Objects, and offers, under way to a neighbour at a time.
const WINDOW: usize = 64;
const OFFERS: usize = 512;
/// Time after which what has no answer is sent again.
pub(super) const AGAIN: Duration = Duration::from_millis(250);
/// Time in which objects reach a neighbour by the tree before they are offered to it.
const COURTESY: Duration = Duration::from_millis(50);
/// Bytes of a message in which objects and entries are packed.
const ROOM: usize = LONGEST - 100;
/// Bytes of an entry, of a number, and of what is around an object.
pub(super) const ENTRY: usize = 16;
const NUMBER: usize = 8;
const AROUND: usize = 4;

/// Which state of an object a member has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub id: Id,
    pub seq: u32,
    /// Of the content: two objects can have one sequence number.
    pub check: u32,
}

impl Entry {
    pub(super) fn of(object: &Object) -> Entry {
        Entry { id: object.id, seq: object.seq, check: object.check() }
    }

    fn write(self, out: &mut Vec<u8>) {
        out.extend(self.id.to_be_bytes());
        out.extend(self.seq.to_be_bytes());
        out.extend(self.check.to_be_bytes());
    }

    /// The entries of a field; none if it is none.
    pub(super) fn read(bytes: &[u8]) -> Option<impl Iterator<Item = Entry>> {
        let (entries, rest) = bytes.as_chunks::<ENTRY>();
        let word = |bytes: &[u8]| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let entry = move |bytes: &[u8; ENTRY]| {
            let id = Id::from(word(bytes)) << 32 | Id::from(word(&bytes[4..]));
            Entry { id, seq: word(&bytes[8..]), check: word(&bytes[12..]) }
        };
        rest.is_empty().then(|| entries.iter().map(entry))
    }
}

/// The numbers of a field; none if it is none.
pub(super) fn read_ids(bytes: &[u8]) -> Option<impl Iterator<Item = Id>> {
    let (ids, rest) = bytes.as_chunks::<NUMBER>();
    rest.is_empty().then(|| ids.iter().map(|bytes| Id::from_be_bytes(*bytes)))
}

/// The objects by name, and their names by number.
#[derive(Debug, Default)]
pub(super) struct Objects {
    pub by_key: BTreeMap<Key, Object>,
    pub by_id: BTreeMap<Id, Key>,
}

impl Objects {
    pub(super) fn at(&self, id: Id) -> Option<(&Key, &Object)> {
        self.by_key.get_key_value(self.by_id.get(&id)?)
    }
}

/// A neighbour that is up.
#[derive(Debug, Default)]
pub(super) struct Sync {
    /// Objects are sent to it without an offer.
    floods: bool,
    /// Objects to send.
    pub unsent: BTreeSet<Id>,
    /// Objects to offer, and from when on; `None`: from [`COURTESY`] after the next tick on.
    unoffered: BTreeSet<Id>,
    offer_from: Option<Duration>,
    /// Objects sent and offered, with sequence number and time.
    unacknowledged: BTreeMap<Id, (u32, Duration)>,
    offered: BTreeMap<Id, (u32, Duration)>,
    /// When the last two are looked at again, in order.
    again: VecDeque<(Duration, Id)>,
    /// What the neighbour is told that it arrived or is here, and what it is asked for.
    have: Vec<Entry>,
    wants: Vec<Id>,
}

impl Sync {
    /// A new neighbour, which is offered these objects at once.
    pub(super) fn new(offered: BTreeSet<Id>) -> Sync {
        Sync { floods: true, unoffered: offered, offer_from: Some(Duration::ZERO), ..Sync::default() }
    }

    /// A new neighbour, which is sent these objects without an offer.
    pub(super) fn to_send(unsent: BTreeSet<Id>) -> Sync {
        Sync { floods: true, unsent, ..Sync::default() }
    }

    /// An object is newer here.
    pub(super) fn renew(&mut self, id: Id) {
        self.settle(id);
        match self.floods {
            true => self.unsent.insert(id),
            false => self.unoffered.insert(id),
        };
    }

    /// The neighbour has an object as it is here, or newer.
    pub(super) fn settle(&mut self, id: Id) {
        self.unsent.remove(&id);
        self.unoffered.remove(&id);
        self.unacknowledged.remove(&id);
        self.offered.remove(&id);
    }

    /// Whether this state of an object, or a later one, is still to arrive.
    pub(super) fn is_pending(&self, id: Id) -> bool {
        self.unsent.contains(&id)
            || self.unoffered.contains(&id)
            || self.unacknowledged.contains_key(&id)
            || self.offered.contains_key(&id)
    }

    /// The neighbour lacks an object, or has an older one.
    pub(super) fn send(&mut self, id: Id) {
        if !self.unacknowledged.contains_key(&id) {
            self.settle(id);
            self.unsent.insert(id);
        }
    }

    /// Takes an offer of what is here, too. An offer of the same that is on its way to the neighbour is an answer.
    pub(super) fn confirm(&mut self, entry: Entry) {
        if self.offered.get(&entry.id).is_none_or(|(seq, _)| *seq != entry.seq) {
            self.have.push(entry);
        }
        self.settle(entry.id);
    }

    /// An object has come.
    pub(super) fn acknowledge(&mut self, entry: Entry) {
        self.have.push(entry);
    }

    pub(super) fn want(&mut self, id: Id) {
        self.wants.push(id);
    }

    /// The link belongs to the flooding tree, or does not any more.
    pub(super) fn set_flooding(&mut self, floods: bool) {
        if floods && !self.floods {
            self.unsent.append(&mut self.unoffered);
        }
        self.floods = floods;
    }

    pub(super) fn is_done(&self) -> bool {
        self.unsent.is_empty() && self.unoffered.is_empty() && self.unacknowledged.is_empty() && self.offered.is_empty()
    }

    /// When [`Sync::messages`] has something to say, if nothing happens before.
    pub(super) fn due(&self) -> Option<Duration> {
        let sends = !self.unsent.is_empty() && self.unacknowledged.len() < WINDOW;
        if sends || !self.have.is_empty() || !self.wants.is_empty() {
            return Some(Duration::ZERO);
        }
        let offers = !self.unoffered.is_empty() && self.offered.len() < OFFERS;
        let offers = offers.then(|| self.offer_from.unwrap_or_default());
        self.again.front().map(|(at, _)| *at).into_iter().chain(offers).min()
    }

    /// What is to be said.
    pub(super) fn messages(&mut self, objects: &Objects, now: Duration) -> Vec<Message> {
        while let Some((at, id)) = self.again.pop_front_if(|(at, _)| *at <= now) {
            let late = |(_, sent): &(u32, Duration)| *sent + AGAIN <= at;
            if self.unacknowledged.get(&id).is_some_and(late) {
                self.unacknowledged.remove(&id);
                self.unsent.insert(id);
            }
            if self.offered.get(&id).is_some_and(late) {
                self.offered.remove(&id);
                self.unoffered.insert(id);
            }
        }
        if !self.unoffered.is_empty() && self.offer_from.is_none() {
            self.offer_from = Some(now + COURTESY);
        }
        let mut messages = Vec::new();
        while let Some(value) = self.fill(objects, now) {
            messages.push(Message::about(op::WRITE, object::RIB, object::RIB_NAME).with_value(&value));
        }
        if self.unoffered.is_empty() {
            self.offer_from = None;
        }
        messages
    }

    /// One message full. None if there is nothing to say.
    fn fill(&mut self, objects: &Objects, now: Duration) -> Option<RibExchange> {
        let mut value = RibExchange::default();
        let mut room = ROOM;
        let (mut have, mut wants, mut offers) = (Vec::new(), Vec::new(), Vec::new());
        while room >= ENTRY
            && let Some(entry) = self.have.pop()
        {
            entry.write(&mut have);
            room -= ENTRY;
        }
        while room >= NUMBER
            && let Some(id) = self.wants.pop()
        {
            wants.extend(id.to_be_bytes());
            room -= NUMBER;
        }
        while self.unacknowledged.len() < WINDOW
            && let Some(id) = self.unsent.first().copied()
        {
            let Some((key, object)) = objects.at(id) else {
                self.unsent.remove(&id);
                continue;
            };
            let bytes = codec::write(key, object, now).encode_to_vec();
            if bytes.len() + AROUND > room {
                break;
            }
            room -= bytes.len() + AROUND;
            value.objects.push(bytes);
            self.unsent.remove(&id);
            self.unacknowledged.insert(id, (object.seq, now));
            self.again.push_back((now + AGAIN, id));
        }
        let may_offer = self.offer_from.is_some_and(|from| from <= now);
        while may_offer
            && room >= ENTRY
            && self.offered.len() < OFFERS
            && let Some(id) = self.unoffered.pop_first()
        {
            let Some((_, object)) = objects.at(id) else { continue };
            Entry::of(object).write(&mut offers);
            room -= ENTRY;
            self.offered.insert(id, (object.seq, now));
            self.again.push_back((now + AGAIN, id));
        }
        let shown = |bytes: Vec<u8>| (!bytes.is_empty()).then_some(bytes);
        (value.have, value.wants, value.offers) = (shown(have), shown(wants), shown(offers));
        (value != RibExchange::default()).then_some(value)
    }
}
