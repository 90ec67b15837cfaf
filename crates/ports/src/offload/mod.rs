//! Work that devices leave to us or take from us: checksums, and segmentation of TCP streams and UDP datagrams.

pub mod checksum;
mod headers;
pub(crate) mod join;
pub(crate) mod split;
pub(crate) mod virtio;
