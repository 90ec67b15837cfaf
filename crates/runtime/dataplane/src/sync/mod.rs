//! Lock-free publication. Readers never wait; memory that they may still see is reclaimed after they are quiescent.

pub(crate) mod published;
pub mod quiescence;
