//! Key agreement: X25519 (RFC 7748) with key pairs that are used once, so that what is agreed on is gone when both ends have forgotten it.

use std::fmt;

use ring::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
use ring::rand::SystemRandom;

/// Bytes of a public key.
pub(crate) const PUBLIC: usize = 32;

/// A key pair of one end.
pub(crate) struct KeyPair {
    private: EphemeralPrivateKey,
    public: [u8; PUBLIC],
}

impl KeyPair {
    /// A new one. None if the system has no random numbers.
    pub(crate) fn new() -> Option<KeyPair> {
        let private = EphemeralPrivateKey::generate(&X25519, &SystemRandom::new()).ok()?;
        let public = private.compute_public_key().ok()?.as_ref().try_into().ok()?;
        Some(KeyPair { private, public })
    }

    /// What the other end gets.
    pub(crate) fn public(&self) -> &[u8; PUBLIC] {
        &self.public
    }

    /// What becomes of the secret that this key pair and the other end's public key give. None if the other key is none.
    pub(crate) fn agree<T>(self, other: &[u8], derive: impl FnOnce(&[u8]) -> T) -> Option<T> {
        agree_ephemeral(self.private, &UnparsedPublicKey::new(&X25519, other), derive).ok()
    }
}

impl fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyPair")
    }
}
