//! Dynamically recreatable keys, protocol-specific derivation
//! (<https://docs.scion.org/en/latest/cryptography/drkey.html>). The AS on the fast side derives them from its secret; the other
//! side gets them from its control service.

use aes::Aes128;
use aes::cipher::{BlockEncrypt, KeyInit};

use crate::key::Key;
use crate::packet::{Host, IsdAs};

const AS_AS: u8 = 0;
const AS_HOST: u8 = 1;
const HOST_AS: u8 = 2;
const HOST_HOST: u8 = 3;

/// Level 1: between the AS with this secret and another.
pub fn as_as(secret: &Key, other: IsdAs) -> Key {
    let mut input = vec![AS_AS];
    input.extend(other.0.to_be_bytes());
    derive(secret, input)
}

/// Level 2: between the AS of a level 1 key and a host of the other AS.
pub fn as_host(as_as: &Key, host: &Host) -> Key {
    derive(as_as, with_host(AS_HOST, host))
}

/// Level 2: between a host of the AS and the other AS.
pub fn host_as(as_as: &Key, host: &Host) -> Key {
    derive(as_as, with_host(HOST_AS, host))
}

/// Level 3: between the host of a [`host_as`] key and a host of the other AS.
pub fn host_host(host_as: &Key, host: &Host) -> Key {
    derive(host_as, with_host(HOST_HOST, host))
}

fn with_host(kind: u8, host: &Host) -> Vec<u8> {
    let mut input = vec![kind, host.kind()];
    input.extend(host.bytes());
    input
}

/// CBC-MAC (AES-128) over the input and zeros.
fn derive(key: &Key, mut input: Vec<u8>) -> Key {
    input.resize(input.len().next_multiple_of(16), 0);
    let cipher = Aes128::new(key.bytes().into());
    let mut chain = [0; 16];
    for block in input.chunks(16) {
        chain.iter_mut().zip(block).for_each(|(c, b)| *c ^= b);
        cipher.encrypt_block((&mut chain).into());
    }
    Key::from(chain)
}
