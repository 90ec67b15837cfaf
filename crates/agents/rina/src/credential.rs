//! The DIF's credential, and what is derived from it: who knows it, and the protection of management SDUs between
//! neighbours.
//!
//! People may have chosen it, and whoever has overheard an enrollment can try guesses at home. So that each guess costs time and memory, the
//! credential is not what the file contains, but Argon2id (RFC 9106) of that, with the DIF's name as salt.
//!
//! Two IPC processes exchange nonces in M_CONNECT and M_CONNECT_R. Both derive a key for each direction,
//!
//! ```text
//! HMAC-SHA-256(credential, direction ‖ DIF ‖ initiator ‖ responder ‖ nonce of the initiator ‖ nonce of the responder)
//! ```
//!
//! with a length in front of each part. Every further management SDU on the link is `1 ‖ number ‖ tag ‖ CDAP message`:
//! a number of 8 bytes that increases, and the first 16 bytes of HMAC-SHA-256(key, number ‖ message). The first byte of
//! a CDAP message without protection is never 1. Who sends a right tag knows the credential.
//!
//! Management between members that are not neighbours has the same form, under keys of its own:
//!
//! ```text
//! HMAC-SHA-256(credential, "member" ‖ DIF ‖ sender ‖ receiver ‖ incarnation of the sender ‖ incarnation of the receiver)
//! ```
//!
//! An incarnation is a nonce that a member draws when it begins and publishes in the RIB. So SDUs of an earlier life of either
//! end have another key. With another credential the second half of it is drawn anew; the first half stands for the process's life.

use std::fmt;
use std::path::Path;

use argon2::{Algorithm, Argon2, Params, Version};
use hmac::{Hmac, Mac};
use hopwright_host::files;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::name::Name;

/// Bytes of a nonce.
pub(crate) const NONCE: usize = 16;
const TAG: usize = 16;

/// Which run of an IPC process an incarnation belongs to: its first half. The second half changes with the credential.
pub(crate) type Life = [u8; NONCE / 2];

/// The life of an incarnation.
pub(crate) fn life(incarnation: &[u8; NONCE]) -> Life {
    *incarnation.first_chunk().expect("a half is shorter than the whole")
}
const PROTECTED: u8 = 1;
/// Bytes in front of a protected message.
pub(crate) const OVERHEAD: usize = 1 + 8 + TAG;
/// Memory in KiB and passes of Argon2id, which takes some 20 ms with them.
const MEMORY_AND_PASSES: (u32, u32) = (19 * 1024, 2);
/// Bytes of a credential, at least and at most.
const LENGTHS: std::ops::RangeInclusive<usize> = 16..=1024;

/// What the members of a DIF know and nobody else.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential(Zeroizing<Vec<u8>>);

/// Why there is no credential.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum CredentialError {
    #[error("{file}: {source}")]
    Read { file: String, source: std::io::Error },
    #[error("{0}: expected 16 to 1,024 bytes, without the line's end")]
    Length(String),
}

impl Credential {
    /// Reads the credential of a DIF: the bytes of the file, without line ends behind them. It is stretched.
    pub fn read(file: &Path, dif: &Name) -> Result<Credential, CredentialError> {
        let name = || file.display().to_string();
        let bytes =
            files::read(file, *LENGTHS.end() + 2).map_err(|source| CredentialError::Read { file: name(), source })?;
        let words = Credential::new(bytes.trim_ascii_end()).ok_or_else(|| CredentialError::Length(name()))?;
        Ok(words.stretched(dif))
    }

    fn stretched(&self, dif: &Name) -> Credential {
        let (memory, passes) = MEMORY_AND_PASSES;
        let params = Params::new(memory, passes, 1, None).expect("parameters in range");
        let salt = Sha256::digest([b"hopwright rina ", dif.as_str().as_bytes()].concat());
        let mut key = Zeroizing::new(vec![0; 32]);
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        argon2.hash_password_into(&self.0, &salt, &mut key).expect("lengths in range");
        Credential(key)
    }

    /// A credential of at least 16 bytes, as it is.
    pub fn new(bytes: &[u8]) -> Option<Credential> {
        LENGTHS.contains(&bytes.len()).then(|| Credential(Zeroizing::new(bytes.into())))
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential")
    }
}

/// What two IPC processes agree on before they trust each other.
pub(crate) struct Handshake<'a> {
    pub dif: &'a Name,
    pub initiator: &'a Name,
    pub responder: &'a Name,
    pub initiator_nonce: [u8; NONCE],
    pub responder_nonce: [u8; NONCE],
}

impl Handshake<'_> {
    /// The keys of the initiator's and the responder's SDUs.
    fn keys(&self, credential: &Credential) -> [Key; 2] {
        let (one, other) = ((self.initiator, &self.initiator_nonce), (self.responder, &self.responder_nonce));
        ["initiator", "responder"].map(|direction| Key::derive(credential, direction, self.dif, one, other))
    }

    /// The protection at the initiator's end.
    pub(crate) fn initiator(&self, credential: &Credential) -> Protection {
        let [sent, received] = self.keys(credential);
        Protection { sent, received, next: 1, last: 0 }
    }

    /// The protection at the responder's end.
    pub(crate) fn responder(&self, credential: &Credential) -> Protection {
        let [received, sent] = self.keys(credential);
        Protection { sent, received, next: 1, last: 0 }
    }
}

/// A name, and the nonce that was drawn under it.
type Party<'a> = (&'a Name, &'a [u8; NONCE]);

struct Key(Zeroizing<[u8; 32]>);

impl Key {
    fn derive(credential: &Credential, purpose: &str, dif: &Name, one: Party<'_>, other: Party<'_>) -> Key {
        let mut hmac = hmac(&credential.0);
        let names = [purpose, dif.as_str(), one.0.as_str(), other.0.as_str()].map(str::as_bytes);
        for part in names.into_iter().chain([&one.1[..], &other.1[..]]) {
            hmac.update(&(part.len() as u32).to_be_bytes());
            hmac.update(part);
        }
        Key(Zeroizing::new(hmac.finalize().into_bytes().into()))
    }
}

/// Keys and numbers of one end of a link.
pub(crate) struct Protection {
    sent: Key,
    received: Key,
    next: u64,
    last: u64,
}

impl Protection {
    /// The protection of management between two members, at the end of `own`. Each has its incarnation.
    pub(crate) fn between_members(credential: &Credential, dif: &Name, own: Party<'_>, peer: Party<'_>) -> Protection {
        let key = |sender, receiver| Key::derive(credential, "member", dif, sender, receiver);
        Protection { sent: key(own, peer), received: key(peer, own), next: 1, last: 0 }
    }

    /// Protects a message.
    pub(crate) fn protect(&mut self, message: &[u8]) -> Vec<u8> {
        let number = self.next.to_be_bytes();
        self.next += 1;
        let mut sdu = Vec::with_capacity(OVERHEAD + message.len());
        sdu.push(PROTECTED);
        sdu.extend(number);
        sdu.extend(&tag(&self.sent, number, message).finalize().into_bytes()[..TAG]);
        sdu.extend(message);
        sdu
    }

    /// The message of a protected SDU that the other end sent, once and in order.
    pub(crate) fn open<'a>(&mut self, sdu: &'a [u8]) -> Option<&'a [u8]> {
        let (head, message) = sdu.split_first_chunk::<OVERHEAD>()?;
        let number = *head[1..].first_chunk::<8>()?;
        let counted = u64::from_be_bytes(number);
        let right = tag(&self.received, number, message).verify_truncated_left(&head[9..]).is_ok();
        if head[0] != PROTECTED || !right || counted <= self.last {
            return None;
        }
        self.last = counted;
        Some(message)
    }
}

impl fmt::Debug for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Protection").field("next", &self.next).field("last", &self.last).finish_non_exhaustive()
    }
}

/// Whether an SDU says that it is protected.
pub(crate) fn is_protected(sdu: &[u8]) -> bool {
    sdu.first() == Some(&PROTECTED)
}

/// A nonce.
pub(crate) fn nonce() -> [u8; NONCE] {
    let mut nonce = [0; NONCE];
    // The system has random numbers, or nothing works.
    getrandom::fill(&mut nonce).expect("the system's random numbers");
    nonce
}

/// A number that differs from process to process.
pub(crate) fn number() -> u16 {
    u16::from_be_bytes([nonce()[0], nonce()[1]])
}

fn hmac(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("keys of any length are keys of HMAC")
}

fn tag(key: &Key, number: [u8; 8], message: &[u8]) -> Hmac<Sha256> {
    hmac(&*key.0).chain_update(number).chain_update(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(one: &[u8], other: &[u8]) -> (Protection, Protection) {
        let (dif, a, b) = ("dif".parse().unwrap(), "a".parse().unwrap(), "b".parse().unwrap());
        let handshake = Handshake {
            dif: &dif,
            initiator: &a,
            responder: &b,
            initiator_nonce: [1; NONCE],
            responder_nonce: [2; NONCE],
        };
        (handshake.initiator(&Credential::new(one).unwrap()), handshake.responder(&Credential::new(other).unwrap()))
    }

    #[test]
    fn a_guess_costs_memory() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lab.key");
        std::fs::write(&file, "correct horse battery staple\n").unwrap();
        let credential = Credential::read(&file, &"lab".parse().unwrap()).unwrap();
        // As argon2-cffi computes it, with the SHA-256 digest of "hopwright rina lab" as salt.
        let key: String = credential.0.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(key, "1936c80e39686419d74884dd6662f21848f67a1547d9c119a60a426a00a3eee0");
        let elsewhere = Credential::read(&file, &"other".parse().unwrap()).unwrap();
        assert!(credential != elsewhere, "the same words in another DIF are another credential");
    }

    #[test]
    fn messages_are_taken_once_and_unchanged() {
        let (mut a, mut b) = ends(&[7; 16], &[7; 16]);
        let first = a.protect(b"first");
        let second = a.protect(b"second");
        assert_eq!(b.open(&first), Some(&b"first"[..]));
        assert_eq!(b.open(&first), None, "replayed");
        for at in 0..second.len() {
            let mut changed = second.clone();
            changed[at] ^= 1;
            assert_eq!(b.open(&changed), None, "byte {at}");
        }
        assert_eq!(a.open(&second), None, "reflected");
        assert_eq!(b.open(&second), Some(&b"second"[..]));
    }

    #[test]
    fn members_open_what_the_other_sent_in_this_life() {
        let (dif, a, b) = ("dif".parse().unwrap(), "a".parse().unwrap(), "b".parse().unwrap());
        let credential = Credential::new(&[7; 16]).unwrap();
        let ends = |one, other| {
            let [one, other] = [[one; NONCE], [other; NONCE]];
            let at_a = Protection::between_members(&credential, &dif, (&a, &one), (&b, &other));
            (at_a, Protection::between_members(&credential, &dif, (&b, &other), (&a, &one)))
        };
        let (mut at_a, mut at_b) = ends(1, 2);
        let sdu = at_a.protect(b"hello");
        assert_eq!(at_b.open(&sdu), Some(&b"hello"[..]));
        assert_eq!(at_b.open(&sdu), None, "replayed");
        assert_eq!(at_a.open(&sdu), None, "reflected");
        for (mut at_a, mut at_b) in [ends(1, 3), ends(3, 2)] {
            assert_eq!(at_b.open(&sdu), None, "of an earlier life");
            assert_eq!(at_b.open(&at_a.protect(b"again")), Some(&b"again"[..]));
        }
    }

    #[test]
    fn another_credential_opens_nothing() {
        let (mut a, mut b) = ends(&[7; 16], &[8; 16]);
        assert_eq!(b.open(&a.protect(b"hello")), None);
        assert!(Credential::new(b"short").is_none());
        assert_eq!(format!("{:?}", Credential::new(&[65; 16])), "Some(Credential)");
    }
}
