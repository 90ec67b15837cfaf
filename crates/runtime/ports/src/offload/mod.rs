//! Work that devices leave to us or take from us: checksums, and segmentation of TCP streams and UDP datagrams.

pub mod checksum;
mod headers;
pub(crate) mod join;
pub(crate) mod split;
pub(crate) mod virtio;

/// Reads the 16-bit number at an offset, in network byte order.
fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Writes the 16-bit number at an offset, in network byte order.
fn set_word(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}
