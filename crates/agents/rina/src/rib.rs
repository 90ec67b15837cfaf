//! The objects that all members of a DIF have: members and their addresses, lower flows between them, and which
//! applications are where.
//!
//! Each object has one origin, the IPC process that it is about, and a sequence number that only the origin increases. Newer
//! objects are flooded by the links of a tree, and offered by others ([`sync`]): what waits for a neighbour is a set of numbers, no longer
//! than the RIB. Sequence numbers
//! begin at the time of day, so that a process that restarts goes on above its old ones; where the clock is wrong the
//! neighbours' objects tell. They are compared as serial numbers (RFC 1982): there is no greatest one, so that the origin can
//! supersede whatever somebody else has issued in its name. Objects that their origin has not renewed for [`MAX_AGE`] are removed.
//!
//! A member's object also tells its incarnation, from which keys are derived ([`crate::credential`]). Two processes with one name
//! supersede each other's: of these the one with the greater life leaves the DIF ([`Rib::is_rivalled`]).

mod codec;
mod sync;
mod wanted;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::cdap::{Message, RibExchange, object};
use crate::credential::{self, Life, NONCE};
use crate::name::Name;
use sync::{Entry, Id, Objects, Sync};
use wanted::Wanted;

/// Objects there can be, and objects of one origin.
const MOST: usize = if cfg!(test) { 500 } else { 65_536 };
const MOST_OF_ONE: usize = if cfg!(test) { 110 } else { 2048 };
/// Objects that neighbours are asked for at a time.
const MOST_WANTED: usize = 4096;
/// Names of applications that an IPC process can have registered.
pub(crate) const MOST_NAMES: usize = if cfg!(test) { 102 } else { 1024 };
/// Age at which objects are removed, and at which their origin renews them.
pub(crate) const MAX_AGE: Duration = Duration::from_secs(3600);
const RENEWAL: Duration = Duration::from_secs(1200);
/// Age at which objects that are no more are removed. A member that missed the news and has the old object still learns it anew from
/// the origin, which sees its own object come back.
const TOMBSTONE: Duration = Duration::from_secs(60);
/// How often another process may supersede this one's member object before the name counts as used twice.
const DUELS: u32 = 4;
/// Time between two looks for old objects, at least.
const SWEEP: Duration = Duration::from_secs(1);
/// Time after which neighbours that acknowledge nothing are sent what is this process's own again.
const REFRESH: Duration = Duration::from_secs(10);

/// What a neighbour announces about an object in a dialect of others.
#[derive(Debug, PartialEq)]
pub(crate) struct Announced {
    pub key: Key,
    /// None where the dialect has no number: then what comes last counts.
    pub seq: Option<u32>,
    pub present: bool,
    pub value: u32,
    /// Seconds.
    pub age: u32,
}

/// What an object is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// An IPC process; its value is the address.
    Member(Name),
    /// A lower flow from one to another; its value is the cost.
    LowerFlow(Name, Name),
    /// An application and the IPC process it is registered at.
    Application(Name, Name),
}

impl Key {
    /// Who alone changes it.
    fn origin(&self) -> &Name {
        match self {
            Key::Member(name) | Key::LowerFlow(name, _) | Key::Application(_, name) => name,
        }
    }
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub seq: u32,
    /// False: it was, and is no more.
    pub present: bool,
    pub value: u32,
    /// Of a member; zeros of other objects.
    incarnation: [u8; NONCE],
    /// When its origin made it.
    born: Duration,
    id: Id,
}

impl Object {
    /// Whether it is newer. Of two processes with one name that issue the same number at once, the greater incarnation decides.
    fn supersedes(&self, other: &Object) -> bool {
        is_newer(self.seq, other.seq) || self.seq == other.seq && self.incarnation > other.incarnation
    }

    fn same(&self, other: &Object) -> bool {
        (self.present, self.value, self.incarnation) == (other.present, other.value, other.incarnation)
    }

    /// A hash of the content (FNV-1a).
    fn check(&self) -> u32 {
        let bytes = self.value.to_be_bytes().into_iter().chain([u8::from(self.present)]).chain(self.incarnation);
        bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
    }
}

/// The number of an object. Nobody finds a name with the number of another one.
fn id(key: &Key) -> Id {
    let hash = Sha256::digest(codec::object_name(key));
    Id::from_be_bytes(*hash.first_chunk().expect("a hash is longer"))
}

/// The objects, and what neighbours do not have yet.
#[derive(Debug)]
pub(crate) struct Rib {
    own: Name,
    incarnation: [u8; NONCE],
    objects: Objects,
    /// Objects of each origin.
    of_origin: BTreeMap<Name, usize>,
    /// When old objects are looked for next.
    sweep_at: Duration,
    /// By link, for neighbours that are up.
    syncs: BTreeMap<usize, Sync>,
    wanted: Wanted,
    /// Time of day at time 0, in seconds since 1970.
    epoch: u32,
    version: u64,
    /// Of the lower flows alone.
    topology: u64,
    refused: u64,
    /// The other process with this name, and how often it has superseded this one.
    rival: Option<(Life, u32)>,
    /// In dialects in which nothing is acknowledged, and when neighbours were sent what is this process's own last.
    plain: Option<(&'static Plain, Duration)>,
}

/// Writes the message about an object.
pub(crate) type Write = fn(&Key, &Object, u32, &dyn Fn(&Name) -> u16) -> Option<Message>;

/// How members tell each other of objects in dialects of others.
#[derive(Debug)]
pub(crate) struct Plain {
    /// The message about an object, of this age in seconds. It is given the addresses of members, 0 if one is not known.
    pub write: Write,
    /// Whether a member's own object is sent again at intervals.
    pub refreshes: fn(&Key) -> bool,
    /// Whether the number of what is deleted is forgotten, so that it may come again with the first one.
    pub forgets: fn(&Key) -> bool,
    /// Whether an object of others stays, though nobody renews it.
    pub lasts: fn(&Key) -> bool,
}

/// Whether a sequence number is newer than another (RFC 1982).
fn is_newer(seq: u32, than: u32) -> bool {
    (seq.wrapping_sub(than) as i32) > 0
}

impl Rib {
    pub(crate) fn new(own: Name, epoch: u32) -> Rib {
        Rib {
            own,
            incarnation: credential::nonce(),
            objects: Objects::default(),
            of_origin: BTreeMap::new(),
            sweep_at: Duration::ZERO,
            syncs: BTreeMap::new(),
            wanted: Wanted::default(),
            epoch,
            version: 0,
            topology: 0,
            refused: 0,
            rival: None,
            plain: None,
        }
    }

    /// The same for a dialect of others.
    pub(crate) fn in_dialect(self, plain: &'static Plain) -> Rib {
        Rib { plain: Some((plain, Duration::ZERO)), ..self }
    }

    /// Changes whenever the objects do.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Changes whenever the lower flows do.
    pub(crate) fn topology(&self) -> u64 {
        self.topology
    }

    /// Objects there was no room for.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }

    /// Objects that are there.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Key, &Object)> {
        self.objects.by_key.iter().filter(|(_, object)| object.present)
    }

    /// The lower flows that are there, in order: from which member to which other, and the cost.
    pub(crate) fn lower_flows(&self) -> impl Iterator<Item = (&Name, &Name, u32)> {
        self.iter().filter_map(|(key, object)| match key {
            Key::LowerFlow(local, remote) => Some((local, remote, object.value)),
            _ => None,
        })
    }

    /// The cost of a lower flow that is there.
    pub(crate) fn cost(&self, from: &Name, to: &Name) -> Option<u32> {
        let object = self.objects.by_key.get(&Key::LowerFlow(from.clone(), to.clone()))?;
        object.present.then_some(object.value)
    }

    /// The address of a member.
    pub(crate) fn address(&self, name: &Name) -> Option<u16> {
        let object = self.objects.by_key.get(&Key::Member(name.clone())).filter(|object| object.present)?;
        u16::try_from(object.value).ok().filter(|address| *address != 0)
    }

    /// The incarnation of a member.
    pub(crate) fn incarnation(&self, name: &Name) -> Option<[u8; NONCE]> {
        let object = self.objects.by_key.get(&Key::Member(name.clone())).filter(|object| object.present)?;
        Some(object.incarnation)
    }

    /// The incarnation of this process.
    pub(crate) fn own_incarnation(&self) -> [u8; NONCE] {
        self.incarnation
    }

    /// The life of a member.
    pub(crate) fn life(&self, name: &Name) -> Option<Life> {
        self.incarnation(name).as_ref().map(credential::life)
    }

    /// Draws another incarnation of this process, in the same life.
    pub(crate) fn reincarnate(&mut self, now: Duration) {
        let half = NONCE / 2;
        self.incarnation[half..].copy_from_slice(&credential::nonce()[half..]);
        let own = Key::Member(self.own.clone());
        if let Some(Object { seq, present, value, .. }) = self.objects.by_key.get(&own).cloned() {
            self.issue(own, present, value, Some(seq), now);
        }
    }

    /// Who has an address, or says so.
    pub(crate) fn members_at(&self, address: u16) -> impl Iterator<Item = &Name> {
        self.iter().filter_map(move |(key, object)| match key {
            Key::Member(name) if object.value == u32::from(address) => Some(name),
            _ => None,
        })
    }

    /// The IPC processes that an application is registered at.
    pub(crate) fn hosts_of<'a>(&'a self, application: &'a Name) -> impl Iterator<Item = &'a Name> {
        self.iter().filter_map(move |(key, _)| match key {
            Key::Application(name, at) if name == application => Some(at),
            _ => None,
        })
    }

    /// Sets an object of this process. Nothing happens if it is so already. False if there is no room for it.
    pub(crate) fn set(&mut self, key: Key, present: bool, value: u32, now: Duration) -> bool {
        let before = self.objects.by_key.get(&key).map(|object| (object.present, object.value, object.seq));
        match before {
            Some((was, old, _)) if (was, old) == (present, value) => return true,
            None if !present => return true,
            None if !self.make_room(&key) => {
                self.refused += 1;
                return false;
            }
            _ => {}
        }
        self.issue(key, present, value, before.map(|(_, _, seq)| seq), now);
        true
    }

    /// Makes room for an object, if need be by removing one that is no more. False if there is none.
    fn make_room(&mut self, key: &Key) -> bool {
        let own_name = |key: &Key| matches!(key, Key::Application(_, at) if *at == self.own);
        let limited = own_name(key) && self.objects.by_key.keys().filter(|key| own_name(key)).count() >= MOST_NAMES;
        let of_one = self.of_origin.get(key.origin()).copied().unwrap_or_default();
        if !limited && of_one < MOST_OF_ONE && self.objects.by_key.len() < MOST {
            return true;
        }
        let same = |other: &Key| self.objects.by_key.len() >= MOST || other.origin() == key.origin();
        let gone = self.objects.by_key.iter().filter(|(other, object)| same(other) && self.is_forgettable(object));
        let Some(oldest) = gone.min_by_key(|(_, object)| object.born).map(|(other, _)| other.clone()) else {
            return false;
        };
        self.remove(&oldest);
        true
    }

    fn remove(&mut self, key: &Key) {
        let Some(object) = self.objects.by_key.remove(key) else { return };
        self.objects.by_id.remove(&object.id);
        if let Some(count) = self.of_origin.get_mut(key.origin()) {
            *count -= 1;
            if *count == 0 {
                self.of_origin.remove(key.origin());
            }
        }
    }

    /// Whether an object is no more, and all neighbours know.
    fn is_forgettable(&self, object: &Object) -> bool {
        !object.present && !self.syncs.values().any(|sync| sync.is_pending(object.id))
    }

    /// Whether another process with this name is in the DIF, and this one has to leave.
    pub(crate) fn is_rivalled(&self) -> bool {
        self.rival.is_some_and(|(life, duels)| duels >= DUELS && credential::life(&self.incarnation) > life)
    }

    /// Forgets the other process with this name.
    pub(crate) fn forget_rival(&mut self) {
        self.rival = None;
    }

    fn issue(&mut self, key: Key, present: bool, value: u32, above: Option<u32>, now: Duration) {
        let clock = self.epoch.wrapping_add(now.as_secs() as u32);
        let seq = above.filter(|above| !is_newer(clock, *above)).map_or(clock, |above| above.wrapping_add(1));
        let incarnation = if matches!(key, Key::Member(_)) { self.incarnation } else { Default::default() };
        let id = id(&key);
        self.store(key, Object { seq, present, value, incarnation, born: now, id }, None);
    }

    fn store(&mut self, key: Key, object: Object, from: Option<usize>) {
        for (link, sync) in &mut self.syncs {
            match from == Some(*link) {
                true => sync.settle(object.id),
                false => sync.renew(object.id),
            }
        }
        self.wanted.come(object.id);
        self.sweep_at = self.sweep_at.min(self.end_of(&key, &object));
        let (origin, is_flow) = (key.origin().clone(), matches!(key, Key::LowerFlow(..)));
        let before = self.objects.by_key.get(&key);
        let changed = !before.is_some_and(|before| before.same(&object));
        self.version += u64::from(changed);
        self.topology += u64::from(changed && is_flow);
        match self.objects.by_key.get_mut(&key) {
            Some(before) => *before = object,
            None => {
                let key = self.with_known_names(key);
                *self.of_origin.entry(origin).or_default() += 1;
                self.objects.by_id.insert(object.id, key.clone());
                self.objects.by_key.insert(key, object);
            }
        }
    }

    /// The same key with names that other objects have already: each is in memory once.
    fn with_known_names(&self, key: Key) -> Key {
        let known = |name: Name| self.of_origin.get_key_value(&name).map_or(name, |(known, _)| known.clone());
        match key {
            Key::Member(name) => Key::Member(known(name)),
            Key::LowerFlow(from, to) => Key::LowerFlow(known(from), known(to)),
            Key::Application(name, at) => Key::Application(name, known(at)),
        }
    }

    /// A neighbour is up: it is offered everything.
    pub(crate) fn begin(&mut self, link: usize) {
        let all = self.objects.by_id.keys().copied().collect();
        let sync = match self.plain {
            None => Sync::new(all),
            Some(_) => Sync::to_send(all),
        };
        self.syncs.insert(link, sync);
    }

    /// It is down.
    pub(crate) fn end(&mut self, link: usize) {
        self.syncs.remove(&link);
        for (id, other) in self.wanted.end(link) {
            self.ask(other, id);
        }
    }

    /// Asks a neighbour for an object.
    fn ask(&mut self, link: usize, id: Id) {
        if let Some(sync) = self.syncs.get_mut(&link) {
            sync.want(id);
        }
    }

    /// Which links belong to the flooding tree.
    pub(crate) fn set_flooding(&mut self, is_of_tree: impl Fn(usize) -> bool) {
        self.syncs.iter_mut().for_each(|(link, sync)| sync.set_flooding(is_of_tree(*link)));
    }

    /// Takes M_WRITE of a neighbour. None if it makes no sense.
    pub(crate) fn receive(&mut self, link: usize, message: &Message, now: Duration) -> Option<()> {
        if !message.is_about(object::RIB) {
            return self.receive_object(link, message, now);
        }
        let value: RibExchange = message.value().ok()?;
        let field = |bytes: &Option<Vec<u8>>| bytes.clone().unwrap_or_default();
        let (have, offers, wants) = (field(&value.have), field(&value.offers), field(&value.wants));
        let (have, offers, wants) = (Entry::read(&have)?, Entry::read(&offers)?, sync::read_ids(&wants)?);
        for entry in have {
            self.receive_answer(link, entry);
        }
        for object in &value.objects {
            self.receive_object(link, &Message::parse(object).ok()?, now)?;
        }
        for entry in offers {
            self.receive_offer(link, entry, now);
        }
        let sync = self.syncs.get_mut(&link)?;
        wants.filter(|id| self.objects.by_id.contains_key(id)).for_each(|id| sync.send(id));
        Some(())
    }

    /// Takes an object. None if it is none. One that there is no room for has arrived, too, if its number is kept: it is asked for when there
    /// is room.
    fn receive_object(&mut self, link: usize, message: &Message, now: Duration) -> Option<()> {
        let (key, object) = codec::read(message, now)?;
        let entry = Entry::of(&object);
        let arrived = self.take(link, key, object, now);
        let sync = self.syncs.get_mut(&link)?;
        if arrived {
            sync.acknowledge(entry);
        }
        Some(())
    }

    /// Which state of an object a neighbour has, after it was sent or offered one.
    fn receive_answer(&mut self, link: usize, entry: Entry) {
        let Some((_, object)) = self.objects.at(entry.id) else { return };
        let Some(sync) = self.syncs.get_mut(&link) else { return };
        if !is_newer(object.seq, entry.seq) {
            sync.settle(entry.id);
        } else if !sync.is_pending(entry.id) {
            sync.send(entry.id);
        }
    }

    /// Which state of an object a neighbour has.
    fn receive_offer(&mut self, link: usize, entry: Entry, now: Duration) {
        let Some(sync) = self.syncs.get_mut(&link) else { return };
        let known = self.objects.at(entry.id).map(|(_, object)| Entry::of(object));
        if known == Some(entry) {
            return sync.confirm(entry);
        }
        let seq = known.map(|known| known.seq);
        // Two of one number are shown to each other: an origin, or who has the name of one, decides.
        if seq.is_some_and(|seq| !is_newer(entry.seq, seq)) {
            sync.send(entry.id);
        }
        if self.wanted.is_lacking(entry.id) {
            return sync.confirm(entry);
        }
        if seq.is_none_or(|seq| !is_newer(seq, entry.seq))
            && let Some(asked) = self.wanted.offer(entry.id, link, now)
        {
            self.ask(asked, entry.id);
        }
    }

    /// Takes what a neighbour says in a dialect of others.
    pub(crate) fn learn(&mut self, link: usize, announced: Announced, now: Duration) {
        let Announced { key, seq, present, value, age } = announced;
        let own = matches!(&key, Key::Member(name) if *name == self.own);
        let age = Duration::from_secs(age.into());
        if own || age >= MAX_AGE {
            return;
        }
        let forgets = self.plain.is_some_and(|(plain, _)| (plain.forgets)(&key));
        let deleted = |before: &Object| forgets && present && !before.present && *key.origin() != self.own;
        if self.objects.by_key.get(&key).is_some_and(deleted) {
            self.remove(&key);
        }
        let born = now.saturating_sub(age);
        let before = self.objects.by_key.get_mut(&key);
        let seq = match (seq, before) {
            (seq, Some(before))
                if before.present == present
                    && (!present || before.value == value)
                    && seq.is_none_or(|seq| seq == before.seq) =>
            {
                before.born = before.born.max(born);
                return;
            }
            (None, None) if !present => return,
            (Some(seq), _) => seq,
            (None, before) => before.map_or(0, |before| before.seq.wrapping_add(1)),
        };
        let id = id(&key);
        self.take(link, key, Object { seq, present, value, incarnation: Default::default(), born, id }, now);
    }

    /// False if it has to be sent again: there is no room for it, nor for its number.
    fn take(&mut self, link: usize, key: Key, object: Object, now: Duration) -> bool {
        let before = self.objects.by_key.get(&key);
        let newer = before.is_none_or(|before| object.supersedes(before));
        if *key.origin() == self.own {
            // From a life before this one, which may have begun in the same second, or a copy. In other dialects others take older ones, too.
            let any = self.plain.is_some();
            let differs = |before: &Object| !before.same(&object) && (before.seq == object.seq || any);
            if newer || before.is_some_and(differs) {
                let above = before.filter(|_| !newer).map_or(object.seq, |before| before.seq);
                let (present, value) = before.map_or((false, object.value), |b| (b.present, b.value));
                let life = credential::life(&object.incarnation);
                if matches!(key, Key::Member(_)) && present && life != credential::life(&self.incarnation) {
                    let duels = self.rival.filter(|(rival, _)| *rival == life).map_or(0, |(_, duels)| duels);
                    self.rival = Some((life, duels + 1));
                }
                self.issue(key, present, value, Some(above), now);
            }
        } else if newer {
            if before.is_some() || self.make_room(&key) {
                self.store(key, object, Some(link));
            } else {
                self.refused += 1;
                // In other dialects nobody asks, and what is no more needs no room.
                if object.present && self.plain.is_none() {
                    return self.wanted.refuse(object.id, key.origin(), link, now);
                }
                self.wanted.come(object.id);
            }
        } else if before.is_some_and(|before| before.supersedes(&object))
            && let Some(sync) = self.syncs.get_mut(&link)
        {
            sync.send(object.id);
        }
        true
    }

    /// Removes what is old and renews what is this process's own, and returns what is to be sent, by link.
    pub(crate) fn tick(&mut self, now: Duration) -> Vec<(usize, Message)> {
        if now >= self.sweep_at {
            self.sweep(now);
        }
        if self.wanted.due().is_some_and(|due| now >= due) {
            self.ask_again(now);
        }
        let age = |object: &Object| now.saturating_sub(object.born);
        if let Some((plain, at)) = &mut self.plain
            && now.saturating_sub(*at) >= REFRESH
        {
            *at = now;
            let refreshes = plain.refreshes;
            let own = self.objects.by_key.iter();
            let own = own.filter(|(key, object)| *key.origin() == self.own && object.present && refreshes(key));
            let own: BTreeSet<Id> = own.map(|(_, object)| object.id).collect();
            self.syncs.values_mut().for_each(|sync| sync.unsent.extend(&own));
        }
        let mut messages = Vec::new();
        let objects = &self.objects;
        let address = |name: &Name| {
            let member = objects.by_key.get(&Key::Member(name.clone())).filter(|object| object.present);
            member.and_then(|object| u16::try_from(object.value).ok()).unwrap_or_default()
        };
        for (link, sync) in &mut self.syncs {
            if let Some((plain, _)) = self.plain {
                for id in std::mem::take(&mut sync.unsent) {
                    let written = objects
                        .at(id)
                        .and_then(|(key, object)| (plain.write)(key, object, age(object).as_secs() as u32, &address));
                    messages.extend(written.map(|message| (*link, message)));
                }
            } else {
                messages.extend(sync.messages(objects, now).into_iter().map(|message| (*link, message)));
            }
        }
        messages
    }

    /// Asks for objects that there was no room for, if there is.
    fn ask_again(&mut self, now: Duration) {
        let room = MOST.saturating_sub(self.objects.by_key.len());
        let links: Vec<usize> = self.syncs.keys().copied().collect();
        let has_room = |origin: &Name| self.of_origin.get(origin).is_none_or(|count| *count < MOST_OF_ONE);
        for (id, link) in self.wanted.retry(room, &links, has_room, now) {
            self.ask(link, id);
        }
    }

    /// When an object is removed or renewed.
    fn end_of(&self, key: &Key, object: &Object) -> Duration {
        let lasts = match object.present {
            false => TOMBSTONE,
            true if *key.origin() == self.own => RENEWAL,
            true => MAX_AGE,
        };
        object.born + lasts
    }

    /// Removes what is old, and renews what is this process's own.
    fn sweep(&mut self, now: Duration) {
        let age = |object: &Object| now.saturating_sub(object.born);
        let lasts = |key: &Key| self.plain.is_some_and(|(plain, _)| (plain.lasts)(key));
        let is_old = |key: &Key, object: &Object| age(object) >= MAX_AGE && !lasts(key);
        let old = self.objects.by_key.iter().filter(|(key, object)| is_old(key, object));
        let old: Vec<Key> = old.map(|(key, _)| key.clone()).collect();
        (self.version, self.topology) = (self.version + old.len() as u64, self.topology + old.len() as u64);
        old.iter().for_each(|key| self.remove(key));
        let gone = self.objects.by_key.iter();
        let gone = gone.filter(|(_, object)| age(object) >= TOMBSTONE && self.is_forgettable(object));
        for key in gone.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
            self.remove(&key);
        }
        let own = self.objects.by_key.iter();
        let own = own.filter(|(key, object)| *key.origin() == self.own && age(object) >= RENEWAL);
        for (key, object) in own.map(|(key, object)| (key.clone(), object.clone())).collect::<Vec<_>>() {
            if object.present {
                self.issue(key, true, object.value, Some(object.seq), now);
            }
        }
        let next = self.objects.by_key.iter().map(|(key, object)| self.end_of(key, object)).min();
        self.sweep_at = next.unwrap_or(now + TOMBSTONE).max(now + SWEEP);
    }

    /// When [`Rib::tick`] has something to send, if nothing happens before.
    pub(crate) fn due(&self) -> Option<Duration> {
        let refresh = self.plain.filter(|_| !self.syncs.is_empty()).map(|(_, at)| at + REFRESH);
        self.syncs.values().filter_map(Sync::due).chain(refresh).chain(self.wanted.due()).min()
    }

    /// Whether neighbours have everything.
    pub(crate) fn in_sync(&self) -> bool {
        self.syncs.values().all(Sync::is_done)
    }
}

#[cfg(test)]
#[path = "rib_tests.rs"]
mod tests;
