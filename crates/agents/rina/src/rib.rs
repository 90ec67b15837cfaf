//! The objects that all members of a DIF have: members and their addresses, lower flows between them, and which
//! applications are where.
//!
//! Each object has one origin, the IPC process that it is about, and a sequence number that only the origin increases. Newer
//! objects are flooded to all neighbours. A neighbour acknowledges each, and what is not acknowledged is sent again: what
//! waits for a neighbour is a set of keys, no longer than the RIB. A new neighbour is sent everything. Sequence numbers
//! begin at the time of day, so that a process that restarts goes on above its old ones; where the clock is wrong the
//! neighbours' objects tell. They are compared as serial numbers (RFC 1982): there is no greatest one, so that the origin can
//! supersede whatever somebody else has issued in its name. Objects that their origin has not renewed for [`MAX_AGE`] are removed.
//!
//! A member's object also tells its incarnation, from which keys are derived ([`crate::credential`]). Two processes with one name
//! supersede each other's: of these the one with the greater life leaves the DIF ([`Rib::is_rivalled`]).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::cdap::{ApName, DirectoryEntry, LowerFlow, Message, NeighborCandidate, object, op};
use crate::credential::{self, Life, NONCE};
use crate::name::Name;
use crate::rlite::objects::{self, Announced};

/// Objects there can be, and objects of one origin.
const MOST: usize = if cfg!(test) { 500 } else { 16_384 };
const MOST_OF_ONE: usize = if cfg!(test) { 110 } else { 2048 };
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
/// Objects sent to a neighbour before it has acknowledged one.
const WINDOW: usize = 16;
/// Time after which an object is sent again.
const AGAIN: Duration = Duration::from_millis(250);
/// How often old objects are looked for.
const SWEEP: Duration = Duration::from_secs(1);
/// Time after which neighbours that acknowledge nothing are sent what is this process's own again.
const REFRESH: Duration = Duration::from_secs(10);

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
}

impl Object {
    /// Whether it is newer. Of two processes with one name that issue the same number at once, the greater incarnation decides.
    fn supersedes(&self, other: &Object) -> bool {
        is_newer(self.seq, other.seq) || self.seq == other.seq && self.incarnation > other.incarnation
    }

    fn same(&self, other: &Object) -> bool {
        (self.present, self.value, self.incarnation) == (other.present, other.value, other.incarnation)
    }
}

#[derive(Debug, Default)]
struct Sync {
    unsent: BTreeSet<Key>,
    /// With sequence number and time.
    unacknowledged: BTreeMap<Key, (u32, Duration)>,
}

/// The objects, and what neighbours do not have yet.
#[derive(Debug)]
pub(crate) struct Rib {
    own: Name,
    incarnation: [u8; NONCE],
    objects: BTreeMap<Key, Object>,
    /// Objects of each origin.
    of_origin: BTreeMap<Name, usize>,
    /// When old objects were looked for last.
    swept: Duration,
    /// By link, for neighbours that are up.
    syncs: BTreeMap<usize, Sync>,
    /// Time of day at time 0, in seconds since 1970.
    epoch: u32,
    version: u64,
    refused: u64,
    /// The other process with this name, and how often it has superseded this one.
    rival: Option<(Life, u32)>,
    /// In rlite's dialect, in which nothing is acknowledged: when neighbours were sent what is this process's own last.
    refreshed: Option<Duration>,
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
            objects: BTreeMap::new(),
            of_origin: BTreeMap::new(),
            swept: Duration::ZERO,
            syncs: BTreeMap::new(),
            epoch,
            version: 0,
            refused: 0,
            rival: None,
            refreshed: None,
        }
    }

    /// The same for rlite's dialect.
    pub(crate) fn for_rlite(self) -> Rib {
        Rib { refreshed: Some(Duration::ZERO), ..self }
    }

    /// Changes whenever the objects do.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Objects there was no room for.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }

    /// Objects that are there.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Key, &Object)> {
        self.objects.iter().filter(|(_, object)| object.present)
    }

    /// The cost of a lower flow that is there.
    pub(crate) fn cost(&self, from: &Name, to: &Name) -> Option<u32> {
        let object = self.objects.get(&Key::LowerFlow(from.clone(), to.clone()))?;
        object.present.then_some(object.value)
    }

    /// The address of a member.
    pub(crate) fn address(&self, name: &Name) -> Option<u16> {
        let object = self.objects.get(&Key::Member(name.clone())).filter(|object| object.present)?;
        u16::try_from(object.value).ok().filter(|address| *address != 0)
    }

    /// The incarnation of a member.
    pub(crate) fn incarnation(&self, name: &Name) -> Option<[u8; NONCE]> {
        let object = self.objects.get(&Key::Member(name.clone())).filter(|object| object.present)?;
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
        if let Some(Object { seq, present, value, .. }) = self.objects.get(&own).cloned() {
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
        let before = self.objects.get(&key).map(|object| (object.present, object.value, object.seq));
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
        let limited = own_name(key) && self.objects.keys().filter(|key| own_name(key)).count() >= MOST_NAMES;
        let of_one = self.of_origin.get(key.origin()).copied().unwrap_or_default();
        if !limited && of_one < MOST_OF_ONE && self.objects.len() < MOST {
            return true;
        }
        let same = |other: &Key| self.objects.len() >= MOST || other.origin() == key.origin();
        let gone = self.objects.iter().filter(|(other, object)| same(other) && self.is_forgettable(other, object));
        let Some(oldest) = gone.min_by_key(|(_, object)| object.born).map(|(other, _)| other.clone()) else {
            return false;
        };
        self.remove(&oldest);
        true
    }

    fn remove(&mut self, key: &Key) {
        if self.objects.remove(key).is_some()
            && let Some(count) = self.of_origin.get_mut(key.origin())
        {
            *count -= 1;
            if *count == 0 {
                self.of_origin.remove(key.origin());
            }
        }
    }

    /// Whether an object is no more, and all neighbours know.
    fn is_forgettable(&self, key: &Key, object: &Object) -> bool {
        let pending = |sync: &Sync| sync.unsent.contains(key) || sync.unacknowledged.contains_key(key);
        !object.present && !self.syncs.values().any(pending)
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
        self.store(key, Object { seq, present, value, incarnation, born: now }, None);
    }

    fn store(&mut self, key: Key, object: Object, from: Option<usize>) {
        for (link, sync) in &mut self.syncs {
            sync.unacknowledged.remove(&key);
            match from {
                Some(from) if from == *link => drop(sync.unsent.remove(&key)),
                _ => drop(sync.unsent.insert(key.clone())),
            }
        }
        let origin = key.origin().clone();
        let before = self.objects.insert(key, object.clone());
        if before.is_none() {
            *self.of_origin.entry(origin).or_default() += 1;
        }
        self.version += u64::from(!before.is_some_and(|before| before.same(&object)));
    }

    /// A neighbour is up: it is sent everything.
    pub(crate) fn begin(&mut self, link: usize) {
        let unsent = self.objects.keys().cloned().collect();
        self.syncs.insert(link, Sync { unsent, unacknowledged: BTreeMap::new() });
    }

    /// It is down.
    pub(crate) fn end(&mut self, link: usize) {
        self.syncs.remove(&link);
    }

    /// Takes M_WRITE of a neighbour. Returns the acknowledgement.
    pub(crate) fn receive(&mut self, link: usize, message: &Message, now: Duration) -> Option<Message> {
        let (key, object) = read(message, now)?;
        let acknowledgement = Message {
            invoke_id: message.invoke_id,
            version: Some(object.seq.into()),
            ..Message::about(op::WRITE_R, message.obj_class.as_deref()?, message.obj_name.clone()?)
        };
        self.take(link, key, object, now);
        Some(acknowledgement)
    }

    /// Takes what a neighbour says in rlite's dialect.
    pub(crate) fn learn(&mut self, link: usize, announced: Announced, now: Duration) {
        let Announced { key, seq, present, value, age } = announced;
        let own = matches!(&key, Key::Member(name) if *name == self.own);
        let age = Duration::from_secs(age.into());
        if own || age >= MAX_AGE {
            return;
        }
        let born = now.saturating_sub(age);
        let before = self.objects.get_mut(&key);
        let seq = match (seq, before) {
            (seq, Some(before))
                if (before.present, before.value) == (present, value) && seq.is_none_or(|seq| seq == before.seq) =>
            {
                before.born = before.born.max(born);
                return;
            }
            (None, None) if !present => return,
            (Some(seq), _) => seq,
            (None, before) => before.map_or(0, |before| before.seq.wrapping_add(1)),
        };
        self.take(link, key, Object { seq, present, value, incarnation: Default::default(), born }, now);
    }

    fn take(&mut self, link: usize, key: Key, object: Object, now: Duration) {
        let before = self.objects.get(&key);
        let newer = before.is_none_or(|before| object.supersedes(before));
        if *key.origin() == self.own {
            // From a life before this one, which may have begun in the same second, or a copy.
            if newer || before.is_some_and(|before| before.seq == object.seq && !before.same(&object)) {
                let (present, value) = before.map_or((false, object.value), |b| (b.present, b.value));
                let life = credential::life(&object.incarnation);
                if matches!(key, Key::Member(_)) && present && life != credential::life(&self.incarnation) {
                    let duels = self.rival.filter(|(rival, _)| *rival == life).map_or(0, |(_, duels)| duels);
                    self.rival = Some((life, duels + 1));
                }
                self.issue(key, present, value, Some(object.seq), now);
            }
        } else if newer {
            if before.is_some() || self.make_room(&key) {
                self.store(key, object, Some(link));
            } else {
                self.refused += 1;
            }
        } else if before.is_some_and(|before| before.supersedes(&object))
            && let Some(sync) = self.syncs.get_mut(&link)
            && !sync.unacknowledged.contains_key(&key)
        {
            sync.unsent.insert(key);
        }
    }

    /// Takes M_WRITE_R of a neighbour.
    pub(crate) fn acknowledged(&mut self, link: usize, message: &Message) {
        let Some(sync) = self.syncs.get_mut(&link) else { return };
        let name = message.obj_name.as_deref().unwrap_or_default();
        let found = sync.unacknowledged.iter().find(|(key, _)| object_name(key) == name);
        if let Some((key, (seq, _))) = found
            && message.version == Some((*seq).into())
        {
            let key = key.clone();
            sync.unacknowledged.remove(&key);
        }
    }

    /// Removes what is old and renews what is this process's own, both once a second, and returns what is to be sent, by link.
    pub(crate) fn tick(&mut self, now: Duration) -> Vec<(usize, Message)> {
        if now.saturating_sub(self.swept) >= SWEEP {
            self.swept = now;
            self.sweep(now);
        }
        let age = |object: &Object| now.saturating_sub(object.born);
        if self.refreshed.is_some_and(|at| now.saturating_sub(at) >= REFRESH) {
            self.refreshed = Some(now);
            let own = self.objects.iter().filter(|(key, object)| *key.origin() == self.own && object.present);
            let own: Vec<Key> = own.map(|(key, _)| key.clone()).collect();
            self.syncs.values_mut().for_each(|sync| sync.unsent.extend(own.iter().cloned()));
        }
        let mut messages = Vec::new();
        if self.refreshed.is_some() {
            for (link, sync) in &mut self.syncs {
                for key in std::mem::take(&mut sync.unsent) {
                    let Some(object) = self.objects.get(&key) else { continue };
                    messages.push((*link, objects::write(&key, object, age(object).as_secs() as u32)));
                }
            }
            return messages;
        }
        for (link, sync) in &mut self.syncs {
            for (key, (seq, sent)) in &mut sync.unacknowledged {
                if now.saturating_sub(*sent) >= AGAIN
                    && let Some(object) = self.objects.get(key)
                {
                    (*seq, *sent) = (object.seq, now);
                    messages.push((*link, write(key, object, now)));
                }
            }
            while sync.unacknowledged.len() < WINDOW
                && let Some(key) = sync.unsent.pop_first()
            {
                let Some(object) = self.objects.get(&key) else { continue };
                messages.push((*link, write(&key, object, now)));
                sync.unacknowledged.insert(key, (object.seq, now));
            }
            sync.unacknowledged.retain(|key, _| self.objects.contains_key(key));
        }
        messages
    }

    /// Removes what is old, and renews what is this process's own.
    fn sweep(&mut self, now: Duration) {
        let age = |object: &Object| now.saturating_sub(object.born);
        // Members that run rlite renew nothing but lower flows everywhere.
        let lasts = |key: &Key| self.refreshed.is_some() && !matches!(key, Key::LowerFlow(..));
        let is_old = |key: &Key, object: &Object| age(object) >= MAX_AGE && !lasts(key);
        let old = self.objects.iter().filter(|(key, object)| is_old(key, object));
        let old: Vec<Key> = old.map(|(key, _)| key.clone()).collect();
        self.version += u64::from(!old.is_empty());
        old.iter().for_each(|key| self.remove(key));
        let gone =
            self.objects.iter().filter(|(key, object)| age(object) >= TOMBSTONE && self.is_forgettable(key, object));
        for key in gone.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
            self.remove(&key);
        }
        let own = self.objects.iter().filter(|(key, object)| *key.origin() == self.own && age(object) >= RENEWAL);
        for (key, object) in own.map(|(key, object)| (key.clone(), object.clone())).collect::<Vec<_>>() {
            if object.present {
                self.issue(key, true, object.value, Some(object.seq), now);
            }
        }
    }

    /// When [`Rib::tick`] has something to send, if nothing happens before.
    pub(crate) fn due(&self) -> Option<Duration> {
        let of = |sync: &Sync| {
            if !sync.unsent.is_empty() && sync.unacknowledged.len() < WINDOW {
                return Some(Duration::ZERO);
            }
            sync.unacknowledged.values().map(|(_, sent)| *sent + AGAIN).min()
        };
        let refresh = self.refreshed.filter(|_| !self.syncs.is_empty()).map(|at| at + REFRESH);
        self.syncs.values().filter_map(of).chain(refresh).min()
    }

    /// Whether neighbours have everything.
    pub(crate) fn in_sync(&self) -> bool {
        self.syncs.values().all(|sync| sync.unsent.is_empty() && sync.unacknowledged.is_empty())
    }
}

fn object_name(key: &Key) -> String {
    match key {
        Key::Member(name) => format!("{}/{name}", object::NEIGHBOURS_NAME),
        Key::LowerFlow(local, remote) => format!("{}/{local}/{remote}", object::LOWER_FLOWS_NAME),
        Key::Application(name, at) => format!("{}/{name}/{at}", object::DIRECTORY_NAME),
    }
}

fn write(key: &Key, object: &Object, now: Duration) -> Message {
    let age = Some(now.saturating_sub(object.born).as_secs() as u32);
    let message = |class| Message {
        invoke_id: Some((object.seq & 0x7fff_ffff) as i32),
        version: Some(object.seq.into()),
        ..Message::about(op::WRITE, class, object_name(key))
    };
    match key {
        Key::Member(name) => message(object::NEIGHBOURS).with_value(&NeighborCandidate {
            ap_name: Some(name.to_string()),
            address: Some(object.value.into()),
            seqnum: Some(object.seq),
            age,
            incarnation: Some(object.incarnation.into()),
        }),
        Key::LowerFlow(local, remote) => message(object::LOWER_FLOWS).with_value(&LowerFlow {
            local_node: Some(local.to_string()),
            remote_node: Some(remote.to_string()),
            cost: Some(object.value),
            seqnum: Some(object.seq),
            state: Some(object.present),
            age,
        }),
        Key::Application(name, at) => message(object::DIRECTORY).with_value(&DirectoryEntry {
            appl_name: ApName { ap_name: name.to_string() },
            ipcp_name: at.to_string(),
            seqnum: Some(object.seq.into()),
            state: Some(object.present),
            age,
        }),
    }
}

/// The object of M_WRITE. None if it is none, or older than objects get.
fn read(message: &Message, now: Duration) -> Option<(Key, Object)> {
    let name = |text: Option<String>| text?.parse::<Name>().ok();
    let mut incarnation = [0; NONCE];
    let (key, seq, present, value, age) = match message.obj_class.as_deref()? {
        object::NEIGHBOURS => {
            let it: NeighborCandidate = message.value().ok()?;
            let address = u16::try_from(it.address?).ok()?;
            incarnation = it.incarnation.and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
            (Key::Member(name(it.ap_name)?), it.seqnum?, address != 0, address.into(), it.age)
        }
        object::LOWER_FLOWS => {
            let it: LowerFlow = message.value().ok()?;
            let cost = it.cost?.clamp(1, 0xffff);
            (Key::LowerFlow(name(it.local_node)?, name(it.remote_node)?), it.seqnum?, it.state?, cost, it.age)
        }
        object::DIRECTORY => {
            let it: DirectoryEntry = message.value().ok()?;
            let key = Key::Application(name(Some(it.appl_name.ap_name))?, name(Some(it.ipcp_name))?);
            (key, u32::try_from(it.seqnum?).ok()?, it.state.unwrap_or(true), 0, it.age)
        }
        _ => return None,
    };
    let age = Duration::from_secs(age.unwrap_or_default().into());
    // Time 0 is when this process began: what is older counts from then.
    let born = now.saturating_sub(age);
    (age < MAX_AGE).then_some((key, Object { seq, present, value, incarnation, born }))
}

#[cfg(test)]
#[path = "rib_tests.rs"]
mod tests;
