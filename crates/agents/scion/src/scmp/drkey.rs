//! Keys for the authenticators of SCMP messages: DRKey, protocol SCMP, between this AS and a host
//! (<https://docs.scion.org/en/latest/cryptography/drkey.html>).
//!
//! An epoch lasts a day. The AS's secret value for it is derived from the master key, as the AS's control service does. From the secret
//! value follows the key of each other AS, and from that one the key of each of its hosts. Hosts get their keys by way of their own
//! control service, which asks ours.

use aes::Aes128;
use aes::cipher::{BlockEncrypt, KeyInit};
use zeroize::Zeroizing;

use crate::config::keys::{HopKey, MasterKey};
use crate::packet::ia::IsdAs;

/// The length of an epoch in seconds; epochs are counted from 1970.
pub(super) const EPOCH_S: u64 = 24 * 3600;
/// The protocol number of SCMP.
const PROTOCOL: u16 = 1;
/// The kinds of derived keys, which begin what they are derived from.
const AS_TO_AS: u8 = 0;
const AS_TO_HOST: u8 = 1;

/// The keys between this AS and hosts, for the epoch of the present and those beside it.
#[derive(Debug)]
pub struct ScmpKeys(Source);

#[derive(Debug)]
enum Source {
    /// The reference router's stand-in: all keys are zero.
    Zero,
    Derived {
        master: MasterKey,
        /// The epoch of the first secret value.
        first: u64,
        secret_values: [HopKey; 3],
    },
}

impl ScmpKeys {
    /// The stand-in of the reference router, whose keys are all zero.
    pub const fn zero() -> ScmpKeys {
        ScmpKeys(Source::Zero)
    }

    /// Derives keys from an AS's master key. `now_us` is in microseconds since 1970.
    pub fn derived(master: MasterKey, now_us: u64) -> ScmpKeys {
        let first = first_epoch(now_us);
        let secret_values = secret_values(&master, first);
        ScmpKeys(Source::Derived { master, first, secret_values })
    }

    /// Derives the secret values for another time, unless they are those that exist.
    pub fn refresh(&mut self, now_us: u64) {
        if let Source::Derived { master, first, secret_values: values } = &mut self.0
            && *first != first_epoch(now_us)
        {
            *first = first_epoch(now_us);
            *values = secret_values(master, *first);
        }
    }

    /// Whether the keys are secrets, so that an authenticator proves something.
    pub(super) fn are_secret(&self) -> bool {
        matches!(self.0, Source::Derived { .. })
    }

    /// The key of an epoch between this AS and a host of another AS, with its address type as in the common header (type and
    /// length, 4 bits). `None` if the epoch is not near the present.
    pub(super) fn of_host(&self, epoch: u64, ia: IsdAs, host_type: u8, host: &[u8]) -> Option<Zeroizing<[u8; 16]>> {
        let Source::Derived { first, secret_values, .. } = &self.0 else { return Some(Zeroizing::new([0; 16])) };
        let secret_value = secret_values.get(usize::try_from(epoch.checked_sub(*first)?).ok()?)?;
        let mut to_as = [0; 16];
        to_as[0] = AS_TO_AS;
        to_as[1..9].copy_from_slice(&ia.0.to_be_bytes());
        let as_key = cbc_mac(secret_value.bytes(), &to_as);
        let mut to_host = [0; 32];
        to_host[..2].copy_from_slice(&[AS_TO_HOST, host_type]);
        to_host.get_mut(2..2 + host.len())?.copy_from_slice(host);
        Some(cbc_mac(&as_key, &to_host[..(2 + host.len()).next_multiple_of(16)]))
    }
}

fn first_epoch(now_us: u64) -> u64 {
    (now_us / 1_000_000 / EPOCH_S).saturating_sub(1)
}

fn secret_values(master: &MasterKey, first: u64) -> [HopKey; 3] {
    // Seconds are those of the protocol, 32 bits.
    let begin = |epoch: u64| (epoch * EPOCH_S) as u32;
    [first, first + 1, first + 2].map(|epoch| master.drkey_secret_value(PROTOCOL, begin(epoch)..begin(epoch + 1)))
}

/// CBC-MAC (AES-128) of whole blocks.
fn cbc_mac(key: &[u8; 16], input: &[u8]) -> Zeroizing<[u8; 16]> {
    let cipher = Aes128::new(key.into());
    let mut state = Zeroizing::new([0; 16]);
    for block in input.chunks_exact(16) {
        state.iter_mut().zip(block).for_each(|(state, byte)| *state ^= byte);
        cipher.encrypt_block((&mut *state).into());
    }
    state
}
