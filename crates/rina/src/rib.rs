//! The objects that all members of a DIF have: members and their addresses, lower flows between them, and which
//! applications are where.
//!
//! Each object has one origin, the IPC process that it is about, and a sequence number that only the origin increases. Newer
//! objects are flooded to all neighbours. A neighbour acknowledges each, and what is not acknowledged is sent again: what
//! waits for a neighbour is a set of keys, no longer than the RIB. A new neighbour is sent everything. Sequence numbers
//! begin at the time of day, so that a process that restarts goes on above its old ones; where the clock is wrong the
//! neighbours' objects tell. Objects that their origin has not renewed for [`MAX_AGE`] are removed.
//!
//! A member's object also tells its incarnation, from which keys are derived ([`crate::credential`]).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::cdap::{ApName, DirectoryEntry, LowerFlow, Message, NeighborCandidate, object, op};
use crate::credential::{self, NONCE};
use crate::name::Name;

/// Objects there can be, and objects of one origin.
const MOST: usize = if cfg!(test) { 500 } else { 16_384 };
const MOST_OF_ONE: usize = if cfg!(test) { 110 } else { 1024 };
/// Age at which objects are removed, and at which their origin renews them.
pub(crate) const MAX_AGE: Duration = Duration::from_secs(3600);
const RENEWAL: Duration = Duration::from_secs(1200);
/// Objects sent to a neighbour before it has acknowledged one.
const WINDOW: usize = 16;
/// Time after which an object is sent again.
const AGAIN: Duration = Duration::from_millis(250);

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
    /// By link, for neighbours that are up.
    syncs: BTreeMap<usize, Sync>,
    /// Time of day at time 0, in seconds since 1970.
    epoch: u32,
    version: u64,
    refused: u64,
}

impl Rib {
    pub(crate) fn new(own: Name, epoch: u32) -> Rib {
        let (objects, syncs, incarnation) = (BTreeMap::new(), BTreeMap::new(), credential::nonce());
        Rib { own, incarnation, objects, syncs, epoch, version: 0, refused: 0 }
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

    /// Draws another incarnation of this process.
    pub(crate) fn reincarnate(&mut self, now: Duration) {
        self.incarnation = credential::nonce();
        let own = Key::Member(self.own.clone());
        if let Some(Object { seq, present, value, .. }) = self.objects.get(&own).cloned() {
            self.issue(own, present, value, seq, now);
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

    /// Sets an object of this process. Nothing happens if it is so already.
    pub(crate) fn set(&mut self, key: Key, present: bool, value: u32, now: Duration) {
        let before = self.objects.get(&key);
        match before {
            Some(object) if (object.present, object.value) == (present, value) => return,
            None if !present => return,
            _ => {}
        }
        self.issue(key, present, value, before.map_or(0, |object| object.seq), now);
    }

    fn issue(&mut self, key: Key, present: bool, value: u32, above: u32, now: Duration) {
        let seq = self.epoch.saturating_add(now.as_secs() as u32).max(above.saturating_add(1));
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
        let before = self.objects.insert(key, object.clone());
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
        let before = self.objects.get(&key);
        let newer = before.is_none_or(|before| before.seq < object.seq);
        if *key.origin() == self.own {
            // From a life before this one, which may have begun in the same second, or a copy.
            if newer || before.is_some_and(|before| before.seq == object.seq && !before.same(&object)) {
                let (present, value) = before.map_or((false, object.value), |b| (b.present, b.value));
                self.issue(key, present, value, object.seq, now);
            }
        } else if newer {
            let known = before.is_some();
            let of_one = || self.objects.keys().filter(|other| other.origin() == key.origin()).count();
            if !known && (self.objects.len() >= MOST || of_one() >= MOST_OF_ONE) {
                self.refused += 1;
            } else {
                self.store(key, object, Some(link));
            }
        } else if before.is_some_and(|before| before.seq > object.seq)
            && let Some(sync) = self.syncs.get_mut(&link)
            && !sync.unacknowledged.contains_key(&key)
        {
            sync.unsent.insert(key);
        }
        Some(acknowledgement)
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

    /// Removes what is old, renews what is this process's own, and returns what is to be sent, by link.
    pub(crate) fn tick(&mut self, now: Duration) -> Vec<(usize, Message)> {
        let age = |object: &Object| now.saturating_sub(object.born);
        let count = self.objects.len();
        self.objects.retain(|_, object| age(object) < MAX_AGE);
        self.version += u64::from(self.objects.len() != count);
        let own = self.objects.iter().filter(|(key, object)| *key.origin() == self.own && age(object) >= RENEWAL);
        for (key, object) in own.map(|(key, object)| (key.clone(), object.clone())).collect::<Vec<_>>() {
            if object.present {
                self.issue(key, true, object.value, object.seq, now);
            }
        }
        let mut messages = Vec::new();
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
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        text.parse().unwrap()
    }

    fn member(text: &str) -> Key {
        Key::Member(name(text))
    }

    /// Moves messages between two RIBs until nothing is left; every `lost`th is lost.
    fn exchange(a: &mut Rib, b: &mut Rib, now: &mut Duration, lost: usize) {
        let mut count = 0;
        for _ in 0..200 {
            *now += AGAIN;
            for to_b in [true, false] {
                let (from, to) = if to_b { (&mut *a, &mut *b) } else { (&mut *b, &mut *a) };
                for (_, message) in from.tick(*now) {
                    count += 1;
                    if lost == 0 || count % lost != 0 {
                        let answer = to.receive(0, &message, *now).expect("an object");
                        count += 1;
                        if lost == 0 || count % lost != 0 {
                            from.acknowledged(0, &answer);
                        }
                    }
                }
            }
            if a.in_sync() && b.in_sync() {
                return;
            }
        }
        panic!("they never have the same");
    }

    #[test]
    fn neighbours_have_the_same_objects() {
        for lost in [0, 3, 5, 7] {
            let mut now = Duration::ZERO;
            let (mut a, mut b) = (Rib::new(name("a"), 1000), Rib::new(name("b"), 2000));
            for number in 0..100 {
                a.set(Key::Application(name(&format!("app{number}")), name("a")), true, 0, now);
            }
            b.set(member("b"), true, 7, now);
            b.set(Key::LowerFlow(name("b"), name("a")), true, 3, now);
            a.begin(0);
            b.begin(0);
            exchange(&mut a, &mut b, &mut now, lost);
            assert_eq!(a.iter().collect::<Vec<_>>().len(), 102);
            assert!(a.iter().map(|(k, o)| (k, o.seq, o.value)).eq(b.iter().map(|(k, o)| (k, o.seq, o.value))));
            a.set(Key::Application(name("app5"), name("a")), false, 0, now);
            exchange(&mut a, &mut b, &mut now, lost);
            assert_eq!(b.hosts_of(&name("app5")).count(), 0);
            assert_eq!(b.hosts_of(&name("app6")).collect::<Vec<_>>(), [&name("a")]);
        }
    }

    #[test]
    fn a_process_that_restarts_is_believed() {
        let mut now = Duration::ZERO;
        let (mut a, mut b) = (Rib::new(name("a"), 1000), Rib::new(name("b"), 1000));
        a.set(member("a"), true, 5, now);
        a.set(Key::Application(name("gone"), name("a")), true, 0, now);
        a.begin(0);
        b.begin(0);
        exchange(&mut a, &mut b, &mut now, 0);
        // Its clock is far behind.
        let mut again = Rib::new(name("a"), 10);
        again.set(member("a"), true, 6, now);
        again.begin(0);
        b.end(0);
        b.begin(0);
        exchange(&mut again, &mut b, &mut now, 0);
        assert_eq!(b.address(&name("a")), Some(6));
        assert_eq!(b.hosts_of(&name("gone")).count(), 0, "what it does not have any more is taken back");
    }

    #[test]
    fn a_restart_within_a_second_is_noticed() {
        let mut now = Duration::ZERO;
        let (mut a, mut b) = (Rib::new(name("a"), 1000), Rib::new(name("b"), 1000));
        a.set(member("a"), true, 5, now);
        a.begin(0);
        b.begin(0);
        exchange(&mut a, &mut b, &mut now, 0);
        assert_eq!(b.incarnation(&name("a")), a.incarnation(&name("a")));
        let mut again = Rib::new(name("a"), 1000);
        again.set(member("a"), true, 5, Duration::ZERO);
        assert_ne!(again.incarnation(&name("a")), a.incarnation(&name("a")));
        for _ in 0..2 {
            again.begin(0);
            b.end(0);
            b.begin(0);
            exchange(&mut again, &mut b, &mut now, 0);
            assert_eq!(b.incarnation(&name("a")), again.incarnation(&name("a")));
            again.reincarnate(now);
        }
    }

    #[test]
    fn objects_grow_old() {
        let mut rib = Rib::new(name("a"), 0);
        let mut other = Rib::new(name("b"), 0);
        other.set(member("b"), true, 5, Duration::ZERO);
        other.begin(0);
        let (_, message) = other.tick(Duration::ZERO).remove(0);
        rib.receive(0, &message, Duration::ZERO);
        rib.set(member("a"), true, 1, Duration::ZERO);
        let mut now = Duration::ZERO;
        while now < MAX_AGE {
            assert_eq!(rib.iter().count(), 2);
            now += Duration::from_secs(100);
            rib.tick(now);
        }
        assert_eq!(rib.iter().map(|(key, _)| key).collect::<Vec<_>>(), [&member("a")], "its own are renewed");
    }

    #[test]
    fn memory_is_bounded() {
        let mut rib = Rib::new(name("a"), 0);
        for number in 0..2 * MOST {
            let origin = name(&format!("n{}", number % 40));
            let mut hostile = Rib::new(origin.clone(), 0);
            hostile.set(Key::Application(name(&format!("app{number}")), origin), true, 0, Duration::ZERO);
            hostile.begin(0);
            let (_, message) = hostile.tick(Duration::ZERO).remove(0);
            rib.receive(0, &message, Duration::ZERO);
        }
        assert!(rib.iter().count() <= MOST);
        assert!(rib.refused() >= MOST as u64);
    }
}
