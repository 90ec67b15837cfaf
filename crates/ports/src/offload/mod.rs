//! Work that devices leave to us or take from us: checksums, and segmentation of UDP datagrams.

pub mod checksum;
pub(crate) mod segmentation;
