//! The two ciphers of the program: AES-128, and the Even-Mansour cipher SEM in tables.

use aes::Aes128;
use aes::cipher::{BlockEncrypt, KeyInit};
use cmac::{Cmac, Mac};

use crate::key::Key;
use crate::packet::Hop;
use crate::sem_tables::{BOXES, SOURCES};

/// What hop authenticators and hop validation fields are computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    /// AES-CMAC with the AS's key, CBC-MAC (AES-128) otherwise.
    Aes,
    /// SEM in place of AES-128: shows what a MAC in match-action tables costs, and is no protection against forgery.
    Sem,
}

impl Cipher {
    /// Both.
    pub const ALL: [Cipher; 2] = [Cipher::Aes, Cipher::Sem];

    /// The MAC with an AS's key over one block.
    pub(crate) fn authenticate_hop(self, key: &Key, block: [u8; 16]) -> [u8; 16] {
        match self {
            Cipher::Aes => cmac(key, &block),
            Cipher::Sem => sem(key.bytes(), block),
        }
    }

    /// CBC-MAC.
    pub(crate) fn chain(self, key: &[u8; 16], blocks: &[[u8; 16]]) -> [u8; 16] {
        let aes = Aes128::new(key.into());
        blocks.iter().fold([0; 16], |chain, block| {
            let mut mixed = xor(chain, *block);
            match self {
                Cipher::Aes => aes.encrypt_block((&mut mixed).into()),
                Cipher::Sem => mixed = sem(key, mixed),
            }
            mixed
        })
    }

    /// The eight bytes of a tag that packets show parts of.
    pub(crate) fn shorten(self, tag: [u8; 16]) -> [u8; 8] {
        let mut short = [0; 8];
        match self {
            Cipher::Aes => short.copy_from_slice(&tag[..8]),
            Cipher::Sem => {
                for (number, byte) in tag.into_iter().enumerate() {
                    let (word, place) = (number / 4, number % 4);
                    short[place] ^= byte;
                    short[4 + (place + 4 - word) % 4] ^= byte;
                }
            }
        }
        short
    }

    /// The hop authenticator σ of a hop in a segment.
    pub(crate) fn sigma(self, key: &Key, seg_id: u16, timestamp: u32, hop: &Hop) -> [u8; 16] {
        let mut block = [0; 16];
        block[2..4].copy_from_slice(&seg_id.to_be_bytes());
        block[4..8].copy_from_slice(&timestamp.to_be_bytes());
        block[9] = hop.exp_time;
        block[10..12].copy_from_slice(&hop.cons_ingress.to_be_bytes());
        block[12..14].copy_from_slice(&hop.cons_egress.to_be_bytes());
        self.authenticate_hop(key, block)
    }
}

/// AES-CMAC (RFC 4493).
pub(crate) fn cmac(key: &Key, message: &[u8]) -> [u8; 16] {
    let mut mac = <Cmac<Aes128> as KeyInit>::new(key.bytes().into());
    mac.update(message);
    mac.finalize().into_bytes().into()
}

/// SEM(M) = P(M ⊕ K) ⊕ K.
pub fn sem(key: &[u8; 16], block: [u8; 16]) -> [u8; 16] {
    let boxes = |block: [u8; 16]| std::array::from_fn(|i| BOXES[i][block[i] as usize]);
    let substituted: [u8; 16] = boxes(xor(block, *key));
    xor(boxes(std::array::from_fn(|i| substituted[SOURCES[i]])), *key)
}

fn xor(a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
    std::array::from_fn(|i| a[i] ^ b[i])
}
