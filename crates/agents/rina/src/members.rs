//! Management between members of the DIF that are not neighbours, about flows: who sent it, and that it is new.
//!
//! Relays and everybody who can write to a link between them see such PDUs. They can neither forge nor change one, nor send it
//! again: each pair of members has keys of its own for its two present incarnations ([`crate::credential`]).
//!
//! A number is used once under a key, and what was taken under a key is not taken again, because:
//!
//! - Numbers come from one counter of the process, whatever the receiver. It never goes back, and a process that begins anew has another
//!   incarnation, so that its keys are others.
//! - The last number that a peer has used is kept for as long as the key can be used, also of peers that the RIB does not have any more:
//!   this happens in partitions of an hour, while the peer has the same incarnation still and comes back with it. If there are more than
//!   [`KEPT`] of these, they are forgotten, and this member draws another incarnation ([`Members::retain`]), which is a part of both keys.
//!   The number is kept of the present incarnation of a peer and of the one before, since two processes with one name take turns in the RIB
//!   until one of them has left.
//!
//! There are two states for each member of the RIB, and for each of the peers that are kept, at most.

use std::collections::BTreeMap;

use prost::Message as _;

use crate::cdap::Message;
use crate::credential::{Credential, NONCE, OVERHEAD, Protection};
use crate::name::Name;
use crate::rib::Rib;

/// Peers that are kept though the RIB does not have them any more.
const KEPT: usize = if cfg!(test) { 2 } else { 4096 };

/// The keys of two incarnations.
#[derive(Debug)]
struct Keys {
    /// Of this process and of the peer.
    incarnations: [[u8; NONCE]; 2],
    protection: Protection,
}

/// The members that management was exchanged with.
#[derive(Debug, Default)]
pub(crate) struct Members {
    /// Of each the present keys, and those before.
    peers: BTreeMap<Name, (Keys, Option<Keys>)>,
    /// The last number that was used.
    number: u64,
}

/// An IPC process among the members.
pub(crate) struct Own<'a> {
    pub dif: &'a Name,
    pub name: &'a Name,
    /// None in dialects without: then there is no protection.
    pub credential: Option<&'a Credential>,
    pub rib: &'a Rib,
}

impl Members {
    fn protection(&mut self, own: &Own<'_>, peer: &Name) -> Option<&mut Protection> {
        let incarnations = [own.rib.incarnation(own.name)?, own.rib.incarnation(peer)?];
        let credential = own.credential?;
        let new = || {
            let [mine, theirs] = &incarnations;
            let protection = Protection::between_members(credential, own.dif, (own.name, mine), (peer, theirs));
            Keys { incarnations, protection }
        };
        let (keys, before) = self.peers.entry(peer.clone()).or_insert_with(|| (new(), None));
        if keys.incarnations != incarnations {
            let present = before.take().filter(|before| before.incarnations == incarnations).unwrap_or_else(new);
            *before = Some(std::mem::replace(keys, present));
        }
        Some(&mut keys.protection)
    }

    /// The SDU of a message to a member. None if the RIB does not have it.
    pub(crate) fn protect(&mut self, own: &Own<'_>, to: &Name, message: Message) -> Option<Vec<u8>> {
        let message = Message { src_ap_name: Some(own.name.to_string()), ..message };
        let number = self.number + 1;
        let sdu = self.protection(own, to)?.protect_as(number, &message.encode_to_vec());
        self.number = number;
        Some(sdu)
    }

    /// The message of an SDU, and the member that sent it to this one. None if it is from nobody who knows the credential, or was
    /// there before.
    pub(crate) fn open(&mut self, own: &Own<'_>, sdu: &[u8]) -> Option<(Name, Message)> {
        let message = Message::parse(sdu.get(OVERHEAD..)?).ok()?;
        let from: Name = message.src_ap_name.as_deref()?.parse().ok()?;
        self.protection(own, &from)?.open(sdu)?;
        Some((from, message))
    }

    /// Forgets those that the RIB does not have any more, if they are too many. Returns whether they were: then this member has to draw
    /// another incarnation.
    #[must_use]
    pub(crate) fn retain(&mut self, rib: &Rib) -> bool {
        let gone = self.peers.keys().filter(|name| rib.incarnation(name).is_none()).count();
        if gone > KEPT {
            self.peers.retain(|name, _| rib.incarnation(name).is_some());
        }
        gone > KEPT
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::cdap::{object, op};
    use crate::rib::{Key, MAX_AGE};

    struct Member {
        name: Name,
        dif: Name,
        credential: Credential,
        rib: Rib,
        members: Members,
    }

    impl Member {
        fn new(name: &str) -> Member {
            let name: Name = name.parse().unwrap();
            let mut rib = Rib::new(name.clone(), 1000);
            rib.set(Key::Member(name.clone()), true, 1, Duration::ZERO);
            let credential = Credential::new(&[7; 16]).unwrap();
            Member { name, dif: "net".parse().unwrap(), credential, rib, members: Members::default() }
        }

        fn own(&mut self) -> (&mut Members, Own<'_>) {
            let credential = Some(&self.credential);
            (&mut self.members, Own { dif: &self.dif, name: &self.name, credential, rib: &self.rib })
        }

        fn send(&mut self, to: &Member) -> Vec<u8> {
            let (members, own) = self.own();
            members.protect(&own, &to.name, Message::about(op::CREATE, object::FLOW, "/1")).unwrap()
        }

        fn takes(&mut self, sdu: &[u8]) -> bool {
            let (members, own) = self.own();
            members.open(&own, sdu).is_some()
        }

        /// What the DIF does for it after a while.
        fn tick(&mut self, now: Duration) {
            self.rib.tick(now);
            if self.members.retain(&self.rib) {
                self.rib.reincarnate(now);
            }
        }
    }

    /// Both have the objects of the other.
    fn meet(one: &mut Member, other: &mut Member, now: Duration) {
        for rib in [&mut one.rib, &mut other.rib] {
            rib.end(0);
            rib.begin(0);
        }
        for _ in 0..10 {
            for (_, message) in one.rib.tick(now) {
                other.rib.receive(0, &message, now).unwrap();
            }
            for (_, message) in other.rib.tick(now) {
                one.rib.receive(0, &message, now).unwrap();
            }
        }
    }

    fn number(sdu: &[u8]) -> u64 {
        u64::from_be_bytes(*sdu[1..].first_chunk().unwrap())
    }

    /// After an hour apart members have forgotten each other, if others are gone as well, and come back with the same lives.
    #[test]
    fn nothing_is_taken_again_after_a_partition() {
        // Which of the two has looked for the other without finding it when they meet, and how many others are gone.
        let looked = [[true, true], [true, false], [false, true]];
        for (forgotten, others) in looked.into_iter().flat_map(|looked| [(looked, 0), (looked, KEPT)]) {
            let (mut a, mut b) = (Member::new("a"), Member::new("b"));
            meet(&mut a, &mut b, Duration::ZERO);
            for member in [&mut a, &mut b] {
                for number in 0..others {
                    let mut other = Member::new(&format!("x{number}"));
                    meet(member, &mut other, Duration::ZERO);
                    member.send(&other);
                }
            }
            let recorded: Vec<_> = (0..5).map(|_| a.send(&b)).collect();
            assert!(recorded.iter().all(|sdu| b.takes(sdu)));
            assert!(!b.takes(&recorded[4]));
            let incarnation = a.rib.own_incarnation();
            let mut now = Duration::ZERO;
            while now < MAX_AGE {
                now += Duration::from_secs(100);
                // Who does not forget the other misses the moment at which the RIB does not have it.
                let members = [&mut a, &mut b].into_iter().zip(forgotten);
                members.filter(|(_, forgets)| *forgets || now < MAX_AGE).for_each(|(member, _)| member.tick(now));
            }
            meet(&mut a, &mut b, now);
            let life = crate::credential::life;
            assert_eq!(life(&incarnation), life(&a.rib.own_incarnation()));
            assert_eq!(incarnation != a.rib.own_incarnation(), forgotten[0] && others > 0, "{forgotten:?} {others}");
            assert!(recorded.iter().all(|sdu| !b.takes(sdu)), "replayed: {forgotten:?}");
            let again = a.send(&b);
            assert!(number(&again) > number(&recorded[4]), "a number is used again");
            assert!(b.takes(&again), "{forgotten:?}");
            let answer = b.send(&a);
            assert!(a.takes(&answer), "{forgotten:?}");
        }
    }

    /// Two processes with one name take turns in the RIB of a third member.
    #[test]
    fn nothing_is_taken_again_from_one_of_two_with_a_name() {
        let (mut one, mut other, mut b) = (Member::new("a"), Member::new("a"), Member::new("b"));
        meet(&mut one, &mut b, Duration::ZERO);
        let first = one.send(&b);
        assert!(b.takes(&first));
        let mut numbers = vec![number(&b.send(&one))];
        for second in 1..4 {
            for twin in [&mut other, &mut one] {
                // It supersedes what the other one has issued.
                meet(twin, &mut b, Duration::from_secs(second));
                assert_eq!(b.rib.incarnation(&twin.name), Some(twin.rib.own_incarnation()));
                assert!(!b.takes(&first));
                numbers.push(number(&b.send(twin)));
            }
        }
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    }
}
