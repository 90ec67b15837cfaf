//! The DIF's credential, and what is derived from it: who knows it, and the protection of management SDUs between
//! neighbours.
//!
//! People may have chosen it, and whoever has overheard an enrollment can try guesses at home. So that each guess costs time and memory, the
//! credential is not what the file contains, but Argon2id (RFC 9106) of that, with the DIF's name as salt.
//!
//! Two IPC processes exchange shares in M_CONNECT and M_CONNECT_R: a nonce, and a public key that is used once ([`crate::agreement`]). Both
//! derive a key for each direction,
//!
//! ```text
//! session = HMAC-SHA-256(credential, secret that the public keys give)
//! HMAC-SHA-256(session, direction ‖ DIF ‖ initiator ‖ responder ‖ share of the initiator ‖ share of the responder)
//! ```
//!
//! with a length in front of each part. Every further management SDU on the link is `1 ‖ number ‖ tag ‖ CDAP message`:
//! a number of 8 bytes that increases, and the first 16 bytes of HMAC-SHA-256(key, number ‖ message). The first byte of
//! a CDAP message without protection is never 1 or 2. Who sends a right tag knows the credential. Who learns the credential later knows
//! no key of a session before: the secret is gone.
//!
//! In DIFs with encryption it is `2 ‖ number ‖ tag ‖ text`: the message sealed by ChaCha20-Poly1305 (RFC 8439) with the number as nonce and
//! the first 9 bytes as additional data. The directions have other names then, so that no key is used in both ways.
//!
//! Management between members that are not neighbours has the same form, under keys of its own:
//!
//! ```text
//! HMAC-SHA-256(credential, "member" ‖ DIF ‖ sender ‖ receiver ‖ incarnation of the sender ‖ incarnation of the receiver)
//! ```
//!
//! An incarnation is a nonce that a member draws when it begins and publishes in the RIB. So SDUs of an earlier life of either
//! end have another key. With another credential, and when a peer's numbers have been forgotten ([`crate::members`]), the second half of it is
//! drawn anew; the first half stands for the process's life.

use std::fmt;
use std::path::Path;

use argon2::{Algorithm, Argon2, Params, Version};
use hmac::{Hmac, Mac};
use hopwright_host::files;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::agreement::{KeyPair, PUBLIC};
use crate::name::Name;

/// Bytes of a nonce.
pub(crate) const NONCE: usize = 16;
const TAG: usize = 16;
/// What an end contributes to a handshake: a nonce and a public key.
pub(crate) const SHARE: usize = NONCE + PUBLIC;
pub(crate) type Share = [u8; SHARE];

/// Which run of an IPC process an incarnation belongs to: its first half. The second half changes with the credential.
pub(crate) type Life = [u8; NONCE / 2];

/// The life of an incarnation.
pub(crate) fn life(incarnation: &[u8; NONCE]) -> Life {
    *incarnation.first_chunk().expect("a half is shorter than the whole")
}
const PROTECTED: u8 = 1;
const SEALED: u8 = 2;
/// Bytes in front of a protected message: what it is and its number, and the tag.
const HEAD: usize = 1 + 8;
pub(crate) const OVERHEAD: usize = HEAD + TAG;
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
    pub initiator_share: Share,
    pub responder_share: Share,
    /// Messages are encrypted.
    pub encryption: bool,
}

/// A key pair, and the share with its public key and a new nonce. None if the system has no random numbers.
pub(crate) fn share() -> Option<(KeyPair, Share)> {
    let pair = KeyPair::new()?;
    let mut share = [0; SHARE];
    share[..NONCE].copy_from_slice(&nonce());
    share[NONCE..].copy_from_slice(pair.public());
    Some((pair, share))
}

/// The nonce of a share.
pub(crate) fn nonce_of(share: &Share) -> [u8; NONCE] {
    *share.first_chunk().expect("a share is longer")
}

impl Handshake<'_> {
    /// The protection at the initiator's end, whose key pair is used up. None if the responder's share has no public key.
    pub(crate) fn initiator(&self, credential: &Credential, own: KeyPair) -> Option<Protection> {
        let [sent, received] = self.keys(credential, own, &self.responder_share)?;
        Some(Protection { sent, received, next: 1, last: 0 })
    }

    /// The protection at the responder's end.
    pub(crate) fn responder(&self, credential: &Credential, own: KeyPair) -> Option<Protection> {
        let [received, sent] = self.keys(credential, own, &self.initiator_share)?;
        Some(Protection { sent, received, next: 1, last: 0 })
    }

    /// The keys of the initiator's and the responder's SDUs.
    fn keys(&self, credential: &Credential, own: KeyPair, other: &Share) -> Option<[Key; 2]> {
        let session = own.agree(&other[NONCE..], |secret| {
            Zeroizing::new(<[u8; 32]>::from(hmac(&credential.0).chain_update(secret).finalize().into_bytes()))
        })?;
        let (one, other) = ((self.initiator, &self.initiator_share[..]), (self.responder, &self.responder_share[..]));
        let key = |direction| derive(&session[..], direction, self.dif, one, other);
        Some(match self.encryption {
            false => ["initiator", "responder"].map(|direction| Key::Tag(key(direction))),
            true => ["initiator sealed", "responder sealed"].map(|direction| Key::Seal(key(direction))),
        })
    }
}

/// A name, and the nonce that was drawn under it.
type Party<'a> = (&'a Name, &'a [u8]);

/// The key of a direction.
enum Key {
    /// Of tags.
    Tag(Zeroizing<[u8; 32]>),
    /// Of encryption.
    Seal(Zeroizing<[u8; 32]>),
}

/// The cipher with a key, for one message: the library does not overwrite keys, and so none is kept in its form.
pub(crate) fn cipher(key: &[u8; 32]) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key).expect("a key of the cipher's length"))
}

fn derive(key: &[u8], purpose: &str, dif: &Name, one: Party<'_>, other: Party<'_>) -> Zeroizing<[u8; 32]> {
    let mut hmac = hmac(key);
    let names = [purpose, dif.as_str(), one.0.as_str(), other.0.as_str()].map(str::as_bytes);
    for part in names.into_iter().chain([one.1, other.1]) {
        hmac.update(&(part.len() as u32).to_be_bytes());
        hmac.update(part);
    }
    Zeroizing::new(hmac.finalize().into_bytes().into())
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
        let key = |sender, receiver| Key::Tag(derive(&credential.0, "member", dif, sender, receiver));
        Protection { sent: key(own, peer), received: key(peer, own), next: 1, last: 0 }
    }

    /// Protects a message.
    pub(crate) fn protect(&mut self, message: &[u8]) -> Vec<u8> {
        self.protect_as(self.next, message)
    }

    /// The same with this number, or a greater one if it is used already.
    pub(crate) fn protect_as(&mut self, number: u64, message: &[u8]) -> Vec<u8> {
        let number = number.max(self.next);
        self.next = number + 1;
        let number = number.to_be_bytes();
        let mut sdu = Vec::with_capacity(OVERHEAD + message.len());
        match &self.sent {
            Key::Tag(key) => {
                sdu.push(PROTECTED);
                sdu.extend(number);
                sdu.extend(&tag(&key[..], number, message).finalize().into_bytes()[..TAG]);
                sdu.extend(message);
            }
            Key::Seal(key) => {
                sdu.push(SEALED);
                sdu.extend(number);
                let (head, mut text) = (sdu.clone(), message.to_vec());
                let tag =
                    cipher(key).seal_in_place_separate_tag(sealing_nonce(number), Aad::from(&head[..]), &mut text);
                sdu.extend(tag.expect("a message is short").as_ref());
                sdu.extend(text);
            }
        }
        sdu
    }

    /// The message of a protected SDU that the other end sent, once and in order.
    pub(crate) fn open(&mut self, sdu: &[u8]) -> Option<Vec<u8>> {
        let (head, rest) = sdu.split_first_chunk::<HEAD>()?;
        let (tagged, message) = rest.split_first_chunk::<TAG>()?;
        let number = *head[1..].first_chunk::<8>()?;
        let counted = u64::from_be_bytes(number);
        if counted <= self.last {
            return None;
        }
        let message = match (&self.received, head[0]) {
            (Key::Tag(key), PROTECTED) => {
                tag(&key[..], number, message).verify_truncated_left(tagged).ok()?;
                message.to_vec()
            }
            (Key::Seal(key), SEALED) => {
                let mut text = message.to_vec();
                let (nonce, head) = (sealing_nonce(number), Aad::from(&head[..]));
                cipher(key).open_in_place_separate_tag(nonce, head, (*tagged).into(), &mut text, 0..).ok()?;
                text
            }
            _ => return None,
        };
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
    sdu.first() == Some(&PROTECTED) || is_sealed(sdu)
}

/// Whether an SDU says that it is encrypted.
pub(crate) fn is_sealed(sdu: &[u8]) -> bool {
    sdu.first() == Some(&SEALED)
}

fn sealing_nonce(number: [u8; 8]) -> Nonce {
    let mut nonce = [0; NONCE_LEN];
    nonce[NONCE_LEN - 8..].copy_from_slice(&number);
    Nonce::assume_unique_for_key(nonce)
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

fn tag(key: &[u8], number: [u8; 8], message: &[u8]) -> Hmac<Sha256> {
    hmac(key).chain_update(number).chain_update(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(one: &[u8], other: &[u8]) -> (Protection, Protection) {
        ends_with(one, other, false)
    }

    fn ends_with(one: &[u8], other: &[u8], encryption: bool) -> (Protection, Protection) {
        let (dif, a, b) = ("dif".parse().unwrap(), "a".parse().unwrap(), "b".parse().unwrap());
        let ((at_a, initiator_share), (at_b, responder_share)) = (share().unwrap(), share().unwrap());
        let handshake =
            Handshake { dif: &dif, initiator: &a, responder: &b, initiator_share, responder_share, encryption };
        let (one, other) = (Credential::new(one).unwrap(), Credential::new(other).unwrap());
        (handshake.initiator(&one, at_a).unwrap(), handshake.responder(&other, at_b).unwrap())
    }

    /// Who has recorded a handshake and learns the credential afterwards has neither end's private key.
    #[test]
    fn a_credential_that_leaks_opens_nothing_that_was_recorded() {
        let (dif, a, b) = ("dif".parse().unwrap(), "a".parse().unwrap(), "b".parse().unwrap());
        let credential = Credential::new(&[7; 16]).unwrap();
        for encryption in [false, true] {
            let ((at_a, initiator_share), (at_b, responder_share)) = (share().unwrap(), share().unwrap());
            let recorded =
                Handshake { dif: &dif, initiator: &a, responder: &b, initiator_share, responder_share, encryption };
            let sdu = recorded.initiator(&credential, at_a).unwrap().protect(b"secret message");
            let later = KeyPair::new().unwrap();
            assert_eq!(recorded.responder(&credential, later).unwrap().open(&sdu), None);
            assert_eq!(
                recorded.responder(&credential, at_b).unwrap().open(&sdu).as_deref(),
                Some(&b"secret message"[..])
            );
            assert_eq!(sdu.windows(6).any(|bytes| bytes == b"secret"), !encryption);
        }
    }

    #[test]
    fn what_is_no_public_key_gives_no_session() {
        let (dif, a, b) = ("dif".parse().unwrap(), "a".parse().unwrap(), "b".parse().unwrap());
        let (pair, initiator_share) = share().unwrap();
        let handshake = Handshake {
            dif: &dif,
            initiator: &a,
            responder: &b,
            initiator_share,
            responder_share: [0; SHARE],
            encryption: false,
        };
        assert!(handshake.initiator(&Credential::new(&[7; 16]).unwrap(), pair).is_none());
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
        for encryption in [false, true] {
            let (mut a, mut b) = ends_with(&[7; 16], &[7; 16], encryption);
            let first = a.protect(b"first");
            let second = a.protect(b"second");
            assert_eq!(b.open(&first).as_deref(), Some(&b"first"[..]));
            assert_eq!(b.open(&first), None, "replayed");
            for at in 0..second.len() {
                let mut changed = second.clone();
                changed[at] ^= 1;
                assert_eq!(b.open(&changed), None, "byte {at}");
                assert_eq!(b.open(&second[..at]), None, "{at} bytes");
            }
            assert_eq!(a.open(&second), None, "reflected");
            assert_eq!(b.open(&second).as_deref(), Some(&b"second"[..]));
        }
    }

    #[test]
    fn members_open_what_the_other_sent_in_this_life() {
        let (dif, a, b) = ("dif".parse().unwrap(), "a".parse().unwrap(), "b".parse().unwrap());
        let credential = Credential::new(&[7; 16]).unwrap();
        let ends = |one, other| {
            let [one, other] = [[one; NONCE], [other; NONCE]];
            let at_a = Protection::between_members(&credential, &dif, (&a, &one[..]), (&b, &other[..]));
            (at_a, Protection::between_members(&credential, &dif, (&b, &other[..]), (&a, &one[..])))
        };
        let (mut at_a, mut at_b) = ends(1, 2);
        let sdu = at_a.protect(b"hello");
        assert_eq!(at_b.open(&sdu), Some(b"hello".to_vec()));
        assert_eq!(at_b.open(&sdu), None, "replayed");
        assert_eq!(at_a.open(&sdu), None, "reflected");
        for (mut at_a, mut at_b) in [ends(1, 3), ends(3, 2)] {
            assert_eq!(at_b.open(&sdu), None, "of an earlier life");
            assert_eq!(at_b.open(&at_a.protect(b"again")), Some(b"again".to_vec()));
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
