//! Lock-free publication: readers never wait, and memory they may still see is reclaimed by epochs.

pub(crate) mod published;
pub mod quiescence;
