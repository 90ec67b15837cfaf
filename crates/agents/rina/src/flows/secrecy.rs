//! Secrecy of a flow: what its ends send is encrypted and authenticated, so that relays and others on the path neither read, change,
//! forge nor repeat it.
//!
//! Each end draws a key pair (X25519, RFC 7748) and sends its public key in M_CREATE or M_CREATE_R, which are protected by the members'
//! keys ([`crate::members`]). So a credential that becomes known later does not tell what was sent before. The key of a direction is
//!
//! ```text
//! HMAC-SHA-256(shared secret, "requester" or "responder" ‖ public key of the requester ‖ of the responder)
//! ```
//!
//! PDUs are sealed by ChaCha20-Poly1305 (RFC 8439) with the connection endpoints and the type of the PDU as additional data, and with its
//! flags but for that of congestion, which relays set. The nonce is a byte for the kind of PDU and a number of 64 bits in the last 8 of 12 bytes: of
//! data that of the PDU, so that a PDU that is sent again is the same; acknowledgements have numbers of their own, in front.

use std::fmt;

use hmac::{Hmac, Mac};
use ring::aead::{Aad, CHACHA20_POLY1305, NONCE_LEN, Nonce};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::agreement::KeyPair;
use crate::credential::cipher;
use crate::efcp::extend;
use crate::pdu::{CONGESTION, Header, kind};

/// Bytes of a number in front of an acknowledgement.
const NUMBER: usize = 8;

/// The keys of one end, and the numbers that it has seen.
pub(super) struct Secrecy {
    public: Vec<u8>,
    sealing: Zeroizing<[u8; 32]>,
    opening: Zeroizing<[u8; 32]>,
    /// The last data PDU that was sent, and the last that came.
    sent: u64,
    received: u64,
    acknowledgements: u64,
}

impl Secrecy {
    /// With the other end's public key. `requests`: this end sent M_CREATE. None if the other key is none.
    pub(super) fn new(own: KeyPair, other: &[u8], requests: bool) -> Option<Secrecy> {
        let public = own.public().to_vec();
        let (requester, responder) = if requests { (&public[..], other) } else { (other, &public[..]) };
        let key = |secret: &[u8], direction: &str| {
            let mut hmac: Hmac<Sha256> = Hmac::new_from_slice(secret).ok()?;
            [direction.as_bytes(), requester, responder].iter().for_each(|part| hmac.update(part));
            Some(Zeroizing::new(<[u8; 32]>::from(hmac.finalize().into_bytes())))
        };
        let keys = |secret: &[u8]| Some((key(secret, "requester")?, key(secret, "responder")?));
        let keys = own.agree(other, keys)??;
        let (sealing, opening) = if requests { keys } else { (keys.1, keys.0) };
        Some(Secrecy { public, sealing, opening, sent: 0, received: 0, acknowledgements: 0 })
    }

    /// This end's public key.
    pub(super) fn public(&self) -> &[u8] {
        &self.public
    }

    /// The payload of a PDU that is sent.
    pub(super) fn seal(&mut self, header: &Header, payload: &[u8]) -> Vec<u8> {
        let mut sealed = Vec::with_capacity(NUMBER + payload.len() + CHACHA20_POLY1305.tag_len());
        let number = if header.kind == kind::DATA {
            // The first number may be 0, and what is sent again has a smaller one than the last.
            let number = extend(header.sequence, self.sent).unwrap_or(header.sequence.into());
            self.sent = self.sent.max(number);
            number
        } else {
            self.acknowledgements += 1;
            sealed.extend(self.acknowledgements.to_be_bytes());
            self.acknowledgements
        };
        let mut text = payload.to_vec();
        let done =
            cipher(&self.sealing).seal_in_place_append_tag(nonce(header.kind, number), additional(header), &mut text);
        // An SDU is far shorter than what the cipher takes.
        done.expect("a PDU is short");
        sealed.extend(text);
        sealed
    }

    /// What was sealed at the other end. None if it was not.
    pub(super) fn open(&mut self, header: &Header, payload: &[u8]) -> Option<Vec<u8>> {
        let (number, sealed) = if header.kind == kind::DATA {
            (extend(header.sequence, self.received)?, payload)
        } else {
            let (number, sealed) = payload.split_first_chunk::<NUMBER>()?;
            (u64::from_be_bytes(*number), sealed)
        };
        let mut text = sealed.to_vec();
        let opened = cipher(&self.opening).open_in_place(nonce(header.kind, number), additional(header), &mut text);
        let length = opened.ok()?.len();
        text.truncate(length);
        if header.kind == kind::DATA {
            self.received = self.received.max(number);
        }
        Some(text)
    }
}

impl fmt::Debug for Secrecy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrecy").field("sent", &self.sent).field("received", &self.received).finish_non_exhaustive()
    }
}

fn nonce(kind: u8, number: u64) -> Nonce {
    let mut nonce = [0; NONCE_LEN];
    nonce[0] = u8::from(kind != kind::DATA);
    nonce[NONCE_LEN - 8..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(nonce)
}

/// What is not secret, but authentic. Endpoints belong to a key, so that they need not be in it.
fn additional(header: &Header) -> Aad<[u8; 2]> {
    Aad::from([header.kind, header.flags & !CONGESTION])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends() -> (Secrecy, Secrecy) {
        let (one, other) = (KeyPair::new().unwrap(), KeyPair::new().unwrap());
        let publics = [one.public().to_vec(), other.public().to_vec()];
        (Secrecy::new(one, &publics[1], true).unwrap(), Secrecy::new(other, &publics[0], false).unwrap())
    }

    fn header(kind: u8, sequence: u32, flags: u8) -> Header {
        Header { kind, sequence, flags, ..Header::default() }
    }

    #[test]
    fn only_the_other_end_reads_and_only_what_was_sent() {
        let (mut one, mut other) = ends();
        let data = header(kind::DATA, 7, 2);
        let sealed = one.seal(&data, b"secret");
        assert_eq!(sealed.len(), 6 + 16);
        assert_eq!(other.open(&data, &sealed).as_deref(), Some(&b"secret"[..]));
        assert_eq!(other.open(&Header { flags: data.flags | CONGESTION, ..data }, &sealed), Some(b"secret".to_vec()));
        assert_eq!(one.open(&data, &sealed), None, "reflected");
        assert_eq!(ends().1.open(&data, &sealed), None, "of another flow");
        for changed in [header(kind::DATA, 8, 2), header(kind::DATA, 7, 0), header(kind::ACK_FLOW, 7, 2)] {
            assert_eq!(other.open(&changed, &sealed), None, "{changed:?}");
        }
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(other.open(&data, &changed), None, "byte {at}");
            assert_eq!(other.open(&data, &sealed[..at]), None, "{at} bytes");
        }
        assert_eq!(one.seal(&data, b"secret"), sealed, "sent again it is the same");
    }

    #[test]
    fn acknowledgements_are_sealed_each_in_another_way() {
        let (mut one, mut other) = ends();
        let ack = header(kind::SACK_FLOW, 3, 0);
        let (first, second) = (other.seal(&ack, b"ack"), other.seal(&ack, b"ack"));
        assert_ne!(first[NUMBER..], second[NUMBER..]);
        for sealed in [second, first] {
            assert_eq!(one.open(&ack, &sealed).as_deref(), Some(&b"ack"[..]));
        }
        assert_eq!(one.open(&ack, b"short"), None);
    }

    #[test]
    fn numbers_of_32_bits_wrap_around() {
        let (mut one, mut other) = ends();
        let mut sealed = Vec::new();
        for number in (0..5u64).map(|step| step << 30) {
            let data = header(kind::DATA, number as u32, 0);
            sealed.push(one.seal(&data, b"x"));
            assert!(other.open(&data, sealed.last().unwrap()).is_some(), "{number}");
        }
        assert_ne!(sealed[0], sealed[4], "a number is used once");
        assert_eq!(other.open(&header(kind::DATA, 0, 0), &sealed[0]), None, "nor is what came before taken for it");
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for key in [&b""[..], &[0; 32], &[1; 31]] {
            assert!(Secrecy::new(KeyPair::new().unwrap(), key, true).is_none(), "{key:?}");
        }
    }
}
