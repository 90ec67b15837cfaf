//! Keys of 128 bits.

use std::fmt;

use zeroize::Zeroize;

/// A key of 128 bits. It is wiped when dropped, and never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 16]);

impl Key {
    /// The bytes.
    pub fn bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl From<[u8; 16]> for Key {
    fn from(bytes: [u8; 16]) -> Key {
        Key(bytes)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}
