//! Management between members of the DIF that are not neighbours, about flows: who sent it, and that it is new.
//!
//! Relays and everybody who can write to a link between them see such PDUs. They can neither forge nor change one, nor send it
//! again: each pair of members has keys of its own ([`crate::credential`]). There is one state for each member of the RIB at most.

use std::collections::BTreeMap;

use prost::Message as _;

use crate::cdap::Message;
use crate::credential::{Credential, NONCE, OVERHEAD, Protection};
use crate::name::Name;
use crate::rib::Rib;

#[derive(Debug)]
struct Peer {
    /// Of this process and of the peer.
    incarnations: [[u8; NONCE]; 2],
    protection: Protection,
}

/// The members that management was exchanged with.
#[derive(Debug, Default)]
pub(crate) struct Members {
    peers: BTreeMap<Name, Peer>,
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
        if self.peers.get(peer).is_none_or(|known| known.incarnations != incarnations) {
            let [mine, theirs] = &incarnations;
            let protection = Protection::between_members(own.credential?, own.dif, (own.name, mine), (peer, theirs));
            self.peers.insert(peer.clone(), Peer { incarnations, protection });
        }
        self.peers.get_mut(peer).map(|peer| &mut peer.protection)
    }

    /// The SDU of a message to a member. None if the RIB does not have it.
    pub(crate) fn protect(&mut self, own: &Own<'_>, to: &Name, message: Message) -> Option<Vec<u8>> {
        let message = Message { src_ap_name: Some(own.name.to_string()), ..message };
        Some(self.protection(own, to)?.protect(&message.encode_to_vec()))
    }

    /// The message of an SDU, and the member that sent it to this one. None if it is from nobody who knows the credential, or was
    /// there before.
    pub(crate) fn open(&mut self, own: &Own<'_>, sdu: &[u8]) -> Option<(Name, Message)> {
        let message = Message::parse(sdu.get(OVERHEAD..)?).ok()?;
        let from: Name = message.src_ap_name.as_deref()?.parse().ok()?;
        self.protection(own, &from)?.open(sdu)?;
        Some((from, message))
    }

    /// Forgets those that the RIB does not have any more.
    pub(crate) fn retain(&mut self, rib: &Rib) {
        self.peers.retain(|name, _| rib.incarnation(name).is_some());
    }
}
