//! The AS's secrets: master keys read from files, and keys derived from them. They are never shown, and are
//! wiped when dropped.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use hopwright_host::files;
use zeroize::Zeroizing;

/// The maximum size of a key file in bytes.
const LONGEST_KEY: usize = 4096;

/// As Go decodes it: bits behind the last byte do not matter.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&alphabet::STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// The key for hop-field MACs, or a secret value for reservations or DRKeys (AES-128).
#[derive(Clone)]
pub struct HopKey(Zeroizing<[u8; 16]>);

impl HopKey {
    /// Derives the key from an AS master key: PBKDF2-HMAC-SHA256, salt "Derive OF Key", 1000 rounds.
    pub fn derive(master: &[u8]) -> HopKey {
        let mut key = Zeroizing::new([0; 16]);
        pbkdf2::pbkdf2_hmac::<sha2::Sha256>(master, b"Derive OF Key", 1000, key.as_mut_slice());
        HopKey(key)
    }

    /// Derives the secret value of Hummingbird reservations from an AS master key: PBKDF2-HMAC-SHA256, salt "Derive hbird sv",
    /// 1000 rounds. The salt is that of the reference, which calls this `DeriveSecretValue`.
    pub fn derive_secret_value(master: &[u8]) -> HopKey {
        let mut key = Zeroizing::new([0; 16]);
        pbkdf2::pbkdf2_hmac::<sha2::Sha256>(master, b"Derive hbird sv", 1000, key.as_mut_slice());
        HopKey(key)
    }

    /// The key's bytes.
    pub fn bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// For the agent's own comparisons of keys it has read; whether they are equal is not secret.
impl PartialEq for HopKey {
    fn eq(&self, other: &HopKey) -> bool {
        self.0 == other.0
    }
}

impl Eq for HopKey {}

/// The AS's master key, from which the secret values of each day are derived.
#[derive(Clone, PartialEq, Eq)]
pub struct MasterKey(Zeroizing<Vec<u8>>);

impl MasterKey {
    /// The master key with these bytes.
    pub fn new(bytes: &[u8]) -> MasterKey {
        MasterKey(Zeroizing::new(bytes.to_vec()))
    }

    /// Derives the DRKey secret value of a protocol for an epoch, in seconds since 1970: PBKDF2-HMAC-SHA256, salt "Derive DRKey Key",
    /// 1000 rounds (the reference's `drkey.DeriveSV`).
    pub fn drkey_secret_value(&self, protocol: u16, epoch: Range<u32>) -> HopKey {
        let mut input = Zeroizing::new(Vec::with_capacity(self.0.len() + 18));
        input.extend((self.0.len() as u64).to_be_bytes());
        input.extend_from_slice(&self.0);
        input.extend(protocol.to_be_bytes());
        input.extend(epoch.start.to_be_bytes());
        input.extend(epoch.end.to_be_bytes());
        let mut key = Zeroizing::new([0; 16]);
        pbkdf2::pbkdf2_hmac::<sha2::Sha256>(&input, b"Derive DRKey Key", 1000, key.as_mut_slice());
        HopKey(key)
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterKey(redacted)")
    }
}

/// The AS's keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// The current master key.
    pub master: MasterKey,
    /// The key for new hop fields (`master0.key`).
    pub current: HopKey,
    /// The key for hop fields made after the next key change (`master1.key`).
    pub next: HopKey,
    /// The secret values of reservations, derived from the same files.
    pub secret_values: [HopKey; 2],
}

impl Keys {
    /// Derives all keys from the master keys: the current and the next one.
    pub fn derive(current: &[u8], next: &[u8]) -> Keys {
        Keys {
            master: MasterKey::new(current),
            current: HopKey::derive(current),
            next: HopKey::derive(next),
            secret_values: [current, next].map(HopKey::derive_secret_value),
        }
    }
}

impl fmt::Debug for HopKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HopKey(redacted)")
    }
}

/// The reason why a key cannot be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum KeyError {
    #[error("{}: {source}", file.display())]
    Read { file: PathBuf, source: std::io::Error },
    #[error("{}: not base64: {why}", file.display())]
    Base64 { file: PathBuf, why: &'static str },
    #[error("{}: the key is empty", file.display())]
    Empty { file: PathBuf },
}

/// Reads `keys/master0.key` and `keys/master1.key` in a configuration directory. Both must be valid.
pub fn load(config_dir: &Path) -> Result<Keys, KeyError> {
    let key = |name: &str| read(&config_dir.join("keys").join(name));
    Ok(Keys::derive(&key("master0.key")?, &key("master1.key")?))
}

/// Reads a master key file.
pub fn read(file: &Path) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let mut text =
        files::read(file, LONGEST_KEY).map_err(|source| KeyError::Read { file: file.to_path_buf(), source })?;
    text.retain(|b| !matches!(b, b'\r' | b'\n'));
    // The decoder's own message would quote a byte of the key.
    let key = BASE64.decode(text.as_slice()).map(Zeroizing::new).map_err(|error| KeyError::Base64 {
        file: file.to_path_buf(),
        why: match error {
            base64::DecodeError::InvalidByte(..) => "a character does not belong to it",
            base64::DecodeError::InvalidLength(_) => "characters are missing at its end",
            base64::DecodeError::InvalidLastSymbol(..) => "its last character has bits too many",
            base64::DecodeError::InvalidPadding => "wrong padding",
        },
    })?;
    if key.is_empty() {
        return Err(KeyError::Empty { file: file.to_path_buf() });
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(master0: &str, master1: Option<&str>) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("keys")).unwrap();
        std::fs::write(dir.path().join("keys/master0.key"), master0).unwrap();
        if let Some(key) = master1 {
            std::fs::write(dir.path().join("keys/master1.key"), key).unwrap();
        }
        dir
    }

    /// Python: hashlib.pbkdf2_hmac("sha256", key, b"Derive OF Key", 1000, 16).
    #[test]
    fn derivation() {
        assert_eq!(HopKey::derive(b"0123456789abcdef").bytes(), &VECTOR_ASCII);
        let dir = files("rJMIe7UcHTQxm9l13TuI3A==\n", Some("WIn/OaISXyOCLehKNHcMKg=="));
        assert_eq!(load(dir.path()).unwrap().current.bytes(), &VECTOR_FILE);
    }

    /// The reference: `hummingbird.DeriveSecretValue`.
    #[test]
    fn secret_value() {
        let vector = 0x3487_0e03_9e34_ac96_8fd7_efb1_7370_caa8_u128.to_be_bytes();
        assert_eq!(HopKey::derive_secret_value(b"0123456789abcdef").bytes(), &vector);
    }

    #[test]
    fn never_printed() {
        let keys = format!("{:?}", Keys::derive(b"secret", b"other"));
        assert!(keys.contains("MasterKey(redacted)") && keys.contains("HopKey(redacted)"), "{keys}");
        assert!(!keys.chars().any(|c| c.is_ascii_digit()), "{keys}");
    }

    #[test]
    fn bad_files_are_named() {
        let good = "rJMIe7UcHTQxm9l13TuI3A==";
        for (dir, file, what) in [
            (files(good, None), "master1.key", "No such file"),
            (files("rJMI!7UcHTQxm9l13TuI3A==", Some(good)), "master0.key", "does not belong"),
            (files("rJMIe7UcHTQxm9l13TuI3A", Some(good)), "master0.key", "padding"),
            (files("", Some(good)), "master0.key", "empty"),
            (files(good, Some("\n")), "master1.key", "empty"),
        ] {
            let message = load(dir.path()).unwrap_err().to_string();
            assert!(message.contains(file) && message.contains(what), "{message}");
        }
    }

    const VECTOR_ASCII: [u8; 16] = 0xe6653c7f109082b12acf753f3b52a73c_u128.to_be_bytes();

    const VECTOR_FILE: [u8; 16] = 0xe2a15dcdfbffa697850779d3d739c6ce_u128.to_be_bytes();
}
